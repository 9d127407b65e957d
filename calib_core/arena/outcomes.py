"""Outcome of one method in one experiment: scores on the test rows, seconds, and whether the change exceeds noise."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.parallel import one_blas_thread
from calib_core._base.sklearn_api import clone
from calib_core.arena.contenders import Contender
from calib_core.arena.experiment_files import ArenaExperiment
from calib_core.calibrators.base import Calibrator
from calib_core.predictions import proper_scores
from calib_core.predictions.predictions import NotAnswerable, Predictions

NAN = float("nan")


@dataclass(frozen=True)
class Outcome:
    """Scores of a method on the test rows of an experiment.

    ``log_loss`` in nats and ``brier`` (summed over the classes, 0 to 2) are means over rows. ``log_loss_error`` is the
    standard error of the mean difference of log losses to no calibration, in pairs of rows. ``recipe`` is what was
    fitted, as JSON. ``reason`` is empty, or says why there are no numbers.
    """

    brier: float = NAN
    log_loss: float = NAN
    accuracy: float = NAN
    log_loss_error: float = NAN
    fit_seconds: float = NAN
    apply_seconds: float = NAN
    recipe: str = ""
    reason: str = ""


def outcome(contender: Contender, experiment: ArenaExperiment) -> Outcome:
    """Fit a method on the calibration rows, apply it to the test rows, and score it there.

    A failure of the method, of any kind, becomes the outcome's reason: a long run does not stop at one method.

    Log losses have the floor of 2^-52 of the whole package: a probability of 0 for what happened costs 36 nats.

    >>> from calib_core.arena.contenders import as_contenders
    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8]] * 20, [0, 1] * 20)
    >>> found = outcome(as_contenders(["identity"])[0], ArenaExperiment("a", "b", p, p))
    >>> round(found.log_loss, 4), round(found.brier, 3), found.accuracy, found.log_loss_error
    (0.1643, 0.05, 1.0, 0.0)
    """
    test = experiment.test
    try:
        with one_blas_thread():
            start = time.perf_counter()
            recipe = contender.recipe_for(experiment.calibration)
            calibrator: Calibrator = clone(recipe.build())
            calibrator.fit_on(experiment.calibration)
            fitted = time.perf_counter()
            after = calibrator.apply(test)
            applied = time.perf_counter()
        if after.kind != "full" or after.abstained is not None:
            raise NotAnswerable("it does not return all class probabilities of every row")
        losses = proper_scores.log_losses(after)
        change = losses - proper_scores.log_losses(test)
        return Outcome(
            proper_scores.mean(proper_scores.brier_scores(after), test),
            proper_scores.mean(losses, test),
            proper_scores.mean(after.correct.astype(np.float64), test),
            standard_error(change, test),
            fitted - start,
            applied - fitted,
            recipe.to_json(),
        )
    except MemoryError:
        raise  # of the machine, not of the method
    except Exception as why:
        sentence = str(why) if isinstance(why, NotAnswerable) else f"{type(why).__name__}: {why}"
        return Outcome(reason=" ".join(sentence.split()))


def standard_error(values: Float64s, rows: Predictions) -> float:
    """Standard error of the weighted mean of ``values`` (n,) over rows or, if there are any, over groups of rows.

    u_g is the sum of w_i (x_i - mean) over the rows of group g; without groups, every row is one. The standard error
    is sqrt(G / (G - 1) sum_g u_g^2) / sum_i w_i. NaN with fewer than two groups.

    >>> standard_error(np.array([0.0, 2.0]), Predictions([[0.9, 0.1], [0.2, 0.8]], [0, 1]))
    1.0
    """
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights.astype(np.float64)
    apart = weights * (values - np.average(values, weights=weights))
    sums = apart if rows.row_groups is None else np.bincount(rows.row_groups.codes, apart)
    n = len(sums)
    return math.sqrt(n / (n - 1) * float(sums @ sums)) / float(weights.sum()) if n > 1 else NAN
