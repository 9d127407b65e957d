"""Which model a page is about, and the switch to another: the same above every view of Explore."""

from __future__ import annotations

import streamlit as st

from dashboard import widgets
from dashboard.model_marks import mark
from dashboard.session import Scene
from dashboard.theme import markdown_plain

FEW = 5
"""Up to this many models have a button each; more are chosen from a list."""


def model_in_focus(scene: Scene, place: str) -> None:
    """Name the model whose findings are shown, and offer the others; nothing where there is one model.

    ``place`` tells the switches of several views apart.
    """
    titles = list(scene.titles)
    if len(titles) < 2:
        return
    looks = scene.looks
    chosen = widgets.tied_to(titles, f"{place}.focus", scene.model.title, lambda title: widgets.change(model=title))
    with st.container(key=f"focus-{place}", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Findings of", width="content")
        if len(titles) <= FEW:
            st.segmented_control(
                "Model in focus",
                titles,
                format_func=lambda title: f"{mark(looks[title])} {markdown_plain(title)}",
                label_visibility="collapsed",
                required=True,
                width="content",
                wrap=True,
                **chosen,
            )
        else:
            st.selectbox("Model in focus", titles, label_visibility="collapsed", **chosen)
