"""evaluate: a tidy table, fitted on fit rows only, with a reason for each missing number."""

import numpy as np
import pytest
from generated import ordinary_rows

from calib_core import CALIBRATORS, InputError, NotAnswerable, Predictions, Recipe, estimate, evaluate
from calib_core.binning import Distinct, EqualMass, EqualWidth, tabulate_alike
from calib_core.calibrators import Temperature
from calib_core.estimators import Binned
from calib_core.evaluation.study import MEASURES, SCORES, compared, over_same_rows, recalibrated, rows_said, summaries
from calib_core.reductions import Confidence, TopLabel


@pytest.fixture(scope="module")
def halves():
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(4, 0.5), 400)
    labels = (rng.random(400)[:, None] > probs.cumsum(1)[:, :3]).sum(1)
    return Predictions(probs, labels).split(0.5, random_state=1)


COLUMNS = ["calibrator", "title", "reduction", "estimator", "value", "bins", "rows", "note"]


def test_one_line_a_number(halves):
    fit, test = halves
    table = evaluate(fit, test, ["identity", "temperature"], ["confidence", "class-wise"], ["ece", "mce"], bins=10)
    assert table.columns.tolist() == COLUMNS
    assert len(table) == 2 * (3 + 2 * 2)
    assert (table["note"] == "").all()
    assert not table["value"].isna().any()
    for line in table.itertuples():
        made = CALIBRATORS.make(line.calibrator).fit_on(fit).apply(test)
        bins = 10 if line.estimator in ("ece", "mce") else None
        reduction = line.reduction if isinstance(line.reduction, str) else None
        assert (reduction is None) == (line.estimator in SCORES)
        assert line.value == estimate(made, reduction, line.estimator, bins=bins).value


def test_what_cannot_be_answered_has_a_note_instead_of_a_value(halves):
    table = evaluate(*halves, ["top-label-hb", "class-wise-hb"], ["top-label", "class-wise"], ["ece"])
    missing = table[table["value"].isna()]
    assert (table["value"].isna() == (table["note"] != "")).all()
    asked = set(zip(missing["calibrator"], missing["reduction"].fillna(""), missing["estimator"], strict=True))
    assert asked == {
        ("top-label-hb", "", "log-loss"),
        ("top-label-hb", "", "brier"),
        ("top-label-hb", "class-wise", "ece"),
        ("class-wise-hb", "", "log-loss"),
    }
    assert all(len(note.split()) > 6 for note in missing["note"])
    per_class = missing[missing["calibrator"] == "class-wise-hb"]["note"].item()
    assert per_class.startswith("log loss is not defined here")


def test_a_calibrator_that_cannot_be_fitted_has_one_line_with_the_reason():
    bare = Predictions.from_confidence(np.linspace(0.1, 0.9, 40), np.arange(40) % 2)
    table = evaluate(*bare.split(), ["identity", "temperature", "confidence-hb"], ["confidence"], ["ece"])
    failed = table[table["calibrator"] == "temperature"]
    assert len(failed) == 1
    assert "probabilities of other classes are unknown" in failed["note"].item()
    assert np.isfinite(table[table["calibrator"] == "confidence-hb"].iloc[-1]["value"])


@pytest.mark.parametrize("key", CALIBRATORS)
def test_labels_of_the_test_rows_never_reach_the_calibrator(halves, key):
    """With other labels for the test rows, the recalibrated probabilities are the same bits."""
    k = CALIBRATORS[key].flags.classes or 4
    fit, test = halves if k == 4 else Predictions(*ordinary_rows(k=k)).split()
    other = Predictions(test.probs, (test.labels + 1) % k)
    one, two = (recalibrated(fit, t, key) for t in (test, other))
    assert one.kind == two.kind
    for a, b in zip(one.top(1), two.top(1), strict=True):
        np.testing.assert_array_equal(a, b)
    if one.kind in ("full", "per-class"):
        np.testing.assert_array_equal(one.probs, two.probs)


def test_the_calibrator_given_stays_unfitted(halves):
    given = Temperature()
    recalibrated(*halves, given)
    assert not hasattr(given, "temperature_")


def test_members_keys_and_recipes_are_accepted(halves):
    members = evaluate(*halves, [Temperature()], ["confidence"], [Binned(EqualMass(10))])
    recipes = evaluate(*halves, [Recipe("CALIBRATORS", "temperature")], ["confidence"], [Binned(EqualMass(10))])
    assert members.equals(recipes)
    assert members["estimator"].tolist() == [*SCORES, "ece"]
    assert members["title"].iloc[0] == "Temperature scaling"


def test_bins_go_to_binned_estimators_only(halves):
    few = evaluate(*halves, ["identity"], ["confidence"], ["ece", "brier", Binned()], bins="distinct")
    values = few["value"].tolist()
    test = halves[1]
    assert values[3] == estimate(test, "confidence", "ece", bins="distinct").value
    assert values[4] == estimate(test, "confidence", "brier").value
    assert values[5] == estimate(test, "confidence", "ece").value


