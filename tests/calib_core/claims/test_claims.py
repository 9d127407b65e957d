"""Counting claims into cells, in both forms, against loops over single claims."""

import numpy as np
import pytest
from generated import asked_of, full_predictions, permuted
from hypothesis import given
from hypothesis import strategies as st

from calib_core import REDUCTIONS, NotAnswerable, Predictions, estimate
from calib_core._base.arrays import BLOCK_BYTES, Rows, owned, safe_log
from calib_core.binning import Distinct, Edges, EqualMass, EqualWidth, PointsPerBin, tabulate, tabulate_at
from calib_core.claims.binary_claims import ColumnClaims, FlatClaims
from calib_core.claims.exact_sums import ROUNDING, Tally
from calib_core.diagrams import kernel_curve
from calib_core.reductions import claims_of

edge_lists = st.lists(st.sampled_from([i / 20 for i in range(21)]), max_size=6, unique=True).map(sorted)


def tally_by_hand(claims, edges):
    """Count cell j with edges[j-1] <= score < edges[j], one claim after the other."""
    shape = (len(claims.strata), len(edges) + 1)
    count, score, outcome = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for s in range(len(claims.strata)):
        stratum = claims.stratum(s)
        weights = np.ones(len(stratum.scores)) if stratum.weights is None else stratum.weights
        for x, z, w in zip(stratum.scores, stratum.outcomes, weights, strict=True):
            cell = sum(bool(x >= edge) for edge in edges)
            count[s, cell] += w
            score[s, cell] += w * float(x)
            outcome[s, cell] += w * bool(z)
    return Tally(count, score, outcome)


def assert_same(made, expected, atol=1e-12):
    for name in ("count", "score", "outcome"):
        rounding = float(expected.count.max()) * ROUNDING if name == "score" else 0.0
        np.testing.assert_allclose(
            getattr(made, name), getattr(expected, name), rtol=1e-12, atol=atol + rounding, err_msg=name
        )


@pytest.mark.parametrize("notion", [key for key in REDUCTIONS if key != "canonical"])
@given(predictions=full_predictions(max_rows=25), edges=edge_lists)
def test_tally_is_what_counting_one_by_one_gives(notion, predictions, edges):
    predictions = asked_of(notion, predictions)
    claims = REDUCTIONS.make(notion).split(predictions)
    cast = np.array(edges, dtype=claims.dtype)
    assert_same(claims.tally(cast), tally_by_hand(claims, cast))


@given(predictions=full_predictions(max_rows=25), edges=edge_lists)
def test_the_two_shapes_of_claims_agree(predictions, edges):
    by_column = REDUCTIONS.make("class-wise").split(predictions)
    assert isinstance(by_column, ColumnClaims)
    n, k = predictions.probs.shape
    listed = FlatClaims(
        predictions.probs.T.ravel(),
        (predictions.labels == np.arange(k)[:, None]).ravel(),
        np.repeat(np.arange(k), n),
        by_column.strata,
        by_column.shares,
        None if predictions.weights is None else np.tile(predictions.weights, k),
    )
    cast = np.array(edges, dtype=by_column.dtype)
    assert_same(by_column.tally(cast), listed.tally(cast))


