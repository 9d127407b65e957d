"""Differences of the error between all pairs of models on the same rows, with intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pandas as pd

import calib_core as cc
from calib_core import ESTIMATORS, NotAnswerable
from calib_core.defaults import LEVEL
from calib_core.estimators import BY_DEFAULT, takes_bins
from calib_core.inference import marked, unit_of
from calib_core.inference.comparison.model_differences import DEFAULT, MARGIN
from calib_core.inference.comparison.skills import ONE_MODEL
from calib_core.registry.registry import Key, Range
from calib_core.summaries import kept_together
from calib_core.text import (
    at_level,
    begun,
    chance,
    count,
    difference,
    inside,
    listed,
    measured,
    points_of,
    short_percent,
)
from calib_core.text import score as written
from dashboard.exhibits import columns as of
from dashboard.exhibits.exhibit import EXHIBITS, Exhibit, Words
from dashboard.exhibits.line_words import AT_LEVEL
from dashboard.session import Call, Scene, call

WHOLE = "whole"
"""Instead of a notion: whole predictions, evaluated by scores."""
VALUES_DIFFER = (
    "The difference is corrected for noise, like its interval. So it is not simply one raw value, or one estimate, "
    "minus the other."
)
IN_GROUPS = (
    "Errors by class are measured in groups of rows with similar predictions here, so their raw values differ from "
    "those of calib audit. With --bins 15 they are measured in 15 bins."
)
"""Note on values by class that differ from those of other tables."""
P_VALUE = "p: the probability of a difference at least as large if the models do not differ."
P_VALUES = f"{P_VALUE} p (corrected): the same, corrected for the number of pairs (Holm)."
_BETTER = "Better or worse: p is at most 5 %, and the interval excludes 0."
_FIVE_WORDS = (
    f"{_BETTER} The margin is {{}}. “Within margin” after better or worse: the whole interval is closer to 0 than the "
    "margin. Equivalent: neither better nor worse, and the whole interval is closer to 0 than the margin. Not worse: "
    "none of these, but the interval rules out that the first is worse by the margin or more. Cannot tell: none of "
    "these."
)


def five_words(margin: float) -> str:
    """Explain the five verdicts of a comparison at a margin, a number of the error or score."""
    squared = f"{written(margin * margin)} for squared errors"
    return _FIVE_WORDS.format(f"{written(margin)} ({points_of(short_percent(margin))} of an error; {squared})")


def words_of(verdicts: pd.Series, margin: float) -> str:
    """Explain these verdicts: in one sentence if the margin has no part in them.

    >>> words_of(pd.Series(["better", "worse"]), 0.01)
    'Better or worse: p is at most 5 %, and the interval excludes 0.'
    """
    return _BETTER if verdicts.isin(["better", "worse"]).all() else five_words(margin)


NOT_PAIRED = (
    "A summary does not identify its rows, so the two models' separate intervals are combined. This is valid for "
    "any overlap of the rows, but wider than a paired interval on the same rows."
)


@EXHIBITS.register("pairs", "Paired differences, on the same rows")
@dataclass(frozen=True)
class PairsExhibit(Exhibit):
    """Differences of the error between all pairs of models, by paired resampling of rows."""

    reads = "counts"

    estimator: Annotated[str, Key("ESTIMATORS"), "Error or score", "the error or score to compare"] = DEFAULT
    notion: Annotated[
        str,
        Key("REDUCTIONS", (BY_DEFAULT, WHOLE), ("As in the verdict", "Whole predictions")),
        "Claims compared",
        "which claims are compared: by default the event of two classes, else the confidence; or whole "
        "predictions, evaluated by scores",
    ] = BY_DEFAULT
    margin: Annotated[
        float, Range(0.0001, 0.5), "Margin", "the largest irrelevant difference: .01 is one point, or .01 of a score"
    ] = MARGIN

    meanings = of.Meanings(
        {
            "difference": "error of the first minus that of the second, corrected for noise",
            "verdict": "verdict on the first compared with the second, by the interval and the margin",
        }
    )

    def models(self, scene: Scene) -> Any:
        """Return the test rows of every model, by title."""
        return scene.predictions()

    def table(self, scene: Scene) -> Call[pd.DataFrame]:
        if len(scene.models.shown) < 2:
            raise NotAnswerable(ONE_MODEL)
        notion = self._notion(scene)
        if notion is None and "predictions" not in cc.ESTIMATORS[self.estimator].flags.takes:
            raise NotAnswerable("whole predictions can only be compared by scores; choose a score, or a notion")
        bins = scene.bins if takes_bins(self.estimator) else None
        return call(cc.compare, self.models(scene), notion, self.estimator, bins, margin=self.margin)

    def _notion(self, scene: Scene) -> str | None:
        """Return the chosen notion, or the page's; None: whole predictions."""
        if self.notion == BY_DEFAULT:
            return scene.claims
        return None if self.notion == WHOLE else self.notion

    def which_rows(self, scene: Scene) -> str:
        """Note for summaries, whose rows cannot be paired; empty for row-level data."""
        return NOT_PAIRED if scene.undivided else ""

    def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
        unit = unit_of(self.estimator)
        return (
            of.text("first"),
            of.text("second"),
            of.difference("difference", unit=unit),
            of.difference_between(AT_LEVEL, "low", "high", unit),
            *of.marks(frame, marked(_claims(frame))[0]),
            of.text("the first is", "verdict"),
            of.probability("p"),
            of.probability("p (corrected)", "p_holm"),
        )

    def words(self, scene: Scene) -> Words:
        frame = scene.get(self.table(scene))
        notion = self._notion(scene)
        claims = "whole predictions" if notion is None else f"{cc.REDUCTIONS[notion].title.lower()} claims"
        refused = frame.loc[frame["note"] != "", "note"].value_counts(sort=False)
        return Words(
            f"{cc.ESTIMATORS[self.estimator].title} of {claims}: error of the first minus that of the second; below "
            f"0, the first has the smaller error. Each {AT_LEVEL} is for one pair. {VALUES_DIFFER} {P_VALUES} "
            f"{five_words(self.margin)}"
        ).also(
            self.which_rows(scene),
            *marked(_claims(frame))[1],
            *(f"{pairs} of {len(frame)} pairs were not compared: {why}." for why, pairs in refused.items()),
        )


