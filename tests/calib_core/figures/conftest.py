"""Rows whose classes have names that a page could take for markup."""

import numpy as np
import pytest
from hostile_names import HOSTILE

from calib_core import Predictions


@pytest.fixture
def predictions() -> Predictions:
    rng = np.random.default_rng(0)
    probs = rng.dirichlet([0.6] * 3, 400)
    labels = (rng.random(400)[:, None] > probs.cumsum(1)).sum(1)
    return Predictions(probs, labels, class_names=HOSTILE)
