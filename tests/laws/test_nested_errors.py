"""No answer contradicts that about an error it dominates: points, ends, p-values and words, over all kinds of data."""

import numpy as np
import pytest
from score_laws import sample, seed_of

import calib_core as cc
from calib_core import NotAnswerable, estimate
from calib_core.diagrams import overall_gap
from calib_core.inference import mean_gap
from calib_core.inference.intervals.error_hierarchy import Chain, _behind, _p_values

LAWS = {
    "network, over": ("network", "over-confident", 400, 20),
    "network, many classes": ("network", "shift .05", 600, 100),
    "one class off": ("network", "class .02", 500, 3),
    "spread": ("beta 5", "shift .05", 300, 20),
    "calibrated": ("beta 5", "calibrated", 1000, 10),
    "near one": ("beta 200", "shift .0204", 300, 10),
    "certain": ("certain", "shift .1", 100, 10),
    "ratings": ("forest", "wave .05", 300, 3),
    "rare": ("tiny", "calibrated", 500, 10),
    "few rows": ("network", "over-confident", 30, 3),
}
SLACK = 1e-12


def drawn(law, truth, n, k, seed=0, weighted=False):
    one = sample(law, truth, n, k, seed, weighted)
    return one.drawn(np.random.default_rng([seed_of("nested", law, truth), seed]))


def assert_in_order(lower, upper):
    """Of two answers (low, point, high, p, word), the second of which is about an error never below the first's."""
    for a, b in zip(lower[:3], upper[:3], strict=True):
        assert a <= b + SLACK, (lower, upper)
    assert lower[3] >= upper[3] - SLACK
    assert not (lower[4] == "miscalibrated" and upper[4] != "miscalibrated")
    assert not (upper[4] == "within" and lower[4] not in ("within", "too few rows to tell"))


def answer(predictions, notion, level, bins=None, eps=0.02):
    made = estimate(predictions, notion, "ece", bins)
    span = made.interval(level)
    return span.low, span.point, span.high, span.p_value, made.verdict(eps, level).word


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@pytest.mark.parametrize("name", LAWS)
def test_top_label_confidence_and_mean_gap_are_in_order(name, weighted):
    for seed, level in enumerate((0.9, 0.8)):
        p = drawn(*LAWS[name], seed, weighted)
        gap, confidence, top = (
            mean_gap(p, level=level),
            answer(p, "confidence", level),
            answer(p, "top-label", level),
        )
        assert_in_order(confidence, top)
        least = (gap.least, gap.point, gap.most)
        assert all(a <= b + SLACK for a, b in zip(least, confidence[:3], strict=True))


@pytest.mark.parametrize("bins", [8, "equal-mass", "groups"])
@pytest.mark.parametrize("name", ["network, over", "spread", "ratings"])
def test_the_order_holds_in_bins_that_were_asked_for(name, bins):
    p = drawn(*LAWS[name])
    lower, upper = (answer(p, notion, 0.9, bins) for notion in ("confidence", "top-label"))
    assert_in_order(lower, upper)
    assert mean_gap(p, bins=bins).least <= lower[0] + SLACK


@pytest.mark.parametrize("name", ["network, over", "few rows", "one class off"])
def test_one_class_and_its_mean_gap_are_in_order(name):
    p = drawn(*LAWS[name])
    for k in range(3):
        notion = cc.REDUCTIONS.make("class-specific", cls=k)
        gap, line = mean_gap(p, notion), answer(p, notion, 0.9)
        ordered = zip((gap.least, gap.point, gap.most), line[:3], strict=True)
        assert all(a <= b + SLACK for a, b in ordered)


@pytest.mark.parametrize("weighted", [False, True], ids=["rows", "weights"])
@pytest.mark.parametrize("truth", ["calibrated", "over-confident", "shift .05"])
def test_the_event_and_its_mean_gap_are_in_order(truth, weighted):
    for seed, n in enumerate((60, 300, 1000)):
        p = drawn("network", truth, n, 2, seed, weighted)
        gap, line = mean_gap(p, "event"), answer(p, "event", 0.9)
        assert all(a <= b + SLACK for a, b in zip((gap.least, gap.point, gap.most), line[:3], strict=True))
        assert gap.gap == pytest.approx(
            float(np.average((p.labels == p.event) - p.probs[:, p.event], weights=p.weights))
        )


