"""Figures draw exactly the numbers of their diagram's frame."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import plotly.graph_objects as go
import pytest

from calib_core import Predictions, diagrams, figures
from calib_core.errors import InputError
from calib_core.estimators.kernel import Fixed, KernelECE
from calib_core.figures.look import style
from calib_core.figures.overlay import laid_over

HOSTILE = ['<a href="https://x.example">a</a>', "<b>b</b>", "%{x} c"]


@pytest.fixture
def predictions() -> Predictions:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([0.6] * 3, 400)
    labels = (rng.random(400)[:, None] > probs.cumsum(1)).sum(1)
    return Predictions(probs, labels, class_names=HOSTILE)


def test_reliability_draws_its_frame(predictions: Predictions) -> None:
    diagram = diagrams.reliability(predictions, 10)
    frame = diagram.frame()
    bars, _, stars, plusses, _ = figures.reliability({"Base": diagram}).data
    np.testing.assert_array_equal(bars.y, frame["share"])
    np.testing.assert_allclose(np.asarray(bars.x), (frame["lower"] + frame["upper"]) / 2)
    np.testing.assert_array_equal(stars.x, frame["confidence"])
    np.testing.assert_array_equal(stars.y, frame["accuracy"])
    np.testing.assert_array_equal(plusses.y, frame["top_label"])
    assert [mark["bin"] for mark in stars.customdata] == frame["bin"].tolist()


def test_a_model_keeps_its_look_when_only_some_are_drawn(predictions: Predictions) -> None:
    both = {name: predictions.take(np.arange(n)) for name, n in (("one", 400), ("two", 300))}
    rows = {name: diagrams.reliability(p, 10) for name, p in both.items()}
    tables = {name: diagrams.class_table(p, bins=5) for name, p in both.items()}
    panels = {name: diagrams.class_panels(p, [0, 1], bins=5) for name, p in both.items()}
    curves = {name: diagrams.class_curves(p, [0, 1]) for name, p in both.items()}
    validity = {name: diagrams.class_validity(p, [0, 1], bins=5) for name, p in both.items()}
    plots = {name: diagram.plots[0] for name, diagram in validity.items()}
    costs = {"one": (0.1, 0.2), "two": (0.2, 0.1)}
    sweeps = {name: diagrams.error_sweep({name: both[name]}, bins=(5,), floor=False) for name in both}
    for draw, given in [
        (figures.reliability, rows),
        (figures.class_table, tables),
        (figures.class_panels, panels),
        (figures.class_curves, curves),
        (figures.class_validity, validity),
        (figures.validity, plots),
        (lambda points, looks=None: figures.trade_off(points=points, looks=looks), costs),
    ]:
        second = looks_of(draw(given))["two"]
        assert looks_of(draw({"two": given["two"]}, looks=list(both)))["two"] == second
        assert looks_of(draw({"two": given["two"]}))["two"] != second
    alone, among = (figures.error_sweep(sweeps["two"], looks=looks) for looks in (None, ["one", "two"]))
    assert looks_of(alone)["two, confidence"] == (style(0).colour,)
    assert looks_of(among)["two, confidence"] == (style(1).colour,)


def looks_of(figure: go.Figure) -> dict[str, tuple[str, ...]]:
    """The colours of the traces by name."""
    found: dict[str, tuple[str, ...]] = {}
    for trace in figure.data:
        colours = (trace.marker.color, trace.line.color if "line" in trace else None)
        found.setdefault(str(trace.name), tuple(colour for colour in colours if isinstance(colour, str))[:1])
    return found


def test_one_diagram_alone_is_a_model_without_a_name(predictions: Predictions) -> None:
    diagram = diagrams.reliability(predictions, 10)
    assert figures.reliability(diagram) == figures.reliability({"model": diagram})


def test_a_mark_says_what_it_stands_for(predictions: Predictions) -> None:
    """By name, and the model's title as it was given: a click finds the model by it."""
    title = "<i>net</i>"
    diagram = diagrams.reliability(predictions, 10)
    mark = figures.reliability({title: diagram}).data[2].customdata[-1]
    assert (mark["model"], mark["bin"]) == (title, diagram.frame()["bin"].iloc[-1])
    zoom = diagrams.zoom(predictions, diagram, mark["bin"])
    (points,) = (trace for trace in figures.zoom(zoom).data if trace.name == "classes")
    assert [one["class"] for one in points.customdata] == zoom.classes.tolist()
    bars = figures.class_table({title: diagrams.class_table(predictions, bins=5)}, classes=[2, 0]).data[0]
    assert [(one["model"], one["class"]) for one in bars.customdata] == [(title, 2), (title, 0)]
    panels = diagrams.class_panels(predictions, [2], bins=5)
    (points,) = (t for t in figures.class_panels({title: panels}).data if t.mode == "lines+markers")
    known = np.flatnonzero(panels.bins.count[2] > 0)
    assert [(one["class"], one["bin"]) for one in points.customdata] == [(2, b) for b in known]