@EXHIBITS.register("kept-pairs", "Paired differences, on the rows stored in summaries")
@dataclass(frozen=True)
class KeptPairs(PairsExhibit):
    """Differences of the error between all pairs of models in summaries, on the rows that all of them store."""

    def models(self, scene: Scene) -> Any:
        return call(kept_together, scene.predictions(), stem="kept")

    def which_rows(self, scene: Scene) -> str:
        """Note that these are few of the rows, and why they are assumed to be the same."""
        rows = next(iter(scene.get(self.models(scene)).values())).n_rows
        return (
            f"Only on the {count(rows)} random rows that every summary stores. They are assumed to be the same "
            "rows: row numbers and source names agree, and so do labels where known."
        )


def _claims(frame: pd.DataFrame) -> list[tuple[str, bool | None]]:
    """Return what each pair's interval estimates, and whether it is tested."""
    return list(zip(frame["about"], frame["tested"], strict=True))


QUESTIONS = ((None, "log-loss"), ("confidence", DEFAULT))
"""Notion and estimator of the comparison: log loss of the whole prediction, else the confidence error."""
MOST = 3
"""Largest number of models that the first is compared with; a table has all pairs."""


def better(scene: Scene) -> tuple[str, ...]:
    """Compare the first file's original model with those of other files; empty if there is one file."""
    models = scene.bases[: MOST + 1]
    if len(models) < 2:
        return ()
    rows = {model.title: model.predictions for model in models}
    for notion, key in QUESTIONS:
        try:
            found = scene.get(call(cc.compare, rows, notion, key))
        except NotAnswerable:
            continue
        lines = [line for line in found.to_dict("records") if line["first"] == models[0].title]
        if lines and not any(line["note"] for line in lines):
            return tuple(conclusion(line, key) for line in lines)
    return ()


def conclusion(line: Mapping[Any, Any], key: str, level: float = LEVEL) -> str:
    """Describe one line of a comparison in a sentence that names its measure; another measure can differ."""
    first, second, unit = line["first"], line["second"], unit_of(key)
    by = f"By {inside(line.get('title', ESTIMATORS[key].title))},"
    low, high = difference(line["low"], unit), difference(line["high"], unit)
    sure = f"{at_level(level)} interval of the difference {low} to {high}, {chance(line['p'])}"
    values = f"{measured(line['first_value'], unit)} against {measured(line['second_value'], unit)}"
    if line["verdict"].startswith("better"):
        return f"{by} {first} is better than {second}: {values} ({sure})."
    if line["verdict"].startswith("worse"):
        values = f"{measured(line['second_value'], unit)} against {measured(line['first_value'], unit)}"
        sure = f"{first} minus {second}: {at_level(level)} interval {low} to {high}, {chance(line['p'])}"
        return f"{by} {second} is better than {first}: {values} ({sure})."
    if line["verdict"] == "equivalent":
        return f"{by} {first} and {second} are equivalent within the margin: {values} ({sure})."
    if line["verdict"] == "not worse":
        return (
            f"{by} {first} is not significantly better than {second}, and not worse by more than the margin: {values} "
            f"({sure})."
        )
    return f"{by} these rows do not show whether {first} or {second} is better: {values} ({sure})."


def other_conclusions(lines: Sequence[Mapping[Any, Any]]) -> str:
    """Sentences on the measures of one pair that differ from the first line's verdict: which model each calls better.

    ``lines`` have the measure's name as "title". Empty if all other lines agree, or none calls a model better.

    >>> pair = {"first": "a", "second": "b"}
    >>> unclear, worse = pair | {"title": "Log loss", "verdict": "cannot tell"}, pair | {"verdict": "worse"}
    >>> other_conclusions([unclear, worse | {"title": "Accuracy"}, worse | {"title": "Confidence ECE"}])
    'By accuracy and confidence ECE, b is better. These verdicts are not corrected for the number of measures.'
    >>> other_conclusions([worse | {"title": "Log loss"}, worse | {"title": "Accuracy"}])
    ''
    """
    stated = _better_of(lines[0])
    calls: dict[str, list[str]] = {}
    for line in lines[1:]:
        if (better_one := _better_of(line)) and better_one != stated:
            calls.setdefault(better_one, []).append(inside(line["title"]))
    if not calls:
        return ""
    parts = "; ".join(f"by {listed(titles)}, {name} is better" for name, titles in calls.items())
    return f"{begun(parts)}. These verdicts are not corrected for the number of measures."


def _better_of(line: Mapping[Any, Any]) -> str:
    """Return the model that a line calls better; empty if it calls none."""
    word = line["verdict"].partition(",")[0]
    return str({"better": line["first"], "worse": line["second"]}.get(word, ""))
