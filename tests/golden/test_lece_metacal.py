"""LECE, LECD and Meta-Cal against the authors' own code; values outside the repository, skipped if missing.

The LECE package takes k = int(n q) neighbors, ties by luck, and clips to 1e-30, which on these data decides nothing:
rows agree to rounding. With temperature scaling first, its temperature is found by finite differences (1e-5 off).
Meta-Cal's threshold is np.quantile(..., method="higher"), the rank ceil((n1 - 1)(1 - alpha)) + 1 where the paper
prints ceil((n1 + 1)(1 - alpha)); its split uses NumPy's global generator, which the test repeats.
"""

import numpy as np
import pytest
from shared_files import arrays, records
from sklearn.model_selection import train_test_split

from calib_core import CALIBRATORS, NotAnswerable, Predictions
from calib_core.calibrators import Temperature
from calib_core.calibrators.meta_cal import entropies, paper_miscoverage

METHODS = ("LECE", "LECD", "TS+LECE", "TS+LECD")
CASES = [(data, method) for data in ("vgg16_c10", "lenet_c10", "synth_valkkull", "densenet_c100") for method in METHODS]


def halves(data):
    if data == "synth_valkkull":
        fit, test = arrays("synth_valkkull_val"), arrays("synth_valkkull_test")
        return fit["probs"], fit["labels"], test["probs"], test["labels"]
    held = arrays(data)
    probs = held["probs"].astype(float)
    return probs[:5000], held["labels"][:5000], probs[5000:], held["labels"][5000:]


@pytest.mark.parametrize(("data", "method"), CASES)
def test_lece_and_lecd(data, method):
    probs, labels, new, truth = halves(data)
    found = [r for r in records("lece") if r["data"] == data and r["function"] == method]
    assert found
    for r in found:
        params = r["params"]
        cal = CALIBRATORS.make(
            method.lower(),
            neighbours=params["k"],
            threshold=params["threshold"],
            distance="kl" if params["distance"].startswith("KL") else "euclidean",
        ).fit(probs, labels)
        whole = data in ("vgg16_c10", "lenet_c10") and method == "LECE"
        made = cal.predict_proba(new if whole else new[:5])
        tolerance = 2e-5 if method.startswith("TS+") else 1e-12
        np.testing.assert_allclose(made[:5], r["value"]["first5"], atol=tolerance)
        if whole:
            # LECD's outputs are multiples of 1/k: at t = 1/k the peer's rounding decides which are used.
            nll = -np.log(made[np.arange(len(truth)), truth]).mean()
            assert nll == pytest.approx(r["value"]["metrics"]["NLL"], abs=1e-10)


@pytest.mark.parametrize("data", ["vgg16_c10", "lenet_c10", "densenet_c100"])
def test_meta_cal_given_the_same_rows_held_out(data):
    probs, labels, _, _ = halves(data)
    p = Predictions(probs, labels)
    scores, right = entropies(p.rows), np.flatnonzero(p.correct)
    (found,) = [r for r in records("metacal") if r["data"] == data and r["function"] == "MetaCalMisCoverage"]
    for run in found["value"]["runs"]:
        np.random.seed(run["seed"])  # noqa: NPY002  the peer's split
        held, rest = train_test_split(right, train_size=min(len(right) // 10, 500))
        ordered = np.sort(scores[held])
        theirs = int(np.ceil((len(held) - 1) * 0.95)) + 1
        assert ordered[theirs - 1] == pytest.approx(run["threshold"], abs=1e-6)  # float32 logits
        ours, _ = paper_miscoverage(scores[held], 0.05)
        assert ours == ordered[int(np.ceil((len(held) + 1) * 0.95)) - 1]
        assert ours in ordered[theirs - 1 : theirs + 1]
        fit = np.concatenate([rest, np.flatnonzero(~p.correct)])
        base = Temperature().fit_on(p.take(fit[scores[fit] < run["threshold"] - 1e-6]))
        assert base.temperature_ == pytest.approx(run["T"], abs=1e-4)


@pytest.mark.parametrize("wanted", [0.87, 0.9])
def test_coverage_accuracy_is_met_to_within_a_point_and_a_half_on_average(wanted):
    """For lenet_c10, single runs vary by 3 points: over 150 of them the mean is known to about 0.0025.

    Ours falls about 0.009 short at .87 and 0.007 at .9, from choosing the threshold on 500 rows. The published code's
    recorded ten runs fall 0.028 and 0.020 short, known to about 0.01 only: too few to rank the two with confidence.
    """
    probs, labels, new, truth = halves("lenet_c10")
    fit, test = Predictions(probs, labels), Predictions(new, truth)
    made = []
    for seed in range(150):
        cal = CALIBRATORS.make("metacal-accuracy", accuracy=wanted, random_state=seed, base="identity")
        try:
            made.append(cal.fit_on(fit).apply(test).accuracy)
        except NotAnswerable:  # the rows held out in this run do not reach the accuracy
            continue
    assert len(made) > 140
    assert abs(np.mean(made) - wanted) < 0.015
