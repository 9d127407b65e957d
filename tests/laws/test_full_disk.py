"""Outputs of commands on a full disk: all files stay as they were, and one sentence names the output.

Outputs are found in the commands, so that a new one without a case fails. A limit on the size of files stands for the
full disk. It holds for every writer, also for those written in C.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dashboard.cli import main
from dashboard.commands import _outputs, report
from dashboard.report import chromium

ROOM = 16
"""Bytes that fit: a few, so that a file is begun."""
CASES = {
    "apply -o": [
        f"apply cal.json rows.csv -o old.{ending}" for ending in ("csv", "jsonl", "npz", "parquet")
    ],
    "arena --out": ["arena experiments --method temperature --out folder"],
    "export -o": ["export cal.json -o old.py", "export cal.json -o old.onnx"],
    "fit -o": ["fit rows.csv --calibrator temperature -o old.json"],
    "gate --junit": ["gate rows.csv --max-ece 0.9 --junit old.xml"],
    "join -o": ["join scores.csv labels.csv --key id -o old.csv"],
    "report -o": ["report rows.csv -o old.html"],
    "report --pdf": ["report rows.csv -o written.html --pdf old.pdf"],
    "report --latex": ["report rows.csv -o written.html --latex old.tex"],
    "report --word": ["report rows.csv -o written.html --word old.docx"],
    "report --tables": ["report rows.csv -o written.html --tables old.zip"],
    "report --figures": ["report rows.csv -o written.html --figures old.zip"],
    "report --model-card": ["report rows.csv -o written.html --model-card old.md"],
    "summarise -o": ["summarise rows.csv -o old.parquet"],
    "tables --out": ["tables experiments/digits/net --calibrator temperature --splits 1 --out folder"],
    "watch --state": ["watch more.csv --state watch.json"],
    "watch --junit": ["watch rows.csv --state watch.json --junit old.xml"],
}  # fmt: skip
"""Commands of every output. The file called old is there before; written.html is not tried."""


def outputs() -> Iterator[str]:
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        for option in command.params:
            of_folder = isinstance(option.type, click.Path) and not option.type.exists and option.name == "out"
            if isinstance(option.type, _outputs.Output) or of_folder or option.name == "state_file":
                yield f"{name} {min(option.opts, key=len) if option.name == 'output' else option.opts[0]}"


def test_every_output_has_a_case() -> None:
    assert sorted(outputs()) == sorted(CASES)


def run(line: str) -> Any:
    return CliRunner().invoke(main, line.split(), prog_name="calib")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Work in a folder with predictions, a calibrator, a watch with a batch, and two folders."""
    place = tmp_path_factory.mktemp("full")
    p = np.random.default_rng(0).random(80).round(6)
    rows = pd.DataFrame({"p_a": 1 - p, "p_b": p, "label": np.where(np.arange(80) % 3 > 0, "a", "b")})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        rows.to_csv("rows.csv", index=False)
        rows.iloc[::-1].to_csv("more.csv", index=False)
        rows[["p_a", "p_b"]].assign(id=range(80)).to_csv("scores.csv", index=False)
        rows[["label"]].assign(id=range(80)).to_csv("labels.csv", index=False)
        Path("folder").mkdir()
        Path("experiments", "digits", "net").mkdir(parents=True)
        for part in ("calibration", "test"):
            rows.to_csv(Path("experiments", "digits", "net", f"{part}.csv"), index=False)
        for line in ("fit rows.csv --calibrator temperature -o cal.json", "watch rows.csv --state watch.json"):
            assert run(line).exit_code in (0, 1), line
        yield place


@contextmanager
def full_disk() -> Iterator[None]:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, before[1]))
    # Python does not see that the bytecode of a module it imports here is cut off.
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes_none
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def files() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path().rglob("*") if path.is_file()}


class Made:
    """Report in place of a real one, whose chapters take seconds."""

    html, document = b"<html>" * ROOM, None

    def word(self) -> bytes:
        return self.html

    table_files = latex = word


@pytest.fixture
def cheap_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_made", lambda *_: Made())
    monkeypatch.setattr(chromium, "found", lambda: Path(sys.executable))
    for name in ("pdf", "pictures"):
        monkeypatch.setattr(chromium, name, lambda *_: Made.html)
    write = _outputs.write
    monkeypatch.setattr(_outputs, "write", lambda path, data: path.stem == "written" or write(path, data))


@pytest.mark.usefixtures("cheap_reports")
@pytest.mark.parametrize("line", [line for lines in CASES.values() for line in lines])
def test_a_full_disk_leaves_every_file_as_it_was_and_one_sentence(line: str, folder: Path) -> None:
    output = line.split()[-1]
    if output.startswith("old."):
        Path(output).write_bytes(b"old")
    before = files()
    with full_disk():
        ended = run(line)
    assert ended.exit_code == 2, ended.output
    assert files() == before
    told = [sentence for sentence in ended.stderr.splitlines() if sentence.startswith("calib ")]
    assert len(told) == 1, ended.stderr
    # A module is tried first, in the folder for temporary files.
    place = "the export could not be tested, so it is refused" if output == "old.py" else output
    assert place in told[0]
    assert "File too large" in told[0]
