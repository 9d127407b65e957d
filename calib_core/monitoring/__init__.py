"""Released models watched over time, with a promise that holds however often one looks."""

from calib_core.monitoring.state_file import read_watch, write_watch
from calib_core.monitoring.watched_model import Watch, WatchAnswer

__all__ = ["Watch", "WatchAnswer", "read_watch", "write_watch"]
