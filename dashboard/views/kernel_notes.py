"""What stands beside a curve without bins: its band, how it is smoothed, and the local calibration error at a score."""

from __future__ import annotations

import numpy as np
import streamlit as st

from calib_core._text import error
from calib_core.defaults import LEVEL
from calib_core.diagrams import BANDS, KernelCurve
from dashboard import widgets
from dashboard.selection import Selection
from dashboard.theme import markdown_plain

_BAND_TITLES = {"pointwise": "Pointwise: each score by itself", "whole-curve": "Whole curve at once", "none": "None"}


def band_box() -> None:
    """The choice of a band around a curve."""
    st.selectbox(f"Band ({LEVEL:.0%})", tuple(BANDS), format_func=_BAND_TITLES.__getitem__, **widgets.bound("band"))


def show(title: str, curve: KernelCurve, selection: Selection) -> None:
    """Controls and numbers for the curve of ``title`` (safe where Markdown is read)."""
    at = selection.at
    left, right = st.columns(2)
    with left:
        band_box()
    right.slider("Local calibration error at a score of", 0.0, 1.0, step=0.01, **widgets.bound("at"))
    with st.expander("Kernel, bandwidth and scale"):
        widgets.recipe_controls(selection.kernel, key="kernel", changed=lambda recipe: widgets.change(kernel=recipe))
    there = curve.local_error(at)
    read = (
        f"At {at:.2f}: {error(there)}."
        if np.isfinite(there)
        else f"At {at:.2f} no data lie: the local calibration error is not defined there."
    )
    width = f"bandwidth {curve.bandwidth:.2g} ({markdown_plain(curve.unit)})"
    distance = f"mean distance of the curve from the diagonal {error(curve.error)}"
    st.caption(f"{title}: {width}, {distance}. {read} {markdown_plain(curve.about)}")
    if curve.warning:
        st.warning(markdown_plain(curve.warning), icon=":material/warning:")
