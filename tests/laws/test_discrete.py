"""Outputs declared discrete have few values, others many: over the registry, compositions and every binary part."""

import pickle

import numpy as np
import pytest
from generated import classes_for
from sklearn.base import clone

import calib_core as cc
from calib_core import BINARY_CALIBRATORS, CALIBRATORS, Predictions
from calib_core.calibrators import Reduced
from calib_core.readers import predictions, propose, read_table
from calib_core.reductions import ClassWise, Confidence, TopLabel
from calib_core.registry.registry import Part

K, MOST_BINS = 3, 15


def cases():
    for key in CALIBRATORS:
        reachable = {"accuracy": 0.7} if any(p.name == "accuracy" for p in CALIBRATORS[key].params) else {}
        yield key, CALIBRATORS.make(key, **reachable)
        yield f"ts+{key}", CALIBRATORS.make(f"ts+{key}", **reachable)
        if any(p.domain == Part("BINARY_CALIBRATORS") for p in CALIBRATORS[key].params):
            for binary in BINARY_CALIBRATORS:
                yield f"{key} of {binary}", CALIBRATORS.make(key, binary=binary)
    for small in ("pool", "leave"):
        yield f"small {small}", Reduced(TopLabel(), BINARY_CALIBRATORS.make("histogram"), small=small)


CASES = dict(cases())


@pytest.fixture(scope="module")
def rows():
    """Return 500 calibration rows and 5,000 others, uniform on the triangle: scores reach every bin."""
    return rows_of(K)


def rows_of(k):
    rng = np.random.default_rng(5)
    probs = rng.dirichlet([0.7] * k, 5500)
    labels = (rng.random((5500, 1)) > probs.cumsum(axis=1)).sum(axis=1)
    whole = Predictions(probs, labels)
    return whole.take(np.arange(500)), whole.take(np.arange(500, 5500))


def most_values(judged):
    """Return the largest number of distinct confidences of a predicted class."""
    if judged.kind == "confidence":
        return len(np.unique(judged.confidence))
    claims = TopLabel().split(judged)
    return max(len(np.unique(claims.stratum(s).scores)) for s in range(len(claims.strata)))


def keeps_its_word(calibrator, rows):
    judged = calibrator.fit_on(rows[0]).apply(rows[1])
    few = most_values(judged) <= MOST_BINS * K
    return judged.discrete == calibrator.discrete() == few


@pytest.mark.parametrize("case", CASES)
def test_outputs_declared_discrete_take_few_values_and_others_do_not(case, rows):
    # The steps of Venn-ABERS grow in number with the rows: some hundreds of rows make few values, thousands do not.
    if not case.startswith("small") and classes_for(case, K) != K:
        rows = rows_of(classes_for(case, K))
    assert keeps_its_word(clone(CASES[case]), (rows[1], rows[1]) if "venn-abers" in case else rows)


@pytest.mark.parametrize("lie", [True, False])
def test_a_wrong_declaration_is_caught(lie, rows):
    kept = BINARY_CALIBRATORS.make("identity" if lie else "histogram")
    wrong = type("Wrong", (type(kept),), {"discrete": lambda self, given=False: lie})()
    assert not keeps_its_word(Reduced(Confidence(), wrong), rows)


def test_few_values_stay_few_through_a_map_of_scores_and_through_none(rows):
    binned = CALIBRATORS.make("top-label-hb").fit_on(rows[0]).apply(rows[1])
    for key in ("identity", "confidence"):
        again = CALIBRATORS.make(key).fit_on(binned)
        assert again.apply(binned).discrete
        assert CALIBRATORS.make(key).fit_on(rows[0]).apply(rows[1]).discrete == (key == "confidence")
    scaled = Reduced(Confidence(), BINARY_CALIBRATORS.make("platt"))
    assert scaled.fit_on(binned).apply(binned).discrete
    assert not clone(scaled).fit_on(rows[0]).apply(rows[1]).discrete


def test_the_mark_comes_along_with_rows_and_goes_with_other_probabilities(rows):
    made = CALIBRATORS.make("sierpinski").fit_on(rows[0]).apply(rows[1])
    weighed = Predictions(rows[1].probs, rows[1].labels, weights=np.full(5000, 2.0))
    of_weighed = CALIBRATORS.make("sierpinski").fit_on(rows[0]).apply(weighed)
    for kept in (
        made,
        of_weighed,
        made.take([3, 1]),
        made.answered,
        *made.split(0.5),
        made.relabelled(np.zeros(5000, int)),
        of_weighed.written_out(),
        pickle.loads(pickle.dumps(made)),  # noqa: S301  created here
        cc.load_calibrator(CALIBRATORS.make("sierpinski").fit_on(rows[0]).to_json()).apply(rows[1]),
    ):
        assert kept.discrete
    assert of_weighed.written_out().n_rows == 10_000
    assert not made.with_probs(made.probs).discrete
    assert not made.as_discrete(False).discrete


def test_predictions_from_a_file_are_never_marked_however_few_their_values():
    text = b"p_a,p_b,label\n" + b"0.5,0.5,a\n0.5,0.5,b\n" * 20
    table = read_table(text, "few.csv")
    read = predictions(table, propose(table))
    assert len(np.unique(read.confidence)) == 1
    assert not read.discrete


def test_discrete_outputs_are_judged_one_bin_a_value_unless_bins_are_given(rows):
    binned = CALIBRATORS.make("top-label-hb").fit_on(rows[0]).apply(rows[1])
    for notion in ("confidence", "top-label"):
        for key in ("ece", "mce", "rmsce", "debiased-l2", "debiased-ece"):
            made = cc.estimate(binned, notion, key)
            assert made.value == cc.estimate(binned, notion, key, bins="distinct").value
            assert cc.estimate(binned, notion, key, bins=15).in_bins == "15 equal width"
            assert cc.estimate(rows[1], notion, key).value == cc.estimate(rows[1], notion, key, bins=15).value
        ece = cc.estimate(binned, notion)
        claims = {"confidence": Confidence(), "top-label": TopLabel()}[notion].split(binned)
        assert ece.value == pytest.approx(slow_ece(claims))
        assert ece.in_bins == f"one per value ({len(set(zip(claims.codes, claims.scores, strict=True)))})"
        own = cc.estimators.Binned()
        assert cc.estimate(binned, notion, own).value == cc.estimate(binned, notion, "ece", bins=15).value
    per_class = CALIBRATORS.make("class-wise-hb").fit_on(rows[0]).apply(rows[1])
    assert cc.estimate(per_class, ClassWise()).in_bins.startswith("one per value")
    assert cc.estimate(binned, "confidence", "ece-adaptive").in_bins == ""
    assert cc.estimate(per_class, None, "accuracy").in_bins == ""


def slow_ece(claims):
    """Return the ECE value by value, class by class."""
    total = 0.0
    for code, score in set(zip(claims.codes, claims.scores, strict=True)):
        mine = (claims.codes == code) & (claims.scores == score)
        total += mine.mean() * abs(claims.outcomes[mine].mean() - score)
    return total
