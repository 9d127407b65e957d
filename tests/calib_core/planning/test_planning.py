"""Plans: values by hand, inverses and back, slow twins, simulated guarantees with falsified twins, refusals."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom

import calib_core as cc
from calib_core import NotAnswerable, Predictions
from calib_core.inference.intervals.interval_methods import highs_of_most
from calib_core.planning import PLANS, Plan, answer, answers, balance_in_use
from calib_core.planning.external_validation import calibrated_auroc
from calib_core.registry.registry import Choice, params_of

NEEDS_SCORES = {"error-interval", "within"}
NUMBERS = {"rows": 1000, "classes": 4, "accuracy": 0.9, "rarest": 0.1}


def drawn(n, seed, bend=1.0, groups=None, weights=None):
    """Return binary rows with labels drawn from their probabilities; with ``bend`` below 1 stated too near to 1."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.5, 1.0, n)
    says = 1.0 - bend * (1.0 - truth)
    labels = (rng.random(n) > truth).astype(int)
    return Predictions(np.column_stack([says, 1.0 - says]), labels, groups=groups, weights=weights)


def confidences(n, seed):
    """Return calibrated confidences and whether they were right: no event, so the error is the only tolerance."""
    scores = np.random.default_rng(seed).uniform(0.5, 1.0, n)
    return Predictions.from_confidence(scores, np.random.default_rng(seed + 1).random(n) < scores)


def filled(key, **params):
    entry = PLANS[key]
    known = {name: value for name, value in NUMBERS.items() if entry.has(name)}
    return PLANS.make(key, **{**known, **params})


# ---- by hand -----------------------------------------------------------------------------------------------


def test_histogram_binning_by_hand():
    found = answer(filled("histogram-binning", points=50, rows=5000))
    assert found.bound == pytest.approx(np.sqrt(np.log(2 * 100 / 0.1) / 98))
    every, new, mean = (curve[0] for curve in found.plan.curves(np.array([50.0])).values())
    assert (every, mean) == (pytest.approx(found.bound), pytest.approx(0.1))
    assert new == pytest.approx(np.sqrt(np.log(20) / 98))
    assert "within 10 points, each bin needs 293 calibration rows: at most 17 bins" in found.inverse


def test_class_wise_shares_the_chance_of_failure_among_the_classes():
    every = answer(filled("histogram-binning", notion="class-wise", classes=4, rows=5000, points=50)).bound
    assert every == pytest.approx(np.sqrt(np.log(2 * 100 / (0.1 / 4)) / 98))
    assert every == pytest.approx(cc.guarantees.class_wise_bounds([50] * 4, 5000, [0.025] * 4).ece)


def test_the_rarest_class_decides_how_many_rows_it_takes():
    sentence = answer(filled("histogram-binning", rows=100_000, rarest=0.1)).inverse
    # k = n / 10 rows in a bin, n / k = 10 bins: sqrt(log(200) / (2 (k - 1))) <= .1 from k = 266 on.
    enough = (k for k in range(2, 5000) if np.log(200) <= 0.02 * (k - 1))
    assert 10 * next(enough) == 2660
    assert "about 2,700 rows" in sentence
    assert "it has no guarantee" in answer(filled("histogram-binning", rows=400, rarest=0.1)).sentence


def test_a_headline_promises_nothing_for_a_class_that_fills_no_bin():
    few = answer(filled("histogram-binning", rows=400, points=50, rarest=0.1)).sentence
    headline = few.split(". ")[0]
    assert "the outputs for classes predicted at least 50 times" in headline
    assert "every output" not in few
    assert "a single new row of such a class" in few
    assert "The calibration error of such classes varies" in few
    enough = answer(filled("histogram-binning", rows=500, points=50, rarest=0.1)).sentence
    every, error, *new = enough.split(". ")
    assert "every output is within" in every
    assert error == f"The calibration error is then at most {re.search(r'within ([0-9.]+ points)', every)[1]}"
    assert "such" not in " ".join(new)


