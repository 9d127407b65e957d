"""The half-space of probability rows in which labels and predictions differ most: what two decisions can tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import expit

from calib_core._base.arrays import Bools, Codes, Float64s, Floats

_STARTS = 2
_STEPS = 15
_SOFTNESS = 0.1
"""The soft edge of a half-space while it is turned, in standard deviations of the rows across it."""
_MANY_CLASSES = 500
_APART = 1e-12
"""Rows closer than this across a half-space's edge are not parted by it."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Different rows (m, K), the share of all rows that each stands for, and of each the summed label less prediction.

    In one order whatever the order of the calibration rows, so that all that is made of them is the same to the bit.
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
        """The same labels after the rows have become others."""
        return Cloud(rows, self.shares, self.residuals + self.shares[:, None] * (self.rows - rows))

    def by_chance(self, count: float, rng: np.random.Generator) -> Cloud:
        """These rows where ``count`` labels follow the predictions, the noise as a normal one."""
        root = np.sqrt(self.rows) * rng.standard_normal(self.rows.shape)
        noise = root - self.rows * (np.sqrt(self.rows) * root).sum(axis=1, keepdims=True)
        return Cloud(self.rows, self.shares, noise * np.sqrt(self.shares / count)[:, None])


@dataclass(frozen=True, eq=False)
class HalfSpace:
    """Rows p with normal . p > threshold; ``gap`` is what the labels of both sides differ by from the predictions."""

    normal: Float64s
    threshold: float
    gap: float

    def holds(self, rows: Float64s) -> Bools:
        return across(rows, self.normal) > self.threshold


def across(rows: Float64s, normal: Float64s) -> Float64s:
    """normal . p of each row, the same bits whatever rows stand beside it."""
    return np.asarray((rows * normal).sum(axis=1))


def worst(cloud: Cloud) -> HalfSpace:
    """The half-space H with the largest gap (||E[1_H (y - p)]||^2 + ||E[1_not H (y - p)]||^2)^(1/2) that is found.

    Normals to start from are those along which residuals change most linearly; along each the best threshold is
    exact. The best is turned uphill with a soft edge, and keeps the better of the two ends.
    """
    centred = cloud.rows - cloud.shares @ cloud.rows
    best = max((_cut(cloud, normal) for normal in _directions(centred, cloud.residuals)), key=lambda found: found.gap)
    turned = _cut(cloud, _turned(cloud, best))
    return turned if turned.gap > best.gap else best


def _directions(rows: Float64s, residuals: Float64s) -> Float64s:
    """The first left singular vectors of rows' @ residuals, one a line.

    Of far more classes than rows within the rows' span, where they lie: the whole matrix would have K^2 numbers, and
    take K^3 steps.

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
    """The best threshold along a normal, none included: all rows are then on one side."""
    place = across(cloud.rows, normal)
    order = np.argsort(place, kind="stable")
    place = place[order]
    below = np.cumsum(cloud.residuals[order], axis=0)
    total = below[-1].copy()
    # ||a||^2 + ||t - a||^2, without a second table as large as the rows'.
    gaps = 2.0 * (np.einsum("ij,ij->i", below, below) - (below * total).sum(axis=1)) + total @ total
    ahead = np.append(place[1:], np.inf)
    i = int(np.where(ahead - place > _APART, gaps, -np.inf).argmax())
    middle = place[i] if i == len(place) - 1 else 0.5 * (place[i] + ahead[i])
    return HalfSpace(normal, float(middle), float(np.sqrt(max(gaps[i], 0.0))))


def _turned(cloud: Cloud, start: HalfSpace) -> Float64s:
    """A normal nearby with a larger gap where the edge is soft."""
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
