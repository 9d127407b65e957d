"""Bad and ambiguous files, each with the message that the library guarantees: a module per family, a line per case.

A family is a generator function under ``@family``; ``FAMILIES`` contains them once its module is imported in
``tests/corpus/every_family.py``.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class BadFile:
    """File that is refused, or read with a finding.

    Parameters
    ----------
    what : its defect, in a few words; the name of the case.
    data : its bytes.
    says : the distinctive part of the refusal's message; empty if it is read.
    finds : code of the finding when it is read; ``says`` is then a part of that finding's message.
    filename : the name under which it is read.
    chosen : fields of the reading that the user has set.
    """

    what: str
    data: bytes
    says: str = ""
    finds: str = ""
    filename: str = "a.csv"
    chosen: dict[str, Any] = field(default_factory=dict)


Family = Callable[[], Iterator[BadFile]]
FAMILIES: dict[str, Family] = {}
"""Families by title."""


def family(title: str) -> Callable[[Family], Family]:
    """Return a decorator that adds a generator of bad files."""

    def add(made: Family) -> Family:
        assert title not in FAMILIES
        FAMILIES[title] = made
        return made

    return add


# -- files of each format ----------------------------------------------------------------------------------------


def npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def parquet(**columns: Any) -> bytes:
    return pd.DataFrame(columns).to_parquet(index=False)


def csv(header: str, *rows: str) -> bytes:
    """Return a header line and rows."""
    return "\n".join((header, *rows, "")).encode()


def wide(p: Any, labels: Any, classes: str = "abc", **more: Any) -> bytes:
    """Return a CSV table of one score column per class, a column of labels, and more columns."""
    scores = {f"p_{name}": np.asarray(p)[:, j] for j, name in enumerate(classes)}
    return pd.DataFrame({**scores, "label": labels, **more}).to_csv(index=False).encode()


def drawn(n: int = 60, seed: int = 0) -> tuple[Any, Any]:
    """Return probabilities of three classes, and labels that are drawn from them."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.5] * 3, n)
    return p, (rng.random((n, 1)) > p.cumsum(axis=1)[:, :2]).sum(axis=1)
