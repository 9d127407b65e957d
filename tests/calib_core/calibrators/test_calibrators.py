"""Single calibrators against slow obvious twins, closed forms and numerical derivatives."""

from itertools import combinations, pairwise
from math import ceil

import numpy as np
import pytest
from generated import full_predictions
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone

from calib_core import BINARY_CALIBRATORS, CALIBRATORS, InputError, Logits, NotAnswerable, Predictions
from calib_core.calibrators import (
    BinaryIdentity,
    Composed,
    Histogram,
    Identity,
    Isotonic,
    Reduced,
    Temperature,
    load_calibrator,
)
from calib_core.calibrators.temperature import _Loss
from calib_core.reductions import Canonical, ClassSpecific, ClassWise, Confidence, TopKConfidence, TopLabel
from calib_core.registry.registry import RegistryError

# ---- histogram binning -------------------------------------------------------------------------------------


def histogram_by_hand(scores, outcomes, bins):
    """Return Gupta & Ramdas 2021, Alg. 2 (without randomization), for distinct scores."""
    pairs = sorted(zip(scores.tolist(), outcomes.tolist(), strict=True))
    n = len(pairs)
    bins = max(1, min(bins, (n + 1) // 2))
    ranks = [0] + [ceil(b * (n + 1) / bins) for b in range(1, bins)] + [n + 1]
    thresholds = [pairs[r - 1][0] for r in ranks[1:-1]]
    values = []
    for low, high in pairwise(ranks):
        between = [z for _, z in pairs[low : high - 1]]
        values.append(sum(between) / len(between))
    return thresholds, values


@given(n=st.integers(1, 80), bins=st.integers(1, 50), seed=st.integers(0, 999))
def test_histogram_is_the_published_algorithm(n, bins, seed):
    rng = np.random.default_rng(seed)
    scores, outcomes = rng.permutation(n) / n, rng.random(n) < 0.5
    thresholds, values = histogram_by_hand(scores, outcomes, bins)
    made = Histogram(bins=bins, delta=0).fit(scores, outcomes)
    assert made.thresholds_.tolist() == thresholds
    np.testing.assert_allclose(made.values_, values, atol=1e-12)
    for s in [*thresholds, 0.0, 1.0, 0.41]:
        assert made.transform([s])[0] == pytest.approx(values[sum(s >= t for t in thresholds)], abs=1e-12)


def drawn_of_each(levels, counts, placing, seed):
    """Return how many rows of each level place the edges: the histogram's own draw, which uses counts only."""
    rng = np.random.default_rng((seed, 1))
    return dict(zip(levels, rng.multivariate_hypergeometric(counts, placing).tolist(), strict=True))


@given(n=st.integers(2, 60), bins=st.integers(1, 30), levels=st.integers(1, 6), seed=st.integers(0, 999))
def test_histogram_with_ties_is_the_mean_over_the_rows_that_do_not_place_edges(n, bins, levels, seed):
    """The twin averages, per bin, the rows left of each score, each weighted by the share of true rows of its score."""
    rng = np.random.default_rng(seed)
    scores, outcomes = rng.integers(0, levels, n) / 7, rng.random(n) < 0.5
    made = Histogram(bins=bins, delta=0, random_state=seed).fit(scores, outcomes)
    assert len(made.values_) == len(made.thresholds_) + 1 == len(made.counts_) == len(made.averaged_)
    assert made.counts_.sum() == n
    assert (made.counts_ > 0).all(), "a bin without rows is no bin"
    if not made.placing_:
        return
    assert made.placing_ == made.counts_.sum() - made.averaged_.sum() == min(n // 4, 20 * min(bins, levels, n // 2))
    values, counts = np.unique(scores, return_counts=True)
    drawn = drawn_of_each(values, counts, made.placing_, seed)
    for b, value in enumerate(made.values_):
        mine = [v for v in values if sum(v >= t for t in made.thresholds_) == b]
        true = sum((outcomes[scores == v]).mean() * ((scores == v).sum() - drawn[v]) for v in mine)
        rows = sum((scores == v).sum() - drawn[v] for v in mine)
        assert made.averaged_[b] == rows
        want = true / rows if rows else outcomes[np.isin(scores, mine)].mean()
        assert value == pytest.approx(want, abs=1e-12)


def test_a_value_among_ties_is_the_mean_over_all_ways_of_drawing_the_rows_that_place_edges():
    """All subsets are enumerated: 3 of 7 rows at .4 place edges, 5 of 7 are true."""
    hits = [1, 0, 1, 1, 1, 0, 1]
    ways = [np.mean([hits[i] for i in left]) for left in combinations(range(7), 4)]
    assert np.mean(ways) == pytest.approx(np.mean(hits))
    scores = np.repeat([0.4, 0.8], [7, 9])
    made = Histogram(bins=2, delta=0).fit(scores, np.array(hits + [1] * 9))
    np.testing.assert_allclose(made.values_, [5 / 7, 1.0], atol=1e-15)
    assert made.thresholds_.tolist() == [0.8]


@pytest.mark.parametrize("decimals", [1, 2])
def test_with_ties_neither_the_order_of_rows_nor_outcomes_move_an_edge(decimals):
    rng = np.random.default_rng(5)
    scores, outcomes = np.round(rng.random(300), decimals), rng.random(300) < 0.4
    made = Histogram(points_per_bin=30).fit(scores, outcomes)
    assert made.placing_ == 75
    order = rng.permutation(300)
    again = Histogram(points_per_bin=30).fit(scores[order], outcomes[order])
    np.testing.assert_array_equal(again.values_, made.values_)
    other = Histogram(points_per_bin=30).fit(scores, ~outcomes)
    np.testing.assert_array_equal(other.thresholds_, made.thresholds_)
    seeds = {Histogram(points_per_bin=30, random_state=r).fit(scores, outcomes).thresholds_.tobytes() for r in range(9)}
    assert len(seeds) > 1, "the seed draws the rows that place edges"
    assert not (made.transform(scores)[:, None] != made.transform(scores)[None, :])[
        scores[:, None] == scores[None, :]
    ].any(), "equal scores stay together"


def test_scores_without_ties_keep_every_row():
    made = Histogram(points_per_bin=30).fit(np.arange(300) / 300, np.arange(300) % 2)
    assert made.placing_ == 0
    assert made.averaged_.sum() == 300 - 9


@pytest.mark.parametrize("key", ["histogram", "lece-histogram"])
def test_bins_are_bounded_by_rows_whatever_the_weights(key):
    """300 rows of weight 1e8 once requested 6e8 bins: 80 s and 4 GB."""
    rng = np.random.default_rng(0)
    scores, outcomes = rng.random(300), rng.random(300) < 0.5
    params = {} if key == "histogram" else {"binning": "points-per-bin"}
    make = BINARY_CALIBRATORS.make
    plain = make(key, **params).fit(scores, outcomes).transform(scores)
    for weight in (1e8, 1 / 300, 1e70, 0.5):
        weighed = make(key, **params).fit(scores, outcomes, sample_weight=np.full(300, weight))
        np.testing.assert_allclose(weighed.transform(scores), plain, atol=1e-12)
    uneven = make(key, **params).fit(scores, outcomes, sample_weight=1e8 * (1 + np.arange(300) % 2))
    assert len(set(uneven.transform(scores).tolist())) <= 300


def test_weights_that_sum_to_one_leave_strata_as_large_as_they_are():
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), 600)
    labels = rng.integers(3, size=600)
    for scale in (1 / 600, 1.0, 1e9):
        cal = CALIBRATORS.make("top-label-hb").fit(probs, labels, sample_weight=np.full(600, scale))
        assert (cal.pooled_, cal.left_alone_) == ((), ())
        assert cal.guarantee().holds
    # A row that outweighs all others of its stratum makes it one row and a little: (1 + .2)^2 / 1.0002 = 1.4.
    heavy = CALIBRATORS.make("top-label-hb").fit(probs, labels, sample_weight=np.r_[1.0, np.full(599, 1e-3)])
    assert heavy.left_alone_ == (str(probs[0].argmax()),)


@pytest.mark.parametrize("bins", [2, 3, 5, 20])
def test_histogram_of_equal_scores_is_one_bin(bins):
    made = Histogram(bins=bins, delta=0).fit([0.5] * 40, [0, 1, 1, 1] * 10)
    assert made.thresholds_.tolist() == []
    assert made.values_.tolist() == [0.75]


def test_histogram_bins_follow_the_number_of_points():
    scores, outcomes = np.arange(200) / 200, np.arange(200) % 2
    for points, bins in ((50, 4), (60, 3), (200, 1), (300, 1), (2, 100)):
        assert len(Histogram(points_per_bin=points).fit(scores, outcomes).values_) == bins
    assert len(Histogram(points_per_bin=50, bins=7).fit(scores, outcomes).values_) == 7


def test_histogram_values_never_coincide_and_are_seeded():
    scores, outcomes = np.arange(200) / 200, np.tile([0, 1], 100)
    one, same, other = (Histogram(points_per_bin=20, random_state=r).fit(scores, outcomes) for r in (0, 0, 1))
    assert len(set(one.values_)) == len(one.values_)
    np.testing.assert_array_equal(one.values_, same.values_)
    assert (one.values_ != other.values_).any()
    assert np.abs(one.values_ - Histogram(points_per_bin=20, delta=0).fit(scores, outcomes).values_).max() < 1e-9


def test_small_bins_after_unequal_weights_are_dropped_not_undefined():
    made = Histogram(bins=5, delta=0).fit([0.2, 0.6], [0, 1], sample_weight=[10, 10])
    assert made.values_.tolist() == [0, 1]
    made = Histogram(bins=5, delta=0).fit([0.2, 0.6], [0, 1], sample_weight=[0.1, 0.1])
    assert made.values_.tolist() == [0.5], "two rows have no threshold between them to spare"
    made = Histogram(bins=3, delta=0).fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1], sample_weight=[0.3, 2, 0.3, 5])
    assert np.isfinite(made.values_).all()


