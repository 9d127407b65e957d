"""Findings: every number by loops and by hand, every sentence from its line, and false findings counted."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from generated import full_predictions, of_kind, permuted
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import binomtest

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions
from calib_core.diagrams import edges_said
from calib_core.inference import per_class_tests, share_ends, share_test
from calib_core.slices.findings import group_warnings, headline
from calib_core.text import at_level, share_range, told_apart

NUMBERS = [
    "rows",
    "worth",
    "says",
    "right",
    "gap",
    "low",
    "high",
    "level",
    "p",
    "p_corrected",
    "stands_out",
    "rows_off",
]


def drawn(probs, rng):
    return (rng.random(len(probs))[:, None] > np.cumsum(probs, 1)[:, :-1]).sum(1)


def networks(n, k, rng):
    """Return rows like a network's: most near 1, a few uncertain."""
    z = rng.normal(size=(n, k)) + 9 * rng.beta(2, 1, n)[:, None] * np.eye(k)[rng.integers(k, size=n)]
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def too_sure(n=3000, k=5, seed=0, **more):
    """Return a model with half the correct temperature."""
    rng = np.random.default_rng(seed)
    p = networks(n, k, rng)
    return Predictions(p**2 / (p**2).sum(1, keepdims=True), drawn(p, rng), **more)


# ---- the numbers ------------------------------------------------------------------------------------------


def slowly(predictions, bins, fewest):
    """Yield every place by a loop: kind, code, bin, and its rows, confidence and accuracy."""
    h, c, y = predictions.confidence, predictions.predicted, predictions.true_labels
    cell = np.minimum((h * bins).astype(int), bins - 1)
    for b in np.unique(cell):
        yield "bin", None, b, h[cell == b], (y == c)[cell == b]
    for code in range(predictions.n_classes):
        for b in range(bins):
            here = (c == code) & (cell == b)
            if here.any():
                yield "class and bin", code, b, h[here], (y == c)[here]
    for code in np.unique(c):
        yield "predicted class", code, None, h[c == code], (y == c)[c == code]
    yield "direction", None, None, h, y == c
    for code in range(1 if predictions.n_classes == 2 else 0, predictions.n_classes):
        yield "class", code, None, predictions.probs[:, code], y == code


def by_convolution(scores, positives):
    """Return the two-sided p of a count of independent outcomes, its distribution built row by row."""
    law = np.ones(1)
    for s in scores:
        law = np.convolve(law, [1 - s, s])
    return min(1.0, 2 * min(law[: positives + 1].sum(), law[positives:].sum()))


def step_down(p, price):
    """Return p-values corrected by Holm's definition: the largest (m - i + 1) p_(i) price over all i not after."""
    order = sorted(range(len(p)), key=p.__getitem__)
    steps = [(len(p) - rank) * p[i] * price for rank, i in enumerate(order)]
    return [min(1.0, max(steps[: order.index(j) + 1])) for j in range(len(p))]


