"""The evidence room: forest plot and finding, explanations of numbers, curves with controls, costly exhibits."""

from __future__ import annotations

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib_core import ESTIMATORS, REDUCTIONS, Recipe
from calib_core.inference import coverage_table, primary
from calib_core.risk import in_the_large
from calib_core.text import chance
from dashboard import session
from dashboard.chart import drawn, slot
from dashboard.chart.click import Click
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.tests import shown
from dashboard.navigation import views_of
from dashboard.selection import Selection, Source
from dashboard.theme import markdown_plain, unbroken
from dashboard.views import on_request, one_curve
from dashboard.views.estimators import _sentence, in_its_notion
from dashboard.views.explained import misleads
from tests.dashboard.test_views import opened

WINE = Source(data="demo:wine-logistic")


def texts(app: AppTest) -> str:
    """Return all text on the page, without Markdown marks."""
    return " ".join(element.value for element in (*app.markdown, *app.caption)).replace("\\", "")


def test_the_room_has_its_views_in_order() -> None:
    assert [view.key for view in views_of("evidence")] == [
        "estimators", "tests", "curves", "coverage", "planner", "arena", "lab", "papers",
    ]  # fmt: skip


def test_the_forest_is_the_exhibits_and_its_finding_stands_above_it() -> None:
    selection = Selection(source=WINE, view="estimators", notion="confidence")
    app = opened(selection)
    scene = session.scene_of(selection)
    forest = scene.get(EXHIBITS.make("estimators").forest(scene))
    traces = {trace["name"]: trace for trace in drawn(app)["estimators"].figure["data"]}
    assert traces["points"]["text"][0] == f"<b>{forest.frame()['points'][0]}</b>"
    verdict, rest = forest.headline.split(". All ")
    assert f"##### {unbroken(verdict)}.\n" in texts(app)
    assert f"All {rest}" in texts(app)
    assert len(traces["no interval yet"]["x"]) == len(forest.missing)


def test_a_verdict_of_a_line_within_its_noise_floor_is_explained() -> None:
    selection = Selection(source=Source(data="demo:digits-naive-bayes"), view="estimators", calibrators=())
    scene = session.scene_of(selection)
    exhibit = EXHIBITS.make("estimators")
    lines = scene.get(exhibit.forest(scene)).frame().set_index("title")
    within = lines[(lines["value"] <= lines["floor"]) & (lines["verdict"] == "miscalibrated")]
    assert list(within.index) == ["MCE", "MCE of bins (mean over classes)"]
    _, _, explained = exhibit.words(scene).caption.partition("one line per estimator. ")
    titles, _, rest = explained.partition(":")
    assert titles.split(" and ") == list(within.index)
    assert f"that of the significant {within['p_of'].iloc[0]}," in rest
    figure = scene.get(exhibit.figure(scene))
    marks = {record["title"]: record for trace in figure.data if trace.customdata for record in trace.customdata}
    assert marks["MCE"]["chance"] == f" ({chance(within['p'].iloc[0])}, {within['p_of'].iloc[0]})"
    assert all("customdata.chance" in trace.hovertemplate for trace in figure.data)
    caption = EXHIBITS.make("estimators").words(session.scene_of(Selection(source=WINE))).caption
    assert "that of the significant" not in caption


def test_a_button_makes_the_missing_intervals() -> None:
    app = opened(Selection(source=WINE, view="estimators", notion="confidence", calibrators=()))
    app.button(key="estimators.slow").click().run()
    assert not app.exception
    trace = next(t for t in drawn(app)["estimators"].figure["data"] if t["name"] == "no interval yet")
    assert not len(trace["x"])
    assert '"slow":true' in app.query_params["exhibits"]
    app.button(key="estimators.quick").click().run()
    assert "exhibits" not in app.query_params


def test_a_click_on_a_line_opens_what_this_number_is() -> None:
    app = opened(Selection(source=WINE, view="estimators", notion="confidence", calibrators=()))
    assert not any("Smooth ECE: principled" in text for text in texts(app).splitlines())
    app.session_state[slot("estimators")] = Click(
        1, 0, {"model": "Original model", "estimator": "smece"}, None, None, 1
    )
    app.run()
    assert not app.exception
    assert ESTIMATORS["smece"].formula in [element.value.strip("$\n ") for element in app.latex]
    assert misleads(ESTIMATORS["smece"]) in texts(app)
    assert "Smooth ECE: principled reliability diagrams" in texts(app)
    app.run()
    assert ESTIMATORS["smece"].formula not in [element.value.strip("$\n ") for element in app.latex]


def test_only_notions_that_can_be_answered_are_offered() -> None:
    app = opened(Selection(source=Source(data="demo:language-model"), view="estimators", notion="class-wise"))
    (group,) = [group for group in app.get("button_group") if group.key == "evidence.notion"]
    assert [option.content for option in group.proto.options] == ["Confidence", "Top-label"]
    assert drawn(app)["estimators"].trace("points")["customdata"][0]["estimator"] == "ece"
    assert misleads(REDUCTIONS["confidence"]) in texts(app)
    app = opened(Selection(source=WINE, view="estimators", notion="canonical"))
    assert drawn(app)["estimators"].trace("no interval yet")["customdata"][0]["estimator"] == "skce"


