"""Forms of the output of `calib gate`: one verdict as text, JSON, GitHub annotations and JUnit XML."""

import json
import re
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from calib_core.text import between, short_percent
from dashboard.cli import main
from dashboard.commands import _passages, gate
from dashboard.commands._passages import COULD_NOT, Passage, annotation, junit, markdown, summary

SCHEMA = Draft202012Validator(json.loads(Path(gate.__file__).with_name("gate.schema.json").read_text("utf-8")))
LIMIT = ("--max-ece", 0.05, "--notion", "confidence")
WRONG = "100% | wrong, <b>:.csv"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Write three files: right, wrong by .2, and few rows."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    rng = np.random.default_rng(0)
    for name, n, off in (("right.csv", 1500, 0.0), (WRONG, 1500, 0.2), ("few.csv", 60, 0.0)):
        h = rng.uniform(0.5, 0.95, n)
        right = (rng.random(n) < h - off).astype(int)
        pd.DataFrame({"confidence": h, "correct": right}).to_csv(name, index=False)


def run(*arguments):
    result = CliRunner().invoke(main, ["gate", *map(str, arguments)], prog_name="calib")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


CASES = [(("right.csv",), 0), ((WRONG,), 1), (("few.csv", "right.csv"), 1), (("right.csv", "gone.csv"), 2)]


@pytest.mark.parametrize(("names", "code"), CASES)
def test_one_verdict_in_every_form(names, code):
    text, as_json, github = (
        run(*names, *LIMIT, "--format", form, "--junit", f"{form}.xml") for form in ("text", "json", "github")
    )
    assert [one.exit_code for one in (text, as_json, github)] == [code] * 3
    record = json.loads(as_json.stdout)
    SCHEMA.validate(record)
    assert (record["passed"], record["exit_code"]) == (code == 0, code)
    for name, check in zip(names, record["checks"], strict=True):
        assert check["path"] == name
        if check["error"] is None:
            for said in (check["sentence"], check["about"]):
                assert said in text.stdout
            assert markdown(check["verdict"]) in github.stdout
            assert check["passed"] == (check["verdict"] == "within") == (check["line"]["high"] < 0.05)
        else:
            assert check["error"] in text.stderr
    cases = ElementTree.parse("text.xml").getroot().findall("./testsuite/testcase")
    outcomes = [{"failure": False, "error": None}.get(case[0].tag, True) for case in cases]
    assert outcomes == [None if check["error"] else check["passed"] for check in record["checks"]]
    lines = github.stdout.splitlines()
    kinds = [line.split(" ")[0] for line in lines if line.startswith("::")]
    assert kinds == ["::notice" if check["passed"] else "::error" for check in record["checks"]]
    if len(names) > 1:
        assert text.stdout.endswith(
            f"{sum(check['passed'] for check in record['checks'])} of {len(names)} files pass.\n"
        )


