"""Samples of the harness: its own Brier score, ambiguities, uninformative rows, and files read in parts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import calib_core as cc
from calib_core.readers import StreamedFile, examine, predictions, propose, read_table, streams
from calib_core.text import percent
from tests.corpus.lm_eval_files import LETTERS, NAME, WORDS, accuracy, drawn, encoded, line, softmax

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # findings are looked at themselves

SCORES, GOLD = drawn(40, 4, seed=8)
LINES = [line(i, s, g, LETTERS, acc=accuracy(s, g)) for i, (s, g) in enumerate(zip(SCORES, GOLD, strict=True))]


def messages(lines: list[dict[str, object]], **chosen: object) -> list[tuple[str, str]]:
    """Return severity and message of the shape's findings."""
    table = read_table(encoded(lines), NAME)
    found = examine(table, propose(table, **chosen))
    return [(each.severity, each.message) for each in found if each.code in ("foreign", "reader")]


def test_the_harness_own_brier_score() -> None:
    """Like its brier_score: squared distance of the softmax to the one-hot target, summed over choices; the mean."""
    own = np.mean(
        [sum((p - (k == g)) ** 2 for k, p in enumerate(softmax(s))) for s, g in zip(SCORES, GOLD, strict=True)]
    )
    found = cc.read_predictions(encoded(LINES), NAME)
    assert found.class_names == LETTERS
    np.testing.assert_allclose(np.mean(((found.probs - np.eye(4)[found.labels]) ** 2).sum(axis=1)), own, rtol=1e-12)
    assert list(read_table(encoded(LINES), NAME).columns["task"]) == ["mmlu_physics"] * 40


def test_by_characters_is_one_click_away_and_back() -> None:
    lines = [
        line(i, s, g, WORDS, acc=accuracy(s, g), acc_norm=0.0)
        for i, (s, g) in enumerate(zip(SCORES, GOLD, strict=True))
    ]
    table = read_table(encoded(lines), NAME)
    change = next(
        f.change for f in examine(table, propose(table)) if f.change_label == "Divide by the length of each choice"
    )
    other = propose(table).replace(**dict(change or {}))
    lengths = [len(word) for word in WORDS]
    expected = [max(softmax([v / n for v, n in zip(s, lengths, strict=True)])) for s in SCORES]
    np.testing.assert_allclose(predictions(table, other).confidence, expected)
    for reading, own, others in ((propose(table), "", "_per_character"), (other, "_per_character", "")):
        (note,) = (f.message for f in examine(table, reading) if "gives other confidences" in f.message)
        told = [percent(float(np.mean(table.columns["correct" + measure]))) for measure in (own, others)]
        assert told[0] != told[1]
        assert re.findall(r"\(accuracy ([^)]*)\)", note) == told
    back = [f.change for f in examine(table, other) if f.change_label == "Use unchanged log-likelihoods"]
    assert back == [{"scores": ("log_likelihood",)}]


def test_acc_that_says_otherwise_is_a_warning() -> None:
    wrong = [each | {"acc": 1.0 - each["acc"]} if i < 3 else each for i, each in enumerate(LINES)]
    assert any(
        s == "warning" and m.startswith("In 3 of 40 rows, correctness by log-likelihood") for s, m in messages(wrong)
    )
    shares = [each | {"acc": 0.25} for each in LINES]
    assert any(s == "warning" and m.startswith("In 40 rows, acc is neither 0 nor 1") for s, m in messages(shares))
    assert not any(s == "warning" for s, _ in messages(LINES))


def test_filters_are_models_and_reruns_repeat_documents() -> None:
    both = [each | {"filter": name} for each in LINES for name in ("strict", "flexible")]
    table = read_table(encoded(both), NAME)
    reading = propose(table)
    assert (reading.models, reading.model, reading.question) == ("filter", "strict", ("doc_id",))
    assert cc.read_predictions(encoded(both), NAME).n_rows == 40
    again = [*LINES, *LINES[:5]]
    assert any(s == "warning" and m.startswith("5 rows repeat a document") for s, m in messages(again))
    assert not any("repeat a document" in m for _, m in messages(again, group="doc_id"))
    assert cc.read_predictions(encoded(again), NAME, group="doc_id").groups is not None


def test_several_right_choices_judge_confidences() -> None:
    several = [each | {"target": "[0, 1]"} for each in LINES]
    found = cc.read_predictions(encoded(several), NAME)
    assert found.kind == "confidence"
    np.testing.assert_array_equal(found.correct, [int(np.argmax(s)) < 2 for s in SCORES])


def test_a_target_that_is_no_choice_is_said_where_classes_go_unjudged() -> None:
    lines: list[dict[str, object]] = [{**each, "target": "None"} if i == 7 else each for i, each in enumerate(LINES)]
    assert any(text.startswith("In 1 of 40 rows, the target is not") for _, text in messages(lines))
    assert cc.read_predictions(encoded(lines), NAME).n_rows == 40


def test_log_likelihoods_at_the_end_of_numbers_are_no_warning() -> None:
    far = [[f"{v}", "False"] for v in ("-1e308", "1e308", "0", "-1")]
    found = read_table(encoded([{**LINES[0], "filtered_resps": far}, *LINES[1:]]), NAME)
    assert found.columns["confidence"][0] == 1
    assert found.columns["predicted"][0] == LETTERS[1]


def test_rows_that_say_nothing_are_left_out_and_counted() -> None:
    more = [
        *LINES,
        line(91, [-1.0, -2.0], 0, "AB") | {"filtered_resps": [["nan", "False"], ["-2", "False"]]},
        line(92, [-1.0, -2.0], -100, "AB"),
        line(93, [-1.0], 0, "A") | {"filtered_resps": ["an answer"]},
    ]
    table = read_table(encoded(more), NAME)
    assert table.n_rows == 40
    assert [note.split(" and ")[0] for note in table.notes] == [
        "1 record has a log-likelihood that is not a finite number",
        "1 record has no right choice among their choices",
        "1 record has fewer than two log-likelihoods",
    ]
    assert table.place(39) == "line 40 (row 39)"


def test_a_file_in_parts_is_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cc.read_predictions(encoded(LINES), NAME)
    path = tmp_path / NAME
    path.write_bytes(encoded(LINES))
    monkeypatch.setattr(streams, "TEXT_BYTES", len(encoded(LINES)) * 2 // 5)
    shares: list[float] = []
    parts = list(StreamedFile(path, {"progress": shares.append}))
    assert len(parts) == 3
    assert shares == sorted(shares)
    assert shares[-1] == 1
    np.testing.assert_array_equal(np.concatenate([part.probs for part in parts]), whole.probs)
    np.testing.assert_array_equal(np.concatenate([part.labels for part in parts]), whole.labels)


def test_the_last_line_of_a_file_in_parts_is_no_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line whose values are all objects would be records by their ids as a file of its own."""
    lines = [{"score": {"p": i / 10}, "truth": {"label": i % 2}} for i in range(9)]
    path = tmp_path / "a.jsonl"
    path.write_bytes(encoded(lines))
    monkeypatch.setattr(streams, "TEXT_BYTES", len(json.dumps(lines[0])) + 10)
    found = StreamedFile(path, {"scores": "score.p", "label": "truth.label"})
    assert sum(part.n_rows for part in found) == 9


def test_a_document_is_streamed_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"p": i / 10, "label": i % 2} for i in range(9)], indent=1))
    monkeypatch.setattr(streams, "TEXT_BYTES", 20)
    assert [part.n_rows for part in StreamedFile(path)] == [9]
