"""Emphasis in tables follows from values: headings, bold, order, color and sign."""

from __future__ import annotations

import re

import by_hand
import numpy as np
import pandas as pd
import pytest
from compared import data_of
from exhibits_shown import ASKED, cases, frame_of
from headings import expected

import calib_core as cc
from calib_core.figures.look import DIVERGING
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits import columns as of
from dashboard.report import exhibited
from dashboard.report.document import TypesetTable
from dashboard.views.exhibited import _BOLD, styled

pytestmark = pytest.mark.law
FILES = {"site", "age"}
"""Columns of the file, shown by their own names."""


def shown(key, name):
    """Return (data, exhibit, frame) if these data have it."""
    data = data_of(name)
    frame = frame_of(data, key)
    if frame is None:
        pytest.skip("not of these data")
    return data, EXHIBITS.make(key, **ASKED.get(key, {})), frame


@pytest.mark.parametrize(("key", "name"), list(cases()))
def test_headings_name_the_number_below_them(key, name):
    _, exhibit, frame = shown(key, name)
    for column in exhibit.columns(frame):
        if column.made_of[0] not in FILES:
            assert re.search(expected(key, column), column.heading), (column.heading, column.made_of)


@pytest.mark.parametrize(("key", "name"), list(cases()))
def test_every_number_has_one_unit_and_its_sign(key, name):
    _, exhibit, frame = shown(key, name)
    units = {"calibrated": "percent", "auroc": "%.3g", "ratio": "%.3g", "slope": "%.3g", "log_loss": "%.3g"}
    units |= {"confidence": "percent", "accuracy": "percent", "right": "percent", "p_holm": "%.2g"}
    if key == "arena":
        units["ratio"] = "percent"  # a relative improvement, not a ratio of events
    for column in exhibit.columns(frame):
        first = column.made_of[0].partition(",")[0]
        assert column.digits == units.get(first, column.digits), column
        if not column.digits or column.made_of[1:]:
            continue
        for value in filter(lambda value: isinstance(value, float) and value == value, frame[first_of(column)]):
            text = column.write(value)
            if text[0] in "+−-" and abs(value) > 1e-9:
                assert (text[0] == "+") == (value > 0), (column.heading, value, text)
            elif first in SIGNED and abs(value) > 1e-3:
                assert column.digits != "percent", (column.heading, value, text)


SIGNED = {"gap", "beyond", "change", "over_all", "overconfidence", "accuracy_change", "first_gap"}
"""Differences of shares, which are written with their sign."""


def first_of(column):
    return column.made_of[0]


def by_rule(key, frame):
    """Return the most important lines, by the rule in the exhibit's words."""
    lines = frame.to_dict("records")
    if key == "bin":
        wrong = [not line["right_low"] <= line["confidence"] <= line["right_high"] for line in lines]
    elif key == "estimators":
        wrong = [line["p"] is not None and line["p"] <= 0.05 for line in lines]
    elif key == "reproduction":
        wrong = [not line["within"] and line["ours"] == line["ours"] for line in lines]
    else:
        wrong = [key == "verdict"] * len(lines)
    return tuple(i for i, off in enumerate(wrong) if off)


@pytest.mark.parametrize(("key", "name"), list(cases()))
def test_lines_in_bold_are_those_that_stand_out(key, name):
    data, exhibit, frame = shown(key, name)
    wanted = by_rule(key, frame)
    assert exhibit.bold(frame) == wanted
    recipe = EXHIBITS.described(key, **ASKED.get(key, {}))
    (table,) = [block for block in exhibited.blocks(recipe, data.scene) if isinstance(block, TypesetTable)]
    assert table.bold == wanted
    if len(frame) <= 60:
        style = styled(frame, exhibit.columns(frame), wanted)._compute()
        property_, _, value = _BOLD.partition(": ")
        marked = {line for (line, _), css in style.ctx.items() if (property_, value) in css}
        assert marked == (set(wanted) if 0 < len(wanted) < len(frame) else set())


def test_some_lines_are_in_bold_and_others_are_not():
    """Otherwise the rule above could not fail."""
    data = data_of("three")
    frame = frame_of(data, "estimators")
    assert 0 < len(by_rule("estimators", frame)) < len(frame)
    frame = crowded_bin()
    assert EXHIBITS.make("bin").bold(frame) == (0,) == by_rule("bin", frame)


def crowded_bin():
    """Return a bin in which one class is off, and others are not although their shares differ."""
    right = [True] * 10 + [False] * 30 + [True] * 29 + [False] * 11 + [True] * 31 + [False] * 9
    predicted = np.repeat([0, 1, 2], 40)
    labels = np.where(right, predicted, (predicted + 1) % 3)
    p = cc.Predictions.from_confidence([0.75] * 120, predicted=predicted, labels=labels)
    frame = cc.diagrams.zoom(p, cc.diagrams.reliability(p, 5), 3).frame()
    wide = by_hand.clopper_pearson(29, 40, 1 - 0.1 / 3)
    assert wide[0] < 0.75 < wide[1]
    return frame


BEST = {"Accuracy": max, "accuracy": max}
"""Measures whose maximum is best; for all others it is the minimum."""


@pytest.mark.parametrize("key", ["summary", "calibrators", "costs"])
@pytest.mark.parametrize("name", ["three", "risk", "levels"])
def test_the_best_is_the_best_of_the_same_rows(key, name):
    data, exhibit, frame = shown(key, name)
    columns = exhibit.columns(frame)
    wanted = set()
    alike = key != "costs" or (frame["answered"] == frame["rows"]).all()
    for j, column in enumerate(columns):
        measure = column.made_of[0]
        numeric = pd.api.types.is_float_dtype(frame[measure]) and measure not in ("keeps_class", "sums_to_one")
        if numeric and alike and frame[measure].notna().any():
            best = BEST.get(measure, min)(frame[measure].dropna())
            wanted |= {(i, j) for i, value in enumerate(frame[measure]) if value == best}
    assert of.best_cells(frame, columns) == wanted
    assert bool(wanted) == alike
    if name == "risk" and key == "costs":
        assert not alike
    del data


def test_colours_are_of_the_side_on_which_a_model_is_off():
    """Blue claims too much, orange too little."""
    first, last = (colour_of(DIVERGING[end][1]) for end in (0, -1))
    assert first[2] > first[0]
    assert last[0] > last[2]
    data = data_of("three")
    zoomed = data.scene.get(EXHIBITS.make("bin").figure(data.scene))
    frame = frame_of(data, "bin")
    marks = next(trace for trace in zoomed.data if trace.name == "classes").marker
    assert np.allclose(marks.color, frame["accuracy"] - frame["confidence"])
    assert marks.cmin == -marks.cmax < 0
    bias = data.scene.get(EXHIBITS.make("class-bias").figure(data.scene))
    frame = frame_of(data, "class-bias")
    coloured = [trace for trace in bias.data if trace.marker.colorscale is not None]
    assert coloured
    for trace in coloured:
        assert np.allclose(trace.marker.color, frame["right"] - frame["says"])
        assert trace.marker.cmin == -trace.marker.cmax < 0


def colour_of(text):
    """Return red, green and blue."""
    digits = re.findall(r"[0-9a-fA-F]{2}", text.lstrip("#")) if text.startswith("#") else None
    return [int(part, 16) for part in digits] if digits else [int(part) for part in re.findall(r"\d+", text)]
