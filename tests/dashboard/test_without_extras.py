"""The command without any extra: no Streamlit, no Plotly; and without modules of POSIX systems."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib_core.inference.gate_baselines import seals
from dashboard.cli import main

ROOT = Path(__file__).parents[2]
ABSENT = ("streamlit", "plotly", "PIL", "pyarrow", "jinja2", "onnx", "orjson", "duckdb", "distributed")
POSIX = ("resource", "fcntl", "pwd", "grp")
CALLS = ("fork", "getuid", "geteuid", "setsid", "sched_getaffinity", "sysconf", "killpg", "fchmod", "O_NONBLOCK",
         "nice", "memfd_create", "pwrite", "uname", "statvfs")  # fmt: skip


def new_process(*absent):
    """Return the start of a program in which modules seem not installed, and the system is not Linux."""
    return f"""
import importlib.machinery, json, os, signal, sys, sysconfig
sysconfig.get_config_vars()  # read while the interpreter knows where it is
sys.platform = "another"
for name in {CALLS}:
    vars(os).pop(name, None)
for name in ("SIGKILL", "SIGHUP", "SIGALRM"):
    delattr(signal, name)
find = importlib.machinery.PathFinder
class Installed:
    find_spec = staticmethod(lambda name, *a: None if name.split(".")[0] in {absent} else find.find_spec(name, *a))
    find_distributions, invalidate_caches = find.find_distributions, find.invalidate_caches
sys.meta_path[sys.meta_path.index(find)] = Installed
for name in {absent}:
    sys.modules.pop(name, None)
"""


RUNS = """
from click.testing import CliRunner
from dashboard.cli import main
answers = []
for line in json.load(sys.stdin):
    answer = CliRunner().invoke(main, line, prog_name="calib")
    if answer.exception is not None and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    answers.append((answer.exit_code, answer.stdout, answer.stderr))
print(json.dumps(answers))
"""
COMMANDS = ("gate", "audit", "compare", "fit", "apply", "choose", "plan", "slices", "summarise", "show", "tables",
            "arena", "lab", "reproduce", "export", "report", "dashboard", "serve", "help")  # fmt: skip
KEPT = {"name": "a.csv", "notion": "confidence", "estimator": "ece", "bins": "15 equal width", "classes": None,
        "rows": 40, "about": "the error in these bins, given these predictions", "level": 0.95,
        "low": 0.0, "point": 0.1, "high": 0.3}  # fmt: skip
WORK = (
    ["gate", "a.csv", "--max-ece", "0.3", "--format", "json", "--junit", "g.xml"],
    ["audit", "a.csv", "--notion", "confidence", "--estimator", "ece"],
    ["compare", "a.csv", "b.csv", "--notion", "confidence", "--estimator", "brier"],
    ["fit", "a.csv", "--calibrator", "temperature", "-o", "cal.json"],
    ["apply", "cal.json", "b.csv", "-o", "out.csv"],
    ["help", "noise-floor"],
)
NEEDS = {
    ("report", "a.csv", "-o", "r.html"): "calib[app]",
    ("dashboard", "a.csv", "--headless"): "calib[app]",
    ("serve",): "calib[app]",
    ("summarise", "a.csv", "-o", "c.parquet"): "calib[parquet]",
    ("apply", "cal.json", "b.csv", "-o", "out.parquet"): "calib[parquet]",
    ("export", "cal.json", "-o", "cal.onnx"): "calib[onnx]",
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Return the output of each command line in one process in which no module of the extras can be imported."""
    folder = tmp_path_factory.mktemp("bare")
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 200)
    names = np.array(["Ärger", "日本", "neutral"])
    frame = pd.DataFrame(p, columns=[f"p_{name}" for name in names])
    frame = frame.assign(label=names[[rng.choice(3, p=row) for row in p]], site=np.arange(200) % 2)
    for name in ("a.csv", "b.csv"):
        frame.to_csv(folder / name, index=False)
    lines = [*([name, "--help"] for name in COMMANDS), *WORK, *map(list, NEEDS)]
    env = os.environ | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    # Text has no encoding by default that could write these names: cp1252 of Windows lacks one of them, ASCII two.
    env |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "PYTHONIOENCODING": "ascii:strict"}
    command = [sys.executable, "-c", new_process(*ABSENT, *POSIX) + RUNS]
    how = {"capture_output": True, "text": True, "cwd": folder, "env": env, "timeout": 100, "check": False}
    done = subprocess.run(command, input=json.dumps(lines), **how)
    assert done.returncode == 0, done.stderr
    return {tuple(line): answer for line, answer in zip(lines, json.loads(done.stdout), strict=True)}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_help(answers, name):
    code, text, _ = answers[name, "--help"]
    assert code == 0
    assert text.startswith(f"Usage: calib {name}")


@pytest.mark.parametrize("line", WORK, ids=lambda line: line[0])
def test_it_works_without_the_dashboard(answers, line):
    code, text, why = answers[tuple(line)]
    assert code in ((0, 1) if line[0] == "gate" else (0,)), why
    assert text or line[0] in ("fit", "apply"), why


@pytest.mark.parametrize("line", NEEDS, ids=lambda line: line[0])
def test_what_needs_more_says_what_to_install(answers, line):
    code, text, why = answers[line]
    assert (code, text) == (2, "")
    last = why.splitlines()[-1]
    assert last.startswith(f"calib {line[0]}: ")
    assert NEEDS[line] in last
    assert "a mistake of the program" not in why


def test_a_console_that_lacks_a_character_stops_no_command(tmp_path, monkeypatch):
    """Windows gives pipes its own code page, which has no minus sign."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"confidence": [0.9] * 40, "correct": [1] * 30 + [0] * 10}).to_csv("a.csv", index=False)
    Path("old.json").write_text(
        json.dumps({"schema": "calib-gate/1", "checks": [{"kept": KEPT} | seals({"kept": KEPT})]}), "utf-8"
    )
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr(sys, "stdout", stdout)
    with pytest.raises(SystemExit) as ended:
        main(["gate", "a.csv", "--baseline", "old.json"], prog_name="calib")
    stdout.flush()
    assert ended.value.code == 1
    assert b"\\u2212" in stdout.buffer.getvalue()
