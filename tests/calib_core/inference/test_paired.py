"""Differences of errors on the same rows: by hand, against a slow twin, and how often their intervals hold."""

import numpy as np
import pytest
from generated import ordinary_rows
from paired_truths import held, held_class_wise

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions, RegistryError, compare, estimate
from calib_core.inference import bootstrap, draws, paired_difference
from calib_core.inference.paired import LADDER


def pair(n=200, k=3, weights=None, scale=0.6):
    """A model and a less confident one on the same rows."""
    probs, labels = ordinary_rows(n, k)
    milder = probs**scale / (probs**scale).sum(1, keepdims=True)
    return Predictions(probs, labels, weights=weights), Predictions(milder, labels, weights=weights)


@pytest.mark.parametrize("score", ["log-loss", "brier", "accuracy"])
def test_scores_are_compared_row_by_row(score):
    a, b = pair()
    made = paired_difference(a, b, None, score, level=0.9)
    terms = cc.ESTIMATORS.make(score).losses(a) - cc.ESTIMATORS.make(score).losses(b)
    assert (made.first, made.second) == (
        pytest.approx(estimate(a, None, score).value),
        pytest.approx(estimate(b, None, score).value),
    )
    assert made.value == pytest.approx(terms.mean())
    half = terms.std(ddof=1) / np.sqrt(200) * 1.6525467  # t with 199 degrees of freedom at 0.95
    assert (made.low, made.high) == (pytest.approx(terms.mean() - half), pytest.approx(terms.mean() + half))


def test_the_t_interval_agrees_with_the_bootstrap():
    a, b = pair(n=800)
    made = paired_difference(a, b, None, "log-loss")
    terms = cc.ESTIMATORS.make("log-loss").losses(a) - cc.ESTIMATORS.make("log-loss").losses(b)
    rng = np.random.default_rng(0)
    drawn = np.quantile(terms[rng.integers(800, size=(4000, 800))].mean(1), [0.05, 0.95])
    width = made.high - made.low
    assert (made.low, made.high) == (
        pytest.approx(drawn[0], abs=0.05 * width),
        pytest.approx(drawn[1], abs=0.05 * width),
    )


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "top-k-label"])
@pytest.mark.parametrize("weights", [None, np.arange(120) % 3])
def test_counted_resamples_are_those_of_the_rows(notion, weights):
    a, b = pair(120, 4, weights)
    made = paired_difference(a, b, notion, "debiased-l2", 5, resamples=30)
    rows = [p.written_out() for p in (a, b)]
    ask = [cc.ESTIMATORS.make("debiased-l2", binning=cc.binning.EqualWidth(5))] * 2
    split = cc.REDUCTIONS.make(notion).split
    drawn = []
    for count, rng in draws.streams(30, 0):
        for at in rng.integers(rows[0].n_rows, size=(count, rows[0].n_rows)):
            drawn.append(np.subtract(*(e(split(p.take(at))).value for e, p in zip(ask, rows, strict=True))))
    plug_in = np.subtract(*(estimate(p, notion, "rmsce", 5).value ** 2 for p in rows))
    errors = np.array(drawn) - plug_in
    assert made.low == pytest.approx(made.value - np.quantile(errors, 0.95), abs=1e-12)
    assert made.high == pytest.approx(made.value - np.quantile(errors, 0.05), abs=1e-12)
    rarer = min((errors >= made.value).sum(), (errors <= made.value).sum())
    assert made.p_value == pytest.approx(min(1, 2 * (1 + rarer) / 31))


def test_other_binned_errors_lie_between_the_models_own_intervals():
    a, b = pair()
    made = paired_difference(a, b, "confidence", "ece", 10, level=0.9)
    one, other = (estimate(p, "confidence", "ece", 10).interval(0.95) for p in (a, b))
    assert (made.low, made.high) == (one.low - other.high, one.high - other.low)
    assert made.p_value in (*LADDER, 1.0)
    parted = [alpha for alpha in LADDER if _parted(a, b, 1 - alpha / 2)]
    assert made.p_value == min(parted, default=1.0)


def _parted(a, b, level):
    one, other = (estimate(p, "confidence", "ece", 10).interval(level) for p in (a, b))
    return one.low > other.high or other.low > one.high


def test_estimators_of_rows_get_an_untested_guide():
    a, b = pair(80)
    made = paired_difference(a, b, "confidence", "max-deviation", resamples=40)
    assert not made.tested
    assert made.low < made.value < made.high
    assert "a rough guide" in made.sentence


def test_whole_vectors_are_compared_on_cells_of_the_simplex():
    a, b = pair(120)
    squared = paired_difference(a, b, "canonical", "debiased-l2", "sierpinski", resamples=40)
    assert squared.value == pytest.approx(
        estimate(a, "canonical", "debiased-l2", "sierpinski").value
        - estimate(b, "canonical", "debiased-l2", "sierpinski").value
    )
    assert not squared.tested