def test_balance_is_not_promised_for_tied_scores():
    scores = np.linspace(0.5, 0.9, 1000)
    ones = np.ones(1000, dtype=int)
    free = answer("balance", Predictions.from_confidence(scores, ones))
    assert free.plan.tied == 0.0
    assert free.sentence == answer(PLANS.make("balance", rows=1000)).sentence
    tied = answer("balance", Predictions.from_confidence(np.where(np.arange(1000) < 250, 0.5, scores), ones))
    assert tied.plan.tied == 0.25
    assert "no guarantee for these rows: 25 % of them" in tied.sentence.split(". ")[0]
    assert "without ties" in tied.inverse
    assert answer(PLANS.make("balance", tied=0.0), Predictions.from_confidence(np.full(1000, 0.7), ones)).sentence == (
        free.sentence
    )


@pytest.mark.parametrize(("rate", "rows"), [(0.05, 137), (0.01, 499), (0.2, 3000)])
def test_the_curve_of_rows_held_out_says_at_every_number_what_holds_there(rate, rows):
    plan = PLANS.make("miscoverage", rows=rows, rate=rate)
    places = plan.grid()
    every = np.arange(1.0, min(500, places[-1]) + 1)
    name = "the threshold of Ma and Blaschko"
    drawn_there = np.interp(every, places, plan.curves(places)[name])
    np.testing.assert_allclose(drawn_there, plan.curves(every)[name], atol=0.01)
    assert np.interp(rows, places, plan.curves(places)[name]) == plan.curves(np.array([float(rows)]))[name][0]
    assert len(places) < 1000
    sparse = np.unique(np.round(np.geomspace(1, 500, 60)))  # the twin: few places have another result in between
    assert np.abs(np.interp(every, sparse, plan.curves(sparse)[name]) - plan.curves(every)[name]).max() > 0.05


@pytest.mark.parametrize("key", ["histogram-binning", "miscoverage", "abstaining-gain"])
def test_a_click_anywhere_plans_the_nearest_place_drawn(key):
    rows = drawn(400, 1)
    curve = cc.diagrams.plan_curve(key, rows, rows)
    columns = cc.figures.plan_curve(curve).layout.meta["columns"]
    plan, along = curve.answer.plan, np.log10 if curve.answer.plan.counts else np.asarray
    places = np.array([column["record"]["amount"] for column in columns])
    assert set(places) <= set(curve.amounts)
    assert [column["record"]["amount"] for column in columns if column["here"]] == [plan.amount]
    assert all(left["high"] == right["low"] for left, right in itertools.pairwise(columns))
    widths = [column["high"] - column["low"] for column in columns]
    assert min(widths) > 0.002 * float(along(curve.amounts[-1]) - along(curve.amounts[0]))
    for place in np.linspace(float(along(curve.amounts[0])), float(along(curve.amounts[-1])), 97):
        found = next(column["record"]["amount"] for column in columns if column["low"] <= place <= column["high"])
        assert abs(along(found) - place) == pytest.approx(np.abs(along(places) - place).min())


def test_growth_is_told_in_ratios_alone():
    found = answer(PLANS.make("scaling-binning", bins=20, error=0.1))
    size = [b * np.log(b) + np.log(b) / 0.01 for b in (20, 10)]
    assert found.bound == pytest.approx(size[0] / size[1])
    assert found.needed is None
    assert not found.inverse
    assert answer(PLANS.make("scaling-binning", bins=10)).bound == 1.0


def test_the_debiased_estimate_grows_with_the_root_of_the_bins():
    found = answer(PLANS.make("estimating", bins=40, risk=0.1))
    grows = np.log(400) / np.log(100)
    curves = [curve[0] for curve in found.plan.curves(np.array([40.0])).values()]
    assert curves == [pytest.approx(2 * grows), pytest.approx(4 * grows)]
    assert answer(PLANS.make("estimating", bins=10)).bound == 1.0


def test_rows_held_out_by_hand():
    found = answer(PLANS.make("miscoverage", rows=200))
    assert found.needed == 59  # .95 ** 59 <= .05 < .95 ** 58
    chance = sum(binom.pmf(j, 200, 0.95) for j in range(196, 201))
    assert "number 196 of 200" in found.sentence
    assert f"with probability {100 * chance:.1f} %" in found.sentence
    assert "at most 500" in answer(PLANS.make("miscoverage", rows=20, rate=0.001)).inverse
    assert "No threshold" in answer(PLANS.make("miscoverage", rows=58)).sentence
    assert "withholds nothing" in answer(PLANS.make("miscoverage", rows=8)).sentence


