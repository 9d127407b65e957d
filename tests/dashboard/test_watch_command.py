"""`calib watch`: exit codes, batches that are counted once, and a state that a failed run leaves as it was."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from calib_core import Predictions
from calib_core.monitoring import Watch, write_watch
from dashboard.cli import main
from dashboard.commands import watch as watch_command
from dashboard.commands._shared_options import ReadingOptions

SCHEMA = Draft202012Validator(
    json.loads(Path(watch_command.__file__).with_name("watch.schema.json").read_text("utf-8"))
)


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
    assert (
        "To choose an update, put the rows since 2026-10-05 into a file and run calib choose on it." in watch().stdout
    )
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


# ---- baselines, slices and labels that come later -------------------------------------------------------------


def late_labels(folder: Path, share: float) -> None:
    """Write scores.csv of 100 rows, and labels.csv of a share of them."""
    rng = np.random.default_rng(5)
    risk = rng.uniform(0.1, 0.6, 100).round(4)
    died = rng.random(100) < risk
    (folder / "scores.csv").write_text("\n".join(["id,risk", *(f"{place},{a}" for place, a in enumerate(risk))]))
    labels = [f"{place},{int(b)}" for place, b in enumerate(died) if place < 100 * share]
    (folder / "labels.csv").write_text("\n".join(["id,label", *labels]))


JOINED = ["scores.csv", "--labels", "labels.csv", "--key", "id", "--period", "2026-10"]


def test_a_file_waits_for_its_labels(folder: Path) -> None:
    late_labels(folder, 0.62)
    for words in (JOINED, []):
        waits = watch(*words)
        assert waits.exit_code == 0
        assert waits.stdout == "Period 2026-10 waits: labels of 62 % so far (62 of 100 rows).\n"
    for form in ("--json", "--csv", "--metrics", "--github"):
        told = watch(form)
        assert told.exit_code == 0, told.stderr
    assert 'calib_watch_rows_waiting{state="watch.json"} 100.0' in watch("--metrics").stdout
    SCHEMA.validate(json.loads(watch("--json").stdout))
    late_labels(folder, 1.0)
    assert "100 outcomes in 1 period." in watch(*JOINED).stdout
    assert "is not counted again" in watch(*JOINED).stderr


def test_a_file_is_closed_or_given_up(folder: Path) -> None:
    late_labels(folder, 0.62)
    watch(*JOINED)
    assert "62 outcomes in 1 period. 38 rows have no outcome and are left out." in watch(*JOINED, "--close").stdout
    late_labels(folder, 0.3)
    (folder / "scores.csv").write_text((folder / "scores.csv").read_text() + "\n500,0.5")
    assert "2026-11 waits" in watch(*JOINED[:-1], "2026-11").stdout
    assert "2026-11" not in watch("--period", "2026-11", "--close").stdout


def test_a_file_whose_missing_labels_are_accepted_is_added(folder: Path) -> None:
    late_labels(folder, 0.62)
    assert "62 outcomes in 1 period. 38 rows have no outcome" in watch(*JOINED, "--accept", "unlabelled").stdout


def test_an_alarm_about_a_slice_alone_has_its_exit_code_in_the_record_too(folder: Path) -> None:
    rng = np.random.default_rng(0)
    risk, site = rng.uniform(0.2, 0.6, 600), np.arange(600) % 4
    happened = np.where(site == 0, 1, np.where(site < 3, 0, rng.random(600) < risk)).astype(int)
    rows = Predictions(np.column_stack([1 - risk, risk]), happened, metadata=pd.DataFrame({"site": site.astype(str)}))
    write_watch(Watch(limit=0.3, by=("site",)).add(rows, 1), folder / "watch.json")
    found = watch("--json")
    record = json.loads(found.stdout)
    assert (record["of_all_rows"], record["of_slices"], record["alarm"]) == (False, True, True)
    assert found.exit_code == record["exit_code"] == 1
    assert "To choose an update" not in watch().stdout  # which would be an update for all rows


def test_a_baseline_of_the_gate_is_the_limit(folder: Path) -> None:
    gate = CliRunner().invoke(main, ["gate", "week-0.csv", "--max-ece", "0.1", "--bins", "10", "--format", "json"])
    (folder / "released.json").write_text(gate.stdout)
    high = json.loads(gate.stdout)["checks"][0]["kept"]["high"]
    words = ["--baseline", "released.json", "--max-increase", "0.03"]
    assert watch("week-1.csv", *words).exit_code == 0
    assert json.loads(watch("--json").stdout)["options"]["baseline"]["limit"] == pytest.approx(high + 0.03)
    assert watch("week-2.csv", *words).exit_code == 0
    other = watch("week-3.csv", "--baseline", "released.json", "--max-increase", "0.1")
    assert other.exit_code == 2
    assert "--baseline was set with the first batch" in other.stderr
    (folder / "released.json").write_text(gate.stdout.replace('"high": 0.', '"high": 0.9'))
    assert watch("week-3.csv", *words).exit_code == 2


SAMPLE = re.compile(r'(?P<name>[a-z_]+)\{state="watch\.json"(,slice="(?P<slice>[^"\\]*)")?\} (?P<value>\S+)')


def openmetrics(text: str) -> dict[tuple[str, str], float]:
    """Return the samples of OpenMetrics text by name and slice, each after the type and the help of its family."""
    *lines, last = text.removesuffix("\n").split("\n")
    assert last == "# EOF"
    found, family, described = {}, "", ""
    for line in lines:
        if line.startswith("# TYPE "):
            family = line.removeprefix("# TYPE ").removesuffix(" gauge")
        elif line.startswith("# HELP "):
            described = line.split(" ")[2]
        else:
            each = SAMPLE.fullmatch(line)
            assert each is not None, line
            assert each["name"] == family == described
            found[each["name"], each["slice"] or ""] = float(each["value"])
    return found


def test_slices_are_named_since_when_in_every_form(folder: Path) -> None:
    rng = np.random.default_rng(2)
    for week in range(6):
        risk = rng.uniform(0.1, 0.6, 400).round(4)
        site = np.array(["north", "south"])[np.arange(400) % 2]
        died = rng.random(400) < np.where((site == "south") & (week > 1), 0.3 * risk, risk)
        lines = [f"{a},{b},{int(c)}" for a, b, c in zip(risk, site, died, strict=True)]
        (folder / "sites.csv").write_text("\n".join(["risk,site,died", *lines]))
        last = watch("sites.csv", "--by", "site", "--junit", "watch.xml")
    assert last.exit_code == 1
    record = json.loads(watch("--json").stdout)
    SCHEMA.validate(record)
    assert not SCHEMA.is_valid({**record, "exit_code": 2})
    assert [each["name"] for each in record["slices"]] == ["site=south"]
    assert record["slices"][0]["since"] in ("2", "3", "4")
    assert [line["slice"] for line in record["slice_lines"]] == ["site=north", "site=south"]
    assert "predictions for site=south are too high by" in last.stdout
    assert watch("--github").stdout.startswith("::error title=calib watch%3A alarm::Alarm in period ")
    case = ElementTree.parse(folder / "watch.xml").getroot().find("testsuite/testcase")
    assert case is not None
    assert case.find("failure") is not None
    told = openmetrics(watch("--metrics").stdout)
    assert told["calib_watch_alarm", ""] == 1
    assert told["calib_watch_slice_off", "site=north"] == 0
    assert told["calib_watch_slice_off", "site=south"] == 1
    fields = ["alarm", "gap", "gap_low", "gap_high", "rows", "periods"]
    whole = dict(zip(fields, fields, strict=True)) | {"evidence": "e_value", "evidence_needed": "needed"}
    expected = {(f"calib_watch_{name}", ""): record[field] for name, field in whole.items()}
    of_slices = {"evidence": "e_value", "off": "stands_out", "gap_low": "gap_low", "gap_high": "gap_high"}
    for name, field in of_slices.items():
        expected |= {(f"calib_watch_slice_{name}", line["slice"]): line[field] for line in record["slice_lines"]}
    assert told == {**expected, ("calib_watch_rows_waiting", ""): 0}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["week-0.csv", "--max-increase", "0.1"], "--max-increase goes with --baseline"),
        (["week-0.csv", "--max-ece", "0.1", "--max-ratio", "2"], "--max-ratio and --max-ece exclude each other"),
        (["--batch", "a"], "--batch goes with a file"),
        (["--close"], "--close goes with a file, or with --period"),
        (["week-0.csv", "--junit", "-"], "--junit takes the name of a file"),
        (["week-0.csv", "--by", "nothing"], "have no metadata columns"),
        (["week-0.csv", "--period", "12.10.2026"], "write dates as 2026-10-12"),
        (["week-0.csv", "--baseline", "week-0.csv"], "is not a baseline"),
    ],
)
def test_what_does_not_go_together_is_refused(folder: Path, words: list[str], said: str) -> None:
    refused = watch(*words)
    assert refused.exit_code == 2
    assert said in refused.stderr
    assert not (folder / "watch.json").exists()


def test_equal_files_are_two_batches_if_they_have_names(folder: Path) -> None:
    for name in ("a", "b", "b"):
        assert watch("week-0.csv", "--period", "1", "--batch", name).exit_code == 0
    assert json.loads(watch("--json").stdout)["rows"] == 600


def test_a_file_without_labels_is_looked_at_and_not_added(folder: Path) -> None:
    watch("week-0.csv", "--period", 1)
    before = (folder / "watch.json").read_bytes()
    scores = [line.split(",")[0] for line in (folder / "week-1.csv").read_text().splitlines()]
    (folder / "bare.csv").write_text("\n".join(scores))
    (folder / "sicker.csv").write_text(
        "\n".join(["risk", *(f"{min(0.35 + float(each), 1):.4f}" for each in scores[1:])])
    )
    same = watch("bare.csv", "--before-labels", "week-0.csv")
    assert same.exit_code == 0
    mean = np.mean([float(each) for each in scores[1:]])
    assert f"If the predictions are still calibrated, the event happens in {mean:.0%}".replace("%", " %") in same.stdout
    assert "The distribution of the scores does not differ significantly from that of the labeled rows." in same.stdout
    changed = watch("sicker.csv", "--before-labels", "week-0.csv", "--json")
    assert changed.exit_code == 1
    record = json.loads(changed.stdout)
    SCHEMA.validate(record)
    assert (record["alarm"], record["exit_code"]) == (True, 1)
    assert "The distribution of the scores differs from that of the labeled rows." in record["sentence"]
    assert record["sentence"].endswith("Only outcomes show whether the predictions are still calibrated.")
    assert (folder / "watch.json").read_bytes() == before
    # Without a state, too: none is created.
    alone = CliRunner().invoke(main, ["watch", "--state", "none.json", "bare.csv", "--before-labels", "week-0.csv"])
    assert alone.exit_code == 0
    assert not (folder / "none.json").exists()


def test_a_look_before_labels_has_the_share_of_one_period(folder: Path) -> None:
    """Each period of a year may be looked at once, so that all looks share the false alarms of the year."""
    (folder / "bare.csv").write_text("risk\n0.1\n0.4\n0.3\n")
    given = Watch(alpha=0.1, horizon=4), Path("bare.csv"), Path("week-0.csv"), ReadingOptions()
    assert watch_command._before_labels(*given).drift.needed == pytest.approx(2 / (0.1 / 4))


def test_labeled_rows_beside_a_file_have_no_place_elsewhere(folder: Path) -> None:
    (folder / "bare.csv").write_text("risk\n0.1\n0.4\n0.3\n")
    labeled = watch("week-1.csv", "--before-labels", "week-0.csv")
    assert labeled.exit_code == 2
    assert "week-1.csv has labels: leave out --before-labels to add it" in labeled.stderr
    for more in (["--close"], ["--batch", "a"], ["--where", "risk=0..1"]):
        assert watch("bare.csv", "--before-labels", "week-0.csv", *more).exit_code == 2
    assert watch("--before-labels", "week-0.csv").exit_code == 2


# ---- files without any label ----------------------------------------------------------------------------------


def test_a_file_without_any_label_waits_and_is_known_by_its_key_later(folder: Path) -> None:
    late_labels(folder, 1.0)
    labels = (folder / "labels.csv").read_text().splitlines()
    waits = watch("scores.csv", "--period", "2026-10")
    assert waits.exit_code == 0
    assert waits.stdout == "Period 2026-10 waits: none of its 100 rows has a label so far.\n"
    assert "scores.csv has no labels: its 100 rows wait." in waits.stderr
    before = (folder / "watch.json").read_bytes()
    assert watch("scores.csv", "--period", "2026-10").exit_code == 0
    (folder / "labels.csv").write_text("id,label\n900,1\n901,0\n")  # of another month
    assert watch(*JOINED).stdout == waits.stdout
    assert (folder / "watch.json").read_bytes() == before
    SCHEMA.validate(json.loads(watch("--json").stdout))
    (folder / "labels.csv").write_text("\n".join(labels[:2]))
    assert "labels of 1 % so far (1 of 100 rows)" in watch(*JOINED).stdout
    (folder / "labels.csv").write_text("\n".join(labels))
    assert "100 outcomes in 1 period." in watch(*JOINED).stdout
    again = watch("scores.csv", "--period", "2026-10")
    assert "is not counted again" in again.stderr
    assert "100 outcomes in 1 period." in again.stdout


def test_labels_that_come_into_the_file_itself_are_waited_for(folder: Path) -> None:
    rows = (folder / "week-0.csv").read_text().splitlines()[1:]
    for known, said in ((0, "none of its 300 rows has a label"), (90, "labels of 30 % so far (90 of 300 rows)")):
        lines = [row if place < known else row.split(",")[0] + "," for place, row in enumerate(rows)]
        (folder / "october.csv").write_text("\n".join(["risk,died", *lines]))
        assert said in watch("october.csv", "--period", "2026-10").stdout
    done = watch("week-0.csv", "--period", "2026-10")
    assert "300 outcomes in 1 period." in done.stdout
    for name in ("week-0.csv", "october.csv"):
        assert "is not counted again" in watch(name, "--period", "2026-10").stderr
    assert watch().stdout == done.stdout
    # A row without a score is an error, with labels and without.
    for row in (",1", ",", "much,"):
        (folder / "broken.csv").write_text("\n".join(["risk,died", *rows[:20], row, "0.3,"]))
        assert watch("broken.csv").exit_code == 2


def test_a_file_of_all_labels_so_far_is_one_for_every_batch(folder: Path) -> None:
    late_labels(folder, 1.0)
    (folder / "labels.csv").write_text((folder / "labels.csv").read_text() + "\n900,1\n901,0")
    assert "100 outcomes in 1 period." in watch(*JOINED).stdout


def test_a_file_that_waits_by_mistake_is_named_or_forgotten(folder: Path) -> None:
    rows = (folder / "week-0.csv").read_text().splitlines()[1:]
    (folder / "odd.csv").write_text("\n".join(["risk,x7", *(f"{row}.5" for row in rows)]))
    assert "If it has labels already, name their column (--label COLUMN)." in watch("odd.csv").stderr
    assert "there is nothing to add" in watch("odd.csv", "--close").stderr
    assert "300 outcomes in 1 period." in watch("odd.csv", "--label", "x7").stdout
    (folder / "watch.json").unlink()
    watch("odd.csv")
    closed = watch("--period", "1", "--close")
    assert (closed.exit_code, closed.stdout) == (0, "No batch was added yet, and none waits.\n")
    assert watch().exit_code == 2
    (folder / "notes.csv").write_text("a,b\nx,y\nz,w\n")
    assert watch("notes.csv").exit_code == 2


def test_a_summary_of_a_period_has_the_state_of_its_rows(folder: Path) -> None:
    for week in range(3):
        made = CliRunner().invoke(main, ["summarise", f"week-{week}.csv", "-o", f"week-{week}.parquet"])
        assert made.exit_code == 0
        for ending in ("csv", "parquet"):
            words = [f"week-{week}.{ending}", "--state", f"{ending}.json", "--max-ece", "0.05", "--batch", str(week)]
            assert CliRunner().invoke(main, ["watch", *words]).exit_code == 0
    assert (folder / "csv.json").read_bytes() == (folder / "parquet.json").read_bytes()
    refused = watch("week-0.parquet")
    assert refused.exit_code == 2
    assert "no likelihood ratios of single rows" in refused.stderr
