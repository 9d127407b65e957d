"""The error against the number of bins, with the noise floor (P1 Fig. 2 and 5-8, P2 Fig. 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.diagram import Diagram
from calib_core.binning.base import BINNINGS, as_binning, cuts
from calib_core.calibrators.options import Refits
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators.base import (
    ESTIMATORS,
    Estimator,
    Question,
    as_estimator,
    estimate,
    judged_notion,
    reads_bins,
    takes_bins,
)
from calib_core.inference.intervals.joint_intervals import floors, sweep_tables
from calib_core.inference.verdicts.estimate_line import unit_of
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.reductions.base import Reduction, as_reduction
from calib_core.registry.registry import RegistryError
from calib_core.text import inside

BINS = tuple(range(5, 26))
"""Numbers of bins of a sweep."""
ROWS = (10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500)
"""Numbers of rows in each bin."""


@dataclass(frozen=True, eq=False, repr=False)
class ErrorSweep(Diagram):
    """A line per model and notion: arrays are (lines, numbers of bins).

    ``value`` is the error with that many bins. ``floor`` is the noise floor: the 95 % point of what a perfectly
    calibrated model with these predictions shows. ``low`` and ``high`` are the interval at ``level`` of the error in
    these bins. All are NaN where they were not requested. ``notes`` contain, line by line, why a requested floor could
    not be drawn. ``estimator`` is its key, and ``axis`` is the unit of ``bins``.
    """

    formula: ClassVar[str] = (
        r"B \mapsto \sum_l w_l \sum_{b=1}^{B} \frac{n_{lb}}{n_l}\,\bigl|\bar z_{lb} - \bar s_{lb}\bigr|"
    )

    bins: tuple[int, ...]
    models: tuple[str, ...]
    notions: tuple[str, ...]
    value: Float64s
    floor: Float64s
    low: Float64s
    high: Float64s
    estimator: str = "ece"
    axis: str = "number of equal-width bins"
    level: float = LEVEL
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The estimator by its name on screen."""
        return ESTIMATORS[self.estimator].title

    @property
    def squared(self) -> bool:
        """True if the errors are squares rather than shares."""
        return unit_of(self.estimator) == "square"

    @property
    def ranged(self) -> bool:
        """True if it has intervals."""
        return not np.isnan(self.low).all()

    def frame(self) -> pd.DataFrame:
        """One line per point, exactly the numbers drawn; the ends of intervals if requested."""
        each = len(self.bins)
        columns = {
            "model": np.repeat(np.asarray(self.models, dtype=object), each),
            "notion": np.repeat(np.asarray(self.notions, dtype=object), each),
            "bins": np.tile(self.bins, len(self.models)),
            "value": self.value.ravel(),
            "floor": self.floor.ravel(),
        }
        if self.ranged:
            columns |= {"low": self.low.ravel(), "high": self.high.ravel()}
        return pd.DataFrame(columns)


