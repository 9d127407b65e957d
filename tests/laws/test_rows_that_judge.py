"""Results about a model depend on its test rows only: other calibration rows leave all of them unchanged."""

from __future__ import annotations

import io
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from answers import beyond
from click.testing import CliRunner
from no_data import OF_NO_DATA

from calib_core import NotAnswerable
from calib_core.text import short_percent, told_apart
from dashboard import session
from dashboard.cli import main
from dashboard.exhibits import EXHIBITS
from dashboard.selection import Selection, Source
from tests.laws.test_options_of_commands import NOT_ANSWERS

pytestmark = pytest.mark.law
N = 300
NOT_JUDGED = (OF_NO_DATA - {"rejection"}) | {"paper-tables"}
"""Exhibits whose rows are not those of the file."""
OF_BOTH = {
    "file": "what the file holds",
    "rows": "both parts, side by side",
    "row-flow": "counts the rows of the file and their events",
    "plans": "promises of calibrators count calibration rows",
    "plan": "promises of calibrators count calibration rows",
    "update-test": "advice on an update is fitted on calibration rows, as the choice of a calibrator is",
    "recommendation": "calibrators are fitted and chosen on calibration rows",
    "canonical-validity": "calibration rows place its cells",
    "triangle": "says what calibration rows say of each cell",
    "cell-rows": "says what calibration rows say of each cell",
}
"""Exhibits that are also about calibration rows, with the reason."""


def file(kind: str, calibration: float, test: float) -> bytes:
    """Return rows marked as calibration and test: events at this multiple of the prediction in each."""
    rng = np.random.default_rng(3)
    part = np.where(np.arange(N) % 3, "test", "calibration")
    site = np.array(list("abc"))[np.arange(N) // 3 % 3]
    p, drawn = rng.beta(3, 4, N), rng.random(N)
    came = (drawn < p * np.where(part == "test", test, calibration)).astype(int)
    frame = pd.DataFrame({"risk": p.round(4), "died": came})
    if kind == "three":
        low, middle = p * (1 - p), p**2
        frame = pd.DataFrame({"p_a": 1 - p, "p_b": low, "p_c": middle}).round(4)
        frame["label"] = np.where(came, np.where(drawn < middle, "c", "b"), "a")
    return frame.assign(site=site, age=np.arange(N) * 7 % 60, split=part).to_csv(index=False).encode()


@lru_cache
def scene(kind: str, calibration: float) -> Any:
    key = session.hold(file(kind, calibration, 0.6), f"{kind}.csv").key
    return session.scene_of(Selection(source=Source(data=key), calibrators=()))


def shown(key: str, kind: str, calibration: float) -> Any:
    here, exhibit = scene(kind, calibration), EXHIBITS.make(key)
    try:
        return here.get(exhibit.table(here))
    except NotAnswerable:
        return None


@pytest.mark.parametrize("kind", ["risk", "three"])
@pytest.mark.parametrize("key", sorted(set(EXHIBITS) - NOT_JUDGED - OF_BOTH.keys()))
def test_a_table_of_the_model_is_of_the_test_rows(key: str, kind: str) -> None:
    one, other = (shown(key, kind, calibration) for calibration in (1.0, 0.3))
    if one is None or other is None:
        pytest.skip("not of these data")
    assert beyond(one, "") == beyond(other, "")


def test_the_law_tells_the_rows_apart() -> None:
    assert beyond(shown("rows", "risk", 1.0), "") != beyond(shown("rows", "risk", 0.3), "")


COMMANDS = ("audit FILE", "gate FILE --max-ece 0.05 --max-ratio 1.5", "slices FILE", "slices FILE --worst-group",
            "compare FILE FILE", "show verdict FILE", "plan within FILE")  # fmt: skip


def answered(words: str, data: bytes, folder: Path) -> Any:
    (path := folder / "rows.csv").write_bytes(data)
    form = "--format json" if words.startswith(("gate", "show")) else "--json"
    ended = CliRunner().invoke(main, [*words.replace("FILE", str(path)).split(), *form.split()])
    assert ended.exit_code in (0, 1), ended.output
    return json.loads(ended.stdout)


@pytest.mark.parametrize("words", COMMANDS)
def test_a_record_of_the_model_is_of_the_test_rows(words: str, tmp_path: Path) -> None:
    one, other = (beyond(answered(words, file("risk", of, 0.6), tmp_path), "") for of in (1.0, 0.3))
    assert [leaf for leaf in one if not set(leaf[0]) & set(NOT_ANSWERS)] == [
        leaf for leaf in other if not set(leaf[0]) & set(NOT_ANSWERS)
    ]


def test_a_gap_that_no_calibrator_mends_is_of_the_rows_that_judge(tmp_path: Path) -> None:
    """The calibration rows advise no change, while the model is off on the test rows."""
    data = file("risk", 1.0, 0.6)
    record = answered("choose FILE --candidate temperature --folds 3", data, tmp_path)
    rows = pd.read_csv(io.BytesIO(data)).groupby("split")[["risk", "died"]].mean()
    states, happens = told_apart(*map(float, rows.loc["test"]), short_percent)
    assert rows.loc["calibration", "died"] > 1.2 * rows.loc["test", "died"]
    assert f" is {states}, and the observed frequency is {happens}" in record["shown_error"]
    assert record["shown_error"] in record["sentences"]
