"""The error against the number of bins, with what noise alone would show (P1 Fig. 2 and 5-8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from calib_core._arrays import Float64s
from calib_core.binning import EqualWidth
from calib_core.diagrams.base import Diagram
from calib_core.estimators.base import as_estimator
from calib_core.inference.many_binnings import floors, sweep_tables
from calib_core.predictions import Predictions
from calib_core.reductions import as_reduction, claims_of
from calib_core.registry import RegistryError

BINS = tuple(range(5, 26))


@dataclass(frozen=True, eq=False, repr=False)
class ErrorSweep(Diagram):
    """A line per model and notion: arrays are (lines, bin counts).

    ``value`` is the error with that many bins; ``floor`` the noise floor, the 95 % point of what a perfectly calibrated
    model with these predictions shows, NaN where none was asked for.
    """

    formula: ClassVar[str] = (
        r"B \mapsto \sum_l w_l \sum_{b=1}^{B} \frac{n_{lb}}{n_l}\,\bigl|\bar z_{lb} - \bar s_{lb}\bigr|"
    )

    bins: tuple[int, ...]
    models: tuple[str, ...]
    notions: tuple[str, ...]
    value: Float64s
    floor: Float64s

    def frame(self) -> pd.DataFrame:
        """One line per point, exactly the numbers drawn."""
        each = len(self.bins)
        columns = {
            "model": np.repeat(np.asarray(self.models, dtype=object), each),
            "notion": np.repeat(np.asarray(self.notions, dtype=object), each),
            "bins": np.tile(self.bins, len(self.models)),
            "value": self.value.ravel(),
            "floor": self.floor.ravel(),
        }
        return pd.DataFrame(columns)


def error_sweep(
    models: Predictions | dict[str, Predictions],
    notions: Sequence[str] = ("confidence", "top-label"),
    estimator: str = "ece",
    bins: Sequence[int] = BINS,
    floor: bool = True,
    random_state: int = 0,
    progress: Callable[[int], object] | None = None,
) -> ErrorSweep:
    """A binned error for every number of equal-width bins, of one model or of several (base and recalibrated).

    ``estimator`` is the key of an estimator with a ``binning``. What can mislead: the error rises with the number of
    bins also where the model is calibrated, since bins hold fewer rows; read it against the floor, which rises too.
    ``progress`` is told percent.

    References: P1 §2.2 and Fig. 2.

    >>> p = Predictions([[0.75, 0.25]] * 4, [0, 0, 0, 1])
    >>> error_sweep(p, ["confidence"], bins=[5, 10], floor=False).value.tolist()
    [[0.0, 0.0]]
    """
    if not bins or min(bins) < 1:
        raise RegistryError(f"bins is {tuple(bins)!r}; it must hold whole numbers of at least 1")
    named = models if isinstance(models, dict) else {"model": models}
    lines = [(name, notion) for name in named for notion in notions]
    points = []
    for name, notion in lines:
        points.append(_line(named[name], notion, estimator, bins, floor, random_state))
        if progress is not None:
            progress(100 * len(points) // len(lines))
    numbers = np.array(points, dtype=np.float64).reshape(len(lines), len(bins), 2)
    return ErrorSweep(
        tuple(int(b) for b in bins),
        tuple(name for name, _ in lines),
        tuple(notion for _, notion in lines),
        *(np.ascontiguousarray(numbers[:, :, i]) for i in range(2)),
    )


def _line(
    predictions: Predictions, notion: str, estimator: str, bins: Sequence[int], floor: bool, seed: int
) -> list[tuple[float, float]]:
    reduction = as_reduction(notion)
    members = [as_estimator(estimator, EqualWidth(b)) for b in bins]
    if floor:
        found = floors(predictions, reduction, members, random_state=seed)
        return [(noise.observed, noise.high) for noise in found]
    claims = claims_of(predictions, reduction)
    counted = sweep_tables(claims, members)
    values = [e(claims).value if c is None else c.value(c.table) for e, c in zip(members, counted, strict=True)]
    return [(value, float("nan")) for value in values]
