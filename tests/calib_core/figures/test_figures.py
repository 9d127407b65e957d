"""Figures draw exactly the numbers of their diagram's frame."""

from __future__ import annotations

import inspect
import itertools
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from hostile_names import HOSTILE
from shown_laws import hovers_speak_in_percent

from calib_core import Predictions, diagrams, figures, findings, inference, slices
from calib_core._base.errors import InputError
from calib_core.estimators.kernel_ece import KernelECE
from calib_core.figures import look
from calib_core.figures.direct_labels import _AWAY, _HEIGHT, _sides, label_places
from calib_core.figures.look import style
from calib_core.figures.overlay import laid_over
from calib_core.figures.probability_axis import axis_for
from calib_core.inference import per_class_tests
from calib_core.inference.intervals.elementary import clopper_pearson
from calib_core.results.verdict_table import VERDICTS
from calib_core.smoothing import Fixed
from calib_core.text import between, short_percent


def marks(figure: go.Figure, kind: str) -> list[go.Scatter]:
    """Return the traces of a reliability diagram of one kind, model by model."""
    return [trace for trace in figure.data if re.fullmatch(f"{kind}[0-9a-f]{{10}}", str(trace.uid))]


def points(trace: go.Scatter) -> tuple[list[dict[str, object]], np.ndarray, np.ndarray]:
    """Return records and positions of a trace's marks, without the gaps of its line."""
    x, y = (np.asarray(values, dtype=float) for values in (trace.x, trace.y))
    kept = np.flatnonzero(~np.isnan(x))
    assert [trace.customdata[i] is not None for i in range(len(x))] == (~np.isnan(x)).tolist()
    return [trace.customdata[i] for i in kept], x[kept], y[kept]


def symbols(trace: go.Scatter) -> list[str]:
    """Return the shapes of a trace's marks."""
    return [symbol for symbol, mark in zip(trace.marker.symbol, trace.customdata, strict=True) if mark]


def joined(trace: go.Scatter) -> list[tuple[object, object]]:
    """Return the pairs of bins that the line of a trace joins."""
    records = trace.customdata
    return [(a["bin"], b["bin"]) for a, b in itertools.pairwise(records) if a and b]


def test_reliability_draws_its_frame(predictions: Predictions) -> None:
    diagram = diagrams.reliability(predictions, 10)
    frame = diagram.frame()
    figure = figures.reliability({"Base": diagram})
    (bars,), (stars,), (pale,) = (marks(figure, kind) for kind in ("bars", "stars", "pale"))
    np.testing.assert_array_equal(bars.y, frame["count"])
    np.testing.assert_allclose(np.asarray(bars.x), (frame["lower"] + frame["upper"]) / 2)
    records, x, y = points(stars)
    assert (frame["count"] < 10).sum() == 1  # a single bin of few rows has nothing to be pooled with
    np.testing.assert_array_equal(x, frame["confidence"])
    np.testing.assert_array_equal(y, frame["accuracy"])
    assert [mark["bin"] for mark in records] == frame["bin"].tolist()
    noise = frame[~(frame["class_p"] <= 0.05) & (frame["count"] >= 10)]
    inside = noise["top_label"].between(0, 1).to_numpy()
    assert inside.any()
    np.testing.assert_array_equal(np.asarray(pale.y)[inside], noise["top_label"][inside])
    # The bars have a strip of their own, below the stars.
    assert figure.layout.yaxis2.domain[1] < figure.layout.yaxis.domain[0]


def test_lines_join_neighbours_of_rows_enough_and_go_to_no_hollow_mark() -> None:
    counts = {0.05: 12, 0.15: 3, 0.25: 10, 0.35: 40, 0.45: 9, 0.55: 9, 0.65: 30, 0.75: 30, 0.95: 11}
    says = np.repeat(list(counts), list(counts.values()))
    rows = Predictions.from_confidence(says, predicted=[0] * len(says), labels=np.arange(len(says)) % 2)
    diagram, panels = diagrams.reliability(rows, 10), diagrams.class_panels(rows, [0], bins=10)
    (stars,) = marks(figures.reliability(diagram), "stars")
    (small,) = (trace for trace in figures.class_panels(panels).data if trace.customdata)
    for trace in (stars, small):
        # Bins 5 and 9 have 9 rows and 11, and none are in bin 8.
        assert joined(trace) == [(2, 3), (6, 7), (7, 9)]
        found, _, _ = points(trace)
        # Bins 4 and 5 share a mark, as neighbors of few rows.
        assert [mark.get("bin") for mark in found] == [0, 1, 2, 3, None, 6, 7, 9]
        assert [symbol.endswith("-open") for symbol in symbols(trace)] == [i in (1, 4) for i in range(8)]
        assert [mark["count"] for mark in found] == [12, 3, 10, 40, 18, 30, 30, 11]
    few = diagram.frame().set_index("bin")["count"] < 10
    moved = figures.movement(diagrams.movement(rows, rows, bins=10))
    for trace in (trace for trace in moved.data if trace.customdata and trace.uid != "arrows"):
        assert joined(trace) == [(2, 3), (6, 7), (7, 9)]
        assert [mark["bin"] for mark in points(trace)[0]] == few.index[~few].tolist()


def test_nothing_is_cut_at_0_or_1() -> None:
    sure = Predictions([[1.0, 0.0]] * 30 + [[0.55, 0.45]] * 12, [0] * 30 + [1] * 12)
    for axis in ("linear", "log-odds"):
        figure = figures.reliability(diagrams.reliability(sure, 10, notion="confidence"), axis=axis)
        (stars,), (plusses,) = marks(figure, "stars"), marks(figure, "pale")
        assert {0.0, 1.0} == set(diagrams.reliability(sure, 10).frame()["accuracy"])
        for trace in (stars, plusses):
            for values, span in ((trace.x, figure.layout.xaxis.range), (trace.y, figure.layout.yaxis.range)):
                assert span[0] < np.nanmin(values) <= np.nanmax(values) < span[1], axis
            assert trace.cliponaxis is False


