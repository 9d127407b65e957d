"""Known distributions of predictions and outcomes: curves of true frequency by score, and models.

The models are fitted to Gaussian mixtures with known class probabilities (P5 §5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Protocol

import numpy as np
from scipy.special import expit, logit

from calib_core._base.arrays import Bools, Codes, Float64s
from calib_core._base.distributions import beta
from calib_core._base.errors import as_whole
from calib_core._base.parallel import chunks, one_blas_thread
from calib_core.datasets import Seed, Synthetic, drawn_labels, true_valk_kull, valk_kull
from calib_core.defaults import SEED
from calib_core.predictions.predictions import Predictions
from calib_core.reductions.base import REDUCTIONS, Reduction
from calib_core.registry.registry import Choice, Range, Recipe, Registry, RegistryError, Shares

__all__ = ["TRUTHS", "Drawn", "ExampleOne", "JumpingCurve", "SigmoidCurve", "ThreeClasses", "Truth", "TruthKind"]

MOST_ROWS = 10_000_000
APART = 2.0**-40
"""Distance between scores that represent one value but differ in frequency; a power of two, like ``CELLS``."""
CELLS = 2**10, 2**14
"""Fewest and most scores that represent all, each the middle of its cell.

They are powers of two, so both z and 1 - z are among them.
"""


class Truth(Protocol):
    """Known distribution of predictions and true class probabilities."""

    def sample(self, n: int, random_state: Seed = SEED) -> Synthetic:
        """Return n independent rows with labels, and the probabilities from which the labels were drawn."""

    def population(self, rows: int) -> Synthetic:
        """Return rows that represent the whole distribution: weighted, or a seeded sample of about this size."""


@dataclass(frozen=True)
class TruthKind:
    """Properties of a known distribution: exact or simulated population, and default notion.

    ``notion`` is a key of REDUCTIONS; for a single class it is the second one, which the scores are about.
    ``movable``: its curve is defined by ``points`` that can be ``moved``.
    """

    exact: bool = False
    notion: str = "confidence"
    movable: bool = False

    @property
    def reduction(self) -> Reduction:
        """Default notion."""
        return REDUCTIONS.make(self.notion, **({"cls": 1} if self.notion == "class-specific" else {}))


TRUTHS: Registry[Truth] = Registry("TRUTHS", flags=TruthKind())

_ONE_CLASS = TruthKind(exact=True, notion="class-specific")


def as_truth(truth: str | Recipe | Truth) -> Truth:
    """Return the distribution given by key, by recipe or as an object."""
    member: Truth = (
        TRUTHS.make(truth) if isinstance(truth, str) else truth.build() if isinstance(truth, Recipe) else truth
    )
    if TRUTHS.find(member) is None:
        raise RegistryError(f"{type(member).__name__} is not registered in {TRUTHS.family}")
    return member


def kind_of(truth: Truth) -> TruthKind:
    """Return the properties of a distribution."""
    declared: TruthKind = TRUTHS.flags(truth)
    return declared


class _Curve:
    """Two classes: scores z of the second class, which is true with probability ``accuracy(z)``."""

    low, high = 0.0, 1.0

    def accuracy(self, scores: Float64s) -> Float64s:
        """Return P(y = 1 | z)."""
        raise NotImplementedError

    def below(self, scores: Float64s) -> Float64s:
        """Return the share of rows with a score below these."""
        return np.asarray(np.clip((scores - self.low) / (self.high - self.low), 0, 1))

    def scores(self, n: int, rng: np.random.Generator) -> Float64s:
        """Draw n scores."""
        return self.low + (self.high - self.low) * rng.random(n)

    def sample(self, n: int, random_state: Seed = SEED) -> Synthetic:
        """Draw n rows: first all scores, then all outcomes."""
        as_whole(n, "n", 1, MOST_ROWS)
        rng = np.random.default_rng(random_state)
        scores = self.scores(n, rng)
        truth = self.accuracy(scores)
        return _of_two(scores, truth, rng.random(n) < truth)

    def population(self, rows: int) -> Synthetic:
        """Return scores in the middle of equal cells, weighted by the share of rows in the cell."""
        cells = int(np.clip(2 ** (rows.bit_length() - 4), *CELLS))
        scores = (np.arange(cells) + 0.5) / cells
        share = np.diff(self.below(np.arange(cells + 1) / cells))
        scores, share = scores[share > 0], share[share > 0]
        return _of_two(scores, self.accuracy(scores), np.zeros(len(scores), dtype=bool), share)


def _of_two(scores: Float64s, truth: Float64s, hits: Bools, weights: Float64s | None = None) -> Synthetic:
    probs, true_probs = (np.column_stack([1 - positive, positive]) for positive in (scores, truth))
    return Synthetic(Predictions(probs, hits.astype(np.intp), class_names=["no", "yes"], weights=weights), true_probs)


@TRUTHS.register("sigmoid", "Sigmoid of the log-odds", reference="P2 App. E, experiment (A)", flags=_ONE_CLASS)
@dataclass(frozen=True)
class SigmoidCurve(_Curve):
    """Scores are uniform; the log-odds of the true probability are slope × the log-odds of the score + shift.

    P(y = 1 | z) = 1 / (1 + exp(-(a log(z / (1 - z)) + c))), with slope a and shift c. With a = 1
    and c = 0 the scores are calibrated.

    References: P2 App. E.

    >>> SigmoidCurve().accuracy(np.array([0.5])).round(4).tolist()
    [0.7311]
    """

    slope: Annotated[float, Range(0.1, 5, 0.1), "Slope", "a, the factor of the log-odds"] = 2.0
    shift: Annotated[float, Range(-3, 3, 0.1), "Shift", "c, added to the log-odds"] = 1.0

    def accuracy(self, scores: Float64s) -> Float64s:
        return np.asarray(expit(self.slope * logit(scores) + self.shift))


@TRUTHS.register("jumping", "Sigmoid with jumps", reference="P2 App. E, experiment (B)", flags=_ONE_CLASS)
@dataclass(frozen=True)
class JumpingCurve(SigmoidCurve):
    """Like sigmoid, but each true probability is then raised or lowered by a jump, at random.

    P(y = 1 | z) = sigmoid(a log-odds + c) + h(z) with h(z) = + or - ``jump``: a fixed sign per score, which no smooth
    map can represent. Scores are uniform over .25 to .75. Probabilities below 0 or above 1 become 0 or 1.

    References: P2 App. E.

    >>> JumpingCurve(jump=0.0).accuracy(np.array([0.5])).round(4).tolist()
    [0.7311]
    """

    jump: Annotated[float, Range(0, 0.2, 0.01), "Jump", "distance of the true curve from the sigmoid"] = 0.02
    low, high = 0.25, 0.75

    def accuracy(self, scores: Float64s) -> Float64s:
        return np.clip(super().accuracy(scores) + self.jump * _coin(scores), 0, 1)

    def population(self, rows: int) -> Synthetic:
        """Return four adjacent scores in every cell, one per pair of signs of z and 1 - z.

        Every sign then has its probability, both for one class and for confidences, which combine z and 1 - z.
        """
        smooth = super().population(rows).predictions
        scores, share = smooth.probs[:, 1], np.ones(smooth.n_rows) if smooth.weights is None else smooth.weights
        side = np.where(scores < 0.5, 1.0, -1.0)
        apart = (scores[:, None] + side[:, None] * APART * np.arange(4)).ravel()
        signs = np.where(side[:, None] > 0, [1.0, -1.0, -1.0, 1.0], [1.0, 1.0, -1.0, -1.0]).ravel()
        truth = np.clip(super().accuracy(apart) + self.jump * signs, 0, 1)
        return _of_two(apart, truth, np.zeros(len(apart), dtype=bool), np.repeat(share / 4, 4))


def _coin(scores: Float64s) -> Float64s:
    """Return +1 or -1 from the bits of a score, by the finalizer of SplitMix64: always the same sign for a score."""
    bits = np.ascontiguousarray(scores, dtype=np.float64).view(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return np.where((bits >> np.uint64(40)) & np.uint64(1), 1.0, -1.0)


SPREADS = {"even": (1.0, 1.0), "middle": (4.0, 4.0), "ends": (0.5, 0.5), "high": (5.0, 1.3)}
"""Parameters (a, b) of the beta distribution of scores."""


@TRUTHS.register("drawn", "A curve of your own", flags=replace(_ONE_CLASS, movable=True))
@dataclass(frozen=True)
class Drawn(_Curve):
    """The true frequency is a line through points that you can set (shares).

    The points are at equally spaced scores from 0 to 1; the curve is linear between them and may rise or fall. Points
    on the diagonal are calibrated scores.

    >>> Drawn((0.0, 1.0)).accuracy(np.array([0.3])).tolist()
    [0.3]
    """

    shares: Annotated[
        tuple[float, ...], Shares(2, 21), "True frequency", "true frequency at scores of 0, ..., 1, from left to right"
    ] = (0.05, 0.1, 0.25, 0.5, 0.7, 0.9)
    spread: Annotated[
        str,
        Choice(tuple(SPREADS), titles=("Uniform over 0 to 1", "Around one half", "Near 0 and 1", "Towards 1")),
        "Distribution of scores",
        "distribution of the scores",
    ] = "even"

    def __post_init__(self) -> None:
        wrong = Shares(2, 21).check(self.shares)
        if wrong or self.spread not in SPREADS:
            known = ", ".join(map(repr, SPREADS))
            raise RegistryError(f"shares must be {wrong}" if wrong else f"spread must be one of {known}")

    @property
    def points(self) -> Float64s:
        """Score and frequency of every point (m, 2), from left to right."""
        return np.column_stack([np.linspace(0, 1, len(self.shares)), self.shares])

    def moved(self, point: int, share: float) -> Drawn:
        """Return the curve with one point at another frequency; RegistryError outside 0 to 1 or for an unknown point.

        >>> Drawn((0.0, 1.0)).moved(1, 0.8).shares
        (0.0, 0.8)
        """
        if not 0 <= point < len(self.shares):
            raise RegistryError(f"point is {point}; it must be a whole number from 0 to {len(self.shares) - 1}")
        return replace(self, shares=(*self.shares[:point], share, *self.shares[point + 1 :]))

    def accuracy(self, scores: Float64s) -> Float64s:
        return np.interp(scores, *self.points.T)

    def below(self, scores: Float64s) -> Float64s:
        return np.asarray(beta.cdf(scores, *SPREADS[self.spread]))

    def scores(self, n: int, rng: np.random.Generator) -> Float64s:
        return rng.beta(*SPREADS[self.spread], n)


@TRUTHS.register("three-classes", "Three classes, a known map", reference="P3 §4.1.1")
@dataclass(frozen=True)
class ThreeClasses:
    """Random predictions of three classes (Dirichlet), with a known function from these to true probabilities.

    References: P3 §4.1.1 (``datasets.valk_kull``).

    >>> ThreeClasses().sample(4).predictions.n_classes
    3
    """

    def sample(self, n: int, random_state: Seed = SEED) -> Synthetic:
        as_whole(n, "n", 1, MOST_ROWS)
        return valk_kull(n, random_state)

    def population(self, rows: int) -> Synthetic:
        probs = np.random.default_rng(SEED).dirichlet([0.5, 0.5, 0.5], rows)
        return Synthetic(Predictions(probs, np.zeros(rows, dtype=np.intp)), true_valk_kull(probs))


@TRUTHS.register(
    "example-1", "Two kinds of patient", reference="P1 §1, Example 1", flags=TruthKind(exact=True, notion="top-label")
)
@dataclass(frozen=True)
class ExampleOne:
    """Two kinds of patients with predictions of 60 %: one is right 20 % of the time, the other always.

    Rows as in ``datasets.example_1``, drawn at random: each kind has probability one half. Confidence calibration shows
    no error, but each predicted class has an error of 40 points.

    References: P1 §1, Example 1.

    >>> ExampleOne().population(2).predictions.probs.tolist()
    [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]]
    """

    def sample(self, n: int, random_state: Seed = SEED) -> Synthetic:
        as_whole(n, "n", 1, MOST_ROWS)
        rng = np.random.default_rng(random_state)
        law, kind = self.population(2), rng.integers(2, size=n)
        true_probs = law.true_probs[kind]
        return Synthetic(law.predictions.take(kind).relabelled(drawn_labels(true_probs, rng)), true_probs)

    def population(self, rows: int) -> Synthetic:
        probs = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]])
        names = ["disease 1", "disease 2", "disease 3"]
        return Synthetic(Predictions(probs, [0, 1], class_names=names), np.array([[0.2, 0.4, 0.4], [0.0, 1.0, 0.0]]))


MODES = 4
TRAIN_ROWS = 300
_ROWS = 1024
"""Number of rows whose distances from all Gaussians fit in the processor's cache."""


