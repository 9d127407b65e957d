"""Our numbers on the page that compares packages are still ours."""

from __future__ import annotations

import re

from tests.benchmarks import comparison


def test_our_numbers_on_the_page_still_hold() -> None:
    measured = comparison.PAGE.read_text("utf-8").partition(comparison.BEGIN)[2].partition(comparison.END)[0]
    lines = re.findall(r"^\| ([^|]+) \| ([^|]+) \| (\d[^|]*) \|", measured, re.M)
    kept = {(title, example): number for title, example, number in lines}
    assert kept == {(title, example): comparison.written(value) for title, example, value in comparison.ours()}
    assert len(kept) > 20
