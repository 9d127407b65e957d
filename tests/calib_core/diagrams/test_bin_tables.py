"""Tables about bins, rows and models: their values equal those of their parts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions, diagrams, figures
from calib_core.calibrators import Composed, Reduced
from calib_core.diagrams import banded_bins, bin_rows, brier_parts, reliability, zoom
from calib_core.evaluation.study import MEASURES
from calib_core.inference import clopper_pearson
from calib_core.palette import style


@pytest.fixture(scope="module")
def test() -> Predictions:
    return cc.calls.divide(cc.read_predictions(*cc.datasets.demo("digits-naive-bayes"))).test


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
    table = cc.calls.row_table(p, [1], probabilities=True)
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
    with pytest.raises(InputError, match="different bins"):
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
    lines = cc.calls.measured({"all": test, "bare": bare}, 7).to_dict("records")
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
    assert inner.remarks()[0].startswith("too few rows, pooled")
    composed = Composed(cc.CALIBRATORS.make("identity"), Reduced()).fit_on(few)
    assert composed.remarks() == inner.remarks()


# -- significant places ----------------------------------------------------------------------------------------


def says(confidence: float, right: float, rows: int) -> tuple[list[float], list[bool]]:
    """Return rows of one confidence, of which this share is right."""
    n = round(right * rows)
    return [confidence] * rows, [True] * n + [False] * (rows - n)


def bare(*parts: tuple[list[float], list[bool]]) -> Predictions:
    return Predictions.from_confidence(np.concatenate([c for c, _ in parts]), np.concatenate([r for _, r in parts]))


def test_the_intervals_of_bins_are_of_one_bin_each_whatever_models_are_beside() -> None:
    off = bare(says(0.55, 0.5, 40), says(0.95, 0.8, 60))
    for models in ({"a": off}, {"a": off, "b": bare(says(0.75, 0.7, 50))}):
        table = diagrams.bins_standing_out(models, 10, level=0.9)
        for line in table.to_dict("records"):
            k, n = np.array([line["accuracy"] * line["count"]]), np.array([line["count"]])
            low, high = clopper_pearson(k, n, 0.9)
            assert (line["low"], line["high"]) == pytest.approx((low[0], high[0]))
    assert table["stands_out"].tolist() == ["", "overconfident", ""]


@pytest.mark.wide
def test_calibrated_models_have_a_bin_that_is_off_in_at_most_5_percent_of_samples() -> None:
    rng, alarms = np.random.default_rng(5), 0
    for _ in range(120):
        confidence = rng.uniform(0.3, 1, 400)
        rows = Predictions.from_confidence(confidence, rng.random(400) < confidence)
        alarms += int((diagrams.bins_standing_out({"m": rows}, 10)["stands_out"] != "").any())
    # 6 expected at most; three standard deviations above.
    assert alarms <= 6 + 3 * np.sqrt(120 * 0.05 * 0.95)
    # One by one, many tables would have one.
    assert alarms > 0


def test_the_headline_claims_what_the_intervals_show() -> None:
    fine, high = says(0.35, 0.35, 300), (says(0.75, 0.5, 300), says(0.95, 0.8, 300))
    cases = {
        "Above 70 %, net is significantly overconfident in every bin.": bare(fine, *high),
        "Net is significantly overconfident in every bin.": bare(*high),
        "Below 60 %, net is significantly underconfident in every bin.": bare(
            says(0.35, 0.7, 300), says(0.55, 0.8, 300), says(0.95, 0.95, 300)
        ),
        "At 70 to 80 %, net is overconfident: mean confidence 75 %, accuracy 50 %.": bare(
            fine, high[0], says(0.95, 0.95, 300)
        ),
        "Net is underconfident in 1 and overconfident in 1 of 3 bins. "
        "The largest significant gap is at 30 to 40 %: mean confidence 35 %, accuracy 70 %.": bare(
            says(0.35, 0.7, 300), says(0.55, 0.55, 300), high[1]
        ),
        "No bin of net is significantly off.": bare(fine),
        "No bin of net is significantly off; each has few rows.": bare(says(0.35, 0.3, 10), says(0.75, 0.7, 10)),
    }
    for sentence, rows in cases.items():
        assert diagrams.headline(diagrams.bins_standing_out({"net": rows}, 10)) == (sentence,)


def test_the_headline_speaks_of_the_other_models_too() -> None:
    off, fine = bare(says(0.95, 0.8, 300), says(0.75, 0.5, 300)), bare(says(0.95, 0.95, 300))
    two = diagrams.headline(
        diagrams.bins_standing_out({"A": off, "B": fine}, 10), {"A": "the original model", "B": "scaling"}
    )
    assert two == (
        "The original model is significantly overconfident in every bin.",
        "No bin of scaling is significantly off.",
    )
    many = {"A": off, "B": fine, "C": fine, "D": fine}
    assert (
        diagrams.headline(diagrams.bins_standing_out(many, 10))[1]
        == "No bin of the other 3 models is significantly off."
    )
    more = diagrams.headline(diagrams.bins_standing_out({**many, "C": off}, 10))[1]
    assert more == "Of the other 3 models, bins are significantly off in C."


# -- a range of the confidence ---------------------------------------------------------------------------------


def test_a_bin_is_a_range_of_the_confidence() -> None:
    """Applies to the same rows, for every bin, also in single precision, where an edge is no float64."""
    confidence = np.random.default_rng(1).uniform(0, 1, 500).astype(np.float32)
    rows = Predictions.from_confidence(np.append(confidence, np.array([0.1, 0.7, 1.0], dtype=np.float32)), [True] * 503)
    diagram = diagrams.reliability(rows, 10)
    for b in range(10):
        ends = float(diagram.lower[b]), float(diagram.upper[b])
        np.testing.assert_array_equal(diagrams.rows_in_range(rows, *ends), diagram.rows(rows, b))


def test_every_model_has_its_own_rows_in_a_range() -> None:
    p = Predictions([[0.7, 0.3], [0.65, 0.35], [0.3, 0.7], [0.9, 0.1]], [0, 1, 1, 1])
    sharper = p.with_probs([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.95, 0.05]])
    table = diagrams.models_in_range({"before": p, "after": sharper}, 0.6, 0.8, notion="confidence")
    assert table["rows"].tolist() == [3, 0]
    assert table["says"][0] == pytest.approx((0.7 + 0.65 + 0.7) / 3)
    assert table["right"][0] == pytest.approx(2 / 3)
    low, high = clopper_pearson(np.array([2.0]), np.array([3.0]), 0.9)
    assert (table["right_low"][0], table["right_high"][0]) == pytest.approx((low[0], high[0]))
    assert table.loc[1, ["says", "right", "right_low", "right_high"]].isna().all()
    assert diagrams.models_in_range({"before": p}, 0.6, 0.8, predicted=1)["rows"].tolist() == [1]
    for ends in ((0.8, 0.6), (-0.1, 0.5), (0.5, 1.1)):
        with pytest.raises(InputError, match="must be ascending and between 0 and 1"):
            diagrams.models_in_range({"before": p}, *ends)
    with pytest.raises(NotAnswerable, match="predicted classes are not known"):
        diagrams.rows_in_range(Predictions.from_confidence([0.5], [True]), predicted=0)


def test_models_of_a_range_are_drawn_each_in_its_look_with_its_interval() -> None:
    says = np.repeat([0.62, 0.7], 20)
    p = Predictions.from_confidence(says, np.arange(40) % 4 > 0)
    models = {"before": p, "<b>few</b>": p.take(np.arange(5)), "none": Predictions.from_confidence([0.1], [True])}
    table = diagrams.models_in_range(models, 0.6, 0.8)
    figure = figures.models_in_range(table, looks={"before": 0, "<b>few</b>": 3, "none": 1})
    right, ticks = (
        [trace for trace in figure.data if trace.name.endswith(kind)] for kind in (": accuracy", ": confidence")
    )
    known = table[table["rows"] > 0]
    assert [trace.x[0] for trace in right] == known["right"].tolist()
    assert [trace.x[0] + trace.error_x.array[0] for trace in right] == pytest.approx(known["right_high"].tolist())
    assert [trace.x[0] - trace.error_x.arrayminus[0] for trace in right] == pytest.approx(known["right_low"].tolist())
    assert [trace.x[0] for trace in ticks] == known["says"].tolist()
    assert [trace.marker.symbol for trace in right] == [style(0).symbol, f"{style(3).symbol}-open"]
    assert [trace.marker.color for trace in right] == [style(0).colour, style(3).colour]
    assert [trace.customdata[0]["model"] for trace in right] == ["before", "<b>few</b>"]
    low, high = figure.layout.xaxis.range
    assert low < known["right_low"].min() < known["right_high"].max() < high
    texts = [words.text for words in figure.layout.annotations]
    assert texts[-1] == "no rows here"
    assert "&lt;b&gt;few" in texts[2]
    assert texts[1] == "<b>75 %</b> (61 to 86) \u00b7 40 rows"


def test_costs_are_of_the_rows_a_model_answers() -> None:
    p = Predictions([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], [0, 1, 1])
    some = Predictions(p.probs, p.true_labels, abstained=[False, True, False])
    none = Predictions(p.probs, p.true_labels, abstained=[True] * 3)
    table = cc.evaluation.model_tables.costs({"all": p, "some": some, "none": none})
    assert table["answered"].tolist() == [3, 2, 0]
    assert table.pop("rows").tolist() == [3, 3, 3]
    assert table.loc[2, ["accuracy", "log_loss"]].isna().all()
    table = table.head(2)
    assert table["accuracy"].tolist() == pytest.approx([2 / 3, 1.0])
    assert table["log_loss"].tolist() == pytest.approx([-np.log([0.9, 0.4, 0.8]).mean(), -np.log([0.9, 0.8]).mean()])


def test_weighted_rows_count_as_the_equal_rows_they_are_worth() -> None:
    weights = [0.5, 1.5, 2.5, 0.5]
    p = Predictions.from_confidence([0.9] * 4, [True, True, False, True], weights=weights)
    (line,) = diagrams.models_in_range({"m": p}).to_dict("records")
    assert line["right"] == pytest.approx(2.5 / 5)
    worth = 25 / np.square(weights).sum()
    low, high = clopper_pearson(np.array([0.5 * worth]), np.array([worth]), 0.9)
    assert (line["right_low"], line["right_high"]) == pytest.approx((low[0], high[0]))


# -- the classes of a bin --------------------------------------------------------------------------------------


def test_intervals_of_the_classes_of_a_bin_hold_together_and_the_worst_beyond_noise_comes_first() -> None:
    predicted = [0] * 200 + [1] * 3 + [2] * 100
    right = [True] * 120 + [False] * 80 + [False] * 3 + [True] * 90 + [False] * 10
    labels = [c if ok else (c + 1) % 3 for c, ok in zip(predicted, right, strict=True)]
    p = Predictions.from_confidence([0.9] * 303, predicted=predicted, labels=labels)
    zoom = diagrams.zoom(p, diagrams.reliability(p, 10))
    low, high = clopper_pearson(np.array([120.0, 90.0, 0.0]), np.array([200.0, 100.0, 3.0]), 1 - 0.1 / 3)
    # 3 wrong rows of 3 have the largest gap and little evidence: the class of 200 rows is first.
    order = [int(c) for c in zoom.classes]
    assert order[0] == 0
    assert zoom.stands_out.tolist() == [c == 0 or (c == 1 and high[2] < 0.9) for c in order]
    for c, k in ((0, 0), (2, 1), (1, 2)):
        i = order.index(c)
        assert (zoom.low[i], zoom.high[i]) == pytest.approx((low[k], high[k]))
    rows = diagrams.bin_rows(p, diagrams.reliability(p, 10), predicted=1)
    assert rows["predicted"].unique().tolist() == [p.class_names[1]]  # type: ignore[index]
    assert len(rows) == 3
    with pytest.raises(NotAnswerable, match=r"no rows in \[0\.2, 0\.3\)"):
        diagrams.zoom(p, diagrams.reliability(p, 10), 2)
