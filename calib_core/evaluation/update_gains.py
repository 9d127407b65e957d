"""Gains of updating a predicted risk for all rows, by a column, or for the value or range with the largest error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.errors import as_whole
from calib_core._base.notebook_display import OneLine
from calib_core._base.pandas_input import title_of
from calib_core._base.sklearn_api import clone
from calib_core.calibrators.base import CALIBRATORS, Calibrator
from calib_core.columns.conditions import Condition, Span
from calib_core.columns.cut import coded
from calib_core.columns.periods import time_columns
from calib_core.defaults import JUDGED_FOLDS, LEVEL, SEED, SIGNIFICANCE
from calib_core.estimators.base import as_estimator
from calib_core.evaluation.cross_fitting import plain_folds
from calib_core.inference.comparison.score_differences import of_gains
from calib_core.inference.significance.multiple_testing import holm
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions, whole
from calib_core.predictions.proper_scores import log_losses
from calib_core.registry.registry import Recipe
from calib_core.slices.gaps import by_column, table
from calib_core.text import score as written

__all__ = ["UpdateGains", "own_recipes", "update_gains", "worst_column"]

_NONE, _ALONE = "none", "intercept of one value"
_TITLES = {
    "intercept": "One shift for all rows",
    _ALONE: "A shift for one value only",
    "intercept by column": "A shift for each value of the column",
    "logistic recalibration": "Logistic recalibration",
    "logistic recalibration by column": "Logistic recalibration by the column",
}


@dataclass(frozen=True, eq=False, repr=False)
class UpdateGains(OneLine):
    """Gains of several updates of a risk on held-out rows.

    ``value`` is the value of the ``column`` with the largest error, or the range of its numbers ("75..",
    ``of_ranges``). ``off`` is True if it differs significantly from the other rows; ``table`` is the result of
    ``frame``.
    """

    column: str
    value: str
    off: bool
    table: pd.DataFrame
    of_ranges: bool = False

    @property
    def title(self) -> str:
        """Value with the largest error, or the range of numbers with its column."""
        return title_of(self.column, self.value) if self.of_ranges else self.value

    @property
    def _by(self) -> str:
        return f"range of {self.column}" if self.of_ranges else self.column

    def frame(self) -> pd.DataFrame:
        """One row per update: update, log_loss, gain, low, high, p, p_holm, helps, and three O:E ratios.

        ``oe`` is for all rows, ``oe_value`` for the value with the largest error, ``oe_others`` for all other rows.
        """
        return self.table

    @property
    def sentence(self) -> str:
        """Recommended update: of the value only, by the column, of all rows, or none."""
        lines: dict[str, Any] = {line["update"]: line for line in self.table.to_dict("records")}
        if not self.off:
            which = (
                f"No {'range' if self.of_ranges else 'value'} of {self.column} differs significantly from the others."
            )
            helpful = [line for line in lines.values() if line["helps"]]
            if not helpful:
                return f"{which} No update of the risk shows a gain."
            best = max(helpful, key=lambda line: float(line["gain"]))
            return f"{which} {_TITLES[best['update']]} gains {written(best['gain'])} in log loss."
        alone, common, by = lines[_ALONE], lines["intercept"], lines["intercept by column"]
        gains = f"gains {written(alone['gain'])} in log loss" if alone["helps"] else "shows no gain"
        sentences = [
            f"{self.title} is significantly off. Shifting only its risk (intercept update) {gains}.",
            f"One shift for all rows leaves {self.title} at O:E {written(common['oe_value'])} "
            f"and brings the others to {written(common['oe_others'])}.",
        ]
        if by["helps"]:
            sentences.append(f"A shift for each {self._by} gains {written(by['gain'])}.")
            if lines["logistic recalibration by column"]["gain"] <= by["gain"]:
                sentences.append("A new slope gains nothing more.")
        return " ".join(sentences)

    def contrast(self, rows: str = "") -> str:
        """Sentence on the effect of one shift for all rows on the value with the error, and on the others.

        ``rows`` names the rows, if the surrounding sentences are about other rows.
        """
        lines: dict[str, Any] = {line["update"]: line for line in self.table.to_dict("records")}
        common = lines["intercept"]
        where = f"On {rows}, o" if rows else "O"
        return (
            f"{where}ne shift for all rows would result in a ratio of observed to expected events (O:E) of "
            f"{written(common['oe_value'])} for {self.title}, and of {written(common['oe_others'])} for the others."
        )

    def _line(self) -> str:
        return self.sentence


def update_gains(
    predictions: Predictions,
    column: str,
    folds: int = JUDGED_FOLDS,
    random_state: int = SEED,
    level: float = LEVEL,
    progress: Callable[[int], object] | None = None,
) -> UpdateGains:
    """Estimate gains in log loss of five updates of a risk by cross-validation: for all rows, one value, and by column.

    Parameters
    ----------
    predictions : rows of two classes with an event.
    column : a metadata column whose values may be updated separately; for numbers that slices cut into ranges
        (``columns.cut``), the ranges.
    folds : 2 to n plain folds (``plain_folds``); groups of rows stay in one fold.
    level : confidence level of the intervals of the gains.

    Updates:

    - ``none``;
    - ``intercept``, logit p' = a + logit p for all rows;
    - ``intercept of one value``, the same for only the rows of the value with the largest error;
    - ``intercept by column``;
    - ``logistic recalibration``, logit p' = a + b logit p;
    - ``logistic recalibration by column``.

    Each row is evaluated after a map fitted on the other folds, which also choose the single value. It is the one with
    the largest z = (O - E) / sqrt(sum p (1 - p)), p after one intercept for all. The gain is the mean log loss of
    ``none`` minus that of the update; its interval and p are those of ``of_gains``. ``helps`` is True if the gain is
    positive and p, corrected by Holm for five updates, is at most .05. O:E is observed over expected events.

    The value in the sentence is the one chosen on all rows. It counts as off if its gap differs significantly from that
    of all other rows (``slices.table``, ``differs``). Raises InputError for a missing column, and NotAnswerable if
    there is no event, or the column has one value.

    What can mislead: with few events a ratio is uncertain. The evaluated maps are fitted on nearly all rows, and the
    interval treats them as fixed. If the column was chosen as the worst of several, the gains of its updates are
    optimistic.

    References: Cox 1958; Van Calster et al. 2016; Janssen et al. 2008, J Clin Epidemiol 61, on updating.

    >>> rng = np.random.default_rng(0)
    >>> risk, site = rng.beta(2, 8, 3000), np.array(["a", "b", "c"])[np.arange(3000) % 3]
    >>> died = rng.random(3000) < np.where(site == "c", 0.4 * risk, risk)
    >>> rows = Predictions(
    ...     np.column_stack([1 - risk, risk]), died.astype(int), metadata=pd.DataFrame({"site": site}))
    >>> found = update_gains(rows, "site")
    >>> found.value, found.off, found.frame()["helps"].tolist()
    ('c', True, [False, True, True, True, True, True])
    """
    rows = predictions.answered
    if rows.event is None:
        raise NotAnswerable("updates of a risk need an event, that is two classes with a probability for each")
    if rows.metadata is None or column not in rows.metadata:
        raise InputError(f"there is no metadata column {column!r}")
    as_whole(folds, "folds", 2)
    if column in time_columns(rows):
        raise NotAnswerable(f"the column {column!r} contains times: an update of a past period changes no new row")
    places = _Places.of(rows, column)
    if len(places.conditions) < 2:
        raise NotAnswerable(f"the column {column!r} has only one value: choose another column")
    if len(np.unique(rows.true_labels)) < 2:
        raise NotAnswerable("only one class is observed, which is not enough for an update of a risk")
    fold = plain_folds(rows, folds, random_state)
    value = places.worst(rows)
    after = {_NONE: rows}
    for done, update in enumerate(_TITLES):
        if progress is not None:
            progress(100 * done // len(_TITLES))
        after[update] = _over_folds(rows, update, places, fold)
    lines = [_line(rows, update, seen, places.codes == value, level) for update, seen in after.items()]
    found = pd.DataFrame(lines)
    p = found["p"].to_numpy()[1:]
    found["p_holm"] = np.append(np.nan, holm(p))
    found["helps"] = (found["gain"] > 0) & (found["p_holm"] <= SIGNIFICANCE)
    order = ["update", "log_loss", "gain", "low", "high", "p", "p_holm", "helps", "oe", "oe_value", "oe_others"]
    return UpdateGains(column, places.text(value), _differs(rows, places, value), found[order], places.of_ranges)


def worst_column(predictions: Predictions) -> str | None:
    """Return the metadata column whose values differ significantly in the error of the risk; None if there is none.

    It is the column of the slice with the largest gap. This slice is significantly off and differs from all other rows
    (``slices.by_column``, corrected for all slices of all columns). Columns of time are left out. NotAnswerable without
    an event.

    >>> p = Predictions([[0.8, 0.2]] * 2000, [0, 0, 0, 0, 1] * 400, metadata=pd.DataFrame({"site": ["a", "b"] * 1000}))
    >>> worst_column(p) is None
    True
    """
    rows = predictions.answered
    if rows.event is None:
        raise NotAnswerable("updates of a risk need an event, that is two classes with a probability for each")
    if rows.metadata is None or not len(rows.metadata.columns):
        return None
    try:
        found = by_column(rows, notion="event")
    except NotAnswerable:
        return None
    # A period is over: a correction of its rows would change no new ones.
    found = found[found["stands_out"] & found["differs"] & ~found["column"].isin(time_columns(rows))]
    if not len(found):
        return None
    return str(found["column"].iloc[int(found["gap"].abs().to_numpy().argmax())])


def own_recipes(predictions: Predictions) -> tuple[Recipe, ...]:
    """Updates of the value of a column with a significant error, and by that column; empty if there is none.

    The column is that of ``worst_column``. Its value is the one furthest from the expectation after one intercept for
    all, if it differs significantly from all other rows. For a column of numbers that slices cut into ranges it is only
    the range. An update by the column would be one for each of its numbers.

    >>> own_recipes(Predictions([[0.7, 0.3]] * 20, [0, 1] * 10))
    ()
    """
    try:
        column = worst_column(predictions)
    except (InputError, NotAnswerable):
        return ()
    if column is None:
        return ()
    rows = predictions.answered
    places = _Places.of(rows, column)
    if len(places.conditions) < 2 or len(np.unique(rows.true_labels)) < 2:
        return ()
    value = places.worst(rows)
    if not _differs(rows, places, value):
        return ()
    alone = CALIBRATORS.described("intercept", by=column, only=places.text(value))
    return (alone,) if places.of_ranges else (alone, CALIBRATORS.described("intercept", by=column))


def _differs(rows: Predictions, places: _Places, value: int) -> bool:
    """Return True if the gap of this value's rows differs significantly from that of all others."""
    slices = table(rows, places.column, notion="event")
    return bool(slices.loc[slices["slice"] == places.conditions[value].title, "differs"].any())


