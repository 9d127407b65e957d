"""Every option of every exhibit changes its table or its picture, on some data.

Options are those the registry of exhibits declares, so that a new one without data that show its effect fails.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import plotly.io as pio
import pytest
from answers import Leaf, leaves, other_value

import calib_core as cc
from calib_core import NotAnswerable, Recipe
from calib_core.registry.registry import Param
from calib_core.summaries import write_summary
from dashboard import session
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.selection import Selection, Source
from dashboard.session import Scene

OPTIONS = [(key, param.name) for key in EXHIBITS for param in EXHIBITS[key].params]
N = 240


def _columns(n: int = N) -> pd.DataFrame:
    place = np.arange(n)
    return pd.DataFrame({"site": np.array(list("abcd"))[place % 4], "age": place * 7 % 60 + 20})


def _classes(k: int, sure: float) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(N, k))
    label = (logits + rng.gumbel(size=(N, k))).argmax(axis=1)
    sharp = np.exp(sure * logits)
    frame = pd.DataFrame(sharp / sharp.sum(axis=1, keepdims=True), columns=[f"p_c{j}" for j in range(k)])
    checked = np.where(np.arange(N) % 3, "", np.where(np.arange(N) % 9, "yes", "no"))
    return frame.assign(label=[f"c{j}" for j in label], checked=checked, again=checked[::-1]).join(_columns())


def _risk() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    p = rng.beta(2, 5, N)
    died = rng.random(N) < p * np.where(np.arange(N) % 4 == 2, 0.4, 0.85)
    return pd.DataFrame({"risk": p, "died": np.where(died, "yes", "no")}).join(_columns())


def _sure() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    logits = 3.0 * rng.normal(size=(900, 3))
    label = (logits + rng.gumbel(size=(900, 3))).argmax(axis=1)
    probs = np.exp(1.5 * logits) / np.exp(1.5 * logits).sum(axis=1, keepdims=True)
    return pd.DataFrame(probs, columns=["p_0", "p_1", "p_2"]).assign(label=label)


def _crossed() -> pd.DataFrame:
    """Return a risk that is right except where two columns meet."""
    rng = np.random.default_rng(3)
    p = rng.beta(4, 4, 800)
    columns = pd.DataFrame({"site": np.array(list("ab"))[np.arange(800) % 2], "ward": np.arange(800) // 2 % 2})
    both = (columns["site"] == "a") & (columns["ward"] == 1)
    return columns.assign(risk=p, died=(rng.random(800) < np.where(both, 0.1 * p, p)).astype(int))


def _year() -> pd.DataFrame:
    """Return a risk that is too high from May on, with two columns of time."""
    rng = np.random.default_rng(6)
    p, day = rng.beta(4, 4, 1000), np.arange(1000) // 3
    died = rng.random(1000) < np.where(day < 120, p, 0.3 * p)
    seen = (np.datetime64("2026-01-01") + day).astype(str)
    return pd.DataFrame({"risk": p, "died": np.where(died, "yes", "no"), "seen": seen, "batch": day // 40})


FILES = {
    "crossed": _crossed,
    "year": _year,
    "sure": _sure,
    "three": lambda: _classes(3, 2.5),
    "many": lambda: _classes(14, 2.0),
    "risk": _risk,
}


def _counted(sure: float) -> bytes:
    """Return a summary of rows that are the same for all of these models."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        _classes(3, sure).to_csv(path, index=False)
        write_summary(cc.summarise(path, rows_of="rows"), Path(folder, "counts.parquet"))
        return Path(folder, "counts.parquet").read_bytes()


COUNTED = {"one counted": 2.5, "other counted": 1.5}


@lru_cache
def key_of(name: str) -> str:
    if name in COUNTED:
        return session.hold(_counted(COUNTED[name]), f"{name}.parquet").key
    return session.hold(FILES[name]().to_csv(index=False).encode(), f"{name}.csv").key


class On(NamedTuple):
    """Setting that shows an option: its other value, other options, the data, calibrators and choices."""

    second: Any = None
    also: Mapping[str, Any] = {}
    data: str = "three"
    calibrators: tuple[str, ...] = ("temperature",)
    chosen: Mapping[str, Any] = {}
    first: Any = None


