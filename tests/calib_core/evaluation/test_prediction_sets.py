"""Sets of classes: equal to their slow definition, right as often as guaranteed, sizes within their intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions
from calib_core.evaluation.prediction_sets import METHODS, _threshold, class_sets, set_sentence, set_sizes


def drawn(n, k, sharp, seed=0, **extras):
    """Return rows of models that are ``sharp`` times overconfident, all for the same labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k)) * 2
    y = (z + rng.gumbel(size=(n, k))).argmax(axis=1)
    return [Predictions(Predictions.from_logits(s * z, y).probs, y, **extras) for s in sharp]


def conformity(method, row, j):
    return row[j] if method == "lac" else sum(sorted(p for p in row if p < row[j])) if row[j] else -1.0


def slowly(p, method, share, half):
    """Return sizes and hits of the sets, a row and a class at a time."""
    sizes, hits = [], []
    for i, row in enumerate(p.probs.tolist()):
        others = [
            conformity(method, p.probs[o].tolist(), p.true_labels[o]) for o in range(p.n_rows) if half[o] != half[i]
        ]
        k = int((len(others) + 1) * (1 - share) + 1e-9)
        threshold = sorted(others)[k - 1] if k else -2.0
        inside = [j for j in range(len(row)) if conformity(method, row, j) >= threshold]
        sizes.append(len(inside))
        hits.append(p.true_labels[i] in inside)
    return sizes, hits


@pytest.mark.parametrize("method", METHODS)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 4), min_size=3, max_size=3), st.integers(0, 2)), min_size=4, max_size=24
    ),
    st.sampled_from([0.5, 0.75, 0.9]),
)
def test_sets_are_their_definition(method, rows, share):
    # Eighths, so that sums are exact and ties many.
    tops = np.array([[a, b, max(8 - a - b, 0) + c] for (a, b, c), _ in rows], float)
    p = Predictions(tops / tops.sum(axis=1, keepdims=True), [y for _, y in rows])
    half = np.empty(p.n_rows, dtype=int)
    half[np.lexsort((np.random.default_rng(0).random(p.n_rows),))] = np.arange(p.n_rows) % 2
    sets = class_sets(p, method, share, random_state=0)
    sizes, hits = slowly(p, method, share, half)
    assert sets.sizes.tolist() == sizes
    assert sets.hits.tolist() == hits


def test_single_sets_have_one_class_and_empty_ones_none():
    p = Predictions([[0.9, 0.1]] * 20 + [[0.1, 0.9]] * 20 + [[0.55, 0.45]] * 10, [0] * 20 + [1] * 20 + [0] * 10)
    for line in set_sizes({"net": p}, 0.5).itertuples():
        sizes = class_sets(p, line.method, 0.5).sizes
        assert (line.single, line.empty) == (np.mean(sizes == 1), np.mean(sizes == 0))
        assert 0 < line.empty < 1 or line.method != "lac"


def test_the_threshold_is_the_kth_smallest_of_n_plus_one():
    own = np.arange(19.0)
    assert [_threshold(own, share) for share in (0.9, 0.95, 0.5)] == [1.0, 0.0, 9.0]
    assert _threshold(own, 0.96) == -np.inf  # one of twenty is more than 4 %: all classes


def test_probabilities_of_one_name_one_class():
    p = Predictions([[1.0, 0.0, 0.0]] * 40, [0] * 40)
    table = set_sizes({"sure": p}, 0.8).set_index("method")
    assert table["size"].tolist() == [1.0, 1.0]
    assert table["coverage"].tolist() == [1.0, 1.0]
    assert table.loc["lac", "coverage_low"] == pytest.approx(0.05 ** (1 / 40))


