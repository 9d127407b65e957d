"""Bins given by their edges, and messages about arguments that are neither bins nor estimates."""

from __future__ import annotations

import numpy as np
import pytest

import calib_core as cc
from calib_core.binning import Edges
from calib_core.diagrams import reliability, reliability_bands
from calib_core.inference import noise_floor
from calib_core.registry.registry import RegistryError


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    score = rng.beta(5, 1.3, 400)
    return cc.Predictions.from_confidence(score, rng.random(400) < score)


@pytest.mark.parametrize("edges", [[0, 0.6, 0.9, 1], (0.0, 0.6, 0.9, 1.0), np.array([0, 0.6, 0.9, 1])])
def test_a_list_of_edges_is_the_binning_of_these_edges(sample, edges):
    scheme = Edges((0, 0.6, 0.9, 1))
    assert cc.estimate(sample, bins=edges).value == cc.estimate(sample, bins=scheme).value
    for made in (reliability, reliability_bands):
        np.testing.assert_array_equal(made(sample, bins=edges).frame(), made(sample, bins=scheme).frame())
    assert reliability_bands(sample, bins=edges).count.tolist() == reliability(sample, bins=scheme).count.tolist()


@pytest.mark.parametrize("wrong", [2.5, ["a", "b"], [[0, 1]], [], object(), [True, False]])
@pytest.mark.parametrize("made", [reliability, reliability_bands, cc.estimate])
def test_other_bins_are_refused_by_a_sentence_that_lists_what_is_possible(sample, made, wrong):
    with pytest.raises(RegistryError, match=r"bins is .*; give a number of bins .*a list of edges"):
        made(sample, bins=wrong)


def test_edges_that_do_not_ascend_are_refused(sample):
    with pytest.raises(RegistryError, match="ascending"):
        reliability_bands(sample, bins=[1, 0.5])


def test_the_noise_floor_of_an_estimate_is_that_of_its_question(sample):
    made = cc.estimate(sample)
    floors = noise_floor(made, random_state=3), noise_floor(made.question, random_state=3)
    np.testing.assert_array_equal(*(floor.draws for floor in floors))
    assert floors[0].p_value == floors[1].p_value


@pytest.mark.parametrize("wrong", [3, None, "ece"])
def test_the_noise_floor_of_anything_else_is_refused(wrong):
    with pytest.raises(cc.InputError, match="needs an estimate"):
        noise_floor(wrong)
