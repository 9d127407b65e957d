"""Coverage view: simulations that check the coverage of the intervals."""

from __future__ import annotations

from dashboard import session, widgets
from dashboard.navigation import view
from dashboard.views.exhibited import exhibited


@view("coverage", "Coverage", 40, room="evidence", of_models=False)
def render() -> None:
    """Draw the view for the current choices."""
    scene = session.scene_of(widgets.selection())
    exhibited("coverage", scene, folded=True)
    exhibited("rejection", scene, folded=True)
