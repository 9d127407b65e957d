"""Files kept from each version of each format say today what they said then, and fit their schema."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import calib_core as cc
from calib_core.calibrators import saving
from calib_core.inference import gate_baselines
from calib_core.monitoring import state_file
from calib_core.summaries import on_disk
from dashboard.commands import gate
from dashboard.report import recipe
from tests.release import keep_formats

ANSWERS = json.loads(keep_formats.ANSWERS.read_text("utf-8"))
SCHEMAS = {
    "calibrator": Path(saving.__file__).with_name("calibrator.schema.json"),
    "gate": Path(gate.__file__).with_name("gate.schema.json"),
    "watch": Path(state_file.__file__).with_name("state.schema.json"),
    "report": Path(recipe.__file__).with_name("recipe.schema.json"),
}
VERSIONS = {
    "calibrator": saving.VERSION,
    "summary": on_disk.VERSION,
    "gate": gate_baselines.SCHEMA.partition("/")[2],
    "watch": state_file.SCHEMA.partition("/")[2],
    "report": recipe.FORMAT,
}


def alike(one, other):
    """Return True if two values agree, numbers to a part in a billion."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(np.isclose(one, other, rtol=1e-9, atol=1e-8)) if isinstance(one, float) else one == other


@pytest.mark.parametrize("name", ANSWERS)
def test_a_kept_file_says_what_it_said(name):
    said = json.loads(json.dumps(keep_formats.answer(keep_formats.FOLDER / name)))
    assert alike(ANSWERS[name], said)


def test_every_version_is_kept():
    kept = {path.name for path in keep_formats.FOLDER.iterdir()} - {"answers.json"}
    assert kept == set(ANSWERS)
    missing = [
        f"{word} {now}" for word, now in VERSIONS.items() if not any(n.startswith(f"{word}-{now}") for n in kept)
    ]
    assert missing == [], "python -m tests.release.keep_formats"
    calibrators = {name.removeprefix("calibrator-1-").removesuffix(".json") for name in kept if "calibrator" in name}
    missing = set(cc.CALIBRATORS) - calibrators
    assert missing == set(), "python -m tests.release.keep_formats"


def record(path):
    """Return the JSON of a kept file."""
    text = path.read_text("utf-8")
    return json.loads(recipe._BLOCK.search(text)[1] if path.suffix == ".html" else text)


@pytest.mark.parametrize("word", SCHEMAS)
def test_kept_files_fit_their_schema_and_damaged_ones_do_not(word):
    schema = Draft202012Validator(json.loads(SCHEMAS[word].read_text("utf-8")))
    schema.check_schema(schema.schema)
    paths = [keep_formats.FOLDER / name for name in ANSWERS if name.startswith(f"{word}-{VERSIONS[word]}")]
    assert paths
    for path in paths:
        whole = record(path)
        assert [error.message for error in schema.iter_errors(whole)] == [], path.name
        for key in schema.schema["required"]:
            damaged = copy.deepcopy(whole)
            del damaged[key]
            assert list(schema.iter_errors(damaged)), (path.name, key)


def test_numbers_that_differ_are_no_agreement():
    assert alike([{"a": 0.5}], [{"a": 0.5 + 1e-12}])
    assert not alike([{"a": 0.5}], [{"a": 0.5001}])
    assert not alike([0.5], [0.5, 0.5])
    assert not alike("a", "b")
