"""Waiting for a page: implicit for a person, explicit for a script."""

from pathlib import Path

from playwright.sync_api import Locator, Page

QUIET = 400
"""Milliseconds without a script run after which none follows.

A first run is followed by a second one when its charts have found their place.
"""
# Between two runs the page looks ended for a moment, as it does before its first: it rests when it has stayed so.
RESTS = """quiet => {
    const app = document.querySelector('[data-testid=stApp]');
    const now = performance.now();
    const busy = app?.dataset.testScriptState !== 'notRunning'
        || !document.querySelector('[data-testid=stMainBlockContainer] [data-testid=stElementContainer]')
        || document.querySelector('[data-testid=stSkeleton]');
    if (busy || window.restsSince === undefined) window.restsSince = now;
    return !busy && now - window.restsSince > quiet;
}"""


def settled(page: Page) -> None:
    """Wait until the page is complete and no rerun is in progress: a file requested meanwhile is lost."""
    page.evaluate("() => { delete window.restsSince; }")
    page.wait_for_function(RESTS, arg=QUIET)


def taken_home(page: Page, button: Locator) -> Path:
    """Return the file behind a button, as the browser stores it."""
    settled(page)
    with page.expect_download() as downloading:
        button.click()
    return Path(downloading.value.path())
