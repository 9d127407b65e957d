"""How tables of lines of estimates are written, and what has to be said below them."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable
from typing import Protocol

import pandas as pd

import calib_core as cc
from calib_core import Predictions
from calib_core.defaults import LEVEL
from calib_core.evaluation.study import SCORES, Measure
from calib_core.inference import PrimaryLine, each_alone, marked
from calib_core.text import at_level, inside, short_percent
from dashboard.exhibits import columns as of
from dashboard.selection import mixed
from dashboard.session import Call, Scene, call

AT_LEVEL = f"{at_level(LEVEL)} interval"
VALUE = "Estimate: what the interval is about. As measured: the value of the estimator's formula, which noise raises."
FLOOR = (
    "Noise floor: 95 % of perfectly calibrated models with these predictions show a measured value of at most this. p: "
    "the share of them that show as much as was measured, of this error or of the one named, which it contains; "
    "corrected for the errors that contain one another."
)
OF_SCORES = (
    "Of accuracy the noise floor is what 95 % stay above. p of accuracy and of a score, marked “as bad or worse”, "
    "counts only calibrated models that do as badly or worse. Spiegelhalter's test on the Brier score is another test: "
    "it is two-sided and also counts scores that are too good."
)
GAP_ABOVE = (
    "The mean gap is as measured. The error is corrected for what chance alone makes, so that it can be smaller than "
    "the gap."
)
"""What is added where a mean gap is printed above an error that it is part of."""
_PART_OF = {"event": ("event", "top-label", "class-wise"), "confidence": ("confidence", "top-label")}
"""The notions whose errors the mean gap of the event, of two classes, or of the confidence is part of."""
NO_VERDICT = "no verdict could be made"
READING = f"{VALUE} {FLOOR}"
WORDS = (
    "Within tolerance: the upper end of the interval is below the tolerance. Miscalibrated: its lower end is above, "
    "and p is at most 5 %. Too close to call: neither. Too few rows to tell: neither, and most perfectly calibrated "
    "models with these predictions would get no other word."
)
OF_ERROR = (
    "The word of a line is about its own error; the verdict on an event also needs observed : expected events within "
    "their tolerance."
)
OF_BOTH = (
    "The verdict on the event is about two tolerances: that of the average error, and that of observed : expected "
    "events. A model passes only within both."
)


class HasMethod(Protocol):
    """A diagram that says how its intervals were made."""

    @property
    def method(self) -> str: ...


def answering(scene: Scene) -> tuple[dict[str, Call[Predictions]], tuple[str, ...]]:
    """The models' rows by title where a confidence error can be made of them, and a sentence for each other.

    All over the same rows, which the scene names where a model abstains.
    """
    same = scene.over_same_rows()
    kept, refused = scene.answered({title: call(cc.estimate, rows) for title, rows in same.items()})
    return {title: same[title] for title in kept}, refused


def primaries(scene: Scene) -> Call[dict[str, PrimaryLine]]:
    """The lines that decide, of every model that has one; they know of no tolerance yet."""
    return call(
        cc.inference.primaries, answering(scene)[0], bins=scene.bins, notion=scene.asked_notion, stem="primaries"
    )


def primary_notion(scene: Scene) -> str:
    """The notion in which the first model is judged, and the others beside it."""
    return next(iter(scene.get(primaries(scene)).values())).notion


def measured(measure: Measure) -> of.Column:
    """The column of a measure: shares of rows, errors and scores are each read in their own way."""
    best = "high" if measure.higher_is_better else "low"
    if measure.higher_is_better:
        return of.share(measure.name, best=best)
    return of.in_unit(measure.name, measure.name, cc.inference.unit_of(measure.estimator), best=best)


def gap_above(gap: float, lines: pd.DataFrame, subject: str) -> tuple[str, ...]:
    """Why the mean gap of a subject, event or confidence, is above an error of these lines where it is so in print.

    >>> line = {"notion": "event", "estimator": "ece", "unit": "share"}
    >>> [len(gap_above(-0.0374, pd.DataFrame([line | {"point": point}]), "event")) for point in (0.012, 0.0374, 0.05)]
    [1, 0, 0]
    """
    errors = lines[lines["notion"].isin(_PART_OF[subject]) & (lines["unit"] == "share")]
    points = errors.loc[~errors["estimator"].isin(list(SCORES)), "point"].dropna()
    size = abs(gap)
    above = any(size > point and short_percent(size) != short_percent(point) for point in points)
    return (GAP_ABOVE,) if above else ()


def columns(frame: pd.DataFrame, p: str = "p", verdict: str = "verdict") -> tuple[of.Column, ...]:
    """What is printed of every line; marks and bins where lines differ in them, verdicts where there are any.

    ``p`` is the heading of the p-values, ``verdict`` that of the verdicts.
    """
    level = frame["level"].iloc[0] if len(frame) else LEVEL
    return (
        of.measured("estimate", "point"),
        of.measured_between(f"{at_level(level)} interval", "low", "high"),
        *([of.text("about", "mark")] if frame["mark"].astype(bool).any() else []),
        of.measured("as measured", "value"),
        of.measured("noise floor", "floor"),
        of.probability_of("p", "p_of", p),
        *([of.verdict(verdict, "verdict")] if frame["verdict"].notna().any() else []),
        *([of.text("bins")] if mixed(frame["bins"]) else []),
    )


def of_ratio(frame: pd.DataFrame) -> tuple[of.Column, ...]:
    """Observed : expected events with its interval, where it is judged."""
    if frame["ratio"].isna().all():
        return ()
    return (
        of.number("observed : expected", "ratio"),
        of.ratio_between("its interval", "ratio_low", "ratio_high", "ratio_limit"),
    )


def of_both(scene: Scene) -> tuple[str, ...]:
    """What the verdict on an event is about, where its ratio is judged."""
    return (OF_BOTH,) if scene.claims == "event" and scene.ratio < math.inf else ()


def notes(frame: pd.DataFrame) -> tuple[str, ...]:
    """What is said below a table of lines: its looks (``looks``), and why numbers are missing, each once."""
    noted = frame[frame["note"].astype(bool)]
    # A line with a value lacks no more than what calibrated models would show.
    reasons: dict[tuple[str, bool], dict[str, None]] = {}
    for title, note, measured in zip(noted["title"], noted["note"], noted["value"].notna(), strict=True):
        reasons.setdefault((note, measured), {})[title] = None
    missing = (
        f"No noise floor for {', '.join(map(inside, titles))}: {note}." if measured else f"{', '.join(titles)}: {note}."
        for (note, measured), titles in reasons.items()
    )
    return *looks(frame), *missing


def looks(frame: pd.DataFrame) -> tuple[str, ...]:
    """How many looks a table of lines is, and what its intervals are about."""
    about = marked(zip(frame["about"], frame["tested"], strict=True))[1]
    return *filter(None, [each_alone(frame["p"])]), *about


def caption(described: Callable[..., object]) -> str:
    """The docstring of a public function as running text; names of columns as headings give them."""
    text = (inspect.getdoc(described) or "").partition("\n>>>")[0]
    return " ".join(re.sub("``(.*?)``", lambda name: name[1].replace("_", " "), text).split())


def methods_of(scene: Scene, calls: Iterable[Call[HasMethod]]) -> str:
    """How the intervals of these diagrams were made, each way once."""
    return "; ".join(dict.fromkeys(scene.get(each).method for each in calls))
