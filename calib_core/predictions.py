"""Predictions: what a classifier said and what was true, checked once and read-only from then on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from calib_core._arrays import LARGE_BLOCK_BYTES, Bools, Codes, Float64s, Floats, ReadOnly, Rows, frozen, owned
from calib_core._checks import (
    KEPT,
    MOST_COPIES,
    RESCALED,
    ROUNDING_CAP,
    WEIGHTS,
    as_codes,
    as_confidence,
    as_distributions,
    as_matrix,
    as_names,
    as_outcomes,
    as_weights,
    check_same_shape,
    check_weights,
    effective_rows,
    mean_one,
    names_in,
    over_chunks,
    refuse_outside,
    refuse_rows,
    top_one,
    unless_none,
    whole,
)
from calib_core._frames import check_columns, check_same_index, column_names, labels_of_columns, plain
from calib_core._repr import OneLine
from calib_core.errors import InputError, NotAnswerable

__all__ = [
    "KEPT",
    "MOST_COPIES",
    "RESCALED",
    "ROUNDING_CAP",
    "WEIGHTS",
    "InputError",
    "Kind",
    "Logits",
    "NotAnswerable",
    "Predictions",
    "check_same_rows",
    "check_weights",
    "effective_rows",
    "other_classes",
    "split_rows",
    "whole",
]

Kind = Literal["full", "per-class", "top-label", "confidence"]


class Unchanged(Enum):
    """What ``replace`` is not told to change; None takes weights and metadata away."""

    AS_IS = "as it is"


UNCHANGED = Unchanged.AS_IS


@dataclass(frozen=True, eq=False, repr=False)
class Logits(ReadOnly, OneLine):
    """Raw model outputs before the softmax, shape (n, K): a type of its own, so that kind is never guessed.

    >>> Logits([[0.0, 0.0]]).probs().tolist()
    [[0.5, 0.5]]
    """

    values: Floats

    def __init__(self, values: ArrayLike) -> None:
        z = as_matrix(values, "logits")
        # -inf says "impossible" and is legal; a row of nothing else, NaN or +inf is not.
        wrong = np.isnan(z) | np.isposinf(z) | np.isneginf(z).all(axis=1, keepdims=True)
        refuse_rows("logits", wrong.any(axis=1), z, "is not a finite number (-inf is allowed, as 'impossible')")
        object.__setattr__(self, "values", owned(z))

    def probs(self) -> Floats:
        """Softmax of each row, in the dtype of the logits, computed in float64."""
        z = self.values.astype(np.float64)
        z = np.exp(z - z.max(axis=1, keepdims=True))
        z /= z.sum(axis=1, keepdims=True)
        return frozen(z.astype(self.values.dtype))


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Predictions(ReadOnly):
    """Probabilities (n, K), labels (n,) and what goes with them: checked once, never copied again, read-only.

    Three kinds of predictions exist. The *full* matrix answers every question. *Top-label* predictions hold the
    predicted class and its confidence only (or the k largest of them): this is what a top-label calibrator
    returns, since it recalibrates only the claim made. Bare *confidence* predictions hold (confidence, correct).
    A full matrix whose rows need not sum to one, as class-wise calibration returns, is of kind *per-class*.

    Parameters
    ----------
    probs : (n, K) array or DataFrame, each row in the simplex. Rows off by at most 1e-6 (float32 rounding) are kept as
        stored, up to 1e-3 they are rescaled with a note, up to what rounding to d decimals explains (K/2 * 10^-d, at
        most 0.05) with a warning note; beyond that InputError names the worst rows.
    labels : (n,) codes 0..K-1, or names from ``class_names``; an array, Series or Categorical. Where a DataFrame's
        columns are named by numbers, as a scikit-learn model's ``classes_`` can be, and ``class_names`` is not given,
        numbers are names too.
    class_names : K names in column order; when not given a DataFrame's columns, else "0".."K-1".
    logits : (n, K) raw scores the probabilities were made from, kept for calibrators defined on them.
    weights : (n,) non-negative row weights. Whole numbers are copies of the row (up to 20 million in all); others, and
        whole numbers beyond that, are held with mean 1 over the rows that carry weight, and a note says so.
    metadata : DataFrame of n rows, carried along for looking rows up.
    abstained : (n,) True where the model declines to answer (Meta-Cal's uniform rows): such a row predicts no class,
        so it makes no confidence or top-label claim and is left out of the accuracy; its share is always told.

    ``discrete`` marks what a calibrator with few outputs returned (``as_discrete``): it is declared, never counted, so
    predictions made here or read from a file do not carry it, however few values they hold.

    A read-only float array is taken as it is (it cannot change), a writeable one and a DataFrame are copied. Rows go by
    place; pandas objects whose indexes differ are refused, never lined up or taken as they lie.
    The predicted class is the largest entry, the lowest index on a tie.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 0], class_names=["cat", "dog"])
    >>> p.predicted.tolist(), p.confidence.tolist(), p.correct.tolist()
    ([0, 1], [0.7, 0.8], [True, False])
    >>> frame = pd.DataFrame({"cat": [0.7, 0.2], "dog": [0.3, 0.8]}, index=[7, 9])
    >>> Predictions(frame, pd.Series(["cat", "cat"], index=[7, 9])).class_names
    ('cat', 'dog')
    """

    kind: Kind
    labels: Codes | None
    class_names: tuple[str, ...] | None
    logits: Rows | None
    weights: Float64s | None
    metadata: pd.DataFrame | None
    abstained: Bools | None
    discrete: bool
    notes: tuple[str, ...]
    _rows: Rows | None
    _top: tuple[Codes | None, Floats]
    _correct: Bools

    def __init__(
        self,
        probs: ArrayLike,
        labels: ArrayLike,
        *,
        class_names: Sequence[str] | None = None,
        logits: ArrayLike | Logits | None = None,
        weights: ArrayLike | None = None,
        metadata: pd.DataFrame | None = None,
        abstained: ArrayLike | None = None,
    ) -> None:
        check_same_index(
            probs=probs, labels=labels, logits=logits, weights=weights, metadata=metadata, abstained=abstained
        )
        class_names, labels = _of_columns(probs, labels, class_names, "probs")
        check_columns(logits, class_names, "logits")
        matrix, notes, (classes, confidence) = as_distributions(as_matrix(probs, "probs"))
        self._fill_matrix("full", matrix, classes, confidence, labels, class_names, weights, metadata, notes)
        if logits is not None:
            z = logits.values if isinstance(logits, Logits) else Logits(logits).values
            check_same_shape(z, matrix, "logits", "probs")
            object.__setattr__(self, "logits", Rows(z))
        if abstained is not None:
            object.__setattr__(self, "abstained", unless_none(as_outcomes(abstained, len(matrix), "abstained")))

    @classmethod
    def from_logits(
        cls,
        logits: ArrayLike | Logits,
        labels: ArrayLike,
        *,
        class_names: Sequence[str] | None = None,
        weights: ArrayLike | None = None,
        metadata: pd.DataFrame | None = None,
    ) -> Self:
        """Predictions from raw logits (n, K): probabilities are their softmax, the logits are kept.

        >>> Predictions.from_logits([[0.0, 0.0], [2.0, 0.0]], [0, 1]).confidence.round(3).tolist()
        [0.5, 0.881]
        """
        check_same_index(logits=logits, labels=labels, weights=weights, metadata=metadata)
        class_names, labels = _of_columns(logits, labels, class_names, "logits")
        z = logits if isinstance(logits, Logits) else Logits(logits)
        return cls(z.probs(), labels, class_names=class_names, logits=z, weights=weights, metadata=metadata)

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        class_names: Sequence[str] | None = None,
        weights: ArrayLike | None = None,
        metadata: pd.DataFrame | None = None,
    ) -> Self:
        """Predictions of kind per-class: K probabilities a row that need not sum to one.

        >>> Predictions.from_scores([[0.9, 0.4]], [0]).kind
        'per-class'
        """
        check_same_index(scores=scores, labels=labels, weights=weights, metadata=metadata)
        class_names, labels = _of_columns(scores, labels, class_names, "scores")
        matrix = as_matrix(scores, "scores")
        refuse_outside(matrix, "scores")
        classes, confidence = top_one(matrix)
        self = object.__new__(cls)
        self._fill_matrix("per-class", owned(matrix), classes, confidence, labels, class_names, weights, metadata, ())
        return self

    @classmethod
    def from_confidence(
        cls,
        confidence: ArrayLike,
        correct: ArrayLike | None = None,
        *,
        predicted: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        class_names: Sequence[str] | None = None,
        weights: ArrayLike | None = None,
        metadata: pd.DataFrame | None = None,
    ) -> Self:
        """Predictions from (confidence, correct), or from (confidence, predicted class, label).

        ``predicted`` and ``labels`` are codes or names of ``class_names``; two-dimensional ``confidence`` and
        ``predicted`` of shape (n, k) hold the k largest classes, largest first as the base model ranked them.

        >>> p = Predictions.from_confidence([0.9, 0.6], [True, False])
        >>> p.kind, p.n_classes is None
        ('confidence', True)
        """
        check_same_index(
            confidence=confidence,
            correct=correct,
            predicted=predicted,
            labels=labels,
            weights=weights,
            metadata=metadata,
        )
        flat = as_confidence(confidence)
        if (predicted is None) != (labels is None) or (predicted is None) == (correct is None):
            raise InputError("give either correct=, or both predicted= and labels=")
        self = object.__new__(cls)
        if predicted is None:
            right = as_outcomes(correct, len(flat), "correct")
            self._fill("confidence", None, (None, owned(flat)), right, None, None, weights, metadata, ())
            return self
        assert labels is not None
        names = names_in(class_names, predicted, labels)
        y = as_codes(labels, names, len(flat), "labels")
        c = as_codes(plain(predicted).reshape(-1), names, flat.size, "predicted").reshape(flat.shape)
        self._fill("top-label", None, (frozen(c), owned(flat)), c[:, 0] == y, frozen(y), names, weights, metadata, ())
        return self

    # -- what every kind answers ---------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        return len(self._correct)

    @property
    def effective_rows(self) -> float:
        """How many rows of equal weight these are worth: n, the number of copies, or (sum w)^2 / sum w^2.

        Whole-number weights are copies, each with an outcome of its own: their sum. Other weights belong to one outcome
        a row: Kish's number, at most the number of rows that carry weight. It is what thresholds in rows and sentences
        about how much was seen should count. What can mislead: copies that are repeats of one observation are not
        worth their number, and Kish's number is that of a plain mean: exact for no binned error, a guide for all.

        References: Kish 1965, Survey Sampling, §11.7.

        >>> p = Predictions([[0.7, 0.3]] * 2, [0, 1], weights=[0.5, 1.5])
        >>> p.effective_rows, Predictions([[0.7, 0.3]] * 2, [0, 1], weights=[1, 3]).effective_rows
        (1.6, 4.0)
        """
        return effective_rows(self.n_rows, self.weights)

    @property
    def worth_note(self) -> str:
        """What the rows are worth, to follow their number in a sentence; nothing where that is their number.

        >>> Predictions([[0.7, 0.3]] * 2, [0, 1], weights=[0.5, 1.5]).worth_note
        ' (worth 1.6 of equal weight)'
        >>> Predictions([[0.7, 0.3]] * 2, [0, 1], weights=[1, 3]).worth_note, Predictions([[0.7, 0.3]], [0]).worth_note
        (' (counted as 4)', '')
        """
        worth = self.effective_rows
        if np.isclose(worth, self.n_rows, rtol=1e-6):
            return ""
        return f" (counted as {worth:,.0f})" if whole(self.weights) else f" (worth {worth:,.1f} of equal weight)"

    @property
    def n_classes(self) -> int | None:
        """Number of classes K, None where only (confidence, correct) is known."""
        return None if self.class_names is None else len(self.class_names)

    @property
    def confidence(self) -> Floats:
        """h, the probability of the predicted class, shape (n,)."""
        return self._top[1][:, 0]

    @property
    def correct(self) -> Bools:
        """1{y = c}, shape (n,)."""
        return self._correct

    @property
    def coverage(self) -> float:
        """Share of rows (or of their weight) the model answers; 1 unless it abstains."""
        return 1.0 if self.abstained is None else float(np.average(~self.abstained, weights=self.weights))

    @property
    def answered(self) -> Self:
        """The rows the model answers: these predictions themselves unless it abstains."""
        if self.abstained is None:
            return self
        if self.abstained.all():
            raise NotAnswerable("the model abstains on every row: no claim is left to look at")
        return self.take(np.flatnonzero(~self.abstained))

    @property
    def n_ranked(self) -> int:
        """How many of the largest probabilities are at hand without looking at the matrix again."""
        return int(self._top[1].shape[1])

    @property
    def accuracy(self) -> float:
        """Share of the answered rows whose predicted class is right; NaN when none is answered."""
        if self.abstained is None:
            return float(np.average(self._correct, weights=self.weights))
        return self.answered.accuracy if not self.abstained.all() else float("nan")

    # -- what only some kinds answer -----------------------------------------------------------------------

    @property
    def predicted(self) -> Codes:
        """c, the predicted class of each row, shape (n,), codes 0..K-1."""
        if self._top[0] is None:
            raise NotAnswerable(
                "these predictions hold (confidence, correct) only: the predicted classes are unknown; "
                "give predicted= and labels= for anything that looks at classes"
            )
        return self._top[0][:, 0]

    @property
    def rows(self) -> Rows:
        """The (n, K) matrix as blocks of rows; nothing is copied."""
        if self._rows is None:
            what = "(confidence, correct)" if self._top[0] is None else "the predicted class and its confidence"
            raise NotAnswerable(
                f"these predictions hold {what} only: the probabilities of the other classes are unknown"
            )
        return self._rows

    @property
    def probs(self) -> Floats:
        """The (n, K) matrix, read-only; for chosen rows of a larger matrix this makes a copy."""
        return self.rows.array()

    @property
    def true_labels(self) -> Codes:
        """y, codes 0..K-1, for kinds that know it."""
        if self.labels is None:
            raise NotAnswerable("these predictions hold (confidence, correct) only: the labels are unknown")
        return self.labels

    def top(self, k: int) -> tuple[Codes, Floats]:
        """The k largest classes and their probabilities, each (n, k), largest first, lowest index on a tie."""
        classes, probs = self._top
        if classes is None:
            self.predicted  # noqa: B018  raises with the reason
        assert classes is not None
        if classes.shape[1] >= k:
            return classes[:, :k], probs[:, :k]
        if self._rows is None:
            raise NotAnswerable(f"these predictions hold the {classes.shape[1]} largest classes, not {k}")
        if k > self._rows.shape[1]:
            raise NotAnswerable(f"k = {k} is more than the {self._rows.shape[1]} classes")
        object.__setattr__(self, "_top", _top_k(self._rows, classes[:, 0], k))
        return self.top(k)

    # -- choosing rows -------------------------------------------------------------------------------------

    def take(self, index: ArrayLike) -> Self:
        """The chosen rows (integer positions), sharing the matrix with this object."""
        given = np.asarray(index)
        if given.dtype == bool or given.ndim != 1 or len(given) == 0:
            raise InputError("take needs the positions of at least one row; for a mask pass np.flatnonzero(mask)")
        at = given.astype(np.intp)
        classes, probs = self._top
        fields: dict[str, Any] = {
            "labels": None if self.labels is None else frozen(self.labels[at]),
            "logits": None if self.logits is None else self.logits.take(at),
            "weights": None if self.weights is None else self._weights_of(at),
            "abstained": None if self.abstained is None else unless_none(self.abstained[at]),
            "metadata": None if self.metadata is None else self.metadata.iloc[at].reset_index(drop=True),
            "_rows": None if self._rows is None else self._rows.take(at),
            "_top": (None if classes is None else frozen(classes[at]), frozen(probs[at])),
            "_correct": frozen(self._correct[at]),
        }
        return self._with(fields)

    def _weights_of(self, at: Codes) -> Float64s:
        """Weights of the chosen rows: copies stay copies, and other weights do not become copies by being chosen."""
        assert self.weights is not None
        chosen = check_weights(self.weights[at], len(at))
        return chosen if whole(self.weights) else mean_one(chosen)

    def replace(
        self,
        *,
        probs: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        class_names: Sequence[str] | None = None,
        logits: ArrayLike | Logits | None = None,
        weights: ArrayLike | Unchanged | None = UNCHANGED,
        metadata: pd.DataFrame | Unchanged | None = UNCHANGED,
        abstained: ArrayLike | None = None,
        discrete: bool | None = None,
    ) -> Self:
        """The same rows with other parts, each checked as it is when predictions are made; the rest stays.

        Rows go by place. With other ``probs`` (n, K) what belonged to the old ones goes: logits, rows withheld, the
        mark of few values, notes; ``logits`` and ``abstained`` are given beside them. ``weights=None`` and
        ``metadata=None`` take these away; ``class_names`` renames the classes.

        >>> p = Predictions([[0.7, 0.3]], [1], class_names=["cat", "dog"], weights=[2])
        >>> p.replace(labels=["cat"]).correct.tolist(), p.replace(class_names=["a", "b"]).class_names
        ([True], ('a', 'b'))
        >>> p.replace(probs=[[0.4, 0.6]], weights=None).correct.tolist()
        [True]
        """
        if probs is not None:
            names = self.class_names if class_names is None else class_names
            check_columns(probs, names, "probs")
            made = type(self)(
                as_matrix(probs, "probs"),
                self.true_labels if labels is None else plain(labels),
                class_names=names,
                logits=logits if logits is None or isinstance(logits, Logits) else as_matrix(logits, "logits"),
                weights=self.weights if isinstance(weights, Unchanged) else weights,
                metadata=self.metadata if isinstance(metadata, Unchanged) else metadata,
                abstained=None if abstained is None else plain(abstained),
            )
            return made._with({"discrete": True}) if discrete else made
        if logits is not None or abstained is not None:
            raise InputError("logits and abstained go with other probabilities: give probs= too")
        fields: dict[str, Any] = {} if discrete is None else {"discrete": discrete}
        if class_names is not None:
            fields["class_names"] = as_names(class_names, len(self.class_names or class_names))
        if labels is not None:
            y = frozen(as_codes(labels, fields.get("class_names", self.class_names) or (), self.n_rows, "labels"))
            fields |= {"labels": y, "_correct": frozen(self.predicted == y)}
        if not isinstance(weights, Unchanged):
            held, note = self._weighed(weights, self.n_rows)
            fields |= {"weights": held, "notes": self.notes + note}
        if not isinstance(metadata, Unchanged):
            fields["metadata"] = self._described(metadata, self.n_rows)
        return self._with(fields)

    def with_probs(
        self, probs: ArrayLike, *, logits: ArrayLike | Logits | None = None, abstained: ArrayLike | None = None
    ) -> Self:
        """The same rows with other probabilities (n, K): labels, class names, weights and metadata come along.

        >>> p = Predictions([[0.7, 0.3]], [1], class_names=["cat", "dog"])
        >>> p.with_probs([[0.4, 0.6]]).correct.tolist()
        [True]
        """
        return self.replace(probs=probs, logits=logits, abstained=abstained)

    def split(self, share: float = 0.5, *, random_state: int = 0) -> tuple[Self, Self]:
        """Fit and test rows: a seeded split, stratified by label, ``share`` of the rows in the first part.

        Every class is divided to within one row of ``share`` (by correctness where labels are unknown);
        rows keep their order. InputError when a part would be empty.

        >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]] * 4, [0, 1] * 4)
        >>> fit, test = p.split(0.5, random_state=0)
        >>> sorted(fit.labels.tolist()), test.n_rows
        ([0, 0, 1, 1], 4)
        """
        first = self.first_part(share, random_state=random_state)
        return self.take(np.flatnonzero(first)), self.take(np.flatnonzero(~first))

    def first_part(self, share: float = 0.5, *, random_state: int = 0) -> Bools:
        """Which rows ``split`` puts into its first part, shape (n,)."""
        first = split_rows(self._correct if self.labels is None else self.labels, share, random_state)
        if first.all() or not first.any():
            raise InputError(
                f"splitting {self.n_rows} rows with share {share} leaves one part empty; choose a share nearer 0.5"
            )
        return first

    def relabelled(self, labels: ArrayLike) -> Self:
        """The same predictions as if these were the true labels (n,), codes 0..K-1; nothing else changes.

        >>> Predictions([[0.7, 0.3]], [1]).relabelled([0]).correct.tolist()
        [True]
        """
        return self.replace(labels=labels)

    def as_discrete(self, discrete: bool = True) -> Self:
        """The same predictions, marked as the outputs of a map that returns few values, or as not.

        What is marked is judged one bin a value where no bins are given. The mark comes along with every choice of
        rows; other probabilities (``with_probs``) lose it.

        >>> p = Predictions([[0.7, 0.3]], [1])
        >>> p.discrete, p.as_discrete().discrete, p.as_discrete().take([0]).discrete
        (False, True, True)
        """
        return self if discrete == self.discrete else self.replace(discrete=discrete)

    def written_out(self) -> Self:
        """The same rows with whole-number weights written out as copies; other weights stay as they are.

        >>> Predictions([[0.7, 0.3]], [1], weights=[3]).written_out().n_rows
        3
        """
        w = self.weights
        if w is None or not whole(w):
            return self
        return self.take(np.repeat(np.arange(self.n_rows), w.astype(np.intp))).replace(weights=None)

    def __repr__(self) -> str:
        classes = "" if self.n_classes is None else f", {self.n_classes} classes"
        return f"Predictions({self.kind}, {self.n_rows} rows{classes}, accuracy {self.accuracy:.4f})"

    # -- making --------------------------------------------------------------------------------------------

    def _fill_matrix(
        self,
        kind: Kind,
        matrix: Floats,
        classes: Codes,
        confidence: Floats,
        labels: ArrayLike,
        class_names: Sequence[str] | None,
        weights: ArrayLike | None,
        metadata: pd.DataFrame | None,
        notes: tuple[str, ...],
    ) -> None:
        names = as_names(class_names, matrix.shape[1])
        y = frozen(as_codes(labels, names, len(matrix), "labels"))
        top = (frozen(classes[:, None]), frozen(confidence[:, None]))
        self._fill(kind, Rows(matrix), top, classes == y, y, names, weights, metadata, notes)

    def _fill(
        self,
        kind: Kind,
        rows: Rows | None,
        top: tuple[Codes | None, Floats],
        correct: Bools,
        labels: Codes | None,
        class_names: tuple[str, ...] | None,
        weights: ArrayLike | None,
        metadata: pd.DataFrame | None,
        notes: tuple[str, ...],
    ) -> None:
        n = len(correct)
        held, note = self._weighed(weights, n)
        fields: dict[str, Any] = {
            "kind": kind,
            "_rows": rows,
            "_top": top,
            "_correct": frozen(correct),
            "labels": labels,
            "class_names": class_names,
            "logits": None,
            "weights": held,
            "metadata": self._described(metadata, n),
            "abstained": None,
            "discrete": False,
            "notes": notes + note,
        }
        self.__dict__.update(fields)

    def _with(self, fields: Mapping[str, Any]) -> Self:
        """A copy with these fields, which are not checked again."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **fields)
        return other

    @staticmethod
    def _weighed(weights: ArrayLike | None, n: int) -> tuple[Float64s | None, tuple[str, ...]]:
        return (None, ()) if weights is None else as_weights(check_weights(weights, n))

    @staticmethod
    def _described(metadata: pd.DataFrame | None, n: int) -> pd.DataFrame | None:
        if metadata is not None and len(metadata) != n:
            raise InputError(f"metadata has {len(metadata)} rows, the predictions {n}; give one row each")
        return None if metadata is None else metadata.reset_index(drop=True)


