"""Prior shift: Bayes' rule by hand, shares by an independent search, coverage, and a check that sees other shifts."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from calib_core import CALIBRATORS, InputError, NotAnswerable, Predictions, load_calibrator
from calib_core.calibrators import PriorShift, prior_shift
from calib_core.calibrators.label_shift import estimated_shares

OLD, NEW = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
MEANS = 1.5 * np.eye(3)


def drawn(shares, n, rng):
    """Return normal points of three classes with these shares, and their classes."""
    labels = rng.choice(3, n, p=shares)
    return MEANS[labels] + rng.standard_normal((n, 3)), labels


def posterior(x, shares, sharper=1.0):
    """Return the exact probabilities of the classes, whose means are equally long, or sharper ones."""
    return softmax(sharper * (np.log(shares) + x @ MEANS.T), axis=1)


def labeled(rng, n=400, sharper=1.0):
    x, labels = drawn(OLD, n, rng)
    return Predictions(posterior(x, OLD, sharper), labels)


def test_known_shares_are_bayes_rule_and_leave_odds_in_order():
    rng = np.random.default_rng(0)
    source = labeled(rng)
    old = np.bincount(source.labels) / 400
    cal = PriorShift(target=tuple(NEW)).fit_on(source)
    weighed = source.probs * NEW / old
    wanted = weighed / weighed.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(cal.predict_proba(source.probs), wanted, rtol=1e-12)
    # Exact probabilities for the old shares become exact ones for the new shares, up to the noise of the old ones.
    x, _ = drawn(NEW, 50, rng)
    np.testing.assert_allclose(cal.predict_proba(posterior(x, old)), posterior(x, NEW), atol=1e-12)
    assert cal.status_ == "known"
    assert cal.shift is None


def test_without_a_target_the_mean_becomes_the_frequencies_with_the_largest_likelihood():
    rng = np.random.default_rng(1)
    z = rng.standard_normal((150, 4))
    p, labels = softmax(z, axis=1), rng.choice(4, 150, p=[0.6, 0.2, 0.15, 0.05])
    cal = PriorShift().fit(p, labels)
    np.testing.assert_allclose(cal.predict_proba(p).mean(axis=0), np.bincount(labels) / 150, atol=1e-12)

    def loss(b):
        return -log_softmax(np.log(p) + np.append(0.0, b), axis=1)[np.arange(150), labels].mean()

    twin = minimize(loss, np.zeros(3), method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    ours = -np.log(cal.predict_proba(p)[np.arange(150), labels]).mean()
    assert ours == pytest.approx(twin.fun, abs=1e-9)
    np.testing.assert_allclose(cal.offsets[1:] - cal.offsets[0], twin.x, atol=1e-4)
    assert loss([*twin.x[:2], twin.x[2] + 0.3]) > ours + 1e-5


def test_two_classes_are_the_intercept_update():
    rng = np.random.default_rng(2)
    p = rng.random(200)
    rows, labels = np.column_stack([1 - p, p]), (rng.random(200) < p**2).astype(int)
    same = [CALIBRATORS.make(key).fit(rows, labels).predict_proba(rows) for key in ("prior-shift", "intercept")]
    np.testing.assert_allclose(*same, atol=1e-10)
    nearly = [CALIBRATORS.make(key).fit(rows * 0 + 0.5, labels * 0).predict_proba([[0.5, 0.5]]) for key in
              ("prior-shift", "intercept")]  # fmt: skip
    np.testing.assert_allclose(*nearly, atol=1e-10)


def test_certain_and_wrong_rows_are_matched_too_and_it_says_what_has_no_estimate():
    certain = PriorShift().fit(np.eye(3)[np.arange(30) % 3], [0] * 24 + [1] * 3 + [2] * 3)
    made = certain.predict_proba(np.eye(3)).mean(axis=0)
    np.testing.assert_allclose(made, [0.8, 0.1, 0.1], atol=1e-9)
    absent = PriorShift().fit(np.full((20, 3), 1 / 3), [0] * 15 + [1] * 5)
    np.testing.assert_allclose(absent.predict_proba([[1 / 3] * 3]), [[15.5 / 21.5, 5.5 / 21.5, 0.5 / 21.5]])
    assert absent.status_ == "absent"
    assert "half a row" in absent.note


def test_shares_are_those_of_the_largest_likelihood_and_no_step_lowers_it(monkeypatch):
    rng = np.random.default_rng(3)
    p, w = posterior(drawn(NEW, 300, rng)[0], OLD), np.full(300, 1 / 300)

    def likelihood(t):
        return np.log(p @ (t / OLD)).mean()

    found = estimated_shares(p, w, OLD)
    twin = minimize(lambda b: -likelihood(softmax(np.append(0, b))), np.zeros(2), method="L-BFGS-B", tol=1e-14)
    assert likelihood(found) == pytest.approx(-twin.fun, abs=1e-10)
    np.testing.assert_allclose(found, softmax(np.append(0, twin.x)), atol=1e-5)
    path = []
    for steps in range(8):
        monkeypatch.setattr("calib_core.calibrators.label_shift._EM_STEPS", steps)
        path.append(likelihood(estimated_shares(p, w, OLD)))
    assert (np.diff(path) > 0).all()


def test_shares_of_unlabeled_rows_are_found_inside_their_intervals():
    """The intervals' level is .9; of 3 x 60 of them, 138 is five standard errors below."""
    inside, tests = 0, []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        shift = prior_shift(labeled(rng), posterior(drawn(NEW, 500, rng)[0], OLD)).shift
        inside += int(((shift.low <= NEW) & (shift.high >= NEW)).sum())
        tests.append(shift.p)
        assert shift.identified
    assert 138 <= inside < 180
    assert np.mean(np.array(tests) <= 0.05) <= 0.15, "the shares alone changed, and both estimates agree"
    assert np.mean(np.array(tests) <= 0.5) >= 0.25


