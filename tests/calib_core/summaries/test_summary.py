"""Summaries: split anywhere and merged in any order they equal the whole, to the bit, and count the rows exactly."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib_core import ESTIMATORS, InputError, NotAnswerable, Predictions, Summary
from calib_core._base.arrays import widened
from calib_core.binning import EqualWidth, tabulate
from calib_core.claims.probability_vectors import LabelMoments
from calib_core.estimators.base import Question
from calib_core.inference import interval
from calib_core.predictions.proper_scores import brier_scores, log_losses
from calib_core.reductions import ClassSpecific, ClassWise, Confidence, TopLabel
from calib_core.summaries import merged
from calib_core.summaries.cells import CELLS, EDGES, NUMBERS, SUMS, Cells, cells_of, starts_of
from calib_core.summaries.mergeable import Sample, row_keys

KINDS = ("full", "per-class", "top-label", "confidence")


def drawn(seed: int, n: int, k: int = 3, kind: str = "full", dtype: type = np.float32) -> Predictions:
    """Return rows of every kind, including scores of exactly 0 and 1."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.4), n).astype(dtype)
    p[:: max(n // 3, 1)] = np.eye(k, dtype=dtype)[0]
    y, meta = rng.integers(0, k, n), pd.DataFrame({"site": rng.choice(["a", "b", "c"], n)})
    if kind == "full":
        return Predictions(p, y, metadata=meta)
    if kind == "per-class":
        return Predictions.from_scores(p, y, metadata=meta)
    if kind == "top-label":
        names = tuple("abc"[:k])
        return Predictions.from_confidence(p.max(1), predicted=p.argmax(1), labels=y, class_names=names, metadata=meta)
    return Predictions.from_confidence(p.max(1), p.argmax(1) == y, metadata=meta)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 99),
    kind=st.sampled_from(KINDS),
    cuts=st.lists(st.integers(1, 39), max_size=4, unique=True).map(sorted),
    order=st.randoms(use_true_random=False),
    kept=st.sampled_from([7, 40]),
)
def test_split_anywhere_and_merged_in_any_order_it_is_the_whole(seed, kind, cuts, order, kept):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("calib_core.summaries.mergeable.sample_size", lambda n_classes: kept)
        _merged_it_is_the_whole(seed, kind, cuts, order)


def _merged_it_is_the_whole(seed, kind, cuts, order):
    rows = drawn(seed, 40, kind=kind)
    ends = [0, *cuts, 40]
    parts = [Summary.of(rows.take(np.arange(a, b)), ["site"], source="rows", first_row=a) for a, b in pairwise(ends)]
    order.shuffle(parts)
    while len(parts) > 1:  # and however the merges are nested
        i = order.randrange(len(parts) - 1)
        parts[i : i + 2] = [parts[i].merge(parts[i + 1])]
    whole = Summary.of(rows, ["site"], source="rows")
    assert parts[0].same_as(whole)
    assert not parts[0].same_as(Summary.of(rows.take(np.arange(39)), ["site"], source="rows"))


def test_adding_chunks_is_the_whole():
    rows = drawn(1, 100)
    found = Summary.of(rows.take(np.arange(10)))
    for start in range(10, 100, 30):
        found = found.add(rows.take(np.arange(start, start + 30)))
    assert found.same_as(Summary.of(rows))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cells_are_those_of_a_search_among_the_edges(dtype):
    edges = EDGES.astype(dtype)
    near = [np.nextafter(edges, dtype(end)) for end in (0, 1)]
    some = np.random.default_rng(0).random(2000).astype(dtype)
    scores = np.concatenate([edges, *near, np.array([0, 1, 1e-30], dtype), some, some**9])
    np.testing.assert_array_equal(cells_of(scores), np.searchsorted(edges, scores, side="right"))


def test_the_grid_holds_every_edge_of_its_numbers_of_bins():
    for bins in (*NUMBERS, 40, 125, 500):
        assert len(starts_of(EqualWidth(bins).fixed_edges())) == bins - 1
    with pytest.raises(NotAnswerable, match=r"the first is 0\.037037 \(nearest grid edge: 0\.037"):
        starts_of(EqualWidth(27).fixed_edges())


