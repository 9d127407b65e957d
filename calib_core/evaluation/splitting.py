"""Calibration rows and test rows: predictions divided so that no calibrator is judged on the rows it was fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes
from calib_core._base.notebook_display import OneLine
from calib_core._base.parallel import Progress, silent
from calib_core._base.sklearn_api import clone
from calib_core.calibrators.base import Calibrator, as_calibrator
from calib_core.defaults import JUDGED_FOLDS, SEED
from calib_core.evaluation.cross_fitting import CROSS_FITTED, in_random_folds, over_folds, plain_folds
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions, check_same_rows, other_classes
from calib_core.predictions.row_groups import groups_on_both_sides
from calib_core.predictions.three_classes import corners
from calib_core.readers.checks.examination import propose
from calib_core.readers.conversion import predictions
from calib_core.readers.reading import Reading
from calib_core.readers.row_sets import split_rows
from calib_core.readers.table import Table
from calib_core.slices.conditions import Slice, as_slice, part, places
from calib_core.text import count, percent

FEW = 1_000
"""Rows up to which all are judged, cross-fitted, where nothing else is chosen: half of so few show little."""

NO_MAP = "no calibrator is fitted on a summary while it is judged: calib fit makes one of it, for other rows"
"""Why an undivided summary has no recalibrated models."""


@dataclass(frozen=True, eq=False, repr=False)
class Division(OneLine):
    """Calibration rows ``fit`` and test rows ``test``, where they stand in their tables, and how they were divided.

    ``whole`` holds all rows before they were divided; None where the test rows are predictions of their own.
    ``merging`` says what became of the test rows' classes, where three of them are the corners of a triangle, and
    ``where`` which slice of them is judged, in words. ``folds`` is the fold of every row of the file where rows are
    cross-fitted: all are calibration rows and test rows, each in its turn; None where rows are divided in two.
    """

    fit: Predictions
    test: Predictions
    fit_rows: Codes
    test_rows: Codes
    rule: str
    whole: Predictions | None = None
    merging: str = ""
    where: str = ""
    folds: Codes | None = None

    @property
    def note(self) -> str:
        """What is to be known of cross-fitted rows, in sentences; empty where rows are divided in two.

        >>> import calib_core as cc
        >>> p = cc.Predictions([[0.7, 0.3]] * 4, [0, 1] * 2)
        >>> divide(p).note, divide(p, folds=2).note[:43]
        ('', 'Every row is a test row, judged after a map')
        """
        return "" if self.folds is None else CROSS_FITTED

    @property
    def judged(self) -> str:
        """Which rows are judged, in words: held-out rows, or all, cross-fitted.

        >>> import calib_core as cc
        >>> p = cc.Predictions([[0.7, 0.3]] * 4, [0, 1] * 2)
        >>> divide(p).judged, divide(p, folds=2).judged
        ('2 held-out rows', 'all 4 rows, cross-fitted')
        """
        rows = f"{count(self.test.n_rows)} row{'' if self.test.n_rows == 1 else 's'}"
        if self.folds is not None:
            return f"{'all ' if not self.where else ''}{rows}, cross-fitted"
        return f"all {rows}" if self.undivided else rows.replace(" row", " held-out row")

    @property
    def test_folds(self) -> Codes | None:
        """The fold of every row that is judged, (n,), where rows are cross-fitted; else None."""
        return None if self.folds is None else self.folds[self.test_rows]

    @property
    def undivided(self) -> bool:
        """Are all rows judged, and none there to fit a calibrator on? So it is of a summary.

        >>> import calib_core as cc
        >>> p = cc.Predictions([[0.7, 0.3]] * 4, [0, 1] * 2)
        >>> divide(p).undivided, divide(cc.Summary.of(p)).undivided
        (False, True)
        """
        return self.test.grain == "counts"

    @property
    def apart(self) -> Predictions:
        """The calibration rows, where none of them is judged; NotAnswerable where rows are cross-fitted.

        For what is learnt next to a calibrator and shown on the test rows.

        >>> import calib_core as cc
        >>> rows = divide(cc.Predictions([[0.7, 0.3]] * 4, [0, 1] * 2))
        >>> rows.apart is rows.fit
        True
        """
        if self.folds is not None:
            raise NotAnswerable(
                "rows are cross-fitted, so that every row is judged and none is left to learn this from: divide the "
                "rows in two"
            )
        return self.fit

    @property
    def warning(self) -> str:
        """What is wrong where a group has rows on both sides, in a sentence; empty where none has.

        >>> import calib_core as cc
        >>> p = cc.Predictions([[0.7, 0.3]] * 4, [0, 1] * 2, groups=["a", "a", "b", "b"])
        >>> divide(p, marked=Marked(np.array([0, 2, 3]), np.array([1]), "part")).warning[:49]
        '1 group has rows on both sides: calibrators can k'
        """
        first, second = self.fit.grouping, self.test.grouping
        shared = 0 if self.folds is not None else groups_on_both_sides(first, second)
        if first is None or not shared:
            return ""
        has = f"group{'' if shared == 1 else 's'}{first.kind} {'has' if shared == 1 else 'have'}"
        return (
            f"{count(shared)} {has} rows on both sides: calibrators can know them again in the test rows, so that "
            "errors after recalibration look smaller than they are; divide the rows here, which keeps groups whole, or "
            "mark whole groups."
        )

    def frame(self) -> pd.DataFrame:
        """Calibration rows and test rows, a line each: how many, their accuracy, and how sure the model is on average.

        Of cross-fitted rows a line for the rows of each fold, and one for the rows that are judged; of a summary only
        that. ``accuracy`` and ``confidence`` weigh rows by their weights. What can mislead: parts of one file differ by
        chance; a distance between accuracy and confidence is looked into with an estimate, which knows how much.
        """
        parts = {"judged": self.test} if self.undivided else {"calibration": self.fit, "test": self.test}
        if self.folds is not None:
            of_fit = self.folds[self.fit_rows]
            each = {f"fold {f + 1}": self.fit.take(np.flatnonzero(of_fit == f)) for f in np.unique(of_fit)}
            parts = {**each, "judged": self.test}
        return pd.DataFrame(
            {
                "part": list(parts),
                "rows": [rows.n_rows for rows in parts.values()],
                "accuracy": [rows.accuracy for rows in parts.values()],
                "confidence": [rows.mean_confidence for rows in parts.values()],
            }
        )


def read_as(table: Table, reading: Mapping[str, object] | None = None) -> Predictions:
    """The predictions in a table, read as it suggests but for some fields of the reading.

    Other fields stay as they were proposed: nothing follows from the given ones, unlike ``read_predictions``. Where
    the table leaves a choice open, ``reading`` has to settle it; InputError says which.

    >>> import calib_core as cc
    >>> table = cc.readers.read_table(b"a,b,label\\n0.7,0.3,0\\n0.4,0.6,1\\n", "two.csv")
    >>> read_as(table).n_rows, read_as(table, {"kind": "probabilities"}).class_names
    (2, ('a', 'b'))
    """
    return predictions(table, _reading(table, reading))


HOLDS = {
    "full": "a probability for every class",
    "per-class": "a probability for every class, rows need not sum to one",
    "top-label": "the predicted class and its confidence only",
    "confidence": "confidence and whether it was right only",
}
"""What each kind of predictions holds, in words."""


def described(table: Table, reading: Mapping[str, object] | None = None, sha256: str = "") -> pd.DataFrame:
    """A file of predictions as it is read: what it holds, how many rows, and how it was read, a line per ``property``.

    ``reading`` as in ``read_as``; ``sha256`` is the digest of the file's bytes, where it is known. Every ``value`` is a
    text; accuracy and mean confidence are over all rows, those that calibrators are fitted on among them.

    >>> import calib_core as cc
    >>> described(cc.read_table(*cc.datasets.demo("wine-logistic")))["value"].tolist()[1:4]
    ['178', '3', 'a probability for every class']
    """
    whole = read_as(table, reading)
    facts = {
        "file": table.name,
        "SHA-256 of its bytes": sha256,
        "labels": "" if table.joined is None else table.joined.how,
        "rows": count(whole.n_rows),
        "classes": "unknown" if whole.n_classes is None else count(whole.n_classes),
        "holds": HOLDS[whole.kind],
        "accuracy, all rows": percent(whole.accuracy),
        "mean confidence, all rows": percent(whole.mean_confidence),
        "read as": _reading(table, reading).to_json() if reading else "proposed by its names and values",
    }
    known = {name: value for name, value in facts.items() if value}
    return pd.DataFrame({"property": list(known), "value": list(known.values())})


def _reading(table: Table, given: Mapping[str, Any] | None) -> Reading:
    if not given:
        return propose(table)
    try:
        proposal = propose(table)
    except InputError:
        return Reading(**given)
    return proposal.replace(**given)


class Marked(NamedTuple):
    """Positions of the calibration rows and of the test rows, and the column that marks them."""

    fit: Codes
    test: Codes
    column: str


def marked_rows(table: Table, reading: Mapping[str, object] | None = None) -> Marked:
    """Which rows a column of the table marks as calibration rows and as test rows.

    ``reading`` as in ``read_as``. InputError where no column does, or its values do not say which rows are which.

    >>> import calib_core as cc
    >>> table = cc.readers.read_table(b"p,label,split\\n0.7,1,test\\n0.4,0,calibration\\n", "marked.csv")
    >>> marked_rows(table)
    Marked(fit=array([1]), test=array([0]), column='split')
    """
    how = _reading(table, reading)
    return Marked(*split_rows(table, how), str(how.split))


def usual_folds(whole: Predictions) -> int | None:
    """Number of folds in which rows are cross-fitted by default; None where half of them are held out by default.

    Up to ``FEW`` rows all are judged, each after maps fitted on the other folds; of more rows half are held out. The
    dashboard, the report, ``calib audit`` and ``calib choose`` follow this rule where no column marks the rows.

    >>> import calib_core as cc
    >>> few, many = (cc.Predictions([[0.7, 0.3]] * n, [0] * n) for n in (400, 4000))
    >>> usual_folds(few), usual_folds(many)
    (7, None)
    """
    if whole.grain == "counts" or whole.n_rows > FEW:
        return None
    if whole.row_groups is None:
        return JUDGED_FOLDS if whole.n_rows >= 2 * JUDGED_FOLDS else None
    groups = len(whole.row_groups.values)  # half of a few groups would be one or two
    return min(JUDGED_FOLDS, groups) if groups > 1 else None


def divide(
    whole: Predictions,
    *,
    share: float | None = None,
    random_state: int = SEED,
    folds: int | None = None,
    marked: Marked | None = None,
    test: Predictions | None = None,
    like: Division | None = None,
) -> Division:
    """Predictions divided into calibration rows, which calibrators are fitted on, and test rows, which judge them.

    Parameters
    ----------
    share, random_state : of the rows that become calibration rows (by default half), at random, class by class; and
        the seed.
    folds : in place of a share, in how many random folds (``cross_fitting.plain_folds``) the rows are cross-fitted: all
        are judged, each after a map fitted on the other folds (``recalibrated``); the map used afterwards is fitted on
        all (``fitted``).
    marked : in place of that, the rows a column of the file marks (``marked_rows``).
    test : in place of that, predictions for other rows: then ``whole`` are all calibration rows.
    like : in place of that, the division of another model's predictions for the same rows.

    InputError where ``test`` has other classes, ``like`` other rows, ``folds`` is given beside one of these, or there
    are fewer rows or groups than folds. Grouped rows stay together where rows are divided here; where a column or two
    files divide them and a group has rows on both sides, ``warning`` says so. What can mislead: rows that belong
    together, but whose groups are not known, may stand on both sides. A division class by class gives both parts the
    same class frequencies: an update of the mean risk (``intercept``, ``logistic-recalibration``) is then judged on the
    very frequency that it was fitted to, and its gain is a little too large (for an intercept, of 150 calibrated models
    of 1,500 rows on average +.0002 in log loss in place of -.0008). Folds are not drawn class by class.

    >>> import calib_core as cc
    >>> rows = divide(cc.read_predictions(*cc.datasets.demo("wine-logistic")), random_state=3)
    >>> rows.fit.n_rows, rows.test.n_rows, rows.rule
    (89, 89, 'split at random, class by class')
    """
    if whole.grain == "counts":
        if like is not None and not like.undivided:
            raise NotAnswerable(
                "a summary is compared with summaries, as a whole: the first file holds rows; summarise them"
            )
        return _undivided(whole, other=test is not None or marked is not None or folds is not None)
    if folds is not None and not (share is None and like is None and test is None and marked is None):
        raise InputError(
            "folds divide the rows by themselves: leave out the share, and the rows that are marked, of a test file or "
            "alike"
        )
    if like is not None:
        return _alike(whole, like)
    if folds is not None:
        # Not stratified by label, as where a calibrator is chosen: one map then has one score in both places.
        whole.check_folds(folds, random_state)
        fold, every = plain_folds(whole, folds, random_state), np.arange(whole.n_rows)
        return Division(whole, whole, every, every, in_random_folds(folds, whole), whole, folds=fold)
    if test is not None:
        _check_classes(whole, test)
        rule = "calibrated on all rows of one file, judged on all rows of another"
        return Division(whole, test, np.arange(whole.n_rows), np.arange(test.n_rows), rule)
    if marked is not None:
        return _parts(whole, marked.fit, marked.test, f"split by the column {marked.column}")
    chosen = whole.first_part(0.5 if share is None else share, random_state=random_state)
    kept = "" if whole.row_groups is None else f", each group{whole.row_groups.kind} on one side"
    return _parts(whole, np.flatnonzero(chosen), np.flatnonzero(~chosen), f"split at random, class by class{kept}")


def _undivided(summary: Predictions, *, other: bool) -> Division:
    """A summary judged as a whole: what would fit a calibrator on it is told that there are no rows."""
    if other:
        raise NotAnswerable(
            "a summary has no rows to divide: it is judged as a whole; summarise the rows to judge by themselves"
        )
    none = np.zeros(0, dtype=np.intp)
    return Division(
        summary, summary, none, none, "a summary, judged as a whole; no calibrator is fitted on it", summary
    )


def _parts(whole: Predictions, fit_rows: Codes, test_rows: Codes, rule: str) -> Division:
    every = np.arange(whole.n_rows)
    fit, test = (whole if np.array_equal(rows, every) else whole.take(rows) for rows in (fit_rows, test_rows))
    return Division(fit, test, fit_rows, test_rows, rule, whole)


def _alike(first: Predictions, like: Division) -> Division:
    """The rows of another model's predictions, divided as those they are compared with."""
    if like.undivided:
        raise NotAnswerable(
            "the first file is a summary, which is compared with summaries: summarise this one, too (calib summarise)"
        )
    if like.whole is None:
        raise NotAnswerable("models are compared on rows of one file each: divide the rows by share or by a column")
    check_same_rows(like.whole, first)
    rule = "divided as the first file" if like.folds is None else f"{like.rule}, as the first file"
    return replace(_parts(first, like.fit_rows, like.test_rows, rule), where=like.where, folds=like.folds)


