"""Two classes: the risk of the event next to its observed frequency, in the file's terms."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.special import expit

import calib_core as cc
from calib_core import Recipe
from calib_core.text import short_percent
from dashboard import session
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.event_words import beside_advice, in_the_large, in_words, of_scene
from dashboard.exhibits.recommendation import Recommendation
from dashboard.frame import event
from dashboard.report.request import Options, Request
from dashboard.selection import Selection, Source, recommended
from dashboard.session import Scene
from dashboard.session.result_cache import RESULTS
from dashboard.views import next_step
from tests.dashboard.test_one_wording import next_step_of
from tests.dashboard.test_views import opened


def selected(risks: list[float], events: list[int], header: str = "risk,event", more: Any = None) -> Selection:
    rows = zip(risks, events, more or [None] * len(risks), strict=True)
    lines = [",".join(str(value) for value in row if value is not None) for row in rows]
    data = "\n".join([header, *lines]).encode()
    return Selection(source=Source(data=session.hold(data, "risk.csv").key), calibrators=())


def risks_of(n: int = 300, times: float = 0.5) -> tuple[list[float], list[int]]:
    rng = np.random.default_rng(0)
    risks = np.round(rng.uniform(0.05, 0.6, n), 3)
    return risks.tolist(), (rng.uniform(size=n) < times * risks).astype(int).tolist()


@pytest.fixture(scope="module")
def halved() -> Scene:
    return session.scene_of(selected(*risks_of()))


@pytest.mark.parametrize(
    ("header", "ids", "wanted"),
    [
        ("risk,died", None, ("rows", "died")),
        ("risk,readmitted", None, ("rows", "were readmitted")),
        ("risk,outcome", None, ("rows", "were of class 1")),
        ("risk,died,patient_id", range(300), ("patients", "died")),
        ("risk,died,patient_id", [i // 2 for i in range(300)], ("rows", "died")),
    ],
)
def test_the_file_gives_the_words(header: str, ids: Any, wanted: tuple[str, str]) -> None:
    """Rows are called patients only if each is another patient."""
    scene = session.scene_of(selected(*risks_of(), header, None if ids is None else list(ids)))
    assert in_words(scene) == wanted


def test_the_headline_is_about_the_event_where_the_model_lives(halved: Scene) -> None:
    rows = session.parts(halved.sources[0]).test
    risk = np.sort(rows.probs[:, 1])[-30:].mean()
    assert halved.asked_about == pytest.approx(risk)
    wanted = cc.diagrams.local_frequency(rows, words=in_words(halved)).answer(halved.asked_about)
    assert EXHIBITS.make("hero").words(halved).caption == f"{wanted.headline} {wanted.basis}."
    assert wanted.headline.startswith("Of rows given a risk of about ")


def test_a_link_that_asks_about_a_confidence_opens_what_it_showed() -> None:
    plain = selected(*risks_of())
    asked = {
        "": "event", "confidence=0.8": "confidence", "notion=confidence": "confidence", "risk=0.3": "event",
        "confidence=0.8&risk=0.3": "event", "notion=class-wise&confidence=0.8": "event",
    }  # fmt: skip
    for query, claims in asked.items():
        given = dict(part.split("=") for part in query.split("&") if part)
        selection, problems = Selection.from_query({**plain.to_query(), **given})
        assert not problems
        assert session.scene_of(selection).claims == claims, query
    many = Selection(source=Source(data="demo:digits-mlp"), confidence=0.8)
    assert session.scene_of(many).asked_notion is None, "more classes are judged as before"


def test_judging_by_confidence_changes_verdict_headline_and_evidence() -> None:
    plain = selected(*risks_of())
    other = plain.replace(**event.judging("confidence"))
    scene = session.scene_of(other)
    assert (scene.claims, scene.notion) == ("confidence", "confidence")
    table = scene.get(EXHIBITS.make("verdict").table(scene))
    assert table["notion"].tolist() == ["confidence"]
    assert EXHIBITS.make("hero").words(scene).caption.startswith("When it says")
    back = session.scene_of(other.replace(**event.judging("event")))
    assert back.get(EXHIBITS.make("verdict").table(back))["notion"].tolist() == ["event"]


def test_the_event_is_changed_in_the_reading_and_back() -> None:
    plain = selected(*risks_of(), "risk,died")
    named = event.named(plain)
    assert named is not None
    assert (named.title, named.titled("0")) == ("died", "died = 0")
    other = plain.replace(**event.of_another(plain, "0"))
    assert '"event":"0"' in other.source.reading
    rows, swapped = session.parts(plain.source).test, session.parts(other.source).test
    assert (rows.event, swapped.event) == (1, 0)
    assert of_scene(session.scene_of(other)) == "died = 0"
    assert session.scene_of(other).asked_about > 0.5 > session.scene_of(plain).asked_about - 0.2
    again = other.replace(**event.of_another(other, "1"))
    assert again.source.reading == plain.source.reading, "a link says no more than was changed"


def test_the_second_tolerance_is_in_link_verdict_and_command() -> None:
    """Risks 1.25 times too low in 4,000 rows are outside a ratio of 1.1, but not outside one of 2."""
    risks, events = risks_of(4000, times=1.25)
    plain = selected(risks, events).replace(eps=0.2)
    words = {}
    for ratio in (1.1, 2.0):
        selection = Selection.from_query(plain.replace(ratio=ratio).to_query())[0]
        assert selection.ratio == ratio
        scene = session.scene_of(selection)
        words[ratio] = scene.get(EXHIBITS.make("verdict").table(scene))["verdict"].item()
        assert f"--ratio {ratio}" in session.show_line(selection, EXHIBITS.recipe(EXHIBITS.make("verdict")))
    assert words == {1.1: "miscalibrated", 2.0: "within"}


def test_advice_to_leave_the_model_says_that_the_gap_is_shown(halved: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    leave = SimpleNamespace(
        recalibrate=False, price=(), among=9, score="log-loss", headline="No calibrator significantly helps",
        simple=None,
    )  # fmt: skip
    said = ("No calibrator significantly helps. None helps.", beside_advice(halved))
    monkeypatch.setattr(Recommendation, "advice", lambda *_: said)
    headline, effect, rests = next_step.words(leave, halved)  # type: ignore[arg-type]
    assert (headline, effect) == ("No calibrator significantly helps.", "None helps.")
    assert beside_advice(halved)
    assert rests.startswith(beside_advice(halved))
    assert "This gap is significant" in rests
    leave.recalibrate = True
    monkeypatch.setattr(Recommendation, "advice", lambda *_: ("Leave the model unchanged. It helps.",))
    assert "This gap" not in next_step.words(leave, halved)[2]  # type: ignore[arg-type]


@pytest.mark.parametrize(("seed", "shown"), [(3, True), pytest.param(0, False, marks=pytest.mark.wide)])
def test_an_error_that_is_shown_beside_no_gain_is_the_same_on_every_page(
    seed: int, shown: bool, tmp_path: Path
) -> None:
    """Risks are right on average and too extreme, and half of 1,500 rows show no gain of a calibrator."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(-0.9, 1.3, 1500)
    happened = (rng.random(1500) < expit(0.85 * logit)).astype(int)
    selection = selected(expit(logit).tolist(), happened.tolist(), "risk,died")
    scene = session.scene_of(selection)
    exhibit = Recommendation.suited(scene)
    found = scene.get(exhibit.found(scene))
    assert not found.recalibrate
    error = beside_advice(scene)
    assert bool(error) == shown
    leaves = {}
    headline, _, rests = next_step.words(found, scene)
    leaves["screen"] = headline
    assert rests.startswith(error)
    step = next_step_of(Request(selection, Options()))
    leaves["report"] = step.text
    assert step.text.endswith(error)
    frame = pd.DataFrame({"risk": expit(logit), "died": happened})
    frame.to_csv(file := tmp_path / "risk.csv", index=False)
    record = json.loads(CliRunner().invoke(main, ["choose", str(file), "--json"]).stdout)
    leaves["choose"] = record["sentences"][0]
    assert (record["shown_error"] or "") == error
    tests = json.loads(CliRunner().invoke(main, ["audit", str(file), "--json"]).stdout)["models"]
    (words,) = (model["error_tests"] for model in tests.values())
    assert words in CliRunner().invoke(main, ["show", "in-the-large", str(file)]).stdout.splitlines()
    details = [] if shown else ["--details"]
    assert words in CliRunner().invoke(main, ["audit", str(file), *details]).stdout.splitlines()
    assert ("calibration slope" in words.partition("Significant: ")[2]) == shown == ("calibration slope is" in error)
    assert {name: text.startswith("Leave the model unchanged") for name, text in leaves.items()} == dict.fromkeys(
        ("screen", "report", "choose"), not shown
    )


