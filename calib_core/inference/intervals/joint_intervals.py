"""Intervals and noise floors of many estimates at once: what they have in common is drawn once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import TypeAlias

from calib_core._base.parallel import one_blas_thread, run
from calib_core.defaults import LEVEL
from calib_core.estimators.base import Estimate
from calib_core.inference.intervals.bins_of_interval import judged_bins, target
from calib_core.inference.intervals.error_hierarchy import Chain
from calib_core.inference.noise.bin_count_estimators import of_counts
from calib_core.inference.noise.noise_floor import noise_floors
from calib_core.predictions.predictions import NotAnswerable

Job: TypeAlias = Callable[[], None]


def sharpen(
    estimates: Sequence[Estimate], level: float = LEVEL, done: Callable[[int], object] = lambda _: None
) -> None:
    """Make every estimate's interval and noise floor, which it then has at hand: the same bits as when asked alone.

    Estimates of the same predictions in one notion that read the same bins share the drawn outcomes and the rows'
    noise, which is most of the cost: five of them take little longer than one. So do scores of whole predictions the
    labels drawn for their floors. ``done`` is told, now and then, the share of the work that is finished, in percent.
    An estimate that has no interval or floor (NotAnswerable) says so when it is asked.

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
    """Equal for estimates that read the same bins of the same claims, and for scores; an estimate else is alone."""
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
    """Do estimates like this one have drawn outcomes in common? What may have none is asked alone."""
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
    """Asking one estimate; what it refuses it refuses again, in words, when it is asked for."""

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
    """Are the estimate's interval and noise floor a matter of counts in bins, and so quickly made?"""
    return not _is_score(estimate) and isinstance(_shared(estimate), tuple)
