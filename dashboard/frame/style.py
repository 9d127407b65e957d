"""Style of the page beyond Streamlit's own settings, and the link that skips to its content."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from calib_core.figures.look import REFERENCE
from calib_core.palette import COLOURS
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


def _palette() -> str:
    """Return the colors of figures as style sheets name them: by the number in an element's key."""
    models = (f'[class*="-colour{i}-"] {{ --model-colour: {colour}; }}' for i, colour in enumerate(COLOURS))
    return f":root {{ --reference: {REFERENCE}; }} {' '.join(models)}\n"


def dress(*, present: bool, opens: bool) -> None:
    """Add the style sheets to the page; one more for a presentation.

    ``opens``: the field that takes a file is seen; it is part of every page.
    """
    larger.present(present)
    st.html(f"<style>{_sheets(present)}{'' if opens else _CLOSED}</style>")


_LOGGER = logging.getLogger(__name__)


def answer() -> None:
    """Mark the end of the frame and the start of the content."""
    try:
        _renderer()(key="frame-answer")
    except Exception:
        # Another release of Streamlit may raise anything: its link then leads to the top of the page, as without this.
        _LOGGER.warning("The skip link is not available.", exc_info=True)


@cache
def _renderer() -> Any:
    return st.components.v2.component(
        "calib.answer",
        html='<div class="calib-answer" tabindex="-1"></div>',
        js=Path(__file__).with_name("skip.js").read_text("utf-8"),
        isolate_styles=False,
    )
