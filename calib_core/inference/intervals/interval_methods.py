"""Interval of an estimate: the tested default of its kind, or a bootstrap on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.errors import as_share
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators.base import Question, error_scale, traits
from calib_core.inference.intervals import (
    canonical_intervals,
    mean_scores,
    squared_errors,
    wild_bootstrap,
)
from calib_core.inference.intervals.binned_errors import InBins, is_majority, one_claim_a_row
from calib_core.inference.intervals.bins_of_interval import OF_BINS, facts_of, target
from calib_core.inference.intervals.clustered_rows import (
    FEWEST,
    GroupsInCells,
    few_groups,
    groups_of,
    together,
    widened,
)
from calib_core.inference.intervals.elementary import (
    IN_BINS,
    NOISELESS,
    alone,
    around,
    beyond,
    percentile,
    pivotal,
    raised,
)
from calib_core.inference.intervals.error_hierarchy import Chain
from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.inversion import CellGaps
from calib_core.inference.intervals.larger_samples import LEAST_SLOPE, POWER, Power
from calib_core.inference.intervals.observed_expected import ends_of_groups, grouped_p_value
from calib_core.inference.intervals.row_bootstrap import bootstrap
from calib_core.inference.intervals.simulated_domain import CANONICAL, CANONICAL_KERNEL, of_rows
from calib_core.inference.intervals.squared_errors import largest_ends
from calib_core.inference.noise import simplex_draws
from calib_core.inference.noise.noise_floor import calibrated_claims, noise_floor
from calib_core.inference.noise.redrawn_errors import of_counts
from calib_core.predictions.predictions import NotAnswerable
from calib_core.predictions.row_groups import RowGroups, made_for_single_rows
from calib_core.reductions.base import claims_in
from calib_core.reductions.top import Confidence
from calib_core.results.uncertainty import Interval

LEAST_ROWS = 5
"""Rows per non-empty cell of the simplex, on average, below which nothing is claimed from below about an L1 error."""

DRAWS, DRAWS_OF_ROWS = 9, 3
"""Outcomes drawn from the scores for a typical upper end."""

Method = Literal["default", "percentile", "pivotal"]


def interval(
    question: Question, level: float = LEVEL, random_state: int = SEED, method: Method = "default"
) -> Interval:
    """Confidence interval for the true value, given the predictions.

    The default depends on the estimate:

    - binned errors (ECE, RMSCE and their debiased forms): test inversion;
    - the largest error: Clopper-Pearson (canonical: multinomial) bounds for all cells at once;
    - errors that are a norm of the residuals (kernel, smooth, convex, swept, cumulative): bounds on what a norm can
      gain from noise;
    - the squared kernel error: test inversion, or its blocks;
    - means of rows (log loss, Brier score, accuracy): the percentile bootstrap.

    All but the last are in the coverage table (canonical: three classes) or have a proof. Other estimates have the
    pivotal bootstrap, reported as untested. For grouped rows, means and shares are computed by groups, norms as in
    ``grouped_interval``, and bootstraps draw groups; methods for independent rows are refused. ``percentile`` and
    ``pivotal`` request the bootstrap forms of any estimate; for plug-in and debiased binned errors they do not cover.

    >>> from calib_core import Predictions, estimate
    >>> p = Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)
    >>> got = interval(estimate(p).question)
    >>> 0.3 in got, 0.1 in got, got.tested
    (True, False, True)
    """
    as_share(level, "level")
    counted = method == "default" and _in_bins(question) and question.predictions.row_groups is None
    if not (counted and one_claim_a_row(question)):
        question = question.written_out
    if method != "default":
        return _bootstrapped(question, level, random_state, method)
    groups = groups_of(question)
    if (mean := mean_scores.of_mean(question, level)) is not None:
        value, about = (
            question.answer(question.predictions).value,
            mean.about + ("" if groups is None else groups.together),
        )
        return around(value, (mean.low, mean.high), level, mean.method, mean.tested, about)
    if groups is not None:
        found = grouped_interval(question, groups, level, random_state)
        return replace(found, about=found.about + groups.together)
    if question.reduction is not None:
        return _default(question, question.claims, level, random_state)
    return _bootstrapped(question, level, random_state, "pivotal")


def typical_high(question: Question, level: float, random_state: int = SEED) -> float:
    """Typical upper end for a perfectly calibrated model with these predictions.

    It is the median over outcomes drawn from the scores, so it is known before any outcome is seen. There are
    ``DRAWS`` draws if bin counts suffice, ``DRAWS_OF_ROWS`` if the estimator uses the rows.
    """
    return _drawn_high(question, level, random_state, 0.5)


def usually_reaches(question: Question, limit: float, level: float, random_state: int = SEED) -> bool:
    """Return True if the typical upper end of a calibrated model (``typical_high``) is at least ``limit``."""
    if _in_bins(question):
        return Chain.of(question, random_state).usually_reaches(question.estimator, limit, level, DRAWS)
    question = question.written_out
    drawn = calibrated_claims(question, DRAWS_OF_ROWS, random_state)
    reaching = (_default(question, claims, level, random_state).high >= limit for claims in drawn)
    return is_majority(reaching, DRAWS_OF_ROWS)


def _drawn_high(question: Question, level: float, random_state: int, share: float) -> float:
    """The upper end that this share of calibrated models stay below."""
    if _in_bins(question):
        return Chain.of(question, random_state).typical_high(question.estimator, level, DRAWS, share)
    question = question.written_out
    drawn = calibrated_claims(question, DRAWS_OF_ROWS, random_state)
    return float(np.quantile([_default(question, claims, level, random_state).high for claims in drawn], share))


def rows_for_groups(question: Question, limit: float, random_state: int = SEED) -> float | None:
    """Approximate number of rows needed to judge more than one mean whose scores are further apart than ``limit``.

    None if groups are judged, or a group cannot hide an error of that size.
    """
    # Where every row speaks of every class one group is never judged (``judged_bins``).
    if not _in_bins(question) or question.claims.same_rows or question.predictions.row_groups is not None:
        return None
    return InBins(question, random_state).rows_for_groups(limit)


def rows_to_tell(question: Question, limit: float, level: float, random_state: int = SEED) -> float:
    """Approximate sample size with which a calibrated model's upper end is below ``limit`` in 8 of 10 samples.

    For mean absolute errors of one claim per row, samples are drawn in the cells for that number of rows. For others,
    take the upper end that 8 of 10 samples of the rows at hand stay below. It falls at least like one over the root
    of the rows (for squares: over their number).
    """
    needed = rows_with_error(question, limit, 0.0, level, random_state)
    if needed is not None:
        return needed
    power = 1 if error_scale(question.estimator).squared else 2
    high = _drawn_high(question, level, random_state, POWER)
    return question.predictions.answered.effective_rows * max(high / limit, 1.0) ** power


def rows_with_error(
    question: Question, limit: float, error: float, level: float, random_state: int = SEED
) -> float | None:
    """The same for a model that is too confident by ``error`` everywhere; None where that is not known.

    Known of mean absolute errors of one claim a row, where it takes at most 10,000 times the rows at hand.
    """
    if not _in_bins(question):
        return None
    return Chain.of(question, random_state).rows_needed(question.estimator, limit, level, error)


def power_by_rows(question: Question, limit: float, level: float, random_state: int = SEED) -> Power:
    """Share of samples of a calibrated model whose upper end is below ``limit``, by the number of rows.

    ``POWER`` of them are with about ``rows_to_tell`` rows. Fewer rows than those at hand are considered too.
    """
    power = Chain.of(question, random_state).power(question.estimator, limit, level) if _in_bins(question) else None
    return power or Power(rows_to_tell(question, limit, level, random_state), LEAST_SLOPE)


def highs_of_most(question: Question, factors: Sequence[float], level: float, random_state: int = SEED) -> Float64s:
    """The upper ends that 8 of 10 calibrated models' samples stay below, with multiples of the rows at hand."""
    bins = InBins(question, random_state) if _in_bins(question) else None
    if bins is not None and bins.knows_more_rows(question.estimator):
        return np.array([bins.high_with(factor, level) for factor in factors])
    power = 1.0 if error_scale(question.estimator).squared else 0.5
    high = _drawn_high(question, level, random_state, POWER)
    return np.asarray(high / np.asarray(factors, dtype=np.float64) ** power)


