"""Studies: calibrators fitted on some rows and judged on others, as one tidy table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from calib_core.binning import BinningScheme, BinTable, tabulate
from calib_core.calibrators import CALIBRATORS, Calibrator, as_calibrator
from calib_core.estimators import ESTIMATORS, Binned, Estimator, as_estimator, estimate
from calib_core.predictions import NotAnswerable, Predictions
from calib_core.reductions import REDUCTIONS, Reduction, as_reduction

SCORES = ("accuracy", "log-loss", "brier")


def error_keys() -> tuple[str, ...]:
    """Keys of the estimators of calibration errors, each once: of two names for the same the more telling one.

    >>> "ece" in error_keys(), "binned" in error_keys(), "brier" in error_keys()
    (True, False, False)
    """
    return tuple(k for k in ESTIMATORS if k not in SCORES and ESTIMATORS.recipe(ESTIMATORS.make(k)).key == k)


@dataclass(frozen=True)
class Measure:
    """One number of the summary: its name, its notion (None: of the whole prediction) and its estimator."""

    name: str
    reduction: str | None
    estimator: str
    higher_is_better: bool = False


MEASURES = (
    Measure("Accuracy", None, "accuracy", higher_is_better=True),
    Measure("Log loss", None, "log-loss"),
    Measure("Brier score", None, "brier"),
    Measure("conf-ECE", "confidence", "ece"),
    Measure("TL-ECE", "top-label", "ece"),
    Measure("CW-ECE", "class-wise", "ece"),
    Measure("conf-MCE", "confidence", "mce"),
    Measure("TL-MCE", "top-label", "mce"),
)
"""The numbers shown beside a reliability diagram (METHODS §2)."""


def every_measure() -> tuple[Measure, ...]:
    """The scores, then ECE and MCE in every notion that makes binary claims about all classes."""
    short = {m.reduction: m.name.removesuffix("-ECE") for m in MEASURES if m.estimator == "ece"}
    names = {key: short.get(key, REDUCTIONS[key].title) for key in REDUCTIONS if key not in _PARTIAL}
    errors = [Measure(f"{name}-{e.upper()}", key, e) for e in ("ece", "mce") for key, name in names.items()]
    return (*(m for m in MEASURES if m.reduction is None), *errors)


_PARTIAL = ("class-specific", "canonical")
"""Notions about one class only, or about whole vectors: no number of theirs stands beside the others'."""


def recalibrated(fit: Predictions, test: Predictions, calibrator: str | Calibrator) -> Predictions:
    """The test rows after a calibrator fitted on the fit rows; the calibrator given stays unfitted."""
    fresh: Calibrator = clone(as_calibrator(calibrator))
    return fresh.fit_on(fit).apply(test)


def evaluate(
    fit: Predictions,
    test: Predictions,
    calibrators: Sequence[str | Calibrator] = ("identity", "temperature", "top-label-hb"),
    reductions: Sequence[str | Reduction] = ("confidence", "top-label", "class-wise"),
    estimators: Sequence[str | Estimator] = ("ece", "mce"),
    bins: int | str | None = None,
) -> pd.DataFrame:
    """Every calibrator, fitted on ``fit``, judged on ``test`` in every notion by every estimator.

    One line per number: calibrator, reduction, estimator, value, and a note in place of a value that this
    combination cannot give; lines without a reduction hold accuracy, log loss and Brier score. ``fit`` and ``test``
    must not share rows: a calibrator judged on the rows it was fitted on looks better than it is.

    >>> p = Predictions([[0.7, 0.3], [0.2, 0.8]] * 20, [0, 1] * 20)
    >>> fit, test = p.split(0.5, random_state=0)
    >>> evaluate(fit, test, ["identity"], ["confidence"], ["ece"])["estimator"].tolist()
    ['accuracy', 'log-loss', 'brier', 'ece']
    """
    lines: list[dict[str, Any]] = []
    for calibrator in calibrators:
        recipe = CALIBRATORS.recipe(calibrator)
        name = {"calibrator": recipe.key, "title": recipe.title}
        try:
            judged = recalibrated(fit, test, calibrator)
        except NotAnswerable as why:
            lines.append({**name, "value": float("nan"), "note": str(why)})
            continue
        lines += [{**name, **line} for line in _judge(judged, reductions, estimators, bins)]
    return pd.DataFrame(lines, columns=["calibrator", "title", "reduction", "estimator", "value", "note"])