def test_log_odds_are_the_log_odds_and_their_columns_say_the_confidences(predictions: Predictions) -> None:
    diagram = diagrams.reliability(predictions, 10)
    frame = diagram.frame()
    figure = figures.reliability(diagram, axis="log-odds", tolerance=0.02)
    (stars,) = marks(figure, "stars")
    np.testing.assert_allclose(points(stars)[1], np.log(frame["confidence"] / (1 - frame["confidence"])))
    meta = figure.layout.meta
    assert meta["range"] == "columns"
    assert [column["from"] for column in meta["columns"]] == frame["lower"].tolist()
    assert all(column["low"] < column["high"] for column in meta["columns"])
    with pytest.raises(InputError, match="'odds'; it must be one of linear, log-odds"):
        figures.reliability(diagram, axis="odds")


def test_columns_are_the_bins_with_rows_of_every_model(predictions: Predictions) -> None:
    shown = {
        name: diagrams.reliability(predictions.take(np.arange(n)), 10) for name, n in (("a", 400), ("b", 7), ("c", 300))
    }
    for together in ("overlay", "side by side"):
        figure = figures.reliability(shown, together=together)
        columns = figure.layout.meta["columns"]
        found = {(c["record"]["model"], c["record"]["bin"]): c for c in columns}
        assert list(found) == [(name, b) for name, d in shown.items() for b in d.frame()["bin"]]
        assert len({c["axis"] for c in columns}) == (1 if together == "overlay" else 3)
        assert (columns[-1]["low"], columns[-1]["high"]) == (0.9, 1.0)
        assert "rows, confidence" in columns[0]["says"]


def test_from_three_models_on_each_has_a_panel_with_the_first_behind_it(predictions: Predictions) -> None:
    shown = {
        name: diagrams.reliability(predictions.take(np.arange(n)), 10)
        for name, n in (("a", 400), ("b", 350), ("c", 300))
    }
    two = figures.reliability({name: shown[name] for name in ("a", "b")})
    assert {trace.xaxis for trace in marks(two, "stars")} == {"x"}
    three = figures.reliability(shown)
    stars = marks(three, "stars")
    assert [trace.xaxis for trace in stars] == ["x", "x2", "x3"]
    ghosts = [trace for trace in three.data if str(trace.uid).startswith("ghost")]
    assert [trace.xaxis for trace in ghosts] == ["x2", "x3"]
    for ghost in ghosts:
        np.testing.assert_array_equal(ghost.y, points(stars[0])[2])
        assert list(ghost.marker.symbol) == symbols(stars[0])
    assert three.layout.xaxis3.matches == "x"
    assert {t.xaxis for t in marks(figures.reliability(shown, together="overlay"), "stars")} == {"x"}
    # A model's traces have stable names, and those of others start from the first model's.
    assert [t.uid for t in stars[:2]] == [t.uid for t in marks(two, "stars")]
    assert [trace.meta.get("from") for trace in stars] == [None, stars[0].uid, stars[0].uid]


def test_a_panel_says_its_error_with_the_interval_and_the_verdict(predictions: Predictions) -> None:
    models = {name: predictions.take(np.arange(n)) for name, n in (("a", 400), ("b", 350), ("c", 300))}
    verdicts = inference.verdicts(inference.primaries(models))
    drawn = {name: diagrams.reliability(rows, 10) for name, rows in models.items()}
    layout = figures.reliability(drawn, verdicts=verdicts).layout
    texts = [note.text for note in layout.annotations]
    for line in verdicts.to_dict("records"):
        (text,) = (text for text in texts if f"<b>{line['model']}</b>" in text)
        word = "within tolerance" if line["verdict"] == "within" else line["verdict"]
        assert text.endswith(word)
        assert f"<b>{short_percent(line['point']).removesuffix(' %')}</b>" in text
        assert between(line["low"], line["high"]).removesuffix(" %") in text
    # Signs are drawn, each in its model's color and its verdict's: few fonts have them.
    assert all(text.isascii() for text in texts)
    fills = [shape.fillcolor for shape in layout.shapes if shape.fillcolor]
    for number, word in enumerate(verdicts["verdict"]):
        assert fills[2 * number : 2 * number + 2] == [style(number).colour, VERDICTS[word].colour]


def test_numbers_of_rows_stand_on_bars_above_them_or_nowhere(predictions: Predictions) -> None:
    fine, usual, coarse = (diagrams.reliability(predictions, bins, notion="confidence") for bins in (60, 20, 3))
    for drawn, on_bars, above in (
        ({"a": usual}, True, False),
        ({"a": coarse, "b": coarse}, True, False),
        ({"a": usual, "b": usual}, False, True),
        ({"a": fine}, False, False),
        ({"a": fine, "b": coarse}, False, False),
    ):
        figure = figures.reliability(drawn)
        assert [bars.text is not None for bars in marks(figure, "bars")] == [on_bars] * len(drawn)
        numbers = marks(figure, "numbers")
        assert len(numbers) == above * len(drawn)
        for trace, diagram in zip(numbers, drawn.values(), strict=False):
            assert list(trace.text) == [f"{rows:,.0f}" for rows in diagram.frame()["count"]]
            assert max(bars.y.max() for bars in marks(figure, "bars")) < min(trace.y)
            assert max(trace.y) < figure.layout.yaxis2.range[1]


def differing(classes: int = 3) -> Predictions:
    """Return rows whose classes differ by far at confidences of 80 to 100 %, and by noise below."""
    rng = np.random.default_rng(4)
    score, code = rng.uniform(0.5, 1, 3000), rng.integers(0, classes, 3000)
    hit = rng.random(3000) < np.where(score > 0.8, np.where(code % 2, 0.95, 0.65), score)
    return Predictions.from_confidence(score, predicted=code, labels=np.where(hit, code, (code + 1) % classes))


