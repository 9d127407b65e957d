"""Bin-free tests of calibration, bounds on errors within bins, and simulations of coverage and false alarms."""

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
    "Is there any miscalibration? Bin-free tests",
    reference="Arrieta-Ibarra et al. 2022; Spiegelhalter 1986; Holm 1979; Benjamini & Hochberg 1995",
)
@dataclass(frozen=True)
class Tests(Exhibit):
    """Bin-free tests of calibration for every model, corrected for multiple testing."""

    reads = "counts"

    meanings = of.Meanings(
        {
            "test": "name of the test",
            "subject": "subject of the test: event or confidence, whole predictions, or the claims",
            "statistic": "value of the test statistic",
            "p": "probability of a result at least as extreme for a calibrated model",
            "p_holm": "the same, Holm-corrected, except for the test on the Brier score",
            "p_bh": "the same, corrected by the Benjamini-Hochberg procedure",
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
            f"{shown(frame)} {self._gaps(scene, frame)}p: the probability of a result at least as extreme for a "
            "perfectly calibrated model. The test on the Brier score is the one reported with a verdict. It was "
            "fixed in advance and needs no correction. The others are corrected for their number."
        ).also(
            "A test shows whether there is an error, not its size. Holm: the probability of any false alarm among "
            "the other tests is at most 5 %. Benjamini and Hochberg: on average at most 5 % of the alarms are "
            "false.",
            *(f"{', '.join(tests)}: {note}." for note, tests in reasons.items()),
            *impossible(frame),
            scene.rows_counted,
        )

    def _gaps(self, scene: Scene, frame: pd.DataFrame) -> str:
        """Note on models with a significant mean gap but no significant test here."""
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
    """Note on p-values of 0 caused by an outcome with a predicted probability of 0."""
    certain = (frame["p"] == 0) & (frame["statistic"].abs() < CERTAIN)
    if not certain.any():
        return ()
    return (
        "p is 0 if an outcome with a predicted probability of 0 occurred, such as an error at a confidence of 100 %. "
        "This is impossible for a calibrated model.",
    )


def unseen(gaps: Mapping[str, cc.diagrams.OverallGap]) -> str:
    """Sentence on models with a significant mean gap but no significant test; empty if there are none.

    >>> rows = cc.Predictions([[0.7, 0.3]] * 400, [0] * 340 + [1] * 60)
    >>> unseen({"Old": cc.diagrams.overall_gap(rows, notion="event")}).partition(".")[0]
    'The mean gap is nevertheless significant: old (p < 0'
    """
    shown = {title: chance(gap.p_value) for title, gap in gaps.items() if gap.direction}
    if not shown:
        return ""
    models = ", ".join(f"{inside(title)} ({p})" for title, p in shown.items())
    return (
        f"The mean gap is nevertheless significant: {models}. These tests can miss it; the measures of the risk "
        "tests it directly. "
    )


def shown(frame: pd.DataFrame) -> str:
    """Sentence on the number of significant tests after correction.

    >>> shown(pd.DataFrame({"model": ["a", "a"], "p_holm": [0.01, 0.3]}))
    '1 of 2 tests shows some error (corrected for multiple testing).'
    """
    known = frame["p_holm"].dropna()
    found = int((known <= SIGNIFICANCE).sum())
    if not len(known):
        return "No test is possible."
    if not found:
        return f"None of {len(known)} tests shows an error (corrected for multiple testing)."
    verb = "shows" if found == 1 else "show"
    return f"{found} of {len(known)} tests {verb} some error (corrected for multiple testing)."


SUBJECTS = {
    "event": "event risk",
    "confidence": "confidence",
    "whole": "whole predictions",
    "claims": "claims",
}
"""Titles of the subjects of tests."""

_HEADINGS = {
    "law": "distribution of the scores",
    "truth": "true calibration curve",
    "rows_a_cell": "rows per cell",
    "half": "coverage at half the width",
    "below": "truth below it",
    "above": "truth above it",
    "true_error": "true error",
    "mean_width": "mean width",
    "rejected_exact": "rejected, ties broken at random",
}
_TITLED: dict[str, Registry[Any]] = {"notion": REDUCTIONS, "estimator": ESTIMATORS, "binning": BINNINGS}


def simulated_coverage(frame: pd.DataFrame) -> str:
    """Sentence on the coverage of the intervals called tested in the table of simulations."""
    tested = frame[(frame["tested"] == 1) & (frame["level"] == LEVEL)]
    middle, low = (float(tested["coverage"].quantile(q)) for q in (0.5, 0.05))
    return (
        f"In {count(len(tested))} simulated cases, the median coverage of {at_level(LEVEL)} intervals is "
        f"{short_percent(middle, 0)}; it is {short_percent(low, 0)} or more in 19 of 20 cases."
    )


def simulated_rejection(frame: pd.DataFrame) -> str:
    """Sentence on the false alarms of the tests in the table of simulations."""
    return (
        f"In {count(len(frame))} simulated cases, calibrated models were rejected in at most "
        f"{short_percent(frame['rejected'].max())} of runs."
    )


@EXHIBITS.register("coverage", "Coverage of the intervals")
@dataclass(frozen=True)
class Coverage(Exhibit):
    """Simulated coverage of the default intervals, one line per case."""

    reads = "counts"
    printed = 10

    meanings = of.Meanings(
        {
            "family": "family of distributions",
            "law": "distribution of the scores",
            "truth": "deviation of the true curve from the scores",
            "classes": "number of classes",
            "rows": "rows per sample",
            "binning": "kind of bins",
            "bins": "number of bins",
            "rows_a_cell": "rows per sample per cell of class and bin",
            "runs": "number of samples",
            "coverage": "share of samples whose interval contains the true error",
            "below": "share of intervals above the true error",
            "above": "share of intervals below the true error",
            "half": "coverage of intervals of half the width",
            "true_error": "true error of the distribution",
            "mean_width": "mean width of the intervals",
            "level": "nominal coverage",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.coverage_table)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return _columns(frame, ("level", "coverage", "below", "above", "half"))

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.coverage_map", call(cc.inference.coverage_cells))

    def words(self, scene: Scene) -> Words:
        return Words(
            f"{simulated_coverage(scene.get(self.table(scene)))} These cases are marked “tested” in the table. A cell "
            "of the chart has the lowest coverage of any case in bold, then the median. Coverage: the share of "
            "samples whose interval contains the true error. The table has a line for each case. Find the one closest "
            "to your data: its coverage should be about its level, or higher.",
            f"Lowest and median coverage of {at_level(LEVEL)} intervals, by estimator and number of rows.",
        ).also(caption(cc.inference.coverage_table))


@EXHIBITS.register("rejection", "False alarms of the tests")
@dataclass(frozen=True)
class Rejection(Exhibit):
    """Simulated rejection rate of calibrated models at the 5 % level, one line per case."""

    reads = "counts"
    printed = 10

    meanings = of.Meanings(
        {
            "law": "distribution of the scores",
            "classes": "number of classes",
            "rows": "rows per sample",
            "runs": "number of samples",
            "rejected": "share of calibrated samples with p at most 0.05",
            "rejected_exact": "the same with ties broken at random",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.rejection_table)

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return _columns(frame, ("rejected", "rejected_exact"))

    def figure(self, scene: Scene) -> Call[Any]:
        return call("figures.rejection_map", call(cc.inference.rejection_cells))

    def words(self, scene: Scene) -> Words:
        return Words(
            f"{simulated_rejection(scene.get(self.table(scene)))} This should be about 5 % or less: below 5 % only "
            "means the test is conservative. A cell of the chart has the largest share of any case in bold, then the "
            "median.",
            "Largest and median share of calibrated models that tests reject, by estimator and notion.",
        ).also(caption(cc.inference.rejection_table))


def _columns(frame: pd.DataFrame, shares: tuple[str, ...]) -> tuple[of.Column, ...]:
    """Return the columns: shares in percent, counts as numbers, the rest in words."""
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


ASSUMED = (
    "Without an assumption there is no bound on errors within bins. Each bound rests on one assumption, which is made "
    "before looking at any chart and is not tested here."
)

ASSUMPTIONS = {"lipschitz": "the gap changes slowly", "monotone": "observed frequency increases with the score"}
"""Titles of the assumptions on errors within bins."""


@EXHIBITS.register("unbinned", "Bounds on the error including errors within bins")
@dataclass(frozen=True)
class Unbinned(Exhibit):
    """Bounds on every model's error that include errors within bins, and the upper end for the binned error."""

    meanings = of.Meanings(
        {
            "assumption": "assumption on the calibration curve",
            "value": "bound on the error, including errors within bins",
            "binned": "upper end of the interval of the binned error",
            "added": "largest error within bins under the assumption",
            "bins": "bins used",
            "level": "probability that the bound is valid",
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
        return Words(ASSUMED).also(*(f"{model}. {text}" for model, text in sentences))
