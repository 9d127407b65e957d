"""Exhibits of the calibrators: their tables equal the library's for the choices on screen, with correct texts."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import calib_core as cc
from calib_core import NotAnswerable, Predictions, Recipe
from calib_core.evaluation.study import SCORES, over_same_rows_by_name
from calib_core.inference import estimate_lines as lines
from calib_core.text import begun, percent, points
from calib_core.text import short_percent as in_percent
from dashboard import session
from dashboard.exhibits import EXHIBITS
from dashboard.exhibits.calibrators import NOTIONS, effects
from dashboard.exhibits.columns import NOT_KNOWN, written
from dashboard.selection import Selection, Source
from dashboard.session import Scene

KEYS = ("temperature", "top-label-hb", "metacal-miscoverage")
CHOSEN = Selection(
    source=Source(data="demo:wine-logistic", by="share"),
    calibrators=tuple(Recipe("CALIBRATORS", key) for key in KEYS),
    binning="equal-width",
    bins=7,
    eps=0.2,
)

THREE_CLASSES = CHOSEN.replace(data="demo:synthetic-three-class")


@pytest.fixture(scope="module")
def scene() -> Scene:
    return session.scene_of(CHOSEN)


@pytest.fixture(scope="module")
def rows(scene: Scene) -> dict[str, Predictions]:
    return {model.title: scene.get(model.predictions) for model in scene.models.shown}


def cells(scene: Scene, key: str, **options: Any) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return the table of an exhibit, and its printed cells by their headings."""
    exhibit = EXHIBITS.make(key, **options)
    frame = scene.get(exhibit.table(scene))
    columns = exhibit.columns(frame)
    lines = written(frame, columns)
    return frame, {column.heading: [line[i] for line in lines] for i, column in enumerate(columns)}


