"""The simplex view: it shows the computed numbers, follows clicks and links, and reports its limits."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import BINNINGS, CALIBRATORS, Predictions, Recipe, diagrams, figures
from calib_core.figures.recalibration import cells_at
from calib_core.figures.triangle import from_xy, to_xy
from calib_core.inference import estimate_line
from calib_core.inference.verdicts.estimate_line import ROUGH_GUIDE
from dashboard import session, widgets
from dashboard.chart import drawn, slot
from dashboard.chart.click import Click
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.columns import written
from dashboard.export import csv_bytes
from dashboard.schemes import simplex_schemes
from dashboard.selection import Selection, Source
from tests.dashboard.test_views import opened

THREE = Source(data="demo:synthetic-three-class")
SEVEN = Source(data="demo:imbalanced-forest")
GRID = Recipe("BINNINGS", "grid")


def said(app: AppTest) -> str:
    return " ".join(m.value for m in (*app.markdown, *app.caption, *app.info, *app.warning)).replace("\\", "")


def table(app: AppTest, column: str) -> pd.DataFrame:
    """Return the first table on screen that has such a column."""
    return next(shown.value for shown in app.dataframe if column in shown.value.columns)


def link(app: AppTest) -> dict[str, str]:
    """Return the query string; the test harness stores given parameters as text, and written ones as lists."""
    return {name: v if isinstance(v, str) else v[0] for name, v in app.query_params.items()}


def path_of(figure: dict, name: str) -> np.ndarray:  # type: ignore[type-arg]
    trace = next(t for t in figure["data"] if t.get("name") == name)
    return np.column_stack([trace["x"], trace["y"]]).reshape(-1, 6, 2)


# -- the figure -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def diagram() -> diagrams.RecalibrationDiagram:
    data = cc.datasets.valk_kull(1500, random_state=1).predictions
    named = Predictions(data.probs, data.true_labels, class_names=["<b>b</b>", "%{x} c", "plain"])
    return diagrams.recalibration("grid", *named.split(0.4, random_state=0))


@pytest.mark.parametrize("min_rows", [1, 25])
def test_arrows_are_the_frames_of_the_cells_with_enough_rows(
    diagram: diagrams.RecalibrationDiagram, min_rows: int
) -> None:
    figure = figures.recalibration(diagram, min_rows=min_rows)
    frame = diagram.frame()
    enough = frame[(frame["count"] >= min_rows) & (frame["fit_count"] >= min_rows)]
    assert (len(enough) < len(frame)) == (min_rows > 1)
    path = path_of({"data": [t.to_plotly_json() for t in figure.data]}, "arrows")
    ends = [[f"{end} {name}" for name in diagram.class_names] for end in ("mean", "target")]
    np.testing.assert_allclose(from_xy(path[:, 0]), enough[ends[0]], atol=1e-12)
    np.testing.assert_allclose(from_xy(path[:, 1]), enough[ends[1]], atol=1e-12)


def test_marks_say_their_cell_and_no_name_becomes_markup(diagram: diagrams.RecalibrationDiagram) -> None:
    figure = figures.recalibration(diagram, min_rows=10, selected=2)
    for trace in (t for t in figure.data if t.name == "places"):
        (cell,) = {mark["cell"] for mark in trace.customdata}
        around = cells_at(np.column_stack([trace.x, trace.y]).astype(float), diagram)
        assert set(around.tolist()) == {cell}
        assert f"{int(diagram.count[cell])} test rows" in trace.meta
        assert "<b>b</b>" not in trace.meta
        assert "&lt;b&gt;" in trace.meta
    means = next(t for t in figure.data if t.name == "cell means")
    np.testing.assert_allclose(from_xy(np.column_stack([means.x, means.y])), diagram.mean, atol=1e-12)
    assert list(means.customdata) == [{"cell": b} for b in range(len(diagram.count))]
    chosen = next(t for t in figure.data if t.name == "chosen cell")
    np.testing.assert_allclose(from_xy(np.column_stack([chosen.x, chosen.y])[:3]), diagram.outlines[2][0], atol=1e-12)


def pointed_at(figure: Any, places: Any) -> Any:
    """Return the cell of the mark nearest to each place, as Plotly finds it."""
    marks = [t for t in figure.data if t.customdata is not None]
    at = np.concatenate([np.column_stack([t.x, t.y]) for t in marks])
    cells = np.array([mark["cell"] for t in marks for mark in t.customdata])
    radius = np.concatenate([np.full(len(t.x), max(t.marker.size / 2, 3)) for t in marks]) / 312
    away = np.sqrt(((places[:, None] - at[None]) ** 2).sum(axis=-1)) - radius
    return cells[away.argmin(axis=1)]


@pytest.mark.parametrize("key", simplex_schemes())
def test_a_place_belongs_to_the_cell_around_it(key: str) -> None:
    parts = session.parts(THREE)
    made = diagrams.recalibration(key, parts.fit, parts.test)
    np.testing.assert_array_equal(cells_at(to_xy(made.points), made), made.cells)
    # A click anywhere, also near an edge, finds its cell, except within a pixel or two of an edge.
    places = to_xy(np.random.default_rng(0).dirichlet((1, 1, 1), 1500))
    cells = cells_at(places, made)
    inside, figure = cells >= 0, figures.recalibration(made)
    assert (pointed_at(figure, places[inside]) == cells[inside]).mean() > 0.98
    corners = [to_xy(polygon) for cell in made.all_outlines for polygon in cell]
    for shift in (0.01, -0.01):  # three pixels from the middles of edges
        aside = np.array([shift, shift / 2])
        middles = np.concatenate([(c + np.roll(c, -1, axis=0)) / 2 + aside for c in corners])
        known = cells_at(middles, made)
        assert (pointed_at(figure, middles[known >= 0]) == known[known >= 0]).mean() > 0.95


def test_no_place_belongs_to_a_cell_without_rows_or_to_one_that_is_a_point() -> None:
    fit = Predictions([[1.0, 0.0, 0.0]] * 20 + [[0.4, 0.3, 0.3]] * 20, [0, 1] * 20)
    made = diagrams.recalibration("sierpinski", fit, fit)
    around = cells_at(to_xy([[0.9, 0.06, 0.04], [0.34, 0.33, 0.33], [0.02, 0.96, 0.02]]), made)
    assert [made.places[b] if b >= 0 else "" for b in around] == ["0 > 0", "middle", ""]
    point = dataclasses.replace(made, outlines=((np.array([[1.0, 0.0, 0.0]] * 3),), *made.outlines[1:]))
    assert cells_at(to_xy([[0.9, 0.06, 0.04]]), point).tolist() == [-1]


# -- the view -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", simplex_schemes())
def test_every_partition_is_drawn_with_its_arrows_and_its_error(key: str) -> None:
    scheme = Recipe("BINNINGS", key)
    app = opened(Selection(source=THREE, view="simplex", partitions=(scheme,)))
    assert not app.error
    parts = session.parts(THREE)
    made = diagrams.recalibration(scheme.build(), parts.fit, parts.test)
    path = path_of(drawn(app)["simplex-0"].figure, "arrows")
    np.testing.assert_allclose(from_xy(path[:, 0]), made.mean[made.holding(10)], atol=1e-12)
    np.testing.assert_allclose(from_xy(path[:, 1]), made.target[made.holding(10)], atol=1e-12)
    cells = table(app, "bound")
    assert cells["model"].unique().tolist() == [session.Model(THREE).title]
    pd.testing.assert_frame_equal(cells.drop(columns="model"), made.frame(), check_exact=True)
    np.testing.assert_array_equal(cells["length"], np.abs(made.target - made.mean).sum(axis=1))
    errors = table(app, "norm")
    assert errors["norm"].tolist() == ["L1", "L2"]
    for (_, shown), estimator in zip(errors.iterrows(), ("ece", "rmsce"), strict=True):
        line = estimate_line(cc.estimate(parts.test, "canonical", estimator, scheme.build())).record()
        names = ("value", "point", "low", "high", "floor", "p", "about", "tested", "note")
        assert {name: shown[name] for name in names} == {name: line[name] for name in names}
    pair = drawn(app)["simplex-validity"].figure["data"]
    by_cell = CALIBRATORS.make(key).fit_on(parts.fit)
    expected = diagrams.canonical_validity(parts.test, by_cell.apply(parts.test), scheme.build(), parts.fit)
    np.testing.assert_allclose(pair[0]["x"][1:], expected.before.eps)
    np.testing.assert_allclose(pair[1]["y"][1:], expected.after.share)


def test_an_interval_that_was_not_simulated_says_so() -> None:
    test = session.parts(THREE).test
    weights = np.linspace(0.5, 1.5, test.n_rows)
    for many, guide in ((None, False), (weights, True)):
        data = io.BytesIO()
        arrays: dict[str, Any] = {} if many is None else {"weights": many}
        np.savez(data, probs=test.probs, labels=test.true_labels, **arrays)
        reading = '{"weights":"weights"}' if guide else ""
        source = Source(data=session.hold(data.getvalue(), f"guide-{guide}.npz").key, reading=reading)
        scene = session.scene_of(Selection(source=source))
        assert (scene.get(scene.model.predictions).weights is not None) == guide
        exhibit = EXHIBITS.make("canonical-errors")
        frame = scene.get(exhibit.table(scene))
        assert ("*" in "".join(written(frame, exhibit.columns(frame))[0])) == guide
        assert (ROUGH_GUIDE in exhibit.words(scene).notes) == guide


def test_the_line_without_cells_is_explained_where_it_is_shown() -> None:
    wine = Selection(source=Source(data="demo:wine-logistic", by="share"))
    scene = session.scene_of(wine)
    plain, more = (EXHIBITS.make("canonical-errors", smoothed=wanted) for wanted in (False, True))
    assert len(scene.get(more.table(scene))) == len(scene.get(plain.table(scene))) + 1
    assert "Without cells" in more.words(scene).caption
    assert "Without cells" not in plain.words(scene).caption


def test_cells_that_have_no_bound_say_why() -> None:
    held = io.BytesIO()
    np.savez(held, probs=np.tile([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], (100, 1)), labels=np.arange(200) % 3)
    source = Source(data=session.hold(held.getvalue(), "tied.npz").key, by="share")
    note = "There is no bound here"
    for key, noted in (("projection", True), ("grid", False)):
        app = opened(Selection(source=source, view="simplex", partitions=(Recipe("BINNINGS", key),)))
        assert (note in said(app)) == noted


def test_maps_of_all_ticked_calibrators_stand_beside_the_true_one() -> None:
    ticked = tuple(Recipe("CALIBRATORS", key) for key in ("temperature", "class-wise-hb", "top-label-hb"))
    app = opened(Selection(source=THREE, view="simplex", calibrators=ticked, partitions=()))
    figure = drawn(app)["simplex-maps"].figure
    titles = [a["text"] for a in figure["layout"]["annotations"]]
    assert titles == ["<b>Temperature scaling</b>", "<b>Class-wise histogram binning</b>", "<b>True map</b>"]
    parts = session.parts(THREE)
    map_ = diagrams.calibration_map(ticked[0].build().fit_on(parts.fit))
    path = path_of(figure, "arrows of Temperature scaling")
    np.testing.assert_allclose(from_xy(path[:, 1]), map_.to, atol=1e-12)
    assert "Top-label histogram binning: this calibrator predicts only the top class" in said(app)
    assert "drawn divided by their sum" in said(app)
    truth = diagrams.true_map(cc.datasets.true_valk_kull, class_names=parts.test.class_names or ())
    wrong = drawn(app)["simplex-wrong"].figure
    assert len(wrong["layout"]["annotations"]) == 2
    path = path_of(wrong, "arrows of Temperature scaling minus truth")
    np.testing.assert_allclose(from_xy(path[:, 1]), map_.start + map_.to - truth.to, atol=1e-12)


def test_a_map_keeps_its_colours_when_another_calibrator_is_ticked() -> None:
    scales, pictures = set(), set()
    for keys in ((), ("dirichlet",), ("dirichlet", "class-wise-hb", "vector")):
        ticked = tuple(Recipe("CALIBRATORS", key) for key in ("temperature", *keys))
        scene = session.scene_of(Selection(source=THREE, calibrators=ticked))
        exhibit = EXHIBITS.make("calibration-maps")
        pictures.add(scene.get(exhibit.figure(scene)).layout.images[0].source)
        scales.add(exhibit.words(scene).caption.partition("Full color: ")[2])
        wrong = EXHIBITS.make("calibration-maps", wrong=True).words(scene).caption
        scales.add(wrong.partition("Full color: ")[2])
    assert len(pictures) == 1
    assert scales == {"a change of 20 % or more, on the same scale in all maps."}


def test_the_triangle_stands_beside_its_maps_with_names_at_the_corners() -> None:
    app = opened(Selection(source=THREE, view="simplex"))
    charts = list(drawn(app))
    assert charts[:2] == ["simplex-0", "simplex-maps"]
    assert drawn(app)["simplex-0"].height <= 450
    names = drawn(app)["simplex-0"].trace("corners")
    corners = to_xy(np.eye(3))
    away = np.hypot(*(np.column_stack([names["x"], names["y"]]) - corners).T)
    assert (away < 0.05).all()


def test_a_click_takes_a_cell_apart() -> None:
    app = opened(Selection(source=THREE, view="simplex", partitions=(GRID,)))
    app.session_state[slot("simplex-0")] = Click(0, 0, {"cell": 4}, 0.5, 0.5, 1)
    app.run()
    assert not app.exception
    parts = session.parts(THREE)
    made = diagrams.recalibration("grid", parts.fit, parts.test)
    rows = table(app, "row")
    np.testing.assert_array_equal(rows["row"], parts.test_rows[made.rows(4)])
    np.testing.assert_allclose(rows["P(B)"], parts.test.probs[made.rows(4), 1])
    assert link(app)["cell"] == "4"
    assert "chosen cell" in [t.get("name") for t in drawn(app)["simplex-0"].figure["data"]]


def test_three_classes_of_many_are_chosen_and_said() -> None:
    app = opened(Selection(source=SEVEN, view="simplex"))
    names = session.parts(SEVEN).test.class_names
    assert names is not None
    corners = [box for box in app.selectbox if "corner" in box.label]
    confused = cc.predictions.three_classes.most_confused_three(session.parts(SEVEN).fit)
    assert [box.value for box in corners] == list(confused)
    assert "and 4 others)" in said(app)
    # A class chosen twice changes places.
    corners[0].set_value(confused[1]).run()
    assert not app.exception
    a, b, c = confused
    assert link(app)["three"] == f"{b},{a},{c},pool"
    next(box for box in app.selectbox if box.label == "The other classes").set_value("condition").run()
    assert not app.exception
    assert link(app)["three"] == f"{b},{a},{c},condition"
    assert "rows are of other classes and left out" in said(app)


def test_calibrators_are_fitted_on_the_three_corners() -> None:
    selection = Selection(source=SEVEN, view="simplex", three="1,0,2,pool", partitions=())
    app = opened(selection)
    fit = cc.calls.corners(session.parts(SEVEN).fit, (1, 0, 2), "pool").predictions
    map_ = diagrams.calibration_map(CALIBRATORS.make("temperature").fit_on(fit))
    path = path_of(drawn(app)["simplex-maps"].figure, "arrows of Temperature scaling")
    np.testing.assert_allclose(from_xy(path[:, 1]), map_.to, atol=1e-12)


def test_copied_lines_and_commands_of_three_corners_give_the_tables_on_screen() -> None:
    """Corners, partitions, rows for an arrow and the focused cell are all in the copied text."""
    app = opened(Selection(source=SEVEN, view="simplex", three="1,0,2,condition", partitions=(GRID,), cell=3))
    tables = {column: table(app, column) for column in ("bound", "norm", "eps", "map", "row")}
    lines = [block.value for block in app.code if block.language == "python"]
    commands = [shlex.split(block.value)[1:] for block in app.code if block.language == "sh"]
    assert len(lines) == len(commands) == len(tables)
    for text, words in zip(lines, commands, strict=True):
        names: dict[str, Any] = {}
        exec(compile(text, "copied", "exec"), names)
        column = next(column for column in tables if column in names["table"])
        # Booleans are shown on screen as words.
        shown, wanted = tables.pop(column), names["table"]
        words_of = {
            name: {True: "yes", False: "no"} for name in wanted.select_dtypes(bool) if shown[name].dtype != bool
        }
        wanted = wanted.assign(**{name: wanted[name].map(said_as) for name, said_as in words_of.items()})
        pd.testing.assert_frame_equal(shown, wanted, check_exact=True, check_dtype=False)
        answer = CliRunner().invoke(main, [*words, "--format", "csv"])
        assert answer.stdout == csv_bytes(names["table"]).decode(), words


def test_a_model_that_answers_for_the_predicted_class_only_gives_way_to_the_base_model() -> None:
    ticked = (Recipe("CALIBRATORS", "top-label-hb"), Recipe("CALIBRATORS", "temperature"))
    selection = Selection(source=THREE, calibrators=ticked)
    for model, shown in ((ticked[0].title, session.BASE.title), (ticked[1].title, ticked[1].title)):
        scene = session.scene_of(selection.replace(model=model))
        frame = scene.get(EXHIBITS.make("triangle").table(scene))
        assert frame["model"].unique().tolist() == [shown]
    parts = session.parts(THREE)
    fitted = CALIBRATORS.make("temperature").fit_on(parts.fit)
    made = diagrams.recalibration("grid", fitted.apply(parts.fit), fitted.apply(parts.test))
    pd.testing.assert_frame_equal(frame.drop(columns="model"), made.frame(), check_exact=True)


def test_links_say_how_many_rows_an_arrow_needs() -> None:
    selection, problems = Selection.from_query({"exhibits": '[{"key":"triangle","params":{"min_rows":30}}]'})
    assert (selection.exhibit("triangle").params, problems) == ((("min_rows", 30),), ())
    fine = BINNINGS.described("grid", cells=10)
    app = opened(selection.replace(data=THREE.data, view="simplex", partitions=(fine,)))
    parts = session.parts(THREE)
    made = diagrams.recalibration(fine.build(), parts.fit, parts.test)
    assert 0 < made.holding(30).sum() < made.holding(10).sum()
    path = path_of(drawn(app)["simplex-0"].figure, "arrows")
    np.testing.assert_allclose(from_xy(path[:, 1]), made.target[made.holding(30)], atol=1e-12)
    slider = next(s for s in app.slider if "arrow" in s.label)
    assert slider.value == 30
    slider.set_value(10).run()
    assert not app.exception
    assert "exhibits" not in link(app)


@pytest.mark.parametrize(
    ("demo", "why"),
    [("breast-cancer-svm", "there are only two classes"), ("language-model", "probabilities of other classes")],
)
def test_what_is_no_triangle_says_so_in_one_sentence(demo: str, why: str) -> None:
    app = opened(Selection(source=Source(data=f"demo:{demo}"), view="simplex"))
    assert not app.error
    assert why in said(app)
    assert not [key for key in drawn(app) if key.startswith("simplex")]


def test_a_chosen_partition_can_be_taken_away() -> None:
    two = (GRID, Recipe("BINNINGS", "sierpinski"))
    app = opened(Selection(source=THREE, view="simplex", partitions=two, part=1, cell=2))
    for keys in (["sierpinski"], ["grid", "sierpinski"], ["grid"], []):
        next(g for g in app.button_group if "Partitions" in g.label).set_value(keys).run()
        assert not app.exception
        assert sum(key[:-1] == "simplex-" for key in drawn(app)) == len(keys)
        headings = {element.value for element in app.markdown} & {f"#### {BINNINGS[key].title}" for key in keys}
        assert len(headings) == (len(keys) if len(keys) > 1 else 0)
        assert int(link(app).get("part", "0")) in (0, 1)


def test_the_label_of_an_option_that_is_gone_is_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit reports this in a browser, though not in its own test harness."""
    monkeypatch.setattr(widgets, "tied", lambda key, value, chosen: {"chosen": chosen})
    got: list[object] = []
    report = widgets.tied_to(range(2), "part", 0, got.append)["chosen"]
    for value in ("1: Grid", 1, None):
        report(value)
    assert got == [1]


