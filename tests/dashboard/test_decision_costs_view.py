"""Decisions in the Recalibrate room: costs on screen equal those of the table and the link, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import Recipe
from calib_core.text import points, score
from dashboard import session
from dashboard.chart import drawn
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS, decisions
from dashboard.selection import Selection, Source
from dashboard.theme import markdown_plain
from dashboard.views import decision_costs
from tests.dashboard.test_views import opened

TWO = Source(data="demo:breast-cancer-svm")
COSTS = "0 5; 1 0"


def asked(costs: str = "", **more: Any) -> tuple[AppTest, Selection]:
    """Return the question about decisions, opened by a link."""
    exhibit = EXHIBITS.described("decisions", **({"costs": costs} if costs else {}))
    selection = Selection(view="calibrators", question="decisions", **{"source": TWO, **more}).with_exhibit(exhibit)
    app = opened(selection)
    assert app.segmented_control(key="recalibrate.more").value == "decisions"
    assert not app.exception, [e.value for e in app.exception]
    return app, selection


def table(app: AppTest, column: str) -> Any:
    return next(d.value for d in app.dataframe if column in d.value.columns)


def test_the_table_is_of_the_costs_in_the_link() -> None:
    app, selection = asked(COSTS)
    np.testing.assert_array_equal(table(app, "decided")[["0", "1"]], [[0, 5], [1, 0]])
    scene = session.scene_of(Selection.from_query(selection.to_query())[0])
    models = {title: scene.get(rows) for title, rows in scene.predictions().items()}
    titles = list(models)
    expected = cc.evaluation.decisions.decision_costs(models, COSTS, dict.fromkeys(titles[1:], titles[0]))
    shown = next(t.value for t in app.table if "realized cost" in t.value.index)
    assert shown.loc["realized cost"].tolist() == [markdown_plain(score(cost)) for cost in expected["realised"]]
    headlines = " ".join(m.value for m in app.markdown).replace("\\", "").replace("\u200b", "").replace("\u00a0", " ")
    assert all(sentence.split("; it is")[0] in headlines for sentence in cc.evaluation.decisions.cost_words(expected))
    # The costs of two classes turn at a sixth of class 1: there curve and table are, of the event, and no threshold is
    # requested.
    event = models[titles[0]].event
    assert app.selectbox(key="decisions.class").value == event == 0
    t = round(5 / 6, 6)
    worth = cc.evaluation.decisions.net_benefits(models, t, bases=dict.fromkeys(titles[1:], titles[0]))
    shown = next(t.value for t in app.table if "net benefit" in t.value.index)
    assert shown.loc["net benefit"].tolist() == [markdown_plain(points(each)) for each in worth["benefit"]]
    assert drawn(app)["decision-curve"].figure["layout"]["shapes"][0]["x0"] == t
    assert not [field for field in app.number_input if field.label == "Threshold"]
    curve = next(t for t in drawn(app)["decision-curve"].figure["data"] if t.get("name") == titles[0])
    assert len(curve["x"]) == 99


def test_one_class_against_the_rest_is_chosen_and_so_is_the_threshold() -> None:
    app, _ = asked(source=Source(data="demo:synthetic-three-class"))
    assert any("choose the one to act on" in info.value for info in app.info)
    app.selectbox(key="decisions.class").set_value(2).run()
    assert app.session_state["calib.selection"].code == 2
    app.number_input(key="exhibit.decision-curve.threshold").set_value(0.3).run()
    assert not app.exception
    assert drawn(app)["decision-curve"].figure["layout"]["shapes"][0]["x0"] == 0.3
    link = app.session_state["calib.selection"].to_query()
    kept = {recipe.key: dict(recipe.params) for recipe in Selection.from_query(link)[0].exhibits}
    assert kept == {"decision-curve": {"threshold": 0.3}, "net-benefit": {"threshold": 0.3}}


def uploader(app: AppTest) -> Any:
    return next(field for field in app.file_uploader if field.label == "Costs (CSV)")


def test_costs_come_from_a_file_or_it_says_why_not() -> None:
    app, _ = asked()
    names = session.scene_of(Selection(source=TWO)).class_names
    csv = f"decided,{names[1]},{names[0]}\n{names[1]},0,1\n{names[0]},5,0\n"
    uploader(app).set_value(("mine.csv", csv.encode(), "text/csv")).run()
    assert dict(app.session_state["calib.selection"].exhibit("decisions").params) == {"costs": COSTS}
    uploader(app).set_value(("mine.csv", csv.replace("5", "five").encode(), "text/csv")).run()
    (error,) = [e.value.replace("\\", "") for e in app.error]
    assert error == f'These costs are not used: mine.csv, line 3, "{names[1]}": "five" is not a finite number.'
    assert dict(app.session_state["calib.selection"].exhibit("decisions").params) == {"costs": COSTS}


def test_costs_typed_in_are_chosen_and_the_usual_ones_leave_no_trace(monkeypatch: Any) -> None:
    chosen: list[Recipe] = []
    monkeypatch.setattr(decision_costs.widgets, "change_exhibit", chosen.append)
    decision_costs.put(1 - np.eye(2), {0: {"1": 5}})
    decision_costs.put(np.array([[0.0, 5.0], [1.0, 0.0]]), {0: {"1": 1}})
    assert [dict(recipe.params) for recipe in chosen] == [{"costs": COSTS}, {}]


def test_costs_that_do_not_fit_are_refused_in_words_and_others_are_offered() -> None:
    app, _ = asked("0 1 2; 1 0 2; 1 1 0")
    assert any("costs have 3 x 3 numbers" in info.value.lower() for info in app.info)
    np.testing.assert_array_equal(table(app, "decided")[["0", "1"]], [[0, 1], [1, 0]])


def test_rows_that_hold_no_whole_distribution_are_refused() -> None:
    app, _ = asked(source=Source(data="demo:language-model"))
    assert any("probabilities of other classes are unknown" in info.value for info in app.info)


@pytest.mark.parametrize(
    ("low", "high", "p", "word"),
    [(0.01, 0.03, 0.001, "higher"), (-0.03, -0.01, 0.05, "lower"), (-0.01, 0.03, 0.4, None), (0.01, 0.03, 0.06, None)],
)
def test_acting_is_worth_more_where_the_benefit_rises(low: float, high: float, p: float, word: str | None) -> None:
    said = decisions._changed({"change": (low + high) / 2, "change_low": low, "change_high": high, "p": p})
    assert ("higher" in said, "lower" in said) == (word == "higher", word == "lower")
    sign = "+" if high > 0 else "−"
    assert f"{sign}{abs(100 * high):g} point" in said


def test_the_command_takes_costs() -> None:
    answer = CliRunner().invoke(
        main, ["show", "decisions", TWO.data, "--set", f"costs={COSTS}", "--format", "csv"], prog_name="calib"
    )
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.startswith("model,rows,expected,realised")


def test_a_threshold_leads_to_costs_and_costs_to_a_threshold() -> None:
    chosen = {"exhibits": (EXHIBITS.described("net-benefit", threshold=0.2),)}
    app, _ = asked(**chosen)
    captions = " ".join(caption.value for caption in app.caption).replace("\u00a0", " ").replace("\\", "")
    assert "A threshold of 20 % means that one missed case is as bad as 4 false alarms." in captions
    app, _ = asked(COSTS)  # 5 for a missed class 1; the event is class 0
    captions = " ".join(caption.value for caption in app.caption).replace("\u00a0", " ").replace("\\", "")
    assert "one false alarm is as bad as 5 missed cases" in captions
    for threshold in (0.01, 0.2, 0.5, 0.9):
        ratio = (1 - threshold) / threshold
        assert cc.evaluation.decisions.cost_threshold(f"0 {ratio}; 1 0") == pytest.approx(threshold)
