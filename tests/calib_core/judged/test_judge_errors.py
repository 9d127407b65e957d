"""A judge's errors reported and corrected: other packages' numbers, a slow twin, drawn rows, and refusals."""

import re

import numpy as np
import pytest
from scipy import stats

import calib_core as cc

Z = 1.6448536269514722
"""Normal 95 % quantile."""


def marked(n, people, seed, share=0.7, right=0.9, wrong=0.25):
    """Return truth, verdicts of a judge with these pass rates of right and wrong rows, people's marks of the first."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(float)
    judge = (rng.random(n) < np.where(truth == 1, right, wrong)).astype(float)
    return truth, judge, np.where(np.arange(n) < people, truth, np.nan)


def test_the_estimate_is_that_of_two_other_packages():
    """judgy 0.1.0 `estimate_success_rate`, and theta[0], [2], [3] of delicatessen 4.3 `ee_rogan_gladen`."""
    _, judge, people = marked(300, 60, 7)
    found = cc.judged.judged_share(judge, people).errors
    assert found.value == pytest.approx(0.7044619422572177, abs=1e-12)
    assert (found.passes_right, 1 - found.passes_wrong) == pytest.approx((0.90909091, 0.8125), abs=1e-8)
    assert (found.right, found.wrong) == (44, 16)


def twin(judge, people, z=Z):
    """Return every share on a grid whose distance from that of the three means is within z of its deviation."""
    parts = [(judge[np.isnan(people)], z * z), (judge[people == 1], 2), (judge[people == 0], 2)]
    low, high = judge.min(), judge.max()
    means, variances = [], []
    for part, more in parts:
        size = len(part) + more
        mean = (part.sum() + more * (low + high) / 2) / size
        squares = np.square(part - mean).sum() + more * ((low - mean) ** 2 + (high - mean) ** 2) / 2
        means.append(mean)
        variances.append(squares / size**2)
    p = np.linspace(0, 1, 100_001)
    off = means[0] - p * means[1] - (1 - p) * means[2]
    inside = p[off**2 <= z * z * (variances[0] + p**2 * variances[1] + (1 - p) ** 2 * variances[2])]
    return inside.min(), inside.max()


@pytest.mark.parametrize("law", ["verdicts", "degrees", "turned round"])
def test_the_interval_holds_the_shares_that_the_means_do_not_exclude(law):
    _, judge, people = marked(400, 80, 3)
    if law == "degrees":
        judge = np.round(0.2 + 0.5 * judge + 0.2 * np.random.default_rng(0).random(400), 3)
    found = cc.judged.judged_share(1 - judge if law == "turned round" else judge, people).errors
    assert (found.interval.low, found.interval.high) == pytest.approx(twin(judge, people), abs=2e-5)
    assert found.interval.low < found.value < found.interval.high


def coverage(draws, ends, share=0.7):
    return np.mean([low <= share <= high for low, high in map(ends, range(draws))])


@pytest.mark.parametrize(("right", "wrong"), [(0.95, 0.4), (1.0, 0.0)])
def test_intervals_cover_and_half_of_them_do_not(right, wrong):
    """150 draws: an interval that covers 90 % falls below 84 % once in 100 times, and the seeds are fixed."""

    def ends(seed, part=1.0):
        _, judge, people = marked(360, 60, seed, right=right, wrong=wrong)
        found = cc.judged.judged_share(judge, people).errors
        if found.interval is None:  # no share is excluded
            return 0, 1
        assert found.interval.tested
        middle, reach = (found.interval.low + found.interval.high) / 2, found.interval.high - found.interval.low
        return middle - part * reach / 2, middle + part * reach / 2

    assert coverage(150, ends) >= 0.84
    assert coverage(150, lambda seed: ends(seed, 0.4)) < 0.8


def test_rows_picked_by_what_is_true_leave_it_right_and_mislead_the_rest():
    """People marked 40 right and 40 wrong rows, of 70 % that are right: no random part of all rows."""

    def both(seed):
        truth, judge, _ = marked(600, 0, seed)
        picked = np.r_[np.flatnonzero(truth == 1)[:40], np.flatnonzero(truth == 0)[:40]]
        people = np.full(600, np.nan)
        people[picked] = truth[picked]
        found = cc.judged.judged_share(judge, people)
        # 40 of each are gone from the others
        return found.errors.interval, (truth.sum() - 40) / 520, found.interval

    drawn = [both(seed) for seed in range(40)]
    assert np.mean([share in corrected for corrected, share, _ in drawn]) >= 0.8
    assert np.mean([share in taken_for_random for _, share, taken_for_random in drawn]) < 0.5


def test_rows_of_a_group_taken_together_widen_it():
    _, judge, people = marked(300, 90, 1)
    rows = [np.repeat(part, 4) for part in (judge, people)]
    alone, together = (cc.judged.judged_share(*rows, groups).errors for groups in (None, np.arange(1200) // 4))
    once = cc.judged.judged_share(judge, people).errors
    assert together.value == alone.value == pytest.approx(once.value)
    wide, narrow, single = (each.interval.high - each.interval.low for each in (together, alone, once))
    assert wide > 1.6 * narrow
    assert wide == pytest.approx(single, rel=0.1)
    assert not together.interval.tested
    assert "a rough guide" in together.sentence


def test_groups_are_as_few_as_those_of_the_rarest_mark():
    """With groups of one row each only the quantile changes: Student's, by the fewest groups of one kind."""
    _, judge, people = marked(400, 60, 3, right=0.95, wrong=0.05)
    found = cc.judged.judged_share(judge, people, groups=np.arange(400)).errors
    fewest = min(found.right, found.wrong)
    assert fewest < 25
    ends = twin(judge, people, stats.t.isf(0.05, fewest - 1))
    assert (found.interval.low, found.interval.high) == pytest.approx(ends, abs=2e-5)


