"""The commands of `calib`: their output and exit codes; a few through the installed command."""

import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from generated import ordinary_rows
from sentences import where_measured

import calib_core as cc
from calib_core import inference
from calib_core.defaults import LEVEL, SEED, TOLERANCE
from calib_core.evaluation.study import SCORES
from calib_core.inference.verdicts.estimate_line import ROUGH_GUIDE
from calib_core.text import chance, points, score, short_percent
from dashboard.cli import main
from dashboard.commands import _outputs, _recalibrated_files, audit, compare, gate
from dashboard.exhibits import line_words
from dashboard.exhibits.pairs import IN_GROUPS, P_VALUES, VALUES_DIFFER

INSTALLED = Path(sys.executable).with_name("calib")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def wide(monkeypatch):
    """Print tables in one part, without wrapped cells."""
    monkeypatch.setenv("COLUMNS", "300")


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(a) for a in arguments], prog_name="calib")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code, result.output
    return result


def installed(*arguments, **more):
    return subprocess.run([INSTALLED, *map(str, arguments)], capture_output=True, text=True, timeout=60, **more)


def table(n=300, k=3, names=None, split=False):
    """Return a sharpened model's rows as a table with a metadata column."""
    probs, labels = ordinary_rows(n, k)
    sharp = probs**1.6 / (probs**1.6).sum(1, keepdims=True)
    names = names or [f"class {j}" for j in range(k)]
    frame = pd.DataFrame(sharp, columns=[f"p_{name}" for name in names])
    frame.insert(0, "patient", np.arange(n) + 100)
    frame["label"] = np.array(names, dtype=object)[labels]
    return frame.assign(split=np.where(np.arange(n) % 3, "test", "cal")) if split else frame


@pytest.fixture
def file():
    table().to_csv("p.csv", index=False)
    return Path("p.csv")


# -- audit ----------------------------------------------------------------------------------------------------


def test_audit_says_what_the_library_says(file):
    said = json.loads(run("audit", file, "--json", "--bins", 10, "--tolerance", 0.03).stdout)
    p = cc.read_predictions(file)
    lines = {(line["notion"], line["estimator"]): line for line in said["lines"]}
    assert {notion for notion, _ in lines} == {None, "confidence", "top-label", "class-wise"}
    for notion, key in (("confidence", "ece"), ("class-wise", "debiased-l2")):
        made, line = cc.estimate(p, notion, key, 10), lines[notion, key]
        assert (line["value"], line["p"], line["verdict"]) == (made.value, made.p_value, made.verdict(0.03).word)
        assert {"model": "Original model", **cc.inference.estimate_line(made, 0.03).record()} == line
        assert (line["low"], line["point"], line["high"]) == (made.interval().low, made.point, made.interval().high)
        assert line["floor"] == made.noise_floor.high
    first, told = cc.inference.primary(p, 0.03, bins=10), said["models"]["Original model"]["primary"]
    assert (told["notion"], told["reason"], told["line"]) == (first.notion, first.reason, first.line.record())
    assert told["shown"] == vars(first.shown)
    assert lines[None, "brier"]["value"] == cc.estimate(p, None, "brier").value
    assert said["file"]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert said["file"]["rows"] == 300
    assert set(said["versions"]) == {"python", "calib", "numpy", "scipy", "scikit-learn", "pandas"}


def test_audit_writes_the_same_numbers_as_text_and_as_csv(file, wide):
    record = json.loads(run("audit", file, "--notion", "confidence", "--json").stdout)
    back = pd.read_csv(io.StringIO(run("audit", file, "--notion", "confidence", "--csv").stdout))
    assert back["value"].tolist() == pytest.approx([line["value"] for line in record["lines"]], rel=1e-15)
    text = run("audit", file, "--notion", "confidence", "--details").stdout
    first = cc.inference.primary(cc.read_predictions(file))
    head, _, *lines = text.splitlines()
    assert head == "p.csv: judged on all 300 rows, 3 classes"
    parts, (places, *_) = lines[: len(first.parts)], lines[len(first.parts) :]
    assert " ".join(parts) == first.sentence
    assert first.reason in parts
    found = cc.findings(cc.read_predictions(file))
    tested = f"{found['p'].notna().sum()} subsets tested"
    assert found["stands_out"].any()
    assert places.startswith(found["finding"][0])
    assert tested in places
    assert " ".join(record["models"]["Original model"]["places"]) == places
    for line in record["lines"]:
        shown = cc.inference.EstimateLine(**{name: line[name] for name in line if name != "model"})
        value, floor = shown.written(shown.value), shown.written(shown.floor)
        assert re.search(r"\s+".join(map(re.escape, [shown.title, shown.written(shown.point), shown.interval])), text)
        assert re.search(r"\s+".join([re.escape(value.replace("-", "−")), re.escape(floor)]), text)
    assert f"These {len(record['lines'])} p-values are not corrected" in text
    note = "\n".join(re.findall("Mark .: the interval is for .*|(?:The|Each) interval is for .*", text))
    for about in {line["about"] for line in record["lines"]}:
        place = where_measured(about)
        assert note.count(place) == 1


