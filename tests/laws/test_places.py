"""A place that is significantly off in one view is so in all views, with the same corrected p-value.

Places are bins, predicted classes and slices. They are read from the cards of the overview, the views, the findings and
the tables of the report, which are the same exhibits. They are also read from records of `calib slices` with and
without --by.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core import NotAnswerable, Predictions
from calib_core.inference.significance import count_tests
from calib_core.slices import gaps
from dashboard import session
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.classes import ByClass
from dashboard.hero.tiles import TILES
from dashboard.selection import Selection, Source
from dashboard.session import Scene

OFF = 0.05


class Said(NamedTuple):
    """Place with its corrected p-value, its decision, and the output that contains it."""

    place: tuple[Any, ...]
    p: float
    off: bool
    where: str


def contradictions(said: list[Said]) -> list[str]:
    """Return a sentence for each place with two p-values, or with different decisions."""
    by_place: dict[tuple[Any, ...], list[Said]] = defaultdict(list)
    for each in said:
        by_place[each.place].append(each)
    found = []
    for place, all_of_it in by_place.items():
        first = all_of_it[0]
        for other in all_of_it[1:]:
            known = [math.isnan(each.p) for each in (first, other)]
            same = all(known) or (not any(known) and math.isclose(first.p, other.p, rel_tol=1e-6, abs_tol=1e-11))
            if not same or first.off != other.off:
                found.append(f"{place}: {first.p:.3g} in {first.where}, {other.p:.3g} in {other.where}")
    return found


# ---- data ----------------------------------------------------------------------------------------------------


def clinical() -> tuple[bytes, str]:
    """Return 400 risks of 28 % on average, twice too high, at four sites, with the age."""
    rng = np.random.default_rng(1)
    risk = rng.beta(2, 5, 400)
    frame = pd.DataFrame({"risk": risk.round(3), "died": (rng.random(400) < risk / 2).astype(int)})
    return frame.assign(
        site=np.array(["Ashford", "Brandon", "Corston", "Denby"])[rng.integers(4, size=400)],
        age=rng.integers(20, 90, 400),
    ).to_csv(index=False).encode(), "clinic.csv"


def images() -> tuple[bytes, str]:
    """Return two thousand overconfident rows of ten classes, more so at night."""
    rng = np.random.default_rng(2)
    night = rng.random(2000) < 0.3
    z = 2 * rng.normal(size=(2000, 10))
    true = np.exp(z - z.max(1, keepdims=True))
    true /= true.sum(1, keepdims=True)
    label = (rng.random(2000)[:, None] > np.cumsum(true, 1)[:, :-1]).sum(1)
    stated = true ** np.where(night, 2.5, 1.5)[:, None]
    stated /= stated.sum(1, keepdims=True)
    frame = pd.DataFrame(stated, columns=[f"p_{c}" for c in "abcdefghij"])
    light = np.where(night, "night", "day")
    frame = frame.assign(label=np.array(list("abcdefghij"))[label], light=light)
    return frame.to_csv(index=False).encode(), "images.csv"


OWN = {"clinic": clinical, "images": images}
DATA = (*OWN, *TILES)


@lru_cache(len(DATA))
def opened(name: str) -> tuple[Selection, str]:
    """Return the data in their default state, and the arguments that name them in a command."""
    data = session.hold(*OWN[name]()).key if name in OWN else f"demo:{name}"
    return Selection(source=Source(data=data), calibrators=()), data


# ---- statements ----------------------------------------------------------------------------------------------


def _slices(frame: pd.DataFrame, where: str) -> Iterator[Said]:
    for line in frame.to_dict("records"):
        yield Said(("slice", line["where"]), line["p_corrected"], line["stands_out"], where)


def _findings(frame: pd.DataFrame) -> Iterator[Said]:
    for line in frame.to_dict("records"):
        key = {"slice": line["slice"], "bin": line["bin"], "predicted class": line["code"]}.get(line["kind"])
        if key is not None:
            yield Said((line["kind"], key), line["p_corrected"], line["stands_out"], "findings")


def _bins(frame: pd.DataFrame, where: str) -> Iterator[Said]:
    for line in frame.to_dict("records"):
        yield Said(("bin", line["bin"]), line["p_corrected"], line["stands_out"] != "", where)


def _table(scene: Scene, key: str, **options: Any) -> pd.DataFrame | None:
    exhibit: Any = EXHIBITS.make(key, **options)
    try:
        return scene.get(exhibit.table(scene))
    except NotAnswerable:
        return None


def said_of(name: str) -> list[Said]:
    """Return the decisions of cards, views, findings, report and commands."""
    selection, data = opened(name)
    scene = session.scene_of(selection)
    said: list[Said] = []
    findings = _table(scene, "findings")
    assert findings is not None
    said.extend(_findings(findings))
    # The sentence of Explore and the card of two classes count these bins.
    rows, title = scene.models.shown[0].predictions, scene.titles[0]
    claims = {"notion": "event"} if scene.claims == "event" else {}
    bins = cc.diagrams.bins_standing_out({title: scene.get(rows)}, bins=scene.bins, **claims)
    said.extend(_bins(bins, "Explore"))
    if (groups := _table(scene, "risk-groups")) is not None:
        said.extend(_bins(groups, "card of predicted risks"))
    if scene.claims != "event" and (classes := _table(scene, "standing-out")) is not None:
        said.extend(
            Said(("predicted class", line["code"]), line["p_holm"], line["stands_out"], "card of classes")
            for line in classes.to_dict("records")
        )
        tested = ByClass().tested(scene)
        assert tested is not None
        tests, out = scene.get(tested), cc.inference.standing_out(scene.get(tested))
        view = [
            Said(("predicted class", c), p, c in out, "Classes view")
            for c, p in enumerate(tests["p_holm"].tolist())
            if tests["rows"][c] > 0
        ]
        said.extend(view)
    columns = _table(scene, "slice-columns")
    if columns is not None:
        said.extend(_slices(columns, "card and table of all columns"))
        for by in dict.fromkeys(columns["column"]):
            view_of_column = _table(scene, "slices", by=by)
            assert view_of_column is not None
            said.extend(_slices(view_of_column, f"Slices view, {by}"))
            said.extend(_slices(_record(data, name, "--by", str(by)), f"calib slices --by {by}"))
        said.extend(_slices(_record(data, name), "calib slices"))
    return said


def _record(data: str, name: str, *words: str) -> pd.DataFrame:
    """Return the table of `calib slices`."""
    with tempfile.TemporaryDirectory() as folder:
        file = data
        if name in OWN:
            content, own = OWN[name]()
            file = str(Path(folder, own))
            Path(file).write_bytes(content)
        answer = CliRunner().invoke(main, ["slices", file, "--json", *words], prog_name="calib")
    assert answer.exit_code == 0, answer.stderr
    frame = pd.DataFrame(json.loads(answer.stdout)["lines"])
    return frame.assign(p_corrected=frame["p_corrected"].astype(float))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", DATA)
def test_a_place_is_called_off_everywhere_or_nowhere(name: str) -> None:
    said = said_of(name)
    assert contradictions(said) == []
    assert all(each.off == (each.p <= OFF) for each in said)
    where = {each.where for each in said}
    assert {"findings", "Explore"} <= where
    if name == "clinic":
        assert {"card of predicted risks", "calib slices", "calib slices --by site", "Slices view, age"} <= where
    if name == "images":
        assert {"card of classes", "Classes view", "calib slices --by light"} <= where
    if name in OWN:
        assert {True, False} == {each.off for each in said}, "the file has places of both kinds"


def test_another_correction_in_one_view_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = session.parts(opened("clinic")[0].source).test
    said = [*_findings(cc.findings(rows, notion="event"))]
    assert contradictions([*said, *_slices(cc.slices.table(rows, "site", notion="event"), "there")]) == []
    monkeypatch.setattr(gaps, "kinds_with_slices", lambda _: 1)
    assert contradictions([*said, *_slices(cc.slices.table(rows, "site", notion="event"), "there")])


# ---- the order -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clinic", "images", "language-model"])
def test_the_largest_significant_gap_comes_first_wherever_places_are_listed(name: str) -> None:
    scene = session.scene_of(opened(name)[0])
    columns, findings = _table(scene, "slice-columns"), _table(scene, "findings")
    assert columns is not None
    assert findings is not None
    slices = findings[(findings["kind"] == "slice") & findings["stands_out"]]
    dots = cc.diagrams.slice_dots(columns, notion=scene.claims)
    view = _table(scene, "slices")
    assert view is not None
    assert dots.worst is not None
    assert dots.worst["where"] == columns["where"][0] == view["where"][0] == slices["slice"].iloc[0]
    assert slices["gap"].abs().max() == pytest.approx(abs(dots.worst["gap"]))
    # All rows open where nearly all gaps, of places of any kind but class probabilities, have their direction.
    tested = findings[findings["p"].notna() & (findings["kind"] != "class")]
    (every,) = tested[tested["kind"] == "direction"].to_dict("records")
    size = tested["gap"].abs()
    opposed = tested["gap"].gt(0) != (every["gap"] > 0)
    total = tested.assign(of_all=tested["rows"] * size, opposed=tested["rows"] * size * opposed)
    total = total[total["kind"] != "direction"].groupby("kind")[["of_all", "opposed"]].sum()
    cause = tested["stands_out"] & (size >= 2 * abs(every["gap"]))
    cause &= tested["rows"] * size >= every["rows"] * abs(every["gap"]) / 2
    rare = (total["opposed"] <= total["of_all"] / 10).all() and not tested[opposed]["stands_out"].any()
    alike = bool(every["stands_out"] and rare and not cause.any())
    assert alike == (findings["kind"][0] == "direction")
    assert alike or name != "clinic", "its risk is too high everywhere"
    for frame in (findings.iloc[1:] if alike else findings, view):
        out = frame[frame["stands_out"]]
        # A predicted class that is off as a whole comes before its bins, whose gaps can be larger.
        single = out[out["kind"] != "predicted class"] if "kind" in out else out
        assert (np.diff(single["gap"].abs()) <= 1e-12).all()
        assert frame["stands_out"].head(len(out)).all()


# ---- guarantee -----------------------------------------------------------------------------------------------


def calibrated(seed: int, n: int = 400, k: int = 3) -> Predictions:
    """Return a calibrated model with two columns that divide its rows."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    y = (rng.random(n)[:, None] > np.cumsum(p, 1)[:, :-1]).sum(1)
    columns = pd.DataFrame({"site": rng.integers(4, size=n).astype(str), "age": rng.integers(90, size=n)})
    return Predictions(p, y, metadata=columns)