# ---- temperature -------------------------------------------------------------------------------------------


def mean_loss(predictions, b):
    """Return the mean log loss of softmax(b log p), straight from the definition."""
    logs = b * np.log(np.maximum(predictions.probs.astype(float), 2.0**-52))
    top = logs.max(1, keepdims=True)
    total = np.log(np.exp(logs - top).sum(1)) + top[:, 0]
    losses = total - logs[np.arange(len(logs)), predictions.labels]
    return np.average(losses, weights=predictions.weights)


@given(predictions=full_predictions(dtypes=(np.float64,)), b=st.floats(0.2, 5))
def test_temperature_derivatives_are_those_of_the_loss(predictions, b):
    loss, h = _Loss.of(predictions), 1e-5
    slope, curvature = loss(b)
    up, here, down = (mean_loss(predictions, b + d) for d in (h, 0, -h))
    assert slope == pytest.approx((up - down) / (2 * h), abs=2e-8 * (1 + here) + 1e-6 * abs(slope))
    ahead, behind = loss(b + h)[0], loss(b - h)[0]
    assert curvature == pytest.approx((ahead - behind) / (2 * h), rel=1e-5, abs=1e-7)
    assert curvature >= 0


@given(predictions=full_predictions(min_rows=10))
def test_temperature_is_where_the_loss_is_least(predictions):
    cal = Temperature().fit_on(predictions)
    assume(cal.status_ in ("converged", "at bound"))
    best = mean_loss(predictions, 1 / cal.temperature_)
    slack = 1e-12 if predictions.probs.dtype == np.float64 else 1e-5
    for factor in (0.5, 0.9, 0.999, 1.001, 1.1, 2):
        if 1e-3 <= factor / cal.temperature_ <= 1e3:
            assert best <= mean_loss(predictions, factor / cal.temperature_) + slack * (1 + best)


