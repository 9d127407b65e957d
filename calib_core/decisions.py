"""What decisions cost that are taken by the probabilities: what they expect to pay, and what is paid."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._arrays import Codes, Float64s
from calib_core.defaults import LEVEL
from calib_core.inference.clusters import FEWEST, few_groups
from calib_core.inference.draws import distributions
from calib_core.inference.means import Losses
from calib_core.inference.model_differences import same_rows
from calib_core.inference.number_words import score
from calib_core.inference.score_differences import of_losses
from calib_core.predictions import InputError, NotAnswerable, Predictions

__all__ = ["cost_matrix", "decision_costs", "decisions", "gap_words"]

_SAME = 1e-12
"""Expected costs this near to the least, in units of the largest difference of costs, are as low."""


def cost_matrix(costs: ArrayLike | str, n_classes: int) -> Float64s:
    """What each decision costs under each truth, (K, K): ``[d, l]`` is the cost of deciding d where l is true.

    Given as such an array, or as text with a line a decision: "0 5; 1 0". Empty text: every mistake costs 1. For two
    classes one number t between 0 and 1 is a threshold: class 1 is decided where its probability is above t, which
    costs t where class 0 is true, and deciding class 0 costs 1 - t where class 1 is. Below 0 a cost is a gain.

    >>> cost_matrix("0 5; 1 0", 2).tolist(), cost_matrix("0.2", 2).tolist()
    ([[0.0, 5.0], [1.0, 0.0]], [[0.0, 0.8], [0.2, 0.0]])
    """
    if isinstance(costs, str) and not costs.strip():
        return 1.0 - np.eye(n_classes)
    table = np.atleast_2d(_numbers(costs) if isinstance(costs, str) else np.asarray(costs, dtype=np.float64))
    if table.size == 1:
        t = float(table[0, 0])
        if n_classes != 2 or not 0 < t < 1:
            raise InputError(f"a threshold is of two classes and between 0 and 1; got {t:g} for {n_classes} classes")
        return np.array([[0.0, 1 - t], [t, 0.0]])
    if table.shape != (n_classes, n_classes):
        raise InputError(
            f"costs have {' x '.join(map(str, table.shape))} numbers; these classes need {n_classes} x "
            f"{n_classes}: a line for each decision, in it a number for each class that may be true"
        )
    if not np.isfinite(table).all():
        d, true = np.argwhere(~np.isfinite(table))[0]
        raise InputError(f"the cost of decision {d} where class {true} is true is {table[d, true]}; costs are finite")
    return table


def decisions(predictions: Predictions, costs: ArrayLike | str = "") -> Codes:
    """What is decided on each row: the class whose expected cost by the row's probabilities is least, (n,) codes.

    d_i = argmin_d sum_l p_il C[d, l], the first of several as low. Where every mistake costs 1 it is the predicted
    class. NotAnswerable where rows are not whole distributions.

    >>> decisions(Predictions([[0.9, 0.1], [0.7, 0.3]], [0, 0]), "0 5; 1 0").tolist()  # 0.5 < 0.9; 1.5 > 0.7
    [0, 1]
    """
    return _Priced.of(predictions, costs).decided


def decision_costs(
    models: Mapping[str, Predictions],
    costs: ArrayLike | str = "",
    bases: Mapping[str, str] | None = None,
    level: float = LEVEL,
) -> pd.DataFrame:
    """What decisions by each model's probabilities are expected to cost a row, and what they cost: a line a model.

    ``costs`` as for ``cost_matrix``; ``bases`` names, for a recalibrated model, the one it was made of. Columns: model,
    rows (answered); expected, the mean cost by its own probabilities; realised, that with the
    true classes, its interval realised_low to realised_high; gap, realised less expected (ends gap_low,
    gap_high): above 0 it promises decisions cheaper than they are; change, realised less the base's (change_low,
    change_high, and p of no change), changed, the share of rows that are decided otherwise; note, why there are none.

    Intervals at ``level`` are about the expected cost of these rows, given the predictions: bounds from what a row's
    cost could have been (``inference.means.Losses.bounds``), which hold room for rare heavy costs; changes are paired,
    by Student's interval or such bounds where few outcomes matter. Rows that belong together are added up; fewer than
    10 groups have no interval. What can mislead: probabilities that are off need
    not cost anything, as long as they lie on the right side of where decisions change; rows whose weights are not whole
    have rough guides.

    References: Elkan 2001 (decisions of least expected cost).

    >>> p = Predictions([[0.8, 0.2]] * 100, [0] * 60 + [1] * 40)
    >>> columns = ["expected", "realised", "gap"]
    >>> decision_costs({"net": p})[columns].round(2).values.tolist()
    [[0.2, 0.4, 0.2]]
    >>> decision_costs({"net": p}, "0 5; 1 0")[columns].round(2).values.tolist()  # class 1: 0.8 is expected, 0.6 paid
    [[0.8, 0.6, -0.2]]
    """
    named = bases or {}
    lines: list[dict[str, object]] = []
    for name, rows in models.items():
        try:
            line = _line(rows, costs, level)
        except NotAnswerable as why:
            lines.append({"model": name, "note": str(why)})
            continue
        lines.append(
            {"model": name, "note": "", **line, **_change(rows, models.get(named.get(name, "")), costs, level)}
        )
    frame = pd.DataFrame(lines, columns=list(_COLUMNS))
    if frame["realised"].isna().all():
        raise NotAnswerable("; ".join(dict.fromkeys(frame["note"])) or "there is no model to show")
    return frame


def gap_words(line: Mapping[Hashable, Any]) -> str:
    """A line of `decision_costs` in a sentence: what is shown of the gap between what it expects and what it pays.

    >>> gap_words({"expected": 0.2, "realised": 0.4, "gap_low": 0.12, "gap_high": 0.29})
    'it expects to pay 0.2 a row and pays 0.4, 0.12 to 0.29 more.'
    """
    low, high = line["gap_low"], line["gap_high"]
    start = f"it expects to pay {score(line['expected'])} a row and pays {score(line['realised'])}"
    if not (low > 0 or high < 0):
        return f"{start}; that it pays other than it expects is not shown."
    ends = sorted(map(abs, (low, high)))
    return f"{start}, {score(ends[0])} to {score(ends[1])} {'more' if low > 0 else 'less'}."


_COLUMNS = (
    *("model", "rows", "expected", "realised", "realised_low", "realised_high", "gap", "gap_low", "gap_high"),
    *("change", "change_low", "change_high", "p", "changed", "note"),
)


@dataclass(frozen=True, eq=False)
class _Priced:
    """The decisions on rows (n,), what they are expected to cost, and what they cost under each truth, (n, K)."""

    decided: Codes
    expected: Float64s
    possible: Float64s

    @classmethod
    def of(cls, predictions: Predictions, costs: ArrayLike | str) -> _Priced:
        distributions(predictions.kind)
        table = cost_matrix(costs, predictions.rows.shape[1])
        parts = [_decided(block.astype(np.float64), table) for _, block in predictions.rows.blocks()]
        codes, expected = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(codes, expected, table[codes])

    def paid(self, labels: Codes) -> Float64s:
        """What each row cost, its class being known."""
        return np.take_along_axis(self.possible, labels[:, None], axis=1)[:, 0]


def _decided(probs: Float64s, table: Float64s) -> tuple[Codes, Float64s]:
    expected = probs @ table.T
    least = expected.min(axis=1)
    # Costs that are equal but for rounding are a tie.
    codes = (expected <= least[:, None] + _SAME * float(np.ptp(table))).argmax(axis=1)
    return codes, least


def _line(predictions: Predictions, costs: ArrayLike | str, level: float) -> dict[str, object]:
    rows = predictions.written_out().answered
    priced = _Priced.of(rows, costs)
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights.astype(np.float64)
    weights = weights / weights.sum()
    paid = priced.paid(rows.true_labels)
    least, most = priced.possible.min(axis=1), priced.possible.max(axis=1)
    groups = rows.row_groups
    low, high = Losses(paid, priced.expected, least, most, weights, groups).bounds(level)
    if groups is not None and len(groups.values) < FEWEST:
        low, high = np.nan, np.nan
    expected, realised = float(weights @ priced.expected), float(weights @ paid)
    return {
        "rows": rows.effective_rows,
        "expected": expected,
        "realised": realised,
        "realised_low": low,
        "realised_high": high,
        "gap": realised - expected,
        "gap_low": low - expected,
        "gap_high": high - expected,
        "note": "" if low == low else few_groups(groups) if groups is not None else "",
    }


def _change(after: Predictions, before: Predictions | None, costs: ArrayLike | str, level: float) -> dict[str, object]:
    if before is None or before is after:
        return {}
    try:
        a, b = (rows.answered for rows in same_rows(after, before))
        new, old = _Priced.of(a, costs), _Priced.of(b, costs)
    except NotAnswerable as why:
        return {"note": f"no change: {why}"}
    table = cost_matrix(costs, a.rows.shape[1])
    apart = new.paid(a.true_labels) - old.paid(b.true_labels)
    changed = float(np.average(new.decided != old.decided, weights=a.weights))
    try:
        found, _, _ = of_losses(a, b, apart, lambda probs: table[_decided(probs, table)[0]], level)
    except NotAnswerable as why:  # too few groups that differ
        return {"change": float(np.average(apart, weights=a.weights)), "changed": changed, "note": str(why)}
    ends = {"change_low": found.low, "change_high": found.high}
    return {"change": found.point, **ends, "p": found.p_value, "changed": changed}


def _numbers(text: str) -> Float64s:
    """The numbers of a text, a line for each decision."""
    lines = [line.replace(",", " ").split() for line in text.replace("\n", ";").split(";") if line.strip()]
    try:
        table = [[float(number) for number in line] for line in lines]
    except ValueError as why:
        raise InputError(f"costs are numbers, a line for each decision, such as 0 5; 1 0: {why}") from why
    if len({len(line) for line in table}) > 1:
        raise InputError(f"lines of costs have {', '.join(str(len(line)) for line in table)} numbers; all need as many")
    return np.array(table)
