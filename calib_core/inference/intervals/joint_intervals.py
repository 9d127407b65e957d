"""Many estimates at once: intervals and noise floors whose draws are shared, by estimator and by number of bins."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats
from calib_core._base.errors import NotAnswerable
from calib_core._base.parallel import one_blas_thread, run
from calib_core.binning.base import cuts, of_interval
from calib_core.binning.bin_table import BinTable, padded, tabulate, tabulate_at
from calib_core.claims.binary_claims import ColumnClaims, FlatClaims
from calib_core.claims.exact_sums import copies, placed
from calib_core.claims.row_covariance import MOST_CELLS
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators.base import Estimate, Estimator, Question, traits
from calib_core.inference.intervals.bins_of_interval import judged_bins, target
from calib_core.inference.intervals.error_hierarchy import Chain
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.cell_draws import counts_suffice
from calib_core.inference.noise.noise_floor import noise_floor, noise_floors, null_outcomes
from calib_core.inference.noise.redrawn_errors import Counted, of_counts
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import Reduction
from calib_core.results.uncertainty import NoiseFloor

Job: TypeAlias = Callable[[], None]


def sharpen(
    estimates: Sequence[Estimate], level: float = LEVEL, done: Callable[[int], object] = lambda _: None
) -> None:
    """Compute and cache every estimate's interval and noise floor, with the same bits as one by one.

    Estimates of the same predictions, notion and bins share the drawn outcomes and the rows' noise. These are most of
    the cost: five estimates take little longer than one. Scores of whole predictions share the labels drawn for their
    floors. ``done`` receives progress in percent. An estimate without interval or floor raises NotAnswerable on
    request.

    >>> from calib_core import Predictions, estimate
    >>> p = Predictions([[0.7, 0.3]] * 10, [0] * 7 + [1] * 3)
    >>> many = [estimate(p, "confidence", key) for key in ("ece", "rmsce")]
    >>> sharpen(many)
    >>> [one.knows("interval") and one.knows("floor") for one in many]
    [True, True]
    """
    groups: dict[Hashable, list[Estimate]] = {}
    for estimate in estimates:
        groups.setdefault(_shared(estimate), []).append(estimate)
    jobs = [job for group in groups.values() for job in _jobs(group, level)]
    with one_blas_thread():
        run(jobs, lambda i: done(100 * i // len(jobs)))


def _shared(estimate: Estimate) -> Hashable:
    """Key that is equal for estimates of the same claims and bins, and for scores; otherwise unique."""
    question = estimate.question
    if question is not None and _is_score(estimate):
        return id(question.predictions), None
    if question is None or question.whole:
        return id(estimate)
    if target(question.estimator) is None or of_counts(question.estimator, question.claims, estimate.bins) is None:
        return id(estimate)
    # Intervals may be about wider bins, which not every estimator of these can be judged in.
    return (
        id(question.predictions),
        question.reduction,
        question.estimator.binning,
        judged_bins(question).estimator.binning,
    )


def _draws_once(estimate: Estimate) -> bool:
    """True if estimates of this kind share drawn outcomes; others are computed one by one."""
    question = estimate.question
    return question is not None and question.predictions.row_groups is None and shares_draws(estimate)


def _jobs(group: list[Estimate], level: float) -> list[Job]:
    if _draws_once(group[0]):
        return [lambda: _intervals_in_bins(group, level), lambda: _floors(group)]
    intervals = [_refusing(each, "interval", level) for each in group]
    if _is_score(group[0]):
        return [*intervals, lambda: _floors(group)]
    return [*intervals, *(_refusing(each, "floor", level) for each in group)]


def _is_score(estimate: Estimate) -> bool:
    return estimate.question is not None and estimate.question.reduction is None


def _refusing(estimate: Estimate, what: str, level: float) -> Job:
    """Compute one estimate; a refusal is raised again when the estimate is used."""

    def ask() -> None:
        try:
            _ = estimate.interval(level) if what == "interval" else estimate.noise_floor
        except NotAnswerable:
            return

    return ask


def _intervals_in_bins(group: list[Estimate], level: float) -> None:
    open_ones = [estimate for estimate in group if not estimate.knows("interval", level, 0)]
    if not open_ones:
        return
    lines = Chain.of(open_ones[0].question, 0)  # type: ignore[arg-type]
    for estimate in open_ones:
        with suppress(NotAnswerable):
            interval = lines.interval(estimate.question.estimator, level)  # type: ignore[union-attr]
            estimate.answers.keep(("interval", level, 0), interval)


def _floors(group: list[Estimate]) -> None:
    group = [estimate for estimate in group if not estimate.knows("floor")]
    if not group:
        return
    try:
        floors = noise_floors([each.question for each in group if each.question is not None])
    except NotAnswerable:
        return
    for estimate, floor in zip(group, floors, strict=True):
        estimate.answers.keep(("floor",), floor)


def shares_draws(estimate: Estimate) -> bool:
    """True if the estimate's interval and noise floor only need bin counts, and so are fast."""
    return not _is_score(estimate) and isinstance(_shared(estimate), tuple)


