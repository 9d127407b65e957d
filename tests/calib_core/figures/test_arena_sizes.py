"""The picture of regret by calibration rows."""

import numpy as np
import pytest

import calib_core as cc
from calib_core import InputError
from calib_core.arena import project_results, table


@pytest.fixture(scope="module")
def board():
    return table(project_results("multiclass"), samples=10)


def test_each_mark_is_the_regret_of_its_method_in_its_group(board):
    figure = cc.figures.regret_by_size(board)
    sizes = board.by_size
    panels = list(dict.fromkeys(sizes["classes"]))
    drawn = 0
    for trace in figure.data:
        panel = panels[int(trace.xaxis[1:] or 1) - 1]
        ticks = figure.layout[f"xaxis{trace.xaxis[1:]}"].ticktext
        for x, y in zip(trace.x, trace.y, strict=True):
            title = {"Recommended calibrator": "choose"}.get(trace.name, trace.name)
            line = sizes[(sizes["classes"] == panel) & (sizes["rows"] == ticks[x])]
            mine = line[line["method"].map(lambda name, t=title: name == t or cc.arena.contenders.title_of(name) == t)]
            assert y == pytest.approx(max(mine["regret"].item(), 0.03))
            drawn += 1
    assert drawn == 5 * len(sizes.drop_duplicates(["rows", "classes"]))
    names = {trace.name for trace in figure.data}
    assert {"Recommended calibrator", "Original model"} <= names
    assert [heading.text for heading in figure.layout.annotations] == [f"<b>Classes: {each}</b>" for each in panels]


def test_groups_of_rows_are_in_order_and_only_known_methods_are_drawn(board):
    ticks = list(cc.figures.regret_by_size(board).layout.xaxis.ticktext)
    assert ticks == [each for each in ("up to 200", "201 to 1,000", "1,001 to 5,000", "above 5,000") if each in ticks]
    assert len(cc.figures.regret_by_size(board, ["temperature"]).data) == len(np.unique(board.by_size["classes"]))
    with pytest.raises(InputError, match="no method 'nothing'"):
        cc.figures.regret_by_size(board, ["nothing"])
