"""Plain arrays: two splits in one NPZ, and numbers without a header (LightGBM, XGBoost, numpy.savetxt).

Also evaluation files without any confidence, which are recognized and refused with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers.formats.delimited import ARRAY
from calib_core.readers.messages import quoted
from calib_core.readers.proposal.label_codes import label_inside
from calib_core.readers.reading import Fields, Reading
from calib_core.readers.table import Array, Table
from calib_core.readers.table_findings import Finding
from calib_core.readers.tool_shapes import (
    JsonDocument,
    ShapeOfColumns,
    ShapeOfRecords,
    shape_of_columns,
    shape_of_records,
)

SPLIT = "split"
_FIT = ("val", "valid", "validation", "cal", "calib", "calibration", "dev")
_TEST = ("test", "eval")
_TAGS = "|".join((*_FIT, *_TEST))
_TAGGED = re.compile(rf"(?P<name>.+)_(?P<last>{_TAGS})|(?P<first>{_TAGS})_(?P<rest>.+)")


class _Split(NamedTuple):
    """Arrays of one split: scores and labels, and their names without the split's name."""

    scores: str
    labels: str
    bare: tuple[str, str]


@shape_of_columns
class TwoSplits(ShapeOfColumns):
    """Rows of both splits, stacked, with a column that marks the calibration rows."""

    key, title = "two-splits", "arrays of two splits, calibration and test"

    def recognises(self, table: Table) -> bool:
        return table.format == "npz" and _splits(table) is not None

    def table(self, table: Table) -> Table:
        found = _splits(table)
        assert found is not None
        fit, test = found
        widths = [table.matrices[split.scores].shape[1] for split in found]
        if widths[0] != widths[1]:
            raise InputError(
                f"{table.name}: {quoted(fit.scores)} has {widths[0]:,} classes but {quoted(test.scores)} has "
                f"{widths[1]:,}; both splits need the same number"
            )
        rows = [len(table.matrices[split.scores]) for split in found]
        words = np.repeat(np.array(["calibration", "test"], dtype=object), rows)
        scores = np.concatenate([table.matrices[split.scores] for split in found])
        labels: Array = np.concatenate([table.columns[split.labels] for split in found])
        columns = {test.bare[1]: frozen(labels), SPLIT: frozen(words)}
        return replace(table, columns=columns, matrices={test.bare[0]: frozen(scores)})

    def fields(self, table: Table, chosen: Fields) -> Fields:
        del chosen
        label = next(name for name in table.columns if name != SPLIT)
        return {"layout": "wide", "scores": tuple(table.matrices), "label": (label,), "split": SPLIT}


def _splits(table: Table) -> tuple[_Split, _Split] | None:
    """Return calibration and test arrays; None unless every array is a matrix or column of one of the two splits."""
    tagged: dict[str, dict[str, str]] = {}
    for name in table.names:
        found = _TAGGED.fullmatch(name)
        if found is None:
            return None
        tag, bare = found["last"] or found["first"], found["name"] or found["rest"]
        tagged.setdefault(tag, {})[bare] = name
    if len(table.names) != 4 or len(tagged) != 2:
        return None
    fit = next((tag for tag in tagged if tag in _FIT), None)
    test = next((tag for tag in tagged if tag in _TEST), None)
    if fit is None or test is None or tagged[fit].keys() != tagged[test].keys():
        return None
    first, second = _one(table, tagged[fit]), _one(table, tagged[test])
    return None if first is None or second is None else (first, second)


def _one(table: Table, names: Mapping[str, str]) -> _Split | None:
    scores = [bare for bare, name in names.items() if name in table.matrices]
    labels = [bare for bare, name in names.items() if name in table.columns]
    if len(scores) != 1 or len(labels) != 1 or labels[0] == SPLIT:
        return None
    found = _Split(names[scores[0]], names[labels[0]], (scores[0], labels[0]))
    return found if len(table.matrices[found.scores]) == len(table.columns[found.labels]) else None


@shape_of_columns
class NumberText(ShapeOfColumns):
    """Predictions as bare numbers (LightGBM_predict_result.txt, numpy.savetxt); labels come from another file."""

    key, title = "number-text", "numbers without a header (LightGBM, XGBoost, numpy.savetxt)"

    def recognises(self, table: Table) -> bool:
        return table.format == "csv" and table.names == (ARRAY,)

    def fields(self, table: Table, chosen: Fields) -> Fields:
        column = table.columns.get(ARRAY)
        if column is not None and column.dtype.kind == "i" and not {"scores", "label"} & chosen.keys():
            raise InputError(
                f"{table.name} contains whole numbers, which are classes or labels rather than probabilities. Save the "
                "output of predict_proba (in XGBoost, use the objective multi:softprob)"
            )
        if table.names == (ARRAY,) and "label" not in chosen and not _has_labels(table):
            raise InputError(
                f"{table.name} contains {self.title} but no labels. Also give a file of labels with the same row order "
                "(labels=, --labels FILE)"
            )
        return {}

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        if ARRAY in table.matrices and reading.classes:
            yield Finding(
                "note",
                "foreign",
                f"The columns have no names. The first is read as class {quoted(reading.classes[0])}, the last as "
                f"class {quoted(reading.classes[-1])}.",
            )


def _has_labels(table: Table) -> bool:
    """True if one of the columns contains labels."""
    matrix = table.matrices.get(ARRAY)
    return matrix is not None and label_inside(np.asarray(matrix)) is not None


@shape_of_records
class EveryEvalEver(ShapeOfRecords):
    """Instance-level records of the Every Eval Ever schema, which has no field for a confidence."""

    key = "every-eval-ever"
    title = "instances of Every Eval Ever"

    def recognises(self, document: JsonDocument) -> bool:
        return all({"evaluation_id", "sample_id", "evaluation"} <= each.keys() for each in document.first)

    def table(self, document: JsonDocument) -> Table:
        raise InputError(
            f"{document.name} contains {self.title}. They record whether answers are right, but no confidence; open "
            "the original log"
        )


@shape_of_records
class OpenAIEvents(ShapeOfRecords):
    """Event log of openai/evals."""

    key = "openai-evals"
    title = "an event log of openai/evals"

    def recognises(self, document: JsonDocument) -> bool:
        return all(
            "spec" in each or "final_report" in each or {"run_id", "event_id", "type", "data"} <= each.keys()
            for each in document.first
        ) and any("event_id" in each or "run_id" in each for each in document.first)

    def table(self, document: JsonDocument) -> Table:
        raise InputError(
            f"{document.name} is {self.title}. It records whether answers match, but no confidence; write confidence "
            "and correct for each sample"
        )


@shape_of_columns
class PredictedClasses(ShapeOfColumns):
    """Predicted classes by index (predict_results_{task}.txt of the run_glue scripts)."""

    key = "glue-predictions"
    title = "predicted classes of a run_glue script"

    def recognises(self, table: Table) -> bool:
        return table.names == ("index", "prediction") and table.name.lower().endswith((".txt", ".tsv"))

    def table(self, table: Table) -> Table:
        raise InputError(
            f"{table.name} contains {self.title}, but no probabilities. Save the softmax of predictions from "
            "trainer.predict, with label_ids, in an NPZ"
        )