@given(predictions=full_predictions(min_rows=5, weighted=False))
def test_float32_rows_have_the_temperature_of_float64_rows(predictions):
    wide = Predictions(predictions.probs.astype(np.float64), predictions.labels)
    narrow = Predictions(predictions.probs.astype(np.float32), predictions.labels)
    one, two = (Temperature().fit_on(p) for p in (wide, narrow))
    # float32 rounding of nearly equal probabilities moves the few rows that decide: only a well-determined T compares.
    if one.status_ == two.status_ == "converged" and 0.1 < one.temperature_ < 10:
        slope = abs(_Loss.of(wide)(1 / two.temperature_)[0])
        assert slope < 1e-4 * (1 + mean_loss(wide, 1 / two.temperature_))


RIGHT, WRONG = [[0.9, 0.1], [0.2, 0.8]] * 5, [[0.1, 0.9], [0.8, 0.2]] * 5


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("probs", "labels", "status", "temperature"),
    [
        (RIGHT, [0, 1] * 5, "no finite optimum", 1),
        (WRONG, [0, 1] * 5, "at bound", 1000),
        (np.eye(2)[[0, 1] * 5], [0, 1] * 5, "no finite optimum", 1),
        (np.eye(2)[[0, 1] * 5], [1, 0] * 5, "at bound", 1000),
        (RIGHT[:9], [0, 1, 0, 1, 0, 1, 0, 1, 1], "too few rows", 1),
        ([[0.9, 0.1]], [0], "too few rows", 1),
        (np.full((12, 2), 0.5), [0, 1, 1, 1] * 3, "not identified", 1),
        (np.full((12, 3), 1 / 3), [0, 1, 2] * 4, "not identified", 1),
        ([[0.5, 0.5, 0.0]] * 10, [0, 1] * 5, "no finite optimum", 1),
        ([[0.8, 0.2]] * 10, [0, 0, 0, 0, 1] * 2, "converged", 1),
    ],
)
def test_temperature_says_when_it_is_a_bound_or_arbitrary(probs, labels, status, temperature, dtype):
    cal = Temperature().fit(np.asarray(probs, dtype=dtype), labels)
    assert cal.status_ == status
    assert cal.temperature_ == pytest.approx(temperature, rel=1e-6)
    out = cal.predict_proba(np.asarray(probs, dtype=dtype))
    assert np.isfinite(out).all()
    assert (cal.note == "") == (status == "converged")
    assert ("T stays at 1" in cal.note) == (status != "converged" and temperature == 1)


