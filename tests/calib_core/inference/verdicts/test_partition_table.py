"""Canonical errors by partition, and descriptions of divisions: the lines of single calls, progress, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import calib_core as cc
from calib_core import InputError, NotAnswerable, Predictions, estimate
from calib_core.datasets import truth, valk_kull
from calib_core.inference import canonical_errors, estimate_line


def test_lines_are_those_of_single_estimates_and_progress_is_told() -> None:
    rows = valk_kull(400).predictions
    shares: list[int] = []
    table = canonical_errors(rows, ["grid", "sierpinski"], 0.05, progress=shares.append)
    assert table["partition"].tolist() == ["Grid", "Grid", "Sierpinski triangles", "Sierpinski triangles"]
    for (_, line), (bins, key) in zip(
        table.iterrows(), [(b, k) for b in ("grid", "sierpinski") for k in ("ece", "rmsce")], strict=True
    ):
        record = estimate_line(cc.estimate(rows, "canonical", key, bins), 0.05).record()
        assert {name: line[name] for name in record} == record
    assert shares == sorted(shares)
    assert shares


def test_what_cannot_be_answered_is_refused_and_work_can_be_stopped() -> None:
    with pytest.raises(NotAnswerable, match="no partition"):
        canonical_errors(valk_kull(20).predictions, [])
    with pytest.raises(NotAnswerable, match=r"have only \(confidence, correct\)"):
        canonical_errors(Predictions.from_confidence([0.9, 0.8], [True, False]), ["grid"])

    def stop(percent: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        canonical_errors(valk_kull(20).predictions, ["grid"], progress=stop)


def test_a_division_counts_its_rows_and_a_part_is_recalibrated() -> None:
    rows = cc.calls.divide(valk_kull(300).predictions, share=0.4)
    frame = rows.frame().set_index("part")
    assert frame["rows"].tolist() == [rows.fit.n_rows, rows.test.n_rows]
    assert frame.loc["test", "confidence"] == pytest.approx(rows.test.probs.max(axis=1).mean())
    assert frame.loc["calibration", "accuracy"] == pytest.approx(rows.fit.correct.mean())
    fitted = cc.calls.fitted(rows, "temperature")
    for part, given in (("fit", rows.fit), ("test", rows.test)):
        np.testing.assert_array_equal(cc.calls.recalibrated(rows, fitted, part).probs, fitted.apply(given).probs)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="part is 'all'"):
        cc.calls.recalibrated(rows, fitted, "all")  # type: ignore[arg-type]


def test_confidence_is_over_the_answered_rows_by_weight() -> None:
    rows = Predictions([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3]], [0] * 3, weights=[1, 3, 5], abstained=[False, False, True])
    assert rows.mean_confidence == pytest.approx((0.9 + 3 * 0.6) / 4)


def test_truth_is_known_of_generated_data_only() -> None:
    with pytest.raises(NotAnswerable, match=r"true probabilities of .* are unknown"):
        truth("wine-logistic")


def test_a_line_without_cells_is_added_where_it_is_wanted() -> None:
    rows = valk_kull(150).predictions
    plain, more = (canonical_errors(rows, ["grid"], smoothed=wanted) for wanted in (False, True))
    pd.testing.assert_frame_equal(more[:-1], plain, check_dtype=False)
    line, alone = more.iloc[-1], estimate(rows, "canonical", "canonical-kde")
    assert (line["partition"], line["norm"]) == ("none: Dirichlet kernels", "L1")
    assert (line["value"], line["low"], line["p"]) == (alone.value, alone.interval().low, alone.p_value)
