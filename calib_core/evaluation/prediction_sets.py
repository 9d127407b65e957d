"""Conformal prediction sets: sizes of class sets that contain the true class with a target coverage."""

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

METHODS = {"lac": "one threshold for all classes (LAC)", "aps": "most probable classes first (APS)"}
"""Methods for sets, with their titles."""
SHARE = 0.9
"""Target share of sets that contain the true class."""
FEWEST = 15
"""Fewest expected rows per half outside their sets for a simulated interval of set sizes."""


@dataclass(frozen=True, eq=False)
class ClassSets:
    """Class sets of n rows: numbers of classes ``sizes`` (n,), and ``hits`` (n,), whether the true class is included.

    ``slope`` is the derivative of the mean size by the target share, in classes. A sample with easy true classes by
    chance also has sharper thresholds, which the interval of the size must include. ``share`` is the target; ``few`` is
    the reason for a missing interval of the size, or empty.
    """

    rows: Predictions
    sizes: Codes
    hits: Bools
    slope: float
    share: float

    @property
    def size(self) -> Influence:
        """Mean set size, with each row's influence on the sizes and on the thresholds."""
        right = self.coverage
        sizes = self.sizes.astype(np.float64)
        middle = float(sizes.mean())
        terms = sizes - middle - self.slope * right.terms
        return Influence(middle, terms, right.weights, right.groups)

    @property
    def coverage(self) -> Influence:
        """Share of sets that contain the true class."""
        share = float(self.hits.mean())
        return Influence(share, self.hits.astype(np.float64) - share, np.ones(len(self.hits)), self.rows.row_groups)

    def ends(self, level: float) -> tuple[float, float]:
        """Return the Clopper-Pearson interval of the coverage, for the given thresholds."""
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
            return f"fewer than {needed} rows: too few for an interval of the set size"
        return ""


def class_sets(
    predictions: Predictions, method: str = "lac", share: float = SHARE, random_state: int = SEED
) -> ClassSets:
    """Return class sets with a target coverage, each row's set from the rows of the other half.

    With "lac" a row's conformity to class j is its probability p_j. With "aps" it is the total probability of the less
    probable classes, the sum of p_l over p_l < p_j, and -1 if p_j is 0. The most probable classes then come first,
    until the remainder is small; without randomization sets are rather too large than too small. The set has all
    classes whose conformity reaches a threshold. It is the k-th smallest conformity of the true class in the n rows of
    the other half. Here k = floor((n + 1) (1 - share)); all classes if k is 0. Halves are random with the seed
    ``random_state`` and not stratified, as the guarantee requires. Every row's set contains its class with probability
    ``share`` or more for any model, if rows are independent and from one distribution. Groups stay in one half, and
    there is no guarantee for their rows.

    Only answered rows count, with whole-number weights as copies. ``share`` is in (0, 1). Raises NotAnswerable for
    other weights, for rows without a probability of every class, and for fewer than two rows or groups. What can
    mislead: the coverage is an average over all rows, not within each class; with "lac" a set can be empty.

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
            "class sets need a probability of every class; these rows have only that of the predicted class"
        )
    rows = counting(predictions.written_out())
    if rows.weights is not None:
        raise NotAnswerable("class sets need rows of equal weight, or whole-number weights as copies")
    half = _halves(rows.row_groups, rows.n_rows, random_state)
    own = np.empty(rows.n_rows)
    for where, block in rows.rows.blocks():
        own[where] = _conformities(method, block, rows.true_labels[where])[1]
    # At a slightly smaller and a slightly larger target share, by a step of the threshold's noise.
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
    """Return set sizes of each model at a target coverage, one row per model and method.

    Columns, with ends of intervals at ``level`` as _low and _high:

    - model;
    - method, a key of ``METHODS``;
    - rows;
    - size, the mean number of classes;
    - coverage, the share of sets with the true class (Clopper and Pearson, for the given thresholds);
    - single and empty, shares of sets with one class, and with none;
    - note, the reason for a missing number.

    Sets as in ``class_sets``. The size has an interval if each half leaves 10 rows or more out of their sets. What can
    mislead: with two classes a set of one adds little to the prediction.

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
    """Sentence on the mean set size, and on the one before recalibration.

    >>> set_sentence(1.82, 2.413)
    'Sets that contain the true class in 90 % of rows have 1.8 classes on average, 2.4 before.'
    """
    now, was = f"{size:.1f}", "" if before is None else f"{before:.1f}"
    if now == was and before is not None and size != before:
        now, was = f"{size:.2f}", f"{before:.2f}"
    empty = " (some sets are empty)" if size < 1 else ""
    then = "" if before is None else ", as before" if now == was else f", {was} before"
    return (
        f"Sets that contain the true class in {in_percent(share)} of rows have {now} classes on average{then}{empty}."
    )


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
    """Random half of every row, (n,), regardless of classes, with whole groups."""
    alike = np.zeros(n, dtype=np.intp)
    half = dealt(alike, 2, random_state) if groups is None else groups.folds(alike, 2, random_state)
    if len(np.unique(half)) < 2:
        raise NotAnswerable("class sets need at least two rows, in at least two groups: each half sets the other's")
    return half


def _threshold(own: Float64s, share: float) -> float:
    """Minimum conformity of a class in the set; minus infinity if there are too few rows."""
    k = int(np.floor((len(own) + 1) * (1 - share) + 1e-9))
    return float(np.partition(own, k - 1)[k - 1]) if k else -np.inf


def _conformities(method: str, block: Floats, labels: Codes) -> tuple[Float64s, Float64s]:
    """Conformities of a block of rows to all classes, in any order, (n, K), and to the true class, (n,).

    Probabilities below a class are summed from the least one up, so small sums are exact. Equal probabilities have
    equal conformities for any order of classes. Classes of probability 0 come after all others.
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
