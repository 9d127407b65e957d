"""Sets of classes that hold the right one as often as wanted: how many classes they must name (conformal sets)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Codes, Float64s, Floats
from calib_core._base.errors import as_share
from calib_core.defaults import LEVEL, SEED
from calib_core.inference.intervals.clustered_rows import FEWEST as FEWEST_GROUPS
from calib_core.inference.intervals.clustered_rows import few_groups, of_like_size, shares_in_cells
from calib_core.inference.intervals.influence_functions import Influence, counting
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.predictions.row_groups import RowGroups, dealt
from calib_core.text import in_percent

__all__ = ["METHODS", "SHARE", "ClassSets", "class_sets", "set_sizes"]

METHODS = {"lac": "one threshold for all classes (LAC)", "aps": "likeliest classes first (APS)"}
"""How sets are made, in words."""
SHARE = 0.9
"""The share of sets that are to hold the right class."""
FEWEST = 15
"""Rows of a half that are to be left out of their sets, from which on intervals of set sizes were simulated."""


@dataclass(frozen=True, eq=False)
class ClassSets:
    """The sets of n rows: how many classes each names, ``sizes`` (n,), and whether the right one is in it.

    ``hits`` (n,) says that. ``slope`` is how fast the mean size grows with the wanted share, in classes: a sample whose
    right classes are easy by luck has sharper thresholds, too, which the interval of the size has to know. ``share`` is
    wanted; ``few`` why no interval of the size is told, empty where one is.
    """

    rows: Predictions
    sizes: Codes
    hits: Bools
    slope: float
    share: float

    @property
    def size(self) -> Influence:
        """Classes a set names on average, with what each row adds: to the sizes themselves, and to the thresholds."""
        right = self.coverage
        sizes = self.sizes.astype(np.float64)
        middle = float(sizes.mean())
        terms = sizes - middle - self.slope * right.terms
        return Influence(middle, terms, right.weights, right.groups)

    @property
    def coverage(self) -> Influence:
        """The share of sets that hold the right class."""
        share = float(self.hits.mean())
        return Influence(share, self.hits.astype(np.float64) - share, np.ones(len(self.hits)), self.rows.row_groups)

    def ends(self, level: float) -> tuple[float, float]:
        """The interval of that share: Clopper and Pearson's, for the thresholds there are."""
        every = np.arange(len(self.hits))
        low, high, _ = shares_in_cells(self.rows, np.zeros_like(every), self.hits, every, 1, level)
        return float(low[0]), float(high[0])

    @property
    def few(self) -> str:
        groups = self.rows.row_groups
        if groups is not None and of_like_size(groups, np.ones(len(self.hits))) < FEWEST_GROUPS:
            return few_groups(groups)
        if len(self.hits) // 2 * (1 - self.share) < FEWEST - 1e-9:
            needed = int(np.ceil(2 * FEWEST / (1 - self.share) - 1e-9))
            return f"fewer than {needed} rows: too few for an interval of the size of sets"
        return ""


def class_sets(
    predictions: Predictions, method: str = "lac", share: float = SHARE, random_state: int = SEED
) -> ClassSets:
    """Sets of classes that hold the right one in a wanted share of rows, each row's made with the other half's rows.

    A row's conformity to class j is its probability p_j ("lac"), or what is left to the classes less likely than j,
    sum of p_l over p_l < p_j, and -1 where p_j is 0 ("aps": the likeliest classes first, until what is left is small;
    not randomised, so that sets are rather too large than too small). The set has all classes whose conformity reaches
    a threshold, the k-th smallest of that of the right class in the n rows of the other half, k = floor((n + 1)
    (1 - share)); all classes where k is 0. Halves are drawn at random with the seed ``random_state``, classes not
    evened out, as the promise needs it: then every row's set holds its class with probability ``share`` or more,
    whatever the probabilities are worth, if rows are drawn alike and each on its own. Groups stay in one half: of their
    rows nothing is promised.

    Rows that the model answers count, whole-number weights as copies. ``share`` lies in (0, 1). NotAnswerable for other
    weights, for rows that do not give a probability of every class, and for fewer than two rows or groups. What can
    mislead: the share holds on average over all rows, not in each class; with "lac" a set can be empty.

    References: Sadinle et al. 2019 (LAC); Romano et al. 2020 (APS); Angelopoulos & Bates 2021.

    >>> p = Predictions([[0.8, 0.15, 0.05], [0.6, 0.3, 0.1]] * 20, [0, 1] * 20)
    >>> sets = class_sets(p, "lac", 0.75)
    >>> sets.size.value, sets.coverage.value, sorted(set(sets.sizes.tolist()))
    (1.5, 1.0, [1, 2])
    """
    if method not in METHODS:
        raise InputError(f"method is {method!r}; it must be one of {', '.join(METHODS)}")
    as_share(share, "share")
    if predictions.kind not in ("full", "per-class"):
        raise NotAnswerable(
            "sets of classes need a probability of every class; here there is one of the predicted class alone"
        )
    rows = counting(predictions.written_out())
    if rows.weights is not None:
        raise NotAnswerable("sets of classes are made of rows that count alike, or as copies; these carry weights")
    half = _halves(rows.row_groups, rows.n_rows, random_state)
    own = np.empty(rows.n_rows)
    for where, block in rows.rows.blocks():
        own[where] = _conformities(method, block, rows.true_labels[where])[1]
    # Where the wanted share is a little less, and a little more, in a step of the noise of the threshold.
    step = float(np.sqrt(share * (1 - share) / (rows.n_rows / 2)))
    shares = (max(share - step, share / 2), share, min(share + step, (1 + share) / 2))
    thresholds = np.array([[_threshold(own[half != h], each) for each in shares] for h in (0, 1)])[half]
    sizes = np.empty((rows.n_rows, len(shares)), dtype=np.intp)
    for where, block in rows.rows.blocks():
        values = _conformities(method, block, rows.true_labels[where])[0]
        for i in range(len(shares)):
            sizes[where, i] = (values >= thresholds[where, i][:, None]).sum(axis=1)
    slope = float((sizes[:, 2] - sizes[:, 0]).mean() / (shares[2] - shares[0]))
    return ClassSets(rows, sizes[:, 1], own >= thresholds[:, 1], slope, share)


