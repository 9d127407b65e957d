"""Binning schemes of an interval and of the simplex, and their registry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeGuard

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats, Rows
from calib_core.defaults import BINS
from calib_core.predictions.predictions import NotAnswerable
from calib_core.registry.registry import Registry, RegistryError


class IntervalScheme(Protocol):
    """Scheme that sets the inner edges of bins in [0, 1] from scores only, never from outcomes.

    Bins are closed on the left, the last one on both sides.
    """

    def fixed_edges(self) -> Float64s | None:
        """Return ascending inner edges that do not depend on the scores; None if they do."""

    def edges(self, ordered: Floats, weights: Float64s | None) -> Floats:
        """Return ascending inner edges for these ascending scores (and their weights), in the scores' dtype."""


class Partition(Protocol):
    """Partition of the simplex into cells: every distribution over the classes is in exactly one."""

    @property
    def n_cells(self) -> int:
        """Number of cells, including empty ones."""

    def codes(self, rows: Rows) -> Codes:
        """Return the cell of each row, (n,), 0..n_cells-1, from that row only."""

    def interior(self, rows: Rows, weights: Float64s | None) -> Float64s | None:
        """Return weights, within their cells, of the rows that set the cells; None: all 1."""

    def outlines(self) -> tuple[tuple[Float64s, ...], ...]:
        """Return each cell's polygons as barycentric vertices (m, 3) for three classes; empty for other numbers."""

    def title(self, cell: int, class_names: tuple[str, ...]) -> str:
        """Return a description of the cell's position."""


class SimplexScheme(Protocol):
    """Scheme that divides the simplex into cells from predictions only, never from outcomes."""

    def placed(self, rows: Rows, weights: Float64s | None) -> Float64s:
        """Return cutting planes set on these rows, (m, K + 1): direction and threshold; m = 0 for fixed cells."""

    def partition(self, n_classes: int, planes: Float64s) -> Partition:
        """Return the cells defined by these planes."""

    def unproven(self) -> str:
        """Return the reason why bounds for given cells are invalid for these cells; empty if they are valid."""


BinningScheme: TypeAlias = IntervalScheme | SimplexScheme


@dataclass(frozen=True)
class Cuts:
    """Declared properties of a binning scheme.

    ``of``: an "interval" of scores or the "simplex". ``pools``: it can pool strata, and then has a ``table``.
    ``one_a_value``: every distinct score has its own bin. ``bins`` and ``rows`` name the parameter for the
    number of bins, or of rows per bin; empty if there is none.
    """

    of: Literal["interval", "simplex"] = "interval"
    pools: bool = False
    one_a_value: bool = False
    bins: str = ""
    rows: str = ""

    @property
    def number(self) -> str:
        """Parameter that a sweep over bins changes; empty if there is none."""
        return self.bins or self.rows


BINNINGS: Registry[BinningScheme] = Registry("BINNINGS", flags=Cuts())


def cuts(scheme: BinningScheme) -> Cuts:
    """Return the declared properties of a scheme; an unregistered one is of an interval."""
    declared: Cuts = BINNINGS.flags(scheme)
    return declared


def of_interval(flags: Cuts) -> bool:
    """Return True for schemes of an interval."""
    return flags.of == "interval"


def of_simplex(flags: Cuts) -> bool:
    """Return True for schemes of the simplex."""
    return flags.of == "simplex"


def _is_scheme(bins: object) -> TypeGuard[BinningScheme]:
    return callable(getattr(bins, "edges", getattr(bins, "partition", None)))


def _bins_intervals(scheme: BinningScheme) -> TypeGuard[IntervalScheme]:
    return of_interval(cuts(scheme))


def _bins_simplex(scheme: BinningScheme) -> TypeGuard[SimplexScheme]:
    return of_simplex(cuts(scheme))


def as_binning(bins: int | str | Sequence[float] | BinningScheme | None) -> BinningScheme:
    """Return the binning given by key, by edges, as a number of equal-width bins, or as an object.

    None is the default number of equal-width bins; anything else raises RegistryError.

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
    if not _is_scheme(bins):
        raise _unknown_bins(bins)
    return bins


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
    """Return the binning of single scores; NotAnswerable for a partition of the simplex.

    >>> as_intervals("sierpinski")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    NotAnswerable
    """
    scheme = as_binning(bins)
    if _bins_intervals(scheme):
        return scheme
    raise NotAnswerable(
        "a partition of the simplex is for whole probability vectors, but these claims are single scores. Choose "
        "bins of single scores (such as equal-width), or the canonical notion"
    )


def as_simplex(bins: int | str | BinningScheme) -> SimplexScheme:
    """Return the binning of whole probability vectors; NotAnswerable for bins of an interval."""
    scheme = as_binning(bins)
    if _bins_simplex(scheme):
        return scheme
    known = ", ".join(key for key in BINNINGS if of_simplex(BINNINGS[key].flags))
    raise NotAnswerable(
        "canonical calibration is about whole probability vectors, which cannot be sorted into bins of a single score. "
        f"Choose another notion, or a partition of the simplex (bins= one of {known})"
    )
