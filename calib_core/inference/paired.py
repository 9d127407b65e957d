"""Two models, or several, on the same rows: how far their errors differ, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from calib_core._repr import OneLine
from calib_core.binning import BinningScheme, BinTable, Distinct, Groups, cuts, tabulate
from calib_core.claims import Claims, ColumnClaims, FlatClaims, Tally
from calib_core.estimators import Estimator, as_estimator, own_bins, traits
from calib_core.estimators.base import Question, error_scale
from calib_core.inference.forms import interval
from calib_core.inference.in_bins import InBins, target
from calib_core.inference.intervals import Interval
from calib_core.inference.joint_cells import (
    FEWEST_SURPRISES,
    Difference,
    Residuals,
    absolute_difference,
    outer_difference,
    squared_difference,
)
from calib_core.inference.multiple import holm
from calib_core.inference.score_differences import of_scores
from calib_core.inference.words import at_level, chance
from calib_core.predictions import InputError, NotAnswerable, Predictions, check_same_rows
from calib_core.reductions import REDUCTIONS, Reduction, as_reduction
from calib_core.registry import RegistryError
from calib_core.vectors import Vectors

DEFAULT = "debiased-l2"
"""The estimator whose differences are told most sharply."""

BinsOf = Literal["each", "first", "second"]
"""Whose cells the rows are put in: each model's own, or one model's for both."""

GROUP_ROWS = {1: 50, 2: 20}
"""Fewest rows of the groups that claims by class are put in where no bins are given, by the order of the error."""

LADDER = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""The p-values told where intervals are held against each other: the smallest of these at which they part."""


@dataclass(frozen=True)
class Domain:
    """Where simulations found intervals to hold the truth: all of these at once, outside they are a rough guide.

    ``classes`` and ``rows`` least and most, ``cell_rows`` the fewest rows a judged cell holds on average, ``share`` the
    least share of rows that is judged, ``level`` least and most.
    """

    notions: tuple[str, ...]
    classes: tuple[int, int]
    rows: tuple[int, int]
    cell_rows: float
    share: float
    level: tuple[float, float]

    def covers(self, notion: str, classes: int, rows: int, cell_rows: float, share: float, level: float) -> bool:
        """Does a case lie within?"""
        ranges = ((self.classes, classes), (self.rows, rows), (self.level, level))
        inside = all(least <= value <= most for (least, most), value in ranges)
        return inside and notion in self.notions and cell_rows >= self.cell_rows and share >= self.share


SIMULATED = Domain(("confidence", "top-label"), (1, 100), (300, 100_000), 20.0, 0.9, (0.9, 0.95))
"""What tests/simulations/paired_coverage.py covers: its rows are in ``paired.csv`` (``paired_table``)."""


@dataclass(frozen=True, repr=False)
class PairedDifference(OneLine):
    """An error of one model less that of another on the same rows, with its interval and the p-value of no difference.

    ``first`` and ``second`` are the two estimates, ``value`` their difference: below 0 the first model's error is
    smaller. ``point`` is the estimate of the true difference that lies in the interval; plug-in errors, which noise
    pushes up, can differ by more. ``about`` says what the true difference is one of; ``tested`` whether simulations of
    this library, or a theorem, cover the case.
    """

    first: float
    second: float
    low: float
    high: float
    p_value: float
    level: float
    method: str
    tested: bool
    about: str
    point: float

    @property
    def value(self) -> float:
        return self.first - self.second

    def _line(self) -> str:
        trust = "" if self.tested else ", a rough guide"
        ends = f"{self.low:.4f} to {self.high:.4f} at {at_level(self.level)}"
        return f"{self.point:.4f}, {ends}, {chance(self.p_value)}{trust}"

    @property
    def sentence(self) -> str:
        """What the numbers say, and how sure that is."""
        trust = "" if self.tested else ", not tested here: a rough guide"
        return (
            f"Difference {self.point:.4f}, {at_level(self.level)} interval {self.low:.4f} to {self.high:.4f}, "
            f"p = {self.p_value:.3g} ({self.method}{trust}): {self.about}"
        )


