"""Claims known by counts on a grid: a third shape beside listed ones and matrices whose columns are strata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats
from calib_core._base.errors import NotAnAttribute, NotAnswerable
from calib_core._base.notebook_display import OneLine
from calib_core.claims.binary_claims import EQUAL_PARTS, FEWEST_PARTS
from calib_core.claims.row_covariance import SharedRows
from calib_core.claims.tallies import Moments, Tally
from calib_core.predictions.predictions import Grain, Predictions, event_among
from calib_core.summaries.cells import EDGES, Cells, PairCells, lowest, starts_of

NEEDS_ROWS = (
    "{} needs rows, and a summary holds counts of them; open the file that it was made of, or look at the rows that it "
    "keeps (read with layout=kept-rows)"
)


@dataclass(frozen=True, eq=False, repr=False)
class CountedStratum(OneLine):
    """One stratum by its counts: bins are placed, and claims summed, as if each had the lowest score of its cell."""

    cells: Cells
    dtype: np.dtype[Any]
    weights: ClassVar[None] = None

    @property
    def total(self) -> float:
        """How many claims there are."""
        return float(self.cells.n_claims)

    @property
    def means(self) -> tuple[Float64s, Float64s, Float64s]:
        """Of each cell that holds claims, by ascending score: their mean score, their number, and how many came true.

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
        """The stratum itself: every claim counts."""
        return self

    def in_order(self) -> OrderedCounts:
        """The cells by ascending score."""
        lower = lowest(self.cells.place, self.dtype)
        return OrderedCounts(lower, self.cells.count.astype(np.float64), self.cells)

    def one_a_row(self, ranks: int = 1) -> bool:
        """Is every row known to make one claim?"""
        return ranks == 1 and not self.same_rows

    def __getattr__(self, name: str) -> Any:
        return _missing(name)

    def _line(self) -> str:
        return f"{self.cells.n_claims:,} claims, counted"


@dataclass(frozen=True, eq=False, repr=False)
class OrderedCounts(OneLine):
    """Cells of one stratum by ascending score: the scores (m,) that stand for them, how many claims each holds."""

    scores: Floats
    weights: Float64s
    cells: Cells

    def sums(self, edges: Floats) -> Tally:
        """Sums over the cells between ascending inner edges, which are some of the scores."""
        found = self.cells.moments([starts_of(edges)], 1)
        assert found.exact is not None
        return Tally.of_exact(found.count[0], found.outcome[0], found.exact[:1, 0])

    def __getattr__(self, name: str) -> Any:
        return _missing(name)


@dataclass(frozen=True, eq=False, repr=False)
class CountedClaims(OneLine):
    """What is known of claims by their counts on the grid; every claim has weight 1."""

    cells: Cells
    strata: tuple[str, ...]
    shares: Float64s
    dtype: np.dtype[Any]
    same_rows: bool = False
    floor: float = 0.0
    weights: None = None
    pairs: PairCells | None = None
    ranks: int = 1
    grain: ClassVar[Grain] = "counts"

    def reweighed(self, weights: Float64s | None) -> CountedClaims:
        """The same claims; NotAnswerable for any weights."""
        if weights is not None:
            raise NotAnswerable(NEEDS_ROWS.format("weighing rows"))
        return self

    def stratum(self, s: int) -> CountedStratum:
        """What is known of one stratum; the claims themselves are not."""
        return CountedStratum(self.cells.stratum(s), self.dtype)

    def tally(self, edges: Floats) -> Tally:
        """Sums over the cells between ascending inner ``edges``, which must lie on the grid."""
        found = self.moments([edges])
        assert found.exact is not None
        return Tally.of_exact(found.count, found.outcome, found.exact[:1])

    def moments(self, edge_sets: Sequence[Floats]) -> Moments:
        """The same, with the sums of powers; one set of edges for all strata, or one a stratum."""
        return self.cells.moments([starts_of(edges) for edges in edge_sets], len(self.strata))

    def shared(self, edge_sets: Sequence[Floats], joined: Codes | None = None, ranks: int = 1) -> SharedRows:
        """What is kept of how the claims of a row go together; NotAnswerable where it is not, or not in such bins."""
        if self.pairs is None:
            raise NotAnswerable(
                "how the claims of a row go together is not in these counts, of too many classes or made by an older "
                "version: intervals and noise floors in this notion need it; make them again, ask in a notion of one "
                "claim a row (top-label, class-specific), or go back to the rows"
            )
        return self.pairs.coarsened(edge_sets, self.dtype, joined)

    def refined(self, edge_sets: Sequence[Floats]) -> Sequence[Floats]:
        """These edges and as many of the grid's between them as tell scores apart well enough."""
        number = max(EQUAL_PARTS // len(self.strata), FEWEST_PARTS)
        every = EDGES.astype(self.dtype)
        some = every[:: max(1, len(every) // number)]
        return [np.union1d(edges, some) for edges in edge_sets]

    def one_a_row(self, ranks: int = 1) -> bool:
        """Is every row known to make one claim?"""
        return ranks == 1 and not self.same_rows

    def __getattr__(self, name: str) -> Any:
        return _missing(name)

    def _line(self) -> str:
        return f"{self.cells.n_claims:,} claims in {len(self.strata):,} strata, counted"


_LISTED = frozenset({"scores", "outcomes", "codes", "rows", "hit", "hits"})


def _missing(name: str) -> Any:
    """What listed claims have and counts do not: NotAnswerable; anything else is nobody's."""
    if name in _LISTED:
        raise NotAnAttribute(NEEDS_ROWS.format("this"))
    raise AttributeError(name)


class CountedRows:
    """Rows of which counts are left: they weigh alike, stand alone, and none is declined."""

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
        """How many rows there are: they weigh alike."""
        return float(self.n_rows)

    @property
    def n_classes(self) -> int | None:
        """Number of classes K, None where only (confidence, correct) is known."""
        return None if self.class_names is None else len(self.class_names)

    @property
    def event(self) -> int | None:
        """The class of two whose predicted risk is judged, by its name; None where there are not two."""
        return event_among(self.kind, self.class_names, None)

    @property
    def answered(self) -> Self:
        """The same: no row is declined."""
        return self

    def in_own_notion(self, notion: Any) -> Any:
        """The claims in this notion, where they are what was counted; None where the notion is to make them."""
        return None

    def written_out(self) -> Self:
        """The same: rows weigh alike."""
        return self

    def as_discrete(self, discrete: bool = True) -> Self:
        """The same; NotAnswerable where one bin a value is asked for."""
        if discrete:
            raise NotAnswerable(NEEDS_ROWS.format("one bin a value"))
        return self

    def __getattr__(self, name: str) -> Any:
        # Only what is not found comes here: what predictions have and counts cannot.
        if not name.startswith("_") and name in _OF_ROWS:
            raise NotAnAttribute(NEEDS_ROWS.format("this"))
        raise AttributeError(f"a {type(self).__name__} has no {name}")


_OF_ROWS = frozenset(dir(Predictions)) | frozenset(Predictions.__dataclass_fields__)
