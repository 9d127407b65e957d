"""A watched model: promises at all times, evidence as an obvious twin computes it, and a state that is never wrong."""

from __future__ import annotations

import itertools
import json
import math
import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from calib_core import InputError, NotAnswerable, Predictions
from calib_core.monitoring import Watch, read_watch, write_watch
from calib_core.monitoring.e_processes import SHIFTS, evidence, gap_ends, start_weights
from calib_core.monitoring.state_file import alone, from_json, to_json


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
    weights = [0.5 + 0.5 / horizon] + [0.5 / horizon] * (len(batches) - 1)
    total = 1 - sum(weights)
    for start, weight in enumerate(weights):
        rows = [
            (float(risk), bool(label))
            for each in batches[start:]
            for risk, label in zip(each.probs[:, 1], each.labels, strict=True)
        ]
        large = []
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
        total += weight * (np.mean(large) + np.mean(in_bins)) / 2
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


# ---- the promise ----------------------------------------------------------------------------------------------


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
    assert f"Since about {found.since}, predictions are too low by" in found.sentence


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


def test_a_year_begins_anew() -> None:
    watch = fed(range(4), 6.0, horizon=4)
    assert watch.answer().alarm
    watch = watch.add(batch(9), 5)
    assert watch.year == ["5"]
    assert not watch.answer().alarm
    assert watch.answer().periods == 1


# ---- the state ------------------------------------------------------------------------------------------------


def test_any_order_and_any_parts_give_the_same_bits() -> None:
    parts = [(batch(seed, groups=seed % 2 == 1), str(seed // 2 + 1)) for seed in range(6)]
    written = set()
    for order in itertools.islice(itertools.permutations(parts), 0, 720, 97):
        watch = Watch()
        for each, period in order:
            watch = watch.add(each, period)
        written.add(to_json(watch))
    first, second = Watch(), Watch()
    for place, (each, period) in enumerate(parts):
        if place % 3:
            first = first.add(each, period)
        else:
            second = second.add(each, period)
    written |= {to_json(first + second), to_json(second + first)}
    assert len(written) == 1


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
    with pytest.raises(NotAnswerable, match="no batch"):
        Watch().answer()
    for wrong in ({"tolerance": 1.0}, {"ratio": 0.5}, {"alpha": 0.0}, {"horizon": 0}, {"tolerance": math.nan}):
        with pytest.raises(InputError):
            Watch(**wrong)


def test_numbers_are_in_their_order_and_dates_in_theirs() -> None:
    watch = Watch()
    for place, label in enumerate(["10", "9", "100"]):
        watch = watch.add(batch(place), label)
    assert watch.periods == ["9", "10", "100"]


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
        lambda whole: whole["periods"]["1"]["whole"].pop(),
        lambda whole: whole["periods"]["1"]["part"].__setitem__(0, 2**40),
        lambda whole: whole["periods"]["1"].update(rows=0),
        lambda whole: whole["periods"]["1"]["whole"].__setitem__(0, 10**30),
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
    assert to_json(read_watch(path)) == to_json(fed(range(6)))


def test_evidence_of_rows_without_a_factor_is_none() -> None:
    """Scores of exactly 0 and 1 at tolerance 0 have no factor: no number is infinite or missing."""
    watch = Watch(tolerance=0.0).add(Predictions([[1.0, 0.0], [0.0, 1.0]] * 5, [1, 0] * 5))
    found = evidence(watch.sums_by_period(["1"]), None, 52)
    assert np.isfinite(found.log_e).all()
    assert watch.answer().gap == 0
