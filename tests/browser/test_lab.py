"""The laboratory in a real browser: a truth is drawn, sampled, held against estimates, and taken to the planner."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import drawn
from tests.browser.waiting import settled

SENTENCE = re.compile(r"True error: .*ECE.*Debiased ECE: ", re.DOTALL)


def sentence(page: Page) -> str:
    """What is said of the truth and the sample below their picture."""
    found = page.get_by_test_id("stCaptionContainer").filter(has_text=SENTENCE).first
    expect(found).to_be_visible()
    return found.inner_text()


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
    page.get_by_role("button", name="How many rows would it take?").click()
    page.wait_for_url("**view=planner*")
    settled(page)
    expect(page.locator(".st-key-frame-file")).to_contain_text("lab_sample.csv")
    headline = page.locator("h5").first.inner_text()
    again = open_page(page.url)
    settled(again)
    expect(again.locator("h5").first).to_have_text(headline)
    expect(again.get_by_test_id("stException")).to_have_count(0)
