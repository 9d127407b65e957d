"""Reduce predictions of many classes to three, for a triangle plot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Bools, Codes, Float64s, Floats, Rows, frozen
from calib_core._base.notebook_display import OneLine
from calib_core.predictions.predictions import InputError, Logits, NotAnswerable, Predictions
from calib_core.text import called, first_few, listed

Triple = tuple[int, int, int]


@dataclass(frozen=True, eq=False, repr=False)
class Corners(OneLine):
    """Predictions over three classes, the positions (m,) of their rows in the original, and a description."""

    predictions: Predictions
    rows: Codes
    note: str


def corners(predictions: Predictions, three: Sequence[int | str], others: str = "pool") -> Corners:
    """Return three classes of K as the corners of a triangle; the other classes are pooled or left out.

    ``three`` = (a, b, c) are class codes or names. With p the row and y its label:

    - ``others="pool"``: (p_a, p_b, 1 - p_a - p_b); the third corner is class c or any other class, and all rows are
      used.
    - ``others="condition"``: (p_a, p_b, p_c) / (p_a + p_b + p_c) for the rows with y in {a, b, c}. These are the
      predicted probabilities given that the class is one of them. Rows of other classes, and rows that give all three
      probability 0, are left out and counted.

    Weights and metadata are retained; logits are not, so a calibrator fitted on corners is a map of the triangle. Three
    classes in their own order stay unchanged.

    A model that is calibrated over all K classes is also calibrated on these corners, either way. What can mislead: the
    reverse does not follow, because other corners may differ. ``condition`` selects rows by their labels, so its plot
    does not show predictions made before the label is known.

    >>> p = Predictions([[0.5, 0.25, 0.25, 0.0], [0.1, 0.2, 0.3, 0.4]], [0, 3])
    >>> corners(p, (0, 1, 2)).predictions.probs.round(2).tolist()
    [[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]
    >>> corners(p, (0, 1, 2), "condition").rows.tolist()
    [0]
    """
    if others not in _WAYS:
        raise InputError(f"others is {others!r}; choose one of {', '.join(_WAYS)}")
    chosen = _triple(predictions, three)
    if predictions.n_classes == 3:
        return _in_order(predictions, chosen)
    return _WAYS[others](predictions, chosen)


def largest_three(predictions: Predictions) -> Triple:
    """Return the three classes with most rows (by weight), largest first, the lowest code on a tie.

    >>> largest_three(Predictions([[0.25] * 4] * 4, [3, 3, 1, 2]))
    (3, 1, 2)
    """
    _enough_classes(predictions)
    weight = np.bincount(predictions.true_labels, predictions.weights, minlength=predictions.n_classes or 3)
    a, b, c = np.argsort(-weight, kind="stable")[:3].tolist()
    return a, b, c


def most_confused_three(predictions: Predictions) -> Triple:
    """Return the three classes with most rows confused among each other (by weight), in the order of the file.

    A row of class i that is predicted as class j counts for every three classes with both. The lowest codes win a tie;
    without wrong rows, these are the ``largest_three``. What can mislead: the classes are selected because of their
    errors, so select them on other rows than those that are shown.

    >>> rows = [[0.6, 0.4, 0, 0]] * 2 + [[0.4, 0, 0, 0.6]] * 3 + [[0, 0, 1.0, 0]] * 9
    >>> most_confused_three(Predictions(rows, [0, 1, 0, 0, 0] + [2] * 9))
    (0, 1, 3)
    """
    _enough_classes(predictions)
    k, counts = predictions.n_classes or 3, ~predictions.correct
    if predictions.abstained is not None:
        counts &= ~predictions.abstained
    wrong = np.flatnonzero(counts)
    weights = None if predictions.weights is None else predictions.weights[wrong]
    place = predictions.true_labels[wrong] * k + predictions.predicted[wrong]
    confused = np.bincount(place, weights, minlength=k * k).reshape(k, k).astype(np.float64)
    confused += confused.T.copy()
    first, second = np.nonzero(np.triu(confused, 1))
    order = np.argsort(-confused[first, second], kind="stable")
    best, most = largest_three(predictions), 0.0
    for a, b in zip(first[order].tolist(), second[order].tolist(), strict=True):
        if 3 * confused[a, b] <= most:
            break  # the pairs of all further triples have fewer confused rows
        joined = confused[a] + confused[b]
        joined[[a, b]] = -1.0
        c = int(joined.argmax())
        if confused[a, b] + joined[c] > most:
            best, most = (a, b, c), float(confused[a, b] + joined[c])
    if not most:
        return best
    a, b, c = sorted(best)
    return a, b, c


def _enough_classes(predictions: Predictions) -> None:
    if predictions.kind == "per-class":
        raise NotAnswerable("the probabilities of a row need not sum to one here, so rows are not points of a simplex")
    predictions.rows  # noqa: B018  raises with the reason where only the top class or the confidence is known
    if (predictions.n_classes or 0) < 3:
        raise NotAnswerable("there are only two classes; a triangle of predictions needs at least three")


def _triple(predictions: Predictions, three: Sequence[int | str]) -> Triple:
    _enough_classes(predictions)
    names = predictions.class_names or ()
    codes = [_code(corner, names) for corner in three]
    if len(codes) != 3 or len(set(codes)) != 3:
        raise InputError(
            f"three different classes are needed as corners, not {first_few([str(corner) for corner in three], 5)}"
        )
    return codes[0], codes[1], codes[2]


def _code(corner: int | str, names: tuple[str, ...]) -> int:
    if isinstance(corner, str) and corner in names:
        return names.index(corner)
    if not isinstance(corner, str) and 0 <= corner < len(names):
        return int(corner)
    raise InputError(f"{str(corner)[:80]!r} is not a class; the classes are {first_few(names, 5)}, or codes from 0")


def _in_order(predictions: Predictions, three: Triple) -> Corners:
    """Return predictions of three classes with reordered columns."""
    rows = frozen(np.arange(predictions.n_rows))
    note = "the file has only these three classes"
    if three == (0, 1, 2):
        return Corners(predictions, rows, note)
    probs = predictions.probs[:, three]
    logits = None if predictions.logits is None else predictions.logits.array()[:, three]
    return Corners(_restricted(predictions, rows, three, _named(predictions, three), probs, logits), rows, note)


def _pool(predictions: Predictions, three: Triple) -> Corners:
    """Return all rows; the third corner pools its class with all others."""
    a, b, c = _named(predictions, three)
    rows = frozen(np.arange(predictions.n_rows))
    probs = _pooled(predictions.rows, three[:2])
    rest = (predictions.n_classes or 0) - 3
    others = f"{rest} {'other' if rest == 1 else 'others'}"
    note = f"the corners are {called(a)}, {called(b)}, and all other classes together ({called(c)} and {others})"
    names = (a, b, "any other class")
    return Corners(_restricted(predictions, rows, three, names, probs), rows, note)


def _condition(predictions: Predictions, three: Triple) -> Corners:
    """Return the rows of the three classes, their three probabilities divided by the sum."""
    probs = np.stack([predictions.rows.column(j) for j in three], axis=1).astype(np.float64)
    known = np.isin(predictions.true_labels, three)
    total = probs.sum(axis=1)
    rows = frozen(np.flatnonzero(known & (total > 0)))
    if not len(rows):
        raise NotAnswerable(
            f"no row of the classes {first_few(_named(predictions, three))} has a positive probability for them"
        )
    restricted = _restricted(predictions, rows, three, _named(predictions, three), probs[rows] / total[rows, None])
    named = listed([called(name) for name in _named(predictions, three)])
    note = f"the corners are {named}; {_left_out(predictions.n_rows, known, known & (total == 0))}"
    return Corners(restricted, rows, note)


_WAYS: Mapping[str, Callable[[Predictions, Triple], Corners]] = {"pool": _pool, "condition": _condition}
OTHERS = tuple(_WAYS)
"""Options for the other classes."""


def _left_out(n: int, known: Bools, silent: Bools) -> str:
    note = f"{int((~known).sum()):,} of {n:,} rows are of other classes and left out"
    if silent.any():
        note += f", and {int(silent.sum()):,} more because all three classes have probability 0"
    return f"{note}; the three probabilities of a row are divided by their sum"


def _named(predictions: Predictions, three: Triple) -> tuple[str, str, str]:
    names = predictions.class_names or ()
    return names[three[0]], names[three[1]], names[three[2]]


def _pooled(matrix: Rows, two: tuple[int, ...]) -> Float64s:
    """Return two columns unchanged, and the sum of all others."""
    merged = np.empty((matrix.shape[0], 3))
    rest = np.setdiff1d(np.arange(matrix.shape[1]), two)
    for where, block in matrix.blocks(LARGE_BLOCK_BYTES):
        merged[where, :2] = block[:, two]
        merged[where, 2] = block[:, rest].sum(axis=1, dtype=np.float64)
    # Row sums may be off by float32 rounding, which this step need not report.
    return np.asarray(merged / merged.sum(axis=1, keepdims=True))


def _restricted(
    predictions: Predictions,
    rows: Codes,
    three: Triple,
    names: tuple[str, str, str],
    probs: Floats,
    logits: Floats | None = None,
) -> Predictions:
    code = np.full(predictions.n_classes or 3, 2, dtype=np.intp)
    code[list(three)] = range(3)
    kept = predictions if len(rows) == predictions.n_rows else predictions.take(rows)
    return Predictions(
        probs,
        code[kept.true_labels],
        class_names=names,
        logits=None if logits is None else Logits(logits),
        weights=kept.weights,
        metadata=kept.metadata,
        groups=kept.grouping,
        abstained=kept.abstained,
    )
