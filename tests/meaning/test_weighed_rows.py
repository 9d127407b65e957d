"""Twins on weighted and grouped rows: the meaning of a column, by loops over the rows.

Weights are whole numbers, which are copies of the row, or others; rows are in groups, or each its own. Each has a model
of three classes and of an event's risk, off in both directions, with few rows, and a metadata column.
"""

from __future__ import annotations

import math
from functools import cache

import by_hand
import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import Predictions, diagrams, inference
from calib_core.evaluation import decisions, model_tables

pytestmark = pytest.mark.law

N = 240
KINDS = ("copies", "weights", "groups", "weights and groups")


@cache
def weights(kind):
    rng = np.random.default_rng(5)
    if kind == "copies":
        return rng.integers(0, 4, N).astype(float)
    free = rng.uniform(0.2, 3, N)
    return free / free.mean() if "weights" in kind else np.ones(N)


@cache
def groups(kind):
    """Return groups of four neighbors; otherwise every row is its own group."""
    return np.repeat(np.arange(N // 4), 4) if "groups" in kind else np.arange(N)


def extras(kind):
    site = np.random.default_rng(6).choice(["A", "B", "C"], N, p=[0.5, 0.3, 0.2])
    return {
        "weights": None if kind == "groups" else weights(kind),
        "groups": groups(kind) if "groups" in kind else None,
        "metadata": pd.DataFrame({"site": site}),
    }


@cache
def three(kind, squeeze=1.0):
    """Return three overconfident classes; ``squeeze`` below 1: shrunk towards the middle."""
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 1.4, (N, 3))
    true = np.exp(0.6 * logits)
    label = (rng.random((N, 1)) * true.sum(axis=1, keepdims=True) > true.cumsum(axis=1)[:, :2]).sum(axis=1)
    told = np.exp(1.3 * squeeze * logits)
    return Predictions(told / told.sum(axis=1, keepdims=True), label, class_names=["a", "b", "c"], **extras(kind))


@cache
def event(kind):
    """Return a risk that is too high; outcomes are the same for all rows of a group."""
    rng = np.random.default_rng(2)
    risk = rng.beta(2, 4, N).round(3)
    died = (rng.random(N) < 0.7 * risk).astype(int)
    return Predictions(np.column_stack([1 - risk, risk]), died, class_names=["no", "died"], **extras(kind))


def mean(values, w):
    return sum(float(v) * x for v, x in zip(values, w, strict=True)) / sum(w)


def number(kind, rows):
    """Return the number of rows: copies, or those that carry weight."""
    w = weights(kind)[list(rows)]
    return sum(w) if kind == "copies" else int((w > 0).sum())


def worth(kind, rows):
    """Return the effective sample size: the number of independent rows of equal weight."""
    w, g = weights(kind), groups(kind)
    if kind == "copies":
        return sum(w[i] for i in rows)
    by_group = {}
    for i in rows:
        by_group[g[i]] = by_group.get(g[i], 0.0) + w[i]
    return sum(by_group.values()) ** 2 / sum(x * x for x in by_group.values())


def cells(kind, scores, bins=15):
    """Return the rows of each bin that has any weight."""
    found = by_hand.cells_of(scores, by_hand.edges_of(bins))
    return {b: rows for b, rows in found.items() if weights(kind)[rows].any()}


def gaps_of(kind, scores, outcomes, bins=15):
    """Return (share of the weight, mean outcome less mean score) of each bin."""
    w = weights(kind)
    return [
        (w[rows].sum() / w.sum(), mean(outcomes[rows], w[rows]) - mean(scores[rows], w[rows]))
        for rows in cells(kind, scores, bins).values()
    ]


def same(found, expected, rel=1e-9):
    assert list(found) == pytest.approx(list(expected), rel=rel, abs=1e-12)


# ---- bins ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_bins_of_the_diagram(kind):
    p, w = three(kind), weights(kind)
    frame = diagrams.reliability_bands(p, 15).frame()
    whole = diagrams.reliability(p, 15).frame()
    here = cells(kind, p.confidence)
    for line, more, (b, rows) in zip(frame.to_dict("records"), whole.to_dict("records"), here.items(), strict=True):
        says, right = mean(p.confidence[rows], w[rows]), mean(p.correct[rows], w[rows])
        assert line["bin"] == more["bin"] == b
        for each in (line, more):
            same([each["count"], each["confidence"], each["accuracy"]], [w[rows].sum(), says, right])
        same([more["share"]], [w[rows].sum() / w.sum()])
        off = sum(
            abs(sum(w[i] * (p.correct[i] - p.confidence[i]) for i in rows if p.predicted[i] == c)) for c in range(3)
        )
        same([more["delta"]], [off / w[rows].sum()])
        if "groups" not in kind:  # exact ends for the effective sample size
            n = worth(kind, rows)
            same([line["accuracy_low"], line["accuracy_high"]], by_hand.clopper_pearson(right * n, n))


@pytest.mark.parametrize("kind", KINDS)
def test_bins_of_an_event(kind):
    p, w = event(kind), weights(kind)
    frame = diagrams.risk_diagram(p, 10).frame()
    died = np.asarray(p.labels) == 1
    for line, (b, rows) in zip(frame.to_dict("records"), cells(kind, p.probs[:, 1], 10).items(), strict=True):
        assert line["bin"] == b
        seen = mean(died[rows], w[rows])
        same([line["count"], line["risk"], line["observed"]],
             [w[rows].sum(), mean(p.probs[rows, 1], w[rows]), seen])  # fmt: skip
        if kind == "copies":
            same([line["low"], line["high"]], by_hand.clopper_pearson(seen * w[rows].sum(), w[rows].sum()))
        assert line["low"] <= seen <= line["high"]


@pytest.mark.parametrize("kind", KINDS)
def test_models_in_a_range(kind):
    p, w = three(kind), weights(kind)
    (line,) = diagrams.models_in_range({"net": p}, 0.6, 0.8).to_dict("records")
    rows = np.flatnonzero((p.confidence >= 0.6) & (p.confidence < 0.8))
    right, n = mean(p.correct[rows], w[rows]), worth(kind, rows)
    assert line["rows"] == number(kind, rows)
    same([line["says"], line["right"]], [mean(p.confidence[rows], w[rows]), right])
    if "groups" not in kind:
        same([line["right_low"], line["right_high"]], by_hand.clopper_pearson(right * n, n))


def test_a_range_of_rows_without_weight_is_empty():
    p = Predictions.from_confidence([0.9, 0.6], [True, True], weights=[0, 2])
    (line,) = diagrams.models_in_range({"net": p}, 0.8, 1.0).to_dict("records")
    assert line["rows"] == 0
    assert line["right"] != line["right"]


@pytest.mark.parametrize("kind", KINDS)
def test_of_the_surest_rows_so_many_are_wrong(kind):
    p, w = three(kind), weights(kind)
    for line in diagrams.selective(p).frame().iloc[::20].to_dict("records"):
        rows = np.flatnonzero(p.confidence >= line["threshold"])
        same([line["coverage"], line["risk"]], [w[rows].sum() / w.sum(), 1 - mean(p.correct[rows], w[rows])])
        same([line["rows"]], [w[rows].sum() if "weights" not in kind else w[rows].sum() ** 2 / sum(w[rows] ** 2)])
    sure = np.flatnonzero(p.confidence >= 0.8)
    found = model_tables.sure_rows(p, 0.8)
    assert found.count == number(kind if kind == "copies" else "groups", sure)
    same([found.right], [mean(p.correct[sure], w[sure])])


# ---- errors, scores, tests -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_errors_and_scores(kind):
    p, w = three(kind), weights(kind)
    gaps = gaps_of(kind, p.confidence, p.correct)
    same([cc.estimate(p, "confidence", key, 15).value for key in ("ece", "rmsce", "mce")],
         [sum(s * abs(g) for s, g in gaps), math.sqrt(sum(s * g * g for s, g in gaps)), max(abs(g) for _, g in gaps)],
         rel=1e-7)  # fmt: skip
    classes = [gaps_of(kind, p.probs[:, c], np.asarray(p.labels) == c) for c in range(3)]
    same(
        [cc.estimate(p, "class-wise", "ece", 15).value],
        [sum(s * abs(g) for each in classes for s, g in each) / 3],
        1e-7,
    )
    label = np.asarray(p.labels)
    losses = -np.log(p.probs[np.arange(N), label])
    squares = np.square(p.probs - np.eye(3)[label]).sum(axis=1)
    same([cc.estimate(p, None, key).value for key in ("accuracy", "log-loss", "brier")],
         [mean(p.correct, w), mean(losses, w), mean(squares, w)], 1e-7)  # fmt: skip
    assert p.effective_rows == pytest.approx(sum(w) if kind == "copies" else sum(w) ** 2 / sum(w * w))


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_gap(kind):
    p, w = three(kind), weights(kind)
    line = diagrams.overall_gap(p).frame().iloc[0]
    says, right = mean(p.confidence, w), mean(p.correct, w)
    same([line["claimed"], line["right"], line["gap"]], [says, right, right - says])
    assert line["low"] < right < line["high"]
    plain = diagrams.overall_gap(three("groups").replace(groups=None)).frame().iloc[0]
    if kind != "copies":  # a smaller effective sample size gives weaker evidence
        assert line["high"] - line["low"] > 0.99 * (plain["high"] - plain["low"])


@pytest.mark.parametrize("kind", ["copies", "weights"])
def test_spiegelhalter_and_kuiper(kind):
    """For copies the variance is summed row by row; other weights multiply a single outcome, and are squared."""
    p, w = three(kind), weights(kind)
    factor = w if kind == "copies" else w * w
    losses = -np.log(p.probs)
    expected = (p.probs * losses).sum(axis=1)
    variance = (p.probs * losses**2).sum(axis=1) - expected**2
    seen = losses[np.arange(N), np.asarray(p.labels)]
    z = sum(w * (seen - expected)) / math.sqrt(sum(factor * variance))
    assert inference.spiegelhalter(p, "log-loss").statistic == pytest.approx(z)
    h, right = p.confidence, p.correct
    path, at = [0.0], 0.0
    for i in np.argsort(h, kind="stable"):
        at += w[i] * (float(right[i]) - h[i])
        path.append(at)
    scale = math.sqrt(sum(factor * h * (1 - h)))
    assert inference.kuiper(p).statistic == pytest.approx((max(path) - min(path)) / scale)


# ---- an event ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_calibration_in_the_large(kind):
    p, w = event(kind), weights(kind)
    found = cc.risk.summary(p).set_index("measure")["value"]
    risk, died = p.probs[:, 1], np.asarray(p.labels) == 1
    pairs = [(i, j) for i in np.flatnonzero(died) for j in np.flatnonzero(~died)]
    wins = sum(w[i] * w[j] * ((risk[i] > risk[j]) + (risk[i] == risk[j]) / 2) for i, j in pairs)
    same(found[["mean-predicted", "observed", "gap", "ratio", "auroc"]],
         [mean(risk, w), mean(died, w), mean(died, w) - mean(risk, w), mean(died, w) / mean(risk, w),
          wins / sum(w[i] * w[j] for i, j in pairs)])  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_decisions(kind):
    p, w = event(kind), weights(kind)
    risk, died = p.probs[:, 1], np.asarray(p.labels) == 1
    line = decisions.net_benefits({"net": p}, 0.3).iloc[0]
    acted = risk >= 0.3
    same([line["acted"], line["benefit"]], [mean(acted, w), mean(acted * (died - 0.3 / 0.7 * ~died), w)])
    costs = decisions.decision_costs({"net": p}, "0 1; 5 0").iloc[0]
    fee = np.array([[0.0, 1.0], [5.0, 0.0]])  # of a decision, where a class is true
    chosen = (p.probs @ fee.T).argmin(axis=1)
    expected = mean((p.probs @ fee.T)[np.arange(N), chosen], w)
    realised = mean(fee[chosen, died.astype(int)], w)
    same(costs[["expected", "realised", "gap"]], [expected, realised, realised - expected])


# ---- slices and findings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_slices(kind):
    p, w = three(kind), weights(kind)
    frame = cc.slices.table(p, "site").set_index("slice")
    site = p.metadata["site"].to_numpy()
    for name in "ABC":
        line, rows = frame.loc[f"site = {name}"], np.flatnonzero(site == name)
        rest = np.flatnonzero(site != name)
        gap, other = (mean(p.correct[at], w[at]) - mean(p.confidence[at], w[at]) for at in (rows, rest))
        assert line["rows"] == number(kind, rows)
        same(line[["worth", "share", "claimed", "right", "gap", "beyond"]],
             [worth(kind, rows), w[rows].sum() / w.sum(), mean(p.confidence[rows], w[rows]),
              mean(p.correct[rows], w[rows]), gap, gap - other])  # fmt: skip
        if kind != "copies":  # Hoeffding's bound, valid for any dependence within a group
            same([line["p"]], [min(1.0, max(by_hand.LEAST, 2 * math.exp(-2 * worth(kind, rows) * gap**2)))], 1e-7)
        assert ("groups" in frame) == ("groups" in kind)
        if "groups" in frame:
            assert line["groups"] == len(set(groups(kind)[rows]))


@pytest.mark.parametrize("kind", KINDS)
def test_findings(kind):
    p, w = three(kind), weights(kind)
    frame = cc.findings(p)
    for line in frame[frame["kind"] == "predicted class"].to_dict("records"):
        rows = np.flatnonzero(p.predicted == line["code"])
        assert line["rows"] == number(kind, rows)
        same([line[name] for name in ("worth", "says", "right")],
             [worth(kind, rows), mean(p.confidence[rows], w[rows]), mean(p.correct[rows], w[rows])])  # fmt: skip
    assert (frame["kind"] == "predicted class").sum() == 3


# ---- pairs of models ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["copies", "weights"])
def test_paired_differences(kind):
    first, second = three(kind), three(kind, 0.5)
    found = inference.skill_differences({"one": first, "two": second}).set_index("measure")
    w = weights(kind)
    right = [mean(p.correct, w) for p in (first, second)]
    brier = [mean((p.confidence - p.correct) ** 2, w) for p in (first, second)]
    skill = [1 - b / (a * (1 - a)) for a, b in zip(right, brier, strict=True)]
    line = found.loc["skill"]
    same([line["first_value"], line["second_value"], line["difference"]], [*skill, skill[0] - skill[1]])
    pair = inference.compare({"one": first, "two": second}).iloc[0]
    assert pair["difference"] == pytest.approx(pair["first_value"] - pair["second_value"], abs=0.01)
    assert pair["low"] <= pair["difference"] <= pair["high"]


# ---- copies are copies -------------------------------------------------------------------------------------------

FRAMES = {
    "bins": lambda p: diagrams.reliability_bands(p).frame(),
    "class-bias": lambda p: diagrams.class_bias(p).frame(),
    "classes": lambda p: diagrams.class_list({"net": p}),
    "corp": lambda p: diagrams.corp(p).frame(),
    "costs": lambda p: decisions.decision_costs({"net": p}),
    "findings": cc.findings,
    "gains": lambda p: model_tables.measured({"net": p}),
    "hero": lambda p: diagrams.local_accuracy(p).frame(),
    "kernel": lambda p: diagrams.kernel_curve(p).frame(),
    "overall": lambda p: diagrams.overall_gap(p).frame(),
    "range": lambda p: diagrams.models_in_range({"net": p}, 0.5, 0.9),
    "selective": lambda p: diagrams.selective(p).frame(),
    "skills": lambda p: inference.skills({"net": p}),
    "slices": lambda p: cc.slices.table(p, "site"),
    "sweep": lambda p: diagrams.error_sweep({"net": p}).frame(),
    "tests": lambda p: inference.unbinned_tests({"net": p}),
    "validity": lambda p: diagrams.validity_of(p).frame(),
    "worst group": lambda p: cc.slices.multicalibration(p).frame(),
    "verdict": lambda p: inference.verdicts(inference.primaries({"net": p})),
}


@pytest.mark.parametrize("key", FRAMES)
def test_whole_number_weights_are_copies_of_the_row(key):
    p = three("copies")
    weighed, written = FRAMES[key](p), FRAMES[key](p.written_out())
    pd.testing.assert_frame_equal(weighed, written, check_dtype=False, rtol=1e-6, atol=1e-9)


SAMPLED = FRAMES | {
    "by share of rows": lambda p: _one(cc.estimate(p, cc.reductions.ClassWise("share")).value),
    "bins of rows": lambda p: _one(cc.estimate(p, "confidence", "ece", "points-per-bin").value),
    "decision curve": lambda p: diagrams.decision_curve(p, 0).frame(),
    "planning": lambda p: cc.planning.answers([cc.planning.PLANS.described(k, rows=3000) for k in OF_RAREST], p, p),
    "recalibrated": lambda p: cc.evaluation.usefulness.changes({"net": p}, {"net": milder(p)}),
    "scan": lambda p: cc.slices.scan(p).frame(),
    "skills of pairs": lambda p: inference.skill_differences({"net": p, "milder": milder(p)}),
}
"""The same, and others, of rows that were sampled with unequal probabilities."""
OF_RAREST = [key for key in cc.planning.PLANS if cc.planning.PLANS[key].has("rarest")]
DRAWN = {"bins": ["band_low", "band_high"], "sweep": ["floor"], "verdict": ["rows", "floor", "p", "sentence", "reason"]}
"""Columns from draws by row, which other rows change, and the number of rows given."""


def _one(value):
    return pd.DataFrame({"value": [value]})


def milder(p):
    return p.with_probs((p.probs + 0.2) / 1.6)


def beside_none(p, number=60):
    """Return the rows with others of weight 0 between them."""
    rng, every = np.random.default_rng(9), p.n_rows + number
    order = rng.permutation(every)
    labels = np.append(p.labels, rng.integers(0, 3, number))[order]
    site = np.append(p.metadata["site"], rng.choice(["A", "B", "C"], number))[order]
    probs = np.concatenate([p.probs, rng.dirichlet(np.ones(3), number)])[order]
    w = np.append(p.weights, np.zeros(number))[order]
    return Predictions(probs, labels, class_names=p.class_names, weights=w, metadata=pd.DataFrame({"site": site}))


@pytest.mark.parametrize("key", SAMPLED)
def test_a_row_of_weight_0_is_no_row(key):
    """A number in which a weight was left out changes with rows that have none."""
    p = three("weights")
    alone, beside = (SAMPLED[key](each).drop(columns=DRAWN.get(key, [])) for each in (p, beside_none(p)))
    pd.testing.assert_frame_equal(alone, beside, check_dtype=False, rtol=1e-6, atol=1e-9)


VALUES = {
    "bins": ["confidence", "accuracy"],
    "by share of rows": ["value"],
    "classes": ["share", "true_share", "mean_score", "mean_outcome", "gap", "error, net"],
    "corp": ["outcome"],
    "costs": ["expected", "realised", "gap"],
    "decision curve": ["acted", "benefit", "treat_all", "over_all"],
    "gains": ["Accuracy", "Log loss", "Brier score", "conf-ECE", "TL-ECE", "CW-ECE", "TL-MCE of bins"],
    "overall": ["claimed", "right", "gap"],
    "planning": ["amount", "bound", "limit", "needed"],
    "range": ["says", "right"],
    "selective": ["threshold", "coverage", "risk"],
    "skills": ["accuracy", "mean_confidence", "overconfidence", "skill", "auroc", "answered", "accuracy_answered"],
    "skills of pairs": ["difference"],
    "slices": ["share", "claimed", "right", "gap", "beyond"],
    "sweep": ["value"],
    "validity": ["eps", "share"],
    "verdict": ["value"],
    "worst group": ["share", "error"],
}
"""Columns that do not depend on how many rows share a weight; others count rows, or have noise."""


def split(p):
    """Return every third row as two rows that share its weight, in another order."""
    rng = np.random.default_rng(3)
    halved = np.arange(0, p.n_rows, 3)
    share, every = rng.uniform(0.2, 0.8, len(halved)), np.append(np.arange(p.n_rows), halved)
    w = np.append(p.weights, p.weights[halved] * share)
    w[halved] -= w[p.n_rows :]
    order = rng.permutation(len(every))
    return p.take(every[order]).replace(weights=w[order])


@pytest.mark.parametrize("key", VALUES)
def test_a_row_split_in_two_keeps_the_values(key):
    """A value in which a weight was left out counts the row twice."""
    p = three("weights")
    whole, halves = (SAMPLED[key](each)[VALUES[key]].astype(float) for each in (p, split(p)))
    pd.testing.assert_frame_equal(whole, halves, rtol=1e-6, atol=1e-9)


def test_tallies_of_copies_are_those_of_the_rows():
    p = three("copies")
    weighed, written = (cc.Summary.of(each, source="test") for each in (p, p.written_out()))
    frames = [diagrams.reliability(each).frame() for each in (weighed, written)]
    pd.testing.assert_frame_equal(*frames, check_dtype=False, rtol=1e-9)
    same(frames[0]["count"], [weights("copies")[rows].sum() for rows in cells("copies", p.confidence).values()])


@pytest.mark.parametrize("kind", ["copies", "weights"])
def test_predictions_that_change_are_counted_as_rows_are(kind):
    p, fit = three(kind), three("groups").replace(groups=None)
    calibrator = cc.CALIBRATORS.make("isotonic-ovr").fit_on(fit)
    after = calibrator.apply(p)
    first = inference.primaries({"net": p, "isotonic": after})
    (line,) = model_tables.gains(first, {"isotonic": p}, {"isotonic": after}, {"isotonic": calibrator}).to_dict(
        "records"
    )
    other = np.flatnonzero(after.predicted != p.predicted)
    assert len(other) >= 5
    assert line["changed"] == number(kind, other)
    assert line["rows"] == number(kind, range(N))
