"""Every view with every registered thing: it draws without an exception, and shows the numbers computed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import pytest
from shown_models import fitted, judged
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import CALIBRATORS, NotAnswerable, Predictions, Recipe
from calib_core._text import error
from calib_core.calibrators import Calibrator, Contract
from calib_core.datasets import DEMOS
from calib_core.inference import estimate_line, plain_line, primary
from calib_core.inference.counted import of_counts
from calib_core.registry import Choice, Flag, Range
from calib_core.study import SCORES, error_keys, every_measure, summaries
from dashboard import session
from dashboard.chart import drawn, slot
from dashboard.chart.click import Click
from dashboard.exhibits import EXHIBITS, line_words
from dashboard.selection import (
    Selection,
    Source,
    model_keys,
)
from dashboard.session import Model
from dashboard.theme import markdown_plain
from dashboard.views import VIEWS

APP = Path(__file__).parents[2] / "dashboard" / "app.py"


def opened(selection: Selection) -> AppTest:
    """The app as a link with these choices opens it."""
    app = AppTest.from_file(str(APP), default_timeout=60)
    for name, text in selection.to_query().items():
        app.query_params[name] = text
    app.run()
    assert not app.exception, [e.value for e in app.exception]
    return app


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("demo", [demo.key for demo in DEMOS])
def test_every_view_of_every_demo(view: str, demo: str) -> None:
    app = opened(Selection(source=Source(data=f"demo:{demo}"), view=view))
    assert not app.error


@pytest.mark.parametrize("view", ["reliability", "classes"])
@pytest.mark.parametrize("key", model_keys())
def test_every_view_with_every_calibrator(view: str, key: str) -> None:
    recipe = Recipe("CALIBRATORS", key)
    app = opened(Selection(view=view, calibrators=(recipe,)))
    assert not app.error
    refused = session.models(Selection(calibrators=(recipe,))).refused
    if CALIBRATORS[key].flags.may_refuse and refused:
        assert view == "classes" or refused[0][1] in app.warning[0].value.replace("\\", "")
        return
    assert not app.warning
    title = CALIBRATORS[key].title
    if view == "reliability":
        assert title in [trace.get("name") for trace in drawn(app)["reliability"].figure["data"]]
    assert title in [expander.label.replace("\\", "") for expander in app.expander]


def test_the_calibrators_view_shows_what_is_computed() -> None:
    ticked = tuple(Recipe("CALIBRATORS", key) for key in ("temperature", "top-label-hb", "class-wise-hb"))
    selection = Selection(view="calibrators", calibrators=ticked)
    app = opened(selection)
    table = app.dataframe[0].value
    assert table["model"].tolist() == ["Base model", *(recipe.title for recipe in ticked)]
    for line, recipe in zip(table.itertuples(), (session.BASE, *ticked), strict=True):
        measured = summaries(judged(Model(selection.source, recipe)), [None], every_measure())[0]
        for measure, value in zip(measured["measure"], measured["value"], strict=True):
            np.testing.assert_equal(table.loc[line.Index, measure], value)
    promised, effects = (table.value for table in app.table)
    calibrator = fitted(Model(selection.source, ticked[1]))
    assert calibrator.guarantee(0.1).sentence in promised.iloc[1, 1].replace("\\", "")
    assert promised["holds"].tolist() == ["no", "yes", "yes"]
    assert effects["rows it abstains on"].tolist() == [markdown_plain("0.00%")] * 3
    assert any(c.value.startswith("Milliseconds on this machine") for c in app.caption)
    drawn_map = drawn(app)["binary-map"].trace("recalibrated score")
    expected = cc.diagrams.binary_map(calibrator, session.parts(selection.source).test, 0).output
    np.testing.assert_array_equal(drawn_map["y"], expected)


def test_a_map_is_chosen_by_calibrator_and_class() -> None:
    ticked = tuple(Recipe("CALIBRATORS", key) for key in ("top-label-hb", "class-wise-hb"))
    selection = Selection(view="calibrators", calibrators=ticked)
    app = opened(selection)
    titles = app.selectbox(key="map.of").options
    assert titles == [recipe.title for recipe in ticked]
    app.selectbox(key="map.of").select(titles[1]).run()
    app.selectbox(key="map.stratum").select_index(2).run()
    assert not app.exception
    kept = app.session_state["calib.selection"]
    assert kept.model == ticked[1].title
    assert kept.exhibit("binary-map").params == (("stratum", 2),)
    calibrator = fitted(Model(selection.source, ticked[1]))
    expected = cc.diagrams.binary_map(calibrator, session.parts(selection.source).test, 2).output
    np.testing.assert_array_equal(drawn(app)["binary-map"].trace("recalibrated score")["y"], expected)


@pytest.mark.parametrize("key", [key for key in model_keys() if CALIBRATORS[key].flags.may_refuse])
def test_what_abstains_is_said_and_counted(key: str) -> None:
    recipe = Recipe("CALIBRATORS", key)
    selection = Selection(source=Source(data="demo:synthetic-three-class"), calibrators=(recipe,))
    app = opened(selection)
    models = session.models(selection)
    said = " ".join(m.value for m in (*app.caption, *app.warning)).replace("\\", "")
    if models.refused:
        assert models.refused[0][1] in said
        return
    rows = judged(Model(selection.source, recipe))
    assert f"abstains on {100 * (1 - rows.coverage):.1f}%" in said
    app = opened(selection.replace(view="calibrators"))
    name = f"rates-{Model(selection.source, recipe).key}"
    assert name not in drawn(app)
    assert any("ask for them" in info.value for info in app.info)
    app.toggle(key=f"exhibit.{name}.refit").set_value(True).run()
    assert not app.exception
    diagram = cc.diagrams.constraint(session.whole(selection.source.data, ""), recipe)
    known = ~np.isnan(diagram.attained)
    trace = drawn(app)[name].trace(f"attained {diagram.rate}")
    np.testing.assert_array_equal(trace["y"], diagram.attained[known])


@pytest.mark.parametrize("slow", [False, True])
def test_the_estimators_view_shows_every_estimate_with_what_noise_would_show(slow: bool) -> None:
    selection = Selection(view="estimators", source=Source(data="demo:breast-cancer-svm"), reduction="confidence")
    app = opened(selection.with_exhibit(EXHIBITS.described("estimators", slow=slow)))
    shown = next(d.value for d in app.dataframe if "estimator" in d.value.columns)
    captions = " ".join(c.value.replace("\\", "") for c in app.caption)
    test = session.parts(selection.source).test
    assert shown["estimator"].tolist() == [*error_keys(), *SCORES]
    for key, cells in zip(shown["estimator"], shown.to_dict("records"), strict=True):
        expected = cc.estimate(test, "confidence", key)
        whole = slow or of_counts(expected.question.estimator, expected.question.claims) is not None
        line = estimate_line(expected) if whole else plain_line(expected)
        numbers = ("value", "point", "low", "high", "floor", "p")
        np.testing.assert_array_equal([cells[n] for n in numbers], [_number(getattr(line, n)) for n in numbers])
        assert (cells["verdict"] if isinstance(cells["verdict"], str) else None) == line.verdict
        assert line.about in captions
    assert "Each of the " in captions
    assert ("interval and noise floor take minutes" in captions) == (not slow)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def test_lines_that_stand_out_are_marked_and_no_others() -> None:
    exhibit = EXHIBITS.make("estimators")
    frame = pd.DataFrame({"p": [0.2, 0.05, None, 0.001]})
    assert exhibit.bold(frame) == (1, 3)


def test_the_slow_estimators_and_the_curves_are_switched_on_screen() -> None:
    app = opened(Selection(view="estimators", source=Source(data="demo:breast-cancer-svm"), calibrators=()))
    before = len(drawn(app)["trade"].figure["data"])
    app.toggle(key="exhibit.trade.curves").set_value(True).run()
    assert not app.exception
    assert len(drawn(app)["trade"].figure["data"]) > before
    assert '"curves":true' in app.query_params["exhibits"]


@pytest.mark.parametrize("view", VIEWS)
def test_the_verdict_stands_above_every_view(view: str) -> None:
    selection = Selection(view=view, source=Source(data="demo:digits-random-forest"))
    app = opened(selection)
    first = primary(session.parts(selection.source).test, selection.eps)
    assert first.line.verdict == "miscalibrated"
    line = next(c.value for c in app.caption if c.value.startswith("**Base model: "))
    assert line.startswith("**Base model: miscalibrated**")
    assert markdown_plain(f"{first.line.written(first.line.point)}, 90 % interval {first.line.interval}") in line
    said = [c.value for c in app.caption]
    assert any(text.startswith(markdown_plain(f"Base model: {first.sentence}")) for text in said)
    assert first.reason in first.sentence
    assert any(markdown_plain(f"By its formula the {first.line.title} is") in text for text in said)


@pytest.mark.parametrize("view", ["reliability", "estimators"])
def test_a_verdict_that_cannot_be_made_is_a_sentence(view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise NotAnswerable("no row makes a claim here")

    monkeypatch.setattr(session.RESULTS, "_kept", OrderedDict())
    monkeypatch.setitem(import_module("dashboard.session.call")._public(), "inference.primaries", refuse)
    app = opened(Selection(view=view, source=Source(data="demo:wine-logistic")))
    assert not app.error
    assert "**No verdict** no row makes a claim here." in [c.value for c in app.caption]


def test_a_model_without_a_verdict_does_not_take_those_of_others_away(monkeypatch: pytest.MonkeyPatch) -> None:
    selection = Selection(source=Source(data="demo:wine-logistic"))
    first = "Base model: no rows to judge."
    others = {"Temperature scaling": session.models(selection).shown[1].predictions}
    monkeypatch.setattr(line_words, "answering", lambda scene: (others, (first,)))
    captions = [c.value for c in opened(selection).caption]
    strip = next(text for text in captions if text.startswith("**Base model: no verdict could be made**"))
    assert "**Temperature scaling: " in strip
    assert markdown_plain(f"{first} No verdict could be made.") in captions


@pytest.mark.parametrize("overlay", ["none", "wilson", "consistency", "corp", "kernel"])
@pytest.mark.parametrize("demo", ["wine-logistic", "language-model"])
def test_every_overlay_is_drawn_and_explained(overlay: str, demo: str) -> None:
    chosen = EXHIBITS.described("reliability", overlay=overlay)
    app = opened(Selection(source=Source(data=f"demo:{demo}")).with_exhibit(chosen))
    assert not app.error
    traces = {trace.get("name") for trace in drawn(app)["reliability"].figure["data"]}
    added = {"none": set(), "wilson": {"90% Wilson intervals"}, "consistency": {"90% of calibrated models"}}
    assert added.get(overlay, {{"corp": "CORP curve", "kernel": "kernel curve"}.get(overlay)}) <= traces
    test = session.parts(Source(data=f"demo:{demo}")).test
    if overlay == "kernel":
        curve = cc.diagrams.kernel_curve(test)
        assert any(f"bandwidth {curve.bandwidth:.2g}" in c.value.replace("\\", "") for c in app.caption)
    if overlay == "corp":
        steps = cc.diagrams.corp(test)
        assert any(f"miscalibration {error(steps.miscalibration)}" in c.value.replace("\\", "") for c in app.caption)


def test_the_options_of_an_overlay_are_on_screen_with_it_only() -> None:
    boxes = {
        overlay: {box.key.split(".")[2] for box in app.selectbox if str(box.key).startswith("exhibit.reliability.")}
        for overlay in ("none", "corp", "kernel")
        for app in [opened(Selection().with_exhibit(EXHIBITS.described("reliability", overlay=overlay)))]
    }
    assert boxes == {"none": {"overlay"}, "corp": {"overlay", "band"}, "kernel": {"overlay", "band", "kernel"}}


@pytest.mark.parametrize("demo", ["digits-naive-bayes", "language-model"])
def test_what_stands_behind_the_diagram_is_made_when_it_is_opened(demo: str) -> None:
    app = opened(Selection(source=Source(data=f"demo:{demo}")))
    assert not {"bins", "kernel-curve", "corp"} & set(drawn(app))
    test = session.parts(Source(data=f"demo:{demo}")).test
    for key in ("bins", "kernel-curve", "corp"):
        app.session_state[f"closer.{key}"] = True
    app.run()
    assert not app.exception
    frame = cc.diagrams.kernel_curve(test).frame()
    np.testing.assert_array_equal(drawn(app)["kernel-curve"].trace("kernel curve")["y"], frame["curve"])
    tables = [table.value for table in app.dataframe]
    bands = cc.diagrams.reliability_bands(test).frame()
    assert any({"band_low"} <= set(t) and t["band_low"].tolist() == bands["band_low"].tolist() for t in tables)
    score = cc.diagrams.corp(test).score
    assert any({"brier"} <= set(t) and t["brier"][0] == score for t in tables)
    local = cc.diagrams.kernel_curve(test).local_error(0.8)
    assert any(f"Local calibration error at 0.80: {error(local)}." in c.value.replace("\\", "") for c in app.caption)


def test_the_numbers_on_screen_are_those_computed() -> None:
    selection = Selection(calibrators=(Recipe("CALIBRATORS", "temperature"),), binning="equal-width", bins=12)
    app = opened(selection)
    shown = app.table[0].value.replace(r"\\", "", regex=True).rename(index=lambda name: name.replace("\\", ""))
    recipe = selection.calibrators[0]
    after = judged(Model(selection.source, recipe))
    before = judged(Model(selection.source, session.BASE))
    for name, notion in (("TL-ECE", "top-label"), ("conf-ECE", "confidence")):
        old, new = (cc.estimate(rows, notion, "ece", 12).value for rows in (before, after))
        bold = [f"**{value:.4f}**" if value == min(old, new) else f"{value:.4f}" for value in (old, new)]
        assert shown.loc[name].tolist() == bold
    accuracy = f"{after.accuracy:.4f}"
    assert shown.loc["Accuracy"].tolist() == [f"**{accuracy}**"] * 2, "the same accuracy is best twice"
    frame = cc.diagrams.reliability(after, 12).frame()
    trace = drawn(app)["reliability"].trace("Temperature scaling")
    np.testing.assert_array_equal(trace["y"], frame["accuracy"])


def test_bins_are_chosen_by_kind_and_number() -> None:
    app = opened(Selection(source=Source(data="demo:wine-logistic")))
    assert "binning" not in app.query_params
    assert not [s for s in app.slider if s.label == "Number of bins"]
    app.selectbox(key="choice.binning").select("equal-mass").run()
    assert not app.exception
    assert app.slider(key="choice.bins").value == 15
    app.slider(key="choice.bins").set_value(9).run()
    assert (app.query_params["binning"], app.query_params["bins"]) == ("equal-mass", "9")
    app.selectbox(key="choice.binning").select("points-per-bin").run()
    app.number_input(key="choice.points").set_value(20).run()
    assert not app.exception
    assert app.query_params["points"] == "20"
    app.selectbox(key="choice.binning").select("auto").run()
    assert not app.exception
    assert Selection.from_query(dict(app.query_params))[0].scheme is None


@pytest.mark.parametrize("view", ["reliability", "calibrators"])
def test_where_a_model_abstains_the_rows_of_the_table_are_chosen(view: str) -> None:
    recipes = tuple(Recipe("CALIBRATORS", key) for key in ("temperature", "metacal-miscoverage"))
    selection = Selection(view=view, calibrators=recipes)
    app = opened(selection)
    assert any("rows that all models answer" in c.value for c in app.caption)
    app.segmented_control(key="choice.counting").set_value("all").run()
    assert not app.exception
    assert app.query_params["counting"] == "all"
    assert not any("rows that all models answer" in c.value for c in app.caption)
    assert any("counts as its prediction" in c.value for c in app.caption)
    plain = opened(Selection(view=view))
    assert "choice.counting" not in [control.key for control in plain.segmented_control]


def test_a_click_on_a_bin_opens_its_classes_and_rows() -> None:
    app = opened(Selection())
    trace = drawn(app)["reliability"].trace("Base model")
    point = trace["customdata"][-1]
    app.session_state[slot("reliability")] = Click(2, 0, point, None, None, 1)
    app.run()
    assert not app.exception
    test = session.parts(Selection().source).test
    zoom = cc.diagrams.zoom(test, cc.diagrams.reliability(test), point["bin"])
    np.testing.assert_array_equal(drawn(app)["bin"].trace("classes")["y"], zoom.accuracy)
    classes, table = (frame.value for frame in app.dataframe[-2:])
    assert classes["gap"].tolist() == zoom.gap.tolist()
    rows = session.parts(Selection().source).test_rows[zoom.rows]
    assert table["row"].tolist() == rows.tolist()
    assert app.query_params["zoom"] == str(point["bin"])


def test_a_click_looks_at_the_model_whose_mark_it_was() -> None:
    app = opened(Selection())
    point = drawn(app)["reliability"].trace("Temperature scaling")["customdata"][-1]
    app.session_state[slot("reliability")] = Click(2, 0, point, None, None, 1)
    app.run()
    assert app.query_params["model"] == "Temperature scaling"
    after = judged(Model(Selection().source, Recipe("CALIBRATORS", "temperature")))
    zoom = cc.diagrams.zoom(after, cc.diagrams.reliability(after), point["bin"])
    np.testing.assert_array_equal(drawn(app)["bin"].trace("classes")["y"], zoom.accuracy)


@pytest.mark.parametrize("record", [{"model": "no such", "bin": 9}, {"bin": "9"}, {"bin": None}, "9", None])
def test_a_click_that_says_nothing_of_this_page_changes_nothing(record: object) -> None:
    app = opened(Selection())
    app.session_state[slot("reliability")] = Click(2, 0, record, None, None, 1)
    app.run()
    assert not app.exception
    assert "zoom" not in app.query_params
    assert "bin" not in drawn(app)


def test_confidences_alone_show_the_rows_of_a_bin_and_say_why_not_its_classes() -> None:
    text = b"confidence,correct\n" + b"0.95,1\n0.97,0\n0.2,0\n" * 20
    source = Source(data=session.hold(text, "bare.csv").key)
    app = opened(Selection(source=source, zoom=14, calibrators=()))
    assert "bin" not in drawn(app)
    assert any("the predicted classes are unknown" in info.value.replace("\\", "") for info in app.info)
    test = session.parts(source).test
    rows = cc.diagrams.bin_rows(test, cc.diagrams.reliability(test), 14)
    assert len(rows) > 10
    assert app.dataframe[-1].value["confidence"].tolist() == rows["confidence"].tolist()


def test_the_rows_of_a_bin_are_the_rows_of_the_file() -> None:
    source = Source(data="demo:digits-naive-bayes")
    parts = session.parts(source)
    rows = np.array([0, 5, 7])
    table = cc.row_table(parts.test, rows, parts.test_rows)
    whole = session.whole(source.data, "")
    for line in table.itertuples():
        assert whole.confidence[line.row] == line.confidence
        assert (whole.class_names or ())[whole.true_labels[line.row]] == line.label
    assert set(whole.metadata.columns) <= set(table.columns)  # type: ignore[union-attr]


def test_a_link_reopens_the_same_picture() -> None:
    selection = Selection(
        source=Source(data="demo:digits-random-forest", share=0.4, seed=7),
        calibrators=(CALIBRATORS.described("top-label-hb", points_per_bin=30),),
        bins=8,
        binning="equal-mass",
        zoom=3,
    )
    app = opened(selection)
    link = dict(app.query_params)
    assert Selection.from_query(link) == (selection, ())
    again = AppTest.from_file(str(APP), default_timeout=60)
    for name, text in link.items():
        again.query_params[name] = text
    again.run()
    first, second = drawn(app), drawn(again)
    assert list(first) == list(second)
    assert [c.revision for c in first.values()] == [c.revision for c in second.values()]


def test_a_link_to_data_that_is_not_here_says_so_and_leads_to_the_data_view() -> None:
    app = opened(Selection(source=Source(data="sha256:" + "0" * 64)))
    assert "not here" in app.error[0].value.replace("\\", "")
    app.button[0].click().run()
    assert not app.exception
    assert app.query_params["view"] == "data"


def test_a_bad_link_is_said_once_and_the_rest_of_it_works() -> None:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params["bins"] = "7"
    app.query_params["calibrators"] = "nonsense"
    app.run()
    assert len(app.warning) == 1
    assert app.slider[0].value == 7
    app.run()
    assert not app.warning


def test_ticking_a_calibrator_keeps_the_others_in_place() -> None:
    app = opened(Selection())
    pills = next(group for group in app.button_group if group.label.startswith("Calibrators"))
    pills.set_value(["top-label-hb", "temperature"]).run()
    assert not app.exception
    link = dict(app.query_params)
    held = Selection.from_query(link)[0].calibrators
    assert [recipe.key for recipe in held] == ["temperature", "top-label-hb"]


@pytest.fixture
def plugged_in() -> Iterator[str]:
    """A calibrator as somebody else's file would register it."""

    @CALIBRATORS.register("test-softener", "Softener", flags=Contract("full", keeps_argmax=True, sums_to_one=True))
    @dataclass(eq=False, repr=False)
    class Softener(Calibrator):
        """Mixes every row with the uniform one."""

        amount: Annotated[float, Range(0, 1), "how much of the uniform row"] = 0.25
        twice: Annotated[bool, Flag(), "do it twice"] = False
        mode: Annotated[str, Choice(("mild", "strong")), "how"] = "mild"

        def _fit(self, predictions: Predictions) -> None:
            self.k_ = predictions.n_classes

        def _apply(self, predictions: Predictions) -> Predictions:
            probs = predictions.probs
            mixed = (1 - self.amount) * probs + self.amount / probs.shape[1]
            return Predictions(mixed, predictions.true_labels, class_names=predictions.class_names)

    yield "test-softener"
    CALIBRATORS.remove("test-softener")


def test_a_registered_calibrator_appears_with_its_own_controls(plugged_in: str) -> None:
    app = opened(Selection(calibrators=(Recipe("CALIBRATORS", plugged_in),)))
    assert "Softener" in [trace.get("name") for trace in drawn(app)["reliability"].figure["data"]]
    labels = [w.label for w in (*app.number_input, *app.toggle, *app.selectbox)]
    assert {"Amount", "Twice", "Mode"} <= set(labels)
    amount = next(w for w in app.number_input if w.label == "Amount")
    amount.set_value(0.5).run()
    assert not app.exception
    link = dict(app.query_params)
    assert Selection.from_query(link)[0].calibrators == (CALIBRATORS.described(plugged_in, amount=0.5),)
