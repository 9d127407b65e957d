"""Python lines below figures and tables run with the library only and reproduce the content above them."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shown_models import fitted
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import Recipe
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.report import CHAPTERS
from dashboard.selection import Selection, Source
from tests.dashboard.test_recalibrate import ask
from tests.dashboard.test_views import opened

TICKED = (Recipe("CALIBRATORS", "temperature"), Recipe("CALIBRATORS", "top-label-hb"))
DIGITS = Selection(source=Source(data="demo:digits-naive-bayes"), calibrators=TICKED)


def copied(app: AppTest, language: str) -> dict[str, str]:
    """Return the lines of a view, by their last name."""
    blocks = [block.value for block in app.code if block.language == language]
    return {text.rpartition("\nshown = ")[2]: text for text in blocks}


def run(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(text, names)
    return names["shown"] if "shown" in names else names["table"]


def frames(shown: Any) -> list[Any]:
    """Return the leaves of nested lists and dictionaries."""
    if isinstance(shown, dict):
        shown = list(shown.values())
    return [leaf for part in shown for leaf in frames(part)] if isinstance(shown, (list, tuple)) else [shown]


def asked_for(app: AppTest, more: str) -> AppTest:
    """Return the room in which calibrators are chosen, with one of the questions about the ticked ones."""
    return ask(app, more)


SHOWN = {
    "calibrators": DIGITS.replace(calibrators=(*TICKED, Recipe("CALIBRATORS", "metacal-miscoverage"))),
}

EXHIBITED = ("reliability", "classes", "simplex", "estimators")
"""Views with exhibits only, whose lines the law of exhibits runs."""


@pytest.mark.parametrize("view", SHOWN)
def test_lines_of_every_figure_and_table_run(view: str) -> None:
    selection = SHOWN[view].replace(view=view)
    app = opened(selection)
    lines = copied(app, "python")
    for more in ("gains", "promises", "effects"):
        lines |= copied(asked_for(app, more), "python")
    assert len(lines) >= 4
    for text in lines.values():
        found = frames(run(text))
        assert found
        assert not any(isinstance(leaf, pd.DataFrame) and leaf.empty for leaf in found)


def test_lines_of_several_files_give_the_numbers_on_screen() -> None:
    selection = DIGITS.replace(view="calibrators", others=(("demo:digits-mlp", ""),), calibrators=TICKED[1:])
    second = session.models(selection).shown[3]
    app = asked_for(opened(selection.replace(model=second.title)), "maps")
    (drawn,) = (run(text) for text in copied(app, "python").values() if "binary_map" in text)
    expected = cc.diagrams.binary_map(fitted(second), session.parts(second.source).test, 0)
    np.testing.assert_array_equal(drawn["output"], expected.output)
    assert drawn["model"].unique().tolist() == [second.title]
    (command,) = (block.value for block in app.code if block.value.startswith("calib show binary-map"))
    words = shlex.split(command)
    assert words[words.index("--model") + 1] == second.title


@pytest.mark.parametrize("view", SHOWN)
def test_commands_name_a_section_of_the_report(view: str) -> None:
    app = opened(SHOWN[view].replace(view=view))
    commands = [shlex.split(text) for text in copied(app, "sh")]
    assert commands
    known = {chapter.key for chapter in CHAPTERS}
    assert {words[words.index("--only") + 1] for words in commands if words[1] == "report"} <= known
    assert {words[2] for words in commands if words[1] == "show"} <= set(EXHIBITS)


def test_a_file_name_is_only_ever_text() -> None:
    name = "a');import os;os.abort()#\n.csv"
    data = b"a,b,label\n" + b"0.7,0.3,0\n0.2,0.8,1\n" * 20
    key = session.hold(data, name).key
    lines = copied(opened(Selection(source=Source(data=key), view="calibrators")), "python")
    for text in lines.values():
        compiled = compile(text, "lines", "exec")
        assert "os" not in compiled.co_names
