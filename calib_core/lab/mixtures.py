"""Models fitted to Gaussian mixtures whose true class probabilities are known (P5 §5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from scipy.special import logsumexp, softmax

from calib_core._arguments import as_whole
from calib_core._arrays import Codes, Float64s
from calib_core._parallel import one_blas_thread
from calib_core.datasets import Seed, Synthetic
from calib_core.defaults import SEED
from calib_core.lab.truths import MOST_ROWS, TRUTHS
from calib_core.params import Choice, Range
from calib_core.predictions import Predictions

MODES = 4
TRAIN_ROWS = 300


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
SLOWER = {"support-vectors": 4, "random-forest": 4}
"""Models that take so many times as long to judge a row: fewer rows stand for their law."""


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
        classes, _, d = self.means.shape
        labels, mode = rng.integers(classes, size=n), rng.integers(MODES, size=n)
        noise = np.einsum("nij,nj->ni", self.roots[labels, mode], rng.standard_normal((n, d)))
        return self.means[labels, mode] + noise, labels

    def posterior(self, x: Float64s) -> Float64s:
        """P(class | x), shape (n, K)."""
        inverse, scale = np.linalg.inv(self.roots), np.linalg.slogdet(self.roots)[1]
        log = np.empty((len(x), *scale.shape))
        for k, m in np.ndindex(scale.shape):
            log[:, k, m] = -np.square((x - self.means[k, m]) @ inverse[k, m].T).sum(axis=1) / 2 - scale[k, m]
        return np.asarray(softmax(logsumexp(log, axis=2), axis=1))


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
        rng = np.random.default_rng(random_state)
        x, labels = _modes(self.classes, self.features, self.mixture).features(n, rng)
        return self._judged(x, labels)

    def population(self, rows: int) -> Synthetic:
        return self.sample(max(1, rows // SLOWER.get(self.model, 1)), np.random.default_rng([self.mixture, SEED]))

    def _judged(self, x: Float64s, labels: Codes) -> Synthetic:
        with one_blas_thread():
            probs = _fitted(self).predict_proba(x)
        return Synthetic(Predictions(probs, labels), _modes(self.classes, self.features, self.mixture).posterior(x))


@lru_cache(maxsize=16)
def _modes(classes: int, features: int, mixture: int) -> Modes:
    return Modes.drawn(classes, features, np.random.default_rng([mixture, classes, features]))


@lru_cache(maxsize=8)
def _fitted(truth: Mixture) -> Any:
    rng = np.random.default_rng([truth.training, truth.mixture, truth.classes, truth.features])
    modes = _modes(truth.classes, truth.features, truth.mixture)
    x, labels = modes.features(TRAIN_ROWS, rng)
    with one_blas_thread():
        return MODELS[truth.model][1](truth.training).fit(x, labels)
