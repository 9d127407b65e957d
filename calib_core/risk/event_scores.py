"""Scores of a predicted risk: Brier, scaled Brier, log loss and AUROC, and every measure of a risk in one table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from calib_core._base.errors import as_share
from calib_core.binning.base import BinningScheme
from calib_core.defaults import LEVEL, SEED
from calib_core.estimators.base import estimate
from calib_core.inference.comparison.skills import FEWEST
from calib_core.inference.intervals.auroc_interval import FEWEST_ROWS, auroc_ends, enough_rows
from calib_core.inference.intervals.clustered_rows import of_like_size
from calib_core.inference.intervals.event_rows import EventRows
from calib_core.inference.intervals.influence_functions import MEASURES, ConfidenceRows, Influence
from calib_core.predictions.predictions import NotAnswerable, Predictions
from calib_core.risk.in_the_large import COLUMNS, of_rows
from calib_core.risk.smooth_curve import SmoothCurve, curve_of

_MOST_COPIES = 2_000_000
_TOO_FEW = f"no interval: needs at least {FEWEST} events, and as many rows without one"
_TOO_FEW_RANKED = f"no interval: needs at least {FEWEST_ROWS} events, and as many rows without one"
_TOO_FEW_GROUPS = (
    f"no interval: needs at least {FEWEST_ROWS} groups of like size with an event, and as many without one"
)
_ONE_SIDE = "needs rows with the event and rows without it"
_NO_NOISE = "no interval: every row contributes the same, so that the noise is not seen"


def scores(predictions: Predictions, level: float = LEVEL) -> pd.DataFrame:
    """Brier score, scaled Brier score, log loss and AUROC of the event's risk: one line each, with intervals.

    brier = mean (s - y)^2, half of the Brier score summed over two classes; scaled = 1 - brier / (a (1 - a)), a the
    observed frequency: 0 for a model that predicts a for everyone, 1 for a perfect one; log loss = mean of minus the
    log probability of what happened, in nats, probabilities raised to 2.2e-16; auroc: the chance that a row with the
    event has the higher risk than one without, ties half. Intervals: bounds for means of losses (``inference.means``),
    the delta method (from 10 events and 10 rows without one on), and for the AUROC the wider of DeLong's and a score
    interval (``inference.auroc_interval``, from 5 and 5 on).

    What can mislead: scores depend on how common the event is, so that they compare on the same rows only; an AUROC
    near 1 says nothing about calibration.

    References: Brier 1950; Steyerberg et al. 2010, Epidemiology 21 (scaled Brier); DeLong et al. 1988.

    >>> p = Predictions([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3], [0.1, 0.9]], [0, 0, 1, 1])
    >>> scores(p).set_index("measure")["value"].round(4).to_dict()
    {'brier': 0.225, 'scaled-brier': 0.1, 'log-loss': 0.6122, 'auroc': 0.75}
    """
    as_share(level, "level")
    return _lines(EventRows.of(predictions), predictions, level)


def _lines(rows: EventRows, predictions: Predictions, level: float) -> pd.DataFrame:
    answers, why = _answers(rows)
    lines = [
        _of_mean("brier", "Brier score", rows, predictions, level),
        _of_influence("scaled-brier", "Scaled Brier score", MEASURES["skill"](answers), rows, answers, why, level),
        _of_mean("log-loss", "Log loss", rows, predictions, level),
        _of_auroc(MEASURES["auroc"](answers), rows, answers, why, level),
    ]
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _answers(rows: EventRows) -> tuple[ConfidenceRows, str]:
    """Rows for measures that are not means; why their noise is not known, if it is not."""
    weights = np.ones(len(rows.scores)) if rows.weights is None else rows.weights
    if rows.weights is None or not rows.copies:
        return ConfidenceRows(rows.scores, rows.outcomes, weights, rows.groups), ""
    if weights.sum() > _MOST_COPIES:
        answers = ConfidenceRows(rows.scores, rows.outcomes, weights, rows.groups)
        return answers, f"no interval: more than {_MOST_COPIES:,} copies of rows"
    copies = np.repeat(np.arange(len(weights)), weights.astype(np.intp))
    groups = None if rows.groups is None else rows.groups.take(copies)
    return ConfidenceRows(rows.scores[copies], rows.outcomes[copies], np.ones(len(copies)), groups), ""


def _of_mean(
    key: str, title: str, rows: EventRows, predictions: Predictions, level: float
) -> tuple[str, str, float, float, float, float, float, str]:
    """A mean of losses: of the claims about the event where rows are known, of whole rows in a summary."""
    counted = predictions.grain == "counts"
    try:
        found = estimate(predictions, None if counted else "event", key)
    except NotAnswerable as why:
        return key, title, np.nan, np.nan, np.nan, np.nan, np.nan, str(why)
    # A summary keeps the score summed over both classes, each of which contributes the same.
    share = 0.5 if counted and key == "brier" else 1.0
    try:
        interval = found.interval(level)
    except NotAnswerable as why:
        return key, title, share * found.value, np.nan, np.nan, np.nan, np.nan, str(why)
    low, high = share * interval.low, share * interval.high
    return key, title, share * found.value, low, high, np.nan, np.nan, ""


def _of_influence(
    key: str, title: str, measure: Influence, rows: EventRows, answers: ConfidenceRows, why: str, level: float
) -> tuple[str, str, float, float, float, float, float, str]:
    low = high = np.nan
    if np.isnan(measure.value):
        return key, title, np.nan, low, high, np.nan, np.nan, _ONE_SIDE
    why = why or _few(answers) or ("" if measure.error > 0 else _NO_NOISE)
    if not why:
        low, high = measure.ends(level)
    return key, title, measure.value, low, min(high, 1.0), np.nan, np.nan, "; ".join(filter(None, [why, rows.note]))


def _of_auroc(
    measure: Influence, rows: EventRows, answers: ConfidenceRows, why: str, level: float
) -> tuple[str, str, float, float, float, float, float, str]:
    key, title, low, high = "auroc", "AUROC", np.nan, np.nan
    if np.isnan(measure.value):
        return key, title, np.nan, low, high, np.nan, np.nan, _ONE_SIDE
    if not why and not enough_rows(answers):
        why = _TOO_FEW_RANKED if answers.groups is None else _TOO_FEW_GROUPS
    if not why and not measure.error > 0 and 0 < measure.value < 1:
        why = _NO_NOISE
    if not why:
        low, high = auroc_ends(measure, answers, level)
    return key, title, measure.value, low, high, np.nan, np.nan, "; ".join(filter(None, [why, rows.note]))


def _few(rows: ConfidenceRows) -> str:
    """Why intervals are not given that were simulated for more events and other rows, or groups."""
    if rows.groups is not None:
        with_event, without = (len(np.unique(rows.groups.codes[part])) for part in (rows.right, ~rows.right))
        enough = min(with_event, without, of_like_size(rows.groups, rows.weights)) >= FEWEST
        return "" if enough else f"no interval: fewer than {FEWEST} groups of like size with an event, or without one"
    effective = rows.total**2 / np.square(rows.weights).sum()
    share = float(rows.weights @ rows.right / rows.total)
    return _TOO_FEW if effective * min(share, 1 - share) < FEWEST - 1e-9 else ""


def summary(
    predictions: Predictions,
    level: float = LEVEL,
    bins: int | str | BinningScheme | None = None,
    *,
    intervals: bool = True,
    seed: int = SEED,
) -> pd.DataFrame:
    """Every measure of the predicted risk of the event, one line each.

    Columns: measure, title, value, low, high (interval at ``level``), floor (95 % point of what a calibrated model
    shows, of ICI, E50 and E90), reference (the value under calibration, NaN where there is none) and note. Measures:
    mean-predicted, observed, gap, ratio, intercept and slope (``in_the_large``), ici, e50, e90 and emax
    (``smooth_curve``; value free of the upward bias of noise), brier, scaled-brier, log-loss and auroc (``scores``).
    ``intervals=False`` leaves out those of the curve, which take longest: its values then are not corrected for noise,
    nor are those of rows in groups. ``bins`` as in ``in_the_large``.

    References: Collins et al. 2024, BMJ 385 (TRIPOD+AI); Van Calster et al. 2019, BMC Medicine 17.

    >>> p = Predictions([[0.8, 0.2]] * 50 + [[0.4, 0.6]] * 50, [0, 0, 0, 0, 1] * 10 + [1, 1, 1, 0, 0] * 10)
    >>> table = summary(p).set_index("measure")
    >>> table.loc[["mean-predicted", "observed", "ratio", "slope"], "value"].round(6).tolist()
    [0.4, 0.4, 1.0, 1.0]
    """
    as_share(level, "level")
    rows = EventRows.of(predictions)
    first = of_rows(rows, predictions, level, bins).frame()
    try:
        middle = _of_curve(curve_of(rows, level, intervals=intervals, seed=seed))
    except NotAnswerable as why:
        middle = first.iloc[:0].reindex(range(4))
        middle[["measure", "title", "note"]] = [
            ["ici", "ICI (mean distance)", str(why)],
            ["e50", "E50 (median distance)", str(why)],
            ["e90", "E90 (90 % point of the distance)", str(why)],
            ["emax", "Emax (largest distance)", str(why)],
        ]
    parts = [first, middle, _lines(rows, predictions, level)]
    lines = [line for part in parts for line in part[list(COLUMNS)].itertuples(index=False, name=None)]
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _of_curve(curve: SmoothCurve) -> pd.DataFrame:
    return curve.distances.assign(reference=0.0)[list(COLUMNS)]