def paired_difference(
    a: Predictions,
    b: Predictions,
    reduction: str | Reduction | None = "confidence",
    estimator: str | Estimator = DEFAULT,
    bins: int | str | BinningScheme | None = None,
    *,
    bins_of: BinsOf = "each",
    level: float = 0.9,
    random_state: int = 0,
) -> PairedDifference:
    """How much larger a's error is than b's on the same rows: its interval, and a test of no difference.

    What is done depends on the estimator.

    - Debiased squared error, where a row makes one claim (confidence, top-label, one class): an unbiased estimate from
      pairs of rows that share a cell, with a normal interval from rows and pairs under both models
      (``joint_cells.squared_difference``).
    - ECE and debiased ECE of such claims: residuals summed by signs that other rows tell
      (``joint_cells.absolute_difference``).
    - Both, with fewer than ten outcomes' worth of squared residuals: bounds from counts, which never tell the models
      apart.
    - Scores of whole predictions (``reduction`` None): Student's interval for the mean of the rows' differences; a
      score interval for accuracies; bounds where one unseen outcome could change much (``score_differences``).
    - Anything else (RMSCE, MCE, class-wise and top-k errors, kernel and smooth errors, the simplex, weights that are
      not whole): each model's own interval at level 1 - (1 - level) / 2; the difference lies between their extremes if
      both hold. Conservative and wide, since what the models have in common does not cancel. The p-value is the
      smallest of ``LADDER`` at which the two intervals part.

    ``bins_of`` "first" or "second" puts every row in that model's cell for both models; both must then make claims
    about the same outcomes. Where no bins are given (``declared_bins``): a model that is declared discrete and one that
    is not are both judged one bin a value of the discrete one, as the base model of a recalibration has to be (P1 App.
    F); two discrete ones each one bin a value; of others claims by class are judged in groups of at least 20 rows (ECE:
    50), each model in its own. ``about`` says which.

    Models that make the same claims differ by 0, exactly. The rows must be the same in the same order: InputError
    names the first whose labels differ. (Bare confidences have no labels to compare.) What can mislead: errors on bins
    placed by each model's own scores differ by the bins.

    References: P1 App. F; P2 Def. 5.2.

    >>> a = Predictions([[0.9, 0.1]] * 200, [0] * 180 + [1] * 20)
    >>> b = Predictions([[0.6, 0.4]] * 200, [0] * 180 + [1] * 20)
    >>> made = paired_difference(a, b, None, "brier")  # 0.18 - 0.36: nine rows of ten gain 0.3, one loses 0.9
    >>> round(made.value, 2), made.low < -0.18 < made.high
    (-0.18, True)
    >>> made = paired_difference(a, b)  # a is right as often as it says, b says 0.3 too little: 0 - 0.3^2
    >>> round(made.point, 2), made.high < 0
    (-0.09, True)
    """
    if not 0 < level < 1:
        raise RegistryError(f"level is {level}; it must lie between 0 and 1, both excluded")
    first, second = _same_rows(a, b)
    if reduction is None:
        return _of_scores(first, second, as_estimator(estimator, bins), level)
    notion = as_reduction(reduction)
    if bins is None and bins_of == "each":
        bins, bins_of = declared_bins(first, second, notion, estimator)
    method = _with_groups(estimator, notion.split(first)) if bins is None else as_estimator(estimator, bins)
    one, other = (Question(p.answered, notion, method) for p in (first, second))
    if _in_cells(one) and _in_cells(other):
        return _of_cells(one, other, bins_of, level, random_state)
    if bins_of != "each":
        raise NotAnswerable(
            "one model's bins can be used for both only where a row makes one claim and the error is the ECE or the "
            "debiased squared error"
        )
    return _of_intervals(one, other, level, random_state)


