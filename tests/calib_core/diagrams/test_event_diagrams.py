"""Diagrams, slices and findings of an event equal those of its claims: risks and observed frequencies."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import diagrams, slices
from calib_core.slices.findings import findings
from calib_core.slices.findings import headline as findings_headline


@pytest.fixture(scope="module")
def clinic():
    """Return 400 rows, a risk twice too high at one of two sites."""
    rng = np.random.default_rng(0)
    site = np.where(np.arange(400) % 2, "north", "south")
    s = rng.beta(2, 5, 400)
    y = (rng.random(400) < np.where(site == "north", s / 3, s)).astype(int)
    rows = cc.Predictions(
        np.column_stack([1 - s, s]), y, class_names=["survived", "died"], metadata=pd.DataFrame({"site": site})
    )
    return rows, s, y, site


def test_bins_are_of_the_risk(clinic):
    rows, s, y, _ = clinic
    frame = diagrams.reliability(rows, 5, notion="event").frame()
    for line in frame.itertuples():
        here = (s >= line.lower) & (s < line.upper)
        assert (line.count, line.confidence, line.accuracy) == pytest.approx(
            (here.sum(), s[here].mean(), y[here].mean())
        )
    assert frame["delta"].isna().all()
    bands = diagrams.reliability_bands(rows, 5, "event").frame()
    assert bands["accuracy"].tolist() == frame["accuracy"].tolist()
    table = diagrams.bins_standing_out({"m": rows}, 5, notion=None)
    assert table["accuracy"].tolist() == frame["accuracy"].tolist()


def test_what_takes_claims_of_a_notion_takes_the_event(clinic):
    rows = clinic[0]
    of_class = cc.REDUCTIONS.make("class-specific", cls=1)
    for draw in (diagrams.corp, diagrams.kernel_curve, lambda p, notion: diagrams.reliability_bands(p, 5, notion)):
        pd.testing.assert_frame_equal(draw(rows, "event").frame(), draw(rows, of_class).frame())
    sweep = diagrams.error_sweep(rows, ["event"], bins=[5, 10], floor=False)
    assert sweep.value[0].tolist() == [cc.estimate(rows, of_class, "ece", b).value for b in (5, 10)]


def test_the_overall_gap_is_that_of_the_mean_risk(clinic):
    rows, s, y, _ = clinic
    gap = diagrams.overall_gap(rows, notion=None)
    assert (gap.claimed, gap.right) == pytest.approx((s.mean(), y.mean()))
    assert diagrams.overall_gap(cc.Summary.of(rows), notion="event").claimed == pytest.approx(s.mean())
    assert diagrams.overall_gap(rows, notion="confidence").claimed == pytest.approx(np.maximum(s, 1 - s).mean())


def test_slices_are_of_the_risk(clinic):
    rows, s, y, site = clinic
    table = slices.table(rows, "site", notion="event").set_index("slice")
    north = site == "north"
    line = table.loc["site = north"]
    assert (line["claimed"], line["right"]) == pytest.approx((s[north].mean(), y[north].mean()))
    assert line["stands_out"]
    assert not table.loc["site = south", "stands_out"]
    assert slices.by_column(rows, notion="event")["slice"][0] == "site = north"
    assert slices.scan(rows, notion="event").columns == ("site",)
    panel = slices.panels(rows, ["site=north"], 5, notion="event").frame()
    assert (panel["mean_score"] @ panel["count"] / panel["count"].sum()) == pytest.approx(s[north].mean())


def test_findings_are_said_in_words_of_the_event(clinic):
    rows, *_ = clinic
    table = findings(rows, 5, notion=None)
    assert set(table["kind"]) == {"bin", "direction", "slice"}
    texts = " ".join(table["finding"])
    assert "Where site is north, the mean risk is" in texts
    assert "Of rows given a risk of 20 to 40 %," in texts
    assert "% died (" in texts
    coded = cc.Predictions(rows.probs, pd.Series(rows.labels, name="died"), metadata=rows.metadata)
    assert findings(coded, 5)["finding"].tolist() == table["finding"].tolist(), "0 and 1 of a column with this name"
    assert "right" not in texts
    assert "says" not in texts
    assert findings_headline(table)[0].startswith(("Where site is north", "Over all rows", "Of rows"))
    same = findings(cc.Predictions.from_confidence(clinic[1], clinic[2] == 1, metadata=rows.metadata), 5)
    # All rows of an event share their level with more errors than those of bare confidences.
    places = [frame[frame["kind"] != "direction"].reset_index(drop=True) for frame in (same, table)]
    assert places[0][["says", "right", "p", "low", "high"]].equals(places[1][["says", "right", "p", "low", "high"]])
