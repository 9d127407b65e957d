"""Names that an extension package needs to add a view to the dashboard; they load Streamlit."""

from dashboard import session, widgets
from dashboard.views import view
from dashboard.views.exhibited import exhibited

__all__ = ["exhibited", "session", "view", "widgets"]
