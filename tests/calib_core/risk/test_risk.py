"""Measures of the predicted risk of an event: twins, laws, and rows without a value."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy
from scipy.special import expit, logit
from scipy.stats import beta, chi2, norm, poisson
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from calib_core import Predictions, Summary, risk
from calib_core._base.errors import InputError, NotAnswerable
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.inference.intervals.event_rows import EventRows, Trials, log_odds
from calib_core.inference.intervals.observed_expected import (
    FirthLine,
    effective_number,
    intercept_at,
    maximum_likelihood,
    slope_profile,
    trials_of_fit,
)
from calib_core.inference.verdicts.events_needed import lasting_power, verdict_power
from calib_core.risk.in_the_large import COLUMNS
from calib_core.risk.smooth_curve import Spline, loess, natural_spline

MEASURES = [
    *("mean-predicted", "observed", "gap", "ratio", "intercept", "slope", "ici", "e50", "e90", "emax"),
    *("brier", "scaled-brier", "log-loss", "auroc"),
]


def sample(n=200, mean=-1.5, shift=0.0, slope=1.0, seed=0, spread=1.2):
    rng = np.random.default_rng(seed)
    x = rng.normal(mean, spread, n)
    return expit(x), rng.random(n) < expit(shift + slope * x)


def predictions(s, y, **others):
    s = np.asarray(s, dtype=float)
    return Predictions(np.column_stack([1 - s, s]), np.asarray(y).astype(int), **others)


# ---- twins -------------------------------------------------------------------------------------------------


def penalized(a, b, x, y):
    p = expit(a + b * x)
    design = np.column_stack([np.ones_like(x), x])
    info = design.T @ np.diag(p * (1 - p)) @ design
    return np.sum(np.where(y, np.log(p), np.log1p(-p))) + 0.5 * np.log(np.linalg.det(info))


@pytest.mark.parametrize("seed", range(4))
def test_firths_profile_is_where_twice_the_penalized_likelihood_drops_by_2_706(seed):
    s, y = sample(40, seed=seed)
    x = logit(s)
    point, low, high = slope_profile(x, np.ones(40), y.astype(float), 0.9)
    best = scipy.optimize.minimize(lambda ab: -penalized(*ab, x, y), [0, 1], method="Nelder-Mead", tol=1e-10)
    assert point == pytest.approx(best.x[1], abs=1e-4)
    for end in (low, high):
        height = -scipy.optimize.minimize_scalar(lambda a, b=end: -penalized(a, b, x, y), bounds=(-20, 20)).fun
        assert 2 * (-best.fun - height) == pytest.approx(chi2.isf(0.1, 1), abs=1e-4)
    assert low < point < high


def test_firths_fit_is_finite_under_separation_and_solves_its_equations():
    x, y = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0.0, 0.0, 1.0, 1.0])
    assert maximum_likelihood(np.column_stack([np.ones(4), x]), np.ones(4), y) is None
    line = FirthLine(x, np.ones(4), y)
    assert np.abs(line.evaluated(*line.fit().coefficients)[1]).max() < 1e-7
    assert 0 < line.fit().coefficients[1] < 5


def test_rows_of_one_score_count_as_one_entry_with_the_same_answer():
    rng = np.random.default_rng(1)
    s = rng.integers(1, 9, 150) / 10
    y = rng.random(150) < s
    single = slope_profile(logit(s), np.ones(150), y.astype(float), 0.9)
    trials = Trials.of(s, y)
    assert len(trials.score) == 8
    assert slope_profile(trials.x, trials.rows, trials.events, 0.9) == pytest.approx(single, abs=1e-6)


def test_the_effective_number_by_its_formula():
    s, y = sample(400, seed=2)
    x, events = logit(s), y.sum()
    best = scipy.optimize.minimize(lambda ab: -penalized(*ab, x, y), [0, 1], method="Nelder-Mead", tol=1e-10).x
    p = expit(best[0] + best[1] * x)
    share = events / 400
    shrunk = share + (np.square(p).sum() / p.sum() - share) * (1 - 5 / events)
    wanted = events / shrunk
    assert share < shrunk < 1
    assert effective_number(Trials.of(s, y)) == pytest.approx(wanted, rel=1e-4)
    low, high = risk.ratio_ends(s, y, None, 0.05)
    assert low == pytest.approx(wanted * beta.ppf(0.05, events, wanted - events + 1) / s.sum(), rel=1e-4)
    assert high == pytest.approx(wanted * beta.isf(0.05, events + 1, wanted - events) / s.sum(), rel=1e-4)


def test_equal_scores_have_clopper_and_pearsons_ends():
    y = np.arange(50) < 11
    low, high = risk.ratio_ends(np.full(50, 0.3), y, None, 0.05)
    wanted = clopper_pearson(np.array([11.0]), np.array([50.0]), 0.9)
    assert (low * 0.3, high * 0.3) == pytest.approx((wanted[0][0], wanted[1][0]))


@pytest.mark.parametrize(("wanted", "stated"), [("within", 1.0), ("outside", 2.0), ("outside", 0.5), ("within", 0.95)])
def test_events_needed_by_adding_up_poisson_chances(wanted, stated):
    def power(expected):
        count = np.arange(int(stated * expected * 3 + 60))
        low = np.append(0.0, scipy.stats.gamma.ppf(0.05, count[1:])) / expected
        high = scipy.stats.gamma.isf(0.05, count + 1) / expected
        inside, beyond = (low > 0.8) & (high < 1.25), (low > 1.25) | (high < 0.8)
        return float(poisson.pmf(count, stated * expected) @ (inside if wanted == "within" else beyond))

    needed = risk.events_needed(wanted, stated).events
    assert power(needed - 1) < 0.8
    for expected in (needed, needed + 1, needed + 7):
        assert power(expected) >= 0.8
        assert verdict_power(np.array([float(expected)]), wanted, stated)[0] == pytest.approx(power(expected))


@pytest.mark.parametrize(("wanted", "stated", "ratio"), [("within", 1.0, 1.011), ("within", 1.0065, 1.016),
                                                         ("outside", 1.0195, 1.01)])  # fmt: skip
def test_very_many_events_have_the_power_of_their_poisson_law(wanted, stated, ratio):
    needed = risk.events_needed(wanted, stated, ratio).events
    assert needed > 65_536
    less, enough = verdict_power(np.array([0.98 * needed, needed]), wanted, stated, ratio)
    assert less < 0.798 < enough
    assert enough == pytest.approx(0.8, abs=0.002)
    if stated == 1:
        powers = lasting_power(np.array([0.0, needed / 2, needed]), ratio, 0.9, 0.0)
        assert powers[0] == 0
        assert powers[1] == pytest.approx(verdict_power(np.array([needed / 2]), wanted, stated, ratio)[0], abs=0.005)
        assert powers[2] == pytest.approx(0.8, abs=1e-4)


def test_events_needed_refuses_what_no_number_shows():
    with pytest.raises(NotAnswerable, match=r"1\.3 is not within 0\.8 to 1\.25"):
        risk.events_needed("within", 1.3)
    with pytest.raises(NotAnswerable, match="close to the tolerance"):
        risk.events_needed("within", 1.249999)
    with pytest.raises(InputError, match="above 1"):
        risk.events_needed(ratio=0.8)
    found = risk.events_needed("outside", 2.0, concentration=0.4, event_rate=0.05)
    assert found.events == np.ceil(0.6 * risk.events_needed("outside", 2.0).events)
    assert found.rows == found.events * 20
    assert "2 is found outside 0.8 to 1.25 in 80 % of samples" in found.sentence


def test_scores_equal_scikit_learns():
    s, y = sample(300, seed=4)
    s = s.round(2).clip(0.01, 0.99)
    found = risk.scores(predictions(s, y)).set_index("measure")
    assert found.loc["brier", "value"] == pytest.approx(brier_score_loss(y, s))
    assert found.loc["log-loss", "value"] == pytest.approx(log_loss(y, s))
    assert found.loc["auroc", "value"] == pytest.approx(roc_auc_score(y, s))
    a = y.mean()
    assert found.loc["scaled-brier", "value"] == pytest.approx(1 - brier_score_loss(y, s) / (a * (1 - a)))
    assert (found["low"] < found["value"]).all()
    assert (found["value"] < found["high"]).all()


def test_the_spline_is_linear_beyond_its_knots_and_smooth_at_them():
    knots = np.array([-2.0, -0.5, 0.3, 1.7])
    beyond = natural_spline(np.array([1.7, 3.0, 4.3, -2.0, -3.0, -4.0]), knots)[:, 2:]
    assert np.diff(beyond[:3], 2, axis=0) == pytest.approx(0, abs=1e-9)
    assert beyond[3:] == pytest.approx(0)
    step = 1e-4
    for knot in knots:
        around = natural_spline(knot + step * np.array([-1.5, -0.5, 0.5, 1.5]), knots)[:, 2:]
        assert np.diff(around, 2, axis=0) / step**2 == pytest.approx(
            np.zeros((2, 2)) + np.diff(around, 2, axis=0)[0] / step**2, abs=1e-3
        )


def test_the_spline_fit_solves_the_equations_of_maximum_likelihood():
    s, y = sample(400, seed=6)
    spline = Spline.of(Trials.of(s, y))
    design = natural_spline(log_odds(s), spline.knots)
    assert design.shape[1] == 4
    assert np.abs(design.T @ (y - expit(spline.line(s)))).max() < 1e-5


def test_a_vertex_of_loess_is_a_weighted_parabola():
    s, y = sample(120, seed=7)
    curve = loess(Trials.of(s, y))
    node = curve.nodes[2]
    away = np.abs(s - node)
    reach = np.sort(away)[int(0.75 * 120) - 1]
    weight = np.where(away < reach, (1 - (away / reach) ** 3) ** 3, 0)
    wanted = np.polyfit(s - node, y, 2, w=np.sqrt(weight))[2]
    assert curve.values[2] == pytest.approx(wanted, abs=1e-4)


# ---- laws --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_gap_ratio_and_intercept_exclude_calibration_together(seed):
    rng = np.random.default_rng(seed)
    s, y = sample(int(rng.integers(5, 300)), shift=rng.normal(0, 0.6), slope=rng.uniform(0.4, 1.6), seed=seed)
    found = risk.in_the_large(predictions(s, y), rng.uniform(0.5, 0.99))
    sides = {
        int(found.ratio_low > 1) - int(found.ratio_high < 1),
        int(found.intercept_low > 0) - int(found.intercept_high < 0),
        int(found.gap_low > 0) - int(found.gap_high < 0),
    }
    assert len(sides) == 1
    assert found.differs == (found.p_value <= 0.05)
    assert found.observed_low <= found.observed <= found.observed_high


def test_those_cases_have_both_answers():
    excluded = [risk.in_the_large(predictions(*sample(150, shift=shift, seed=9))).differs for shift in (-1.0, 0.0, 1.0)]
    assert excluded == [True, False, True]


def test_the_other_event_has_the_mirrored_answer():
    s, y = sample(200, shift=0.5, seed=10)
    p = predictions(s, y)
    first, second = risk.in_the_large(p), risk.in_the_large(p.with_event(0))
    assert second.event == "0"
    assert second.gap == pytest.approx(-first.gap)
    assert second.intercept == pytest.approx(-first.intercept, abs=1e-7)
    assert (second.slope, second.slope_low, second.slope_high) == pytest.approx(
        (first.slope, first.slope_low, first.slope_high), abs=1e-6
    )


def test_whole_weights_are_copies_and_order_does_not_matter():
    s, y = sample(150, seed=11)
    copies = np.random.default_rng(0).integers(0, 4, 150)
    weighted = risk.summary(predictions(s, y, weights=copies))
    written = risk.summary(predictions(np.repeat(s, copies), np.repeat(y, copies)))
    pd.testing.assert_frame_equal(weighted, written, atol=1e-6, rtol=1e-6)
    order = np.random.default_rng(1).permutation(150)
    plain, turned = risk.summary(predictions(s, y)), risk.summary(predictions(s[order], y[order]))
    pd.testing.assert_frame_equal(plain, turned, atol=1e-9, rtol=1e-9)


def test_a_summary_answers_as_its_rows_but_for_its_cells():
    s, y = sample(500, seed=12)
    rows, cells = risk.summary(predictions(s, y)), risk.summary(Summary.of(predictions(s, y)))
    exact = ["mean-predicted", "observed", "gap", "ratio", "brier", "log-loss"]
    for name, slack in (*((name, 1e-9) for name in exact), ("intercept", 1e-4), ("slope", 0.01), ("auroc", 1e-3)):
        first, second = (table.set_index("measure").loc[name, "value"] for table in (rows, cells))
        assert second == pytest.approx(first, abs=slack), name
    assert not risk.in_the_large(Summary.of(predictions(s, y))).tested


def test_weights_that_are_not_whole_keep_points_and_are_no_tested_interval():
    s, y = sample(200, seed=13)
    weights = np.random.default_rng(2).gamma(2.0, 1.0, 200)
    found = risk.in_the_large(predictions(s, y, weights=weights))
    assert found.ratio == pytest.approx(weights @ y / (weights @ s))
    assert not found.tested
    assert 0 < found.p_value < 1
    plain = risk.in_the_large(predictions(s, y))
    assert plain.tested
    assert found.ratio_high - found.ratio_low > plain.ratio_high - plain.ratio_low
    equal = risk.in_the_large(predictions(s, y, weights=np.full(200, 0.5)))
    assert (equal.ratio_low, equal.ratio_high) == pytest.approx((plain.ratio_low, plain.ratio_high))


@pytest.mark.parametrize("heavy", [0.02, 0.5])
def test_weights_widen_the_ratio_by_where_the_events_are(heavy):
    """The events equal the prediction: the interval is about that of a sum of independent rows, by hand."""
    s = np.repeat([0.02, 0.5], [3600, 400])
    y = np.r_[np.arange(3600) % 50 == 0, np.arange(400) % 2 == 0]
    w = np.where(s == heavy, 6.1, 0.3)
    found = risk.in_the_large(predictions(s, y, weights=w))
    half = norm.isf(0.05) * np.sqrt(np.square(w) @ (s * (1 - s))) / (w @ s)
    assert found.ratio == pytest.approx(1)
    assert (found.ratio_high - found.ratio_low) / 2 == pytest.approx(half, rel=0.05)


def test_rows_of_a_group_widen_the_ratio_and_the_slope():
    s, y = sample(40, seed=14)
    alone = risk.in_the_large(predictions(np.repeat(s, 6), np.repeat(y, 6)))
    grouped = risk.in_the_large(predictions(np.repeat(s, 6), np.repeat(y, 6), groups=np.repeat(np.arange(40), 6)))
    assert grouped.ratio == alone.ratio
    assert grouped.ratio_high - grouped.ratio_low > 1.5 * (alone.ratio_high - alone.ratio_low)
    assert grouped.slope_high - grouped.slope_low > 1.5 * (alone.slope_high - alone.slope_low)
    assert grouped.p_value > alone.p_value
    single = risk.in_the_large(predictions(s, y))
    assert grouped.slope_high - grouped.slope_low > 0.8 * (single.slope_high - single.slope_low)
    curve = risk.smooth_curve(predictions(np.repeat(s, 6), np.repeat(y, 6), groups=np.repeat(np.arange(40), 6)))
    assert np.isnan(curve.low).all()
    assert "groups" in curve.note


# ---- results -----------------------------------------------------------------------------------------------


def test_the_table_has_a_line_for_every_measure():
    table = risk.summary(predictions(*sample(200)))
    assert tuple(table.columns) == COLUMNS
    assert table["measure"].tolist() == MEASURES
    assert table.set_index("measure")["reference"].dropna().to_dict() == {
        **dict.fromkeys(["gap", "intercept", "ici", "e50", "e90", "emax"], 0.0), "ratio": 1.0, "slope": 1.0,
    }  # fmt: skip
    within = table[table["low"].notna()]
    assert len(within) == 12
    assert ((within["low"] <= within["value"]) & (within["value"] <= within["high"])).all()
    assert "ratio" in risk.in_the_large(predictions(*sample(200))).frame()["measure"].tolist()


def test_the_verdict_on_the_ratio():
    few, twice = predictions(*sample(60, seed=1)), predictions(*sample(2000, shift=1.0, seed=1))
    many = predictions(*sample(8000, seed=1))
    words = [risk.ratio_verdict(risk.in_the_large(p)).word for p in (few, twice, many)]
    assert words == ["undecided", "outside", "within"]
    assert risk.ratio_verdict(risk.in_the_large(many), 1.01).word == "undecided"
    with pytest.raises(InputError, match="above 1"):
        risk.ratio_verdict(risk.in_the_large(few), 1.0)


def test_a_curve_that_is_off_is_far_from_its_floor_and_a_calibrated_one_is_not():
    off = risk.smooth_curve(predictions(*sample(800, slope=0.4, seed=2))).distances.set_index("measure").loc["ici"]
    calm = risk.smooth_curve(predictions(*sample(800, seed=2))).distances.set_index("measure").loc["ici"]
    assert off["floor"] < off["low"] < off["value"] < off["raw"]
    assert calm["low"] == 0
    assert 0 <= calm["value"] < calm["floor"]


def test_the_curve_is_drawn_where_rows_are_and_has_knots_by_events():
    s, y = sample(1000, seed=3)
    curve = risk.smooth_curve(predictions(s, y), intervals=False)
    assert (s < curve.score[0]).sum() >= 9
    assert (s > curve.score[-1]).sum() >= 9
    assert ((curve.low <= curve.observed) & (curve.observed <= curve.high)).all()
    assert curve.frame().columns.tolist() == ["score", "observed", "low", "high"]
    knots = [risk.smooth_curve(predictions(*sample(n, seed=1)), intervals=False).knots for n in (40, 120, 800)]
    assert knots == [2, 3, 4]


def test_what_is_no_level_and_no_method_is_refused():
    p = predictions(*sample(50))
    for ask in (risk.in_the_large, risk.smooth_curve, risk.scores, risk.summary):
        with pytest.raises(InputError, match="level is"):
            ask(p, 1.5)
    with pytest.raises(InputError, match="method is 'kernel'"):
        risk.smooth_curve(p, method="kernel")
    with pytest.raises(NotAnswerable, match="an event needs two classes"):
        risk.summary(Predictions([[0.2, 0.3, 0.5]], [0]))


EDGES = {
    "no event": ([0.1, 0.2] * 10, [0] * 20),
    "all events": ([0.1, 0.2] * 10, [1] * 20),
    "one row": ([0.3], [1]),
    "two rows": ([0.3, 0.6], [1, 0]),
    "equal risks": ([0.3] * 30, [1, 0, 0] * 10),
    "risks of 0 and 1": ([0.0, 1.0, 0.4] * 10, [0, 1, 0] * 10),
    "impossible events": ([0.0, 1.0] * 10, [1, 0] * 10),
    "all risks 0": ([0.0] * 10, [0] * 10),
    "all risks 0, an event": ([0.0] * 10, [0] * 9 + [1]),
    "all risks 1": ([1.0] * 10, [1] * 10),
    "separated": ([0.1, 0.2, 0.8, 0.9] * 8, [0, 0, 1, 1] * 8),
    "separated the wrong way": ([0.1, 0.2, 0.8, 0.9] * 8, [1, 1, 0, 0] * 8),
    "tiny risks": ([1e-300, 1e-12, 1e-9] * 20, [0] * 59 + [1]),
    "one event": (list(np.linspace(0.01, 0.5, 40)), [0] * 39 + [1]),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", EDGES)
def test_every_number_is_one_or_has_a_reason(name):
    p = predictions(*EDGES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = risk.summary(p).set_index("measure")
        for method in ("spline", "loess", "lowess"):
            if len(set(EDGES[name][0])) == 1:
                with pytest.raises(NotAnswerable, match="risks are equal"):
                    risk.smooth_curve(p, method=method)
                continue
            curve = risk.smooth_curve(p, method=method)
            assert np.isfinite(curve.observed).all()
    assert table.loc[table["value"].isna() & (table.index != "ratio"), "note"].ne("").all()
    assert table.loc["observed", ["low", "high"]].notna().all()
    found = table[table["low"].notna() & table["value"].notna()]
    assert ((found["low"] <= found["value"] + 1e-12) & (found["value"] <= found["high"] + 1e-12)).all()


def test_no_event_has_an_upper_end_only():
    found = risk.in_the_large(predictions(*EDGES["no event"]))
    assert (found.ratio, found.ratio_low, found.intercept, found.intercept_low) == (0.0, 0.0, -np.inf, -np.inf)
    # The exact end is 1 - .05^(1/20) = .139; 0 of 20 does not exclude the mean risk, which is beyond it.
    assert found.observed_high == found.mean_predicted == pytest.approx(0.15)
    assert np.isnan(found.slope)
    assert found.slope_low < found.slope_high
    assert "needs an event: none was observed" in found.frame()["note"].tolist()


def test_few_events_have_an_interval_of_the_slope_and_no_point():
    four = risk.in_the_large(predictions(np.linspace(0.01, 0.5, 40), [0] * 34 + [1, 0, 1, 0, 1, 1]))
    assert np.isnan(four.slope)
    assert "needs at least 5 events" in four.slope_note
    assert four.frame().set_index("measure").loc["slope", ["value", "low", "high"]].isna().all()
    apart = risk.in_the_large(predictions(*EDGES["separated"]))
    assert "separate" in apart.slope_note
    assert 0 < apart.slope_low < apart.slope < apart.slope_high < np.inf


def test_points_lie_in_their_intervals_in_random_data():
    """The lines are all those of a summary; with Firth's profile only, a maximum likelihood slope can be outside."""
    outside = 0
    for run in range(12):
        rng = np.random.default_rng([4, run])
        n, spread = int(rng.choice([30, 50, 200])), float(rng.choice([1, 2, 4]))
        x = rng.normal(rng.choice([-2, 0]), spread, n)
        s, y = expit(x), rng.random(n) < expit(rng.choice([0.7, 1.5, 3.0]) * x)
        if 0 < y.sum() < n:
            outside += _outside(s, y)
    outside += _outside(*_steep())
    assert outside, "the falsified twin: Firth's profile alone holds every point here"


