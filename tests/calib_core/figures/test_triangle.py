"""The triangle: coordinates and back, pictures of given data, figures that draw their frames."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

import calib_core as cc
from calib_core import diagrams, figures
from calib_core.datasets import true_valk_kull, valk_kull
from calib_core.diagrams.calibration_map import small_triangles
from calib_core.figures.recalibration import error_colours
from calib_core.figures.triangle import (
    _RADII,
    CLOUD,
    CORNERS,
    GROUND,
    HEAD,
    X_RANGE,
    Y_RANGE,
    _stamp,
    arrows,
    cloud,
    frame_traces,
    from_xy,
    ground,
    panel_axes,
    to_xy,
    triangle_of,
    with_gaps,
)

HOSTILE = ("<b>b</b>", "%{x} c", '<a href="https://x.example">a</a>')
shares = st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(lambda p: sum(p) > 1e-3)


@settings(deadline=None, derandomize=True)
@given(st.lists(shares, min_size=1, max_size=20))
def test_there_and_back(rows: list[list[float]]) -> None:
    points = np.array(rows)
    points /= points.sum(axis=1, keepdims=True)
    places = to_xy(points)
    np.testing.assert_allclose(from_xy(places), points, atol=1e-12)
    np.testing.assert_allclose(to_xy(from_xy(places)), places, atol=1e-12)


def test_corners_are_the_corners_and_all_sides_are_one() -> None:
    np.testing.assert_array_equal(to_xy(np.eye(3)), CORNERS)
    sides = np.linalg.norm(CORNERS - np.roll(CORNERS, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, 1.0)


def test_every_tick_stands_where_its_class_has_that_probability() -> None:
    ticks = next(trace for trace in frame_traces(("a", "b", "c")) if trace.name == "ticks")
    points = from_xy(np.column_stack([ticks.x, ticks.y]))
    for number, (text, point) in enumerate(zip(ticks.text, points, strict=True)):
        own = number // 4
        assert point[own] == pytest.approx(float(text), abs=0.02)
        # On an edge, the class after next has probability 0, and the number is just outside.
        assert -0.03 < point.min() < 0


def test_grid_lines_have_a_constant_probability_of_one_class() -> None:
    grid = frame_traces(("a", "b", "c"))[0]
    lines = np.column_stack([grid.x, grid.y]).reshape(-1, 3, 2)
    assert np.isnan(lines[:, 2]).all()
    ends = from_xy(lines[:, :2])
    constant = np.isclose(ends[:, 0], ends[:, 1])
    assert constant.sum() == len(lines) == 12
    np.testing.assert_allclose(np.sort(ends[:, 0][constant]), np.repeat([0.2, 0.4, 0.6, 0.8], 3))


def test_equal_scales() -> None:
    assert panel_axes(2)["yaxis3"]["scaleanchor"] == "x3"


def test_gaps_part_lines() -> None:
    path = with_gaps([np.zeros((2, 2)), np.ones((3, 2))])
    assert np.flatnonzero(np.isnan(path[:, 0])).tolist() == [2, 6]
    assert with_gaps([]).shape == (0, 2)


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_arrows_lead_from_tail_to_head_and_their_strokes_point_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tails, heads = rng.random((2, 5, 2))
    heads[0] = tails[0]
    path = arrows(tails, heads).reshape(5, 6, 2)
    np.testing.assert_array_equal(path[:, 0], tails)
    np.testing.assert_array_equal(path[:, 1], heads)
    np.testing.assert_array_equal(path[:, 3], heads)
    assert np.isnan(path[:, 5]).all()
    back = tails - heads
    for end in (path[:, 2], path[:, 4]):
        stroke = np.linalg.norm(end - heads, axis=1)
        assert (stroke <= np.minimum(HEAD, np.linalg.norm(back, axis=1)) + 1e-12).all()
        assert (np.einsum("ij,ij->i", end - heads, back)[1:] > 0).all()


# -- pictures -------------------------------------------------------------------------------------------------


def pixels(uri: str) -> NDArray[np.uint8]:
    assert uri.startswith("data:image/png;base64,")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))))


def pixel_of(place: NDArray[np.float64], scale: int) -> tuple[int, int]:
    return int((Y_RANGE[1] - place[1]) * scale), int((place[0] - X_RANGE[0]) * scale)


def test_every_row_is_in_the_picture_in_the_colour_of_its_cell() -> None:
    points = np.random.default_rng(0).dirichlet([1, 1, 1], 12)
    colours = ("#0072B2", "#D55E00", "#009E73")
    picture = pixels(cloud(to_xy(points), np.arange(12), colours))
    for i, place in enumerate(to_xy(points)):
        expected = [int(colours[i % 3][at : at + 2], 16) for at in (1, 3, 5)]
        found = picture[pixel_of(place, CLOUD)]
        np.testing.assert_allclose(found[:3], expected, atol=1)
        assert found[3] > 120
    assert (picture[..., 3] > 0).mean() < 0.01


@pytest.mark.parametrize("corner", range(3))
def test_rows_in_a_corner_stay_in_the_picture(corner: int) -> None:
    picture = pixels(cloud(to_xy(np.eye(3)[[corner]]), np.array([0]), ("#0072B2",)))
    assert (picture[..., 3] > 0).sum() == 21  # the whole disc


@pytest.mark.parametrize("n", [1, 2, 3, 8, 60])
def test_small_triangles_tile_the_triangle(n: int) -> None:
    triangles = small_triangles(n)
    assert len(triangles) == n * n
    np.testing.assert_array_equal(triangle_of(triangles.mean(axis=1), n), np.arange(n * n))
    np.testing.assert_allclose(triangles.sum(axis=2), 1)
    first, second = (to_xy(triangles[:, i] - triangles[:, 0]) for i in (1, 2))
    area = np.abs(first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0])
    np.testing.assert_allclose(area, area.sum() / n**2)


def test_the_ground_has_each_triangle_in_its_colour_and_nothing_outside() -> None:
    colours = np.random.default_rng(0).integers(0, 256, (16, 4), dtype=np.uint8)
    picture = pixels(ground(colours, 4))
    for colour, middle in zip(colours, to_xy(small_triangles(4).mean(axis=1)), strict=True):
        np.testing.assert_array_equal(picture[pixel_of(middle, GROUND)], colour)
    assert (picture[0] == 0).all()


def test_colours_are_linear_in_the_error_and_grey_where_nothing_changes() -> None:
    error = np.array([[0.1, -0.1, 0.0], [0.05, -0.05, 0.0], [np.nan] * 3])
    strong, half, blank = error_colours(error, 0.1).astype(int)
    assert strong.tolist() == [255, 0, 128, 255]
    assert half[0] == pytest.approx((128 + 255) / 2, abs=1)
    assert blank[3] == 0


# -- calibration maps -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def maps() -> list[diagrams.CalibrationMap]:
    fit = valk_kull(2000, random_state=0).predictions
    learned = diagrams.calibration_map(
        cc.CALIBRATORS.make("temperature").fit_on(fit), 5, cells=10, title="<b>TS</b>", class_names=HOSTILE
    )
    truth = diagrams.true_map(true_valk_kull, 5, cells=10, class_names=HOSTILE)
    return [learned, truth, diagrams.map_difference(learned, truth)]


def test_maps_draw_their_frames(maps: list[diagrams.CalibrationMap]) -> None:
    figure = figures.calibration_map(maps)
    for i, one in enumerate(maps):
        frame = one.frame()
        drawn = [trace for trace in figure.data if trace.xaxis in (f"x{i + 1}", "x" if i == 0 else None)]
        (trace,) = [t for t in drawn if t.name.startswith("arrows of") and "edge" not in t.name]
        path = np.column_stack([trace.x, trace.y]).reshape(-1, 6, 2)
        np.testing.assert_allclose(from_xy(path[:, 0]), frame[[f"start {name}" for name in HOSTILE]], atol=1e-12)
        np.testing.assert_allclose(from_xy(path[:, 1]), frame[[f"to {name}" for name in HOSTILE]], atol=1e-12)
    assert len(figure.layout.images) == 3


def test_triangles_have_one_size_whatever_their_figure_has_beside_them(maps: list[diagrams.CalibrationMap]) -> None:
    """The page gives each plot its width times ``ratio``, at most the screen's height less ``less`` (fit.js)."""
    samples = [valk_kull(300, random_state=seed).predictions for seed in (1, 2)]
    cells = figures.recalibration(diagrams.recalibration("grid", *samples))
    one, beside = figures.calibration_map(maps[:1]), figures.calibration_map(maps)
    below = figures.calibration_map(maps, across=1)
    wanted, width, screen = [], 608, 900
    for figure, times in ((cells, 1), (one, 1), (below, 1), (beside, 2)):
        fit = figure.layout.meta["fit"]
        across = (width * times - 88) / fit.get("across", 1)
        plot = min(fit["ratio"] * across, screen - fit["less"])
        inner = plot / fit.get("share", 1)
        domain = figure.layout.yaxis.domain or (0, 1)
        wanted.append((domain[1] - domain[0]) * inner)
        assert figure.layout.height >= fit["frame"] + 200
    assert wanted == [pytest.approx(480)] * 4
    # The sides are shorter than the axes, which have room for names.
    assert 480 / (Y_RANGE[1] - Y_RANGE[0]) >= 420