def test_stems_are_drawn_where_classes_differ_and_end_at_the_difference() -> None:
    diagram = diagrams.reliability(differing(), 10)
    frame = diagram.frame().set_index("bin")
    signal = frame[frame["class_p"] <= 0.05]
    assert signal.index.tolist() == [8, 9]
    figure = figures.reliability(diagram)
    (dotted,), (solid,), (strong,), (pale,), (nulls,) = (
        marks(figure, kind) for kind in ("edges", "stems", "plusses", "pale", "nulls")
    )
    assert (dotted.line.dash, solid.line.dash) == ("dot", "solid")
    for k, line in enumerate(signal.itertuples()):
        assert dotted.y[3 * k] == line.accuracy
        assert abs(dotted.y[3 * k + 1] - line.accuracy) == pytest.approx(line.class_edge)
        assert solid.y[3 * k] == dotted.y[3 * k + 1]
        assert abs(solid.y[3 * k + 1] - line.accuracy) == pytest.approx(line.class_difference)
        assert strong.y[k] == solid.y[3 * k + 1]
        assert 0 <= strong.y[k] <= 1
    assert [mark["bin"] for mark in strong.customdata] == [8, 9]
    noise = frame.drop(signal.index)
    assert [mark["bin"] for mark in pale.customdata] == noise.index.tolist()
    assert pale.marker.size < strong.marker.size
    assert pale.marker.opacity < 1 == strong.marker.opacity
    half, middle = np.asarray(nulls.error_y.array), np.asarray(nulls.y)
    away = np.abs(np.column_stack([middle - half, middle + half]) - noise["confidence"].to_numpy()[:, None])
    np.testing.assert_allclose(np.sort(away), noise[["null_low", "null_high"]], atol=1e-12)
    assert (np.asarray(nulls.x) > pale.x).all()


def test_pale_plusses_can_be_hidden_and_those_of_the_paper_shown() -> None:
    diagram = diagrams.reliability(differing(), 10)
    frame = diagram.frame()
    kinds = {
        plusses: [kind for kind in ("edges", "stems", "plusses", "pale", "nulls") if marks(figure, kind)]
        for plusses in ("all", "significant", "printed", "none")
        for figure in [figures.reliability(diagram, plusses=plusses)]
    }
    assert kinds == {
        "all": ["edges", "stems", "plusses", "pale", "nulls"],
        "significant": ["edges", "stems", "plusses"],
        "printed": ["edges", "stems", "plusses"],
        "none": [],
    }
    (plusses,) = marks(figures.reliability(diagram, plusses="printed"), "plusses")
    np.testing.assert_array_equal(plusses.y, frame["top_label"])
    (stems,) = marks(figures.reliability(diagram, plusses="printed"), "stems")
    np.testing.assert_array_equal(np.asarray(stems.y)[1::3], frame["top_label"])
    with pytest.raises(InputError, match="'some'; it must be one of all, significant, printed, none"):
        figures.reliability(diagram, plusses="some")


def test_the_key_tells_only_what_is_there(predictions: Predictions) -> None:
    def key(diagram: diagrams.ReliabilityDiagram, plusses: str = "all") -> list[str]:
        names = [str(t.name) for t in figures.reliability(diagram, plusses=plusses).data if str(t.uid)[:3] == "key"]
        return [re.split("[:(]", name)[0].strip() for name in names]

    diagram = diagrams.reliability(predictions, 10)
    assert (diagram.frame()["count"] < 10).any()
    assert key(diagram, "none") == ["one bin"]
    names = [str(trace.name) for trace in figures.reliability(diagram, plusses="none").data]
    assert any("hollow" in name for name in names)
    assert not any("hollow" in str(t.name) for t in figures.reliability(diagrams.reliability(differing(), 10)).data)
    assert key(diagram) == ["one bin", "pale +"]
    assert key(diagrams.reliability(differing(), 10)) == ["one bin", "+"]
    assert key(diagrams.reliability(differing(), 10), "significant") == ["one bin", "stem"]


def legend_of(figure: go.Figure) -> list[str]:
    """Return the entries of the legend on screen."""
    return [str(t.name) for t in figure.data if t.name and t.showlegend is not False]


def test_lines_are_named_next_to_them_and_in_the_legend_only_without_room() -> None:
    rng = np.random.default_rng(2)
    says = rng.uniform(0.35, 1, 3000)
    rows = Predictions.from_confidence(says, rng.random(3000) < says)
    diagram, bands = diagrams.reliability(rows, 10), diagrams.reliability_bands(rows, 10)
    curve = figures.kernel_band(diagrams.kernel_curve(rows, band="none"))
    figure = figures.reliability({"net": diagram}, bands=bands, tolerance=0.02, over=[curve])
    labels = [re.sub("<.*?>", "", note.text) for note in figure.layout.annotations if note.name == "direct label"]
    assert {"net", "tolerance of 2 %"} <= set(labels)
    hidden = {"net", "90 % of calibrated models", "tolerance of 2 %", "kernel curve"} & set(labels)
    legend = legend_of(figure)
    assert not hidden & set(legend)
    assert {"90 % of calibrated models", "kernel curve"} <= hidden | set(legend)
    assert len(legend) <= 4
    # A narrow column has no direct labels, so that the legend has all of them.
    narrow = figures.on_paper(figure, "single")
    texts = {re.sub("<.*?>", "", str(note.text)) for note in narrow.layout.annotations if note.name == "legend"}
    assert {"net", "tolerance of 2 %", "90 % of calibrated models"} <= texts
    # Marks everywhere leave no room for a label.
    crowd = go.Figure(go.Scatter(x=rng.random(4000), y=rng.random(4000), name="kernel curve", uid="crowd"))
    full = figures.reliability({"net": diagram}, bands=bands, tolerance=0.02, over=[crowd])
    assert {"net", "90 % of calibrated models", "tolerance of 2 %"} & set(legend_of(full))


def test_curves_without_bins_are_drawn_where_the_kernel_curve_is() -> None:
    rng = np.random.default_rng(0)
    risk = np.concatenate([rng.uniform(0.02, 0.2, 600), rng.uniform(0.7, 0.95, 600), [0.4, 0.45, 0.99]])
    rows = Predictions(np.column_stack([1 - risk, risk]), (rng.random(len(risk)) < risk).astype(int))
    kernel = diagrams.kernel_curve(rows, "event", band="none")
    assert len(kernel.ranges) == 2
    gap = kernel.ranges[0, 1], kernel.ranges[1, 0]
    assert 0.2 < gap[0] < 0.4 < gap[1] < 0.7  # two rows in between are too few
    known = kernel.score[~np.isnan(kernel.curve)]
    assert not ((known > gap[0]) & (known < gap[1])).any()
    for band in ("pointwise", "whole-curve"):
        for drawn in (
            figures.corp(diagrams.corp(rows, "event")),
            figures.corp_band(diagrams.corp_band(rows, "event", band=band)),
        ):
            (trace,) = laid_over(drawn)
            x = np.asarray(trace.x, dtype=float)
            assert np.isnan(x).sum() == 1
            assert set(gap) <= set(x.tolist())
            assert not ((x > gap[0]) & (x < gap[1])).any()
            assert (np.nanmin(x), np.nanmax(x)) == (
                pytest.approx(kernel.ranges[0, 0]),
                pytest.approx(kernel.ranges[1, 1]),
            )
    risks = figures.risk_diagram(diagrams.risk_diagram(rows))
    smooth = [t for t in risks.data if str(t.uid).startswith(("curve", "band"))]
    assert len(smooth) == 2
    for trace in smooth:
        x = np.asarray(trace.x, dtype=float)
        assert set(gap) <= set(x.tolist())
        assert not ((x > gap[0]) & (x < gap[1])).any()