def test_sets_are_right_as_often_as_promised_and_not_without_the_row_itself():
    # Twenty rows in all, ten in a half: k = 2 of 11 misses 2 in 11 at most; 2 of 10 would miss 20 % of the time.
    share, attained, twin = 0.8, [], []
    for seed in range(1500):
        p = drawn(20, 4, [2.0], seed)[0]
        attained.append(class_sets(p, "lac", share, seed).hits.mean())
        own = np.take_along_axis(p.probs, p.true_labels[:, None], axis=1)[:, 0]
        # Without the row itself and the cautious rounding: the 20 % point of ten.
        twin.append((own[10:] >= np.sort(own[:10])[2]).mean())
    margin = 3 * np.std(attained) / np.sqrt(1500)
    assert np.mean(attained) >= share - margin
    assert np.mean(attained) == pytest.approx(9 / 11, abs=margin)
    assert np.mean(twin) < share - margin


def test_a_difference_of_sizes_lies_in_its_interval_and_not_in_that_of_fixed_thresholds():
    big = [class_sets(p).size.value for p in drawn(60_000, 10, (2.5, 1.0), 99)]
    true, runs, ours, naive = big[1] - big[0], 150, 0, 0
    for seed in range(runs):
        before, after = (class_sets(p, random_state=seed) for p in drawn(400, 10, (2.5, 1.0), seed))
        low, high = (after.size - before.size).ends(0.9)
        ours += low <= true <= high
        apart = after.sizes - before.sizes
        naive += abs(apart.mean() - true) <= 1.65 * apart.std() / 20
    assert ours / runs >= 0.9 - 3 * np.sqrt(0.09 / runs)
    assert naive / runs < 0.6


@pytest.mark.wide
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize("k", [3, 10])
def test_sizes_lie_in_their_intervals(method, n, k):
    big = [class_sets(p, method).size.value for p in drawn(120_000, k, (2.5, 1.0), 99)]
    inside = np.zeros(3)
    for seed in range(400):
        before, after = (class_sets(p, method, random_state=seed).size for p in drawn(n, k, (2.5, 1.0), seed))
        for i, (found, true) in enumerate(((before, big[0]), (after, big[1]), (after - before, big[1] - big[0]))):
            low, high = found.ends(0.9)
            inside[i] += low <= true <= high
    assert (inside / 400 >= 0.84).all(), inside / 400


def test_copies_groups_and_rows_left_unanswered():
    p = drawn(60, 3, [1.0])[0]
    whole = set_sizes({"a": p.replace(weights=np.full(60, 2))})
    assert whole["rows"].tolist() == [120, 120]
    with pytest.raises(NotAnswerable, match="equal weight"):
        class_sets(p.replace(weights=np.linspace(0.5, 1.5, 60)))
    groups = np.repeat(np.arange(6), 10)
    sets = class_sets(p.replace(groups=groups))
    assert sets.few.startswith("the rows belong to 6 groups") or "group" in sets.few
    with pytest.raises(NotAnswerable, match="at least two rows"):
        class_sets(p.take(np.array([0])))
    gone = np.arange(60) < 20
    half = p.with_probs(p.probs, abstained=gone)
    assert set_sizes({"a": half})["rows"].tolist() == [40, 40]


def test_what_has_no_sets_says_why():
    bare = Predictions.from_confidence([0.9] * 10, [True] * 10)
    line = set_sizes({"bare": bare}).iloc[0]
    assert "a probability of every class" in line["note"]
    assert np.isnan(line["size"])
    p = drawn(100, 3, [1.0])[0]
    assert set_sizes({"few": p})["note"].str.contains("fewer than 300 rows").all()
    assert set_sizes({"few": p})["size_low"].isna().all()
    for wrong in ({"share": 1.0}, {"share": 0.0}, {"method": "raps"}):
        with pytest.raises(InputError):
            class_sets(p, **wrong)
    with pytest.raises(NotAnswerable):
        cc.evaluation.prediction_sets.set_sizes({})


def test_few_rows_name_all_classes():
    p = drawn(10, 100, [1.0])[0]
    assert class_sets(p).sizes.tolist() == [100] * 10


def test_a_sentence_tells_sizes_apart():
    assert set_sentence(2.0, 2.0).endswith("have 2.0 classes on average, as before.")
    assert set_sentence(2.01, 2.04).endswith("have 2.01 classes on average, 2.04 before.")
    assert set_sentence(1.0).endswith("have 1.0 classes on average.")
    assert set_sentence(0.93).endswith("have 0.9 classes on average (some sets are empty).")
