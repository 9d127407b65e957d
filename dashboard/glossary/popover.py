"""Terms on screen: a word that opens its definition, and lists of definitions."""

from __future__ import annotations

import base64
from functools import cache

import streamlit as st

from dashboard.glossary.terms import TERMS
from dashboard.theme import markdown_plain, unbroken


def term(label: str, *keys: str, place: str) -> None:
    """Draw a word that opens the definitions of terms; ``place`` identifies the place, which has it once."""
    with st.popover(label, type="tertiary", key=f"term-{place}"):
        explained(*keys, place=place)


def the_words(*keys: str, place: str, inside: bool = False) -> None:
    """Draw a button with the terms of a place, or a fold ``inside`` a menu; nothing if the place has no terms."""
    if keys:
        with (st.expander if inside else st.popover)("Glossary", key=f"words-{place}"):
            explained(*keys, place=place)


def explained(*keys: str, place: str) -> None:
    """Draw definitions one below the other, each with its picture; unknown keys are skipped."""
    known = [key for key in keys if key in TERMS]
    if known:
        with st.container(key=f"glossary-{place}", width=480):
            st.markdown("\n\n".join(map(_written, known)))


@cache
def _written(key: str) -> str:
    """Return a term as Markdown: its picture, its name, its sentence."""
    found = TERMS[key]
    picture = base64.b64encode(found.picture.encode()).decode()
    words = f"**{markdown_plain(found.title)}**  \n{markdown_plain(unbroken(found.sentence))}"
    return f"![{found.alt}](data:image/svg+xml;base64,{picture}){words}"
