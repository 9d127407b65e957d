"""The row bootstrap: estimates on rows resampled with replacement, by counts if the bins allow it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import scipy

from calib_core._base.arrays import Float64s
from calib_core._base.errors import NotAnswerable
from calib_core.binning.bin_table import BinTable
from calib_core.claims.binary_claims import FlatClaims
from calib_core.claims.exact_sums import Tally
from calib_core.defaults import SEED
from calib_core.estimators.base import Question
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.cell_sums import CellSums, column_sums, listed_sums
from calib_core.inference.noise.noise_floor import RESAMPLES
from calib_core.inference.noise.redrawn_errors import Counted, of_counts
from calib_core.predictions.row_groups import RowGroups
from calib_core.reductions.base import row_shares

Sampler: TypeAlias = Callable[[np.random.Generator, int], Tally]

MOST_STRATA = 1_000_000
"""Largest number of strata times resamples: minutes for most estimators, hours for some."""


def bootstrap(question: Question, resamples: int = RESAMPLES, random_state: int = SEED) -> Float64s:
    """Values (resamples,) of the estimate on rows drawn with replacement, seeded.

    For estimators of bin tables the bins are fixed: edges are not placed again in a resample (some packages do).
    Claims that share no row are then drawn as multinomial counts of the (stratum, bin, outcome) cells. The cells'
    score sums are normal around count times mean (with their exact mean and variance given the counts). Claims that
    share rows are drawn by rows. Estimators that use the rows are called on each resample. Whole-number row weights
    are copies; other weights belong to their row. For grouped rows, whole groups are drawn, and the estimate is
    computed on each resample.

    What can mislead: plug-in errors of resamples are biased upward twice, once by the data's noise and once by the
    resample's. NotAnswerable if more than a million strata (classes times resamples) would be estimated.

    References: P2 §5.1; Efron & Tibshirani 1993.

    >>> from calib_core import Predictions, estimate
    >>> question = estimate(Predictions([[0.7, 0.3]] * 10, [0] * 7 + [1] * 3), "confidence", "accuracy").question
    >>> bool(abs(bootstrap(question).mean() - 0.7) < 0.02)
    True
    """
    question = question.written_out
    values = _values(question, resamples)
    return np.concatenate([values(rng, count) for count, rng in outcome_draws.streams(resamples, random_state)])


def _values(question: Question, resamples: int) -> Callable[[np.random.Generator, int], Float64s]:
    groups = question.predictions.row_groups
    if groups is not None:
        _check_cost(question, resamples)
        return lambda rng, count: np.array(list(_on_groups(question, groups, rng, count)))
    if question.reduction is None:
        return lambda rng, count: np.array(list(_of_means(question, rng, count)))
    claims = question.claims
    counted = None if question.whole else of_counts(question.estimator, claims)
    if counted is None:
        _check_cost(question, resamples)
        return lambda rng, count: np.array(list(_on_rows(question, rng, count)))
    sample = _sampler(claims, counted.table, question.ranks)
    follow = shares_follow_rows(claims)
    return lambda rng, count: np.array(list(_on_tables(counted, sample(rng, count), follow)))


def _check_cost(question: Question, resamples: int) -> None:
    if question.reduction is None or question.whole:
        return
    if (strata := len(question.claims.strata)) * resamples > MOST_STRATA:
        raise NotAnswerable(
            f"a bootstrap would re-estimate {strata:,} classes in each of {resamples:,} resamples, which takes "
            "too long; use the default interval, or an error in bins"
        )


def _on_groups(question: Question, groups: RowGroups, rng: np.random.Generator, count: int) -> Iterator[float]:
    """Whole groups drawn with replacement, each with all its rows."""
    order, sizes = np.argsort(groups.codes, kind="stable"), np.bincount(groups.codes)
    starts = np.cumsum(sizes) - sizes
    for _ in range(count):
        drawn = rng.integers(len(sizes), size=len(sizes))
        steps = np.arange(sizes[drawn].sum()) - np.repeat(np.cumsum(sizes[drawn]) - sizes[drawn], sizes[drawn])
        rows = order[np.repeat(starts[drawn], sizes[drawn]) + steps]
        yield question.answer(question.predictions.take(rows)).value


def _on_rows(question: Question, rng: np.random.Generator, count: int) -> Iterator[float]:
    n = question.predictions.n_rows
    for _ in range(count):
        yield question.answer(question.predictions.take(rng.integers(n, size=n))).value


def _of_means(question: Question, rng: np.random.Generator, count: int) -> Iterator[float]:
    """Scores of whole predictions are means of rows: their terms are worked out once."""
    terms, weights = question.estimator.losses(question.predictions), question.predictions.weights
    weight = np.where(np.isnan(terms), 0.0, 1.0 if weights is None else weights)
    weighed = weight * np.nan_to_num(terms)
    for _ in range(count):
        sample = rng.integers(len(terms), size=len(terms))
        yield float(weighed[sample].sum() / weight[sample].sum())


def _on_tables(counted: Counted, tally: Tally, follow: bool) -> Iterator[float]:
    for count, score, outcome in zip(tally.count, tally.score, tally.outcome, strict=True):
        shares = count.sum(axis=1) / count.sum() if follow else counted.table.shares
        yield counted.value(replace(counted.table, shares=shares, tally=Tally(count, score, outcome)))


def shares_follow_rows(claims: Any) -> bool:
    """True if the strata are weighted by their share of the rows, which a resample changes."""
    if claims.same_rows:
        return False
    return np.allclose(claims.shares, row_shares(claims.codes, len(claims.strata), claims.weights))


def _sampler(claims: Any, table: BinTable, ranks: int) -> Sampler:
    if claims.same_rows:
        return _by_rows(column_sums(claims, table))
    if ranks > 1 or claims.weights is not None:
        return _by_rows(listed_sums(claims, table, ranks))
    return _by_cells(claims, table)


def _by_rows(sums: CellSums) -> Sampler:
    return lambda rng, count: sums.of(_times(sums.rows, rng, count))


def _times(n: int, rng: np.random.Generator, count: int) -> Float64s:
    """Number of times each row is drawn in each resample, (n, count)."""
    drawn = rng.integers(n, size=(n, count)) * count + np.arange(count)
    return np.bincount(drawn.ravel(), minlength=n * count).astype(np.float64).reshape(n, count)


def _by_cells(claims: FlatClaims, table: BinTable) -> Sampler:
    """Multinomial counts of the (stratum, bin, outcome) cells that contain claims."""
    entry = 2 * table.cells(claims.scores, claims.codes) + claims.outcomes
    entries, entry, rows = np.unique(entry, return_inverse=True, return_counts=True)
    scores = claims.scores.astype(np.float64)
    mean = np.bincount(entry, scores) / rows
    spread = np.sqrt(np.bincount(entry, np.square(scores - mean[entry])) / rows)
    low, high = np.full(len(entries), np.inf), np.zeros(len(entries))
    np.minimum.at(low, entry, scores)
    np.maximum.at(high, entry, scores)
    # A line an entry that occurs, with a single 1: where its counts go in the table.
    to_table = scipy.sparse.csr_array(
        (np.ones(len(entries)), (np.arange(len(entries)), entries // 2)), shape=(len(entries), table.count.size)
    )
    came_true = (entries % 2).astype(np.float64)

    def sample(rng: np.random.Generator, count: int) -> Tally:
        drawn = rng.multinomial(len(entry), rows / len(entry), size=count).astype(np.float64)
        noise = np.sqrt(drawn) * spread * rng.standard_normal(drawn.shape)
        summed = np.clip(drawn * mean + noise, drawn * low, drawn * high)
        parts = (drawn, summed, drawn * came_true)
        return Tally(*(np.asarray(to_table.T @ part.T).T.reshape(count, *table.count.shape) for part in parts))

    return sample
