"""Calibration over time: each column recomputed by hand, the alarm of a watch fed period by period, and its rows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta

from calib_core import NotAnswerable, Predictions
from calib_core.columns.conditions import Slice
from calib_core.monitoring import OverTime, Watch, over_time
from calib_core.monitoring.e_processes import gap_ends, start_weights

SHIFT = "2026-06-01"


def rows(seed: int = 0, n: int = 2400, factor: float = 0.5, **columns: object) -> Predictions:
    """Risks of 10 to 50 % over 200 days, where from June on events happen less often by a factor."""
    rng = np.random.default_rng(seed)
    risk = rng.uniform(0.1, 0.5, n)
    day = np.datetime64("2026-02-01") + rng.integers(0, 200, n)
    happened = rng.random(n) < np.where(day < np.datetime64(SHIFT), risk, factor * risk)
    metadata = pd.DataFrame({"seen": day.astype(str), **columns})
    return Predictions(np.column_stack([1 - risk, risk]), happened.astype(int), metadata=metadata)


@pytest.fixture(scope="module")
def shifted() -> tuple[Predictions, OverTime]:
    given = rows()
    return given, over_time(given, "seen", every="month")


def test_every_line_is_about_the_rows_of_its_slice(shifted: tuple[Predictions, OverTime]) -> None:
    given, found = shifted
    lines = found.frame()
    assert lines["start"].tolist() == [f"2026-{month:02d}-01" for month in range(2, 9)]
    assert lines["rows"].sum() == given.n_rows
    for line in lines.to_dict("records"):
        part = given.take(np.flatnonzero(Slice.read(str(line["where"])).rows(given)))
        risk, events = part.probs[:, 1], int(part.true_labels.sum())
        n = part.n_rows
        assert line["rows"] == n
        assert line["predicted"] == pytest.approx(risk.mean(), abs=1e-12)
        assert line["observed"] == pytest.approx(events / n, abs=1e-12)
        assert line["gap"] == pytest.approx(events / n - risk.mean(), abs=1e-12)
        # Clopper and Pearson's ends at 90 %.
        ends = beta.ppf([0.05, 0.95], [events, events + 1], [n - events + 1, n - events])
        assert [line["low"], line["high"]] == pytest.approx(ends, abs=1e-9)
        assert line["misses"] == (not ends[0] <= risk.mean() <= ends[1])
        quantiles = np.quantile(risk, [0.1, 0.5, 0.9])
        assert [line[f"score_{name}"] for name in ("low", "median", "high")] == pytest.approx(quantiles, abs=1e-6)


def test_the_level_is_that_of_single_periods_only(shifted: tuple[Predictions, OverTime]) -> None:
    given, usual = shifted
    found = over_time(given, "seen", every="month", level=0.5)
    for line in found.frame().to_dict("records"):
        n, events = line["rows"], round(line["rows"] * line["observed"])
        ends = beta.ppf([0.25, 0.75], [events, events + 1], [n - events + 1, n - events])
        assert [line["low"], line["high"]] == pytest.approx(ends)
    assert "The 50 % interval excludes" in found.by_chance
    assert "up to 4 would be expected" in found.by_chance
    pd.testing.assert_frame_equal(found.frame().filter(like="mean_"), usual.frame().filter(like="mean_"))


def test_the_tolerance_and_the_ratio_are_those_of_the_watch(shifted: tuple[Predictions, OverTime]) -> None:
    given, usual = shifted
    assert usual.answer.alarm
    assert not over_time(given, "seen", every="month", tolerance=0.3).answer.alarm
    assert not over_time(given, "seen", every="month", ratio=3.0).answer.alarm


def test_the_answer_is_that_of_a_watch_fed_period_by_period(shifted: tuple[Predictions, OverTime]) -> None:
    given, found = shifted
    watch, evidence = Watch(horizon=7), []
    for month in range(2, 9):
        part = given.take(np.flatnonzero(given.metadata["seen"].str.startswith(f"2026-{month:02d}")))  # type: ignore[index]
        watch = watch.add(part, period=f"2026-{month:02d}-01")
        evidence.append(watch.answer().e_value)
        line = found.frame().iloc[month - 2]
        # So far: all rows up to here, with ends valid at all times.
        sums = watch.sums_by_period(watch.periods)
        assert line["mean_gap"] == pytest.approx((sums.observed.sum() - sums.expected.sum()) / sums.units.sum())
        assert [line["mean_low"], line["mean_high"]] == pytest.approx(gap_ends(sums, 0.05))
    assert np.maximum.accumulate(found.frame()["e_value"].to_numpy()) == pytest.approx(evidence)
    answer = watch.answer()
    assert (found.answer.alarm, found.answer.alarm_period) == (True, answer.alarm_period)
    assert found.answer.since == answer.since == SHIFT
    assert found.answer.gap_low == pytest.approx(answer.gap_low)


def test_the_gap_since_the_error_began_ends_at_the_answer(shifted: tuple[Predictions, OverTime]) -> None:
    _, found = shifted
    lines, answer = found.frame(), found.answer
    after = lines[lines["since_gap"].notna()]
    assert after["start"].tolist() == ["2026-06-01", "2026-07-01", "2026-08-01"]
    last = after.iloc[-1]
    assert [last["since_gap"], last["since_low"], last["since_high"]] == pytest.approx(
        [answer.gap, answer.gap_low, answer.gap_high]
    )
    # The start was chosen: its ends hold at its share of alpha.
    share = start_weights(7, 7)[4]
    first = Watch(horizon=7).add(rows().take(np.flatnonzero(Slice.read(str(after.iloc[0]["where"])).rows(rows()))), "1")
    ends = gap_ends(first.sums_by_period(["1"]), 0.05 * share)
    assert [after.iloc[0]["since_low"], after.iloc[0]["since_high"]] == pytest.approx(ends)


def test_the_sentences_say_what_the_numbers_say(shifted: tuple[Predictions, OverTime]) -> None:
    given, found = shifted
    answer = found.answer
    assert found.sentence.startswith("Since about June 1, 2026, predicted risks are too high by ")
    low, high = (float(end) for end in re.findall(r"[\d.]+", found.sentence.split("too high by")[1])[:2])
    assert [low, high] == pytest.approx([-100 * answer.gap_high, -100 * answer.gap_low], abs=0.06)
    assert found.promise == (
        f"Alarm in {pd.Timestamp(answer.alarm_period):%B} 2026. 2,400 outcomes. The chance of a false alarm over "
        "these 7 months is at most 5 %, however often you look."
    )
    missed = int(found.frame()["misses"].sum())
    assert f"excludes the prediction in {missed} of 7 months; up to 1 would" in found.by_chance
    other = over_time(given, "seen", every="month", notion="confidence")
    assert "confidence is" in other.sentence or other.sentence.startswith("No alarm in 7 months. The mean gap")


def test_a_calibrated_model_raises_no_alarm_and_has_no_start() -> None:
    found = over_time(rows(factor=1.0), "seen")
    assert not found.answer.alarm
    assert found.frame()["since_gap"].isna().all()
    assert found.sentence.startswith("No alarm in ")
    assert found.promise.startswith("2,400 outcomes.")


def test_numbered_periods_and_rows_without_one() -> None:
    given = rows()
    month = given.metadata["seen"].str.slice(5, 7).astype(float)  # type: ignore[index]
    month[:100] = np.nan
    found = over_time(given.replace(metadata=pd.DataFrame({"month": month})), "month")
    assert found.unit == "value"
    assert found.without_date == 100
    assert found.answer.rows == 2300
    assert found.frame()["period"].tolist() == [str(number) for number in range(2, 9)]
    assert found.since == "month 6"


def test_groups_are_one_unit_and_those_in_several_periods_are_counted() -> None:
    given = rows(n=600)
    patient = np.arange(600) // 2
    found = over_time(given.replace(groups=patient), "seen", every="month")
    months = given.metadata["seen"].str.slice(0, 7).to_numpy()  # type: ignore[index]
    assert found.linked == sum(len(set(months[patient == each])) > 1 for each in range(300))
    assert found.frame()["groups"].sum() >= 300


def test_what_cannot_be_watched_is_refused() -> None:
    given = rows(n=100)
    with pytest.raises(NotAnswerable, match="without weights"):
        over_time(given.replace(weights=np.linspace(0.5, 2, 100)), "seen")
    with pytest.raises(NotAnswerable, match="only one period"):
        over_time(given, "seen", every="year")
    with pytest.raises(NotAnswerable, match="no column 'saw'"):
        over_time(given, "saw")
