"""Costs of decisions by predicted probabilities: expected and actual."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Codes, Float64s, rounding
from calib_core._base.errors import as_among, as_share
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.diagrams.decision_curve import DecisionCurve, above, class_acted_on, decision_curve
from calib_core.inference.comparison.model_differences import check_comparable, same_rows
from calib_core.inference.comparison.score_differences import of_losses
from calib_core.inference.intervals.clustered_rows import FEWEST, few_groups
from calib_core.inference.intervals.mean_scores import Losses
from calib_core.inference.noise.outcome_draws import distributions
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.text import at_level, score, short_percent

__all__ = ["cost_matrix", "cost_threshold", "cost_words", "decision_costs", "decisions", "net_benefits", "odds_words"]

ALL, NONE = "acting on all", "acting on none"
"""Reference strategies that act equally on every row."""


def cost_matrix(costs: ArrayLike | str, n_classes: int) -> Float64s:
    """Return the cost of each decision for each true class, (K, K): ``[d, l]`` is the cost of decision d if l is true.

    Costs are such an array, or text with one line per decision: "0 5; 1 0". Empty text: every mistake costs 1. For two
    classes one number t between 0 and 1 is a threshold: the decision is class 1 if its probability is above t. Then a
    wrong class 1 costs t, and a wrong class 0 costs 1 - t. A negative cost is a gain.
    InputError names an invalid number, or a line with too many or too few.

    >>> cost_matrix("0 5; 1 0", 2).tolist(), cost_matrix("0.2", 2).tolist()
    ([[0.0, 5.0], [1.0, 0.0]], [[0.0, 0.8], [0.2, 0.0]])
    """
    if isinstance(costs, str) and not costs.strip():
        return 1.0 - np.eye(n_classes)
    table = np.atleast_2d(_numbers(_lines(costs)))
    if table.size == 1:
        t = float(table[0, 0])
        if n_classes != 2 or not 0 < t < 1:
            raise InputError(
                f"a threshold needs two classes and must be between 0 and 1; got {t:g}, {n_classes} classes"
            )
        return np.array([[0.0, 1 - t], [t, 0.0]])
    if table.shape != (n_classes, n_classes):
        raise InputError(
            f"costs have {' x '.join(map(str, table.shape))} numbers; expected {n_classes} x {n_classes}: one line per "
            "decision, with one number per true class"
        )
    if not np.isfinite(table).all():
        d, true = np.argwhere(~np.isfinite(table))[0]
        raise InputError(f"the cost of decision {d} for true class {true} is {table[d, true]}; costs must be finite")
    return table


def decisions(predictions: Predictions, costs: ArrayLike | str = "") -> Codes:
    """Return the decision for each row, (n,) codes: the class with the least expected cost by its probabilities.

    d_i = argmin_d sum_l p_il C[d, l], the first of several with equal costs up to rounding of the probabilities. At a
    threshold itself it is class 0, as in ``diagrams.decision_curve``. If every mistake costs 1 it is the predicted
    class. Raises NotAnswerable if rows are not whole distributions.

    >>> decisions(Predictions([[0.9, 0.1], [0.7, 0.3]], [0, 0]), "0 5; 1 0").tolist()  # 0.5 < 0.9; 1.5 > 0.7
    [0, 1]
    """
    return _Priced.of(predictions, costs).decided


def cost_threshold(costs: ArrayLike | str) -> float | None:
    """Return the probability of class 1 above which it is decided, for costs of two classes; None if there is none.

    t = a / (a + b), where a = C[1, 0] - C[0, 0] is the extra cost of a wrong class 1. The extra cost of a wrong class 0
    is b = C[0, 1] - C[1, 1]. Both must be positive.

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
    """Return expected and actual costs per row of decisions by each model's probabilities, one row per model.

    ``costs`` as for ``cost_matrix``; ``bases`` names the original of a recalibrated model. Columns:

    - model, rows (answered);
    - expected, the mean cost by its own probabilities;
    - realized, the mean cost for the true classes, with its interval realised_low to realised_high;
    - gap, realized minus expected (ends gap_low, gap_high): above 0 the model underestimates costs;
    - gap_differs, whether the gap is significant: its 95 % interval excludes 0;
    - change, realized minus the original's (change_low, change_high, and p of no change);
    - changed, the share of rows with another decision;
    - note, the reason for missing values.

    Intervals at ``level`` are for the expected cost of these rows, given the predictions. They are bounds from the
    possible costs of a row (``inference.means.Losses.bounds``), which allow for rare large costs. Changes are paired,
    with Student's interval or such bounds if few outcomes matter. Costs of grouped rows are summed; fewer than 10
    groups have no interval. What can mislead: miscalibrated probabilities cost nothing if they are on the correct side
    of the threshold; with non-whole weights the intervals are rough guides.

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
        raise NotAnswerable("; ".join(dict.fromkeys(frame["note"])) or "there is no model to compare")
    return frame


def net_benefits(
    models: Mapping[str, Predictions],
    threshold: float = 0.5,
    positive: int | None = None,
    bases: Mapping[str, str] | None = None,
    level: float = LEVEL,
) -> pd.DataFrame:
    """Return the net benefit of acting above one threshold, one row per model, then for acting on all and on none.

    ``positive`` and the net benefit as for ``diagrams.decision_curve``; ``bases`` as for ``decision_costs``. Columns:

    - model, acted (share of the rows);
    - benefit, with its interval benefit_low to benefit_high;
    - over_all, the difference to acting on all (over_all_low, over_all_high);
    - hits, the share of rows acted on that have the class, and standardized, the standardized net benefit;
    - avoided, the net share of rows on which acting is avoided, compared with acting on all (_low and _high, as above);
    - change, the difference to the original (change_low, change_high, p of no change);
    - note, the reason for missing values.

    Acting on none has benefit 0. Changes are paired: only rows count on which exactly one of both models acts. Acting
    on all and on none is for the answered rows: if models answer different rows, each set of rows has both lines.
    Raises InputError for models of other rows, weights or groups. What can mislead: as for ``diagrams.decision_curve``.

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
            "; ".join(dict.fromkeys(str(line["note"]) for line in lines)) or "there is no model to compare"
        )
    lines += _without_a_model(known)
    return pd.DataFrame(lines, columns=list(_BENEFITS)).fillna({"note": ""})


