"""Intercept update and logistic recalibration: against explicit likelihoods, by a column, saved, exported."""

import re

import numpy as np
import pandas as pd
import pytest
from exports import module
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, logit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from calib_core import (
    BINARY_CALIBRATORS,
    CALIBRATORS,
    REDUCTIONS,
    InputError,
    NotAnswerable,
    Predictions,
    load_calibrator,
)
from calib_core.calibrators import InterceptUpdate, LogisticRecalibration, Reduced
from calib_core.calibrators.fitting.logistic import firth_intercept, firth_line
from calib_core.calibrators.risk_updates import pooled_offsets
from calib_core.exporting import python_source

KEYS = ("intercept", "logistic-recalibration")


def risks(seed=0, n=400, shift=-0.6, slope=0.7, sites=None, **more):
    """Return rows whose true log-odds are shift + slope * stated, with other shifts for ``sites``."""
    rng = np.random.default_rng(seed)
    stated = rng.normal(-1.0, 1.3, n)
    truth = shift + slope * stated
    metadata = None
    if sites is not None:
        at = rng.integers(len(sites), size=n)
        truth = truth + np.array(list(sites.values()))[at]
        metadata = pd.DataFrame({"site": np.array(list(sites))[at]})
    p = expit(stated)
    labels = (rng.random(n) < expit(truth)).astype(int)
    return Predictions(np.column_stack([1 - p, p]), labels, metadata=metadata, **more)


def log_odds(p):
    return logit(p.probs[:, 1])


@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_recalibration_is_scikit_learns_unpenalised_fit(weighted):
    weights = np.random.default_rng(1).integers(1, 4, 400) if weighted else None
    p = risks(weights=weights)
    peer = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
    peer.fit(log_odds(p)[:, None], p.labels, weights)
    fitted = LogisticRecalibration().fit_on(p)
    assert fitted.slope_ == pytest.approx(peer.coef_[0, 0], rel=1e-6)
    assert fitted.intercept_ == pytest.approx(peer.intercept_[0], rel=1e-6)
    assert fitted.status_ == "converged"
    wanted = expit(fitted.intercept_ + fitted.slope_ * log_odds(p))
    np.testing.assert_allclose(fitted.apply(p).probs[:, 1], wanted, rtol=1e-12)


def test_after_an_intercept_update_as_many_events_are_expected_as_observed():
    p = risks()
    after = InterceptUpdate().fit_on(p).apply(p)
    assert after.probs[:, 1].sum() == pytest.approx(p.labels.sum(), abs=1e-8)
    assert abs(p.probs[:, 1].sum() - p.labels.sum()) > 10
    np.testing.assert_allclose(np.ptp(log_odds(after) - log_odds(p)), 0, atol=1e-9)


@pytest.mark.parametrize("key", KEYS)
def test_the_event_decides_names_and_no_probability(key):
    p = risks(class_names=["survived", "died"])
    one, other = (CALIBRATORS.make(key).fit_on(p.with_event(name)) for name in ("died", "survived"))
    assert (one.event_, other.event_) == (1, 0)
    assert one.intercept_ == pytest.approx(-other.intercept_, abs=1e-7)
    assert one.slope_ == pytest.approx(other.slope_, abs=1e-7)
    np.testing.assert_allclose(one.apply(p).probs, other.apply(p).probs, atol=1e-8)
    assert "died" in one.insides(p.class_names).sentence
    assert other.fit_on(p.with_event("died")).event_ == 1, "an earlier fit's event is forgotten"


