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
            f"{shown(frame)} p: the chance that a perfectly calibrated model shows as much. Corrected, of all lines at "
            "most 5 %: by Holm the chance that any is a false alarm is at most 5 %; by Benjamini and Hochberg at most "
            "5 % of them are false alarms on average, where the tests do not pull against each other."
        ).also(
            "A test says that there is an error, not how large it is. Beside a verdict stands the p of the Brier "
            "score, which is not corrected: it is one test, chosen beforehand.",
            *(f"{', '.join(tests)}: {note}." for note, tests in reasons.items()),
        )


def shown(frame: pd.DataFrame) -> str:
    """How many of the tests show an error once corrected for their number, in a sentence.

    >>> shown(pd.DataFrame({"model": ["a", "a"], "p_holm": [0.01, 0.3]}))
    '1 of 2 tests shows that there is an error, corrected for their number.'
    """
    known = frame["p_holm"].dropna()
    found = int((known <= SIGNIFICANCE).sum())
    if not len(known):
        return "No test could be made."
    if not found:
        return f"None of {len(known)} tests shows an error, corrected for their number; that proves no calibration."
    return (
        f"{found} of {len(known)} tests {'shows' if found == 1 else 'show'} that there is an error, corrected for "
        "their number."
    )
