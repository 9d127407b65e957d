"""Rows behind all numbers: held-out ones, or all by cross-fitting; a click switches between them."""

from __future__ import annotations

import dataclasses

import streamlit as st

from calib_core import InputError
from dashboard import session, widgets
from dashboard.selection import Source
from dashboard.views.data_rows import divide


def draw() -> None:
    """Draw the evaluated rows, and the switch if both ways are open."""
    source = widgets.selection().source
    try:
        by, words = session.split_by(source), judged_words(source)
    except InputError:  # the page gives the reason
        return
    if len(words) < 2:
        st.caption(f"Judged on {words[by]}." if words else "")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="rows-judged"):
        st.caption("Judged on", width="content")
        st.segmented_control(
            "Judged on",
            tuple(words),
            format_func=words.__getitem__,
            required=True,
            label_visibility="collapsed",
            **widgets.tied("overview.rows", by, lambda chosen: _to(source, chosen)),
        )


def judged_words(source: Source) -> dict[str, str]:
    """Return the divisions of the rows that are one click away, each with its evaluated rows.

    Only the current one if there is no other.
    """
    by = session.split_by(source)
    held_out = "column" if session.reading(source.data, source.reading).split is not None else "share"
    ways = (held_out, "folds") if by in ("share", "column", "folds") else (by,)
    found = {}
    for way in dict.fromkeys((by, *ways)):
        try:
            found[way] = session.parts(dataclasses.replace(source, by=way) if way != by else source).judged
        except InputError:
            continue  # for example with fewer rows than folds
    return {way: found[way] for way in sorted(found, key=lambda way: way == "folds")}


def _to(source: Source, chosen: str | None) -> None:
    """Evaluate the other rows; the default needs no choice in the link."""
    if chosen is None:
        return
    by_rule = session.split_by(dataclasses.replace(source, by="auto", test="", test_reading=""))
    divide("auto" if chosen == by_rule else chosen)
