"""Answers marked by a judge, and a few by people: a view listed if a column looks like human marks."""

from __future__ import annotations

import streamlit as st

import calib_core as cc
from calib_core import InputError
from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.people_marks import JudgedAnswersExhibit, marking
from dashboard.navigation import view
from dashboard.session import Scene
from dashboard.views.exhibited import exhibited

_NONE = "no parts"


def missing() -> str:
    """Return why the view would be empty: no column has marks of some rows; empty if one has."""
    try:
        scene = session.scene_of(widgets.selection().replace(calibrators=()))
        if not scene.models.shown:
            return ""  # shown in place of the view
        return "" if _marked(scene) else "no metadata column marks only some of the rows as right or wrong"
    except InputError:
        return ""  # unusable data: reported in place of the view


@view("judged", "Judged answers", 27, room="explore", missing=missing, reads="rows", rare=True)
def render() -> None:
    """Draw the view for the current choices."""
    scene = session.scene_of(widgets.selection())
    if names := _marked(scene):
        _choose(widgets.selection().exhibit("judged-answers").build(), names, scene)
    exhibited("judged-answers", scene, title=None, controls=False, folded=True)


def _marked(scene: Scene) -> tuple[str, ...]:
    return () if scene.undivided else scene.get(marking(scene))


def _choose(chosen: JudgedAnswersExhibit, names: tuple[str, ...], scene: Scene) -> None:
    """Draw the choice of the column of human marks, if there are several, and of the grouping column."""

    def change(**options: object) -> None:
        kept = {"human": chosen.human, "by": chosen.by} | options
        widgets.change_exhibit(EXHIBITS.described("judged-answers", **kept))

    first, second = st.columns(2)
    human = chosen.human if chosen.human in names else names[0]
    first.selectbox(
        "Human labels", names, **widgets.tied_to(names, "judged.human", human, lambda name: change(human=name))
    )
    columns = cc.slices.columns_of(scene.get(scene.models.shown[0].predictions))
    others = (_NONE, *(name for name in columns if name not in names))
    by = chosen.by if chosen.by in others else _NONE
    second.selectbox(
        "Parts by",
        others,
        **widgets.tied_to(others, "judged.by", by, lambda name: change(by="" if name == _NONE else name)),
    )
