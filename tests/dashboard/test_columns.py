"""Number formats: percent with sensible digits everywhere, and tables on screen that still sort by number."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from pandas.api.types import is_numeric_dtype

from calib_core import NotAnswerable, Recipe
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits import columns as of
from dashboard.selection import Selection, Source
from dashboard.session import Scene, scene_of
from dashboard.views import exhibited
from dashboard.views.exhibited import styled, words_added

FOUR_DIGITS = re.compile(r"\b0\.0*[1-9]\d{3,}\b")
BIN = re.compile(r"\[[\d., ]+[\])]")
"""Ends of a bin, which are not formatted."""
LINES = pd.DataFrame(
    {
        "estimate": [0.0512, 0.0512, 0.0512, np.nan],
        "low": [0.004, 0.004, 0.004, np.nan],
        "high": [0.01996, 0.063, 0.063, np.nan],
        "unit": ["share", "score", "square", "share"],
        "limit": [0.02, np.nan, np.nan, np.nan],
        "verdict": ["within", None, "too close to call", None],
    }
)


@pytest.fixture(scope="module")
def scene() -> Scene:
    ticked = tuple(Recipe("CALIBRATORS", key) for key in ("temperature", "top-label-hb"))
    return scene_of(Selection(source=Source(data="demo:wine-logistic"), calibrators=ticked, bin=12, cell=2, code=1))


def texts(column: of.Column, frame: pd.DataFrame = LINES) -> list[str]:
    return [line[0] for line in of.written(frame, (column,))]


def test_every_line_is_written_in_its_own_unit() -> None:
    assert texts(of.measured("estimate")) == ["5.1 %", "0.0512", "0.0512", "–"]
    # The end below the tolerance of 2 % is not rounded onto it.
    ends = of.measured_between("interval", "low", "high")
    assert texts(ends) == ["0.4 to 1.996 %", "0.004 to 0.063", "0.004 to 0.063", "–"]
    assert ends.alone(LINES, "high") == ["1.996 %", "0.063", "0.063", "–"]
    assert ends.headings() == {"low": "interval, from", "high": "interval, to"}
    assert texts(of.difference("estimate")) == ["+5.1 points", "+0.0512", "+0.0512", "–"]


def test_the_verdict_is_one_of_the_four_words_in_full() -> None:
    assert texts(of.verdict()) == ["within tolerance", "–", "too close to call", "–"]


def test_shares_errors_and_chances() -> None:
    frame = pd.DataFrame({"x": [0.7937, 0.00434, 0.0, 1.0, 0.99996]})
    assert texts(of.share("x"), frame) == ["79.4 %", "0.4 %", "0 %", "100 %", "99.996 %"]
    assert texts(of.error("x"), frame) == ["79 %", "0.43 %", "0 %", "100 %", "99.996 %"]
    assert texts(of.probability("x"), pd.DataFrame({"x": [0.0321, 1e-9, 1.0]})) == ["0.032", "< 0.0001", "1"]


@pytest.mark.parametrize("key", EXHIBITS)
def test_no_exhibit_prints_four_digits(scene: Scene, key: str) -> None:
    exhibit = EXHIBITS.make(key)
    try:
        frame, words = scene.get(exhibit.table(scene)), exhibit.words(scene)
    except NotAnswerable:
        pytest.skip("not of these data")
    cells = [cell for line in of.written(frame.head(50), exhibit.columns(frame)) for cell in line]
    for text in (words.caption, words.alt, *words.notes, *cells):
        assert not FOUR_DIGITS.search(BIN.sub("", text)), text


@pytest.mark.parametrize("key", EXHIBITS)
def test_the_grid_on_screen_says_what_the_report_says_and_sorts_by_number(scene: Scene, key: str) -> None:
    exhibit = EXHIBITS.make(key)
    try:
        frame = scene.get(exhibit.table(scene)).head(30).reset_index(drop=True)
    except NotAnswerable:
        pytest.skip("not of these data")
    columns = exhibit.columns(frame)
    shown = words_added(frame, columns)
    page = styled(shown, columns, ())._translate(False, False)["body"]  # type: ignore[attr-defined]
    cells = pd.DataFrame([[cell["display_value"] for cell in line if cell["type"] == "td"] for line in page])
    cells.columns = shown.columns
    for column in columns:
        for name in column.numbers:
            assert is_numeric_dtype(frame[name]), name
            assert cells[name].tolist() == column.alone(frame, name)
        if not column.digits:
            place = column.made_of[0] if not column.made_of[1:] else column.heading
            told = zip(shown[place], texts(column, frame), strict=True)
            assert all(cell == text or text == of.NOT_KNOWN for cell, text in told)


def test_a_grid_is_as_high_as_its_lines_up_to_a_limit(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    exhibit, heights = EXHIBITS.make("reliability"), list[int]()
    frame = scene.get(exhibit.table(scene))
    monkeypatch.setattr(exhibited.st, "dataframe", lambda *_, height, **__: heights.append(height))
    for lines in (frame.head(3), pd.concat([frame] * 20)):
        exhibited.grid(exhibit, lines, "grid")
    assert heights == [35 * 4 + 3, exhibited.TALLEST]


def test_a_long_table_has_percent_and_points_too() -> None:
    columns = of.share("observed"), of.gap()
    frame = pd.DataFrame({"observed": [0.5], "gap": [-0.125]})
    shown = exhibited.in_percent(frame, columns)
    forms = [dict(exhibited._settings(column, False, False, dict.fromkeys(frame, None), None)) for column in columns]
    printed = [settings[name]["type_config"]["format"] % shown[name][0] for settings in forms for name in settings]
    assert printed == ["50.0\N{NO-BREAK SPACE}%", "-12.5 points"]


def test_levels_have_a_decimal_where_there_is_one() -> None:
    frame = pd.DataFrame({"level": [0.97, 0.975, np.nan]})
    assert of.written(frame, (of.level("its level", "level"),)) == [["97 %"], ["97.5 %"], ["–"]]
