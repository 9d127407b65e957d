"""Meta-Cal: thresholds by hand, held-out rows, abstentions in every output, both rules at their guaranteed levels."""

import re

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import clone

from calib_core import (
    CALIBRATORS,
    InputError,
    NotAnswerable,
    Predictions,
    Recipe,
    diagrams,
    estimate,
    evaluate,
    guarantees,
)
from calib_core._base.arrays import Rows
from calib_core.calibrators import Composed, Identity, MetaCalAccuracy, MetaCalMiscoverage, Temperature
from calib_core.calibrators.calibration_rows import hold_out
from calib_core.calibrators.meta_cal import (
    ANSWER_ALL,
    ScoredRows,
    _sequence,
    coverage_curve,
    entropies,
    guaranteed_accuracy,
    guaranteed_miscoverage,
    paper_miscoverage,
)
from calib_core.diagrams import constraint


def model(n, seed=0, right=lambda h: np.full(len(h), 0.9), **more):
    """Return two classes, the confidence h uniform on [.5, 1], right with probability right(h)."""
    rng = np.random.default_rng(seed)
    h = rng.uniform(0.5, 1, n)
    return Predictions(np.column_stack([h, 1 - h]), (rng.random(n) >= right(h)).astype(int), **more)


def confidence_at(threshold):
    """Return the h whose entropy is the threshold: rows below it abstain."""
    grid = np.linspace(0.5, 1, 200_001)
    entropy = entropies(Rows(np.column_stack([grid, 1 - grid])))
    return grid[np.argmax(entropy <= threshold)]


# -- thresholds -----------------------------------------------------------------------------------------------


def test_entropy_by_hand_in_both_precisions():
    rows = np.array([[0.5, 0.25, 0.25], [1, 0, 0], [1 / 3, 1 / 3, 1 / 3]])
    expected = [1.5 * np.log(2), 0, np.log(3)]
    np.testing.assert_allclose(entropies(Rows(rows)), expected, atol=1e-15)
    np.testing.assert_allclose(entropies(Rows(rows.astype(np.float32))), expected, atol=1e-6)


def test_the_papers_order_statistic_by_hand():
    scores = np.random.default_rng(0).permutation(np.arange(1.0, 201))
    assert paper_miscoverage(scores, 0.05) == (191.0, pytest.approx(0.4547, abs=1e-4))
    assert guaranteed_miscoverage(scores, 0.05, 0.05) == (196.0, pytest.approx(0.0264, abs=1e-4))
    # 18 scores: ceil(19 * .95) = 19 is more than there are.
    assert paper_miscoverage(scores[:18], 0.05) == (ANSWER_ALL, 0.0)
    with pytest.raises(NotAnswerable, match=r"0\.05 at risk 0\.05 needs 59 .* 58 are held out.* rule 'paper'"):
        guaranteed_miscoverage(scores[:58], 0.05, 0.05)


def test_the_coverage_curve_by_hand():
    # Ten rows in five bins of two: right 1 1 | 1 0 | 1 1 | 0 0 | 1 0; running 2/2 3/4 5/6 5/8 6/10.
    scores = np.arange(1.0, 11)
    correct = np.array([1, 1, 1, 0, 1, 1, 0, 0, 1, 0], bool)
    curve = coverage_curve(scores, correct, 5)
    assert curve.scores.tolist() == [1.5, 3.5, 5.5, 7.5, 9.5]
    np.testing.assert_allclose(curve.observed, [1, 3 / 4, 5 / 6, 5 / 8, 6 / 10])
    pooled = (3 / 4 + 5 / 6) / 2  # .75 and .833 rise: pooled
    np.testing.assert_allclose(curve.accuracies, [1, pooled, pooled, 5 / 8, 6 / 10])
    assert curve.shares.tolist() == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert curve.threshold(1.0) == 1.5
    assert curve.threshold(pooled) == 5.5, "the largest score at which it is still reached"
    half = (pooled + 5 / 8) / 2
    assert curve.threshold(half) == pytest.approx(6.5)
    assert curve.threshold(0.6) == curve.threshold(0.1) == ANSWER_ALL
    with pytest.raises(NotAnswerable, match=r"accuracy 0\.9 .* from 0\.3333 .* to 0\.6667 .* 33\.3 % answered"):
        coverage_curve(scores[:9], np.array([1, 0, 1, 1, 0, 0, 0, 0, 0], bool), 3).threshold(0.9)


