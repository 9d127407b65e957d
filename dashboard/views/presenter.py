"""Presentation: one picture with its calibrators and, for a temperature, its slider; nothing else is on the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from calib_core import NotAnswerable
from calib_core.diagrams import TemperaturePath
from calib_core.diagrams.reliability import FEW_ROWS
from calib_core.text import begun
from dashboard import frame, session, widgets
from dashboard.chart import chart
from dashboard.exhibits import EXHIBITS, classes
from dashboard.exhibits.calibration_maps import diagram, path
from dashboard.navigation import View
from dashboard.selection import Selection
from dashboard.session import Model, Scene, call
from dashboard.theme import markdown_plain
from dashboard.views import calibrators

PRESENTED = ("overview", "reliability", "calibrators")
"""Views in whose place the diagram is presented, before and after a calibrator."""
PICTURES = {
    "findings": "findings",
    "classes": "class-errors",
    "slices": "slices",
    "over-time": "over-time",
    "levels": "levels",
    "simplex": "triangle",
    "estimators": "estimators",
}
"""Views in whose place the picture of one exhibit is presented; all others are presented as they are, enlarged."""
_HEIGHT = 424
"""Height of the picture in pixels before it is enlarged: with chips and slider it fits 720 pixels."""
_ROOM, _ROOM_OF_CHIPS = 190, 104
"""Height in pixels of everything else, with a slider or without; a taller window has a taller picture."""


def presents(selection: Selection, view: View) -> bool:
    """Return True if this picture is shown in place of the view."""
    return selection.present and (view.key in PRESENTED or view.key in PICTURES)


def draw() -> None:
    """Draw the chips, the way out, the picture and its slider."""
    selection = widgets.selection()
    scene = session.scene_of(selection)
    model = calibrators.looked_at(scene)
    with st.container(key="presented", gap="small"):
        with st.container(horizontal=True, wrap=False, horizontal_alignment="distribute", vertical_alignment="center"):
            with st.container(key="presented-models", width="content"):
                frame.one_chip(selection, "" if model is None else model.recipe.key)
            st.button("Exit presentation", key="present.exit", on_click=lambda: widgets.change(present=False))
        seen = scene if model is None else scene.focused(model=model.title)
        try:
            if selection.view in PICTURES:
                _exhibit(selection, seen)
            else:
                _picture(seen, model)
        except NotAnswerable as why:
            st.info(markdown_plain(f"{begun(str(why))}."))


def _exhibit(selection: Selection, scene: Scene) -> None:
    """Draw the picture of the view's exhibit, as high as the window."""
    key = PICTURES[selection.view]
    limits = classes.together(selection).get(key, {}) if selection.view == "classes" else {}
    if key == "triangle":
        scene = scene.triangle
        limits = {"partition": scene.partitions[0]} if scene.partitions else {}
    recipe = EXHIBITS.described(key, **{**dict(selection.exhibit(key).params), **limits})
    exhibit = recipe.build()
    exhibit.check(scene)
    wanted, label = exhibit.figure(scene), exhibit.words(scene).alt
    if wanted is None:
        raise NotAnswerable("this view has no picture to present")
    chart(scene.get(wanted), key="presented-picture", label=label, height=_HEIGHT, room=_ROOM_OF_CHIPS)


def _picture(scene: Scene, model: Model | None) -> None:
    """Draw the model before and after one calibrator; without a calibrator, its reliability diagram."""
    if model is None:
        exhibit = EXHIBITS.make("reliability")
        wanted, live = exhibit.figure(scene), None
    else:
        exhibit = EXHIBITS.make("movement")
        live, titles = calibrators.slider(scene), (model.base.title, model.title)
        wanted = call("figures.movement", diagram(scene), titles=titles, looks=scene.looks, reach=_reach(scene))
    assert wanted is not None
    label = exhibit.words(scene).alt
    room = _ROOM_OF_CHIPS if live is None else _ROOM
    chart(scene.get(wanted), key="presented-picture", label=label, height=_HEIGHT, live=live, room=room)


def _reach(scene: Scene) -> tuple[float, ...]:
    """Return the ends of all places to which the slider moves a mark; none without a slider."""
    found = path(scene)
    if found is None:
        return ()
    ends: list[Any] = []
    marks: TemperaturePath = scene.get(found[0])
    enough = marks.count >= FEW_ROWS
    for sums in (marks.confidence_sum, marks.right):
        shares = np.asarray(sums[enough] / marks.count[enough])
        ends += [float(shares.min()), float(shares.max())] if shares.size else []
    return tuple(ends)