def test_rows_of_weight_zero_do_not_make_separable_rows_inseparable():
    probs, labels = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]] * 5, [0, 1, 1] * 5
    assert Temperature().fit(probs, labels, sample_weight=[1, 1, 0] * 5).status_ == "no finite optimum"
    assert Temperature().fit(probs, labels, sample_weight=[1, 1, 1] * 5).status_ == "converged"


@pytest.mark.parametrize("weights", [None, [0.001] * 9, [1.0] + [1e-3] * 99, [0.0] * 90 + [1.0] * 9])
def test_too_few_rows_leave_every_temperature_at_one_and_say_so(weights):
    n = 9 if weights is None else len(weights)
    rng = np.random.default_rng(3)
    p = Predictions(rng.dirichlet(np.ones(3), n), rng.integers(3, size=n), weights=weights)
    for key in ("temperature", "ensemble-temperature", "ts+identity"):
        cal = CALIBRATORS.make(key).fit_on(p)
        note = cal.note
        assert "fewer than 10 calibration rows" in note
        np.testing.assert_allclose(cal.apply(p).probs, p.probs, atol=1e-12)
    if weights is not None and weights[0] == 1.0:
        return  # the wrapper already leaves a stratum of 1.2 effective rows unchanged
    cal = CALIBRATORS.make("confidence", binary="temperature").fit_on(p)
    assert cal.note.endswith(note)
    np.testing.assert_allclose(cal.apply(p).confidence, p.confidence, atol=1e-12)


def test_whole_weights_are_rows_of_a_temperature():
    probs, labels = [[0.8, 0.2], [0.8, 0.2]], [0, 1]
    assert Temperature().fit(probs, labels, sample_weight=[7, 3]).status_ == "converged"
    assert Temperature().fit(probs, labels, sample_weight=[7, 2]).status_ == "too few rows"


