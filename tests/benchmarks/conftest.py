"""Overconfident softmax outputs in the three sizes at which all timings are compared.

`make bench` runs `pytest tests/benchmarks --benchmark-only -o python_files="bench_*.py"`: the files are named so that
an ordinary test run does not collect them. Add `--benchmark-group-by=param:sample` to see each size next to its own
read pass.
"""

from dataclasses import dataclass

import numpy as np
import pytest

from calib_core import Predictions

SIZES = {"S": (10_000, 10), "M": (10_000, 100), "L": (50_000, 1_000)}


@dataclass(frozen=True, eq=False)
class Sample:
    """Read-only float32 probability matrix with its labels, as arrays and as predictions."""

    probs: np.ndarray
    labels: np.ndarray
    predictions: Predictions

    def fresh(self):
        """Return the same predictions with nothing cached but the predicted class."""
        return Predictions(self.probs, self.labels)


def made(n, k):
    """Return labels drawn from softmax(z) by the Gumbel trick; the model claims softmax(1.5 z)."""
    rng = np.random.default_rng(0)
    z = 3 * rng.standard_normal((n, k), dtype=np.float32)
    labels = np.empty(n, dtype=np.intp)
    for i in range(0, n, 5_000):
        part = z[i : i + 5_000]
        waits = np.maximum(rng.standard_exponential(part.shape, dtype=np.float32), 1e-30)
        labels[i : i + 5_000] = (part - np.log(waits)).argmax(1)
    z *= 1.5
    z -= z.max(1, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(1, keepdims=True)
    z.setflags(write=False)
    return Sample(z, labels, Predictions(z, labels))


@pytest.fixture(scope="session", params=SIZES)
def sample(request):
    return made(*SIZES[request.param])


@pytest.fixture(scope="session")
def large():
    return made(*SIZES["L"])


@pytest.fixture(scope="session")
def of_size():
    """Return samples of any number of rows and classes."""
    return made
