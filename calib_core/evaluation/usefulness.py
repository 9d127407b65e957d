"""Effect of recalibration on ranking, selective prediction and prediction sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.errors import as_share
from calib_core.defaults import LEVEL, SEED
from calib_core.evaluation.prediction_sets import METHODS, SHARE, class_sets, set_sentence
from calib_core.evaluation.study import over_same_rows
from calib_core.inference.comparison.model_differences import same_rows
from calib_core.inference.comparison.skills import COVERAGE, PERFECT, threshold, why_few
from calib_core.inference.intervals.influence_functions import ConfidenceRows, Influence, auroc, counting, risk_area
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.text import in_percent

__all__ = ["PairsOfRows", "changes", "order_changes", "sentences", "surest_right"]

COLUMNS = ("calibrator", "measure", "title", "unit", "before", "after", "change", "low", "high", "note")


def changes(
    before: Mapping[str, Predictions],
    after: Mapping[str, Predictions],
    coverage: float = COVERAGE,
    share: float = SHARE,
    level: float = LEVEL,
    random_state: int = SEED,
    fold: Codes | None = None,
) -> pd.DataFrame:
    """Return the effect of recalibration on ranking, selective prediction and set sizes, one row per model and measure.

    ``before`` has the original rows by the same names; if a model leaves rows unanswered, both are
    evaluated on the answered rows. Columns:

    - calibrator;
    - measure, its title and unit;
    - before, after, change (after minus before) with its interval low to high at ``level``;
    - note, the reason for a missing number.

    Measures:

    - auroc, the probability that a correct row has a higher confidence than an incorrect one, ties half;
    - class_auroc, for two classes, the probability that a row with the event has a higher risk than one without it
      (DeLong);
    - reversed, the share of all pairs of rows whose order by confidence, or by the risk of an event, is reversed;
    - tied, the share of pairs whose order is lost (``order_changes``);
    - surest_right, the accuracy of the most confident rows with total share ``coverage`` (``surest_right``);
    - risk_area, the area under the risk-coverage curve (``inference.skills``);
    - lac_size and aps_size, mean sizes of sets with the true class in a ``share`` of rows
      (``prediction_sets.class_sets``), and lac_hits, aps_hits, their coverage.

    The shares reversed and tied are facts about these rows, without an interval. With ``fold`` (n,) they are over
    pairs within a fold only, since scores of different folds' maps are not comparable.

    Changes are paired: they use the difference of each row's terms and Student's interval. This needs 10 correct and 10
    incorrect rows and, for sets, 10 rows outside their sets in each half. What can mislead: intervals are not corrected
    for their number.

    References: DeLong, DeLong & Clarke-Pearson 1988; Geifman, Uziel & El-Yaniv 2019; Sadinle et al. 2019.

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 0, 1])
    >>> swap = p.with_probs([[0.6, 0.4], [0.9, 0.1], [0.2, 0.8]])
    >>> found = changes({"swap": p}, {"swap": swap}).set_index("measure")["after"]
    >>> float(found["reversed"].round(2))  # of the risks of class 1: one of three pairs
    0.33
    """
    for name, value in (("coverage", coverage), ("share", share), ("level", level)):
        as_share(value, name, last=name == "coverage")
    if not after:
        raise NotAnswerable("there is no recalibrated model to compare")
    lines = []
    for name, rows in after.items():
        pair = _Pair.of(before[name], rows, level)
        lines += [{"calibrator": name, **line} for line in pair.lines(coverage, share, random_state, fold)]
    return pd.DataFrame(lines, columns=list(COLUMNS))


def sentences(frame: pd.DataFrame, share: float = SHARE) -> tuple[str, ...]:
    """Sentences on the results of ``changes``, one per calibrator: set sizes and reversed pairs of rows.

    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8]] * 20, [0, 0] * 20)
    >>> sentences(changes({"same": p}, {"same": p}))[0]
    'same. Sets that contain the true class in 90 % of rows have 1.5 classes on average, as before. Sorted by \
confidence, no pair of rows swaps places.'
    """
    found = []
    for name, lines in frame.groupby("calibrator", sort=False):
        known = {str(line["measure"]): line for line in lines.to_dict("records")}
        size, turned, tied = known["lac_size"], *(float(known[key]["after"]) for key in ("reversed", "tied"))
        sets = set_sentence(size["after"], size["before"], share) if size["after"] == size["after"] else ""
        order = "" if turned != turned else _order_sentence(turned, tied)
        found.append(f"{name}. {' '.join(filter(None, (sets, order)))}")
    return tuple(sentence for sentence in found if not sentence.endswith(": "))


def _order_sentence(turned: float, tied: float) -> str:
    """Sentence on the pairs of rows whose order changes.

    >>> _order_sentence(0.0, 0.25)
    'Sorted by confidence, no pair of rows swaps places; 25 % become equal.'
    >>> _order_sentence(0.125, 0.0)
    'Sorted by confidence, 13 % of all pairs of rows swap places.'
    """
    found = f"{in_percent(turned)} of all pairs of rows swap" if turned else "no pair of rows swaps"
    equal = f"; {in_percent(tied)} become equal" if tied else ""
    return f"Sorted by confidence, {found} places{equal}."


@dataclass(frozen=True)
class PairsOfRows:
    """Shares of all pairs of rows with a reversed order, and with a tie only afterwards."""

    turned: float
    tied: float


def order_changes(before: Float64s, after: Float64s) -> PairsOfRows:
    """Changes in the order of n rows by confidence, from ``before`` to ``after`` of shape (n,), in O(n log n).

    Pairs that are tied before have no order to lose. Confidences count as tied if 12 decimals are equal, which allows
    for rounding. Raises NotAnswerable for fewer than two rows.

    References: Knight 1966 (Kendall's pairs, counted by sorting).

    >>> order_changes(np.array([0.5, 0.6, 0.7]), np.array([0.5, 0.7, 0.6]))  # of three pairs one
    PairsOfRows(turned=0.3333333333333333, tied=0.0)
    """
    n = len(before)
    if n < 2:
        raise NotAnswerable("an order of rows needs at least two rows")
    x, y = np.round(before, 12), np.round(after, 12)
    pairs, (old, new, both) = n * (n - 1) / 2, (_ties(x), _ties(y), _ties(x + 2j * y))
    # tau-c = 2 (alike - turned) m / (n^2 (m - 1)), m the smaller number of distinct values; alike + turned is known.
    m = min(len(np.unique(x)), len(np.unique(y)))
    from scipy.stats import kendalltau  # slow import: only loaded for comparisons of pairs

    tau = kendalltau(x, y, variant="c").statistic if m > 1 else 0.0
    apart, lead = pairs - old - new + both, tau * n**2 * (m - 1) / (2 * m)
    return PairsOfRows(float(np.round((apart - lead) / 2) / pairs), float((new - both) / pairs))


def _ties(values: np.ndarray[tuple[int], np.dtype[np.complex128 | np.float64]]) -> float:
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


def surest_right(rows: ConfidenceRows, coverage: float = COVERAGE) -> Influence:
    """Accuracy of the most confident rows with total share ``coverage`` c or, with ties, slightly more.

    Terms: (1{h >= t} (z - r) / c) + (r - value), with t their threshold of confidence and r the accuracy there. A
    sample with many confident rows has a higher t. The accuracy r is that of the rows within a step sqrt(c (1 - c) / n)
    of coverage. If these are all tied, t does not move.

    >>> surest_right(ConfidenceRows.of(Predictions.from_confidence([0.9, 0.8, 0.7], [True, False, True])), 0.5).value
    0.5
    """
    sure = rows.h >= threshold(rows, coverage)
    mass = float(rows.weights[sure].sum())
    value, reached = float(rows.weights[sure] @ rows.right[sure] / mass), mass / rows.total
    if sure.all():
        return rows.mean(rows.right.astype(np.float64))
    step = float(np.sqrt(coverage * (1 - coverage) / len(rows.h)))
    # Rows between the two thresholds, which would enter or leave.
    high, low = threshold(rows, max(coverage - step, coverage / 2)), threshold(rows, min(coverage + step, 1.0))
    near = (rows.h <= high) & (rows.h >= low)
    edge = value if high == low else float(np.average(rows.right[near], weights=rows.weights[near]))
    terms = sure * (rows.right - edge) / reached + edge - value
    return Influence(value, terms, rows.weights, rows.groups)


@dataclass(frozen=True, eq=False)
class _Pair:
    """The same rows before and after, and the confidence level of the intervals."""

    old: Predictions
    new: Predictions
    level: float

    @classmethod
    def of(cls, before: Predictions, after: Predictions, level: float) -> _Pair:
        old, new = same_rows(*over_same_rows([before, after]))
        return cls(counting(old), counting(new), level)

    def lines(self, coverage: float, share: float, random_state: int, fold: Codes | None) -> list[dict[str, object]]:
        old, new = ConfidenceRows.of(self.old), ConfidenceRows.of(self.new)
        few, names = why_few(old) or why_few(new), self.new.class_names or ()
        lines = [self._line("auroc", "ranking by correctness (AUROC)", "score", auroc(old), auroc(new), few)]
        risks = old, new
        if self.old.kind == self.new.kind == "full" and len(names) == 2 and self.old.event is not None:
            risks = ConfidenceRows.of_event(self.old), ConfidenceRows.of_event(self.new.with_event(self.old.event))
            within = " within folds" if _known(fold, risks[0]) else ""
            title = f"ranking by class {names[self.old.event]} (AUROC{within})"
            first, last = (_within(auroc, rows, fold) for rows in risks)
            lines.insert(0, self._line("class_auroc", title, "score", first, last, why_few(risks[0])))
        lines += self._order(*risks, fold)
        surest = f"accuracy of most confident {in_percent(coverage)}"
        pair = surest_right(old, coverage), surest_right(new, coverage)
        lines.append(self._line("surest_right", surest, "share", *pair, few))
        lines.append(
            self._line("risk_area", "area under risk-coverage curve", "share", risk_area(old), risk_area(new), few)
        )
        return lines + [line for method in METHODS for line in self._sets(method, share, random_state)]

    def _line(self, measure: str, title: str, unit: str, old: Influence, new: Influence, few: str) -> dict[str, object]:
        change, low, high = new - old, np.nan, np.nan
        if change.error == 0 and change.value != 0:
            few = few or PERFECT
        if not few and np.isfinite(change.value):
            low, high = change.ends(self.level)
        line = {"measure": measure, "title": title, "unit": unit, "before": old.value, "after": new.value}
        return line | {"change": change.value, "low": low, "high": high, "note": few}

    def _order(self, old: ConfidenceRows, new: ConfidenceRows, fold: Codes | None) -> list[dict[str, object]]:
        titles = {"reversed": "pairs of rows reversed", "tied": "pairs of rows that become equal"}
        found: tuple[float, float] = (np.nan, np.nan)
        note = ""
        try:
            if self.old.weights is not None:
                raise NotAnswerable("pairs of rows need rows of equal weight, or whole-number weights as copies")
            pairs = _pairs_within(old.h, new.h, fold)
            found = pairs.turned, pairs.tied
        except NotAnswerable as why:
            note = str(why)
        return [
            _unknown(measure, title, "share", note) | {"after": value}
            for (measure, title), value in zip(titles.items(), found, strict=True)
        ]

    def _sets(self, method: str, share: float, random_state: int) -> list[dict[str, object]]:
        short = method.upper()
        size, hits = f"classes in a {in_percent(share)} set, {short}", f"coverage of these sets, {short}"
        try:
            old, new = (class_sets(rows, method, share, random_state) for rows in (self.old, self.new))
        except NotAnswerable as why:
            return [
                _unknown(f"{method}_size", size, "score", str(why)),
                _unknown(f"{method}_hits", hits, "share", str(why)),
            ]
        few = old.few or new.few
        return [
            self._line(f"{method}_size", size, "score", old.size, new.size, few),
            self._line(f"{method}_hits", hits, "share", old.coverage, new.coverage, few),
        ]


def _within(measure: Callable[[ConfidenceRows], Influence], rows: ConfidenceRows, fold: Codes | None) -> Influence:
    """Measure of ranking as the mean over folds, since scores of their maps are not comparable."""
    if not _known(fold, rows):
        return measure(rows)
    assert fold is not None
    parts = [(np.flatnonzero(fold == f), ConfidenceRows(rows.h[w], rows.right[w], rows.weights[w]))
             for f in np.unique(fold) for w in [fold == f]]  # fmt: skip
    values = [measure(part).value for _, part in parts]
    mass = np.array([part.total if np.isfinite(v) else 0.0 for (_, part), v in zip(parts, values, strict=True)])
    if not mass.sum():
        return measure(rows)
    terms = np.zeros(len(rows.h))
    for (where, part), value in zip(parts, values, strict=True):
        if np.isfinite(value):
            terms[where] = measure(part).terms * rows.total / mass.sum()
    return Influence(float(mass @ np.nan_to_num(values) / mass.sum()), terms, rows.weights, rows.groups)


def _pairs_within(before: Float64s, after: Float64s, fold: Codes | None) -> PairsOfRows:
    """Changes of the order in all pairs of rows or, with folds, in pairs within a fold."""
    if fold is None or len(fold) != len(before):
        return order_changes(before, after)
    parts = [np.flatnonzero(fold == f) for f in np.unique(fold)]
    parts = [where for where in parts if len(where) > 1]
    if not parts:
        return order_changes(before, after)
    found = [order_changes(before[where], after[where]) for where in parts]
    pairs = np.array([len(where) * (len(where) - 1) / 2 for where in parts])
    turned, tied = (float(pairs @ [getattr(p, n) for p in found] / pairs.sum()) for n in ("turned", "tied"))
    return PairsOfRows(turned, tied)


def _known(fold: Codes | None, rows: ConfidenceRows) -> bool:
    return fold is not None and len(fold) == len(rows.h)


def _unknown(measure: str, title: str, unit: str, note: str) -> dict[str, object]:
    nothing = dict.fromkeys(("before", "after", "change", "low", "high"), np.nan)
    return {"measure": measure, "title": title, "unit": unit, **nothing, "note": note}