def test_a_short_audit_of_a_risk_says_the_same_numbers_as_one_with_details(tmp_path, wide):
    rng = np.random.default_rng(3)
    risks = rng.uniform(size=300).round(3)
    died = (rng.random(300) < risks).astype(int)
    pd.DataFrame({"risk": risks, "died": died}).to_csv(path := tmp_path / "risk.csv", index=False)
    short, whole = (run("audit", path, *words).stdout.splitlines() for words in ((), ("--details",)))
    starts = {line.split("  ")[0]: line.split() for line in whole}
    tables = [line for line in short if "  " in line]
    assert len(tables) == 6 + 4 + 2, "measures, scores with the ECE, and two headings"
    for line in tables:
        left = iter(starts[line.split("  ")[0]])  # further columns are between the others
        assert all(cell in left for cell in line.split()), line
    for error, printed in (
        ("ECE of the risk", True),
        ("RMSCE of the risk", False),
        ("Confidence ECE", False),
        ("Top-label ECE", False),
        ("Class-wise ECE", False),
    ):
        assert [any(line.startswith(error) for line in lines) for lines in (short, whole)] == [printed, True]
    left = iter(whole)
    assert all(line in left for line in short[:6])
    assert len(short) < len(whole) / 1.5
    assert f"  {line_words.WORDS}" in whole
    assert line_words.WORDS not in short


def test_audit_bounds_the_error_without_bins_when_asked(file):
    for words in (("--bins", 5), ()):
        assert "Assume that the gap between" not in run("audit", file, *words, "--notion", "confidence").stdout
    text = run("audit", file, "--notion", "confidence", "--unbinned").stdout
    p = cc.read_predictions(file)
    notion = cc.inference.primary(p).notion
    for assumption in ("lipschitz", "monotone"):
        made = cc.inference.unbinned_bound(p, notion, assumption, 1.0)
        assert made.sentence in text
    record = json.loads(run("audit", file, "--notion", "confidence", "--unbinned", "--json").stdout)
    assert all(sentence in text for sentence in record["models"]["Original model"]["unbinned"])


def test_audit_takes_the_level_of_its_intervals(file):
    asked = ("audit", file, "--notion", "confidence", "--estimator", "ece", "--level", 0.99)
    record = json.loads(run(*asked, "--json").stdout)
    (line,) = record["lines"]
    span = cc.estimate(cc.read_predictions(file), "confidence").interval(0.99)
    assert (line["low"], line["high"], line["level"], record["level"]) == (span.low, span.high, 0.99, 0.99)
    assert record["models"]["Original model"]["primary"]["line"]["level"] == 0.99
    assert "99 % interval" in run(*asked).stdout


def test_audit_prints_the_estimate_beside_the_interval_whatever_the_value():
    data, name = cc.datasets.demo("digits-naive-bayes")
    Path(name).write_bytes(data)
    for notion, key, above in (("class-wise", "rmsce", True), ("confidence", "ece", False)):
        asked = ("audit", name, "--notion", notion, "--estimator", key)
        (line,) = json.loads(run(*asked, "--json").stdout)["lines"]
        assert (line["value"] > line["high"]) is above
        assert line["low"] <= line["point"] <= line["high"]
        assert line_words.VALUE in run(*asked, "--details").stdout


def test_audit_gives_a_score_no_verdict(file):
    asked = ("audit", file, "--notion", "confidence", "--estimator", "accuracy", "--json")
    (line,) = json.loads(run(*asked).stdout)["lines"]
    assert line["value"] == cc.estimate(cc.read_predictions(file), "confidence", "accuracy").value
    assert "is a score, not a calibration error" in line["note"]
    assert line["p"] is not None
    assert line["verdict"] is None


def test_audit_judges_calibrators_on_the_rows_they_did_not_see():
    table(split=True).to_csv("p.csv", index=False)
    said = json.loads(
        run(
            "audit", "p.csv", "--calibrator", "temperature", "--notion", "confidence", "--estimator", "ece", "--json"
        ).stdout
    )
    from calib_core.readers import propose, read_table, split_rows

    held = read_table(Path("p.csv").read_bytes(), "p.csv")
    fit, test = split_rows(held, propose(held))
    p = cc.read_predictions("p.csv", rows="all")
    after = cc.CALIBRATORS.make("temperature").fit_on(p.take(fit)).apply(p.take(test))
    values = [cc.estimate(q, "confidence", "ece", 15).value for q in (p.take(test), after)]
    assert [line["value"] for line in said["lines"]] == values
    assert [line["model"] for line in said["lines"]] == ["Original model", "Temperature scaling"]
    assert said["models"]["Original model"]["rows"] == 200


@pytest.mark.parametrize(
    ("rows", "number"),
    [("auto", "200 held-out rows"), ("all", "all 300 rows"), ("calibration", "100 rows"), ("test", "200 rows")],
)
def test_the_rows_judged_can_be_chosen(rows, number):
    table(split=True).to_csv("p.csv", index=False)
    said = run("audit", "p.csv", "--rows", rows, "--notion", "confidence", "--estimator", "ece").stdout
    assert said.startswith(f"p.csv: judged on {number}, ")