@pytest.mark.parametrize(("names", "code"), CASES)
def test_cells_and_counts_are_those_of_the_record(names, code):
    """Each cell of the table on GitHub is the number of its heading, and JUnit counts every file once."""
    as_json = run(*names, *LIMIT, "--format", "json", "--junit", "gate.xml")
    github = run(*names, *LIMIT, "--format", "github").stdout
    heads, _, *lines = (
        [cell.replace("\\", "").strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        for line in github.splitlines()
        if line.startswith("| ")
    )
    checks = json.loads(as_json.stdout)["checks"]
    for check, line in zip(checks, lines, strict=True):
        cells = dict(zip(heads, line, strict=True))
        assert cells["file"] == check["path"]
        if check["error"] is not None:
            continue
        about = check["line"]
        assert cells["verdict"] == check["verdict"]
        for heading, name in (("estimate", "point"), ("raw value", "value")):
            assert cells[heading] == short_percent(about[name]), heading
        assert cells["interval"].startswith(between(about["low"], about["high"], 0.05))
        assert cells["limit"] == "5 %"
        assert cells["rows"] == f"{about['rows']:,}"
    assert any(check["error"] is None and check["line"]["point"] != check["line"]["value"] for check in checks)
    suite = ElementTree.parse("gate.xml").getroot().find("testsuite")
    kinds = [case[0].tag for case in suite.findall("testcase")]
    assert [int(suite.get(name)) for name in ("tests", "failures", "errors")] == [
        len(names), kinds.count("failure"), kinds.count("error")
    ]  # fmt: skip


def test_what_could_not_run_leaves_the_other_forms_whole():
    found = run("gone.csv", *LIMIT)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == "calib gate: gone.csv cannot be opened (No such file or directory); check the path\n"
    found = run("right.csv", *LIMIT, "--rows", "test", "--format", "json")
    assert found.exit_code == 2
    assert "leave --rows out" in json.loads(found.stdout)["checks"][0]["error"]


def test_the_schema_can_refuse():
    record = json.loads(run("right.csv", *LIMIT, "--format", "json").stdout)
    for change in ({"schema": "calib-gate/2"}, {"exit_code": 3}, {"checks": []}, {"checks": [{"path": "x"}]}):
        assert not SCHEMA.is_valid(record | change)
    check = record["checks"][0]
    for change in ({"verdict": "fine"}, {"error": "why"}, {"kept": {}}, {"line": None}):
        assert not SCHEMA.is_valid(record | {"checks": [check | change]}), change


def test_a_record_is_the_baseline_of_a_later_gate():
    Path("old.json").write_text(run("right.csv", *LIMIT, "--format", "json").stdout, encoding="utf-8")
    same = run("right.csv", "--baseline", "old.json", "--max-increase", 0.08, "--format", "json")
    check = json.loads(same.stdout)["checks"][0]
    SCHEMA.validate(json.loads(same.stdout))
    assert (same.exit_code, check["verdict"], check["line"]["verdict"], check["limit"]) == (0, "within", None, None)
    assert check["increase"]["high"] == -check["increase"]["low"] == pytest.approx(check["kept"]["high"])
    assert check["increase"]["baseline"]["name"] == "right.csv"
    worse = run(WRONG, "--baseline", "old.json", "--max-ece", 0.5)
    assert worse.exit_code == 1
    assert worse.stdout.startswith("FAIL: worse than the baseline: ")
    assert "Within tolerance: " in worse.stdout
    assert "on the confidence error, as for the baseline." in worse.stdout
    other = run(WRONG, "--baseline", "old.json", "--bins", 10)
    assert (other.exit_code, other.stdout) == (2, "")
    assert "15 equal-width bins, not 10 equal-width bins. Add --bins 15" in other.stderr
    for wrong in ("right.csv", "nowhere.json"):
        refused = run("right.csv", "--baseline", wrong)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert wrong in refused.stderr
    table = run(WRONG, "right.csv", "--baseline", "old.json", "--format", "github").stdout
    assert "| increase \\(interval\\) |".replace("\\", "") in table


@pytest.mark.parametrize(
    ("options", "words"),
    [((), "give --max-ece, --baseline, or both"), ((*LIMIT, "--junit", "-"), "--junit takes the name of a file")],
)
def test_what_cannot_be_meant_is_refused(options, words):
    found = run("right.csv", *options)
    assert found.exit_code == 2
    assert words in found.stderr
    over = run("right.csv", *LIMIT, "--junit", "right.csv")
    assert over.exit_code == 2
    assert Path("right.csv").read_text("utf-8").startswith("confidence,correct\n")


# -- unexpected names -----------------------------------------------------------------------------------------

HOSTILE = ["a\nb.csv", "::error::x.csv", "##[error]x.csv", "a%0Ab.csv", "|a|*b*`c`[d](e)<img src=x>@you $x$.csv",
           "\x1b[31m\x00\x08\ufffe.csv", "a\u202eb\udcff.csv", "a,title=b:c::d.csv", "www.example.org.csv"]  # fmt: skip


def broken(name, passed=False):
    return Passage(Path(name), name, 0.0, why=f"{name} cannot be opened\r\n::stop-commands::x")


def annotated(line):
    """Return an annotation as GitHub's runner reads it: its kind, properties and message, unescaped."""
    kind, properties, message = re.fullmatch(r"::(\w+) ([^\n\r]*?)::([^\n\r]*)", line).groups()
    pairs = [pair.partition("=") for pair in properties.split(",")]
    undone = {key: value for key, _, value in pairs}
    for code, char in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        undone = {key: value.replace(code, char) for key, value in undone.items()}
        message = message.replace(code, char) if code not in ("%3A", "%2C") else message
    return kind, undone, message


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_one_annotation_and_one_line_of_the_table(name):
    kind, properties, message = annotated(annotation(broken(name)))
    assert (kind, set(properties)) == ("error", {"file", "title"})
    assert properties["file"] == name.encode("utf-8", "replace").decode()
    assert properties["title"] == f"calib gate: {COULD_NOT}"
    assert "\n" not in message
    table = summary([broken(name), broken("b.csv")])
    rows = [line for line in table.split("\n") if line.startswith("|")]
    assert len(rows) == 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {len(re.findall(r"\|", rows[1]))}
    assert not [line for line in table.split("\n") if line.lstrip().startswith("::") or "##[" in line]
    assert not re.search(r"(?<!\\)[<`*\[]", table)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_valid_xml_that_a_reader_gets_back_readable(name):
    root = ElementTree.fromstring(junit([broken(name)]))
    case = root.find("./testsuite/testcase")
    assert case.get("name").isprintable()
    assert case.find("error").get("message").isprintable()


def test_the_xml_has_the_form_that_jenkins_and_pytest_know():
    """Elements, their order and attributes follow the schemas of Jenkins' xUnit plugin and pytest's xunit2."""
    run("right.csv", WRONG, "few.csv", "gone.csv", *LIMIT, "--junit", "j.xml")
    root = ElementTree.parse("j.xml").getroot()
    assert (root.tag, [child.tag for child in root]) == ("testsuites", ["testsuite"])
    suite = root[0]
    assert set(suite.attrib) == {"name", "tests", "failures", "errors", "skipped", "time"}
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "2", "1", "0"]
    assert [case.get("name") for case in suite] == ["right.csv", WRONG, "few.csv", "gone.csv"]
    for case, tag in zip(suite, ("system-out", "failure", "failure", "error"), strict=True):
        assert case.tag == "testcase"
        assert set(case.attrib) == {"classname", "name", "time"}
        assert [child.tag for child in case] == [tag]
        assert set(case[0].attrib) == (set() if tag == "system-out" else {"type", "message"})
    assert all(re.fullmatch(r"\d+\.\d{3}", one.get("time")) for one in suite.iter() if one.get("time"))


