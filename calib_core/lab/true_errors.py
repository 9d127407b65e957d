"""True errors for comparison with estimates, exact or from a large simulation with a known standard error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core._base.notebook_display import OneLine
from calib_core.binning.bin_table import tabulate
from calib_core.binning.interval_schemes import Distinct, PointsPerBin
from calib_core.claims.binary_claims import FlatClaims
from calib_core.datasets import Synthetic
from calib_core.estimators.base import Estimator, Question, as_estimator, error_scale, traits
from calib_core.estimators.binned import Binned
from calib_core.lab.truths import Truth, as_truth, kind_of
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.reductions.base import Reduction, as_reduction, scope
from calib_core.registry.registry import Recipe

PROBABILITIES = 2**21
"""Rows times classes of a sample that represents a distribution; times classes squared for expanded labels."""
MOST_SAMPLED = 2**19
HOLDOUT = 2**16
"""Number of rows in a holdout set."""
FINEST_ROWS = 500
"""Fewest rows per bin of a holdout set."""
FINEST = PointsPerBin(FINEST_ROWS)
"""Marker for bins as fine as a sample's rows allow (``_finest``)."""
BATCHES = 8
JOINED = 9
"""Digits to which scores that represent one value are equal."""
LEAST = 1e-12


@dataclass(frozen=True, repr=False)
class TrueError(OneLine):
    """True error and its simulation standard error, which is 0 for an exact sum over the distribution."""

    value: float
    standard_error: float


