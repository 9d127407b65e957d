"""The checks of probabilities, labels and weights: the only validation there is, and every sentence it refuses with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Bools, Codes, Float64s, Floats, Rows, frozen, owned
from calib_core._base.errors import InputError
from calib_core._base.pandas_input import numbers, plain
from calib_core._base.parallel import chunks, shared_out

T = TypeVar("T")

KEPT = 1e-6
"""A row sum this close to 1 is what float32 rounding explains: the row is kept as stored."""
RESCALED = 1e-3
"""A row sum this close to 1 is rescaled, and a note says so."""
ROUNDING_CAP = 0.05
"""Row sums off by more than this are an error however coarsely the probabilities were rounded."""

MOST_COPIES = 20_000_000
"""Whole-number weights that add up to more rows than this are weights, not copies."""
WEIGHTS = (1e-75, 1e75)
"""Between these lies every weight but 0: ratios of two such, and their squares, are normal floating-point numbers."""

_CHUNK_ROWS = 4096
"""Rows one worker checks at a time; fixed, so that results do not depend on the number of workers."""


# -- probabilities ----------------------------------------------------------------------------------------------


def as_matrix(values: ArrayLike, what: str) -> Floats:
    """(n, K) real numbers in native float32 or float64; K at least 2, at least one row."""
    array = numbers(values, what)
    if array.dtype == object or array.dtype.kind not in "fiub":
        raise InputError(f"{what} has dtype {array.dtype}; real numbers are needed")
    if array.ndim == 1:
        raise InputError(
            f"{what} has one dimension; (n, K) is needed (for p = P(class 1) pass np.column_stack([1 - p, p]))"
        )
    if array.ndim != 2:
        raise InputError(f"{what} has {array.ndim} dimensions; (n, K) is needed")
    if array.shape[0] == 0:
        raise InputError(f"{what} has 0 rows; at least one prediction is needed")
    if array.shape[1] < 2:
        raise InputError(f"{what} has {array.shape[1]} column(s): with one class there is nothing to calibrate")
    if array.dtype in (np.float32, np.float64) and array.dtype.isnative:
        return array
    small = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return frozen(array.astype(np.float32 if small else np.float64))


def as_confidence(values: ArrayLike) -> Floats:
    """Confidences (n,) or the k largest probabilities (n, k), each in [0, 1], as (n, k)."""
    h = numbers(values, "confidence")
    h = h if h.dtype in (np.float32, np.float64) else h.astype(np.float64)
    if h.size == 0:
        raise InputError("confidence has 0 rows; at least one prediction is needed")
    flat = h.reshape(len(h), -1) if h.ndim else h.reshape(1, 1)
    refuse_outside(flat, "confidence")
    return flat


def refuse_outside(matrix: Floats, what: str) -> None:
    """Every entry is a probability, whatever its row sums to."""
    wrong = ~((matrix >= 0) & (matrix <= 1))
    refuse_rows(what, wrong.any(axis=1), matrix, "is outside [0, 1]")


def as_claims(matrix: Floats, what: str) -> tuple[Codes, Floats]:
    """The largest of each row's K probabilities, which need not sum to one: its column and its value, as checked."""

    def work(where: slice) -> tuple[bool, Codes, Floats]:
        parts = [block for _, block in Rows(matrix[where]).blocks(LARGE_BLOCK_BYTES)]
        right = all(bool(block.min() >= 0) and bool(block.max() <= 1) for block in parts)
        classes, confidence = zip(*map(top_one, parts), strict=True)
        return right, np.concatenate(classes), np.concatenate(confidence)

    right, classes, confidence = zip(*over_chunks(len(matrix), work), strict=True)
    if not all(right):
        refuse_outside(matrix, what)
    return np.concatenate(classes), np.concatenate(confidence)


def over_chunks(n: int, work: Callable[[slice], T]) -> Iterator[T]:
    """The results of ``work`` on fixed runs of the n rows, in order."""
    return shared_out(work, chunks(n, _CHUNK_ROWS))


