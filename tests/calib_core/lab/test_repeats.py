"""Repeated samples: every number is the library's own on that sample, and simulations match their description."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import calib_core as cc
from calib_core import InputError, lab
from calib_core.calibrators import Reduced
from calib_core.lab.experiments import EXPERIMENTS, _over_truths
from calib_core.lab.repeats import COLUMNS, ROWS_AT_A_TIME, _worst
from calib_core.lab.true_errors import holdout

B = cc.BINARY_CALIBRATORS


def samples(truth, n, draws, seed=0):
    """Yield the rows of every draw as described for the run: one block of rows and one seed at a time."""
    step = max(1, ROWS_AT_A_TIME // n)
    for first in range(0, draws, step):
        together = min(step, draws - first)
        rows = truth.sample(n * together, np.random.default_rng([seed, n, first])).predictions
        yield from (rows.take(np.arange(d * n, (d + 1) * n)) for d in range(together))


@pytest.mark.wide
@pytest.mark.parametrize("key", list(lab.TRUTHS))
def test_every_value_is_the_librarys_own(key):
    truth = lab.TRUTHS.make(key)
    every = [k for k in cc.ESTIMATORS if k not in ("skce", "canonical-kde", "max-deviation")]
    names = every if key == "drawn" else ["ece", "debiased-l2", "brier"]
    notions = ["confidence", "class-wise"]
    run = lab.repeated(truth, (40, 25), 2, names, notions)
    for line in run.lines:
        if line.note and np.isnan(line.values).all():
            continue
        own = [cc.estimate(rows, line.reduction, line.estimator).value for rows in samples(truth, line.n, 2)]
        # Samples side by side are summed up in another order.
        np.testing.assert_allclose(line.values, own, rtol=1e-12, atol=1e-12)
    assert len(run.lines) == 2 * len(notions) * len(names)


def test_samples_of_own_rows_are_of_one_set_whose_error_is_known():
    """P5's bootstrap, by the slow twin: rows of the set with replacement, new labels; the error of these rows."""
    truth, n, draws = lab.Mixture("logistic", 3, 2), 20, 3
    rows = holdout(truth)
    rng = np.random.default_rng([0, n, 0])
    chosen = rng.integers(len(rows.true_probs), size=n * draws)
    labels = (rng.random((n * draws, 1)) >= rows.true_probs[chosen].cumsum(axis=1)[:, :-1]).sum(axis=1)
    own = cc.Predictions(rows.predictions.probs[chosen], labels)
    line = lab.repeated(truth, n, draws, ["ece"], own_rows=True, random_state=0).lines[0]
    parts = [own.take(np.arange(d * n, (d + 1) * n)) for d in range(draws)]
    np.testing.assert_allclose(line.values, [cc.estimate(part).value for part in parts], rtol=1e-12)
    assert line.true == lab.true_error(truth, own_rows=True)
    assert line.true.standard_error == 0
    other = lab.true_error(truth)
    assert abs(line.true.value - other.value) < 5 * 3 * other.standard_error


def test_no_two_draws_are_of_the_same_rows():
    """Rows are drawn in blocks: of 20,000 it is one sample, of 10,000 it is three."""
    for n in (10_000, 20_000):
        values = lab.repeated("drawn", n, 4, ["ece"]).lines[0].values
        assert len(set(values)) == 4


def test_every_summary_is_what_its_words_say():
    run = lab.repeated("sigmoid", 60, 20, ["ece"], intervals=True)
    values, true = run.lines[0].values, lab.true_error("sigmoid").value
    frame = run.frame()
    line = frame.iloc[0]
    assert list(frame) == list(COLUMNS)
    assert line["true"] == true
    assert line["bias"] == pytest.approx(values.mean() - true)
    assert line["mse"] == pytest.approx(((values - true) ** 2).mean())
    assert line["worst"] == pytest.approx(np.percentile(abs(values - true) / true, 95))
    assert line["mean_high"] - line["mean"] == pytest.approx(1.6449 * values.std(ddof=1) / np.sqrt(20), rel=1e-4)
    asked = [
        true in cc.estimate(rows, cc.REDUCTIONS.make("class-specific", cls=1), "ece").interval()
        for rows in samples(lab.TRUTHS.make("sigmoid"), 60, 20)
    ]
    assert line["share_held"] == pytest.approx(np.mean(asked))
    np.testing.assert_allclose(run.draws()["off"], values - true)


