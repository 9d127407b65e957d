"""Past the frame with one key: Streamlit's own link, the first thing that Tab reaches, leads to the answer."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

_LOGGER = logging.getLogger(__name__)


def answer() -> None:
    """Mark where the frame ends and the answer begins."""
    try:
        _renderer()(key="frame-answer")
    except Exception:
        # Whatever a different Streamlit raises: its link then leads to the whole page, as it does by itself.
        _LOGGER.warning("The link past the frame is not available.", exc_info=True)


@cache
def _renderer() -> Any:
    return st.components.v2.component(
        "calib.answer",
        html='<div class="calib-answer" tabindex="-1"></div>',
        js=Path(__file__).with_name("skip.js").read_text("utf-8"),
        isolate_styles=False,
    )
