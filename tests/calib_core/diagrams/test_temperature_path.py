"""The stars at every temperature, against softmax(log p / T) and the page's own reliability diagram."""

import numpy as np
import pytest
from generated import full_predictions
from hypothesis import given
from hypothesis import strategies as st

from calib_core import InputError, NotAnswerable, Predictions
from calib_core.calibrators.fitting.softmax_loss import LogRows
from calib_core.diagrams import reliability, temperature_path


def softened(p, temperature):
    """Return max_k softmax(z / T), row by row in float64."""
    (z,) = (block for _, block in LogRows.best(p.answered).blocks(1 << 40))
    z = z.astype(np.float64) / temperature
    odds = np.exp(z - z.max(axis=1, keepdims=True))
    return 1.0 / odds.sum(axis=1)


@given(p=full_predictions(), bins=st.sampled_from([1, 7, 15, "equal-mass"]))
def test_a_temperature_of_one_is_the_diagram_of_the_page(p, bins):
    path, page = temperature_path(p, bins), reliability(p, bins)
    (one,) = np.flatnonzero(path.temperatures == 1.0)
    np.testing.assert_array_equal(path.count[one][: page.n_bins], page.count)
    filled = page.count > 0
    for numbers, star in ((path.confidence_sum, page.confidence), (path.right, page.accuracy)):
        np.testing.assert_allclose(numbers[one][: page.n_bins][filled], (star * page.count)[filled], atol=1e-12)
    if not np.isnan(path.lower).any():
        np.testing.assert_array_equal([path.lower, path.upper], [page.lower, page.upper])


@given(p=full_predictions())
def test_sums_over_all_bins_are_those_of_softened_rows(p):
    """With a single bin no row can change sides, so that the plain computation must agree to rounding."""
    path = temperature_path(p, 1, also=[1.7], notion="confidence")
    weights = np.ones(p.n_rows) if p.weights is None else p.weights
    assert len(path.temperatures) == 62
    assert (np.diff(path.temperatures) > 0).all()
    for j in (0, 20, 35, 36, 61):
        plain = softened(p, path.temperatures[j])
        np.testing.assert_allclose(path.confidence_sum[j, 0], (weights * plain).sum(), rtol=2e-5)
    # A temperature never changes who is right, nor how many rows there are.
    assert np.ptp(path.right) == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(path.count, weights.sum())


@pytest.mark.parametrize("stored", ["probabilities", "logits", "float32"])
def test_every_bin_holds_the_rows_that_the_plain_computation_puts_there(stored):
    generator = np.random.default_rng(3)
    logits, labels = generator.normal(size=(3000, 6)) * 2, generator.integers(0, 6, 3000)
    p = Predictions.from_logits(logits, labels)
    if stored != "logits":
        p = Predictions(p.probs.astype("float32" if stored == "float32" else "float64"), labels)
    path = temperature_path(p, 10, also=[1.69])
    for j, temperature in enumerate(path.temperatures):
        conf = softened(p, temperature)
        edge = np.abs(conf * 10 - np.round(conf * 10)).min(initial=1.0, where=conf > 0) < 1e-4
        rows, _ = np.histogram(conf, np.linspace(0, 1, 11))
        right, _ = np.histogram(conf[p.correct], np.linspace(0, 1, 11))
        slack = 2 if edge else 0
        assert np.abs(path.count[j] - rows).max() <= slack
        assert np.abs(path.right[j] - right).max() <= slack
    sums = [softened(p, t).sum() for t in path.temperatures]
    np.testing.assert_allclose(path.confidence_sum.sum(axis=1), sums, rtol=1e-5)


def test_the_frame_is_what_is_drawn_and_the_error_is_its_definition():
    generator = np.random.default_rng(4)
    p = Predictions.from_logits(generator.normal(size=(400, 3)) * 3, generator.integers(0, 3, 400))
    path = temperature_path(p, 5)
    frame = path.frame()
    each = frame.assign(off=frame["count"] / 400 * (frame["accuracy"] - frame["confidence"]).abs())
    np.testing.assert_allclose(each.groupby("temperature")["off"].sum(), path.error)
    assert (frame["count"] > 0).all()
    # Labels that have nothing to do with the scores: the softer, the better.
    assert path.error[-1] < path.error[0]


def test_rows_that_the_model_declines_make_no_star():
    p = Predictions([[0.8, 0.2], [0.5, 0.5], [0.3, 0.7]], [0, 0, 0], abstained=[False, True, False])
    assert temperature_path(p, 4).count.sum(axis=1).tolist() == [2.0] * 61


def test_what_has_no_temperature_is_refused_in_words():
    with pytest.raises(NotAnswerable, match="probabilities of all classes"):
        temperature_path(Predictions.from_confidence([0.9], [True]))
    p = Predictions([[0.7, 0.3]], [0])
    with pytest.raises(NotAnswerable, match="equal width"):
        temperature_path(p, "distinct")
    with pytest.raises(InputError, match=r"between 0\.25 and 8\.0"):
        temperature_path(p, also=[9.0])
