"""A published number, or what a paper states of a curve, beside the one computed here: how far apart, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

Relation: TypeAlias = Literal["equal", "at most", "at least"]
WIDTH = 4.0
"""Standard errors that a tolerance allows: one table in 160 of a hundred that agree shows a line that does not."""
NOTHING = 1e-13
"""Below this a number is rounding of exactly none."""
ROUNDING = 1e-9
"""Allowed for rounding of float64 sums where nothing is random."""


@dataclass(frozen=True)
class ComputedNumber:
    """A number computed here: its value, its Monte-Carlo standard error, and over how many runs (0: nothing random)."""

    value: float
    error: float = 0.0
    runs: int = 0


def mean(runs: ArrayLike) -> ComputedNumber:
    """The mean over independent runs, with its standard error.

    >>> mean([1.0, 3.0])
    ComputedNumber(value=2.0, error=1.0, runs=2)
    """
    x = np.asarray(runs, dtype=np.float64)
    return ComputedNumber(float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))), len(x))


def share(hits: ArrayLike) -> ComputedNumber:
    """The share of independent runs in which something happened; its standard error is never that of no doubt.

    >>> share([False] * 100).error
    0.01
    """
    x = np.asarray(hits, dtype=bool)
    p, n = float(x.mean()), len(x)
    return ComputedNumber(p, float(np.sqrt(max(p * (1 - p), 1 / n) / n)), n)


def ratio(over: ArrayLike, under: ArrayLike, paired: bool = False) -> ComputedNumber:
    """The ratio of two means over runs, its standard error by the delta method; ``paired``: of the same runs.

    >>> ratio([2.0, 2.0], [1.0, 1.0])
    ComputedNumber(value=2.0, error=0.0, runs=2)
    """
    a, b = np.asarray(over, dtype=np.float64), np.asarray(under, dtype=np.float64)
    value = float(a.mean() / b.mean())
    if paired:
        return ComputedNumber(value, float((a - value * b).std(ddof=1) / np.sqrt(len(a)) / b.mean()), len(a))
    first, second = mean(a), mean(b)
    return ComputedNumber(value, value * float(np.hypot(first.error / a.mean(), second.error / b.mean())), len(a))


@dataclass(frozen=True)
class PaperLine:
    """One number of a paper beside ours.

    ``place`` is where the paper has it: table and row, equation, figure. ``printed`` is the number as it stands there,
    empty where the paper shows a curve or states an order; ``target`` is what ours is compared with, ``relation`` how.
    ``tolerance`` is made from the standard errors of both and the last digit printed, and ``basis`` says so. ``why`` is
    the known reason for a difference.
    """

    what: str
    place: str
    ours: float
    target: float
    relation: Relation
    tolerance: float
    basis: str
    printed: str = ""
    why: str = ""

    @property
    def apart(self) -> float:
        """Ours less what it is compared with."""
        return self.ours - self.target

    @property
    def within(self) -> bool:
        """Equal to within the tolerance; or below (above) a limit by more than it, so that noise is not the reason."""
        room = {
            "equal": self.tolerance - abs(self.apart),
            "at most": -self.tolerance - self.apart,
            "at least": self.apart - self.tolerance,
        }
        return room[self.relation] >= -ROUNDING


def printed(
    what: str,
    place: str,
    number: str,
    ours: ComputedNumber | float,
    *,
    spread: float = 0.0,
    runs: int = 1,
    plus_minus: float = 0.0,
    exact: bool = False,
    relation: Relation = "equal",
    why: str = "",
) -> PaperLine:
    """Ours beside a number that the paper prints, given as it stands there.

    The tolerance is four standard errors, of ours and the paper's together, and half a unit of the last digit printed.
    The paper's is ``spread`` / sqrt(``runs``) for a mean over runs of that standard deviation, which is rounded as the
    number is and may be half a digit more, or ``plus_minus`` / 1.645
    where it prints a 90 % interval. A number that is ``exact`` was not rounded, nor is a limit ("at most").

    >>> printed("ECE", "Table 1, row 1", "0.40", 0.404).within, printed("ECE", "Table 1, row 1", "0.40", 0.406).within
    (True, False)
    """
    found = _found(ours)
    digit = 0.5 * 10.0 ** -len(number.partition(".")[2])
    theirs = plus_minus / 1.645 if plus_minus else (spread + digit) / np.sqrt(runs) if spread else 0.0
    error = float(np.hypot(found.error, theirs))
    half = digit if relation == "equal" and not exact else 0.0
    parts = [_sampling(found, theirs)] if error else []
    parts += ["rounding of the printed digits"] if half else []
    basis = " and ".join(parts) or "nothing is random"
    return PaperLine(what, place, found.value, float(number), relation, WIDTH * error + half, basis, number, why)


def stated(
    what: str,
    place: str,
    ours: ComputedNumber | float,
    relation: Relation,
    limit: ComputedNumber | float,
    why: str = "",
) -> PaperLine:
    """Ours beside what a paper states without a number of its own: an order, a limit, a formula's value.

    >>> stated("a share", "Prop. 4", 0.1, "at most", 0.2).within, stated("a share", "Prop. 4", 0.2, "equal", 0.1).within
    (True, False)
    """
    found, other = _found(ours), _found(limit)
    error = float(np.hypot(found.error, other.error))
    basis = _sampling(found, other.error) if error else "nothing is random"
    return PaperLine(what, place, found.value, other.value, relation, WIDTH * error, basis, "", why)


def _found(ours: ComputedNumber | float) -> ComputedNumber:
    """A number as one that was found; rounding of what is exactly nothing is taken off."""
    found = ours if isinstance(ours, ComputedNumber) else ComputedNumber(float(ours))
    return replace(found, value=0.0) if abs(found.value) < NOTHING else found


def _sampling(found: ComputedNumber, theirs: float) -> str:
    whose = f"{found.runs:,} runs here" if found.runs else "ours without noise"
    return f"four standard errors ({whose}{', and those compared with' if theirs else ''})"
