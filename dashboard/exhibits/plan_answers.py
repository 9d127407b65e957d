"""Sample size planning: one plan as a curve, all plans in sentences, and the balance of the bins in use."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pandas as pd

import calib_core as cc
from calib_core.diagrams import PlanCurve
from calib_core.planning import PLANS, BinBalance, Plan
from calib_core.registry.registry import Part
from calib_core.text import count
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.session import Call, Scene, call

FIRST = next(iter(PLANS))
"""Default question."""


def data_in_use(scene: Scene) -> dict[str, Any]:
    """Return the inputs of plans: rows of the first file, their bins, and the tolerances."""
    tolerances = {"tolerance": scene.tolerance, "ratio": scene.ratio}
    if not scene.models.shown:
        return tolerances
    rows = scene.models.shown[0].division
    return {"fit": rows.part("fit"), "test": rows.part("test"), "bins": scene.bins, **tolerances}


def _in_folds(scene: Scene) -> str:
    """Note on the calibration rows of cross-fitted data; empty for data divided in two parts."""
    if not (scene.models.shown and scene.cross_fitted):
        return ""
    divided = scene.get(scene.models.shown[0].division)
    assert divided.folds is not None
    fewest = divided.fit.n_rows - int(np.bincount(divided.folds[divided.fit_rows]).max())
    return (
        f"Rows are cross-fitted: the final calibrator is fitted on all {count(divided.fit.n_rows)} calibration "
        f"rows; the evaluated calibrators are fitted on fewer, {count(fewest)} or more."
    )


@EXHIBITS.register("plan", "Guarantees by sample size")
@dataclass(frozen=True)
class PlanShown(Exhibit):
    """Guarantee of a method or measurement as a function of the sample size, and the sample size needed."""

    plan: Annotated[Plan, Part("PLANS"), "Question", "the question about sample size, and its inputs"] = field(
        default_factory=lambda: PLANS.make(FIRST)
    )
    printed = 0
    height = 400

    meanings = of.Meanings(
        {
            "curve": "name of the line or mark",
            "amount": "quantity on the horizontal axis",
            "bound": "guaranteed bound at this amount, or share of samples within tolerance",
        }
    )

    def check(self, scene: Scene) -> None:
        """Rows are only needed for inputs taken from the loaded data."""
        recipe = PLANS.recipe(self.plan)
        given = {param.name: param.default for param in PLANS[recipe.key].params} | dict(recipe.params)
        if any(value is None for name, value in given.items() if name not in self.plan.idle):
            super().check(scene)

    def found(self, scene: Scene) -> Call[PlanCurve]:
        """Return the curve, with its answer."""
        return call(cc.diagrams.plan_curve, PLANS.recipe(self.plan), stem="plan", **data_in_use(scene))

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        amount = of.whole(self.plan.x_title, "amount") if self.plan.counts else of.share(self.plan.x_title, "amount")
        title = self.plan.titled(str(frame["curve"].iloc[0]))
        return of.text("line", "curve"), amount, of.in_unit(title, "bound", self.plan.unit)

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.plan_curve", self.found(scene))

    def words(self, scene: Scene) -> Words:
        curve = scene.get(self.found(scene))
        found, title = curve.answer, self.plan.titled(curve.names[0])
        finding, *more = re.split(r"(?<=\.) ", found.sentence)
        return Words(
            found.basis,
            f"{found.title}: {title} against {self.plan.x_title}. {found.sentence}",
            headline=(finding, *filter(None, (" ".join(more), found.inverse))),
        ).also(_in_folds(scene))


@EXHIBITS.register("plans", "All questions about sample size")
@dataclass(frozen=True)
class Plans(Exhibit):
    """Guarantees with the rows in use, and the sample size needed, one question per line."""

    reads = "counts"
    static = True

    meanings = of.Meanings(
        {
            "key": "short name of the question",
            "question": "the question",
            "answer": "guarantee with the rows in use",
            "inverse": "sample size needed",
            "basis": "basis of the answer",
            "amount": "rows or points in use",
            "bound": "guaranteed bound with them, or share of samples within tolerance",
            "limit": "required bound, or required share",
            "needed": "rows or points needed",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.planning.answers, **data_in_use(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("question"),
            of.Column("with the rows in use", ("answer", "note"), lambda answer, note: answer or note, numeric=False),
            of.text("sample size needed", "inverse"),
            of.text("basis", "basis"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(
            "Each line is a separate answer at its own level, with the default inputs of the question. The planner "
            "lets you change all inputs."
        ).also(_in_folds(scene))


@EXHIBITS.register("bin-balance", "Are the bins in use well balanced?", reference="P2 Definition 4.2")
@dataclass(frozen=True)
class BinsInUse(Exhibit):
    """Share of the rows in each bin of the confidence or risk, compared with half and twice an equal share."""

    printed = 20

    meanings = of.Meanings(
        {
            "rows": "test rows in the bin",
            "share": "share of all test rows in the bin",
            "low": "lower end of its simultaneous 90 % interval for all bins",
            "high": "upper end of the same",
            "times": "share times the number of bins",
        }
    )

    def found(self, scene: Scene) -> Call[BinBalance]:
        """Return the bins of the first file's rows."""
        rows = data_in_use(scene)
        if "test" not in rows:
            raise cc.NotAnswerable("no rows are loaded, so there are no bins to check")
        fit = None if scene.cross_fitted else rows["fit"]  # all rows are counted: none are left to set the bin edges
        return call(cc.planning.balance_in_use, rows["test"], stem="balance", fit=fit, bins=rows["bins"])

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.between("bin", "lower", "upper"),
            of.whole("rows"),
            of.share("share"),
            of.between("interval", "low", "high"),
            of.number("times an equal share", "times"),
        )

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        placed = f" The bins follow the {found.placed}." if found.placed else ""
        return Words(
            "Well balanced: every bin contains between half and twice an equal share of all future rows. Error "
            f"bounds of estimators require this; the diagrams do not.{placed} Counted on {scene.judged_rows}; "
            "intervals are simultaneous for all bins.",
            headline=(found.sentence,),
        )
