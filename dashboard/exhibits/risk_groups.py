"""Groups of rows from low to high risk: events expected and observed in each, and in which they differ."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

import calib_core as cc
from calib_core import NotAnswerable, Recipe
from calib_core._text import begun
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.mean_risk import NO_EVENT
from dashboard.session import Call, Scene, call

GROUPS = Recipe("BINNINGS", "equal-mass", (("bins", 10),))
"""Ten groups of as many rows each, by their predicted risk."""
_IN_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@EXHIBITS.register("risk-groups", "By predicted risk")
@dataclass(frozen=True)
class RiskGroups(Exhibit):
    """Ten groups of rows by predicted risk: events expected and observed, and which groups are off beyond chance."""

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if scene.claims != "event":
            raise NotAnswerable(NO_EVENT)
        models = {scene.model.title: scene.model.predictions}
        return call(cc.diagrams.bins_standing_out, models, GROUPS, notion="event", stem="groups")

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        return (
            of.text("model"),
            of.between("risk", "lower", "upper"),
            of.whole("rows", "count"),
            of.share("predicted", "confidence"),
            of.share("observed", "accuracy"),
            of.between("interval of all", "low", "high"),
            of.probability("p (corrected)", "p_corrected"),
            of.Column("off", ("stands_out",), _side, numeric=False),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        first, basis = headline(frame)
        return Words(
            "Groups of equally many rows, from the lowest to the highest predicted risk.", headline=(f"{first}.", basis)
        ).also(
            "The intervals hold for all groups together. p: exact, corrected for the number of groups; a group is off "
            "where it is at most 0.10.",
        )


def headline(frame: pd.DataFrame) -> tuple[str, str]:
    """In how many groups risks are too high or too low, and what that counts.

    >>> frame = pd.DataFrame({"stands_out": ["over-confident"] * 2 + [""], "count": [10.0] * 3})
    >>> headline(frame)[0]
    'Too high in two of three risk groups'
    """
    sides, n = frame["stands_out"], len(frame)
    high, low = int((sides == "over-confident").sum()), int((sides == "under-confident").sum())
    basis = f"Corrected for {_number(n)} groups of about {frame['count'].mean():,.0f} rows."
    groups = f"{_number(n)} risk groups" if n > 1 else "the one risk group"
    if not high and not low:
        return "No risk group is clearly off", basis
    if high and low:
        return f"Too high in {_number(high)}, too low in {_number(low)} of {groups}", basis
    side, number = ("high", high) if high else ("low", low)
    if n == 1:
        return f"Too {side} in the one risk group", basis
    return begun(f"too {side} in {'all' if number == n else f'{_number(number)} of'} {groups}"), basis


def _number(number: int) -> str:
    return _IN_WORDS[number] if number < len(_IN_WORDS) else f"{number:,}"


def _side(value: str) -> str:
    return {"over-confident": "risk too high", "under-confident": "risk too low"}.get(value, "")