def compare(
    models: Mapping[str, Predictions],
    reduction: str | Reduction | None = "confidence",
    estimator: str | Estimator = DEFAULT,
    bins: int | str | BinningScheme | None = None,
    *,
    level: float = 0.9,
    random_state: int = 0,
) -> pd.DataFrame:
    """Every pair of models on the same rows: their errors, the paired difference, its interval, and tests.

    One line a pair: first, second, first_value, second_value, difference, low, high, p, p_holm, method, tested, about.
    ``difference`` is the one that lies in the interval, which that of two plug-in values need not be. p_holm is
    corrected for the number of pairs; the intervals are each at ``level``, not all at once.

    >>> p = Predictions([[0.7, 0.3]] * 10, [0] * 7 + [1] * 3)
    >>> compare({"one": p, "same": p}, None, "log-loss")[["difference", "p", "p_holm"]].values.tolist()
    [[0.0, 1.0, 1.0]]
    """
    if len(models) < 2:
        raise InputError("one model alone has nothing to be compared with; give two or more")
    names = list(combinations(models, 2))
    made = [
        paired_difference(models[p], models[q], reduction, estimator, bins, level=level, random_state=random_state)
        for p, q in names
    ]
    lines = [(*pair, m.first, m.second, m.point, m.low, m.high, m.p_value) for pair, m in zip(names, made, strict=True)]
    frame = pd.DataFrame(
        lines, columns=["first", "second", "first_value", "second_value", "difference", "low", "high", "p"]
    )
    return frame.assign(
        p_holm=holm(frame["p"].to_numpy()),
        method=[m.method for m in made],
        tested=[m.tested for m in made],
        about=[m.about for m in made],
    )


def declared_bins(
    a: Predictions, b: Predictions, reduction: str | Reduction, estimator: str | Estimator = DEFAULT
) -> tuple[BinningScheme | None, BinsOf]:
    """The bins in which two models are compared where none are given, and whose they are.

    One bin a value where outputs are declared discrete, and that model's for both: wider bins flatter the discrete
    model, other bins compare bins and not models. None where neither is declared discrete, where the estimator has bins
    of its own, and where bins cannot be shared: a row makes several claims, or the two make claims about different
    outcomes.

    References: P1 App. F, Remark 1.

    >>> p = Predictions([[0.7, 0.3]] * 10, [0] * 7 + [1] * 3)
    >>> declared_bins(p, p.as_discrete(), "confidence"), declared_bins(p, p, "confidence")
    ((Distinct(), 'second'), (None, 'each'))
    """
    if not isinstance(estimator, str) or not (a.discrete or b.discrete):
        return None, "each"
    schemes = [own_bins(p, estimator) for p in (a, b)]
    first, second = (scheme is not None and cuts(scheme).one_a_value for scheme in schemes)
    notion, method = as_reduction(reduction), as_estimator(estimator)
    one, other = (Question(p.answered, notion, method) for p in (a, b))
    if not (_in_cells(one) and _in_cells(other)) or not (first or second):
        return None, "each"
    if first and second:
        return Distinct(), "each"
    alike = np.array_equal(one.claims.outcomes, other.claims.outcomes)
    return (Distinct(), "first" if first else "second") if alike else (None, "each")


def _same_rows(a: Predictions, b: Predictions) -> tuple[Predictions, Predictions]:
    check_same_rows(a, b)
    weights = [np.ones(p.n_rows) if p.weights is None else p.weights for p in (a, b)]
    differ = np.flatnonzero(weights[0] != weights[1])
    if len(differ):
        i = int(differ[0])
        raise InputError(
            f"row {i} has the weight {weights[0][i]:g} in one model and {weights[1][i]:g} in the other: models are "
            "compared on the same rows with the same weights"
        )
    declined = [np.zeros(p.n_rows, dtype=bool) if p.abstained is None else p.abstained for p in (a, b)]
    differ = np.flatnonzero(declined[0] != declined[1])
    if len(differ):
        raise NotAnswerable(
            f"row {int(differ[0])} is answered by one model and not by the other ({len(differ)} rows in all): they "
            "make no claims about the same rows; compare them on the rows both answer"
        )
    return a.written_out(), b.written_out()


# -- means of rows --------------------------------------------------------------------------------------------


