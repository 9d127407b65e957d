"""Uses of confidences besides calibration: ranking, selective prediction, confidence levels, prediction sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.diagrams import REPEATS, Levels, RiskCoverage
from calib_core.inference.comparison.skills import COVERAGE
from calib_core.registry.registry import Flag, Range
from calib_core.text import begun, in_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL, methods_of
from dashboard.session import Call, Model, Scene, call, in_sentence

SHARE = Range(0.05, 1.0, 0.05)
"""Range of the share of rows answered."""


@EXHIBITS.register("selective", "Answering only the most confident rows", reference="Geifman & El-Yaniv 2017")
@dataclass(frozen=True)
class Selective(Exhibit):
    """Error rate of each model among its most confident rows, for every share of rows answered."""

    coverage: Annotated[
        float, SHARE, "Share of rows answered", "the most confident rows; ties are answered together"
    ] = COVERAGE

    printed = 10
    height = 420
    formula = RiskCoverage.formula

    meanings = of.Meanings(
        {
            "threshold": "rows of this confidence or more are answered",
            "coverage": "share of all rows answered",
            "rows": "number of rows answered",
            "risk": "error rate among the answered rows",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self._curves(scene)[0])

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("confidence or more", "threshold"),
            of.share("of all rows", "coverage"),
            of.whole("rows"),
            of.share("error rate", "risk"),
            of.between(AT_LEVEL, "low", "high"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.selective", self._curves(scene)[0], coverage=self.coverage, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        curves, refused = self._curves(scene)
        found = tuple(f"{name}: {scene.get(each).headline(self.coverage)}." for name, each in curves.items())
        return Words(
            "From left to right, more rows are answered, the most confident first. The faint line is the error "
            "rate over all rows; a curve on this line means that confidence is uninformative.",
            f"Error rate against share of rows answered, one curve per model. {' '.join(found)}",
            headline=found,
        ).also(
            "Rows of equal confidence are answered together, so slightly more than the chosen share can be "
            f"answered. Intervals are pointwise ({methods_of(scene, curves.values())}), not corrected for choosing "
            "a point by its error rate.",
            *refused,
        )

    def _curves(self, scene: Scene) -> tuple[dict[str, Call[RiskCoverage]], tuple[str, ...]]:
        return scene.answered(scene.each(lambda model: call(cc.diagrams.selective, model.predictions)))


@EXHIBITS.register(
    "uses", "Ranking, selective prediction and prediction sets", reference="Sadinle et al. 2019; Romano et al. 2020"
)
@dataclass(frozen=True)
class Uses(Exhibit):
    """Effect of recalibration on ranking, selective prediction and prediction sets."""

    coverage: Annotated[
        float, SHARE, "Share of rows answered", "the most confident rows; ties are answered together"
    ] = COVERAGE

    costly = True

    meanings = of.Meanings(
        {
            "measure": "short name of the measure",
            "unit": "how its numbers are read",
            "before": "before recalibration",
            "after": "after recalibration",
            "change": "after minus before",
            "low": "lower end of the 90 % interval of the change",
            "high": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.models.recalibrated:
            raise NotAnswerable("select a calibrator to see its effect on ranking and prediction sets")
        before, after, _ = scene.recalibrations
        rows = scene.models.shown[0].division
        if scene.cross_fitted:
            return call(
                cc.evaluation.usefulness.changes, before, after, coverage=self.coverage, fold=rows.part("test_folds")
            )
        return call(cc.evaluation.usefulness.changes, before, after, coverage=self.coverage)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator"),
            of.text("measure", "title"),
            of.measured("before"),
            of.measured("after"),
            of.difference("change"),
            of.difference_between(AT_LEVEL, "low", "high"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        refused = frame[frame["note"] != ""].groupby("note", sort=False)["title"]
        wanted = in_percent(cc.evaluation.prediction_sets.SHARE)
        return Words(
            "Ranking: the probability that a correct prediction has higher confidence than a wrong one; ties count "
            "half. Pairs of rows reversed: share of pairs whose order by confidence (for an event, by its risk) "
            f"changes. Sets: each row has a set of classes, and {wanted} of the sets contain the true class. Smaller "
            "sets are better.",
            headline=cc.evaluation.usefulness.sentences(frame),
        ).also(
            "The sets of each half of the rows use thresholds from the other half. Each set then contains the true "
            f"class with probability {wanted} or more for any model, if rows are independent and identically "
            "distributed. LAC (least ambiguous set-valued classifier): all classes with a probability above one "
            "threshold; a set "
            "can be empty. APS (adaptive prediction sets): the most probable classes up to a total probability, "
            "without randomization.",
            "Each interval is for one difference, after minus before on the same rows, from the contribution of "
            "every row. For sets, it accounts for estimated thresholds. Reversed pairs are counted and have no "
            "interval.",
            "Ranking by an event's risk and pairs of rows are compared within folds, because folds have different "
            "calibrators. The guarantee for sets is not proven for cross-fitted rows."
            if scene.cross_fitted
            else "",
            *(f"{'; '.join(dict.fromkeys(titles))}: {note}." for note, titles in refused),
        )


@EXHIBITS.register("skills", "Usefulness of the confidences", reference="Geifman, Uziel & El-Yaniv 2019")
@dataclass(frozen=True)
class Skills(Exhibit):
    """Mean overconfidence of each model, and how well its confidences separate correct from wrong predictions."""

    coverage: Annotated[
        float, SHARE, "Share of rows answered", "the most confident rows; ties are answered together"
    ] = COVERAGE

    terms = ("overconfident",)

    meanings = of.Meanings(
        {
            "rows": "rows answered",
            "accuracy": "accuracy of these rows",
            "mean_confidence": "mean confidence of these rows",
            "overconfidence": "mean confidence minus accuracy",
            "skill": "reduction of the squared error relative to predicting the accuracy for every row",
            "auroc": "probability that a correct prediction has higher confidence than a wrong one; ties count half",
            "risk_area": "mean error rate over all shares of rows answered, the most confident first",
            "excess_area": "risk area minus that of the best order",
            "answered": "share of rows answered",
            "accuracy_answered": "accuracy of the most confident rows answered",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.skills, scene.predictions(), self.coverage)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        share = in_percent(self.coverage)
        return (
            of.text("model"),
            of.whole("rows"),
            of.share("accuracy"),
            of.share("mean confidence", "mean_confidence"),
            of.points("overconfidence", "overconfidence"),
            of.difference_between("interval, overconfidence", "overconfidence_low", "overconfidence_high", "share"),
            of.number("skill"),
            _ends("skill"),
            of.number("ranking", "auroc"),
            _ends("auroc", "ranking"),
            of.error("area", "risk_area"),
            of.between("interval, area", "risk_area_low", "risk_area_high"),
            of.error("avoidable area", "excess_area"),
            of.between("interval, avoidable area", "excess_area_low", "excess_area_high"),
            of.share("rows answered", "answered"),
            of.share(f"accuracy in most confident {share}", "accuracy_answered"),
            of.between(f"interval, most confident {share}", "accuracy_answered_low", "accuracy_answered_high"),
        )

    def words(self, scene: Scene) -> Words:
        notes = scene.get(self.table(scene)).set_index("model")["note"]
        return Words(
            "Ranking: the probability that a correct prediction has higher confidence than a wrong one; ties count "
            "half (AUROC; 0.5: confidence is uninformative). Skill: reduction of the squared error relative to "
            "predicting the accuracy for every row; below 0, the confidences are worse than that."
        ).also(
            "Overconfidence: mean confidence minus accuracy; below 0, the model is underconfident. Area: the mean "
            "error rate over all shares of rows that could be answered, the most confident first. Avoidable area: how "
            "much smaller it would be if all correct rows came first. Rows of equal confidence are answered together, "
            f"so the most confident {in_percent(self.coverage)} can be slightly more.",
            "Intervals at 90 %, not corrected for multiple testing. Accuracy and overconfidence: Clopper and "
            "Pearson's, exact for independent, unweighted rows. Ranking: DeLong's. Skill and areas: from the "
            "contribution of every row, tested by simulation for 10 rows or more correct and 10 wrong. Grouped "
            "rows are kept together.",
            *(f"{name}: {note}." for name, note in notes[notes != ""].items()),
        )


def _ends(name: str, heading: str = "") -> of.Column:
    return of.number_between(f"interval, {heading or name}", f"{name}_low", f"{name}_high")


MEASURES = {
    "overconfidence": "overconfidence",
    "brier": "squared error",
    "skill": "skill",
    "auroc": "ranking",
    "risk_area": "area",
}
"""Titles of the compared measures."""


@EXHIBITS.register("skill-pairs", "Usefulness of confidences: differences between models")
@dataclass(frozen=True)
class SkillPairs(Exhibit):
    """Differences between all pairs of models in overconfidence, squared error, skill, ranking and area."""

    meanings = of.Meanings(
        {
            "measure": "what is compared",
            "difference": "value of the first minus that of the second",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.skill_differences, scene.over_same_rows())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("first"),
            of.text("second"),
            of.Column("measure", ("measure",), MEASURES.__getitem__, numeric=False),
            of.number("first model", "first_value"),
            of.number("second model", "second_value"),
            of.number("difference"),
            of.number_between(AT_LEVEL, "low", "high"),
            of.probability("p"),
            of.probability("p, Holm", "p_holm"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        refused = frame.loc[frame["note"] != "", "note"].drop_duplicates()
        return Words(
            "First minus second. Smaller is better for overconfidence, squared error and area; larger is better "
            "for skill and ranking (AUROC). p: for no difference; Holm: corrected for all lines."
        ).also(
            "Each interval is for one difference, from the contribution of every row (for ranking, DeLong's paired "
            "method). It is reported if 10 rows or more are right and 10 wrong for both models.",
            scene.rows_counted,
            *(f"{begun(why)}." for why in refused),
        )


@EXHIBITS.register("levels", "Confidence levels", reference="Clopper & Pearson 1934; Holm 1979")
@dataclass(frozen=True)
class LevelsExhibit(Exhibit):
    """Accuracy of each model at every confidence level, for models with few distinct confidences."""

    height = 480
    terms = ("overconfident",)
    formula = Levels.formula

    meanings = of.Meanings(
        {
            "confidence": "the confidence level",
            "share": "share of all rows with this confidence",
            "right": "accuracy of the rows with this confidence",
            "stands_out": "side on which the level is significantly off (p_holm at most 0.05), else empty",
            "p": "two-sided binomial p-value of the accuracy if the confidence is true",
            "p_holm": "the same, Holm-corrected for the levels of the model",
        }
    )

    def points(self, model: Model) -> Call[Levels]:
        """Return the levels of a model."""
        return call(cc.diagrams.levels, model.predictions)

    def levels(self, scene: Scene) -> tuple[dict[str, Call[Levels]], tuple[str, ...]]:
        """Return the levels of models with few distinct confidences, by title, and a sentence for each other."""
        return scene.answered(scene.each(self.points))

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self.levels(scene)[0])

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("confidence"),
            of.whole("rows"),
            of.share("share of all rows", "share"),
            of.share("accuracy", "right"),
            of.between(AT_LEVEL, "low", "high"),
            of.probability("p"),
            of.probability("p, Holm", "p_holm"),
            of.text("significantly off", "stands_out"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.levels", self.levels(scene)[0], looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        found, refused = self.levels(scene)
        findings = tuple(f"{title}: {scene.get(each).headline}." for title, each in found.items())
        return Words(
            "One point per confidence level; on the dashed line, accuracy equals confidence. Larger point: more "
            "rows. Pale: not significantly off.",
            f"Accuracy against confidence. {' '.join(findings)}",
            headline=findings,
        ).also(
            f"Each interval is for one level ({methods_of(scene, found.values())}). A level is significantly off if "
            "its test has p at most 0.05, Holm-corrected for the number of levels of its model. Levels with few "
            "rows are rarely significant.",
            *refused,
        )


@EXHIBITS.register("rates", "Attained and target rate", reference="P4 Fig. 1 and 2")
@dataclass(frozen=True)
class Rates(Exhibit):
    """Attained against target rate of an abstaining calibrator, over repeated splits of all rows."""

    refit: Annotated[
        bool,
        Flag(),
        "Refit on many splits",
        f"fit it on {REPEATS} random splits of all rows, for several target rates",
    ] = False

    meanings = of.Meanings(
        {
            "wanted": "target rate",
            "attained": "mean rate over the splits",
            "deviation": "standard deviation over the splits",
            "lower": "attained minus two standard deviations",
            "upper": "attained plus two standard deviations",
            "coverage": "mean share of rows answered",
            "kept": "share of splits with at most the target rate",
            "refused": "splits whose calibration rows were too few for the rate",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {_model(scene).title: self._diagram(scene)})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("target rate", "wanted"),
            of.share("attained"),
            of.between("mean ± 2 sd over splits", "lower", "upper"),
            of.share("rows answered", "coverage"),
            of.share("splits that met it", "kept"),
            of.whole("splits refused", "refused"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.constraint", self._diagram(scene))

    def words(self, scene: Scene) -> Words:
        diagram, title = scene.get(self._diagram(scene)), _model(scene).title
        return Words(
            f"{title}: attained against target {diagram.rate}, mean and two standard deviations over "
            f"{diagram.repeats} random splits. The splits overlap, so bars for new data would be wider.",
            f"Attained against target {diagram.rate} of {in_sentence(title)} over {diagram.repeats} splits.",
        )

    def _diagram(self, scene: Scene) -> Call[Any]:
        model = _model(scene)
        if not self.refit:
            raise NotAnswerable(
                f"the attained rate of {in_sentence(model.title)} needs {REPEATS} fits for every target rate; turn on "
                "“Refit on many splits” (refit)"
            )
        return call(cc.diagrams.constraint, model.whole, model.recipe)


def keeping_rates(scene: Scene) -> list[Model]:
    """Return the models whose calibrator controls a rate."""
    return [model for model in scene.models.shown if scene.get(model.fitted).wanted]


def _model(scene: Scene) -> Model:
    """Return the selected model if it controls a rate, else the first that does."""
    models = keeping_rates(scene)
    if not models:
        raise NotAnswerable("no selected calibrator abstains to control a rate")
    return scene.model if scene.model in models else models[0]