def test_corners_without_rows_say_so_and_can_be_changed() -> None:
    held = io.BytesIO()
    np.savez(held, probs=np.tile([0.3, 0.1, 0.2, 0.2, 0.2], (40, 1)), labels=np.arange(40) % 2)
    source = Source(data=session.hold(held.getvalue(), "two-of-five.npz").key, by="share")
    app = opened(Selection(source=source, view="simplex", three="2,3,4,condition"))
    assert "no row of the classes 2, 3, 4 has a positive probability" in said(app)
    next(box for box in app.selectbox if box.label == "First corner, top").set_value(0).run()
    assert not app.exception
    assert link(app)["three"] == "0,3,4,condition"
    assert "simplex-0" in drawn(app)


def test_all_choices_are_in_the_link() -> None:
    twice = (
        BINNINGS.described("projection", bins=9, directions="random"),
        BINNINGS.described("projection", bins=9),
        GRID,
    )
    selection = Selection(
        source=SEVEN, view="simplex", three="1,0,2,condition", partitions=twice, part=1, cell=3
    ).with_exhibit(EXHIBITS.described("triangle", min_rows=30))
    assert Selection.from_query(selection.to_query()) == (selection, ())
    app = opened(selection)
    assert [key for key in drawn(app) if key.startswith("simplex-") and key[-1].isdigit()] == [
        "simplex-1",
        "simplex-0",
        "simplex-2",
    ]
    assert link(app) == selection.to_query()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("three", "1,2,pool"),
        ("three", "1,2,3,drop"),
        ("three", "-1,2,3,pool"),
        ("partitions", '[{"key":"equal-width"}]'),
        ("partitions", "7"),
        ("cell", "-2"),
    ],
)
def test_what_a_link_cannot_ask_is_left_out(name: str, text: str) -> None:
    selection, problems = Selection.from_query({name: text})
    assert selection == Selection()
    assert len(problems) == 1


