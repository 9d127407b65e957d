"""Calibration intercepts and slopes of a model with 3 to 10 classes, by multinomial logistic recalibration."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from calib_core._base.arrays import LOG_FLOOR, Float64s
from calib_core._base.distributions import norm
from calib_core._base.errors import NotAnswerable, as_share, as_whole
from calib_core._base.notebook_display import OneLine
from calib_core.defaults import LEVEL, SIGNIFICANCE
from calib_core.inference.significance.multiple_testing import holm
from calib_core.predictions.predictions import Predictions, whole
from calib_core.text import called, chance, listed, score

FEWEST_CLASSES, MOST_CLASSES = 3, 10
FEWEST_OF_A_CLASS = 10
"""Rows of each class from which on the intervals have their level (simulated)."""
_STEPS, _HALVINGS, _CLOSE, _FARTHEST = 100, 40, 1e-9, 200.0


@dataclass(frozen=True, eq=False, repr=False)
class MultinomialSlopes(OneLine):
    """Intercept and slope of every class against the class ``reference``; ``table`` is the result of ``frame``.

    ``p_value`` is of the test that all intercepts are 0 and all slopes 1, ``p_slopes`` of that of the slopes only.
    """

    reference: str
    table: pd.DataFrame
    p_value: float
    p_slopes: float
    level: float

    def frame(self) -> pd.DataFrame:
        """One line per other class.

        Columns: class, rows (with this class), intercept and slope, each with _low and _high, p_slope (slope 1),
        p_holm, and off (p_holm at most .05).
        """
        return self.table

    @property
    def sentence(self) -> str:
        """Whether intercepts and slopes differ significantly from 0 and 1, and for which classes."""
        if self.p_value > SIGNIFICANCE:
            return f"Intercepts and slopes do not differ significantly from 0 and 1 ({chance(self.p_value)})."
        text = f"Intercepts and slopes differ significantly from 0 and 1 ({chance(self.p_value)})."
        if self.p_slopes > SIGNIFICANCE:
            return f"{text} The slopes do not differ significantly from 1 ({chance(self.p_slopes)})."
        off = self.table[self.table["off"]]
        if not len(off):
            return f"{text} So do the slopes ({chance(self.p_slopes)}), though none of them by itself."
        which = [f"{called(line['class'])} ({score(line['slope'])})" for line in off.to_dict("records")]
        return f"{text} Slopes that differ significantly from 1: {listed(which)}."

    def _line(self) -> str:
        return self.sentence


def multinomial_slopes(
    predictions: Predictions, reference: int | None = None, level: float = LEVEL
) -> MultinomialSlopes:
    """Calibration intercepts and slopes of several classes, each against a reference class.

    With x_k = log(p_k / p_r) for class k and the reference r, labels are regressed on

        log(P(Y = k) / P(Y = r)) = a_k + b_k x_k

    by maximum likelihood, all k jointly. The slopes are the b_k. The intercepts are the a_k with all slopes fixed at 1.
    A calibrated model has intercepts 0 and slopes 1. A slope below 1: the probabilities of k against r are too extreme.
    Intervals are Wald's at ``level``, one each; tests of all are likelihood ratio tests.

    Parameters
    ----------
    predictions : 3 to 10 classes with a probability each.
    reference : code of the reference class, by default the most frequent one.

    What can mislead: the slopes depend on the reference class. Probabilities below 2.2e-16 are raised to it, and decide
    the slope of their class. Intercepts 0 and slopes 1 do not imply calibration: the model has no terms for the other
    classes, and a curve can bend. With 200 rows the two joint tests, by chi-square, reject about 7 % of calibrated
    models at 5 % (simulated). NotAnswerable for other numbers of classes, and for fewer than 10 rows of a class.
    Also for rows in groups (the fit needs independent rows), and where the classes are separated. Weights that are not
    whole numbers enter by Kish's effective number of rows.

    References: Van Hoorde et al. 2014, Statistics in Medicine 33, 2585; Van Hoorde et al. 2015, J Biomed Inform 54.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(3000, 3))
    >>> label = (x + rng.gumbel(size=x.shape)).argmax(axis=1)
    >>> extreme = np.exp(2 * x)
    >>> found = multinomial_slopes(Predictions(extreme / extreme.sum(axis=1, keepdims=True), label))
    >>> found.frame()["slope"].round(1).tolist(), found.frame()["off"].tolist()
    ([0.5, 0.5], [True, True])
    """
    as_share(level, "level")
    if predictions.kind != "full" or predictions.grain == "counts":
        raise NotAnswerable("slopes of classes need rows with a probability for every class")
    rows = predictions.answered
    names = rows.class_names or tuple(map(str, range(rows.rows.shape[1])))
    n_classes = rows.rows.shape[1]
    if not FEWEST_CLASSES <= n_classes <= MOST_CLASSES:
        raise NotAnswerable(
            f"slopes of classes are for {FEWEST_CLASSES} to {MOST_CLASSES} classes, and there are {n_classes:,}"
            + (": see calibration intercept and slope of the event" if n_classes == 2 else "")
        )
    if rows.row_groups is not None:
        raise NotAnswerable(f"the rows belong to {rows.row_groups.words}, and slopes of classes need independent rows")
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights.astype(np.float64)
    if rows.weights is not None and not whole(rows.weights):
        weights = weights * (weights.sum() / np.square(weights).sum())
    number = np.bincount(rows.true_labels, weights, n_classes)
    if number.min() < FEWEST_OF_A_CLASS:
        few = names[int(number.argmin())]
        raise NotAnswerable(
            f"slopes of classes need at least {FEWEST_OF_A_CLASS} rows of every class; {called(few)} has "
            f"{number.min():,.4g}"
        )
    first = int(number.argmax()) if reference is None else as_code(reference, n_classes)
    others = [code for code in range(n_classes) if code != first]
    logs = np.log(np.maximum(rows.probs.astype(np.float64), LOG_FLOOR))
    model = _Multinomial(logs[:, others] - logs[:, [first]], rows.true_labels[:, None] == np.array(others), weights)
    plain = model.height(np.zeros(len(others)), np.ones(len(others)))
    shifted, shifts, shift_errors = model.fit(slopes=False)
    fitted, slopes, slope_errors = model.fit(slopes=True)
    z = float(norm.isf((1 - level) / 2))
    p = 2 * norm.sf(np.abs(slopes - 1) / slope_errors)
    table = pd.DataFrame(
        {
            "class": [names[code] for code in others],
            "rows": number[others],
            "intercept": shifts,
            "intercept_low": shifts - z * shift_errors,
            "intercept_high": shifts + z * shift_errors,
            "slope": slopes,
            "slope_low": slopes - z * slope_errors,
            "slope_high": slopes + z * slope_errors,
            "p_slope": p,
            "p_holm": holm(p),
        }
    )
    table["off"] = table["p_holm"] <= SIGNIFICANCE
    m = len(others)
    return MultinomialSlopes(
        names[first],
        table,
        float(chdtrc(2 * m, max(2 * (fitted - plain), 0.0))),
        float(chdtrc(m, max(2 * (fitted - shifted), 0.0))),
        level,
    )


def as_code(reference: int, classes: int) -> int:
    """Return the code of a class; InputError unless there is one."""
    as_whole(reference, "reference", 0, classes - 1)
    return int(reference)


@dataclass(frozen=True, eq=False)
class _Multinomial:
    """Log-odds x of m classes against the reference, (n, m), which of them happened, (n, m), and weights (n,)."""

    x: Float64s
    happened: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
    weights: Float64s

    def height(self, a: Float64s, b: Float64s) -> float:
        """Log-likelihood."""
        line = a + b * self.x
        total = np.logaddexp(0.0, np.logaddexp.reduce(line, axis=1))
        return float(self.weights @ ((line * self.happened).sum(axis=1) - total))

    def fit(self, slopes: bool) -> tuple[float, Float64s, Float64s]:
        """Height of the maximum; intercepts, or slopes where they are fitted too; and their standard errors."""
        m = self.x.shape[1]
        middle = self.weights @ self.x / self.weights.sum()
        spread = np.sqrt(self.weights @ np.square(self.x - middle) / self.weights.sum())
        if slopes and not (spread > 1e-9).all():
            raise NotAnswerable("the probabilities of a class against the reference are all equal: it has no slope")
        a, b = np.zeros(m), np.ones(m)
        height = self.height(a, b)
        for _ in range(_STEPS):
            pull, curvature = self._derivatives(a, b, slopes)
            step = _solved(curvature, pull)
            change = step[:m] + (step[m:] * self.x if slopes else 0.0)
            reach = float(np.abs(change).max())
            if reach < _CLOSE:
                errors = np.sqrt(np.diag(_solved(curvature, np.eye(len(curvature)))))
                return (height, b, errors[m:]) if slopes else (height, a, errors)
            step = step * min(1.0, 5.0 / reach)
            for _ in range(_HALVINGS):
                new_a, new_b = a + step[:m], b + step[m:] if slopes else b
                higher = self.height(new_a, new_b)
                if higher >= height - 1e-12 * abs(height):
                    break
                step = step / 2
            a, b, height = new_a, new_b, higher
            if slopes and float(np.abs(b * spread).max()) > _FARTHEST:
                break
        raise NotAnswerable("the probabilities separate the classes: a slope has no maximum of the likelihood")

    def _derivatives(self, a: Float64s, b: Float64s, slopes: bool) -> tuple[Float64s, Float64s]:
        """Gradient and information of the intercepts, and of the slopes if they are fitted."""
        line = a + b * self.x
        q = np.exp(line - np.logaddexp(0.0, np.logaddexp.reduce(line, axis=1))[:, None])
        left = self.weights[:, None] * (self.happened - q)
        parts = [np.ones_like(self.x), self.x] if slopes else [np.ones_like(self.x)]
        pull = np.concatenate([(left * part).sum(axis=0) for part in parts])
        blocks = [[self._information(q, row, column) for column in parts] for row in parts]
        return pull, np.asarray(np.block(blocks), dtype=np.float64)

    def _information(self, q: Float64s, row: Float64s, column: Float64s) -> Float64s:
        """Information shared by two parts of the design, (m, m), for probabilities q."""
        of_rows = self.weights[:, None] * q * row
        return np.asarray(np.diag((of_rows * column).sum(axis=0)) - of_rows.T @ (q * column))


def _solved(curvature: Float64s, right: Float64s) -> Float64s:
    try:
        found = np.linalg.solve(curvature, right)
    except np.linalg.LinAlgError:
        found = np.full_like(right, math.nan)
    if not np.isfinite(found).all():
        raise NotAnswerable("the probabilities do not determine intercepts and slopes of the classes")
    return np.asarray(found, dtype=np.float64)
