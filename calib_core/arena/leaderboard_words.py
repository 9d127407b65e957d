"""Sentences about a leaderboard, each of which follows from its lines."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calib_core.arena.contenders import BASE, RECOMMENDED, is_single
from calib_core.text import begun, count, first_few, in_percent, inside


def headline(lines: pd.DataFrame, n_experiments: int) -> tuple[str, ...]:
    """Return sentences on the share of experiments made worse, and on the highest win rate.

    Harm is that of the single calibrator (no blend) with the fewest harmed experiments, and that of the recommended
    one. Methods with failures are left out there, because a failure cannot harm.

    >>> lines = pd.DataFrame({"method": ["vector", "identity"], "title": ["Vector scaling", "Original model"]})
    >>> lines = lines.assign(worse=[0.25, 0.0], win_rate=[0.75, 0.25], failed=0)
    >>> for sentence in headline(lines, 4):
    ...     print(sentence)
    Vector scaling makes the log loss worse in 25 % of the experiments.
    Highest win rate: vector scaling, 75 %.
    """
    best = lines[np.isclose(lines["win_rate"], lines["win_rate"].max())]
    if n_experiments == 1:
        return _of_one(lines, best)
    others = lines[lines["method"].map(is_single).astype(bool)]
    single = others[others["failed"] == 0]
    of_single = _of_single(single, len(single) < len(others)) if len(single) else ""
    recommended = lines.loc[lines["method"] == RECOMMENDED.name, "worse"]
    of_recommended = _of_recommended(float(recommended.iloc[0]), bool(of_single)) if len(recommended) else ""
    winners = f"Highest win rate: {_names(best)}, {in_percent(best['win_rate'].iloc[0])}." if len(best) else ""
    harm = " ".join(filter(None, (of_single, of_recommended)))
    return tuple(filter(None, (harm, winners)))


def _of_single(single: pd.DataFrame, left_out: bool) -> str:
    """Return the smallest share of harmed experiments of these calibrators, and whose it is."""
    least = float(single["worse"].min())
    safest = single[single["worse"] == least]
    kind = "single calibrator" + (" without failures" if left_out else "")
    if len(single) == 1:
        return f"{begun(_names(safest))} {_makes_worse(least)}."
    kinds = kind.replace("calibrator", "calibrators")
    if least > 0 and len(safest) == 1:
        return f"Even the safest {kind} ({_names(safest)}) {_makes_worse(least)}."
    if least > 0:
        return f"Even the safest {kinds} {_makes_worse(least).replace('makes', 'make')}."
    if len(safest) == 1:
        return f"Only one {kind} never makes the log loss worse ({_names(safest)})."
    return f"{count(len(safest))} of {count(len(single))} {kinds} never make the log loss worse."


def _of_recommended(share: float, second: bool) -> str:
    if not second:
        return f"The recommended calibrator {_makes_worse(share)}."
    return f"The recommended calibrator {f'does so in {in_percent(share)}' if share else 'never makes it worse'}."


def _makes_worse(share: float) -> str:
    return (
        f"makes the log loss worse in {in_percent(share)} of the experiments"
        if share
        else "never makes the log loss worse"
    )


def _of_one(lines: pd.DataFrame, best: pd.DataFrame) -> tuple[str, ...]:
    if (best["method"] == BASE.name).any() or best.empty:
        first = "In the only experiment, no method has a smaller log loss than the original model."
    else:
        first = f"Smallest log loss in the only experiment: {_names(best)}."
    worse = count(int((lines["worse"] > 0).sum()))
    return first, f"Worse than no calibration: {worse} of {count(len(lines) - 1)} methods."


def _names(lines: pd.DataFrame) -> str:
    return first_few([inside(title) for title in lines["title"]])
