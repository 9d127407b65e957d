"""Laws of every calibrator, over the registry, kinds of composition, and small parameters that give several bins."""

import re

import numpy as np
import pytest
from generated import (
    STYLES,
    UNTIED,
    classes_for,
    copies,
    full_predictions,
    of_kind,
    ordinary_rows,
    permuted,
    two_predictions,
)
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from calib_core import BINARY_CALIBRATORS, CALIBRATORS, InputError, NotAnswerable, Predictions
from calib_core.registry.registry import Part

FEW = settings(max_examples=8)


EASY = {"accuracy": 0.01, "members": ("temperature", "iop", "vector")}
"""Required accuracy among answered rows that nearly all rows can reach; members of a blend that take little time."""


def easy(key):
    """Return a calibrator that seldom refuses the small and noisy rows drawn here."""
    names = {p.name for p in CALIBRATORS.entry(key).params}
    return CALIBRATORS.make(key, **{name: value for name, value in EASY.items() if name in names})


PART = Part("BINARY_CALIBRATORS")
COMPOSED = ("identity", "metacal-accuracy", "top-label", "class-wise", "top-k-label", "normalised-hb")
"""Keys, one for each kind of output, for abstention and for refusal.

Laws that are valid for the parts are valid for their composition. A test below proves for every key that a composition
is its parts in sequence.
"""


def binary_parts(wrappers):
    """Yield pairs of wrapper and binary part: every part in the top-label wrapper, and in turn in another one.

    The parts have their own laws and a wrapper does the same with each. The predicted classes give them the fewest
    rows, and rows of a single class.
    """
    others = [key for key in wrappers if key != "top-label"]
    for i, binary in enumerate(BINARY_CALIBRATORS):
        yield "top-label", binary
        yield others[i % len(others)], binary


def cases():
    """Yield pairs of id and maker: every key, few points per bin, compositions of every kind, every binary part."""
    for key in CALIBRATORS:
        yield key, lambda key=key: easy(key)
        if "points_per_bin" in {p.name for p in CALIBRATORS[key].params}:
            yield f"{key}, 4 points", lambda key=key: CALIBRATORS.make(key, points_per_bin=4)
    for key in COMPOSED:
        yield f"ts+{key}", lambda key=key: easy(f"ts+{key}")
    takes_part = [
        key for key in CALIBRATORS if Part("BINARY_CALIBRATORS") in {p.domain for p in CALIBRATORS[key].params}
    ]
    for key, binary in binary_parts(takes_part):
        yield f"{key} of {binary}", lambda key=key, binary=binary: CALIBRATORS.make(key, binary=binary)


CASES = dict(cases())
KEY_OF = {name: name.split(",")[0].split(" of ")[0] for name in CASES}


@pytest.fixture(params=CASES)
def case(request):
    return request.param


def contract(case):
    return CALIBRATORS[KEY_OF[case]].flags


def fitted(case, predictions):
    """Return the calibrator fitted on these rows; inside a law, rows that it may refuse are drawn again."""
    try:
        return CASES[case]().fit_on(predictions)
    except NotAnswerable:
        if contract(case).may_refuse and predictions.kind == "full":
            reject()
        raise


def numbers(predictions):
    """Return every number of recalibrated predictions."""
    if predictions.kind in ("full", "per-class"):
        return predictions.probs
    return predictions.top(predictions.n_ranked)[1]


def tolerance(predictions):
    """Return the tolerance for sums in another order, that of float32 for float32 rows."""
    return 1e-9 if predictions.probs.dtype == np.float64 else 2e-5


def data(case, styles=STYLES, **more):
    return full_predictions(styles=styles, max_classes=4, classes=classes_for(case, None), **more)


def pairs(case):
    return two_predictions(classes=classes_for(case, None))