def test_ties_stay_together_and_empty_bins_do_not_enter():
    curve = coverage_curve(np.array([1.0, 1, 1, 1, 1, 1, 2, 3]), np.array([1, 1, 1, 0, 1, 1, 1, 0], bool), 4)
    assert curve.shares.tolist() == [0.75, 1.0]  # bins would end after 2, 4, 6, 8 rows
    assert curve.scores.tolist() == [1.0, 2.5]
    np.testing.assert_allclose(curve.observed, [5 / 6, 6 / 8])


def test_fixed_sequence_stops_at_the_first_failure():
    scores = np.arange(100.0)
    correct = np.ones(100, bool)
    others = ScoredRows(scores, correct.copy())
    assert guaranteed_accuracy(scores, correct, others, 0.9, 0.05) == 99.0
    # According to the others, from 60 on most are wrong: the first test is before that, and is valid here too.
    others.correct[60:75] = correct[60:75] = False
    threshold = guaranteed_accuracy(scores, correct, others, 0.9, 0.05)
    assert 28 <= threshold < 65
    correct[40:48] = False  # bad for a while; good again further out does not help
    assert guaranteed_accuracy(scores, correct, ScoredRows(scores, np.arange(100) < 35), 0.9, 0.05) < 44
    correct[:] = np.arange(100) % 2 == 0
    # Half right: Clopper-Pearson's lower bound of 50 of 100 is .4136, of 50 of 99 .4181.
    numbers = r"0\.9 .* risk 0\.05: on the 100 .* 0\.4136 .* 0\.4181 .* 99 % answered.* 29 rows .* rule 'paper'"
    with pytest.raises(NotAnswerable, match=numbers):
        guaranteed_accuracy(scores, correct, others, 0.9, 0.05)
    with pytest.raises(NotAnswerable, match=r"on the 28 held-out rows .* at least 29 rows answered without error"):
        guaranteed_accuracy(scores[:28], np.ones(28, bool), others, 0.9, 0.05)


@pytest.mark.parametrize("seed", [1, 3, 4, 8, 10])
def test_the_threshold_is_the_last_that_passes_at_this_risk(seed):
    """A slow twin: Clopper-Pearson's bound at every threshold, in order, until one is below the target."""
    rng, n = np.random.default_rng(seed), 300
    scores, right = np.arange(float(n)), np.linspace(1, 0.8, n)
    correct, others = rng.random(n) < right, ScoredRows(scores, rng.random(n) < right)
    expected = None
    for threshold in _sequence(others, n, guarantees.rows_for_accuracy(0.9, 0.05), 0.9, 0.05):
        hits, rows = correct[scores <= threshold].sum(), (scores <= threshold).sum()
        if beta.ppf(0.05, hits, rows - hits + 1) < 0.9:
            break
        expected = threshold
    assert guaranteed_accuracy(scores, correct, others, 0.9, 0.05) == expected


def test_the_first_threshold_tested_is_chosen_without_a_look_at_the_rows_held_out():
    """The sequence depends on the other rows and the number held out; more held-out errors only end it sooner."""
    rng = np.random.default_rng(1)
    others = ScoredRows(rng.random(2700), rng.random(2700) < 0.99)
    scores = rng.random(300)
    sequence = _sequence(others, 300, 99, 0.97, 0.05)
    assert (np.diff(sequence) > 0).all()
    found = set()
    for errors in range(0, 12, 2):
        correct = np.ones(300, bool)
        correct[np.argsort(scores)[:errors]] = False
        try:
            found.add(guaranteed_accuracy(scores, correct, others, 0.97, 0.05))
        except NotAnswerable:
            found.add(None)
    assert found <= {*sequence.tolist(), None}
    assert len(found) > 1


def test_thresholds_of_weighted_rows_are_those_of_copies():
    rng = np.random.default_rng(2)
    scores, correct, weights = rng.random(200), rng.random(200) < 0.95, rng.integers(0, 4, 200)
    copied = ScoredRows(np.repeat(scores, weights), np.repeat(correct, weights))
    np.testing.assert_array_equal(
        _sequence(ScoredRows(scores, correct, weights.astype(float)), 60, 29, 0.9, 0.05),
        _sequence(copied, 60, 29, 0.9, 0.05),
    )


