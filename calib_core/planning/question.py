"""What a plan is: a bound as a function of rows, a wanted bound, and what of it the data in use can fill in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from calib_core._base.arrays import Float64s
from calib_core._base.errors import NotAnswerable
from calib_core.binning.base import BinningScheme
from calib_core.defaults import TOLERANCE
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Registry, params_of
from calib_core.text import Unit, inside

POINTS = 60
"""Points of a curve, beside those marked."""


@dataclass(frozen=True, eq=False)
class RowsInUse:
    """What plans are filled in from: calibration rows, test rows, the bins these are judged in, and the tolerance."""

    fit: Predictions | None = None
    test: Predictions | None = None
    bins: int | str | BinningScheme | None = None
    tolerance: float = TOLERANCE


class Plan:
    """One question about rows: a dataclass whose annotated fields are its controls; None is filled in from the data.

    ``along`` names the field that its curve is drawn over, ``wanted`` the one that holds the bound to reach (empty:
    there is none); ``rows_of`` the part of the data that its rows are of. ``leaves`` are fields that it does without.
    ``basis`` says in a sentence what its answers rest on. The curve is over ``counts``, else over shares; its bounds
    are in ``unit``.
    """

    along: ClassVar[str] = "rows"
    wanted: ClassVar[str] = "error"
    rows_of: ClassVar[str] = "fit"
    leaves: ClassVar[tuple[str, ...]] = ()
    least: ClassVar[float] = 2
    most: ClassVar[float] = 10_000
    x_title: ClassVar[str] = ""
    y_title: ClassVar[str] = ""
    basis: ClassVar[str] = ""
    counts: ClassVar[bool] = True
    unit: ClassVar[Unit] = "share"

    def filled(self, rows: RowsInUse) -> Self:
        """The same plan with everything said; NotAnswerable names what neither the plan nor the data say."""
        missing = [field.name for field in dataclasses.fields(self) if getattr(self, field.name) is None]  # type: ignore[arg-type]
        found = {name: self._fact(name, rows) for name in missing}
        for param in params_of(type(self)):
            if param.name in found and found[param.name] is None and param.name not in self.leaves:
                raise NotAnswerable(f"not known: {inside(param.label)}; say a number, or give a file to take it from")
        return dataclasses.replace(self, **found)  # type: ignore[type-var]

    @property
    def idle(self) -> tuple[str, ...]:
        """Names of the fields that change nothing as the others stand."""
        return ()

    def _fact(self, name: str, rows: RowsInUse) -> Any:
        if name == "error":
            return rows.tolerance
        part = rows.fit if self.rows_of == "fit" else rows.test
        known = part if part is not None else rows.test if rows.test is not None else rows.fit
        return None if known is None else FACTS[name](known, self)

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        """Bounds (m,) at these places along, by the names of their curves; the first is the one that is planned by."""
        raise NotImplementedError

    def needed(self) -> float | None:
        """The least place along that reaches what is wanted; None where none does, or nothing is wanted."""
        return None

    def answer(self) -> str:
        """What holds at the place planned, in sentences."""
        raise NotImplementedError

    def inverse(self) -> str:
        """What it takes to reach what is wanted, in sentences; empty where nothing is wanted."""
        return ""

    @property
    def amount(self) -> float:
        """The place along that is planned."""
        return float(getattr(self, self.along))

    @property
    def bound(self) -> float:
        """What holds there."""
        return float(next(iter(self.curves(np.array([self.amount])).values()))[0])

    @property
    def limit(self) -> float | None:
        """The bound that is wanted."""
        return float(getattr(self, self.wanted)) if self.wanted else None

    def grid(self) -> Float64s:
        """Whole places along, evenly spread over orders of magnitude, those planned and needed among them."""
        marked = [float(x) for x in (self.amount, self.needed()) if x is not None]
        first, most = min(self.least, *marked), max(self.most, 4.0 * self.least, *(4.0 * x for x in marked))
        return np.unique(np.append(np.round(np.geomspace(first, most, POINTS)), marked))


PLANS: Registry[Plan] = Registry("PLANS")
"""Questions about rows: what is promised with so many, and how many it takes."""


def independent(predictions: Predictions) -> Predictions:
    """The rows answered, where they are independent of one another; NotAnswerable where they belong together."""
    if predictions.row_groups is not None:
        raise NotAnswerable(
            f"the rows belong to {predictions.row_groups.words}, and this counts independent rows: say how many "
            "independent rows you count on"
        )
    return predictions.answered


def counted(predictions: Predictions) -> Predictions:
    """Independent rows that count once each; NotAnswerable where they carry weights."""
    rows = independent(predictions)
    if rows.weights is not None:
        raise NotAnswerable("the rows carry weights, and this promise counts each row once: say a number of rows")
    return rows


def _rows(predictions: Predictions, plan: Plan) -> int | None:
    if plan.rows_of == "test":
        return max(int(independent(predictions).effective_rows), 1)
    return counted(predictions).n_rows or None


def _rarest(predictions: Predictions, plan: Plan) -> float | None:
    if predictions.n_classes is None:
        return None
    rows = predictions.answered
    count = np.bincount(rows.predicted, rows.weights)
    return float(count[count > 0].min() / count.sum()) if count.any() else None


def _accuracy(predictions: Predictions, plan: Plan) -> float | None:
    rows = predictions.answered
    return float(np.average(rows.correct, weights=rows.weights)) if rows.n_rows else None


def _tied(predictions: Predictions, plan: Plan) -> float | None:
    scores = predictions.answered.confidence
    count = np.unique(scores, return_counts=True)[1]
    return float(count[count > 1].sum() / len(scores)) if len(scores) else None


FACTS: dict[str, Callable[[Predictions, Plan], Any]] = {
    "rows": _rows,
    "classes": lambda predictions, plan: predictions.n_classes,
    "rarest": _rarest,
    "accuracy": _accuracy,
    "tied": _tied,
}
"""What the data say about a field that a plan leaves open; None where they do not."""


def each(bound: Callable[[int], float], amounts: ArrayLike) -> Float64s:
    """A bound at each of these whole numbers, none above 1."""
    return np.array([min(1.0, bound(int(amount))) for amount in np.asarray(amounts)])
