"""Exhibits that need special data: rows sampled in summaries, and slices found by a scan."""

from __future__ import annotations

import by_hand
import numpy as np
import pandas as pd
import pytest
import rows
from twins_of_slices import judged

import calib_core as cc
from calib_core.predictions.predictions import split_rows
from calib_core.summaries import write_summary
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.selection import Selection, Source

pytestmark = pytest.mark.law


def test_pairs_of_kept_rows_are_those_of_the_rows_themselves(tmp_path):
    pytest.importorskip("pyarrow")
    file, keys, models = rows.files("three").test, [], {}
    told = file[list(rows.CLASSES)].to_numpy()
    labels = [rows.CLASSES.index(name) for name in file["label"]]
    for name, probs in (("first", told), ("second", 0.7 * told + 0.1)):
        model = cc.Predictions(probs, labels, class_names=rows.CLASSES)
        write_summary(cc.Summary.of(model, [], source="test"), tmp_path / f"{name}.parquet")
        keys.append(session.hold((tmp_path / f"{name}.parquet").read_bytes(), f"{name}.parquet").key)
        models[name] = model
    scene = session.scene_of(Selection(source=Source(data=keys[0]), others=((keys[1], ""),)))
    (line,) = scene.get(EXHIBITS.make("kept-pairs").table(scene)).to_dict("records")
    for name, model in zip(("first_value", "second_value"), models.values(), strict=True):
        cells = by_hand.cells_of(model.confidence, by_hand.edges_of())
        assert line[name] == pytest.approx(by_hand.debiased_square(model.confidence, model.correct, cells), abs=1e-6)
    same = cc.compare(models).iloc[0]
    assert [line["first"], line["second"]] == list(scene.titles)
    for name in ("difference", "low", "high", "p", "p_holm", "verdict", "tested"):
        known = pytest.approx(same[name], abs=1e-6) if isinstance(same[name], float) else same[name]
        assert line[name] == known, name


COLUMNS = 12


def scanned(n=1600, seed=0):
    """Return confidences of 80 % and columns of four values: one very wrong, some slightly, most not at all."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (n, COLUMNS))
    codes[rng.random(n) < 0.85, 11] = 0  # values of few rows
    chance = np.full(n, 0.72)
    for column, off in enumerate([0.3, 0.16, 0.14, 0.12, 0.11, 0.1]):
        chance -= off * ((codes[:, column] == 0) - 0.25)
    h = np.clip(0.72 + rng.normal(0, 0.03, n).round(2), 0.6, 0.95)
    metadata = pd.DataFrame({f"c{j}": [f"v{v}" for v in codes[:, j]] for j in range(COLUMNS)})
    return cc.Predictions.from_confidence(h, rng.random(n) < chance.clip(0, 1), metadata=metadata)


@pytest.mark.parametrize("min_rows", [50, 230])
def test_a_scan_looks_on_half_of_the_rows_and_confirms_on_the_others(min_rows):
    p = scanned()
    found = cc.slices.scan(p, crossings=False, min_rows=min_rows)
    first, second = halves(p)
    looked = []
    for column in p.metadata:
        for value in sorted(p.metadata[column].unique()):
            here = np.flatnonzero(p.metadata[column].to_numpy() == value)
            mine = np.array([i for i in here if i in first])
            if len(mine) >= max(min_rows, 20):
                looked.append((f"{column} = {value}", mine, np.array([i for i in here if i in second])))
    tests = [by_hand.count_p(p.confidence[mine], int(sum(p.correct[mine]))) for _, mine, _ in looked]
    kept = [i for i, q in enumerate(by_hand.benjamini_yekutieli(tests)) if q <= 0.05]
    # Two corrections that differ here: the careful one finds fewer.
    assert len(kept) < sum(q <= 0.05 for q in by_hand.benjamini_hochberg(tests)) or min_rows != 50
    assert found.looked == len(looked)
    assert found.picked == len(kept)
    frame = found.frame()
    assert set(frame["slice"]) == {looked[i][0] for i in kept}
    rest = sorted(second)
    place = {row: j for j, row in enumerate(rest)}
    names = {looked[i][0]: np.array([place[row] for row in looked[i][2]]) for i in kept}
    lines = {line["slice"]: line for line in judged(p.confidence[rest], p.correct[rest], names, fewest=20)}
    q = by_hand.holm([lines[name]["p"] for name in frame["slice"]])
    unlike = by_hand.holm([lines[name]["p_beyond"] for name in frame["slice"]])
    for line, p_holm, p_unlike in zip(frame.to_dict("records"), q, unlike, strict=True):
        own = lines[line["slice"]]
        for name in own:
            if name != "slice":
                assert line[name] == pytest.approx(own[name], rel=0.01, abs=1e-9), (line["slice"], name)
        mine = looked[[name for name, *_ in looked].index(line["slice"])][1]
        gap = float(np.mean(p.correct[mine]) - np.mean(p.confidence[mine]))
        assert line["first_gap"] == pytest.approx(gap)
        assert line["first_rows"] == len(mine)
        assert line["first_rows"] >= min_rows
        assert line["p_holm"] == pytest.approx(p_holm, rel=0.01)
        assert line["stands_out"] == (p_holm <= 0.05 and np.sign(gap) == np.sign(line["gap"]))
        assert line["differs"] == (p_unlike <= 0.05)
    order = [(not line["stands_out"], -line["adds"]) for line in frame.to_dict("records")]
    assert order == sorted(order)


def halves(p):
    """Return the rows that a scan searches, and those that it reserves for confirmation."""
    apart = split_rows(np.zeros(p.n_rows, dtype=np.intp), 0.5, cc.defaults.SEED)
    return set(np.flatnonzero(~apart)), set(np.flatnonzero(apart))


def test_the_fewest_rows_of_a_scan_are_those_that_are_asked_for():
    file = pd.concat([rows.files("three").fit, rows.files("three").test], ignore_index=True)
    key = session.hold(file.to_csv(index=False).encode(), "scanned.csv").key
    scene = session.scene_of(Selection(source=Source(data=key, by="share", share=0.1)))
    few, many = (scene.get(EXHIBITS.make("slice-scan", min_rows=n, crossings=False).found(scene)) for n in (20, 120))
    assert many.looked < few.looked
