"""Every column of every exhibit matches its heading: recomputed from the file by a slow twin."""

from __future__ import annotations

import pytest
from compared import TWINS, Compared, data_of
from exhibits_shown import cases, frame_of

from dashboard.exhibits import EXHIBITS

pytestmark = pytest.mark.law


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("key", "name"), list(cases()))
def test_every_column_is_what_its_twin_makes_of_the_file(key, name):
    data = data_of(name)
    if (frame := frame_of(data, key)) is None:
        pytest.skip("not of these data")
    compared = Compared(frame)
    TWINS[key](compared, data)
    assert not compared.unseen


CUT = ("bins", "reliability", "movement", "bin", "bin-models", "bin-rows", "class-bins", "class-panels", "class-rows",
       "class-bias", "classes", "class-errors", "standing-out", "findings", "estimators", "summary", "calibrators",
       "trade", "validity", "bin-balance", "slice-panels", "risk-groups", "scores", "tests", "gains")  # fmt: skip
"""Exhibits that depend on bins; all others must not change."""


@pytest.mark.parametrize("name", ["three", "risk"])
@pytest.mark.parametrize("key", CUT)
def test_bins_that_are_chosen_are_those_that_are_used(key, name):
    data = data_of(name, binning="equal-width", bins=7, bin=5 if name == "three" else None)
    if (frame := frame_of(data, key)) is None:
        pytest.skip("not of these data")
    compared = Compared(frame)
    TWINS[key](compared, data)
    assert not compared.unseen


def test_every_exhibit_has_a_twin():
    elsewhere = {"kept-pairs", "slice-scan"}  # tests/meaning/test_found_elsewhere.py
    assert set(TWINS) | elsewhere == set(EXHIBITS)
