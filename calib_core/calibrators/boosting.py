"""Monotone boosting: a non-decreasing staircase as a sum of small trees, fitted by scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated

import numpy as np
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from calib_core._base.arrays import Bools, Float64s, Floats
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator, Map, MapShape, PiecewiseMap, carried_back
from calib_core.calibrators.calibration_rows import are_copies, as_rows
from calib_core.calibrators.insides import Insides, Number, interval_places
from calib_core.defaults import SEED
from calib_core.registry.registry import Range
from calib_core.text import several

_RATE, _LEAVES = 0.1, 8
"""Share of each tree's step that is taken, and its largest number of leaves."""


@BINARY_CALIBRATORS.register("boosting", "Monotone boosting", reference="Friedman 2001", flags=MapShape(smooth=False))
@dataclass(eq=False, repr=False)
class MonotoneBoosting(BinaryCalibrator):
    """Adds up small trees of the score into a non-decreasing staircase: a smoother one than isotonic regression's.

    g(s) = sigmoid(b + 0.1 sum_t h_t(s)), with b the log-odds of the observed frequency and h_t one of ``trees`` trees.
    Each tree is constant between thresholds of the score, and non-decreasing. It has at most 8 leaves, each of at least
    ``leaf_rows`` rows, and takes one Newton step against the log loss of the sum so far. The sum has a few dozen steps,
    at most 255. Few trees give a flat map, many follow noise. There is no early stopping: the fit uses every row.

    ``thresholds_`` (m,) are the steps and ``values_`` (m + 1,) the values between them: these numbers are the map, and
    equal scikit-learn's at every score. A score at a threshold has the value above it. Whole weights are copies; others
    count as their effective sample size, but not for ``leaf_rows``. With fewer than two leaves' rows the map is the
    observed frequency. If all outcomes are equal it is (events + 1/2) / (n + 1).

    What can mislead: it is slow, some 0.1 s per fit, a hundred times isotonic regression's time. In simulations its log
    loss was below isotonic regression's throughout, and near that of Venn-ABERS. With 200 rows, 20 trees were better
    than 50. If the relation is a line in log-odds, Platt scaling is better.

    References: Friedman 2001, §4.3 (trees) and §4.5 (log loss of two classes); fitted by scikit-learn's
    HistGradientBoostingClassifier.

    >>> s, z = np.repeat([0.3, 0.6, 0.9], 40), np.tile([0, 1, 0, 1, 1, 1, 0, 1], 15)
    >>> g = MonotoneBoosting(trees=20).fit(s, z & (s > 0.5))
    >>> g.thresholds_.round(3).tolist(), g.transform([0.3, 0.6, 0.9]).round(2).tolist()
    ([0.45], [0.06, 0.6, 0.6])
    """

    trees: Annotated[int, Range(1, 1000), "Trees", "number of trees; more follow the rows more closely"] = 50
    leaf_rows: Annotated[int, Range(1, 10_000), "Rows per leaf", "fewest rows of a leaf"] = 20

    @property
    def min_rows(self) -> int:
        return 2 * self.leaf_rows

    @property
    def steps(self) -> Float64s:
        return np.asarray(self.thresholds_, dtype=np.float64)

    def discrete(self, given: bool = False) -> bool:
        return True

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return _NOTES.get(self.status_, "")

    def insides(self) -> Insides:
        return Insides(
            several(len(self.values_) - 1, "steps"),
            f"Replaces a score by the height of a non-decreasing staircase, the sum of {several(self.trees, 'trees')}.",
            lambda: [
                Number("recalibrated score", float(value), place=place)
                for place, value in zip(interval_places(self.thresholds_), self.values_, strict=True)
            ],
            unit="staircase",
        )

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        s, z, w = _in_order(scores, outcomes, weights)
        rows = np.ones(len(s)) if w is None else w
        events, n = float(rows[z].sum()), float(rows.sum())
        self.thresholds_, self.values_ = np.empty(0), np.empty(0)
        if z.all() or not z.any():
            self.status_, self.values_ = "one outcome", np.full(1, (events + 0.5) / (n + 1.0))
        elif len(s) < self.min_rows:
            self.status_, self.values_ = "few rows", np.full(1, events / n)
        else:
            self.status_ = "fitted"
            self._fit_trees(s.astype(np.float64), z, w)
            if scores.dtype == np.float32:
                # A threshold is compared in the dtype of the scores: no rounding may move it below a score.
                narrow = self.thresholds_.astype(np.float32)
                above = np.nextafter(narrow, np.float32(np.inf))
                self.thresholds_ = np.where(narrow < self.thresholds_, above, narrow).astype(np.float64)

    def _fit_trees(self, scores: Float64s, outcomes: Bools, weights: Float64s | None) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier  # slow import: only loaded for a fit

        model = HistGradientBoostingClassifier(
            learning_rate=_RATE,
            max_iter=int(self.trees),
            max_leaf_nodes=_LEAVES,
            min_samples_leaf=int(self.leaf_rows),
            monotonic_cst=[1],
            early_stopping=False,
            random_state=SEED,  # of the rows that place the thresholds, above 200,000 rows
        )

        def heights(scores: Float64s) -> Float64s:
            return np.asarray(model.predict_proba(scores[:, None])[:, 1], dtype=np.float64)

        # Threads that share one column only wait for each other: on busy machines a fit took seconds.
        with _openmp().limit(limits=1):
            model.fit(scores[:, None], outcomes, sample_weight=weights)
            # Every threshold lies between two calibration scores, so these have all values of the map.
            self.values_ = np.unique(heights(np.unique(scores)))
            if len(self.values_) > 1:
                self.thresholds_ = carried_back(self.values_[1:], heights)

    def score_map(self) -> Map:
        return PiecewiseMap.constant(self.thresholds_, self.values_)


@cache
def _openmp() -> ThreadpoolController:
    """OpenMP as scikit-learn has loaded it."""
    return ThreadpoolController().select(user_api="openmp")


_NOTES = {
    "one outcome": "all outcomes are equal: every score gets (events + 1/2) / (rows + 1).",
    "few rows": "there are too few rows for two leaves: every score gets the observed frequency.",
}
"""Caveats by ``status_``, for fits without trees."""


def _in_order(scores: Floats, outcomes: Bools, weights: Float64s | None) -> tuple[Floats, Bools, Float64s | None]:
    """Rows sorted by their contents, so that their order changes no bit; copies repeated, weights of 0 dropped."""
    if weights is not None and are_copies(weights):
        index = np.repeat(np.arange(len(scores)), weights.astype(np.intp))
        scores, outcomes, weights = scores[index], outcomes[index], None
    if weights is None:
        order = np.lexsort((outcomes, scores))
        return scores[order], outcomes[order], None
    index = np.flatnonzero(weights > 0)
    order = index[np.lexsort((weights[index], outcomes[index], scores[index]))]
    return scores[order], outcomes[order], as_rows(weights)[order]
