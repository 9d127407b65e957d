"""Results of attempts to break the project: writes tests/scoreboard.md.

python -m tests.scoreboard # everything, for hours python -m tests.scoreboard --mutants 800 --questions 100 # fewer of
both, noted in the table python -m tests.scoreboard --only bad_files reproducibility # some lines; others of the same
day stay

Each line is one measurement; pytest runs and counts the tests behind the other lines.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib.metadata
import itertools
import os
import platform
import random
import re
import resource
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

Options = argparse.Namespace
Line = Callable[[Options], tuple[str, str]]
ROOT = Path(__file__).parents[1]
OUTPUT = Path(__file__).with_suffix(".md")
MUTANTS, HANG_SECONDS = 16_000, 10.0
INJECTION = (
    *(f"tests/dashboard/test_{name}.py" for name in ("report", "theme", "export", "data_view", "commands")),
    *("tests/calib_core/figures", "tests/calib_core/exporting", "tests/calib_core/papers/test_tables.py"),
)
REPORTED = ("toggles", "cross-talk", "errors", "150 visitors")
WORDS_OF_INJECTION = "hostile or names_are_text or escaped or formula or terminal or markup"
FAULTS = tuple(f"tests/dashboard/test_{name}.py" for name in ("outputs", "interrupts", "killed_server"))
LINKS = ("tests/dashboard/test_broken_links.py", "tests/dashboard/test_selection.py")
ALL = ("-m", "wide or not wide")
SAME_BITS = """
import hashlib, numpy as np, calib_core as cc
rng = np.random.default_rng(0)
p = rng.dirichlet([0.4] * 10, 9_000)
y = (rng.random((9_000, 1)) > p.cumsum(axis=1)[:, :9]).sum(axis=1)
fit, test = cc.Predictions(p, y).split(0.5, random_state=0)
lines = []
for key in ("identity", "temperature", "vector", "isotonic-ovr", "dirichlet", "top-label-hb", "matrix", "lece"):
    found = cc.CALIBRATORS.make(key).fit_on(fit).apply(test)
    for estimator in ("ece", "debiased-l2", "smece", "max-deviation", "log-loss"):
        if estimator == "log-loss" and found.kind != "full":
            continue
        notion = None if estimator == "log-loss" else "top-label"
        estimate = cc.estimate(found, notion, estimator)
        interval = estimate.interval()
        lines += [float(v).hex() for v in (estimate.value, interval.low, interval.high)]
