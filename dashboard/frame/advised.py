"""Default tick of calibrators: the recommended one, once it is known.

The first screen does not wait for the recommendation. Until it is known, or if no calibrator is recommended, another
one is ticked: logistic recalibration for the risk of an event, else temperature scaling. A choice by the user, by a
link or by a stop of the tour is not changed.
"""

from __future__ import annotations

import streamlit as st

from calib_core import InputError, Recipe
from calib_core.evaluation.choice import CalibratorChoice
from dashboard import session, widgets
from dashboard.exhibits.recommendation import Recommendation
from dashboard.selection import Selection

_BEGUN = "calib.unasked.data"
"""Key of the data in use whose first calibrator is ticked."""
_FOR_A_RISK = Recipe("CALIBRATORS", "logistic-recalibration")


def follow_advice() -> None:
    """Tick the recommended calibrator if none was chosen and it is known, otherwise the first one of new data."""
    selection = widgets.selection()
    if selection.tour or not widgets.unasked() or session.unfitted(selection):
        return
    try:
        best = Recommendation.known(session.scene_of(selection))
        if best is None:
            if st.session_state.get(_BEGUN) == selection.source.data:
                return
            best = _first(selection)
    except InputError:
        return
    st.session_state[_BEGUN] = selection.source.data
    widgets.tick_unasked((best,))


def is_to_follow(found: CalibratorChoice | None) -> bool:
    """Return True if a new recommendation changes the tick, so that the page is drawn for another calibrator."""
    return (
        found is not None
        and found.recalibrate
        and widgets.unasked()
        and not widgets.selection().tour
        and widgets.selection().calibrators != (found.recipe,)
    )


def _first(selection: Selection) -> Recipe:
    """Return the default tick until a recommendation is known."""
    of_event = session.parts(selection.source).fit.event is not None
    if of_event and session.usable(selection, [_FOR_A_RISK.key]):
        return _FOR_A_RISK
    return Selection().calibrators[0]
