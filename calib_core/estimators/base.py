"""What an estimator is, their registry, and ``estimate``: predictions in, a number with its parts out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from calib_core._arrays import Float64s
from calib_core.binning import BinningScheme, BinTable, as_binning
from calib_core.claims import Claims
from calib_core.predictions import Predictions
from calib_core.reductions import REDUCTIONS, Reduction, as_reduction
from calib_core.registry import Recipe, Registry, RegistryError


@dataclass(frozen=True, eq=False)
class Estimated:
    """What an estimator makes of claims: the value, each stratum's own value, and the bins behind it."""

    value: float
    per_stratum: Float64s
    bins: BinTable | None = None


class Estimator(Protocol):
    """Parameters only; called with claims."""

    def __call__(self, claims: Claims) -> Estimated:
        """The estimate over all strata, and its parts."""


ESTIMATORS: Registry[Estimator] = Registry("ESTIMATORS")


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number together with what it is an estimate of and what it is made of.

    ``value`` in [0, 1] for calibration errors; ``strata`` and ``per_stratum`` the strata's own values (NaN for
    strata without claims) with aggregate weights ``shares``; ``recipe`` the (reduction, estimator) that made it.
    """

    value: float
    strata: tuple[str, ...]
    per_stratum: Float64s
    shares: Float64s
    bins: BinTable | None
    recipe: tuple[Recipe | None, Recipe]

    @property
    def table(self) -> pd.DataFrame:
        """One line per non-empty bin where the estimator bins, else one per stratum."""
        if self.bins is not None:
            return self.bins.frame()
        return pd.DataFrame(
            {"stratum": np.asarray(self.strata, dtype=object), "value": self.per_stratum, "weight": self.shares}
        )

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        reduction, estimator = self.recipe
        notion = "" if reduction is None else f"{reduction.title} "
        return f"Estimate({notion}{estimator.title}: {self.value:.4f})"


def as_estimator(estimator: str | Estimator, bins: int | str | BinningScheme | None = None) -> Estimator:
    """An estimator given by key or as it is; ``bins`` sets the binning of one given by key."""
    if not isinstance(estimator, str):
        if bins is not None:
            raise RegistryError("bins goes with an estimator given by key; this one has its own binning")
        return estimator
    return ESTIMATORS.make(estimator, **({} if bins is None else {"binning": as_binning(bins)}))


def estimate(
    predictions: Predictions,
    reduction: str | Reduction | None = "confidence",
    estimator: str | Estimator = "ece",
    bins: int | str | BinningScheme | None = None,
) -> Estimate:
    """How far these predictions are from calibrated, in one notion, by one estimator.

    Parameters
    ----------
    predictions : what the classifier said and what was true.
    reduction : key of REDUCTIONS or a reduction; None scores the whole prediction (log loss, Brier, accuracy).
    estimator : key of ESTIMATORS or an estimator.
    bins : number of equal-width bins, key of BINNINGS or a scheme, for binned estimators given by key.

    >>> p = Predictions([[0.6, 0.4], [0.6, 0.4], [0.3, 0.7]], [0, 1, 1])
    >>> round(estimate(p, "confidence", "ece", bins=10).value, 3)
    0.167
    """
    method: Any = as_estimator(estimator, bins)
    if reduction is None:
        if not hasattr(method, "of"):
            raise RegistryError(f"{ESTIMATORS.recipe(method).title} needs a notion: give reduction=")
        return Estimate(method.of(predictions), (), np.empty(0), np.empty(0), None, (None, ESTIMATORS.recipe(method)))
    notion = as_reduction(reduction)
    claims = notion.split(predictions)
    made = method(claims)
    recipe = (REDUCTIONS.recipe(notion), ESTIMATORS.recipe(method))
    return Estimate(made.value, claims.strata, made.per_stratum, claims.shares, made.bins, recipe)


def by_stratum(claims: Claims, values: Sequence[float] | Float64s) -> Estimated:
    """The share-weighted mean of the strata's values; strata without claims have NaN and no share."""
    per = np.asarray(values, dtype=np.float64)
    known = ~np.isnan(per)
    return Estimated(float((claims.shares[known] * per[known]).sum()), per)
