"""`calib tables` and its exhibit: the numbers are the library's, in every form, and a run can be interrupted."""

import io
import os
import re
import shlex
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

import calib_core as cc
from calib_core.papers.tables import latex, method_table, paper_table
from dashboard import session
from dashboard.cli import main
from dashboard.commands import tables
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits import papers as exhibit_of
from dashboard.selection import Selection, Source
from tests.dashboard.test_views import opened


def write(path, n=240, k=3, seed=0, **columns):
    probs, labels = ordinary_rows(n, k, seed)
    sharp = probs**1.6 / (probs**1.6).sum(1, keepdims=True)
    frame = pd.DataFrame(sharp, columns=[f"p_{j}" for j in range(k)]).assign(label=labels, **columns)
    frame.to_csv(path, index=False)


@pytest.fixture
def nets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Path("nets")
    folder.mkdir()
    write(folder / "a.csv")
    write(folder / "b_1.csv", 300, 4, 1)
    return folder


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(a) for a in arguments], prog_name="calib")
    assert result.exit_code == code, result.output
    return result


def read(folder):
    return {path.name: cc.read_predictions(path, rows="all") for path in sorted(folder.glob("*.csv"))}


def test_tables_on_disk_and_in_every_form_are_the_librarys(nets):
    expected = paper_table(read(nets), "p1-table-3", splits=2)
    (nets / "notes.md").write_text("no predictions")
    how = ("tables", nets, "--paper", "p1-table-3", "--splits", 2)
    shown = run(*how, "--out", "out")
    assert "notes.md: skipped" in shown.stderr
    assert Path("out/p1-table-3.tex").read_text() == latex(expected)
    written = pd.read_csv("out/p1-table-3.csv")
    assert written["TS"].tolist() == expected.frame()["TS"].tolist()
    results = {path: path.stat().st_mtime_ns for path in Path("out/results").iterdir()}
    assert len(results) == 4
    assert run(*how, "--out", "out").stdout == shown.stdout
    assert {path: path.stat().st_mtime_ns for path in Path("out/results").iterdir()} == results
    assert pd.read_csv(io.StringIO(run(*how, "--csv").stdout))["TS"].tolist() == written["TS"].tolist()
    assert run(*how, "--latex").stdout == latex(expected)
    for note in expected.notes:
        assert note in shown.stdout
    line = expected.frame().iloc[0]
    by_hand = f"{100 * line['TS']:.2f} ± {100 * line['TS, standard error']:.2f} ({line['TS, rank']:g})"
    assert by_hand in shown.stdout


def test_a_table_of_ones_own_and_files_that_mark_their_parts(nets):
    write(nets / "c.csv", 200, 3, 2, split=np.where(np.arange(200) % 3, "test", "cal"))
    how = ("--calibrator", "identity", "--calibrator", "temperature", "--measure", "tl-ece", "--splits", 3)
    text = run("tables", nets, *how, "--share", 0.4, "--seed", 2, "--csv").stdout
    shown = pd.read_csv(io.StringIO(text))
    whole = {name: p for name, p in read(nets).items() if name != "c.csv"}
    frame = cc.papers.tables.method_tables(
        whole, ["identity", "temperature"], ["TL-ECE"], splits=3, fit_share=0.4, seed=2
    )
    names = {"identity": "Original model", "temperature": "Temperature scaling"}
    expected = method_table(frame, names=names).frame()
    for name in names.values():
        assert shown[name][:2].tolist() == expected[name][:2].tolist()
    assert shown["splits"][:3].tolist() == [3, 3, 1]
    assert shown["file"].tolist() == ["a.csv", "b_1.csv", "c.csv", "average", "average rank"]


def test_a_damaged_file_is_a_line_with_its_reason(nets):
    (nets / "c.csv").write_text("nothing,here\n1,2\n")
    text = run("tables", nets, "--calibrator", "identity", "--measure", "Accuracy", "--splits", 1).stdout
    assert [line for line in text.splitlines() if line.startswith("c.csv: ")]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--paper", "p9-table-9"),
        ("--paper", "p3-table-5", "--calibrator", "identity"),
        ("--paper", "p3-table-5", "--measure", "Accuracy"),
        ("--paper", "p3-table-5", "--splits", 1, "--share", 0.5),
        ("--paper", "p3-table-5", "--splits", 1, "--counting", "answered"),
        ("--calibrator", "temprature"),
        ("--calibrator", "identity", "--measure", "Acuracy"),
        ("--calibrator", "identity", "--csv", "--latex"),
        ("--calibrator", "identity", "--splits", "0"),
    ],
)
def test_what_cannot_run_ends_with_two(nets, arguments):
    run("tables", nets, *arguments, code=2)


