"""Sizes of the frame in a real browser: one row of controls, one menu per exhibit, a pane of a fixed width."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from dashboard.views.presenter import PICTURES
from tests.browser.test_app import drawn, own_file
from tests.browser.waiting import settled

MODELS = 'data=demo%3Adigits-naive-bayes&calibrators=[{"key":"temperature"}]'
TOP = {900: 200, 1280: 150, 1920: 150}
"""Most pixels from the top of the window to the content, by width."""


def bottom(place: Locator) -> float:
    box = place.bounding_box()
    assert box is not None
    return float(box["y"] + box["height"])


def buttons_in_a_row(page: Page) -> int:
    """Return the largest number of outlined buttons of one exhibit in one line."""
    rows = page.locator("[class*=st-key-view-] [data-testid=stHorizontalBlock]").all()
    return max((row.locator("> * > * > [data-testid*=secondary]").count() for row in rows), default=0)


@pytest.mark.parametrize(
    "width", [pytest.param(width, marks=() if width == 1280 else pytest.mark.wide) for width in TOP]
)
def test_the_controls_are_one_row_and_every_model_is_behind_a_button(open_page, served, width: int) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability&{MODELS}", width=width)
    drawn(page, "reliability")
    settled(page)
    assert page.locator(".st-key-view-reliability").bounding_box()["y"] <= TOP[width]
    places = [page.locator(f".st-key-frame-{name}") for name in ("tabs", "models", "settings")]
    middles = [box["y"] + box["height"] / 2 for box in (place.bounding_box() for place in places)]
    assert width == 900 or max(middles) - min(middles) < 4, "views, models and settings are in one line"
    page.get_by_role("button", name="More calibrators", exact=False).click()
    for name in ("Temperature scaling", "Vector scaling", "Dirichlet calibration"):
        expect(page.get_by_test_id("stPopoverBody").get_by_role("button", name=name, exact=True)).to_be_visible()
    # The most tabs, the longest settings, and two names that are cut.
    ticked = '[{"key":"temperature"},{"key":"logistic-recalibration"}]'
    page.goto(f"{served().url}/?view=tests&data=demo:breast-cancer-svm&calibrators={ticked}")
    settled(page)
    assert page.locator(".st-key-view-tests").bounding_box()["y"] <= TOP[width]
    right = page.locator(".st-key-frame-settings").bounding_box()
    assert right["x"] + right["width"] <= width


@pytest.mark.wide
def test_the_menu_of_a_picture_has_all_that_can_be_done_with_it(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability&{MODELS}")
    drawn(page, "reliability")
    settled(page)
    menu = page.locator(".st-key-view-reliability").get_by_role("button", name="Menu")
    expect(menu).to_have_count(1)
    menu.focus()
    page.keyboard.press("Enter")
    body = page.get_by_test_id("stPopoverBody")
    expect(body.get_by_role("button", name="Download this table (CSV)")).to_be_visible()
    for fold in ("How to read this", "Glossary", "Copy as code"):
        expect(body.locator("summary", has_text=fold)).to_be_visible()
    page.keyboard.press("Escape")
    assert buttons_in_a_row(page) < 4


@pytest.mark.wide
def test_the_pane_is_folded_until_a_bin_is_opened_and_fits_the_window(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability&{MODELS}")
    drawn(page, "reliability")
    pane = page.locator("[data-testid=stColumn]:has(> div .st-key-detail)")
    expect(pane).to_be_hidden()
    settled(page)
    page.get_by_role("button", name="Open the bin that contributes most").click()
    page.wait_for_url("**bin=14*")
    drawn(page, "detail-classes")
    settled(page)
    assert pane.bounding_box()["width"] == pytest.approx(380, abs=1)
    assert bottom(pane) <= 880
    assert max(bottom(each) for each in pane.get_by_role("button").all() if each.is_visible()) <= 880
    cells = pane.locator("[data-testid=stTable] tbody td").all()
    assert {cell.evaluate("node => getComputedStyle(node).textAlign") for cell in cells} == {"right"}
    lines = [row.bounding_box()["height"] for row in pane.locator("[data-testid=stTable] tbody tr").all()]
    assert lines
    assert max(lines) <= 26


def of_dates(page: Page, folder: Path) -> str:
    """Load a file with a date in every row; return the part of the address that chooses it, with a calibrator."""
    rng = np.random.default_rng(0)
    risk = rng.uniform(0.05, 0.95, 600)
    days = pd.date_range("2025-01-01", periods=600).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"risk": risk.round(3), "died": (rng.random(600) < risk).astype(int), "seen": days})
    frame.to_csv(folder / "dated.csv", index=False)
    own_file(page).set_input_files(folder / "dated.csv")
    expect(page.locator(".st-key-frame-file")).to_contain_text("dated.csv")
    settled(page)
    chosen = dict(parse_qsl(urlsplit(page.url).query))
    return urlencode({"data": chosen["data"], "calibrators": '[{"key":"temperature"}]'})


ACROSS = """() => Array.from(document.querySelectorAll(".dvn-scroller"), grid => grid.scrollWidth - grid.clientWidth)"""


@pytest.mark.wide
@pytest.mark.parametrize("width", [900, 1280])
@pytest.mark.parametrize("view", ["findings", "classes", "papers"])
def test_no_grid_is_scrolled_sideways(open_page, served, view: str, width: int) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view={view}&{MODELS}", width=width, height=2400)
    page.locator(".dvn-scroller").first.wait_for()
    settled(page)
    over = page.evaluate(ACROSS)
    assert over
    assert max(over) <= 0


SCROLLS = """() => [document.documentElement, document.querySelector("[data-testid=stMain]")]
    .some(node => node.scrollHeight > node.clientHeight + 1)"""
MARKS = """() => {
    const node = document.querySelector("[data-calib-chart=presented-picture]");
    const box = node.querySelector(".nsewdrag").getBoundingClientRect();
    const marks = [...node.querySelectorAll("g.scatter path.point")].filter(m => m.getBoundingClientRect().width > 0);
    return {
        traces: node._fullData.filter(trace => trace.showlegend !== false && trace.name).map(trace => trace.name),
        own: node.querySelectorAll(".calib-own").length,
        outside: marks.map(mark => mark.getBoundingClientRect()).filter(m => m.right < box.left - 8).length,
    };
}"""


def test_a_presentation_is_a_picture_chips_and_a_slider(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability&present=True&{MODELS}", height=720)
    drawn(page, "presented-picture")
    settled(page)
    assert not page.evaluate(SCROLLS)
    slider = page.get_by_role("slider", name="Temperature")
    assert slider.bounding_box()["width"] > 0.9 * page.locator(".st-key-presented").bounding_box()["width"]
    # The only numbers beside the axes follow the slider.
    words = page.locator(".calib-slider output")
    before = words.inner_text()
    slider.focus()
    for _ in range(30):
        page.keyboard.press("ArrowLeft")
    expect(words).not_to_have_text(before)
    assert re.match(r"T = [\d.]+ · mean confidence [\d.]+ %, accuracy [\d.]+ %$", words.inner_text())
    settled(page)
    page.mouse.click(5, 715)
    slider.evaluate("node => node.blur()")
    for name in ("Vector scaling", "Dirichlet calibration"):
        page.keyboard.press("ArrowRight")
        expect(page.locator(".st-key-presented-models [data-selected]")).to_contain_text(name)
        page.wait_for_function(
            "name => document.querySelector('[data-calib-chart=presented-picture]')?._fullData"
            "?.some(trace => trace.name === name)",
            arg=name,
        )
        drawn(page, "presented-picture")
        seen = page.evaluate(MARKS)
        assert seen == {"traces": ["Original model", name], "own": 0, "outside": 0}
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-view-reliability [data-calib-chart=reliability]")).to_be_visible()
    page.wait_for_url(lambda url: "present" not in url)


@pytest.mark.wide
@pytest.mark.parametrize(
    "view",
    [view if view == "classes" else pytest.param(view, marks=pytest.mark.wide) for view in (*PICTURES, "overview")],
)
def test_every_other_picture_is_presented_as_high_as_the_window(  # type: ignore[no-untyped-def]
    open_page, served, tmp_path: Path, view: str
) -> None:
    data = "data=demo%3Alanguage-model" if view in ("slices", "levels") else MODELS
    if view == "overview":  # for a risk there is no slider
        data = MODELS.replace("digits-naive-bayes", "breast-cancer-svm")
    if view == "over-time":  # the examples have no column of dates
        page = open_page(f"{served().url}/?view=data&{MODELS}", height=720)
        settled(page)
        page.goto(f"{served().url}/?view={view}&present=True&{of_dates(page, tmp_path)}")
    else:
        page = open_page(f"{served().url}/?view={view}&present=True&{data}", height=720)
    for height in (720, 1080):
        page.set_viewport_size({"width": 1280, "height": height})
        drawn(page, "presented-picture")
        settled(page)
        assert not page.evaluate(SCROLLS)
        picture = page.locator("[data-calib-chart=presented-picture]")
        for _ in range(100):  # it grows a moment after the window
            if height - 60 < bottom(picture) <= height:
                break
            page.wait_for_timeout(100)
        assert height - 60 < bottom(picture) <= height
    chips = page.locator(".st-key-presented-models [data-selected]")
    before = chips.inner_text()
    page.keyboard.press("ArrowRight")
    expect(chips).not_to_have_text(before)
    settled(page)
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "present" not in url)


def test_marks_and_words_of_a_model_have_one_colour_on_the_dark_page(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=overview&{MODELS}", dark=True)
    drawn(page, "verdict")
    word = page.locator(".calib-hero p.after b").first
    colours = page.evaluate(
        """() => [...document.querySelectorAll("[data-calib-chart=verdict] g.scatter path.point")]
            .map(mark => getComputedStyle(mark).fill)"""
    )
    assert word.evaluate("node => getComputedStyle(node).color") in colours
