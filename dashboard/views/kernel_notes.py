"""What stands beside a kernel curve: its scale, its bandwidth and the local calibration error at a chosen score."""

from __future__ import annotations

import numpy as np
import streamlit as st

from calib_core import SCALES
from calib_core.diagrams import KernelCurve
from dashboard import widgets
from dashboard.theme import error, markdown_plain


def show(title: str, curve: KernelCurve, at: float) -> None:
    """Controls and numbers for the curve of ``title`` (safe where Markdown is read)."""
    left, right = st.columns(2)
    left.selectbox(
        "Smoothed by",
        tuple(SCALES),
        format_func=lambda key: SCALES[key].title,
        help="The log-odds move the ends 0 and 1 far away: better where most scores are close to them.",
        **widgets.bound("scale"),
    )
    right.slider("Local calibration error at a score of", 0.0, 1.0, step=0.01, **widgets.bound("at"))
    there = curve.local_error(at)
    said = (
        f"At {at:.2f}: {error(there)}."
        if np.isfinite(there)
        else f"At {at:.2f} no data lie: the local calibration error is not defined there."
    )
    width = f"bandwidth {curve.bandwidth:.2g} ({markdown_plain(curve.unit)})"
    st.caption(f"{title}: {width}, ECE by kernel densities {error(curve.error)}. {said}")
    if curve.warning:
        st.warning(markdown_plain(curve.warning), icon=":material/warning:")
