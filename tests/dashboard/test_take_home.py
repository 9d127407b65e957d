"""The Calibrators view exports fitted calibrators in three formats, and reports if one is not available."""

import io
from pathlib import Path

import numpy as np
import onnx
import pandas as pd
import pytest
from exports import module
from onnx.reference import ReferenceEvaluator
from shown_models import fitted
from streamlit.testing.v1 import AppTest

import calib_core as cc
from calib_core import CALIBRATORS
from dashboard import onnx_export, session, widgets
from dashboard.exhibits import EXHIBITS
from dashboard.selection import Selection, Source
from dashboard.session import Model
from dashboard.views import exhibited

APP = Path(__file__).parents[2] / "dashboard" / "app.py"
TICKED = tuple(CALIBRATORS.described(key) for key in ("ts+top-label-hb", "lece"))


SELECTION = Selection(source=Source(data="demo:synthetic-three-class"), view="calibrators", calibrators=TICKED)


def offered(recipe):
    """Return the view of a calibrator, and the content of its buttons by file name."""
    files = {}
    app = AppTest.from_file(str(APP), default_timeout=60)
    for name, text in SELECTION.replace(model=recipe.title).to_query().items():
        app.query_params[name] = text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(widgets, "download", lambda label, name, make, **_: files.setdefault(name, (label, make)))
        app.run()
    assert not app.exception
    return app, files


@pytest.fixture(scope="module")
def shown():
    """Return the view of the last calibrator, and the content of the buttons of all by file name."""
    (_, first), (app, second) = map(offered, TICKED)
    return app, first | second, SELECTION


def test_without_the_package_onnx_the_page_names_it_in_place_of_the_button(monkeypatch):
    monkeypatch.setattr(onnx_export, "installed", lambda: False)
    app, files = offered(TICKED[0])
    assert {label for label, _ in files.values()} >= {"JSON", "Python"}
    assert "calibrator-ts-top-label-hb.onnx" not in files
    assert "pip install 'calib[onnx]'" in " ".join(caption.value for caption in app.caption)


def test_every_format_gives_the_numbers_on_screen(shown):
    _, files, selection = shown
    rows = session.parts(selection.source).test.probs[:300].astype(float)
    wanted = fitted(Model(selection.source, TICKED[0])).predict_proba(rows)
    labels = [
        files[f"calibrator{name}"][0]
        for name in ("-ts-top-label-hb.json", "_ts_top_label_hb.py", "-ts-top-label-hb.onnx")
    ]
    assert labels == ["JSON", "Python", "ONNX"]
    json, python, model = (
        files[f"calibrator{name}"][1]()
        for name in ("-ts-top-label-hb.json", "_ts_top_label_hb.py", "-ts-top-label-hb.onnx")
    )
    np.testing.assert_array_equal(cc.load_calibrator(json).predict_proba(rows), wanted)
    np.testing.assert_allclose(module(python).predict_proba(rows.tolist()), wanted, atol=1e-12)
    made = ReferenceEvaluator(onnx.load_from_string(model)).run(["calibrated"], {"probabilities": rows})[0]
    np.testing.assert_allclose(made, wanted, atol=1e-12)


def test_a_calibrator_without_an_export_says_why_beside_its_json(shown):
    app, files, _ = shown
    assert "calibrator-lece.json" in files
    assert not {"calibrator_lece.py", "calibrator-lece.onnx"} & files.keys()
    said = [caption.value.replace("\\", "") for caption in app.caption]
    assert any(text.startswith("LECE, locally equal errors has no export") for text in said)


def test_the_file_of_a_table_has_all_lines_also_where_few_are_shown(monkeypatch):
    files = {}
    scene = session.scene_of(Selection(source=Source(data="demo:synthetic-three-class"), calibrators=()))
    exhibit = EXHIBITS.make("reliability")
    frame = scene.get(exhibit.table(scene))
    monkeypatch.setattr(exhibited, "SHOWN", 2)
    monkeypatch.setattr(exhibited.widgets, "download", lambda label, name, make, **_: files.setdefault(name, make))
    exhibited.take_home(exhibit, scene, frame, "reliability")
    again = pd.read_csv(io.BytesIO(files["reliability.csv"]()))
    assert len(again) == len(frame) > 2
