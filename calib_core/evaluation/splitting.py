"""Division of predictions into calibration rows and test rows, or into folds for cross-fitting."""

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
from calib_core.columns.conditions import Slice, as_slice, part, places
from calib_core.defaults import JUDGED_FOLDS, SEED
from calib_core.evaluation.cross_fitting import CROSS_FITTED, in_random_folds, over_folds, plain_folds
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions, check_same_rows, other_classes
from calib_core.predictions.row_groups import groups_on_both_sides
from calib_core.predictions.three_classes import corners
from calib_core.readers.checks.examination import propose
from calib_core.readers.conversion import predictions, split_rows
from calib_core.readers.reading import Reading
from calib_core.readers.table import Table
from calib_core.text import count, percent

FEW = 1_000
"""Number of rows up to which cross-fitting is the default, since half of so few rows show little."""

NO_MAP = "no calibrator is fitted on a summary that is evaluated; calib fit can fit one on it for other rows"
"""Reason why an undivided summary has no recalibrated models."""


@dataclass(frozen=True, eq=False, repr=False)
class Division(OneLine):
    """Calibration rows ``fit`` and test rows ``test``, their positions in their tables, and the rule of the division.

    ``whole`` contains all rows before the division; None if the test rows are separate predictions.
    ``merging`` describes the merged classes of the test rows if three of them are the corners of a triangle. ``where``
    is the slice of test rows, in words. ``folds`` is the fold of every row of the file if rows are cross-fitted: all
    are both calibration rows and test rows. It is None if rows are divided in two.
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
        """Caveat about cross-fitted rows; empty if rows are divided in two.

        >>> import calib_core as cc
        >>> p = cc.Predictions([[0.7, 0.3]] * 4, [0, 1] * 2)
        >>> divide(p).note, divide(p, folds=2).note[:24]
        ('', 'Each row is recalibrated')
        """
        return "" if self.folds is None else CROSS_FITTED

    @property
    def judged(self) -> str:
        """Description of the test rows: held-out rows, or all rows, cross-fitted.

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
        """Fold of every test row, (n,), if rows are cross-fitted; else None."""
        return None if self.folds is None else self.folds[self.test_rows]

    @property
    def undivided(self) -> bool:
        """True if there are no calibration rows, as for every summary.

        >>> import calib_core as cc
        >>> p = cc.Predictions([[0.7, 0.3]] * 4, [0, 1] * 2)
        >>> divide(p).undivided, divide(cc.Summary.of(p)).undivided
        (False, True)
        """
        return self.test.grain == "counts"

    @property
    def apart(self) -> Predictions:
        """Calibration rows that are not test rows; NotAnswerable if rows are cross-fitted.

        They are for quantities learned in addition to a calibrator and applied to the test rows.

        >>> import calib_core as cc
        >>> rows = divide(cc.Predictions([[0.7, 0.3]] * 4, [0, 1] * 2))
        >>> rows.apart is rows.fit
        True
        """
        if self.folds is not None:
            raise NotAnswerable(
                "rows are cross-fitted, so every row is a test row and none is left to learn this from: divide the "
                "rows in two"
            )
        return self.fit

    @property
    def warning(self) -> str:
        """Warning if a group has rows on both sides; empty if none has.

        >>> import calib_core as cc
        >>> p = cc.Predictions([[0.7, 0.3]] * 4, [0, 1] * 2, groups=["a", "a", "b", "b"])
        >>> divide(p, marked=Marked(np.array([0, 2, 3]), np.array([1]), "part")).warning[:49]
        '1 group has rows on both sides, so errors after r'
        """
        first, second = self.fit.grouping, self.test.grouping
        shared = 0 if self.folds is not None else groups_on_both_sides(first, second)
        if first is None or not shared:
            return ""
        has = f"group{'' if shared == 1 else 's'}{first.kind} {'has' if shared == 1 else 'have'}"
        return (
            f"{count(shared)} {has} rows on both sides, so errors after recalibration are too optimistic. Divide the "
            "rows here, which keeps groups whole, or mark whole groups."
        )

    def frame(self) -> pd.DataFrame:
        """One row each for calibration rows and test rows: number, accuracy and mean confidence.

        Cross-fitted rows have one row per fold and one for the test rows; a summary has only
        the latter. ``accuracy`` and ``confidence`` use the rows' weights. What can mislead: parts of one file differ by
        chance; use an estimate to assess a difference between accuracy and confidence.
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
    """Read predictions from a table as it proposes, except for some fields of the reading.

    Other fields keep their proposed values and do not depend on the given ones, unlike in ``read_predictions``. If
    the table is ambiguous, ``reading`` must resolve it; InputError names the field.

    >>> import calib_core as cc
    >>> table = cc.readers.read_table(b"a,b,label\\n0.7,0.3,0\\n0.4,0.6,1\\n", "two.csv")
    >>> read_as(table).n_rows, read_as(table, {"kind": "probabilities"}).class_names
    (2, ('a', 'b'))
    """
    return predictions(table, reading_of(table, reading))


CONTENTS = {
    "full": "a probability for every class",
    "per-class": "a probability for every class, rows need not sum to one",
    "top-label": "predicted class and its confidence only",
    "confidence": "confidence and correctness only",
}
"""Contents of each kind of predictions."""


def described(table: Table, reading: Mapping[str, object] | None = None, sha256: str = "") -> pd.DataFrame:
    """Describe a file of predictions: its contents, number of rows and reading, one row per ``property``.

    ``reading`` as in ``read_as``; ``sha256`` is the digest of the file's bytes, if known. Every ``value`` is a
    text; accuracy and mean confidence are over all rows, including calibration rows.

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
        "contents": CONTENTS[whole.kind],
        "accuracy, all rows": percent(whole.accuracy),
        "mean confidence, all rows": percent(whole.mean_confidence),
        "read as": reading_of(table, reading).to_json() if reading else "proposed from its names and values",
    }
    known = {name: value for name, value in facts.items() if value}
    return pd.DataFrame({"property": list(known), "value": list(known.values())})