def test_a_refused_notion_says_why_once():
    pd.DataFrame({"confidence": [0.6, 0.9] * 50, "correct": [1, 1, 0, 1] * 25}).to_csv("answers.csv", index=False)
    said = run("audit", "answers.csv").stdout
    # The accuracy and the scores of the claims have values of calibrated models; class-wise errors are not known.
    reason = "hese predictions have only (confidence, correct), so probabilities of other classes are unknown."
    lacks = [line for line in said.splitlines() if line.endswith(reason)]
    assert ["Class-wise" in line for line in lacks] == [True], "one for each lack"
    lines = {line["estimator"]: line for line in json.loads(run("audit", "answers.csv", "--json").stdout)["lines"]}
    p = cc.read_predictions("answers.csv")
    assert lines["log-loss"]["value"] == cc.estimate(p, "confidence", "log-loss").value
    assert lines["accuracy"]["floor"] == cc.estimate(p, None, "accuracy").noise_floor.high


# -- gate -----------------------------------------------------------------------------------------------------


def gate_file(n, off, seed=0):
    rng = np.random.default_rng(seed)
    h = rng.uniform(0.5, 0.95, n)
    correct = (rng.random(n) < h - off).astype(int)
    pd.DataFrame({"confidence": h, "correct": correct}).to_csv("g.csv", index=False)
    return "g.csv"


@pytest.mark.parametrize(
    ("n", "off", "limit", "code", "word"),
    [
        (4000, 0.0, 0.05, 0, "within tolerance"),
        (4000, 0.2, 0.05, 1, "miscalibrated"),
        (60, 0.0, 0.05, 1, "too few rows to tell"),
    ],
)
def test_gate_goes_by_the_verdict_of_one_line(n, off, limit, code, word):
    asked = ("gate", gate_file(n, off), "--max-ece", limit, "--notion", "confidence", "--judge", "all")
    said = run(*asked, code=code).stdout
    p = cc.read_predictions("g.csv")
    line = cc.inference.estimate_line(cc.estimate(p, "confidence"), limit)
    head, reasons, *subset, about, ece, confidence = said.splitlines()
    assert len(subset) == bool(off), "a gap of .2 is significant in some subset"
    assert head == (
        f"{'FAIL' if code else 'PASS'}: {word}: Confidence ECE {line.written(line.point)} (90 % interval "
        f"{line.interval}), maximum {limit:.0%}; g.csv, judged on all {n:,} rows"
    ).replace("%;", " %;")
    verdict = cc.estimate(p, "confidence").verdict(limit)
    for part in (verdict.answer, verdict.reason, verdict.advice):
        assert part.replace("tolerance of 5 %", "maximum of 5 %") in reasons
    assert line.interval in reasons
    assert [term.partition(":")[0] for term in (ece, confidence)] == ["ECE", "Confidence"]
    assert chance(cc.inference.shown_at_all(p).p_value) in reasons
    assert "on the confidence error, as requested." in reasons
    subject = line.about.replace("in these bins", "in the bins of the raw value")
    assert ", given these predictions" in subject
    subject = subject.replace(", given these predictions", "")
    fixed = "This interval allows for chance in the labels; the predictions are taken as fixed."
    assert about.endswith(f"The interval is for {subject}. {fixed}")
    assert f"(bins: {line.bins})" in about


def test_gate_declares_the_line_it_chose(file):
    first = cc.inference.primary(cc.read_predictions(file), 0.5)
    asked = ("gate", file, "--max-ece", 0.5)
    assert run(*asked).stdout.splitlines()[1] == first.sentence.replace("tolerance of 50 %", "maximum of 50 %")
    assert first.reason in run(*asked, "--estimator", "debiased-l2").stdout
    assert first.line.title in run(*asked).stdout


def test_gate_and_compare_judge_the_rows_of_the_audit_and_say_which():
    gate_file(1500, 0.1)
    audit = json.loads(run("audit", "g.csv", "--json").stdout)
    gate = json.loads(run("gate", "g.csv", "--max-ece", 0.05, "--format", "json", code=1).stdout)["checks"][0]
    assert gate["judged"].startswith(audit["options"]["judged"])
    line = audit["models"]["Original model"]["primary"]["line"]
    assert (gate["line"]["rows"], gate["line"]["low"]) == (line["rows"], line["low"]) == (750, line["low"])
    whole = json.loads(run("gate", "g.csv", "--max-ece", 0.05, "--judge", "all", "--format", "json", code=1).stdout)
    assert whole["checks"][0]["line"]["rows"] == 1500
    assert run("compare", "g.csv", "g.csv").stdout.startswith("Compared on 750 held-out rows of 1,500")
    assert run("compare", "g.csv", "g.csv", "--judge", "all").stdout.startswith("Compared on all 1,500 rows")
    assert "both choose" in run("gate", "g.csv", "--max-ece", 0.05, "--judge", "all", "--rows", "all", code=2).stderr


def test_every_command_takes_an_example_by_its_name():
    assert "569 rows" in run("audit", "demo:breast-cancer-svm").stdout
    assert "available" in run("audit", "demo:nothing", code=2).stderr


def test_gate_never_decides_by_the_point_value():
    p = cc.read_predictions(gate_file(400, 0.03))
    made = cc.estimate(p, "confidence", "ece", 15)
    span = made.interval()
    between = (max(made.value, span.low) + span.high) / 2
    assert made.value < between < span.high
    run("gate", "g.csv", "--max-ece", between, "--notion", "confidence", code=1)
    run("gate", "g.csv", "--max-ece", span.high + 1e-6, "--notion", "confidence", code=0)
    run("gate", "g.csv", "--max-ece", span.high + 1e-6, "--notion", "confidence", "--level", 0.99, code=1)