def test_rates_and_what_abstaining_gains_by_hand():
    found = answer(PLANS.make("abstaining-rates", rate=0.05, rows=1000, error=0.02))
    assert 2 * np.exp(-1000 * found.bound**2 / (2 * 0.05 * 0.95)) == pytest.approx(0.1)
    assert found.needed == np.ceil(2 * 0.05 * 0.95 * np.log(20) / 0.02**2)
    gain = answer(PLANS.make("abstaining-gain", accuracy=0.9, classes=10, withheld=0.1, missed=0.4))
    assert gain.bound == pytest.approx((0.9 * 0.9 + 0.4 * 0.1) * 0.1 / 10)
    assert gain.needed is None


def test_the_interval_of_a_share_by_hand():
    found = answer(PLANS.make("accuracy-interval", accuracy=0.9, rows=100, level=0.9))
    assert found.bound == pytest.approx(beta.ppf(0.95, 91, 10) - beta.ppf(0.05, 90, 11))


def test_balanced_bins_by_hand():
    # Two bins of nine rows, divided at the fifth: one has less than a quarter if it is below .25, or above .75.
    below = binom.sf(4, 9, 0.25)
    assert answer(PLANS.make("balance", bins=2, rows=9)).bound == pytest.approx(2 * below)


# ---- inverses ----------------------------------------------------------------------------------------------

WANTED = st.sampled_from([0.005, 0.01, 0.02, 0.05, 0.1, 0.2])


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(set(PLANS) - NEEDS_SCORES - {"verified", "balance"})), WANTED, st.integers(2, 50_000))
def test_what_is_needed_is_enough_and_one_less_is_not(key, wanted, rows):
    name = PLANS[key].cls.wanted
    if not name or not PLANS[key].has("rows"):
        return
    found = answer(filled(key, rows=rows, **{name: wanted}))
    if found.needed is None:  # all rows in one bin are too few
        assert key == "histogram-binning"
        assert found.plan.curves(np.array([float(rows)]))["all outputs at once"][0] > wanted
        return
    here, less = next(iter(found.plan.curves(np.array([found.needed, max(found.needed - 1, 1)])).values()))
    assert here <= wanted + 1e-12
    assert less > wanted or found.needed <= 2
    frame = cc.diagrams.plan_curve(found.plan).frame()
    marks = frame[frame["curve"] == "needed"][["amount", "bound"]].to_numpy()
    np.testing.assert_allclose(marks, [[found.needed, wanted]])


def test_rows_for_balance_are_enough():
    found = answer(PLANS.make("balance", bins=12, rows=50, risk=0.01))
    chance = found.plan.curves(np.array([found.needed, 0.9 * found.needed]))["chance of unbalanced bins"]
    assert chance[0] <= 0.01 < chance[1]


def test_beyond_what_was_measured_bounds_fall_with_the_root_of_the_rows():
    plan = answer("within", test=confidences(100, 6)).plan
    (first, _), (last, high) = plan.measured[0], plan.measured[-1]
    (here, far, least, few) = plan.curves(np.array([last, 4 * last, first, first / 4]))["upper end in 8 of 10 samples"]
    assert here == pytest.approx(high)
    assert far == pytest.approx(here / 2)
    assert few == pytest.approx(min(1.0, 2 * least))


@pytest.mark.parametrize("key", PLANS)
def test_the_marks_lie_on_the_curve_and_the_frame_is_all_that_is_drawn(key):
    rows = drawn(400, 1)
    curve = cc.diagrams.plan_curve(key, rows, rows)
    frame = curve.frame()
    first = frame[frame["curve"] == curve.names[0]]
    for name in ("planned", "needed"):
        for amount in frame[frame["curve"] == name]["amount"]:
            assert (first["amount"] == amount).any()
    drawn_points = [
        (x, y) for trace in cc.figures.plan_curve(curve).data for x, y in zip(trace.x, trace.y, strict=True)
    ]
    assert sorted(drawn_points) == sorted(zip(frame["amount"], frame["bound"], strict=True))
    rising = key == "within"  # shares of samples: these rows have an event
    assert np.all(np.diff(first["bound"]) * (-1 if rising else 1) <= 1e-9) or key in (
        "balance",
        "scaling-binning",
        "estimating",
        "abstaining-gain",
    )
    assert curve.answer.bound == pytest.approx(first[first["amount"] == curve.answer.amount]["bound"].iloc[0])


