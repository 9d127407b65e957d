"""Findings view: every place where the model is significantly off, in sentences; a click focuses it."""

from __future__ import annotations

from dashboard import session, widgets
from dashboard.chart import waiting
from dashboard.navigation import view
from dashboard.selection import NOWHERE
from dashboard.views.exhibited import exhibited, follow
from dashboard.views.slices import follow_slice
from dashboard.views.workspace import workspace


@view("findings", "Main findings", 22, room="explore", reads="rows")
def render() -> None:
    """Draw the view for the current choices."""
    follow_slice("findings")
    click = waiting("findings")
    if click is not None and "model" in click.record:
        # A place without a class or a bin clears earlier ones.
        widgets.change(**NOWHERE)
    follow("findings", [model.title for model in session.models(widgets.selection()).shown])
    scene = session.scene_of(widgets.selection())
    with workspace(scene):
        exhibited("findings", scene, title=None)
