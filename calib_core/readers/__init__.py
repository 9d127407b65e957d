"""Readers: the bytes of CSV, Parquet, NPZ, NPY and JSON Lines files become Predictions; nothing else parses."""

from calib_core.readers.doctor import examine, propose
from calib_core.readers.finding import Finding
from calib_core.readers.formats import file_bytes, read_table
from calib_core.readers.predict import predictions, read_predictions
from calib_core.readers.reading import Reading
from calib_core.readers.rows import shared_rows, split_rows
from calib_core.readers.table import Table

__all__ = [
    "Finding",
    "Reading",
    "Table",
    "examine",
    "file_bytes",
    "predictions",
    "propose",
    "read_predictions",
    "read_table",
    "shared_rows",
    "split_rows",
]
