"""The overview: can these probabilities be trusted, and what is to be done?"""

from __future__ import annotations

import dataclasses

import streamlit as st

from calib_core import NotAnswerable
from calib_core.diagrams import reconciled
from dashboard import session, widgets
from dashboard.chart import chart
from dashboard.exhibits import EXHIBITS, line_words
from dashboard.exhibits.event_words import event
from dashboard.exhibits.hero import Hero
from dashboard.exhibits.overall import Overall
from dashboard.exhibits.standing_out import ClassesStandingOut
from dashboard.exhibits.verdict import Verdict
from dashboard.exhibits.which_is_better import better, first_named
from dashboard.glossary import term, the_words
from dashboard.hero import hero
from dashboard.navigation import view
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views import next_step, overview_cards, worst_places
from dashboard.views.exhibited import CLEARED, below, numbers, progress


@view("overview", "Overview", 10, room="overview")
def render() -> None:
    """Draw the view for the present choices."""
    scene = session.scene_of(widgets.selection())
    _hero(scene)
    _event(scene)
    _verdicts(scene)
    overview_cards.draw(scene)
    find_out = next_step.begun_step(scene)
    worst_places.draw(scene)
    find_out()


def _hero(scene: Scene) -> None:
    """The sentence, and its slider."""
    exhibit = Hero()
    try:
        answers = {title: scene.get(wanted) for title, wanted in exhibit.answers(scene).items()}
    except NotAnswerable as why:
        st.info(markdown_plain(f"How often it is right cannot be said: {why}."))
        return
    hero(
        answers,
        scene.confidence,
        key="hero",
        chosen=lambda confidence: widgets.change(confidence=confidence),
        looks=scene.looks,
    )


def _event(scene: Scene) -> None:
    """Of two classes: what is said of the event and how often it happens, which a confidence does not tell."""
    found = event(scene)
    if found is None:
        return
    with st.container(border=True, key="event-line", horizontal=True, wrap=False, vertical_alignment="center"):
        name = first_named(scene)
        of = f"{markdown_plain(name)}: " if name else ""
        st.markdown(f"**{of}{markdown_plain(found.headline)}**  \n{markdown_plain(found.basis)}", width="stretch")
        worst_places.button("event", "Look closer", lambda: _to_the_event(found.code, scene.titles[0]))


def _to_the_event(code: int, model: str) -> None:
    """To the event's own diagram: its probability in every row, whichever class is predicted."""
    panels = widgets.selection().exhibit("class-panels")
    widgets.change_exhibit(EXHIBITS.described(panels.key, **{**dict(panels.params), "notion": "class-wise"}))
    widgets.change(**CLEARED | {"code": code}, view="classes", model=model)


def _verdicts(scene: Scene) -> None:
    """Every model's verdict on one axis, and why it may seem to say otherwise than the sentence."""
    exhibit = Verdict()
    with st.container(border=True, key="verdict-strip"):
        with progress(scene) as watched:
            try:
                strip, words = watched.get(exhibit.strip(watched)), exhibit.words(watched)
                figure = watched.get(exhibit.figure(watched))
            except NotAnswerable as why:
                st.markdown(f"**No verdict.** {markdown_plain(f'{why}.')}")
                return
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                notion = line_words.primary_notion(scene)
                term("**Calibration error**", "calibration-error", notion, place="calibration-error")
                st.markdown(_error_meant(notion))
            with st.container(horizontal=True, width="content", gap="small"):
                the_words(*exhibit.terms, place="strip")
                with st.popover("Why?", key="verdict.why"):
                    below(words)
                with st.popover("The numbers", key="verdict.numbers"):
                    numbers("verdict", scene)
        chart(figure, key="verdict", label=words.alt, height=figure.layout.height)
        for sentence in better(scene):
            st.markdown(f":material/balance: {markdown_plain(sentence)}")
        both = _reconciled(scene)
        if both:
            name = first_named(scene)
            of = f"**{markdown_plain(name)}:** " if name else ""
            st.markdown(f":material/info: {of}{markdown_plain(both)}")
        if len(strip.names) < len(scene.titles):
            for sentence in line_words.answering(scene)[1]:
                st.caption(markdown_plain(sentence))


def _error_meant(notion: str) -> str:
    """What the axis shows, in words."""
    if notion == "confidence":
        return "average gap between what it says and how often it is right"
    return "average gap between what it says and how often it is right, for each predicted class by itself"


def _reconciled(scene: Scene) -> str:
    """One sentence where the first model's answer and verdict seem to disagree."""
    local = Hero().answers(scene)
    line = scene.get(line_words.primaries(scene))
    title = next((name for name in local if name in line), "")
    if not title or title != scene.titles[0]:
        return ""
    judged = dataclasses.replace(line[title], eps=scene.tolerance)
    classes = ClassesStandingOut()
    try:
        found = scene.get(classes.found(scene))
    except NotAnswerable:
        found = None
    overall = scene.get(Overall().gaps(scene)[title])
    return reconciled(scene.get(local[title]), scene.confidence, judged.line, found, overall)
