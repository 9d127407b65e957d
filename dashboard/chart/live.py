"""Temperature slider below a chart, which moves a model's stars in the browser without a server request."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.diagrams import TemperaturePath
from calib_core.diagrams.reliability import FEW_ROWS


def live_path(
    path: TemperaturePath,
    uid: str,
    *,
    bars: str | None = None,
    hides: Sequence[str] = (),
    value: float = 1.0,
    marks: Mapping[float, str] | None = None,
    words: tuple[str, str] = ("mean confidence", "accuracy"),
) -> dict[str, Any]:
    """Return the ``live`` argument of `chart`: a slider that moves the stars of one trace to those of a temperature.

    The mean confidence and the accuracy at its temperature are shown next to the slider. Releasing it sends
    ``{"temperature": T}``, so that the page can draw the figure for it.

    Parameters
    ----------
    path : TemperaturePath
        ``calib_core.diagrams.recalibration`` of the model before recalibration, on the bins of the figure.
    uid : str
        The ``uid`` of the trace of stars: marks with records that name their ``bin``, with or without a line.
    bars : str, optional
        The ``uid`` of the trace of bars whose heights grow with the share of rows; their records name ``bin`` and
        ``share``. They move where the edges of the bins do not depend on the temperature.
    hides : sequence of str
        The ``uid`` of traces that the slider cannot move: hidden while the slider is not at ``value``.
    value : float
        The temperature of the drawn figure, and the initial position of the slider.
    marks : mapping, optional
        Temperatures with a name below the track, such as ``{1.0: "uncalibrated", 1.69: "fitted"}``: a click goes there.
    words : pair of str
        Names of the two shares next to the slider: the mean score at its temperature, and the observed frequency.

    >>> import calib_core as cc
    >>> path = cc.diagrams.temperature_path(cc.Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1]))
    >>> live = live_path(path, "stars", marks={1.0: "uncalibrated"})
    >>> live["low"], live["high"], live["marks"]
    (0.25, 8.0, [{'value': 1.0, 'label': 'uncalibrated'}])
    """
    low, high = float(path.temperatures[0]), float(path.temperatures[-1])
    fixed = not np.isnan(path.lower).any()
    return {
        "trace": uid,
        "bars": bars,
        "hides": list(hides),
        "value": min(max(float(value), low), high),
        "marks": [{"value": float(t), "label": name} for t, name in (marks or {}).items() if low <= t <= high],
        "words": list(words),
        "low": low,
        "high": high,
        "bins": path.n_bins,
        "few": FEW_ROWS,
        "temperatures": path.temperatures.tolist(),
        "lower": path.lower.tolist() if fixed else None,
        "upper": path.upper.tolist() if fixed else None,
        "rows": _packed(path.count),
        "sums": _packed(path.confidence_sum),
        "right": _packed(path.right),
    }


def _packed(table: Float64s) -> str:
    return base64.b64encode(table.astype("<f4").tobytes()).decode()
