"""A forest plot: every estimator's error of one model in one notion, with interval and noise floor, on one axis.

Slices in the order of their significant gaps: mean confidence, accuracy, and the noise floor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.errors import as_share, as_whole
from calib_core._base.pandas_input import Column
from calib_core.defaults import LEVEL, SIGNIFICANCE, TOLERANCE
from calib_core.estimators.base import ESTIMATORS
from calib_core.inference.verdicts.other_measures import LEFT_OUT, verdict_and_others
from calib_core.inference.verdicts.primary_measure import ESTIMATOR
from calib_core.predictions.predictions import NotAnswerable
from calib_core.reductions.base import REDUCTIONS
from calib_core.results.verdict_table import MISCALIBRATED
from calib_core.text import (
    at_level,
    begun,
    chance,
    first_few,
    in_percent,
    in_points,
    of_rows,
    points,
    share_range,
    short_percent,
    told_apart,
)

FAMILIES = ("Bins", "Overlapping bins (rows shared)", "Squared, in bins", "Worst bin", "No bins to choose")
"""Families of estimators, in order."""
_REACH = 2.0
"""The axis reaches at most this many times as far as the first line, or the tolerance: the rest is an arrow."""
_ROOM = 1.06


@dataclass(frozen=True, eq=False, repr=False)
class Forest(Diagram):
    """Lines (``frame``) of one ``model`` in one ``notion``; the first is that of the estimator ``first``.

    ``declared`` is True where that line decides the verdict about the model: it was fixed before any number was seen.
    Errors are in probability, squared ones as roots, and 0 where they are negative. A mean over classes whose maximum
    is below 1 (``shares``) is a share of that maximum, so that one tolerance is valid for all. ``top`` is the end of
    the axis. ``sentences`` are the first estimator's verdict, and how many of the others agree.
    """

    model: str
    notion: str
    first: str
    declared: bool
    tolerance: float
    level: float
    shares: bool
    top: float
    sentences: tuple[str, ...]
    lines: pd.DataFrame

    formula: ClassVar[str] = ""

    @property
    def headline(self) -> str:
        """Summary of the verdicts."""
        return " ".join(self.sentences)

    @property
    def missing(self) -> tuple[str, ...]:
        """Titles of the estimators without an interval."""
        return tuple(self.lines.loc[self.lines["low"].isna(), "title"])

    def frame(self) -> pd.DataFrame:
        """One line per estimator, exactly the numbers drawn and written.

        Columns: estimator, title, family, point (the value where there is no interval), low, high, value (raw, to be
        compared with the floor), floor, verdict. ``root`` marks a squared error; the texts are points, interval,
        measured, noise and chance (the p-value, and the error that it is of where that is not the line's own).
        """
        return self.lines

    @property
    def by_smaller_error(self) -> dict[str, list[str]]:
        """Titles of lines whose verdict is another error's, by that error: their own value is not above its floor."""
        within = self.lines["value"] <= self.lines["floor"]
        decided = self.lines[within & (self.lines["verdict"] == MISCALIBRATED) & (self.lines["p_of"] != "")]
        return {str(error): lines["title"].tolist() for error, lines in decided.groupby("p_of", sort=False)}


def forest(lines: pd.DataFrame, declared: str = "", first: str = ESTIMATOR, eps: float = TOLERANCE) -> Forest:
    """The lines of one model's estimators (``inference.estimate_lines``, judged by ``eps``) as a forest plot.

    ``declared`` is the notion of the model's verdict (``inference.primary``); ``first`` is its estimator. What can
    mislead: estimators are of different things, so that their points need not agree; a worst bin is no mean.
    NotAnswerable where there are errors of several models or notions, or none.

    >>> from calib_core import Predictions
    >>> from calib_core.inference import estimate_lines, estimates
    >>> p = Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)
    >>> table = estimate_lines(estimates({"one": p}, [("confidence", key) for key in ("rmsce", "ece")]))
    >>> forest(table).frame()[["title", "family", "points", "interval"]].values.tolist()
    [['ECE', 'Bins', '30.0', '18.9 to 41.1'], ['RMSCE', 'Squared, in bins', '30.1', '18.9 to 41.1']]
    """
    if lines["model"].nunique() != 1 or lines["notion"].nunique() != 1:
        raise NotAnswerable("a forest plot shows the estimators of one model in one notion")
    known = lines["limit"].notna() & (lines["unit"] != "score") & lines["value"].notna()
    errors = lines[known | (lines["note"] == LEFT_OUT)]
    if errors.empty:
        raise NotAnswerable("; ".join(dict.fromkeys(filter(None, lines["note"]))) or "no estimator has a value")
    notion = str(lines["notion"].dropna().iloc[0])
    placed = pd.DataFrame([_placed(line, notion, eps) for _, line in errors.iterrows()])
    order = np.lexsort((placed["family"].map(FAMILIES.index), placed["estimator"] != first))
    placed = placed.iloc[order].reset_index(drop=True)
    limits = errors.loc[errors["unit"] == "share", "limit"].dropna()
    return Forest(
        str(lines["model"].iloc[0]),
        notion,
        first,
        notion == declared,
        eps,
        float(lines["level"].iloc[0]),
        bool((limits < eps * (1 - 1e-9)).any()),
        _top(placed, first, eps),
        verdict_and_others(lines, first, eps),
        placed,
    )


def family_of(estimator: str) -> str:
    """The family of an estimator, from its declared properties.

    >>> family_of("ece"), family_of("rmsce"), family_of("mce"), family_of("ece-convex"), family_of("smece")
    ('Bins', 'Squared, in bins', 'Worst bin', 'Overlapping bins (rows shared)', 'No bins to choose')
    """
    entry = ESTIMATORS[estimator]
    scale = entry.flags.scale(entry.make())
    bins_inside = getattr(entry.make(), "binning", None)
    if scale.order in ("max", "bins"):
        return FAMILIES[3]
    if bins_inside is None:
        return FAMILIES[4]
    if entry.flags.judged == "residuals":
        return FAMILIES[1]
    return FAMILIES[2] if scale.order == 2 else FAMILIES[0]


def _placed(line: Column, notion: str, eps: float) -> dict[str, Any]:
    """One line on the axis that all share, and as it is written."""
    root = line["unit"] == "square"
    key = str(line["estimator"])
    low, high, floor, value, estimate = (
        _on_axis(float(line[name]) / float(line["limit"]), root, eps)
        for name in ("low", "high", "floor", "value", "point")
    )
    sure = math.isfinite(low)
    point = estimate if sure else value
    first, middle, last = in_points([low, point, high] if sure else [math.nan, point, math.nan], eps if sure else None)
    title = begun(str(line["title"]).removeprefix(f"{REDUCTIONS[notion].title} ")).removesuffix(" (squared)")
    return {
        "estimator": key,
        "title": f"{title}, root" if root else title,
        "family": family_of(key),
        "point": point,
        "low": low,
        "high": high,
        "value": value,
        "floor": floor,
        "verdict": line["verdict"],
        "root": root,
        "points": middle,
        "interval": f"{first} to {last}" if sure else "not computed",
        "measured": in_points([value])[0],
        "noise": in_points([floor])[0],
        "p": line["p"],
        "p_of": str(line["p_of"] or ""),
        "chance": _chance(float(line["p"]), str(line["p_of"] or "")),
    }


def _chance(p: float, of: str) -> str:
    """A p-value with the error that it is of, if that is another one; empty without a p-value."""
    return "" if math.isnan(p) else f"{chance(p)}, {of}" if of else chance(p)


def _on_axis(share: float, root: bool, eps: float) -> float:
    """An error as a share of the tolerance, in probability; NaN stays NaN."""
    if math.isnan(share):
        return share
    return eps * (math.sqrt(max(share, 0.0)) if root else max(share, 0.0))


def _top(placed: pd.DataFrame, first: str, eps: float) -> float:
    """End of the axis; outlying estimators do not compress the others."""
    known = placed[["point", "high", "floor"]].to_numpy(dtype=np.float64)
    chosen = known[(placed["estimator"] == first).to_numpy(), :2]
    reach = float(np.max(chosen, where=np.isfinite(chosen), initial=0.0))
    limit = _REACH * max(reach or _middle(known[np.isfinite(known[:, 0]), 0]), eps)
    return _ROOM * max(float(np.max(known, where=known <= limit, initial=0.0)), 1.3 * eps)


def _middle(numbers: Float64s) -> float:
    return float(np.median(numbers)) if len(numbers) else 0.0


MOST_LINES = 30
_NAMED = 3
"""Up to this many slices with too few rows are named."""


@dataclass(frozen=True, eq=False, repr=False)
class SliceDots(Diagram):
    """Lines of a table of slices (``slices.table``), those drawn and how many more there are.

    ``tests`` is the number of tests. ``outstanding`` slices are significantly off after correction; those in
    ``untested`` have too few rows. ``of_event``: they are about the predicted risk of an event, not about confidence.
    ``alike``: several are significantly off, all in one direction, and no slice differs from the other rows.
    """

    lines: pd.DataFrame
    more: int
    tests: int
    outstanding: int
    untested: tuple[str, ...]
    level: float
    of_event: bool = False
    alike: bool = False

    @property
    def worst(self) -> pd.Series | None:
        """The significant slice with the largest gap; None where none is significantly off."""
        if not self.outstanding:
            return None
        return self.lines.iloc[int(np.where(self.lines["stands_out"], self.lines["gap"].abs(), -1.0).argmax())]

    @property
    def headline(self) -> str:
        """The slice with the largest significant gap, or a sentence that there is none."""
        if not len(self.lines):
            return "There are no slices"
        worst = self.worst
        if worst is None:
            return "No slice is significantly off" if self.tests else "Every slice has too few rows to tell"
        if self.alike:
            what = "Mean risk" if self.of_event else "Mean confidence"
            return f"{what} is significantly {self.off}; no slice differs significantly from the rest"
        return self._numbers(worst)

    @property
    def off(self) -> str:
        """Direction of the error of the significant slices, and how many they are; empty if there are none."""
        if (worst := self.worst) is None:
            return ""
        every = "both" if self.tests == 2 else f"all {self.tests:,}"
        which = every if self.outstanding == self.tests else f"{self.outstanding:,} of {self.tests:,}"
        return f"too {'low' if worst['gap'] > 0 else 'high'} in {which} slices"

    def _numbers(self, line: pd.Series) -> str:
        """Mean prediction and observed frequency of a slice."""
        digits = short_percent if self.of_event else in_percent
        says, right = told_apart(float(line["claimed"]), float(line["right"]), digits)
        if self.of_event:
            return f"{line['slice']}: mean risk {says}, observed {right}"
        return f"{line['slice']}: mean confidence {says}, accuracy {right}"

    @property
    def basis(self) -> str:
        """Rows and interval of this slice, and the number of significant slices."""
        corrected = " (corrected for multiple testing)" if self.tests > 1 else ""
        few, worst = self._few, self.worst
        if worst is None:
            if not self.tests:
                return few.strip()
            if self.tests == 1:
                return f"The only slice tested is not significantly off.{few}"
            return f"None of the {self.tests:,} slices is significantly off{corrected}.{few}"
        ends = share_range(float(worst["low"]), float(worst["high"]))
        some = of_rows(worst["rows"], worst["worth"], worst.get("groups"))
        right = "observed" if self.of_event else "accuracy"
        rows = f"{some}; {right} {ends} ({at_level(self.level)} interval){self._beside(worst)}"
        count = f"{self.outstanding:,} of {self.tests:,} slices" if self.tests > 1 else "The only slice tested"
        are = "is" if self.outstanding == 1 else "are"
        largest = " This is the largest significant gap." if self.outstanding > 1 else ""
        if self.alike:
            largest, rows = (
                "",
                f"The largest gap is in {self._numbers(worst)} ({some}; {at_level(self.level)} interval {ends})",
            )
        return f"{rows}.{largest} {count} {are} significantly off{corrected}.{few}"

    def _beside(self, line: pd.Series) -> str:
        """Comparison of the gap of a slice with that of all other rows."""
        if pd.isna(line["p_beyond"]):
            return ""
        away = points(line["beyond"]).lstrip("+\u2212")
        if not line["differs"]:
            difference = points(line["beyond"])
            return f". Whether its gap differs from that of the other rows is not shown (difference {difference})"
        rest = line["gap"] - line["beyond"]
        if line["beyond"] * line["gap"] > 0 and rest * line["gap"] >= 0:
            return f". Its gap is {away} larger than that of the other rows"
        return f". Its gap differs from that of the other rows by {away}"

    @property
    def _few(self) -> str:
        if not self.untested:
            return ""
        number = "1 slice has" if len(self.untested) == 1 else f"{len(self.untested):,} slices have"
        return f" {number} too few rows to be tested: {first_few(self.untested, _NAMED)}."

    def frame(self) -> pd.DataFrame:
        """One line a slice, the worst first, exactly the numbers drawn."""
        return self.lines


def slice_dots(
    table: pd.DataFrame, most: int = MOST_LINES, level: float = LEVEL, notion: str = "confidence"
) -> SliceDots:
    """The first ``most`` lines of a table of slices, to be drawn one below the other, the largest gap first.

    ``table`` is that of ``slices.table`` or ``slices.by_column``, or the frame of a ``slices.scan``, with intervals at
    ``level``. ``notion`` is "event" where it is about the predicted risk of an event. Slices with too few rows to be
    tested come last. ``evidence`` of a line is "significant" (corrected for multiple testing), "alone" (p at most 0.05
    without this correction), "none" or "untested". What can mislead: the order is by the size of gaps, and the largest
    are often those of small slices. Their color shows whether there is evidence for them.

    >>> import calib_core as cc
    >>> site = pd.DataFrame({"site": ["a"] * 40 + ["b"] * 40})
    >>> right = [True] * 30 + [False] * 10 + [True, False] * 20
    >>> p = cc.Predictions.from_confidence([0.75] * 80, right, metadata=site)
    >>> found = slice_dots(cc.slices.table(p, "site"))
    >>> found.headline
    'site = b: mean confidence 75 %, accuracy 50 %'
    >>> found.basis.partition(". ")[0]
    '40 rows; accuracy 36 to 64 % (90 % interval)'
    """
    as_whole(most, "most", 1)
    as_share(level, "level")
    tested, off = table["p"].notna(), table["stands_out"].astype(bool)
    lines = table.head(most)
    lines = lines.iloc[np.lexsort((-lines["gap"].abs(), lines["p"].isna()))].reset_index(drop=True)
    alone = np.where(lines["p"] <= SIGNIFICANCE, "alone", np.where(lines["p"].isna(), "untested", "none"))
    lines["evidence"] = np.where(lines["stands_out"].astype(bool), "significant", alone)
    untested = tuple(table.loc[~tested, "slice"])
    alike = off.sum() > 1 and table.loc[off, "gap"].gt(0).nunique() == 1 and not table["differs"].any()
    found = int(tested.sum()), int(off.sum()), untested, level
    return SliceDots(lines, len(table) - len(lines), *found, of_event=notion == "event", alike=bool(alike))
