"""Headline of a leaderboard: every number and name is recomputed from the losses of the experiments."""

import numpy as np
import pandas as pd
import pytest

from calib_core.arena import project_results, table
from calib_core.arena.contenders import BASE, RECOMMENDED, title_of
from calib_core.arena.leaderboard_words import headline
from calib_core.text import in_percent, inside

NAN = float("nan")


def results(losses):
    """Return results by method: one log loss per experiment, each on a data set of its own."""
    return pd.DataFrame(
        [
            {
                "dataset": f"d{i}", "model": "net", "cal_size": 100, "test_size": 1000, "n_classes": 2,
                "method": method, "brier": 0.2, "log_loss": loss, "accuracy": 0.9, "log_loss_error": 0.01,
                "fit_seconds": 0.1, "apply_seconds": 0.0,
            }
            for method, column in losses.items()
            for i, loss in enumerate(column)
        ]
    )  # fmt: skip


def said(**losses):
    return table(results(losses), samples=10).headline


FOUR = [0.5, 0.5, 0.5, 0.5]


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_the_headline_of_stored_results_is_that_of_their_losses(kind):
    found = project_results(kind)
    wide = found.pivot(index=["dataset", "model"], columns="method", values="log_loss")
    failed = wide.columns[wide.isna().any()]
    wide = wide.loc[:, wide.notna().any()].apply(lambda column: column.fillna(wide[BASE.name]))
    worse = wide.gt(wide[BASE.name], axis=0).mean()
    single = worse.drop([BASE.name, RECOMMENDED.name, "blend"]).drop(failed, errors="ignore")
    rates = {
        name: np.mean([(wide.drop(columns=name).gt(wide[name], axis=0).sum(axis=1)
                        + wide.drop(columns=name).eq(wide[name], axis=0).sum(axis=1) / 2) / (wide.shape[1] - 1)])
        for name in wide
    }  # fmt: skip
    harm, winner = table(found, samples=10).headline
    first, second = harm.split(". ")
    least = single[single == single.min()]
    if single.min() > 0:
        assert in_percent(single.min()) in first
        assert len(least) > 1 or f"({inside(title_of(least.index[0]))})" in first
    else:
        assert first.startswith(f"{len(least)} of {len(single)} ") or "Only one" in first
    share = worse[RECOMMENDED.name]
    assert (
        second
        == f"The recommended calibrator {f'does so in {in_percent(share)}' if share else 'never makes it worse'}."
    )
    best = max(rates, key=rates.get)
    assert winner == f"Highest win rate: {inside(title_of(best))}, {in_percent(rates[best])}."


def test_the_single_calibrator_with_the_least_harm_is_named():
    harm, winner = said(
        identity=FOUR, vector=[0.6, 0.6, 0.4, 0.4], temperature=[0.6, 0.3, 0.3, 0.3], choose=[0.55, 0.5, 0.5, 0.5]
    )
    assert harm == (
        "Even the safest single calibrator (temperature scaling) makes the log loss worse in 25 % of the experiments. "
        "The recommended calibrator does so in 25 %."
    )
    assert winner == "Highest win rate: temperature scaling, 79 %."


def test_ties_name_no_single_winner():
    harm, winner = said(identity=FOUR, vector=[0.6, 0.4, 0.4, 0.4], temperature=[0.6, 0.4, 0.4, 0.4], choose=FOUR)
    assert harm.startswith("Even the safest single calibrators make the log loss worse in 25 % of the experiments. ")
    assert harm.endswith("The recommended calibrator never makes it worse.")
    assert winner == f"Highest win rate: vector scaling, temperature scaling, {in_percent((2.5 * 3 + 0.5) / 12)}."


def test_calibrators_that_never_harm_are_counted():
    well = [0.4, 0.4, 0.4, 0.4]
    assert said(identity=FOUR, vector=well, temperature=FOUR, spline=[0.6] * 4)[0] == (
        "2 of 3 single calibrators never make the log loss worse."
    )
    assert said(identity=FOUR, vector=well, temperature=[0.6] * 4)[0] == (
        "Only one single calibrator never makes the log loss worse (vector scaling)."
    )
    assert said(identity=FOUR, vector=well)[0] == "Vector scaling never makes the log loss worse."


def test_without_a_single_or_a_recommended_calibrator():
    assert said(identity=FOUR, vector=[0.6, 0.4, 0.4, 0.4])[0] == (
        "Vector scaling makes the log loss worse in 25 % of the experiments."
    )
    assert said(identity=FOUR, choose=[0.6, 0.4, 0.4, 0.4])[0] == (
        "The recommended calibrator makes the log loss worse in 25 % of the experiments."
    )
    assert said(identity=FOUR) == ()


def test_a_method_that_fails_is_not_the_safest():
    harm, _ = said(
        identity=FOUR, vector=[0.6, 0.6, 0.4, 0.4], temperature=[0.6, 0.6, 0.6, 0.4], spline=[NAN, NAN, NAN, 0.4]
    )
    assert harm == (
        "Even the safest single calibrator without failures (vector scaling) makes the log loss worse in 50 % of the "
        "experiments."
    )


def test_of_one_experiment_the_smallest_log_loss_is_named():
    assert said(identity=[0.5], vector=[0.4], temperature=[0.6]) == (
        "Smallest log loss in the only experiment: vector scaling.",
        "Worse than no calibration: 1 of 2 methods.",
    )
    assert said(identity=[0.5], vector=[0.5], temperature=[0.6])[0] == (
        "In the only experiment, no method has a smaller log loss than the original model."
    )


def test_the_order_of_lines_does_not_change_the_headline():
    lines = table(project_results("binary"), samples=10).frame()
    assert headline(lines, 104) == headline(lines.iloc[::-1], 104)


@pytest.mark.parametrize(("by", "sign"), [("win_rate", -1), ("ratio", -1), ("worse", 1)])
def test_the_best_method_comes_first_in_every_order(by, sign):
    values = sign * table(project_results("multiclass"), by=by, samples=2).frame()[by]
    assert values.is_monotonic_increasing
    assert values.iloc[0] < values.iloc[-1]
