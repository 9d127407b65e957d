"""How many rows, and what is promised with them: a plan as a curve, all plans in sentences, and the bins in use."""

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
"""The question that is shown where none is chosen."""


def data_in_use(scene: Scene) -> dict[str, Any]:
    """What plans are filled in from: rows of the first file, the bins they are judged in, and the tolerance."""
    if not scene.models.shown:
        return {"tolerance": scene.tolerance}
    rows = scene.models.shown[0].division
    return {"fit": rows.part("fit"), "test": rows.part("test"), "bins": scene.bins, "tolerance": scene.tolerance}


def _in_folds(scene: Scene) -> str:
    """Whose calibration rows are counted where rows are cross-fitted; empty where they are divided in two."""
    if not (scene.models.shown and scene.cross_fitted):
        return ""
    divided = scene.get(scene.models.shown[0].division)
    assert divided.folds is not None
    fewest = divided.fit.n_rows - int(np.bincount(divided.folds[divided.fit_rows]).max())
    return (
        f"Rows are cross-fitted: the {count(divided.fit.n_rows)} calibration rows in use are those of the map to use "
        f"afterwards; the maps that are judged are each fitted on fewer, {count(fewest)} or more."
    )


@EXHIBITS.register("plan", "What so many rows promise")
@dataclass(frozen=True)
class PlanShown(Exhibit):
    """What a method or a measurement promises with few and with many rows, and how many reach what is wanted."""

    plan: Annotated[Plan, Part("PLANS"), "Question", "what is asked about rows, and the numbers that go in"] = field(
        default_factory=lambda: PLANS.make(FIRST)
    )
    printed = 0
    height = 400

    meanings = of.Meanings(
        {
            "curve": "which line or mark",
            "amount": "what is varied",
            "bound": "what is promised with so much",
        }
    )

    def check(self, scene: Scene) -> None:
        """Only numbers that are left to the data in use need rows."""
        recipe = PLANS.recipe(self.plan)
        given = {param.name: param.default for param in PLANS[recipe.key].params} | dict(recipe.params)
        if any(value is None for name, value in given.items() if name not in self.plan.idle):
            super().check(scene)

    def found(self, scene: Scene) -> Call[PlanCurve]:
        """The curve, with its answer."""
        return call(cc.diagrams.plan_curve, PLANS.recipe(self.plan), stem="plan", **data_in_use(scene))

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        amount = of.whole(self.plan.x_title, "amount") if self.plan.counts else of.share(self.plan.x_title, "amount")
        return of.text("line", "curve"), amount, of.in_unit(self.plan.y_title, "bound", self.plan.unit)

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.plan_curve", self.found(scene))

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene)).answer
        finding, *more = re.split(r"(?<=\.) ", found.sentence)
        return Words(
            found.basis,
            f"{found.title}: {self.plan.y_title} against {self.plan.x_title}. {found.sentence}",
            headline=(finding, *filter(None, (" ".join(more), found.inverse))),
        ).also(_in_folds(scene))


@EXHIBITS.register("plans", "All questions about rows")
@dataclass(frozen=True)
class Plans(Exhibit):
    """What is promised with the rows in use, and how many more it takes, a question a line."""

    reads = "counts"
    static = True

    meanings = of.Meanings(
        {
            "key": "short name of the question",
            "question": "what is asked",
            "answer": "what is promised with the rows in use",
            "inverse": "what it takes",
            "basis": "what this rests on",
            "amount": "rows, or points, in use",
            "bound": "what is promised with them",
            "limit": "what is wanted",
            "needed": "rows, or points, that it takes",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.planning.answers, **data_in_use(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("question"),
            of.Column("with the rows in use", ("answer", "note"), lambda answer, note: answer or note, numeric=False),
            of.text("what it takes", "inverse"),
            of.text("what this rests on", "basis"),
        )

    def words(self, scene: Scene) -> Words:
        return Words(
            "Each line stands alone, at its own level, for the numbers that the question is first asked with; the "
            "planner changes all of them."
        ).also(_in_folds(scene))


@EXHIBITS.register("bin-balance", "Are the bins in use well balanced?", reference="P2 Definition 4.2")
@dataclass(frozen=True)
class BinsInUse(Exhibit):
    """The share of the rows in each bin of confidence, beside half and twice an equal share."""

    printed = 20

    meanings = of.Meanings(
        {
            "rows": "test rows in the bin",
            "share": "share of all test rows in the bin",
            "low": "lower end of its interval, of all bins together at 90 %",
            "high": "upper end of the same",
            "times": "share times the number of bins",
        }
    )

    def found(self, scene: Scene) -> Call[BinBalance]:
        """The bins of the first file's rows."""
        rows = data_in_use(scene)
        if "test" not in rows:
            raise cc.NotAnswerable("there are no rows in use whose bins could be looked at")
        fit = None if scene.cross_fitted else rows["fit"]  # all are counted: none are left to place bins on
        return call(cc.planning.balance_in_use, rows["test"], stem="balance", fit=fit, bins=rows["bins"])

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.between("confidence", "lower", "upper"),
            of.whole("rows"),
            of.share("share"),
            of.between("interval", "low", "high"),
            of.number("times an equal share", "times"),
        )

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        placed = f" The bins follow the {found.placed}." if found.placed else ""
        return Words(
            "Well balanced: every bin holds between half and twice an equal share of all rows to come. Bounds on how "
            f"well an error can be estimated ask for it; looking at the bins does not.{placed} Counted on "
            f"{scene.judged_rows}; intervals hold for all bins together.",
            headline=(found.sentence,),
        )
