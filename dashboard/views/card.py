"""Card of the overview: its kind, its finding, and the evidence."""

from __future__ import annotations

import streamlit as st

from calib_core import NotAnswerable
from calib_core.text import begun
from dashboard.session import Scene
from dashboard.theme import markdown_plain


def named(kind: str, scene: Scene) -> str:
    """Return a card's kind, with the model if there are several."""
    return f"{kind}: {markdown_plain(scene.model.title)}" if len(scene.titles) > 1 else kind


def card(kind: str, headline: str, basis: str, picture: tuple[str, str] | None = None) -> None:
    """Draw a card: its kind, its finding, its evidence, and a small picture with alternative text."""
    st.caption(kind)
    if picture is None:
        st.markdown(f"## {markdown_plain(headline)}")
        st.markdown(markdown_plain(basis))
        return
    left, right = st.columns([1.35, 1], gap="small")
    with left:
        st.markdown(f"## {markdown_plain(headline)}")
        st.markdown(markdown_plain(basis))
    right.image(picture[0], alt=picture[1], width="stretch")


def refused(kind: str, why: Exception) -> None:
    """Draw a card for a question without an answer."""
    text = str(why) if isinstance(why, NotAnswerable) else "these predictions do not contain it"
    card(kind, "Not available for this file", f"{begun(text)}.")
