"""Planted faults in a copy of the package, one at a time, and the share that the tests catch.

A fault is tested by the tests that execute its line, as recorded by `executed`. Those of the nearest file come first,
then the quickest, as many as take ``--budget`` seconds. The command `make mutants` computes the lines missing in
`faults.csv`, prints the share caught and lists survivors. A deleted line is recomputed. Column ``tests`` counts those
that were to run, ``left`` those that execute the line and had no room. The reason for accepting a survivor is written
into ``why`` by hand, and preserved.
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
from executed import Executed
from fault_operators import Fault, Module, sample

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("faults.csv")
NAMED = ["module", "operator", "scope", "before", "after", "nth"]
COLUMNS = [*NAMED, "line", "outcome", "by", "tests", "left", "seconds", "why"]
PLACES = ["calib_core", "dashboard"]
"""Packages in which faults are planted."""
TESTS = ["tests/calib_core", "tests/dashboard", "tests/golden", "tests/laws", "tests/meaning"]
"""Tests that should catch them; a browser is too slow for it."""


def files_in(places: list[str], pattern: str) -> list[str]:
    """Return the files of this pattern in folders, and individually named files."""
    paths = [ROOT / place for place in places]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob(pattern))]
    return sorted({str(file.relative_to(ROOT)) for file in files})


@contextmanager
def copy_of_the_tree() -> Iterator[Path]:
    """Yield a folder with all files that git tracks or would track."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0")
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(lambda name: name and (ROOT / name).is_file(), names):
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, Path(folder) / name)
        yield Path(folder)


def run(tree: Path, tests: list[str], seconds: float, *more: str) -> tuple[str, str]:
    """Return (outcome, failed test): "survived", "caught", or "time" if the tests do not end."""
    shared = os.environ.get("CALIB_SHARED", str(ROOT.parent / "shared"))
    own = {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1", "CALIB_SHARED": shared}
    (tree / "tests.txt").write_text("\n".join(tests), "utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "-p", "no:randomly", *more, "@tests.txt"]
    with tempfile.TemporaryFile("w+") as out:
        started = subprocess.Popen(
            command, cwd=tree, env=os.environ | own, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = started.wait(seconds)
        except subprocess.TimeoutExpired:
            return "time", ""
        finally:  # all processes that the tests started end with them
            with suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        out.seek(0)
        text = out.read()
    if code not in (0, 1, 2, 4):
        raise SystemExit(f"pytest ended with {code}:\n{text[-2000:]}")
    if code == 0:
        return "survived", ""
    # 2 and 4: with the fault the tests cannot even be collected, as they were without it.
    failed = re.search(r"^(?:FAILED|ERROR) (.*)$", text, re.MULTILINE)
    return "caught", max((test for test in tests if failed and failed[1].startswith(test)), key=len, default="")


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
    """Return the existing lines, with the current line numbers."""
    return [known[fault.name] | {"line": str(fault.line)} for fault in faults if fault.name in known]


def main() -> int:
    asks = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asks.add_argument("--count", type=int, default=112, help="faults in all")
    asks.add_argument("--in", dest="where", nargs="*", default=PLACES, help="folders or modules to plant them in")
    asks.add_argument("--tests", nargs="*", default=TESTS, help="folders or files of the tests that may see them")
    asks.add_argument("--budget", type=float, default=90, help="seconds that the tests of one fault may take")
    asks.add_argument("--minutes", type=float, default=600, help="stop after so many; run it again to go on")
    asks.add_argument("--jobs", type=int, default=2, help="copies of the tree in which tests run at the same time")
    asks.add_argument("--out", type=Path, default=TABLE)
    given = asks.parse_args()
    modules = {file: (ROOT / file).read_bytes() for file in files_in(given.where, "*.py")}
    faults = sample([Module(path, source) for path, source in modules.items()], given.count)
    known, start = read(given.out), time.monotonic()
    missing = [fault for fault in faults if fault.name not in known]
    executed = Executed(files_in(given.tests, "test_*.py"), given.jobs)
    for test in sorted(executed.failing):
        sys.stderr.write(f"fails without a fault, and is left out: {test}\n")
    with ExitStack() as stack:
        trees = [stack.enter_context(copy_of_the_tree()) for _ in range(given.jobs)]
        if run(trees[0], [*executed.seconds], 3600, "--collect-only")[0] != "survived":
            raise SystemExit("without a fault the tests recorded are not found")

        def judge(fault: Fault) -> dict[str, str] | None:
            if time.monotonic() - start > 60 * given.minutes:
                return None
            tests, left = executed.chosen(fault.module, modules[fault.module], fault.line, given.budget)
            tree, begun, source = trees.pop(), time.monotonic(), modules[fault.module]
            (tree / fault.module).write_bytes(fault.planted(source))
            # On a busy machine tests take longer than they did.
            outcome, by = run(tree, tests, 60 + 5 * given.budget) if tests else ("survived", "")
            (tree / fault.module).write_bytes(source)
            trees.append(tree)
            seconds = f"{time.monotonic() - begun:.0f}"
            line = [*fault.name, str(fault.line), outcome, by, str(len(tests)), str(left), seconds, ""]
            return dict(zip(COLUMNS, line, strict=True))

        pool, caught_by = stack.enter_context(ThreadPoolExecutor(given.jobs)), set()
        for fault, line in zip(missing, pool.map(judge, missing), strict=True):
            if line:
                known[fault.name] = line
                caught_by |= {line["by"]} - {""}
                where = f"{fault.module}:{fault.line} {fault.operator}"
                sys.stderr.write(f"{where}: {line['outcome']} {line['by']} ({line['seconds']} s)\n")
                write(given.out, lines_of(faults, known))
        if caught_by and (found := run(trees[0], sorted(caught_by), 3600))[0] != "survived":
            raise SystemExit(f"without a fault: {found}; what it has caught is to be judged again")
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
