"""Differences of Windows and macOS from Linux: default encodings, locks, files that are open, separators."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import calib_core as cc
from calib_core._base import machine_memory, parallel
from calib_core._base.atomic_files import write_whole
from calib_core.monitoring.state_file import alone
from tests.support.source_trees import nodes_of, tree_of

ROOT = Path(__file__).parents[2]
SOURCES = [path for name in ("calib", "calib_core", "dashboard") for path in sorted((ROOT / name).rglob("*.py"))]

# ---- encodings -------------------------------------------------------------------------------------------------

PLACES = {"read_text": 0, "write_text": 1, "TextIOWrapper": 1}
"""Position of the encoding in calls that are always about text."""
OPENERS = {"open": "r", "fdopen": "r", "NamedTemporaryFile": "w+b", "TemporaryFile": "w+b"}
"""Mode of calls that are about text or bytes, where none is given."""
STARTERS = {"run", "Popen", "check_output"}


def texts_of_default_encoding(source):
    """Yield the lines of calls that read or write text in the encoding of the machine."""
    for node in nodes_of(tree_of(source)):
        if not isinstance(node, ast.Call) or any(each.arg == "encoding" for each in node.keywords):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        options = {each.arg for each in node.keywords}
        if (
            (name in PLACES and len(node.args) <= PLACES[name])
            or (name in OPENERS and "b" not in mode_of(node, name))
            or (name in STARTERS and {"text", "universal_newlines"} & options)
        ):
            yield node.lineno


def mode_of(call, name):
    """Return the mode of an opening call; members of archives are bytes."""
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "mode")]
    modes = [each.value for each in given if isinstance(each, ast.Constant) and set(str(each.value)) <= set("rwaxbt+")]
    of_archive = name == "open" and isinstance(call.func, ast.Attribute) and not modes
    return "b" if of_archive else next(filter(None, modes), OPENERS[name])


def test_no_text_has_the_encoding_of_the_machine():
    found = {str(path): list(texts_of_default_encoding(path.read_text("utf-8"))) for path in SOURCES}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "open(a)",
        "open(a, 'w')",
        "p.read_text()",
        "p.write_text(b)",
        "p.open('a')",
        "subprocess.run(a, text=True)",
        "io.TextIOWrapper(a)",
        "NamedTemporaryFile('w')",
    ],
)
def test_a_default_encoding_is_seen(source):
    assert list(texts_of_default_encoding(source)) == [1]


@pytest.mark.parametrize(
    "source",
    [
        "open(a, 'rb')",
        "p.read_text('utf-8')",
        "p.write_text(b, encoding='utf-8')",
        "archive.open(entry)",
        "subprocess.run(a)",
        "io.TextIOWrapper(a, 'utf-8')",
        "TemporaryFile()",
    ],
)
def test_a_stated_encoding_and_bytes_are_allowed(source):
    assert list(texts_of_default_encoding(source)) == []


# ---- files -----------------------------------------------------------------------------------------------------


def test_a_file_that_another_program_has_open_stays_as_it_was(tmp_path, monkeypatch):
    """Windows replaces no open file."""
    path = tmp_path / "a.json"
    write_whole(path, b"old")

    def refused(self, target):
        raise PermissionError(13, "The process cannot access the file", str(self), 32, str(target))

    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises(OSError, match=r"The process cannot access the file") as why:
        write_whole(path, b"new")
    assert why.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


HOLDS = """
import sys
from calib_core.monitoring.state_file import alone
with alone(sys.argv[1]):
    print("mine", flush=True)
    sys.stdin.read()
"""


def test_two_processes_never_change_a_state_at_once(tmp_path):
    state = tmp_path / "watch.json"
    command = [sys.executable, "-c", HOLDS, str(state)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", cwd=ROOT) as other:
        assert other.stdout.readline() == "mine\n"
        entered = threading.Event()

        def enter():
            with alone(state):
                entered.set()

        waiting = threading.Thread(target=enter, daemon=True)
        waiting.start()
        assert not entered.wait(0.3)
        other.stdin.close()
        waiting.join(30)
        assert entered.is_set()


def test_paths_are_named_alike_with_either_separator():
    for name in ("a.csv", "folder/a.csv", "folder\\a.csv", "C:\\folder\\a.csv"):
        with pytest.raises(cc.InputError) as why:
            cc.read_predictions(b"", name)
        assert str(why.value).startswith(("a.csv", "folder", "C:")), why.value


# ---- machines --------------------------------------------------------------------------------------------------


def test_without_proc_and_sysconf_memory_and_processors_are_known(tmp_path, monkeypatch):
    monkeypatch.setattr(machine_memory.sys, "platform", "win32")
    assert machine_memory.memory(tmp_path / "cgroup", tmp_path) == 4 << 30
    monkeypatch.setattr(parallel.sys, "platform", "darwin")
    monkeypatch.setattr(parallel.os, "cpu_count", lambda: None)
    monkeypatch.setattr(parallel.os, "process_cpu_count", lambda: None, raising=False)
    assert parallel._cpus() == 1
