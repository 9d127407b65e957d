"""Glossary: every term with its picture, its definition, its formula, its source, and an example."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from calib_core.registry.citations import bibliography, cited
from calib_core.text import begun
from dashboard import widgets
from dashboard.glossary import TERMS, Term
from dashboard.glossary.popover import explained
from dashboard.navigation import LEARN, view
from dashboard.theme import markdown_plain
from dashboard.views.explained import SYMBOLS

IN_A_ROW = 2
LETTERS = (
    "$[\\ell, u]$: the interval of an error $\\theta$; $\\varepsilon$: the tolerance, or a guaranteed bound; $T^*$: "
    "the error if outcomes are drawn from the predictions themselves; $g$: a calibrator fitted on other rows."
)
"""Meaning of the letters in the terms' own formulas; estimators and notions already have theirs."""


@view("glossary", "Glossary", 20, room=LEARN, needs_data=False)
def render() -> None:
    """Draw every term, by name."""
    terms = sorted(TERMS.values(), key=lambda term: term.title)
    for first in range(0, len(terms), IN_A_ROW):
        places = st.columns(IN_A_ROW, gap="medium")
        for place, term in zip(places, terms[first : first + IN_A_ROW], strict=False):
            with place, st.container(border=True, height="stretch", key=f"term-card-{term.key}", gap="small"):
                _entry(term)
    st.caption(f"{SYMBOLS} {LETTERS}")
    with st.expander("The works cited"):
        for work in bibliography(term.reference for term in terms):
            st.caption(markdown_plain(work))


def _entry(term: Term) -> None:
    explained(term.key, place=f"entry-{term.key}")
    if term.formula:
        st.latex(term.formula)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center", gap="small"):
        st.caption(markdown_plain(begun(cited(term.reference))), width="stretch")
        if term.live is not None:
            # A link opens a new page: the current data here stay loaded.
            st.markdown(f"[See it live](?{urlencode(widgets.link_query(term.live))})", width="content")
