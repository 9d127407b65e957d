"""Default tick of calibrators, and precedence of a choice, a link and a stop of the tour."""

from __future__ import annotations

import json
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import Recipe
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.recommendation import Recommendation, about_table, everywhere
from dashboard.report import CHAPTERS
from dashboard.selection import Selection, Source
from tests.dashboard.test_views import APP, opened

LOGISTIC, TEMPERATURE = (Recipe("CALIBRATORS", key) for key in ("logistic-recalibration", "temperature"))


def file_of(name: str, factor: float, seed: int) -> str:
    """Return the key of a file of risks in which events are this factor as frequent as predicted."""
    rng = np.random.default_rng(seed)
    risk = rng.beta(2, 5, 400)
    lines = (f"{p:.4f},{int(rng.random() < factor * p)}" for p in risk)
    return session.hold("\n".join(["risk,died", *lines]).encode(), name).key


@pytest.fixture
def risks() -> str:
    """Return the key of a file whose risks are twice too high."""
    return file_of("risk.csv", 0.5, 0)


@pytest.fixture
def right() -> str:
    """Return the key of a file whose risks are right."""
    return file_of("right.csv", 1.0, 1)


def through(view: str, data: str) -> AppTest:
    """Return the app as a link to a view and a file opens it, without calibrators."""
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params["view"], app.query_params["data"] = view, data
    app.query_params["left_out"] = json.dumps([chapter.key for chapter in CHAPTERS if chapter.key != "summary"])
    return app.run()


def ticked(app: AppTest) -> tuple[Recipe, ...]:
    assert not app.exception, [e.value for e in app.exception]
    selection: Selection = app.session_state["calib.selection"]
    return selection.calibrators


def advised(app: AppTest) -> Recipe | None:
    """Return the calibrator chosen for these rows by the library itself."""
    selection: Selection = app.session_state["calib.selection"]
    return chosen(selection.source)


@cache
def chosen(source: Source) -> Recipe | None:
    parts = session.parts(source)
    held_out = None if parts.note else parts.test
    found = cc.choose(parts.fit, random_state=source.seed, held_out=held_out)
    return found.recipe if found.recalibrate else None


def first_visit() -> AppTest:
    return AppTest.from_file(str(APP), default_timeout=60).run()


def opened_by_hand(key: str) -> AppTest:
    """Return the app with a file chosen among those of the session, from the first visit on."""
    app = first_visit()
    app.session_state["calib.data.uploads"] = (key,)
    app.session_state["calib.selection"] = Selection(view="data", calibrators=())
    app.run()
    app.radio("data.choice.mine").set_value(key).run()
    return app


