"""Bounds for errors that are a norm of the smoothed, weighted or cumulated residuals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import scipy

from calib_core._base.arrays import Codes, Float64s
from calib_core.claims.binary_claims import ClaimsOfRows, Stratum
from calib_core.estimators.base import Estimated
from calib_core.estimators.residuals import Image, NormOfResiduals, Sizes
from calib_core.inference.intervals.elementary import beyond
from calib_core.inference.noise.redrawn_errors import Picture, values

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
    estimator: NormOfResiduals, claims: ClaimsOfRows, estimated: Estimated, ranks: int, level: float, random_state: int
) -> tuple[float, float]:
    """Interval for an error that is a norm of residuals (smooth, kernel, convex, ...), given the scores.

    Such an error is T = S(r): a norm S of the residuals r = d + e. Here d is the true deviation of the predictions and
    e is noise of mean 0. The target is S(d). Because S is a norm, S(d) >= T - S(e), and S(r) >= S(d) + g.e for a
    subgradient g at d. No row moves S by more than its weight w_i times its residual |r_i| (``reach``). The ends are

        max(0, T - q),           q the larger (1 + level)/2 point of S over two kinds of noise
        min(1, T + ``excess``),  max w X(B) with B = sum (w_i |r_i| / max w)^2, X(B) as in ``elementary.beyond``

    The two kinds of noise are residuals multiplied by standard normals, one per row, and outcomes drawn from the
    scores, less the scores.

    Squared residuals are, on average, at least as large as the noise's variance. If outcomes are few (near-certain
    claims, strata of few rows), they do not represent its law, but the scores do. If outcomes are many, X(B) is a
    normal point, z sqrt(B), plus 1.6. If few or none are observed, it is the upper limit of a count (3.0 for none at
    level .9), so the interval never has zero width. Validity for finite n is not proven, because the variance is
    estimated; simulated coverage is the level or more.

    The smooth error, whose width is the error itself, is not a norm but has both properties. If smoothing adds its
    own error, as kernel densities do, that is part of the target. What can mislead: the swept error is judged on the
    bins of its walk, which depend on the outcomes. There the coverage table applies, not the proof. Weights of very
    unequal size widen the upper end (its unit is the largest).

    References: wild bootstrap, Wu 1986; Liu 1988; X of one weight, Fay & Feuer 1997.
    """
    tail = (1.0 - level) / 2
    claims = claims.in_order(ranks)

    def picture(s: int, stratum: Stratum) -> Image:
        return estimator.image(claims, estimated, s, stratum)

    normals = wild_chunks(claims.n_rows(ranks), len(claims.strata), random_state)
    noise = sizes(picture, claims, ranks, normals), calibrated_sizes(picture, claims, ranks, random_state)
    low = estimated.value - max(float(np.quantile(values, 1.0 - tail)) for values in noise)
    high = estimated.value + excess(claims.influence(ranks), reach(claims, ranks), tail)
    # If all near-certain claims came true, the value is that of calibrated models: equal, but for the slack.
    return (low if low > _SLACK * estimated.value else 0.0), min(high, 1.0)


def excess(moved: Float64s, most: float, tail: float) -> float:
    """Largest amount by which noise may have lowered a sum: ``most`` times X(B), B the squares of ``moved`` over it.

    ``moved`` (n,) is the movement of the sum by each row's residual, ``most`` the largest possible one by one row.
    """
    return most * beyond(float(np.square(moved / most).sum()), tail) if most > 0 else 0.0


def reach(claims: ClaimsOfRows, ranks: int = 1) -> float:
    """The most that any one row could move the aggregate by, whatever its outcome."""
    return float(claims.reaches(ranks).max())


def strata_of(claims: ClaimsOfRows, ranks: int) -> Iterator[tuple[int, Stratum, Codes]]:
    """Strata with claims that count, and the row each of their claims is about."""
    for s in np.flatnonzero(claims.shares > 0):
        stratum = claims.stratum(int(s))
        if stratum.total > 0:
            yield int(s), stratum, claims.rows_of(int(s), ranks)


def chunk_sizes(n: int, strata: int) -> list[int]:
    """Numbers of draws per block, so that n rows of them fit in memory."""
    many = _DRAWS if strata <= _MANY_STRATA else _DRAWS_OF_MANY
    size = max(1, min(10, _MOST_NUMBERS // max(n, 1)), _DRAWN_NUMBERS // max(n, 1))
    return [min(size, many - start) for start in range(0, many, size)]


def wild_chunks(n: int, strata: int, random_state: int) -> Iterator[Float64s]:
    """Standard normals, one per row and draw, in blocks (n, draws)."""
    rng = np.random.default_rng(np.random.SeedSequence(random_state))
    return (rng.standard_normal((n, count)) for count in chunk_sizes(n, strata))


def residuals(stratum: Stratum) -> Float64s:
    """Outcome minus score, times the weight."""
    r: Float64s = stratum.outcomes - stratum.scores.astype(np.float64)
    return r if stratum.weights is None else r * stratum.weights


def sizes(picture: Picture, claims: ClaimsOfRows, ranks: int, normals: Iterable[Float64s]) -> Float64s:
    """The error of residuals times these numbers, (rows, draws) per chunk; (draws,)."""
    parts = strata_of(claims, ranks)
    # Where the maps of all strata fit they are made once, else anew for every chunk.
    fit = claims.n_claims * _BYTES <= _KEPT_BYTES
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
    picture: Picture, claims: ClaimsOfRows, ranks: int, s: int, stratum: Stratum, rows: Codes
) -> tuple[float, scipy.sparse.csr_array, Sizes]:
    """A stratum's share, what each row's residual adds to each place of its image, and the error of such sums."""
    image = picture(s, stratum)
    places = image.map(residuals(stratum) / stratum.total, rows, claims.n_rows(ranks))
    return float(claims.shares[s]), places, image.errors


def calibrated_sizes(picture: Picture, claims: ClaimsOfRows, ranks: int, random_state: int) -> Float64s:
    """The error of outcomes drawn from the scores, less the scores, (draws,).

    One class per row, unless a row's scores are no distribution: then each claim independently.
    """
    counts = chunk_sizes(claims.n_rows(ranks), len(claims.strata))
    seeds = np.random.SeedSequence(random_state).spawn(len(counts))
    streams = ((count, np.random.default_rng(seed)) for count, seed in zip(counts, seeds, strict=True))
    return np.asarray(
        values(claims, ranks, [partial(_less_scores, picture)], streams, apart=not claims.drawn_together(ranks))[0]
    )


def _less_scores(picture: Picture, s: int, stratum: Stratum) -> Image:
    """The image of outcomes whose errors are those of residuals."""
    image, n = picture(s, stratum), len(stratum.scores)
    score = stratum.scores.astype(np.float64)
    weighed = score if stratum.weights is None else score * stratum.weights
    expected = np.asarray(image.map(weighed, np.zeros(n, dtype=np.intp), 1).todense()).ravel()
    return replace(image, errors=lambda sums: image.errors((sums - expected) / stratum.total))
