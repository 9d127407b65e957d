"""Every class at a glance: rows, share and error, in order, searched; and which classes are significantly off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.errors import NotAnswerable
from calib_core.binning.base import BinningScheme
from calib_core.binning.bin_table import tabulate
from calib_core.binning.interval_schemes import bins_of
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.estimators.binned import Binned
from calib_core.inference.noise.outcome_draws import poisson_binomial
from calib_core.inference.significance.class_differences import jointly_off
from calib_core.inference.significance.count_tests import (
    FEWEST,
    kinds_of_places,
    per_class_tests,
    score_nodes,
    standing_out,
)
from calib_core.predictions.predictions import Predictions
from calib_core.predictions.validation import whole
from calib_core.reductions.base import Reduction, claims_of
from calib_core.text import begun, called, in_percent, jointly

SORTS = ("beyond", "error", "share", "rows", "name")
"""Sort keys of classes: contribution to the error beyond noise, error, share, rows, or file order."""
FEW_ROWS = 10
"""Classes with fewer rows come last, unless they are significant."""
PAGE = 12
"""Number of classes (small diagrams) on a page."""
MANY, MOST_DRAWN = 20, 100
"""Above ``MANY`` classes each is one line of `ClassGaps`; at most ``MOST_DRAWN`` of them are drawn."""


@dataclass(frozen=True, eq=False, repr=False)
class ClassTable(Diagram):
    """One line per class: arrays are (K,), NaN for classes without claims.

    ``share`` is the share of rows making a claim about the class, ``true_share`` the share of rows with this label.
    ``score`` is the mean score, ``outcome`` the mean outcome, and ``error`` the class's own ECE.
    """

    names: tuple[str, ...]
    count: Float64s
    share: Float64s
    true_share: Float64s
    score: Float64s
    outcome: Float64s
    error: Float64s

    def frame(self) -> pd.DataFrame:
        """One line per class, exactly the numbers shown."""
        columns = {
            "class": np.asarray(self.names, dtype=object),
            "rows": self.count,
            "share": self.share,
            "true_share": self.true_share,
            "mean_score": self.score,
            "mean_outcome": self.outcome,
            "gap": self.outcome - self.score,
            "error": self.error,
        }
        return pd.DataFrame(columns)


def class_table(
    predictions: Predictions,
    reduction: str | Reduction = "top-label",
    bins: int | str | BinningScheme | None = None,
) -> ClassTable:
    """All classes with their rows, share and error, to be sorted and searched.

    ``reduction`` is top-label (claims about the predicted class) or class-wise (every row makes a claim about every
    class). ``bins`` as for ``estimate``; by default outputs declared discrete have one bin per value.

    >>> p = Predictions.from_confidence([0.6, 0.6], predicted=[0, 1], labels=[1, 1])
    >>> class_table(p).frame()["error"].round(3).tolist()
    [0.6, 0.4]
    """
    table = tabulate(claims_of(predictions, reduction), [bins_of(predictions, bins)], pooled=False)[0]
    count = table.count.sum(axis=1)
    with np.errstate(invalid="ignore"):
        score, outcome = table.tally.score.sum(axis=1) / count, table.tally.outcome.sum(axis=1) / count
    labels = predictions.true_labels
    true = np.bincount(labels, predictions.weights, minlength=len(table.strata))
    rows = total_rows(predictions)
    error = Binned().of_table(table).per_stratum
    return ClassTable(table.strata, count, count / rows, true / rows, score, outcome, error)


@dataclass(frozen=True, eq=False, repr=False)
class ClassGaps(Diagram):
    """Mean prediction and observed frequency of chosen classes, (m,); NaN for classes without claims.

    ``code`` is the position of a class. ``low`` to ``high`` contains the observed frequency for calibrated models with
    these predictions at ``level``; NaN for rows in groups or of unequal weight. ``stands_out``: significantly off,
    corrected for multiple testing. ``off`` is their number among all classes, None if they are not tested.
    """

    code: tuple[int, ...]
    names: tuple[str, ...]
    rows: Float64s
    score: Float64s
    outcome: Float64s
    low: Float64s
    high: Float64s
    stands_out: Bools
    off: int | None
    tested: int
    level: float

    def frame(self) -> pd.DataFrame:
        """One line per class, exactly the numbers drawn."""
        names = {"rows": "rows", "mean_score": "score", "mean_outcome": "outcome"}
        columns = {name: getattr(self, source) for name, source in names.items()}
        columns |= {name: getattr(self, name) for name in ("low", "high", "stands_out")}
        return pd.DataFrame({"class": np.asarray(self.names, dtype=object), **columns})


def class_gaps(
    predictions: Predictions,
    reduction: str | Reduction = "top-label",
    classes: Sequence[int] | None = None,
    tests: pd.DataFrame | None = None,
    level: float = LEVEL,
) -> ClassGaps:
    """Mean prediction and observed frequency of each class, with the range of calibrated models.

    ``classes`` are codes in order, by default all; the first 100 are drawn. ``tests`` are the ``per_class_tests`` of
    the same predictions. In a calibrated model the number of positive outcomes of a class is
    Poisson-binomial; the range contains its middle ``level``. A score counts as the mean of its slice, of which there
    are 256. What can mislead: a class can be significantly off by gaps in single bins that cancel in its mean. Of ten
    classes of a calibrated model, one is outside its 90 % range on average.

    References: Hong 2013 (Poisson-binomial law).

    >>> p = Predictions.from_confidence([0.9] * 80, predicted=[0, 1] * 40, labels=[0] * 80)
    >>> class_gaps(p).frame()[["mean_score", "mean_outcome", "low", "high"]].values.round(3).tolist()
    [[0.9, 1.0, 0.825, 0.975], [0.9, 0.0, 0.825, 0.975]]
    """
    claims = claims_of(predictions.written_out(), reduction)
    tally = claims.tally(score_nodes()[1:-1].astype(claims.dtype))
    count, sums, outcomes = tally.count, tally.score, tally.outcome
    chosen = list(range(len(count)) if classes is None else classes)[:MOST_DRAWN]
    known = predictions.row_groups is None and whole(predictions.weights)
    ends = np.full((len(chosen), 2), np.nan)
    for i, c in enumerate(chosen):
        if known and count[c].any():
            ends[i] = _calibrated(count[c], sums[c], level)
    off = () if tests is None else standing_out(tests)
    rows = count.sum(axis=1)[chosen]
    with np.errstate(invalid="ignore"):
        score, outcome = (part.sum(axis=1)[chosen] / rows for part in (sums, outcomes))
    return ClassGaps(
        tuple(chosen),
        tuple(claims.strata[c] for c in chosen),
        rows,
        score,
        outcome,
        ends[:, 0],
        ends[:, 1],
        np.isin(chosen, off),
        None if tests is None else len(off),
        0 if tests is None else int(tests["p_holm"].notna().sum()),
        level,
    )


def _calibrated(count: Float64s, sums: Float64s, level: float) -> tuple[float, float]:
    """Ends of the middle ``level`` of the observed frequency for calibrated models, from the rows in slices."""
    filled = count > 0
    first, chances = poisson_binomial(count[filled], sums[filled] / count[filled])
    below = np.cumsum(chances)
    ends = np.searchsorted(below, [(1 - level) / 2, (1 + level) / 2])
    low, high = (first + np.minimum(ends, len(below) - 1)) / count.sum()
    return float(low), float(high)


def ranked_classes(
    table: ClassTable,
    sort: str = "beyond",
    search: str = "",
    page: int | None = None,
    tests: pd.DataFrame | None = None,
) -> tuple[int, ...]:
    """Codes of the classes whose name contains a text, in order; classes without claims come last.

    ``sort`` is "beyond", "error" (largest first), "share" (largest first), "rows" (fewest first) or "name" (in the
    order of the classes). Ties keep that order. Worst first ("beyond") means significant classes, then those of 10 rows
    or more, then the others, each by its contribution to the error beyond noise. It uses ``tests``, the
    ``per_class_tests`` of the same predictions. Without them no class is significant and no noise is subtracted: the
    contribution is error times share. ``page`` is 1, 2, ... for that dozen of classes, or the last dozen where there
    are fewer pages; by default all are returned. NotAnswerable where no name contains ``search``; capitals do not
    matter. What can mislead: the classes with the largest "error" are often those of a single row.

    >>> p = Predictions.from_confidence([0.6, 0.6, 0.9], predicted=[0, 1, 2], labels=[1, 1, 2])
    >>> ranked_classes(class_table(p)), ranked_classes(class_table(p), "name", search="2")
    ((0, 1, 2), (2,))
    """
    if sort not in SORTS:
        raise ValueError(f"sort is {sort!r}; it must be one of {', '.join(SORTS)}")
    wanted = search.strip().casefold()
    found = np.asarray([c for c, name in enumerate(table.names) if wanted in name.casefold()], dtype=np.intp)
    if not len(found):
        raise NotAnswerable(f"no class has {search.strip()!r} in its name; change the search")
    if sort == "beyond":
        found = found[np.lexsort(_worst_first(table, tests)[:, found])]
    elif sort != "name":
        fewest = np.where(table.count > 0, table.count, np.inf)
        value = {"error": -table.error, "share": -table.share, "rows": fewest}[sort]
        found = found[np.argsort(np.where(np.isnan(value), np.inf, value)[found], kind="stable")]
    if page is not None:
        last = -(-len(found) // PAGE)
        found = found[(min(page, last) - 1) * PAGE :][:PAGE]
    return tuple(found.tolist())


def _worst_first(table: ClassTable, tests: pd.DataFrame | None) -> Float64s:
    """Keys (2, K) to sort classes by, the last first: the group of each, and what it adds to the error beyond noise."""
    beyond = table.error * table.share if tests is None else tests["beyond"].to_numpy(dtype=np.float64)
    group = np.where(table.count >= FEW_ROWS, 1.0, 2.0)
    if tests is not None:
        group[list(standing_out(tests))] = 0.0
    group[table.count == 0] = 3.0
    return np.stack([np.where(np.isnan(beyond), np.inf, -beyond), group])


def class_list(
    models: Mapping[str, Predictions],
    reduction: str | Reduction = "top-label",
    bins: int | str | BinningScheme | None = None,
    sort: str = "beyond",
    search: str = "",
    page: int | None = None,
    classes: Sequence[int] | None = None,
    tests: bool | Mapping[str, pd.DataFrame] = True,
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """All classes, a line each: rows, mean score and outcome in the first model, and the error of every model.

    Columns class, rows, share, true_share, mean_score, mean_outcome and gap are the first model's (``class_table``).
    ``sort``, ``search`` and ``page`` apply to them (``ranked_classes``), or ``classes`` lists codes in order. For every
    model NAME, "error, NAME" is the class's own ECE, a plug-in value. With ``tests`` there are also "calibrated, NAME",
    "p, NAME" and "p_holm, NAME" of ``per_class_tests``. They are corrected for the number of all classes, whatever is
    searched. A mapping of ``tests`` contains those computed before, by name. Tests of the first model also decide which
    class is worst. ``note`` is the reason why a model has no tests; their columns are then NaN. ``progress`` receives
    the progress in percent. What can mislead: the error of a class of few rows is mostly noise. Such a class passes its
    test whatever the model predicts. P-values in p_holm are corrected for the classes, not for the models.

    References: P1 eq. (2) and (5); Holm 1979.

    >>> p = Predictions.from_confidence([0.6, 0.6], predicted=[0, 1], labels=[1, 1])
    >>> class_list({"net": p}, bins=1)[["class", "error, net", "p, net"]].round(3).values.tolist()
    [['0', 0.6, 0.4], ['1', 0.4, 1.0]]
    """
    tables = {name: class_table(predictions, reduction, bins) for name, predictions in models.items()}
    first = next(iter(tables.values()))
    frame, notes = first.frame().drop(columns="error"), []
    tested: dict[str, pd.DataFrame] = {} if isinstance(tests, bool) else dict(tests)
    for i, (name, table) in enumerate(tables.items()):
        if table.names != first.names:
            raise NotAnswerable(f"{name} is about other classes than {next(iter(tables))}: they share no line")
        frame[f"error, {name}"] = table.error
        if tests is True or (tests is False and not i and classes is None and sort == "beyond"):
            try:
                tested[name] = per_class_tests(models[name], reduction, bins, _part_of(progress, i, len(tables)))
            except NotAnswerable as why:
                notes.append(f"{name}: {why}")
        if tests is not False:
            part = ["calibrated", "p", "p_holm"]
            known = tested[name][part] if name in tested else pd.DataFrame(np.nan, frame.index, part)
            frame[[f"{column}, {name}" for column in part]] = known
    ranked = ranked_classes(first, sort, search, page, tested.get(next(iter(tables)))) if classes is None else classes
    order = list(ranked)
    return frame.assign(note="; ".join(notes)).iloc[order].reset_index(drop=True)


def _part_of(progress: Callable[[int], object] | None, i: int, parts: int) -> Callable[[int], object] | None:
    """Progress callback of the i-th of several parts."""
    return progress and (lambda percent: progress((100 * i + percent) // parts))


def total_rows(predictions: Predictions) -> float:
    """Number of rows, or their weight."""
    return float(predictions.n_rows if predictions.weights is None else predictions.weights.sum())


@dataclass(frozen=True, eq=False, repr=False)
class StandingOut(Diagram):
    """Predicted classes, significant ones first, then by contribution beyond noise; arrays are (m,).

    ``code`` and ``names`` are those of the class, ``rows`` the number predicted as it, ``claimed`` their mean
    confidence, ``right`` their accuracy. ``error`` is the class's own error and ``calibrated`` what calibrated models
    show on average; ``excess`` is the share of rows times the difference. ``p_holm`` is corrected for the classes and
    the kinds of places; ``stands_out`` where it is at most 0.05. ``p_joint`` is that of all classes together
    (``inference.jointly_off``).
    """

    drawn: ClassVar[bool] = False

    code: tuple[int, ...]
    names: tuple[str, ...]
    rows: Float64s
    claimed: Float64s
    right: Float64s
    error: Float64s
    calibrated: Float64s
    excess: Float64s
    p_holm: Float64s
    stands_out: Bools
    p_joint: float = float("nan")

    @property
    def cancel(self) -> bool:
        """True if gaps of significant classes have both signs, so that they cancel in the mean over all classes."""
        gaps = (self.claimed - self.right)[self.stands_out]
        return bool((gaps > 0).any() and (gaps < 0).any())

    @property
    def jointly_off(self) -> bool:
        """True if the classes are significantly off together."""
        return self.p_joint <= SIGNIFICANCE

    @property
    def headline(self) -> str:
        """The significant class with the largest contribution, or a sentence that there is none."""
        if not len(self.names):
            return "No class is predicted"
        if not self.stands_out[0]:
            return f"No class is significantly off{' by itself; jointly they are' if self.jointly_off else ''}"
        claimed, right = in_percent(float(self.claimed[0])), in_percent(float(self.right[0]))
        if gaps_cancel(float(self.claimed[0]), float(self.right[0]), float(self.error[0])):
            return f"{begun(called(self.names[0]))} contributes most to the error; its gaps cancel on average"
        return f"{begun(called(self.names[0]))} contributes most to the error: confidence {claimed}, accuracy {right}"

    @property
    def furthest(self) -> int | None:
        """Position of the significant class with the largest gap, unless its contribution is the largest too."""
        gaps = np.where(self.stands_out, np.abs(self.claimed - self.right), -1.0)
        place = int(gaps.argmax()) if len(gaps) else 0
        return place if place and gaps[place] > gaps[0] else None

    @property
    def basis(self) -> str:
        """Number of significant classes, of how many, and the correction."""
        tests, found = len(self.names), int(self.stands_out.sum())
        if not found:
            return (
                f"None of the {tests:,} predicted classes is significantly off (corrected for multiple testing)"
                f"{jointly(self.p_joint)}. With few rows, an error of a class is rarely significant."
            )
        if tests == 1:
            return f"{self.rows[0]:,.0f} rows. The only predicted class is significantly off."
        count = f"{found:,} of {tests:,}" if found < tests else "Both" if tests == 2 else f"All {tests:,}"
        beyond = ""
        if (i := self.furthest) is not None:
            says, right = in_percent(float(self.claimed[i])), in_percent(float(self.right[i]))
            rows = f"{self.rows[i]:,.0f} rows"
            beyond = f" Largest gap: {called(self.names[i])}, confidence {says}, accuracy {right} ({rows})."
        are = "is" if found == 1 else "are"
        first = f"{begun(called(self.names[0]))}: {self.rows[0]:,.0f} rows."
        return f"{first} {count} predicted classes {are} significantly off (corrected).{beyond}"

    def frame(self) -> pd.DataFrame:
        """One line per predicted class."""
        columns = ("rows", "claimed", "right", "error", "calibrated", "excess", "p_holm", "stands_out")
        frame = pd.DataFrame({"class": pd.Series(self.names, dtype=object), "code": pd.Series(self.code, dtype=int)})
        return frame.assign(**{name: getattr(self, name) for name in columns})


def gaps_cancel(claimed: float, right: float, error: float) -> bool:
    """True if most of an error summed over bins cancels in the mean over all of them.

    >>> gaps_cancel(0.74, 0.73, 0.2), gaps_cancel(0.9, 0.7, 0.2)
    (True, False)
    """
    return abs(claimed - right) < error / 2


def classes_standing_out(
    predictions: Predictions,
    bins: int | str | BinningScheme | None = None,
    progress: Callable[[int], object] | None = None,
) -> StandingOut:
    """Return the significantly miscalibrated predicted classes, the largest contribution to the error first.

    For every class that is predicted: its rows, their mean confidence and accuracy, and the exact test of
    ``per_class_tests`` in the top-label notion. Tests are corrected like all places (``inference.picked_out``). excess
    = rows / n * (error - calibrated) is the contribution of the class to the error beyond noise. A class of one row is
    therefore not first. What can mislead: a class can be significant by gaps that cancel in its mean. Classes that are
    not significant may have too few rows.

    References: P1 eq. (2); Holm 1979.

    >>> classes = [0] * 40 + [1] * 40
    >>> p = Predictions.from_confidence([0.9] * 80, predicted=classes, labels=[0] * 37 + [1] * 23 + [0] * 20)
    >>> classes_standing_out(p, 1).headline
    'Class 1 contributes most to the error: confidence 90 %, accuracy 50 %'
    >>> classes_standing_out(p, 1).basis
    'Class 1: 40 rows. 1 of 2 predicted classes is significantly off (corrected).'
    """
    table = class_table(predictions, "top-label", bins)
    tests = per_class_tests(predictions, "top-label", bins, progress, kinds_of_places(predictions), FEWEST)
    codes = np.arange(len(tests))
    frame = tests.assign(
        code=codes,
        claimed=table.score,
        right=table.outcome,
        excess=tests["beyond"],
        stands_out=np.isin(codes, standing_out(tests)),
    )
    frame = frame[frame["rows"] > 0].sort_values(["stands_out", "excess"], ascending=False, kind="stable")
    numbers = {
        name: frame[name].to_numpy(dtype=np.float64)
        for name in ("rows", "claimed", "right", "error", "calibrated", "excess", "p_holm")
    }
    return StandingOut(
        code=tuple(frame["code"].tolist()),
        names=tuple(frame["class"].tolist()),
        stands_out=frame["stands_out"].to_numpy(dtype=np.bool_),
        p_joint=jointly_off(predictions, bins),
        **numbers,
    )
