"""Over time view: predictions and outcomes by period, and since when an error is shown."""

from __future__ import annotations

import streamlit as st

from calib_core import InputError
from calib_core.columns.periods import no_time, time_columns
from dashboard import session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.watched_periods import ByPeriod, columns_of_time
from dashboard.navigation import view
from dashboard.views.exhibited import exhibited
from dashboard.views.slices import with_columns


def missing() -> str:
    """Return why nothing can be shown over time; empty if something can."""
    try:
        test = session.parts(widgets.selection().source).test
    except InputError:
        return ""
    return "" if test.grain != "counts" and time_columns(test) else no_time(test)


@view("over-time", "Over time", 36, room="explore", missing=missing, reads="rows", rare=True)
def render() -> None:
    """Draw the view for the current choices."""
    opened = with_columns("over-time", columns_of_time, ("over-time",))
    if opened is None:
        return
    scene, names = opened
    chosen: ByPeriod = widgets.selection().exhibit("over-time").build()
    _choose(chosen, names)
    exhibited("over-time", scene, title=None, controls=False, folded=True)
    if chosen.alarmed(scene):
        exhibited("after-alarm", scene, controls=False, limits={"by": chosen.by, "every": chosen.every})
    st.caption("Click a period to filter every page to its rows; clear the filter at the top.")


def _choose(chosen: ByPeriod, names: tuple[str, ...]) -> None:
    """Draw the choice of the column, if there are several, and of the length of a period."""

    def change(name: str) -> None:
        widgets.change_exhibit(EXHIBITS.described("over-time", by=name, every=chosen.every))

    column, length, _ = st.columns([0.25, 0.25, 0.5], vertical_alignment="bottom")
    if len(names) > 1:
        by = chosen.by if chosen.by in names else names[0]
        column.selectbox("Time", names, **widgets.tied_to(names, "over-time.by", by, change))
    with length if len(names) > 1 else column:
        recipe = widgets.selection().exhibit("over-time")
        widgets.recipe_controls(recipe, key="exhibit.over-time", changed=widgets.change_exhibit, only=("every",))
