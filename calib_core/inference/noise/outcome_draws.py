"""Outcomes as a perfectly calibrated model of the same predictions would have them, and every replicate's seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import Bools, Codes, Float64s, Floats, Rows
from calib_core._base.errors import NotAnswerable
from calib_core.claims.binary_claims import ClaimsOfRows, FlatClaims

Drawn: TypeAlias = NDArray[np.unsignedinteger[Any]]
"""Classes that were drawn, in the smallest sufficient type."""

CHUNK = 200
"""Replicates that share one random stream; a constant, so that nothing else decides which numbers are drawn."""
NULL_DRAWS = 1000
"""Replicates of a calibrated model that an interval's inversion is compared with."""
_BLOCK_ROWS = 8192
_BLOCK_BYTES = 1 << 20
_PARTS = 64
"""Parts of [0, 1], a power of 2 so that their ends are exact, in most of which a uniform number means one class."""
_STEPS = 4
"""Classes of a part that are passed one by one before a search."""
_FEW_CLASSES, _ROWS_OF_FEW = 50, 256
"""Up to this number of classes, a uniform is compared with each bound in turn, for as many rows as fit in cache."""

MOST_TOTAL = 1.0 + 1e-3
"""Maximum sum of a row's probabilities, with rounding."""


class Uniforms(Protocol):
    """Source of randomness for outcomes: uniform numbers, row after row."""

    def random(self, size: tuple[int, int]) -> Float64s: ...


class Alike:
    """Uniforms (groups, count) that all rows of a group share, so that these have equal outcomes.

    The most that rows can hang together while each is still calibrated. They are handed out row after row.
    """

    def __init__(self, codes: Codes, uniforms: Float64s) -> None:
        self._codes, self._uniforms, self._next = codes, uniforms, 0

    def random(self, size: tuple[int, int]) -> Float64s:
        """The uniforms of the next rows."""
        mine = self._codes[self._next : self._next + size[0]]
        self._next += size[0]
        return np.asarray(self._uniforms[mine])


def streams(resamples: int, random_state: int) -> Iterator[tuple[int, np.random.Generator]]:
    """Pairs of (replicates, their own random stream), spawned from one seed.

    >>> [count for count, _ in streams(450, 0)]
    [200, 200, 50]
    """
    counts = [min(CHUNK, resamples - i) for i in range(0, resamples, CHUNK)]
    seeds = np.random.SeedSequence(random_state).spawn(len(counts))
    return ((count, np.random.default_rng(seed)) for count, seed in zip(counts, seeds, strict=True))


def hits(scores: Floats, rng: Uniforms, count: int) -> Iterator[tuple[slice, Bools]]:
    """Blocks of (rows, outcomes ~ Bernoulli(score) of shape (rows, count)) of claims that share no row.

    Uniforms are drawn row after row, so that the size of the blocks decides nothing.
    """
    for start in range(0, len(scores), _BLOCK_ROWS):
        where = slice(start, min(start + _BLOCK_ROWS, len(scores)))
        score = scores[where].astype(np.float64)[:, None]
        yield where, rng.random((len(score), count)) < score


def ranked_hits(scores: Floats, ranks: int, rng: Uniforms, count: int) -> Iterator[tuple[Codes, Bools]]:
    """The same if every row makes ``ranks`` claims, at most one of which comes true: one uniform per row.

    NotAnswerable if a row's claims add up to more than 1, because no outcome can satisfy them.
    """
    upto = np.cumsum(scores.astype(np.float64).reshape(ranks, -1), axis=0)
    if (upto[-1] > MOST_TOTAL).any():
        raise no_distribution()
    n = upto.shape[1]
    below = np.vstack([np.zeros(n), upto])
    for start in range(0, n, _BLOCK_ROWS):
        rows = np.arange(start, min(start + _BLOCK_ROWS, n))
        u = rng.random((len(rows), count))
        parts = [(u >= below[r, rows, None]) & (u < below[r + 1, rows, None]) for r in range(ranks)]
        yield np.concatenate([rows + r * n for r in range(ranks)]), np.concatenate(parts)


def no_distribution() -> NotAnswerable:
    """Return the error for rows whose claims add up to more than 1, which have no distribution."""
    return NotAnswerable(
        "the probabilities of one row add up to more than 1, so no outcome can be drawn from them. Normalize them, "
        "or use a notion with one claim per row"
    )


def listed(scores: Floats, ranks: int, rng: Uniforms, count: int) -> Iterator[tuple[slice | Codes, Bools]]:
    """Blocks of outcomes of listed claims, ``ranks`` of which belong to one row."""
    return hits(scores, rng, count) if ranks == 1 else ranked_hits(scores, ranks, rng, count)


def came_true(claims: FlatClaims, ranks: int, rng: Uniforms, count: int) -> Bools:
    """Outcomes of listed claims as a calibrated model would have them, (claims, count)."""
    found = np.empty((len(claims.scores), count), dtype=bool)
    for where, block in listed(claims.scores, ranks, rng, count):
        found[where] = block
    return found


