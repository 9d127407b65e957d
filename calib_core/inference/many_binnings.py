"""One estimator with many binnings: values and noise floors from one pass over the data and one set of draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib_core._arrays import Codes, Float64s
from calib_core.binning import BinTable, cuts, of_interval, tabulate, tabulate_at
from calib_core.binning.bin_table import padded
from calib_core.claims import ColumnClaims
from calib_core.estimators import Estimator, traits
from calib_core.estimators.base import Question
from calib_core.inference import draws
from calib_core.inference.counted import Counted, check_rows_apart, of_counts
from calib_core.inference.null import NoiseFloor, in_order, noise_floor, null_outcomes
from calib_core.predictions import Predictions
from calib_core.reductions import Reduction
from calib_core.tallies import running

_AT_ONCE = 1_000_000
"""Drawn cells whose sums over bins are made at a time: they stay in the processor's cache."""


def floors(
    predictions: Predictions,
    reduction: Reduction,
    estimators: Sequence[Estimator],
    resamples: int = 200,
    random_state: int = 0,
) -> list[NoiseFloor]:
    """The noise floor of each estimator, all from the same drawn outcomes.

    Estimators that look at counts in bins share draws counted once into the cells between all their edges, of which
    every binning's bins are runs; others are drawn for one by one.
    """
    question = Question(predictions, reduction, None).written_out
    claims = question.claims
    alone = question.whole or predictions.row_groups is not None
    counted = [None] * len(estimators) if alone else sweep_tables(claims, estimators)
    members = [c for c in counted if c is not None]
    shared = iter(_shared(question, members, resamples, random_state))
    return [
        noise_floor(Question(predictions, reduction, e), resamples, random_state) if c is None else next(shared)
        for e, c in zip(estimators, counted, strict=True)
    ]


def sweep_tables(claims: Any, estimators: Sequence[Estimator]) -> list[Counted | None]:
    """How each estimator that looks at counts estimates from them, the claims read once for all of them."""
    able: list[Any] = [e for e in estimators if _counts(e)]
    tables = iter(tabulate(claims, [e.binning for e in able])) if able else iter(())
    return [of_counts(e, claims, next(tables)) if _counts(e) else None for e in estimators]


def _counts(estimator: Any) -> bool:
    """Does it look at counts in bins of each stratum only?"""
    if traits(estimator).counts == "never":
        return False
    scheme = cuts(estimator.binning)
    return of_interval(scheme) and not scheme.pools


def _shared(question: Question, members: list[Counted], resamples: int, random_state: int) -> list[NoiseFloor]:
    if not members:
        return []
    claims = question.claims
    if isinstance(claims, ColumnClaims):
        draws.distributions(question.predictions.kind)
    elif question.ranks == 1 and claims.grain == "rows":
        claims = in_order(claims)
    check_rows_apart(claims)
    fine, ends = _finest(claims, [counted.table for counted in members])
    sample = null_outcomes(claims, fine, question.ranks)
    step = max(1, _AT_ONCE // fine.count.size)
    found: list[list[Float64s]] = [[] for _ in members]
    for count, rng in draws.streams(resamples, random_state):
        cells = sample(rng, count)
        for first in range(0, count, step):
            upto = running(cells[first : first + step])
            for values, end, counted in zip(found, ends, members, strict=True):
                runs = upto.take(end[0], axis=2) if len(end) == 1 else np.take_along_axis(upto, end[None], axis=2)
                values.append(counted.values(np.diff(runs, axis=2)))
    return [
        NoiseFloor(counted.value(counted.table), np.concatenate(values))
        for values, counted in zip(found, members, strict=True)
    ]


def _finest(claims: Any, tables: list[BinTable]) -> tuple[BinTable, list[Codes]]:
    """The table of the cells between the edges of all tables, and the cells at which each table's bins end.

    Ends are (1, bins + 1) where strata share their edges, else (strata, bins + 1): a bin that a stratum does not have
    ends where it begins.
    """
    alike = all(table.same_edges for table in tables)
    strata = range(1 if alike else len(claims.strata))
    edges = [[table.inner_edges(s, claims.dtype) for s in strata] for table in tables]
    union = [np.unique(np.concatenate([mine[s] for mine in edges])) for s in strata]
    if alike:
        fine = tabulate_at(claims, union[0])
    else:
        fine = padded(claims, [(union[s], claims.stratum(s).in_order().sums(union[s])) for s in strata])
    ends: list[Codes] = []
    for table, mine in zip(tables, edges, strict=True):
        stops = np.zeros((len(strata), table.lower.shape[1] + 1), dtype=np.intp)
        for s in strata:
            bins = len(mine[s])
            stops[s, 1 : bins + 1] = np.searchsorted(union[s], mine[s], side="left") + 1
            stops[s, bins + 1 :] = len(union[s]) + 1
        ends.append(stops)
    return fine, ends
