"""Rows as the claims that are looked at by default: the risk of the event of two classes, else the confidence."""

from __future__ import annotations

from typing import Any, Literal

from calib_core.predictions.predictions import InputError, Predictions
from calib_core.reductions.base import claims_of

ClaimNotion = Literal["event", "confidence"]


def notion_looked_at(predictions: Predictions) -> ClaimNotion:
    """What is looked at where nothing is said: "event" for two classes, else "confidence".

    >>> notion_looked_at(Predictions([[0.7, 0.3]], [1])), notion_looked_at(Predictions.from_confidence([0.7], [True]))
    ('event', 'confidence')
    """
    return "confidence" if predictions.event is None or predictions.abstained is not None else "event"


def claimed_rows(predictions: Predictions, notion: str | None = None) -> Predictions:
    """The rows as (confidence, correct), where "event" is meant with its risk for confidence and its event for correct.

    ``notion`` is "event", "confidence" (the rows as they are) or None, that of ``notion_looked_at``. Weights, groups,
    metadata, places of rows and which are abstained on stay, so that whatever looks at confidences looks at risks. Of
    a summary of two classes its counts; slices that it keeps are of the class predicted, and go. NotAnswerable where
    there is no event.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]], [1, 1])
    >>> made = claimed_rows(p)
    >>> made.confidence.tolist(), made.correct.tolist()
    ([0.3, 0.8], [True, True])
    """
    notion = notion or notion_looked_at(predictions)
    if notion == "confidence":
        return predictions
    if notion != "event":
        raise InputError(f"the notion is {notion!r}; rows are looked at by 'event' or by 'confidence'")
    claims = claims_of(predictions, "event")
    if predictions.grain == "counts":
        summary: Any = predictions
        counted: Predictions = summary.of_single_claims(claims.cells)
        return counted
    assert predictions.event is not None
    # Rows that are abstained on keep their places: they are marked, not left out.
    rows = Predictions.from_confidence(
        predictions.rows.column(predictions.event),
        predictions.true_labels == predictions.event,
        weights=predictions.weights,
        metadata=predictions.metadata,
        groups=predictions.grouping,
        abstained=predictions.abstained,
    )
    return rows.as_discrete(predictions.discrete).with_bands_of(predictions)


def event_name(predictions: Predictions) -> str:
    """The name of the event's class; empty where there is none."""
    return "" if predictions.event is None else (predictions.class_names or ())[predictions.event]
