"""Tables about bins, rows and models: what they hold is what the parts they are made of hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions
from calib_core.calibrators import Composed, Reduced
from calib_core.diagrams import banded_bins, bin_rows, brier_parts, reliability, zoom
from calib_core.study import MEASURES


@pytest.fixture(scope="module")
def test() -> Predictions:
    return cc.divide(cc.read_predictions(*cc.datasets.demo("digits-naive-bayes"))).test


def test_without_a_bin_the_one_that_adds_most_to_the_top_label_error_is_taken_apart(test: Predictions) -> None:
    diagram = reliability(test)
    frame = diagram.frame()
    parts = (frame["share"] * frame["delta"]).to_numpy()
    assert parts.sum() == pytest.approx(cc.estimate(test, "top-label", "ece").value)
    worst = int(frame["bin"].iloc[parts.argmax()])
    assert diagram.worst == worst
    # Neither the bin furthest off nor the fullest: both weights count.
    pd.testing.assert_frame_equal(zoom(test, diagram).frame(), zoom(test, diagram, worst).frame())
    np.testing.assert_array_equal(bin_rows(test, diagram)["row"], zoom(test, diagram).rows)


def test_the_worst_bin_weighs_distance_by_rows() -> None:
    far, many = Predictions.from_confidence([0.1], [True]), reliability
    p = Predictions.from_confidence([0.1] * 2 + [0.5] * 20, [True] * 2 + [True] * 20)
    assert (many(far, 5).worst, many(p, 5).worst) == (0, 2)


def test_rows_of_a_bin_stand_where_they_stand_in_the_file(test: Predictions) -> None:
    diagram, numbers = reliability(test), np.arange(test.n_rows) * 3 + 1
    b = diagram.worst
    table = bin_rows(test, diagram, b, numbers)
    inside = (test.confidence >= diagram.lower[b]) & (test.confidence <= diagram.upper[b])
    np.testing.assert_array_equal(table["row"], numbers[inside])
    np.testing.assert_array_equal(table["confidence"], test.confidence[inside])
    names = np.asarray(test.class_names)
    np.testing.assert_array_equal(table["predicted"].to_numpy(str), names[test.predicted[inside]])
    np.testing.assert_array_equal(table["label"].to_numpy(str), names[test.true_labels[inside]])
    with pytest.raises(InputError, match="bin 15 does not exist"):
        bin_rows(test, diagram, 15)


def test_metadata_keeps_its_names_beside_the_columns_of_rows() -> None:
    extra = pd.DataFrame({"row": ["x", "y"], "site": ["a", "b"]})
    p = Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 0], metadata=extra)
    table = cc.row_table(p, [1], probabilities=True)
    assert table.columns.tolist() == [
        *("row", "predicted", "label", "confidence", "correct", "P(0)", "P(1)"),
        *("row (file)", "site"),
    ]
    assert table.iloc[0].tolist() == [1, "1", "0", 0.8, False, 0.2, 0.8, "y", "b"]


def test_bins_with_their_bands_hold_the_numbers_of_both(test: Predictions) -> None:
    diagram, bands = reliability(test, 10), cc.diagrams.reliability_bands(test, 10)
    frame = banded_bins(diagram, bands)
    pd.testing.assert_frame_equal(frame[diagram.frame().columns], diagram.frame())
    pd.testing.assert_frame_equal(frame[bands.frame().columns], bands.frame())
    with pytest.raises(InputError, match="other bins"):
        banded_bins(reliability(test, 9), bands)


def test_the_parts_of_the_brier_score_add_up(test: Predictions) -> None:
    curves = {"first": cc.diagrams.corp(test), "second": cc.diagrams.corp(test.take(range(100)))}
    frame = brier_parts(curves)
    assert frame["model"].tolist() == ["first", "second"]
    parts = frame["miscalibration"] - frame["discrimination"] + frame["uncertainty"]
    np.testing.assert_allclose(frame["brier"], parts, atol=1e-12)
    assert frame["miscalibration"].tolist() == [curve.miscalibration for curve in curves.values()]
    squares = np.square(test.confidence.astype(float) - test.correct).mean()
    assert frame["brier"][0] == pytest.approx(squares)


def test_measures_of_every_model_are_those_of_estimate(test: Predictions) -> None:
    bare = Predictions.from_confidence(test.confidence, test.correct)
    lines = cc.measured({"all": test, "bare": bare}, 7).to_dict("records")
    whole, confidences = lines
    for measure in MEASURES:
        bins = 7 if measure.reduction else None
        assert whole[measure.name] == cc.estimate(test, measure.reduction, measure.estimator, bins).value
        if measure.reduction == "confidence" or measure.name == "Accuracy":
            value = cc.estimate(bare, measure.reduction, measure.estimator, bins).value
            assert confidences[measure.name] == value
            continue
        with pytest.raises(NotAnswerable) as why:
            cc.estimate(bare, measure.reduction, measure.estimator, bins)
        assert str(why.value) in confidences["note"]
        assert np.isnan(confidences[measure.name])
    assert confidences["note"].startswith("Log loss, Brier score, CW-ECE not defined: ")
    assert whole["note"] == ""
    assert [line["bins"] for line in lines] == ["7 equal width"] * 2


def test_a_composed_calibrator_remarks_on_its_parts(test: Predictions) -> None:
    few = test.take(range(30))
    inner = Reduced().fit_on(few)
    assert inner.remarks()[0].startswith("too few rows, calibrated together as one: ")
    composed = Composed(cc.CALIBRATORS.make("identity"), Reduced()).fit_on(few)
    assert composed.remarks() == inner.remarks()
