"""A watched model: promises at all times, evidence as an obvious twin computes it, and a state that is never wrong."""

from __future__ import annotations

import itertools
import json
import math
import multiprocessing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from calib_core import InputError, NotAnswerable, Predictions
from calib_core.inference.gate_checks import gate_check
from calib_core.monitoring import Watch, read_watch, state_file, write_watch
from calib_core.monitoring.e_processes import SHIFTS, evidence, gap_ends, rejected, start_weights
from calib_core.monitoring.state_file import alone, from_json, to_json
from calib_core.monitoring.watched_model import YearRecord, place_of
from calib_core.summaries import Summary


def batch(seed: int, n: int = 60, odds: float = 1.0, groups: bool = False) -> Predictions:
    """Risks of 5 to 60 %, where the odds of an event are this many times what the risks say."""
    rng = np.random.default_rng(seed)
    risk = rng.uniform(0.05, 0.6, n)
    true = odds * risk / (1 - risk + odds * risk)
    happened = rng.random(n) < true
    codes = np.arange(n) // 3 if groups else None
    return Predictions(np.column_stack([1 - risk, risk]), happened.astype(int), groups=codes)


def fed(seeds: range, odds: float = 1.0, **settings: float) -> Watch:
    watch = Watch(**settings)
    for seed in seeds:
        watch = watch.add(batch(seed, odds=odds), period=seed + 1)
    return watch


# ---- the numbers ----------------------------------------------------------------------------------------------


def log_evidence_by_hand(batches: list[Predictions], tolerance: float, horizon: int) -> float:
    """The evidence after the last batch, row by row and start by start, as the docstring defines it."""
    weights = [0.25 + 0.75 / horizon] + [0.75 / horizon] * (len(batches) - 1)
    total = 1 - sum(weights)
    for start, weight in enumerate(weights):
        rows = [
            (float(risk), bool(label))
            for each in batches[start:]
            for risk, label in zip(each.probs[:, 1], each.labels, strict=True)
        ]
        large, odds = [], [1 / (1 + math.log(abs(shift) / 0.25) ** 2) for shift in SHIFTS]
        for shift in SHIFTS:
            product = 1.0
            for risk, label in rows:
                base = min(risk + tolerance, 1) if shift > 0 else max(risk - tolerance, 0)
                if 0 < base < 1:
                    q = 1 / (1 + (1 - base) / base * math.exp(-shift))
                    product *= q / base if label else (1 - q) / (1 - base)
            large.append(product)
        in_bins = []
        for bet in np.geomspace(0.005, 0.5, 14):
            psi = -math.log(1 - bet) - bet
            product = math.exp(-bet * len(rows) * tolerance - psi * sum((label - risk) ** 2 for risk, label in rows))
            for cell in range(10):
                product *= math.cosh(bet * sum(label - risk for risk, label in rows if min(int(risk * 10), 9) == cell))
            in_bins.append(product)
        total += weight * (0.75 * np.average(large, weights=odds) + 0.25 * np.mean(in_bins))
    return math.log(total)


@pytest.mark.parametrize(("tolerance", "odds"), [(0.0, 1.0), (0.02, 2.5), (0.1, 0.3)])
def test_evidence_is_the_one_of_an_obvious_twin(tolerance: float, odds: float) -> None:
    batches = [batch(seed, 30, odds) for seed in range(4)]
    watch = Watch(tolerance=tolerance, horizon=6)
    for place, each in enumerate(batches):
        watch = watch.add(each, place + 1)
        expected = log_evidence_by_hand(batches[: place + 1], tolerance, 6)
        assert watch.evidence.log_e[-1] == pytest.approx(expected, abs=1e-7)


def test_ends_of_the_gap_are_those_of_an_obvious_twin() -> None:
    p = batch(4, 80, 3.0)
    watch = Watch().add(p)
    low, high = gap_ends(watch.sums_by_period(["1"]), 0.05)
    risk, event = p.probs[:, 1], p.labels

    def reached(gap: float, sign: int) -> float:
        found = []
        bets = np.geomspace(0.005, 0.5, 14)
        squared = float(((event - risk) ** 2).sum())
        of_sums = np.exp(bets * sign * (event - risk - gap).sum() - (-np.log(1 - bets) - bets) * squared)
        found.append(of_sums.mean())
        bets = np.geomspace(0.01, 2.5, 16)
        for happened, true, up in ((event, risk + gap, sign), (1 - event, 1 - risk - gap, -sign)):
            mean = min(max(true.sum(), 0), len(risk))
            found.append(np.exp(up * bets * happened.sum() - (np.exp(up * bets) - 1) * mean).mean())
        return float(np.mean(found)) * 0.05 / 2

    assert reached(low, 1) == pytest.approx(1, rel=1e-6)
    assert reached(high, -1) == pytest.approx(1, rel=1e-6)
    assert low < (event - risk).mean() < high


