"""`calib report`: its output, its messages, and its failures."""

from __future__ import annotations

import zipfile
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from calib_core.text import percent
from dashboard import report, session
from dashboard.cli import main
from dashboard.commands import _outputs
from dashboard.commands.report import _made
from dashboard.report import CHAPTERS, Options, Progress, chromium, read_recipe
from dashboard.selection import Selection
from tests.support.named import hostile_csv

FEW = [word for chapter in CHAPTERS if chapter.key != "summary" for word in ("--leave-out", chapter.key)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p.csv").write_bytes(hostile_csv())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["report", *words], prog_name="calib")


def refused(*words: str) -> str:
    """Return the message of a refusal: one sentence, exit code 2, nothing written."""
    ended = run(*words)
    assert ended.exit_code == 2, ended.output
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    assert not Path("report.html").exists()
    return ended.stderr


def test_it_writes_the_report_and_the_tables_and_only_warns_of_the_file(here: Path) -> None:
    ended = run("p.csv", "--calibrator", "temperature", "--bins", "7", "--tables", "t.zip", "--title", "A & B", *FEW)
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert ended.stderr.splitlines() == [
        'p.csv: warning: The name "cat\\u202egod" contains invisible characters: U+202E.'
    ]
    held = read_recipe((here / "report.html").read_bytes())
    assert held.selection.bins == 7
    assert [recipe.key for recipe in held.selection.calibrators] == ["temperature"]
    assert held.options.title == "A & B"
    names = zipfile.ZipFile(here / "t.zip").namelist()
    assert [name[9:] for name in names if name.endswith("-verdicts.csv")] == ["verdicts.csv"]


def test_a_section_on_request_is_written_where_it_is_named(here: Path) -> None:
    assert run("p.csv", *FEW).exit_code == 0
    assert read_recipe((here / "report.html").read_bytes()).options.added == ()
    for words in (("--include", "planner", *FEW), ("--only", "planner")):
        assert run("p.csv", *words).exit_code == 0
        assert read_recipe((here / "report.html").read_bytes()).options.added == ("planner",)
        assert '<section id="planner"' in (here / "report.html").read_text()
    (here / "report.html").unlink()
    assert "there is no section 'nowhere'" in refused("p.csv", "--include", "nowhere")


def test_without_calibrators_the_base_model_alone_is_shown(here: Path) -> None:
    assert run("p.csv", *FEW).exit_code == 0
    assert read_recipe((here / "report.html").read_bytes()).selection.calibrators == ()


def test_like_an_earlier_report_gives_the_same_file(here: Path) -> None:
    told = ("--date", "Made on a day")
    assert run("p.csv", "--seed", "5", "--tolerance", "0.1", "-o", "one.html", *told, *FEW).exit_code == 0
    assert run("p.csv", "--like", "one.html", "-o", "two.html", *told).exit_code == 0
    assert (here / "one.html").read_bytes() == (here / "two.html").read_bytes()
    assert "one.html is about another file" in refused("demo:example-1", "--like", "one.html")


def test_like_an_earlier_report_of_several_files_gives_the_same_file(here: Path) -> None:
    (here / "q.csv").write_text((here / "p.csv").read_text() + "\n")
    told = ("--date", "Made on a day")
    assert run("p.csv", "--other", "q.csv", "-o", "one.html", *told, *FEW).exit_code == 0
    held = read_recipe((here / "one.html").read_bytes())
    (other,) = [digest for key, digest in held.files.items() if key != held.selection.source.data]
    # As in another process, which contains no file yet.
    session.delete_own()
    said = f"one.html is also about a file whose SHA-256 begins with {other[:8]}: name it with --test or --other"
    assert said in refused("p.csv", "--like", "one.html")
    assert run("p.csv", "--other", "q.csv", "--like", "one.html", "-o", "two.html", *told).exit_code == 0
    assert (here / "one.html").read_bytes() == (here / "two.html").read_bytes()


@pytest.mark.parametrize(
    ("words", "flag"),
    [(("--bins", "7"), "--bins"), (("--calibrator", "temperature"), "--calibrator"), (("--slow",), "--slow")],
)
def test_like_an_earlier_report_no_choice_can_be_changed(here: Path, words: tuple[str, ...], flag: str) -> None:
    (here / "one.html").write_text("")
    said = f"--like takes every choice from the earlier report: leave {flag} out"
    assert said in refused("p.csv", "--like", "one.html", *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.csv",), "calib report: nowhere.csv cannot be opened"),
        (("demo:nothing",), "calib report: there is no example data set demo:nothing; available: "),
        (
            ("p.csv", "--calibrator", "temprature"),
            "calib report: --calibrator 'temprature' is not known; did you mean 'temperature'",
        ),
        (("p.csv", "--calibrator", "{"), "calib report: --calibrator: "),
        (("p.csv", "--bins", "3"), "calib report: --bins: '3' is not possible"),
        (("p.csv", "--tolerance", "-1"), "Invalid value for '--tolerance': -1.0"),
        (("p.csv", "--leave-out", "all"), "calib report: there is no section 'all'; sections: summary"),
        (("p.csv", "--read", "kind=guess"), "calib report: kind is"),
        (("p.csv", "--like", "p.csv"), "calib report: This file contains no recipe"),
        (
            ("p.csv", "--share", "0.5", "-o", "no/such/folder.html", *FEW),
            "cannot be written (No such file or directory: ",
        ),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(words: tuple[str, ...], said: str) -> None:
    assert said in refused(*words)


def test_a_pdf_needs_chromium(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "found", lambda: None)
    assert "apt-get install chromium" in refused("p.csv", "--pdf", "r.pdf")


def test_help_has_examples() -> None:
    assert "calib report predictions.csv --like report.html -o again.html" in run("--help").output


def test_the_bar_stands_where_the_work_does(monkeypatch: pytest.MonkeyPatch) -> None:
    bar, places = SimpleNamespace(pos=0, label=""), []

    def update(steps: int) -> None:
        bar.pos += steps
        places.append(bar.pos)

    bar.update = update
    monkeypatch.setattr(_outputs, "progress", lambda label, length: nullcontext(bar))
    monkeypatch.setattr(
        report, "build", lambda *_, progress: [progress(Progress(share, "x")) for share in (0.25, 0.5, 1.0)]
    )
    _made(Selection(), Options())
    assert places == [250, 500, 1000]


def test_a_summary_of_two_classes_has_a_report_and_slices_of_the_class_predicted(tmp_path: Path) -> None:
    """Its slices are about the confidence, and so is the text next to them; the report omits what needs rows."""
    rng = np.random.default_rng(2)
    risk = rng.beta(2, 5, 300).round(3)
    frame = pd.DataFrame({"died": (rng.random(300) < risk / 2).astype(int), "risk": risk, "site": ["a", "b"] * 150})
    frame.to_csv(tmp_path / "two.csv", index=False)
    made = CliRunner()
    summary = str(tmp_path / "two.parquet")
    calls = (
        ["summarise", str(tmp_path / "two.csv"), "--column", "site", "-o", summary],
        ["report", summary, "-o", str(tmp_path / "r.html")],
        ["slices", summary, "--by", "site"],
    )
    results = [made.invoke(main, call, prog_name="calib") for call in calls]
    assert [result.exit_code for result in results] == [0, 0, 0], [result.output for result in results]
    shown = results[-1].stdout
    right = (frame["risk"] > 0.5) == (frame["died"] == 1)
    for site, rows in frame.groupby("site"):
        says = np.maximum(rows["risk"], 1 - rows["risk"]).mean()
        line = next(text for text in shown.splitlines() if text.startswith(f"site = {site} "))
        assert f"{percent(says)}" in line
        assert f"{percent(right[rows.index].mean())}" in line
    assert "confidence" in shown
    assert "mean risk" not in shown
    assert "event happened" not in shown