def test_a_map_keeps_its_colours_when_another_is_drawn_beside_it(maps: list[diagrams.CalibrationMap]) -> None:
    assert diagrams.shared_scale(maps) == max(one.largest for one in maps)
    first = maps[0]
    alone, beside = (figures.calibration_map(some, scale=0.2).layout.images[0].source for some in ([first], maps))
    assert alone == beside
    # Without a scale the largest of those drawn has full color.
    free = [figures.calibration_map(some).layout.images[0].source for some in ([first], maps)]
    widest = max(maps, key=lambda one: one.largest)
    assert (free[0] == free[1]) == (widest is first)


def test_names_in_a_map_are_inert(maps: list[diagrams.CalibrationMap]) -> None:
    text = figures.calibration_map(maps).to_json()
    assert "<a href" not in text
    assert "<b>TS</b>" not in text.replace("<b>&lt;b&gt;TS&lt;/b&gt;</b>", "")


def test_a_map_without_change_is_grey_and_needs_no_scale() -> None:
    same = cc.CALIBRATORS.make("identity").fit(np.full((3, 3), 1 / 3), [0, 1, 2])
    one = diagrams.calibration_map(same, 3, cells=5)
    assert one.largest < 1e-12
    assert (error_colours(one.ground, diagrams.shared_scale([one]))[:, :3] == 128).all()


def test_a_point_covers_fewer_pixels_where_there_are_more_of_them() -> None:
    sizes = [len(_stamp(most + more)) for most, _ in _RADII for more in (0, 1)]
    assert sizes == sorted(sizes, reverse=True)
    # Up to a number, that number included, they are as large as for one point fewer.
    assert [len(_stamp(most)) for most, _ in _RADII] == [len(_stamp(most - 1)) for most, _ in _RADII]
    assert len(set(sizes)) == len(_RADII) + 1


def test_a_panel_lies_in_its_part_of_the_figure() -> None:
    axes = panel_axes(1, (0.1, 0.4), (0.5, 0.9))
    assert (axes["xaxis2"]["domain"], axes["yaxis2"]["domain"]) == ([0.1, 0.4], [0.5, 0.9])
    assert (axes["xaxis2"]["anchor"], axes["yaxis2"]["anchor"]) == ("y2", "x2")
