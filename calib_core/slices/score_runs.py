"""Runs of neighbouring scores within groups of rows: by how much the claims of the worst one are off, in each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import Codes, Float64s


@dataclass(frozen=True, eq=False)
class GroupFamily:
    """Groups that share no row: the number of each row's, (n,), -1 where it is in none, and what they are called."""

    codes: Codes
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Walks:
    """One family: its rows by group and score, where runs of equal scores end, and the first such of each group."""

    order: Codes
    ends: Codes
    first: Codes

    @property
    def starts(self) -> Codes:
        """Where the rows of each group begin."""
        return np.asarray(np.append(0, self.ends + 1)[self.first])

    def squares(self, amounts: Float64s, clusters: Codes) -> Float64s:
        """Squares of what rows of one cluster (n,) add up to in each group, added up, (groups,)."""
        group = np.repeat(np.arange(len(self.first)), np.diff(np.append(self.starts, len(self.order))))
        size = int(clusters.max()) + 1
        pairs, place = np.unique(group * size + clusters[self.order], return_inverse=True)
        sums = np.square(np.bincount(place, amounts[self.order]))
        return np.bincount(pairs // size, sums, len(self.first)).astype(np.float64)

    def ranges(self, moved: Float64s) -> Float64s:
        """Largest |sum| over runs of each group, (draws, groups), of numbers (draws, n) in order of the scores."""
        path = np.cumsum(moved[:, self.order], axis=1)[:, self.ends]
        before = np.column_stack([np.zeros(len(moved)), path])[:, self.first]
        above, below = np.maximum.reduceat(path, self.first, axis=1), np.minimum.reduceat(path, self.first, axis=1)
        return np.asarray(np.maximum(above, before) - np.minimum(below, before))


@dataclass(frozen=True, eq=False)
class Runs:
    """Groups of rows in order of their scores: ``names``, ``rows`` in each and their ``weight``, all (groups,).

    ``skipped`` are groups that hold rows, but too few.
    """

    walks: tuple[_Walks, ...]
    names: tuple[str, ...]
    rows: Codes
    weight: Float64s
    skipped: tuple[str, ...]

    @classmethod
    def of(
        cls,
        scores: Float64s,
        weights: Float64s,
        families: Sequence[GroupFamily],
        fewest: int,
        clusters: Codes | None = None,
        fewest_clusters: int = 0,
    ) -> Runs:
        """Of rows by ascending score (n,) and families of that order; groups of ``fewest`` rows or more.

        Where rows belong together, in ``clusters`` (n,), also of rows of ``fewest_clusters`` or more.
        """
        walks, names, skipped = [], list[str](), list[str]()
        rows, weight = list[Codes](), list[Float64s]()
        for family in families:
            known = family.codes >= 0
            size = len(family.names)
            count = np.bincount(family.codes[known], minlength=size)
            enough = count >= fewest
            if clusters is not None:
                pairs = np.unique(np.column_stack([family.codes[known], clusters[known]]), axis=0)
                enough &= np.bincount(pairs[:, 0], minlength=size) >= fewest_clusters
            kept = np.flatnonzero(enough)
            skipped += [family.names[g] for g in np.flatnonzero((count > 0) & ~enough).tolist()]
            if not len(kept):
                continue
            names += [family.names[g] for g in kept.tolist()]
            rows.append(count[kept])
            weight.append(np.bincount(family.codes[known], weights[known], size)[kept].astype(np.float64))
            mine = np.flatnonzero(np.isin(family.codes, kept))
            order = mine[np.argsort(family.codes[mine], kind="stable")]
            code, score = family.codes[order], scores[order]
            last = np.append((code[1:] != code[:-1]) | (score[1:] != score[:-1]), True)
            ends = np.flatnonzero(last)
            first = np.searchsorted(code[ends], kept)
            walks.append(_Walks(order, ends, first))
        if not names:
            return cls((), (), np.empty(0, dtype=np.intp), np.empty(0), tuple(skipped))
        return cls(tuple(walks), tuple(names), np.concatenate(rows), np.concatenate(weight), tuple(skipped))

    def errors(self, moved: Float64s) -> Float64s:
        """The error of each group, (draws, groups), of weighted residuals (draws, n)."""
        return np.concatenate([walk.ranges(moved) for walk in self.walks], axis=1) / self.weight

    def sums(self, amounts: Float64s) -> Float64s:
        """Sums of numbers (n,) over each group, (groups,)."""
        parts = [np.add.reduceat(amounts[walk.order], walk.starts) for walk in self.walks]
        return np.concatenate(parts)

    def squares(self, amounts: Float64s, clusters: Codes | None) -> Float64s:
        """Squares of what rows of one cluster (n,) add up to in each group, added up, (groups,); of rows without."""
        if clusters is None:
            return self.sums(np.square(amounts))
        return np.concatenate([walk.squares(amounts, clusters) for walk in self.walks])