@pytest.mark.parametrize("name", ["network, over", "few rows", "one class off"])
def test_all_classes_and_their_mean_gaps_are_in_order(name):
    p = drawn(*LAWS[name])
    level = 0.9
    lines = Chain.of(estimate(p, "class-wise").question, 0)
    classes, tail = lines.lines[0], lines.tail(level)
    own, span = classes.absolute(level, tail), estimate(p, "class-wise").interval(level)
    assert all(a <= b + SLACK for a, b in zip(own, (span.low, span.point, span.high), strict=True))
    gaps = np.abs(np.eye(p.n_classes)[p.labels].mean(axis=0) - p.probs.mean(axis=0)).mean()
    assert float(classes.gaps.weight @ np.abs(classes.gaps.gap)) == pytest.approx(gaps, abs=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_the_card_and_the_lines_say_the_same(name):
    p = drawn(*LAWS[name])
    card, gap, line = overall_gap(p), mean_gap(p), estimate(p, "confidence").interval()
    assert bool(card.direction) == (gap.least > 0)
    assert card.least == pytest.approx(gap.least, abs=1e-12)
    assert line.low >= card.least - SLACK
    if card.direction:
        assert line.point >= abs(card.claimed - card.right) - SLACK


@pytest.mark.parametrize("name", LAWS)
def test_all_lines_are_read_at_one_level_between_the_full_one_and_its_parts(name):
    p = drawn(*LAWS[name])
    tails = [Chain.of(estimate(p, notion).question, 0).tail(0.9) for notion in ("confidence", "top-label")]
    assert tails[0] == tails[1] == mean_gap(p).tail
    assert 0.05 / 3 - SLACK <= tails[0] <= 0.05 + SLACK


def test_the_level_is_fixed_by_the_scores():
    law = LAWS["network, over"]
    first, other = drawn(*law), sample(*law, 0).drawn(np.random.default_rng(99))
    assert not np.array_equal(first.labels, other.labels)
    assert mean_gap(first).tail == mean_gap(other).tail
    words = [estimate(p, "top-label").interval().about for p in (first, other)]
    assert words[0] == words[1]


def test_without_the_lines_below_the_order_breaks():
    """The falsified twin: each line by itself contradicts those it dominates."""
    broken = 0
    for seed in range(4):
        p = drawn("network", "shift .05", 600, 100, seed)
        chain = Chain.of(estimate(p, "top-label").question, 0)
        confidence, top = (line.absolute(0.9, 0.05) for line in chain.lines)
        broken += top.low < confidence.low or confidence.low < mean_gap(p).least
    assert broken


def test_top_label_intervals_are_narrower_the_more_rows_there_are():
    """By the groups that are chosen; in groups of twenty rows they are not."""
    widths, twenty = [], []
    for n in (1000, 2000, 5000, 10_000):
        p = drawn("network", "calibrated", n, 100)
        for bins, found in ((None, widths), ("groups", twenty)):
            lines = Chain.of(estimate(p, "top-label", "ece", bins).question, 0)
            own = lines.lines[-1].absolute(0.9, 0.05)
            found.append(own.high - own.low)
    assert all(np.diff(widths) < 0)
    assert widths[-1] < 0.5 * widths[0]
    assert twenty[-1] > 0.7 * twenty[0]


def test_p_values_of_draws_are_their_ranks():
    sizes = np.array([0.3, 0.1, 0.2, 0.2])
    assert _p_values(sizes).tolist() == [0.25, 1.0, 0.75, 0.75]
    assert _behind(np.sort(sizes), 0.25) == 0.25


KEYS = (
    "ece",
    "rmsce",
    "debiased-l2",
    "debiased-ece",
    "ece-adaptive",
    "mce",
    "ece-sweep",
    "max-deviation",
    "skce",
)


@pytest.mark.parametrize("key", KEYS)
def test_nothing_is_called_miscalibrated_that_calibrated_models_show(key):
    said = 0
    for seed, (law, truth, n, k) in enumerate([*LAWS.values()] * 2):
        made = estimate(drawn(law, truth, min(n, 400), k, seed), "confidence", key)
        try:
            line = cc.inference.estimate_line(made)
        except NotAnswerable:
            continue
        if line.verdict == "miscalibrated":
            said += 1
            assert line.p <= 0.05
    assert said
