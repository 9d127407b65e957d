"""Which classes stand out of the noise, the one that adds most to the error first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Float64s
from calib_core.binning.base import BinningScheme
from calib_core.diagrams.base import Diagram
from calib_core.diagrams.class_list import class_table
from calib_core.inference.significance.count_tests import FEWEST, kinds_of_places, per_class_tests, standing_out
from calib_core.predictions.predictions import Predictions
from calib_core.text import in_percent


@dataclass(frozen=True, eq=False, repr=False)
class StandingOut(Diagram):
    """Classes that are predicted, those that stand out first, then by what they add beyond noise; arrays are (m,).

    ``code`` and ``names`` of the class, ``rows`` predicted as it, mean confidence ``claimed``, share ``right``, its
    own ``error`` beside what ``calibrated`` models show on average, ``excess`` = share of rows times the difference,
    ``p_holm`` corrected for the classes and the kinds of places, and whether it ``stands_out`` (p_holm at most 0.05).
    """

    drawn: ClassVar[bool] = False

    code: tuple[int, ...]
    names: tuple[str, ...]
    rows: Float64s
    claimed: Float64s
    right: Float64s
    error: Float64s
    calibrated: Float64s
    excess: Float64s
    p_holm: Float64s
    stands_out: Bools

    @property
    def cancel(self) -> bool:
        """Whether gaps of classes that stand out go both ways, so that they cancel in the mean over all classes."""
        gaps = (self.claimed - self.right)[self.stands_out]
        return bool((gaps > 0).any() and (gaps < 0).any())

    @property
    def headline(self) -> str:
        """The class that adds most among those that stand out; or that none does."""
        if not len(self.names):
            return "No class is predicted"
        if not self.stands_out[0]:
            return "No class is significantly off"
        claimed, right = in_percent(float(self.claimed[0])), in_percent(float(self.right[0]))
        if gaps_cancel(float(self.claimed[0]), float(self.right[0]), float(self.error[0])):
            return f"\u201c{self.names[0]}\u201d contributes most to the error; its gaps cancel on average"
        return f"\u201c{self.names[0]}\u201d contributes most to the error: {claimed} claimed, {right} right"

    @property
    def furthest(self) -> int | None:
        """The place of the class that stands out with the largest gap, where that is not the one that adds most."""
        gaps = np.where(self.stands_out, np.abs(self.claimed - self.right), -1.0)
        place = int(gaps.argmax()) if len(gaps) else 0
        return place if place and gaps[place] > gaps[0] else None

    @property
    def basis(self) -> str:
        """How many stand out, of how many, after which correction."""
        tests, found = len(self.names), int(self.stands_out.sum())
        if not found:
            return (
                f"None of the {tests:,} predicted classes is significantly off (corrected for multiple testing). "
                "With few rows a class can hardly be shown to be off."
            )
        if tests == 1:
            return f"{self.rows[0]:,.0f} rows. The only predicted class is significantly off."
        count = f"{found:,} of {tests:,}" if found < tests else "Both" if tests == 2 else f"All {tests:,}"
        beyond = ""
        if (i := self.furthest) is not None:
            says, right = in_percent(float(self.claimed[i])), in_percent(float(self.right[i]))
            rows = f"{self.rows[i]:,.0f} rows"
            beyond = f" Largest gap: \u201c{self.names[i]}\u201d, {says} claimed, {right} right ({rows})."
        are = "is" if found == 1 else "are"
        return f"{self.rows[0]:,.0f} rows. {count} predicted classes {are} significantly off (corrected).{beyond}"

    def frame(self) -> pd.DataFrame:
        """One line per predicted class."""
        columns = ("rows", "claimed", "right", "error", "calibrated", "excess", "p_holm", "stands_out")
        frame = pd.DataFrame({"class": pd.Series(self.names, dtype=object), "code": pd.Series(self.code, dtype=int)})
        return frame.assign(**{name: getattr(self, name) for name in columns})


def gaps_cancel(claimed: float, right: float, error: float) -> bool:
    """Whether most of an error that is summed over bins is lost in the mean over all of them.

    >>> gaps_cancel(0.74, 0.73, 0.2), gaps_cancel(0.9, 0.7, 0.2)
    (True, False)
    """
    return abs(claimed - right) < error / 2


def classes_standing_out(
    predictions: Predictions,
    bins: int | str | BinningScheme | None = None,
    progress: Callable[[int], object] | None = None,
) -> StandingOut:
    """Which predicted classes are miscalibrated beyond noise, that which adds most to the error first.

    For every class that is predicted: its rows, their mean confidence and accuracy, and the exact test of
    ``per_class_tests`` in the top-label notion, corrected as all places are (``inference.picked_out``). excess = rows /
    n * (error - calibrated): what the class adds to the error beyond what noise would show, so that a class of one row
    does not lead. What can mislead: a class can stand out by gaps that cancel in its mean; classes that do not stand
    out may have too few rows.

    References: P1 eq. (2); Holm 1979.

    >>> classes = [0] * 40 + [1] * 40
    >>> p = Predictions.from_confidence([0.9] * 80, predicted=classes, labels=[0] * 37 + [1] * 23 + [0] * 20)
    >>> classes_standing_out(p, 1).headline
    '\u201c1\u201d contributes most to the error: 90 % claimed, 50 % right'
    >>> classes_standing_out(p, 1).basis
    '40 rows. 1 of 2 predicted classes is significantly off (corrected).'
    """
    table = class_table(predictions, "top-label", bins)
    tests = per_class_tests(predictions, "top-label", bins, progress, kinds_of_places(predictions), FEWEST)
    codes = np.arange(len(tests))
    frame = tests.assign(
        code=codes,
        claimed=table.score,
        right=table.outcome,
        excess=tests["beyond"],
        stands_out=np.isin(codes, standing_out(tests)),
    )
    frame = frame[frame["rows"] > 0].sort_values(["stands_out", "excess"], ascending=False, kind="stable")
    numbers = {
        name: frame[name].to_numpy(dtype=np.float64)
        for name in ("rows", "claimed", "right", "error", "calibrated", "excess", "p_holm")
    }
    return StandingOut(
        code=tuple(frame["code"].tolist()),
        names=tuple(frame["class"].tolist()),
        stands_out=frame["stands_out"].to_numpy(dtype=np.bool_),
        **numbers,
    )
