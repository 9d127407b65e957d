"""Intervals of binned errors: the cells they are about, the rows' noise in them, and which construction applies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from calib_core._base.arrays import Bools, Float64s
from calib_core.binning.base import cuts
from calib_core.binning.bin_table import BinTable, tabulate_at
from calib_core.binning.groups import Groups
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.claims.exact_sums import Moments, copies
from calib_core.claims.row_covariance import SharedRows
from calib_core.estimators.base import Question, error_scale
from calib_core.estimators.binned import Binned
from calib_core.estimators.debiased import worth
from calib_core.inference.intervals.bins_of_interval import FEW_ROWS, OF_BINS, facts_of, is_sparse, judged_bins, target
from calib_core.inference.intervals.inversion import (
    NO_ERRORS,
    RICH,
    CellGaps,
    Ends,
    Noise,
    absolute_ends,
    absolute_high,
    binomial_null,
    draws_for,
    highs_reaching,
    square_ends,
    square_high,
)
from calib_core.inference.intervals.larger_samples import (
    DRAWS,
    Power,
    Streams,
    cells_with,
    high_of_most,
    number_within,
    power_by_times,
    times_for_power,
)
from calib_core.inference.intervals.simulated_domain import Facts, in_bins
from calib_core.inference.intervals.squared_errors import Pairs, largest_ends, pairs, root_ends, root_high
from calib_core.inference.intervals.wild_bootstrap import reach
from calib_core.inference.noise.cell_draws import FineCells, Outcomes, SharedNoise, counts_suffice, shared_outcomes
from calib_core.inference.noise.cell_sums import outcome_sums, shared_of
from calib_core.inference.noise.noise_floor import calibrated_claims, drawn_sums, null_outcomes
from calib_core.inference.noise.redrawn_errors import of_counts
from calib_core.predictions.predictions import NotAnswerable
from calib_core.results.uncertainty import Interval
from calib_core.text import short_percent

_ONE_ROW = 1.0 + 1e-9
_WHAT: dict[int | str, str] = {
    1: "the error",
    2: "the root mean square error",
    "max": "the largest error",
    OF_BINS: "the largest error, averaged over classes,",
}
KINDS = tuple(sorted(_WHAT.values(), key=len, reverse=True))
"""Beginnings of what an interval is about; where the error is measured follows."""
_GIVEN = "in these bins, given these predictions"
SIMILAR = "with similar predictions"
"""The property that the rows of a group share."""
CANCELLING = "; errors that cancel within such a group of rows are not measured"
"""End of what an interval in groups is about."""
_WITHIN_GROUPS = f"given these predictions{CANCELLING}"


def one_claim_a_row(question: Question) -> bool:
    """True if every row makes one claim, so that sums over cells are sufficient for intervals."""
    return not question.whole and not question.claims.same_rows and question.ranks == 1


def is_majority(answers: Iterable[bool], count: int) -> bool:
    """Return True if more than half of ``count`` answers are True, asking for no more than decide it.

    >>> is_majority(iter([True, False, True]), 3)
    True
    """
    half, yes, no = count / 2, 0, 0
    for answer in answers:
        yes, no = (yes + 1, no) if answer else (yes, no + 1)
        if yes > half or no >= half:
            break
    return yes > half


class InBins:
    """Intervals of all errors in the same bins of the same claims; the rows' noise and the ends are computed once.

    ``question`` is about an estimator that has a binning. If every row makes one claim, only sums over cells
    (``Claims.moments``) are needed.
    """

    def __init__(self, question: Question, random_state: int) -> None:
        self.original = question = question if one_claim_a_row(question) else question.written_out
        self._question = judged_bins(question)
        self._claims, self._ranks = question.claims, question.ranks
        counted = of_counts(Binned(self._question.estimator.binning), self._claims)
        assert counted is not None
        self._table = counted.table
        self._cells = (self._table.count > 0) & (self._table.weight > 0)
        if not self._cells.any():
            raise NotAnswerable("there are no claims to evaluate here")
        self._worth = worth(self._claims, self._table)
        self.seed = random_state
        self._stream = Streams(random_state)
        self._ends: dict[tuple[Any, ...], Ends] = {}
        self._highs: dict[tuple[Any, ...], Float64s] = {}
        self._reached: dict[tuple[Any, ...], bool] = {}

    def typical_high(self, estimator: object, level: float, count: int, share: float = 0.5) -> float:
        """The upper end that a ``share`` of calibrated models stay below, over this number of draws of all outcomes."""
        key = error_scale(estimator), level, count
        if key not in self._highs:
            self._highs[key] = np.array([bins.high(estimator, level) for bins in self._drawn(count)])
        return float(np.quantile(self._highs[key], share))

    def usually_reaches(self, estimator: object, limit: float, level: float, count: int) -> bool:
        """Whether ``typical_high`` is at least ``limit``, from as few draws as decide it."""
        key = error_scale(estimator), level, count
        if key in self._highs:
            return float(np.median(self._highs[key])) >= limit
        if (*key, limit) not in self._reached:
            reaching = (bins._reaches(estimator, limit, level) for bins in self._drawn(count))
            self._reached[(*key, limit)] = is_majority(reaching, count)
        return self._reached[(*key, limit)]

    def _reaches(self, estimator: object, limit: float, level: float) -> bool:
        """Whether ``high`` is at least ``limit``: of a mean absolute error without the end itself in clear cases."""
        scale = error_scale(estimator)
        if scale.order != 1 or scale.squared:
            return self.high(estimator, level) >= limit
        return limit <= 1.0 and highs_reaching([(self.gaps, self._noise)], level, self._normals, limit) == 1

    def _drawn(self, count: int) -> Iterator[InBins]:
        """The same bins with outcomes drawn from the scores."""
        if counts_suffice(self._claims, self._ranks):
            return map(self._with, FineCells(self._claims, self._table).moments(self._stream(4), count))
        if not self.disjoint and self._of_cells is not None:
            return map(self._calibrated, self._of_cells(self._stream(4), count))
        return map(self._with_outcomes, calibrated_claims(self._question.written_out, count, self.seed))

    def _with_outcomes(self, claims: Any) -> InBins:
        """The same bins with other outcomes, those of these claims, for their ``high``.

        Quantities that depend on scores only are shared, and so are the normal errors, though their correlation is that
        of the outcomes.
        """
        if self.disjoint:
            return self._with(self._table.moments(claims))
        _ = self._unit, self._unanswered
        other = self._of(outcome_sums(claims, self._table))
        other._claims = claims
        # What is known of cells is of the outcomes that were seen: what these rows move is looked up in the rows.
        other.__dict__["_shared"] = None
        return other

    def _calibrated(self, outcome: Float64s) -> InBins:
        """With outcome sums of calibrated models, whose rows' residuals move cells as the scores claim."""
        other, known, cells = self._of(outcome), self._shared, self._cells.ravel()
        assert known is not None
        moved, each = self._noise, np.square(self._table.weight.ravel()[cells] / self._table.count.ravel()[cells])
        seen, claimed = (max(0.0, float(each @ np.diag(s.value)[cells])) for s in (known.residual, known.claimed))
        residual = moved.residual * claimed / seen if seen > 0 else moved.residual
        other.__dict__["_noise"] = Noise(moved.unit, residual, residual)
        return other

    def _with(self, moments: Moments) -> InBins:
        other = self._of(self._table.together(moments).outcome)
        other.__dict__["_moments"] = moments
        return other

    def _of(self, outcome: Float64s) -> InBins:
        _ = self._unit, self._normals
        other = copy(self)
        # Normal errors are of these outcomes, whatever was computed before; with many rows they hardly depend on them.
        own = () if self.gaps.rich else ("_errors",)
        for name in ("gaps", "_larger", "_noise", "_pairs", "_several", "_moments", *own):
            other.__dict__.pop(name, None)
        other._table = replace(self._table, tally=replace(self._table.tally, outcome=outcome))
        return other

    @cached_property
    def _moments(self) -> Moments:
        """Sums over each bin's claims, for each stratum of the claims."""
        return self._table.moments(self._claims)

    @cached_property
    def _shared(self) -> SharedRows | None:
        """Covariance of the cells, if it is small enough to be stored."""
        return shared_of(self._claims, self._table, self._ranks)

    @cached_property
    def _of_cells(self) -> Outcomes | None:
        """Outcomes drawn from that; None where rows are drawn one by one."""
        return shared_outcomes(self._claims, self._table, self._ranks, self._shared)

    @cached_property
    def _unanswered(self) -> Float64s | None:
        known: Float64s | None = self._claims.unanswered()
        return known

    @cached_property
    def _unit(self) -> float:
        if not self.disjoint and self._shared is not None:
            return self._shared.reach(self._each_line)
        if not self.disjoint or not copies(self._claims.weights):
            return reach(self._claims, self._ranks)
        return float(self._each.max())

    @property
    def _each(self) -> Float64s:
        """Effect of a weight of 1 on the aggregate, (strata of the claims,), 0 in those without claims."""
        total = self._moments.count.sum(axis=-1)
        return np.asarray(np.divide(self._claims.shares, total, out=np.zeros(len(total)), where=total > 0))

    @property
    def _each_line(self) -> Float64s:
        """The same for the claims of a row, (lines,): those of one rank weigh the same, whatever their class."""
        assert self._shared is not None
        return np.asarray(self._each.reshape(self._shared.lines, -1).max(axis=1))

    @cached_property
    def gaps(self) -> CellGaps:
        """The non-empty cells."""
        table, cells = self._table, self._cells
        return CellGaps(table.weight[cells], self._worth[cells], table.mean_outcome[cells], table.mean_score[cells])

    @property
    def pooled(self) -> float:
        """Share of the rows in pooled strata."""
        joined = self._table.joined
        shared = np.zeros(0) if joined is None else np.bincount(joined) > 1
        return float(self._table.shares[: len(shared)] @ shared)

    @cached_property
    def sparse(self) -> bool:
        """True if too many rows are in cells with too few rows."""
        return is_sparse(self._table, self._worth, same_rows=self._claims.same_rows)

    @property
    def facts(self) -> Facts:
        """Properties that decide whether the case was simulated."""
        return replace(facts_of(self._question), sparse=self.sparse)

    @property
    def question(self) -> Question:
        """The question about the bins that are judged."""
        return self._question

    @property
    def table(self) -> BinTable:
        """The bins that are judged, and their contents."""
        return self._table

    @property
    def cells(self) -> Bools:
        """Mask of bins that contain claims, (strata of the table, bins)."""
        return self._cells

    @property
    def disjoint(self) -> bool:
        """True if every row makes one claim."""
        return one_claim_a_row(self._question)

    def interval(self, estimator: object, level: float) -> Interval:
        """The interval of one estimator that reads these bins."""
        of = target(estimator)
        assert of is not None
        order, scale = of
        ends = self.ends(order, level)
        tested = in_bins(self.facts, order, level)
        low, point, high = map(scale, ends)
        return Interval(low, high, level, self.method(order), tested, self.about(order), point)

    def ends(self, order: int | str, level: float) -> Ends:
        """Ends of the interval for one order of the error, cached."""
        if (order, level) not in self._ends:
            self._ends[order, level] = self._construct(order, level)
        return self._ends[order, level]

    def absolute(self, level: float, low_tail: float) -> Ends:
        """Ends for the mean absolute error, cached; the lower one misses with the chance ``low_tail``."""
        key = ("absolute", level, low_tail)
        if key not in self._ends:
            self._ends[key] = absolute_ends(
                self.gaps, self._noise, level, self._errors_of, self.null, disjoint=self.disjoint, low_tail=low_tail
            )
        return self._ends[key]

    def high(self, estimator: object, level: float) -> float:
        """The upper end only, which needs no calibrated draws."""
        of = target(estimator)
        assert of is not None
        order, scale = of
        if order in ("max", OF_BINS):
            return scale(self._largest(order, level).high)
        if order == 1:
            return scale(min(1.0, absolute_high(self.gaps, self._noise, level, self._normals)))
        if self._of_pairs:
            return scale(root_high(self._pairs, self._several, level))
        return scale(min(1.0, square_high(self.gaps, self._noise, level, self._errors)))

    def knows_more_rows(self, estimator: object) -> bool:
        """True if the effect of more rows is known: for a mean absolute error of disjoint cells."""
        of = target(estimator)
        return self.disjoint and of is not None and of[0] == 1

    def rows_needed(self, estimator: object, limit: float, level: float, error: float = 0.0) -> float | None:
        """Approximate number of rows that show a model of this error to be below the limit in 8 of 10 samples.

        None if unknown. For mean absolute errors of disjoint cells: with more rows, cells contain more and groups
        split.
        """
        if not self.knows_more_rows(estimator):
            return None
        times = times_for_power(lambda factor, draws: self.within_with(factor, level, limit, error, draws))
        return None if times is None else float(self._worth.sum()) * times

    def power(self, level: float, limit: float, fewest: float = 1.0) -> Power | None:
        """Share of samples of calibrated models shown to be below the limit, by rows, for ``knows_more_rows``.

        ``fewest`` is the least multiple of the rows to consider. None if 8 of 10 take more than 10,000 times the rows.
        """
        power = power_by_times(lambda factor, draws: self.within_with(factor, level, limit, draws=draws), fewest)
        return None if power is None else power.times(float(self._worth.sum()))

    def high_with(self, factor: float, level: float) -> float:
        """The upper end that 8 of 10 calibrated models' samples stay below, with ``factor`` times the rows."""
        return high_of_most(self._cells_with(factor), level, self._stream)

    def within_with(self, factor: float, level: float, limit: float, error: float = 0.0, draws: int = DRAWS) -> int:
        """Number of samples drawn of ``factor`` times the rows that have an upper end below the limit."""
        return number_within(self._cells_with(factor), error, level, limit, self._stream, draws)

    def _cells_with(self, factor: float) -> CellGaps:
        if factor not in self._larger:
            self._larger[factor] = cells_with(self.gaps, self._fine, factor, by_variance=self._by_variance)
        return self._larger[factor]

    @cached_property
    def _larger(self) -> dict[float, CellGaps]:
        """Cells of more rows by their factor: searches for several errors begin with the same factors."""
        return {}

    @property
    def _by_variance(self) -> bool:
        """True if these are groups of equal variance instead of equal numbers of rows."""
        binning = self._question.estimator.binning
        return isinstance(binning, Groups) and binning.variance > 0

    def rows_for_groups(self, spread: float) -> float | None:
        """Approximate number of rows that form two groups, if there is one with scores further apart than ``spread``.

        Errors within a group can be as large as this distance, and cancel. None if there are groups, or scores are
        similar.
        """
        fine = self._fine
        if fine is None or len(self.gaps.rows) > 1:
            return None
        rows = worth(self._claims, fine)
        each = rows.sum(axis=0)
        here = each > 0
        scores = np.nan_to_num(rows * fine.mean_score).sum(axis=0)[here] / each[here]
        if np.ptp(scores) <= spread:
            return None
        holds, full = each[here], float(FEW_ROWS)
        if self._by_variance:
            holds, full = np.nan_to_num(rows * fine.mean_score * (1.0 - fine.mean_score)).sum(axis=0)[here], RICH
        below = np.cumsum(holds)[:-1]
        smaller = float(np.minimum(below, holds.sum() - below).max())
        return float(each.sum()) * full / smaller if smaller > 0 else None

    @cached_property
    def _fine(self) -> BinTable | None:
        """The bins that groups consist of; None if the bins are not groups."""
        binning = self._question.estimator.binning
        if not cuts(binning).pools:
            return None
        return tabulate_at(self._claims, EqualWidth(binning.bins).fixed_edges())

    def about(self, order: int | str) -> str:
        """Meaning of the interval, in words."""
        what = _WHAT[order]
        if cuts(self._question.estimator.binning).pools:
            number = len(self.gaps.rows)
            few = self._claims.same_rows or self._by_variance
            each = "of rows" if few else f"of at least {FEW_ROWS} rows"
            groups = "one group of all rows" if number == 1 else f"{number:,} groups {each} {SIMILAR}"
            pooled = "" if self._table.joined is None else ", classes of few rows pooled"
            return f"{what} over {groups}{pooled}, {_WITHIN_GROUPS}"
        if order == 2 and self._of_pairs and (share := self._pairs.share) <= 1 - 1e-9:
            return f"{what} {_GIVEN}, over bins with two or more rows ({short_percent(share)} of the rows)"
        return f"{what} {_GIVEN}"

    def _construct(self, order: int | str, level: float) -> Ends:
        if order in ("max", OF_BINS):
            return self._largest(order, level)
        if order == 1:
            return self.absolute(level, (1.0 - level) / 2)
        if self._of_pairs:
            return root_ends(self._pairs, self._several, self.null[:, self.gaps.rows > _ONE_ROW], level)
        return square_ends(self.gaps, self._noise, level, self._errors, self.null)

    def _largest(self, order: int | str, level: float) -> Ends:
        return largest_ends(self.gaps, level, np.nonzero(self._cells)[1] if order == OF_BINS else None)

    @property
    def _of_pairs(self) -> bool:
        """True if squared errors are judged by pairs: every row makes one claim, and cells contain few rows."""
        grouped = cuts(self._question.estimator.binning).pools
        return self.disjoint and (grouped or self.sparse)

    def method(self, order: int | str) -> str:
        """Method of the interval, in a few words."""
        if order in ("max", OF_BINS):
            return "simultaneous Clopper-Pearson, conservative"
        if order == 2 and self._of_pairs:
            return "pairs of rows in a bin"
        return "test inversion with Poisson limits"

    @cached_property
    def _noise(self) -> Noise:
        unit = self._unit
        if not self.disjoint and self._shared is not None:
            residual = self._shared.squared_reach(self._each_line / unit)
            return Noise(unit, residual, residual)
        if not self.disjoint:
            residual = float(np.square(self._claims.influence(self._ranks, self._unanswered) / unit).sum())
            return Noise(unit, residual, residual)
        gaps = self.gaps
        residual = float(np.square(self._each / unit) @ self._moments.second.sum(axis=-1))
        spread = gaps.outcome * (1.0 - gaps.outcome) * np.square(gaps.weight / unit) / gaps.rows
        return Noise(unit, residual, float(np.maximum(spread, 0.0).sum()))

    @cached_property
    def _several(self) -> CellGaps:
        """The cells of two rows and more; only there can a squared error be separated from noise."""
        gaps = self.gaps
        several = gaps.rows > _ONE_ROW
        if not several.any():
            raise NotAnswerable("every bin has only one row, which is too few for a squared error; use wider bins")
        weight = gaps.weight[several] / gaps.weight[several].sum()
        return CellGaps(weight, gaps.rows[several], gaps.outcome[several], gaps.score[several])

    @cached_property
    def _pairs(self) -> Pairs:
        return pairs(self._table.together(self._moments))

    @cached_property
    def null(self) -> Float64s:
        """Gaps (draws, cells) of calibrated models."""
        if self.disjoint or self._question.predictions.kind == "per-class":
            # Nobody knows how the classes of rows that need not sum to one go together: each as if alone.
            return binomial_null(self.gaps, self._stream(0))
        noise = self._rows_noise
        return noise.gaps(drawn_sums(self._question, self._table, self._null_outcomes, noise.replicates, self.seed))

    def _null_outcomes(self) -> Outcomes:
        return self._of_cells or null_outcomes(self._claims, self._table, self._ranks)

    @property
    def _normals(self) -> Float64s:
        """The normal errors where an upper end needs them."""
        return self._errors if self.gaps.rich else NO_ERRORS

    @cached_property
    def _errors(self) -> Float64s:
        """Standard normal errors (draws, cells), correlated as the rows' residuals are."""
        cells = len(self.gaps.rows)
        if self.disjoint:
            return self._stream(1).standard_normal((draws_for(cells), cells))
        return self._rows_noise.errors(self._stream(1))

    def _errors_of(self, wanted: Bools) -> Float64s:
        """The same for some of the cells: with many cells, few of them matter, and the others cost as much."""
        if self.disjoint or self.gaps.rich or not self._rows_noise.of_rows:
            return self._errors[:, wanted]
        return self._rows_noise.errors(self._stream(1), wanted)

    @property
    def _rows_noise(self) -> SharedNoise:
        return SharedNoise(self._claims, self._table, self._ranks, self._shared, np.flatnonzero(self._cells))
