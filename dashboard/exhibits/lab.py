"""The laboratory: known distributions, samples from them, and errors of estimators and calibrators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import pandas as pd

import calib_core as cc
from calib_core.defaults import BINS, LEVEL, SEED
from calib_core.lab import (
    EXPERIMENTS,
    MEASURES,
    TRUTHS,
    ErrorCurves,
    ErrorDistances,
    Truth,
    TruthCurve,
    distance_experiments,
    measures_of,
)
from calib_core.monitoring import DriftDelays
from calib_core.monitoring.drift_delays import DRIFTS
from calib_core.monitoring.watched_model import HORIZON
from calib_core.registry.citations import cited
from calib_core.registry.registry import Choice, Part, Range
from calib_core.text import at_level, begun, between, count, inside, measured, rows, short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

if TYPE_CHECKING:
    import plotly.graph_objects as go


MOST_ROWS, MOST_SEED = 100_000, 9999
_FIRST = next(iter(EXPERIMENTS))


def _drawn() -> Truth:
    return TRUTHS.make("drawn")


@EXHIBITS.register("lab-curve", "A known truth and a sample from it")
@dataclass(frozen=True)
class LabCurve(Exhibit):
    """Observed frequency at each score for a known distribution, and in one sample from it."""

    reads = "counts"

    truth: Annotated[Truth, Part("TRUTHS"), "Truth", "the distribution that rows are drawn from"] = field(
        default_factory=_drawn
    )
    n: Annotated[int, Range(10, MOST_ROWS, log=True), "Rows", "rows of the sample"] = 1000
    seed: Annotated[int, Range(0, MOST_SEED), "Which sample (number)", "another number draws a different sample"] = SEED
    bins: Annotated[int, Range(1, 50), "Bins", "bins of equal width"] = BINS

    meanings = of.Meanings(
        {
            "of": "truth, sample, or a point of the drawn truth",
            "stratum": "class that the claims are about",
            "score": "mean score",
            "right": "observed frequency",
            "low": "lower end of the exact 90 % interval of that frequency",
            "high": "upper end of the same",
            "rows": "rows of the sample in the bin",
        }
    )

    def drawn(self) -> Call[TruthCurve]:
        """Return the curve and the sample."""
        return call(cc.lab.truth_curve, self.truth, self.n, bins=self.bins, random_state=self.seed, stem="curve")

    def sample(self) -> Call[cc.Predictions]:
        """Return the rows of the sample."""
        return call(cc.lab.sample, self.truth, self.n, self.seed)

    def sample_table(self) -> Call[pd.DataFrame]:
        """Return the rows of the sample as a table to save."""
        return call(cc.lab.sample_table, self.truth, self.n, self.seed)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.drawn().part("frame()")

    def figure(self, scene: Scene) -> Call[go.Figure]:
        return call("figures.truth_curve", self.drawn())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("source", "of"),
            of.text("claims", "stratum"),
            of.share("score"),
            of.share("observed frequency", "right"),
            of.share("lower end", "low"),
            of.share("upper end", "high"),
            of.whole("rows"),
        )

    def words(self, scene: Scene) -> Words:
        curve = scene.get(self.drawn())
        error = scene.get(call(cc.lab.true_error, self.truth).part("value"))
        shown = scene.get(call(cc.estimate, self.sample(), self._notion()))
        debiased = scene.get(call(cc.estimate, self.sample(), self._notion(), "debiased-ece"))
        entry, ends = TRUTHS[TRUTHS.recipe(self.truth).key], shown.interval()
        return Words(
            f"{entry.caption} True error: {short_percent(error)}, the mean distance between scores and true "
            f"frequencies over the whole distribution. Raw ECE: {short_percent(shown.value)}, the same distance in "
            f"the bins of this sample of {rows(self.n)} rows, inflated by chance. Debiased ECE: "
            f"{short_percent(debiased.value)}, the raw ECE minus the expected contribution of chance. The "
            f"{at_level(LEVEL)} interval for the error in the bins of this sample is {between(ends.low, ends.high)}. "
            "Intervals in the chart are exact, for one bin each.",
            alt=f"The true curve and the bins of a sample of {count(self.n)} rows, notion: {inside(curve.notion)}.",
        ).also(entry.reference and f"After {entry.reference}.")

    @property
    def judged(self) -> str:
        """Explain which error is estimated here and which on the overview."""
        title = inside(self._notion().title)
        return (
            f"Here the error of one notion is estimated ({title}), on all {rows(self.n)} rows. The overview evaluates "
            "the confidence in the predicted class on the test rows, so its number can differ. If you use this sample "
            "as data, all its rows are test rows."
        )

    def _notion(self) -> cc.Recipe:
        return cc.REDUCTIONS.recipe(TRUTHS.flags(self.truth).reduction)


@EXHIBITS.register("lab-errors", "Estimators and calibrators against the truth")
@dataclass(frozen=True)
class LabErrors(Exhibit):
    """Estimates, or errors after calibration, on many samples from a known distribution, and the true error."""

    reads = "counts"

    experiment: Annotated[
        str,
        Choice(tuple(EXPERIMENTS), titles=tuple(each.title for each in EXPERIMENTS.values())),
        "Experiment",
        "the comparison to run",
    ] = _FIRST
    truth: Annotated[Truth, Part("TRUTHS"), "Truth", "the distribution that rows are drawn from"] = field(
        default_factory=_drawn
    )
    draws: Annotated[int, Range(2, 1000, log=True), "Samples", "samples of each size"] = 20
    measure: Annotated[
        str,
        Choice(("", *MEASURES), titles=("The experiment's own", *map(begun, MEASURES.values()))),
        "Measure",
        "the summary over the samples",
    ] = ""
    seed: Annotated[int, Range(0, MOST_SEED), "Which samples (number)", "another number draws a different sample"] = (
        SEED
    )

    meanings = of.Meanings(
        {
            "series": "estimator or calibrator",
            "bins": "number of bins",
            "x": "rows of a sample, or bins",
            "value": "mean of the measure over the samples",
            "true": "true error of the distribution",
            "true_error": "standard error of the true error",
            "draws": "number of samples",
            "low": "lower end of the 90 % interval of the value",
            "high": "upper end of the same",
            "note": "why a number is missing",
        }
    )

    @property
    def used(self) -> tuple[str, ...]:
        about = () if EXPERIMENTS[self.experiment].truths else ("truth",)
        several = ("measure",) if len(measures_of(self.experiment)) > 1 else ()
        return ("experiment", *about, "draws", *several, "seed")

    def found(self) -> Call[ErrorCurves]:
        """Return the experiment's curves; a measure that it lacks is replaced by its default."""
        measure = self.measure if self.measure in measures_of(self.experiment) else ""
        chosen = {} if EXPERIMENTS[self.experiment].truths else {"truth": self.truth}
        return call(
            cc.lab.error_curves,
            self.experiment,
            draws=self.draws,
            measure=measure,
            random_state=self.seed,
            stem="curves",
            **chosen,
        )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found().part("frame()")

    def figure(self, scene: Scene) -> Call[go.Figure]:
        return call("figures.error_curves", self.found())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return table_columns(frame, bool(EXPERIMENTS[self.experiment].binary))

    def words(self, scene: Scene) -> Words:
        what, curves = EXPERIMENTS[self.experiment], scene.get(self.found())
        frame = curves.frame()
        last = frame[frame["x"] == frame["x"].max()]
        known = [f"{line.series}: {measured(line.value, curves.unit)}" for line in last.itertuples()]
        spread = (
            "quartiles over the models" if what.truths else f"{at_level(LEVEL)} intervals for the noise of the draws"
        )
        return Words(
            f"{what.caption} Shown: {MEASURES[curves.measure]}; bars: {spread}.",
            alt=f"With {count(int(frame['x'].max()))} {curves.over}: {'; '.join(known)}.",
        ).also(what.reference and f"After {cited(what.reference)}.", *dict.fromkeys(frame["note"].dropna()))


