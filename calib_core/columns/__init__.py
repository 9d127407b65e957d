"""Rows by metadata columns: conditions and the division into slices, from the columns only, never from outcomes."""