@pytest.mark.parametrize("k", [2, 5])
def test_every_place_by_a_loop(k):
    predictions = too_sure(800, k)
    found = cc.findings(predictions, 7, notion="confidence")
    lines = {(line["kind"], line["code"], line["bin"]): line for line in found.to_dict("records")}
    twin = list(slowly(predictions, 7, 10))
    assert len(lines) == len(found) == len(twin)
    by_class = per_class_tests(predictions, "top-label", 7)["p"]
    for kind in ("bin", "class and bin", "predicted class", "direction", "class"):
        tested = [place for place in twin if place[0] == kind and len(place[3]) >= 10]
        p = [by_convolution(scores, int(right.sum())) for *_, scores, right in tested]
        if kind == "direction":  # allows for the errors that it bounds: ``test_mean_gap`` has its twin
            assert lines[tested[0][:3]]["p"] < 0.05 > p[0]
            p = [cc.inference.mean_gap(predictions, "confidence", bins=7).p_value]
        if kind == "predicted class":
            p = [by_class[code] for _, code, *_ in tested]
        corrected = p if kind == "direction" else step_down(p, 4)
        for place, alone, together in zip(tested, p, corrected, strict=True):
            line = lines[place[:3]]
            assert line["p"] == pytest.approx(alone, rel=5e-3, abs=2e-12)
            assert line["p_corrected"] == pytest.approx(together, rel=5e-3, abs=1e-10)
            assert line["stands_out"] == (together <= 0.05)
            n, right = len(place[3]), place[4].mean()
            assert line["level"] == 0.9
            if kind == "direction":  # has the interval of the mean gap, below
                continue
            ends = binomtest(round(n * right), n).proportion_ci(0.9, "exact")
            assert (line["low"], line["high"]) == pytest.approx((ends.low, ends.high))
    for kind, code, b, scores, hits in twin:
        line, n, says, right = lines[kind, code, b], len(scores), scores.mean(), hits.mean()
        assert (line["rows"], line["says"], line["right"]) == pytest.approx((n, says, right))
        assert math.isnan(line["p"]) == (n < 10)
        least = max(line["low"] - line["says"], line["says"] - line["high"], 0)
        assert line["rows_off"] == pytest.approx(n * least if n >= 10 else 0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("notion", ["event", "confidence"])
def test_all_rows_have_one_interval_and_one_word(notion, weighted):
    rng, words = np.random.default_rng(5), []
    for factor in [1, 1, 0.93, 0.9, 0.85, 0.6] * 3:
        n = int(rng.integers(60, 600))
        risk = rng.beta(*rng.uniform(0.5, 4, 2), n)
        died = (rng.random(n) < factor * risk).astype(int)
        weights = rng.uniform(0.5, 2, n) if weighted else None
        rows = Predictions(np.column_stack([1 - risk, risk]), died, weights=weights)
        line = cc.findings(rows, notion=notion).query("kind == 'direction'").iloc[0]
        whole = cc.diagrams.overall_gap(rows, notion=notion)
        ends = [(line["low"], line["high"]), (whole.low, whole.high)]
        said = [bool(line["stands_out"]), bool(whole.direction)]
        if notion == "event":
            large = cc.risk.in_the_large(rows)
            ends.append((large.observed_low, large.observed_high))
            said.append(large.differs)
        np.testing.assert_allclose(ends, ends[:1] * len(ends), rtol=1e-9, atol=1e-12)
        assert weighted or len(set(said)) == 1, (factor, n)
        words += said[:1]
    assert weighted or 1 < sum(words) < len(words) - 1


def test_the_largest_gaps_come_first_and_what_was_not_tested_last():
    found = cc.findings(too_sure())
    assert found["stands_out"].any()
    assert not found["stands_out"].all()
    assert (np.diff(found["stands_out"].astype(int)) <= 0).all()
    outstanding = found[found["stands_out"]]
    assert outstanding["kind"].iloc[0] == "direction", "a model too sure everywhere opens with all rows"
    assert (np.diff(outstanding["gap"].abs()[1:]) <= 0).all()
    untested = found["p"].isna().to_numpy()
    assert untested.any()
    assert untested[-untested.sum() :].all()
    assert found.loc[untested, "finding"].str.startswith("Too few rows to tell").all()
    assert (found.loc[untested, "rows"] < 10).all()


# ---- the sentences ----------------------------------------------------------------------------------------


CANCEL = " Gaps at different confidences cancel in this mean: over the bins, the average gap is "


def spoken(line, names):
    """Return a line's sentence, rebuilt from its numbers."""
    says, right = told_apart(line["says"], line["right"])
    name = None if line["code"] is None else names[line["code"]]
    of = f"{line['rows']:,.0f} rows" if line["rows"] != 1 else "1 row"
    edges = "" if line["bin"] is None else edges_said(line["lower"], line["upper"])
    when = f"it says {edges}" if name is None else f"{name} is predicted with confidence {edges}"
    if line["p"] != line["p"] and line["kind"] == "predicted class":
        return f"Too few rows to tell when {name} is predicted: {of}."
    if line["p"] != line["p"]:
        return f"Too few rows to tell when {when}: {of}."
    ends = share_range(line["low"], line["high"])
    basis = f"{round(line['rows'] * line['right']):,} of {of}; {at_level(line['level'])} interval {ends}"
    link = "but" if line["stands_out"] else "and"
    text = {
        "class and bin": f"When {when}, it is right {right} of the time ({basis}; mean confidence {says}).",
        "bin": f"When {when}, it is right {right} of the time ({basis}; mean confidence {says}).",
        "predicted class": f"When {name} is predicted, the mean confidence is {says}, {link} the model is right "
        f"{right} of the time ({basis}).",
        "direction": f"Over all rows, the mean confidence is {says}, {link} the model is right {right} of the time "
        f"({basis}).",
        "class": f"{name} has a mean probability of {says} and is the true class of {right} of the rows ({basis}).",
    }[line["kind"]]
    said = (text[0].upper() + text[1:]) + ("" if line["stands_out"] else " This gap is not significant.")
    cancel = line["finding"].partition(CANCEL) if line["kind"] == "predicted class" else ("", "", "")
    return said + cancel[1] + cancel[2]


def cancelling():
    """Return class 0 right in half of the rows at 90 %, and in all at 60 %: 75 % predicted, 75 % right."""
    right = np.repeat([1, 0, 1], [100, 100, 200])
    confidence = np.repeat([0.9, 0.6], 200)
    return Predictions.from_confidence(confidence, predicted=[0] * 400, labels=1 - right, class_names=["ant", "bee"])


def test_a_gap_of_0_beside_a_small_p_says_what_the_p_is_of_and_how_large_that_error_is():
    found = cc.findings(cancelling(), bins=10)
    (line,) = found[found["kind"] == "predicted class"].to_dict("records")
    assert line["gap"] == pytest.approx(0)
    assert line["p_corrected"] < 0.001
    assert line["p_of"] == "error over bins"
    assert f"{CANCEL}40 points." in line["finding"]
    assert set(found.loc[found["kind"] != "predicted class", "p_of"]) == {""}


@pytest.mark.parametrize("kind", ["full", "per-class", "top-label", "confidence"])
def test_every_sentence_is_made_of_its_line(kind):
    predictions = of_kind(too_sure(600), kind)
    found = cc.findings(predictions)
    names = [f"class {c}" for c in range(5)]
    for line in found.to_dict("records"):
        assert line["finding"] == spoken(line, names)
    of_classes = {"bin", "class and bin", "predicted class", "direction"}
    kinds = {"full": {*of_classes, "class"}, "top-label": of_classes}
    assert set(found["kind"]) == kinds.get(kind, {"bin", "direction"} if kind == "confidence" else kinds["full"])


def test_the_sentence_of_the_example():
    eights = [8] * 40
    predicted, labels = [*eights, *[1] * 100], [*[8] * 36, *[0] * 4, *[1] * 90, *[8] * 10]
    p = Predictions.from_confidence([0.55] * 40 + [0.9] * 100, predicted=predicted, labels=labels)
    found = cc.findings(p, 10)
    line = found[found["kind"] == "class and bin"].iloc[0]
    low, high = binomtest(36, 40).proportion_ci(0.9, "exact")
    assert (round(100 * low), round(100 * high)) == (79, 97)
    assert line["finding"] == (
        "When class 8 is predicted with confidence 50 to 60 %, it is right 90 % of the time (36 of 40 rows; 90 % "
        "interval 79 to 97 %; mean confidence 55 %)."
    )
    named = p.replace(class_names=[*"abcdefgh", "T-shirt (dark)"])
    (named_so,) = cc.findings(named, 10).query("kind == 'class and bin' and code == 8")["finding"]
    assert named_so.startswith("When \u201cT-shirt (dark)\u201d is predicted with")


def test_one_value_is_a_bin_of_a_class_where_outputs_are_discrete_and_bins_are_those_of_the_diagram():
    right = [True] * 20 + [False] * 30 + [True] * 45 + [False] * 5
    p = Predictions.from_confidence(
        [0.62] * 50 + [0.64] * 50, predicted=[0] * 100, labels=[int(not hit) for hit in right]
    )
    assert (cc.findings(p)["kind"] == "class and bin").sum() == 1
    found = cc.findings(p.as_discrete())
    assert (found["kind"] == "bin").sum() == (cc.diagrams.reliability(p.as_discrete()).count > 0).sum() == 1
    cells = found[found["kind"] == "class and bin"]["finding"].tolist()
    assert cells[0].startswith(
        "When class 0 is predicted with confidence 64 %, it is right 90 % of the time (45 of 50 rows; 9"
    )
    assert "mean confidence 64 %)" not in cells[0]


# ---- laws -------------------------------------------------------------------------------------------------


def alike(a, b, drawn=()):
    """Check the same places with the same numbers, for any order of equally bad lines; ``drawn`` is left out."""
    keys = ["kind", "class", "bin"]
    first, second = (f.assign(bin=f["bin"].astype(float)).sort_values(keys).reset_index(drop=True) for f in (a, b))
    assert first["kind"].tolist() == second["kind"].tolist()
    assert first["class"].tolist() == second["class"].tolist()
    if drawn:
        every = (frame[frame["kind"] == "direction"] for frame in (first, second))
        numbers = [frame[name].to_numpy(dtype=float) for frame in every for name in drawn]
        np.testing.assert_allclose(numbers[: len(drawn)], numbers[len(drawn) :], atol=0.08)
        first, second = (frame[frame["kind"] != "direction"] for frame in (first, second))
    for name in NUMBERS:
        np.testing.assert_allclose(first[name].astype(float), second[name].astype(float), rtol=1e-6, atol=1e-9)


@given(full_predictions(max_rows=200, weighted=False), st.integers(0, 99))
def test_neither_the_order_of_rows_nor_of_classes_matters(predictions, seed):
    found = cc.findings(predictions, 5, fewest=2)
    alike(found, cc.findings(permuted(predictions, seed)[0], 5, fewest=2))
    order = np.random.default_rng(seed).permutation(predictions.n_classes)
    names = np.asarray(predictions.class_names)
    ties = (predictions.probs == predictions.confidence[:, None]).sum(1) > 1
    if not ties.any() and predictions.n_classes > 2:
        other = Predictions(
            predictions.probs[:, order], np.argsort(order)[predictions.true_labels], class_names=names[order].tolist()
        )
        # Of all rows p and interval rest on 1,000 draws, class after class.
        alike(found, cc.findings(other, 5, fewest=2), drawn=("p", "low", "high"))


@given(full_predictions(max_rows=120))
def test_what_stands_out_follows_p_and_intervals_include_what_was_right(predictions):
    found = cc.findings(predictions, 4, fewest=1)
    np.testing.assert_array_equal(found["stands_out"], found["p_corrected"] <= 0.05)
    # An interval is valid for any chances of single rows: it excludes the prediction only if p is small, too.
    listed = found[found["p"].notna()]
    out = (listed["says"] < listed["low"]) | (listed["says"] > listed["high"])
    assert (listed["p"][out] <= 1 - listed["level"][out] + 1e-9).all()
    assert ((found["low"] - 1e-9 <= found["right"]) & (found["right"] <= found["high"] + 1e-9)).all()
    known = found[found["p"].notna()]
    assert (known["p_corrected"] >= known["p"]).all()


@given(full_predictions(weighted="whole"))
def test_whole_weights_are_copies(predictions):
    alike(cc.findings(predictions, 4), cc.findings(predictions.written_out(), 4))


def test_other_weights_count_as_the_rows_they_are_worth():
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 3000)
    p = too_sure(weights=weights)
    found = cc.findings(p, 5)
    line = found[(found["code"] == 2) & (found["bin"] == 4)].iloc[0]
    here = (p.predicted == 2) & (p.confidence >= 0.8)
    w = p.weights[here]
    worth = w.sum() ** 2 / (w**2).sum()
    assert line["worth"] == pytest.approx(worth)
    assert worth < here.sum() == line["rows"]
    assert line["right"] == pytest.approx(w @ p.correct[here] / w.sum())
    assert line["p"] == pytest.approx(2 * math.exp(-2 * worth * line["gap"] ** 2))
    assert f"({here.sum():,} rows, effective sample size {worth:,.0f}; " in line["finding"]