@pytest.mark.parametrize("key", ["debiased-l2", "skce"])
def test_gate_holds_a_squared_error_against_the_squared_limit(key):
    made = cc.estimate(cc.read_predictions(gate_file(1500, 0.0)), "confidence", key)
    root = made.interval().high ** 0.5
    asked = ("gate", "g.csv", "--judge", "all", "--notion", "confidence", "--estimator", key, "--max-ece")
    run(*asked, root * 1.01, code=0)
    run(*asked, root * 0.99, code=1)


@pytest.mark.parametrize(
    "arguments",
    [
        ("nowhere.csv", "--max-ece", "0.1"),
        ("g.csv",),
        ("g.csv", "--max-ece", "0"),
        ("g.csv", "--max-ece", "0.1", "--estimator", "no-such"),
        ("g.csv", "--max-ece", "0.1", "--notion", "class-wise"),
        ("g.csv", "--max-ece", "0.1", "--estimator", "brier", "--notion", "confidence"),
        ("g.csv", "--max-ece", "0.1", "--rows", "test"),
        ("g.csv", "--max-ece", "0.1", "--read", "kind"),
        ("g.csv", "--max-ece", "0.1", "--read", "flavour=sweet"),
        ("g.csv", "--max-ece", "0.1", "--binning", "no-such"),
        ("g.csv", "--max-ece", "0.1", "--debug", "--estimator", "no-such"),
    ],
)
def test_gate_that_cannot_run_ends_with_two(arguments):
    gate_file(50, 0)
    said = run("gate", *arguments, code=2)
    assert said.stdout == ""
    assert said.stderr


def test_a_fault_of_the_program_is_a_sentence_too(file, monkeypatch):
    monkeypatch.setattr(inference, "gate_check", lambda *_, **__: 1 / 0)
    said = run("gate", file, "--max-ece", "0.1", code=2).stderr
    assert said == (
        "calib gate: this is a mistake of the program (ZeroDivisionError: division by zero); "
        "--debug prints the traceback\n"
    )
    assert "Traceback" in run("gate", file, "--max-ece", "0.1", "--debug", code=2).stderr


# -- fit and apply --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "ending"),
    [("temperature", "parquet"), ("class-wise-hb", "csv"), ("top-label-hb", "csv"), ("top-label-hb", "npz")],
)
def test_what_is_fitted_applied_and_read_again_is_what_the_library_makes(key, ending):
    frame = table()
    frame.to_csv("in.csv", index=False) if ending != "parquet" else frame.to_parquet("in.parquet")
    source = "in.parquet" if ending == "parquet" else "in.csv"
    run("fit", source, "--calibrator", key, "-o", "cal.json")
    run("apply", "cal.json", source, "-o", f"out.{ending}")
    p = cc.read_predictions(source)
    wanted = cc.CALIBRATORS.make(key).fit_on(p).apply(p)
    table_of = cc.readers.read_table(Path(f"out.{ending}").read_bytes(), f"out.{ending}")
    names = [n for n in frame if n.startswith("p_")]
    if wanted.kind == "top-label":
        assert table_of.column("confidence") == pytest.approx(wanted.confidence, abs=1e-15)
        assert table_of.column("predicted").tolist() == [p.class_names[c] for c in wanted.predicted]
        assert not set(names) & set(table_of.names)
    else:
        assert list(table_of.names) == list(frame.columns)
        assert np.column_stack([table_of.column(n) for n in names]) == pytest.approx(wanted.probs, abs=1e-15)
    assert table_of.column("label").tolist() == frame["label"].tolist()
    assert table_of.column("patient").tolist() == frame["patient"].tolist()


def test_logits_become_probabilities_under_their_own_name():
    probs, labels = ordinary_rows(200, 3)
    np.savez("z.npz", logits=np.log(np.maximum(probs, 1e-12)), labels=labels)
    run("fit", "z.npz", "--calibrator", "temperature", "-o", "cal.json")
    run("apply", "cal.json", "z.npz", "-o", "out.npz")
    held = cc.readers.read_table(Path("out.npz").read_bytes(), "out.npz")
    assert set(held.names) == {"labels", "p_0", "p_1", "p_2"}
    assert np.sum([held.column(f"p_{j}") for j in range(3)], axis=0) == pytest.approx(np.ones(200))
    run("apply", "cal.json", "z.npz", "-o", "out.npy")
    assert np.load("out.npy", allow_pickle=False).shape == (200, 3)


def test_an_archive_keeps_its_matrix_and_a_flat_table_names_the_classes():
    probs, labels = ordinary_rows(200, 3)
    names = np.array(["cat", "dog", "eel"])
    np.savez("in.npz", probs=probs, labels=labels, class_names=names, age=np.arange(200))
    run("fit", "in.npz", "--calibrator", "temperature", "-o", "cal.json")
    made = cc.load_calibrator("cal.json").apply(cc.read_predictions("in.npz"))
    for out in ("out.npz", "out.csv"):
        run("apply", "cal.json", "in.npz", "-o", out)
        back = cc.read_predictions(out)
        assert back.probs == pytest.approx(made.probs, abs=1e-15)
        assert back.labels.tolist() == labels.tolist()
        assert back.class_names == ("cat", "dog", "eel")
    assert list(pd.read_csv("out.csv")) == ["labels", "age", "p_cat", "p_dog", "p_eel"]


