"""Views with all registered members: they draw without an exception, and show the computed numbers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pytest
from shown_models import judged
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import CALIBRATORS, NotAnswerable, Predictions, Recipe
from calib_core.calibrators import Calibrator, Contract
from calib_core.datasets import DEMOS
from calib_core.evaluation.study import error_keys
from calib_core.inference import estimate_line, in_full, plain_line, primary
from calib_core.inference.noise.redrawn_errors import of_counts
from calib_core.registry.registry import Choice, Flag, Range
from calib_core.text import percent
from dashboard import session
from dashboard.chart import drawn
from dashboard.exhibits import EXHIBITS, line_words
from dashboard.exhibits.columns import NOT_KNOWN
from dashboard.frame import chips as chips_module
from dashboard.navigation import views_of
from dashboard.selection import (
    Selection,
    Source,
    model_keys,
)
from dashboard.session import Model
from dashboard.theme import markdown_plain
from dashboard.views import VIEWS
from tests.support.sentences import where_measured

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
LANGUAGE = "language-model"


def opened(selection: Selection) -> AppTest:
    """Return the app as a link with these choices opens it."""
    app = AppTest.from_file(str(APP), default_timeout=60)
    for name, text in selection.to_query().items():
        app.query_params[name] = text
    app.run()
    assert not app.exception, [e.value for e in app.exception]
    return app


# The room of the report builds a whole report: it is drawn for the two kinds of predictions only.
FIRST = (DEMOS[0].key, LANGUAGE)
"""Data of which every view is drawn at every check; of the others the first one, and all with `make wide`."""
SEEN = [
    pytest.param(view, demo.key, marks=() if demo.key in FIRST or view == "overview" else pytest.mark.wide)
    for demo in DEMOS
    for view in VIEWS
    if view != "report" or demo.key in ("wine-logistic", LANGUAGE)
]


def in_numbers(app: AppTest) -> AppTest:
    """Return the reliability view with its numbers before and after unfolded."""
    app.session_state["reliability.numbers"] = True
    app.run()
    assert not app.exception, [e.value for e in app.exception]
    return app


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("view", "demo"), SEEN)
def test_every_view_of_every_demo(view: str, demo: str) -> None:
    app = opened(Selection(source=Source(data=f"demo:{demo}"), view=view))
    assert not app.error
    assert all(100 <= chart.height <= 1600 for chart in drawn(app).values())
    several = len(views_of(VIEWS[view].room)) > 1
    assert [group.label for group in app.button_group].count("View") == several


# One link opens both views but for what is drawn: of the classes every third is shown at every check.
_WITH = [
    pytest.param(view, key, marks=() if view == "reliability" or i % 3 == 0 else pytest.mark.wide)
    for view in ("reliability", "classes")
    for i, key in enumerate(model_keys())
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("view", "key"), _WITH)
def test_every_view_with_every_calibrator(view: str, key: str) -> None:
    recipe = Recipe("CALIBRATORS", key)
    two = {"source": Source(data="demo:breast-cancer-svm")} if CALIBRATORS[key].flags.classes == 2 else {}
    app = opened(Selection(view=view, calibrators=(recipe,), **two))
    assert not app.error
    refused = session.models(Selection(calibrators=(recipe,), **two)).refused
    if CALIBRATORS[key].flags.may_refuse and refused:
        assert view == "classes" or refused[0][1] in app.warning[0].value.replace("\\", "").replace("\u00a0", " ")
        return
    assert not app.warning
    title = CALIBRATORS[key].title
    if view == "reliability":
        names = [trace.get("name") for trace in drawn(app)["reliability"].figure["data"]]
        assert title in names or two, "of a risk the model in focus is drawn"
    assert title in [expander.label.replace("\\", "") for expander in app.expander]


@pytest.mark.parametrize("key", [key for key in model_keys() if CALIBRATORS[key].flags.may_refuse])
def test_what_abstains_is_told_and_counted(key: str) -> None:
    recipe = Recipe("CALIBRATORS", key)
    source = Source(data="demo:synthetic-three-class")
    selection = Selection(view="reliability", source=source, calibrators=(recipe,))
    app = in_numbers(opened(selection))
    models = session.models(selection)
    said = " ".join(m.value for m in (*app.caption, *app.warning)).replace("\\", "").replace("\u00a0", " ")
    if models.refused:
        assert models.refused[0][1] in said
        return
    rows = judged(Model(selection.source, recipe))
    assert f"abstains on {percent(1 - rows.coverage)} of the held-out rows" in said


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.wide)])
def test_the_estimators_view_shows_every_estimate_with_what_noise_would_show(slow: bool) -> None:
    selection = Selection(view="estimators", source=Source(data="demo:breast-cancer-svm"), notion="confidence")
    app = opened(selection.with_exhibit(EXHIBITS.described("estimators", slow=slow)))
    shown = next(d.value for d in app.dataframe if "estimator" in d.value.columns)
    captions = " ".join(c.value.replace("\\", "") for c in app.caption)
    test = session.parts(selection.source).test
    assert shown["estimator"].tolist() == [*error_keys("confidence")]
    for key, cells in zip(shown["estimator"], shown.to_dict("records"), strict=True):
        expected = cc.estimate(test, "confidence", key)
        whole = slow or of_counts(expected.question.estimator, expected.question.claims) is not None
        line = estimate_line(expected) if whole else plain_line(expected)
        numbers = ("value", "point", "low", "high", "floor", "p")
        np.testing.assert_array_equal([cells[n] for n in numbers], [_number(getattr(line, n)) for n in numbers])
        if line.verdict is None:
            assert pd.isna(cells["verdict"]) or cells["verdict"] == NOT_KNOWN
        else:
            assert cells["verdict"] == in_full(line.verdict)
        assert where_measured(line.about) in captions
    assert "not corrected for multiple testing" in captions
    assert ("take minutes and were not computed" in captions) == (not slow)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def test_lines_that_stand_out_are_marked_and_no_others() -> None:
    exhibit = EXHIBITS.make("estimators")
    frame = pd.DataFrame({"p": [0.2, 0.05, None, 0.001]})
    assert exhibit.bold(frame) == (1, 3)


def test_the_slow_estimators_and_the_curves_are_switched_on_screen() -> None:
    source = Source(data="demo:breast-cancer-svm", by="share")
    app = opened(Selection(view="curves", about="trade", source=source, calibrators=()))
    before = len(drawn(app)["trade"].figure["data"])
    app.toggle(key="exhibit.trade.curves").set_value(True).run()
    assert not app.exception
    assert len(drawn(app)["trade"].figure["data"]) > before
    assert '"curves":true' in app.query_params["exhibits"]


def test_the_verdict_is_a_strip_on_the_overview_with_what_it_rests_on() -> None:
    selection = Selection(view="overview", source=Source(data="demo:digits-random-forest"))
    app = opened(selection)
    first = primary(session.parts(selection.source).test, selection.eps)
    assert first.line.verdict == "miscalibrated"
    strip = drawn(app)["verdict"]
    words = [note["text"] for note in strip.figure["layout"]["annotations"]]
    assert "<b>Miscalibrated</b>" in words
    assert f"{first.line.interval}, above the tolerance" in words
    assert "Original model: miscalibrated" in strip.label
    said = [c.value for c in app.caption]
    assert any(text.startswith(markdown_plain(f"Original model. {first.sentence}")) for text in said)
    assert first.reason in first.sentence
    assert any(markdown_plain(f"{first.line.title}, raw value:") in text for text in said)


@pytest.mark.parametrize("view", ["overview", "reliability", "estimators"])
def test_a_verdict_that_cannot_be_made_is_a_sentence(view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise NotAnswerable("there are no claims to evaluate here")

    monkeypatch.setattr(session.RESULTS, "_kept", OrderedDict())
    call = import_module("dashboard.session.call")
    known = call.public
    monkeypatch.setattr(call, "public", lambda name: refuse if name == "inference.primaries" else known(name))
    app = opened(Selection(view=view, source=Source(data="demo:wine-logistic")))
    assert not app.error
    if view == "overview":
        assert "**No verdict.** there are no claims to evaluate here\\." in [m.value for m in app.markdown]


def test_a_model_without_a_verdict_does_not_take_those_of_others_away(monkeypatch: pytest.MonkeyPatch) -> None:
    selection = Selection(view="overview", source=Source(data="demo:wine-logistic"))
    first = "Original model: no rows to judge."
    others = {"Temperature scaling": session.models(selection).shown[1].predictions}
    monkeypatch.setattr(line_words, "answering", lambda scene: (others, (first,)))
    app = opened(selection)
    assert drawn(app)["verdict"].figure["layout"]["yaxis"]["ticktext"] == ["<b>Temperature scaling</b>"]
    captions = [c.value for c in app.caption]
    assert markdown_plain(first) in captions
    assert markdown_plain(f"{first} {line_words.NO_VERDICT.capitalize()}.") in captions


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


@pytest.mark.parametrize("view", ["reliability"])
def test_where_a_model_abstains_the_rows_of_the_table_are_chosen(view: str) -> None:
    recipes = tuple(Recipe("CALIBRATORS", key) for key in ("temperature", "metacal-miscoverage"))
    selection = Selection(view=view, calibrators=recipes)
    app = in_numbers(opened(selection))
    assert any("rows that all models answer" in c.value for c in app.caption)
    app.segmented_control(key="choice.counting").set_value("all").run()
    assert not app.exception
    assert app.query_params["counting"] == "all"
    assert not any("rows that all models answer" in c.value for c in app.caption)
    assert any("counts as its prediction" in c.value for c in app.caption)
    plain = in_numbers(opened(Selection(view=view)))
    assert "choice.counting" not in [control.key for control in plain.segmented_control]


def test_the_rows_of_a_bin_are_the_rows_of_the_file() -> None:
    source = Source(data="demo:digits-naive-bayes")
    parts = session.parts(source)
    rows = np.array([0, 5, 7])
    table = cc.calls.row_table(parts.test, rows, parts.test_rows)
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
        bin=3,
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
    app = opened(Selection(view="reliability"))
    pills = next(group for group in app.button_group if group.label.startswith("Calibrators, fitted"))
    pills.set_value(["top-label-hb", "temperature"]).run()
    assert not app.exception
    link = dict(app.query_params)
    held = Selection.from_query(link)[0].calibrators
    assert [recipe.key for recipe in held] == ["temperature", "top-label-hb"]


@pytest.fixture
def plugged_in() -> Iterator[str]:
    """Register a calibrator as a file of somebody else would."""

    @CALIBRATORS.register("test-softener", "Softener", flags=Contract("full", keeps_argmax=True, sums_to_one=True))
    @dataclass(eq=False, repr=False)
    class Softener(Calibrator):
        """Mixes every row with the uniform one."""

        amount: Annotated[float, Range(0, 1), "how much of the uniform row"] = 0.25
        twice: Annotated[bool, Flag(), "do it twice"] = False
        mode: Annotated[str, Choice(("mild", "strong")), "how"] = "mild"

        def _fit(self, predictions: Predictions, progress: object) -> None:
            self.k_ = predictions.n_classes

        def _apply(self, predictions: Predictions, progress: object) -> Predictions:
            probs = predictions.probs
            mixed = (1 - self.amount) * probs + self.amount / probs.shape[1]
            return Predictions(mixed, predictions.true_labels, class_names=predictions.class_names)

    yield "test-softener"
    CALIBRATORS.remove("test-softener")


def test_a_registered_calibrator_appears_with_its_own_controls(plugged_in: str) -> None:
    app = opened(Selection(view="reliability", calibrators=(Recipe("CALIBRATORS", plugged_in),)))
    assert "Softener" in [trace.get("name") for trace in drawn(app)["reliability"].figure["data"]]
    labels = [w.label for w in (*app.number_input, *app.toggle, *app.selectbox)]
    assert {"Amount", "Twice", "Mode"} <= set(labels)
    amount = next(w for w in app.number_input if w.label == "Amount")
    amount.set_value(0.5).run()
    assert not app.exception
    link = dict(app.query_params)
    assert Selection.from_query(link)[0].calibrators == (CALIBRATORS.described(plugged_in, amount=0.5),)


def test_a_room_has_tabs_from_two_views_on(monkeypatch: pytest.MonkeyPatch) -> None:
    header: Any = import_module("dashboard.frame.header")
    every = [view for view in VIEWS.values() if not view.missing]
    offered: list[list[str]] = []
    monkeypatch.setattr(header.st, "segmented_control", lambda _, keys, **__: offered.append(keys))
    monkeypatch.setattr(header.widgets, "tied_to", lambda *_: {})
    for n in (1, 2, 3):
        monkeypatch.setattr(header, "views_of", lambda _, n=n: tuple(every[:n]))
        header.tabs(Selection(view=every[0].key))
    assert [len(keys) for keys in offered] == [2, 3]


def test_a_few_calibrators_are_offered_beside_those_ticked() -> None:
    for keys in ((), ("temperature",), model_keys()[:7]):
        ticked = tuple(Recipe("CALIBRATORS", key) for key in keys)
        app = opened(Selection(view="classes", source=Source(data="demo:wine-logistic"), calibrators=ticked))
        (chips,) = (g for g in app.button_group if g.label == "Calibrators to compare with the original model")
        assert len(chips.options) == max(chips_module.OFFERED, len(keys))


def on_request_page() -> None:
    import streamlit as st

    from dashboard.views.on_request import wanted

    if wanted("one", "It takes a minute."):
        st.text("made")


def test_what_takes_long_says_that_it_is_at_work_and_that_it_was_stopped() -> None:
    def said() -> str:
        return " ".join(caption.value for caption in app.caption).replace("\\", "")

    app = AppTest.from_function(on_request_page).run()
    assert said() == "It takes a minute."
    app.button(key="compute.one").click().run()
    assert said() == ":material/hourglass_top: Computing. It takes a minute."
    assert [text.value for text in app.text] == ["made"]
    app.button(key="cancel.one").click().run()
    assert said() == "Stopped; no result was saved. It takes a minute."
    assert not app.text
    app.run()
    assert said() == "It takes a minute."
