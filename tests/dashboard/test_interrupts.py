"""Interrupted commands, and read-only folders: no partial file, the old file stays, the exit is as usual."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from calib_core._base import atomic_files
from dashboard.cli import main

WRITERS = {
    "fit": ("fit", "p.csv", "--calibrator", "temperature", "-o", "out.json"),
    "summarise": ("summarise", "p.csv", "-o", "out.parquet"),
    "report": ("report", "p.csv", "-o", "out.html"),
}
EACH = [pytest.param(name, marks=pytest.mark.wide if name == "report" else ()) for name in WRITERS]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a folder with a file of predictions, and an old file under the name of each output."""
    monkeypatch.chdir(tmp_path)
    rows(200)
    for words in WRITERS.values():
        Path(words[-1]).write_bytes(b"old")


def rows(n: int) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(5, 0.5), n)
    labels = (rng.random((n, 1)) > p.cumsum(axis=1)[:, :4]).sum(axis=1)
    pd.DataFrame(p, columns=[f"p_{name}" for name in "abcde"]).assign(label=np.array(list("abcde"))[labels]).to_csv(
        "p.csv", index=False
    )


def as_before(name: str) -> bool:
    """Return True if the output is the old file, without temporary files."""
    return Path(WRITERS[name][-1]).read_bytes() == b"old" and not list(Path().glob(".*"))


@pytest.mark.parametrize("name", EACH)
def test_an_interrupt_in_the_writing_ends_with_130_and_leaves_the_old_file(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic_files.os, "fsync", interrupted)
    ended = CliRunner().invoke(main, list(WRITERS[name]))
    assert ended.exit_code == 130
    assert "Traceback" not in ended.output
    assert as_before(name)


@pytest.mark.parametrize("name", EACH)
@pytest.mark.parametrize("reason", [errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_folder_that_takes_nothing_is_told_with_the_file_and_the_reason(
    name: str, reason: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise OSError(reason, os.strerror(reason), "/a/name/nobody/gave.part")

    monkeypatch.setattr(atomic_files.tempfile, "mkstemp", refused)
    ended = CliRunner().invoke(main, list(WRITERS[name]))
    assert ended.exit_code == 2
    (sentence,) = [line for line in ended.stderr.splitlines() if line.startswith("main ")]
    assert WRITERS[name][-1] in sentence
    assert os.strerror(reason) in sentence
    assert "nobody" not in sentence
    assert as_before(name)


@pytest.mark.wide
@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("seconds", [1.0, 1.8, 3.0])
def test_ctrl_c_of_a_whole_command_leaves_a_whole_file_old_or_new(name: str, seconds: float) -> None:
    rows(60_000)
    # A shell starts what runs in its background deaf to interrupts, and so all that is started from there.
    hear = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    command = [sys.executable, "-m", "dashboard.cli", *WRITERS[name]]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    running = subprocess.Popen(command, stdout=-1, stderr=-1, preexec_fn=hear, env=environment)
    time.sleep(seconds)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    # An interrupt before Python listens, or as it ends, ends the process itself: a shell calls that 130 too.
    assert running.returncode in (0, 130, -signal.SIGINT)
    assert b"Traceback" not in told or running.returncode == -signal.SIGINT
    assert as_before(name) or running.returncode != 130
    assert not list(Path().glob(".*"))