def test_cells_hold_the_powers_of_their_claims():
    rows = drawn(2, 300, dtype=np.float64)
    cells = Cells.of(rows.confidence, rows.correct)
    where = cells_of(rows.confidence)
    s, z = rows.confidence, rows.correct
    r, v = z - s, s * (1 - s)
    for name, mine, values in zip(SUMS, cells.sums.value, (s, r**2, r**3, r**4, v, v**2), strict=True):
        exact = [
            float(sum(Fraction(round(Fraction(x) * 2**40), 2**40) for x in values[where == cell]))
            for cell in cells.place
        ]
        np.testing.assert_allclose(mine, exact, rtol=0, atol=1e-11, err_msg=name)
    assert cells.count.tolist() == [int((where == cell).sum()) for cell in cells.place]
    assert cells.outcome.tolist() == [int(z[where == cell].sum()) for cell in cells.place]


NOTIONS = (Confidence(), TopLabel(), ClassWise(), ClassWise("share"), ClassSpecific(1))


@pytest.mark.parametrize("notion", NOTIONS, ids=repr)
@pytest.mark.parametrize("bins", [1, 10, 15, 100])
def test_bins_of_the_summary_are_bins_of_the_rows(notion, bins):
    rows = drawn(3, 500)
    here, there = (tabulate(notion.split(of), [EqualWidth(bins)])[0] for of in (Summary.of(rows), rows))
    np.testing.assert_array_equal(here.count, there.count)
    np.testing.assert_array_equal(here.tally.outcome, there.tally.outcome)
    np.testing.assert_array_equal(here.tally.score, there.tally.score)
    np.testing.assert_array_equal(here.shares, there.shares)
    assert here.strata == there.strata


def test_scores_and_shares_are_those_of_the_rows():
    rows = drawn(4, 400, k=4)
    found = Summary.of(rows)
    assert found.accuracy == rows.accuracy
    assert found.mean_confidence == pytest.approx(rows.mean_confidence, abs=1e-11)
    assert found.mean_loss("brier") == pytest.approx(brier_scores(rows).mean(), abs=1e-11)
    assert found.mean_loss("log-loss") == pytest.approx(log_losses(rows).mean(), abs=1e-11)
    assert found.losses["brier"].impossible == int((rows.probs[np.arange(400), rows.true_labels] == 0).sum()) > 0
    sites = rows.metadata["site"]
    assert Summary.of(rows, ["site"]).slice_claims("site", "b").cells.n_claims == int((sites == "b").sum())


def test_the_sample_is_drawn_by_row_number_alone():
    rows = drawn(5, 30_000, k=2)
    found = Summary.of(rows, source="here").sample
    assert found.n_rows == 10_000
    assert found.class_names == rows.class_names
    # The sampled rows are independent of their content: the sample is about as accurate as the rows.
    assert abs(found.accuracy - rows.accuracy) < 0.02
    other = Summary.of(rows, source="there").sample
    assert not np.array_equal(found.probs, other.probs)
    assert np.array_equal(found.probs, Summary.of(rows.relabelled(1 - rows.true_labels), source="here").sample.probs)


def test_what_counts_would_lose_is_refused():
    p, y = [[0.7, 0.3]] * 4, [0, 1, 0, 1]
    for rows, why in (
        (Predictions(p, y, groups=["a", "a", "b", "b"]), "would lose the groups"),
        (Predictions(p, y, weights=[0.5, 1.5, 1, 1]), "not counts of copies"),
        (Predictions(p, y, abstained=[True, False, False, False]), "abstained"),
        (Predictions(p, y).as_discrete(), "one bin per value"),
    ):
        with pytest.raises(NotAnswerable, match=why):
            Summary.of(rows)
    assert Summary.of(Predictions(p, y, weights=[2, 1, 0, 1])).n_rows == 4
    many = Predictions(np.full((300, 2), 0.5), np.zeros(300, int), metadata=pd.DataFrame({"id": range(300)}))
    with pytest.raises(InputError, match=r"at least 300 values; .* 200 at most"):
        Summary.of(many, ["id"])
    with pytest.raises(InputError, match="no column 'site'"):
        Summary.of(many, ["site"])


