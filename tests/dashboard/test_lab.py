"""The laboratory on screen and in the terminal: its content is the library's, and the link restores it."""

import io
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import calib_core as cc
from calib_core import Recipe
from calib_core.text import short_percent
from dashboard import session
from dashboard.chart import Click, drawn, slot
from dashboard.cli import main
from dashboard.selection import Selection
from tests.dashboard.test_views import opened

TRUTH = Recipe("TRUTHS", "drawn", (("shares", (0.2, 0.4, 0.9)),))
CURVE = Recipe("EXHIBITS", "lab-curve", (("truth", TRUTH), ("n", 200)))
ERRORS = Recipe("EXHIBITS", "lab-errors", (("draws", 2), ("experiment", "eces"), ("truth", TRUTH)))


def chosen(*recipes):
    return Selection(view="lab", exhibits=recipes)


def words(app):
    return (
        " ".join(caption.value for caption in app.caption).replace("\\", "").replace("\u202f", " ").replace("\xa0", " ")
    )


def test_a_point_is_moved_and_the_truth_follows():
    app = opened(chosen(CURVE))
    true = cc.lab.true_error(TRUTH).value
    assert f"True error: {100 * true:.2g} %" in words(app)
    app.slider(key="exhibit.lab-curve.truth.drawn.shares.0.2").set_value(60.0).run()
    moved = cc.lab.Drawn((0.6, 0.4, 0.9))
    assert f"True error: {100 * cc.lab.true_error(moved).value:.2g} %" in words(app)
    # The other exhibit is about the same truth, and the link knows it.
    link = Selection.from_query(dict(app.query_params))[0]
    assert [dict(recipe.params)["truth"].build() for recipe in link.exhibits] == [moved, moved]
    assert "True error: " + f"{100 * cc.lab.true_error(moved).value:.2g} %" in words(opened(link))


def test_a_point_is_dragged_in_the_picture_and_what_a_browser_makes_up_is_left_out():
    app = opened(chosen(CURVE))
    assert "Drag the points of the curve" in words(app)
    for record, shares in (
        ({"point": 1, "share": 0.62}, (0.2, 0.62, 0.9)),
        ({"point": 7, "share": 0.5}, (0.2, 0.62, 0.9)),
        ({"point": -1, "share": 0.5}, (0.2, 0.62, 0.9)),
        ({"point": 0, "share": 1.5}, (0.2, 0.62, 0.9)),
        ({"point": True, "share": 0.4}, (0.2, 0.62, 0.9)),
        ({"point": 2, "share": 1}, (0.2, 0.62, 1.0)),
    ):
        app.session_state[slot("lab-curve")] = Click(None, None, record, None, None, 1)
        app.run()
        assert not app.exception
        link = Selection.from_query(dict(app.query_params))[0]
        assert [dict(recipe.params)["truth"].build().shares for recipe in link.exhibits] == [shares, shares]
        grabbed = drawn(app)["lab-curve"].trace("points to drag")
        assert (grabbed["y"].tolist(), [mark["point"] for mark in grabbed["customdata"]]) == (list(shares), [0, 1, 2])
        assert app.slider(key="exhibit.lab-curve.truth.drawn.shares.1.2").value == pytest.approx(100 * shares[1])


def test_a_law_without_points_has_none_to_drag():
    sigmoid = Recipe("EXHIBITS", "lab-curve", (("truth", Recipe("TRUTHS", "sigmoid")), ("n", 100)))
    app = opened(chosen(sigmoid))
    assert "Drag" not in words(app)
    assert not any("grab" in (trace.get("meta") or {}) for trace in drawn(app)["lab-curve"].figure["data"])
    app.session_state[slot("lab-curve")] = Click(None, None, {"point": 1, "share": 0.6}, None, None, 1)
    app.run()
    assert not app.exception
    assert dict(Selection.from_query(dict(app.query_params))[0].exhibit("lab-curve").params)["truth"].key == "sigmoid"


