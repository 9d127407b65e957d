"""Files that other tools wrote themselves are read back with the content that the tools report.

`written_files/` has a small run of each, tool and version in its truth.json. The command `make foreign-tools` runs the
tools again and reads their files. The command `python -m tests.foreign_tools.written build/foreign-tools
tests/foreign_tools/written_files` stores them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calib_core as cc
from calib_core.readers import examine, propose, read_table
from tests.corpus.promises import unfit
from tests.foreign_tools.let_them_write import TOOLS

KEPT = Path(__file__).parent / "written_files"
FOLDERS = [Path(each) for each in os.environ.get("CALIB_FOREIGN_TOOLS", str(KEPT)).split(os.pathsep)]
Truth = Mapping[str, Any]
"""Content of a file, as a mapping.

Keys are ``probs`` with ``labels`` (and ``classes``), or ``confidence`` with ``correct``; ``models`` of such. ``chosen``
are fields of Reading. ``labels_file`` has the label of row i in row i. ``within`` is the tolerance of numbers, and
``asks`` a part of the message that refuses the file. ``measured`` is the tool's own accuracy and Brier score.
"""
FILES = {
    f"{truth['tool']} {truth['version']}: {file['file']}": (path.parent, file)
    for folder in FOLDERS
    for path in sorted(folder.glob("*/truth.json"))
    for truth in [json.loads(path.read_text())]
    for file in truth["files"]
}


# Details of lighteval have 14 kB without a row, and are not stored.
@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool != "lighteval" or FOLDERS != [KEPT]])
def test_a_tool_wrote_something(tool: str) -> None:
    if FOLDERS != [KEPT] and not any((folder / tool).is_dir() for folder in FOLDERS):
        pytest.skip(f"{tool} could not be installed or run here")
    assert any(which.startswith(f"{tool} ") for which in FILES)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("which", FILES)
def test_a_file_is_read_as_what_its_tool_says(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calib_core.readers.formats.parquet._HAS_LIMITS", False)
    folder, truth = FILES[which]
    if truth["file"].endswith(".parquet"):
        pytest.importorskip("pyarrow")
    if truth["file"].endswith(".eval"):
        pytest.importorskip("backports.zstd", reason="the members of the log are compressed with it")
    if "asks" in truth:
        with pytest.raises(cc.InputError) as refused:
            cc.read_predictions(folder / truth["file"], **truth.get("chosen", {}))
        assert truth["asks"] in str(refused.value)
        assert str(refused.value).startswith(truth["file"])
        assert not unfit(str(refused.value))
        return
    table = read_table(folder / truth["file"])
    assert table.origin == truth["shape"]
    if "labels_file" in truth:
        labels = folder / truth["labels_file"]
        agree(cc.read_predictions(folder / truth["file"], labels=labels, key=(), **truth.get("chosen", {})), truth)
        return
    models = truth.get("models", {None: truth})
    for model, told in models.items():
        chosen = {**({} if model is None else {"model": model}), **truth.get("chosen", {})}
        agree(cc.readers.predictions(table, propose(table, **chosen)), told)
        findings = examine(table, propose(table, **chosen))
        assert not any(finding.severity == "problem" or unfit(finding.message) for finding in findings)


def agree(found: cc.Predictions, truth: Truth) -> None:
    within = truth.get("within", 1e-12)
    if "confidence" in truth:
        np.testing.assert_allclose(found.confidence, truth["confidence"], rtol=0, atol=within)
        np.testing.assert_array_equal(found.correct, truth["correct"])
    else:
        probs = np.array(truth["probs"])
        np.testing.assert_allclose(found.probs, probs, rtol=0, atol=within)
        np.testing.assert_array_equal(found.labels, truth["labels"])
        assert "classes" not in truth or list(found.class_names) == truth["classes"]
    for name, value in truth.get("measured", {}).items():
        own = {
            "accuracy": lambda: found.correct.mean(),
            "brier": lambda: ((found.probs - np.eye(found.n_classes)[found.labels]) ** 2).sum(axis=1).mean(),
        }[name]
        assert own() == pytest.approx(value, abs=max(within, 1e-9)), name
