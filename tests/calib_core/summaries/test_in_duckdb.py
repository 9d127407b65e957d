"""Counts by DuckDB of a folder of Parquet files are the same summary, to the last bit."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_core import InputError, summarise
from calib_core.summaries import count_in_duckdb, counting_sql
from calib_core.summaries.cells import CELLS, EDGES
from calib_core.summaries.in_duckdb import all_sums

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Decode Parquet in this process, not in a child that loads pyarrow again for every file."""
    monkeypatch.setattr("calib_core.readers.formats.parquet._HAS_LIMITS", False)


def drawn(seed: int, kind: str, n: int, dtype: str) -> pd.DataFrame:
    """Return rows of which some have a confidence on an edge, next to one, at 0 or at 1."""
    rng = np.random.default_rng(seed)
    h = rng.random(n).astype(dtype)
    edges = rng.choice(np.append(EDGES, [0.0, 1.0]), n).astype(dtype)
    h = np.where(rng.random(n) < 0.5, edges, h)
    h = np.where(rng.random(n) < 0.2, np.nextafter(h, h.dtype.type(0)), h)
    site = rng.choice(["it's", "b", "c"], n)
    if kind == "confidence":
        return pd.DataFrame({"confidence": h, "correct": rng.random(n) < h, "site": site})
    names = np.array(["cat", "d'og", "eel"], dtype=object)
    label, predicted = rng.integers(0, 3, (2, n))
    label[:3] = predicted[:3] = range(3)
    if kind == "names":
        label, predicted = names[label], names[predicted]
    return pd.DataFrame({"confidence": h, "predicted": predicted, "label": label, "site": site})


@pytest.mark.filterwarnings("ignore::UserWarning")  # of labels that are drawn, or of few rows
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["confidence", "numbers", "names"]),
    dtype=st.sampled_from(["float32", "float64"]),
    sizes=st.lists(st.integers(5, 300), min_size=1, max_size=3),
)
def test_it_is_the_summary_to_the_last_bit(tmp_path_factory, seed, kind, dtype, sizes):
    folder, paths = tmp_path_factory.mktemp("day's"), []
    for i, n in enumerate(sizes):
        paths.append(folder / f"part {i}.parquet")
        drawn(seed + i, kind, n, dtype).to_parquet(paths[-1])
    found = count_in_duckdb(paths, columns=["site"], seed=seed, threads=1)
    assert found.same_as(summarise(paths, columns=["site"], seed=seed))
    assert found.dtype == dtype


@pytest.mark.filterwarnings("ignore::UserWarning")  # of labels that are drawn, or of few rows
def test_more_rows_than_a_sample_holds(tmp_path, monkeypatch):
    monkeypatch.setattr("calib_core.summaries.in_duckdb._KEYS", 5000)
    drawn(0, "names", 13_000, "float64").to_parquet(tmp_path / "a.parquet")
    found = count_in_duckdb(tmp_path / "a.parquet")
    assert len(found.kept_rows.keys) == 10_000
    assert found.same_as(summarise(tmp_path / "a.parquet"))


def test_the_sql_of_a_warehouse_counts_a_table_of_that_name(tmp_path):
    rows = drawn(1, "numbers", 400, "float64")
    rows.head(50).to_parquet(tmp_path / "few.parquet")
    sql = counting_sql(tmp_path / "few.parquet", "house.rows")
    with duckdb.connect() as house:
        house.execute("CREATE SCHEMA house")
        house.register("given", rows)
        house.execute("CREATE TABLE house.rows AS SELECT * FROM given")
        lines = house.execute(sql).fetchall()
    cell = np.searchsorted(EDGES, rows["confidence"], side="right")
    seen = rows.groupby([rows["predicted"], cell])["confidence"].agg(["size", "sum"])
    assert {(s, c): n for s, c, n, *_ in lines} == seen["size"].to_dict()
    assert {(s, c): pytest.approx(units / 2**40, abs=1e-9) for s, c, _, _, units, *_ in lines} == seen["sum"].to_dict()
    assert max(c for _, c, *_ in lines) < CELLS


@pytest.mark.parametrize(
    ("column", "value"),
    [("confidence", 1.5), ("confidence", np.nan), ("label", "owl"), ("predicted", None), ("site", None)],
)
def test_a_row_that_cannot_be_counted_is_named(tmp_path, column, value):
    rows = drawn(2, "names", 60, "float64")
    rows.to_parquet(tmp_path / "a.parquet")
    rows.loc[41, column] = value
    rows.to_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"^b\.parquet: row 42 cannot be counted"):
        count_in_duckdb([tmp_path / "a.parquet", tmp_path / "b.parquet"], columns=["site"])


def test_what_it_does_not_count_is_refused(tmp_path):
    rows = drawn(3, "confidence", 40, "float64")
    whole = pd.DataFrame({"p": rows["confidence"], "label": rows["correct"].astype(int)})
    whole.to_parquet(tmp_path / "whole.parquet")
    rows.to_parquet(tmp_path / "a.parquet")
    rows.astype({"confidence": "float32"}).to_parquet(tmp_path / "b.parquet")
    rows.to_parquet(tmp_path / "c[1].parquet")
    (tmp_path / "d.parquet").write_bytes(b"PAR1")
    for names, said in (
        (["whole"], "without an engine"),
        (["a", "b"], "other types than a.parquet"),
        (["c[1]"], "rename the file"),
        (["a", "d"], "d.parquet is not a Parquet file"),
        ([], "no file is given"),
    ):
        with pytest.raises(InputError, match=said):
            count_in_duckdb([tmp_path / f"{name}.parquet" for name in names])
    rows["site"] = [f"{i}" for i in range(40)]
    pd.concat([rows.assign(site=[f"{i} {j}" for i in range(40)]) for j in range(6)]).to_parquet(tmp_path / "e.parquet")
    with pytest.raises(InputError, match="more than 200 values"):
        count_in_duckdb(tmp_path / "e.parquet", columns=["site"])


def test_a_unit_off_would_be_seen(tmp_path, monkeypatch):
    """Sums in units of 2^-39 are another summary."""
    drawn(4, "confidence", 100, "float64").to_parquet(tmp_path / "a.parquet")
    coarse = lambda *a, **how: all_sums(*a, **how).replace("(s) * 1099511627776.0", "(s) * 549755813888.0")  # noqa: E731
    monkeypatch.setattr("calib_core.summaries.in_duckdb.all_sums", coarse)
    assert not count_in_duckdb(tmp_path / "a.parquet").same_as(summarise(tmp_path / "a.parquet"))
