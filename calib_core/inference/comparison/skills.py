"""Value of stated confidences: mean overconfidence, and ranking of answers from right to wrong."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from calib_core._base.arrays import Codes
from calib_core._base.errors import as_share
from calib_core.defaults import LEVEL
from calib_core.inference.comparison.model_differences import same_rows
from calib_core.inference.intervals.clustered_rows import few_groups, of_like_size, shares_in_cells
from calib_core.inference.intervals.influence_functions import MEASURES, ConfidenceRows, Influence, auroc_ends, counting
from calib_core.inference.significance.multiple_testing import holm
from calib_core.predictions.predictions import NotAnswerable, Predictions

FEWEST = 10
"""Right rows, and wrong ones, from which on intervals of skill, AUROC and areas were simulated."""
COVERAGE = 0.8
"""The share of rows that is answered, where none is chosen."""
DIFFERENCES = ("overconfidence", "brier", "skill", "auroc", "risk_area")
"""Measures of which pairs of models are compared."""
PERFECT = "all rows contribute the same value, so the noise cannot be estimated"
TOO_FEW = (
    f"fewer than {FEWEST} predictions are correct, or fewer than {FEWEST} are wrong: too few for intervals of skill, "
    "ranking and areas"
)


def skills(models: Mapping[str, Predictions], coverage: float = COVERAGE, level: float = LEVEL) -> pd.DataFrame:
    """Measure how well each model's confidences separate right answers from wrong ones, one line per model.

    Columns, with ends of intervals at ``level`` as _low and _high:

    - model; rows: their number, or effective sample size;
    - accuracy; mean_confidence; overconfidence, that less the accuracy (exact, ``share_ends``);
    - skill = 1 - Brier / (a (1 - a)): reduction of the squared error against a constant confidence equal to the
      accuracy a (delta method);
    - auroc: the chance that a right row has higher confidence than a wrong one, ties half. Its interval is the wider of
      DeLong's interval and a score interval (``auroc_interval``);
    - risk_area: area under the risk-coverage curve (``influences.risk_area``); excess_area: that above the best order;
    - accuracy_answered: accuracy of the most confident rows that make up ``coverage``, or a little more because ties
      are not divided; ``answered``: their share (exact);
    - note: the reason for a missing number.

    Intervals of skill, AUROC and areas need 10 right and 10 wrong rows; simulations confirm their coverage from
    there. Grouped rows need 10 groups with a right row and 10 with a wrong one. What can mislead: skill and areas
    depend on how hard the questions are, so models compare on the same rows only. An AUROC near 1 does not imply
    calibration.

    References: DeLong et al. 1988; Geifman, Uziel & El-Yaniv 2019; Murphy 1988 (skill).

    >>> p = Predictions.from_confidence([0.9, 0.8, 0.7, 0.6], [True, True, False, True])
    >>> columns = ["accuracy", "overconfidence", "auroc", "risk_area", "answered", "accuracy_answered"]
    >>> skills({"net": p}, 0.5)[columns].round(3).values.tolist()  # risks 0, 0, 1/3, 1/4
    [[0.75, 0.0, 0.667, 0.146, 0.5, 1.0]]
    """
    as_share(coverage, "coverage", last=True)
    as_share(level, "level")
    if not models:
        raise NotAnswerable("there is no model to show")
    return pd.DataFrame([{"model": name, **_line(rows, coverage, level)} for name, rows in models.items()])


ONE_MODEL = "there is only one model; select a calibrator, or add another model (calib: --other FILE)"
"""Reason why models cannot be compared."""


def skill_differences(models: Mapping[str, Predictions], level: float = LEVEL) -> pd.DataFrame:
    """Compare pairs of models in these measures on the same rows, one line per pair and measure.

    Columns: first, second, measure, first_value, second_value, difference (first less second), low, high at
    ``level``, p of no difference, p_holm corrected for all lines, note. Both models' values depend on the same rows.
    The influence of a row on the difference is therefore the difference of its influences (``influences.Influence``),
    with Student's interval. For AUROC this is DeLong's paired interval. At least 10 right and 10 wrong rows are
    needed. NotAnswerable for a single model, and if no pair can be compared.

    References: DeLong, DeLong & Clarke-Pearson 1988.

    >>> h, right = [0.9, 0.8, 0.7, 0.6] * 10, [True, True, False, False] * 10
    >>> pair = {"a": Predictions.from_confidence(h, right), "b": Predictions.from_confidence(h[::-1], right)}
    >>> skill_differences(pair).set_index("measure").loc[["overconfidence", "auroc"], "difference"].round(2).tolist()
    [0.0, 1.0]
    """
    as_share(level, "level")
    if len(models) < 2:
        raise NotAnswerable(ONE_MODEL)
    lines: list[dict[str, object]] = []
    for first, second in combinations(models, 2):
        line: dict[str, object] = {"first": first, "second": second}
        try:
            pair = [ConfidenceRows.of(rows) for rows in same_rows(models[first], models[second])]
        except NotAnswerable as why:
            lines += [{**line, "measure": measure, "note": str(why)} for measure in DIFFERENCES]
            continue
        lines += [{**line, "measure": measure, **_difference(measure, pair, level)} for measure in DIFFERENCES]
    columns = ("first", "second", "measure", "first_value", "second_value", "difference", "low", "high", "p", "note")
    frame = pd.DataFrame(lines, columns=list(columns))
    if frame["difference"].isna().all():
        raise NotAnswerable("; ".join(dict.fromkeys(frame["note"])))
    return frame.assign(p_holm=holm(frame["p"].to_numpy(dtype=np.float64)))


def _line(predictions: Predictions, coverage: float, level: float) -> dict[str, object]:
    own = counting(predictions.written_out())
    rows, every = ConfidenceRows.of(own), np.arange(own.n_rows)
    right, *ends = _right(own, every, level)
    stated = float(rows.weights @ rows.h / rows.total)
    found: dict[str, object] = {
        "rows": own.effective_rows,
        "accuracy": right,
        "accuracy_low": ends[0],
        "accuracy_high": ends[1],
        "mean_confidence": stated,
        "overconfidence": stated - right,
        "overconfidence_low": stated - ends[1],
        "overconfidence_high": stated - ends[0],
    }
    why = few = why_few(rows)
    for name in ("skill", "auroc", "risk_area", "excess_area"):
        measure = MEASURES[name](rows)
        low, high = (np.nan, np.nan) if few else _ends(name, measure, rows, level)
        why = why or (PERFECT if np.isnan(low) else "")
        found |= {name: measure.value, f"{name}_low": low, f"{name}_high": high}
    surest = rows.h >= threshold(rows, coverage)
    share, *ends = _right(own, np.flatnonzero(surest), level)
    found |= {"answered": float(rows.weights[surest].sum() / rows.total), "accuracy_answered": share}
    return {**found, "accuracy_answered_low": ends[0], "accuracy_answered_high": ends[1], "note": why}


def threshold(rows: ConfidenceRows, coverage: float) -> float:
    """The largest confidence that rows making up ``coverage`` or more have or exceed."""
    values, _ = rows.levels
    share = np.cumsum(rows.masses[0]) / rows.total
    return float(values[min(int(np.searchsorted(share, coverage - 1e-9)), len(values) - 1)])


def _right(rows: Predictions, which: Codes, level: float) -> tuple[float, float, float]:
    """Accuracy of the rows at these places, which were chosen from scores only, with its interval."""
    right = rows.correct[which]
    low, high, _ = shares_in_cells(rows, np.zeros_like(which), right, which, 1, level)
    weights = None if rows.weights is None else rows.weights[which]
    return float(np.average(right, weights=weights)), float(low[0]), float(high[0])


def why_few(rows: ConfidenceRows) -> str:
    """Return the reason for missing intervals (too few right or wrong rows, or groups); empty if there are enough.

    Weighted rows count by their effective sample size, rows of a group as one.
    """
    if rows.groups is not None:
        with_right, with_wrong = (len(np.unique(rows.groups.codes[part])) for part in (rows.right, ~rows.right))
        like = of_like_size(rows.groups, rows.weights)
        return few_groups(rows.groups) if min(with_right, with_wrong, like) < FEWEST else ""
    worth = rows.total**2 / np.square(rows.weights).sum()
    right = float(rows.weights @ rows.right / rows.total)
    return TOO_FEW if worth * min(right, 1 - right) < FEWEST - 1e-9 else ""


def _ends(name: str, measure: Influence, rows: ConfidenceRows, level: float) -> tuple[float, float]:
    """Interval of a measure; if it is a share between 0 and 1, on the scale of log-odds, so its ends stay inside.

    None if every row contributes the same, because the noise cannot be estimated then.
    """
    if not measure.error > 0:
        return np.nan, np.nan
    if name == "skill":
        return measure.ends(level)
    if not 0 < measure.value < 1:
        return np.nan, np.nan
    if name == "auroc":
        return auroc_ends(measure, rows, level)
    low, high = (logit(measure.value) + end for end in measure.spread(level, measure.value * (1 - measure.value)))
    return float(expit(low)), float(expit(high))


def _difference(name: str, pair: list[ConfidenceRows], level: float) -> dict[str, object]:
    first, second = (MEASURES[name](rows) for rows in pair)
    found: dict[str, object] = {"first_value": first.value, "second_value": second.value}
    why = next(filter(None, map(why_few, pair)), "")
    if why:
        return {**found, "note": why}
    apart = first - second
    if apart.error == 0 and apart.value != 0:
        return {**found, "difference": apart.value, "note": PERFECT}
    low, high = apart.ends(level)
    return {**found, "difference": apart.value, "low": low, "high": high, "p": apart.p_value, "note": ""}