def test_rows_that_are_not_answered_say_nothing():
    p = too_sure(500)
    quiet = np.arange(500) % 3 == 0
    abstaining = Predictions(p.probs, p.true_labels, abstained=quiet)
    alike(cc.findings(abstaining), cc.findings(p.take(np.flatnonzero(~quiet))))


def in_sites(n=3000, seed=0, **more):
    """Return a model calibrated except at one of three sites, and an uninformative column."""
    rng = np.random.default_rng(seed)
    h, site = rng.beta(5, 2, n), rng.integers(3, size=n)
    right = rng.random(n) < np.where(site == 1, 0.7 * h, h)
    columns = pd.DataFrame({"site": np.array(["Bern", "Kiel", "Oslo"])[site], "row": np.arange(n).astype(str)})
    return Predictions.from_confidence(h, right, metadata=columns, **more), site


def test_slices_are_a_family_of_their_own():
    p, site = in_sites()
    found = cc.findings(p)
    lines = found[found["kind"] == "slice"].set_index("slice")
    assert set(lines.index) == {"site=Bern", "site=Kiel", "site=Oslo"}
    kiel = lines.loc["site=Kiel"]
    here = site == 1
    assert (kiel["rows"], kiel["says"], kiel["right"]) == pytest.approx(
        (here.sum(), p.confidence[here].mean(), p.correct[here].mean())
    )
    says, right = told_apart(kiel["says"], kiel["right"])
    assert kiel["finding"] == (
        f"Where site is Kiel, the mean confidence is {says}, but the model is right {right} of the time "
        f"({p.correct[here].sum():,} of {here.sum():,} rows; "
        f"{at_level(kiel['level'])} interval {share_range(kiel['low'], kiel['high'])})."
    )
    assert lines["stands_out"].to_dict() == {"site=Bern": False, "site=Kiel": True, "site=Oslo": False}
    assert kiel["level"] == 0.9
    assert kiel["p_corrected"] == pytest.approx(2 * 3 * kiel["p"]), "bins and slices, three sites"
    assert not (cc.findings(p, by=())["kind"] == "slice").any()
    numbered = p.replace(metadata=p.metadata.assign(image=np.arange(3000), age=np.arange(3000) % 90))
    assert {place.split(" ")[0] for place in cc.findings(numbered).query("kind == 'slice'")["place"]} == {"site", "age"}
    with pytest.raises(NotAnswerable, match="different values"):
        cc.findings(p, by="row")
    two = p.replace(metadata=p.metadata.assign(half=np.arange(3000) % 2).drop(columns="row"))
    both = cc.findings(two)
    both = both[both["kind"] == "slice"]
    for name in ("site", "half"):
        mine = both[both["place"].str.startswith(name)]
        np.testing.assert_allclose(mine["p_corrected"], step_down(mine["p"].tolist(), 2 * 2), rtol=1e-9)


