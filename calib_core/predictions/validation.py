"""Validation of probabilities, labels and weights: all checks, and their error messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Bools, Codes, Float64s, Floats, Rows, frozen, owned
from calib_core._base.errors import InputError
from calib_core._base.pandas_input import numbers, plain
from calib_core._base.parallel import chunks, shared_out
from calib_core.text import first_few

T = TypeVar("T")

KEPT = 1e-6
"""Maximum error of a row sum that float32 rounding explains: such rows are stored unchanged."""
RESCALED = 1e-3
"""Maximum error of a row sum for rescaling with a note."""
ROUNDING_CAP = 0.05
"""Row sums with a larger error are refused, however coarsely the probabilities were rounded."""

MOST_COPIES = 20_000_000
"""Integer weights whose sum exceeds this number are weights rather than copies."""
WEIGHTS = (1e-75, 1e75)
"""Range of all weights except 0: ratios of two such weights, and their squares, are normal floating-point numbers."""

_CHUNK_ROWS, _CHUNK_ENTRIES = 4096, 1 << 17
"""Rows that a worker checks at once, or entries if that is more rows: the same for every number of workers."""
_FEW = 32
"""Number of columns up to which the largest entry of a row is found column by column."""
_MARGIN = 1e-10
"""More than the rounding of a row sum in float64, in any order."""


# -- probabilities ----------------------------------------------------------------------------------------------


def as_matrix(values: ArrayLike, what: str) -> Floats:
    """Return (n, K) real numbers in native float32 or float64; K at least 2, at least one row."""
    array = numbers(values, what)
    if array.dtype == object or array.dtype.kind not in "fiub":
        raise InputError(f"{what} has dtype {array.dtype}; use real numbers")
    if array.ndim == 1:
        raise InputError(
            f"{what} has one dimension instead of (n, K); for p = P(class 1), pass np.column_stack([1 - p, p])"
        )
    if array.ndim != 2:
        raise InputError(f"{what} has {array.ndim} dimensions; give an array (n, K)")
    if array.shape[0] == 0:
        raise InputError(f"{what} has no rows; give at least one prediction")
    if array.shape[1] < 2:
        raise InputError(f"{what} has {array.shape[1]} column(s); at least two classes are needed")
    if array.dtype in (np.float32, np.float64) and array.dtype.isnative:
        return array
    small = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    return frozen(array.astype(np.float32 if small else np.float64))


def as_confidence(values: ArrayLike) -> Floats:
    """Return confidences (n,) or the k largest probabilities (n, k), each in [0, 1], as (n, k)."""
    h = numbers(values, "confidence")
    h = h if h.dtype in (np.float32, np.float64) else h.astype(np.float64)
    if h.size == 0:
        raise InputError("confidence has no rows; give at least one prediction")
    flat = h.reshape(len(h), -1) if h.ndim else h.reshape(1, 1)
    refuse_outside(flat, "confidence")
    return flat


def refuse_outside(matrix: Floats, what: str) -> None:
    """InputError unless every entry is in [0, 1], whatever the row sums."""
    wrong = ~((matrix >= 0) & (matrix <= 1))
    refuse_rows(what, wrong.any(axis=1), matrix, "is outside [0, 1]")


def as_claims(matrix: Floats, what: str) -> tuple[Codes, Floats]:
    """Return the column and value of each row's largest probability, for rows that need not sum to one."""
    right, claims = _read(matrix, lambda block, _: bool(block.min() >= 0) and bool(block.max() <= 1))
    if not right:
        refuse_outside(matrix, what)
    return claims


def over_chunks(n: int, work: Callable[[slice], T], rows: int = _CHUNK_ROWS) -> Iterator[T]:
    """Yield the results of ``work`` on consecutive runs of the n rows, in order."""
    return shared_out(work, chunks(n, rows))


