"""How the page looks beyond Streamlit's own settings, and the link that skips to its content."""

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
"""Of what is hidden no gap is left either."""


_PRESENT = "present.css"


@cache
def _sheets(present: bool) -> str:
    """Every style sheet of this folder, that of a presented picture last and only there."""
    files = sorted(Path(__file__).parent.glob("*.css"), key=lambda file: (file.name == _PRESENT, file.name))
    return _palette() + "".join(file.read_text("utf-8") for file in files if present or file.name != _PRESENT)


def _palette() -> str:
    """The colours of figures as style sheets name them: by the number in an element's key."""
    models = (f'[class*="-colour{i}-"] {{ --model-colour: {colour}; }}' for i, colour in enumerate(COLOURS))
    return f":root {{ --reference: {REFERENCE}; }} {' '.join(models)}\n"


def dress(*, present: bool, opens: bool) -> None:
    """Put the style sheets on the page; one more where a picture is presented.

    ``opens``: the field that takes a file is seen; it is part of every page.
    """
    larger.present(present)
    st.html(f"<style>{_sheets(present)}{'' if opens else _CLOSED}</style>")


_LOGGER = logging.getLogger(__name__)


def answer() -> None:
    """Mark where the frame ends and the answer begins."""
    try:
        _renderer()(key="frame-answer")
    except Exception:
        # Whatever a different Streamlit raises: its link then leads to the whole page, as it does by itself.
        _LOGGER.warning("The skip link is not available.", exc_info=True)


@cache
def _renderer() -> Any:
    return st.components.v2.component(
        "calib.answer",
        html='<div class="calib-answer" tabindex="-1"></div>',
        js=Path(__file__).with_name("skip.js").read_text("utf-8"),
        isolate_styles=False,
    )
