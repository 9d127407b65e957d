"""Results of trials kept as small files: written aside and renamed, read back only if they are what was wanted."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from calib_core._base.atomic_files import write_whole
from calib_core.predictions.predictions import Predictions


class Cell(NamedTuple):
    """A number of one method on one split: NaN with a note that says why; the share of rows the method answers."""

    calibrator: str
    measure: str
    value: float
    rows: int
    answered: float
    note: str


def content(predictions: Predictions) -> str:
    """The hash of everything in predictions that a fit or an error can depend on."""
    whole = predictions.kind in ("full", "per-class")
    top = (predictions.confidence, None if predictions.kind == "confidence" else predictions.predicted)
    parts = (
        *((predictions.probs,) if whole else top),
        predictions.correct,
        predictions.labels,
        None if predictions.logits is None else predictions.logits.array(),
        predictions.weights,
        predictions.groups,
        predictions.abstained,
    )
    digest = hashlib.sha256(repr((predictions.kind, predictions.class_names, predictions.discrete)).encode())
    for part in parts:
        # The shape goes in too: the same bytes in other rows are other predictions.
        digest.update(b"-" if part is None else f"{part.dtype}{part.shape}".encode())
        digest.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def key(*recipe: Any) -> str:
    """The name of a result: the hash of what it is made of and of the versions that make it."""
    versions = [_version(name) for name in ("calib", "numpy", "scipy", "scikit-learn", "pandas")]
    return hashlib.sha256(repr((recipe, versions)).encode()).hexdigest()[:40]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "a checkout"


def read(path: Path, wanted: Sequence[tuple[str, str]]) -> list[Cell] | None:
    """The cells in a file, None where there is none or it does not hold just the (calibrator, measure) wanted."""
    try:
        lines = json.loads(path.read_bytes())
        cells = [
            Cell(method, measure, math.nan if value is None else float(value), int(rows), float(share), str(note))
            for method, measure, value, rows, share, note in lines
        ]
    except (OSError, ValueError, TypeError):
        return None
    return cells if [(cell.calibrator, cell.measure) for cell in cells] == list(wanted) else None


def write(path: Path, cells: Sequence[Cell]) -> None:
    """The cells as a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [[None if isinstance(x, float) and math.isnan(x) else x for x in cell] for cell in cells]
    write_whole(path, json.dumps(lines, ensure_ascii=True).encode())
