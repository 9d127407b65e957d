"""Beta calibration."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from calib_core._base.arrays import Bools, Float64s
from calib_core.calibrators.base import BINARY_CALIBRATORS
from calib_core.calibrators.fitting.logistic import fit_increasing
from calib_core.calibrators.insides import Insides, Number
from calib_core.calibrators.scaling_map import SMOOTH, Prior, ScalingMap
from calib_core.calibrators.score_maps import LogOddsMap, Map


@BINARY_CALIBRATORS.register("beta", "Beta calibration", reference="Kull et al. 2017", flags=replace(SMOOTH, numbers=3))
@dataclass(eq=False, repr=False)
class Beta(ScalingMap):
    """A logit map with one slope for scores near 0 and another near 1: right where scores of each class are beta.

    g(s) = sigmoid(a log s - b log(1 - s) + c), a and b in [0, 1000] and c minimising the log loss of the calibration
    rows. a = b is Platt scaling, a = b = 1 with c = 0 the identity: on these rows it is never worse than either.
    The constraints are kept by constrained optimisation: the published code drops the feature whose slope came out
    negative and refits, which gives the same where one constraint binds and can differ where dropping one turns the
    other.

    ``prior`` = m pseudo-rows, off by default, adds m / 8 ((a - 1)^2 / 2 + (b - 1)^2 / 2 + d^2) to the summed log loss,
    d the map's log-odds less the score's at the mean of log s and log(1 - s) weighted by s (1 - s): where a = b it is
    the prior of Platt scaling. 4 pseudo-rows did best in simulation with 50 to 300 rows.

    ``a_``, ``b_`` and ``c_`` are the parameters. ``status_`` is "converged"; "constrained" when a or b is 0; "at
    bound" when scores separate the outcomes or all outcomes agree; "not identified" when there are fewer than three
    distinct scores, which cannot tell a from b (both are then Platt's slope); with a prior the first two alone occur.
    What can mislead: with a = 0 a score of exactly 0 is no longer sent to 0, and likewise with b = 0 at 1.

    References: Kull, Silva Filho & Flach 2017, §3-4 (three parameters, with c for their log m).

    >>> [Beta(prior=m).fit([0.9] * 10, [1] * 10).transform([0.9]).round(3).tolist() for m in (0, 4)]
    [[1.0], [0.942]]
    >>> g = Beta().fit([0.1] * 4 + [0.5] * 4 + [0.9] * 4, [0, 0, 0, 1] + [0, 0, 1, 1] + [1, 1, 1, 0])
    >>> g.transform([0.1, 0.5, 0.9]).round(6).tolist()
    [0.25, 0.5, 0.75]
    """

    prior: Prior = 0.0

    def insides(self) -> Insides:
        return Insides(
            f"slopes {self.a_:.3g} and {self.b_:.3g}, shift {self.c_:.3g}",
            "The log-odds of a score are stretched by one slope near 0 and by another near 1, and shifted.",
            lambda: [
                Number("slope near 0", self.a_),
                Number("slope near 1", self.b_),
                Number("shift", float(self.c_)),
            ],
            unit="curve",
        )

    def _fit_logs(self, yes: Float64s, no: Float64s, outcomes: Bools, weights: Float64s | None) -> None:
        odds = yes - no
        few = self.prior == 0 and bool(((odds == odds.min()) | (odds == odds.max())).all())
        fitted = fit_increasing(odds[None, :] if few else np.stack([yes, -no]), outcomes, weights, self.prior)
        self.a_, self.b_ = float(fitted.slopes[0]), float(fitted.slopes[-1])
        self.c_ = fitted.intercept
        self.status_ = "not identified" if few and fitted.status == "converged" else fitted.status

    def score_map(self) -> Map:
        return LogOddsMap(float(self.a_), float(self.b_), float(self.c_))

    def _map_logs(self, yes: Float64s, no: Float64s) -> Float64s:
        return expit(self.a_ * yes - self.b_ * no + self.c_)
