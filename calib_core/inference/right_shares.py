"""How often claims come true: shares with ends that hold for any chances, whether or not rows carry weights."""

from __future__ import annotations

import numpy as np

from calib_core._arrays import Float64s
from calib_core.inference.intervals import clopper_pearson

COUNTED = "exact, Clopper and Pearson 1934"
WEIGHED = "Hoeffding 1963, for weighted rows"


def share_ends(right: Float64s, rows: Float64s, counted: bool, level: float = 0.9) -> tuple[Float64s, Float64s]:
    """Ends, at ``level``, for the mean chance of being right of so many ``rows``, of which a share was ``right``.

    Counted rows: Clopper and Pearson's ends. They hold also where the rows' chances differ, for a sum of such outcomes
    spreads less than a binomial one. Rows that carry weights: right -+ sqrt(log(2 / (1 - level)) / (2 rows)), with
    ``rows`` the number of equal weight they are worth, (sum w)^2 / sum w^2; wider, and it needs no law of the outcomes.
    NaN where there are no rows.

    References: Clopper & Pearson 1934; Hoeffding 1956 (chances that differ) and 1963, Theorem 2 (weights).

    >>> low, high = share_ends(np.array([0.5]), np.array([10.0]), counted=True)
    >>> low.round(3), high.round(3)
    (array([0.222]), array([0.778]))
    >>> share_ends(np.array([0.5]), np.array([10.0]), counted=False)[0].round(3)  # 0.5 - sqrt(log(20) / 20)
    array([0.113])
    """
    known = rows > 0
    n, share = np.where(known, rows, 1.0), np.where(known, right, 0.0)
    if counted:
        low, high = clopper_pearson(np.round(share * n), n, level)
    else:
        half = np.sqrt(np.log(2 / (1 - level)) / (2 * n))
        low, high = np.clip(share - half, 0.0, 1.0), np.clip(share + half, 0.0, 1.0)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)
