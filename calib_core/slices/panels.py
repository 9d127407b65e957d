"""Reliability diagrams split by slice: a small one each, all models in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib_core.binning import BinningScheme, as_binning, tabulate
from calib_core.claims import FlatClaims
from calib_core.diagrams.small_diagrams import SlicePanels
from calib_core.estimators import Binned
from calib_core.predictions import InputError, Predictions
from calib_core.slices.conditions import Slice, as_slice, places


def panels(
    predictions: Predictions, slices: Sequence[str | Slice], bins: int | str | BinningScheme | None = None
) -> SlicePanels:
    """A small reliability diagram of each slice: in every bin what is said and how often it is right.

    ``slices`` are slices or their texts; ``bins`` as for ``diagrams.reliability``. In a heading the slice's error in
    these bins, which noise pushes up where rows are few. NotAnswerable where one of them holds no row. What can
    mislead: bins of few rows lie off the diagonal by chance alone.

    >>> import pandas as pd
    >>> columns = pd.DataFrame({"site": ["a", "a", "b"]})
    >>> p = Predictions.from_confidence([0.6, 0.6, 0.9], [True, False, True], metadata=columns)
    >>> panels(p, ["site=b", "site=a"]).frame()[["slice", "mean_score", "mean_outcome"]].round(3).values.tolist()
    [['site = b', 0.9, 1.0], ['site = a', 0.6, 0.5]]
    """
    wanted = tuple(map(as_slice, slices))
    if not wanted:
        raise InputError("name at least one slice to draw")
    rows = predictions.answered
    groups = [places(rows, part) for part in wanted]
    listed = np.concatenate(groups)
    names = tuple(part.title for part in wanted)
    codes = np.repeat(np.arange(len(wanted)), [len(group) for group in groups])
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    shares = np.array([weights[group].sum() for group in groups]) / weights.sum()
    claims = FlatClaims(
        rows.confidence[listed],
        rows.correct[listed],
        codes,
        names,
        shares / shares.sum(),
        None if rows.weights is None else weights[listed],
    )
    table = tabulate(claims, [as_binning(bins)], pooled=False)[0]
    error = Binned().of_table(table).per_stratum
    return SlicePanels(tuple(range(len(wanted))), names, error, shares, table, tuple(map(str, wanted)))
