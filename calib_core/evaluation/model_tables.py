"""Tables of models and calibrators: measures, guarantees, and side effects on decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from calib_core.binning.base import BinningScheme
from calib_core.calibrators.base import CALIBRATORS, Calibrator, Contract
from calib_core.defaults import ALPHA, RATIO, TOLERANCE
from calib_core.estimators.base import claimed_rows, estimate
from calib_core.evaluation.candidates import SINGLE, right_or_wrong
from calib_core.evaluation.study import MEASURES, Measure, every_measure, over_same_rows, summaries
from calib_core.evaluation.study import side_effects as _side_effects
from calib_core.inference import verdicts
from calib_core.inference.verdicts.primary_measure import PrimaryLine
from calib_core.predictions.predictions import NotAnswerable, Predictions, whole
from calib_core.predictions.validation import rows_and_copies

__all__ = ["bins_of_measures", "costs", "gains", "measured", "promises", "side_effects", "standings", "sure_rows"]


def standings(
    models: Mapping[str, Predictions],
    bins: int | str | BinningScheme | None = None,
    calibrators: Mapping[str, Calibrator] | None = None,
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Return all calibration measures of every model: errors in each notion, and proper scores.

    One row per model: model, a column for each of ``study.every_measure`` for its classes, the bins of these,
    and the kind of predictions (``returns``). Fitted ``calibrators`` by the models' names add keeps_class and
    sums_to_one, as declared in their contracts. NaN if a model makes no claims in a notion, for instance because it
    recalibrates only its top claim. Make models that abstain comparable first
    (``study.over_same_rows_by_name``). What can mislead: the best of many on the same rows is optimistic;
    ``choice.choose`` does not use them.

    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8]] * 20, [0, 0] * 20)
    >>> standings({"a": p, "b": p.with_probs([[0.6, 0.4], [0.6, 0.4]] * 20)})["Accuracy"].tolist()
    [0.5, 1.0]
    """
    classes = max((rows.n_classes or 0 for rows in models.values()), default=0)
    table = measured(models, bins, every_measure(classes), progress).drop(columns="note")
    table["returns"] = [rows.kind for rows in models.values()]
    return table if calibrators is None else table.assign(**_declared(calibrators, models))


