"""Bounds for errors that are the size of what smoothing, sharing out or adding up makes of the residuals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import scipy

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Codes, Float64s, Rows
from calib_core._base.parallel import chunks
from calib_core.claims.binary_claims import ColumnClaims, FlatClaims, Stratum
from calib_core.estimators.base import Estimated
from calib_core.estimators.residuals import Image, NormOfResiduals, Sizes
from calib_core.inference.intervals.poisson_limits import beyond
from calib_core.inference.noise.redrawn_errors import Listed, Picture, values

_DRAWS = 500
_DRAWS_OF_MANY = 200
_MANY_STRATA = 10
_ROWS_AT_ONCE = 1 << 20
_DRAWN_NUMBERS, _MOST_NUMBERS = 4_000_000, 20_000_000
_KEPT_BYTES, _BYTES = 250_000_000, 24
"""Memory for sparse maps of claims to places, and the most that one claim takes."""
_SLACK = 1e-3
"""A lower end below this share of the value is rounding, or what the noise's coarser grid leaves: 0."""


def bounds(
    estimator: NormOfResiduals, claims: Listed, estimated: Estimated, ranks: int, level: float, random_state: int
) -> tuple[float, float]:
    """Interval for an error that is a norm of residuals (smooth, kernel, convex, swept, cumulative), given the scores.

    Such an error is T = S(r): a norm S of the residuals r = d + e, d what is true of the predictions and e noise
    of mean 0; the target is S(d). Being a norm, S(d) >= T - S(e), and S(r) >= S(d) + g.e for a subgradient g at d. No
    row moves S by more than its weight w_i times its residual |r_i| (``reach``). The ends are

        max(0, T - q),  q the larger (1 + level)/2 point of S over two kinds of noise: residuals multiplied by standard
                        normals, one a row, and outcomes drawn from the scores, less the scores,
        min(1, T + ``excess``),  max w X(B) with B = sum (w_i |r_i| / max w)^2, X(B) as in ``limits.beyond``.

    Squared residuals are, on average, at least as large as the noise's variance; but where outcomes are few (claims
    that are near certain, strata of few rows) they are no picture of its law, and the scores are. Where outcomes are
    many, X(B) is a normal point, z sqrt(B), and 1.6 more; where few or none are seen it is what a count could have been
    and was not (3.0 for none at level .9), so that the interval is never of zero width. No proof for finite n: the
    variance is estimated; simulated. Coverage is the level or more. The smooth error, whose width is the error itself,
    is no norm but has both properties. Where smoothing adds an error of its own, as kernel densities do, it is part of
    the target. What can mislead: the swept error is judged on the bins its walk chose, which depend on the outcomes;
    there the coverage table speaks, not the proof. Weights of very unequal size widen the upper end (its unit is the
    largest).

    References: wild bootstrap, Wu 1986; Liu 1988; X of one weight, Fay & Feuer 1997.
    """
    tail = (1.0 - level) / 2
    claims = in_order(claims, ranks)

    def picture(s: int, stratum: Stratum) -> Image:
        return estimator.image(claims, estimated, s, stratum)

    normals = wild_chunks(n_rows(claims, ranks), len(claims.strata), random_state)
    noise = sizes(picture, claims, ranks, normals), calibrated_sizes(picture, claims, ranks, random_state)
    low = estimated.value - max(float(np.quantile(values, 1.0 - tail)) for values in noise)
    high = estimated.value + excess(influence(claims, ranks), reach(claims, ranks), tail)
    # Where all near-certain claims came true the value is what calibrated models show: equal, but for the slack.
    return (low if low > _SLACK * estimated.value else 0.0), min(high, 1.0)


def excess(moved: Float64s, most: float, tail: float) -> float:
    """How far noise can have kept a sum down: ``most`` times X(B), B the squares of ``moved`` (n,) in units of it.

    ``moved`` is how far each row's residual did move the sum, ``most`` how far one row can at most.
    """
    return most * beyond(float(np.square(moved / most).sum()), tail) if most > 0 else 0.0


