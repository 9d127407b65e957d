"""Predictions of H2O-3: predict, one probability per level (p0, p1 for levels 0 and 1), and calibrated ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from calib_core.readers.foreign.level_columns import as_classes, as_named, known_fields, label_among, spelled, texts_of
from calib_core.readers.messages import listed
from calib_core.readers.reading import Fields, Reading
from calib_core.readers.table import Table
from calib_core.readers.table_findings import Finding, rule
from calib_core.readers.tool_shapes import ShapeOfColumns, shape_of_columns

PREDICTED, CALIBRATED = "predict", "cal_"
SETS = ("raw", "calibrated")
rule(
    "calibrated-too",
    "Probabilities before and after calibration",
    "Nothing to do if both should be evaluated.",
    "calibrator",
)


@shape_of_columns
class H2O(ShapeOfColumns):
    """Predictions of H2O: numeric levels have the prefix p, and calibrated probabilities the prefix cal_."""

    key, title = "h2o", "predictions of H2O"

    def recognises(self, table: Table) -> bool:
        return PREDICTED in table.columns and len(_scores(table)) > 1

    def fields(self, table: Table, chosen: Fields) -> Fields:
        scores = _scores(table)
        both: Fields = {}
        levels = spelled(table, [_level(table, name) for name in scores])
        label = label_among(table, levels, (PREDICTED,))
        if (calibrated := _calibrated(table)) and not {"scores", "score_sets", "models"} & chosen.keys():
            both = {"scores": (*scores, *calibrated), "score_sets": SETS, "model": SETS[0]}
        known = known_fields(layout="wide", scores=scores, label=label, label_coding="names", classes=levels)
        return {**known, **both}

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        if calibrated := _calibrated(table):
            yield Finding(
                "note",
                "calibrated-too",
                f"The file has raw probabilities ({listed(_scores(table), 2)}) and calibrated ones "
                f"({listed(calibrated, 2)}): "
                f"{'read as two models' if reading.score_sets else 'only one of them is read'}.",
            )


def _calibrated(table: Table) -> tuple[str, ...]:
    """Columns of calibrated probabilities, if they are complete."""
    names = tuple(CALIBRATED + name for name in _scores(table))
    return names if set(names) <= table.columns.keys() else ()


def _scores(table: Table) -> tuple[str, ...]:
    """Return the columns after the prediction, at least one named like a prediction, until their sum is 1.

    Columns after the probabilities are not classes: a standard error, an offset, an age.
    """
    names = list(table.columns)
    if PREDICTED not in names:
        return ()
    levels = texts_of(table, PREDICTED)
    called = {name for level in levels for name in (level, f"p{level}", as_named(level))}
    found = tuple(takewhile(lambda name: _is_score(table, name, called), names[names.index(PREDICTED) + 1 :]))
    return as_classes(table, found, called) if called & set(found) else ()


def _is_score(table: Table, name: str, called: set[str]) -> bool:
    kind = table.columns[name].dtype.kind
    return not name.startswith(CALIBRATED) and (kind == "f" or (kind in "iu" and name in called))


def _is_numbered(name: str) -> bool:
    return re.fullmatch(r"p-?\d+(\.\d+)?", name) is not None


def _level(table: Table, name: str) -> str:
    return name[1:] if _is_numbered(name) and name not in texts_of(table, PREDICTED) else name
