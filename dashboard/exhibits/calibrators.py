"""Calibrators side by side: errors before and after, guarantees, costs, side effects, and what remains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pandas as pd

import calib_core as cc
from calib_core import ESTIMATORS, NotAnswerable
from calib_core.defaults import LEVEL
from calib_core.evaluation.study import MEASURES, every_measure
from calib_core.inference import unit_of
from calib_core.inference.comparison.model_differences import DEFAULT
from calib_core.registry.registry import Flag
from calib_core.text import at_level, chance, count, difference, inside, measured, percent, short_percent
from calib_core.text import percent as to_a_tenth
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL
from dashboard.selection import mixed
from dashboard.session import Call, Scene, call

LISTED = 8
"""Names of groups set aside that are listed."""


@EXHIBITS.register("summary", "Before and after")
@dataclass(frozen=True)
class BeforeAndAfter(Exhibit):
    """Accuracy, proper scores and plug-in calibration errors of every model, over the same rows."""

    reads = "counts"
    terms = ("log-loss", "brier-score")

    meanings = of.Meanings(
        {
            "Accuracy": "share of rows that is right",
            "Log loss": "mean of minus log of the probability of what was true",
            "Brier score": "mean squared distance to what was true: summed over classes, of two classes the event's",
            "*-ECE": "raw ECE in the notion named",
            "*-MCE": "largest gap of a bin in the notion named",
            "TL-MCE of bins": "largest gap of a bin, its classes averaged by their rows",
            "bins": "bins that errors are judged in",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.measured, scene.over_same_rows(), bins=scene.bins)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        measures = map(line_words.measured, MEASURES)
        bins = (of.text("Bins", "bins"),) if mixed(frame["bins"]) else ()
        return (of.text("model"), *measures, *bins)

    def words(self, scene: Scene) -> Words:
        frame, rows = scene.get(self.table(scene)), list(scene.predictions().values())
        which = scene.get(call(cc.evaluation.study.rows_said, rows, scene.counting))
        missing = zip(frame["model"], frame["note"], strict=True)
        return Words(
            f"Bins: {scene.in_bins}; plug-in estimates, which noise pushes up. {which}".rstrip(),
        ).also(
            *(f"{title}: {note}." for title, note in missing if note),
            *_abstentions(scene),
            *(
                f"{model.title}{', fitted on all rows' if scene.cross_fitted else ''}: {remark}"
                for model in scene.models.recalibrated
                for remark in scene.get(model.fitted).remarks(LISTED)
            ),
        )


def _abstentions(scene: Scene) -> tuple[str, ...]:
    """What share of the rows each model that abstains leaves unanswered."""
    rows = {model.title: scene.get(model.predictions) for model in scene.abstaining}
    return tuple(f"{title} abstains on {percent(1 - p.coverage)} of {scene.judged_rows}." for title, p in rows.items())


@EXHIBITS.register("calibrators", "Every number of every ticked calibrator")
@dataclass(frozen=True)
class Calibrators(Exhibit):
    """Errors in every notion, proper scores, and what each calibrator's contract says."""

    reads = "counts"
    terms = ("confidence", "top-label", "class-wise", "log-loss", "brier-score")

    meanings = of.Meanings(
        {
            **BeforeAndAfter.meanings,
            "returns": "what its predictions hold",
            "keeps_class": "whether the calibrator never changes the predicted class",
            "keeps_order": "whether it never changes the order of the classes",
            "sums_to_one": "whether its probabilities sum to 1",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        fitted = scene.each(lambda model: model.fitted)
        return call(cc.evaluation.model_tables.standings, scene.over_same_rows(), scene.bins, calibrators=fitted)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator", "model"),
            *(line_words.measured(measure) for measure in every_measure() if measure.name in frame),
            *([of.text("bins")] if mixed(frame["bins"]) else []),
            of.text("returns"),
            of.flag("keeps the class", "keeps_class"),
            of.flag("rows sum to one", "sums_to_one"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(
            f"On {scene.judged_rows}. Empty cells: the calibrator says nothing there, because it recalibrates only the "
            f"claim it makes. Bins: {scene.in_bins}."
        ).also(scene.rows_counted)


NOTIONS = tuple(dict.fromkeys(measure.reduction for measure in every_measure() if measure.reduction))
"""The notions every model is judged in; of many probabilities only the one looked at, since all would take minutes."""


@EXHIBITS.register("calibrator-errors", "Calibration errors of every model")
@dataclass(frozen=True)
class CalibratorErrors(Exhibit):
    """Expected calibration error of every model in every notion, with intervals, noise floors and verdicts."""

    reads = "counts"

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        questions = tuple((notion, "ece") for notion in ((scene.notion,) if scene.large else _asked_of(scene)))
        found = call(cc.inference.estimates, scene.over_same_rows(), questions, bins=scene.bins, by_model=False)
        return call(cc.inference.estimate_lines, found, eps=scene.tolerance)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        titled = of.Column("notion", ("notion",), lambda key: cc.REDUCTIONS[key].title, numeric=False)
        return titled, of.text("model"), *line_words.columns(frame)

    def words(self, scene: Scene) -> Words:
        return Words(
            f"Expected calibration error of every model on {scene.judged_rows}; a model that makes no claims in a "
            f"notion has no numbers there. {line_words.READING}"
        ).also(scene.rows_counted, *line_words.notes(scene.get(self.table(scene))))


def _asked_of(scene: Scene) -> tuple[str, ...]:
    """The notions of these files that say something of their own: an event is one of two classes."""
    rows = scene.get(scene.models.shown[0].predictions)
    scopes = {notion: cc.REDUCTIONS[notion].flags for notion in NOTIONS}
    known = (notion for notion, scope in scopes.items() if rows.event is not None or scope.of != "event")
    return tuple(notion for notion in known if scopes[notion].adds_to(rows.n_classes))


@EXHIBITS.register("costs", "What it costs")
@dataclass(frozen=True)
class CostsExhibit(Exhibit):
    """Accuracy and log loss of every model, and how many rows it answers."""

    reads = "counts"
    static = True

    meanings = of.Meanings(
        {
            "accuracy": "share of the answered rows that is right",
            "log_loss": "log loss of the answered rows",
            "rows": "all rows",
            "answered": "of them those that are answered",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.evaluation.model_tables.costs, scene.predictions())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        # Those of fewer rows would look best by leaving out hard ones.
        same = bool((frame["answered"] == frame["rows"]).all())
        loss = (of.number("log loss", "log_loss", best="low" if same else ""),)
        return (
            of.text("model"),
            of.share("accuracy", best="high" if same else ""),
            *(loss if frame["log_loss"].notna().any() else ()),
            *(() if same else (of.whole("rows answered", "answered"),)),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        rows = scene.counted(int(frame["rows"].max()))
        same, missing = (frame["answered"] == frame["rows"]).all(), frame["log_loss"].isna()
        over = f"Over all {rows}." if same else f"Of {rows}, each model over those it answers."
        dash = " A dash: it says the probability of one class only." if missing.any() and not missing.all() else ""
        return Words(f"{over}{dash}")


@EXHIBITS.register("promises", "What is promised whatever the data")
@dataclass(frozen=True)
class Promises(Exhibit):
    """The bound that holds for each fitted calibrator, at 90 %, or why there is none."""

    static: ClassVar[bool] = True

    meanings = of.Meanings(
        {
            "holds": "whether something is guaranteed whatever the data",
            "sentence": "what, or why nothing",
            "set_aside": "what must be known of the fit",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.models.recalibrated:
            raise NotAnswerable("tick a calibrator: what it promises appears here")
        return call(
            cc.evaluation.model_tables.promises, {model.title: model.fitted for model in scene.models.recalibrated}
        )

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        aside = [of.text("to be known of this fit", "set_aside")] if frame["set_aside"].any() else []
        return of.text("calibrator"), of.flag("holds"), of.text("what is promised, or why nothing", "sentence"), *aside

    def words(self, scene: Scene) -> Words:
        words = Words(
            "A promise is about new rows drawn like the calibration rows, and needs no assumption on what they are "
            f"like. A calibrator without one is judged by its error on {scene.judged_rows}."
        )
        folds = (
            "A promise holds for this map on new rows; of the cross-fitted rows that are judged nothing is promised."
        )
        return words.also(scene.of_all_rows and f"{scene.of_all_rows} {folds}")


SURE = short_percent(0.95)
"""How sure a model is of the rows that are counted."""


def effects(line: Mapping[Any, Any]) -> tuple[tuple[str, str], ...]:
    """The side effects of one calibrator in sentences, each with the name of the icon that goes before it.

    ``line`` is a line of the table of side effects.

    >>> line = {"accuracy": 0.9, "accuracy_before": 0.9, "class_changed": 0.0, "keeps_order": True, "abstained": 0.0}
    >>> line |= {"sure": 10, "sure_before": 12, "sure_right": 0.9, "sure_right_before": 0.5}
    >>> for icon, sentence in effects(line):
    ...     print(icon, sentence)
    check Accuracy stays 90.0 %, and so does the order of the classes.
    equal Predictions of 95 % or more: 12 before, 10 after; accuracy 50.0 % before and 90.0 % after.
    """
    if "risk" in line:
        return _of_risk(line)
    silent = [("block", f"It abstains on {short_percent(line['abstained'])} of the rows.")] if line["abstained"] else []
    return (_decisions(line), *silent, ("equal", _sure(line)))


def _of_risk(line: Mapping[Any, Any]) -> tuple[tuple[str, str], ...]:
    """The same of an event's risk: its mean, and the rows whose risk crosses 50 %."""
    was, now, observed = (to_a_tenth(line[name]) for name in ("risk_before", "risk", "observed"))
    verb = f"stays {now}" if was == now else f"{'falls' if line['risk'] < line['risk_before'] else 'rises'} to {now}"
    mean = f"The mean risk of {was} {verb}; the observed frequency is {observed}."
    silent = [("block", f"It abstains on {short_percent(line['abstained'])} of the rows.")] if line["abstained"] else []
    old, new = (to_a_tenth(line[name]) for name in ("accuracy_before", "accuracy"))
    moved = line["class_changed"]
    if moved == 0:
        decisions = ("check", "No risk crosses 50 %.")
    else:
        # Of every row, not only of those that cross.
        among = "the rows answered" if line["abstained"] else "all rows"
        accuracy = f"the accuracy of {among} " + (f"stays {new}" if old == new else f"goes from {old} to {new}")
        decisions = ("swap_horiz", f"The risks of {short_percent(moved)} of the rows cross 50 %; {accuracy}.")
    return (("equal", mean), *silent, decisions)


def _decisions(line: Mapping[Any, Any]) -> tuple[str, str]:
    now, was = (to_a_tenth(line[name]) for name in ("accuracy", "accuracy_before"))
    if line["class_changed"] == 0 and not line["abstained"]:
        order = ", and so does the order of the classes" if line["keeps_order"] else "; no prediction changes"
        return "check", f"Accuracy stays {now}{order}."
    moved = line["class_changed"]
    changed = "" if moved != moved else f"; {short_percent(moved) if moved else 'none'} of the predictions change"
    among = " among the rows answered" if line["abstained"] else ""
    verb = f"stays {now}" if now == was else f"goes from {was} to {now}"
    return "swap_horiz", f"Accuracy {verb}{among}{changed}."


def _sure(line: Mapping[Any, Any]) -> str:
    before, after = (count(int(line[name])) if line[name] else "none" for name in ("sure_before", "sure"))
    rows = f"Predictions of {SURE} or more: {before} before, {after} after"
    known = [(when, line[name]) for when, name in (("before", "sure_right_before"), ("after", "sure_right"))]
    right = [f"{to_a_tenth(value)} {when}" for when, value in known if value == value]
    return f"{rows}; accuracy {' and '.join(right)}." if right else f"{rows}."


_SURE = (
    of.whole(f"predictions of {SURE} or more, before", "sure_before"),
    of.whole(f"predictions of {SURE} or more, after", "sure"),
    of.share("their accuracy, before", "sure_right_before"),
    of.share("their accuracy, after", "sure_right"),
)
_RISKS = (
    of.share("mean risk before", "risk_before"),
    of.share("mean risk after", "risk"),
    of.share("observed frequency", "observed"),
)


@EXHIBITS.register("side-effects", "Side effects")
@dataclass(frozen=True)
class SideEffectsExhibit(Exhibit):
    """Accuracy gained or lost, rows whose class changed, and rows no longer answered."""

    static: ClassVar[bool] = True

    meanings = of.Meanings(
        {
            "accuracy_change": "accuracy after less accuracy before",
            "accuracy": "share of the rows answered after recalibration that is right",
            "accuracy_before": "share of all rows that was right before",
            "class_changed": "share of rows whose predicted class is another one",
            "abstained": "share of rows that is no longer answered",
            "sure": "rows of confidence 95 % or more after",
            "sure_before": "rows of confidence 95 % or more before",
            "sure_right": "share right of the rows that are sure after",
            "sure_right_before": "share right of the rows that were sure before",
            "risk": "mean risk after, of the rows answered",
            "risk_before": "mean risk before, of the same rows",
            "observed": "share of those rows in which the event happened",
            "keeps_class": "whether the calibrator never changes the predicted class",
            "keeps_order": "whether it never changes the order of the classes",
            "sums_to_one": "whether its probabilities sum to 1",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.models.recalibrated:
            raise NotAnswerable("tick a calibrator: what it does to the decisions appears here")
        return call(cc.evaluation.model_tables.side_effects, *scene.recalibrations, notion=scene.claims)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator"),
            of.points("accuracy change", "accuracy_change"),
            of.share("accuracy before", "accuracy_before"),
            of.share("accuracy after", "accuracy"),
            of.share("rows whose class changed", "class_changed"),
            of.share("rows it abstains on", "abstained"),
            *(_RISKS if "risk" in frame else _SURE),
            of.flag("keeps the class", "keeps_class"),
            of.flag("keeps the order of the classes", "keeps_order"),
            of.flag("rows sum to one", "sums_to_one"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(f"What recalibration does to the decisions on {scene.judged_rows}, and what each contract says.")


@EXHIBITS.register("score-parts", "What recalibration could still gain", reference="Berta et al. 2025")
@dataclass(frozen=True)
class ScoreParts(Exhibit):
    """Log loss and Brier score in two parts: what a map of the probabilities would take off, and what would remain."""

    slow: Annotated[
        bool, Flag(), "Fit maps in folds", "of every model and its base: seconds for thousands of rows and ten classes"
    ] = False

    terms = ("log-loss",)

    meanings = of.Meanings(
        {
            "score": "log loss or Brier score",
            "part": "whole score, calibration loss or refinement loss",
            "before": "before recalibration",
            "after": "after recalibration",
            "change": "after less before",
            "low": "lower end of the 90 % interval of the change",
            "high": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.models.recalibrated:
            raise NotAnswerable("tick a calibrator: what could still be gained after it appears here")
        if not self.slow:
            raise NotAnswerable(
                "what recalibration could still gain takes fits of maps in folds of rows: ask for them (slow)"
            )
        before, after, _ = scene.recalibrations
        return call(cc.evaluation.score_decomposition.parts_of_scores, before, after)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator"),
            of.titled("score", ESTIMATORS),
            of.Column("part", ("part",), cc.evaluation.score_decomposition.PARTS.__getitem__, numeric=False),
            of.number("before"),
            of.number("after"),
            of.number_between("interval, after", "after_low", "after_high"),
            of.number("change"),
            of.number_between(AT_LEVEL, "low", "high"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        refused = frame[frame["note"] != ""].drop_duplicates(["calibrator", "note"])
        return Words(
            "Calibration loss: what recalibrating these rows takes off the score on rows that no fit has seen, as far "
            "as the maps tried can tell; the refinement loss remains. An interval that reaches 0: nothing is shown to "
            "be gained."
        ).also(
            "The calibration loss is estimated from below: a better map could take off more. It can be less than 0 by "
            "chance. Two quick maps are tried, and leaving all as it is; each fold of rows is judged with what did "
            "best on the others. Intervals, each by itself, take the fitted maps as they are.",
            "Where a calibrator gives the predicted class alone, before and after are judged as right or wrong.",
            "Rows are cross-fitted: maps have seen rows of each other's folds, so that what is left after a calibrator "
            "is a rough guide."
            if scene.cross_fitted
            else "",
            *(f"{line.calibrator}: {line.note}." for line in refused.itertuples()),
        )


QUESTIONS = ((None, "log-loss"), ("confidence", DEFAULT))
"""Notion and estimator of the comparison: whole predictions by their log loss, else the error of the confidence."""
MOST = 3
"""Models that the first is compared with; all pairs are a table."""


def better(scene: Scene) -> tuple[str, ...]:
    """The first file's model beside each other file's, as they are; empty where there is one file."""
    models = scene.bases[: MOST + 1]
    if len(models) < 2:
        return ()
    rows = {model.title: model.predictions for model in models}
    for notion, key in QUESTIONS:
        try:
            found = scene.get(call(cc.compare, rows, notion, key))
        except NotAnswerable:
            continue
        lines = [line for line in found.to_dict("records") if line["first"] == models[0].title]
        if lines and not any(line["note"] for line in lines):
            return tuple(_sentence(line, key) for line in lines)
    return ()


def _sentence(line: Mapping[Any, Any], key: str) -> str:
    """What a line of a comparison says of the first beside the second."""
    first, second, name, unit = line["first"], line["second"], inside(ESTIMATORS[key].title), unit_of(key)
    low, high = difference(line["low"], unit), difference(line["high"], unit)
    sure = f"{at_level(LEVEL)} interval of the difference {low} to {high}, {chance(line['p'])}"
    values = f"{name} {measured(line['first_value'], unit)} against {measured(line['second_value'], unit)}"
    if line["verdict"] == "better":
        return f"{first} is better than {second}: {values} ({sure})."
    if line["verdict"] == "worse":
        values = f"{name} {measured(line['second_value'], unit)} against {measured(line['first_value'], unit)}"
        return f"{second} is better than {first}: {values} ({sure}, {first} less {second})."
    if line["verdict"] == "equivalent":
        return f"{first} and {second} are as good as each other within the margin: {values} ({sure})."
    if line["verdict"] == "not worse":
        return f"{first} is not shown to be better than {second}, nor to be worse by the margin: {values} ({sure})."
    return f"Whether {first} or {second} is better cannot be told from these rows: {values} ({sure})."


def first_named(scene: Scene) -> str:
    """The first file's name, where there are others that could be meant; else empty."""
    return scene.bases[0].title if len(scene.bases) > 1 else ""
