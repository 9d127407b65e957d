"""Released models watched over time, with a promise that holds however often one looks."""

from calib_core.monitoring.before_labels import BeforeLabels, ScoreDrift, before_labels, score_drift
from calib_core.monitoring.calibration_by_period import OverTime, over_time
from calib_core.monitoring.drift_delays import DriftDelays, drift_delays
from calib_core.monitoring.state_file import read_watch, write_watch
from calib_core.monitoring.update_after_alarm import UpdateAfterAlarm, update_after_alarm
from calib_core.monitoring.watched_model import IncompleteBatch, SliceError, Watch, WatchAnswer

__all__ = [
    "BeforeLabels",
    "DriftDelays",
    "IncompleteBatch",
    "OverTime",
    "ScoreDrift",
    "SliceError",
    "UpdateAfterAlarm",
    "Watch",
    "WatchAnswer",
    "before_labels",
    "drift_delays",
    "over_time",
    "read_watch",
    "score_drift",
    "update_after_alarm",
    "write_watch",
]