def odds_words(threshold: float) -> str:
    """Cost of a wrong action relative to the benefit of a right one, as implied by a threshold.

    >>> odds_words(0.2), odds_words(0.5)
    ('0.25', '1')
    """
    return score(threshold / (1 - threshold))


def implied_costs(threshold: float) -> str:
    """Costs that a threshold implies, in words: a missed event against a false alarm.

    Acting above t has the least expected cost if a false alarm costs a, a missed event b, and t = a / (a + b). So
    b / a = (1 - t) / t.

    >>> print(implied_costs(0.2))
    A threshold of 20 % means that one missed case is as bad as 4 false alarms.
    >>> print(implied_costs(0.75))
    A threshold of 75 % means that one false alarm is as bad as 3 missed cases.
    """
    as_share(threshold, "threshold")
    ratio = (1 - threshold) / threshold
    what, other, many = (
        ("missed case", "false alarm", ratio) if ratio >= 1 else ("false alarm", "missed case", 1 / ratio)
    )
    number = score(many)
    as_bad = f"{number} {other}s" if number != "1" else f"one {other}"
    return f"A threshold of {short_percent(threshold)} means that one {what} is as bad as {as_bad}."


_IMPACT = tuple(f"{name}{end}" for name in ("hits", "standardized", "avoided") for end in ("", "_low", "_high"))
_BENEFITS = (
    *("model", "acted", "benefit", "benefit_low", "benefit_high", "over_all", "over_all_low", "over_all_high"),
    *_IMPACT,
    *("change", "change_low", "change_high", "p", "note"),
)


