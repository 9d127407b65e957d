"""Style of the page beyond Streamlit's own settings, and the link that skips to its content."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from calib_core.figures.look import REFERENCE
from calib_core.palette import COLOURS, ON_DARK
from dashboard.chart import larger

_HIDDEN = ".st-key-frame-opening"
_CLOSED = f'[data-testid="stLayoutWrapper"]:has(> {_HIDDEN}), {_HIDDEN} {{ display: none; }}'
"""Selector that removes the gap left by hidden elements."""


_PRESENT = "present.css"


@cache
def _sheets(present: bool) -> str:
    """Return every style sheet of this folder; the one for presentations comes last, if requested."""
    files = sorted(Path(__file__).parent.glob("*.css"), key=lambda file: (file.name == _PRESENT, file.name))
    return _palette() + "".join(file.read_text("utf-8") for file in files if present or file.name != _PRESENT)


_COLUMNS = 16
"""Columns of a table written as text that can be set to the right; no exhibit has more."""


def _palette() -> str:
    """Return the colors of figures and the columns set to the right, as style sheets name them: by numbers in keys."""
    models = (
        f'[class*="-colour{i}-"] {{ --model-colour: light-dark({colour}, {ON_DARK[colour]}); }}'
        for i, colour in enumerate(COLOURS)
    )
    # Streamlit aligns each cell in its own style attribute.
    right = (
        f'[class*="-right{i}-"] :is(td:nth-of-type({i + 1}), thead th:nth-of-type({i + 2})) '
        "{ text-align: right !important; font-variant-numeric: tabular-nums; }"
        for i in range(_COLUMNS)
    )
    return f":root {{ --reference: {REFERENCE}; }} {' '.join((*models, *right))}\n"


def dress(*, present: bool, opens: bool, also: str = "") -> None:
    """Add the style sheets to the page; one more for a presentation.

    ``opens``: the field that takes a file is seen; it is part of every page. ``also``: the style of one view.
    """
    larger.present(present)
    st.html(f"<style>{_sheets(present)}{'' if opens else _CLOSED}{also}</style>")


_LOGGER = logging.getLogger(__name__)


def answer() -> None:
    """Mark the end of the frame and the start of the content."""
    try:
        _renderer("skip.js")(key="frame-answer")
    except Exception:
        # Another release of Streamlit may raise anything: its link then leads to the top of the page, as without this.
        _LOGGER.warning("The skip link is not available.", exc_info=True)


def presenting_keys() -> None:
    """Let Escape leave a presentation, and arrow keys step through its calibrators."""
    try:
        _renderer("presenting.js")(key="frame-keys")
    except Exception:
        _LOGGER.warning("The keys of a presentation are not available.", exc_info=True)


@cache
def _renderer(script: str) -> Any:
    name = script.removesuffix(".js")
    return st.components.v2.component(
        f"calib.{name}",
        html='<div class="calib-answer" tabindex="-1"></div>' if name == "skip" else "<span></span>",
        js=Path(__file__).with_name(script).read_text("utf-8"),
        isolate_styles=False,
    )
