"""A gate passes nothing while a warning about the file is open; each warning names what settles it."""

import json
import shlex
import warnings
from dataclasses import astuple
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core.inference import gate_check
from calib_core.inference.gate_checks import OpenWarning
from calib_core.readers.from_file import read_blocked
from dashboard import cli, session
from dashboard.cli import main
from dashboard.report.sections import data as data_section
from dashboard.selection import Selection, Source
from dashboard.session.shell import report_line
from dashboard.views import data_findings, data_trial

N = 3000
RNG = np.random.default_rng(0)
RISK = RNG.uniform(size=N).round(4)
EVENT = (RNG.random(N) < RISK).astype(int)
FAIR = pd.DataFrame({"risk": RISK, "y": EVENT})
TWICE = pd.concat([FAIR.assign(id=range(N), model=model) for model in ("a", "b")])
TWICE["risk"] = np.where(np.arange(len(TWICE)) < len(FAIR), TWICE["risk"], 0.98 * TWICE["risk"] + 0.01)
CASES = {
    "models": ("models", TWICE),
    "labels-equal": ("labels-equal", pd.DataFrame({"risk": EVENT.astype(float), "y": EVENT})),
    "constant": ("constant", FAIR.assign(risk=EVENT.mean())),
    "zeros": ("zeros", FAIR.assign(risk=np.where((EVENT == 1) & (RISK < 0.4), 0.0, RISK))),
    "copies": ("copies", FAIR.assign(weight=1 + np.arange(N) % 3)),
}
SEX = np.resize(["f", "m"], N)
SHIFTED = (RNG.random(N) < RISK * 0.4 + np.where(SEX == "f", 0.55, 0.05)).astype(int)
CANCELLING = pd.DataFrame({"risk": (0.3 + RISK * 0.4).round(4), "y": SHIFTED, "sex": SEX})
CASES |= {"group-error": ("group-error", CANCELLING)}
MORE = {"copies": ("--read", "weights=weight")}


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def gate(frame, *more):
    frame.to_csv("g.csv", index=False)
    arguments = ["gate", "g.csv", "--max-ece", "0.2", "--max-ratio", "3", "--judge", "all", *more]
    result = CliRunner().invoke(main, arguments, prog_name="calib")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout


def test_a_file_without_warnings_passes():
    code, out = gate(FAIR)
    assert (code, out.split(":")[0]) == (0, "PASS")
    assert json.loads(gate(FAIR, "--format", "json")[1])["checks"][0]["open_warnings"] == []


@pytest.mark.parametrize("case", CASES)
def test_nothing_passes_with_an_open_warning(case):
    code, frame = CASES[case]
    ended, out = gate(frame, *MORE.get(case, ()))
    assert (ended, out.split(":")[0]) == (2, "UNDECIDED"), out
    assert f"--accept {code}." in out
    record = json.loads(gate(frame, *MORE.get(case, ()), "--format", "json")[1])
    (check,) = record["checks"]
    assert (record["exit_code"], record["passed"], check["passed"], check["verdict"]) == (2, False, False, "within")
    codes = [each["code"] for each in check["open_warnings"]]
    assert code in codes
    accepted = [f"--accept={each}" for each in codes]
    ended, out = gate(frame, *MORE.get(case, ()), *accepted)
    assert (ended, out.split(":")[0]) == (0, "PASS"), out
    assert f"Accepted warnings: {', '.join(codes)}." in out
    record = json.loads(gate(frame, *MORE.get(case, ()), *accepted, "--format", "json")[1])
    assert (record["options"]["accept"], record["checks"][0]["accepted"]) == (codes, codes)


@pytest.mark.parametrize("case", ["models", "copies", "zeros"])
def test_a_reading_that_accepts_a_warning_settles_it(case):
    code, frame = CASES[case]
    more = (*MORE.get(case, ()), "--read", f"accepted={code}")
    ended, out = gate(frame, *more)
    assert (ended, out.split(":")[0]) == (0, "PASS"), out
    with pytest.raises(cc.InputError, match='accepted contains "zerso", which no warning has; did you mean "zeros"'):
        cc.readers.Reading(scores=("p",), label=("y",), accepted=("zerso",))


