"""Several models on the same rows: chosen in the data view, shown in every other, refused with a reason."""

from __future__ import annotations

import io
import re
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from shown_models import fitted
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import NotAnswerable, Recipe
from calib_core.inference.comparison.score_differences import mean_gain
from calib_core.text import chance, score
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.calibrators import first_named
from dashboard.exhibits.pairs import better
from dashboard.report import CHAPTERS, Options, build
from dashboard.selection import Selection, Source
from dashboard.session import Model
from dashboard.views import VIEWS
from tests.dashboard.test_recalibrate import ask
from tests.dashboard.test_views import opened

BAYES, FOREST, MLP = ("demo:digits-naive-bayes", "demo:digits-random-forest", "demo:digits-mlp")
BOTH = Selection(source=Source(data=BAYES), others=((FOREST, ""),))


WHOLE = BOTH.with_exhibit(EXHIBITS.described("pairs", estimator="brier", notion="whole"))
NOT_ANSWERED = BOTH.with_exhibit(EXHIBITS.described("pairs", estimator="ece", notion="whole"))


def shown(selection: Selection, key: str) -> Any:
    """Return the table of an exhibit on screen."""
    scene = session.scene_of(selection)
    return scene.get(selection.exhibit(key).build().table(scene))


def test_a_link_names_the_files_compared() -> None:
    assert Selection.from_query(BOTH.to_query()) == (BOTH, ())
    kept, said = Selection.from_query({"others": '["demo:x"]'})
    assert kept.others == ()
    assert len(said) == 1


def test_every_file_is_shown_as_it_is_and_after_every_calibrator() -> None:
    models = session.models(BOTH).shown
    names = ["naive Bayes", "random forest"]
    assert [m.title for m in models] == [t for n in names for t in (n, f"{n}, Temperature scaling")]
    table = shown(BOTH, "calibrators")
    expected = shown(Selection(source=Source(data=FOREST)), "calibrators")
    for column in ("Accuracy", "Log loss", "TL-ECE"):
        np.testing.assert_array_equal(table[column].to_numpy()[2:], expected[column].to_numpy())


def test_the_rows_of_another_file_are_divided_like_those_of_the_first() -> None:
    # By a seed of its own: equal labels would be divided alike without any help.
    first, second = (session.parts(s) for s in BOTH.replace(seed=5).sources)
    np.testing.assert_array_equal(first.test_rows, second.test_rows)
    np.testing.assert_array_equal(first.test.true_labels, second.test.true_labels)
    whole = session.whole(FOREST, "")
    np.testing.assert_array_equal(second.test.probs, whole.probs[first.test_rows])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("view", [v for v in VIEWS if v not in ("start", "data")])
def test_every_view_shows_both_models(view: str) -> None:
    app = opened(BOTH.replace(view=view))
    assert not app.exception
    text = " ".join(block.value for block in (*app.markdown, *app.caption)) + app.button(key="frame.data").label
    text += " ".join(table.value.to_string() for table in (*app.dataframe, *app.table))
    assert "naive Bayes" in text
    assert "random forest" in text


def test_every_pair_is_compared_on_the_same_rows_with_corrected_p_values() -> None:
    selection = WHOLE.replace(calibrators=(), others=((FOREST, ""), (MLP, "")))
    frame = shown(selection, "pairs")
    assert len(frame) == 3
    assert not frame["note"].any()
    first, second = (session.parts(source).test for source in selection.sources[:2])
    rows = [np.square(p.probs - np.eye(10)[p.true_labels]).sum(axis=1) for p in (first, second)]
    gain = rows[0] - rows[1]
    line = frame.iloc[0]
    assert line["difference"] == pytest.approx(gain.mean())
    wanted = mean_gain(first, second, gain, cc.ESTIMATORS.make("brier").label_losses, 0.9)
    assert (line["low"], line["high"], line["p"]) == (wanted.low, wanted.high, wanted.p_value)
    half = 1.6465 * gain.std(ddof=1) / np.sqrt(len(gain))  # Student's, for rows whose predictions vary too
    assert 0.7 * half < (line["high"] - line["low"]) / 2 <= 1.05 * half
    assert (frame["p_holm"] >= frame["p"]).all()
    app = asked_for_pairs(selection)
    table = next(table for table in app.dataframe if "p_holm" in table.value.columns).value
    pd.testing.assert_frame_equal(table[frame.columns].reset_index(drop=True), frame)


