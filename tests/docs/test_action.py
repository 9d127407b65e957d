"""Files by which others run the gate: the action's own shell steps, and the hook of pre-commit."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from dashboard.cli import main

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
HOOK = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))[0]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
STEPS = ACTION["runs"]["steps"]
INPUTS = {"files": "a b.csv\n$(touch pwned).csv\n", "max-ece": "0.05", "options": "--read=label=y\n--bins=10"}
CALIB = """#!/usr/bin/env bash
printf '%s\\n' "$@" > arguments
exit 1
"""


def test_nothing_of_the_inputs_is_text_of_a_program():
    assert [step["name"] for step in STEPS] == ["Install", "Gate"]
    for step in STEPS:
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text("utf-8")))
    assert used == set(ACTION["inputs"])


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_the_steps_hand_over_every_input_as_it_is(tmp_path):
    """Run by bash like a runner, with a command in place of calib that records its arguments."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "calib").write_text(CALIB, encoding="utf-8")
    (tmp_path / "bin" / "calib").chmod(0o755)
    step = STEPS[1]
    names = {name: re.search(r"inputs\.([\w-]+)", text)[1] for name, text in step["env"].items()}
    env = {name: INPUTS.get(key, "") for name, key in names.items()} | {"GITHUB_OUTPUT": str(tmp_path / "out")}
    env |= {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert (tmp_path / "out").read_text("utf-8") == "exit-code=1\n"
    given = (tmp_path / "arguments").read_text("utf-8").splitlines()
    assert given == ["gate", "--format=github", "--max-ece=0.05", "--read=label=y", "--bins=10", "--", "a b.csv",
                     "$(touch pwned).csv"]  # fmt: skip
    assert not (tmp_path / "pwned").exists()


def test_every_option_that_the_action_and_the_hook_name_is_one_of_the_gates():
    known = set(re.findall(r"--[\w-]+", CliRunner().invoke(main, ["gate", "--help"]).stdout))
    assert {f"--{name}" for name in re.findall(r'"--([\w-]+)=\$', STEPS[1]["run"])} <= known
    assert "--format" in known
    assert HOOK["entry"] == "calib gate"
    assert HOOK["additional_dependencies"] == EXTRAS["parquet"]
    assert ACTION["inputs"]["package"]["default"] == ".[parquet]"
    for name, taken in (("predictions/a.csv", True), ("predictions.parquet", True), ("a.csv", False)):
        assert (re.search(HOOK["files"], name) is not None) == taken
