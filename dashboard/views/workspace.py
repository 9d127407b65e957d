"""The workspace of Explore: the model in focus, a picture, and the details of the place in focus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dashboard import widgets
from dashboard.model_marks import mark
from dashboard.session import Scene
from dashboard.theme import markdown_plain
from dashboard.views import pane

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


@contextmanager
def workspace(scene: Scene) -> Iterator[None]:
    """Draw what follows on the left; the detail pane stays on screen at the right, folded while it is empty."""
    left, right = st.columns([0.68, 0.32], gap="medium")
    with left:
        model_in_focus(scene, "workspace")
        yield
        pane.hint(scene)
    with right, st.container(key="detail"):
        pane.draw(scene)
