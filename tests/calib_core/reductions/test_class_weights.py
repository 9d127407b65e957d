"""P2's class weights: each choice is the weighted mean of the classes' own errors."""

import numpy as np
import pytest

from calib_core import REDUCTIONS, InputError, Predictions, Recipe, RegistryError, estimate
from calib_core.reductions import ClassWise


@pytest.fixture(scope="module")
def p():
    rng = np.random.default_rng(1)
    return Predictions(
        rng.dirichlet([3.0, 1.0, 0.3], 400), rng.choice(3, 400, p=[0.7, 0.2, 0.1]), weights=rng.random(400)
    )


def test_weights_of_classes_weigh_their_errors(p):
    own = estimate(p, "class-wise", "ece").per_stratum
    share = np.bincount(p.labels, p.weights) / p.weights.sum()
    for weights, w in (("equal", [1 / 3] * 3), ("share", share), ((2.0, 1.0, 1.0), [0.5, 0.25, 0.25])):
        made = estimate(p, ClassWise(weights), "ece")
        assert made.value == pytest.approx(np.dot(w, own), abs=1e-12)
        squared = estimate(p, ClassWise(weights), "rmsce")
        assert squared.value**2 == pytest.approx(np.dot(w, squared.per_stratum**2), abs=1e-12)  # P2 Def. 2.4
    assert estimate(p, "class-wise").value == estimate(p, ClassWise("equal")).value


def test_one_class_alone_is_its_own_notion(p):
    for c in range(3):
        alone = tuple(float(j == c) for j in range(3))
        assert estimate(p, ClassWise(alone)).value == pytest.approx(
            estimate(p, REDUCTIONS.make("class-specific", cls=c)).value
        )


def test_weights_are_part_of_the_recipe(p):
    for weights in ("share", (1.0, 2.0, 3.0)):
        recipe = REDUCTIONS.recipe(ClassWise(weights))
        assert Recipe.from_dict("REDUCTIONS", recipe.to_dict()).build() == ClassWise(weights)
        assert REDUCTIONS.make("class-wise", weights=weights) == ClassWise(weights)
    assert REDUCTIONS.recipe(ClassWise()).params == ()


@pytest.mark.parametrize("bad", [(0.0, 0.0), (-1.0, 2.0), (np.nan, 1.0), (np.inf, 1.0)])
def test_weights_that_are_none_are_refused(bad):
    with pytest.raises(RegistryError, match="finite, not negative and not all 0"):
        ClassWise(bad)


def test_the_wrong_number_of_weights_and_unknown_words_are_refused(p):
    with pytest.raises(InputError, match="2 weights for 3 classes"):
        ClassWise((1.0, 1.0)).split(p)
    for bad in ("other", 3, ("a", "b", "c")):
        with pytest.raises(RegistryError, match="a tuple of numbers"):
            REDUCTIONS.make("class-wise", weights=bad)
