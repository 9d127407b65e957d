"""Decision calibration: predicted losses of choices between two actions match the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import scipy
from scipy.special import expit

from calib_core._base.arrays import Bools, Codes, Float64s, Floats, frozen
from calib_core._base.parallel import Progress, one_blas_thread
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.calibration_rows import as_rows
from calib_core.calibrators.insides import Insides, Number, Profile
from calib_core.defaults import SEED
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.registry.registry import Range
from calib_core.text import several

_STARTS = 2
_STEPS = 15
_SOFTNESS = 0.1
"""Width of a half-space's soft edge during optimization, in standard deviations of the rows across it."""
_MANY_CLASSES = 500
_APART = 1e-12
"""Distance across a half-space's edge below which it does not separate two rows."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Distinct rows (m, K) with their shares of all rows and their summed residuals (label minus prediction).

    They are sorted, so the order of the calibration rows has no effect on any bit of the results.
    """

    rows: Float64s
    shares: Float64s
    residuals: Float64s

    @classmethod
    def of(cls, rows: Floats, labels: Codes, weights: Float64s) -> Cloud:
        distinct, place = np.unique(rows.astype(np.float64), axis=0, return_inverse=True)
        m, k = distinct.shape
        hits = np.bincount(place.ravel() * k + labels, weights, m * k).reshape(m, k) / weights.sum()
        shares = hits.sum(axis=1)
        return cls(distinct, shares, hits - shares[:, None] * distinct)

    def moved(self, rows: Float64s) -> Cloud:
        """The same labels with changed rows."""
        return Cloud(rows, self.shares, self.residuals + self.shares[:, None] * (self.rows - rows))

    def by_chance(self, count: float, rng: np.random.Generator) -> Cloud:
        """These rows with ``count`` labels drawn from the predictions, with normal noise."""
        root = np.sqrt(self.rows) * rng.standard_normal(self.rows.shape)
        noise = root - self.rows * (np.sqrt(self.rows) * root).sum(axis=1, keepdims=True)
        return Cloud(self.rows, self.shares, noise * np.sqrt(self.shares / count)[:, None])


@dataclass(frozen=True, eq=False)
class HalfSpace:
    """Rows p with normal . p > threshold; ``gap``: difference of labels and predictions on both sides."""

    normal: Float64s
    threshold: float
    gap: float

    def holds(self, rows: Float64s) -> Bools:
        return across(rows, self.normal) > self.threshold


def across(rows: Float64s, normal: Float64s) -> Float64s:
    """Return normal . p of each row, with bits that do not depend on other rows."""
    return np.asarray((rows * normal).sum(axis=1))


def worst(cloud: Cloud) -> HalfSpace:
    """Half-space H with the largest gap found, (||E[1_H (y - p)]||^2 + ||E[1_not H (y - p)]||^2)^(1/2).

    Initial normals are the directions in which residuals have the strongest linear trend; the best threshold along each
    is exact. The best one is optimized with a soft edge, and the better of start and end is returned.
    """
    centred = cloud.rows - cloud.shares @ cloud.rows
    best = max((_cut(cloud, normal) for normal in _directions(centred, cloud.residuals)), key=lambda found: found.gap)
    turned = _cut(cloud, _turned(cloud, best))
    return turned if turned.gap > best.gap else best


def _directions(rows: Float64s, residuals: Float64s) -> Float64s:
    """First left singular vectors of rows' @ residuals, one per line.

    With far more classes than rows they are computed within the span of the rows, which contains them. The whole matrix
    would have K^2 numbers and take K^3 steps.

    >>> rows, residuals = np.random.default_rng(0).normal(size=(2, 3, 600))
    >>> whole = np.linalg.svd(rows.T @ residuals)[0].T[:_STARTS]
    >>> np.abs((_directions(rows, residuals) * whole).sum(axis=1)).round(9).tolist()
    [1.0, 1.0]
    """
    m, k = rows.shape
    if k <= _MANY_CLASSES or 2 * m > k:
        return np.asarray(np.linalg.svd(rows.T @ residuals)[0].T[:_STARTS])
    span, inner = np.linalg.qr(rows.T)
    return np.asarray((span @ np.linalg.svd(inner @ residuals, full_matrices=False)[0][:, :_STARTS]).T)


def _cut(cloud: Cloud, normal: Float64s) -> HalfSpace:
    """Best threshold along a normal; one with all rows on one side is allowed."""
    place = across(cloud.rows, normal)
    order = np.argsort(place, kind="stable")
    place = place[order]
    below = np.cumsum(cloud.residuals[order], axis=0)
    total = below[-1].copy()
    # ||a||^2 + ||t - a||^2, without a second table of the size of the rows.
    gaps = 2.0 * (np.einsum("ij,ij->i", below, below) - (below * total).sum(axis=1)) + total @ total
    ahead = np.append(place[1:], np.inf)
    i = int(np.where(ahead - place > _APART, gaps, -np.inf).argmax())
    middle = place[i] if i == len(place) - 1 else 0.5 * (place[i] + ahead[i])
    return HalfSpace(normal, float(middle), float(np.sqrt(max(gaps[i], 0.0))))


