"""The Recalibrate room: cards tick calibrators, list requirements and gains, next to before and after."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from shown_models import fitted, judged
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import CALIBRATORS, Recipe
from calib_core.calibrators import Calibrator
from calib_core.evaluation.calibrator_choice import HELD_OUT_REJECTS
from calib_core.evaluation.study import every_measure, summaries
from calib_core.predictions.proper_scores import floored_words
from calib_core.text import begun, count, percent, short_percent
from dashboard import session
from dashboard.chart import drawn
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.calibration_maps import path
from dashboard.exhibits.calibrators import effects
from dashboard.selection import MOST_CALIBRATORS, Selection, Source, model_keys, recommended
from dashboard.session import Model
from dashboard.theme import unbroken
from dashboard.views import calibrator_cards, card_words
from dashboard.views.calibrators import QUESTIONS
from tests.dashboard.test_views import opened

THREE = Source(data="demo:synthetic-three-class")
PLAIN = Selection(source=THREE, view="calibrators")


def sound(app: AppTest) -> AppTest:
    assert not app.exception, [e.value for e in app.exception]
    return app


def chosen(app: AppTest) -> Selection:
    return app.session_state["calib.selection"]


def ticked(*keys: str, **changes: Any) -> Selection:
    return PLAIN.replace(calibrators=tuple(Recipe("CALIBRATORS", key) for key in keys), **changes)


def pieces(app: AppTest) -> str:
    """Return all visible text of the page."""
    return " ".join(element.value for element in app.markdown).replace("\\", "").replace("\u200b", "")


def ask(app: AppTest, what: str) -> AppTest:
    """Choose a question about the ticked calibrators, after its topic."""
    topic = next(topic for topic, questions in QUESTIONS.items() if what in questions)
    sound(app.segmented_control(key="recalibrate.topic").set_value(topic).run())
    if app.session_state["calib.selection"].question == what:
        return app
    return sound(app.segmented_control(key="recalibrate.more").set_value(what).run())


def test_opening_the_room_fits_nothing_that_is_not_ticked(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    plain = Calibrator.fit_on

    def counted(self: Calibrator, predictions: cc.Predictions, *more: Any) -> Calibrator:
        made.append(CALIBRATORS.recipe(self).key)
        return plain(self, predictions, *more)

    opened(ticked())  # the recommendation tries what it recommends from, once for these rows
    monkeypatch.setattr(Calibrator, "fit_on", counted)
    # Settings that no other test has: earlier fits are cached, and not repeated.
    app = opened(PLAIN.replace(calibrators=(CALIBRATORS.described("top-label-hb", points_per_bin=137),)))
    assert set(made) - {session.BASE.key} == {"top-label-hb"}
    assert len([box for box in app.checkbox if not box.value]) >= 4
    assert not app.warning


def test_a_card_ticks_its_calibrator_looks_at_it_and_unticks_it() -> None:
    app = opened(ticked())
    after = next(trace for trace in drawn(app)["movement"].figure["data"] if trace.get("uid") == "after")
    assert after["name"].startswith("Blend of "), "the recommended one"
    assert not app.info, "no note without contents"
    sound(app.checkbox(key="tick.vector").check().run())
    assert chosen(app).calibrators == (Recipe("CALIBRATORS", "vector"),)
    assert chosen(app).model == "Vector scaling"
    sound(app.checkbox(key="tick.temperature").check().run())
    assert chosen(app).model == "Temperature scaling"
    sound(app.button(key="look.vector.0").click().run())
    assert chosen(app).model == "Vector scaling"
    assert drawn(app)["movement"].trace("Vector scaling")["uid"] == "after"
    sound(app.checkbox(key="ticked.vector.0").uncheck().run())
    assert [recipe.key for recipe in chosen(app).calibrators] == ["temperature"]


def test_the_recommended_are_one_click_and_stand_first() -> None:
    first = recommended("full")
    assert set(first) == {"temperature", "top-label-hb", "isotonic-ovr"}
    app = opened(ticked("vector"))
    sound(app.button(key="drawer.recommended").click().run())
    assert [recipe.key for recipe in chosen(app).calibrators] == ["vector", *first]
    assert app.button(key="drawer.recommended").disabled
    boxes = [box.key for box in app.checkbox]
    assert boxes.index("ticked.top-label-hb.0") < boxes.index("ticked.isotonic-ovr.0")
    assert "tick.blend" in boxes[:2], "before all families what is recommended, and what is simpler"
    # Temperature scaling is focused: no reason for it is shown next to the recommendation of another.
    assert "Why this one:" not in pieces(app)
    sound(app.checkbox(key="tick.blend").check().run())
    assert chosen(app).model.startswith("Blend of ")


def test_more_of_a_family_is_a_click_away() -> None:
    app = opened(ticked("temperature"))
    keys = {box.key.split(".")[1] for box in app.checkbox}
    assert "lece" not in keys
    for family in ("rows", "abstaining", "advanced"):
        sound(app.button(key=f"drawer.{family}").click().run())
    for family in ("scaling", "binning"):
        sound(app.button(key=f"more.{family}").click().run())
    assert {box.key.split(".")[1] for box in app.checkbox} == set(model_keys())


@pytest.mark.parametrize("demo", ["language-model", "digits-mlp"])
def test_what_does_not_fit_the_rows_says_why_and_warns_nobody(demo: str) -> None:
    # The first visit ticks temperature scaling, which the user has not chosen.
    app = opened(Selection(source=Source(data=f"demo:{demo}"), view="calibrators"))
    assert not app.warning
    test = session.parts(Source(data=f"demo:{demo}")).test
    kind = test.kind
    for box in app.checkbox:
        _, key, *_ = box.key.split(".")
        why = CALIBRATORS[key].flags.unfit(kind, test.n_classes)
        # The recommended calibrator is shown with its settings, which are part of its name.
        assert key == "confidence" or box.label == CALIBRATORS[key].title, "what screen readers say"
        assert box.disabled == bool(why)
        assert not (why and box.value), "what cannot be used is not ticked"
        assert not why or why in pieces(app)
    first = recommended(kind)
    assert first
    assert not any(CALIBRATORS[key].flags.unfit(kind) for key in first)


def test_no_more_can_be_ticked_than_a_link_can_hold() -> None:
    many = [key for key in model_keys() if key not in ("lece", "lecd", "metacal-accuracy", "temperature")]
    app = opened(ticked(*many[:MOST_CALIBRATORS]))
    assert len(chosen(app).calibrators) == MOST_CALIBRATORS
    assert app.checkbox(key="tick.temperature").disabled
    assert not app.checkbox(key=f"ticked.{many[0]}.0").disabled


def test_the_numbers_on_a_card_are_those_of_the_library() -> None:
    selection = ticked("temperature", "class-wise-hb", eps=0.01)
    scene = session.scene_of(selection)
    app = opened(selection)
    text = pieces(app)
    lines = scene.get(EXHIBITS.make("gains").table(scene)).set_index("calibrator")
    verdicts = scene.get(EXHIBITS.make("verdict").table(scene)).set_index("model")
    for title, line in lines.iterrows():
        assert line["point"] == verdicts.loc[title, "point"]
        assert unbroken(f"**{short_percent(line['point'])}** ") in text
        assert (
            f"{int(line['changed']):,} of {int(line['rows']):,} predicted classes change" in text or not line["changed"]
        )
    temperature = fitted(Model(selection.source, Recipe("CALIBRATORS", "temperature")))
    assert f"T = {temperature.temperature_:.3g}" in text
    changed = judged(Model(selection.source, selection.calibrators[1])).predicted
    assert lines["changed"].iloc[1] == (changed != session.parts(selection.source).test.predicted).sum() > 0


def test_a_reason_is_of_the_recommended_one_or_of_one_to_try() -> None:
    line = {"promised": False, "promise": "", "changed": float("nan"), "rows": 10, "abstained": 0, "verdict": "within"}
    line |= {"point": 0.1, "low": 0.0, "high": 0.2, "point_before": 0.3, "log_loss": 0.1, "log_loss_before": 0.2}
    line |= {"fitted": "x"}
    assert "Why this one:" in card_words.fitted("confidence", line, "y", best=True)
    card = card_words.fitted("confidence", line, "y", best=False, changed=True)
    assert "Why it is tried first:" in card
    assert "keeps predicted classes" in card, "as it declares: which they are is not in the file"
    assert "no guarantee with these settings" in card
    assert "guarantee" not in card_words.plan("confidence", 10, 1000, changed=True)


@pytest.mark.parametrize(
    ("promise", "key", "badge"),
    [(True, "top-label-hb", "verified: guarantee]"), (False, "top-label-hb", "guarantee lost]"),
     (False, "vector", "no guarantee]")],
)  # fmt: skip
def test_a_guarantee_that_is_lost_is_told_from_one_that_never_was(promise: bool, key: str, badge: str) -> None:
    line = {"promised": promise, "promise": "Because of ties.", "changed": 0.0, "rows": 10, "abstained": 0}
    line |= {"verdict": "within", "point": 0.1, "low": 0.0, "high": 0.2, "point_before": 0.3, "fitted": "x"}
    line |= {"log_loss": float("nan"), "log_loss_before": 0.2}
    card = card_words.fitted(key, line)
    assert badge in card
    assert "- error **10\u00a0\\%** (0 to 20; was 30\u00a0\\%)" in card
    assert re.search(r":green-badge\[!\[✓\]\(data:image/svg\+xml;base64,\S+\) within tolerance\]", card)
    above = card_words.fitted(key, {**line, "high": 0.0203}, eps=0.02)
    assert "(0 to 2\\.03; was" in above, "as many digits as show the side of the tolerance"
    assert "- log loss none: one probability per row" in card
    assert card_words.lost(key, line) == ("Because of ties." if "lost" in badge else "")


def test_the_calibrator_recommended_is_never_folded_away(monkeypatch: pytest.MonkeyPatch) -> None:
    folded = [key for key in model_keys() if CALIBRATORS[key].flags.profile.family not in calibrator_cards._SHOWN]
    shown = {box.key for box in opened(PLAIN).checkbox}
    assert folded
    assert not shown & {f"tick.{key}" for key in folded} - {"tick.blend"}, "but for the recommended one"
    best = SimpleNamespace(
        held_out_rule=HELD_OUT_REJECTS,
        recipe=Recipe("CALIBRATORS", folded[0]),
        recalibrate=True,
        among=1234,
        held_out=0,
        score="log-loss",
        price=("So much.", "More."),
        headline="This",
        recipes=(),
        order=(),
        equals=(),
        simple=None,
        with_either=lambda of_simpler, sentence: sentence,
        effect=lambda error="", of_simpler="": "That.",
    )
    monkeypatch.setattr(calibrator_cards.next_step, "chosen", lambda *_: best)
    app = opened(PLAIN)
    assert f"tick.{folded[0]}" in {box.key for box in app.checkbox}
    assert pieces(app).count("Recommended") == 1
    assert "**This.**" in pieces(app)
    (fold,) = (each for each in app.expander if each.label == "How to read this" and each.caption)
    said = " ".join(caption.value for caption in fold.caption).replace("\\", "")
    assert said.startswith("That. ")
    assert "So much. Chosen by log loss, cross-validated on the 1,234 calibration rows" in said
    assert HELD_OUT_REJECTS in said
    assert "original model, on the held-out rows: error" in pieces(app)


def test_what_a_calibrator_needs_is_marked_where_there_are_too_few_rows() -> None:
    assert ":orange-badge[needs about 1,000 calibration rows]" in card_words.plan("vector", 10, 999)
    assert ":gray-badge[needs about 1,000 calibration rows]" in card_words.plan("vector", 10, 1000)
    assert ":orange-badge[needs about 2,000 calibration rows]" in card_words.plan("vector", 10, 1000, rarity=2.0)


def test_names_on_cards_are_only_ever_text() -> None:
    line = {"promised": True, "promise": "", "changed": 0.0, "rows": 10, "abstained": 0, "verdict": "within"}
    line |= {"point": 0.1, "low": 0.0, "high": 0.2, "point_before": 0.3, "log_loss": 0.1, "log_loss_before": 0.2}
    assert "![x](y)" not in card_words.fitted("vector", {**line, "fitted": "![x](y)"}, "![x](y)")
    assert "![x](y)" not in card_words.unfit("vector", "![x](y)")


def test_what_it_does_besides_is_said_of_the_calibrator_looked_at() -> None:
    selection = ticked("temperature", "class-wise-hb", "metacal-miscoverage")
    scene = session.scene_of(selection)
    table = scene.get(EXHIBITS.make("side-effects").table(scene)).to_dict("records")
    promises = scene.get(EXHIBITS.make("promises").table(scene)).set_index("calibrator")["sentence"]
    for line in table:
        app = opened(selection.replace(model=line["calibrator"]))
        text = pieces(app)
        for _, sentence in effects(line):
            assert unbroken(sentence) in text
        assert unbroken(promises[line["calibrator"]]) in text
    kept, changed, silent = (effects(line) for line in table)
    assert "the order of the classes does not change" in kept[0][1]
    assert "of the predicted classes change" in changed[0][1]
    assert any("abstains on" in sentence for _, sentence in silent)


@pytest.mark.parametrize("data", ["demo:digits-naive-bayes", "demo:breast-cancer-svm"])
def test_what_is_said_of_a_side_effect_is_its_column(data: str) -> None:
    """Before is before and after is after, and a rising number is not described as falling."""
    keys = ("temperature", "class-wise-hb", "metacal-miscoverage")
    chosen = tuple(Recipe("CALIBRATORS", key) for key in keys)
    scene = session.scene_of(Selection(source=Source(data=data), calibrators=chosen))
    for line in scene.get(EXHIBITS.make("side-effects").table(scene)).to_dict("records"):
        said = " ".join(sentence for _, sentence in effects(line))
        if "risk" in line:
            old, new = (percent(line[name]) for name in ("risk_before", "risk"))
            assert re.search(rf"Mean risk (stays|\w+ from {old} to) {new}", said)
            verb = "stays" if old == new else "falls" if line["risk"] < line["risk_before"] else "rises"
            assert f"Mean risk {verb} " in said
        else:
            old, new = (count(int(line[name])) if line[name] else "none" for name in ("sure_before", "sure"))
            assert f": {old} before, {new} after" in said
            for name, when in (("sure_right_before", "before"), ("sure_right", "after")):
                assert (f"{percent(line[name])} {when}" in said) == (line[name] == line[name])
        if line["abstained"]:
            assert f"abstains on {short_percent(line['abstained'])} of the rows" in said
    words = EXHIBITS.make("summary").words(scene)
    silent = {model.title: scene.get(model.predictions) for model in scene.abstaining}
    assert silent
    for title, rows in silent.items():
        assert 0 < rows.abstained.mean() != 0.5
        assert any(f"{title} abstains on {percent(rows.abstained.mean())} of" in note for note in words.notes)


def test_the_accuracy_named_where_risks_cross_one_half_is_of_all_rows() -> None:
    died = np.arange(100) < 30
    before, after = (np.where(died, 0.8, low) for low in (0.6, 0.2))
    rows = [cc.Predictions(np.column_stack([1 - risk, risk]), died.astype(int)) for risk in (before, after)]
    (line,) = cc.evaluation.model_tables.side_effects({"a": rows[0]}, {"a": rows[1]}, notion="event").to_dict("records")
    assert line["class_changed"] == 0.7
    sentence = effects(line)[-1][1]
    assert "70 % of the rows cross 50 %" in sentence
    assert "of all rows goes from 30.0 % to 100.0 %" in sentence


def test_the_old_table_and_the_map_of_a_class_are_a_click_away() -> None:
    selection = ticked("temperature", "top-label-hb", "class-wise-hb")
    app = ask(opened(selection), "numbers")
    table = app.dataframe[0].value
    assert table["model"].tolist() == ["Original model", *(recipe.title for recipe in selection.calibrators)]
    for line, recipe in zip(table.itertuples(), (session.BASE, *selection.calibrators), strict=True):
        measured = summaries(judged(Model(selection.source, recipe)), [None], every_measure())[0]
        for measure, value in zip(measured["measure"], measured["value"], strict=True):
            np.testing.assert_equal(table.loc[line.Index, measure], value)
    ask(app, "promises")
    calibrator = fitted(Model(selection.source, selection.calibrators[1]))
    promised = app.table[0].value
    assert unbroken(calibrator.guarantee(0.1).sentence) in promised.iloc[1, 1].replace("\\", "")
    assert promised["guaranteed"].tolist() == ["no", "yes", "yes"]
    ask(app, "effects")
    titles = [name.replace("\\", "") for name in app.table[0].value.columns]
    assert titles == [recipe.title for recipe in selection.calibrators]
    ask(app, "times")
    assert any(c.value.startswith("Milliseconds on this machine") for c in app.caption)
    ask(app, "pairs")
    assert "p_holm" in app.dataframe[0].value.columns
    ask(app, "maps")
    drawn_map = drawn(app)["binary-map"].trace("recalibrated score")
    expected = cc.diagrams.binary_map(calibrator, session.parts(selection.source).test, 0).output
    np.testing.assert_array_equal(drawn_map["y"], expected)


def test_a_map_is_chosen_by_calibrator_and_class() -> None:
    selection = ticked("top-label-hb", "class-wise-hb")
    app = ask(opened(selection), "maps")
    titles = app.selectbox(key="map.of").options
    assert titles == [recipe.title for recipe in selection.calibrators]
    sound(app.selectbox(key="map.of").select(titles[1]).run())
    sound(app.selectbox(key="map.stratum").select_index(2).run())
    kept = chosen(app)
    assert kept.model == titles[1]
    assert kept.exhibit("binary-map").params == (("stratum", 2),)
    calibrator = fitted(Model(selection.source, selection.calibrators[1]))
    expected = cc.diagrams.binary_map(calibrator, session.parts(selection.source).test, 2).output
    np.testing.assert_array_equal(drawn(app)["binary-map"].trace("recalibrated score")["y"], expected)


def test_what_was_fitted_is_a_picture_where_it_is_one() -> None:
    app = ask(opened(ticked("matrix")), "fitted")
    assert "fitted" in drawn(app)
    weights = fitted(Model(THREE, Recipe("CALIBRATORS", "matrix"))).weights_
    assert len(drawn(app)["fitted"].figure["data"][0]["x"]) == weights.size
    plain = ask(opened(ticked("temperature")), "fitted")
    assert "fitted" not in drawn(plain)
    assert any(c.value.replace("\\", "").startswith("Temperature scaling: T = ") for c in plain.caption)


def test_other_members_of_a_blend_have_other_weights() -> None:
    pair = ("temperature", "vector")
    app = opened(PLAIN.replace(calibrators=(CALIBRATORS.described("blend", members=pair, weights=(1, 3)),)))
    (members,) = app.multiselect
    sound(members.set_value(["temperature"]).run())
    (recipe,) = chosen(app).calibrators
    assert recipe == CALIBRATORS.described("blend", members=("temperature",)), "the weights are chosen anew"
    assert not app.warning


def test_settings_of_a_calibrator_are_on_its_card() -> None:
    app = opened(ticked("top-label-hb"))
    control = next(w for w in (*app.slider, *app.number_input) if w.key.endswith("points_per_bin"))
    sound(control.set_value(80).run())
    assert chosen(app).calibrators == (CALIBRATORS.described("top-label-hb", points_per_bin=80),)
    assert any("80" in box.label for box in app.checkbox)


@pytest.mark.parametrize("key", [key for key in model_keys() if CALIBRATORS[key].flags.may_refuse])
def test_whether_the_rate_is_kept_is_asked_for(key: str) -> None:
    selection = ticked(key)
    models = session.models(selection)
    app = opened(selection)
    if models.refused:
        assert models.refused[0][1] in pieces(app)
        return
    ask(app, "rates")
    name = f"rates-{Model(selection.source, selection.calibrators[0]).key}"
    assert name not in drawn(app)
    assert any("refit" in info.value for info in app.info)
    sound(app.toggle(key=f"exhibit.{name}.refit").set_value(True).run())
    diagram = cc.diagrams.constraint(session.whole(selection.source.data, ""), selection.calibrators[0])
    known = ~np.isnan(diagram.attained)
    trace = drawn(app)[name].trace(f"attained {diagram.rate}")
    np.testing.assert_array_equal(trace["y"], diagram.attained[known])


def test_where_a_model_abstains_the_rows_of_the_table_are_chosen() -> None:
    app = ask(opened(ticked("temperature", "metacal-miscoverage")), "numbers")
    assert any("rows that all models answer" in c.value for c in app.caption)
    sound(app.segmented_control(key="choice.counting").set_value("all").run())
    assert app.query_params["counting"] == "all"
    assert any("counts as its prediction" in c.value for c in app.caption)
    plain = ask(opened(ticked("temperature")), "numbers")
    assert "choice.counting" not in [control.key for control in plain.segmented_control]


def test_a_slider_stands_below_one_temperature_and_nothing_else() -> None:
    selection = ticked("temperature", "vector", "ensemble-temperature")
    scene = session.scene_of(selection)
    titles = [recipe.title for recipe in selection.calibrators]
    found = path(scene.focused(model=titles[0]))
    assert found is not None
    assert found[1] == fitted(Model(THREE, selection.calibrators[0])).temperature_
    rest = scene.get(found[0])
    assert found[1] in rest.temperatures
    assert [path(scene.focused(model=title)) for title in titles[1:]] == [None, None]
    # Marks of folds are at several temperatures.
    folds = session.scene_of(selection.replace(by="folds"))
    assert folds.cross_fitted
    assert path(folds.focused(model=titles[0])) is None


@pytest.mark.parametrize(
    ("changed", "words"),
    [(float("nan"), "not known"), (0.0, "keeps predicted classes"), (1.0, "1 of 1,000 predicted classes change")],
)
def test_a_card_says_how_many_predictions_change(changed: float, words: str) -> None:
    assert words in card_words._changes(CALIBRATORS["vector"].flags, {"changed": changed, "rows": 1000})


def test_rows_that_would_make_the_log_loss_infinite_are_told_where_it_stands() -> None:
    certain = cc.Predictions([[1.0, 0.0], [0.5, 0.5], [1.0, 0.0]], [1, 0, 0])
    assert calibrator_cards._endless(certain.take([1, 2])) == ""
    assert floored_words(1, 3) in calibrator_cards._endless(certain)
    # Below the floor, and not 0: no sentence calls it 0.
    tiny = cc.Predictions([[1.0, 1e-17], [0.5, 0.5], [1.0, 0.0]], [1, 0, 0])
    assert calibrator_cards._endless(tiny) == calibrator_cards._endless(certain)
    assert "of 0, or nearly 0" in calibrator_cards._endless(tiny)


def test_the_advice_and_the_line_above_it_count_clipped_rows_in_the_same_words() -> None:
    zero = cc.Predictions([[1.0, 0.0]] * 200, [0] * 180 + [1] * 20)
    found = cc.choose(zero, ["temperature"])
    assert begun(floored_words(20, 200)) in " ".join(found.notes)
    assert floored_words(20, 200) in calibrator_cards._endless(zero)


def test_costs_have_a_control_only_where_decisions_are_priced() -> None:
    uses = {key: EXHIBITS.make("recommendation", score=key).used for key in ("log-loss", "confidence", "cost")}
    assert uses == {"log-loss": ("score", "worst_of"), "confidence": ("score", "worst_of"),
                    "cost": ("score", "costs", "worst_of")}  # fmt: skip