# ---- values from the data ----------------------------------------------------------------------------------


def test_numbers_left_open_are_those_of_the_data():
    fit, test = drawn(300, 2), drawn(500, 3)
    found = {key: answer(key, fit, test).plan for key in PLANS}
    assert (found["balance"].rows, found["within"].rows) == (300, 500)
    assert found["abstaining-gain"].accuracy == pytest.approx(test.correct.mean())
    assert found["miscoverage"].rows == int(fit.correct.sum() / 10)
    assert found["abstaining-rates"].rows == test.correct.sum()
    three = Predictions(np.eye(3)[[0] * 6 + [1] * 3 + [2]], [0] * 10)
    assert answer("histogram-binning", three, three).plan.rarest == pytest.approx(0.1)
    assert answer(PLANS.make("balance", rows=77), fit, test).plan.rows == 77
    weighted = three.replace(weights=[1.0] * 9 + [5.0])
    assert answer(PLANS.make("histogram-binning", rows=10), weighted).plan.rarest == pytest.approx(3 / 14)


OF_CALIBRATION, OF_TEST = "rows of calibration", "rows of test"
TAKEN = {
    "histogram-binning": {"rows": OF_CALIBRATION, "classes": "classes", "rarest": "rarest class predicted"},
    "balance": {"rows": OF_CALIBRATION, "tied": "share of equal confidences"},
    "scaling-binning": {},
    "estimating": {},
    "accuracy-interval": {"rows": OF_TEST, "accuracy": "share right"},
    "error-interval": {"rows": OF_TEST},
    "within": {"rows": OF_TEST, "error": "tolerance", "ratio": "nothing: three classes have no event"},
    "verified": {"rows": OF_TEST, "accuracy": "mean output", "error": "tolerance"},
    "miscoverage": {"rows": "a tenth of the right rows of calibration"},
    "abstaining-rates": {"rows": {"withheld": "right rows of test", "right": OF_TEST}},
    "abstaining-gain": {"accuracy": "share right", "classes": "classes"},
    "validation": {
        "rows": OF_TEST,
        "event_rate": "mean risk of an event",
        "auroc": "AUROC of a calibrated risk",
        "alpha": "nothing: the risks are those of the rows",
        "beta": "nothing: the risks are those of the rows",
    },
}
"""Values that each plan takes from the data by default, by the choice that determines them, if there is one."""


def test_every_plan_takes_from_the_data_what_it_is_about_whatever_else_is_chosen():
    rng = np.random.default_rng(4)

    def three(n):
        probs = rng.dirichlet([4.0, 2.0, 0.5], n).round(2)
        return Predictions(probs, rng.integers(0, 3, n))

    fit, test, risk = three(300), three(500), drawn(500, 3)
    risks = risk.probs[:, risk.event]
    ties = np.unique(fit.confidence, return_counts=True)[1]
    known = {
        OF_CALIBRATION: 300,
        OF_TEST: 500,
        "classes": 3,
        "rarest class predicted": np.bincount(fit.predicted).min() / 300,
        "share of equal confidences": ties[ties > 1].sum() / 300,
        "share right": test.correct.mean(),
        "tolerance": 0.07,
        "nothing: three classes have no event": None,
        "nothing: the risks are those of the rows": None,
        "mean risk of an event": risks.mean(),
        "AUROC of a calibrated risk": calibrated_auroc(risks, np.full(500, 1 / 500)),
        "mean output": test.confidence.mean(),
        "a tenth of the right rows of calibration": fit.correct.sum() // 10,
        "right rows of test": test.correct.sum(),
    }
    for key in PLANS:
        params = params_of(type(PLANS.make(key)))
        open_ones = {param.name for param in params if param.default is None}
        assert open_ones == TAKEN[key].keys(), key
        choices = [{}] + [
            {p.name: option} for p in params if isinstance(p.domain, Choice) for option in p.domain.options
        ]
        for chosen in choices:
            given = (risk, risk) if key == "validation" else (fit, test)
            plan = answer(PLANS.make(key, **chosen), *given, tolerance=0.07).plan
            for name, what in TAKEN[key].items():
                wanted = known[what if isinstance(what, str) else what[next(iter(chosen.values()), "withheld")]]
                assert getattr(plan, name) == (wanted and pytest.approx(wanted, rel=1e-3)), (key, chosen, name)
    two = drawn(200, 3)
    assert answer("within", two, two, ratio=1.6).plan.ratio == 1.6
    assert answer(PLANS.make("within", ratio=1.3), two, two, ratio=1.6).plan.ratio == 1.3