def measured(
    models: Mapping[str, Predictions],
    bins: int | str | BinningScheme | None = None,
    measures: Sequence[Measure] = MEASURES,
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Return accuracy, proper scores and raw calibration errors of models: one row per model, one column per measure.

    The column ``bins`` describes the bins of the errors, the most common rule first. An undefined measure is NaN, and
    ``note`` is the reason. Without ``bins``, models with declared discrete outputs have one bin per value, others 15
    equal-width bins. What can mislead: noise inflates raw errors, more so with fewer rows per bin; ``estimate`` gives
    intervals and noise floors. If a model abstains, make the rows equal first (``study.over_same_rows_by_name``).
    ``progress`` gets the percentage done.

    References: METHODS of the estimators in ``study.MEASURES``; accuracy, log loss and Brier score of whole rows.

    >>> p = Predictions([[0.6, 0.4], [0.6, 0.4]], [0, 1])
    >>> measured({"net": p}, 10)[["model", "Accuracy", "TL-ECE", "bins"]].round(2).values.tolist()
    [['net', 0.5, 0.1, '10 equal width']]
    """
    lines = []
    for i, (name, predictions) in enumerate(models.items()):
        if progress is not None:
            progress(100 * i // len(models))
        frame = summaries(predictions, [bins], measures)[0]
        values = dict(zip(frame["measure"], frame["value"], strict=True))
        lines.append({"model": name, **values, "bins": bins_of_measures(frame), "note": _note(frame)})
    return pd.DataFrame(lines, columns=["model", *(measure.name for measure in measures), "bins", "note"])


def bins_of_measures(frame: pd.DataFrame) -> str:
    """Short description of the bins of a model's measures, the most common rule first.

    ``frame`` is one of ``study.summaries``.

    >>> bins = ["15 equal width", "", "one per value (7)"]
    >>> bins_of_measures(pd.DataFrame({"measure": ["a", "b", "c"], "bins": bins}))
    '15 equal width; c: one per value'
    """
    rules: dict[str, list[str]] = {}
    for name, text in zip(frame["measure"], frame["bins"], strict=True):
        if text:
            rules.setdefault(text.partition(" (")[0], []).append(name)
    first, *rest = sorted(rules, key=lambda rule: -len(rules[rule])) or [""]
    return "; ".join([first, *(f"{', '.join(rules[rule])}: {rule}" for rule in rest)])


def costs(models: Mapping[str, Predictions]) -> pd.DataFrame:
    """Return accuracy, log loss and number of answered rows of models.

    One row per model: model, accuracy (of answered rows), log_loss (of those; NaN without probabilities of all
    classes), rows, and answered rows. What can mislead: a model that abstains on hard rows has a higher accuracy
    on the others; ``study.over_same_rows_by_name`` makes the rows equal.

    >>> costs({"net": Predictions([[0.5, 0.5], [0.5, 0.5]], [0, 1])}).round(2).values.tolist()
    [['net', 0.5, 0.69, 2, 2]]
    """
    lines = []
    for name, rows in models.items():
        answered = rows.n_rows if rows.abstained is None else int((~rows.abstained).sum())
        known = (rows.accuracy, _log_loss(rows.answered)) if answered else (np.nan, np.nan)
        lines.append((name, *known, rows.n_rows, answered))
    return pd.DataFrame(lines, columns=["model", "accuracy", "log_loss", "rows", "answered"])


def promises(calibrators: Mapping[str, Calibrator], alpha: float = ALPHA) -> pd.DataFrame:
    """Return each fitted calibrator's distribution-free guarantee with probability 1 - alpha, or the reason for none.

    One row per calibrator: calibrator, holds, the sentence, and ``set_aside``. The last are groups too small for a map
    of their own, and caveats about the fitted map. The probability alpha in (0, 1) is over the draw of calibration
    rows. What can mislead: a guarantee is for new rows drawn independently from the distribution of the calibration
    rows.

    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8]] * 20, [0, 0] * 20)
    >>> promises({"Temperature": CALIBRATORS.make("temperature").fit_on(p)})["holds"].tolist()
    [False]
    """
    given = {name: calibrator.guarantee(alpha) for name, calibrator in calibrators.items()}
    return pd.DataFrame(
        {
            "calibrator": list(calibrators),
            "holds": [promise.holds for promise in given.values()],
            "sentence": [promise.sentence for promise in given.values()],
            "set_aside": [" ".join(calibrator.remarks()) for calibrator in calibrators.values()],
        }
    )


def side_effects(
    before: Mapping[str, Predictions],
    after: Mapping[str, Predictions],
    calibrators: Mapping[str, Calibrator] | None = None,
    notion: str = "confidence",
) -> pd.DataFrame:
    """Return the side effects of recalibration on decisions: changed accuracy, changed classes, abstained rows.

    One row for each of ``after``, with its original rows in ``before`` by the same name. Columns: calibrator,
    accuracy_change (after minus before, on the rows each answers), class_changed (share of rows with another predicted
    class; NaN if classes are unknown) and abstained (share of rows). Then accuracy and accuracy_before, and the number
    and accuracy of rows with a confidence of 95 % or more (``sure_rows``): sure, sure_right and the same _before.
    Fitted ``calibrators`` add keeps_class, keeps_order and sums_to_one. With ``notion`` "event" the predicted risk of
    the event replaces the confident rows. Its mean over the answered rows is in risk and risk_before, and the observed
    frequency in observed.

    >>> p = Predictions([[0.9, 0.1], [0.6, 0.4]], [0, 1])
    >>> side_effects({"swap": p}, {"swap": p.with_probs([[0.96, 0.04], [0.4, 0.6]])}, notion="event").round(2).values[
    ...     0, 6:
    ... ].tolist()
    [0.25, 0.32, 0.5]
    >>> side_effects({"swap": p}, {"swap": p.with_probs([[0.96, 0.04], [0.4, 0.6]])}).values.tolist()[0][:6]
    ['swap', 0.5, 0.5, 0.0, 1.0, 0.5]
    """
    effects = [_side_effects(before[name], rows) for name, rows in after.items()]
    table = pd.DataFrame(
        {
            "calibrator": list(after),
            "accuracy_change": [effect.accuracy_change for effect in effects],
            "class_changed": [np.nan if e.class_changed is None else e.class_changed for e in effects],
            "abstained": [effect.abstained for effect in effects],
            "accuracy": [rows.accuracy for rows in after.values()],
            "accuracy_before": [before[name].accuracy for name in after],
            **(_risks(before, after) if notion == "event" else _sure(before, after)),
        }
    )
    return table if calibrators is None else table.assign(**_declared(calibrators, after))


def _sure(before: Mapping[str, Predictions], after: Mapping[str, Predictions]) -> dict[str, list[float]]:
    """Confident rows of models, before and after."""
    now, was = [sure_rows(rows) for rows in after.values()], [sure_rows(before[name]) for name in after]
    return {
        "sure": [rows.count for rows in now],
        "sure_before": [rows.count for rows in was],
        "sure_right": [rows.right for rows in now],
        "sure_right_before": [rows.right for rows in was],
    }


def _risks(before: Mapping[str, Predictions], after: Mapping[str, Predictions]) -> dict[str, list[float]]:
    """Mean risks of the event over the rows answered after recalibration, and its observed frequency."""
    found: dict[str, list[float]] = {"risk_before": [], "risk": [], "observed": []}
    for name, rows in after.items():
        old, new = over_same_rows([before[name], rows])
        for column, part in (("risk_before", old), ("risk", new)):
            found[column].append(claimed_rows(part, "event").mean_confidence)
        found["observed"].append(claimed_rows(new, "event").accuracy)
    return found


@dataclass(frozen=True)
class SureRows:
    """Confident rows of a model: number of answers at or above a confidence, and their accuracy."""

    count: int
    right: float


def sure_rows(predictions: Predictions, least: float = 0.95) -> SureRows:
    """Return the number and accuracy of answered rows with a confidence of ``least`` or more (NaN if there are none).

    Rows with whole-number weights are counted as copies, others once.

    >>> p = Predictions.from_confidence([0.99, 0.96, 0.5], [True, False, True])
    >>> sure_rows(p)
    SureRows(count=2, right=0.5)
    """
    rows = predictions.answered
    sure = rows.confidence >= rows.confidence.dtype.type(least)
    weights = None if rows.weights is None else rows.weights[sure]
    known = bool(sure.any()) and (weights is None or bool(weights.any()))
    right = float(np.average(rows.correct[sure], weights=weights)) if known else float("nan")
    number = weights if weights is not None and whole(rows.weights) else sure
    return SureRows(round(number.sum()), right)


def gains(
    first: Mapping[str, PrimaryLine],
    before: Mapping[str, Predictions],
    after: Mapping[str, Predictions],
    calibrators: Mapping[str, Calibrator],
    eps: float = TOLERANCE,
    alpha: float = ALPHA,
    bases: Mapping[str, str] | None = None,
    ratio: float = RATIO,
) -> pd.DataFrame:
    """Return the gains and costs of each fitted calibrator, one row per calibrator, for a choice among them.

    ``first`` are the primary measures (``inference.primaries``) by name, for ``after`` as far as present, and for
    their original models, by the names in ``bases``. ``before`` has, by the names of ``after``,
    the original rows. Columns:

    - calibrator;
    - title, point, low, high and verdict of its primary measure for the tolerance ``eps``;
    - for an event also, for ``ratio`` (observed : expected events), ratio, ratio_low, ratio_high and ratio_limit, else
      NaN;
    - point_before, the original model's point in the same notion;
    - log_loss and log_loss_before, both over the rows it answers (of correctness if ``before`` has no more than that;
      NaN if a calibrator of whole rows has none);
    - rows, changed (rows with another predicted class) and abstained (rows);
    - promised, with the reason in ``promise``, with probability 1 - ``alpha``;
    - set_aside, caveats about the fit;
    - fitted, its parameters in few words.

    What can mislead: the best of many on the same rows is optimistic; a difference of two points can be within the
    noise of both.

    >>> p = Predictions([[0.9, 0.1], [0.2, 0.8]] * 20, [0, 0] * 20)
    >>> fitted = {"T": CALIBRATORS.make("temperature").fit_on(p)}
    >>> after = {"T": fitted["T"].apply(p)}
    >>> from calib_core.inference import primaries
    >>> gains(primaries(after), {"T": p}, after, fitted)[["calibrator", "rows", "changed", "promised"]].values.tolist()
    [['T', 40, 0, False]]
    """
    named = bases or {}
    wanted = {*after, *named.values()}
    lines = verdicts({name: line for name, line in first.items() if name in wanted}, eps, ratio=ratio).set_index(
        "model"
    )
    return pd.DataFrame(
        [
            _gain(name, lines, named.get(name, ""), before[name], rows, calibrators[name], alpha)
            for name, rows in after.items()
        ],
        columns=list(_GAIN),
    )


_LINE = ("title", "point", "low", "high", "verdict", "sentence", "ratio", "ratio_low", "ratio_high", "ratio_limit")
_GAIN = (
    *("calibrator", *_LINE, "point_before", "log_loss", "log_loss_before"),
    *("rows", "changed", "abstained", "promised", "promise", "set_aside", "fitted"),
)


def _gain(
    name: str,
    lines: pd.DataFrame,
    base: str,
    before: Predictions,
    after: Predictions,
    calibrator: Calibrator,
    alpha: float,
) -> dict[str, object]:
    """One row of ``gains``."""
    line = lines.loc[name, list(_LINE)].to_dict() if name in lines.index else {}
    was = lines.loc[base].to_dict() if base in lines.index and line else None
    alike = was is not None and was["title"] == line["title"]
    # Rows are counted, so weights that are not numbers of copies do not enter.
    counted = (rows if whole(rows.weights) else rows.replace(weights=None) for rows in (before, after))
    effects, promise = _side_effects(*counted), calibrator.guarantee(alpha)
    old, new = over_same_rows([before, after]) if after.coverage > 0 else (before, after)
    n, single = rows_and_copies(after.n_rows, after.weights), before.kind in SINGLE
    return {
        "calibrator": name,
        **{column: line.get(column, _MISSING.get(column, float("nan"))) for column in _LINE},
        "point_before": float(was["point"]) if was is not None and alike else float("nan"),
        "log_loss": _log_loss(right_or_wrong(new) if single else new),
        "log_loss_before": _log_loss(right_or_wrong(old) if single else old),
        "rows": n,
        "changed": float("nan") if effects.class_changed is None else round(effects.class_changed * n),
        "abstained": round(effects.abstained * n),
        "promised": promise.holds,
        "promise": promise.sentence,
        "set_aside": " ".join(calibrator.remarks(5)),
        "fitted": calibrator.insides().short,
    }


_MISSING = {"title": "", "verdict": "", "sentence": ""}


def _log_loss(rows: Predictions) -> float:
    try:
        return float(estimate(rows, None, "log-loss").value)
    except NotAnswerable:
        return float("nan")


def _declared(calibrators: Mapping[str, Calibrator], names: Mapping[str, object]) -> dict[str, list[bool]]:
    """Declared properties of the calibrators' contracts, in the order of the names."""
    contracts: list[Contract] = [CALIBRATORS[CALIBRATORS.recipe(calibrators[name]).key].flags for name in names]
    return {
        "keeps_class": [contract.keeps_argmax for contract in contracts],
        "keeps_order": [contract.keeps_order for contract in contracts],
        "sums_to_one": [contract.sums_to_one for contract in contracts],
    }


def _note(frame: pd.DataFrame) -> str:
    """Note on undefined measures, with reasons."""
    missing = frame[frame["note"] != ""].groupby("note", sort=False)["measure"]
    return "; ".join(f"{', '.join(names)} not defined: {why}" for why, names in missing)
