"""What a calibrator does to scores: its fitted numbers, its map, and where predictions move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.diagrams import CalibrationMap, FittedParameters, Movement, TemperaturePath
from calib_core.registry.registry import Flag, Range
from calib_core.text import inside, short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import event_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Model, Scene, call, truth


@EXHIBITS.register("fitted", "What was fitted")
@dataclass(frozen=True)
class FittedExhibit(Exhibit):
    """The parameters of the calibrator looked at: temperature, weights, tables, thresholds, with their losses."""

    printed: ClassVar[int | None] = 12

    meanings = of.Meanings(
        {
            "parameter": "name of the number",
            "value": "the number",
            "of": "class that it belongs to",
            "place": "where in a table it stands",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {recalibrated(scene).title: _diagram(scene)}, column="calibrator")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        shown = [name for name in ("of", "place") if frame[name].astype(bool).any()]
        headings = {"of": "of", "place": "where"}
        value = of.Column("value", ("value",), lambda v: f"{v:,.3g}".replace("-", "−"), digits="%.6g")
        return of.text("calibrator"), of.text("parameter"), *(of.text(headings[name], name) for name in shown), value

    def figure(self, scene: Scene) -> Call[Any] | None:
        diagram = _diagram(scene)
        return call("figures.fitted_parameters", diagram) if scene.get(diagram).grids else None

    def words(self, scene: Scene) -> Words:
        diagram = scene.get(_diagram(scene))
        title = recalibrated(scene).title
        picture = ", ".join(inside(grid.title) for grid in diagram.grids)
        chosen = any(grid.chosen is not None for grid in diagram.grids)
        tables = [grid for grid in diagram.grids if len(grid.columns) > 1]
        notes = [
            " Orange: above 0, blue: below; the deeper, the further." if any(g.middle == 0 for g in tables) else "",
            " The brighter, the larger the loss. Framed: what was chosen." if chosen else "",
        ]
        return Words(
            f"{title}: {diagram.short}. {diagram.sentence}{''.join(notes)}",
            f"What {title} has fitted: {picture}." if picture else "",
        ).also(scene.of_all_rows)


def recalibrated(scene: Scene) -> Model:
    """The recalibrated model looked at, else the first there is."""
    models = scene.models.recalibrated
    if not models:
        raise NotAnswerable("tick a calibrator: what it does appears here")
    return scene.model if scene.model in models else models[0]


def _diagram(scene: Scene) -> Call[FittedParameters]:
    model = recalibrated(scene)
    return call(cc.diagrams.fitted_parameters, model.fitted, like=model.base.predictions)


OWN = {
    "own": "A map of its own, fitted on its calibration rows.",
    "pooled": "Too few calibration rows: it shares one map with the other small groups.",
    "none": "Too few calibration rows: its scores stay as they are.",
}


@EXHIBITS.register("binary-map", "Score in, score out")
@dataclass(frozen=True)
class BinaryMapExhibit(Exhibit):
    """What a calibrator made of binary maps makes of a score, over the share of rows at each score."""

    stratum: Annotated[int, Range(0, 1_000_000), "Map", "which of its maps: that of a class, or of a rank, from 0"] = 0

    printed: ClassVar[int | None] = 5

    meanings = of.Meanings(
        {
            "score": "score before",
            "output": "score after",
            "lower": "lower end of the interval that comes with the score",
            "upper": "upper end of the same",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.calls.stacked, {mapped(scene).title: self._diagram(scene)})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        ends = (of.between("between", "lower", "upper"),) if "lower" in frame else ()
        return of.text("model"), of.share("score in", "score"), of.share("score out", "output"), *ends

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.binary_map", self._diagram(scene))

    def words(self, scene: Scene) -> Words:
        model, diagram = mapped(scene), scene.get(self._diagram(scene))
        strata = scene.get(model.fitted).strata_
        whose = f", {diagram.stratum} (one of {len(strata):,} groups)" if len(strata) > 1 else ""
        band = "" if diagram.lower is None else "Shaded: the interval of probabilities that comes with each score. "
        return Words(
            f"{model.title}{whose}: {inside(OWN[diagram.own])} {band}Bars: share of the "
            f"{scene.counted(diagram.rows)} at each score; where no bar stands the map is extrapolation.",
            f"What {model.title} makes of a score{whose}.",
        ).also(scene.of_all_rows)

    def _diagram(self, scene: Scene) -> Call[Any]:
        model = mapped(scene)
        last = len(scene.get(model.fitted).strata_) - 1
        return call(cc.diagrams.binary_map, model.fitted, model.base.predictions, min(self.stratum, last))


def made_of_maps(scene: Scene) -> list[Model]:
    """The models whose calibrator is a binary map a stratum."""
    return [model for model in scene.models.shown if scene.get(model.fitted).binary_maps]


def mapped(scene: Scene) -> Model:
    """The model looked at where its calibrator is made of binary maps, else the first that is."""
    models = made_of_maps(scene)
    if not models:
        raise NotAnswerable(
            "tick a calibrator made of binary maps, such as a histogram binning: its map appears here; others look at "
            "whole rows and have no map from one score to one score"
        )
    return scene.model if scene.model in models else models[0]


Maps = list[Call[CalibrationMap]]


@EXHIBITS.register(
    "calibration-maps", "Calibration maps: where predictions go", reference="P3 §3 and 4.1, Fig. 1 and 2"
)
@dataclass(frozen=True)
class CalibrationMaps(Exhibit):
    """What every calibrator makes of every prediction over three classes, and the true map where it is known."""

    wrong: Annotated[
        bool, Flag(), "What is still wrong", "what is still wrong: each map minus the true one, where that is known"
    ] = False

    meanings = of.Meanings(
        {
            "map": "the calibrator, or the true map",
            "start *": "probability of the class before",
            "to *": "probability of the class after",
            "error *": "to less start",
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
        return call("figures.calibration_map", self._drawn(scene), scale=_scale(scene))

    def words(self, scene: Scene) -> Words:
        scene = scene.triangle
        drawn, scale = [scene.get(each) for each in self._drawn(scene)], short_percent(scene.get(_scale(scene)))
        a, b, c = drawn[0].class_names
        largest = "; ".join(f"{each.title}, largest change {short_percent(each.largest)}" for each in drawn)
        arrow = "An arrow leads from a prediction to the calibrator's answer."
        wrong = "What is still wrong: each map minus the true one; an arrow is the mistake at its tail."
        colours = f"Grey: nothing changes; redder: {a} gains, greener: {b}, bluer: {c}."
        return Words(
            f"{wrong if self.wrong else arrow} {colours} Full colour: a change of {scale} or more, "
            "in all maps of these data.",
            f"{'What is still wrong' if self.wrong else 'Calibration maps'}: {largest}.",
        ).also(
            *(f"{each.title}: {each.note}." for each in drawn if each.note), *self._learned(scene)[1], scene.of_all_rows
        )

    def _drawn(self, scene: Scene) -> Maps:
        """The maps drawn."""
        learned = list(self._learned(scene)[0].values())
        known = truth(scene.model.source)
        if known is None:
            if self.wrong:
                raise NotAnswerable("the true map of these data is not known, so nobody can say what is still wrong")
            return learned
        true = call(cc.diagrams.true_map, known, class_names=scene.class_names, stem="true map")
        if self.wrong:
            return [call(cc.diagrams.map_difference, each, true) for each in learned]
        return [*learned, true]

    def _learned(self, scene: Scene) -> tuple[dict[str, Call[CalibrationMap]], tuple[str, ...]]:
        """Every calibrator's map, and a sentence for each that has none."""
        ticked = scene.models.recalibrated
        if not ticked:
            raise NotAnswerable(
                "no calibrator is chosen: choose one that answers for all classes, such as one that scales"
            )
        return scene.answered({model.title: _map(scene, model) for model in ticked})


