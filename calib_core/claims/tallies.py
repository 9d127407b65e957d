"""What claims sum to in cells: counts, scores and outcomes, and the powers that intervals of them need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core._base.notebook_display import OneLine
from calib_core.claims import exact_sums
from calib_core.claims.exact_sums import ExactSums
from calib_core.predictions.validation import whole


@dataclass(frozen=True, eq=False, repr=False)
class Tally(OneLine):
    """Sums over cells: weight, weight * score and weight * outcome, each (strata, cells), in float64.

    ``exact`` (sums, strata, cells) is what the score sums were rounded from, once: tallies of parts, added, and finer
    ones made coarser give the same bits as the whole. None where weights are no whole numbers.
    """

    count: Float64s
    score: Float64s
    outcome: Float64s
    exact: ExactSums | None = field(default=None, kw_only=True)
    powers: ClassVar[tuple[str, ...]] = ()

    @staticmethod
    def terms(scores: Floats, outcomes: Bools, weights: Float64s | None) -> dict[str, Float64s]:
        """What single claims (n,) add to the ``powers`` (and to what other weights need beside them)."""
        return {}

    @classmethod
    def of_exact(cls, count: Float64s, outcome: Float64s, exact: ExactSums) -> Self:
        """From exact sums of the scores (and of the ``powers``), (sums, strata, cells)."""
        score, *others = exact.value
        sums = {"count": count, "score": score, "outcome": outcome, **dict(zip(cls.powers, others, strict=True))}
        return cls(exact=exact, **sums)

    @classmethod
    def of_floats(cls, sums: dict[str, Float64s]) -> Self:
        """From sums by their names."""
        return cls(**sums)  # type: ignore[arg-type]  # none of them is exact

    def __add__(self, other: Self) -> Self:
        """The claims of both, counted into the same cells."""
        if self.exact is not None and other.exact is not None:
            exact = self.exact + other.exact
            return self.of_exact(self.count + other.count, self.outcome + other.outcome, exact)
        return self.of_floats({name: getattr(self, name) + getattr(other, name) for name in self._parts})

    @property
    def _parts(self) -> list[str]:
        """Names of the sums."""
        return [f.name for f in fields(self) if f.name != "exact" and getattr(self, f.name) is not None]

    def _each(self, of: Callable[[Float64s], Float64s], of_exact: Callable[[ExactSums], ExactSums]) -> Self:
        """The tally with every sum put through the same."""
        if self.exact is not None:
            return self.of_exact(of(self.count), of(self.outcome), of_exact(self.exact))
        return self.of_floats({name: of(getattr(self, name)) for name in self._parts})

    def __getitem__(self, where: tuple[Any, ...]) -> Self:
        """Some of the cells."""
        return self._each(lambda part: part[where], lambda sums: sums[slice(None), *where])

    def coarsened(self, start_sets: Sequence[NDArray[np.intp]]) -> list[Self]:
        """Tallies of coarser cells, each a run of these: one from the first cell on, one from each start on.

        A sum over a run is the difference of two running sums, so that every set of runs costs one look-up a run.
        """
        cells = self.count.shape[-1]
        ends = [np.concatenate([[0], starts, [cells]]).astype(np.intp) for starts in start_sets]
        if len(ends) == 1 and np.array_equal(ends[0], np.arange(cells + 1)):
            return [self]
        positions = np.concatenate(ends)
        every = self._each(
            lambda part: np.diff(running(part).take(positions, axis=-1), axis=-1), lambda sums: sums.runs(positions)
        )
        # What lies between the last position of one set and the first of the next is no run.
        stops = np.cumsum([len(end) for end in ends])
        return [every[..., stop - len(end) : stop - 1] for end, stop in zip(ends, stops, strict=True)]

    def grouped(self, codes: Codes, shape: tuple[int, ...]) -> Self:
        """Sums of the cells that go to the same place, ``codes`` (strata, cells) into a table of this shape."""
        size = int(np.prod(shape))
        return self._each(
            lambda part: np.bincount(codes.ravel(), part.ravel(), size).astype(np.float64).reshape(shape),
            lambda sums: sums.grouped(codes, size).reshaped(shape),
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Moments(Tally):
    """A tally with what intervals of claims that share no row need beside it, each (strata, cells).

    With residuals r = outcome - score and claimed variances v = s (1 - s) of single claims of score s, the sums of
    r^2 ``second``, r^3 ``third``, r^4 ``fourth``, v ``claim`` and v^2 ``claim_square``. Whole weights are copies. Other
    weights w belong to one outcome: r stands for w r and v for w^2 v; ``squares`` is then the sum of w^2, and
    ``plain_second`` and ``plain_claim`` are those of w r^2 and w v.

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
    """Sums of the first 0, 1, 2, ... cells, the last axis."""
    sums = np.zeros((*part.shape[:-1], part.shape[-1] + 1))
    np.cumsum(part, axis=-1, out=sums[..., 1:])
    return sums


def copies(weights: Float64s | None) -> bool:
    """Are the weights numbers of copies, so few that sums are exact?"""
    return weights is None or (whole(weights) and float(weights.sum()) <= exact_sums.MOST)