_AT_ONCE = 1_000_000
"""Drawn cells whose sums over bins are computed at a time: they fit in the processor's cache."""
_HELD = 50_000_000
"""Drawn outcomes in memory before they are counted."""
_Place: TypeAlias = "Callable[[Codes, Floats], Codes]"
"""From strata and scores to cells."""
_Outcomes: TypeAlias = "Callable[[np.random.Generator, int], Iterator[Float64s]]"
"""From a stream and a number of replicates to their outcome sums (replicates, cells), in parts.

Whole numbers come as integers: running sums of small integers take a tenth of the time, and are exact.
"""


def floors(
    predictions: Predictions,
    reduction: Reduction,
    estimators: Sequence[Estimator],
    resamples: int = 200,
    random_state: int = SEED,
) -> list[NoiseFloor]:
    """The noise floor of each estimator, all from the same drawn outcomes.

    Estimators that use bin counts share draws. Draws are counted once in the cells between all their edges; every
    binning's bins are runs of these cells. Other estimators have their own draws.
    """
    question = Question(predictions, reduction, None)
    alone = question.whole or predictions.row_groups is not None
    if alone or not counts_suffice(question.claims, question.ranks):
        question = question.written_out
    claims = question.claims
    counted = [None] * len(estimators) if alone else sweep_tables(claims, estimators)
    members = [c for c in counted if c is not None]
    shared = iter(_shared_floors(question, members, resamples, random_state))
    return [
        noise_floor(Question(predictions, reduction, e), resamples, random_state) if c is None else next(shared)
        for e, c in zip(estimators, counted, strict=True)
    ]


def sweep_tables(claims: FlatClaims | ColumnClaims, estimators: Sequence[Estimator]) -> list[Counted | None]:
    """Return how each estimator that uses bin counts computes its value; the claims are read once for all."""
    able: list[Any] = [e for e in estimators if _counts(e)]
    tables = iter(tabulate(claims, [e.binning for e in able])) if able else iter(())
    return [of_counts(e, claims, next(tables)) if _counts(e) else None for e in estimators]


def _counts(estimator: Any) -> bool:
    """True if it only uses counts in bins of each stratum."""
    if traits(estimator).counts == "never":
        return False
    scheme = cuts(estimator.binning)
    return of_interval(scheme) and not scheme.pools


def _shared_floors(question: Question, members: list[Counted], resamples: int, random_state: int) -> list[NoiseFloor]:
    if not members:
        return []
    claims = question.claims
    if claims.same_rows:
        outcome_draws.distributions(question.predictions.kind)
    elif question.ranks == 1:
        claims = claims.in_order()
    outcomes, ends = _finest(claims, [counted.table for counted in members], question.ranks)
    found: list[list[Float64s]] = [[] for _ in members]
    for count, rng in outcome_draws.streams(resamples, random_state):
        for cells in outcomes(rng, count):
            upto = np.zeros((len(cells), cells.shape[1] + 1), dtype=cells.dtype)
            np.cumsum(cells, axis=1, out=upto[:, 1:])
            for values, end, counted in zip(found, ends, members, strict=True):
                values.append(counted.values(np.diff(upto.take(end, axis=1), axis=2).astype(np.float64, copy=False)))
    return [
        NoiseFloor(counted.value(counted.table), np.concatenate(values))
        for values, counted in zip(found, members, strict=True)
    ]