def test_parameters_reach_the_calibrator(file):
    run("fit", file, "--calibrator", "top-label-hb", "--param", "points_per_bin=25", "-o", "cal.json")
    made = cc.CALIBRATORS.recipe(cc.load_calibrator("cal.json"))
    assert dict(made.params) == {"points_per_bin": 25}
    said = run("fit", file, "--calibrator", "top-label-hb", "--param", "nose=2", "-o", "x.json", code=2).stderr
    assert "'top-label-hb' has no parameter 'nose'; its parameters: " in said
    assert not Path("x.json").exists()


def test_fit_takes_the_rows_marked_for_it():
    table(split=True).to_csv("p.csv", index=False)
    run("fit", "p.csv", "--calibrator", "temperature", "-o", "cal.json")
    p = cc.read_predictions("p.csv", rows="all")
    wanted = cc.CALIBRATORS.make("temperature").fit_on(p.take(np.arange(0, 300, 3))).temperature_
    assert cc.load_calibrator("cal.json").temperature_ == wanted


def test_apply_leaves_nothing_behind_when_it_cannot_run(file):
    run("fit", file, "--calibrator", "temperature", "-o", "cal.json")
    assert "does not end in one of .csv" in run("apply", "cal.json", file, "-o", "out.xlsx", code=2).stderr
    assert "cannot be written" in run("apply", "cal.json", file, "-o", "no/such/out.csv", code=2).stderr
    assert "not a saved calibrator" in run("apply", file, file, "-o", "out.csv", code=2).stderr
    four = table(60, 4)
    four.to_csv("four.csv", index=False)
    said = run("apply", "cal.json", "four.csv", "-o", "out.csv", code=2).stderr
    assert "4 classes; this calibrator was fitted with 3" in said
    assert sorted(p.name for p in Path().iterdir()) == ["cal.json", "four.csv", "p.csv"]


# -- compare --------------------------------------------------------------------------------------------------


def test_compare_says_what_the_library_says(file, wide):
    run("fit", file, "--calibrator", "temperature", "-o", "cal.json")
    run("apply", "cal.json", file, "-o", "after.csv")
    said = json.loads(
        run("compare", file, "after.csv", "--notion", "confidence", "--estimator", "ece", "--json").stdout
    )
    models = {name: cc.read_predictions(name) for name in ("p.csv", "after.csv")}
    wanted = cc.compare(models, "confidence", "ece", cc.binning.EqualWidth(15)).iloc[0]
    line = said["lines"][0]
    for name in ("first", "second", "difference", "low", "high", "p", "p_holm", "method"):
        assert line[name] == wanted[name]
    assert line["about"] == wanted["about"]
    rows, sentence, _, pair, *lines, values, p_values, grouped, _words = run(
        "compare", file, "after.csv", "--details"
    ).stdout.splitlines()
    about = " ".join(line for line in lines if line.startswith("Mark "))
    meanings, lines = [line for line in lines if "  " not in line], [line for line in lines if "  " in line]
    assert pair.startswith("First: p.csv. Second: after.csv.")
    assert {line.partition(":")[0] for line in meanings} >= {"Log loss", "Debiased squared error", "Confidence"}
    assert rows == f"Compared on all {models['p.csv'].n_rows:,} rows."
    by_log_loss = cc.compare(models, None, "log-loss").iloc[0]
    values_of = [score(by_log_loss[name]) for name in ("first_value", "second_value")]
    assert all(part in sentence for part in ("p.csv", "after.csv", "log loss", *values_of, chance(by_log_loss["p"])))
    assert by_log_loss["verdict"].startswith("worse")
    assert sentence.startswith("By log loss, after.csv is better than p.csv")
    assert [line.split("  ")[0] for line in lines] == [
        "error or score", *(cc.ESTIMATORS[key].title for key in SCORES),
        "Confidence debiased squared error", "Top-label debiased squared error",
    ]  # fmt: skip
    headings = ["value of the first", "value of the second", "difference", "90 % interval", "the first is", "mark"]
    assert " ".join(lines[0].split()) == " ".join(["error or score", *headings, "p", "p (corrected)"])
    # Accuracy is a share: its difference is in points, its values are in percent.
    first = cc.compare(models, None, SCORES[0]).iloc[0]
    low, high = (points(first[name]) for name in ("low", "high"))
    numbers = [short_percent(first[name]) for name in ("first_value", "second_value")]
    numbers += [points(first["difference"]), f"{low.removesuffix(' points')} to {high}"]
    assert " ".join(lines[1].split()).startswith(" ".join(["Accuracy", *numbers]))
    p_numbers = [chance(first[p]).removeprefix("p = ") for p in ("p", "p_holm")]
    assert " ".join(lines[1].split()).endswith(" ".join(p_numbers))
    # Claims by class are judged in groups of rows, and each subject of intervals is described once.
    assert about.count("groups of at least 20 rows") == 1
    assert (values, p_values, grouped) == (VALUES_DIFFER, P_VALUES, IN_GROUPS)
    rough = run("compare", file, "after.csv", "--notion", "top-label", "--bins", 15).stdout.splitlines()
    starred = [line for line in rough if line.split("  ")[0].endswith(" *")]
    assert [line.split(" *")[0] for line in starred] == ["Top-label debiased squared error"]
    assert ROUGH_GUIDE in rough
    assert IN_GROUPS not in rough
    assert rough[-1].endswith("add --details.")


