"""Guided tour: eight stops on examples, each with a question, an answer with computed numbers, and something to try."""

from dashboard.tour.stops import TOUR, Stop
from dashboard.tour.strip import arrive, enter, leave, strip

__all__ = ["TOUR", "Stop", "arrive", "enter", "leave", "strip"]
