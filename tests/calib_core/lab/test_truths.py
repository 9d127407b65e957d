"""Known distributions and their true errors: against integrals, the definition by hand, and many drawn labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta, multivariate_normal

import calib_core as cc
from calib_core import NotAnswerable, RegistryError, lab
from calib_core.lab.true_errors import _of_drawn, error_of
from calib_core.lab.truths import SPREADS, Modes

KEYS = list(lab.TRUTHS)
CURVES = [lab.SigmoidCurve(), lab.SigmoidCurve(0.5, -1.0), lab.Drawn(), lab.Drawn((0.9, 0.2, 0.6), "high")]


def density(truth):
    return beta(*SPREADS[truth.spread]).pdf if isinstance(truth, lab.Drawn) else lambda z: 1.0


@pytest.mark.parametrize("truth", CURVES, ids=str)
@pytest.mark.parametrize(("key", "power"), [("ece", 1), ("debiased-l2", 2)])
def test_the_true_error_of_a_curve_is_an_integral(truth, key, power):
    f, corners = density(truth), np.linspace(0, 1, 11)[1:-1]
    integral = quad(lambda z: f(z) * abs(truth.accuracy(np.array([z]))[0] - z) ** power, 0, 1, points=corners)[0]
    found = lab.true_error(truth, None, key)
    assert found.value == pytest.approx(integral, abs=2e-5)
    assert found.standard_error == 0


def test_confidence_joins_scores_of_both_sides_of_one_half():
    truth = lab.SigmoidCurve()

    def gap(c):
        right = (truth.accuracy(np.array([c]))[0] + 1 - truth.accuracy(np.array([1 - c]))[0]) / 2
        return 2 * abs(right - c)

    assert lab.true_error(truth, "confidence").value == pytest.approx(quad(gap, 0.5, 1)[0], abs=2e-5)


def test_a_jump_adds_to_the_squared_error_what_no_bin_sees():
    smooth, jumping = (lab.true_error(lab.JumpingCurve(jump=jump), None, "debiased-l2") for jump in (0.0, 0.02))
    assert jumping.value - smooth.value == pytest.approx(0.02**2, rel=0.1)
    binned = lab.true_error(lab.JumpingCurve(), None, "debiased-l2", in_bins=True)
    assert binned.value == pytest.approx(smooth.value, rel=0.01)


@pytest.mark.parametrize("bins", ["equal-width", "equal-mass"])
def test_no_bin_sees_a_jump_and_every_notion_sees_both_signs(bins):
    """Means of calibrated scores plus or minus .02 are calibrated; confidences combine two signs."""
    truth, scheme = lab.JumpingCurve(1.0, 0.0), cc.BINNINGS.make(bins, bins=100)
    for key in ("ece", "debiased-l2"):
        found = lab.true_error(truth, None, cc.ESTIMATORS.make(key, binning=scheme), in_bins=True)
        assert found.value == pytest.approx(0, abs=1e-9)
    for notion, mean, square in ((None, 0.02, 0.0004), ("class-wise", 0.02, 0.0004), ("confidence", 0.01, 0.0002)):
        assert lab.true_error(truth, notion).value == pytest.approx(mean, abs=1e-9)
        assert lab.true_error(truth, notion, "debiased-l2").value == pytest.approx(square, abs=1e-9)


def test_the_square_of_a_sampled_truth_is_not_its_own_noise():
    """The twin: two million other rows of the distribution, its expectation in bins of 10,000 rows."""
    truth = lab.Mixture("logistic", 2, 2, 5)
    found = lab.true_error(truth, "confidence", "debiased-l2")
    assert found.standard_error < 1e-4
    assert abs(found.value - 0.00376) < 4 * np.hypot(found.standard_error, 3e-5)


def test_wide_bins_see_no_more_than_their_means():
    one_bin = lab.true_error(
        "drawn", None, cc.ESTIMATORS.make("ece", binning=cc.BINNINGS.make("equal-width", bins=1)), in_bins=True
    )
    truth = lab.Drawn()
    mean = quad(lambda z: truth.accuracy(np.array([z]))[0] - z, 0, 1, points=np.linspace(0, 1, 11)[1:-1])[0]
    assert one_bin.value == pytest.approx(abs(mean), abs=1e-6)


def test_example_1_is_blind_to_confidence_alone():
    found = {notion: lab.true_error("example-1", notion).value for notion in ("confidence", "top-label", "class-wise")}
    assert found == pytest.approx({"confidence": 0, "top-label": 0.4, "class-wise": 0.2})


@pytest.mark.parametrize("key", KEYS)
def test_the_true_error_is_what_very_many_labels_show(key):
    """The library's own debiased errors of 100,000 drawn rows equal the true error, within four deviations."""
    rows = lab.TRUTHS.make(key).sample(100_000, 5).predictions
    notion = lab.TRUTHS[key].flags.reduction
    scheme = cc.BINNINGS.make("equal-mass", bins=100)
    true = lab.true_error(key, notion, "debiased-l2", in_bins=key == "jumping")
    found = cc.estimate(rows, notion, cc.ESTIMATORS.make("debiased-l2", binning=scheme)).value
    parts = [
        cc.estimate(rows.take(part), notion, cc.ESTIMATORS.make("debiased-l2", binning=scheme)).value
        for part in np.array_split(np.arange(rows.n_rows), 10)
    ]
    assert abs(found - true.value) < 4 * np.hypot(np.std(parts) / np.sqrt(10), true.standard_error) + 2e-4