# -- the default, in order of use -----------------------------------------------------------------------------


def _in_bins(question: Question) -> bool:
    return target(question.estimator) is not None and not question.whole


def _default(question: Question, claims: Any, level: float, random_state: int) -> Interval:
    """The interval of these claims: those of the question, or what they might have been."""
    form = _FORMS.get((traits(question.estimator).judged, question.whole))
    answer = None if form is None else form(question, claims, level, random_state)
    return _bootstrapped(question, level, random_state, "pivotal") if answer is None else answer


def _bootstrapped(question: Question, level: float, random_state: int, method: str) -> Interval:
    draws = bootstrap(question, random_state=random_state)
    value = question.answer(question.predictions).value
    if method == "percentile":
        return around(value, percentile(draws, level), level, "percentile bootstrap", False, NOISELESS)
    return around(value, pivotal(value, draws, level), level, "pivotal bootstrap", False, NOISELESS)


def _of_bins(question: Question, claims: Any, level: float, random_state: int) -> Interval | None:
    if not _in_bins(question):
        return None
    return Chain.of(question, random_state).interval(question.estimator, level)


def _of_cells(question: Question, claims: Any, level: float, random_state: int) -> Interval | None:
    cells = simplex_draws.in_cells([question.estimator], claims)
    about = target(question.estimator)
    if cells is None or about is None:
        return None
    order, scale = about
    low, high = canonical_intervals.cell_bounds(cells, order, level, random_state)
    value = question.of(claims).value
    if order == "max":
        method = "simultaneous multinomial bounds for all cells, conservative"
        return around(value, (low, high), level, method, True)
    if order == 1 and float(cells.worth.mean()) < LEAST_ROWS:
        method = "test inversion, upper end only (too few rows per cell for a lower end)"
        return around(value, (0.0, scale(high)), level, method, False)
    tested = claims.weights is None and CANONICAL.holds(len(claims.class_names), len(claims.labels), level)
    return around(value, (scale(low), scale(high)), level, "test inversion", tested)


