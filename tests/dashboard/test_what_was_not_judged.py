"""Omitted rows, and models after the first, are named by the library and in every output of commands."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core.readers import read_models, read_predictions
from dashboard.cli import main

N, SILENT = 90, 30
LEFT = f"{SILENT} records have no confidence and are left out"
BESIDE = 'The file has 2 models. Only "raw" is evaluated, not "calibrated"'


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write tasks of which a third has no confidence, and predictions before and after calibration."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    rng = np.random.default_rng(0)
    p, y = rng.uniform(0.05, 0.95, N), rng.random(N)
    tasks = {
        f"t{i}": {"reward": float(y[i] < p[i]), "cost": 0.1, "confidence": None if i % 3 == 0 else p[i]}
        for i in range(N)
    }
    Path("tasks.json").write_text(json.dumps(tasks), "utf-8")
    columns = {"predict": (p > 0.5).astype(int), "p0": 1 - p, "p1": p, "cal_p0": 1 - p**2, "cal_p1": p**2}
    pd.DataFrame({**columns, "y": (y < p).astype(int)}).to_csv("h2o.csv", index=False)


def outputs(name: str, form: str) -> list[str]:
    """Return the outputs of a gate for people: on both streams, and in JUnit XML."""
    arguments = ["gate", name, "--max-ece", "0.5", "--format", form, "--junit", "a.xml"]
    ended = CliRunner().invoke(main, arguments, prog_name="calib")
    junit = "".join(each.text or "" for each in ElementTree.parse("a.xml").iter())
    return [ended.stderr if form == "text" else ended.stdout, junit]


@pytest.mark.parametrize("form", ["text", "github", "json"])
@pytest.mark.parametrize(("name", "sentence"), [("tasks.json", LEFT), ("h2o.csv", BESIDE)])
def test_every_output_of_the_gate_says_what_was_not_judged(name: str, sentence: str, form: str) -> None:
    for output in outputs(name, form):
        assert sentence in output.replace("\\", "")


def test_the_library_says_it_and_who_chose_a_model_is_not_told() -> None:
    assert any(LEFT in note for note in read_predictions("tasks.json").notes)
    with pytest.warns(UserWarning, match=r"^h2o.csv: The file has 2 models") as caught:
        found = read_predictions("h2o.csv")
    assert len(caught) == 1
    assert any(BESIDE in note for note in found.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any("alone" in note for note in read_predictions("h2o.csv", model="calibrated").notes)
        assert not any("alone" in note for each in read_models("h2o.csv").values() for note in each.notes)


def test_every_finding_that_is_a_warning_is_a_warning_of_python() -> None:
    rows = pd.DataFrame({"question_id": np.arange(N) // 3, "confidence": 0.5, "correct": np.arange(N) % 2})
    rows.to_csv("a.csv", index=False)
    with pytest.warns(UserWarning, match="a.csv") as caught:
        found = cc.read_predictions("a.csv")
    texts = [str(each.message) for each in caught]
    assert len(texts) == 2
    assert any("All 90 rows have the same confidence" in text for text in texts)
    assert any("90 rows are repeated attempts at 30 questions" in text for text in texts)
    assert all(text.removeprefix("a.csv: ") in found.notes for text in texts)
