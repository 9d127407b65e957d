"""Plants faults in what is shown, one at a time, in a copy of the tree, and counts those that the tests see.

`make mutants` makes the lines that `faults.csv` lacks, prints the share caught and lists survivors; a line is made anew
when it is deleted. Why a survivor is let live is written into its column ``why`` by hand, and kept.
"""

import argparse
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from fault_operators import Fault, Module, sample

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("faults.csv")
NAMED = ["module", "operator", "scope", "before", "after", "nth"]
COLUMNS = [*NAMED, "line", "outcome", "by", "seconds", "why"]
CONCERNED = {
    "dashboard/": ["tests/dashboard", "tests/laws/test_exhibits.py"],
    "calib_core/figures/": ["tests/calib_core/figures", "tests/dashboard", "tests/laws/test_exhibits.py"],
}
"""Where faults are planted, and the tests that ought to see them; a path that is not there is left out."""


def tests_of(module: str, given: list[str]) -> list[str]:
    """Test files, those that name the module before the rest: whoever sees the fault first ends the run."""
    paths = given or next(paths for folder, paths in CONCERNED.items() if module.startswith(folder))
    files = [
        f for path in map(ROOT.joinpath, paths) for f in (sorted(path.rglob("test_*.py")) or [path]) if f.is_file()
    ]
    stem = Path(module).parent.name if module.endswith("__init__.py") else Path(module).stem
    named = re.compile(rf"\b{re.escape(stem.strip('_'))}\b")
    ranked = sorted(files, key=lambda file: (stem not in file.stem, not named.search(file.read_text("utf-8"))))
    return [str(file.relative_to(ROOT)) for file in ranked]


@contextmanager
def copy_of_the_tree() -> Iterator[Path]:
    """All files that git tracks or would track, in a folder of their own."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(lambda name: name and (ROOT / name).is_file(), names):
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, Path(folder) / name)
        yield Path(folder)


def run(tree: Path, tests: list[str], seconds: float) -> tuple[str, str]:
    """(outcome, first test that failed): "survived", "caught", or "time" where the tests do not come to an end."""
    shared = os.environ.get("CALIB_SHARED", str(ROOT.parent / "shared"))
    own = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1", "CALIB_SHARED": shared}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-m", "not browser", *tests]
    with tempfile.TemporaryFile("w+") as out:
        started = subprocess.Popen(
            command, cwd=tree, env=os.environ | own, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = started.wait(seconds)
        except subprocess.TimeoutExpired:
            return "time", ""
        finally:  # whatever the tests have started ends with them
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        out.seek(0)
        text = out.read()
    if code not in (0, 1, 2):
        raise SystemExit(f"pytest ended with {code}:\n{text[-2000:]}")
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
    return ("survived", "") if code == 0 else ("caught", failed[1] if failed else "")


def read(file: Path) -> dict[tuple[str, ...], dict[str, str]]:
    with file.open(newline="", encoding="utf-8") if file.exists() else open(os.devnull, encoding="utf-8") as text:
        return {tuple(line[name] for name in NAMED): line for line in csv.DictReader(text)}


def write(file: Path, lines: list[dict[str, str]]) -> None:
    with file.with_suffix(".part").open("w", newline="", encoding="utf-8") as text:
        table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(lines)
    file.with_suffix(".part").replace(file)


def lines_of(faults: list[Fault], known: dict[tuple[str, ...], dict[str, str]]) -> list[dict[str, str]]:
    """The lines that are there, with the line numbers of today."""
    return [known[fault.name] | {"line": str(fault.line)} for fault in faults if fault.name in known]


def main() -> int:
    asks = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asks.add_argument("--count", type=int, default=120, help="faults in all")
    asks.add_argument(
        "--in", dest="where", nargs="*", default=list(CONCERNED), help="folders or modules to plant them in"
    )
    asks.add_argument("--tests", nargs="*", default=[], help="tests to run instead of those concerned")
    asks.add_argument(
        "--seconds", type=float, default=900, help="a run of the tests that takes longer has seen the fault"
    )
    asks.add_argument("--minutes", type=float, default=600, help="stop after so many; run it again to go on")
    asks.add_argument("--jobs", type=int, default=2, help="copies of the tree in which tests run at the same time")
    asks.add_argument("--out", type=Path, default=TABLE)
    given = asks.parse_args()
    files = [
        f for place in map(ROOT.joinpath, given.where) for f in ([place] if place.is_file() else place.rglob("*.py"))
    ]
    modules = {str(f.relative_to(ROOT)): f.read_bytes() for f in sorted(files)}
    faults = sample([Module(path, source) for path, source in modules.items()], given.count)
    known, start = read(given.out), time.monotonic()
    missing = [fault for fault in faults if fault.name not in known]
    with ExitStack() as stack:
        trees = [stack.enter_context(copy_of_the_tree()) for _ in range(given.jobs)]
        if (
            missing
            and (found := run(trees[0], tests_of(missing[0].module, given.tests), given.seconds))[0] != "survived"
        ):
            raise SystemExit(f"without a fault: {found}; nothing can be told from tests that fail by themselves")

        def judge(fault: Fault) -> dict[str, str] | None:
            if time.monotonic() - start > 60 * given.minutes:
                return None
            tree, begun, source = trees.pop(), time.monotonic(), modules[fault.module]
            (tree / fault.module).write_bytes(fault.planted(source))
            outcome, by = run(tree, tests_of(fault.module, given.tests), given.seconds)
            (tree / fault.module).write_bytes(source)
            trees.append(tree)
            line = [*fault.name, str(fault.line), outcome, by, f"{time.monotonic() - begun:.0f}", ""]
            return dict(zip(COLUMNS, line, strict=True))

        pool = stack.enter_context(ThreadPoolExecutor(given.jobs))
        for fault, line in zip(missing, pool.map(judge, missing), strict=True):
            if line:
                known[fault.name] = line
                where = f"{fault.module}:{fault.line} {fault.operator}"
                sys.stderr.write(f"{where}: {line['outcome']} {line['by']} ({line['seconds']} s)\n")
                write(given.out, lines_of(faults, known))
    there = lines_of(faults, known)
    write(given.out, there)
    alive = [line for line in there if line["outcome"] == "survived"]
    for line in alive:
        piece = f"{line['before']} -> {line['after']}".replace("\n", " ")
        sys.stdout.write(f"{line['module']}:{line['line']} {line['operator']}: {piece}; why: {line['why'] or '?'}\n")
    caught = len(there) - len(alive)
    sys.stdout.write(
        f"{caught} of {len(there)} faults caught ({caught / max(len(there), 1):.0%}), {len(alive)} survive\n"
    )
    return int(len(there) < len(faults) or caught < 0.95 * len(there))


if __name__ == "__main__":
    sys.exit(main())
