"""Run the code blocks of a documentation page, in order, in one folder.

A page is Markdown. Its ``python`` blocks share one namespace. The ``calib``, ``python`` and ``pytest`` lines of its
``sh`` blocks run too. A block with ``title="NAME"`` is written to that file. A ``text`` block that follows is what it
prints (``...`` stands for anything). A block that assigns ``figure`` shows this figure. ``<!-- wide -->`` above a block
marks it as slow. File names such as predictions.csv stand for the demo data in ``FILES``.

Usage: python -m tests.docs.executed PAGE
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import click
import pandas as pd
from click.testing import CliRunner

from calib.__main__ import main

ROOT = Path(__file__).parents[2]
DEMOS = ROOT / "demo_data"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
EXAMPLES = {file.read_text("utf-8") for file in (ROOT / "tests/extension/files").glob("*.py")}
"""Blocks that tests/extension installs as a package and runs."""

BLOCK = re.compile(r"^(?P<wide><!-- wide -->\n)?```(?P<language>\w+)(?P<rest>[^\n]*)\n(?P<code>.*?)^```$", re.M | re.S)
SERVERS = ("dashboard", "serve")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FILES = {
    "predictions.csv": "digits_naive_bayes.csv",
    "old.csv": "digits_naive_bayes.csv",
    "risk.csv": "breast_cancer_svm.csv",
    "answers.jsonl": "language_model.jsonl",
}


@dataclass(frozen=True)
class Block:
    """Block of code and the output that the page shows for it, with the ends of the code and of both in the page."""

    language: str
    code: str
    title: str
    expected: str | None
    wide: bool
    line: int
    code_end: int
    end: int


@dataclass(frozen=True)
class Result:
    """Output of a block, and the figure that it assigned, if any."""

    block: Block
    printed: str
    figure: object = None


def blocks(text: str) -> list[Block]:
    """Return all blocks of code in a page; a ``text`` block belongs to the block above it.

    >>> [(each.code, each.expected) for each in blocks("```python\\nprint(1)\\n```\\n\\n```text\\n1\\n```\\n")]
    [('print(1)\\n', '1\\n')]
    """
    found: list[Block] = []
    matches = list(BLOCK.finditer(text))
    for match, following in zip_longest(matches, matches[1:]):
        if match["language"] == "text":
            continue
        output = following if following and following["language"] == "text" else None
        if output and text[match.end() : output.start()].strip():
            output = None
        title = re.search(r'title="([^"]+)"', match["rest"])
        found.append(
            Block(
                language=match["language"],
                code=match["code"],
                title=title[1] if title else "",
                expected=output["code"] if output else None,
                wide=bool(match["wide"]),
                line=text.count("\n", 0, match.start()) + 1,
                code_end=match.end(),
                end=(output or match).end(),
            )
        )
    return found


def prepare(folder: Path) -> None:
    """Put the files that pages use into a folder."""
    (folder / "demo_data").symlink_to(DEMOS)
    for name, source in FILES.items():
        shutil.copyfile(DEMOS / source, folder / name)
    forest = pd.read_parquet(DEMOS / "digits_random_forest.parquet")
    forest.to_csv(folder / "new.csv", index=False)
    rows = pd.read_csv(folder / "predictions.csv").sample(frac=1, random_state=0)
    rows[: len(rows) // 2].to_csv(folder / "calibration.csv", index=False)
    rows[len(rows) // 2 :].to_csv(folder / "test.csv", index=False)


def run(page: Path, folder: Path, wide: bool = False) -> Iterator[Result]:
    """Run a page's blocks in a prepared folder, slow ones on request."""
    namespace: dict[str, object] = {"__name__": "__page__"}
    for block in blocks(page.read_text("utf-8")):
        if block.wide and not wide:
            continue
        if block.title:
            (folder / block.title).write_text(block.code, encoding="utf-8")
            yield Result(block, "")
        elif block.language == "python" and block.code not in EXAMPLES:
            before = namespace.get("figure")
            printed = _python(block, namespace, page, folder)
            figure = namespace.get("figure")
            yield Result(block, printed, None if figure is before else figure)
        elif block.language == "sh":
            yield Result(block, "".join(command(words, status, folder) for words, status in commands(block.code)))


def _python(block: Block, namespace: dict[str, object], page: Path, folder: Path) -> str:
    # Line numbers of a traceback are those of the page.
    code = compile("\n" * block.line + block.code, str(page), "exec")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, namespace)
    return printed.getvalue()


def commands(code: str) -> Iterator[tuple[list[str], int]]:
    """Yield the commands of a shell block as words, and the exit code that a comment states (0 by default).

    >>> list(commands("calib gate a.csv --max-ece 0.05  # exit code 1"))
    [(['calib', 'gate', 'a.csv', '--max-ece', '0.05'], 1)]
    """
    for line in code.replace("\\\n", " ").splitlines():
        stated = re.search(r"# exit code (\d)", line)
        if words := shlex.split(line, comments=True):
            yield words, int(stated[1]) if stated else 0


def command(words: list[str], status: int, folder: Path) -> str:
    name, *arguments = words
    if name == "calib" and arguments[0] in SERVERS:
        # Only the reading of options can fail here; the servers have other tests.
        with contextlib.chdir(folder):
            command = main.get_command(click.Context(main), arguments[0])
            assert command is not None, words
            command.make_context(arguments[0], arguments[1:])
    elif name == "calib" and "--with" not in arguments:
        return _calib(arguments, status, folder)
    elif name in ("calib", "python", "pytest"):
        return _separately(words, status, folder)
    elif name == "make":
        assert re.search(rf"^{arguments[0]}:", (ROOT / "Makefile").read_text("utf-8"), re.M), words
    elif words[:2] == ["pip", "install"]:
        extras = re.search(r"\[(.*)\]", words[2])
        declared = (ROOT / "pyproject.toml").read_text("utf-8")
        for extra in extras[1].split(",") if extras else ():
            assert re.search(rf"^{extra} = \[", declared, re.M), words
    return ""


def _calib(arguments: list[str], status: int, folder: Path) -> str:
    target = folder / arguments[-1] if ">" in arguments else None
    with contextlib.chdir(folder):
        done = CliRunner().invoke(main, arguments[:-2] if target else arguments, prog_name="calib")
    assert done.exit_code == status, f"calib {shlex.join(arguments)}: exit code {done.exit_code}\n{done.output}"
    if target:
        target.write_text(done.stdout, encoding="utf-8")
    return "" if target else done.stdout


def _separately(words: list[str], status: int, folder: Path) -> str:
    """Run a command in a separate process: the modules that it loads stay out of this one."""
    name, *arguments = words
    before = {"calib": ["-m", "calib"], "python": [], "pytest": ["-m", "pytest", "-p", "calib_core"]}[name]
    command = [sys.executable, *before, *arguments]
    # A script imports the checkout that runs it, installed or not.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == status, f"{shlex.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def agrees(result: Result) -> bool:
    """Return True if a block printed what its page shows; a block without shown output may print anything."""
    expected = result.block.expected
    return expected is None or doctest.OutputChecker().check_output(expected, result.printed, FLAGS)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        prepare(Path(name))
        seconds, wrong = time.process_time(), 0
        for each in run(Path(sys.argv[1]).absolute(), Path(name), wide=True):
            took, seconds = time.process_time() - seconds, time.process_time()
            mark = "" if agrees(each) else ": not what the page shows"
            sys.stdout.write(f"line {each.block.line}, {took:.1f} s{mark}\n{each.printed}\n")
            wrong += bool(mark)
    sys.exit(wrong > 0)
