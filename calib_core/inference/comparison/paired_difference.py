"""The difference of two models' errors as it is reported, and whether there can be any."""

from __future__ import annotations

from dataclasses import dataclass

from calib_core._base.notebook_display import OneLine
from calib_core.inference.comparison.joint_cells import Difference
from calib_core.text import at_level, chance


@dataclass(frozen=True, repr=False)
class PairedDifference(OneLine):
    """An error of one model less that of another on the same rows, with its interval and the p-value of no difference.

    ``first`` and ``second`` are the two estimates, ``value`` their difference: below 0 the first model's error is
    smaller. ``point`` is the estimate of the true difference that lies in the interval; plug-in errors, which noise
    pushes up, can differ by more. ``about`` says what the true difference is one of; ``tested`` whether simulations of
    this library, or a theorem, cover the case.
    """

    first: float
    second: float
    low: float
    high: float
    p_value: float
    level: float
    method: str
    tested: bool
    about: str
    point: float

    @classmethod
    def of(
        cls, values: tuple[float, float], difference: Difference, level: float, method: str, tested: bool, about: str
    ) -> PairedDifference:
        """The two estimates and the estimate of their difference, put together."""
        ends = (difference.low, difference.high, difference.p_value)
        return cls(*values, *ends, level, method, tested, about, difference.point)

    @classmethod
    def of_same_claims(cls, values: tuple[float, float], level: float) -> PairedDifference:
        """Models that make the same claims do not differ."""
        nothing, about = Difference(0.0, 0.0, 0.0, 1.0), "the difference of the same claims from themselves"
        return cls.of(values, nothing, level, "the same claims", True, about)

    @property
    def value(self) -> float:
        return self.first - self.second

    def _line(self) -> str:
        trust = "" if self.tested else ", a rough guide"
        ends = f"{self.low:.4f} to {self.high:.4f} at {at_level(self.level)}"
        return f"{self.point:.4f}, {ends}, {chance(self.p_value)}{trust}"

    def _facts(self) -> dict[str, object]:
        return {"first": f"{self.first:.4f}", "second": f"{self.second:.4f}", "less": self.sentence}

    @property
    def sentence(self) -> str:
        """What the numbers say, and how sure that is."""
        trust = "" if self.tested else ", not tested here: a rough guide"
        return (
            f"Difference {self.point:.4f}, {at_level(self.level)} interval {self.low:.4f} to {self.high:.4f}, "
            f"{chance(self.p_value)} ({self.method}{trust}): {self.about}"
        )
