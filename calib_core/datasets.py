"""Predictions whose true calibration is known, and the example files with the lesson of each.

The generators return `Synthetic`: predictions with the true probability of each class. A reader, or a test, can compare
an estimate with the truth instead of with another estimate.

References: P1 Gupta & Ramdas 2022; P2 Kumar, Liang & Ma 2019; P3 Valk & Kull 2023.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit

import demo_data as examples
from calib_core._base.notebook_display import OneLine
from calib_core.defaults import SEED
from calib_core.predictions.predictions import NotAnswerable, Predictions

__all__ = [
    "DEMOS",
    "Demo",
    "Synthetic",
    "demo",
    "example_1",
    "kumar_binary",
    "six_points",
    "true_kumar",
    "true_valk_kull",
    "truth",
    "valk_kull",
]

Seed = int | np.random.Generator


@dataclass(frozen=True, eq=False, repr=False)
class Synthetic(OneLine):
    """Predictions with their true probabilities.

    `true_probs` (n, K) is P(y = l | prediction of this row, and for `example_1` its feature).
    Rows sum to 1.
    """

    predictions: Predictions
    true_probs: NDArray[np.float64]


def example_1(n: int = 1000) -> Synthetic:
    """Two kinds of patients, both with prediction 0.6: one is right 20 % of the time, the other always.

    P1 Example 1 in exact proportions, without randomness. The first n/2 rows have x = a, class 0 predicted and P(y = 0)
    = 0.2; the rest have x = b, class 1 predicted and P(y = 1) = 1. Overall, 0.6 of the predictions are right, so
    confidence calibration shows no error; each predicted class has an error of 0.4: conf-ECE = 0, TL-ECE = 0.4.

    The paper leaves the other classes free. Here K = 3 and the remainder is shared equally: predictions
    (.6, .2, .2) and (.2, .6, .2), true probabilities (.2, .4, .4) and (0, 1, 0). `n` must be a multiple of 10 for the
    proportions to be exact.

    Reference: P1 §1, Example 1.

    >>> data = example_1(10)
    >>> data.predictions.labels.tolist()
    [0, 1, 1, 2, 2, 1, 1, 1, 1, 1]
    >>> data.true_probs[[0, -1]].tolist()
    [[0.2, 0.4, 0.4], [0.0, 1.0, 0.0]]
    """
    if n < 10 or n % 10:
        raise ValueError(f"n is {n}; for exact proportions, it must be a positive multiple of 10")
    tenth = n // 10
    probs = np.repeat([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]], n // 2, axis=0)
    true_probs = np.repeat([[0.2, 0.4, 0.4], [0.0, 1.0, 0.0]], n // 2, axis=0)
    labels = np.repeat([0, 1, 2, 1], [tenth, 2 * tenth, 2 * tenth, 5 * tenth])
    names = ["disease 1", "disease 2", "disease 3"]
    metadata = pd.DataFrame({"x": np.repeat(["a", "b"], n // 2)})
    return Synthetic(Predictions(probs, labels, class_names=names, metadata=metadata), true_probs)


def six_points() -> Predictions:
    """Six predictions over four classes, few enough to compute every notion of calibration by hand.

    In the spirit of P1 App. A.2, which works through six points and four classes. The paper's numbers are only in
    Figure 3, a picture, so **these numbers are this project's own**. They are from no distribution. There is therefore
    no true calibration, only six rows that illustrate each notion. Class 2 is never the label; class 3 is predicted
    once and wrongly.

    >>> six = six_points()
    >>> six.confidence.tolist()
    [0.7, 0.6, 0.5, 0.8, 0.4, 0.9]
    >>> six.predicted.tolist()
    [0, 1, 2, 0, 3, 1]
    >>> six.correct.astype(int).tolist()
    [1, 1, 0, 0, 0, 1]
    """
    probs = [
        [0.7, 0.1, 0.1, 0.1],
        [0.2, 0.6, 0.1, 0.1],
        [0.1, 0.3, 0.5, 0.1],
        [0.8, 0.1, 0.0, 0.1],
        [0.3, 0.2, 0.1, 0.4],
        [0.0, 0.9, 0.1, 0.0],
    ]
    return Predictions(np.array(probs), np.array([0, 1, 3, 1, 0, 1]))


def true_kumar(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """True probability for a score z of `kumar_binary`: sigmoid(2 logit z + 1).

    The recalibration family g(z; a, c) of P2 App. E at its a = 2, c = 1.

    >>> true_kumar(np.array([0.0, 0.5, 1.0])).round(4).tolist()
    [0.0, 0.7311, 1.0]
    """
    return np.asarray(expit(2 * logit(z) + 1))


def kumar_binary(n: int = 2000, random_state: Seed = SEED) -> Synthetic:
    """Binary scores z spread evenly over [0, 1], with true probability sigmoid(2 logit z + 1).

    P(y = 1 | z) is `true_kumar`; columns are (1 - z, z). All z are drawn before all outcomes. A Generator
    as `random_state` is advanced, so two calls with one generator give two independent parts.

    Reference: P2 App. E, experiment (A).

    >>> data = kumar_binary(3)
    >>> data.predictions.probs[:, 1].round(4).tolist()
    [0.637, 0.2698, 0.041]
    """
    rng = np.random.default_rng(random_state)
    z = rng.random(n)
    truth = true_kumar(z)
    labels = (rng.random(n) < truth).astype(np.intp)
    return Synthetic(Predictions(_two_columns(z), labels), _two_columns(truth))


def true_valk_kull(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """True probabilities for a prediction (p1, p2, p3) of `valk_kull`.

    c(p) = (p1^0.8 + p1 p2 / 5,  p2 + p1 p3 / 3,  p3 + p1 p2 / 10) / Z, with Z making the
    row sum to 1 (P3 §4.1.1).

    >>> true_valk_kull(np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]
    """
    p1, p2, p3 = p.T
    raw = np.column_stack([p1**0.8 + p1 * p2 / 5, p2 + p1 * p3 / 3, p3 + p1 * p2 / 10])
    return np.asarray(raw / raw.sum(axis=1, keepdims=True))


def valk_kull(n: int = 5000, random_state: Seed = SEED) -> Synthetic:
    """Three-class predictions from Dirichlet(.5, .5, .5) whose true calibration map is `true_valk_kull`.

    The paper's validation (5,000) and test rows (100,000) are two calls with one Generator.

    Reference: P3 §4.1.1.

    >>> valk_kull(4).true_probs.sum(axis=1).round(12).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    rng = np.random.default_rng(random_state)
    p = rng.dirichlet([0.5, 0.5, 0.5], n)
    truth = true_valk_kull(p)
    return Synthetic(Predictions(p, drawn_labels(truth, rng)), truth)


