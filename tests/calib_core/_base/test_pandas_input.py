"""Predictions from pandas: columns are classes, labels have their own values, and rows are never aligned silently."""

import numpy as np
import pandas as pd
import pytest
from generated import ordinary_rows

from calib_core import CALIBRATORS, InputError, Logits, Predictions

NAMES = ("cat", "dog", "cow")
PROBS, LABELS = ordinary_rows(40, 3)
INDEX = [f"row {i}" for i in range(40)]
NAMED = np.array(NAMES, dtype=object)[LABELS]


def frame(columns=NAMES, dtype=None, index=None):
    made = pd.DataFrame(PROBS.copy(), columns=columns, index=index)
    return made if dtype is None else made.astype(dtype)


def message(make):
    with pytest.raises(InputError) as why:
        make()
    assert "\n" not in str(why.value)
    return str(why.value)


def assert_same(found, expected):
    assert found.class_names == expected.class_names
    np.testing.assert_array_equal(found.probs, expected.probs)
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.probs.dtype == expected.probs.dtype


PLAIN = Predictions(PROBS, LABELS, class_names=NAMES)


# ---- valid labels ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        LABELS.tolist(),
        NAMED,
        pd.Series(LABELS),
        pd.Series(LABELS, dtype="Int64"),
        pd.Series(LABELS, dtype="UInt8"),
        pd.Series(LABELS.astype(float)),
        pd.Series(NAMED),
        pd.Series(NAMED, dtype="string"),
        pd.Series(NAMED, dtype="category"),
        # Sorted categories: their codes are not the classes'.
        pd.Categorical(NAMED, categories=["cow", "cat", "dog"]),
        pd.Categorical(LABELS, categories=[2, 0, 1]),
        pd.Index(NAMED),
        pd.array(LABELS, dtype="Int32"),
        pd.Series(LABELS, dtype="int64[pyarrow]"),
        pd.Series(NAMED, dtype="string[pyarrow]"),
    ],
)
def test_labels_are_what_they_say(labels):
    assert_same(Predictions(frame(), labels), PLAIN)
    assert_same(Predictions(PROBS, labels, class_names=NAMES), PLAIN)
    assert_same(Predictions.from_logits(pd.DataFrame(np.log(PROBS), columns=NAMES), labels), softmaxed())


def softmaxed():
    return Predictions.from_logits(np.log(PROBS), LABELS, class_names=NAMES)


@pytest.mark.parametrize("dtype", ["float64", "float32", "Float64", "Float32", "double[pyarrow]", "float[pyarrow]"])
def test_frames_of_any_numbers(dtype):
    small = "32" in dtype or dtype == "float[pyarrow]"
    expected = Predictions(PROBS.astype(np.float32 if small else np.float64), LABELS, class_names=NAMES)
    assert_same(Predictions(frame(dtype=dtype), LABELS), expected)


def test_columns_of_numbers_only_are_numbered_classes():
    assert Predictions(pd.DataFrame(PROBS), LABELS).class_names == ("0", "1", "2")
    assert_same(Predictions(pd.DataFrame(PROBS), LABELS, class_names=NAMES), PLAIN)


@pytest.mark.parametrize("columns", [[1, 2, 3], [2, 0, 1], ["10", "20", "30"], [1.0, 2.0, 3.0], [-1, 0, 1]])
@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64", "category"])
def test_where_columns_are_numbers_so_are_names_of_labels(columns, dtype):
    """As in a scikit-learn model's ``classes_``, the label 1 is the column 1, not the second one."""
    labels = pd.Series(np.array(columns).astype(int)[LABELS]).astype(dtype)
    made = Predictions(frame(columns), labels)
    np.testing.assert_array_equal(made.labels, LABELS)
    assert "is '7', which is not a class name" in message(lambda: Predictions(frame(columns), [7] * 40))


def test_true_and_false_are_names_where_columns_are():
    two = pd.DataFrame({True: [0.9, 0.2], False: [0.1, 0.8]})
    for labels in ([True, False], [1, 0], pd.Series([True, False], dtype="boolean")):
        assert Predictions(two, labels).labels.tolist() == [0, 1]


