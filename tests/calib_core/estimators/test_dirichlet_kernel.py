"""The canonical error by Dirichlet kernels: its formula with SciPy's density, copies, its floor and its interval."""

import numpy as np
import pytest
from scipy.stats import dirichlet

from calib_core import NotAnswerable, Predictions, estimate
from calib_core.estimators import DirichletKernelError
from calib_core.estimators.dirichlet_kernel import MOST_PRODUCTS, Smoother
from calib_core.reductions import Canonical
from calib_core.smoothing.simplex_kernel import BANDWIDTHS_TRIED


def sample(n=25, k=3, seed=0, power=1.0):
    """Return rows whose labels follow p^power, divided by its sum: calibrated for 1."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.6), n)
    q = p**power / (p**power).sum(1, keepdims=True)
    return Predictions(p, (rng.random(n)[:, None] > q.cumsum(1)[:, :-1]).sum(1))


def densities(p, h):
    """Return k(p_j; p_i), (n, n), with a zero diagonal."""
    k = np.array([dirichlet.pdf((p / p.sum(1, keepdims=True)).T, centre / h + 1) for centre in p]).T
    np.fill_diagonal(k, 0)
    return k


def slow(p, labels, h):
    k = densities(p, h)
    ratio = k @ np.eye(p.shape[1])[labels] / k.sum(1, keepdims=True)
    return np.abs(ratio - p).sum(1).mean()


@pytest.mark.parametrize("h", [0.02, 0.1, 0.5])
def test_it_is_the_published_formula(h):
    p = sample()
    found = estimate(p, "canonical", DirichletKernelError(h)).value
    assert found == pytest.approx(slow(p.probs, p.labels, h), abs=1e-10)


def test_the_bandwidth_is_the_likeliest_of_the_rows_each_by_the_others():
    alike = np.random.default_rng(4).dirichlet([40, 15, 5], 25)
    p = Predictions(alike, np.arange(25) % 3)
    likely = [np.log(densities(p.probs, h).sum(1)).mean() for h in BANDWIDTHS_TRIED]
    chosen = DirichletKernelError().smoother(Canonical().split(p)).bandwidth
    assert chosen == BANDWIDTHS_TRIED[int(np.argmax(likely))]
    assert 0 < BANDWIDTHS_TRIED.index(chosen) < len(BANDWIDTHS_TRIED) - 1


def test_blocks_and_the_order_of_rows_decide_nothing(monkeypatch):
    p = sample(60)
    whole = estimate(p, "canonical", "canonical-kde").value
    order = np.random.default_rng(1).permutation(60)
    shuffled = estimate(p.take(order), "canonical", "canonical-kde").value
    assert shuffled == pytest.approx(whole, abs=1e-12)
    monkeypatch.setattr("calib_core.estimators.dirichlet_kernel._BLOCK_ENTRIES", 400)
    assert estimate(p, "canonical", "canonical-kde").value == pytest.approx(whole, abs=1e-12)


def test_a_whole_weight_is_that_many_copies():
    p = sample(30)
    weights = np.random.default_rng(2).integers(0, 4, 30).astype(float)
    weighed = Predictions(p.probs, p.labels, weights=weights)
    index = np.repeat(np.arange(30), weights.astype(int))
    written = Predictions(p.probs[index], p.labels[index])
    first, second = (estimate(q, "canonical", "canonical-kde") for q in (weighed, written))
    assert first.value == pytest.approx(second.value, abs=1e-10)
    assert first.interval() == second.interval()
    assert first.p_value == second.p_value


def test_the_floor_is_that_of_labels_drawn_one_by_one():
    p = sample(80)
    floor = estimate(p, "canonical", "canonical-kde").noise_floor
    rng = np.random.default_rng(3)
    labels = [(rng.random(80)[:, None] > p.probs.cumsum(1)[:, :-1]).sum(1) for _ in range(150)]
    h = DirichletKernelError().smoother(Canonical().split(p)).bandwidth
    drawn = [estimate(Predictions(p.probs, each), "canonical", DirichletKernelError(h)).value for each in labels]
    assert floor.mean == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(150))
    assert floor.high == pytest.approx(np.quantile(drawn, 0.95), abs=0.02)


def test_beside_another_estimator_the_floor_is_the_same():
    p = sample(60)
    together = estimate(p, "canonical", "canonical-kde"), estimate(p, "canonical", "skce")
    from calib_core.inference.noise.noise_floor import noise_floors

    both = noise_floors([each.question for each in together], 20)
    alone = noise_floors([together[0].question], 20)[0]
    np.testing.assert_array_equal(both[0].draws, alone.draws)


def errors_of(smoother, residuals):
    """Return the smoothed error for each row of the shares, without blocks."""
    shares = np.vstack([block for _, block in smoother.blocks()])
    return smoother.mass @ np.abs(shares @ residuals).sum(1)


def coverage(power, factor=1.0, runs=25, n=60):
    """Return the coverage of the smoothed error by intervals scaled by ``factor`` around their point."""
    inside = 0
    for seed in range(runs):
        p = sample(n, seed=seed, power=power)
        truth = p.probs**power / (p.probs**power).sum(1, keepdims=True)
        vectors = Canonical().split(p)
        target = errors_of(DirichletKernelError().smoother(vectors), truth - p.probs)
        got = estimate(p, "canonical", "canonical-kde").interval()
        low, high = (got.point + factor * (end - got.point) for end in (got.low, got.high))
        inside += low - 1e-12 <= target <= high
    return inside / runs


@pytest.mark.parametrize("power", [0.4, pytest.param(1.0, marks=pytest.mark.wide)])
def test_intervals_cover_the_smoothed_error(power):
    """Nominal .90; 25 runs have a standard error of .06. The intervals are wide: a norm's ends are bounds."""
    assert coverage(power) >= 0.8


