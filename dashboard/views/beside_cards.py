"""The right side of Recalibrate: before and after, what it does besides, what is promised, and taking it home."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib_core import NotAnswerable
from calib_core.figures.movement import ARROWS, MARKS
from calib_core.text import begun
from dashboard.chart import chart, live_path
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.besides import effects
from dashboard.exhibits.movement import path
from dashboard.session import Model, Scene
from dashboard.theme import markdown_plain
from dashboard.views import fitted_files
from dashboard.views.exhibited import progress

_HEIGHT = 340
"""Pixels of the picture: what it does besides and what is promised fit below it on a first screen."""
_BESIDE_SLIDER = "Beside the slider: the mean confidence at its temperature, and the share of rows that are right."


def draw(scene: Scene, model: Model | None) -> None:
    """Draw all of it for the calibrator looked at."""
    if model is None:
        st.markdown("**Before and after**")
        st.info("Tick a calibrator: the picture before and after, what it costs and what it promises appear here.")
        return
    seen = scene.focused(model=model.title)
    st.markdown(f"**Before and after** · {markdown_plain(model.title)}")
    with progress(seen) as watched:
        try:
            _picture(watched)
            changed = watched.get(EXHIBITS.make("side-effects").table(watched))
            promised = watched.get(EXHIBITS.make("promises").table(watched))
        except NotAnswerable as why:
            st.info(markdown_plain(f"{why}."))
            return
    line = next(line for line in changed.to_dict("records") if line["calibrator"] == model.title)
    _listed("What it does besides", list(effects(line)))
    promise = next(line for line in promised.to_dict("records") if line["calibrator"] == model.title)
    aside = [("info", promise["set_aside"])] if promise["set_aside"] else []
    _listed("What is promised", [("verified" if promise["holds"] else "remove_moderator", promise["sentence"]), *aside])
    fitted_files.offer(scene, model)


def _picture(scene: Scene) -> None:
    """Both models' marks, and an arrow in every bin."""
    exhibit = EXHIBITS.make("movement")
    words, drawn = exhibit.words(scene), exhibit.figure(scene)
    beside = ""
    if drawn is not None:
        figure = scene.get(drawn)
        slider = _slider(scene)
        chart(figure, key="movement", label=words.alt, height=_HEIGHT, live=slider)
        beside = _BESIDE_SLIDER if slider else ""
    st.caption(markdown_plain(f"{words.caption} {beside}".rstrip()))


def _slider(scene: Scene) -> dict[str, Any] | None:
    """The slider that moves the marks, where the calibrator is one temperature."""
    found = path(scene)
    if found is None:
        return None
    wanted, fitted = found
    marks = {1.0: "as it is"} if abs(fitted - 1) < 0.05 else {1.0: "as it is", fitted: "fitted"}
    return live_path(scene.get(wanted), MARKS, hides=(ARROWS,), value=fitted, marks=marks)


def _listed(title: str, sentences: list[tuple[str, str]]) -> None:
    """Sentences under a heading, each after its icon."""
    lines = "\n".join(f"- :material/{icon}: {markdown_plain(begun(text))}" for icon, text in sentences)
    st.markdown(f"**{title}**\n{lines}")