@pytest.mark.parametrize(("horizon", "n"), [(1, 1), (52, 52), (1000, 7)])
def test_weights_of_starts_are_at_most_one(horizon: int, n: int) -> None:
    weights = start_weights(n, horizon)
    assert weights.sum() <= 1 + 1e-12
    assert (n < horizon) or weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("outcome", [True, False])
def test_the_mean_of_a_tolerated_row_factor_is_at_most_one(outcome: bool) -> None:
    """E = sum over outcomes of p times the factor, for every tolerated p: what makes the promise hold."""
    watch = Watch(tolerance=0.05)
    for risk in (0.0, 0.02, 0.3, 0.97, 1.0):
        factors = []
        for label in (0, 1):
            one = Watch(tolerance=0.05).add(Predictions([[1 - risk, risk]], [label]))
            factors.append(np.exp(one.sums_by_period(["1"]).log_factors[0]))
        for p in np.clip([risk - 0.05, risk, risk + 0.05], 0, 1):
            assert (p * factors[1] + (1 - p) * factors[0] <= 1 + 1e-9).all()
    # The falsified twin: beyond the tolerance some factor has a larger mean.
    beyond = 0.3 + (0.15 if outcome else -0.15)
    factors = [
        np.exp(watch.add(Predictions([[0.7, 0.3]], [label])).sums_by_period(["1"]).log_factors[0]) for label in (0, 1)
    ]
    assert (beyond * factors[1] + (1 - beyond) * factors[0]).max() > 1.01


@pytest.mark.parametrize("risk", [0.02, 0.3, 0.9])
def test_a_ratio_tolerates_as_many_times_the_risk_and_as_many_times_less(risk: float) -> None:
    """The mean of the factors is at most 1 up to the tolerated ratio, reaches 1 there, and is above 1 beyond it."""
    factors = [
        np.exp(Watch(ratio=1.5).add(Predictions([[1 - risk, risk]], [label])).sums_by_period(["1"]).log_factors[0])
        for label in (0, 1)
    ]

    def largest(p: float, shifts: np.ndarray) -> float:
        return float((p * factors[1] + (1 - p) * factors[0])[shifts].max())

    for end, beyond, shifts in ((1.5, 1.65, SHIFTS > 0), (1 / 1.5, 1 / 1.65, SHIFTS < 0)):
        if risk * beyond < 1:
            assert largest(risk, shifts) < largest(risk * end, shifts) == pytest.approx(1, abs=1e-9)
            assert largest(risk * beyond, shifts) > 1 + 1e-6


# ---- the promise ----------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_a_tolerated_model_rarely_alarms_and_a_z_test_at_each_look_does() -> None:
    """15 years of 52 weeks at the edge of the tolerance; weekly z tests raise a false alarm in nearly all of them."""
    alarms = naive = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        watch, weeks = Watch(tolerance=0.02), []
        for week in range(52):
            risk = rng.beta(1, 3, 40).clip(0.02, 0.98)
            happened = rng.random(40) < risk + 0.02
            weeks.append((happened - risk).sum() / math.sqrt((risk * (1 - risk)).sum()))
            watch = watch.add(Predictions(np.column_stack([1 - risk, risk]), happened.astype(int)), week + 1)
        alarms += watch.answer().alarm
        naive += max(map(abs, weeks)) > 1.96
    assert alarms <= 3  # at 5 %, 4 or more of 15 have a chance of 5 in 1,000
    assert naive >= 12


def test_a_model_that_drifts_alarms_and_the_start_is_found() -> None:
    watch = fed(range(30))
    assert not watch.answer().alarm
    for seed in range(30, 50):
        watch = watch.add(batch(seed, odds=4.0), seed + 1)
    found = watch.answer()
    assert found.alarm
    assert 31 <= int(found.alarm_period or 0) <= 36
    assert 29 <= int(found.since) <= 34
    assert found.gap_low > 0
    assert f"Since about period {found.since}, predictions are too low by" in found.sentence


def test_errors_that_cancel_alarm_too() -> None:
    watch = Watch()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        risk = np.repeat([0.3, 0.7], 100)
        happened = rng.random(200) < np.repeat([0.5, 0.5], 100)
        watch = watch.add(Predictions(np.column_stack([1 - risk, risk]), happened.astype(int)), seed + 1)
    found = watch.answer()
    assert found.alarm
    assert found.gap_low < 0 < found.gap_high
    assert "some predictions are off by more than 2 points" in found.sentence


