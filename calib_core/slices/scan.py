"""Scan of all columns and crossings of two for the largest errors, confirmed on other rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.diagram import Diagram
from calib_core._base.errors import as_share, as_whole
from calib_core._base.parallel import shared_out
from calib_core.columns.conditions import Slice
from calib_core.columns.cut import PARTS, CutColumn, divided_by
from calib_core.defaults import LEVEL, SEED, SIGNIFICANCE
from calib_core.estimators.base import claimed_rows
from calib_core.inference.intervals.elementary import share_floor, share_test
from calib_core.inference.significance.count_tests import SMALLEST, count_noise, counts_rows, node_counts, score_nodes
from calib_core.inference.significance.multiple_testing import benjamini_yekutieli, holm
from calib_core.predictions.predictions import NotAnswerable, Predictions, split_rows
from calib_core.slices.gaps import judged, unlike
from calib_core.text import in_percent, of_rows, share_range

MIN_ROWS = 50
FEWEST = 20
"""Smallest effective sample size of a slice, in the search and in the confirmation."""
MOST_CONFIRMED = 30
"""Largest number of slices tested on the confirmation rows."""
_DENSE = 8
"""Groups times slices, in rows, up to which each group has a sum for each slice, though most are of nothing."""
MOST_CELLS = 1000
"""Two columns that would make more slices are not crossed."""


@dataclass(frozen=True, eq=False, repr=False)
class SliceScan(Diagram):
    """Result of a scan: slices found on some rows and tested on the others, one line each in ``found``.

    ``looked`` slices were examined, and ``picked`` of them were significant on ``first`` rows. The largest of these
    were tested on ``second`` others by the ``test``. ``columns`` were examined, ``left_out`` were not, each with the
    reason; ``uncrossed`` pairs of columns make too many slices.
    """

    drawn: ClassVar[bool] = False

    found: pd.DataFrame
    looked: int
    picked: int
    first: int
    second: int
    test: str
    columns: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    uncrossed: int

    @property
    def headline(self) -> str:
        """The confirmed slice with the largest contribution, or a sentence that there is none."""
        if not self.looked:
            return "No slice has enough rows."
        confirming = f"the {self.second:,} confirmation rows"
        if not len(self.found) or not self.found["stands_out"].iloc[0]:
            where = confirming if len(self.found) else f"the {self.first:,} rows that the scan searched"
            if self.looked == 1:
                return f"The only slice examined is not significantly off on {where}."
            if not len(self.found):
                return f"None of {self.looked:,} slices is significantly off on {where}."
            seen = f"{self.picked:,} of {self.looked:,} slices {'was' if self.picked == 1 else 'were'} significant"
            return f"No slice is confirmed: {seen} on {self.first:,} rows, none on {self.second:,} others."
        worst = self.found.iloc[0]
        says, right = in_percent(worst["claimed"]), in_percent(worst["right"])
        rows = of_rows(worst["rows"], worst["worth"], worst.get("groups"))
        basis = f"{share_range(worst['low'], worst['high'])}, {rows}"
        where = f"Largest contribution to the error on {confirming}: {worst['slice']}"
        return f"{where}, mean {says}, observed {right} ({basis})."

    @property
    def basis(self) -> str:
        """Number of slices examined, rows used, and corrections."""
        crossings = " and crossings of two" if len(self.columns) > 1 else ""
        looked = (
            f"{self.looked:,} {'slice' if self.looked == 1 else 'slices'} of {len(self.columns)} "
            f"{'column' if len(self.columns) == 1 else 'columns'}{crossings} "
            f"{'was' if self.looked == 1 else 'were'} examined on {self.first:,} rows. {self.picked:,} "
            f"{'was' if self.picked == 1 else 'were'} significant there (Benjamini and Yekutieli), and not only as "
            f"{'part' if self.picked == 1 else 'parts'} of larger slices"
        )
        if not len(self.found):
            return f"{looked}. With few rows, an error of a slice is rarely significant."
        tested = f"The {len(self.found):,} largest of them were" if self.picked > len(self.found) else "They were"
        tested = "It was" if self.picked == 1 else tested
        confirmed = int(self.found["stands_out"].sum())
        return (
            f"{looked}. {tested} tested on {self.second:,} other rows: {confirmed:,} confirmed ({self.test}, "
            "Holm-corrected). All numbers are for these other rows."
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Columns and crossings that were not examined."""
        columns = [f"Column {name[:80]} was left out: {why}." for name, why in self.left_out]
        pairs = f"{self.uncrossed:,} pairs of columns were not crossed: each would make over {MOST_CELLS:,} slices."
        return (*columns, *([pairs] if self.uncrossed else []))

    def frame(self) -> pd.DataFrame:
        """One line per tested slice, confirmed slices first, then by contribution."""
        return self.found