@pytest.mark.parametrize("key", KEYS)
def test_labels_come_from_the_true_probabilities(key):
    drawn = lab.TRUTHS.make(key).sample(20_000, 3)
    hits = np.eye(drawn.true_probs.shape[1])[drawn.predictions.true_labels]
    np.testing.assert_allclose(drawn.true_probs.sum(axis=1), 1)
    for low, high in ((0, 0.2), (0.2, 0.6), (0.6, 1.01)):
        chosen = (drawn.true_probs >= low) & (drawn.true_probs < high)
        p = drawn.true_probs[chosen]
        assert abs((hits[chosen] - p).mean()) <= 4.5 * np.sqrt((p * (1 - p)).mean() / max(len(p), 1))


@pytest.mark.parametrize("key", KEYS)
def test_the_same_seed_gives_the_same_rows_and_another_seed_others(key):
    truth = lab.TRUTHS.make(key)
    first, again, other = (truth.sample(50, seed).predictions for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.labels, again.labels)
    np.testing.assert_array_equal(first.probs, again.probs)
    assert not np.array_equal(first.probs, other.probs)


def test_the_sigmoid_is_kumars_binary_data():
    mine, theirs = lab.SigmoidCurve().sample(500, 7), cc.datasets.kumar_binary(500, 7)
    np.testing.assert_allclose(mine.true_probs, theirs.true_probs)
    np.testing.assert_array_equal(mine.predictions.probs, theirs.predictions.probs)
    np.testing.assert_array_equal(mine.predictions.labels, theirs.predictions.labels)


def test_a_jump_is_the_same_whenever_it_is_asked_for_and_goes_both_ways():
    truth, z = lab.JumpingCurve(), np.random.default_rng(0).uniform(0.25, 0.75, 10_000)
    jump = truth.accuracy(z) - lab.JumpingCurve(jump=0.0).accuracy(z)
    np.testing.assert_allclose(np.abs(jump), 0.02)
    assert abs((jump > 0).mean() - 0.5) < 4 * 0.5 / 100
    np.testing.assert_array_equal(truth.accuracy(z[::-1])[::-1], truth.accuracy(z))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=21), st.sampled_from(list(SPREADS)))
@settings(max_examples=20)
def test_any_curve_can_be_drawn(shares, spread):
    truth = lab.Drawn(tuple(shares), spread)
    data = truth.sample(50)
    np.testing.assert_allclose(data.true_probs[:, 1], truth.accuracy(data.predictions.probs[:, 1]))
    assert 0 <= lab.true_error(truth).value <= 1
    assert lab.TRUTHS.recipe(truth).build() == truth


@pytest.mark.parametrize("notion", ["confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label"])
@pytest.mark.parametrize("key", ["ece", "rmsce", "mce"])
def test_chances_in_place_of_labels_are_labels_written_out(notion, key):
    """The slow twin has a row for each label, including shares of classes that follow labels."""
    data, target = cc.datasets.valk_kull(300), cc.ESTIMATORS.make(key)
    notions = [cc.REDUCTIONS.make(notion)]
    notions += [cc.REDUCTIONS.make(notion, weights="share")] if notion == "class-wise" else []
    for reduction in notions:
        slow = error_of(lab.expected(data), reduction, target, 1)
        assert _of_drawn(data, reduction, target, 1) == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize(("classes", "features"), [(2, 1), (3, 4)])
def test_a_mixtures_probabilities_are_those_of_its_densities(classes, features):
    """The reference is scipy's densities; each Gaussian in turn has as many rows of the sample for the distribution."""
    modes = Modes.drawn(classes, features, np.random.default_rng(5))
    x, labels = modes.in_turn(classes * 4 * 3, np.random.default_rng(1))
    assert np.bincount(labels).tolist() == [12] * classes
    density = np.array(
        [
            sum(multivariate_normal(mu, a @ a.T).pdf(x) for mu, a in zip(*of_class, strict=True))
            for of_class in zip(modes.means, modes.roots, strict=True)
        ]
    )
    np.testing.assert_allclose(modes.posterior(x), (density / density.sum(axis=0)).T, atol=1e-9)


