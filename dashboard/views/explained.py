"""Explanation of a number: its formula typeset, its pitfalls, and its references."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

from calib_core import ESTIMATORS, REDUCTIONS
from calib_core.registry.citations import bibliography
from calib_core.registry.registry import Entry
from calib_core.text import begun
from dashboard.glossary.popover import explained
from dashboard.theme import markdown_plain

SYMBOLS = (
    "Row $i$ of $n$ has the score $s_i$; $z_i$ is 1 if the predicted class or event occurs, else 0. Bars are "
    "means over the $n_{lb}$ rows in bin $b$ of class $l$; the weights $w_l$ of the classes sum to 1. $p_i$: all "
    "probabilities of a row; $y_i$: its label; $e_{y_i}$: the vector with a 1 at the label; $h$: the largest "
    "probability; $c$: its class."
)
"""Meaning of the letters in the formulas."""


def meaning(entry: Entry[Any]) -> None:
    """Draw caption, formula, pitfalls, references, and the full documentation of the library."""
    st.markdown(f"**{markdown_plain(entry.caption)}**")
    if entry.formula:
        st.latex(entry.formula)
        st.caption(SYMBOLS)
    if warning := misleads(entry):
        st.markdown(f":material/warning: **Where it misleads.** {markdown_plain(warning)}")
    works(entry.reference)
    if entry.elsewhere:
        st.caption(f"**In other packages.** {markdown_plain(entry.elsewhere)}")
    with st.expander("From the library's documentation"):
        st.text((inspect.getdoc(entry.cls) or "").partition("\n>>>")[0].replace("``", ""))


def works(reference: str) -> None:
    """Draw the full references of a short citation."""
    for work in filter(None, (reference, *bibliography([reference]))):
        st.caption(markdown_plain(work))


def misleads(entry: Entry[Any]) -> str:
    """Return the documented pitfalls as running text; empty if there are none.

    >>> misleads(REDUCTIONS["top-label"])
    'With few rows per class, the raw error is mostly noise.'
    """
    text = inspect.getdoc(entry.cls) or ""
    found = re.search(r"What can\s+mislead:\s*(.*?)(?:\n\n|\Z)", text, re.DOTALL)
    words = " ".join((found[1] if found else "").replace("``", "").split())
    return begun(words)


def notion_box(key: str) -> None:
    """Draw a button with the definition of the notion of calibration, its formula and references."""
    with st.popover(f"What is {REDUCTIONS[key].title.lower()} calibration?", key=f"meaning.{key}"):
        explained(key, place="notion")
        meaning(REDUCTIONS[key])


@st.dialog("What is this number?", width="medium")
def estimator_dialog(first: str, lines: Mapping[str, str]) -> None:
    """Show the meaning of an estimator over the page, with the sentence on its result for the focused model."""
    every = tuple(ESTIMATORS)
    key = st.selectbox("Estimator", every, every.index(first), lambda k: ESTIMATORS[k].title, key=f"about.{first}")
    if key in lines:
        st.markdown(markdown_plain(lines[key]))
    meaning(ESTIMATORS[key])
