"""Decomposition of a proper score into calibration loss and refinement loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from calib_core._base.arrays import Float64s
from calib_core._base.errors import as_share, as_whole
from calib_core._base.sklearn_api import clone
from calib_core.calibrators.base import CALIBRATORS, Calibrator, as_calibrator
from calib_core.defaults import FOLDS, LEVEL, SEED
from calib_core.estimators.base import estimate
from calib_core.evaluation.candidates import FoldTrial, candidates_for
from calib_core.evaluation.cross_fitting import over_folds
from calib_core.evaluation.row_losses import PROPER
from calib_core.evaluation.study import over_same_rows
from calib_core.inference.comparison.model_differences import paired_difference, same_rows
from calib_core.inference.comparison.skills import why_few
from calib_core.inference.intervals.influence_functions import ConfidenceRows, Influence, counting
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.registry.registry import Recipe

__all__ = ["PARTS", "parts_of_scores"]

PARTS = {"score": "whole", "calibration": "calibration loss", "refinement": "refinement loss"}
"""Titles of a score and its parts."""
COLUMNS = ("calibrator", "score", "part", "before", "before_low", "before_high", "after", "after_low", "after_high",
           "change", "low", "high", "note")  # fmt: skip


def parts_of_scores(
    before: Mapping[str, Predictions],
    after: Mapping[str, Predictions],
    candidates: Sequence[str | Recipe | Calibrator] | None = None,
    folds: int = FOLDS,
    random_state: int = SEED,
    level: float = LEVEL,
    progress: Callable[[int], object] | None = None,
) -> pd.DataFrame:
    """Decompose scores before and after recalibration into calibration and refinement loss.

    One row for each of ``after``, score (log loss and Brier score) and part. Parts are the whole score, the
    calibration loss (score minus refinement loss) and the refinement loss. The last is the score after the best map
    among ``candidates`` (by default the first two of ``choice.candidates_for`` that change something) and the identity.
    Maps are fitted and selected in ``folds`` folds (3 or more) without their evaluation rows, as in ``choice.choose``.
    ``before`` has the original rows by the same names. Columns:

    - before and after, each with its interval at ``level``, that of ``estimate`` for the whole score;
    - change (after minus before) with its interval, low to high, for the whole score that of ``paired_difference``;
    - note, the reason for a missing number.

    Rows with a single probability are evaluated as correct or not, before and after.

    What can mislead: there may be a better map than these, so the true calibration loss can
    be larger and the refinement loss smaller. The estimate can be negative by chance if there is nothing to gain. The
    intervals treat the fitted maps as fixed. Log losses of true classes with probability 0 count as in ``choose``.

    References: Berta et al. 2025; Bröcker 2009 (the parts of proper scores).

    >>> p = Predictions([[0.99, 0.01], [0.01, 0.99]] * 100, [0, 1, 0, 1, 0, 1, 0, 0] * 25)
    >>> table = parts_of_scores({"same": p}, {"same": p}, ["temperature"])
    >>> table.loc[table["score"] == "brier", "before"].round(2).tolist()  # 1/8 wrong: 2 (1/8) (7/8) at the least
    [0.25, 0.03, 0.22]
    """
    as_share(level, "level")
    as_whole(folds, "folds", 3)
    if not after:
        raise NotAnswerable("there is no recalibrated model to compare")
    lines: list[dict[str, object]] = []
    for i, (name, rows) in enumerate(after.items()):
        if progress is not None:
            progress(100 * i // len(after))
        old, new = (counting(each) for each in same_rows(*over_same_rows([before[name], rows])))
        whole = old.kind == new.kind == "full"
        pair = [each if whole else _right_or_wrong(each) for each in (old, new)]
        few = next(filter(None, (why_few(ConfidenceRows.of(each)) for each in pair)), "")
        found = [_Split.all_of(each, candidates, folds, random_state, level) for each in pair]
        for score in PROPER:
            first, last = (each[score] for each in found)
            ends = [] if first.why or last.why or few else _ends_of_score(pair, score, level)
            lines += [{"calibrator": name, "score": score, **line} for line in _lines(first, last, few, ends, level)]
    return pd.DataFrame(lines, columns=list(COLUMNS))


@dataclass(frozen=True, eq=False)
class _Split:
    """Score with its parts, each a mean over rows, and the reason if the maps could not be evaluated."""

    parts: dict[str, Influence]
    why: str = ""

    @classmethod
    def all_of(
        cls,
        rows: Predictions,
        candidates: Sequence[str | Recipe | Calibrator] | None,
        folds: int,
        random_state: int,
        level: float,
    ) -> dict[str, _Split]:
        """Return the parts by score, with one fit of every map for all scores."""
        fold = rows.folds(folds, random_state=random_state)
        trials = {score: FoldTrial(rows, fold, folds, score, level) for score in PROPER}
        recipes = candidates_for(rows)[1:3] if candidates is None else list(map(CALIBRATORS.recipe, candidates))
        inner, outer = _gains(rows, recipes, trials)
        found = {}
        for score, trial in trials.items():
            picked = np.vstack([np.zeros(folds), *inner[score]]).argmax(axis=0)
            gains = np.vstack([np.zeros(rows.n_rows), *outer[score]])[picked[fold], np.arange(rows.n_rows)]
            answers = ConfidenceRows.of(rows)
            why = "" if np.isfinite(gains).all() else "the map gives a true class probability 0"
            means = {"score": trial.losses, "calibration": gains, "refinement": trial.losses - gains}
            found[score] = cls({part: answers.mean(values) for part, values in means.items()}, why)
        return found


def _gains(
    rows: Predictions, recipes: Sequence[Recipe], trials: Mapping[str, FoldTrial]
) -> tuple[dict[str, list[Float64s]], dict[str, list[Float64s]]]:
    """Gains of each map by score: totals on all folds except one, (folds,), and on each row, (n,).

    Like ``candidates.FoldTrial.inside``, but with one fit for all scores. A map that cannot be fitted is never
    selected.
    """
    inner: dict[str, list[Float64s]] = {score: [] for score in trials}
    outer: dict[str, list[Float64s]] = {score: [] for score in trials}
    trial = next(iter(trials.values()))
    places = [np.flatnonzero(trial.fold == f) for f in range(trial.folds)]
    for recipe in recipes:
        totals, nothing = {score: np.zeros(trial.folds) for score in trials}, np.zeros(rows.n_rows)
        try:
            for pair in combinations(range(trial.folds), 2):
                fresh: Calibrator = clone(as_calibrator(recipe))
                fresh.fit_on(rows.take(np.flatnonzero(~np.isin(trial.fold, pair))))
                for left, judged in (pair, pair[::-1]):
                    where = places[judged]
                    after = fresh.apply(rows.take(where))
                    for score, each in trials.items():
                        totals[score][left] += each.weights[where] @ each.gains(after, where)
            after = over_folds(rows, rows, recipe, trial.fold, trial.fold)
            gains = {score: each.gains(after, None) for score, each in trials.items()}
        except (InputError, NotAnswerable):
            totals, gains = dict.fromkeys(trials, np.full(trial.folds, -np.inf)), dict.fromkeys(trials, nothing)
        for score in trials:
            inner[score].append(totals[score])
            outer[score].append(gains[score])
    return inner, outer


def _ends_of_score(pair: Sequence[Predictions], score: str, level: float) -> list[tuple[float, float]]:
    """Intervals of the whole score before and after, and of its change: a score and a gain have one everywhere."""
    found = [estimate(rows, None if rows.kind == "full" else "confidence", score).interval(level) for rows in pair]
    change = paired_difference(pair[1], pair[0], None, score, level=level)
    return [*((each.low, each.high) for each in found), (change.low, change.high)]


def _lines(
    old: _Split, new: _Split, few: str, of_score: Sequence[tuple[float, float]], level: float
) -> list[dict[str, object]]:
    """One row per part; ``of_score`` are the ends of the whole score before, after and of its change, if any."""
    note = old.why or new.why or few
    lines = []
    for part in PARTS:
        first, last = old.parts[part], new.parts[part]
        change = last - first
        line: dict[str, object] = {"part": part, "before": first.value, "after": last.value, "change": change.value}
        own = dict(zip(("before_", "after_", ""), of_score, strict=False)) if part == "score" else {}
        for name, found in (("before_", first), ("after_", last), ("", change)):
            low, high = (np.nan, np.nan) if note else own.get(name) or found.ends(level)
            line |= {f"{name}low": low, f"{name}high": high}
        lines.append(line | {"note": note})
    return lines


def _right_or_wrong(rows: Predictions) -> Predictions:
    """Claims of the predicted class only."""
    return Predictions.from_confidence(rows.confidence, rows.correct, weights=rows.weights, groups=rows.grouping)
