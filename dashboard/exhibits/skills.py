"""What the stated confidences of every model are good for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pandas as pd

import calib_core as cc
from calib_core.inference.comparison.skills import COVERAGE
from calib_core.text import in_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.selective import SHARE
from dashboard.session import Call, Scene, call


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