def _of_columns(
    matrix: object, labels: ArrayLike, class_names: Sequence[str] | None, what: str
) -> tuple[Sequence[str] | None, ArrayLike]:
    """Names of the classes and labels, where a frame's columns have a say in them."""
    check_columns(matrix, class_names, what)
    columns = column_names(matrix)
    if columns is None or class_names is not None:
        return class_names, labels
    return columns, labels_of_columns(labels, columns)


def split_rows(groups: NDArray[Any], share: float, random_state: int) -> Bools:
    """True for the rows of the first part: seeded, and within one row of ``share`` in every group.

    Rows are ordered by group, at random within it, and every 1/share-th is taken from a random start.
    """
    if not 0 < share < 1:
        raise InputError(f"share is {share}; it must lie between 0 and 1, both excluded")
    rng = np.random.default_rng(random_state)
    order = np.lexsort((rng.random(len(groups)), groups))
    ticks = np.floor(np.arange(len(groups) + 1) * share + rng.random())
    chosen = np.zeros(len(groups), dtype=bool)
    chosen[order] = np.diff(ticks) > 0
    return chosen


def _top_k(rows: Rows, first: Codes, k: int) -> tuple[Codes, Floats]:
    n = rows.shape[0]
    classes, probs = np.empty((n, k), dtype=np.intp), np.empty((n, k), dtype=rows.dtype)

    def work(chunk: slice) -> None:
        part = rows.part(chunk)
        for where, block in part.blocks(LARGE_BLOCK_BYTES):
            at = slice(chunk.start + where.start, chunk.start + where.stop)
            left = block.copy()
            line = np.arange(len(left))
            for rank in range(k):
                best = left.argmax(axis=1) if rank else first[at]
                classes[at, rank] = best
                probs[at, rank] = left[line, best]
                left[line, best] = -1

    for _ in over_chunks(n, work):
        pass
    return frozen(classes), frozen(probs)


