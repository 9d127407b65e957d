"""Released models watched over time, with a promise that holds however often one looks."""

from calib_core.monitoring.calibration_by_period import OverTime, over_time
from calib_core.monitoring.state_file import read_watch, write_watch
from calib_core.monitoring.watched_model import Watch, WatchAnswer

__all__ = ["OverTime", "Watch", "WatchAnswer", "over_time", "read_watch", "write_watch"]
