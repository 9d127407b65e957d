"""Mistakes in other calibration code, each by name, each impossible here."""

import ast
import inspect
import io
import pkgutil
import re
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module

import numpy as np
import pytest
from generated import classes_for, ordinary_rows

import calib_core
from calib_core import CALIBRATORS, ESTIMATORS, REDUCTIONS, Predictions, estimate
from calib_core.binning import BINNINGS, Distinct, EqualMass, EqualWidth, of_interval, tabulate
from calib_core.diagrams import reliability
from calib_core.estimators import Binned
from calib_core.reductions import Confidence
from calib_core.registry.registry import Part
from tests.support.source_trees import nodes_of, tree_of


def flat(scores, outcomes, **more):
    return Predictions.from_confidence(np.array(scores), np.array(outcomes, bool), **more)


def table_of(p, scheme):
    return tabulate(Confidence().split(p), [scheme])[0]


@pytest.mark.parametrize("bins", [1, 2, 3, 10, 15, 100])
def test_b_bins_are_b_bins_not_b_minus_one(bins):
    """`linspace(0, 1, B)` has B - 1 gaps, and none for B = 1."""
    p = flat((np.arange(bins) + 0.5) / bins, np.zeros(bins))
    table = table_of(p, EqualWidth(bins))
    assert table.n_bins.tolist() == [bins]
    assert table.count[0].tolist() == [1] * bins
    assert reliability(p, bins).n_bins == bins


def test_one_bin_is_a_number_not_nan():
    assert estimate(flat([0.2, 0.9], [0, 1]), "confidence", "ece", bins=1).value == pytest.approx(0.05)


def test_convex_weights_give_the_nearer_bin_the_larger_share():
    """Swapped weights gave the farther bin 95 %; checked for every estimator that maps convexly, once there is one.

    One wrong claim is at 0.74 and one right claim at 0.76 around the center 0.75 of [0.7, 0.8). Each is shared with the
    neighbors by a tenth, and the two differences 0.74 and -0.24 nearly cancel. With swapped weights they would not.
    """
    convex = [key for key in ("ece-convex", "ece-adaptive-convex") if key in ESTIMATORS]
    for key in convex:
        p = flat([0.74, 0.76], [0, 1])
        assert estimate(p, "confidence", ESTIMATORS.make(key, bins=10)).value < 0.35


@pytest.mark.parametrize("bins", [3, 5, 10, 15])
def test_quantile_bins_of_tied_scores_do_not_collapse_to_two(bins):
    """Half of the rows are at 1.0: the other half still gets its bins."""
    scores = np.concatenate([np.linspace(0.1, 0.9, 500), np.ones(500)])
    counts = table_of(flat(scores, scores > 0.5), EqualMass(bins)).count[0]
    assert len(counts) >= bins // 2 + 1
    assert counts.sum() == 1000


def test_quantile_bins_of_tied_scores_do_not_depend_on_row_order():
    """Constant 0.5, right half of the time: the error is 0 for any order of the file."""
    sorted_by_outcome = np.arange(200) < 100
    shuffled = np.random.default_rng(0).permutation(sorted_by_outcome)
    for key in Part("BINNINGS", of_interval).keys:
        for outcomes in (sorted_by_outcome, shuffled, ~sorted_by_outcome):
            p = flat(np.full(200, 0.5), outcomes)
            assert estimate(p, "confidence", Binned(BINNINGS.make(key))).value == 0


def test_bins_are_compared_at_their_mean_score_not_at_their_centre():
    p = flat([0.71, 0.72, 0.73], [1, 1, 1])
    table = table_of(p, EqualWidth(10))
    assert table.mean_score[0, 7] == pytest.approx(0.72)
    assert estimate(p, "confidence", "ece", bins=10).value == pytest.approx(0.28)  # a center would be 0.25


@pytest.mark.sampled(3)
@pytest.mark.parametrize("key", CALIBRATORS)
def test_a_prediction_does_not_change_with_the_other_rows_of_the_batch(key):
    k = classes_for(key, 3)
    probs, labels = ordinary_rows(k=k)
    cal = CALIBRATORS.make(key).fit(probs, labels)
    together = cal.predict_proba(probs)
    apart = np.concatenate([cal.predict_proba(probs[i : i + 1]) for i in range(len(probs))])
    np.testing.assert_array_equal(together, apart)
    # A batch that contains impossible-looking neighbors (exact zeros and ones) neither.
    odd = np.vstack([probs[:1], np.eye(k), np.full((1, k), 1 / k)])
    np.testing.assert_array_equal(cal.predict_proba(odd)[0], together[0])