@pytest.mark.parametrize(("known", "unknown"), [(40, 400), (400, 40), (60, 60)])
def test_intervals_of_shares_have_the_noise_of_labeled_and_of_unlabeled_rows(known, unknown):
    """A slow twin: how far each row moves the estimate, by a little more weight for it alone."""
    rng = np.random.default_rng(known)
    source, (x, _) = labeled(rng, known), drawn(NEW, unknown, rng)
    target, old = posterior(x, OLD), np.bincount(source.labels, minlength=3) / known
    shift = prior_shift(source, target, 0.8).shift

    def moved(weights, shares):
        return estimated_shares(target, weights / weights.sum(), shares)

    flat, little = np.full(unknown, 1 / unknown), 1e-4
    of_target = [moved(flat + little * row, old) - moved(flat, old) for row in np.eye(unknown)]
    of_source = [moved(flat, (old + little * row) / (1 + little)) - moved(flat, old) for row in np.eye(3)]
    variance = (np.square(of_target).sum(axis=0) / unknown**2 + old @ np.square(of_source) / known) / little**2
    half = 1.2815516 * np.sqrt(variance)
    assert shift.high - shift.low == pytest.approx(
        np.clip(shift.target + half, 0, 1) - np.clip(shift.target - half, 0, 1), rel=0.02
    )


@pytest.mark.parametrize(("known", "unknown"), [(200, 3000), (3000, 200)])
def test_the_noise_of_the_check_is_that_of_few_labeled_or_few_unlabeled_rows(known, unknown):
    """With 60 samples a share of .5 has a standard error of .065; both estimates share the unlabeled rows."""
    tests = []
    for seed in range(60):
        rng = np.random.default_rng(500 + seed)
        tests.append(prior_shift(labeled(rng, known), posterior(drawn(NEW, unknown, rng)[0], OLD)).shift.p)
    assert np.mean(np.array(tests) <= 0.05) <= 0.15
    assert 0.3 <= np.mean(np.array(tests) <= 0.5) <= 0.7


def narrowed(rng):
    """Return unlabeled rows chosen by their inputs, so that the classes look different: no shift of shares."""
    x, _ = drawn(OLD, 4000, rng)
    return posterior(x[np.argsort(x[:, 1] - x[:, 0] + rng.standard_normal(4000))[:500]], OLD)


