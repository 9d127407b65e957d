"""Leaderboard of the arena: numbers of small tables that are worked by hand in the tests."""

import math

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core.arena import mean_ranks, results_in, table

NAN = float("nan")


def results(losses, errors=None):
    """Return results of three methods in the experiments a/m1, a/m2 and b/m1; NaN is a failure."""
    places = [("a", "m1", 100, 2), ("a", "m2", 100, 2), ("b", "m1", 3000, 5)]
    lines = []
    for i, (dataset, model, rows, classes) in enumerate(places):
        for method, column in losses.items():
            error = (errors or {}).get(method, [0.01] * 3)[i]
            lines.append(
                {
                    "dataset": dataset, "model": model, "cal_size": rows, "test_size": 1000, "n_classes": classes,
                    "method": method, "brier": column[i] / 2, "log_loss": column[i], "accuracy": 1 - column[i],
                    "log_loss_error": error, "fit_seconds": 0.25 * i, "apply_seconds": 0.5, "recipe": "", "reason": "",
                }
            )  # fmt: skip
    return pd.DataFrame(lines)


WORKED = {"identity": [0.5, 0.6, 0.2], "x": [0.4, 0.66, 0.1], "y": [0.5, 0.54, NAN]}
"""Method y ties in a/m1 and fails in b/m1, where it then counts as identity."""


def board(losses=WORKED, errors=None, **options):
    return table(results(losses, errors), **options).frame().set_index("method")


def test_win_rate_is_the_mean_share_of_other_methods_that_lose():
    """a/m1: x beats both, identity and y tie; a/m2: y beats both, x none; b/m1: as a/m1.

    x: (1 + 0 + 1) / 3; y: (.25 + 1 + .25) / 3; identity: (.25 + .5 + .25) / 3.
    """
    found = board()
    assert found.index.tolist() == ["x", "y", "identity"]
    assert found["win_rate"].tolist() == pytest.approx([2 / 3, 1.5 / 3, 1 / 3])


def test_improvement_is_the_mean_difference_to_identity():
    """x: (.1 - .06 + .1) / 3 = .14 / 3; y: (0 + .06 + 0) / 3; Brier scores here are half, accuracies 1 - loss."""
    found = board().loc[["x", "y", "identity"]]
    assert found["improvement"].tolist() == pytest.approx([140 / 3, 20, 0])
    assert found["brier_improvement"].tolist() == pytest.approx([70 / 3, 10, 0])
    assert found["accuracy_change"].tolist() == pytest.approx([0.14 / 3, 0.02, 0])


def test_ratio_is_a_geometric_mean_of_limited_ratios():
    """x: .8, 1.1 and .5; y: 1, .9 and 1. A ratio of .01 counts as .5 (x below), one of 30 as 2 (y)."""
    assert board().loc[["x", "y"], "ratio"].tolist() == pytest.approx([1 - 0.44 ** (1 / 3), 1 - 0.9 ** (1 / 3)])
    extreme = board(WORKED | {"x": [0.005, 0.6, 0.2], "y": [0.5, 18.0, 0.2]})
    assert extreme.loc[["x", "y"], "ratio"].tolist() == pytest.approx([1 - 0.5 ** (1 / 3), 1 - 2 ** (1 / 3)])


def test_share_of_best_and_regret_compare_with_the_best_in_hindsight():
    """The best gains are .1, .06 and .1. Regrets, x: .66 - .54 in a/m2; y: .1 in both others; identity: all gains."""
    found = board().loc[["x", "y", "identity"]]
    assert found["share_of_best"].tolist() == pytest.approx([0.14 / 0.26, 0.06 / 0.26, 0])
    assert found["regret"].tolist() == pytest.approx([40, 200 / 3, 260 / 3])


def test_worse_counts_experiments_and_noise_is_two_standard_errors():
    """x is worse in a/m2 only, by .06: 1.5 standard errors of .04, or 3 of .02."""
    found = board(errors={"x": [0.01, 0.04, 0.01]})
    assert found["worse"].to_dict() == pytest.approx({"x": 1 / 3, "y": 0, "identity": 0})
    assert found["mean_harm"].to_dict() == pytest.approx({"x": 20, "y": 0, "identity": 0})
    assert found.loc["x", "worse_beyond_noise"] == 0
    assert board(errors={"x": [0.01, 0.02, 0.01]}).loc["x", "worse_beyond_noise"] == pytest.approx(1 / 3)
    failing = board({"identity": [0.5, 0.6, 0.2], "x": [0.4, 0.66, NAN]})
    assert failing.loc["x", "worse_beyond_noise"] == pytest.approx(1 / 3)  # a failure is not worse, but it counts
    unknown = board(errors={"x": [0.01, NAN, NAN]}).loc["x", "worse_beyond_noise"]
    assert unknown == 0  # of the one experiment whose noise is known
    assert math.isnan(board(errors={"x": [NAN] * 3}).loc["x", "worse_beyond_noise"])


