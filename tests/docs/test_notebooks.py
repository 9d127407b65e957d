"""Notebooks show what their cells compute; answers have the numbers of their cells; links open their lessons."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from dashboard.selection import Selection
from tests.docs import notebooks

pytest.importorskip("matplotlib", reason="the extra `matplotlib` is not installed")
pytest.importorskip("streamlit", reason="the extra `app` is not installed")
LESSONS = [path for path in notebooks.NOTEBOOKS if path.stem.startswith("lesson-")]
PAGE = notebooks.executed.ROOT / "docs/how-to/teach.md"
LINK = re.compile(r"\((http://localhost:8501/[^)\s]+)\)")


def name(path: Path) -> str:
    return path.stem


def tagged(path: Path, tag: str) -> list[dict[str, Any]]:
    return [cell for cell in notebooks.read(path)["cells"] if tag in cell["metadata"].get("tags", ())]


@pytest.mark.filterwarnings("ignore:.*figure layout")
@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=name)
def test_a_notebook_shows_what_it_computes(path: Path, tmp_path: Path) -> None:
    assert notebooks.differences(path, tmp_path) == []


def test_there_are_examples_and_three_lessons() -> None:
    assert len(LESSONS) == 3
    assert len(notebooks.NOTEBOOKS) >= 7


def test_another_output_is_seen(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": ["print(2)\n", "1 + 2"], "outputs": []}
    path = tmp_path / "wrong.ipynb"
    path.write_text(json.dumps({"cells": [cell]}), "utf-8")
    assert notebooks.differences(path, tmp_path) == ["print(2)\n1 + 2\n->\n2\n\n3"]
    notebooks.write(path, tmp_path)
    assert notebooks.differences(path, tmp_path) == []


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_every_exercise_has_an_answer_with_the_numbers_that_its_cell_prints(path: Path) -> None:
    exercises, answers, solutions = (tagged(path, tag) for tag in ("exercise", "answer", "solution"))
    assert len(exercises) == len(answers) == len(solutions) == 3
    for number, (asked, cell, told) in enumerate(zip(exercises, answers, solutions, strict=True), start=1):
        assert notebooks.source(asked).startswith(f"**Exercise {number}.**")
        assert cell["metadata"]["jupyter"] == {"source_hidden": True, "outputs_hidden": True}
        head, _, text = notebooks.source(told).partition("** ")
        assert head == f"**Answer {number}."
        stated = set(re.findall(r"\d+(?:\.\d+)?", text))
        assert stated
        assert stated <= set(re.findall(r"\d+(?:\.\d+)?", "".join(notebooks.texts(cell["outputs"]))))


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_a_lesson_opens_its_data_in_the_dashboard(path: Path) -> None:
    text = "".join(map(notebooks.source, notebooks.read(path)["cells"]))
    (address,) = LINK.findall(text)
    selection, faults = Selection.from_query(dict(parse_qsl(urlsplit(address).query)))
    assert faults == ()
    assert selection.view == "reliability"
    assert f'cc.datasets.demo("{selection.source.data.removeprefix("demo:")}")' in text
    # The page for teachers has the same link.
    assert address in LINK.findall(PAGE.read_text("utf-8"))
    assert f"(../notebooks/{path.name})" in PAGE.read_text("utf-8")
