"""Binned errors less the contribution of noise (P2 Def. 5.2 and G.3)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from scipy.special import erf

from calib_core._base.arrays import Float64s
from calib_core.binning.base import BinningScheme, IntervalScheme, of_interval
from calib_core.binning.bin_table import BinTable, tabulate
from calib_core.binning.interval_schemes import EqualWidth
from calib_core.binning.simplex.cell_table import SimplexTable, simplex_table
from calib_core.claims.binary_claims import Claims
from calib_core.claims.probability_vectors import Vectors
from calib_core.estimators.base import ESTIMATORS, ErrorScale, Estimated, Traits, by_stratum
from calib_core.estimators.binned import debiased
from calib_core.predictions.validation import whole
from calib_core.registry.registry import Flag, Part

_MORE_THAN_ONE = 1 + 1e-9
"""A bin with an effective sample size of 1 has no variance; weights can make that 1 plus a rounding error."""


@ESTIMATORS.register(
    "debiased-l2",
    "Debiased squared error",
    reference="P2 Def. 5.2",
    flags=Traits(
        takes=("claims", "vectors"),
        judged="bins",
        scale=lambda estimator: ErrorScale(2, squared=not estimator.root),
        counts="unweighted",
    ),
    elsewhere=(
        "uncertainty-calibration's unbiased_square_ce; its get_calibration_error shows the root, clipped at 0, and "
        "clips class by class before averaging. The paper prints y(1 - y)^2, its derivation and code have y(1 - y)."
    ),
    formula=(
        r"\sum_l w_l \sum_b \frac{n_{lb}}{n_l}\Bigl[\bigl(\bar s_{lb} - \bar z_{lb}\bigr)^2"
        r" - \frac{\bar z_{lb}\,(1 - \bar z_{lb})}{n_{lb} - 1}\Bigr]"
    ),
)
@dataclass(frozen=True)
class DebiasedL2:
    """Squared calibration error minus the contribution of noise in the bins' outcomes.

    sum_b n_b/n [(s_b - z_b)^2 - z_b (1 - z_b) / (n_b - 1)] in each stratum, for bin b of n_b rows with mean score s_b
    and mean outcome z_b. The subtracted z_b (1 - z_b) / (n_b - 1) is the unbiased estimate of the variance of z_b. A
    bin of one row keeps its squared difference and has no correction: one row does not show its noise. (P2 prints z
    (1 - z)^2; its derivation in Lemma F.8 and its code have z (1 - z). The code drops bins of one row.)

    The squared error is reported, from -1 to 1: an unbiased estimate of a small square is negative now and then, and
    averages of estimates need those. ``root`` shows the root instead, of the aggregate and of each stratum, negative
    ones as 0. It is on the scale of the RMSCE and biased upward. What can mislead: the target is the error of the
    binned model, which is below that of the model itself. With equal-width bins most bins can contain single rows.

    Weights: whole ones are copies of rows, n_b their sum; others state importance, and n_b = (sum w)^2 / sum w^2,
    which keeps the correction unbiased.

    In the canonical notion, on a partition of the simplex with frequencies f_b and mean predictions h_b, it is the same
    summed over the classes l: sum_b n_b/n [||f_b - h_b||_2^2 - sum_l f_bl (1 - f_bl) / (n_b - 1)], from -1 to 2.

    References: P2 Def. 5.2, Lemma F.8, after Broecker 2012 and Ferro & Fricker 2012.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> claims = Confidence().split(Predictions.from_confidence([0.5] * 4, [True, True, True, False]))
    >>> round(DebiasedL2(EqualWidth(10))(claims).value, 4)  # 0.25^2 - (3/4)(1/4)/3 = 0
    0.0
    """

    binning: Annotated[BinningScheme, Part("BINNINGS"), "Bins", "where the bins lie"] = field(
        default_factory=EqualWidth
    )
    root: Annotated[bool, Flag(), "Show the root", "show the root of the squared error, negative ones as 0"] = False

    def __call__(self, claims: Claims) -> Estimated:
        table = tabulate(claims, [self.binning])[0]
        return self._of(table, worth(claims, table))

    def of_table(self, table: BinTable) -> Estimated:
        """The estimate of claims of weight 1 already counted into bins."""
        return self._of(table, table.count)

    def _of(self, table: BinTable, rows: Float64s) -> Estimated:
        squared = _over_bins(table, self._terms(table, rows))
        if not self.root:
            return squared
        per = np.sqrt(np.maximum(squared.per_stratum, 0.0))
        return Estimated(max(squared.value, 0.0) ** 0.5, per, table)

    def of_vectors(self, vectors: Vectors) -> Estimated:
        """The canonical estimate, in cells of the simplex."""
        table = simplex_table(vectors, self.binning)
        value = self.of_labels(table, table.outcome[None])
        return Estimated(float(value[0]), value, cells=table)

    def of_labels(self, table: SimplexTable, outcomes: Float64s) -> Float64s:
        """Canonical values (replicates,) for outcome sums (replicates, B, K) in place of the table's own."""
        squared = debiased(table, outcomes)
        return np.sqrt(np.maximum(squared, 0.0)) if self.root else squared

    def of_outcomes(self, table: BinTable, outcomes: Float64s) -> Float64s:
        """The values (replicates,) for outcome sums (replicates, strata, bins) in place of the table's own."""
        return self.of_sums(replace(table, tally=replace(table.tally, outcome=outcomes)), table.shares)

    def of_sums(self, table: BinTable, shares: Float64s) -> Float64s:
        """Values (replicates,) of a table of sums (replicates, strata, bins), with shares (strata,) or per replicate.

        Rows count by their weights: whole ones only.
        """
        terms = np.nan_to_num(self._terms(table, table.count)) * table.count
        rows = table.count.sum(axis=-1)
        per = np.divide(terms.sum(axis=-1), rows, out=np.zeros(terms.shape[:-1]), where=rows > 0)
        values = np.asarray((per * shares).sum(axis=-1))
        return np.sqrt(np.maximum(values, 0.0)) if self.root else values

    @staticmethod
    def _terms(table: BinTable, rows: Float64s) -> Float64s:
        outcome = table.mean_outcome
        spread = outcome * (1 - outcome)
        correction = np.divide(spread, rows - 1, out=np.zeros(spread.shape), where=rows > _MORE_THAN_ONE)
        return np.asarray(np.square(table.gap) - correction)


