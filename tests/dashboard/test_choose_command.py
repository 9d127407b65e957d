"""`calib choose` prints and writes the library's choice."""

import json
import math
import shlex

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core.registry.registry import Recipe
from calib_core.text import short_percent
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
    assert record["shown_error"], "rows that Spiegelhalter's test finds an error in"
    assert record["sentences"] == [found.sentence, record["shown_error"], *found.price]
    assert record["options"] == {"score": "log-loss", "folds": 3, "seed": 4, "level": 0.9, "rows": "auto",
                                 "chosen_on": "chosen on all 178 rows"}  # fmt: skip
    for line, wanted in zip(record["lines"], found.frame().to_dict("records"), strict=True):
        for name, value in wanted.items():
            finite = not isinstance(value, float) or math.isfinite(value)
            assert line[name] == (value if finite else None)


def test_it_says_first_what_to_do_and_then_a_line_a_calibrator(file):
    said, more = (run(file, *tried(), *words).stdout.splitlines() for words in ((), ("--details",)))
    found = cc.choose(cc.read_predictions(file), CANDIDATES)
    assert said[:3] == more[:3] == [f"{file.name}: chosen on all 178 rows", "", found.sentence]
    for title in found.frame()["title"]:
        assert any(line.startswith(title) for line in said)
    start = more.index("How the calibrator was chosen") + 1
    assert more[start : start + len(found.notes)] == [f"  {note}" for note in found.notes]
    assert not {f"  {note}" for note in found.notes} & set(said)
    assert not set(found.notes) & set(said)


def test_it_chooses_on_the_calibration_rows_where_a_column_marks_them(tmp_path):
    rows = cc.read_predictions(*cc.datasets.demo("wine-logistic"))
    frame = pd.DataFrame(rows.probs, columns=["p_a", "p_b", "p_c"])
    frame["label"] = [["a", "b", "c"][y] for y in rows.true_labels]
    frame["split"] = ["cal" if i % 3 else "test" for i in range(len(frame))]
    frame.to_csv(tmp_path / "marked.csv", index=False)
    for more, n in (((), sum(i % 3 > 0 for i in range(178))), (("--rows", "all"), 178)):
        record = json.loads(run(tmp_path / "marked.csv", "--candidate", "temperature", "--json", *more).stdout)
        assert record["rows"] == n
    said = run(tmp_path / "marked.csv", "--candidate", "temperature").stdout.splitlines()[0]
    fit = frame["split"] == "cal"
    assert said == f"marked.csv: chosen on {fit.sum()} calibration rows, judged on {(~fit).sum()} held-out rows"


def test_what_cannot_be_is_one_sentence(file):
    assert "did you mean 'temperature'" in run(file, "--candidate", "temperatur", code=2).stderr
    assert "--json and --csv exclude each other" in run(file, "--json", "--csv", code=2).stderr
    assert run(file, *tried(), "--csv").stdout.startswith("calibrator,title,score,gain,low,high")


def test_what_is_recommended_for_confidences_is_an_option_that_audit_and_fit_accept(tmp_path):
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 0.99, 600)
    path, kept = tmp_path / "answers.csv", tmp_path / "map.json"
    right = rng.random(600) < 0.5 + 0.4 * (confidence - 0.5)
    pd.DataFrame({"confidence": confidence.round(3), "correct": right.astype(int)}).to_csv(path, index=False)
    record = json.loads(run(path, "--json").stdout)
    recipe = record["recommended"]
    assert recipe["key"] == "confidence"
    option = run(path).stdout.rpartition("--calibrator ")[2]
    assert json.loads(shlex.split(option)[0]) == recipe, "what is printed is what is recommended"
    title = Recipe.from_dict("CALIBRATORS", recipe).title
    line = next(line for line in record["lines"] if line["title"] == title)
    assert line["rows_needed"] in (50, 100, 150)
    for command in (("audit", path), ("fit", path, "-o", kept)):
        call = [*map(str, command), "--calibrator"]
        done = CliRunner().invoke(main, [*call, json.dumps(recipe)], prog_name="calib")
        assert done.exit_code == 0, done.output
        refused = CliRunner().invoke(main, [*call, "temperature"], prog_name="calib")
        assert refused.exit_code == 2
        offered = json.loads(shlex.split(refused.output.rpartition("--calibrator ")[2])[0])
        assert offered == {"key": "confidence", "params": {"binary": {"key": "temperature"}}}
    assert CliRunner().invoke(main, ["fit", str(path), "-o", str(kept), "--calibrator", "{no"]).exit_code == 2