def test_a_gap_that_can_be_chance_changes_no_advice() -> None:
    assert beside_advice(session.scene_of(selected([0.25, 0.75] * 60, [0, 0, 0, 1, 1, 1, 0, 1] * 15))) == ""


def test_more_classes_than_two_have_no_event() -> None:
    many = Selection(source=Source(data="demo:digits-mlp"), calibrators=())
    assert session.scene_of(many).claims == "confidence"
    assert event.named(many) is None


def of_sites(n: int = 900) -> tuple[Selection, bytes]:
    """Return risks of three sites; those of one are twice too high."""
    rng = np.random.default_rng(4)
    risk, site = rng.beta(2, 4, n), np.array(list("abc"))[np.arange(n) % 3]
    died = (rng.random(n) < np.where(site == "c", 0.4 * risk, risk)).astype(int)
    data = pd.DataFrame({"risk": risk, "died": died, "site": site}).to_csv(index=False).encode()
    return Selection(source=Source(data=session.hold(data, "sites.csv").key), view="overview"), data


def test_the_update_that_is_advised_is_the_first_chip_and_the_command_says_the_same(tmp_path: Path) -> None:
    selection, data = of_sites()
    scene = session.scene_of(selection)
    exhibit = Recommendation.suited(scene)
    found = scene.get(exhibit.found(scene))
    assert dict(found.recipe.params) == {"by": "site", "only": "c"}
    said = exhibit.advice(scene, found)
    assert said[0].startswith(f"{found.headline}. The calibration error ")
    assert "risk of site = c only" in found.headline
    line = scene.get(EXHIBITS.make("verdict").table(scene)).to_dict("records")[0]
    assert f"error is estimated to fall from {short_percent(line['point'])} to " in said[0], "the strip's own number"
    (file := tmp_path / "sites.csv").write_bytes(data)
    record = json.loads(CliRunner().invoke(main, ["choose", str(file), "--json"]).stdout)
    assert record["sentences"][: len(said)] == list(said)
    RESULTS.clear()
    app = opened(selection.replace(view="reliability"))  # first of all pages
    chips = next(each for each in app.button_group if each.key == "calibrators")
    untouched = [each for each in chips.options if "Temperature" not in each]
    assert "only c" in untouched[0]


