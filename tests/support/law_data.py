"""Data of the laws: two demos in an ordinary run, all available files with CALIB_LAWS=all (`make laws`)."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
import shared_files

from calib_core.datasets import DEMOS, demo

EVERYTHING = os.environ.get("CALIB_LAWS") == "all"
ORDINARY = ("wine-logistic", "breast-cancer-svm")
"""Logits of three classes and confidences of two, with few rows each for quick computation."""


@dataclass(frozen=True)
class LawData:
    """Prediction file: a demo's, or one next to the repository."""

    name: str
    path: Path | None = None

    def file(self) -> tuple[bytes, str]:
        """Return its bytes and its name."""
        return (self.path.read_bytes(), self.path.name) if self.path else demo(self.name)


def law_data() -> list[LawData]:
    """Return the files that laws run on, demos first."""
    keys = [each.key for each in DEMOS] if EVERYTHING else ORDINARY
    shared = sorted(shared_files.FOLDER.joinpath("data").glob("*.npz")) if EVERYTHING else []
    return [*map(LawData, keys), *(LawData(path.stem, path) for path in shared)]


_MARKED = [pytest.param(each, marks=pytest.mark.law, id=each.name) for each in law_data()]
on_law_data = pytest.mark.parametrize("data", _MARKED)
"""Mark that runs a test on each of them; `pytest -m law` runs the tests that have it."""
