"""Estimates of the same predictions are cached; the cache is released with the predictions."""

import copy
import gc
import pickle
import weakref

import numpy as np

from calib_core import Predictions, estimate
from calib_core.inference import estimate_lines, estimates, primaries
from calib_core.inference.noise import noise_floor
from calib_core.inference.verdicts.estimate_line import recalled

ASKED = [("confidence", "ece"), ("top-label", "rmsce"), (None, "brier")]


def sample(seed=0):
    rng = np.random.default_rng(seed)
    return Predictions(rng.dirichlet(np.ones(3), 200), rng.integers(0, 3, 200))


def test_two_tables_draw_once_and_say_what_each_says_alone(monkeypatch):
    rows = sample()
    first = estimate_lines(estimates({"one": rows}, ASKED))
    drawn = []
    monkeypatch.setattr(noise_floor, "_null_values", lambda *given: drawn.append(given))
    again = estimate_lines(estimates({"other": rows}, ASKED[::-1]))[::-1].reset_index(drop=True)
    assert not drawn
    monkeypatch.undo()
    alone = estimate_lines(estimates({"one": sample()}, ASKED))
    for table in (first, again):
        assert table.drop(columns=["model", "mark"]).equals(alone.drop(columns=["model", "mark"]))


def test_questions_are_told_apart():
    rows, other = sample(), sample(1)
    ways = [(rows, "ece", None), (rows, "ece", 5), (rows, "ece", 15), (rows, "mce", None), (other, "ece", None)]
    found = [recalled(predictions, "confidence", key, bins) for predictions, key, bins in ways]
    assert len({id(each.answers) for each in found}) == len(ways)
    for each, (predictions, key, bins) in zip(found, ways, strict=True):
        assert each.interval() == estimate(predictions, "confidence", key, bins).interval()
    assert recalled(rows, "confidence", "ece").answers is found[0].answers


def test_no_answer_keeps_predictions_alive():
    rows = sample()
    line = primaries({"one": rows})["one"].line
    estimate_lines(estimates({"one": rows}, ASKED))
    gone = weakref.ref(rows)
    del rows
    gc.collect()
    assert line.rows == 200
    assert gone() is None


def by_pickle(one):
    return pickle.loads(pickle.dumps(one))  # noqa: S301


def test_a_copy_has_the_answers_and_makes_others_of_its_own():
    one = recalled(sample(), "confidence", "ece")
    before = [copy.deepcopy(one), by_pickle(one)]
    told = one.interval()
    after = [copy.deepcopy(one), by_pickle(one)]
    assert [other.knows("interval") for other in (*before, *after)] == [False, False, True, True]
    assert all(other.interval() == told for other in before)