def _turned(cloud: Cloud, start: HalfSpace) -> Float64s:
    """Nearby normal with a larger soft-edged gap."""
    place = across(cloud.rows, start.normal) - start.threshold
    spread = float(np.sqrt(cloud.shares @ np.square(place - cloud.shares @ place)))
    if spread <= _APART:
        return start.normal
    unit = 1.0 / (_SOFTNESS * spread)
    total = cloud.residuals.sum(axis=0)

    def loss(plane: Float64s) -> tuple[float, Float64s]:
        inside = expit(cloud.rows @ plane[:-1] - plane[-1])
        upper = inside @ cloud.residuals
        lower = total - upper
        pull = cloud.residuals @ (upper - lower) * (2.0 * inside * (1.0 - inside))
        return -float(upper @ upper + lower @ lower), -np.append(pull @ cloud.rows, -pull.sum())

    size = float(start.gap**2) or 1.0

    def scaled(plane: Float64s) -> tuple[float, Float64s]:
        value, slope = loss(plane)
        return value / size, slope / size

    begin = unit * np.append(start.normal, start.threshold)
    found = scipy.optimize.minimize(scaled, begin, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}).x[:-1]
    length = float(np.linalg.norm(found))
    return np.asarray(found / length) if length > 0 else start.normal


MOST_PROBABILITIES = 10_000_000
"""Maximum of rows times classes for a fit: seconds grow as rows^1.4 classes^1.5, with 33 at 1.6 million."""
_CHANCE_DRAWS = 2
_ROUNDING = 1e-9
"""Gap that counts as 0."""

STILL_LARGE = "after the last round the gap was still larger than chance: more rounds could reduce it."


