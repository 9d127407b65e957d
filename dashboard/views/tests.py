"""The tests view: is there an error of any size, how large can it be at most, and what do scores say?"""

from __future__ import annotations

from dashboard import session, widgets
from dashboard.navigation import view
from dashboard.views.exhibited import exhibited
from dashboard.views.on_request import on_request


@view("tests", "Tests", 20, room="evidence")
def render() -> None:
    """Draw the view for the present choices."""
    scene = session.scene_of(widgets.selection())
    widgets.refusals(scene.models.failed)
    exhibited("tests", scene)
    exhibited("unbinned", scene)
    on_request("notions", scene)
    on_request("scores", scene)
