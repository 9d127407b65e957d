"""What decisions cost that are taken by the probabilities: what they expect to pay, and what is paid."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Codes, Float64s, rounding
from calib_core._base.errors import as_among, as_share
from calib_core.defaults import LEVEL
from calib_core.diagrams.decision_curve import DecisionCurve, above, class_acted_on, decision_curve
from calib_core.inference.comparison.model_differences import check_comparable, same_rows
from calib_core.inference.comparison.score_differences import of_losses
from calib_core.inference.intervals.clustered_rows import FEWEST, few_groups
from calib_core.inference.intervals.mean_scores import Losses
from calib_core.inference.noise.outcome_draws import distributions
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.text import at_level, score

__all__ = ["cost_matrix", "cost_threshold", "cost_words", "decision_costs", "decisions", "net_benefits", "odds_words"]

ALL, NONE = "acting on all", "acting on none"
"""What models are compared with that acted the same on every row."""


def cost_matrix(costs: ArrayLike | str, n_classes: int) -> Float64s:
    """What each decision costs under each truth, (K, K): ``[d, l]`` is the cost of deciding d where l is true.

    Given as such an array, or as text with a line a decision: "0 5; 1 0". Empty text: every mistake costs 1. For two
    classes one number t between 0 and 1 is a threshold: class 1 is decided where its probability is above t, which
    costs t where class 0 is true, and deciding class 0 costs 1 - t where class 1 is. Below 0 a cost is a gain.
    InputError says which number is none, and which line has too many or too few.

    >>> cost_matrix("0 5; 1 0", 2).tolist(), cost_matrix("0.2", 2).tolist()
    ([[0.0, 5.0], [1.0, 0.0]], [[0.0, 0.8], [0.2, 0.0]])
    """
    if isinstance(costs, str) and not costs.strip():
        return 1.0 - np.eye(n_classes)
    table = np.atleast_2d(_numbers(_lines(costs)))
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

    d_i = argmin_d sum_l p_il C[d, l], the first of several that are as low but for rounding of the probabilities: at a
    threshold itself class 0, as in ``diagrams.decision_curve``. Where every mistake costs 1 it is the predicted class.
    NotAnswerable where rows are not whole distributions.

    >>> decisions(Predictions([[0.9, 0.1], [0.7, 0.3]], [0, 0]), "0 5; 1 0").tolist()  # 0.5 < 0.9; 1.5 > 0.7
    [0, 1]
    """
    return _Priced.of(predictions, costs).decided


def cost_threshold(costs: ArrayLike | str) -> float | None:
    """From above which probability of class 1 it is decided at these costs of two classes; None where it never turns.

    t = a / (a + b), a = C[1, 0] - C[0, 0] what a wrong 1 costs more than a right 0, b = C[0, 1] - C[1, 1] in turn: both
    have to be above 0.

    >>> round(cost_threshold("0 5; 1 0"), 3), cost_threshold("0.2"), cost_threshold("0 -1; 1 0")
    (0.167, 0.2, None)
    """
    table = cost_matrix(costs, 2)
    first, second = table[1, 0] - table[0, 0], table[0, 1] - table[1, 1]
    return float(first / (first + second)) if min(first, second) > 0 else None


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
    as_share(level, "level")
    as_among((*(bases or {}), *(bases or {}).values()), "bases", models)
    lines: list[dict[str, object]] = []
    for name, rows in models.items():
        try:
            line = _line(rows, costs, level)
        except NotAnswerable as why:
            lines.append({"model": name, "note": str(why)})
            continue
        lines.append(
            {"model": name, "note": "", **line, **_change(rows, models.get((bases or {}).get(name, "")), costs, level)}
        )
    frame = pd.DataFrame(lines, columns=list(_COLUMNS))
    if frame["realised"].isna().all():
        raise NotAnswerable("; ".join(dict.fromkeys(frame["note"])) or "there is no model to show")
    return frame