def as_distributions(matrix: Floats) -> tuple[Floats, tuple[str, ...], tuple[Codes, Floats]]:
    """The matrix as it will be held, notes on what was done to it, and the predicted class with its confidence."""
    n = len(matrix)
    sums, least, classes, confidence = (
        np.concatenate(part) for part in zip(*over_chunks(n, lambda where: _row_facts(matrix[where])), strict=True)
    )
    broken = ~(least >= 0) | ~np.isfinite(sums)
    refuse_rows("probs", broken, matrix, "is negative or not a number (are these logits? then use from_logits)")
    off = np.abs(sums - 1.0)
    change = (off > KEPT) | (confidence > 1)
    if not change.any():
        return owned(matrix), (), (classes, confidence)
    note = _rescale_note(matrix, sums, off, change)
    rescaled = matrix.copy()
    # In the dtype it is stored in: one rounding an entry, and no float64 copy of the matrix.
    rescaled[change] = (rescaled[change] / sums[change, None]).astype(rescaled.dtype)
    confidence[change] = rescaled[change, classes[change]]
    return frozen(rescaled), (note,), (classes, confidence)


def _row_facts(chunk: Floats) -> tuple[Float64s, Floats, Codes, Floats]:
    n = len(chunk)
    sums, least = np.empty(n), np.empty(n, dtype=chunk.dtype)
    classes, confidence = np.empty(n, dtype=np.intp), np.empty(n, dtype=chunk.dtype)
    room = np.empty(0)
    for where, block in Rows(chunk).blocks(LARGE_BLOCK_BYTES):
        # In float64 for the sums, and writeable because argmax copies what is not.
        room = room if room.size else np.empty(block.shape)
        wide = room[: len(block)]
        wide[...] = block
        sums[where] = wide.sum(axis=1)
        lowest = block.min()
        # The least entry matters only where something is wrong: one scalar pass is four times cheaper.
        least[where] = lowest if lowest >= 0 else block.min(axis=1)
        classes[where], confidence[where] = top_one(wide)
    return sums, least, classes, confidence


def top_one(matrix: Floats) -> tuple[Codes, Floats]:
    """The largest entry of each row: its column, the lowest on a tie, and its value."""
    classes = matrix.argmax(axis=1)
    return classes, np.take_along_axis(matrix, classes[:, None], axis=1)[:, 0]


def _rescale_note(matrix: Floats, sums: Float64s, off: Float64s, change: Bools) -> str:
    worst = float(off.max())
    many = f"{int(change.sum())} of {len(off)} rows"
    if worst <= RESCALED:
        return f"{many} did not sum to 1 (off by at most {worst:.2g}) and were rescaled"
    decimals = _decimals(matrix[off > KEPT])
    allowed = 0.0 if decimals is None else min(matrix.shape[1] / 2 * 10.0**-decimals, ROUNDING_CAP)
    if worst <= allowed:
        return (
            f"Warning: {many} did not sum to 1, by up to {worst:.2g}, as rounding to {decimals} decimals explains; "
            "they were rescaled, which changes their probabilities by as much: use unrounded ones if you can"
        )
    i = int(off.argmax())
    raise InputError(
        f"probs row {i} sums to {sums[i]:.6g}; rows must sum to 1 within {max(RESCALED, allowed):.2g} "
        f"({int((off > max(RESCALED, allowed)).sum())} of {len(off)} rows are further off, first rows "
        f"{_places(off > max(RESCALED, allowed))}; are these logits? then use Predictions.from_logits)"
    )


def _decimals(values: Floats) -> int | None:
    """The fewest decimals, up to 6, that write every value; None when more are needed."""
    for d in range(1, 7):
        scaled = values.astype(np.float64) * 10.0**d
        if np.abs(scaled - np.round(scaled)).max() < 1e-7 * 10.0**d:
            return d
    return None


def refuse_rows(what: str, wrong: Any, matrix: Floats, why: str) -> None:
    """InputError that names the first wrong entry and the first wrong rows, where there are any."""
    if not wrong.any():
        return
    i = int(wrong.argmax())
    row = matrix[i]
    with np.errstate(invalid="ignore"):
        kinds = (np.isnan(row) | np.isposinf(row), row < 0, row > 1)
    j = int(next((bad for bad in kinds if bad.any()), kinds[0]).argmax())
    raise InputError(
        f"{what} row {i}, column {j}: {row[j]:.6g} {why}; {int(wrong.sum())} of {len(wrong)} rows affected, "
        f"first rows {_places(wrong)}"
    )


