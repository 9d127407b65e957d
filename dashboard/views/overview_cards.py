"""The overview's three cards: tests over all rows, by class and by slice, each with a link.

The overview's three cards of two classes: risks of all rows, of bins from low to high risk, and of slices.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import streamlit as st

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.text import at_level, begun, chance, of_rows, share_range, short_percent, told_apart
from dashboard import widgets
from dashboard.exhibits import event_words
from dashboard.exhibits.error_words import error_beyond_places
from dashboard.exhibits.event_words import on_average
from dashboard.exhibits.findings import ClassesStandingOut, Findings
from dashboard.exhibits.risk import RiskGroups, headline
from dashboard.exhibits.slices import ADDED, SliceColumns, columns_of, too_many
from dashboard.exhibits.verdict import Overall
from dashboard.exhibits.watched_periods import columns_of_time
from dashboard.glossary.popover import term
from dashboard.hero import class_spark, diagram_spark, group_spark, points_of
from dashboard.selection import NOWHERE
from dashboard.session import Call, Scene, call
from dashboard.theme import markdown_plain
from dashboard.views import place_detail, sample_offered
from dashboard.views.card import card, named, refused
from dashboard.views.exhibited import progress
from dashboard.views.place_detail import leading


def draw_event(scene: Scene) -> None:
    """Draw the cards, side by side."""
    overall, groups, by_slice = st.columns(3, gap="small")
    with overall, st.container(border=True, height="stretch", key="card-overall"):
        _overall_event(scene)
    with groups, st.container(border=True, height="stretch", key="card-groups"):
        _by_risk(scene)
    with by_slice, st.container(border=True, height="stretch", key="card-slices"):
        _by_event_slice(scene)


def _overall_event(scene: Scene) -> None:
    try:
        found = scene.get(event_words.in_the_large(scene))
        rows = scene.model.predictions
        diagram = scene.get(call(cc.diagrams.reliability, rows, bins=scene.bins, notion="event"))
    except NotAnswerable as why:
        refused("Overall", why)
        return
    low, high = event_words.predicted_and_observed(found)
    basis = (
        f"{_events(found.expected)} expected, {found.events:,.4g} observed among {found.rows:,.0f} rows "
        f"({low} predicted, {high} observed{'' if math.isnan(found.p_value) else f'; {chance(found.p_value)}'})."
    )
    alt = "Predicted risk (horizontal) against observed frequency (vertical); larger marks have more rows"
    drawn = points_of(diagram)
    most = min(1.0, 1.1 * max([share for point in drawn for share in point[:2]], default=1.0) or 1.0)
    error = "" if found.differs else error_beyond_places(scene, scene.model).removesuffix(".")
    card(named("Overall", scene), error or on_average(found), basis, (diagram_spark(drawn, 112, most), alt))
    leading("overall", "See the diagram", view="reliability", model=scene.model.title, **NOWHERE)


def _events(number: float) -> str:
    text = f"{number:,.0f}" if number >= 10 else f"{number:.2g}"
    return f"{text} {'event' if text == '1' else 'events'}"


def _by_risk(scene: Scene) -> None:
    with progress(scene) as watched:
        try:
            frame = watched.get(RiskGroups().table(watched))
        except NotAnswerable as why:
            refused("By predicted risk", why)
            return
    first, basis = headline(scene, frame)
    alt = "For each bin, from low to high risk: expected events in gray, observed events in color"
    expected = (frame["count"] * frame["confidence"]).tolist()
    observed = (frame["count"] * frame["accuracy"]).tolist()
    picture = group_spark(expected, observed, (frame["stands_out"] != "").tolist()), alt
    card(named("By predicted risk", scene), first, f"Gray: expected events; blue: observed. {basis}", picture)
    leading("groups", "See all bins", view="reliability", model=scene.model.title, **NOWHERE)


def event_slices(scene: Scene) -> Call[Any]:
    """Return the call for the event's risk in the slices of every column, by the focused model."""
    return call(cc.slices.by_column, scene.model.predictions, notion="event", stem="slices")


def _by_event_slice(scene: Scene) -> None:
    with progress(scene) as watched:
        try:
            if too_many(watched):
                card("By slice", "Many columns", "Large file: slices are computed on request.")
            else:
                found = watched.get(call(cc.diagrams.slice_dots, event_slices(watched)))
                worst, basis = words(found, event_words.in_words(scene)[1])
                card(named("By slice", scene), worst, basis)
        except NotAnswerable:
            card("By slice", "No column to divide the rows by", ADDED)
            return
    leading("slices", "Compare slices", view="slices", model=scene.model.title, **NOWHERE)


