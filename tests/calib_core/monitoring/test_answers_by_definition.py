"""Answers of a watch by their definitions: a year alone, slices by their rows, whole states, merges and drift."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from calib_core import Predictions
from calib_core.calibrators.label_shift import prior_shift
from calib_core.monitoring import Watch, before_labels, score_drift
from calib_core.monitoring.before_labels import EDGES
from calib_core.monitoring.e_processes import SHIFTS, gap_ends, start_weights
from calib_core.monitoring.state_file import from_json, to_json
from calib_core.monitoring.watched_model import PeriodCounts, YearRecord


def of_sites(seed: int, odds: dict[str, float], n: int = 240, sites: str = "abcd") -> Predictions:
    """Rows of sites in turn, in pairs that are groups; the odds at some sites are not those predicted."""
    rng = np.random.default_rng(seed)
    site = np.array(list(sites))[np.arange(n) % len(sites)]
    risk = rng.uniform(0.05, 0.6, n)
    factor = np.array([odds.get(each, 1.0) for each in site])
    happened = rng.random(n) < factor * risk / (1 - risk + factor * risk)
    probs = np.column_stack([1 - risk, risk])
    return Predictions(probs, happened.astype(int), metadata=pd.DataFrame({"site": site}))


def site_of(rows: Predictions, site: str) -> Predictions:
    return rows.take(np.flatnonzero(rows.metadata["site"] == site))  # type: ignore[index]


@pytest.fixture(scope="module")
def years() -> tuple[Watch, Watch]:
    """A watch in its third year of four weeks, and one that was fed the batches of this year only.

    The first year has an alarm, the second has none. In the third, site b is off from the third week on.
    """
    watch, alone = Watch(by=("site",), horizon=4), Watch(by=("site",), horizon=4)
    for week in range(12):
        odds = dict.fromkeys("abcd", 6.0) if week < 4 else {"b": 0.05} if week >= 10 else {}
        given = of_sites(week, odds), week + 1, f"week {week}"
        watch = watch.add(*given, unlabeled=week, close=True)
        if week >= 8:
            alone = alone.add(*given, unlabeled=week, close=True)
    return watch, alone


def test_a_later_year_has_the_answer_of_its_batches_alone(years: tuple[Watch, Watch]) -> None:
    watch, alone = years
    found, expected = asdict(watch.answer()), asdict(alone.answer())
    assert found.pop("year_before") is expected.pop("year_before") is None
    assert found == expected
    assert found["alarm"]
    assert found["since"] == found["slices"][0]["since"] == "11"  # a start that is not the first of its year
    assert found["unlabeled"] == 8 + 9 + 10 + 11
    pd.testing.assert_frame_equal(watch.of_slices(), alone.of_slices())
    pd.testing.assert_frame_equal(watch.frame(), alone.frame())


def test_the_year_before_is_the_last_one(years: tuple[Watch, Watch]) -> None:
    watch, _ = years
    assert [each.first is None for each in watch.years] == [False, True, False]
    assert watch.answer().year_before is None
    anew = watch.add(of_sites(12, {}), 13)
    assert anew.answer().year_before == watch.years[2].first
    assert f"The year before had an alarm in period {watch.years[2].first}." in anew.answer().sentence


def test_a_slice_is_described_by_its_rows_since_its_error_began() -> None:
    batches = [of_sites(week, {"b": 0.1 if week >= 2 else 1.0}) for week in range(5)]
    watch = Watch(by=("site",), horizon=6)
    for week, rows in enumerate(batches):
        watch = watch.add(rows, week + 1)
    lines = watch.of_slices().set_index("slice")
    assert lines["stands_out"].tolist() == [False, True, False, False]
    assert lines["since"].tolist() == ["1", "3", "1", "1"]
    for site, line in zip("abcd", lines.to_dict("records"), strict=True):
        since = int(line["since"])
        parts = [site_of(rows, site) for rows in batches[since - 1 :]]
        risk, event = (np.concatenate(each) for each in zip(*((p.probs[:, 1], p.labels) for p in parts), strict=True))
        assert line["rows"] == len(risk)
        assert [line["predicted"], line["observed"]] == pytest.approx([risk.mean(), event.mean()])
        alone = Watch()
        for part in parts:
            alone = alone.add(part)
        # Jointly for four slices; a start that the evidence chose has its weight of the rest.
        share = start_weights(6, 6)[since - 1] if line["stands_out"] else 1.0
        ends = gap_ends(alone.sums_by_period(alone.periods), 0.05 / 4 * share)
        assert [line["gap_low"], line["gap_high"]] == pytest.approx(ends)
    (error,) = watch.answer().slices
    line = lines.loc["site=b"]
    assert (error.name, error.since, error.rows) == ("site=b", "3", line["rows"])
    assert error.gap == pytest.approx(line["observed"] - line["predicted"])
    assert (error.gap_low, error.gap_high, error.e_value) == tuple(line[["gap_low", "gap_high", "e_value"]])
    assert error.gap_low < error.gap < error.gap_high


def test_the_ratio_and_its_ends_are_events_over_expected_ones() -> None:
    rows = of_sites(4, dict.fromkeys("abcd", 0.8), 300)
    watch = Watch().add(rows, 1)
    assert not watch.answer().alarm
    found, risk, event = watch.answer(), rows.probs[:, 1], rows.labels
    low, high = gap_ends(watch.sums_by_period(["1"]), 0.05)
    assert found.ratio == pytest.approx(event.sum() / risk.sum())
    # The same ends as those of the mean gap, as numbers of events over the expected one.
    expected = [(risk.sum() + 300 * end) / risk.sum() for end in (low, high)]
    assert [found.ratio_low, found.ratio_high] == pytest.approx(expected)
    assert found.ratio_low < found.ratio < found.ratio_high


def test_means_of_a_period_in_groups_are_those_of_its_groups() -> None:
    rows = of_sites(5, {}, 120)
    codes = np.minimum(np.arange(120) // 2, 30)
    groups = pd.DataFrame({"risk": rows.probs[:, 1], "event": rows.labels}).groupby(codes).mean()
    line = Watch().add(rows.replace(groups=codes), 1).frame().iloc[0]
    assert line["rows"] == 120
    assert [line["predicted"], line["observed"]] == pytest.approx(groups.mean().tolist())


def test_one_slice_stands_out_at_half_of_the_false_alarms() -> None:
    watch = Watch(by=("site",)).add(of_sites(0, {"a": 3.0}, 200, "a"), 1)
    evidence = watch.of_slices()["e_value"][0]
    assert evidence > 40
    for needed, out in ((1.02, True), (0.98, False), (0.51, False)):  # alpha / 2 is this many times 1 / evidence
        assert replace(watch, alpha=2 * needed / evidence).of_slices()["stands_out"].tolist() == [out]


def test_the_three_slices_with_the_most_evidence_are_named_and_the_others_counted() -> None:
    odds = {"a": 5.0, "b": 6.0, "c": 60.0, "d": 9.0, "e": 25.0, "f": 1.0}
    watch = Watch(by=("site",)).add(of_sites(3, odds, 1200, "abcdef"), 1)
    found, lines = watch.answer(), watch.of_slices().set_index("slice")["e_value"].sort_values(ascending=False)
    assert [each.name for each in found.slices] == lines.index[:5].tolist()
    assert lines.index[:3].tolist() != sorted(lines.index[:3])
    assert sum(f"predictions for {name} are too low" in found.sentence for name in lines.index[:3]) == 3
    assert "predictions for site=a are" not in found.sentence
    assert "2 more slices are significantly off." in found.sentence
    assert found.needed == pytest.approx(40)


def test_an_error_in_one_slice_is_an_alarm() -> None:
    """Errors at two sites cancel over all rows, so that only the slices show them."""
    watch = Watch(by=("site",), limit=0.3)
    for week in range(6):
        watch = watch.add(of_sites(week, {"a": 1000.0, "b": 0.001, "c": 0.001}, 400), week + 1)
    found = watch.answer()
    assert (found.alarm, found.of_all_rows, found.of_slices) == (True, False, True)
    assert found.alarm_period == watch.years[0].slices is not None
    assert found.sentence.startswith(f"Alarm in period {found.alarm_period}.")


def test_the_first_alarm_is_the_earlier_one_in_the_order_of_periods() -> None:
    assert YearRecord(0.0, "10", "9").first == YearRecord(0.0, "9", "10").first == "9"


def test_an_alarm_that_fades_has_the_start_of_the_last_look_with_enough_evidence() -> None:
    """First an error from the first week on, then a larger one, then so many good rows that no evidence is left."""
    watch, seen = Watch(horizon=12), []
    for week, (odds, n) in enumerate([(2.5, 80)] * 4 + [(1.0, 200)] * 2 + [(40.0, 60)] * 2 + [(1.0, 8000)] * 2):
        watch = watch.add(of_sites(week, dict.fromkeys("abcd", odds), n), week + 1)
        seen.append((watch.evidence.log_e[-1] >= math.log(20), str(watch.evidence.starts[-1] + 1)))
    reached = [start for enough, start in seen if enough]
    assert not seen[-1][0]
    assert reached[0] != reached[-1]
    assert watch.answer().since == reached[-1]


# ---- states and merges ----------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return a field of a watch as values that can be compared; the order of a table means nothing."""
    if isinstance(value, PeriodCounts):
        return value.rows, value.units, value.unlabeled, value.sums.whole.tolist(), value.sums.part.tolist()
    return {name: plain(each) for name, each in value.items()} if isinstance(value, dict) else value