def test_neighboring_bins_of_few_rows_share_a_mark_with_the_interval_of_their_rows() -> None:
    counts = {0.05: 4, 0.15: 3, 0.25: 5, 0.35: 9, 0.45: 2, 0.55: 40, 0.65: 1, 0.95: 60}
    says = np.repeat(list(counts), list(counts.values()))
    rows = Predictions.from_confidence(says, np.arange(len(says)) % 3 > 0)
    diagram, bands = diagrams.reliability(rows, 10), diagrams.reliability_bands(rows, 10)
    figure = figures.reliability({"net": diagram}, bands=bands, axis="linear")
    (stars,) = marks(figure, "stars")
    found, x, y = points(stars)
    # 4 + 3 + 5 are a mark, 9 + 2 the next one; the single row has no neighbor of few rows.
    assert [mark["count"] for mark in found] == [12, 11, 40, 1, 60]
    assert [mark.get("between") for mark in found] == [pytest.approx((0, 0.3)), pytest.approx((0.3, 0.5)), *[None] * 3]
    assert [mark.get("bin") for mark in found] == [None, None, 5, 6, 9]
    assert x[0] == pytest.approx((4 * 0.05 + 3 * 0.15 + 5 * 0.25) / 12)
    right = rows.correct[:12].sum()
    assert y[0] == pytest.approx(right / 12)
    known = ~np.isnan(np.asarray(stars.x))
    high, low = stars.error_y.array[known], stars.error_y.arrayminus[known]
    exact = clopper_pearson(np.array([float(right)]), np.array([12.0]), 0.9)
    assert (y[0] - low[0], y[0] + high[0]) == (pytest.approx(exact[0][0]), pytest.approx(exact[1][0]))
    # The interval of a single row would span the picture.
    assert np.isnan([high[3], low[3]]).all()
    assert (high[[0, 1, 2, 4]] > 0).all()
    # Tables, bars and columns are those of the bins.
    assert len(diagram.frame()) == len(bands.frame()) == len(figure.layout.meta["columns"]) == 8
    (printed,) = marks(figures.reliability({"net": diagram}, bands=bands, plusses="printed"), "stars")
    assert len(points(printed)[0]) == 8


def test_bands_draw_intervals_and_where_calibrated_models_are(predictions: Predictions) -> None:
    models = {name: predictions.take(np.arange(n)) for name, n in (("a", 400), ("b", 350), ("c", 300))}
    drawn = {name: diagrams.reliability(rows, 10, notion="confidence") for name, rows in models.items()}
    bands = {name: diagrams.reliability_bands(rows, 10, "confidence") for name, rows in models.items()}
    for together, panels in (("overlay", ["x"]), ("side by side", ["x", "x2", "x3"])):
        for axis in ("linear", "log-odds"):
            figure = figures.reliability(drawn, bands=bands, together=together, axis=axis)
            gray = [trace for trace in figure.data if str(trace.uid).startswith("consistency")]
            assert [trace.xaxis for trace in gray] == panels
            for trace, each in zip(gray, bands.values(), strict=False):
                frame = each.frame()[each.frame()["count"] >= 10]
                place = axis_for(
                    axis, *(d.frame()[["confidence", "accuracy", "top_label"]] for d in drawn.values())
                ).place
                ends = np.append(frame["band_low"], frame["band_high"][::-1])
                np.testing.assert_allclose(trace.y, place(ends))
            for star, each in zip(marks(figure, "stars"), bands.values(), strict=True):
                known, frame = ~np.isnan(star.x), each.frame()
                ends = [np.asarray(star.y) + star.error_y.array, np.asarray(star.y) - star.error_y.arrayminus]
                wide = frame["count"] < 10
                for end, side in zip(ends, ("accuracy_high", "accuracy_low"), strict=True):
                    np.testing.assert_allclose(end[known], place(frame[side].where(~wide)))
            assert wide.any()
    with pytest.raises(InputError, match="different bins"):
        figures.reliability(drawn["a"], bands=diagrams.reliability_bands(models["a"], 3, "confidence"))


def test_the_tolerance_is_two_lines(predictions: Predictions) -> None:
    figure = figures.reliability(diagrams.reliability(predictions, 10), tolerance=0.03)
    (lines,) = (trace for trace in figure.data if trace.uid == "tolerancex")
    away = np.asarray(lines.y) - np.asarray(lines.x)
    assert np.unique(away[~np.isnan(away)].round(12)).tolist() == [-0.03, 0.03]
    assert np.isnan(away).sum() == 1
    assert np.nanmin(lines.y) >= 0
    assert np.nanmax(lines.y) <= 1
    assert (lines.line.dash, lines.name) == ("dot", "tolerance of 3 %")
    assert not [t for t in figures.reliability(diagrams.reliability(predictions, 10)).data if t.uid == "tolerancex"]


def test_the_axes_of_a_risk_have_its_words(predictions: Predictions) -> None:
    figure = figures.reliability(diagrams.reliability(predictions, 10), event="died")
    assert figure.layout.xaxis.title.text == "predicted risk of “died”"
    assert "<b>observed frequency</b>" in [note.text for note in figure.layout.annotations]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 0.2), (0.7, 0.9)])
