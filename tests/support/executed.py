"""Tests that execute a line of the package, by coverage.py, and the duration of each."""

import ast
import hashlib
import os
import re
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "executed"
RECORDED = ["calib_core", "dashboard"]
TOOK = re.compile(r"^([\d.]+)s (?:setup|call|teardown) +(\S.*)$", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) (tests\S*(?:\[.*?\])?)(?: - |$)", re.MULTILINE)


def sources():
    """Return the modules whose lines are recorded."""
    return [file for place in RECORDED for file in sorted((ROOT / place).rglob("*.py"))]


class Executed:
    """Lines that the tests of some files execute; a folder's tests run once, and again when one or a module changes."""

    def __init__(self, files, jobs):
        self.code = hashlib.sha256(b"".join(file.read_bytes() for file in sources())).hexdigest()[:12]
        self.text = {file: (ROOT / file).read_text("utf-8") for file in files}
        self.seconds, self.failing = {}, set()
        self.lines = defaultdict(lambda: defaultdict(set))
        folders = defaultdict(list)
        for file in files:
            folders[Path(file).parent].append(file)
        with ThreadPoolExecutor(jobs) as pool:
            for kept in pool.map(self._record, folders, folders.values()):
                self._read(kept)

    def _record(self, folder, files):
        """Return the path of a folder's stored lines and times; its tests run in a separate process."""
        texts = "\0".join(part for file in files for part in (file, self.text[file]))
        kept = KEPT / f"{folder.name}-{hashlib.sha256(texts.encode()).hexdigest()[:12]}-{self.code}"
        if not (told := kept.with_suffix(".txt")).exists():
            KEPT.mkdir(parents=True, exist_ok=True)
            sys.stderr.write(f"what {folder} executes is recorded\n")
            own = {"COVERAGE_FILE": str(kept.with_suffix(".coverage")), "PYTHONDONTWRITEBYTECODE": "1"}
            own |= {"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}", "OPENBLAS_NUM_THREADS": "1"}
            command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-vv", "--durations=0", "--durations-min=0"]
            command += [*(f"--cov={place}" for place in RECORDED), "--cov-context=test", "--cov-report="]
            command += ["-m", "not browser and not wide", *files]
            ran = subprocess.run(command, cwd=ROOT, env=os.environ | own, capture_output=True, text=True, check=False)
            if ran.returncode not in (0, 1, 5):
                raise SystemExit(f"{folder}: pytest ended with {ran.returncode}:\n{ran.stdout[-2000:]}{ran.stderr}")
            told.write_text(ran.stdout, "utf-8")
        return kept

    def _read(self, kept):
        from coverage import CoverageData  # only who plants faults needs it

        text = kept.with_suffix(".txt").read_text("utf-8")
        took = defaultdict(float)
        for seconds, test in TOOK.findall(text):
            took[test] += float(seconds)
        self.seconds |= took
        self.failing |= set(FAILED.findall(text))
        data = CoverageData(str(kept.with_suffix(".coverage")))
        data.read()
        for file in data.measured_files():
            lines = self.lines[str(Path(file).relative_to(ROOT))]
            for line, contexts in data.contexts_by_lineno(file).items():
                for test, _, phase in (context.rpartition("|") for context in contexts if context):
                    # What a module's fixture executes, it executes once for all tests of the file.
                    of_file = phase == "setup" and 'scope="module"' in self.text[test.split("::")[0]]
                    lines[line] |= {t for t in took if t.split("::")[0] == test.split("::")[0]} if of_file else {test}

    def tests(self, module, source, line):
        """Return tests that execute the statement at a line, or the functions around it if it runs only at import."""
        for lines in around(ast.parse(source), line):
            if found := {test for number in lines for test in self.lines[module][number]}:
                return found - self.failing
        return set()

    def chosen(self, module, source, line, budget):
        """Return (tests, number left out) in a time budget: nearest file first, fastest test first, file by file."""
        executing = self.tests(module, source, line)
        if not executing:
            return [], 0
        files = {test.split("::")[0] for test in executing}
        # A test may see what an earlier one of its file has computed: it executes nothing of that itself.
        every = {test for test in self.seconds if test.split("::")[0] in files} - self.failing
        near = {file: nearness(module, file, self.text[file]) for file in files}
        ranked = sorted(every, key=lambda t: (t not in executing, near[t.split("::")[0]], self.seconds[t], t))
        taken, spent = [], 0.0
        for test in ranked:
            if spent + self.seconds[test] <= budget or not taken:
                taken.append(test)
                spent += self.seconds[test]
        order = list(dict.fromkeys(test.split("::")[0] for test in taken))
        kept = set(taken)
        return [test for f in order for test in self.seconds if test in kept and test.split("::")[0] == f], len(
            executing - kept
        )


def nearness(module, file, text):
    """Return 0 for tests named after the module, 1 for those that mention it, 2 for others."""
    stem = (Path(module).parent.name if module.endswith("__init__.py") else Path(module).stem).strip("_")
    return 0 if stem in Path(file).stem else 2 - bool(re.search(rf"\b{re.escape(stem)}\b", text))


def around(tree, line):
    """Yield lines of the statement at a line; if it runs at import, those of the functions in its construct."""
    holding = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno <= line <= n.end_lineno]
    innermost, *outer = sorted(holding, key=lambda node: node.end_lineno - node.lineno)
    if isinstance(innermost, ast.FunctionDef):  # its line contains the values of its arguments
        yield within(innermost)
    elif any(isinstance(node, ast.FunctionDef) for node in outer):
        body = getattr(innermost, "body", None)
        yield range(innermost.lineno, max(body[0].lineno, innermost.lineno + 1) if body else innermost.end_lineno + 1)
    else:
        yield from map(within, (innermost, *outer, tree))


def within(node):
    """Return the lines of the bodies of the functions in a piece of a module."""
    functions = [part for part in ast.walk(node) if isinstance(part, ast.FunctionDef)]
    return [line for function in functions for line in range(function.body[0].lineno, function.end_lineno + 1)]
