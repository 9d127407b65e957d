"""Released models watched over time, with a promise that holds however often one looks."""

from calib_core.monitoring.before_labels import BeforeLabels, ScoreDrift, before_labels, score_drift
from calib_core.monitoring.state_file import read_watch, write_watch
from calib_core.monitoring.watched_model import IncompleteBatch, SliceError, Watch, WatchAnswer

__all__ = [
    "BeforeLabels",
    "IncompleteBatch",
    "ScoreDrift",
    "SliceError",
    "Watch",
    "WatchAnswer",
    "before_labels",
    "read_watch",
    "score_drift",
    "write_watch",
]
