"""Whether more rows would tell is asked at the limit alone; the slow twin makes the whole upper end."""

import numpy as np
import pytest

from calib_core import Predictions, estimate
from calib_core.inference import more_rows
from calib_core.inference.bin_intervals import InBins

NEAR = (-0.1, -1e-3, -1.2e-5, -3e-6, -1e-9, 0.0, 1e-9, 3e-6, 1.2e-5, 1e-3, 0.1)


def bins_of(n, k, notion):
    rng = np.random.default_rng(n)
    probs = rng.dirichlet(np.full(k, 0.3), n).astype(np.float32)
    question = estimate(Predictions(probs, rng.integers(0, k, n)), notion, "ece").question
    return InBins(question, 0)


def differing(bins):
    """Limits near the end itself at which the two do not say the same."""
    ends = {factor: bins.high_with(factor, 0.9) for factor in (1.0, 30.0, 300.0)}
    return [
        (factor, step)
        for factor, high in ends.items()
        for step in NEAR
        if bins.reaches_with(factor, 0.9, high + step) != (high >= high + step)
    ]


@pytest.mark.parametrize(("n", "k", "notion"), [(10, 2, "confidence"), (400, 30, "top-label"), (2000, 10, "top-label")])
def test_a_limit_is_reached_where_the_upper_end_reaches_it(n, k, notion):
    assert not differing(bins_of(n, k, notion))


def test_an_answer_of_one_draw_would_be_caught(monkeypatch):
    monkeypatch.setattr(more_rows, "absolute_high_reaches", lambda *_: True)
    assert differing(bins_of(400, 30, "top-label"))