def drawn_rows(case, n, seed):
    """Return probabilities of three classes, or of as many as the calibrator needs, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(classes_for(case, 3)), n)
    return probs, (rng.random(n)[:, None] > probs.cumsum(1)[:, :-1]).sum(1)


def assert_sentence(message):
    assert len(message.split()) >= 6
    assert "nan" not in message.lower()


def fitted_or_skipped(case, probs, labels):
    """Return the calibrator fitted on fixed rows; skip the test if it is allowed to refuse them."""
    try:
        return CASES[case]().fit(probs, labels)
    except NotAnswerable as why:
        if contract(case).may_refuse:
            pytest.skip(str(why))
        raise


def test_every_entry_declares_its_contract():
    for key in CALIBRATORS:
        flags = CALIBRATORS[key].flags
        assert flags is not None, key
        assert flags.output in ("full", "per-class", "top-label", "top-k", "same")


@pytest.mark.sampled(3)
def test_output_is_of_the_declared_kind_inside_zero_and_one(case):
    flags = contract(case)

    @FEW
    @given(both=pairs(case))
    def law(both):
        fit, test = both
        made = fitted(case, fit).apply(test)
        kinds = {"full": "full", "per-class": "per-class", "top-label": "top-label", "top-k": "top-label"}
        assert made.kind == kinds.get(flags.output, "full")
        out = numbers(made).astype(float)
        assert np.isfinite(out).all()
        assert out.min() >= 0
        assert out.max() <= 1
        if flags.sums_to_one:
            np.testing.assert_allclose(out.sum(1), 1, atol=1e-6)
        if made.kind == "full":
            assert made.probs.dtype == test.probs.dtype, "float32 in, float32 out"
        np.testing.assert_array_equal(made.labels, test.labels)
        assert made.class_names == test.class_names
        assert made.n_rows == test.n_rows
        assert (made.weights is None) == (test.weights is None)

    law()


@pytest.mark.parametrize("case", [name for name in CASES if contract(name).keeps_argmax and name[:3] != "ts+"])
def test_keeps_the_predicted_class_where_it_says_so(case):
    @FEW
    @given(both=pairs(case))
    def law(both):
        fit, test = both
        made = fitted(case, fit).apply(test)
        if made.kind != "full":
            np.testing.assert_array_equal(made.predicted, test.predicted)
            return
        # A temperature at its bound rounds neighboring probabilities together; the class must stay among the largest.
        kept = made.probs[np.arange(test.n_rows), test.predicted]
        np.testing.assert_array_equal(kept, made.confidence)

    law()


@pytest.mark.sampled(2)
def test_a_row_does_not_depend_on_the_rest_of_the_batch(case):
    @FEW
    @given(both=pairs(case), seed=st.integers(0, 99))
    def law(both, seed):
        fit, test = both
        calibrator = fitted(case, fit)
        whole = numbers(calibrator.apply(test))
        i = seed % test.n_rows if test.weights is None else int(test.weights.argmax())
        np.testing.assert_array_equal(numbers(calibrator.apply(test.take([i])))[0], whole[i])
        shuffled, order = permuted(test, seed)
        np.testing.assert_array_equal(numbers(calibrator.apply(shuffled)), whole[order])

    law()


@pytest.mark.sampled(3)
def test_the_order_of_calibration_rows_does_not_matter(case):
    @FEW
    @given(fit=data(case), seed=st.integers(0, 99))
    def law(fit, seed):
        shuffled, _ = permuted(fit, seed)
        here, there = (numbers(fitted(case, f).apply(fit)) for f in (fit, shuffled))
        np.testing.assert_allclose(there, here, atol=tolerance(fit))

    law()


@pytest.mark.sampled(3)
def test_a_whole_weight_is_that_many_copies(case):
    @FEW
    @given(fit=data(case, weighted="whole", min_rows=4))
    def law(fit):
        here, there = (numbers(fitted(case, f).apply(fit)) for f in (fit, copies(fit)))
        # The rule "fewer than two rows" looks at rows given, so a single row of weight 2 is not two rows.
        if (fit.weights > 0).sum() > 1:
            np.testing.assert_allclose(there, here, atol=tolerance(fit))

    law()


@pytest.mark.sampled(3)
def test_fitting_again_is_fitting_once_and_a_clone_is_unfitted(case):
    @FEW
    @given(both=pairs(case))
    def law(both):
        first, second = both
        calibrator = fitted(case, first)
        fitted(case, second)  # rows that it refuses are drawn again
        once = numbers(calibrator.apply(first))
        params = calibrator.get_params()
        np.testing.assert_array_equal(numbers(fitted(case, first).apply(first)), once)
        calibrator.fit_on(second).fit_on(first)
        np.testing.assert_array_equal(numbers(calibrator.apply(first)), once)
        assert calibrator.get_params().keys() == params.keys()
        with pytest.raises(NotFittedError):
            clone(calibrator).apply(first)
        np.testing.assert_array_equal(numbers(clone(calibrator).fit_on(first).apply(first)), once)

    law()


def test_an_unfitted_calibrator_says_so(case):
    calibrator = CASES[case]()
    for ask in (calibrator.predict_proba, calibrator.predict):
        with pytest.raises(NotFittedError):
            ask([[0.6, 0.4]])
    repr(calibrator)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("writeable", [True, False])
def test_inputs_are_left_as_they_were(case, writeable, dtype):
    rng = np.random.default_rng(0)
    k = classes_for(case, 3)
    probs = np.vstack([rng.dirichlet(np.ones(k), 38), np.eye(k)[:1], [[*[0] * (k - 2), 0.5, 0.5]]]).astype(dtype)
    labels = rng.integers(k, size=40)
    held = probs.copy(), labels.copy()
    probs.setflags(write=writeable)
    labels.setflags(write=writeable)
    calibrator = fitted_or_skipped(case, probs, labels)
    calibrator.predict_proba(probs)
    calibrator.predict(probs)
    np.testing.assert_array_equal(probs, held[0])
    np.testing.assert_array_equal(labels, held[1])
    assert probs.flags.writeable == labels.flags.writeable == writeable


ROWS = np.random.default_rng(1).dirichlet(np.ones(3), 30)
DEGENERATE = {
    "one row": ([[0.2, 0.3, 0.5]], [2]),
    "two rows of one class": ([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], [2, 2]),
    "one class only": (ROWS, np.zeros(30, int)),
    "first class absent": (ROWS, 1 + np.arange(30) % 2),
    "last class absent": (ROWS, np.arange(30) % 2),
    "middle class absent": (ROWS, 2 * (np.arange(30) % 2)),
    "never right": (ROWS, ROWS.argmin(1)),
    "always right": (ROWS, ROWS.argmax(1)),
    "all rows equal": (np.tile([0.2, 0.3, 0.5], (30, 1)), np.arange(30) % 3),
    "all rows uniform": (np.full((30, 3), 1 / 3), np.arange(30) % 3),
    "exact zeros and ones, right": (np.eye(3)[np.arange(30) % 3], np.arange(30) % 3),
    "exact zeros and ones, wrong": (np.eye(3)[np.arange(30) % 3], (np.arange(30) + 1) % 3),
    "exact zeros and ones, half": (np.eye(3)[np.arange(30) % 3], np.arange(30) % 2),
    "two classes": (np.column_stack([ROWS[:, 0], 1 - ROWS[:, 0]]), np.arange(30) % 2),
    "two classes, separable": (np.column_stack([ROWS[:, 0], 1 - ROWS[:, 0]]), (ROWS[:, 0] < 0.5).astype(int)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rows", DEGENERATE)
def test_degenerate_calibration_rows_give_an_answer_or_one_clear_sentence(case, rows):
    for dtype in (np.float64, np.float32):
        probs, labels = DEGENERATE[rows]
        answer_or_sentence(case, np.asarray(probs, dtype=dtype), labels)


def answer_or_sentence(case, probs, labels):
    try:
        calibrator = CASES[case]().fit(probs, labels)
    except InputError as why:
        sentence = str(why)
        assert_sentence(sentence)
        return
    new = np.vstack([probs[:1], np.full((1, probs.shape[1]), 1 / probs.shape[1]), np.eye(probs.shape[1])[:1]])
    out = np.asarray(calibrator.predict_proba(new.astype(probs.dtype)), dtype=float)
    assert np.isfinite(out).all()
    assert out.min() >= 0
    assert out.max() <= 1
    if out.ndim == 2 and contract(case).output in ("full", "per-class", "same"):
        assert out.shape == (3, probs.shape[1]), "no class is lost or shifted"


def test_weaker_kinds_of_predictions_are_calibrated_or_refused_in_a_sentence(case):
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.ones(3), 40)
    full = Predictions(probs, rng.integers(3, size=40))
    for kind in ("top-label", "confidence"):
        weaker = of_kind(full, kind)
        try:
            made = fitted(case, weaker).apply(weaker)
        except NotAnswerable as why:
            sentence = str(why)
            assert contract(case).needs_matrix or kind == "confidence" or case.startswith("ts+")
            assert_sentence(sentence)
            continue
        assert made.kind == kind
        assert made.n_rows == 40
        np.testing.assert_array_equal(made.correct, weaker.correct)


def test_another_number_of_classes_is_refused(case):
    k = classes_for(case, 3)
    calibrator = fitted_or_skipped(case, np.full((60, k), 1 / k), [*range(k)] * (60 // k))
    with pytest.raises(InputError, match=f"4 classes; this calibrator was fitted with {k}"):
        calibrator.predict_proba([[0.25] * 4])


def test_works_inside_grid_search_and_pipeline(case):
    probs, labels = drawn_rows(case, 60, 3)
    alone = fitted_or_skipped(case, probs, labels).predict_proba(probs[:5])
    pipeline = Pipeline([("calibrate", CASES[case]())]).fit(probs, labels)
    np.testing.assert_array_equal(pipeline.predict_proba(probs[:5]), alone)
    if contract(case).may_refuse:
        return
    search = GridSearchCV(CASES[case](), {}, cv=3).fit(probs, labels)
    np.testing.assert_array_equal(search.predict_proba(probs[:5]), alone)
    assert np.isfinite(search.best_score_)


def test_grid_search_reaches_the_parameters_of_parts():
    rng = np.random.default_rng(4)
    probs = rng.dirichlet(np.ones(3), 90)
    labels = rng.integers(3, size=90)
    grid = {"binary__points_per_bin": [5, 10, 40]}
    search = GridSearchCV(CALIBRATORS.make("confidence-hb"), grid, cv=3).fit(probs, labels)
    assert search.best_estimator_.binary.points_per_bin in (5, 10, 40)


@FEW
@given(fit=full_predictions(styles=UNTIED, max_classes=4, weighted=False), temperature=st.floats(0.3, 3))
def test_recalibrating_the_already_recalibrated_with_temperature_changes_nothing(fit, temperature):
    once = CALIBRATORS.make("temperature").fit_on(fit)
    if once.status_ != "converged":
        return
    again = CALIBRATORS.make("temperature").fit_on(once.apply(fit))
    assert again.temperature_ == pytest.approx(1, abs=1e-6 if fit.probs.dtype == np.float64 else 1e-2)


@pytest.mark.parametrize("key", CALIBRATORS)
def test_composition_is_fitting_one_after_the_other(key):
    fit = Predictions(*ordinary_rows(k=classes_for(key, 3), seed=5))
    first = CALIBRATORS.make("temperature").fit_on(fit)
    try:
        by_hand = easy(key).fit_on(first.apply(fit)).apply(first.apply(fit))
    except NotAnswerable as refusal:
        with pytest.raises(NotAnswerable, match=re.escape(str(refusal))):
            easy(f"ts+{key}").fit_on(fit)
        return
    composed = easy(f"ts+{key}").fit_on(fit).apply(fit)
    assert composed.kind == by_hand.kind
    np.testing.assert_array_equal(numbers(composed), numbers(by_hand))
    np.testing.assert_array_equal(composed.abstained, by_hand.abstained)


@pytest.mark.parametrize("key", [key for key in CALIBRATORS if not contract(key).abstains])
def test_only_calibrators_that_say_so_leave_rows_unanswered(key):
    p = Predictions(*drawn_rows(key, 200, 6))
    assert CALIBRATORS.make(key).fit_on(p).apply(p).abstained is None
