"""Updates of a model at the first alarm, tried on the rows of all later periods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.notebook_display import OneLine
from calib_core.calibrators.base import CALIBRATORS
from calib_core.columns.periods import AUTO
from calib_core.defaults import LEVEL, SIGNIFICANCE, TOLERANCE
from calib_core.estimators.base import claimed_rows, notion_looked_at
from calib_core.monitoring.calibration_by_period import inside, means, rows_by_period, watched
from calib_core.monitoring.watched_model import Watch
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.predictions.proper_scores import log_losses, mean
from calib_core.text import in_percent, several

UNCHANGED = "no update"
_UPDATES = {"event": ("intercept", "logistic-recalibration"), "confidence": ("temperature",)}
"""Keys of the calibrators that are tried, for rows with an event and for others."""


@dataclass(frozen=True, eq=False, repr=False)
class UpdateAfterAlarm(OneLine):
    """Updates that could have been made at the first alarm, each tried on later rows only.

    They are fitted on ``fit_rows`` rows, from ``since`` to the period of the alarm, ``alarm_in`` (such as "in week 7").
    ``since`` is the start of the error as it was seen then. ``table`` is the result of ``frame``.
    """

    since: str
    alarm_in: str
    fit_rows: int
    test_rows: int
    table: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """One line for no update and for each update: see ``update_after_alarm``."""
        return self.table

    @property
    def sentence(self) -> str:
        """Means of the later rows without an update and with the simplest one."""
        before, after = self.table.iloc[0], self.table.iloc[1]
        return (
            f"On {several(self.test_rows)} after the alarm, predicted and observed means are "
            f"{in_percent(before['predicted'])} and {in_percent(before['observed'])}. With the update "
            f"“{after['update']}” at the alarm, the predicted mean would have been {in_percent(after['predicted'])}."
        )

    def _line(self) -> str:
        return self.sentence


def update_after_alarm(
    predictions: Predictions,
    by: str,
    every: str = AUTO,
    tolerance: float = TOLERANCE,
    ratio: float | None = None,
    alpha: float = SIGNIFICANCE,
    level: float = LEVEL,
    notion: str | None = None,
) -> UpdateAfterAlarm:
    """Try updates of the model as they could have been made at the first alarm, on the rows of all later periods.

    The arguments are those of ``over_time``. An update is fitted on the rows from the start of the error to the period
    of the first alarm. The start is the one that the evidence until then explains best, so nothing later is used. For
    an event the updates are a new intercept and logistic recalibration, else a temperature. Columns of ``frame()``:

    - update ("no update" first), rows (of the later periods);
    - predicted and observed means of these rows, gap = observed - predicted;
    - low and high (interval of the observed mean at ``level``), inside (it contains the prediction);
    - log_loss (mean log loss of these rows).

    What can mislead: an error that changes again after the alarm is not mended by an update at the alarm.
    NotAnswerable without an alarm, without later periods, and for rows without all probabilities.

    >>> rng = np.random.default_rng(0)
    >>> risk, week = rng.uniform(0.1, 0.5, 4000), np.arange(4000) // 200
    >>> died = rng.random(4000) < np.where(week < 8, risk, risk / 2)
    >>> rows = Predictions(
    ...     np.column_stack([1 - risk, risk]), died.astype(int), metadata=pd.DataFrame({"week": week}))
    >>> update_after_alarm(rows, "week").frame()[["update", "predicted", "observed"]].round(3).values.tolist()[:2]
    [['no update', 0.298, 0.15], ['Intercept update', 0.168, 0.15]]
    """
    rows = predictions.answered
    notion = notion or notion_looked_at(rows)
    if rows.kind != "full":
        raise NotAnswerable("an update of the model needs the probabilities of all classes")
    claims, cut = rows_by_period(rows, by, every, notion)
    answer = watched(claims, cut, Watch(tolerance, ratio, alpha=alpha, horizon=len(cut.labels)), to_alarm=True).answer()
    if answer.alarm_period is None:
        raise NotAnswerable("there is no alarm, so there is no update to try")
    start, alarm = cut.labels.index(answer.since), cut.labels.index(answer.alarm_period)
    later = np.flatnonzero(cut.codes > alarm)
    if not len(later):
        raise NotAnswerable("the alarm is in the last period, so there are no later rows to try an update on")
    fit = np.flatnonzero((cut.codes >= start) & (cut.codes <= alarm))
    if len(np.unique(rows.true_labels[fit])) < 2:
        raise NotAnswerable("only one class is observed until the alarm, which is not enough for an update")
    test = rows.take(later)
    tried = {UNCHANGED: test}
    for key in _UPDATES[notion]:
        tried[CALIBRATORS[key].title] = CALIBRATORS.make(key).fit_on(rows.take(fit)).apply(test)
    every_row = [np.arange(test.n_rows)]
    found = pd.concat([means(claimed_rows(after, notion), every_row, level) for after in tried.values()])
    table = pd.DataFrame({
        "update": list(tried),
        **found.drop(columns="groups", errors="ignore").reset_index(drop=True),
        "inside": inside(found).to_numpy(),
        "log_loss": [mean(log_losses(after), after) for after in tried.values()],
    })  # fmt: skip
    return UpdateAfterAlarm(cut.begins[start], cut.names[alarm], len(fit), len(later), table)
