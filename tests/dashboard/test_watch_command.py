"""`calib watch`: exit codes, batches that are counted once, and a state that a failed run leaves as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from dashboard.cli import main


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    for week in range(8):
        risk = rng.uniform(0.1, 0.6, 300).round(4)
        died = rng.random(300) < (risk if week < 4 else 0.6 * risk)
        lines = [f"{a},{int(b)}" for a, b in zip(risk, died, strict=True)]
        (tmp_path / f"week-{week}.csv").write_text("\n".join(["risk,died", *lines]))
    return tmp_path


def watch(*words: Any) -> Result:
    return CliRunner().invoke(main, ["watch", "--state", "watch.json", *map(str, words)])


def test_exit_codes_are_fine_alarm_and_could_not_run(folder: Path) -> None:
    codes = [watch(f"week-{week}.csv", "--period", f"2026-10-{week + 1:02}").exit_code for week in range(8)]
    assert codes[:4] == [0] * 4
    assert codes[-2:] == [1, 1]
    found = watch("--json")
    record = json.loads(found.stdout)
    assert found.exit_code == 1
    assert record["alarm"]
    assert record["since"] in ("2026-10-04", "2026-10-05", "2026-10-06")
    assert [line["period"] for line in record["lines"]] == [f"2026-10-{week + 1:02}" for week in range(8)]
    assert [line["rows"] for line in record["lines"]] == [300] * 8
    assert watch("nowhere.csv").exit_code == 2


def test_a_file_that_comes_again_is_not_counted_again(folder: Path) -> None:
    watch("week-0.csv")
    before = (folder / "watch.json").read_bytes()
    again = watch("week-0.csv")
    assert again.exit_code == 0
    assert "week-0.csv was added before and is not counted again" in again.stderr
    assert (folder / "watch.json").read_bytes() == before
    other = watch("week-0.csv", "--period", "2")
    assert other.exit_code == 2
    assert "added to period 1 before" in other.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["week-1.csv", "--tolerance", "0.05"], "--tolerance was set with the first batch of watch.json"),
        (["week-1.csv", "--year", "12"], "--year was set with the first batch"),
        (["week-1.csv", "--tolerance", "0.02", "--max-ratio", "2"], "exclude each other"),
        (["--period", "3"], "--period goes with a file"),
    ],
)
def test_what_cannot_be_leaves_the_state_as_it_was(folder: Path, words: list[str], said: str) -> None:
    watch("week-0.csv")
    before = (folder / "watch.json").read_bytes()
    failed = watch(*words)
    assert failed.exit_code == 2
    assert said in failed.stderr
    assert (folder / "watch.json").read_bytes() == before


def test_a_setting_that_is_the_same_may_be_said_again(folder: Path) -> None:
    assert watch("week-0.csv", "--tolerance", "0.05", "--false-alarms", "0.01").exit_code == 0
    assert watch("week-1.csv", "--tolerance", "0.05", "--false-alarms", "0.01").exit_code == 0
    assert json.loads(watch("--json").stdout)["options"]["tolerance"] == 0.05


def test_a_batch_whose_reading_is_in_doubt_is_not_added(folder: Path) -> None:
    words = ["high", "medium", "low"]
    lines = [f"{words[k % 3]},{int(k % 3 < 2)}" for k in range(90)]
    (folder / "words.csv").write_text("\n".join(["confidence,correct", *lines]))
    refused = watch("words.csv")
    assert refused.exit_code == 2
    assert "words.csv was not added, because of a warning" in refused.stderr
    assert not (folder / "watch.json").exists()
    code = refused.stderr.rpartition("--accept ")[2].strip(" .\n")
    assert "was not added" not in watch("words.csv", "--accept", code).stderr
    assert json.loads((folder / "watch.json").read_text())["event"] == ""


def test_a_model_that_fails_altogether_is_an_alarm_and_not_a_doubt(folder: Path) -> None:
    rng = np.random.default_rng(3)
    risk = rng.choice([0.02, 0.98], 400)
    died = rng.random(400) < 0.5
    lines = [f"{a},{int(b)}" for a, b in zip(risk, died, strict=True)]
    (folder / "broken.csv").write_text("\n".join(["risk,died", *lines]))
    assert watch("broken.csv").exit_code == 1


def test_other_files_as_a_state_are_refused_and_kept(folder: Path) -> None:
    (folder / "watch.json").write_text('{"schema": "calib-gate/1"}')
    failed = watch("week-0.csv")
    assert failed.exit_code == 2
    assert "watch.json is not the state of a watch" in failed.stderr
    assert (folder / "watch.json").read_text() == '{"schema": "calib-gate/1"}'
    assert CliRunner().invoke(main, ["watch", "--state", "none.json"]).exit_code == 2


def test_another_slice_of_a_file_is_another_batch(folder: Path) -> None:
    lines = (folder / "week-0.csv").read_text().splitlines()
    sites = ["site", *(f"{'ab'[place % 2]}" for place in range(300))]
    (folder / "sites.csv").write_text("\n".join(f"{line},{site}" for line, site in zip(lines, sites, strict=True)))
    for part in ("a", "b", "b"):
        assert watch("sites.csv", "--where", f"site={part}", "--period", "1").exit_code == 0
    assert json.loads(watch("--json").stdout)["rows"] == 300


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--accept", "wrods"], "--accept: no warning has the code 'wrods'"),
        (["--tolerance", "0.02"], "--tolerance was set with the first batch"),
    ],
)
def test_settings_that_mean_nothing_here_are_refused(folder: Path, words: list[str], said: str) -> None:
    assert watch("week-0.csv", "--max-ratio", "1.5").exit_code == 0
    refused = watch("week-1.csv", *words)
    assert refused.exit_code == 2
    assert said in refused.stderr