def test_intervals_are_of_data_sets_drawn_whole():
    """Two data sets: both a with probability 1/4, one of each 1/2, both b 1/4, so 90 % includes all three means.

    Win rates of x: .5 in a, 1 in b, 2/3 in both. Draws of experiments would have 0 among the lowest 5 % (7 / 27).
    """
    found = board().loc["x"]
    assert (found["win_rate_low"], found["win_rate_high"]) == pytest.approx((0.5, 1.0))
    assert (found["improvement_low"], found["improvement_high"]) == pytest.approx((20, 100))
    assert (found["share_of_best_low"], found["share_of_best_high"]) == pytest.approx((0.04 / 0.16, 1.0))
    middle = board(level=0.3).loc["x"]  # between the 35th and the 65th percentile only the mixed draw is left
    assert (middle["win_rate_low"], middle["win_rate_high"]) == pytest.approx((2 / 3, 2 / 3))
    one = table(results(WORKED).query("dataset == 'a'")).frame()
    assert one["win_rate_low"].isna().all()
    assert one["win_rate"].notna().all()


def test_intervals_are_those_of_a_slow_bootstrap():
    rng = np.random.default_rng(3)
    lines = results(WORKED)
    lines["model"] = lines["dataset"] + lines["model"]
    many = pd.concat([lines.assign(dataset=f"d{i}", log_loss=rng.uniform(0.3, 0.7, 9)) for i in range(12)])
    found = table(many, samples=4000).frame().set_index("method").loc["x"]
    means = []
    gains = {
        name: [1000 * (losses["identity"] - losses["x"]) for _, each in part.groupby("model")
               for losses in [dict(zip(each["method"], each["log_loss"], strict=True))]]
        for name, part in many.groupby("dataset")
    }  # fmt: skip
    for _ in range(4000):
        drawn = [gain for name in rng.choice(list(gains), len(gains)) for gain in gains[name]]
        means.append(np.mean(drawn))
    assert (found["improvement_low"], found["improvement_high"]) == pytest.approx(
        tuple(np.quantile(means, (0.05, 0.95))), abs=0.1 * np.std(means)
    )


def test_regret_by_calibration_rows_and_classes():
    found = table(results(WORKED)).by_size
    groups = found.drop_duplicates(["rows", "classes"])[["rows", "classes", "experiments"]].to_numpy().tolist()
    assert groups == [["up to 200", "up to 2", 2], ["1,001 to 5,000", "3 to 10", 1]]
    assert found.query("method == 'x'")["regret"].tolist() == pytest.approx([60, 0])


def test_failures_are_counted_and_a_method_without_numbers_is_left_out():
    found = table(results(WORKED | {"z": [NAN] * 3}))
    assert found.frame().set_index("method")["failed"].to_dict() == {"x": 0, "y": 1, "identity": 0}
    assert found.notes == (
        "Without any number, and left out: z.",
        "Failed in some experiments, where they count as no calibration: y (1).",
    )
    with pytest.raises(cc.InputError, match="no method 'identity'"):
        table(results({"x": [0.1] * 3}))


def test_seconds_are_the_median_of_fit_and_apply():
    assert board().loc["x", "seconds"] == 0.75


def test_mean_ranks_and_the_critical_difference():
    """Ranks of identity, x, y in a: (2.5, 1, 2.5) and (2, 3, 1), on average 2.25, 2, 1.75; in b 2.5, 1, 2.5.

    The critical difference of three methods at .95 is 2.343 sqrt(3 * 4 / (6 * 2)) (Demšar 2006, Table 5).
    """
    found = mean_ranks(results(WORKED), level=0.95)
    assert found.frame().set_index("method")["rank"].to_dict() == {"x": 1.5, "y": 2.125, "identity": 2.375}
    assert found.critical_difference == pytest.approx(2.343, abs=1e-3)
    lines = found.frame()
    assert (lines["high"] - lines["low"]).tolist() == pytest.approx([found.critical_difference] * 3)


@pytest.mark.parametrize(("methods", "quantile"), [(2, 1.645), (10, 2.920)])
def test_quantiles_are_those_of_demsars_table(methods, quantile):
    """Demšar 2006, Table 5, row q_.10."""
    losses = {"identity": [0.5, 0.6, 0.2]} | {f"m{i}": [0.4 + i / 100] * 3 for i in range(methods - 1)}
    expected = quantile * math.sqrt(methods * (methods + 1) / 12)
    assert mean_ranks(results(losses)).critical_difference == pytest.approx(expected, rel=5e-4)


