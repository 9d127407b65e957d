"""Bins and tolerance, each behind a button that says what is chosen."""

from __future__ import annotations

import streamlit as st

from calib_core import BINNINGS
from calib_core.inference.number_words import percent
from dashboard import session, widgets
from dashboard.schemes import AUTO, interval_schemes, scheme_of
from dashboard.selection import FEWEST, MOST, MOST_POINTS, Selection
from dashboard.theme import markdown_plain


def settings(selection: Selection) -> None:
    """Draw both."""
    scheme = selection.scheme
    words = "as declared" if scheme is None else BINNINGS[scheme.key].title.lower()
    number = next(iter(dict(scheme.params).values()), "") if scheme is not None else ""
    bins = " ".join(map(str, filter(None, (number, words))))
    with st.container(key="frame-settings", horizontal=True, horizontal_alignment="right", gap="small"):
        with widgets.popover(st, f"Bins: **{markdown_plain(bins)}**", key="frame.bins"):
            _bins()
        with widgets.popover(st, f"Tolerance: **{markdown_plain(percent(selection.eps))}**", key="frame.tolerance"):
            _tolerance()


def _bins() -> None:
    """In which bins errors are judged, and the number the choice needs."""
    chosen = widgets.selection().binning
    st.selectbox(
        "Bins",
        (AUTO, *interval_schemes()),
        format_func=lambda key: "As declared" if key == AUTO else BINNINGS[key].title,
        help=f"As declared: {session.DECLARED}. Everything else is used for every model.",
        **widgets.bound("binning", zoom=None),
    )
    names = () if chosen == AUTO else [p.name for p in BINNINGS[chosen].params]
    if "bins" in names:
        most = scheme_of(chosen, bins=MOST).build().bins
        bins = min(widgets.selection().bins, most)
        controls = widgets.tied("choice.bins", bins, lambda n: widgets.change(bins=n, zoom=None))
        st.slider("Number of bins", FEWEST, most, **controls)
    if "points" in names:
        st.number_input("Rows per bin", 2, MOST_POINTS, step=10, **widgets.bound("points", zoom=None))
    if chosen != AUTO:
        st.caption(markdown_plain(BINNINGS[chosen].caption))


def _tolerance() -> None:
    st.number_input(
        "Tolerance",
        min_value=0.0001,
        max_value=0.5,
        step=0.005,
        format="%g",
        help="The error you could live with: the verdict says within tolerance, miscalibrated, too close to call, or "
        "too few rows to tell.",
        **widgets.bound("eps"),
    )
