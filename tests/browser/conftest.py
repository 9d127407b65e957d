"""Streamlit server and the system's Chromium for the tests that act like a person."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

ROOT = Path(__file__).parents[2]
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 60_000
"""Milliseconds a page may take: tests wait for what they expect, and other tests keep the machine busy meanwhile."""
expect.set_options(timeout=PATIENCE)
LOCAL = {"localhost", "127.0.0.1"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in this directory as a browser test."""
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.browser)


@dataclass
class Server:
    """Running Streamlit server."""

    url: str
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """Return the processor time that the server has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serve(script: Path, *arguments: str, log: Path) -> AbstractContextManager[Server]:
    """Run a Streamlit script on a free port until the block ends."""
    port = _free_port()
    settings = [f"--server.port={port}", "--server.address=localhost", "--server.headless=true"]
    return _process(["-m", "streamlit", "run", str(script), *settings, "--", *arguments], port, log)


def serve_calib(*arguments: str, log: Path) -> AbstractContextManager[Server]:
    """Run `calib dashboard` on a free port until the block ends."""
    port = _free_port()
    command = "from dashboard.cli import main; main()"
    return _process(["-c", command, "dashboard", *arguments, "--headless", f"--port={port}"], port, log)


def serve_many(*arguments: str, base: str, log: Path) -> AbstractContextManager[Server]:
    """Run `calib serve` on a free port, below this path, until the block ends."""
    port = _free_port()
    command = "from dashboard.cli import main; main()"
    return _process(["-c", command, "serve", f"--port={port}", f"--base-path={base}", *arguments], port, log, base)


@contextmanager
def _process(arguments: list[str], port: int, log: Path, base: str = "") -> Iterator[Server]:
    """Yield a Python process that serves on this port, until the block ends."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false"}
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, *arguments], stdout=out, stderr=subprocess.STDOUT, env=environment)
        try:
            _wait_until_healthy(f"http://localhost:{port}{base}", process, log)
            yield Server(f"http://localhost:{port}{base}", process)
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_healthy(url: str, process: subprocess.Popen[bytes], log: Path, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"The server at {url} did not start:\n{log.read_text()[-3000:]}")


Serve = Callable[..., Server]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start each script once for the whole session: `served(script)`; by default what `calib dashboard` starts."""
    with ExitStack() as stack:
        running: dict[Path | None, Server] = {}

        def start(script: Path | None = None) -> Server:
            if script not in running:
                log = tmp_path_factory.mktemp("server") / "log.txt"
                running[script] = stack.enter_context(
                    serve_calib(log=log) if script is None else serve(script, log=log)
                )
            return running[script]

        yield start


@pytest.fixture(scope="session")
def served_many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield the dashboard as `calib serve` starts it below a path, for a proxy that sends the user's name."""
    with serve_many("--user-header=X-User", base="/calib", log=tmp_path_factory.mktemp("many") / "log.txt") as server:
        yield server


def chromium() -> str:
    """Find the system's Chromium."""
    found = shutil.which("chromium") or "/usr/bin/chromium"
    if not Path(found).exists():
        pytest.fail("No Chromium: the browser tests need it. Install it with: apt-get install chromium")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Yield one Chromium for the session."""
    path = chromium()
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield running
        running.close()


@dataclass
class Watch:
    """Events of a page that a test must not overlook."""

    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        """Record errors and foreign requests of a page from now on."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in {"data", "blob", "about"} and address.hostname not in LOCAL:
            self.outside.append(request.url)


@pytest.fixture
def watch() -> Watch:
    """Return errors and foreign requests of the test's pages; a test that expects an error removes it from the list."""
    return Watch()


OpenPage = Callable[..., Page]


@pytest.fixture(scope="session")
def window(browser: Browser) -> Iterator[BrowserContext]:
    """Yield one profile for the session, so that the page's resources are fetched and compiled once."""
    context = browser.new_context()
    yield context
    context.close()


@pytest.fixture
def open_page(window: BrowserContext, watch: Watch) -> Iterator[OpenPage]:
    """Open a page: `open_page(url, dark=False)`. Errors and foreign requests fail the test.

    Nothing moves unless ``motion`` is set. Browser storage is cleared after the test.
    """
    pages = []

    def open_one(url: str, *, dark: bool = False, width: int = 1280, height: int = 900, motion: bool = False) -> Page:
        page = window.new_page()
        pages.append(page)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(
            color_scheme="dark" if dark else "light", reduced_motion="no-preference" if motion else "reduce"
        )
        page.set_default_timeout(PATIENCE)
        watch.follow(page)
        page.goto(url)
        return page

    yield open_one
    for page in pages:
        if not page.is_closed():
            page.evaluate("() => localStorage.clear()")
            page.close()
    window.clear_cookies()
    assert watch.errors == [], "errors on the console"
    assert watch.outside == [], "requests to the outside"
