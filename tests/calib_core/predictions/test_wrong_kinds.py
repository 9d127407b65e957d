"""Objects of the wrong kind: a message for an argument, AttributeError for an attribute."""

import numpy as np
import pytest

import calib_core as cc


def test_an_estimate_of_an_array_names_what_to_give():
    with pytest.raises(cc.InputError, match=r"ndarray; give cc\.Predictions"):
        cc.estimate(np.array([[0.7, 0.3]]), "confidence")


def test_a_summary_has_no_attributes_of_rows_and_says_why():
    rows = cc.Predictions([[0.7, 0.3], [0.2, 0.8]] * 20, [0, 1] * 20)
    counted = cc.Summary.of(rows)
    assert hasattr(rows, "probs")
    assert not hasattr(counted, "probs")
    with pytest.raises(cc.NotAnswerable, match="needs rows"):
        _ = counted.probs
