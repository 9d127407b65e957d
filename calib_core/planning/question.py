"""Base class of plans, their answers from the data in use, and the balance of the bins in use."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Float64s, Floats
from calib_core._base.errors import NotAnswerable
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme, as_binning, as_intervals, cuts
from calib_core.binning.interval_schemes import bins_said
from calib_core.defaults import LEVEL, RATIO, TOLERANCE
from calib_core.estimators.base import claimed_rows, notion_looked_at
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Recipe, Registry, params_of
from calib_core.text import Unit, at_level, between, in_percent

POINTS = 60
"""Number of points of a curve, without the marked ones."""


@dataclass(frozen=True, eq=False)
class RowsInUse:
    """Data for plans: calibration rows, test rows, their bins, and the tolerances of the error and of the ratio."""

    fit: Predictions | None = None
    test: Predictions | None = None
    bins: int | str | BinningScheme | None = None
    tolerance: float = TOLERANCE
    ratio: float = RATIO


class Plan:
    """Base class of questions about rows: dataclasses whose fields are controls, with None filled in from the data.

    ``along`` names the field on the curve's axis, ``wanted`` the field with the target bound (empty: there is none).
    ``rows_of`` is the part of the data that its rows belong to. ``leaves`` are fields that may stay None,
    ``scores`` fields that are plain numbers instead of shares. ``basis`` states the assumptions of its answers. The
    curve is over ``counts``, else over shares; its bounds are in ``unit``.
    """

    along: ClassVar[str] = "rows"
    wanted: ClassVar[str] = "error"
    rows_of: ClassVar[str] = "fit"
    leaves: ClassVar[tuple[str, ...]] = ()
    scores: ClassVar[tuple[str, ...]] = ()
    least: ClassVar[float] = 2
    most: ClassVar[float] = 10_000
    x_title: ClassVar[str] = ""
    y_title: ClassVar[str] = ""
    basis: ClassVar[str] = ""
    counts: ClassVar[bool] = True
    unit: ClassVar[Unit] = "share"

    def filled(self, rows: RowsInUse) -> Self:
        """Return the plan with all fields filled in; NotAnswerable names a field that the data do not determine."""
        missing = [field.name for field in dataclasses.fields(self) if getattr(self, field.name) is None]  # type: ignore[arg-type]
        found = {name: self._fact(name, rows) for name in missing}
        for param in params_of(type(self)):
            if param.name in found and found[param.name] is None and param.name not in self.leaves:
                raise NotAnswerable(
                    f"“{param.label}” ({param.name}) is missing; give a number, or a file that determines it"
                )
        return dataclasses.replace(self, **found)  # type: ignore[type-var]

    @property
    def idle(self) -> tuple[str, ...]:
        """Names of the fields that have no effect, given the others."""
        return ()

    def _fact(self, name: str, rows: RowsInUse) -> Any:
        if name == "error":
            return rows.tolerance
        part = rows.fit if self.rows_of == "fit" else rows.test
        known = part if part is not None else rows.test if rows.test is not None else rows.fit
        return None if known is None else FACTS[name](known, self)

    def curves(self, amounts: Float64s) -> dict[str, Float64s]:
        """Bounds (m,) at these amounts, by curve name; the first curve is the one for planning."""
        raise NotImplementedError

    def titled(self, curve: str) -> str:
        """Title of the vertical axis, by the name of the first curve."""
        return self.y_title

    def needed(self) -> float | None:
        """Least amount that reaches the target; None if there is no such amount or no target."""
        return None

    def answer(self) -> str:
        """Result at the planned amount, in sentences."""
        raise NotImplementedError

    def inverse(self) -> str:
        """Amount that the target needs, in sentences; empty if there is no target."""
        return ""

    @property
    def amount(self) -> float:
        """Planned amount on the curve's axis."""
        return float(getattr(self, self.along))

    @property
    def bound(self) -> float:
        """Bound at the planned amount."""
        return float(next(iter(self.curves(np.array([self.amount])).values()))[0])

    @property
    def limit(self) -> float | None:
        """Target bound."""
        return float(getattr(self, self.wanted)) if self.wanted else None

    def grid(self) -> Float64s:
        """Whole amounts, evenly spaced on a logarithmic scale, including the planned and the needed ones."""
        marked = [float(x) for x in (self.amount, self.needed()) if x is not None]
        first, most = min(self.least, *marked), max(self.most, 4.0 * self.least, *(4.0 * x for x in marked))
        return np.unique(np.append(np.round(np.geomspace(first, most, POINTS)), marked))


PLANS: Registry[Plan] = Registry("PLANS")
"""Questions about rows: guarantees for a number of rows, and rows for a target."""