def test_firth_is_the_maximum_of_the_penalised_likelihood():
    x = np.array([-2.0, -1.0, -0.5, 0.3, 1.0, 2.5])
    rows = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0])
    for y in ([0, 0, 0, 1, 1, 1], [1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [0, 1, 0, 1, 0, 1]):
        y = np.array(y, bool)

        def line(theta, y=y):
            eta = theta[0] + theta[1] * x
            design = np.stack([np.ones(6), x])
            spread = rows * expit(eta) * expit(-eta)
            information = (design * spread) @ design.T
            return -(rows @ log_expit(np.where(y, eta, -eta))) - 0.5 * np.linalg.slogdet(information)[1]

        def shift(b, y=y):
            spread = rows * expit(x + b) * expit(-x - b)
            return -(rows @ log_expit(np.where(y, x + b, -x - b))) - 0.5 * np.log(spread.sum())

        found = minimize(line, [0, 0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 5000})
        slope, intercept = firth_line(x, y, rows)
        np.testing.assert_allclose([intercept, slope], found.x, atol=1e-5)
        assert firth_intercept(x, y, rows) == pytest.approx(
            minimize_scalar(shift, bounds=(-12, 12), method="bounded", options={"xatol": 1e-10}).x, abs=1e-5
        )


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("labels", [[0] * 20, [1] * 20, [0] * 10 + [1] * 10, [1] * 10 + [0] * 10])
def test_separated_outcomes_have_a_finite_answer_that_is_no_certainty(key, labels):
    p = np.linspace(0.1, 0.9, 20)
    fitted = CALIBRATORS.make(key).fit(np.column_stack([1 - p, p]), labels)
    separated = key == "logistic-recalibration" and labels[0] <= labels[-1]
    one_sided = len(set(labels)) == 1
    assert fitted.status_ == (
        "separated" if separated or one_sided else "constrained" if fitted.slope_ == 0 else "converged"
    )
    out = fitted.predict_proba([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])[:, 1]
    assert 1e-6 < out.min() <= out.max() < 1 - 1e-6, "maximum likelihood would give 0 and 1"
    assert (np.diff(out) >= 0).all(), "the ranking stays"
    assert bool(fitted.note) == (fitted.status_ != "converged")


def test_one_event_more_or_less_is_jeffreys_share_where_all_agree():
    fitted = InterceptUpdate().fit([[0.7, 0.3]] * 9, [0] * 9)
    assert fitted.predict_proba([[0.7, 0.3]])[0, 1] == pytest.approx(0.5 / 10)


def test_scores_of_exactly_zero_and_one_are_raised_to_the_floor():
    p = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 0.5])
    for key in KEYS:
        out = CALIBRATORS.make(key).fit(np.column_stack([1 - p, p]), [0, 1, 0, 1, 0, 1]).predict_proba(np.eye(2))
        assert np.isfinite(out).all()


# ---- grouping by a column ----------------------------------------------------------------------------------

SITES = {"Alder": 0.0, "Birch": 0.1, "Cedar": -0.1, "Dunmere": -1.2}


@pytest.mark.parametrize("key", KEYS)
def test_one_site_that_is_off_gets_its_own_update_and_the_ranking_within_stays(key):
    p = risks(n=4000, shift=0.0, slope=1.0, sites=SITES)
    after = CALIBRATORS.make(key, by="site").fit_on(p).apply(p)
    for site in SITES:
        mine = np.flatnonzero(p.metadata["site"] == site)
        ratio = p.labels[mine].sum() / after.probs[mine, 1].sum()
        assert 0.9 < ratio < 1.11, site
        order = np.argsort(p.probs[mine, 1])
        assert (np.diff(after.probs[mine, 1][order]) >= 0).all()
    one = CALIBRATORS.make(key).fit_on(p).apply(p)
    mine = np.flatnonzero(p.metadata["site"] == "Dunmere")
    assert p.labels[mine].sum() / one.probs[mine, 1].sum() < 0.7


@pytest.mark.parametrize("key", KEYS)
def test_sites_that_agree_keep_nearly_the_common_update(key):
    moved = []
    for seed in range(6):
        p = risks(seed, n=600, sites=dict.fromkeys(SITES, 0.0))
        fitted = CALIBRATORS.make(key, by="site").fit_on(p)
        own = [InterceptUpdate().fit_on(p.take(np.flatnonzero(p.metadata["site"] == s))).intercept_ for s in SITES]
        common = InterceptUpdate().fit_on(p).intercept_
        eta = fitted.intercepts_ - fitted.intercept_ + (fitted.slopes_ - fitted.slope_) * log_odds(p).mean()
        moved.append((np.abs(eta).mean(), np.abs(np.array(own) - common).mean()))
        alike = not fitted.deviations_.any()
        assert ("no evidence that the values of 'site' differ" in fitted.note) == alike
        if alike:
            np.testing.assert_array_equal(fitted.intercepts_, fitted.intercept_)
    pooled, alone = np.mean(moved, axis=0)
    assert pooled < 0.5 * alone


