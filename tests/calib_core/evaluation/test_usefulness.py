"""Uses of confidences before and after: pairs of rows counted slowly, the most confident rows, all measures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from calib_core import CALIBRATORS, InputError, NotAnswerable, Predictions
from calib_core.evaluation.usefulness import changes, order_changes, sentences, surest_right
from calib_core.inference import skill_differences
from calib_core.inference.intervals.influence_functions import ConfidenceRows
from tests.calib_core.evaluation.test_prediction_sets import drawn

levels = st.sampled_from([0.5, 0.6, 0.7, 0.9])


@given(st.lists(st.tuples(levels, levels), min_size=2, max_size=12))
def test_pairs_of_rows_are_counted_as_a_slow_loop_does(rows):
    x, y = (np.array(part) for part in zip(*rows, strict=True))
    pairs = [(i, j) for i in range(len(x)) for j in range(i)]
    turned = sum((x[i] - x[j]) * (y[i] - y[j]) < 0 for i, j in pairs)
    tied = sum(x[i] != x[j] and y[i] == y[j] for i, j in pairs)
    found = order_changes(x, y)
    assert (found.turned, found.tied) == (turned / len(pairs), tied / len(pairs))


def test_no_pair_of_many_is_lost():
    x = np.random.default_rng(0).random(30_000)
    assert order_changes(x, x).turned == 0
    assert order_changes(x, -x).turned == 1
    y = x.copy()
    first, second = np.argsort(x)[:2]
    y[[first, second]] = x[[second, first]]
    assert order_changes(x, y).turned * 30_000 * 29_999 / 2 == pytest.approx(1, abs=1e-6)


def test_rounding_turns_no_rows_round():
    x = np.random.default_rng(0).random(1000)
    assert order_changes(x, x + 1e-15 * np.random.default_rng(1).normal(size=1000)).turned == 0


def test_share_right_of_the_surest_lies_in_its_interval():
    values = [surest_right(ConfidenceRows.of(p)).value for p in drawn(200_000, 4, (3.0, 0.4), 9)]
    runs, inside, naive = 300, np.zeros(3), 0
    for seed in range(runs):
        found = [surest_right(ConfidenceRows.of(p)) for p in drawn(300, 4, (3.0, 0.4), seed)]
        for i, (one, true) in enumerate(
            zip((*found, found[1] - found[0]), (*values, values[1] - values[0]), strict=False)
        ):
            low, high = one.ends(0.9)
            inside[i] += low <= true <= high
        # The falsified twin: half of the error.
        middle = (found[0].ends(0.9)[0] + found[0].ends(0.9)[1]) / 2
        naive += abs(middle - values[0]) <= 0.5 * (found[0].ends(0.9)[1] - middle)
    assert (inside / runs >= 0.9 - 3 * np.sqrt(0.09 / runs)).all(), inside / runs
    assert naive / runs < 0.8


def test_its_error_knows_that_the_threshold_moves():
    found = [surest_right(ConfidenceRows.of(drawn(300, 4, (1.0,), seed)[0]), 0.3) for seed in range(600)]
    spread = np.std([each.value for each in found])
    assert spread == pytest.approx(np.mean([each.error for each in found]), rel=0.07)


def test_share_right_of_the_surest_by_hand():
    rows = ConfidenceRows.of(
        Predictions.from_confidence([0.9] * 4 + [0.5] * 6, [True, True, True, False] + [False] * 6)
    )
    found = surest_right(rows, 0.4)
    assert found.value == 0.75
    assert found.terms.mean() == pytest.approx(0)
    assert surest_right(rows, 0.5).value == 0.3  # ties stay together
    assert surest_right(rows, 1.0).terms == pytest.approx(rows.right - 0.3)


def test_every_measure_is_after_less_before():
    before, after = drawn(500, 3, (3.0, 0.3), 4)
    table = changes({"t": before}, {"t": after}).set_index("measure")
    known = table.drop(["reversed", "tied"])
    assert (known["after"] - known["before"]).to_numpy() == pytest.approx(known["change"].to_numpy())
    assert ((known["low"] <= known["change"]) & (known["change"] <= known["high"])).all()
    twin = skill_differences({"after": after, "before": before}).set_index("measure")
    for measure in ("auroc", "risk_area"):
        assert table.loc[measure, ["change", "low", "high"]].tolist() == pytest.approx(
            twin.loc[measure, ["difference", "low", "high"]].tolist()
        )
    assert roc_auc_score(before.correct, before.confidence) == pytest.approx(table.loc["auroc", "before"])
    assert "class_auroc" not in table.index


def test_two_classes_are_ranked_by_the_second_too_and_a_monotone_map_keeps_all():
    before, after = drawn(300, 2, (3.0, 0.3), 4)
    table = changes({"t": before}, {"t": after}).set_index("measure")
    assert table.loc["class_auroc", "before"] == pytest.approx(roc_auc_score(before.true_labels, before.probs[:, 1]))
    assert table.loc[["reversed", "tied"], "after"].tolist() == [0.0, 0.0]
    assert table.loc["class_auroc", ["change", "low", "high"]].tolist() == pytest.approx([0, 0, 0], abs=1e-12)
    assert sentences(table.reset_index())[0].endswith("no pair of rows swaps places.")


def test_what_cannot_be_told_says_why():
    p = drawn(400, 3, (2.0,), 1)[0]
    top = CALIBRATORS.make("top-label-hb").fit_on(p).apply(p)
    table = changes({"hb": p}, {"hb": top}).set_index("measure")
    assert np.isfinite(table.loc[["auroc", "reversed", "surest_right"], "after"]).all()
    assert table.loc["lac_size", "note"].startswith("class sets need")
    assert "Sets" not in sentences(table.reset_index())[0]
    few = changes({"t": p.take(np.arange(10))}, {"t": p.take(np.arange(10))}).set_index("measure")
    assert few["low"].isna().all()
    assert few.loc["auroc", "note"].startswith("fewer than 10 predictions are correct, or fewer than 10 are wrong")
    weighed = p.replace(weights=np.linspace(0.5, 1.5, 400))
    table = changes({"t": weighed}, {"t": weighed}).set_index("measure")
    assert "copies" in table.loc["reversed", "note"]
    assert np.isfinite(table.loc["auroc", "low"])
    with pytest.raises(NotAnswerable, match="two rows"):
        order_changes(np.array([0.5]), np.array([0.5]))
    with pytest.raises(NotAnswerable, match="no recalibrated model"):
        changes({}, {})
    with pytest.raises(InputError, match="coverage is 2"):
        changes({"t": p}, {"t": p}, coverage=2)


def test_both_are_judged_on_the_rows_that_the_second_answers():
    p = drawn(400, 3, (2.0,), 1)[0]
    gone = p.with_probs(p.probs, abstained=p.confidence < np.median(p.confidence))
    table = changes({"t": p}, {"t": gone}).set_index("measure")
    assert table.loc["surest_right", "change"] == 0
    assert table.loc["reversed", "after"] == 0
    assert table.loc["auroc", "before"] == table.loc["auroc", "after"]
