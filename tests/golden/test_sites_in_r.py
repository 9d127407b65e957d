"""The demo of six hospitals has the numbers that R gives: rms, pROC and metafor, by the code in the comments."""

import numpy as np
import pytest

from calib_core import read_predictions, risk
from calib_core.datasets import demo
from calib_core.evaluation.update_test import update_test
from calib_core.inference import random_effects
from calib_core.inference.intervals.influence_functions import MEASURES, ConfidenceRows
from calib_core.slices import between

# R 4.2.2, rms 6.5-0, pROC 1.18.0, metafor 3.8-1
# d <- read.csv("demo_data/hospital_risk.csv"); x <- qlogis(d$risk); y <- d$died
# v <- val.prob(d$risk, y, pl=FALSE); 1 - v["Brier"] / (mean(y) * (1 - mean(y)))
# coef(glm(y ~ offset(x), family=binomial, epsilon=1e-14)); sum(y) / sum(d$risk)
ALL = {
    "auroc": 0.749187084090,
    "brier": 0.109048906335,
    "scaled-brier": 0.120395996491,
    "slope": 0.98787967557,
    "intercept": -0.0530786239521,
    "ratio": 0.961063346999,
}
# v[c("Eavg", "E90", "Emax")]
DISTANCES = {"ici": 0.00674397747936, "e90": 0.0188926050459, "emax": 0.0493806267481}
# sqrt(var(roc(y, d$risk, direction="<"), method="delong"))
DELONG = 0.0108262188614
# l0: log-likelihood of d$risk itself; l1, l2 of glm(y ~ offset(x)), glm(y ~ x)
# pchisq(2 * (l2 - l0), 2, lower=FALSE), pchisq(2 * (l2 - l1), 1, lower=FALSE)
UPDATE = (0.523797811706, 0.819158561375)
# For each hospital: a <- coef(glm(y ~ offset(x))), b <- coef(glm(y ~ x))[2], with standard errors ae, be
HOSPITALS = ("Harbor", "Hill", "Lake", "Mill", "Park", "River")
INTERCEPTS = (0.120437179684, -0.0721525842488, 0.0724789644805, 0.0162623212469, 0.049897374882, -0.90627895156)
SLOPES = (1.07272554853, 0.930141569801, 0.894849513482, 1.14488283901, 0.738564896641, 1.44851789059)
# r <- rma(a, sei=ae, test="adhoc", level=90, control=list(threshold=1e-13)); the same with b, be
# c(r$beta, r$ci.lb, r$ci.ub, sqrt(r$tau2), r$I2 / 100, r$QEp)
POOLED = {
    "intercept": (-0.101643077331, -0.408111575569, 0.204825420907, 0.332653781578, 0.886331510115, 3.95766519366e-05),
    "slope": (0.995055338604, 0.827272365959, 1.16283831125, 0.12072640649, 0.454537102538, 0.0748569278992),
}
# o, e, n: events, expected events and rows of each; the same with log(o / e), sqrt((1 - o / n) / o); exp() of three
RATIO = (0.924740195882, 0.726327657407, 1.17735352793, 0.25316153523, 0.87656771829, 0.00029779757461)

ROWS = read_predictions(*demo("hospital-risk"), rows="all")


def test_measures_over_all_rows():
    found = risk.summary(ROWS, intervals=False).set_index("measure")["value"]
    for measure, value in ALL.items():
        assert found[measure] == pytest.approx(value, abs=1e-9), measure
    curve = risk.smooth_curve(ROWS, method="lowess").distances.set_index("measure")["raw"]
    for measure, value in DISTANCES.items():
        assert curve[measure] == pytest.approx(value, abs=1e-9), measure


def test_the_error_of_the_auroc_is_that_of_delong():
    found = MEASURES["auroc"](ConfidenceRows.of_event(ROWS))
    assert found.error == pytest.approx(DELONG, rel=1e-3)  # divided by n, not by n - 1, in each kind of rows


def test_the_tests_of_an_update():
    found = update_test(ROWS)
    assert (found.p_any, found.p_slope) == pytest.approx(UPDATE, abs=1e-9)


def test_hospitals_and_what_they_have_in_common():
    found = between(ROWS, "hospital")
    sites = found.frame().set_index("slice")
    for name, intercept, slope in zip(HOSPITALS, INTERCEPTS, SLOPES, strict=True):
        line = sites.loc[f"hospital = {name}"]
        assert (line["intercept"], line["slope"]) == pytest.approx((intercept, slope), abs=1e-7)
    columns = ["mean", "low", "high", "tau", "i2", "p"]
    pooled = found.pooled.set_index("measure")[columns]
    for measure, values in POOLED.items():
        assert pooled.loc[measure].tolist() == pytest.approx(values, abs=1e-6), measure
    # With standard errors for new rows, not for the risks of these rows, the ratio is pooled as in R.
    risks, events = ROWS.probs[:, 1], ROWS.labels == 1
    at = [np.asarray(ROWS.metadata["hospital"] == name) for name in HOSPITALS]
    o, e, n = (np.array([part[i].sum() for i in at], dtype=float) for part in (events, risks, np.ones(len(risks))))
    of_new = random_effects(np.log(o / e), np.sqrt((1 - o / n) / o), 0.9)
    ends = [*np.exp([of_new.mean, of_new.low, of_new.high]), of_new.tau, of_new.i2, of_new.p_value]
    assert ends == pytest.approx(RATIO, abs=1e-6)
    assert pooled.loc["ratio", "mean"] == pytest.approx(RATIO[0], abs=0.01)
