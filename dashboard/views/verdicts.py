"""Verdicts on screen: the word above every view, and what it rests on."""

from __future__ import annotations

import contextlib

import streamlit as st

from calib_core import InputError, NotAnswerable
from dashboard import compute, session, widgets
from dashboard.lines import ASSUMPTIONS, details, headline
from dashboard.selection import Selection
from dashboard.session import Model
from dashboard.theme import markdown_plain
from dashboard.views.copied import copied


def draw(selection: Selection) -> None:
    """A line for every model shown, and a button that opens what the verdicts rest on."""
    shown = session.models(selection).shown
    left, right = st.columns([0.86, 0.14], vertical_alignment="top")
    left.caption("  \n".join(said(selection, model) for model in shown))
    with right.popover("Why?", key="verdict.why", width="stretch"):
        for model in shown:
            why(selection, model)


def said(selection: Selection, model: Model) -> str:
    """The word and the estimate with its interval, as Markdown; or why there is no verdict."""
    try:
        word, _, rest = headline(compute.primary(model, selection)).partition(": ")
    except InputError as reason:
        word, rest = "could not run", str(reason)
    told = f"**{markdown_plain(model.title)}: {markdown_plain(word)}**"
    return f"{told} {markdown_plain(rest)}" if rest else told


def why(selection: Selection, model: Model) -> None:
    """The sentences behind a model's verdict."""
    st.markdown(f"**{markdown_plain(model.title)}**")
    widgets.sentences(lambda: details(compute.primary(model, selection)))


def without_bins(selection: Selection, model: Model) -> None:
    """Bounds on a model's error that need no bins, beside the end in bins."""
    with st.expander("How large can the error be with what the bins do not see?"):
        widgets.sentences(lambda: compute.unbinned(model, selection))
        with contextlib.suppress(NotAnswerable):
            notion = compute.primary(model, selection).notion
            bound = f"cc.inference.unbinned_bound(cal.apply(test), {notion!r}, assumption)"
            copied(f"[{bound} for assumption in {ASSUMPTIONS}]", section="estimators", key="unbinned", of=model)
