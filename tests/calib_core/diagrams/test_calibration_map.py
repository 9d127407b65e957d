"""Calibration maps: the calibrator's own answers, for whole registries, and P3's conclusions on its Fig. 1 and 2."""

from __future__ import annotations

import numpy as np
import pytest

from calib_core import CALIBRATORS, InputError, NotAnswerable, Recipe
from calib_core.calibrators import Calibrator
from calib_core.datasets import true_valk_kull, valk_kull
from calib_core.diagrams import CalibrationMap, calibration_map, map_difference, true_map

FIT = valk_kull(5000, random_state=0).predictions
TRUTH = true_map(true_valk_kull)


def made(recipe: Recipe) -> Calibrator:
    return recipe.build().fit_on(FIT)


@pytest.mark.parametrize("key", [key for key in CALIBRATORS if CALIBRATORS[key].flags.classes in (None, 3)])
def test_every_calibrator_has_its_own_answers_drawn_or_says_why_not(key: str) -> None:
    fitted = made(Recipe("CALIBRATORS", key))
    if CALIBRATORS[key].flags.output in ("top-label", "top-k"):
        with pytest.raises(NotAnswerable, match="predicts only the top class"):
            calibration_map(fitted)
        return
    drawn = calibration_map(fitted, 6, cells=6)
    answers = fitted.predict_proba(drawn.start).astype(np.float64)
    sums = answers.sum(axis=1, keepdims=True)
    known = np.isfinite(drawn.to).all(axis=1)
    np.testing.assert_allclose(drawn.to[known], (answers / sums)[known], atol=1e-12)
    np.testing.assert_allclose(drawn.error, drawn.to - drawn.start)
    if CALIBRATORS[key].flags.output == "per-class":
        assert "need not sum to one; they are drawn divided by their sum" in drawn.note
    elif not CALIBRATORS[key].flags.may_refuse:
        assert known.all()
        assert drawn.note == ""


@pytest.mark.parametrize("lattice", [1, 2, 5, 12])
def test_arrows_start_inside_and_evenly(lattice: int) -> None:
    at = true_map(true_valk_kull, lattice, cells=1).start
    assert len(np.unique(at.round(9), axis=0)) == lattice * (lattice + 1) // 2
    np.testing.assert_allclose(at.sum(axis=1), 1)
    assert at.min() == pytest.approx(1 / (3 * lattice))
    # On lattice lines of step 1 / lattice, a third of a step inside: so never on a bin edge at a whole step.
    np.testing.assert_allclose((at * lattice) % 1, 1 / 3)


def test_the_frame_is_what_is_held() -> None:
    frame = TRUTH.frame()
    np.testing.assert_array_equal(frame[["start 0", "start 1", "start 2"]], TRUTH.start)
    np.testing.assert_array_equal(frame[["to 0", "to 1", "to 2"]], TRUTH.to)
    np.testing.assert_array_equal(frame[["error 0", "error 1", "error 2"]], TRUTH.to - TRUTH.start)


def test_the_ground_is_the_error_at_the_middles_of_the_small_triangles() -> None:
    coarse = true_map(true_valk_kull, 4, cells=4)
    # Of 4 x 4 small triangles those that point up are where the arrows of a lattice of 4 start.
    np.testing.assert_allclose(coarse.ground[:10], coarse.error)
    assert len(coarse.ground) == 16


def test_where_a_calibrator_abstains_nothing_is_drawn() -> None:
    fitted = made(Recipe("CALIBRATORS", "metacal-miscoverage"))
    drawn = calibration_map(fitted)
    entropy = -(drawn.start * np.log(drawn.start)).sum(axis=1)
    blank = np.isnan(drawn.to).all(axis=1)
    assert 0 < blank.sum() < len(blank)
    # P4: the uncertain rows, by entropy.
    assert entropy[blank].min() > entropy[~blank].max()
    assert "abstains on" in drawn.note
    assert np.isfinite(drawn.largest)


def test_a_map_needs_three_classes() -> None:
    two = CALIBRATORS.make("identity").fit([[0.5, 0.5]], [0])
    with pytest.raises(InputError) as caught:
        calibration_map(two)
    assert str(caught.value) == "a calibration map needs three classes; this calibrator was fitted with 2"