@pytest.mark.parametrize("case", ["models", "copies"])
def test_the_option_that_the_warning_names_settles_it(case):
    code, frame = CASES[case]
    _, out = gate(frame, *MORE.get(case, ()), "--format", "json")
    (warning,) = [each for each in json.loads(out)["checks"][0]["open_warnings"] if each["code"] == code]
    options = shlex.split(warning["remedy"][warning["remedy"].index("--") :])
    settled = json.loads(gate(frame, *MORE.get(case, ()), *options, "--format", "json")[1])["checks"][0]
    remaining = [each["message"] for each in settled["open_warnings"]]
    assert warning["message"] not in remaining


def test_errors_of_groups_that_cancel_are_named_with_the_option_that_judges_one() -> None:
    _, out = gate(CANCELLING, "--format", "json")
    (warning,) = json.loads(out)["checks"][0]["open_warnings"]
    assert "sex is m" in warning["message"]
    assert "2 slices are off by more than the limit" in warning["message"]
    options = shlex.split(warning["remedy"].partition("add ")[2])
    assert options == ["--where", "sex=m"]
    assert gate(CANCELLING, *options)[0] == 1
    off = np.abs(CANCELLING.groupby("sex")["y"].mean() - CANCELLING.groupby("sex")["risk"].mean())
    assert (off > 0.2).all()
    assert abs(CANCELLING["y"].mean() - CANCELLING["risk"].mean()) < 0.05
    assert gate(CANCELLING.assign(sex=RNG.permutation(SEX)))[0] == 0


def test_an_accepted_warning_lets_nothing_else_pass():
    off = pd.DataFrame({"risk": np.full(N, 0.1), "y": EVENT})
    code, out = gate(off, "--accept", "constant")
    assert (code, out.split(":")[0]) == (1, "FAIL")
    code, out = gate(CASES["models"][1], "--accept", "zeros")
    assert (code, out.split(":")[0]) == (2, "UNDECIDED")


def test_an_unknown_code_is_refused():
    result = CliRunner().invoke(main, ["gate", "g.csv", "--max-ece", "0.3", "--accept", "constnat"], prog_name="calib")
    assert result.exit_code == 2
    FAIR.to_csv("g.csv", index=False)
    result = CliRunner().invoke(main, ["gate", "g.csv", "--max-ece", "0.3", "--accept", "constnat"], prog_name="calib")
    assert "no warning has the code 'constnat'; did you mean \"constant\"?" in result.stderr


def test_all_forms_name_the_warning():
    frame = CASES["constant"][1]
    code, out = gate(frame, "--format", "github", "--junit", "g.xml")
    assert code == 2
    assert "::error" in out
    assert "undecided" in out
    with open("g.xml", encoding="utf-8") as file:
        xml = file.read()
    assert 'errors="1" skipped="0"' in xml
    assert 'failures="0"' in xml
    assert "--accept constant" in xml


def test_on_screen_a_choice_settles_a_warning_too():
    frame = pd.DataFrame({"p_pos": RISK, "p_neg": 1 - RISK, "y": EVENT})
    file = session.hold(frame.to_csv(index=False).encode(), "two.csv")
    (warning,) = [each for each in session.findings(file.key, "") if each.severity == "warning"]
    assert warning.code == "named-columns"
    swapped = json.dumps({name: list(value) for name, value in warning.change.items()})
    after = {each.code: each.severity for each in session.findings(file.key, swapped)}
    assert after["named-columns"] == "note"
    other = session.findings(file.key, json.dumps({"group": "y"}))
    assert [each.severity for each in other if each.code == "named-columns"] == ["warning"]


