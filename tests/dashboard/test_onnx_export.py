"""ONNX models of calibrators: equal over the registry, refused if they differ, with a clear message without onnx."""

import dataclasses
import json
import sys

import numpy as np
import onnx
import pytest
from exports import CASES, fitted, fresh_rows, refused
from generated import classes_for, ordinary_rows
from onnx.reference import ReferenceEvaluator
from scipy.special import expit

from calib_core import CALIBRATORS, Logits, NotAnswerable, Predictions, exporting
from calib_core.calibrators import Composed
from calib_core.calibrators.base import SAME
from calib_core.exporting import CurveMap, Interpolated, LogOddsMap, nodes, program
from dashboard.onnx_export import onnx_bytes
from dashboard.onnx_export.steps import Graph, mapped


def run(content, rows, outputs=("calibrated",)):
    model = onnx.load_from_string(content)
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(list(outputs), {model.graph.input[0].name: rows})


@pytest.mark.parametrize("case", [case for case in CASES if not refused(case)])
def test_the_model_says_what_the_calibrator_says(case):
    calibrator, rows = fitted(case), fresh_rows(classes_for(case, 4))
    (made,) = run(onnx_bytes(calibrator), rows)
    assert made.dtype == np.float64
    np.testing.assert_allclose(made, calibrator.predict_proba(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", ["lece", "ts+lecd"])
def test_calibrators_without_an_export_say_so(case):
    with pytest.raises(NotAnswerable, match="has no export as Python or ONNX, because it needs all calibration rows"):
        onnx_bytes(fitted(case))


def test_one_row_and_many_give_the_same():
    content, rows = onnx_bytes(fitted("normalised of isotonic")), fresh_rows()
    (together,) = run(content, rows)
    np.testing.assert_array_equal(np.concatenate([run(content, row[None])[0] for row in rows[:20]]), together[:20])


def test_the_model_says_what_it_is():
    calibrator = fitted("ts+top-label-hb")
    model = onnx.load_from_string(onnx_bytes(calibrator))
    about = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(about["recipe"]) == CALIBRATORS.recipe(calibrator).to_dict()
    assert about["check"].startswith("Checked on export: on ")
    assert about["rounding"] == exporting.ROUNDING
    assert [(given.name, given.type.tensor_type.elem_type) for given in model.graph.input] == [("probabilities", 11)]
    assert [opset.version for opset in model.opset_import] == [17]
    onnx.checker.check_model(model, full_check=True)


def test_logits_with_impossible_classes():
    probs, labels = ordinary_rows(300, 3)
    z = 2.0 * np.log(np.maximum(probs, 1e-9)) + 1.0
    calibrator = CALIBRATORS.make("vector").fit(Logits(z), labels)
    z[:5, 0] = -np.inf
    np.testing.assert_allclose(run(onnx_bytes(calibrator), z)[0], calibrator.predict_proba(Logits(z)), atol=1e-12)


def test_the_model_says_where_it_abstains():
    probs, labels = ordinary_rows(600, 3)
    first = CALIBRATORS.make("metacal-miscoverage", miscoverage=0.2)
    calibrator = Composed(first, CALIBRATORS.make("metacal-miscoverage", miscoverage=0.3)).fit(probs, labels)
    rows = fresh_rows(3)
    after = calibrator.apply(Predictions(rows, np.zeros(len(rows), int)))
    calibrated, abstained = run(onnx_bytes(calibrator), rows, ("calibrated", "abstained"))
    np.testing.assert_allclose(calibrated, after.probs, rtol=0, atol=1e-12)
    assert 0 < abstained.sum() < len(rows)
    np.testing.assert_array_equal(abstained, after.abstained)


def test_a_model_that_differs_is_refused(monkeypatch):
    calibrator = fitted("temperature")
    whole = program(calibrator)
    scaled = whole.result.row
    wrong = nodes.Softmax(dataclasses.replace(scaled, factor=scaled.factor * 1.001))
    monkeypatch.setattr(exporting, "program", lambda *_, **__: dataclasses.replace(whole, result=wrong))
    with pytest.raises(NotAnswerable, match=r"^the export differs from the calibrator by [\d.e-]+ on one of"):
        onnx_bytes(calibrator)


def test_a_step_nobody_can_write_is_refused(monkeypatch):
    class Unknown(nodes.OnRow):
        pass

    calibrator = fitted("temperature")
    whole = program(calibrator)
    strange = dataclasses.replace(whole, result=Unknown(whole.result))
    monkeypatch.setattr(exporting, "program", lambda *_, **__: strange)
    with pytest.raises(NotAnswerable) as e:
        onnx_bytes(calibrator)
    assert str(e.value) == "a step of this calibrator (Unknown) cannot be written as ONNX yet"


def test_without_the_package_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(NotAnswerable) as e:
        onnx_bytes(fitted("temperature"))
    assert str(e.value) == ("writing ONNX needs the package onnx, which is not installed: pip install 'calib[onnx]'")


def test_maps_of_several_kinds_stand_in_one_model():
    """A group of too few rows has unchanged scores, for any maps of the others."""
    maps = [
        SAME,
        LogOddsMap(2.0, 2.0, 0.0),
        Interpolated(np.array([0.0, 1.0]), np.array([0.2, 0.6])),
        CurveMap(np.empty(0), np.array([[0.1, 2.0, 0.0, 0.0]])),
        CurveMap(np.array([-1.0, 1.0]), np.arange(12.0).reshape(3, 4) / 10),
    ]
    graph, helper = Graph(program(fitted("temperature"))), onnx.helper
    result = helper.make_node("Identity", [mapped(graph, "scores", "own", maps)], ["after"])
    given = [helper.make_tensor_value_info(name, kind, ["n", 5]) for name, kind in (("scores", 11), ("own", 7))]
    after = helper.make_tensor_value_info("after", 11, ["n", 5])
    whole = helper.make_graph([*graph.operations, result], "maps", given, [after], graph.constants)
    model = helper.make_model(whole, opset_imports=[helper.make_opsetid("", 17)])
    s = np.linspace(0.1, 0.9, 5)
    scores, own = np.column_stack([s] * 5), np.tile(np.arange(5), (5, 1))
    (made,) = ReferenceEvaluator(model).run(["after"], {"scores": scores, "own": own})
    z = np.log(s / (1 - s))
    # Three cubic pieces, in the distance from -1, -1 and 1.
    piece = np.searchsorted([-1, 1], z)
    powers = (z - np.array([-1, -1, 1])[piece])[:, None] ** np.arange(4)
    curve = (np.arange(12).reshape(3, 4)[piece] / 10 * powers).sum(1)
    rest = [s**2 / (s**2 + (1 - s) ** 2), 0.2 + 0.4 * s, expit(0.1 + 2 * z), expit(curve)]
    np.testing.assert_allclose(made, np.column_stack([s, *rest]), atol=1e-12)
