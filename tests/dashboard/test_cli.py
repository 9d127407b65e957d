"""The `calib` command."""

import gc
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from dashboard import cli, launch
from dashboard.cli import main
from dashboard.commands import dashboard as command
from dashboard.selection import MOST_OTHERS


@dataclass
class Start:
    """One start of the dashboard: its command line, its options, and whether a browser is opened."""

    line: list[str]
    options: dict[str, Any]
    opens: bool


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Start]:
    """What Streamlit is started with, which it is not."""
    starts: list[Start] = []

    class Application:
        def __init__(self, script: Path, *, opens: bool) -> None:
            assert script == launch.APP
            self.opens = opens

        def run(self, *, config: dict[str, Any]) -> None:
            starts.append(Start(sys.argv, config, self.opens))

    monkeypatch.setattr("dashboard.chart.serving.application", Application)
    monkeypatch.setattr(sys, "argv", ["calib"])
    monkeypatch.setattr(launch, "preload", lambda: None)
    monkeypatch.setattr(launch, "collect_on_a_timer", lambda: None)
    return starts


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def test_help_names_every_command() -> None:
    code, text = run("--help")
    assert code == 0
    assert "Find out whether a classifier's probabilities mean what they say." in text
    assert "dashboard  Open the dashboard in the browser, on FILE if one is given." in text


def test_version() -> None:
    code, text = run("--version")
    assert code == 0
    assert text.startswith("calib ")


def test_an_unknown_command_is_an_error_without_a_traceback() -> None:
    code, text = run("dashbord")
    assert code == 2
    assert "No such command 'dashbord'" in text


def test_a_missing_file_is_one_sentence_and_exit_code_two(started: list[Start]) -> None:
    assert run("dashboard", "nowhere.csv") == (2, "calib dashboard: there is no file 'nowhere.csv'.\n")
    assert started == []


def test_the_file_is_handed_over_with_its_absolute_path(
    started: list[Start], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p.csv").write_text("1")
    monkeypatch.chdir(tmp_path)
    assert run("dashboard", "p.csv", "--port", "8600", "--headless") == (0, "")
    options = {"server.headless": True, "server.port": 8600}
    assert started == [Start([str(launch.APP), str(tmp_path / "p.csv")], options, opens=False)]


@pytest.mark.parametrize(
    ("options", "there", "headless"),
    [
        ((), False, True),
        ((), True, False),
        (("--no-browser",), True, True),
        (("--headless",), True, True),
        (("--browser",), False, False),
    ],
)
def test_a_browser_opens_only_where_there_is_one(
    started: list[Start], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], there: bool, headless: bool
) -> None:
    monkeypatch.setattr(command, "_has_browser", lambda: there)
    run("dashboard", *options)
    assert started == [Start([str(launch.APP)], {"server.headless": headless}, opens=not headless)]


def test_no_display_no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert not command._has_browser()


def test_several_files_are_handed_over_each_once(started: list[Start], tmp_path: Path) -> None:
    names = [str(tmp_path / f"{i}.csv") for i in range(MOST_OTHERS + 2)]
    for name in names:
        Path(name).write_text("1")
    assert run("dashboard", names[0], names[1], names[0], "--headless") == (0, "")
    assert started[0].line[1:] == names[:2]
    assert command.MOST == MOST_OTHERS + 1
    said = f"calib dashboard: at most {command.MOST} files are compared, not {len(names)}.\n"
    assert run("dashboard", *names) == (2, said)


@pytest.mark.parametrize("named", [[], ["/d/p.npz"], ["/d/p.npz", "/d/q.csv"]])
def test_the_dashboard_knows_its_files(monkeypatch: pytest.MonkeyPatch, named: list[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["app.py", *named])
    assert launch.launched_files() == tuple(map(Path, named))


def test_garbage_is_collected_by_one_thread_however_often_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    collected = threading.Event()
    monkeypatch.setattr(gc, "collect", lambda *_: collected.set())
    thread = launch.collect_on_a_timer(0.01)
    assert thread.daemon
    assert launch.collect_on_a_timer(0.01) is thread
    assert collected.wait(5)
    # A thread left behind would slow down every test after this one.
    thread.ended.set()
    thread.join(5)
    assert not thread.is_alive()


def test_an_interrupt_waits_for_no_job_and_ends_as_usual_where_there_is_none(monkeypatch):
    class LeftAtOnce(Exception):
        """In place of the end of the process."""

    def interrupt(*_):
        raise KeyboardInterrupt

    def leave(code):
        assert code == 130
        raise LeftAtOnce

    monkeypatch.setattr(click.Group, "invoke", interrupt)
    monkeypatch.setattr(cli.os, "_exit", leave)
    for names, ending in ((["MainThread", f"{cli._JOBS}_0"], LeftAtOnce), (["MainThread"], SystemExit)):
        running = [SimpleNamespace(name=name) for name in names]
        monkeypatch.setattr(cli.threading, "enumerate", lambda running=running: running)
        with pytest.raises(ending) as ended:
            cli.Commands().invoke(None)
    assert ended.value.code == 130