def test_rows_of_a_group_count_together():
    p, _ = in_sites(300)
    groups = np.arange(300) // 3
    found = cc.findings(p.replace(groups=groups), 4, by=())
    line = found[found["bin"] == 3].iloc[0]
    here = p.confidence >= 0.75
    worth = here.sum() ** 2 / (np.bincount(groups[here]) ** 2).sum()
    together = len(np.unique(groups[here]))
    assert line[["rows", "groups", "worth"]].tolist() == pytest.approx([here.sum(), together, worth])
    assert line["p"] == pytest.approx(min(1, 2 * math.exp(-2 * worth * line["gap"] ** 2)))
    said = f"({here.sum():,} rows in {together} groups, effective sample size {worth:,.0f}; "
    assert said in line["finding"]
    # One row a group is no grouping.
    alike(cc.findings(p.replace(groups=np.arange(300)), by=()), cc.findings(p, by=()))


@pytest.mark.wide
def test_grouped_rows_that_are_right_together_make_no_false_findings():
    """Twenty rows per patient have one outcome; treated as independent they would be significant in most runs."""
    rng, runs, grouped, independent = np.random.default_rng(3), 60, 0, 0
    for _ in range(runs):
        h, patient = np.repeat(rng.beta(5, 2, 80), 20), np.repeat(np.arange(80), 20)
        right = (rng.random(80) < h[::20])[patient]
        p = Predictions.from_confidence(h, right, groups=patient)
        grouped += cc.findings(p)["stands_out"].any()
        independent += cc.findings(p.replace(groups=None))["stands_out"].any()
    assert grouped <= 0.05 * runs + 2 * math.sqrt(0.05 * 0.95 * runs)
    assert independent > 0.5 * runs


