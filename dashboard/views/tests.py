"""Tests view: evidence of any error, its upper bound, and the distribution of scores."""

from __future__ import annotations

from dashboard import session, widgets
from dashboard.navigation import view
from dashboard.views.exhibited import exhibited
from dashboard.views.on_request import on_request


@view("tests", "Tests", 20, room="evidence")
def render() -> None:
    """Draw the view for the current choices."""
    scene = session.scene_of(widgets.selection())
    widgets.refusals(scene.models.failed)
    exhibited("tests", scene)
    exhibited("unbinned", scene)
    on_request("notions", scene)
    on_request("scores", scene)
