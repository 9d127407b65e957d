"""A gate passes nothing while a warning about the file is open; each warning names what settles it."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core.inference import gate_check
from calib_core.inference.gate_checks import OpenWarning
from dashboard import session
from dashboard.cli import main

N = 3000
RNG = np.random.default_rng(0)
RISK = RNG.uniform(size=N).round(4)
EVENT = (RNG.random(N) < RISK).astype(int)
FAIR = pd.DataFrame({"risk": RISK, "y": EVENT})
TWICE = pd.concat([FAIR.assign(id=range(N), model=model) for model in ("a", "b")])
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