@pytest.mark.parametrize("wrong", [{"level": 1.0}, {"level": 0.0}])
def test_what_is_no_share_is_refused(wrong):
    with pytest.raises(InputError, match="must be a number between 0 and 1"):
        cc.findings(too_sure(50), **wrong)


# ---- the test of a share ----------------------------------------------------------------------------------


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_a_small_p_is_an_interval_that_excludes(counted, level):
    n, k, says = (part.ravel() for part in np.meshgrid([1.0, 7.0, 60.0], np.linspace(0, 1, 8), np.linspace(0, 1, 41)))
    right = np.round(n * k) / n
    low, high = share_ends(right, n, counted, level)
    outside = (says < low) | (says > high)
    p = share_test(right, says, n, counted)
    unsure = np.abs(p - (1 - level)) < 1e-9
    np.testing.assert_array_equal((p <= 1 - level)[~unsure], outside[~unsure])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0.001, 0.5))
def test_it_holds_its_level_whatever_the_chances_of_single_rows(chances, alpha):
    """All outcomes are enumerated: by Hoeffding's theorem a binomial distribution tests a mean."""
    chances, n = np.array(chances), len(chances)
    rejected = 0.0
    for z in itertools.product((0, 1), repeat=n):
        p = share_test(np.array([np.mean(z)]), np.array([chances.mean()]), np.array([float(n)]), True)[0]
        rejected += (p <= alpha) * np.prod(np.where(z, chances, 1 - chances))
    assert rejected <= alpha + 1e-9


