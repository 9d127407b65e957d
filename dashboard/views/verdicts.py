"""Verdicts on screen: the word above every view, and what it rests on."""

from __future__ import annotations

import streamlit as st

from calib_core import NotAnswerable
from dashboard import session
from dashboard.exhibits import EXHIBITS, Exhibit, line_words
from dashboard.selection import Selection
from dashboard.theme import markdown_plain
from dashboard.views.exhibited import below


def draw(selection: Selection) -> None:
    """A line for every model shown, and a button that opens what the verdicts rest on."""
    scene = session.scene_of(selection)
    verdict: Exhibit = EXHIBITS.make("verdict")
    try:
        frame, words = scene.get(verdict.table(scene)), verdict.words(scene)
    except NotAnswerable as why:
        st.caption(f"**No verdict** {markdown_plain(why)}.")
        return
    headlines = dict(zip(frame["model"], frame["headline"], strict=True))
    left, right = st.columns([0.86, 0.14], vertical_alignment="top")
    left.caption("  \n".join(_line(title, headlines.get(title, line_words.NO_VERDICT)) for title in scene.titles))
    with right.popover("Why?", key="verdict.why", width="stretch"):
        below(words)


def _line(title: str, headline: str) -> str:
    """The word and the estimate with its interval, as Markdown; or why there is no verdict."""
    word, _, rest = headline.partition(": ")
    return f"**{markdown_plain(title)}: {markdown_plain(word)}** {markdown_plain(rest)}".rstrip()