def test_compare_opens_with_every_measure_that_contradicts_the_log_loss(tmp_path):
    """A log loss that certain errors dominate can show nothing where accuracy and calibration show a difference."""
    rng = np.random.default_rng(4)
    n = 1000
    confidence = rng.choice([0.6, 0.8, 0.9, 1.0], n)
    small = (rng.random(n) < confidence - 0.3).astype(int)
    large = np.where(rng.random(n) < 0.3, 1, small)
    small[confidence == 1], large[confidence == 1] = 1, 1
    large[np.flatnonzero(confidence == 1)[:12]] = 0
    for name, right in (("small", small), ("large", large)):
        pd.DataFrame({"confidence": confidence, "correct": right}).to_csv(tmp_path / f"{name}.csv", index=False)
    files = [tmp_path / "small.csv", tmp_path / "large.csv"]
    frame = pd.read_csv(io.StringIO(run("compare", *files, "--csv").stdout)).set_index(["notion", "estimator"])
    verdicts = frame["verdict"].to_dict()
    by_score = frame.droplevel("notion")["verdict"].to_dict()
    assert [by_score[key] for key in ("log-loss", "accuracy", "brier")] == ["better", "worse", "worse"], verdicts
    first, others = run("compare", *files).stdout.splitlines()[1:3]
    assert first.startswith("By log loss of the confidence, small.csv is better than large.csv")
    named = {"accuracy", "brier score of the confidence", "confidence debiased squared error"}
    assert all(name in others.lower() for name in named)
    assert "large.csv is better" in others


def test_compare_names_the_pair_that_has_no_difference(file):
    table().to_csv("other.csv", index=False)
    run("fit", file, "--calibrator", "top-label-hb", "-o", "cal.json")
    run("apply", "cal.json", file, "-o", "top.csv")
    ended = run("compare", file, "other.csv", "top.csv", "--notion", "class-wise", "--estimator", "ece")
    refused = [line for line in ended.stdout.splitlines() if line.startswith("class-wise ece, ")]
    assert [line.partition(":")[0] for line in refused] == [
        f"class-wise ece, {name} and top.csv" for name in ("p.csv", "other.csv")
    ]


def test_compare_names_the_command_for_calibrators(file):
    refused = run("compare", file, "--calibrator", "vector", code=2)
    assert "calib show pairs FILE --calibrator vector" in refused.stderr
    run("show", "pairs", file, "--calibrator", "vector")


def test_compare_names_the_row_that_differs(file):
    other = table()
    other.loc[41, "label"] = "class 0" if other.loc[41, "label"] != "class 0" else "class 1"
    other.to_csv("other.csv", index=False)
    said = run("compare", file, "other.csv", code=2).stderr
    assert said.count("\n") == 1
    assert "row 41 has the label" in said
    assert "give two files or more" in run("compare", file, code=2).stderr


# -- untrusted text -------------------------------------------------------------------------------------------

HOSTILE = ["=cmd|' /C calc'!A0", "\x1b[31mred\x1b]0;title\x07", "\u202eevil"]


def test_names_cannot_move_the_cursor_nor_reorder_text():
    name = "\x1b[2Jclear.csv"
    table(60, 3, names=HOSTILE).to_csv(name, index=False)
    for said in (
        run("audit", name, "--notion", "top-label", "--estimator", "ece"),
        run("audit", name, "--notion", "top-label", "--estimator", "ece", "--json"),
        run("gate", name, "--max-ece", 1, "--accept", "names"),
        run("compare", name, name, "--notion", "confidence"),
        run("compare", name, name, "--notion", "confidence", "--csv"),
        run("audit", "\x1b[31m.csv", code=2),
    ):
        assert not [c for c in said.output if not c.isprintable() and c != "\n"]


def test_what_is_written_is_no_formula():
    table(60, 3, names=HOSTILE).to_csv("p.csv", index=False)
    run("fit", "p.csv", "--calibrator", "top-label-hb", "-o", "cal.json")
    run("apply", "cal.json", "p.csv", "-o", "out.csv")
    cells = pd.read_csv("out.csv", dtype=str).to_numpy().ravel()
    assert not [c for c in cells if c[0] in "=+@\t\r" or (c[0] == "-" and not re.fullmatch(r"-?[\d.e-]+", c))]
    assert any(c.startswith("'=cmd") for c in cells)


def test_what_answers_every_row_abstains_on_none(file):
    run("fit", file, "--calibrator", "temperature", "-o", "cal.json")
    assert run("apply", "cal.json", file, "-o", "out.csv").stderr.endswith("recalibrated: out.csv\n")


def test_a_matrix_is_a_column_for_each_of_its_own_in_a_flat_table():
    flat = _recalibrated_files.frame_of({"row": np.arange(2), "probs": np.array([[0.1, 0.9], [0.8, 0.2]])})
    assert flat.to_dict("list") == {"row": [0, 1], "probs_0": [0.1, 0.8], "probs_1": [0.9, 0.2]}


# -- the installed command ------------------------------------------------------------------------------------


def test_piped_output_is_quiet_and_codes_arrive(file):
    done = installed("audit", file, "--notion", "confidence", "--estimator", "ece")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    assert installed("gate", gate_file(60, 0.2), "--max-ece", "0.01", "--notion", "confidence").returncode == 1
    missing = installed("gate", "nowhere.csv", "--max-ece", "0.01")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert missing.stderr == "calib gate: nowhere.csv cannot be opened (No such file or directory); check the path\n"


