"""Reliability diagrams split by slice: a small one each, all models in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calib_core._base.arrays import Float64s
from calib_core.binning import risk_bins
from calib_core.binning.base import BinningScheme, as_binning, as_intervals
from calib_core.binning.bin_table import tabulate
from calib_core.binning.interval_schemes import Edges
from calib_core.claims.binary_claims import Claims, FlatClaims
from calib_core.columns.conditions import Slice, as_slice, part, places
from calib_core.diagrams.small_diagrams import SlicePanels
from calib_core.estimators.base import claimed_rows, notion_looked_at
from calib_core.estimators.binned import Binned
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.reductions.base import claims_of, counts
from calib_core.slices.gaps import sliced_by
from calib_core.summaries.cells import Cells
from calib_core.summaries.counted_claims import CountedClaims


def panels(
    predictions: Predictions,
    slices: Sequence[str | Slice],
    bins: int | str | BinningScheme | None = None,
    notion: str | None = None,
) -> SlicePanels:
    """Small reliability diagrams of slices: mean score and outcome of every bin.

    ``slices`` are slices or their texts; ``bins`` as for ``diagrams.reliability``, ``notion`` as for ``table``. In a
    heading the slice's error in these bins, which noise pushes up where rows are few. NotAnswerable where one of them
    contains no row. What can mislead: bins of few rows are off the diagonal by chance.

    >>> import pandas as pd
    >>> columns = pd.DataFrame({"site": ["a", "a", "b"]})
    >>> p = Predictions.from_confidence([0.6, 0.6, 0.9], [True, False, True], metadata=columns)
    >>> panels(p, ["site=b", "site=a"]).frame()[["slice", "mean_score", "mean_outcome"]].round(3).values.tolist()
    [['site = b', 0.9, 1.0], ['site = a', 0.6, 0.5]]
    """
    wanted = tuple(map(as_slice, slices))
    if not wanted:
        raise InputError("give at least one slice to draw")
    notion = sliced_by(predictions, notion)
    claims, shares = (_claims if counts(predictions) is None else _counted)(
        claimed_rows(predictions, notion).answered, wanted
    )
    table = tabulate(claims, [_scheme(predictions, bins, notion)], pooled=False)[0]
    error = Binned().of_table(table).per_stratum
    return SlicePanels(tuple(range(len(wanted))), claims.strata, error, shares, table, tuple(map(str, wanted)))


def _scheme(predictions: Predictions, bins: int | str | BinningScheme | None, notion: str | None) -> BinningScheme:
    """The bins given, or those of all rows that ``diagrams.reliability`` chooses; the same edges for every slice."""
    if bins is not None or (notion or notion_looked_at(predictions)) != "event":
        return as_binning(bins)
    claims = claims_of(predictions.answered, "event")
    scheme = risk_bins(claims)
    if as_intervals(scheme).fixed_edges() is not None:
        return scheme
    edges = tabulate(claims, [scheme], pooled=False)[0].lower[0, 1:]
    return Edges((0.0, *np.unique(edges).tolist(), 1.0))


def _claims(rows: Predictions, wanted: Sequence[Slice]) -> tuple[Claims, Float64s]:
    """The claims of each slice in a stratum of its own, and the share of all rows in each."""
    groups = [places(rows, each) for each in wanted]
    listed = np.concatenate(groups)
    codes = np.repeat(np.arange(len(wanted)), [len(group) for group in groups])
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    shares = np.array([weights[group].sum() for group in groups]) / weights.sum()
    claims = FlatClaims(
        rows.confidence[listed],
        rows.correct[listed],
        codes,
        tuple(each.title for each in wanted),
        shares / shares.sum(),
        None if rows.weights is None else weights[listed],
    )
    return claims, shares


def _counted(summary: Predictions, wanted: Sequence[Slice]) -> tuple[Claims, Float64s]:
    """The same for a summary with counts by slice."""
    parts: list[Any] = [part(summary, where) for where in wanted]
    shares = np.array([rows.n_rows for rows in parts]) / summary.n_rows
    cells = Cells.side_by_side([rows.top_cells for rows in parts])
    names = tuple(where.title for where in wanted)
    claims: Any = CountedClaims(cells, names, shares / shares.sum(), parts[0].dtype)
    return claims, shares
