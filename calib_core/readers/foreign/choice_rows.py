"""Log-likelihoods of the choices of questions: the favored choice, its confidence and correctness."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import frozen
from calib_core.readers.reading import Fields
from calib_core.readers.table import Array

CLASSES = "class names"
"""Column of the names of the choices; present if every row has the same number of choices."""
SCORES, PREDICTED, GOLD, CONFIDENCE, CORRECT = "log_likelihood", "predicted", "gold", "confidence", "correct"


class ChoiceRows:
    """Questions with a score for each choice, on one or more measures, and the position of the right choice.

    >>> rows = ChoiceRows(("",))
    >>> rows.add([[-1.0, -2.0]], (0,), None, None); rows.add([[-3.0, -3.0, -1.0]], (1,), None, None)
    >>> columns, matrices = rows.finished()
    >>> columns["confidence"].round(2).tolist(), columns["predicted"].tolist(), columns["correct"].tolist()
    ([0.73, 0.79], ['choice 1', 'choice 3'], [1.0, 0.0])
    """

    def __init__(self, measures: Sequence[str]) -> None:
        self.measures = tuple(measures)
        self._scores = [array("d") for _ in measures]
        self._counts = array("q")
        self._gold = array("q")
        self._others: dict[int, Collection[int]] = {}
        self._reported = array("d")
        self._names: Sequence[str] | None = None
        self._named_alike = True

    def add(
        self,
        scores: Sequence[Sequence[float]],
        gold: Collection[int],
        reported: float | None,
        names: Sequence[str] | None,
    ) -> None:
        """Add a question: its choices' scores by measure, the right choices, and the file's own result.

        ``reported``, 1 or 0, is used if no right choice is known; ``names`` are the texts of the choices.
        """
        for kept, values in zip(self._scores, scores, strict=True):
            kept.extend(values)
        if len(gold) > 1:
            self._others[len(self._counts)] = gold
        self._counts.append(len(scores[0]))
        self._gold.append(next(iter(gold)) if len(gold) == 1 else -1)
        self._reported.append(np.nan if reported is None else reported)
        if len(self._counts) == 1:
            self._names = names
            self._named_alike = names is not None and len(set(names)) == len(names)
        elif self._named_alike:
            self._named_alike = names == self._names

    def finished(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return columns, and matrices (n, K) if every question has the same number of choices."""
        counts = np.array(self._counts, dtype=np.int64)
        most = int(counts.max())
        alike = bool((counts == most).all())
        names = self._names if alike and self._named_alike and self._names else [f"choice {k + 1}" for k in range(most)]
        spelled = np.array([*names, ""], dtype=object)
        columns: dict[str, Array] = {GOLD: spelled[np.array(self._gold)]}
        matrices: dict[str, Array] = {}
        for measure, kept in zip(self.measures, self._scores, strict=True):
            values = np.array(kept)
            confidence, top = _largest(values, counts)
            columns[CONFIDENCE + measure] = confidence
            columns[PREDICTED + measure] = spelled[top]
            columns[CORRECT + measure] = self._correct(top)
            if alike:
                matrices[SCORES + measure] = frozen(values.reshape(-1, most))
        if alike:
            columns[CLASSES] = spelled[:-1]
        return columns, matrices

    def _correct(self, top: NDArray[np.int64]) -> NDArray[np.float64]:
        gold = np.array(self._gold)
        right = np.where(gold >= 0, top == gold, np.array(self._reported))
        for row, golds in self._others.items():
            right[row] = top[row] in golds
        return right


def _largest(values: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Largest softmax entry of every row, and its position; the first on a tie."""
    starts = np.cumsum(counts) - counts
    row = np.repeat(np.arange(len(counts)), counts)
    most = np.maximum.reduceat(values, starts)
    with np.errstate(over="ignore"):  # a score too far below the largest gets share 0
        total = np.add.reduceat(np.exp(values - most[row]), starts)
    place = np.where(values == most[row], np.arange(len(values)) - starts[row], len(values))
    return 1 / total, np.minimum.reduceat(place, starts)


def places_among(values: Sequence[object], choices: int) -> Collection[int]:
    """Return the values that are valid positions of choices, without repeats.

    >>> places_among([2, 0, 2, 7, "1", True], 4)
    [0, 2]
    """
    return sorted({each for each in values if type(each) is int and 0 <= each < choices})


def fields_of_choices(columns: Mapping[str, Array], wide: bool, measure: str = "") -> Fields:
    """Fields of Reading: scores of all choices if ``wide``, else the confidence in the favored choice."""
    if wide:
        names = tuple(str(name) for name in columns[CLASSES])
        return {
            "layout": "wide",
            "kind": "logits",
            "scores": (SCORES + measure,),
            "label": (GOLD,),
            "label_coding": "names",
            "classes": names,
        }
    return {
        "layout": "confidence",
        "kind": "probabilities",
        "confidence": CONFIDENCE + measure,
        "correct": CORRECT + measure,
    }
