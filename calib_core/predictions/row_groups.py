"""Rows that belong together: measurements of one patient, answers to one question, texts of one author."""

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

FEWEST_GROUPS = 10
"""Groups below which how much they differ is not estimated: rows of a group then count as one."""


@dataclass(frozen=True, eq=False, repr=False)
class RowGroups(ReadOnly, OneLine):
    """The group of every row: ``codes`` (n,) 0..G-1 by first appearance, their ``values`` as texts, what a group is.

    ``alone``: every row is the only one of its group, so that rows are independent; the values still tell which groups
    another file shares.
    """

    codes: Codes
    values: NDArray[Any]
    name: str
    alone: bool = False

    @property
    def words(self) -> str:
        """How many groups, and of what: the end of a sentence about rows.

        >>> RowGroups(np.array([0, 1, 0]), np.array(["a", "b"]), "patient").words
        '2 groups (patient)'
        """
        return f"{len(self.values):,} group{'' if len(self.values) == 1 else 's'}{self.kind}"

    @property
    def kind(self) -> str:
        """What a group is, to follow the word in brackets; nothing where nobody said."""
        return "" if self.name == "group" else f" ({self.name})"

    @property
    def together(self) -> str:
        """What is done about them, to follow what an interval is about.

        >>> RowGroups(np.array([0, 1, 0]), np.array(["a", "b"]), "patient").together
        ', rows of a group (patient) taken together'
        """
        return f", rows of a group{self.kind} taken together"

    def take(self, places: Codes) -> RowGroups:
        """The groups of chosen rows; rows that stood alone stay so when they are repeated, as copies are."""
        return _grouped(self.codes[places], self.values, self.name, self.alone)

    def first_part(self, strata: NDArray[np.generic], share: float, random_state: int) -> Bools:
        """Rows of the first part of a seeded split that keeps groups whole, (n,).

        Groups are ordered by the stratum of most of their rows, then by size, at random among those that are alike;
        every 1/share-th is taken from a random start. So both parts have groups of every kind and size, and the share
        of the rows is met as nearly as whole groups allow.
        """
        rng = np.random.default_rng(random_state)
        order = self._shuffled(strata, rng)
        chosen = np.zeros(len(order), dtype=bool)
        chosen[order] = np.diff(np.floor(np.arange(len(order) + 1) * share + rng.random())) > 0
        return np.asarray(chosen[self.codes])

    def folds(self, strata: NDArray[np.generic], folds: int, random_state: int) -> Codes:
        """The fold of every row, (n,): whole groups, ordered as for ``first_part``, are dealt out in turn."""
        order = self._shuffled(strata, np.random.default_rng(random_state))
        fold = np.empty(len(order), dtype=np.intp)
        fold[order] = np.arange(len(order)) % folds
        return np.asarray(fold[self.codes])

    def _shuffled(self, strata: NDArray[Any], rng: np.random.Generator) -> Codes:
        sizes = np.bincount(self.codes, minlength=len(self.values))
        return np.asarray(np.lexsort((rng.random(len(sizes)), sizes, self._most_common(strata))))

    def _most_common(self, strata: NDArray[Any]) -> Codes:
        """The stratum of most rows of each group, the first of them on a tie."""
        pairs = self.codes * (int(strata.max()) + 1) + strata.astype(np.intp)
        seen, often = np.unique(pairs, return_counts=True)
        group, stratum = np.divmod(seen, int(strata.max()) + 1)
        last = np.lexsort((-stratum, often, group))
        return np.asarray(stratum[last][np.flatnonzero(np.diff(group[last], append=-1))])

    def _line(self) -> str:
        return f"{len(self.codes):,} rows in {self.words}"


def dealt(strata: NDArray[np.generic], folds: int, random_state: int) -> Codes:
    """The fold of every row, 0..folds-1: each stratum is dealt out in a random order, one row a fold in turn."""
    order = np.lexsort((np.random.default_rng(random_state).random(len(strata)), strata))
    fold = np.empty(len(strata), dtype=np.intp)
    fold[order] = np.arange(len(strata)) % folds
    return fold


class Grouped(Protocol):
    """What has rows that can belong together."""

    @property
    def row_groups(self) -> RowGroups | None: ...


def as_groups(groups: ArrayLike | RowGroups | str | None, metadata: pd.DataFrame | None, n: int) -> RowGroups | None:
    """Groups of n rows as they are given: any values, a row each, or the name of a column of the metadata.

    InputError where a value is missing, and where all rows are one group:
    then nothing is known of how groups differ.
    """
    if groups is None or isinstance(groups, RowGroups):
        return groups
    name = str(groups.name) if isinstance(groups, pd.Series) and groups.name else "group"
    if isinstance(groups, str):
        if metadata is None or groups not in metadata:
            known = "there is no metadata" if metadata is None else f"its columns are {', '.join(map(str, metadata))}"
            raise InputError(f"groups is {groups!r}, which is no column of the metadata: {known}")
        name, groups = groups, metadata[groups]
    given = plain(groups)
    if given.shape != (n,):
        raise InputError(f"groups has shape {given.shape}, the predictions {n} rows; give one group a row")
    codes, values = pd.factorize(given)
    if (codes < 0).any():
        raise InputError(f"groups row {int(np.argmin(codes))} is missing; every row needs its group ({name})")
    if len(values) == 1 and n > 1:
        raise InputError(
            f"all {n:,} rows belong to one group ({name}): how groups differ cannot be seen; give no groups, or "
            "rows of several"
        )
    return _grouped(codes, np.array([str(value) for value in values], dtype=object), name)


RESPECTING = "ask for the ECE, a kernel error, the accuracy or a score, whose intervals respect groups"
"""What to ask for where rows belong together."""


def refuse_groups(predictions: Grouped, what: str, instead: str = RESPECTING) -> None:
    """NotAnswerable where rows belong together and ``what`` is made for independent ones."""
    if predictions.row_groups is not None:
        raise NotAnswerable(made_for_single_rows(predictions.row_groups, what, instead))


def made_for_single_rows(groups: RowGroups, what: str, instead: str = RESPECTING) -> str:
    """Why something made for independent rows is not answered, and what is."""
    return f"rows belong to {groups.words}, and {what} takes rows for independent: judge one row a group, or {instead}"


def same_groups(first: RowGroups | None, second: RowGroups | None) -> bool:
    """Do two models' rows belong together in the same way, whatever the groups are called?"""
    if first is None or second is None:
        return first is second
    return bool(np.array_equal(first.codes, second.codes))


def groups_on_both_sides(first: RowGroups | None, second: RowGroups | None) -> int:
    """How many groups have rows on both sides."""
    return 0 if first is None or second is None else len(np.intersect1d(first.values, second.values))


def _grouped(codes: Any, values: NDArray[Any], name: str, alone: bool = False) -> RowGroups:
    again, kept = pd.factorize(np.asarray(codes))
    each_once = alone or len(kept) == len(again)
    return RowGroups(frozen(again.astype(np.intp)), frozen(values[kept]), name, each_once)
