"""Default tick of calibrators: the recommended one, once it is known, otherwise none.

The first screen does not wait for the recommendation. A choice by the user, by a link or by a stop of the tour is not
changed.
"""

from __future__ import annotations

from calib_core import InputError
from calib_core.evaluation.choice import CalibratorChoice
from dashboard import session, widgets
from dashboard.exhibits.recommendation import Recommendation


def follow_advice() -> None:
    """Tick the recommended calibrator if none was chosen and it is known, otherwise none."""
    selection = widgets.selection()
    if selection.tour or not widgets.unasked() or session.unfitted(selection):
        return
    try:
        best = Recommendation.known(session.scene_of(selection))
    except InputError:
        return
    widgets.tick_unasked(() if best is None else (best,))


def is_to_follow(found: CalibratorChoice | None) -> bool:
    """Return True if a new recommendation changes the tick, so that the page is drawn for another calibrator."""
    return (
        found is not None
        and found.recalibrate
        and widgets.unasked()
        and not widgets.selection().tour
        and widgets.selection().calibrators != (found.recipe,)
    )
