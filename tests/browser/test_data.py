"""User's own files in the real app: findings are shown, the data change, a broken file changes nothing."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_app import own_file
from tests.browser.waiting import settled

HOSTILE = "<img src=http://127.0.0.2/a.png>"


@pytest.fixture
def data_page(open_page, served) -> Page:
    page = open_page(f"{served().url}/?view=data")
    # The first visitor of a server waits for its imports.
    page.get_by_text("Demo data").first.wait_for()
    return page


def written(folder: Path, name: str, *lines: str) -> Path:
    file = folder / name
    file.write_text("\n".join(lines) + "\n")
    return file


def counted_from_one(folder: Path) -> Path:
    """Write three classes, labels 1 to 3, one row without a score."""
    lines = [f"0.7{i},0.1{i},{0.2 - 0.02 * i:.2f},{i % 3 + 1}" for i in range(10)] * 4
    return written(folder, "mine.csv", "p_a,p_b,p_c,label", ",0.5,0.5,1", *lines)


def upload(page: Page, file: Path) -> None:
    settled(page)  # for a moment after a file that was refused its field and a fresh one are both there
    own_file(page).set_input_files(file)


def title(page: Page, text: str) -> None:
    """Check the name of the current data in the frame."""
    expect(page.locator(".st-key-frame-file")).to_contain_text(text)


def look_into(page: Page) -> None:
    """Open the room of the current data."""
    page.locator(".st-key-frame-file button").first.click()
    expect(page.locator(".st-key-view-data")).to_be_visible()
    settled(page)  # a click on what is about to be drawn again goes nowhere


def test_an_upload_is_explained_then_used(data_page: Page, tmp_path: Path) -> None:
    upload(data_page, counted_from_one(tmp_path))
    problem = data_page.get_by_test_id("stAlert").filter(has_text="Problem.")
    expect(problem).to_contain_text("1 of 41 rows lack a value")
    expect(data_page.get_by_text("not in use yet")).to_be_visible()
    title(data_page, "Handwritten digits, naive Bayes")

    data_page.get_by_role("button", name="Leave out 1 row").click()
    title(data_page, "mine.csv")
    expect(data_page.locator(".st-key-view-overview")).to_be_visible()
    look_into(data_page)
    expect(data_page.get_by_test_id("stMetricValue").first).to_have_text("40")
    expect(data_page).to_have_url(re.compile(r"data=sha256"))

    data_page.locator("label").filter(has_text="Wine, logistic regression (178 rows)").click()
    title(data_page, "Wine, logistic regression (178 rows)")


def test_a_broken_file_is_one_sentence_and_changes_nothing(data_page: Page, tmp_path: Path) -> None:
    upload(data_page, written(tmp_path, "broken.csv", "p_0,p_1,label", "0.5,0.5"))
    problem = data_page.get_by_test_id("stAlert").filter(has_text="Problem.")
    expect(problem).to_have_count(1)
    expect(problem).to_contain_text("broken.csv, line 2 has 2 fields, but the header has 3")
    title(data_page, "Handwritten digits, naive Bayes")
    upload(data_page, counted_from_one(tmp_path))
    expect(data_page.get_by_text("mine.csv").first).to_be_visible()


@pytest.mark.wide
def test_a_link_opens_the_uploaded_file_in_another_tab(data_page: Page, open_page, tmp_path: Path) -> None:
    upload(data_page, counted_from_one(tmp_path))
    data_page.get_by_role("button", name="Leave out 1 row").click()
    title(data_page, "mine.csv")
    expect(data_page).to_have_url(re.compile(r"reading="))
    again = open_page(data_page.url)
    title(again, "mine.csv")
    look_into(again)
    expect(again.get_by_test_id("stMetricValue").first).to_have_text("40")


def test_names_from_a_file_stay_texts(data_page: Page, tmp_path: Path) -> None:
    lines = [f"0.{i}1,{0.99 - i / 10:.2f},{HOSTILE if i % 2 else '=cmd()'}" for i in range(1, 9)] * 3
    upload(data_page, written(tmp_path, "names.csv", f"p_{HOSTILE},p_=cmd(),label", *lines))
    title(data_page, "names.csv")
    look_into(data_page)
    for tab in ("Calibration and test rows", "How it is read", "First rows"):
        data_page.get_by_role("tab", name=tab).click()
    data_page.get_by_role("tab", name="How it is read").click()
    expect(data_page.get_by_text(f"p_{HOSTILE}").first).to_be_visible()
    assert data_page.get_by_test_id("stMain").locator("img").count() == 0
    # The `watch` of open_page fails the test for any request to the outside.


@pytest.mark.parametrize(
    ("width", "dark"),
    [pytest.param(*case, marks=pytest.mark.wide) for case in ((1280, False), (1280, True), (1920, False))],
)
def test_the_page_is_not_wider_than_the_window(open_page, served, width: int, dark: bool) -> None:
    page = open_page(f"{served().url}/?view=data", width=width, dark=dark)
    for tab in ("Summary", "Calibration and test rows", "How it is read", "First rows"):
        page.get_by_role("tab", name=tab).click()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("width", [900, pytest.param(1280, marks=pytest.mark.wide)])
def test_texts_of_the_first_visit_are_in_their_cards_and_its_tiles_end_alike(open_page, served, width: int) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=start", width=width)
    page.get_by_role("button", name="Open").first.wait_for()
    settled(page)
    sample = page.locator(".st-key-sample")
    card, last = sample.bounding_box(), sample.locator("p").last.bounding_box()
    assert last["y"] + last["height"] <= card["y"] + card["height"]
    tiles = page.locator("[class*=st-key-tile-]").all()
    ends = [tile.bounding_box() for tile in tiles]
    links = [tile.get_by_role("button", name="Open").bounding_box() for tile in tiles]
    rooms = [end["y"] + end["height"] - link["y"] - link["height"] for end, link in zip(ends, links, strict=True)]
    assert rooms
    assert max(rooms) - min(rooms) < 1
