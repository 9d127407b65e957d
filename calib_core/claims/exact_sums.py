"""Order-independent sums: every number is first rounded to a multiple of 2^-40, so that parts add up to the same bits.

Also the sums of claims in cells (counts, scores, outcomes, and the powers for intervals), and the assignment of scores
to cells between edges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core._base.notebook_display import OneLine
from calib_core.predictions.validation import whole

Whole = NDArray[np.int64]

AT_ONCE = 8192
"""Number of multiples of 2^-40 in [-1, 1] that float64 adds without rounding: sums stay below 2^13."""
MOST = 2.0**33
"""Maximum number of summands (by integer weight) in one call."""
ROUNDING = 2.0**-41
"""Maximum distance of a number from its multiple of 2^-40."""
_BITS = 40
_UNIT = 2.0**-_BITS
_PART = (1 << _BITS) - 1
_IN_ONE = 1 << 21
"""Sums below this, with as many cells, fit in a single int64 of units."""
# Near these numbers, adjacent float64 values are 2^-40 and 2^-20 apart: adding and subtracting rounds to multiples.
_TO_UNITS, _TO_HALVES = 1.5 * 2.0**12, 1.5 * 2.0**32


@dataclass(frozen=True, eq=False, repr=False)
class ExactSums(OneLine):
    """Sums of numbers in [-1, 1], or of copies: ``whole`` + ``part`` 2^-40, int64 of one shape, part in [0, 2^40).

    The sums of any parts of the numbers add up to the sums of all, to the bit; ``value`` is rounded once. What can
    mislead: each number has an error of up to 2^-41, and so has a mean.

    >>> ExactSums.of(np.array([0.5, 0.25]))[0].value + ExactSums.of(np.array([0.5, 0.25])).total(0).value
    np.float64(1.25)
    """

    whole: Whole
    part: Whole

    @classmethod
    def zeros(cls, shape: int | tuple[int, ...]) -> ExactSums:
        return cls(np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64))

    @classmethod
    def of(cls, sums: Float64s) -> ExactSums:
        """Convert sums that are already multiples of 2^-40 in float64."""
        whole = np.floor(sums)
        return cls(whole.astype(np.int64), ((sums - whole) / _UNIT).astype(np.int64))

    @classmethod
    def of_units(cls, units: Whole) -> ExactSums:
        """Convert integers in units of 2^-40."""
        return cls(units >> _BITS, units & _PART)

    @property
    def value(self) -> Float64s:
        """Sums in float64, rounded once."""
        return np.asarray(self.whole + self.part * _UNIT)

    def reshaped(self, shape: tuple[int, ...]) -> ExactSums:
        """Return the same sums with the last axis in this shape."""
        return ExactSums(*(part.reshape(*part.shape[:-1], *shape) for part in (self.whole, self.part)))

    def __getitem__(self, where: Any) -> ExactSums:
        return ExactSums(self.whole[where], self.part[where])

    def __add__(self, other: ExactSums) -> ExactSums:
        return _carried(self.whole + other.whole, self.part + other.part)

    def __sub__(self, other: ExactSums) -> ExactSums:
        return _carried(self.whole - other.whole, self.part - other.part)

    def total(self, axis: int) -> ExactSums:
        """Return sums over an axis, of up to 2^23 sums."""
        return _carried(self.whole.sum(axis=axis), self.part.sum(axis=axis))

    def runs(self, positions: NDArray[np.intp]) -> ExactSums:
        """Return sums over the runs of the last axis between ascending positions."""

        def between(part: Whole) -> Whole:
            sums = np.zeros((*part.shape[:-1], part.shape[-1] + 1), dtype=np.int64)
            np.cumsum(part, axis=-1, out=sums[..., 1:])
            return np.asarray(np.diff(sums.take(positions, axis=-1), axis=-1))

        if np.abs(self.whole).sum(axis=-1).max(initial=0) < _IN_ONE:
            return ExactSums.of_units(between((self.whole << _BITS) + self.part))
        return _carried(between(self.whole), between(self.part))

    def grouped(self, codes: NDArray[np.intp], size: int) -> ExactSums:
        """Return sums by code, (..., size), with codes over the last axes."""
        found = ExactSums.zeros((*self.whole.shape[: self.whole.ndim - codes.ndim], size))
        for to, of in ((found.whole, self.whole), (found.part, self.part)):
            np.add.at(to, (..., codes), of)  # type: ignore[arg-type]  # an index of any kind will do
        return _carried(found.whole, found.part)


def rounded(values: Floats, out: Float64s | None = None) -> Float64s:
    """Round numbers in [-1, 1] to the nearest multiple of 2^-40, half to even."""
    found = np.empty(values.shape) if out is None else out
    found[...] = values
    found += _TO_UNITS
    found -= _TO_UNITS
    return found


def in_units(sums: Float64s) -> Whole:
    """Convert sums of size up to 2^22 that are multiples of 2^-40 to integers in these units."""
    return np.asarray((sums / _UNIT).astype(np.int64))


def sums_of(
    values: Floats, cell: NDArray[np.intp], size: int, weights: Float64s | None = None, most: float = MOST
) -> ExactSums:
    """Sum numbers in [-1, 1] by cells 0..size-1, each as often as its integer weight.

    At most ``MOST`` numbers are allowed; ``most`` is the maximum number in one cell. Weights that are not integers have
    no exact sums.
    """

    def over(terms: Float64s) -> ExactSums:
        return ExactSums.of(np.bincount(cell, terms, size).astype(np.float64, copy=False))

    if most <= AT_ONCE:
        return over(rounded(values) if weights is None else rounded(values) * weights)
    high, low = halves(values, weights)
    return over(high) + over(low)


def halves(values: Floats, weights: Float64s | None = None) -> tuple[Float64s, Float64s]:
    """Split rounded numbers into two lists whose float64 sums are exact for up to ``MOST`` numbers.

    They are the multiples of 2^-20 and the remainders, each times its integer weight.
    """
    high = np.add(values, _TO_HALVES, dtype=np.float64)
    high -= _TO_HALVES
    low = rounded(values - high)
    return (high, low) if weights is None else (high * weights, low * weights)


def added(parts: Sequence[ExactSums]) -> ExactSums:
    """Return the sum of all parts."""
    return sum(parts[1:], parts[0])


def stacked(parts: Sequence[ExactSums]) -> ExactSums:
    """Stack the parts along a new first axis."""
    return ExactSums(np.array([p.whole for p in parts]), np.array([p.part for p in parts]))


def _carried(whole: Whole, part: Whole) -> ExactSums:
    return ExactSums(whole + (part >> _BITS), part & _PART)


@dataclass(frozen=True, eq=False, repr=False)
class Tally(OneLine):
    """Sums over cells: weight, weight * score and weight * outcome, each (strata, cells), in float64.

    ``exact`` (sums, strata, cells) contains the score sums before their only rounding. So sums of parts' tallies, and
    coarsened finer tallies, give the same bits as the whole. It is None if weights are not integers.
    """

    count: Float64s
    score: Float64s
    outcome: Float64s
    exact: ExactSums | None = field(default=None, kw_only=True)
    powers: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def terms(scores: Floats, outcomes: Bools, weights: Float64s | None) -> dict[str, Float64s]:
        """Return the contributions of single claims (n,) to the ``powers`` (and to the sums for other weights)."""
        return {}

    @classmethod
    def of_exact(cls, count: Float64s, outcome: Float64s, exact: ExactSums) -> Self:
        """Create a tally from exact sums of the scores (and of the ``powers``), (sums, strata, cells)."""
        score, *others = exact.value
        sums = {"count": count, "score": score, "outcome": outcome, **dict(zip(cls.powers, others, strict=True))}
        return cls(exact=exact, **sums)

    @classmethod
    def of_floats(cls, sums: dict[str, Float64s]) -> Self:
        """Create a tally from sums by name."""
        return cls(**sums)  # type: ignore[arg-type]  # none of them is exact

    def __add__(self, other: Self) -> Self:
        """Add the claims of both, counted in the same cells."""
        if self.exact is not None and other.exact is not None:
            exact = self.exact + other.exact
            return self.of_exact(self.count + other.count, self.outcome + other.outcome, exact)
        return self.of_floats({name: getattr(self, name) + getattr(other, name) for name in self._parts})

    @property
    def _parts(self) -> list[str]:
        """Names of the sums."""
        return [f.name for f in fields(self) if f.name != "exact" and getattr(self, f.name) is not None]

    def _each(self, of: Callable[[Float64s], Float64s], of_exact: Callable[[ExactSums], ExactSums]) -> Self:
        """Return the tally with every sum transformed in the same way."""
        if self.exact is not None:
            return self.of_exact(of(self.count), of(self.outcome), of_exact(self.exact))
        return self.of_floats({name: of(getattr(self, name)) for name in self._parts})

    def __getitem__(self, where: tuple[Any, ...]) -> Self:
        """Return some of the cells."""
        chosen = {name: getattr(self, name)[where] for name in self._parts}
        return type(self)(**chosen, exact=None if self.exact is None else self.exact[slice(None), *where])

    def coarsened(self, start_sets: Sequence[NDArray[np.intp]]) -> list[Self]:
        """Return tallies of coarser cells, each a run of these: one from the first cell, and one from each start.

        A sum over a run is the difference of two running sums, so every set of runs costs one look-up per run.
        """
        cells = self.count.shape[-1]
        ends = [np.concatenate([[0], starts, [cells]]).astype(np.intp) for starts in start_sets]
        if len(ends) == 1 and np.array_equal(ends[0], np.arange(cells + 1)):
            return [self]
        positions = np.concatenate(ends)
        every = self._each(
            lambda part: np.diff(running(part).take(positions, axis=-1), axis=-1), lambda sums: sums.runs(positions)
        )
        # Between the last position of one set and the first of the next there is no run.
        stops = np.cumsum([len(end) for end in ends])
        return [every[..., stop - len(end) : stop - 1] for end, stop in zip(ends, stops, strict=True)]

    def grouped(self, codes: Codes, shape: tuple[int, ...]) -> Self:
        """Return sums of the cells with the same target, ``codes`` (strata, cells) into a table of this shape."""
        size = int(np.prod(shape))
        return self._each(
            lambda part: np.bincount(codes.ravel(), part.ravel(), size).astype(np.float64).reshape(shape),
            lambda sums: sums.grouped(codes, size).reshaped(shape),
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Moments(Tally):
    """A tally with the further sums that intervals need for claims that share no row, each (strata, cells).

    With residuals r = outcome - score, they are the sums of r^2 ``second``, r^3 ``third`` and r^4 ``fourth``. Single
    claims of score s have the predicted variance v = s (1 - s), with the sums of v ``claim`` and v^2 ``claim_square``.
    Integer weights are copies. Other weights w belong to one outcome: then r means w r and v means w^2 v. ``squares``
    is the sum of w^2, and ``plain_second`` and ``plain_claim`` are those of w r^2 and w v.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> claims = Confidence().split(Predictions.from_confidence([0.5, 0.75], [True, True]))
    >>> claims.moments([np.empty(0)]).second.tolist()  # 0.5^2 + 0.25^2
    [[0.3125]]
    """

    second: Float64s
    third: Float64s
    fourth: Float64s
    claim: Float64s
    claim_square: Float64s
    squares: Float64s | None = None
    plain_second: Float64s | None = None
    plain_claim: Float64s | None = None
    powers: ClassVar[tuple[str, ...]] = ("second", "third", "fourth", "claim", "claim_square")

    @staticmethod
    def terms(scores: Floats, outcomes: Bools, weights: Float64s | None) -> dict[str, Float64s]:
        s = scores.astype(np.float64)
        r, v, plain = outcomes - s, s * (1.0 - s), {}
        if weights is not None:
            plain = {"squares": weights * weights, "plain_second": weights * r * r, "plain_claim": weights * v}
            r, v = weights * r, weights * weights * v
        square = r * r
        return {
            "second": square,
            "third": square * r,
            "fourth": square * square,
            "claim": v,
            "claim_square": v * v,
            **plain,
        }


def running(part: Float64s) -> Float64s:
    """Return the sums of the first 0, 1, 2, ... cells along the last axis."""
    sums = np.zeros((*part.shape[:-1], part.shape[-1] + 1))
    np.cumsum(part, axis=-1, out=sums[..., 1:])
    return sums


def copies(weights: Float64s | None) -> bool:
    """True if the weights are numbers of copies, few enough for exact sums."""
    return weights is None or (whole(weights) and float(weights.sum()) <= MOST)


_MANY, _FEW_EDGES = 2048, 8
"""Number of scores, and of edges, below which a binary search is as fast."""
_SHARED = 8
"""Maximum number of edges with the same upper bits: each costs a pass over the scores."""
_INTS = {np.dtype(np.float32): (np.int32, 16), np.dtype(np.float64): (np.int64, 45)}
"""Integer type for floats of each type, and the number of lower bits that are dropped: seven of the fraction remain."""


def places(edges: Floats, scores: Floats) -> Codes:
    """Number of ascending edges at or below each score in [0, 1]: ``searchsorted`` from the right.

    It takes a tenth of the time for many of both. Floats from 0 up are ordered like the integers of their bits. The
    upper bits of a score determine the edges below it, except the few that share them, which are compared one by one.

    >>> places(np.array([0.5]), np.array([0.1, 0.5])).tolist()
    [0, 1]
    """
    if len(scores) < _MANY or len(edges) < _FEW_EDGES or edges[0] < 0 or edges[-1] > 1 or edges.dtype != scores.dtype:
        return np.asarray(np.searchsorted(edges, scores, side="right"), dtype=np.intp)
    ints, low = _INTS[scores.dtype]
    # Adding 0 turns -0 into 0.
    upper = (edges + edges.dtype.type(0)).view(ints) >> low
    shared = 1
    while (upper[shared:] == upper[:-shared]).any():
        shared += 1
        if shared > _SHARED:
            return np.asarray(np.searchsorted(edges, scores, side="right"), dtype=np.intp)
    size = int(np.ones(1, dtype=edges.dtype).view(ints)[0] >> low) + 1
    ends = np.concatenate(([0], upper + 1, [size]))
    below = np.repeat(np.arange(len(edges) + 1, dtype=np.int32), ends[1:] - ends[:-1])
    codes = below.take((scores + scores.dtype.type(0)).view(ints) >> low)
    ended = np.append(edges, edges.dtype.type(np.inf))
    for _ in range(shared):
        codes += ended.take(codes) <= scores
    return codes.astype(np.intp)


def placed(edge_sets: Sequence[Floats], scores: Floats, codes: Codes, cells: int) -> Codes:
    """Return the cell, among strata * cells, of claims (m,) with these scores and strata, by inner edges.

    One set of edges for all strata, or one per stratum.
    """
    if len(edge_sets) == 1:
        return np.asarray(places(edge_sets[0], scores) + codes * cells)
    found = np.empty(len(scores), dtype=np.intp)
    # Numbers of 16 bits or fewer are sorted without comparisons.
    order = np.argsort(codes.astype(np.min_scalar_type(len(edge_sets))), kind="stable")
    stops = np.append(0, np.cumsum(np.bincount(codes, minlength=len(edge_sets))))
    for s in np.flatnonzero(np.diff(stops)).tolist():
        here = order[stops[s] : stops[s + 1]]
        found[here] = np.searchsorted(edge_sets[s], scores[here], side="right") + s * cells
    return found


def placed_in_lines(edge_sets: Sequence[Floats], joined: Codes | None, scores: Floats, codes: Codes) -> Codes:
    """Return the cells of claims whose strata share lines of edges, as ``joined`` defines."""
    mine = codes if joined is None else joined[codes]
    return placed(edge_sets, scores.ravel(), mine.ravel(), 1 + max(map(len, edge_sets))).reshape(scores.shape)


def n_lines(strata: int, joined: Codes | None) -> int:
    """Number of lines of edges for this many strata."""
    return strata if joined is None else int(joined.max()) + 1
