"""Some rows kept beside the counts: the ones with the smallest keys, so that parts and their union choose alike."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import Codes, Floats, ReadOnly, frozen
from calib_core._base.notebook_display import OneLine
from calib_core.predictions.predictions import (
    InputError,
    Kind,
    NotAnswerable,
    Predictions,
    check_same_rows,
)

_VALUES, _ROWS = 1_000_000, 10_000
"""A sample holds at most so many rows, and so many numbers."""


def sample_size(n_classes: int) -> int:
    """How many rows are kept: 10,000, fewer where rows are wide.

    >>> sample_size(10), sample_size(1000)
    (10000, 1000)
    """
    return max(100, min(_ROWS, _VALUES // max(n_classes, 1)))


@dataclass(frozen=True, eq=False, repr=False)
class Sample(ReadOnly, OneLine):
    """The ``size`` rows with the smallest keys, ascending: keys (m,), scores (m, K), labels (m,), predicted or empty.

    A key is a hash of (seed, source, row number): which rows are kept depends on nothing they say, and on no chunks.
    """

    size: int
    keys: NDArray[np.uint64]
    scores: Floats
    labels: Codes
    predicted: Codes

    @classmethod
    def of(cls, predictions: Predictions, size: int, seed: int, source: str, first_row: int) -> Sample:
        """The sample of these rows, numbered from ``first_row`` on in their source."""
        keys = row_keys(seed, source, first_row, predictions.n_rows)
        kept = np.argsort(keys, kind="stable")[:size]
        rows = predictions.take(kept)
        matrix = rows.kind in ("full", "per-class")
        scores = np.asarray(rows.probs if matrix else rows.confidence[:, None])
        labels = rows.correct.astype(np.intp) if rows.kind == "confidence" else rows.true_labels
        predicted = rows.predicted if rows.kind == "top-label" else np.zeros(0, dtype=np.intp)
        return cls(
            size, frozen(keys[kept]), frozen(np.array(scores)), frozen(np.array(labels)), frozen(np.array(predicted))
        )

    @classmethod
    def together(cls, several: Sequence[Sample]) -> Sample:
        """The sample of all their rows, whatever their order."""
        fields = ("keys", "scores", "labels", "predicted")
        every = {name: np.concatenate([getattr(each, name) for each in several]) for name in fields}
        keys, size = every["keys"], min(each.size for each in several)
        ways: tuple[Any, ...] = (keys,)
        if len(np.unique(keys)) < len(keys):  # one row number twice: what the rows say decides
            ways = (*every["scores"].T[::-1], every["labels"], keys)
        kept = np.lexsort(ways)[:size]
        return cls(size, *(frozen(a[kept] if len(a) else a) for a in every.values()))

    def predictions(self, kind: Kind, class_names: tuple[str, ...] | None) -> Predictions:
        """The rows as predictions of their kind."""
        if kind == "full":
            return Predictions(self.scores, self.labels, class_names=class_names)
        if kind == "per-class":
            return Predictions.from_scores(self.scores, self.labels, class_names=class_names)
        h = self.scores[:, 0]
        if kind == "confidence":
            return Predictions.from_confidence(h, self.labels.astype(bool))
        return Predictions.from_confidence(h, predicted=self.predicted, labels=self.labels, class_names=class_names)

    def _line(self) -> str:
        return f"{len(self.keys):,} rows of at most {self.size:,}"


def row_keys(seed: int, source: str, first_row: int, n_rows: int) -> NDArray[np.uint64]:
    """A number for each row that looks drawn at random, the same whatever chunk it comes in.

    >>> row_keys(0, "a", 0, 3)[1:].tolist() == row_keys(0, "a", 1, 2).tolist()
    True
    """
    start = int.from_bytes(hashlib.sha256(f"{seed}\0{source}".encode()).digest()[:8], "little")
    x = np.arange(first_row, first_row + n_rows, dtype=np.uint64)
    # The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection, so that no two rows of a source tie.
    x = x * np.uint64(0x9E3779B97F4A7C15) + np.uint64(start)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def kept_together(summaries: Mapping[str, Any]) -> dict[str, Predictions]:
    """The rows that every summary keeps, row by row the same: with them models can be compared in pairs.

    ``summaries``: two or more by name. Rows are taken to be the same where their number in a source of the same name,
    and the seed, are (``row_keys``), and labels agree; NotAnswerable where they are not, or something is no summary.
    What can mislead: of bare confidences no labels are known, so that files of one name whose rows are others would
    pass.

    >>> from calib_core.summaries import Summary
    >>> rows = Predictions([[0.7, 0.3]] * 3, [0, 1, 0]), Predictions([[0.6, 0.4]] * 3, [0, 1, 0])
    >>> one, two = (Summary.of(p, source="test") for p in rows)
    >>> {name: p.n_rows for name, p in kept_together({"one": one, "two": two}).items()}
    {'one': 3, 'two': 3}
    """
    if any(each.grain != "counts" for each in summaries.values()):
        raise NotAnswerable("rows are kept by summaries, and not all of these models are known by one")
    samples = [each.kept_rows for each in summaries.values()]
    size = min(len(sample.keys) for sample in samples)
    if not size or any((sample.keys[:size] != samples[0].keys[:size]).any() for sample in samples):
        raise NotAnswerable(
            "these summaries keep other rows of one another, so that no row is known to be judged by all models: make "
            "each with the same name for its rows (calib summarise --rows-of NAME), and all keep the same"
        )
    rows = {name: each.sample.take(np.arange(size)) for name, each in summaries.items()}
    first = next(iter(rows.values()))
    for other in rows.values():
        try:
            check_same_rows(first, other)
        except InputError as why:
            raise NotAnswerable(
                f"the rows that these summaries keep have the same numbers, and are others: {why}"
            ) from why
    return rows
