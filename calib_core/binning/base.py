"""What a binning scheme is, of an interval or of the simplex, and the one registry of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, cast

import numpy as np

from calib_core._arrays import Codes, Float64s, Floats, Rows
from calib_core.defaults import BINS
from calib_core.predictions import NotAnswerable
from calib_core.registry import Registry


class IntervalScheme(Protocol):
    """Places the inner edges of bins in [0, 1] from scores only, never from outcomes.

    Bins are closed on the left, the last one on both sides.
    """

    def fixed_edges(self) -> Float64s | None:
        """Inner edges that do not depend on the scores, ascending; None when they do."""

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        """Inner edges for these ascending scores (and their weights), ascending, in the scores' dtype."""


class Partition(Protocol):
    """The simplex cut into cells: every distribution over the classes lies in exactly one."""

    @property
    def n_cells(self) -> int:
        """How many cells there are, those without rows included."""

    def codes(self, rows: Rows) -> Codes:
        """The cell of each row, (n,), 0..n_cells-1, from the row alone."""

    def interior(self, rows: Rows, weights: Float64s | None) -> Float64s | None:
        """What each of the rows the cells were placed on counts in an estimate within its cell; None: all 1."""

    def outlines(self) -> tuple[tuple[Float64s, ...], ...]:
        """For three classes, each cell's polygons as barycentric vertices (m, 3); empty for other numbers."""

    def title(self, cell: int, class_names: tuple[str, ...]) -> str:
        """Where the cell lies, in words."""


class SimplexScheme(Protocol):
    """Cuts the simplex into cells, from predictions only, never from outcomes."""

    def placed(self, rows: Rows, weights: Float64s | None) -> Float64s:
        """Cutting planes placed on these rows, (m, K + 1): direction and threshold; m = 0 where cells are fixed."""

    def partition(self, n_classes: int, planes: Float64s) -> Partition:
        """The cells these planes cut."""

    def unproven(self) -> str:
        """Why bounds that hold within given cells do not hold within these, in words; empty where they do."""


BinningScheme: TypeAlias = IntervalScheme | SimplexScheme


@dataclass(frozen=True)
class Cuts:
    """What a scheme declares that it cuts, and how.

    ``of``: an "interval" of scores or the "simplex". ``pools``: it can put strata together, and then has a ``table``.
    ``one_a_value``: every distinct score has a bin of its own. ``bins`` and ``rows`` name the parameter that says how
    many bins there are, or how many rows each holds; empty where none does.
    """

    of: Literal["interval", "simplex"] = "interval"
    pools: bool = False
    one_a_value: bool = False
    bins: str = ""
    rows: str = ""

    @property
    def number(self) -> str:
        """The parameter that a sweep over bins changes; empty where there is none."""
        return self.bins or self.rows


BINNINGS: Registry[BinningScheme] = Registry("BINNINGS", flags=Cuts())


def cuts(scheme: BinningScheme) -> Cuts:
    """What the scheme declares that it cuts; one that is not registered cuts an interval."""
    declared: Cuts = BINNINGS.flags(scheme)
    return declared


def of_interval(flags: Cuts) -> bool:
    """Do schemes that declare this cut an interval?"""
    return flags.of == "interval"


def of_simplex(flags: Cuts) -> bool:
    """Do schemes that declare this cut the simplex?"""
    return flags.of == "simplex"


def as_binning(bins: int | str | BinningScheme | None) -> BinningScheme:
    """A scheme given by key, as it is, or as a number of equal-width bins; None: the default number of them."""
    if bins is None:
        bins = BINS
    if isinstance(bins, str):
        return BINNINGS.make(bins)
    return BINNINGS.make("equal-width", bins=int(bins)) if isinstance(bins, (int, np.integer)) else bins


def as_intervals(bins: int | str | BinningScheme | None) -> IntervalScheme:
    """The same for scores of one number; NotAnswerable for a partition of the simplex.

    >>> as_intervals("sierpinski")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    NotAnswerable
    """
    scheme = as_binning(bins)
    if of_interval(cuts(scheme)):
        return cast(IntervalScheme, scheme)
    raise NotAnswerable(
        "a partition of the simplex holds whole probability vectors, and the claims here are single scores: choose "
        "bins of an interval (equal-width, say), or the canonical notion"
    )


def as_simplex(bins: int | str | BinningScheme) -> SimplexScheme:
    """The same for whole probability vectors; NotAnswerable for bins of an interval."""
    scheme = as_binning(bins)
    if of_simplex(cuts(scheme)):
        return cast(SimplexScheme, scheme)
    known = ", ".join(key for key in BINNINGS if of_simplex(BINNINGS[key].flags))
    raise NotAnswerable(
        "canonical calibration is a claim about the whole probability vector, which bins of an interval cannot hold: "
        f"choose another notion, or a partition of the simplex (bins= one of {known})"
    )
