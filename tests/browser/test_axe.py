"""Every room, in both themes, checked by axe: all our elements have contrast and names."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from dashboard.views import VIEWS
from tests.browser.waiting import settled

AXE = Path(sys.prefix) / "node_modules" / "axe-core" / "axe.min.js"
RUN = """() => axe.run(document, { resultTypes: ["violations"] }).then(found => found.violations.flatMap(rule =>
    rule.nodes.map(node => [rule.id, node.target.flat().join(" "), node.html.slice(0, 300)])))"""
STREAMLITS = {
    # The field for files acts as a button and can be given focus, so that its role cannot be "presentation".
    "presentation-role-conflict": 'data-testid="stFileUploaderDropzone"',
}
"""Violations of Streamlit's own widgets, by rule: the element, with the reason why it is not ours to fix."""
PATIENT = 10.0
"""Seconds after which findings are final: letters are pale while the page fades in."""
FIRST = {("overview", True), ("calibrators", False)}
"""Rooms and themes checked every time, in turns; `make wide` checks every view in both themes."""
ASKED = [
    pytest.param(key, dark, marks=() if (key, dark) in FIRST else pytest.mark.wide)
    for key in VIEWS
    for dark in (False, True)
]
ASKED += [
    pytest.param(f"{key}&data=demo%3Abreast-cancer-svm", False, marks=() if key == "reliability" else pytest.mark.wide)
    for key in ("overview", "reliability", "findings", "calibrators")
]
"""Views that have contents of their own for a risk are checked for one, too."""
PLACES = dict.fromkeys(VIEWS, "") | {
    "reliability": "&bin=9",
    "classes": "&code=3",
    "slices": "&data=demo%3Alanguage-model&within=model%3Dsmall",
}
"""Focus in each view: details have their own words."""


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.exists():
        pytest.skip("axe-core is not installed: `make test` does so where there is npm")
    return AXE.read_text("utf-8")


def ours(page: Page, axe: str) -> list[Any]:
    """Return the findings of axe, without those of Streamlit's widgets."""
    page.evaluate(axe)
    deadline = time.monotonic() + PATIENT
    while True:
        found = [each for each in page.evaluate(RUN) if STREAMLITS.get(each[0], "no such text") not in each[2]]
        if not found or time.monotonic() > deadline:
            return found
        page.wait_for_timeout(500)


@pytest.mark.parametrize(("key", "dark"), ASKED)
def test_axe_finds_nothing_of_ours(open_page, served, axe: str, key: str, dark: bool) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view={key}{PLACES.get(key, '')}", dark=dark)
    expect(page.locator(f".st-key-view-{key.partition('&')[0]}")).to_be_visible()
    settled(page)
    assert ours(page, axe) == []
