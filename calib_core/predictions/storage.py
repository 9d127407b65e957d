"""Validated predictions in memory: their arrays, derived quantities, and selections of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeGuard, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from calib_core._base.arrays import LARGE_BLOCK_BYTES, Bools, Codes, Float64s, Floats, ReadOnly, Rows, frozen
from calib_core._base.errors import InputError, NotAnswerable, as_whole
from calib_core.defaults import FOLDS, SEED
from calib_core.predictions.event_names import event_of
from calib_core.predictions.row_groups import RowGroups, as_groups, dealt
from calib_core.predictions.validation import (
    as_weights,
    check_weights,
    effective_rows,
    mean_one,
    over_chunks,
    unless_none,
    whole,
)

Kind = Literal["full", "per-class", "top-label", "confidence"]
Grain = Literal["rows", "counts"]


def is_kind(text: str) -> TypeGuard[Kind]:
    """True if a text is a kind of predictions."""
    return text in get_args(Kind)


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Stored(ReadOnly):
    """Probabilities or confidences with labels and associated data, validated by ``Predictions``."""

    grain: ClassVar[Grain] = "rows"
    kind: Kind
    labels: Codes | None
    class_names: tuple[str, ...] | None
    logits: Rows | None
    weights: Float64s | None
    grouping: RowGroups | None
    metadata: pd.DataFrame | None
    abstained: Bools | None
    discrete: bool
    notes: tuple[str, ...]
    chosen_event: int | None
    outcome: str
    chosen_from: pd.DataFrame | None
    _rows: Rows | None
    _top: tuple[Codes | None, Floats]
    _correct: Bools

    # -- for every kind ------------------------------------------------------------------------------------

    @property
    def n_rows(self) -> int:
        return len(self._correct)

    @property
    def effective_rows(self) -> float:
        """Effective sample size: n, the number of copies, or (sum w)^2 / sum w^2.

        Integer weights are copies with an outcome each: their sum. Other weights belong to one outcome per row: Kish's
        number, at most the number of rows with positive weight. Thresholds in rows and sentences about the amount of
        data use it. What can mislead: copies that repeat one observation count too much. Kish's number is that of a
        plain mean, so for binned errors it is only a guide.

        References: Kish 1965, Survey Sampling, §11.7.

        >>> from calib_core.predictions.predictions import Predictions
        >>> p = Predictions([[0.7, 0.3]] * 2, [0, 1], weights=[0.5, 1.5])
        >>> p.effective_rows, Predictions([[0.7, 0.3]] * 2, [0, 1], weights=[1, 3]).effective_rows
        (1.6, 4.0)
        """
        return effective_rows(self.n_rows, self.weights)

    @property
    def row_groups(self) -> RowGroups | None:
        """Groups of the rows, if any group has several rows; else None."""
        return None if self.grouping is None or self.grouping.alone else self.grouping

    @property
    def groups(self) -> Codes | None:
        """Group of every row, (n,) codes by first appearance; None if every row is independent."""
        return None if self.row_groups is None else self.row_groups.codes

    @property
    def worth_note(self) -> str:
        """The rows' groups and effective sample size, to follow the number of rows in a sentence.

        Empty if rows are independent and equally weighted.

        >>> from calib_core.predictions.predictions import Predictions
        >>> Predictions([[0.7, 0.3]] * 2, [0, 1], weights=[0.5, 1.5]).worth_note
        ' (effective sample size 1.6)'
        >>> Predictions([[0.7, 0.3]] * 2, [0, 1], weights=[1, 3]).worth_note, Predictions([[0.7, 0.3]], [0]).worth_note
        (' (effective sample size 4)', '')
        >>> Predictions([[0.7, 0.3]] * 4, [0, 1] * 2, groups=["a", "a", "b", "b"]).worth_note
        ' in 2 groups'
        """
        among = "" if self.row_groups is None else f" in {self.row_groups.words}"
        worth = self.effective_rows
        if np.isclose(worth, self.n_rows, rtol=1e-6):
            return among
        size = f"{worth:,.0f}" if whole(self.weights) else f"{worth:,.1f}"
        return f"{among} (effective sample size {size})"

    @property
    def n_classes(self) -> int | None:
        """Number of classes K; None if only (confidence, correct) is known."""
        return None if self.class_names is None else len(self.class_names)

    @property
    def event(self) -> int | None:
        """Class of two whose predicted risk is evaluated: the one chosen (``with_event``), else that of ``event_of``.

        None unless there are two classes with a probability each.

        >>> from calib_core.predictions.predictions import Predictions
        >>> Predictions([[0.7, 0.3]], [0]).event, Predictions([[0.7, 0.3]], [0], class_names=["died", "survived"]).event
        (1, 0)
        """
        return event_among(self.kind, self.class_names, self.chosen_event)

    @property
    def confidence(self) -> Floats:
        """Probability h of the predicted class, shape (n,)."""
        return self._top[1][:, 0]

    @property
    def correct(self) -> Bools:
        """Correctness 1{y = c}, shape (n,)."""
        return self._correct

    @property
    def coverage(self) -> float:
        """Share of rows (or of their weight) that the model answers; 1 unless it abstains."""
        return 1.0 if self.abstained is None else float(np.average(~self.abstained, weights=self.weights))

    @property
    def answered(self) -> Self:
        """Rows that the model answers; these predictions themselves unless it abstains."""
        if self.abstained is None:
            return self
        if self.abstained.all():
            raise NotAnswerable("the model abstains on every row, so there is nothing to evaluate")
        return self.take(np.flatnonzero(~self.abstained))

    @property
    def n_ranked(self) -> int:
        """Number of largest probabilities that are stored, without reading the matrix again."""
        return int(self._top[1].shape[1])

    @property
    def accuracy(self) -> float:
        """Share of the answered rows whose predicted class is right; NaN if there are none."""
        if self.abstained is None:
            return float(np.average(self._correct, weights=self.weights))
        return self.answered.accuracy if not self.abstained.all() else float("nan")

    @property
    def mean_confidence(self) -> float:
        """Mean confidence of the answered rows, weighted; NaN if there are none."""
        if self.abstained is None:
            return float(np.average(self.confidence.astype(np.float64), weights=self.weights))
        return self.answered.mean_confidence if not self.abstained.all() else float("nan")

    # -- for some kinds only -------------------------------------------------------------------------------

    @property
    def predicted(self) -> Codes:
        """Predicted class c of each row, shape (n,), codes 0..K-1."""
        if self._top[0] is None:
            raise NotAnswerable(
                "these predictions have only (confidence, correct), so predicted classes are unknown. For results by "
                "class, add columns with the predicted class and the label to the data"
            )
        return self._top[0][:, 0]

    @property
    def rows(self) -> Rows:
        """The (n, K) matrix as blocks of rows, without a copy."""
        if self._rows is None:
            what = "(confidence, correct)" if self._top[0] is None else "the predicted class and its confidence"
            raise NotAnswerable(f"these predictions have only {what}, so probabilities of other classes are unknown")
        return self._rows

    @property
    def probs(self) -> Floats:
        """The (n, K) matrix, read-only; for chosen rows of a larger matrix this is a copy."""
        return self.rows.array()

    @property
    def true_labels(self) -> Codes:
        """Labels y, codes 0..K-1, for kinds that have them."""
        if self.labels is None:
            raise NotAnswerable("these predictions have only (confidence, correct), so labels are unknown")
        return self.labels

    def top(self, k: int) -> tuple[Codes, Floats]:
        """Return the k largest classes and their probabilities, each (n, k), largest first, lowest index on a tie."""
        classes, probs = self._top
        if classes is None:
            self.predicted  # noqa: B018  raises with the reason
        assert classes is not None
        if classes.shape[1] >= k:
            return classes[:, :k], probs[:, :k]
        if self._rows is None:
            raise NotAnswerable(f"these predictions have only the {classes.shape[1]} largest classes, not {k}")
        if k > self._rows.shape[1]:
            raise NotAnswerable(f"k = {k} is larger than the number of classes, {self._rows.shape[1]}")
        object.__setattr__(self, "_top", _top_k(self._rows, classes[:, 0], k))
        return self.top(k)

    # -- selecting rows ------------------------------------------------------------------------------------

    def take(self, index: ArrayLike) -> Self:
        """Return the chosen rows (integer positions), sharing the matrix with this object.

        ``chosen_from`` is then the metadata of the original rows, so that number ranges are the same as for all rows.
        """
        given = np.asarray(index)
        if given.dtype == bool or given.ndim != 1 or len(given) == 0:
            raise InputError("take needs the positions of at least one row; for a mask pass np.flatnonzero(mask)")
        places = given.astype(np.intp)
        classes, probs = self._top
        fields: dict[str, Any] = {
            "labels": None if self.labels is None else frozen(self.labels[places]),
            "logits": None if self.logits is None else self.logits.take(places),
            "weights": None if self.weights is None else self._weights_of(places),
            "grouping": None if self.grouping is None else self.grouping.take(places),
            "abstained": None if self.abstained is None else unless_none(self.abstained[places]),
            "metadata": None if self.metadata is None else self.metadata.iloc[places].reset_index(drop=True),
            "chosen_from": self.metadata if self.chosen_from is None else self.chosen_from,
            "_rows": None if self._rows is None else self._rows.take(places),
            "_top": (None if classes is None else frozen(classes[places]), frozen(probs[places])),
            "_correct": frozen(self._correct[places]),
        }
        return self._with(fields)

    def _weights_of(self, places: Codes) -> Float64s:
        """Return the weights of the chosen rows: copies stay copies, and other weights do not become copies."""
        assert self.weights is not None
        chosen = check_weights(self.weights[places], len(places))
        return chosen if whole(self.weights) else mean_one(chosen)

    def split(self, share: float = 0.5, *, random_state: int = SEED) -> tuple[Self, Self]:
        """Split into two parts, seeded and stratified by label, with ``share`` of the rows in the first part.

        Every class is divided to within one row of ``share`` (by correctness if labels are unknown); rows keep their
        order. Grouped rows stay together: whole groups are divided, by the most frequent class of their rows, and the
        share is as close as they allow. InputError if a part would be empty, or if ``random_state`` is not an integer.

        >>> from calib_core.predictions.predictions import Predictions
        >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]] * 4, [0, 1] * 4)
        >>> fit, test = p.split(0.5, random_state=0)
        >>> sorted(fit.labels.tolist()), test.n_rows
        ([0, 0, 1, 1], 4)
        """
        first = self.first_part(share, random_state=random_state)
        return self.take(np.flatnonzero(first)), self.take(np.flatnonzero(~first))

    def first_part(self, share: float = 0.5, *, random_state: int = SEED) -> Bools:
        """Mark the rows of ``split``'s first part, shape (n,)."""
        as_whole(random_state, "random_state", 0)
        strata = self._correct if self.labels is None else self.labels
        if self.row_groups is None:
            first = split_rows(strata, share, random_state)
        else:
            first = self.row_groups.first_part(strata, check_share(share), random_state)
        if first.all() or not first.any():
            rows = "1 row" if self.n_rows == 1 else f"{self.n_rows:,} rows"
            if self.row_groups is not None:
                rows += f" in {self.row_groups.words}"
            raise InputError(
                f"{rows} cannot be split with share {share}, because one part is empty. Give more rows, or a share "
                "nearer 0.5"
            )
        return first

    def folds(self, number: int = FOLDS, *, random_state: int = SEED) -> Codes:
        """Return the fold of every row, (n,) codes 0..number-1: seeded, stratified by label, groups kept whole.

        InputError if there are fewer rows, or groups, than folds, or if ``random_state`` is not an integer.

        >>> from calib_core.predictions.predictions import Predictions
        >>> p = Predictions([[0.7, 0.3]] * 6, [0, 1] * 3)
        >>> np.bincount(p.folds(3)).tolist(), sorted(p.labels[p.folds(3) == 0].tolist())
        ([2, 2, 2], [0, 1])
        """
        self.check_folds(number, random_state)
        strata = self._correct if self.labels is None else self.labels
        if self.row_groups is None:
            return dealt(strata, number, random_state)
        return self.row_groups.folds(strata, number, random_state)

    def check_folds(self, number: int, random_state: int) -> None:
        """InputError if there are fewer rows, or groups, than folds, or if the seed is not an integer.

        >>> from calib_core.predictions.predictions import Predictions
        >>> Predictions([[0.7, 0.3]] * 6, [0, 1] * 3).check_folds(6, 0)
        """
        parts = self.n_rows if self.row_groups is None else len(self.row_groups.values)
        if not isinstance(number, (int, np.integer)) or not 2 <= number <= parts:
            among = f"{self.n_rows:,} rows" if self.row_groups is None else self.row_groups.words
            raise InputError(f"folds is {number!r}; it must be a whole number from 2 to {parts:,}: there are {among}")
        as_whole(random_state, "random_state", 0)

    def with_parts(self, parts: Sequence[Self], places: Sequence[Codes], note: str) -> Self:
        """Return these rows with the predictions of ``parts`` at ``places``, which together cover every row.

        Labels, weights, groups and metadata are unchanged; ``note`` is added to the notes of the parts.
        """
        back = np.argsort(np.concatenate(places))
        ranked = min(part.n_ranked for part in parts)

        def every(arrays: Sequence[NDArray[np.generic]]) -> NDArray[Any]:
            return frozen(np.concatenate(arrays)[back])

        def matrix(rows: Sequence[Rows | None]) -> Rows | None:
            known = [part.array() for part in rows if part is not None]
            return Rows(every(known)) if len(known) == len(parts) else None

        classes = [part._top[0][:, :ranked] for part in parts if part._top[0] is not None]
        silent = [np.zeros(part.n_rows, bool) if part.abstained is None else part.abstained for part in parts]
        fields = {
            "kind": parts[0].kind,
            "logits": matrix([part.logits for part in parts]),
            "abstained": unless_none(every(silent)),
            "discrete": all(part.discrete for part in parts),
            "notes": tuple(dict.fromkeys((*(old for part in parts for old in part.notes), note))),
            "_rows": matrix([part._rows for part in parts]),
            "_top": (every(classes) if classes else None, every([part._top[1][:, :ranked] for part in parts])),
            "_correct": every([part.correct for part in parts]),
        }
        return self._with(fields)

    def __repr__(self) -> str:
        classes = "" if self.n_classes is None else f", {self.n_classes} classes"
        return f"Predictions({self.kind}, {self.n_rows} rows{classes}, accuracy {self.accuracy:.4f})"

    # -- construction -------------------------------------------------------------------------------------

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
        groups: Any,
        notes: tuple[str, ...],
    ) -> None:
        n = len(correct)
        row_weights, note = self._weighed(weights, n)
        fields: dict[str, Any] = {
            "kind": kind,
            "_rows": rows,
            "_top": top,
            "_correct": frozen(correct),
            "labels": labels,
            "class_names": class_names,
            "logits": None,
            "weights": row_weights,
            "grouping": as_groups(groups, metadata, n),
            "metadata": self._described(metadata, n),
            "abstained": None,
            "discrete": False,
            "notes": notes + note,
            "chosen_event": None,
            "outcome": "",
            "chosen_from": None,
        }
        self.__dict__.update(fields)

    def _with(self, fields: Mapping[str, Any]) -> Self:
        """Return a copy with these fields, which are not validated again."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **fields)
        return other

    @staticmethod
    def _weighed(weights: ArrayLike | None, n: int) -> tuple[Float64s | None, tuple[str, ...]]:
        return (None, ()) if weights is None else as_weights(check_weights(weights, n))

    @staticmethod
    def _described(metadata: pd.DataFrame | None, n: int) -> pd.DataFrame | None:
        if metadata is not None and len(metadata) != n:
            raise InputError(f"metadata has {len(metadata)} rows, but there are {n} predictions; give one row each")
        return None if metadata is None else metadata.reset_index(drop=True)


def event_among(kind: Kind, class_names: tuple[str, ...] | None, chosen: int | None) -> int | None:
    """Return the event of predictions of this kind: the chosen one, else by the names of two classes, else None."""
    if kind not in ("full", "per-class") or class_names is None or len(class_names) != 2:
        return None
    return event_of(class_names) if chosen is None else chosen


def code_of_event(event: int | str, class_names: tuple[str, ...] | None, current: int | None) -> int:
    """Return the code of an event given by code or name; InputError unless it is one of two classes."""
    names = class_names or ()
    if current is None:
        raise InputError(
            f"an event needs two classes with a probability each, but there {'are' if len(names) > 1 else 'is'} "
            f"{len(names) or 'no'} {'class' if len(names) == 1 else 'classes'}"
            + (" and only the predicted class has a probability" if len(names) == 2 else "")
        )
    code = names.index(event) if isinstance(event, str) and event in names else event
    if isinstance(code, str | bool) or code not in (0, 1):
        raise InputError(f"event is {event!r}; it must be one of the classes {names[0]!r} and {names[1]!r}, or 0 or 1")
    return int(code)


def split_rows(groups: NDArray[np.generic], share: float, random_state: int) -> Bools:
    """Mark the rows of the first part: seeded, and within one row of ``share`` in every group.

    Rows are ordered by group, at random within it, and every 1/share-th is taken from a random start.
    """
    check_share(share)
    rng = np.random.default_rng(random_state)
    order = np.lexsort((rng.random(len(groups)), groups))
    ticks = np.floor(np.arange(len(groups) + 1) * share + rng.random())
    chosen = np.zeros(len(groups), dtype=bool)
    chosen[order] = np.diff(ticks) > 0
    return chosen


def check_share(share: float) -> float:
    """Return the share; InputError unless it leaves rows for both parts."""
    if not 0 < share < 1:
        raise InputError(f"share is {share}; it must be between 0 and 1, exclusive")
    return share


def _top_k(rows: Rows, first: Codes, k: int) -> tuple[Codes, Floats]:
    n = rows.shape[0]
    classes, probs = np.empty((n, k), dtype=np.intp), np.empty((n, k), dtype=rows.dtype)

    def work(chunk: slice) -> None:
        part, room = rows.part(chunk), np.empty(0)
        for where, block in part.blocks(LARGE_BLOCK_BYTES):
            span = slice(chunk.start + where.start, chunk.start + where.stop)
            room = room if room.size else np.empty_like(block)
            np.copyto(left := room[: len(block)], block)
            line = np.arange(len(left))
            for rank in range(k):
                best = left.argmax(axis=1) if rank else first[span]
                classes[span, rank] = best
                probs[span, rank] = left[line, best]
                left[line, best] = -1

    for _ in over_chunks(n, work):
        pass
    return frozen(classes), frozen(probs)