def test_points_are_added_on_the_line_there_was():
    app = opened(chosen(CURVE))
    app.number_input(key="exhibit.lab-curve.truth.drawn.shares.points").set_value(5).run()
    link = Selection.from_query(dict(app.query_params))[0]
    assert dict(dict(link.exhibits[0].params)["truth"].params)["shares"] == pytest.approx((0.2, 0.3, 0.4, 0.65, 0.9))


def test_sampling_again_takes_the_next_sample():
    app = opened(chosen(CURVE))
    button = next(each for each in app.button if each.label == "Sample again")
    button.click().run()
    link = Selection.from_query(dict(app.query_params))[0]
    assert dict(link.exhibit("lab-curve").params)["seed"] == 1


def test_nothing_long_is_made_before_it_is_asked_for():
    app = opened(chosen(ERRORS))
    assert "lab-errors" not in {chart.proto.id for chart in app.get("plotly_chart")}
    button = next(each for each in app.button if each.label == "Compute")
    button.click().run()
    assert not app.exception
    own = cc.lab.error_curves("eces", TRUTH, draws=2)
    scene = session.scene_of(chosen(ERRORS))
    assert scene.knows(ERRORS.build().found())
    pd.testing.assert_frame_equal(scene.get(ERRORS.build().table(scene)), own.frame())


def test_the_sample_becomes_the_data_in_use():
    app = opened(chosen(CURVE))
    next(each for each in app.button if each.label == "Use this sample as data").click().run()
    assert not app.exception
    link = Selection.from_query(dict(app.query_params))[0]
    assert link.view == "overview"
    rows, again = cc.lab.sample(TRUTH, 200), session.whole(link.source.data, "")
    np.testing.assert_allclose(again.probs, rows.probs)
    np.testing.assert_array_equal(again.labels, rows.labels)

    # Every row is judged, in the notion of the laboratory.
    assert (link.source.by, link.notion) == ("folds", "class-specific")
    judged = session.scene_of(link).models.shown[0].division
    assert session.scene_of(link).get(judged.part("test")).n_rows == 200


def test_the_sample_goes_to_the_planner_with_its_question():
    app = opened(chosen(CURVE))
    next(each for each in app.button if each.label == "Plan the sample size").click().run()
    assert not app.exception
    link = Selection.from_query(dict(app.query_params))[0]
    assert (link.view, link.source.by) == ("planner", "folds")
    np.testing.assert_allclose(session.whole(link.source.data, "").probs, cc.lab.sample(TRUTH, 200).probs)
    assert "With 200 rows like these" in " ".join(text.value for text in app.markdown)


def test_numbers_of_the_sample_are_named_and_say_which_error_is_judged():
    said, rows = words(opened(chosen(CURVE))), cc.lab.sample(TRUTH, 200)
    notion = cc.REDUCTIONS.make("class-specific", cls=1)
    for name, estimator in (("Raw ECE", "ece"), ("Debiased ECE", "debiased-ece")):
        assert f". {name}: {short_percent(cc.estimate(rows, notion, estimator).value)}, ".replace("\u202f", " ") in said
    assert "on all 200 rows" in said
    assert "The overview evaluates the confidence" in said


def test_sampling_again_stands_above_the_fields():
    app = opened(chosen(CURVE))
    labels = [getattr(each, "label", "") for each in app.main if hasattr(each, "label")]
    assert labels.index("Sample again") < labels.index("Rows")


def test_samples_that_are_drawn_are_shown_one_by_one():
    # A seed no other test computes: what is known already is shown unasked.
    app = opened(chosen(CURVE, replace(ERRORS, params=(*ERRORS.params, ("seed", 977)))))
    assert "lab-distances" not in drawn(app), "nothing is drawn unasked"
    next(each for each in app.button if each.label == "Compute").click().run()
    assert not app.exception
    found = cc.lab.error_distances("eces", TRUTH, 300, 2, 977)
    traces = drawn(app)["lab-distances"].figure["data"]
    assert [trace["name"] for trace in traces] == list(found.median)
    labels = [each.label for each in app.number_input if "lab-distances" in each.key]
    assert labels == ["Rows of each sample"], "the rest is chosen above"


