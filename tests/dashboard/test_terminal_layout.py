"""Output for a terminal: tables and paragraphs that fit its width, without columns that have no content."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dashboard.cli import main
from dashboard.commands import _outputs
from dashboard.commands._terminal_layout import PrintedColumn, paragraph_lines, table_lines
from dashboard.exhibits import columns as of

TITLES = ["calibrator", "Temperature scaling of the confidence", "Beta calibration (prior rows 4) of the confidence"]


def numbers(heading: str, *cells: str) -> PrintedColumn:
    return PrintedColumn([heading, *cells], True)


@pytest.mark.parametrize("room", [40, 60, 80, 120])
def test_a_table_fits_the_room_and_has_every_cell(room: int) -> None:
    columns = [
        PrintedColumn(TITLES, False),
        numbers("log loss", "0.642", "0.617"),
        numbers("90 % interval of the gain", "0.255 to 0.612", "0.271 to 0.646"),
        numbers("rows needed (approx.)", "50", "150"),
        PrintedColumn(["verdict", "too few rows to tell", "within tolerance"], False),
    ]
    lines = table_lines(columns, room)
    assert max(map(len, lines)) <= room
    for text in ("0.255 to 0.612", "0.271 to 0.646", "0.642", "0.617", "150"):
        assert sum(text in line for line in lines) == 1, text
    words = " ".join(lines).split()
    assert {word for column in columns for text in column.texts for word in text.split()} == set(words)
    assert lines.count("") == 0 or room < 80


def test_every_part_of_a_table_begins_with_the_names() -> None:
    columns = [PrintedColumn(["name", "a", "b"], False), *(numbers(f"number {i}", "0.1234567", "1") for i in range(9))]
    lines = table_lines(columns, 40)
    assert "" in lines
    parts = "\n".join(lines).split("\n\n")
    assert all([line[0] for line in part.splitlines() if line[0] != " "] == ["n", "a", "b"] for part in parts)


def test_columns_without_content_are_left_out() -> None:
    frame = pd.DataFrame({"place": ["a", "b"], "p": [0.5, np.nan], "note": ["", ""]})
    columns = (of.text("place"), of.probability("p"), of.text("note"))
    assert _outputs.aligned(columns, frame)[0].split() == ["place", "p"]
    assert _outputs.aligned(columns, frame.iloc[:0])[0].split() == ["place", "p", "note"]


@pytest.mark.parametrize("words", [("audit",), ("audit", "--details"), ("choose",), ("choose", "--details")])
def test_tables_of_commands_fit_80_columns(
    words: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.1, 0.9, 200)
    path = tmp_path_factory.mktemp("risk") / "risk.csv"
    frame = pd.DataFrame({"risk": risk, "died": rng.random(200) < risk, "site": rng.choice(["a", "b"], 200)})
    frame.to_csv(path, index=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    ended = CliRunner().invoke(main, [words[0], str(path), *words[1:]])
    assert ended.exit_code == 0, ended.output
    assert [line for line in ended.stdout.splitlines() if "  " in line.strip() and len(line) > 80] == []


def test_paragraphs_are_wrapped_for_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, option = "The error is 5 % of all rows here.", "  --calibrator a b c d e f g h"
    monkeypatch.setenv("COLUMNS", "16")
    _outputs.tell([text, option])
    assert capsys.readouterr().out == f"{text}\n{option}\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    _outputs.tell([text, option])
    out = capsys.readouterr().out
    assert out.endswith(f"\n{option}\n"), "an option is copied in one piece"
    assert " ".join(out.splitlines()[:-1]) == text
    assert all(line.startswith("%") is False for line in paragraph_lines(text, 14))
