"""Files around the code, for people: citation, workflows, completion in shells. Each names files that exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.shell_completion import get_completion_class

import calib_core
from calib.__main__ import main

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_the_citation_is_of_this_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    released = re.search(r"^## (\S+) - (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert (cited["version"], str(cited["date-released"])) == released.groups()
    assert calib_core.__version__.startswith(cited["version"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_there_is_and_no_text_of_others(path):
    text = path.read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    assert steps
    for step in steps:
        code = step.get("run", "")
        assert "${{" not in code, "what others write is no program: hand it over as a variable"
        for target in re.findall(r"\bmake ([a-z-]+)", code):
            assert re.search(rf"^{target}:", makefile, re.M), target
        for named in re.findall(r"\btests/[\w/.]+", code):
            assert (ROOT / named).exists(), named
    assert re.search(r"^permissions:\n  contents: read$", text, re.M)


def test_a_page_of_security_conduct_and_contributing_leads_somewhere():
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md"):
        for link in re.findall(r"\]\(([^)#\s]+)", (ROOT / name).read_text("utf-8")):
            assert (ROOT / link).exists(), (name, link)


def test_the_paper_is_short_and_cites_what_it_lists():
    text = (ROOT / "paper/paper.md").read_text("utf-8").split("---\n", 2)[2]
    assert len(text.split()) <= 1000
    cited = set(re.findall(r"@(\w+)", text))
    listed = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper/paper.bib").read_text("utf-8"), re.M)
    assert cited == set(listed)
    assert len(listed) == len(set(listed))
    assert "# Statement of need" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(shell):
    shown = get_completion_class(shell)(main, {}, "calib", "_CALIB_COMPLETE")
    assert "_CALIB_COMPLETE" in shown.source()
    assert (ROOT / "docs/how-to/install.md").read_text("utf-8").count(f"_CALIB_COMPLETE={shell}_source calib") == 1
    assert [each.value for each in shown.get_completions([], "ga")] == ["gate"]
    assert "--max-ece" in [each.value for each in shown.get_completions(["gate"], "--max")]
    assert "temperature" in [each.value for each in shown.get_completions(["fit", "--calibrator"], "tem")]
    assert "reliability" in [each.value for each in shown.get_completions(["show"], "reli")]
    assert "noise-floor" in [each.value for each in shown.get_completions(["help"], "noise")]


def test_the_command_completes_itself():
    env = os.environ | {"_CALIB_COMPLETE": "bash_complete", "COMP_WORDS": "calib wat", "COMP_CWORD": "1"}
    command = [sys.executable, "-c", "import sys; sys.argv[0] = 'calib'; from calib.__main__ import main; main()"]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert done.stdout == "plain,watch\n", done.stderr
