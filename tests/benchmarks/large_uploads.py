"""Large files of many users on one server: its capacity, the messages to others, and its memory.

    python -m tests.benchmarks.large_uploads --sessions 20 --rows 50000 --classes 1000 --memory-gb 4

All users upload the same bytes under different names at the same moment (50,000 x 1,000 are 200 MB as float32), and
leave the tab open. Memory is that of the server, without and with its worker processes.
"""

import argparse
import os
import re
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from tests.benchmarks.load_sessions import Tab, npz, serving

_SENTENCES = re.compile(
    rb"(?:This file takes about|You have \d+ uploads|Your uploads take|Too many files)[^\x00-\x1f]{20,400}"
)


def main() -> None:
    """Print what became of the uploads."""
    options = _options()
    data = npz(options.rows, options.classes, 0)
    options.command = f"serve --sessions 200 --memory-gb {options.memory_gb}"
    say = sys.stdout.write
    with serving(options) as (url, process):
        assert process is not None
        before, most, ended = memory(process.pid), [0.0, 0.0], threading.Event()

        def watch() -> None:
            while not ended.wait(0.1):
                now = memory(process.pid)
                most[:] = [max(most[0], now[0]), max(most[1], now[1])]

        watching = threading.Thread(target=watch)
        watching.start()
        outcomes, seconds = _uploads(url, data, options.sessions)
        held = memory(process.pid)
        time.sleep(30)
        ended.set()
        watching.join()
        say(f"{options.sessions} files of {len(data) / 1e6:.0f} MB at once, --memory-gb {options.memory_gb:g}\n")
        for outcome, times in outcomes.most_common():
            say(f"{times} x {outcome}\n")
        say(f"last answer after {max(seconds):.0f} s\nserver alone, and with its processes, in MB: ")
        say(", ".join(f"{what} {a:.0f} and {b:.0f}" for what, (a, b) in _named(before, most, held).items()))
        say(f", 30 s after the tabs were closed {' and '.join(f'{m:.0f}' for m in memory(process.pid))}\n")


def _named(before: tuple[float, float], most: list[float], held: tuple[float, float]) -> dict[str, tuple[float, float]]:
    return {"before": before, "most": (most[0], most[1]), "with all tabs open": held}


def _uploads(url: str, data: bytes, sessions: int) -> tuple[Counter[str], list[float]]:
    outcomes: Counter[str] = Counter()
    seconds: list[float] = []
    together = threading.Barrier(sessions)
    answered = threading.Barrier(sessions)

    def person(number: int) -> None:
        try:
            tab = Tab(url)
            tab.run()
            together.wait()
            tab.text.clear()
            seconds.append(tab.upload(data, f"own-{number:04}.npz"))
            refusal = _SENTENCES.search(b"".join(tab.text))
            outcomes[_plain(refusal[0]) if refusal else "taken"] += 1
        except Exception as error:
            outcomes[f"{type(error).__name__}: {error}"[:150]] += 1
        answered.wait()
        if "tab" in locals():
            tab.close()

    threads = [threading.Thread(target=person, args=(i,)) for i in range(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes, seconds


def _plain(sentence: bytes) -> str:
    # Figures differ from one to the next.
    return re.sub(r"[\d.,]+(?= [MGk]?B)", "…", sentence.decode(errors="replace").replace("\\", ""))[:250]


def memory(pid: int) -> tuple[float, float]:
    """Return the megabytes of a process, without and with all processes it started."""
    own = _own(pid)
    rest = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        rest += _own(int(folder.name)) if parent == pid else 0.0
    return own, own + rest


def _own(pid: int) -> float:
    """Return its memory; memory shared between processes counts in equal parts."""
    try:
        found = re.search(r"Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=20)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--memory-gb", type=float, default=4.0)
    parser.add_argument("--port", type=int, default=8766)
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[2])
    options = parser.parse_args()
    options.url = ""
    return options


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
