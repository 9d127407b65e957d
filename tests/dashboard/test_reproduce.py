"""Copied code lines run, and give the numbers on screen."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from law_data import LawData, on_law_data

from calib_core import Recipe
from calib_core.datasets import DEMOS, demo
from dashboard import report, session
from dashboard.exhibits import EXHIBITS
from dashboard.report.document import Code
from dashboard.selection import Selection, Source
from dashboard.session import report_line

CALIB = Path(sys.executable).with_name("calib")
TEMPERATURE = (Recipe("CALIBRATORS", "temperature"),)


def assert_the_numbers_of_the_screen(selection: Selection) -> None:
    """Check that the copied lines of some exhibits produce exactly the tables on screen."""
    scene = session.scene_of(selection)
    for key in ("verdict", "reliability", "summary"):
        names: dict[str, Any] = {}
        exec(EXHIBITS.make(key).python(scene), names)
        shown = scene.get(EXHIBITS.make(key).table(scene))
        pd.testing.assert_frame_equal(names["table"], shown, check_exact=True)
        assert set(names["table"]["model"]) == set(scene.titles)


def table(n: int, seed: int, split: bool) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet((1, 1, 1), n)
    frame = pd.DataFrame(p, columns=["a", "b", "c"]).round(6)
    frame["label"] = [rng.choice(["a", "b", "c"], p=row) for row in p]
    return frame.assign(split=np.where(np.arange(n) % 3 == 0, "calibration", "test")) if split else frame


def held(frame: pd.DataFrame, name: str, folder: Path) -> str:
    text = io.BytesIO()
    frame.to_csv(text, index=False)
    (folder / name).write_bytes(text.getvalue())
    return session.hold(text.getvalue(), name).key


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@on_law_data
def test_python_lines_of_every_data_set(data: LawData, here: Path) -> None:
    content, name = data.file()
    (here / name).write_bytes(content)
    for key in (session.hold(content, name).key, *([] if data.path else [f"demo:{data.name}"])):
        assert_the_numbers_of_the_screen(Selection(source=Source(data=key), calibrators=TEMPERATURE))


def test_python_lines_of_every_way_to_divide_rows(here: Path) -> None:
    plain, marked = held(table(200, 1, False), "it's.csv", here), held(table(200, 2, True), "marked.csv", here)
    other = held(table(200, 3, False), "-other.csv", here)
    changed = Recipe("CALIBRATORS", "top-label-hb", (("points_per_bin", 20),))
    for source in (
        Source(data=plain, share=0.3, seed=5),
        Source(data=marked),
        Source(data=plain, test=other),
        Source(data=plain, reading='{"classes":["c","b","a"],"scores":["c","b","a"]}'),
    ):
        assert_the_numbers_of_the_screen(
            Selection(source=source, calibrators=(changed,), binning="equal-width", bins=7)
        )


def test_python_lines_of_several_models(here: Path) -> None:
    first = table(200, 11, False)
    second = first.assign(a=1 / 3, b=1 / 3, c=1 / 3)
    a, b = held(first, "a.csv", here), held(second, "b.csv", here)
    assert_the_numbers_of_the_screen(Selection(source=Source(data=a), others=((b, ""),), calibrators=TEMPERATURE))


def test_the_lines_of_a_report_make_its_tables(here: Path) -> None:
    left_out = tuple(c.key for c in report.CHAPTERS if c.key not in ("summary", "reliability", "again"))
    made = report.build(Selection(calibrators=TEMPERATURE), report.Options(left_out=left_out))
    (code,) = (
        b.text for b in made.document.sections[-1].blocks if isinstance(b, Code) and "import calib_core" in b.text
    )
    names: dict[str, Any] = {}
    exec(code, names)
    tables = [table for _, table in made.document.tables if table.call is not None]
    assert len(tables) >= 5
    for table in tables:
        pd.testing.assert_frame_equal(names[table.name.replace("-", "_")], table.frame, check_exact=True)


def test_the_command_makes_the_same_report(here: Path) -> None:
    data, name = demo(DEMOS[0].key)
    (here / f"it's {name}").write_bytes(data)
    key = session.hold(data, f"it's {name}").key
    changed = Recipe("CALIBRATORS", "top-label-hb", (("points_per_bin", 20),))
    selection = Selection(
        source=Source(data=key, share=0.4, seed=3),
        calibrators=(*TEMPERATURE, changed),
        binning="equal-width",
        bins=7,
        eps=0.05,
        bin=6,
        view="classes",
    )
    words = shlex.split(report_line(selection))
    assert words[0] == "calib"
    told = ("--date", "Made on a day", "--leave-out", "estimators", "--leave-out", "calibrators")
    ended = subprocess.run([CALIB, *words[1:], *told], cwd=here, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr.startswith(f"it's {name}: warning: The true class has probability exactly 0")
    assert len(ended.stderr.splitlines()) == 1
    made = report.build(
        selection,
        report.Options(date="Made on a day", left_out=("estimators", "calibrators")),
    )
    assert (here / "report.html").read_bytes() == made.html