def _of_norms(question: Question, claims: Any, level: float, random_state: int) -> Interval:
    estimated = question.estimator(claims)
    ends = wild_bootstrap.bounds(question.estimator, claims, estimated, question.ranks, level, random_state)
    tested = of_rows(facts_of(question), level)
    return around(estimated.value, ends, level, "bounds for a norm of residuals", tested, NOISELESS)


def _of_smoothed(question: Question, claims: Any, level: float, random_state: int) -> Interval:
    value, *ends = canonical_intervals.smoothed_bounds(question.estimator, claims, level, random_state)
    about = canonical_intervals.SMOOTHED
    return around(value, (ends[0], ends[1]), level, "bounds for a norm of residual vectors", False, about)


def _of_pairs(question: Question, claims: Any, level: float, random_state: int) -> Interval:
    value = question.of(claims).value
    ends = squared_errors.inverted_pairs(question.estimator, claims, value, question.ranks, level, random_state)
    return around(value, ends, level, "test inversion", of_rows(facts_of(question), level), NOISELESS)


def _of_blocks(question: Question, claims: Any, level: float, random_state: int) -> Interval:
    ends = squared_errors.of_blocks(question.estimator, claims, level)
    tested = claims.weights is None and CANONICAL_KERNEL.holds(len(claims.class_names), len(claims.labels), level)
    return around(question.of(claims).value, ends, level, "independent blocks of rows", tested, NOISELESS)


Form: TypeAlias = Callable[[Question, Any, float, int], Interval | None]

_FORMS: dict[tuple[str, bool], Form] = {
    ("bins", False): _of_bins,
    ("bins", True): _of_cells,
    ("residuals", False): _of_norms,
    ("smoothed", True): _of_smoothed,
    ("pairs", False): _of_pairs,
    ("pairs", True): _of_blocks,
}
"""Interval of each kind of estimator (``Traits.judged``), and of questions about whole vectors.

Others, and those for which the function returns None, have an untested bootstrap. Means of rows are handled first
(``mean_scores``).
"""


_SLACK = 1e-3
"""A lower end below this share of the value is rounding."""


