"""Tables of R, Weka and H2O, whose tests write them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.calib_core.readers import test_tables_of_tools as tables
from tests.corpus.foreign_files import ForeignFile, Writer, writes


def writer(key: str) -> Writer:
    """The writer of a table of predictions, whose rows sum to 1 but for their rounding."""

    def write() -> Iterator[ForeignFile]:
        p = np.array([[float(f"{v:.3f}") for v in row] for row in tables.P]) if key == "weka" else tables.P
        confidence = (p / p.sum(axis=1, keepdims=True)).max(axis=1)
        yield ForeignFile("a table", "predictions.csv", tables.FILES[key], confidence, p.argmax(axis=1) == tables.Y)

    return write


for _key in ("tidymodels", "caret", "weka", "h2o"):
    writes(_key)(writer(_key))
