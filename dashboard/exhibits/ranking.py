"""What confidences are good for besides calibration: ranking rows, withholding some, stating levels, naming sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.diagrams import REPEATS, Levels, RiskCoverage
from calib_core.inference.comparison.skills import COVERAGE
from calib_core.registry.registry import Flag, Range
from calib_core.text import in_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL, methods_of
from dashboard.session import Call, Model, Scene, call

SHARE = Range(0.05, 1.0, 0.05)
"""Shares of rows that can be chosen to be answered."""


@EXHIBITS.register("selective", "Answering only where it is sure", reference="Geifman & El-Yaniv 2017")
@dataclass(frozen=True)
class Selective(Exhibit):
    """How often each model is wrong among the rows it is surest of, for every share of rows that is answered."""

    coverage: Annotated[float, SHARE, "Share of rows answered", "the surest rows, ties together"] = COVERAGE

    printed = 10
    height = 420
    formula = RiskCoverage.formula

    meanings = of.Meanings(
        {
            "threshold": "rows of this confidence or more are answered",
            "coverage": "share of all rows that is answered",
            "rows": "number of rows that are answered",
            "risk": "share of the answered rows that is wrong",
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
            of.share("wrong", "risk"),
            of.between(AT_LEVEL, "low", "high"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.selective", self._curves(scene)[0], coverage=self.coverage, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        curves, refused = self._curves(scene)
        found = tuple(f"{name}: {scene.get(each).headline(self.coverage)}." for name, each in curves.items())
        return Words(
            "From left to right more rows are answered, the surest first. A faint line is the share of all rows that "
            "is wrong: a curve that stays on it would say that confidence tells nothing.",
            f"Share wrong against share answered, a curve per model. {' '.join(found)}",
            headline=found,
        ).also(
            "Rows of one confidence are answered together, so that a little more than the share chosen can be. Each "
            f"interval stands alone ({methods_of(scene, curves.values())}); a point picked for its risk is one of many "
            "looked at.",
            *refused,
        )

    def _curves(self, scene: Scene) -> tuple[dict[str, Call[RiskCoverage]], tuple[str, ...]]:
        return scene.answered(scene.each(lambda model: call(cc.diagrams.selective, model.predictions)))


@EXHIBITS.register(
    "uses", "Ranking, surest answers and sets of classes", reference="Sadinle et al. 2019; Romano et al. 2020"
)
@dataclass(frozen=True)
class Uses(Exhibit):
    """What confidences are used for, before and after: to rank rows, to answer the surest, to name sets of classes."""

    coverage: Annotated[float, SHARE, "Share of rows answered", "the surest rows, ties together"] = COVERAGE

    costly = True

    meanings = of.Meanings(
        {
            "measure": "short name of the measure",
            "unit": "how its numbers are read",
            "before": "before recalibration",
            "after": "after recalibration",
            "change": "after less before",
            "low": "lower end of the 90 % interval of the change",
            "high": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.models.recalibrated:
            raise NotAnswerable("tick a calibrator: what it does to ranking and to sets of classes appears here")
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
            "Ranking: the chance that a right answer has more confidence than a wrong one, ties half. Pairs of rows "
            "turned round: of all pairs the share whose order by confidence (for an event, by its risk) is another. "
            "Sets: so many classes that "
            f"{wanted} of the rows have the right one among them; the smaller, the better.",
            headline=cc.evaluation.usefulness.sentences(frame),
        ).also(
            f"Sets are made for each half of the rows with the other: then each holds the right class with "
            f"probability {wanted} or more, whatever the probabilities are worth, if rows are drawn alike and each on "
            "its own. LAC: all classes whose "
            "probability reaches one threshold; a set can be empty. APS: the likeliest classes first, until little is "
            "left, never at random.",
            "Each interval is by itself, of after less before on the same rows, by what every row adds; for sets it "
            "knows that thresholds are estimated, too. Pairs of rows are counted, so have none.",
            "Ranking by an event's risk and pairs of rows are compared within folds: rows of different folds have "
            "different maps, although the map used afterwards is one. For their sets that probability is not proven."
            if scene.cross_fitted
            else "",
            *(f"{'; '.join(dict.fromkeys(titles))}: {note}." for note, titles in refused),
        )


@EXHIBITS.register("skills", "What the confidences are good for", reference="Geifman, Uziel & El-Yaniv 2019")
@dataclass(frozen=True)
class Skills(Exhibit):
    """How far each model's confidences are off on average, and how well they tell right answers from wrong ones."""

    coverage: Annotated[float, SHARE, "Share of rows answered", "the surest rows, ties together"] = COVERAGE

    terms = ("over-confident",)

    meanings = of.Meanings(
        {
            "rows": "rows answered",
            "accuracy": "share of them that is right",
            "mean_confidence": "their mean confidence",
            "overconfidence": "mean confidence less accuracy",
            "skill": "share of the squared error saved that saying the accuracy for every row has",
            "auroc": "chance that a right row has more confidence than a wrong one, ties half",
            "risk_area": "mean share wrong over all shares of rows answered, the surest first",
            "excess_area": "risk area less that of the best order",
            "answered": "share of rows that is answered",
            "accuracy_answered": "share right of the surest rows answered",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.skills, scene.predictions(), self.coverage)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        share = in_percent(self.coverage)
        return (
            of.text("model"),
            of.whole("rows"),
            of.share("right", "accuracy"),
            of.share("says", "mean_confidence"),
            of.points("says too much", "overconfidence"),
            of.difference_between("interval, says too much", "overconfidence_low", "overconfidence_high", "share"),
            of.number("skill"),
            _ends("skill"),
            of.number("ranking", "auroc"),
            _ends("auroc", "ranking"),
            of.error("area", "risk_area"),
            of.between("interval, area", "risk_area_low", "risk_area_high"),
            of.error("avoidable area", "excess_area"),
            of.between("interval, avoidable area", "excess_area_low", "excess_area_high"),
            of.share("surest rows answered", "answered"),
            of.share(f"right in surest {share}", "accuracy_answered"),
            of.between(f"interval, surest {share}", "accuracy_answered_low", "accuracy_answered_high"),
        )

    def words(self, scene: Scene) -> Words:
        notes = scene.get(self.table(scene)).set_index("model")["note"]
        return Words(
            "Ranking: the chance that a right answer has more confidence than a wrong one, ties half (AUROC; 0.5: "
            "confidence tells nothing). Skill: the share of the squared error saved that saying the same for every row "
            "has; below 0 the confidences are worse than that."
        ).also(
            "Says too much: mean confidence less the share right; below 0 it says too little. Area: the mean, over all "
            "shares of rows answered, of the share wrong among them, the surest first; avoidable: what of it the best "
            "order of the same rows would not have. Rows of equal confidence are answered together, so that the surest "
            f"{in_percent(self.coverage)} can be more.",
            "Intervals at 90 %, each by itself: for shares right and for what is said too much Clopper and Pearson's, "
            "exact where rows are independent and count alike; for ranking DeLong's, for skill and areas by what each "
            "row adds, tested by simulation where 10 rows or more are right and 10 wrong. Rows that belong together "
            "are taken together.",
            *(f"{name}: {note}." for name, note in notes[notes != ""].items()),
        )


def _ends(name: str, heading: str = "") -> of.Column:
    return of.number_between(f"interval, {heading or name}", f"{name}_low", f"{name}_high")


MEASURES = {
    "overconfidence": "says too much",
    "brier": "squared error",
    "skill": "skill",
    "auroc": "ranking",
    "risk_area": "area",
}
"""What the measures compared are called."""


@EXHIBITS.register("skill-pairs", "Confidences of two models, on the same rows")
@dataclass(frozen=True)
class SkillPairs(Exhibit):
    """Differences of every pair of models in what is said too much, squared error, skill, ranking and area."""

    meanings = of.Meanings(
        {
            "measure": "what is compared",
            "difference": "value of the first less that of the second",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.skill_differences, scene.over_same_rows())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("first"),
            of.text("second"),
            of.Column("measure", ("measure",), MEASURES.__getitem__, numeric=False),
            of.number("of the first", "first_value"),
            of.number("of the second", "second_value"),
            of.number("difference"),
            of.number_between(AT_LEVEL, "low", "high"),
            of.probability("p"),
            of.probability("p, Holm", "p_holm"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        refused = frame.loc[frame["note"] != "", "note"].drop_duplicates()
        return Words(
            "The first less the second. What is said too much, squared error and area are better small; skill and "
            "ranking (AUROC) large. p: of no difference; Holm: corrected for all lines."
        ).also(
            "Each interval is by itself, by what every row adds to the difference (for ranking DeLong's paired one), "
            "told where 10 rows or more are right and 10 wrong of both.",
            scene.rows_counted,
            *(f"{why}." for why in refused),
        )


@EXHIBITS.register("levels", "Confidence levels", reference="Clopper & Pearson 1934; Holm 1979")
@dataclass(frozen=True)
class LevelsExhibit(Exhibit):
    """How often each model is right at every confidence it states, where it states few different ones."""

    height = 480
    terms = ("over-confident",)
    formula = Levels.formula

    meanings = of.Meanings(
        {
            "confidence": "the confidence that is stated",
            "share": "share of all rows that state it",
            "right": "share of the rows that state it that is right",
            "stands_out": "side on which the level is significantly off (p_holm at most 0.05), else empty",
            "p": "two-sided binomial p of as many right rows if each is right with the stated confidence",
            "p_holm": "the same, corrected by Holm's rule for the levels of the model",
        }
    )

    def points(self, model: Model) -> Call[Levels]:
        """The levels of a model."""
        return call(cc.diagrams.levels, model.predictions)

    def levels(self, scene: Scene) -> tuple[dict[str, Call[Levels]], tuple[str, ...]]:
        """The levels of the models that state few, by title, and a sentence for each other."""
        return scene.answered(scene.each(self.points))

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, self.levels(scene)[0])

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("says", "confidence"),
            of.whole("rows"),
            of.share("of all", "share"),
            of.share("right"),
            of.between(AT_LEVEL, "low", "high"),
            of.probability("p"),
            of.probability("p, Holm", "p_holm"),
            of.text("stands out", "stands_out"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.levels", self.levels(scene)[0], looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        found, refused = self.levels(scene)
        findings = tuple(f"{title}: {scene.get(each).headline}." for title, each in found.items())
        return Words(
            "A point per confidence that is stated: on the dashed line it is right as often as it says. The larger "
            "the point, the more rows; pale where the level does not stand out.",
            f"Share that is right against stated confidence. {' '.join(findings)}",
            headline=findings,
        ).also(
            f"Each interval stands alone ({methods_of(scene, found.values())}). A level stands out where a test of its "
            "rows finds it off with p at most 0.05, corrected by Holm's rule for the number of levels of its model. "
            "One of few rows hardly can.",
            *refused,
        )


@EXHIBITS.register("rates", "Is the rate kept?", reference="P4 Fig. 1 and 2")
@dataclass(frozen=True)
class Rates(Exhibit):
    """Attained against wanted rate of a calibrator that abstains to keep one, over repeated splits of all rows."""

    refit: Annotated[
        bool,
        Flag(),
        "Fit again on many splits",
        f"fit it on {REPEATS} random splits of all rows, for several wanted rates",
    ] = False

    meanings = of.Meanings(
        {
            "wanted": "rate that is asked for",
            "attained": "mean rate over the splits",
            "deviation": "standard deviation over the splits",
            "lower": "attained less two deviations",
            "upper": "attained and two deviations",
            "coverage": "mean share of rows answered",
            "kept": "share of splits that kept the rate",
            "refused": "splits whose calibration rows could not carry the rate",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {_model(scene).title: self._diagram(scene)})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.share("wanted"),
            of.share("attained"),
            of.between("mean ± 2 sd over splits", "lower", "upper"),
            of.share("rows answered", "coverage"),
            of.share("splits that kept it", "kept"),
            of.whole("splits refused", "refused"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.constraint", self._diagram(scene))

    def words(self, scene: Scene) -> Words:
        diagram, title = scene.get(self._diagram(scene)), _model(scene).title
        return Words(
            f"{title}: attained against wanted {diagram.rate}, mean and two standard deviations over {diagram.repeats} "
            "random splits. The splits overlap: for new data the bars would be wider.",
            f"Attained against wanted {diagram.rate} of {title} over {diagram.repeats} splits.",
        )

    def _diagram(self, scene: Scene) -> Call[Any]:
        model = _model(scene)
        if not self.refit:
            raise NotAnswerable(
                f"whether {model.title} keeps its rate takes {REPEATS} fits for every wanted rate: ask for them (refit)"
            )
        return call(cc.diagrams.constraint, model.whole, model.recipe)


def keeping_rates(scene: Scene) -> list[Model]:
    """The models whose calibrator controls a rate."""
    return [model for model in scene.models.shown if scene.get(model.fitted).wanted]


def _model(scene: Scene) -> Model:
    """The model looked at where it keeps a rate, else the first that does."""
    models = keeping_rates(scene)
    if not models:
        raise NotAnswerable("no ticked calibrator abstains to keep a rate")
    return scene.model if scene.model in models else models[0]
