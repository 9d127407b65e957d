"""Accuracies by a judge, corrected by human marks: against ppi-python, arithmetic, and drawn rows."""

import math

import numpy as np
import pytest

import calib_core as cc
from calib_core.judged import corrected_mean
from calib_core.text import in_percent

Z = 1.6448536269514722
"""Normal 95 % quantile."""


def marked(n, people, law="verdict", seed=0, share=0.7, right=0.85, wrong=0.15):
    """Return truth, the judge's marks, and people's marks of the first rows, which are a random subset."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(float)
    if law == "verdict":
        judge = (rng.random(n) < np.where(truth == 1, right, wrong)).astype(float)
    else:
        judge = np.round(np.clip(0.2 + 0.5 * truth + 0.3 * rng.random(n), 0, 1), 3)
    return truth, judge, np.where(np.arange(n) < people, truth, np.nan)


# `ppi_mean_pointestimate` and `ppi_mean_ci(alpha=0.1)` of ppi-python 0.2.3 on these rows.
OF_PPI_PYTHON = [
    ((200, 40, "verdict", 1), (0.7164506666666668, 0.6228801217194938, 0.8100212116138398)),
    ((1000, 60, "degrees", 2), (0.7114755319148937, 0.6635159630480703, 0.759435100781717)),
    ((120, 60, "verdict", 3), (0.710927242798354, 0.6296450293190285, 0.7922094562776794)),
]


def rows_of_ppi(n, people, law, seed):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.7).astype(float)
    if law == "verdict":
        judge = np.where(rng.random(n) < 0.85, truth, 1 - truth)
    else:
        judge = np.round(np.clip(0.2 + 0.5 * truth + 0.3 * rng.random(n), 0, 1), 3)
    return judge, np.where(np.arange(n) < people, truth, np.nan)


@pytest.mark.parametrize(("drawn", "expected"), OF_PPI_PYTHON)
def test_the_estimate_and_its_error_are_those_of_ppi_python(drawn, expected):
    found = cc.judged.judged_share(*rows_of_ppi(*drawn))
    reach = Z * found.standard_error
    assert (found.value, found.value - reach, found.value + reach) == pytest.approx(expected, rel=0, abs=1e-12)


def test_by_hand():
    """20 rows by people, of 16 that the judge lets pass 4 wrong, of 4 that it fails none right; 80 others, 64 pass."""
    judge = [1] * 80 + [0] * 20
    people = [1] * 12 + [0] * 4 + [None] * 64 + [0] * 4 + [None] * 16
    found = cc.judged.judged_share(judge, people)
    covariance = 12 / 20 - 0.6 * 0.8
    power = covariance / ((1 + 20 / 80) * (0.8 * 0.2 * 100 / 99))
    assert found.power == pytest.approx(power)
    assert found.value == pytest.approx(0.6 + power * (0.8 - 0.8))
    residual = 0.6 * 0.4 + power**2 * 0.16 - 2 * power * covariance
    assert found.standard_error == pytest.approx(np.sqrt(residual / 20 + power**2 * 0.16 / 80))
    assert (found.judge, found.rows, found.labelled) == (0.8, 100, 20)


def test_people_alone_are_relied_on_where_the_judge_tells_nothing():
    truth, _, people = marked(200, 50)
    found = cc.judged.judged_share(np.ones(200), people)
    assert found.power == 0
    assert found.interval == found.alone
    assert found.value == pytest.approx(truth[:50].mean())


def test_people_who_marked_every_row_need_no_judge():
    truth, judge, _ = marked(100, 0)
    found = cc.judged.judged_share(judge, truth)
    assert found.value == pytest.approx(truth.mean())
    assert found.power == 0


def test_a_judge_who_agrees_with_every_person_still_may_err():
    truth, _, people = marked(1000, 30)
    found = cc.judged.judged_share(truth, people)
    assert found.interval.high - found.interval.low > 0.1
    assert found.power < 1


def test_a_judge_turned_round_is_not_relied_on():
    truth, _, people = marked(1000, 60)
    assert cc.judged.judged_share(1 - truth, people).power == 0


def coverage(draws, ends):
    return np.mean([low <= 0.7 <= high for low, high in map(ends, range(draws))])


@pytest.mark.parametrize(("right", "wrong"), [(0.95, 0.4), (1.0, 0.15)])
def test_intervals_cover_however_the_judge_errs_and_the_judge_alone_does_not(right, wrong):
    """150 draws: an interval that covers 90 % falls below 84 % once in 100 times, and the seeds are fixed."""

    def both(seed):
        _, judge, people = marked(400, 30, seed=seed, right=right, wrong=wrong)
        found = cc.judged.judged_share(judge, people)
        return found.interval.low, found.interval.high

    def judge_alone(seed):
        _, judge, _ = marked(400, 30, seed=seed, right=right, wrong=wrong)
        reach = Z * np.sqrt(judge.mean() * (1 - judge.mean()) / 400)
        return judge.mean() - reach, judge.mean() + reach

    assert coverage(150, both) >= 0.84
    assert coverage(150, judge_alone) < 0.7


def grouped(seed):
    """Return 60 questions of 5 attempts with equal outcomes, the judge erring by question; people marked 24 of them."""
    rng = np.random.default_rng(seed)
    question = np.repeat(np.arange(60), 5)
    truth = np.repeat(rng.random(60) < 0.7, 5).astype(float)
    judge = np.where(np.repeat(rng.random(60) < 0.85, 5), truth, 1 - truth)
    return judge, np.where(question < 24, truth, np.nan), question


def test_attempts_at_a_question_taken_together_cover_and_taken_for_independent_do_not():
    def ends(seed, together):
        judge, people, question = grouped(seed)
        found = cc.judged.judged_share(judge, people, question if together else None).interval
        return found.low, found.high

    assert coverage(100, lambda seed: ends(seed, together=True)) >= 0.84
    assert coverage(100, lambda seed: ends(seed, together=False)) < 0.75


def test_groups_leave_the_estimate_and_widen_the_interval():
    judge, people, question = grouped(0)
    alone, together = cc.judged.judged_share(judge, people), cc.judged.judged_share(judge, people, question)
    assert together.value == alone.value
    assert together.standard_error > 1.5 * alone.standard_error
    assert alone.interval.tested
    assert not together.interval.tested
    assert "rough guide" in together.sentence


def test_groups_of_one_row_change_nothing():
    _, judge, people = marked(200, 40)
    first, other = cc.judged.judged_share(judge, people), cc.judged.judged_share(judge, people, np.arange(200))
    assert (first.interval.low, first.interval.high) == pytest.approx((other.interval.low, other.interval.high))


def test_a_gap_is_confidence_less_the_share_where_confidence_is_one_number():
    _, judge, people = marked(300, 50)
    share, gap = cc.judged.judged_share(judge, people), cc.judged.judged_gap(np.full(300, 0.9), judge, people)
    assert gap.value == pytest.approx(0.9 - share.value)
    ends = (0.9 - share.interval.high, 0.9 - share.interval.low)
    assert (gap.interval.low, gap.interval.high) == pytest.approx(ends)
    assert gap.judge == pytest.approx(0.9 - share.judge)


def test_a_gap_above_zero_is_over_confidence():
    _, judge, people = marked(1000, 200)
    assert cc.judged.judged_gap(np.full(1000, 0.95), judge, people).interval.low > 0.1
    assert "+" in cc.judged.judged_gap(np.full(1000, 0.95), judge, people).sentence


def test_rows_that_people_picked_are_told_from_rows_drawn_at_random():
    truth, judge, people = marked(400, 60)
    assert cc.judged.judged_share(judge, people).note == ""
    doubtful = np.where(np.cumsum(judge == 0) * (judge == 0) > 0, truth, np.nan)
    note = cc.judged.judged_share(judge, doubtful).note
    assert "differ from the others" in note
    assert "Draw them at random" in note
    known = ~np.isnan(doubtful)
    assert f"mean is {judge[known].mean():.2g} in them and {judge[~known].mean():.2g} in the others" in note
    gap = cc.judged.judged_gap(np.full(400, 0.8), judge, doubtful)
    assert gap.note == note


def test_rows_are_called_unlike_by_an_exact_test_of_both_sides():
    """50 of 200 rows are marked, 100 pass the judge: every number of these among the marked, by its chance."""
    ways = [math.comb(100, k) * math.comb(100, 50 - k) for k in range(51)]
    total, between = math.comb(200, 50), 0
    for yes in range(51):
        judge = np.repeat([1.0, 0.0, 1.0, 0.0], [yes, 50 - yes, 100 - yes, 50 + yes])
        people = np.where(np.arange(200) < 50, np.arange(200) % 2, np.nan)
        one_sided = min(sum(ways[: yes + 1]), sum(ways[yes:])) / total
        assert bool(cc.judged.judged_share(judge, people).note) == (2 * one_sided < 0.01), yes
        between += 0.005 <= one_sided < 0.01
    assert between == 2, "or one side could stand for both"


def test_what_cannot_be_used_is_refused_in_a_sentence():
    _, judge, people = marked(100, 40)
    with pytest.raises(cc.InputError, match=r"judge row 3 is 7; verdicts are 0 or 1, .*divide marks of 1 to 10 by 10"):
        cc.judged.judged_share(np.where(np.arange(100) == 3, 7, judge), people)
    with pytest.raises(cc.InputError, match=r"judge row 3 is nan; .*leave out rows that were not judged"):
        cc.judged.judged_share(np.where(np.arange(100) == 3, np.nan, judge), people)
    with pytest.raises(cc.InputError, match=r"human row 0 is 0\.5; expected 1 for a right answer"):
        cc.judged.judged_share(judge, people * 0 + 0.5)
    with pytest.raises(cc.InputError, match="judge has 99 rows and human 100"):
        cc.judged.judged_share(judge[1:], people)
    with pytest.raises(cc.NotAnswerable, match=r"people marked 5 rows; .*at least 10 rows"):
        cc.judged.judged_share(judge, np.where(np.arange(100) < 5, people, np.nan))
    with pytest.raises(cc.NotAnswerable, match=r"40 rows, equivalent to 4 groups"):
        cc.judged.judged_share(judge, people, np.arange(100) // 10)
    with pytest.raises(cc.InputError, match="confidence row 0 is 90; confidences must be from 0 to 1"):
        cc.judged.judged_gap(np.full(100, 90), judge, people)
    with pytest.raises(cc.InputError, match="judge row 0 is 'yes'; expected a number"):
        cc.judged.judged_share(["yes"] * 100, people)
    with pytest.raises(cc.InputError, match="level is 90"):
        cc.judged.judged_share(judge, people, level=90)


def test_the_sentence_has_all_three():
    _, judge, people = marked(500, 80, right=0.98, wrong=0.5)
    found = cc.judged.judged_share(judge, people)
    assert found.sentence.startswith(f"{round(100 * found.interval.point)} % of the answers are right (90 % interval ")
    assert f"judge's marks of all 500 rows give {round(100 * judge.mean())} %" in found.sentence
    assert f"the 80 rows marked by people give {in_percent(found.alone.point)} (" in found.sentence
    frame = found.frame()
    ends = [found.judge, found.alone.point, found.interval.point, found.errors.interval.point]
    assert frame["value"].tolist() == ends
    assert found.errors.sentence in found.sentence
    assert corrected_mean.FEWEST_LABELLED == 20


def test_rows_that_were_drawn_at_random_are_rarely_called_unlike():
    """Twenty of 2,000 rows, nearly all right: the judge's few other marks are mostly not among them."""
    rng = np.random.default_rng(5)
    alarms, picked = 0, 0
    for _ in range(200):
        human = (rng.random(2000) < 0.97).astype(float)
        judge = np.where((human == 0) & (rng.random(2000) < 0.5), 0.0, 1.0)
        drawn = rng.permutation(2000) < 20
        alarms += "differ from the others" in cc.judged.judged_share(judge, np.where(drawn, human, np.nan)).note
        # Falsified: people looked at what the judge thought was wrong, and at some of the others.
        first = np.isin(np.arange(2000), np.argsort(judge + 0.001 * rng.random(2000))[:10]) | (drawn & (judge == 1))
        picked += "differ from the others" in cc.judged.judged_share(judge, np.where(first, human, np.nan)).note
    assert alarms <= 6, alarms  # 200 draws at 1 %: more than 6 in one of 200 such tests
    assert picked == 200


def test_the_estimate_lies_in_its_interval_where_few_are_right():
    """The judge is more often right among the marked rows than elsewhere: the correction is too small."""
    judge = np.r_[np.ones(8), np.zeros(32), np.zeros(60)]
    human = np.r_[1.0, np.zeros(39), np.full(60, np.nan)]
    found = cc.judged.judged_share(judge, human)
    assert 0 <= found.interval.low <= found.value <= found.interval.high
