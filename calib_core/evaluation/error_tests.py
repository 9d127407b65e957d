"""Tests for an error over all rows, corrected for their number: one rule for audits, advice and findings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from calib_core import risk
from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, RATIO, SIGNIFICANCE, TOLERANCE
from calib_core.inference.significance.multiple_testing import holm
from calib_core.inference.verdicts.primary_measure import PrimaryLine, primary
from calib_core.inference.verdicts.verdict import any_size
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.risk import InTheLarge
from calib_core.text import at_level, begun, chance
from calib_core.text import score as written


@dataclass(frozen=True, eq=False)
class ErrorTests:
    """Tests for an error over all rows of ``predictions``: mean gap, primary measure, slope and Spiegelhalter's test.

    Gap and slope are those of an event's risk (``risk.in_the_large``). The others are of the primary measure
    (``inference.primary``). p-values are corrected for the number of tests that the rows allow (Holm). A calibrated
    model has a significant one in at most 5 % of samples. ``event`` is the name of the event, by default its class.
    Results are computed on first use.

    References: Holm 1979.

    >>> tests = ErrorTests(Predictions([[0.5, 0.5]] * 100, [0] * 90 + [1] * 10))
    >>> tests.shows("gap"), tests.shows("slope")
    (True, False)
    """

    predictions: Predictions
    event: str = ""
    eps: float = TOLERANCE
    ratio: float = RATIO
    bins: int | str | BinningScheme | None = None
    level: float = LEVEL

    @cached_property
    def first(self) -> PrimaryLine:
        """The primary measure."""
        return primary(self.predictions, self.eps, self.level, self.bins, ratio=self.ratio)

    @cached_property
    def large(self) -> InTheLarge | None:
        """Calibration in the large; None without an event."""
        rows = self.predictions
        return None if rows.event is None or rows.kind != "full" else risk.in_the_large(rows, self.level, self.bins)

    @cached_property
    def p_values(self) -> dict[str, float]:
        """p-values of the tests that these rows allow, by name."""
        tests: dict[str, Callable[[], float | None]] = {
            "gap": lambda: None if self.large is None else self.large.p_value,
            "error": lambda: self.first.line.p,
            "slope": lambda: None if self.large is None else self.large.slope_p,
            "any size": lambda: self.first.shown.p_value,
        }
        found = {}
        for test, p_value in tests.items():
            with suppress(NotAnswerable):
                if (p := p_value()) is not None and p == p:
                    found[test] = float(p)
        return found

    @cached_property
    def corrected(self) -> dict[str, float]:
        """The same, corrected for their number."""
        return dict(zip(self.p_values, holm(list(self.p_values.values())).tolist(), strict=True))

    def shows(self, test: str) -> bool:
        """True if this test is significant after correction."""
        return self.corrected.get(test, 1.0) <= SIGNIFICANCE

    def significant(self, test: str) -> str:
        """The p-value of a significant test, in words."""
        return f"is significant ({chance(self.corrected[test])}, corrected for {len(self.corrected)} tests)"

    @property
    def slope_words(self) -> tuple[str, str]:
        """Direction of the slope's error, and the slope with its interval."""
        found = self.large
        assert found is not None
        ends = f"{at_level(found.level)} interval {written(found.slope_low)} to {written(found.slope_high)}"
        risks = "too moderate" if found.slope > 1 else "too extreme"
        return f"the risks are {risks}", f"{written(found.slope)} ({ends})"

    @property
    def beyond_places(self) -> str:
        """Sentence on the first significant error besides the mean gap; empty if there is none.

        A slope, or errors that Spiegelhalter's test or the primary measure add up, can be significant if no place is.
        """
        if self.shows("slope"):
            risks, value = self.slope_words
            return f"{begun(risks)}: calibration slope {value}."
        if self.shows("any size"):
            return any_size(None, self.first.shown)
        if self.shows("error"):
            return self.large_error
        return ""

    @property
    def large_error(self) -> str:
        """Sentence on the primary measure's p-value."""
        line = self.first.line
        assert line.p is not None
        return f"{line.title} is larger than in nearly all calibrated models ({chance(line.p)})."

    @property
    def titles(self) -> dict[str, str]:
        """Names of the tests in a sentence."""
        error = self.first.line.title if "error" in self.p_values else ""
        return {
            "gap": "mean gap",
            "error": error,
            "slope": "calibration slope",
            "any size": "Spiegelhalter's test",
        }
