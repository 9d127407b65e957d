"""Partitions of the simplex into cells (P1 Appendix G); to add a scheme, write a file and import it here."""

from calib_core.binning.simplex.cell_table import SimplexTable, partition, simplex_points, simplex_table, vector_sums
from calib_core.binning.simplex.grid import Grid
from calib_core.binning.simplex.projection import Projection
from calib_core.binning.simplex.sierpinski import Sierpinski

__all__ = [
    "Grid",
    "Projection",
    "Sierpinski",
    "SimplexTable",
    "partition",
    "simplex_points",
    "simplex_table",
    "vector_sums",
]