def test_the_first_to_try_with_a_risk_are_updates_of_it() -> None:
    assert set(recommended("full", event=True)) == {"intercept", "logistic-recalibration", "dirichlet"}
    assert "isotonic-ovr" in recommended("full")


def test_the_event_has_its_name_in_fitted_numbers_and_in_the_table_of_costs() -> None:
    selection, _ = of_sites(300)
    scene = session.scene_of(selection.replace(calibrators=(Recipe("CALIBRATORS", "intercept"),)))
    assert " died" in EXHIBITS.make("fitted").words(scene).caption
    assert "died = 0, died" in " ".join(EXHIBITS.make("decisions").words(scene).notes)


def test_the_mean_over_all_rows_is_of_the_event_of_two_classes_unless_the_class_predicted_is_wanted(tmp_path):
    """Risks are twice too high, mostly below one half: the mean risk is far off, the confidence hardly."""
    risk = np.random.default_rng(0).beta(2, 5, 400)
    died = np.random.default_rng(1).random(400) < risk / 2
    path = tmp_path / "risk.csv"
    pd.DataFrame({"risk": risk.round(4), "died": died.astype(int)}).to_csv(path, index=False)

    def claimed(*more):
        ended = CliRunner().invoke(main, ["show", "overall", str(path), "--format", "csv", *more], prog_name="calib")
        assert ended.exit_code == 0, ended.output
        return pd.read_csv(io.StringIO(ended.stdout)).iloc[0]

    for more in ((), ("--notion", "event")):
        assert claimed(*more)["claimed"] == pytest.approx(risk.mean(), abs=1e-3)
        assert claimed(*more)["right"] == pytest.approx(died.mean())
    confidence = np.maximum(risk, 1 - risk)
    assert claimed("--notion", "top-label")["claimed"] == pytest.approx(confidence.mean(), abs=1e-3)


def test_a_gap_that_is_chance_is_not_drawn_out_by_digits() -> None:
    """The values 40.004 % predicted and 40 % observed are both 40 %: more digits would suggest a difference."""
    selection = selected([0.4001, *[0.4] * 398, 0.4155], [1, 1, 0, 0, 0] * 80)
    scene = session.scene_of(selection.replace(view="overview"))
    found = scene.get(in_the_large(scene))
    assert (found.differs, found.mean_predicted == found.observed) == (False, False)
    app = opened(selection.replace(view="overview"))
    text = " ".join(element.value for element in (*app.markdown, *app.caption)).replace("\u00a0", " ")
    assert "(40 % predicted, 40 % observed" in text.replace("\\", "")