print(hashlib.sha256(" ".join(lines).encode()).hexdigest())
"""


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=MUTANTS, help="damaged files")
    parser.add_argument("--questions", type=int, default=1 << 30, help="about numbers; all, unless fewer")
    parser.add_argument("--sessions", type=int, default=20, help="people on the server")
    parser.add_argument(
        "--only", nargs="+", choices=LINES, default=list(LINES), help="lines of the table that are made"
    )
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        sys.stdout.write(" | ".join(PARTS[options.part](options)) + "\n")
        return
    before = _lines_of_today()
    lines = [
        (title, *(made(options) if name in options.only else before.get(title, ("not in this run", ""))))
        for name, made in LINES.items()
        if (title := name.replace("_", " "))
    ]
    table = "\n".join(f"| {' | '.join(line)} |" for line in (("what", "tried", "found"), ("---",) * 3, *lines))
    OUTPUT.write_text(f"{_heading()}\n\n{table}\n")
    sys.stdout.write(OUTPUT.read_text())


def _lines_of_today() -> dict[str, tuple[str, str]]:
    """Return the lines in the table from the same day and versions, by their first column."""
    if not OUTPUT.exists() or not (text := OUTPUT.read_text()).startswith(_heading()):
        return {}
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: (row[1], row[2]) for row in rows if len(row) == 3}


def _heading() -> str:
    names = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "streamlit")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    return (
        f"# What was tried to break it\n\n{datetime.datetime.now(datetime.UTC):%Y-%m-%d}, Python "
        f"{platform.python_version()}, {versions}. `make scoreboard` makes this table anew: "
        f"{MUTANTS:,} damaged files, and every question about numbers. A hang is more than "
        f"{HANG_SECONDS:g} s of processor time; memory is the most that a process of its own held."
    )


# -- parts in separate processes ------------------------------------------------------------------------------------


def bad_files(_: Options) -> tuple[str, str]:
    """Measure every file of the corpus against its expected outcome."""
    from tests.corpus.every_family import FAMILIES
    from tests.corpus.promises import broken_promise

    files = [file for made in FAMILIES.values() for file in made()]
    before = _most_memory()
    wrong, crashes, hangs = _tried((lambda file=file: broken_promise(file)) for file in files)
    held = f"{before:.0f} MB with all files made, {_most_memory():.0f} MB at the most"
    return f"{len(files)} files", _outcome(crashes, hangs, f"{wrong} answers otherwise than promised", held)


def damaged_files(options: Options) -> tuple[str, str]:
    """Measure seeded copies of good files of every format, and of files of every other tool."""
    from tests.corpus.mutations import foreign_files, good_files, mutants, outcome

    files, outcomes = {**good_files(), **foreign_files()}, Counter[str]()
    each = -(-options.mutants // len(files))

    def tried(data: bytes, name: str) -> str:
        outcomes[outcome(data, name)] += 1
        return ""

    _, crashes, hangs = _tried(
        (lambda damaged=damaged, name=name: tried(damaged, name))
        for form, (data, name) in files.items()
        for damaged in mutants(form, data, each, seed=7)
    )
    read = ", ".join(f"{outcomes[word]:,} {word}" for word in ("refused", "read"))
    return f"{each * len(files):,} files", _outcome(crashes, hangs, read, f"{_most_memory():.0f} MB at the most")


def wild_numbers(options: Options) -> tuple[str, str]:
    """Measure row sets x calibrators x estimators with their intervals."""
    from tests.corpus.wild_numbers import every_question, fault

    asked = every_question()
    some = random.Random(0).sample(asked, min(options.questions, len(asked)))
    wrong, crashes, hangs = _tried((lambda each=each: fault(each)) for each in some)
    return f"{len(some):,} of {len(asked):,} questions", _outcome(
        crashes, hangs, f"{wrong} neither finite nor a sentence", f"{_most_memory():.0f} MB at the most"
    )


def injection(_: Options) -> tuple[str, str]:
    """Measure names that could become code x outputs that contain names."""
    from tests.support.hostile_outlets import NAMES, OUTLETS, PDF, REPORT, faults

    outlets = {**OUTLETS, "report": REPORT, "PDF": PDF}
    wrong = {name: found for name, outlet in outlets.items() if (found := faults(outlet))}
    sys.stderr.write("".join(f"{name}: {found}\n" for name, found in wrong.items()))
    return (
        f"{len(NAMES) * len(outlets):,} pairs: {len(NAMES)} names x {len(outlets)} outlets ({'; '.join(outlets)})",
        f"{sum(map(len, wrong.values()))} that are code or not seen as they are",
    )


PARTS: dict[str, Line] = {
    "bad_files": bad_files,
    "damaged_files": damaged_files,
    "wild_numbers": wild_numbers,
    "injection": injection,
}


def _tried(calls: Iterable[Callable[[], str]]) -> tuple[int, int, int]:
    """Return how many calls give a wrong result, raise, and exceed their time limit."""
    wrong = crashes = hangs = 0
    for call in calls:
        start = time.process_time()
        try:
            answer = call()
            wrong += bool(answer)
        except Exception as e:
            crashes += 1
            answer = f"{type(e).__name__}: {e}"
        if answer:
            sys.stderr.write(f"{answer[:300]}\n")
        hangs += time.process_time() - start > HANG_SECONDS
    return wrong, crashes, hangs


def _outcome(crashes: int, hangs: int, *more: str) -> str:
    return ", ".join((f"{crashes} crashes", f"{hangs} hangs", *filter(None, more)))


def _most_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _in_a_process(part: str, options: Options) -> tuple[str, str]:
    command = [sys.executable, "-W", "ignore", "-m", "tests.scoreboard", "--part", part]
    command += ["--mutants", str(options.mutants), "--questions", str(options.questions)]
    ended = subprocess.run(command, cwd=ROOT, env=_environment(), stdout=subprocess.PIPE, text=True, check=False)
    if ended.returncode:
        return "-", f"the process ended with {ended.returncode}"
    tried, _, found = ended.stdout.strip().partition(" | ")
    return tried, found


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", **more}


# -- parts from other files -----------------------------------------------------------------------------------------


def _tests(files: Iterable[str], *chosen: str) -> tuple[str, str]:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "--tb=no", *files, *chosen]
    said = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True, check=False).stdout
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|error|skipped)", said)}
    return f"{sum(counts.values())} tests", ", ".join(f"{n} {word}" for word, n in counts.items()) or "none ran"


def _injected(options: Options) -> tuple[str, str]:
    """Measure pairs, and the tests that check one output more closely."""
    (pairs, found), (tests, passed) = _in_a_process("injection", options), _tests(INJECTION, "-k", WORDS_OF_INJECTION)
    return f"{pairs}, and {tests}", f"{found}; {passed}"


def _reproducible() -> tuple[str, str]:
    """Measure equality of numbers in processes of 1, 2 and 8 workers, and of 1 and 2 threads of BLAS."""
    found = Counter(
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SAME_BITS],
            cwd=ROOT,
            env=_environment(CALIB_THREADS=workers, OPENBLAS_NUM_THREADS=threads),
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
        for workers, threads in itertools.product("128", "12")
    )
    same = "the same bits" if len(found) == 1 else f"{len(found)} different results"
    same = "a process failed" if "" in found else same
    return "1, 2 and 8 workers x 1 and 2 threads of BLAS, 120 numbers each", same


def _sessions(count: int) -> tuple[str, str]:
    command = [sys.executable, "-m", "tests.benchmarks.load_sessions", "--sessions", str(count), "--seconds", "20"]
    ended = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True, check=False)
    lines = [line for line in ended.stdout.splitlines() if line.startswith(REPORTED)]
    return f"{count} sessions for 20 s, then 150 visitors", "; ".join(lines) or "the server did not start"


def _large_files() -> tuple[str, str]:
    command = [sys.executable, "-m", "tests.benchmarks.large_uploads", "--sessions", "20", "--memory-gb", "4"]
    ended = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True, check=False)
    lines = [line for line in ended.stdout.splitlines() if " x " in line or "MB: " in line]
    return "20 uploads of 200 MB at once, --memory-gb 4", "; ".join(lines) or "the server did not start"


LINES: dict[str, Line] = {
    **{part: lambda options, part=part: _in_a_process(part, options) for part in PARTS},
    "injection": _injected,
    "links": lambda _: _tests(LINKS, *ALL, "-k", "link"),
    "faults": lambda _: _tests(FAULTS, *ALL),
    "reproducibility": lambda _: _reproducible(),
    "sessions": lambda options: _sessions(options.sessions),
    "large uploads": lambda _: _large_files(),
}
"""Lines of the table by name."""


if __name__ == "__main__":
    import calib_core.readers.formats.parquet

    # Decoded in this process: what a decoder does to it is to be seen, and one process a file would take hours.
    calib_core.readers.formats.parquet._HAS_LIMITS = False
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    with contextlib.suppress(KeyboardInterrupt), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
