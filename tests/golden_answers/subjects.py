"""Golden answers by subject: exhibits on each scene, their options, commands, reports, rooms, and the library."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from no_data import OF_NO_DATA
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import NotAnswerable, Recipe
from calib_core.registry.registry import Choice
from dashboard.chart import drawn
from dashboard.exhibits import EXHIBITS, Exhibit
from dashboard.exhibits.columns import best_cells, written
from dashboard.report.document import Beside, Block, Figure, Folded, TypesetTable, within
from dashboard.report.request import Options, Request
from dashboard.report.sections import CHAPTERS
from dashboard.selection import Selection
from dashboard.session import Scene
from tests.golden_answers.scenes import SCENES, SELECTIONS
from tests.golden_answers.told import answered, sentence, told
from tests.golden_bits import data
from tests.golden_bits.walk import Line
from tests.laws import test_options_of_commands as calls
from tests.laws import test_options_of_exhibits as options

Lines = dict[str, str]
SLOW = {"calibrator-errors": "tested", "uses": "tested", "judged-answers": "judged"}
"""Exhibits of one scene, as they are slow, or have only one."""
CONFIRMED = ("published", "experiment", "size", "which", "benchmark")
"""Options with values that take long: one of them is enough."""


def exhibit(key: str, recipe: Recipe, scene: Scene) -> Iterator[Line]:
    """Yield all that an exhibit shows: table, printed cells, emphasis, words and figure, or its refusal."""
    made: Exhibit = recipe.build()
    try:
        made.check(scene)
        frame, words, figure = scene.get(made.table(scene)), made.words(scene), made.figure(scene)
        picture = None if figure is None else scene.get(figure)
    except NotAnswerable as why:
        yield from sentence(f"{key}/refused", str(why))
        return
    columns = made.columns(frame)
    cells = zip(*written(frame, columns), strict=True)
    yield from told(f"{key}/table", frame)
    yield from told(f"{key}/cells", {column.heading: list(each) for column, each in zip(columns, cells, strict=False)})
    yield from told(f"{key}/bold", {"lines": made.bold(frame), "best": sorted(best_cells(frame, columns))})
    declared = (f"{each.heading or each.name} ({each.unit}): {each.meaning}" for each in made.declared(frame))
    yield from sentence(f"{key}/declared", " | ".join(declared))
    yield from told(f"{key}/words", words)
    yield from told(f"{key}/terms", made.terms_in(scene))
    if picture is not None:
        yield from told(f"{key}/figure", picture)


def shown(name: str) -> Iterator[Line]:
    """Yield every exhibit of a scene, and the chapters of its report."""
    scene = SCENES[name]()
    for key in EXHIBITS:
        one = "tested" if key in OF_NO_DATA else SLOW.get(key, "" if name == "judged" else name)
        if one == name:
            yield from exhibit(f"{name}/{key}", Recipe("EXHIBITS", key), scene)

    yield from report(name)
    for view in ROOMS.get(name, ()):
        yield from room(f"{name}/rooms/{view}", SELECTIONS[name]().replace(view=view))


def _moved(key: str, usual: Lines, found: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines that an option changes."""
    yield from ((f"{key}{path}", text) for path, text in found if usual.get(path) != text)


def report(name: str) -> Iterator[Line]:
    """Yield the texts and printed cells of every chapter of a report; its figures are those of exhibits."""
    if name not in SELECTIONS:
        return
    request = Request(SELECTIONS[name](), Options(date="a day"))
    for chapter in CHAPTERS:
        slow = chapter.key == "estimators" and name not in ("grouped", "stated")
        if slow or chapter.key in ("again", "methods") or chapter.why_not(request):
            continue
        blocks = within(block for block in chapter.blocks(request) if block is not None)
        yield from sentence(f"{name}/report/{chapter.key}/title", chapter.title_of(request))
        for i, block in enumerate(blocks):
            yield from told(f"{name}/report/{chapter.key}/{i:02}", _printed(block))


def _printed(block: Block) -> Any:
    """Return what is printed of a block; the blocks inside others come by themselves."""
    if isinstance(block, TypesetTable):
        return {"table": block.caption, "cells": block.cells, "bold": block.bold}
    if isinstance(block, Figure):
        titles = {trace.name: trace.y for trace in block.drawn.data}
        return {"figure": block.caption, "label": block.label, "marks": titles}
    return {"title": block.title} if isinstance(block, Folded) else {} if isinstance(block, Beside) else block


