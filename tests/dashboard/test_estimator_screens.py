"""Kernel curves of one class, per-class validity and tests, the trade-off and the simulated tables, as shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shown_models import judged
from streamlit.testing.v1 import AppTest

from calib_core import ESTIMATORS, Predictions, Recipe, diagrams, figures
from calib_core.estimators import SCALES
from calib_core.estimators.kernel_ece import KernelECE
from calib_core.evaluation.study import stacked
from calib_core.inference import coverage_table, primary, rejection_table
from calib_core.smoothing import BetaKernel, Fixed, Linear
from dashboard import session
from dashboard.chart import drawn
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.columns import written
from dashboard.exhibits.fitted_curves import KernelReliability
from dashboard.selection import Selection, Source
from tests.dashboard.test_views import opened

WINE = Source(data="demo:wine-logistic")
BINS = Recipe("CALIBRATORS", "class-wise-hb")


def sample(n: int = 300) -> Predictions:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), n)
    return Predictions(p, (rng.random(n)[:, None] > p.cumsum(1)[:, :2]).sum(1), class_names=["a", "b", "c"])


# -- figures --------------------------------------------------------------------------------------------------


def smoothed(**params: object) -> Recipe:
    """Return the recipe of smoothing with these changes."""
    return ESTIMATORS.described("ece-kde", **(dict(ESTIMATORS.recipe(diagrams.KERNEL_CURVE).params) | params))


@pytest.mark.parametrize("scale", list(SCALES))
def test_the_kernel_figure_draws_the_frame_and_the_distance_at_a_score(scale: str) -> None:
    curve = diagrams.kernel_curve(sample(), "class-wise", 1, smoothed(scale=scale).build())
    figure = figures.kernel_curve(curve, score=0.4)
    frame = curve.frame()
    traces = {trace.name: trace for trace in figure.data if trace.name}
    np.testing.assert_array_equal(traces["kernel curve"].y, frame["curve"])
    assert {*frame["lower"].dropna(), *frame["upper"].dropna()} == set(traces["pointwise 90 % band"].y)
    np.testing.assert_array_equal(traces[f"density of the scores (per {curve.unit})"].customdata, frame["density"])
    assert list(traces["local calibration error"].y) == [0.4, curve.value(0.4)]
    apart = Predictions.from_confidence([0.1, 0.9], [True, False])
    outside = figures.kernel_curve(diagrams.kernel_curve(apart, method=KernelECE(bandwidth=Fixed())), score=0.5)
    assert "local calibration error" not in {trace.name for trace in outside.data}


def test_the_trade_figure_draws_a_curve_a_calibrator_and_a_point_a_model() -> None:
    made = diagrams.trade_off(sample(), ["histogram", "scaling-binning"], bins=[2, 5], repeats=1)
    figure = figures.trade_off(made, points={"Original model": (0.01, 0.2)}, claims="class-wise")
    for i, title in enumerate(made.titles):
        np.testing.assert_array_equal(figure.data[i].x, made.error[i])
        np.testing.assert_array_equal(figure.data[i].y, made.mse[i])
        assert [mark["bins"] for mark in figure.data[i].customdata] == [2, 5]
        assert figure.data[i].name == f"{title}, 2 to 5 bins"
    assert (figure.data[2].x, figure.data[2].y) == ((0.01,), (0.2,))
    assert "class-wise" in figure.layout.xaxis.title.text
    assert len(figures.trade_off(points={"Original model": (0.01, 0.2)}).data) == 1


# -- screens --------------------------------------------------------------------------------------------------


def test_kernel_bandwidth_scale_and_band_are_chosen_beside_the_curve_and_kept_in_the_link() -> None:
    app = opened(Selection(view="curves", about="kernel-curve"))
    for part, key in (("kernel", "beta"), ("bandwidth", "silverman"), ("scale", "score"), ("bandwidth", "fixed")):
        app.selectbox(key=f"exhibit.kernel-curve.kernel.ece-kde.{part}.key").select(key).run()
        assert not app.exception
    app.number_input(key="exhibit.kernel-curve.kernel.ece-kde.bandwidth.fixed.value").set_value(0.08).run()
    app.selectbox(key="exhibit.kernel-curve.band").select("whole-curve").run()
    chosen, problems = Selection.from_query({"exhibits": app.query_params["exhibits"]})
    assert not problems
    method = KernelECE(BetaKernel(), Fixed(0.08), Linear(), "gaps")
    assert chosen.exhibit("kernel-curve").build() == KernelReliability(method, "whole-curve")
    curve = diagrams.kernel_curve(session.parts(Selection().source).test, method=method, band="whole-curve")
    np.testing.assert_array_equal(drawn(app)["kernel-curve"].trace("kernel curve")["y"], curve.curve)
    assert drawn(app)["kernel-curve"].trace("90 % band for the whole curve") is not None
    again = opened(chosen.replace(view="curves", about="kernel-curve"))
    np.testing.assert_array_equal(drawn(again)["kernel-curve"].trace("kernel curve")["y"], curve.curve)


def test_the_papers_curve_is_a_choice() -> None:
    for key, options in (("reliability", {"overlay": "kernel"}), ("kernel-curve", {})):
        described = EXHIBITS.described(key, kernel=Recipe("ESTIMATORS", "ece-kde"), **options)
        scene = session.scene_of(Selection().with_exhibit(described))
        exhibit = described.build()
        figure = scene.get(exhibit.figure(scene))
        paper = diagrams.kernel_curve(session.parts(Selection().source).test, method=KernelECE())
        (line,) = (trace for trace in figure.data if trace.name == "kernel curve")
        np.testing.assert_array_equal(line.y, paper.curve)


@pytest.mark.parametrize("text", ['{"key":"ece"}', "[]", '{"key":"ece-kde","params":{"scale":"miles"}}', "{"])
def test_a_link_with_a_kernel_that_is_none_says_so(text: str) -> None:
    wanted = f'[{{"key":"kernel-curve","params":{{"kernel":{text}}}}}]'
    chosen, (problem,) = Selection.from_query({"exhibits": wanted})
    assert chosen == Selection()
    assert problem.startswith("The link's exhibits was left out: ")


@pytest.mark.parametrize("key", ["reliability", "corp"])
@pytest.mark.parametrize("band", ["pointwise", "whole-curve", "none"])
def test_the_isotonic_curve_has_the_band_chosen_and_says_what_it_is_about(band: str, key: str) -> None:
    described = EXHIBITS.described(key, band=band, **({"overlay": "corp"} if key == "reliability" else {}))
    scene, exhibit = session.scene_of(Selection()), described.build()
    words = exhibit.words(scene)
    names = [trace.name for trace in scene.get(exhibit.figure(scene)).data]
    assert "CORP curve" in names
    if band == "none":
        assert not any("band" in (name or "") for name in names)
        assert not any("bands hold" in note for note in words.notes)
    else:
        steps = diagrams.corp_band(session.parts(Selection().source).test, band=band)
        assert steps.band_title in names
        assert names.index(steps.band_title) < names.index("CORP curve"), "the curve is drawn over its band"
        assert any(steps.about in note for note in words.notes)


def test_weighted_rows_have_an_isotonic_curve_and_say_why_it_has_no_band() -> None:
    text = b"a,b,label,weight\n" + b"0.7,0.3,0,2.5\n0.2,0.8,1,1.5\n0.6,0.4,1,1\n" * 20
    key = session.hold(text, "weighted.csv").key
    scene = session.scene_of(Selection(source=Source(data=key, reading='{"weights":"weight"}'), calibrators=()))
    exhibit = EXHIBITS.make("corp")
    assert scene.get(scene.model.predictions).weights is not None
    names = [trace.name for trace in scene.get(exhibit.figure(scene)).data]
    assert "CORP curve" in names
    assert any(note.startswith("No band: ") for note in exhibit.words(scene).notes)


def test_the_trade_off_is_drawn_when_a_link_asks_for_it() -> None:
    app = opened(Selection(source=WINE, view="curves", about="trade", calibrators=()))
    assert {t["name"] for t in drawn(app)["trade"].figure["data"]} == {"Original model"}
    app = AppTest.from_file(app._script_path, default_timeout=60)
    for name, text in {
        "data": WINE.data,
        "view": "curves",
        "about": "trade",
        "calibrators": "[]",
        "exhibits": '[{"key":"trade","params":{"curves":true}}]',
    }.items():
        app.query_params[name] = text
    app.run()
    assert not app.exception
    rows = session.parts(WINE).test
    points = diagrams.trade_points({"Original model": rows}, primary(rows).notion)
    curves = diagrams.trade_off(rows, reduction=primary(rows).notion, repeats=5)
    traces = drawn(app)["trade"].figure["data"]
    assert len(traces) == 1 + len(curves.keys)
    np.testing.assert_array_equal(traces[0]["y"], curves.mse[0])
    assert (traces[-1]["x"][0], traces[-1]["y"][0]) == points.points["Original model"]


def test_validity_is_on_shared_bins_where_claims_are_the_same() -> None:
    top_label = Recipe("CALIBRATORS", "top-label-hb")
    selection = Selection(source=WINE, calibrators=(top_label,), notion="confidence")
    scene = session.scene_of(selection)
    base, after = (judged(model) for model in scene.models.shown)
    pair, title = diagrams.validity_pair(base, after, "confidence"), top_label.title
    frame = scene.get(EXHIBITS.make("validity").table(scene))
    plots = {"Original model": diagrams.validity_of(base, "confidence")}
    plots |= {title: pair.after, f"Original model, bins of {title}": pair.before}
    pd.testing.assert_frame_equal(frame, stacked(plots), check_exact=True)


def test_both_simulated_tables_are_shown_whole() -> None:
    app = opened(Selection(source=WINE, view="coverage", calibrators=()))
    shown = [d.value for d in app.dataframe]
    for table in (coverage_table(), rejection_table()):
        assert any(list(one.columns) == list(table.columns) and len(one) == len(table) for one in shown)


@pytest.mark.parametrize("view", ["estimators", "reliability", "tests", "calibrators"])
def test_a_calibrator_that_is_none_for_these_rows_is_not_ticked_and_the_link_says_so_once(view: str) -> None:
    language = Selection(source=Source(data="demo:language-model"), view=view)
    # The user has not chosen the calibrators ticked on the first visit.
    assert not opened(language).warning
    app = opened(language.replace(calibrators=(Recipe("CALIBRATORS", "vector"),)))
    (warning,) = app.warning
    assert warning.value.replace("\\", "").startswith("Vector scaling is not used: it needs the probability of every")
    ticked = [*app.button_group, *app.checkbox] if view == "calibrators" else app.button_group
    assert not any(item.value in (True, ["vector"]) for item in ticked)
    app.run()
    assert not app.warning
    assert "vector" in app.query_params["calibrators"], "another file may use it"


def test_small_p_values_are_not_said_to_be_zero() -> None:
    scene = session.scene_of(Selection(source=Source(data="demo:digits-naive-bayes"), calibrators=()))
    exhibit = EXHIBITS.make("tests")
    frame = scene.get(exhibit.table(scene))
    cells = [line[-1] for line in written(frame, exhibit.columns(frame))]
    assert "< 0.0001" in cells
    assert "0" not in cells


def test_a_sweep_is_class_by_class_only_where_every_model_names_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    full = session.parts(Source(data="demo:wine-logistic")).test
    bare = Predictions.from_confidence(full.confidence, full.correct)
    scene: Any = SimpleNamespace(get=lambda rows: rows, models=SimpleNamespace(shown=()), claims="confidence")
    alone, both = (("notions", ("confidence",)),), (("notions", ("confidence", "top-label")),)
    for models, options in (([full, full], both), ([full, bare], alone), ([bare, bare], alone)):
        named = {str(i): rows for i, rows in enumerate(models)}
        monkeypatch.setattr("dashboard.exhibits.line_words.answering", lambda _, named=named: (named, ()))
        exhibit: Any = EXHIBITS.make("sweep")
        assert exhibit._sweep(scene).options == options
