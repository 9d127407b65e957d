"""Effect of a calibrator on scores: fitted parameters, map, and movement of predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.diagrams import CalibrationMap, FittedParameters, Movement, TemperaturePath
from calib_core.registry.registry import Flag, Range
from calib_core.text import inside, score, short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Model, Scene, call, in_sentence, truth

_BLENDED = "the curve of the blend, the curves of its members, and their weights"


@EXHIBITS.register("fitted", "Fitted parameters")
@dataclass(frozen=True)
class FittedExhibit(Exhibit):
    """Parameters of the selected calibrator: temperature, weights, tables and thresholds, with their losses."""

    printed: ClassVar[int | None] = 12

    meanings = of.Meanings(
        {
            "parameter": "name of the parameter",
            "value": "value of the parameter",
            "of": "class of the parameter",
            "place": "position in a table",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {recalibrated(scene).title: _diagram(scene)}, column="calibrator")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        shown = [name for name in ("of", "place") if frame[name].astype(bool).any()]
        headings = {"of": "of", "place": "where"}
        value = of.Column("value", ("value",), score, digits="%.6g")
        return of.text("calibrator"), of.text("parameter"), *(of.text(headings[name], name) for name in shown), value

    def figure(self, scene: Scene) -> Call[Any] | None:
        diagram = _diagram(scene)
        found = scene.get(diagram)
        return call("figures.fitted_parameters", diagram) if found.grids or found.curves else None

    def words(self, scene: Scene) -> Words:
        diagram = scene.get(_diagram(scene))
        title = recalibrated(scene).title
        grids = () if diagram.curves else diagram.grids
        picture = _BLENDED if diagram.curves else ", ".join(inside(grid.title) for grid in grids)
        chosen = any(grid.chosen is not None for grid in grids)
        tables = [grid for grid in grids if len(grid.columns) > 1]
        notes = [
            " Curve: the blend; gray curves and bars: its members and their weights." if diagram.curves else "",
            " Orange: above 0; blue: below 0; darker: further from 0." if any(g.middle == 0 for g in tables) else "",
            " Brighter: larger loss. Framed: chosen values." if chosen else "",
        ]
        return Words(
            f"{title}: {diagram.short}. {diagram.sentence}{''.join(notes)}",
            f"Fitted parameters of {in_sentence(title)}: {picture}." if picture else "",
        ).also(scene.of_all_rows)


def recalibrated(scene: Scene) -> Model:
    """Return the selected recalibrated model, else the first."""
    models = scene.models.recalibrated
    if not models:
        raise NotAnswerable("select a calibrator to see its effect")
    return scene.model if scene.model in models else models[0]


def _diagram(scene: Scene) -> Call[FittedParameters]:
    model = recalibrated(scene)
    return call(cc.diagrams.fitted_parameters, model.fitted, like=model.base.predictions)


OWN = {
    "own": "Separate map, fitted on the rows of this group.",
    "pooled": "Too few calibration rows: small groups share one map.",
    "none": "Too few calibration rows: scores are unchanged.",
}


@EXHIBITS.register("binary-map", "Score before and after")
@dataclass(frozen=True)
class BinaryMapExhibit(Exhibit):
    """Recalibrated score against original score, for calibrators that consist of binary maps."""

    stratum: Annotated[int, Range(0, 1_000_000), "Map", "number of the map (class or rank), from 0"] = 0

    printed: ClassVar[int | None] = 5

    meanings = of.Meanings(
        {
            "score": "score before",
            "output": "score after",
            "lower": "lower end of the interval of the score",
            "upper": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {mapped(scene).title: self._diagram(scene)})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        ends = (of.between("between", "lower", "upper"),) if "lower" in frame else ()
        return of.text("model"), of.share("score before", "score"), of.share("score after", "output"), *ends

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.binary_map", self._diagram(scene))

    def words(self, scene: Scene) -> Words:
        model, diagram = mapped(scene), scene.get(self._diagram(scene))
        strata = scene.get(model.fitted).strata_
        whose = f", {diagram.stratum} (one of {len(strata):,} groups)" if len(strata) > 1 else ""
        band = "" if diagram.lower is None else "Shaded: interval of the probability at each score. "
        return Words(
            f"{model.title}{whose}: {inside(OWN[diagram.own])} {band}Bars: share of the {scene.counted(diagram.rows)} "
            "at each score. Without a bar, the map is extrapolated.",
            f"Score after {model.title} against the score before{whose}.",
        ).also(scene.of_all_rows)

    def _diagram(self, scene: Scene) -> Call[Any]:
        model = mapped(scene)
        last = len(scene.get(model.fitted).strata_) - 1
        return call(cc.diagrams.binary_map, model.fitted, model.base.predictions, min(self.stratum, last))


def made_of_maps(scene: Scene) -> list[Model]:
    """Return the models whose calibrator consists of binary maps."""
    return [model for model in scene.models.shown if scene.get(model.fitted).binary_maps]


def mapped(scene: Scene) -> Model:
    """Return the selected model if its calibrator consists of binary maps, else the first such model."""
    models = made_of_maps(scene)
    if not models:
        raise NotAnswerable(
            "select a calibrator that changes one probability at a time, such as histogram binning, to see its map. "
            "Other calibrators use all probabilities of a row at once"
        )
    return scene.model if scene.model in models else models[0]


Maps = list[Call[CalibrationMap]]


@EXHIBITS.register(
    "calibration-maps", "Calibration maps: where predictions go", reference="P3 §3 and 4.1, Fig. 1 and 2"
)
@dataclass(frozen=True)
class CalibrationMaps(Exhibit):
    """Change of every prediction over three classes by each calibrator, and the true map if known."""

    wrong: Annotated[bool, Flag(), "Remaining error", "each map minus the true map, if that is known"] = False
    across: Annotated[int, Range(1, 4), "Maps in a row", "number of maps next to each other"] = 2

    meanings = of.Meanings(
        {
            "map": "the calibrator, or the true map",
            "start *": "probability of the class before",
            "to *": "probability of the class after",
            "error *": "to minus start",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        drawn = self._drawn(scene.triangle)
        return call(cc.calls.stacked, {scene.get(each).title: each for each in drawn}, "map")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("map"),
            *((of.points if name.startswith("error ") else of.share)(name) for name in frame.columns[1:]),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        scene = scene.triangle
        more: dict[str, Any] = {} if self.across == 2 else {"across": self.across}
        return call("figures.calibration_map", self._drawn(scene), scale=_scale(scene), **more)

    def words(self, scene: Scene) -> Words:
        scene = scene.triangle
        drawn, scale = [scene.get(each) for each in self._drawn(scene)], short_percent(scene.get(_scale(scene)))
        a, b, c = drawn[0].class_names
        largest = "; ".join(f"{each.title}, largest change {short_percent(each.largest)}" for each in drawn)
        arrow = "An arrow leads from a prediction to the recalibrated prediction."
        wrong = "Remaining error: each map minus the true map; an arrow shows the error at its tail."
        colours = f"Gray: no change. Redder: {a} becomes more probable; greener: {b}; bluer: {c}."
        return Words(
            f"{wrong if self.wrong else arrow} {colours} Full color: a change of {scale} or more, on the same scale "
            "in all maps.",
            f"{'Remaining error' if self.wrong else 'Calibration maps'}: {largest}.",
        ).also(
            *(f"{each.title}: {each.note}." for each in drawn if each.note), *self._learned(scene)[1], scene.of_all_rows
        )

    def _drawn(self, scene: Scene) -> Maps:
        """The maps drawn."""
        learned = list(self._learned(scene)[0].values())
        known = truth(scene.model.source)
        if known is None:
            if self.wrong:
                raise NotAnswerable("the true map of these data is not known, so the remaining error is unknown")
            return learned
        true = call(cc.diagrams.true_map, known, class_names=scene.class_names, stem="true map")
        if self.wrong:
            return [call(cc.diagrams.map_difference, each, true) for each in learned]
        return [*learned, true]

    def _learned(self, scene: Scene) -> tuple[dict[str, Call[CalibrationMap]], tuple[str, ...]]:
        """Return every calibrator's map, and a sentence for each that has none."""
        ticked = scene.models.recalibrated
        if not ticked:
            raise NotAnswerable(
                "no calibrator is selected; select one that predicts all classes, such as temperature scaling"
            )
        return scene.answered({model.title: _map(scene, model) for model in ticked})


