"""The table of tests/simulations/promises.py: it keeps its promises, its twins do not, its lines can be made again."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "simulations"))
import promises

PROMISES = ("weights", "slices", "slider", "rows")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return promises.TABLE.frame(promises.FILE)


def test_the_table_is_whole_and_keeps_the_promises(table: pd.DataFrame) -> None:
    assert len(table) == sum(len(case.names) for case in promises.cases())
    assert promises.faults(table) == []


@pytest.mark.parametrize("promise", PROMISES)
def test_a_table_of_the_twins_breaks_them(table: pd.DataFrame, promise: str) -> None:
    twins = table[table["promise"] == promise].assign(share=lambda lines: lines["twin"])
    assert len(promises.broken(twins, "share")) >= len(twins) / 3
    assert promises.faults(twins)


def test_a_share_beyond_what_its_runs_explain_is_a_fault(table: pd.DataFrame) -> None:
    worse = table.copy()
    marked = (worse["measure"] == "bar misses") & (worse["truth"] == "calibrated")
    worse.loc[marked.idxmax(), "share"] = 0.2
    assert [fault.split(" ")[0] for fault in promises.faults(worse)] == ["0.2"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("promise", "law", "truth", "runs"),
    [
        ("weights", "log-normal", "heavy rows off", 100),
        ("slices", "two kinds", "off 2.8 sd", 100),
        ("slices", "all alike", "calibrated", 100),
        ("slider", "risk of 30 %", "calibrated", 120),
        ("slider", "tenths", "a fifth off .15", 60),
        ("rows", "confidence near 1", "calibrated", 40),
    ],
)
def test_lines_made_again_are_those_of_the_table(
    table: pd.DataFrame, promise: str, law: str, truth: str, runs: int
) -> None:
    case = next(c for c in promises.cases() if (c.promise, c.law, c.truth) == (promise, law, truth))
    made = [line.split(",") for line in promises.made(replace(case, runs=runs))]
    for line in made:
        of = (table[["promise", "law", "truth", "measure"]] == [*line[:3], line[4]]).all(axis=1)
        kept = table[of & (table["rows"] == case.rows)].iloc[0]
        for name, number in zip(("share", "twin"), line[6:8], strict=True):
            spread = math.sqrt(max(kept[name] * (1 - kept[name]), 0.01) * (1 / runs + 1 / kept["runs"]))
            assert float(number) == pytest.approx(kept[name], abs=4 * spread), (line, name)
        assert not promises.broken(pd.DataFrame([kept.to_dict() | {"share": float(line[6]), "runs": runs}]), "share")


def test_the_laws_are_those_that_the_promises_are_about() -> None:
    rng = np.random.default_rng(0)
    for law in promises.HEAVY.values():
        weights = law(rng, 2000)
        assert weights.sum() ** 2 / np.square(weights).sum() < 0.3 * len(weights), "few rows have most of the weight"
    for name, (_, law) in promises.NAMED.items():
        probs = law(rng, 500)
        assert probs.sum(1) == pytest.approx(np.ones(500)), name
        drawn = promises._drawn(np.repeat(probs[:1], 20_000, axis=0), 0.01, rng, "confidence")
        assert drawn.correct.mean() == pytest.approx(drawn.confidence[0] - 0.01, abs=0.015), name