def test_recalibration_helps_where_the_model_is_overconfident():
    rng = np.random.default_rng(2)
    z = rng.standard_normal((6000, 5))
    honest = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    labels = (rng.random(6000)[:, None] > honest.cumsum(1)[:, :-1]).sum(1)
    fit, test = Predictions.from_logits(3 * z, labels).split()
    table = evaluate(fit, test, ["identity", "temperature", "top-label-hb"], ["confidence"], ["ece"])
    ece = table[table["estimator"] == "ece"].set_index("calibrator")["value"]
    assert ece["identity"] > 0.2
    assert ece["temperature"] < 0.04
    assert ece["top-label-hb"] < 0.1  # judged one bin a value: 60 bins of 50 rows


def test_summaries_are_the_estimates_one_by_one(halves):
    schemes = [EqualWidth(10), EqualMass(5), Distinct()]
    frames = summaries(halves[1], schemes)
    assert len(frames) == 3
    for scheme, frame in zip(schemes, frames, strict=True):
        assert frame["measure"].tolist() == [m.name for m in MEASURES]
        for measure, value in zip(MEASURES, frame["value"], strict=True):
            bins = scheme if measure.reduction else None
            if measure.estimator == "mce-of-bins" and scheme.fixed_edges() is None:
                assert np.isnan(value)
                assert "bins that all classes share" in frame["note"].iloc[-1]
                continue
            made = estimate(halves[1], measure.reduction, measure.estimator, bins=bins)
            assert value == pytest.approx(made.value, rel=1e-12), measure.name
        assert (frame["note"].iloc[:-1] == "").all()


def test_a_summary_says_what_it_cannot_give():
    bare = Predictions.from_confidence([0.6, 0.9], [1, 0])
    frame = summaries(bare, [EqualWidth(10)])[0].set_index("measure")
    assert np.isfinite(frame.loc[["Accuracy", "conf-ECE", "conf-MCE"], "value"]).all()
    for name in ("Log loss", "TL-ECE", "CW-ECE"):
        assert np.isnan(frame.loc[name, "value"])
        assert len(frame.loc[name, "note"].split()) > 6


# -- methods of evaluation ------------------------------------------------------------------------------------


def test_without_bins_a_table_says_in_which_bins_each_line_was_judged(halves):
    fit, test = halves
    table = evaluate(fit, test, ["identity", "top-label-hb"], ["top-label"], ["ece", "mce-of-bins", "smece"])
    bins = table[table["reduction"].notna()].groupby("calibrator")["bins"].agg(list)
    made = recalibrated(fit, test, "top-label-hb")
    values = estimate(made, "top-label", bins="distinct").table
    assert bins["identity"] == ["15 equal width", "15 equal width", ""]
    assert bins["top-label-hb"] == [f"one per value ({len(values)})", "15 equal width", ""]
    given = evaluate(fit, test, ["identity", "top-label-hb"], ["top-label"], ["ece"], bins=7)
    assert set(given.loc[given["reduction"].notna(), "bins"]) == {"7 equal width"}


def test_summaries_without_bins_are_the_estimates_without_bins(halves):
    for key in ("identity", "top-label-hb", "class-wise-hb"):
        made = recalibrated(*halves, key)
        frame = summaries(made)[0].set_index("measure")
        for measure in MEASURES:
            if frame.loc[measure.name, "note"]:
                continue
            one = estimate(made, measure.reduction, measure.estimator)
            assert frame.loc[measure.name, "value"] == pytest.approx(one.value, rel=1e-12)
            assert frame.loc[measure.name, "bins"] == one.in_bins


@pytest.fixture(scope="module")
def silent(halves):
    """Return two models of 200 rows that abstain on different ones, and one that answers all."""
    test = halves[1]
    masks = [np.arange(200) % 4 == 0, np.arange(200) % 5 == 0]
    vectors = [np.where(mask[:, None], 0.25, test.probs) for mask in masks]
    return [test, *(test.with_probs(v, abstained=m) for v, m in zip(vectors, masks, strict=True))]


def test_a_ranked_table_is_over_the_rows_all_answer_or_over_all(silent):
    test, first, second = silent
    answered = over_same_rows(silent)
    at = np.flatnonzero((np.arange(200) % 4 != 0) & (np.arange(200) % 5 != 0))
    assert [m.n_rows for m in answered] == [len(at)] * 3
    assert [m.accuracy for m in answered] == [test.correct[at].mean()] * 3
    for m in answered:
        np.testing.assert_array_equal(m.labels, test.labels[at])
        assert m.abstained is None
    whole = over_same_rows(silent, "all")
    assert [m.n_rows for m in whole] == [200] * 3
    for m, mark in zip(whole[1:], (first.abstained, second.abstained), strict=True):
        assert m.abstained is None
        right = np.where(mark, test.labels == 0, test.correct)  # a uniform row predicts the first class
        assert m.accuracy == right.mean()
        assert estimate(m).value == pytest.approx(slow_confidence_ece(m.probs, test.labels))
    assert rows_said([test]) == ""
    assert rows_said(silent) == f"Every number is over the {len(at)} of 200 rows that all models answer."
    assert "all 200 rows" in rows_said(silent, "all")
    assert over_same_rows([test, test]) == [test, test]


