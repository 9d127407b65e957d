"""The measures of several models side by side, a line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from calib_core.binning import BinningScheme
from calib_core.predictions import Predictions
from calib_core.study import MEASURES, Measure, summaries

__all__ = ["measured"]


def measured(
    models: Mapping[str, Predictions],
    bins: int | str | BinningScheme | None = None,
    measures: Sequence[Measure] = MEASURES,
) -> pd.DataFrame:
    """Accuracy, proper scores and plug-in calibration errors of models by name: a line per model, a column per measure.

    ``bins`` says in words which bins the errors were judged in, the rule most measures follow first; ``note`` why a
    measure of a model is not defined, which is then NaN. Without ``bins`` models whose outputs are declared discrete
    are judged one bin a value, others in 15 bins of equal width. What can mislead: plug-in errors are pushed up by
    noise, the more the fewer rows a bin has; ``estimate`` gives intervals and noise floors. Where a model abstains,
    make the rows the same first (``study.over_same_rows_by_name``).

    References: METHODS of the estimators in ``study.MEASURES``; accuracy, log loss and Brier score of whole rows.

    >>> p = Predictions([[0.6, 0.4], [0.6, 0.4]], [0, 1])
    >>> measured({"net": p}, 10)[["model", "Accuracy", "TL-ECE", "bins"]].round(2).values.tolist()
    [['net', 0.5, 0.1, '10 equal width']]
    """
    lines = []
    for name, predictions in models.items():
        frame = summaries(predictions, [bins], measures)[0]
        values = dict(zip(frame["measure"], frame["value"], strict=True))
        lines.append({"model": name, **values, "bins": _bins(frame), "note": _note(frame)})
    return pd.DataFrame(lines, columns=["model", *(measure.name for measure in measures), "bins", "note"])


def _bins(frame: pd.DataFrame) -> str:
    """The bins of a model's measures in a few words, the rule most of them follow first."""
    rules: dict[str, list[str]] = {}
    for name, text in zip(frame["measure"], frame["bins"], strict=True):
        if text:
            rules.setdefault(text.partition(" (")[0], []).append(name)
    first, *rest = sorted(rules, key=lambda rule: -len(rules[rule])) or [""]
    return "; ".join([first, *(f"{', '.join(rules[rule])}: {rule}" for rule in rest)])


def _note(frame: pd.DataFrame) -> str:
    """Which measures are not defined, and why."""
    missing = frame[frame["note"] != ""].groupby("note", sort=False)["measure"]
    return "; ".join(f"{', '.join(names)} not defined: {why}" for why, names in missing)
