"""The overview and the first visit: the sentence, the strip, the cards, the next step, and their links."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import NotAnswerable, Predictions
from calib_core.datasets import DEMOS
from calib_core.diagrams import classes_standing_out, local_accuracy, local_frequency, opening, overall_gap
from calib_core.evaluation.calibrator_choice import HELD_OUT_REJECTS
from calib_core.figures.look import REFERENCE
from calib_core.inference import primary
from calib_core.palette import outline, style
from calib_core.text import between, in_percent, share_range, short_percent
from dashboard import session
from dashboard.chart import drawn
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.event_words import on_average
from dashboard.exhibits.watched_periods import ByPeriod
from dashboard.glossary import TERMS
from dashboard.hero import TILES, class_spark, diagram_spark, group_spark
from dashboard.hero.sentence_slider import _arrived, payload
from dashboard.hero.tiles import tile_of
from dashboard.selection import Selection, Source
from dashboard.theme import markdown_plain, unbroken
from dashboard.views import next_step, overview_cards, place_detail

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
KEYS = [demo.key for demo in DEMOS]


def opened(selection: Selection | None = None) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=60)
    # All defaults are an address without choices, which opens the first visit.
    for name, text in ({} if selection is None else selection.to_query() or {"view": "overview"}).items():
        app.query_params[name] = text
    app.run()
    assert not app.exception, [e.value for e in app.exception]
    return app


def chosen(app: AppTest) -> Selection:
    selection: Selection = app.session_state["calib.selection"]
    return selection


def texts(app: AppTest) -> list[str]:
    return [element.value for element in app.markdown]


def test_rows_of(key: str) -> Predictions:
    return session.parts(Source(data=f"demo:{key}")).test


test_rows_of.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", KEYS)
def test_the_first_screen_of_every_demo_says_what_its_numbers_say(key: str) -> None:
    app = opened(Selection(source=Source(data=f"demo:{key}"), view="overview"))
    assert not app.error
    rows, every = test_rows_of(key), texts(app)
    of_event = rows.event is not None
    local = local_frequency(rows) if of_event else local_accuracy(rows)
    answer = local.answer(opening(rows))
    assert f"# {markdown_plain(answer.headline)}" in every
    assert markdown_plain(f"{answer.basis}.") in every
    if of_event:
        assert f"## {markdown_plain(unbroken(on_average(cc.risk.in_the_large(rows))))}" in every
        assert not any("overconfident" in text.casefold() for text in every), "no card is about confidence"
    else:
        assert f"## {markdown_plain(unbroken(overall_gap(rows).headline))}" in every
        assert f"## {markdown_plain(unbroken(classes_standing_out(rows).headline))}" in every
    words = [a["text"] for a in drawn(app)["verdict"].figure["layout"]["annotations"]]
    verdict = primary(rows).line.verdict
    assert verdict is not None
    word = "Within tolerance" if verdict == "within" else verdict.capitalize()
    assert (word if of_event else f"<b>{word}</b>") in words


def test_words_of_the_strip_and_of_the_cards_open_what_they_mean() -> None:
    shown = "\n".join(texts(opened(Selection(source=Source(data="demo:digits-naive-bayes"), view="overview"))))
    for key in ("calibration-error", "top-label", "noise-floor", "tolerance", "interval", "overconfident"):
        assert markdown_plain(unbroken(TERMS[key].sentence)) in shown, key
        assert f"![{TERMS[key].alt}](data:image/svg+xml;base64," in shown
    assert TERMS["confidence"].title not in shown, "not the notion in question"


def test_nothing_on_the_overview_is_a_green_success() -> None:
    """A green tick appears only for models that are calibrated as far as these rows can show."""
    for key in ("example-1", "digits-mlp"):
        app = opened(Selection(source=Source(data=f"demo:{key}"), view="overview"))
        assert not app.success


def test_example_1_is_not_called_calibrated() -> None:
    """There is no gap over all rows, but 40 points in each class: the strip and the next step agree on that."""
    app = opened(Selection(source=Source(data="demo:example-1"), view="overview"))
    every = texts(app)
    words = [a["text"] for a in drawn(app)["verdict"].figure["layout"]["annotations"]]
    assert "<b>Miscalibrated</b>" in words
    advice = "Use top-label histogram binning, or Dirichlet calibration."
    assert any(advice in text.replace("\\", "") for text in every)


def test_another_confidence_is_another_answer_and_in_the_link() -> None:
    selection = Selection(source=Source(data="demo:language-model"), view="overview", confidence=0.8)
    app = opened(selection)
    answer = local_accuracy(test_rows_of("language-model")).answer(0.8)
    assert f"# {markdown_plain(answer.headline)}" in texts(app)
    assert Selection.from_query(selection.to_query())[0].confidence == 0.8


@pytest.mark.parametrize(
    ("sent", "wanted"), [(70, 0.07), (0, 0.0), (101, None), ("7", None), (True, None), (None, None)]
)
def test_a_browser_can_send_anything(sent: object, wanted: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[float] = []
    monkeypatch.setattr("dashboard.hero.sentence_slider.st.session_state", {"hero": {"asked": sent}})
    _arrived("hero", [place / 1000 for place in range(101)], found.append)
    assert found == ([] if wanted is None else [wanted])


def test_all_positions_are_sent_once_and_small() -> None:
    local = local_accuracy(test_rows_of("digits-naive-bayes"))
    data = payload({"Original model": local}, 0.9)
    assert len(json.dumps(data)) < 30_000
    (model,) = data["models"]
    assert model["headline"][90] == local.answer(0.9).headline
    assert model["share"][90] in model["headline"][90]
    assert all(
        len(model[name]) == 101 for name in ("headline", "basis", "right", "low", "high", "claimed", "difference")
    )
    assert (data["asked"], data["low"] % 10) == (90, 0)
    assert payload({"Original model": local}, 0.1)["low"] == 10


def test_the_picture_names_the_place_that_a_model_without_rows_there_is_said_to_lack() -> None:
    right = np.arange(400) % 10 < 9
    models = {"sure": np.full(400, 0.9996), "meek": np.where(right, 0.85, 0.75)}
    local = {name: local_accuracy(Predictions.from_confidence(each, right)) for name, each in models.items()}
    data = payload(local, 1.0)
    assert data["percents"][data["asked"]] == in_percent(0.9996)
    assert data["models"][1]["near"][data["asked"]] == 0
    assert data["wanted"][data["asked"]] in data["models"][1]["brief"][data["asked"]]
    assert data["wanted"][data["asked"]] not in data["percents"][data["asked"]]


def test_every_number_sent_is_that_of_the_answer_at_its_place() -> None:
    """Rows near a place can be too few for a number: near and enough are two questions."""
    sure = np.repeat([0.6, 0.8, 0.95], [300, 4, 300])
    local = local_accuracy(Predictions.from_confidence(sure, np.arange(604) % 5 > 0))
    (model,) = payload({"m": local}, 0.6)["models"]
    assert model["near"] == [int(answer.near) for answer in local.answers]
    assert model["enough"] == [int(answer.enough) for answer in local.answers]
    assert model["shown"] == [int(answer.gap is not None) for answer in local.answers]
    assert model["near"] != model["enough"], "else one would do for both"


@pytest.mark.parametrize("data", ["digits-naive-bayes", "breast-cancer-svm", "patients"])
def test_the_knob_is_at_the_number_above_it(data: str) -> None:
    rows = test_rows_of(data)
    local = local_accuracy(rows) if rows.n_classes != 2 else local_frequency(rows)
    sent = payload({"Original model": local}, opening(rows))
    assert [in_percent(place) for place in sent["knob"]] == sent["percents"]
    moved = [abs(place - knob) for place, knob in zip(sent["places"], sent["knob"], strict=True)]
    assert max(moved) > 0, "else the place of the slider would do"


def test_the_slider_of_a_risk_ends_where_the_data_do() -> None:
    """A rare event has no slider from 0 to 100 %, and the requested level is one of its positions."""
    rng = np.random.default_rng(1)
    risk = np.clip(rng.gamma(1.2, 0.0035, 4000), 0, 0.2)
    happened = (rng.random(4000) < 2.4 * risk).astype(int)
    p = Predictions(np.column_stack([1 - risk, risk]), happened, class_names=["no", "fraud"])
    local = local_frequency(p)
    data = payload({"Original model": local}, opening(p))
    assert data["places"][data["last"]] < 0.1
    assert data["places"][data["asked"]] == pytest.approx(opening(p), abs=0.001)
    assert data["low"] <= data["asked"] <= data["last"] <= len(data["places"]) - 1
    assert max(data["ticks"]) <= 100 * data["places"][data["last"]] + 1e-9
    assert max(data["ticks"]) + data["ticks"][1] > 100 * data["places"][data["last"]] - 1e-9
    assert 3 <= len(data["ticks"]) <= 7
    (model,) = data["models"]
    assert data["percents"][data["asked"]] in model["headline"][data["asked"]]
    beside = [i for i, answer in enumerate(local.answers) if answer.near and answer.enough]
    assert all(data["percents"][i] in model["headline"][i] for i in beside)
    assert any(data["percents"][i] != in_percent(local.confidence[i]) for i in beside)
    assert model["shown"] == [int(answer.gap is not None) for answer in local.answers]
    assert len(json.dumps(data)) < 40_000


def test_the_gap_is_marked_only_where_the_test_of_the_whole_slider_shows_it() -> None:
    """Intervals that exclude the prediction are not enough: with many places some do by chance."""
    rng = np.random.default_rng(4)
    alone = marked = 0
    for _ in range(20):
        risk = rng.beta(2, 5, 600)
        p = Predictions(np.column_stack([1 - risk, risk]), (rng.random(600) < risk).astype(int))
        local = local_frequency(p)
        (model,) = payload({"m": local}, 0.5)["models"]
        alone += any(not a.low <= a.claimed <= a.high for a in local.answers if a.enough)
        marked += any(model["shown"])
    assert alone >= 10, "single intervals miss somewhere"
    assert marked <= 5  # 10 % of 20 on average; P(more than 5) = .011


def test_a_model_keeps_its_look_in_the_sentence() -> None:
    local = local_accuracy(test_rows_of("wine-logistic"))
    alone = payload({"after": local}, 0.9, {"base": 0, "other": 1, "after": 2})["models"][0]
    third = payload(dict.fromkeys(("base", "other", "after"), local), 0.9)["models"][2]
    assert (alone["colour"], alone["outline"]) == (third["colour"], third["outline"])
    assert alone["outline"] == outline(style(2).symbol) != outline(style(0).symbol)


# -- links of cards -------------------------------------------------------------------------------------------


def test_the_card_of_all_rows_leads_to_the_reliability_diagram() -> None:
    app = opened(Selection(source=Source(data="demo:digits-naive-bayes"), view="overview", bin=3, code=1))
    app.button("way.overall").click().run()
    assert (chosen(app).view, chosen(app).bin, chosen(app).code) == ("reliability", None, None)


def test_the_card_of_classes_leads_to_the_worst_class() -> None:
    app = opened(Selection(source=Source(data="demo:digits-naive-bayes"), view="overview"))
    worst = classes_standing_out(test_rows_of("digits-naive-bayes")).code[0]
    app.button("way.classes").click().run()
    assert not app.exception
    assert (chosen(app).view, chosen(app).code, chosen(app).notion) == ("classes", worst, "")


def test_a_card_of_no_class_singles_none_out() -> None:
    app = opened(Selection(source=Source(data="demo:digits-mlp"), view="overview", code=2))
    assert app.button("way.classes").label == "Compare the classes"
    app.button("way.classes").click().run()
    assert (chosen(app).view, chosen(app).code) == ("classes", None)


def test_the_card_of_slices_says_which_stands_out_and_leads_to_its_column() -> None:
    app = opened(Selection(source=Source(data="demo:language-model"), view="overview", bin=3))
    rows = test_rows_of("language-model")
    found = cc.diagrams.slice_dots(cc.slices.by_column(rows))
    text = " ".join(texts(app)).replace("\\", "").replace("\u00a0", " ")
    law = rows.metadata["subject"].to_numpy() == "law"
    says, right = (f"{100 * part[law].mean():.0f} %" for part in (rows.confidence, rows.correct))
    assert found.headline == f"subject = law: mean confidence {says}, accuracy {right}"
    assert found.headline in text
    assert found.basis in text
    assert "By slice, of the held-out rows" in [caption.value for caption in app.caption]
    assert "9 of 9 slices are significantly off (corrected for multiple testing)" in found.basis
    app.button("way.slices").click().run()
    assert (chosen(app).view, chosen(app).bin) == ("slices", None)
    assert app.selectbox("slices.by").value == "subject"
    none = " ".join(texts(opened(Selection(source=Source(data="demo:wine-logistic"), view="overview"))))
    assert "No column to slice by" in none
    assert "such as camera, site or subject" in none.replace("\\", "")


def test_the_card_of_slices_is_of_the_risk_with_predicted_before_observed() -> None:
    """For risks below half, the confidence is about the other class: neither it nor the order may replace the risk."""
    rng = np.random.default_rng(3)
    risk, site = rng.uniform(0.05, 0.45, 1500), np.repeat(list("ABC"), 500)
    died = (rng.random(1500) < np.where(site == "C", 0.3, 1.0) * risk).astype(int)
    frame = pd.DataFrame({"risk": risk.round(4), "died": died, "site": site})
    key = session.hold(frame.to_csv(index=False).encode(), "subgroups.csv").key
    scene = session.scene_of(Selection(source=Source(data=key, by="folds"), calibrators=()))
    title, basis = overview_cards.words(cc.diagrams.slice_dots(scene.get(overview_cards.event_slices(scene))), "died")
    worst = frame[frame["site"] == "C"]
    predicted, observed = (short_percent(worst[name].mean()) for name in ("risk", "died"))
    assert predicted != observed
    assert title == f"site = C has the largest gap: {predicted} predicted, {observed} died"
    assert basis.startswith("500 rows; ")


def test_rows_with_dates_have_a_line_that_leads_to_their_periods() -> None:
    rng = np.random.default_rng(0)
    day = np.datetime64("2026-01-01") + np.arange(1600) // 10
    risk = rng.uniform(0.1, 0.5, 1600).round(3)
    died = (rng.random(1600) < np.where(day < np.datetime64("2026-04-01"), risk, 0.4 * risk)).astype(int)
    frame = pd.DataFrame({"risk": risk, "died": died, "seen": day.astype(str)})
    key = session.hold(frame.to_csv(index=False).encode(), "seen.csv").key
    selection = Selection(source=Source(data=key), view="overview", calibrators=())
    scene = session.scene_of(selection)
    sentence = scene.get(ByPeriod().found(scene)).sentence
    assert sentence.startswith("Since about ")
    app = opened(selection)
    assert any("Calibration over time" in text and sentence in text.replace("\\", "") for text in texts(app))
    app.button("way.over-time").click().run()
    assert app.session_state["calib.selection"].view == "over-time"
    without = opened(Selection(source=Source(data=DEMOS[0].key), view="overview"))
    assert not any("Calibration over time" in text for text in texts(without))


def test_a_column_that_divides_the_rows_is_no_slice() -> None:
    app = opened(Selection(source=Source(data="demo:synthetic-three-class"), view="overview"))
    assert any("No column to slice by" in text for text in texts(app))


def chosen_for(demo: str) -> cc.evaluation.choice.CalibratorChoice:
    rows = session.parts(Source(data=f"demo:{demo}"))
    return cc.choose(rows.fit, held_out=None if rows.folds is not None else rows.test)


def test_show_me_leads_to_the_recommended_calibrator_ticked() -> None:
    app = opened(Selection(source=Source(data="demo:language-model"), view="overview"))
    app.button("next.show").click().run()
    assert not app.exception
    assert chosen(app).view == "calibrators"
    assert chosen(app).calibrators[0] == chosen_for("language-model").recipe
    assert chosen(app).model == chosen(app).calibrators[0].title


# -- the next step --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("demo", ["digits-naive-bayes", "wine-logistic"])
def test_the_next_step_is_what_is_chosen_on_the_rows_that_are_not_judged(demo: str) -> None:
    found = chosen_for(demo)
    app = opened(Selection(source=Source(data=f"demo:{demo}"), view="overview"))
    said = " ".join(texts(app)).replace("\\", "").replace("\u00a0", " ").replace("\u2011", "-")
    assert f"**{found.headline}.** " in said
    assert found.effect().rpartition("Log loss ")[2] in said
    rests = f"on the {found.among:,} calibration rows" if found.held_out else f"on all {found.among:,} rows, and judged"
    assert f"Chosen by log loss, cross-validated {rests}" in said
    rejects = HELD_OUT_REJECTS
    assert (rejects in said) == (rejects in " ".join(found.notes)) == bool(found.held_out)
    assert ("optimistic" in said) == (found.recalibrate and not found.held_out)
    assert bool([button for button in app.button if button.key == "next.show"]) == found.recalibrate


def test_what_takes_long_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.exhibits.recommendation.QUICK", 10)
    source = Source(data="demo:wine-logistic", seed=77)
    app = opened(Selection(source=source, view="overview"))
    (ask,) = [button for button in app.button if button.label == "Find out"]
    assert not any("Chosen by" in text for text in texts(app))
    ask.click().run()
    assert any("Chosen by" in text for text in texts(app))


def test_all_else_is_drawn_before_the_choice_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    order, draw = [], place_detail.draw
    monkeypatch.setattr(place_detail, "draw", lambda scene: order.append("what stands out") or draw(scene))
    monkeypatch.setattr(next_step, "chosen", lambda *_: order.append("choice"))
    app = opened(Selection(source=Source(data="demo:wine-logistic", seed=78), view="overview"))
    assert order == ["what stands out", "choice"]
    assert not any("Trying it" in text for text in texts(app)), "nothing of it stays"


def test_rows_too_few_to_choose_on_have_no_next_step() -> None:
    key = session.hold(b"confidence,correct\n0.9,1\n0.8,0\n0.7,1\n0.6,1\n", "few.csv").key
    app = opened(Selection(source=Source(data=key), view="overview"))
    assert not app.exception
    assert not any("Chosen by" in text for text in texts(app))


# -- exhibits -------------------------------------------------------------------------------------------------


def test_the_sentence_is_the_same_on_the_terminal() -> None:
    scene = session.scene_of(Selection(source=Source(data="demo:digits-mlp"), confidence=0.7))
    words = EXHIBITS.make("hero").words(scene)
    assert words.caption.startswith(local_accuracy(test_rows_of("digits-mlp")).answer(0.7).headline)
    elsewhere = EXHIBITS.make("hero").words(replace(scene, confidence=0.5))
    assert elsewhere.caption != words.caption


def test_the_table_lists_places_that_rows_are_near_and_no_others() -> None:
    rows = pd.DataFrame({"risk": np.linspace(0.3, 0.5, 40), "died": np.tile([0, 1], 20)})
    key = session.hold(rows.to_csv(index=False).encode(), "middle.csv").key
    scene = session.scene_of(Selection(source=Source(data=key)))
    table = scene.get(EXHIBITS.make("hero").table(scene))
    # 3 points at 50 %: 0.12 on the scale of log-odds, a little less elsewhere.
    assert 0.27 <= table["confidence"].min() < 0.3
    assert table["confidence"].max() == pytest.approx(0.5)
    assert table["near"].all()
    base = table[table["model"] == scene.titles[0]]
    assert ((base["claimed"] - base["confidence"]).abs() <= 0.03).all()


def test_bare_confidences_have_a_sentence_and_say_why_there_are_no_classes() -> None:
    frame = pd.DataFrame({"confidence": np.tile([0.9, 0.6], 200), "correct": np.tile([1, 1, 1, 0], 100)})
    key = session.hold(frame.to_csv(index=False).encode(), "bare.csv").key
    app = opened(Selection(source=Source(data=key), view="overview"))
    assert not app.error
    assert any(text.startswith("# When it says") for text in texts(app))
    assert "## Not available for this file" in texts(app)


def test_weighted_rows_have_an_answer() -> None:
    rows = test_rows_of("digits-mlp").replace(weights=np.linspace(0.5, 1.5, 899))
    assert local_accuracy(rows).answer(0.9).enough
    with pytest.raises(NotAnswerable, match="whole numbers"):
        classes_standing_out(rows)


# -- the first visit ------------------------------------------------------------------------------------------


def test_the_first_visit_asks_the_question_and_reads_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.session.files._read_demo", None)
    app = opened()
    assert chosen(app).view == "start"
    assert any(unbroken("# When your model says 90 %, how often is it right?") in text for text in texts(app))
    assert [button.key for button in app.button if str(button.key).startswith("start.")] == [f"start.{k}" for k in KEYS]


@pytest.mark.parametrize("key", KEYS)
def test_tiles_show_what_is_in_the_files(key: str) -> None:
    assert TILES[key] == tile_of(session.whole(f"demo:{key}", ""))


def test_one_click_opens_an_example_at_the_answer() -> None:
    app = opened()
    app.button("start.breast-cancer-svm").click().run()
    assert not app.exception
    assert (chosen(app).view, chosen(app).source.data) == ("overview", "demo:breast-cancer-svm")
    again = opened()
    again.button(f"start.{KEYS[0]}").click().run()
    assert dict(again.query_params), "the address of all defaults must not be the first visit's"
    assert any(text.startswith("# Of rows given a risk of about") for text in texts(app))


def test_tiny_pictures_are_drawings_without_users_words() -> None:
    p = Predictions([[0.9, 0.1], [0.2, 0.8]] * 40, [0, 1] * 40, class_names=["<script>", "&"])
    for svg in (class_spark(classes_standing_out(p)), diagram_spark(((0.5, 0.4, 1.0),))):
        assert svg.startswith("<svg")
        assert "script" not in svg
        assert "nan" not in svg


def test_marks_of_tiny_pictures_stand_where_their_numbers_say() -> None:
    classes = classes_standing_out(test_rows_of("digits-naive-bayes"))
    svg = class_spark(classes, most=6, height=112)
    dots = np.array(re.findall(r'cy="([\d.-]+)" r', svg), dtype=float)
    ticks = np.array(re.findall(r'd="M[\d.-]+ ([\d.-]+)L[\d.-]+ \1"', svg), dtype=float)
    assert len(dots) == len(ticks) == 6
    drawn_at, told = np.append(ticks, dots), np.append(classes.claimed[:6], classes.right[:6])
    assert ((drawn_at >= 0) & (drawn_at <= 112)).all()
    slope, start = np.polyfit(told, drawn_at, 1)
    assert slope < 0
    np.testing.assert_allclose(slope * told + start, drawn_at, atol=0.1)
    ((x, y, _),) = re.findall(r'cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"', diagram_spark(((0.5, 0.4, 1.0),), size=120))
    assert (float(x), float(y)) == (60, 70)


def test_tiny_bars_are_grey_where_events_are_expected_and_coloured_where_they_are_observed() -> None:
    svg = group_spark([4.0, 2.0], [1.0, 3.0], [True, False], height=104)
    bars = re.findall(r'height="([\d.]+)" fill="([^"]+)" fill-opacity="([\d.]+)"', svg)
    blue = style(0).colour
    assert [(float(tall), colour) for tall, colour, _ in bars] == [
        (84, REFERENCE),
        (21, blue),
        (42, REFERENCE),
        (63, blue),
    ]
    assert float(bars[1][2]) > float(bars[3][2]), "the bin that is off is the stronger one"


def test_tiny_marks_are_coloured_where_classes_stand_out() -> None:
    classes = classes_standing_out(test_rows_of("synthetic-three-class"))
    seen = []
    for out in (True, False):
        shown = replace(classes, stands_out=np.full(len(classes.names), out))
        seen.append(set(re.findall(r'<circle[^>]* fill="([^"]+)"', class_spark(shown))))
    assert seen == [{style(0).colour}, {REFERENCE}]


def test_the_card_and_the_list_write_the_interval_of_a_slice_in_one_way() -> None:
    rng = np.random.default_rng(2)
    risk, site = rng.uniform(0.1, 0.4, 1500), np.arange(1500) % 3
    died = (rng.random(1500) < np.where(site == 2, risk / 3, risk)).astype(int)
    sites = pd.DataFrame({"site": np.array(["A", "B", "C"])[site]})
    p = Predictions(np.column_stack([1 - risk, risk]), died, class_names=["lived", "died"], metadata=sites)
    _, basis = overview_cards.words(cc.diagrams.slice_dots(cc.slices.by_column(p, notion="event")), "died")
    line = cc.findings(p, notion="event").set_index("slice").loc["site=C"]
    ends = share_range(line["low"], line["high"])
    assert ends != between(line["low"], line["high"]), "else any way would do"
    assert ends in basis
    assert f"interval {ends})" in line["finding"]


def test_the_bars_of_the_card_by_risk_are_those_of_its_caption(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gray, the first: expected events; blue, the second: observed ones; a bin is marked if it stands out corrected."""
    drawn_as: list[tuple[list[float], list[float], list[bool]]] = []

    def spark(expected: list[float], observed: list[float], off: list[bool]) -> str:
        drawn_as.append((expected, observed, off))
        return ""

    scene = session.scene_of(Selection(source=Source(data="demo:breast-cancer-svm"), calibrators=()))
    monkeypatch.setattr(overview_cards, "group_spark", spark)
    for name in ("card", "leading"):
        monkeypatch.setattr(overview_cards, name, lambda *words, **more: None)
    overview_cards._by_risk(scene)
    rows = scene.get(scene.model.predictions)
    ((expected, observed, off),) = drawn_as
    assert sum(expected) == pytest.approx(rows.probs[:, rows.event].sum())
    assert sum(observed) == (rows.true_labels == rows.event).sum() != pytest.approx(sum(expected))
    bins = scene.get(EXHIBITS.make("risk-groups").table(scene))
    assert off == (bins["stands_out"] != "").tolist() != (bins["p"] <= 0.05).tolist()
