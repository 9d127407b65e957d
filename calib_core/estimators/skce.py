"""Kernel calibration error: similarity of residuals of similar predictions. (Widmann, Lindsten & Zachariah 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from calib_core._base.arrays import Codes, Float64s, content_bits
from calib_core.claims.binary_claims import Claims, Stratum
from calib_core.claims.probability_vectors import Vectors
from calib_core.defaults import SEED
from calib_core.estimators.base import ESTIMATORS, ErrorScale, Estimated, Traits, by_stratum
from calib_core.estimators.residuals import Image
from calib_core.registry.registry import Range


@dataclass(frozen=True, eq=False)
class BlockEstimates:
    """Unbiased estimates from blocks of different rows: ``values`` (m,) and how many ``pairs`` (m,) are behind each.

    Independent of each other and of the same mean, which is what tests and intervals need.
    """

    values: Float64s
    pairs: Float64s

    @property
    def mean(self) -> float:
        """Mean over all pairs; 0 where there is no pair."""
        total = self.pairs.sum()
        return float((self.values * self.pairs).sum() / total) if total > 0 else 0.0


@ESTIMATORS.register(
    "skce",
    "Kernel calibration error (squared)",
    reference="Widmann et al. 2019, §5.1",
    flags=Traits(
        takes=("claims", "vectors"), judged="pairs", scale=lambda _: ErrorScale(2, squared=True), redrawn=True
    ),
    elsewhere="The SKCE of CalibrationErrors.jl. Netcal's MMCE is a different, biased statistic of confidence only.",
    formula=(
        r"\binom{n}{2}^{-1} \sum_{i < j} (e_{y_i} - p_i) \cdot (e_{y_j} - p_j)\,"
        r"\exp\Bigl(-\frac{\lVert p_i - p_j \rVert_1}{2\,\lambda}\Bigr)"
    ),
)
@dataclass(frozen=True)
class KernelCalibrationError:
    """Mean similarity of the residuals of two rows, over pairs weighted by the similarity of their predictions.

    SKCE = mean over pairs i < j of (e_i - p_i) . (e_j - p_j) exp(-TV(p_i, p_j) / scale). The probabilities are p, the
    one-hot outcome is e, and TV is half the sum of absolute differences. In the canonical notion rows are assigned to
    blocks and only pairs within a block count. With n blocks of b rows, the cost is n b K and the memory b^2. In binary
    notions the residual is z - s and TV is |s - s'|. All pairs of a stratum enter, after one sort (for two classes the
    canonical value is twice that of one class). It is unbiased for a *squared* error: for a calibrated model it is as
    often below 0 as above, and its size is not comparable to an ECE. Ask whether it differs from 0. For an estimate,
    the p-value is that of outcomes drawn from the predictions themselves, valid for any n and K.

    What can mislead: with many classes most pairs are equally far apart, and a local error then hardly shows.

    The assignment depends on ``random_state`` and on the contents of the rows, not on their order. A whole weight is
    that many copies (with more than one block: copies that stay in one block); a stratum without pairs has the value 0.

    References: Widmann, Lindsten & Zachariah 2019, "Calibration tests in multi-class classification", Lemmas 2-3.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Canonical
    >>> opposite = Canonical().split(Predictions([[1.0, 0.0], [0.0, 1.0]], [1, 0]))
    >>> round(KernelCalibrationError().of_vectors(opposite).value, 4)  # -2 / e
    -0.7358
    """

    scale: Annotated[
        float, Range(0.05, 10, log=True), "Distance that counts", "distance of predictions at which a pair counts 1/e"
    ] = 1.0
    block: Annotated[
        int, Range(2, 5000), "Rows per block", "rows per block in the canonical notion; more is more precise"
    ] = 100
    random_state: Annotated[int, Range(0, 2**31 - 1), "Seed of chance", "seed of the dealing into blocks"] = SEED

    with_self: ClassVar[bool] = False
    """True where each claim is also a pair with itself."""

    def of_vectors(self, vectors: Vectors) -> Estimated:
        """The canonical estimate: the mean over the pairs of all blocks."""
        value = self.blocks(vectors).mean
        return Estimated(value, np.array([value]))

    def __call__(self, claims: Claims) -> Estimated:
        return by_stratum(claims, [self._binary(claims.stratum(s)) for s in range(len(claims.strata))])

    def redrawn(self, claims: Claims, s: int, stratum: Stratum) -> Image:
        """A place a claim, by ascending score: sums over pairs are those of the residuals there."""
        n, order = len(stratum.scores), np.argsort(stratum.scores)
        scores, place = stratum.scores[order].astype(np.float64), np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(n)
        weights = np.ones(n) if stratum.weights is None else stratum.weights[order]
        copies, pairs = _pairs_of_copies(weights), pair_count(weights)

        def errors(sums: Float64s) -> Float64s:
            own = np.square((sums > 0) - scores) @ copies
            total = pair_sums(scores, sums - weights * scores, self.scale) + own
            return np.asarray(total / pairs if pairs > 0 else 0.0 * total)

        return Image(place, None, n, errors)

    def paired(self, scores: Float64s, values: Float64s) -> Float64s:
        """Sum over i < j of v_i v_j exp(-|s_i - s_j| / scale) for ascending scores (n,)."""
        return pair_sums(scores, values, self.scale)

    def pairs(self, weights: Float64s) -> float:
        """Number of pairs of claims with these weights."""
        return pair_count(weights)

    def blocks(self, vectors: Vectors) -> BlockEstimates:
        """The estimate of each block; blocks have ``block`` rows or up to twice as many where n is small."""
        order = _dealt(vectors, self.random_state)
        parts = np.array_split(order, max(1, len(order) // self.block))
        found = [self._block(vectors, part) for part in parts]
        return BlockEstimates(np.array([value for value, _ in found]), np.array([pairs for _, pairs in found]))

    def _block(self, vectors: Vectors, rows: Codes) -> tuple[float, float]:
        """Mean over the pairs of these rows, and how many there are."""
        probs = np.asarray(vectors.rows.take(rows).array(), dtype=np.float64)
        labels = vectors.labels[rows]
        weights = None if vectors.weights is None else vectors.weights[rows]
        residual = -probs
        residual[np.arange(len(rows)), labels] += 1.0
        first, second = np.triu_indices(len(rows), 1)
        length = np.square(residual).sum(axis=1)
        # r_i . r_j from |r_i - r_j|^2: a matrix product would be split over threads, which small blocks wait for.
        product = 0.5 * (length[first] + length[second] - scipy.spatial.distance.pdist(residual, "sqeuclidean"))
        alike = product * np.exp(scipy.spatial.distance.pdist(probs, "cityblock") * (-0.5 / self.scale))
        if weights is None:
            return (float(alike.mean()) if len(alike) else 0.0), float(len(alike))
        both, copies = weights[first] * weights[second], _pairs_of_copies(weights)
        pairs = float(both.sum() + copies.sum())
        total = float((both * alike).sum() + (copies * length).sum())
        return (total / pairs if pairs > 0 else 0.0), pairs

    def _binary(self, stratum: Stratum) -> float:
        """All pairs of a stratum; NaN without claims."""
        if not stratum.total > 0:
            return float("nan")
        order = np.argsort(stratum.scores)
        scores = stratum.scores[order].astype(np.float64)
        residuals = stratum.outcomes[order] - scores
        if stratum.weights is None:
            n = len(scores)
            return float(pair_sums(scores, residuals, self.scale)) / (n * (n - 1) / 2) if n > 1 else 0.0
        weights = stratum.weights[order]
        copies, pairs = _pairs_of_copies(weights), pair_count(weights)
        total = float(pair_sums(scores, weights * residuals, self.scale) + (copies * np.square(residuals)).sum())
        return total / pairs if pairs > 0 else 0.0


def pair_sums(scores: Float64s, values: Float64s, scale: float = 1.0) -> Float64s:
    """Sum over i < j of v_i v_j exp(-|s_i - s_j| / scale) for ascending scores (n,) and values (..., n), in O(n).

    Each row of values gives one sum: multiply residuals by random signs for a wild bootstrap. Since scores ascend,
    exp(-(s_j - s_i) / scale) factors into a running sum; with scale >= 0.05 no factor leaves e^20.

    >>> float(pair_sums(np.array([0.2, 0.2, 0.7]), np.array([1.0, 1.0, 0.0])))
    1.0
    """
    growth = np.exp(scores / scale)
    before = np.cumsum(values * growth, axis=-1)
    return np.asarray((values[..., 1:] / growth[1:] * before[..., :-1]).sum(axis=-1))


def pair_count(weights: Float64s) -> float:
    """Number of pairs of rows with these weights, including pairs of copies; 0 for a single row."""
    pairs = float((weights.sum() ** 2 - np.square(weights).sum()) / 2 + _pairs_of_copies(weights).sum())
    return pairs if pairs > 1e-12 else 0.0


def _pairs_of_copies(weights: Float64s) -> Float64s:
    """Pairs that w copies of one row make among themselves; none for a weight of 1 or less."""
    return np.maximum(weights * (weights - 1.0) / 2.0, 0.0)


def _dealt(vectors: Vectors, seed: int) -> Codes:
    """Positions of the rows in an order that depends on the seed and on their contents, not on their order.

    Rows are ordered by a random hash of probabilities and label. Equal rows would all fall into one block: each copy
    after the first is hashed again with its number.
    """
    n, k = vectors.rows.shape
    rng = np.random.default_rng(seed)
    factors = rng.integers(1, 2**63, size=k, dtype=np.uint64) | np.uint64(1)
    of_label = rng.integers(1, 2**63, size=k, dtype=np.uint64)
    key: NDArray[np.uint64] = np.empty(n, dtype=np.uint64)
    for where, rows in vectors.rows.part(slice(0, n)).blocks():
        # The sum of whole numbers modulo 2^64 is the same in any order of summation.
        key[where] = (_mixed(content_bits(rows)) * factors).sum(axis=1, dtype=np.uint64)
    key = _mixed(key + of_label[vectors.labels])
    order = np.argsort(key, kind="stable")
    ranked = key[order]
    first = np.append(True, ranked[1:] != ranked[:-1])
    starts = np.flatnonzero(first)
    copy = np.arange(n) - np.repeat(starts, np.diff(np.append(starts, n)))
    key[order] = _mixed(ranked + copy.astype(np.uint64) * factors[0])
    return np.asarray(np.argsort(key, kind="stable"), dtype=np.intp)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix of a whole number in which every bit depends on all bits (the finaliser of SplitMix64)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))
