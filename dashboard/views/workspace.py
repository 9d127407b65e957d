"""The workspace of Explore: a picture, and next to it the details of the place in focus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dashboard.session import Scene
from dashboard.views import pane
from dashboard.views.in_focus import model_in_focus


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
