"""`calib choose` says and writes what the library chooses."""

import json
import math

import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from dashboard.cli import main

CANDIDATES = ("temperature", "isotonic-ovr")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    data, _ = cc.datasets.demo("wine-logistic")
    path = tmp_path_factory.mktemp("choose") / "wine.npz"
    path.write_bytes(data)
    return path


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["choose", *map(str, arguments)], prog_name="calib")
    assert result.exit_code == code, result.output
    return result


def tried():
    return [word for key in CANDIDATES for word in ("--candidate", key)]


def test_the_record_holds_what_the_library_chooses(file):
    record = json.loads(run(file, *tried(), "--folds", 3, "--seed", 4, "--json").stdout)
    found = cc.choose(cc.read_predictions(file), CANDIDATES, folds=3, random_state=4)
    assert record["recommended"] == found.recipe.to_dict()
    assert record["gain"]["low"] == found.gain.low
    assert record["sentences"] == [found.sentence, *found.price]
    assert record["options"] == {"score": "log-loss", "folds": 3, "seed": 4, "level": 0.9, "rows": "auto",
                                 "chosen_on": "chosen on all 178 rows"}  # fmt: skip
    for line, wanted in zip(record["lines"], found.frame().to_dict("records"), strict=True):
        for name, value in wanted.items():
            finite = not isinstance(value, float) or math.isfinite(value)
            assert line[name] == (value if finite else None)


def test_it_says_first_what_to_do_and_then_a_line_a_calibrator(file):
    said = run(file, *tried()).stdout.splitlines()
    found = cc.choose(cc.read_predictions(file), CANDIDATES)
    assert said[:2] == [f"{file.name}: chosen on all 178 rows", found.sentence]
    for title in found.frame()["title"]:
        assert any(line.startswith(title) for line in said)
    assert said[-len(found.notes) :] == list(found.notes)


def test_it_chooses_on_the_calibration_rows_where_a_column_marks_them(tmp_path):
    rows = cc.read_predictions(*cc.datasets.demo("wine-logistic"))
    frame = pd.DataFrame(rows.probs, columns=["p_a", "p_b", "p_c"])
    frame["label"] = [["a", "b", "c"][y] for y in rows.true_labels]
    frame["split"] = ["cal" if i % 3 else "test" for i in range(len(frame))]
    frame.to_csv(tmp_path / "marked.csv", index=False)
    for more, n in (((), sum(i % 3 > 0 for i in range(178))), (("--rows", "all"), 178)):
        record = json.loads(run(tmp_path / "marked.csv", "--candidate", "temperature", "--json", *more).stdout)
        assert record["rows"] == n


def test_what_cannot_be_is_one_sentence(file):
    assert "did you mean 'temperature'" in run(file, "--candidate", "temperatur", code=2).stderr
    assert "--json and --csv exclude each other" in run(file, "--json", "--csv", code=2).stderr
    assert run(file, *tried(), "--csv").stdout.startswith("calibrator,title,score,gain,low,high")