def test_pooled_shifts_have_the_largest_marginal_likelihood_of_a_slow_integral():
    """The standard deviation by Laplace's approximation is nearly that of Gauss-Hermite quadrature."""
    rng = np.random.default_rng(4)
    values, each = 12, 60
    codes = np.repeat(np.arange(values), each)
    eta = rng.normal(-1, 1, values * each)
    y = rng.random(values * each) < expit(eta + rng.normal(0, 0.6, values)[codes])
    offsets, tau = pooled_offsets(eta, np.ones((1, len(eta))), y, np.ones(len(eta)), codes, values)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)

    def minus(log):
        shifted = eta[:, None] + np.exp(log) * nodes[None, :]
        likelihoods = log_expit(np.where(y[:, None], shifted, -shifted))
        sums = np.stack([likelihoods[codes == v].sum(axis=0) for v in range(values)])
        top = sums.max(axis=1, keepdims=True)
        return -(top[:, 0] + np.log(np.exp(sums - top) @ weights)).sum()

    slow = np.exp(minimize_scalar(minus, bounds=(-5, 1.5), method="bounded").x)
    assert tau[0] == pytest.approx(slow, rel=0.03)
    for v in range(values):
        mine = codes == v
        own = firth_intercept(eta[mine], y[mine], np.ones(each))
        error = (expit(eta[mine] + own) * expit(-eta[mine] - own)).sum() ** -0.5
        assert abs(offsets[v, 0] - own) <= error + 1e-9
        assert min(0, own) - 1e-9 <= offsets[v, 0] <= max(0, own) + 1e-9, "drawn towards the common update"


def test_one_value_far_off_among_many_is_not_held_back():
    sites = {f"s{i}": 0.0 for i in range(20)} | {"s0": -1.5}
    p = risks(3, n=6000, shift=0.0, slope=1.0, sites=sites)
    fitted = InterceptUpdate(by="site").fit_on(p)
    mine = np.flatnonzero(p.metadata["site"] == "s0")
    own = InterceptUpdate().fit_on(p.take(mine)).intercept_
    at = fitted.values_.index("s0")
    assert fitted.intercepts_[at] - own < 0.35
    assert np.abs(np.delete(fitted.intercepts_, at) - fitted.intercept_).mean() < 0.25


@pytest.mark.parametrize("key", KEYS)
def test_a_value_not_seen_gets_the_common_update_and_a_note(key):
    p = risks(n=800, sites=SITES)
    fitted = CALIBRATORS.make(key, by="site").fit_on(p)
    new = p.take(range(3)).replace(metadata=pd.DataFrame({"site": ["Elm", None, "Alder"]}))
    after = fitted.apply(new)
    plain = CALIBRATORS.make(key).fit_on(p).apply(new)
    np.testing.assert_allclose(after.probs[:2], plain.probs[:2], rtol=1e-12)
    assert after.notes[-1].startswith("2 rows have values of 'site'")
    assert not fitted.apply(p).notes
    # Values go by their text: a number is the same from a file of numbers and of texts.
    numbered = p.replace(metadata=pd.DataFrame({"site": np.arange(800) % 3}))
    by_number = CALIBRATORS.make(key, by="site").fit_on(numbered)
    as_text = numbered.replace(metadata=numbered.metadata.astype(str))
    np.testing.assert_array_equal(by_number.apply(as_text).probs, by_number.apply(numbered).probs)


@pytest.mark.parametrize("only", ["", "Dunmere"])
@pytest.mark.parametrize("key", KEYS)
def test_order_of_rows_and_copies_do_not_matter_by_a_column(key, only):
    p = risks(n=500, sites=SITES)
    fitted = CALIBRATORS.make(key, by="site", only=only).fit_on(p)
    shuffled = p.take(np.random.default_rng(0).permutation(500))
    np.testing.assert_allclose(
        CALIBRATORS.make(key, by="site", only=only).fit_on(shuffled).apply(p).probs, fitted.apply(p).probs, atol=1e-4
    )
    weights = np.random.default_rng(1).integers(0, 3, 500)
    weighed = p.replace(weights=weights)
    copies = p.take(np.repeat(np.arange(500), weights))
    one, other = (CALIBRATORS.make(key, by="site", only=only).fit_on(rows).apply(p).probs for rows in (weighed, copies))
    np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("key", KEYS)
