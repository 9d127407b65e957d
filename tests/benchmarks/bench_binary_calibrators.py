"""One-vs-rest beta calibration, class-wise binnings and scaling-binning, against the packages that have them.

The peers are not dependencies; a row is skipped where its package is not installed.
"""

import numpy as np
import pytest

from calib_core import CALIBRATORS, load_calibrator

OURS = {
    "beta": lambda: CALIBRATORS.make("class-wise", binary="beta"),
    "platt": lambda: CALIBRATORS.make("class-wise", binary="platt"),
    "temperature": lambda: CALIBRATORS.make("class-wise", binary="temperature"),
    "scaling-binning": lambda: CALIBRATORS.make("scaling-binning"),
    "scaling-binning-top": lambda: CALIBRATORS.make("confidence", binary="scaling-binning"),
    "equal-width": lambda: CALIBRATORS.make("class-wise", binary="equal-width-histogram"),
    "kernel": lambda: CALIBRATORS.make("class-wise", binary="kernel"),
    "lece-histogram": lambda: CALIBRATORS.make("class-wise", binary="lece-histogram"),
}


@pytest.mark.parametrize("name", OURS)
def test_fit_and_apply(benchmark, sample, name):
    benchmark.pedantic(
        lambda: OURS[name]().fit_on(sample.predictions).apply(sample.predictions), rounds=3, warmup_rounds=1
    )


def test_save_and_load(benchmark, sample):
    made = OURS["scaling-binning"]().fit_on(sample.predictions)
    benchmark.pedantic(lambda: load_calibrator(made.to_json()), rounds=3)


def peer_beta(probs, labels):
    package = pytest.importorskip("betacal")

    def run():
        for j in range(probs.shape[1]):
            package.BetaCalibration("abm").fit(probs[:, j], labels == j).predict(probs[:, j])

    return run


def peer_platt(probs, labels):
    from sklearn.linear_model import LogisticRegression

    def run():
        for j in range(probs.shape[1]):
            p = np.clip(probs[:, j].astype(float), 1e-12, 1 - 1e-12)
            odds = (np.log(p) - np.log1p(-p))[:, None]
            LogisticRegression(C=1e10).fit(odds, labels == j).predict_proba(odds)

    return run


def peer_scaling_binning(probs, labels):
    package = pytest.importorskip("calibration")

    def run():
        made = package.PlattBinnerMarginalCalibrator(len(probs), num_bins=15)
        made.train_calibration(probs, labels)
        made.calibrate(probs)

    return run


PEERS = {"beta": peer_beta, "platt": peer_platt, "scaling-binning": peer_scaling_binning}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PEERS)
def test_peer(benchmark, sample, name):
    if sample.probs.shape[1] > 100:
        pytest.skip("minutes")
    benchmark.pedantic(PEERS[name](sample.probs, sample.labels), rounds=3, warmup_rounds=1)