def test_copies_of_a_row_are_one_unit() -> None:
    """Rows that are written three times and named as groups say what each says once."""
    p = batch(3)
    three = Predictions(np.repeat(p.probs, 3, axis=0), np.repeat(p.labels, 3), groups=np.repeat(np.arange(60), 3))
    once, grouped = Watch().add(p), Watch().add(three)
    assert grouped.answer().e_value == pytest.approx(once.answer().e_value)
    assert grouped.answer().gap_low == pytest.approx(once.answer().gap_low)
    assert grouped.answer().rows == 180
    alone_ = Watch().add(Predictions(three.probs, three.labels))
    assert alone_.answer().gap_low > once.answer().gap_low


def test_the_factor_of_a_group_is_the_mean_of_its_rows_factors() -> None:
    probs, labels = np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]]), [1, 0, 0]
    first, second, third = (
        np.exp(Watch().add(Predictions(probs[[k]], [labels[k]])).sums_by_period(["1"]).log_factors[0]) for k in range(3)
    )
    together = Watch().add(Predictions(probs, labels, groups=[0, 0, 1])).sums_by_period(["1"]).log_factors[0]
    assert together == pytest.approx(np.log((first + second) / 2 * third), abs=1e-9)


def test_an_alarm_of_a_slice_stays_in_the_record_of_its_year() -> None:
    seen = Watch(by=("site",))._seen(YearRecord(0.0, slices="3"), 0.0, np.zeros(1), "5")
    assert seen.slices == seen.first == "3"


def test_a_year_begins_anew() -> None:
    watch = fed(range(4), 6.0, horizon=4)
    assert watch.answer().alarm
    watch = watch.add(batch(9), 5)
    assert watch.year == ["5"]
    assert not watch.answer().alarm
    assert watch.answer().periods == 1


# ---- the state ------------------------------------------------------------------------------------------------


