"""Named labels, as in scikit-learn's classifiers; and calibrators as such classifiers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.model_selection import cross_val_score

from calib_core import CALIBRATORS, InputError, load_calibrator

NAMES = np.array(["ant", "bee", "cat"])


@pytest.fixture
def rows():
    """Return probabilities and labels sorted by label, so that consecutive folds contain one class each."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet((1, 1, 1), 600)
    labels = np.sort([rng.choice(3, p=row) for row in probs])
    return probs, labels


@pytest.mark.parametrize("key", CALIBRATORS)
def test_calibrators_are_classifiers(key):
    assert is_classifier(CALIBRATORS.make(key))


def test_folds_are_stratified(rows):
    probs, labels = rows
    scores = cross_val_score(CALIBRATORS.make("top-label-hb"), probs, labels, cv=3, scoring="accuracy")
    # In folds of one class each, a calibrator is scored on a class that it was never fitted on.
    assert np.ptp(scores) < 0.15


def test_names_are_codes_of_sorted_columns(rows):
    probs, labels = rows
    by_code, by_name = (CALIBRATORS.make("vector").fit(probs, y) for y in (labels, NAMES[labels]))
    assert by_code.predict_proba(probs).tolist() == by_name.predict_proba(probs).tolist()
    assert by_name.predict(probs).tolist() == NAMES[by_code.predict(probs)].tolist()
    assert (by_name.classes_.tolist(), by_code.classes_.tolist()) == (NAMES.tolist(), [0, 1, 2])


def test_columns_of_a_frame_have_their_own_order(rows):
    probs, labels = rows
    frame = pd.DataFrame(probs, columns=["cat", "ant", "bee"])
    fitted = CALIBRATORS.make("temperature").fit(frame, np.array(["cat", "ant", "bee"])[labels])
    assert fitted.classes_.tolist() == ["cat", "ant", "bee"]
    assert fitted.predict(probs[:9]).tolist() == frame.iloc[:9].idxmax(axis=1).tolist()


def test_names_are_saved(rows, tmp_path):
    probs, labels = rows
    fitted = CALIBRATORS.make("temperature").fit(probs, NAMES[labels])
    (tmp_path / "cal.json").write_text(fitted.to_json())
    assert load_calibrator(tmp_path / "cal.json").predict(probs).tolist() == fitted.predict(probs).tolist()


def test_too_few_names_are_refused(rows):
    with pytest.raises(InputError, match="1 names but there are 3 columns"):
        CALIBRATORS.make("temperature").fit(rows[0], ["ant"] * 600)