# ---- guarantees by simulation -----------------------------------------------------------------------------


def repeated(k, n, runs, seed):
    """Yield tested lines with the true mean chances; of many classes one in ten is overconfident."""
    rng = np.random.default_rng(seed)
    for _ in range(runs):
        said = networks(n, k, rng)
        top = said.argmax(1)
        # The excess of overconfident rows goes to the next class, whose own rows are calibrated.
        moved = np.where((top % 10 == 9) & (k >= 10), 0.2 * said[np.arange(n), top], 0.0)
        true = said.copy()
        true[np.arange(n), top] -= moved
        true[np.arange(n), (top + 1) % k] += moved
        found = cc.findings(Predictions(said, drawn(true, rng)))
        b = np.minimum((said[np.arange(n), top] * 15).astype(int), 14)
        found = found[found["p"].notna()]
        yield found.assign(truth=truths(found, true, top, b))


def truths(found, true, top, b):
    """Return the true mean chance behind every line."""
    h, n = true[np.arange(len(top)), top], len(top)
    size = true.shape[1]
    cell = np.bincount(top * 15 + b, h, size * 15) / np.maximum(np.bincount(top * 15 + b, minlength=size * 15), 1)
    every = {
        "direction": lambda _: h.sum() / n,
        "class": lambda line: true[:, line.code].mean(),
        "predicted class": lambda line: h[top == line.code].mean(),
        "bin": lambda line: h[b == line.bin].mean(),
    }
    return [
        cell[line.code * 15 + line.bin] if line.kind == "class and bin" else every[line.kind](line)
        for line in found.itertuples()
    ]


@pytest.mark.wide
@pytest.mark.parametrize(("k", "n", "runs"), [(3, 2500, 40), (100, 6000, 12)])
def test_a_place_that_is_as_it_says_is_rarely_called_off_beside_others_that_are_not(k, n, runs):
    # A line is false if the true mean chance equals the prediction.
    false, uncorrected = [], []
    for found in repeated(k, n, runs, seed=k):
        as_said = (np.abs(found["truth"] - found["says"]) < 1e-9) & (found["kind"] != "direction")
        false.append(bool(as_said[found["stands_out"]].any()))
        uncorrected.append(bool(as_said[found["p"] <= 0.05].any()))
    assert np.mean(false) <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / runs)
    assert np.mean(uncorrected) > 0.5