@pytest.mark.parametrize(("k", "others"), [(10, "pool"), (11, "condition")])
def test_above_ten_classes_the_other_classes_are_left_out_unless_chosen(k: int, others: str) -> None:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(k, 0.3), 600)
    buffer = io.BytesIO()
    np.savez(buffer, probs=probs, labels=rng.integers(0, k, 600))
    source = Source(data=session.hold(buffer.getvalue(), f"{k}.npz").key)
    confused = cc.predictions.three_classes.most_confused_three(session.parts(source).fit)
    assert session.triangle(source, "").corners == ",".join([*map(str, confused), others])
    assert session.triangle(source, "0,1,2,pool").corners == "0,1,2,pool"


def test_corners_that_do_not_exist_give_way_to_the_most_confused_classes() -> None:
    confused = cc.predictions.three_classes.most_confused_three(session.parts(SEVEN).fit)
    for three in ("0,1,77,pool", ""):
        assert session.triangle(SEVEN, three).corners == ",".join([*map(str, confused), "pool"])
    assert session.triangle(SEVEN, "6,5,4,pool").corners == "6,5,4,pool"
    assert session.triangle(THREE, "0,1,2,condition") == THREE


@pytest.mark.parametrize("others", cc.predictions.three_classes.OTHERS)
def test_rows_of_three_corners_know_where_they_stand_in_the_file(others: str) -> None:
    whole = session.whole(SEVEN.data, "")
    parts = session.parts(session.triangle(SEVEN, f"1,0,2,{others}"))
    for made, rows in ((parts.fit, parts.fit_rows), (parts.test, parts.test_rows)):
        np.testing.assert_array_equal(made.true_labels, np.array([1, 0, *[2] * 5])[whole.true_labels[rows]])
        if others == "condition":
            assert set(whole.true_labels[rows].tolist()) == {0, 1, 2}