def check_same_rows(first: Predictions, second: Predictions) -> None:
    """InputError unless two models' predictions speak of the same rows: as many, of the same classes and labels.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 1])
    >>> check_same_rows(p, Predictions([[0.6, 0.4], [0.2, 0.8]], [0, 0]))
    Traceback (most recent call last):
    ...
    calib_core.errors.InputError: row 1 has the label '1' in one file and '0' in the other: models are compared \
on the same rows in the same order
    """
    if first.n_rows != second.n_rows:
        raise InputError(
            f"one file has {first.n_rows} rows and the other {second.n_rows}: models are compared on the same rows"
        )
    if "confidence" in (first.kind, second.kind):
        return
    if first.class_names != second.class_names:
        raise InputError(
            f"the files do not have the same classes in the same order ({other_classes(first, second)}): "
            "change how one of them is read"
        )
    differ = np.flatnonzero(first.true_labels != second.true_labels)
    if len(differ):
        i, names = int(differ[0]), first.class_names or ()
        here, there = (names[one.true_labels[i]] for one in (first, second))
        raise InputError(
            f"row {i} has the label {here!r} in one file and {there!r} in the other: models are compared "
            "on the same rows in the same order"
        )


def other_classes(first: Predictions, second: Predictions) -> str:
    """How the classes of two files differ, for the middle of a sentence: by their number, or the first other name.

    >>> p = Predictions([[0.7, 0.3]], [0], class_names=["cat", "dog"])
    >>> other_classes(p, Predictions([[0.7, 0.3]], [0], class_names=["cat", "cow"]))
    "class 1 is 'dog' and 'cow'"
    """
    if first.n_classes != second.n_classes:
        return f"{first.n_classes} and {second.n_classes}"
    pairs = zip(first.class_names or (), second.class_names or (), strict=True)
    return next((f"class {c} is {a[:80]!r} and {b[:80]!r}" for c, (a, b) in enumerate(pairs) if a != b), "the same")
