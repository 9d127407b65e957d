"""Grouped rows in inference: effective sample sizes, group sums, and refusals of methods for independent rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core._base.distributions import norm
from calib_core._base.distributions import t as student
from calib_core.binning.bin_table import BinTable
from calib_core.claims.binary_claims import Claims, FlatClaims
from calib_core.estimators.base import Question
from calib_core.inference.intervals.elementary import COUNTED, WEIGHED, clopper_pearson, share_ends
from calib_core.predictions.predictions import NotAnswerable, Predictions, whole
from calib_core.predictions.row_groups import FEWEST_GROUPS, RowGroups

FEWEST = FEWEST_GROUPS
SEEN = 15
"""Groups with a right and with a wrong row from which on the variance of shares is read from them."""
_MOST_CLAIMS = 30_000_000
GROUPED = "Korn and Graubard 1998, rows of a group counted jointly"
"""Method of intervals of shares for grouped rows."""


def few_groups(groups: RowGroups) -> str:
    """Return the message for too few groups to estimate the variance."""
    return (
        f"rows belong to {groups.words}: the variance between groups cannot be estimated from fewer than {FEWEST} "
        "groups of similar size with correct or wrong rows; give rows of more groups, or evaluate one row per group"
    )


def groups_of(question: Question) -> RowGroups | None:
    """The groups of the rows that the question's claims are about; None if rows are independent."""
    rows = question.predictions
    if rows.row_groups is None or rows.abstained is None or question.reduction is None:
        return rows.answered.row_groups if question.reduction is None else rows.row_groups
    claims = question.claims
    n = claims.n_rows(question.ranks)
    return rows.row_groups if n == rows.n_rows else rows.answered.row_groups


def of_like_size(groups: RowGroups, weights: Float64s) -> float:
    """Effective number of groups of equal weight: (sum W)^2 / sum W^2 over the groups."""
    sums = together(weights, groups)
    return float(sums.sum() ** 2 / np.square(sums).sum())


def drawn_apart(sums: Float64s, groups: RowGroups, weights: Float64s) -> Float64s:
    """Sums of deviations from a mean, (groups,), corrected for each group's influence on that mean.

    A group with a share h of all weight retains only 1 - h of its deviation. This is the jackknife's correction; for
    groups of one size it is that of Student's t.

    References: MacKinnon & White 1985; Bell & McCaffrey 2002.
    """
    total, like = together(weights, groups), of_like_size(groups, weights)
    rest = np.maximum(1.0 - total / total.sum(), 1e-9)
    return np.asarray(sums / rest * np.sqrt(1.0 - 1.0 / like))


def together(values: Float64s, groups: RowGroups | None) -> Float64s:
    """Sums over each group of one number per row, (groups,); the numbers themselves if rows are independent."""
    return values if groups is None else _sums(groups.codes, values, len(groups.values))


def _sums(codes: Codes, values: Float64s, size: int) -> Float64s:
    return np.bincount(codes, values, size).astype(np.float64, copy=False)


def widened(groups: RowGroups | None, tail: float) -> float:
    """Ratio of Student's point, with one degree of freedom less than groups, to the normal one."""
    if groups is None:
        return 1.0
    return float(student.isf(tail, max(len(groups.values) - 1, 1)) / norm.isf(tail))


def normals(groups: RowGroups, content: Float64s, rng: np.random.Generator, count: int) -> Float64s:
    """Standard normals (groups, draws); a group's numbers depend on the contents of its rows, not on names or order.

    ``content`` (rows,) identifies rows; a group is identified by the sum of its rows' bits, whose order does not
    matter.
    """
    bits = np.ascontiguousarray(content + 0.0).view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> np.uint64(32)
    key = np.zeros(len(groups.values), dtype=np.uint64)
    np.add.at(key, groups.codes, bits)
    drawn = np.empty((len(key), count))
    drawn[np.argsort(key, kind="stable")] = rng.standard_normal((len(key), count))
    return drawn


def poor(groups: RowGroups, scores: Float64s) -> bool:
    """True if fewer than ``FEWEST`` groups are expected to have a surprise, if outcomes within groups were equal.

    It depends only on scores (rows,). Outcomes then do not show how much groups differ, because unseen surprises
    could have affected whole groups.
    """
    size = np.bincount(groups.codes)
    return float((together(np.minimum(scores, 1.0 - scores), groups) / size).sum()) < FEWEST


