"""The server under what a network, a machine and its visitors do to it: one line for each.

    python -m tests.benchmarks.hosting slow_clients two_tabs
    python -m tests.benchmarks.hosting            # all, about half an hour, most of it the soak

`make hosting` prints all lines. Every server is one of its own, on 127.0.0.1.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from tests.benchmarks import crowd
from tests.benchmarks.large_uploads import memory
from tests.benchmarks.load_sessions import ROOT, Tab, npz, serving, spread

Line = tuple[str, str]
PORT = int(os.environ.get("CALIB_HOSTING_PORT", "8767"))
MINUTES = float(os.environ.get("CALIB_SOAK_MINUTES", "15"))
HELLO = "import streamlit as st\nst.title('Hello')\nfor i in range(10):\n    st.write(f'line {i}')\n"
VIEWS = ("view=explore", "view=recalibrate", "view=evidence", "view=report", "view=data", "")


@contextmanager
def _serve(*words: str) -> Iterator[tuple[str, int]]:
    command = " ".join(("serve --sessions 300", *words))
    with serving(argparse.Namespace(url="", command=command, tree=ROOT, port=PORT)) as (url, process):
        assert process is not None
        yield url, process.pid


def _together(calls: list[Callable[[], None]]) -> Iterator[None]:
    """Run calls in threads; what stands between the two steps runs beside them."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join()


beside = contextmanager(_together)


def _dripped(at_once: bytes, until: float, ended: list[float]) -> None:
    """Send a request, then a byte from time to time, and note the seconds until the server hangs up."""
    start = time.monotonic()
    with socket.create_connection(("127.0.0.1", PORT)) as line:
        line.settimeout(0.5)
        with contextlib.suppress(ConnectionError):
            line.sendall(at_once)
            while time.monotonic() < until:
                line.sendall(b"0")
                with contextlib.suppress(TimeoutError):
                    if not line.recv(1 << 16):
                        break
            else:
                return
    ended.append(time.monotonic() - start)