def expected(synthetic: Synthetic) -> Predictions:
    """Expand every row to one copy per class, weighted by the true probability of that class.

    An estimate on these rows has no label noise. Copies with a probability below 1e-12 are left out.

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
    own_rows: bool = False,
) -> TrueError:
    """Return the true value of an estimator's target: the sum over scores of |true frequency - score|^p.

    E |P(z = 1 | s) - s|^p over the claims (s, z) of the notion (None: the distribution's own), with the order and scale
    of the estimator. Every distinct score is one bin, or a simulated sample of n rows has n^(2/3) bins; no labels are
    drawn. ``in_bins``: in the estimator's own bins instead, by their means. Scores such as accuracy
    are their expectations. Exactly known distributions have no simulation error, others that of a seeded sample of up
    to 524,288 rows. ``own_rows``: the error of only the 65,536 rows (fewer for slow models) that ``repeated`` draws
    from with the same option, which has none. What can mislead: the true error includes the error that wide bins hide.
    A binned estimate can be below it with any number of rows. A simulated error is slightly too large if it is small,
    because of its noise.

    Raises NotAnswerable for errors of whole vectors, for squared errors of pairs, and for the largest error of a
    distribution known only by simulation.

    References: P2 App. E; P5 §5.1 (there 2,000 bins of drawn labels).

    >>> round(true_error("example-1", "confidence").value, 12), round(true_error("example-1", "top-label").value, 12)
    (0.0, 0.4)
    """
    member: Any = as_truth(truth)
    notion: Any = kind_of(member).reduction if reduction is None else as_reduction(reduction)
    target, power = target_of(as_estimator(estimator), notion, kind_of(member).exact, in_bins)
    return _of_law(member, notion, target, power, own_rows)


@lru_cache(maxsize=4096)
def _of_law(truth: Any, notion: Any, target: Any, power: int, own: bool) -> TrueError:
    if kind_of(truth).exact:
        rows = law(truth)
        if _binning(target) != Distinct():
            rows = rows.replace(probs=rows.probs.round(JOINED))
        return TrueError(error_of(rows, notion, target, power), 0.0)
    drawn = holdout(truth) if own else _sampled(truth)
    value = _of_drawn(drawn, notion, target, power)
    if own:
        return TrueError(value, 0.0)
    # Rows are in the order in which they were drawn.
    parts = [part for part in np.array_split(np.arange(len(drawn.true_probs)), BATCHES) if len(part)]
    batches = [Synthetic(drawn.predictions.take(part), drawn.true_probs[part]) for part in parts]
    values = [_of_drawn(batch, notion, target, power, len(parts)) for batch in batches]
    return TrueError(value, float(np.std(values, ddof=1) / np.sqrt(len(values))))


@lru_cache(maxsize=4)
def _sampled(truth: Any) -> Synthetic:
    """Rows that represent a distribution known only by simulation."""
    classes = truth.population(2).predictions.n_classes or 2
    drawn: Synthetic = truth.population(min(PROBABILITIES // classes, MOST_SAMPLED))
    return drawn


@lru_cache(maxsize=8)
def holdout(truth: Truth) -> Synthetic:
    """Fixed set of rows from a distribution, for repeated sampling."""
    drawn: Synthetic = truth.population(HOLDOUT)
    return drawn


def _of_drawn(drawn: Synthetic, notion: Reduction, target: Any, power: int, parts: int = 1) -> float:
    """Target on drawn rows without labels; one of several ``parts`` has as many bins as all rows."""
    rows, n = drawn.predictions, len(drawn.true_probs)
    if _binning(target) is None or rows.weights is not None:
        return error_of(expected(drawn), notion, target, power, parts)
    claims, chance = _chances(drawn, notion)
    finest = _binning(target) is FINEST
    scheme = PointsPerBin(max(1, round(_points(n, parts)))) if finest else target.binning
    table = tabulate(claims, [scheme])[0]
    came = np.bincount(table.cells(claims.scores, claims.codes), chance, table.count.size)
    return float(target.of_outcomes(table, came.reshape(1, *table.count.shape))[0] ** power)


def _chances(drawn: Synthetic, notion: Any) -> tuple[FlatClaims, Float64s]:
    """All claims with their true probabilities: the mean over the possible labels of the row."""
    true, n = drawn.true_probs, len(drawn.true_probs)
    of_label = [notion.split(drawn.predictions.relabelled(np.full(n, k))) for k in range(true.shape[1])]
    first = of_label[0]
    # Class shares can be those of the labels.
    shares = true.mean(axis=0) @ np.stack([claims.shares for claims in of_label])
    if first.same_rows:
        chance, row = np.zeros(first.rows.shape), np.arange(n)
        for claims, likely in zip(of_label, true.T, strict=True):
            chance[row[claims.hit >= 0], claims.hit[claims.hit >= 0]] += likely[claims.hit >= 0]
        scores, codes = first.rows.array().T.ravel(), np.repeat(np.arange(len(first.strata)), n)
        return FlatClaims(scores, np.zeros(len(scores), dtype=bool), codes, first.strata, shares), chance.T.ravel()
    times = len(first.scores) // n
    chance = sum(
        (np.tile(likely, times) * claims.outcomes for claims, likely in zip(of_label, true.T, strict=True)),
        start=np.zeros(len(first.scores)),
    )
    return replace(first, shares=shares), chance


@lru_cache(maxsize=4)
def law(truth: Truth, share: int = 1) -> Predictions:
    """Rows that represent a distribution, with expected labels; of a simulated one only every ``share``-th row."""
    classes = truth.population(2).predictions.n_classes or 2
    rows = PROBABILITIES // (classes * classes)
    return expected(truth.population((rows if kind_of(truth).exact else min(rows, MOST_SAMPLED)) // share))


def error_of(rows: Predictions, notion: Reduction, target: Any, power: int, parts: int = 1) -> float:
    """Target on rows with expected labels, to a power; one of several ``parts`` has as many bins as all rows."""
    if _binning(target) is FINEST:
        target = replace(target, binning=_finest(rows, parts))
    return float(Question(rows, notion, target).answer(rows).value ** power)


def _binning(target: Any) -> Any:
    """Bins of a target; None if it has none, as for scores."""
    return getattr(target, "binning", None)


def _finest(rows: Predictions, parts: int) -> PointsPerBin:
    """Bins of n^(2/3) of the n rows of all parts, at least 500: both noise and hidden error are then small.

    A row has one line per possible label, in sequence; bins count the lines' effective sample size.
    """
    n = 1 + int((rows.probs[1:] != rows.probs[:-1]).any(axis=1).sum())
    return PointsPerBin(max(1, round(_points(n, parts) * rows.effective_rows / n)))


def _points(n: int, parts: int) -> float:
    return float(max(FINEST_ROWS, (parts * n) ** (2 / 3)) / parts)


def target_of(estimator: Any, notion: Reduction, exact: bool, in_bins: bool = False) -> tuple[Any, int]:
    """Quantity to sum over a distribution, and its power, to get the target of an estimator."""
    declared = traits(estimator)
    if scope(notion).of == "vector" or "claims" not in declared.takes:
        raise NotAnswerable("the true error of whole probability vectors is unknown: choose another notion")
    if declared.judged in ("losses", "share"):
        return estimator, 1
    scale = error_scale(estimator)
    if declared.judged == "pairs" or scale.order == "bins" or (scale.order == "max" and not (exact or in_bins)):
        raise NotAnswerable("this estimator's value without noise is unknown for this distribution")
    finest = Distinct() if exact else FINEST
    scheme = estimator.binning if in_bins and declared.judged == "bins" else finest
    return Binned(scheme, scale.order), 2 if scale.squared else 1
