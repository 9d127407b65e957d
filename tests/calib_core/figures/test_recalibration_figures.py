"""Before and after, and fitted maps, are drawn as in their frames."""

from __future__ import annotations

import numpy as np
import pytest
from hostile_names import HOSTILE

import calib_core as cc
from calib_core import Predictions
from calib_core.figures.fitted_numbers import _frame
from calib_core.palette import style


def test_before_and_after_draw_their_frame_and_arrows_between_equal_bins(predictions: Predictions) -> None:
    after = cc.CALIBRATORS.make("temperature").fit_on(predictions).apply(predictions)
    diagram = cc.diagrams.movement(predictions, after, 10)
    figure = cc.figures.movement(diagram, titles=("as it is", "T"), looks={"as it is": 0, "T": 4})
    marks = {trace.uid: trace for trace in figure.data if trace.uid}
    frame = diagram.frame()
    for stage, trace in [(stage, marks[stage]) for stage in ("before", "after")]:
        told = frame[(frame["stage"] == stage) & (frame["count"] >= 10)]
        drawn = np.isfinite(trace.x)
        np.testing.assert_array_equal(trace.x[drawn], told["confidence"])
        np.testing.assert_array_equal(trace.y[drawn], told["accuracy"])
        assert [record["bin"] for record in trace.customdata if record] == told["bin"].tolist()
    assert marks["after"].meta["from"] == "before"
    assert marks["after"].marker.color == cc.figures.look.style(4).colour
    steps = diagram.steps(10)
    moved = np.hypot(steps["confidence_after"] - steps["confidence"], steps["accuracy_after"] - steps["accuracy"])
    arrows = marks.pop("arrows")
    kept = steps[moved >= 0.03]
    assert len(kept) < len(steps)
    np.testing.assert_array_equal(arrows.x[0::3], kept["confidence"])
    np.testing.assert_array_equal(arrows.y[1::3], kept["accuracy_after"])
    assert [record["bin"] for record in arrows.customdata[::3]] == kept["bin"].tolist()
    ends = figure.layout.xaxis.range
    drawn = [value for trace in marks.values() for value in (*trace.x, *trace.y) if np.isfinite(value)]
    assert ends[0] < min(drawn) <= max(drawn) < ends[1]
    others = cc.diagrams.movement(predictions, after, "equal-mass")
    assert not others.same_bins
    assert not len(cc.figures.movement(others).data[1].x)


def test_marks_of_few_rows_are_hollow_where_there_are_no_others() -> None:
    few = Predictions.from_confidence(np.linspace(0.5, 0.9, 12), [True, False] * 6)
    _, _, before, after = cc.figures.movement(cc.diagrams.movement(few, few, 10)).data
    assert all(symbol.endswith("-open") for symbol in before.marker.symbol)
    assert np.isfinite(after.x).sum() == len(cc.diagrams.reliability(few, 10).frame())


def test_of_marks_with_few_rows_only_those_are_hollow() -> None:
    rows = Predictions.from_confidence([0.95] * 300 + [0.75] * 4, [True, False] * 152)
    before = cc.figures.movement(cc.diagrams.movement(rows, rows, 10)).data[2]
    hollow = {
        record["count"]: symbol
        for record, symbol in zip(before.customdata, before.marker.symbol, strict=True)
        if record
    }
    assert hollow == {4: f"{style(0).symbol}-open", 300: style(0).symbol}


def test_fitted_weights_and_losses_are_drawn_cell_by_cell(predictions: Predictions) -> None:
    matrix = cc.diagrams.fitted_parameters(cc.CALIBRATORS.make("matrix").fit_on(predictions), predictions)
    cells, line, dots = cc.figures.fitted_parameters(matrix).data
    weights = matrix.grids[0].values
    assert len(cells.x) == weights.size
    assert f"{weights[0, 1]:.4g}" in cells.hovertext[1]
    # Equal weights have equal colors, and the middle of the scale changes nothing.
    colours = np.array(cells.marker.color).reshape(weights.shape)
    assert colours[0, 0] != colours[0, 1]
    np.testing.assert_array_equal(dots.x, matrix.grids[1].values[:, 0])
    assert line.x == (0.0, 0.0)
    chosen = cc.CALIBRATORS.make("lece", cross_validate=True).fit_on(predictions)
    figure = cc.figures.fitted_parameters(cc.diagrams.fitted_parameters(chosen))
    (framed,) = figure.layout.shapes
    row, column = cc.diagrams.fitted_parameters(chosen).grids[0].chosen
    assert (framed.x0, framed.y0, framed.xref, framed.yref) == (column - 0.5, row - 0.5, "x", "y")
    assert [_frame(panel, 0, 0)["xref"] for panel in range(3)] == ["x", "x2", "x3"]
    with pytest.raises(cc.NotAnswerable, match="this fit has only"):
        cc.figures.fitted_parameters(
            cc.diagrams.fitted_parameters(cc.CALIBRATORS.make("temperature").fit_on(predictions))
        )


