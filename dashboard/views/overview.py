"""Overview: trustworthiness of the probabilities, and the recommended next step."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib_core import NotAnswerable
from dashboard import session, widgets
from dashboard.chart import chart
from dashboard.exhibits import Words, line_words
from dashboard.exhibits.hero import EXPLAINED, Hero, left_out, off_elsewhere
from dashboard.exhibits.pairs import better
from dashboard.exhibits.risk import ENDS, MEASURES
from dashboard.exhibits.verdict import VerdictExhibit
from dashboard.glossary.popover import term
from dashboard.hero.sentence_slider import hero
from dashboard.navigation import view
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views import next_step, overview_cards, place_detail
from dashboard.views.card import named
from dashboard.views.exhibited import menu, numbers, progress
from dashboard.views.workspace import model_in_focus

KEY = "Star: estimated error. Tick: with noise. Hatched: noise only."
"""Meaning of the marks below the intervals."""
FEW = 2
"""Models up to which a sentence below the verdicts, else in their menu, states who is within both tolerances."""
LEGEND = 22
"""Pixels of the legend's line in the figure of verdicts."""


@view("overview", "Overview", 10, room="overview")
def render() -> None:
    """Draw the view for the current choices."""
    scene = session.scene_of(widgets.selection())
    off = st.empty()
    _hero(scene)
    model_in_focus(scene, "overview")
    (_event if scene.claims == "event" else _verdicts)(scene)
    find_out = next_step.begun_step(scene)  # above the cards, where it is on the first screen
    overview_cards.draw(scene)
    _off_elsewhere(scene, off)
    place_detail.draw(scene)
    find_out()


def _hero(scene: Scene) -> None:
    """Draw the sentence, and its slider."""
    exhibit = Hero()
    try:
        answers = {title: scene.get(wanted) for title, wanted in exhibit.answers(scene).items()}
    except NotAnswerable as why:
        st.info(markdown_plain(f"Accuracy is not available: {why}."))
        return
    hero(
        answers,
        scene.asked_about,
        key="hero",
        chosen=lambda place: widgets.change(**{"risk" if scene.claims == "event" else "confidence": place}),
        looks=scene.looks,
        explained=EXPLAINED,
        left_out=left_out(scene),
    )


def _off_elsewhere(scene: Scene, place: DeltaGenerator) -> None:
    """Draw other places where the model is off above a sentence without a gap, once all places are tested."""
    try:
        sentence = off_elsewhere(scene, next(iter(Hero().opening(scene).values())))
    except NotAnswerable:
        return
    if sentence:
        place.markdown(f"**{markdown_plain(sentence)}**")


def _event(scene: Scene) -> None:
    """Draw calibration-in-the-large next to the verdict on both tolerances, for two classes."""
    with st.container(key="overview-event"):
        large, verdict = st.columns([1.12, 1], gap="small")
        with large:
            _large(scene)
        with verdict:
            _verdicts(scene)


def _large(scene: Scene) -> None:
    """Draw predicted and observed events of the focused model, each measure next to that of a calibrated model."""
    with st.container(border=True, key="panel-large", height="stretch"):
        exhibit: Any = widgets.selection().exhibit("in-the-large").build()
        with progress(scene) as watched:
            try:
                figure, words = watched.get(exhibit.figure(watched)), exhibit.words(watched)
            except NotAnswerable as why:
                st.markdown(f"**{MEASURES}:** {markdown_plain(f'{why}.')}")
                return
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.markdown(f"**{named(MEASURES, scene)}**", help=ENDS)
            with st.container(horizontal=True, width="content", gap="small"), menu(st, "in-the-large"):
                widgets.recipe_controls(
                    widgets.selection().exhibit("in-the-large"),
                    key="exhibit.in-the-large",
                    changed=widgets.change_exhibit,
                )
                numbers("in-the-large", scene, _notes(words))
        chart(figure, key="in-the-large", label=words.alt, height=figure.layout.height)
        st.caption(markdown_plain(exhibit.scores(scene)))
        _better(scene)  # next to the scores, where there is room


def _verdicts(scene: Scene) -> None:
    """Draw every model's verdict on one axis, and its evidence."""
    exhibit = VerdictExhibit()
    with st.container(border=True, key="verdict-strip", height="stretch"):
        with progress(scene) as watched:
            try:
                strip, words = watched.get(exhibit.strip(watched)), exhibit.deciding(watched)
                figure = watched.get(exhibit.figure(watched))
            except NotAnswerable as why:
                st.markdown(f"**No verdict.** {markdown_plain(f'{why}.')}")
                return
        folded = (strip.within_both,) if strip.within_both and len(strip.names) > FEW else ()
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                notion = line_words.primary_notion(scene)
                if notion == "event":
                    term("**Verdict**", "calibration-error", place="calibration-error")
                    st.caption(KEY)
                else:
                    term("**Calibration error**", "calibration-error", notion, place="calibration-error")
                    st.markdown(_error_meant(notion))
                    st.caption(KEY)
            with st.container(horizontal=True, width="content", gap="small"), menu(st, "verdict"):
                numbers("verdict", scene, (*_notes(words), *folded), exhibit.terms)
        if figure.layout.showlegend is not False:  # its line is above the picture
            room = {"b": figure.layout.margin.b - LEGEND}
            figure = go.Figure(figure).update_layout(
                showlegend=False, height=figure.layout.height - LEGEND, margin=room
            )
        chart(figure, key="verdict", label=words.alt, height=figure.layout.height)
        if scene.claims != "event":
            _better(scene)
        if strip.within_both and not folded:
            st.caption(markdown_plain(strip.within_both))
        # The next step judges such a model in the other bins: both errors stand beside each other.
        for title, sentence in line_words.few_bins(scene, scene.get(line_words.primaries(scene))).items():
            st.caption(f"**{markdown_plain(title)}.** {markdown_plain(sentence)}")
        if len(strip.names) < len(scene.titles):
            for sentence in line_words.answering(scene)[1]:
                st.caption(markdown_plain(sentence))


def _better(scene: Scene) -> None:
    """Draw the comparison of the original models of several files."""
    for sentence in better(scene):
        st.markdown(f":material/balance: {markdown_plain(sentence)}")


def _notes(words: Words) -> tuple[str, ...]:
    return tuple(filter(None, (words.below_figure, *words.notes)))


def _error_meant(notion: str) -> str:
    """Return the meaning of the axis, in words."""
    if notion == "confidence":
        return "average gap between confidence and accuracy"
    return "average gap between confidence and accuracy, separately for each predicted class"
