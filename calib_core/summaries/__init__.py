"""Summaries: predictions of any size as counts on a fine grid, merged to the bit, opened like predictions."""

from calib_core.summaries.counted_claims import CountedClaims
from calib_core.summaries.making import summarise
from calib_core.summaries.mergeable import Summary, merged
from calib_core.summaries.on_disk import read_summary, summary_of, write_summary

__all__ = ["CountedClaims", "Summary", "merged", "read_summary", "summarise", "summary_of", "write_summary"]