@dataclass(frozen=True, eq=False)
class _Places:
    """Slices of a column that may be updated separately, without missing values, and the slice of each row (-1: none).

    They are the slices of the findings, so an update of one of them is about the same rows.
    """

    column: str
    conditions: tuple[Condition, ...]
    codes: NDArray[np.intp]

    @classmethod
    def of(cls, rows: Predictions, column: str) -> _Places:
        given = [(where.conditions[0], places) for where, places in coded(rows, column)]
        given = [(condition, places) for condition, places in given if condition.text is not None]
        codes = np.full(rows.n_rows, -1, dtype=np.intp)
        for code, (_, places) in enumerate(given):
            codes[places] = code
        return cls(column, tuple(condition for condition, _ in given), codes)

    @property
    def of_ranges(self) -> bool:
        """True for ranges of numbers."""
        return any(isinstance(each, Span) for each in self.conditions)

    def text(self, place: int) -> str:
        """Return the text of a slice for the option ``only``."""
        return str(self.conditions[place].text)

    def named(self, rows: Predictions) -> Predictions:
        """Return the rows with a column that has one value per slice."""
        if not self.of_ranges:
            return rows
        texts = np.array([*(each.text for each in self.conditions), None], dtype=object)
        assert rows.metadata is not None
        return rows.replace(metadata=rows.metadata.assign(**{self.column: texts[self.codes]}))

    def worst(self, rows: Predictions, where: Codes | None = None) -> int:
        """Return the slice with events furthest from the expectation after one intercept for the rows ``where``."""
        codes = self.codes
        if where is not None:
            rows, codes = rows.take(where), codes[where]
        return _worst(rows, codes, len(self.conditions))


