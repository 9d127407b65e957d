"""A verdict for a tolerance: within it, miscalibrated, or not shown either way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from calib_core.estimators.base import Estimate
from calib_core.predictions import NotAnswerable
from calib_core.registry import RegistryError

Word = Literal["within", "miscalibrated", "not shown"]
REJECTS_AT = 0.05


@dataclass(frozen=True)
class Verdict:
    """One of three words, and the sentence that says why."""

    word: Word
    eps: float
    sentence: str


def verdict(estimate: Estimate, eps: float = 0.02) -> Verdict:
    """What the interval and the noise floor together show about an error tolerance.

    "within" when the upper end of the 90 % interval is below eps (its square, for a squared error); "miscalibrated"
    when calibrated models rarely show as much (p at most 0.05) and the lower end is above 0; else "not shown". A small
    real error can be both within and miscalibrated: it is then called within. What can mislead: "not shown" is not
    "calibrated". NotAnswerable for scores (log loss, Brier score, accuracy), which are no calibration errors.

    >>> from calib_core import Predictions
    >>> from calib_core.estimators import estimate
    >>> estimate(Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)).verdict(0.02).word
    'miscalibrated'
    """
    if not eps > 0:
        raise RegistryError(f"eps is {eps}; it must be above 0")
    if estimate.question is not None and hasattr(estimate.question.estimator, "of"):
        raise NotAnswerable(
            f"{estimate.recipe[1].title} is a score, not a calibration error: no tolerance for errors applies to it"
        )
    span, p = estimate.interval(), estimate.p_value
    limit = on_scale_of(estimate, eps)
    ends = f"the 90 % interval is {span.low:.3f} to {span.high:.3f}"
    if span.high < limit:
        squared = "" if limit == eps else f" (squared {limit:g})"
        return Verdict("within", eps, f"The error is within {eps:g}{squared}: {ends}.")
    if p <= REJECTS_AT and span.low > 0:
        text = f"Miscalibrated: a calibrated model would show this much with probability {p:.3f}, and {ends}."
        return Verdict("miscalibrated", eps, text)
    return Verdict("not shown", eps, f"Not shown either way: {ends} and p = {p:.3f}; more rows are needed to tell.")


def on_scale_of(estimate: Estimate, error: float) -> float:
    """An error as the estimate's estimator reports it: squared by one of squared errors.

    >>> from calib_core import Predictions
    >>> from calib_core.estimators import estimate
    >>> on_scale_of(estimate(Predictions([[0.9, 0.1]], [0]), "confidence", "debiased-l2"), 0.5)
    0.25
    """
    squared = estimate.question is not None and getattr(estimate.question.estimator, "squared", False)
    return error * error if squared else error
