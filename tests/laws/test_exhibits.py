"""Screen, report, command and copied code show the same numbers of every exhibit, or the same refusal."""

from __future__ import annotations

import csv
import io
import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.io as pio
import pytest
from click.testing import CliRunner
from law_data import EVERYTHING, LawData, law_data
from shown_laws import (
    axes_hold_their_marks,
    columns_say_their_values,
    hovers_speak_in_percent,
    marks_are_of_the_table,
    models_have_their_colours,
)

import calib_core as cc
from calib_core import NotAnswerable, Recipe
from calib_core.registry.registry import Choice, Flag, Key
from calib_core.text import begun
from dashboard import session
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.exhibits import columns as of
from dashboard.export import csv_bytes
from dashboard.report import exhibited
from dashboard.report.document import Figure, Paragraph, TypesetTable
from dashboard.selection import Selection, Source
from dashboard.session import Call, Scene, call
from tests.laws.test_words import code_in

pytestmark = pytest.mark.law
ORDINARY = ("synthetic-three-class", "language-model", "breast-cancer-svm")
DATA = law_data() if EVERYTHING else [LawData(name) for name in ORDINARY]
"""Data of an ordinary run: three classes, confidences only (refused most often), and the event of two classes."""
CALIBRATORS = ("temperature", "top-label-hb", "metacal-miscoverage")
CELL, CODE, ZOOM = 2, 1, 12
"""Focused cell of a triangle, class and bin."""
ON_REQUEST = {"slow", "published", "with_demos", "intervals", "which", "size", "experiment", "measure"}
"""Switches and choices whose computation takes so long that the user confirms it: left to `make laws`."""


RUN = """
import json, os, pickle, sys, traceback
import calib_core as cc

def once(function, key):
    # Every copied text reads the file and fits the calibrators again: here each is done once.
    known = {}
    def run(*args, **options):
        place = key(args), repr(sorted((name, id(value)) for name, value in options.items()))
        if place not in known:
            known[place] = args, function(*args, **options)
        return known[place][1]
    return run

cc.read_table = once(cc.read_table, repr)
for name in ("read_as", "divide", "recalibrated"):
    setattr(cc, name, once(getattr(cc, name), lambda args: tuple(map(id, args))))
cc.calls.fitted = once(cc.calls.fitted, lambda args: (id(args[0]), repr(args[1])))
by_name = lambda args: tuple((name, id(rows)) for name, rows in args[0].items())
cc.inference.primaries = once(cc.inference.primaries, by_name)
for line in sys.stdin:
    folder, code = json.loads(line)
    loaded = set(sys.modules)
    os.chdir(folder)
    names = {}
    try:
        exec(code, names)
        figure = names.get("figure")
        answer = names["table"], None if figure is None else figure.to_json()
    except Exception:
        answer = traceback.format_exc()
    # The module of another package's function may be that of its exhibit.
    foreign = "\\nimport " in code
    assert foreign or not [name for name in {*sys.modules} - loaded if name.startswith(("dashboard", "streamlit"))]
    pickle.dump(answer, sys.stdout.buffer)
    sys.stdout.flush()
"""


TIMED = Recipe("EXHIBITS", "arena", (("benchmark", "files"),))
"""Its seconds are those of each run; tests/dashboard/test_arena.py compares its other numbers."""


def variants() -> list[Recipe]:
    """Return every exhibit with its defaults, and with every other value of its choices and switches."""
    found: list[Recipe] = []
    for key in EXHIBITS:
        found.append(Recipe("EXHIBITS", key))
        for param in EXHIBITS[key].params:
            domain = param.domain
            options = (
                domain.options if isinstance(domain, Choice) else (True, False) if isinstance(domain, Flag) else ()
            )
            if isinstance(domain, Key):
                # Some members of a family take long: in an ordinary run its words and its first members.
                options = domain.options if EVERYTHING else domain.options[: len(domain.words) + 2]
            if param.name in ON_REQUEST and not EVERYTHING:
                continue
            found += [EXHIBITS.described(key, **{param.name: o}) for o in options if o != param.default]
    return [recipe for recipe in found if recipe != TIMED]


