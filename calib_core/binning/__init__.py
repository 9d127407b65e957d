"""Where the bins lie and what they hold; to add a scheme, write a file and import it here."""

from calib_core.binning.base import BINNINGS, BinningScheme, as_binning
from calib_core.binning.interval import Distinct, Edges, EqualMass, EqualWidth, PointsPerBin
from calib_core.binning.table import BinTable, tabulate, tabulate_at

__all__ = [
    "BINNINGS",
    "BinTable",
    "BinningScheme",
    "Distinct",
    "Edges",
    "EqualMass",
    "EqualWidth",
    "PointsPerBin",
    "as_binning",
    "tabulate",
    "tabulate_at",
]