def test_a_closed_pipe_is_no_complaint(file):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([INSTALLED, "audit", file, "--notion", "confidence"], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_an_interrupt_ends_with_130_without_a_word():
    table(20_000, 20).to_parquet("large.parquet")
    # A shell starts what runs in its background deaf to interrupts, and so all that is started from there.
    hear = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    command = [INSTALLED, "audit", "large.parquet", "--slow"]
    running = subprocess.Popen(command, stdout=-1, stderr=-1, preexec_fn=hear)
    time.sleep(4)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, b"", b"")


def test_help_stays_quick():
    heavy = "import sys, dashboard.cli as c; c.main(['--help'], standalone_mode=False); "
    heavy += "print([m for m in ('numpy', 'pandas', 'calib_core', 'streamlit', 'plotly') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_terminal_text_is_told_plainly():
    assert _outputs.plain("a\x1b[0m\u202eb\n") == "a\\x1b[0m\\u202eb\\n"


# -- methods of evaluation ------------------------------------------------------------------------------------


def test_audit_judges_outputs_as_declared_and_says_which_bins(file):
    words = ("audit", file, "--judge", "held-out", "--calibrator", "top-label-hb")
    words += ("--notion", "top-label", "--estimator", "ece")
    said = json.loads(run(*words, "--json").stdout)
    assert said["options"]["binning"] == "auto"
    fit, test = cc.read_predictions(file).split(0.5, random_state=0)
    after = cc.CALIBRATORS.make("top-label-hb").fit_on(fit).apply(test)
    made = [cc.estimate(p, "top-label", "ece") for p in (test, after)]
    assert [(line["value"], line["bins"]) for line in said["lines"]] == [(m.value, m.in_bins) for m in made]
    assert made[1].in_bins.startswith("one per value (")
    assert "one per value" in run(*words).stdout
    assert "bins" in pd.read_csv(io.StringIO(run(*words, "--csv").stdout)).columns
    for more, shown in (((), True), (("--bins", 7), False)):
        heads = [text for text in run(*words, *more).stdout.splitlines() if text.startswith("model ")]
        assert heads[-1].split()[-1] == ("bins" if shown else "verdict")
    given = json.loads(run(*words, "--json", "--bins", 7).stdout)
    assert {line["bins"] for line in given["lines"]} == {"7 equal width"}


@pytest.mark.parametrize(
    ("options", "bins"),
    [
        ((), "15 equal width"),
        (("--bins", 9), "9 equal width"),
        (("--points", 40), "40 points per bin"),
        (("--binning", "points-per-bin"), "50 points per bin"),
        (("--binning", "equal-mass", "--bins", 5), "5 equal mass"),
        (("--binning", "distinct"), "one per value"),
        (("--binning", "sqrt-equal-width"), "equal width, square root of the rows"),
    ],
)
def test_every_kind_of_bins_can_be_asked_for(file, options, bins):
    words = ("audit", file, "--notion", "confidence", "--estimator", "ece", "--json", *options)
    (line,) = json.loads(run(*words).stdout)["lines"]
    assert line["bins"].startswith(bins)
    assert f"(bins: {bins}" in run("gate", file, "--max-ece", 0.9, "--notion", "confidence", *options).stdout


def test_defaults_of_the_commands_are_those_of_the_library():
    """The defaults are repeated there, since the options are declared before the library is loaded."""
    wanted = {"tolerance": TOLERANCE, "level": LEVEL, "seed": SEED}
    seen = set()
    for command in (audit.command, gate.command, compare.command):
        for param in command.params:
            if param.name in wanted:
                assert param.default == wanted[param.name]
                seen.add(param.name)
    assert seen == set(wanted)


def test_a_number_that_a_binning_does_not_take_is_refused(file):
    for words in (("--binning", "distinct", "--bins", 5), ("--bins", 5, "--points", 40)):
        assert "does not go with --binning" in run("audit", file, *words, code=2).output


def test_audit_counts_the_same_rows_for_every_model(file):
    table(n=900).to_csv(file, index=False)
    words = ("audit", file, "--judge", "held-out", "--calibrator", "metacal-miscoverage")
    words += ("--notion", "confidence", "--estimator", "ece")
    fit, test = cc.read_predictions(file).split(0.5, random_state=0)
    after = cc.CALIBRATORS.make("metacal-miscoverage").fit_on(fit).apply(test)
    assert after.coverage < 1
    for counting in ("answered", "all"):
        said = json.loads(run(*words, "--json", "--counting", counting).stdout)
        n = int((~after.abstained).sum()) if counting == "answered" else test.n_rows
        assert [model["rows"] for model in said["models"].values()] == [n, n]
        assert sorted(model["coverage"] for model in said["models"].values()) == [after.coverage, 1.0]
    answering = int((~after.abstained).sum())
    assert any(str(answering) in line and "rows" in line for line in run(*words).stdout.splitlines()[1:])