def _risk(rows: Predictions) -> Float64s:
    assert rows.event is not None
    return rows.probs[:, rows.event].astype(np.float64)


def _worst(rows: Predictions, codes: NDArray[np.intp], values: int) -> int:
    """Value with events furthest from the expectation after one intercept for all, in standard errors."""
    p, weights = _risk(CALIBRATORS.make("intercept").fit_on(rows).apply(rows)), _weights(rows)
    known = codes >= 0
    away = np.bincount(codes[known], (weights * ((rows.true_labels == rows.event) - p))[known], values)
    spread = np.bincount(codes[known], (np.square(weights) * p * (1 - p))[known], values)
    return int(np.argmax(np.abs(away) / np.sqrt(np.maximum(spread, 1e-300)) * (spread > 0)))


def _weights(rows: Predictions) -> Float64s:
    return np.ones(rows.n_rows) if rows.weights is None else rows.weights


def _over_folds(rows: Predictions, update: str, places: _Places, fold: Codes) -> Predictions:
    """Every row after an update fitted on the other folds."""
    named = places.named(rows)
    key = "intercept" if update.startswith("intercept") else "logistic-recalibration"
    ready: Calibrator = CALIBRATORS.make(key, **({"by": places.column} if update.endswith("by column") else {}))
    probs = rows.probs.copy()
    for part in np.unique(fold):
        fit, test = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
        if update == _ALONE:
            worst = places.worst(rows, fit)
            fit, test = fit[places.codes[fit] == worst], test[places.codes[test] == worst]
        if len(fit) and len(test):
            probs[test] = clone(ready).fit_on(named.take(fit)).apply(named.take(test)).probs
    return rows.with_probs(probs)


