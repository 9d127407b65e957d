"""Folders: files of one shape become one table whose rows know their file; files of other kinds are reported."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import calib_core as cc
from calib_core.predictions.predictions import InputError
from calib_core.readers import as_csv, examine, propose, read_table
from tests.corpus.lm_eval_files import accuracy, drawn, encoded, line, softmax

DATE = "2026-08-21T10-11-12.345678"
TASKS = {"arc_easy": ("A", "B", "C", "D"), "boolq": ("no", "yes")}


@pytest.fixture
def results(tmp_path: Path) -> tuple[Path, list[float]]:
    """Return a run of two tasks with any numbers of choices, and the confidences in their rows."""
    folder, confidence = tmp_path / "meta-llama__Llama", []
    folder.mkdir()
    for seed, (task, texts) in enumerate(TASKS.items()):
        scores, gold = drawn(30, len(texts), seed)
        lines = [line(i, s, g, texts, acc=accuracy(s, g)) for i, (s, g) in enumerate(zip(scores, gold, strict=True))]
        (folder / f"samples_{task}_{DATE}.jsonl").write_bytes(encoded(lines))
        confidence += [max(softmax(s)) for s in scores]
    (folder / f"results_{DATE}.json").write_text(json.dumps({"results": {"boolq": {"acc": 0.6}}, "n-shot": {}}))
    return folder, confidence


def test_tasks_of_a_run_are_one_table_with_a_column_of_tasks(results: tuple[Path, list[float]]) -> None:
    folder, confidence = results
    found = cc.read_predictions(folder)
    np.testing.assert_allclose(found.confidence, confidence, rtol=0, atol=1e-12)
    assert found.metadata is not None
    assert found.metadata["task"].tolist() == ["arc_easy"] * 30 + ["boolq"] * 30
    assert "2 files of meta-llama__Llama are read as one table." in found.notes
    assert any(f'left out: "results_{DATE}.json"' in note for note in found.notes)
    alone = cc.read_predictions(folder / f"samples_boolq_{DATE}.jsonl", layout="confidence")
    assert found.take(np.arange(30, 60)).correct.tolist() == alone.correct.tolist()
    table = read_table(folder)
    assert table.place(31) == f"samples_boolq_{DATE}.jsonl, line 2 (row 1)"
    assert table.take(np.array([31])).place(0) == table.place(31)
    assert not [each for each in examine(table, propose(table)) if each.severity != "note"]


def test_a_task_that_was_run_again_is_told(results: tuple[Path, list[float]]) -> None:
    folder, _ = results
    again = (folder / f"samples_boolq_{DATE}.jsonl").read_bytes()
    (folder / f"samples_boolq_{DATE.replace('21', '22')}.jsonl").write_bytes(again)
    table = read_table(folder)
    warnings = [each for each in examine(table, propose(table)) if each.severity == "warning"]
    assert [each.code for each in warnings if each.code not in ("duplicates", "models")] == ["foreign"]
    assert warnings[0].message.startswith("30 rows repeat a document of the same filter")
    assert len(set(table.columns["file"])) == 3


def test_tables_of_days_are_one_and_a_damaged_one_is_a_sentence(tmp_path: Path) -> None:
    for day in (1, 2):
        (tmp_path / f"day-{day}.csv").write_text("p,y\n" + "".join(f"0.{i % 9 + 1},{i * day % 2}\n" for i in range(9)))
    found = cc.read_predictions(tmp_path)
    assert found.n_rows == 18
    assert found.metadata is not None
    assert found.metadata["file"].tolist() == ["day-1.csv"] * 9 + ["day-2.csv"] * 9
    (tmp_path / "day-3.csv").write_text("p,y\n0.5,1,7\n")
    with pytest.raises(InputError, match=r"day-3\.csv, line 2 has 3 fields"):
        cc.read_predictions(tmp_path)
    (tmp_path / "day-3.csv").write_text("p,y\n0.5,1\n1.5,1\n")
    with pytest.raises(InputError, match=r"day-3\.csv, line 3 \(row 1\)"):
        cc.read_predictions(tmp_path)


def test_files_of_models_over_the_same_rows_are_offered_as_models(tmp_path: Path) -> None:
    for name, power in (("old", 1), ("new", 2)):
        rows = "".join(f"{i},{(i % 9 + 1) / 10**power},{i % 2}\n" for i in range(20))
        (tmp_path / f"{name}.csv").write_text(f"id,p,y\n{rows}")
    table = read_table(tmp_path)
    (offer,) = [each for each in examine(table, propose(table)) if each.code == "models"]
    assert dict(offer.change or {}) == {"models": "file", "question": ("id",)}
    assert list(cc.read_models(tmp_path, models="file")) == ["new.csv", "old.csv"]
    assert read_table(as_csv(table), "both.csv").columns["file"].tolist() == ["new.csv"] * 20 + ["old.csv"] * 20


REFUSED = {
    "nothing": ({}, "is a folder without a readable file"),
    "folders": ({"model/samples.txt": "0.5\n"}, 'one of its folders: "model"'),
    "two shapes": ({"a.csv": "p,y\n0.5,1\n", "b.csv": "q,y\n0.5,1\n"}, 'files of 2 shapes, such as "a.csv", "b.csv"'),
    "another only": ({"a.csv": "p,p\n0.5,1\n"}, "a.csv has 2 columns called"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_other_folders_are_refused_in_a_sentence(case: str, tmp_path: Path) -> None:
    files, why = REFUSED[case]
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as caught:
        cc.read_predictions(tmp_path)
    assert why in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
