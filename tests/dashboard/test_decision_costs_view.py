"""Decisions in the Recalibrate room: costs on screen are those of the table and of the link, and may not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from click.testing import CliRunner
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import Recipe
from dashboard import session
from dashboard.chart import drawn
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.selection import Selection, Source
from dashboard.views import decision_costs
from tests.dashboard.test_views import opened

TWO = Source(data="demo:breast-cancer-svm")
COSTS = "0 5; 1 0"


def asked(costs: str = "", **more: Any) -> tuple[AppTest, Selection]:
    exhibit = EXHIBITS.described("decisions", **({"costs": costs} if costs else {}))
    selection = Selection(view="calibrators", **{"source": TWO, **more}).with_exhibit(exhibit)
    app = opened(selection)
    app.segmented_control(key="recalibrate.more").set_value("decisions").run()
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
    expected = cc.decisions.decision_costs(models, COSTS, dict.fromkeys(titles[1:], titles[0]))
    np.testing.assert_array_equal(table(app, "realised")["realised"], expected["realised"])
    np.testing.assert_array_equal(table(app, "realised")["change"], expected["change"])
    curve = next(t for t in drawn(app)["decision-curve"].figure["data"] if t.get("name") == titles[0])
    assert len(curve["x"]) == 99


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
    assert any("the probabilities of the other classes are unknown" in info.value for info in app.info)


def test_the_command_takes_costs() -> None:
    answer = CliRunner().invoke(
        main, ["show", "decisions", TWO.data, "--set", f"costs={COSTS}", "--format", "csv"], prog_name="calib"
    )
    assert answer.exit_code == 0, answer.output
    assert answer.stdout.startswith("model,rows,expected,realised")
