"""The strip of the tour, in a real browser: slim at every width, and controlled by its own buttons."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from dashboard.navigation import STOPS
from dashboard.tour import TOUR
from tests.browser.waiting import settled

pytestmark = pytest.mark.wide
SLIM = 110
"""Maximum height in pixels."""


@pytest.mark.parametrize("width", [900, 1280])
def test_the_strip_is_slim_at_every_stop(open_page, served, width: int) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?tour=1", width=width)
    titles = [stop.title for stop in TOUR]
    for number in range(1, STOPS + 1):
        expect(page.locator(".st-key-tour")).to_contain_text(f"{number} of {STOPS}")
        settled(page)
        assert page.locator(".st-key-tour").bounding_box()["height"] <= SLIM
        assert f"tour={number}" in page.url
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        if number < STOPS:
            page.get_by_role("button", name="Next").click()
    page.goto(f"{page.url.split('?')[0]}?tour={1 + titles.index('The event of two classes')}")
    strip, headline = page.locator(".st-key-tour"), page.locator(".calib-hero h1")
    expect(headline).to_contain_text("given a risk")
    expect(headline).to_contain_text("malignant")
    page.locator(".st-key-frame-event button").first.click()
    page.get_by_text("benign", exact=True).click()
    expect(headline).to_contain_text("benign")
    expect(strip).to_contain_text("here “benign”")
    settled(page)
    assert strip.bounding_box()["height"] <= SLIM
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Leave tour").click()
    expect(page.locator(".st-key-tour")).to_have_count(0)
