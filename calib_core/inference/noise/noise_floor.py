"""The noise floor: what an estimator shows on a perfectly calibrated model with these very predictions.

With two classes, whose probabilities sum to one, both have the error of the event.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy

from calib_core._base.arrays import Codes, Float64s, Floats, frozen
from calib_core._base.parallel import chunks
from calib_core.binning.base import as_intervals, cuts, of_interval
from calib_core.binning.bin_table import BinTable
from calib_core.claims.binary_claims import ClaimsOfRows, ColumnClaims, FlatClaims
from calib_core.claims.row_covariance import MOST_CELLS
from calib_core.defaults import SEED
from calib_core.estimators.base import Estimate, Question, error_scale, traits
from calib_core.inference.intervals.grouped_row_noise import of_groups
from calib_core.inference.noise import outcome_draws as draws
from calib_core.inference.noise import redrawn_errors, simplex_draws
from calib_core.inference.noise.cell_draws import (
    LEAST_OUTCOMES,
    MANY_ROWS,
    FineCells,
    Outcomes,
    counts_suffice,
    shared_outcomes,
)
from calib_core.inference.noise.cell_sums import claimed_covariance, normal
from calib_core.inference.noise.redrawn_errors import Counted, of_counts
from calib_core.inference.noise.score_draws import calibrated_scores
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.reductions.base import REDUCTIONS, counts
from calib_core.reductions.class_wise import Event
from calib_core.reductions.top import Confidence
from calib_core.results.uncertainty import NoiseFloor

CLASS_WISE, EVENT = "class-wise", "event"
OF_ONE_STRATUM = ("class-specific", EVENT)
"""Notions of one stratum of claims, whose error is never smaller than its mean gap."""
CLOSE = 1e-6
"""Edges that differ by less are one edge: 1 - 0.9 is not 0.1 to the last bit."""


def of_event(question: Question) -> Question | None:
    """Return the same question about the event, if both of two classes have the event's error in mirrored bins.

    None if there are more classes or their scores need not sum to 1. Also None for another notion, for an error of
    other bins, and for bins that are not symmetric.
    """
    rows, notion = question.predictions, None if question.reduction is None else REDUCTIONS.find(question.reduction)
    if notion is None or notion.key not in (CLASS_WISE, *OF_ONE_STRATUM):
        return None
    if rows.event is None or rows.kind == "per-class" or traits(question.estimator).judged != "bins":
        return None
    if notion.key == EVENT:
        return question
    if error_scale(question.estimator).order == "bins" or not mirrored(question):
        return None
    return replace(question, reduction=Event())


def mirrored(question: Question) -> bool:
    """True if the bins of one of two classes mirror those of the other."""
    scheme = question.estimator.binning
    fixed = as_intervals(scheme).fixed_edges() if of_interval(cuts(scheme)) else None
    if fixed is None:
        return True
    edges = np.asarray(fixed, dtype=np.float64)
    return bool(np.allclose(edges, (1.0 - edges)[::-1], rtol=0.0, atol=CLOSE))


RESAMPLES = 1000
POOR_SHARE = 0.01
"""Weight that bins whose sums are not normal may have together."""
_CLAIMS = 512
"""Claims whose drawn outcomes are counted together."""
_AT_ONCE = 250_000
"""Drawn classes in memory before they are binned and counted."""
_KEPT, _QUESTIONS = 2_000_000, 3
"""Drawn sums that are kept for the same bins, and the number of bins: intervals and floors of all errors need them."""
_DRAWN: WeakKeyDictionary[Predictions, dict[Hashable, dict[tuple[int, int], Float64s]]] = WeakKeyDictionary()


def noise_floor(question: Question | Estimate, resamples: int = RESAMPLES, random_state: int = SEED) -> NoiseFloor:
    """Noise floor and Monte Carlo test of calibration, for any estimator and notion.

    ``question`` is an estimate, or the question it answers (``estimate.question``); InputError for anything else.
    Draw y*_i ~ Categorical(p_i) (Bernoulli of the claim's score if a row makes one claim), and recompute the
    statistic ``resamples`` times. The class of a row is drawn once, so claims about its other classes are consistent.
    Tests reject a calibrated model at most at the stated level, whatever the statistic. Whole-number row weights are
    copies of the row, each with its own outcome; other weights belong to one outcome per row.

    >>> from calib_core import Predictions, estimate
    >>> exact = estimate(Predictions([[0.5, 0.5]] * 10, [0] * 5 + [1] * 5))
    >>> exact.value, exact.noise_floor.p_value
    (0.0, 1.0)
    """
    subject = question.question if isinstance(question, Estimate) else question
    if not isinstance(subject, Question):
        raise InputError(
            f"noise_floor needs an estimate, not {type(question).__name__}: call noise_floor(estimate(predictions))"
        )
    return noise_floors([subject], resamples, random_state)[0]


def noise_floors(
    questions: Sequence[Question], resamples: int = RESAMPLES, random_state: int = SEED
) -> list[NoiseFloor]:
    """Noise floors of questions about the same predictions, notion and bins: outcomes are drawn once for all."""
    smoothed = [traits(q.estimator).judged == "smoothed" for q in questions]
    # What few hundred labels at a time are for must not be asked label by label; a summary draws for each score anew.
    apart = len(set(smoothed)) > 1 or (questions[0].reduction is None and counts(questions[0].predictions) is not None)
    if apart and len(questions) > 1:
        return [noise_floors([q], resamples, random_state)[0] for q in questions]
    # Of two classes an error in mirrored bins is one number, and so is its floor.
    drawn = [of_event(q) or _of_confidences(q) or q for q in questions]
    if len({q.reduction for q in drawn}) > 1:
        return [noise_floors([q], resamples, random_state)[0] for q in questions]
    first = drawn[0] if _by_cells(drawn) else drawn[0].written_out
    every = [first, *(Question(first.predictions, first.reduction, q.estimator) for q in drawn[1:])]
    found = np.concatenate(list(_null_values(every, resamples, random_state)), axis=1)
    if first.predictions.row_groups is not None:
        found = np.array([of_groups(q, values, random_state) for q, values in zip(every, found, strict=True)])
    return [
        NoiseFloor(q.answer(q.predictions).value, values, traits(q.estimator).higher_is_worse)
        for q, values in zip(every, found, strict=True)
    ]


def _of_confidences(question: Question) -> Question | None:
    """The same accuracy as a question about claims, of predictions that are only confidences; else None."""
    rows = question.predictions
    bare = question.reduction is None and rows.kind in ("confidence", "top-label") and counts(rows) is None
    return replace(question, reduction=Confidence()) if bare and traits(question.estimator).judged == "share" else None


def _null_values(questions: Sequence[Question], resamples: int, random_state: int) -> Iterator[Float64s]:
    """Values under perfect calibration, (questions, replicates), replicates in parts."""
    streams = draws.streams(resamples, random_state)
    question, estimators = questions[0], [q.estimator for q in questions]
    if question.reduction is None:
        scores = calibrated_scores(questions)
        for count, rng in streams:
            yield scores(rng, count)
        return
    claims = question.claims
    if question.whole or claims.same_rows:
        draws.distributions(question.predictions.kind)
    elif question.ranks == 1 and not _by_cells(questions):
        claims = claims.in_order()
    if question.whole and all(traits(e).judged == "smoothed" for e in estimators):
        for count, rng in streams:
            yield np.array([simplex_draws.null_smoothed_values(e, claims, rng, count) for e in estimators])
        return
    cells = simplex_draws.in_cells(estimators, claims) if question.whole else None
    if cells is not None:
        for count, rng in streams:
            yield simplex_draws.null_cell_values(estimators, claims, cells, rng, count)
        return
    counted = None if question.whole else _all_of_counts(estimators, claims)
    if counted is not None:
        table = counted[0].table
        outcomes = partial(null_outcomes, claims, table, question.ranks)
        for drawn in drawn_sums(question, table, outcomes, resamples, random_state):
            yield np.array([counts.values(drawn) for counts in counted])
        return
    if not question.whole and all(traits(e).redrawn for e in estimators):
        pictures = [partial(e.redrawn, claims) for e in estimators]
        yield redrawn_errors.values(claims, question.ranks, pictures, streams)
        return
    for count, rng in streams:
        drawn_claims = draws.outcomes(claims, question.ranks, rng, count)
        yield np.array([[q.of(sample).value for q in questions] for sample in drawn_claims]).T


def _by_cells(questions: Sequence[Question]) -> bool:
    """True if outcomes are drawn by cell, so that copies are not expanded and rows not sorted."""
    first = questions[0]
    if first.reduction is None or first.whole or first.predictions.row_groups is not None:
        return False
    counts = (traits(q.estimator).counts for q in questions)
    return counts_suffice(first.claims, first.ranks) and "never" not in counts


def _all_of_counts(estimators: Sequence[Any], claims: FlatClaims | ColumnClaims) -> list[Counted] | None:
    """Return how to compute each estimate from the first one's bin counts, or None if one of them uses the rows."""
    first = of_counts(estimators[0], claims)
    rest = [None if first is None else of_counts(e, claims, first.table) for e in estimators[1:]]
    counted = [counts for counts in (first, *rest) if counts is not None]
    return counted if len(counted) == len(estimators) else None


def drawn_sums(
    question: Question, table: BinTable, law: Callable[[], Outcomes], resamples: int, random_state: int
) -> Iterator[Float64s]:
    """Outcome sums (replicates, strata, bins) of calibrated models in parts, drawn once for the same bins and seed.

    ``law`` returns how they are drawn (``null_outcomes``). Parts begin alike for any number of replicates.
    """
    every = _DRAWN.setdefault(question.predictions, {})
    joined = None if table.joined is None else table.joined.tobytes()
    key = question.reduction, table.lower.shape, table.lower.tobytes(), joined, random_state
    kept = every.setdefault(key, {})
    for old in list(every)[:-_QUESTIONS]:
        every.pop(old, None)
    outcomes: Outcomes | None = None
    for part, (count, rng) in enumerate(draws.streams(resamples, random_state)):
        if (part, count) in kept:
            yield kept[part, count]
            continue
        outcomes = law() if outcomes is None else outcomes
        drawn = frozen(outcomes(rng, count))
        if resamples * table.count.size <= _KEPT:
            kept[part, count] = drawn
        yield drawn


def null_outcomes(claims: Any, table: BinTable, ranks: int = 1) -> Outcomes:
    """A function (stream, count) -> outcome sums (count, strata, bins) of calibrated models.

    Up to ``MANY_ROWS`` rows, outcomes are drawn row by row. Beyond, and if rows are unknown, the method depends on
    the claims per row. Rows with one claim use the normal limit of the bins' sums if bins contain outcomes of both
    kinds, and otherwise fine cells. Rows with several claims use the covariance of their sums (``shared_outcomes``).
    """
    if (ranks > 1 or claims.same_rows) and (drawn := shared_outcomes(claims, table, ranks)) is not None:
        return drawn
    if ranks == 1 and (sums := _normal_sums(claims, table)) is not None:
        return sums
    if counts_suffice(claims, ranks):
        return FineCells(claims, table).outcomes
    if claims.same_rows:
        return lambda rng, count: _column_outcomes(claims, table, rng, count)
    m = len(claims.scores)
    weight = np.ones(m) if claims.weights is None else claims.weights
    cell = table.cells(claims.scores, claims.codes)

    def outcomes(rng: np.random.Generator, count: int) -> Float64s:
        sums = np.zeros((count, table.count.size))
        for where, block in draws.listed(claims.scores, ranks, rng, count):
            # One line a claim with a single entry, its cell: a sparse product counts what was drawn. Claims in order
            # reach few of many cells at a time.
            for part in chunks(len(block), _CLAIMS):
                mine, came_true = cell[where][part], block[part].astype(np.float64)
                low, size = int(mine.min()), int(np.ptp(mine)) + 1
                single = weight[where][part], mine - low, np.arange(len(mine) + 1)
                cells = scipy.sparse.csr_array(single, shape=(len(mine), size))
                sums[:, low : low + size] += np.asarray(cells.T @ came_true, dtype=np.float64).T
        return sums.reshape(count, *table.count.shape)

    return outcomes


def _normal_sums(claims: Any, table: BinTable) -> Outcomes | None:
    """Normal draws of the bins' outcome sums, None where rows or the outcomes of most of them are too few for that."""
    rows = claims.n_rows() if claims.same_rows else float(table.count.sum())
    if rows <= MANY_ROWS or table.count.size > MOST_CELLS:
        return None
    expected = table.count * np.nan_to_num(table.mean_score * (1.0 - table.mean_score))
    if (table.weight * (expected >= LEAST_OUTCOMES)).sum() < 1.0 - POOR_SHARE:
        return None
    of_rows = normal(claimed_covariance(claims, table)) if claims.same_rows else None
    # Variance of each bin's outcome sum if claims come true as they say.
    deviation = np.zeros(0) if of_rows else np.sqrt(table.together(table.moments(claims)).claim.ravel())

    def outcomes(rng: np.random.Generator, count: int) -> Float64s:
        if of_rows is not None:
            noise = of_rows(rng, count)
        else:
            noise = deviation * rng.standard_normal((count, table.count.size))
        return np.asarray(np.clip(noise.reshape(count, *table.count.shape) + table.tally.score, 0.0, table.count))

    return outcomes


def _column_outcomes(claims: ColumnClaims, table: BinTable, rng: np.random.Generator, count: int) -> Float64s:
    size, (n, k) = table.count.size, claims.rows.shape
    sums = np.zeros(count * size)
    replicate = np.arange(count) * size
    pending: list[tuple[Codes, Floats]] = []
    start = 0

    def add(stop: int) -> None:
        # Placed together, since each stratum's edges may be others.
        drawn, scores = (np.concatenate(parts) for parts in zip(*pending, strict=True))
        if k > count:
            cells = table.cells(scores.ravel(), drawn.ravel()).reshape(drawn.shape)
        else:
            # Fewer classes than replicates: the cell of every class of a row is found once.
            every = table.cells(scores.ravel(), np.tile(np.arange(k), len(scores)))
            drawn += (np.arange(len(drawn)) * k)[:, None]
            cells = every.take(drawn)
        cells += replicate
        weight = None if claims.weights is None else np.repeat(claims.weights[start:stop], count)
        np.add(sums, np.bincount(cells.ravel(), weight, len(sums)), out=sums)
        pending.clear()

    for where, block, drawn in draws.classes(claims.rows, rng, count):
        pending.append((drawn, np.take_along_axis(block, drawn, axis=1) if k > count else block))
        if sum(len(codes) for codes, _ in pending) * count >= _AT_ONCE:
            add(where.stop)
            start = where.stop
    if pending:
        add(n)
    return sums.reshape(count, *table.count.shape)


def calibrated_claims(question: Question, count: int, random_state: int) -> Iterator[ClaimsOfRows]:
    """The question's claims with outcomes of perfectly calibrated models in place of their own, one after the other."""
    claims = question.claims
    if question.whole or claims.same_rows:
        draws.distributions(question.predictions.kind)
    elif question.ranks == 1:
        claims = claims.in_order()
    return draws.outcomes(claims, question.ranks, np.random.default_rng(np.random.SeedSequence(random_state)), count)
