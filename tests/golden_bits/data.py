"""Rows of the golden numbers: every demo file, the small constructed sets, and four distributions of data.

Distributions are drawn by plain arithmetic (sums and products of uniform numbers), so that all machines with the same
generator get the same rows. Other values (a gamma, a root) are rounded to 30 binary digits. Large files are cut to a
few hundred rows by a seed. Every set has its own hash, so that changed data is distinguished from changed results.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import calib_core as cc
from calib_core.datasets import DEMOS, demo, example_1, kumar_binary, six_points, valk_kull

Rows = cc.Predictions
Floats = NDArray[np.float64]

DEMO_ROWS = 160
"""Maximum number of rows of a demo file, for speed; fewer rows have equally useful bits."""
COLUMNS: dict[str, dict[str, str]] = {"patients": {"group": "patient"}}
"""Reading of a demo that its lesson needs."""


def rng(seed: int) -> np.random.Generator:
    """Return the one generator of all data."""
    return np.random.Generator(np.random.PCG64(seed))


def rounded(values: Floats) -> Floats:
    """Round to 30 binary digits: the last bits of a root or a logarithm differ between machines."""
    return np.round(values * 2.0**30) / 2.0**30


def bell(stream: np.random.Generator, *shape: int) -> Floats:
    """Return about normal numbers, as sums of twelve uniform ones."""
    total = np.zeros(shape)
    for _ in range(12):
        total += stream.random(shape)
    return total - 6.0


def network(n: int, seed: int = 1, classes: int = 10) -> tuple[Floats, NDArray[np.intp]]:
    """Return logits of an overconfident network, and labels: a class gets a bonus, and the label is often another."""
    stream = rng(seed)
    logits = 1.5 * bell(stream, n, classes)
    label = stream.integers(0, classes, n)
    logits[np.arange(n), label] += 3.0 + bell(stream, n)
    other = stream.integers(0, classes, n)
    label = np.where(stream.random(n) < 0.15, other, label)
    return rounded(logits), label.astype(np.intp)


def softmax(n: int = 200, **more: Any) -> Rows:
    """Return ten classes, raw logits."""
    logits, label = network(n)
    return cc.Predictions.from_logits(logits, label, **more)


def weighted_softmax() -> Rows:
    """Return three classes with weights that are not counts of copies."""
    logits, label = network(80, seed=2, classes=3)
    return cc.Predictions.from_logits(logits, label, weights=rounded(0.25 + rng(3).random(80)))


def beta_scores(n: int, seed: int) -> tuple[Floats, NDArray[np.intp], np.random.Generator]:
    """Return scores from Beta(5, 1.3), and outcomes a little rarer than predicted."""
    stream = rng(seed)
    score = np.clip(rounded(stream.beta(5.0, 1.3, n)), 2.0**-20, 1 - 2.0**-20)
    return score, (stream.random(n) < score * (0.8 + 0.2 * score)).astype(np.intp), stream


def two_columns(score: Floats) -> Floats:
    """Return the two classes' probabilities."""
    return np.column_stack([1.0 - score, score])


def beta() -> Rows:
    """Return two classes, Beta(5, 1.3), with columns to slice by."""
    score, label, stream = beta_scores(300, 4)
    columns = pd.DataFrame({"site": np.array(["north", "south", "west"])[stream.integers(0, 3, 300)],
                            "age": stream.integers(20, 90, 300)})  # fmt: skip
    return cc.Predictions(two_columns(score), label, class_names=["no", "yes"], metadata=columns)


def grouped_beta() -> Rows:
    """Return the same distribution, with groups of up to eight rows with correlated outcomes."""
    score, label, stream = beta_scores(160, 5)
    group = np.sort(stream.integers(0, 40, 160))
    shared = stream.random(40)[group] < 0.3
    return cc.Predictions(two_columns(score), np.where(shared, 0, label), groups=group)


