"""The predicted risk of an event: calibration in the large, by bins of risk, and gains from recalibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.defaults import LEVEL
from calib_core.diagrams import LargeLines
from calib_core.evaluation.update_test import UpdateTest
from calib_core.registry.registry import Flag
from calib_core.text import at_level, between, chance, measured_between, score, short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words, line_words
from dashboard.exhibits.error_words import error_tests
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.findings import how_judged
from dashboard.exhibits.slices import correction
from dashboard.exhibits.verdict import Overall, VerdictExhibit
from dashboard.session import Call, Scene, call, division, in_sentence

NO_EVENT = "measures of a risk need an event of two classes; these rows have none"
_SCORES = {"auroc": "AUROC", "brier": "Brier score", "scaled-brier": "scaled", "log-loss": "log loss"}


MEASURES = "Measures of the risk"
"""Heading of the table: calibration, discrimination and scores."""
GIVEN = "Intervals of observed frequency, ratio and intercept take these rows as given: only outcomes vary by chance."
"""Short form of ``ENDS``, below a few of these intervals."""
ENDS = (
    "The intervals of observed frequency, gap, ratio and intercept take the rows and their predicted risks as fixed: "
    "only the outcomes vary by chance. So they are often narrower than the usual interval of a frequency, and do not "
    "apply to the event rate in new rows. The interval of a slice's observed frequency is the usual exact one (Clopper "
    "and Pearson 1934), which applies to new rows."
)
"""Explains what the intervals of a risk are for."""
DISTANCES = (
    "ICI, E50 and E90: mean, median and 90 % quantile of the distance between the predicted risk and a smooth curve "
    "of the observed frequency. Emax: the largest distance. ICI, E50 and E90 with an interval are corrected for "
    "noise, so they can be smaller than the mean gap, which is not."
)
FLOOR_OF_DISTANCES = (
    "Noise floor: 95 % of perfectly calibrated models have a smaller distance before this correction, so do not "
    "compare it with the corrected ones."
)
DEFINED = {
    "gap": "Mean gap: the observed frequency minus the mean predicted risk.",
    "ratio": "Observed : expected: the number of events divided by the sum of the predicted risks.",
    "intercept": "Calibration intercept: the shift of all log-odds, log(risk / (1 - risk)), that fits the outcomes "
    "best. It is above 0 if risks are too low.",
    "slope": "Calibration slope: the slope of the best logistic fit of the outcomes on these log-odds. It is below 1 "
    "if high risks are too high and low risks too low, and above 1 in the opposite case.",
    "brier": "Brier score: the mean squared distance between the risk and the outcome (1 for the event, else 0). "
    "Scaled: the share by which it is smaller than that of a model that always predicts the observed frequency.",
    "log-loss": line_words.SCORES_DEFINED["log-loss"],
    "auroc": "AUROC: the probability that a row with the event has a higher risk than a row without it; 0.5 by chance.",
}
"""Meanings of the measures of a risk."""
_FREQUENCIES = ("mean-predicted", "observed")
_DISTANCES = ("ici", "e50", "e90", "emax")


def _in_unit(measure: str, marks: Sequence[str]) -> tuple[of.Column, of.Column]:
    """Return the columns of one measure and of its interval."""
    if measure == "gap":
        return of.points("value"), of.difference_between("", "low", "high", "share")
    if measure in (*_FREQUENCIES, *_DISTANCES):
        number = of.share if measure in _FREQUENCIES else of.error
        return number("value"), of.between("", "low", "high")
    return of.number("value"), of.number_between("", "low", "high", marks)


def columns_of_measures(level: float = LEVEL, marks: Sequence[str] = ("reference",)) -> tuple[of.Column, of.Column]:
    """Return the columns of the measures of a risk and of their intervals, each in its unit.

    Frequencies and distances are in percent and the mean gap in points, as in sentences; the others have no unit.
    ``marks`` are columns with numbers from which the ends of an interval are distinguishable.
    """

    def value(number: Any, measure: str) -> str:
        return _in_unit(measure, marks)[0].write(number)

    def ends(low: Any, high: Any, measure: str, *apart: Any) -> str:
        column = _in_unit(measure, marks)[1]
        return column.write(low, high, *apart[: len(column.made_of) - 2])

    def end(number: Any, measure: str, *apart: Any) -> str:
        column = _in_unit(measure, marks)[1]
        write = column.end or column.write
        return write(number, *apart[: len(column.made_of) - 2])

    made_of = ("low", "high", "measure", *marks)
    return (
        of.Column("value", ("value", "measure"), value, digits="%.3g", apart=1),
        of.Column(f"{at_level(level)} interval", made_of, ends, digits="%.3g", apart=2, end=end),
    )


def scores_line(measures: pd.DataFrame) -> str:
    """Return AUROC and proper scores of one model in a line; a missing one is replaced by what it needs.

    >>> rows = cc.Predictions([[0.7, 0.3]] * 40, [0] * 40)
    >>> scores_line(cc.risk.scores(rows))
    'AUROC needs rows with the event and rows without it · Brier score 0.09 · log loss 0.357'
    """
    found = measures.set_index("measure").to_dict("index")
    parts = {}
    for key, name in _SCORES.items():
        value, note = found[key]["value"], str(found[key]["note"])
        parts[key] = f"{name} {score(value)}" if math.isfinite(value) else f"{name} {note}".rstrip()
    low, high = found["auroc"]["low"], found["auroc"]["high"]
    if low <= high:  # both are numbers
        parts["auroc"] += f" ({measured_between(low, high, 'score')})"
    scaled = f" ({parts['scaled-brier']})" if math.isfinite(found["scaled-brier"]["value"]) else ""
    return f"{parts['auroc']} · {parts['brier']}{scaled} · {parts['log-loss']}"


@EXHIBITS.register("in-the-large", MEASURES, reference="Van Calster et al. 2019")
@dataclass(frozen=True)
class InTheLargeExhibit(Exhibit):
    """Predicted and observed events, calibration intercept and slope, and scores of the event's risk."""

    curve: Annotated[
        bool, Flag(), "Distances of the smooth curve", "also compute ICI, E50, E90 and Emax (up to a second)"
    ] = True

    height = 220
    terms = ("in-the-large", "observed-expected", "calibration-intercept", "calibration-slope")
    static = True

    meanings = of.Meanings(
        {
            "measure": "short name of the measure",
            "value": "the measure",
            "floor": "95 % quantile of calibrated models",
            "reference": "value for a calibrated model",
        }
    )

    def lines(self, scene: Scene) -> dict[str, Call[LargeLines]]:
        """Return every model's measures, by title."""
        if scene.claims != "event":
            raise NotAnswerable(NO_EVENT)
        wanted = scene.each(
            lambda model: call(cc.diagrams.large_lines, scene.among_all(model), bins=scene.bins, curve=self.curve)
        )
        return scene.answered(wanted)[0]

    def first(self, scene: Scene) -> tuple[str, Call[LargeLines]]:
        """Return the model in focus (else the first with any measure) and its measures."""
        lines = self.lines(scene)
        title = scene.model.title if scene.model.title in lines else next(iter(lines))
        return title, lines[title]

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self.lines(scene))

    def figure(self, scene: Scene) -> Call[Any]:
        title, lines = self.first(scene)
        return call("figures.large_lines", lines, model=title, looks=scene.looks)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        noted = (of.text("note"),) if frame["note"].astype(bool).any() else ()
        return (
            of.text("model"),
            of.text("measure", "title"),
            *columns_of_measures(),
            *((of.number("noise floor", "floor"),) if frame["floor"].notna().any() else ()),
            of.number("calibrated model", "reference"),
            *noted,
        )

    def scores(self, scene: Scene) -> str:
        """Return AUROC and proper scores of the same model in a line."""
        return scores_line(scene.get(self.first(scene)[1]).measures)

    def _above_errors(self, scene: Scene) -> tuple[str, ...]:
        """Note on why a mean gap exceeds the error of the verdict, if it does."""
        try:
            return Overall().above(scene, scene.get(VerdictExhibit().table(scene)))
        except NotAnswerable:
            return ()

    def words(self, scene: Scene) -> Words:
        title, lines = self.first(scene)
        found = scene.get(lines).found
        differs = f"{'differ' if found.differs else 'do not differ'} significantly ({chance(found.p_value)})"
        caption = (
            f"{title}: {found.expected:,.4g} events expected, {found.events:,.4g} observed among {found.rows:,.0f} "
            f"rows. Predicted and observed frequency {differs}. The test is stricter than one of this gap only, "
            "because it also decides about larger errors, such as the ECE. p is not corrected for the other measures."
        )
        return Words(caption, f"{MEASURES} by {in_sentence(title)}. {caption}").also(
            f"{ENDS} The intervals of frequency, gap, ratio and intercept have ends of two levels. The end nearer to "
            f"a calibrated model is that of a {at_level(round(1 - 2 * found.tail, 3))} interval, because several "
            f"errors are tested jointly. The other end is that of a {at_level(found.level)} interval. Method: "
            f"{found.method}.",
            "Observed to expected: observed events divided by the sum of the predicted risks. Intercept: the shift "
            "in log-odds that corrects the mean risk; 0 if calibrated. Slope: 1 if calibrated; below 1, risks are "
            "too spread out: once the mean is corrected, high risks are too high and low risks too low.",
            *([f"{DISTANCES} {FLOOR_OF_DISTANCES}"] if self.curve else []),
            *self._above_errors(scene),
            scene.get(error_tests(scene, scene.models.titled(title))),
            "A correct mean is not enough for calibration: gaps of opposite sign cancel.",
            scene.rows_counted,
        )


