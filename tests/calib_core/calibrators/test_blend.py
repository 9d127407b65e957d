"""Blends: the average as its formula says it, weights by left-out rows as a slow loop finds them, and refusals."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sharp_rows import losses, rows

from calib_core import CALIBRATORS, InputError, NotAnswerable, Predictions, figures
from calib_core.calibrators import Blend, Identity, Temperature, load_calibrator
from calib_core.calibrators.blend import LEAST, blend_weights, default_members, without_small
from calib_core.calibrators.calibration_rows import dealt_out
from calib_core.diagrams import fitted_parameters
from calib_core.exporting import python_source
from calib_core.registry import Recipe

KEYS = ("temperature", "vector", "iop")


def test_it_is_the_weighted_average_of_its_members():
    fit, test = rows(300), rows(300, seed=1)
    blend = CALIBRATORS.make("blend", members=KEYS, weights=(2, 1, 5)).fit_on(fit)
    parts = [CALIBRATORS.make(key).fit_on(fit).apply(test).probs for key in KEYS]
    np.testing.assert_allclose(blend.apply(test).probs, (2 * parts[0] + parts[1] + 5 * parts[2]) / 8, atol=1e-15)
    assert blend.weights_.tolist() == [0.25, 0.125, 0.625]


@pytest.mark.parametrize("weights", [None, np.arange(300) % 3 + 1.0, np.linspace(0.1, 3, 300)])
def test_its_weights_are_those_of_a_slow_loop_over_left_out_rows(weights):
    p = rows(300, sharp=1.3, weights=weights)
    blend = CALIBRATORS.make("blend", members=KEYS, random_state=5).fit_on(p)
    totals = dict.fromkeys(("identity", *KEYS), 0.0)
    for where, copies, rest in dealt_out(p, 10, 5):
        for key in totals:
            totals[key] -= copies @ losses(CALIBRATORS.make(key).fit_on(rest).apply(p.take(where)))
    odds = {key: np.exp(0.35 * (total - totals["temperature"])) for key, total in totals.items()}
    wanted = {key: value / sum(odds.values()) for key, value in odds.items()}
    kept = {key: weight for key, weight in wanted.items() if weight >= LEAST}
    assert [CALIBRATORS.recipe(member).key for member in blend.members_] == list(kept)
    assert blend.weights_ == pytest.approx([weight / sum(kept.values()) for weight in kept.values()])


def test_five_folds_are_used_for_many_rows(monkeypatch):
    used = []
    monkeypatch.setattr(
        "calib_core.calibrators.blend.dealt_out", lambda p, folds, seed: used.append(folds) or dealt_out(p, folds, seed)
    )
    for n in (1000, 1001):
        CALIBRATORS.make("blend", members=("temperature",)).fit_on(rows(n))
    assert used == [10, 5]


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6))
def test_more_likelihood_is_more_weight(gains):
    weights = blend_weights(np.array(gains))
    assert weights.sum() == pytest.approx(1)
    assert (np.diff(weights[np.argsort(gains)]) >= 0).all()
    kept = without_small(weights)
    assert kept.sum() == pytest.approx(1)
    assert ((kept == 0) | (kept >= LEAST)).all()


def test_no_row_is_both_in_a_fold_and_in_the_rows_it_is_judged_with():
    group = np.repeat(np.arange(30), 10)
    p = rows(300, groups=group, metadata=pd.DataFrame({"group": group}))
    seen = np.zeros(300)
    for where, copies, rest in dealt_out(p, 7, 0):
        seen[where] += copies
        assert rest.n_rows == 300 - len(where)
        assert not set(group[where]) & set(rest.metadata["group"])
    assert (seen == 1).all()


def test_copies_of_a_row_are_dealt_out_one_by_one_and_labels_play_no_part():
    weights = np.random.default_rng(1).integers(0, 4, 300).astype(float)
    p = rows(300, weights=weights)
    seen = np.zeros(300)
    for where, copies, rest in dealt_out(p, 5, 0):
        seen[where] += copies
        assert rest.weights.sum() == weights.sum() - copies.sum()
    assert (seen == weights).all()
    plain = rows(300)
    turned = plain.replace(labels=(plain.true_labels + 1) % 3)
    folds = [sorted(len(where) for where, _, _ in dealt_out(each, 5, 0)) for each in (plain, turned)]
    assert folds == [[60] * 5] * 2


def test_a_member_that_is_far_worse_is_left_out():
    p = rows(2000, sharp=3.0)
    blend = CALIBRATORS.make("blend", members=("temperature",)).fit_on(p)
    assert [type(member) for member in blend.members_] == [Temperature]
    assert blend.weights_.tolist() == [1.0]


def test_the_usual_members_are_smooth_maps_for_as_many_classes():
    keys = {k: {recipe.key for recipe in default_members(k)} for k in (2, 3, 21)}
    assert {"ensemble-temperature", "gp", "iop", "venn-abers", "spline"} <= keys[2] & keys[3] & keys[21]
    assert "quadratic" in keys[2] - keys[3]
    assert {"structured", "svs"} <= keys[3] - keys[2]
    assert keys[3] - keys[21] == {"dirichlet"}
    usual = CALIBRATORS.make("blend").fit_on(rows(400, sharp=1.5))
    assert {CALIBRATORS.recipe(member).key for member in usual.members_} <= keys[3] | {"identity"}


def test_its_log_loss_is_at_most_the_average_of_those_of_its_members():
    fit, test = rows(300), rows(300, seed=2)
    blend = CALIBRATORS.make("blend", members=(*KEYS, "identity"), weights=(1, 1, 1, 1)).fit_on(fit)
    each = [losses(member.apply(test)).mean() for member in blend.members_]
    assert losses(blend.apply(test)).mean() <= np.mean(each)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"members": ("temperature", "vector"), "weights": (1.0,)}, "1 number; expected one for each of 2 members"),
        ({"members": ("temperature",), "weights": (0.0,)}, "not all 0"),
        ({"members": ("top-label-hb",)}, "top-label histogram binning does not return"),
        ({"members": ("metacal-miscoverage",)}, "does not return"),
    ],
)
def test_what_cannot_be_averaged_is_refused(params, words):
    with pytest.raises(InputError, match=words):
        CALIBRATORS.make("blend", **params).fit_on(rows(300))


def test_rows_that_need_not_sum_to_one_are_refused():
    with pytest.raises(NotAnswerable, match="rows that sum to one"):
        CALIBRATORS.make("blend").fit_on(Predictions.from_scores(rows(300).probs, rows(300).true_labels))


def test_a_single_row_changes_nothing():
    blend = CALIBRATORS.make("blend", members=KEYS).fit([[0.7, 0.2, 0.1]], [1])
    assert [type(member) for member in blend.members_] == [Identity]


def test_it_is_saved_exported_and_rebuilt_from_its_recipe():
    fit, test = rows(400), rows(50, seed=3)
    blend = CALIBRATORS.make("blend", members=("temperature", "gp", "iop"), weights=(0.5, 0.3, 0.2)).fit_on(fit)
    again = load_calibrator(blend.to_json())
    assert (again.apply(test).probs == blend.apply(test).probs).all()
    recipe = CALIBRATORS.recipe(blend)
    assert Recipe.from_dict("CALIBRATORS", recipe.to_dict()) == recipe
    assert (recipe.build().fit_on(fit).apply(test).probs == blend.apply(test).probs).all()
    assert recipe.title == "Blend of 3 calibrators"
    assert CALIBRATORS.described("blend", members=("temperature", "venn-abers")).title == (
        "Blend of temperature scaling and Venn-ABERS"
    )
    module = {}
    exec(python_source(blend), module)  # the export that users run
    np.testing.assert_allclose([module["calibrate"](row) for row in test.probs.tolist()], blend.apply(test).probs)


def test_it_says_its_members_and_their_weights():
    blend = Blend((Temperature(), Identity()), (3.0, 1.0)).fit_on(rows(300))
    inside = blend.insides()
    assert inside.sentence == "Averages the probabilities of temperature scaling (75 %) and original model (25 %)."
    numbers = {(number.name, number.of): number.value for number in inside.numbers()}
    assert numbers["weight", "Temperature scaling"] == 0.75
    assert numbers["temperature T", "Temperature scaling"] == pytest.approx(blend.members_[0].temperature_)
    assert CALIBRATORS.make("blend", members=("identity",) * 5).fit_on(rows(300)).columns == ()


def test_the_curves_of_two_classes_are_its_members_and_their_average():
    blend = CALIBRATORS.make("blend", members=KEYS, weights=(2, 1, 5)).fit_on(rows(300, k=2))
    drawn = fitted_parameters(blend)
    curves = drawn.curves
    at = np.column_stack([1 - curves.scores, curves.scores])
    np.testing.assert_allclose(curves.outputs, [member.predict_proba(at)[:, 1] for member in blend.members_])
    np.testing.assert_allclose(curves.average, blend.predict_proba(at)[:, 1])
    assert (curves.titles, curves.weights.tolist()) == (
        ("Temperature scaling", "Vector scaling", "Intra-order-preserving map"), [0.25, 0.125, 0.625],
    )  # fmt: skip
    lines = {trace.name: trace for trace in figures.fitted_parameters(drawn).data if trace.name}
    assert lines.keys() >= {"blend", *curves.titles}
    np.testing.assert_array_equal(lines["blend"].y, curves.average)
    bars = next(trace for trace in figures.fitted_parameters(drawn).data if trace.type == "bar")
    assert next(zip(bars.hovertext, bars.x, strict=True)) == ("Intra-order-preserving map", 0.625)
    assert CALIBRATORS.make("blend", members=KEYS, weights=(2, 1, 5)).fit_on(rows(300)).insides().curves is None


def test_columns_of_members_are_its_columns():
    site = pd.DataFrame({"site": np.where(np.arange(300) % 2, "A", "B")})
    p = rows(300, k=2, metadata=site)
    update = CALIBRATORS.make("intercept", by="site")
    blend = Blend((update, Temperature()), (1.0, 1.0)).fit_on(p)
    assert blend.columns == ("site",)
    halves = (update.fit_on(p).apply(p).probs + Temperature().fit_on(p).apply(p).probs) / 2
    np.testing.assert_allclose(blend.apply(p).probs, halves)
    assert blend.insides().curves is None
