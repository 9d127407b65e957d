"""Exported modules: their content, requirements and refusals, and that a wrong one is never returned."""

import ast
import dataclasses
import json
import math
import subprocess
import sys

import numpy as np
import pytest
from exports import fitted, fresh_rows, module
from generated import classes_for, ordinary_rows
from sklearn.exceptions import NotFittedError

import calib_core as cc
from calib_core import CALIBRATORS, InputError, Logits, NotAnswerable, Predictions
from calib_core._base.arrays import LOG_FLOOR, Rows
from calib_core.calibrators import Calibrator, Composed, Histogram, Reduced
from calib_core.calibrators.base import carried_back
from calib_core.calibrators.meta_cal import entropies
from calib_core.exporting import (
    PiecewiseMap,
    bins_computed,
    nodes,
    probe_rows,
    program,
    python,
    python_source,
    steps_of,
)
from calib_core.exporting.trial import compared
from calib_core.reductions import ClassSpecific


def small(key="temperature", k=3, n=200, **params):
    return CALIBRATORS.make(key, **params).fit(*ordinary_rows(n, k))


# ---- isolation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["temperature", "top-label-hb", "ts+isotonic-ovr", "metacal-miscoverage"])
def test_the_module_runs_in_a_python_without_packages(case, tmp_path):
    calibrator, rows = fitted(case), fresh_rows(classes_for(case, 4))
    path = tmp_path / "calibrator.py"
    path.write_text(python_source(calibrator), encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(path)]
    done = subprocess.run(command, input=json.dumps(rows.tolist()), capture_output=True, text=True, check=True)
    np.testing.assert_allclose(json.loads(done.stdout), calibrator.predict_proba(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", ["temperature", "ensemble-temperature", "ts+top-k-label", "normalised of beta"])
def test_the_module_imports_only_the_standard_library_and_defines_all_it_calls(case):
    tree = ast.parse(python_source(fitted(case)))
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert imported <= {"__future__", "bisect", "json", "math", "sys", "typing"}
    for name in ("bisect", "math"):
        used = any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(tree))
        assert (name in imported) is used


@pytest.mark.parametrize("normalise", [False, True])
def test_one_recalibrated_class_is_exported_with_the_others_as_they_are(normalise):
    probs, labels = ordinary_rows(300, 3)
    calibrator = Reduced(ClassSpecific(1), Histogram(points_per_bin=30), normalise=normalise).fit(probs, labels)
    made = np.array(module(python_source(calibrator)).predict_proba(probs[:40].tolist()))
    np.testing.assert_allclose(made, calibrator.predict_proba(probs[:40]), rtol=0, atol=1e-12)


def test_bins_of_tied_scores_are_exported_with_the_edges_they_have():
    probs, labels = ordinary_rows(400, 3)
    rounded = np.round(probs, 2)
    rounded[:, 2] = 1 - rounded[:, 0] - rounded[:, 1]
    calibrator = CALIBRATORS.make("class-wise-hb").fit(np.abs(rounded), labels)
    assert all(binary.placing_ for binary in calibrator.maps_)
    made = np.array(module(python_source(calibrator)).predict_proba(np.abs(rounded).tolist()))
    np.testing.assert_allclose(made, calibrator.predict_proba(np.abs(rounded)), rtol=0, atol=1e-12)


def test_class_names_never_reach_the_module():
    names = ['"""\nimport os', "__import__('os')", "\\"]
    probs, labels = ordinary_rows(200, 3)
    calibrator = CALIBRATORS.make("top-label-hb", points_per_bin=20)
    source = python_source(calibrator.fit_on(Predictions(probs, labels, class_names=names)))
    assert "import os" not in source
    assert "__import__" not in source


def test_the_module_names_its_recipe_its_format_and_its_check():
    calibrator = small("class-wise-hb", points_per_bin=30)
    made = module(python_source(calibrator))
    assert json.loads(made.RECIPE) == CALIBRATORS.recipe(calibrator).to_dict()
    assert (made.FORMAT, made.VERSION) == ("calib-python", 1)
    rows = len(probe_rows(program(calibrator)))
    assert f"Checked on export: on {rows} rows, the largest difference from calib was 0." in made.__doc__


def test_parameters_are_written_to_the_last_bit():
    calibrator = small("matrix")
    made = module(python_source(calibrator))
    np.testing.assert_array_equal(np.array(made.C0), calibrator.weights_)
    np.testing.assert_array_equal(np.array(made.C1), calibrator.intercepts_)


def test_a_calibrator_read_back_from_json_exports_the_same_text():
    calibrator = small("ts+top-label-hb", points_per_bin=20)
    assert python_source(cc.load_calibrator(calibrator.to_json())) == python_source(calibrator)


def test_a_map_that_classes_share_is_written_once():
    probs, labels = ordinary_rows(200, 5)
    calibrator = CALIBRATORS.make("top-label-hb", points_per_bin=100).fit(probs, labels)
    assert len(calibrator.pooled_) > 1
    made = module(python_source(calibrator))
    *_, ((*by_class,),) = (value for name, value in vars(made).items() if name.startswith("C"))
    positions = [[id(m) for m in maps].index(id(one)) for maps in (by_class, calibrator.maps_) for one in maps]
    assert positions[:5] == positions[5:]


def test_the_floor_is_the_librarys():
    assert python.FLOOR == LOG_FLOOR


# ---- inputs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.5, 0.5], "the row has 2 probabilities instead of 3"),
        ([0.5, 0.5, 0.5], "the row sums to 1.5; probabilities must not be negative and must sum to 1 within 0.001"),
        ([1.5, -0.5, 0.0], "the row sums to 1; probabilities must not be negative and must sum to 1 within 0.001"),
        (
            [math.nan, 0.5, 0.5],
            "the row sums to nan; probabilities must not be negative and must sum to 1 within 0.001",
        ),
    ],
)
def test_rows_that_are_no_probabilities_are_refused(row, message):
    with pytest.raises(ValueError) as e:
        module(python_source(small())).calibrate(row)
    assert str(e.value) == message


