"""The first table of a validation: every number is pandas' own, and the flow adds up."""

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import NotAnswerable, Predictions
from calib_core.slices import characteristics

ROWS = cc.read_predictions(*cc.datasets.demo("hospital-risk"), rows="all")
TABLE = pd.read_csv("demo_data/hospital_risk.csv")


def test_every_number_is_that_of_pandas():
    lines = characteristics(ROWS, "hospital").frame().set_index(["group", "characteristic", "value"])
    groups = {
        "all": TABLE,
        "with the event": TABLE[TABLE["died"] == 1],
        "without the event": TABLE[TABLE["died"] == 0],
        **{f"hospital = {name}": part for name, part in TABLE.groupby("hospital")},
    }
    assert set(lines.index.get_level_values("group")) == groups.keys()
    for name, part in groups.items():
        own = lines.loc[name]
        assert (own["rows"] == len(part)).all()
        assert own.loc[("the event", ""), "number"] == part["died"].sum()
        for value, number in part["sex"].value_counts().items():
            assert own.loc[("sex", value), ["number", "share"]].tolist() == [number, number / len(part)]
        assert own.loc[("age", "not given"), "number"] == part["age"].isna().sum()
        age = part["age"].describe()[["count", "mean", "std", "50%", "25%", "75%"]].tolist()
        found = own.loc[("age", "numbers"), ["number", "mean", "sd", "median", "q1", "q3"]].astype(float).tolist()
        assert found == pytest.approx(age)
        risk = own.loc[("predicted risk of the event", "numbers"), "mean"]
        assert risk == pytest.approx(part["risk"].mean())
    assert "hospital" not in lines.index.get_level_values("characteristic")


def test_the_printed_table_has_a_column_a_group_and_writes_shares_means_and_medians():
    wide = characteristics(ROWS, event="death").wide().set_index(["characteristic", "value"])
    assert list(wide) == ["rows: all", "rows: with death", "rows: without death"]
    assert wide.loc[("death", "")].tolist() == ["580 (14.5 %)", "580 (100.0 %)", "0 (0.0 %)"]
    assert wide.loc[("age", "mean (SD)"), "rows: all"] == "66.2 (13.8)"
    assert wide.loc[("age", "median (quartiles)"), "rows: all"] == "66 (57 to 76)"
    assert wide.loc[("hospital", "River"), "rows: with death"] == "36 (6.2 %)"


def test_ids_are_left_out_and_few_numbers_are_counted():
    n = 400
    metadata = pd.DataFrame({"id": np.arange(n) + 1000, "grade": np.tile([1, 2, 3, 4], n // 4), "one": ["x"] * n})
    p = np.linspace(0.1, 0.9, n)
    rows = Predictions(np.column_stack([1 - p, p]), np.arange(n) % 2, metadata=metadata)
    lines = characteristics(rows).frame()
    assert lines["characteristic"].unique().tolist() == ["rows", "the event", "predicted risk of the event", "grade"]
    assert lines.query("characteristic == 'grade' and group == 'all'")["share"].tolist() == [0.25] * 4


def test_copies_are_rows_and_an_empty_group_has_no_numbers():
    rows = Predictions([[0.9, 0.1], [0.2, 0.8]], [0, 0], weights=[3, 1], metadata=pd.DataFrame({"a": ["x", "y"]}))
    found = characteristics(rows)
    wide = found.wide().set_index(["characteristic", "value"])
    assert wide.loc[("a", "x"), "rows: all"] == "3 (75.0 %)"
    assert wide.loc[("predicted risk of the event", "mean (SD)"), "rows: with the event"] == "none"


def test_refusals_are_sentences():
    with pytest.raises(NotAnswerable, match="no column 'hopital'; did you mean 'hospital'"):
        characteristics(ROWS, "hopital")
    many = ROWS.replace(metadata=pd.DataFrame({"day": np.arange(ROWS.n_rows) % 50 + 0.0}).astype(str))
    with pytest.raises(NotAnswerable, match="'day' has 50 values, more than the 12"):
        characteristics(many, "day")
    with pytest.raises(NotAnswerable, match="a summary stores no rows"):
        characteristics(cc.Summary.of(ROWS))


def test_the_flow_adds_up_from_the_file_to_the_rows_judged():
    table = TABLE.astype({"died": "Int64"})
    table.loc[:54, "died"] = pd.NA
    table.loc[50:69, "risk"] = np.nan
    read = cc.readers.read_table(table.to_csv(index=False).encode(), "hospitals.csv")
    how = {"missing": "exclude"}
    whole = cc.calls.read_as(read, how)
    division = cc.calls.within(cc.calls.divide(whole), "hospital=River")
    flow = cc.calls.row_flow(read, how, division)
    kept = table.dropna(subset=["risk", "died"])
    assert flow["rows"].tolist()[:4] == [4000, 20, 50, len(kept)]
    assert flow["events"].tolist()[3] == kept["died"].sum()
    start, *_, end = flow["rows"]
    left = flow.loc[flow["step"] == "left out"]
    assert start - left["rows"].sum() == end == division.test.n_rows
    assert left["reason"].tolist() == [
        "no value in risk",
        "no value in died",
        "reserved for fitting calibrators",
        "other than hospital = River",
    ]
    events = (division.test.labels == division.test.event).sum()
    assert flow["events"].tolist()[-1] == events
    everything = cc.calls.row_flow(read, how, cc.calls.divide(whole, folds=5))
    assert everything["step"].tolist()[-2:] == ["rows with a prediction and an outcome", "judged"]


def test_many_dates_are_counted_by_the_calendar():
    seen = pd.Series(pd.date_range("2026-01-01", "2026-03-31").strftime("%Y-%m-%d"))
    seen[3] = None
    p = np.linspace(0.1, 0.9, len(seen))
    labels = np.arange(len(seen)) % 2
    rows = Predictions(np.column_stack([1 - p, p]), labels, metadata=pd.DataFrame({"seen": seen}))
    lines = characteristics(rows).frame().query("characteristic == 'seen'").set_index(["group", "value"])["number"]
    months = ["January 2026", "February 2026", "March 2026"]
    assert lines["all"].tolist() == [30, 28, 31, 1]
    assert lines["all"].index.tolist() == [*months, "not given"]
    assert (lines["with the event"] + lines["without the event"]).tolist() == lines["all"].tolist()
    few = Predictions(rows.probs[:5], labels[:5], metadata=pd.DataFrame({"seen": seen[:5].tolist()}))
    assert "2026-01-01" in characteristics(few).frame()["value"].tolist()