PAGE = (Path(__file__).parents[2] / "docs/how-to/three-classes.md").read_text(encoding="utf-8")
LINKS = dict(re.findall(r"\[([^]]+)\]\((http://localhost:8501/[^)]+)\)", PAGE))
P1 = {
    "Sierpinski": "Sierpinski triangles",
    "grid": "Grid",
    "projections": "Projections",
    "random projections": "Projections (directions of planes: at random)",
}
P3 = ("H-LECD", "H-LECE", "temperature scaling", "Dirichlet calibration", "LECE")


def asked(name: str) -> Selection:
    """Return the choices of a link in the documentation."""
    selection, problems = Selection.from_query(dict(parse_qsl(urlsplit(LINKS[name]).query)))
    assert problems == ()
    return selection


def test_every_link_of_the_page_asks_for_what_it_names() -> None:
    four = asked("all four")
    assert [one.title for one in four.partitions] == list(P1.values())
    assert [asked(name).partitions for name in P1] == [(one,) for one in four.partitions]
    schemes = [one.build() for one in four.partitions]
    settings = [schemes[0].depth, schemes[1].cells, schemes[2].bins, schemes[3].bins]
    assert settings == [2, 5, 27, 27], "as the paper's caption says"
    six = asked("six calibration maps next to the true one")
    assert [asked(name).calibrators for name in P3] == [(one,) for one in six.calibrators]
    assert len(LINKS) == len(P1) + len(P3) + 2


