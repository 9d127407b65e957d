"""Buttons for the notion, bins and tolerance, each labeled with the current choice."""

from __future__ import annotations

import streamlit as st

from calib_core import BINNINGS
from calib_core.inference.verdicts.verdict import tolerated_ratios
from calib_core.text import short_percent
from dashboard import session, widgets
from dashboard.frame import event
from dashboard.schemes import AUTO, interval_schemes, scheme_of
from dashboard.selection import FEWEST, MOST, MOST_POINTS, RATIOS, Selection
from dashboard.theme import markdown_plain


def settings(selection: Selection) -> None:
    """Draw all of them."""
    scheme = selection.scheme
    words = "automatic" if scheme is None else BINNINGS[scheme.key].title.lower()
    number = next(iter(dict(scheme.params).values()), "") if scheme is not None else ""
    bins = " ".join(map(str, filter(None, (number, words))))
    with st.container(
        key="frame-settings", width="content", horizontal=True, horizontal_alignment="right", gap="small"
    ):
        _judged(selection)
        with widgets.popover(st, f"Bins: **{markdown_plain(bins)}**", key="frame.bins", type="tertiary"):
            _bins()
        of_event = event.claims(selection) == "event"
        with widgets.popover(
            st, f"Tolerance: **{_tolerated(selection, of_event)}**", key="frame.tolerance", type="tertiary"
        ):
            _tolerance(of_event)


def _judged(selection: Selection) -> None:
    """Draw the choice between the risk of the event and the confidence of the predicted class, for two classes."""
    named = event.named(selection)
    if named is None:
        return
    words = {"event": f"risk of \u201c{named.title}\u201d", "confidence": "confidence"}
    judged = event.claims(selection)
    # The event is named in the line above, next to the file.
    with widgets.popover(
        st, f"Judged: **{'risk' if judged == 'event' else 'confidence'}**", key="frame.judged", type="tertiary"
    ):
        st.radio(
            "Judged",
            tuple(words),
            format_func=lambda key: markdown_plain(words[key]),
            captions=[
                "Is the event as frequent as its predicted risk?",
                "Is the predicted class right as often as its confidence? All classes together.",
            ],
            **widgets.tied("choice.judged", judged, lambda key: widgets.change(**event.judging(key))),
        )


def _tolerated(selection: Selection, of_event: bool) -> str:
    """Return both tolerances in a few words; confidence has only one."""
    error = short_percent(selection.eps)
    return markdown_plain(f"{error}, {tolerated_ratios(selection.ratio)}" if of_event else error)


def _bins() -> None:
    """Draw the choice of bins, and the number that it needs."""
    chosen = widgets.selection().binning
    st.selectbox(
        "Bins",
        (AUTO, *interval_schemes()),
        format_func=lambda key: "Automatic" if key == AUTO else BINNINGS[key].title,
        help=f"Automatic: {session.DECLARED}. Any other choice is used for every model.",
        **widgets.bound("binning", bin=None),
    )
    names = () if chosen == AUTO else [p.name for p in BINNINGS[chosen].params]
    if "bins" in names:
        most = scheme_of(chosen, bins=MOST).build().bins
        bins = min(widgets.selection().bins, most)
        controls = widgets.tied("choice.bins", bins, lambda n: widgets.change(bins=n, bin=None))
        st.slider("Number of bins", FEWEST, most, **controls)
    if "points" in names:
        st.number_input("Rows per bin", 2, MOST_POINTS, step=10, **widgets.bound("points", bin=None))
    if chosen != AUTO:
        st.caption(markdown_plain(BINNINGS[chosen].caption))


def _tolerance(of_event: bool) -> None:
    def chosen(percent: float | None) -> None:
        if percent is not None:
            widgets.change(eps=round(percent / 100, 6))

    st.number_input(
        "Tolerance in percent",
        min_value=0.01,
        max_value=50.0,
        step=0.5,
        format="%g",
        help="The largest error that does not matter. The verdict is one of: within tolerance, miscalibrated, too "
        "close to call, too few rows to tell.",
        **widgets.tied("choice.eps", round(100 * widgets.selection().eps, 4), chosen),
    )
    if of_event:
        st.number_input(
            "Ratio of observed to expected events",
            min_value=RATIOS[0],
            max_value=RATIOS[1],
            step=0.05,
            format="%g",
            help="1.25 allows 0.80 to 1.25. For a rare event the error above is small for any model, so both "
            "tolerances must be met.",
            **widgets.bound("ratio"),
        )
