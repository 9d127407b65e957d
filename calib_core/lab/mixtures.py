"""Models fitted to Gaussian mixtures whose true class probabilities are known (P5 §5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.errors import as_whole
from calib_core._base.parallel import chunks, one_blas_thread
from calib_core.datasets import Seed, Synthetic
from calib_core.defaults import SEED
from calib_core.lab.truths import MOST_ROWS, TRUTHS
from calib_core.predictions.predictions import Predictions
from calib_core.registry.registry import Choice, Range

MODES = 4
TRAIN_ROWS = 300
_ROWS = 1024
"""Rows whose distances from all Gaussians fit the processor's cache."""


def _sklearn() -> Any:
    """scikit-learn's models, loaded when the first is fitted, which takes a second."""
    import sklearn.calibration
    import sklearn.ensemble
    import sklearn.linear_model
    import sklearn.naive_bayes
    import sklearn.svm

    return sklearn


def _support_vectors(seed: int) -> Any:
    """Their margins become probabilities by Platt scaling."""
    return _sklearn().calibration.CalibratedClassifierCV(_sklearn().svm.SVC(), ensemble=False, cv=3)


MODELS: dict[str, tuple[str, Callable[[int], Any]]] = {
    "logistic": ("Logistic regression", lambda seed: _sklearn().linear_model.LogisticRegression(max_iter=2000)),
    "naive-bayes": ("Naive Bayes", lambda seed: _sklearn().naive_bayes.GaussianNB()),
    "support-vectors": ("Support vectors", _support_vectors),
    "random-forest": ("Random forest", lambda seed: _sklearn().ensemble.RandomForestClassifier(100, random_state=seed)),
}
"""The four families of models: title, and a fresh one for a seed."""
SLOWER = {"support-vectors": 2, "random-forest": 2}
"""Models that take long to judge a row: as many times fewer rows stand for their law."""


@dataclass(frozen=True, eq=False)
class Modes:
    """P(x | class) is a mean of Gaussians, ``means`` (K, modes, d) and ``roots`` A (K, modes, d, d) of A A^T."""

    means: Float64s
    roots: Float64s

    @classmethod
    def drawn(cls, classes: int, features: int, rng: np.random.Generator) -> Modes:
        """Means uniform in [-2, 2], entries of A uniform in [-1, 1]: ours, where the paper's text leaves it open."""
        shape = (classes, MODES, features)
        return cls(rng.uniform(-2, 2, shape), rng.uniform(-1, 1, (*shape, features)))

    def features(self, n: int, rng: np.random.Generator) -> tuple[Float64s, Codes]:
        """n rows of features, their classes equally frequent."""
        classes = len(self.means)
        labels, mode = rng.integers(classes, size=n), rng.integers(MODES, size=n)
        return self._around(labels, mode, rng), labels

    def in_turn(self, n: int, rng: np.random.Generator) -> tuple[Float64s, Codes]:
        """n rows, from each Gaussian in turn: as a mean over the law, with less noise than of rows drawn at random."""
        labels, mode = np.divmod(np.arange(n) % (len(self.means) * MODES), MODES)
        return self._around(labels, mode, rng), labels

    def _around(self, labels: Codes, mode: Codes, rng: np.random.Generator) -> Float64s:
        noise = rng.standard_normal((len(labels), self.means.shape[2]))
        return np.asarray(self.means[labels, mode] + np.einsum("nij,nj->ni", self.roots[labels, mode], noise))

    def posterior(self, x: Float64s) -> Float64s:
        """P(class | x), shape (n, K)."""
        classes, modes, d = self.means.shape
        inverse, scale = np.linalg.inv(self.roots), np.linalg.slogdet(self.roots)[1].ravel()
        # One product stands for all Gaussians, and squares are added up along whole lines of memory.
        middle = np.einsum("kmij,kmj->ikm", inverse, self.means).ravel()
        across = inverse.transpose(3, 2, 0, 1).reshape(d, -1)
        found = np.empty((len(x), classes))
        for rows in chunks(len(x), _ROWS):
            away = np.square(x[rows] @ across - middle).reshape(-1, d, classes * modes).sum(axis=1)
            log = away / -2 - scale
            density = np.exp(log - log.max(axis=1, keepdims=True)).reshape(-1, classes, modes).sum(axis=2)
            found[rows] = density / density.sum(axis=1, keepdims=True)
        return found


@TRUTHS.register("mixture", "A model on Gaussian mixtures", reference="P5 §5.1")
@dataclass(frozen=True)
class Mixture:
    """A model fitted on 300 rows, each class a mixture of four Gaussians, judged where every probability is known.

    P(class | features) follows from the mixtures, whatever the model says. ``mixture`` and ``training`` number the
    mixtures and the rows the model was fitted on. What can mislead: the model is one draw; another mixture, or other
    rows, give another error.

    References: P5 §5.1.

    >>> Mixture(classes=2).sample(5).true_probs.shape
    (5, 2)
    """

    model: Annotated[
        str, Choice(tuple(MODELS), titles=tuple(title for title, _ in MODELS.values())), "Model", "the family of model"
    ] = "naive-bayes"
    classes: Annotated[int, Range(2, 12), "Classes", "number of classes"] = 5
    features: Annotated[int, Range(1, 20), "Features", "number of features"] = 5
    mixture: Annotated[
        int, Range(0, 9999), "Which mixture (number)", "another number draws other means and spreads of the classes"
    ] = 0
    training: Annotated[
        int, Range(0, 9999), "Which training rows (draw number)", "another number fits the model on other 300 rows"
    ] = 0

    def sample(self, n: int, random_state: Seed = SEED) -> Synthetic:
        as_whole(n, "n", 1, MOST_ROWS)
        return self._judged(self._modes.features(n, np.random.default_rng(random_state)))

    def population(self, rows: int) -> Synthetic:
        n = max(1, rows // SLOWER.get(self.model, 1))
        return self._judged(self._modes.in_turn(n, np.random.default_rng([self.mixture, SEED])))

    @property
    def _modes(self) -> Modes:
        return _modes(self.classes, self.features, self.mixture)

    def _judged(self, drawn: tuple[Float64s, Codes]) -> Synthetic:
        x, labels = drawn
        with one_blas_thread():
            return Synthetic(Predictions(_fitted(self).predict_proba(x), labels), self._modes.posterior(x))


@lru_cache(maxsize=16)
def _modes(classes: int, features: int, mixture: int) -> Modes:
    return Modes.drawn(classes, features, np.random.default_rng([mixture, classes, features]))


@lru_cache(maxsize=16)
def _fitted(truth: Mixture) -> Any:
    rng = np.random.default_rng([truth.training, truth.mixture, truth.classes, truth.features])
    x, labels = truth._modes.features(TRAIN_ROWS, rng)
    with one_blas_thread():
        return MODELS[truth.model][1](truth.training).fit(x, labels)
