"""The predicted risk of an event and whether it happened, row by row, ready for the measures of a risk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logit

from calib_core._base.arrays import LOG_FLOOR, Bools, Float64s, Floats
from calib_core.predictions.predictions import NotAnswerable, Predictions, whole
from calib_core.predictions.row_groups import RowGroups
from calib_core.reductions.class_wise import Event
from calib_core.summaries.cells import Cells

SUMMARY_NOTE = "computed from the cells of a summary, with the mean risk of each cell"


@dataclass(frozen=True, eq=False)
class Trials:
    """Rows collected by predicted risk: ``score`` ascending, ``rows`` and ``events`` of each, all (m,), and ``x``."""

    score: Float64s
    rows: Float64s
    events: Float64s

    @classmethod
    def of(cls, scores: Float64s, outcomes: Bools, weights: Float64s | None = None) -> Trials:
        """Rows of one score are one entry; weights add up."""
        score, place = np.unique(scores, return_inverse=True)
        rows = np.bincount(place, weights, len(score)).astype(np.float64)
        happened = outcomes.astype(np.float64) if weights is None else outcomes * weights
        return cls(score.astype(np.float64), rows, np.bincount(place, happened, len(score)).astype(np.float64))

    @classmethod
    def of_cells(cls, cells: Cells) -> Trials:
        """Claims counted on the fine grid of summaries: every cell at its mean score."""
        number = cells.count.astype(np.float64)
        score = np.clip(np.asarray(cells.sums[0].value) / np.maximum(number, 1.0), 0.0, 1.0)
        return cls(score, number, cells.outcome.astype(np.float64))

    @cached_property
    def x(self) -> Float64s:
        """Log-odds of the scores."""
        return log_odds(self.score)

    @property
    def total(self) -> float:
        return float(self.rows.sum())

    @property
    def observed(self) -> float:
        """Events that happened."""
        return float(self.events.sum())

    @property
    def expected(self) -> float:
        """Events that the scores predict."""
        return float(self.rows @ self.score)

    @property
    def concentration(self) -> float:
        """sum p^2 / sum p of the scores: the share by which events vary less than Poisson numbers.

        If all risks are 0 or 1, there is no chance, and one event is enough; the result is always below 1.
        """
        return min(float(self.rows @ np.square(self.score)) / self.expected, 1.0 - 1e-9)

    def scaled(self, factor: float) -> Trials:
        """The same with every number of rows and events times a factor."""
        return Trials(self.score, self.rows * factor, self.events * factor)

    def grouped(self, most: int) -> Trials:
        """At most ``most`` entries: neighbors in log-odds are merged at the risk of their mean log-odds."""
        if len(self.score) <= most:
            return self
        before = np.cumsum(self.rows) - self.rows / 2
        place = np.minimum((before / self.total * most).astype(np.intp), most - 1)
        rows, events = (np.bincount(place, part, most) for part in (self.rows, self.events))
        middle = np.bincount(place, self.rows * self.x, most)[rows > 0] / rows[rows > 0]
        return Trials(1 / (1 + np.exp(-middle)), rows[rows > 0].astype(float), events[rows > 0].astype(float))


@dataclass(frozen=True, eq=False)
class EventRows:
    """Predicted risks of an event, (n,), whether it happened, and row weights; ``event`` is the name of its class.

    Whole-number weights are ``copies`` of a row; other weights are None or of mean 1. ``groups`` are row groups.
    ``cells`` are the rows on the fine grid of summaries (None if weights are not copies). Results from them are the
    same for rows and for counts. ``note`` describes a limitation of every number of these rows.
    """

    scores: Float64s
    outcomes: Bools
    weights: Float64s | None
    copies: bool
    groups: RowGroups | None
    event: str
    cells: Cells | None = None
    note: str = ""

    @classmethod
    def of(cls, predictions: Predictions) -> EventRows:
        """The rows of two classes with a probability each; those of no weight are left out.

        NotAnswerable where there are not two such classes, or no row.
        """
        return cls.of_claims(Event().split(predictions), predictions)

    @classmethod
    def of_claims(cls, claims: Any, predictions: Predictions) -> EventRows:
        """The same from the claims that the rows, or counts of them, make about the event."""
        stratum = claims.stratum(0)
        if predictions.grain == "counts":
            cells = stratum.cells
            trials = Trials.of_cells(cells)
            outcomes = np.repeat([True, False], len(trials.score))
            number = np.concatenate([trials.events, trials.rows - trials.events])
            filled = number > 0
            scores = np.tile(trials.score, 2)[filled]
            return cls(scores, outcomes[filled], number[filled], True, None, claims.strata[0], cells, SUMMARY_NOTE)
        scores, outcomes = stratum.scores.astype(np.float64), stratum.outcomes
        weights, groups = stratum.weights, predictions.row_groups
        if weights is not None and not (weights > 0).all():
            counting = np.flatnonzero(weights > 0)
            scores, outcomes, weights = scores[counting], outcomes[counting], weights[counting]
            groups = None if groups is None else groups.take(counting)
        if not len(scores):
            raise NotAnswerable("every row has weight 0; the risk of an event needs rows with positive weight")
        copies, cells = weights is None or whole(weights), None
        if copies:
            cells = grid_of(stratum.scores, stratum.outcomes, stratum.weights)
        return cls(scores, outcomes, weights, copies, groups, claims.strata[0], cells)

    @cached_property
    def trials(self) -> Trials:
        """The rows collected by score, by weight."""
        return Trials.of(self.scores, self.outcomes, self.weights)

    @cached_property
    def on_grid(self) -> Trials:
        """The same with the mean scores of the fine grid's cells, if weights are copies."""
        return self.trials if self.cells is None else Trials.of_cells(self.cells)


def grid_of(scores: Floats, outcomes: Bools, weights: Float64s | None) -> Cells:
    """Rows, and copies of them by whole-number weights, on the fine grid."""
    if weights is None:
        return Cells.of(scores, outcomes)
    copies = weights.astype(np.intp)
    return Cells.of(np.repeat(scores, copies), np.repeat(outcomes, copies))


def log_odds(scores: Float64s) -> Float64s:
    """log(s / (1 - s)), risks of 0 and 1 moved to LOG_FLOOR and 1 - LOG_FLOOR, the one floor of the log loss too.

    >>> log_odds(np.array([0.0, 0.5, 1.0])).round(1).tolist()
    [-36.0, 0.0, 36.0]
    """
    return np.asarray(logit(np.clip(scores, LOG_FLOOR, 1 - LOG_FLOOR)))
