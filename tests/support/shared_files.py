"""Reference values and data outside the repository: found next to it, or by CALIB_SHARED."""

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from calib_core import Predictions

FOLDER = Path(os.environ.get("CALIB_SHARED", Path(__file__).parents[2].parent / "shared"))


def needed(*parts):
    """Return the path of a file, or skip with the places searched."""
    file = FOLDER.joinpath(*parts)
    if not file.is_file():
        pytest.skip(f"{'/'.join(parts)} is not there; set CALIB_SHARED to the folder that holds it")
    return file


@cache
def records(name):
    return json.loads(needed("golden", f"{name}.json").read_text())


def record(name, **wanted):
    """Return the value of the one record that matches; several keys may be given as functions of the record's value."""
    found = [
        r["value"]
        for r in records(name)
        if all(want(r[key]) if callable(want) else r[key] == want for key, want in wanted.items())
    ]
    assert len(found) == 1, f"{len(found)} records of {name}.json match {wanted}"
    return found[0]


@cache
def arrays(name):
    with np.load(needed("data", f"{name}.npz")) as file:
        return {key: file[key] for key in ("probs", "labels")}


@cache
def predictions(name):
    """Return all rows as stored; the binary set contains only P(y = 1) and becomes two columns."""
    held = arrays(name)
    probs = held["probs"] if held["probs"].ndim == 2 else np.column_stack([1 - held["probs"], held["probs"]])
    return Predictions(probs, held["labels"])
