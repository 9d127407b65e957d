"""Comparison of calibrators: errors before and after, guarantees, costs, side effects, and remaining loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pandas as pd

import calib_core as cc
from calib_core import ESTIMATORS, NotAnswerable
from calib_core.evaluation.study import MEASURES, every_measure
from calib_core.registry.registry import Flag
from calib_core.text import count, listed, percent, short_percent
from calib_core.text import percent as to_a_tenth
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL
from dashboard.selection import mixed
from dashboard.session import Call, Scene, call

LISTED = 8
"""Largest number of excluded groups that are listed."""


@EXHIBITS.register("summary", "Before and after, in numbers")
@dataclass(frozen=True)
class BeforeAndAfter(Exhibit):
    """Accuracy, proper scores and plug-in calibration errors of every model, on the same rows."""

    reads = "counts"
    terms = ("log-loss", "brier-score")

    meanings = of.Meanings(
        {
            "Accuracy": "accuracy",
            "Log loss": "mean of minus the log probability of the true class",
            "Brier score": "mean squared distance from the outcome: summed over classes; with two classes, the event's",
            "*-ECE": "raw ECE in the named notion",
            "*-MCE": "largest gap of a bin in the named notion",
            "TL-MCE of bins": "largest gap of a bin, averaged over its classes by their rows",
            "bins": "bins of the errors",
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
            f"Bins: {scene.in_bins}. Errors are raw ECE, inflated by noise. {which}".rstrip(),
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
    """Return the share of rows on which each abstaining model gives no answer."""
    rows = {model.title: scene.get(model.predictions) for model in scene.abstaining}
    return tuple(f"{title} abstains on {percent(1 - p.coverage)} of {scene.judged_rows}." for title, p in rows.items())


@EXHIBITS.register("calibrators", "All numbers of all selected calibrators")
@dataclass(frozen=True)
class Calibrators(Exhibit):
    """Errors in every notion, proper scores, and the properties of each calibrator."""

    reads = "counts"
    terms = ("confidence", "top-label", "class-wise", "log-loss", "brier-score")

    meanings = of.Meanings(
        {
            **BeforeAndAfter.meanings,
            "returns": "what its predictions contain",
            "keeps_class": "whether no predicted class changes",
            "keeps_order": "whether it keeps the order of the classes",
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
            f"On {scene.judged_rows}. Empty cells: not defined, because the calibrator recalibrates only one claim "
            f"per row. CW: class-wise; conf: confidence; TL: top-label. Bins: {scene.in_bins}."
        ).also(scene.rows_counted)


NOTIONS = tuple(dict.fromkeys(measure.reduction for measure in every_measure() if measure.reduction))
"""Notions of all errors; for many probabilities only the selected notion, since all would take minutes."""


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
            f"Expected calibration error of every model on {scene.judged_rows}; a model has no numbers in a notion "
            f"that its output does not define. {line_words.READING}"
        ).also(scene.rows_counted, *line_words.notes(scene.get(self.table(scene))))


def _asked_of(scene: Scene) -> tuple[str, ...]:
    """Notions that add information for these files: the event exists only for two classes."""
    rows = scene.get(scene.models.shown[0].predictions)
    scopes = {notion: cc.REDUCTIONS[notion].flags for notion in NOTIONS}
    known = (notion for notion, scope in scopes.items() if rows.event is not None or scope.of != "event")
    return tuple(notion for notion in known if scopes[notion].adds_to(rows.n_classes))


@EXHIBITS.register("costs", "Accuracy and log loss")
@dataclass(frozen=True)
class CostsExhibit(Exhibit):
    """Accuracy and log loss of every model, and how many rows it answers."""

    reads = "counts"
    static = True

    meanings = of.Meanings(
        {
            "accuracy": "accuracy over the answered rows",
            "log_loss": "log loss of the answered rows",
            "rows": "all rows",
            "answered": "answered rows",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.evaluation.model_tables.costs, scene.predictions())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        # A model that answers fewer rows could look best by leaving out hard ones.
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
        over = f"Over all {rows}." if same else f"Of {rows}, each model over the rows that it answers."
        dash = " A dash: it predicts the probability of one class only." if missing.any() and not missing.all() else ""
        return Words(f"{over}{dash}")


@EXHIBITS.register("promises", "Guarantees without assumptions on the data")
@dataclass(frozen=True)
class Promises(Exhibit):
    """The guarantee of each fitted calibrator at 90 %, or the reason why there is none."""

    static: ClassVar[bool] = True

    meanings = of.Meanings(
        {
            "holds": "whether there is a guarantee without assumptions on the data",
            "sentence": "the guarantee, or why there is none",
            "set_aside": "note on this fit",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.models.recalibrated:
            raise NotAnswerable("select a calibrator to see its guarantee")
        return call(
            cc.evaluation.model_tables.promises, {model.title: model.fitted for model in scene.models.recalibrated}
        )

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        aside = [of.text("note on this fit", "set_aside")] if frame["set_aside"].any() else []
        return (
            of.text("calibrator"),
            of.flag("guaranteed", "holds"),
            of.text("guarantee, or why there is none", "sentence"),
            *aside,
        )

    def words(self, scene: Scene) -> Words:
        words = Words(
            "A guarantee is about new rows drawn like the calibration rows and needs no other assumption. A "
            f"calibrator without one is judged by its error on {scene.judged_rows}."
        )
        folds = "A guarantee applies to this calibrator on new rows, not to the cross-fitted rows that are judged."
        return words.also(scene.of_all_rows and f"{scene.of_all_rows} {folds}")


SURE = short_percent(0.95)
"""Confidence from which predictions are counted."""


def effects(line: Mapping[Any, Any]) -> tuple[tuple[str, str], ...]:
    """Side effects of one calibrator in sentences, each with the name of its icon.

    ``line``: a line of the table of side effects.

    >>> line = {"accuracy": 0.9, "accuracy_before": 0.9, "class_changed": 0.0, "keeps_order": True, "abstained": 0.0}
    >>> line |= {"sure": 10, "sure_before": 12, "sure_right": 0.9, "sure_right_before": 0.5}
    >>> for icon, sentence in effects(line):
    ...     print(icon, sentence)
    check Accuracy stays at 90.0 %, and the order of the classes does not change.
    equal Predictions of 95 % or more: 12 before, 10 after; accuracy 50.0 % before and 90.0 % after.
    """
    if "risk" in line:
        return _of_risk(line)
    silent = [("block", f"It abstains on {short_percent(line['abstained'])} of the rows.")] if line["abstained"] else []
    return (_decisions(line), *silent, ("equal", _sure(line)))


def _of_risk(line: Mapping[Any, Any]) -> tuple[tuple[str, str], ...]:
    """Side effects on an event's risk: its mean, and the rows whose risk crosses 50 %."""
    was, now, observed = (to_a_tenth(line[name]) for name in ("risk_before", "risk", "observed"))
    verb = f"{'falls' if line['risk'] < line['risk_before'] else 'rises'} from {was} to {now}"
    mean = f"Mean risk {f'stays {now}' if was == now else verb}; the observed frequency is {observed}."
    silent = [("block", f"It abstains on {short_percent(line['abstained'])} of the rows.")] if line["abstained"] else []
    old, new = (to_a_tenth(line[name]) for name in ("accuracy_before", "accuracy"))
    moved = line["class_changed"]
    if moved == 0:
        decisions = ("check", "No risk crosses 50 %, so no predicted class changes.")
    else:
        # Of every row, not only of those that cross.
        among = "the rows answered" if line["abstained"] else "all rows"
        accuracy = f"the accuracy of {among} " + (f"stays {new}" if old == new else f"goes from {old} to {new}")
        decisions = (
            "swap_horiz",
            f"The risks of {short_percent(moved)} of the rows cross 50 %; {accuracy}.",
        )
    return (("equal", mean), *silent, decisions)