def test_one_click_accepts_a_warning_in_session_report_and_command() -> None:
    frame = pd.DataFrame({"p_pos": RISK[:200], "p_neg": 1 - RISK[:200], "y": EVENT[:200]})
    file = session.hold(frame.to_csv(index=False).encode(), "accepted.csv")
    app = AppTest.from_file(str(Path(cli.__file__).parent / "app.py"), default_timeout=60)
    for name, text in Selection(view="data", source=Source(file.key)).to_query().items():
        app.query_params[name] = text
    app.run()
    (button,) = [each for each in app.button if each.label == data_findings.ACCEPT]
    button.click().run()
    assert not app.exception, [each.value for each in app.exception]
    chosen = app.session_state["calib.selection"]
    assert json.loads(chosen.source.reading) == {"accepted": ["named-columns"]}
    assert not app.warning
    assert data_findings.ACCEPT not in {each.label for each in app.button}
    (noted,) = [each for each in session.findings(file.key, chosen.source.reading) if each.code == "named-columns"]
    assert noted.severity == "note"
    bullets = [
        text for block in data_section.found(*astuple(chosen.source)[:2]) for text in getattr(block, "items", ())
    ]
    assert f"Accepted warning: {noted.message}" in bullets
    line = shlex.split(report_line(chosen))
    assert line[line.index("--read") + 1] == "accepted=named-columns"
    assert "--choices" not in line or "reading" not in dict(parse_qsl(line[line.index("--choices") + 1]))
    other = data_trial.amended({"accepted": ("named-columns",)}, {"group": "y"})
    assert other == {"group": "y"}, "it was accepted about another reading"


def test_in_the_library_a_doubt_keeps_rows_from_passing():
    rows = cc.Predictions(np.tile([0.9, 0.1], (4000, 1)), [0] * 3600 + [1] * 400)
    check = gate_check(rows, 0.05)
    assert (check.word, check.passed, check.undecided, [each.code for each in check.open]) == (
        "within", False, True, ["constant"],
    )  # fmt: skip
    check = gate_check(rows, 0.05, accept=["constant"])
    assert (check.passed, check.undecided, check.open, check.accepted) == (True, False, (), ("constant",))
    other = [OpenWarning("constant", "Seen in the file."), OpenWarning("zeros", "Seen too.")]
    check = gate_check(rows, 0.05, warnings=other, accept=["zeros"])
    assert (check.open, check.accepted) == ((other[0],), ("zeros",)), "one warning per code, the file's"


def test_pooled_rows_of_several_parts_or_models_are_a_warning_in_python(tmp_path):
    part = np.where(np.arange(N) % 3 == 0, "test", "calibration")
    data = FAIR.assign(split=part).to_csv(index=False).encode()
    with pytest.warns(UserWarning, match=r'"split" marks calibration and test rows.*give rows="test"'):
        pooled = cc.read_predictions(data, "a.csv")
    assert any("marks calibration and test rows" in note for note in pooled.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        every = cc.read_predictions(data, "a.csv", rows="all")
        test = cc.read_predictions(data, "a.csv", rows="test")
        assert cc.read_predictions(data, "a.csv", split=None).n_rows == N
        assert cc.read_predictions(FAIR.to_csv(index=False).encode(), "a.csv").n_rows == N
    assert np.array_equal(test.labels, every.labels[part == "test"])
    (path := tmp_path / "a.csv").write_bytes(data)
    judged, found = read_blocked(path, {})
    assert (judged.n_rows, found) == (test.n_rows, ()), "a gate judges the test rows"
    with pytest.warns(UserWarning, match='"model" names 2 models'):
        cc.read_predictions(TWICE.to_csv(index=False).encode(), "a.csv")


@pytest.mark.parametrize("name", ["seed", "run"])
def test_seeds_of_the_same_rows_are_read_as_one_with_a_warning(name):
    runs = pd.concat([FAIR[:300].assign(**{name: number}) for number in range(3)])
    with pytest.warns(UserWarning, match=f'"{name}" names 3 models with 300 rows each'):
        cc.read_predictions(
            runs.assign(risk=(0.01 + 0.9 * runs["risk"] + 0.08 * RNG.random(900)).round(5))
            .to_csv(index=False)
            .encode(),
            "a.csv",
        )
    cc.read_predictions(FAIR.assign(run=RNG.integers(0, 3, N)).to_csv(index=False).encode(), "a.csv")


def test_training_rows_in_a_split_column_are_a_warning_until_one_part_is_judged():
    frame = FAIR.assign(split=np.resize(["train", "val", "test"], N))
    code, out = gate(frame)
    assert code == 2
    assert 'the slice "split=test" (--where)' in out or "the slice split=test (--where)" in out
    assert gate(frame, "--where", "split=test")[0] == 0
