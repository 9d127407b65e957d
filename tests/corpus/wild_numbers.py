"""Extreme numbers through calibrators, estimators and their intervals: finite results, or a message.

Rows that must be answered like others, weights in another unit above all, have a twin to be compared with.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import get_args

import numpy as np

import calib_core as cc
from calib_core.evaluation.study import recalibrated
from calib_core.inference.intervals.interval_methods import Method, interval
from tests.corpus.bad_files import drawn
from tests.corpus.promises import check

P, Y = drawn(80)
Made = Callable[[], cc.Predictions]


def _flat(k: int, n: int) -> cc.Predictions:
    return cc.Predictions(np.full((n, k), 1 / k), np.arange(n) % k)


def _weighted(*weights: float) -> cc.Predictions:
    return cc.Predictions(P, Y, weights=np.resize(weights, len(Y)))


WEIGHTS = (5e-324, 1e-308, 1e-75, 1e-9, 1e9, 1e75, 1e308)

ROWS: dict[str, Made] = {
    "weights 0.3": lambda: _weighted(0.3),
    **{f"weights {w:g}": lambda w=w: _weighted(w) for w in WEIGHTS},
    "weights 1e-308 to 1e308": lambda: _weighted(*np.logspace(-308, 308, 80)),
    "weights 1e-75 to 1e75": lambda: _weighted(*np.logspace(-75, 75, 80)),
    "weights 1e-9 and 1e9": lambda: _weighted(1e-9, 1e9),
    "one weight that is not 0": lambda: _weighted(1.0, *[0.0] * 79),
    "logits +-1e308": lambda: cc.Predictions.from_logits(np.where(P > 0.4, 1e308, -1e308), Y),
    "one logit of 1e308": lambda: cc.Predictions.from_logits(np.where(P.max() == P, 1e308, P), Y),
    "single logits +-1e38": lambda: cc.Predictions.from_logits(np.where(P > 0.4, 3e38, -3e38).astype(np.float32), Y),
    "logits +-1e30": lambda: cc.Predictions.from_logits(1e30 * (P - 0.5), Y),
    "logits of -inf": lambda: cc.Predictions.from_logits(np.where(P > 0.2, np.log(P), -np.inf), Y),
    "logits 1e-308": lambda: cc.Predictions.from_logits(1e-308 * P, Y),
    "equal logits": lambda: cc.Predictions.from_logits(np.zeros((80, 3)), Y),
    "rows of zeros": lambda: cc.Predictions.from_scores(np.zeros((80, 3)), Y),
    "a row of zeros": lambda: cc.Predictions.from_scores(np.where(P[0] == P, 0.0, P), Y),
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
    "one row of 5,000 classes": lambda: _flat(5_000, 1),
    "groups of one": lambda: cc.Predictions(P, Y, groups=np.arange(80)),
    "one group": lambda: cc.Predictions(P, Y, groups=np.zeros(80, int)),
}
"""Rows with extreme numbers; constructing them may be refused."""
TWINS = {**{f"weights {w:g}": "weights 0.3" for w in WEIGHTS if w < 1}, "logits 1e-308": "equal logits"}
"""Pairs of row sets with equal results unless refused; whole weights are copies, unlike others."""


@dataclass(frozen=True)
class Asked:
    """Estimate with its interval, of rows that a calibrator was fitted on and applied to."""

    rows: str
    calibrator: str
    notion: str | None
    estimator: str
    method: Method = "default"


def every_question() -> list[Asked]:
    """Return every row set x calibrator x estimator, each notion and kind of interval in turn."""
    notions, methods = itertools.cycle(cc.REDUCTIONS), itertools.cycle(get_args(Method))
    scores = ("log-loss", "brier", "accuracy")
    return [
        Asked(rows, calibrator, None if estimator in scores else next(notions), estimator, next(methods))
        for rows, calibrator, estimator in itertools.product(ROWS, cc.CALIBRATORS, cc.ESTIMATORS)
    ]


def answers(asked: Asked) -> Iterator[tuple[str, float]]:
    """Yield every number of the result, by its name; InputError is a result too, any other exception is raised.

    NumPy warnings are exceptions here, because their effect on the number is unknown.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        rows = ROWS[asked.rows]()
        found = recalibrated(rows, rows, asked.calibrator)
        check(found)
        estimate = cc.estimate(found, asked.notion, asked.estimator)
        yield "value", float(estimate.value)
        ends = interval(estimate.question, method=asked.method)
        yield "low", float(ends.low)
        yield "point", float(ends.point)
        yield "high", float(ends.high)


def fault(asked: Asked) -> str:
    """Return the fault of the results; empty if they are finite numbers, or a message explains their absence."""
    found, wrong = _answered(asked)
    if wrong:
        return wrong
    if wrong := ", ".join(f"{name} is {value}" for name, value in found.items() if not np.isfinite(value)):
        return wrong
    if "point" in found and not found["low"] <= found["point"] <= found["high"]:
        return f"the point lies outside: {found}"
    return _unlike(found, replace(asked, rows=TWINS[asked.rows])) if asked.rows in TWINS else ""


def _unlike(found: dict[str, float], twin: Asked) -> str:
    """Return the differences from the results of a twin."""
    others, wrong = _answered_once(twin)
    same = all(np.isclose(value, others.get(name, np.nan), 1e-6, 1e-9) for name, value in found.items())
    return wrong if wrong or same else f"{twin.rows}: {others}, and here: {found}"


def _answered(asked: Asked) -> tuple[dict[str, float], str]:
    """Return the numbers up to a refusal, if there is any, and the fault; empty for a message."""
    found: dict[str, float] = {}
    try:
        for name, value in answers(asked):
            found[name] = value
    except cc.InputError as e:
        return found, "" if len(str(e).split()) >= 5 else f"no sentence: {e}"
    except Exception as e:
        return found, f"{type(e).__name__}: {str(e)[:200]}"
    return found, ""


_answered_once = lru_cache(256)(_answered)
