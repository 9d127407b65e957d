"""Estimators of the calibration error: in one notion or several, by number of bins, and against mean squared error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import CALIBRATORS, ESTIMATORS, REDUCTIONS, NotAnswerable
from calib_core.binning import as_binning, bins_said, cuts
from calib_core.defaults import BINS, LEVEL, SIGNIFICANCE
from calib_core.diagrams import swept_estimators, swept_kinds
from calib_core.evaluation.study import error_keys
from calib_core.inference import unit_of
from calib_core.registry.registry import Choice, Flag, Key
from calib_core.text import begun, count, inside, listed, percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Model, Scene, call, division, in_sentence


@EXHIBITS.register("estimators", "Estimators")
@dataclass(frozen=True)
class Estimators(Exhibit):
    """All estimators of the calibration error, for the selected model and notion."""

    reads = "counts"

    slow: Annotated[
        bool,
        Flag(),
        "Include slow estimators",
        "also intervals and noise floors of kernel, smooth, convex and sweep estimators; up to a minute for "
        "thousands of rows",
    ] = False

    height = 620
    terms = ("calibration-error", "noise-floor", "tolerance", "interval", "bins")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        questions = tuple((scene.notion, key) for key in error_keys(scene.notion))
        models = {scene.model.title: scene.among_all(scene.model)}
        found = call(cc.inference.estimates, models, questions, bins=scene.bins, slow=self.slow)
        return call(cc.inference.estimate_lines, found, eps=scene.tolerance)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("error", "title"), *line_words.columns(frame)

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.forest", self.forest(scene), looks=scene.looks)

    def forest(self, scene: Scene) -> Call[Any]:
        """Return the forest diagram; its headline agrees with the verdicts."""
        return call(cc.diagrams.forest, self.table(scene), declared=_deciding(scene), eps=scene.tolerance)

    def words(self, scene: Scene) -> Words:
        notion, drawn = REDUCTIONS[scene.notion], scene.get(self.forest(scene))
        rule = f"one per value for discrete outputs, else {BINS} of equal width"
        chosen = rule if scene.bins is None else bins_said(scene.bins.build())
        caption = f"{notion.title} calibration of {in_sentence(scene.model.title)}, one line per estimator."
        key = (
            "Point with its line: estimate and interval. Tick: raw value, noise included. Gray bar: raw values of 95 % "
            "of calibrated models. Hollow point: no interval. Arrow: outside the chart. Squared errors are shown as "
            "roots. Bold lines of the table are statistically significant (p at most 0.05)."
        )
        for error, titles in drawn.by_smaller_error.items():
            values, errors = (
                ("the raw value is", "this error is")
                if len(titles) == 1
                else ("the raw values are", "these errors are")
            )
            caption += (
                f" {listed(titles)}: {values} not above the noise floor. The verdict is that of the significant "
                f"{error}, because {errors} at least as large."
            )
        more = (
            f"{notion.caption} {line_words.READING} In the table, squared errors are without the root. Bins of the raw "
            f"values: {chosen}; estimators with their own rule for bins use it."
        )
        if not drawn.declared:
            caption += f" None of these is the primary measure: {_rests_on(scene)}."
        verdict, *rest = drawn.sentences
        if scene.claims == "event" and scene.ratio < math.inf:
            verdict = f"Judged by the calibration error only: {inside(verdict)}"
        words = Words(caption, drawn.headline, headline=(verdict, *rest), key=key)
        frame = scene.get(self.table(scene))
        read: tuple[str, ...] = ()
        if frame["verdict"].notna().any():
            of_error = (line_words.OF_ERROR,) if scene.claims == "event" else ()
            read = (line_words.WORDS, *line_words.tolerances(frame, scene.tolerance), *of_error)
        return words.also(more, *read, *line_words.notes(frame), scene.rows_counted)

    def bold(self, frame: pd.DataFrame) -> tuple[int, ...]:
        return tuple(i for i, p in enumerate(frame["p"]) if p <= SIGNIFICANCE)


def _deciding(scene: Scene) -> str:
    """Return the notion of the primary measure; empty if there is none."""
    try:
        return line_words.primary_notion(scene)
    except NotAnswerable:
        return ""


def _rests_on(scene: Scene) -> str:
    decides = _deciding(scene)
    if not decides:
        return "no verdict is possible"
    return f"the verdict uses {REDUCTIONS[decides].title.lower()} calibration, fixed in advance"


NOTIONS = ("top-label", "confidence", "class-wise")


@EXHIBITS.register("notions", "The same error in other notions")
@dataclass(frozen=True)
class Notions(Exhibit):
    """Expected calibration error of every model in the notions that its verdict does not use."""

    reads = "counts"
    costly = True
    terms = ("confidence", "top-label", "class-wise")

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        first = line_words.primary_notion(scene)
        questions = tuple((notion, "ece") for notion in NOTIONS if notion != first)
        models, _ = line_words.answering(scene)
        found = call(cc.inference.estimates, models, questions, bins=scene.bins)
        return call(cc.inference.estimate_lines, found, eps=scene.tolerance)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return of.text("model"), of.text("error", "title"), *line_words.columns(frame)

    def words(self, scene: Scene) -> Words:
        caption = f"These do not change the verdict: its measure was fixed in advance. {line_words.READING}"
        return Words(caption).also(*line_words.notes(scene.get(self.table(scene))), scene.rows_counted)


CLAIMS = ("top", "looked-at")
"""Claims whose errors are shown: confidence (by predicted class if known), the event's risk, or the selected notion."""