@pytest.mark.parametrize(("lattice", "cells"), [(0, 5), (5, 0)])
def test_a_lattice_has_a_size(lattice: int, cells: int) -> None:
    with pytest.raises(InputError, match="both must be 1 or more"):
        true_map(true_valk_kull, lattice, cells=cells)


def test_a_difference_is_of_maps_over_the_same_points() -> None:
    learned = calibration_map(made(Recipe("CALIBRATORS", "temperature")), title="TS")
    wrong = map_difference(learned, TRUTH)
    np.testing.assert_allclose(wrong.error, learned.to - TRUTH.to, atol=1e-15)
    np.testing.assert_allclose(wrong.ground, learned.ground - TRUTH.ground)
    assert wrong.title == "TS minus truth"
    with pytest.raises(InputError, match="point by point"):
        map_difference(learned, true_map(true_valk_kull, 3))


# -- P3 Fig. 1 and 2 ------------------------------------------------------------------------------------------

FIVE = {"bins": 5}
METHODS = {
    "H-LECD": {"key": "normalised", "params": {"binary": {"key": "equal-width-histogram", "params": FIVE}}},
    "H-LECE": {
        "key": "normalised",
        "params": {"binary": {"key": "lece-histogram", "params": {"binning": {"key": "equal-width", "params": FIVE}}}},
    },
    "TS": {"key": "temperature"},
    "DIR": {"key": "dirichlet", "params": {"off_diagonal": 0.0, "intercept": 0.0}},
    "LECE": {"key": "lece", "params": {"neighbours": 500}},
}


@pytest.fixture(scope="module")
def figures() -> dict[str, CalibrationMap]:
    return {
        name: calibration_map(made(Recipe.from_dict("CALIBRATORS", data)), cells=20) for name, data in METHODS.items()
    }


def test_the_true_map_is_the_papers() -> None:
    """P3 §4.1.1 by hand at the middle: raw = (3^-.8 + 1/45, 1/3 + 1/27, 1/3 + 1/90)."""
    middle = true_map(true_valk_kull, 1).to[0]
    raw = np.array([3**-0.8 + 1 / 45, 1 / 3 + 1 / 27, 1 / 3 + 1 / 90])
    np.testing.assert_allclose(middle, raw / raw.sum())


def test_under_equal_distributions_arrows_of_a_bin_meet_and_under_equal_errors_they_are_equal(
    figures: dict[str, CalibrationMap],
) -> None:
    """P3 Fig. 1: (a) the arrows point to the same place in one bin; (b) they are the same in one bin."""
    at = figures["H-LECD"].start
    _, groups = np.unique((at * 5).astype(int), axis=0, return_inverse=True)
    groups = groups.ravel()
    many = [g for g in range(groups.max() + 1) if (groups == g).sum() > 1]
    assert len(many) > 10
    for g in many:
        inside = groups == g
        assert np.ptp(figures["H-LECD"].to[inside], axis=0).max() < 1e-12
        assert np.ptp(figures["H-LECD"].error[inside], axis=0).max() > 0.01
    # The normalization after it turns arrows a little, as in the picture; in the middle of the triangle it does not.
    spread = [np.ptp(figures["H-LECE"].error[groups == g], axis=0).max() for g in many]
    assert np.median(spread) < 0.01


def test_temperature_scaling_treats_all_classes_alike(figures: dict[str, CalibrationMap]) -> None:
    """P3 Fig. 2a: "limited by its symmetric calibration map"."""
    at, to = figures["TS"].start.round(9), figures["TS"].to
    held = {tuple(row): answer for row, answer in zip(at.tolist(), to, strict=True)}
    for row, answer in held.items():
        np.testing.assert_allclose(held[row[1], row[2], row[0]], answer[[1, 2, 0]], atol=1e-9)


def test_the_maps_come_close_to_the_truth_in_the_papers_order(figures: dict[str, CalibrationMap]) -> None:
    """P3: H-LECE "imitates the true calibration map more closely" than H-LECD; TS < DIR; LECE "very similar"."""
    truth = true_map(true_valk_kull, cells=20)
    wrong = {name: float(np.abs(map_difference(one, truth).ground).mean()) for name, one in figures.items()}
    assert wrong["H-LECE"] < 0.6 * wrong["H-LECD"]
    assert wrong["DIR"] < wrong["TS"]
    assert wrong["LECE"] < wrong["TS"]