@pytest.mark.wide
def test_any_place_of_a_calibrated_model_is_called_off_in_at_most_5_percent_of_samples() -> None:
    runs = 150
    alarms = uncorrected = within_families = 0
    for seed in range(runs):
        found = cc.findings(calibrated(seed))
        places = found[(found["kind"] != "direction") & found["p"].notna()]
        alarms += bool(places["stands_out"].any())
        uncorrected += bool((places["p"] <= OFF).any())
        alone = places["p_corrected"] / np.where(places["kind"] == "slice", 10, 5)
        within_families += bool((alone <= OFF).any())
    slack = 2 * math.sqrt(OFF * (1 - OFF) / runs)
    assert alarms / runs <= OFF + slack
    # Neither uncorrected tests nor a correction within each family has the guarantee.
    assert uncorrected / runs > 0.5
    assert within_families / runs > OFF + slack


def test_the_split_is_of_the_rows_not_of_a_view() -> None:
    rows = calibrated(0)
    assert count_tests.kinds_of_places(rows) == 5
    assert count_tests.kinds_of_places(rows.replace(metadata=None)) == 4
    assert count_tests.kinds_of_places(Predictions.from_confidence([0.5], [True])) == 1
    table = cc.slices.table(rows, "site")
    np.testing.assert_allclose(table["p_corrected"], np.minimum(10 * cc.inference.holm(table["p"]), 1))
