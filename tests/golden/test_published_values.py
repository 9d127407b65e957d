"""Values that can be checked by hand: the papers' examples and small cases with their arithmetic."""

import numpy as np
import pytest

from calib_core import Predictions, datasets, estimate
from calib_core.binning import Distinct, EqualMass, EqualWidth, PointsPerBin, tabulate
from calib_core.calibrators import Histogram, Isotonic, Temperature
from calib_core.estimators import Binned
from calib_core.reductions import ClassSpecific, Confidence

EXACT = 1e-12  # sums of a few float64 numbers


def value(predictions, notion, estimator="ece", bins=10):
    return estimate(predictions, notion, estimator, bins=bins).value


def test_example_1_is_calibrated_in_confidence_and_off_by_0_4_in_every_claim():
    """P1 §1: predicted 0.6, right 20 % of the time for one kind of patient and always for the other."""
    p = datasets.example_1(1000).predictions
    assert value(p, "confidence") == pytest.approx(0.0, abs=EXACT)  # (0.2 + 1.0) / 2 = 0.6
    assert value(p, "top-label") == pytest.approx(0.4, abs=EXACT)  # |0.2 - 0.6| = |1.0 - 0.6| = 0.4
    assert value(p, "top-label", "mce") == pytest.approx(0.4, abs=EXACT)
    assert value(p, "confidence", "mce") == pytest.approx(0.0, abs=EXACT)


@pytest.fixture(scope="module")
def six():
    """Return confidence .7 .6 .5 .8 .4 .9, predicted 0 1 2 0 3 1, label 0 1 3 1 0 1, correct 1 1 0 0 0 1."""
    return datasets.six_points()


def test_six_points_in_confidence(six):
    # One bin: mean confidence (.7+.6+.5+.8+.4+.9)/6 = 3.9/6 = .65, accuracy 3/6 = .5.
    assert value(six, "confidence", bins=1) == pytest.approx(0.15, abs=EXACT)
    # Two bins: [0, .5) contains .4 (wrong): gap .4, weight 1/6. [.5, 1] contains .7 .6 .5 .8 .9, mean .7, 3 of 5 right:
    # gap .1, weight 5/6. ECE = .4/6 + .5/6 = .15; MCE = .4; RMSCE = sqrt(.16/6 + .01 * 5/6) = sqrt(.035).
    assert value(six, "confidence", bins=2) == pytest.approx(0.15, abs=EXACT)
    assert value(six, "confidence", "mce", bins=2) == pytest.approx(0.4, abs=EXACT)
    assert value(six, "confidence", "rmsce", bins=2) == pytest.approx(0.035**0.5, abs=EXACT)
    # Ten bins: every confidence has its own: gaps .3 .4 .5 .8 .4 .1, mean 2.5/6.
    assert value(six, "confidence", bins=10) == pytest.approx(2.5 / 6, abs=EXACT)
    assert value(six, "confidence", bins="distinct") == pytest.approx(2.5 / 6, abs=EXACT)


def test_six_points_by_predicted_class(six):
    # One bin a class. Class 0: .7 right, .8 wrong: |.75 - .5| = .25, weight 2/6. Class 1: .6 and .9, both right:
    # |.75 - 1| = .25, weight 2/6. Class 2: .5 wrong, weight 1/6. Class 3: .4 wrong, weight 1/6.
    # TL-ECE = (.5 + .5 + .5 + .4) / 6 = 1.9/6; TL-MCE = .5.
    assert value(six, "top-label", bins=1) == pytest.approx(1.9 / 6, abs=EXACT)
    assert value(six, "top-label", "mce", bins=1) == pytest.approx(0.5, abs=EXACT)
    made = estimate(six, "top-label", "ece", bins=1)
    np.testing.assert_allclose(made.per_stratum, [0.25, 0.25, 0.5, 0.4], atol=EXACT)
    np.testing.assert_allclose(made.shares, [2 / 6, 2 / 6, 1 / 6, 1 / 6], atol=EXACT)


