"""Multicalibrated probabilities: corrections where a slice of rows is off within a range of scores, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import Bools, Codes, Float64s, Floats, frozen, safe_log
from calib_core._base.pandas_input import is_number
from calib_core._base.parallel import Pieces, Progress
from calib_core._base.sklearn_api import check_is_fitted
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.calibrators.calibration_rows import are_copies, as_rows
from calib_core.calibrators.insides import Insides, Number, Profile, class_names
from calib_core.calibrators.neighbours import fold_codes
from calib_core.columns.conditions import Slice, Value, metadata_column
from calib_core.columns.cut import cut_column
from calib_core.defaults import SEED
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.registry.registry import Text
from calib_core.text import several

MOST_CLASSES = 100
"""Largest number of classes: every round looks at every class in every slice."""
MOST_ROUNDS = 100
"""Largest number of corrections; simulated models needed fewer than ten."""
FEWEST = 20
"""Rows below which a cell is not corrected."""
LEAST = 2.0
"""Standard errors by which a cell has to be off to be corrected; rows held out decide about the corrections."""
_BINS, _FOLDS, _LONGEST = 5, 5, 1.0
"""Ranges of scores, folds, and the longest step in log-odds."""
_ALIKE = 1e-9
"""Relative difference of two cells' significance below which the first of them is corrected."""


@dataclass(frozen=True, eq=False)
class _Round:
    """One correction: its slice (-1: all rows), class, range of scores (``_BINS``: all scores) and shift."""

    slice: int
    cls: int
    bin: int
    shift: float


@dataclass(frozen=True, eq=False)
class _Slices:
    """Slices of the rows, by column: of each column, codes (n,), -1 for none, and the number of its first slice."""

    codes: tuple[Codes, ...]
    first: tuple[int, ...]
    sizes: tuple[int, ...]

    def take(self, places: Codes) -> _Slices:
        return _Slices(tuple(codes[places] for codes in self.codes), self.first, self.sizes)

    def rows(self, number: int) -> Bools | slice:
        """The rows of one slice; all rows for -1."""
        if number < 0:
            return slice(None)
        column = int(np.searchsorted(self.first, number, side="right")) - 1
        return np.asarray(self.codes[column] == number - self.first[column])


@dataclass(frozen=True, eq=False)
class _Rows:
    """Calibration rows: logarithms of the current rows (n, K), changed in place, labels, weights and slices."""

    logs: Float64s
    labels: Codes
    weights: Float64s
    slices: _Slices

    def take(self, places: Codes) -> _Rows:
        return _Rows(self.logs[places], self.labels[places], self.weights[places], self.slices.take(places))

    @property
    def losses(self) -> Float64s:
        return np.asarray(-self.logs[np.arange(len(self.labels)), self.labels])

    def worst(self, classes: Sequence[int], edges: Float64s) -> _Round | None:
        """The most significant cell with its shortened Newton step; None if no cell is off by ``LEAST``."""
        found: list[tuple[float, _Round]] = []
        for k in classes:
            q = np.exp(self.logs[:, k])
            away, spread = self.weights * ((self.labels == k) - q), self.weights * q * (1.0 - q)
            bins = np.searchsorted(edges[k], q, side="right")
            everyone = (np.zeros(len(q), dtype=np.intp), -1, 1)
            for codes, first, size in (
                everyone,
                *zip(self.slices.codes, self.slices.first, self.slices.sizes, strict=True),
            ):
                known = codes >= 0
                cell = codes[known] * _BINS + bins[known]
                residual, variance, count = (
                    _with_all(np.bincount(cell, each[known], size * _BINS).reshape(size, _BINS))
                    for each in (away, spread, self.weights)
                )
                # One row's worth of noise is added, so that rows of probability 0 are no proof.
                z = residual / np.sqrt(variance + 1.0)
                found += [
                    (float(abs(z[g, b])), _Round(first + g, k, b, float(residual[g, b] / (variance[g, b] + 1.0))))
                    for g, b in np.argwhere(count >= FEWEST).tolist()
                ]
        most = max((z for z, _ in found), default=0.0)
        if most < LEAST:
            return None
        away_by, cell_found = next(each for each in found if each[0] >= most * (1.0 - _ALIKE))
        # The largest of many errors is partly noise: its step is that much shorter.
        step = float(np.clip(cell_found.shift * (1.0 - away_by**-2.0), -_LONGEST, _LONGEST))
        return replace(cell_found, shift=step)


