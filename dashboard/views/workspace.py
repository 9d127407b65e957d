"""Workspace of Explore: the focused model, a picture, and the details of the focused place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import widgets
from dashboard.session import Scene
from dashboard.session.model_looks import mark
from dashboard.theme import markdown_plain
from dashboard.views import pane

FEW = 5
"""Number of models up to which they have one button each; more are chosen from a list."""


def model_in_focus(scene: Scene, place: str) -> None:
    """Draw the symbol of the model whose findings are shown, on a button that opens the choice; nothing for one model.

    ``place`` identifies the choice of one of several views. It is in the frame, next to the models.
    """
    titles = list(scene.titles)
    if len(titles) < 2:
        return
    looks = scene.looks
    chosen = widgets.tied_to(titles, f"{place}.focus", scene.model.title, lambda title: widgets.change(model=title))
    label = f"Findings of {mark(looks[scene.model.title])}"
    named = f"Findings of {markdown_plain(scene.model.title)}"
    with widgets.popover(widgets.place_of_focus(), label, key=f"focus-{place}", type="tertiary", help=named):
        if len(titles) <= FEW:
            st.segmented_control(
                "Findings of",
                titles,
                format_func=lambda title: f"{mark(looks[title])} {markdown_plain(title)}",
                required=True,
                width="content",
                wrap=True,
                **chosen,
            )
        else:
            st.selectbox("Findings of", titles, **chosen)


def controls_beside(name: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return the places of the controls of a picture and of the picture: side by side, one above the other if narrow.

    ``name`` identifies the view.
    """
    left, right = st.columns([0.3, 0.7], gap="medium")
    return left.container(key=f"picture-controls-{name}"), right


@contextmanager
def workspace(scene: Scene) -> Iterator[None]:
    """Draw the following on the left; the detail pane stays on screen at the right, folded while it is empty."""
    left, right = st.columns([0.68, 0.32], gap="medium")
    with left:
        model_in_focus(scene, "workspace")
        yield
        pane.hint(scene)
    with right, st.container(key="detail"):
        pane.draw(scene)