@pytest.mark.parametrize("key", CALIBRATORS)
def test_fitting_is_seeded_silent_and_leaves_the_global_generator_alone(key):
    probs, labels = ordinary_rows(k=classes_for(key, 3))
    np.random.seed(5)  # noqa: NPY002  the global generator is what must not be touched
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        first = CALIBRATORS.make(key).fit(probs, labels).predict_proba(probs)
        second = CALIBRATORS.make(key).fit(probs, labels).predict_proba(probs)
    np.testing.assert_array_equal(first, second)
    assert out.getvalue() == err.getvalue() == ""
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def modules():
    """Yield every module of the core except the readers, which have other tests."""
    for found in pkgutil.walk_packages(calib_core.__path__, "calib_core."):
        if not found.name.startswith("calib_core.readers"):
            yield import_module(found.name)


def test_no_generator_without_a_seed_and_no_print_anywhere():
    for module in modules():
        for node in nodes_of(tree_of(inspect.getsource(module))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            assert name != "print", f"{module.__name__} prints"
            if name.endswith("default_rng"):
                assert node.args, f"{module.__name__} line {node.lineno}: an unseeded generator"
            elif re.fullmatch(r"(np|numpy)\.random\.\w+", name):
                assert name.endswith(("SeedSequence", "Generator")), f"{module.__name__}: {name}"


@pytest.mark.parametrize("key", CALIBRATORS)
def test_arrays_of_the_caller_are_never_written_to(key):
    k = classes_for(key, 3)
    probs, labels = ordinary_rows(k=k)
    probs[0] = np.eye(k)[0]
    weights = np.ones(len(labels))
    held = probs.copy(), labels.copy(), weights.copy()
    cal = CALIBRATORS.make(key).fit(probs, labels, sample_weight=weights)
    made = cal.predict_proba(probs)
    for now, then in zip((probs, labels, weights), held, strict=True):
        np.testing.assert_array_equal(now, then)
    if made.flags.writeable:
        made[:] = 0.5
        np.testing.assert_array_equal(probs, held[0])


def test_nan_is_refused_not_repaired_in_place():
    probs = np.array([[0.5, 0.5], [np.nan, 0.5]])
    with pytest.raises(ValueError, match="probs row 1, column 0: nan"):
        Predictions(probs, [0, 1])
    assert np.isnan(probs[1, 0])


def test_empty_bins_are_left_out_of_sums_and_not_drawn_as_points_at_zero():
    p = flat([0.95, 0.95], [1, 1])
    assert reliability(p, 10).frame()["bin"].tolist() == [9]
    assert table_of(p, EqualWidth(10)).frame()["bin"].tolist() == [9]
    for order in (1, 2, "max"):
        assert estimate(p, "confidence", Binned(EqualWidth(10), order)).value == pytest.approx(0.05)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scheme", [EqualWidth(10), EqualMass(3), Distinct(), EqualWidth(7)], ids=repr)
def test_the_last_bin_keeps_scores_equal_to_one(scheme, dtype):
    p = flat(np.array([0.0, 0.3, 0.5, 1.0, 1.0], dtype=dtype), [0, 0, 1, 1, 0])
    table = table_of(p, scheme)
    assert table.count.sum() == 5
    assert table.count[0, table.n_bins[0] - 1] >= 2
    assert reliability(p, 10).count[-1] == 2


@pytest.mark.parametrize("absent", [0, 1, 2])
@pytest.mark.parametrize("key", [key for key in CALIBRATORS if classes_for(key, 3) == 3])
def test_a_class_absent_from_the_calibration_rows_neither_crashes_nor_shifts_columns(key, absent):
    probs, _ = ordinary_rows(400)
    # The model thinks the class rare, but not that it never occurs.
    probs[:, absent] *= 0.3
    probs /= probs.sum(1, keepdims=True)
    present = [c for c in range(3) if c != absent]
    labels = np.where(probs[:, present[0]] > probs[:, present[1]], *present)
    cal = CALIBRATORS.make(key).fit(probs, labels)
    test = Predictions(probs, labels, class_names=["a", "b", "c"])
    made = cal.apply(test)
    assert made.class_names == ("a", "b", "c")
    if made.kind in ("full", "per-class"):
        assert made.probs.shape == probs.shape
        # Columns stay in their positions: the class that was never true has the lowest average, in any position.
        if key in ("class-wise", "normalised", "class-wise-hb", "normalised-hb", "isotonic-ovr"):
            assert made.probs.mean(0).argmin() == absent
    else:
        assert set(made.predicted) <= {0, 1, 2}
        np.testing.assert_array_equal(made.predicted, test.predicted)


def test_a_class_absent_from_labels_and_predictions_is_still_a_class():
    p = Predictions([[0.7, 0.3, 0.0]] * 4, [0, 0, 1, 0])
    for notion in REDUCTIONS:
        if notion not in ("canonical", "event"):
            assert np.isfinite(estimate(p, notion, "ece").value)
    # The mean over all three classes: a class with score 0 and no row counts as error 0, not as missing.
    assert estimate(p, "class-wise", "ece", bins=1).value == pytest.approx((0.05 + 0.05 + 0) / 3)
