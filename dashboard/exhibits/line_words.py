"""Columns, captions and notes of tables of estimates."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from string import ascii_lowercase
from typing import Any, Protocol

import numpy as np
import pandas as pd

import calib_core as cc
from calib_core import Predictions
from calib_core.defaults import LEVEL, TOLERANCE
from calib_core.evaluation.remaining_error import in_few_bins
from calib_core.evaluation.study import SCORES, Measure
from calib_core.inference import PrimaryLine, each_alone, marked
from calib_core.inference.verdicts.estimate_line import ROUGH_GUIDE
from calib_core.registry.registry import Entry
from calib_core.text import at_level, begun, inside, listed, score, short_percent
from dashboard.exhibits import columns as of
from dashboard.selection import mixed
from dashboard.session import Call, Scene, call

AT_LEVEL = f"{at_level(LEVEL)} interval"
INFLATED = (
    "Noise inflates it, except for debiased errors: their formula subtracts noise, so their raw value can be below the "
    "estimate."
)
"""Effect of noise on a raw value."""
VALUE = (
    f"Raw value: the result of the estimator's formula. {INFLATED} Estimate: corrected for noise, and always in the "
    "interval. A maximum error (MCE) is not corrected: its estimate and its raw value are the largest gaps, but they "
    "can be in different bins."
)
NOISE = (
    "Noise floor: labels are simulated many times with exactly the predicted probabilities, so that the model is "
    "perfectly calibrated. In 95 % of draws, the raw value is at most the noise floor."
)
CHANCE = (
    "p (p-value): the share of draws of a perfectly calibrated model with a raw value at least as large. If another "
    "error follows in parentheses, p is from a test of that error. It is never larger than the error of the line, so "
    "evidence for it is evidence for both. The mean gap is such an error: the observed frequency minus the mean "
    "prediction. If a line has several tests, its p is the smallest, corrected for their number, but not for the "
    "number of lines."
)
FLOOR = f"{NOISE} {CHANCE}"
OF_SCORES = (
    "For accuracy, 95 % of calibrated models are above the noise floor. “As bad or worse” after p: the share of "
    "calibrated models whose accuracy or score is at least as bad. A score can also be better than expected, for "
    "example if probabilities are too cautious. This is evidence of an error, too. Spiegelhalter's test in the verdict "
    "counts both directions, so its p differs from that of the Brier score."
)
SCORES_DEFINED = {
    "accuracy": "Accuracy: the share of rows in which the predicted class is right.",
    "log-loss": "Log loss: the mean of -ln(predicted probability of what happened). A smaller score is better.",
    "brier": "Brier score: the mean squared distance between predicted probability and what happened (1 if it did, 0 "
    "if not), summed over the classes if all are known. A smaller score is better.",
}
"""Meanings of the scores."""
_TERMS = {
    "calibration error": "the mean distance between predicted probability and observed frequency",
    "tolerance": "the largest error that does not matter",
    "cross-fitted": "each row is judged after a fit to other rows",
    "interval": "such intervals contain the true value in about {level} of samples, or more",
}
GAP_ABOVE = (
    "The mean gap is the observed frequency minus the mean prediction. It is a raw value. The estimate of an error is "
    "corrected for noise, so it can be smaller than this gap."
)
"""Note added where a printed mean gap exceeds an error that contains it."""
_PART_OF = {"event": ("event", "top-label", "class-wise"), "confidence": ("confidence", "top-label")}
"""Notions whose errors contain the mean gap of the event (two classes) or of the confidence."""
_OF_PREDICTED = ("confidence", "top-label")
"""Notions whose definition uses the confidence."""
_CONFIDENCE = "The confidence is the probability of the predicted class."
MOST_NAMED = 4
"""Maximum number of estimators without a value that a note names; they have lines in the table."""
NO_VERDICT = "no verdict is possible"
READING = f"{VALUE} {FLOOR}"
BRIEFLY = "Estimates of errors are corrected for noise. Raw values, as other tools print them, are not."
"""Meaning of the estimates, where raw values are not printed."""
WORDS = (
    "Within tolerance: the whole interval is below the tolerance. Miscalibrated: the whole interval is above it, and "
    "p is at most 5 %. Too few rows to tell: the interval includes the tolerance, and with so few rows, the interval "
    "of a perfectly calibrated model usually would too. Too close to call: the interval includes the tolerance "
    "despite enough rows, or it is above the tolerance, but p is more than 5 %."
)
"""Verdicts of a line; ``tolerances`` adds what differs for class-wise and squared errors."""
OF_ERROR = (
    "The verdict of a line is about its own error. The verdict on an event also requires the ratio of observed to "
    "expected events to be within its tolerance."
)
OF_BOTH = (
    "The verdict on the event uses two tolerances. One is for the calibration error (ECE of the risk), the other for "
    "the ratio of observed to expected events. A model passes only if it is within both."
)


class HasMethod(Protocol):
    """A diagram with a description of interval of the ratio method."""

    @property
    def method(self) -> str: ...


def answering(scene: Scene) -> tuple[dict[str, Call[Predictions]], tuple[str, ...]]:
    """Return the rows by title of the models with a confidence error, and a sentence for each other model.

    All over the same rows, which the scene names where a model abstains.
    """
    same = scene.over_same_rows()
    kept, refused = scene.answered({title: call(cc.estimate, rows) for title, rows in same.items()})
    return {title: same[title] for title in kept}, refused


def primaries(scene: Scene) -> Call[dict[str, PrimaryLine]]:
    """Return the primary line of every model that has one."""
    more = {} if scene.tolerance == TOLERANCE else {"eps": scene.tolerance}
    return call(
        cc.inference.primaries,
        answering(scene)[0],
        bins=scene.bins,
        notion=scene.asked_notion,
        stem="primaries",
        **more,
    )


def few_bins(scene: Scene, lines: Mapping[str, PrimaryLine]) -> dict[str, str]:
    """Return, by recalibrated model, a sentence on scores that fill only a few bins, with the error in other bins.

    ``lines`` are the primary lines by model. There is none where the bins were chosen.
    """
    found = {}
    for model in scene.models.recalibrated if scene.bins is None else ():
        before, after = (lines.get(each.title) for each in (model.base, model))
        if before is not None and after is not None and (sentence := in_few_bins(before, after)):
            found[model.title] = sentence
    return found


def primary_notion(scene: Scene) -> str:
    """Return the notion in which all models are judged (the first model's)."""
    return next(iter(scene.get(primaries(scene)).values())).notion


def measured(measure: Measure) -> of.Column:
    """Return the column of a measure, formatted as a share, an error or a score."""
    best = "high" if measure.higher_is_better else "low"
    if measure.higher_is_better:
        return of.share(measure.name, best=best)
    return of.in_unit(measure.name, measure.name, cc.inference.unit_of(measure.estimator), best=best)


def gap_above(gap: float, lines: pd.DataFrame, subject: str) -> tuple[str, ...]:
    """Note for a mean gap (of the event or the confidence) that is printed larger than an error in these lines.

    >>> line = {"notion": "event", "estimator": "ece", "unit": "share"}
    >>> [len(gap_above(-0.0374, pd.DataFrame([line | {"point": point}]), "event")) for point in (0.012, 0.0374, 0.05)]
    [1, 0, 0]
    """
    errors = lines[lines["notion"].isin(_PART_OF[subject]) & (lines["unit"] == "share")]
    points = errors.loc[~errors["estimator"].isin(list(SCORES)), "point"].dropna()
    size = abs(gap)
    above = any(size > point and short_percent(size) != short_percent(point) for point in points)
    return (GAP_ABOVE,) if above else ()


def term(name: str, more: str = "", level: float = LEVEL) -> str:
    """Return the meaning of a term of a verdict in a line, with more at its end.

    >>> term("tolerance", ", 2 % (--tolerance)")
    'Tolerance: the largest error that does not matter, 2 % (--tolerance).'
    """
    return f"{begun(name)}: {_TERMS[name].format(level=at_level(level))}{more}."


def terms_in(texts: Iterable[str], level: float) -> tuple[str, ...]:
    """Return the meanings of the terms in running text, one line each."""
    text = " ".join(texts).lower()
    return tuple(term(name, level=level) for name in _TERMS if name in text)


def score_definitions(lines: pd.DataFrame) -> tuple[str, ...]:
    """Return the definitions of the scores in these lines."""
    scored = set(lines["estimator"])
    return tuple(text for key, text in SCORES_DEFINED.items() if key in scored)


def definitions(lines: pd.DataFrame) -> tuple[str, ...]:
    """Return the definitions of the errors and of the notions in these lines.

    >>> for note in definitions(pd.DataFrame({"notion": ["event", "event"], "estimator": ["ece", "debiased-ece"]})):
    ...     print(note)
    ECE: mean distance between predicted probability and observed frequency, bin by bin (expected calibration error).
    Debiased ECE: ECE minus the contribution of noise in the bins' outcomes, by a normal approximation.
    Risk of the event: among rows with risk p of the event, a fraction p should have it.
    """
    errors = (cc.ESTIMATORS[str(key)] for key in lines["estimator"].unique())
    notions = (cc.REDUCTIONS[str(key)] for key in lines["notion"].dropna().unique())
    return _defined(errors, notions)


def definitions_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the definitions of the errors in running text, and of the notions in front of errors.

    >>> [note.partition(":")[0] for note in definitions_in(["ECE of the risk estimated at 17 %", "the confidence"])]
    ['ECE', 'Risk of the event']
    """
    text = " ".join(texts)
    errors = [each for each in map(cc.ESTIMATORS.__getitem__, cc.ESTIMATORS) if each.title in text]
    titles = "|".join(re.escape(each.title) for each in errors)
    notions = map(cc.REDUCTIONS.__getitem__, cc.REDUCTIONS) if errors else ()
    named = (
        each for each in notions if re.search(rf"(?i)\b{each.title} ({titles})\b", text) or _of_risk(each, titles, text)
    )
    return _defined(errors, named)


def _of_risk(notion: Entry[Any], titles: str, text: str) -> bool:
    return notion.flags.of == "event" and re.search(rf"\b({titles}) of the risk\b", text) is not None


def _defined(errors: Iterable[Entry[Any]], notions: Iterable[Entry[Any]]) -> tuple[str, ...]:
    """Definitions of errors, and of notions: one text each."""
    named = list(notions)
    entries = (*(entry for entry in errors if entry.key not in SCORES), *named)
    first = next((entry for entry in named if entry.key in _OF_PREDICTED), None)
    ends = (f" {_CONFIDENCE}" if entry is first else "" for entry in entries)
    return tuple(f"{_term(entry)}: {inside(entry.caption)}{end}" for entry, end in zip(entries, ends, strict=True))


def _term(entry: Entry[Any]) -> str:
    """Return the name of an error or a notion in titles: errors of an event are those of its risk."""
    return "Risk of the event" if getattr(entry.flags, "of", "") == "event" else str(entry.title)


def tolerances(lines: pd.DataFrame, eps: float) -> tuple[str, ...]:
    """Notes on the lines with another tolerance than ``eps``: means over classes, and squared errors.

    >>> p = Predictions([[0.5, 0.2, 0.1, 0.1, 0.1]] * 40, [0, 1, 2, 3] * 10)
    >>> wanted = [("class-wise", "ece"), ("class-wise", "rmsce"), ("class-wise", "mce"), ("top-label", "debiased-l2")]
    >>> for note in tolerances(cc.inference.estimate_lines(cc.inference.estimates({"p": p}, wanted)), 0.02):
    ...     print(note)
    Class-wise errors are means over all classes and cannot reach 100 %, so the tolerance of 2 % is scaled by their \
maximum: 0.8 % for ECE (maximum 40 %), 1.3 % for RMSCE (maximum 63 %).
    Squared errors are compared with a squared tolerance: 0.0004 (top-label).
    """
    judged = lines[lines["limit"].notna() & lines["notion"].notna()]
    smaller = judged[(judged["unit"] == "share") & (judged["limit"] < eps * (1 - 1e-9))]
    squared = judged[judged["unit"] == "square"]
    notes = []
    for notion, of_notion in smaller.groupby("notion", sort=False):
        errors = of_notion["estimator"].map(lambda key: cc.ESTIMATORS[key].title)
        each = ", ".join(
            f"{short_percent(limit)} for {those} (maximum {short_percent(limit / eps)})"
            for limit, those in _by_limit(of_notion, errors)
        )
        title = cc.REDUCTIONS[str(notion)].title
        notes.append(
            f"{title} errors are means over all classes and cannot reach 100 %, so the tolerance of "
            f"{short_percent(eps)} is scaled by their maximum: {each}."
        )
    if len(squared):
        notions = squared["notion"].map(lambda key: inside(cc.REDUCTIONS[key].title))
        each = ", ".join(f"{score(limit)} ({those})" for limit, those in _by_limit(squared, notions))
        notes.append(f"Squared errors are compared with a squared tolerance: {each}.")
    return tuple(notes)


def _by_limit(lines: pd.DataFrame, titles: pd.Series) -> list[tuple[float, str]]:
    """Different ``titles`` of the lines with each limit, listed; the smallest limit first."""
    limits = np.unique(lines["limit"].to_numpy(dtype=np.float64)).tolist()
    return [(limit, listed(titles[lines["limit"] == limit].unique().tolist())) for limit in limits]


def columns(frame: pd.DataFrame, p: str = "p", verdict: str = "verdict") -> tuple[of.Column, ...]:
    """Return the printed columns; marks and bins only if lines differ in them, verdicts only if there are any.

    ``p`` and ``verdict`` are the headings of those two columns.
    """
    level = frame["level"].iloc[0] if len(frame) else LEVEL
    return (
        of.measured("estimate", "point"),
        of.measured_between(f"{at_level(level)} interval", "low", "high"),
        *([of.text("mark")] if frame["mark"].astype(bool).any() else []),
        of.measured("raw value", "value"),
        of.measured("noise floor", "floor"),
        of.probability_of("p", "p_of", p),
        *([of.verdict(verdict, "verdict")] if frame["verdict"].notna().any() else []),
        *([of.text("bins")] if mixed(frame["bins"]) else []),
    )


def of_ratio(frame: pd.DataFrame) -> tuple[of.Column, ...]:
    """Return the columns of the ratio of observed to expected events, if it is judged."""
    if frame["ratio"].isna().all():
        return ()
    return (
        of.number("observed : expected", "ratio"),
        of.ratio_between("interval of the ratio", "ratio_low", "ratio_high", "ratio_limit"),
    )


def of_both(scene: Scene) -> tuple[str, ...]:
    """Note on the two tolerances of the verdict on an event, if its ratio is judged."""
    return (OF_BOTH,) if scene.claims == "event" and scene.ratio < math.inf else ()


def notes(frame: pd.DataFrame) -> tuple[str, ...]:
    """Notes below a table of estimates: ``looks`` and ``missing``."""
    return *looks(frame), *missing(frame)


def missing(frame: pd.DataFrame) -> tuple[str, ...]:
    """Notes on the missing numbers of a table of estimates: each reason once."""
    noted = frame[frame["note"].astype(bool)]
    # A line with a value can lack the noise floor, or only the verdict.
    reasons: dict[tuple[str, bool, bool], dict[str, None]] = {}
    known = (noted[name].notna() for name in ("value", "floor"))
    for title, note, measured, floored in zip(noted["title"], noted["note"], *known, strict=True):
        reasons.setdefault((note, measured, floored), {})[title] = None
    return tuple(
        f"No verdict for {listed(list(map(inside, titles)))}. {begun(note)}."
        if floored
        else f"No noise floor for {_floorless(list(map(inside, titles)))}. {begun(note)}."
        if measured
        else f"{_named(list(titles))} {'is' if len(titles) == 1 else 'are'} not available. {begun(note)}."
        for (note, measured, floored), titles in reasons.items()
    )


def _named(titles: list[str]) -> str:
    """Return the titles, or their number if they are many."""
    return listed(titles) if len(titles) <= MOST_NAMED else f"{len(titles)} of the estimators"


def _floorless(titles: list[str]) -> str:
    """Return the titles, or where to see them if they are many."""
    return listed(titles) if len(titles) <= MOST_NAMED else "estimators with a dash in the table"


def looks(frame: pd.DataFrame) -> tuple[str, ...]:
    """Notes on multiple testing and on what the intervals of a table estimate."""
    return *filter(None, [each_alone(frame["p"])]), *intervals(frame)


def intervals(frame: pd.DataFrame) -> tuple[str, ...]:
    """Notes on what the intervals of a table estimate, by mark."""
    return marked(zip(frame["about"], frame["tested"], strict=True))[1]


def marks_in(frame: pd.DataFrame, details: bool) -> tuple[list[str], tuple[str, ...]]:
    """Return the mark of each interval, and the note on stars.

    With ``details``, marks have letters, which the notes below the table explain. Otherwise only a star is left, at
    intervals that are a rough guide.
    """
    marks = marked(zip(frame["about"], frame["tested"], strict=True))[0]
    if details:
        return marks, ()
    stars = [mark.lstrip(ascii_lowercase) for mark in marks]
    return stars, (ROUGH_GUIDE,) if any(stars) else ()


def starred(titles: Iterable[str], marks: Iterable[str]) -> list[str]:
    """Return the titles of lines, with a star after those whose interval is a rough guide, in place of a column."""
    return [f"{title} {mark}".rstrip() for title, mark in zip(titles, marks, strict=True)]


def caption(described: Callable[..., object]) -> str:
    """Return the docstring of a public function as running text, with column names as in headings."""
    text = (inspect.getdoc(described) or "").partition("\n>>>")[0]
    return " ".join(re.sub("``(.*?)``", lambda name: name[1].replace("_", " "), text).split())


def methods_of(scene: Scene, calls: Iterable[Call[HasMethod]]) -> str:
    """Return the interval methods of these diagrams, each once."""
    return "; ".join(dict.fromkeys(scene.get(each).method for each in calls))