def test_all_right_rows_however_many_are_not_made_certain():
    """1,000 right answers at .97: a T of 0.001 would make every later row certain."""
    p = np.tile([[0.97, 0.03], [0.03, 0.97]], (500, 1))
    cal = Temperature().fit(p, [0, 1] * 500)
    assert cal.predict_proba([[0.6, 0.4]]).tolist() == [[0.6, 0.4]]
    ensemble = CALIBRATORS.make("ensemble-temperature").fit(p, [0, 1] * 500)
    np.testing.assert_allclose(ensemble.predict_proba([[0.6, 0.4]]), [[0.6, 0.4]], atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_temperature_counts_the_rows_whose_loss_the_floor_decides(dtype):
    probs = np.array([[1, 0], [0, 1], [0.6, 0.4], [0.5, 0.5]], dtype=dtype)
    assert Temperature().fit(probs, [1, 1, 0, 0]).floored_ == 1


def test_temperature_of_logits_is_that_of_their_softmax():
    rng = np.random.default_rng(0)
    z = 4 * rng.standard_normal((200, 5))
    y = (rng.random(200)[:, None] > np.cumsum(Logits(z / 2).probs(), 1)[:, :-1]).sum(1)
    by_logits = Temperature().fit(Logits(z), y)
    by_probs = Temperature().fit(Logits(z).probs(), y)
    assert by_logits.temperature_ == pytest.approx(by_probs.temperature_, rel=1e-12)
    expected = Logits(z / by_logits.temperature_).probs()
    np.testing.assert_allclose(by_logits.predict_proba(Logits(z)), expected, rtol=1e-9)


def test_temperature_finds_the_temperature_that_made_the_rows():
    rng = np.random.default_rng(1)
    z = rng.standard_normal((40_000, 4))
    y = (rng.random(40_000)[:, None] > np.cumsum(Logits(z).probs(), 1)[:, :-1]).sum(1)
    cal = Temperature().fit(Logits(2.5 * z), y)
    assert cal.temperature_ == pytest.approx(2.5, rel=0.03)


# ---- reductions lifted -------------------------------------------------------------------------------------


def test_top_label_maps_each_predicted_class_by_its_own_rows():
    probs = np.repeat([[0.8, 0.2], [0.3, 0.7]], 4, axis=0)
    labels = [0, 0, 1, 1, 1, 1, 1, 0]
    cal = Reduced(TopLabel(), Histogram(bins=1, delta=0)).fit(probs, labels)
    assert cal.predict_proba([[0.9, 0.1], [0.1, 0.9]]).tolist() == [0.5, 0.75]
    assert cal.predict([[0.9, 0.1], [0.1, 0.9]]).tolist() == [0, 1]


def small_strata():
    """Return class a predicted 6 times (4 right), b twice (1 right), c three times (none right), d never."""
    probs = np.full((11, 4), 0.1)
    probs[np.arange(11), [0] * 6 + [1] * 2 + [2] * 3] = 0.7
    return Predictions(probs, [0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0], class_names=["a", "b", "c", "d"])


def test_small_strata_are_pooled_and_named():
    cal = Reduced(TopLabel(), Histogram(points_per_bin=4, delta=0)).fit_on(small_strata())
    assert cal.pooled_ == ("b", "c", "d")
    assert cal.left_alone_ == ()
    (remark,), (short,) = cal.remarks(), cal.remarks(2)
    assert remark.endswith(": b, c, d.")
    assert short.endswith(": b, c and 1 more.")
    new = np.full((4, 4), 0.1)
    np.fill_diagonal(new, 0.7)
    # a: 4 of 6 right. b, c and d together: 1 of 5.
    np.testing.assert_allclose(cal.predict_proba(new), [4 / 6, 0.2, 0.2, 0.2])


def test_small_strata_are_left_alone_when_asked_and_named():
    cal = Reduced(TopLabel(), Histogram(points_per_bin=4, delta=0), small="leave").fit_on(small_strata())
    assert cal.pooled_ == ()
    assert cal.left_alone_ == ("b", "c", "d")
    (remark,) = cal.remarks()
    assert remark.endswith(": b, c, d.")
    new = np.full((4, 4), 0.1)
    np.fill_diagonal(new, 0.7)
    np.testing.assert_allclose(cal.predict_proba(new), [4 / 6, 0.7, 0.7, 0.7])


@pytest.mark.parametrize("key", ["confidence-hb", "top-label-hb", "class-wise-hb", "isotonic-ovr", "top-k-label"])
def test_one_calibration_row_leaves_scores_alone_and_says_so(key):
    cal = CALIBRATORS.make(key).fit([[0.7, 0.3]], [0])
    assert cal.left_alone_
    out = cal.predict_proba([[0.6, 0.4]])
    np.testing.assert_allclose(np.ravel(out), [0.6] if np.size(out) == 1 else [0.6, 0.4], atol=1e-12)


def test_class_wise_maps_every_column_and_normalises_only_when_told():
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(3), 60), rng.integers(3, size=60)
    raw = Reduced(ClassWise(), Isotonic()).fit(probs, labels)
    columns = [Isotonic().fit(probs[:, j], labels == j).transform(probs[:, j]) for j in range(3)]
    np.testing.assert_array_equal(raw.predict_proba(probs), np.column_stack(columns))
    divided = Reduced(ClassWise(), Isotonic(), normalise=True).fit(probs, labels).predict_proba(probs)
    np.testing.assert_allclose(divided, np.column_stack(columns) / np.column_stack(columns).sum(1, keepdims=True))
    assert raw.apply(Predictions(probs, labels)).kind == "per-class"