def _places(wrong: Bools) -> str:
    rows = np.flatnonzero(wrong)
    return ", ".join(str(i) for i in rows[:5]) + (", ..." if len(rows) > 5 else "")


def check_same_shape(a: Floats, b: Floats, what: str, other: str) -> None:
    """InputError unless two arrays are of one shape."""
    if a.shape != b.shape:
        raise InputError(f"{what} has shape {a.shape}, {other} {b.shape}; they must be equal")


# -- labels -----------------------------------------------------------------------------------------------------


def as_names(names: Sequence[str] | None, n_classes: int) -> tuple[str, ...]:
    """Names of the classes, all different; their numbers where none are given."""
    if names is None:
        return tuple(str(k) for k in range(n_classes))
    given = tuple(str(name) for name in names)
    if len(given) != n_classes:
        raise InputError(f"{len(given)} class names for {n_classes} columns of probs; give one a column")
    if len(set(given)) != n_classes:
        twice = next(name for name in given if given.count(name) > 1)
        raise InputError(f"class name {twice[:80]!r} is given twice; names must differ")
    return given


def names_in(names: Sequence[str] | None, predicted: ArrayLike, labels: ArrayLike) -> tuple[str, ...]:
    """Names of a top-label table's classes: as given, else all names or codes that occur."""
    if names is not None:
        return as_names(names, len(tuple(names)))
    both = np.concatenate([plain(predicted).ravel(), plain(labels).ravel()])
    if both.dtype.kind in "OUS":
        return tuple(sorted({str(name) for name in both}))
    return tuple(str(k) for k in range(int(np.nanmax(both)) + 1))


def as_codes(values: ArrayLike, names: tuple[str, ...], n: int, what: str) -> Codes:
    """Labels, given as codes 0..K-1 or as names, as codes (n,)."""
    array = plain(values)
    if array.ndim != 1:
        raise InputError(f"{what} has {array.ndim} dimensions; one label a row is needed (one-hot? use argmax(1))")
    if len(array) != n:
        raise InputError(f"{len(array)} {what} for {n} rows of predictions; give one a row")
    if array.dtype.kind == "O" and (absent := np.asarray(pd.isna(array))).any():
        i = int(absent.argmax())
        raise InputError(
            f"{what} row {i} is missing; every row needs one; {int(absent.sum())} of {n} rows affected, "
            f"first rows {_places(absent)}"
        )
    if array.dtype.kind in "OUS":
        codes: Codes = pd.Index(names).get_indexer(pd.Index(array.astype(str)))
        missing = codes < 0
        if missing.any():
            i = int(missing.argmax())
            raise InputError(
                f"{what} row {i} is {str(array[i])[:80]!r}, which is not a class name; "
                f"{int(missing.sum())} of {n} rows affected; the classes are {_some(names)}"
            )
        return codes
    if array.dtype.kind not in "iubf":
        raise InputError(f"{what} has dtype {array.dtype}; integers 0..K-1 or class names are needed")
    if array.dtype.kind == "f" and not np.array_equal(array, np.floor(array)):
        i = int((array != np.floor(array)).argmax())
        raise InputError(f"{what} row {i} is {array[i]}; labels are whole numbers 0..K-1 or class names")
    outside = (array < 0) | (array >= len(names))
    if outside.any():
        i = int(outside.argmax())
        hint = " (counted from 1? subtract 1)" if array.min() == 1 and array.max() == len(names) else ""
        raise InputError(
            f"{what} row {i} is {array[i]:.6g}; labels must lie in 0..{len(names) - 1}{hint}; "
            f"{int(outside.sum())} of {n} rows affected"
        )
    return array.astype(np.intp)


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(name[:80] for name in names[:5]) + (", ..." if len(names) > 5 else "")