def test_figures_have_the_names_of_the_diagrams_they_draw() -> None:
    functions = {
        name: getattr(diagrams, name) for name in diagrams.__all__ if inspect.isfunction(getattr(diagrams, name))
    }
    # Of those that make a frame, or numbers, nothing is drawn.
    others = ("pd.DataFrame", "tuple[int, ...]", "tuple[float, ...]", "float", "Codes", "NDArray[np.intp]")
    drawn = {name for name, f in functions.items() if inspect.signature(f).return_annotation not in others}
    # These make what another one makes too.
    same = {"canonical_validity", "kernel_curves", "map_difference", "true_map"}
    assert drawn - set(figures.__all__) == same | {"validity_against", "validity_by_cell", "validity_of"}


def test_the_core_works_without_plotly_and_loads_it_only_for_figures() -> None:
    alone = "import sys, calib_core; print([n for n in ('plotly', 'PIL', 'calib_core.figures') if n in sys.modules])"
    assert run(alone) == "[]"
    hidden = "import sys; sys.modules['plotly'] = None\nimport calib_core as cc\ntry: cc.figures\n"
    assert run(hidden + "except ImportError as why: print(why)").endswith('pip install "calib[plot]"')


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_only_diagrams_are_drawn() -> None:
    with pytest.raises(InputError, match="list is not a diagram"):
        figures.draw([])


def test_bars_of_several_models_share_the_bin_without_overlap(predictions: Predictions) -> None:
    diagram = diagrams.reliability(predictions, 10)
    figure = figures.reliability({"one": diagram, "two": diagram})
    one, two = figure.data[:2]
    np.testing.assert_allclose(np.asarray(one.x) + one.width[0], np.asarray(two.x))


def test_bare_confidence_has_stars_and_no_plusses() -> None:
    bare = Predictions.from_confidence([0.2, 0.7, 0.9], [False, True, True])
    names = [trace.name for trace in figures.reliability({"Base": diagrams.reliability(bare, 5)}).data]
    assert "Base" in names
    assert "Base: top-label" not in names


def test_zoom_draws_its_frame(predictions: Predictions) -> None:
    diagram = diagrams.reliability(predictions, 10)
    zoom = diagrams.zoom(predictions, diagram, int(diagram.frame()["bin"].iloc[-1]))
    figure = figures.zoom(zoom)
    points = next(trace for trace in figure.data if trace.name == "classes")
    frame = zoom.frame()
    np.testing.assert_array_equal(points.x, frame["confidence"])
    np.testing.assert_array_equal(points.y, frame["accuracy"])
    star = next(trace for trace in figure.data if trace.name == "all classes")
    assert (star.x[0], star.y[0]) == zoom.star
    rows = next(trace for trace in figure.data if trace.name == "rows")
    assert sorted(rows.x) == sorted(frame["count"])


def test_small_diagrams_draw_their_frame(predictions: Predictions) -> None:
    panels = diagrams.class_panels(predictions, [2, 0], bins=5)
    figure = figures.class_panels({"Base": panels})
    drawn = [trace for trace in figure.data if trace.name == "Base"]
    frame = panels.frame()
    for trace, c in zip(drawn, (2, 0), strict=True):
        mine = frame[frame["class"] == HOSTILE[c]]
        np.testing.assert_array_equal(trace.x, mine["mean_score"])
        np.testing.assert_array_equal(trace.y, mine["mean_outcome"])


def test_validity_plots_end_at_one(predictions: Predictions) -> None:
    small = diagrams.class_validity(predictions, [1], bins=5)
    (trace,) = figures.class_validity({"Base": small}).data
    np.testing.assert_array_equal(trace.x[1:], small.frame()["eps"])
    np.testing.assert_array_equal(trace.y[1:], small.frame()["share"])
    assert trace.y[-1] == 1.0


def test_small_kernel_curves_draw_their_frame(predictions: Predictions) -> None:
    curves = diagrams.class_curves(predictions, [2, 0])
    drawn = [trace for trace in figures.class_curves({"Base": curves}).data if trace.name == "Base"]
    frame = curves.frame()
    for trace, c in zip(drawn, (2, 0), strict=True):
        mine = frame[frame["class"] == HOSTILE[c]]
        np.testing.assert_array_equal(trace.x, mine["score"])
        np.testing.assert_array_equal(trace.y, mine["curve"])
        np.testing.assert_array_equal(trace.y, diagrams.kernel_curve(predictions, "top-label", c).curve)


def test_class_errors_are_the_tables(predictions: Predictions) -> None:
    table = diagrams.class_table(predictions, bins=5)
    bars = figures.class_table({"Base": table}, classes=[1, 2]).data[0]
    np.testing.assert_array_equal(bars.y, table.error[[1, 2]])