def test_show_and_audit_judge_the_same_rows_that_are_named(tmp_path):
    rng = np.random.default_rng(5)
    risk = rng.beta(2, 5, 1400)
    frame = pd.DataFrame({"risk": risk, "died": (rng.random(1400) < 0.7 * risk).astype(int)})
    frame.to_csv(plain := tmp_path / "plain.csv", index=False)
    frame.assign(split=np.where(np.arange(1400) % 3, "test", "calibration")).to_csv(
        marked := tmp_path / "m.csv", index=False
    )

    def shown(*arguments):
        (line,) = json.loads(run("show", "overall", *arguments, "--format", "json").stdout)["lines"]
        return line["rows"], line["gap"]

    def audited(*arguments):
        (model,) = json.loads(run("audit", *arguments, "--estimator", "ece", "--json").stdout)["models"].values()
        measures = {line["measure"]: line["value"] for line in model["in_the_large"]}
        return model["rows"], pytest.approx(measures["gap"])

    for arguments, number in (((plain, "--rows", "all"), 1400), ((marked, "--rows", "test"), 933)):
        assert shown(*arguments) == audited(*arguments)
        assert shown(*arguments)[0] == number
    assert shown(plain)[0] == 700
    for wrong in (("test",), ("calibration",), ("all", "--judge", "all"), ("all", "--calibrator", "temperature")):
        assert "--rows" in run("show", "overall", plain, "--rows", *wrong, code=2).stderr


@pytest.mark.parametrize(
    ("columns", "command", "option"),
    [
        ("label,risk_old,risk_new", "gate FILE --max-ece 0.5", "model=risk_old"),
        ("label,old,new", "audit FILE", "score_sets=old,new"),
    ],
)
def test_a_refusal_names_the_option_that_answers_it(columns, command, option, tmp_path):
    """Messages of the library that name an argument name the command's option instead, and it works."""
    rng = np.random.default_rng(1)
    scores = rng.uniform(0.05, 0.95, (200, 2)).round(3)
    lines = [f"{int(rng.random() < a)},{a},{b}" for a, b in scores]
    path = tmp_path / "two.csv"
    path.write_text("\n".join([columns, *lines]), "utf-8")
    words = [str(path) if word == "FILE" else word for word in command.split()]
    refused = run(*words, code=2)
    assert f"--read {option}" in refused.stderr
    assert "read_models" not in refused.stderr
    result = CliRunner().invoke(main, [*words, "--read", option], prog_name="calib")
    assert result.exit_code in (0, 1), result.output


def test_a_fit_says_on_which_rows_to_judge_it(file):
    said = run("fit", file, "--calibrator", "temperature", "-o", "cal.json").stderr
    assert "fitted on 300 rows" in said
    assert "on these rows, its errors look too small" in said
    assert "calib audit FILE --calibrator KEY" in said


@pytest.mark.parametrize("name", ["confidence", "p_class 0"])
def test_a_prediction_is_no_column_to_slice_by(file, name):
    said = run("slices", file, "--by", name, code=2).stderr
    assert f"{name} is the prediction itself" in said
    assert "calib show bins FILE" in said
    assert run("show", "bins", file).stdout.strip()
    table().assign(confidence=np.arange(300) % 2).to_csv("own.csv", index=False)
    assert run("slices", "own.csv", "--by", "confidence").exit_code == 0, "a column of this name is one to slice by"


def test_an_audit_says_where_a_map_sends_the_rows_into_one_bin():
    rng = np.random.default_rng(3)
    confidence = rng.uniform(0.5, 1, 900)
    right = (rng.random(900) < np.where(confidence > 0.75, 0.72, 0.68)).astype(int)
    pd.DataFrame({"confidence": confidence, "correct": right}).to_csv("flat.csv", index=False)
    platt = json.dumps({"key": "confidence", "params": {"binary": "platt"}})
    options = ("audit", "flat.csv", "--calibrator", platt, "--judge", "held-out")
    record = json.loads(run(*options, "--json").stdout)["models"]
    (mapped,) = set(record) - {"Original model"}
    before, after = record["Original model"], record[mapped]
    assert before["primary"]["few_bins"] is None
    assert after["primary"]["few_bins"].startswith("The recalibrated confidences fill only 1 bin, ")
    lines = run(*options).stdout.splitlines()
    assert after["primary"]["few_bins"] in lines[lines.index(f"{mapped}:") :]
    assert before["primary"]["few_bins"] not in lines
    assert lines[lines.index("Original model:") + 1].startswith(("Miscalibrated", "Too", "Within")), (
        "one sentence, without the name before it"
    )


def test_an_audit_of_too_few_held_out_rows_names_the_option_that_judges_all():
    path = gate_file(1100, 0.0)
    text = run("audit", path, "--tolerance", 0.02, "--notion", "confidence").stdout
    assert "\nToo few rows to tell" in text
    assert " To judge all 1,100 rows of the file, add --judge all.\n" in text
    for words in (("--judge", "all"), ("--tolerance", 0.5)):
        assert "To judge all" not in run("audit", path, "--notion", "confidence", *words).stdout


def test_the_noise_floor_of_raw_distances_is_not_printed_beside_corrected_ones(tmp_path):
    rng = np.random.default_rng(3)
    risks = rng.uniform(0.1, 0.9, 300)
    pd.DataFrame({"risk": risks, "died": rng.random(300) < risks}).to_csv(path := tmp_path / "r.csv", index=False)
    lines = run("audit", path, "--details").stdout.splitlines()
    (head,) = (line for line in lines if line.startswith("measures of the risk"))
    assert "value" in head
    assert "noise floor" not in head
    for term in ("Calibration slope", "Calibration intercept", "Brier score", "AUROC", "Log loss"):
        assert sum(line.startswith(f"{term}: ") for line in lines) == 1, term
