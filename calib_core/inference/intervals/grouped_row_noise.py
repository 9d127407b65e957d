"""Noise of grouped rows: what estimates show for a calibrated model whose rows in a group may have equal outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.distributions import norm
from calib_core.binning.bin_table import BinTable
from calib_core.claims.binary_claims import FlatClaims
from calib_core.estimators.base import Question, error_scale, traits
from calib_core.inference.intervals import mean_scores, wild_bootstrap
from calib_core.inference.intervals.clustered_rows import (
    FEWEST,
    GroupsInCells,
    few_groups,
    groups_of,
    normals,
    poor,
    together,
    widened,
)
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.redrawn_errors import of_counts
from calib_core.predictions.predictions import NotAnswerable
from calib_core.predictions.row_groups import RowGroups, made_for_single_rows

_AT_ONCE = 4_000_000
"""Drawn numbers in memory at a time."""
_ALIKE = 200
"""Draws of outcomes that are equal within groups."""


def of_groups(question: Question, values: Float64s, random_state: int) -> Float64s:
    """Draws (replicates,) under calibration for grouped rows, from those for independent rows, ``values``.

    The correlation within groups is unknown, so it is estimated from the outcomes. Draws are the worst, quantile by
    quantile, of these laws:

    - independent outcomes, widened by the ratio of residuals summed by group to those row by row (never narrower);
    - each group's residuals multiplied by one standard normal, so sums within groups are unchanged (wild cluster
      bootstrap);
    - if surprises are too rare (``poor``), and for the largest error of a bin: outcomes that are equal within groups.
      This is the strongest dependence for a calibrated model.

    Errors that use the rows have all three, with the widths of both through their smoothing.

    NotAnswerable for fewer than ``FEWEST`` groups, and for estimators that subtract the noise of independent rows, or
    use pairs of rows or whole vectors.

    References: Wu 1986; Cameron, Gelbach & Miller 2008 (clusters).
    """
    groups = groups_of(question)
    if groups is None:
        return values
    _check(question, groups)
    laws = list(_wild(question, groups, values, random_state))
    if error_scale(question.estimator).order in ("max", "bins") or poor(groups, _scores(question)):
        laws.append(_alike(question, groups, random_state))
    declared = traits(question.estimator)
    found = widest(laws, len(values), higher_is_worse=declared.higher_is_worse)
    # Widened noise of few groups can exceed the range of a share; errors with noise subtracted can be below 0.
    least = 0.0 if declared.judged == "share" else -np.inf
    return np.clip(found, least, 1.0) if declared.unit == "share" else found


def sums_in_cells(claims: FlatClaims, table: BinTable, groups: RowGroups, random_state: int) -> list[Float64s]:
    """Outcome sums of calibrated models in the cells of a table, (draws, cells), by each law for grouped rows.

    One claim a row. Where groups are few, or surprises too rare, outcomes that are equal within groups are among them.
    """
    rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(7,)))
    content, score = claims.influence(), table.tally.score.ravel()
    size, few = len(groups.values), len(groups.values) < FEWEST or poor(groups, claims.scores.astype(np.float64))
    sums = GroupsInCells.of(claims, table, groups)
    parts = _parts(_ALIKE * 5, size)
    laws = [np.concatenate([score + sums.noise(normals(groups, content, rng, count)) for count in parts])]
    if few:
        cells, found = table.cells(claims.scores, claims.codes), []
        weight = np.ones(len(cells)) if claims.weights is None else claims.weights
        for count in _parts(_ALIKE, len(cells)):
            stream = outcome_draws.Alike(groups.codes, norm.cdf(normals(groups, content, rng, count)))
            for drawn in outcome_draws.outcomes(claims, 1, stream, count):
                found.append(np.bincount(cells, weight * drawn.outcomes, len(score)))
        laws.append(np.array(found))
    return laws


def _check(question: Question, groups: RowGroups) -> None:
    declared = traits(question.estimator)
    plain = declared.counts == "always" or declared.judged in ("residuals", "share", "losses")
    if question.whole or not plain:
        raise NotAnswerable(made_for_single_rows(groups, "the noise of this error"))
    several = question.reduction is not None and not question.claims.one_a_row(question.ranks)
    if several and declared.judged in ("share", "losses"):
        raise NotAnswerable(made_for_single_rows(groups, "the noise of this error"))
    if len(groups.values) < FEWEST:
        raise NotAnswerable(few_groups(groups))


def _scores(question: Question) -> Float64s:
    """Probability of each row's likeliest claim, (rows,)."""
    claims = None if question.reduction is None else question.claims
    if claims is not None and claims.one_a_row(question.ranks):
        return np.asarray(claims.scores, dtype=np.float64)
    rows = question.predictions
    groups = groups_of(question)
    assert groups is not None
    return (rows if len(groups.codes) == rows.n_rows else rows.answered).confidence.astype(np.float64)


