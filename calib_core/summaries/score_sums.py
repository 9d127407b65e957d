"""What a summary knows of proper scores: what rows lost, what they expected to lose, and how far that could vary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import (
    LARGE_BLOCK_BYTES,
    LOG_FLOOR,
    Bools,
    Codes,
    Float64s,
    Floats,
    ReadOnly,
    frozen,
    safe_log,
)
from calib_core._base.notebook_display import OneLine
from calib_core._base.parallel import chunks
from calib_core.claims.exact_sums import ExactSums, added, halves
from calib_core.claims.probability_vectors import LabelMoments
from calib_core.predictions import proper_scores
from calib_core.predictions.predictions import Predictions
from calib_core.summaries.cells import CELLS, EDGES, SUMS, Cells

NORMAL = 0.1
"""Berry-Esseen ratio up to which the mean loss of calibrated rows is taken to be normal."""
LOSS_SUMS = ("seen", "expected", "variance", "third", "surprise", "least", "most")
"""Sums over rows of the loss, of its mean, variance and third absolute moment if labels follow the probabilities, of
(loss - mean)^2, and of the least and the most the row can lose."""


@dataclass(frozen=True, eq=False, repr=False)
class LossSums(ReadOnly, OneLine):
    """Exact sums of one score over rows: ``whole`` and ``part`` as in ``ExactSums``, one entry for each LOSS_SUMS.

    ``reach`` is the most that two losses of one row lie apart, ``highest`` the most a row can lose, ``impossible`` how
    many rows gave what happened a probability of 0, ``floored`` less than LOG_FLOOR.
    """

    rows: int
    whole: Codes
    part: Codes
    reach: float
    highest: float
    impossible: int
    floored: int

    @classmethod
    def together(cls, several: Sequence[LossSums]) -> LossSums:
        """The sums of several together, whatever their order."""
        sums = added([ExactSums(each.whole, each.part) for each in several])
        return cls(
            sum(each.rows for each in several),
            frozen(sums.whole),
            frozen(sums.part),
            max(each.reach for each in several),
            max(each.highest for each in several),
            sum(each.impossible for each in several),
            sum(each.floored for each in several),
        )

    def mean(self, name: str) -> float:
        """The mean of one of LOSS_SUMS over rows."""
        i = LOSS_SUMS.index(name)
        return float(ExactSums(self.whole[i], self.part[i]).value) / self.rows

    def _line(self) -> str:
        return f"mean loss {self.mean('seen'):.4f} of {self.rows:,} rows, expected {self.mean('expected'):.4f}"


def loss_sums(predictions: Predictions, score: str) -> LossSums:
    """The sums of whole predictions' "brier" score (over classes) or "log-loss" (with the one floor)."""
    n = predictions.n_rows
    seen = proper_scores.brier_scores(predictions) if score == "brier" else proper_scores.log_losses(predictions)
    columns = np.empty((len(LOSS_SUMS), n))
    columns[0] = seen
    for where, block in predictions.rows.blocks(LARGE_BLOCK_BYTES):
        p = block.astype(np.float64)
        lost = np.square(p).sum(axis=1, keepdims=True) - 2 * p + 1 if score == "brier" else -safe_log(p)
        each = LabelMoments.of(p, lost)
        columns[1:4, where] = each.expected, each.variance, each.third
        columns[4, where] = np.square(seen[where] - each.expected)
        columns[5:, where] = each.least, each.most
    return _summed(columns, proper_scores.label_probs(predictions))


def claim_losses(confidence: Floats, right: Bools) -> LossSums:
    """The sums of the Brier score of the claim made, as a prediction of two classes: right, or wrong."""
    h = confidence.astype(np.float64)
    given = np.where(right, h, 1.0 - h)
    hit, miss = 2.0 * np.square(1.0 - h), 2.0 * np.square(h)
    mean = h * hit + (1.0 - h) * miss
    up, down = np.abs(hit - mean), np.abs(miss - mean)
    seen = np.where(right, hit, miss)
    columns = np.array([
        seen, mean, h * up**2 + (1.0 - h) * down**2,
        h * (up * up * up) + (1.0 - h) * (down * down * down),  # a power is rounded differently by every machine
        np.square(seen - mean), np.minimum(hit, miss), np.maximum(hit, miss),
    ])  # fmt: skip
    return _summed(columns, given)


def counted_losses(cells: Cells) -> LossSums:
    """The same of claims known by their counts alone, of one stratum.

    With r = outcome - h and v = h (1 - h) a claim loses 2 r^2, should lose 2 v, with variance 4 v (1 - 4 v): sums that
    cells hold. The third moment is at most that variance times 2 |1 - 2 h| (1 - 2 v) at the end of the cell that is
    further from a half, so that a p-value made of it is never too small. ``surprise`` takes the v of a cell's mean; of
    losses that are ``impossible`` or ``floored`` nothing is known: none are counted.

    >>> from calib_core.summaries.cells import Cells
    >>> h, right = np.array([0.7, 0.9, 0.2]), np.array([True, False, False])
    >>> exact, found = claim_losses(h, right), counted_losses(Cells.of(h, right))
    >>> [abs(round(found.mean(name) - exact.mean(name), 9)) for name in ("seen", "expected", "variance")]
    [0.0, 0.0, 0.0]
    """
    kept = dict(zip(SUMS, cells.sums.value, strict=True))
    n, h, v = cells.count, kept["score"], kept["claim"]
    place = cells.place % CELLS
    ends = np.stack([np.append(0.0, EDGES)[place], np.append(EDGES, 1.0)[place]])
    variance = 4.0 * (v - 4.0 * kept["claim_square"])
    ratio = (2.0 * np.abs(1.0 - 2.0 * ends) * (1.0 - 2.0 * ends * (1.0 - ends))).max(axis=0)
    hit, miss = 2.0 * (n - h - v), 2.0 * (h - v)
    surprise = 4.0 * kept["second"] * (1.0 - 4.0 * v / n)
    columns = np.stack([
        2.0 * kept["second"], 2.0 * v, variance, variance * ratio, surprise,
        np.minimum(hit, miss), np.maximum(hit, miss),
    ])  # fmt: skip
    sums = ExactSums.of(columns.sum(axis=1))
    reach, highest = 2.0 * np.abs(1.0 - 2.0 * ends).max(), 2.0 * np.square(np.maximum(ends, 1.0 - ends)).max()
    return LossSums(cells.n_claims, frozen(sums.whole), frozen(sums.part), float(reach), float(highest), 0, 0)


_ROWS = 1 << 14
"""Rows whose losses are added at a time: of numbers below 2^18, sums in units of 2^-20 are then exact in float64."""


def _summed(columns: Float64s, given: Float64s) -> LossSums:
    parts = [
        ExactSums.of(half.sum(axis=1)) for where in chunks(len(given), _ROWS) for half in halves(columns[:, where])
    ]
    sums = added(parts)
    reach, highest = float((columns[6] - columns[5]).max()), float(columns[6].max())
    impossible, floored = int((given == 0).sum()), int((given < LOG_FLOOR).sum())
    return LossSums(len(given), frozen(sums.whole), frozen(sums.part), reach, highest, impossible, floored)