def test_scores_confidences_and_weights_may_be_series():
    assert_same(Predictions.from_scores(frame(), NAMED), Predictions.from_scores(PROBS, LABELS, class_names=NAMES))
    one = Predictions.from_confidence(
        pd.Series(PLAIN.confidence, dtype="Float64"),
        pd.Series(PLAIN.correct, dtype="boolean"),
        weights=pd.Series(np.arange(40), dtype="Int64"),
    )
    np.testing.assert_array_equal(one.confidence, PLAIN.confidence)
    np.testing.assert_array_equal(one.correct, PLAIN.correct)
    np.testing.assert_array_equal(one.weights, np.arange(40))
    ranked = Predictions.from_confidence(
        pd.Series(PLAIN.confidence),
        predicted=pd.Series(np.array(NAMES)[PLAIN.predicted], dtype="category"),
        labels=pd.Series(NAMED, dtype="string"),
        class_names=NAMES,
    )
    np.testing.assert_array_equal(ranked.predicted, PLAIN.predicted)
    np.testing.assert_array_equal(ranked.labels, LABELS)


@pytest.mark.parametrize("columns", [NAMES, [1, 2, 3], range(3)])
def test_calibrators_take_the_frames_that_predictions_take(columns):
    labels = pd.Series(np.array(columns, dtype=object)[LABELS])
    fitted = CALIBRATORS.make("temperature").fit(frame(columns), labels.infer_objects())
    expected = CALIBRATORS.make("temperature").fit(PROBS, LABELS)
    np.testing.assert_array_equal(fitted.predict_proba(frame(columns)), expected.predict_proba(PROBS))
    assert fitted.score(frame(columns), labels.infer_objects()) == expected.score(PROBS, LABELS)


# ---- differences from pandas -------------------------------------------------------------------------------


def test_a_frame_that_changes_later_changes_nothing():
    probs, weights, scores = frame(), pd.Series(np.ones(40) * 2), pd.Series(PLAIN.confidence.copy())
    made = Predictions(probs, LABELS, weights=weights)
    bare = Predictions.from_confidence(scores, PLAIN.correct)
    probs.iloc[:, :], weights.iloc[:], scores.iloc[:] = 0.0, 0.0, 0.0
    assert_same(made, PLAIN)
    assert (made.weights == 2).all()
    np.testing.assert_array_equal(bare.confidence, PLAIN.confidence)
    assert made.probs.flags.c_contiguous
    assert not made.probs.flags.writeable


# ---- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["labels", "weights", "metadata", "logits", "abstained"])
@pytest.mark.parametrize("order", ["other names", "another order"])
def test_rows_of_another_index_are_refused(what, order):
    index = INDEX[::-1] if order == "another order" else range(40)
    given = {
        "labels": pd.Series(LABELS, index),
        "weights": pd.Series(1.0, index),
        "metadata": pd.DataFrame({"place": range(40)}, index),
        "logits": pd.DataFrame(np.log(PROBS), index, NAMES),
        "abstained": pd.Series(False, index),
    }
    others = {"labels": LABELS} | {what: given[what]}
    said = message(lambda: Predictions(frame(index=INDEX), **others))
    assert said == (
        f"probs and {what} have different indexes: row 0 is 'row 0' in probs and {index[0]!r} in {what}. Align them by "
        f"name ({what}.loc[probs.index]) or by position (reset_index(drop=True) of both)"
    )
    alike = {name: one.set_axis(INDEX) for name, one in {what: given[what]}.items()}
    assert_same(Predictions(frame(index=INDEX), **({"labels": LABELS} | alike)), PLAIN)


def test_rows_of_other_makers_are_compared_too():
    label = pd.Series(LABELS, INDEX)
    for make in (
        lambda: Predictions.from_logits(frame(), label),
        lambda: Predictions.from_scores(frame(), label),
        lambda: Predictions.from_confidence(pd.Series(PLAIN.confidence), pd.Series(PLAIN.correct, INDEX)),
        lambda: Predictions(PROBS, label, weights=pd.Series(np.ones(40))),
    ):
        assert "have different indexes" in message(make)
    assert message(lambda: Predictions(frame(), label[:3])) == "3 labels for 40 rows of predictions; give one per row"


