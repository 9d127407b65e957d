"""Records of commands say the options that were given, and their numbers are those of the library at these options."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core.evaluation import advice
from calib_core.text import percent
from dashboard.cli import main
from dashboard.commands import audit


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with 200 risks: risk.csv; and sex.csv, where f is 16 points off, as the other rows are not."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.1, 0.6, 200).round(3)
    lines = [f"{a},{int(b)}" for a, b in zip(risk, rng.random(200) < risk, strict=True)]
    Path("risk.csv").write_text("\n".join(["risk,died", *lines]))
    died = [1] * 66 + [0] * 34 + [1] * 50 + [0] * 50
    sex = [f"0.5,{outcome},{'f' if place < 100 else 'm'}" for place, outcome in enumerate(died)]
    Path("sex.csv").write_text("\n".join(["risk,died,sex", *sex]))
    return tmp_path


def record(*words: Any) -> dict[str, Any]:
    """Return the JSON of a command, whatever its exit code."""
    form = ["--format", "json"] if words[0] == "gate" else ["--json"]
    called = CliRunner().invoke(main, [*map(str, words), *form])
    assert called.stdout, called.stderr
    found: dict[str, Any] = json.loads(called.stdout)
    return found


def test_a_record_of_an_audit_says_its_options() -> None:
    given = {"tolerance": 0.03, "ratio": 1.4, "share": 0.3, "seed": 5, "counting": "all"}
    words = [word for name, value in given.items() for word in (f"--{name}", value)]
    found = record("audit", "risk.csv", "--notion", "event", "--estimator", "ece", *words, "--level", 0.8)
    assert {name: found["options"][name] for name in given} == given
    assert found["level"] == 0.8
    assert {line["level"] for line in found["lines"]} == {0.8}


def test_the_verdict_of_an_audit_is_at_the_ratio_that_was_given() -> None:
    words = ["audit", "risk.csv", "--notion", "event", "--estimator", "ece", "--ratio", "3"]
    assert "within the tolerance of 0.333 to 3." in CliRunner().invoke(main, words).stdout


def test_a_record_of_a_gate_says_its_options(folder: Path) -> None:
    kept = record("gate", "risk.csv", "--max-ece", 0.1, "--level", 0.8)
    Path("kept.json").write_text(json.dumps(kept))
    given = {"max_ece": 0.07, "max_ratio": 1.5, "max_increase": 0.13, "overlap": "any", "level": 0.8}
    given |= {"notion": "event", "judge": "all"}
    words = [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", value)]
    found = record("gate", "risk.csv", *words, "--baseline", "kept.json", "--accept", "constant")
    assert {name: found["options"][name] for name in given} == given
    assert found["options"]["accept"] == ["constant"]
    (check,) = found["checks"]
    assert (check["limit"], check["max_ratio"]) == (0.07, 1.5)
    assert (check["increase"]["allowed"], check["increase"]["level"]) == (0.13, 0.8)


@pytest.mark.parametrize(("limit", "warned"), [(0.07, True), (0.1, False)])
def test_a_gate_warns_of_groups_beyond_its_own_limit(limit: float, warned: bool) -> None:
    """The interval of women is 7.3 to 23.9 points off: beyond a limit of 7, and on both sides of 10."""
    (check,) = record("gate", "sex.csv", "--max-ece", limit)["checks"]
    assert ("group-error" in [each["code"] for each in check["open_warnings"]]) == warned


def test_each_file_is_compared_with_the_baseline_of_its_name() -> None:
    kept = record("gate", "sex.csv", "risk.csv", "--max-ece", 0.1, "--notion", "event")
    Path("kept.json").write_text(json.dumps(kept))
    found = record("gate", "risk.csv", "sex.csv", "--baseline", "kept.json")
    names = [(each["kept"]["name"], each["increase"]["baseline"]["name"]) for each in found["checks"]]
    assert names == [("risk.csv", "risk.csv"), ("sex.csv", "sex.csv")]


def test_a_record_of_weighted_rows_has_their_effective_number() -> None:
    weights = np.linspace(0.2, 3, 200).round(3)
    lines = Path("risk.csv").read_text().splitlines()
    weighed = (f"{line},{weight}" for line, weight in zip(lines[1:], weights, strict=True))
    Path("weighed.csv").write_text("\n".join([f"{lines[0]},w", *weighed]))
    words = ["--notion", "event", "--estimator", "ece", "--read", "weights=w"]
    (judged,) = record("audit", "weighed.csv", *words)["models"].values()
    assert judged["rows"] == 200
    assert judged["effective_rows"] == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_the_update_of_a_group_is_judged_at_the_level_of_the_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = []
    monkeypatch.setattr(advice, "own_update", lambda rows, level=0.9: levels.append(level))
    record("choose", "risk.csv", "--candidate", "intercept", "--folds", 3, "--level", 0.7)
    assert set(levels) == {0.7}


def test_apply_says_the_share_of_rows_that_are_not_answered() -> None:
    rng = np.random.default_rng(1)
    probs = rng.dirichlet([1, 1, 1], 300).round(4)
    labels = (rng.random((300, 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1)
    lines = (",".join(map(str, (*row, label))) for row, label in zip(probs, labels, strict=True))
    Path("three.csv").write_text("\n".join(["0,1,2,label", *lines]))
    rows = cc.read_predictions("three.csv")
    fitted = cc.CALIBRATORS.make("metacal-accuracy", accuracy=0.7).fit_on(rows)
    Path("cal.json").write_text(fitted.to_json())
    silent = 1 - fitted.apply(rows).coverage
    assert 0.02 < silent < 0.48
    said = CliRunner().invoke(main, ["apply", "cal.json", "three.csv", "-o", "out.csv"]).stderr
    assert f"({percent(silent)} abstained)" in said


def test_an_audit_says_the_share_of_rows_that_a_model_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit._Audit, "coverage", {"Original": 1.0, "Meta-Cal": 0.25})
    words = ["audit", "risk.csv", "--notion", "confidence", "--estimator", "ece"]
    said = CliRunner().invoke(main, words).stdout
    assert re.findall(r".* answers .* of the rows\.", said) == [f"Meta-Cal answers {percent(0.25)} of the rows."]