def test_any_order_and_any_parts_have_the_same_sums_to_the_bit() -> None:
    parts = [(batch(seed, groups=seed % 2 == 1), str(seed // 2 + 1)) for seed in range(6)]
    found = set()
    for order in itertools.islice(itertools.permutations(parts), 0, 720, 97):
        watch = Watch()
        for each, period in order:
            watch = watch.add(each, period)
        # What is seen at the looks depends on their order, and is recorded beside the sums.
        found.add(to_json(replace(watch, late=frozenset()).retraced()))
    first, second = Watch(), Watch()
    for place, (each, period) in enumerate(parts):
        if place % 3:
            first = first.add(each, period)
        else:
            second = second.add(each, period)
    assert first.late == second.late == frozenset()
    found |= {to_json(first + second), to_json(second + first)}
    assert len(found) == 1


# ---- order and looks ------------------------------------------------------------------------------------------


def test_a_period_that_comes_late_has_no_start_of_its_own() -> None:
    """Rows without information in front of the first period leave the evidence as it was: nothing is weighed anew."""
    watch = Watch(tolerance=0.0).add(batch(1, odds=3.0), 2)
    nothing = Predictions([[1.0, 0.0]], [0])
    before = watch.evidence.log_e.tolist()
    assert watch.add(nothing, 1).evidence.log_e.tolist() == before
    # The falsified twin: with a start of its own, it takes most of the weight of the other.
    assert replace(watch.add(nothing, 1), late=frozenset()).evidence.log_e[-1] != pytest.approx(before[-1], abs=1e-3)


def test_evidence_of_a_late_period_is_in_every_start_up_to_the_next_one() -> None:
    in_time = Watch().add(batch(1), 1).add(batch(2, odds=3.0), 3)
    late = in_time.add(batch(3, odds=3.0), 2)
    assert late.late == {"2"}
    together = Watch().add(batch(1), 1).add(batch(3, odds=3.0), 3).add(batch(2, odds=3.0), 3)
    assert late.evidence.log_e[-1] == pytest.approx(together.evidence.log_e[-1])
    assert late.frame()["period"].tolist() == ["1", "2", "3"]


def test_an_alarm_stays_when_older_periods_get_more_rows() -> None:
    watch = fed(range(6), 4.0)
    found = watch.answer()
    assert found.alarm
    watch = watch.add(batch(20, 60_000), 6).add(batch(21, 60_000), 5)
    assert watch.evidence.log_e[-1] < math.log(20)
    assert watch.answer().alarm_period == found.alarm_period


def test_a_late_period_does_not_move_the_end_of_a_year() -> None:
    watch = Watch(horizon=4)
    for place in (1, 2, 3, 5, 6):
        watch = watch.add(batch(place), place)
    assert watch.year == ["6"]
    assert watch.add(batch(9), 4).year == ["6"]


def test_the_year_after_an_alarm_says_so() -> None:
    watch = fed(range(4), 6.0, horizon=4).add(batch(9), 5)
    assert f"The year before had an alarm in period {watch.years[0].alarm}." in watch.answer().sentence


def test_a_batch_is_counted_once() -> None:
    watch = fed(range(3))
    assert watch.add(batch(1), 2) is watch
    assert watch.add(batch(1)) is watch
    with pytest.raises(InputError, match="added to period 2 before"):
        watch.add(batch(1), 3)
    with pytest.raises(InputError, match="counted twice"):
        watch + fed(range(2, 4))


def test_what_does_not_belong_is_refused() -> None:
    watch = fed(range(2))
    three = Predictions([[0.5, 0.3, 0.2]] * 4, [0, 1, 2, 0])
    with pytest.raises(InputError, match="about the event 1, this one is about the confidence"):
        watch.add(three)
    with pytest.raises(NotAnswerable, match="without weights"):
        watch.add(Predictions([[0.5, 0.5]] * 2, [0, 1], weights=[1, 2]))
    with pytest.raises(InputError, match="different settings"):
        watch + Watch(alpha=0.1)
    with pytest.raises(InputError, match="no number follows"):
        Watch().add(batch(0), "2026-10-12").add(batch(1))
    for label in (
        "October 12",
        "Sep 2026",
        "2026-10-12T06:00+02:00",
        "",
        "  ",
        "12.10.2026",
        "10/12/2026",
        math.nan,
        True,
        "a\x1b[31m",
        "x" * 201,
    ):
        with pytest.raises(InputError, match=r"period|label"):
            Watch().add(batch(0), label)
    with pytest.raises(InputError, match="name of the batch"):
        Watch().add(batch(0), 1, batch="")
    with pytest.raises(InputError, match="needs a name of its own"):
        Watch().add(batch(0), 1).add(batch(0), 2)
    with pytest.raises(NotAnswerable, match="no batch"):
        Watch().answer()
    for wrong in (
        {"tolerance": 1.0},
        {"ratio": 0.5},
        {"tolerance": "2 points"},
        {"tolerance": None},
        {"ratio": "1.25"},
        {"limit": True},
        {"by": "site"},
        {"alpha": 0.0},
        {"horizon": 0},
        {"horizon": 5.5},
        {"tolerance": math.nan},
        {"bins": 0},
        {"limit": 1.0},
        {"limit": 0.1, "ratio": 2.0},
        {"miss": 0.05},
    ):
        with pytest.raises(InputError):
            Watch(**wrong)


def test_numbers_are_in_their_order_and_dates_in_theirs() -> None:
    watch = Watch()
    for place, label in enumerate(["10", "9", "100", -1, 9.5]):
        watch = watch.add(batch(place), label)
    assert watch.periods == ["-1", "9", "9.5", "10", "100"]
    assert sorted(["2026-10-1", "week 10", "2026-9-30", "week 9", "05", "5"], key=place_of) == [
        "05", "5", "2026-9-30", "2026-10-1", "week 9", "week 10",
    ]  # fmt: skip


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    watch = fed(range(5), 2.0, ratio=1.5)
    write_watch(watch, tmp_path / "watch.json")
    again = read_watch(tmp_path / "watch.json")
    assert to_json(again) == to_json(watch)
    assert again.answer().sentence == watch.answer().sentence
    assert again.add(batch(3, odds=2.0), 4) is again


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole["periods"]["1"]["sums"].pop(),
        lambda whole: whole["periods"]["1"]["sums"].__setitem__(0, 0.5),
        lambda whole: whole["periods"]["1"]["sums"].__setitem__(1, -1),
        lambda whole: whole["periods"]["1"].update(rows=0),
        lambda whole: whole["periods"]["1"].update(units=61),
        lambda whole: whole["periods"]["1"]["sums"].__setitem__(0, 10**30),
        lambda whole: whole["years"][0].update(alarm="9"),
        lambda whole: whole["years"].append({"log_e": "large"}),
        lambda whole: whole.update(years=5),
        lambda whole: whole.update(years=[5]),
        lambda whole: whole["years"][0].update(alarm=["1"]),
        lambda whole: whole.update(slices={"a": 5}),
        lambda whole: whole.update(slices={"a": {"1": [3]}}),
        lambda whole: whole.update(periods=[]),
        lambda whole: whole["periods"].update({"1": "x"}),
        lambda whole: whole.update(batches=["1"]),
        lambda whole: whole.update(waiting={"a": 3}),
        lambda whole: whole.update(by="site"),
        lambda whole: whole.update(waiting={"a": {"period": "1", "rows": 3, "labeled": 4}}),
        lambda whole: whole["batches"].clear(),
        lambda whole: whole.update(alpha="none"),
        lambda whole: whole.update(event=None),
        lambda whole: whole.pop("horizon"),
    ],
)
def test_a_damaged_state_is_refused(damage: object) -> None:
    whole = json.loads(to_json(fed(range(2))))
    damage(whole)  # type: ignore[operator]
    with pytest.raises(InputError):
        from_json(json.dumps(whole), "watch.json")


def test_a_state_of_the_first_version_is_read_with_its_alarms() -> None:
    """That version had no record of looks: alarms are found from the sums, the first one a week earlier than it did."""
    watch = read_watch(Path(__file__).with_name("watch-1.json"))
    assert [each.alarm for each in watch.years] == ["2026-10-19", "2026-11-02"]
    assert math.exp(watch.years[0].log_e) == pytest.approx(1054.4067783263183)
    found = watch.answer()
    assert found.e_value == pytest.approx(43.93916685275407)
    assert (found.gap_low, found.gap_high) == (pytest.approx(-0.280, abs=5e-4), pytest.approx(0.014, abs=5e-4))
    assert to_json(from_json(to_json(watch), "again")) == to_json(watch)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "calib-gate/1"}', '{"schema": "calib-watch/9"}'])