def _steep():
    """Return few rows whose slope by maximum likelihood is beyond Firth's profile."""
    for run in range(400):
        rng = np.random.default_rng([4, 6, run])
        x = rng.normal(0, 4, 50)
        s, y = expit(x), rng.random(50) < expit(1.5 * x)
        found = risk.in_the_large(predictions(s, y))
        trials = trials_of_fit(Trials.of(s, y))
        _, low, high = slope_profile(trials.x, trials.rows, trials.events, 0.9)
        if np.isfinite(found.slope) and not low <= found.slope <= high:
            return s, y
    raise AssertionError("none found")


def _outside(s, y):
    found = risk.summary(predictions(s, y), intervals=False)
    shown = found[found[["value", "low", "high"]].notna().all(axis=1) & np.isfinite(found["value"])]
    assert (shown["low"] <= shown["value"] + 1e-12).all(), shown
    assert (shown["value"] <= shown["high"] + 1e-12).all(), shown
    large, trials = risk.in_the_large(predictions(s, y)), trials_of_fit(Trials.of(s, y))
    _, low, high = slope_profile(trials.x, trials.rows, trials.events, 0.9)
    return bool(np.isfinite(large.slope) and not low <= large.slope <= high)


def test_the_floor_of_log_odds_is_said():
    found = risk.in_the_large(predictions(*EDGES["risks of 0 and 1"]))
    assert "20 rows have a risk of exactly 0 or 1" in found.slope_note


