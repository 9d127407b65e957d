"""Many estimates sharpened at once equal those sharpened one by one."""

from dataclasses import replace

import numpy as np
import pytest
from generated import ordinary_rows

from calib_core import ESTIMATORS, NotAnswerable, Predictions, estimate
from calib_core.binning import EqualWidth, tabulate
from calib_core.estimators import Binned, DebiasedECE, DebiasedL2
from calib_core.inference import bootstrap, on_scale_of, sharpen
from calib_core.inference.intervals.joint_intervals import shares_draws
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.redrawn_errors import of_counts
from calib_core.reductions import as_reduction

BINNED = ("ece", "rmsce", "mce", "debiased-l2", "debiased-ece")


def sample(weights=None):
    return Predictions(*ordinary_rows(150, 4), weights=weights)


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "top-k-confidence"])
@pytest.mark.parametrize("weights", [None, np.arange(150) % 3 + 1.0])
def test_the_same_bits_as_alone(notion, weights):
    predictions = sample(weights)
    together = [estimate(predictions, notion, key, 10) for key in BINNED]
    sharpen(together)
    for key, made in zip(BINNED, together, strict=True):
        alone = estimate(predictions, notion, key, 10)
        assert made.interval() == alone.interval()
        assert made.noise_floor.draws.tolist() == alone.noise_floor.draws.tolist()
        assert made.noise_floor.observed == alone.noise_floor.observed


@pytest.mark.parametrize("weights", [None, np.arange(150) % 3 + 1.0, np.arange(150) / 70])
def test_scores_share_the_labels_that_are_drawn(weights, monkeypatch):
    predictions = sample(weights)
    drawn = []
    classes = outcome_draws.classes
    monkeypatch.setattr(outcome_draws, "classes", lambda *given: drawn.append(given) or classes(*given))
    together = [estimate(predictions, None, key) for key in ("brier", "accuracy", "log-loss")]
    sharpen(together)
    once = len(drawn)
    for made in together:
        alone = estimate(predictions.take(np.arange(150)), None, made.question.estimator)
        assert made.noise_floor.draws.tolist() == alone.noise_floor.draws.tolist()
        assert made.noise_floor.observed == alone.noise_floor.observed
        assert made.interval() == alone.interval()
    assert len(drawn) - once == 3 * once


def test_estimators_that_cannot_share_wider_bins_are_judged_in_their_own():
    probs, labels = ordinary_rows(60, 3)
    p = Predictions(probs, labels)
    keys = ("ece", "mce", "mce-of-bins")
    together = [estimate(p, "confidence", key) for key in keys]
    sharpen(together)
    for key, made in zip(keys, together, strict=True):
        assert made.interval() == estimate(p, "confidence", key).interval(), key
    assert ["groups" in made.interval().about or "group " in made.interval().about for made in together] == [
        True,
        True,
        False,
    ]


def test_mixed_questions_are_told_apart_and_all_answered():
    predictions, other = sample(), sample().take(np.arange(100))
    asked = [
        estimate(predictions, "confidence", "ece", 10),
        estimate(predictions, "confidence", "ece", 20),
        estimate(predictions, "top-label", "ece", 10),
        estimate(other, "confidence", "ece", 10),
        estimate(predictions, None, "log-loss"),
        estimate(predictions, "confidence", "max-deviation"),
    ]
    told = []
    sharpen(asked, done=told.append)
    assert all(one.knows("interval") and one.knows("floor") for one in asked)
    assert told[-1] == 100
    assert told == sorted(told)
    for one in asked[:4]:
        alone = estimate(one.question.predictions, one.question.reduction, one.question.estimator)
        assert one.interval() == alone.interval()
        assert one.noise_floor.draws.tolist() == alone.noise_floor.draws.tolist()
    assert [shares_draws(one) for one in asked] == [True] * 4 + [False] * 2


def test_what_has_no_floor_is_left_to_say_so():
    raw = Predictions.from_scores([[0.9, 0.4]] * 20, [0, 1] * 10)
    made = estimate(raw, "class-wise", "ece")
    sharpen([made])
    assert made.knows("interval")
    assert not made.knows("floor")


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise"])
@pytest.mark.parametrize(
    "estimator",
    [Binned(EqualWidth(7), p) for p in (1, 2, "max")]
    + [DebiasedL2(EqualWidth(7)), DebiasedL2(EqualWidth(7), root=True), DebiasedECE(EqualWidth(7))],
    ids=lambda e: ESTIMATORS.recipe(e).title,
)
def test_outcomes_at_once_are_outcomes_one_by_one(notion, estimator):
    claims = as_reduction(notion).split(sample())
    counted = of_counts(estimator, claims)
    table = tabulate(claims, [EqualWidth(7)])[0]
    drawn = np.random.default_rng(0).binomial(table.count.astype(int), 0.6, size=(5, *table.count.shape)).astype(float)
    old = counted.table.tally
    slow = [counted.value(replace(counted.table, tally=replace(old, outcome=outcomes))) for outcomes in drawn]
    assert counted.values(drawn) == pytest.approx(slow, abs=1e-12)


@pytest.mark.parametrize("score", ["log-loss", "brier", "accuracy"])
@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 2.0, 150)])
def test_means_of_rows_are_resampled_as_the_rows_are(score, weights):
    predictions = sample(weights)
    if score == "accuracy":
        predictions = predictions.with_probs(predictions.probs, abstained=np.arange(150) % 4 == 0)
    asked = estimate(predictions, None, score).question
    rows = predictions.answered  # a row without an answer has no score and is not drawn
    slow = [
        asked.answer(rows.take(rng.integers(rows.n_rows, size=rows.n_rows))).value
        for count, rng in outcome_draws.streams(30, 5)
        for _ in range(count)
    ]
    assert bootstrap(asked, 30, 5) == pytest.approx(np.array(slow), rel=1e-12)


def test_what_is_called_squared_is_held_against_a_squared_tolerance():
    predictions = sample()
    for key in ESTIMATORS:
        if "claims" not in ESTIMATORS[key].flags.takes:
            continue
        made = estimate(predictions, "confidence", key)
        assert on_scale_of(made, 0.3) == pytest.approx(0.09 if "squared" in ESTIMATORS[key].title else 0.3), key


def test_a_score_has_no_verdict():
    with pytest.raises(
        NotAnswerable, match=r"^Accuracy is a score, not a calibration error.* tolerance does not apply"
    ):
        estimate(sample(), "confidence", "accuracy").verdict(0.02)


def test_a_squared_error_is_within_the_squared_tolerance():
    predictions = sample()
    root, square = (
        estimate(predictions, "confidence", ESTIMATORS.make("debiased-l2", binning=EqualWidth(5), root=root))
        for root in (True, False)
    )
    assert on_scale_of(root, 0.3) == 0.3
    assert on_scale_of(square, 0.3) == pytest.approx(0.09)
    for eps in (0.9 * root.interval().high, 1.1 * root.interval().high):
        assert square.verdict(eps).word == root.verdict(eps).word
    assert square.verdict(0.9).high == pytest.approx(root.verdict(0.9).high), "said on the scale of the tolerance"
