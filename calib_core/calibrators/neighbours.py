"""LECE and LECD (P3): corrections of a prediction by its nearest calibration rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal, Protocol

import numpy as np
import scipy

from calib_core._base.arrays import Bools, Codes, Float64s, Floats, frozen, safe_log
from calib_core._base.parallel import Pieces, Progress, chunks, counted_off, one_blas_thread, shared_out
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.calibration_rows import content_order
from calib_core.calibrators.insides import Insides, Number, NumberGrid, Profile
from calib_core.defaults import SEED
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.predictions.row_groups import RowGroups
from calib_core.registry.registry import Choice, Flag, Range

BLOCK_ENTRIES = 1 << 20
"""Maximum number of distances in the memory of one worker; it limits the rows per block."""

_FLOAT32_ROUNDING = 2.0**-24
_LEAST = float(np.finfo(np.float32).tiny)
_SAMPLED = 8
"""Stride of the sample of points that bounds the k-th distance; only points within the bound are checked again."""
_MANY_TIES = 32
"""Number of candidates for the last place from which on all are compared in one matrix product."""


class Distance(Protocol):
    """Distance to fixed points, with a rough version and an exact one for doubtful cases."""

    @property
    def error(self) -> float:
        """Maximum relative error of a rough distance."""

    def rough(self, block: Float64s) -> Floats:
        """Rough distances (b, n) of b rows to all points; infinite distances are exact."""

    def exact(self, block: Float64s, rough: Floats, rows: Codes, points: Codes) -> Float64s:
        """Exact distances of chosen (row, point) pairs in float64."""


class KullbackLeibler:
    """Kullback-Leibler divergence KL(p || q) = sum_l p_l log(p_l / q_l), up to a constant of p: -sum_l p_l log q_l.

    0 log 0 = 0; infinite where q is 0 and p is not. All terms are non-negative, so a product in float32 has a small
    *relative* error however near the points are. Undecided cases are computed again in float64.
    """

    def __init__(self, points: Floats) -> None:
        q = points.astype(np.float64)
        self._zero = q == 0
        self._cost = -np.log(np.where(self._zero, 1.0, q))
        self._rough = np.ascontiguousarray(self._cost.T, dtype=np.float32)
        self._forbids = self._zero.T.astype(np.float32) if self._zero.any() else None
        self.error = (q.shape[1] + 4) * _FLOAT32_ROUNDING

    def rough(self, block: Float64s) -> Floats:
        distances = block.astype(np.float32) @ self._rough
        if self._forbids is not None:
            distances[((block > 0).astype(np.float32) @ self._forbids) > 0] = np.inf
        return np.asarray(distances)

    def exact(self, block: Float64s, rough: Floats, rows: Codes, points: Codes) -> Float64s:
        known = np.isinf(rough[rows, points])
        distances = np.full(len(rows), np.inf)
        i, j = rows[~known], points[~known]
        if len(i) > _MANY_TIES * len(block):
            distances[~known] = (block @ self._cost.T)[i, j]
            return distances
        distances[~known] = np.einsum("ij,ij->i", block[i], self._cost[j])
        return distances


class Euclidean:
    """Squared Euclidean distance, from differences in float64: a product would cancel for near points."""

    error = 0.0

    def __init__(self, points: Floats) -> None:
        self._points = points.astype(np.float64)

    def rough(self, block: Float64s) -> Floats:
        return np.asarray(scipy.spatial.distance.cdist(block, self._points, "sqeuclidean"))

    def exact(self, block: Float64s, rough: Floats, rows: Codes, points: Codes) -> Float64s:
        return np.asarray(rough[rows, points], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Nearest:
    """The k nearest of fixed points, as a sparse matrix (b, n) with row sums k, for b rows and each requested k.

    Points nearer than the k-th count in full. Points at the distance of the k-th, to within ``band`` (relative, the
    rounding of the inputs), share the remainder of k equally. No tie is broken by the order of the points. With
    ``weights`` a point counts by its weight.
    """

    distance: Distance
    weights: Float64s | None
    band: float

    def of(self, block: Float64s, ks: Sequence[int]) -> list[scipy.sparse.csr_matrix]:
        """Shares of the points in the neighborhoods of these rows, one matrix per k, in the given order."""
        rough = self.distance.rough(block)
        if self.weights is not None:
            near, last = _Pairs.within(rough, np.full(len(block), np.inf)), self._weighted_kth(rough, ks)
        else:
            near, last = _nearest_pairs(rough, ks, 1 + 4 * self._doubt)
        return [self._members(block, rough, near, last[:, a], k) for a, k in enumerate(ks)]

    @property
    def _doubt(self) -> float:
        """Relative difference above which two rough distances are in the right order and not tied."""
        return 2 * self.distance.error + 2 * self.band

    def _weighted_kth(self, rough: Floats, ks: Sequence[int]) -> Floats:
        """Rough distance at which the cumulative weight of the nearest points reaches k, (b, len(ks))."""
        assert self.weights is not None
        order = np.argsort(rough, axis=1, kind="stable")
        upto = np.cumsum(self.weights[order], axis=1)
        places = [np.argmax(upto >= _reached(k), axis=1) for k in ks]
        return np.take_along_axis(rough, np.take_along_axis(order, np.stack(places, axis=1), axis=1), axis=1)

    def _members(self, block: Float64s, rough: Floats, near: _Pairs, last: Floats, k: int) -> scipy.sparse.csr_matrix:
        high = (last.astype(np.float64) * (1 + self._doubt) + _LEAST).astype(rough.dtype)
        low = (last.astype(np.float64) * (1 - self._doubt) - _LEAST).astype(rough.dtype)
        b, n = rough.shape
        kept = np.flatnonzero(near.rough <= high[near.rows])
        i, j = near.rows[kept], near.points[kept]
        share = np.ones(len(kept)) if self.weights is None else self.weights[j]
        open_ = np.flatnonzero(near.rough[kept] >= low[i])
        within = (np.bincount(i, share, b) - np.bincount(i[open_], share[open_], b)).astype(np.float64, copy=False)
        exact = self.distance.exact(block, rough, i[open_], j[open_])
        share[open_] = self._last_places(i[open_], exact, share[open_], within, k)
        starts = np.append(0, np.cumsum(np.bincount(i, minlength=b)))
        return scipy.sparse.csr_matrix((share, j, starts), shape=(b, n))

    def _last_places(self, i: Codes, exact: Float64s, share: Float64s, within: Float64s, k: int) -> Float64s:
        """Shares of the candidates for the last places: full if nearer than the k-th, partial if tied with it."""
        b = len(within)
        order = np.lexsort((exact, i))
        row, far = i[order], exact[order]
        upto = np.cumsum(share[order])
        before = np.append(0.0, np.cumsum(np.bincount(i, share, b)))[:-1]
        reached = upto - before[row] + within[row] >= _reached(k)
        first = np.flatnonzero(reached & np.append(True, ~reached[:-1] | (row[1:] != row[:-1])))
        kth = np.full(b, np.inf)
        kth[row[first]] = far[first]
        edge = kth[i]
        tied = _as_far(exact, edge, self.band)
        nearer = (exact < edge) & ~tied
        left = k - within - np.bincount(i[nearer], share[nearer], b)
        among = np.bincount(i[tied], share[tied], b)
        part = np.divide(left, among, out=np.zeros(b), where=among > 0)
        return np.asarray(np.where(nearer, share, np.where(tied, share * part[i], 0.0)))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of rows and points with their rough distances, sorted by row and then by point."""

    rows: Codes
    points: Codes
    rough: Floats

    @classmethod
    def within(cls, rough: Floats, limit: Floats) -> _Pairs:
        """All pairs with a distance up to the row's limit."""
        flat = np.flatnonzero(rough <= limit[:, None])
        rows, points = np.divmod(flat, rough.shape[1])
        return cls(rows, points, rough.ravel()[flat])

    def ordered(self, n_rows: int, places: Codes) -> Floats:
        """Distances at these ranks of each row, (n_rows, len(places)); infinite beyond the last."""
        count = np.bincount(self.rows, minlength=n_rows)
        starts = np.append(0, np.cumsum(count))[:-1]
        table = np.full((n_rows, max(int(count.max()), int(places.max()) + 1)), np.inf, dtype=self.rough.dtype)
        table[self.rows, np.arange(len(self.rows)) - starts[self.rows]] = self.rough
        table.partition(np.unique(places), axis=1)
        return np.asarray(table[:, places])