def as_outcomes(values: ArrayLike | None, n: int, what: str) -> Bools:
    """Yes or no for each of n rows."""
    array = plain(values)
    if array.shape != (n,):
        raise InputError(f"{what} has shape {array.shape}; ({n},) is needed, one a row")
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise InputError(f"{what} must hold True/False or 1/0 only, without missing values")
    return array.astype(bool)


def unless_none(flags: Bools) -> Bools | None:
    """The flags, or None where none is set."""
    return frozen(flags) if flags.any() else None


# -- weights ----------------------------------------------------------------------------------------------------


def check_weights(weights: ArrayLike, n: int) -> Float64s:
    """Row weights that can be added up and squared: finite, not negative, not all 0, the others within ``WEIGHTS``."""
    given = plain(weights)
    if given.dtype.kind not in "biuf":
        raise InputError(f"weights has dtype {given.dtype}; real numbers are needed")
    w = given.astype(np.float64)
    if w.shape != (n,):
        raise InputError(f"weights has shape {w.shape}; ({n},) is needed, one a row")
    wrong = ~np.isfinite(w) | (w < 0)
    if wrong.any():
        i = int(wrong.argmax())
        raise InputError(f"weights row {i} is {w[i]}; weights are finite and not negative")
    if not w.any():
        raise InputError("all weights are 0; at least one row must count")
    beyond = (w > 0) & ((w < WEIGHTS[0]) | (w > WEIGHTS[1]))
    if beyond.any():
        i = int(beyond.argmax())
        raise InputError(
            f"weights row {i} is {w[i]:g}; weights other than 0 lie between {WEIGHTS[0]:g} and {WEIGHTS[1]:g}, so that "
            "their sums and squares can be worked out; divide all weights by a common factor"
        )
    return frozen(w)


def whole(weights: Float64s | None) -> bool:
    """Are the weights whole numbers, that is, counts of copies?"""
    return weights is None or bool((weights == np.floor(weights)).all())


def effective_rows(n: int, weights: Float64s | None) -> float:
    """How many rows these are worth: whole weights are copies, others count (sum w)^2 / sum w^2 (Kish 1965).

    >>> effective_rows(2, np.array([3.0, 1.0])), effective_rows(2, np.array([0.5, 0.5]))
    (4.0, 2.0)
    """
    if weights is None:
        return float(n)
    total = float(weights.sum())
    return total if whole(weights) or total == 0 else total**2 / float(np.square(weights).sum())


def rows_and_copies(n: int, weights: Float64s | None) -> int:
    """Number of n rows, where whole-number weights are copies of them.

    >>> rows_and_copies(2, np.array([3.0, 1.0])), rows_and_copies(2, np.array([0.5, 1.5]))
    (4, 2)
    """
    return round(float(weights.sum())) if weights is not None and whole(weights) else n


def as_weights(w: Float64s) -> tuple[Float64s, tuple[str, ...]]:
    """The weights as they are held, and a note on what was done to them: copies as given, others with mean 1."""
    if ((counts := whole(w)) and w.sum() <= MOST_COPIES) or (not counts and np.isclose(_mean(w), 1.0, rtol=1e-9)):
        return w, ()
    why = f"add up to more than {MOST_COPIES:,} copies and" if counts else "are no counts of copies and"
    rescaled = mean_one(w)
    worth = effective_rows(len(w), rescaled)
    return rescaled, (
        f"the weights {why} were rescaled to mean 1: {len(w):,} rows are worth {worth:,.1f} of equal weight",
    )


def mean_one(w: Float64s) -> Float64s:
    """The weights with mean 1 over the rows that carry any.

    Over these and not over all rows: whole numbers of at least 1 with mean 1 are all 1, so that no rescaled weights but
    equal ones, for which it is true, can be mistaken for counts of copies. Equal ones are 1 to the last bit,
    in whatever unit they were given: a rounding error would make them no copies.

    >>> mean_one(np.array([1e-9, 0.0, 1e-9])).tolist()
    [1.0, 0.0, 1.0]
    """
    carries = w > 0
    if (w[carries] == w.max()).all():
        return frozen(carries.astype(np.float64))
    return frozen(w / _mean(w))


def _mean(w: Float64s) -> float:
    return float(w.sum() / np.count_nonzero(w))