@dataclass(frozen=True, eq=False)
class GroupsInCells:
    """Contribution of every group to every cell with its claims, (entries,): cell, group, weight, score and outcome.

    ``square`` is the sum of its squared residuals. ``cells`` and ``groups`` are their numbers. Sums over a cell's
    entries are those of the bin table.
    """

    cells: int
    groups: int
    cell: Codes
    group: Codes
    weight: Float64s
    score: Float64s
    outcome: Float64s
    square: Float64s

    @classmethod
    def of_rows(
        cls, cell: Codes, groups: RowGroups, score: Float64s, outcome: Bools, weight: Float64s | None, cells: int
    ) -> GroupsInCells:
        """One claim a row, each in its cell."""
        w = np.ones(len(cell)) if weight is None else weight
        return _summed(cell * len(groups.values) + groups.codes, score, outcome, w, cells, len(groups.values))

    @classmethod
    def of(cls, claims: Claims, table: BinTable, groups: RowGroups, ranks: int = 1) -> GroupsInCells:
        """The claims of a notion in the cells of a table; NotAnswerable where there are too many of them."""
        cells, size = table.count.size, len(groups.values)
        if isinstance(claims, FlatClaims):
            codes = np.tile(groups.codes, ranks)
            keys = table.cells(claims.scores, claims.codes) * size + codes
            w = np.ones(len(keys)) if claims.weights is None else claims.weights
            return _summed(keys, claims.scores.astype(np.float64), claims.outcomes, w, cells, size)
        columns: Any = claims
        n, k = columns.rows.shape
        if n * k > _MOST_CLAIMS:
            raise NotAnswerable(
                f"{n:,} rows with {k:,} classes are too many for intervals that respect groups; use the confidence "
                "or top-label notion"
            )
        w = np.ones(n) if columns.weights is None else columns.weights
        parts = []
        for s in range(k):
            column = columns.rows.column(s)
            keys = table.cells(column, np.full(n, s)) * size + groups.codes
            parts.append(_summed(keys, column.astype(np.float64), columns.hit == s, w, cells, size))
        every = [np.concatenate([getattr(part, name) for part in parts]) for name in _ENTRIES]
        return cls(cells, size, *every)

    def noise(self, normal: Float64s) -> Float64s:
        """Sums of residuals, group by group times these numbers (groups, draws), in the cells: (draws, cells)."""
        residual = self.outcome - self.score
        return np.asarray(
            (scipy.sparse.csr_array((residual, (self.cell, self.group)), (self.cells, self.groups)) @ normal).T
        )

    @property
    def deviations(self) -> tuple[Float64s, Float64s]:
        """Standard deviations of the cells' sums of residuals, (cells,): those of groups, and those of single rows."""
        by_group = _sums(self.cell, np.square(self.outcome - self.score), self.cells)
        return np.sqrt(by_group), np.sqrt(_sums(self.cell, self.square, self.cells))

    def squares(self, unit: Float64s) -> float:
        """The most that the squares of any signed sum of the cells' residuals add up to over groups.

        The maximum over h in [-1, 1]^cells of sum_g (sum_b h_b S_gb)^2 is at most sum_b,c |sum_g S_gb S_gc|. The
        residuals of group g in cell b are S_gb, where a claim has the weight ``unit`` (cells,).
        """
        sums = (self.outcome - self.score) * unit[self.cell]
        residual = scipy.sparse.csr_array((sums, (self.cell, self.group)), (self.cells, self.groups))
        return float(abs(residual @ residual.T).sum())

    @property
    def fewest(self) -> Float64s:
        """Effective sample sizes of cells if outcomes within groups are equal: (sum W)^2 / sum W^2 over groups."""
        total = _sums(self.cell, self.weight, self.cells)
        squares = _sums(self.cell, np.square(self.weight), self.cells)
        return np.asarray(np.divide(np.square(total), squares, out=np.zeros(self.cells), where=squares > 0))

    def worth(self, level: float, counted: bool = True) -> Float64s:
        """Effective sample size of each cell's share, (cells,), with a margin for few groups.

        n* = n / max(1, V / V0) (z / t)^2. V = sum_g ((O_g - o W_g) / (1 - W_g / n))^2 is the variance observed
        between groups, with O_g outcomes of group g among W_g and o their share. (A large group attracts the share.)
        For independent rows it is V0 = n o (1 - o). The point t has one degree of freedom less than ``fewest``. The
        result n* is ``fewest`` if that is below ``FEWEST``, or if fewer than ``SEEN`` groups have a right row, or a
        wrong one. It is never less than ``fewest`` if weights are numbers of copies (``counted``); other weights can
        depend on the outcome.

        References: Korn & Graubard 1998, Survey Methodology 24; Kish 1965, §11.7; Bell & McCaffrey 2002.
        """
        total, right = (_sums(self.cell, part, self.cells) for part in (self.weight, self.outcome))
        share = np.divide(right, total, out=np.zeros(self.cells), where=total > 0)
        rest = np.maximum(1.0 - self.weight / np.maximum(total[self.cell], 1e-300), 1e-9)
        seen = _sums(self.cell, np.square((self.outcome - share[self.cell] * self.weight) / rest), self.cells)
        alone = total * share * (1.0 - share)
        # Samples by the outcome can have less noise than as many rows of one weight.
        effect = np.divide(seen, alone, out=np.ones(self.cells), where=alone > 0)
        effect = np.maximum(effect, 1.0 if counted else 1e-9)
        tail, fewest = (1.0 - level) / 2, self.fewest
        room = np.square(norm.isf(tail) / student.isf(tail, np.maximum(fewest - 1, 1)))
        least = fewest if counted else 0.0
        return np.where(self.seen, np.maximum(total / effect * room, least), fewest)

    @property
    def seen(self) -> Bools:
        """Cells in which enough groups show their variance, (cells,)."""
        with_right = np.bincount(self.cell, self.outcome > 0, self.cells)
        with_wrong = np.bincount(self.cell, self.weight - self.outcome > 0, self.cells)
        return np.asarray((np.minimum(with_right, with_wrong) >= SEEN) & (self.fewest >= FEWEST))


