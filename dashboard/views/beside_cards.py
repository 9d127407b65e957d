"""The right side of Recalibrate: before and after, side effects, guarantee and export of one calibrator."""

from __future__ import annotations

from typing import Any

import streamlit as st

from calib_core import NotAnswerable
from calib_core.figures.movement import ARROWS, MARKS
from calib_core.text import begun
from dashboard import widgets
from dashboard.chart import chart, live_path
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.calibration_maps import path
from dashboard.exhibits.calibrators import effects
from dashboard.session import Model, Scene
from dashboard.theme import markdown_plain
from dashboard.views import fitted_files
from dashboard.views.exhibited import progress

_HEIGHT = 340
"""Pixels of the picture: side effects and guarantee fit below it on a first screen."""
_BESIDE_SLIDER = {
    "confidence": "Next to the slider: mean confidence and accuracy at its temperature.",
    "event": "Next to the slider: mean risk at its temperature, and observed frequency.",
}
_SLIDER_WORDS = {"confidence": ("mean confidence", "accuracy"), "event": ("mean risk", "observed")}


def draw(scene: Scene, model: Model | None) -> None:
    """Draw all of it for the calibrator looked at."""
    if model is None:
        st.markdown("**Before and after**")
        st.info("Tick a calibrator to see its diagram before and after, its side effects and its guarantee.")
        return
    seen = scene.focused(model=model.title)
    st.markdown(f"**Before and after** · {markdown_plain(model.title)}")
    _switch(scene, model)
    with progress(seen) as watched:
        try:
            _picture(watched)
            changed = watched.get(EXHIBITS.make("side-effects").table(watched))
            promised = watched.get(EXHIBITS.make("promises").table(watched))
        except NotAnswerable as why:
            st.info(markdown_plain(f"{why}."))
            return
    line = next(line for line in changed.to_dict("records") if line["calibrator"] == model.title)
    _listed("Side effects", list(effects(line)))
    promise = next(line for line in promised.to_dict("records") if line["calibrator"] == model.title)
    aside = [("info", promise["set_aside"])] if promise["set_aside"] else []
    _listed("Guarantee", [("verified" if promise["holds"] else "remove_moderator", promise["sentence"]), *aside])
    fitted_files.offer(scene, model)


def _switch(scene: Scene, model: Model) -> None:
    """The choice among the recalibrated models, where there are several: of other files, or of other calibrators."""
    titles = [each.title for each in scene.models.recalibrated]
    if len(titles) > 1:
        st.selectbox(
            "Calibrator in focus",
            titles,
            label_visibility="collapsed",
            **widgets.tied_to(titles, "looked-at.focus", model.title, lambda title: widgets.change(model=title)),
        )


def _picture(scene: Scene) -> None:
    """Both models' marks, and an arrow in every bin."""
    exhibit = EXHIBITS.make("movement")
    words, drawn = exhibit.words(scene), exhibit.figure(scene)
    beside = ""
    if drawn is not None:
        figure = scene.get(drawn)
        slider = _slider(scene)
        chart(figure, key="movement", label=words.alt, height=_HEIGHT, live=slider)
        beside = _BESIDE_SLIDER[scene.claims] if slider else ""
    st.caption(markdown_plain(f"{words.caption} {beside}".rstrip()))


def _slider(scene: Scene) -> dict[str, Any] | None:
    """The slider that moves the marks, where the calibrator is one temperature."""
    found = path(scene)
    if found is None:
        return None
    wanted, fitted = found
    marks = {1.0: "uncalibrated"} if abs(fitted - 1) < 0.05 else {1.0: "uncalibrated", fitted: "fitted"}
    return live_path(
        scene.get(wanted), MARKS, hides=(ARROWS,), value=fitted, marks=marks, words=_SLIDER_WORDS[scene.claims]
    )


def _listed(title: str, sentences: list[tuple[str, str]]) -> None:
    """Sentences under a heading, each after its icon."""
    lines = "\n".join(f"- :material/{icon}: {markdown_plain(begun(text))}" for icon, text in sentences)
    st.markdown(f"**{title}**\n{lines}")
