"""Venn-ABERS maps: their definition, the one-pass algorithm against it, the guarantee of the pair, and the interval."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from calib_core import CALIBRATORS, Predictions, figures
from calib_core.calibrators import VennAbers
from calib_core.diagrams import binary_map


@st.composite
def claims(draw):
    """Draw scores with and without ties, outcomes of every share, whole weights or none."""
    n = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.random(n) if draw(st.booleans()) else rng.integers(0, 9, n) / 8
    share = draw(st.sampled_from((0.0, 0.1, 0.5, 1.0, None)))
    outcomes = rng.random(n) < (scores if share is None else share)
    return scores, outcomes, rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else np.ones(n)


def refitted(scores, outcomes, weights, new, label):
    """Return isotonic regression with the new row and its label among the others, at the new row: the definition."""
    values = IsotonicRegression(y_min=0, y_max=1).fit_transform(
        np.append(scores, new), np.append(outcomes, label).astype(float), sample_weight=np.append(weights, 1.0)
    )
    return values[-1]


@settings(max_examples=25)
@given(rows=claims(), more=st.lists(st.integers(0, 999), max_size=3))
def test_the_pair_is_two_isotonic_fits_with_the_row_itself(rows, more):
    scores, outcomes, weights = rows
    fitted = VennAbers().fit(*rows[:2], sample_weight=weights)
    # scikit-learn calls scores equal that lie within rounding of each other, and no others are near these.
    new = np.unique(np.concatenate([scores, np.array(more) / 999, [0.0, 1.0]]))
    for label, values in enumerate(fitted.interval(new)):
        twin = [refitted(scores, outcomes, weights, s, label) for s in new]
        np.testing.assert_allclose(values, twin, atol=1e-12)


@settings(max_examples=20)
@given(rows=claims())
def test_of_the_pair_the_one_the_outcome_chooses_is_calibrated(rows):
    """Theorem 1 without chance: left out in turn, rows get the values of one isotonic fit, which is calibrated."""
    scores, outcomes, _ = rows
    if len(scores) < 2:
        return
    chosen = np.empty(len(scores))
    for i in range(len(scores)):
        rest = np.arange(len(scores)) != i
        pair = VennAbers().fit(scores[rest], outcomes[rest]).interval(scores[i : i + 1])
        chosen[i] = pair[int(outcomes[i])][0]
    for value in np.unique(chosen.round(9)):
        mine = np.abs(chosen - value) < 1e-8
        assert outcomes[mine].mean() == pytest.approx(value, abs=1e-8)


def test_pairs_and_probability_by_hand():
    fitted = VennAbers().fit([0.2, 0.4, 0.4, 0.9], [0, 1, 0, 1])
    lower, upper = fitted.interval([0.1, 0.2, 0.3, 0.4, 0.5, 0.95])
    # With (0.4, 0) three rows lie at 0.4, one of them true; with (0.3, 1) the rows at 0.3 and 0.4 come to 2 of 3.
    np.testing.assert_allclose(lower, [0, 0, 0, 1 / 3, 1 / 3, 1 / 2])
    np.testing.assert_allclose(upper, [1 / 2, 1 / 2, 2 / 3, 2 / 3, 1, 1])
    np.testing.assert_allclose(fitted.transform([0.3, 0.4]), [(2 / 3) / (5 / 3), (2 / 3) / (4 / 3)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_map_is_kept_once_at_the_scores_and_read_off_between_its_steps(dtype):
    """For a rare class, p1 steps after nearly every score, p0 at the few positives, in the scores' own precision."""
    rng = np.random.default_rng(5)
    scores = rng.beta(1, 60, 4000).astype(dtype)
    fitted = VennAbers().fit(scores, rng.random(4000) < scores)
    kept = (fitted.thresholds_, fitted.upper_, fitted.lower_thresholds_, fitted.lower_)
    assert fitted.thresholds_.dtype == dtype
    assert sum(part.nbytes for part in kept) < 4000 * (8 + scores.itemsize) * 1.1
    places = np.unique(np.concatenate([scores, np.nextafter(scores, 1), rng.random(99)]).astype(np.float64))
    found = fitted.score_map().offsets[np.searchsorted(fitted.steps, places, "right")]
    np.testing.assert_array_equal(found, fitted.transform(places))


def test_the_interval_narrows_with_rows_and_holds_the_probability():
    rng = np.random.default_rng(1)
    widths = []
    for n in (50, 5000):
        scores = rng.random(n)
        fitted = VennAbers().fit(scores, rng.random(n) < scores**2)
        (lower, upper), out = fitted.interval(scores), fitted.transform(scores)
        assert ((lower < out) & (out < upper)).all()
        widths.append((upper - lower).mean())
    assert widths[1] < widths[0] / 10


def test_weights_count_as_effective_rows_whatever_their_scale():
    rng = np.random.default_rng(2)
    scores, weights = rng.random(40), 0.3 + rng.random(40)
    outcomes = rng.random(40) < scores
    one, other = (VennAbers().fit(scores, outcomes, sample_weight=w).interval(scores) for w in (weights, 7 * weights))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_one_against_the_rest_agrees_with_the_package_venn_abers():
    """The reference is predict_proba_prefitted_va(..., va_tpe="one_vs_rest") of venn-abers 1.5.4 on these rows."""
    probs = np.array([[6, 3, 1], [5, 3, 2], [2, 7, 1], [1, 5, 4], [2, 2, 6], [1, 1, 8], [4, 4, 2], [7, 2, 1]]) / 10
    fitted = CALIBRATORS.make("venn-abers").fit(probs, [0, 1, 1, 1, 2, 2, 0, 0])
    wanted = np.array([[80, 48, 15], [143 * 6 / 17, 143 * 6 / 17, 143 * 5 / 17]]) / 143
    np.testing.assert_allclose(fitted.predict_proba([[0.6, 0.3, 0.1], [0.3, 0.3, 0.4]]), wanted, atol=1e-12)


def test_two_classes_need_no_division():
    rng = np.random.default_rng(3)
    p = rng.integers(1, 64, 200) / 64  # 1 - p is exact, so that both classes have the same ties
    fitted = CALIBRATORS.make("venn-abers").fit(np.column_stack([p, 1 - p]), (rng.random(200) > p).astype(int))
    lower, upper = fitted.maps_[0].interval(p)
    out = fitted.predict_proba(np.column_stack([p, 1 - p]))
    np.testing.assert_allclose(out[:, 0], upper / (1 - lower + upper), atol=1e-12)


def test_the_interval_is_in_the_table_and_in_the_picture():
    rng = np.random.default_rng(4)
    probs = rng.dirichlet(np.ones(3), 150)
    p = Predictions(probs, rng.integers(3, size=150))
    diagram = binary_map(CALIBRATORS.make("venn-abers").fit_on(p), p, 1)
    frame = diagram.frame()
    assert list(frame) == ["score", "output", "lower", "upper"]
    assert ((frame["lower"] <= frame["output"]) & (frame["output"] <= frame["upper"])).all()
    (band,) = (trace for trace in figures.binary_map(diagram).data if trace.name == "interval")
    np.testing.assert_array_equal(band.y, np.append(frame["lower"], frame["upper"][::-1]))
    plain = binary_map(CALIBRATORS.make("isotonic-ovr").fit_on(p), p, 1)
    assert list(plain.frame()) == ["score", "output"]
    assert "interval" not in {trace.name for trace in figures.binary_map(plain).data}
