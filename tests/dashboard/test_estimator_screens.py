"""Kernel curves of one class, per-class validity and tests, the trade-off and the simulated tables, as shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib_core import ESTIMATORS, SCALES, Predictions, Recipe, diagrams, estimate, figures
from calib_core._text import error
from calib_core.estimators.kernel import Fixed, Gaussian, KernelECE, Linear
from calib_core.inference import coverage_table, estimate_line, per_class_tests, rejection_table, sharpen
from dashboard import compute, session
from dashboard.chart import drawn
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.reliability import Reliability
from dashboard.selection import Selection, Source
from dashboard.session import BASE, Model
from dashboard.views.estimators import numbers

WINE = Source(data="demo:wine-logistic")
BINS = Recipe("CALIBRATORS", "class-wise-hb")


def opened(selection: Selection) -> AppTest:
    """The app as a link with these choices opens it."""
    app = AppTest.from_file(str(Path(__file__).parents[2] / "dashboard" / "app.py"), default_timeout=60)
    for name, text in selection.to_query().items():
        app.query_params[name] = text
    app.run()
    assert not app.exception, [e.value for e in app.exception]
    return app


def sample(n: int = 300) -> Predictions:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), n)
    return Predictions(p, (rng.random(n)[:, None] > p.cumsum(1)[:, :2]).sum(1), class_names=["a", "b", "c"])


# -- figures --------------------------------------------------------------------------------------------------


def smoothed(**params: object) -> Recipe:
    """How curves are smoothed, but for what is given."""
    return ESTIMATORS.described("ece-kde", **(dict(ESTIMATORS.recipe(diagrams.KERNEL_CURVE).params) | params))


@pytest.mark.parametrize("scale", list(SCALES))
def test_the_kernel_figure_draws_the_frame_and_the_distance_at_a_score(scale: str) -> None:
    curve = diagrams.kernel_curve(sample(), "class-wise", 1, smoothed(scale=scale).build())
    figure = figures.kernel_curve(curve, score=0.4)
    frame = curve.frame()
    traces = {trace.name: trace for trace in figure.data if trace.name}
    np.testing.assert_array_equal(traces["kernel curve"].y, frame["curve"])
    assert {*frame["lower"].dropna(), *frame["upper"].dropna()} == set(traces["pointwise 90 % band"].y)
    np.testing.assert_array_equal(
        traces[f"where the scores lie (density per {curve.unit})"].customdata, frame["density"]
    )
    assert list(traces["local calibration error"].y) == [0.4, curve.value(0.4)]
    apart = Predictions.from_confidence([0.1, 0.9], [True, False])
    outside = figures.kernel_curve(diagrams.kernel_curve(apart, method=KernelECE(bandwidth=Fixed())), score=0.5)
    assert "local calibration error" not in {trace.name for trace in outside.data}


def test_the_trade_figure_draws_a_curve_a_calibrator_and_a_point_a_model() -> None:
    made = diagrams.trade_off(sample(), ["histogram", "scaling-binning"], bins=[2, 5], repeats=1)
    figure = figures.trade_off(made, points={"Base model": (0.01, 0.2)}, claims="class-wise")
    for i, title in enumerate(made.titles):
        np.testing.assert_array_equal(figure.data[i].x, made.error[i])
        np.testing.assert_array_equal(figure.data[i].y, made.mse[i])
        assert [mark["bins"] for mark in figure.data[i].customdata] == [2, 5]
        assert figure.data[i].name == f"{title}, 2 to 5 bins"
    assert (figure.data[2].x, figure.data[2].y) == ((0.01,), (0.2,))
    assert "class-wise" in figure.layout.xaxis.title.text
    assert len(figures.trade_off(points={"Base model": (0.01, 0.2)}).data) == 1


def test_small_validity_plots_hold_both_models_on_the_same_bins() -> None:
    p = sample()
    panels = {name: diagrams.class_panels(p, [0, 2], "class-wise") for name in ("Base model", "HB")}
    pairs = [diagrams.validity_pair(p, p.take(np.arange(300)), "class-wise", 5, c) for c in (0, 2)]
    figure = figures.class_panels(panels, curve="validity", pairs={"HB": pairs})
    steps = [trace for trace in figure.data if trace.mode == "lines"]
    assert [trace.name for trace in steps] == ["Base model", "before, bins of HB", "HB"] * 2
    np.testing.assert_array_equal(steps[1].y[1:], pairs[0].before.share)
    np.testing.assert_array_equal(steps[5].x[1:], pairs[1].after.eps)
    assert steps[1].line.dash == "dot"


# -- screens --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", list(SCALES))
def test_one_class_has_its_kernel_curve_with_band_and_local_error(scale: str) -> None:
    kernel = smoothed(scale=scale)
    chosen = Selection(source=WINE, view="classes", notion="class-wise", curve="kernel", one=1)
    app = opened(chosen.with_exhibit(EXHIBITS.described("kernel-curve", kernel=kernel, score=0.6)))
    assert not app.error
    curve = compute.class_curve(Model(WINE, BASE), "class-wise", 1, kernel, "pointwise")
    np.testing.assert_array_equal(drawn(app)["one-class"].trace("kernel curve")["y"], curve.curve)
    said = next(c.value.replace("\\", "") for c in app.caption if "mean distance of the curve" in c.value)
    assert curve.about in said
    assert f"Local calibration error at 0.60: {error(curve.local_error(0.6))}." in said
    assert f"bandwidth {curve.bandwidth:.2g} ({curve.unit})" in said
    assert app.query_params["one"] == "1"
    small = drawn(app)["panels"].figure["data"]
    assert any(np.array_equal(trace["x"], curve.score) for trace in small), "the small diagrams have the same scale"


def test_kernel_bandwidth_scale_and_band_are_chosen_on_screen_and_kept_in_the_link() -> None:
    app = opened(Selection().with_exhibit(EXHIBITS.described("reliability", overlay="kernel")))
    for part, key in (("kernel", "gaussian"), ("bandwidth", "silverman"), ("scale", "score"), ("bandwidth", "fixed")):
        app.selectbox(key=f"exhibit.reliability.kernel.ece-kde.{part}.key").select(key).run()
        assert not app.exception
    app.number_input(key="exhibit.reliability.kernel.ece-kde.bandwidth.fixed.value").set_value(0.08).run()
    app.selectbox(key="exhibit.reliability.band").select("whole-curve").run()
    chosen, problems = Selection.from_query({"exhibits": app.query_params["exhibits"]})
    assert not problems
    method = KernelECE(Gaussian(), Fixed(0.08), Linear(), "gaps")
    assert chosen.exhibit("reliability").build() == Reliability("kernel", "whole-curve", method)
    curve = diagrams.kernel_curve(session.parts(Selection().source).test, method=method, band="whole-curve")
    np.testing.assert_array_equal(drawn(app)["reliability"].trace("kernel curve")["y"], curve.curve)
    assert drawn(app)["reliability"].trace("90 % band for the whole curve") is not None
    again = opened(chosen)
    np.testing.assert_array_equal(drawn(again)["reliability"].trace("kernel curve")["y"], curve.curve)


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
    chosen, (problem,) = Selection.from_query({"kernel": text})
    assert chosen == Selection()
    assert problem.startswith("The link's kernel was left out: ")


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
        assert steps.about in words.notes


def test_weighted_rows_have_an_isotonic_curve_and_say_why_it_has_no_band() -> None:
    text = b"a,b,label,weight\n" + b"0.7,0.3,0,2.5\n0.2,0.8,1,1.5\n0.6,0.4,1,1\n" * 20
    key = session.hold(text, "weighted.csv").key
    scene = session.scene_of(Selection(source=Source(data=key), calibrators=()))
    exhibit = EXHIBITS.make("corp")
    assert scene.get(scene.model.predictions).weights is not None
    names = [trace.name for trace in scene.get(exhibit.figure(scene)).data]
    assert "CORP curve" in names
    assert any(note.startswith("No band: ") for note in exhibit.words(scene).notes)


def test_a_class_that_a_link_names_but_the_data_lack_is_ignored() -> None:
    app = opened(Selection(source=WINE, view="classes", curve="kernel", one=99))
    assert not app.error
    assert "one-class" in drawn(app)


def test_validity_of_a_class_is_shown_before_and_after_on_the_same_bins() -> None:
    selection = Selection(source=WINE, view="classes", notion="class-wise", curve="validity", calibrators=(BINS,))
    app = opened(selection)
    model = Model(WINE, BINS)
    names = session.parts(WINE).test.class_names or ()
    pairs = compute.class_pairs(model, "class-wise", selection.scheme, tuple(range(len(names))))
    shown = [t for t in drawn(app)["panels"].figure["data"] if t.get("name") == f"before, bins of {model.title}"]
    assert len(shown) == len(names)
    wanted = {tuple(np.round(pair.before.share, 9)) for pair in pairs}
    assert {tuple(np.round(t["y"][1:], 9)) for t in shown} == wanted
    assert any("Dotted: the base model" in c.value for c in app.caption)


def test_every_class_has_a_test_corrected_for_their_number() -> None:
    selection = Selection(source=WINE, view="classes", notion="class-wise", sort="name")
    app = opened(selection)
    table = next(d.value for d in app.dataframe if "class" in d.value.columns)
    tests = per_class_tests(session.parts(WINE).test, "class-wise")
    np.testing.assert_allclose(table["p (Holm), Base model"], tests["p_holm"])
    assert "p (Holm), Temperature scaling" in table.columns


def test_the_trade_off_is_drawn_when_asked_and_kept_in_the_link() -> None:
    app = opened(Selection(source=WINE, view="estimators", calibrators=()))
    assert {t["name"] for t in drawn(app)["trade"].figure["data"]} == {"Base model"}
    app.toggle(key="choice.trade").set_value(True).run()
    assert not app.exception
    assert app.query_params["trade"] == "True"
    made = compute.trade_off(Model(WINE, BASE), compute.primary(Model(WINE, BASE), Selection(source=WINE)).notion)
    traces = drawn(app)["trade"].figure["data"]
    assert len(traces) == 1 + len(made.keys)
    np.testing.assert_array_equal(traces[0]["y"], made.mse[0])


def test_both_simulated_tables_are_shown_whole() -> None:
    app = opened(Selection(source=WINE, view="estimators", calibrators=()))
    shown = [d.value for d in app.dataframe]
    for table in (coverage_table(), rejection_table()):
        assert any(list(one.columns) == list(table.columns) and len(one) == len(table) for one in shown)


def test_the_downloaded_table_holds_the_numbers_and_not_their_text() -> None:
    predictions = sample()
    sharp, plain = (estimate(predictions, notion, "ece", 10) for notion in ("confidence", "top-label"))
    sharpen([sharp])
    asked = {("ece", "confidence"): sharp, ("ece", "top-label"): plain, ("ece", "canonical"): "why not"}
    lines = {("ece", "confidence"): estimate_line(sharp)}
    frame = numbers(asked, lines)
    assert list(frame["notion"]) == ["confidence", "top-label"]
    assert frame.iloc[0].to_dict() == lines["ece", "confidence"].record()
    bare = frame.iloc[1]
    assert bare["value"] == plain.value
    assert bare[["point", "low", "high", "floor", "p", "verdict"]].isna().all()


def test_a_calibrator_that_cannot_be_shown_says_so() -> None:
    app = opened(Selection(source=Source(data="demo:language-model"), view="estimators"))
    assert any(w.value.startswith("**Temperature scaling** cannot be used here: ") for w in app.warning)


def test_small_p_values_are_not_said_to_be_zero() -> None:
    app = opened(Selection(source=Source(data="demo:digits-naive-bayes"), view="estimators", calibrators=()))
    said = "".join(str(table.value) for table in app.table)
    assert "(p < 0.001)" in said
    assert "= 0.000" not in said
