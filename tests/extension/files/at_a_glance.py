"""A view of two exhibits."""

from dashboard import session, widgets
from dashboard.views import view
from dashboard.views.exhibited import exhibited


@view("at-a-glance", "At a glance", 15)
def render():
    """Draw the view for the present choices."""
    scene = session.scene_of(widgets.selection())
    exhibited("overall", scene)
    exhibited("scores", scene)
