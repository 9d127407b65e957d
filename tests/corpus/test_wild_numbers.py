"""Extreme numbers: a seeded sample of the cases; `make scoreboard` runs them all."""

from __future__ import annotations

import random

import numpy as np
import pytest

from calib_core import CALIBRATORS, ESTIMATORS
from tests.corpus import wild_numbers
from tests.corpus.wild_numbers import ROWS, Asked, every_question, fault

CHEAP = ("identity", "temperature", "top-label-hb", "isotonic-ovr")
QUICK = ("ece", "debiased-l2", "log-loss", "brier")


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", [name for name in ROWS if "5,000 classes" not in name])
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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("calibrator", ["lecd", "isotonic-ovr"])
def test_the_unit_of_weights_changes_no_number(calibrator: str) -> None:
    assert fault(Asked("weights 1e-09", calibrator, "top-label", "ece")) == ""


def test_an_answer_unlike_its_twins_and_a_warning_of_numpy_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked("logits 1e-308", "identity", "top-label", "ece")
    monkeypatch.setitem(wild_numbers.ROWS, "equal logits", wild_numbers.ROWS["ten rows"])
    assert fault(asked).startswith("equal logits: ")
    monkeypatch.setattr(wild_numbers, "check", lambda _: np.array([1e308]) * 10)
    assert fault(asked).startswith("RuntimeWarning")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", ["logits +-1e308", "one logit of 1e308", "single logits +-1e38"])
def test_temperature_has_no_trouble_with_logits_at_the_end_of_numbers(rows: str) -> None:
    assert fault(Asked(rows, "temperature", None, "brier")) == ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("calibrator", ["lece", "lecd"])
def test_rows_of_zeros_become_uniform_where_nothing_prefers_a_class(calibrator: str) -> None:
    rows = ROWS["rows of zeros"]()
    assert fault(Asked("a row of zeros", "identity", "canonical", "canonical-kde")) == ""
    out = CALIBRATORS.make(calibrator).fit_on(rows).apply(rows)
    np.testing.assert_array_equal(out.probs, np.full((80, 3), 1 / 3))