def test_bins_that_are_chosen_reach_the_estimators_that_take_some() -> None:
    chosen = BOTH.replace(calibrators=(), binning="equal-width", bins=7)
    rows = {model.title: session.scene_of(chosen).get(model.predictions) for model in session.models(chosen).shown}
    for key, bins in (("ece", 7), ("ece-adaptive", None)):
        frame = shown(chosen.with_exhibit(EXHIBITS.described("pairs", estimator=key)), "pairs")
        pd.testing.assert_frame_equal(frame, cc.compare(rows, "confidence", key, bins))


def test_pairs_that_cannot_be_compared_say_why_once() -> None:
    selection = NOT_ANSWERED.replace(calibrators=())
    with pytest.raises(NotAnswerable, match="only be compared by scores"):
        shown(selection, "pairs")
    assert any("only be compared by scores" in c.value for c in asked_for_pairs(selection).info)
    silent = Selection(calibrators=tuple(Recipe("CALIBRATORS", key) for key in ("temperature", "metacal-miscoverage")))
    frame = shown(silent, "pairs")
    assert (frame["note"] != "").sum() == 2
    notes = EXHIBITS.make("pairs").words(session.scene_of(silent)).notes
    assert [note for note in notes if note.startswith("2 of 3 pairs were not compared: ")]


def test_one_model_alone_has_no_pair() -> None:
    assert any("only one model" in info.value for info in asked_for_pairs(Selection(calibrators=())).info)


def asked_for_pairs(selection: Selection) -> AppTest:
    """Return the room in which calibrators are chosen, with its pairs."""
    app = opened(selection.replace(view="calibrators"))
    return ask(app, "pairs")


def reported(selection: Selection) -> list[Any]:
    """Return the blocks of the report's section on models."""
    left_out = tuple(chapter.key for chapter in CHAPTERS if chapter.key != "calibrators")
    return list(build(selection, Options(date="a day", left_out=left_out)).document.sections[0].blocks)


def test_the_report_has_the_differences_of_the_screen_or_says_why_not() -> None:
    selection = BOTH.replace(calibrators=(), others=((FOREST, ""), (MLP, "")))
    blocks = reported(selection)
    table = next(b for b in blocks if getattr(b, "name", "") == "differences")
    pd.testing.assert_frame_equal(table.frame, shown(selection, "pairs"))
    notes = [block.text for block in blocks if getattr(block, "aside", False)]
    assert any(
        re.match("(The|Each) interval is for |Mark .: the interval is for ", note) and "difference" in note
        for note in notes
    )
    refused = reported(NOT_ANSWERED.replace(calibrators=()))
    assert not any(getattr(block, "name", "") == "differences" for block in refused)
    reasons = [block for block in refused if getattr(block, "lead", "") == "Not available."]
    assert len(reasons) == 1
    assert "only be compared by scores" in reasons[0].text


def shifted(labels: pd.Series, name: str) -> str:
    """Return an upload with the given labels."""
    table = pd.DataFrame({str(k): 0.1 for k in range(10)}, index=range(len(labels))).assign(label=labels)
    data = io.BytesIO()
    table.to_csv(data, index=False)
    return session.hold(data.getvalue(), name).key


def test_a_file_of_other_rows_is_refused_with_the_first_row_that_differs() -> None:
    labels = pd.Series(session.whole(BAYES, "").true_labels)
    labels[17] = (labels[17] + 1) % 10
    key = shifted(labels, "other.csv")
    refused = session.models(BOTH.replace(others=((key, ""), (MLP, "")))).refused
    assert [model.source.data for model, _ in refused] == [key]
    assert "row 17 has the label" in refused[0][1]


def test_a_file_that_is_not_here_is_named_once_and_the_others_stay() -> None:
    gone = "sha256:" + "0" * 64
    models = session.models(BOTH.replace(others=((gone, ""), (FOREST, ""))))
    assert len(models.refused) == 1
    assert "not here" in models.refused[0][1]
    assert len(models.shown) == 4


