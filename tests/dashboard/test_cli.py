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
from dashboard.session.server_limits import LOCAL, ServerLimits


@dataclass
class Start:
    """Start of the dashboard: its command line, its options, and True if a browser is opened."""

    line: list[str]
    options: dict[str, Any]
    opens: bool
    under: ServerLimits = LOCAL


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Start]:
    """Record the starts of Streamlit, without starting it."""
    starts: list[Start] = []

    class Application:
        def __init__(self, script: Path, *, opens: bool = False, under: ServerLimits = LOCAL) -> None:
            assert script == launch.APP
            self.opens, self.under = opens, under

        def run(self, *, config: dict[str, Any]) -> None:
            starts.append(Start(sys.argv, config, self.opens, self.under))

    monkeypatch.setattr("dashboard.hosting.application.application", Application)
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
    assert "dashboard  Open the dashboard in the browser." in text


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


def test_demo_data_are_opened_by_their_key(started: list[Start]) -> None:
    assert run("dashboard", "demo:wine-logistic", "--headless") == (0, "")
    assert started[0].line[1:] == ["demo:wine-logistic"]
    code, text = run("dashboard", "demo:wine")
    assert (code, len(started)) == (2, 1)
    assert text.startswith("calib dashboard: there is no example data set demo:wine; available: digits-naive-bayes, ")


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
        """Signal in place of the end of the process."""

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


def test_serving_many_is_private_and_on_this_machine_unless_it_is_said(started: list[Start]) -> None:
    assert run("serve") == (0, "")
    start = started[0]
    assert start.under.private
    assert start.under.own == 300 + 180 * start.under.processes << 20
    assert start.under.hosts == ("localhost", "127.0.0.1")
    assert (start.under.absence, start.under.expiry) == (120, 240 * 60)
    assert start.options == {
        "server.headless": True,
        "server.port": 8501,
        "server.address": "127.0.0.1",
        "server.allowedHosts": ["localhost", "127.0.0.1"],
        "server.baseUrlPath": "",
        "server.maxUploadSize": 512,
        "server.trustedUserHeaders": {},
    }


def test_what_is_said_to_serve_becomes_terms_and_settings(started: list[Start]) -> None:
    options = ["--address", "0.0.0.0", "--port", "80", "--host", "calib.example.org", "--base-path", "calib/"]
    options += ["--user-header", "X-User", "--sessions", "3", "--files", "2", "--file-mb", "7", "--memory-gb", "2"]
    assert run("serve", *options, "--expire", "1") == (0, "")
    under, set_to = started[0].under, started[0].options
    assert (under.base, under.user_header, under.sessions, under.files) == ("/calib", "X-User", 3, 2)
    assert (under.file_bytes, under.bytes, under.memory, under.expiry) == (7 << 20, 14 << 20, 2 << 30, 60)
    assert (set_to["server.baseUrlPath"], set_to["server.maxUploadSize"]) == ("calib", 7)
    assert set_to["server.trustedUserHeaders"] == {"X-User": "name"}
    assert "calib.example.org" in set_to["server.allowedHosts"]


def test_as_a_space_it_knows_its_name_and_who_frames_it(started: list[Start], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_HOST", "owner-calib.hf.space")
    monkeypatch.setenv("CALIB_PORT", "7860")
    assert run("serve", "--address", "0.0.0.0", "--framed-by", "https://intranet.example.org:81") == (0, "")
    under, set_to = started[0].under, started[0].options
    assert under.hosts[-1] == "owner-calib.hf.space"
    assert under.framed_by == ("https://intranet.example.org:81", "https://huggingface.co")
    assert set_to["server.port"] == 7860
    monkeypatch.setenv("SPACE_HOST", "x y")
    assert run("serve")[1].startswith("calib serve: 'x y' is not a host name")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--address", "0.0.0.0"), "0.0.0.0 can be reached from other machines: give its name with --host"),
        (("--address", "here"), "'here' is not an address"),
        (("--host", "https://x"), "'https://x' is not a host name"),
        (("--host", "*"), "'*' is not a host name"),
        (("--base-path", "a b"), "'/a b' is not a path"),
        (("--framed-by", "example.org"), "'example.org' is not an origin"),
        (("--framed-by", "https://x; script-src *"), "'https://x; script-src *' is not an origin"),
        (("--user-header", "X User"), "'X User' is not a header name"),
        (
            ("--memory-gb", "0.75", "--processes", "3"),
            "805 MB of memory are too few: the server and its 3 processes take 881 MB; give --memory-gb 0.9 or more",
        ),
        (
            ("--memory-gb", "2", "--processes", "2", "--file-mb", "400"),
            "--file-mb 400 is more than a quarter of what 2.15 GB of memory leave for data: give --file-mb 347 or less",
        ),
    ],
)
def test_what_cannot_be_served_is_one_sentence(started: list[Start], options: tuple[str, ...], sentence: str) -> None:
    code, text = run("serve", *options)
    assert code == 2
    assert text.startswith(f"calib serve: {sentence}")
    assert text.count("\n") == 1
    assert started == []
