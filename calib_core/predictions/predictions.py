"""Predictions of a classifier with their labels, validated once and read-only afterwards.

The module also has logits, a type for a model's raw outputs. It checks that two models predict the same rows and
classes, and returns rows as a table with predictions, labels and metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib_core._base.arrays import Codes, Floats, ReadOnly, Rows, frozen, owned
from calib_core._base.errors import InputError, NotAnswerable
from calib_core._base.notebook_display import OneLine, Shown
from calib_core._base.pandas_input import check_columns, check_same_index, column_names, labels_of_columns, plain
from calib_core.predictions.row_groups import RowGroups, as_groups
from calib_core.predictions.storage import Grain, Kind, Stored, code_of_event, event_among, split_rows
from calib_core.predictions.validation import (
    KEPT,
    MOST_COPIES,
    RESCALED,
    ROUNDING_CAP,
    WEIGHTS,
    as_claims,
    as_codes,
    as_confidence,
    as_distributions,
    as_matrix,
    as_names,
    as_outcomes,
    check_same_shape,
    check_weights,
    effective_rows,
    names_in,
    refuse_rows,
    unless_none,
    whole,
)
from calib_core.text import percent


def row_table(
    predictions: Stored,
    rows: ArrayLike,
    numbers: ArrayLike | None = None,
    *,
    probabilities: bool = False,
    risks: bool = False,
) -> pd.DataFrame:
    """Table of some rows: row, predicted, label, confidence, correct, then the metadata columns.

    Parameters
    ----------
    rows : positions (m,) of the rows in ``predictions``.
    numbers : row numbers in the file for all rows of ``predictions`` (n,), such as ``test_rows`` of a division; by
        default 0 to n - 1.
    probabilities : True to add a column P(name) for every class, for predictions of few classes.
    risks : True if confidence is the predicted risk of an event, and correct its occurrence: the columns are then
        called risk and event.

    Confidences without classes have no columns ``predicted`` and ``label``. A metadata column with the name of one of
    these is called "name (file)".

    >>> from calib_core import Predictions
    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 0], class_names=["cat", "dog"])
    >>> row_table(p, [1], [10, 11]).to_dict("records")
    [{'row': 11, 'predicted': 'dog', 'label': 'cat', 'confidence': 0.8, 'correct': False}]
    """
    places = np.asarray(rows, dtype=np.intp)
    names = np.asarray(predictions.class_names or (), dtype=object)
    columns: dict[str, object] = {"row": places if numbers is None else np.asarray(numbers)[places]}
    if predictions.kind != "confidence":
        columns |= {"predicted": names[predictions.predicted[places]], "label": names[predictions.true_labels[places]]}
    says, true = ("risk", "event") if risks else ("confidence", "correct")
    columns |= {says: predictions.confidence[places], true: predictions.correct[places]}
    if probabilities:
        columns |= {f"P({name})": predictions.rows.column(j)[places] for j, name in enumerate(names)}
    table = pd.DataFrame(columns)
    if predictions.metadata is not None:
        extra = predictions.metadata.iloc[places].reset_index(drop=True)
        table = table.join(extra.rename(columns=lambda name: f"{name} (file)" if name in columns else name))
    return table


@dataclass(frozen=True, eq=False, repr=False)
class Logits(ReadOnly, OneLine):
    """Raw model outputs before the softmax, shape (n, K): a separate type, so that their kind is never guessed.

    >>> Logits([[0.0, 0.0]]).probs().tolist()
    [[0.5, 0.5]]
    """

    values: Floats

    def __init__(self, values: ArrayLike) -> None:
        z = as_matrix(values, "logits")
        # -inf means "impossible" and is valid; a row with only -inf, NaN or +inf is not.
        wrong = np.isnan(z) | np.isposinf(z)
        refuse_rows("logits", wrong.any(axis=1), z, "is not a finite number (-inf is allowed, as 'impossible')")
        refuse_rows("logits", np.isneginf(z).all(axis=1), z, "for every class; at least one class must be possible")
        object.__setattr__(self, "values", owned(z))

    def probs(self) -> Floats:
        """Softmax of each row, in the dtype of the logits, computed in float64."""
        z = self.values.astype(np.float64)
        with np.errstate(over="ignore"):  # a logit too far below the largest gets probability 0, as it should
            z = np.exp(z - z.max(axis=1, keepdims=True))
        z /= z.sum(axis=1, keepdims=True)
        return frozen(z.astype(self.values.dtype))


__all__ = [
    "KEPT",
    "MOST_COPIES",
    "RESCALED",
    "ROUNDING_CAP",
    "WEIGHTS",
    "Grain",
    "InputError",
    "Kind",
    "Logits",
    "NotAnswerable",
    "Predictions",
    "check_weights",
    "code_of_event",
    "effective_rows",
    "event_among",
    "row_table",
    "split_rows",
    "whole",
]


class Unchanged(Enum):
    """Marker for arguments of ``replace`` that stay unchanged; None removes weights, groups and metadata."""

    AS_IS = "unchanged"


UNCHANGED = Unchanged.AS_IS


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Predictions(Stored, Shown):
    """Probabilities (n, K), labels (n,) and associated data: validated once, never copied again, read-only.

    Three kinds of predictions exist. The *full* matrix supports every analysis. *Top-label* predictions contain only
    the predicted class and its confidence (or the k largest). They are the result of a top-label calibrator, which
    recalibrates only that claim. Bare *confidence* predictions contain (confidence, correct). A full matrix whose rows
    need not sum to one, as class-wise calibration returns, is of kind *per-class*.

    Parameters
    ----------
    probs : (n, K) array or DataFrame, each row in the simplex. Rows off by at most 1e-6 (float32 rounding) are stored
        unchanged. Up to 1e-3 they are rescaled with a note. Up to what rounding to d decimals explains (K/2 * 10^-d, at
        most 0.05) they are rescaled with a warning note. Beyond that, InputError names the worst rows.
    labels : (n,) codes 0..K-1, or names from ``class_names``; an array, Series or Categorical. If a DataFrame's columns
        are named by numbers, as a scikit-learn model's ``classes_`` can be, and ``class_names`` is not given, numbers
        are names, too.
    class_names : K names in column order; by default a DataFrame's columns, else "0".."K-1".
    logits : (n, K) raw scores of the probabilities, retained for calibrators defined on them.
    weights : (n,) non-negative row weights. Integers are copies of the row (up to 20 million in all). Others, and
        larger integers, are stored with mean 1 over the rows with positive weight, and a note reports it. Give sampling
        weights that may be integers as ``sampling_weights(weights)``.
    metadata : DataFrame of n rows, retained for looking rows up.
    groups : (n,) any values, or the name of a column of ``metadata``: rows with the same value are related (one
        patient, question, author) rather than independent. Splits keep groups whole; intervals and tests respect them
        or refuse. One row per group is no grouping; a missing value, or a single group, is an InputError.
    abstained : (n,) True if the model declines to answer (Meta-Cal's uniform rows). Such a row predicts no class, so it
        makes no claim in any notion and is excluded from the accuracy; its share is always reported.

    ``outcome`` is the name of the column of the labels: that of a Series, else given (``with_outcome``) or empty.
    ``discrete`` marks the output of a calibrator with few output values (``as_discrete``). It is declared rather than
    detected, so other predictions are not marked, however few values they have.

    A read-only float array is used without a copy (it cannot change); a writeable one and a DataFrame are copied. Rows
    are matched by position; pandas objects with different indexes are refused rather than aligned.
    The predicted class is the largest entry, the lowest index on a tie.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 0], class_names=["cat", "dog"])
    >>> p.predicted.tolist(), p.confidence.tolist(), p.correct.tolist()
    ([0, 1], [0.7, 0.8], [True, False])
    >>> frame = pd.DataFrame({"cat": [0.7, 0.2], "dog": [0.3, 0.8]}, index=[7, 9])
    >>> Predictions(frame, pd.Series(["cat", "cat"], index=[7, 9])).class_names
    ('cat', 'dog')
    """

    def __init__(
        self,
        probs: ArrayLike,
        labels: ArrayLike,
        *,
        class_names: Sequence[str] | None = None,
        logits: ArrayLike | Logits | None = None,
        weights: ArrayLike | None = None,
        metadata: pd.DataFrame | None = None,
        groups: ArrayLike | RowGroups | str | None = None,
        abstained: ArrayLike | None = None,
    ) -> None:
        others = {"weights": weights, "metadata": metadata, "groups": groups, "abstained": abstained}
        check_same_index(probs=probs, labels=labels, logits=logits, **others)
        class_names, labels = _of_columns(probs, labels, class_names, "probs")
        check_columns(logits, class_names, "logits")
        matrix, notes, (classes, confidence) = as_distributions(as_matrix(probs, "probs"))
        extras = (weights, metadata, groups, notes)
        self._fill_matrix("full", matrix, classes, confidence, labels, class_names, *extras)
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
        groups: ArrayLike | RowGroups | str | None = None,
    ) -> Self:
        """Create predictions from raw logits (n, K): probabilities are their softmax, and the logits are retained.

        >>> Predictions.from_logits([[0.0, 0.0], [2.0, 0.0]], [0, 1]).confidence.round(3).tolist()
        [0.5, 0.881]
        """
        check_same_index(logits=logits, labels=labels, weights=weights, metadata=metadata, groups=groups)
        class_names, labels = _of_columns(logits, labels, class_names, "logits")
        z = logits if isinstance(logits, Logits) else Logits(logits)
        extras: dict[str, Any] = {"weights": weights, "metadata": metadata, "groups": groups}
        return cls(z.probs(), labels, class_names=class_names, logits=z, **extras)

    @classmethod
    def from_scores(
        cls,
        scores: ArrayLike,
        labels: ArrayLike,
        *,
        class_names: Sequence[str] | None = None,
        weights: ArrayLike | None = None,
        metadata: pd.DataFrame | None = None,
        groups: ArrayLike | RowGroups | str | None = None,
    ) -> Self:
        """Create predictions of kind per-class: K probabilities per row that need not sum to one.

        >>> Predictions.from_scores([[0.9, 0.4]], [0]).kind
        'per-class'
        """
        check_same_index(scores=scores, labels=labels, weights=weights, metadata=metadata, groups=groups)
        class_names, labels = _of_columns(scores, labels, class_names, "scores")
        matrix = as_matrix(scores, "scores")
        classes, confidence = as_claims(matrix, "scores")
        self = object.__new__(cls)
        extras = (weights, metadata, groups, ())
        self._fill_matrix("per-class", owned(matrix), classes, confidence, labels, class_names, *extras)
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
        groups: ArrayLike | RowGroups | str | None = None,
        abstained: ArrayLike | None = None,
    ) -> Self:
        """Create predictions from (confidence, correct), or from (confidence, predicted class, label).

        ``predicted`` and ``labels`` are codes or names of ``class_names``. Two-dimensional ``confidence`` and
        ``predicted`` of shape (n, k) contain the k largest classes, in the base model's order of size. ``abstained``
        (n,): rows that make no claim.

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
            groups=groups,
            abstained=abstained,
        )
        flat = as_confidence(confidence)
        if (predicted is None) != (labels is None) or (predicted is None) == (correct is None):
            raise InputError("give either correct=, or both predicted= and labels=")
        self = object.__new__(cls)
        extras = (weights, metadata, groups, ())
        silent = None if abstained is None else unless_none(as_outcomes(abstained, len(flat), "abstained"))
        if predicted is None:
            right = as_outcomes(correct, len(flat), "correct")
            self._fill("confidence", None, (None, owned(flat)), right, None, None, *extras)
            return self if silent is None else self._with({"abstained": silent})
        assert labels is not None
        names = names_in(class_names, predicted, labels)
        y = as_codes(labels, names, len(flat), "labels")
        c = as_codes(plain(predicted).reshape(-1), names, flat.size, "predicted").reshape(flat.shape)
        self._fill("top-label", None, (frozen(c), owned(flat)), c[:, 0] == y, frozen(y), names, *extras)
        return self if silent is None else self._with({"abstained": silent})

    def replace(
        self,
        *,
        probs: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        class_names: Sequence[str] | None = None,
        logits: ArrayLike | Logits | None = None,
        weights: ArrayLike | Unchanged | None = UNCHANGED,
        metadata: pd.DataFrame | Unchanged | None = UNCHANGED,
        groups: ArrayLike | RowGroups | str | Unchanged | None = UNCHANGED,
        abstained: ArrayLike | None = None,
        discrete: bool | None = None,
    ) -> Self:
        """Return the same rows with other parts, each validated as for new predictions; the rest is unchanged.

        Rows are matched by position. Other ``probs`` (n, K) replace everything that belonged to the old ones: logits,
        abstained rows, the mark of few values, notes. Give ``logits`` and ``abstained`` together with them.
        ``weights=None``, ``metadata=None`` and ``groups=None`` remove these; ``class_names`` renames the classes.
        >>> p = Predictions([[0.7, 0.3]], [1], class_names=["cat", "dog"], weights=[2])
        >>> p.replace(labels=["cat"]).correct.tolist(), p.replace(class_names=["a", "b"]).class_names
        ([True], ('a', 'b'))
        >>> p.replace(probs=[[0.4, 0.6]], weights=None).correct.tolist()
        [True]
        """
        if probs is not None:
            names = self.class_names if class_names is None else class_names
            check_columns(probs, names, "probs")
            other = type(self)(
                as_matrix(probs, "probs"),
                self.true_labels if labels is None else plain(labels),
                class_names=names,
                logits=logits if logits is None or isinstance(logits, Logits) else as_matrix(logits, "logits"),
                weights=self.weights if isinstance(weights, Unchanged) else weights,
                metadata=self.metadata if isinstance(metadata, Unchanged) else metadata,
                groups=self.grouping if isinstance(groups, Unchanged) else groups,
                abstained=None if abstained is None else plain(abstained),
            )
            kept: dict[str, Any] = {"chosen_event": self.chosen_event, "outcome": self.outcome}
            if isinstance(metadata, Unchanged):
                kept["chosen_from"] = self.chosen_from
            return other._with({"discrete": bool(discrete), **kept})
        if logits is not None or abstained is not None:
            raise InputError("logits and abstained belong to other probabilities; also give probs=")
        fields: dict[str, Any] = {} if discrete is None else {"discrete": discrete}
        if class_names is not None:
            fields["class_names"] = as_names(class_names, len(self.class_names or class_names))
        if labels is not None:
            y = frozen(as_codes(labels, fields.get("class_names", self.class_names) or (), self.n_rows, "labels"))
            fields |= {"labels": y, "_correct": frozen(self.predicted == y)}
        if not isinstance(weights, Unchanged):
            row_weights, note = self._weighed(weights, self.n_rows)
            fields |= {"weights": row_weights, "notes": self.notes + note}
        if not isinstance(metadata, Unchanged):
            fields |= {"metadata": self._described(metadata, self.n_rows), "chosen_from": None}
        if not isinstance(groups, Unchanged):
            fields["grouping"] = as_groups(groups, fields.get("metadata", self.metadata), self.n_rows)
        return self._with(fields)

    def with_probs(
        self, probs: ArrayLike, *, logits: ArrayLike | Logits | None = None, abstained: ArrayLike | None = None
    ) -> Self:
        """Return the same rows with other probabilities (n, K); all other parts are unchanged.

        >>> p = Predictions([[0.7, 0.3]], [1], class_names=["cat", "dog"])
        >>> p.with_probs([[0.4, 0.6]]).correct.tolist()
        [True]
        """
        return self.replace(probs=probs, logits=logits, abstained=abstained)

    def relabelled(self, labels: ArrayLike) -> Self:
        """Return the same predictions with other true labels (n,), codes 0..K-1.

        >>> Predictions([[0.7, 0.3]], [1]).relabelled([0]).correct.tolist()
        [True]
        """
        return self.replace(labels=labels)

    def as_discrete(self, discrete: bool = True) -> Self:
        """Return the same predictions, marked (or not) as the output of a map with few output values.

        Marked predictions use one bin per value by default. All choices of rows retain the mark; other probabilities
        (``with_probs``) lose it.

        >>> p = Predictions([[0.7, 0.3]], [1])
        >>> p.discrete, p.as_discrete().discrete, p.as_discrete().take([0]).discrete
        (False, True, True)
        """
        return self if discrete == self.discrete else self.replace(discrete=discrete)

    def with_event(self, event: int | str) -> Self:
        """Return the same rows with another event: the class of two, by code or name, whose risk is evaluated.

        InputError if it is not a class, or if there are not two classes with a probability each.

        >>> p = Predictions([[0.7, 0.3]], [0], class_names=["died", "survived"])
        >>> p.event, p.with_event("survived").event, p.with_event("survived").take([0]).event
        (0, 1, 1)
        """
        return self._with({"chosen_event": code_of_event(event, self.class_names, self.event)})

    def with_bands_of(self, other: Self) -> Self:
        """Return the same rows, with the number ranges of metadata defined by other predictions.

        >>> p = Predictions([[0.7, 0.3]] * 3, [0, 1, 0], metadata=pd.DataFrame({"age": [30, 40, 50]}))
        >>> p.take([0]).with_bands_of(p).chosen_from["age"].tolist()
        [30, 40, 50]
        """
        return self._with({"chosen_from": other.metadata if other.chosen_from is None else other.chosen_from})

    def with_outcome(self, outcome: str) -> Self:
        """Return the same rows with the name of their label column, which becomes the title of an event of class 1.

        >>> Predictions([[0.7, 0.3]], [0]).with_outcome("died").outcome
        'died'
        """
        return self._with({"outcome": str(outcome)})

    def written_out(self) -> Self:
        """Return the same rows with integer weights expanded to copies; other weights are unchanged.

        >>> Predictions([[0.7, 0.3]], [1], weights=[3]).written_out().n_rows
        3
        """
        w = self.weights
        if w is None or not whole(w):
            return self
        return self.take(np.repeat(np.arange(self.n_rows), w.astype(np.intp))).replace(weights=None)

    @property
    def rows_of_classes(self) -> Codes:
        """Number of rows by true class, (K,), without weights."""
        return np.bincount(self.true_labels, minlength=self.n_classes or 0)

    def frame(self) -> pd.DataFrame:
        """Return a table of all rows: predicted, label, confidence, correct, P(name) of each class, metadata.

        The column "row" numbers rows from 0. Bare confidences have neither predicted nor label; columns of
        probabilities exist if the whole matrix is known.

        >>> p = Predictions([[0.75, 0.25]], [1], class_names=["cat", "dog"])
        >>> p.frame().columns.tolist()
        ['row', 'predicted', 'label', 'confidence', 'correct', 'P(cat)', 'P(dog)']
        >>> p.frame().loc[0, ["predicted", "label"]].tolist()
        ['cat', 'dog']
        """
        return row_table(self, range(self.n_rows), probabilities=self.kind in ("full", "per-class"))

    def _facts(self) -> Mapping[str, object]:
        names = ", ".join(self.class_names or ())
        abstained = None if self.abstained is None else f"{self.abstained.sum():,} rows"
        return {
            "kind": self.kind,
            "rows": f"{self.n_rows:,}{self.worth_note}",
            "classes": names and f"{self.n_classes:,}: {names}",
            "mean confidence": percent(self.mean_confidence),
            "accuracy": percent(self.accuracy),
            "abstained": abstained,
            "columns": None if self.metadata is None else ", ".join(map(str, self.metadata.columns)),
            "notes": " ".join(self.notes),
        }

    # -- construction --------------------------------------------------------------------------------------

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
        groups: ArrayLike | RowGroups | str | None,
        notes: tuple[str, ...],
    ) -> None:
        names = as_names(class_names, matrix.shape[1])
        y = frozen(as_codes(labels, names, len(matrix), "labels"))
        top = (frozen(classes[:, None]), frozen(confidence[:, None]))
        self._fill(kind, Rows(matrix), top, classes == y, y, names, weights, metadata, groups, notes)
        if isinstance(labels, pd.Series) and isinstance(labels.name, str):
            object.__setattr__(self, "outcome", labels.name)