def changed() -> Iterator[Line]:
    """Yield what each option of an exhibit changes, at every value of a choice and at another value of a number."""
    usual_of: dict[tuple[Recipe, int], Lines] = {}
    for key, option in options.OPTIONS:
        if f"{key}.{option}" in options.LONG:
            continue
        one, other, scene = options.asked(key, option)
        if (one, id(scene)) not in usual_of:
            usual_of[one, id(scene)] = dict(exhibit("", one, scene))
        usual = usual_of[one, id(scene)]
        param = next(each for each in EXHIBITS[key].params if each.name == option)
        on = dict(options.case(key, option).also)
        domain = param.domain.options if isinstance(param.domain, Choice) and option not in CONFIRMED else ()
        for recipe in dict.fromkeys([other, *(EXHIBITS.described(key, **on | {option: value}) for value in domain)]):
            if recipe != one:
                value = " ".join(str(dict(recipe.params).get(option, param.default)).split())
                yield from _moved(f"options/{key}/{option}={value}", usual, exhibit("", recipe, scene))


ROOMS = {
    "tested": ("overview", "reliability", "findings", "classes", "slices", "calibrators", "data"),
    "grouped": ("overview", "reliability", "calibrators", "data"),
    "several": ("overview", "findings"),
    "stated": ("overview", "levels", "data"),
    "risky": ("overview", "slices"),
}  # fmt: skip
"""Views of the dashboard by scene."""
OF_MACHINE = "very large ones best as"
"""Part of a sentence on the largest file, which depends on the memory."""
APP = Path(__file__).parents[2] / "dashboard" / "app.py"


def room(key: str, selection: Selection) -> Iterator[Line]:
    """Yield the texts, tables and cards of a view in order, and what each of its charts is about."""
    app = AppTest.from_file(str(APP), default_timeout=120)
    for name, text in selection.to_query().items():
        app.query_params[name] = text
    app.run()
    yield from told(f"{key}/crashed", [each.value for each in app.exception])
    places: Counter[str] = Counter()
    for element in app.main:
        kind = element.type
        what = getattr(element, "value", None) if kind in WRITTEN else None
        if what is None:
            continue
        places[kind] += 1
        if OF_MACHINE in str(what):
            continue
        if isinstance(what, str):  # signs that Markdown would read are escaped
            what = what.replace("\\", "")
        yield from told(f"{key}/{kind}/{places[kind]:02}", [element.label, what] if kind == "metric" else what)
    for name, sent in drawn(app).items():
        marks = {str(trace.get("name")): trace.get("y") for trace in sent.figure["data"]}
        yield from told(f"{key}/charts/{name}", {"label": sent.label, "focus": sent.focus, "marks": marks})


WRITTEN = frozenset(
    ("markdown", "caption", "info", "warning", "error", "success", "metric", "table", "arrow_data_frame", "header",
     "subheader", "title", "text", "selectbox", "button_group", "number_input", "slider", "radio")
)  # fmt: skip
"""Elements of a page that say something."""


