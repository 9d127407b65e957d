"""Attempts at questions: found by their columns, grouped on request, and mentioned wherever they count."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core.readers import examine, propose, read_table
from dashboard.cli import main
from tests.corpus.inspect_files import frames
from tests.support.sentences import matches

QUESTIONS, ATTEMPTS, SHARE = 60, 5, 0.7


def attempts(seed=0):
    """Return a CSV of attempts with equal outcomes within a question, with calibrated confidences on average."""
    rng = np.random.default_rng(seed)
    chance = np.repeat(rng.beta(SHARE * 0.4, (1 - SHARE) * 0.4, QUESTIONS), ATTEMPTS)
    frame = pd.DataFrame(
        {
            "id": np.repeat([f"q{i}" for i in range(QUESTIONS)], ATTEMPTS),
            "attempt": np.tile(np.arange(ATTEMPTS), QUESTIONS),
            "confidence": SHARE,
            "correct": (rng.random(len(chance)) < chance).astype(int),
        }
    )
    return frame.to_csv(index=False).encode()


def proposed(data):
    table = read_table(data, "a.csv")
    return [found for found in examine(table, propose(table)) if found.code == "group"]


def test_a_number_of_the_attempt_names_the_group_of_its_question():
    (found,) = proposed(attempts())
    assert found.severity == "warning"
    assert found.change == {"group": "id"}
    assert matches(found.message, '*"id"*300 rows*60 questions*')
    table = read_table(attempts(), "a.csv")
    assert not [each for each in examine(table, propose(table, group="id")) if each.code == "group"]


def test_a_question_that_comes_again_needs_no_number_of_the_attempt():
    frame = pd.read_csv(io.BytesIO(attempts())).drop(columns="attempt").rename(columns={"id": "question_id"})
    (found,) = proposed(frame.to_csv(index=False).encode())
    assert (found.severity, found.change) == ("warning", {"group": "question_id"})
    by_model = frame.assign(model=np.tile(list("abcde"), QUESTIONS)).to_csv(index=False).encode()
    assert not proposed(by_model)
    assert not proposed(frame.drop_duplicates("question_id").to_csv(index=False).encode())
    few = frame.assign(question_id=np.arange(len(frame)) % 3).to_csv(index=False).encode()
    assert not proposed(few)


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.drop(columns="attempt"),
        lambda frame: frame.assign(id=range(len(frame))),
        lambda frame: frame.assign(attempt=0),
        lambda frame: frame.assign(id=frame["id"].map(lambda name: "q" + str(int(name[1:]) % 4))),
        lambda frame: frame.assign(id=frame["id"].where(frame.index > 4, "")),
    ],
    ids=["no number", "one row a question", "the same number", "four questions", "no name"],
)
def test_what_does_not_number_attempts_is_no_evidence(change):
    frame = change(pd.read_csv(io.BytesIO(attempts())))
    assert not [found for found in proposed(frame.to_csv(index=False).encode()) if found.severity == "warning"]


def coverage(key, group):
    inside = []
    for seed in range(40):
        rows = cc.read_predictions(attempts(seed), "a.csv", group=group)
        ends = cc.estimate(rows, None if key == "accuracy" else "confidence", key).interval()
        # All confidences are the mean share right: the error is 0 on average.
        inside.append(ends.low <= (SHARE if key == "accuracy" else 0.0) <= ends.high)
    return np.mean(inside)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("key", ["accuracy", "ece"])
def test_intervals_of_attempts_cover_by_question_and_not_by_row(key):
    """40 draws: an interval that covers 90 % falls below 78 % once in 60 times, and the seeds are fixed."""
    assert coverage(key, "id") >= 0.78
    assert coverage(key, None) < 0.75


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gate_compare_and_audit_say_that_attempts_are_taken_together(tmp_path):
    first, other = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_bytes(attempts(0))
    other.write_bytes(attempts(0).replace(b",0.7,", b",0.8,"))

    def output(*words):
        return CliRunner().invoke(main, [*map(str, words)]).output

    for words in (
        ("gate", first, "--max-ece", "0.05", "--read", "group=id"),
        ("audit", first, "--read", "group=id"),
        ("compare", first, other, "--read", "group=id"),
    ):
        text = output(*words)
        assert "(id)" in text, words
        assert "treated as independent" not in text, words
    assert "--read group=id" in output("audit", first)


def test_a_run_that_is_in_a_frame_twice_is_no_further_attempt():
    (file,) = [each for each in frames() if each.what == "CSV"]
    first = file.data.splitlines(keepends=True)
    for data, copies in ((file.data, 0), (file.data + b"".join(first[1:8]), 7)):
        table = read_table(data, file.filename)
        messages = [found.message for found in examine(table, propose(table, **file.chosen))]
        assert any(f"{copies} rows repeat a sample and epoch of the same run" in each for each in messages) == (
            copies > 0
        )
