"""The overview's three cards: what was tested over all rows, by class and by slice, each with the way there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.text import begun
from dashboard.exhibits.findings import ClassesStandingOut, Findings
from dashboard.exhibits.slices import ADDED, SliceColumns, columns_of, too_many
from dashboard.exhibits.verdict import Overall
from dashboard.glossary import term
from dashboard.hero import class_spark, diagram_spark, points_of
from dashboard.selection import NOWHERE
from dashboard.session import Scene, call
from dashboard.views import event_cards, sample_offered, worst_places
from dashboard.views.card import card, named, refused
from dashboard.views.exhibited import progress
from dashboard.views.worst_places import leading


def draw(scene: Scene) -> None:
    """Draw the cards, side by side."""
    if scene.claims == "event":
        event_cards.draw(scene)
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
        diagram = scene.get(call(cc.diagrams.reliability, scene.model.predictions, bins=scene.bins))
    except (NotAnswerable, KeyError) as why:
        refused("Overall", why)
        return
    picture = (
        diagram_spark(points_of(diagram)),
        "Across the mean confidence, up the accuracy, larger for more rows",
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
            term(f"{begun(gap.direction)}?", "over-confident", place="over-confident")


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
        # No class stands out as a whole, and one does in a bin.
        claim, _, basis = str(place["finding"]).rpartition(" (")
        card(
            named(f"By class, of {scene.judged_rows}", scene),
            claim,
            f"{begun(basis.removesuffix(').'))}. No class is significantly off over all its bins.",
        )
        leading("classes", "Look at this place", **worst_places.place(place, scene))
        return
    picture = (
        class_spark(found),
        "For each class a bar at the mean confidence and a dot at the accuracy, the largest contribution first",
    )
    card(
        named(f"By class, of {scene.judged_rows}", scene),
        found.headline,
        found.basis,
        picture if len(found.names) else None,
    )
    worst = found.code[0] if len(found.names) and found.stands_out[0] else None
    where = {**NOWHERE, "code": worst, "model": scene.model.title}
    leading("classes", "Look at this class" if worst is not None else "Compare the classes", view="classes", **where)


def _place(scene: Scene) -> Mapping[Any, Any] | None:
    """The worst place of a class that stands out, where there is one."""
    worst = Findings().worst(scene)
    return next((line for line in worst.to_dict("records") if line["code"] is not None), None)


def _by_slice(scene: Scene) -> None:
    with progress(scene) as watched:
        try:
            if len(columns_of(watched)) and not too_many(watched):
                found = watched.get(SliceColumns().dots(watched))
                card(named(f"By slice, of {scene.judged_rows}", scene), found.headline, found.basis)
            else:
                card("By slice", "Many columns", "So many rows and columns are looked at when they are asked for.")
        except NotAnswerable as why:
            card("By slice", "Nothing to split by", f"{ADDED} Of this file: {why}.")
            return
    leading("slices", "Compare the slices", view="slices", model=scene.model.title, **NOWHERE)