def test_the_ends_of_a_percentile_hold_it_as_often_as_the_level_says():
    rng, held = np.random.default_rng(0), []
    for _ in range(1000):
        found = _worst(rng.random(400), 0.9)
        held.append(found["worst_low"] <= 0.95 <= found["worst_high"])
    assert 0.88 < np.mean(held) < 0.95  # one-sided ends would cover it in 8 of 10


def test_a_calibrators_line_is_the_true_error_it_leaves():
    truth, notion = lab.SigmoidCurve(), cc.REDUCTIONS.make("class-specific", cls=1)
    run = lab.repeated(truth, 300, 2, ["debiased-l2"], binary_calibrators={"hb": B.make("histogram", bins=5)})
    left = next(line for line in run.lines if line.calibrator == "hb")
    z = (np.arange(2**15) + 0.5) / 2**15
    for value, rows in zip(left.values, samples(truth, 300, 2), strict=True):
        said = clone(Reduced(notion, B.make("histogram", bins=5))).fit_on(rows)
        out = said.apply(cc.Predictions(np.column_stack([1 - z, z]), np.zeros(len(z), int))).rows.column(1)
        happens = truth.accuracy(z)
        slow = sum((out == v).mean() * (happens[out == v].mean() - v) ** 2 for v in np.unique(out))
        assert value == pytest.approx(slow, rel=0.02, abs=1e-6)


@pytest.mark.wide
def test_scaling_then_binning_leaves_less_than_histograms_and_halves_with_twice_the_rows():
    """P2 Fig. 8 and 9 scaled down: 1/e^2 grows with n for both; with scaling-binning it does not fall with bins."""
    made = {f"{key}-{bins}": B.make(key, bins=bins) for key in ("histogram", "scaling-binning") for bins in (5, 20)}
    frame = lab.repeated("sigmoid", (1000, 2000), 40, ["debiased-l2"], binary_calibrators=made).frame()
    left = frame[frame["calibrator"] != ""].pivot(index="calibrator", columns="n", values="mean")
    assert (left.loc["histogram-5"] > 1.2 * left.loc["scaling-binning-5"]).all()
    assert 1.5 < left.loc["histogram-20", 1000] / left.loc["histogram-20", 2000] < 2.6
    assert left.loc["histogram-20", 2000] > 2.5 * left.loc["histogram-5", 2000]
    assert 0.7 < left.loc["scaling-binning-20", 2000] / left.loc["scaling-binning-5", 2000] < 1.4


def test_debiased_errors_are_nearer_the_truth_where_bins_are_many():
    """P2 Fig. 4: against the error in these bins, with 100 bins and few rows."""
    bins = cc.BINNINGS.make("equal-width", bins=100)
    named = {key: cc.ESTIMATORS.make(key, binning=bins) for key in ("rmsce", "debiased-l2")}
    run = lab.repeated("sigmoid", 500, 40, named, in_bins=True)
    frame, plug_in = run.frame().set_index("estimator"), run.lines[0].values ** 2
    true = frame.loc["debiased-l2", "true"]
    assert frame.loc["debiased-l2", "mse"] < 0.3 * ((plug_in - true) ** 2).mean()
    assert abs(frame.loc["debiased-l2", "bias"]) < 4 * frame.loc["debiased-l2", "deviation"] / np.sqrt(40)


def test_the_doubt_of_a_true_error_widens_what_is_measured_from_it():
    sure = lab.repeated("drawn", 50, 60, ["ece"])
    line = sure.lines[0]
    sure, error = sure.frame().iloc[0], 0.1 * line.true.value
    frame = lab.LabRun((replace(line, true=replace(line.true, standard_error=error)),)).frame().iloc[0]
    z = 1.6448536
    moved = [((line.values - line.true.value - by * z * error) ** 2).mean() for by in (-1, 1)]
    for name, by in (("worst", None), ("mse", max(abs(m - sure["mse"]) for m in moved))):
        assert frame[name] == sure[name]
        assert frame[f"{name}_low"] < sure[f"{name}_low"]
        assert frame[f"{name}_high"] > sure[f"{name}_high"]
        if by:
            assert frame["mse_high"] - frame["mse"] == pytest.approx(np.hypot(sure["mse_high"] - sure["mse"], by))
    lost = lab.LabRun((replace(line, true=replace(line.true, standard_error=line.true.value)),)).frame()
    assert "worst" not in lost or lost["worst"].isna().all()