def as_distributions(matrix: Floats) -> tuple[Floats, tuple[str, ...], tuple[Codes, Floats]]:
    """Return the matrix as stored, notes on its changes, and the predicted classes with their confidences."""
    ones = np.ones(matrix.shape[1])

    def right(block: Floats, wide: Float64s) -> bool:
        # A matrix product adds in another order than the exact sums below: its rounding is the margin.
        return bool(block.min() >= 0) and bool((np.abs(wide @ ones - 1.0) <= KEPT - _MARGIN).all())

    as_stored, (classes, confidence) = _read(matrix, right)
    if as_stored and confidence.max() <= 1:
        return owned(matrix), (), (classes, confidence)
    sums, least = (np.concatenate(part) for part in zip(*over_chunks(len(matrix), _row_facts(matrix)), strict=True))
    broken = ~(least >= 0) | ~np.isfinite(sums)
    refuse_rows("probs", broken, matrix, "is negative or not a number (are these logits? then use from_logits)")
    off = np.abs(sums - 1.0)
    change = (off > KEPT) | (confidence > 1)
    if not change.any():
        return owned(matrix), (), (classes, confidence)
    note = _rescale_note(matrix, sums, off, change)
    rescaled = matrix.copy()
    # In the stored dtype: one rounding per entry, and no float64 copy of the matrix.
    rescaled[change] = (rescaled[change] / sums[change, None]).astype(rescaled.dtype)
    confidence[change] = rescaled[change, classes[change]]
    return frozen(rescaled), (note,), (classes, confidence)


