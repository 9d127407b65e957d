"""The whole report of a file, from its bytes to the page, with two calibrators; and its recipe read back.

A report of 10,000 rows and 10 classes should take under 10 s and 8 MB.
"""

import io

import numpy as np
import pytest

from calib_core import Recipe
from dashboard import report, session
from dashboard.selection import Selection, Source

CALIBRATORS = ("temperature", "top-label-hb")


def forgotten():
    """Clear all results of earlier rounds."""
    session.RESULTS.clear()


def file_of(sample):
    held = io.BytesIO()
    np.savez(held, probs=sample.probs, labels=sample.labels)
    return held.getvalue()


@pytest.fixture
def selection(sample):
    if sample.probs.size > 1_000_000:
        pytest.skip("reports are timed at 10,000 rows")
    key = session.hold(file_of(sample), "sample.npz").key
    return Selection(source=Source(data=key), calibrators=tuple(Recipe("CALIBRATORS", k) for k in CALIBRATORS))


def test_whole_report(benchmark, selection):
    made = benchmark.pedantic(report.build, args=(selection,), setup=forgotten, rounds=1)
    benchmark.extra_info["megabytes"] = len(made.html) / 1e6
    assert len(made.html) < 8_000_000


def test_recipe_read_back(benchmark, selection):
    page = report.build(selection).html
    assert benchmark(report.read_recipe, page).selection.bins == selection.bins
