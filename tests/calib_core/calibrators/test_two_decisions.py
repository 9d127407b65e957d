"""Decision calibration: its gap against all half-spaces by enumeration, and the effect of its rounds."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import softmax

from calib_core import CALIBRATORS, NotAnswerable, Predictions
from calib_core.calibrators import DecisionCalibration
from calib_core.calibrators.two_decisions import STILL_LARGE, Cloud, on_simplex, worst
from calib_core.exporting import python_source


def mixed(n, k=3, seed=0, scale=0.4):
    """Return overconfident rows that confuse classes."""
    rng = np.random.default_rng(seed)
    z = 2 * rng.standard_normal((n, k))
    mixing = np.eye(k) + scale * np.random.default_rng(99).standard_normal((k, k))
    labels = (z @ mixing / 1.5 + rng.gumbel(size=z.shape)).argmax(1)
    return Predictions(softmax(z, axis=1), labels)


def errors(p):
    return (np.eye(p.probs.shape[1])[p.labels] - p.probs) / p.n_rows


def gap_of(inside, residuals):
    return np.sqrt((residuals[inside].sum(0) ** 2).sum() + (residuals[~inside].sum(0) ** 2).sum())


def parted_by_a_plane(probs, inside):
    """Return True if some w and c have w . p > c for exactly these rows (a linear program)."""
    sign = np.where(inside, -1.0, 1.0)
    table = np.column_stack([sign[:, None] * probs, -sign])
    free = [(None, None)] * table.shape[1]
    return linprog(np.zeros(table.shape[1]), table, np.full(len(probs), -1e-6), bounds=free).status == 0


def largest_gap(p):
    """Return the largest gap over all subsets that a plane cuts off."""
    residuals, n = errors(p), p.n_rows
    subsets = [np.isin(np.arange(n), some) for size in range(n // 2 + 1) for some in combinations(range(n), size)]
    by_gap = sorted(subsets, key=lambda inside: -gap_of(inside, residuals))
    return next(gap_of(inside, residuals) for inside in by_gap if parted_by_a_plane(p.probs, inside))


def found_in(p):
    return worst(Cloud.of(p.probs, p.labels, np.ones(p.n_rows)))


@pytest.mark.parametrize("seed", range(6))
def test_the_gap_found_is_one_a_plane_has_and_nearly_the_largest(seed):
    p = mixed(11, seed=seed)
    cut, largest = found_in(p), largest_gap(p)
    assert cut.gap == pytest.approx(gap_of(cut.holds(p.probs), errors(p)), abs=1e-12)
    assert 0.85 * largest <= cut.gap <= largest + 1e-12


def test_of_two_classes_the_gap_found_is_the_largest():
    for seed in range(20):
        p = mixed(40, k=2, seed=seed)
        gaps = [gap_of(p.probs[:, 1] > c, errors(p)) for c in [-1.0, *p.probs[:, 1]]]
        assert found_in(p).gap == pytest.approx(max(gaps), abs=1e-12)


def many_planes(k, seed=5):
    rng = np.random.default_rng(seed)
    return [(w / np.linalg.norm(w), c) for w in rng.standard_normal((400, k)) for c in (-0.3, 0.0, 0.2, 0.5)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", ["decision", "ts+decision"])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_its_gap_falls_on_the_rows_it_is_fitted_on_by_planes_it_never_looked_at_too(key, k):
    p = mixed(1500, k)
    cal = CALIBRATORS.make(key).fit_on(p)
    last = cal if key == "decision" else cal.then_
    after = cal.apply(p)
    assert last.gaps_[-1] <= last.floor_ or len(last.shifts_) == last.rounds
    assert last.gaps_[-1] == last.gaps_.min() == pytest.approx(found_in(after).gap, rel=0.05)
    before_and_after = [max(gap_of(q.probs @ w > c, errors(q)) for w, c in many_planes(k)) for q in (p, after)]
    assert before_and_after[1] < 0.6 * before_and_after[0]
    assert before_and_after[1] < 1.3 * last.floor_


def test_no_round_raises_the_brier_score_of_the_rows_it_is_fitted_on():
    p = mixed(800, k=4)
    brier = []
    for rounds in range(1, 8):
        q = DecisionCalibration(rounds=rounds, tolerance=0.0).fit_on(p).apply(p)
        brier.append((errors(q) ** 2).sum())
    assert (errors(p) ** 2).sum() > brier[0]
    assert (np.diff(brier) <= 1e-15).all()


def test_it_helps_on_new_rows_too():
    fit, test = mixed(4000), mixed(4000, seed=1)
    brier = {
        key: (errors(CALIBRATORS.make(key).fit_on(fit).apply(test)) ** 2).sum() * test.n_rows
        for key in ("identity", "temperature", "ts+decision")
    }
    assert brier["ts+decision"] < brier["temperature"] - 0.005 < brier["identity"]


def test_calibrated_rows_are_left_nearly_as_they_are_by_a_floor_of_chance():
    rng = np.random.default_rng(3)
    rounds = []
    for _ in range(10):
        p = rng.dirichlet(np.ones(4), 500)
        labels = (rng.random(500)[:, None] > p.cumsum(1)[:, :-1]).sum(1)
        rounds.append(len(DecisionCalibration().fit(p, labels).shifts_))
    assert np.mean(rounds) < 1.5, "without a floor all fifty would be made"


def test_the_floor_is_what_drawn_labels_show():
    """The noise is drawn from a normal distribution; labels drawn one by one show the same gap."""
    p = mixed(2000, k=3)
    rng = np.random.default_rng(0)
    labels = [(rng.random(2000)[:, None] > p.probs.cumsum(1)[:, :-1]).sum(1) for _ in range(12)]
    drawn = [found_in(Predictions(p.probs, each)).gap for each in labels]
    cloud, rng = Cloud.of(p.probs, p.labels, np.ones(2000)), np.random.default_rng(1)
    by_chance = [worst(cloud.by_chance(2000, rng)).gap for _ in range(12)]
    assert np.mean(by_chance) == pytest.approx(np.mean(drawn), rel=0.12)


def test_too_few_rounds_are_said():
    p = mixed(1500)
    assert DecisionCalibration(rounds=1).fit_on(p).note == STILL_LARGE
    cal = DecisionCalibration().fit_on(p)
    assert cal.note == ""
    assert cal.insides().short == f"{len(cal.shifts_)} rounds"
    assert [number.value for number in cal.insides().numbers()] == cal.gaps_.tolist()


def test_certain_rows_take_the_rounds_they_need_and_no_more():
    labels = np.r_[[0] * 8, [1] * 2, [1] * 6, [2] * 4, [2] * 10]
    cal = DecisionCalibration().fit(np.eye(3)[np.repeat([0, 1, 2], 10)], labels)
    assert len(cal.shifts_) <= 4
    assert cal.gaps_[-1] <= max(cal.floor_, 1e-9)


def test_there_is_no_export_and_it_says_so():
    with pytest.raises(NotAnswerable, match=r"Decision calibration has no export as Python or ONNX; save it as JSON"):
        python_source(DecisionCalibration().fit_on(mixed(200)))


def test_the_nearest_point_of_the_simplex():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(4), 200) + (shift := rng.standard_normal((200, 4))) - shift.mean(1, keepdims=True)
    made = on_simplex(rows.copy())
    np.testing.assert_allclose(made.sum(1), 1)
    others = rng.dirichlet(np.ones(4), 500)
    near = ((rows - made) ** 2).sum(1)
    assert (near[:, None] <= ((rows[:, None] - others) ** 2).sum(2) + 1e-12).all()
    # Optimal: what is taken off is the same wherever something is left, and no less elsewhere.
    off = rows - made
    top = np.where(made > 0, off, -np.inf).max(1)
    np.testing.assert_allclose(np.where(made > 0, off, top[:, None]), top[:, None].repeat(4, 1), atol=1e-12)


def test_too_many_rows_times_classes_are_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr("calib_core.calibrators.two_decisions.MOST_PROBABILITIES", 300)
    with pytest.raises(NotAnswerable, match=r"101 rows of 3 classes are too many .* on at most 100 of the rows"):
        DecisionCalibration().fit_on(mixed(101))
    DecisionCalibration(rounds=1).fit_on(mixed(100))
