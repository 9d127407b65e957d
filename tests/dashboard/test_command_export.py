"""`calib export`: both formats, and every refusal in one sentence with exit code 2."""

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from exports import fitted, fresh_rows

from calib_core import NotAnswerable
from dashboard.cli import main


@pytest.fixture
def saved(tmp_path):
    def save(case):
        path = tmp_path / "cal.json"
        path.write_text(fitted(case).to_json(), encoding="utf-8")
        return path

    return save


def export(*arguments):
    return CliRunner().invoke(main, ["export", *map(str, arguments)])


def test_a_python_module_is_written_that_runs(saved, tmp_path):
    out = tmp_path / "out.py"
    done = export(saved("top-label-hb"), "-o", out)
    assert done.exit_code == 0, done.output
    rows = fresh_rows()
    ran = subprocess.run(
        [sys.executable, "-I", "-S", str(out)],
        input=json.dumps(rows.tolist()),
        capture_output=True,
        check=True,
        text=True,
    )
    np.testing.assert_allclose(json.loads(ran.stdout), fitted("top-label-hb").predict_proba(rows), atol=1e-12)


def test_an_onnx_model_is_written_that_takes_logits_where_asked(saved, tmp_path):
    out = tmp_path / "out.ONNX"
    done = export(saved("temperature"), "-o", out, "--logits")
    assert done.exit_code == 0, done.output
    assert onnx.load(out, format="protobuf").graph.input[0].name == "logits"


def test_refusals_are_one_sentence_and_write_nothing(saved, tmp_path):
    out = tmp_path / "out.py"
    done = export(saved("lece"), "-o", out)
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert "LECE, locally equal errors has no export" in done.output
    assert not out.exists()
    done = export(saved("temperature"), "-o", tmp_path / "out.txt")
    assert done.exit_code == 2
    assert "'out.txt' ends neither in .py nor in .onnx" in done.output
    done = export(tmp_path / "none.json", "-o", out)
    assert (done.exit_code, "cannot be read" in done.output) == (2, True)


def test_an_export_that_differs_is_not_written(saved, tmp_path, monkeypatch):
    def differs(*_, **__):
        raise NotAnswerable("the export differs")

    monkeypatch.setattr("calib_core.exporting.python.checked", differs)
    out = tmp_path / "out.py"
    done = export(saved("temperature"), "-o", out)
    assert (done.exit_code, "the export differs" in done.output, out.exists()) == (2, True, False)
