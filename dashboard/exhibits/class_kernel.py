"""The kernel curve of one class of one model, with its band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core import REDUCTIONS, NotAnswerable
from dashboard.exhibits import columns as of
from dashboard.exhibits.by_class import ByClass
from dashboard.exhibits.exhibit import EXHIBITS, Words
from dashboard.exhibits.kernel_curve import CURVE_COLUMNS, KernelCurveExhibit, curve_notes
from dashboard.session import Call, Scene, call


@EXHIBITS.register("class-kernel", "One class, with its band", reference="P5 Fig. 1")
@dataclass(frozen=True)
class ClassKernel(KernelCurveExhibit, ByClass):
    """How often claims of each score about one class come true, without bins, with a band."""

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        title, curve = self._curve(scene)
        drawn = scene.get(curve)
        if not drawn.rows > 0:
            raise NotAnswerable(f"no test row makes a claim about {drawn.stratum}: there is no curve")
        return call(cc.calls.stacked, {title: call(cc.calls.stacked, {drawn.stratum: curve}, column="class")})

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        model, *numbers = CURVE_COLUMNS
        return model, of.text("class"), *numbers

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.kernel_curve", self._curve(scene)[1], score=self.score)

    def words(self, scene: Scene) -> Words:
        title, wanted = self._curve(scene)
        curve = scene.get(wanted)
        notion = REDUCTIONS[self.notion].title.lower()
        words = Words(
            f"{title}: kernel reliability curve of {curve.stratum} ({notion}), {curve.band_title}; grey: where the "
            "scores lie.",
            f"Kernel reliability curve of {curve.stratum}: {curve.band_title}.",
        )
        return self.noted(words.also(*curve_notes(f"{title}, {curve.stratum}", curve, self.score)), scene)

    def code(self, scene: Scene) -> int:
        """The class looked at, else the one that adds most to the error beyond noise."""
        _, table = self.first(scene)
        known, code = len(scene.get(table).names), scene.focus.code
        if code is not None and code < known:
            return code
        return scene.get(call(cc.diagrams.ranked_classes, table, tests=self.tested(scene)))[0]

    def title(self, scene: Scene) -> str:
        """The model looked at, else the first that makes such claims."""
        able, _ = self.tables(scene)
        return scene.model.title if scene.model.title in able else next(iter(able))

    def _curve(self, scene: Scene) -> tuple[str, Call[Any]]:
        title = self.title(scene)
        rows = self.predictions(scene)[title]
        return title, call(cc.diagrams.kernel_curve, rows, self.notion, self.code(scene), self.kernel, self.band)
