"""P3 §4.1: calibrators compared on predictions whose true calibration map is known (Table 1).

Calibration rows are drawn from seed s, test rows follow from the same generator. Conventions of the authors' code:
confidence CE is the mean of |max q - max c| (not of |max q - c of the predicted class|), class-wise CE the mean over
rows and classes of |q - c|, the Brier score a sum over classes, log loss clipped at 1e-15.
"""

import numpy as np

from calib_core import CALIBRATORS, datasets
from calib_core.binning import EqualWidth
from calib_core.calibrators import EqualWidthHistogram, LeceHistogram

METRICS = ("confidence CE", "classwise CE", "Brier score", "log-loss", "accuracy")

# Name in the paper: (key, parameters). One line adds a calibrator.
METHODS = {
    "H-LECD": ("normalised", {"binary": EqualWidthHistogram(bins=5)}),
    "H-LECE": ("normalised", {"binary": LeceHistogram(EqualWidth(5))}),
    "TS": ("temperature", {}),
    "DIR": ("dirichlet", {"off_diagonal": 0.0, "intercept": 0.0}),
    "LECE": ("lece", {"neighbours": 500, "threshold": 0.0}),
}
TRUE = "true"

# Mean and standard deviation over the paper's 100 seeds, METRICS in order.
PAPER = {
    "H-LECD": ((0.056, 0.049, 0.448, 0.772, 0.668), (0.001, 0.001, 0.001, 0.002, 0.002)),
    "H-LECE": ((0.019, 0.016, 0.438, 0.749, 0.671), (0.002, 0.001, 0.001, 0.010, 0.002)),
    "TS": ((0.030, 0.027, 0.440, 0.751, 0.669), (0.002, 0.001, 0.001, 0.002, 0.001)),
    "DIR": ((0.022, 0.018, 0.438, 0.747, 0.671), (0.004, 0.002, 0.001, 0.002, 0.001)),
    "LECE": ((0.018, 0.015, 0.438, 0.742, 0.670), (0.003, 0.002, 0.001, 0.002, 0.001)),
    "true": ((0.0, 0.0, 0.436, 0.738, 0.671), (0.0, 0.0, 0.001, 0.002, 0.001)),
}


def measured(q, truth, labels):
    """The five numbers of Table 1 for probabilities q (n, 3)."""
    q = q.astype(float)
    onehot = np.eye(q.shape[1])[labels]
    true_class = np.clip(q[np.arange(len(labels)), labels], 1e-15, 1)
    return (
        np.abs(q.max(1) - truth.max(1)).mean(),
        np.abs(q - truth).mean(),
        np.square(q - onehot).sum(1).mean(),
        -np.log(true_class).mean(),
        (q.argmax(1) == labels).mean(),
    )


def experiment(names, seed, fit_rows=5000, test_rows=100_000):
    """One seed: the five numbers of every named method, (len(names), 5)."""
    rng = np.random.default_rng(seed)
    fit, test = datasets.valk_kull(fit_rows, rng), datasets.valk_kull(test_rows, rng)
    rows = []
    for name in names:
        if name == TRUE:
            q = test.true_probs
        else:
            key, params = METHODS[name]
            q = CALIBRATORS.make(key, **params).fit_on(fit.predictions).apply(test.predictions).probs
        rows.append(measured(q, test.true_probs, test.predictions.labels))
    return np.array(rows)