def test_one_class_alone_is_recalibrated_and_its_output_is_not_passed_off_as_confidence():
    rng = np.random.default_rng(7)
    p = Predictions(rng.dirichlet(np.ones(3), 80), rng.integers(3, size=80), class_names=["a", "b", "c"])
    made = Reduced(ClassSpecific(1), Isotonic()).fit_on(p).apply(p)
    assert made.kind == "per-class"
    np.testing.assert_array_equal(made.probs[:, [0, 2]], p.probs[:, [0, 2]])
    alone = Isotonic().fit(p.probs[:, 1], p.true_labels == 1).transform(p.probs[:, 1])
    np.testing.assert_array_equal(made.probs[:, 1], alone)
    divided = Reduced(ClassSpecific(1), Isotonic(), normalise=True).fit_on(p).apply(p)
    assert divided.kind == "full"
    np.testing.assert_allclose(divided.probs, made.probs / made.probs.sum(1, keepdims=True))
    with pytest.raises(NotAnswerable):
        Reduced(ClassSpecific(0), Isotonic()).fit_on(Predictions.from_confidence([0.5, 0.7], [True, False]))


# ---- points per bin of each class -----------------------------------------------------------------------------


def test_every_class_has_the_points_per_bin_it_is_given():
    """P1 Alg. 9: B_l = floor(n / k_l) of all n rows."""
    rng = np.random.default_rng(8)
    probs, labels = rng.dirichlet(np.ones(3), 300), rng.integers(3, size=300)
    cal = CALIBRATORS.make("class-wise-hb", class_points=(30, 75, 150)).fit(probs, labels)
    assert [len(m.values_) for m in cal.maps_] == [10, 4, 2]
    for j, k in enumerate((30, 75, 150)):
        np.testing.assert_array_equal(
            cal.predict_proba(probs)[:, j],
            Histogram(points_per_bin=k).fit(probs[:, j], labels == j).transform(probs[:, j]),
        )
    same = CALIBRATORS.make("class-wise-hb", class_points=(50, 50, 50)).fit(probs, labels)
    np.testing.assert_array_equal(
        same.predict_proba(probs), CALIBRATORS.make("class-wise-hb").fit(probs, labels).predict_proba(probs)
    )
    # Theorem 2: the promise is that of the smallest k_l, here 30 with 10 bins and alpha / 3.
    want = np.sqrt(np.log(2 * 10 / (0.1 / 3)) / (2 * 29)) + 1e-10
    assert cal.guarantee(0.1)["conditional"].eps == pytest.approx(want, abs=1e-12)
    assert clone(cal).class_points == (30, 75, 150)
    again = load_calibrator(cal.to_json())
    np.testing.assert_array_equal(again.predict_proba(probs), cal.predict_proba(probs))


def test_classes_with_fewer_rows_than_their_own_points_are_pooled_with_the_largest_number():
    cal = Reduced(TopLabel(), Histogram(delta=0), class_points=(3, 4, 3, 9)).fit_on(small_strata())
    assert cal.pooled_ == ("b", "d"), "c has its three rows"


