"""The shipped table of coverages keeps its promise, and a table that does not is found out."""

import pytest
from coverage_promise import at_most, broken

from calib_core.inference import coverage_table


def test_the_shipped_table_keeps_the_promise_of_what_is_called_tested():
    assert broken(coverage_table()) == []


def test_the_shipped_table_covers_what_users_have():
    table = coverage_table()
    assert {"near 0 and 1", "top-label", "networks", "class-wise", "rows", "weights", "levels"} <= set(table["family"])
    assert {"certain", "network", "60 % at 1", "two decimals", "network after top-label-hb"} <= set(table["law"])
    assert table["rows"].min() <= 10
    assert table["rows"].max() >= 50_000
    assert table["classes"].max() >= 1000
    assert {0.8, 0.9, 0.95, 0.99} == set(table["level"])
    assert (table["below"] + table["above"] + table["coverage"]).sub(1).abs().max() < 0.0021


def test_a_table_that_breaks_its_promise_is_found_out():
    table = coverage_table()
    tested = table["tested"] > 0
    below = table.assign(coverage=table["coverage"].where(table.index != tested.idxmax(), 0.6))
    assert any(said.startswith("0.600") for said in broken(below))
    assert any("more than 5 %" in said for said in broken(table.assign(coverage=0.83)))
    assert any("half the width" in said for said in broken(table.assign(half=table["coverage"])))


def test_what_runs_can_tell():
    """Of 300 runs 250 held: not shown below .86; 240 are. By the binomial tail, P(X <= 240; .8371) = .05."""
    assert at_most(250 / 300, 300) > 0.86 > at_most(240 / 300, 300)
    assert at_most(1.0, 300) == 1
    assert at_most(240 / 300, 300) == pytest.approx(0.8371, abs=5e-4)
