"""The frame around every view, in a real browser: the rooms, their state, no remains of the previous one."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from dashboard.navigation import ROOMS
from dashboard.views import VIEWS
from tests.browser.test_app import drawn, own_file
from tests.browser.waiting import settled

WIDTHS = (900, 1280, 1920)


def enter(page: Page, room: str) -> None:
    page.get_by_role("radio", name=room, exact=True).click()


def skip_the_frame(page: Page) -> None:
    """Press the first stop of the tab key: a link, visible while it has the focus, that leads to the view."""
    link = page.get_by_role("link", name="Skip to the answer")
    expect(link).not_to_be_in_viewport()
    page.keyboard.press("Tab")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    expect(page.locator(".calib-answer")).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('[class*=st-key-view-]') !== null"), "past the frame"


def many_rows(folder: Path) -> Path:
    """Write a file whose upload and reading take a moment."""
    lines = [f"0.{i % 9 + 1}00001,{1 - (i % 9 + 1) / 10 - 1e-6:.6f},{i % 2}" for i in range(60_000)]
    path = folder / "slow.csv"
    path.write_text("\n".join(["p_a,p_b,label", *lines]) + "\n")
    return path


def the_style_sheets_find_what_they_dress(page: Page, width: int) -> None:
    assert page.get_by_test_id("stHeader").count() == 0 or not page.get_by_test_id("stHeader").is_visible()
    pane = page.locator("[data-testid=stColumn]:has(> div .st-key-detail)")
    assert pane.evaluate("node => getComputedStyle(node).position") == ("static" if width == 900 else "sticky")
    assert page.locator(".st-key-frame-opening").evaluate("node => getComputedStyle(node).display") == "none"
    top = page.get_by_test_id("stMainBlockContainer").evaluate("node => getComputedStyle(node).paddingTop")
    assert float(top.removesuffix("px")) < 30


@pytest.mark.parametrize(
    "width", [pytest.param(width, marks=() if width == 1280 else pytest.mark.wide) for width in WIDTHS]
)
def test_the_page_is_dressed_and_its_pane_on_screen_wherever_it_is_scrolled(open_page, served, width: int) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability&bin=9", width=width)
    drawn(page, "reliability")
    the_style_sheets_find_what_they_dress(page, width)
    pane = page.locator("[data-testid=stColumn]:has(> div .st-key-detail)")
    if width == 900:
        picture = page.locator("[data-calib-chart=reliability]").bounding_box()
        assert pane.bounding_box()["y"] >= picture["y"] + picture["height"], "below the picture, not over it"
    for y in (0, 300, 600) if width > 900 else ():
        page.mouse.wheel(0, y)
        page.wait_for_timeout(200)
        box = pane.bounding_box()
        assert box["y"] < 800, "its beginning is on screen"
        assert box["y"] + box["height"] <= 905 or box["y"] <= 20
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    presenting_leaves_the_picture_and_its_models(page)


@pytest.mark.wide
def test_back_and_forward_return_to_the_choices_before(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/")
    settled(page)
    page.locator(".st-key-tile-wine-logistic").get_by_role("button", name="Open").first.click()
    expect(page.locator(".st-key-view-overview")).to_be_visible()
    settled(page)
    page.go_back()
    expect(page.locator(".st-key-view-start")).to_be_visible()
    page.goto(f"{served().url}/?view=reliability&data=demo:wine-logistic&bins=8")
    drawn(page, "reliability")

    def here(room: str, view: str) -> None:
        expect(page.get_by_role("radio", name=room, exact=True)).to_be_checked()
        expect(page.locator(f".st-key-view-{view}")).to_be_visible()
        page.wait_for_url(f"**view={view}*")

    for room, view in (("Recalibrate", "calibrators"), ("Evidence", "estimators")):
        enter(page, room)
        here(room, view)
    page.go_back()
    here("Recalibrate", "calibrators")
    page.go_back()
    here("Explore", "reliability")
    assert "bins=8" in page.url
    page.go_forward()
    here("Recalibrate", "calibrators")
    # A choice after Back starts from what is on screen, and replaces what was ahead.
    enter(page, "Explore")
    here("Explore", "reliability")
    page.go_back()
    here("Recalibrate", "calibrators")


def test_every_room_is_a_click_away_and_none_shows_the_remains_of_another(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability&data=demo:wine-logistic")  # few rows: the Report room is quick
    drawn(page, "reliability")
    # Noted by the page itself, as it changes: two views on screen at a time, and old content in a new view.
    page.evaluate(
        """() => {
            window.together = [];
            const look = () => {
                const views = [...document.querySelectorAll('[class*=st-key-view-]')].filter(n => n.offsetHeight > 0);
                if (views.length > 1) window.together.push(views.map(n => n.className.match(/st-key-view-\\S+/)[0]));
                window.watching = requestAnimationFrame(look);
            };
            look();
        }"""
    )
    for room in ("Evidence", "Recalibrate", "Report", "Overview", "Explore"):
        enter(page, room)
        key = next(view.key for view in VIEWS.values() if ROOMS.get(view.room) == room and view.listed)
        expect(page.locator(f".st-key-view-{key}")).to_be_visible()
        settled(page)
    # Who comes back to a room finds the view that was left.
    page.get_by_role("radio", name="Classes", exact=True).click()
    for room, key in (("Overview", "overview"), ("Explore", "classes")):
        settled(page)
        enter(page, room)
        expect(page.locator(f".st-key-view-{key}")).to_be_visible()
    assert page.evaluate("window.together") == []


@pytest.mark.wide
def test_an_upload_survives_a_change_of_view(open_page, served, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=data")
    expect(page.locator(".st-key-view-data")).to_be_visible()
    settled(page)
    # The bytes leave slowly: the view is changed while they are under way.
    page.route("**/_stcore/upload_file/**", lambda route: (page.wait_for_timeout(1500), route.continue_()))
    page.wait_for_load_state("networkidle")
    with page.expect_request("**/_stcore/upload_file/**"):
        own_file(page).set_input_files(many_rows(tmp_path))
    enter(page, "Evidence")
    expect(page.locator(".st-key-frame-file")).to_contain_text("slow.csv")
    expect(page.locator(".st-key-view-overview")).to_be_visible()


@pytest.mark.wide
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_no_view_is_wider_than_the_window(open_page, served, width: int, dark: bool) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=overview", width=width, dark=dark)
    drawn(page, "verdict")
    skip_the_frame(page)
    for room in ROOMS.values():
        enter(page, room)
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), room


def presenting_leaves_the_picture_and_its_models(page: Page) -> None:
    page.get_by_role("button", name="Present", exact=True).click()
    drawn(page, "presented-picture")
    assert not any(each.is_visible() for each in page.get_by_test_id("stCaptionContainer").all())
    expect(page.locator(".st-key-presented-models")).to_be_visible()
    page.get_by_role("button", name="Exit presentation", exact=True).click()
    expect(page.locator(".st-key-frame-settings")).to_be_visible()


@pytest.mark.wide
def test_what_a_popover_holds_stays_what_the_link_says(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability&binning=equal-width&bins=12")
    drawn(page, "reliability")
    # Opened first long after it was filled: the browser knows only the last run.
    enter(page, "Evidence")
    expect(page.locator(".st-key-view-estimators")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Bins:", exact=False).click()
    slider = page.get_by_test_id("stPopoverBody").get_by_role("slider")
    expect(slider).to_have_value("12")
    page.keyboard.press("Escape")
    expect(slider).to_have_count(0)
    assert "bins=12" in page.url
    page.get_by_role("button", name="Bins:", exact=False).click()
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**bins=13*")
    # Left open while another view is entered.
    enter(page, "Explore")
    drawn(page, "reliability")
    settled(page)
    assert "bins=13" in page.url


@pytest.mark.parametrize(
    "width", [pytest.param(width, marks=() if width == 1280 else pytest.mark.wide) for width in WIDTHS]
)
def test_the_names_of_two_temperatures_do_not_touch_and_questions_are_one_line(open_page, served, width: int) -> None:  # type: ignore[no-untyped-def]
    link = 'view=calibrators&data=demo%3Adigits-naive-bayes&calibrators=[{"key":"temperature"}]'
    page = open_page(f"{served().url}/?{link}", width=width)
    drawn(page, "movement")
    names = page.locator(".calib-track button")
    expect(names).to_have_count(2)
    first, second = sorted((name.bounding_box() for name in names.all()), key=lambda box: box["x"])
    assert first["x"] + first["width"] <= second["x"]
    beside = page.locator(".calib-slider output").bounding_box()
    assert second["y"] + second["height"] <= beside["y"] + 1 or second["x"] + second["width"] <= beside["x"] + 1
    if width == 1280:
        questions = page.locator(".st-key-recalibrate-questions").get_by_role("radio")
        questions.first.wait_for()
        settled(page)
        assert len({each.bounding_box()["y"] for each in questions.all()}) == 1