def error_sweep(
    models: Predictions | Refits | Mapping[str, Predictions | Refits],
    notions: Sequence[str] | None = None,
    estimator: str = "ece",
    bins: Sequence[int] | None = None,
    floor: bool = True,
    random_state: int = SEED,
    progress: Callable[[int], object] | None = None,
    *,
    kind: str | None = None,
    intervals: bool = False,
    level: float = LEVEL,
) -> ErrorSweep:
    """A binned error for every number of bins, of one model or of several (base and recalibrated).

    ``notions`` have one line each; by default the event if all models have one, else confidence and top-label.
    ``estimator`` is the key of an estimator that takes bins. ``kind`` is the key of bins that have a number: how many
    there are, or how many rows each contains. By default bins are of equal width, or placed by the estimator. ``bins``
    are the numbers, by default 5 to 25 bins or 10 to 500 rows. A model of ``calibrators.refitted`` is refitted for
    each. What can mislead: the error rises with the number of bins even for a calibrated model, since bins contain
    fewer rows. Compare it with the floor, which rises too. ``intervals`` (at ``level``) are of the true error in these
    bins, as ``estimate(...).interval()`` returns them for each number. A value can therefore be above its own interval.
    ``progress`` receives percent.

    References: P1 §2.2, Fig. 2 and 5-8; P2 Fig. 2.

    >>> p = Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    >>> error_sweep(p, ["confidence"], bins=[5, 10], floor=False).value.tolist()
    [[0.0, 0.0]]
    """
    by_rows = kind is not None and bool(cuts(as_binning(kind)).rows)
    numbers = tuple(ROWS if by_rows else BINS) if bins is None else tuple(bins)
    if not numbers or any(not isinstance(b, Integral) or b < 1 for b in numbers):
        raise RegistryError(f"bins is {numbers!r:.80}; it must contain whole numbers of at least 1")
    members = [_member(estimator, kind, int(b)) for b in numbers]
    named = models if isinstance(models, Mapping) else {"model": models}
    notions = _by_default(named) if notions is None else notions
    lines = [(name, notion) for name in named for notion in notions]
    if not lines:
        raise InputError(f"{len(named)} models in {len(notions)} notions give no line; at least one of each is needed")
    found = np.full((len(lines), len(numbers), 4), np.nan)
    notes = [""] * len(lines)
    for line, (name, notion) in enumerate(lines):
        model, reduction = named[name], as_reduction(notion)
        anew = isinstance(model, Refits)
        for where in [[j] for j in range(len(numbers))] if anew else [list(range(len(numbers)))]:
            rows = model.after(int(numbers[where[0]]), by_rows) if isinstance(model, Refits) else model
            mine = [members[j] for j in where]
            found[line, where, :2], notes[line] = _values(rows, reduction, mine, floor, random_state)
            for j in where:
                if intervals:
                    ends = estimate(rows, reduction, members[j]).interval(level)
                    found[line, j, 2:] = ends.low, ends.high
                if progress is not None:
                    progress(100 * (line * len(numbers) + j + 1) // (len(lines) * len(numbers)))
    value, noise, low, high = np.moveaxis(found, 2, 0).copy()
    return ErrorSweep(
        tuple(map(int, numbers)),
        tuple(name for name, _ in lines),
        tuple(notion for _, notion in lines),
        value,
        noise,
        low,
        high,
        estimator,
        _axis(kind) if reads_bins(estimator) or kind else "number of bins",
        level,
        tuple(notes),
    )


def _by_default(models: Mapping[str, Predictions | Refits]) -> tuple[str, ...]:
    """The notions of models where none are given."""
    rows = (model.test if isinstance(model, Refits) else model for model in models.values())
    return ("event",) if judged_notion(None, *rows) == "event" else ("confidence", "top-label")


def swept_kinds() -> tuple[str, ...]:
    """Keys of the kinds of bins of single scores that have a number, over which an error can be swept.

    >>> swept_kinds()
    ('equal-width', 'equal-mass', 'points-per-bin')
    """
    return tuple(key for key in BINNINGS if BINNINGS[key].flags.of == "interval" and BINNINGS[key].flags.number)


def swept_estimators() -> tuple[str, ...]:
    """Keys of the estimators that are judged in bins of any kind, each under its own name.

    >>> swept_estimators()
    ('ece', 'rmsce', 'mce', 'debiased-l2', 'debiased-ece', 'mce-of-bins')
    """
    return tuple(key for key in ESTIMATORS if reads_bins(key) and ESTIMATORS.recipe(ESTIMATORS.make(key)).key == key)


def _member(estimator: str, kind: str | None, number: int) -> Estimator:
    """The estimator with this number of bins, or of rows in each."""
    if not takes_bins(estimator, number):
        known = ", ".join(swept_estimators())
        raise RegistryError(f"{estimator!r} uses no bins, so there is no number of bins to vary; these do: {known}")
    if kind is None:
        return as_estimator(estimator, number)
    if not takes_bins(estimator):
        raise RegistryError(f"{estimator!r} places its bins itself; leave kind={kind!r} out")
    name = BINNINGS[kind].flags.number
    if not name:
        known = ", ".join(key for key in BINNINGS if BINNINGS[key].flags.number)
        raise RegistryError(f"bins of kind {kind!r} have no number to vary; these have: {known}")
    return as_estimator(estimator, BINNINGS.make(kind, **{name: number}))


def _axis(kind: str | None) -> str:
    """The varied quantity, in words."""
    if kind is None:
        return "number of equal-width bins"
    entry = BINNINGS[kind]
    label = inside(entry.param(entry.flags.number).label)
    return label if entry.flags.rows else f"{label}, {inside(entry.title)}"


def _values(
    predictions: Predictions, reduction: Reduction, members: Sequence[Estimator], floor: bool, seed: int
) -> tuple[Float64s, str]:
    """Value and noise floor of each estimator (members, 2), and why there is no floor where there is none.

    One pass, if counts in fixed bins are sufficient.
    """
    question, why = Question(predictions, reduction, None), ""
    claims = question.claims
    if floor:
        try:
            noise = floors(predictions, reduction, members, random_state=seed)
            return np.array([(drawn.observed, drawn.high) for drawn in noise]), ""
        except NotAnswerable as refusal:  # errors may have a value where no calibrated model can be drawn
            why = str(refusal)
    counted = [None] * len(members) if question.whole else sweep_tables(claims, members)
    every = zip(members, counted, strict=True)
    alone = (replace(question, estimator=e).of(claims).value if c is None else c.value(c.table) for e, c in every)
    return np.array([(value, np.nan) for value in alone]), why
