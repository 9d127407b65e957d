"""Decision calibration: what any choice between two actions would lose is what the predictions say it loses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s, frozen
from calib_core._base.parallel import Progress, one_blas_thread
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.fitting.half_spaces import Cloud, HalfSpace, across, worst
from calib_core.calibrators.insides import Insides, Number, counted
from calib_core.calibrators.profile import Profile
from calib_core.calibrators.row_weights import as_rows
from calib_core.defaults import SEED
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.registry.registry import Range

MOST_PROBABILITIES = 10_000_000
"""Rows times classes beyond which nothing is fitted: seconds grow as rows^1.4 classes^1.5, 33 at 1.6 million."""
_CHANCE_DRAWS = 2
_ROUNDING = 1e-9
"""A gap this small is none."""

STILL_LARGE = "after the last round the gap was still larger than chance: more rounds could lower it."


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
            "Shifts rows on each side of a cut by what is wrong there, one cut after another.",
            rows=(0, 500, 0),
        ),
    ),
)
@dataclass(eq=False, repr=False)
class DecisionCalibration(Calibrator):
    """Shifts the rows on either side of a cut by their mean error there, again and again where it is worst.

    Whoever chooses between two actions by expected loss chooses by the side of a plane on which p lies: H = {p: w . p >
    c}. Predictions are calibrated for all such decisions where E[(y - p) 1_H] = 0 for every H and its complement, y the
    label as a vector. Each round looks for the H with the largest gap
    (||E[(y - p) 1_H]||^2 + ||E[(y - p) 1_not H]||^2)^(1/2) on the calibration rows (from several normals, the threshold
    exact, then turned uphill with a soft edge: the largest that is found, not proven to be the largest), adds to the
    rows of each side the mean of y - p there, and projects them onto the simplex. No round raises the Brier score on
    the calibration rows. It ends after ``rounds``, or with ``tolerance`` where the gap is below it; without one, where
    the gap is below what two searches among labels drawn from the rows as they then are find on average: ``floor_``.
    Rounds after the smallest gap are dropped.

    ``gaps_`` (rounds + 1,) are the gaps before each round and at the end; ``normals_`` (rounds, K), ``thresholds_``
    (rounds,) and ``shifts_`` (rounds, 2, K), first of the rows outside H, are the rounds. The predicted class can
    change. What can mislead: projected probabilities can be exactly 0, where the log loss is at its floor; rows that
    belong together make the floor too low, so that noise is fitted. It is better after temperature scaling
    (``ts+decision``), as in P3. A fit holds the calibration rows some four times in double precision. NotAnswerable
    where rows times classes are more than 10 million.

    References: Zhao, Kim, Sahoo, Ma & Ermon 2021, Algorithm 1-2 with two actions; P3 §2.5.

    >>> cal = DecisionCalibration().fit([[0.9, 0.1]] * 500 + [[0.2, 0.8]] * 500, [0] * 350 + [1] * 150 + [1, 0] * 250)
    >>> cal.predict_proba([[0.9, 0.1], [0.2, 0.8]]).round(6).tolist()
    [[0.7, 0.3], [0.5, 0.5]]
    """

    rounds: Annotated[int, Range(1, 500), "Most rounds", "cuts that are looked for at most"] = 50
    tolerance: Annotated[
        float | None, Range(0.0, 1.0), "Gap to stop at", "largest gap left alone; else what chance alone shows"
    ] = None
    random_state: Annotated[int, Range(0, 2**31 - 1), "Seed of chance", "seed of what chance alone shows"] = SEED

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        if predictions.weights is not None:  # a row of weight 0 is no row
            predictions = predictions.take(np.flatnonzero(predictions.weights > 0))
        n, k = predictions.rows.shape
        if n * k > MOST_PROBABILITIES:
            raise NotAnswerable(
                f"{n:,} rows of {k:,} classes are too many to search for the worst decision among (it could take "
                f"hours): fit decision calibration on at most {MOST_PROBABILITIES // k:,} of the rows"
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
        lowered = f", which lowers the largest gap from {self.gaps_[0]:.3g} to {self.gaps_[-1]:.3g}" if n else ""
        return Insides(
            counted(n, "round"),
            f"Shifts rows on both sides of a cut, in {counted(n, 'round')}{lowered}; chance alone shows "
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
        """Each round's cut, what chance shows there and the shifts; last the cut that was left."""
        rng, found = np.random.default_rng(self.random_state), []
        for _ in range(self.rounds + 1):
            cut, floor, gaps = worst(cloud), self.tolerance, list[float]()
            progress(0)  # rounds end when they may: nobody knows how many there will be
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
    """These rows, which sum to one, with those outside the simplex moved to its nearest point.

    >>> on_simplex(np.array([[1.2, 0.0, -0.2], [0.7, 0.4, -0.1]])).round(6).tolist()
    [[1.0, 0.0, 0.0], [0.65, 0.35, 0.0]]
    """
    beyond = np.flatnonzero(rows.min(axis=1) < 0.0)
    high = -np.sort(-rows[beyond], axis=1)
    surplus = (np.cumsum(high, axis=1) - 1.0) / np.arange(1, rows.shape[1] + 1)
    kept = (high > surplus).sum(axis=1, keepdims=True) - 1
    rows[beyond] = np.maximum(rows[beyond] - np.take_along_axis(surplus, kept, axis=1), 0.0)
    return rows
