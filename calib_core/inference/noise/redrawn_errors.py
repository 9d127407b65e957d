"""Errors that look at the rows, for many outcomes of the same claims: scores are placed once, outcomes summed there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.parallel import chunks
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.claims.binary_claims import ClaimsOfRows, ColumnClaims, FlatClaims, Stratum
from calib_core.estimators.base import Estimator, traits
from calib_core.estimators.residuals import Image
from calib_core.inference.noise import outcome_draws
from calib_core.predictions.validation import whole

Picture: TypeAlias = Callable[[int, Stratum], Image]
Stream: TypeAlias = tuple[int, np.random.Generator]

_AT_ONCE = 4_000_000
"""Drawn outcomes, or sums of them, worked on at a time."""
_HELD = 100_000_000
"""Drawn classes or outcomes in memory, a byte or two each: each stratum is binned once for this number."""


def values(
    claims: ClaimsOfRows, ranks: int, pictures: Sequence[Picture], streams: Iterable[Stream], *, apart: bool = False
) -> Float64s:
    """Errors (pictures, draws) for outcomes drawn from the claims' scores.

    ``pictures`` give a stratum's image, whose ``errors`` are those of sums (draws, size) of drawn outcomes at its
    places; strata are averaged by their shares. If claims share rows, one class per row is drawn, unless ``apart``:
    then claims are drawn independently. The draws are those of ``draws``, whatever the block size.
    """
    return np.concatenate([_of(claims, ranks, pictures, part, apart) for part in _parts(claims, streams)], axis=1)


def _parts(claims: ClaimsOfRows, streams: Iterable[Stream]) -> Iterator[list[Stream]]:
    """Streams, divided or merged into blocks of as many draws as fit in memory."""
    most, joined = max(1, _HELD // max(claims.n_claims if not claims.same_rows else claims.n_rows(), 1)), list[Stream]()
    for count, rng in streams:
        for part in chunks(count, most):
            few = part.stop - part.start
            if sum(m for m, _ in joined) + few > most:
                yield joined
                joined = []
            joined.append((few, rng))
    yield joined


def _of(
    claims: ClaimsOfRows, ranks: int, pictures: Sequence[Picture], streams: Sequence[Stream], apart: bool
) -> Float64s:
    total = np.zeros((len(pictures), sum(count for count, _ in streams)))
    drawn = None
    if not apart:
        each = [outcome_draws.drawn_for(claims, ranks, rng, count) for count, rng in streams]
        drawn = np.concatenate(each, axis=1)
    for s in np.flatnonzero(claims.shares > 0).tolist():
        stratum = claims.stratum(s)
        if stratum.total <= 0:
            continue
        came_true = _outcomes(claims, s, stratum, streams, drawn)
        for picture, add in zip(pictures, total, strict=True):
            image = picture(s, stratum)
            weight = np.ones(len(stratum.scores)) if stratum.weights is None else stratum.weights
            sums = _counted(image, stratum.weights) if claims.same_rows else _listed(image, weight)
            for part in chunks(total.shape[1], max(1, _AT_ONCE // max(len(weight), image.size))):
                add[part] += claims.shares[s] * image.errors(sums(came_true(part)))
    return total


def _outcomes(
    claims: ClaimsOfRows, s: int, stratum: Stratum, streams: Sequence[Stream], drawn: NDArray[Any] | None
) -> Callable[[slice], Bools]:
    """Outcomes (claims, draws) of one stratum, some draws at a time."""
    if drawn is None:
        each = [[part for _, part in outcome_draws.hits(stratum.scores, rng, count)] for count, rng in streams]
        alone = np.concatenate([np.concatenate(parts) for parts in each], axis=1)
        return lambda part: alone[:, part]
    if claims.same_rows:
        return lambda part: np.asarray(drawn[:, part] == s)
    rows = slice(None) if len(claims.strata) == 1 else claims.rows_of(s)
    return lambda part: np.asarray(drawn[rows, part])


def _listed(image: Image, weight: Float64s) -> Callable[[Bools], Float64s]:
    """Sums (draws, size) of outcomes by a sparse map: where most claims come true, as the likeliest do."""
    n = len(weight)
    places = image.map(weight, np.arange(n), n)
    return lambda came_true: np.ascontiguousarray(np.asarray(places @ came_true.astype(np.float64)).T)


def _counted(image: Image, weights: Float64s | None) -> Callable[[Bools], Float64s]:
    """The same by counting those that came true: where few do, one class of many."""
    size, each = image.size, image.amounts(weights)

    def sums(came_true: Bools) -> Float64s:
        row, draw = np.divmod(np.flatnonzero(came_true), came_true.shape[1])
        cell, shape = draw * size + image.first[row], (came_true.shape[1], size)
        amount = None if each is None else each[row]
        if image.beyond is None:
            return np.asarray(np.bincount(cell, amount, size * shape[0]).reshape(shape), dtype=np.float64)
        ahead = image.beyond[row] if amount is None else image.beyond[row] * amount
        whole = np.bincount(cell, amount, size * shape[0]).reshape(shape)
        beyond = np.bincount(cell, ahead, size * shape[0]).reshape(shape)
        found: Float64s = np.asarray(whole - beyond, dtype=np.float64)
        found[:, 1:] += beyond[:, :-1]
        found[:, -1] += beyond[:, -1]
        return found

    return sums


@dataclass(frozen=True, eq=False)
class Counted:
    """The table of the claims, and the estimator as a function of any table in its place.

    ``many`` is the same for outcome sums (replicates, strata, bins) at once.
    """

    table: BinTable
    value: Callable[[BinTable], float]
    many: Callable[[BinTable, Float64s], Float64s]

    def values(self, outcomes: Float64s) -> Float64s:
        """The estimate for each of the outcome sums (replicates, strata, bins) in place of the table's own."""
        return self.many(self.table, outcomes)


def of_counts(estimator: Estimator, claims: FlatClaims | ColumnClaims, table: BinTable | None = None) -> Counted | None:
    """Return how to estimate from counts, None for estimators that use the rows.

    An estimator declares that it only uses counts in the bins of its ``binning``; it may withdraw this if weights are
    not copies. ``table`` is that of its binning if it already exists.
    """
    method: Any = estimator
    counts = traits(method).counts
    if counts == "never" or (counts == "unweighted" and not whole(claims.weights)):
        return None
    table = tabulate(claims, [method.binning])[0] if table is None else table
    return Counted(table, lambda given: float(method.of_table(given).value), method.of_outcomes)