_WRITTEN = (
    of.text("series"),
    of.text("calibrator"),
    of.text("notion", "reduction"),
    of.text("estimator"),
    of.whole("rows or bins", "x"),
    of.whole("rows", "n"),
    of.number("value"),
    of.number("mean"),
    of.number_between(line_words.AT_LEVEL, "mean_low", "mean_high"),
    of.number("lower end", "low"),
    of.number("upper end", "high"),
    of.number("true error", "true"),
    of.number("bias"),
    of.number("95 % quantile of the distance from the true error", "worst"),
    of.number_between(line_words.AT_LEVEL, "worst_low", "worst_high"),
    of.number("mean square", "mse"),
    of.number_between(line_words.AT_LEVEL, "mse_low", "mse_high"),
    of.share("coverage of intervals", "share_held"),
    of.between(line_words.AT_LEVEL, "share_low", "share_high"),
    of.whole("samples", "draws"),
)


def table_columns(frame: pd.DataFrame, before: bool = False) -> tuple[of.Column, ...]:
    """Return the printed columns of a run or of an experiment's curves: those with any value.

    ``before``: its lines are errors after calibration, so the true error is the one before; also if it names
    calibrators.
    """
    before = before or ("calibrator" in frame and _says_something(frame["calibrator"]))
    return tuple(
        of.number("true error before", "true") if before and column.made_of[0] == "true" else column
        for column in _WRITTEN
        if all(name in frame and _says_something(frame[name]) for name in column.made_of)
    )


def _says_something(values: pd.Series) -> bool:
    return bool((values.notna() & (values != "")).any())


_ABLE = distance_experiments()
_TITLES = tuple(EXPERIMENTS[key].title for key in _ABLE)