def influence(claims: Listed, ranks: int = 1, none: Float64s | None = None) -> Float64s:
    """How far each row's residuals can move the aggregate, (rows,): sum over its claims of weight times |residual|.

    ``none`` (rows,) is what ``unanswered`` gives, where it is at hand: other outcomes then cost no look at the matrix.
    """
    if isinstance(claims, FlatClaims):
        n, each = len(claims.scores) // ranks, _of_a_unit(claims)
        found = np.zeros(n)
        for r in range(ranks):
            for part in chunks(n, _ROWS_AT_ONCE):
                mine = slice(part.start + r * n, part.stop + r * n)
                moved = np.abs(claims.outcomes[mine] - claims.scores[mine].astype(np.float64))
                weight = each[claims.codes[mine]]
                found[part] += (weight if claims.weights is None else claims.weights[mine] * weight) * moved
        return found
    found = (unanswered(claims) if none is None else none).copy()
    for part in chunks(len(found), _ROWS_AT_ONCE):
        hit = claims.hit[part]
        known = np.flatnonzero(hit >= 0)
        rows = known + part.start if claims.rows.index is None else claims.rows.index[part][known]
        score = claims.rows.base[rows, hit[known]].astype(np.float64)
        found[part][known] += claims.shares[hit[known]] * (1.0 - 2.0 * score)
    if claims.weights is None:
        found /= len(found)
        return found
    return np.asarray(found * claims.weights / claims.weights.sum())


def unanswered(claims: ColumnClaims) -> Float64s:
    """The sum of each row's scores by the classes' shares, (rows,): how far it is off if none of them comes true."""
    found = np.empty(claims.rows.shape[0])
    for where, block in claims.rows.blocks(LARGE_BLOCK_BYTES):
        found[where] = block.astype(np.float64) @ claims.shares
    return found


def reach(claims: Listed, ranks: int = 1) -> float:
    """The most that any one row could move the aggregate by, whatever its outcome."""
    return float(reaches(claims, ranks).max())


def reaches(claims: Listed, ranks: int = 1) -> Float64s:
    """How far each row could move the aggregate, whatever its outcome, (rows,): a bound on ``influence``.

    Its weight in the aggregate where a row makes one claim. Claims about several classes of a row, one of which comes
    true, have residuals that add up to at most 1 + (sum of the row's scores): 2 where those are distributions.
    """
    if isinstance(claims, FlatClaims):
        each = each_weight(claims)
        if ranks == 1:
            return each
        total = claims.scores.reshape(ranks, -1).sum(axis=0, dtype=np.float64)
        return np.asarray(each.reshape(ranks, -1).max(axis=0) * np.minimum(1.0 + total, ranks))
    total = np.empty(claims.rows.shape[0])
    for where, block in claims.rows.blocks(LARGE_BLOCK_BYTES):
        total[where] = block.astype(np.float64).sum(axis=1)
    total += 1.0
    np.minimum(total, len(claims.shares), out=total)
    total *= claims.shares.max()
    if claims.weights is None:
        total /= len(total)
        return total
    return np.asarray(total * claims.weights / claims.weights.sum())


def each_weight(claims: FlatClaims) -> Float64s:
    """What each listed claim weighs in the aggregate, (claims,): its share of its stratum, times the stratum's."""
    each = _of_a_unit(claims)[claims.codes]
    return each if claims.weights is None else np.asarray(claims.weights * each)


def _of_a_unit(claims: FlatClaims) -> Float64s:
    """What a claim of weight 1 weighs in the aggregate, (strata,)."""
    total = np.bincount(claims.codes, claims.weights, minlength=len(claims.strata))
    return np.asarray(claims.shares / np.maximum(total, 1e-300))


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
            yield int(s), stratum, rows_of(claims, int(s), ranks)