@pytest.mark.parametrize("models", [1, 3])
def test_lines_of_the_tolerance_are_parallel_to_the_diagonal(low: float, high: float, models: int) -> None:
    rng = np.random.default_rng(11)
    risk = low + (high - low) * rng.beta(2, 2, 600)
    happened = (rng.random(600) < 0.5 * risk).astype(int)
    diagram = diagrams.risk_diagram(Predictions(np.column_stack([1 - risk, risk]), happened))
    figure = figures.risk_diagram({str(i): diagram for i in range(models)}, tolerance=0.02)
    drawn = [trace for trace in figure.data if str(trace.name).startswith("tolerance of")]
    assert len(drawn) == models
    for trace in drawn:
        x, y = (np.array(values, dtype=float) for values in (trace.x, trace.y))
        across, up = (
            figure.layout[f"{axis[0]}axis{axis[1:]}"].range for axis in (trace.xaxis or "x", trace.yaxis or "y")
        )
        assert (y - x)[~np.isnan(x)] == pytest.approx([-0.02, -0.02, 0.02, 0.02])
        for first, last in ((0, 1), (3, 4)):
            # Each line crosses the axes: it is at most their room away from an edge at both ends.
            room = 0.03 * (across[1] - across[0]), 0.03 * (up[1] - up[0])
            assert min(x[first] - across[0] - room[0], y[first] - up[0] - room[1]) <= 0
            assert min(across[1] - x[last] - room[0], up[1] - y[last] - room[1]) <= 0
        assert np.nanmin(x) >= across[0]
        assert np.nanmax(x) <= across[1]
        assert np.nanmin(y) >= up[0]
        assert np.nanmax(y) <= up[1]


def test_names_stand_beside_their_marks_and_on_nothing_else() -> None:
    stars = {"one": np.array([[0.2, 0.4], [0.8, 0.9]]), "two": np.array([[0.2, 0.1], [0.8, 0.5]])}
    placed = label_places(stars, [])
    assert set(placed) == {"one", "two"}
    for name, (x, y, _, _) in placed.items():
        assert np.abs(stars[name] - [x, y]).sum(axis=1).min() < 0.05
    crowd = np.stack(np.meshgrid(np.linspace(0, 1, 60), np.linspace(0, 1, 60)), axis=-1).reshape(-1, 2)
    assert label_places(stars, [crowd]) == {}


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
        assert looks_of(draw({"two": given["two"]}, looks={"one": 0, "two": 1}))["two"] == second
        assert looks_of(draw({"two": given["two"]}))["two"] != second
    alone, among = (figures.error_sweep(sweeps["two"], looks=looks) for looks in (None, {"one": 0, "two": 1}))
    assert looks_of(alone)["two, confidence"] == (style(0).colour,)
    assert looks_of(among)["two, confidence"] == (style(1).colour,)


def looks_of(figure: go.Figure) -> dict[str, tuple[str, ...]]:
    """Return the colors of the traces by name."""
    found: dict[str, tuple[str, ...]] = {}
    for trace in figure.data:
        colours = (trace.marker.color, trace.line.color if "line" in trace else None)
        found.setdefault(str(trace.name), tuple(colour for colour in colours if isinstance(colour, str))[:1])
    return found


def test_one_diagram_alone_is_a_model_without_a_name(predictions: Predictions) -> None:
    diagram = diagrams.reliability(predictions, 10)
    assert figures.reliability(diagram) == figures.reliability({"model": diagram})


def test_a_mark_says_what_it_stands_for(predictions: Predictions) -> None:
    """The record has names, and the model's title as given: a click finds the model by it."""
    title = "<i>net</i>"
    diagram = diagrams.reliability(predictions, 10)
    (stars,) = marks(figures.reliability({title: diagram}), "stars")
    mark = stars.customdata[-1]
    assert (mark["model"], mark["bin"]) == (title, diagram.frame()["bin"].iloc[-1])
    zoom = diagrams.zoom(predictions, diagram, mark["bin"])
    (classes,) = (trace for trace in figures.zoom(zoom).data if trace.name == "classes")
    assert [one["code"] for one in classes.customdata] == zoom.classes.tolist()
    bars = figures.class_table({title: diagrams.class_table(predictions, bins=5)}, classes=[2, 0]).data[0]
    assert [(one["model"], one["code"]) for one in bars.customdata] == [(title, 2), (title, 0)]
    panels = diagrams.class_panels(predictions, [2], bins=5)
    small, _ = (t for t in figures.class_panels({title: panels}).data if t.mode == "lines+markers")
    known = np.flatnonzero(panels.bins.count[2] > 0)
    assert [(one["code"], one["bin"]) for one in points(small)[0]] == [(2, b) for b in known]


def test_a_legend_of_long_names_has_room_below_two_classes() -> None:
    rows = Predictions([[0.9, 0.1], [0.2, 0.8]] * 20, [0, 1] * 20)
    names = [f"file {i}.csv, Logistic recalibration" for i in range(4)]
    short, long = (
        figures.class_table({name: diagrams.class_table(rows, bins=5) for name in each}).layout.height
        for each in (["a", "b", "c", "d"], names)
    )
    # Two entries in a line, and Plotly gives a legend at most half of the height.
    assert long == short + 2 * 20
    assert long / 2 >= 3 * 20


def test_figures_have_the_names_of_the_diagrams_they_draw() -> None:
    functions = {
        name: getattr(diagrams, name) for name in diagrams.__all__ if inspect.isfunction(getattr(diagrams, name))
    }
    # Of those that make a frame, or numbers, nothing is drawn.
    others = (
        "str",
        "tuple[str, ...]",
        "pd.DataFrame",
        "tuple[int, ...]",
        "tuple[float, ...]",
        "float",
        "Codes",
        "NDArray[np.intp]",
    )
    drawn = {name for name, f in functions.items() if inspect.signature(f).return_annotation not in others}
    # These make what another one makes too.
    same = {"canonical_validity", "kernel_curves", "map_difference", "true_map"}
    # These are described in words.
    kinds = {name: getattr(diagrams, inspect.signature(functions[name]).return_annotation, None) for name in drawn}
    in_words = {name for name, kind in kinds.items() if not getattr(kind, "drawn", True)}
    assert in_words == {"classes_standing_out", "local_accuracy", "local_frequency", "overall_gap", "updated_frequency"}
    assert drawn - set(figures.__all__) == in_words | same | {"validity_against", "validity_by_cell", "validity_of"}


def test_the_core_works_without_plotly_and_loads_it_only_for_figures() -> None:
    alone = "import sys, calib_core; print([n for n in ('plotly', 'PIL', 'calib_core.figures') if n in sys.modules])"
    hidden = "\nsys.modules['plotly'] = None\ntry: calib_core.figures\nexcept ImportError as why: print(why)"
    loaded, why = run(alone + hidden).splitlines()
    assert loaded == "[]"
    assert why.endswith('pip install "calib[plot]"')


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_only_diagrams_are_drawn() -> None:
    with pytest.raises(InputError, match="list is not a diagram"):
        figures.draw([])