def test_where_the_model_is_kept_it_does_as_well_as_the_best(tmp_path):
    rng = np.random.default_rng(1)
    confidence = rng.uniform(0.5, 0.99, 300)
    path = tmp_path / "calibrated.csv"
    right = (rng.random(300) < confidence).astype(int)
    pd.DataFrame({"confidence": confidence.round(3), "correct": right}).to_csv(path, index=False)
    record = json.loads(run(path, "--json").stdout)
    assert not record["gain_shown"]
    assert record["lines"][0]["calibrator"] == "identity"
    assert record["lines"][0]["equal_to_best"]


def test_a_gap_beside_the_advice_is_that_of_the_rows_that_are_judged(tmp_path):
    """The calibration rows are right, so that nothing is recalibrated; the test rows are far off."""
    rng = np.random.default_rng(6)
    risk, fit = rng.uniform(0.05, 0.95, 900), np.arange(900) < 300
    died = rng.random(900) < np.where(fit, risk, 0.5 * risk)
    frame = pd.DataFrame({"risk": risk, "died": died.astype(int), "split": np.where(fit, "cal", "test")})
    frame.to_csv(tmp_path / "parts.csv", index=False)
    made = CliRunner().invoke(main, ["choose", str(tmp_path / "parts.csv"), "--json"], prog_name="calib")
    assert made.exit_code == 0, made.output
    record = json.loads(made.stdout)
    assert record["remaining"] is None, "nothing is recalibrated"
    predicted, observed = (short_percent(frame.loc[~fit, name].mean()) for name in ("risk", "died"))
    assert f"is {predicted}, and the observed frequency is {observed}" in record["shown_error"]


@pytest.fixture(scope="module")
def steep(tmp_path_factory):
    """Return a file of risks whose log-odds have a slope of 0.5 and a shift of 0.4."""
    rng = np.random.default_rng(1)
    z = rng.normal(-0.9, 1.3, 900)
    died = rng.random(900) < 1 / (1 + np.exp(-0.4 - 0.5 * z))
    path = tmp_path_factory.mktemp("steep") / "steep.csv"
    pd.DataFrame({"risk": 1 / (1 + np.exp(-z)), "died": died.astype(int)}).to_csv(path, index=False)
    return path


def test_the_simpler_calibrator_and_the_blend_are_both_options(steep):
    record = json.loads(run(steep, "--json").stdout)
    words = [word for line in run(steep).stdout.splitlines() if "--calibrator" in line for word in shlex.split(line)]
    options = [words[i + 1] for i, word in enumerate(words) if word == "--calibrator"]
    assert options[0] == record["simple"]["key"] == "logistic-recalibration"
    assert json.loads(options[1]) == record["recommended"]


def test_the_rule_of_equals_is_that_of_the_score(steep):
    """By cost, a temperature is equal although its log loss is clearly larger and its mean risk is off."""
    by_loss, by_cost = (json.loads(run(steep, *use, "--json").stdout)["lines"] for use in ((), ("--costs", 0.2)))
    equal = [[line["equal_to_best"] for line in lines if line["calibrator"] == "temperature"]
             for lines in (by_loss, by_cost)]  # fmt: skip
    assert equal == [[False], [True]]
    bias, loss = "bias the mean prediction more than the best does", "have a clearly larger log loss"
    assert f"Calibrators that {bias} or {loss} never count as equal." in run(steep, "--details").stdout
    assert f"Calibrators that {bias} never count as equal." in run(steep, "--costs", 0.2, "--details").stdout


def test_the_closed_testing_procedure_is_named_only_where_its_updates_are_compared():
    for candidates, named in (
        ((), True),
        (("--candidate", "intercept"), True),
        (("--candidate", "temperature"), False),
    ):
        record = json.loads(run("demo:breast-cancer-svm", "--json", *candidates).stdout)
        assert (record["update_test"] is not None) == named, candidates
        assert any("closed testing" in sentence for sentence in record["sentences"]) == named, candidates