def rare() -> Rows:
    """Return the risk of an event of 1 to 2 %, which happens somewhat more often than predicted."""
    stream = rng(6)
    u = stream.random(600)
    risk = 0.06 * u * u * u + 2.0**-10
    died = (stream.random(600) < 1.4 * risk).astype(np.intp)
    return cc.Predictions(two_columns(risk), died, class_names=["survived", "died"])


def ratings(**more: Any) -> Rows:
    """Return seven stated confidences, right or wrong, no classes."""
    stream = rng(7)
    said = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])[stream.integers(0, 7, 280)]
    right = stream.random(280) < 0.3 + 0.55 * said
    return cc.Predictions.from_confidence(said, right, **more)


def weighted_ratings() -> Rows:
    """Return the same with whole-number weights: copies."""
    return ratings(weights=rng(8).integers(1, 4, 280))


def named_top() -> Rows:
    """Return the distribution of ten classes, reduced to the predicted one and its confidence."""
    logits, label = network(200, seed=9, classes=5)
    stream = rng(10)
    predicted = logits.argmax(axis=1)
    confidence = rounded(0.4 + 0.6 * stream.random(200))
    return cc.Predictions.from_confidence(confidence, predicted=predicted, labels=label)


def counted() -> Rows:
    """Return a summary: counts on a grid, without the rows."""
    return cc.Summary.of(beta())  # type: ignore[return-value]


def of_demo(key: str, most: int = DEMO_ROWS) -> Rows:
    """Return a demo file, or an ordered sample of its rows by a seed; groups stay whole."""
    content, name = demo(key)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = cc.read_predictions(content, name, **COLUMNS.get(key, {}))
    if rows.n_rows <= most:
        return rows
    stream = rng(11)
    if rows.row_groups is None:
        return rows.take(np.sort(stream.permutation(rows.n_rows)[:most]))
    groups = rows.row_groups
    order = stream.permutation(len(groups.values))
    sizes = np.bincount(groups.codes)[order]
    kept = order[np.cumsum(sizes) <= most]
    return rows.take(np.flatnonzero(np.isin(groups.codes, kept)))


LAWS: dict[str, Callable[[], Rows]] = {
    "softmax": softmax,
    "softmax-weighted": weighted_softmax,
    "beta": beta,
    "beta-grouped": grouped_beta,
    "beta-counted": counted,
    "rare": rare,
    "ratings": ratings,
    "ratings-weighted": weighted_ratings,
    "top-label": named_top,
}
SMALL: dict[str, Callable[[], Rows]] = {
    "example-1": lambda: example_1(60).predictions,
    "six-points": six_points,
    "kumar": lambda: kumar_binary(150).predictions,
    "valk-kull": lambda: valk_kull(150).predictions,
    "valk-kull-few": lambda: valk_kull(20).predictions,
}


def every() -> dict[str, Callable[[], Rows]]:
    """Return all sets by name; each is created when it is called."""
    demos = {f"demo-{entry.key}": lambda key=entry.key: of_demo(key) for entry in DEMOS}
    return {**LAWS, **SMALL, **demos}


def data_hash(rows: Rows) -> str:
    """Return the hash of every array of the rows; of numbers, ten digits, which every processor computes alike."""
    found = hashlib.sha256(rows.kind.encode())
    parts: list[object]
    if rows.grain == "counts":
        parts = [rows.n_rows, rows.mean_confidence]
    else:
        full = rows.kind in ("full", "per-class")
        parts = [rows.probs if full else rows.confidence]
        parts += [rows.correct] if rows.kind == "confidence" else [rows.predicted, rows.true_labels]
        parts += [] if rows.weights is None else [rows.weights]
        parts += [] if rows.row_groups is None else [rows.row_groups.codes]
    for part in parts:
        array = np.asarray(part)
        wide = array.astype(np.float64).round(10) + 0.0 if array.dtype.kind == "f" else array.astype(np.int64)
        found.update(str(array.shape).encode() + wide.tobytes())
    return found.hexdigest()[:16]
