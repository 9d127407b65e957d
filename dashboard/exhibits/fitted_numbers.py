"""What the calibrator looked at has fitted: in words, number by number, and as a picture where it is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable
from calib_core.diagrams import FittedParameters
from calib_core.text import inside
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Model, Scene, call


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
