"""Predicted probabilities of binary outcomes, and their sums in cells."""

from calib_core.claims.binary_claims import Claims, ColumnClaims, FlatClaims

__all__ = ["Claims", "ColumnClaims", "FlatClaims"]
