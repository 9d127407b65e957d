"""The primary test for any error: its level at ten rows, its power, and rows with certain scores."""

import numpy as np
import pytest

from calib_core import Predictions, estimate
from calib_core.inference import kuiper, shown_at_all, spiegelhalter
from calib_core.inference.significance import calibration_tests
from calib_core.predictions.predictions import NotAnswerable


def network_like(n, k, rng, scale=2.7):
    z = rng.standard_normal((n, k))
    z[np.arange(n), rng.integers(k, size=n)] += scale * rng.gamma(3, 1, n)
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def drawn(p, rng):
    return np.minimum((rng.random(len(p))[:, None] > np.cumsum(p, 1)).sum(1), p.shape[1] - 1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("k", "n", "runs"), [(2, 10, 500), (10, 10, 500), (100, 30, 300), (10, 100, 200)])
def test_calibrated_models_are_rejected_at_the_level_at_most(k, n, runs, monkeypatch):
    monkeypatch.setattr(calibration_tests, "_RESAMPLES", (199, 199))
    rng, whole, claims = np.random.default_rng(k + n), 0, 0
    for seed in range(runs):
        p = network_like(n, k, rng)
        made = Predictions(p, drawn(p, rng))
        whole += shown_at_all(made, seed).p_value <= 0.05
        claims += shown_at_all(Predictions.from_confidence(made.confidence, made.correct), seed).p_value <= 0.05
    limit = 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
    assert whole / runs <= limit
    assert claims / runs <= limit


def test_few_near_certain_rows_are_where_the_normal_law_fails():
    """Scores .99, ten rows: a miss occurs in a tenth of calibrated samples, and the normal test calls it an error."""
    rng, drawn_law, normal = np.random.default_rng(0), 0, 0
    for seed in range(400):
        right = rng.random(10) < 0.99
        p = Predictions.from_confidence(np.full(10, 0.99), right)
        drawn_law += shown_at_all(p, seed).p_value <= 0.05
        normal += spiegelhalter(Predictions(np.tile([0.99, 0.01], (10, 1)), (~right).astype(int))).p_value <= 0.05
    assert drawn_law / 400 <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5
    assert normal / 400 > 0.08


def test_large_samples_have_the_normal_p_of_spiegelhalters_z():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(3), 2000)
    made = Predictions(p, drawn(p, rng))
    assert shown_at_all(made).statistic == pytest.approx(spiegelhalter(made).statistic)
    assert shown_at_all(made).p_value == pytest.approx(spiegelhalter(made).p_value)
    half = made.take(np.arange(300))
    assert calibration_tests.NORMAL > 0.05
    assert shown_at_all(half).p_value == pytest.approx(spiegelhalter(half).p_value, abs=0.04)


def test_a_thousand_classes_over_confident_are_shown_where_top_label_bins_alone_have_no_power():
    rng = np.random.default_rng(2)
    p = network_like(1500, 1000, rng, 1.3)
    over = p**2.2
    made = Predictions(over / over.sum(1, keepdims=True), drawn(p, rng))
    assert estimate(made).value > 0.25
    assert shown_at_all(made).p_value < 1e-3
    top = estimate(made, "top-label")
    assert top.noise_floor.p_value > shown_at_all(made).p_value
    assert top.p_value < 1e-3
    assert top.interval().p_of == "mean gap"


def test_a_mild_over_confidence_is_shown_more_often_than_by_a_confidence_ece():
    rng, ours, ece = np.random.default_rng(3), 0, 0
    for _ in range(25):
        p = network_like(300, 10, rng, 1.3)
        over = p**1.25
        made = Predictions(over / over.sum(1, keepdims=True), drawn(p, rng))
        ours += shown_at_all(made).p_value <= 0.05
        ece += estimate(made).noise_floor.p_value <= 0.05
    assert ours > ece + 3


@pytest.mark.parametrize("kind", ["full", "confidence", "top-label", "per-class"])
def test_certain_rows_that_are_all_right_leave_nothing_to_test_and_one_wrong_is_impossible(kind):
    for wrong, p_value in ((0, 1.0), (1, 0.0)):
        probs, labels = np.eye(3)[np.arange(30) % 3], np.arange(30) % 3
        labels[:wrong] = 1
        made = Predictions(probs, labels)
        made = {
            "full": made,
            "confidence": Predictions.from_confidence(made.confidence, made.correct),
            "top-label": Predictions.from_confidence(made.confidence, predicted=made.predicted, labels=labels),
            "per-class": Predictions.from_scores(probs, labels),
        }[kind]
        assert shown_at_all(made).p_value == p_value


