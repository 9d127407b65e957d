"""Logarithms of probability rows, or raw logits, read block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calib_core._base.arrays import BLOCK_BYTES, LOG_FLOOR, Codes, Floats, Rows
from calib_core.predictions.predictions import InputError, Predictions

Input = Literal["logits", "log-probabilities"]


@dataclass(frozen=True, eq=False)
class LogRows:
    """The scores a softmax turns back into the probabilities: log p, raised to the one floor, or raw logits.

    Values keep the dtype of the rows. A logit of minus infinity is put as far below its row's largest as the
    floor of the logarithm is below log 1.
    """

    rows: Rows
    kind: Input

    @classmethod
    def log_probabilities(cls, predictions: Predictions) -> LogRows:
        return cls(predictions.rows, "log-probabilities")

    @classmethod
    def best(cls, predictions: Predictions) -> LogRows:
        """Raw logits where the predictions carry them, log-probabilities otherwise."""
        if predictions.logits is not None and predictions.kind == "full":
            return cls(predictions.logits, "logits")
        return cls.log_probabilities(predictions)

    @classmethod
    def like(cls, kind: Input, predictions: Predictions) -> LogRows:
        """The input a map was fitted on; InputError where the predictions do not carry it."""
        if kind == "logits" and predictions.logits is None:
            raise InputError(
                "this calibrator was fitted on raw logits and these predictions hold probabilities only: "
                "give Logits or predictions with logits, or fit it on probabilities"
            )
        return cls.best(predictions) if kind == "logits" else cls.log_probabilities(predictions)

    def blocks(self, block_bytes: int = BLOCK_BYTES) -> Iterator[tuple[slice, Floats]]:
        """Pairs of (rows covered, their values): arrays of their own, to be overwritten freely."""
        for where, block in self.rows.blocks(block_bytes):
            yield where, self.values(block)

    def part(self, where: slice) -> LogRows:
        return LogRows(self.rows.part(where), self.kind)

    def every(self, stride: int) -> LogRows:
        """Each ``stride``-th row."""
        rows = self.rows
        chosen = Rows(rows.base[::stride]) if rows.index is None else Rows(rows.base, rows.index[::stride])
        return LogRows(chosen, self.kind)

    def tops(self, predictions: Predictions) -> Floats:
        """The largest value of each row, (n,)."""
        if self.kind == "log-probabilities":
            return log(predictions.confidence)
        return np.concatenate([block.max(axis=1) for _, block in self.rows.blocks()])

    def entries(self, columns: Codes) -> Floats:
        """The value of one column a row, (n,), as stored: probabilities or logits."""
        rows = self.rows
        return np.asarray(rows.base[np.arange(len(columns)) if rows.index is None else rows.index, columns])

    def values(self, block: Floats) -> Floats:
        return log(block) if self.kind == "log-probabilities" else _finite(block)


def log(p: Floats) -> Floats:
    """Logarithms in the dtype given, from the one floor up; a 200 MB float32 matrix stays float32."""
    floor = p.dtype.type(LOG_FLOOR)
    # A look at the least entry costs a fifth of a pass that raises every entry.
    return np.asarray(np.log(p if p.min() >= floor else np.maximum(p, floor)))


def _finite(z: Floats) -> Floats:
    widest = _widest(z.dtype)
    if z.min() >= -widest and z.max() <= widest:
        return z.copy()
    return near_top(z, z.max(axis=1, keepdims=True))


def near_top(z: Floats, tops: Floats) -> Floats:
    """Logits no further below their row's largest than can be subtracted; minus infinity by the floor's logarithm."""
    floor, widest = z.dtype.type(np.log(LOG_FLOOR)), _widest(z.dtype)
    with np.errstate(over="ignore"):  # below every number there is: nothing is raised then
        least = tops - widest
    return np.where(np.isneginf(z), tops + floor, np.maximum(z, least))


def _widest(dtype: np.dtype[Any]) -> Any:
    # A quarter of the largest number: two such logits, and their products with a share, can be taken from each other.
    return dtype.type(np.finfo(dtype).max / 4)
