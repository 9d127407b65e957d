"""Histogram binning with uniform mass and without sample splitting (P1 Appendix B)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from calib_core._arrays import Bools, Float64s, Floats
from calib_core.calibrators.base import BINARY_CALIBRATORS, BinaryCalibrator
from calib_core.guarantees import Cells
from calib_core.registry import Range


@BINARY_CALIBRATORS.register("histogram", "Histogram binning", reference="P1 Alg. 8; Gupta & Ramdas 2021, Alg. 1-2")
@dataclass(eq=False, repr=False)
class Histogram(BinaryCalibrator):
    """Replaces a score by the share of claims that came true in its bin, with equally many rows in every bin.

    With B = floor(n / points_per_bin) bins (or the given number), thresholds are the order statistics of the scores
    at ranks ceil(b (n + 1) / B), b = 1..B-1; a bin is closed on the left; its value is the mean outcome of the rows
    strictly between two thresholds, (mean + u) / (1 + delta) with u uniform on [0, delta], so that no two bins return
    the same value. Equal scores never part: m rows tied with a threshold enter with weight (m - 1) / m each instead
    of leaving one of them, picked by luck, out; a threshold that ties leave no row beside is dropped. What can
    mislead: inside a bin all differences between scores are lost, and the order of two scores can flip across bins.

    References: P1 Algorithm 8 and Appendix B.1, after Gupta & Ramdas 2021, Algorithm 2.

    >>> h = Histogram(bins=2, delta=0).fit([0.1, 0.2, 0.3, 0.6, 0.8], [0, 1, 0, 1, 1])
    >>> h.thresholds_.tolist(), h.values_.tolist()
    ([0.3], [0.5, 1.0])
    """

    points_per_bin: Annotated[int, Range(2, 1000), "calibration rows per bin; 50 to 150 is the authors' advice"] = 50
    bins: Annotated[int | None, Range(1, 200), "number of bins instead of points per bin"] = None
    delta: Annotated[float, Range(0, 0.01), "size of the randomisation that keeps bin values apart"] = 1e-10
    random_state: Annotated[int, Range(0, 2**31 - 1), "seed of the randomisation"] = 0

    def discrete(self, given: bool = False) -> bool:
        return True

    @property
    def min_rows(self) -> int:
        return 2 if self.bins is not None else self.points_per_bin

    def _fit(self, scores: Floats, outcomes: Bools, weights: Float64s | None) -> None:
        # Only the scores are sorted, which needs no permutation; outcomes enter through the few that came true.
        order = slice(None) if weights is None else np.argsort(scores, kind="stable")
        s = np.sort(scores) if weights is None else scores[order]
        upto = np.append(0.0, np.arange(1.0, len(s) + 1) if weights is None else np.cumsum(weights[order]))
        thresholds, copies = np.unique(s[self._ranks(upto)], return_counts=True)
        below = upto[np.searchsorted(s, thresholds, side="left")]
        tied = upto[np.searchsorted(s, thresholds, side="right")] - below
        kept = _leaving_rows(below, below + copies, float(upto[-1]))
        self.thresholds_, copies, below, tied = thresholds[kept], copies[kept], below[kept], tied[kept]
        rows = np.diff(np.concatenate([[0.0], below, [upto[-1]]]))
        hits, tied_hits = self._hits(scores[outcomes], None if weights is None else weights[outcomes])
        self.counts_ = rows.copy()
        self.ties_ = len(copies) < len(kept) or bool((tied > copies).any())
        self.weighted_ = weights is not None and bool((weights != weights[0]).any())
        rows[1:] -= copies
        self.averaged_ = rows.copy()
        hits[1:] -= copies * tied_hits / tied
        noise = np.random.default_rng(self.random_state).random(len(rows))
        self.values_ = (np.clip(hits / rows, 0.0, 1.0) + self.delta * noise) / (1.0 + self.delta)

    def cells(self) -> Cells:
        """What the bounds of P1 need; the theorem asks for rows that count alike and thresholds without ties."""
        broken = ""
        if self.weighted_:
            broken = "the calibration rows are weighted, and the theorem is for rows that count alike"
        elif self.ties_:
            broken = (
                "some calibration scores are equal to a bin's threshold; rows tied with it share its place here, "
                "and the theorem is for scores without ties"
            )
        return Cells(int(self.counts_.sum()), len(self.counts_), int(self.averaged_.min()), self.delta, broken)

    def _ranks(self, upto: Float64s) -> NDArray[np.intp]:
        """Positions of the order statistics; with weights, of the weighted ones."""
        total = float(upto[-1])
        asked = int(total // self.points_per_bin) if self.bins is None else self.bins
        # Every bin needs a row strictly between its thresholds: at most (n + 1) / 2 bins.
        n_bins = max(1, min(asked, int(total + 1) // 2))
        ranks = np.ceil(np.arange(1, n_bins) * (total + 1) / n_bins)
        return np.asarray(np.searchsorted(upto[1:], ranks, side="left"), dtype=np.intp)

    def _hits(self, scores: Floats, weights: Float64s | None) -> tuple[Float64s, Float64s]:
        """Weight of the claims that came true per bin, and of those tied with each threshold."""
        codes = np.searchsorted(self.thresholds_, scores, side="right")
        hits = np.bincount(codes, weights, minlength=len(self.thresholds_) + 1).astype(np.float64)
        at_threshold = (codes > 0) & (scores == np.append(np.nan, self.thresholds_)[codes])
        mine = None if weights is None else weights[at_threshold]
        tied = np.bincount(codes[at_threshold] - 1, mine, minlength=len(self.thresholds_))
        return hits, tied.astype(np.float64)

    def _map(self, scores: Floats) -> Float64s:
        codes = np.searchsorted(self.thresholds_.astype(scores.dtype), scores, side="right")
        return np.asarray(self.values_[codes], dtype=np.float64)


def _leaving_rows(starts: Float64s, ends: Float64s, total: float) -> Bools:
    """Which thresholds leave rows strictly between them; ties and unequal weights can leave none: those are dropped.

    Weights from ``starts`` to ``ends`` are the rows that are the thresholds themselves.
    """
    least = 1e-9 * total
    kept = np.ones(len(starts), dtype=bool)
    if (np.append(starts, total) - np.append(0.0, ends) > least).all():
        return kept
    used = 0.0
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        kept[i] = start - used > least and total - end > least
        used = end if kept[i] else used
    return kept
