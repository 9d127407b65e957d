"""Differences of a risk's calibration between sites: O:E, intercept and slope of each, pooled by random effects."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from calib_core._base.arrays import Codes
from calib_core._base.diagram import Diagram
from calib_core._base.errors import NotAnswerable, as_share
from calib_core.columns.cut import PARTS, coded
from calib_core.defaults import LEVEL, RATIO, SIGNIFICANCE
from calib_core.inference.intervals.event_rows import EventRows, Trials
from calib_core.inference.intervals.observed_expected import (
    effective_events,
    intercept_at,
    over,
    ratio_ends,
    recalibration_line,
    slope_profile,
    trials_of_fit,
)
from calib_core.inference.intervals.random_effects import RandomEffects, random_effects
from calib_core.inference.verdicts.events_needed import check_ratio, events_needed
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.results.verdict_table import MISCALIBRATED, TOO_CLOSE, TOO_FEW, WITHIN
from calib_core.slices.gaps import MOST_SLICES
from calib_core.text import at_level, chance, listed, measured_between, score

FEWEST_EXPECTED = 5
"""Expected events, and rows without one, from which on a site is pooled and has a slope."""
MEASURES = {"ratio": "Observed : expected", "intercept": "Calibration intercept", "slope": "Calibration slope"}


@dataclass(frozen=True, eq=False, repr=False)
class BetweenSites(Diagram):
    """Calibration of each value of a column, and what the values have in common.

    ``sites`` is the result of ``frame``; ``pooled`` has one line per measure. ``level`` is that of each pooled
    interval, and that of all intervals of the sites jointly. ``ratio`` is the tolerated ratio of observed to expected
    events.
    """

    columns: tuple[str, ...]
    sites: pd.DataFrame
    pooled: pd.DataFrame
    level: float
    ratio: float

    def frame(self) -> pd.DataFrame:
        """One line per site, the largest ratio first: see ``between``."""
        return self.sites

    def count(self, word: str) -> int:
        """Number of sites with this verdict."""
        return int((self.sites["verdict"] == word).sum())

    @property
    def sentence(self) -> str:
        """Numbers of sites within the tolerance, outside, and not decided."""
        few, close = self.count(TOO_FEW), self.count(TOO_CLOSE)
        tolerance = measured_between(1 / self.ratio, self.ratio, "score")
        differing = int(self.sites["differs"].sum())
        parts = [
            f"{_are(self.count(WITHIN))} shown to be fine",
            f"{_are(self.count(MISCALIBRATED))} shown to be off",
            *([f"{_are(close)} too close to call"] if close else []),
            *([f"{few} {'has' if few == 1 else 'have'} too few rows"] if few else []),
        ]
        return (
            f"Of {len(self.sites)} values of {' and '.join(self.columns)}, {listed(parts)} (ratio of observed to "
            f"expected events, tolerance {tolerance}; simultaneous {at_level(self.level)} intervals). In "
            f"{differing or 'none'} of them, the ratio differs significantly from 1."
        )

    @property
    def spread(self) -> str:
        """Range of a new site by random effects, or the reason why it is not known."""
        line: Any = self.pooled.to_dict("records")[0]
        if math.isnan(line["mean"]):
            return f"No pooled ratio: {line['note']}."
        ends = measured_between(line["low"], line["high"], "score")
        differ = "differ" if line["p"] <= SIGNIFICANCE else "do not differ"
        text = (
            f"The pooled ratio of {line['sites']} values is {score(line['mean'])} ({at_level(self.level)} interval "
            f"{ends}). The ratios of the values {differ} significantly ({chance(line['p'])})"
        )
        if not math.isfinite(line["new_high"]):
            return f"{text}."
        new = measured_between(line["new_low"], line["new_high"], "score")
        return f"{text}. For a new value of {' and '.join(self.columns)}, the predicted ratio is {new}."

    def _line(self) -> str:
        return self.sentence


def _are(number: int) -> str:
    """Return a number of sites with its verb."""
    return f"{number or 'none'} {'are' if number > 1 else 'is'}"


def between(
    predictions: Predictions,
    by: str | Sequence[str],
    edges: Sequence[float] | None = None,
    parts: int = PARTS,
    level: float = LEVEL,
    ratio: float = RATIO,
    method: str = "reml",
) -> BetweenSites:
    """Compare the calibration of a risk between the values of a column, such as hospitals.

    ``by``, ``edges`` and ``parts`` are as for ``cut``: rows with a missing value are a group, "not given". Columns:

    - slice, where, rows, events and expected (sum of the risks);
    - ratio (O:E), intercept and slope, each with _low and _high;
    - differs (the ratio differs significantly from 1: its simultaneous 95 % interval excludes 1);
    - verdict on the ratio, against 1/``ratio`` to ``ratio``;
    - pooled (whether the site counts in the meta-analysis) and note.

    Intervals of the sites are simultaneous: each of the k sites has level 1 - (1 - ``level``) / k (Bonferroni). Those
    of ratio and intercept are exact for independent rows (``risk.ratio_ends``), those of the slope Firth's profile. The
    verdict is "within" if the interval is inside the tolerance ("shown to be fine"), "miscalibrated" if it is entirely
    outside ("shown to be off"). Otherwise it is "too few rows to tell", if even a calibrated model with these risks
    would need more events, else "too close to call".

    ``pooled`` has a random-effects meta-analysis of log(O:E), intercept and slope at ``level``. Its columns are mean,
    low, high, tau, tau_low, tau_high, i2 and p (no differences). new_low to new_high is the prediction interval for a
    new site. Mean and ends of the ratio are transformed back; its tau is that of log(O:E). ``method`` of tau: "reml" or
    "dl" (``inference.random_effects``). Standard errors are sqrt((1 - O / N') / O) for log(O:E), with N' the effective
    number of rows, and those of maximum likelihood for the others. Sites with fewer than 5 expected events, or 5
    expected rows without one, are not pooled. This rule does not look at the outcomes.

    What can mislead: differences between sites include those of case mix where the model is wrong. A column with few
    values hardly determines tau. NotAnswerable without an event, for rows in groups and for one value only.

    References: Debray et al. 2017, BMJ 356 (meta-analysis of prediction models); Snell et al. 2018; Riley et al. 2016.

    >>> rng = np.random.default_rng(0)
    >>> risk, site = rng.beta(2, 8, 4000), np.array(list("abcd"))[np.arange(4000) % 4]
    >>> died = rng.random(4000) < np.where(site == "c", 0.5 * risk, risk)
    >>> rows = Predictions(
    ...     np.column_stack([1 - risk, risk]), died.astype(int), metadata=pd.DataFrame({"site": site}))
    >>> found = between(rows, "site")
    >>> found.frame()[["slice", "verdict"]].values.tolist()[-1]
    ['site = c', 'miscalibrated']
    """
    as_share(level, "level")
    check_ratio(ratio)
    if method not in ("reml", "dl"):
        raise InputError(f'method is {method!r:.80}; it must be "reml" or "dl"')
    rows = predictions.answered
    EventRows.of(rows)  # refuses rows without an event
    if rows.row_groups is not None:
        raise NotAnswerable(
            f"the rows belong to {rows.row_groups.words}, and the comparison of sites needs independent rows"
        )
    if rows.grain == "counts":
        raise NotAnswerable("a summary stores no risks of the event by slice: open the original file")
    groups = coded(rows, by, edges, parts)
    if len(groups) < 2:
        raise NotAnswerable("the column has only one value: differences between sites need at least two")
    if len(groups) > MOST_SLICES:
        raise NotAnswerable(f"there are {len(groups):,} slices, more than the {MOST_SLICES:,} that can be compared")
    places = [_Site.of(rows, codes) for _, codes in groups]
    lines = [
        {"slice": where.title, "where": str(where), **place.line(len(groups), level, ratio)}
        for (where, _), place in zip(groups, places, strict=True)
    ]
    sites = pd.DataFrame(lines).sort_values("ratio", ascending=False, kind="stable", ignore_index=True)
    known = [place for place in places if place.counts]
    pooled = pd.DataFrame([_pooled(name, known, level, method) for name in MEASURES])
    names = (by,) if isinstance(by, str) else tuple(by)
    return BetweenSites(names, sites, pooled, level, float(ratio))


@dataclass(frozen=True, eq=False)
class _Site:
    """Rows of one site: with a maximum-likelihood ``slope`` and its standard error, NaN if there is none."""

    rows: EventRows
    used: Trials
    size: float
    slope: float
    slope_error: float

    @classmethod
    def of(cls, rows: Predictions, places: Codes) -> _Site:
        here = EventRows.of(rows.take(places))
        used, size, _ = effective_events(here)
        trials = _fitted(here, used)
        line = None
        if np.ptp(trials.x) > 0 and min(trials.observed, trials.total - trials.observed) >= FEWEST_EXPECTED:
            line = recalibration_line(trials)
        if line is None:
            return cls(here, used, size, math.nan, math.nan)
        return cls(here, used, size, line.slope, line.slope_error)

    @property
    def counts(self) -> bool:
        """True if enough events, and rows without one, are expected for the meta-analysis."""
        return min(self.used.expected, self.used.total - self.used.expected) >= FEWEST_EXPECTED

    def line(self, sites: int, level: float, ratio: float) -> dict[str, object]:
        """Numbers of one of so many sites, with intervals at this level jointly, and the verdict."""
        trials, miss = self.rows.trials, (1 - level) / sites
        level = 1 - miss
        low, high = self._ratio(miss)
        least, most = self._ratio(SIGNIFICANCE / sites)
        ends = [intercept_at(trials, events) for events in (low * trials.expected, high * trials.expected)]
        slope_low = slope_high = math.nan
        used = _fitted(self.rows, self.used)
        if math.isfinite(self.slope):
            _, slope_low, slope_high = slope_profile(used.x, used.rows, used.events, level)
        return {
            "rows": round(trials.total) if self.rows.copies else len(self.rows.scores),
            "events": trials.observed,
            "expected": trials.expected,
            "ratio": over(trials.observed, trials.expected),
            "ratio_low": low,
            "ratio_high": high,
            "intercept": intercept_at(trials, trials.observed),
            "intercept_low": ends[0],
            "intercept_high": ends[1],
            "slope": self.slope,
            "slope_low": min(slope_low, self.slope),
            "slope_high": max(slope_high, self.slope),
            "differs": least > 1 or most < 1,
            "verdict": self._verdict(low, high, level, ratio),
            "pooled": self.counts,
            "note": ""
            if math.isfinite(self.slope)
            else f"a slope needs at least {FEWEST_EXPECTED} events, as many rows without one, and different risks",
        }

    def _ratio(self, miss: float) -> tuple[float, float]:
        """Ends of the ratio that miss it with this probability."""
        return ratio_ends(self.rows.scores, self.rows.outcomes, self.rows.weights, miss / 2)

    def _verdict(self, low: float, high: float, level: float, ratio: float) -> str:
        if 1 / ratio < low and high < ratio:
            return WITHIN
        if low > ratio or high < 1 / ratio:
            return MISCALIBRATED
        if not self.used.expected > 0:
            return TOO_FEW
        concentration = self.used.concentration
        needed = events_needed("within", 1.0, ratio, power=0.5, level=level, concentration=concentration).events
        return TOO_FEW if self.used.expected < needed else TOO_CLOSE

    def estimate(self, measure: str) -> tuple[float, float]:
        """Estimate and standard error: log ratio, intercept or slope."""
        trials = _fitted(self.rows, self.used)
        observed = max(trials.observed, 0.5)
        if measure == "ratio":
            return math.log(observed / trials.expected), math.sqrt(max(1 - observed / self.size, 1e-9) / observed)
        if measure == "slope":
            return self.slope, self.slope_error
        shift = intercept_at(trials, min(observed, trials.total - 0.5))
        chance = expit(trials.x + shift)
        return shift, 1 / math.sqrt(float(trials.rows @ (chance * (1 - chance))))


def _fitted(rows: EventRows, used: Trials) -> Trials:
    """Trials for fits: the scores themselves, not those of the fine grid; weighted rows by their effective number."""
    return trials_of_fit(rows.trials if rows.copies else used)


_POOLED = ("mean", "low", "high", "tau", "tau_low", "tau_high", "i2", "p", "new_low", "new_high")


def _pooled(measure: str, sites: Sequence[_Site], level: float, method: str) -> dict[str, object]:
    """One line of the pooled table."""
    given = [site.estimate(measure) for site in sites]
    given = [(value, error) for value, error in given if math.isfinite(value) and math.isfinite(error)]
    start = {"measure": measure, "title": MEASURES[measure], "reference": 0.0 if measure == "intercept" else 1.0}
    if len(given) < 2:
        missing = dict.fromkeys(_POOLED, math.nan)
        need = f"at least 2 values with {FEWEST_EXPECTED} expected events, and as many rows without one, are needed"
        return start | {"sites": len(given)} | missing | {"note": need}
    values, errors = zip(*given, strict=True)
    found: RandomEffects = random_effects(values, errors, level, method)  # type: ignore[arg-type]
    ends = {name: getattr(found, name) for name in ("mean", "low", "high", "new_low", "new_high")}
    if measure == "ratio":
        ends = {name: math.exp(end) if end < 700 else math.inf for name, end in ends.items()}
    numbers = ends | {name: getattr(found, name) for name in ("tau", "tau_low", "tau_high", "i2")}
    return (
        start
        | {"sites": found.places}
        | {name: ({"p": found.p_value} | numbers)[name] for name in _POOLED}
        | {"note": ""}
    )