# -- held-out rows ----------------------------------------------------------------------------------------------


def test_held_out_rows_leave_the_rest():
    p = model(1000)
    made = hold_out(p, p.correct, 0.1, 500, 0)
    assert len(made.rows) == int(p.correct.sum() * 0.1)
    assert p.correct[made.rows].all()
    assert made.rest.n_rows == 1000 - len(made.rows)
    assert not set(map(tuple, p.probs[made.rows])) & set(map(tuple, made.rest.probs))
    assert len(hold_out(p, p.correct, 0.1, 20, 0).rows) == 20
    assert set(hold_out(p, p.correct, 0.1, 500, 1).rows) != set(made.rows)


def test_every_row_is_held_out_equally_often():
    p = model(100, right=lambda h: np.ones(len(h)))
    counts = sum(np.bincount(hold_out(p, p.correct, 0.1, 500, s).rows, minlength=100) for s in range(500))
    assert abs(counts - 50).max() < 5 * np.sqrt(45)


def test_copies_of_a_row_are_held_out_one_by_one():
    rng = np.random.default_rng(0)
    p = Predictions(rng.dirichlet(np.ones(2), 50), rng.integers(2, size=50), weights=rng.integers(0, 5, 50))
    made = hold_out(p, np.ones(50, bool), 0.3, 500, 0)
    assert len(made.rows) == int(p.weights.sum() * 0.3)
    assert made.rest.weights.sum() + len(made.rows) == p.weights.sum()
    real = Predictions(p.probs, p.labels, weights=p.weights + 0.5)
    made = hold_out(real, np.ones(50, bool), 0.3, 500, 0)
    assert len(set(made.rows)) == len(made.rows) == 15


# -- the calibrators ----------------------------------------------------------------------------------------------


def test_unsure_rows_become_abstentions_and_the_rest_is_recalibrated():
    p = model(4000)
    cal = MetaCalMiscoverage(miscoverage=0.2).fit_on(p)
    made = cal.apply(p)
    silent = entropies(p.rows) > cal.threshold_
    np.testing.assert_array_equal(made.abstained, silent)
    assert (made.probs[silent] == 0.5).all()
    np.testing.assert_array_equal(made.probs[~silent], cal.base_.apply(p.take(np.flatnonzero(~silent))).probs)
    np.testing.assert_array_equal(cal.predict_proba(p.probs), made.probs)
    assert made.coverage == pytest.approx(0.8, abs=0.04)
    assert cal.attained(p, made) == pytest.approx(0.2, abs=0.04)
    assert cal.n_held_out_ == int(p.correct.sum() * 0.1)
    assert cal.n_fit_ <= 4000 - cal.n_held_out_
    # Abstentions make no claim in any notion.
    assert len(made.answered.confidence) == (~silent).sum()
    assert estimate(made, "confidence", "ece").bins.count.sum() == (~silent).sum()
    assert estimate(made, "class-wise", "ece").bins.count.sum() == 2 * (~silent).sum()
    assert made.accuracy == p.correct[~silent].mean()


def test_only_answered_rows_train_the_base():
    p = model(2000, right=lambda h: np.where(h > 0.75, 0.99, 0.4))
    cal = MetaCalMiscoverage(miscoverage=0.3).fit_on(p)
    held = hold_out(p, p.correct, 0.1, 500, 0)
    answered = held.rest.take(np.flatnonzero(entropies(held.rest.rows) <= cal.threshold_))
    assert cal.base_.temperature_ == Temperature().fit_on(answered).temperature_
    assert cal.base_.temperature_ != Temperature().fit_on(held.rest).temperature_
    assert cal.n_fit_ == answered.n_rows


def test_the_base_must_keep_the_class():
    p = model(1000)
    for base in ("class-wise-hb", "top-label-hb", "lece", "metacal-miscoverage"):
        with pytest.raises(InputError) as why:
            CALIBRATORS.make("metacal-accuracy", base=base).fit_on(p)
        assert f"keep the predicted class and return probabilities of all classes; {base!r} does not" in str(why.value)
        assert {"temperature", "identity"} <= set(str(why.value).split("choose one of ")[1].split(", "))
    cal = CALIBRATORS.make("metacal-miscoverage", base="identity").fit_on(p)
    made = cal.apply(p)
    np.testing.assert_array_equal(made.probs[~made.abstained], p.probs[~made.abstained])


