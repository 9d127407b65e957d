"""What a plan is, its answers from the data in use, and how balanced the bins in use are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Float64s
from calib_core._base.errors import NotAnswerable
from calib_core._base.notebook_display import OneLine
from calib_core.binning.base import BinningScheme, as_binning, as_intervals, cuts
from calib_core.binning.interval_schemes import bins_said
from calib_core.defaults import LEVEL, TOLERANCE
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Recipe, Registry, params_of
from calib_core.text import Unit, at_level, between, in_percent, inside

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


@dataclass(frozen=True, repr=False)
class PlanAnswer(OneLine):
    """What holds at the place planned, what it takes to reach what is wanted, and what both rest on.

    ``plan`` is the question with everything filled in. ``amount`` is the place along ``x_title``, ``bound`` what holds
    there; ``needed`` the least amount that reaches ``limit``, None where none does or nothing is wanted.
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
        """One line: the question, its answer and its numbers."""
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
) -> PlanAnswer:
    """What a plan promises, and how many rows it takes, filled in from the data where it leaves something open.

    ``fit`` are calibration rows, ``test`` the rows judged, in ``bins``; ``tolerance`` is the error that would not
    matter, where the plan does not say it. What can mislead: every sentence holds on what its ``basis`` says, which is
    a theorem for some plans and a rule of thumb for others. NotAnswerable where neither the plan nor the data say what
    it needs, or rows that belong together would be counted as independent.

    >>> answer(PLANS.make("histogram-binning", points=50, rows=5000)).bound.__round__(4)  # sqrt(log(2000) / 98)
    0.2785
    """
    member: Plan = PLANS.make(plan) if isinstance(plan, str) else plan.build() if isinstance(plan, Recipe) else plan
    whole = member.filled(RowsInUse(fit, test, bins, tolerance))
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
) -> pd.DataFrame:
    """What is promised with the rows in use, and how many it takes, a question a line.

    A question that cannot be answered has its reason as a note. Parameters as in `answer`; ``plans`` None: all.

    >>> answers(["miscoverage"])["note"][0]
    'not known: correct rows held out; say a number, or give a file to take it from'
    """
    lines: list[list[object]] = []
    for plan in PLANS if plans is None else plans:
        recipe = PLANS.recipe(plan)
        try:
            lines += answer(recipe, fit, test, bins, tolerance).frame().to_numpy().tolist()
        except NotAnswerable as why:
            lines.append([recipe.key, PLANS[recipe.key].title, "", "", "", str(why), *[None] * 4])
    return _frame(lines)


FACTOR = 2.0
"""How far from its equal share a bin may be where bins are called well balanced."""


@dataclass(frozen=True, eq=False, repr=False)
class BinBalance(OneLine):
    """Each bin's share of the rows with an interval that holds for all bins at once, and what follows for balance.

    Arrays are (bins,); ``low`` and ``high`` are the ends. ``balanced``: None where the rows cannot tell. ``kind`` says
    how the bins are cut.
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

    def frame(self) -> pd.DataFrame:
        """One line per bin: edges, rows, share, its interval and how many times its equal share that is."""
        columns = {"bin": np.arange(len(self.rows)), "lower": self.lower, "upper": self.upper, "rows": self.rows}
        columns |= {"share": self.share, "low": self.low, "high": self.high, "times": self.share * len(self.rows)}
        return pd.DataFrame(columns)

    @property
    def sentence(self) -> str:
        """Whether the bins are well balanced, and the bin that decides."""
        bins, equal = len(self.rows), 1.0 / len(self.rows)
        found = {True: "are well balanced", False: "are not well balanced", None: "may or may not be well balanced"}
        apart = np.maximum(self.share / equal, equal / np.maximum(self.share, 1e-300))
        worst = int(np.argmax(apart))
        span = between(self.lower[worst], self.upper[worst])
        return (
            f"The {bins} bins in use ({self.kind}) {found[self.balanced]} ({at_level(self.level)} sure, all bins "
            f"together). Half to twice an equal share is {between(equal / FACTOR, FACTOR * equal)} of the rows; "
            f"the bin of confidences from {span} has {in_percent(self.share[worst])}."
        )

    def _line(self) -> str:
        return self.sentence


def balance_in_use(
    test: Predictions,
    fit: Predictions | None = None,
    bins: int | str | BinningScheme | None = None,
    level: float = LEVEL,
) -> BinBalance:
    """Whether each bin of confidence holds between half and twice its equal share of the rows there are to come.

    Bins that follow the data are placed on the calibration rows ``fit`` and counted on ``test``: on the rows they were
    placed on, shares are equal by construction. Intervals are Clopper-Pearson's at 1 - (1 - level) / B each; balanced
    where all lie within [1 / (2 B), 2 / B], not where one lies outside, and else open. What can mislead: bins that are
    not balanced are fine to look at; it is the bounds on estimating errors that ask for balance.

    NotAnswerable for grouped or weighted rows, for one bin, and for bins that follow the data without ``fit``.

    References: P2 Definition 4.2, Lemma 4.3; Clopper & Pearson 1934.

    >>> rows = Predictions([[0.9, 0.1], [0.6, 0.4]] * 200, [0, 0] * 200)
    >>> balance_in_use(rows, bins=2).balanced
    False
    """
    scheme = as_intervals(as_binning(bins))
    if cuts(scheme).pools:
        raise NotAnswerable(
            "bins that are joined by their rows have no equal share: choose bins of equal mass or width"
        )
    rows = independent(test)
    if rows.weights is not None:
        raise NotAnswerable("the rows carry weights: exact intervals of shares count each row once")
    scores = rows.confidence
    fixed = scheme.fixed_edges()
    if fixed is None and fit is None:
        raise NotAnswerable(
            "bins that follow the data are placed on calibration rows, which are not counted: give them, or choose "
            "bins of equal width"
        )
    edges = fixed if fit is None or fixed is not None else scheme.edges(np.sort(independent(fit).confidence), None)
    assert edges is not None
    edges = np.asarray(edges).astype(scores.dtype)
    count = np.bincount(np.searchsorted(edges, scores, side="right"), minlength=len(edges) + 1).astype(np.float64)
    n, total = len(count), float(count.sum())
    if n < 2 or not total:
        raise NotAnswerable("one bin is balanced whatever it holds" if total else "no row makes a claim")
    low, high = clopper_pearson(count, np.full(n, total), 1.0 - (1.0 - level) / n)
    outside = (high < 1 / (FACTOR * n)) | (low > FACTOR / n)
    inside = (low >= 1 / (FACTOR * n)) & (high <= FACTOR / n)
    balanced = False if outside.any() else True if inside.all() else None
    ends = np.concatenate([[0.0], edges.astype(np.float64), [1.0]])
    placed = "" if fixed is not None else "calibration rows"
    kind = bins_said(scheme).removeprefix(f"{n} ")
    return BinBalance(ends[:-1], ends[1:], count, count / total, low, high, balanced, level, placed, kind)