def test_a_row_slightly_off_is_rescaled_as_the_library_does():
    calibrator = small("vector")
    row = [0.6, 0.3, 0.1006]
    made = module(python_source(calibrator)).calibrate(row)
    np.testing.assert_allclose(made, calibrator.predict_proba([row])[0], rtol=0, atol=1e-12)
    assert not np.allclose(made, calibrator.predict_proba([[0.6, 0.3, 0.1]])[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("key", ["vector", "matrix", "ts+vector"])
def test_a_map_fitted_on_logits_takes_logits(key):
    probs, labels = ordinary_rows(300, 3)
    z = 2.0 * np.log(np.maximum(probs, 1e-9)) + 1.0
    calibrator = CALIBRATORS.make(key).fit(Logits(z), labels)
    made = module(python_source(calibrator))
    z[0, 0] = -np.inf
    np.testing.assert_allclose(made.predict_proba(z.tolist()), calibrator.predict_proba(Logits(z)), rtol=0, atol=1e-12)
    for row in ([math.nan, 0.0, 0.0], [math.inf, 0.0, 0.0], [-math.inf] * 3):
        with pytest.raises(ValueError) as e:
            made.calibrate(row)
        assert str(e.value) == "logits must be finite; -inf is allowed, but not in the whole row"


@pytest.mark.parametrize("key", ["temperature", "dirichlet", "ensemble-temperature", "confidence-hb"])
def test_logits_may_be_asked_for(key):
    calibrator = small(key)
    z = np.random.default_rng(1).normal(scale=4, size=(50, 3))
    made = module(python_source(calibrator, logits=True)).predict_proba(z.tolist())
    np.testing.assert_allclose(made, calibrator.predict_proba(Logits(z)), rtol=0, atol=1e-12)


# ---- compositions ------------------------------------------------------------------------------------------


def test_the_module_says_where_the_model_abstains():
    calibrator = small("metacal-miscoverage", n=600, miscoverage=0.2)
    rows = fresh_rows(3)
    after = calibrator.apply(Predictions(rows, np.zeros(len(rows), int)))
    assert 0 < after.abstained.sum() < len(rows)
    made = module(python_source(calibrator))
    assert [made.abstains(row) for row in rows.tolist()] == after.abstained.tolist()


def test_rows_withheld_stay_withheld_in_what_comes_after():
    first = CALIBRATORS.make("metacal-miscoverage", miscoverage=0.2)
    again, never = (CALIBRATORS.make("metacal-miscoverage", miscoverage=rate) for rate in (0.3, 0.001))
    probs, labels = ordinary_rows(600, 3)
    for then in (CALIBRATORS.make("vector"), again, never):
        calibrator = Composed(first, then).fit(probs, labels)
        made, rows = module(python_source(calibrator)), fresh_rows(3)
        after = calibrator.apply(Predictions(rows, np.zeros(len(rows), int)))
        np.testing.assert_allclose(made.predict_proba(rows.tolist()), after.probs, rtol=0, atol=1e-12)
        assert [made.abstains(row) for row in rows.tolist()] == after.abstained.tolist()


def test_single_claims_after_abstentions_are_refused():
    probs, labels = ordinary_rows(600, 3)
    calibrator = Composed(
        CALIBRATORS.make("metacal-miscoverage", miscoverage=0.001), CALIBRATORS.make("confidence-hb")
    ).fit(probs, labels)
    with pytest.raises(NotAnswerable) as e:
        python_source(calibrator)
    assert str(e.value) == (
        "Confidence histogram binning returns single claims, which cannot express where the previous model abstains"
    )


def test_class_wise_maps_may_be_followed_by_binary_maps_only():
    probs, labels = ordinary_rows(300, 3)
    first = CALIBRATORS.make("class-wise", binary="platt")
    calibrator = Composed(first, CALIBRATORS.make("top-label", binary="beta")).fit(probs, labels)
    rows = fresh_rows(3)
    made = module(python_source(calibrator)).predict_proba(rows.tolist())
    np.testing.assert_allclose(made, calibrator.predict_proba(rows), rtol=0, atol=1e-12)
    with pytest.raises(NotAnswerable, match="Temperature scaling after a calibrator of single claims has no export"):
        python_source(Composed(first, CALIBRATORS.make("temperature")).fit(probs, labels))


@pytest.mark.parametrize("binary", ["isotonic", "histogram", "platt", "equal-width-histogram"])
def test_a_confidence_needs_no_row(binary):
    rng = np.random.default_rng(5)
    confidence = rng.random(400)
    bare = Predictions.from_confidence(confidence, rng.random(400) < confidence**2)
    calibrator = CALIBRATORS.make("confidence", binary=binary).fit_on(bare)
    made = module(python_source(calibrator))
    wanted = calibrator.apply(bare).confidence
    np.testing.assert_allclose([made.calibrate_confidence(c) for c in confidence], wanted, rtol=0, atol=1e-12)
    with pytest.raises(ValueError) as e:
        made.calibrate_confidence(1.5)
    assert str(e.value) == "the confidence is 1.5; it must be in [0, 1]"


def test_a_confidence_alone_is_not_enough_where_the_row_decides():
    for key in ("top-label-hb", "ts+confidence-hb"):
        assert not hasattr(module(python_source(small(key, points_per_bin=20))), "calibrate_confidence")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("key", ["ts+top-label-hb", "ts+class-wise-hb", "ts+scaling-binning", "ts+venn-abers"])
def test_rows_tied_with_an_edge_stay_on_its_side(key, seed):
    rng = np.random.default_rng(seed)
    few = rng.dirichlet(np.ones(3), 30)  # every edge is the score of some of these rows, to the last bit
    rows = few[rng.integers(30, size=900)]
    labels = (rng.random(900)[:, None] > rows.cumsum(axis=1)[:, :-1]).sum(axis=1)
    names = {p.name for p in CALIBRATORS.entry(key).params}
    params = {"points_per_bin": 25} if "points_per_bin" in names else {}
    calibrator = CALIBRATORS.make(key, **params).fit(rows, labels)
    made = module(python_source(calibrator)).predict_proba(few.tolist())
    np.testing.assert_allclose(made, calibrator.predict_proba(few), rtol=0, atol=1e-9)


def test_rows_tied_with_the_threshold_of_abstention_are_answered():
    calibrator = small("metacal-miscoverage", k=12)
    rows = np.random.default_rng(3).dirichlet(np.ones(12), 200)
    for row, entropy in zip(rows.tolist(), entropies(Rows(rows)), strict=True):
        calibrator.threshold_ = float(entropy)
        (unsure,) = (node for node in program(calibrator).nodes() if isinstance(node, nodes.Unsure))
        assert not python.unsure(row, unsure.threshold)
        assert python.unsure(row, unsure.threshold - 1e-9)


def test_rounding_before_bins_is_told_where_there_is_any():
    said = "Scores are computed before they are binned"
    assert said in python_source(small("ts+top-label-hb", points_per_bin=20))
    assert said not in python_source(small("top-label-hb", points_per_bin=20))
    for key in ("ts+vector", "ts+isotonic-ovr"):
        assert not bins_computed(program(small(key)))


# ---- refusal of wrong exports ------------------------------------------------------------------------------


def changed(node, change):
    """Return the same steps with one change to each node."""
    fields = {f.name: getattr(node, f.name) for f in dataclasses.fields(node)}
    for name, value in fields.items():
        if isinstance(value, nodes.Node):
            fields[name] = changed(value, change)
    return change(type(node)(**fields))


def more(kind, field, by):
    def change(node):
        return dataclasses.replace(node, **{field: getattr(node, field) + by}) if isinstance(node, kind) else node

    return change


def moved(maps, field, by):
    def one(part):
        return (
            dataclasses.replace(part, **{field: by(getattr(part, field))}) if isinstance(part, PiecewiseMap) else part
        )

    def change(node):
        return dataclasses.replace(node, maps=tuple(one(m) for m in maps(node))) if hasattr(node, "maps") else node

    return change


DAMAGE = {
    "a factor": ("temperature", more(nodes.Scaled, "factor", 1e-4)),
    "an intercept": ("dirichlet", more(nodes.Affine, "intercepts", np.array([0.0, 1e-4, 0.0]))),
    "a bin's value": ("class-wise-hb", moved(lambda n: n.maps, "offsets", lambda v: np.clip(v, 0, 0.9) + 1e-5)),
    "an edge, by its last bit": ("class-wise-hb", moved(lambda n: n.maps, "edges", lambda e: np.nextafter(e, 1))),
    "a threshold": ("metacal-miscoverage", more(nodes.Unsure, "threshold", -0.1)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_an_export_that_differs_is_refused(damage, monkeypatch):
    key, change = DAMAGE[damage]
    calibrator = small(key, n=600, **({"points_per_bin": 30} if key == "class-wise-hb" else {}))
    whole = program(calibrator)
    monkeypatch.setattr(
        "calib_core.exporting.python.program",
        lambda *_, **__: dataclasses.replace(whole, result=changed(whole.result, change)),
    )
    with pytest.raises(NotAnswerable, match=r"^the export differs from the calibrator by [\d.e-]+ on one of \d+ rows"):
        python_source(calibrator)


def test_a_difference_within_the_tolerance_is_told(monkeypatch):
    calibrator = small()
    whole = program(calibrator)
    slight = dataclasses.replace(whole, result=changed(whole.result, more(nodes.Scaled, "factor", 1e-9)))
    monkeypatch.setattr("calib_core.exporting.python.program", lambda *_, **__: slight)
    told = python_source(calibrator).split("calib was ")[1].split("\n")[0]
    assert 1e-11 < float(told.rstrip(".")) < 1e-8


@pytest.mark.parametrize("rows", [1, 1000])
def test_one_number_that_differs_is_as_bad_as_all(rows):
    """The difference is the largest, however many numbers are right."""
    wanted = np.full((rows, 3), 1 / 3)
    results = wanted.copy()
    results[-1, 1] += 3e-7
    assert compared(wanted, results).difference == pytest.approx(3e-7)
    results[0, 2] -= 1.2e-6
    with pytest.raises(NotAnswerable, match=r"differs from the calibrator by 1\.2e-06 on one of"):
        compared(wanted, results)


def test_a_wrong_map_of_confidences_is_refused(monkeypatch):
    monkeypatch.setattr(
        "calib_core.exporting.python.CONFIDENCE_FUNCTION",
        "def calibrate_confidence(confidence):\n    return mapped(confidence + 1e-5, {map})\n",
    )
    with pytest.raises(NotAnswerable, match="the export differs from the calibrator"):
        python_source(small("confidence", binary="platt"))


def test_a_module_that_does_not_run_is_refused(monkeypatch):
    monkeypatch.setattr("calib_core.exporting.python.PREDICT", "raise RuntimeError('no')")
    with pytest.raises(NotAnswerable) as e:
        python_source(small())
    assert str(e.value) == "the export does not run, so it is refused (RuntimeError: no)"


def test_numbers_too_many_for_a_text_file_are_refused(monkeypatch):
    monkeypatch.setattr("calib_core.exporting.python.MOST_NUMBERS", 11)
    with pytest.raises(NotAnswerable) as e:
        python_source(small("matrix"))
    assert "more than 11 numbers" in str(e.value)


def test_a_parameter_that_is_not_a_number_is_refused():
    calibrator = small("vector")
    calibrator.intercepts_ = np.array([0.0, np.nan, 0.0])
    with pytest.raises(NotAnswerable, match="a parameter of this calibrator is not a number"):
        python_source(calibrator)


def test_a_calibrator_that_is_not_fitted_has_no_export():
    with pytest.raises(NotFittedError):
        python_source(CALIBRATORS.make("temperature"))


# ---- access by others --------------------------------------------------------------------------------------


class Sharpened(Calibrator):
    """The square of every probability, divided by their sum."""

    def _fit(self, predictions, progress):
        self.power_ = 2.0

    def _apply(self, predictions, progress):
        raised = predictions.probs**self.power_
        return predictions.with_probs(raised / raised.sum(axis=1, keepdims=True))


def test_a_calibrator_of_ones_own_is_refused_until_it_is_described(monkeypatch):
    probs, labels = ordinary_rows(50, 3)
    calibrator = Composed(Sharpened(), CALIBRATORS.make("identity")).fit(probs, labels)
    with pytest.raises(NotAnswerable) as e:
        program(calibrator)
    assert str(e.value).startswith("Sharpened has no export")
    steps_of.register(
        Sharpened,
        lambda own, state: state.with_row(nodes.Softmax(nodes.Scaled(nodes.Log(state.row), own.power_))),
    )
    assert isinstance(program(calibrator).result, nodes.Softmax)


# ---- the parts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["platt", "beta", "temperature"])
def test_edges_carried_back_part_scores_as_the_map_does(key):
    rng = np.random.default_rng(2)
    scores = rng.random(300)
    smooth = cc.BINARY_CALIBRATORS.make(key).fit(scores, rng.random(300) < scores**2)
    edges = np.sort(smooth.transform(scores))[10::20]
    back = carried_back(edges, smooth.transform)
    near = np.concatenate([back, np.nextafter(back, 0), np.nextafter(back, 1), scores, [0.0, 1.0]])
    np.testing.assert_array_equal(
        np.searchsorted(back, near, side="right"), np.searchsorted(edges, smooth.transform(near), side="right")
    )


def test_an_edge_the_map_never_reaches_is_infinite():
    assert carried_back(np.array([0.0, 0.3, 0.6]), lambda s: s / 2).tolist() == [0.0, 0.6, math.inf]


@pytest.mark.parametrize("k", [2, 3, 300])
def test_probe_rows_are_rows_and_provoke_mistakes(k):
    calibrator = CALIBRATORS.make("class-wise-hb", points_per_bin=20).fit(*ordinary_rows(100, k))
    rows = probe_rows(program(calibrator))
    np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-6)
    assert rows.min() == 0
    assert rows.max() == 1
    assert ((rows == rows.max(axis=1, keepdims=True)).sum(axis=1) > 1).any()
    edges = np.concatenate([binary.thresholds_ for binary in calibrator.maps_ if binary is not None])
    assert np.isin(edges, rows).mean() > (0.9 if k < 10 else 0.001)


def test_many_classes_are_checked_on_fewer_rows():
    few, many = (len(probe_rows(program(small("matrix", k=k, n=300)))) for k in (3, 60))
    assert 16 <= many < few


def test_a_refusal_is_an_input_error():
    assert issubclass(NotAnswerable, InputError)
