"""Many users on one server: waiting time of each, while one of them requests something heavy.

    python -m tests.benchmarks.load_sessions --sessions 20 --seconds 60
    python -m tests.benchmarks.load_sessions --url http://localhost:8501 --heavy ""

Every session uploads its own file and periodically ticks or unticks calibrators like a browser, over a WebSocket. A
toggle lasts from the click to the end of its run. One more uploads a file again and again and fits something heavy on
it. It prints the duration of the median toggle and of the slowest of twenty, and the same for uploads and heavy fits.
It also prints the server's processor time and memory. It searches all messages to a session for names of the others'
files, which must not occur. At the end many more users arrive at the same moment, each for a first page.
"""

import argparse
import asyncio
import io
import itertools
import os
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from tests.benchmarks.crowd import visits

ROOT = Path(__file__).parents[2]
CHIPS, FIELD = "Calibrators, fitted on the calibration rows", "Drop a predictions file here"
TOGGLES: tuple[list[str], ...] = ([], ["Temperature scaling"])
PATIENCE = 300.0


def npz(rows: int, classes: int, seed: int) -> bytes:
    """Return predictions like a network's, with labels drawn from its softened probabilities."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 2, (rows, classes)) + 4 * np.eye(classes)[rng.integers(0, classes, rows)]
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    soft = p**0.6 / (p**0.6).sum(axis=1, keepdims=True)
    labels = (soft.cumsum(axis=1) < rng.random((rows, 1))).sum(axis=1).clip(0, classes - 1)
    buffer = io.BytesIO()
    np.savez(buffer, probs=p.astype(np.float32), labels=labels)
    return buffer.getvalue()


class Tab:
    """Browser tab: the text of its page, and its requests to the server."""

    def __init__(self, url: str, query: str = "view=data", jar: CookieJar | None = None) -> None:
        self.url = url.rstrip("/")
        self.jar = CookieJar() if jar is None else jar
        self.http = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        self.http.open(f"{self.url}/", timeout=PATIENCE).read()
        self.http.open(f"{self.url}/_stcore/host-config", timeout=PATIENCE).read()
        self.http.open(f"{self.url}/_stcore/health", timeout=PATIENCE).read()
        self.query = query
        self.widgets: dict[str, Any] = {}
        self.text: list[bytes] = []
        self.session = ""
        self.link = ""
        address = urlsplit(self.url)
        self.socket = connect(
            f"ws://{address.netloc}{address.path}/_stcore/stream",
            subprotocols=["streamlit", self.token or "none"],  # type: ignore[list-item]
            origin=f"http://{address.netloc}",  # type: ignore[arg-type]
            additional_headers={"Cookie": "; ".join(f"{c.name}={c.value}" for c in self.jar)},
            max_size=None,
            open_timeout=PATIENCE,
        )

    @property
    def token(self) -> str:
        return next((cookie.value or "" for cookie in self.jar if "xsrf" in cookie.name), "")

    def run(self, **values: Any) -> float:
        """Run the page, with values of widgets by their ids; how long it took, in seconds."""
        message = BackMsg()
        message.rerun_script.query_string = self.query
        for name, value in values.items():
            state = message.rerun_script.widget_states.widgets.add(id=name)
            if isinstance(value, list):
                state.string_array_value.data.extend(value)
            else:
                state.file_uploader_state_value.uploaded_file_info.add(**value)
        start = time.monotonic()
        self.socket.send(message.SerializeToString())
        while not (
            (heard := self._heard()).WhichOneof("type") == "script_finished"
            and heard.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN
        ):
            pass
        return time.monotonic() - start

    def _heard(self) -> ForwardMsg:
        data = self.socket.recv(timeout=PATIENCE)
        assert isinstance(data, bytes)
        self.text.append(data)
        message = ForwardMsg()
        message.ParseFromString(data)
        if message.WhichOneof("type") == "new_session":
            self.session = message.new_session.initialize.session_id
        if message.WhichOneof("type") == "page_info_changed":
            self.link = message.page_info_changed.query_string
        element = message.delta.new_element
        kind = element.WhichOneof("type")
        if kind in ("button_group", "file_uploader"):
            self.widgets[getattr(element, kind).label] = getattr(element, kind)
        return message

    def place_for(self, name: str) -> Any:
        """Return the addresses that the server assigns to a file about to be sent."""
        asking = BackMsg()
        asking.file_urls_request.request_id = "1"
        asking.file_urls_request.file_names.append(name)
        asking.file_urls_request.session_id = self.session
        self.socket.send(asking.SerializeToString())
        while (heard := self._heard()).WhichOneof("type") != "file_urls_response":
            pass
        return heard.file_urls_response.file_urls[0]

    def head_of_upload(self, name: str, size: int) -> bytes:
        """Return the bytes that go before a file of this size, for a socket that sends the file itself."""
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.jar)
        return (
            f"PUT {self.place_for(name).upload_url} HTTP/1.1\r\nHost: {urlsplit(self.url).netloc}\r\n"
            f"Cookie: {cookies}\r\nX-Xsrftoken: {self.token}\r\nContent-Length: {size}\r\n"
            "Content-Type: multipart/form-data; boundary=x\r\n\r\n"
            f'--x\r\nContent-Disposition: form-data; name="f"; filename="{name}"\r\n\r\n'
        ).encode()

    def upload(self, data: bytes, name: str) -> float:
        """Upload a file and wait until it is read."""
        start = time.monotonic()
        urls = self.place_for(name)
        head = b'--x\r\nContent-Disposition: form-data; name="f"; filename="%s"\r\n\r\n' % name.encode()
        body = (head, data, b"\r\n--x--\r\n")  # not put together: twenty of 200 MB are sent at once
        headers = {
            "Content-Type": "multipart/form-data; boundary=x",
            "Content-Length": f"{sum(map(len, body))}",
            "X-Xsrftoken": self.token,
        }
        address = (
            f"{self.url}/{urls.upload_url.lstrip('/').removeprefix(urlsplit(self.url).path.lstrip('/')).lstrip('/')}"
        )
        self.http.open(urllib.request.Request(address, body, headers, method="PUT"), timeout=PATIENCE).read()
        field = next(widget for label, widget in self.widgets.items() if label.startswith(FIELD))
        self.run(**{field.id: {"name": name, "size": len(data), "file_id": urls.file_id, "file_urls": urls}})
        return time.monotonic() - start

    def tick(self, titles: list[str]) -> float:
        """Choose the calibrators on show."""
        chips = self.widgets[CHIPS]
        offered = {re.sub(r"\\", "", option.content): option.content for option in chips.options}
        return self.run(**{chips.id: [offered[title] for title in titles]})

    def close(self) -> None:
        self.socket.close()


def main() -> None:
    """Print what people wait."""
    options = _options()
    with serving(options) as (url, process):
        before, start = _memory(process), time.monotonic()
        uploads, toggles, heavy, errors, crossed = _load(url, options)
        used, whole = _seconds(process), time.monotonic() - start
        say = sys.stdout.write
        say(
            f"{options.sessions} sessions of {options.rows:,} x {options.classes}, a toggle every {options.every:g} s\n"
        )
        say(f"uploads: {spread(uploads)}\ntoggles: {spread(toggles)}\n")
        if options.heavy:
            say(f"{options.heavy}: {spread(heavy)}\n")
        say(f"cross-talk: {crossed} names of others' files\n")
        say(f"errors: {len(errors)} {sorted(set(errors))[:3]}\n")
        if process:
            full = _memory(process)
            time.sleep(30)
            say(f"server: {used:.0f} s of processor in {whole:.0f} s, {before:.0f} MB before, {full:.0f} MB with all, ")
            say(f"{_memory(process):.0f} MB 30 s after all tabs were closed\n")
        if options.visitors:
            seconds, wrong = asyncio.run(visits(url, options.visitors))
            say(f"{options.visitors} visitors at once: first page {spread(seconds)}, {len(wrong)} not served")
            say(f" {sorted(set(wrong))[:3] or ''}, {_memory(process):.0f} MB\n")


def _load(url: str, options: argparse.Namespace) -> tuple[list[float], list[float], list[float], list[str], int]:
    uploads: list[float] = []
    toggles: list[float] = []
    heavy: list[float] = []
    errors: list[str] = []
    texts: dict[int, bytes] = {}
    ready = threading.Barrier(options.sessions + bool(options.heavy))

    def person(number: int, busy: bool) -> None:
        try:
            tab = Tab(url)
            tab.run()
            uploads.append(tab.upload(npz(options.rows, options.classes, number), _file_name(number)))
            tab.query = ""
            tab.run(**{tab.widgets["Room"].id: ["Explore"]})
            ready.wait(PATIENCE)
            until = time.monotonic() + options.seconds
            sets: Iterator[list[str]] = itertools.cycle([[options.heavy]] if busy else TOGGLES)
            due = time.monotonic() + (0 if busy else options.every * number / options.sessions)
            while time.monotonic() < until:
                time.sleep(max(due - time.monotonic(), 0))
                if busy:
                    tab.upload(npz(options.rows, options.classes, int(1000 * due)), f"{due}.npz")
                    tab.run(**{tab.widgets["Room"].id: ["Explore"]})
                took = tab.tick(next(sets))
                (heavy if busy else toggles).append(took)
                due = max(due + options.every, time.monotonic())
            tab.close()
            texts[number] = b"".join(tab.text)
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}"[:200])
            ready.abort()

    threads = [threading.Thread(target=person, args=(i, False)) for i in range(options.sessions)]
    if options.heavy:
        threads.append(threading.Thread(target=person, args=(options.sessions, True)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    crossed = sum(_file_name(j).encode() in text for i, text in texts.items() for j in texts if i != j)
    return uploads, toggles, heavy, errors, crossed


def _file_name(number: int) -> str:
    return f"own-{number:04}.npz"


def spread(seconds: list[float]) -> str:
    """Return the median, the slowest of twenty and the slowest, in words."""
    if len(seconds) < 2:
        return f"{seconds}"
    p95 = statistics.quantiles(seconds, n=20, method="inclusive")[-1]
    return f"p50 {statistics.median(seconds):.2f} s, p95 {p95:.2f} s, most {max(seconds):.2f} s ({len(seconds)})"


@contextmanager
def serving(options: argparse.Namespace) -> Iterator[tuple[str, subprocess.Popen[bytes] | None]]:
    """Yield the address of a server, and its process if it is one of ours."""
    if options.url:
        yield options.url, None
        return
    command = [sys.executable, "-c", "from dashboard.cli import main; main()", *options.command.split()]
    environment = {**os.environ, "PYTHONPATH": str(options.tree), "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen([*command, "--port", str(options.port)], env=environment, cwd=options.tree)
    try:
        for _ in range(3000):  # on a loaded machine, minutes
            time.sleep(0.2)
            try:
                urllib.request.urlopen(f"http://localhost:{options.port}/_stcore/health", timeout=5).read()
                break
            except OSError:
                continue
        yield f"http://localhost:{options.port}", process
    finally:
        process.terminate()
        process.wait()


def _seconds(process: subprocess.Popen[bytes] | None) -> float:
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(process: subprocess.Popen[bytes] | None) -> float:
    if process is None:
        return 0.0
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[0]) / 1024


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a server that runs already; else one is started")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout whose server is started")
    parser.add_argument("--command", default="serve", help="the command that is started")
    parser.add_argument("--port", type=int, default=8765)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--every", type=float, default=3.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--heavy", default="Matrix scaling", help="what one more session ticks and unticks")
    parser.add_argument("--visitors", type=int, default=150, help="how many come at once at the end")
    return parser.parse_args()


if __name__ == "__main__":
    main()
