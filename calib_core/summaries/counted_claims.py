"""Aggregated claims, known by counts on a grid: the third form besides row-level claims and columns of a matrix.

Also aggregated proper scores: the observed loss of the rows, its expectation, and its possible range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from calib_core._base.arrays import (
    LARGE_BLOCK_BYTES,
    LOG_FLOOR,
    Bools,
    Codes,
    Float64s,
    Floats,
    FloatType,
    ReadOnly,
    frozen,
    safe_log,
    widened,
)
from calib_core._base.errors import NotAnAttribute, NotAnswerable
from calib_core._base.notebook_display import OneLine
from calib_core._base.parallel import chunks
from calib_core.claims.binary_claims import EQUAL_PARTS, FEWEST_PARTS
from calib_core.claims.exact_sums import ExactSums, Moments, Tally, added, halves
from calib_core.claims.probability_vectors import LabelMoments
from calib_core.claims.row_covariance import SharedRows
from calib_core.predictions import proper_scores
from calib_core.predictions.predictions import Grain, Predictions, event_among
from calib_core.summaries.cells import CELLS, EDGES, SUMS, Cells, PairCells, lowest, starts_of

NEEDS_ROWS = (
    "{} needs rows, but a summary contains only counts. Open the original file, or the sampled rows (read with "
    "layout=kept-rows)"
)


@dataclass(frozen=True, eq=False, repr=False)
class CountedStratum(OneLine):
    """One stratum by its counts; binning and sums treat every claim as having the lowest score of its cell."""

    cells: Cells
    dtype: FloatType
    weights: ClassVar[None] = None

    @property
    def total(self) -> float:
        """Number of claims."""
        return float(self.cells.n_claims)

    @property
    def means(self) -> tuple[Float64s, Float64s, Float64s]:
        """Mean score, number of claims and of occurred outcomes of each nonempty cell, by ascending score.

        >>> from calib_core.predictions.predictions import Predictions
        >>> from calib_core.reductions import Confidence
        >>> from calib_core.summaries import Summary
        >>> p = Predictions.from_confidence([0.75, 0.75], [True, False])
        >>> [part.tolist() for part in Confidence().split(Summary.of(p)).stratum(0).means]
        [[0.75], [2.0], [1.0]]
        """
        number = self.cells.count.astype(np.float64)
        return np.asarray(self.cells.sums.value[0] / number), number, self.cells.outcome.astype(np.float64)

    def counted(self) -> CountedStratum:
        """Return the stratum itself: every claim counts."""
        return self

    def in_order(self) -> OrderedCounts:
        """Return the cells by ascending score."""
        lower = lowest(self.cells.place, self.dtype)
        return OrderedCounts(lower, self.cells.count.astype(np.float64), self.cells)

    def one_a_row(self, ranks: int = 1) -> bool:
        """True if every row is known to make exactly one claim."""
        return ranks == 1 and not self.same_rows

    def __getattr__(self, name: str) -> Any:
        return _missing(name)

    def _line(self) -> str:
        return f"{self.cells.n_claims:,} claims, counted"


@dataclass(frozen=True, eq=False, repr=False)
class OrderedCounts(OneLine):
    """Cells of one stratum by ascending score: their scores (m,) and numbers of claims."""

    scores: Floats
    weights: Float64s
    cells: Cells

    def sums(self, edges: Floats) -> Tally:
        """Return sums over the cells between ascending inner edges, which must be among the scores."""
        found = self.cells.moments([starts_of(edges)], 1)
        assert found.exact is not None
        return Tally.of_exact(found.count[0], found.outcome[0], found.exact[:1, 0])

    def __getattr__(self, name: str) -> Any:
        return _missing(name)


@dataclass(frozen=True, eq=False, repr=False)
class CountedClaims(OneLine):
    """Claims by their counts on the grid; every claim has weight 1."""

    cells: Cells
    strata: tuple[str, ...]
    shares: Float64s
    dtype: FloatType
    same_rows: bool = False
    floor: float = 0.0
    weights: None = None
    pairs: PairCells | None = None
    ranks: int = 1
    grain: ClassVar[Grain] = "counts"

    @property
    def n_claims(self) -> int:
        """Number of claims."""
        return self.cells.n_claims

    def reweighed(self, weights: Float64s | None) -> CountedClaims:
        """Return the same claims without weights; NotAnswerable for any weights."""
        if weights is not None:
            raise NotAnswerable(NEEDS_ROWS.format("weighting"))
        return self

    def stratum(self, s: int) -> CountedStratum:
        """Return the counts of one stratum; individual claims are not available."""
        return CountedStratum(self.cells.stratum(s), self.dtype)

    def each_stratum(self) -> Iterator[CountedStratum]:
        """Yield the counts of every stratum."""
        return (self.stratum(s) for s in range(len(self.strata)))

    def tally(self, edges: Floats) -> Tally:
        """Return sums over the cells between ascending inner ``edges``, which must be on the grid."""
        found = self.moments([edges])
        assert found.exact is not None
        return Tally.of_exact(found.count, found.outcome, found.exact[:1])

    def moments(self, edge_sets: Sequence[Floats]) -> Moments:
        """Return sums including powers; one set of edges for all strata, or one per stratum."""
        return self.cells.moments([starts_of(edges) for edges in edge_sets], len(self.strata))

    def shared(self, edge_sets: Sequence[Floats], joined: Codes | None = None, ranks: int = 1) -> SharedRows:
        """Return the stored covariance of a row's claims; NotAnswerable if there is none, or none for these bins."""
        if self.pairs is None:
            raise NotAnswerable(
                "these counts lack the covariance of a row's claims (too many classes, or an older version), which "
                "intervals and noise floors in this notion need. Create them again, use a notion with one claim per "
                "row (top-label, class-specific), or use the original rows"
            )
        return self.pairs.coarsened(edge_sets, self.dtype, joined)

    def refined(self, edge_sets: Sequence[Floats]) -> Sequence[Floats]:
        """Return these edges with enough of the grid's edges between them to distinguish scores."""
        number = max(EQUAL_PARTS // len(self.strata), FEWEST_PARTS)
        every = EDGES.astype(self.dtype)
        some = every[:: max(1, len(every) // number)]
        return [np.union1d(edges, some) for edges in edge_sets]

    def in_order(self, ranks: int = 1) -> CountedClaims:
        """Return the counts themselves, which have no order."""
        return self

    def unanswered(self) -> None:
        """Return None: no row is known by itself."""

    def one_a_row(self, ranks: int = 1) -> bool:
        """True if every row is known to make exactly one claim."""
        return ranks == 1 and not self.same_rows

    def __getattr__(self, name: str) -> Any:
        return _missing(name)

    def _line(self) -> str:
        return f"{self.cells.n_claims:,} claims in {len(self.strata):,} strata, counted"


_LISTED = frozenset({"scores", "outcomes", "codes", "rows", "hit", "hits"})


def _missing(name: str) -> Any:
    """Raise NotAnswerable for row-level attributes, AttributeError for others."""
    if name in _LISTED:
        raise NotAnAttribute(NEEDS_ROWS.format("this"))
    raise AttributeError(name)


class CountedRows:
    """Rows known only by counts: equal weights, independent, none abstained."""

    kind: Any
    class_names: tuple[str, ...] | None
    outcome: str = ""
    n_rows: Any
    grain: ClassVar[Grain] = "counts"
    weights: ClassVar[None] = None
    row_groups: ClassVar[None] = None
    grouping: ClassVar[None] = None
    groups: ClassVar[None] = None
    abstained: ClassVar[None] = None
    metadata: ClassVar[None] = None
    logits: ClassVar[None] = None
    labels: ClassVar[None] = None
    discrete: ClassVar[bool] = False
    coverage: ClassVar[float] = 1.0
    worth_note: ClassVar[str] = ""

    @property
    def effective_rows(self) -> float:
        """Effective sample size: the number of rows, because weights are equal."""
        return float(self.n_rows)

    @property
    def n_classes(self) -> int | None:
        """Number of classes K; None if only (confidence, correct) is known."""
        return None if self.class_names is None else len(self.class_names)

    @property
    def event(self) -> int | None:
        """Event class of two classes, by its name; None for other numbers of classes."""
        return event_among(self.kind, self.class_names, None)

    @property
    def answered(self) -> Self:
        """Return self: no row is abstained."""
        return self

    def in_own_notion(self, notion: object) -> CountedClaims | None:
        """Return the claims in this notion if they are what was counted; None if the notion has to compute them."""
        return None

    def written_out(self) -> Self:
        """Return self: rows have equal weights."""
        return self

    def as_discrete(self, discrete: bool = True) -> Self:
        """Return self; NotAnswerable if one bin per value is requested."""
        if discrete:
            raise NotAnswerable(NEEDS_ROWS.format("one bin per value"))
        return self

    def __getattr__(self, name: str) -> Any:
        # Only missing attributes come here: those that predictions have but counts do not.
        if not name.startswith("_") and name in _OF_ROWS:
            raise NotAnAttribute(NEEDS_ROWS.format("this"))
        raise AttributeError(f"a {type(self).__name__} has no {name}")


_OF_ROWS = frozenset(dir(Predictions)) | frozenset(Predictions.__dataclass_fields__)


NORMAL = 0.1
"""Berry-Esseen ratio up to which the mean loss of calibrated rows is treated as normal."""
LOSS_SUMS = ("seen", "expected", "variance", "third", "surprise", "least", "most")
"""Sums over rows of the loss, of its expected moments, and of its smallest and largest possible value.

In this order: the loss; its mean, variance and third absolute moment if labels follow the probabilities. Then come
(loss - mean)^2, and the smallest and the largest possible loss.
"""
_POWERS = {"variance": 2, "third": 3, "surprise": 2}
"""Powers of the losses in the sums; 1 for all others."""


@dataclass(frozen=True, eq=False, repr=False)
class LossSums(ReadOnly, OneLine):
    """Exact sums of one score over rows: ``whole`` and ``part`` as in ``ExactSums``, one entry per LOSS_SUMS.

    ``reach`` is the largest difference between two possible losses of a row, and ``highest`` the largest possible loss.
    ``impossible`` is the number of rows that gave the true class probability 0, ``floored`` less than LOG_FLOOR.
    Losses are ``scale`` times those that were summed.
    """

    rows: int
    whole: Codes
    part: Codes
    reach: float
    highest: float
    impossible: int
    floored: int
    scale: float = 1.0

    @classmethod
    def together(cls, several: Sequence[LossSums]) -> LossSums:
        """Return the sums of several objects, independent of their order."""
        sums = added([ExactSums(each.whole, each.part) for each in several])
        return cls(
            sum(each.rows for each in several),
            frozen(sums.whole),
            frozen(sums.part),
            max(each.reach for each in several),
            max(each.highest for each in several),
            sum(each.impossible for each in several),
            sum(each.floored for each in several),
        )

    def mean(self, name: str) -> float:
        """Mean of one of LOSS_SUMS over rows."""
        i = LOSS_SUMS.index(name)
        return float(ExactSums(self.whole[i], self.part[i]).value) / self.rows * self.scale ** _POWERS.get(name, 1)

    def halved(self) -> LossSums:
        """The sums where every row loses half as much."""
        return replace(self, reach=self.reach / 2, highest=self.highest / 2, scale=self.scale / 2)

    def _line(self) -> str:
        return f"mean loss {self.mean('seen'):.4f} of {self.rows:,} rows, expected {self.mean('expected'):.4f}"


def loss_sums(predictions: Predictions, score: str) -> LossSums:
    """Return the sums of the "brier" score (over classes) or the "log-loss" (with the common floor) of predictions."""
    n = predictions.n_rows
    seen = proper_scores.brier_scores(predictions) if score == "brier" else proper_scores.log_losses(predictions)
    columns = np.empty((len(LOSS_SUMS), n))
    columns[0] = seen
    for where, block in predictions.rows.blocks(LARGE_BLOCK_BYTES):
        p = widened(block)
        lost = np.square(p).sum(axis=1, keepdims=True) - 2 * p + 1 if score == "brier" else -safe_log(p)
        each = LabelMoments.of(p, lost)
        columns[1:4, where] = each.expected, each.variance, each.third
        columns[4, where] = np.square(seen[where] - each.expected)
        columns[5:, where] = each.least, each.most
    return _summed(columns, proper_scores.label_probs(predictions))


def claim_losses(confidence: Floats, right: Bools) -> LossSums:
    """Return the sums of the Brier score of the top-label claim, as a two-class prediction: right or wrong."""
    h = confidence.astype(np.float64)
    given = np.where(right, h, 1.0 - h)
    hit, miss = 2.0 * np.square(1.0 - h), 2.0 * np.square(h)
    mean = h * hit + (1.0 - h) * miss
    up, down = np.abs(hit - mean), np.abs(miss - mean)
    seen = np.where(right, hit, miss)
    columns = np.array([
        seen, mean, h * up**2 + (1.0 - h) * down**2,
        h * (up * up * up) + (1.0 - h) * (down * down * down),  # powers are rounded differently on different machines
        np.square(seen - mean), np.minimum(hit, miss), np.maximum(hit, miss),
    ])  # fmt: skip
    return _summed(columns, given)


def counted_losses(cells: Cells) -> LossSums:
    """Return the sums of the Brier score of aggregated claims of one stratum.

    With r = outcome - h and v = h (1 - h), the loss of a claim is 2 r^2, its expectation 2 v and its variance 4 v (1 -
    4 v). Cells contain these sums. The third moment is at most that variance times 2 |1 - 2 h| (1 - 2 v) at the end of
    the cell that is further from 1/2. A p-value from it is therefore never too small. ``surprise`` uses the v of a
    cell's mean. ``impossible`` and ``floored`` losses are unknown, and none are counted.

    >>> from calib_core.summaries.cells import Cells
    >>> h, right = np.array([0.7, 0.9, 0.2]), np.array([True, False, False])
    >>> exact, found = claim_losses(h, right), counted_losses(Cells.of(h, right))
    >>> [abs(round(found.mean(name) - exact.mean(name), 9)) for name in ("seen", "expected", "variance")]
    [0.0, 0.0, 0.0]
    """
    kept = dict(zip(SUMS, cells.sums.value, strict=True))
    n, h, v = cells.count, kept["score"], kept["claim"]
    place = cells.place % CELLS
    ends = np.stack([np.append(0.0, EDGES)[place], np.append(EDGES, 1.0)[place]])
    variance = 4.0 * (v - 4.0 * kept["claim_square"])
    ratio = (2.0 * np.abs(1.0 - 2.0 * ends) * (1.0 - 2.0 * ends * (1.0 - ends))).max(axis=0)
    hit, miss = 2.0 * (n - h - v), 2.0 * (h - v)
    surprise = 4.0 * kept["second"] * (1.0 - 4.0 * v / n)
    columns = np.stack([
        2.0 * kept["second"], 2.0 * v, variance, variance * ratio, surprise,
        np.minimum(hit, miss), np.maximum(hit, miss),
    ])  # fmt: skip
    sums = ExactSums.of(columns.sum(axis=1))
    reach, highest = 2.0 * np.abs(1.0 - 2.0 * ends).max(), 2.0 * np.square(np.maximum(ends, 1.0 - ends)).max()
    return LossSums(cells.n_claims, frozen(sums.whole), frozen(sums.part), float(reach), float(highest), 0, 0)


_ROWS = 1 << 14
"""Rows whose losses are added at once: sums of numbers below 2^18 in units of 2^-20 are then exact in float64."""


def _summed(columns: Float64s, given: Float64s) -> LossSums:
    parts = [
        ExactSums.of(half.sum(axis=1)) for where in chunks(len(given), _ROWS) for half in halves(columns[:, where])
    ]
    sums = added(parts)
    reach, highest = float((columns[6] - columns[5]).max()), float(columns[6].max())
    impossible, floored = int((given == 0).sum()), int((given < LOG_FLOOR).sum())
    return LossSums(len(given), frozen(sums.whole), frozen(sums.part), reach, highest, impossible, floored)
