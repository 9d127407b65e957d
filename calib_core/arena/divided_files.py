"""Experiments of files whose rows are divided: one per file, or one per fold if rows are cross-fitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from calib_core.arena.experiment_files import ArenaExperiment
from calib_core.evaluation.splitting import Division
from calib_core.predictions.predictions import NotAnswerable, Predictions


def divided_experiments(files: Mapping[str, Division]) -> tuple[ArenaExperiment, ...]:
    """Return the experiments of divided files, by title: their calibration rows and their test rows.

    With cross-fitting, each fold is an experiment. Its rows are the test rows, and those of the other folds are the
    calibration rows. Files whose test rows have the same labels are models on one data set, named like the first file.
    Raises NotAnswerable for a file without all class probabilities, or without calibration rows.

    >>> import calib_core as cc
    >>> rows = cc.Predictions([[0.7, 0.3], [0.2, 0.8]] * 20, [0, 1] * 20)
    >>> half, folds = cc.calls.divide(rows), cc.calls.divide(rows, folds=2)
    >>> [each.name for each in divided_experiments({"net": half, "tree": folds})]
    ['net/net', 'tree/tree, fold 1', 'tree/tree, fold 2']
    """
    named: dict[str, Predictions] = {}
    found: list[ArenaExperiment] = []
    for title, division in files.items():
        _check(title, division)
        dataset = next((name for name, rows in named.items() if _same_labels(rows, division.test)), title)
        named.setdefault(dataset, division.test)
        found += [ArenaExperiment(dataset, *parts) for parts in _parts(title, division)]
    return tuple(found)


def _check(title: str, division: Division) -> None:
    if division.undivided:
        raise NotAnswerable(f"{title} is a summary of counts, which has no rows to fit methods on")
    if division.test.kind != "full":
        raise NotAnswerable(f"methods are compared by log loss, and {title} does not have all class probabilities")


def _same_labels(first: Predictions, second: Predictions) -> bool:
    return np.array_equal(first.true_labels, second.true_labels)


def _parts(title: str, division: Division) -> Iterator[tuple[str, Predictions, Predictions]]:
    """Yield name, calibration rows and test rows of each experiment."""
    of_test = division.test_folds
    if division.folds is None or of_test is None:
        yield title, division.fit, division.test
        return
    of_fit = division.folds[division.fit_rows]
    for fold in np.unique(of_test).tolist():
        yield (
            f"{title}, fold {fold + 1}",
            division.fit.take(np.flatnonzero(of_fit != fold)),
            division.test.take(np.flatnonzero(of_test == fold)),
        )
