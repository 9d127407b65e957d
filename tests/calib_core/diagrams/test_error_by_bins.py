"""Errors over numbers of bins, each by a slow twin: kinds of bins, estimators, intervals, refitted maps."""

import numpy as np
import pytest
from generated import full_predictions
from hypothesis import given, settings
from hypothesis import strategies as st
from null_rates import gumbel_labels, spread_rows

from calib_core import (
    BINNINGS,
    CALIBRATORS,
    ESTIMATORS,
    InputError,
    NotAnswerable,
    Predictions,
    RegistryError,
    estimate,
)
from calib_core.calibrators import refitted
from calib_core.diagrams import error_sweep, swept_estimators, swept_kinds
from calib_core.estimators import as_estimator
from calib_core.estimators.base import Question
from calib_core.inference.intervals import joint_intervals
from calib_core.inference.noise import outcome_draws
from calib_core.inference.noise.noise_floor import noise_floor
from calib_core.reductions import as_reduction


def sample(n=400, k=3, seed=0, **more):
    rng = np.random.default_rng(seed)
    p = spread_rows(n, k, rng, 1.5)
    sharp = p**1.6
    return Predictions(sharp / sharp.sum(1, keepdims=True), gumbel_labels(p, rng), **more)


def scheme(kind, number):
    return BINNINGS.make(kind, **{BINNINGS[kind].params[0].name: number})


def twin(rows, notion, key, kind, numbers):
    return [estimate(rows, notion, key, bins=scheme(kind, b)) for b in numbers]


@settings(max_examples=15, deadline=None)
@given(
    p=full_predictions(max_rows=30),
    key=st.sampled_from(swept_estimators()),
    kind=st.sampled_from(swept_kinds()),
    notion=st.sampled_from(["confidence", "top-label", "class-wise"]),
)
def test_every_estimator_notion_and_kind_of_bins_is_what_estimate_says(p, key, kind, notion):
    numbers = [1, 2, 7]
    if ESTIMATORS[key].flags.shared_bins and kind != "equal-width":
        kind = "equal-width"
    wanted = [found.value for found in twin(p, notion, key, kind, numbers)]
    found = error_sweep(p, [notion], key, numbers, False, kind=kind)
    np.testing.assert_allclose(found.value[0], wanted, atol=1e-9)
    assert np.isnan(found.floor).all()
    assert not found.ranged


@pytest.mark.parametrize("weights", [None, np.r_[np.zeros(5), np.full(195, 1.5), np.ones(200)]])
@pytest.mark.parametrize(("key", "kind"), [("ece", "equal-width"), ("debiased-l2", "equal-mass")])
def test_intervals_are_those_of_estimate_to_the_last_bit(key, kind, weights):
    p, numbers = sample(weights=weights), [3, 9]
    found = error_sweep(p, ["confidence", "class-wise"], key, numbers, False, kind=kind, intervals=True, level=0.8)
    for line, notion in enumerate(("confidence", "class-wise")):
        ends = [e.interval(0.8) for e in twin(p, notion, key, kind, numbers)]
        assert found.low[line].tolist() == [e.low for e in ends]
        assert found.high[line].tolist() == [e.high for e in ends]
    assert found.level == 0.8
    assert found.frame().columns[-2:].tolist() == ["low", "high"]


@pytest.mark.parametrize("kind", swept_kinds())
@pytest.mark.parametrize("notion", ["top-label", "class-wise"])
def test_floors_from_shared_draws_are_those_drawn_for_each_number_alone(kind, notion):
    p, numbers = sample(300, weights=np.arange(300) % 3), [2, 7, 40]
    found = error_sweep(p, [notion], "rmsce", numbers, kind=kind)
    for j, b in enumerate(numbers):
        question = Question(p, as_reduction(notion), as_estimator("rmsce", scheme(kind, b)))
        assert found.floor[0, j] == pytest.approx(noise_floor(question, 200, 0).high, rel=1e-9)


@pytest.mark.parametrize("weights", [None, np.arange(300) % 3 + 0.5])
@pytest.mark.parametrize("kind", swept_kinds())
@pytest.mark.parametrize("notion", ["top-label", "class-wise"])
@pytest.mark.parametrize("few", [1, 10**6])
def test_floors_of_many_cells_are_those_drawn_for_each_number_alone(notion, kind, weights, few, monkeypatch):
    """Applies to any number of replicates or drawn outcomes in memory at a time."""
    for module, name, value in ((joint_intervals, "MOST_CELLS", 0), (joint_intervals, "_AT_ONCE", few),
                                (outcome_draws, "_BLOCK_BYTES", 1000)):  # fmt: skip
        monkeypatch.setattr(module, name, value)
    if notion == "class-wise":
        monkeypatch.setattr(joint_intervals, "_HELD", few)
    p, numbers = sample(300, weights=weights), [2, 7, 40]
    estimators = [as_estimator("rmsce", scheme(kind, b)) for b in numbers]
    for found, estimator in zip(
        joint_intervals.floors(p, as_reduction(notion), estimators, 20), estimators, strict=True
    ):
        alone = noise_floor(Question(p, as_reduction(notion), estimator), 20, 0)
        np.testing.assert_allclose(found.draws, alone.draws, rtol=1e-9)