@pytest.mark.wide
@pytest.mark.parametrize("notion", ["confidence", "class-wise"])
def test_the_error_of_ten_classes_is_known_to_a_few_hundredths_of_itself(notion):
    true = lab.true_error(lab.Mixture("naive-bayes", 10, 10), notion)
    assert true.standard_error < 0.015 * true.value


def test_expected_rows_are_the_mean_over_labels():
    """The slow twin: accuracy and squared error of expected rows are means over every labeling of three rows."""
    data = cc.datasets.valk_kull(3)
    rows = lab.expected(data)
    mean = sum(
        np.prod(data.true_probs[np.arange(3), labels]) * data.predictions.relabelled(labels).accuracy
        for labels in map(list, np.ndindex(3, 3, 3))
    )
    assert rows.accuracy == pytest.approx(mean)
    brier = (data.true_probs * (1 - 2 * data.predictions.probs) + data.predictions.probs**2).sum(axis=1).mean()
    assert cc.estimate(rows, None, "brier").value == pytest.approx(brier)


@pytest.mark.parametrize(
    ("truth", "notion", "estimator"),
    [
        ("drawn", "canonical", "ece"),
        ("drawn", None, "skce"),
        ("three-classes", None, "mce"),
        ("drawn", None, "mce-of-bins"),
    ],
)
def test_what_is_not_known_is_refused(truth, notion, estimator):
    with pytest.raises(NotAnswerable):
        lab.true_error(truth, notion, estimator)


@pytest.mark.parametrize("shares", [(0.5,), (0.1, 1.2), [0.1, 0.2], (0.1,) * 22, (0.1, True)])
def test_points_that_make_no_curve_are_refused(shares):
    with pytest.raises(RegistryError, match="a tuple of 2 to 21 numbers, each from 0 to 1"):
        lab.Drawn(shares)


def test_a_point_is_moved_and_the_others_stay():
    truth = lab.Drawn((0.0, 0.5, 1.0), "middle")
    assert truth.moved(1, 0.9) == lab.Drawn((0.0, 0.9, 1.0), "middle")
    np.testing.assert_array_equal(truth.moved(2, 0.25).points, [[0, 0], [0.5, 0.5], [1, 0.25]])
    for point, share in ((3, 0.5), (-1, 0.5), (0, 1.01), (0, -0.01), (0, float("nan"))):
        with pytest.raises(RegistryError):
            truth.moved(point, share)


def test_the_curve_goes_through_its_points_and_others_have_none():
    frame = lab.truth_curve(lab.Drawn((0.2, 0.4, 0.9)), 50).frame()
    assert frame[frame["of"] == "point"][["score", "right"]].to_numpy().tolist() == [[0, 0.2], [0.5, 0.4], [1, 0.9]]
    assert set(lab.truth_curve("sigmoid", 50).frame()["of"]) == {"truth", "sample"}


@pytest.mark.parametrize("n", [0, -1, 2.5, True, 10**9])
@pytest.mark.parametrize("key", KEYS)
def test_numbers_of_rows_are_checked(key, n):
    with pytest.raises(cc.InputError, match="n is"):
        lab.TRUTHS.make(key).sample(n)


@pytest.mark.parametrize("truth", [lab.Mixture("logistic", 2), lab.Mixture()], ids=["two", "five"])
def test_a_simulated_line_is_the_law_and_not_its_noise(truth):
    frame = lab.truth_curve(truth, 50).frame().query("of == 'truth'")
    # Other rows of the same distribution, a share in each of the line's cells: they differ by both noises.
    fresh = truth.sample(200_000, 1)
    top = fresh.predictions.probs.argmax(axis=1)
    rows = np.arange(len(top))
    scores, right = fresh.predictions.probs[rows, top], fresh.true_probs[rows, top]
    cuts = (frame["score"].to_numpy()[1:] + frame["score"].to_numpy()[:-1]) / 2
    cell = np.searchsorted(cuts, scores)
    count = np.bincount(cell, minlength=len(frame))
    off = np.bincount(cell, right, len(frame)) / count - frame["right"]
    drift = np.bincount(cell, scores, len(frame)) / count - frame["score"]
    near = np.abs(drift) < 0.002  # the last cells are cut elsewhere
    assert near.sum() >= 10
    assert np.sqrt(np.mean(np.square(off[near]))) < 0.0125
    assert np.abs(off[near]).max() < 0.04
