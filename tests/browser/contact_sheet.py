"""Every view at four widths, light and dark, as pictures in one folder: `make contact-sheet OUT=../sheet`.

To be looked at, one by one. Names are VIEW_WIDTH_THEME.png, in a folder per file of predictions.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Error, Page, sync_playwright

from calib_core import Recipe
from dashboard.selection import Selection, Source
from dashboard.views import VIEWS
from tests.browser.conftest import ARGUMENTS, ROOT, chromium, serve_calib

sys.path.insert(0, str(ROOT / "tests" / "browser"))
from waiting import settled

WIDTHS = {900: 900, 1280: 900, 1920: 1080, 2560: 1440}
"""Widths of windows, and their heights."""
WHOLE = """.stApp, [data-testid=stAppViewContainer], [data-testid=stMain]
    { position: static !important; height: auto !important; overflow: visible !important }"""
"""Style sheet with which the page is as high as its contents, in a window of the same size."""


def take(page: Page, path: Path) -> None:
    """Take one picture, as high as the page."""
    settled(page)
    page.wait_for_timeout(500)
    page.screenshot(path=path, full_page=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", nargs="+", default=["demo:breast-cancer-svm", "demo:digits-naive-bayes"])
    parser.add_argument("--view", nargs="+", default=[key for key in VIEWS if key != "added"])
    parser.add_argument("--width", nargs="+", type=int, choices=WIDTHS, default=list(WIDTHS))
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as logs,
        serve_calib(log=Path(logs) / "log") as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = browser.new_page(reduced_motion="reduce")
        page.set_default_timeout(120_000)
        for data in asked.data:
            folder = asked.folder / data.removeprefix("demo:").replace("/", "-")
            folder.mkdir(parents=True, exist_ok=True)
            for view in asked.view:
                choices = Selection(
                    view=view, source=Source(data=data), calibrators=(Recipe("CALIBRATORS", "temperature"),)
                )
                page.goto(f"{server.url}/?{urlencode(choices.to_query())}")
                page.add_style_tag(content=WHOLE)
                for width in asked.width:
                    for theme in ("light", "dark"):
                        page.emulate_media(color_scheme=theme)
                        page.set_viewport_size({"width": width, "height": WIDTHS[width]})
                        try:
                            take(page, folder / f"{view}_{width}_{theme}.png")
                        except Error as why:
                            sys.stderr.write(f"{data}, {view}, {width}, {theme}: {why}\n")
        browser.close()


if __name__ == "__main__":
    main()