def _check_classes(first: Predictions, second: Predictions) -> None:
    if first.class_names != second.class_names:
        raise InputError(
            "The two files do not have the same classes in the same order "
            f"({other_classes(first, second)}): choose files of one model, or change how they are read."
        )


def three_corners(division: Division, three: Sequence[int], others: str = "pool") -> Division:
    """The same division with three classes as the corners of a triangle (``corners``).

    >>> import calib_core as cc
    >>> rows = divide(cc.read_predictions(*cc.datasets.demo("digits-naive-bayes")))
    >>> three_corners(rows, (0, 1, 2)).test.n_classes
    3
    """
    fit, test = (corners(rows, three, others) for rows in (division.fit, division.test))
    return replace(
        division,
        fit=fit.predictions,
        test=test.predictions,
        fit_rows=division.fit_rows[fit.rows],
        test_rows=division.test_rows[test.rows],
        rule=f"{division.rule}; of the test rows: {test.note}",
        whole=None,
        merging=test.note,
    )


def within(division: Division, where: str | Slice) -> Division:
    """The same division judged on a slice of its test rows alone; the calibration rows all stay.

    ``where`` is a slice or its text, ``subject=law`` or ``age=40..60``, two joined by ``&``. NotAnswerable where the
    test rows carry no such column, or none of them is in the slice. What can mislead: a calibrator fitted on all rows
    is judged on some; and a slice chosen for what came true in it is one of many looked at.

    >>> import calib_core as cc
    >>> rows = divide(cc.read_predictions(*cc.datasets.demo("language-model")))
    >>> law = within(rows, "subject=law")
    >>> law.fit.n_rows == rows.fit.n_rows, law.test.n_rows, law.where
    (True, 318, 'subject = law')
    """
    wanted = as_slice(where)
    test = part(division.test, wanted)
    return replace(
        division,
        test=test,
        test_rows=division.test_rows if division.undivided else division.test_rows[places(division.test, wanted)],
        where=", ".join(filter(None, (division.where, wanted.title))),
    )


