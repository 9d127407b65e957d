"""Tests of calibration without bins, bounds on what bins do not see, and what calibrated models would show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

import calib_core as cc
from calib_core import BINNINGS, ESTIMATORS, REDUCTIONS
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.inference.verdicts.verdict import CERTAIN
from calib_core.registry.registry import Registry
from calib_core.text import at_level, chance, count, inside, short_percent
from dashboard.exhibits import columns as of
from dashboard.exhibits import line_words
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import caption
from dashboard.session import Call, Scene, call


@EXHIBITS.register(
    "tests",
    "Is there an error of any size? Tests without bins",
    reference="Arrieta-Ibarra et al. 2022; Spiegelhalter 1986; Holm 1979; Benjamini & Hochberg 1995",
)
@dataclass(frozen=True)
class Tests(Exhibit):
    """Tests of calibration that need no bins, of every model, corrected for their number."""

    reads = "counts"

    meanings = of.Meanings(
        {
            "test": "what is tested",
            "subject": "what the test looks at: event or confidence, whole predictions, or the claims made",
            "statistic": "value of the test statistic",
            "p": "chance that a calibrated model shows as much",
            "p_holm": "the same, corrected by Holm's rule; that on the Brier score is not",
            "p_bh": "the same, corrected by Benjamini and Hochberg's rule",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.unbinned_tests, scene.over_same_rows(), notion=scene.asked_notion)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.text("test"),
            of.Column("subject", ("subject",), SUBJECTS.__getitem__, numeric=False),
            of.number("statistic"),
            of.probability("p"),
            of.probability("corrected (Holm)", "p_holm"),
            of.probability("corrected (Benjamini and Hochberg)", "p_bh"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        reasons = frame.loc[frame["note"].astype(bool)].groupby("note", sort=False)["test"].unique()
        return Words(
            f"{shown(frame)} {self._gaps(scene, frame)}p: the chance that a perfectly calibrated model shows as much. "
            "The test on the Brier score is the one next to a verdict. It is fixed in advance and needs no correction; "
            "the others are corrected for their number."
        ).also(
            "A test shows that there is an error, not how large it is. By Holm the chance of any false alarm among the "
            "other tests is at most 5 %; by Benjamini and Hochberg at most 5 % of the alarms are false on average.",
            *(f"{', '.join(tests)}: {note}." for note, tests in reasons.items()),
            *impossible(frame),
            scene.rows_counted,
        )

    def _gaps(self, scene: Scene, frame: pd.DataFrame) -> str:
        """What is added where the mean gap of a model is significant, and none of its tests here is."""
        silent = frame.groupby("model")["p_holm"].min() > SIGNIFICANCE
        models = [model for model in scene.models.shown if silent.get(model.title, False)]
        rows = {model.title: scene.among_all(model) for model in models}
        gaps = {
            title: call(cc.diagrams.overall_gap, judged, bins=scene.bins, notion=scene.asked_notion)
            for title, judged in rows.items()
        }
        kept = scene.answered(gaps)[0] if gaps else {}
        return unseen({title: scene.get(gap) for title, gap in kept.items()})


def impossible(frame: pd.DataFrame) -> tuple[str, ...]:
    """Why a p-value is 0 although the statistic is no proof: an outcome happened that was given a probability of 0."""
    certain = (frame["p"] == 0) & (frame["statistic"].abs() < CERTAIN)
    if not certain.any():
        return ()
    return ("p is 0 where an outcome happened that was given a probability of 0: no calibrated model allows that.",)


def unseen(gaps: Mapping[str, cc.diagrams.OverallGap]) -> str:
    """That the mean gap of some models is significant although no test shows an error of theirs; empty where none is.

    >>> rows = cc.Predictions([[0.7, 0.3]] * 400, [0] * 340 + [1] * 60)
    >>> unseen({"Old": cc.diagrams.overall_gap(rows, notion="event")}).partition(".")[0]
    'The mean gap is significant all the same: old (p < 0'
    """
    shown = {title: chance(gap.p_value) for title, gap in gaps.items() if gap.direction}
    if not shown:
        return ""
    models = ", ".join(f"{inside(title)} ({p})" for title, p in shown.items())
    return (
        f"The mean gap is significant all the same: {models}. These tests can miss it; calibration in the large tests "
        "it directly. "
    )


def shown(frame: pd.DataFrame) -> str:
    """How many of the tests are significant, as corrected, in a sentence.

    >>> shown(pd.DataFrame({"model": ["a", "a"], "p_holm": [0.01, 0.3]}))
    '1 of 2 tests shows some error (corrected for multiple testing).'
    """
    known = frame["p_holm"].dropna()
    found = int((known <= SIGNIFICANCE).sum())
    if not len(known):
        return "No test could be made."
    if not found:
        return f"None of {len(known)} tests shows an error (corrected for multiple testing)."
    verb = "shows" if found == 1 else "show"
    return f"{found} of {len(known)} tests {verb} some error (corrected for multiple testing)."


SUBJECTS = {
    "event": "event risk",
    "confidence": "confidence",
    "whole": "whole predictions",
    "claims": "the claims made",
}
"""What a test looks at, in words."""

_HEADINGS = {
    "law": "law of the scores",
    "truth": "truth about them",
    "rows_a_cell": "rows a cell",
    "half": "held at half the width",
    "below": "truth below it",
    "above": "truth above it",
    "true_error": "true error",
    "mean_width": "mean width",
    "rejected_exact": "rejected, ties at random",
}
_TITLED: dict[str, Registry[Any]] = {"notion": REDUCTIONS, "estimator": ESTIMATORS, "binning": BINNINGS}


@EXHIBITS.register("coverage", "How often do the intervals hold?")
@dataclass(frozen=True)
class Coverage(Exhibit):
    """How often default intervals held the truth in simulations, a line a case."""

    reads = "counts"
    printed = 10

    meanings = of.Meanings(
        {
            "family": "family of laws",
            "law": "law of the scores",
            "truth": "how far the truth lies from the scores",
            "classes": "number of classes",
            "rows": "rows of a sample",
            "binning": "kind of bins",
            "bins": "number of bins",
            "rows_a_cell": "rows of a sample per cell of class and bin",
            "runs": "number of samples",
            "coverage": "share of samples whose interval holds the true error",
            "below": "share whose interval lies above it",
            "above": "share whose interval lies below it",
            "half": "share that intervals of half the width would hold",
            "true_error": "error of the law",
            "mean_width": "mean width of the intervals",
            "level": "what the coverage should be",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.coverage_table)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return _columns(frame, ("level", "coverage", "below", "above", "half"))

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        tested = frame[(frame["tested"] == 1) & (frame["level"] == LEVEL)]
        middle, low = (float(tested["coverage"].quantile(q)) for q in (0.5, 0.05))
        return Words(
            f"In {count(len(tested))} simulated cases called tested, {at_level(LEVEL)} intervals held the truth in "
            f"{short_percent(middle, 0)} of runs at the median, and in {short_percent(low, 0)} or more "
            "in 19 of 20 cases. Look for the line nearest to your data: its coverage should be near its level."
        ).also(caption(cc.inference.coverage_table))


@EXHIBITS.register("rejection", "How often is a calibrated model rejected?")
@dataclass(frozen=True)
class Rejection(Exhibit):
    """How often calibrated models were rejected at the 5 % level in simulations, a line a case."""

    reads = "counts"
    printed = 10

    meanings = of.Meanings(
        {
            "law": "law of the scores",
            "classes": "number of classes",
            "rows": "rows of a sample",
            "runs": "number of samples",
            "rejected": "share of calibrated samples with p at most 0.05",
            "rejected_exact": "the same with ties broken at random",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.rejection_table)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return _columns(frame, ("rejected", "rejected_exact"))

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        return Words(
            f"In {count(len(frame))} simulated cases calibrated models were rejected in at most "
            f"{short_percent(frame['rejected'].max())} of runs. It should be about 5 % or less: less only means that a "
            "test is careful."
        ).also(caption(cc.inference.rejection_table))


def _columns(frame: pd.DataFrame, shares: tuple[str, ...]) -> tuple[of.Column, ...]:
    """Shares in percent, counts as they are, the rest in words."""
    names = {name: _HEADINGS.get(name, name) for name in frame.columns}
    return tuple(_column(heading, name, frame[name], name in shares) for name, heading in names.items())


def _column(heading: str, name: str, values: pd.Series, share: bool) -> of.Column:
    if share:
        return of.share(heading, name)
    if name in _TITLED:
        return of.titled(heading, _TITLED[name])
    if set(values.dropna()) <= {0, 1} and name == "tested":
        return of.flag(heading)
    if not pd.api.types.is_numeric_dtype(values):
        return of.text(heading, name)
    return of.whole(heading, name) if (values.dropna() % 1 == 0).all() else of.number(heading, name)


ASSUMED = "Both are assumptions, made before any plot was looked at; nothing here tests them."

ASSUMPTIONS = {"lipschitz": "the gap changes slowly", "monotone": "higher scores are right more often"}
"""What is assumed of errors that bins do not see."""


@EXHIBITS.register("unbinned", "How large can the error be with what the bins do not see?")
@dataclass(frozen=True)
class Unbinned(Exhibit):
    """Bounds on every model's error that need no bins, beside the upper end in bins."""

    meanings = of.Meanings(
        {
            "assumption": "what is assumed of the curve",
            "value": "bound on the error with what bins do not see",
            "binned": "upper end of the error in bins",
            "added": "what the assumption allows within bins",
            "bins": "bins used",
            "level": "probability that the bound holds",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.unbinned_bounds, line_words.primaries(scene))

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.titled("notion", cc.REDUCTIONS),
            of.Column("assumption", ("assumption",), ASSUMPTIONS.__getitem__, numeric=False),
            of.error("error at most", "value"),
            of.error("in bins", "binned"),
            of.error("within bins", "added"),
            of.text("bins"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        sentences = zip(frame["model"], frame["sentence"], strict=True)
        return Words(ASSUMED).also(*(f"{model}: {text}" for model, text in sentences))
