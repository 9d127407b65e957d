"""Every pair of models on the same rows: whose error is smaller, and how sure that is."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from calib_core import ESTIMATORS, REDUCTIONS
from calib_core.estimators import takes_bins
from calib_core.inference import holm
from dashboard import compute, widgets
from dashboard.export import csv_bytes
from dashboard.lines import AT_LEVEL, VALUES_DIFFER, difference_record, marked
from dashboard.selection import WHOLE, Selection
from dashboard.session import Models
from dashboard.theme import markdown_plain
from dashboard.views.copied import copied

NUMBERS = ("difference", "low", "high", "p", "p (Holm)")
MARK = "interval"
"""The column of marks that say what an interval is about, and whether it is a rough guide."""


def draw(selection: Selection, models: Models) -> None:
    """Draw the choice of an error and the table of differences."""
    st.markdown("#### Paired differences, on the same test rows")
    if len(models.shown) < 2:
        st.info("Tick a calibrator, or add another model in the Data view: every pair is compared here.")
        return
    _controls()
    frame, below, refused = differences(selection, models)
    for why in refused:
        st.caption(markdown_plain(f"{why[0].upper()}{why[1:]}."))
    if frame.empty:
        return
    st.dataframe(
        frame,
        key="paired.table",
        column_order=[name for name in frame.columns if name != "about" and (name != MARK or any(frame[MARK]))],
        hide_index=True,
        width="stretch",
        column_config={
            # Four decimals would call a small p-value zero.
            name: st.column_config.NumberColumn(name, format="%.3g" if name.startswith("p") else "%.4f")
            for name in NUMBERS
        },
    )
    st.caption(
        "Difference: error of the first less that of the second, so below 0 the first errs less. Low and high: its "
        f"{AT_LEVEL}, each pair by itself. {VALUES_DIFFER} p: of no difference; p (Holm): corrected for the number of "
        "pairs, so that one false alarm among all of them stays as rare as one alone."
    )
    st.caption(markdown_plain(" ".join(below)))
    with st.container(horizontal=True):
        widgets.download("Download this table (CSV)", "paired-differences.csv", lambda: csv_bytes(frame))
        copied(_in_python(selection, frame), section="calibrators", key="paired")


def _in_python(selection: Selection, frame: pd.DataFrame) -> str:
    bins = ", bins" if takes_bins(selection.differ) else ""
    pairs = list(zip(frame["first"], frame["second"], strict=True))
    made = f"cc.inference.paired_difference(models[a], models[b], {selection.compared!r}, {selection.differ!r}{bins})"
    return f"{{(a, b): {made} for a, b in {pairs}}}"


def _controls() -> None:
    left, right = st.columns(2)
    left.selectbox(
        "Difference of", tuple(ESTIMATORS), format_func=lambda key: ESTIMATORS[key].title, **widgets.bound("differ")
    )
    right.selectbox(
        "Claims compared",
        (WHOLE, *REDUCTIONS),
        format_func=lambda key: REDUCTIONS[key].title if key != WHOLE else "Whole predictions (scores only)",
        **widgets.bound("differ_in"),
    )


def differences(selection: Selection, models: Models) -> tuple[pd.DataFrame, tuple[str, ...], list[str]]:
    """One line a pair, what its intervals are about, and the reasons why other pairs cannot be compared, each once."""
    lines, refused = [], []
    n = len(models.shown)
    for a, b, made in widgets.progress(compute.pairs(selection, models), n * (n - 1) // 2, "Comparing models"):
        if isinstance(made, str):
            refused.append(made)
            continue
        lines.append({"first": a.title, "second": b.title, **difference_record(made)})
    frame = pd.DataFrame(lines, columns=["first", "second", *NUMBERS, MARK, "method", "tested", "about"])
    frame[MARK], below = marked(zip(frame["about"], frame["tested"], strict=True))
    frame["p (Holm)"] = holm(frame["p"].to_numpy(dtype=float))
    return frame, below, list(dict.fromkeys(refused))
