"""The first sentence of a report: how often what the model predicts comes true, at the risk or confidence asked."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

import pandas as pd

from calib_core import NotAnswerable, Recipe
from calib_core.risk import InTheLarge
from calib_core.text import inside, short_percent
from dashboard import session
from dashboard.exhibits import EXHIBITS, doubt_words, line_words
from dashboard.report.document import Headline
from dashboard.report.exhibited import ExhibitParts, shown
from dashboard.report.request import Request
from dashboard.report.sections import for_event

HERO = "hero"
"""The exhibit that answers it."""
AFTER = 2
"""Recalibrated models that the lines below it speak of; more stand in the figure."""


@dataclass(frozen=True, eq=False)
class HeadlineAnswer:
    """The headline, and the exhibit its numbers are of, where there is one."""

    block: Headline
    exhibit: ExhibitParts | None = None


def headline(request: Request) -> Generator[None, None, HeadlineAnswer]:
    """The sentence about the model before recalibration, then what becomes of it after; else the first verdict.

    Reasons to doubt labels or scores come first below it.
    """
    found = yield from _answer(request)
    doubted = doubt_words.sentences(request.scene)
    return replace(found, block=replace(found.block, below=(*doubted, *found.block.below)))


def _answer(request: Request) -> Generator[None, None, HeadlineAnswer]:
    if HERO in EXHIBITS:
        found = yield from shown(request.selection.exhibit(HERO), request.scene)
        if found.table is not None:
            return HeadlineAnswer(_among(request, _spoken(request, found.table.frame)), found)
    return HeadlineAnswer(_among(request, _judged(request)))


def _among(request: Request, block: Headline) -> Headline:
    """The same where one slice alone is judged: it is named before the answer."""
    where = session.parts(request.selection.source).where
    return replace(block, text=f"Where {where}: {inside(block.text)}") if where else block


def _spoken(request: Request, frame: pd.DataFrame) -> Headline:
    """What the frame says at the confidence asked for, model by model."""
    distance = (frame["confidence"] - request.scene.asked_about).abs()
    nearest = frame.loc[distance.groupby(frame["model"]).idxmin()].set_index("model")
    first, *others = [title for title in request.scene.titles if title in nearest.index]
    later = [model.title for model in request.models.recalibrated if model.title in others][:AFTER]
    large = for_event.large_of(request.scene)
    headlines, basis = nearest["headline"].to_dict(), nearest["basis"].to_dict()
    after = [f"After {inside(title)}: {inside(headlines[title])}" for title in later]
    small = [f"{title}: {basis[title]}." for title in (first, *later)]
    own = nearest.loc[first]
    text, errors = headlines[first], _errors(request, later)
    if large is not None:
        if own["shown"]:  # the test of the very rows of the sentence
            text = f"{text} Such risks are too {'high' if own['claimed'] > own['right'] else 'low'}."
        return Headline(text, (" ".join((_expected(large), *errors)), *after), " ".join(small))
    return Headline(text, (*after, *errors), " ".join(small))


def _expected(large: InTheLarge) -> str:
    """Events expected and observed over all rows; that risks are too high or low where test and interval show it."""
    expected, observed = for_event.in_numbers(large.expected), for_event.in_numbers(large.events)
    numbers = f"{expected} events were expected, {observed} {'was' if observed == '1' else 'were'} observed."
    if not large.differs or large.gap_low <= 0 <= large.gap_high:
        return f"Over all rows {numbers}"
    return f"Over all rows predicted risks are too {'high' if large.gap < 0 else 'low'}: {numbers}"


def _errors(request: Request, later: list[str]) -> tuple[str, ...]:
    """The errors the verdicts rest on, before and after, as they are estimated."""
    try:
        lines = request.scene.get(line_words.primaries(request.scene))
    except NotAnswerable:
        return ()
    first = request.scene.titles[0]
    if first not in lines:
        return ()
    texts = {}
    for title in (first, *later):
        line = lines[title].line if title in lines else None
        if line is not None and line.point is not None:
            most = f" and at most {short_percent(line.high)}" if line.point == 0 and line.high is not None else ""
            texts[title] = f"{short_percent(line.point)}{most}"
    after = [f"after {inside(title)} at {text}" for title, text in texts.items() if title != first]
    what = "The average error of the risk" if request.of_event else "Its calibration error"
    return (f"{what} is estimated at {'; '.join([texts[first], *after])}.",) if first in texts else ()


def _judged(request: Request) -> Headline:
    """The first model's verdict, where nothing says how often it is right at one confidence."""
    scene = request.scene
    try:
        frame = scene.get(Recipe("EXHIBITS", "verdict").build().table(scene)).set_index("model")
    except NotAnswerable as why:
        return Headline("These rows do not say whether the model is calibrated.", (f"{why}.",))
    first, *others = [title for title in scene.titles if title in frame.index]
    return Headline(
        f"{first}: {frame.loc[first, 'headline']}.",
        tuple(f"After {inside(title)}: {frame.loc[title, 'headline']}." for title in others[:AFTER]),
    )