REFUSED = {
    "columns in another order than the names": (
        lambda: Predictions(frame(), LABELS, class_names=["dog", "cat", "cow"]),
        "column 0 of probs is 'cat', but the class there is 'dog', which is column 1. Put the columns in the order of "
        "the classes (probs[class_names])",
    ),
    "logits in another order": (
        lambda: Predictions(frame(), LABELS, logits=pd.DataFrame(np.log(PROBS), columns=["dog", "cat", "cow"])),
        "column 0 of logits is 'dog', but the class there is 'cat', which is column 1. Put the columns in the order "
        "of the classes (logits[class_names])",
    ),
    "new probabilities in another order": (
        lambda: PLAIN.with_probs(frame(["cow", "dog", "cat"])),
        "column 0 of probs is 'cow', but the class there is 'cat', which is column 2. Put the columns in the order of "
        "the classes (probs[class_names])",
    ),
    "a column twice": (
        lambda: Predictions(frame(["cat", "dog", "cat"]), LABELS),
        "class name 'cat' occurs twice; all names must differ",
    ),
    "text among the columns": (
        lambda: Predictions(frame().assign(label=NAMED), LABELS),
        "probs column 'label' has dtype object, not real numbers; give only the columns of the classes",
    ),
    "a label that is missing": (
        lambda: Predictions(frame(), pd.Series([*NAMED[:-1], None])),
        "labels row 39 is missing; every row needs one; 1 of 40 rows affected, first rows 39",
    ),
    "a category that is missing": (
        lambda: Predictions(frame(), pd.Categorical([None, *NAMED[1:]])),
        "labels row 0 is missing; every row needs one; 1 of 40 rows affected, first rows 0",
    ),
    "a number that is missing": (
        lambda: Predictions(frame(dtype="Float64").mask(np.eye(40, 3, dtype=bool)), LABELS),
        "probs row 0, column 0: nan is negative or not a number (are these logits? then use from_logits); 3 of 40 rows "
        "affected, first rows 0, 1, 2",
    ),
    "logits without probabilities": (
        lambda: PLAIN.replace(logits=np.log(PROBS)),
        "logits and abstained belong to other probabilities; also give probs=",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_and_in_which_words(what):
    make, expected = REFUSED[what]
    assert message(make).replace("dtype str,", "dtype object,") == expected


# ---- replace -----------------------------------------------------------------------------------------------


def test_replace_is_making_anew_with_the_rest_kept():
    whole = Predictions(
        PROBS, LABELS, class_names=NAMES, weights=np.arange(40), metadata=pd.DataFrame({"place": range(40)})
    )
    other = np.roll(PROBS, 1, axis=1)
    for changes in (
        {"probs": other},
        {"probs": pd.DataFrame(other, columns=NAMES, index=INDEX), "logits": Logits(np.log(other))},
        {"labels": LABELS[::-1]},
        {"labels": pd.Series(NAMED[::-1], INDEX)},
        {"class_names": ["a", "b", "c"]},
        {"weights": None},
        {"weights": np.linspace(0.1, 3, 40)},
        {"metadata": None},
        {"metadata": pd.DataFrame({"town": range(40)}, INDEX)},
        {"probs": other, "abstained": np.arange(40) < 5, "weights": None},
    ):
        parts = {"probs": PROBS, "labels": LABELS, "class_names": NAMES, "weights": whole.weights}
        anew = {**parts, "metadata": whole.metadata, **changes}
        anew["probs"], anew["labels"] = np.asarray(anew["probs"]), np.asarray(anew["labels"])
        found, expected = whole.replace(**changes), Predictions(anew.pop("probs"), anew.pop("labels"), **anew)
        assert_same(found, expected)
        np.testing.assert_array_equal(found.correct, expected.correct)
        assert found.notes == expected.notes
        for part in ("weights", "abstained"):
            np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))
        assert (found.metadata is None) == (expected.metadata is None)
        if found.metadata is not None:
            pd.testing.assert_frame_equal(found.metadata, expected.metadata)
        assert (found.logits is None) == (expected.logits is None)


def test_what_belonged_to_the_old_probabilities_goes_with_them():
    old = Predictions.from_logits(np.log(PROBS), LABELS).as_discrete()
    assert old.replace(labels=LABELS[::-1]).logits is not None
    assert old.replace(labels=LABELS[::-1]).discrete
    new = old.replace(probs=PROBS)
    assert (new.logits, new.discrete, new.notes) == (None, False, ())
    assert old.replace(probs=PROBS, discrete=True).discrete
    assert old.labels is not None
    np.testing.assert_array_equal(old.labels, LABELS)