@pytest.mark.parametrize("base", ["lece", "isotonic-ovr", "normalised-hb", "vector", "dirichlet", "sierpinski"])
def test_miscoverage_takes_bases_that_change_the_class(base):
    """The bound is about right answers of the model that abstains: its threshold is the same for any base."""
    p = model(1500, right=lambda h: 0.3 + 0.4 * h)
    cal = CALIBRATORS.make("metacal-miscoverage", base=base, miscoverage=0.2).fit_on(p)
    plain = MetaCalMiscoverage(miscoverage=0.2).fit_on(p)
    assert cal.threshold_ == plain.threshold_
    assert cal.guarantee() == plain.guarantee()
    made = cal.apply(p)
    np.testing.assert_array_equal(made.abstained, plain.apply(p).abstained)
    assert (made.probs[made.abstained] == 0.5).all()
    assert cal.attained(p, made) == plain.attained(p, plain.apply(p))


def test_miscoverage_refuses_bases_that_hold_no_uniform_row():
    for base in ("class-wise-hb", "top-label-hb", "metacal-accuracy"):
        with pytest.raises(InputError) as why:
            CALIBRATORS.make("metacal-miscoverage", base=base).fit_on(model(1000))
        assert re.search(f"answer every row .*; {base!r} does not", str(why.value))
        assert {"temperature", "lece", "vector"} <= set(str(why.value).split("choose one of ")[1].split(", "))


def test_weighted_rows_are_promised_nothing():
    p = model(3000, weights=1 + np.arange(3000) % 2)
    for key in ("metacal-miscoverage", "metacal-accuracy"):
        made = CALIBRATORS.make(key, rule="guaranteed", **{"accuracy": 0.8} if key == "metacal-accuracy" else {})
        assert "the calibration rows are weighted" in made.fit_on(p).guarantee().sentence


def test_few_rows_are_answered_in_full_by_the_papers_rule_and_refused_by_the_other():
    p = model(100)
    cal = MetaCalMiscoverage().fit_on(p)
    assert cal.threshold_ == ANSWER_ALL
    assert cal.apply(p).abstained is None
    assert cal.guarantee()["miscoverage"].level == 1.0
    with pytest.raises(NotAnswerable, match="needs 59 held-out correct rows"):
        MetaCalMiscoverage(rule="guaranteed").fit_on(p)
    with pytest.raises(NotAnswerable, match="at least 10 calibration rows"):
        MetaCalAccuracy().fit_on(model(9))
    table = evaluate(
        p, model(100), [CALIBRATORS.make("metacal-miscoverage", rule="guaranteed")], ["confidence"], ["ece"]
    )
    assert "needs 59 held-out correct rows" in table["note"][0]


def test_promises_say_their_probability():
    p = model(2500)
    paper, sure = (MetaCalMiscoverage(rule=rule).fit_on(p) for rule in ("paper", "guaranteed"))
    assert 0.4 < paper.exceed_probability_ < 0.5
    assert paper.guarantee().bounds[0].level == 1 - paper.exceed_probability_
    assert sure.exceed_probability_ <= 0.05
    assert sure.guarantee().sentence.startswith("With probability 9")
    assert sure.threshold_ > paper.threshold_
    assert not MetaCalAccuracy(accuracy=0.91).fit_on(model(5000, right=lambda h: h)).guarantee().holds
    kept = MetaCalAccuracy(accuracy=0.85, rule="guaranteed").fit_on(model(5000, right=lambda h: h))
    assert re.search(r"at least 95 % .* at least 85 % ", kept.guarantee().sentence)


def test_metacal_survives_clone_recipe_and_composition():
    cal = MetaCalAccuracy(accuracy=0.8, base=Identity())
    recipe = CALIBRATORS.recipe(cal)
    again = Recipe.from_dict("CALIBRATORS", recipe.to_dict()).build()
    assert CALIBRATORS.recipe(again) == recipe == CALIBRATORS.recipe(clone(cal))


# -- abstentions in other calibrators --------------------------------------------------------------------------