@EXHIBITS.register("risk-groups", "By predicted risk")
@dataclass(frozen=True)
class RiskGroups(Exhibit):
    """Bins of the predicted risk, as in the diagram: expected and observed events, and significant bins."""

    meanings = of.Meanings(
        {
            "confidence": "mean predicted risk of the bin's rows",
            "accuracy": "observed frequency of the event in the bin",
            "too_few": "whether a calibrated model's interval would extend 10 points to a side",
            "stands_out": "side on which the bin is significantly off (p_corrected at most 0.05), else empty",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if scene.claims != "event":
            raise NotAnswerable(NO_EVENT)
        models = {scene.model.title: scene.model.predictions}
        return call(cc.diagrams.bins_standing_out, models, bins=scene.bins, notion="event", stem="groups")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.between("risk", "lower", "upper"),
            of.whole("rows", "count"),
            of.share("predicted", "confidence"),
            of.share("observed", "accuracy"),
            of.between(f"{at_level(LEVEL)} interval", "low", "high"),
            of.probability("p (corrected)", "p_corrected"),
            of.Column("off", ("stands_out",), _side, numeric=False),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        first, basis = headline(scene, frame)
        return Words(
            "The bins of the risk diagram, from the lowest to the highest predicted risk.",
            headline=(f"{first}.", basis),
        ).also(f"The intervals are for one bin each. {how_judged(scene)} {correction(scene, scene.claims)}")


def headline(scene: Scene, frame: pd.DataFrame) -> tuple[str, str]:
    """Return the diagram's sentence about the bins of predicted risk, and the number of bins."""
    first, *_ = cc.diagrams.headline(frame, happened=event_words.in_words(scene)[1])
    n = len(frame)
    return first.rstrip(
        "."
    ), f"{n} bins of predicted risk. Significance is corrected for their number." if n > 1 else "One bin."


def _side(value: str) -> str:
    return {"overconfident": "risk too high", "underconfident": "risk too low"}.get(value, "")


@EXHIBITS.register("update-test", "How far to update the risk", reference="Vergouwe et al. 2017")
@dataclass(frozen=True)
class UpdateTestExhibit(Exhibit):
    """Closed testing procedure: no update of the risk, a new intercept, or a new intercept and slope."""

    static = True

    meanings = of.Meanings(
        {
            "update": "update of the predicted risk",
            "intercept": "shift of the log-odds",
            "slope": "factor of the log-odds",
            "log_likelihood": "log-likelihood of the outcomes after the update",
            "statistic": "twice the log-likelihood that logistic recalibration adds",
            "parameters": "numbers that logistic recalibration adds",
            "p": "p-value for the hypothesis that they are not needed",
            "chosen": "whether the procedure chooses this update",
        }
    )

    def found(self, scene: Scene) -> Call[UpdateTest]:
        """Return the test on the calibration rows of the first model, as the advice."""
        if scene.claims != "event":
            raise NotAnswerable(NO_EVENT)
        rows = scene.models.shown[0].source.everywhere
        return call(cc.evaluation.update_test.update_test, division(rows).part("fit"), stem="updates")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("update"),
            of.number("intercept"),
            of.number("slope"),
            of.number("log-likelihood", "log_likelihood"),
            of.number("statistic"),
            of.whole("numbers added", "parameters"),
            of.probability("p", "p"),
            of.flag("chosen", "chosen"),
        )

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        return Words(
            "Each update is tested against logistic recalibration, the simplest first. The first that does not fit "
            "significantly worse (p above 0.05) is enough. An update larger than needed is chosen in at most about "
            "5 % of samples.",
            headline=(found.sentence,),
        ).also(
            f"The chosen update on these rows: {found.formula}."
            if found.update != "none"
            else "With few rows, a needed update can be missed, so this does not show that the risks are calibrated.",
            "Every update here changes all rows alike. The recommendation (calib choose) also considers an update of a "
            "single site or "
            "group.",
            "Tested on the calibration rows, or on all rows if they are cross-fitted. Revision, the largest update of "
            "the published procedure, needs the predictors of the model and is left out.",
        )


@EXHIBITS.register("gains", "Gains and costs of calibrators")
@dataclass(frozen=True)
class Gains(Exhibit):
    """Error with interval, log loss, changed predictions, guarantee and parameters of every selected calibrator."""

    terms = ("interval", "tolerance", "log-loss")

    meanings = of.Meanings(
        {
            "point": "estimate of the error after",
            "point_before": "estimate of the error before",
            "low": "lower end of the 90 % interval of the error after",
            "high": "upper end of the same",
            "log_loss": "log loss after, of the rows answered",
            "log_loss_before": "log loss before, of the same rows",
            "rows": "test rows",
            "changed": "rows whose predicted class changes",
            "abstained": "rows on which it abstains",
            "promised": "whether there is a guarantee without assumptions on the data",
            "promise": "the guarantee, or why there is none",
            "set_aside": "note on this fit",
            "fitted": "fitted parameters in a few words",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        models = scene.models.recalibrated
        if not models:
            raise NotAnswerable("select a calibrator to see its gains and costs")
        return call(
            cc.evaluation.model_tables.gains,
            line_words.primaries(scene),
            *scene.recalibrations,
            eps=scene.tolerance,
            bases={model.title: base_title(scene, model.title) for model in models},
            ratio=scene.ratio,
        )

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator"),
            of.text("error", "title"),
            of.Column("estimate", ("point",), known_percent),
            of.Column(f"{at_level(LEVEL)} interval", ("low", "high"), known_between),
            of.Column("estimate before", ("point_before",), known_percent),
            *line_words.of_ratio(frame),
            of.verdict("verdict on both" if line_words.of_ratio(frame) else "verdict", "verdict"),
            of.number("log loss", "log_loss"),
            of.number("log loss before", "log_loss_before"),
            of.whole("predicted classes changed", "changed"),
            of.whole("rows it abstains on", "abstained"),
            of.flag("guarantee", "promised"),
            of.text("fitted"),
        )

    def words(self, scene: Scene) -> Words:
        rows = scene.get(scene.models.shown[0].predictions).n_rows
        return Words(
            f"Evaluated on {scene.unseen(rows)}. The estimate is corrected for noise and always in the interval. "
            "Log loss is computed on the rows that a calibrator answers. If the file has only one confidence per row, "
            "it is the log loss of the confidence. It is empty if a calibrator gives no full probabilities."
        ).also(*line_words.of_both(scene))


def base_title(scene: Scene, title: str) -> str:
    """Return the title of a model's base model."""
    return scene.models.titled(title).base.title


def known_percent(value: float) -> str:
    """Return a share in percent, or a dash if unknown."""
    return of.NOT_KNOWN if value != value else short_percent(value)


def known_between(low: float, high: float) -> str:
    """Return both ends of an interval in percent, or a dash if unknown."""
    return of.NOT_KNOWN if low != low else between(low, high)
