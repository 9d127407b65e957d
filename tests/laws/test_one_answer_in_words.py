"""Sentences of different places about the same rows do not contradict each other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core.datasets import demo
from calib_core.inference.verdicts.primary_measure import MOST_NOISE, expected_noise
from calib_core.text import short_percent
from dashboard.cli import main
from dashboard.exhibits import line_words
from dashboard.integrations import model_cards
from dashboard.report.sections import methods


def run(*arguments: object, code: int = 0) -> str:
    ended = CliRunner().invoke(main, [str(each) for each in arguments])
    assert ended.exit_code == code, ended.output
    return ended.output


def sure(each: int, classes: int = 5) -> cc.Predictions:
    """Return rows of mostly full confidence, of which one in ten is wrong."""
    rng, labels = np.random.default_rng(0), np.repeat(np.arange(classes), each)
    place = np.arange(len(labels))
    confidence = np.where(place % 7 == 0, rng.uniform(0.4, 1, len(labels)), 0.9999)
    probs = np.repeat((1 - confidence)[:, None] / (classes - 1), classes, axis=1)
    probs[place, np.where(place % 10 == 0, (labels + 1) % classes, labels)] = confidence
    return cc.Predictions(probs, labels)


def test_classes_with_a_test_are_not_denied_one_by_the_reason_for_the_measure() -> None:
    """The primary measure needs an interval for each class, which is more than the exact test of the findings."""
    rows = sure(60)
    first = cc.inference.primary(rows)
    assert first.notion == "confidence"
    assert len(cc.diagrams.classes_standing_out(rows).frame().query("stands_out")) == 5
    assert "judged one by one" not in first.reason
    # The Methods state the rule of the code: the noise floor of the top-label error plays no part in it.
    noise, pooled = expected_noise(cc.estimate(rows, "top-label", "ece"))
    assert noise < MOST_NOISE < 0.5 < pooled
    rule = " ".join(methods.INTERVALS)
    assert short_percent(MOST_NOISE) in rule
    assert "noise floor is below" not in rule


def test_one_sentence_defines_the_estimate() -> None:
    assert "the end of a one-sided 50 % interval of the error" in " ".join(methods.INTERVALS)
    found = cc.estimate(cc.read_predictions(*demo("digits-naive-bayes")), "confidence", "rmsce").interval()
    assert found.point != pytest.approx((found.low + found.high) / 2, abs=1e-4), "it is not the center"


def test_a_demo_is_described_by_its_own_p_value() -> None:
    description = next(each for each in cc.datasets.DEMOS if each.key == "wine-logistic").lesson
    count = {"six": 6, "nine": 9}[re.findall(r"one in (\w+) perfectly", description)[0]]
    line = json.loads(run("audit", "demo:wine-logistic", "--notion", "confidence", "--estimator", "ece", "--json"))
    assert round(1 / line["lines"][0]["p"]) == count


def test_a_card_names_the_estimate_and_the_raw_value() -> None:
    line = {"notion": "confidence", "estimator": "ece", "point": 0.039, "value": 0.0392, "low": 0.03, "high": 0.05}
    blank = dict.fromkeys(("title", "bins", "about", "method", "verdict", "note"), "") | {"floor": 0.01, "p": 0.01}
    metric = model_cards._metric(line | blank | {"level": 0.9}, 0.02)
    assert (metric["value"], metric["args"]["raw_value"]) == (0.039, 0.0392)
    assert "value" not in metric["args"]


def test_an_increase_without_a_baseline_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    pd.DataFrame({"confidence": [0.9] * 40, "correct": [1] * 36 + [0] * 4}).to_csv(path, index=False)
    assert "--baseline" in run("gate", path, "--max-ece", 0.5, "--max-increase", 0.2, code=2)
    listing = next(line for line in run("--help").splitlines() if line.strip().startswith("gate "))
    assert set(re.findall(r"\d", listing)) == set(re.findall(r"exit\s+code is (?:\d)|(\d)", listing)) == {"0", "1", "2"}


def test_a_largest_error_may_be_all_that_an_average_cannot() -> None:
    """The note on smaller tolerances is about means over rows, not about the largest error below it."""
    lines = pd.DataFrame({"notion": ["class-wise"], "estimator": ["ece"], "unit": ["share"], "limit": [0.004]})
    (note,) = line_words.tolerances(lines, 0.02)
    assert "means over all classes" in note


def test_a_refusal_in_a_terminal_names_an_option() -> None:
    for exhibit, option in (("class", "--choices"), ("pairs", "--other")):
        assert option in run("show", exhibit, "demo:digits-naive-bayes", code=2)


@pytest.mark.parametrize(("most", "other"), [(0.06, True), (0.9, False)])
def test_findings_in_other_bins_than_the_verdict_give_the_reason(most: float, other: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    risk = rng.uniform(0, most, 600).round(4)
    path = tmp_path / "risk.csv"
    pd.DataFrame({"risk": risk, "died": (rng.random(600) < risk).astype(int)}).to_csv(path, index=False)
    said = run("show", "findings", path)
    assert (
        ("Bins: 10 equal mass" in said) == ("of the verdict, which would contain most of these risks" in said) == other
    )


def test_the_library_names_the_event_as_commands_do(tmp_path: Path) -> None:
    risk = np.tile([0.2, 0.8], 100)
    path = tmp_path / "risk.csv"
    pd.DataFrame({"risk": risk, "died": (np.random.default_rng(0).random(200) < risk).astype(int)}).to_csv(
        path, index=False
    )
    rows = cc.read_predictions(path)
    for sentence in (
        cc.findings(rows)["finding"].iloc[0],
        cc.diagrams.local_frequency(rows, [0.2]).answers[0].headline,
    ):
        assert "died" in sentence
        assert "class 1" not in sentence