def test_a_folder_without_predictions_is_told(nets):
    for path in nets.iterdir():
        path.unlink()
    assert "contains no predictions file" in run("tables", nets, "--calibrator", "identity", code=2).stderr
    run("tables", "nowhere", "--calibrator", "identity", code=2)


def test_an_interrupted_run_leaves_whole_results_and_goes_on(nets):
    write(nets / "z.csv", 4000, 20, 3)
    # A shell starts what runs in its background deaf to interrupts, and so all that is started from there.
    hear = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    how = ["--paper", "p3-table-9", "--splits", "2", "--out", "out", "--jobs", "2"]
    command = [Path(sys.executable).with_name("calib"), "tables", "nets", *how]
    environment = os.environ | {"CALIB_THREADS": "2"}
    running = subprocess.Popen(command, stdout=-1, stderr=-1, preexec_fn=hear, env=environment)
    results, end = Path("out/results"), time.monotonic() + 60
    while not (results.is_dir() and len(list(results.iterdir())) >= 3) and time.monotonic() < end:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert all(path.suffix == ".json" and path.read_text().endswith("]") for path in results.iterdir())
    assert not Path("out/p3-table-9.csv").exists()


def test_the_examples_of_the_help_can_be_run(nets):
    examples = re.findall(r"^ +calib (tables .+)$", run("tables", "--help").stdout, re.MULTILINE)
    assert len(examples) == 3
    for example in examples:
        assert CliRunner().invoke(main, shlex.split(example)).exit_code == 0, example
    assert Path("tables/p4-table-1.tex").exists()
    assert tables.OWN == "methods"


# -- the view -------------------------------------------------------------------------------------------------

WINE = Source(data="demo:wine-logistic")


def test_the_view_makes_a_table_when_it_is_asked_for_and_takes_it_home():
    chosen = EXHIBITS.described("paper-tables", splits=2)
    app = opened(Selection(source=WINE, view="arena", about="paper-tables", exhibits=(chosen,)))
    assert not app.exception
    assert not app.table
    next(button for button in app.button if button.label == "Compute").click().run(timeout=60)
    assert not app.exception
    whole = cc.calls.read_as(cc.read_table(*cc.datasets.demo("wine-logistic")))
    scene = session.scene_of(Selection(source=WINE))
    name = session.file(WINE.data).title
    expected = paper_table({name: whole}, "p1-table-2", splits=2)
    frame = scene.get(chosen.build().table(scene))
    pd.testing.assert_frame_equal(frame, expected.frame(), check_exact=True)
    shown = app.table[0].value
    assert [name.replace("\\", "") for name in shown.columns] == ["file", "Base", "TS", "VS", "DS", "N-HB", "TL-HB"]
    assert f"{100 * frame['TS'][0]:.2f} ± " in shown["TS"].iloc[0].replace("\\", "")
    assert "Cancel" not in [button.label for button in app.button]
    assert {button.label for button in app.get("download_button")} >= {
        "Download this table (CSV)",
        "Download this table (LaTeX)",
    }


def test_the_exhibit_takes_the_demo_files_too_and_its_code_makes_the_same_table(monkeypatch):
    monkeypatch.setattr(exhibit_of, "DEMOS", cc.datasets.DEMOS[:2])
    scene = session.scene_of(Selection(source=WINE))
    call = EXHIBITS.make("paper-tables", splits=1, with_demos=True).whole(scene)
    assert [name for name, _ in call.args[0].items][1:] == [demo.title for demo in cc.datasets.DEMOS[:2]]
    printed = EXHIBITS.make("paper-tables", published="p4-figure-2", splits=2).python(scene)
    names = {}
    exec(compile(printed, "copied", "exec"), names)
    exhibit = EXHIBITS.make("paper-tables", published="p4-figure-2", splits=2)
    pd.testing.assert_frame_equal(names["table"], scene.get(exhibit.table(scene)), check_exact=True)
    assert exhibit.words(scene).caption.endswith("are no recommendation.")


def test_parts_that_a_column_or_a_slice_says_are_what_is_judged():
    selection = Selection(source=Source(data="demo:language-model", within="subject=law"))
    scene = session.scene_of(selection)
    table = scene.get(EXHIBITS.make("paper-tables", published="p1-table-2").table(scene))
    rows = session.parts(selection.source)
    expected = paper_table({session.file(selection.source.data).title: (rows.fit, rows.test)}, "p1-table-2")
    pd.testing.assert_frame_equal(table, expected.frame(), check_exact=True)
    assert table["splits"].tolist() == [1, 1]
