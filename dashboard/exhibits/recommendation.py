"""Advice on recalibration: whether to recalibrate and with which calibrator, chosen on the calibration rows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import pandas as pd

import calib_core as cc
from calib_core import InputError, NotAnswerable, Recipe
from calib_core.defaults import LEVEL
from calib_core.evaluation.calibrator_choice import auroc_heading
from calib_core.evaluation.candidate_ranking import MOST
from calib_core.evaluation.row_losses import COST, SCORES, name_of_score
from calib_core.registry.registry import Choice, Text
from calib_core.text import at_level, begun, count
from dashboard.exhibits import columns as of
from dashboard.exhibits.decisions import COSTS
from dashboard.exhibits.doubt_words import rules_out_advice
from dashboard.exhibits.event_words import beside_advice
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.selection import Source
from dashboard.session import Call, Model, Scene, call, division

ALL_ROWS = "the setting “Judged on”, or --judge all"
"""Place where a page offers to evaluate all rows."""
QUICK = 60_000
"""Rows times classes up to which calibrators are compared without a request."""
_USES = Choice(SCORES, titles=tuple(begun(name_of_score(key)) for key in SCORES))


@EXHIBITS.register("recommendation", "Is recalibration worthwhile?")
@dataclass(frozen=True)
class Recommendation(Exhibit):
    """Gain of each calibrator on held-out rows, with intervals and tests."""

    score: Annotated[
        str,
        _USES,
        "Chosen for",
        "score or use of the probabilities that the calibrator is chosen for",
    ] = "log-loss"
    costs: Annotated[
        str,
        COSTS,
        "Costs",
        "for the decision cost: a threshold of two classes, such as 0.2, or one line per decision, such as 0 5; 1 "
        "0. Empty: every error costs 1",
    ] = ""
    worst_of: Annotated[
        str,
        Text(200),
        "Groups to protect",
        "column whose groups must not get worse predictions; empty: only all rows together",
    ] = ""

    terms = ("log-loss", "brier-score", "interval")

    meanings = of.Meanings(
        {
            "calibrator": "short name of the candidate",
            "score": "mean score on held-out rows",
            "gain": "score of the model minus that of the candidate",
            "low": "lower end of the 90 % interval of the gain",
            "high": "upper end of the same",
            "p": "p-value of the test for no gain",
            "p_holm": "the same, Holm-corrected for the number of candidates",
            "gain_in_folds": "the gain by cross-validation on the calibration rows",
            "picked": "folds without which it was chosen, or was the simplest about as good as a blend",
            "weight": "its weight in the blend",
            "accuracy": "share of correct predictions",
            "accuracy_gain": "accuracy minus that of the model",
            "accuracy_gain_low": "lower end of the 90 % interval of that difference",
            "accuracy_gain_high": "upper end of the same",
            "auroc": "probability that a row with the event has the higher risk, or a correct prediction the higher "
            "confidence",
            "ranked_in": "rows compared by AUROC: all, or those of each fold, averaged",
            "auroc_gain": "AUROC minus that of the model",
            "auroc_gain_low": "lower end of the 90 % interval of that difference",
            "auroc_gain_high": "upper end of the same",
            "mean_confidence": "mean confidence",
            "mean_risk": "mean risk of the event",
            "rows_needed": "calibration rows needed, approximately; more for a rare event",
            "equal_to_best": "whether it is as good as the best in cross-validation",
        }
    )

    @property
    def used(self) -> tuple[str, ...]:
        return "score", *(["costs"] if self.score == COST else []), "worst_of"

    @classmethod
    def suited(cls, scene: Scene) -> Recommendation:
        """Return the exhibit for the stated use, or a score that suits the first model; NotAnswerable without one."""
        if not scene.models.shown:
            raise NotAnswerable("there is no model to advise on")
        kind = scene.get(scene.models.shown[0].division.part("fit")).kind
        stated: dict[str, Any] = {"score": "brier" if kind == "per-class" else "log-loss", **dict(scene.use.params)}
        return cls(**stated)

    def quick(self, scene: Scene) -> bool:
        """True if the choice is known already or takes only a few seconds."""
        rows = scene.get(scene.models.shown[0].division.part("fit"))
        return rows.n_rows * (rows.n_classes or 2) <= QUICK or scene.knows(self.found(scene))

    def found(self, scene: Scene) -> Call[cc.evaluation.choice.CalibratorChoice]:
        """Return the choice for the first model."""
        # Of all test rows: a slice does not change the advice.
        source = scene.models.shown[0].source.everywhere
        rows = division(source)
        fit = rows.part("fit")
        if scene.cross_fitted or scene.undivided:
            # Same folds as on all pages, so that a calibrator has one score; the rule needs at least three.
            own = 3 <= source.folds != Source().folds
            folds = {"folds": source.folds} if own else {}
            return call(cc.choose, fit, **self._use, random_state=source.seed, **folds, stem="choice")
        return call(cc.choose, fit, **self._use, held_out=rows.part("test"), stem="choice")

    @property
    def _use(self) -> dict[str, str]:
        """Arguments of the choice that state the use; only those that are set, so that equal choices are one."""
        costs = {"costs": self.costs.strip()} if self.score == COST and self.costs.strip() else {}
        groups = {"worst_of": self.worst_of.strip()} if self.worst_of.strip() else {}
        return {"score": self.score, **costs, **groups}

    @classmethod
    def known(cls, scene: Scene) -> Recipe | None:
        """Return the recommended calibrator if already known; None if there is none or it is unknown."""
        exhibit = cls.suited(scene)
        wanted = exhibit.found(scene)
        if not scene.knows(wanted) or exhibit.refused(scene) or rules_out_advice(scene):
            return None
        found = scene.get(wanted)
        return found.recipe if found.recalibrate else None

    def refused(self, scene: Scene) -> str:
        """Return why there is no advice, such as a column of the stated use that the file does not have; else empty."""
        try:
            scene.get(self.found(scene))
        except InputError as why:
            return str(why)
        return ""

    def advice(self, scene: Scene, found: cc.evaluation.choice.CalibratorChoice) -> tuple[str, ...]:
        """Return the advice in sentences for the chosen tolerance (``advice.sentences``), headline and effect first."""
        first, left = scene.models.shown[0], None
        if found.recalibrate and (left := _remaining(scene, found.recipe)) is not None:
            smaller = cc.evaluation.advice.smaller_error(found, left, partial(_remaining, scene))
            simpler = None if found.simple is None else _remaining(scene, found.simple)
            left = replace(left, smaller=smaller, simpler=simpler)
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
        """Return the columns of a choice made at this level."""
        return (
            of.text("calibrator", "title"),
            of.number(name_of_score(self.score), "score"),
            of.number("gain"),
            of.number_between(f"{at_level(level)} interval", "low", "high"),
            of.probability("p (corrected)", "p_holm"),
            *([] if _same_gain(frame) else [of.number("cross-validated gain", "gain_in_folds")]),
            of.whole("times chosen", "picked"),
            *([of.share("weight in the blend", "weight")] if (frame["weight"] > 0).sum() > 1 else []),
            of.share("accuracy"),
            of.number(auroc_heading(frame), "auroc"),
            of.share("mean risk", "mean_risk")
            if frame["mean_risk"].notna().any()
            else of.share("mean confidence", "mean_confidence"),
            of.whole("rows needed (approx.)", "rows_needed"),
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


def _remaining(scene: Scene, recipe: Recipe) -> cc.evaluation.choice.Remaining | None:
    """Return the error that a calibrator leaves on the first model's test rows; None if it cannot be judged."""
    after = Model(scene.models.shown[0].source.everywhere, recipe)
    with suppress(InputError, NotAnswerable):
        return scene.get(
            call(
                cc.evaluation.advice.remaining,
                after.base.predictions,
                after.predictions,
                eps=scene.tolerance,
                ratio=scene.ratio,
            )
        )
    return None