@ESTIMATORS.register(
    "debiased-ece",
    "Debiased ECE",
    reference="P2 Def. G.3",
    flags=Traits(judged="bins", counts="unweighted"),
    elsewhere=(
        "uncertainty-calibration's get_ece(debias=True), which simulates the expectation computed here in closed form."
    ),
    formula=(
        r"\sum_l w_l \sum_b \frac{n_{lb}}{n_l}\Bigl[2\,\bigl|\bar s_{lb} - \bar z_{lb}\bigr|"
        r" - \mathbb{E}\,\bigl|\bar s_{lb} - R_{lb}\bigr|\Bigr],"
        r"\quad R_{lb} \sim \mathcal{N}\Bigl(\bar z_{lb},\,\frac{\bar z_{lb}\,(1 - \bar z_{lb})}{n_{lb}}\Bigr)"
    ),
)
@dataclass(frozen=True)
class DebiasedECE:
    """ECE minus the contribution of noise in the bins' outcomes, by a normal approximation.

    2 P - E, with P = sum_b n_b/n |s_b - z_b| the ECE of a stratum and E = sum_b n_b/n E|s_b - R_b|, R_b ~ N(z_b, z_b
    (1 - z_b) / n_b). Drawing outcomes around the observed ones adds about as much as drawing them around the truth did.
    E|N(m, v^2)| = v sqrt(2/pi) exp(-m^2 / 2v^2) + m erf(m / (v sqrt 2)) needs no simulation. From -1 to 1, never above
    the ECE, negative now and then. What can mislead: it subtracts only part of the bias if the model is nearly
    calibrated. A bin of one row, or whose outcomes all agree, has no correction.

    Weights: as for the debiased squared error.

    References: P2 Def. G.3.

    >>> from calib_core.predictions.predictions import Predictions
    >>> from calib_core.reductions import Confidence
    >>> claims = Confidence().split(Predictions.from_confidence([0.5] * 4, [True, True, False, False]))
    >>> round(DebiasedECE(EqualWidth(10))(claims).value, 4)  # 0 - 0.25 sqrt(2 / pi)
    -0.1995
    """

    binning: Annotated[IntervalScheme, Part("BINNINGS", of_interval), "Bins", "where the bins lie"] = field(
        default_factory=EqualWidth
    )

    def __call__(self, claims: Claims) -> Estimated:
        table = tabulate(claims, [self.binning])[0]
        return _over_bins(table, self._terms(table, worth(claims, table)))

    def of_table(self, table: BinTable) -> Estimated:
        """The estimate of claims of weight 1 already counted into bins."""
        return _over_bins(table, self._terms(table, table.count))

    def of_outcomes(self, table: BinTable, outcomes: Float64s) -> Float64s:
        """The values (replicates,) for outcome sums (replicates, strata, bins) in place of the table's own."""
        many = replace(table, tally=replace(table.tally, outcome=outcomes))
        terms = self._terms(many, table.count)
        return np.asarray((np.nan_to_num(terms) * table.weight).sum(axis=(1, 2)))

    @staticmethod
    def _terms(table: BinTable, rows: Float64s) -> Float64s:
        gap, outcome = table.gap, table.mean_outcome
        variance = np.maximum(outcome * (1 - outcome), 0.0)
        noise = np.sqrt(np.divide(variance, rows, out=np.zeros(outcome.shape), where=rows > 0))
        return 2 * np.abs(gap) - folded(gap, noise)


def folded(mean: Float64s, deviation: Float64s) -> Float64s:
    """E|R| for R ~ N(mean, deviation^2), |mean| where the deviation is 0.

    >>> folded(np.array([0.3, 0.0]), np.array([0.0, 1.0])).round(4).tolist()
    [0.3, 0.7979]
    """
    ratio = np.divide(mean, deviation, out=np.full(mean.shape, np.inf), where=deviation > 0)
    bulk = deviation * np.sqrt(2 / np.pi) * np.exp(-np.square(ratio) / 2)
    return np.asarray(bulk + np.abs(mean) * erf(np.abs(ratio) / np.sqrt(2)))


def worth(claims: Claims, table: BinTable) -> Float64s:
    """Effective sample size of each bin, shape (strata, bins).

    Whole weights are copies, so the bin's count; others count (sum w)^2 / sum w^2 (Kish 1965).
    """
    if whole(claims.weights):
        return table.count
    squares = table.together(table.moments(claims)).squares
    assert squares is not None
    return np.divide(np.square(table.count), squares, out=np.zeros(squares.shape), where=squares > 0)


def _over_bins(table: BinTable, terms: Float64s) -> Estimated:
    """The mean of the bins' terms by rows within strata, by shares over them."""
    per = (table.within * np.nan_to_num(terms)).sum(axis=1)
    estimated = by_stratum(table, np.where(table.count.sum(axis=1) > 0, per, np.nan))
    return Estimated(estimated.value, estimated.per_stratum, table)