def independent(predictions: Predictions) -> Predictions:
    """Return the answered rows if they are independent; NotAnswerable if they are grouped."""
    if predictions.row_groups is not None:
        raise NotAnswerable(
            f"the rows belong to {predictions.row_groups.words}, and this plan counts independent rows: give a "
            "number of independent rows"
        )
    return predictions.answered


def counted(predictions: Predictions) -> Predictions:
    """Return independent rows without weights; NotAnswerable if they are weighted."""
    rows = independent(predictions)
    if rows.weights is not None:
        raise NotAnswerable("the rows are weighted, and this guarantee counts each row once: give a number of rows")
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
"""Functions that determine a plan's open fields from the data; they return None if they cannot."""


def each(bound: Callable[[int], float], amounts: ArrayLike) -> Float64s:
    """Bound at each of these whole numbers, at most 1."""
    return np.array([min(1.0, bound(int(amount))) for amount in np.asarray(amounts)])


@dataclass(frozen=True, repr=False)
class PlanAnswer(OneLine):
    """Answer of a plan: the result at the planned amount, the amount for the target, and the assumptions.

    ``plan`` is the question with all fields filled in. ``amount`` is on the axis ``x_title``, and ``bound`` is the
    result there. ``needed`` is the least amount that reaches ``limit``, None if there is none or no target.
    """

    key: str
    title: str
    plan: Plan
    amount: float
    bound: float
    limit: float | None
    needed: float | None
    sentence: str
    inverse: str
    basis: str

    def _line(self) -> str:
        return self.sentence

    def frame(self) -> pd.DataFrame:
        """One row: the question, its answer and its numbers."""
        numbers = (self.amount, self.bound, self.limit, self.needed)
        return _frame([[self.key, self.title, self.sentence, self.inverse, self.basis, "", *numbers]])


_COLUMNS = ("key", "question", "answer", "inverse", "basis", "note", "amount", "bound", "limit", "needed")


def _frame(lines: list[list[object]]) -> pd.DataFrame:
    frame = pd.DataFrame(lines, columns=list(_COLUMNS))
    return frame.astype(dict.fromkeys(("amount", "bound", "limit", "needed"), float))


def answer(
    plan: str | Recipe | Plan,
    fit: Predictions | None = None,
    test: Predictions | None = None,
    bins: int | str | BinningScheme | None = None,
    tolerance: float = TOLERANCE,
    ratio: float = RATIO,
) -> PlanAnswer:
    """Answer a plan, with its open fields filled in from the data.

    ``fit`` are calibration rows, and ``test`` the test rows, in ``bins``. ``tolerance`` is the negligible error if the
    plan does not set it, ``ratio`` the tolerated ratio of observed to expected events. What can mislead: every sentence
    depends on the assumptions in ``basis``, which are a theorem for some plans and a rule of thumb for others. Raises
    NotAnswerable if neither the plan nor the data determine a field, or if grouped rows would be counted as
    independent.

    >>> answer(PLANS.make("histogram-binning", points=50, rows=5000)).bound.__round__(4)  # sqrt(log(2000) / 98)
    0.2785
    """
    member: Plan = PLANS.make(plan) if isinstance(plan, str) else plan.build() if isinstance(plan, Recipe) else plan
    whole = member.filled(RowsInUse(fit, test, bins, tolerance, ratio))
    entry = PLANS.find(member)
    assert entry is not None
    return PlanAnswer(
        entry.key,
        entry.title,
        whole,
        whole.amount,
        whole.bound,
        whole.limit,
        whole.needed(),
        whole.answer(),
        whole.inverse(),
        whole.basis,
    )


def answers(
    plans: Sequence[str | Recipe | Plan] | None = None,
    fit: Predictions | None = None,
    test: Predictions | None = None,
    bins: int | str | BinningScheme | None = None,
    tolerance: float = TOLERANCE,
    ratio: float = RATIO,
) -> pd.DataFrame:
    """Answer several plans for the rows in use, one per row of the table.

    A question without an answer has the reason as a note. Parameters as in `answer`; ``plans`` None: all.

    >>> answers(["miscoverage"])["note"][0]
    '“Correct rows held out” (rows) is missing; give a number, or a file that determines it'
    """
    lines: list[list[object]] = []
    for plan in PLANS if plans is None else plans:
        recipe = PLANS.recipe(plan)
        try:
            lines += answer(recipe, fit, test, bins, tolerance, ratio).frame().to_numpy().tolist()
        except NotAnswerable as why:
            lines.append([recipe.key, PLANS[recipe.key].title, "", "", "", str(why), *[None] * 4])
    return _frame(lines)


FACTOR = 2.0
"""Factor around its equal share within which the mass of a well balanced bin is."""


