"""Class frequencies of nearby calibration rows, weighted by Dirichlet kernels on the simplex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats, frozen, safe_log
from calib_core._base.parallel import Pieces, Progress, chunks, counted_off, one_blas_thread, shared_out
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.calibration_rows import are_copies, as_rows, content_order
from calib_core.calibrators.insides import Insides, Number, Profile
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Range
from calib_core.smoothing.simplex_kernel import BANDWIDTHS_TRIED, DirichletKernels

MOST_LEFT_OUT = 2_000
"""Calibration rows left out one by one to choose the bandwidth: if there are more, evenly spaced by their contents."""
_BLOCK_ENTRIES = 1 << 20
_MOST_ROWS, _FEWEST_ROWS = 256, 8
"""Rows per matrix product, a power of two, the last one padded: BLAS then treats a row equally whatever the others."""
_ALIKE = 1e-9
"""Difference of mean log losses below which the wider bandwidth is chosen."""


@CALIBRATORS.register(
    "kernel-recalibration",
    "Kernel recalibration",
    reference="Popordanoska et al. 2024",
    flags=Contract(
        "full",
        keeps_argmax=False,
        sums_to_one=True,
        exported=False,
        profile=Profile(
            "rows", "Gives each row the class frequencies of the calibration rows around it.", rows=(1000, 0, 0)
        ),
    ),
)
@dataclass(eq=False, repr=False)
class KernelRecalibration(Calibrator):
    """Replaces a row by the class frequencies among calibration rows, which count more the nearer they are.

    f_k(p) = sum_i w_i K(p; p_i) 1{y_i = k} / sum_i w_i K(p; p_i) over calibration rows p_i with labels y_i and weights
    w_i. The kernel K(. ; p_i) is the density of a Dirichlet distribution with parameters p_i / h + 1. The returned row
    is q = (m f + c p) / (m + c). Here c is ``prior``, and m = sum_i w_i exp(-KL(p_i || p) / h) is the number of
    calibration rows around p. A row counts by the height of its kernel at p relative to the kernel's mode. So a class
    gets exactly 0 only if the model gives it 0. Far from all calibration rows m is 0, and the row does not change.
    With ``prior`` 0, q = f; far away, the row whose kernel underflows last then decides alone.

    The bandwidth h is ``bandwidth``, or the one of 13 from 0.001 to 1 under which the labels are most likely. Each
    calibration row is then predicted from the others, with its group left out. Of more than 2,000 rows, 2,000 are
    predicted, evenly spaced in the order of their contents. Estimators of the error use the likelihood of the rows
    themselves, which chooses kernels far too narrow for a map. In 12 simulations without prior rows, it raised the
    model's log loss by 0.02 to 8 in 11 cases. Chosen by the labels, with 10 prior rows, the map lowered it in all six
    overconfident cases, and cost at most 0.01 in the calibrated ones. Of 1, 4 and 10 prior rows, 10 did best in most.

    ``bandwidth_`` is h. ``losses_`` (13,) are the log losses of the bandwidths tried, empty if it was given.
    ``points_`` (n, K), ``labels_`` and ``copies_`` (n,) are the calibration rows in an order of their own. Weighted
    rows count as their effective sample size, whole weights as copies.

    What can mislead: m rows times n calibration rows times K classes are compared, so it is slow for many rows. With
    many classes few rows are near, and the map hardly changes anything; it is better after temperature scaling
    (``ts+kernel-recalibration``). Within a bandwidth of a corner of the simplex the frequencies are biased inwards.

    References: Popordanoska, Gruber, Tiulpin, Buettner & Blaschko 2024 (the ratio f); Popordanoska, Sayer & Blaschko
    2022, eq. 8-10 (the kernel). The number m and the choice of h by the labels are this library's.

    >>> cal = KernelRecalibration(bandwidth=0.1, prior=0).fit([[0.7, 0.3]] * 10, [0] * 6 + [1] * 4)
    >>> cal.predict_proba([[0.7, 0.3], [0.2, 0.8]]).round(6).tolist()
    [[0.6, 0.4], [0.6, 0.4]]
    >>> cal = KernelRecalibration(bandwidth=0.01, prior=1).fit([[0.7, 0.3]] * 9, [0] * 5 + [1] * 4)
    >>> cal.predict_proba([[0.7, 0.3], [0.02, 0.98]]).round(6).tolist()  # (5 + 0.7) / 10; nothing is near the second
    [[0.57, 0.43], [0.02, 0.98]]
    """

    bandwidth: Annotated[
        float | None, Range(0.0001, 10.0, log=True), "Bandwidth", "width of the kernel; else chosen from the labels"
    ] = None
    prior: Annotated[
        float, Range(0, 10_000), "Prior rows", "weight of the uncalibrated row, in calibration rows; 0 for none"
    ] = 10.0

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        weights = predictions.weights
        used = np.arange(predictions.n_rows) if weights is None else np.flatnonzero(weights > 0)
        points, labels = predictions.rows.array()[used], predictions.true_labels[used]
        mine = None if weights is None else weights[used]
        order = content_order(points, labels, mine)
        self.points_: Floats = frozen(np.ascontiguousarray(points[order]))
        self.labels_: Codes = frozen(labels[order])
        self.copies_: Float64s = frozen(np.ones(len(used)) if mine is None else as_rows(mine)[order])
        self.losses_: Float64s = np.empty(0)
        self.bandwidth_ = float(self.bandwidth or 0.0)
        if self.bandwidth is None:
            groups = predictions.row_groups
            alone = mine is None or are_copies(mine)
            with one_blas_thread():
                self.losses_ = self._left_out(None if groups is None else groups.codes[used][order], alone, progress)
            self.bandwidth_ = BANDWIDTHS_TRIED[int(np.flatnonzero(self.losses_ <= self.losses_.min() + _ALIKE)[-1])]

    def _left_out(self, groups: Codes | None, copied: bool, progress: Progress) -> Float64s:
        """Mean log loss of calibration rows, each predicted from the others, for each bandwidth.

        ``copied``: weights are copies, and the other copies of a row are other rows.
        """
        n = len(self.points_)
        chosen = np.unique(np.linspace(0, n - 1, min(n, MOST_LEFT_OUT)).round().astype(np.intp))
        others = self.copies_ - 1.0 if copied else np.zeros(n)
        with np.errstate(divide="ignore"):
            left = np.log(others) - np.log(self.copies_)
        mass, losses, pieces = self.copies_[chosen], [], Pieces(progress, len(BANDWIDTHS_TRIED))
        for bandwidth in BANDWIDTHS_TRIED:
            around = _Around(self, bandwidth)

            def loss(part: slice, around: _Around = around) -> float:
                own = chosen[part]
                place = np.arange(len(own))
                logs = around.logs(self.points_[own].astype(np.float64))
                if groups is not None:
                    logs[groups[own][:, None] == groups] = -np.inf
                else:
                    logs[place, own] += left[own]
                rows = around.mixed(self.points_[own].astype(np.float64), logs)
                return float(mass[part] @ -safe_log(rows[place, self.labels_[own]]))

            parts = chunks(len(chosen), around.rows_at_once)
            losses.append(sum(counted_off(shared_out(loss, parts), len(parts), pieces)) / float(mass.sum()))
            pieces.next()
        return np.array(losses)

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        rows = predictions.rows
        out = np.empty(rows.shape, dtype=rows.dtype)
        around = _Around(self, self.bandwidth_)

        def work(where: slice) -> None:
            block = rows.part(where).array().astype(np.float64)
            padded = np.full((around.rows_at_once, block.shape[1]), 1.0 / block.shape[1])
            padded[: len(block)] = block
            out[where] = around.mixed(padded, around.logs(padded))[: len(block)]

        parts = chunks(len(out), around.rows_at_once)
        with one_blas_thread():
            for _ in counted_off(shared_out(work, parts), len(parts), progress):
                pass
        return predictions.with_probs(frozen(out))

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        tried = " The bandwidth was chosen by leave-one-out log loss." if len(self.losses_) else ""
        return Insides(
            f"bandwidth {self.bandwidth_:.3g}",
            f"Replaces a row by the class frequencies of the calibration rows around it.{tried}",
            lambda: [
                Number("bandwidth h", self.bandwidth_),
                *(
                    Number("leave-one-out log loss", float(loss), place=f"h = {h:g}")
                    for h, loss in zip(BANDWIDTHS_TRIED, self.losses_, strict=False)
                ),
            ],
        )


class _Around:
    """Rows recalibrated by the calibration rows around them, for one bandwidth."""

    def __init__(self, owner: KernelRecalibration, bandwidth: float) -> None:
        points = owner.points_.astype(np.float64)
        n, k = points.shape
        self._kernels = DirichletKernels(points, np.asarray(owner.copies_), bandwidth)
        self._labels = np.zeros((n, k))
        self._labels[np.arange(n), owner.labels_] = 1.0
        self._prior = float(owner.prior)
        most = int(np.clip(_BLOCK_ENTRIES // n, _FEWEST_ROWS, _MOST_ROWS))
        self.rows_at_once = 1 << (most.bit_length() - 1)

    def logs(self, block: Float64s) -> Float64s:
        """Logarithms of copies times kernels at rows (b, K), (b, n)."""
        return self._kernels.logs(block)

    def mixed(self, block: Float64s, logs: Float64s) -> Float64s:
        """Class frequencies around rows (b, K), mixed with the rows; ``logs`` (b, n) is overwritten."""
        near = np.exp(logs - self._kernels.peaks)
        near *= self._kernels.copies
        count = near.sum(axis=1)
        top = logs.max(axis=1)
        empty = np.isneginf(top)  # no other row at all
        logs -= np.where(empty, 0.0, top)[:, None]
        np.exp(logs, out=logs)
        found = logs @ self._labels
        sums = found.sum(axis=1)
        found /= np.where(empty, 1.0, sums)[:, None]
        share = np.where(empty, 0.0, 1.0)
        if self._prior > 0:
            share = count / (count + self._prior)
        return np.asarray(share[:, None] * found + (1.0 - share)[:, None] * block)
