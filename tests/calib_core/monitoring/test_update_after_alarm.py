"""Updates at the first alarm: fitted on earlier rows only, tried on later rows only, each number by hand."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import beta

from calib_core import NotAnswerable, Predictions
from calib_core.monitoring import UpdateAfterAlarm, Watch, over_time, update_after_alarm

WEEKS, BEGUN = 16, 5


def rows(seed: int = 0, n: int = 2400, factor: float = 0.65, weeks: int = WEEKS, begun: int = BEGUN) -> Predictions:
    """Risks of 10 to 50 % in equal weeks from 0 on; events happen less often by a factor from one of them on."""
    rng = np.random.default_rng(seed)
    risk, week = rng.uniform(0.1, 0.5, n), np.arange(n) * weeks // n
    happened = rng.random(n) < np.where(week < begun, risk, factor * risk)
    order = rng.permutation(n)  # rows of a file need not be in the order of time
    probs = np.column_stack([1 - risk, risk])[order]
    return Predictions(probs, happened.astype(int)[order], metadata=pd.DataFrame({"week": week[order]}))


@pytest.fixture(scope="module")
def tried() -> tuple[Predictions, UpdateAfterAlarm, int, int]:
    """Rows, the result, and the weeks of the start and of the alarm, from a watch that was fed until the alarm."""
    given, watch = rows(), Watch(horizon=WEEKS)
    week = given.metadata["week"].to_numpy()  # type: ignore[index]
    for number in range(WEEKS):
        watch = watch.add(given.take(np.flatnonzero(week == number)), period=number)
        if watch.answer().alarm:
            return given, update_after_alarm(given, "week"), int(watch.answer().since), number
    raise AssertionError("these rows must raise an alarm")


def _by_hand(given: Predictions, first: int, alarm: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Later risks, the same after an intercept fitted from the start to the alarm, and what happened."""
    week, y = given.metadata["week"].to_numpy(), given.true_labels  # type: ignore[index]
    score = logit(given.probs[:, 1].astype(np.float64))
    fit, later = (week >= first) & (week <= alarm), week > alarm
    # The maximum-likelihood intercept makes the mean prediction equal the observed frequency.
    shift = brentq(lambda a: expit(score[fit] + a).mean() - y[fit].mean(), -10, 10)
    return expit(score[later]), expit(score[later] + shift), y[later]


def test_an_update_is_fitted_until_the_alarm_and_tried_after_it(
    tried: tuple[Predictions, UpdateAfterAlarm, int, int],
) -> None:
    given, found, first, alarm = tried
    week = given.metadata["week"].to_numpy()  # type: ignore[index]
    assert 0 < first < alarm < WEEKS - 1
    assert (found.since, found.alarm_in) == (f"week {first}", f"in week {alarm}")
    assert found.fit_rows == ((week >= first) & (week <= alarm)).sum()
    assert found.test_rows == (week > alarm).sum()
    lines = found.frame()
    assert lines["update"].tolist() == ["no update", "Intercept update", "Logistic recalibration"]
    before, after, happened = _by_hand(given, first, alarm)
    n, events = len(happened), int(happened.sum())
    ends = beta.ppf([0.05, 0.95], [events, events + 1], [n - events + 1, n - events])
    for line, risk in zip(lines.to_dict("records"), (before, after), strict=False):
        assert line["rows"] == n
        assert line["predicted"] == pytest.approx(risk.mean(), abs=1e-5)
        assert line["observed"] == pytest.approx(events / n)
        assert line["gap"] == pytest.approx(events / n - risk.mean(), abs=1e-5)
        assert [line["low"], line["high"]] == pytest.approx(ends)
        assert line["inside"] == (ends[0] <= risk.mean() <= ends[1])
        loss = -np.where(happened == 1, np.log(risk), np.log1p(-risk)).mean()
        assert line["log_loss"] == pytest.approx(loss, abs=1e-5)
    said = [float(number) for number in re.findall(r"([\d.]+) %", found.sentence)]
    assert said == pytest.approx([100 * before.mean(), 100 * events / n, 100 * after.mean()], abs=0.51)


def test_nothing_after_the_alarm_changes_an_update() -> None:
    """The error doubles after the alarm, which moves its best start: the update at the alarm does not know."""
    given = rows(factor=0.6, begun=0)
    alarm = int(re.findall(r"\d+", update_after_alarm(given, "week").alarm_in)[0])
    week = given.metadata["week"].to_numpy()  # type: ignore[index]
    none_later = given.replace(labels=np.where(week > alarm, 0, given.true_labels))
    one, other = update_after_alarm(given, "week"), update_after_alarm(none_later, "week")
    assert over_time(none_later, "week").since != one.since  # with later rows, another start explains the error best
    assert (one.since, one.alarm_in, one.fit_rows) == (other.since, other.alarm_in, other.fit_rows)
    assert one.frame()["predicted"].tolist() == other.frame()["predicted"].tolist()


def test_the_level_is_that_of_the_intervals(tried: tuple[Predictions, UpdateAfterAlarm, int, int]) -> None:
    given, found, *_ = tried
    wide, usual = update_after_alarm(given, "week", level=0.999).frame(), found.frame()
    assert (wide["low"] < usual["low"]).all()
    assert (wide["high"] > usual["high"]).all()


def test_confidence_is_updated_by_a_temperature() -> None:
    rng = np.random.default_rng(3)
    sure = rng.dirichlet([0.3, 0.3, 0.3], 2000)
    label = np.array([rng.choice(3, p=row) for row in sure**0.4 / (sure**0.4).sum(axis=1, keepdims=True)])
    given = Predictions(sure, label, metadata=pd.DataFrame({"batch": np.arange(2000) // 200}))
    found = update_after_alarm(given, "batch")
    assert found.frame()["update"].tolist() == ["no update", "Temperature scaling"]
    gaps = found.frame()["gap"].abs()
    assert gaps[1] < gaps[0] / 3


def test_what_has_no_update_is_refused() -> None:
    with pytest.raises(NotAnswerable, match="there is no alarm"):
        update_after_alarm(rows(factor=1.0), "week")
    with pytest.raises(NotAnswerable, match="the alarm is in the last period"):
        update_after_alarm(rows(weeks=2, begun=1), "week")
    confident = Predictions.from_confidence(np.full(200, 0.9), np.zeros(200, dtype=bool))
    with pytest.raises(NotAnswerable, match="probabilities of all classes"):
        update_after_alarm(confident.replace(metadata=pd.DataFrame({"week": np.arange(200) // 20})), "week")
    never = Predictions(
        np.tile([0.5, 0.5], (400, 1)), np.zeros(400, dtype=int), metadata=pd.DataFrame({"week": np.arange(400) // 40})
    )
    with pytest.raises(NotAnswerable, match="only one class is observed until the alarm"):
        update_after_alarm(never, "week")
