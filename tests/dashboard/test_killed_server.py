"""Servers killed during work: no partial file and no process stays, and the next one starts."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from calib_core._base import atomic_files

ROOT = Path(__file__).parents[2]
SOON = 90.0


def became_true(what: Callable[[], bool], seconds: float = SOON) -> bool:
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.1)
    return what()


def descendants(pid: int) -> set[int]:
    """Return the processes that a process started, and their own."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
    found, more = {pid}, {pid}
    while more:
        more = {child for child, parent in parents.items() if parent in more} - found
        found |= more
    return found - {pid}


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def server(port: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a server with two processes whose temporary files are in a folder."""
    command = [sys.executable, "-c", "from dashboard.cli import main; main()", "serve", "--processes", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), "OPENBLAS_NUM_THREADS": "1"}
    started = subprocess.Popen(
        [*command, "--port", str(port)], env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        assert became_true(lambda: answers(port) or started.poll() is not None)
        assert started.poll() is None
        yield started
    finally:
        for pid in {started.pid, *descendants(started.pid)}:
            if runs(pid):
                os.kill(pid, signal.SIGKILL)
        started.wait()
        assert started.stderr is not None
        started.stderr.close()


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def half_an_upload(port: int) -> Iterator[None]:
    """Open a page, and send half of a file."""
    from tests.benchmarks.load_sessions import Tab

    tab = Tab(f"http://127.0.0.1:{port}")
    tab.run()
    head = tab.head_of_upload("half.npz", 20_000_000)
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(head + b"0" * 10_000_000)
        yield
    with contextlib.suppress(Exception):  # the process has ended
        tab.close()


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore:connect:DeprecationWarning")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked for in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_is_ended_while_a_file_arrives_leaves_nothing_and_starts_again(
    how: signal.Signals, tmp_path: Path
) -> None:
    port = free_port()
    with server(port, tmp_path) as first:
        assert became_true(lambda: len(descendants(first.pid)) == 2)
        beside = descendants(first.pid)
        with half_an_upload(port):
            time.sleep(0.5)
            os.kill(first.pid, how)
            assert became_true(lambda: first.poll() is not None, 30), "it waits for the rest of the file"
        assert became_true(lambda: not any(map(runs, beside))), "its processes have outlived it"
        assert list(tmp_path.iterdir()) == []
        (tmp_path / f"calib-{first.pid}-left").mkdir()
        (tmp_path / "calib-mine").mkdir()
    with server(port, tmp_path):
        assert [each.name for each in tmp_path.iterdir()] == ["calib-mine"]


def test_folders_of_processes_that_were_killed_go_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_files.tempfile, "gettempdir", lambda: str(tmp_path))
    ended = subprocess.run(
        [sys.executable, "-S", "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    left = [f"calib-{int(ended.stdout)}-a1", f"calib-{os.getpid()}-b2"]
    others = [f"calib-{os.getppid()}-c3", "calib-1-d4", "calib-report", "tmp-5"]
    for name in (*left, *others):
        (tmp_path / name / "profile").mkdir(parents=True)
    (tmp_path / f"calib-{int(ended.stdout)}-link").symlink_to(tmp_path / "tmp-5")
    assert atomic_files.sweep() == len(left)
    assert sorted(each.name for each in tmp_path.iterdir() if not each.is_symlink()) == sorted(others)
    assert (tmp_path / "tmp-5" / "profile").is_dir()
    assert all(re.fullmatch(r"calib-\d+-\w+", name) for name in left)
