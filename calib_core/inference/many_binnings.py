"""One estimator with many fixed binnings: values and noise floors from one pass over the data and one set of draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib_core._arrays import Float64s
from calib_core.binning import BinTable, tabulate, tabulate_at
from calib_core.claims import ColumnClaims, Tally
from calib_core.estimators import Estimator, traits
from calib_core.estimators.base import Question
from calib_core.inference import draws
from calib_core.inference.counted import Counted, of_counts
from calib_core.inference.null import NoiseFloor, in_order, noise_floor, null_outcomes
from calib_core.predictions import Predictions
from calib_core.reductions import Reduction


def floors(
    predictions: Predictions,
    reduction: Reduction,
    estimators: Sequence[Estimator],
    resamples: int = 200,
    random_state: int = 0,
) -> list[NoiseFloor]:
    """The noise floor of each estimator, all from the same drawn outcomes.

    Estimators with fixed bin edges share draws counted once into the cells between all their edges, of which every
    binning's bins are runs; others are drawn for one by one.
    """
    question = Question(predictions, reduction, None).written_out
    claims = question.claims
    alone = question.whole or predictions.row_groups is not None
    counted = [None] * len(estimators) if alone else sweep_tables(claims, estimators)
    members = [(e, c) for e, c in zip(estimators, counted, strict=True) if c is not None]
    shared = iter(_shared(question, members, resamples, random_state))
    return [
        noise_floor(Question(predictions, reduction, e), resamples, random_state) if c is None else next(shared)
        for e, c in zip(estimators, counted, strict=True)
    ]


def sweep_tables(claims: Any, estimators: Sequence[Estimator]) -> list[Counted | None]:
    """How each estimator with fixed edges estimates from counts, the claims counted once for all of them."""
    fixed: list[Any] = [e for e in estimators if _edges(e) is not None]
    if not fixed:
        return [None] * len(estimators)
    tables = iter(tabulate(claims, [e.binning for e in fixed]))
    return [of_counts(e, claims, next(tables)) if _edges(e) is not None else None for e in estimators]


def _edges(estimator: Any) -> Float64s | None:
    """The fixed edges of an estimator that looks at counts only."""
    edges: Float64s | None = None if traits(estimator).counts == "never" else estimator.binning.fixed_edges()
    return edges


def _shared(
    question: Question, members: list[tuple[Estimator, Counted]], resamples: int, random_state: int
) -> list[NoiseFloor]:
    if not members:
        return []
    claims = question.claims
    if isinstance(claims, ColumnClaims):
        draws.distributions(question.predictions.kind)
    elif question.ranks == 1:
        claims = in_order(claims)
    cast = [np.asarray(_edges(e)).astype(claims.dtype) for e, _ in members]
    union = np.unique(np.concatenate(cast))
    starts = [np.searchsorted(union, mine, side="left") + 1 for mine in cast]
    fine: BinTable = tabulate_at(claims, union)
    sample = null_outcomes(claims, fine, question.ranks)
    found: list[list[Float64s]] = [[] for _ in members]
    for count, rng in draws.streams(resamples, random_state):
        cells = sample(rng, count)
        flat = cells.reshape(-1, cells.shape[2])
        for values, runs, (_, counted) in zip(found, Tally(flat, flat, flat).coarsened(starts), members, strict=True):
            values.append(counted.values(runs.outcome.reshape(count, len(fine.strata), -1)))
    return [
        NoiseFloor(counted.value(counted.table), np.concatenate(values))
        for values, (_, counted) in zip(found, members, strict=True)
    ]
