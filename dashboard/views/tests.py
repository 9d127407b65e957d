"""Tests view: evidence of any error, its upper bound, and the distribution of scores."""

from __future__ import annotations

from dashboard import session, widgets
from dashboard.navigation import view
from dashboard.views.exhibited import by_model, exhibited
from dashboard.views.on_request import on_request


@view("tests", "Tests", 20, room="evidence")
def render() -> None:
    """Draw the view for the current choices."""
    scene = session.scene_of(widgets.selection())
    widgets.refusals(scene.models.failed)
    form = False if by_model(scene) else None
    exhibited("tests", scene, turned=form)
    exhibited("unbinned", scene, turned=form)
    on_request("notions", scene, turned=form)
    on_request("scores", scene, turned=form)