def test_bars_of_several_models_share_the_bin_without_overlap(predictions: Predictions) -> None:
    diagram = diagrams.reliability(predictions, 10)
    one, two = marks(figures.reliability({"one": diagram, "two": diagram}), "bars")
    np.testing.assert_allclose(np.asarray(one.x) + one.width[0], np.asarray(two.x))
    assert (one.marker.pattern.shape, two.marker.pattern.shape) == (None, "/")


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


def test_numbers_at_the_right_of_findings_are_rows_and_not_their_worth(predictions: Predictions) -> None:
    weights = np.random.default_rng(0).uniform(0.1, 3, predictions.n_rows)
    table = findings(predictions.replace(weights=weights / weights.mean()))
    shown = table[table["p"].notna()]
    assert (shown["worth"] < shown["rows"] - 1).all()
    heading, *written = [each.text for each in figures.findings(table).layout.annotations]
    assert heading == "<b>rows</b>"
    assert written == [f"{rows:,}" for rows in shown["rows"].head(len(written))]


def test_small_diagrams_draw_their_frame(predictions: Predictions) -> None:
    panels = diagrams.class_panels(predictions, [2, 0], bins=5)
    figure = figures.class_panels({"Base": panels})
    *drawn, entry = [trace for trace in figure.data if trace.name == "Base"]
    # The legend has a full mark, for any first bin.
    assert (entry.showlegend, entry.marker.symbol, list(entry.x)) == (None, style(0).symbol, [None])
    assert not any(trace.showlegend for trace in drawn)
    frame = panels.frame()
    for trace, c in zip(drawn, (2, 0), strict=True):
        mine = frame[frame["class"] == HOSTILE[c]]
        _, x, y = points(trace)
        np.testing.assert_array_equal(x, mine["mean_score"])
        np.testing.assert_array_equal(y, mine["mean_outcome"])


def test_a_line_per_class_joins_predicted_and_observed_beside_the_range_of_calibrated_models() -> None:
    rng = np.random.default_rng(3)
    says, names = rng.uniform(0.6, 0.99, 3000), np.arange(3000) % 30
    right = rng.random(3000) < np.where(names < 3, says - 0.4, says)  # three classes are over-confident
    rows = Predictions.from_confidence(says, predicted=names, labels=np.where(right, names, (names + 1) % 30))
    tests = per_class_tests(rows, "top-label", 5)
    order = diagrams.ranked_classes(diagrams.class_table(rows), tests=tests)
    gaps = diagrams.class_gaps(rows, classes=order, tests=tests)
    assert set(gaps.code[:3]) == {0, 1, 2} == set(np.asarray(gaps.code)[gaps.stands_out].tolist())
    assert (gaps.off, gaps.tested) == (3, 30)
    # The range is exact: the middle 90 % of the number of correct rows of a calibrated model.
    drawn = (rng.random((4000, 100)) < says[names == order[0]]).mean(1)
    inside = (drawn >= gaps.low[0]) & (drawn <= gaps.high[0])
    assert 0.89 < inside.mean() < 0.97
    assert (gaps.outcome[:3] < gaps.low[:3]).all()
    figure = figures.class_gaps({"a": gaps, "b": diagrams.class_gaps(rows, classes=order)})
    dots = [trace for trace in figure.data if trace.customdata]
    assert [trace.name for trace in dots] == ["a", "b"]
    for trace, filled in zip(dots, (gaps.stands_out, np.zeros(30, bool)), strict=True):
        np.testing.assert_array_equal(trace.y, gaps.outcome)
        assert [record["code"] for record in trace.customdata] == list(order)
        assert [shape == "circle" for shape in trace.marker.symbol] == filled.tolist()
    ticks, bars = (
        next(t for t in figure.data if t.name == name) for name in ("predicted", "90 % of calibrated models")
    )
    np.testing.assert_array_equal(ticks.y, gaps.score)
    np.testing.assert_allclose(np.asarray(bars.base, float) + bars.y, gaps.high)
    lines = next(t for t in figure.data if t.type == "scatter" and t.mode == "lines")
    np.testing.assert_array_equal(
        np.asarray(lines.y).reshape(-1, 3)[:, :2], np.column_stack([gaps.score, gaps.outcome])
    )
    assert [column["record"]["code"] for column in figure.layout.meta["columns"]] == [*order, *order]
    assert len(diagrams.class_gaps(rows, classes=[0] * 150).code) == 100
    # Of a hundred names every second one is below the others: in one row they would overlap.
    for few, shifted in ((30, 0), (100, 50)):
        names = figures.class_gaps({"a": diagrams.class_gaps(rows, classes=[0] * few)}).layout.xaxis.ticktext
        assert [name.rstrip("\N{NO-BREAK SPACE}") for name in names] == ["0"] * few
        assert sum(name != "0" for name in names) == shifted


def test_a_validity_axis_ends_at_the_largest_99_percent_quantile() -> None:
    plots = {
        "a": diagrams.ValidityPlot(np.array([0.05, 0.1, 0.9]), np.array([0.9, 0.995, 1.0])),
        "b": diagrams.ValidityPlot(np.array([0.02, 0.2, 0.5]), np.array([0.98, 0.99, 1.0])),
    }
    axis = figures.validity(plots).layout.xaxis
    assert axis.range == (0, pytest.approx(1.04 * 0.2))
    assert "99 %" in axis.title.text
    assert figures.validity(plots, before={"b": "a"}).layout.xaxis.range == axis.range
    whole = {"a": diagrams.ValidityPlot(np.array([0.05, 0.1]), np.array([0.9, 1.0]))}
    axis = figures.validity(whole).layout.xaxis
    assert (axis.range, "99 %" in axis.title.text) == (None, False)


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
    tests = per_class_tests(predictions, "top-label", 5)
    noise, marks = figures.class_table({"Base": table}, classes=[1, 2], tests=tests).data
    np.testing.assert_array_equal(marks.x, table.error[[1, 2]])
    np.testing.assert_array_equal(noise.x, tests["calibrated"][[1, 2]])
    assert [mark["code"] for mark in marks.customdata] == [1, 2]