def slow_confidence_ece(probs, labels):
    score, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    at = np.minimum((score * 15).astype(int), 14)
    return sum((at == b).mean() * abs(right[at == b].mean() - score[at == b].mean()) for b in set(at))


def test_models_that_never_answer_the_same_row_are_refused_and_can_be_counted(silent):
    odd = np.arange(200) % 2 == 0
    apart = [silent[0].with_probs(silent[0].probs, abstained=mark) for mark in (odd, ~odd)]
    with pytest.raises(NotAnswerable, match="no row is answered by all"):
        over_same_rows(apart)
    assert [m.n_rows for m in over_same_rows(apart, "all")] == [200, 200]
    with pytest.raises(InputError, match="'answered' or 'all'"):
        over_same_rows(apart, "some")


def test_every_line_of_an_evaluation_is_over_the_same_rows():
    rng = np.random.default_rng(3)
    probs = rng.dirichlet([0.4] * 3, 1200)
    labels = (rng.random((1200, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    fit, test = Predictions(probs, labels).split()
    keys = ["identity", "temperature", "metacal-miscoverage"]
    for rows in ("answered", "all"):
        table = evaluate(fit, test, keys, ["confidence"], ["ece"], rows=rows)
        models = [recalibrated(fit, test, key) for key in keys]
        n = int((~models[-1].abstained).sum()) if rows == "answered" else test.n_rows
        assert n < test.n_rows or rows == "all"
        assert set(table["rows"]) == {n}
        accuracy = table[table["estimator"] == "accuracy"].set_index("calibrator")["value"]
        assert accuracy["identity"] == accuracy["temperature"]
        if rows == "answered":
            assert accuracy["metacal-miscoverage"] == accuracy["identity"]  # its base preserves the classes


def test_a_comparison_judges_both_in_the_bins_of_the_discrete_one(halves):
    fit, test = halves
    after = recalibrated(fit, test, "top-label-hb")
    both = compared(test, after, "top-label")
    old, new = TopLabel().split(test), TopLabel().split(after)
    was, now = 0.0, 0.0
    for c, value in set(zip(new.codes, new.scores, strict=True)):
        mine = (new.codes == c) & (new.scores == value)
        share, hit = mine.mean(), new.outcomes[mine].mean()
        was += share * abs(hit - old.scores[mine].mean())
        now += share * abs(hit - value)
    assert Binned().of_table(both.before).value == pytest.approx(was)
    assert Binned().of_table(both.after).value == pytest.approx(now)
    assert now == pytest.approx(estimate(after, "top-label").value)
    assert both.bins.startswith("one per value of the recalibrated model (")
    np.testing.assert_array_equal(both.before.count, both.after.count)


def test_other_comparisons_use_the_same_scheme_on_both_and_given_bins_win(halves):
    fit, test = halves
    for key, bins, words in (
        ("temperature", None, "15 equal width"),
        ("top-label-hb", 7, "7 equal width"),
        ("sierpinski", None, "15 equal width"),  # discrete, but it changes predicted classes
    ):
        after = recalibrated(fit, test, key)
        both = compared(test, after, "confidence", bins)
        assert both.bins == words
        for table, model in ((both.before, test), (both.after, after)):
            assert Binned().of_table(table).value == estimate(model, "confidence", "ece", bins or 15).value


def test_the_bins_of_a_monotone_map_are_intervals_of_the_base_models_scores():
    rng = np.random.default_rng(4)
    scores = rng.random(500)
    right = rng.random(500) < scores**2
    base = Predictions.from_confidence(scores, right)
    after = CALIBRATORS.make("confidence-hb").fit_on(base).apply(base)
    was, _ = tabulate_alike(Confidence().split(base), Confidence().split(after), "distinct")
    order = np.argsort(was.lower[0])
    assert (was.upper[0][order][:-1] < was.lower[0][order][1:]).all()
    with pytest.raises(NotAnswerable, match="different claims"):
        tabulate_alike(Confidence().split(base), Confidence().split(base.take(np.arange(500)[::-1])), "distinct")


def test_a_comparison_counts_a_whole_weight_as_that_many_copies(halves):
    fit, test = halves
    weights = np.arange(test.n_rows) % 4
    weighed = Predictions(test.probs, test.labels, weights=weights)
    after = CALIBRATORS.make("top-label-hb").fit_on(fit)
    one, two = (compared(p, after.apply(p)) for p in (weighed, weighed.written_out()))
    for a, b in ((one.before, two.before), (one.after, two.after)):
        assert Binned().of_table(a).value == pytest.approx(Binned().of_table(b).value, abs=1e-12)
    assert one.before.count.sum() == weights.sum()
    assert Binned().of_table(one.before).value != pytest.approx(
        Binned().of_table(compared(test, after.apply(test)).before).value
    )
