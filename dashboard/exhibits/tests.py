"""Tests of calibration that need no bins."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core.defaults import SIGNIFICANCE
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
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
            "statistic": "value of the test statistic",
            "p": "chance that a calibrated model shows as much",
            "p_holm": "the same, corrected by Holm's rule; that on the Brier score is not",
            "p_bh": "the same, corrected by Benjamini and Hochberg's rule",
        }
    )

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        return call(cc.inference.unbinned_tests, scene.predictions())

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.text("test"),
            of.number("statistic"),
            of.probability("p"),
            of.probability("corrected (Holm)", "p_holm"),
            of.probability("corrected (Benjamini and Hochberg)", "p_bh"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        reasons = frame.loc[frame["note"].astype(bool)].groupby("note", sort=False)["test"].unique()
        return Words(
            f"{shown(frame)} p: the chance that a perfectly calibrated model shows as much. The test on the Brier "
            "score is the one next to a verdict. It is fixed in advance and needs no correction; the others are "
            "corrected for their number."
        ).also(
            "A test shows that there is an error, not how large it is. By Holm the chance of any false alarm among the "
            "other tests is at most 5 %; by Benjamini and Hochberg at most 5 % of the alarms are false on average.",
            *(f"{', '.join(tests)}: {note}." for note, tests in reasons.items()),
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
