"""A forest plot: every estimator's error of one model in one notion, with interval and noise floor, on one axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.pandas_input import Column
from calib_core.defaults import TOLERANCE
from calib_core.diagrams.base import Diagram
from calib_core.estimators.base import ESTIMATORS
from calib_core.inference.verdicts.agreement import agreement
from calib_core.inference.verdicts.class_count_cost import LEFT_OUT
from calib_core.inference.verdicts.primary_measure import ESTIMATOR
from calib_core.predictions.predictions import NotAnswerable
from calib_core.reductions.base import REDUCTIONS
from calib_core.text import in_points

FAMILIES = ("Bins", "Bins that share rows", "Squared, in bins", "Worst bin", "No bins to choose")
"""What estimators have in common, in the order they stand in."""
_REACH = 2.0
"""The axis reaches at most this many times as far as the first line, or the tolerance: the rest is an arrow."""
_ROOM = 1.06


@dataclass(frozen=True, eq=False, repr=False)
class Forest(Diagram):
    """Lines (``frame``) of one ``model`` in one ``notion``; the first is that of the estimator ``first``.

    ``declared`` tells whether the verdict about the model rests on that line: it was chosen before any number was
    seen. Errors are in probability, squared ones as roots, and 0 where they are negative; where a mean over classes
    can be less than 1 at most (``shares``), as shares of the most it can be: one tolerance holds for all.
    ``top`` is where the axis ends; ``headline`` says what the verdicts say.
    """

    model: str
    notion: str
    first: str
    declared: bool
    tolerance: float
    level: float
    shares: bool
    top: float
    headline: str
    lines: pd.DataFrame

    formula: ClassVar[str] = ""

    @property
    def missing(self) -> tuple[str, ...]:
        """Titles of the estimators without an interval."""
        return tuple(self.lines.loc[self.lines["low"].isna(), "title"])

    def frame(self) -> pd.DataFrame:
        """One line per estimator, exactly the numbers drawn and written.

        Columns: estimator, title, family, point (the value where there is no interval), low, high, value (as measured,
        noise included: what the floor is to be compared with), floor, verdict, ``root`` (of a squared error), and the
        texts points, interval, measured and noise.
        """
        return self.lines


def forest(lines: pd.DataFrame, declared: str = "", first: str = ESTIMATOR, eps: float = TOLERANCE) -> Forest:
    """The lines of one model's estimators (``inference.estimate_lines``, judged by ``eps``) as a forest plot.

    ``declared`` is the notion in which the model's verdict is made (``inference.primary``); ``first`` the estimator
    that it is made of. What can mislead: estimators are of different things, so that their points need not agree; a
    worst bin is no mean. NotAnswerable where there are errors of several models or notions, or none.

    >>> from calib_core import Predictions
    >>> from calib_core.inference import estimate_lines, estimates
    >>> p = Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)
    >>> table = estimate_lines(estimates({"one": p}, [("confidence", key) for key in ("rmsce", "ece")]))
    >>> forest(table).frame()[["title", "family", "points", "interval"]].values.tolist()
    [['ECE', 'Bins', '30.0', '18.9 to 41.1'], ['RMSCE', 'Squared, in bins', '30.1', '18.9 to 41.1']]
    """
    if lines["model"].nunique() != 1 or lines["notion"].nunique() != 1:
        raise NotAnswerable("a forest plot is of the estimators of one model in one notion")
    known = lines["limit"].notna() & (lines["unit"] != "score") & lines["value"].notna()
    errors = lines[known | (lines["note"] == LEFT_OUT)]
    if errors.empty:
        raise NotAnswerable("; ".join(dict.fromkeys(filter(None, lines["note"]))) or "no estimator of an error answers")
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
        agreement(lines, first, eps),
        placed,
    )


def family_of(estimator: str) -> str:
    """The family that an estimator stands in, from what it declares.

    >>> family_of("ece"), family_of("rmsce"), family_of("mce"), family_of("ece-convex"), family_of("smece")
    ('Bins', 'Squared, in bins', 'Worst bin', 'Bins that share rows', 'No bins to choose')
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
    title = str(line["title"]).removeprefix(f"{REDUCTIONS[notion].title} ").removesuffix(" (squared)")
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
    }


def _on_axis(share: float, root: bool, eps: float) -> float:
    """An error as a share of the tolerance, in probability; NaN stays NaN."""
    if math.isnan(share):
        return share
    return eps * (math.sqrt(max(share, 0.0)) if root else max(share, 0.0))


def _top(placed: pd.DataFrame, first: str, eps: float) -> float:
    """Where the axis ends: estimators far beyond the others do not squeeze them."""
    known = placed[["point", "high", "floor"]].to_numpy(dtype=np.float64)
    chosen = known[(placed["estimator"] == first).to_numpy(), :2]
    reach = float(np.max(chosen, where=np.isfinite(chosen), initial=0.0))
    limit = _REACH * max(reach or _middle(known[np.isfinite(known[:, 0]), 0]), eps)
    return _ROOM * max(float(np.max(known, where=known <= limit, initial=0.0)), 1.3 * eps)


def _middle(numbers: Float64s) -> float:
    return float(np.median(numbers)) if len(numbers) else 0.0