@EXHIBITS.register("sweep", "Error against number of bins", reference="P1 Fig. 2")
@dataclass(frozen=True)
class Sweep(Exhibit):
    """The error of every model for every number of bins, with the noise floor."""

    reads = "counts"

    estimator: Annotated[
        str,
        Key("ESTIMATORS", able=swept_estimators().__contains__),
        "Error",
        "how the errors of bins are combined",
    ] = swept_estimators()[0]
    kind: Annotated[
        str,
        Key("BINNINGS", able=swept_kinds().__contains__),
        "Kind of bins",
        "how the bins are placed, and whether their number or their number of rows varies",
    ] = swept_kinds()[0]
    claims: Annotated[
        str,
        Choice(CLAIMS, titles=("Event, or confidence and top-label", "The selected notion")),
        "Claims",
        "the claims whose errors are shown",
    ] = CLAIMS[0]
    intervals: Annotated[bool, Flag(), "Intervals", "show an interval of the error at every number of bins"] = False
    refit: Annotated[
        bool,
        Flag(),
        "Refit binning calibrators",
        "refit binning calibrators for each number of bins, with as many bins as the error uses",
    ] = False

    printed = 10
    height = 440
    terms = ("calibration-error", "bins")
    costly = True
    formula = cc.diagrams.ErrorSweep.formula

    meanings = of.Meanings(
        {
            "bins": "number of bins, or of rows per bin",
            "value": "raw error at this number of bins",
            "floor": "95 % quantile of the raw error of calibrated models in the same bins",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self._sweep(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        unit = unit_of(self.estimator)
        between = of.between if unit == "share" else of.number_between
        return (
            of.text("model"),
            of.text("notion"),
            of.whole("rows per bin" if self._by_rows else "bins", "bins"),
            of.in_unit(ESTIMATORS[self.estimator].title, "value", unit),
            of.in_unit("noise floor", "floor", unit),
            *([between(line_words.AT_LEVEL, "low", "high")] if "low" in frame else []),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.error_sweep", self._sweep(scene), looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        title, notions = ESTIMATORS[self.estimator].title, self._claims(scene)[1]
        swept = scene.get(self._sweep(scene))
        numbers = f"{swept.bins[0]} to {swept.bins[-1]}"
        kind = cc.BINNINGS[self.kind].title.lower()
        over = f"{numbers} rows in each bin" if self._by_rows else f"{numbers} bins of {kind}"
        several = ", ".join(
            f"{dash}: {REDUCTIONS[key].title.lower()}" for dash, key in zip(("dashed", "solid"), notions, strict=False)
        )
        lines = several if len(notions) > 1 else REDUCTIONS[notions[0]].title.lower()
        words = Words(
            f"{title} for {over}; {lines}. Gray: noise floor. With labels drawn from the probabilities of "
            f"{in_sentence(swept.models[0])}, 95 % of the raw values are below it.",
            f"{title} for {over}, one line per model and notion, above the noise floor.",
            self._shown(scene)[2],
        )
        if self.intervals:
            words = words.also(
                f"Bands in a model's color: {line_words.AT_LEVEL}s of the error in that many bins. The raw value can "
                "lie above its interval, because noise inflates it; the interval corrects for that."
            )
        silent = dict.fromkeys(zip(swept.models, swept.notes, strict=True))
        words = words.also(*(f"No noise floor for {model}. {begun(why)}." for model, why in silent if why))
        able = [model.title for model in scene.models.shown if self._anew(model)]
        anew = [title for title in able if title in swept.models]
        return words.also(
            scene.rows_counted,
            f"Refitted for each number of bins: {', '.join(anew)}." if anew else "",
            "None of the models shown is fitted with a number of bins." if self.refit and not able else "",
        )

    @property
    def _by_rows(self) -> bool:
        return bool(cuts(as_binning(self.kind)).rows)

    def _anew(self, model: Model) -> bool:
        """True if the model is refitted for every number of bins."""
        declared = CALIBRATORS[model.recipe.key].flags
        return self.refit and bool(declared.rows if self._by_rows else declared.bins)

    def _claims(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...], tuple[str, ...]]:
        """Return the models' rows by title, their notions, and a sentence for each model left out."""
        if self.claims == CLAIMS[0] and scene.claims != "event":
            models, refused = line_words.answering(scene)
            classes = all(scene.get(rows).kind != "confidence" for rows in models.values())
            return models, ("confidence", "top-label") if classes else ("confidence",), refused
        notion = "event" if self.claims == CLAIMS[0] else scene.notion
        kept, refused = scene.answered(
            scene.each(lambda model: call(cc.estimate, scene.among_all(model), notion, self.estimator, self.kind))
        )
        return {title: rows for title, rows in scene.over_same_rows().items() if title in kept}, (notion,), refused

    def _shown(self, scene: Scene) -> tuple[dict[str, Call[Any]], tuple[str, ...], tuple[str, ...]]:
        """Like `_claims`, with refitted models; a model that cannot be refitted is left out, with a sentence."""
        models, notions, refused = self._claims(scene)
        for model in scene.models.shown:
            if model.title not in models or not self._anew(model):
                continue
            rows = self._fitted_anew(model)
            if (why := scene.refusal(rows)) and len(models) > 1:
                refused = (*refused, f"{model.title}: {why}.")
                models = {title: kept for title, kept in models.items() if title != model.title}
            else:
                models = models | {model.title: rows}
        return models, notions, refused

    def _sweep(self, scene: Scene) -> Call[Any]:
        models, notions, _ = self._shown(scene)
        kind = None if self.kind == swept_kinds()[0] else self.kind
        return call(cc.diagrams.error_sweep, models, notions, self.estimator, kind=kind, intervals=self.intervals)

    def _fitted_anew(self, model: Model) -> Call[Any]:
        every = division(model.source.everywhere)  # its fit serves every slice of the test rows
        return call(cc.calibrators.refitted, every.part("apart"), model.base.predictions, model.recipe)


SPLITS = 5
"""Random splits for comparing binning calibrators."""


@EXHIBITS.register("trade", "Mean squared error against calibration error", reference="P2 Fig. 3")
@dataclass(frozen=True)
class Trade(Exhibit):
    """Mean squared error against squared calibration error, one point per model."""

    curves: Annotated[
        bool,
        Flag(),
        "Curves over numbers of bins",
        "curves over numbers of bins: binning calibrators fitted on half of the rows and evaluated on the rest, "
        "over several splits",
    ] = False
    against: Annotated[
        str,
        Choice(
            ("error", "upper", "plug_in"), titles=("Calibration error", "Upper end of its interval", "Plug-in bound")
        ),
        "Against",
        "the estimated calibration error, the upper end of its interval, or a bound from the error without noise "
        "correction",
    ] = "error"
    printed = 10
    height = 400
    formula = cc.diagrams.TradePoints.formula

    meanings = of.Meanings(
        {
            "points": "a model, or a mean over splits",
            "error": "squared calibration error, debiased",
            "mse": "mean squared error of the predictions",
            "upper": "upper end of the 90 % interval of the squared error",
            "plug_in": "squared error without noise correction, plus its spread",
            "bins": "bins of the calibrator",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        points, curves = self._points(scene), self._curves(scene)
        return call(cc.calls.stacked, {"model": points} | ({"over bins": curves} if curves else {}), column="points")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        more = (of.text("calibrator"), of.whole("bins")) if "bins" in frame else ()
        return (
            of.text("model"),
            *more,
            of.number("squared calibration error", "error"),
            *([of.number(f"upper end, {line_words.AT_LEVEL}", "upper")] if "upper" in frame else []),
            *([of.number("plug-in bound", "plug_in")] if "plug_in" in frame else []),
            of.number("mean squared error", "mse"),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        claims = REDUCTIONS[line_words.primary_notion(scene)].title.lower()
        points, curves = self._points(scene), self._curves(scene)
        options = {} if self.against == "error" else {"against": self.against}
        return call("figures.trade_off", curves=curves, points=points, claims=claims, looks=scene.looks, **options)

    def words(self, scene: Scene) -> Words:
        words = Words(
            "Mean squared error against squared calibration error (debiased), one point per model. Further left: "
            "better calibrated. Further down: better overall.",
            "Mean squared error against calibration error, one point per model.",
        )
        if self.against == "upper":
            words = words.also(
                f"Upper end of the error's {line_words.AT_LEVEL}. Where coverage is tested, the true error exceeds "
                f"it in at most {percent(1 - LEVEL, 0)} of cases. It is not corrected for the number of models."
            )
        if self.against == "plug_in":
            words = words.also(
                "Plug-in bound: the squared error without noise correction, plus its spread over "
                f"{cc.diagrams.trade.RESAMPLES} resamples. Every additional bin adds noise to it. Compared with the "
                "upper end of the interval, it makes many bins look worse than they are."
            )
        points = scene.get(self._points(scene))
        missing = (f"{model}: {note}." for model, note in zip(points.models, points.notes, strict=True) if note)
        wanted = self._wanted(scene)
        why = scene.refusal(wanted) if self.curves else ""
        if not self.curves or why:
            return words.also(*missing, scene.rows_counted, why and f"No curves over numbers of bins: {why}.")
        curves = scene.get(wanted)
        return words.also(
            *missing,
            scene.rows_counted,
            f"Curves: calibrators are fitted on {count(curves.fit_rows)} of {scene.models.shown[0].base.title}'s "
            f"rows and evaluated on the others. Means of {curves.repeats} splits; larger marks for more bins.",
        )

    def _points(self, scene: Scene) -> Call[Any]:
        notion = line_words.primary_notion(scene)
        return call(
            cc.diagrams.trade_points,
            scene.over_same_rows(),
            reduction=notion,
            bins=scene.bins,
            upper=self.against != "error",
        )

    def _wanted(self, scene: Scene) -> Call[Any]:
        rows, notion = scene.models.shown[0].base.predictions, line_words.primary_notion(scene)
        return call(cc.diagrams.trade_off, rows, reduction=notion, repeats=SPLITS, upper=self.against != "error")

    def _curves(self, scene: Scene) -> Call[Any] | None:
        wanted = self._wanted(scene)
        return wanted if self.curves and not scene.refusal(wanted) else None