def _with_all(sums: NDArray[Any]) -> Float64s:
    return np.column_stack([sums, sums.sum(axis=1)])


def _correct(logs: Float64s, slices: _Slices, edges: Float64s, done: _Round) -> None:
    """Shift the log-odds of a class against all others in one cell, in place."""
    mine = np.zeros(len(logs), dtype=bool)
    mine[slices.rows(done.slice)] = True
    if done.bin < _BINS:
        mine &= np.searchsorted(edges[done.cls], np.exp(logs[:, done.cls]), side="right") == done.bin
    part = logs[mine]
    part[:, done.cls] += done.shift
    logs[mine] = part - np.logaddexp.reduce(part, axis=1, keepdims=True)


def _logs(probs: Floats) -> Float64s:
    found = safe_log(probs.astype(np.float64))
    return np.asarray(found - np.logaddexp.reduce(found, axis=1, keepdims=True))


@CALIBRATORS.register(
    "multicalibrated",
    "Multicalibration by columns",
    reference="Hébert-Johnson et al. 2018",
    flags=Contract(
        "full",
        keeps_argmax=False,
        sums_to_one=True,
        exported=False,
        profile=Profile(
            "rows", "Corrects groups of rows that are off, one after another, by metadata columns.", rows=(1000, 0, 0)
        ),
    ),
)
@dataclass(eq=False, repr=False)
class Multicalibrated(Calibrator):
    """Corrects one group of rows after another: the slice and the range of scores with the most significant error.

    Slices are the values of each column of ``by`` (ranges of numbers), which may overlap between columns, and all rows.
    A cell is a slice, a class and one of five ranges of this class's score, or all scores. The class is the event of
    two classes. Each round corrects the cell with the largest z = |R| / sqrt(V + 1). Over its rows, R = sum of w (1{y =
    k} - q_k) and V = sum of w q_k (1 - q_k). The log-odds of the class against all others move by R / (V + 1) (1 - 1 /
    z^2), at most by 1. The last factor shortens the step, as the largest of many errors is partly noise. Cells of fewer
    than 20 rows are not corrected.

    A round needs a cell with z of at least 2. How many rounds there are is decided by five-fold cross-fitting: those
    with the least log loss on the rows held out. There are none if the gain is within one standard error, and ``note``
    says so. Of 120 simulated calibrated models of 500 to 3,000 rows, 113 were left as they were. The log loss of the
    others rose by 0.004 on average.

    ``slices_`` are the slices as text. ``rounds_`` (R, 3) are the number of the slice (-1 for all rows), the class and
    the range of each round (5 for all). ``shifts_`` (R,) are its shifts, ``edges_`` (K, 4) the inner edges of the
    ranges. A row whose value of a column did not occur in fitting keeps what the other columns make of it, with a note.
    Weighted rows count as their effective sample size, whole weights as copies; groups of rows share a fold. Raises
    NotAnswerable without the columns, and above 100 classes.

    What can mislead: errors of small groups stay, and groups that no column names are not seen. With 500 rows and an
    error of 14 points in a quarter of them, it corrected two thirds of the models. Judge it on other rows by
    ``slices.multicalibration``.

    References: Hébert-Johnson, Kim, Reingold & Rothblum 2018, Algorithm 1 (its fixed step and tolerance are replaced).

    >>> import pandas as pd
    >>> site = pd.DataFrame({"site": ["a"] * 400 + ["b"] * 400})
    >>> p = Predictions([[0.5, 0.5]] * 800, ([1] * 80 + [0] * 320) + ([1] * 200 + [0] * 200), metadata=site)
    >>> Multicalibrated(by="site").fit_on(p).apply(p).probs[[0, 400], 1].round(1).tolist()
    [0.2, 0.5]
    """

    by: Annotated[
        str, Text(400), "By columns", "metadata columns whose groups are corrected, separated by commas; empty: none"
    ] = ""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.by.split(",") if (name := part.strip())))

    def _fit(self, predictions: Predictions, progress: Progress) -> None:
        k = predictions.rows.shape[1]
        if k > MOST_CLASSES:
            raise NotAnswerable(f"multicalibration by columns works for at most {MOST_CLASSES} classes; got {k:,}")
        rows, groups = self._rows(predictions)
        classes = range(k) if k > 2 else (1 if predictions.event is None else int(predictions.event),)
        places = np.arange(1, _BINS) / _BINS
        self.edges_: Float64s = np.quantile(np.exp(rows.logs), places, axis=0, method="inverted_cdf").T.copy()
        fold = (
            fold_codes(np.exp(rows.logs), rows.labels, rows.weights, _FOLDS, SEED)
            if groups is None
            else np.unique(groups, return_inverse=True)[1] % _FOLDS
        )
        pieces = Pieces(progress, _FOLDS + 1)
        losses = np.zeros((MOST_ROUNDS + 1, len(rows.labels)))
        for f in range(_FOLDS):
            mine, rest = np.flatnonzero(fold == f), np.flatnonzero(fold != f)
            if len(mine) and len(rest):
                losses[:, mine] = self._held_out(rows.take(rest), rows.take(mine), classes, pieces)
            pieces.next()
        found = self._boosted(rows, classes, _wanted(losses, rows.weights, groups), pieces)
        self.rounds_: Codes = np.array([(each.slice, each.cls, each.bin) for each in found], dtype=np.intp).reshape(
            -1, 3
        )
        self.shifts_: Float64s = np.array([each.shift for each in found])

    def _rows(self, predictions: Predictions) -> tuple[_Rows, Codes | None]:
        """Rows with copies repeated, and their groups; sets the slices."""
        weights = np.ones(predictions.n_rows) if predictions.weights is None else predictions.weights
        copied = are_copies(weights)
        index = np.repeat(np.arange(len(weights)), weights.astype(np.intp)) if copied else np.flatnonzero(weights > 0)
        texts, codes, first, sizes = list[str](), [], [], []
        for name in self.columns:
            found = cut_column(name, metadata_column(predictions, name))
            first.append(len(texts))
            sizes.append(len(found.conditions))
            codes.append(found.codes.astype(np.intp)[index])
            texts += [str(condition) for condition in found.conditions]
        self.slices_: tuple[str, ...] = tuple(texts)
        rows = _Rows(
            _logs(predictions.rows.array()[index]),
            predictions.true_labels[index],
            np.ones(len(index)) if copied else as_rows(weights)[index],
            _Slices(tuple(codes), tuple(first), tuple(sizes)),
        )
        return rows, None if predictions.row_groups is None else predictions.row_groups.codes[index]

    def _boosted(self, rows: _Rows, classes: Sequence[int], most: int, progress: Progress) -> list[_Round]:
        done: list[_Round] = []
        while len(done) < most and (found := rows.worst(classes, self.edges_)) is not None:
            _correct(rows.logs, rows.slices, self.edges_, found)
            done.append(found)
            progress(0)
        return done

    def _held_out(self, rows: _Rows, left_out: _Rows, classes: Sequence[int], progress: Progress) -> Float64s:
        """Log losses of held-out rows after each number of rounds on other rows, (rounds + 1, rows)."""
        losses = [left_out.losses]
        for done in self._boosted(rows, classes, MOST_ROUNDS, progress):
            _correct(left_out.logs, left_out.slices, self.edges_, done)
            losses.append(left_out.losses)
        return np.array([*losses, *[losses[-1]] * (MOST_ROUNDS + 1 - len(losses))])

    @property
    def note(self) -> str:
        check_is_fitted(self)
        return "" if len(self.shifts_) else "held-out rows confirm no error of a group: nothing is changed."

    def insides(self, names: Sequence[str] = ()) -> Insides:
        check_is_fitted(self)
        classes = class_names(names, len(self.edges_))

        def numbers() -> list[Number]:
            found = []
            for (number, k, b), shift in zip(self.rounds_.tolist(), self.shifts_.tolist(), strict=True):
                ends = np.r_[0.0, self.edges_[k], 1.0]
                scores = "all scores" if b == _BINS else f"scores from {ends[b]:.3g} to {ends[b + 1]:.3g}"
                where = "all rows" if number < 0 else Slice.read(self.slices_[number]).title
                found.append(Number("shift", shift, classes[k], f"{where}, {scores}"))
            return found

        by = f" of {', '.join(self.columns)}" if self.columns else ""
        return Insides(
            several(len(self.shifts_), "corrections"),
            f"Shifts the log-odds of a class in groups of rows{by}, in {several(len(self.shifts_), 'rounds')}.",
            numbers,
        )

    def _apply(self, predictions: Predictions, progress: Progress) -> Predictions:
        slices, unknown = self._slices(predictions)
        if not len(self.shifts_):
            return predictions.with_probs(predictions.probs)
        out = np.empty(predictions.rows.shape, dtype=predictions.rows.dtype)
        for where, block in predictions.rows.blocks():
            logs, mine = _logs(block), slices.take(np.arange(len(out))[where])
            for (number, k, b), shift in zip(self.rounds_.tolist(), self.shifts_.tolist(), strict=True):
                _correct(logs, mine, self.edges_, _Round(number, k, b, shift))
            out[where] = np.exp(logs)
            progress(100 * where.stop // len(out))
        updated = predictions.with_probs(frozen(out))
        if not unknown.any():
            return updated
        new = int(unknown.sum())
        which = f"{several(new)} {'has a value' if new == 1 else 'have values'}"
        note = f"{which} of {', '.join(self.columns)} that did not occur in the calibration rows: not corrected by it"
        return updated.with_parts([updated], [np.arange(len(out))], note)

    def _slices(self, predictions: Predictions) -> tuple[_Slices, Bools]:
        """The fitted slices of these rows, and the rows with a value that is in none of them."""
        unknown = np.zeros(predictions.n_rows, dtype=bool)
        codes, first, sizes = [], [], []
        read = [Slice.read(text).conditions[0] for text in self.slices_]
        for name in self.columns:
            values = metadata_column(predictions, name)
            own = [i for i, each in enumerate(read) if each.column == name]
            mine = np.full(predictions.n_rows, -1, dtype=np.intp)
            for i in own:
                if is_number(values) or isinstance(read[i], Value):  # text is in no range of numbers
                    mine[read[i].rows(values)] = i - own[0]
            codes.append(mine)
            first.append(own[0])
            sizes.append(len(own))
            unknown |= mine < 0
        if len(self.rounds_) != len(self.shifts_) or (self.rounds_[:, 0] >= len(read)).any():
            raise InputError("the rounds name slices that are not there")
        return _Slices(tuple(codes), tuple(first), tuple(sizes)), unknown


def _wanted(losses: Float64s, weights: Float64s, groups: Codes | None) -> int:
    """Number of rounds with the least held-out loss, (rounds + 1, n); 0 if its gain is within one standard error."""
    means = losses @ weights / weights.sum()
    best = int(np.flatnonzero(means <= means.min() + 1e-12)[0])
    gains = weights * (losses[0] - losses[best])
    away = gains - weights * gains.sum() / weights.sum()
    sums = away if groups is None else np.bincount(np.unique(groups, return_inverse=True)[1], away)
    return best if gains.sum() > float(np.sqrt(sums @ sums)) else 0
