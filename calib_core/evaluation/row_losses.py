"""Losses of rows by which a calibrator is chosen: proper scores, and costs of decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib_core._base.arrays import Float64s
from calib_core.estimators.base import ESTIMATORS, as_estimator
from calib_core.evaluation.decisions import cost_matrix, decisions, least_cost
from calib_core.predictions import proper_scores
from calib_core.predictions.predictions import Predictions
from calib_core.text import inside

COST, CONFIDENCE = "cost", "confidence"
PROPER = ("log-loss", "brier")
"""Keys of proper scores of whole rows."""
SCORES = (*PROPER, CONFIDENCE, COST)
"""Keys of all losses."""
TITLES = {CONFIDENCE: "Log loss of the confidence", COST: "Decision cost"}
"""Titles of those that are no estimators."""


@dataclass(frozen=True, eq=False)
class RowLoss:
    """Loss of a row, by its probabilities and its true class.

    ``of_rows`` returns that of each row (n,), which can be infinite. ``of_labels`` returns what each label would cost,
    (n, K), for probabilities (n, K). ``unbounded``: whether a probability of 0 costs infinitely much.
    """

    key: str
    of_rows: Callable[[Predictions], Float64s]
    of_labels: Callable[[Float64s], Float64s]
    unbounded: bool = False

    @classmethod
    def of(cls, key: str, costs: ArrayLike | str = "", n_classes: int = 2, near: float = 0.0) -> RowLoss:
        """Return the loss of this key; ``costs`` as for ``decisions.cost_matrix``, ``near`` as for ``least_cost``."""
        if key == COST:
            table = cost_matrix(costs, n_classes)
            return cls(
                key,
                lambda rows: table[decisions(rows, costs), rows.true_labels],
                lambda probs: table[least_cost(probs, table, near)[0]],
            )
        score: Any = as_estimator("brier" if key == "brier" else "log-loss")
        if key == "brier":
            return cls(key, proper_scores.brier_scores, score.label_losses)
        return cls(key, _log_losses, score.label_losses, unbounded=True)


def name_of_score(key: str) -> str:
    """Title of a loss, for the inside of a sentence.

    >>> name_of_score("log-loss"), name_of_score("brier"), name_of_score("cost")
    ('log loss', 'Brier score', 'decision cost')
    """
    return inside(TITLES.get(key) or ESTIMATORS[key].title)


def _log_losses(rows: Predictions) -> Float64s:
    """Minus the log probability of what happened, (n,): infinite where that is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(proper_scores.label_probs(rows)))
