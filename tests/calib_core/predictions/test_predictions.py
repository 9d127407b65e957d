"""Predictions: the only place where probabilities and labels are checked, with every message."""

import numpy as np
import pandas as pd
import pytest
from generated import full_predictions
from hypothesis import given
from hypothesis import strategies as st

from calib_core import InputError, Logits, NotAnswerable, Predictions
from calib_core._base import errors
from calib_core.predictions import predictions, validation
from calib_core.predictions.predictions import split_rows
from tests.support.sentences import matches

GOOD = [[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]


def message(make):
    with pytest.raises(InputError) as why:
        make()
    return str(why.value)


# ---- exact messages of refusals ----------------------------------------------------------------------------

PROBS = {
    "logits": (
        [[0.5, 0.5], [2.0, -1.0]],
        "probs row 1, column 1: -1 is negative or not a number (are these logits? then use from_logits); "
        "1 of 2 rows affected, first rows 1",
    ),
    "not a number": (
        [[np.nan, 0.5]] * 7,
        "probs row 0, column 0: nan is negative or not a number (are these logits? then use from_logits); "
        "7 of 7 rows affected, first rows 0, 1, 2, 3, 4, ...",
    ),
    "infinite": (
        [[0.5, 0.5], [np.inf, 0]],
        "probs row 1, column 0: inf is negative or not a number (are these logits? then use from_logits); "
        "1 of 2 rows affected, first rows 1",
    ),
    "sums far off": (
        [[0.5, 0.5], [0.9, 0.41]],
        "probs row 1 sums to 1.31; rows must sum to 1 within 0.01 *1 of 2 rows*first rows 1*from_logits",
    ),
    "percentages": (
        [[50, 50]],
        "probs row 0 sums to 100; rows must sum to 1 within 0.05 *1 of 1 rows*first rows 0*from_logits",
    ),
    "a row of zeros": (
        [[0.0, 0.0]],
        "probs row 0 sums to 0; rows must sum to 1 within 0.05 *1 of 1 rows*first rows 0*from_logits",
    ),
    "one dimension": (
        [0.5, 0.5],
        "probs has one dimension*np.column_stack([1 - p, p])",
    ),
    "three dimensions": ([[[0.5, 0.5]]], "probs has 3 dimensions*(n, K)"),
    "no rows": (np.empty((0, 2)), "probs has no rows*"),
    "one class": ([[1.0]], "probs has 1 column(s)*two classes*"),
    "text": ([["a", "b"]], "probs has dtype <U1*real numbers"),
    "complex": ([[0.5 + 0j, 0.5]], "probs has dtype complex128*real numbers"),
    "objects": (np.array([[0.5, None]], object), "probs has dtype object*real numbers"),
}


@pytest.mark.parametrize("what", PROBS)
def test_probabilities_that_are_refused(what):
    probs, expected = PROBS[what]
    n = len(np.asarray(probs, dtype=object)) if what != "one dimension" else 2
    assert matches(message(lambda: Predictions(probs, np.zeros(n, int))), expected)


LABELS = {
    "one-hot": (
        [[1, 0], [0, 1], [1, 0]],
        "labels has 2 dimensions*argmax(1)*",
    ),
    "too few": ([0, 1], "2 labels for 3 rows*"),
    "unknown name": (
        ["0", "cow", "cow"],
        "labels row 1 is 'cow', which is not a class name; 2 of 3 rows affected; the classes are 0, 1",
    ),
    "counted from 1": (
        [1, 2, 2],
        "labels row 1 is 2; * 0..1 (*from 1*); 2 of 3 rows affected",
    ),
    "too large": ([0, 7, 1], "labels row 1 is 7; * 0..1; 1 of 3 rows affected"),
    "negative": ([0, -1, 1], "labels row 1 is -1; * 0..1; 1 of 3 rows affected"),
    "fractions": ([0, 0.5, 1], "labels row 1 is 0.5; *0..K-1 or class names"),
    "missing": ([0, np.nan, 1], "labels row 1 is nan; *0..K-1 or class names"),
    "complex": ([0j, 0j, 0j], "labels has dtype complex128; *0..K-1 or class names"),
}


@pytest.mark.parametrize("what", LABELS)
def test_labels_that_are_refused(what):
    labels, expected = LABELS[what]
    assert matches(message(lambda: Predictions(GOOD, labels)), expected)


SUMMABLE = "weights other than 0 must be between 1e-75 and 1e+75*common factor"
OTHERS = {
    "too few names": (
        lambda: Predictions(GOOD, [0, 0, 0], class_names=["a"]),
        "1 class names for 2 columns of probs*",
    ),
    "a name twice": (
        lambda: Predictions(GOOD, [0, 0, 0], class_names=["a", "a"]),
        "class name 'a' occurs twice*",
    ),
    "weights of another length": (
        lambda: Predictions(GOOD, [0, 0, 0], weights=[1, 2]),
        "weights has shape (2,) *(3,)*",
    ),
    "a negative weight": (
        lambda: Predictions(GOOD, [0, 0, 0], weights=[1, -2, 1]),
        "weights row 1 is -2.0; *finite and not negative",
    ),
    "a missing weight": (
        lambda: Predictions(GOOD, [0, 0, 0], weights=[1, np.nan, 1]),
        "weights row 1 is nan; *finite and not negative",
    ),
    "weights whose squares are no numbers": (
        lambda: Predictions(GOOD, [0, 0, 0], weights=[1, 1e305, 1]),
        "weights row 1 is 1e+305; " + SUMMABLE,
    ),
    "weights whose ratios are no numbers": (
        lambda: Predictions(GOOD, [0, 0, 0], weights=[1, 0, 1e-300]),
        "weights row 2 is 1e-300; " + SUMMABLE,
    ),
    "subnormal weights": (
        lambda: Predictions(GOOD, [0, 0, 0], weights=[5e-324] * 3),
        "weights row 0 is 4.94066e-324; " + SUMMABLE,
    ),
    "no weight at all": (
        lambda: Predictions(GOOD, [0, 0, 0], weights=[0, 0, 0]),
        "all weights are 0*",
    ),
    "weights in words": (
        lambda: Predictions(GOOD, [0, 0, 0], weights=["a", "b", "c"]),
        "weights has dtype <U1*real numbers",
    ),
    "metadata of another length": (
        lambda: Predictions(GOOD, [0, 0, 0], metadata=pd.DataFrame({"a": [1]})),
        "metadata has 1 rows, *3*",
    ),
    "logits of another shape": (
        lambda: Predictions(GOOD, [0, 0, 0], logits=[[0.0, 0, 0]] * 3),
        "logits has shape (3, 3), *(3, 2)*",
    ),
    "logits of plus infinity": (
        lambda: Logits([[0.0, 1.0], [np.inf, 0.0]]),
        "logits row 1, column 0: inf is not a finite number (-inf is allowed, as 'impossible'); "
        "1 of 2 rows affected, first rows 1",
    ),
    "logits that are missing beside a negative one": (
        lambda: Logits([[-1.0, np.nan]]),
        "logits row 0, column 1: nan is not a finite number (-inf is allowed, as 'impossible'); "
        "1 of 1 rows affected, first rows 0",
    ),
    "logits of nothing possible": (
        lambda: Logits([[-np.inf, -np.inf]]),
        "logits row 0, column 0: -inf for every class; *possible; 1 of 1 rows affected, first rows 0",
    ),
    "scores above one": (
        lambda: Predictions.from_scores([[0.5, 1.5]], [0]),
        "scores row 0, column 1: 1.5 is outside [0, 1]; 1 of 1 rows affected, first rows 0",
    ),
    "confidence below zero": (
        lambda: Predictions.from_confidence([0.5, -0.1], [True, True]),
        "confidence row 1, column 0: -0.1 is outside [0, 1]; 1 of 2 rows affected, first rows 1",
    ),
    "no confidence": (
        lambda: Predictions.from_confidence([], []),
        "confidence has no rows*",
    ),
    "neither correct nor classes": (
        lambda: Predictions.from_confidence([0.5]),
        "give either correct=, or both predicted= and labels=",
    ),
    "both correct and classes": (
        lambda: Predictions.from_confidence([0.5], [1], predicted=[0], labels=[0]),
        "give either correct=, or both predicted= and labels=",
    ),
    "labels without predicted": (
        lambda: Predictions.from_confidence([0.5], labels=[0]),
        "give either correct=, or both predicted= and labels=",
    ),
    "correct of another length": (
        lambda: Predictions.from_confidence([0.5, 0.6], [1]),
        "correct has shape (1,) *(2,)*",
    ),
    "correct with a missing value": (
        lambda: Predictions.from_confidence([0.5, 0.6], [1, np.nan]),
        "correct must *True/False or 1/0, *",
    ),
    "a share of everything": (
        lambda: Predictions(GOOD, [0, 1, 1]).split(1.0),
        "share is 1.0; *between 0 and 1*",
    ),
    "a part of nothing": (
        lambda: Predictions(GOOD[:1], [0]).split(0.5),
        "1 row cannot be split with share 0.5*",
    ),
    "a mask to take": (
        lambda: Predictions(GOOD, [0, 1, 1]).take([True, False, True]),
        "take needs the positions of at least one row; for a mask pass np.flatnonzero(mask)",
    ),
    "nothing to take": (
        lambda: Predictions(GOOD, [0, 1, 1]).take([]),
        "take needs the positions of at least one row; for a mask pass np.flatnonzero(mask)",
    ),
    "rows without weight to take": (
        lambda: Predictions(GOOD, [0, 1, 1], weights=[0, 1, 1]).take([0]),
        "all weights are 0*",
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_other_things_that_are_refused(what):
    make, expected = OTHERS[what]
    assert matches(message(make), expected)


def test_user_text_in_messages_is_cut():
    long = "x" * 500
    assert "x" * 81 not in message(lambda: Predictions(GOOD, [long, "0", "0"]))
    assert "x" * 81 not in message(lambda: Predictions(GOOD, [0, 0, 0], class_names=[long, long]))


# ---- answers by kind ---------------------------------------------------------------------------------------


def test_what_a_kind_does_not_know_it_says():
    bare = Predictions.from_confidence([0.9, 0.6], [True, False])
    top = Predictions.from_confidence([0.9, 0.6], predicted=[0, 1], labels=[0, 0])
    for ask, expected in (
        (
            lambda: bare.predicted,
            "these predictions have only (confidence, correct), so predicted classes are unknown. *add columns*label*",
        ),
        (
            lambda: bare.true_labels,
            "these predictions have only (confidence, correct), so labels are unknown",
        ),
        (
            lambda: bare.probs,
            "these predictions have only (confidence, correct), *probabilities*",
        ),
        (
            lambda: top.rows,
            "these predictions have only the predicted class and its confidence, *probabilities*",
        ),
        (lambda: top.top(2), "these predictions have only the 1 largest classes, not 2"),
        (lambda: Predictions(GOOD, [0, 0, 0]).top(3), "k = 3 is larger *2"),
        (
            lambda: bare.top(1),
            "these predictions have only (confidence, correct), so predicted classes are unknown*",
        ),
    ):
        with pytest.raises(NotAnswerable) as why:
            ask()
        assert matches(str(why.value), expected)


def test_three_kinds():
    full = Predictions(GOOD, [0, 0, 1])
    top = Predictions.from_confidence([0.9, 0.6], predicted=["cat", "dog"], labels=["cat", "cat"])
    bare = Predictions.from_confidence([0.9, 0.6], [1, 0])
    assert (full.kind, top.kind, bare.kind) == ("full", "top-label", "confidence")
    assert (full.n_classes, top.n_classes, bare.n_classes) == (2, 2, None)
    assert full.predicted.tolist() == [0, 1, 0], "the lowest index on a tie"
    assert top.class_names == ("cat", "dog")
    assert top.correct.tolist() == [True, False] == bare.correct.tolist()
    assert bare.accuracy == 0.5
    assert repr(full) == "Predictions(full, 3 rows, 2 classes, accuracy 0.3333)"
    assert repr(bare) == "Predictions(confidence, 2 rows, accuracy 0.5000)"


def test_names_and_codes_are_the_same_labels():
    by_name = Predictions(GOOD, ["dog", "cat", "dog"], class_names=["cat", "dog"])
    assert by_name.labels.tolist() == [1, 0, 1]
    for labels in ([1, 0, 1], [1.0, 0.0, 1.0], [True, False, True], np.array([1, 0, 1], np.uint8)):
        assert Predictions(GOOD, labels).labels.tolist() == [1, 0, 1]
    assert Predictions(GOOD, np.array(["1", "0", "1"], object)).labels.tolist() == [1, 0, 1]
    assert Predictions(GOOD, pd.Series(["dog", "cat", "dog"]), class_names=["cat", "dog"]).labels.tolist() == [1, 0, 1]


def test_weights_that_are_no_counts_have_mean_1_over_the_rows_that_carry_any():
    p = Predictions(GOOD, [0, 0, 0], weights=[0.1, 0, 0.2])
    assert p.weights.tolist() == pytest.approx([2 / 3, 0, 4 / 3])
    assert p.notes == (
        "the weights are not numbers of copies, so they were rescaled to mean 1; "
        "the effective sample size of 3 rows is 1.8",
    )
    assert p.effective_rows == pytest.approx(1.8)
    assert p.with_probs(p.probs).notes == ()  # nothing is done twice
    np.testing.assert_array_equal(p.with_probs(p.probs).weights, p.weights)
    kept = Predictions(GOOD, [0, 0, 0], weights=[0.5, 1.5, 1.0])
    assert (kept.weights.tolist(), kept.notes) == ([0.5, 1.5, 1.0], ())
    assert Predictions(GOOD, [0, 0, 0], weights=[1e-70, 3e-70, 2e-70]).weights.tolist() == pytest.approx([0.5, 1.5, 1])


@pytest.mark.parametrize("given", [[1e-75, 1e75, 1e75], [1e75, 1e75, 1e75], [1e-75, 2e-75, 0.0]])
def test_the_most_extreme_weights_that_are_taken_can_be_added_and_squared(given):
    p = Predictions(GOOD, [0, 1, 1], weights=given)
    squares = np.square(p.weights / p.weights.sum())
    assert np.isfinite(p.weights.sum())
    assert (squares[np.array(given) > 0] > np.finfo(float).tiny).all()
    assert 1 <= p.effective_rows <= 3


def test_copies_stay_as_they_are_until_they_are_too_many_to_be_copies():
    counts = Predictions(GOOD, [0, 0, 0], weights=[2, 0, 5])
    assert (counts.weights.tolist(), counts.notes, counts.effective_rows) == ([2, 0, 5], (), 7)
    many = Predictions(GOOD, [0, 0, 0], weights=[1e8, 2e8, 0])
    assert many.weights.tolist() == pytest.approx([2 / 3, 4 / 3, 0])
    assert many.effective_rows == pytest.approx(1.8)
    assert many.notes[0].startswith("the weights sum to more than 20,000,000 copies")
    assert many.written_out() is many
    alike = Predictions(GOOD, [0, 0, 0], weights=[1e8, 1e8, 1e8])
    assert (alike.weights.tolist(), alike.effective_rows) == ([1, 1, 1], 3)


def test_chosen_rows_do_not_become_copies_by_being_chosen():
    p = Predictions(np.repeat(GOOD[:1], 5, axis=0), [0] * 5, weights=[0.5, 1, 2, 1, 0.5])
    part = p.take([1, 2])
    assert part.weights.tolist() == pytest.approx([2 / 3, 4 / 3])
    assert part.effective_rows == pytest.approx(1.8)
    assert part.written_out() is part


def test_weighted_accuracy():
    assert Predictions(GOOD, [0, 0, 0], weights=[1, 2, 1]).accuracy == 0.5


def test_logits_are_kept_and_shift_does_not_matter():
    z = np.array([[1.0, 2.0, -np.inf], [1000.0, 1001.0, 999.0]])
    p = Predictions.from_logits(z, [1, 1])
    np.testing.assert_allclose(p.probs[0], [1 / (1 + np.e), np.e / (1 + np.e), 0], rtol=1e-15)
    np.testing.assert_array_equal(p.logits.array(), z)
    np.testing.assert_allclose(Predictions.from_logits(z + 5, [1, 1]).probs, p.probs, rtol=1e-12)
    assert Predictions.from_logits(z.astype(np.float32), [1, 1]).probs.dtype == np.float32


# ---- row sums ----------------------------------------------------------------------------------------------


def test_rows_within_float32_rounding_are_kept_as_they_are():
    probs = np.array([[0.7, 0.3], [0.2, 0.8 - 5e-7]])
    p = Predictions(probs, [0, 1])
    np.testing.assert_array_equal(p.probs, probs)
    assert p.notes == ()


def test_rows_slightly_off_are_rescaled_with_a_note():
    probs = np.array([[0.7, 0.3], [0.2, 0.8005], [0.5, 0.5]])
    p = Predictions(probs, [0, 1, 1])
    np.testing.assert_allclose(p.probs[1], [0.2 / 1.0005, 0.8005 / 1.0005], rtol=1e-15)
    np.testing.assert_array_equal(p.probs[[0, 2]], probs[[0, 2]])
    assert p.confidence[1] == p.probs[1, 1]
    assert p.notes == ("1 of 3 rows did not sum to 1 (off by at most 0.0005) and were rescaled",)


def test_rows_off_by_what_rounding_explains_are_rescaled_with_a_warning():
    p = Predictions([[0.33, 0.33, 0.33], [0.5, 0.25, 0.25]], [0, 1])
    np.testing.assert_allclose(p.probs[0], 1 / 3, rtol=1e-15)
    (note,) = p.notes
    assert matches(note, "Warning: 1 of 2 rows did not sum to 1, by up to 0.01, *2 decimals*rescaled*")


def test_more_than_rounding_explains_is_an_error():
    # Three classes, two decimals: at most 3/2 * 0.01 = 0.015. Unrounded values explain nothing beyond 0.001.
    assert "rows must sum to 1 within 0.015" in message(lambda: Predictions([[0.33, 0.33, 0.32]], [0]))
    assert "rows must sum to 1 within 0.001" in message(lambda: Predictions([[1 / 3, 1 / 3, 0.33]], [0]))


def test_a_confidence_above_one_by_rounding_is_brought_back():
    p = Predictions(np.array([[1 + 1e-7, 0.0]], dtype=np.float32), [0])
    assert p.confidence[0] == 1.0


@given(predictions=full_predictions(), k=st.integers(1, 3))
def test_a_rescaled_row_does_not_depend_on_its_batch(predictions, k):
    probs = np.round(predictions.probs.astype(float), 4)
    probs[:, 0] += np.round(1 - probs.sum(1), 4) + 0.0001 * k
    if (probs < 0).any() or (probs > 1).any():
        return
    whole = Predictions(probs, np.zeros(len(probs), dtype=int)).probs
    for i in range(len(probs)):
        np.testing.assert_array_equal(Predictions(probs[i : i + 1], [0]).probs[0], whole[i])


# ---- memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_read_only_arrays_are_taken_without_a_copy(dtype):
    probs = np.array(GOOD, dtype=dtype)
    probs.setflags(write=False)
    p = Predictions(probs, [0, 1, 1])
    assert np.shares_memory(p.probs, probs)
    assert p.probs is probs


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_writeable_arrays_are_copied_so_that_later_writes_change_nothing(dtype):
    probs, labels, weights = np.array(GOOD, dtype=dtype), np.array([0, 1, 1]), np.ones(3)
    metadata = pd.DataFrame({"a": [1, 2, 3]})
    p = Predictions(probs, labels, weights=weights, metadata=metadata)
    assert not np.shares_memory(p.probs, probs)
    probs[:], labels[:], weights[:] = 0, 0, 7
    np.testing.assert_array_equal(p.probs, np.array(GOOD, dtype=dtype))
    assert p.labels.tolist() == [0, 1, 1]
    assert p.weights.tolist() == [1, 1, 1]
    assert p.probs.dtype == dtype


@given(predictions=full_predictions())
def test_everything_held_is_read_only(predictions):
    p = predictions.take(np.arange(predictions.n_rows))
    for q in (predictions, p):
        for array in (q.probs, q.labels, q.confidence, q.predicted, q.correct, *q.top(2)):
            assert not array.flags.writeable


@pytest.mark.parametrize(
    ("given_", "held"),
    [(np.float16, np.float32), (">f4", np.float32), (">f8", np.float64), (np.int64, np.float64), (bool, np.float64)],
)
def test_other_number_types_are_converted(given_, held):
    p = Predictions(np.array([[1, 0], [0, 1]]).astype(given_), [0, 1])
    assert p.probs.dtype == held
    assert p.probs.tolist() == [[1, 0], [0, 1]]


def test_memory_order_does_not_matter():
    probs = np.asfortranarray(np.random.default_rng(0).dirichlet(np.ones(4), 30))
    a, b = Predictions(probs, np.zeros(30, int)), Predictions(np.ascontiguousarray(probs), np.zeros(30, int))
    np.testing.assert_array_equal(a.top(3)[0], b.top(3)[0])
    np.testing.assert_array_equal(a.confidence, b.confidence)


@pytest.mark.parametrize("writeable", [True, False])
def test_rescaling_happens_in_a_copy(writeable):
    probs = np.array([[0.7, 0.3005], [0.5, 0.5]])
    probs.setflags(write=writeable)
    p = Predictions(probs, [0, 1])
    assert probs.tolist() == [[0.7, 0.3005], [0.5, 0.5]]
    assert not np.shares_memory(p.probs, probs)
    assert probs.flags.writeable == writeable


# ---- ranking and choosing rows -----------------------------------------------------------------------------


@given(predictions=full_predictions(), k=st.integers(1, 6))
def test_top_k_is_the_sorted_row_with_the_lowest_index_first_on_a_tie(predictions, k):
    k = min(k, predictions.n_classes)
    classes, probs = predictions.top(k)
    for i, row in enumerate(predictions.probs.tolist()):
        order = sorted(range(len(row)), key=lambda c: (-row[c], c))[:k]
        assert classes[i].tolist() == order
        assert probs[i].tolist() == [row[c] for c in order]
    np.testing.assert_array_equal(predictions.predicted, classes[:, 0])
    assert predictions.n_ranked == k, "ranked once, kept"


def test_chosen_rows_share_the_matrix():
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    probs.setflags(write=False)
    metadata = pd.DataFrame({"id": np.arange(20)})
    p = Predictions(probs, np.arange(20) % 3, weights=np.arange(20.0), metadata=metadata)
    part = p.take([3, 5, 8]).take([2, 0])
    assert np.shares_memory(part.rows.base, probs)
    np.testing.assert_array_equal(part.probs, probs[[8, 3]])
    assert part.labels.tolist() == [2, 0]
    assert part.weights.tolist() == [8, 3]
    assert part.metadata["id"].tolist() == [8, 3]
    np.testing.assert_array_equal(part.rows.column(1), probs[[8, 3], 1])
    np.testing.assert_array_equal(part.top(2)[1], p.top(2)[1][[8, 3]])


@given(predictions=full_predictions(min_rows=8, weighted=False), share=st.floats(0.2, 0.8), seed=st.integers(0, 99))
def test_a_split_is_seeded_complete_and_within_one_row_of_the_share_in_every_class(predictions, share, seed):
    first = split_rows(predictions.labels, share, seed)
    np.testing.assert_array_equal(first, split_rows(predictions.labels, share, seed))
    for label in np.unique(predictions.labels):
        mine = predictions.labels == label
        assert abs(first[mine].sum() - share * mine.sum()) <= 1
    assert abs(first.sum() - share * len(first)) <= 1
    fit, test = predictions.split(share, random_state=seed)
    np.testing.assert_array_equal(fit.probs, predictions.probs[first])
    np.testing.assert_array_equal(test.probs, predictions.probs[~first])
    assert np.shares_memory(fit.rows.base, test.rows.base)


def test_another_seed_is_another_split():
    p = Predictions(np.tile(GOOD, (20, 1)), np.arange(60) % 2)
    assert (split_rows(p.labels, 0.5, 0) != split_rows(p.labels, 0.5, 1)).any()


def test_bare_confidence_is_split_by_correctness():
    p = Predictions.from_confidence(np.linspace(0, 1, 40), np.arange(40) % 4 == 0)
    fit, test = p.split(0.5)
    assert fit.correct.sum() == test.correct.sum() == 5


# ---- locations ---------------------------------------------------------------------------------------------


def test_checks_and_errors_are_found_where_they_always_were():
    for name in (
        "check_weights",
        "effective_rows",
        "whole",
        "KEPT",
        "RESCALED",
        "ROUNDING_CAP",
        "MOST_COPIES",
        "WEIGHTS",
    ):
        assert getattr(predictions, name) is getattr(validation, name)
    assert predictions.InputError is InputError is errors.InputError
    assert predictions.NotAnswerable is NotAnswerable is errors.NotAnswerable


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [2, 3, 31, 32, 33, 100])
def test_the_predicted_class_is_the_first_largest_column_for_few_and_for_many_classes(k, dtype):
    rng = np.random.default_rng(k)
    probs = rng.integers(1, 4, (500, k)).astype(np.float64)  # many ties
    probs = (probs / probs.sum(axis=1, keepdims=True)).astype(dtype)
    made = Predictions(probs, np.zeros(500, dtype=int))
    expected = [max(range(k), key=lambda j: (row[j], -j)) for row in probs.tolist()]
    assert made.predicted.tolist() == expected
    assert made.confidence.tolist() == [max(row) for row in probs.tolist()]
    assert made.predicted.dtype == np.intp
    assert made.confidence.dtype == dtype
