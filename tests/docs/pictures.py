"""The pictures of the README and the documentation that a browser takes: `make pictures`.

Figures of pages are drawn from the code beside them when `make docs` runs; these are the others.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

from calib_core import Recipe
from dashboard.selection import Selection, Source
from tests.browser.conftest import ARGUMENTS, chromium, serve_calib
from tests.docs.executed import ROOT

sys.path.insert(0, str(ROOT / "tests" / "browser"))
from waiting import settled

OVERVIEW = ROOT / ".github" / "overview.png"
WIDTH, HEIGHT = 1280, 842
_CHOICES = Selection(
    source=Source(data="demo:digits-naive-bayes"),
    calibrators=(Recipe("CALIBRATORS", "temperature"),),
    confidence=0.9,
)


def overview(path: Path = OVERVIEW) -> None:
    """Take the first page of the dashboard on demo data, before and after temperature scaling."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serve_calib(log=Path(folder) / "log") as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(f"{server.url}/?{urlencode(_CHOICES.to_query())}")
        page.get_by_text("tolerance 2 %").first.wait_for(timeout=120_000)
        settled(page)
        page.wait_for_timeout(1500)
        page.screenshot(path=path)
        browser.close()


if __name__ == "__main__":
    overview()
