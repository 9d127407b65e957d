"""Reasons to doubt that labels belong to the predictions, or that these rows can select a calibrator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core.predictions.event_names import title_of_event
from calib_core.predictions.predictions import Predictions
from calib_core.text import begun, count, percent

__all__ = ["DOUBTS", "FEWEST_ROWS", "SURELY", "Doubt", "blocking", "doubts"]

FEWEST_ROWS = 30
"""With fewer rows, labels that equal every prediction are no evidence."""
SURELY = 1e-4
"""Probability under calibrated predictions below which labels that equal all of them are doubted."""
_FEWEST_FOR_CHANCE, _FEWEST_PER_CLASS = 50, 10
"""Minimum rows, and rows per class: with fewer, an overconfident model may match its labels only at chance level."""
_AS_SHUFFLED, _SLACK, _EXPECTED = 2.0, 3.0, 0.5
"""Limits in standard deviations of shuffled labels, and a share of the association.

Up to the first, scores are uninformative; the second is a margin for chance. The third is the share of the association
expected of calibrated predictions that must be out of reach.
"""
_MOST_ROWS = 50_000


DOUBTS = ("one-class", "labels-equal", "chance", "constant")
"""Keys of all doubts."""


@dataclass(frozen=True)
class Doubt:
    """A reason for doubt.

    Parameters
    ----------
    key : stable identifier, one of ``DOUBTS``.
    sentence : the observation and what to check, for users.
    blocks_advice : True if no calibrator can be recommended for such rows.
    fact : the observation, to be continued in a sentence.
    """

    key: str
    sentence: str
    blocks_advice: bool
    fact: str


def doubts(predictions: Predictions) -> tuple[Doubt, ...]:
    """Return reasons to doubt labels or scores, first those that rule out advice; empty if there are none.

    *One class observed*: all labels are equal; for bare confidences, all rows are right or all are wrong. This is a
    fact rather than a test; a rare event may be absent by chance.

    *Labels equal every prediction*, n >= 30: either all probabilities are 0 or 1, or this is improbable for calibrated
    predictions. They would be right in all rows with probability prod_i h_i < 1e-4, h_i the confidence (the
    Poisson-binomial probability of n right answers). For grouped rows the lowest confidence of each group counts, which
    bounds that probability from above.

    *No better than chance*, n >= 50 and 10 K, at least two classes observed: T = sum_i p_i,y_i has the standard
    deviation s over shuffled labels and the distance D from its mean there (Hoeffding 1951, Theorem 2). Then D < 2 s,
    and D + 3 s is below half of the D that calibrated predictions expect. One row of each group counts.

    *All scores equal*: every row has the same probabilities.

    Rows of weight 0 and abstained rows are excluded. Counts in bins (summaries) are not examined.

    What can mislead: an honest but underconfident model that separates its classes perfectly also has labels equal to
    its predictions. The sentence states the fact and asks for a check.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 0], class_names=["alive", "died"])
    >>> [(doubt.key, doubt.blocks_advice) for doubt in doubts(p)]
    [('one-class', True)]
    >>> doubts(Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 1]))
    ()
    """
    if predictions.grain == "counts":
        return ()
    rows = _judged(predictions)
    if rows is None:
        return ()
    found = (*_one_class(rows), *_labels_equal(rows), *_chance(rows), *_constant(rows))
    return tuple(sorted(found, key=lambda doubt: not doubt.blocks_advice))


def blocking(predictions: Predictions) -> tuple[Doubt, ...]:
    """Return the doubts that rule out a recommendation of a calibrator.

    >>> blocking(Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 0]))[0].key
    'one-class'
    """
    return tuple(doubt for doubt in doubts(predictions) if doubt.blocks_advice)


class _Expected(NamedTuple):
    """Association of scores and labels in standard deviations of shuffled labels: observed, and if calibrated."""

    observed: float
    calibrated: float


def _judged(predictions: Predictions) -> Predictions | None:
    """Return the answered rows with positive weight; None if there are none."""
    used = np.ones(predictions.n_rows, dtype=bool)
    if predictions.weights is not None:
        used &= predictions.weights > 0
    if predictions.abstained is not None:
        used &= ~predictions.abstained
    if used.all():
        return predictions
    return predictions.take(np.flatnonzero(used)) if used.any() else None


def _one_class(rows: Predictions) -> Iterator[Doubt]:
    fact = _one_outcome(rows) if rows.n_rows > 1 else ""
    if fact:
        unknown = "These rows contain no information about the probabilities of other classes, so no"
        no = "No" if rows.labels is None else unknown
        yield Doubt(
            "one-class",
            f"{begun(fact)}. {no} calibrator is recommended on them.",
            blocks_advice=True,
            fact=fact,
        )


def _one_outcome(rows: Predictions) -> str:
    """Return the fact that all outcomes are equal; empty if they are not."""
    n = count(rows.n_rows)
    if rows.labels is None:
        right = rows.correct
        if right.all() or not right.any():
            return f"all {n} rows are {'right' if right.all() else 'wrong'}, with no other outcome"
        return ""
    code = int(rows.labels[0])
    if (rows.labels != code).any():
        return ""
    name = code if rows.class_names is None else rows.class_names[code]
    return f"all {n} labels are “{name}”, with no other class"


def _labels_equal(rows: Predictions) -> Iterator[Doubt]:
    if rows.labels is None or rows.n_rows < FEWEST_ROWS or not rows.correct.all():
        return
    if (rows.labels == rows.labels[0]).all():
        return  # reported by another check
    confidence = rows.confidence.astype(np.float64)
    fact = f"the label equals the predicted class in all {count(rows.n_rows)} rows"
    if (confidence == 1).all():
        fact += ", and every probability is 0 or 1"
    elif np.log(_least_sure(rows, confidence)).sum() < np.log(SURELY):
        fact += f", but calibrated predictions would be right in about {count(round(float(confidence.sum())))} of them"
    else:
        return
    check = "Check that the labels were not computed from the predictions."
    seen = f"{begun(fact)}. {check} No calibrator is recommended on them."
    yield Doubt("labels-equal", seen, blocks_advice=True, fact=fact)


def _least_sure(rows: Predictions, confidence: Float64s) -> Float64s:
    """Return the confidences, for grouped rows the lowest of each group."""
    if rows.row_groups is None:
        return confidence
    least = np.ones(int(rows.row_groups.codes.max()) + 1)
    np.minimum.at(least, rows.row_groups.codes, confidence)
    return least


def _chance(rows: Predictions) -> Iterator[Doubt]:
    if rows.kind not in ("full", "per-class") or rows.labels is None:
        return
    places = _independent(rows)
    labels = rows.labels[places]
    fewest = max(_FEWEST_FOR_CHANCE, _FEWEST_PER_CLASS * (rows.n_classes or 0))
    if len(places) < fewest or (labels == labels[0]).all():
        return
    found = _expected(rows.rows.take(places).array().astype(np.float64), labels)
    if found is None or found.observed >= _AS_SHUFFLED:
        return
    if found.observed + _SLACK >= _EXPECTED * found.calibrated:
        return
    fact = "the predictions match these labels no better than shuffled ones"
    yield Doubt(
        "chance",
        f"{_seen_by_chance(rows)} {begun(fact)}. Check that both are of the same rows. No calibrator is recommended on "
        "them.",
        blocks_advice=True,
        fact=fact,
    )


def _seen_by_chance(rows: Predictions) -> str:
    """Return the evidence that scores are uninformative: mean risks of two classes, else the accuracy."""
    if rows.event is None:
        expected = percent(float(rows.confidence.astype(np.float64).mean()))
        return f"Accuracy is {percent(float(rows.correct.mean()))}, but the predictions expect {expected}."
    risk, happened = rows.probs[:, rows.event].astype(np.float64), rows.labels == rows.event
    with_event, without = (percent(float(risk[mask].mean())) for mask in (happened, ~happened))
    return f"The mean predicted risk is {with_event} in rows with “{title_of_event(rows)}” and {without} in the others."


def _independent(rows: Predictions) -> Codes:
    """Positions of one row of each group, evenly spaced if there are many."""
    places = np.arange(rows.n_rows)
    if rows.row_groups is not None:
        places = np.sort(np.unique(rows.row_groups.codes, return_index=True)[1])
    return places[:: -(-len(places) // _MOST_ROWS)]


def _expected(probs: Float64s, labels: Codes) -> _Expected | None:
    """Association of probabilities and labels, observed and if calibrated; None for constant probabilities.

    The mean and the variance of T = sum_i p[i, y_i] over all orders of the labels are those of Hoeffding (1951),
    Theorem 2. If calibrated, T has the mean sum_ik p_ik^2.
    """
    n, k = probs.shape
    shares = np.bincount(labels, minlength=k) / n
    centred = probs - (probs @ shares)[:, None]
    spread = float(np.square(centred).sum(axis=0) @ shares) - float(np.square(centred.sum(axis=0)) @ shares) / n
    if not spread > 1e-12 * n:
        return None
    deviation = float(np.sqrt(spread * n / (n - 1)))
    # Mean under shuffled labels, for T and its calibrated value: each row's labels have the observed shares.
    shuffled = float((probs @ shares).sum())
    observed = float(probs[np.arange(n), labels].sum()) - shuffled
    own = probs.mean(axis=0)
    calibrated = float(np.square(probs).sum()) - float((probs @ own).sum())
    return _Expected(observed / deviation, calibrated / deviation)


def _constant(rows: Predictions) -> Iterator[Doubt]:
    if rows.n_rows < 2 or rows.kind != "full":
        return
    same: Bools = rows.confidence == rows.confidence[0]
    # The matrix is only needed if all confidences are equal.
    if not same.all() or not (rows.probs == rows.probs[0]).all():
        return
    fact = f"all {count(rows.n_rows)} rows have the same probabilities"
    seen = f"{begun(fact)}. Check that the export contains each row's own probabilities."
    yield Doubt("constant", seen, blocks_advice=False, fact=fact)
