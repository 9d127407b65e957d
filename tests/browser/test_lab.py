"""The laboratory in a real browser: a distribution is drawn, sampled, compared, and sent to the planner."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import drawn
from tests.browser.waiting import settled

SENTENCE = re.compile(r"True error: .*ECE.*Debiased ECE: ", re.DOTALL)


def sentence(page: Page) -> str:
    """Return the sentence on the true distribution and the sample below their picture."""
    found = page.get_by_test_id("stCaptionContainer").filter(has_text=SENTENCE).first
    expect(found).to_be_visible()
    return found.inner_text()


def dragged(page: Page, key: str, number: int, across: float, up: float) -> None:
    """Drag a draggable mark by this many pixels, and wait for the page's update."""
    before = page.url
    grip = page.locator(f".calib-frame:has([data-calib-chart={key}]) .calib-grip").nth(number)
    grip.scroll_into_view_if_needed()
    box = grip.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + across, y - up, steps=4)
    page.mouse.up()
    page.wait_for_url(lambda url: url != before)
    settled(page)


@pytest.mark.wide
def test_a_point_of_the_truth_is_dragged_and_stays_in_the_link(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=lab")
    drawn(page, "lab-curve")
    settled(page)
    before = sentence(page)
    slider = page.get_by_role("slider", name="Score 40 %")
    expect(slider).to_have_value("25")
    dragged(page, "lab-curve", 2, 60, 1000)
    expect(slider).to_have_value("100")  # no higher, and to no other score
    assert sentence(page) != before
    again = open_page(page.url)
    expect(again.get_by_role("slider", name="Score 40 %")).to_have_value("100")


@pytest.mark.wide
def test_a_drag_taken_back_changes_nothing_and_the_planners_mark_is_dragged(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=planner")
    drawn(page, "plan")
    settled(page)
    before, headline = page.url, page.locator("h5").first.inner_text()
    grip = page.locator(".calib-grip")
    expect(grip).to_have_count(1)
    box = grip.bounding_box()
    assert box
    page.mouse.move(box["x"] + 15, box["y"] + 15)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 15, steps=4)
    expect(page.locator(".calib-bubble")).to_contain_text("calibration rows in each bin")
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(page.locator(".calib-bubble")).to_be_hidden()
    assert grip.bounding_box() == box
    page.wait_for_timeout(300)
    assert page.url == before
    dragged(page, "plan", 0, 150, 0)
    assert page.locator("h5").first.inner_text() != headline
    assert re.search(r"points%22%3A\d+", page.url)


@pytest.mark.wide
def test_a_truth_is_drawn_sampled_judged_and_planned_for(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=lab")
    drawn(page, "lab-curve")
    settled(page)
    before = sentence(page)
    point = page.get_by_role("slider", name="Score 40 %")
    for _ in range(5):
        point.press("ArrowRight")
    page.wait_for_url("**exhibits=*")
    settled(page)
    moved = sentence(page)
    assert moved != before
    page.get_by_role("button", name="Sample again").click()
    expect(page.get_by_text(moved, exact=True)).to_have_count(0)
    settled(page)
    assert sentence(page) != moved
    page.get_by_role("button", name="Plan the sample size").click()
    page.wait_for_url("**view=planner*")
    settled(page)
    expect(page.locator(".st-key-frame-file")).to_contain_text("lab_sample.csv")
    headline = page.locator("h5").first.inner_text()
    again = open_page(page.url)
    settled(again)
    expect(again.locator("h5").first).to_have_text(headline)
    expect(again.get_by_test_id("stException")).to_have_count(0)
