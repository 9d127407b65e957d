"""Choice of a calibrator: 10,000 rows x 10 classes, all candidates, under 20 s."""

import numpy as np
from scipy.special import softmax

import calib_core as cc


def test_choose(benchmark):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(10_000, 10)) * 2
    rows = cc.Predictions(softmax(2 * z, axis=1), (z + rng.gumbel(size=z.shape)).argmax(axis=1))
    found = benchmark.pedantic(cc.choose, args=(rows,), rounds=1)
    assert found.recalibrate
    assert benchmark.stats.stats.max < 20
