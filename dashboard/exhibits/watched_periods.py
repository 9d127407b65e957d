"""Calibration over time: a line per period, and since when an error is shown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.columns.dates import UNITS
from calib_core.columns.periods import AUTO, no_time, time_columns
from calib_core.monitoring import OverTime, UpdateAfterAlarm
from calib_core.registry.registry import Choice, Text
from calib_core.text import points_of, score, short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call


def columns_of_time(scene: Scene) -> tuple[str, ...]:
    """Return the columns that order the rows in time, dates first; NotAnswerable without any."""
    rows = scene.get(scene.model.predictions)
    found = time_columns(rows)
    if not found:
        raise NotAnswerable(no_time(rows))
    return found


_MEANS = (of.share("predicted"), of.share("observed"), of.between("90 % interval", "low", "high"), of.gap())
"""Columns of the means of some rows."""


@dataclass(frozen=True)
class OfPeriods(Exhibit):
    """Base class of exhibits about periods of time."""

    by: Annotated[str, Text(200), "Time", "a column of dates or numbers of periods; empty: the first one"] = ""
    every: Annotated[
        str, Choice((AUTO, *UNITS), titles=("Automatic", "Days", "Weeks", "Months", "Quarters", "Years")),
        "Period", "length of a period of a column of dates",
    ] = AUTO  # fmt: skip

    reads_columns = True

    def compared(self, scene: Scene, function: Callable[..., Any], stem: str) -> Call[Any]:
        """Return the result of a function of the selected model's rows, by period and with these tolerances."""
        by = self.by or columns_of_time(scene)[0]
        more: dict[str, Any] = {"ratio": scene.ratio} if self.by_ratio(scene) else {"tolerance": scene.tolerance}
        return call(function, scene.model.predictions, by, every=self.every, notion=scene.claims, stem=stem, **more)

    @staticmethod
    def by_ratio(scene: Scene) -> bool:
        """True for a rare event, for which the tolerated ratio is a smaller error than the tolerance."""
        if scene.claims != "event" or not math.isfinite(scene.ratio):
            return False
        rows = scene.get(scene.model.predictions)
        risk = float(cc.inference.claimed_rows(rows, "event").answered.confidence.mean())
        return risk * (scene.ratio - 1) < scene.tolerance


@EXHIBITS.register("over-time", "Over time", reference="Ramdas et al. 2023")
@dataclass(frozen=True)
class ByPeriod(OfPeriods):
    """Predicted and observed means by period, and since when an error is shown, however often you look."""

    printed = 60

    meanings = of.Meanings(
        {
            "period": "period of time",
            "where": "text of the period's slice in links",
            "start": "first day of the period, or its number",
            "groups": "groups of rows in the period",
            "observed": "accuracy in the period, or observed frequency of the event",
            "gap": "observed minus predicted mean of the period",
            "misses": "whether the interval excludes the prediction",
            "score_low": "10 % quantile of the predictions",
            "score_median": "median of the predictions",
            "score_high": "90 % quantile of the predictions",
            "e_value": "evidence against calibration after this period; an alarm at 20",
            "mean_gap": "observed minus predicted of all rows so far",
            "mean_low": "lower end of the same, valid at all times",
            "mean_high": "upper end of the same, valid at all times",
            "since_gap": "observed minus predicted from the start of the error to this period",
            "since_low": "lower end of the same, valid at all times",
            "since_high": "upper end of the same, valid at all times",
        }
    )

    def found(self, scene: Scene) -> Call[OverTime]:
        """Return the comparison of periods for the selected model."""
        return self.compared(scene, cc.monitoring.over_time, "over_time")

    def alarmed(self, scene: Scene) -> bool:
        """True if there is an alarm; False also where periods cannot be compared."""
        try:
            return scene.get(self.found(scene)).answer.alarm
        except NotAnswerable:
            return False

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.over_time", self.found(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("period"),
            of.whole("rows"),
            *((of.whole("groups"),) if "groups" in frame else ()),
            *_MEANS,
            of.flag("interval excludes the prediction", "misses"),
            of.evidence("evidence", "e_value"),
            of.points("mean gap so far", "mean_gap"),
        )

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        tolerance = (
            f"a ratio of observed to expected events of up to {score(scene.ratio)}, up or down"
            if self.by_ratio(scene)
            else f"errors of up to {points_of(short_percent(scene.tolerance))}"
        )
        dates = f"{found.without_date:,} rows without a date are left out." if found.without_date else ""
        linked = (
            f"{found.linked:,} groups have rows in several periods. The promise about false alarms assumes that the "
            "outcomes of later periods do not depend on those of earlier ones beyond the prediction."
            if found.linked
            else ""
        )
        return Words(
            f"{scene.model.title}, by {found.column}. Tolerated: {tolerance}.",
            f"Predicted and observed means by period. {found.sentence}",
            headline=(found.sentence, found.promise),
            key="Filled: the interval excludes the prediction. Bands of the mean gap: valid at all times.",
        ).also(
            found.by_chance,
            "Evidence: likelihood ratio of shifted predictions and of errors in ten bins, averaged over the periods in "
            "which an error can have begun (calib_core.monitoring.Watch). If every prediction is within the tolerance, "
            "it is unlikely ever to become large.",
            "A period whose outcomes are not complete looks miscalibrated. Leave it out until they are.",
            dates,
            linked,
        )


@EXHIBITS.register("after-alarm", "Update at the alarm")
@dataclass(frozen=True)
class AfterAlarm(OfPeriods):
    """Updates of the model at the first alarm, tried on the rows of later periods."""

    meanings = of.Meanings(
        {
            "update": "update of the model; no update first",
            "rows": "rows of the periods after the alarm",
            "predicted": "mean confidence or risk of these rows",
            "observed": "accuracy of these rows, or observed frequency of the event",
            "gap": "observed minus predicted mean of these rows",
            "inside": "whether the interval contains the predicted mean",
            "log_loss": "mean log loss of these rows",
        }
    )

    def found(self, scene: Scene) -> Call[UpdateAfterAlarm]:
        """Return the updates of the selected model."""
        return self.compared(scene, cc.monitoring.update_after_alarm, "after_alarm")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("update"),
            of.whole("rows"),
            *_MEANS,
            of.flag("interval contains the prediction", "inside"),
            of.number("log loss", "log_loss", best="low"),
        )

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        return Words(
            f"{scene.model.title}: fitted on {found.fit_rows:,} rows from {found.since} to the alarm "
            f"{found.alarm_in}, tried on {found.test_rows:,} later rows.",
            headline=(found.sentence,),
        ).also("Nothing after the alarm is used for an update. An error that changes again later is not mended by it.")
