"""Contest of candidates on held-out rows: the best, those equally good, and whether to use any of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core._base.distributions import t as student
from calib_core.calibrators.blend import blend_weights
from calib_core.defaults import SIGNIFICANCE
from calib_core.inference.intervals.mean_gap import GapSums

ENOUGH = 2.0
"""Nats by which the mixture of the candidates must beat the model: outcomes e^2 = 7.4 times as likely."""
HALF = 0.5
"""A candidate that does equally well has at least so much of the best gain, however uncertain the difference is."""
MOST = 0.9
"""Share of the best gain that counts as equally good, however certain the difference is."""
CLEARLY, NATS = 0.05, 5.0
"""Excess log loss, as a share of the best, and lost nats of likelihood that exclude an equally good candidate.

Both must be exceeded.
"""
ALONE = 0.9
"""Weight in a blend above which a calibrator is recommended alone."""
BOLD = 0.5
"""The share of its gain that one outcome which a candidate all but rules out may cost."""


@dataclass(frozen=True, eq=False)
class Contest:
    """Gains of m candidates over the model in n rows, by maps that were not fitted on them; the model comes first.

    ``gains`` (m, n): by how much less a row loses, 0 for the model; minus infinity where a candidate gives a class a
    probability of 0. ``bold`` (m, n) is the expected number, by the model, of outcomes in a row that the candidate all
    but rules out. ``price`` (m, n) is the mean additional cost of such an outcome to the candidate (``bold_claims``).
    ``weights`` (n,) of the rows have a mean of 1, and ``units`` (n,) are their groups. ``simplicity`` of the candidates
    is least for the simplest; ``level`` is that of the paired tests. ``losses`` (n,) are the model's, where these are
    log losses. Where the rows are risks, ``risks`` (m, n) are those of the event after each candidate, NaN of one that
    could not be fitted. ``happened`` (n,) are then its outcomes.
    """

    gains: Float64s
    bold: Float64s
    price: Float64s
    weights: Float64s
    units: Codes
    simplicity: Sequence[tuple[float, ...]]
    level: float
    losses: Float64s | None = None
    risks: Float64s | None = None
    happened: Bools | None = None

    @property
    def every(self) -> Bools:
        """All rows."""
        return np.ones(self.gains.shape[1], dtype=bool)

    def totals(self, rows: Bools) -> Float64s:
        """Each candidate's whole gain in these rows, (m,)."""
        return np.asarray(self.gains[:, rows] @ self.weights[rows])

    def risk(self, rows: Bools) -> Float64s:
        """Cost of one outcome that a candidate all but rules out, (m,).

        It counts as often as the model expects, at most once in all these rows.
        """
        w = self.weights[rows]
        expected, cost = self.bold[:, rows] @ w, (self.bold[:, rows] * self.price[:, rows]) @ w
        return np.asarray(cost / np.maximum(expected, 1.0))

    def eligible(self, rows: Bools) -> Bools:
        """Mask of candidates that gain in these rows by more than twice the cost of one bold claim, (m,)."""
        totals = self.totals(rows)
        found = np.isfinite(totals) & (totals > 0) & (self.risk(rows) <= BOLD * totals)
        found[0] = False
        return np.asarray(found)

    def best(self, rows: Bools) -> int:
        """The eligible candidate of the largest gain; 0, the original model, where there is none."""
        return int(np.where(self.eligible(rows), self.totals(rows), 0.0).argmax())

    def equals(self, rows: Bools) -> list[int]:
        """Eligible candidates that do as well as the best.

        They have at least ``HALF`` of its gain, and the paired interval of the difference (Student's, of the sums of
        units) includes 0. Or they have ``MOST`` of it, which is all that matters. A candidate does not count where it
        is clearly worse by the remaining log loss (``CLEARLY`` and ``NATS``). A few rows can make most of the gain. Any
        map then has most of it, and their losses make the interval too wide to show differences. A map of an event's
        risk does not count either if its mean is significantly off where that of the best is not (``off_on_average``).
        A temperature pulls every risk towards 50 %, and so moves the mean of risks that are mostly small.
        """
        best, totals = self.best(rows), self.totals(rows)
        if not best:
            return []
        bias_counts = not self.off_on_average(best, rows)
        return [
            int(i)
            for i in np.flatnonzero(self.eligible(rows))
            if not self._clearly_worse(best, int(i), rows)
            and (
                totals[i] >= MOST * totals[best]
                or (totals[i] >= HALF * totals[best] and self._behind(best, int(i), rows) <= 0)
            )
            and not (bias_counts and self.off_on_average(int(i), rows))
        ]

    def off_on_average(self, which: int, rows: Bools) -> bool:
        """True where the mean risk after this candidate is significantly off the observed frequency in these rows.

        By the test of the mean gap (``GapSums.chance``); rows of a unit vary together. False without an event.
        """
        if self.risks is None or self.happened is None:
            return False
        w, risk = self.weights[rows], self.risks[which, rows]
        apart, total = self.happened[rows] - risk, float(w.sum())
        _, unit = np.unique(self.units[rows], return_inverse=True)
        sums = np.bincount(unit, weights=w * apart)
        around = np.bincount(unit, weights=w * (apart - float(w @ apart) / total))
        claimed = float(np.square(w) @ (risk * (1.0 - risk)))
        deviation = max(float(np.square(around).sum()), claimed) ** 0.5 / total
        mean, observed = float(w @ risk) / total, float(w @ self.happened[rows]) / total
        residual = float(np.square(sums).sum()) ** 0.5 / total
        return GapSums(total, mean, observed, deviation, float(w.max()) / total, residual).chance <= SIGNIFICANCE

    def _clearly_worse(self, best: int, other: int, rows: Bools) -> bool:
        if self.losses is None:
            return False
        w = self.weights[rows]
        behind = float(w @ (self.gains[best, rows] - self.gains[other, rows]))
        return behind > max(NATS, CLEARLY * float(w @ (self.losses[rows] - self.gains[best, rows])))

    def simplest(self, rows: Bools) -> int:
        """The simplest of the candidates that do as well as the best; 0 where none gains."""
        return min(self.equals(rows), key=lambda i: self.simplicity[i], default=0)

    def _behind(self, best: int, other: int, rows: Bools) -> float:
        """The lower end of what a unit loses with the other, in place of the best."""
        apart = self.weights[rows] * (self.gains[best, rows] - self.gains[other, rows])
        _, unit = np.unique(self.units[rows], return_inverse=True)
        sums = np.bincount(unit, weights=apart)
        if len(sums) < 2:
            return 0.0
        half = float(student.ppf((1 + self.level) / 2, len(sums) - 1)) * float(sums.std(ddof=1)) / len(sums) ** 0.5
        return float(sums.mean() - half)

    def shares(self, rows: Bools, worth: float) -> Float64s:
        """Weights of a mixture of all candidates by their likelihoods in these rows, (m,) (``blend_weights``).

        ``worth`` is the effective number of all rows.
        """
        return blend_weights(self.totals(rows) * (worth / self.gains.shape[1]))

    def evidence(self, fold: Codes, worth: float, rows: Bools | None = None) -> float:
        """Advantage in nats of a mixture of all candidates over the model, on folds that did not enter its weights.

        On fold f the mixture gives the outcome of row i the probability sum_m w_fm o_im, where o_im is that of
        candidate m. The weights w_fm are its ``shares`` in the other folds; nothing is fitted again. ``worth`` is the
        effective number of rows; only ``rows`` count, by default all. For a calibrated model the exponential of the
        result has a mean of about 1, so that it exceeds e^2 in at most 13.5 % of cases (Markov). In practice it does
        in far fewer, since mixing costs likelihood.

        What can mislead: that bound needs folds that were not dealt out by label. Such folds repeat the sampling error
        of the class frequencies that the maps were fitted to.
        """
        rows = self.every if rows is None else rows
        w, fold, units = self.weights[rows] * worth / len(self.weights), fold[rows], self.units[rows]
        gain = np.empty(len(w))
        for f in np.unique(fold):
            others = rows.copy()
            others[rows] = fold != f
            with np.errstate(divide="ignore"):  # a candidate that gave an outcome a probability of 0 has no weight
                log_shares = np.log(self.shares(others, worth))
            gain[fold == f] = np.logaddexp.reduce(log_shares[:, None] + self.gains[:, rows][:, fold == f], axis=0)
        sums = np.bincount(np.unique(units, return_inverse=True)[1], weights=w * (gain - gain.mean()))
        alone = float(np.square(w * (gain - gain.mean())).sum())
        # Rows of a unit that come out alike are evidence once, not as often as they are there.
        return float(w @ gain) / max(1.0, float(np.square(sums).sum()) / alone if alone > 0 else 1.0)


def bold_claims(before: Float64s, after: Float64s, least: float) -> tuple[Float64s, Float64s]:
    """Expected number of outcomes in a row that are all but ruled out, and their mean cost; (n,) each.

    ``before`` and ``after`` (n, K) are the model's probabilities p and a candidate's q. In each row the classes with q
    < p and q < ``least``, 1 over the number of rows, count. They are too rare for these rows to show. The first is the
    sum of p over them, the second the mean of log(p / q), weighted by p.

    >>> bold_claims(np.array([[0.95, 0.05]]), np.array([[0.9999, 0.0001]]), 1 / 100)[0].round(2).tolist()
    [0.05]
    """
    ruled_out = (after < least) & (after < before)
    chance = np.where(ruled_out, before, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = np.where(ruled_out, before * np.log(before / np.maximum(after, 1e-300)), 0.0)
    expected = chance.sum(axis=1)
    return expected, np.divide(cost.sum(axis=1), expected, out=np.zeros(len(expected)), where=expected > 0)
