"""One predicted class in detail: its confidence, its accuracy, its bins, its confusions, its rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calib_core import NotAnswerable, Predictions, figures
from calib_core.diagrams import class_bins, class_claims, class_confusions, class_panels, class_rows, map_scale
from calib_core.inference import clopper_pearson

NAMES = ["<b>ant</b>", "bee", "cat", "dog"]


@pytest.fixture(scope="module")
def rows() -> Predictions:
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.full(4, 0.5), 300)
    return Predictions(p, rng.integers(0, 4, 300), class_names=NAMES)


@pytest.mark.parametrize("code", range(4))
def test_a_class_is_the_rows_that_are_predicted_as_it(rows: Predictions, code: int) -> None:
    mine = rows.predicted == code
    right = rows.true_labels[mine] == code
    line = class_claims({"net": rows}, code).iloc[0]
    assert line["rows"] == mine.sum()
    assert line["says"] == pytest.approx(rows.confidence[mine].mean())
    assert line["right"] == pytest.approx(right.mean())
    assert line["low"] <= line["right"] <= line["high"]
    low, high = clopper_pearson(np.array([right.sum()]), np.array([mine.sum()]), 0.9)
    assert (line["low"], line["high"]) == (low[0], high[0])
    assert line["found"] == pytest.approx(right.sum() / (rows.true_labels == code).sum())


@pytest.mark.parametrize("bins", [None, 5, "equal-mass"])
def test_bins_of_a_class_are_those_of_its_small_diagram(rows: Predictions, bins: int | str | None) -> None:
    made, panel = class_bins(rows, 2, bins).frame(), class_panels(rows, [2], bins=bins).frame()
    for name, other in (("lower", "lower"), ("count", "count"), ("says", "mean_score"), ("right", "mean_outcome")):
        np.testing.assert_allclose(made[name], panel[other], atol=1e-12)
    assert ((made["low"] <= made["right"]) & (made["right"] <= made["high"])).all()
    parts = [class_rows(rows, 2, None, bins, b) for b in made["bin"]]
    assert [len(part) for part in parts] == made["count"].tolist()
    np.testing.assert_allclose([part["correct"].mean() for part in parts], made["right"])
    assert sorted(row for part in parts for row in part["row"]) == sorted(class_rows(rows, 2)["row"])


def test_confusions_are_the_rows_that_are_wrong(rows: Predictions) -> None:
    found = class_confusions(rows, 1)
    mine = rows.predicted == 1
    wrong = rows.true_labels[mine & (rows.true_labels != 1)]
    assert found["rows"].tolist() == sorted(np.bincount(wrong, minlength=4)[[0, 2, 3]].tolist(), reverse=True)
    assert found["rows"].sum() == len(wrong)
    assert found["share"].sum() == pytest.approx(len(wrong) / mine.sum())
    assert "bee" not in set(found["true class"])


def test_rows_of_a_class_begin_with_the_surest_mistakes(rows: Predictions) -> None:
    found = class_rows(rows, 0, np.arange(300) + 1000)
    off = np.where(found["correct"], 1 - found["confidence"], found["confidence"])
    assert (np.diff(off) <= 0).all()
    assert not found["correct"].iloc[0]
    assert set(found["row"] - 1000) == set(np.flatnonzero(rows.predicted == 0).tolist())


def test_rows_that_are_not_answered_belong_to_no_class(rows: Predictions) -> None:
    silent = np.arange(300) % 3 == 0
    some = Predictions(rows.probs, rows.true_labels, class_names=NAMES, abstained=silent)
    assert class_claims({"net": some}, 0)["rows"].iloc[0] == ((rows.predicted == 0) & ~silent).sum()
    assert not set(class_rows(some, 0)["row"]) & set(np.flatnonzero(silent).tolist())


def test_weights_leave_the_interval_out(rows: Predictions) -> None:
    heavy = Predictions(rows.probs, rows.true_labels, class_names=NAMES, weights=np.tile([0.5, 2.0], 150))
    line = class_claims({"net": heavy}, 0).iloc[0]
    assert pd.isna(line["low"])
    weights = np.asarray(heavy.weights)[rows.predicted == 0]
    right = rows.true_labels[rows.predicted == 0] == 0
    assert line["right"] == pytest.approx(np.average(right, weights=weights))


def test_what_is_no_class_says_so(rows: Predictions) -> None:
    with pytest.raises(NotAnswerable, match="there is no class 9 here"):
        class_rows(rows, 9)
    with pytest.raises(NotAnswerable, match="have no predicted classes"):
        class_claims({"net": Predictions.from_confidence([0.6], [True])}, 0)
    nobody = Predictions([[0.6, 0.4, 0.0]] * 3, [0, 1, 2])
    with pytest.raises(NotAnswerable, match="no row is predicted as 2"):
        class_bins(nobody, 2)
    assert class_claims({"net": nobody}, 2)["rows"].iloc[0] == 0
    assert len(class_confusions(nobody, 2)) == 0


def test_the_figure_of_a_class_draws_its_bins_and_no_markup(rows: Predictions) -> None:
    made = class_bins(rows, 0, 5)
    figure = figures.class_bins({"net": made}, code=0)
    right = next(t for t in figure.data if t.name == "right")
    np.testing.assert_array_equal(right.x, made.right)
    assert [mark["bin"] for mark in right.customdata] == made.bins.tolist()
    columns = figure.layout.meta["columns"]
    assert [column["record"] for column in columns] == [{"code": 0, "bin": b} for b in made.bins.tolist()]
    hollow = [symbol.endswith("-open") for symbol in right.marker.symbol]
    assert hollow == (made.count < 10).tolist()
    assert "<b>ant</b>" not in figure.to_json()


def test_the_scale_of_maps_is_that_of_cells_with_rows_enough() -> None:
    few = Predictions([[0.8, 0.1, 0.1]] * 20, [1] * 20)
    assert map_scale(few) == 0.1
    many = Predictions([[0.8, 0.1, 0.1]] * 40, [1] * 8 + [0] * 32)
    assert map_scale(many) == 0.1  # class 1 occurs 10 points more often than predicted
    both = np.concatenate([many.probs, few.probs[:, [2, 1, 0]]])
    assert map_scale(Predictions(both, [1] * 8 + [0] * 32 + [1] * 20)) == 0.1
    assert map_scale(Predictions([[0.8, 0.1, 0.1]] * 40, [0] * 40)) == 0.2