def own_update(scene: Scene) -> cc.evaluation.update_gains.UpdateGains | None:
    """Return the update of one column value on the first model's calibration rows (``advice.own_update``)."""
    rows = scene.models.shown[0].division.part("fit")
    return scene.get(call(cc.evaluation.advice.own_update, rows, stem="update"))


def _same_gain(frame: pd.DataFrame) -> bool:
    """True if every line's gain is its cross-validated gain."""
    gain, in_folds = frame["gain"], frame["gain_in_folds"]
    return bool(((gain == in_folds) | in_folds.isna()).all())


def everywhere(found: cc.evaluation.choice.CalibratorChoice, scene: Scene) -> str:
    """Sentence on the rows that the advice is about, if a slice is selected; else empty."""
    source = scene.models.shown[0].source
    if source == source.everywhere:
        return ""
    return f"This advice is about all {count(found.among + found.held_out)} rows, not only this slice."


def about_table(found: cc.evaluation.choice.CalibratorChoice) -> str:
    """Describe the rows and columns of the table."""
    of_event = found.table["mean_risk"].notna().any()
    auroc = (
        "the chance that a row with the event has a higher risk than one without it"
        if of_event
        else "the chance that a correct prediction has higher confidence than a wrong one"
    )
    folds = "" if found.held_out else ", averaged over folds; the AUROC of calib audit pools rows of all folds"
    gain = "cross-validated gain" if found.held_out else "gain"
    where = (
        f"Scores are for the {found.judged_on}; cross-validated gain, times chosen and equal to best are from "
        "cross-validation on the calibration rows."
        if found.held_out
        else f"Scores are for {found.judged_on}: a row is recalibrated by a calibrator fitted on the other folds."
    )
    columns = (
        f"{where} Gain: decrease of the score. The largest of many gains is partly luck; the intervals do not "
        "correct for that. p (corrected): the p-value for the hypothesis of no gain, corrected for the number of "
        f"calibrators. Equal to best: the {gain} is at least {at_level(MOST)} of the largest, or at least half of it "
        "and not significantly smaller."
    )
    unchanged = "The original model counts as equal if no calibrator is recommended."
    ranking = f"{auroc_heading(found.table)}: {auroc}{folds}."
    return " ".join(filter(None, (columns, _excluded(found), unchanged, ranking)))


def _excluded(found: cc.evaluation.choice.CalibratorChoice) -> str:
    """Sentence on calibrators that are not equal to the best, however large their gain; empty if there are none."""
    worse = ["bias the mean prediction more than the best does"] if np.isfinite(found.event_rate) else []
    worse += ["have a clearly larger log loss"] if found.score == "log-loss" else []
    return f"Calibrators that {' or '.join(worse)} never count as equal." if worse else ""


def chosen_on(found: cc.evaluation.choice.CalibratorChoice, scene: Scene) -> str:
    """Describe the rows of the choice and their relation to the rows judged elsewhere."""
    by = name_of_score(found.score)
    if not scene.cross_fitted:
        return (
            f"Chosen by {by}, cross-validated on the {count(found.among)} calibration rows. All other results are "
            f"for the held-out rows, unless cross-validation is named. {found.held_out_rule}"
        )
    judged = f"Chosen by {by}, cross-validated on all {count(found.among)} rows, and judged on these same rows."
    if not found.recalibrate:
        return judged
    return (
        f"{judged} The results of calibrators have two small biases in opposite directions. They are slightly "
        "optimistic, because the calibrator was chosen on the judged rows. They are slightly pessimistic, because the "
        "final calibrator is fitted on more rows than those evaluated."
    )