def test_a_calibrator_after_metacal_leaves_abstentions_alone():
    p = model(3000, weights=np.arange(3000) % 3)
    first = MetaCalMiscoverage(miscoverage=0.2)
    alone = clone(first).fit_on(p).apply(p)
    for then in ("identity", "temperature", "lece", "isotonic-ovr", "metacal-miscoverage"):
        made = Composed(first, CALIBRATORS.make(then)).fit_on(p).apply(p)
        assert (made.abstained >= alone.abstained).all()
        assert (made.probs[alone.abstained] == 0.5).all()
        assert made.n_rows == 3000
        np.testing.assert_array_equal(made.weights, p.weights)
    assert made.abstained.sum() > alone.abstained.sum(), "a second Meta-Cal withholds more"
    np.testing.assert_array_equal(Composed(first, Identity()).fit_on(p).apply(p).probs, alone.probs)


def test_single_claims_have_no_place_for_abstentions():
    p = model(3000)
    for then in ("top-label-hb", "confidence-hb", "class-wise-hb"):
        with pytest.raises(NotAnswerable, match="apply Meta-Cal last"):
            Composed(MetaCalMiscoverage(miscoverage=0.2), CALIBRATORS.make(then)).fit_on(p).apply(p)


def test_rows_that_all_abstain():
    silent = Predictions(np.full((5, 2), 0.5), [0] * 5, abstained=[True] * 5)
    cal = Temperature().fit_on(model(50))
    assert cal.apply(silent) is silent
    with pytest.raises(NotAnswerable, match="abstains on every row"):
        Temperature().fit_on(silent)


# -- guaranteed levels ------------------------------------------------------------------------------------------

RUNS = 200


def exceeding(**params):
    """Return how often the true miscoverage exceeds 5 %: right answers have h uniform on [.5, 1] here."""
    rates = []
    for seed in range(RUNS):
        cal = MetaCalMiscoverage(base=Identity(), random_state=seed, **params).fit_on(model(2222, seed))
        rates.append(2 * confidence_at(cal.threshold_) - 1)
    return np.mean(np.array(rates) > 0.05)


def test_the_papers_rule_keeps_miscoverage_at_the_odds_it_states():
    assert exceeding() == pytest.approx(0.455, abs=4 * 0.035)


@pytest.mark.wide
def test_the_guaranteed_rule_keeps_it_at_its_risk():
    assert exceeding(rule="guaranteed") <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / RUNS)


def falling_short(rule):
    """Return how often the true accuracy among answered rows is below .85 although the rows were not refused."""
    short = 0
    for seed in range(RUNS):
        cal = MetaCalAccuracy(accuracy=0.85, rule=rule, base=Identity(), random_state=seed)
        try:
            cal.fit_on(model(4000, seed, right=lambda h: h))
        except NotAnswerable:
            continue
        # Among h uniform on [t, 1] and right with probability h, a share (1 + t) / 2 is right.
        short += (1 + confidence_at(cal.threshold_)) / 2 < 0.85 - 1e-5
    return short / RUNS


@pytest.mark.wide
def test_fixed_sequence_testing_keeps_coverage_accuracy_at_its_risk():
    assert falling_short("guaranteed") <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / RUNS)
    assert falling_short("paper") > 0.2, "the paper's rule promises nothing"


# Rising scores u on [0, 1]: how often the model is right, and a wanted accuracy, within reach or not.
LAWS = {
    "steep": (lambda u: np.where(u < 0.4, 0.995, 0.6), 300, 0.97),
    "unsure among the surest": (lambda u: np.where(u < 0.05, 0.9, np.where(u < 0.6, 0.995, 0.7)), 300, 0.9),
    "flat": (lambda u: np.full(len(u), 0.96), 300, 0.9),
    "linear": (lambda u: 1 - u / 2, 400, 0.85),
    "out of reach": (lambda u: np.full(len(u), 0.96), 300, 0.97),
    "just out of reach": (lambda u: np.full(len(u), 0.899), 300, 0.9),
}
GRID = np.linspace(0, 1, 5001)[1:]