def test_classes_whose_names_begin_alike_have_bars_of_their_own() -> None:
    names = [f"{'long words before what tells apart, '}{letter}" for letter in "ab"]
    table = diagrams.class_table(Predictions([[0.9, 0.1], [0.2, 0.8]] * 5, [0, 1] * 5, class_names=names))
    bars = figures.class_table({"Base": table}, classes=[0, 1]).data[0]
    assert len(set(bars.x)) == 2
    assert [text[-1] for text in bars.hovertext] == ["a", "b"]


def test_overlays_draw_their_frames(predictions: Predictions) -> None:
    bands = diagrams.reliability_bands(predictions, 10, resamples=50)
    frame = bands.frame()
    (wilson,) = laid_over(figures.wilson_intervals(bands))
    np.testing.assert_allclose(np.asarray(wilson.y) + wilson.error_y.array, frame["accuracy_high"])
    np.testing.assert_allclose(np.asarray(wilson.y) - wilson.error_y.arrayminus, frame["accuracy_low"])
    (band,) = laid_over(figures.consistency_bands(bands))
    np.testing.assert_allclose(np.asarray(band.y) + band.error_y.array, frame["band_high"])
    curve = diagrams.corp(predictions)
    (steps,) = laid_over(figures.corp(curve))
    np.testing.assert_array_equal(np.asarray(steps.y)[::2], curve.frame()["outcome"])
    np.testing.assert_array_equal(np.asarray(steps.x)[1::2], curve.frame()["upper"])
    steps = diagrams.corp_band(predictions)
    (outline,) = laid_over(figures.corp_band(steps))
    m = len(steps.score)
    # There along the lower end, back along the upper one; between two scores the wider of what either allows.
    np.testing.assert_array_equal(outline.y[1 : 2 * m : 2][:-1], steps.lower[:-1])
    np.testing.assert_array_equal(outline.y[: 2 * m : 2][1:], steps.lower[:-1])
    back = outline.y[2 * m :][::-1]
    np.testing.assert_array_equal(back[::2][1:], steps.upper[1:])
    np.testing.assert_array_equal(back[1::2][:-1], steps.upper[1:])
    kernel = diagrams.kernel_curve(predictions)
    band, middle = laid_over(figures.kernel_band(kernel))
    known = ~np.isnan(kernel.lower)
    np.testing.assert_array_equal(band.y, np.append(kernel.lower[known], kernel.upper[known][::-1]))
    np.testing.assert_array_equal(middle.y, kernel.curve)
    (alone,) = laid_over(figures.kernel_band(diagrams.kernel_curve(predictions, band="none")))
    np.testing.assert_array_equal(alone.y, kernel.curve)


def test_a_band_is_not_drawn_over_a_gap() -> None:
    apart = Predictions.from_confidence(np.repeat([0.2, 0.9], 50), np.tile([True, False], 50))
    curve = diagrams.kernel_curve(apart, method=KernelECE(bandwidth=Fixed()))
    band = laid_over(figures.kernel_band(curve))[0]
    assert np.isnan(band.x).sum() == 1
    there = np.asarray(band.x)[~np.isnan(band.x)]
    assert not ((there > 0.4) & (there < 0.7)).any()


def test_the_sweep_draws_its_frame(predictions: Predictions) -> None:
    sweep = diagrams.error_sweep({"Base": predictions}, bins=(5, 10), floor=False)
    frame = sweep.frame()
    for trace, notion in zip(figures.error_sweep(sweep).data, ("confidence", "top-label"), strict=True):
        np.testing.assert_array_equal(trace.y, frame.loc[frame["notion"] == notion, "value"])


def test_the_sweep_draws_the_noise_floor_of_each_of_the_first_models_lines(predictions: Predictions) -> None:
    sweep = diagrams.error_sweep({"Base": predictions, "Again": predictions.take(np.arange(200))}, bins=(5, 10))
    confidence, top_label, *lines = figures.error_sweep(sweep).data
    np.testing.assert_array_equal(confidence.y, sweep.floor[0])
    np.testing.assert_array_equal(top_label.y, sweep.floor[1])
    for i, line in enumerate(lines):
        np.testing.assert_array_equal(line.customdata, sweep.floor[i])
    assert [line.line.dash for line in (confidence, top_label)] == [line.line.dash for line in lines[:2]]


def test_class_names_are_inert_in_every_figure(predictions: Predictions) -> None:
    diagram = diagrams.reliability(predictions, 5)
    drawn = [
        figures.zoom(diagrams.zoom(predictions, diagram, 4)),
        figures.class_panels({"Base": diagrams.class_panels(predictions, [0, 1, 2], bins=5)}),
        figures.class_table({"Base": diagrams.class_table(predictions, bins=5)}, classes=[0, 1, 2]),
    ]
    for figure in drawn:
        written = figure.to_json()
        assert "<a href" not in written.replace("\\u003c", "<")
        assert "<b>b" not in written.replace("\\u003c", "<")
        templates = [str(trace.hovertemplate) for trace in figure.data]
        assert not any("c %{x}" in t or "%{x} c" in t for t in templates)
