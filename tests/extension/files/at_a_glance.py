"""A view of two exhibits."""

from calib.views import exhibited, session, view, widgets


@view("at-a-glance", "At a glance", 15)
def render():
    """Draw the view for the present choices."""
    scene = session.scene_of(widgets.selection())
    exhibited("overall", scene)
    exhibited("scores", scene)
