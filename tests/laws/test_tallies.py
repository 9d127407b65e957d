"""Laws of tallies: estimates from a tally equal those from rows, for every estimator of counts and notion."""

from dataclasses import replace

import numpy as np
import pytest
from generated import asked_of

import calib_core as cc
from calib_core import ESTIMATORS, REDUCTIONS, NotAnswerable
from calib_core.binning.interval_schemes import moves_edges
from calib_core.reductions import scope
from tests.calib_core.summaries.test_summary import drawn

pytestmark = pytest.mark.law
COUNTING = [key for key in ESTIMATORS if ESTIMATORS[key].flags.counts != "never"]
NOTIONS = [key for key in REDUCTIONS if REDUCTIONS[key].flags.of != "vector"]


@pytest.fixture(scope="module", params=NOTIONS)
def many(request):
    """Return more than 50,000 rows, and the tally of their claims."""
    rows = asked_of(request.param, drawn(3, 50_001, dtype=np.float32))
    return rows, cc.summaries.tally(rows, request.param)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", COUNTING)
def test_everything_told_of_many_rows_is_told_of_their_tally_to_the_last_bit(many, key):
    rows, tally = many
    if scope(tally.notion).of == "top" and not scope(tally.notion).by_class:
        # A tally of confidence knows no classes: its level is that of lines which rows without classes have.
        rows = cc.Predictions.from_confidence(rows.confidence, rows.correct)
    there, here = (cc.estimate(of, tally.notion, key, bins=15) for of in (rows, tally))
    if moves_edges(here.question.estimator.binning):
        return
    assert here.value == there.value
    assert here.per_stratum.tolist() == there.per_stratum.tolist()
    if scope(tally.notion).of == "event":
        # Its level is that of its own line; the rows' is shared with the lines of the class predicted, and lower.
        ends, wider = here.interval(), there.interval()
        assert (ends.point, ends.high) == (wider.point, wider.high)
        assert wider.low <= ends.low <= wider.low + 0.002
    else:
        assert here.interval() == there.interval()
    assert here.noise_floor.draws.tolist() == there.noise_floor.draws.tolist()
    verdicts = [of.verdict(0.3) for of in (here, there)]
    if scope(tally.notion).of == "event":
        assert verdicts[0].word == verdicts[1].word
    else:
        assert replace(verdicts[0], shown=None) == replace(verdicts[1], shown=None)
    if verdicts[1].shown is not None:  # a test of whole predictions can be meant, which claims' sums are not all of
        assert verdicts[0].shown.name == verdicts[1].shown.name
        assert verdicts[0].shown.statistic == pytest.approx(verdicts[1].shown.statistic, rel=1e-9)
    assert here.table.equals(there.table)


@pytest.mark.parametrize("notion", NOTIONS)
def test_of_few_rows_values_and_upper_ends_are(notion):
    rows = asked_of(notion, drawn(4, 300, dtype=np.float64))
    tally = cc.summaries.tally(rows, notion)
    for key in ("ece", "debiased-l2"):
        there, here = (cc.estimate(of, tally.notion, key, bins=10) for of in (rows, tally))
        assert here.value == there.value
        assert here.interval().high == there.interval().high
        if notion == "event":  # for rows it is ranked above that of the confidence, which a tally of the event lacks
            assert here.interval().low <= there.interval().low + 0.01
        else:
            assert here.interval().low == pytest.approx(there.interval().low, abs=0.01)
        assert here.noise_floor.mean == pytest.approx(there.noise_floor.mean, rel=0.03, abs=1e-3)


def test_a_tally_of_a_summary_is_that_of_its_rows():
    rows = drawn(5, 400)
    for notion in ("top-label", "class-wise"):
        one, other = (cc.summaries.tally(of, notion) for of in (rows, cc.Summary.of(rows)))
        there, here = (cc.estimate(of, notion, bins=10) for of in (one, other))
        assert (here.value, here.interval()) == (there.value, there.interval())
        assert np.array_equal(one.covariance(10), other.covariance(10))


@pytest.mark.parametrize("notion", NOTIONS)
def test_its_sums_are_those_of_the_rows(notion):
    rows = asked_of(notion, drawn(6, 200, dtype=np.float64))
    made = cc.summaries.tally(rows, notion)
    table, there = made.table(5), cc.estimate(rows, notion, bins=5).bins
    for name in ("count", "score", "outcome"):
        assert getattr(table.tally, name).tolist() == getattr(there.tally, name).tolist()
    trace = np.trace(made.covariance(5))
    assert trace == pytest.approx(there.moments(made.notion.split(rows)).second.sum(), abs=1e-9)
    assert scope(made.notion).of != "vector"


def test_what_a_tally_cannot_is_said_in_a_sentence():
    rows = drawn(7, 60)
    made = cc.summaries.tally(rows, "class-wise")
    for ask, why in (
        (lambda: cc.estimate(made, "top-label"), "contains only class-wise claims"),
        (lambda: cc.estimate(made, "class-wise", "smece"), "needs rows"),
        (lambda: cc.estimate(made, None, "brier"), "whole predictions"),
        (lambda: made.accuracy, "needs rows"),
        (lambda: made.covariance(7), "only for 10 or 15 or 20 bins of equal width.* need one of these"),
        (lambda: cc.summaries.tally(rows, "canonical"), "canonical calibration"),
        (lambda: cc.summaries.tally(drawn(8, 300, 230), "class-wise"), "214 strata at most, not 230"),
        (lambda: cc.summaries.tally(rows.replace(weights=np.linspace(0.5, 1.5, 60))), "not counts of copies"),
    ):
        with pytest.raises(NotAnswerable, match=why):
            ask()