def classes(rows: Rows, rng: Uniforms, count: int) -> Iterator[tuple[slice, Floats, Codes]]:
    """Blocks of (rows, their probabilities, classes ~ Categorical(p_i) of shape (rows, count)), by inverse CDF.

    One class is drawn per row and replicate, so claims about different classes of a row are consistent. Rows are
    assumed to sum to 1; rounding errors are distributed in proportion.
    """
    k = rows.shape[1]
    few = k <= _FEW_CLASSES
    for where, block in rows.blocks(_ROWS_OF_FEW * k * rows.dtype.itemsize if few else _BLOCK_BYTES):
        upto = np.cumsum(block.astype(np.float64), axis=1)
        if not upto[:, -1].all():
            # Raw scores of single classes can all be 0: no class is left to prefer.
            upto[upto[:, -1] == 0] = np.arange(1, k + 1)
        if few:
            bounds, u = upto / upto[:, -1:], rng.random((len(block), count))
            passed = np.zeros(u.shape, dtype=np.uint8)
            for j in range(k - 1):
                passed += u >= bounds[:, j, None]
            yield where, block, passed.astype(np.intp)
            continue
        # Row i's cumulative probabilities are moved to [i, i + 1], so that one sorted search serves all rows.
        line = np.arange(len(block))[:, None]
        upto /= upto[:, -1:].copy()
        upto += line
        drawn = _passed(upto.ravel(), rng.random((len(block), count)), line)
        yield where, block, np.minimum(drawn - line * k, k - 1)


def _passed(keys: Float64s, uniforms: Float64s, line: Codes) -> Codes:
    """Number of ascending keys at most line + uniform; looked for only if its part of [0, 1] does not determine it.

    The ends of the parts ascend too, and are found much faster than as many unordered numbers. Most parts have few
    keys, so that those of a part are passed one by one, and only what is left is searched.
    """
    least = np.searchsorted(keys, (np.arange(_PARTS + 1) / _PARTS + line).ravel(), side="right")
    part = (uniforms * _PARTS).astype(np.intp)
    part += line * (_PARTS + 1)
    passed = least.take(part).ravel()
    still = np.flatnonzero(passed < least[1:].take(part.ravel()))
    reached = (uniforms + line).ravel().take(still)
    for _ in range(_STEPS):
        # Past the last key there is no other class, whatever the number.
        more = np.flatnonzero(keys.take(passed.take(still), mode="clip") <= reached)
        still, reached = still.take(more), reached.take(more)
        passed[still] += 1
    passed[still] = np.searchsorted(keys, reached, side="right")
    return passed.reshape(uniforms.shape)


def distributions(kind: str) -> None:
    """NotAnswerable where a row's probabilities are no distribution to draw a class from."""
    if kind == "per-class":
        raise NotAnswerable(
            "these rows contain one probability per class that need not sum to 1, so no class can be drawn from "
            "them; use a normalized calibrator, or a notion with one claim per row"
        )


def outcomes(claims: ClaimsOfRows, ranks: int, rng: Uniforms, count: int) -> Iterator[Any]:
    """The claims with outcomes of calibrated models in place of their own, one after the other."""
    drawn = drawn_for(claims, ranks, rng, count)
    return (claims.with_outcomes(drawn[:, r].copy()) for r in range(count))


def drawn_for(claims: Any, ranks: int, rng: Uniforms, count: int) -> NDArray[np.generic]:
    """Classes (rows, count) of a matrix, or whether each listed claim came true (claims, count)."""
    return labels(claims.rows, rng, count) if claims.outcome_is_class else came_true(claims, ranks, rng, count)


def labels(rows: Rows, rng: Uniforms, count: int) -> Drawn:
    """Classes drawn from every row's probabilities, (rows, count), in the smallest sufficient type."""
    found = no_labels(rows, count)
    for where, _, drawn in classes(rows, rng, count):
        found[where] = drawn
    return found


def no_labels(rows: Rows, count: int) -> Drawn:
    """Empty array for this number of classes per row."""
    n, k = rows.shape
    return np.empty((n, count), dtype=np.min_scalar_type(k - 1))


_REACH, _MARGIN = 8.0, 12.0
"""Counts are computed up to 8 standard deviations and 12 rows around the mean: 1e-14 is beyond."""


def poisson_binomial(count: Float64s, score: Float64s) -> tuple[int, Float64s]:
    """The law of the number of positives among ``count`` claims of these scores: first number, chances from it on.

    References: Hong 2013 for the Fourier form.

    >>> first, chances = poisson_binomial(np.array([2.0]), np.array([0.5]))
    >>> first, chances.round(9).tolist()
    (0, [0.25, 0.5, 0.25])
    """
    rows, mean = float(count.sum()), float(count @ score)
    half = _REACH * float(np.sqrt(count @ (score * (1 - score)))) + _MARGIN
    low = int(max(0.0, np.floor(mean - half)))
    high = int(min(rows, np.ceil(mean + half)))
    size = high - low + 1
    turn = 2j * np.pi * np.fft.rfftfreq(size)
    # Near-certain claims: 1 + s (e^it - 1) can be 0 at half a turn, where the law's transform is 0 too.
    factor = 1.0 + score[:, None] * np.expm1(turn)
    logs = np.log(np.where(factor == 0, 1e-300, factor))
    transform = np.exp(count @ logs - turn * low)
    return low, np.maximum(np.fft.irfft(np.conj(transform), size), 0.0)