def runs_of(law, threshold):
    """Return the shares of 250 draws that are refused, and whose true accuracy is too low."""
    right, n, wanted = LAWS[law]
    reached = np.cumsum(right(GRID)) / np.arange(1, len(GRID) + 1)
    refused = short = 0
    for seed in range(250):
        rng = np.random.default_rng(seed)
        u = rng.random(10 * n)
        z = rng.random(10 * n) < right(u)
        try:
            at_most = min(threshold(u[:n], z[:n], ScoredRows(u[n:], z[n:]), wanted), 1.0)
        except NotAnswerable:
            refused += 1
            continue
        short += reached[max(0, int(at_most * len(GRID)) - 1)] < wanted - 1e-6
    return refused / 250, short / 250


def fixed_start(scores, correct, others, wanted, risk=0.05):
    """Return the former sequence, from the threshold expected to answer twice the fewest rows that can pass."""
    first = min(1.0, max(2.0 * guarantees.rows_for_accuracy(wanted, risk), 40) / len(scores))
    passed = None
    for threshold in np.quantile(others.scores, np.linspace(first, 1, 50)):
        answered = scores <= threshold
        if guarantees.accuracy_lower_bound(correct[answered].sum(), answered.sum(), risk) < wanted:
            break
        passed = threshold
    if passed is None:
        raise NotAnswerable("refused")
    return passed


@pytest.mark.sampled(2)
@pytest.mark.parametrize("law", LAWS)
def test_the_chosen_start_keeps_the_level_and_refuses_less(law):
    refused, short = runs_of(law, lambda *rows: guaranteed_accuracy(*rows, 0.05))
    before, _ = runs_of(law, fixed_start)
    assert short <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 250)
    assert refused <= before + 0.03
    if law in ("steep", "unsure among the surest", "flat"):
        assert refused < before - 0.3
    if "out of reach" in law:
        assert refused > 0.8, "and what is not refused is false: refusals count as kept"


def test_the_level_is_that_of_its_risk():
    """The falsified twin: bounds at four times the risk fall short more often than the stated risk."""
    allowed = 0.05 + 3 * np.sqrt(0.05 * 0.95 / 250)
    assert runs_of("just out of reach", lambda *rows: guaranteed_accuracy(*rows, 0.05))[1] <= allowed
    assert runs_of("just out of reach", lambda *rows: guaranteed_accuracy(*rows, 0.2))[1] > allowed


def test_the_papers_rule_keeps_its_target_by_target():
    """The documented guarantee: much less than half, nearly always, and never out of reach."""

    def paper(scores, correct, others, wanted):
        return coverage_curve(scores, correct, 20).threshold(wanted)

    kept = {}
    for law in ("steep", "linear", "out of reach"):
        refused, short = runs_of(law, paper)
        kept[law] = 1 - short / (1 - refused)
    assert kept["steep"] > 0.85
    assert kept["linear"] < 0.7
    assert kept["out of reach"] == 0


# -- the diagram ------------------------------------------------------------------------------------------------


def test_attained_against_wanted_over_splits():
    p = model(1200)
    made = constraint(p, "metacal-miscoverage", [0.1, 0.3], repeats=5, random_state=3)
    frame = made.frame()
    assert made.rate == "miscoverage"
    assert frame.columns.tolist() == [
        "wanted", "attained", "deviation", "lower", "upper", "coverage", "kept", "refused",
    ]  # fmt: skip
    runs = []
    for r in range(5):
        fit, test = p.split(0.5, random_state=3 + r)
        after = MetaCalMiscoverage(miscoverage=0.3, random_state=3 + r).fit_on(fit).apply(test)
        runs.append(np.mean(after.abstained[test.correct]))
    assert frame["attained"][1] == pytest.approx(np.mean(runs))
    assert frame["deviation"][1] == pytest.approx(np.std(runs, ddof=1))
    assert frame["upper"][1] - frame["lower"][1] == pytest.approx(4 * np.std(runs, ddof=1))
    assert frame["kept"][1] == np.mean(np.array(runs) <= 0.3)
    assert frame["refused"].tolist() == [0, 0]


def test_refused_splits_are_counted_not_drawn():
    made = constraint(model(3000), CALIBRATORS.make("metacal-accuracy", rule="guaranteed"), [0.6, 0.99], repeats=3)
    assert made.refused.tolist() == [0, 3]
    assert np.isnan(made.attained[1])
    assert np.isnan(made.coverage[1])
    assert made.attained[0] > 0.8
    with pytest.raises(InputError, match=r"Temperature controls no rate.*Meta-Cal"):
        constraint(model(30), "temperature")
    assert diagrams.constraint is constraint