@dataclass(frozen=True, eq=False, repr=False)
class BinBalance(OneLine):
    """Shares of the rows in each bin with simultaneous intervals, and the conclusion about balance.

    Arrays are (bins,); ``low`` and ``high`` are the ends. ``balanced`` is None if the rows do not decide. ``kind`` is
    the kind of bins, and ``of`` what is in them: "confidences" or "risks".
    """

    lower: Float64s
    upper: Float64s
    rows: Float64s
    share: Float64s
    low: Float64s
    high: Float64s
    balanced: bool | None
    level: float
    placed: str
    kind: str
    of: str

    def frame(self) -> pd.DataFrame:
        """One row per bin: edges, rows, share, its interval, and the ratio to the equal share."""
        columns = {"bin": np.arange(len(self.rows)), "lower": self.lower, "upper": self.upper, "rows": self.rows}
        columns |= {"share": self.share, "low": self.low, "high": self.high, "times": self.share * len(self.rows)}
        return pd.DataFrame(columns)

    @property
    def sentence(self) -> str:
        """Sentence on the balance of the bins, with the worst bin."""
        bins, equal = len(self.rows), 1.0 / len(self.rows)
        found = {True: "are well balanced", False: "are not well balanced", None: "may or may not be well balanced"}
        apart = np.maximum(self.share / equal, equal / np.maximum(self.share, 1e-300))
        worst = int(np.argmax(apart))
        span = between(self.lower[worst], self.upper[worst])
        return (
            f"The {bins} bins in use ({self.kind}) {found[self.balanced]} ({at_level(self.level)} confidence for all "
            f"bins). Well balanced: every bin has {between(equal / FACTOR, FACTOR * equal)} of the rows (half to twice "
            f"an equal share). The bin of {self.of} from {span} has {in_percent(self.share[worst])}."
        )

    def _line(self) -> str:
        return self.sentence


def balance_in_use(
    test: Predictions,
    fit: Predictions | None = None,
    bins: int | str | BinningScheme | None = None,
    level: float = LEVEL,
) -> BinBalance:
    """Test whether each bin of confidence, or of the event's risk, gets half to twice its equal share of future rows.

    Data-dependent bins are set on the calibration rows ``fit`` and counted on ``test``: on their own rows, shares are
    equal by construction. Intervals are Clopper-Pearson's at 1 - (1 - level) / B each. Bins are balanced if all
    intervals are within [1 / (2 B), 2 / B], unbalanced if one is outside, and otherwise undecided. What can mislead:
    unbalanced bins are fine in diagrams; only the bounds on estimation errors need balance.

    Raises NotAnswerable for grouped or weighted rows, for one bin, and for data-dependent bins without ``fit``.

    References: P2 Definition 4.2, Lemma 4.3; Clopper & Pearson 1934.

    >>> rows = Predictions([[0.9, 0.1], [0.6, 0.4]] * 200, [0, 0] * 200)
    >>> balance_in_use(rows, bins=2).balanced
    False
    """
    scheme = as_intervals(as_binning(bins))
    if cuts(scheme).pools:
        raise NotAnswerable(
            "bins merged by their number of rows have no equal share: choose equal-mass or equal-width bins"
        )
    rows = claimed_rows(independent(test))
    if rows.weights is not None:
        raise NotAnswerable("the rows are weighted, and exact intervals count each row once: leave the weights out")
    scores = rows.confidence
    fixed = scheme.fixed_edges()
    if fixed is None and fit is None:
        raise NotAnswerable(
            "data-dependent bins are set on calibration rows, which are not counted: give calibration rows, or choose "
            "equal-width bins"
        )
    edges: Floats | None = fixed
    if fit is not None and fixed is None:
        edges = scheme.edges(np.sort(claimed_rows(independent(fit)).confidence), None)
    assert edges is not None
    edges = np.asarray(edges).astype(scores.dtype)
    count = np.bincount(np.searchsorted(edges, scores, side="right"), minlength=len(edges) + 1).astype(np.float64)
    n, total = len(count), float(count.sum())
    if n < 2 or not total:
        raise NotAnswerable("a single bin is always balanced: choose more bins" if total else "no row is answered")
    low, high = clopper_pearson(count, np.full(n, total), 1.0 - (1.0 - level) / n)
    outside = (high < 1 / (FACTOR * n)) | (low > FACTOR / n)
    inside = (low >= 1 / (FACTOR * n)) & (high <= FACTOR / n)
    balanced = False if outside.any() else True if inside.all() else None
    ends = np.concatenate([[0.0], edges.astype(np.float64), [1.0]])
    placed = "" if fixed is not None else "calibration rows"
    kind = bins_said(scheme).removeprefix(f"{n} ")
    of = "risks" if notion_looked_at(test) == "event" else "confidences"
    return BinBalance(ends[:-1], ends[1:], count, count / total, low, high, balanced, level, placed, kind, of)
