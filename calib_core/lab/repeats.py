"""Estimators and calibrators on many samples from known distributions, and tables of the results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools, Float64s
from calib_core._base.distributions import binom, norm
from calib_core._base.errors import InputError, NotAnswerable, as_whole
from calib_core._base.notebook_display import OneLine
from calib_core._base.parallel import Progress, one_blas_thread, shared_out
from calib_core._base.sklearn_api import clone
from calib_core.calibrators.base import BINARY_CALIBRATORS, CALIBRATORS, Calibrator
from calib_core.calibrators.reduced import Reduced
from calib_core.claims.stacked_samples import side_by_side
from calib_core.datasets import drawn_labels
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators.base import ESTIMATORS, as_estimator, estimate, traits
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.lab.true_errors import TrueError, error_of, holdout, law, target_of, true_error
from calib_core.lab.truths import MOST_ROWS, TRUTHS, Truth, as_truth, kind_of
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import REDUCTIONS, Reduction, scope
from calib_core.registry.registry import Recipe, Registry

WORST = 0.95
"""Percentile of relative errors reported in P5."""
SMALLEST = 1e-9
"""Threshold below which a true error counts as 0, so relative errors are undefined."""


@dataclass(frozen=True, eq=False, repr=False)
class Line(OneLine):
    """Results of one estimator and notion on every draw of one size: ``values``, NaN with the reason in ``note``.

    With a ``calibrator`` the values are the true errors after it, and ``true`` is the one before.
    ``low`` and ``high`` are the ends of each draw's interval, NaN if none was requested.
    """

    truth: str
    calibrator: str
    reduction: str
    estimator: str
    n: int
    true: TrueError
    values: Float64s
    low: Float64s
    high: Float64s
    note: str

    @property
    def squared(self) -> Line:
        """The same line with values and truth squared: the squared error of a root."""
        true = TrueError(self.true.value**2, 2 * self.true.value * self.true.standard_error)
        return replace(self, true=true, values=self.values**2, low=self.low**2, high=self.high**2)

    def inside(self, true: float) -> Bools:
        """Mask of draws whose interval contains this error, for draws with an interval."""
        known = np.isfinite(self.low + self.high) & np.isfinite(true)
        inside: Bools = np.logical_and(self.low <= true, true <= self.high)[known]
        return inside


@dataclass(frozen=True, eq=False, repr=False)
class LabRun(OneLine):
    """Results of a run in the laboratory, by distribution, size, notion, estimator and calibrator."""

    lines: tuple[Line, ...]
    level: float = LEVEL

    def frame(self) -> pd.DataFrame:
        """One row per distribution, calibrator, notion, estimator and size.

        Columns are ``true`` and its standard error. Over the draws with a value there are the ``mean``, ``bias`` =
        mean - true, ``deviation``, and ``worst`` = the 95th percentile of |value - true| / true. ``mse`` is the mean of
        (value - true)^2, and ``share_held`` the share of intervals that contain the true error. Each has an interval
        for its value with infinitely many draws. It is by the normal distribution for means (of squares not below 0),
        by order statistics for the percentile, and exact for the share. The intervals of ``worst``, ``mse`` and the
        share also include the true error's own standard error. Errors after a calibrator have no ``bias``, ``worst`` or
        ``mse``: their ``true`` is the error before. ``worst`` is NaN if the true error is not distinguishable from 0.
        """
        return pd.DataFrame([_summary(line, self.level) for line in self.lines], columns=list(COLUMNS))

    def squared(self, estimators: Sequence[str]) -> LabRun:
        """The same run with the values and true errors of these estimators squared."""
        return replace(self, lines=tuple(line.squared if line.estimator in estimators else line for line in self.lines))

    def draws(self) -> pd.DataFrame:
        """One row per draw, in the order of ``frame``: the value, and its distance from the true error."""
        names = ("truth", "calibrator", "reduction", "estimator", "n")
        frames = [
            pd.DataFrame(
                {
                    **{name: getattr(line, name) for name in names},
                    "draw": np.arange(len(line.values)),
                    "value": line.values,
                    "off": line.values - line.true.value,
                }
            )
            for line in self.lines
        ]
        return pd.concat(frames, ignore_index=True)


COLUMNS = (
    "truth", "calibrator", "reduction", "estimator", "n", "draws", "true", "true_error", "mean", "mean_low",
    "mean_high", "bias", "deviation", "worst", "worst_low", "worst_high", "mse", "mse_low", "mse_high", "share_held",
    "share_low", "share_high", "note",
)  # fmt: skip


def _summary(line: Line, level: float) -> dict[str, Any]:
    known = line.values[np.isfinite(line.values)]
    beside = known[: 0 if line.calibrator else None]
    doubt = float(norm.isf((1 - level) / 2) * line.true.standard_error)
    relative = len(beside) and line.true.value > max(SMALLEST, doubt)
    return {
        **{name: getattr(line, name) for name in ("truth", "calibrator", "reduction", "estimator", "n")},
        "draws": len(known),
        "true": line.true.value,
        "true_error": line.true.standard_error,
        **_mean("mean", known, level),
        "bias": float(beside.mean() - line.true.value) if len(beside) else np.nan,
        "deviation": float(known.std(ddof=1)) if len(known) > 1 else np.nan,
        **(
            _doubted("worst", lambda true: _worst(np.abs(beside - true) / true, level), line.true.value, doubt)
            if relative
            else {}
        ),
        **_doubted("mse", lambda true: _mean("mse", (beside - true) ** 2, level), line.true.value, doubt),
        **_share(line, level, doubt),
        "note": line.note,
    }


def _doubted(name: str, found: Callable[[float], dict[str, float]], true: float, doubt: float) -> dict[str, float]:
    """Measure with its interval, widened for a true error that is larger or smaller by ``doubt``."""
    own = found(true)
    if not own:
        return own
    value = own[name]
    moved = max(abs(found(true + by)[name] - value) for by in (-doubt, doubt)) if doubt else 0.0
    ends = {f"{name}_low": -1, f"{name}_high": 1}
    wider = {end: max(value + sign * float(np.hypot(own[end] - value, moved)), 0.0) for end, sign in ends.items()}
    return {name: value, **{end: at_end if own[end] == own[end] else np.nan for end, at_end in wider.items()}}


def _share(line: Line, level: float, doubt: float) -> dict[str, float]:
    """Share of intervals that contain the true error, with an interval over its possible values."""

    def share(true: float) -> dict[str, float]:
        inside = line.inside(true)
        if not len(inside):
            return {}
        low, high = clopper_pearson(*np.atleast_1d(float(inside.sum()), float(len(inside))), level)
        return {"share": float(inside.mean()), "share_low": float(low[0]), "share_high": float(high[0])}

    found = _doubted("share", share, line.true.value, doubt)
    if not found:
        return {}
    return {"share_held": found["share"], "share_low": found["share_low"], "share_high": min(found["share_high"], 1.0)}


def _mean(name: str, values: Float64s, level: float) -> dict[str, float]:
    """Mean over draws and its interval by the normal distribution."""
    if not len(values):
        return {}
    mean = float(values.mean())
    half = float(norm.isf((1 - level) / 2) * values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
    return {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}


def _worst(relative: Float64s, level: float) -> dict[str, float]:
    """The 95th percentile and its interval by order statistics; NaN if there are too few draws."""
    ordered, n = np.sort(relative), len(relative)
    low, high = (int(binom.ppf(q, n, WORST)) for q in ((1 - level) / 2, (1 + level) / 2))
    ends = {"worst_low": float(ordered[low - 1]) if low > 0 else np.nan}
    ends["worst_high"] = float(ordered[high]) if high < n else np.nan
    return {"worst": float(np.quantile(ordered, WORST)), **ends}


Named: TypeAlias = "Sequence[Any] | Mapping[str, Any]"
"""Members of a family as keys, recipes or objects; a mapping gives them names."""

SIZES = (100, 300, 1000, 3000)
DRAWS = 100
ROWS_AT_A_TIME = 2**15
"""Rows drawn together: few, so that a stop is quick, and fixed, so that bits do not depend on the workers."""
THIN = 16
"""Stride of a simulated distribution's rows that evaluate a calibrator, which is refitted in every draw."""
MOST_DRAWS = 100_000
MOST_DRAWN = 1_000_000_000
"""Maximum number of rows in all samples of a run."""