def commands() -> Iterator[Line]:
    """Yield what every command prints, as text, record and table, and what its options change in the text."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        calls._write(Path(folder))
        (Path(folder) / "released.json").write_text(
            json.dumps(_run("gate again.csv --max-ece 0.05 --format json")["answer"])
        )
        usual: dict[str, Lines] = {}
        for command, option in calls.OPTIONS:
            name = f"{command} {option}"
            if command in NOT_ANSWERING or name in calls.FORM or name in LONG_CALLS or option in READING:
                continue
            one, other = (_as_text(words, option) for words in calls.asked(command, option))
            for words in (one, other):
                if words not in usual:
                    usual[words] = dict(told("", _run(words)))
            if one == other or f"commands/{command}" not in usual:
                usual[f"commands/{command}"] = usual[one]
                yield from ((f"commands/{command}{path}", text) for path, text in usual[one].items())
            yield from _moved(f"commands/{command}/{option}", usual[one], usual[other].items())
        for words in TOGETHER:
            yield from told(f"commands/{words.replace('/', ' ')}", _run(words))


NOT_ANSWERING = ("dashboard", "serve", "report", "reproduce", "export", "arena")
"""Commands that start something, whose answers are those of a report or a table of the library, or contain seconds."""
TOGETHER = (
    "slices three.csv --by site --worst-group --parts 2 --level 0.8",
    "compare three.csv second.csv --level 0.8 --margin 0.05",
    "gate risk.csv --max-ece 0.3 --level 0.8",
)
"""Calls with options that matter together."""
LONG_CALLS = ("audit --slow", "audit --counting", "audit --folds", "audit --models-in", "summarise --scheduler",
              "choose --models-in", "show --test", "help --man")  # fmt: skip
"""Calls that take long, and the manual page: it repeats the help of all commands, which is no answer."""
READING = ("--debug", "--read", "--label", "--labels", "--key", "--by-place", "--rows", "--force", "-o", "--junit")
"""Options of reading, whose answers are those of other rows, and of writing; a JUnit file has durations."""


def _as_text(words: str, option: str) -> str:
    """Return a call that prints text, unless the option is the form of its output."""
    formed = option in ("--json", "--csv", "--format", "--latex")
    return words.strip() if formed else re.sub(r" --(json|csv|format json)\b", "", words).strip()


def _run(words: str) -> dict[str, Any]:
    """Return what a call prints and writes: a record or lines of text, remarks, files of text, and the exit code."""
    made = calls.run(words, [], Path.cwd())
    answer = made["answer"] if isinstance(made["answer"], (dict, list)) else made["answer"].splitlines()
    wrote = {name: _file(name, data) for name, data in made["wrote"].items()}
    return {"answer": answer, "said": made["said"], "wrote": wrote, "exit": made["exit"]}


def _file(name: str, data: Any) -> Any:
    if isinstance(data, pd.DataFrame):
        return data
    return json.loads(data) if name.endswith(".json") else data.decode().splitlines()


def library() -> Iterator[Line]:
    """Yield answers of the library with their sentences: findings, choices, comparisons, plans, and refusals."""
    made = {
        "two": data.beta(),
        "grouped": data.grouped_beta(),
        "few": data.weighted_softmax(),
        "stated": data.ratings(),
        "rare": data.rare(),
    }
    for name, rows in made.items():
        asked: dict[str, Callable[[], Any]] = {
            "primary": lambda rows=rows: cc.inference.primary(rows),
            "verdict": lambda rows=rows: cc.estimate(rows).verdict(),
            "estimate": lambda rows=rows: repr(cc.estimate(rows, "confidence", "ece")),
            "findings": lambda rows=rows: cc.findings(rows),
            "rows": lambda rows=rows: [repr(rows), str(rows)],
            "slices": lambda rows=rows: cc.slices.by_column(rows),
            "scan": lambda rows=rows: cc.slices.scan(rows, min_rows=20),
            "large": lambda rows=rows: cc.risk.in_the_large(rows),
        }
        asked |= {
            f"choose-{seed}": lambda rows=rows, seed=seed: cc.choose(rows, folds=3, random_state=seed)
            for seed in (0, 1)
        }
        for what, make in asked.items():
            yield from answered(f"library/{name}/{what}", make)
    for i, bad in enumerate(BAD):
        yield from answered(f"library/bad/{i:02}", bad)


HALF = [[0.5, 0.5], [0.25, 0.75]]
BAD: tuple[Callable[[], Any], ...] = (
    lambda: cc.Predictions([[0.5, 0.6], [0.5, 0.5]], [0, 1]),
    lambda: cc.Predictions([[1.5, -0.5], [0.5, 0.5]], [0, 1]),
    lambda: cc.Predictions([[float("nan"), 0.5], [0.5, 0.5]], [0, 1]),
    lambda: cc.Predictions(HALF, [0, 2]),
    lambda: cc.Predictions(HALF, [0]),
    lambda: cc.Predictions(HALF, [0, 1], weights=[1.0, -1.0]),
    lambda: cc.Predictions(HALF, [0, 1], class_names=["only"]),
    lambda: cc.Predictions.from_confidence([0.5, 1.2], [True, False]),
    lambda: cc.estimate(data.beta(), "confidence", "nothing"),
    lambda: cc.estimate(data.beta(), "nothing"),
    lambda: cc.estimate(data.ratings(), "class-wise", "ece"),
    lambda: cc.CALIBRATORS.make("temperature", nothing=1),
    lambda: cc.CALIBRATORS.make("histogram"),
    lambda: cc.CALIBRATORS.make("top-label-hb", points_per_bin=0),
    lambda: cc.CALIBRATORS.make("temperature").fit_on(data.ratings()),
    lambda: cc.choose(data.beta().take(np.arange(5))),
    lambda: cc.choose(data.beta(), score="nothing"),
    lambda: cc.compare({"a": data.beta(), "b": data.rare()}),
    lambda: cc.findings(data.counted()),
    lambda: data.beta().split(1.5),
)
"""Typical mistakes."""

OF: dict[str, Callable[[], Iterator[Line]]] = {
    **{name: partial(shown, name) for name in SCENES},
    "options": changed,
    "commands": commands,
    "library": library,
}
"""Subjects, by the first part of their keys."""