def test_a_row_whose_class_is_unknown_hits_no_column():
    rows = Rows(np.array([[0.7, 0.3], [0.4, 0.6]]))
    claims = ColumnClaims(rows, np.array([-1, 1]), ("a", "b"), np.array([0.5, 0.5]))
    assert claims.tally(np.array([0.5])).outcome.tolist() == [[0, 0], [0, 1]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_blocks_and_chunks_count_the_same_as_one(dtype):
    """More rows than a worker's chunk, more bytes than a block, rows chosen out of order."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(40, 0.1), 9000).astype(dtype)
    assert probs.nbytes > BLOCK_BYTES
    p = Predictions(probs, rng.integers(40, size=9000))
    shuffled, order = permuted(p)
    edges = np.array([0.1, 0.5, 0.9], dtype=dtype)
    expected = Tally(*(np.zeros((40, 4)) for _ in range(3)))
    for j in range(40):
        cell = np.searchsorted(edges, probs[:, j], side="right")
        expected.count[j] = np.bincount(cell, minlength=4)
        expected.score[j] = np.bincount(cell, probs[:, j].astype(float), minlength=4)
        expected.outcome[j] = np.bincount(cell, p.labels == j, minlength=4)
    for q in (p, shuffled, shuffled.take(np.argsort(order))):
        assert_same(REDUCTIONS.make("class-wise").split(q).tally(edges), expected, atol=1e-10)
    weighted = Predictions(probs, p.labels, weights=np.full(9000, 2.0))
    twice = Tally(2 * expected.count, 2 * expected.score, 2 * expected.outcome)
    assert_same(REDUCTIONS.make("class-wise").split(weighted).tally(edges), twice, atol=1e-10)


def test_counting_twice_gives_the_same_bits():
    rng = np.random.default_rng(1)
    p = Predictions(rng.dirichlet(np.full(30, 0.1), 9000).astype(np.float32), rng.integers(30, size=9000))
    claims = REDUCTIONS.make("class-wise").split(p)
    first, second = (claims.tally(np.array([0.2, 0.6], np.float32)) for _ in range(2))
    for name in ("count", "score", "outcome"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


ALL = [
    EqualWidth(15),
    Edges((0, 0.5, 1)),
    EqualMass(4),
    EqualWidth(10),
    PointsPerBin(3),
    Distinct(),
    EqualWidth(1),
    Edges((0, 0.1, 0.3, 1)),
    *(EqualWidth(b) for b in range(5, 26)),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("notion", [key for key in REDUCTIONS if key != "canonical"])
@given(predictions=full_predictions())
def test_many_schemes_at_once_are_each_alone(notion, predictions):
    predictions = asked_of(notion, predictions)
    claims = REDUCTIONS.make(notion).split(predictions)
    for scheme, together in zip(ALL, tabulate(claims, ALL), strict=True):
        alone = tabulate(claims, [scheme])[0]
        np.testing.assert_array_equal(together.lower, alone.lower)
        np.testing.assert_array_equal(together.upper, alone.upper)
        assert_same(together.tally, alone.tally)
        if predictions.weights is None:
            np.testing.assert_array_equal(together.count, alone.count)


def test_tabulate_of_nothing_is_nothing():
    claims = REDUCTIONS.make("confidence").split(Predictions([[0.7, 0.3]], [0]))
    assert tabulate(claims, []) == []


@given(predictions=full_predictions(), edges=edge_lists)
def test_a_table_leaves_empty_bins_out_and_its_frame_is_its_numbers(predictions, edges):
    inner = np.array([e for e in edges if 0 < e < 1])
    table = tabulate_at(REDUCTIONS.make("top-label").split(predictions), inner)
    frame = table.frame()
    assert (frame["count"] > 0).all()
    assert len(frame) == (table.count > 0).sum()
    assert np.isnan(table.mean_score[table.count == 0]).all()
    assert np.isnan(table.mean_outcome[table.count == 0]).all()
    np.testing.assert_allclose(frame["gap"], frame["mean_outcome"] - frame["mean_score"], atol=1e-12)
    assert frame["weight"].sum() == pytest.approx(1, abs=1e-12)
    assert frame["mean_score"].between(0, 1 + 1e-12).all()
    # The mean score of a bin is inside the bin (to the rounding of a sum).
    assert (frame["mean_score"] >= frame["lower"].astype(claims_dtype(predictions)).astype(float) - 1e-9).all()
    assert (frame["mean_score"] <= frame["upper"].astype(claims_dtype(predictions)).astype(float) + 1e-9).all()


def claims_dtype(predictions):
    return predictions.confidence.dtype


def test_whole_vectors_are_no_claims_and_who_needs_claims_says_so():
    p = Predictions([[0.7, 0.3]], [0])
    vectors = REDUCTIONS.make("canonical").split(p)
    assert vectors.strata == ("all rows",)
    assert vectors.shares.tolist() == [1.0]
    assert not {"floor", "stratum", "tally", "same_rows"} & set(dir(vectors))
    for ask in (claims_of, kernel_curve, lambda p, notion: estimate(p, notion, "smece")):
        with pytest.raises(NotAnswerable, match=r"canonical calibration .* no single score"):
            ask(p, "canonical")


def test_rows_are_read_block_by_block_in_order():
    base = np.arange(60.0).reshape(20, 3)
    for rows in (Rows(base), Rows(base, np.arange(19, -1, -1))):
        blocks = list(rows.blocks(block_bytes=5 * 3 * 8))
        assert [len(b) for _, b in blocks] == [5, 5, 5, 5]
        np.testing.assert_array_equal(np.vstack([b for _, b in blocks]), rows.array())
        np.testing.assert_array_equal(rows.part(slice(3, 9)).array(), rows.array()[3:9])
        np.testing.assert_array_equal(rows.take(np.array([4, 2])).array(), rows.array()[[4, 2]])
        np.testing.assert_array_equal(rows.column(1), rows.array()[:, 1])
    assert Rows(base).array() is base


def test_owned_copies_only_what_could_be_written_to():
    a = np.zeros(3)
    assert not np.shares_memory(owned(a), a)
    a.setflags(write=False)
    assert owned(a) is a


def test_the_floor_of_the_logarithm_is_the_eps_of_float64():
    np.testing.assert_allclose(safe_log([0.0, 1e-300, 0.5, 1.0]), [np.log(2.0**-52)] * 2 + [np.log(0.5), 0.0])
