"""Numbers at the ends of what there is: a seeded sample of the questions; `make scoreboard` asks them all."""

from __future__ import annotations

import random

import pytest

from calib_core import CALIBRATORS, ESTIMATORS
from tests.corpus import wild_numbers
from tests.corpus.wild_numbers import ROWS, Asked, every_question, fault

CHEAP = ("identity", "temperature", "top-label-hb", "isotonic-ovr")
QUICK = ("ece", "debiased-l2", "log-loss", "brier")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", [name for name in ROWS if name != "5,000 classes"])
def test_answers_are_finite_or_a_sentence(rows: str) -> None:
    asked = [each for each in every_question() if each.rows == rows]
    cheap = [each for each in asked if each.calibrator in CHEAP and each.estimator in QUICK]
    faults = {each: wrong for each in random.Random(rows).sample(cheap, 5) if (wrong := fault(each))}
    assert not faults


def test_every_calibrator_and_estimator_is_asked_of_all_rows() -> None:
    assert len(every_question()) == len(ROWS) * len(CALIBRATORS) * len(ESTIMATORS)


@pytest.mark.filterwarnings("ignore")
def test_numbers_that_are_none_and_other_exceptions_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked("ten rows", "identity", "top-label", "ece")
    assert fault(asked) == ""
    monkeypatch.setattr(wild_numbers, "check", lambda _: {}["x"])
    assert fault(asked).startswith("KeyError")
    monkeypatch.setattr(wild_numbers, "answers", lambda _: iter([("value", float("nan"))]))
    assert fault(asked) == "value is nan"
