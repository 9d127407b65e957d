"""Groups of related rows: measurements of one patient, answers to one question, texts of one author."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from calib_core._base.arrays import Bools, Codes, ReadOnly, frozen
from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.notebook_display import OneLine
from calib_core._base.pandas_input import plain
from calib_core.text import several

FEWEST_GROUPS = 10
"""With fewer groups, their variance is not estimated: the rows of a group then count as one."""


@dataclass(frozen=True, eq=False, repr=False)
class RowGroups(ReadOnly, OneLine):
    """The group of every row: ``codes`` (n,) 0..G-1 by first appearance, their ``values`` as text, and their meaning.

    ``alone``: every group has only one row, so rows are independent; the values still identify groups that another
    file shares.
    """

    codes: Codes
    values: NDArray[Any]
    name: str
    alone: bool = False

    @property
    def words(self) -> str:
        """The number and the meaning of the groups: the end of a sentence about rows.

        >>> RowGroups(np.array([0, 1, 0]), np.array(["a", "b"]), "patient").words
        '2 groups (patient)'
        """
        return f"{several(len(self.values), 'groups')}{self.kind}"

    @property
    def kind(self) -> str:
        """The meaning of the groups, to follow the word in parentheses; empty if none was given."""
        return "" if self.name == "group" else f" ({self.name})"

    @property
    def together(self) -> str:
        """Text about the handling of groups, to follow the subject of an interval.

        >>> RowGroups(np.array([0, 1, 0]), np.array(["a", "b"]), "patient").together
        ', clustered by group (patient)'
        """
        return f", clustered by group{self.kind}"

    def take(self, places: Codes) -> RowGroups:
        """Return the groups of chosen rows; single-row groups stay so when rows are repeated, as copies are."""
        return _grouped(self.codes[places], self.values, self.name, self.alone)

    def first_part(self, strata: NDArray[np.generic], share: float, random_state: int) -> Bools:
        """Select the rows of the first part of a seeded split that keeps groups whole, (n,).

        Groups are ordered by the stratum of most of their rows, then by size, with ties at random. Every 1/share-th is
        taken from a random start. So both parts have groups of every type and size, and the share of rows is as close
        as whole groups allow.
        """
        rng = np.random.default_rng(random_state)
        order = self._shuffled(strata, rng)
        chosen = np.zeros(len(order), dtype=bool)
        chosen[order] = np.diff(np.floor(np.arange(len(order) + 1) * share + rng.random())) > 0
        return np.asarray(chosen[self.codes])

    def folds(self, strata: NDArray[np.generic], folds: int, random_state: int) -> Codes:
        """Return the fold of every row, (n,): whole groups, ordered as in ``first_part``, are dealt out in turn."""
        order = self._shuffled(strata, np.random.default_rng(random_state))
        fold = np.empty(len(order), dtype=np.intp)
        fold[order] = np.arange(len(order)) % folds
        return np.asarray(fold[self.codes])

    def _shuffled(self, strata: NDArray[Any], rng: np.random.Generator) -> Codes:
        sizes = np.bincount(self.codes, minlength=len(self.values))
        return np.asarray(np.lexsort((rng.random(len(sizes)), sizes, self._most_common(strata))))

    def _most_common(self, strata: NDArray[Any]) -> Codes:
        """The stratum of most rows of each group; the first on a tie."""
        pairs = self.codes * (int(strata.max()) + 1) + strata.astype(np.intp)
        seen, often = np.unique(pairs, return_counts=True)
        group, stratum = np.divmod(seen, int(strata.max()) + 1)
        last = np.lexsort((-stratum, often, group))
        return np.asarray(stratum[last][np.flatnonzero(np.diff(group[last], append=-1))])

    def _line(self) -> str:
        return f"{len(self.codes):,} rows in {self.words}"


def dealt(strata: NDArray[np.generic], folds: int, random_state: int) -> Codes:
    """Return the fold of every row, 0..folds-1: each stratum is dealt out in random order, one row per fold in turn."""
    order = np.lexsort((np.random.default_rng(random_state).random(len(strata)), strata))
    fold = np.empty(len(strata), dtype=np.intp)
    fold[order] = np.arange(len(strata)) % folds
    return fold


class Grouped(Protocol):
    """Protocol of objects whose rows can have groups."""

    @property
    def row_groups(self) -> RowGroups | None: ...


def as_groups(groups: ArrayLike | RowGroups | str | None, metadata: pd.DataFrame | None, n: int) -> RowGroups | None:
    """Convert groups of n rows: any values, one per row, or the name of a metadata column.

    InputError for a missing value, and if all rows are one group, because the variation between groups is then unknown.
    """
    if groups is None or isinstance(groups, RowGroups):
        return groups
    name = str(groups.name) if isinstance(groups, pd.Series) and groups.name else "group"
    if isinstance(groups, str):
        if metadata is None or groups not in metadata:
            known = "there is no metadata" if metadata is None else f"its columns are {', '.join(map(str, metadata))}"
            raise InputError(f"groups is {groups!r}, which is not a column of the metadata; {known}")
        name, groups = groups, metadata[groups]
    given = plain(groups)
    if given.shape != (n,):
        raise InputError(f"groups has shape {given.shape}, but there are {n} predictions; give one group per row")
    codes, values = pd.factorize(given)
    if (codes < 0).any():
        raise InputError(f"groups row {int(np.argmin(codes))} is missing; every row needs its group ({name})")
    if len(values) == 1 and n > 1:
        raise InputError(
            f"all {n:,} rows belong to one group ({name}), so the variation between groups is unknown. Give no groups, "
            "or rows of several groups"
        )
    return _grouped(codes, np.array([str(value) for value in values], dtype=object), name)


RESPECTING = "use the ECE, a kernel error, the accuracy or a score, whose intervals respect groups"
"""Alternatives for grouped rows."""


def refuse_groups(predictions: Grouped, what: str, instead: str = RESPECTING) -> None:
    """NotAnswerable if rows are grouped and ``what`` requires independent rows."""
    if predictions.row_groups is not None:
        raise NotAnswerable(made_for_single_rows(predictions.row_groups, what, instead))


def made_for_single_rows(groups: RowGroups, what: str, instead: str = RESPECTING) -> str:
    """Return the message that something requires independent rows, with the alternatives."""
    return (
        f"rows belong to {groups.words}, but {what} requires independent rows. Evaluate one row per group, or {instead}"
    )


def same_groups(first: RowGroups | None, second: RowGroups | None) -> bool:
    """True if two models' rows have the same grouping, whatever the names of the groups."""
    if first is None or second is None:
        return first is second
    return bool(np.array_equal(first.codes, second.codes))


def groups_on_both_sides(first: RowGroups | None, second: RowGroups | None) -> int:
    """Number of groups with rows in both parts."""
    return 0 if first is None or second is None else len(np.intersect1d(first.values, second.values))


def _grouped(codes: Any, values: NDArray[Any], name: str, alone: bool = False) -> RowGroups:
    again, kept = pd.factorize(np.asarray(codes))
    each_once = alone or len(kept) == len(again)
    return RowGroups(frozen(again.astype(np.intp)), frozen(values[kept]), name, each_once)