def _nearest_pairs(rough: Floats, ks: Sequence[int], room: float) -> tuple[_Pairs, Floats]:
    """Pairs with every point up to ``room`` times the k-th distance, and the k-th distances (b, len(ks))."""
    places = np.asarray(ks) - 1
    limit = _limit(rough, max(ks))
    near = _Pairs.within(rough, limit)
    last = near.ordered(len(rough), places)
    short = last.max(axis=1) * room + 2 * _LEAST > limit
    if not (short & np.isfinite(limit)).any():
        return near, last
    near = _Pairs.within(rough, np.where(short, np.inf, limit).astype(rough.dtype))
    return near, near.ordered(len(rough), places)


def _limit(rough: Floats, k: int) -> Floats:
    """Distance that the k-th nearest point rarely exceeds, from a sample of the points; infinite if k is large."""
    b, n = rough.shape
    m = -(-n // _SAMPLED)
    expected = k * m / n
    place = int(expected + 3.5 * np.sqrt(expected) + 3)
    if place >= m // 2:
        return np.full(b, np.inf, dtype=rough.dtype)
    return np.asarray(np.partition(rough[:, ::_SAMPLED], place, axis=1)[:, place])


def _as_far(distance: Float64s, edge: Float64s, band: float) -> Bools:
    with np.errstate(invalid="ignore"):  # infinity minus infinity: such pairs are equal
        return np.asarray((distance == edge) | (np.abs(distance - edge) <= band * edge))


def _reached(k: int) -> float:
    """Value from which on a sum of weights counts as k, allowing for rounding."""
    return k * (1 - 1e-12)


def fold_codes(points: Floats, labels: Codes, weights: Float64s | None, folds: int, random_state: int) -> Codes:
    """Seeded fold of each row; sizes differ by at most one, and the order of the rows has no effect."""
    n = len(points)
    codes = np.empty(n, dtype=np.intp)
    codes[content_order(points, labels, weights)] = np.random.default_rng(random_state).permutation(
        np.arange(n) % folds
    )
    return codes


def losses_by_threshold(
    block: Float64s, proposed: Float64s, labels: Codes, weights: Float64s, thresholds: Sequence[float], slack: float
) -> Float64s:
    """Summed log loss of the thresholded, normalized rows, one value per threshold."""
    line = np.arange(len(block))
    proposed = np.broadcast_to(proposed, block.shape)
    losses = []
    for t in thresholds:
        out = np.where((block <= t) | (proposed <= t + slack), block, proposed)
        sums = out.sum(axis=1)
        even = np.full(len(sums), 1.0 / block.shape[1])
        losses.append(-float(weights @ safe_log(np.divide(out[line, labels], sums, out=even, where=sums != 0))))
    return np.asarray(losses)


def shares(rows: Float64s) -> Float64s:
    """Rows divided by their sums; a row of zeros, as in raw scores of single classes, becomes uniform."""
    sums = rows.sum(axis=1, keepdims=True)
    if sums.all():
        return np.asarray(rows / sums)
    return np.where(sums == 0, 1.0 / rows.shape[1], rows / np.where(sums == 0, 1.0, sums))


def best_cell(losses: Float64s, shares: Sequence[float], thresholds: Sequence[float]) -> tuple[float, float]:
    """The (share, threshold) with the least loss; among equal losses, up to rounding, the first in the grid."""
    best = losses.min()
    a, b = np.argwhere(losses <= best + 1e-12 * abs(best))[0]
    return shares[a], thresholds[b]


SHARES = (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.1, 0.2, 1.0)
"""Candidate shares of the calibration rows for cross-validation (P3 §4.2.3)."""
THRESHOLDS = (0.0, 0.00125, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.05, 0.1, 1.0)
"""Candidate thresholds for cross-validation."""

_ROWS = Contract("full", keeps_argmax=False, sums_to_one=True, exported=False)
_LECE = Profile("rows", "Subtracts the mean error of the most similar calibration rows.", rows=(1000, 0, 0))
_LECD = Profile("rows", "Gives each row the class frequencies of the most similar calibration rows.", rows=(1000, 0, 0))


@dataclass(eq=False, repr=False)
class Neighbours(Calibrator):
    """Base class of LECE and LECD: nearest calibration rows, threshold, and the choice of both."""

    share: Annotated[float, Range(0.001, 1), "Share of neighbors", "neighbors as a share of the calibration rows"] = (
        0.05
    )
    neighbours: Annotated[
        int | None, Range(1, 1_000_000), "Number of neighbors", "number of neighbors instead of a share"
    ] = None
    threshold: Annotated[
        float, Range(0, 1), "Largest unchanged probability", "probabilities up to this do not change"
    ] = 0.0
    distance: Annotated[
        Literal["kl", "euclidean"],
        Choice(("kl", "euclidean"), titles=("Kullback–Leibler", "Euclidean")),
        "Distance",
        "distance between rows: Kullback-Leibler or Euclidean",
    ] = "kl"
    cross_validate: Annotated[
        bool, Flag(), "Choose by cross-validation", "choose share and threshold by 10-fold cross-validated log loss"
    ] = False
    random_state: Annotated[int, Range(0, 2**31 - 1), "Random seed", "seed of the folds"] = SEED

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        weights = predictions.weights
        used = slice(None) if weights is None else np.flatnonzero(weights > 0)
        self.points_: Floats = frozen(np.ascontiguousarray(predictions.rows.array()[used]))
        self.labels_: Codes = frozen(predictions.true_labels[used])
        # Empty if no weights were given: equal weights need no cumulative sums.
        self.weights_: Float64s = frozen(np.empty(0) if weights is None else weights[used])
        share, self.threshold_ = self.share, self.threshold
        self.losses_: Float64s = np.empty((0, 0))
        if self.cross_validate:
            groups = predictions.row_groups
            kept = groups if groups is None or weights is None else groups.take(np.flatnonzero(weights > 0))
            self.losses_ = self._cross_validated(kept, progress)
            share, self.threshold_ = best_cell(self.losses_, SHARES, THRESHOLDS)
        given = None if self.cross_validate else self.neighbours
        total = float(len(self.points_)) if weights is None else float(self.weights_.sum())
        self.neighbours_ = _count(total, share) if given is None else given

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        rows = predictions.rows
        out = np.empty(rows.shape, dtype=rows.dtype)
        correct = _Correction(self, np.arange(len(self.points_)))
        step = correct.rows_at_once

        def work(where: slice) -> None:
            block = rows.part(where).array().astype(np.float64)
            (proposed,) = correct(block, [self.neighbours_])
            out[where] = normalised(block, proposed, self.threshold_, _rounding(self.points_))

        parts = chunks(len(out), step)
        with one_blas_thread():
            for _ in counted_off(shared_out(work, parts), len(parts), progress):
                pass
        return predictions.with_probs(frozen(out))

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        small = f"; probabilities up to {self.threshold_:g} do not change" if self.threshold_ else ""
        return Insides(
            f"{self.neighbours_:,} neighbours" + (f", threshold {self.threshold_:g}" if self.threshold_ else ""),
            f"Corrects a row by its {self.neighbours_:,} nearest calibration rows{small}."
            + (" Both numbers were chosen by 10-fold cross-validation." if len(self.losses_) else ""),
            self._numbers,
            self._grids(),
        )

    def _numbers(self) -> list[Number]:
        found = [Number("neighbours", float(self.neighbours_)), Number("threshold t", float(self.threshold_))]
        if len(self.losses_):
            q = best_cell(self.losses_, SHARES, THRESHOLDS)[0]
            found.append(Number("share of the calibration rows q", q))
            found += [
                Number("cross-validated log loss", float(loss), f"q = {share:g}", f"t = {threshold:g}")
                for share, line in zip(SHARES, self.losses_, strict=True)
                for threshold, loss in zip(THRESHOLDS, line, strict=True)
            ]
        return found

    def _grids(self) -> tuple[NumberGrid, ...]:
        """Losses of all shares and thresholds tried; empty if these were given."""
        if not len(self.losses_):
            return ()
        q, t = best_cell(self.losses_, SHARES, THRESHOLDS)
        return (
            NumberGrid(
                "Cross-validated log loss",
                self.losses_,
                "share of neighbors (q)",
                tuple(f"{100 * share:g} %" for share in SHARES),
                "threshold (t)",
                tuple(f"{threshold:g}" for threshold in THRESHOLDS),
                chosen=(SHARES.index(q), THRESHOLDS.index(t)),
            ),
        )

    def _cross_validated(self, groups: RowGroups | None, progress: Progress) -> Float64s:
        """Mean log loss of the held-out rows, (shares, thresholds); every fold finds its neighbors once.

        Rows of a group are held out together.
        """
        n = len(self.points_)
        if n < 10:
            raise InputError(f"10-fold cross-validation needs at least 10 calibration rows; got {n}")
        weights = self.weights_ if len(self.weights_) else None
        if groups is None:
            fold = fold_codes(self.points_, self.labels_, weights, 10, self.random_state)
        else:
            fold = groups.folds(self.labels_, 10, self.random_state)
        total = np.zeros((len(SHARES), len(THRESHOLDS)))

        with one_blas_thread():
            folds = Pieces(progress, 10)
            for f in range(10):
                correct = _Correction(self, np.flatnonzero(fold != f))
                test_rows, step = np.flatnonzero(fold == f), correct.rows_at_once
                parts = [test_rows[part] for part in chunks(len(test_rows), step)]
                for losses in counted_off(shared_out(partial(self._losses, correct=correct), parts), len(parts), folds):
                    total += losses
                folds.next()
        return total / (self.weights_.sum() if len(self.weights_) else n)

    def _losses(self, rows: Codes, correct: _Correction) -> Float64s:
        """Summed log losses of some held-out rows, (shares, thresholds)."""
        block, labels = self.points_[rows].astype(np.float64), self.labels_[rows]
        weights = self.weights_[rows] if len(self.weights_) else np.ones(len(rows))
        ks = [_count(correct.total, q) for q in SHARES]
        slack = _rounding(self.points_)
        losses = [losses_by_threshold(block, p, labels, weights, THRESHOLDS, slack) for p in correct(block, ks)]
        return np.stack(losses)

    def _targets(self, rows: Codes) -> Float64s:
        """Vectors averaged over the neighbors."""
        raise NotImplementedError

    def _proposed(self, block: Float64s, mean: Float64s) -> Float64s:
        """Corrected rows, from the neighbors' mean."""
        raise NotImplementedError


@CALIBRATORS.register("lece", "LECE, locally equal errors", reference="P3 Alg. 1", flags=replace(_ROWS, profile=_LECE))
@dataclass(eq=False, repr=False)
class Lece(Neighbours):
    """Subtracts from a row the mean error (probability minus outcome) of the most similar calibration rows.

    Neighbors are the k calibration rows p_i with the smallest KL(p || p_i) (0 log 0 = 0, infinite where p_i is 0 and p
    is not) or Euclidean distance. With CE = mean(p_i - onehot(y_i)) over them, q = p - CE. An entry stays at p where p
    <= t or q <= t (to within rounding), and the row is divided by its sum. The number k is floor(share * n) or as
    given, and t is the ``threshold``. Rows at the distance of the k-th nearest, to within rounding, share the last
    places equally: results do not depend on row order. With few rows per class the neighborhoods are wide and the
    assumption of equal errors is doubtful. P3 then finds better results after temperature scaling (``ts+lece``) with t
    about 0.01.

    ``neighbours_`` and ``threshold_`` are k and t. ``losses_`` are the cross-validated log losses (share, threshold),
    from 10 seeded folds that depend on the rows' contents and not on their order.

    References: P3 Algorithm 1 and §3.2.

    >>> cal = Lece(neighbours=2).fit([[0.8, 0.2], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1])
    >>> cal.predict_proba([[0.9, 0.1]]).round(6).tolist()  # the two .8 are right half the time: CE = (.3, -.3)
    [[0.6, 0.4]]
    """

    def _targets(self, rows: Codes) -> Float64s:
        return self.points_[rows].astype(np.float64) - _one_hot(self.labels_[rows], self.points_.shape[1])

    def _proposed(self, block: Float64s, mean: Float64s) -> Float64s:
        return block - mean


@CALIBRATORS.register(
    "lecd", "LECD, locally equal frequencies", reference="P3 §3.1", flags=replace(_ROWS, profile=_LECD)
)
@dataclass(eq=False, repr=False)
class Lecd(Neighbours):
    """Replaces a row by the class frequencies among the most similar calibration rows.

    Like LECE, with q = mean(onehot(y_i)) over the neighbors and the same threshold rule and division by the sum.
    What can mislead: probabilities smaller than 1/k are replaced by 0/k, 1/k, 2/k, ...; P3 finds it worse than LECE.

    References: P3 §3.1 and Algorithm 1.

    >>> cal = Lecd(neighbours=2).fit([[0.8, 0.2], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1])
    >>> cal.predict_proba([[0.9, 0.1]]).round(6).tolist()
    [[0.5, 0.5]]
    """

    def _targets(self, rows: Codes) -> Float64s:
        return _one_hot(self.labels_[rows], self.points_.shape[1])

    def _proposed(self, block: Float64s, mean: Float64s) -> Float64s:
        return mean


class _Correction:
    """Corrected rows before the threshold, from chosen calibration rows, for each number of neighbors."""

    def __init__(self, owner: Neighbours, rows: Codes) -> None:
        points = owner.points_[rows]
        self._owner = owner
        self._weights = owner.weights_[rows] if len(owner.weights_) else None
        self._targets = owner._targets(rows)
        self.total = float(len(rows)) if self._weights is None else float(self._weights.sum())
        distance = KullbackLeibler(points) if owner.distance == "kl" else Euclidean(points)
        self._nearest = Nearest(distance, self._weights, _rounding(points) * 10)
        self.rows_at_once = int(np.clip(BLOCK_ENTRIES // len(rows), 1, 1024))

    def __call__(self, block: Float64s, ks: list[int]) -> list[Float64s]:
        some = [k for k in ks if k < self.total]
        near = dict(zip(some, self._nearest.of(block, some), strict=True)) if some else {}
        return [self._owner._proposed(block, self._mean(near.get(k), k)) for k in ks]

    def _mean(self, near: scipy.sparse.csr_matrix | None, k: int) -> Float64s:
        if near is None:  # all rows are neighbors of every row
            return np.average(self._targets, axis=0, weights=self._weights)[None, :]
        # A sparse product adds a row's neighbors one by one, so the bits do not depend on other rows of the block.
        return np.asarray(near @ self._targets) / k


def normalised(block: Float64s, proposed: Float64s, threshold: float, slack: float) -> Float64s:
    """Rows by P3 Alg. 1, lines 7-12: small entries stay unchanged, then rows are divided by their positive sums."""
    keep = (block <= threshold) | (proposed <= threshold + slack)
    corrected = np.where(keep, block, proposed)
    return np.asarray(shares(corrected))


def _count(total: float, share: float) -> int:
    """Return floor(share * n), at least one; 5000 * 0.02 is 100 despite rounding."""
    return max(1, int(total * share * (1 + 1e-12)))


def _rounding(points: Floats) -> float:
    """Difference below which distances and probabilities are equal in the dtype of the rows."""
    return 1e-12 if points.dtype == np.float64 else 1e-6


def _one_hot(labels: Codes, n_classes: int) -> Float64s:
    indicators = np.zeros((len(labels), n_classes))
    indicators[np.arange(len(labels)), labels] = 1.0
    return indicators
