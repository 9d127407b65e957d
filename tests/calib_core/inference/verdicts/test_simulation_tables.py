"""The shipped table of coverages meets its guarantee, and a table that does not is rejected."""

from dataclasses import replace

import pytest
from coverage_promise import at_most, broken

from calib_core.inference import coverage_table, group_errors_table
from calib_core.inference.intervals.simulated_domain import (
    ANY,
    BINNED,
    CANONICAL,
    CANONICAL_KERNEL,
    GROUPED_ERRORS,
    LEVELS,
    OF_ROWS,
    Facts,
    in_bins,
)


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
    """With 300 runs, 250 covering does not show a coverage below .86; 240 does: P(X <= 240; .8371) = .05."""
    assert at_most(250 / 300, 300) > 0.86 > at_most(240 / 300, 300)
    assert at_most(1.0, 300) == 1
    assert at_most(240 / 300, 300) == pytest.approx(0.8371, abs=5e-4)


BINNED_KEYS = {"ece", "rmsce", "debiased-l2", "debiased-ece", "ece-adaptive"}
ROW_KEYS = {"ece-convex", "ece-sweep", "ece-kde", "smece", "max-deviation", "skce", "two-bin"}
ALIKE = {"class-specific": "confidence", "event": "confidence"}
"""Notions equivalent in inference: one class, or an event, is one claim per row, as confidence is."""


def reached(table, notion, keys, domain):
    """Return True if tested lines of the table extend as far as a domain claims."""
    lines = table[
        (table["notion"] == ALIKE.get(notion, notion)) & table["estimator"].isin(keys) & (table["tested"] > 0)
    ]
    classes = lines["classes"].max() if domain.classes < ANY else ANY
    return bool(len(lines) and classes >= domain.classes and lines["rows"].min() <= domain.rows)


@pytest.mark.parametrize(("domains", "keys"), [(BINNED, BINNED_KEYS), (OF_ROWS, ROW_KEYS)], ids=["in bins", "of rows"])
def test_what_is_declared_was_simulated(domains, keys):
    table = coverage_table()
    assert all(reached(table, notion, keys, domain) for notion, domain in domains.items())
    assert (table["level"].min(), table["level"].max()) == LEVELS
    wider = {notion: replace(domain, rows=1, classes=10_000) for notion, domain in domains.items()}
    assert not any(reached(table, notion, keys, domain) for notion, domain in wider.items())


def test_the_canonical_domains_were_simulated():
    table = coverage_table()
    cells, kernel = set(table["estimator"]) & {"ece", "rmsce"}, {"skce"}
    assert reached(table, "canonical", cells, CANONICAL)
    assert reached(table, "canonical", kernel, CANONICAL_KERNEL)


def test_canonical_errors_by_dirichlet_kernels_were_simulated_and_stay_a_rough_guide():
    lines = coverage_table().query("estimator == 'canonical-kde'")
    assert set(lines["classes"]) == {3, 10}
    assert set(lines["truth"]) == {"calibrated", "over-confident"}
    assert (lines["tested"] == 0).all()
    assert not broken(lines.assign(tested=1))
    assert (lines["half"] < 0.5).all()


def test_squared_class_wise_errors_are_tested_as_far_as_they_were_tried():
    table = coverage_table()
    tried = table[(table["notion"] == "class-wise") & (table["estimator"] == "rmsce") & (table["tested"] > 0)]
    assert tried["classes"].max() == BINNED["class-wise"].classes
    weighed = table[table["law"].str.endswith("(weighted)") & (table["tested"] > 0)]
    assert {"confidence", "top-label", "class-wise"} <= set(weighed["notion"])


def test_outside_the_domain_an_interval_is_a_rough_guide():
    facts = Facts("top-label", "full", 1000, 30, 30)
    assert in_bins(facts, 1, 0.9)
    assert not in_bins(facts, 1, 0.999)
    assert not in_bins(replace(facts, classes=1001), 1, 0.9)
    assert not in_bins(replace(facts, rows=29, worth=29), 1, 0.9)
    assert not in_bins(replace(facts, notion=None), 1, 0.9)
    assert not in_bins(replace(facts, sparse=True), 2, 0.9)
    assert not in_bins(replace(facts, rows=1000, worth=400), 1, 0.9), "weights too unequal"
    assert in_bins(replace(facts, rows=1000, worth=600), 1, 0.9)


def test_errors_within_groups_keep_their_promise_as_far_as_their_domain_goes():
    table = group_errors_table()
    miss = 1 - table["level"]
    for name in ("coverage", "every_group"):
        assert (at_most(table[name], table["runs"]) >= 1 - 1.4 * miss).all()
    assert (at_most(table["half"], table["runs"]) < 1 - 1.4 * miss).any(), "the falsified twin"
    calm = table[table["truth"] == "calibrated"]
    assert (calm[["false_alarms", "above_floor"]].max(axis=1) <= 0.05 + 3 * (0.0475 / calm["runs"]) ** 0.5).all()
    assert (table["rows"].min(), table["level"].min(), table["level"].max()) == (GROUPED_ERRORS.rows, *LEVELS)