def test_bins_told_by_their_rows_are_swept_over_rows():
    p = sample()
    found = error_sweep(p, ["confidence"], bins=[20, 100], floor=False, kind="points-per-bin")
    by_hand = []
    for rows in (20, 100):
        order = np.argsort(p.confidence, kind="stable")
        parts = np.array_split(order, 400 // rows)  # the first contain one row more, as here; no ties
        by_hand.append(sum(abs(p.confidence[part].sum() - p.correct[part].sum()) for part in parts) / 400)
    np.testing.assert_allclose(found.value[0], by_hand)
    assert found.axis == "rows per bin"
    assert error_sweep(p, ["confidence"], floor=False, kind="points-per-bin").bins[0] == 10


def test_estimators_that_place_their_bins_are_told_their_number():
    p = sample()
    own = error_sweep(p, ["confidence"], "ece-adaptive", [5, 9], floor=False)
    mass = error_sweep(p, ["confidence"], "ece", [5, 9], floor=False, kind="equal-mass")
    np.testing.assert_allclose(own.value, mass.value)
    assert (own.axis, mass.axis) == ("number of bins", "number of bins, equal mass")


def test_whole_vectors_are_swept_over_cells_of_the_simplex():
    p = sample()
    found = error_sweep(p, ["canonical"], bins=[1, 3], kind="sierpinski", intervals=True)
    for j, depth in enumerate((1, 3)):
        alone = estimate(p, "canonical", "ece", bins=BINNINGS.make("sierpinski", depth=depth))
        assert found.value[0, j] == pytest.approx(alone.value)
        assert found.low[0, j] == alone.interval().low
    with pytest.raises(NotAnswerable, match="partition of the simplex"):
        error_sweep(p, ["canonical"], bins=[3])


@pytest.mark.parametrize(
    ("key", "kind", "name"),
    [
        ("top-label-hb", None, "bins"),
        ("confidence-hb", "points-per-bin", "points_per_bin"),
        ("scaling-binning", None, "bins"),
    ],
)
def test_calibrators_are_fitted_anew_for_every_number(key, kind, name):
    fit, test, numbers = sample(seed=1), sample(seed=2), [10, 25]
    notion = "class-wise" if key == "scaling-binning" else "confidence"
    calibrator = CALIBRATORS.make(key, random_state=4)
    models = {"anew": refitted(fit, test, calibrator), "base": test}
    found = error_sweep(models, [notion], bins=numbers, kind=kind, intervals=True)
    for j, b in enumerate(numbers):
        rows = CALIBRATORS.make(key, random_state=4, **{name: b}).fit_on(fit).apply(test)
        alone = estimate(rows, notion, "ece", bins=scheme(kind or "equal-width", b))
        assert found.value[0, j] == pytest.approx(alone.value, abs=1e-12)
        assert found.low[0, j] == alone.interval().low
    assert found.models == ("anew", "base")
    if notion == "class-wise":  # rows with one probability per class do not determine the chance of each class
        assert np.isnan(found.floor[0]).all()
        assert "no class can be drawn from them" in found.notes[0]
    assert (found.floor[0] != found.floor[1]).all()
    assert not found.notes[1]


def test_which_calibrators_have_a_number_of_bins_is_declared():
    fitted_by = {key for key in CALIBRATORS if CALIBRATORS[key].flags.bins}
    assert fitted_by == {
        "top-label-hb", "class-wise-hb", "normalised-hb", "confidence-hb", "scaling-binning", "sierpinski", "grid",
        "projection",
    }  # fmt: skip
    for key in fitted_by:
        assert CALIBRATORS[key].has(CALIBRATORS[key].flags.bins)
        assert not CALIBRATORS[key].flags.rows or CALIBRATORS[key].has(CALIBRATORS[key].flags.rows)
    with pytest.raises(NotAnswerable, match="Temperature scaling has no number of bins"):
        refitted(sample(), sample(), "temperature")
    with pytest.raises(NotAnswerable, match="Scaling-binning has no parameter for the number of rows"):
        error_sweep(refitted(sample(), sample(), "scaling-binning"), ["class-wise"], kind="points-per-bin")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimator": "smece"}, "uses no bins, so there is no number of bins to vary; these do: ece"),
        ({"estimator": "ece-adaptive", "kind": "equal-mass"}, "places its bins itself"),
        ({"kind": "distinct"}, "have no number to vary; these have: equal-width"),
        ({"kind": "no-such"}, "'no-such' is not known"),
        ({"bins": [0, 5]}, "whole numbers of at least 1"),
        ({"bins": [2.5]}, "whole numbers of at least 1"),
        ({"bins": ["a"]}, "whole numbers of at least 1"),
        ({"bins": [2000]}, "from 1 to 1000"),
    ],
)
def test_what_cannot_be_swept_says_why(options, words):
    with pytest.raises(RegistryError, match=words):
        error_sweep(sample(), **options)


def test_nothing_to_sweep_is_refused():
    for models, notions in (({}, ["confidence"]), (sample(), [])):
        with pytest.raises(InputError, match="at least one of each"):
            error_sweep(models, notions)


def test_progress_comes_in_percent_and_ends():
    seen = []
    error_sweep(sample(), ["confidence"], bins=[5, 6, 7, 8], floor=False, progress=seen.append)
    assert seen == [25, 50, 75, 100]