def _of_scores(a: Predictions, b: Predictions, score: Any, level: float) -> PairedDifference:
    if "predictions" not in traits(score).takes:
        raise RegistryError("this estimator needs a notion: give reduction=")
    made, method, tested = of_scores(a, b, score, level)
    return _told((score.of(a), score.of(b)), made, level, method, tested, "the difference of expected scores")


def _told(
    values: tuple[float, float], made: Difference, level: float, method: str, tested: bool, about: str
) -> PairedDifference:
    first, second = values
    return PairedDifference(first, second, made.low, made.high, made.p_value, level, method, tested, about, made.point)


# -- one claim a row: residuals in cells ----------------------------------------------------------------------


def _in_cells(question: Question) -> bool:
    """Does every row make one claim and count as one, and is its error one that residuals in cells tell?"""
    claims, about = question.claims, target(question.estimator)
    single = isinstance(claims, FlatClaims) and question.ranks == 1 and claims.weights is None
    return single and about is not None and (about[0] == 1 or error_scale(question.estimator).squared)


def _with_groups(estimator: str | Estimator, claims: Claims | Vectors) -> Any:
    """The estimator in groups of enough rows, where it is given by key, reads bins and the claims are by class."""
    method = as_estimator(estimator)
    order = (target(method) or ("max", float))[0]
    by_class = isinstance(claims, FlatClaims) and len(claims.strata) > 1
    if isinstance(estimator, str) and by_class and order in GROUP_ROWS:
        return as_estimator(estimator, Groups(GROUP_ROWS[int(order)]))
    return method


def _of_cells(one: Question, other: Question, bins_of: BinsOf, level: float, random_state: int) -> PairedDifference:
    asked, order = (one, other), 2 if error_scale(one.estimator).squared else 1
    tables = _tables(asked, bins_of)
    if _alike(one.claims, other.claims):
        values = tuple(_value(q, t) for q, t in zip(asked, tables, strict=True))
        return _same_claims((values[0], values[1]), level)
    placed = [other, other] if bins_of == "second" else [one, one] if bins_of == "first" else [one, other]
    cells = [t.cells(q.claims.scores, q.claims.codes) for q, t in zip(placed, tables, strict=True)]
    first, second = (
        Residuals(q.claims.outcomes - q.claims.scores.astype(np.float64), np.unique(at, return_inverse=True)[1])
        for q, at in zip(asked, cells, strict=True)
    )
    judged = [float(m.judged.mean()) for m in (first, second)]
    if min(judged) == 0:
        raise NotAnswerable(
            "every row is alone in its bin, where an error cannot be told from noise: choose fewer bins, or groups"
        )
    if order == 2:
        made, method = squared_difference(first, second, level), "pairs of rows in both models' bins"
    else:
        made, method = absolute_difference(first, second, level, random_state), "signs from other rows"
    if min(first.surprises, second.surprises) < FEWEST_SURPRISES or made.low == made.high:
        made, method = outer_difference(first, second, made.point, level), "bounds from few outcomes, conservative"
    notion = REDUCTIONS.recipe(one.reduction).key
    rows_a_cell = min(j * len(m.cell) / m.cells for j, m in zip(judged, (first, second), strict=True))
    classes = max(len(np.unique(q.claims.codes)) for q in asked)
    tested = SIMULATED.covers(notion, classes, len(first.cell), rows_a_cell, min(judged), level)
    alone = int((~(first.judged & second.judged)).sum()) if order == 2 else 0
    where = _where(one.estimator.binning, bins_of, (first.cells, second.cells), alone)
    values = (_value(one, tables[0]), _value(other, tables[1]))
    kind = "squared" if order == 2 else "absolute"
    return _told(values, made, level, method, tested, f"the difference of mean {kind} errors {where}")