def _finest(claims: Any, tables: list[BinTable], ranks: int) -> tuple[_Outcomes, list[Codes]]:
    """Draws of outcome sums of the cells between the edges of all tables, and where each table's bins end among them.

    Cells are numbered stratum after stratum, as many for each. Ends are (strata, bins + 1): a bin that a stratum does
    not have ends where it begins.
    """
    lower = [np.asarray(table.lower[:, 1:], dtype=claims.dtype) for table in tables]
    edges = np.concatenate(lower, axis=1)
    alike = all(table.same_edges for table in tables)
    each = [np.unique(mine[~np.isnan(mine)]) for mine in (edges[:1] if alike else edges)]
    width = max(map(len, each)) + 1
    # What a stratum has no edge for is NaN, and sorted behind its last one.
    upto = np.stack([np.searchsorted(u, mine) + 1 for u, mine in zip(each, edges, strict=not alike)])
    first = width * np.arange(len(claims.strata))[:, None]
    stops = np.cumsum([part.shape[1] for part in lower])[:-1]
    begin, end = np.zeros((len(upto), 1), dtype=np.intp), np.array([[len(u) + 1] for u in each])
    ends = [np.hstack([begin, part, end]) + first for part in np.split(upto, stops, axis=1)]
    size = width * len(claims.strata)

    def place(strata: Codes, scores: Floats) -> Codes:
        return placed(each, scores, strata, width)

    if size > MOST_CELLS and claims.same_rows:
        return partial(_of_columns, claims, size, place), ends
    listed = claims.grain == "rows" and (claims.weights is None or not copies(claims.weights))
    if size > MOST_CELLS and ranks == 1 and listed and len(claims.scores) * outcome_draws.CHUNK <= _HELD:
        return partial(_of_list, claims, size, place(claims.codes, claims.scores)), ends
    if alike:
        fine = tabulate_at(claims, each[0])
    else:
        fine = padded(claims, [(u, claims.stratum(s).in_order().sums(u)) for s, u in enumerate(each)])
    sample = null_outcomes(claims, fine, ranks)
    return lambda rng, count: iter([sample(rng, count).reshape(count, -1)]), ends


def _of_columns(
    claims: ColumnClaims, size: int, place: _Place, rng: np.random.Generator, count: int
) -> Iterator[Float64s]:
    """Classes drawn row by row, assigned to cells, and counted for few replicates at a time."""
    k = len(claims.strata)
    sums: list[Any] = [0] * count
    pending: list[Codes] = []
    start = 0

    def counted(stop: int) -> Iterator[Float64s]:
        weights = None if claims.weights is None else claims.weights[start:stop]
        drawn = np.ascontiguousarray(np.concatenate(pending).T)
        pending.clear()
        return (before + np.bincount(mine, weights, size) for before, mine in zip(sums, drawn, strict=True))

    for where, block, drawn in outcome_draws.classes(claims.rows, rng, count):
        mine = drawn + np.arange(len(block))[:, None] * k
        # A row's draws are of few of its classes: each of these is put into its cell once.
        seen, cell = np.zeros(block.size, dtype=bool), np.empty(block.size, dtype=np.int32)
        seen[mine] = True
        once = np.flatnonzero(seen)
        cell[once] = place(once % k, block.ravel()[once])
        pending.append(cell[mine])
        if sum(map(len, pending)) * count >= _HELD and where.stop < len(claims.hit):
            sums, start = list(counted(where.stop)), where.stop
    yield from _in_parts(counted(len(claims.hit)), size)


def _of_list(claims: FlatClaims, size: int, cell: Codes, rng: np.random.Generator, count: int) -> Iterator[Float64s]:
    """The same of claims that share no row."""
    true = np.empty((count, len(cell)), dtype=bool)
    for where, block in outcome_draws.hits(claims.scores, rng, count):
        true[:, where] = block.T
    weights = claims.weights
    yield from _in_parts((np.bincount(cell[x], None if weights is None else weights[x], size) for x in true), size)


def _in_parts(sums: Iterator[Any], size: int) -> Iterator[Float64s]:
    """Replicates joined, whole numbers as small ones."""
    while part := list(islice(sums, max(1, _AT_ONCE // size))):
        yield np.stack(part).astype(np.int32 if part[0].dtype.kind == "i" else np.float64)