def test_six_points_class_by_class(six):
    # One bin a class: |mean of column - share of label|.
    # Class 0: (.7+.2+.1+.8+.3+0)/6 = 2.1/6 against 2/6: .1/6. Class 1: (.1+.6+.3+.1+.2+.9)/6 = 2.2/6 against 3/6: .8/6.
    # Class 2: (.1+.1+.5+0+.1+.1)/6 = .9/6 against 0: .9/6. Class 3: (.1+.1+.1+.1+.4+0)/6 = .8/6 against 1/6: .2/6.
    made = estimate(six, "class-wise", "ece", bins=1)
    np.testing.assert_allclose(made.per_stratum, np.array([0.1, 0.8, 0.9, 0.2]) / 6, atol=EXACT)
    assert made.value == pytest.approx(2.0 / 24, abs=EXACT)
    assert estimate(six, ClassSpecific(1), "ece", bins=1).value == pytest.approx(0.8 / 6, abs=EXACT)


def test_six_points_in_proper_scores(six):
    # Probabilities of the labels: .7 .6 .1 .1 .3 .9.
    assert value(six, None, "log-loss", bins=None) == pytest.approx(
        -np.log([0.7, 0.6, 0.1, 0.1, 0.3, 0.9]).mean(), abs=EXACT
    )
    # Row by row sum of squares - 2 p_y + 1: .52-1.4+1=.12, .42-1.2+1=.22, .36-.2+1=1.16, .66-.2+1=1.46,
    # .3-.6+1=.7, .82-1.8+1=.02; sum 3.68.
    assert value(six, None, "brier", bins=None) == pytest.approx(3.68 / 6, abs=EXACT)
    assert value(six, None, "accuracy", bins=None) == 0.5


def test_six_points_by_rank(six):
    # Rank 1 as confidence in one bin: .15. Rank 2: second largest .1 .2 .3 .1 .3 .1, classes 1 0 1 1 0 2 (lowest index
    # on a tie), labels 0 1 3 1 0 1: right for rows 3 and 4: 2/6 against 1.1/6: .9/6 = .15. Mean of ranks .15.
    made = estimate(six, "top-k-confidence", "ece", bins=1)
    np.testing.assert_allclose(made.per_stratum[:2], [0.15, 0.15], atol=EXACT)


def flat(scores, outcomes):
    return Predictions.from_confidence(np.array(scores), np.array(outcomes, bool))


def test_edges_belong_to_the_bin_above_and_one_to_the_last():
    # Ten bins, confidences on edges: .4 .5 .5 .6 .6 .7 .7 .8 .9 .9 1 1 with 0 1 0 1 0 1 1 1 0 1 1 0.
    # [.4,.5): .4, 0 right. [.5,.6): 2 rows, 1 right: gap 0. [.6,.7): 2, 1: .1. [.7,.8): 2, 2: .3. [.8,.9): 1, 1: .2.
    # [.9,1]: .9 .9 1 1, 2 right: |.95 - .5| = .45. ECE = (.4 + 0 + .2 + .6 + .2 + 1.8) / 12 = 3.2/12.
    p = flat([0.4, 0.5, 0.5, 0.6, 0.6, 0.7, 0.7, 0.8, 0.9, 0.9, 1, 1], [0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 0])
    assert value(p, "confidence", bins=10) == pytest.approx(3.2 / 12, abs=EXACT)
    # Five bins: [.4,.6): .4 .5 .5, mean 1.4/3, 1/3 right: .4/3. [.6,.8): .6 .6 .7 .7, mean .65, 3/4: .1. [.8,1]: .8 .9
    # .9 1 1, mean .92, 3/5: .32. ECE = (.4 + .4 + 1.6) / 12 = .2: 0.8 is above its edge here, and (a, b] bins would
    # give 3.2/12; `linspace` edges, where 3 * 0.2 > 0.6, give 2.8/12.
    assert value(p, "confidence", bins=5) == pytest.approx(2.4 / 12, abs=EXACT)


TIED = flat([0.1, 0.2, 0.2, 0.2, 0.2, 0.3, 0.5, 0.6, 0.7, 0.7, 0.9], [0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 1])