def test_a_state_has_every_field_after_it_is_read_again() -> None:
    watch = Watch(0.05, bins=4, by=("site",), alpha=0.1, horizon=3)
    for week, label in enumerate(["1", "2", "4", "3", "5"]):
        rows = of_sites(week, {"a": 0.1, "b": 9.0} if week == 4 else {}, 480)
        rows = rows.replace(groups=np.arange(480) // 8 * 4 + np.arange(480) % 4)
        watch = watch.add(rows, label, label, unlabeled=week, close=True)
    for name, label in (("z", "7"), ("a", "6")):
        watch = watch.add(of_sites(9, {}, 40), label, name, unlabeled=3)
    assert watch.late == {"3"}
    assert [(year.alarm, year.slices) for year in watch.years if year.alarm != year.slices]
    again = from_json(to_json(watch), "watch.json")
    for each in fields(Watch):
        assert plain(getattr(again, each.name)) == plain(getattr(watch, each.name)), each.name
    assert list(again.waiting) == ["z", "a"]
    assert again.answer().sentence == watch.answer().sentence


@pytest.mark.parametrize("settings", [{"ratio": 1.5}, {"limit": 0.2, "notion": "event", "miss": 0.01}])
def test_settings_are_those_that_were_written(settings: dict[str, Any]) -> None:
    watch = Watch(**settings)
    again = from_json(to_json(watch), "watch.json")
    assert all(getattr(again, each.name) == getattr(watch, each.name) for each in fields(Watch))


def test_merged_watches_wait_for_the_batches_of_both() -> None:
    one = Watch().expect(30, 2, "one").add(of_sites(0, {}), 1, "first")
    other = Watch().expect(40, 3, "other")
    for merged in (one + other, other + one):
        assert {name: each.rows for name, each in merged.waiting.items()} == {"one": 30, "first": 240, "other": 40}


def test_what_waits_keeps_its_order_when_other_batches_come_or_go() -> None:
    watch = Watch().expect(30, 1, "one").expect(40, 2, "two").expect(50, 2, "more").expect(60, 3, "three")
    assert list(watch.waiting) == ["one", "two", "more", "three"]
    assert list(watch.give_up(2).waiting) == ["one", "three"]


def test_a_period_that_came_in_its_order_somewhere_is_late_nowhere() -> None:
    late = Watch().add(of_sites(0, {}), 3).add(of_sites(1, {}), 2)
    in_time = Watch().add(of_sites(2, {}), 2)
    assert late.late == {"2"}
    assert (late + in_time).late == (in_time + late).late == frozenset()
    assert (late + Watch()).late == {"2"}


def test_the_next_number_follows_batches_that_wait() -> None:
    watch = Watch().add(of_sites(0, {}), 1).expect(30, batch="second")
    assert watch.waiting["second"].period == "2"
    assert watch.expect(30, batch="third").waiting["third"].period == "3"


# ---- before labels --------------------------------------------------------------------------------------------


def drift_by_hand(reference: np.ndarray, weeks: list[np.ndarray], alpha: float, horizon: int) -> list[np.ndarray]:
    """Evidence of each start after each week, weighed, as the docstring of ``score_drift`` defines it."""
    edges = np.array([-1.0, *EDGES, 2.0])
    counts = [np.array([((a <= week) & (week < b)).sum() for a, b in itertools.pairwise(edges)])
              for week in (reference, *weeks)]  # fmt: skip
    bins, n = len(counts[0]), len(reference)
    # 22 bins with two ends each miss with chance exp(-bound): alpha / 2 together.
    bound = math.log(2 * bins / (alpha / 2))

    def far(share: float, observed: float) -> float:
        parts = [(observed, share), (1 - observed, 1 - share)]
        return n * sum(a * math.log(a / b) for a, b in parts if a > 0) - bound

    ends = []
    for observed in counts[0] / n:
        low = brentq(far, 1e-300, observed, (observed,)) if observed > 0 else 0.0
        high = brentq(far, observed, 1 - 1e-12, (observed,)) if observed < 1 else 1.0
        ends.append((low, high))
    odds = 1 / (1 + np.log(np.abs(SHIFTS) / 0.25) ** 2)
    logs = np.zeros((len(weeks), bins, len(SHIFTS)))
    for week, of_week in enumerate(counts[1:]):
        for cell in range(bins):
            for place, shift in enumerate(SHIFTS):
                p = ends[cell][int(shift > 0)]
                if 0 < p < 1:
                    q = 1 / (1 + (1 - p) / p * math.exp(-shift))
                    here = of_week[cell]
                    logs[week, cell, place] = here * math.log(q / p) + (of_week.sum() - here) * math.log(
                        (1 - q) / (1 - p)
                    )
    weights = [0.25 + 0.75 / horizon] + [0.75 / horizon] * (len(weeks) - 1)
    found = []
    for look in range(len(weeks)):
        since = [np.exp(logs[start : look + 1].sum(axis=0)) for start in range(look + 1)]
        by_start = [w * np.average(each.mean(axis=0), weights=odds) for w, each in zip(weights, since, strict=False)]
        found.append(np.array([*by_start, 1 - sum(weights[: look + 1])]))
    return found


def test_drift_of_scores_is_the_one_of_an_obvious_twin() -> None:
    rng = np.random.default_rng(17)
    reference, weeks = rng.beta(2, 5, 2000), [rng.beta(2, 5 if week < 2 else 3, 50) for week in range(12)]
    found = score_drift(reference, {str(week + 1): each for week, each in enumerate(weeks)}, 0.1, 12)
    by_hand = drift_by_hand(reference, weeks, 0.1, 12)
    log_e = np.log([each.sum() for each in by_hand])
    assert found.log_e == pytest.approx(log_e, abs=1e-6)
    assert found.needed == pytest.approx(20)
    reached = np.flatnonzero(log_e >= math.log(20))
    assert (log_e > math.log(10)).sum() > len(reached) > 1  # some look has half of what is needed
    assert found.alarm_period == str(reached[0] + 1)
    starts = [int(each[:-1].argmax()) for each in by_hand]
    assert starts[reached[0]] != starts[reached[-1]]
    assert found.since == str(starts[reached[-1]] + 1)


def test_options_before_labels_are_those_of_the_shares_and_of_the_drift() -> None:
    rng = np.random.default_rng(2)
    probs = rng.dirichlet([1.0, 1.0], 900)
    labeled, later = Predictions(probs[:600], (rng.random(600) < probs[:600, 1]).astype(int)), probs[600:]
    parts = {"1": later[:100], "2": later[100:]}
    found = before_labels(labeled, parts, level=0.5, alpha=0.2, horizon=4)
    shift, scores = found.shift, {label: part[:, 1] for label, part in parts.items()}
    drift = score_drift(labeled.probs[:, 1], scores, 0.2, 4)
    assert (found.drift.needed, found.drift.log_e.tolist()) == (drift.needed, drift.log_e.tolist())
    half = norm.isf(0.25) * np.sqrt((later[:, 1] * later[:, 0]).sum()) / len(later)
    assert [found.low, found.high] == pytest.approx([found.expected - half, found.expected + half])
    expected = prior_shift(labeled, later, 0.5).shift
    assert shift is not None
    assert expected is not None
    assert shift.level == 0.5
    assert shift.low.tolist() == expected.low.tolist()
    assert shift.high.tolist() == expected.high.tolist()
