"""Bad files: every one is refused with its message or read with its finding, by the library and by the command."""

from __future__ import annotations

import pathlib
from dataclasses import replace

import pytest
from click.testing import CliRunner

from dashboard.cli import main
from tests.corpus.bad_files import BadFile
from tests.corpus.every_family import FAMILIES
from tests.corpus.promises import broken_promise

pytest.importorskip("pyarrow")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decode Parquet in this process: a process per file would load pyarrow again each time."""
    monkeypatch.setattr("calib_core.readers.formats.parquet._HAS_LIMITS", False)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("title", FAMILIES)
def test_every_bad_file_is_answered_as_promised(title: str) -> None:
    broken = {file.what: wrong for file in FAMILIES[title]() if (wrong := broken_promise(file))}
    assert not broken


def test_there_are_as_many_bad_files_as_are_spoken_of() -> None:
    files = [(title, file.what) for title, made in FAMILIES.items() for file in made()]
    assert len(files) >= 350
    assert len(set(files)) == len(files)


def test_a_promise_that_is_not_kept_is_seen() -> None:
    refused = BadFile("empty", b"", "a.csv is empty (0 bytes)")
    read = BadFile("percent", b"p,y\n70%,1\n20%,0\n", "percent signs", "percent")
    assert broken_promise(refused) == broken_promise(read) == ""
    for wrong in (
        replace(refused, says="is not empty"),
        replace(refused, finds="percent"),
        replace(refused, data=read.data),
        replace(read, finds="comma"),
        replace(read, says="decimal commas"),
        replace(read, finds="", says="percent signs"),
    ):
        assert broken_promise(wrong)


@pytest.mark.usefixtures("here")
def test_the_command_says_the_same_on_one_line_and_ends_with_2(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cases are every ninth file that is refused on opening."""
    monkeypatch.chdir(tmp_path)
    refused = [file for made in FAMILIES.values() for file in made() if not file.finds and not file.chosen][::9]
    assert len(refused) > 35
    for file in refused:
        # A name that no disk takes is given to a plain file's.
        name = file.filename if file.filename.isprintable() and len(file.filename) < 100 else "a.csv"
        path = tmp_path / pathlib.PurePath(name).name
        path.write_bytes(file.data)
        ended = CliRunner().invoke(main, ["audit", path.name], prog_name="calib")
        assert ended.exit_code == 2, (file.what, ended.output)
        assert ended.stdout == "", file.what
        assert ended.stderr.rstrip("\n").count("\n") == 0, (file.what, ended.stderr)
        assert file.says.replace(file.filename, path.name) in ended.stderr, (file.what, ended.stderr)