def _sklearn() -> Any:
    """Return scikit-learn, imported with the first model as it takes a second."""
    import sklearn.calibration
    import sklearn.ensemble
    import sklearn.linear_model
    import sklearn.naive_bayes
    import sklearn.svm

    return sklearn


def _support_vectors(seed: int) -> Any:
    """Support vector classifier with probabilities by Platt scaling."""
    return _sklearn().calibration.CalibratedClassifierCV(_sklearn().svm.SVC(), ensemble=False, cv=3)


MODELS: dict[str, tuple[str, Callable[[int], Any]]] = {
    "logistic": ("Logistic regression", lambda seed: _sklearn().linear_model.LogisticRegression(max_iter=2000)),
    "naive-bayes": ("Naive Bayes", lambda seed: _sklearn().naive_bayes.GaussianNB()),
    "support-vectors": ("Support vectors", _support_vectors),
    "random-forest": ("Random forest", lambda seed: _sklearn().ensemble.RandomForestClassifier(100, random_state=seed)),
}
"""The four families of models: title, and constructor for a seed."""
SLOWER = {"support-vectors": 2, "random-forest": 2}
"""Slow models, with the factor by which fewer rows represent their distribution."""


@dataclass(frozen=True, eq=False)
class Modes:
    """Mixtures of Gaussians P(x | class), with ``means`` (K, modes, d) and ``roots`` A (K, modes, d, d) of A A^T."""

    means: Float64s
    roots: Float64s

    @classmethod
    def drawn(cls, classes: int, features: int, rng: np.random.Generator) -> Modes:
        """Draw means uniform in [-2, 2] and entries of A uniform in [-1, 1], which the paper does not specify."""
        shape = (classes, MODES, features)
        return cls(rng.uniform(-2, 2, shape), rng.uniform(-1, 1, (*shape, features)))

    def features(self, n: int, rng: np.random.Generator) -> tuple[Float64s, Codes]:
        """Draw n rows of features with equally frequent classes."""
        classes = len(self.means)
        labels, mode = rng.integers(classes, size=n), rng.integers(MODES, size=n)
        return self._around(labels, mode, rng), labels

    def in_turn(self, n: int, rng: np.random.Generator) -> tuple[Float64s, Codes]:
        """Draw n rows from each Gaussian in turn: means over them have less noise than over random rows."""
        labels, mode = np.divmod(np.arange(n) % (len(self.means) * MODES), MODES)
        return self._around(labels, mode, rng), labels

    def _around(self, labels: Codes, mode: Codes, rng: np.random.Generator) -> Float64s:
        noise = rng.standard_normal((len(labels), self.means.shape[2]))
        return np.asarray(self.means[labels, mode] + np.einsum("nij,nj->ni", self.roots[labels, mode], noise))

    def posterior(self, x: Float64s) -> Float64s:
        """Return P(class | x), shape (n, K)."""
        classes, modes, d = self.means.shape
        inverse, scale = np.linalg.inv(self.roots), np.linalg.slogdet(self.roots)[1].ravel()
        # One product for all Gaussians; squares are summed along contiguous memory.
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
    """A model fitted on 300 rows of four Gaussian clouds per class, so that the true probabilities are known.

    P(class | features) follows from the mixtures, whatever the model predicts. ``mixture`` and ``training`` are the
    numbers of the mixtures and of the training rows. What can mislead: the model is one draw; another mixture, or other
    rows, give another error.

    References: P5 §5.1.

    >>> Mixture(classes=2).sample(5).true_probs.shape
    (5, 2)
    """

    model: Annotated[
        str, Choice(tuple(MODELS), titles=tuple(title for title, _ in MODELS.values())), "Model", "family of models"
    ] = "naive-bayes"
    classes: Annotated[int, Range(2, 12), "Classes", "number of classes"] = 5
    features: Annotated[int, Range(1, 20), "Features", "number of features"] = 5
    mixture: Annotated[
        int, Range(0, 9999), "Mixture (number)", "another number draws other means and spreads of the classes"
    ] = 0
    training: Annotated[
        int, Range(0, 9999), "Training rows (number)", "another number fits the model on 300 other rows"
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