def set_sizes(
    models: Mapping[str, Predictions], share: float = SHARE, level: float = LEVEL, random_state: int = SEED
) -> pd.DataFrame:
    """How many classes each model must name to hold the right one as often as wanted: a line a model and method.

    Columns, ends of intervals at ``level`` as _low and _high: model; method, a key of ``METHODS``; rows; size, classes
    a set names on average; coverage, the share of sets that hold the right class (Clopper and Pearson, for the
    thresholds there are); single and empty, shares of sets that name one class, and none; note, why a number is
    missing. Sets as in ``class_sets``. Intervals of the size are told where each half leaves 10 rows or more out of
    their sets. What can mislead: with two classes a set of one says little more than the prediction does.

    References: Sadinle et al. 2019; Romano et al. 2020.

    >>> p = Predictions([[0.8, 0.15, 0.05], [0.6, 0.3, 0.1]] * 20, [0, 1] * 20)
    >>> set_sizes({"net": p}, 0.75)[["method", "size", "coverage", "single"]].values.tolist()
    [['lac', 1.5, 1.0, 0.5], ['aps', 1.5, 1.0, 0.5]]
    """
    as_share(level, "level")
    if not models:
        raise NotAnswerable("there is no model to show")
    return pd.DataFrame(
        [
            {"model": name, "method": method, **_line(rows, method, share, level, random_state)}
            for name, rows in models.items()
            for method in METHODS
        ]
    )


def set_sentence(size: float, before: float | None = None, share: float = SHARE) -> str:
    """How many classes sets name on average, and how many they named before, in a sentence.

    >>> set_sentence(1.82, 2.413)
    'Sets that hold the right class in 90 % of the rows name 1.8 classes on average, 2.4 before.'
    """
    now, was = f"{size:.1f}", "" if before is None else f"{before:.1f}"
    if now == was and before is not None and size != before:
        now, was = f"{size:.2f}", f"{before:.2f}"
    then = "" if before is None else ", as before" if now == was else f", {was} before"
    return f"Sets that hold the right class in {in_percent(share)} of the rows name {now} classes on average{then}."


def _line(predictions: Predictions, method: str, share: float, level: float, random_state: int) -> dict[str, object]:
    unknown = dict.fromkeys(
        ("size", "size_low", "size_high", "coverage", "coverage_low", "coverage_high", "single", "empty"), np.nan
    )
    try:
        sets = class_sets(predictions, method, share, random_state)
    except NotAnswerable as why:
        return {"rows": predictions.n_rows, **unknown, "note": str(why)}
    size, low, high = sets.size, np.nan, np.nan
    if not sets.few:
        low, high = size.ends(level)
    first, last = sets.ends(level)
    return {
        "rows": len(sets.sizes),
        "size": size.value,
        "size_low": max(low, 0.0) if low == low else low,
        "size_high": high,
        "coverage": sets.coverage.value,
        "coverage_low": first,
        "coverage_high": last,
        "single": float((sets.sizes == 1).mean()),
        "empty": float((sets.sizes == 0).mean()),
        "note": sets.few,
    }


def _halves(groups: RowGroups | None, n: int, random_state: int) -> Codes:
    """The half of every row, (n,): drawn whatever the classes are, groups whole."""
    alike = np.zeros(n, dtype=np.intp)
    half = dealt(alike, 2, random_state) if groups is None else groups.folds(alike, 2, random_state)
    if len(np.unique(half)) < 2:
        raise NotAnswerable("sets of classes need two rows or more, in two groups or more: one half makes the other's")
    return half


def _threshold(own: Float64s, share: float) -> float:
    """The conformity that a class in the set must reach; minus infinity where too few rows are there to say."""
    k = int(np.floor((len(own) + 1) * (1 - share) + 1e-9))
    return float(np.partition(own, k - 1)[k - 1]) if k else -np.inf


def _conformities(method: str, block: Floats, labels: Codes) -> tuple[Float64s, Float64s]:
    """Of a block of rows the conformities to all classes, in any order, (n, K), and to the right one, (n,).

    What lies below a class is summed from the least probability up: so it is exact where it is tiny, and equal
    probabilities have equal conformities, however classes are ordered. Classes of probability 0 come after all others.
    """
    probs = block.astype(np.float64)
    own = np.take_along_axis(probs, labels[:, None], axis=1)
    if method == "lac":
        return probs, own[:, 0]
    probs.sort(axis=1)
    below = np.zeros_like(probs)
    np.cumsum(probs[:, :-1], axis=1, out=below[:, 1:])
    below[:, 1:][probs[:, 1:] == probs[:, :-1]] = 0.0
    np.maximum.accumulate(below, axis=1, out=below)
    below[probs == 0] = -1.0
    return below, np.take_along_axis(below, (probs < own).sum(axis=1)[:, None], axis=1)[:, 0]
