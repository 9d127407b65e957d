"""The canonical calibration error without cells: label frequencies smoothed by Dirichlet kernels on the simplex."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from calib_core._base.arrays import Float64s
from calib_core.claims.binary_claims import Claims
from calib_core.claims.probability_vectors import Vectors
from calib_core.estimators.base import ESTIMATORS, Estimated, Traits
from calib_core.predictions.predictions import NotAnswerable
from calib_core.registry.registry import Range
from calib_core.smoothing.simplex_kernel import BANDWIDTHS_TRIED, DirichletKernels

MOST_PRODUCTS = 20_000_000
"""Pairs of rows times classes beyond which nothing is estimated: a noise floor takes a thousand times as many."""
_BLOCK_ENTRIES = 1 << 21


@dataclass(frozen=True, eq=False)
class Smoother:
    """Weights (n, n) for averaging the labels of other rows, computed in blocks, without each row's own."""

    rows: Float64s
    copies: Float64s
    bandwidth: float

    @property
    def mass(self) -> Float64s:
        return np.asarray(self.copies / self.copies.sum())

    def errors(self, outcomes: Float64s) -> Float64s:
        """The error of outcomes (n, K, R), one per replicate: mean over rows of ||smoothed outcomes - row||_1."""
        return self._sizes(outcomes, self.rows[:, :, None])

    def of_residuals(self, residuals: Float64s) -> Float64s:
        """The same of smoothed residuals (n, K, R), outcomes less rows: 0 where these are."""
        return self._sizes(residuals, np.zeros((*self.rows.shape, 1)))

    def of_labels(self, labels: NDArray[np.integer[Any]]) -> Float64s:
        """The error of labels (n, R)."""
        k = self.rows.shape[1]
        return self.errors((labels[:, None, :] == np.arange(k)[:, None]).astype(np.float64))

    @property
    def pull(self) -> Float64s:
        """Influence of each row's outcome on the error, (n,); they sum to one."""
        total = np.zeros(len(self.rows))
        for where, shares in self.blocks():
            total += self.mass[where] @ shares
        return total

    def likelihood(self) -> float:
        """Mean log density of the rows, each by the kernels of the others."""
        logs = np.concatenate([logsumexp(log, axis=1) for _, log in self._log_weights()])
        return float(self.mass @ logs)

    def blocks(self) -> Iterator[tuple[slice, Float64s]]:
        """Pairs of (rows, their shares of all rows)."""
        for where, log in self._log_weights():
            log -= log.max(axis=1, keepdims=True)
            np.exp(log, out=log)
            log /= log.sum(axis=1, keepdims=True)
            yield where, log

    def _sizes(self, values: Float64s, less: Float64s) -> Float64s:
        n, k, count = values.shape
        flat, found = values.reshape(n, -1), np.zeros(count)
        for where, shares in self.blocks():
            smooth = (shares @ flat).reshape(-1, k, count)
            found += self.mass[where] @ np.abs(smooth - less[where]).sum(axis=1)
        return found

    def _log_weights(self) -> Iterator[tuple[slice, Float64s]]:
        """log of copies times the kernel of every row at some rows; of the row itself, of its other copies."""
        n = len(self.rows)
        kernels = DirichletKernels(self.rows, self.copies, self.bandwidth)
        with np.errstate(divide="ignore"):  # of a single copy there are no others
            others = np.log(np.maximum(self.copies - 1.0, 0.0)) - np.log(self.copies)
        for start in range(0, n, max(1, _BLOCK_ENTRIES // n)):
            where = slice(start, min(start + max(1, _BLOCK_ENTRIES // n), n))
            log = kernels.logs(self.rows[where])
            own = np.arange(start, where.stop)
            log[own - start, own] += others[own]
            yield where, log


@ESTIMATORS.register(
    "canonical-kde",
    "Canonical error by Dirichlet kernels",
    reference="Popordanoska et al. 2022",
    flags=Traits(takes=("vectors",), judged="smoothed"),
    elsewhere="ece_kde of Popordanoska, Sayer and Blaschko with p = 1, with a bandwidth that the user chooses.",
    formula=(
        r"\frac1n \sum_j \Bigl\lVert \frac{\sum_{i \ne j} k(p_j; p_i)\, e_{y_i}}{\sum_{i \ne j} k(p_j; p_i)} - p_j "
        r"\Bigr\rVert_1,\quad k(\cdot\,; p_i) = \mathrm{Dirichlet}\Bigl(\frac{p_i}{h} + 1\Bigr)"
    ),
)
@dataclass(frozen=True)
class DirichletKernelError:
    """Mean distance between a row and the average label of other rows; similar rows have the largest weights.

    (1/n) sum_j ||sum_i w_ji e_i - p_j||_1 with e the one-hot labels and w_ji = k(p_j; p_i) / sum_i k(p_j; p_i) over the
    rows i other than j. The kernel k(. ; p_i) is the density of a Dirichlet distribution with parameters p_i / h + 1:
    it needs no mirror at the simplex's faces. The bandwidth h is ``bandwidth``. If that is None, it is the one of 13
    from 0.001 to 1 under which the rows are most likely, each by the others' kernels. In [0, 2]; no partition of the
    simplex is needed.

    Where all other rows are so far away that their kernels underflow, those with the largest logarithms count. A
    probability of 0 has the logarithm of the smallest probability in this library. A whole weight is that many copies,
    which are other rows to each other. What can mislead: smoothing adds an error of its own, and more with a wider
    kernel. The noise of few rows near a row adds another. Calibrated models therefore show much more than 0: compare it
    with the noise floor. The interval is about the part that is due to the labels: the same mean of ||sum_i w_ji (e_i -
    p_i)||_1. For a calibrated model this is 0 except for noise. NotAnswerable for a single row. NotAnswerable also
    where pairs of rows times classes are more than 20 million (1,414 rows of 10 classes), since every row is compared
    with every other.

    References: Popordanoska, Sayer & Blaschko 2022, eq. 8-10.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Canonical
    >>> alike = Canonical().split(Predictions([[0.8, 0.2]] * 5, [0, 0, 0, 1, 1]))
    >>> round(DirichletKernelError().of_vectors(alike).value, 3)  # of four others: 3/4 - .8 twice, 2/4 - .8 thrice
    0.4
    """

    bandwidth: Annotated[
        float | None, Range(0.0001, 10.0, log=True), "Bandwidth", "width of the kernel; else chosen from the rows"
    ] = None

    def __call__(self, claims: Claims) -> Estimated:
        raise NotAnswerable(
            "this error is about whole probability vectors: use it in the canonical notion. For a kernel "
            "curve of claims about single probabilities, use the ECE by kernel densities"
        )

    def of_vectors(self, vectors: Vectors) -> Estimated:
        counted = vectors.counted()
        value = float(self.smoother(counted).of_labels(counted.labels[:, None])[0])
        return Estimated(value, np.array([value]))

    def smoother(self, vectors: Vectors) -> Smoother:
        """Smoother of the labels of these rows, all with positive weight."""
        n, k = vectors.rows.shape
        if n < 2 and (vectors.weights is None or vectors.weights.sum() < 2):
            raise NotAnswerable("a single row has no other row to be compared with: this error needs two or more")
        if n * n * k > MOST_PRODUCTS:
            most = int(np.sqrt(MOST_PRODUCTS / k))
            raise NotAnswerable(
                f"{n:,} rows of {k:,} classes are too many to compare each with every other (at most {most:,}). "
                "Use a subset of the rows, or a partition of the simplex"
            )
        rows = vectors.rows.array().astype(np.float64)
        copies = np.ones(n) if vectors.weights is None else vectors.weights
        if self.bandwidth is not None:
            return Smoother(rows, copies, self.bandwidth)
        return max((Smoother(rows, copies, h) for h in BANDWIDTHS_TRIED), key=lambda each: each.likelihood())