def test_a_column_is_needed_where_one_is_named(key):
    p = risks(n=200, sites=SITES)
    calibrator = CALIBRATORS.make(key, by="site")
    assert calibrator.columns == ("site",)
    assert CALIBRATORS.make(f"ts+{key}", by="site").columns == ("site",)
    with pytest.raises(NotAnswerable, match="needs the metadata column 'site'"):
        calibrator.fit(p.probs, p.labels)
    calibrator.fit_on(p)
    with pytest.raises(NotAnswerable, match="use fit_on and apply"):
        calibrator.predict_proba(p.probs)
    many = p.replace(metadata=pd.DataFrame({"site": np.arange(200)}))
    assert calibrator.fit_on(many).values_[:2] == ("0", "1")
    wide = risks(n=1001).replace(metadata=pd.DataFrame({"site": np.arange(1001)}))
    with pytest.raises(NotAnswerable, match=r"'site' has 1,001 values; .* at most 1,000"):
        calibrator.fit_on(wide)


@pytest.mark.parametrize("key", KEYS)
def test_more_classes_are_refused_in_a_sentence(key):
    with pytest.raises(NotAnswerable, match="one event, which needs 2 classes; these rows have 3 classes"):
        CALIBRATORS.make(key).fit(np.full((6, 3), 1 / 3), [0, 1, 2] * 2)
    flags = CALIBRATORS[key].flags
    assert "2 classes only" in flags.unfit("full", 3)
    assert flags.unfit("full", 2) == flags.unfit("full") == ""


@pytest.mark.parametrize("by", ["", "site"])
@pytest.mark.parametrize("key", KEYS)
def test_saved_and_read_back_to_the_bit(key, by):
    p = risks(n=400, sites=SITES)
    fitted = CALIBRATORS.make(key, by=by).fit_on(p)
    loaded = load_calibrator(fitted.to_json())
    np.testing.assert_array_equal(loaded.apply(p).probs, fitted.apply(p).probs)
    assert loaded.to_json() == fitted.to_json()
    assert loaded.by == by
    assert clone(fitted).get_params() == {"by": by, "only": ""}
    if by:
        wrong = re.sub(r'"values_":\{"tuple":\[', '"values_":{"tuple":["Elsewhere",', fitted.to_json())
        with pytest.raises(InputError, match="values, intercepts and slopes"):
            load_calibrator(wrong)


@pytest.mark.parametrize("key", KEYS)
def test_exported_as_python_but_not_by_a_column(key):
    p = risks(n=400, sites=SITES)
    for event in (0, 1):
        fitted = CALIBRATORS.make(key).fit_on(p.with_event(event))
        there = module(python_source(fitted)).predict_proba(p.probs.tolist())
        np.testing.assert_allclose(there, fitted.predict_proba(p.probs), atol=1e-12)
    with pytest.raises(
        NotAnswerable, match="has no export as Python or ONNX, because a row of probabilities does not contain that"
    ):
        python_source(CALIBRATORS.make(key, by="site").fit_on(p))


@pytest.mark.parametrize("key", KEYS)
def test_works_in_a_grid_search(key):
    p = risks(n=200)
    search = GridSearchCV(CALIBRATORS.make(key), {"by": [""]}, cv=3).fit(p.probs, p.labels)
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize("event", [0, 1])
def test_a_map_lifted_by_the_event_changes_its_risk_and_the_other_class_gets_the_rest(event):
    rng = np.random.default_rng(7)
    risk = rng.beta(2, 5, 200)
    probs = np.column_stack([risk, 1 - risk] if event == 0 else [1 - risk, risk])
    rows = Predictions(probs, rng.integers(0, 2, 200)).with_event(event)
    binary = BINARY_CALIBRATORS.make("platt")
    recalibrated = Reduced(REDUCTIONS.make("event"), binary).fit_on(rows).apply(rows)
    alone = BINARY_CALIBRATORS.make("platt").fit(risk, rows.true_labels == event).transform(risk)
    np.testing.assert_allclose(recalibrated.probs[:, event], alone, rtol=0, atol=1e-15)
    np.testing.assert_allclose(recalibrated.probs.sum(axis=1), 1, rtol=0, atol=1e-15)
    assert recalibrated.event == event