def test_a_judge_who_tells_nothing_apart_is_not_corrected():
    rng = np.random.default_rng(0)
    _, _, people = marked(300, 60, 0)
    guess = cc.judged.judged_share(rng.integers(0, 2, 300), people).errors
    constant = cc.judged.judged_share(np.ones(300), people).errors
    for found in (guess, constant):
        assert found.interval is None
        assert "no evidence that it distinguishes right from wrong answers (mean mark" in found.sentence
    assert "judge less its errors" not in set(cc.judged.judged_share(np.ones(300), people).frame()["by"])


@pytest.mark.parametrize(
    ("people", "words"),
    [
        (lambda truth: truth, "people marked every row"),
        (lambda truth: np.where(truth == 1, truth, np.nan), "call no row wrong, .* how many of those the judge lets"),
        (lambda truth: np.where(truth == 0, truth, np.nan), "call no row right, .* how many of those the judge fails"),
    ],
)
def test_what_people_did_not_mark_is_missed_by_name(people, words):
    truth, judge, _ = marked(200, 0, 2)
    found = cc.judged.judged_share(judge, people(truth)).errors
    assert found.interval is None
    assert re.search(words, found.sentence)


def test_few_of_one_kind_are_a_rough_guide():
    truth, judge, _ = marked(400, 0, 5, share=0.9)
    few = np.r_[np.flatnonzero(truth == 1)[:30], np.flatnonzero(truth == 0)[:4]]
    people = np.full(400, np.nan)
    people[few] = truth[few]
    judge[few[-4:]] = 0
    found = cc.judged.judged_share(judge, people).errors
    assert (found.wrong, found.interval.tested) == (4, False)


def test_levels_that_were_not_tried_are_a_rough_guide():
    _, judge, people = marked(400, 80, 0)
    for level, tested in ((0.8, True), (0.99, True), (0.999, False), (0.5, False)):
        found = cc.judged.judged_share(judge, people, level=level)
        assert (found.interval.tested, found.errors.interval.tested) == (tested, tested)


def test_a_gap_has_no_such_correction():
    _, judge, people = marked(200, 40, 0)
    assert cc.judged.judged_gap(np.full(200, 0.9), judge, people).errors is None


def test_the_sentence_says_what_the_judge_marks_where_people_say_right_and_where_they_say_wrong():
    passed, failed = ([mark] * n for mark, n in ((1, 16), (0, 4)))
    judge = [*passed, *failed, *[1] * 6, *[0] * 14, *[1] * 60, *[0] * 40]
    people = [1] * 20 + [0] * 20 + [None] * 100
    sentence = cc.judged.judged_share(judge, people).errors.sentence
    assert sentence.startswith("The judge's mean mark is 80 % for answers that people call right, and 30 % for")
    assert "60 % of these rows are right" in sentence  # (.6 - .3) / (.8 - .3)