def _without_a_model(known: Mapping[str, tuple[Predictions, DecisionCurve]]) -> list[dict[str, object]]:
    """Lines of acting on all and on none, for every set of rows that models answer."""
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
        odds = float(curve.odds[0])
        for end, part, opposite in (("", value, value), ("_low", low, high), ("_high", high, low)):
            share = (part + odds) / (1 + odds)
            every |= {f"hits{end}": share, f"standardized{end}": part / share if share > 0 else np.nan}
            none |= {f"hits{end}": 0.0, f"standardized{end}": 0.0, f"avoided{end}": -opposite / odds}
        every["avoided"] = 0.0
        lines += [{"model": f"{ALL}{which}", **every}, {"model": f"{NONE}{which}", **none}]
    return lines


def _at_threshold(curve: DecisionCurve) -> dict[str, object]:
    """Single row of a curve, with the names of the table."""
    line = curve.frame().iloc[0]
    ends = {"benefit_low": line["low"], "benefit_high": line["high"]}
    names = ("acted", "benefit", "over_all", "over_all_low", "over_all_high", *_IMPACT)
    return {name: line[name] for name in names} | ends


def impact_words(benefits: pd.DataFrame) -> tuple[str, ...]:
    """Sentences on the rows of `net_benefits`: rows acted on per 1,000, those with the class, and rows spared.

    >>> p = Predictions([[0.1, 0.9]] * 40 + [[0.8, 0.2]] * 60, [1, 1, 1, 0] * 10 + [0] * 50 + [1] * 10)
    >>> impact_words(net_benefits({"net": p}, 0.5))[0]
    'net: of 1,000 rows, 400 are acted on, and 300 of these have the class (245 to 343).'
    """
    known = benefits[~benefits["model"].str.startswith((ALL, NONE))]
    return tuple(
        f"{line['model']}: of 1,000 rows, {_a_thousand(line['acted'])} are acted on, and {_a_thousand(line['hits'])} "
        f"of these have the class ({_a_thousand(line['hits_low'])} to {_a_thousand(line['hits_high'])})."
        for line in known.to_dict("records")
        if line["acted"] == line["acted"]
    )


def _more_benefit(
    after: Predictions, before: Predictions | None, threshold: float, positive: int | None, level: float
) -> dict[str, object]:
    """Change of the net benefit by recalibration."""
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
    """Sentences on the rows of `decision_costs`: each model's predicted and actual cost per 1,000 rows.

    They name a direction only if the cost differs significantly from the predicted one (``gap_differs``). The direction
    of a change is named only if its p-value is at most 5 %.

    >>> p = Predictions([[0.8, 0.2]] * 100, [0] * 60 + [1] * 40)
    >>> cost_words(decision_costs({"net": p}))
    ('net predicts a cost of 200 per 1,000 rows; the actual cost is 400 (90 % interval 313 to 504), more than ...',)
    """
    return tuple(_words(line, level) for line in costs.to_dict("records") if line["realised"] == line["realised"])


def _words(line: Mapping[Hashable, Any], level: float) -> str:
    """Sentence on one row of `decision_costs`."""
    expected, realised, low, high = (_a_thousand(line[f"{name}"]) for name in _SAID)
    start = f"{line['model']} predicts a cost of {expected} per 1,000 rows; the actual cost is {realised}"
    if not np.isfinite(line["realised_low"]):
        return f"{start}, no interval: {line['note']}."
    side = f"{'more' if line['gap'] > 0 else 'less'} than predicted"
    unsure = "not significantly different from the prediction"
    sentence = f"{start} ({at_level(level)} interval {low} to {high}), {side if line['gap_differs'] else unsure}"
    if line["change"] != line["change"] or not np.isfinite(line["change_low"]):
        return f"{sentence}."
    if line["changed"] == 0:
        return f"{sentence}. It decides every row as before."
    if not line["p"] <= SIGNIFICANCE:
        return f"{sentence}. The change of the cost is not significant."
    ends = sorted(abs(line[name]) for name in ("change_low", "change_high"))
    saved = f"{'more' if line['change'] > 0 else 'less'} than before"
    return f"{sentence}. That is {_a_thousand(ends[0])} to {_a_thousand(ends[1])} {saved} ({at_level(level)} interval)."


_SAID = ("expected", "realised", "realised_low", "realised_high")


def _a_thousand(cost: float) -> str:
    return score(1000 * cost)