def same(frame: pd.DataFrame, expected: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(frame, expected, check_exact=True)


def test_errors_are_in_the_bins_and_by_the_tolerance_chosen(scene: Scene, rows: dict[str, Predictions]) -> None:
    frame, shown = cells(scene, "calibrator-errors")
    alike = over_same_rows_by_name(rows)
    questions = [(notion, "ece") for notion in NOTIONS if notion != "event"]
    same(frame, lines(cc.inference.estimates(alike, questions, 7, by_model=False), 0.2))
    assert not frame.equals(lines(cc.inference.estimates(alike, questions, 7, by_model=False)))
    assert not frame.equals(lines(cc.inference.estimates(alike, questions, by_model=False), 0.2))
    assert shown["notion"] == [cc.REDUCTIONS[key].title for key in frame["notion"]]
    for heading, name in (("estimate", "point"), ("raw value", "value"), ("noise floor", "floor")):
        assert shown[heading] == [NOT_KNOWN if value != value else in_percent(value) for value in frame[name]]
    silent = frame[frame["value"].isna()]
    assert silent["model"].unique().tolist() == [scene.titles[2]]
    notes = " ".join(EXHIBITS.make("calibrator-errors").words(scene).notes)
    assert all(begun(why) in notes for why in silent["note"])


def test_scores_are_of_whole_predictions(scene: Scene, rows: dict[str, Predictions]) -> None:
    frame, shown = cells(scene, "scores")
    questions = [(None, key) for key in SCORES]
    same(frame, lines(cc.inference.estimates(over_same_rows_by_name(rows), questions, by_model=False)))
    assert frame["model"].tolist() == [*scene.titles] * len(SCORES)
    assert list(dict.fromkeys(shown["score"])) == [cc.ESTIMATORS[key].title for key in SCORES]


def test_the_corrected_p_value_of_a_pair_is_written_beside_its_own(scene: Scene, rows: dict[str, Predictions]) -> None:
    frame, shown = cells(scene, "pairs", estimator="brier", notion="whole")
    same(frame, cc.compare(rows, None, "brier"))
    scene = session.scene_of(THREE_CLASSES.replace(calibrators=CHOSEN.calibrators[:2]))
    frame, shown = cells(scene, "pairs", estimator="ece")
    for heading, name in (("p", "p"), ("p (corrected)", "p_holm")):
        assert shown[heading] == ["< 0.0001" if p < 1e-4 else f"{p:.2g}" for p in frame[name]]
    assert shown["p"] != shown["p (corrected)"]


def test_decisions_change_from_the_base_model_to_the_recalibrated_one() -> None:
    scene = session.scene_of(THREE_CLASSES)
    frame, shown = cells(scene, "side-effects")
    effects = cc.evaluation.study.side_effects(
        *(scene.get(m.predictions) for m in (scene.models.shown[0], scene.models.shown[-1]))
    )
    assert effects.accuracy_change > 0.01
    assert frame.loc[2, ["accuracy_change", "abstained"]].tolist() == [effects.accuracy_change, effects.abstained]
    assert shown["accuracy change"][2] == points(effects.accuracy_change)
    assert shown["rows it abstains on"][2] == percent(effects.abstained)


def test_uses_of_confidence_are_those_of_the_models_shown() -> None:
    scene = session.scene_of(THREE_CLASSES)
    frame, shown = cells(scene, "uses", coverage=0.5)
    base, model = scene.models.shown[0], scene.models.recalibrated[-1]
    rows = {model.title: scene.get(base.predictions)}, {model.title: scene.get(model.predictions)}
    twin = cc.evaluation.usefulness.changes(*rows, coverage=0.5)
    same(frame[frame["calibrator"] == model.title].reset_index(drop=True), twin)
    assert "accuracy of most confident 50 %" in shown["measure"]
    words = EXHIBITS.make("uses", coverage=0.5).words(scene)
    assert words.headline == cc.evaluation.usefulness.sentences(frame)
    assert all(any(why in note for note in words.notes) for why in frame["note"].unique())


def test_parts_of_scores_are_made_where_they_are_asked_for() -> None:
    scene = session.scene_of(THREE_CLASSES.replace(calibrators=THREE_CLASSES.calibrators[:1]))
    with pytest.raises(NotAnswerable, match="slow"):
        cells(scene, "score-parts")
    frame, shown = cells(scene, "score-parts", slow=True)
    base, model = (scene.get(m.predictions) for m in scene.models.shown)
    title = scene.models.recalibrated[0].title
    same(frame, cc.evaluation.score_decomposition.parts_of_scores({title: base}, {title: model}))
    assert shown["part"][:3] == list(cc.evaluation.score_decomposition.PARTS.values())


def test_rates_are_of_the_model_looked_at_where_it_keeps_one(scene: Scene) -> None:
    both = session.scene_of(CHOSEN.replace(calibrators=tuple(Recipe("CALIBRATORS", f"metacal-{rate}")
                                                             for rate in ("accuracy", "miscoverage"))))  # fmt: skip
    keeping = [model.title for model in both.models.recalibrated]
    for title in keeping:
        with pytest.raises(NotAnswerable, match=f"{title}.*refit"):
            cells(both.focused(model=title), "rates")
    with pytest.raises(NotAnswerable, match=f"{keeping[0]}.*refit"):
        cells(both.focused(model="Original model"), "rates")
    frame, _ = cells(scene, "rates", refit=True)
    whole = session.whole("demo:wine-logistic", "")
    same(frame.drop(columns="model"), cc.diagrams.constraint(whole, "metacal-miscoverage").frame())


def test_without_a_calibrator_each_exhibit_says_what_would_make_one() -> None:
    alone = session.scene_of(CHOSEN.replace(calibrators=()))
    for key in ("pairs", "promises", "side-effects", "uses", "score-parts", "binary-map", "rates"):
        with pytest.raises(NotAnswerable, match=r"select a calibrator|no selected calibrator"):
            cells(alone, key)


def test_a_map_of_a_class_that_is_not_there_is_the_last_one() -> None:
    scene = session.scene_of(THREE_CLASSES)
    frame, _ = cells(scene, "binary-map", stratum=99)
    same(frame, cells(scene, "binary-map", stratum=2)[0])
    assert not frame.equals(cells(scene, "binary-map")[0])


def test_a_map_of_one_group_of_several_says_so() -> None:
    scene = session.scene_of(THREE_CLASSES)
    assert "(one of 3 groups)" in EXHIBITS.make("binary-map").words(scene).caption


def test_what_is_promised_is_what_the_library_says(scene: Scene) -> None:
    frame, shown = cells(scene, "promises")
    assert shown["guarantee, or why there is none"] == frame["sentence"].tolist()
    assert shown["calibrator"] == list(scene.titles[1:])


def test_a_recalibration_cell_by_cell_is_learned_on_the_calibration_rows() -> None:
    scene = session.scene_of(THREE_CLASSES)
    frame, _ = cells(scene, "canonical-validity")
    rows = (scene.get(scene.model.calibration), scene.get(scene.model.predictions))
    pairs = {recipe.title: cc.diagrams.validity_by_cell(recipe.build(), *rows) for recipe in scene.partitions}
    same(frame, cc.calls.stacked(pairs, "partition"))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [(0.3, 0.2, "falls from 30.0 % to 20.0 %"), (0.2, 0.3, "rises from 20.0 % to 30.0 %"), (0.3, 0.3, "stays 30.0 %")],
)
def test_the_mean_risk_falls_to_a_smaller_number_and_rises_to_a_larger_one(
    before: float, after: float, said: str
) -> None:
    line = {"risk": after, "risk_before": before, "observed": 0.25, "abstained": 0.0, "class_changed": 0.0}
    (_, mean), _ = effects(line | {"accuracy": 0.8, "accuracy_before": 0.8})
    assert mean == f"Mean risk {said}; the observed frequency is 25.0 %."