def _of_columns(
    matrix: object, labels: ArrayLike, class_names: Sequence[str] | None, what: str
) -> tuple[Sequence[str] | None, ArrayLike]:
    """Names of the classes and labels, taken from a frame's columns if it has any."""
    check_columns(matrix, class_names, what)
    columns = column_names(matrix)
    if columns is None or class_names is not None:
        return class_names, labels
    return columns, labels_of_columns(labels, columns)


def check_same_rows(first: Predictions, second: Predictions) -> None:
    """InputError unless two models predict the same rows: as many, with the same classes and labels.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 1])
    >>> check_same_rows(p, Predictions([[0.6, 0.4], [0.2, 0.8]], [0, 0]))
    Traceback (most recent call last):
    ...
    calib_core._base.errors.InputError: row 1 has the label '1' in one file and '0' in the other; a comparison of \
models needs the same rows in the same order
    """
    if first.n_rows != second.n_rows:
        raise InputError(
            f"one file has {first.n_rows:,} rows and the other {second.n_rows:,}; a comparison of models needs the "
            "same rows"
        )
    if "confidence" in (first.kind, second.kind):
        return
    if first.class_names != second.class_names:
        raise InputError(
            f"the files do not have the same classes in the same order ({other_classes(first, second)}); change the "
            "reading of one file"
        )
    differ = np.flatnonzero(first.true_labels != second.true_labels)
    if len(differ):
        i, names = int(differ[0]), first.class_names or ()
        here, there = (names[model.true_labels[i]] for model in (first, second))
        raise InputError(
            f"row {i} has the label {here!r} in one file and {there!r} in the other; a comparison of models needs the "
            "same rows in the same order"
        )


def other_classes(first: Predictions, second: Predictions) -> str:
    """Describe how the classes of two files differ, for the middle of a sentence: their numbers, or the first name.

    >>> p = Predictions([[0.7, 0.3]], [0], class_names=["cat", "dog"])
    >>> other_classes(p, Predictions([[0.7, 0.3]], [0], class_names=["cat", "cow"]))
    "class 1 is 'dog' and 'cow'"
    """
    if first.n_classes != second.n_classes:
        return f"{first.n_classes} and {second.n_classes}"
    pairs = zip(first.class_names or (), second.class_names or (), strict=True)
    return next((f"class {c} is {a[:80]!r} and {b[:80]!r}" for c, (a, b) in enumerate(pairs) if a != b), "the same")
