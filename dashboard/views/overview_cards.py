"""The overview's three cards: what was tested over all rows, by class and by slice, each with the way there."""

from __future__ import annotations

from typing import Any

import streamlit as st

import calib_core as cc
from calib_core import NotAnswerable
from calib_core._text import begun
from dashboard import widgets
from dashboard.exhibits.by_slice import ADDED, columns_of, too_many
from dashboard.exhibits.overall import Overall
from dashboard.exhibits.slice_columns import SliceColumns
from dashboard.exhibits.standing_out import ClassesStandingOut
from dashboard.glossary import term
from dashboard.hero import class_spark, diagram_spark, points_of
from dashboard.session import Scene, call
from dashboard.theme import markdown_plain, unbroken
from dashboard.views.exhibited import CLEARED, progress


def draw(scene: Scene) -> None:
    """Draw the cards, side by side."""
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
        gap = scene.get(exhibit.gaps(scene)[scene.titles[0]])
        diagram = scene.get(call(cc.diagrams.reliability, scene.models.shown[0].predictions, bins=scene.bins))
    except (NotAnswerable, KeyError) as why:
        _refused("Overall", why)
        return
    picture = (
        diagram_spark(points_of(diagram)),
        "Across what it says, up how often it is right, larger for more rows",
    )
    _card("Overall", gap.headline, gap.basis, picture)
    with st.container(horizontal=True, horizontal_alignment="distribute"):
        _way("Look closer", "overall", view="reliability", model=scene.titles[0], **CLEARED)
        if gap.direction:
            term(f"{begun(gap.direction)}?", "over-confident", place="over-confident")


def _by_class(scene: Scene) -> None:
    exhibit = ClassesStandingOut()
    with progress(scene) as watched:
        try:
            found = watched.get(exhibit.found(watched))
        except NotAnswerable as why:
            _refused("By class", why)
            return
    picture = class_spark(found), "For each class a bar at what is said and a dot at how often it is right, worst first"
    _card("By class", found.headline, found.basis, picture if len(found.names) else None)
    worst = found.code[0] if len(found.names) and found.stands_out[0] else None
    where = {**CLEARED, "code": worst, "reduction": "top-label", "model": scene.titles[0]}
    _way("Look at this class" if worst is not None else "Compare the classes", "classes", view="classes", **where)


def _by_slice(scene: Scene) -> None:
    first = scene.focused(model=scene.titles[0])
    with progress(first) as watched:
        try:
            if len(columns_of(watched)) and not too_many(watched):
                found = watched.get(SliceColumns().dots(watched))
                _card("By slice", found.headline, found.basis)
            else:
                _card("By slice", "Many columns", "So many rows and columns are looked at when they are asked for.")
        except NotAnswerable as why:
            _card("By slice", "Nothing to split by", f"{ADDED} Of this file: {why}.")
            return
    _way("Compare the slices", "slices", view="slices", model=scene.titles[0], **CLEARED)


def _card(kind: str, headline: str, basis: str, picture: tuple[str, str] | None = None) -> None:
    st.caption(kind)
    if picture is None:
        st.markdown(f"## {markdown_plain(unbroken(headline))}")
        st.markdown(markdown_plain(unbroken(basis)))
        return
    left, right = st.columns([1.35, 1], gap="small")
    with left:
        st.markdown(f"## {markdown_plain(unbroken(headline))}")
        st.markdown(markdown_plain(unbroken(basis)))
    right.image(picture[0], alt=picture[1], width="stretch")


def _refused(kind: str, why: Exception) -> None:
    text = str(why) if isinstance(why, NotAnswerable) else "it cannot be said of these predictions"
    _card(kind, "Cannot be said", f"{begun(text)}.")


def _way(label: str, key: str, **where: Any) -> None:
    """The way to exactly what a card is about."""
    st.button(
        label,
        key=f"way.{key}",
        type="tertiary",
        icon=":material/arrow_forward:",
        icon_position="right",
        on_click=lambda: widgets.change(**where),
    )
