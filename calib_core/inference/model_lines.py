"""Estimates of several models as one table of lines, their intervals and noise floors made together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from calib_core.binning import BinningScheme
from calib_core.defaults import LEVEL, TOLERANCE
from calib_core.estimators import Estimate, estimate, takes_bins
from calib_core.inference.result_line import estimate_line
from calib_core.inference.together import sharpen
from calib_core.predictions import NotAnswerable, Predictions


def lines_of_models(
    models: Mapping[str, Predictions],
    reductions: Sequence[str | None] = ("confidence",),
    estimators: Sequence[str] = ("ece",),
    bins: int | str | BinningScheme | None = None,
    *,
    eps: float = TOLERANCE,
    level: float = LEVEL,
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Every model by every estimator in every notion, each number with its interval, noise floor, p and verdict.

    One line a number, as ``EstimateLine.record`` has it, after the name of its model: notion by notion (None: whole
    predictions, for scores), estimator by estimator, model by model. ``bins`` are for the estimators that take some;
    without them every model is judged as its outputs are declared, and ``bins`` of the line says how. A model that
    makes no claims in a notion has no line there; NotAnswerable where none has one. Models that abstain are given over
    the same rows first (``study.over_same_rows_by_name``). What can mislead: each line stands alone (``each_alone``).

    >>> p = Predictions([[0.9, 0.1]] * 100, [0] * 60 + [1] * 40)
    >>> table = lines_of_models({"a": p, "b": p.with_probs([[0.6, 0.4]] * 100)})
    >>> table[["model", "notion", "verdict"]].values.tolist()[0]
    ['a', 'confidence', 'miscalibrated']
    """
    found: list[tuple[str, Estimate]] = []
    refused: dict[str, None] = {}
    for notion in reductions:
        for key in estimators:
            for name, rows in models.items():
                try:
                    found.append((name, estimate(rows, notion, key, bins if takes_bins(key, bins) else None)))
                except NotAnswerable as why:
                    refused[str(why)] = None
    if not found:
        raise NotAnswerable("; ".join(refused) or "there is no model to judge")
    sharpen([number for _, number in found], level, progress or (lambda _: None))
    return pd.DataFrame([{"model": name, **estimate_line(number, eps, level).record()} for name, number in found])
