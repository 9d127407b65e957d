"""Mean squared error against calibration error, over numbers of bins (P2 Fig. 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.distributions import norm
from calib_core.binning.base import BinningScheme
from calib_core.binning.interval_schemes import Distinct
from calib_core.calibrators.base import BINARY_CALIBRATORS
from calib_core.calibrators.reduced import Reduced
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators.base import Estimator, Question, estimate
from calib_core.estimators.binned import Binned
from calib_core.estimators.debiased import DebiasedL2
from calib_core.estimators.score_estimators import Brier
from calib_core.inference.intervals.row_bootstrap import bootstrap
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.reductions.base import Reduction, as_reduction

BINS = (2, 5, 10, 15, 20, 30, 50, 75, 100)
RESAMPLES = 100
"""Resamples whose spread a plug-in bound adds, as P2 has it."""
_UNASKED = (np.nan, np.nan)


@dataclass(frozen=True, eq=False, repr=False)
class TradeOff(Diagram):
    """A line per calibrator; arrays are (calibrators, numbers of bins), means over the repeats, NaN where none fits.

    ``error`` is the debiased squared calibration error of the recalibrated claims, each distinct output a bin of its
    own. ``mse`` is their mean squared error. ``error_deviation`` and ``mse_deviation`` are the standard deviations over
    the repeats. ``upper`` is the upper end of the error's interval at ``LEVEL``. ``plug_in`` is the bound of the
    plug-in error (``plug_in_bound``). Both are NaN where they were not requested. ``base_mse`` is the mean squared
    error of the claims before recalibration. ``fit_rows`` is the number of rows that each calibrator was fitted on.
    """

    keys: tuple[str, ...]
    titles: tuple[str, ...]
    bins: tuple[int, ...]
    error: Float64s
    mse: Float64s
    error_deviation: Float64s
    mse_deviation: Float64s
    base_mse: float
    fit_rows: int
    repeats: int
    upper: Float64s
    plug_in: Float64s

    def frame(self) -> pd.DataFrame:
        """One line per point, exactly the numbers drawn."""
        names = ("error", "mse", "error_deviation", "mse_deviation", *_known(self.upper))
        return pd.DataFrame(
            {
                "calibrator": np.repeat(np.asarray(self.keys, dtype=object), len(self.bins)),
                "bins": np.tile(self.bins, len(self.keys)),
                **{name: getattr(self, name).ravel() for name in names},
            }
        )


@dataclass(frozen=True, eq=False, repr=False)
class TradePoints(Diagram):
    """A point per model: squared calibration error (debiased) and mean squared error of its claims; NaN where none.

    ``upper`` is the upper end of the error's interval at ``LEVEL``, and ``plug_in`` the bound of the plug-in error
    (``plug_in_bound``). Both are NaN where they were not requested.
    """

    formula: ClassVar[str] = (
        r"\overline{(s - z)^2} \;\text{ against }\; \sum_b \frac{n_b}{n}\Bigl[(\bar s_b - \bar z_b)^2"
        r" - \frac{\bar z_b (1 - \bar z_b)}{n_b - 1}\Bigr]"
    )

    models: tuple[str, ...]
    error: Float64s
    mse: Float64s
    notes: tuple[str, ...]
    upper: Float64s
    plug_in: Float64s

    @property
    def points(self) -> dict[str, tuple[float, float]]:
        """(error, mse) of the models that have them, by name."""
        return self.beside("error")

    def beside(self, against: str) -> dict[str, tuple[float, float]]:
        """("error", "upper" or "plug_in", mse) of the models that have them, by name."""
        found = zip(self.models, getattr(self, against).tolist(), self.mse.tolist(), strict=True)
        return {model: (error, mse) for model, error, mse in found if error == error}

    def frame(self) -> pd.DataFrame:
        """One line per model, exactly the numbers drawn and why a model has none."""
        ends = {name: getattr(self, name) for name in _known(self.upper)}
        return pd.DataFrame({"model": self.models, "error": self.error, "mse": self.mse, **ends, "note": self.notes})


def _known(upper: Float64s) -> tuple[str, ...]:
    """The columns of bounds, if requested."""
    return () if np.isnan(upper).all() else ("upper", "plug_in")


def plug_in_bound(predictions: Predictions, reduction: Reduction, binning: BinningScheme) -> float:
    """Upper bound of a squared calibration error: its plug-in estimate plus a margin for noise.

    T + z sd(T*), at least 0. T is the squared error in these bins without a correction for noise, and T* are its values
    on ``RESAMPLES`` resamples of the rows. The normal quantile of (1 + ``LEVEL``)/2 is z. What can mislead: the noise
    of every bin inflates T, so that many bins look worse than they are. The bound is conservative, and far from tight.

    References: P2 App. G.2, Fig. 17 (the plug-in estimator's bound).

    >>> from calib_core.reductions import Confidence
    >>> half = Predictions.from_confidence([0.5] * 400, [True, False] * 200)
    >>> 0 < plug_in_bound(half, Confidence(), Distinct()) < 0.01
    True
    """
    question = estimate(predictions, reduction, Binned(binning, order=2)).question
    assert question is not None
    squares = np.square(bootstrap(question, RESAMPLES))
    value = question.answer(question.predictions).value ** 2
    return float(value + norm.isf((1 - LEVEL) / 2) * squares.std(ddof=1))


def trade_points(
    models: Mapping[str, Predictions],
    reduction: str | Reduction = "class-wise",
    bins: int | str | BinningScheme | None = None,
    upper: bool = False,
) -> TradePoints:
    """Squared calibration error (debiased, in ``bins``) and mean squared error of every model's claims in one notion.

    Further left is better calibrated, further down is better all in all. A model that makes no such claims is NaN and
    its note is the reason; NotAnswerable where none does. With ``upper`` come the upper end of the error's interval and
    the plug-in bound too. What can mislead: the debiased error can be below 0, and depends on the bins. Models that
    answer different rows are not comparable. The smallest upper end of many models is no valid bound for its own model.

    References: P2 §2.1, §4 and Fig. 17.

    >>> p = Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    >>> trade_points({"one": p}, "confidence").frame()["mse"].tolist()  # 0.75 * 0.25
    [0.1875]
    """
    found = np.full((len(models), 4), np.nan)
    notion = as_reduction(reduction)
    notes: list[str] = []
    for line, predictions in zip(found, models.values(), strict=True):
        try:
            error = estimate(predictions, reduction, "debiased-l2", bins)
            scheme = error.recipe[1].build().binning
            bounds = (error.interval(LEVEL).high, plug_in_bound(predictions, notion, scheme)) if upper else _UNASKED
            line[:] = error.value, estimate(predictions, reduction, "brier").value, *bounds
            notes.append("")
        except NotAnswerable as why:
            notes.append(str(why))
    if all(notes):
        raise NotAnswerable("; ".join(dict.fromkeys(notes)) or "there is no model to show")
    errors, mse, highs, plug_in = found.T.copy()
    return TradePoints(tuple(models), errors, mse, tuple(notes), highs, plug_in)


def binning_calibrators() -> tuple[str, ...]:
    """Keys of the binary calibrators whose number of bins can be chosen.

    >>> {"histogram", "scaling-binning"} <= set(binning_calibrators())
    True
    """
    return tuple(key for key in BINARY_CALIBRATORS if BINARY_CALIBRATORS[key].flags.bins)


def trade_off(
    predictions: Predictions,
    calibrators: Sequence[str] | None = None,
    reduction: str | Reduction = "class-wise",
    bins: Sequence[int] = BINS,
    share: float = 0.5,
    repeats: int = 10,
    random_state: int = SEED,
    progress: Callable[[int], object] | None = None,
    upper: bool = False,
) -> TradeOff:
    """Mean squared error against calibration error as bins grow in number, for calibrators that bin.

    ``repeats`` times, a ``share`` of the rows (drawn at random) fits each of the binary ``calibrators`` (default: all
    that have a number of bins). It is fitted in every stratum of the notion, once for each number of bins; the other
    rows judge it. More bins separate claims better (lower mean squared error) until their estimates are mostly noise
    (higher calibration error). A curve further to the lower left is better at any budget of calibration error. With
    ``upper`` come the upper ends of the errors' intervals and the plug-in bounds, means over the repeats. What can
    mislead: the splits share rows, so deviations over them are smaller than for new data. The debiased error can be
    below 0. Class-wise numbers are means over the classes, where P2 takes half of their sum. Ties can leave fewer bins
    than requested. ``progress`` receives percent.

    References: P2 §2.1, §4, Fig. 3 and Fig. 17.

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]] * 200, [0, 0, 0, 1] * 100)
    >>> curves = trade_off(p, ["histogram"], "confidence", bins=[1, 2], repeats=2)
    >>> curves.mse.round(2).tolist()  # one bin: 0.75 * 0.25; two: (0 + 0.5 * 0.5) / 2
    [[0.19, 0.13]]
    """
    keys = binning_calibrators() if calibrators is None else tuple(calibrators)
    if repeats < 1 or not bins or not keys:
        raise InputError(
            f"{repeats} repeats of {len(keys)} calibrators with {len(bins)} numbers of bins; at least 1 each"
        )
    notion = as_reduction(reduction)
    found = np.empty((repeats, len(keys), len(bins), 4))
    base = np.empty(repeats)
    for r in range(repeats):
        fit, test = predictions.split(share, random_state=random_state + r)
        base[r] = _value(test, notion, Brier())
        for k, key in enumerate(keys):
            found[r, k] = [_judged(fit, test, notion, key, b, upper) for b in bins]
            if progress is not None:
                progress(100 * (r * len(keys) + k + 1) // (repeats * len(keys)))
    means, deviations = found.mean(axis=0), found.std(axis=0)
    titles = tuple(BINARY_CALIBRATORS[key].title for key in keys)
    return TradeOff(
        keys,
        titles,
        tuple(int(b) for b in bins),
        means[:, :, 0],
        means[:, :, 1],
        deviations[:, :, 0],
        deviations[:, :, 1],
        float(base.mean()),
        fit.n_rows,
        repeats,
        means[:, :, 2],
        means[:, :, 3],
    )


def _judged(
    fit: Predictions, test: Predictions, notion: Reduction, key: str, bins: int, upper: bool
) -> tuple[float, float, float, float]:
    """Debiased squared calibration error and mean squared error of the test rows' claims after recalibration.

    And the upper end of the error's interval and the plug-in bound, on request.
    """
    binary = BINARY_CALIBRATORS[key]
    calibrated = Reduced(notion, binary.make(**{binary.flags.bins: bins})).fit_on(fit).apply(test)
    error = estimate(calibrated, notion, DebiasedL2(Distinct()))
    bounds = (error.interval(LEVEL).high, plug_in_bound(calibrated, notion, Distinct())) if upper else _UNASKED
    return error.value, _value(calibrated, notion, Brier()), *bounds


def _value(predictions: Predictions, notion: Reduction, estimator: Estimator) -> float:
    return Question(predictions, notion, estimator).answer(predictions).value
