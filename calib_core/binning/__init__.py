"""Where the bins lie and what they hold; to add a scheme, write a file and import it here."""

from calib_core.binning.base import (
    BINNINGS,
    BinningScheme,
    Cuts,
    IntervalScheme,
    Partition,
    SimplexScheme,
    as_binning,
    as_intervals,
    as_simplex,
    cuts,
    of_interval,
    of_simplex,
)
from calib_core.binning.bin_table import BinTable, PoolingScheme, tabulate, tabulate_at
from calib_core.binning.declared import bins_of, bins_said, risk_bins
from calib_core.binning.groups import Groups, group_codes, tabulate_alike, variance_codes
from calib_core.binning.interval_schemes import Distinct, Edges, EqualMass, EqualWidth, PointsPerBin
from calib_core.binning.simplex import (
    Grid,
    Projection,
    Sierpinski,
    SimplexTable,
    partition,
    simplex_points,
    simplex_table,
    vector_sums,
)

__all__ = [
    "BINNINGS",
    "BinTable",
    "BinningScheme",
    "Cuts",
    "Distinct",
    "Edges",
    "EqualMass",
    "EqualWidth",
    "Grid",
    "Groups",
    "IntervalScheme",
    "Partition",
    "PointsPerBin",
    "PoolingScheme",
    "Projection",
    "Sierpinski",
    "SimplexScheme",
    "SimplexTable",
    "as_binning",
    "as_intervals",
    "as_simplex",
    "bins_of",
    "bins_said",
    "cuts",
    "group_codes",
    "of_interval",
    "of_simplex",
    "partition",
    "risk_bins",
    "simplex_points",
    "simplex_table",
    "tabulate",
    "tabulate_alike",
    "tabulate_at",
    "variance_codes",
    "vector_sums",
]