@EXHIBITS.register("lab-distances", "Distance from the truth by sample", reference="P2 Fig. 14-16")
@dataclass(frozen=True)
class LabDistances(Exhibit):
    """Distribution over samples of each estimator's distance from the true error."""

    reads = "counts"

    experiment: Annotated[str, Choice(_ABLE, titles=_TITLES), "Experiment", "the comparison to run"] = _ABLE[0]
    truth: Annotated[Truth, Part("TRUTHS"), "Truth", "the distribution that rows are drawn from"] = field(
        default_factory=lambda: TRUTHS.make("drawn")
    )
    n: Annotated[int, Range(10, 10_000, log=True), "Rows of each sample", "rows of each sample"] = 300
    draws: Annotated[int, Range(2, 1000, log=True), "Samples", "number of samples"] = 20
    seed: Annotated[int, Range(0, 9999), "Which samples (number)", "another number draws a different sample"] = SEED

    printed = 20

    meanings = of.Meanings(
        {
            "series": "estimator",
            "low": "smallest distance from the true error in this group",
            "high": "largest distance in this group",
            "draws": "samples with such a distance",
        }
    )

    def found(self) -> Call[ErrorDistances]:
        """Return the distances of every sample."""
        return call(cc.lab.error_distances, self.experiment, self.truth, self.n, self.draws, random_state=self.seed,
                    stem="distances")  # fmt: skip

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found().part("frame()")

    def figure(self, scene: Scene) -> Call[go.Figure]:
        return call("figures.error_distances", self.found())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (of.text("series"), of.number("distance, lower end", "low"), of.number("upper end", "high"),
                of.whole("samples", "draws"))  # fmt: skip

    def words(self, scene: Scene) -> Words:
        distances = scene.get(self.found())
        halves = "; ".join(f"{measured(off, distances.unit)} ({name})" for name, off in distances.median.items())
        words = Words(
            f"Distance of estimates from the true error in their bins, on samples of {rows(distances.n)} rows. "
            f"Median distances: {halves}.",
            alt=f"Distribution of each estimator's distance from the true error; median: {halves}.",
        )
        left_out = distances.unanswered
        return words.also(f"Left out: {count(left_out)} samples without an estimate." if left_out else "")


@EXHIBITS.register("lab-drift", "A known drift and when it is found", reference="Ramdas et al. 2023")
@dataclass(frozen=True)
class LabDrift(Exhibit):
    """First alarms of a watch and of other methods in simulated years in which a calibrated model begins to drift."""

    reads = "counts"

    shape: Annotated[str, Choice(tuple(DRIFTS), titles=tuple(DRIFTS.values())), "Drift", "its course over time"] = (
        "step"
    )
    size: Annotated[
        float, Range(0.01, 0.3, step=0.01), "Size", "difference of the true risk from the predicted one"
    ] = 0.08
    start: Annotated[int, Range(1, HORIZON), "Begins at period", "the first of 52 periods with the drift"] = 14
    n: Annotated[int, Range(10, 2000, log=True), "Rows of a period", "outcomes of each period"] = 100
    draws: Annotated[int, Range(2, 500, log=True), "Years", "number of simulated years"] = 20
    seed: Annotated[int, Range(0, MOST_SEED), "Years no.", "another number draws different years"] = SEED

    meanings = of.Meanings(
        {
            "method": "way of watching the model",
            "of_year": "whether false alarms are limited to 5 % of the years, and not of the periods",
            "false_alarms": "share of the years with an alarm before the drift",
            "found": "share of the other years with an alarm from then on",
            "early": "10 % quantile of the period of the first alarm; missing: no alarm",
            "median": "median of the period of the first alarm; missing: no alarm in half of the years",
            "late": "90 % quantile of the period of the first alarm; missing: no alarm in a tenth of the years",
        }
    )

    def found(self) -> Call[DriftDelays]:
        """Return the alarms of every method."""
        return call(cc.monitoring.drift_delays, self.shape, self.size, self.start, rows=self.n, draws=self.draws,
                    random_state=self.seed, stem="drifts")  # fmt: skip

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found().part("frame()")

    def figure(self, scene: Scene) -> Call[go.Figure]:
        return call("figures.drift_delays", self.found())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("method"),
            of.flag("5 % a year", "of_year"),
            of.share("false alarms", "false_alarms", best="low"),
            of.share("found", best="high"),
            of.whole("first alarm, 10 %", "early"),
            of.whole("first alarm, median", "median"),
            of.whole("first alarm, 90 %", "late"),
        )

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found())
        drift = f"The drift ({inside(DRIFTS[self.shape])}) begins at period {self.start}."
        return Words(
            f"{'' if self.shape == 'none' else drift} {count(self.draws)} years of 52 periods with {rows(self.n)} rows "
            "each.".strip(),
            alt=f"Period of the first alarm of each method. {found.sentence}",
            headline=(found.sentence,),
            key="Mark: median. Line: 80 % of the years. Shaded: the drift. On the right: years with a false alarm.",
        ).also(
            "CUSUM is an oracle: its limit is simulated for this law, which nobody knows in practice. With a drift in "
            "one slice, the watch and the tests with Bonferroni's correction look at each slice.",
        )
