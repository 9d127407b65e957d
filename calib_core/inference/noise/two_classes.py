"""Of two classes, whose probabilities sum to one, both have the error of the event."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calib_core.binning.base import as_intervals, cuts, of_interval
from calib_core.estimators.base import Question, error_scale, traits
from calib_core.reductions.base import REDUCTIONS
from calib_core.reductions.class_wise import Event

CLASS_WISE, EVENT = "class-wise", "event"
OF_ONE_STRATUM = ("class-specific", EVENT)
"""Notions of one stratum of claims, whose error is never smaller than its mean gap."""
CLOSE = 1e-6
"""Edges that differ by less are one edge: 1 - 0.9 is not 0.1 to the last bit."""


def of_event(question: Question) -> Question | None:
    """The same question about the event, where both of two classes, and so their mean, have its error in mirrored bins.

    None where classes are many or their scores need not sum to 1, the question is about another notion or an error of
    other bins, or bins are asked for that no mirror leaves as they are.
    """
    rows, notion = question.predictions, None if question.reduction is None else REDUCTIONS.find(question.reduction)
    if notion is None or notion.key not in (CLASS_WISE, *OF_ONE_STRATUM):
        return None
    if rows.event is None or rows.kind == "per-class" or traits(question.estimator).judged != "bins":
        return None
    if notion.key == EVENT:
        return question
    if error_scale(question.estimator).order == "bins" or not mirrored(question):
        return None
    return replace(question, reduction=Event())


def mirrored(question: Question) -> bool:
    """Do the bins of one of two classes mirror those of the other?"""
    scheme = question.estimator.binning
    fixed = as_intervals(scheme).fixed_edges() if of_interval(cuts(scheme)) else None
    if fixed is None:
        return True
    edges = np.asarray(fixed, dtype=np.float64)
    return bool(np.allclose(edges, (1.0 - edges)[::-1], rtol=0.0, atol=CLOSE))
