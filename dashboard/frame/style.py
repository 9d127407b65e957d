"""The page's own style sheets: what Streamlit's theme cannot say."""

from functools import cache
from pathlib import Path

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
