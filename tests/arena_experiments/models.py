"""Models of the arena: what people use, with default options, stopped early, tuned or bagged."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

FLOOR = 1e-6
"""Smallest probability of a model: otherwise the log loss of a tree would only count its zeros."""


def scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


def tuned(model: Any, **grid: Any) -> Any:
    return GridSearchCV(model, grid, scoring="neg_log_loss", cv=3)


MODELS: dict[str, Callable[[int], Any]] = {
    "logistic": lambda seed: scaled(LogisticRegression(max_iter=500)),
    "logistic-tuned": lambda seed: tuned(scaled(LogisticRegression(max_iter=500)),
                                         logisticregression__C=[0.01, 0.1, 1.0, 10.0]),
    "naive-bayes": lambda seed: GaussianNB(var_smoothing=1e-6),
    "tree": lambda seed: DecisionTreeClassifier(min_samples_leaf=5, random_state=seed),
    "trees-bagged": lambda seed: BaggingClassifier(DecisionTreeClassifier(min_samples_leaf=3), 50, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(100, random_state=seed),
    "forest-tuned": lambda seed: tuned(RandomForestClassifier(100, random_state=seed), min_samples_leaf=[1, 3, 10]),
    "boosting": lambda seed: HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=seed),
    "boosting-stopped": lambda seed: HistGradientBoostingClassifier(max_iter=300, early_stopping=True,
                                                                    random_state=seed),
    "boosting-tuned": lambda seed: tuned(HistGradientBoostingClassifier(max_iter=60, random_state=seed),
                                         learning_rate=[0.03, 0.1], max_leaf_nodes=[5, 31]),
    "mlp": lambda seed: scaled(MLPClassifier((64,), max_iter=300, random_state=seed)),
    "mlp-stopped": lambda seed: scaled(MLPClassifier((64,), max_iter=300, early_stopping=True, random_state=seed)),
    "mlp-bagged": lambda seed: scaled(BaggingClassifier(MLPClassifier((32,), max_iter=150), 8, random_state=seed)),
    "knn": lambda seed: scaled(KNeighborsClassifier(10)),
    "svm": lambda seed: scaled(SVC(random_state=seed)),
}  # fmt: skip


def probabilities(name: str, train: Any, seed: int, *others: Any) -> list[np.ndarray[Any, Any]]:
    """Fit a model on (features, labels), and return its probabilities (n, K) of other features, at least ``FLOOR``.

    The margins of a support vector machine become probabilities by a logistic function or a softmax.
    """
    model = MODELS[name](seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*train)
    found = []
    for x in others:
        if hasattr(model, "predict_proba"):
            probs = model.predict_proba(x)
        else:
            margins = model.decision_function(x)
            probs = (
                softmax(margins, axis=1) if margins.ndim == 2 else np.column_stack([expit(-margins), expit(margins)])
            )
        floored = np.maximum(probs, FLOOR)
        found.append(floored / floored.sum(axis=1, keepdims=True))
    return found
