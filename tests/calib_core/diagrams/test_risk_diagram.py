"""The diagram of a predicted risk: its bins by hand, intervals equal to the pane's, and a headline backed by tests."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import Predictions
from calib_core.binning import EqualMass, EqualWidth, risk_bins
from calib_core.diagrams import bins_standing_out, headline, models_in_range, risk_diagram
from calib_core.reductions import claims_of
from calib_core.text import exact_range

RUNS, LEVEL = 200, 0.9


def drawn(n: int, middle: float, times: float, seed: int) -> Predictions:
    """Return risks around a log-odds, of which the events have this multiple of the chance."""
    rng = np.random.default_rng(seed)
    risk = 1 / (1 + np.exp(-rng.normal(middle, 0.8, n)))
    happened = rng.random(n) < np.minimum(times * risk, 1)
    return Predictions(np.column_stack([1 - risk, risk]), happened.astype(int))


def test_bins_are_those_counted_row_by_row() -> None:
    p = drawn(1500, -1, 1, 0)
    risk, happened = p.rows.column(1), p.true_labels == 1
    found = risk_diagram(p)
    for line in found.frame().to_dict("records"):
        inside = (risk >= line["lower"]) & (risk < line["upper"])
        assert inside.sum() == line["count"]
        assert line["risk"] == pytest.approx(risk[inside].mean())
        assert line["observed"] == pytest.approx(happened[inside].mean())
    assert (found.events, found.rows) == (happened.sum(), 1500)


@pytest.mark.parametrize("weights", [None, np.tile([1.0, 2.5], 500)])
def test_a_bin_has_the_interval_that_its_rows_have_beside_it(weights: Any) -> None:
    p = drawn(1000, -1, 1, 1)
    p = p if weights is None else p.replace(weights=weights)
    for line in risk_diagram(p).frame().to_dict("records"):
        beside = models_in_range({"one": p}, line["lower"], line["upper"], notion="event").iloc[0]
        assert (beside["right_low"], beside["right_high"]) == pytest.approx((line["low"], line["high"]))


def test_a_rare_event_is_seen_in_tenths_and_others_in_equal_widths() -> None:
    assert risk_diagram(drawn(2000, -5, 1, 2)).frame()["count"].tolist() == [200.0] * 10
    assert risk_diagram(drawn(2000, 0, 1, 2)).bins == "15 equal width"
    assert risk_diagram(drawn(2000, -5, 1, 2), 15).bins == "15 equal width"


def claims(middle: float, times: float, n: int = 800) -> float:
    """Return the share of runs in which the headline calls a risk too high or too low."""
    found = 0
    for seed in range(RUNS):
        table = bins_standing_out({"one": drawn(n, middle, times, seed)}, notion="event", level=LEVEL)
        found += "too" in headline(table, happened="died")[0]
    return found / RUNS


@pytest.mark.wide
@pytest.mark.parametrize("middle", [-1.0, -4.0])
def test_the_headline_calls_few_calibrated_risks_wrong_and_most_doubled_ones(middle: float) -> None:
    margin = 3 * np.sqrt(0.1 * 0.9 / RUNS)
    assert claims(middle, 1) <= 1 - LEVEL + margin
    assert claims(middle, 2, 3000) > 0.9


def test_a_stretch_is_named_only_where_each_of_its_bins_is_off() -> None:
    table = bins_standing_out({"one": drawn(20_000, -1, 0.5, 3)}, notion="event")
    off = table["stands_out"].ne("").to_numpy()
    first = np.flatnonzero(off)[0]
    sentence = headline(table, happened="died")[0]
    if off[first : np.flatnonzero(off)[-1] + 1].all():
        ends = exact_range(table["lower"].iloc[first], table["upper"].iloc[np.flatnonzero(off)[-1]])
        assert sentence == f"Predicted risks of {ends} are significantly too high."
    gap = table.assign(stands_out=np.where(np.arange(len(table)) == first + 1, "", table["stands_out"]))
    assert f"of {len(table)} bins" in headline(gap, happened="died")[0]


@pytest.mark.parametrize("happened", ["died", ""])
@pytest.mark.parametrize("kinds", [("overconfident",), ("overconfident", "underconfident")])
def test_the_example_of_a_headline_is_the_significant_bin_with_the_largest_gap(happened: str, kinds: Any) -> None:
    """Bins of few rows have the largest gaps, and are not significant."""
    says = np.array([0.05, 0.25, 0.35, 0.45, 0.95])
    gap = np.array([0.0, -0.07, -0.12, 0.09, -0.4])
    sides = ["", kinds[0], kinds[0], kinds[-1], ""]
    ends = {"lower": [0.0, 0.2, 0.3, 0.4, 0.9], "upper": [0.1, 0.3, 0.4, 0.5, 1.0]}
    table = pd.DataFrame({"model": "one", "confidence": says, "accuracy": says + gap, "stands_out": sides, **ends})
    text = " ".join(headline(table.assign(too_few=False), happened=happened))
    assert {"35 %", "23 %"} <= set(re.findall(r"\d+ %", text)), text
    assert not {"95 %", "55 %"} & set(re.findall(r"\d+ %", text)), text


def test_without_an_event_there_is_no_diagram() -> None:
    with pytest.raises(cc.NotAnswerable, match="event"):
        risk_diagram(Predictions(np.full((4, 3), 1 / 3), [0, 1, 2, 0]))


@pytest.mark.parametrize(("low", "tenths"), [(66, False), (67, False), (68, True), (90, True)])
def test_risks_of_which_more_than_two_thirds_lie_in_one_bin_are_put_in_tenths(low: int, tenths: bool) -> None:
    risk = np.append(np.linspace(0.001, 0.06, low), np.linspace(0.1, 0.9, 101 - low))
    rows = Predictions(np.column_stack([1 - risk, risk]), np.arange(101) % 2)
    filled = np.bincount((15 * risk).astype(int)) > 0
    assert filled.sum() >= 5, "not for too few bins"
    assert risk_bins(claims_of(rows, "event")) == (EqualMass(10) if tenths else EqualWidth(15))


@pytest.mark.parametrize(("filled", "tenths"), [(4, True), (5, False), (6, False)])
def test_risks_in_fewer_than_five_bins_are_put_in_tenths(filled: int, tenths: bool) -> None:
    risk = np.tile((np.arange(filled) + 0.5) / 15, 20) + np.linspace(-0.01, 0.01, 20 * filled)
    rows = Predictions(np.column_stack([1 - risk, risk]), np.arange(len(risk)) % 2)
    assert risk_bins(claims_of(rows, "event")) == (EqualMass(10) if tenths else EqualWidth(15))
