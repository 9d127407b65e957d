"""The base-model analysis needs little memory beside the array itself (an ordinary test, no timing)."""

import tracemalloc

import numpy as np

from calib_core import REDUCTIONS, Predictions, estimate
from calib_core.diagrams import class_table, reliability, zoom

# A fifth of the rows of the largest size: what grows with rows keeps its ratio to the array, and blocks, chunks and
# per-class tables, which do not grow, weigh more here than there.
ROWS, CLASSES = 10_000, 1_000


def test_the_base_model_analysis_stays_within_a_quarter_of_the_array():
    rng = np.random.default_rng(0)
    probs = rng.random((ROWS, CLASSES), dtype=np.float32) ** 60
    probs /= probs.sum(1, keepdims=True)
    probs.setflags(write=False)
    labels = rng.integers(CLASSES, size=ROWS)
    tracemalloc.start()
    try:
        p = Predictions(probs, labels)
        for notion in REDUCTIONS:
            if notion != "canonical":
                estimate(p, notion, "ece")
        for score in ("log-loss", "brier", "accuracy"):
            estimate(p, None, score)
        zoom(p, reliability(p), 9)
        class_table(p)
        class_table(p, "class-wise")
        first, second = p.split()
        estimate(first, "class-wise", "ece")
        estimate(second, "top-label", "ece")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 0.25 * probs.nbytes, f"peak {peak / probs.nbytes:.0%} of the array"
