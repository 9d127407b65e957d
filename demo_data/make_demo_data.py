"""Write the demo prediction files: run `python -m demo_data.make_demo_data` from the repository's root.

Every step is seeded, so a second run gives the same numbers. The classifiers are trained on data shipped with
scikit-learn; nothing is fetched. Predictions on small data sets are out-of-fold, so every row can be used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from calib_core import datasets

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def digits_naive_bayes() -> pd.DataFrame:
    """Gaussian naive Bayes on the 1,797 digits: counts neighboring pixels as independent evidence."""
    X, y = _digits()
    probs = cross_val_predict(GaussianNB(), X, y, cv=FOLDS, method="predict_proba")
    return _wide(probs, [f"p_{k}" for k in range(10)], y, image=np.arange(y.size))


def digits_random_forest() -> pd.DataFrame:
    """A random forest on the same digits: an average of 100 votes seldom reaches 1."""
    X, y = _digits()
    forest = RandomForestClassifier(100, random_state=0)
    probs = cross_val_predict(forest, X, y, cv=FOLDS, method="predict_proba")
    return _wide(np.round(probs, 4), [f"p_{k}" for k in range(10)], y, image=np.arange(y.size))


def digits_mlp() -> Arrays:
    """A small neural network on the same digits, as logits."""
    X, y = _digits()
    logits = np.empty((y.size, 10), dtype=np.float32)
    for train, test in FOLDS.split(X, y):
        network = MLPClassifier((64,), alpha=1e-5, max_iter=400, random_state=0).fit(X[train] / 16, y[train])
        logits[test] = mlp_logits(network, X[test] / 16)
    return {
        "logits": logits,
        "labels": y.astype(np.int16),
        "class_names": np.array([str(k) for k in range(10)]),
        "image": np.arange(y.size, dtype=np.int16),
    }


def breast_cancer_svm() -> pd.DataFrame:
    """Support vector machine margins pushed through a sigmoid, on 569 biopsies."""
    X, y = load_breast_cancer(return_X_y=True)
    svm = make_pipeline(StandardScaler(), SVC())
    margin = cross_val_predict(svm, X, y, cv=FOLDS, method="decision_function")
    benign = 1 / (1 + np.exp(-margin))
    names = np.array(["malignant", "benign"])
    return _wide(np.column_stack([1 - benign, benign]), list(names), names[y], biopsy=np.arange(y.size))


def wine_logistic() -> Arrays:
    """Logistic regression on the 178 wines."""
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    probs = cross_val_predict(model, X, y, cv=FOLDS, method="predict_proba")
    return {"probs": probs, "labels": y.astype(np.int16)}


def example_1() -> pd.DataFrame:
    """Gupta and Ramdas 2022, Example 1, on 1,000 patients."""
    predictions = datasets.example_1(1000).predictions
    names = np.array(predictions.class_names)
    kind = np.where(predictions.predicted == 0, "a", "b")
    return _wide(predictions.probs, list(names), names[predictions.labels], kind_of_patient=kind)


def synthetic_three_class() -> pd.DataFrame:
    """Valk and Kull 2023, §4.1: 2,000 rows to calibrate on and 4,000 to test on, drawn in this order."""
    rng = np.random.default_rng(0)
    names = np.array(["A", "B", "C"])
    parts = {"calibration": datasets.valk_kull(2000, rng), "test": datasets.valk_kull(4000, rng)}
    frames = [
        _wide(part.predictions.probs, list(names), names[part.predictions.labels]).assign(split=name)
        for name, part in parts.items()
    ]
    return pd.concat(frames, ignore_index=True)


def imbalanced_forest() -> pd.DataFrame:
    """A random forest on seven classes as unequal as COVTYPE-7's (Gupta and Ramdas 2022, App. B.2)."""
    X, y = make_classification(
        28_000,
        n_features=20,
        n_informative=10,
        n_redundant=4,
        n_classes=7,
        n_clusters_per_class=2,
        weights=[0.365, 0.49, 0.06, 0.005, 0.015, 0.03, 0.035],
        class_sep=1.5,
        flip_y=0,
        random_state=0,
    )
    train, test = slice(0, 20_000), slice(20_000, None)
    probs = RandomForestClassifier(100, random_state=0).fit(X[train], y[train]).predict_proba(X[test])
    names = np.array([f"class {k}" for k in range(1, 8)])
    return _wide(np.round(probs, 4), list(names), names[y[test]])