def test_samples_without_a_value_are_not_counted_as_draws():
    line = lab.repeated("drawn", 50, 8, ["ece"]).lines[0]
    values = np.where(np.arange(8) < 3, np.nan, line.values)
    frame = lab.LabRun((replace(line, values=values),)).frame().iloc[0]
    assert frame["draws"] == 5
    assert frame["mean"] == pytest.approx(line.values[3:].mean())


def test_the_doubt_of_a_true_error_widens_the_share_that_holds_it():
    line = lab.repeated("drawn", 50, 20, ["ece"], intervals=True).lines[0]
    low = np.linspace(0.005, 0.195, 20)
    line = replace(line, low=low, high=np.ones(20), true=replace(line.true, value=0.15))
    sure = lab.LabRun((line,)).frame().iloc[0]
    assert sure["share_held"] == 0.75  # those that begin below 0.15; below 0.15 - 1.645 * 0.03 it is half of them
    unsure = lab.LabRun((replace(line, true=replace(line.true, standard_error=0.03)),)).frame().iloc[0]
    assert unsure["share_held"] == sure["share_held"]
    below = 0.75 - np.hypot(0.75 - sure["share_low"], 0.25)
    assert unsure["share_low"] == pytest.approx(below)
    assert sure["share_high"] < unsure["share_high"] == 1


def test_what_a_calibrator_leaves_is_not_held_against_the_error_before_it():
    frame = lab.repeated("drawn", 100, 3, ["debiased-l2"], binary_calibrators=["platt"]).frame()
    own, left = (frame[(frame["calibrator"] == "platt") == after].iloc[0] for after in (False, True))
    for name in ("bias", "mse", "worst"):
        assert np.isfinite(own[name])
        assert np.isnan(left[name])
    assert left["mean"] > 0


def test_the_bits_do_not_depend_on_the_threads(monkeypatch):
    frames = []
    for workers in ("1", "3"):
        monkeypatch.setenv("CALIB_THREADS", workers)
        frames.append(lab.repeated(["drawn", "sigmoid"], (700, 2000), 40, ["ece"]).draws())
    np.testing.assert_array_equal(frames[0]["value"], frames[1]["value"])


def test_it_tells_how_far_it_is_and_stops_when_told():
    told = []
    lab.repeated("drawn", (100, 20_000), 4, ["ece"], progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 100
    assert len(told) > 2

    class Stop(Exception):
        pass

    def stop(percent):
        raise Stop

    with pytest.raises(Stop):
        lab.repeated("drawn", 20_000, 50, ["ece"], progress=stop)


def test_what_cannot_be_answered_says_why_and_leaves_the_rest():
    run = lab.repeated("three-classes", 12, 3, ["skce", "ece"], ["canonical", "confidence"], ["lece"])
    frame = run.frame()
    assert (frame["note"] != "").sum() >= 3
    answered = frame[(frame["estimator"] == "ece") & (frame["reduction"] == "confidence") & (frame["calibrator"] == "")]
    assert answered["draws"].item() == 3
    assert frame.loc[frame["reduction"] == "canonical", "true"].isna().all()


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"n": 0}, "n is 0"),
        ({"n": ()}, "at least one"),
        ({"draws": 0}, "draws is 0"),
        ({"estimators": ()}, "at least one"),
        ({"estimators": ("ece", "ece")}, "ece, ece: a name occurs twice"),
        ({"truths": []}, "at least one"),
        ({"n": 10_000_000, "draws": 101}, "would draw 1,010,000,000 rows; the limit is 1,000,000,000"),
    ],
)
def test_bad_input_is_refused(how, why):
    with pytest.raises(InputError, match=why):
        lab.repeated(**{"truths": "drawn", "n": 20, "draws": 2, **how})


def test_over_truths_a_value_is_their_median_between_their_quartiles():
    values = [0.1, 0.9, 0.2, 0.4, 0.3]
    frame = pd.DataFrame({"series": "ECE", "x": 30, "bins": np.nan, "value": values, "draws": 2, "note": ""})
    (found,) = _over_truths(frame).to_dict("records")
    assert [found[name] for name in ("low", "value", "high")] == [sorted(values)[i] for i in (1, 2, 3)]
    assert found["draws"] == 10


def test_experiments_are_of_more_and_more_rows_and_enough_to_fit():
    assert all(list(each.n) == sorted(each.n) and each.n[0] >= 30 for each in EXPERIMENTS.values())
