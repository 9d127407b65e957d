"""The error that estimates are compared with: of the law itself, or of a sample so large that its noise is told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from calib_core._repr import OneLine
from calib_core.binning import Distinct, PointsPerBin
from calib_core.datasets import Synthetic
from calib_core.estimators import Binned, Estimator, as_estimator
from calib_core.estimators.base import Question, error_scale, traits
from calib_core.lab.truths import Truth, as_truth, kind_of
from calib_core.predictions import NotAnswerable, Predictions
from calib_core.reductions import Reduction, as_reduction, scope
from calib_core.registry import Recipe

PROBABILITIES = 2**21
"""Rows times classes squared of a sample that stands for a law."""
MOST_SAMPLED = 2**19
FINEST_ROWS = 500
"""Least rows a bin of it."""
FINEST = PointsPerBin(FINEST_ROWS)
"""Stands for bins of a sample as fine as its rows allow (``_finest``)."""
BATCHES = 8
JOINED = 9
"""Digits to which scores that stand for one are the same."""
LEAST = 1e-12


@dataclass(frozen=True, repr=False)
class TrueError(OneLine):
    """A true error, and the standard error it has from simulation: 0 where the law itself was summed up."""

    value: float
    standard_error: float


def expected(synthetic: Synthetic) -> Predictions:
    """Every row once for each class, weighted by the true probability of that class: its labels are their expectation.

    An estimate on these rows has no noise of labels. Rows that all but cannot happen (1e-12) are left out.

    >>> from calib_core.datasets import example_1
    >>> rows = expected(example_1(10))
    >>> rows.n_rows, round(float(rows.weights.sum() * rows.accuracy / rows.n_rows), 3)
    (20, 0.6)
    """
    rows, truth = synthetic.predictions, synthetic.true_probs
    weight = truth if rows.weights is None else truth * rows.weights[:, None]
    row, label = np.nonzero(truth > LEAST)
    return rows.replace(weights=None).take(row).relabelled(label).replace(weights=weight[row, label])


def true_error(
    truth: str | Recipe | Truth,
    reduction: str | Reduction | None = None,
    estimator: str | Estimator = "ece",
    *,
    in_bins: bool = False,
) -> TrueError:
    """What an estimator estimates, known because the truth is: sum over scores of |true share - score|^p.

    E |P(z = 1 | s) - s|^p over the claims (s, z) of the notion (None: the truth's own), in the order and on the scale
    of the estimator, with every distinct score a bin of its own, or n^(2/3) of the n rows of a sample; no labels are
    drawn. ``in_bins``: in the estimator's own bins instead, which see no more than their means. Scores such as accuracy
    are their expectation. Truths whose law is summed up have no simulation error, others that of a seeded sample of up
    to 524,288 rows. What can mislead: what wide bins cannot see is part of the true error, so that a binned estimate
    can lie below it however many its rows; a sample's error is a little too large where it is small, by its own noise.

    NotAnswerable for errors of whole vectors, for squared errors of pairs, and for the largest error where the law is
    known by a sample alone.

    References: P2 App. E; P5 §5.1 (there 2,000 bins of drawn labels).

    >>> round(true_error("example-1", "confidence").value, 12), round(true_error("example-1", "top-label").value, 12)
    (0.0, 0.4)
    """
    member: Any = as_truth(truth)
    notion: Any = kind_of(member).reduction if reduction is None else as_reduction(reduction)
    target, power = target_of(as_estimator(estimator), notion, kind_of(member).exact, in_bins)
    return _of_law(member, notion, target, power)


@lru_cache(maxsize=512)
def _of_law(truth: Any, notion: Any, target: Any, power: int) -> TrueError:
    rows = law(truth)
    if kind_of(truth).exact:
        if _binning(target) != Distinct():
            rows = rows.replace(probs=rows.probs.round(JOINED))
        return TrueError(error_of(rows, notion, target, power), 0.0)
    value = error_of(rows, notion, target, power)
    # Rows of the law stand in the order they were drawn in.
    parts = [part for part in np.array_split(np.arange(rows.n_rows), BATCHES) if len(part)]
    values = [error_of(rows.take(part), notion, target, power, len(parts)) for part in parts]
    return TrueError(value, float(np.std(values, ddof=1) / np.sqrt(len(values))))


@lru_cache(maxsize=4)
def law(truth: Any, share: int = 1) -> Predictions:
    """The rows that stand for a truth, with expected labels; of a sample only one in ``share``."""
    classes = truth.population(2).predictions.n_classes or 2
    rows = PROBABILITIES // (classes * classes)
    return expected(truth.population((rows if kind_of(truth).exact else min(rows, MOST_SAMPLED)) // share))


def error_of(rows: Predictions, notion: Reduction, target: Any, power: int, parts: int = 1) -> float:
    """The target on rows with expected labels, to a power; of one of several ``parts`` in as many bins as of all."""
    if _binning(target) is FINEST:
        target = replace(target, binning=_finest(rows, parts))
    return float(Question(rows, notion, target).answer(rows).value ** power)


def _binning(target: Any) -> Any:
    """The bins of a target; None where it has none, as scores have."""
    return getattr(target, "binning", None)


def _finest(rows: Predictions, parts: int) -> PointsPerBin:
    """Bins of n^(2/3) of the n rows of all parts, 500 at least: noise in them and what they hide are alike small.

    A row has a line for each label it can have, one after the other; bins count what the lines' weights are worth.
    """
    n = 1 + int((rows.probs[1:] != rows.probs[:-1]).any(axis=1).sum())
    points = max(FINEST_ROWS, (parts * n) ** (2 / 3)) / parts
    return PointsPerBin(max(1, round(points * rows.effective_rows / n)))


def target_of(estimator: Any, notion: Reduction, exact: bool, in_bins: bool = False) -> tuple[Any, int]:
    """What is summed up over a law, and the power it is raised to, to be what an estimator estimates."""
    declared = traits(estimator)
    if scope(notion).of == "vector" or "claims" not in declared.takes:
        raise NotAnswerable("the true error of whole probability vectors is not known here: choose another notion")
    if declared.judged in ("losses", "share"):
        return estimator, 1
    scale = error_scale(estimator)
    if declared.judged == "pairs" or scale.order == "bins" or (scale.order == "max" and not (exact or in_bins)):
        raise NotAnswerable("what this estimator would show without noise is not known of this truth")
    finest = Distinct() if exact else FINEST
    scheme = estimator.binning if in_bins and declared.judged == "bins" else finest
    return Binned(scheme, scale.order), 2 if scale.squared else 1