# Stated confidences of a talkative model: round, high, and never far below a half.
STATED = (0.2, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
STATED_SHARES = (0.01, 0.02, 0.05, 0.06, 0.08, 0.06, 0.14, 0.12, 0.20, 0.16, 0.10)
# What is taken off the log-odds of being right, by subject and by model.
SUBJECT_PENALTY = {"biology": 0.3, "history": 0.9, "law": 1.6}
MODEL_PENALTY = {"small": 0.4, "large": 0.0}


def language_model() -> pd.DataFrame:
    """Invented answers of two language models to four-choice questions, with the confidence they state.

    No model was asked: the chance of being right is sigmoid(0.7 logit(stated) + 0.3 - penalties), with
    stated clipped to [0.02, 0.98].
    """
    rng = np.random.default_rng(0)
    n = 2000
    stated = rng.choice(STATED, n, p=STATED_SHARES)
    # Both models answer the same question, so subject and right answer belong to the pair.
    subject = np.repeat(rng.choice(list(SUBJECT_PENALTY), n // 2), 2)
    model = np.where(np.arange(n) % 2 == 0, "small", "large")
    penalty = np.array([SUBJECT_PENALTY[s] + MODEL_PENALTY[m] for s, m in zip(subject, model, strict=True)])
    clipped = np.clip(stated, 0.02, 0.98)
    log_odds = 0.7 * np.log(clipped / (1 - clipped)) + 0.3 - penalty
    right = rng.random(n) < 1 / (1 + np.exp(-log_odds))
    label = np.repeat(rng.integers(4, size=n // 2), 2)
    predicted = np.where(right, label, (label + rng.integers(1, 4, size=n)) % 4)
    letters = np.array(list("ABCD"))
    return pd.DataFrame(
        {
            "question": np.arange(n) // 2,
            "subject": subject,
            "model": model,
            "confidence": stated,
            "predicted": letters[predicted],
            "label": letters[label],
        }
    )


COURSES = ("better", "stable", "worse")


def patients() -> pd.DataFrame:
    """Invented visits of 300 patients, 3 to 10 each: calibrated, but visits of a patient tend to go the same way.

    Three visits in four follow one uniform number of their patient, so that each row comes true as often as it says
    and rows of a patient hang together.
    """
    rng = np.random.default_rng(3)
    n_patients = 300
    patient = np.repeat(np.arange(n_patients), rng.integers(3, 11, n_patients))
    n = patient.size
    z = 1.4 * rng.normal(size=(n_patients, 3))[patient] + 0.3 * rng.normal(size=(n, 3))
    probs = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    alike = rng.random(n) < 0.75
    uniform = np.where(alike, rng.random(n_patients)[patient], rng.random(n))
    course = (uniform[:, None] > probs.cumsum(axis=1)[:, :2]).sum(axis=1)
    site, age = rng.choice(["north", "south", "west"], n_patients), rng.integers(20, 90, n_patients)
    about = {"patient": np.array([f"P{p + 1:03d}" for p in patient]), "site": site[patient], "age": age[patient]}
    return _wide(probs, [f"p_{name}" for name in COURSES], np.array(COURSES)[course], **about)


HOSPITALS = {"Harbor": 900, "Hill": 800, "Lake": 700, "Mill": 600, "Park": 500, "River": 500}
# What a hospital's care adds to the log-odds of the outcome, and the model does not know.
RIVER, OTHERS = -0.9, 0.1


def hospital_risk() -> pd.DataFrame:
    """Invented admissions to six hospitals, with the predicted risk of death: too high in one of them.

    The log-odds of the risk are true but for the hospital: fewer patients die at River, slightly more elsewhere. One
    age in 25 is missing.
    """
    rng = np.random.default_rng(0)
    hospital = rng.permutation(np.repeat(list(HOSPITALS), list(HOSPITALS.values())))
    n = hospital.size
    age = np.clip(rng.normal(66, 14, n).round(), 18, 99)
    emergency, severity = rng.random(n) < 0.4, rng.normal(0, 1, n)
    log_odds = -2.35 + 0.04 * (age - 66) + 0.7 * emergency + 0.8 * severity
    died = rng.random(n) < expit(log_odds + np.where(hospital == "River", RIVER, OTHERS))
    known = rng.random(n) >= 0.04
    return pd.DataFrame(
        {
            "hospital": hospital,
            "age": pd.array(np.where(known, age, np.nan), dtype="Int64"),
            "sex": rng.choice(["female", "male"], n),
            "admission": np.where(emergency, "emergency", "planned"),
            "risk": np.round(expit(log_odds), 4),
            "died": died.astype(int),
        }
    )


KEPT_HONEST = 1 / 3
"""Share of honest payments that the fraud model was trained on: it multiplies the odds of its scores by 3."""


def card_fraud() -> pd.DataFrame:
    """Invented payments with a fraud score whose model saw all frauds, but one in three honest payments."""
    rng = np.random.default_rng(4)
    n = 16_000
    channel = rng.choice(["shop", "online", "telephone"], n, p=[0.5, 0.4, 0.1])
    amount = np.round(np.exp(rng.normal(4, 1.1, n)), 2)
    log_odds = -6.3 + 0.9 * (channel == "online") + 0.35 * (np.log(amount) - 4) + 1.2 * rng.normal(size=n)
    fraud = rng.random(n) < expit(log_odds)
    score = np.round(expit(log_odds - np.log(KEPT_HONEST)), 5)
    return pd.DataFrame({"channel": channel, "amount": amount, "score": score, "fraud": fraud.astype(int)})


BUILDERS: dict[str, Callable[[], pd.DataFrame | Arrays]] = {
    "digits_naive_bayes.csv": digits_naive_bayes,
    "digits_random_forest.parquet": digits_random_forest,
    "digits_mlp.npz": digits_mlp,
    "breast_cancer_svm.csv": breast_cancer_svm,
    "wine_logistic.npz": wine_logistic,
    "example_1.csv": example_1,
    "synthetic_three_class.parquet": synthetic_three_class,
    "imbalanced_forest.parquet": imbalanced_forest,
    "language_model.jsonl": language_model,
    "patients.csv": patients,
    "hospital_risk.csv": hospital_risk,
    "card_fraud.parquet": card_fraud,
}


def mlp_logits(network: MLPClassifier, X: Floats) -> Floats:
    """What a fitted rectifier network puts through its softmax, which scikit-learn does not hand out."""
    hidden = X
    for weights, bias in zip(network.coefs_[:-1], network.intercepts_[:-1], strict=True):
        hidden = np.maximum(hidden @ weights + bias, 0)
    return np.asarray(hidden @ network.coefs_[-1] + network.intercepts_[-1])


def write(content: pd.DataFrame | Arrays, path: Path) -> None:
    """Write a table or a set of arrays in the format its file name ends in."""
    if isinstance(content, dict):
        np.savez_compressed(path, **content)  # type: ignore[arg-type]
    elif path.suffix == ".csv":
        content.to_csv(path, index=False, float_format="%.9g", lineterminator="\n")
    elif path.suffix == ".parquet":
        content.to_parquet(path, index=False, compression="zstd")
    else:
        content.to_json(path, orient="records", lines=True)


def main(folder: Path = Path(__file__).parent) -> None:
    """Write every demo file and name it with its size."""
    for file, build in BUILDERS.items():
        write(build(), folder / file)
        sys.stdout.write(f"{file}: {(folder / file).stat().st_size:,} bytes\n")


@cache
def _digits() -> tuple[Floats, NDArray[np.int64]]:
    X, y = load_digits(return_X_y=True)
    return X, y


def _wide(probs: NDArray[Any], names: list[str], labels: NDArray[Any], **metadata: NDArray[Any]) -> pd.DataFrame:
    """One row per prediction: metadata, one column per class, and the label."""
    return pd.DataFrame({**metadata, **dict(zip(names, probs.T, strict=True)), "label": labels})


if __name__ == "__main__":
    main()