_ENTRIES = ("cell", "group", "weight", "score", "outcome", "square")


def _summed(keys: Codes, score: Float64s, outcome: Bools, weight: Float64s, cells: int, groups: int) -> GroupsInCells:
    entries, place = np.unique(keys, return_inverse=True)
    square = np.square(weight * (outcome - score))
    sums = [_sums(place, part, len(entries)) for part in (weight, weight * score, weight * outcome, square)]
    cell, group = np.divmod(entries, groups)
    return GroupsInCells(cells, groups, cell, group, *sums)


def shares_in_cells(
    predictions: Predictions, cell: Codes, right: Bools, rows: Codes, cells: int, level: float
) -> tuple[Float64s, Float64s, str]:
    """Ends, at ``level``, for the accuracy in each cell, (cells,), and their method; NaN in empty cells.

    ``cell`` and ``right`` are those of the chosen ``rows`` (positions) of the predictions. Independent rows use
    ``share_ends``. Grouped rows use Clopper and Pearson's ends for their effective sample size (``worth``); with
    weights and few groups, Hoeffding's for the effective number of groups.
    """
    weight = np.ones(len(rows)) if predictions.weights is None else predictions.weights[rows]
    counted = predictions.weights is None or whole(predictions.weights)
    total, hits = _sums(cell, weight, cells), _sums(cell, weight * right, cells)
    share = np.divide(hits, total, out=np.full(cells, np.nan), where=total > 0)
    groups = predictions.row_groups
    if groups is None:
        squares = _sums(cell, np.square(weight), cells)
        worth = total if counted else np.divide(np.square(total), squares, out=np.zeros(cells), where=squares > 0)
        return *share_ends(share, worth, counted, level), COUNTED if counted else WEIGHED
    mine = groups.take(rows)
    sums = GroupsInCells.of_rows(cell, mine, np.zeros(len(rows)), right, weight, cells)
    return *share_ends_of(sums, counted, level), GROUPED if counted or sums.seen.all() else WEIGHED


def share_ends_of(sums: GroupsInCells, counted: bool, level: float) -> tuple[Float64s, Float64s]:
    """Ends for each cell's share of outcomes, (cells,); NaN in empty cells."""
    total = _sums(sums.cell, sums.weight, sums.cells)
    share = np.divide(
        _sums(sums.cell, sums.outcome, sums.cells), total, out=np.full(sums.cells, np.nan), where=total > 0
    )
    n = np.where(total > 0, sums.worth(level, counted), 1.0)
    low, high = clopper_pearson(np.nan_to_num(share) * n, n, level)
    if not counted:
        # Unseen noise of few groups with weights has no law: Hoeffding's ends need none.
        least, most = share_ends(share, sums.fewest, False, level)
        low, high = (np.where(sums.seen, end, other) for end, other in ((low, least), (high, most)))
    return np.where(total > 0, low, np.nan), np.where(total > 0, high, np.nan)