@pytest.mark.parametrize(("name", "panels"), [("all four", 4), ("six calibration maps next to the true one", 6)])
def test_the_papers_figures_open_from_the_links_of_the_page(name: str, panels: int) -> None:
    charts = drawn(opened(asked(name)))
    if "simplex-maps" in charts:
        titles = [a["text"] for a in charts["simplex-maps"].figure["layout"]["annotations"]]
        assert len(set(titles)) == panels
        assert titles[-1] == "<b>True map</b>"
    else:
        assert [f"simplex-{i}" for i in range(panels)] == [key for key in charts if key[-1].isdigit()]
        corners = next(t["text"] for t in charts["simplex-0"].figure["data"] if t.get("name") == "corners")
        assert [re.sub("</?b>|<br>", "", text) for text in corners] == [
            "class 1",
            "class 2",
            "any other class",
        ]


def test_one_calibrator_with_two_settings_is_two_models() -> None:
    one, two = (CALIBRATORS.described("dirichlet", off_diagonal=v, intercept=v) for v in (0.0, 10.0))
    app = opened(Selection(source=THREE, view="simplex", calibrators=(one, two), partitions=()))
    titles = [a["text"] for a in drawn(app)["simplex-maps"].figure["layout"]["annotations"]]
    assert len(set(titles)) == 3
    held = json.loads(link(app)["calibrators"])
    assert [item["params"]["intercept"] for item in held] == [0.0, 10.0]
    # Un-ticking it takes both away.
    pills = next(g for g in app.button_group if "Calibrators" in g.label)
    pills.set_value([]).run()
    assert not app.exception
    assert link(app)["calibrators"] == "[]"