def scan(
    predictions: Predictions,
    columns: Sequence[str] | None = None,
    crossings: bool = True,
    min_rows: int = MIN_ROWS,
    confirm: float = 0.5,
    random_state: int = SEED,
    parts: int = PARTS,
    progress: Callable[[int], object] | None = None,
    notion: str | None = None,
) -> SliceScan:
    """Search all slices of columns and crossings of two for errors, and confirm them on separate rows.

    Parameters
    ----------
    columns : names of metadata columns; by default all except those whose values identify single rows.
    crossings : whether columns are crossed two by two.
    min_rows : smallest number of rows of an examined slice, among the rows that are not held out.
    confirm : share of the rows held out, at random (``random_state``); slices that are significant on the others are
        tested there.
    parts : as for ``cut``.
    notion : as for ``table``: "event" for the predicted risk of two classes, None for that where there are two.

    On the first rows every slice has the p-value of ``table`` (Poisson-binomial, ``count_test``). Slices with an
    effective sample size below 20 are not examined. Then follows Benjamini and Yekutieli's correction for all examined
    slices, which is valid however slices overlap. Those at most 0.05 are ordered by share * (|gap| - noise floor).
    Crossings are left out if they are no further off, beyond noise, than a column's slice that contains them. The first
    30 are tested on the held-out rows by the same test, corrected by Holm. ``stands_out`` where the corrected p is at
    most 0.05 and the gap has the same sign. The held-out outcomes had no part in the choice. The chance of a false
    alarm for any slice is therefore at most 5 %, whatever was examined. Groups of rows stay on one side. A crossing of
    the same rows as a column's slice is not examined.

    The frame has the columns of ``table``, on the held-out rows, with p_holm for p_corrected. Further columns are
    first_gap and first_rows, the gap and the number of rows that selected the slice. What can mislead: half of the rows
    see less than all. Where the model is off everywhere, so is every slice (``differs`` marks slices that are off in
    another way). Slices overlap, and several can be one finding.

    References: Benjamini & Yekutieli 2001; Holm 1979; Hong 2013 (Poisson-binomial law).

    >>> site = np.repeat(["a", "b", "c", "d"], 500)
    >>> right = np.arange(2000) % 10 < np.where(site == "d", 6, 9)
    >>> found = scan(Predictions.from_confidence([0.9] * 2000, right, metadata=pd.DataFrame({"site": site})))
    >>> found.looked, found.frame()[["slice", "stands_out"]].values.tolist()
    (4, [['site = d', True]])
    """
    as_whole(min_rows, "min_rows", 1)
    as_share(confirm, "confirm")
    rows = claimed_rows(predictions, notion).answered
    by_name, left_out = divided_by(rows, columns, parts)
    cuts = list(by_name.values())
    alike = np.zeros(rows.n_rows, dtype=np.intp)
    together = rows.row_groups
    apart = (
        split_rows(alike, confirm, random_state)
        if together is None
        else together.first_part(alike, confirm, random_state)
    )
    if apart.all() or not apart.any():
        few = f"{rows.n_rows:,} rows" if together is None else f"rows in {together.words}"
        raise NotAnswerable(
            f"a scan searches for slices on some rows and tests them on others, but {few} cannot be divided like "
            "this. Use the slices of one column instead"
        )
    cells = _Cells.of(rows, cuts, np.flatnonzero(~apart), min_rows)
    pairs = list(itertools.combinations(range(len(cuts)), 2)) if crossings else []
    able = [pair for pair in pairs if math.prod(len(cuts[i].conditions) for i in pair) <= MOST_CELLS]
    every = [*((i,) for i in range(len(cuts))), *able]
    looked = cells.looked_over(every, progress)
    p = benjamini_yekutieli(looked["p"].to_numpy())
    picked = looked[(p <= SIGNIFICANCE) & looked["new"]].sort_values("adds", ascending=False, kind="stable")
    found = _confirmed(rows, cuts, every, np.flatnonzero(apart), picked.head(MOST_CONFIRMED))
    numbers = len(looked), len(picked), int((~apart).sum()), int(apart.sum())
    how = "exact test" if counts_rows(rows) else "Hoeffding's bound"
    return SliceScan(found, *numbers, how, tuple(by_name), left_out, len(pairs) - len(able))