@pytest.mark.wide
@pytest.mark.parametrize("power", [0.4, 1.0, 2.5])
def test_intervals_of_more_rows_cover_too_and_a_falsified_twin_does_not(power):
    assert coverage(power, runs=100, n=200) >= 0.86
    assert coverage(power, factor=0.2, runs=100, n=200) < 0.7


def test_no_outcome_against_the_odds_is_no_proof_that_there_could_be_none():
    """If 40 rows all came true, 3 / 40 could have failed with probability 1 in 20; each moves the error by 2 / 40."""
    p = Predictions([[0.99, 0.01]] * 40, [0] * 40)
    got = estimate(p, "canonical", "canonical-kde").interval()
    assert got.point == pytest.approx(0.02, abs=1e-9)
    assert got.high > 2 * 2.9 / 40


def test_a_calibrated_model_is_not_called_miscalibrated_and_a_wrong_one_is():
    words = [estimate(sample(80, seed=s), "canonical", "canonical-kde").interval().low > 0 for s in range(15)]
    assert np.mean(words) <= 0.2
    wrong = estimate(sample(300, power=0.2), "canonical", "canonical-kde")
    assert wrong.interval().low > 0.02
    assert wrong.p_value < 0.01
    assert not wrong.interval().tested
    assert "the smoothed error" in wrong.interval().sentence


def test_what_cannot_be_answered_says_why():
    many = int(np.sqrt(MOST_PRODUCTS / 2)) + 1
    p = Predictions(np.full((many, 2), 0.5), np.zeros(many, int))
    with pytest.raises(NotAnswerable, match=r"rows of 2 classes are too many to compare each with every other"):
        estimate(p, "canonical", "canonical-kde")
    with pytest.raises(NotAnswerable, match="a single row has no other row"):
        estimate(Predictions([[0.4, 0.6]], [1]), "canonical", "canonical-kde")


def test_certain_rows_are_finite():
    p = Predictions(np.eye(3)[np.arange(30) % 3], np.r_[np.arange(27) % 3, 0, 0, 0])
    made = estimate(p, "canonical", "canonical-kde")
    assert 0 < made.value < 1
    assert made.interval().low <= made.interval().high <= 2
    assert isinstance(DirichletKernelError().smoother(Canonical().split(p)), Smoother)


def test_a_row_alone_is_judged_by_the_others_however_far_they_are():
    rows = Predictions([[0.9, 0.1], [0.89, 0.11], [0.1, 0.9]], [0, 0, 1])
    value = estimate(rows, "canonical", DirichletKernelError(0.001)).value
    # The first two have each other's label, 0; the third has theirs: 2 (0.1 + 0.11 + 0.9) / 3.
    assert value == pytest.approx(0.74)
    lone = Predictions([[1.0, 0.0, 0.0]] * 100 + [[0.0, 1.0, 0.0]], [0] * 100 + [1])
    assert estimate(lone, "canonical", "canonical-kde").value == pytest.approx(2 / 101)