CASES: dict[str, On] = {
    **{f"{key}.benchmark": On("binary", first="multiclass") for key in ("arena", "arena-ranks")},
    "binary-map.stratum": On(1, calibrators=("top-label-hb",)),
    "slices.by": On("site", first="age"),
    "slices.crossed": On("site", {"by": "age"}),
    "slices.parts": On(2, {"by": "age"}),
    "slices.edges": On("30,50", {"by": "age"}),
    **{
        f"{key}.{name}": On(second, also, "risk", first=first)
        for key in ("sites", "pooled-sites")
        for name, second, also, first in (
            ("by", "site", {}, "age"),
            ("crossed", "site", {"by": "age"}, None),
            ("parts", 2, {"by": "age"}, None),
            ("edges", "30,50", {"by": "age"}, None),
        )
    },
    "over-time.by": On("batch", first="seen", data="year"),
    "over-time.every": On("quarter", data="year"),
    "after-alarm.by": On("batch", first="seen", data="year"),
    "after-alarm.every": On("month", data="year"),
    "characteristics.by": On("site", first="age"),
    "slice-panels.by": On("site", first="age"),
    "slice-panels.crossed": On("site", {"by": "age"}),
    "slice-panels.parts": On(2, {"by": "age"}),
    "slice-panels.edges": On("30,50", {"by": "age"}),
    "slice-scan.crossings": On(False, data="crossed"),
    "multicalibration.by": On("site", first="age"),
    "multicalibration.crossed": On("site", {"by": "age"}),
    "multicalibration.parts": On(2, {"by": "age"}),
    "calibration-maps.wrong": On(data="demo:synthetic-three-class"),
    "calibration-maps.across": On(1, data="demo:synthetic-three-class"),
    "triangle": On(data="demo:synthetic-three-class"),
    "triangle.min_rows": On(100, data="demo:synthetic-three-class"),
    "sweep.refit": On(calibrators=("top-label-hb",)),
    "cell-rows": On(data="demo:synthetic-three-class", chosen={"cell": 2}),
    **{f"{key}.search": On("c1", data="many") for key in ("class-errors", "class-panels", "classes")},
    **{f"{key}.page": On(2, data="many") for key in ("class-errors", "class-panels")},
    "class-panels.kernel": On(also={"curve": "kernel"}),
    **{key: On(data="risk") for key in ("decision-curve", "net-benefit", "in-the-large")},
    "decision-curve.scale": On("avoided", data="risk"),
    "class-slopes.reference": On("c1", first="c0"),
    "lab-errors.measure": On("mse"),
    "pairs.notion": On("top-label"),
    "pairs.margin": On(0.5),
    **{
        f"kept-pairs.{name}": On(
            second,
            {"estimator": "debiased-l2"} if name != "estimator" else {},
            "one counted",
            (),
            {"others": (("other counted", ""),)},
        )
        for name, second in (("estimator", "ece"), ("notion", "top-label"), ("margin", 0.5))
    },
    "decisions.costs": On("0 1 9\n1 0 1\n1 1 0"),
    "recommendation.costs": On("0 1 9\n1 0 1\n1 1 0", {"score": "cost"}),
    "recommendation.worst_of": On("site"),
    "judged-answers.human": On("again", first="checked"),
    "judged-answers.by": On("site"),
    "rates.refit": On(data="sure", calibrators=("metacal-miscoverage",)),
    "reliability.band": On("whole-curve", {"overlay": "corp"}),
    "reliability.kernel": On(also={"overlay": "kernel"}),
    "reliability.together": On("side by side"),
}
"""Options without an effect on the default data, or for the values of the domain."""


IN_WORDS = {"kernel-curve.score": "a sentence reads the curve there"}
"""Options that affect words only."""
LONG = {"paper-tables.with_demos": "every calibrator on every demo"}
"""Options whose effect takes too long to compute: the calls have to differ."""


def case(key: str, option: str) -> On:
    return CASES.get(f"{key}.{option}", CASES.get(f"*.{option}", CASES.get(key, On())))


@lru_cache
def scene_of(data: str, calibrators: tuple[str, ...], chosen: tuple[tuple[str, Any], ...]) -> Scene:
    ticked = tuple(Recipe("CALIBRATORS", each) for each in calibrators)
    source = Source(data=data if data.startswith("demo:") else key_of(data))
    more = dict(chosen)
    if "others" in more:
        more["others"] = tuple((key_of(name), how) for name, how in more["others"])
    return session.scene_of(Selection(source=source, calibrators=ticked, **more))


def asked(key: str, option: str) -> tuple[Recipe, Recipe, Scene]:
    param: Param = next(each for each in EXHIBITS[key].params if each.name == option)
    on = case(key, option)
    first = param.default if on.first is None else on.first
    second = other_value(param) if on.second is None else on.second
    one, other = (EXHIBITS.described(key, **(dict(on.also) | {option: value})) for value in (first, second))
    return one, other, scene_of(on.data, on.calibrators, tuple(on.chosen.items()))


def shown(recipe: Recipe, scene: Scene) -> dict[str, list[Leaf] | str]:
    """Return table, picture and words."""
    exhibit: Exhibit = recipe.build()
    frame = scene.get(exhibit.table(scene))
    figure = exhibit.figure(scene)
    drawn = "" if figure is None else pio.to_json(scene.get(figure))
    return {"table": list(leaves(frame)), "picture": drawn, "words": list(leaves(exhibit.words(scene)))}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("key", "option"), OPTIONS)
def test_an_option_of_an_exhibit_changes_what_is_shown(key: str, option: str) -> None:
    one, other, scene = asked(key, option)
    assert one != other
    if f"{key}.{option}" in LONG:
        assert one.build().table(scene) != other.build().table(scene)
        return
    try:
        second = shown(other, scene)
    except NotAnswerable as why:
        pytest.fail(str(why))
    try:
        first = shown(one, scene)
    except NotAnswerable:
        return  # requested by the option
    # Words by themselves could repeat an option without any effect.
    parts = ["words"] if f"{key}.{option}" in IN_WORDS else ["table", "picture"]
    assert any(first[part] != second[part] for part in parts), "nothing changes"
