"""Grouped rows: given in many ways, carried along, not divided by splits, read from a column."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calib_core as cc
from calib_core.calibrators import BINARY_CALIBRATORS, CALIBRATORS
from calib_core.calibrators.calibration_rows import hold_out
from calib_core.calibrators.reduced import Reduced
from calib_core.predictions.predictions import InputError, NotAnswerable, Predictions
from calib_core.predictions.row_groups import RowGroups
from calib_core.readers import examine, propose, read_predictions, read_table
from calib_core.reductions import REDUCTIONS

METADATA = pd.DataFrame({"patient": list("bbaacc"), "site": [1, 1, 1, 2, 2, 2]})
P = Predictions([[0.7, 0.3]] * 6, [0, 1] * 3, metadata=METADATA, groups="patient")


def test_groups_are_codes_by_first_appearance_from_a_column_an_array_or_a_series():
    for given_as in ("patient", METADATA["patient"], METADATA["patient"].tolist(), pd.Categorical(METADATA["patient"])):
        p = P.replace(groups=given_as)
        assert p.groups.tolist() == [0, 0, 1, 1, 2, 2]
        assert p.row_groups.values.tolist() == ["b", "a", "c"]
    assert P.row_groups.words == "3 groups (patient)"
    assert P.replace(groups=[5, 5, 6, 6, 6, 6]).row_groups.words == "2 groups"


def test_groups_come_along_and_go_when_taken_away():
    assert pickle.loads(pickle.dumps(P)).groups.tolist() == P.groups.tolist()  # noqa: S301
    assert P.with_probs([[0.4, 0.6]] * 6).groups.tolist() == P.groups.tolist()
    assert P.take([5, 4, 0]).groups.tolist() == [0, 0, 1]
    assert P.replace(weights=[2] * 6).written_out().groups.tolist() == np.repeat(P.groups, 2).tolist()
    assert P.replace(metadata=None).groups is not None
    assert P.replace(groups=None).groups is None
    assert Predictions.from_scores(P.probs, P.labels, groups=P.groups).groups.tolist() == P.groups.tolist()
    assert Predictions.from_confidence([0.5] * 4, [1, 0] * 2, groups=[1, 1, 2, 2]).groups.tolist() == [0, 0, 1, 1]
    logits = np.log(P.probs)
    assert Predictions.from_logits(logits, P.labels, groups=P.groups).groups.tolist() == P.groups.tolist()


@pytest.mark.parametrize("calibrator", ["temperature", "confidence-hb", "top-label-hb", "top-k-label", "class-wise-hb"])
def test_calibrators_pass_groups_on(calibrator):
    rng = np.random.default_rng(0)
    p = Predictions(rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60), groups=np.arange(60) // 3)
    assert CALIBRATORS.make(calibrator).fit_on(p).apply(p).groups.tolist() == p.groups.tolist()


def test_a_group_of_one_row_each_is_no_grouping_even_where_rows_are_copied():
    alone = Predictions([[0.7, 0.3]] * 3, [0, 1, 0], groups=["a", "b", "c"], weights=[2, 2, 2])
    assert alone.groups is None
    assert alone.row_groups is None
    assert alone.written_out().groups is None
    assert P.take([0, 2, 4]).groups is None


def test_what_cannot_be_a_grouping_is_refused():
    for groups, message in (
        ("site2", "groups is 'site2', which is not a column of the metadata; its columns are patient, site"),
        ([1, 1, 2, 2, None, 3], "groups row 4 is missing; every row needs its group (group)"),
        (
            [1] * 6,
            "all 6 rows belong to one group (group), so the variation between groups is unknown",
        ),
        ([1, 2], "groups has shape (2,), but there are 6 predictions; give one group per row"),
    ):
        with pytest.raises(InputError) as why:
            P.replace(groups=groups)
        assert str(why.value).startswith(message)
    with pytest.raises(InputError, match="there is no metadata"):
        Predictions([[0.7, 0.3]] * 2, [0, 1], groups="patient")


@given(
    sizes=st.lists(st.integers(1, 6), min_size=4, max_size=40),
    share=st.floats(0.2, 0.8),
    seed=st.integers(0, 99),
)
def test_splits_keep_groups_whole_near_the_share_and_do_not_ask_for_names(sizes, share, seed):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, len(groups))
    p = Predictions(np.full((len(groups), 3), 1 / 3), labels, groups=groups)
    first = p.replace(groups=rng.permutation(1000)[groups]).first_part(share, random_state=seed)
    np.testing.assert_array_equal(first, p.first_part(share, random_state=seed))
    if p.groups is None:
        return
    assert not set(groups[first]) & set(groups[~first])
    # Every size within every class is met to within one group.
    assert abs(len(set(groups[first])) - share * len(sizes)) <= 1
    assert abs(first.sum() - share * len(groups)) <= 6 + 3 * 6


def test_both_parts_have_groups_of_every_class():
    labels = np.repeat([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2], 5)
    p = Predictions(np.full((60, 3), 1 / 3), labels, groups=np.arange(60) // 5)
    for part in p.split(0.5):
        assert np.bincount(part.labels).tolist() == [10, 10, 10]


def test_a_group_on_both_sides_is_said():
    divided = cc.calls.divide(P)
    assert divided.warning == ""
    assert divided.rule == "split at random, stratified by class, each group (patient) on one side"
    torn = cc.calls.divide(P, marked=cc.evaluation.splitting.Marked(np.array([0, 2, 4, 5]), np.array([1, 3]), "part"))
    assert torn.warning.startswith("2 groups (patient) have rows on both sides")
    # Two files: one row of every patient in the second is enough.
    assert cc.calls.divide(P, test=P.take([1, 2])).warning.startswith("2 groups (patient) have rows on both sides")
    assert cc.calls.divide(P.take([0, 1]), test=P.take([2, 3, 4])).warning == ""


CSV = b"p,label,patient\n" + b"".join(
    b"0.%d,%d,%s\n" % (i % 9 + 1, i % 2, b"qrstuvwxyz"[i % 10 :][:1]) for i in range(30)
)


def test_a_column_is_named_the_group_and_never_proposed():
    table = read_table(CSV, "visits.csv")
    assert propose(table).group is None
    (note,) = [finding for finding in examine(table, propose(table)) if finding.code == "group"]
    assert note.severity == "warning"
    assert "Rows with the same value always have the same" in note.message
    one_other = read_table(CSV.replace(b"0.1,0,q", b"0.1,1,q", 1), "visits.csv")
    assert [each.severity for each in examine(one_other, propose(one_other)) if each.code == "group"] == ["note"]
    assert dict(note.change) == {"group": "patient"}
    assert note.message.startswith('The column "patient" has 10 values in 30 rows')
    p = read_predictions(CSV, "visits.csv", group="patient")
    assert p.row_groups.words == "10 groups (patient)"
    assert "patient" in p.metadata
    assert cc.calls.read_as(table, {"group": "patient"}).groups.tolist() == p.groups.tolist()
    assert not [f for f in examine(table, propose(table, group="patient")) if f.code == "group"]


def test_a_missing_group_stops_or_leaves_the_row_out():
    holes = CSV.replace(b"1,x", b"1,", 1)
    with pytest.raises(InputError, match="the value is missing"):
        read_predictions(holes, "visits.csv", group="patient")
    assert read_predictions(holes, "visits.csv", group="patient", missing="exclude").n_rows == 29


# ---- fits that divide their rows ------------------------------------------------------------------------------


GROUPED = Predictions(
    np.random.default_rng(5).dirichlet(np.ones(3), 240),
    np.random.default_rng(6).integers(0, 3, 240),
    groups=np.random.default_rng(7).permutation(np.arange(240) // 6),
)


def test_rows_are_held_out_in_whole_groups_and_nothing_of_them_is_left():
    parts = hold_out(GROUPED, GROUPED.correct, 0.25, 500, random_state=0)
    taken, left = set(GROUPED.groups[parts.rows]), set(GROUPED.groups[parts.left])
    assert 0 < len(parts.rows) <= GROUPED.correct.sum() * 0.25
    assert not taken & left
    assert taken | left == set(GROUPED.groups)
    assert GROUPED.correct[parts.rows].all()


@pytest.mark.parametrize("folds", [2, 5, 10])
def test_folds_keep_groups_whole_and_alike_in_number(folds):
    fold = GROUPED.row_groups.folds(GROUPED.labels, folds, 0)
    for group in set(GROUPED.groups):
        assert len(set(fold[GROUPED.groups == group])) == 1
    assert np.ptp(np.bincount(fold, minlength=folds)) <= 6


@pytest.mark.parametrize(("key", "options"), [("dirichlet", {"folds": 2}), ("lece", {}), ("matrix", {"folds": 2})])
def test_cross_validation_of_calibrators_asks_for_folds_of_groups(key, options, monkeypatch):
    asked = []
    monkeypatch.setattr(RowGroups, "folds", lambda self, *_: asked.append(self) or np.arange(len(self.codes)) % 2)
    CALIBRATORS.make(key, cross_validate=True, **options).fit_on(GROUPED)
    assert asked == [GROUPED.row_groups]


def test_a_map_fitted_on_thirds_of_the_rows_is_refused():
    thirds = BINARY_CALIBRATORS.make("scaling-binning", splits=3)
    with pytest.raises(NotAnswerable, match="a map fitted on thirds of the rows requires independent rows"):
        Reduced(REDUCTIONS.make("confidence"), thirds).fit_on(GROUPED)
    with pytest.raises(NotAnswerable, match="the guaranteed rule requires independent rows"):
        CALIBRATORS.make("metacal-accuracy", rule="guaranteed").fit_on(GROUPED)


def test_a_seed_of_a_split_that_is_no_whole_number_is_refused_in_a_sentence():
    for rows in (Predictions([[0.7, 0.3]] * 20, [0, 1] * 10, groups=g) for g in (None, np.arange(20) % 10)):
        with pytest.raises(InputError, match="random_state is -1; it must be a whole number of at least 0"):
            rows.split(random_state=-1)