def _scale(scene: Scene) -> Call[float]:
    """Return the change shown in full color in all maps; it depends on the calibration rows, not on the selection."""
    return call(cc.diagrams.map_scale, scene.models.shown[0].division.part("fit"), stem="scale")


def _map(scene: Scene, model: Model) -> Call[CalibrationMap]:
    names = scene.class_names
    return call(
        cc.diagrams.calibration_map, model.fitted, title=model.title, class_names=names, stem=f"{model.recipe.key} map"
    )


@EXHIBITS.register("movement", "Before and after")
@dataclass(frozen=True)
class MovementExhibit(Exhibit):
    """Accuracy against confidence, or observed frequency against predicted risk, before and after a calibrator."""

    printed: ClassVar[int | None] = 0
    height: ClassVar[int] = 400

    meanings = of.Meanings(
        {
            "stage": "before or after recalibration",
            "risk": "mean risk at this stage of the rows in this bin of the original risk",
            "observed": "observed frequency of the event in those rows",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {recalibrated(scene).title: diagram(scene)}, column="calibrator")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("calibrator"),
            of.text("stage"),
            of.bin_ends("bin", "lower", "upper"),
            of.whole("rows", "count"),
            *(
                (of.share("mean risk", "risk"), of.share("observed frequency", "observed"))
                if "risk" in frame
                else (of.share("mean confidence", "confidence"), of.share("accuracy"))
            ),
        )

    def figure(self, scene: Scene) -> Call[Any]:
        model = recalibrated(scene)
        titles = (model.base.title, model.title)
        return call("figures.movement", diagram(scene), titles=titles, looks=scene.looks)

    def words(self, scene: Scene) -> Words:
        model = recalibrated(scene)
        rows = scene.get(model.predictions)
        bins = "" if scene.bins is None else f" Bins: {scene.in_bins}."
        judged = f"Judged on {scene.unseen(rows.n_rows)}. Filled: bins of 10 rows or more.{bins}"
        if scene.claims != "event":
            return Words(judged, f"Accuracy against confidence, before and after {model.title}.")
        noun, happened = event_words.in_words(scene)
        return Words(
            f"An arrow leads from the mean risk of the {noun} in one bin to their mean risk after recalibration. "
            f"Its vertical position is the share that {happened}. {judged}",
            f"Observed frequency against predicted risk of {event_words.of_scene(scene)}, before and after "
            f"{model.title}.",
        )


def path(scene: Scene) -> tuple[Call[TemperaturePath], float] | None:
    """Return the marks at other temperatures and the fitted temperature; None for other calibrators."""
    model = recalibrated(scene)
    fitted = scene.get(model.fitted).insides().temperature
    # Cross-fitted marks use several temperatures, so no single temperature reproduces them.
    if fitted is None or scene.cross_fitted or not COLDEST <= fitted <= HOTTEST:
        return None
    wanted = call(
        cc.diagrams.temperature_path, model.base.predictions, bins=scene.bins, also=(fitted,), notion=scene.claims
    )
    return None if scene.refusal(wanted) else (wanted, fitted)


COLDEST, HOTTEST = 0.25, 8.0
"""Range of the temperature slider."""


def diagram(scene: Scene) -> Call[Movement]:
    """Return the marks of the original model and of the selected calibrator."""
    model = recalibrated(scene)
    return call(cc.diagrams.movement, model.base.predictions, model.predictions, bins=scene.bins, notion=scene.claims)
