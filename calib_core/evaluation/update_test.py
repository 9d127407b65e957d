"""Closed testing procedure for how far to update a predicted risk: no update, intercept, or intercept and slope."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from calib_core._base.arrays import Float64s
from calib_core._base.notebook_display import OneLine
from calib_core.defaults import SIGNIFICANCE
from calib_core.inference.intervals.event_rows import EventRows, Trials
from calib_core.inference.intervals.observed_expected import ONE_RISK, intercept_at, recalibration_line, trials_of_fit
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.text import begun, chance, score

__all__ = ["UpdateTest", "update_test"]

NO_UPDATE, INTERCEPT, LOGISTIC = "none", "intercept", "logistic recalibration"
CALIBRATORS_OF = ("intercept", "logistic-recalibration")
"""Keys of the calibrators that are the updates of the procedure."""
_ADVICE = {
    NO_UPDATE: "for all rows together, no update is needed",
    INTERCEPT: "for all rows together, a new intercept is enough",
    LOGISTIC: "for all rows together, a new intercept and slope are needed (logistic recalibration)",
}
_TESTED = "closed testing procedure"
FEWEST_EVENTS = 10
"""Events, and rows without one, from which on the tests have their level (simulated)."""


@dataclass(frozen=True, eq=False, repr=False)
class UpdateTest(OneLine):
    """Result of the closed testing procedure: the ``update`` with the fewest new numbers that the rows allow.

    ``p_any`` is of the test of no update against logistic recalibration, ``p_slope`` of a new intercept against it.
    ``table`` is the result of ``frame``. ``update`` is "none", "intercept" or "logistic recalibration".
    """

    event: str
    update: str
    p_any: float
    p_slope: float
    table: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """One line per update: update, intercept, slope, log_likelihood, statistic, parameters, p and chosen.

        ``statistic`` is twice the log-likelihood that logistic recalibration adds. ``parameters`` are the numbers that
        it adds. p is of the test that they are not needed. These are NaN for logistic recalibration itself.
        """
        return self.table

    @property
    def sentence(self) -> str:
        """The update needed, with the tests that decide."""
        why = (
            "logistic recalibration (a new intercept and slope) does not fit significantly better than the original "
            f"model ({chance(self.p_any)}, {_TESTED})"
            if self.update == NO_UPDATE
            else "logistic recalibration does not fit significantly better than a new intercept "
            f"({chance(self.p_slope)}, {_TESTED})"
            if self.update == INTERCEPT
            else f"they fit significantly better than the original model ({chance(self.p_any)}) and than a new "
            f"intercept ({chance(self.p_slope)}, {_TESTED})"
        )
        return f"{begun(_ADVICE[self.update])}: {why}."

    @property
    def formula(self) -> str:
        """Updated log-odds as a function of the original ones, with the fitted numbers."""
        line = self.table[self.table["chosen"]].iloc[0]
        return f"new log-odds = {score(line['intercept'])} + {score(line['slope'])} × log-odds"

    def _line(self) -> str:
        return self.sentence


def update_test(predictions: Predictions) -> UpdateTest:
    """Find how far a predicted risk needs to be updated: not at all, by an intercept, or by intercept and slope.

    x are the log-odds of the risks. l0 is the log-likelihood without an update. That of logit p' = a + x is l1, and
    that of logit p' = a + b x is l2. The closed testing procedure is

    1. no update, unless 2 (l2 - l0) is beyond the 95 % point of chi-square with 2 degrees of freedom.
    2. Else a new intercept, unless 2 (l2 - l1) is beyond that with 1 degree of freedom.
    3. Else logistic recalibration.

    Each step tests a simpler update against the most flexible one. So the probability of an update larger than needed
    is at most 5 % in all, up to the approximation of chi-square. Vergouwe et al. also have revision, new
    coefficients for all predictors, as the most flexible update. It needs the predictors, which are not part of
    predictions.

    What can mislead: with few rows a needed update is not found, so "no update" does not show calibration. The test
    finds errors that intercept and slope correct, not the others. The fitted numbers are those of these rows; use
    ``evaluation.choice`` to see whether an update helps on held-out rows. NotAnswerable without an event, for fewer
    than 10 events or rows without one, for rows in groups (the tests need independent rows) and for equal risks.
    Weights that are not whole numbers enter by Kish's effective number of rows.

    References: Vergouwe et al. 2017, Statistics in Medicine 36, 4529; Cox 1958.

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.beta(2, 6, 2000)
    >>> died, odds = (rng.random(2000) < truth).astype(int), truth / (1 - truth)
    >>> risks = {"right": odds, "too high": 1.5 * odds, "too extreme": odds**2}
    >>> for name, new in risks.items():
    ...     risk = new / (1 + new)
    ...     print(name, "-", update_test(Predictions(np.column_stack([1 - risk, risk]), died)).update)
    right - none
    too high - intercept
    too extreme - logistic recalibration
    """
    rows = EventRows.of(predictions)
    if rows.groups is not None:
        raise NotAnswerable("the rows belong to groups, and the tests of an update need independent rows")
    trials = trials_of_fit(rows.trials)
    if not np.ptp(trials.x) > 0:
        raise NotAnswerable(ONE_RISK)
    if not rows.copies and rows.weights is not None:
        trials = trials.scaled(float(rows.weights.sum() / np.square(rows.weights).sum()))
    fewer = min(trials.observed, trials.total - trials.observed)
    if fewer < FEWEST_EVENTS:
        which = "events" if trials.observed <= trials.total - trials.observed else "rows without the event"
        raise NotAnswerable(f"the tests of an update need at least {FEWEST_EVENTS} {which}; there are {fewer:,.4g}")
    lines = {NO_UPDATE: (0.0, 1.0), INTERCEPT: (intercept_at(trials, trials.observed), 1.0), LOGISTIC: _line_of(trials)}
    heights = {name: _likelihood(trials, *line) for name, line in lines.items()}
    statistic = {name: max(2 * (heights[LOGISTIC] - height), 0.0) for name, height in heights.items()}
    p = {name: float(chdtrc(added, statistic[name])) for name, added in ((NO_UPDATE, 2), (INTERCEPT, 1))}
    update = next((name for name in p if p[name] > SIGNIFICANCE), LOGISTIC)
    table = pd.DataFrame(
        [
            {
                "update": name,
                "intercept": a,
                "slope": b,
                "log_likelihood": heights[name],
                "statistic": statistic[name] if name in p else np.nan,
                "parameters": {NO_UPDATE: 2, INTERCEPT: 1}.get(name, 0),
                "p": p.get(name, np.nan),
                "chosen": name == update,
            }
            for name, (a, b) in lines.items()
        ]
    )
    return UpdateTest(rows.event, update, p[NO_UPDATE], p[INTERCEPT], table)


def _line_of(trials: Trials) -> tuple[float, float]:
    """Intercept and slope of logistic recalibration, by maximum likelihood."""
    line = recalibration_line(trials)
    if line is None:
        raise NotAnswerable("the risks separate events from the other rows: a slope has no maximum of the likelihood")
    return line.intercept, line.slope


def _likelihood(trials: Trials, intercept: float, slope: float) -> float:
    line: Float64s = intercept + slope * trials.x
    return float(trials.events @ line - trials.rows @ np.logaddexp(0.0, line))
