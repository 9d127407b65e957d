"""Scenes of golden answers: each kind of data, with calibrators, a test file, groups, weights or several models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from calib_core import Recipe
from dashboard import session
from dashboard.selection import Selection, Source
from dashboard.session import Scene
from tests.golden_bits import data
from tests.laws import test_options_of_exhibits as options
from tests.meaning import rows

MODEL = "grouped.csv, Logistic recalibration"


def _held(name: str, frame: pd.DataFrame) -> str:
    return session.hold(frame.to_csv(index=False).encode(), f"{name}.csv").key


def _grouped(tilt: float) -> pd.DataFrame:
    """Return the risk of an event with groups and weights."""
    score, label, stream = data.beta_scores(240, 5)
    group = np.sort(stream.integers(0, 60, 240))
    event = np.where(stream.random(60)[group] < 0.3, 0, label)
    risk = data.rounded(score**tilt)
    frame = {"risk": risk, "event": event, "group": group, "weights": data.rounded(0.25 + stream.random(240))}
    return pd.DataFrame(frame).assign(site=np.array(["north", "south"])[stream.integers(0, 2, 240)])


def _three(sure: float) -> pd.DataFrame:
    """Return three classes, with columns to slice by."""
    logits, label = data.network(240, seed=2, classes=3)
    odds = np.exp(sure * logits - sure * logits.max(axis=1, keepdims=True))
    frame = pd.DataFrame(data.rounded(odds / odds.sum(axis=1, keepdims=True)), columns=["ant", "bee", "cat"])
    return frame.assign(label=np.array(["ant", "bee", "cat"])[label], site=np.array(list("abc"))[np.arange(240) % 3])


def _chosen(name: str, one: pd.DataFrame, other: pd.DataFrame, *calibrators: str, **more: Any) -> Selection:
    """Return two models' files with calibrators."""
    ticked = tuple(Recipe("CALIBRATORS", key) for key in calibrators)
    others = ((_held(f"{name}-other", other), ""),)
    return Selection(source=Source(data=_held(name, one)), others=others, calibrators=ticked).replace(**more)


def grouped() -> Selection:
    """Return two models of an event, with groups and weights, evaluated by cross-fitting."""
    return _chosen(
        "grouped",
        _grouped(1.0),
        _grouped(1.6),
        "logistic-recalibration",
        by="folds",
        folds=3,
        seed=1,
        bin=3,
        model=MODEL,
    )


def several() -> Selection:
    """Return two models of three classes, the second in focus, with other bins and tolerance than by default."""
    looked_at = {
        "model": "several-other.csv",
        "code": 1,
        "bin": 6,
        "bins": 8,
        "binning": "equal-width",
        "eps": 0.04,
        "seed": 1,
    }
    return _chosen("several", _three(1.0), _three(0.4), **looked_at)


def quiet() -> Selection:
    """Return a calibrated model of three classes, in which hardly anything is significant."""
    stream = data.rng(9)
    chances = data.rounded(stream.dirichlet([1.0, 2.0, 3.0], 180))
    label = (stream.random(180)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    frame = pd.DataFrame(chances / chances.sum(axis=1, keepdims=True), columns=["ant", "bee", "cat"])
    named = np.array(["ant", "bee", "cat"])
    return Selection(source=Source(data=_held("quiet", frame.assign(label=named[label.clip(0, 2)]))))


def _risky(tilt: float) -> pd.DataFrame:
    """Return the risk of an event, far too high at one of three sites."""
    stream = data.rng(11)
    risk, site = data.rounded(stream.beta(2, 4, 480)), np.arange(480) % 3
    event = (stream.random(480) < np.where(site == 2, 0.3, 1.0) * risk).astype(int)
    return pd.DataFrame({"risk": data.rounded(risk**tilt), "died": event, "site": np.array(list("abc"))[site]})


def risky() -> Selection:
    """Return two models of an event that differ, with significant slices and bins."""
    return _chosen("risky", _risky(1.0), _risky(0.5))


SELECTIONS: dict[str, Callable[[], Selection]] = {
    "tested": lambda: rows.selection("three", model="Temperature scaling"),
    "grouped": grouped,
    "several": several,
    "stated": lambda: rows.selection("levels"),
    "risky": risky,
}
"""Choices of pages, whose scenes have reports and rooms."""
SCENES: dict[str, Callable[[], Scene]] = {
    **{name: lambda made=made: session.scene_of(made()) for name, made in SELECTIONS.items()},
    "quiet": lambda: session.scene_of(quiet()),
    "judged": lambda: rows.scene("judged"),
    "counted": lambda: options.scene_of("one counted", (), ()),
}
