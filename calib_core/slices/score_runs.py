"""Runs of neighbouring scores within groups of rows: by how much the claims of the worst one are off, in each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib_core._arrays import Codes, Float64s


@dataclass(frozen=True, eq=False)
class Family:
    """Groups that share no row: the number of each row's, (n,), -1 where it is in none, and what they are called."""

    codes: Codes
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Walks:
    """One family: its rows by group and score, where runs of equal scores end, and the first such of each group."""

    order: Codes
    ends: Codes
    first: Codes

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
    def of(cls, scores: Float64s, weights: Float64s, families: Sequence[Family], fewest: int) -> Runs:
        """Of rows by ascending score (n,) and families of that order; groups of ``fewest`` rows or more."""
        walks, names, skipped = [], list[str](), list[str]()
        rows, weight = list[Codes](), list[Float64s]()
        for family in families:
            known = family.codes >= 0
            size = len(family.names)
            count = np.bincount(family.codes[known], minlength=size)
            kept = np.flatnonzero(count >= fewest)
            skipped += [family.names[g] for g in np.flatnonzero((count > 0) & (count < fewest)).tolist()]
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
        starts = [np.append(0, walk.ends + 1)[walk.first] for walk in self.walks]
        parts = [np.add.reduceat(amounts[w.order], begin) for w, begin in zip(self.walks, starts, strict=True)]
        return np.concatenate(parts)