def reading_of(table: Table, given: Mapping[str, Any] | None) -> Reading:
    """Return the reading that a table proposes, with the given fields."""
    if not given:
        return propose(table)
    try:
        proposal = propose(table)
    except InputError:
        return Reading(**given)
    return proposal.replace(**given)


class Marked(NamedTuple):
    """Positions of calibration rows and test rows, and the column that marks them."""

    fit: Codes
    test: Codes
    column: str


def marked_rows(table: Table, reading: Mapping[str, object] | None = None) -> Marked:
    """Return the calibration rows and test rows marked by a column of the table.

    ``reading`` as in ``read_as``. Raises InputError if there is no such column, or its values are unclear.

    >>> import calib_core as cc
    >>> table = cc.readers.read_table(b"p,label,split\\n0.7,1,test\\n0.4,0,calibration\\n", "marked.csv")
    >>> marked_rows(table)
    Marked(fit=array([1]), test=array([0]), column='split')
    """
    how = reading_of(table, reading)
    return Marked(*split_rows(table, how), str(how.split))


def usual_folds(whole: Predictions) -> int | None:
    """Return the default number of folds for cross-fitting; None if half of the rows are held out by default.

    Up to ``FEW`` rows are cross-fitted; of more rows half are held out. The
    dashboard, the report, ``calib audit`` and ``calib choose`` use this rule if no column marks the rows.

    >>> import calib_core as cc
    >>> few, many = (cc.Predictions([[0.7, 0.3]] * n, [0] * n) for n in (400, 4000))
    >>> usual_folds(few), usual_folds(many)
    (7, None)
    """
    if whole.grain == "counts" or whole.n_rows > FEW:
        return None
    if whole.row_groups is None:
        return JUDGED_FOLDS if whole.n_rows >= 2 * JUDGED_FOLDS else None
    groups = len(whole.row_groups.values)  # half of few groups would be only one or two
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
    """Divide predictions into calibration rows for fits and test rows for evaluation.

    Parameters
    ----------
    share, random_state : share of calibration rows (by default half), drawn at random and stratified by class; and
        the seed.
    folds : instead of a share, the number of random folds (``cross_fitting.plain_folds``) for cross-fitting. All rows
        are evaluated, each after a map fitted on the other folds (``recalibrated``). The final map is fitted on all
        (``fitted``).
    marked : instead, the rows marked by a column of the file (``marked_rows``).
    test : instead, predictions for other rows: then ``whole`` are all calibration rows.
    like : instead, the division of another model's predictions for the same rows.

    Raises InputError if ``test`` has other classes, ``like`` has other rows, or ``folds`` is given with one of these.
    Raises InputError also if there are fewer rows or groups than folds. Groups stay whole if rows are divided here. If
    a column or two files divide them and a group has rows on both sides, ``warning`` reports it. What can mislead: rows
    of an unknown group may be on both sides. A division stratified by class gives both parts the same class
    frequencies. An update of the mean risk (``intercept``, ``logistic-recalibration``) is then evaluated on the
    frequency of its fit, and its gain is slightly too large. For an intercept, over 150 calibrated models of 1,500
    rows, it is on average +.0002 in log loss instead of -.0008. Folds are not stratified by class.

    >>> import calib_core as cc
    >>> rows = divide(cc.read_predictions(*cc.datasets.demo("wine-logistic")), random_state=3)
    >>> rows.fit.n_rows, rows.test.n_rows, rows.rule
    (89, 89, 'split at random, stratified by class')
    """
    if whole.grain == "counts":
        if like is not None and not like.undivided:
            raise NotAnswerable(
                "a summary can only be compared with summaries, and the first file has rows: summarize it"
            )
        return _undivided(whole, other=test is not None or marked is not None or folds is not None)
    if folds is not None and not (share is None and like is None and test is None and marked is None):
        raise InputError(
            "folds already divide the rows: leave out the share, the marked rows, the test file and the model to match"
        )
    if like is not None:
        return _alike(whole, like)
    if folds is not None:
        # Not stratified by label, like the choice of a calibrator, so that a map has the same score in both places.
        whole.check_folds(folds, random_state)
        fold, every = plain_folds(whole, folds, random_state), np.arange(whole.n_rows)
        return Division(whole, whole, every, every, in_random_folds(folds, whole), whole, folds=fold)
    if test is not None:
        _check_classes(whole, test)
        rule = "calibrated on all rows of one file, evaluated on all rows of another"
        return Division(whole, test, np.arange(whole.n_rows), np.arange(test.n_rows), rule)
    if marked is not None:
        return _parts(whole, marked.fit, marked.test, f"split by the column {marked.column}")
    chosen = whole.first_part(0.5 if share is None else share, random_state=random_state)
    kept = "" if whole.row_groups is None else f", each group{whole.row_groups.kind} on one side"
    return _parts(whole, np.flatnonzero(chosen), np.flatnonzero(~chosen), f"split at random, stratified by class{kept}")


