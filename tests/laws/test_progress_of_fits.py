"""Every fit reports progress and can be stopped: shares never fall, results do not change, no partial state is left."""

import numpy as np
import pytest
from generated import classes_for

import calib_core as cc
from calib_core import CALIBRATORS, Predictions
from calib_core._base.sklearn_api import clone
from calib_core.evaluation.cross_fitting import cross_fitted

QUICK = {"identity", "temperature", "ensemble-temperature", "metacal-accuracy", "metacal-miscoverage"}
QUICK |= {"intercept", "logistic-recalibration"}
QUICK |= {"grid", "sierpinski", "projection"}
"""About a second each at 25,000 x 1,000 calibration rows, Meta-Cal before temperature scaling: no progress reports."""
KEYS = (*CALIBRATORS, "ts+vector", "ts+lece")


class Stopped(BaseException):
    """Signal that stops a fit: not an Exception, like that of a page being redrawn."""


def sample(seed=0, n=300, k=4):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k)) * 1.5
    labels = np.array([rng.choice(k, p=p) for p in np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)])
    sharp = np.exp(2 * logits)
    return Predictions(sharp / sharp.sum(axis=1, keepdims=True), labels)


def told(work):
    """Return the shares that a piece of work reports, and its result."""
    shares = []
    return work(shares.append), shares


def stopped_at(calls):
    """Return a callback that raises at the call with this number."""
    seen = []

    def progress(_):
        seen.append(0)
        if len(seen) >= calls:
            raise Stopped

    return progress


def claims(p):
    return p.probs if p.kind in ("full", "per-class") else p.top(p.n_ranked)[1]


def kept(calibrator):
    return {name: id(value) for name, value in vars(calibrator).items()}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", KEYS)
def test_a_fit_tells_how_far_it_is_and_is_the_same_fit(key):
    p = sample(k=classes_for(key, 4))
    silent = CALIBRATORS.make(key).fit_on(p)
    fitted, of_fit = told(lambda progress: CALIBRATORS.make(key).fit_on(p, progress))
    after, of_use = told(lambda progress: fitted.apply(p, progress))
    assert fitted.to_json() == silent.to_json()
    np.testing.assert_array_equal(claims(after), claims(silent.apply(p)))
    for shares in (of_fit, of_use):
        known = [share for share in shares if share]
        assert known == sorted(known)
        assert all(0 <= share <= 100 for share in shares)
    if type(fitted).__module__.startswith("calib_core."):  # a calibrator from elsewhere need not report progress
        assert of_fit or of_use or key in QUICK


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", KEYS)
def test_a_fit_that_is_stopped_leaves_the_calibrator_as_it_was(key):
    one, other = (sample(seed, k=classes_for(key, 4)) for seed in (0, 1))
    calls = len(told(lambda progress: CALIBRATORS.make(key).fit_on(one, progress))[1])
    if not calls:
        pytest.skip("it tells nothing while it is fitted")
    fresh = CALIBRATORS.make(key)
    before = kept(fresh)
    with pytest.raises(Stopped):
        fresh.fit_on(one, stopped_at((calls + 1) // 2))
    assert kept(fresh) == before
    fresh.fit_on(other)
    before, text = kept(fresh), fresh.to_json()
    with pytest.raises(Stopped):
        fresh.fit_on(one, stopped_at(calls))
    assert kept(fresh) == before
    assert fresh.to_json() == text
    assert fresh.fit_on(one).to_json() == CALIBRATORS.make(key).fit_on(one).to_json()


@pytest.mark.parametrize("key", ["matrix", "lece"])
def test_cross_validation_counts_its_fits(key):
    calibrator = CALIBRATORS.make(key, cross_validate=True)
    _, shares = told(lambda progress: clone(calibrator).fit_on(sample(n=200, k=3), progress))
    assert shares == sorted(shares)
    assert len(set(shares)) >= 10
    assert 90 <= shares[-1] <= 100


def test_what_is_refused_leaves_the_calibrator_as_it_was():
    fitted = CALIBRATORS.make("metacal-accuracy").fit_on(sample())
    before = kept(fitted)
    with pytest.raises(cc.InputError):
        fitted.fit_on(sample(n=2))
    assert kept(fitted) == before


def test_folds_are_an_honest_share_and_can_be_stopped():
    p = sample(n=200)
    after, shares = told(lambda progress: cross_fitted(p, "vector", folds=5, progress=progress))
    assert shares == sorted(shares)
    assert set(shares) == {0, 20, 40, 60, 80, 100}
    np.testing.assert_array_equal(after.probs, cross_fitted(p, "vector", folds=5).probs)
    with pytest.raises(Stopped):
        cross_fitted(p, "vector", folds=5, progress=stopped_at(len(shares) // 2))


@pytest.mark.parametrize("folds", [None, 3])
def test_divided_rows_hand_the_callback_on(folds):
    rows = cc.calls.divide(sample(n=300), folds=folds)
    fitted, of_fit = told(lambda progress: cc.calls.fitted(rows, "vector", progress))
    after, of_use = told(lambda progress: cc.calls.recalibrated(rows, fitted, progress=progress))
    assert of_fit
    assert max(of_use) == 100
    assert after.n_rows == rows.test.n_rows