@pytest.mark.parametrize("notion", [None, "confidence", "class-wise"])
def test_a_model_does_not_differ_from_itself(notion):
    a, _ = pair()
    for key in ("brier",) if notion is None else ("debiased-l2", "ece"):
        made = paired_difference(a, a, notion, key, resamples=50)
        assert made.value == 0
        assert made.low <= 0 <= made.high
        assert made.p_value == 1


def test_the_other_way_round_is_the_negative():
    a, b = pair()
    one, other = paired_difference(a, b, resamples=200), paired_difference(b, a, resamples=200)
    assert (one.value, one.low, one.high) == pytest.approx((-other.value, -other.high, -other.low))
    assert one.p_value == other.p_value


def test_pairing_pays_where_models_resemble_each_other():
    a, b = pair(1000, scale=0.97)
    made = paired_difference(a, b, "confidence", "debiased-l2", 10)
    apart = [
        bootstrap(estimate(p, "confidence", "debiased-l2", 10).question, random_state=i) for i, p in enumerate((a, b))
    ]
    low, high = np.quantile(apart[0] - apart[1], [0.05, 0.95])
    assert made.high - made.low < 0.5 * (high - low)


# How often the truth is inside: 90 % less 3.5 standard errors of a share of so many runs.
@pytest.mark.parametrize(
    ("first", "second", "estimator", "groups", "runs"),
    [
        ("calibrated", "over-confident", "debiased-l2", 1, 150),
        ("calibrated", "rounded", "debiased-l2", 1, 150),
        ("over-confident", "a little over-confident", "debiased-l2", 10, 150),
        ("calibrated", "over-confident", "ece", 1, 40),
    ],
)
def test_intervals_hold_the_true_difference(first, second, estimator, groups, runs):
    inside, _ = held(first, second, estimator, n=1200, groups=groups, runs=runs, resamples=100, seed=5)
    assert inside >= 0.9 - 3.5 * np.sqrt(0.09 / runs)


def test_class_wise_intervals_hold_the_true_difference():
    inside = held_class_wise(1.5, n=600, classes=4, runs=100, resamples=100, seed=4)
    assert inside >= 0.9 - 3.5 * np.sqrt(0.09 / 100)


def test_equal_errors_are_rarely_told_apart():
    # Both errors are 0 but for the rounding to a twelfth: at most 5 % and 3.5 standard errors of rejections.
    _, rejected = held("calibrated", "rounded", "debiased-l2", n=400, groups=1, runs=150, resamples=100, seed=2)
    assert rejected <= 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 150)


def test_every_pair_is_compared_and_corrected():
    a, b = pair(300)
    c = a.with_probs(np.full((300, 3), 1 / 3))
    table = compare({"sharp": a, "mild": b, "flat": c}, None, "log-loss")
    assert table[["first", "second"]].to_numpy().tolist() == [["sharp", "mild"], ["sharp", "flat"], ["mild", "flat"]]
    assert table["p_holm"].tolist() == cc.inference.holm(table["p"]).tolist()
    assert (table["difference"] == table["first_value"] - table["second_value"]).all()
    one = paired_difference(a, b, None, "log-loss")
    assert table.loc[0, ["low", "high", "p"]].tolist() == [one.low, one.high, one.p_value]


def test_other_rows_are_refused_in_a_sentence():
    a, b = pair(10)
    other = b.relabelled(np.where(np.arange(10) == 4, (b.labels + 1) % 3, b.labels))
    with pytest.raises(InputError, match=r"row 4 has the label '\d' in one file and '\d' in the other"):
        paired_difference(a, other)
    with pytest.raises(InputError, match="one file has 10 rows and the other 9"):
        paired_difference(a, b.take(np.arange(9)))
    heavy = Predictions(b.probs, b.labels, weights=np.where(np.arange(10) == 7, 2, 1))
    with pytest.raises(InputError, match="row 7 has the weight 1 in one model and 2 in the other"):
        paired_difference(a, heavy)
    silent = b.with_probs(b.probs, abstained=np.arange(10) == 3)
    with pytest.raises(NotAnswerable, match="row 3 is answered by one model and not by the other"):
        paired_difference(a, silent)


def test_questions_that_make_no_sense():
    a, b = pair(10)
    with pytest.raises(RegistryError, match="this estimator needs a notion"):
        paired_difference(a, b, None, "ece")
    with pytest.raises(RegistryError, match="level is 1"):
        paired_difference(a, b, level=1)
    with pytest.raises(InputError, match="one model alone"):
        compare({"one": a})


def test_abstaining_rows_count_for_neither():
    a, b = pair(60)
    declined = np.arange(60) % 5 == 0
    said = [p.with_probs(p.probs, abstained=declined) for p in (a, b)]
    left = [p.take(np.flatnonzero(~declined)) for p in (a, b)]
    for notion, key in (("confidence", "debiased-l2"), (None, "accuracy")):
        assert paired_difference(*said, notion, key, resamples=40) == paired_difference(
            *left, notion, key, resamples=40
        )
