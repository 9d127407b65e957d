"""The coverage view: what was simulated, so that nobody has to believe an interval."""

from __future__ import annotations

from dashboard import session, widgets
from dashboard.navigation import view
from dashboard.views.exhibited import exhibited


@view("coverage", "Coverage", 40, room="evidence", of_models=False)
def render() -> None:
    """Draw the view for the present choices."""
    scene = session.scene_of(widgets.selection())
    exhibited("coverage", scene)
    exhibited("rejection", scene)
