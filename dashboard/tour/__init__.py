"""The guided tour: seven stops on examples, each a question, an answer in numbers made on the spot, what to try."""

from dashboard.tour.stops import TOUR, Stop
from dashboard.tour.strip import arrive, enter, leave, strip

__all__ = ["TOUR", "Stop", "arrive", "enter", "leave", "strip"]