def test_one_class_of_confidences_alone_is_refused():
    counted = Summary.of(Predictions.from_confidence([0.75, 0.5], [True, False]))
    with pytest.raises(NotAnswerable, match="probabilities of other classes are unknown"):
        ClassSpecific(0).split(counted)


@pytest.mark.parametrize("key", ["ece-sweep", "max-deviation", "ece-convex"])
def test_intervals_of_what_reads_rows_are_refused(key):
    counted = Summary.of(Predictions([[0.7, 0.3]] * 3 + [[0.2, 0.8]], [0, 1, 0, 1]))
    with pytest.raises(NotAnswerable, match="needs rows"):
        interval(Question(counted, Confidence(), ESTIMATORS.make(key)))


@pytest.mark.parametrize("kind", KINDS)
def test_what_needs_rows_says_so(kind):
    found = Summary.of(drawn(6, 30, kind=kind))
    for name in ("probs", "confidence", "correct", "true_labels", "take", "split", "top", "rows", "rows_of"):
        expected = AttributeError if name == "rows_of" else NotAnswerable
        with pytest.raises(expected):
            getattr(found, name)
    with pytest.raises(NotAnswerable, match="a summary contains only counts"):
        _ = Confidence().split(found).stratum(0).scores


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (drawn(7, 30, kind="confidence"), "kinds"),
        (drawn(7, 30, k=4), "classes"),
        (drawn(7, 30, dtype=np.float64), "precisions"),
    ],
)
def test_what_is_not_alike_is_not_merged(other, why):
    with pytest.raises(InputError, match=why):
        merged([Summary.of(drawn(7, 30)), Summary.of(other)])


def test_many_classes_keep_the_predicted_one_and_refuse_the_rest():
    rows = drawn(8, 50, k=300)
    found = Summary.of(rows)
    assert found.class_cells is None
    assert TopLabel().split(found).cells.n_claims == 50
    with pytest.raises(NotAnswerable, match=f"up to {250_000 // CELLS} classes"):
        ClassWise().split(found)


def test_a_merged_summary_has_the_notes_of_every_part_once():
    rows = drawn(3, 40)
    notes = (("rescaled",), ("rescaled", "two rows left out"))
    first, second = (
        replace(Summary.of(rows, source="rows", first_row=40 * i), notes=each) for i, each in enumerate(notes)
    )
    assert first.merge(second).notes == second.merge(first).notes == ("rescaled", "two rows left out")


@pytest.mark.parametrize("size", [7, 50, 90])
def test_sampled_rows_have_the_smallest_keys_in_order(size):
    p = Predictions(np.linspace([0.1, 0.9], [0.4, 0.6], 50), [0, 1] * 25)
    keys = row_keys(3, "a", 12, 50)
    order = sorted(range(50), key=lambda i: keys[i])[:size]
    made = Sample.of(p, size, 3, "a", 12)
    assert made.keys.tolist() == keys[order].tolist()
    assert made.scores.tolist() == p.probs[order].tolist()


@pytest.mark.parametrize("k", range(2, 10))
def test_losses_are_the_same_bits_however_rows_are_laid_out(k):
    """Few classes are read column by column; from eight on numpy would add in another order."""
    probs = np.random.default_rng(k).dirichlet(np.full(k, 0.4), 500)
    moments = [
        LabelMoments.of(rows, np.square(rows).sum(axis=1, keepdims=True) - rows) for rows in (probs, widened(probs))
    ]
    for one, other in zip(*moments, strict=True):
        np.testing.assert_array_equal(one, other)
    assert widened(probs).flags.f_contiguous == (k < 8)
