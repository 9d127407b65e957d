"""Predictions of H2O-3: predict, a probability a level (p0, p1 of levels 0 and 1), and calibrated ones beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

from calib_core.readers.finding import Finding
from calib_core.readers.foreign.level_columns import known_fields, label_among, texts_of
from calib_core.readers.foreign.recognition import ShapeOfColumns, shape_of_columns
from calib_core.readers.reading import Reading
from calib_core.readers.rules import rule
from calib_core.readers.table import Table
from calib_core.readers.wording import listed

PREDICTED, CALIBRATED = "predict", "cal_"
rule(
    "calibrated-too",
    "Probabilities before and after calibration",
    "Choose which of the two are judged.",
    "calibrator",
)


@shape_of_columns
class H2O(ShapeOfColumns):
    """Levels that are numbers have a p before them; cal_ stands before calibrated probabilities."""

    key, title = "h2o", "predictions of H2O"

    def recognises(self, table: Table) -> bool:
        return PREDICTED in table.columns and len(_scores(table)) > 1

    def fields(self, table: Table, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
        del chosen
        scores = _scores(table)
        levels = tuple(_level(table, name) for name in scores)
        label = label_among(table, levels, (PREDICTED,))
        return known_fields(layout="wide", scores=scores, label=label, label_coding="names", classes=levels)

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        raw = _scores(table)
        calibrated = tuple(CALIBRATED + name for name in raw)
        if not set(calibrated) <= table.columns.keys():
            return
        other, what = (calibrated, "calibrated") if reading.scores == raw else (raw, "raw")
        yield Finding(
            "note",
            "calibrated-too",
            f"The file holds raw probabilities ({listed(raw, 2)}) and calibrated ones ({listed(calibrated, 2)}); read "
            f"are the {'raw' if reading.scores == raw else 'calibrated'} ones.",
            {"scores": other},
            f"Read the {what} ones",
        )


def _scores(table: Table) -> tuple[str, ...]:
    """The columns behind the prediction, of which one at least is called as a prediction is."""
    names = list(table.columns)
    if PREDICTED not in names:
        return ()
    levels = texts_of(table, PREDICTED)
    called = {name for level in levels for name in (level, f"p{level}")}
    found = tuple(takewhile(lambda name: _is_score(table, name, called), names[names.index(PREDICTED) + 1 :]))
    return found if called & set(found) else ()


def _is_score(table: Table, name: str, called: set[str]) -> bool:
    kind = table.columns[name].dtype.kind
    return not name.startswith(CALIBRATED) and (kind == "f" or (kind in "iu" and name in called))


def _is_numbered(name: str) -> bool:
    return re.fullmatch(r"p-?\d+(\.\d+)?", name) is not None


def _level(table: Table, name: str) -> str:
    return name[1:] if _is_numbered(name) and name not in texts_of(table, PREDICTED) else name