_COLUMNS = (
    *("model", "rows", "expected", "realised", "realised_low", "realised_high", "gap", "gap_low", "gap_high"),
    *("gap_differs", "change", "change_low", "change_high", "p", "changed", "note"),
)


@dataclass(frozen=True, eq=False)
class _Priced:
    """Decisions on rows (n,), their expected costs, and their costs for each true class, (n, K)."""

    decided: Codes
    expected: Float64s
    possible: Float64s

    @classmethod
    def of(cls, predictions: Predictions, costs: ArrayLike | str) -> _Priced:
        distributions(predictions.kind)
        table = cost_matrix(costs, predictions.rows.shape[1])
        near = rounding(predictions.confidence.dtype)
        parts = [least_cost(block.astype(np.float64), table, near) for _, block in predictions.rows.blocks()]
        codes, expected = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(codes, expected, table[codes])

    def paid(self, labels: Codes) -> Float64s:
        """Return the cost of each row for its true class."""
        return np.take_along_axis(self.possible, labels[:, None], axis=1)[:, 0]


def least_cost(probs: Float64s, table: Float64s, near: float) -> tuple[Codes, Float64s]:
    """Return the decision of least expected cost (n,) and this cost (n,), for probabilities (n, K) and costs (K, K).

    ``near`` is the rounding of the probabilities: equal costs are tied up to it, and the first of several is taken.
    """
    expected = probs @ table.T
    least = expected.min(axis=1)
    # Costs that are equal up to rounding, in units of the largest difference of costs, are tied.
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
    losses = Losses(paid, priced.expected, least, most, weights, groups)
    (low, high), (least_mean, most_mean) = losses.bounds(level), losses.bounds(1 - SIGNIFICANCE)
    if groups is not None and len(groups.values) < FEWEST:
        low, high, least_mean, most_mean = (np.nan,) * 4
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
        "gap_differs": bool(least_mean > expected or most_mean < expected),
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
    return _paired(a, b, lambda probs: table[least_cost(probs, table, near)[0]], level) | {"changed": changed}


def _paired(a: Predictions, b: Predictions, terms: Callable[[Float64s], Float64s], level: float) -> dict[str, object]:
    """Paired difference of the mean outcome of two models; ``terms`` gives the value of each label, (n, K)."""
    apart = np.zeros(a.n_rows)
    for rows, sign in ((a, 1), (b, -1)):
        each = [
            np.take_along_axis(terms(block.astype(np.float64)), rows.true_labels[where][:, None], axis=1)[:, 0]
            for where, block in rows.rows.blocks()
        ]
        apart += sign * np.concatenate(each)
    try:
        found, _, _ = of_losses(a, b, apart, terms, level)
    except NotAnswerable as why:  # too few groups with a difference
        return {"change": float(np.average(apart, weights=a.weights)), "note": str(why)}
    return {"change": found.point, "change_low": found.low, "change_high": found.high, "p": found.p_value}


def _lines(costs: ArrayLike | str) -> list[list[Any]]:
    """Given costs as one line per decision."""
    if isinstance(costs, str):
        lines = costs.replace("\n", ";").split(";")
        return [line.replace(",", " ").split() for line in lines if line.strip()]
    table: Any = costs if isinstance(costs, list | tuple) else np.asarray(costs, dtype=object).tolist()
    return [list(line) if np.iterable(line) else [line] for line in (table if np.iterable(table) else [table])]


def _numbers(lines: list[list[Any]]) -> Float64s:
    """These lines as numbers; InputError names an invalid line."""
    for i, line in enumerate(lines, 1):
        for value in line:
            try:
                float(value)
            except (TypeError, ValueError):
                raise InputError(
                    f"costs must be numbers, with one line per decision, such as 0 5; 1 0: {str(value)[:80]!r} in line "
                    f"{i} is not a number"
                ) from None
        if len(line) != len(lines[0]):
            raise InputError(
                f"lines of costs differ in length, line {i} has {len(line)} and line 1 has {len(lines[0])}: give every "
                "decision the same number of costs, one per true class"
            )
    return np.array(lines, dtype=np.float64)