def test_an_impossible_outcome_among_uncertain_rows_is_certain_too():
    rng = np.random.default_rng(4)
    p = np.vstack([rng.dirichlet(np.ones(3), 50), [[1.0, 0.0, 0.0]]])
    labels = np.append(drawn(p[:50], rng), 2)
    assert shown_at_all(Predictions(p, labels)).p_value == 0
    assert np.isfinite(shown_at_all(Predictions(p, labels)).statistic)
    assert shown_at_all(Predictions(p, labels, weights=np.append(np.ones(50), 0))).p_value > 0


def test_uniform_rows_and_coin_flips_show_nothing():
    assert shown_at_all(Predictions(np.full((9, 3), 1 / 3), np.arange(9) % 2)).p_value == 1
    assert shown_at_all(Predictions.from_confidence(np.full(9, 0.5), np.ones(9, bool))).p_value == 1


def test_claims_are_judged_the_same_from_every_kind_that_holds_only_them():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(4), 60)
    made = Predictions(p, drawn(p, rng))
    bare = shown_at_all(Predictions.from_confidence(made.confidence, made.correct))
    labelled = Predictions.from_confidence(made.confidence, predicted=made.predicted, labels=made.labels)
    assert shown_at_all(labelled) == bare
    assert shown_at_all(Predictions.from_scores(p, made.labels)) == bare
    assert shown_at_all(made) != bare


def test_copies_are_rows_and_the_order_of_rows_plays_no_part():
    rng = np.random.default_rng(6)
    p = rng.dirichlet(np.ones(4), 20)
    labels, w = drawn(p, rng), rng.integers(0, 4, 20)
    at = np.repeat(np.arange(20), w)
    copied, weighed = shown_at_all(Predictions(p[at], labels[at])), shown_at_all(Predictions(p, labels, weights=w))
    assert weighed.p_value == copied.p_value
    assert weighed.statistic == pytest.approx(copied.statistic)
    turned = rng.permutation(20)
    assert shown_at_all(Predictions(p[turned], labels[turned])).p_value == shown_at_all(Predictions(p, labels)).p_value
    v = rng.random(20)
    uneven, z = shown_at_all(Predictions(p, labels, weights=v)), 0.0
    for i in range(20):
        z += v[i] * (np.square(p[i] - np.eye(4)[labels[i]]).sum() - 1 + (p[i] ** 2).sum())
    spread = [v[i] ** 2 * (4 * (p[i] @ p[i] ** 2) - 4 * (p[i] @ p[i]) ** 2) for i in range(20)]
    assert uneven.statistic == pytest.approx(z / sum(spread) ** 0.5)


def test_rows_the_model_declines_make_no_claim():
    rng = np.random.default_rng(7)
    p = rng.dirichlet(np.ones(3), 40)
    labels, silent = drawn(p, rng), np.arange(40) < 10
    made = Predictions(p, labels, abstained=silent)
    assert shown_at_all(made).p_value == shown_at_all(Predictions(p[10:], labels[10:])).p_value
    with pytest.raises(NotAnswerable, match="abstains on every row"):
        shown_at_all(Predictions(p, labels, abstained=np.ones(40, bool)))
    with pytest.raises(NotAnswerable):
        spiegelhalter(Predictions.from_confidence([0.5], [True]))
    assert kuiper(made).p_value >= 0


def test_a_simulated_p_value_is_known_to_half_a_percent_and_named_so():
    """If the normal approximation is nearly close enough, p hardly depends on the seed and is near the normal one."""
    rng = np.random.default_rng(3)
    risk = rng.beta(0.3, 3, 700)
    test = None
    for seed in range(200):
        outcomes = np.random.default_rng([3, seed]).random(700) < risk
        made = Predictions(np.column_stack([1 - risk, risk]), outcomes.astype(int))
        test = shown_at_all(made)
        if 0.08 < test.p_value < 0.12:
            break
    assert test.law.endswith("simulated samples")
    found = np.array([shown_at_all(made, seed).p_value for seed in range(1, 25)])
    assert found.std() < 0.0055  # 0.0067 with 2,000 draws
    assert found.mean() == pytest.approx(spiegelhalter(made).p_value, abs=0.02)
    assert spiegelhalter(made).law == "normal approximation"
