"""Summaries of predictions of any size: counts on a fine grid, merged exactly, with the interface of predictions."""

from calib_core.summaries.claim_tally import ClaimTally, tally
from calib_core.summaries.counted_claims import CountedClaims
from calib_core.summaries.in_duckdb import count_in_duckdb, counting_sql
from calib_core.summaries.making import count_on_cluster, summarise
from calib_core.summaries.mergeable import Summary, kept_together, merged
from calib_core.summaries.on_disk import read_summary, summary_of, write_summary

__all__ = [
    "ClaimTally",
    "CountedClaims",
    "Summary",
    "count_in_duckdb",
    "count_on_cluster",
    "counting_sql",
    "kept_together",
    "merged",
    "read_summary",
    "summarise",
    "summary_of",
    "tally",
    "write_summary",
]