def test_other_files_are_no_state(text: str) -> None:
    with pytest.raises(InputError, match=r"watch\.json"):
        from_json(text, "watch.json")


def _add_one(path: Path, seed: int) -> None:
    with alone(path):
        write_watch(read_watch(path).add(batch(seed), seed + 1), path)


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "watch.json"
    write_watch(Watch(), path)
    forked = multiprocessing.get_context("fork")
    writers = [forked.Process(target=_add_one, args=(path, seed)) for seed in range(6)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    # Which came first is recorded; nothing else depends on it.
    assert to_json(replace(read_watch(path), late=frozenset()).retraced()) == to_json(fed(range(6)))


def test_evidence_of_rows_without_a_factor_is_none() -> None:
    """Scores of exactly 0 and 1 at tolerance 0 have no factor: no number is infinite or missing."""
    watch = Watch(tolerance=0.0).add(Predictions([[1.0, 0.0], [0.0, 1.0]] * 5, [1, 0] * 5))
    found = evidence(watch.sums_by_period(["1"]), None, 52)
    assert np.isfinite(found.log_e).all()
    assert watch.answer().gap == 0


# ---- limits and baselines -------------------------------------------------------------------------------------


def log_evidence_in_bins(batches: list[Predictions], limit: float, bins: int, horizon: int) -> float:
    """The evidence against an error in bins, row by row and start by start."""
    weights = [0.25 + 0.75 / horizon] + [0.75 / horizon] * (len(batches) - 1)
    total = 1 - sum(weights)
    for start, weight in enumerate(weights):
        risk = np.concatenate([each.probs[:, 1] for each in batches[start:]])
        gaps = np.concatenate([each.labels for each in batches[start:]]) - risk
        found = []
        for bet in np.geomspace(0.005, 0.5, 14):
            psi = -math.log(1 - bet) - bet
            base = math.exp(-bet * len(risk) * limit - psi * (gaps**2).sum())
            cells = [gaps[np.minimum((risk * bins).astype(int), bins - 1) == cell].sum() for cell in range(bins)]
            in_bins, in_one_direction = np.prod(np.cosh(bet * np.array(cells))), math.cosh(bet * gaps.sum())
            found.append(base * (0.25 * in_bins + 0.75 * in_one_direction))
        total += weight * np.mean(found)
    return math.log(total)


@pytest.mark.parametrize(("limit", "bins"), [(0.0, 10), (0.05, 4)])
def test_evidence_against_a_limit_is_the_one_of_an_obvious_twin(limit: float, bins: int) -> None:
    batches = [batch(seed, 50, 2.0) for seed in range(3)]
    watch = Watch(limit=limit, bins=bins, horizon=5)
    for place, each in enumerate(batches):
        watch = watch.add(each, place + 1)
    assert watch.evidence.log_e[-1] == pytest.approx(log_evidence_in_bins(batches, limit, bins, 5), abs=1e-7)


def test_a_baseline_sets_the_limit_and_takes_its_own_chance_of_being_wrong() -> None:
    released = gate_check(batch(0, 3000), 0.1, bins=8).kept
    watch = Watch.against(released, 0.02, alpha=0.05)
    assert watch.bins == 8
    assert watch.limit == pytest.approx(released.high + 0.02)
    # Ends at the level of a gate, 95 %, miss above with 2.5 %.
    assert watch.levels == (pytest.approx(0.025), 0.0)
    for seed in range(1, 9):
        watch = watch.add(batch(seed, 300), seed)
    assert not watch.answer().alarm
    for seed in range(9, 20):
        watch = watch.add(batch(seed, 300, odds=0.25), seed)
    found = watch.answer()
    assert found.alarm
    assert found.needed == pytest.approx(40)
    assert int(found.since) in (8, 9, 10)
    empty, three = Watch.against(released), Predictions([[0.5, 0.3, 0.2]] * 4, [0, 1, 2, 0])
    with pytest.raises(InputError, match="baseline is of the notion event, and these rows are about the confidence"):
        empty.add(three)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"bins": "15 equal mass"}, "equal-width bins"), ({"notion": "class-wise"}, "--notion confidence"),
     ({"estimator": "ksce"}, "needs the ece"), ({"level": 0.8}, "Allow more false alarms")],
)  # fmt: skip
def test_another_kind_of_baseline_is_refused(change: dict[str, object], said: str) -> None:
    released = gate_check(batch(0, 500), 0.1, bins=8).kept
    with pytest.raises(InputError, match=said):
        Watch.against(replace(released, **change))  # type: ignore[arg-type]


