"""Canonical calibration errors on the cells of several partitions of the simplex, each with what surrounds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from typing import Any

import pandas as pd

from calib_core.binning.base import BINNINGS, SimplexScheme, as_simplex
from calib_core.defaults import LEVEL, TOLERANCE
from calib_core.estimators.base import Estimate, estimate
from calib_core.inference.intervals.joint_intervals import sharpen
from calib_core.inference.verdicts.estimate_line import EstimateLine, estimate_line
from calib_core.predictions.predictions import NotAnswerable, Predictions

NORMS = {"L1": "ece", "L2": "rmsce"}
"""Names of the norms, and the estimator of the canonical error in each."""
WITHOUT_CELLS = ("none: Dirichlet kernels", "L1")
"""What the line without cells has for its partition and its norm."""


def canonical_errors(
    predictions: Predictions,
    partitions: Sequence[str | SimplexScheme],
    eps: float = TOLERANCE,
    level: float = LEVEL,
    progress: Callable[[int], object] | None = None,
    smoothed: bool = False,
) -> pd.DataFrame:
    """Canonical calibration error on the cells of each partition, in L1 and L2, with interval, noise floor and p.

    L1 = sum over cells b of w_b ||E[Y | b] - mean prediction in b||_1, in [0, 2], with w_b the share of the rows that
    lie in b and ||.||_1 the sum over classes of absolute differences; L2 the root of the same average of squared
    Euclidean distances. One line per ``partition`` and ``norm`` with the fields of an ``EstimateLine`` at the nominal
    ``level``, judged by the tolerance ``eps``; ``note`` says why a number is missing. ``progress`` is told the share
    done, in percent. ``smoothed`` adds the L1 error without cells, by Dirichlet kernels. What can mislead: each
    partition sees the errors between its cells only, and each line stands alone. NotAnswerable where no line has a
    value.

    References: P1 Appendix G.

    >>> p = Predictions([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1]] * 20, [0, 1] * 20)
    >>> table = canonical_errors(p, ["sierpinski"])
    >>> table["norm"].tolist(), table["value"].round(2).tolist()
    (['L1', 'L2'], [0.5, 0.32])
    """
    looks = [(as_simplex(scheme), norm) for scheme in partitions for norm in NORMS]
    if not looks:
        raise NotAnswerable("no partition of the simplex is chosen")
    titles = [(BINNINGS.recipe(scheme).title, norm) for scheme, norm in looks]
    estimates = [_estimate_or_why(predictions, NORMS[norm], scheme) for scheme, norm in looks]
    if smoothed:
        titles.append(WITHOUT_CELLS)
        estimates.append(_estimate_or_why(predictions, "canonical-kde", None))
    known = [found for found in estimates if isinstance(found, Estimate)]
    if not known:
        raise NotAnswerable(str(estimates[0]))
    sharpen(known, level, progress or (lambda _: None))
    lines = []
    for (partition, norm), found in zip(titles, estimates, strict=True):
        line: dict[str, Any] = {"note": found} if isinstance(found, str) else asdict(estimate_line(found, eps, level))
        lines.append({"partition": partition, "norm": norm, **line})
    return pd.DataFrame(lines, columns=["partition", "norm", *(field.name for field in fields(EstimateLine))])


def _estimate_or_why(predictions: Predictions, estimator: str, scheme: SimplexScheme | None) -> Estimate | str:
    try:
        return estimate(predictions, "canonical", estimator, scheme)
    except NotAnswerable as why:
        return str(why)