def _judge(
    judged: Predictions,
    reductions: Sequence[str | Reduction],
    estimators: Sequence[str | Estimator],
    bins: int | str | None,
) -> Iterable[dict[str, Any]]:
    for key in SCORES:
        yield {"reduction": None, "estimator": key, **_value(judged, None, ESTIMATORS.make(key))}
    for reduction in map(as_reduction, reductions):
        for given in estimators:
            takes = {"binning", "bins"} if isinstance(bins, int) else {"binning"}
            binned = isinstance(given, str) and any(p.name in takes for p in ESTIMATORS[given].params)
            estimator = as_estimator(given, bins if binned else None)
            keys = {"reduction": REDUCTIONS.recipe(reduction).key, "estimator": ESTIMATORS.recipe(estimator).key}
            yield {**keys, **_value(judged, reduction, estimator)}


def _value(judged: Predictions, reduction: Reduction | None, estimator: Estimator) -> dict[str, Any]:
    try:
        return {"value": estimate(judged, reduction, estimator).value, "note": ""}
    except NotAnswerable as why:
        return {"value": float("nan"), "note": str(why)}


@dataclass(frozen=True)
class SideEffects:
    """What a calibrator does to the decisions: shares of the test rows.

    ``accuracy_change`` after minus before on the rows answered; ``class_changed`` rows whose predicted class is
    another one; ``abstained`` rows no longer answered. None where the classes are unknown.
    """

    accuracy_change: float
    class_changed: float | None
    abstained: float


def side_effects(before: Predictions, after: Predictions) -> SideEffects:
    """What recalibration changed besides the probabilities.

    >>> p = Predictions([[0.6, 0.4], [0.6, 0.4]], [0, 1])
    >>> side_effects(p, p)
    SideEffects(accuracy_change=0.0, class_changed=0.0, abstained=0.0)
    """
    changed = None
    if "confidence" not in (before.kind, after.kind):
        other = before.predicted != after.predicted
        answered = np.ones(len(other), dtype=bool) if after.abstained is None else ~after.abstained
        changed = float(np.average(other & answered, weights=after.weights))
    return SideEffects(after.accuracy - before.accuracy, changed, 1.0 - after.coverage)


def ranks(values: pd.DataFrame, measures: Sequence[Measure] | None = None) -> pd.DataFrame:
    """Rank of each model (line) in each measure (column), 1 the best, ties sharing the mean rank; NaN stays NaN.

    >>> ranks(pd.DataFrame({"Accuracy": [0.9, 0.8], "TL-ECE": [0.1, 0.2]})).values.tolist()
    [[1.0, 1.0], [2.0, 2.0]]
    """
    best_high = {m.name for m in measures or every_measure() if m.higher_is_better}
    return pd.DataFrame({name: column.rank(ascending=name not in best_high) for name, column in values.items()})


def summaries(
    predictions: Predictions, schemes: Sequence[BinningScheme], measures: Sequence[Measure] = MEASURES
) -> list[pd.DataFrame]:
    """The measures for each scheme, every notion counted once for all schemes.

    One frame per scheme: measure, value, and a note where these predictions cannot give the value.

    >>> from calib_core.binning import EqualWidth
    >>> p = Predictions([[0.6, 0.4], [0.6, 0.4]], [0, 1])
    >>> summaries(p, [EqualWidth(10)])[0]["value"].round(2).tolist()[3:5]
    [0.1, 0.1]
    """
    tables = {r: _tables(predictions, r, schemes) for r in dict.fromkeys(m.reduction for m in measures if m.reduction)}
    whole = {m.name: _value(predictions, None, ESTIMATORS.make(m.estimator)) for m in measures if not m.reduction}
    frames = []
    for i in range(len(schemes)):
        lines = [
            {"measure": m.name, **(_of_table(tables[m.reduction], i, m) if m.reduction else whole[m.name])}
            for m in measures
        ]
        frames.append(pd.DataFrame(lines))
    return frames


def _tables(predictions: Predictions, reduction: str, schemes: Sequence[BinningScheme]) -> list[BinTable] | str:
    """Tables of one notion for all schemes, or why these predictions make no such claims."""
    try:
        return tabulate(as_reduction(reduction).split(predictions), schemes)
    except NotAnswerable as why:
        return str(why)


def _of_table(tables: list[BinTable] | str, i: int, measure: Measure) -> dict[str, Any]:
    if isinstance(tables, str):
        return {"value": float("nan"), "note": tables}
    estimator = as_estimator(measure.estimator)
    assert isinstance(estimator, Binned)
    return {"value": estimator.of_table(tables[i]).value, "note": ""}