def fitted(division: Division, calibrator: str | Calibrator, progress: Progress | None = None) -> Calibrator:
    """A calibrator fitted on the calibration rows; the one given stays unfitted.

    Of cross-fitted rows these are all: it is the map to use afterwards, and judges none of them (``recalibrated``).
    Where the fit takes long, ``progress`` is told how much is done, in percent, or 0 again and again where nobody knows
    (steps towards a minimum); what it raises stops the fit.

    >>> import calib_core as cc
    >>> rows = divide(cc.read_predictions(*cc.datasets.demo("wine-logistic")))
    >>> fitted(rows, "temperature").temperature_ > 0
    True
    """
    fresh: Calibrator = clone(as_calibrator(calibrator))
    return fresh.fit_on(division.fit, progress or silent)


def recalibrated(
    division: Division,
    calibrator: Calibrator,
    part: Literal["test", "fit"] = "test",
    progress: Progress | None = None,
) -> Predictions:
    """The test rows after a calibrator fitted on the calibration rows (``fitted``).

    Of cross-fitted rows each after the same calibrator fitted afresh on the rows of the other folds, whatever the one
    given was fitted on. ``part="fit"``: the calibration rows themselves after it, which what is fitted next to it
    learns from; NotAnswerable where rows are cross-fitted (``Division.apart``). ``progress`` is told how much is done,
    as in ``fitted``, a fold as much as another. What can mislead: they are the rows it
    was fitted on, so no error of it is judged on them.

    >>> import calib_core as cc
    >>> rows = divide(cc.read_predictions(*cc.datasets.demo("wine-logistic")))
    >>> recalibrated(rows, fitted(rows, "temperature")).n_rows == rows.test.n_rows
    True
    """
    if part not in ("test", "fit"):
        raise InputError(f"part is {part!r}; it must be 'test' or 'fit'")
    if part == "fit":
        return calibrator.apply(division.apart, progress or silent)
    if division.folds is None:
        return calibrator.apply(division.test, progress or silent)
    of_fit, of_test = (division.folds[rows] for rows in (division.fit_rows, division.test_rows))
    return over_folds(division.fit, division.test, calibrator, of_fit, of_test, progress or silent)