def _scale(scene: Scene) -> Call[float]:
    """The change that has full colour in every map of these data: the calibration rows decide, not what is ticked."""
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
            "risk": "mean risk at this stage, of the rows in this bin of the risk before",
            "observed": "share of those rows in which the event happened",
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
            f"An arrow leads from the mean risk of the {noun} in one bin to their mean risk after recalibration, at "
            f"the height of the share that {happened}. {judged}",
            f"Observed frequency against predicted risk of {event_words.of_scene(scene)}, before and after "
            f"{model.title}.",
        )


def path(scene: Scene) -> tuple[Call[TemperaturePath], float] | None:
    """Where marks are at other temperatures, and the one fitted; None where the calibrator is no temperature."""
    model = recalibrated(scene)
    fitted = scene.get(model.fitted).insides().temperature
    # Cross-fitted marks are of several temperatures: no one of them puts them where they stand.
    if fitted is None or scene.cross_fitted or not COLDEST <= fitted <= HOTTEST:
        return None
    wanted = call(
        cc.diagrams.temperature_path, model.base.predictions, bins=scene.bins, also=(fitted,), notion=scene.claims
    )
    return None if scene.refusal(wanted) else (wanted, fitted)


COLDEST, HOTTEST = 0.25, 8.0
"""Temperatures that a slider reaches."""


def diagram(scene: Scene) -> Call[Movement]:
    """The marks of the model as it is and of the calibrator looked at."""
    model = recalibrated(scene)
    return call(cc.diagrams.movement, model.base.predictions, model.predictions, bins=scene.bins, notion=scene.claims)
