"""Survey of the scores in one pass (ranges, row sums, largest entries, ties), and their likely type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_core.readers.reading import ScoreKind
from calib_core.readers.table import Array

_BLOCK_VALUES = 1 << 17
_SAMPLE_ROWS = 2000
_MOST = 0.9
"""Share of rows that must show a pattern, so that a few broken rows do not hide it."""


@dataclass(frozen=True, eq=False)
class Survey:
    """Properties of the scores (n, K), with a summary of each row.

    Parameters
    ----------
    low, high : least and largest finite score.
    sums : row sums in float64, NaN where a score is missing.
    top : column of each row's largest score, the first on a tie.
    tied : rows whose largest score occurs twice.
    missing : rows with a NaN.
    infinite : rows with an infinite score.
    keys : one 64-bit number per row, equal for equal rows.
    """

    shape: tuple[int, int]
    low: float
    high: float
    sums: NDArray[np.float64]
    top: NDArray[np.intp]
    tied: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    infinite: NDArray[np.bool_]
    keys: NDArray[np.uint64]

    @cached_property
    def duplicates(self) -> int:
        """Rows equal to an earlier row."""
        # Sorting takes a tenth of the time of np.unique, whose table of hashes does not fit in the cache.
        ordered = np.sort(self.keys)
        return int((ordered[1:] == ordered[:-1]).sum())

    @property
    def known_sums(self) -> NDArray[np.float64]:
        """Sums of the rows without missing or infinite scores."""
        return self.sums[~(self.missing | self.infinite)]


def survey(scores: Array) -> Survey:
    """Survey every row once, in blocks that fit in the processor's cache; the matrix is not copied."""
    n, k = scores.shape
    parts = [_block(block) for block in _blocks(scores)]
    sums, top, tied, missing, infinite, keys = (np.concatenate([part[i] for part in parts]) for i in range(6))
    lows, highs = [part[6] for part in parts], [part[7] for part in parts]
    return Survey((n, k), min(lows), max(highs), sums, top, tied, missing, infinite, keys)


def _blocks(scores: Array) -> Iterator[Array]:
    step = max(1, _BLOCK_VALUES // scores.shape[1])
    for start in range(0, len(scores), step):
        yield scores[start : start + step]


def _block(block: Array) -> tuple[Any, ...]:
    if block.dtype not in (np.float32, np.float64):
        block = block.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        sums = block.sum(axis=1, dtype=np.float64)
    high, top = block.max(axis=1), block.argmax(axis=1)
    tied = (block == high[:, None]).sum(axis=1) > 1
    low, most = float(block.min()), float(high.max())
    missing: NDArray[np.bool_] = np.zeros(len(block), dtype=bool)
    infinite: NDArray[np.bool_] = missing
    if not np.isfinite(sums).all():
        missing = np.asarray(np.isnan(block).any(axis=1))
        infinite = np.asarray(np.isinf(block).any(axis=1))
        finite = block[np.isfinite(block)]
        low, most = (float(finite.min()), float(finite.max())) if finite.size else (np.inf, -np.inf)
    return sums, top, tied, missing, infinite, row_keys(block), low, most


def row_keys(block: Array) -> NDArray[np.uint64]:
    """Hash each row to 64 bits: a sum of its bits times fixed random odd numbers, equal for equal rows.

    >>> len(set(row_keys(np.array([[0.5, 0.5], [0.5, 0.5], [0.4, 0.6]])).tolist()))
    2
    """
    # 0.0 and -0.0 are equal numbers with different bits.
    plain = np.ascontiguousarray(block) + block.dtype.type(0)
    bits = plain.view(np.uint32 if plain.dtype.itemsize == 4 else np.uint64)
    factors = np.random.default_rng(0).integers(0, 1 << 63, bits.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(
        1
    )
    mixed = bits.astype(np.uint64)
    # The high bits determine most of a float: fold them down before the product drops them.
    mixed ^= mixed >> np.uint64(29)
    mixed *= factors
    return np.asarray(mixed.sum(axis=1, dtype=np.uint64))


def evidence(scores: Array, found: Survey) -> tuple[ScoreKind | None, str]:
    """Return the type of scores that the values indicate, or None, and a description of the evidence."""
    values = f"values from {found.low:.4g} to {found.high:.4g}"
    if found.shape[1] == 1:
        return _evidence_of_one(found, values)
    sums = found.known_sums
    if not len(sums):
        return None, "no row without missing values"
    seen = f"row sums {_range(sums)}"
    if np.mean(np.abs(sums - 1) < 0.05) > _MOST:
        return "probabilities", seen
    if np.mean(np.abs(sums - 100) < 5) > _MOST:
        return "percentages", seen
    if found.low < 0:
        if found.high <= 1e-6 and _log_sums_near_zero(scores):
            return "log-probabilities", f"{values}, and their exponentials sum to 1 in each row"
        return "logits", f"{values}, and {seen}"
    return None, f"{values}, and {seen}"


def _evidence_of_one(found: Survey, values: str) -> tuple[ScoreKind | None, str]:
    inside = np.mean((found.known_sums >= 0) & (found.known_sums <= 1)) if len(found.known_sums) else 0.0
    if inside > _MOST:
        return "probabilities", values
    return ("logits" if found.low < 0 else None), values


def _log_sums_near_zero(scores: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.exp(scores[:_SAMPLE_ROWS].astype(np.float64)).sum(axis=1)
    return bool(np.mean(np.abs(sums - 1) < 0.02) > _MOST)


def _range(values: NDArray[np.float64]) -> str:
    low, high = f"{values.min():.5g}", f"{values.max():.5g}"
    return low if low == high else f"{low}–{high}"