# -- on GitHub ------------------------------------------------------------------------------------------------


def test_the_summary_goes_where_the_step_has_one_and_is_added_to_it(monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "s.md")
    Path("s.md").write_text("before\n", encoding="utf-8")
    found = run("right.csv", *LIMIT, "--format", "github")
    assert len(found.stdout.splitlines()) == 1
    written = Path("s.md").read_text("utf-8")
    assert written.startswith("before\n### calib gate: passed\n\n|")
    assert "Within tolerance\\: " in written


def test_a_file_is_named_from_the_root_of_the_checkout(monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path.parent))
    line = annotation(broken(str(tmp_path / "x" / "y.csv")))
    assert annotated(line)[1]["file"] == f"{tmp_path.name}/x/y.csv"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "elsewhere"))
    assert annotated(annotation(broken("y.csv")))[1]["file"] == "y.csv"
    assert "file=" not in annotation(broken("-"))


def test_the_exit_code_is_the_worst_of_all_files():
    class Checked:
        def __init__(self, result):
            self.passed, self.undecided = result == "pass", result == "undecided"

    for outcomes in product(["pass", "fail", "undecided", None], repeat=3):
        passages = [
            Passage(Path("x"), "x", 0.0, check=None if result is None else Checked(result)) for result in outcomes
        ]
        expected = 2 if {None, "undecided"} & {*outcomes} else 0 if {*outcomes} == {"pass"} else 1
        assert _passages.exit_code(passages) == expected