@dataclass(frozen=True, eq=False)
class _Cells:
    """The examined rows as sums by slice of confidence and outcome.

    Each row's confidence lies ``between`` a node of these ``nodes`` and the next one, as ``count_test`` reads them.
    ``sides`` are rows and K - sum h of every column's own slices. ``together`` (n,) are the groups of the rows,
    ascending, each a group of its own where it has a weight that is no count. None where rows count equally, or as
    copies.
    """

    sizes: tuple[int, ...]
    codes: tuple[NDArray[np.unsignedinteger[Any]], ...]
    weights: Float64s | None
    parts: tuple[Float64s, Float64s]
    sides: tuple[tuple[Float64s, Float64s], ...]
    min_rows: int
    total: float
    nodes: Float64s
    between: Codes
    together: Codes | None = None

    @classmethod
    def of(cls, rows: Predictions, cuts: Sequence[CutColumn], places: Codes, min_rows: int) -> _Cells:
        groups = None
        if not counts_rows(rows):
            # In order of the groups, so that the sums of a group lie side by side.
            together = np.arange(rows.n_rows) if rows.groups is None else rows.groups
            places = places[np.argsort(together[places], kind="stable")]
            groups = np.unique(together[places], return_inverse=True)[1].astype(np.intp)
        h, right = (part[places].astype(np.float64) for part in (rows.confidence, rows.correct))
        w = None if rows.weights is None else rows.weights[places]
        parts = (h, right) if w is None else (w * h, w * right)
        away = parts[1] - parts[0]
        codes = tuple(cut.codes[places] for cut in cuts)
        sizes = tuple(len(cut.conditions) for cut in cuts)
        sides = tuple(
            (np.bincount(c, w, size).astype(np.float64), np.bincount(c, away, size).astype(np.float64))
            for c, size in zip(codes, sizes, strict=True)
        )
        total = float(len(places) if w is None else w.sum())
        nodes = score_nodes(h)
        between = np.minimum(np.searchsorted(nodes, h, side="right") - 1, len(nodes) - 2).astype(np.intp)
        return cls(sizes, codes, w, parts, sides, min_rows, total, nodes, between, groups)

    def looked_at(self, columns: tuple[int, ...]) -> Float64s:
        """Slices of one or two crossed columns that have enough rows and are not a slice of one column.

        Lines: place of the slice, rows, K - sum h, the 95 % point of its noise, its p, and whether it is new. A slice
        is new if it is a column's, or further off, by more than noise, than those of one column that contain it.
        """
        sizes = [self.sizes[i] for i in columns]
        code = self.codes[columns[0]].astype(np.intp)
        for i in columns[1:]:
            code = code * self.sizes[i] + self.codes[i]
        count = np.bincount(code, self.weights, math.prod(sizes)).astype(np.float64)
        around = [[_spread_over(side, axis, sizes) for side in self.sides[i]] for axis, i in enumerate(columns)]
        around = around if len(columns) > 1 else []
        able = (count >= self.min_rows) & ~np.any([count == n for n, _ in around], axis=0)
        worth = count if self.together is None else self._worth(self.together, code, count)
        kept = np.flatnonzero(able & (worth >= FEWEST))
        n, worth = count[kept], worth[kept]
        says, right = (np.bincount(code, part, len(count))[kept] / n for part in self.parts)
        away = n * (right - says)
        bounds = (share_test(right, says, worth, False), share_floor(worth))
        tested, floor = self._noise(code, kept, count) if self.together is None else bounds
        p, noise = np.maximum(tested, SMALLEST), n * floor
        beyond = [np.abs(away) - np.sign(away) * n * side[kept] / whole[kept] for whole, side in around]
        new = np.all([more > noise for more in beyond], axis=0)
        return np.stack([kept, n, away, noise, p, np.broadcast_to(new, n.shape)])

    def _noise(self, code: Codes, kept: Codes, count: Float64s) -> tuple[Float64s, Float64s]:
        """p-values that as many rows of these slices are right as their confidences state, and noise floors."""
        place = np.full(len(count), -1)
        place[kept] = np.arange(len(kept))
        mine = place[code]
        rows, between = mine >= 0, len(self.nodes) - 1
        cell = mine[rows] * between + self.between[rows]
        weights = None if self.weights is None else self.weights[rows]
        number, score = (
            np.bincount(cell, part, len(kept) * between).reshape(len(kept), between).astype(np.float64)
            for part in (weights, self.parts[0][rows])
        )
        hits = np.bincount(mine[rows], self.parts[1][rows], len(kept)).astype(np.float64)
        return count_noise(self.nodes, node_counts(self.nodes, number, score), hits)

    def _worth(self, together: Codes, code: Codes, count: Float64s) -> Float64s:
        """Effective sample size of each slice: (sum w)^2 over the sum over groups of (its weight)^2."""
        groups, cells = int(together[-1]) + 1, len(count)
        if groups * cells <= _DENSE * len(code):
            sums = np.bincount(together * cells + code, self.weights, groups * cells).reshape(groups, cells)
            squares: Float64s = np.einsum("gc,gc->c", sums, sums).astype(np.float64)
        else:
            weights: Any = np.ones(len(code)) if self.weights is None else self.weights
            few = scipy.sparse.csr_array((weights, (together, code)))
            few.sum_duplicates()
            squares = np.bincount(few.indices, np.square(few.data), cells).astype(np.float64)
        return np.divide(np.square(count), squares, out=np.zeros(cells), where=squares > 0)

    def looked_over(
        self, every: Sequence[tuple[int, ...]], progress: Callable[[int], object] | None = None
    ) -> pd.DataFrame:
        """All of them: columns, cell, rows, gap, p, adds, new."""
        parts = []
        for part in shared_out(self.looked_at, every):
            parts.append(part)
            if progress is not None:
                progress(100 * len(parts) // len(every))
        cell, n, away, noise, p, new = np.concatenate(parts, axis=1) if parts else np.empty((6, 0))
        return pd.DataFrame(
            {
                "columns": np.repeat(np.arange(len(every)), [part.shape[1] for part in parts]),
                "cell": cell.astype(np.intp),
                "rows": n.astype(int),
                "gap": away / n,
                "p": p,
                "adds": (np.abs(away) - noise) / self.total,
                "new": new.astype(bool),
            }
        )


def _spread_over(side: Float64s, axis: int, sizes: Sequence[int]) -> Float64s:
    """Numbers of one column's slices, for every slice of the crossing."""
    shape = [-1 if k == axis else 1 for k in range(len(sizes))]
    return np.broadcast_to(side.reshape(shape), sizes).ravel()


def _confirmed(
    rows: Predictions, cuts: Sequence[CutColumn], every: Sequence[tuple[int, ...]], apart: Codes, picked: pd.DataFrame
) -> pd.DataFrame:
    """Test the selected slices on the confirmation rows."""
    slices, groups = [], []
    for place, cell in zip(picked["columns"], picked["cell"], strict=True):
        columns = every[place]
        codes = np.unravel_index(cell, [len(cuts[i].conditions) for i in columns])
        slices.append(Slice(tuple(cuts[i].conditions[int(c)] for i, c in zip(columns, codes, strict=True))))
        met = np.logical_and.reduce([cuts[i].codes[apart] == c for i, c in zip(columns, codes, strict=True)])
        groups.append(apart[met])
    found = judged(rows, groups, FEWEST, level=LEVEL, among=apart)
    found.insert(0, "slice", pd.Series([part.title for part in slices], dtype=object))
    found.insert(1, "where", pd.Series([str(part) for part in slices], dtype=object))
    gap = picked["gap"].to_numpy()
    found["p_holm"] = holm(found["p"].to_numpy())
    found["stands_out"] = (found["p_holm"] <= SIGNIFICANCE) & (np.sign(found["gap"]) == np.sign(gap))
    found["differs"] = unlike(found["p_beyond"].to_numpy())
    found["first_gap"], found["first_rows"] = gap, picked["rows"].to_numpy()
    return found.sort_values(["stands_out", "adds"], ascending=False, kind="stable", ignore_index=True)
