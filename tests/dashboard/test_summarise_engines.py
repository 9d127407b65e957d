"""calib summarise with engines: patterns, SQL on request, and incompatible options."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from calib_core import read_summary, summarise
from dashboard.cli import main

pytest.importorskip("pyarrow")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for name in "ab":
        h = rng.random(30)
        pd.DataFrame({"confidence": h, "correct": rng.random(30) < h}).to_parquet(tmp_path / f"{name}.parquet")
    monkeypatch.setattr("calib_core.readers.formats.parquet._HAS_LIMITS", False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(main, ["summarise", *arguments])


@pytest.mark.parametrize("engine", [(), ("--engine", "duckdb")])
def test_a_pattern_is_its_files_whoever_counts(folder, engine):
    if engine:
        pytest.importorskip("duckdb")
    found = run("[ab].parquet", *engine, "-o", "out.parquet")
    assert found.exit_code == 0, found.output
    assert read_summary(folder / "out.parquet").same_as(summarise([folder / "a.parquet", folder / "b.parquet"]))


@pytest.mark.usefixtures("folder")
def test_the_sql_is_printed_and_nothing_is_counted():
    found = run("a.parquet", "--sql", "house.rows")
    assert found.exit_code == 0
    assert "FROM house.rows" in found.output
    assert found.output.startswith("WITH grid(")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("c*.parquet", "-o", "out.parquet"), "no file matches c*.parquet; check the pattern"),
        (("a.parquet",), "give -o a name that ends in .parquet"),
        (("a.parquet", "-o", "o.parquet", "--engine", "duckdb", "--scheduler", "x:1"), "leave out --scheduler"),
    ],
)
def test_what_cannot_be_done_is_said(arguments, said):
    found = run(*arguments)
    assert found.exit_code == 2
    assert said in found.output
