"""A view of a single exhibit."""

from dashboard import session, widgets
from dashboard.views import view
from dashboard.views.exhibited import exhibited


@view("at-a-glance", "At a glance", 15)
def render():
    """Draw the view for the present choices."""
    exhibited("all-in-one", session.scene_of(widgets.selection()))