def slow_clients(seconds: float = 120.0) -> Line:
    """Measure pages and uploads of others while headers and files arrive a byte at a time."""
    headers, bodies, pages, uploads = list[float](), list[float](), list[float](), list[float]()
    refused, size = 0, 60_000_000
    with _serve("--memory-gb 1.5") as (url, _):
        until, slow = time.monotonic() + seconds, [Tab(url) for _ in range(5)]
        for tab in slow:
            tab.run()
        heads = [tab.head_of_upload("slow.npz", size) for tab in slow]
        drips = [lambda: _dripped(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ", until, headers)] * 200
        drips += [lambda head=head: _dripped(head, until, bodies) for head in heads]
        with beside(drips):
            while time.monotonic() < until:
                start = time.monotonic()
                tab = Tab(url)
                tab.run()
                pages.append(time.monotonic() - start)
                try:
                    uploads.append(tab.upload(npz(1000, 3, 0), "own.npz"))
                except OSError:
                    refused += 1
                tab.close()
                time.sleep(2)
        for tab in slow:
            tab.close()
    tried = f"200 requests and 5 uploads of {size / 1e6:.0f} MB, a byte every 0.5 s, for {seconds:.0f} s"
    said = f"pages of others {spread(pages)}; their uploads {spread(uploads)}, {refused} refused"
    return tried, f"{said}; hung up on {len(headers)} and {len(bodies)} of the slow ones"


def killed_processes(seconds: float = 60.0) -> Line:
    """Measure pages while the processes that work for them are killed every two seconds."""
    seconds_of, errors, killed = list[float](), Counter[str](), 0
    with _serve("--processes 2") as (url, pid):
        until = time.monotonic() + seconds

        def person(number: int) -> None:
            try:
                tab = Tab(url)
                tab.run()
                tab.upload(npz(20_000, 10, number), f"own-{number:04}.npz")
                tab.query = ""
                tab.run(**{tab.widgets["Room"].id: ["Explore"]})
                turn = 0
                while time.monotonic() < until:
                    turn += 1
                    seconds_of.append(tab.tick(["Matrix scaling"] if turn % 2 else ["Temperature scaling"]))
                    text = b"".join(tab.text)
                    errors.update(
                        found.decode()[:100] for found in re.findall(rb"Traceback|[A-Za-z]+Error: [^\x00-\x1f]*", text)
                    )
                    tab.text.clear()
                tab.close()
            except Exception as error:
                errors[f"{type(error).__name__}: {error}"[:100]] += 1

        with beside([lambda i=i: person(i) for i in range(4)]):
            while time.monotonic() < until:
                time.sleep(2)
                for child in _children(pid):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                        killed += 1
        start = time.monotonic()
        last = Tab(url)
        last.run()
        after = time.monotonic() - start
        last.close()
    said = f"answers {spread(seconds_of)}; {sum(errors.values())} errors {dict(errors.most_common(2)) or ''}".strip()
    return f"{killed} kills of worker processes in {seconds:.0f} s, 4 visitors", f"{said}; next visitor {after:.1f} s"


def _children(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(folder.name))
    return found


def two_tabs() -> Line:
    """Measure what one tab shows of the other, of the same visitor."""
    with _serve() as (url, _):
        one = Tab(url)
        one.run()
        two = Tab(url, jar=one.jar)
        two.run()
        one.upload(npz(2000, 4, 1), "first-of-two.npz")
        two.upload(npz(2000, 5, 2), "second-of-two.npz")
        for tab in (one, two):
            tab.query = ""
            tab.run(**{tab.widgets["Room"].id: ["Explore"]})
        for tab in (one, two):
            tab.text.clear()
        one.tick(["Matrix scaling"])  # not recommended for these rows: nobody but this visitor can have chosen it
        silent = not two.text
        two.run()
        one.run()
        shown = [b"".join(tab.text) for tab in (one, two)]
        ticked = ["matrix%22" in tab.link for tab in (one, two)]
        crossed = (b"second-of-two" in shown[0]) + (b"first-of-two" in shown[1])
        for tab in (one, two):
            tab.close()
    said = f"{crossed} names of the other's file; calibrator in the links: {ticked[0]} and {ticked[1]}"
    return "two tabs of one visitor, a file each, a calibrator in one", f"{said}; other redrawn {not silent}"


def full_disk() -> Line:
    """Measure uploads and a command where the folder for temporary files is full."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "small")
        place.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(place)], check=False)
        if mounted.returncode:
            return "a full disk", "not tried: no permission to mount one"
        try:
            return _on_full_disk(place)
        finally:
            subprocess.run(["umount", "-l", str(place)], check=True)


def _on_full_disk(place: Path) -> Line:
    import pandas as pd

    rows = pd.read_csv(ROOT / "demo_data" / "digits_naive_bayes.csv")
    parquet = place.parent / "own.parquet"
    rows.to_parquet(parquet)
    found = {}
    os.environ["TMPDIR"] = str(place)
    try:
        with _serve("--processes 1") as (url, _):
            tab = Tab(url)
            tab.run()
            _fill(place)  # only now: a program that starts on a full disk takes another folder
            tab.upload((ROOT / "demo_data" / "digits_naive_bayes.csv").read_bytes(), "kept.csv")
            tab.text.clear()
            tab.upload(parquet.read_bytes(), "own.parquet")
            text = b"".join(tab.text).decode(errors="replace").replace("\\", "")
            told = re.findall(r"own\.parquet could[^\x00-\x1f]{10,200}", text)
            found["Parquet"] = next(iter(told), "no sentence")
            tab.text.clear()
            tab.query = tab.link
            tab.run(**{tab.widgets["Room"].id: ["Explore"]})
            found["what was there before"] = "kept" if b"kept.csv" in b"".join(tab.text) else "lost"
            tab.close()
        for words in (["report", str(rows_csv()), "-o", str(place / "report.html")], ["audit", str(parquet)]):
            ended = subprocess.run(
                [sys.executable, "-c", "from dashboard.cli import main; main()", *words],
                capture_output=True, text=True, check=False, cwd=ROOT,
            )  # fmt: skip
            found[words[0]] = f"exit code {ended.returncode}, {ended.stderr.strip().splitlines()[-1][:160]}"
    finally:
        del os.environ["TMPDIR"]
    left = sorted(each.name for each in place.iterdir() if each.name not in ("filling", "rest"))
    return "a disk that is full", "; ".join(f"{what}: {said}" for what, said in found.items()) + f"; left {left}"


def _fill(place: Path) -> None:
    (place / "filling").write_bytes(b"0" * 40_000)
    with contextlib.suppress(OSError), (place / "rest").open("wb") as rest:
        while True:
            rest.write(b"0" * 512)
            rest.flush()


def rows_csv() -> Path:
    """Return predictions that have to be written about."""
    return ROOT / "demo_data" / "digits_naive_bayes.csv"


def soak(minutes: float = MINUTES) -> Line:
    """Measure the server's memory before and after visits with uploads, views, reports and deletions."""
    with _serve() as (url, pid):
        _visit(url, 0)
        time.sleep(45)
        before, most, visits, errors = memory(pid), 0.0, 0, Counter[str]()
        until = time.monotonic() + 60 * minutes

        def person(number: int) -> None:
            nonlocal most, visits
            while time.monotonic() < until:
                number += 3
                try:
                    _visit(url, number)
                    visits += 1
                except Exception as error:
                    errors[f"{type(error).__name__}: {error}"[:100]] += 1
                most = max(most, memory(pid)[1])

        with beside([lambda i=i: person(i) for i in range(3)]):
            pass
        time.sleep(60)
        after = memory(pid)
    said = f"server {before[0]:.0f} MB before, {after[0]:.0f} MB a minute after; with processes {before[1]:.0f} and"
    wrong = f"{sum(errors.values())} errors {dict(errors.most_common(2)) or ''}".strip()
    return f"{visits} visits in {minutes:g} minutes", f"{said} {after[1]:.0f} MB, at the most {most:.0f} MB; {wrong}"


def _visit(url: str, seed: int) -> None:
    """Come with a new file, look at every view, and leave."""
    tab = Tab(url)
    try:
        tab.run()
        tab.upload(npz(random.Random(seed).choice((500, 5000, 50_000)), 10, seed), f"own-{seed:04}.npz")
        for view in VIEWS:
            tab.query = view
            tab.run()
    finally:
        tab.close()


def first_page(visitors: int = 150) -> Line:
    """Measure the first page of many visitors at once, beside Streamlit's own smallest page in the same minute."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "hello.py")
        script.write_text(HELLO)
        bare = [sys.executable, "-m", "streamlit", "run", str(script), "--server.headless", "true"]
        bare += ["--server.port", str(PORT + 1), "--server.address", "127.0.0.1", "--browser.gatherUsageStats", "false"]
        other = subprocess.Popen(bare, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with _serve() as (url, _):
                time.sleep(10)
                asyncio.run(crowd.visits(url, 2))
                theirs_at = f"http://localhost:{PORT + 1}"
                asyncio.run(crowd.visits(theirs_at, 2))
                load = os.getloadavg()[0]
                ours, wrong = asyncio.run(crowd.visits(url, visitors))
                theirs, _ = asyncio.run(crowd.visits(theirs_at, visitors))
        finally:
            other.terminate()
            other.wait()
    ratio = sorted(ours)[len(ours) // 2] / sorted(theirs)[len(theirs) // 2]
    said = f"{spread(ours)}, {len(wrong)} not served; ten lines of plain Streamlit {spread(theirs)}"
    return f"{visitors} visitors at once, load {load:.1f} before", f"{said}; ratio of the medians {ratio:.1f}"


LINES: MappingProxyType[str, Callable[[], Line]] = MappingProxyType(
    {line.__name__: line for line in (slow_clients, killed_processes, two_tabs, full_disk, first_page, soak)}
)
"""Measurements by name."""

if __name__ == "__main__":
    for chosen in sys.argv[1:] or LINES:
        sys.stdout.write(f"{chosen}: {' | '.join(LINES[chosen]())}\n")
        sys.stdout.flush()
