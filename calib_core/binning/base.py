"""What a binning scheme is, of an interval or of the simplex, and the one registry of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, cast

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats, Rows
from calib_core.defaults import BINS
from calib_core.predictions.predictions import NotAnswerable
from calib_core.registry.registry import Registry, RegistryError


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


def as_binning(bins: int | str | Sequence[float] | BinningScheme | None) -> BinningScheme:
    """A binning given by key, by its edges, as a number of equal-width bins, or as it is; None: the default number.

    RegistryError for anything else.

    >>> as_binning(5), as_binning([0, 0.5, 1])
    (EqualWidth(bins=5), Edges(values=(0.0, 0.5, 1.0)))
    """
    if bins is None:
        bins = BINS
    if isinstance(bins, str):
        return BINNINGS.make(bins)
    if isinstance(bins, (int, np.integer)):
        return BINNINGS.make("equal-width", bins=int(bins))
    if isinstance(bins, (list, tuple, np.ndarray)):
        return BINNINGS.make("edges", values=_edges(bins))
    if not callable(getattr(bins, "edges", getattr(bins, "partition", None))):
        raise _unknown_bins(bins)
    return cast(BinningScheme, bins)


def _edges(given: Sequence[object] | np.ndarray[Any, Any]) -> tuple[float, ...]:
    values = np.asarray(given)
    if values.ndim != 1 or not len(values) or values.dtype.kind not in "iuf":
        raise _unknown_bins(given)
    return tuple(values.tolist())


def _unknown_bins(given: object) -> RegistryError:
    return RegistryError(
        f"bins is {given!r}; give a number of bins (15), the name of a binning ({', '.join(BINNINGS)}), a list of "
        "edges ([0, 0.5, 1]) or a binning of calib_core.binning"
    )


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