def chunk_sizes(n: int, strata: int) -> list[int]:
    """How many draws are made at a time, so that n rows of them fit."""
    many = _DRAWS if strata <= _MANY_STRATA else _DRAWS_OF_MANY
    size = max(1, min(10, _MOST_NUMBERS // max(n, 1)), _DRAWN_NUMBERS // max(n, 1))
    return [min(size, many - start) for start in range(0, many, size)]


def wild_chunks(n: int, strata: int, random_state: int) -> Iterator[Float64s]:
    """Standard normals, one a row and draw, a chunk (n, draws) at a time."""
    rng = np.random.default_rng(np.random.SeedSequence(random_state))
    return (rng.standard_normal((n, count)) for count in chunk_sizes(n, strata))


def residuals(stratum: Stratum) -> Float64s:
    """Outcome minus score, times the weight."""
    r: Float64s = stratum.outcomes - stratum.scores.astype(np.float64)
    return r if stratum.weights is None else r * stratum.weights


def _size(claims: Listed) -> int:
    """How many claims there are."""
    return len(claims.scores) if isinstance(claims, FlatClaims) else int(np.prod(claims.rows.shape))


def n_rows(claims: Listed, ranks: int) -> int:
    """How many rows the claims are about."""
    return claims.rows.shape[0] if isinstance(claims, ColumnClaims) else len(claims.scores) // ranks


def sizes(picture: Picture, claims: Listed, ranks: int, normals: Iterable[Float64s]) -> Float64s:
    """The error made of residuals times these numbers, (rows, draws) a chunk; (draws,)."""
    parts = strata_of(claims, ranks)
    # Where the maps of all strata fit they are made once, else anew for every chunk.
    fit = _size(claims) * _BYTES <= _KEPT_BYTES
    kept = [_residual_map(picture, claims, ranks, *part) for part in parts] if fit else None
    found = []
    for chunk in normals:
        total: Float64s | float = 0.0
        every = kept or (_residual_map(picture, claims, ranks, *part) for part in strata_of(claims, ranks))
        for share, places, errors in every:
            total = total + share * errors(np.ascontiguousarray(np.asarray(places @ chunk).T))
        found.append(np.asarray(total))
    return np.concatenate(found)


def _residual_map(
    picture: Picture, claims: Listed, ranks: int, s: int, stratum: Stratum, rows: Codes
) -> tuple[float, scipy.sparse.csr_array, Sizes]:
    """A stratum's share, what each row's residual adds to each place of its image, and the error of such sums."""
    image = picture(s, stratum)
    places = image.map(residuals(stratum) / stratum.total, rows, n_rows(claims, ranks))
    return float(claims.shares[s]), places, image.errors


def calibrated_sizes(picture: Picture, claims: Listed, ranks: int, random_state: int) -> Float64s:
    """The error made of outcomes drawn from the scores, less the scores, (draws,).

    One class a row, unless a row's scores are no distribution: then each claim as if alone.
    """
    counts = chunk_sizes(n_rows(claims, ranks), len(claims.strata))
    seeds = np.random.SeedSequence(random_state).spawn(len(counts))
    streams = ((count, np.random.default_rng(seed)) for count, seed in zip(counts, seeds, strict=True))
    columns = isinstance(claims, ColumnClaims)
    apart = not (_distributions(claims.rows) if columns else ranks == 1 or _at_most_one(claims, ranks))  # type: ignore[union-attr, arg-type]
    return np.asarray(values(claims, ranks, [partial(_less_scores, picture)], streams, apart=apart)[0])


def _less_scores(picture: Picture, s: int, stratum: Stratum) -> Image:
    """The image of outcomes whose errors are those of residuals."""
    image, n = picture(s, stratum), len(stratum.scores)
    score = stratum.scores.astype(np.float64)
    weighed = score if stratum.weights is None else score * stratum.weights
    expected = np.asarray(image.map(weighed, np.zeros(n, dtype=np.intp), 1).todense()).ravel()
    return replace(image, errors=lambda sums: image.errors((sums - expected) / stratum.total))


def _distributions(rows: Rows) -> bool:
    """Does every row sum to 1, as far as rounding goes?"""
    return all(np.allclose(b.astype(np.float64).sum(axis=1), 1.0, atol=1e-3) for _, b in rows.blocks(LARGE_BLOCK_BYTES))


def _at_most_one(claims: FlatClaims, ranks: int) -> bool:
    return bool(claims.scores.astype(np.float64).reshape(ranks, -1).sum(axis=0).max() <= 1.0 + 1e-3)


def rows_of(claims: Listed, s: int, ranks: int) -> Codes:
    """The row each claim of one stratum is about."""
    if isinstance(claims, ColumnClaims):
        return np.arange(claims.rows.shape[0])
    return np.flatnonzero(claims.codes == s) % (len(claims.scores) // ranks)
