"""Recalibrate at all, and with what: chosen on the rows that calibrators are fitted on."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import pandas as pd

import calib_core as cc
from calib_core import ESTIMATORS, InputError, NotAnswerable, Recipe
from calib_core.defaults import LEVEL
from calib_core.evaluation.candidate_ranking import MOST
from calib_core.evaluation.choice import SCORES
from calib_core.registry.registry import Choice
from calib_core.text import at_level, count, inside
from dashboard.exhibits import columns as of
from dashboard.exhibits.doubt_words import rules_out_advice
from dashboard.exhibits.event_words import beside_advice
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.selection import Source
from dashboard.session import Call, Model, Scene, call, division

ALL_ROWS = "“Judged on” at the top of the Overview"
"""Where a page offers to judge all rows."""
QUICK = 60_000
"""Rows times classes up to which calibrators are compared without being asked to."""


@EXHIBITS.register("recommendation", "Recalibrate at all?")
@dataclass(frozen=True)
class Recommendation(Exhibit):
    """What each calibrator gains on rows it was not fitted on, and whether any gain is shown."""

    score: Annotated[str, Choice(tuple(SCORES)), "Score", "what calibrators are chosen by"] = "log-loss"

    terms = ("log-loss", "brier-score", "interval")

    meanings = of.Meanings(
        {
            "calibrator": "short name of the candidate",
            "score": "mean score of rows that no map was fitted on",
            "gain": "score of the model less that of the candidate",
            "low": "lower end of the 90 % interval of the gain",
            "high": "upper end of the same",
            "p": "p of no gain",
            "p_holm": "the same, corrected by Holm's rule for the number of candidates",
            "gain_in_folds": "the gain by cross-validation on the calibration rows",
            "picked": "folds in which it was chosen",
            "accuracy": "share of rows that is right",
            "accuracy_gain": "accuracy less that of the model",
            "accuracy_gain_low": "lower end of the 90 % interval of that difference",
            "accuracy_gain_high": "upper end of the same",
            "auroc": "chance that a row of the event has the higher risk, or a right row the higher confidence",
            "ranked_in": "rows that AUROC compares: all, or those of each fold, averaged",
            "auroc_gain": "AUROC less that of the model",
            "auroc_gain_low": "lower end of the 90 % interval of that difference",
            "auroc_gain_high": "upper end of the same",
            "mean_confidence": "mean confidence",
            "mean_risk": "mean risk of the event",
            "rows_needed": "calibration rows that it takes, about",
            "equal_to_best": "whether it does as well as the best in cross-validation",
        }
    )

    @classmethod
    def suited(cls, scene: Scene) -> Recommendation:
        """By the score that the first model's rows have; NotAnswerable where no model is there."""
        if not scene.models.shown:
            raise NotAnswerable("no model is left to advise on")
        kind = scene.get(scene.models.shown[0].division.part("fit")).kind
        return cls("brier" if kind == "per-class" else "log-loss")

    def quick(self, scene: Scene) -> bool:
        """Whether it is chosen already, or takes a few seconds."""
        rows = scene.get(scene.models.shown[0].division.part("fit"))
        return rows.n_rows * (rows.n_classes or 2) <= QUICK or scene.knows(self.found(scene))

    def found(self, scene: Scene) -> Call[cc.evaluation.choice.CalibratorChoice]:
        """What is chosen for the first model."""
        # Of all test rows: a slice of them changes no advice.
        source = scene.models.shown[0].source.everywhere
        rows = division(source)
        fit = rows.part("fit")
        if scene.cross_fitted or scene.undivided:
            # In the folds in which all pages judge, so that a map has one score; the rule needs three of them.
            own = 3 <= source.folds != Source().folds
            folds = {"folds": source.folds} if own else {}
            return call(cc.choose, fit, score=self.score, random_state=source.seed, **folds, stem="choice")
        return call(cc.choose, fit, score=self.score, held_out=rows.part("test"), stem="choice")

    @classmethod
    def known(cls, scene: Scene) -> Recipe | None:
        """The calibrator that is recommended, where that is known already; None where none is, or it is not known."""
        exhibit = cls.suited(scene)
        wanted = exhibit.found(scene)
        if not scene.knows(wanted) or scene.refusal(wanted) or rules_out_advice(scene):
            return None
        found = scene.get(wanted)
        return found.recipe if found.recalibrate else None

    def advice(self, scene: Scene, found: cc.evaluation.choice.CalibratorChoice) -> tuple[str, ...]:
        """The advice in sentences, with the tolerance chosen (``advice.sentences``); headline and effect come first."""
        first, left = scene.models.shown[0], None
        if found.recalibrate:
            after = Model(first.source.everywhere, found.recipe)
            with suppress(InputError, NotAnswerable):
                wanted = call(
                    cc.evaluation.advice.remaining,
                    after.base.predictions,
                    after.predictions,
                    eps=scene.tolerance,
                    ratio=scene.ratio,
                )
                left = scene.get(wanted)
        error = "" if found.recalibrate else beside_advice(scene)
        whose = everywhere(found, scene)
        update, held_out = own_update(scene), ""
        if found.held_out and update is None:
            rows = division(first.source.everywhere).part("test")
            held_out = scene.get(call(cc.evaluation.advice.held_out_slice, rows, stem="slice"))
        return cc.evaluation.advice.sentences(found, left, update, error, whose, ALL_ROWS, held_out)

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return self.found(scene).part("frame()")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return self.columns_at(LEVEL, frame)

    def columns_at(self, level: float, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        """The columns of a choice made at this level."""
        return (
            of.text("calibrator", "title"),
            of.number(inside(ESTIMATORS[self.score].title), "score"),
            of.number("gain"),
            of.number_between(f"{at_level(level)} interval", "low", "high"),
            of.probability("p (Holm)", "p_holm"),
            *([] if _same_gain(frame) else [of.number("gain in folds", "gain_in_folds")]),
            of.whole("times chosen", "picked"),
            of.share("accuracy"),
            of.number(cc.evaluation.choice.auroc_heading(frame), "auroc"),
            of.share("mean risk", "mean_risk")
            if frame["mean_risk"].notna().any()
            else of.share("mean confidence", "mean_confidence"),
            of.whole("rows needed, about", "rows_needed"),
            of.yes_or_no("equal to best", "equal_to_best"),
            of.text("note"),
        )

    def words(self, scene: Scene) -> Words:
        found = scene.get(self.found(scene))
        return Words(
            f"{chosen_on(found, scene)} {about_table(found)}",
            notes=found.notes,
            headline=(*self.advice(scene, found), *found.price),
        )


def own_update(scene: Scene) -> cc.evaluation.update_gains.UpdateGains | None:
    """The update of one value of a column, of the calibration rows of the first model (``advice.own_update``)."""
    rows = scene.models.shown[0].division.part("fit")
    return scene.get(call(cc.evaluation.advice.own_update, rows, stem="update"))


def _same_gain(frame: pd.DataFrame) -> bool:
    """Is the gain of every line the one by cross-validation?"""
    gain, in_folds = frame["gain"], frame["gain_in_folds"]
    return bool(((gain == in_folds) | in_folds.isna()).all())


def everywhere(found: cc.evaluation.choice.CalibratorChoice, scene: Scene) -> str:
    """Of which rows the advice is, in a sentence, where a slice alone is looked at; else empty."""
    source = scene.models.shown[0].source
    if source == source.everywhere:
        return ""
    return f"This is the advice of all {count(found.among + found.held_out)} rows, not of this slice."


def about_table(found: cc.evaluation.choice.CalibratorChoice) -> str:
    """Which rows the table is of, and what its columns mean, in sentences."""
    of_event = found.table["mean_risk"].notna().any()
    auroc = (
        "the chance that a row with the event has a higher risk than one without it"
        if of_event
        else "the chance that a correct prediction has higher confidence than a wrong one"
    )
    folds = "" if found.held_out else ", averaged over folds; the AUROC of calib audit compares rows of all folds"
    gain = "gain in folds" if found.held_out else "gain"
    where = (
        f"Scores are of the {found.judged_on}; gain in folds, times chosen and equal to best are by "
        "cross-validation on the calibration rows."
        if found.held_out
        else f"Scores are of {found.judged_on}."
    )
    return (
        f"{where} Gain: how much the score falls. The largest of many gains is partly luck, and the intervals do not "
        f"correct for that. Equal to best: it has {at_level(MOST)} or more of the largest {gain}, or half of it or "
        "more and a difference that is within chance. Neither counts where the mean risk is then off or the log loss "
        "is clearly worse. The uncalibrated model counts as equal where no gain is shown. "
        f"{cc.evaluation.choice.auroc_heading(found.table)}: {auroc}{folds}."
    )


def chosen_on(found: cc.evaluation.choice.CalibratorChoice, scene: Scene) -> str:
    """On which rows it was chosen, and what the rows judged elsewhere have to do with it, in sentences."""
    if not scene.cross_fitted:
        return (
            f"Chosen by cross-validation on the {count(found.among)} calibration rows; all pages judge the held-out "
            f"rows. {cc.evaluation.choice.HELD_OUT_REJECTS}"
        )
    judged = f"Chosen by cross-validation on all {count(found.among)} rows. The pages judge the same rows"
    if not found.recalibrate:
        return f"{judged}."
    return f"{judged}, so that its scores are slightly optimistic."