def _tables(asked: tuple[Question, Question], bins_of: BinsOf) -> tuple[BinTable, BinTable]:
    """The table of each model, or of both models' claims in one model's cells."""
    one, other = (tabulate(q.claims, [q.estimator.binning])[0] for q in asked)
    if bins_of == "each":
        return one, other
    if not np.array_equal(asked[0].claims.outcomes, asked[1].claims.outcomes):
        raise NotAnswerable(
            "the two models predict different classes: they make claims about different outcomes, which no bins of one "
            "of them can compare"
        )
    table, source, moved = (one, *asked) if bins_of == "first" else (other, *asked[::-1])
    at = table.cells(source.claims.scores, source.claims.codes)
    score = np.bincount(at, moved.claims.scores, table.count.size).reshape(table.count.shape).astype(np.float64)
    shared = replace(table, tally=Tally(table.tally.count, score, table.tally.outcome))
    return (table, shared) if bins_of == "first" else (shared, table)


def _value(question: Question, table: BinTable) -> float:
    """The estimate of claims counted into this table."""
    return float(question.estimator.of_outcomes(table, table.tally.outcome[None])[0])


def _where(binning: Any, bins_of: BinsOf, cells: tuple[int, int], alone: int) -> str:
    """Over which bins errors are compared, in words."""
    number = f"{cells[0]}" if bins_of != "each" or cells[0] == cells[1] else f"{cells[0]} and {cells[1]}"
    if cuts(binning).pools:
        what = (
            f"over {number} groups of at least {binning.rows} rows, chosen from the scores; finer errors are not seen"
        )
    else:
        what = f"in {number} bins" + (", one a value" if cuts(binning).one_a_value else "")
    whose = "" if bins_of == "each" else f", those of the {bins_of} model"
    left_out = f"; {alone} rows alone in a bin are left out" if alone else ""
    return what + whose + left_out


# -- all else: the two intervals ------------------------------------------------------------------------------


def _alike(a: Any, b: Any) -> bool:
    """Do two models make the same claims?"""
    if isinstance(a, FlatClaims):
        parts = ("scores", "codes", "outcomes")
        return all(np.array_equal(getattr(a, part), getattr(b, part)) for part in parts)
    labels = "hit" if isinstance(a, ColumnClaims) else "labels"
    rows = all(np.array_equal(block, b.rows.part(where).array()) for where, block in a.rows.blocks())
    return rows and np.array_equal(getattr(a, labels), getattr(b, labels))


def _same_claims(values: tuple[float, float], level: float) -> PairedDifference:
    made = Difference(0.0, 0.0, 0.0, 1.0)
    return _told(values, made, level, "the same claims", True, "the difference of the same claims from themselves")


def _of_intervals(one: Question, other: Question, level: float, random_state: int) -> PairedDifference:
    values = tuple(q.answer(q.predictions).value for q in (one, other))
    if _alike(one.claims, other.claims):
        return _same_claims((values[0], values[1]), level)
    intervals = [_intervals(q, random_state) for q in (one, other)]

    def ends(alpha: float) -> tuple[float, float, bool]:
        """The extremes of the difference at level 1 - alpha, and whether both intervals are tested."""
        mine, theirs = (each(1 - alpha / 2) for each in intervals)
        return mine.low - theirs.high, mine.high - theirs.low, mine.tested and theirs.tested

    low, high, tested = ends(1 - level)
    point = float(np.clip(values[0] - values[1], low, high))
    made = Difference(point, low, high, _parts_at(ends))
    about = "the difference of the two true errors, each as its own interval says"
    return _told(
        (values[0], values[1]), made, level, "extremes of both models' own intervals, conservative", tested, about
    )


def _intervals(question: Question, random_state: int) -> Callable[[float], Interval]:
    """Level -> the model's own interval, with what all levels share made once."""
    if target(question.estimator) is not None and not question.whole:
        bins = InBins(question, random_state)
        return lambda level: bins.interval(question.estimator, level)
    return lambda level: interval(question, level, random_state)


def _parts_at(ends: Callable[[float], tuple[float, float, bool]]) -> float:
    """The smallest alpha of the ladder whose interval leaves 0 out, 1 where none does; by bisection."""
    low, high = 0, len(LADDER)
    while low < high:
        middle = (low + high) // 2
        least, most, _ = ends(LADDER[middle])
        low, high = (low, middle) if least > 0 or most < 0 else (middle + 1, high)
    return LADDER[low] if low < len(LADDER) else 1.0
