"""Known drifts of simulated models: how soon a watch and other methods raise an alarm, and how often a false one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.distributions import norm
from calib_core._base.errors import InputError, as_share, as_whole
from calib_core.claims.exact_sums import places
from calib_core.defaults import SEED, SIGNIFICANCE
from calib_core.monitoring.e_processes import PeriodSums, evidence, log_factors, rejected
from calib_core.monitoring.summed_batches import inner_edges
from calib_core.monitoring.watched_model import BINS, HORIZON, MOST_PERIODS
from calib_core.text import listed, points_of, several, short_percent

DRIFTS = {
    "step": "Step",
    "slope": "Slope",
    "season": "Season",
    "slice": "One slice of five",
    "none": "No drift",
}
"""Shapes of a drift and their titles."""
METHODS = {
    "watch": "calib watch",
    "cusum": "CUSUM of observed less predicted (oracle)",
    "cumulative": "test of all rows so far, Bonferroni",
    "bonferroni": "test of each period, Bonferroni",
    "each": "test of each period",
    "ece": "ECE of each period",
}
"""Methods and their titles. The oracle knows the law and the size of the drift, so that its limit can be simulated."""
_SLICES, _SEASON = 5, 26
_NULL = 200
"""Simulated years without a drift, for the limits of the calibration error and of the oracle."""


@dataclass(frozen=True, eq=False, repr=False)
class DriftDelays(Diagram):
    """Periods of the first alarms of several methods in simulated years with the same drift.

    ``start`` is the first period of the drift, counted from 1.
    """

    shape: str
    size: float
    start: int
    periods: int
    rows: int
    draws: int
    lines: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """One line per method: see ``drift_delays``."""
        return self.lines

    @property
    def sentence(self) -> str:
        """When the watch raises an alarm, and how often a false one, beside a test of each period."""
        by_method = self.lines.set_index("method").to_dict("index")
        ours, naive = (by_method[METHODS[key]] for key in ("watch", "each"))
        false = (
            f"False alarms: in {short_percent(ours['false_alarms'])} of {several(self.draws, 'years')}; with a test of "
            f"each period in {short_percent(naive['false_alarms'])}."
        )
        if self.shape == "none":
            return false
        delay = ours["median"] - self.start + 1
        after = "in less than half of the years" if np.isnan(delay) else f"after {several(int(delay), 'periods')}"
        return f"An error of {points_of(short_percent(self.size))} is found {after} (median). {false}"

    def _line(self) -> str:
        return self.sentence


def drift_delays(
    shape: str = "step",
    size: float = 0.08,
    start: int = 14,
    periods: int = HORIZON,
    rows: int = 100,
    draws: int = 20,
    random_state: int = SEED,
) -> DriftDelays:
    """Simulate years of a model that drifts, and compare the first alarms of a watch and of other methods.

    Predicted risks are from a beta distribution (2, 5), each the true risk until the drift, which begins at ``start``.
    With a "step", the true risk is larger by ``size`` from then on. With a "slope", the difference grows to ``size`` at
    the end. A "season" is a sine wave of this height and of 26 periods, and a "slice" a step in one slice of five.
    Without a drift ("none") all alarms are false. Each of ``draws`` years has ``periods`` periods of ``rows`` rows.

    No error is tolerated, and the false alarms of a year are at most 5 %. For a slice, the watch has half of them for
    the slices; the tests with Bonferroni's correction are of each slice. Columns of ``frame()``:

    - method, of_year (the 5 % are a promise about the whole year);
    - false_alarms (share of the years with an alarm before the drift);
    - found (share of the other years with an alarm from then on);
    - early, median and late (10 %, 50 % and 90 % quantiles of the period of the first alarm; NaN: no alarm).

    What can mislead: the oracle is not available in practice, as its limit needs the true law. A share of few years is
    rough. InputError for an unknown shape.

    >>> found = drift_delays(periods=20, start=6, draws=5)
    >>> bool(found.frame().set_index("method")["median"]["calib watch"] < 14)
    True
    """
    if shape not in DRIFTS:
        raise InputError(f"there is no drift {shape!r:.80}; there are {listed(tuple(DRIFTS))}")
    as_share(size, "size")
    as_whole(periods, "periods", 2, MOST_PERIODS)
    as_whole(start, "start", 1, periods)
    as_whole(rows, "rows", 2 * _SLICES)
    as_whole(draws, "draws", 1)
    rng = np.random.default_rng(random_state)
    drift, slices = _drift(shape, size, start, periods, rows), _SLICES if shape == "slice" else 1
    null = [_drawn(rng, np.zeros((periods, rows))) for _ in range(_NULL)]
    floor = float(np.quantile(np.concatenate([_eces(*each) for each in null]), 1 - SIGNIFICANCE))
    most = float(np.quantile([_cusum(*each, size / 2).max() for each in null], 1 - SIGNIFICANCE))
    found = []
    for _ in range(draws):
        scores, happened = _drawn(rng, drift)
        parts = [(scores[:, each::slices], happened[:, each::slices]) for each in range(slices)]
        single, so_far = (np.array([_z(*part, so_far=each) for part in parts]) for each in (False, True))
        corrected = norm.isf(SIGNIFICANCE / periods / slices / 2)
        alarms = {
            "watch": _watched(parts, scores, happened),
            "cusum": _cusum(scores, happened, size / 2) > most,
            "cumulative": (so_far > corrected).any(axis=0),
            "bonferroni": (single > corrected).any(axis=0),
            "each": _z(scores, happened) > norm.isf(SIGNIFICANCE / 2),
            "ece": _eces(scores, happened) > floor,
        }
        found.append([int(alarms[key].argmax()) + 1 if alarms[key].any() else np.inf for key in METHODS])
    first = np.array(found, dtype=np.float64).T
    lines = [_line(title, each, start, shape) for title, each in zip(METHODS.values(), first, strict=True)]
    return DriftDelays(shape, size, start, periods, rows, draws, pd.DataFrame(lines))


def _drift(shape: str, size: float, start: int, periods: int, rows: int) -> Float64s:
    """Return the difference of the true risk from the predicted one, (periods, rows)."""
    since = np.arange(periods, dtype=np.float64)[:, np.newaxis] - (start - 1)
    whole = np.ones((periods, rows))
    of_shape = {
        "step": whole,
        "slope": whole * (since + 1) / (periods - start + 1),
        "season": whole * np.sin(2 * np.pi * (since + 1) / _SEASON),
        "slice": whole * (np.arange(rows) % _SLICES == 0),
        "none": 0 * whole,
    }
    return np.where(since >= 0, size * of_shape[shape], 0.0)


def _drawn(rng: np.random.Generator, drift: Float64s) -> tuple[Float64s, Bools]:
    scores = rng.beta(2, 5, drift.shape)
    return scores, rng.random(drift.shape) < np.clip(scores + drift, 0, 1)


def _line(title: str, first: Float64s, start: int, shape: str) -> dict[str, object]:
    """Return the line of a method from the period of the first alarm of each year."""
    false = np.isfinite(first) if shape == "none" else first < start
    later = np.isfinite(first[~false])
    early, median, late = np.quantile(first, (0.1, 0.5, 0.9), method="inverted_cdf")
    return {
        "method": title,
        "of_year": title not in (METHODS["each"], METHODS["ece"]),
        "false_alarms": float(false.mean()),
        "found": float(later.mean()) if len(later) and shape != "none" else np.nan,
        **{
            name: each if np.isfinite(each) else np.nan
            for name, each in (("early", early), ("median", median), ("late", late))
        },
    }


def _watched(parts: list[tuple[Float64s, Bools]], scores: Float64s, happened: Bools) -> Bools:
    """Return the periods at which a watch of all rows, and of slices, has enough evidence."""
    whole = _log_e(scores, happened)
    if len(parts) == 1:
        return np.asarray(whole >= -np.log(SIGNIFICANCE))
    slices = np.array([_log_e(*part) for part in parts])
    of_slices = [rejected(each, SIGNIFICANCE / 2).any() for each in slices.T]
    return np.asarray((whole >= -np.log(SIGNIFICANCE / 2)) | np.array(of_slices))


def _log_e(scores: Float64s, happened: Bools) -> Float64s:
    """Return the evidence of ``Watch(tolerance=0)`` after each period."""
    periods, rows = scores.shape
    flat = scores.ravel()
    factors = log_factors(flat, happened.ravel(), flat, flat).reshape(periods, rows, -1).sum(axis=1)
    gaps = happened - scores
    sums = PeriodSums(
        units=np.full(periods, float(rows)),
        expected=scores.sum(axis=1),
        observed=happened.sum(axis=1).astype(np.float64),
        squared=(gaps**2).sum(axis=1),
        differences=_in_bins(scores, gaps),
        log_factors=factors,
    )
    return evidence(sums, 0.0, periods).log_e


def _in_bins(scores: Float64s, gaps: Float64s) -> Float64s:
    """Return the sums of gaps by bin, (periods, bins)."""
    of_bin = places(inner_edges(BINS, scores.dtype), scores.ravel()).reshape(scores.shape)
    cell = of_bin + BINS * np.arange(len(scores))[:, np.newaxis]
    return np.asarray(np.bincount(cell.ravel(), gaps.ravel(), BINS * len(scores)).reshape(-1, BINS), dtype=np.float64)


def _eces(scores: Float64s, happened: Bools) -> Float64s:
    return np.asarray(np.abs(_in_bins(scores, happened - scores)).sum(axis=1) / scores.shape[1])


def _z(scores: Float64s, happened: Bools, so_far: bool = False) -> Float64s:
    """Return the size of the z statistic of each period, or of all periods so far."""
    gap, variance = (happened - scores).sum(axis=1), (scores * (1 - scores)).sum(axis=1)
    if so_far:
        gap, variance = gap.cumsum(), variance.cumsum()
    return np.asarray(np.abs(gap) / np.sqrt(variance))


def _cusum(scores: Float64s, happened: Bools, allowance: float) -> Float64s:
    """Return the larger one-sided sum of observed less predicted after each period, less an allowance."""
    gaps, allowed = (happened - scores).sum(axis=1), allowance * scores.shape[1]
    found = np.zeros(len(scores))
    for sign in (1, -1):
        path = np.cumsum(sign * gaps - allowed)
        found = np.maximum(found, path - np.minimum(np.minimum.accumulate(path), 0))
    return found