def net_benefits(
    models: Mapping[str, Predictions],
    threshold: float = 0.5,
    positive: int | None = None,
    bases: Mapping[str, str] | None = None,
    level: float = LEVEL,
) -> pd.DataFrame:
    """What acting from one threshold on is worth: a line a model, then acting on all rows and on none.

    ``positive`` and the net benefit as for ``diagrams.decision_curve``; ``bases`` as for ``decision_costs``. Columns:
    model, acted (share of the rows); benefit, its interval benefit_low to benefit_high; over_all, how much more that is
    than acting on all (over_all_low, over_all_high); change, how much more than the base's (change_low, change_high, p
    of no change); note, why there is no number. Acting on none is worth 0. Changes are paired: only rows count that one
    model acts on and the other does not. Acting on all and on none is about the rows answered: where models answer
    other rows, each set of them has both lines. InputError for models of other rows, weights or groups. What can
    mislead: as for ``diagrams.decision_curve``.

    References: Vickers & Elkin 2006.

    >>> p = Predictions([[0.1, 0.9]] * 4 + [[0.8, 0.2]] * 6, [1, 1, 1, 0] + [0] * 5 + [1])
    >>> net_benefits({"net": p}, 0.5)[["model", "acted", "benefit", "over_all"]].round(2).values.tolist()
    [['net', 0.4, 0.2, 0.4], ['acting on all', 1.0, -0.2, 0.0], ['acting on none', 0.0, 0.0, 0.2]]
    """
    as_share(level, "level")
    as_share(threshold, "threshold")
    as_among((*(bases or {}), *(bases or {}).values()), "bases", models)
    lines: list[dict[str, object]] = []
    known: dict[str, tuple[Predictions, DecisionCurve]] = {}
    for name, rows in models.items():
        try:
            curve = decision_curve(rows, positive, (threshold,), level)
        except NotAnswerable as why:
            lines.append({"model": name, "note": str(why)})
            continue
        known[name] = rows, curve
        base = models.get((bases or {}).get(name, ""))
        lines.append(
            {"model": name, "note": "", **_at_threshold(curve), **_more_benefit(rows, base, threshold, positive, level)}
        )
    if not known:
        raise NotAnswerable(
            "; ".join(dict.fromkeys(str(line["note"]) for line in lines)) or "there is no model to show"
        )
    lines += _without_a_model(known)
    return pd.DataFrame(lines, columns=list(_BENEFITS)).fillna({"note": ""})


def odds_words(threshold: float) -> str:
    """What one row wrongly acted on costs of a row rightly acted on, as somebody weighs it who acts from there on.

    >>> odds_words(0.2), odds_words(0.5)
    ('0.25', '1')
    """
    return score(threshold / (1 - threshold))


_BENEFITS = (
    *("model", "acted", "benefit", "benefit_low", "benefit_high", "over_all", "over_all_low", "over_all_high"),
    *("change", "change_low", "change_high", "p", "note"),
)


def _without_a_model(known: Mapping[str, tuple[Predictions, DecisionCurve]]) -> list[dict[str, object]]:
    """Acting on all and on none, for every set of rows that models answer: they are compared on what they answer."""
    (first, _), *_ = known.values()
    sets: dict[bytes, list[str]] = {}
    for name, (rows, _) in known.items():
        check_comparable(first, rows)
        silent = np.zeros(rows.n_rows, dtype=bool) if rows.abstained is None else rows.abstained
        sets.setdefault(silent.tobytes(), []).append(name)
    lines: list[dict[str, object]] = []
    for names in sets.values():
        curve = known[names[0]][1]
        low, value, high = (float(part[0]) for part in (curve.treat_all_low, curve.treat_all, curve.treat_all_high))
        which = f", rows answered by {', '.join(names)}" if len(sets) > 1 else ""
        every = {"acted": 1.0, "benefit": value, "benefit_low": low, "benefit_high": high, "over_all": 0.0}
        none = {"acted": 0.0, "benefit": 0.0, "benefit_low": 0.0, "benefit_high": 0.0}
        none |= {"over_all": -value, "over_all_low": -high, "over_all_high": -low}
        lines += [{"model": f"{ALL}{which}", **every}, {"model": f"{NONE}{which}", **none}]
    return lines


def _at_threshold(curve: DecisionCurve) -> dict[str, object]:
    """The one line of a curve, by the names of the table."""
    line = curve.frame().iloc[0]
    ends = {"benefit_low": line["low"], "benefit_high": line["high"]}
    return {name: line[name] for name in ("acted", "benefit", "over_all", "over_all_low", "over_all_high")} | ends


def _more_benefit(
    after: Predictions, before: Predictions | None, threshold: float, positive: int | None, level: float
) -> dict[str, object]:
    """How much more a recalibrated model's net benefit is than its base's."""
    if before is None or before is after:
        return {}
    try:
        a, b = (rows.answered for rows in same_rows(after, before))
    except NotAnswerable as why:
        return {"note": f"no change: {why}"}
    code, near = class_acted_on(a, positive), max(rounding(rows.confidence.dtype) for rows in (a, b))
    worth = np.full(a.rows.shape[1], -threshold / (1 - threshold))
    worth[code] = 1.0
    return _paired(a, b, lambda probs: above(probs[:, code], threshold, near)[:, None] * worth, level)


def cost_words(costs: pd.DataFrame, level: float = LEVEL) -> tuple[str, ...]:
    """The lines of `decision_costs` in sentences, per 1,000 rows: the cost each model predicts, and the actual cost.

    More or less is said only where the interval shows it.

    >>> p = Predictions([[0.8, 0.2]] * 100, [0] * 60 + [1] * 40)
    >>> cost_words(decision_costs({"net": p}))
    ('net predicts a cost of 200 per 1,000 rows; it is 400 (90 % interval 313 to 504), more than predicted.',)
    """
    return tuple(_words(line, level) for line in costs.to_dict("records") if line["realised"] == line["realised"])