def test_published_results_of_calarena_can_be_read(tmp_path):
    """Log losses, Brier scores and accuracies of four experiments as its repository has them (cv-binary, pneumonia).

    Isotonic: first, second worst, worst, first; temperature scaling: second, first, first, second.
    """
    published = {
        "Base-model": [(0.27783870697021484, 3.129692554473877, 0.8461538553237915, 0),
                       (0.1813345104455948, 2.499183416366577, 0.9022436141967773, 0),
                       (0.1825736165046692, 2.1164441108703613, 0.9006410241127014, 0),
                       (0.2989346385002136, 3.48983097076416, 0.8349359035491943, 0)],
        "TS": [(0.22741875052452087, 0.5910950899124146, 0.8461538553237915, 0.0036794133484363556),
               (0.15413115918636322, 0.6882967948913574, 0.9022436141967773, 0.003666013479232788),
               (0.1618022918701172, 0.7425543069839478, 0.9006410241127014, 0.0036969073116779327),
               (0.23979942500591278, 0.5518753528594971, 0.8349359035491943, 0.003814779222011566)],
        "Isotonic": [(0.24140688966603846, 0.4699654709559125, 0.8108974099159241, 0.006567081087268889),
                     (0.15889992783857293, 2.6717747284418114, 0.8942307829856873, 0.0065825049532577395),
                     (0.1336198180921758, 4.391978174408801, 0.9230769276618958, 0.006585814990103245),
                     (0.24661764432034636, 0.43656640700042587, 0.8349359035491943, 0.006481048068962991)],
    }  # fmt: skip
    for name, lines in published.items():
        columns = [f"{name}_{score}" for score in ("brier", "logloss", "accuracy", "time")]
        frame = pd.DataFrame(lines, columns=columns)
        models = ["beit", "convnext", "resnet50", "vit"]
        frame.insert(0, "dataset", "pneumonia")
        frame.insert(1, "model", models)
        frame.insert(2, "cal_size", 524)
        frame.insert(3, "test_size", 624)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    found = table(results_in(tmp_path)).frame().set_index("method")
    assert found["win_rate"].to_dict() == {"TS": 0.75, "Isotonic": 0.5, "identity": 0.25}
    assert found.loc["Isotonic", "worse"] == 0.5
    by_hand = 1000 * np.mean([row[1] - ts[1] for row, ts in zip(published["Base-model"], published["TS"], strict=True)])
    assert found.loc["TS", "improvement"] == pytest.approx(by_hand)
    assert found.loc["TS", "seconds"] == pytest.approx(np.median([row[3] for row in published["TS"]]))
    assert found["worse_beyond_noise"].drop("identity").isna().all()


def test_the_picture_of_mean_ranks_is_its_frame():
    found = mean_ranks(results(WORKED))
    lines, figure = found.frame(), cc.figures.draw(found)
    (marks,) = figure.data
    assert list(marks.x) == lines["rank"].tolist()
    assert (np.array(marks.x) + marks.error_x.array).tolist() == pytest.approx(lines["high"].tolist())
    assert (np.array(marks.x) - marks.error_x.arrayminus).tolist() == pytest.approx(lines["low"].tolist())
    assert list(figure.layout.yaxis.ticktext) == lines["title"].tolist()
    assert figure.layout.annotations[0].text == "Critical difference 2.05 (90 % level, 2 data sets)"


def test_win_rates_regrets_and_ranks_are_those_of_loops():
    """Losses are multiples of .05, so that many tie."""
    rng = np.random.default_rng(4)
    losses = {name: (0.3 + 0.05 * rng.integers(0, 5, 3)).tolist() for name in ("identity", "x", "y", "z", "u")}
    found = board(losses)
    for name, own in losses.items():
        others = [other for other in losses if other != name]
        wins = regret = rank = 0.0
        for e in range(3):
            for other in others:
                wins += 1.0 if losses[other][e] > own[e] else 0.5 if losses[other][e] == own[e] else 0.0
                rank += 1.0 if losses[other][e] < own[e] else 0.5 if losses[other][e] == own[e] else 0.0
            regret += own[e] - min(column[e] for column in losses.values())
        assert found.loc[name, "win_rate"] == pytest.approx(wins / 12)
        assert found.loc[name, "regret"] == pytest.approx(1000 * regret / 3)
        assert found.loc[name, "rank"] == pytest.approx(1 + rank / 3)