def test_what_nobody_says_is_refused_by_name():
    frame = answers()
    assert frame["key"].tolist() == list(PLANS)
    assert (frame["note"] != "").sum() == len(PLANS) - 2
    with pytest.raises(NotAnswerable, match=r"^“Number of calibration rows” \(rows\) is missing; "):
        answer("balance")
    with pytest.raises(NotAnswerable, match="a file of predictions is needed"):
        answer(PLANS.make("within", rows=100))


@pytest.mark.parametrize("key", ["histogram-binning", "balance", "miscoverage", "within", "verified"])
def test_rows_that_belong_together_are_not_counted_as_independent(key):
    rows = drawn(400, 4, groups=np.arange(400) // 4)
    with pytest.raises(NotAnswerable, match="belong to 100 groups"):
        answer(key, rows, rows)
    if key in ("histogram-binning", "balance"):
        assert answer(filled(key), rows, rows).amount


def test_weighted_rows_fill_no_theorem_but_are_worth_what_they_are():
    weights = np.where(np.arange(400) < 200, 0.5, 1.5)
    rows = drawn(400, 5, weights=weights)
    with pytest.raises(NotAnswerable, match="weighted"):
        answer("balance", rows, rows)
    assert answer("within", rows, rows).plan.rows == int(rows.effective_rows) == 320


# ---- simulated guarantees, and their falsified twins ---------------------------------------------------------


def share_within(n, error, runs):
    """Return how often a calibrated model of n rows is shown to be within."""
    shown = 0
    for run in range(runs):
        shown += cc.inference.primary(confidences(n, 1000 + run)).estimate.interval().high < error
    return shown / runs


def test_with_the_rows_needed_a_calibrated_model_is_shown_within_in_eight_of_ten_samples():
    plan = answer(PLANS.make("within", error=0.05), test=confidences(300, 6)).plan
    # 0.8 and three standard errors of 40 samples; at half of the rows far fewer.
    needed = int(plan.needed())
    assert 0.6 <= share_within(needed, 0.05, 40) <= 0.98
    assert share_within(int(needed / 3), 0.05, 10) < 0.15
    assert share_within(int(needed * 3), 0.05, 8) > 0.8


@pytest.mark.wide
def test_fewer_rows_than_at_hand_are_enough_in_eight_of_ten_samples_too():
    """The twin takes the upper end of an eighth of the rows, and lets it grow as the root of fewer rows."""
    rows, error, runs = confidences(20_000, 3), 0.05, 120
    plan, question = answer("within", test=rows, tolerance=error).plan, cc.inference.primary(rows, error)
    (high,) = highs_of_most(question.estimate.question, [1 / 8], 0.9)
    twin = 20_000 / 8 * (high / error) ** 2
    least = 0.8 - 3 * np.sqrt(0.8 * 0.2 / runs)
    assert plan.needed() < 2_000
    assert share_within(plan.needed(), error, runs) >= least > share_within(int(twin), error, runs)
    # The curve and its answer change sides at this number.
    above, below = plan.curves(np.array([plan.needed() - 1.0, plan.needed()]))["upper end in 8 of 10 samples"]
    assert above >= error > below


def test_the_rows_needed_are_those_that_the_verdict_names():
    rows = confidences(200, 6)
    for error in (0.01, 0.05):
        named = cc.inference.primary(rows, error).estimate.verdict(error).rows_needed
        found = answer("within", test=rows, tolerance=error)
        assert found.limit == error
        assert found.needed == pytest.approx(named, rel=0.01)
        assert cc.text.rows(named) in found.inverse


# ---- an event has two tolerances ----------------------------------------------------------------------------


def risks(n, seed, middle):
    """Return the predicted risks of an event, and whether it happened: a calibrated model."""
    rng = np.random.default_rng(seed)
    risk = 1 / (1 + np.exp(-(middle + 0.9 * rng.standard_normal(n))))
    return Predictions(np.column_stack([1 - risk, risk]), (rng.random(n) < risk).astype(int))


RARE, TENTH, QUARTER = -4.0, -2.6, -1.3
OF_EVENTS = [(RARE, 0.02, "ratio"), (TENTH, 0.0275, "both"), (QUARTER, 0.04, "error")]
"""Logit of the middle risk, tolerance of the error, and the tolerance that decides."""


def sized(middle, error):
    return answer(PLANS.make("within", error=error), test=risks(1000, 0, middle)).plan


def shares_within(n, middle, error, runs):
    """Return the share of fresh samples of n rows within the error, within the ratio, and with the verdict "within"."""
    found = []
    for run in range(runs):
        verdict = cc.estimate(risks(n, 100 + run, middle), "event").verdict(error)
        found.append((verdict.high < error, verdict.ratio.word == "within", verdict.word == "within"))
    return np.mean(found, axis=0)


@pytest.mark.wide
@pytest.mark.parametrize(("middle", "error", "decides"), OF_EVENTS)
def test_with_the_rows_named_an_event_is_within_both_tolerances_in_eight_of_ten_samples(middle, error, decides):
    plan = sized(middle, error)
    assert plan.event.decides == decides
    runs = 60
    _, _, both = shares_within(plan.needed(), middle, error, runs)
    assert abs(both - 0.8) <= 3 * np.sqrt(0.8 * 0.2 / runs)


def test_the_rows_for_the_error_are_too_few_for_a_rare_event():
    plan = sized(RARE, 0.02)
    of_error, of_ratio, within = shares_within(1500, RARE, 0.02, 12)
    assert plan.event.rows_of_error < 1500
    assert (of_error, of_ratio, within) == (1, 0, 0)
    both, error, ratio = (curve[0] for curve in plan.curves(np.array([1500.0])).values())
    assert error > 0.95
    assert ratio < 0.01
    assert both == error * ratio


def test_where_both_decide_the_larger_of_the_two_numbers_is_too_small():
    plan = sized(TENTH, 0.0275)
    larger = max(plan.event.rows_of_error, plan.event.rows_of_ratio)
    assert plan.needed() > 1.05 * larger
    at_larger, at_needed = plan.curves(np.array([larger, plan.needed()], dtype=float))["within both tolerances"]
    assert at_larger < 0.75 < 0.799 < at_needed


def test_the_events_needed_are_those_that_the_verdict_names():
    for middle, error, decides in OF_EVENTS:
        rows = risks(1000, 0, middle)
        verdict = cc.estimate(rows, "event").verdict(error)
        plan = answer("within", test=rows, tolerance=error).plan
        assert plan.event.events == verdict.ratio.needed
        of_ratio = verdict.ratio.needed * verdict.ratio.rows / verdict.ratio.expected
        assert plan.event.rows_of_ratio == pytest.approx(of_ratio, abs=1)
        inverse = plan.inverse()
        assert cc.text.events(plan.event.events) in inverse
        assert cc.text.rows(plan.needed()) in inverse
        assert plan.needed() == pytest.approx(verdict.rows_needed, abs=1)
        words = f"Both tolerances together need about {cc.text.rows(plan.needed())} judged rows"
        assert (words in verdict.sentence) == (decides == "both"), "each tolerance alone has its number before"


@pytest.mark.parametrize(("middle", "ratio"), [(RARE, 1.2), (-1.3, 1.15), (0.0, 1.2)])
def test_the_events_and_the_rows_of_the_ratio_are_rounded_consistently(middle, ratio):
    """The number of rows in a sentence has the expected events of the same sentence, to two digits."""
    plan = answer("within", test=risks(1000, 0, middle), tolerance=0.02, ratio=ratio).plan
    inverse = plan.inverse().replace(",", "")
    number = float(re.search(r"(\d+)\)? expected events", inverse).group(1))
    assert plan.event.decides != "both"
    rows = float(re.search(r"events (?:are needed )?or about (\d+) rows", inverse).group(1))
    assert number == pytest.approx(plan.event.rows_of_ratio * plan.event.event_rate, abs=1)
    assert number - 1 <= rows * plan.event.event_rate <= 1.1 * number + 1


def test_rows_in_groups_have_the_same_reason_in_the_plan_and_in_the_verdict():
    rows = risks(1000, 0, TENTH)
    grouped = rows.replace(groups=np.arange(1000) // 4)
    with pytest.raises(NotAnswerable, match=r"unknown before outcomes are seen.*rows in groups need more"):
        answer("within", test=grouped, tolerance=0.02)
    sentence = cc.estimate(grouped, "event").verdict(0.02).sentence
    assert "independent judged rows" in sentence
    assert "Rows in groups need more" in sentence
    assert "groups" not in cc.estimate(rows, "event").verdict(0.02).sentence


def test_a_wider_ratio_needs_fewer_events_and_none_leaves_the_error():
    rows = risks(1000, 0, RARE)
    usual, wide = (answer("within", test=rows, ratio=ratio) for ratio in (1.25, 1.5))
    assert (
        wide.plan.event.events == cc.risk.events_needed(ratio=1.5, concentration=wide.plan.event.concentration).events
    )
    assert wide.needed < usual.needed / 2
    assert (usual.limit, usual.bound < 0.8) == (0.8, True)
    free = answer("within", test=rows, ratio=np.inf)
    assert (free.plan.event, free.limit) == (None, 0.02)
    never = Predictions([[1.0, 0.0]] * 50, [0] * 50)
    assert answer("within", test=never).plan.event is None


def test_few_outputs_are_verified_with_about_the_rows_told():
    plan = answer(PLANS.make("verified", bins=5, error=0.05), test=drawn(2000, 7))
    outputs = np.linspace(0.55, 0.95, 5)

    def shown(n):
        highs = []
        for run in range(25):
            rng = np.random.default_rng(run)
            says = outputs[rng.integers(0, 5, n)]
            right = (rng.random(n) < says).astype(int)
            rows = Predictions.from_confidence(says, right)
            highs.append(cc.estimate(rows, "confidence", "rmsce", "distinct").interval().high)
        return np.mean(np.array(highs) < 0.05)

    assert 0.15 <= shown(int(plan.needed)) <= 0.85
    assert shown(int(plan.needed / 3)) < 0.15


def test_the_interval_narrows_about_as_told():
    rows = drawn(500, 8, bend=0.5)
    told = answer(PLANS.make("error-interval", rows=8000), test=rows).bound
    line = cc.inference.primary(drawn(8000, 9, bend=0.5)).line
    assert 0.6 < (line.high - line.low) / told < 1.5


# ---- balance of the current bins -----------------------------------------------------------------------------


def of_shares(shares, n, seed):
    """Return confidences of ten bins with these shares of all rows."""
    rng = np.random.default_rng(seed)
    scores = (rng.choice(len(shares), n, p=shares) + rng.random(n)) / len(shares)
    return Predictions.from_confidence(scores, np.ones(n, dtype=int))


@pytest.mark.parametrize(("excess", "allowed"), [(1.02, 0.1), (0.98, 0.1)])
def test_balance_is_wrongly_called_in_at_most_a_tenth(excess, allowed):
    # One bin just beyond twice its equal share, or just short of it.
    first = excess * 2 / 5
    shares = np.append(first, np.full(4, (1 - first) / 4))
    found = [balance_in_use(of_shares(shares, 1500, seed), bins=5).balanced for seed in range(120)]
    wrong = np.mean([each is (excess > 1) for each in found])
    assert wrong <= allowed + 2 * np.sqrt(allowed * (1 - allowed) / 120)
    # The twin: shares taken for the truth are wrong about every other time.
    taken = [bool(balance_in_use(of_shares(shares, 1500, seed), bins=5).share[0] * 5 <= 2) for seed in range(120)]
    assert np.mean([each is (excess > 1) for each in taken]) > 0.1


def test_balance_says_which_it_is():
    even, skewed = np.full(5, 0.2), np.array([0.6, 0.1, 0.1, 0.1, 0.1])
    assert balance_in_use(of_shares(even, 2000, 1), bins=5).balanced is True
    assert balance_in_use(of_shares(skewed, 2000, 1), bins=5).balanced is False
    assert balance_in_use(of_shares(skewed, 12, 1), bins=5).balanced is None
    frame = balance_in_use(of_shares(even, 2000, 1), bins=5).frame()
    assert frame["rows"].sum() == 2000
    np.testing.assert_allclose(frame["times"], 5 * frame["share"])
    assert isinstance(frame, pd.DataFrame)


def test_bins_of_an_event_are_those_of_its_risk():
    risks = np.repeat([0.05, 0.15, 0.9], [60, 30, 10])
    found = balance_in_use(Predictions(np.column_stack([1 - risks, risks]), np.zeros(100, dtype=int)), bins=10)
    assert found.rows.tolist() == [60, 30, 0, 0, 0, 0, 0, 0, 0, 10]
    assert "bin of risks from" in found.sentence


def test_bins_that_follow_the_data_are_placed_on_calibration_rows():
    fit, test = drawn(1000, 10), drawn(1000, 11)
    found = balance_in_use(test, fit, "equal-mass")
    assert "bins in use (equal mass) are" in found.sentence or "bins in use (equal mass) may" in found.sentence
    assert "The 5 bins in use (equal width)" in balance_in_use(test, fit, 5).sentence
    edges = cc.BINNINGS.make("equal-mass").edges(np.sort(fit.probs[:, 1]), None)
    np.testing.assert_array_equal(found.lower[1:], edges)
    assert found.rows.tolist() == np.histogram(test.probs[:, 1], [0, *edges, 1])[0].tolist()
    with pytest.raises(NotAnswerable, match="set on calibration rows"):
        balance_in_use(test, bins="equal-mass")
    with pytest.raises(NotAnswerable, match="choose more bins"):
        balance_in_use(test, bins=1)
    with pytest.raises(NotAnswerable, match="weights"):
        balance_in_use(drawn(9, 1, weights=[0.5] * 8 + [5.0]))
    with pytest.raises(NotAnswerable, match="groups"):
        balance_in_use(drawn(8, 1, groups=np.arange(8) // 2))


def test_no_chance_is_rounded_up_to_certainty():
    sure = PLANS.make("balance", rows=100_000_000, bins=100).answer()
    assert sure.endswith(" with probability at least 99.99 %.")


def test_where_bins_are_too_small_nothing_is_promised() -> None:
    few = answer(PLANS.make("histogram-binning", notion="class-wise", points=2, rows=1000, classes=100)).sentence
    assert "points of the true frequency" not in few
    assert few.startswith("There is no guarantee for all outputs at once: bins of 2 rows are too small.")
    assert "There is no guarantee for the output for a new row." in few
    some = answer(PLANS.make("histogram-binning", notion="class-wise", points=5, rows=1000, classes=2)).sentence
    assert some.startswith("There is no guarantee for all outputs at once")
    assert "with probability at least 90 % over random calibration rows" in some
    assert "100 points" not in few + some


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (PLANS.make("miscoverage", rows=1), "set on 1 held-out correct row. No threshold"),
        (PLANS.make("miscoverage", rows=2), "set on 2 held-out correct rows. No threshold"),
        (PLANS.make("abstaining-rates", rows=1, error=0.01), "On 1 row, the"),
        (PLANS.make("abstaining-rates", rows=1, error=0.01), "1 point or less needs"),
        (PLANS.make("accuracy-interval", rows=50, accuracy=0.8, width=0.01), "at most 1 point needs"),
        (PLANS.make("histogram-binning", rows=10**9, points=50, error=0.01), "to be within 1 point, each bin"),
    ],
)
def test_one_is_said_in_the_singular(plan: Plan, words: str) -> None:
    found = answer(plan)
    assert words in f"{found.sentence} {found.inverse}"


@pytest.mark.parametrize("bins", [None, 4])
def test_the_width_of_an_interval_is_that_in_the_bins_in_use(bins):
    rows = drawn(2000, 5)
    ((n, width),) = answer(PLANS.make("error-interval"), test=rows, bins=bins).plan.measured
    span = cc.inference.primary(rows, bins=bins).estimate.interval()
    assert (n, width) == (2000, span.high - span.low)
    other = cc.inference.primary(rows, bins=None if bins else 4).estimate.interval()
    assert width != other.high - other.low