def grouped_interval(question: Question, groups: RowGroups, level: float, random_state: int) -> Interval:
    """The interval of an error of grouped rows, in its own bins.

    The error T is a norm of sums of residuals (ECE, kernel, smooth, convex, swept, cumulative errors). Each group
    contributes the sum of its rows; groups are independent. A_g is the distance that group g's residuals moved such a
    sum (in bins: the largest possible sum A_g^2 for any signs of the bins). M is the most that one group could move
    it, B = sum (A_g / M)^2, and X(B) as in ``elementary.beyond``. The ends are

        max(0, T - q),   q the (1 + level)/2 point for calibrated models (``group_noise.of_groups``),
        min(1, T + M X(B)),   widened to Student's point for this number of groups.

    In bins of one claim per row, no end is below that of the size of the mean gap. The error cannot be smaller than it.
    That end uses its p-value's level, (1 - level)/2 for both signs. The own lower end of T then uses a tenth of that,
    so that both miss jointly in at most 1.1 (1 - level)/2. The p-value is at most that of the mean gap. The target is T
    itself, which noise raises.

    The largest error of a bin has Clopper-Pearson bounds for all bins at once; rows of a group in a bin count as one.
    If outcomes of these scores cannot be drawn, the lower end is 0. What can mislead: few or very unequal groups make
    the interval wide, as they must.

    NotAnswerable for fewer than ``FEWEST`` groups, squared and debiased errors, errors of pairs and of whole vectors.
    """
    declared, of = traits(question.estimator), target(question.estimator)
    plain = declared.judged == "residuals" or (declared.counts == "always" and of is not None and of[0] != 2)
    if question.whole or not plain:
        raise NotAnswerable(made_for_single_rows(groups, "the interval of this error"))
    if len(groups.values) < FEWEST:
        raise NotAnswerable(few_groups(groups))
    value = question.answer(question.predictions).value
    if of is not None and of[0] in ("max", OF_BINS):
        largest, further = (_largest(question, groups, each, value) for each in (level, alone(level)))
        return _above_mean_gap(largest, further.low, question, level)
    tail = (1.0 - level) / 2
    most = float(together(question.claims.reaches(question.ranks), groups).max())
    high = value + widened(groups, tail) * most * beyond(_squares(question, groups) / most**2, tail)
    low, further_low = _lower_ends(question, value, (level, alone(level)), random_state)
    about = NOISELESS if declared.judged == "residuals" else f"{IN_BINS}, noise included"
    found = around(value, (low, min(high, 1.0)), level, "bounds for a norm of residuals, by group", False, about)
    return found if of is None else _above_mean_gap(found, further_low, question, level)


def _lower_ends(question: Question, value: float, levels: Sequence[float], random_state: int) -> list[float]:
    """Lower ends at several levels: the value less what calibrated models show; 0 where outcomes cannot be drawn."""
    try:
        drawn = noise_floor(question, random_state=random_state).draws
    except NotAnswerable:
        return [0.0 for _ in levels]
    lows = (value - float(np.quantile(drawn, (1.0 + level) / 2)) for level in levels)
    return [low if low > _SLACK * value else 0.0 for low in lows]


def _above_mean_gap(own: Interval, low: float, question: Question, level: float) -> Interval:
    """The interval of an error with its own lower end ``low``, not below the mean gap of the same claims.

    It is unchanged if rows make several claims, which have no such gap.
    """
    if not one_claim_a_row(question):
        return own
    answered = question.predictions.answered
    # Claims about the predicted class, class by class, have the mean gap of all of them.
    claims = question.claims if len(question.claims.strata) == 1 else claims_in(Confidence(), answered)
    rows = EventRows.of_claims(claims, answered)
    total, mean = rows.trials.total, rows.trials.expected / rows.trials.total
    # The size has two tails: the end towards 0 is that of the interval that excludes 0 if p is small enough.
    near, far = (ends_of_groups(rows, answered, each) for each in ((1.0 + level) / 2, level))
    least = max(near.low / total - mean, mean - near.high / total, 0.0)
    most = max(mean - far.low / total, far.high / total - mean)
    return raised(own, low, (least, least, most), grouped_p_value(rows), "mean gap")


def _squares(question: Question, groups: RowGroups) -> float:
    """Squares of what groups did move the aggregate by, added up."""
    counted = of_counts(question.estimator, question.claims) if target(question.estimator) else None
    if counted is None:
        return float(np.square(together(question.claims.influence(question.ranks), groups)).sum())
    table = counted.table
    unit = np.divide(table.weight, table.count, out=np.zeros(table.count.shape), where=table.count > 0)
    return GroupsInCells.of(question.claims, table, groups, question.ranks).squares(unit.ravel())


def _largest(question: Question, groups: RowGroups, level: float, value: float) -> Interval:
    counted, of = of_counts(question.estimator, question.claims), target(question.estimator)
    assert counted is not None
    assert of is not None
    table = counted.table
    worth = GroupsInCells.of(question.claims, table, groups, question.ranks).fewest.reshape(table.count.shape)
    cells = (table.count > 0) & (table.weight > 0)
    bins = np.nonzero(cells)[1] if of[0] == OF_BINS else None
    gaps = CellGaps(table.weight[cells], worth[cells], table.mean_outcome[cells], table.mean_score[cells])
    ends = largest_ends(gaps, level, bins)
    method = "simultaneous Clopper-Pearson, rows of a group in a bin counted as one"
    return around(value, (ends.low, ends.high), level, method, False)