@CALIBRATORS.register(
    "decision",
    "Decision calibration",
    reference="Zhao et al. 2021",
    flags=Contract(
        "full",
        keeps_argmax=False,
        sums_to_one=True,
        exported=False,
        profile=Profile(
            "rows",
            "Shifts the rows on each side of a cut by their mean error, for one cut after another.",
            rows=(0, 500, 0),
        ),
    ),
)
@dataclass(eq=False, repr=False)
class DecisionCalibration(Calibrator):
    """Shifts the rows on both sides of a cut by their mean error, for the worst cut of each round.

    A choice between two actions by expected loss depends on the side of a plane on which p is: H = {p: w . p > c}.
    Predictions are calibrated for all such decisions if E[(y - p) 1_H] = 0 for every H and its complement. Here y is
    the label as a vector. Each round searches for the H with the largest gap (||E[(y - p) 1_H]||^2 + ||E[(y - p) 1_not
    H]||^2)^(1/2) on the calibration rows. The search starts from several normals, with an exact threshold, then
    optimizes with a soft edge; the maximum is not proven to be global. It adds the mean of y - p to the rows of each
    side, and projects them onto the simplex. No round raises the Brier score on the calibration rows. The fit ends
    after ``rounds`` rounds, or if the gap is below ``tolerance``. Without a tolerance, it ends if the gap is below
    ``floor_``, the average gap of two searches with labels drawn from the current rows. Rounds after the smallest gap
    are dropped.

    ``gaps_`` (rounds + 1,) are the gaps before each round and at the end. ``normals_`` (rounds, K), ``thresholds_``
    (rounds,) and ``shifts_`` (rounds, 2, K), first for the rows outside H, define the rounds. The predicted class can
    change. What can mislead: projected probabilities can be exactly 0, where the log loss is at its floor. Grouped rows
    make ``floor_`` too low, so noise is fitted. It is better after temperature scaling (``ts+decision``), as in P3. A
    fit stores about four copies of the calibration rows in double precision. Raises NotAnswerable if rows times classes
    are more than 10 million.

    References: Zhao, Kim, Sahoo, Ma & Ermon 2021, Algorithm 1-2 with two actions; P3 §2.5.

    >>> cal = DecisionCalibration().fit([[0.9, 0.1]] * 500 + [[0.2, 0.8]] * 500, [0] * 350 + [1] * 150 + [1, 0] * 250)
    >>> cal.predict_proba([[0.9, 0.1], [0.2, 0.8]]).round(6).tolist()
    [[0.7, 0.3], [0.5, 0.5]]
    """

    rounds: Annotated[int, Range(1, 500), "Maximum rounds", "maximum number of cuts"] = 50
    tolerance: Annotated[
        float | None, Range(0.0, 1.0), "Gap to stop at", "largest accepted gap; none: the gap expected by chance"
    ] = None
    random_state: Annotated[int, Range(0, 2**31 - 1), "Random seed", "seed of the gap expected by chance"] = SEED

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        if predictions.weights is not None:  # a row of weight 0 does not count
            predictions = predictions.take(np.flatnonzero(predictions.weights > 0))
        n, k = predictions.rows.shape
        if n * k > MOST_PROBABILITIES:
            raise NotAnswerable(
                f"{n:,} rows of {k:,} classes are too many to search for the worst decision, which could take "
                f"hours: fit decision calibration on at most {MOST_PROBABILITIES // k:,} of the rows"
            )
        weights = np.ones(n) if predictions.weights is None else as_rows(predictions.weights)
        with one_blas_thread():
            cloud = Cloud.of(predictions.rows.array(), predictions.true_labels, weights)
            found = self._rounds(cloud, float(weights.sum()), progress)
        gaps = [cut.gap for cut, _, _ in found]
        least = int(np.argmin(gaps))
        self.floor_ = found[least][1]
        self.gaps_: Float64s = np.array(gaps[: least + 1])
        self.normals_: Float64s = np.array([cut.normal for cut, _, _ in found[:least]]).reshape(-1, k)
        self.thresholds_: Float64s = np.array([cut.threshold for cut, _, _ in found[:least]])
        self.shifts_: Float64s = np.array([shifts for *_, shifts in found[:least]]).reshape(-1, 2, k)

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return STILL_LARGE if self.gaps_[-1] > max(self.floor_, _ROUNDING) and len(self.shifts_) == self.rounds else ""

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        n = len(self.shifts_)
        lowered = f". This lowers the largest gap from {self.gaps_[0]:.3g} to {self.gaps_[-1]:.3g}" if n else ""
        return Insides(
            several(n, "rounds"),
            f"Shifts rows on both sides of a cut, in {several(n, 'rounds')}{lowered}; by chance the gap is about "
            f"{self.floor_:.3g}.",
            lambda: [Number("largest gap", float(gap), place=f"after round {i}") for i, gap in enumerate(self.gaps_)],
        )

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        out = np.empty(predictions.rows.shape, dtype=predictions.rows.dtype)
        for where, block in predictions.rows.blocks():
            rows = np.ascontiguousarray(block, dtype=np.float64)
            for normal, threshold, shifts in zip(self.normals_, self.thresholds_, self.shifts_, strict=True):
                rows = _shifted(rows, across(rows, normal) > threshold, shifts)
            out[where] = rows
        return predictions.with_probs(frozen(out))

    def _rounds(self, cloud: Cloud, count: float, progress: Progress) -> list[tuple[HalfSpace, float, Float64s]]:
        """Cut, chance gap and shifts of each round, and the remaining cut at the end."""
        rng, found = np.random.default_rng(self.random_state), []
        for _ in range(self.rounds + 1):
            cut, floor, gaps = worst(cloud), self.tolerance, list[float]()
            progress(0)  # the number of rounds is not known in advance
            if floor is None:
                for _ in range(_CHANCE_DRAWS):
                    gaps.append(worst(cloud.by_chance(count, rng)).gap)
                    progress(0)
                floor = float(np.mean(gaps))
            inside = cut.holds(cloud.rows)
            shifts = np.array([_mean(cloud, ~inside), _mean(cloud, inside)])
            found.append((cut, float(floor), shifts))
            if cut.gap <= max(floor, _ROUNDING):
                break
            cloud = cloud.moved(_shifted(cloud.rows, inside, shifts))
        return found


def _mean(cloud: Cloud, chosen: Bools) -> Float64s:
    share = float(cloud.shares[chosen].sum())
    return np.asarray(cloud.residuals[chosen].sum(axis=0) / (share or 1.0))


def _shifted(rows: Float64s, inside: Bools, shifts: Float64s) -> Float64s:
    side: Codes = inside.astype(np.intp)
    return on_simplex(rows + shifts[side])


def on_simplex(rows: Float64s) -> Float64s:
    """Project rows that sum to one onto the simplex.

    >>> on_simplex(np.array([[1.2, 0.0, -0.2], [0.7, 0.4, -0.1]])).round(6).tolist()
    [[1.0, 0.0, 0.0], [0.65, 0.35, 0.0]]
    """
    beyond = np.flatnonzero(rows.min(axis=1) < 0.0)
    high = -np.sort(-rows[beyond], axis=1)
    surplus = (np.cumsum(high, axis=1) - 1.0) / np.arange(1, rows.shape[1] + 1)
    kept = (high > surplus).sum(axis=1, keepdims=True) - 1
    rows[beyond] = np.maximum(rows[beyond] - np.take_along_axis(surplus, kept, axis=1), 0.0)
    return rows