def test_many_weights_are_one_image() -> None:
    rng = np.random.default_rng(0)
    many = Predictions(rng.dirichlet(np.ones(45), 200), rng.integers(0, 45, 200))
    figure = cc.figures.fitted_parameters(
        cc.diagrams.fitted_parameters(cc.CALIBRATORS.make("matrix").fit_on(many), many)
    )
    (image,) = figure.layout.images
    assert (image.sizex, image.sizey) == (45, 45)
    assert sum(len(trace.x) for trace in figure.data) < 200


def test_names_of_classes_and_models_stay_text(predictions: Predictions) -> None:
    fitted = cc.CALIBRATORS.make("matrix").fit_on(predictions)
    moved = cc.diagrams.movement(predictions, fitted.apply(predictions))
    drawn = (
        cc.figures.fitted_parameters(cc.diagrams.fitted_parameters(fitted, predictions)),
        cc.figures.movement(moved, titles=("<b>a</b>", HOSTILE[0])),
    )
    for figure in drawn:
        spec = figure.to_plotly_json()
        for trace in spec["data"]:
            trace.pop("customdata", None)
        assert "<a" not in str(spec)
        assert "<b>b</b>" not in str(spec)


def test_before_and_after_of_an_event_are_of_the_same_rows_and_its_risk():
    rng = np.random.default_rng(4)
    risk = rng.beta(1.9, 4.7, 1500)
    died = (rng.random(1500) < risk / 2).astype(int)
    base = cc.Predictions(np.column_stack([1 - risk, risk]), died)
    diagram = cc.diagrams.movement(base, base.with_probs(np.column_stack([1 - risk / 2, risk / 2])), notion="event")
    steps = diagram.steps(10)
    np.testing.assert_allclose(steps["confidence_after"], steps["confidence"] / 2)
    np.testing.assert_array_equal(steps["accuracy_after"], steps["accuracy"])
    assert diagram.before.count.sum() == diagram.after.count.sum() == 1500
    figure = cc.figures.movement(diagram)
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("Predicted risk", "Observed frequency")
    assert figure.layout.yaxis.range[1] < 0.95, "the range of the data"
    inside = [x for trace in figure.data[2:] for x in trace.x if x is not None and x == x]
    assert max(inside) <= figure.layout.xaxis.range[1]


def test_a_temperature_moves_the_risk_of_the_same_rows():
    risk = np.random.default_rng(5).uniform(0.02, 0.6, 300)
    base = cc.Predictions(np.column_stack([1 - risk, risk]), np.arange(300) % 4 == 0)
    path = cc.diagrams.temperature_path(base, also=(1.7,), notion="event")
    after = base.with_probs(
        np.column_stack([1 - (soft := risk ** (1 / 1.7) / (risk ** (1 / 1.7) + (1 - risk) ** (1 / 1.7))), soft])
    )
    marks = cc.diagrams.movement(base, after, notion="event").after.frame()
    mine = path.frame().query("temperature == 1.7")
    np.testing.assert_allclose(mine["confidence"], marks["confidence"])
    np.testing.assert_array_equal(mine["accuracy"], marks["accuracy"])


def test_every_model_of_a_risk_is_drawn_and_from_three_on_in_a_panel():
    risk = np.random.default_rng(6).beta(1.9, 4.7, 400)
    rows = cc.Predictions(np.column_stack([1 - risk, risk]), np.arange(400) % 8 == 0)
    models = {name: cc.diagrams.risk_diagram(rows) for name in ("base", "a", "b")}
    two = cc.figures.risk_diagram({name: models[name] for name in ("base", "a")})
    three = cc.figures.risk_diagram(models)
    for figure in (two, three):
        known = [trace.uid for trace in figure.data if trace.uid is not None]
        assert all(uid.replace("-", "").isalnum() for uid in known), "Plotly makes CSS selectors of them"
        assert len(set(known)) == len(known)
    for figure, titles in ((two, ("base", "a")), (three, tuple(models))):
        stars = {record["model"] for trace in figure.data for record in trace.customdata or () if record}
        assert stars == set(titles)
    assert {trace.xaxis for trace in three.data} == {"x", "x2", "x3"}
    assert {column["axis"] for column in three.layout.meta["columns"]} == {"x", "x2", "x3"}


def test_axes_of_a_risk_follow_bins_of_rows_enough_and_others_are_kept_at_the_edge():
    risk = np.r_[np.random.default_rng(7).uniform(0.02, 0.3, 400), 0.9, 0.91]
    rows = cc.Predictions(np.column_stack([1 - risk, risk]), np.r_[np.arange(400) % 8 == 0, True, True])
    figure = cc.figures.risk_diagram(cc.diagrams.risk_diagram(rows))
    top = figure.layout.yaxis.range[1]
    assert top < 0.5
    (edge,) = [trace for trace in figure.data if (trace.uid or "").startswith("beyond")]
    assert max(edge.y) <= top
    assert edge.customdata[0]["observed"] == 1.0