def _decisions(line: Mapping[Any, Any]) -> tuple[str, str]:
    now, was = (to_a_tenth(line[name]) for name in ("accuracy", "accuracy_before"))
    if line["class_changed"] == 0 and not line["abstained"]:
        order = (
            ", and the order of the classes does not change" if line["keeps_order"] else "; no predicted class changes"
        )
        return "check", f"Accuracy stays at {now}{order}."
    moved = line["class_changed"]
    changed = "" if moved != moved else f"; {short_percent(moved) if moved else 'none'} of the predicted classes change"
    among = " among the rows answered" if line["abstained"] else ""
    verb = f"stays at {now}" if now == was else f"goes from {was} to {now}"
    return "swap_horiz", f"Accuracy {verb}{among}{changed}."


def _sure(line: Mapping[Any, Any]) -> str:
    before, after = (count(int(line[name])) if line[name] else "none" for name in ("sure_before", "sure"))
    rows = f"Predictions of {SURE} or more: {before} before, {after} after"
    known = [(when, line[name]) for when, name in (("before", "sure_right_before"), ("after", "sure_right"))]
    right = [f"{to_a_tenth(value)} {when}" for when, value in known if value == value]
    return f"{rows}; accuracy {listed(right)}." if right else f"{rows}."


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
    """Change of accuracy, rows with a changed class, and rows on which the calibrator abstains."""

    static: ClassVar[bool] = True

    meanings = of.Meanings(
        {
            "accuracy_change": "accuracy after minus accuracy before",
            "accuracy": "accuracy after, over the answered rows",
            "accuracy_before": "accuracy before, over all rows",
            "class_changed": "share of rows whose predicted class changes",
            "abstained": "share of rows on which the calibrator abstains",
            "sure": "rows of confidence 95 % or more after",
            "sure_before": "rows of confidence 95 % or more before",
            "sure_right": "accuracy of the rows of confidence 95 % or more after",
            "sure_right_before": "accuracy of the rows of confidence 95 % or more before",
            "risk": "mean risk after, of the rows answered",
            "risk_before": "mean risk before, of the same rows",
            "observed": "observed frequency of the event in those rows",
            "keeps_class": "whether the calibrator keeps every predicted class",
            "keeps_order": "whether it keeps the order of the classes",
            "sums_to_one": "whether its probabilities sum to 1",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.models.recalibrated:
            raise NotAnswerable("select a calibrator to see its side effects")
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
        return Words(
            f"Effect of recalibration on decisions for {scene.judged_rows}, and the properties of each calibrator."
        )


@EXHIBITS.register("score-parts", "Remaining gain from recalibration", reference="Berta et al. 2025")
@dataclass(frozen=True)
class ScoreParts(Exhibit):
    """Log loss and Brier score in two parts: the part that recalibration could remove, and the part that remains."""

    slow: Annotated[
        bool,
        Flag(),
        "Fit by cross-validation",
        "for every model and its base; takes seconds for thousands of rows and ten classes",
    ] = False

    terms = ("log-loss",)

    meanings = of.Meanings(
        {
            "score": "log loss or Brier score",
            "part": "total score, calibration loss or refinement loss",
            "before": "before recalibration",
            "after": "after recalibration",
            "change": "after minus before",
            "low": "lower end of the 90 % interval of the change",
            "high": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if not scene.models.recalibrated:
            raise NotAnswerable("select a calibrator to see the remaining gain")
        if not self.slow:
            raise NotAnswerable(
                "the remaining gain needs calibrators fitted by cross-validation; turn on “Fit by "
                "cross-validation” (slow)"
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
            "Calibration loss: how much recalibration improves the score on held-out rows, with the best "
            "calibrator tried. Refinement loss: the rest. If an interval includes 0, no gain is shown."
        ).also(
            "The calibration loss is a lower estimate: a better calibrator could improve the score more. It can be "
            "below 0 by chance. Two fast calibrators and the original model are tried; each fold uses the best "
            "on the other folds. Intervals treat the fitted calibrators as fixed and are not corrected for "
            "multiple testing.",
            "For a calibrator that predicts only the top class, the scores before and after are those of the "
            "confidence.",
            "Rows are cross-fitted: calibrators share training rows across folds, so the remaining loss is a rough "
            "guide."
            if scene.cross_fitted
            else "",
            *(f"{line.calibrator}: {line.note}." for line in refused.itertuples()),
        )


def first_named(scene: Scene) -> str:
    """Return the first file's name if there are several files, else an empty string."""
    return scene.bases[0].title if len(scene.bases) > 1 else ""