def test_seeds_are_named_for_what_they_number():
    mixture = Recipe("EXHIBITS", "lab-curve", (("truth", Recipe("TRUTHS", "mixture")), ("n", 100)))
    labels = {each.label.replace("\\", "") for each in opened(chosen(mixture)).number_input}
    assert {"Mixture (number)", "Training rows (number)", "Which sample (number)"} <= labels


def test_data_that_are_gone_do_not_matter():
    gone = Selection.from_query({"view": "lab", "data": "sha256:" + "0" * 64})[0]
    assert "True error" in words(opened(gone))


@pytest.mark.parametrize("form", ["--csv", "--json", ""])
def test_the_command_writes_the_librarys_table(form, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    args = ["lab", "drawn", "--set", "shares=[0.2, 0.4, 0.9]", "--experiment", "eces", "--draws", "2"]
    answer = CliRunner().invoke(main, [*args, *filter(None, [form])], prog_name="calib")
    assert answer.exit_code == 0, answer.output
    own = cc.lab.error_curves("eces", TRUTH, draws=2).frame()
    if form == "--csv":
        np.testing.assert_allclose(pd.read_csv(io.StringIO(answer.stdout))["value"], own["value"])
    elif form == "--json":
        assert [line["value"] for line in json.loads(answer.stdout)["lines"]] == own["value"].tolist()
    else:
        assert "Debiased ECE, 100 bins" in answer.stdout


@pytest.mark.parametrize("form", ["--json", ""])
def test_an_experiment_with_truths_of_its_own_names_itself(form, monkeypatch):
    what = replace(cc.lab.EXPERIMENTS["models"], truths=(cc.lab.ExampleOne(),), n=(30,))
    monkeypatch.setitem(cc.lab.EXPERIMENTS, "models", what)
    args = ["lab", "--experiment", "models", "--draws", "2", *filter(None, [form])]
    answer = CliRunner().invoke(main, args, prog_name="calib")
    assert answer.exit_code == 0, answer.output
    if form:
        assert json.loads(answer.stdout)["options"]["truth"] is None
    else:
        assert answer.stdout.startswith(what.title)


def test_before_a_calibrator_the_column_says_so(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    args = ["lab", "drawn", "--experiment", "bins", "--draws", "2"]
    assert "true error before" in CliRunner().invoke(main, args, prog_name="calib").stdout
    args = ["lab", "drawn", "--estimator", "ece", "--rows", "50", "--draws", "2"]
    assert "true error before" not in CliRunner().invoke(main, args, prog_name="calib").stdout
    after = CliRunner().invoke(main, [*args, "--calibrator", "temperature"], prog_name="calib").stdout
    assert "true error before" in after


def test_the_command_runs_estimators_of_ones_own():
    args = ["lab", "sigmoid", "--estimator", "ece", "--rows", "50", "--draws", "4", "--intervals", "--csv"]
    answer = CliRunner().invoke(main, args, prog_name="calib")
    own = cc.lab.repeated("sigmoid", 50, 4, ["ece"], intervals=True).frame()
    assert pd.read_csv(io.StringIO(answer.stdout))["share_held"].tolist() == own["share_held"].tolist()


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["sigmoid", "--experiment", "models"], "has truths of its own"),
        (["--set", "slope=2", "--experiment", "models"], "has truths of its own"),
        (["nowhere"], "TRUTH 'nowhere' is not known"),
        (["drawn", "--set", "shares=[2, 3]"], "each from 0 to 1"),
        (["--experiment", "none"], "it must be one of estimators"),
        (["--rows", "10"], "goes with --estimator"),
        (["--csv", "--json"], "exclude each other"),
        (["--estimator", "none", "--rows", "10"], "--estimator 'none' is not known"),
    ],
)
def test_the_command_refuses_in_a_sentence(args, why):
    answer = CliRunner().invoke(main, ["lab", *args], prog_name="calib")
    assert answer.exit_code == 2
    assert why in answer.stderr
