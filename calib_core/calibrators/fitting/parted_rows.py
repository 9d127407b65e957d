"""Rows that come in parts, read again for every sum of gradients and curvatures over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from calib_core._base.arrays import Codes, Float64s, Floats
from calib_core.calibrators.fitting.log_rows import LogRows
from calib_core.calibrators.fitting.softmax_loss import Rowwise
from calib_core.predictions.predictions import InputError, Kind, Logits, NotAnswerable, Predictions
from calib_core.predictions.validation import whole

_SAMPLE_VALUES = 1 << 20
"""Values of the rows that a fit begins with."""


_Sampled: TypeAlias = tuple[Any, ...]
"""Scores (m, K), labels (m,) and weights (m,)."""


class Parts:
    """Predictions in parts, which are looked over once: how much they weigh, and a sample of every so many rows.

    InputError where they cannot be read twice, or differ in what they hold; NotAnswerable for weights that are no
    counts of copies, since each part's have been rescaled by themselves.
    """

    def __init__(self, parts: Iterable[Predictions]) -> None:
        if iter(parts) is parts:
            raise InputError(
                "these parts can be read once, and fitting reads them several times: give a list, or a "
                "cc.readers.StreamedFile"
            )
        self._parts = parts
        self.mass, self.rows = 0.0, 0
        sample: _Sampled | None = None
        first, stride = None, 1
        for part in self:
            if first is not None and (part.class_names, part.kind, part.logits is None) != first:
                raise InputError("the parts differ in their classes, or some hold logits and others do not")
            first = part.class_names, part.kind, part.logits is None
            some = _sampled(part, slice(-self.rows % stride, None, stride))
            sample = some if sample is None else tuple(map(np.concatenate, zip(sample, some, strict=True)))
            self.rows += part.n_rows
            self.mass += weight(part)
            while sample[0].size > _SAMPLE_VALUES and len(sample[0]) > 1:
                sample, stride = tuple(a[::2] for a in sample), 2 * stride
        if sample is None or first is None:
            raise InputError("there are no rows to fit on; give at least one part with rows that count")
        self.sample = _predictions(sample, *first)

    def __iter__(self) -> Iterator[Predictions]:
        for given in self._parts:
            part = given.answered
            if not whole(part.weights):
                raise NotAnswerable(
                    "rows in parts count alike, or as often as a whole-number weight says; these weights are no counts "
                    "of copies: fit on all rows at once"
                )
            if weight(part):
                yield part


class PartedRows(Rowwise):
    """The same as inputs of a softmax loss: blocks of all parts, in float64; ``every`` takes of the sample."""

    def __init__(self, parts: Parts, source: Callable[[Predictions], LogRows]) -> None:
        self.parts, self._source_of = parts, source
        self.sample = self._of(parts.sample)
        self.n_classes, self.source, self.labels = self.sample.n_classes, self.sample.source, self.sample.labels
        self.mass = parts.mass

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        return np.dtype(np.float64)

    def blocks(self) -> Iterator[tuple[Floats, Codes, Float64s]]:
        for part in self.parts:
            rows = self._of(part)
            for x, labels, weights in rows.blocks():
                yield x, labels, weights * (rows.mass / self.mass)

    def take(self, index: Codes) -> Rowwise:
        return self.sample.take(index)

    def _of(self, part: Predictions) -> Rowwise:
        return Rowwise(self._source_of(part), part.true_labels, part.weights)


def weight(part: Predictions) -> float:
    """How many rows count."""
    return float(part.n_rows if part.weights is None else part.weights.sum())


def _sampled(part: Predictions, where: slice) -> _Sampled:
    """Copies of some rows' scores, labels and weights: a view would keep the whole part."""
    rows = LogRows.best(part).rows
    index = np.arange(part.n_rows)[where]
    weights = np.ones(part.n_rows) if part.weights is None else part.weights
    return np.array(rows.take(index).array()), part.true_labels[index], weights[index]


def _predictions(sample: _Sampled, names: tuple[str, ...] | None, kind: Kind, probabilities: bool) -> Predictions:
    values, labels, weights = sample
    how: dict[str, Any] = {"weights": weights if weights.any() else None, "class_names": names}
    if not probabilities:
        return Predictions.from_logits(Logits(values), labels, **how)
    make = Predictions if kind == "full" else Predictions.from_scores
    return make(values, labels, **how)
