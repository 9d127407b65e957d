"""Bounds for errors that are the size of what smoothing, sharing out or adding up makes of the residuals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from calib_core._arrays import LARGE_BLOCK_BYTES, Codes, Float64s
from calib_core.binning import BinTable
from calib_core.binning.allocation import Convex
from calib_core.claims import ColumnClaims, FlatClaims, Stratum
from calib_core.estimators import ConvexBinned, EceSweep, KernelECE, MaxDeviation, SmoothECE
from calib_core.estimators.base import Estimated
from calib_core.estimators.kernel import Grid
from calib_core.estimators.kernel.kernels import response
from calib_core.estimators.smooth import smooth_errors
from calib_core.inference.limits import beyond

Listed: TypeAlias = FlatClaims | ColumnClaims
Sizes: TypeAlias = Callable[[Float64s], Float64s]

_DRAWS = 500
_DRAWS_OF_MANY = 200
_MANY_STRATA = 10
_DRAWN_NUMBERS = 4_000_000
_PLACES = 4096
"""Most places a cumulative sum is read at: a path misses little of its range between them."""
_NOISE_GRID = Grid(cells=1024)


@dataclass(frozen=True, eq=False)
class Image:
    """What an estimator looks at in one stratum: sums of residuals at ``size`` places, and the error they make.

    Claim i adds its residual to place ``first[i]`` and, where ``beyond`` is given, that share of it to the next place
    instead. ``errors`` maps such sums (draws, size), divided by the stratum's rows, to errors (draws,): a norm.
    """

    first: Codes
    beyond: Float64s | None
    size: int
    errors: Sizes

    def map(self, residuals: Float64s, rows: Codes, n: int) -> csr_array:
        """Sparse map (size, n) of one number a row to sums at the places."""
        if self.beyond is None:
            return csr_array((residuals, (self.first, rows)), shape=(self.size, n))
        ahead = residuals * self.beyond
        entries = np.concatenate([residuals - ahead, ahead])
        places = np.concatenate([self.first, np.minimum(self.first + 1, self.size - 1)])
        return csr_array((entries, (places, np.tile(rows, 2))), shape=(self.size, n))


def bounds(
    estimator: Any, claims: Listed, made: Estimated, ranks: int, level: float, random_state: int
) -> tuple[float, float] | None:
    """Interval for a smooth, kernel, convex, swept or cumulative error, given the predictions; None for other errors.

    Such an error is T = S(r): a norm S of the residuals r = d + e, d what is true of the predictions and e noise
    of mean 0; the target is S(d). Being a norm, S(d) >= T - S(e), and S(r) >= S(d) + g.e for a subgradient g at d. No
    row moves S by more than its weight w_i times its residual |r_i| (``reach``). The ends are

        max(0, T - c q),  q the (1 + level)/2 point of S over residuals multiplied by standard normals, one a row,
        min(1, T + ``excess``),  max w X(B) with B = sum (w_i |r_i| / max w)^2, X(B) as in ``limits.beyond``.

    Squared residuals are, on average, at least as large as the noise's variance; c is 1 unless the scores expect larger
    ones than were seen (``unseen``). Where outcomes are many, X(B) is a
    normal point, z sqrt(B), and 1.6 more; where few or none are seen it is what a count could have been and was not
    (3.0 for none at level .9), so that the interval is never of zero width. No proof for finite n: the variance is
    estimated; simulated. Coverage is the level or more. The smooth error, whose width is the error itself, is no norm
    but has both properties. Where smoothing adds an error of its own, as kernel densities do, it is part of the target.
    What can mislead: the swept error is judged on the bins its walk chose, which depend on the outcomes; there the
    coverage table speaks, not the proof. Weights of very unequal size widen the upper end (its unit is the largest).

    References: wild bootstrap, Wu 1986; Liu 1988; X of one weight, Fay & Feuer 1997.
    """
    picture = _PICTURES.get(type(estimator))
    if picture is None:
        return None
    tail = (1.0 - level) / 2
    claims = in_order(claims, ranks)
    moved, expected = influence(claims, ranks)
    noise = _noise(lambda s, stratum: picture(estimator, claims, made, s, stratum), claims, ranks, random_state)
    hidden = unseen(float(np.square(moved).sum()), float(expected.sum()))
    low = max(0.0, made.value - hidden * float(np.quantile(noise, 1.0 - tail)))
    return low, min(made.value + excess(moved, reach(claims, ranks), tail), 1.0)


def excess(moved: Float64s, most: float, tail: float) -> float:
    """How far noise can have kept a sum down: ``most`` times X(B), B the squares of ``moved`` (n,) in units of it.

    ``moved`` is how far each row's residual did move the sum, ``most`` how far one row can at most.
    """
    return most * beyond(float(np.square(moved / most).sum()), tail) if most > 0 else 0.0


def unseen(seen: float, expected: float) -> float:
    """By how much noise drawn from residuals falls short of what the scores expect: sqrt(expected / seen), 1 or more.

    Residuals of near-certain claims that all came true are tiny: they tell of no noise, but the scores do.
    """
    return float(np.sqrt(max(1.0, expected / seen))) if seen > 0 else 1.0


def influence(claims: Listed, ranks: int = 1) -> tuple[Float64s, Float64s]:
    """How far each row's residuals move the aggregate, and what the scores expect of the square of that; each (rows,).

    A row moves it by m = sum over its claims of weight times |residual|: A + a_j (1 - 2 s_j) where claim j came true,
    A = sum of a s where none did. E m^2 takes claim j to come true with chance s_j (a s (1 - s) a for a single claim).
    """
    if isinstance(claims, FlatClaims):
        each, said = (part.reshape(ranks, -1) for part in (each_weight(claims), claims.scores.astype(np.float64)))
        none = (each * said).sum(axis=0)
        moved = (each * np.abs(claims.outcomes.reshape(ranks, -1) - said)).sum(axis=0)
        return moved, _expected_square(each, said, none, axis=0)
    n = claims.rows.shape[0]
    moved, square = np.empty(n), np.empty(n)
    for where, block in claims.rows.blocks(LARGE_BLOCK_BYTES):
        hit, said = claims.hit[where], block.astype(np.float64)
        none = said @ claims.shares
        square[where] = _expected_square(claims.shares, said, none[:, None], axis=1)
        known = np.flatnonzero(hit >= 0)
        none[known] += claims.shares[hit[known]] * (1.0 - 2.0 * said[known, hit[known]])
        moved[where] = none
    weight = np.ones(n) if claims.weights is None else claims.weights
    each = weight / weight.sum()
    return moved * each, square * np.square(each)


def _expected_square(each: Float64s, said: Float64s, none: Float64s, axis: int) -> Float64s:
    left = np.maximum(1.0 - said.sum(axis=axis), 0.0)
    return np.asarray(
        (said * np.square(none + each * (1.0 - 2.0 * said))).sum(axis=axis) + left * np.square(none).reshape(left.shape)
    )


def reach(claims: Listed, ranks: int = 1) -> float:
    """The most that any one row could move the aggregate by, whatever its outcome: a bound on ``influence``.

    Its weight in the aggregate where a row makes one claim. Claims about several classes of a row, one of which comes
    true, have residuals that add up to at most 1 + (sum of the row's scores): 2 where those are distributions.
    """
    if isinstance(claims, FlatClaims):
        each = each_weight(claims)
        if ranks == 1:
            return float(each.max())
        said = claims.scores.astype(np.float64).reshape(ranks, -1).sum(axis=0)
        return float((each.reshape(ranks, -1).max(axis=0) * np.minimum(1.0 + said, ranks)).max())
    said = np.empty(claims.rows.shape[0])
    for where, block in claims.rows.blocks(LARGE_BLOCK_BYTES):
        said[where] = block.astype(np.float64).sum(axis=1)
    weight = np.ones(len(said)) if claims.weights is None else claims.weights
    most = claims.shares.max() * np.minimum(1.0 + said, len(claims.shares))
    return float((most * weight).max() / weight.sum())


def each_weight(claims: FlatClaims) -> Float64s:
    """What each listed claim weighs in the aggregate, (claims,): its share of its stratum, times the stratum's."""
    weight = np.ones(len(claims.scores)) if claims.weights is None else claims.weights
    total = np.bincount(claims.codes, weight, minlength=len(claims.strata))
    return np.asarray(weight * (claims.shares / np.maximum(total, 1e-300))[claims.codes])


def in_order(claims: Listed, ranks: int) -> Listed:
    """Claims that share no row sorted by all they hold, so that the noise drawn for them does not depend on row order.

    Claims about one row stay together, in the order of the rows.
    """
    if isinstance(claims, ColumnClaims) or ranks > 1:
        return claims
    weights = np.zeros(len(claims.scores)) if claims.weights is None else claims.weights
    order = np.lexsort((weights, claims.outcomes, claims.scores, claims.codes))
    return replace(
        claims,
        scores=claims.scores[order],
        outcomes=claims.outcomes[order],
        codes=claims.codes[order],
        weights=None if claims.weights is None else weights[order],
    )


def strata_of(claims: Listed, ranks: int) -> Iterator[tuple[int, Stratum, Codes]]:
    """Strata with claims that count, and the row each of their claims is about."""
    for s in np.flatnonzero(claims.shares > 0):
        stratum = claims.stratum(int(s))
        if stratum.total > 0:
            yield int(s), stratum, _rows(claims, int(s), ranks)


def wild_chunks(n: int, strata: int, random_state: int) -> Iterator[Float64s]:
    """Standard normals, one a row and draw, a chunk (n, draws) at a time."""
    draws = _DRAWS if strata <= _MANY_STRATA else _DRAWS_OF_MANY
    rng = np.random.default_rng(np.random.SeedSequence(random_state))
    size = max(10, _DRAWN_NUMBERS // max(n, 1))
    return (rng.standard_normal((n, min(size, draws - start))) for start in range(0, draws, size))


def residuals(stratum: Stratum) -> Float64s:
    """Outcome minus score, times the weight."""
    r: Float64s = stratum.outcomes - stratum.scores.astype(np.float64)
    return r if stratum.weights is None else r * stratum.weights


def n_rows(claims: Listed, ranks: int) -> int:
    """How many rows the claims are about."""
    return claims.rows.shape[0] if isinstance(claims, ColumnClaims) else len(claims.scores) // ranks


def _noise(picture: Callable[[int, Stratum], Image], claims: Listed, ranks: int, random_state: int) -> Float64s:
    """The error of residuals multiplied by standard normals, (draws,)."""
    n = n_rows(claims, ranks)
    found = []
    for normal in wild_chunks(n, len(claims.strata), random_state):
        total = np.zeros(normal.shape[1])
        for s, stratum, rows in strata_of(claims, ranks):
            image = picture(s, stratum)
            sums = np.asarray(image.map(residuals(stratum), rows, n) @ normal).T
            total += claims.shares[s] * image.errors(sums / stratum.total)
        found.append(total)
    return np.concatenate(found)


def _rows(claims: Listed, s: int, ranks: int) -> Codes:
    if isinstance(claims, ColumnClaims):
        return np.arange(claims.rows.shape[0])
    return np.flatnonzero(claims.codes == s) % (len(claims.scores) // ranks)


# -- what each estimator looks at -----------------------------------------------------------------------------


def _absolute(sums: Float64s) -> Float64s:
    return np.asarray(np.abs(sums).sum(axis=-1))


def _cumulative(estimator: MaxDeviation, claims: Listed, made: Estimated, s: int, stratum: Stratum) -> Image:
    distinct, place = np.unique(stratum.scores, return_inverse=True)
    size = min(len(distinct), _PLACES)
    return Image(place * size // len(distinct), None, size, _range)


def _range(sums: Float64s) -> Float64s:
    path = np.cumsum(sums, axis=-1)
    return np.asarray(np.maximum(path.max(axis=-1), 0.0) - np.minimum(path.min(axis=-1), 0.0))


def _convex(estimator: ConvexBinned, claims: Listed, made: Estimated, s: int, stratum: Stratum) -> Image:
    low = claims.floor if estimator.attainable else 0.0
    edges = (_edges(made, s) - low) / (1.0 - low)
    split = Convex()((stratum.scores.astype(np.float64) - low) / (1.0 - low), edges)
    return Image(split.first, split.beyond, len(edges) + 1, _absolute)


def _swept(estimator: EceSweep, claims: Listed, made: Estimated, s: int, stratum: Stratum) -> Image:
    if made.bins is None:
        # The table was too large to keep: a bin per distinct score.
        distinct, place = np.unique(stratum.scores, return_inverse=True)
        return Image(place, None, len(distinct), _absolute)
    edges = _edges(made, s)
    place = np.searchsorted(edges.astype(stratum.scores.dtype), stratum.scores, side="right")
    return Image(place, None, len(edges) + 1, _absolute)


def _kernel(estimator: KernelECE, claims: Listed, made: Estimated, s: int, stratum: Stratum) -> Image:
    grid, width = estimator.grid(claims.floor), estimator.width(stratum)
    damping, stride = response(estimator.kernel, width, grid), grid.stride(width)
    cell, into = grid.places(stratum.scores)

    def errors(masses: Float64s) -> Float64s:
        return grid.integral(np.abs(grid.density(grid.spectrum(masses) * damping, stride)))

    return Image(cell, into, grid.cells + 1, errors)


def _smooth(estimator: SmoothECE, claims: Listed, made: Estimated, s: int, stratum: Stratum) -> Image:
    cell, into = _NOISE_GRID.places(stratum.scores)
    return Image(cell, into, _NOISE_GRID.cells + 1, lambda masses: smooth_errors(masses, _NOISE_GRID))


def _edges(made: Estimated, s: int) -> Float64s:
    assert isinstance(made.bins, BinTable)
    return made.bins.lower[s, 1 : int(made.bins.n_bins[s])]


_PICTURES: dict[type, Callable[..., Image]] = {
    MaxDeviation: _cumulative,
    ConvexBinned: _convex,
    EceSweep: _swept,
    KernelECE: _kernel,
    SmoothECE: _smooth,
}
"""One line an estimator; a new one that is a norm of residuals adds its own."""