def test_slice_dots_draw_their_lines() -> None:
    """The noise band is that of a calibrated model, so it is around the prediction and not around the observation."""
    rng = np.random.default_rng(3)
    said, site = rng.uniform(0.6, 1.0, 600), np.repeat(list("abc"), 200)
    right = rng.random(600) < said - 0.3 * (site == "c")
    p = Predictions.from_confidence(said, right, metadata=pd.DataFrame({"site": site}))
    dots = diagrams.slice_dots(slices.table(p, "site"))
    lines, drawn = dots.lines, {trace.name: trace for trace in figures.slice_dots(dots).data}
    noise, off = drawn["calibrated models"], drawn["significant"]
    for x, end in (
        (noise.x[::3], lines["claimed"] - lines["floor"]),
        (noise.x[1::3], lines["claimed"] + lines["floor"]),
    ):
        np.testing.assert_allclose(x, end.clip(0, 1))
    out = lines["stands_out"]
    assert 0 < out.sum() < len(lines)
    np.testing.assert_array_equal(off.x[::3], lines["claimed"][out])
    np.testing.assert_array_equal(off.x[1::3], lines["right"][out])
    np.testing.assert_array_equal(drawn["confidence"].x, lines["claimed"])
    assert lines["evidence"].tolist() == ["significant", "none", "none"]
    for words, which in (("significantly off", out), ("not significantly off", ~out)):
        mark = drawn[f"accuracy: {words}"]
        np.testing.assert_array_equal(mark.x, lines["right"][which])
        np.testing.assert_array_equal(mark.y, np.flatnonzero(which))
        np.testing.assert_allclose(mark.x + mark.error_x.array, lines["high"][which])
        np.testing.assert_allclose(mark.x - mark.error_x.arrayminus, lines["low"][which])
        assert (mark.marker.color == style(0).colour) == (words == "significantly off")


def test_slices_are_drawn_by_gap_in_the_colour_of_their_evidence() -> None:
    sizes = {"big": (900, 0.1), "small": (30, 0.3), "some": (200, 0.07), "even": (300, 0.0), "few": (4, 0.5)}
    sizes |= {None: (400, 0.2)}
    site = np.repeat(np.array(list(sizes), dtype=object), [n for n, _ in sizes.values()])
    says = np.full(len(site), 0.8)
    right = np.concatenate([np.arange(n) < round(n * (0.8 - gap)) for n, gap in sizes.values()])
    p = Predictions.from_confidence(says, right, metadata=pd.DataFrame({"site": site}))
    table = slices.table(p, "site")
    lines = diagrams.slice_dots(table).lines
    # The slice of four rows is not tested and last; rows without a site are a slice.
    names = [name.removeprefix("site ") for name in lines["slice"]]
    assert names == ["= small", "not given", "= big", "= some", "= even", "= few"]
    assert lines["evidence"].tolist() == ["significant", "significant", "significant", "alone", "none", "untested"]
    drawn = {trace.name: trace for trace in figures.slice_dots(diagrams.slice_dots(table)).data}
    looks = {
        "significantly off": (style(0).symbol, style(0).colour, [0, 1, 2]),
        "only without correction": (f"{style(0).symbol}-open", style(0).colour, [3]),
        "not significantly off": (f"{style(0).symbol}-open", look.REFERENCE, [4, 5]),
    }
    for words, (symbol, colour, places) in looks.items():
        trace = drawn[f"accuracy: {words}"]
        assert (trace.marker.symbol, trace.marker.color, list(trace.y)) == (symbol, colour, places)
    # Significant slices are drawn also where there are many with larger gaps.
    assert diagrams.slice_dots(table, 3).lines["stands_out"].all()


def test_every_panel_is_in_the_colour_of_its_model() -> None:
    """Heading and marks of a panel have the model's look, for any position of the panel."""
    rng = np.random.default_rng(4)
    risk = rng.beta(2, 3, 900)
    died = (rng.random(900) < risk).astype(int)
    looks = {"first": 3, "second": 1, "third": 5}
    made = {
        name: diagrams.risk_diagram(Predictions(np.column_stack([1 - risk**power, risk**power]), died))
        for name, power in zip(looks, (1.0, 1.5, 2.0), strict=True)
    }
    figure = figures.risk_diagram(made, looks=looks)
    titles = [note for note in figure.layout.annotations if re.sub("<.*?>", "", note.text) in looks]
    assert [re.sub("<.*?>", "", note.text) for note in titles] == list(looks)
    for note, number in zip(titles, looks.values(), strict=True):
        (sign,) = (shape for shape in figure.layout.shapes if (shape.xanchor, shape.yanchor) == (note.x, note.y))
        assert style(number).colour in (sign.fillcolor, sign.line.color)
    stars = {
        trace.name: trace.marker.color
        for trace in figure.data
        if trace.name in looks and trace.error_y.array is not None
    }
    assert stars == {name: style(number).colour for name, number in looks.items()}


def test_events_and_other_rows_are_counted_below_the_curve_of_a_risk() -> None:
    rng = np.random.default_rng(5)
    risk = rng.beta(2, 5, 700)
    died = (rng.random(700) < risk).astype(int)
    figure = figures.risk_diagram(diagrams.risk_diagram(Predictions(np.column_stack([1 - risk, risk]), died)))
    told = [note.text for note in figure.layout.annotations]
    assert f"with the event: {died.sum()}" in told
    assert f"others: {700 - died.sum()}" in told


@pytest.mark.parametrize("most", [0.999, 0.97, 0.6])
def test_every_round_risk_on_the_axis_has_its_number(most: float) -> None:
    rng = np.random.default_rng(8)
    risk = np.clip(rng.random(500), 0.001, most)
    died = (rng.random(500) < risk).astype(int)
    figure = figures.risk_diagram(diagrams.risk_diagram(Predictions(np.column_stack([1 - risk, risk]), died)))
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        step = axis.tickvals[1] - axis.tickvals[0]
        low, high = max(0.0, axis.range[0]), min(1.0, axis.range[1])
        places = np.arange(0, 1 + step / 2, step)
        assert axis.tickvals == pytest.approx(places[(places >= low - 1e-9) & (places <= high + 1e-9)])