def _line(
    rows: Predictions, update: str, after: Predictions, mine: NDArray[np.bool_], level: float
) -> dict[str, object]:
    losses, base = log_losses(after), log_losses(rows)
    weights = _weights(rows)
    line = {
        "update": update,
        "log_loss": float(weights @ losses / weights.sum()),
        "oe": _ratio(after, np.ones_like(mine)),
        "oe_value": _ratio(after, mine),
        "oe_others": _ratio(after, ~mine),
    }
    if update == _NONE:
        return line | {"gain": 0.0, "low": 0.0, "high": 0.0, "p": np.nan}
    copied = np.arange(rows.n_rows)
    if rows.weights is not None and whole(rows.weights):
        copied = np.repeat(copied, rows.weights.astype(np.intp))
    both = rows.written_out(), after.written_out()
    score: Any = as_estimator("log-loss")
    try:
        gain, _, _ = of_gains(*both, (base - losses)[copied], score.label_losses, level)
    except NotAnswerable:  # too few groups for an interval
        none = dict.fromkeys(("low", "high", "p"), np.nan)
        return line | {"gain": float(weights @ (base - losses) / weights.sum())} | none
    return line | {"gain": gain.point, "low": gain.low, "high": gain.high, "p": gain.p_value}


def _ratio(rows: Predictions, mine: NDArray[np.bool_]) -> float:
    """Observed over expected events of these rows."""
    weights = _weights(rows)[mine]
    expected = float(weights @ _risk(rows)[mine])
    return float(weights @ (rows.true_labels == rows.event)[mine]) / expected if expected else float("nan")