def drawn_labels(true_probs: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw a class for every row from its true probabilities, by comparing cumulative sums with a uniform number.

    >>> drawn_labels(np.eye(3), np.random.default_rng(0)).tolist()
    [0, 1, 2]
    """
    return np.asarray((rng.random((len(true_probs), 1)) >= np.cumsum(true_probs, axis=1)[:, :-1]).sum(axis=1))


@dataclass(frozen=True, repr=False)
class Demo(OneLine):
    """An example file with predictions, and its lesson.

    `lesson` is shown on screen; `source` is the origin of the predictions; `real` is False if no trained classifier
    produced them. `truth` maps predictions (m, K) to the true probabilities, if the labels were drawn from them.
    """

    key: str
    title: str
    lesson: str
    file: str
    source: str
    rows: int
    classes: int
    real: bool = True
    truth: Callable[[NDArray[np.float64]], NDArray[np.float64]] | None = None


DEMOS: tuple[Demo, ...] = (
    Demo(
        "digits-naive-bayes",
        "Handwritten digits, naive Bayes",
        "Overconfident: the mean confidence is 99 %, but 85 % of predictions are right; of the rows with 99 % or "
        "more, 88 % are right.",
        "digits_naive_bayes.csv",
        "Gaussian naive Bayes on scikit-learn's digits, out-of-fold",
        rows=1797,
        classes=10,
    ),
    Demo(
        "digits-random-forest",
        "Handwritten digits, random forest",
        "Accuracy is not calibration: 97 % of predictions are right, but the mean confidence is 77 %. The error is "
        "larger than for naive Bayes on the same digits.",
        "digits_random_forest.parquet",
        "Random forest of 100 trees on scikit-learn's digits, out-of-fold",
        rows=1797,
        classes=10,
    ),
    Demo(
        "digits-mlp",
        "Handwritten digits, neural network (logits)",
        "No error to see, which is good news: chance alone gives an average gap of 0.9 % for a perfectly calibrated "
        "model on 1,797 rows.",
        "digits_mlp.npz",
        "Multilayer perceptron on scikit-learn's digits, out-of-fold, as logits",
        rows=1797,
        classes=10,
    ),
    Demo(
        "breast-cancer-svm",
        "Breast cancer, support vector machine",
        "A score squeezed into 0 to 1 is not a probability: of rows with a risk of 20 %, 1 % are malignant; of "
        "those with 80 %, all are.",
        "breast_cancer_svm.csv",
        "Sigmoid of an SVM's decision values on scikit-learn's breast cancer data, out-of-fold",
        rows=569,
        classes=2,
    ),
    Demo(
        "wine-logistic",
        "Wine, logistic regression (178 rows)",
        "Too few rows to tell: a confidence ECE of 3.6 % looks bad, but one in nine perfectly calibrated models has at "
        "least this value on 178 rows. Another test, of the Brier score, finds some error.",
        "wine_logistic.npz",
        "Logistic regression on scikit-learn's wine data, out-of-fold",
        rows=178,
        classes=3,
    ),
    Demo(
        "example-1",
        "Two kinds of patient",
        "Confidence calibration can be blind: no error overall, yet each predicted disease is off by 40 points.",
        "example_1.csv",
        "Gupta and Ramdas 2022, Example 1, in exact proportions",
        rows=1000,
        classes=3,
        real=False,
    ),
    Demo(
        "synthetic-three-class",
        "Three classes with a known truth",
        "Errors differ by class: A occurs more often than predicted (36 % against 33 %), B and C less often.",
        "synthetic_three_class.parquet",
        "Valk and Kull 2023, §4.1, drawn from its known calibration map",
        rows=6000,
        classes=3,
        real=False,
        truth=true_valk_kull,
    ),
    Demo(
        "imbalanced-forest",
        "Seven unequal classes, random forest",
        "Common classes hide rare ones: the confidence ECE is 10 % over all rows but 29 % where one of the four "
        "rarest classes is predicted.",
        "imbalanced_forest.parquet",
        "Random forest of 100 trees on invented data with COVTYPE-7's class shares",
        rows=8000,
        classes=7,
    ),
    Demo(
        "language-model",
        "Stated confidence of a language model",
        "Stated confidence is not accuracy: over all 2,000 rows, mean confidence is 82 % and accuracy 59 %; “90 %” "
        "means 63 %, and in law only 47 % of 644 rows are right.",
        "language_model.jsonl",
        "Invented answers to four-choice questions; not from a real model",
        rows=2000,
        classes=4,
        real=False,
    ),
    Demo(
        "patients",
        "Patients seen several times",
        "Visits of one patient are similar. By row, the model seems overconfident: 68 % confidence, but 66 % right "
        "(64 to 67 %). With rows grouped by patient, the interval is 62 to 69 %, so chance can explain the gap. Use "
        "the column patient as the group.",
        "patients.csv",
        "Invented visits of 300 invented patients, calibrated",
        rows=1936,
        classes=3,
        real=False,
    ),
    Demo(
        "hospital-risk",
        "Risk of death in six hospitals",
        "Too high in one hospital: over all 4,000 admissions the risk looks fine (580 deaths, 603 expected), but in "
        "the hospital River half as many patients die as predicted (36 of 500; 75 expected).",
        "hospital_risk.csv",
        "Invented admissions; not from real patients",
        rows=4000,
        classes=2,
        real=False,
    ),
    Demo(
        "card-fraud",
        "Score for rare fraud",
        "A small error can be a large factor: over all 16,000 payments the mean risk is 1.1 percentage points too "
        "high, less than the tolerance of 2 %, but only 101 frauds happen where 280 are predicted.",
        "card_fraud.parquet",
        "Invented payments; the score ignores that its training rows had a third of the honest ones",
        rows=16000,
        classes=2,
        real=False,
    ),
)


def demo(key: str) -> tuple[bytes, str]:
    """Return the bytes and the file name of an example file, as after an upload.

    >>> content, name = demo("example-1")
    >>> name
    'example_1.csv'
    """
    file = _entry(key).file
    return resources.files(examples).joinpath(file).read_bytes(), file


def truth(key: str) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the true probabilities of an example file as a function of its predictions (m, K).

    NotAnswerable for examples whose labels were not drawn from known probabilities.

    >>> truth("synthetic-three-class") is true_valk_kull
    True
    """
    entry = _entry(key)
    if entry.truth is None:
        raise NotAnswerable(f"the true probabilities of {entry.title!r} are unknown")
    return entry.truth


def _entry(key: str) -> Demo:
    found = next((entry for entry in DEMOS if entry.key == key), None)
    if found is None:
        known = ", ".join(entry.key for entry in DEMOS)
        raise ValueError(f"demo is {key!r}; choose one of {known}")
    return found


def _two_columns(positive: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([1 - positive, positive])