def test_words_over_a_decision_curve_are_its_line() -> None:
    rng = np.random.default_rng(6)
    risk = rng.beta(2, 3, 400)
    died = (rng.random(400) < risk).astype(int)
    curve = diagrams.decision_curve(Predictions(np.column_stack([1 - risk, risk]), died), thresholds=(0.2, 0.4, 0.6))
    (line,) = (trace for trace in figures.decision_curve(curve).data if trace.hovertext is not None)
    for text, each in zip(line.hovertext, curve.frame().to_dict("records"), strict=True):
        told = [float(number.replace("−", "-")) for number in re.findall(r"[−-]?\d+(?:\.\d+)?", text)]
        names = ("threshold", "acted", "benefit", "low", "high", "over_all")
        assert told == pytest.approx([100 * each[name] for name in names], abs=0.51)
        assert abs(each["benefit"] - each["over_all"]) > 0.02 or each["threshold"] != 0.2


def test_every_model_of_a_class_stands_on_its_line(predictions: Predictions) -> None:
    table = diagrams.class_table(predictions, bins=5)
    figure = figures.class_table({"Base": table, "Again": table, "More": table}, classes=[2, 0])
    assert [column["record"] for column in figure.layout.meta["columns"]] == [{"code": 2}, {"code": 0}]
    for trace in figure.data:
        for y, mark in zip(trace.y, trace.customdata, strict=True):
            (column,) = (c for c in figure.layout.meta["columns"] if c["low"] < y < c["high"])
            assert column["record"]["code"] == mark["code"]
    # Together the models of a class are in the middle of its line.
    np.testing.assert_allclose(np.mean([trace.y for trace in figure.data], axis=0), [0, 1], atol=1e-9)


def test_classes_whose_names_begin_alike_have_bars_of_their_own() -> None:
    names = [f"{'long words before what tells apart, '}{letter}" for letter in "ab"]
    table = diagrams.class_table(Predictions([[0.9, 0.1], [0.2, 0.8]] * 5, [0, 1] * 5, class_names=names))
    bars = figures.class_table({"Base": table}, classes=[0, 1]).data[0]
    assert len(set(bars.y)) == 2
    assert [text[-1] for text in bars.hovertext] == ["a", "b"]


def test_overlays_draw_their_frames(predictions: Predictions) -> None:
    bands = diagrams.reliability_bands(predictions, 10, resamples=50)
    frame = bands.frame()
    (marks,) = laid_over(figures.bin_intervals(bands))
    np.testing.assert_allclose(np.asarray(marks.y) + marks.error_y.array, frame["accuracy_high"])
    np.testing.assert_allclose(np.asarray(marks.y) - marks.error_y.arrayminus, frame["accuracy_low"])
    (band,) = laid_over(figures.consistency_bands(bands))
    np.testing.assert_allclose(np.asarray(band.y) + band.error_y.array, frame["band_high"])
    curve = diagrams.corp(predictions)
    curve = replace(curve, ranges=np.array([[0.0, 1.0]]))
    (steps,) = laid_over(figures.corp(curve))
    np.testing.assert_array_equal(np.asarray(steps.y)[::2], curve.frame()["outcome"])
    np.testing.assert_array_equal(np.asarray(steps.x)[1::2], curve.frame()["upper"])
    steps = replace(diagrams.corp_band(predictions), ranges=np.array([[0.0, 1.0]]))
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
    *lines, model, dashed, solid = figures.error_sweep(sweep).data
    assert [entry.name for entry in (model, dashed, solid)] == ["Base", "confidence", "top-label"]
    assert [entry.line.dash for entry in (dashed, solid)] == [line.line.dash for line in lines]
    for trace, notion in zip(lines, ("confidence", "top-label"), strict=True):
        np.testing.assert_array_equal(trace.y, frame.loc[frame["notion"] == notion, "value"])


def test_the_sweep_draws_the_noise_floor_of_each_of_the_first_models_lines(predictions: Predictions) -> None:
    sweep = diagrams.error_sweep({"Base": predictions, "Again": predictions.take(np.arange(200))}, bins=(5, 10))
    drawn = figures.error_sweep(sweep).data
    confidence, top_label, *lines = (trace for trace in drawn if list(trace.x) != [None])
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
        assert "<b>b<" not in written.replace("\\u003c", "<")
        templates = [str(trace.hovertemplate) for trace in figure.data]
        assert not any("c %{x}" in t or "%{x} c" in t for t in templates)


def test_a_label_is_tied_to_the_side_of_its_box_that_faces_its_mark() -> None:
    x, y, width = 0.3, 0.6, 0.2
    for (across, up), (left, bottom), place in _sides(x, y, width):
        assert np.abs(np.subtract(place, (x, y))).sum() == pytest.approx(_AWAY)
        ends = {"left": left, "center": left + width / 2, "right": left + width}
        heights = {"bottom": bottom, "middle": bottom + _HEIGHT / 2, "top": bottom + _HEIGHT}
        assert place == pytest.approx((ends[across], heights[up]))
        assert not (left < x < left + width and bottom < y < bottom + _HEIGHT)


def test_the_sides_of_the_diagonal_are_named_where_they_are(predictions: Predictions) -> None:
    notes = figures.reliability(diagrams.reliability(predictions, 10)).layout.annotations
    over = {note.text: note.y - note.x for note in notes if "confident" in note.text}
    assert over["<i>underconfident</i>"] > 0.9
    assert over["<i>overconfident</i>"] < -0.9


@pytest.mark.parametrize("values", [[0.4, 0.9], [0.02, 0.6], [0.9999, 0.99999], [1e-5, 0.5, 0.999]])
def test_an_axis_in_log_odds_reaches_beyond_all_its_values(values: list[float]) -> None:
    axis = axis_for("log-odds", values, [0.0, 1.0, np.nan])
    odds = np.log(np.divide(values, np.subtract(1, values)))
    assert axis.low < min(odds) <= max(odds) < axis.high
    assert axis.low < 0 < axis.high
    np.testing.assert_allclose(axis.place(values), odds)


def test_on_an_axis_in_log_odds_a_curve_still_says_probabilities(predictions: Predictions) -> None:
    curve = diagrams.corp(predictions)
    figure = figures.reliability(diagrams.reliability(predictions, 10), over=[figures.corp(curve)], axis="log-odds")
    (steps,) = (trace for trace in figure.data if trace.name == "CORP curve")
    np.testing.assert_array_equal(steps.customdata[:, 1], np.repeat(curve.outcome, 2))
    hovers_speak_in_percent(figure)