def test_models_are_not_compared_on_two_files() -> None:
    two = BOTH.replace(test=MLP)
    assert "one file per model" in session.models(two).refused[0][1]


def test_a_calibrator_of_one_file_is_fitted_on_that_file() -> None:
    recipe = Recipe("CALIBRATORS", "temperature")
    fits = [fitted(Model(source, recipe)) for source in BOTH.sources]
    assert fits[0].temperature_ != fits[1].temperature_  # type: ignore[attr-defined]


def test_another_model_is_chosen_in_the_data_view_and_left_out_again() -> None:
    app = opened(Selection(view="data", source=Source(data=BAYES)))
    app.selectbox(key="data.more").select(FOREST).run()
    assert not app.exception
    assert app.session_state["calib.selection"].others == ((FOREST, ""),)
    app.button(key="data.more.drop.0").click().run()
    assert app.session_state["calib.selection"].others == ()


def test_another_file_in_use_ends_the_comparison() -> None:
    app = opened(BOTH.replace(view="data"))
    app.radio(key="data.choice.demo").set_value("demo:wine-logistic").run()
    assert not app.exception
    assert app.session_state["calib.selection"].others == ()


def test_of_two_files_it_is_said_which_is_better_and_of_which_cards_and_advice_speak() -> None:
    scene = session.scene_of(BOTH)
    (sentence,) = better(scene)
    line = cc.compare({m.title: scene.get(m.predictions) for m in scene.bases}, None, "log-loss").iloc[0]
    assert (line["verdict"], sentence.partition(":")[0]) == (
        "worse",
        "By log loss, random forest is better than naive Bayes",
    )
    assert chance(line["p"]) in sentence
    assert line["second_value"] < line["first_value"]
    assert f"{score(line['second_value'])} against {score(line['first_value'])} (" in sentence, "the better one's first"
    assert first_named(scene) == "naive Bayes"
    alone = session.scene_of(BOTH.replace(others=()))
    assert (better(alone), first_named(alone)) == ((), "")


def test_every_recalibrated_risk_is_compared_with_its_own_file() -> None:
    """Rows near a risk are those near it before recalibration, by the model that was recalibrated."""
    rng = np.random.default_rng(9)
    risk = rng.beta(2, 4, 1200)
    died = (rng.random(1200) < 0.7 * risk).astype(int)
    keys = [
        session.hold(
            pd.DataFrame({"risk": said.round(5), "died": died}).to_csv(index=False).encode(), f"{name}.csv"
        ).key
        for name, said in (("one", risk), ("two", risk**1.4))
    ]
    chosen = (Recipe("CALIBRATORS", "intercept"),)
    scene = session.scene_of(Selection(source=Source(data=keys[0]), others=((keys[1], ""),), calibrators=chosen))
    answers = EXHIBITS.make("hero").answers(scene)
    after = [model for model in scene.models.recalibrated if model.title in answers]
    assert len(after) == 2
    risks = scene.get(answers[scene.titles[0]]).confidence
    for model in after:
        before = scene.get(model.base.predictions)
        wanted = cc.diagrams.updated_frequency(before, scene.get(model.predictions), risks)
        found = scene.get(answers[model.title])
        np.testing.assert_array_equal(found.right, wanted.right)
        np.testing.assert_array_equal(found.claimed, wanted.claimed)
    bases = [scene.get(model.base.predictions) for model in after]
    assert not np.array_equal(bases[0].probs, bases[1].probs), "or one could stand for the other"


def test_the_first_of_many_models_is_compared_with_the_three_after_it(monkeypatch):
    lines = {"note": "", "low": -0.2, "high": -0.1, "p": 0.001, "verdict": "better"}
    scene = SimpleNamespace(
        bases=[SimpleNamespace(title=name, predictions=name) for name in "abcde"],
        get=lambda rows: pd.DataFrame(
            [
                {"first": p, "second": q, "first_value": 0.1, "second_value": 0.2, **lines}
                for p, q in combinations(rows, 2)
            ]
        ),
    )
    monkeypatch.setattr("dashboard.exhibits.pairs.call", lambda function, rows, notion, key: rows)
    said = [sentence.split(":")[0] for sentence in better(scene)]
    assert said == [f"By log loss, a is better than {name}" for name in "bcd"]
