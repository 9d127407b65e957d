"""Small files in which no two quantities coincide, and their scenes.

Calibration rows are not test rows, the model is off in both directions, one calibrator abstains, and metadata columns
divide the rows. Every number is rounded, so that the file contains exactly the values used here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from calib_core import Recipe
from dashboard import session
from dashboard.selection import Selection, Source

CLASSES = ("ant", "bee", "cat")
CALIBRATORS = ("temperature", "top-label-hb", "metacal-miscoverage")
CELL, CODE, ZOOM, LABEL = 2, 1, 12, 0
"""Focused cell of a triangle, predicted class, bin and true class."""


def _three(n: int, seed: int) -> pd.DataFrame:
    """Return an overconfident model of three classes; worse at site C, and poor at the third class."""
    rng = np.random.default_rng(seed)
    site = rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2])
    age = rng.integers(20, 80, n)
    logits = rng.normal(0.0, 1.6, (n, 3)) + np.array([0.6, 0.2, -0.4])
    true = np.exp(logits / np.where(site == "C", 6.0, 1.3)[:, None])
    true /= true.sum(axis=1, keepdims=True)
    label = (rng.random(n)[:, None] > true.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    told = np.exp(1.5 * logits)
    # No probability is a multiple of a fifth, where cells of the triangle meet.
    told = (0.999 * told / told.sum(axis=1, keepdims=True) + 0.001 / 3).round(4)
    told += np.array([0.0, 0.00003, 0.00002])
    told[:, 0] = (1.0 - told[:, 1] - told[:, 2]).round(5)
    frame = pd.DataFrame(told, columns=list(CLASSES))
    return frame.assign(label=[CLASSES[k] for k in label], site=site, age=age)


def _risk(n: int, seed: int) -> pd.DataFrame:
    """Return the risk of an event: too high, most so at site C."""
    rng = np.random.default_rng(seed)
    site = rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2])
    risk = rng.beta(1.6, 4.0, n).round(4).clip(0.002, 0.998)
    died = rng.random(n) < risk * np.where(site == "C", 0.25, 0.8)
    return pd.DataFrame({"risk": risk, "died": died.astype(int), "site": site, "age": rng.integers(20, 80, n)})


def _year(n: int, seed: int) -> pd.DataFrame:
    """Return the risk of an event over half a year: right until April, then too high."""
    rng = np.random.default_rng(seed)
    risk = rng.beta(3.0, 5.0, n).round(4).clip(0.01, 0.99)
    day = np.datetime64("2026-01-01") + rng.integers(0, 181, n)
    died = rng.random(n) < risk * np.where(day < np.datetime64("2026-04-01"), 1.0, 0.45)
    return pd.DataFrame({"risk": risk, "died": died.astype(int), "seen": day.astype(str)})


def _levels(n: int, seed: int) -> pd.DataFrame:
    """Return confidences stated in a few words, and whether the answer was right."""
    rng = np.random.default_rng(seed)
    stated = rng.choice([0.55, 0.7, 0.8, 0.9, 0.97], n, p=[0.1, 0.2, 0.25, 0.3, 0.15])
    right = rng.random(n) < stated - 0.9 * (stated - 0.6).clip(0)
    return pd.DataFrame({"confidence": stated, "correct": right.astype(int), "site": rng.choice(["A", "B"], n)})


def _judged(n: int, seed: int) -> pd.DataFrame:
    """Return answers marked by a lenient judge, and a few of them by people."""
    rng = np.random.default_rng(seed)
    frame = _levels(n, seed).drop(columns="site")
    truth = np.where(frame["correct"] == 1, rng.random(n) < 0.85, rng.random(n) < 0.1)
    checked = rng.random(n) < 0.2
    return frame.assign(checked=np.where(checked, np.where(truth, "yes", "no"), None))


@dataclass(frozen=True)
class Both:
    """File of calibration rows and file of test rows."""

    fit: pd.DataFrame
    test: pd.DataFrame


@cache
def files(name: str) -> Both:
    """Return the two files of a set of data."""
    make, fit, test = {
        "three": (_three, 260, 300),
        "risk": (_risk, 300, 340),
        "year": (_year, 200, 420),
        "levels": (_levels, 200, 240),
        "judged": (_judged, 500, 0),
    }[name]
    first = make(fit, 1)
    return Both(first, make(test, 2) if test else first)


def held(name: str, part: str) -> str:
    """Return the key of one of them, as if it was uploaded."""
    frame = getattr(files(name), part)
    return session.hold(frame.to_csv(index=False).encode(), f"{name}-{part}.csv").key


@cache
def scene(name: str, **choices: object) -> session.Scene:
    """Return the scene of these data, with calibrators that suit them."""
    return session.scene_of(selection(name, **choices))


def selection(name: str, **choices: object) -> Selection:
    """Return the choices of a page about these data."""
    source = Source(data=held(name, "fit"), test="" if name == "judged" else held(name, "test"), by="share")
    keys = {
        "three": CALIBRATORS,
        "risk": ("logistic-recalibration", "metacal-miscoverage"),
        "year": (),
        "levels": ("confidence-hb",),
        "judged": (),
    }[name]
    made = tuple(Recipe("CALIBRATORS", key) for key in keys)
    focus = {"cell": CELL, "code": CODE, "bin": ZOOM} if name == "three" else {}
    return Selection(source=source, calibrators=made, **{**focus, **choices})  # type: ignore[arg-type]