def _read(matrix: Floats, right: Callable[[Floats, Float64s], bool]) -> tuple[bool, tuple[Codes, Floats]]:
    """Check blocks of rows, each given as stored and in float64, and find each row's largest entry.

    Returns whether all blocks are right, and the columns and values of the largest entries.
    """
    n, k = matrix.shape
    classes, confidence = np.empty(n, dtype=np.intp), np.empty(n, dtype=matrix.dtype)

    def work(chunk: slice) -> bool:
        room, every = np.empty(0), True
        for part, block in Rows(matrix[chunk]).blocks():
            where = slice(chunk.start + part.start, chunk.start + part.stop)
            # Writeable, because argmax copies read-only arrays.
            room = room if room.size else np.empty(block.shape)
            wide = room[: len(block)]
            wide[...] = block
            every &= right(block, wide)
            classes[where], confidence[where] = _top_of_few(block) if k <= _FEW else _top_of_many(wide)
        return every

    return all(list(over_chunks(n, work, max(_CHUNK_ROWS, _CHUNK_ENTRIES // k)))), (classes, confidence)


def _row_facts(matrix: Floats) -> Callable[[slice], tuple[Float64s, Floats]]:
    def work(where: slice) -> tuple[Float64s, Floats]:
        return matrix[where].astype(np.float64).sum(axis=1), matrix[where].min(axis=1)

    return work


def _top_of_many(matrix: Floats) -> tuple[Codes, Floats]:
    """Column (the lowest on a tie) and value of the largest entry of each row."""
    classes = matrix.argmax(axis=1)
    return classes, matrix[np.arange(len(matrix)), classes]


def _top_of_few(matrix: Floats) -> tuple[Codes, Floats]:
    """The same for up to 255 columns, a column at a time: argmax needs as long to begin a row as for 20 entries."""
    columns = np.ascontiguousarray(matrix.T)
    confidence = columns.max(axis=0)
    # 255 where a column is not the largest, else its number.
    found = np.negative((columns != confidence).view(np.uint8))
    found |= np.arange(len(columns), dtype=np.uint8)[:, None]
    return found.min(axis=0).astype(np.intp), confidence


def _rescale_note(matrix: Floats, sums: Float64s, off: Float64s, change: Bools) -> str:
    worst = float(off.max())
    many = f"{int(change.sum())} of {len(off)} rows"
    if worst <= RESCALED:
        return f"{many} did not sum to 1 (off by at most {worst:.2g}) and were rescaled"
    decimals = _decimals(matrix[off > KEPT])
    allowed = 0.0 if decimals is None else min(matrix.shape[1] / 2 * 10.0**-decimals, ROUNDING_CAP)
    if worst <= allowed:
        return (
            f"Warning: {many} did not sum to 1, by up to {worst:.2g}, consistent with rounding to {decimals} decimals. "
            "They were rescaled, which changes their probabilities by as much; use unrounded values if possible"
        )
    i = int(off.argmax())
    raise InputError(
        f"probs row {i} sums to {sums[i]:.6g}; rows must sum to 1 within {max(RESCALED, allowed):.2g} "
        f"({int((off > max(RESCALED, allowed)).sum())} of {len(off)} rows do not, first rows "
        f"{_places(off > max(RESCALED, allowed))}). For logits, use Predictions.from_logits"
    )


def _decimals(values: Floats) -> int | None:
    """Return the smallest number of decimals, up to 6, that represents every value; None if more are needed."""
    for d in range(1, 7):
        scaled = values.astype(np.float64) * 10.0**d
        if np.abs(scaled - np.round(scaled)).max() < 1e-7 * 10.0**d:
            return d
    return None


def refuse_rows(what: str, wrong: Any, matrix: Floats, why: str) -> None:
    """InputError that names the first wrong entry and the first wrong rows, if there are any."""
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
    """InputError unless two arrays have the same shape."""
    if a.shape != b.shape:
        raise InputError(f"{what} has shape {a.shape}, but {other} has {b.shape}; they must be equal")


# -- labels -----------------------------------------------------------------------------------------------------


def as_names(names: Sequence[str] | None, n_classes: int) -> tuple[str, ...]:
    """Return the distinct names of the classes; by default their numbers."""
    if names is None:
        return tuple(str(k) for k in range(n_classes))
    given = tuple(str(name) for name in names)
    if len(given) != n_classes:
        raise InputError(f"{len(given)} class names for {n_classes} columns of probs; give one name per column")
    if len(set(given)) != n_classes:
        twice = next(name for name in given if given.count(name) > 1)
        raise InputError(f"class name {twice[:80]!r} occurs twice; all names must differ")
    return given


def names_in(names: Sequence[str] | None, predicted: ArrayLike, labels: ArrayLike) -> tuple[str, ...]:
    """Return the class names of a top-label table: as given, else all names or codes that occur."""
    if names is not None:
        return as_names(names, len(tuple(names)))
    both = np.concatenate([plain(predicted).ravel(), plain(labels).ravel()])
    if both.dtype.kind in "OUS":
        return tuple(sorted({str(name) for name in both}))
    return tuple(str(k) for k in range(int(np.nanmax(both)) + 1))


def as_codes(values: ArrayLike, names: tuple[str, ...], n: int, what: str) -> Codes:
    """Return labels, given as codes 0..K-1 or as names, as codes (n,)."""
    array = plain(values)
    if array.ndim != 1:
        raise InputError(f"{what} has {array.ndim} dimensions; give one label per row (for one-hot labels, argmax(1))")
    if len(array) != n:
        raise InputError(f"{len(array)} {what} for {n} rows of predictions; give one per row")
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
                f"{int(missing.sum())} of {n} rows affected; the classes are {first_few(names, 5)}"
            )
        return codes
    if array.dtype.kind not in "iubf":
        raise InputError(f"{what} has dtype {array.dtype}; use integers 0..K-1 or class names")
    if array.dtype.kind == "f" and not np.array_equal(array, np.floor(array)):
        i = int((array != np.floor(array)).argmax())
        raise InputError(f"{what} row {i} is {array[i]}; labels must be integers 0..K-1 or class names")
    outside = (array < 0) | (array >= len(names))
    if outside.any():
        i = int(outside.argmax())
        hint = " (if they are counted from 1, subtract 1)" if array.min() == 1 and array.max() == len(names) else ""
        raise InputError(
            f"{what} row {i} is {array[i]:.6g}; labels must be in 0..{len(names) - 1}{hint}; {int(outside.sum())} of "
            f"{n} rows affected"
        )
    return array.astype(np.intp)


def as_outcomes(values: ArrayLike | None, n: int, what: str) -> Bools:
    """Return n boolean outcomes."""
    array = plain(values)
    if array.shape != (n,):
        raise InputError(f"{what} has shape {array.shape} instead of ({n},); give one value per row")
    if array.dtype.kind not in "biuf" or not np.isin(array, (0, 1)).all():
        raise InputError(f"{what} must contain only True/False or 1/0, without missing values")
    return array.astype(bool)


def unless_none(flags: Bools) -> Bools | None:
    """Return the flags, or None if none is set."""
    return frozen(flags) if flags.any() else None


# -- weights ----------------------------------------------------------------------------------------------------


def check_weights(weights: ArrayLike, n: int) -> Float64s:
    """Return row weights after checks: finite, not negative, not all 0, the others within ``WEIGHTS``."""
    given = plain(weights)
    if given.dtype.kind not in "biuf":
        raise InputError(f"weights has dtype {given.dtype}; use real numbers")
    w = given.astype(np.float64)
    if w.shape != (n,):
        raise InputError(f"weights has shape {w.shape} instead of ({n},); give one value per row")
    wrong = ~np.isfinite(w) | (w < 0)
    if wrong.any():
        i = int(wrong.argmax())
        raise InputError(f"weights row {i} is {w[i]}; weights must be finite and not negative")
    if not w.any():
        raise InputError("all weights are 0; at least one row needs a positive weight")
    beyond = (w > 0) & ((w < WEIGHTS[0]) | (w > WEIGHTS[1]))
    if beyond.any():
        i = int(beyond.argmax())
        raise InputError(
            f"weights row {i} is {w[i]:g}; weights other than 0 must be between {WEIGHTS[0]:g} and {WEIGHTS[1]:g}, so "
            "that their sums and squares can be computed. Divide all weights by a common factor"
        )
    return frozen(w)


def whole(weights: Float64s | None) -> bool:
    """True if the weights are integers, that is, numbers of copies."""
    return weights is None or bool((weights == np.floor(weights)).all())


def effective_rows(n: int, weights: Float64s | None) -> float:
    """Effective sample size: integer weights are copies, others count (sum w)^2 / sum w^2 (Kish 1965).

    >>> effective_rows(2, np.array([3.0, 1.0])), effective_rows(2, np.array([0.5, 0.5]))
    (4.0, 2.0)
    """
    if weights is None:
        return float(n)
    total = float(weights.sum())
    return total if whole(weights) or total == 0 else total**2 / float(np.square(weights).sum())


def rows_and_copies(n: int, weights: Float64s | None) -> int:
    """Number of rows, with integer weights counted as copies.

    >>> rows_and_copies(2, np.array([3.0, 1.0])), rows_and_copies(2, np.array([0.5, 1.5]))
    (4, 2)
    """
    return round(float(weights.sum())) if weights is not None and whole(weights) else n


def as_weights(w: Float64s) -> tuple[Float64s, tuple[str, ...]]:
    """Return the weights as stored, and a note on their changes: copies as given, others with mean 1."""
    if ((counts := whole(w)) and w.sum() <= MOST_COPIES) or (not counts and np.isclose(_mean(w), 1.0, rtol=1e-9)):
        return w, ()
    why = f"sum to more than {MOST_COPIES:,} copies" if counts else "are not numbers of copies"
    rescaled = mean_one(w)
    worth = effective_rows(len(w), rescaled)
    return rescaled, (
        f"the weights {why}, so they were rescaled to mean 1; the effective sample size of {len(w):,} rows is "
        f"{worth:,.1f}",
    )


def mean_one(w: Float64s) -> Float64s:
    """Rescale weights to mean 1 over the rows with positive weight, none of them a whole number above 1.

    Rescaled weights therefore cannot be mistaken for numbers of copies, not even in some of the rows. If one would be a
    whole number above 1, all are reduced by a relative 1e-12. Equal weights become 1 to the last bit in any unit.

    >>> mean_one(np.array([1e-9, 0.0, 1e-9])).tolist()
    [1.0, 0.0, 1.0]
    >>> mean_one(np.array([1.0, 1.0, 4.0])).tolist()[:2], whole(mean_one(np.array([1.0, 1.0, 4.0]))[2:])
    ([0.4999999999995, 0.4999999999995], False)
    """
    carries = w > 0
    if (w[carries] == w.max()).all():
        return frozen(carries.astype(np.float64))
    scaled = w / _mean(w)
    return frozen(scaled * (1 - 1e-12) if ((scaled > 1) & (scaled == np.floor(scaled))).any() else scaled)


def sampling_weights(weights: ArrayLike) -> Float64s:
    """Sampling weights of rows, shape (n,), with mean 1: never taken as numbers of copies, even if whole numbers.

    Whole-number weights of ``Predictions`` are numbers of copies. In a survey or a case-control sample a weight of 20
    is the inverse of a sampling probability, and the row is still one observation. Rows of weight 0 stay at 0, and the
    others have mean 1. InputError for weights that ``Predictions`` refuses.

    >>> from calib_core import Predictions
    >>> probs, labels, weights = [[0.7, 0.3]] * 4, [0, 1, 0, 1], [20, 4, 20, 4]
    >>> Predictions(probs, labels, weights=weights).effective_rows
    48.0
    >>> round(Predictions(probs, labels, weights=sampling_weights(weights)).effective_rows, 2)
    2.77
    """
    return mean_one(check_weights(weights, len(plain(weights))))


def _mean(w: Float64s) -> float:
    return float(w.sum() / np.count_nonzero(w))
