"""Imports of every family of bad files, one line each."""

from tests.corpus import (
    bad_archives,
    bad_arrays,
    bad_json,
    bad_labels,
    bad_parquet,
    bad_scores,
    bad_summaries,
    bad_text,
)
from tests.corpus.bad_files import FAMILIES

__all__ = [
    "FAMILIES",
    "bad_archives",
    "bad_arrays",
    "bad_json",
    "bad_labels",
    "bad_parquet",
    "bad_scores",
    "bad_summaries",
    "bad_text",
]
