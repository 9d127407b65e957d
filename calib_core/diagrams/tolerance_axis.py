"""The verdict as a picture: noise floor, tolerance and interval of every model on one axis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._arrays import Float64s
from calib_core.defaults import LEVEL, TOLERANCE
from calib_core.diagrams.base import Diagram
from calib_core.inference import EstimateLine, PrimaryLine, estimate_line, on_tolerance_scale
from calib_core.inference.number_words import between, percent


@dataclass(frozen=True, eq=False, repr=False)
class VerdictStrip(Diagram):
    """One line per model: arrays are (m,), all errors on the scale of the tolerance ``eps``; NaN where there are none.

    ``low`` to ``high`` is the interval at ``level``, ``point`` the estimate it is about, ``value`` what its formula
    gives, which noise raises, and ``floor`` the 95 % point of that for calibrated models; ``words`` the verdict,
    empty where there is none and ``notes`` says why; ``title`` the error that is judged.
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    notes: tuple[str, ...]
    low: Float64s
    point: Float64s
    high: Float64s
    value: Float64s
    floor: Float64s
    eps: float
    level: float
    title: str

    def frame(self) -> pd.DataFrame:
        """One line per model, exactly the numbers drawn."""
        names = {"model": self.names, "verdict": self.words, "beside": self.notes}
        numbers = {"low": self.low, "point": self.point, "high": self.high}
        numbers |= {"value": self.value, "floor": self.floor}
        return pd.DataFrame(names | numbers).assign(eps=self.eps, level=self.level)


def verdict_strip(first: Mapping[str, PrimaryLine], eps: float = TOLERANCE, level: float = LEVEL) -> VerdictStrip:
    """Interval, noise floor and verdict of the line that decides about each model, on the scale of the tolerance.

    Squares are shown as roots, means over classes as a share of the most they can be (``on_tolerance_scale``), so that
    the tolerance means the same for all. What can mislead: an interval that reaches zero is no proof of calibration.

    >>> from calib_core import Predictions
    >>> from calib_core.inference import primaries
    >>> strip = verdict_strip(primaries({"net": Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)}))
    >>> strip.words, strip.notes
    (('miscalibrated',), ('21 to 41 %, above the tolerance',))
    """
    lines = [estimate_line(each.estimate, eps, level) for each in first.values()]
    scaled = [_scaled(each, line) for each, line in zip(first.values(), lines, strict=True)]
    low, point, high, value, floor = np.array(scaled, dtype=float).reshape(-1, 5).T
    notes = tuple(_note(line, ends, eps) for line, ends in zip(lines, scaled, strict=True))
    title = lines[0].title if lines else ""
    words = tuple(line.verdict or "" for line in lines)
    return VerdictStrip(tuple(first), words, notes, low, point, high, value, floor, eps, level, title)


def _scaled(each: PrimaryLine, line: EstimateLine) -> tuple[float, ...]:
    """Low, point, high, value and floor on the scale of the tolerance."""
    values = (line.low, line.point, line.high, line.value, line.floor)
    return tuple(np.nan if value is None else on_tolerance_scale(each.estimate, value) for value in values)


def _note(line: EstimateLine, ends: tuple[float, ...], eps: float) -> str:
    """What stands beside the word: the interval, and where it lies."""
    if line.verdict is None:
        return line.note
    text = between(ends[0], ends[2], eps)
    places = {
        "within": "below the tolerance",
        "miscalibrated": "above the tolerance",
        "too close to call": f"holds {percent(eps)}",
        "too few rows to tell": f"holds {percent(eps)}",
    }
    return f"{text}, {places[line.verdict]}"