def test_a_curve_stands_beside_its_controls_and_both_are_in_the_link() -> None:
    app = opened(Selection(source=WINE, view="curves"))
    assert [*drawn(app)] == ["kernel-curve"]
    app.selectbox(key="exhibit.kernel-curve.band").select("none").run()
    assert not any("band" in (t.get("name") or "") for t in drawn(app)["kernel-curve"].figure["data"])
    chosen, problems = Selection.from_query({"exhibits": app.query_params["exhibits"]})
    assert not problems
    assert dict(chosen.exhibit("kernel-curve").params) == {"band": "none"}
    for key in one_curve.CURVES:
        app = opened(Selection(source=WINE, view="curves", about=key))
        assert [*drawn(app)] == [key]
        assert EXHIBITS[key].cls.formula in [element.value.strip("$\n ") for element in app.latex]


def test_with_many_classes_what_is_costly_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_request, "MANY", 10)
    app = opened(Selection(source=Source(data="demo:imbalanced-forest"), view="tests", calibrators=()))
    buttons = {button.key: button for button in app.button if "compute." in str(button.key)}
    assert sorted(key.split()[0] for key in buttons) == ["compute.notions", "compute.scores"]
    before = len(app.table)
    next(button for key, button in buttons.items() if "scores" in key).click().run()
    assert not app.exception
    assert len(app.table) == before + 1
    app.run()
    assert not [button for button in app.button if "cancel." in str(button.key)], "its result is here"


def test_both_simulated_tables_are_exhibits_with_a_sentence_on_how_to_read_them() -> None:
    selection = Selection(source=WINE, view="coverage", calibrators=())
    app = opened(selection)
    frame = coverage_table()
    tested = frame[(frame["tested"] == 1) & (frame["level"] == 0.9)]
    assert f"In {len(tested)} simulated cases" in texts(app)
    assert np.quantile(tested["coverage"], 0.05) > 0.85


@pytest.mark.parametrize(
    ("p", "sentence"),
    [
        ([0.2, 0.5], "None of 2 tests shows an error"),
        ([0.01, 0.04], "2 of 2 tests show some error"),
        ([np.nan], "No test"),
    ],
)
def test_the_tests_sentence_counts_what_is_left_after_correction(p: list[float], sentence: str) -> None:
    import pandas as pd

    assert shown(pd.DataFrame({"p_holm": p})).startswith(sentence)


@pytest.mark.parametrize("gap", [0.055, 0.0])
def test_a_mean_gap_that_no_test_shows_is_told_beside_them(gap: float) -> None:
    rows = np.arange(400)
    risks = np.round(np.random.default_rng(0).uniform(0.4, 0.6, 400), 3)
    outcomes = (rows * 0.6180339887 % 1 < risks - gap).astype(int)
    lines = "\n".join(["risk,died", *(f"{risk},{y}" for risk, y in zip(risks, outcomes, strict=True))])
    source = Source(data=session.hold(lines.encode(), "risk.csv").key)
    scene = session.scene_of(Selection(source=source, view="tests", calibrators=()))
    exhibit = EXHIBITS.make("tests")
    assert shown(scene.get(exhibit.table(scene))).startswith("None of 3 tests")
    found = in_the_large(session.parts(source).test)
    assert found.differs == (gap > 0)
    assert (chance(found.p_value) in exhibit.words(scene).caption) == found.differs


def test_no_paper_codes_on_screen() -> None:
    for view in ("estimators", "tests", "curves", "coverage", "planner"):
        app = opened(Selection(source=WINE, view=view, calibrators=(Recipe("CALIBRATORS", "temperature"),)))
        words = texts(app)
        assert not [code for code in ("P1 ", "P2 ", "P3 ", "P4 ", "P5 ") if f" {code}" in f" {words}"], view
        assert markdown_plain("random_state") not in words


def test_a_line_without_a_verdict_is_said_without_one() -> None:
    numbers = {"points": "1.1", "interval": "0 to 8", "measured": "2.3", "noise": "8.8"}
    line = {"estimator": "ece", "verdict": None, **numbers}
    raw = "he raw value, by the formula below, is 2.3 points; its noise floor is 8.8 points."
    assert _sentence("net", line) == f"net: 1.1 points (0 to 8), corrected for noise. T{raw}"
    assert _sentence("net", {**line, "verdict": "within"}).startswith(
        "net: 1.1 points (0 to 8), corrected for noise, within"
    )
    assert _sentence("net", {**line, "interval": "not computed"}) == f"net: t{raw}"


def test_where_nobody_chose_a_notion_evidence_opens_on_the_one_the_verdict_rests_on() -> None:
    for source in (WINE, Source(data="demo:digits-naive-bayes")):
        selection = Selection(source=source, view="estimators", calibrators=())
        scene, rests_on = session.scene_of(selection), primary(session.parts(source).test).notion
        assert in_its_notion(scene).notion == scene.notion == rests_on
        chosen = session.scene_of(Selection.from_query(selection.replace(notion="top-label").to_query())[0])
        assert in_its_notion(chosen).notion == "top-label"