def not_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prevent any automatic recommendation."""
    monkeypatch.setattr(Recommendation, "quick", lambda exhibit, scene: False)


def test_a_file_opened_by_hand_has_the_calibrator_recommended(risks: str) -> None:
    app = opened_by_hand(risks)
    best = advised(app)
    assert best is not None
    assert best not in (LOGISTIC, TEMPERATURE), "else this test says nothing"
    assert ticked(app) == (best,)
    app.button_group("frame.room").set_value("recalibrate").run()
    assert ticked(app) == (best,)
    assert app.query_params["calibrators"], "the link opens what is shown"


def test_so_has_an_example_of_three_classes() -> None:
    app = first_visit()
    app.button("start.example-1").click().run()
    assert ticked(app) == (advised(app),)
    assert ticked(app) != (TEMPERATURE,)


def test_until_it_is_known_no_calibrator_is_ticked(monkeypatch: pytest.MonkeyPatch) -> None:
    not_yet(monkeypatch)
    monkeypatch.setattr(Recommendation, "known", classmethod(lambda cls, scene: None))
    app = first_visit()
    app.button("start.breast-cancer-svm").click().run()
    assert ticked(app) == ()
    app.button("frame.data").click().run()
    app.radio("data.choice.demo").set_value("demo:wine-logistic").run()
    assert ticked(app) == ()
    assert "calibrators" not in app.query_params, "nobody chose"


DOORS = ("overview", "reliability", "calibrators", "estimators", "report")
"""A view of each room."""


@pytest.mark.parametrize("view", DOORS)
def test_every_door_leads_to_the_calibrator_recommended(risks: str, view: str) -> None:
    app = through(view, risks)
    best = advised(app)
    assert best is not None
    assert ticked(app) == (best,)


@pytest.mark.parametrize("view", DOORS)
def test_where_none_is_recommended_no_door_leads_to_a_calibrator(right: str, view: str) -> None:
    app = through(view, right)
    assert advised(app) is None
    assert ticked(app) == ()
    app.button_group("frame.room").set_value("overview" if view != "overview" else "recalibrate").run()
    assert ticked(app) == ()


def test_what_a_person_unticks_stays_in_the_link(risks: str) -> None:
    app = through("reliability", risks)
    best = advised(app)
    assert best is not None
    app.button_group("calibrators").set_value([]).run()
    assert ticked(app) == ()
    again = AppTest.from_file(str(APP), default_timeout=60)
    for name in app.query_params:
        again.query_params[name] = app.query_params[name]
    assert ticked(again.run()) == ()


def test_what_a_person_ticks_stays(risks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    not_yet(monkeypatch)
    monkeypatch.setattr(Recommendation, "known", classmethod(lambda cls, scene: None))
    app = opened_by_hand(risks)
    assert ticked(app) == ()
    app.button_group("frame.room").set_value("explore").run()
    app.button_group("calibrators").set_value([TEMPERATURE.key]).run()
    assert ticked(app) == (TEMPERATURE,)
    monkeypatch.undo()
    app.button_group("frame.room").set_value("overview").run()
    assert ticked(app) == (TEMPERATURE,)
    assert advised(app) not in (None, TEMPERATURE)


def test_a_link_opens_what_it_showed(risks: str) -> None:
    for link in (Selection(Source(data=risks)), Selection(Source(data=risks), calibrators=(LOGISTIC,))):
        app = opened(link)
        app.button_group("frame.room").set_value("recalibrate").run()
        assert ticked(app) == link.calibrators
        assert advised(app) not in link.calibrators


def test_the_advice_follows_a_stated_use_everywhere(risks: str) -> None:
    use = EXHIBITS.described("recommendation", score="cost", costs="0.2")
    selection = Selection(source=Source(data=risks)).with_exhibit(use)
    scene = session.scene_of(selection)
    found = Recommendation.suited(scene).found(scene)
    assert dict(found.options).items() >= {"score": "cost", "costs": "0.2"}.items()
    assert dict(selection.exhibit("decisions").params) == {"costs": "0.2"}
    assert "--set score=cost --set costs=0.2" in session.show_line(selection, use)
    elsewhere = selection.with_exhibit(EXHIBITS.described("decisions", costs="0.3"))
    assert dict(elsewhere.exhibit("recommendation").params) == {"score": "cost", "costs": "0.3"}


def test_a_use_is_stated_in_the_drawer_and_refused_there(risks: str) -> None:
    app = through("calibrators", risks)
    app.selectbox(key="drawer.use.score").set_value("cost").run()
    selection: Selection = app.session_state["calib.selection"]
    assert dict(selection.exhibit("recommendation").params) == {"score": "cost"}
    assert not any("No calibrator is chosen" in each.value for each in app.warning)
    app.session_state["calib.selection"] = selection.with_exhibit(
        EXHIBITS.described("recommendation", worst_of="hospital")
    )
    app.run()
    assert [each.value for each in app.warning if "No calibrator is chosen for the stated use" in each.value]
    assert ticked(app) == ()


def test_the_table_of_a_choice_says_which_rows_its_numbers_are_of():
    rng = np.random.default_rng(0)
    risk = rng.beta(2, 5, 300)
    rows = cc.Predictions(np.column_stack([1 - risk, risk]), (rng.random(300) < risk).astype(int))
    fit, test = rows.take(np.arange(200)), rows.take(np.arange(200, 300))
    folds, held_out = (cc.choose(fit, candidates=[LOGISTIC], folds=3, held_out=given) for given in (None, test))
    assert "averaged over folds; the AUROC of calib audit pools rows of all folds" in about_table(folds)
    assert "averaged over folds" not in about_table(held_out)
    source = SimpleNamespace(everywhere="the source without its slice")
    scene = SimpleNamespace(models=SimpleNamespace(shown=[SimpleNamespace(source=source)]))
    assert everywhere(held_out, scene) == "This advice is about all 300 rows, not only this slice."
    assert everywhere(folds, scene) == "This advice is about all 200 rows, not only this slice."