def sharpened(n=1500, k=5, seed=0):
    """Class probabilities from logits twice as large as those of the truth: too sure everywhere."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, k)) * 1.3
    truth, stated = (np.exp(c * z) / np.exp(c * z).sum(1, keepdims=True) for c in (1, 2))
    return Predictions(stated, drawn(truth, rng))


def test_a_model_off_as_a_whole_opens_with_all_rows():
    found = cc.findings(sharpened())
    assert found["kind"].iloc[0] == "direction"
    first, counted = headline(found)
    assert first == found["finding"].iloc[0]
    assert "Nearly all gaps have the same direction" in counted
    gaps = found[found["p"].notna() & (found["kind"] != "class")]
    opposed = gaps[gaps["gap"] > 0]
    assert len(opposed) > 0, "some places of few rows are off the other way by chance"
    assert not opposed["stands_out"].any()


def test_a_model_off_in_one_half_opens_with_a_place():
    rng = np.random.default_rng(0)
    h = np.concatenate([np.full(2000, 0.6), np.full(1000, 0.9)])
    p = Predictions.from_confidence(h, rng.random(3000) < np.concatenate([np.full(2000, 0.62), np.full(1000, 0.7)]))
    found = cc.findings(p, 10)
    assert found.query("kind == 'direction'")["stands_out"].iloc[0]
    assert found["kind"].iloc[0] == "bin"
    assert "same direction" not in headline(found)[1]


def of_a_class_off(n, seed, shift=0.0, local=False):
    """Class 3 of four too likely by ``shift`` in its logit, or right in a quarter of its rows at 60 to 70 %."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, 4))
    stated = softmax(logits, axis=1)
    third = logits.argmax(axis=1) == 3
    true = softmax(logits - shift * np.where(third[:, None], np.eye(4)[3], 0.0), axis=1)
    if local:
        true[third & (stated.max(axis=1) > 0.6) & (stated.max(axis=1) < 0.7)] = 0.25
    return Predictions(stated, [rng.choice(4, p=row) for row in true])


def test_a_class_off_as_a_whole_comes_before_its_bins():
    for seed in range(5):
        table = cc.findings(of_a_class_off(2_000, seed, shift=0.8), by=())
        assert (table["kind"][0], table["class"][0]) == ("predicted class", "3")
        largest = table[table["stands_out"] & (table["kind"] == "class and bin")]["gap"].abs().max()
        assert not largest > 0 or largest > abs(table["gap"][0]), "by size a bin of few rows would come first"


def test_a_class_off_in_one_bin_opens_with_this_bin():
    for seed in range(5):
        table = cc.findings(of_a_class_off(2_000, seed, local=True), by=())
        assert (table["kind"][0], table["class"][0]) == ("class and bin", "3")
        whole = table[(table["kind"] == "predicted class") & (table["class"] == "3")]
        assert whole["stands_out"].all(), "the class is off in the mean, too"


def test_slices_are_a_kind_of_places_only_where_a_column_divides_the_rows():
    p, n = too_sure(), 3000
    dividing, numbering = np.arange(n) % 3, np.arange(n)
    alone, numbered, divided = (
        cc.findings(p if column is None else p.replace(metadata=pd.DataFrame({"c": column})), 5)
        for column in (None, numbering, dividing)
    )
    of_bins = [frame.query("kind == 'bin'").set_index("bin")["p_corrected"] for frame in (alone, numbered, divided)]
    np.testing.assert_array_equal(of_bins[0], of_bins[1])
    small = of_bins[2] < 1
    np.testing.assert_allclose(of_bins[2][small], of_bins[0][small] * 5 / 4, rtol=1e-12)
    named = cc.findings(p.replace(metadata=pd.DataFrame({"c": numbering})), 5, by="c")
    assert (named["kind"] == "slice").any()
    np.testing.assert_array_equal(named.query("kind == 'bin'").set_index("bin")["p_corrected"], of_bins[2])


@pytest.mark.parametrize(("limit", "warned"), [(0.05, True), (0.07, True), (0.1, False), (0.2, False)])
def test_a_gate_warns_of_a_group_by_the_nearer_end_of_its_interval(limit, warned):
    """The gap of 16 points is significant, and its interval at 90 % is from 7.3 to 23.9 points."""
    sex = pd.DataFrame({"sex": ["f"] * 100 + ["m"] * 100})
    rows = Predictions([[0.5, 0.5]] * 200, [1] * 66 + [0] * 34 + [1] * 50 + [0] * 50, metadata=sex)
    table = cc.findings(rows)
    line = table[table["place"] == "sex = f"].iloc[0]
    low, high = share_ends(np.array([0.66]), np.array([100.0]), True, 0.9)
    assert [line["low"], line["high"]] == pytest.approx([low[0], high[0]])
    assert line["stands_out"]
    assert 0.07 < low[0] - 0.5 < 0.1
    assert bool(group_warnings(table, limit)) == warned
