"""The trade-off between calibration error and mean squared error: its numbers, P2's claim, and bad requests."""

import numpy as np
import pytest

from calib_core import BINARY_CALIBRATORS, InputError, Predictions, diagrams, estimate, figures
from calib_core.binning import Distinct
from calib_core.calibrators import Reduced
from calib_core.diagrams.trade import binning_calibrators, trade_off
from calib_core.estimators import DebiasedL2
from calib_core.reductions import as_reduction


def binary(n, seed=0):
    """Return P2 App. E, like synthetic (A): a continuous score whose Platt curve is the truth, noisy labels."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 2, n)
    score = 1 / (1 + np.exp(-1.5 * z))
    true = 1 / (1 + np.exp(-(0.8 * z + 0.3)))
    return Predictions(np.column_stack([1 - score, score]), (rng.random(n) < true).astype(int))


def test_each_point_is_a_calibrator_fitted_and_judged_by_hand():
    p, notion = binary(400), as_reduction("class-wise")
    made = trade_off(p, ["histogram", "scaling-binning"], bins=[3, 8], share=0.5, repeats=2, random_state=5)
    wanted = np.zeros((2, 2, 2, 2))
    for r in range(2):
        fit, test = p.split(0.5, random_state=5 + r)
        for i, key in enumerate(("histogram", "scaling-binning")):
            for j, b in enumerate((3, 8)):
                out = Reduced(notion, BINARY_CALIBRATORS.make(key, bins=b)).fit_on(fit).apply(test)
                squared = mse = 0.0
                for l in range(2):  # noqa: E741
                    s, z = notion.split(out).stratum(l).scores, test.labels == l
                    mse += ((s - z) ** 2).mean() / 2
                    for value in np.unique(s):
                        at = s == value
                        m, zb = at.sum(), z[at].mean()
                        squared += m / len(s) * ((value - zb) ** 2 - (zb * (1 - zb) / (m - 1) if m > 1 else 0)) / 2
                wanted[r, i, j] = squared, mse
    np.testing.assert_allclose(made.error, wanted.mean(0)[:, :, 0], atol=1e-12)
    np.testing.assert_allclose(made.mse, wanted.mean(0)[:, :, 1], atol=1e-12)
    np.testing.assert_allclose(made.error_deviation, wanted.std(0)[:, :, 0], atol=1e-12)
    np.testing.assert_allclose(made.mse_deviation, wanted.std(0)[:, :, 1], atol=1e-12)
    assert (made.fit_rows, made.repeats, made.bins) == (200, 2, (3, 8))
    assert made.titles == ("Histogram binning", "Scaling-binning")


def test_scaling_binning_has_the_better_curve_with_many_bins_and_few_rows():
    """P2 Fig. 3: with 100 bins from 1,000 rows its squared calibration error is far lower, its squared error too."""
    made = trade_off(binary(21_000), ["histogram", "scaling-binning"], "class-wise", (5, 100), share=1 / 21, repeats=4)
    (few_hb, many_hb), (few_sb, many_sb) = made.error
    assert many_sb < 0.35 * many_hb
    assert many_hb > 2 * few_hb
    assert abs(many_sb - few_sb) < 0.002
    assert made.mse[1, 1] < made.mse[0, 1]
    assert made.mse[1, 1] < made.mse[1, 0], "finer bins tell claims better apart"
    assert made.mse[1, 1] < made.base_mse


def test_the_frame_is_what_is_drawn_and_seeds_decide():
    p = binary(300)
    made = trade_off(p, reduction="confidence", bins=(2, 5), repeats=2)
    assert made.keys == binning_calibrators()
    frame = made.frame()
    assert frame["calibrator"].tolist() == np.repeat(made.keys, 2).tolist()
    assert frame["bins"].tolist() == [2, 5] * len(made.keys)
    for name in ("error", "mse", "error_deviation", "mse_deviation"):
        np.testing.assert_array_equal(frame[name], getattr(made, name).ravel())
    again = trade_off(p, reduction="confidence", bins=(2, 5), repeats=2)
    np.testing.assert_array_equal(again.error, made.error)
    other = trade_off(p, reduction="confidence", bins=(2, 5), repeats=2, random_state=1)
    assert (other.error != made.error).any()


def test_upper_ends_are_those_of_intervals_and_come_when_asked_for():
    p, notion = binary(300), as_reduction("class-wise")
    made = trade_off(p, ["histogram"], bins=[3, 8], repeats=2, random_state=5, upper=True)
    ends = np.empty((2, 2))
    for r in range(2):
        fit, test = p.split(0.5, random_state=5 + r)
        for j, b in enumerate((3, 8)):
            out = Reduced(notion, BINARY_CALIBRATORS.make("histogram", bins=b)).fit_on(fit).apply(test)
            ends[r, j] = estimate(out, notion, DebiasedL2(Distinct())).interval().high
    np.testing.assert_allclose(made.upper, ends.mean(0)[None], rtol=1e-12)
    assert (made.upper > made.error).all()
    assert made.frame()["upper"].tolist() == made.upper[0].tolist()
    without = trade_off(p, ["histogram"], bins=[3, 8], repeats=2, random_state=5)
    assert np.isnan(without.upper).all()
    assert "upper" not in without.frame()
    models = {"base": p, "confidence only": Predictions.from_confidence(p.confidence, p.correct)}
    points = diagrams.trade_points(models, upper=True)
    assert points.upper[0] == estimate(p, "class-wise", "debiased-l2").interval().high
    assert points.beside("upper") == {"base": (points.upper[0], points.mse[0])}
    figure = figures.trade_off(made, points=points, against="upper")
    assert [list(trace.x) for trace in figure.data] == [made.upper[0].tolist(), [points.upper[0]]]
    assert "upper end of the 90 % interval" in figure.layout.xaxis.title.text
    with pytest.raises(InputError, match=r"must be one of error, upper, plug_in$"):
        figures.trade_off(made, against="lower")


def test_nothing_to_compare_is_refused():
    with pytest.raises(InputError, match=r"^0 repeats of 1 calibrators with 9 numbers of bins; at least 1 each$"):
        trade_off(binary(50), ["histogram"], repeats=0)
    assert {"TradeOff", "trade_off"} <= set(diagrams.__all__)


def test_the_plug_in_bound_grows_with_bins_where_the_interval_does_not():
    """P2 Fig. 17: noise of every bin is in the plug-in error, so that its bound penalizes many bins."""
    made = trade_off(binary(12_000), ["scaling-binning"], "confidence", (10, 100), repeats=3, upper=True)
    few, many = made.plug_in[0]
    assert many > 2 * few
    assert many > 1.5 * made.upper[0, 1]
    assert (made.plug_in > made.error).all()


def test_the_plug_in_bound_by_hand():
    """One bin: (mean score - share)^2 of multinomial resamples, with the normal point of 95 %."""
    p = Predictions.from_confidence([0.5] * 300, [True] * 180 + [False] * 120)
    got = diagrams.plug_in_bound(p, as_reduction("confidence"), Distinct())
    drawn = (np.random.default_rng(1).binomial(300, 0.6, 20_000) / 300 - 0.5) ** 2
    # 100 resamples know a standard deviation to 7 %: four of these.
    assert got == pytest.approx(0.01 + 1.6449 * drawn.std(), abs=4 * 0.07 * 1.6449 * drawn.std())


def test_the_pointer_reads_the_deviations_of_what_is_drawn():
    curves = trade_off(binary(300), ["histogram", "equal-width-histogram"], bins=(2, 5), repeats=3)
    for i, trace in enumerate(figures.trade_off(curves).data):
        np.testing.assert_array_equal(trace.y, curves.mse[i])
        for name in ("mse_deviation", "error_deviation"):
            np.testing.assert_array_equal([record[name] for record in trace.customdata], getattr(curves, name)[i])
    assert (curves.mse_deviation != curves.error_deviation).all()
