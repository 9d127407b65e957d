"""Warnings above every page whose numbers depend on doubted labels or scores."""

from __future__ import annotations

import streamlit as st

from dashboard.exhibits import doubt_words
from dashboard.session import Scene
from dashboard.theme import markdown_plain


def draw(scene: Scene) -> None:
    """Draw a warning for each doubt about the labels or scores of the models shown."""
    for i, sentence in enumerate(doubt_words.sentences(scene)):
        with st.container(key=f"doubt-{i}"):
            st.warning(markdown_plain(sentence), icon=":material/warning:")