_Answer: TypeAlias = tuple[float, float, float, str]
"""Value of a draw, the ends of its interval (NaN: not requested), and the reason if there is no value."""
_UNASKED = (np.nan, np.nan, "")


def repeated(
    truths: str | Recipe | Truth | Named,
    n: int | Sequence[int] = SIZES,
    draws: int = DRAWS,
    estimators: Named = ("ece", "debiased-ece"),
    reductions: Sequence[str | Recipe | Reduction] = (),
    calibrators: Named = (),
    binary_calibrators: Named = (),
    *,
    in_bins: bool = False,
    intervals: bool = False,
    own_rows: bool = False,
    random_state: int = SEED,
    progress: Progress | None = None,
) -> LabRun:
    """Run estimators and calibrators on repeated samples from known distributions and compare with true errors.

    ``draws`` times n rows are sampled from each distribution, for each n, at most a billion in all. Every estimator
    is computed on each sample in every notion (none: the distribution's own), and compared with ``true_error``,
    ``in_bins`` or not. Each of the ``calibrators`` is fitted on each sample, and its line has the true error of its
    output, on the scale of each estimator. ``binary_calibrators`` likewise, fitted to the claims of the notion. With
    ``intervals``, the result includes the coverage of each estimate's default interval. With ``own_rows`` the samples
    of a distribution known only by simulation are drawn from one set of 65,536 rows. As in P5 they are drawn with
    replacement, each with a new label. The true error is that of these rows, without simulation error. Members are
    keys, recipes or objects; a mapping gives them names. Values that cannot be computed are NaN with a note.
    ``progress`` gets the percentage done; an exception in it stops the work. The bits do not depend on the number of
    threads.

    What can mislead: intervals of binned errors are for the error in their bins, given their rows. They are not for the
    true error that they are compared with here. True errors of a simulated distribution have a standard error.

    References: P5 §5 and Fig. 2; P2 §5, App. E and G.

    >>> run = repeated("example-1", 50, 20, ["ece"], ["top-label"])
    >>> run.frame()[["n", "draws", "true"]].round(3).values.tolist()
    [[50.0, 20.0, 0.4]]
    """
    sizes = tuple(np.atleast_1d(np.asarray(n, dtype=object)))
    for size in sizes:
        as_whole(size, "n", 1, MOST_ROWS)
    as_whole(draws, "draws", 1, MOST_DRAWS)
    single = TRUTHS.find(truths) is not None or isinstance(truths, (str, Recipe))
    members = {name: as_truth(truth) for name, truth in _named([truths] if single else truths, TRUTHS).items()}
    methods = _named(estimators, ESTIMATORS)
    maps = _named(calibrators, CALIBRATORS), _named(binary_calibrators, BINARY_CALIBRATORS)
    if not (members and methods and sizes):
        raise InputError("give at least one distribution, one number of rows and one estimator")
    drawn = len(members) * draws * sum(map(int, sizes))
    if drawn > MOST_DRAWN:
        raise InputError(f"this would draw {drawn:,} rows; the limit is {MOST_DRAWN:,}: choose fewer draws or rows")
    jobs = [
        (int(size), first, min(draws - first, at_a_time))
        for size in sizes
        for at_a_time in [max(1, ROWS_AT_A_TIME // int(size))]
        for first in range(0, draws, at_a_time)
    ]
    done, turn = iter(range(1, len(jobs) * len(members) + 1)), threading.Lock()

    def tell() -> None:
        with turn:
            share = 100 * next(done) // (len(jobs) * len(members))
            if progress is not None:
                progress(share)

    def lines_of(name: str) -> list[Line]:
        truth = members[name]
        plan = _plan(truth, methods, reductions, *maps, in_bins, own_rows)

        def work(job: tuple[int, int, int]) -> list[list[_Answer]]:
            with one_blas_thread():
                draws = _draws(truth, *job, random_state, own_rows)
                known = [None if intervals or not task.at_once else task.at_once(draws) for task in plan]
                alone = [task for task, answers in zip(plan, known, strict=True) if answers is None]
                # Sample by sample, so that the outputs of a calibrator are not stored for all of them.
                rows = [[task(sample, intervals) for task in alone] for sample in draws.samples]
                rest = iter(zip(*rows, strict=True))
                return [list(next(rest)) if answers is None else answers for answers in known]

        found: dict[int, list[list[_Answer]]] = {}
        for (n, *_), answers in zip(jobs, shared_out(work, jobs), strict=True):
            for kept, more in zip(found.setdefault(n, [[] for _ in plan]), answers, strict=True):
                kept += more
            tell()
        return [task.line(name, n, answers) for n in found for task, answers in zip(plan, found[n], strict=True)]

    # Distributions are the units of work if there are several, else the samples of the single one.
    return LabRun(tuple(line for lines in shared_out(lines_of, members) for line in lines))


_Made = TypeVar("_Made")


@dataclass(frozen=True, eq=False)
class _Shared:
    """Cache of results that several tasks need from the same rows."""

    known: dict[int, Any] = field(init=False, default_factory=dict)

    def once(self, key: object, make: Callable[[], _Made]) -> _Made:
        """Cached result of ``make`` for this ``key``, which must outlive the rows."""
        if id(key) not in self.known:
            self.known[id(key)] = make()
        known: _Made = self.known[id(key)]
        return known


@dataclass(frozen=True, eq=False)
class _Sample(_Shared):
    """Predictions of one draw."""

    predictions: Predictions

    def claims(self, reduction: Reduction) -> Any:
        """Claims of these predictions."""
        return self.once(reduction, lambda: reduction.split(self.predictions))


@dataclass(frozen=True, eq=False)
class _Draws(_Shared):
    """Several draws of one size."""

    samples: list[_Sample]


def _draws(truth: Any, n: int, first: int, draws: int, seed: int, own_rows: bool) -> _Draws:
    """Several draws of one size from one distribution."""
    rng = np.random.default_rng([seed, n, first])
    if own_rows and not kind_of(truth).exact:
        kept = holdout(truth)
        chosen = rng.integers(len(kept.true_probs), size=n * draws)
        rows = kept.predictions.take(chosen).relabelled(drawn_labels(kept.true_probs[chosen], rng))
    else:
        rows = truth.sample(n * draws, rng).predictions
    return _Draws([_Sample(rows.take(np.arange(d * n, (d + 1) * n))) for d in range(draws)])


@dataclass(frozen=True, eq=False)
class _Task:
    """Task for every draw: an estimate or a calibrator's true error, and the true error for comparison."""

    reduction: str
    estimator: str
    calibrator: str
    true: TrueError
    note: str
    answer: Callable[[_Sample, bool], _Answer]
    at_once: Callable[[_Draws], list[_Answer] | None] | None = None

    def __call__(self, sample: _Sample, intervals: bool) -> _Answer:
        try:
            return self.answer(sample, intervals)
        except NotAnswerable as why:
            return np.nan, np.nan, np.nan, str(why)

    def line(self, truth: str, n: int, answers: list[_Answer]) -> Line:
        """Line with the answers of all draws of one size."""
        *numbers, notes = zip(*answers, strict=True)
        note = "; ".join(dict.fromkeys(filter(None, (self.note, *notes))))
        values, low, high = (np.array(each, dtype=float) for each in numbers)
        return Line(truth, self.calibrator, self.reduction, self.estimator, n, self.true, values, low, high, note)


def _plan(
    truth: Truth,
    methods: dict[str, Any],
    reductions: Sequence[Any],
    calibrators: dict[str, Any],
    binary: dict[str, Any],
    in_bins: bool,
    own_rows: bool,
) -> list[_Task]:
    """Tasks of a distribution, in the order of the frame."""
    notions = _named(reductions, REDUCTIONS)
    first = kind_of(truth).reduction
    tasks = []
    for notion, reduction in (notions or {REDUCTIONS.recipe(first).title: first}).items():
        maps = {**calibrators, **{name: Reduced(reduction, given) for name, given in binary.items()}}
        for name, method in methods.items():
            true, note = _true_or_why(truth, reduction, method, in_bins, own_rows)
            # An estimator given by key may choose its bins by the rows, as elsewhere.
            by_key = name if name in ESTIMATORS and ESTIMATORS.make(name) == method else method
            tasks.append(
                _Task(
                    notion,
                    name,
                    "",
                    true,
                    note,
                    partial(_estimated, reduction, by_key),
                    partial(_at_once, reduction, by_key),
                )
            )
            for title, calibrator in maps.items():
                left = partial(_left, truth, reduction, method, calibrator)
                tasks.append(_Task(notion, name, title, true, note, left))
    return tasks


def _true_or_why(
    truth: Truth, reduction: Reduction, method: Any, in_bins: bool, own_rows: bool
) -> tuple[TrueError, str]:
    try:
        return true_error(truth, reduction, method, in_bins=in_bins, own_rows=own_rows), ""
    except NotAnswerable as why:
        return TrueError(np.nan, np.nan), str(why)


def _estimated(reduction: Reduction, method: Any, sample: _Sample, intervals: bool) -> _Answer:
    if not intervals and _of_claims(reduction, method):
        return as_estimator(method)(sample.claims(reduction)).value, *_UNASKED
    found = estimate(sample.predictions, reduction, method)
    if not intervals:
        return found.value, *_UNASKED
    interval = found.interval()
    return found.value, interval.low, interval.high, ""


def _at_once(reduction: Reduction, method: Any, draws: _Draws) -> list[_Answer] | None:
    """Estimates of all draws at once, if the estimator supports it and all draws have the same number of claims."""
    estimator: Any = as_estimator(method)
    if not (_of_claims(reduction, method) and traits(estimator).together(estimator)):
        return None
    try:
        claims = draws.once(reduction, lambda: side_by_side([sample.claims(reduction) for sample in draws.samples]))
        return None if claims is None else [(float(value), *_UNASKED) for value in estimator.of_samples(claims)]
    except NotAnswerable:  # each draw reports the reason
        return None


def _of_claims(reduction: Reduction, method: Any) -> bool:
    return scope(reduction).of != "vector" and "claims" in traits(as_estimator(method)).takes


def _left(truth: Any, reduction: Reduction, method: Any, calibrator: Any, sample: _Sample, intervals: bool) -> _Answer:
    def outputs() -> Predictions:
        fresh: Calibrator = clone(calibrator)
        return fresh.fit_on(sample.predictions).apply(law(truth, THIN))

    rows = sample.once(calibrator, outputs)
    left = error_of(rows, reduction, *target_of(method, reduction, kind_of(truth).exact or rows.discrete))
    return left, *_UNASKED


def _named(given: Any, registry: Registry[Any]) -> dict[str, Any]:
    """Members by name: names of a mapping, keys, or titles of recipes and objects."""
    if isinstance(given, Mapping):
        return {str(name): _built(value, registry) for name, value in given.items()}
    names = [value if isinstance(value, str) else registry.recipe(value).title for value in given]
    if len(set(names)) < len(names):
        raise InputError(f"{', '.join(names)}: a name occurs twice; give a mapping with distinct names")
    return {name: _built(value, registry) for name, value in zip(names, given, strict=True)}


def _built(given: Any, registry: Registry[Any]) -> Any:
    return registry.recipe(given).build() if isinstance(given, (str, Recipe)) else given