def test_another_shift_and_uncalibrated_rows_are_contradicted():
    """Falsified twins: rows selected by their inputs, and probabilities that are too sharp on both sides."""
    other, sharp = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        other.append(prior_shift(labeled(rng), narrowed(rng)).shift.p)
        rows = posterior(drawn(NEW, 2000, rng)[0], OLD, 2.5)
        sharp.append(prior_shift(labeled(rng, 1500, 2.5), rows).shift.p)
    assert max(other) < 0.05
    assert np.mean(np.array(sharp) < 0.05) >= 0.8
    cal = prior_shift(labeled(rng), narrowed(rng))
    assert "contradicts" in cal.note


def test_what_cannot_be_identified_says_so():
    rng = np.random.default_rng(5)
    p = np.column_stack([rng.uniform(0.5, 0.9, 300), np.zeros(300)])
    p[:, 1] = 1 - p[:, 0]
    never = prior_shift(Predictions(p, (rng.random(300) < p[:, 1]).astype(int), class_names=["cat", "dog"]), p[:99])
    assert not never.shift.identified
    assert np.isnan(never.shift.p)
    assert "No labeled row is predicted as dog" in never.note
    blind = rng.dirichlet([5, 5, 5], 200)
    shift = prior_shift(Predictions(blind, rng.integers(3, size=200)), blind[:50]).shift
    assert not shift.identified
    assert "could be noise" in shift.sentences[1]


def test_the_result_is_a_calibrator_and_keeps_its_evidence_when_saved():
    rng = np.random.default_rng(6)
    rows = posterior(drawn(NEW, 300, rng)[0], OLD)
    cal = prior_shift(labeled(rng), Predictions(rows, rng.integers(3, size=300)))
    np.testing.assert_allclose(cal.predict_proba(rows).mean(axis=0), cal.shift.target, atol=1e-8)
    again = load_calibrator(cal.to_json())
    np.testing.assert_array_equal(again.predict_proba(rows), cal.predict_proba(rows))
    assert again.shift.frame().equals(cal.shift.frame())
    assert again.note == cal.note
    assert cal.fit_on(labeled(rng)).shift is None, "fitted anew, the evidence is gone"
    assert list(again.shift.frame()["class"]) == ["0", "1", "2"]


def test_weights_are_copies_here_too():
    rng = np.random.default_rng(7)
    source, rows = labeled(rng, 100), posterior(drawn(NEW, 80, rng)[0], OLD)
    w, v = rng.integers(1, 4, 100), rng.integers(1, 4, 80)
    weighed = prior_shift(
        Predictions(source.probs, source.labels, weights=w.astype(float)),
        Predictions(rows, np.zeros(80, int), weights=v.astype(float)),
    )
    at = np.repeat(np.arange(100), w)
    copied = prior_shift(Predictions(source.probs[at], source.labels[at]), np.repeat(rows, v, axis=0))
    np.testing.assert_allclose(weighed.shift.target, copied.shift.target, atol=1e-9)
    np.testing.assert_allclose(weighed.shift.by_predicted, copied.shift.by_predicted, atol=1e-12)


def test_what_it_cannot_do_it_says():
    p, labels = np.full((6, 3), 1 / 3), [0, 0, 0, 1, 1, 1]
    with pytest.raises(InputError, match="target has 2 shares, but there are 3 classes; give one per class"):
        PriorShift(target=(0.5, 0.5)).fit(p, labels)
    with pytest.raises(InputError, match="class 2 has no calibration rows"):
        PriorShift(target=(0.5, 0.25, 0.25)).fit(p, labels)
    gone = PriorShift(target=(0.4, 0.6, 0.0)).fit(p, labels).predict_proba([[0.2, 0.2, 0.6]])
    np.testing.assert_allclose(gone, [[0.4, 0.6, 0.0]], atol=1e-200)
    with pytest.raises(InputError, match="no labeled row is of class 2"):
        prior_shift(Predictions(p, labels), p)
    with pytest.raises(InputError, match="the unlabeled rows have 2 classes, and the labeled rows 3"):
        prior_shift(Predictions(p, labels), [[0.5, 0.5]])
    single = Predictions.from_confidence([0.5], [True])
    for rows in ((single, p), (Predictions(p, labels), single)):
        with pytest.raises(NotAnswerable, match="needs the probability of every class"):
            prior_shift(*rows)