def test_the_intercept_solves_its_equation():
    s, y = sample(100, shift=0.4, seed=8)
    trials = Trials.of(s, y)
    assert expit(logit(s) + intercept_at(trials, float(y.sum()))).sum() == pytest.approx(y.sum(), abs=1e-6)
    assert intercept_at(trials, trials.expected) == pytest.approx(0, abs=1e-8)


def test_rows_of_no_weight_are_no_rows():
    s, y = sample(60, seed=5)
    weights = np.r_[np.ones(50), np.zeros(10)]
    assert len(EventRows.of(predictions(s, y, weights=weights)).scores) == 50
    part = risk.in_the_large(predictions(s[:50], y[:50]))
    assert risk.in_the_large(predictions(s, y, weights=weights)).ratio_low == pytest.approx(part.ratio_low)
    both = predictions(s, y, weights=weights, groups=np.arange(60) // 3)
    assert np.isfinite(risk.in_the_large(both).ratio_low)


def test_a_slope_of_few_groups_has_neither_interval_nor_p_value():
    rng = np.random.default_rng(0)
    x = rng.normal(-1.0, 1.5, 600)
    stated = expit(2.0 * x)
    died = (rng.random(600) < expit(x)).astype(int)
    probs = np.column_stack([1 - stated, stated])
    alone, grouped = (risk.in_the_large(Predictions(probs, died, groups=g)) for g in (None, np.arange(600) // 75))
    assert alone.slope_p < 1e-6
    assert [np.isnan(number) for number in (grouped.slope_low, grouped.slope_high, grouped.slope_p)] == [True] * 3
    assert "fewer than 10 groups" in grouped.slope_note
