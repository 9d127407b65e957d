"""Tables of R, Weka and H2O, which are also tested by their writers; arrays of two splits."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
import pandas as pd

from tests.calib_core.readers.foreign import test_tables_of_tools as tables
from tests.corpus.foreign_files import ForeignFile, Writer, writes


def writer(key: str) -> Writer:
    """Return the writer of a table of predictions, whose rows sum to 1 up to rounding."""

    def write() -> Iterator[ForeignFile]:
        p = np.array([[float(f"{v:.3f}") for v in row] for row in tables.P]) if key == "weka" else tables.P
        confidence = (p / p.sum(axis=1, keepdims=True)).max(axis=1)
        yield ForeignFile("a table", "predictions.csv", tables.FILES[key], confidence, p.argmax(axis=1) == tables.Y)

    return write


for _key in ("tidymodels", "caret", "weka", "h2o"):
    writes(_key)(writer(_key))


@writes("two-splits")
def two_splits() -> Iterator[ForeignFile]:
    """Yield logits and labels of two splits, with the split's name as suffix or prefix."""
    confidence, correct = tables.P.max(axis=1), tables.P.argmax(axis=1) == tables.Y
    parts = {"val": slice(0, 20), "test": slice(20, None)}
    for what, form in (("names behind", "{1}_{0}"), ("names before", "{0}_{1}")):
        arrays = {form.format(tag, "logits"): np.log(tables.P[rows]) for tag, rows in parts.items()}
        arrays |= {form.format(tag, "labels"): tables.Y[rows][:, None] for tag, rows in parts.items()}
        out = io.BytesIO()
        np.savez(out, **arrays)
        yield ForeignFile(what, "logits.npz", out.getvalue(), confidence, correct)


@writes("class-rows")
def class_rows() -> Iterator[ForeignFile]:
    """Yield tables with one row for each class, next to the true class or a mark of it."""
    (n, k), names = tables.P.shape, [f"kind {j}" for j in range(tables.P.shape[1])]
    confidence, correct = tables.P.max(axis=1), tables.P.argmax(axis=1) == tables.Y
    long = pd.DataFrame({"id": np.repeat(range(n), k), "kind": names * n, "probability": tables.P.ravel()})
    truths = {"label": np.repeat([names[y] for y in tables.Y], k), "is_true": np.eye(k, dtype=int)[tables.Y].ravel()}
    for name, values in truths.items():
        data = long.assign(**{name: values}).to_csv(index=False).encode()
        yield ForeignFile(f"a long table with {name}", "long.csv", data, confidence, correct)
