"""Numbers of rows are counts of rows in every text, and effective sample sizes have that name."""

import re

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import NotAnswerable, Predictions
from calib_core.diagrams import edges_said
from calib_core.inference.significance.count_tests import rows_of_cells

ROWS = re.compile(r"([\d,.]+) rows?\b")


def patients(n=900, seed=0, **more):
    """Return rows of patients with unequal numbers of measurements, from two sites."""
    rng = np.random.default_rng(seed)
    patient = rng.integers(0, 90, n) // rng.integers(1, 4, n)
    probs = rng.dirichlet([3, 1, 1], n)
    site = pd.DataFrame({"site": np.where(rng.random(n) < 0.3, "a", "b")})
    return Predictions(probs, rng.integers(0, 3, n), groups=patient, metadata=site, **more)


@pytest.mark.parametrize("weighted", [False, True])
def test_no_line_says_a_number_of_rows_that_is_none(weighted):
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.7], 900) if weighted else None
    p = patients(weights=weights)
    counts = p.weights > 0 if weighted else np.ones(900, dtype=bool)
    table, dots = cc.slices.table(p, "site"), cc.diagrams.slice_dots(cc.slices.table(p, "site"))
    number = {f"site = {letter}": int((counts & (p.metadata["site"] == letter)).sum()) for letter in "ab"}
    assert dict(zip(table["slice"], table["rows"], strict=True)) == number
    assert (table["worth"] < table["rows"]).all()
    assert [int(text.replace(",", "")) for text in ROWS.findall(dots.basis.split(";")[0])] in (
        [number[table["slice"][0]]],
        [],
    )
    hovers = next(t.customdata for t in cc.figures.slice_dots(dots).data if t.name == "confidence")
    lines = cc.findings(p, 5).to_dict("records")
    lines += cc.diagrams.class_bias(p).frame().to_dict("records")
    said = [(line["finding"], line["rows"], line["groups"]) for line in lines]
    said += [
        (record["basis"], *line) for record, line in zip(hovers, dots.lines[["rows", "groups"]].values, strict=True)
    ]
    for text, rows, groups in said:
        assert [int(found.replace(",", "")) for found in ROWS.findall(text)] == [rows], text
        assert f" rows in {groups:,} groups, effective sample size " in text or rows == groups or rows == 1


def test_rows_of_cells_by_a_loop():
    p = patients(200, weights=np.random.default_rng(2).choice([0.0, 0.5, 2.0], 200))
    cell = np.random.default_rng(3).integers(0, 7, 200)
    rows, groups = rows_of_cells(p, cell, 8)
    for c in range(8):
        mine = (cell == c) & (p.weights > 0)
        assert (rows[c], groups[c]) == (mine.sum(), len(set(p.groups[mine].tolist())))


def test_a_slice_that_weighs_nothing_and_rows_that_cannot_be_kept_apart_are_named():
    site = pd.DataFrame({"site": ["a", "b"] * 30, "half": ["x"] * 30 + ["y"] * 30})
    light = Predictions.from_confidence([0.7] * 60, [True] * 60, weights=[0, 1] * 30, metadata=site)
    with pytest.raises(NotAnswerable, match="every row in the slice site = a has weight 0"):
        cc.slices.part(light, "site=a")
    two = Predictions.from_confidence([0.7] * 60, [True] * 60, groups=[0, 1] * 30, metadata=site)
    with pytest.raises(NotAnswerable, match="rows in 1 group cannot be divided"):
        cc.slices.scan(cc.slices.part(two, "site=a"))


@pytest.mark.parametrize("bins", [5, 7, 10, 15, 20, 100])
def test_a_printed_bin_holds_the_rows_of_the_bin(bins):
    """Read back, the ends printed are the bin's to a twentieth of a point, and whole only where the bin's are."""
    for b in range(bins):
        low, high = b / bins, (b + 1) / bins
        first, last = edges_said(low, high).removesuffix(" %").split(" to ")
        for text, end in ((first, low), (last, high)):
            assert float(text) == pytest.approx(100 * end, abs=0.05 + 1e-9)
            assert ("." in text) == (abs(100 * end - round(100 * end)) > 1e-9)