def _undivided(summary: Predictions, *, other: bool) -> Division:
    """Division of a summary without calibration rows, so a fit raises an error."""
    if other:
        raise NotAnswerable(
            "a summary has no rows to divide and is evaluated as a whole: summarize the test rows separately"
        )
    none = np.zeros(0, dtype=np.intp)
    return Division(
        summary, summary, none, none, "a summary, evaluated as a whole; no calibrator is fitted on it", summary
    )


def _parts(whole: Predictions, fit_rows: Codes, test_rows: Codes, rule: str) -> Division:
    every = np.arange(whole.n_rows)
    fit, test = (whole if np.array_equal(rows, every) else whole.take(rows) for rows in (fit_rows, test_rows))
    return Division(fit, test, fit_rows, test_rows, rule, whole)


def _alike(first: Predictions, like: Division) -> Division:
    """Division of another model's predictions into the same rows."""
    if like.undivided:
        raise NotAnswerable(
            "the first file is a summary, which can only be compared with summaries: summarize this one, too (calib "
            "summarise)"
        )
    if like.whole is None:
        raise NotAnswerable("a comparison needs one file per model: divide the rows by share or by a column")
    check_same_rows(like.whole, first)
    rule = "divided like the first file" if like.folds is None else f"{like.rule}, like the first file"
    return replace(_parts(first, like.fit_rows, like.test_rows, rule), where=like.where, folds=like.folds)


def _check_classes(first: Predictions, second: Predictions) -> None:
    if first.class_names != second.class_names:
        raise InputError(
            "The two files do not have the same classes in the same order "
            f"({other_classes(first, second)}): choose files of one model, or change how they are read."
        )


def three_corners(division: Division, three: Sequence[int], others: str = "pool") -> Division:
    """Return the division with three classes as the corners of a triangle (``corners``).

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
    """Return the division with a slice of its test rows, and all calibration rows.

    ``where`` is a slice or its text, ``subject=law`` or ``age=40..60``, two joined by ``&``. Raises NotAnswerable if
    the test rows have no such column, or none of them is in the slice. What can mislead: a calibrator fitted on all
    rows is evaluated on some; and a slice chosen by its outcomes is one of many.

    >>> import calib_core as cc
    >>> rows = divide(cc.read_predictions(*cc.datasets.demo("language-model"), accepted="models"))
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
    """Fit a calibrator on the calibration rows; the given one stays unfitted.

    With cross-fitted rows these are all rows: it is the final map, which is not used for evaluation (``recalibrated``).
    In slow fits ``progress`` gets the percentage done, or repeatedly 0 if it is unknown
    (steps towards a minimum); an exception in it stops the fit.

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
    """Return the test rows after a calibrator fitted on the calibration rows (``fitted``).

    With cross-fitted rows each row is after the same calibrator refitted on the rows of the other folds, regardless of
    the given fit. ``part="fit"``: the calibration rows after it, for quantities learned in addition to
    it; NotAnswerable if rows are cross-fitted (``Division.apart``). ``progress`` as in ``fitted``, with equal
    shares for all folds. What can mislead: calibration rows are the rows of
    the fit, so errors on them are not valid.

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