def _words(line: Mapping[Hashable, Any], level: float) -> str:
    """One of them."""
    expected, realised, low, high = (_a_thousand(line[f"{name}"]) for name in _SAID)
    start = f"{line['model']} predicts a cost of {expected} per 1,000 rows; it is {realised}"
    if not np.isfinite(line["realised_low"]):
        return f"{start}, no interval: {line['note']}."
    side = _side(line["gap_low"], line["gap_high"], "more than predicted", "less than predicted")
    sentence = f"{start} ({at_level(level)} interval {low} to {high}), {side or 'not shown to differ'}"
    if line["change"] != line["change"] or not np.isfinite(line["change_low"]):
        return f"{sentence}."
    if line["changed"] == 0:
        return f"{sentence}. It decides every row as before."
    saved = _side(line["change_low"], line["change_high"], "more than before", "less than before")
    if not saved:
        return f"{sentence}. A change of the cost is not shown."
    ends = sorted(abs(line[name]) for name in ("change_low", "change_high"))
    return f"{sentence}. That is {_a_thousand(ends[0])} to {_a_thousand(ends[1])} {saved}."


_SAID = ("expected", "realised", "realised_low", "realised_high")


def _side(low: float, high: float, above: str, below: str) -> str:
    """Which side of 0 an interval lies on, in words; empty where it holds 0."""
    return above if low > 0 else below if high < 0 else ""


def _a_thousand(cost: float) -> str:
    return score(1000 * cost)


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
        near = rounding(predictions.confidence.dtype)
        parts = [_decided(block.astype(np.float64), table, near) for _, block in predictions.rows.blocks()]
        codes, expected = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(codes, expected, table[codes])

    def paid(self, labels: Codes) -> Float64s:
        """What each row cost, its class being known."""
        return np.take_along_axis(self.possible, labels[:, None], axis=1)[:, 0]


def _decided(probs: Float64s, table: Float64s, near: float) -> tuple[Codes, Float64s]:
    expected = probs @ table.T
    least = expected.min(axis=1)
    # Costs that are equal but for rounding, in units of the largest difference of costs, are a tie.
    codes = (expected <= least[:, None] + near * float(np.ptp(table))).argmax(axis=1)
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
    table, near = cost_matrix(costs, a.rows.shape[1]), max(rounding(rows.confidence.dtype) for rows in (a, b))
    changed = float(np.average(new.decided != old.decided, weights=a.weights))
    return _paired(a, b, lambda probs: table[_decided(probs, table, near)[0]], level) | {"changed": changed}


def _paired(a: Predictions, b: Predictions, terms: Callable[[Float64s], Float64s], level: float) -> dict[str, object]:
    """How much more a row brings with the first model than with the second, ``terms`` what each label brings (n, K)."""
    apart = np.zeros(a.n_rows)
    for rows, sign in ((a, 1), (b, -1)):
        each = [
            np.take_along_axis(terms(block.astype(np.float64)), rows.true_labels[where][:, None], axis=1)[:, 0]
            for where, block in rows.rows.blocks()
        ]
        apart += sign * np.concatenate(each)
    try:
        found, _, _ = of_losses(a, b, apart, terms, level)
    except NotAnswerable as why:  # too few groups that differ
        return {"change": float(np.average(apart, weights=a.weights)), "note": str(why)}
    return {"change": found.point, "change_low": found.low, "change_high": found.high, "p": found.p_value}


def _lines(costs: ArrayLike | str) -> list[list[Any]]:
    """What is given as costs, a line for each decision."""
    if isinstance(costs, str):
        lines = costs.replace("\n", ";").split(";")
        return [line.replace(",", " ").split() for line in lines if line.strip()]
    table: Any = costs if isinstance(costs, list | tuple) else np.asarray(costs, dtype=object).tolist()
    return [list(line) if np.iterable(line) else [line] for line in (table if np.iterable(table) else [table])]


def _numbers(lines: list[list[Any]]) -> Float64s:
    """Those lines as numbers; InputError names the line that is none."""
    for i, line in enumerate(lines, 1):
        for value in line:
            try:
                float(value)
            except (TypeError, ValueError):
                raise InputError(
                    f"costs are numbers, a line for each decision, such as 0 5; 1 0: {str(value)[:80]!r} in line {i} "
                    "is none"
                ) from None
        if len(line) != len(lines[0]):
            raise InputError(
                f"lines of costs differ in length, line {i} has {len(line)} and line 1 has {len(lines[0])}: give every "
                "decision the same number of costs, one for each class that may be true"
            )
    return np.array(lines, dtype=np.float64)
