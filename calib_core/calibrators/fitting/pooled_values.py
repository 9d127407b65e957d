"""Offsets of the values of a column around a common update, drawn together as far as rows suggest (partial pooling).

Log-odds of the event in a row of value v: eta + z . u_v, with eta the common update and u_v (k,) normal around 0 with
standard deviations tau (k,). tau has the largest marginal likelihood (Laplace's approximation, as mixed models are
fitted), u_v is then the mode. Where values agree within noise tau is 0, and so is every offset.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import expit

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core.calibrators.fitting.firth import firth_intercept

_STEPS = 50
_NEAR, _ROUGH = 1e-10, 1e-5
_LOW, _HIGH = -5.0, 1.5
"""Logarithms of standard deviations that are tried."""


@dataclass(frozen=True, eq=False)
class _Values:
    """The rows of one column: common log-odds (n,), what offsets multiply (k, n), outcomes, rows, codes of values."""

    eta: Float64s
    design: Float64s
    outcomes: Bools
    rows: Float64s
    codes: Codes
    values: int

    def offsets(self, tau: Float64s, start: Float64s | None = None, near: float = _NEAR) -> tuple[Float64s, float]:
        """Modes (V, k) for these standard deviations, and the log marginal likelihood; 0 leaves a column of it out."""
        able = np.flatnonzero(tau > 0)
        found = np.zeros((self.values, len(tau)))
        if not len(able):
            return found, self._likelihood(self.eta)
        design, precision = self.design[able], np.diag(tau[able] ** -2.0)
        u = np.zeros((self.values, len(able))) if start is None else start[:, able].copy()
        for _ in range(_STEPS):
            score, information = self._curvature(design, u)
            step = np.linalg.solve(information + precision, (score - u @ precision)[:, :, None])[:, :, 0]
            u += np.clip(step, -1.0, 1.0)
            if np.abs(step).max() <= near:
                break
        information = self._curvature(design, u)[1]
        spread = np.eye(len(able)) + (tau[able] ** 2.0)[:, None] * information
        marginal = self._likelihood(self._at(design, u)) - 0.5 * float(np.sum(np.square(u / tau[able])))
        found[:, able] = u
        return found, marginal - 0.5 * float(np.linalg.slogdet(spread)[1].sum())

    def _at(self, design: Float64s, u: Float64s) -> Float64s:
        return np.asarray(self.eta + np.einsum("kn,nk->n", design, u[self.codes]))

    def _curvature(self, design: Float64s, u: Float64s) -> tuple[Float64s, Float64s]:
        """Score (V, k) and information (V, k, k) of every value's rows."""
        eta = self._at(design, u)
        p, q = expit(eta), expit(-eta)
        away, spread, k = self.rows * np.where(self.outcomes, q, -p), self.rows * p * q, len(design)
        score = np.stack([self._summed(away * z) for z in design], axis=1)
        pairs = [[self._summed(spread * design[i] * design[j]) for j in range(k)] for i in range(k)]
        return score, np.moveaxis(np.array(pairs), -1, 0)

    def _summed(self, terms: Float64s) -> Float64s:
        return np.bincount(self.codes, terms, self.values).astype(np.float64)

    def _likelihood(self, eta: Float64s) -> float:
        return -float(np.sum(self.rows * np.logaddexp(0.0, np.where(self.outcomes, -eta, eta))))

    def limited(self, fixed: Float64s, shifts: Float64s) -> Float64s:
        """Shifts (V,), each brought within one standard error of the one that its own rows alone would have."""
        nearer = shifts.copy()
        ends = np.cumsum(np.bincount(self.codes, minlength=self.values))[:-1]
        for v, mine in enumerate(np.split(np.argsort(self.codes, kind="stable"), ends)):
            own = firth_intercept(fixed[mine], self.outcomes[mine], self.rows[mine])
            around = fixed[mine] + own
            error = float(np.sum(self.rows[mine] * expit(around) * expit(-around))) ** -0.5
            nearer[v] = np.clip(shifts[v], own - error, own + error)
        return nearer


def pooled_offsets(
    eta: Float64s, design: Float64s, outcomes: Bools, rows: Float64s, codes: Codes, values: int
) -> tuple[Float64s, Float64s]:
    """Offsets (V, k) of the values, and their standard deviations tau (k,).

    ``design`` (k, n), its first row ones: a shift first, then (for k = 2) a change of slope. No shift stays further
    from what the value's own rows say alone (with Jeffreys' prior) than one standard error of that, so that one value
    that is far off is not held back by many that are not (Efron & Morris 1972).

    References: Efron & Morris 1972, JASA 67 (limited translation); Breslow & Clayton 1993, JASA 88.
    """
    column = _Values(eta, design, outcomes, rows, codes, values)
    k = len(design)
    tau, best = np.zeros(k), column.offsets(np.zeros(k))[1]

    modes = np.zeros((values, k))

    def minus(logs: Float64s) -> float:
        # The modes of the last standard deviations are near those of the next: a step or two reaches them.
        tried = np.exp(np.clip(np.append(logs, np.full(k - len(logs), -np.inf)), None, _HIGH))
        modes[:], marginal = column.offsets(tried, modes, _ROUGH)
        return -marginal

    shift = scipy.optimize.minimize_scalar(
        lambda log: minus(np.array([log])), bounds=(_LOW, _HIGH), method="bounded", options={"xatol": 1e-4}
    )
    if -shift.fun > best:
        tau, best = np.append(np.exp(shift.x), np.zeros(k - 1)), -shift.fun
    if k > 1:
        start = np.array([shift.x, -1.0])
        both = scipy.optimize.minimize(
            minus, start, method="Nelder-Mead", options={"xatol": 1e-2, "fatol": 1e-5, "maxfev": 80}
        )
        if -both.fun > best:
            tau = np.exp(np.minimum(both.x, _HIGH))
    offsets = column.offsets(tau)[0]
    if tau[0] > 0:
        fixed = eta + np.einsum("kn,nk->n", design[1:], offsets[codes, 1:])
        offsets[:, 0] = column.limited(fixed, offsets[:, 0])
    return offsets, tau
