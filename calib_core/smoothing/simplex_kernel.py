"""Kernels on the simplex: Dirichlet densities around rows of probabilities, which need no mirror at its faces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from calib_core._base.arrays import Float64s, safe_log

BANDWIDTHS_TRIED = tuple(float(f"{h:.2g}") for h in np.geomspace(0.001, 1.0, 13))
"""Bandwidths among which a likelihood chooses."""


@dataclass(frozen=True, eq=False)
class DirichletKernels:
    """Kernels around rows (n, K), each counted ``copies`` (n,) times: Dirichlet densities with parameters p / h + 1.

    The kernel of a row p has its mode at p, and h is the ``bandwidth``. At a place x it is exp(-KL(p || x) / h) of its
    height there. Probabilities below 2^-52 have the logarithm of that number.

    >>> kernels = DirichletKernels(np.array([[0.5, 0.5]]), np.ones(1), 0.5)
    >>> np.exp(kernels.logs(np.array([[0.5, 0.5], [0.25, 0.75]]))).round(3).ravel().tolist()
    [1.5, 1.125]
    """

    rows: Float64s
    copies: Float64s
    bandwidth: float

    @cached_property
    def _sharp(self) -> Float64s:
        return np.asarray(self.rows / self.bandwidth)

    @cached_property
    def _height(self) -> Float64s:
        k = self.rows.shape[1]
        height = gammaln(1.0 / self.bandwidth + k) - gammaln(self._sharp + 1.0).sum(axis=1) + np.log(self.copies)
        return np.asarray(height)

    @cached_property
    def peaks(self) -> Float64s:
        """Logarithms of copies times the kernel at its mode, (n,)."""
        return np.asarray(self._height + (self._sharp * safe_log(self.rows)).sum(axis=1))

    def logs(self, places: Float64s) -> Float64s:
        """Logarithms of copies times the kernel of every row at places (m, K), (m, n)."""
        return np.asarray(safe_log(places) @ self._sharp.T + self._height)