def test_points_of_classes_that_do_not_fit_are_refused_in_a_sentence():
    probs, labels = [[0.7, 0.3]] * 4, [0, 1, 0, 0]
    with pytest.raises(InputError) as why:
        CALIBRATORS.make("class-wise-hb", class_points=(2, 2, 2)).fit(probs, labels)
    assert [word for word in str(why.value).replace(",", "").split() if word.isdigit()] == ["3", "2"]
    with pytest.raises(InputError) as why:
        Reduced(ClassWise(), Isotonic(), class_points=(2, 2)).fit(probs, labels)
    assert "class_points" in str(why.value)
    with pytest.raises(RegistryError, match="a tuple of whole numbers, each at least 2"):
        CALIBRATORS.make("class-wise-hb", class_points=(1.5, 2))


def test_a_row_of_zeros_is_normalised_to_uniform():
    probs = np.vstack([np.tile([0.6, 0.3, 0.1], (5, 1)), np.tile([0.1, 0.3, 0.6], (5, 1))])
    cal = CALIBRATORS.make("isotonic-ovr").fit(probs, [0] * 5 + [2] * 5)
    # A score of 0.1 is never right for classes 0 and 2, 0.3 never for class 1: nothing is left.
    np.testing.assert_allclose(cal.predict_proba([[0.1, 0.3, 0.1 + 0.5], [0.05, 0.9, 0.05]])[1], 1 / 3)


def test_ranks_are_recalibrated_without_changing_their_order_of_classes():
    rng = np.random.default_rng(1)
    p = Predictions(rng.dirichlet(np.ones(4), 50), rng.integers(4, size=50))
    made = Reduced(TopKConfidence(2), Histogram(bins=2)).fit_on(p).apply(p)
    np.testing.assert_array_equal(made.top(2)[0], p.top(2)[0])
    assert made.n_ranked == 2


def test_a_notion_without_binary_claims_cannot_be_lifted():
    with pytest.raises(NotAnswerable, match="binary claims"):
        Reduced(Canonical(), BinaryIdentity()).fit([[0.7, 0.3]] * 3, [0, 1, 0])


def test_identity_and_composition_do_nothing_when_their_parts_do_nothing():
    p = Predictions([[0.7, 0.3], [0.2, 0.8]], [0, 1])
    assert Identity().fit_on(p).apply(p) is p
    assert Composed(Identity(), Identity()).fit_on(p).apply(p) is p
    made = Reduced(Confidence(), BinaryIdentity()).fit_on(p).apply(p)
    np.testing.assert_array_equal(made.confidence, p.confidence)


def test_labels_metadata_names_and_weights_come_along():
    import pandas as pd

    p = Predictions(
        np.tile([[0.7, 0.3], [0.2, 0.8]], (4, 1)),
        ["cat", "dog"] * 4,
        class_names=["cat", "dog"],
        weights=np.arange(8.0),
        metadata=pd.DataFrame({"id": np.arange(8)}),
    )
    for key in CALIBRATORS:
        made = CALIBRATORS.make(key).fit_on(p).apply(p)
        assert made.class_names == ("cat", "dog"), key
        np.testing.assert_array_equal(made.weights, p.weights)
        assert made.metadata["id"].tolist() == list(range(8))
        np.testing.assert_array_equal(made.labels, p.labels)


def test_fit_says_what_is_wrong_with_its_rows():
    for make, expected in (
        (lambda c: c.fit([[0.5, 0.6]], [0]), "probs row 0 sums to 1.1"),
        (lambda c: c.fit([[0.5, 0.5]], [2]), "labels row 0 is 2; labels must be in 0..1"),
        (lambda c: c.fit([[0.5, 0.5]], [0, 1]), "2 labels for 1 rows of predictions"),
    ):
        for key in CALIBRATORS:
            with pytest.raises(InputError) as why:
                make(CALIBRATORS.make(key))
            assert str(why.value).startswith(expected)


def test_score_is_minus_the_squared_error_of_the_top_claim():
    cal = Identity().fit([[0.7, 0.3]], [0])
    assert cal.score([[0.7, 0.3], [0.4, 0.6]], [0, 0]) == pytest.approx(-(0.3**2 + 0.6**2) / 2)