def test_equal_mass_bins_keep_ties_together():
    # 11 rows, 2 bins: rows 1-6 and 7-11. Means (.1+.8+.3)/6 = .2 and 3.4/5 = .68; 2/6 and 4/5 right:
    # |.2 - 1/3| * 6/11 + .12 * 5/11 = (.8 + .6) / 11.
    assert value(TIED, "confidence", bins=EqualMass(2)) == pytest.approx(1.4 / 11, abs=EXACT)
    # 3 bins request 4 + 4 + 3; row 4 is one of the four .2, so the first bin takes all of them (5 rows); the cut after
    # row 8 stays: 5 + 3 + 3. Sums .9 | 1.4 | 2.3 against 2 | 2 | 2: (1.1 + .6 + .3) / 11.
    table = tabulate(Confidence().split(TIED), [EqualMass(3)])[0]
    assert table.count[0].tolist() == [5, 3, 3]
    assert value(TIED, "confidence", bins=EqualMass(3)) == pytest.approx(2.0 / 11, abs=EXACT)
    # Points per bin 5: floor(11/5) = 2 bins, the same as two of equal mass.
    assert value(TIED, "confidence", bins=PointsPerBin(5)) == pytest.approx(1.4 / 11, abs=EXACT)
    # Distinct: .1 | .2 x4, sum .8 against 2 | .3 | .5 | .6 | .7 x2, 1.4 against 1 | .9.
    by_value = (0.1 + 1.2 + 0.3 + 0.5 + 0.4 + 0.4 + 0.1) / 11
    assert estimate(TIED, "confidence", Binned(Distinct())).value == pytest.approx(by_value, abs=EXACT)


def test_uniform_mass_histogram_binning_by_hand():
    """P1 Alg. 8: n = 7, B = 2: rank ceil(8/2) = 4, the threshold is the 4th score and is not used."""
    h = Histogram(bins=2, delta=0).fit([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], [0, 0, 1, 1, 1, 0, 1])
    assert h.thresholds_.tolist() == [0.4]
    assert h.values_.tolist() == [1 / 3, 2 / 3]  # rows 1-3: 0 0 1; rows 5-7: 1 0 1
    assert h.transform([0.0, 0.39, 0.4, 1.0]).tolist() == [1 / 3, 1 / 3, 2 / 3, 2 / 3]
    assert h.counts_.tolist() == [3, 4]


def test_histogram_binning_of_tied_scores_by_hand():
    """20 rows at .4 (5 true), 20 at .7 (15 true): the median is tied, 10 rows place the one edge, 30 are averaged.

    Whichever 10 they are, those left at .4 count 5/20 each and those at .7 count 15/20: nothing is lost by the draw.
    """
    h = Histogram(bins=2, delta=0).fit([0.4] * 20 + [0.7] * 20, [1] * 5 + [0] * 15 + [1] * 15 + [0] * 5)
    assert h.thresholds_.tolist() == [0.7]
    np.testing.assert_allclose(h.values_, [5 / 20, 15 / 20], atol=EXACT)
    assert (h.counts_.tolist(), h.averaged_.sum(), h.placing_) == ([20, 20], 30, 10)


def test_isotonic_regression_by_hand():
    """Pool adjacent violators: 0 1 0 1 pools the middle pair to one half; linear between calibration scores."""
    iso = Isotonic().fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    np.testing.assert_allclose(
        iso.transform([0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0]), [0, 0, 0.25, 0.5, 0.5, 0.5, 0.75, 1], atol=EXACT
    )


@pytest.mark.parametrize(("said", "right_of_10"), [(0.9, 8), (0.9, 6), (0.6, 9), (0.8, 8)])
def test_temperature_of_one_repeated_row_has_a_closed_form(said, right_of_10):
    """Rows are (h, 1 - h), a share a of them right: the best q is a, so logit(h) / T = logit(a)."""
    probs = np.tile([said, 1 - said], (10, 1))
    cal = Temperature().fit(probs, [0] * right_of_10 + [1] * (10 - right_of_10))
    a = right_of_10 / 10
    expected = np.log(said / (1 - said)) / np.log(a / (1 - a))
    assert cal.temperature_ == pytest.approx(expected, rel=1e-10)
    assert cal.status_ == "converged"


def test_synthetic_data_has_the_error_it_was_made_with():
    """P2 App. E: E|z - P(y=1|z)| by quadrature; 200,000 rows in 100 bins estimate it to within 0.003."""
    grid = (np.arange(100_000) + 0.5) / 100_000
    truth = np.abs(datasets.true_kumar(grid) - grid).mean()
    p = datasets.kumar_binary(200_000, random_state=1).predictions
    assert estimate(p, ClassSpecific(1), "ece", bins=EqualWidth(100)).value == pytest.approx(truth, abs=3e-3)
