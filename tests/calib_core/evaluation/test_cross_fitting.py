"""Cross-fitted predictions equal those of maps fitted on the other folds, row by row."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_core import CALIBRATORS, InputError, NotAnswerable, Predictions, cross_fitted
from calib_core.evaluation.cross_fitting import over_folds

RNG = np.random.default_rng(5)
N, K = 240, 3
Z = RNG.normal(size=(N, K)) * 2
Y = (Z + RNG.gumbel(size=(N, K))).argmax(axis=1)
EXTRAS = {
    "weights": RNG.uniform(0.5, 2.0, size=N),
    "metadata": pd.DataFrame({"row": np.arange(N)}),
    "groups": np.arange(N) // 4,
}
FULL = Predictions.from_logits(1.7 * Z, Y, **EXTRAS)
SILENT = np.arange(N) % 7 == 0
OF_KIND = {
    "full": (FULL, "temperature"),
    "abstaining": (FULL.with_probs(FULL.probs, abstained=SILENT), "vector"),
    "per-class": (Predictions.from_scores(FULL.probs, Y, **EXTRAS), "class-wise-hb"),
    "claims of rows": (FULL, "top-label-hb"),
    "top-label": (Predictions.from_confidence(FULL.confidence, predicted=FULL.predicted, labels=Y), "top-label-hb"),
    "confidence": (Predictions.from_confidence(FULL.confidence, FULL.correct, **EXTRAS), "confidence-hb"),
    "several ranks": (FULL, "top-k-confidence"),
}


@pytest.mark.parametrize("kind", OF_KIND)
def test_every_row_is_what_the_map_of_the_other_folds_makes_of_it(kind):
    rows, key = OF_KIND[kind]
    fold = rows.folds(4, random_state=3)
    found = cross_fitted(rows, key, 4, random_state=3)
    for f in range(4):
        mine = np.flatnonzero(fold == f)
        wanted = CALIBRATORS.make(key).fit_on(rows.take(np.flatnonzero(fold != f))).apply(rows.take(mine))
        part = found.take(mine)
        assert (part.kind, part.discrete, part.n_ranked) == (wanted.kind, wanted.discrete, wanted.n_ranked)
        np.testing.assert_array_equal(part.confidence, wanted.confidence)
        np.testing.assert_array_equal(part.correct, wanted.correct)
        if part.kind in ("full", "per-class"):
            np.testing.assert_array_equal(part.probs, wanted.probs)
        if part.kind != "confidence":
            np.testing.assert_array_equal(part.top(part.n_ranked)[0], wanted.top(wanted.n_ranked)[0])
            np.testing.assert_array_equal(part.true_labels, wanted.true_labels)
    assert (found.logits is None) == (key != "temperature")
    assert (found.abstained is None) or np.array_equal(found.abstained, rows.abstained)
    if rows.weights is not None:
        np.testing.assert_array_equal(found.weights, rows.weights)
        np.testing.assert_array_equal(found.groups, rows.groups)
        assert found.metadata["row"].tolist() == list(range(N))


@given(seed=st.integers(0, 1000), n=st.integers(6, 60), folds=st.integers(2, 6), grouped=st.booleans())
def test_folds_hold_every_label_alike_and_groups_as_a_whole(seed, n, folds, grouped):
    rng = np.random.default_rng(seed)
    labels, groups = rng.integers(3, size=n), rng.permutation(n) // 2 if grouped else None
    if grouped and n < 2 * folds + 2:
        return
    rows = Predictions(np.full((n, 3), 1 / 3), labels, groups=groups)
    fold = rows.folds(folds, random_state=seed)
    assert set(fold) == set(range(folds))
    np.testing.assert_array_equal(fold, rows.folds(folds, random_state=seed))
    if grouped:
        assert all(len(set(fold[groups == g])) == 1 for g in set(groups))
        return
    for label in set(labels):
        assert np.ptp(np.bincount(fold[labels == label], minlength=folds)) <= 1


@given(seed=st.integers(0, 50))
def test_no_row_is_judged_after_a_map_that_knows_what_came_true_in_its_fold(seed):
    """Labels of a fold change the predictions for the other folds, and not those for itself."""
    rng = np.random.default_rng(seed)
    fold = rng.permutation(N) % 3
    other = np.where(fold == 0, rng.permutation(Y), Y)
    before, after = (over_folds(r, r, "vector", fold, fold) for r in (FULL, FULL.relabelled(other)))
    np.testing.assert_array_equal(before.probs[fold == 0], after.probs[fold == 0])
    assert not np.array_equal(before.probs[fold != 0], after.probs[fold != 0])


def test_the_calibrator_given_stays_unfitted_and_the_rows_say_what_they_are():
    ready = CALIBRATORS.make("temperature")
    found = cross_fitted(FULL, ready)
    assert not hasattr(ready, "temperature_")
    assert found.notes[-1].startswith("cross-fitted in 5 folds, stratified by class, each group in one fold: ")


def test_too_few_rows_or_groups_are_refused_in_a_sentence():
    few = Predictions([[0.7, 0.3]] * 4, [0, 1] * 2)
    with pytest.raises(InputError, match=r"folds is 5; it must be a whole number from 2 to 4: there are 4 rows"):
        cross_fitted(few, "temperature")
    grouped = few.replace(groups=["a", "a", "b", "b"])
    with pytest.raises(InputError, match="folds is 5; it must be a whole number from 2 to 2: there are 2 groups"):
        cross_fitted(grouped, "temperature")
    with pytest.raises(InputError, match=r"folds is 2\.5"):
        cross_fitted(few, "temperature", folds=2.5)
    with pytest.raises(NotAnswerable):
        cross_fitted(Predictions.from_confidence([0.7] * 10, [True, False] * 5), "vector")


@pytest.mark.parametrize("seed", [-1, 1.5, "a"])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(InputError, match=r"random_state is .*; it must be a whole number of at least 0"):
        cross_fitted(Predictions([[0.7, 0.3]] * 20, [0, 1] * 10), "temperature", random_state=seed)