def table_of(recipe: Recipe, scene: Scene) -> pd.DataFrame | str:
    """Return the table on screen, or the message in its place."""
    exhibit: Exhibit = recipe.build()
    try:
        return scene.get(exhibit.table(scene))
    except NotAnswerable as why:
        return str(why)


def same(a: pd.DataFrame, b: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(a, b, check_exact=True)


@pytest.fixture(scope="module", params=[pytest.param(d, marks=pytest.mark.law, id=d.name) for d in DATA])
def data(request: pytest.FixtureRequest) -> LawData:
    return request.param


@pytest.fixture(scope="module")
def folder(data: LawData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the file, unless it is a demo."""
    place = tmp_path_factory.mktemp("here")
    if data.path:
        shutil.copy(data.path, place)
    return place


@pytest.fixture(scope="module")
def scene(data: LawData) -> Scene:
    """Return the scene: several calibrators, one that abstains; fewer if the rows allow fewer."""
    key = session.hold(*data.file()).key if data.path else f"demo:{data.name}"
    ticked = tuple(Recipe("CALIBRATORS", key) for key in CALIBRATORS)
    return session.scene_of(Selection(source=Source(data=key), calibrators=ticked, cell=CELL, code=CODE, bin=ZOOM))


@pytest.fixture
def show(data: LawData, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a call of `calib show` with the same choices."""
    monkeypatch.chdir(folder)
    file = data.path.name if data.path else f"demo:{data.name}"
    looked_at = f"cell={CELL}&code={CODE}&bin={ZOOM}"
    options = [*(text for key in CALIBRATORS for text in ("--calibrator", key)), "--choices", looked_at]

    def run_it(key: str, *words: str) -> Any:
        return CliRunner().invoke(main, ["show", key, file, *options, *words], prog_name="calib")

    return run_it


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Path, str], Any]]:
    """Yield a function that runs copied Python in this folder, in a fresh interpreter without the dashboard."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", RUN], stdin=pipe, stdout=pipe) as interpreter:
        assert interpreter.stdin
        assert interpreter.stdout

        def made(folder: Path, code: str) -> Any:
            interpreter.stdin.write(json.dumps([str(folder), code]).encode() + b"\n")
            interpreter.stdin.flush()
            answer = pickle.load(interpreter.stdout)  # noqa: S301  # written by the lines above
            assert not isinstance(answer, str), answer
            return answer

        yield made


def shown_of(data: LawData) -> list[Recipe]:
    """Return what is shown of these data: in an ordinary run only of the first every value of every choice."""
    every = data is DATA[0] or EVERYTHING
    return [recipe for recipe in variants() if every or recipe == Recipe("EXHIBITS", recipe.key)]


def cases() -> Iterator[Any]:
    """Yield data and recipes."""
    for data in DATA:
        for recipe in shown_of(data):
            yield pytest.param(data, recipe, id=f"{data.name}-{recipe.title}")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("data", "recipe"), list(cases()), indirect=["data"])
def test_one_exhibit_is_the_same_everywhere(
    scene: Scene, folder: Path, run: Callable[[Path, str], Any], show: Callable[..., Any], recipe: Recipe
) -> None:
    shown = table_of(recipe, scene)
    blocks = [block for block in exhibited.blocks(recipe, scene) if block is not None]
    words = [text for name, value in recipe.params for text in ("--set", f"{name}={value}")]
    answer = show(recipe.key, *words, "--format", "json")
    if isinstance(shown, str):
        (paragraph,) = [block for block in blocks if isinstance(block, Paragraph)]
        assert paragraph.text == f"{begun(shown)}."
        assert answer.exit_code == 2
        assert answer.stderr == f"calib show: {shown}\n"
        return
    columns_say_their_values(shown, recipe.build().columns(shown))
    # The report's CSV, back again, is the table.
    (table,) = [block for block in blocks if isinstance(block, TypesetTable)]
    assert table.csv() == csv_bytes(shown)
    assert answer.exit_code == 0, answer.stderr
    record = json.loads(answer.stdout)
    lines = [{name: None if value != value else value for name, value in line.items()} for line in _plain(shown)]
    assert record["lines"] == lines
    copied, figure = run(folder, recipe.build().python(scene))
    same(copied, shown)
    figures = [block for block in blocks if isinstance(block, Figure)]
    assert (figure is None) == (not figures)
    if figures:
        drawn = figures[0].drawn
        assert json.loads(figure)["data"] == json.loads(pio.to_json(drawn))["data"]
        hovers_speak_in_percent(drawn)
        axes_hold_their_marks(drawn)
        models_have_their_colours(drawn, scene.looks)
        marks_are_of_the_table(drawn, shown)


def _plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = json.loads(json.dumps(frame.to_dict("records"), default=lambda value: value.item()))
    return lines


def test_with_everything_chosen_nothing_is_refused(data: LawData, scene: Scene) -> None:
    """The exception is work that needs many fits and is computed on request."""
    if data.name == "synthetic-three-class":
        refused = {key for key in EXHIBITS if isinstance(table_of(Recipe("EXHIBITS", key), scene), str)}
        assert refused == {
            "slices",
            "curve-gaps",
            "in-the-large",
            "kept-pairs",
            "judged-answers",
            "rates",
            "risk-groups",
            "slice-columns",
            "slice-panels",
            "slice-scan",
            "score-parts",
            "multicalibration",
            "update-test",
            "sites",
            "pooled-sites",
            "over-time",
            "after-alarm",
        }


@pytest.mark.sampled(2)
def test_every_column_that_is_printed_is_in_the_table(data: LawData, scene: Scene) -> None:
    for recipe in shown_of(data):
        frame = table_of(recipe, scene)
        if not isinstance(frame, str):
            exhibit: Exhibit = recipe.build()
            columns = exhibit.columns(frame)
            assert columns
            assert {name for column in columns for name in column.made_of} <= set(frame.columns), recipe.title


def test_exhibits_speak_plainly(scene: Scene) -> None:
    for key in EXHIBITS:
        for text in shown_by(key, scene):
            assert not code_in(text), f"{key}: {text}"


def shown_by(key: str, scene: Scene) -> Iterator[str]:
    """Yield headings and words of an exhibit, or the message in its place."""
    exhibit = EXHIBITS.make(key)
    try:
        frame, words = scene.get(exhibit.table(scene)), exhibit.words(scene)
    except NotAnswerable as why:
        yield str(why)
        return
    yield from (words.below_figure, words.alt, *words.notes)
    if key not in ("bin-rows", "cell-rows", "file"):  # they show columns of the file, by its own names
        yield from (column.heading for column in exhibit.columns(frame))


def test_models_are_found_by_title_and_titles_differ(scene: Scene) -> None:
    assert len(set(scene.titles)) == len(scene.titles)


def test_an_exhibit_registered_here_is_everywhere(
    monkeypatch: pytest.MonkeyPatch, scene: Scene, show: Callable[..., Any]
) -> None:
    @dataclass(frozen=True)
    class Rows(Exhibit):
        """Number of rows that each model answers."""

        def table(self, scene: Scene) -> Call[pd.DataFrame]:
            return call(cc.calls.stacked, scene.each(lambda m: call(cc.diagrams.reliability, m.predictions, bins=1)))

        def columns(self, frame: pd.DataFrame) -> tuple[of.Column, ...]:
            return (of.text("model"), of.whole("rows", "count"))

    monkeypatch.setattr(EXHIBITS, "_entries", dict(EXHIBITS._entries))
    EXHIBITS.register("rows-of-a-test", "Rows")(Rows)
    recipe = Recipe("EXHIBITS", "rows-of-a-test")
    (table,) = [block for block in exhibited.blocks(recipe, scene) if isinstance(block, TypesetTable)]
    assert show(recipe.key, "--format", "csv").stdout == table.csv().decode()


def test_a_table_is_made_once(scene: Scene) -> None:
    exhibit: Exhibit = EXHIBITS.make("reliability")
    assert scene.get(exhibit.table(scene)) is scene.get(EXHIBITS.make("reliability").table(replace(scene)))


def test_the_csv_keeps_every_bit(scene: Scene) -> None:
    frame = scene.get(EXHIBITS.make("reliability").table(scene))
    lines = list(csv.DictReader(io.StringIO(csv_bytes(frame).decode())))
    share = "accuracy" if "accuracy" in frame else "observed"
    assert [float(line[share]) for line in lines] == frame[share].tolist()
