"""The guided tour: numbers and sentences are true of the examples, and its links in, through and out work."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from urllib.parse import parse_qsl

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import CALIBRATORS, Predictions
from calib_core.datasets import DEMOS
from calib_core.inference import primary
from calib_core.text import in_percent, percent, short_percent
from dashboard import session
from dashboard.glossary import TERMS
from dashboard.navigation import LEARN, STOPS, views_of
from dashboard.selection import Selection, Source
from dashboard.session import show_line
from dashboard.theme import markdown_plain, unbroken
from dashboard.tour import TOUR, Stop, stops
from tests.dashboard.test_views import APP, opened
from tests.laws.test_words import code_in

READING, BLIND, CHANCE, BINS, MOVED, PROMISED, EVENT, SITES = TOUR
IDS = [stop.title for stop in TOUR]


def parts(stop: Stop) -> tuple[Predictions, Predictions]:
    division = session.parts(stop.selection.source)
    return division.fit, division.test


def numbers(stop: Stop) -> list[str]:
    """Return the numbers of an answer."""
    return re.findall(r"[\d.,]*\d(?: %)?", stop.words)


def binned_error(rows: Predictions, bins: int) -> float:
    """Return the confidence error, bin by bin."""
    place = np.minimum((rows.confidence * bins).astype(int), bins - 1)
    gaps = [(rows.confidence - rows.correct)[place == b] for b in range(bins)]
    return float(sum(abs(gap.sum()) for gap in gaps) / rows.n_rows)


def test_the_first_star_is_its_rows() -> None:
    rows = parts(READING)[1]
    inside = (rows.confidence >= 13 / 15) & (rows.confidence < 14 / 15)
    says, right = rows.confidence[inside].mean(), rows.correct[inside].mean()
    assert numbers(READING) == [f"{inside.sum():,}", in_percent(says), in_percent(right)]
    assert right < says - 0.1, "below the line"


def test_the_blind_spot_is_blind_and_its_classes_are_off() -> None:
    rows = parts(BLIND)[1]
    right = [rows.correct[rows.predicted == c].mean() for c in np.unique(rows.predicted)]
    shares = [rows.confidence.mean(), rows.correct.mean(), *right]
    names = [re.findall(r"\d", name)[0] for name in (rows.class_names or ())[:2]]
    assert numbers(BLIND) == [*map(in_percent, shares[:2]), names[0], in_percent(right[0]), names[1], "100 %"]
    assert cc.estimate(rows, "confidence").p_value > 0.05
    assert cc.estimate(rows, "top-label").value > 0.3


def test_chance_alone_shows_as_much_as_the_wine() -> None:
    rows = parts(CHANCE)[1]
    found = primary(rows)
    noise = found.estimate.noise_floor
    assert found.notion == "confidence"
    assert noise.observed == pytest.approx(binned_error(rows, 15))
    assert found.line.floor == noise.high, "where the hatched bar on screen ends"
    shares = [short_percent(noise.observed), short_percent(noise.mean), short_percent(noise.high)]
    assert numbers(CHANCE) == [shares[0], str(rows.n_rows), *shares[1:]]
    assert noise.observed < noise.high


@pytest.mark.parametrize(("level", "is_stated"), [(0.0, False), (1.0, True)])
def test_the_test_without_bins_is_said_to_find_an_error_only_where_it_does(
    monkeypatch: pytest.MonkeyPatch, level: float, is_stated: bool
) -> None:
    monkeypatch.setattr(stops, "SIGNIFICANCE", level)
    text = stops._chance(session.scene_of(CHANCE.selection))
    assert ("still finds some error" in text) == is_stated


def test_more_bins_look_worse_and_so_does_chance() -> None:
    rows = parts(BINS)[1]
    few, many = binned_error(rows, 5), binned_error(rows, 25)
    frame = cc.diagrams.error_sweep({"": rows}).frame().query("notion == 'confidence'").set_index("bins")
    floors = frame["floor"][[5, 25]].tolist()
    assert numbers(BINS) == [short_percent(few), "5", short_percent(many), "25", *map(short_percent, floors)]
    assert many > 3 * few
    assert floors[1] > floors[0]


def test_temperature_moves_what_is_said_and_no_prediction() -> None:
    fit, before = parts(MOVED)
    after = CALIBRATORS.make("temperature").fit_on(fit).apply(before)
    shares = [before.confidence.mean(), before.correct.mean(), after.confidence.mean()]
    errors = [binned_error(before, 15), binned_error(after, 15)]
    assert numbers(MOVED) == [*map(in_percent, shares), *map(short_percent, errors)]
    np.testing.assert_array_equal(before.predicted, after.predicted)
    assert errors[1] < errors[0] / 5


def test_only_one_of_the_two_promises_anything() -> None:
    fit, rows = parts(PROMISED)
    binned, temperature = (CALIBRATORS.make(recipe.key).fit_on(fit) for recipe in PROMISED.selection.calibrators)
    bound = binned.guarantee(0.1)["conditional"].eps
    measured = cc.estimate(binned.apply(rows), "top-label").value
    assert numbers(PROMISED) == ["90 %", short_percent(bound), short_percent(measured)]
    assert not temperature.guarantee(0.1).holds
    assert measured < bound / 3, "the worst case"


def test_the_event_is_named_and_its_risk_is_compared_with_how_often_it_happened() -> None:
    rows = parts(EVENT)[1]
    malignant = (rows.class_names or ()).index("malignant")
    risk, happened = rows.probs[:, malignant], rows.labels == malignant
    assert numbers(EVENT) == [percent(float(risk.mean())), percent(float(happened.mean()))]
    assert "here “malignant”" in EVENT.words
    assert primary(rows).notion == "event"


def test_one_hospital_is_off_where_the_total_is_not() -> None:
    rows = parts(SITES)[1]
    risk, died = rows.probs[:, 1], rows.labels == 1
    at = np.asarray(rows.metadata["hospital"] == "River")  # type: ignore[index]
    totals = [f"{rows.n_rows:,}", str(died.sum()), str(round(risk.sum()))]
    assert numbers(SITES) == [*totals, in_percent(risk[at].mean()), in_percent(died[at].mean())]
    assert "hospital is River" in SITES.words
    spread = np.sqrt((risk * (1 - risk)).sum())
    assert abs(died.sum() - risk.sum()) < spread < 4 * np.sqrt((risk * (1 - risk))[at].sum())
    assert (risk - died)[at].sum() > 3 * np.sqrt((risk * (1 - risk))[at].sum())


@pytest.mark.parametrize("stop", TOUR, ids=IDS)
def test_a_stop_is_short_and_plain_and_leads_to_a_state_of_its_own(stop: Stop) -> None:
    assert 120 < len(stop.words) < 290, "what fits into the strip at 900 pixels"
    assert len(stop.look) <= 115
    assert 2 <= len(re.findall(r"[.:?](?: |$)", stop.words)) <= 5
    for text in (stop.title, stop.question, stop.words, stop.look):
        assert not code_in(text), text
    assert stop.question.endswith("?")
    assert set(stop.terms) <= TERMS.keys()
    assert Selection.from_query(stop.selection.to_query()) == (stop.selection, ())
    other = session.scene_of(stop.selection.replace(share=0.3, by="share"))
    assert stop.answer(other) != stop.words, "made of the rows"


def test_no_number_is_typed() -> None:
    source = inspect.getsource(stops).partition("TOUR = (")[0]
    assert not re.search(r"\d\s?(?:%|points|rows|bins)", source)
    assert len(TOUR) == STOPS
    assert len({stop.selection.source.data for stop in TOUR}) == STOPS


def strip_of(app: AppTest) -> str:
    return "\n".join(element.value for element in app.markdown if "primary-background" in element.value) + "\n".join(
        element.value for element in app.markdown
    )


def chosen(app: AppTest) -> Selection:
    selection: Selection = app.session_state["calib.selection"]
    return selection


def test_the_tour_is_walked_from_the_first_visit_to_the_place_for_ones_own_data() -> None:
    app = AppTest.from_file(str(APP), default_timeout=60).run()
    app.button("tour.begin").click().run()
    for number, stop in enumerate(TOUR, 1):
        assert not app.exception
        assert not app.error
        assert chosen(app) == replace(stop.selection, tour=number)
        assert app.query_params["tour"] == str(number)
        shown = strip_of(app)
        assert f"[{number} of {STOPS}]" in shown
        assert markdown_plain(unbroken(stop.words)) in shown
        assert app.button("tour.back").disabled == (number == 1)
        app.button("tour.next" if number < STOPS else "tour.finish").click().run()
    assert chosen(app).view == "data"
    assert not chosen(app).tour
    assert "primary-background" not in strip_of(app)


def test_looking_around_leads_back_and_leaving_keeps_what_is_shown() -> None:
    app = opened(replace(BLIND.selection, tour=2))
    assert not [b for b in app.button if b.key == "tour.again"]
    app.button_group("choice.view").set_value("classes").run()
    assert markdown_plain(unbroken(BLIND.words)) in strip_of(app), "the same rows"
    app.button("tour.again").click().run()
    assert chosen(app) == replace(BLIND.selection, tour=2)
    app.button("tour.leave").click().run()
    assert chosen(app) == BLIND.selection


def test_of_other_rows_nothing_is_said() -> None:
    app = opened(replace(READING.selection, tour=2))
    assert "which is not open now" in strip_of(app)
    assert markdown_plain(unbroken(BLIND.words)) not in strip_of(app)


def test_the_other_class_as_the_event_is_the_same_stop() -> None:
    app = opened(replace(EVENT.selection, tour=7))
    assert "here “malignant”" in strip_of(app)
    app.radio("choice.event").set_value("benign").run()
    shown = strip_of(app)
    assert "here “benign”" in shown
    assert "which is not open now" not in shown
    assert markdown_plain(unbroken(EVENT.words)) not in shown, "numbers of the other class"
    app.radio("choice.event").set_value("malignant").run()
    assert chosen(app) == replace(EVENT.selection, tour=7)


def test_ones_own_file_is_in_use_again_after_the_tour() -> None:
    lines = ["p_a,p_b,label", *(f"{0.5 + i / 200},{0.5 - i / 200},{i % 2}" for i in range(80))]
    key = session.hold("\n".join(lines).encode(), "mine.csv").key
    before = Selection(Source(data=key), view="reliability", eps=0.05)
    app = opened(before)
    app.button("frame.learn").click().run()
    assert chosen(app).source == before.source, "the page of the stops changes nothing"
    app.button("learn.3").click().run()
    assert chosen(app).source.data == "demo:wine-logistic"
    app.button("tour.next").click().run()
    assert "mine" in app.button("tour.leave").help
    app.button("tour.leave").click().run()
    assert chosen(app) == replace(before, view=views_of(LEARN)[0].key)


def test_a_file_opened_on_the_way_stays_in_use() -> None:
    first, second = (
        session.hold(
            "\n".join(["p_a,p_b,label", *([f"0.{n},0.{10 - n},0", f"0.{10 - n},0.{n},1"] * 40)]).encode(), f"{n}.csv"
        )
        for n in (6, 7)
    )
    app = opened(Selection(Source(data=first.key), view="learn"))
    app.button("learn.3").click().run()
    app.session_state["calib.selection"] = replace(chosen(app), source=Source(data=second.key))
    app.run()
    assert "which is not open now" in strip_of(app)
    app.button("tour.leave").click().run()
    assert chosen(app).source.data == second.key
    assert not chosen(app).tour


def test_a_link_that_names_a_stop_alone_opens_it_and_one_beyond_is_left_out() -> None:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params["tour"] = "3"
    app.run()
    assert chosen(app) == replace(CHANCE.selection, tour=3)
    assert Selection.from_query({"tour": "9"})[1] == ("The link's tour was left out: '9' is not possible.",)


def test_a_stop_changes_no_command() -> None:
    exhibit = BLIND.selection.exhibit("reliability")
    assert show_line(replace(BLIND.selection, tour=2), exhibit) == show_line(BLIND.selection, exhibit)


def test_the_glossary_has_every_term_with_its_formula_and_a_link_that_opens() -> None:
    app = opened(Selection(view="glossary"))
    shown, formulas = strip_of(app), [element.value for element in app.latex]
    for term in TERMS.values():
        assert markdown_plain(unbroken(term.sentence)) in shown
        assert any(term.formula in formula for formula in formulas)
        assert term.live is not None
        assert term.live.source.data.removeprefix("demo:") in {demo.key for demo in DEMOS}
    links = re.findall(r"\[See it live\]\(\?([^)]*)\)", shown)
    states = [Selection.from_query(dict(parse_qsl(link))) for link in links]
    assert {state for state, _ in states} == {term.live for term in TERMS.values()}
    assert not any(problems for _, problems in states)


@pytest.mark.wide
@pytest.mark.parametrize("term", TERMS.values(), ids=TERMS)
def test_what_a_term_leads_to_is_drawn(term: object) -> None:
    app = opened(term.live)  # type: ignore[attr-defined]
    assert not app.error
    assert not app.warning