def words(found: cc.diagrams.SliceDots, phrase: str) -> tuple[str, str]:
    """Return the worst slice and its evidence, or that none is clearly off."""
    if not found.tests:
        return "Too few rows in every slice", "No slice has enough rows to be tested."
    among = f"{found.tests:,} slices" if found.tests > 1 else "the only slice"
    corrected = "; corrected for multiple testing" if found.tests > 1 else ""
    if not found.outstanding:
        return (
            "No slice is significantly off",
            f"None of {among} differs significantly from its predicted risk{corrected}.",
        )
    worst = found.worst
    assert worst is not None
    says, happens = told_apart(float(worst["claimed"]), float(worst["right"]), short_percent)
    ends = share_range(float(worst["low"]), float(worst["high"]))
    some = of_rows(worst["rows"], worst["worth"], worst.get("groups"))
    if found.alike:
        return (
            f"Risk {found.off}",
            f"No slice differs significantly from the other rows. The largest gap is in {worst['slice']}: {says} "
            f"predicted, {happens} {phrase} ({some}; {at_level(found.level)} interval {ends}){corrected}.",
        )
    return (
        f"{worst['slice']} has the largest gap: {says} predicted, {happens} {phrase}",
        f"{some}; {ends} ({at_level(found.level)} interval). {found.outstanding:,} of {among} "
        f"{'is' if found.outstanding == 1 else 'are'} significantly off{corrected}.",
    )


def draw(scene: Scene) -> None:
    """Draw the cards, side by side, and a line about time below them."""
    _cards(scene)
    _over_time(scene)


def _over_time(scene: Scene) -> None:
    """Draw since when an error is shown, if rows have dates; only the way there if there are very many."""
    exhibit: Any = widgets.selection().exhibit("over-time").build()
    with progress(scene) as watched:
        try:
            columns_of_time(watched)
            sentence = "" if too_many(watched) else watched.get(exhibit.found(watched)).sentence
        except NotAnswerable:
            return
    with st.container(border=True, key="card-over-time", horizontal=True, vertical_alignment="center"):
        st.markdown(
            f"**{named('Calibration over time', scene)}**" + (f": {markdown_plain(sentence)}" if sentence else "")
        )
        leading("over-time", "See all periods", view="over-time", model=scene.model.title, **NOWHERE)


def _cards(scene: Scene) -> None:
    if scene.claims == "event":
        draw_event(scene)
        return
    overall, by_class, by_slice = st.columns([1, 1.25, 0.95], gap="small")
    with overall, st.container(border=True, height="stretch", key="card-overall"):
        _overall(scene)
    with by_class, st.container(border=True, height="stretch", key="card-classes"):
        _by_class(scene)
    with by_slice, st.container(border=True, height="stretch", key="card-slices"):
        _by_slice(scene)


def _overall(scene: Scene) -> None:
    exhibit = Overall()
    try:
        gap = scene.get(exhibit.gaps(scene)[scene.model.title])
        diagram = scene.get(
            call(cc.diagrams.reliability, scene.model.predictions, bins=scene.bins, notion=scene.claims)
        )
    except (NotAnswerable, KeyError) as why:
        refused("Overall", why)
        return
    picture = (
        diagram_spark(points_of(diagram)),
        "Mean confidence (horizontal) against accuracy (vertical); larger marks have more rows",
    )
    card(
        named("Overall", scene),
        gap.headline,
        gap.basis,
        picture,
    )
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        leading("overall", "Look closer", view="reliability", model=scene.model.title, **NOWHERE)
        if gap.direction:
            term(f"{begun(gap.direction)}?", "overconfident", place="overconfident")


def _by_class(scene: Scene) -> None:
    exhibit = ClassesStandingOut()
    with progress(scene) as watched:
        try:
            exhibit.check(watched)
            found = watched.get(exhibit.found(watched))
        except NotAnswerable as why:
            refused("By class", why)
            sample_offered.offer(scene, "card-classes")
            return
    place = None if len(found.names) and found.stands_out[0] else _place(scene)
    if place is not None:
        # No class is significant as a whole, but one is in a bin.
        claim, _, basis = str(place["finding"]).rpartition(" (")
        card(
            named(f"By class, on {scene.judged_rows}", scene),
            claim,
            f"{begun(basis.removesuffix(').'))}. No class is significantly off over all its bins.",
        )
        leading("classes", "Open this subset", **place_detail.place(place, scene))
        return
    picture = (
        class_spark(found),
        "For each class a bar at the mean confidence and a dot at the accuracy, the largest contribution first",
    )
    card(
        named(f"By class, on {scene.judged_rows}", scene),
        found.headline,
        found.basis,
        picture if len(found.names) else None,
    )
    worst = found.code[0] if len(found.names) and found.stands_out[0] else None
    where = {**NOWHERE, "code": worst, "model": scene.model.title}
    leading("classes", "Open this class" if worst is not None else "Compare the classes", view="classes", **where)


def _place(scene: Scene) -> Mapping[Any, Any] | None:
    """Return the worst place of a significant class, if there is one."""
    worst = Findings().worst(scene)
    return next((line for line in worst.to_dict("records") if line["code"] is not None), None)


def _by_slice(scene: Scene) -> None:
    with progress(scene) as watched:
        try:
            if len(columns_of(watched)) and not too_many(watched):
                found = watched.get(SliceColumns().dots(watched))
                card(named(f"By slice, of {scene.judged_rows}", scene), found.headline, found.basis)
            else:
                card("By slice", "Many columns", "Large file: slices are computed on request.")
        except NotAnswerable as why:
            card("By slice", "No column to slice by", f"{ADDED} {begun(str(why))}.")
            return
    leading("slices", "Compare the slices", view="slices", model=scene.model.title, **NOWHERE)
