"""Picture of the leaderboard: its marks are the numbers of the frame, and filled where an interval excludes a line."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from calib_core.arena import table
from calib_core.figures import draw, leaderboard
from calib_core.figures.look import REFERENCE
from calib_core.text import in_percent

PANELS = {"win_rate": ("x", 0.5), "ratio": ("x2", 0.0), "worse": ("x3", None)}


def results(methods=("identity", "choose", "vector", "temperature", "spline")):
    """Return results on twelve data sets: the methods gain 0, 10, 3, 0 and -6 %, each with noise."""
    rng, lines = np.random.default_rng(0), []
    for i in range(12):
        for name, gain in {"identity": 0, "choose": 0.1, "vector": 0.03, "temperature": 0, "spline": -0.06}.items():
            noise = 0 if name == "identity" else rng.normal(0, 0.05)
            lines.append({"dataset": f"d{i}", "method": name, "log_loss": 0.5 * (1 - gain - noise)})
    frame = pd.DataFrame(lines).assign(
        model="net", cal_size=100, test_size=1000, n_classes=2, brier=0.2, accuracy=0.9, log_loss_error=0.01,
        fit_seconds=0.1, apply_seconds=0.0,
    )  # fmt: skip
    return frame[frame["method"].isin(methods)]


@pytest.fixture(scope="module")
def board():
    return table(results())


def marks(figure, axis):
    """Return the marks of a panel by line: place, ends, whether they are filled, and color."""
    found = {}
    for trace in figure.data:
        if trace.mode == "markers" and trace.xaxis == axis:
            ends = zip(trace.x, trace.error_x.arrayminus, trace.error_x.array, strict=True)
            for y, (x, down, up), symbol in zip(trace.y, ends, trace.marker.symbol, strict=True):
                assert y not in found
                found[int(y)] = (x, x - down, x + up, not symbol.endswith("-open"), trace.marker.color)
    return [found[i] for i in range(len(found))]


@pytest.mark.parametrize("column", PANELS)
def test_marks_and_lines_are_the_numbers_of_the_frame(board, column):
    frame, found = board.frame(), np.array(marks(leaderboard(board), PANELS[column][0]), dtype=object)
    assert len(found) == len(frame)
    for j, name in enumerate((column, f"{column}_low", f"{column}_high")):
        assert found[:, j].astype(float) == pytest.approx(100 * frame[name])


@pytest.mark.parametrize("by", ["win_rate", "ratio", "worse"])
def test_names_are_in_the_order_of_the_chosen_column(by):
    board = table(results(), by=by)
    values = board.frame()[by].tolist()
    assert values == sorted(values, reverse=by != "worse")
    ticks = leaderboard(board).layout.yaxis
    assert [text.removeprefix("<b>").removesuffix("</b>") for text in ticks.ticktext] == board.frame()["title"].tolist()
    assert ticks.range[0] > ticks.range[1]  # the first line is on top


@pytest.mark.parametrize("column", ["win_rate", "ratio"])
def test_a_mark_is_filled_if_its_interval_excludes_the_dashed_line(board, column):
    axis, line = PANELS[column]
    frame, figure = board.frame(), leaderboard(board)
    clear = [not low <= line <= high for low, high in zip(frame[f"{column}_low"], frame[f"{column}_high"], strict=True)]
    assert 0 < sum(clear) < len(clear)
    assert [mark[3] for mark in marks(figure, axis)] == clear
    (dashed,) = (shape for shape in figure.layout.shapes if shape.xref == axis)
    assert dashed.x0 == dashed.x1 == 100 * line


def test_the_recommended_calibrator_and_the_uncalibrated_model_are_emphasized(board):
    frame, figure = board.frame(), leaderboard(board)
    place = {name: i for i, name in enumerate(frame["method"])}
    (band,) = (shape for shape in figure.layout.shapes if shape.type == "rect")
    assert (band.y0 + band.y1) / 2 == place["choose"]
    strong = [i for i, text in enumerate(figure.layout.yaxis.ticktext) if text.startswith("<b>")]
    assert strong == sorted((place["choose"], place["identity"]))
    for axis, _ in PANELS.values():
        gray = [i for i, mark in enumerate(marks(figure, axis)) if mark[4] == REFERENCE]
        assert gray == [place["identity"]]


def test_numbers_beside_the_panels_are_those_of_the_frame(board):
    texts = {trace.name: trace.text for trace in leaderboard(board).data if trace.mode == "text"}
    frame = board.frame()
    shown = [text.removeprefix("<b>").removesuffix("</b>") for text in texts["worse"]]
    base = frame["method"] == "identity"
    assert shown == ["" if b else in_percent(share) for share, b in zip(frame["worse"], base, strict=True)]
    assert list(texts) == ["win_rate", "ratio", "worse", "seconds"]


def test_without_intervals_all_marks_are_open():
    board = table(results().query("dataset == 'd0'"))
    assert np.isnan(board.frame()["win_rate_low"]).all()
    figure = draw(board)
    assert not any(mark[3] for axis, _ in PANELS.values() for mark in marks(figure, axis))


def test_a_large_fall_is_an_arrow_at_the_end_of_the_axis(board):
    lines = board.lines.copy()
    lines.loc[0, ["ratio", "ratio_low", "ratio_high"]] = -0.9, -0.95, -0.8
    figure = leaderboard(dataclasses.replace(board, lines=lines))
    place, low, high, _, _ = marks(figure, "x2")[0]
    assert place == low == high > figure.layout.xaxis2.range[0]
    symbols = [symbol for trace in figure.data if trace.xaxis == "x2" for symbol in np.atleast_1d(trace.marker.symbol)]
    assert symbols.count("triangle-left") == 1
    texts = next(trace.text for trace in figure.data if trace.name == "ratio")
    assert texts[0] == "<b>−90 %</b>"


def test_the_picture_of_methods_without_the_recommended_one_has_no_band():
    figure = leaderboard(table(results(("identity", "vector"))))
    assert not [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert len(figure.layout.yaxis.ticktext) == 2
