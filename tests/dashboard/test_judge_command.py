"""`calib judge`: a file whose rows a judge marked, and people a few of them."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from dashboard.cli import main


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    truth = rng.random(300) < 0.7
    judge = np.where(rng.random(300) < 0.85, truth, ~truth)
    frame = pd.DataFrame({
        "judge": np.where(judge, "C", "I"),
        "people": np.where(np.arange(300) < 60, np.where(truth, "yes", "no"), ""),
        "question": np.arange(300) // 2,
        "confidence": 0.9,
    })  # fmt: skip
    path = tmp_path / "answers.csv"
    frame.to_csv(path, index=False)
    return path


def run(*options: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["judge", *options])
    return result.exit_code, result.output


def numbers(path: Path) -> tuple[np.ndarray, np.ndarray]:
    frame = pd.read_csv(path, keep_default_na=False)
    return (frame["judge"] == "C").to_numpy(float), frame["people"].map({"yes": 1.0, "no": 0.0}).to_numpy()


def test_the_sentence_is_that_of_the_library(answers: Path) -> None:
    code, text = run(str(answers), "--judge", "judge", "--human", "people")
    assert (code, text) == (0, cc.judged.judged_share(*numbers(answers)).sentence + "\n")


def test_json_has_every_number(answers: Path) -> None:
    options = ("--judge", "judge", "--human", "people", "--group", "question", "--confidence", "confidence", "--json")
    code, text = run(str(answers), *options)
    record = json.loads(text)
    table = pd.read_csv(io.StringIO(run(str(answers), *options[:-1], "--csv")[1]))
    assert set(table) == set(record["lines"][0])
    assert pd.DataFrame(record["lines"])["value"].to_numpy() == pytest.approx(table["value"].to_numpy(), nan_ok=True)
    found = cc.judged.judged_share(*numbers(answers), np.arange(300) // 2)
    assert code == 0
    assert (record["share"]["low"], record["share"]["high"]) == (found.interval.low, found.interval.high)
    assert record["gap"]["value"] == pytest.approx(0.9 - found.interval.point)
    assert record["share"]["marked_by_people"] == 60
    errors = {"value": "point", "low": "low", "high": "high", "tested": "tested"}
    assert record["share"]["judge_errors"] == {
        **{name: getattr(found.errors.interval, field) for name, field in errors.items()},
        "passes_right": found.errors.passes_right,
        "passes_wrong": found.errors.passes_wrong,
        "people_say_right": found.errors.right,
        "people_say_wrong": found.errors.wrong,
        "why_not": found.errors.why,
    }
    assert found.errors.passes_right > 0.7 > 0.3 > found.errors.passes_wrong
    assert record["gap"]["judge_errors"] is None
    assert not record["share"]["tested"]


def test_csv_has_a_line_for_each_estimate(answers: Path) -> None:
    code, text = run(str(answers), "--judge", "judge", "--human", "people", "--confidence", "confidence", "--csv")
    assert code == 0
    assert [line.split(",")[:2] for line in text.splitlines()] == [
        ["of", "by"],
        *[["share", by] for by in ("judge alone", "people alone", "both", "judge less its errors")],
        *[["gap", by] for by in ("judge alone", "people alone", "both")],
    ]


def test_a_word_that_is_no_verdict_is_named_with_its_line(answers: Path) -> None:
    answers.write_text(answers.read_text().replace("yes", "perhaps", 1))
    code, text = run(str(answers), "--judge", "judge", "--human", "people")
    assert code == 2
    assert '"perhaps" is not a verdict; 1 of 300 rows' in text


def test_what_cannot_be_answered_ends_with_two(answers: Path) -> None:
    code, text = run(str(answers), "--judge", "judge", "--human", "nobody")
    assert code == 2
    assert 'has no column "nobody"' in text
    code, text = run(str(answers), "--judge", "judge", "--human", "people", "--json", "--csv")
    assert code == 2
    assert "exclude each other" in text
