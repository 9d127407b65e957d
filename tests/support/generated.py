"""Hypothesis strategies for predictions: styles that provoke ties, edges, missing classes, and ordinary ones."""

import numpy as np
from hypothesis import strategies as st

from calib_core import CALIBRATORS, REDUCTIONS, Predictions

STYLES = ("spread", "confident", "grid", "one-hot", "mixed", "equal")
UNTIED = ("spread", "confident")


def classes_for(case, k):
    """Return k classes, or the only number of classes that this calibrator, or case of it, accepts."""
    return CALIBRATORS.entry(case.split(",")[0].split(" of ")[0]).flags.classes or k


def rows(style, n, k, rng):
    """Return probability rows (n, k) in float64."""
    if style == "spread":
        return rng.dirichlet(np.full(k, 0.7), n)
    if style == "confident":
        z = 6 * rng.standard_normal((n, k))
        return np.exp(z - z.max(1, keepdims=True)) / np.exp(z - z.max(1, keepdims=True)).sum(1, keepdims=True)
    if style == "grid":  # multiples of 0.05: many ties, many scores that are bin edges
        return rng.multinomial(20, np.full(k, 1 / k), n) / 20
    if style == "one-hot":
        return np.eye(k)[rng.integers(k, size=n)]
    if style == "equal":
        return np.tile(rng.dirichlet(np.ones(k)), (n, 1))
    each = rng.integers(4, size=n)
    return np.stack([rows(STYLES[e], 1, k, rng)[0] for e in each])


def outcomes(probs, rng, missing):
    """Return labels drawn from the rows or at random; ``missing`` leaves some classes without rows."""
    n, k = probs.shape
    drawn = (rng.random(n)[:, None] > np.cumsum(probs, 1)[:, :-1]).sum(1)
    labels = np.where(rng.random(n) < 0.3, rng.integers(k, size=n), drawn)
    return np.minimum(labels, int(rng.integers(k))) if missing else labels


def ordinary_rows(n=200, k=3, seed=0):
    """Return rows of a fairly accurate model with labels drawn from them, suitable for every calibrator."""
    rng = np.random.default_rng(seed)
    probs = rows("confident", n, k, rng)
    return probs, (rng.random(n)[:, None] > np.cumsum(probs, 1)[:, :-1]).sum(1)


@st.composite
def full_predictions(
    draw, styles=STYLES, min_rows=1, max_rows=60, max_classes=6, weighted=None, dtypes=None, classes=None
):
    """Draw full-matrix predictions; ``weighted`` is None (sometimes), False, or "whole" (whole-number weights)."""
    n = draw(st.integers(min_rows, max_rows))
    k = classes or draw(st.integers(2, max_classes))
    style = draw(st.sampled_from(styles))
    dtype = draw(st.sampled_from(dtypes or (np.float64, np.float32)))
    missing = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    probs = rows(style, n, k, rng).astype(dtype)
    kind = "whole" if weighted == "whole" else draw(st.sampled_from((None, "whole", "real"))) if weighted is None else 0
    weights = None
    if kind == "whole":
        weights = rng.integers(0, 4, n).astype(float)
    elif kind == "real":
        weights = rng.random(n)
    if weights is not None and not weights.any():
        weights[0] = 1.0
    return Predictions(probs, outcomes(probs, rng, missing), weights=weights)


@st.composite
def two_predictions(draw, max_classes=4, classes=None, **more):
    """Draw two independent predictions over the same classes."""
    k = classes or draw(st.integers(2, max_classes))
    return draw(full_predictions(classes=k, **more)), draw(full_predictions(classes=k, **more))


def of_kind(predictions, kind):
    """Return the same predictions reduced to a kind."""
    if kind == "full":
        return predictions
    if kind == "per-class":
        return Predictions.from_scores(predictions.probs, predictions.labels, weights=predictions.weights)
    if kind == "top-label":
        return Predictions.from_confidence(
            predictions.confidence,
            predicted=predictions.predicted,
            labels=predictions.labels,
            class_names=predictions.class_names,
            weights=predictions.weights,
        )
    return Predictions.from_confidence(predictions.confidence, predictions.correct, weights=predictions.weights)


KINDS = ("full", "per-class", "top-label", "confidence")


def asked_of(notion, predictions):
    """Return predictions suitable for the notion: an event needs two classes, here the first against the others."""
    if notion is None or REDUCTIONS[notion].flags.of != "event":
        return predictions
    first = predictions.probs[:, :1]
    labels = (predictions.labels > 0).astype(int)
    metadata, groups = predictions.metadata, predictions.grouping
    return Predictions(
        np.hstack([first, 1 - first]), labels, weights=predictions.weights, metadata=metadata, groups=groups
    )


def copies(predictions):
    """Expand whole-number weights to repeated rows."""
    at = np.repeat(np.arange(predictions.n_rows), predictions.weights.astype(int))
    return Predictions(predictions.probs[at], predictions.labels[at])


def unweighted(predictions):
    return Predictions(predictions.probs, predictions.labels)


def permuted(predictions, seed=0):
    order = np.random.default_rng(seed).permutation(predictions.n_rows)
    return predictions.take(order), order