# ---- summaries ------------------------------------------------------------------------------------------------


def scored(seed: int, classes: int, dtype: type = float, n: int = 4000) -> Predictions:
    """Rows with many scores on or beside the edges of bins; columns site with an empty value."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(classes, 0.4), n)
    if classes == 2:
        edges = rng.integers(0, 11, n // 2) / 10
        probs[: n // 2, 1] = np.nextafter(edges, rng.choice([0.0, 1.0], n // 2)).clip(0, 1)
        probs[: n // 4, 1] = edges[: n // 4]
        probs[:, 0] = 1 - probs[:, 1]
    labels = (rng.random((n, 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1)
    site = pd.DataFrame({"site": rng.choice(["a", "b", ""], n)})
    return Predictions(probs.astype(dtype), labels, metadata=site)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("classes", "bins", "by"), [(2, 10, ()), (2, 15, ()), (3, 10, ("site",)), (12, 100, ())])
def test_the_state_of_summaries_is_that_of_their_rows_to_the_bit(
    classes: int, bins: int, by: tuple[str, ...], dtype: type
) -> None:
    of_rows = of_summaries = Watch(limit=0.03, bins=bins, by=by)
    for day in range(3):
        rows = scored(day, classes, dtype)
        of_rows = of_rows.add(rows, day + 1, str(day))
        halves = [Summary.of(rows.take(part), by) for part in np.array_split(np.arange(4000), 2)]
        of_summaries = of_summaries.add(halves[0].merge(halves[1]), day + 1, str(day))
    assert to_json(of_summaries) == to_json(of_rows)
    assert of_summaries.add(Summary.of(rows, by), 3, "2") is of_summaries


def test_bins_of_a_watch_are_those_of_the_gate() -> None:
    rows = Predictions([[0.71, 0.29], [0.42, 0.58], [0.86, 0.14]], [1, 0, 1])
    # 0.29 * 100 is just below 29.
    differences = Watch(limit=0.1, bins=100).add(rows).sums_by_period(["1"]).differences[0]
    assert np.flatnonzero(differences).tolist() == [14, 29, 58]


def test_a_summary_without_the_sums_that_are_needed_is_refused() -> None:
    risks, classes = scored(0, 2), scored(0, 3)
    for settings in ({}, {"ratio": 1.5}):
        with pytest.raises(NotAnswerable, match=r"no likelihood ratios .* --max-ece"):
            Watch(**settings).add(Summary.of(risks))
    with pytest.raises(NotAnswerable, match="no slices by 'site': create it with calib summarise --column"):
        Watch(limit=0.1, by=("site",)).add(Summary.of(classes))
    with pytest.raises(NotAnswerable, match="about the confidence, not about the risk of an event"):
        Watch(limit=0.1, by=("site",)).add(Summary.of(risks, ("site",)))
    with pytest.raises(NotAnswerable, match="not on the grid"):
        Watch(limit=0.1, bins=37).add(Summary.of(classes))
    watch = Watch(limit=0.1).add(Summary.of(classes))
    assert watch.add(Summary.of(classes)) is watch
    assert len(watch.add(Summary.of(scored(1, 3))).batches) == 2


# ---- slices ---------------------------------------------------------------------------------------------------


def of_sites(seed: int, odds: dict[str, float], n: int = 300) -> Predictions:
    """Rows of sites a, b, c and d in turn, where the odds at some are other than predicted."""
    rng = np.random.default_rng(seed)
    site = np.array(list("abcd"))[np.arange(n) % 4]
    risk = rng.uniform(0.05, 0.6, n)
    factor = np.array([odds.get(each, 1.0) for each in site])
    happened = rng.random(n) < factor * risk / (1 - risk + factor * risk)
    columns = pd.DataFrame({"site": site, "ward": np.where(np.arange(n) % 8 < 4, "x", "y")})
    return Predictions(np.column_stack([1 - risk, risk]), happened.astype(int), metadata=columns)


def test_slices_have_the_evidence_of_a_watch_of_their_rows() -> None:
    watch = Watch(by=("site", "ward"))
    alone_ = Watch()
    for seed in range(5):
        whole = of_sites(seed, {"b": 3.0})
        watch = watch.add(whole, seed + 1)
        alone_ = alone_.add(whole.take(np.flatnonzero(whole.metadata["site"] == "b")), seed + 1)
    assert sorted(watch.slices) == ["site=a", "site=b", "site=c", "site=d", "ward=x", "ward=y"]
    line = watch.of_slices().set_index("slice").loc["site=b"]
    assert line["e_value"] == pytest.approx(math.exp(alone_.evidence.log_e[-1]))
    assert line["stands_out"]
    assert not watch.of_slices().set_index("slice").loc[["site=a", "site=c", "site=d"], "stands_out"].any()
    # The ends are valid for all six slices jointly.
    of_a = watch._sums(watch.year, watch.slices["site=a"])
    ends = watch.of_slices().set_index("slice").loc["site=a", ["gap_low", "gap_high"]]
    assert ends.tolist() == pytest.approx(gap_ends(of_a, 0.05 / 6))
    found = watch.answer()
    assert found.of_slices
    assert [each.name for each in found.slices] == ["site=b"]
    assert found.slices[0].gap_low > 0
    assert "predictions for site=b are too low by" in found.sentence
    # All rows and the slices have half of the false alarms each.
    assert watch.levels == (0.025, 0.025)
    assert found.needed == pytest.approx(40)


def test_a_slice_that_appears_later_is_watched_from_then_on() -> None:
    watch = Watch(by=("site",))
    for seed in range(10):
        whole = of_sites(seed, {"d": 0.1}, 400)
        rows = whole.take(np.flatnonzero(whole.metadata["site"] != "d")) if seed < 6 else whole
        watch = watch.add(rows, seed + 1)
    found = watch.answer()
    assert [each.name for each in found.slices] == ["site=d"]
    assert from_json(to_json(watch), "again").answer().sentence == found.sentence


def test_all_rows_and_slices_have_half_of_the_false_alarms_each() -> None:
    assert Watch(alpha=0.04).levels == (0.04, 0.0)
    assert Watch(alpha=0.04, by=("site",)).levels == (0.02, 0.02)
    assert Watch(by=("site",)).add(of_sites(0, {}), 1).answer().needed == pytest.approx(40)


def test_ends_of_the_gaps_of_slices_are_valid_jointly() -> None:
    whole = of_sites(0, {})
    line = Watch(by=("site",)).add(whole, 1).of_slices().set_index("slice").loc["site=b"]
    alone_ = Watch().add(whole.take(np.flatnonzero(whole.metadata["site"] == "b")), 1)
    ends = gap_ends(alone_.sums_by_period(["1"]), 0.05 / 4)
    assert (line["gap_low"], line["gap_high"]) == pytest.approx(ends)


def test_e_bh_is_the_one_by_hand() -> None:
    # K = 4 and alpha = .1: the second largest has to be 20, the third 13.3. Only all three of 14 are enough.
    assert rejected(np.log([14.0, 14.0, 14.0, 1.0]), 0.1).tolist() == [True, True, True, False]
    assert not rejected(np.log([14.0, 14.0, 1.0, 1.0]), 0.1).any()
    assert rejected(np.log([41.0, 1.0, 1.0, 1.0]), 0.1).tolist() == [True, False, False, False]


def test_columns_that_are_no_slices_are_refused() -> None:
    with pytest.raises(InputError, match="have no column 'region'"):
        Watch(by=("region",)).add(of_sites(0, {}))
    with pytest.raises(InputError, match="different columns"):
        Watch(by=("site", "site"))
    many = of_sites(0, {})
    many = many.replace(metadata=pd.DataFrame({"site": np.arange(300)}))
    with pytest.raises(InputError, match="more than 200 values"):
        Watch(by=("site",)).add(many)


def test_a_state_of_a_year_and_a_slice_is_small() -> None:
    watch = Watch(by=("site",), horizon=365)
    sums = Watch().add(of_sites(0, {}, 4000)).counts["1"]
    days = {str(day): sums for day in range(1, 366)}
    full = replace(watch, event="1", counts=days, slices={f"site={k}": days for k in range(20)})
    assert len(to_json(full)) / 21 < 300_000


# ---- labels that come later -----------------------------------------------------------------------------------


def test_a_batch_waits_until_its_last_label_and_blocks_later_ones() -> None:
    watch = Watch().add(batch(0), 1)
    october, november = batch(1, 100), batch(2)
    waits = watch.add(october.take(np.arange(62)), 2, "october", unlabeled=38)
    assert waits.counts == watch.counts
    assert "2 waits: labels of 62 % so far (62 of 100 rows)." in waits.answer().sentence
    both = waits.add(november, 3, "november")
    assert both.counts == watch.counts
    assert "3 has all labels and waits for earlier batches: give it again after them." in both.answer().sentence
    assert from_json(to_json(both), "again").waiting == both.waiting
    done = both.add(october, 2, "october").add(november, 3, "november")
    assert not done.waiting
    in_time = watch.add(october, 2, "october").add(november, 3, "november")
    assert to_json(done) == to_json(in_time)
    # What has been added once is known by its name, with however many labels it comes.
    assert done.add(october.take(np.arange(62)), 2, "october", unlabeled=38) is done


def test_a_batch_that_is_closed_is_added_without_the_labels_that_never_came() -> None:
    watch = Watch().add(batch(0), 1).add(batch(1, 62), 2, "october", unlabeled=38)
    closed = watch.add(batch(1, 62), 2, "october", unlabeled=38, close=True)
    assert closed.counts["2"].rows == 62
    assert "38 rows have no outcome and are left out." in closed.answer().sentence
    assert not watch.give_up(2).waiting
    with pytest.raises(InputError, match="no batch of period 7 waits"):
        watch.give_up(7)
    with pytest.raises(InputError, match="needs a name"):
        watch.add(batch(3), 3, unlabeled=1)


def test_a_watch_whose_batches_all_wait_says_so() -> None:
    watch = Watch().add(batch(0, 10), "2026-10", "a", unlabeled=90)
    with pytest.raises(NotAnswerable, match="labels of 10 % so far"):
        watch.answer()
    assert from_json(to_json(watch), "again").waiting == watch.waiting
    assert watch.frame().empty
    assert watch.of_slices().empty


def test_a_batch_without_any_outcome_waits_in_its_place() -> None:
    watch = Watch().expect(60, 1, "october")
    assert watch.expect(60, 1, "october") is watch
    assert from_json(to_json(watch), "again").waiting == watch.waiting
    both = watch.add(batch(1), 2, "november")
    assert not both.counts
    done = both.add(batch(0), 1, "october").add(batch(1), 2, "november")
    assert to_json(done) == to_json(Watch().add(batch(0), 1, "october").add(batch(1), 2, "november"))
    assert done.expect(60, 1, "october") is done
    with pytest.raises(InputError, match="added to period 1 before"):
        watch.expect(60, 2, "october")
    with pytest.raises(InputError, match="rows is 0"):
        Watch().expect(0, 1, "october")
    with pytest.raises(InputError, match="name of the batch"):
        Watch().expect(3)


def test_waiting_in_order_keeps_the_promise_that_entering_early_breaks() -> None:
    """Deaths are known at once, survivals two periods later: rows added when known alarm, batches in order do not."""
    early, waiting = Watch(), Watch()
    for period in range(12):
        whole = batch(period, 200)
        dead = whole.labels == 1
        early = early.add(whole.take(np.flatnonzero(dead)), period + 1, f"{period} dead")
        waiting = waiting.add(whole.take(np.flatnonzero(dead)), period + 1, str(period), unlabeled=int((~dead).sum()))
        if period >= 2:
            waiting = waiting.add(batch(period - 2, 200), period - 1, str(period - 2))
    assert early.answer().alarm
    assert not waiting.answer().alarm


def test_the_state_is_what_its_schema_describes() -> None:
    schema = Draft202012Validator(json.loads(Path(state_file.__file__).with_name("state.schema.json").read_text()))
    watch = Watch(by=("site",), limit=0.1).add(of_sites(0, {}), 2).add(of_sites(1, {}), 1)
    state = json.loads(to_json(watch.add(of_sites(2, {}), 3, "c", unlabeled=3)))
    schema.validate(state)
    assert not schema.is_valid({**state, "schema": "calib-watch/1"})
    assert not schema.is_valid({name: value for name, value in state.items() if name != "years"})