def _wild(question: Question, groups: RowGroups, values: Float64s, random_state: int) -> Iterator[Float64s]:
    """Independent draws as much wider as groups make the noise; and, for sums, the residuals' own noise by group."""
    rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(7,)))
    room = widened(groups, 0.05)
    if traits(question.estimator).judged in ("share", "losses"):
        losses = mean_scores.losses_of(question)
        middle, off = float(losses.weight @ losses.expected), losses.weight * (losses.seen - losses.expected)
        moved = together(off, groups)
        yield middle + room * _wider(_length(moved), _length(off)) * (values - middle)
        # Logarithms differ in the last bit between processors; draws must not.
        yield middle + room * (moved @ normals(groups, np.round(off, 9), rng, len(values)))
        return
    counted = of_counts(question.estimator, question.claims)
    if counted is None:
        grouped, single = noise_sizes(question, groups, random_state)
        yield values * room * _wider(float(grouped.mean()), float(single.mean()))
        # If smoothing is as wide as the error, more noise also spreads it more; stretching draws is not enough.
        yield room * grouped
        return
    sums = GroupsInCells.of(question.claims, counted.table, groups, question.ranks)
    expected = counted.table.tally.score
    sizes = counted.values(expected + np.reshape(sums.deviations, (2, *expected.shape)))
    yield values * room * _wider(float(sizes[0]), float(sizes[1]))
    content = question.claims.influence(question.ranks)
    found = []
    for count in _parts(len(values), len(groups.values)):
        noise = room * sums.noise(normals(groups, content, rng, count))
        found.append(counted.values(expected + noise.reshape(count, *expected.shape)))
    yield np.concatenate(found)


def _length(values: Float64s) -> float:
    return float(np.sqrt(np.square(values).sum()))


def _wider(grouped: float, single: float) -> float:
    """Ratio of noise by group to noise row by row; at least 1."""
    return max(1.0, grouped / single) if single > 0 else 1.0


def noise_sizes(question: Question, groups: RowGroups, random_state: int) -> tuple[Float64s, Float64s]:
    """Sizes of the residuals' noise by group, and row by row, for an error that is a norm, (draws,)."""
    claims, ranks = question.claims, question.ranks
    estimated, n = question.estimator(claims), claims.n_rows(ranks)
    content, rng = claims.influence(ranks), np.random.default_rng(np.random.SeedSequence(random_state))

    def sizes(of: RowGroups) -> Float64s:
        each = (
            normals(of, content, rng, count)[of.codes] for count in wild_bootstrap.chunk_sizes(n, len(claims.strata))
        )
        return wild_bootstrap.sizes(
            lambda s, part: question.estimator.image(claims, estimated, s, part), claims, ranks, each
        )

    alone = np.arange(n)
    return sizes(groups), sizes(RowGroups(alone, alone, ""))


def _alike(question: Question, groups: RowGroups, random_state: int) -> Float64s:
    """Values where all rows of a group follow one uniform number."""
    rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(9,)))
    rows = question.predictions
    found = []
    content = (
        rows.confidence.astype(np.float64) if question.reduction is None else question.claims.influence(question.ranks)
    )
    for count in _parts(_ALIKE, len(groups.codes)):
        stream = outcome_draws.Alike(groups.codes, norm.cdf(normals(groups, content, rng, count)))
        if question.reduction is None:
            outcome_draws.distributions(rows.kind)
            labels = outcome_draws.labels(rows.answered.rows, stream, count).astype(np.intp)
            found += [question.answer(rows.answered.relabelled(labels[:, r])).value for r in range(count)]
            continue
        if question.whole or question.claims.same_rows:
            outcome_draws.distributions(rows.kind)
        found += [
            question.of(sample).value
            for sample in outcome_draws.outcomes(question.claims, question.ranks, stream, count)
        ]
    return np.array(found)


def _parts(draws_of: int, size: int) -> Iterator[int]:
    step = max(1, min(outcome_draws.CHUNK, _AT_ONCE // max(size, 1)))
    return (min(step, draws_of - start) for start in range(0, draws_of, step))


def widest(laws: Sequence[Float64s], count: int, *, higher_is_worse: bool = True) -> Float64s:
    """The worst of several laws, quantile by quantile, (count,)."""
    places = (np.arange(count) + 0.5) / count
    each = [np.quantile(law, places, method="inverted_cdf") for law in laws]
    return np.asarray(np.max(each, axis=0) if higher_is_worse else np.min(each, axis=0))
