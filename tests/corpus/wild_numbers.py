"""Numbers at the ends of what there is, through calibrators, estimators and their intervals: finite, or a sentence."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import calib_core as cc
from calib_core.study import recalibrated
from tests.corpus.bad_files import drawn
from tests.corpus.promises import check

P, Y = drawn(80)
Made = Callable[[], cc.Predictions]


def _flat(k: int, n: int) -> cc.Predictions:
    return cc.Predictions(np.full((n, k), 1 / k), np.arange(n) % k)


def _weighted(*weights: float) -> cc.Predictions:
    return cc.Predictions(P, Y, weights=np.resize(weights, len(Y)))


ROWS: dict[str, Made] = {
    **{f"weights {w:g}": lambda w=w: _weighted(w) for w in (1e-308, 1e-155, 1e-9, 1e9, 1e155, 1e308)},
    "weights 1e-9 and 1e9": lambda: _weighted(1e-9, 1e9),
    "one weight that is not 0": lambda: _weighted(1.0, *[0.0] * 79),
    "logits +-1e308": lambda: cc.Predictions.from_logits(np.where(P > 0.4, 1e308, -1e308), Y),
    "logits +-1e30": lambda: cc.Predictions.from_logits(1e30 * (P - 0.5), Y),
    "logits of -inf": lambda: cc.Predictions.from_logits(np.where(P > 0.2, np.log(P), -np.inf), Y),
    "logits 1e-308": lambda: cc.Predictions.from_logits(1e-308 * P, Y),
    "equal logits": lambda: cc.Predictions.from_logits(np.zeros((80, 3)), Y),
    "rows of zeros": lambda: cc.Predictions.from_scores(np.zeros((80, 3)), Y),
    "0 and 1": lambda: cc.Predictions(np.eye(3)[P.argmax(1)], Y),
    "denormal numbers": lambda: cc.Predictions(np.column_stack([np.full(80, 5e-324), np.ones(80)]), Y % 2),
    "single precision": lambda: cc.Predictions(P.astype(np.float32), Y),
    "one row": lambda: cc.Predictions(P[:1], Y[:1]),
    "two rows": lambda: cc.Predictions(P[:2], Y[:2]),
    "ten rows": lambda: cc.Predictions(P[:10], Y[:10]),
    "one class": lambda: cc.Predictions(P, np.zeros(80, int)),
    "always right": lambda: cc.Predictions(P, P.argmax(1)),
    "always wrong": lambda: cc.Predictions(P, P.argmin(1)),
    "equal scores": lambda: _flat(3, 80),
    "one score": lambda: cc.Predictions.from_confidence(np.full(80, 0.5), Y == 0),
    "confidence 0 and 1": lambda: cc.Predictions.from_confidence((Y > 0).astype(float), Y == 0),
    "5,000 classes": lambda: _flat(5_000, 20),
    "groups of one": lambda: cc.Predictions(P, Y, groups=np.arange(80)),
    "one group": lambda: cc.Predictions(P, Y, groups=np.zeros(80, int)),
}
"""Rows at the ends of what there is; making them may be refused."""


@dataclass(frozen=True)
class Asked:
    """An estimate, with its interval, of rows that a calibrator was fitted on and applied to."""

    rows: str
    calibrator: str
    notion: str | None
    estimator: str


def every_question() -> list[Asked]:
    """Every row set x calibrator x estimator, each notion in turn."""
    notions = itertools.cycle(cc.REDUCTIONS)
    scores = ("log-loss", "brier", "accuracy")
    return [
        Asked(rows, calibrator, None if estimator in scores else next(notions), estimator)
        for rows, calibrator, estimator in itertools.product(ROWS, cc.CALIBRATORS, cc.ESTIMATORS)
    ]


def answers(asked: Asked) -> Iterator[tuple[str, float]]:
    """Every number that answers, by its name; InputError is an answer too, and any other exception goes on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        rows = ROWS[asked.rows]()
        found = recalibrated(rows, rows, asked.calibrator)
        check(found)
        estimate = cc.estimate(found, asked.notion, asked.estimator)
        yield "value", float(estimate.value)
        interval = estimate.interval()
        yield "low", float(interval.low)
        yield "high", float(interval.high)


def fault(asked: Asked) -> str:
    """What is wrong with the answers; empty where they are finite numbers, or a sentence says why there are none."""
    try:
        wrong = [f"{name} is {value}" for name, value in answers(asked) if not np.isfinite(value)]
    except cc.InputError as e:
        return "" if len(str(e).split()) >= 5 else f"no sentence: {e}"
    except Exception as e:
        return f"{type(e).__name__}: {str(e)[:200]}"
    return ", ".join(wrong)
