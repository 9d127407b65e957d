"""The overview in a real browser: the sentence follows the slider, nothing is sent while it is dragged."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from calib_core.diagrams import local_accuracy
from dashboard import session
from dashboard.glossary import TERMS
from dashboard.selection import Source
from tests.browser.test_app import drawn, own_file
from tests.browser.test_frame import skip_the_frame
from tests.browser.waiting import settled

ADDRESS = "?view=overview&data=demo%3Alanguage-model"


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_the_sentence_follows_the_slider_and_the_link_what_it_was_left_at(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/{ADDRESS}")
    drawn(page, "verdict")
    local = local_accuracy(session.parts(Source(data="demo:language-model")).test)
    sentence, slider = page.locator(".calib-hero h1"), page.locator(".calib-hero input")
    assert plain(sentence.inner_text()) == local.answer(0.9).headline
    # Read once: the plain sentence is for those without the component.
    assert not page.locator(".st-key-hero-words").is_visible()
    settled(page)  # Else the page may still move below the pointer.
    box = slider.bounding_box()
    low = int(slider.get_attribute("min"))

    def place(percent: int) -> float:
        return float(box["x"] + 12 + (box["width"] - 24) * (percent - low) / (100 - low))

    middle = box["y"] + box["height"] / 2
    page.mouse.move(place(90), middle)
    page.mouse.down()
    page.mouse.move(place(60), middle, steps=6)
    dragged = int(slider.input_value())
    assert abs(dragged - 60) <= 1
    assert plain(sentence.inner_text()) == local.answer(dragged / 100).headline
    page.wait_for_timeout(500)
    assert "confidence=" not in page.url, "nothing is sent while the slider is dragged"
    page.mouse.up()
    page.wait_for_url(f"**confidence={dragged / 100}*")
    settled(page)
    assert plain(sentence.inner_text()) == local.answer(dragged / 100).headline
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"**confidence={(dragged - 2) / 100}*")
    told = slider.get_attribute("aria-valuetext")
    assert told.startswith(local.answer((dragged - 2) / 100).headline)
    assert page.evaluate("document.activeElement.tagName") == "INPUT"


@pytest.mark.parametrize(
    "width", [900, pytest.param(1280, marks=pytest.mark.wide), pytest.param(1920, marks=pytest.mark.wide)]
)
def test_the_track_and_the_answers_share_one_axis(open_page, served, width: int) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f'{served().url}/{ADDRESS}&calibrators=[{{"key":"top-label-hb"}}]', width=width)
    drawn(page, "verdict")
    # Names are complete at every width, in as many lines as needed.
    picture = page.locator(".calib-hero .picture").bounding_box()
    names = page.locator(".calib-hero svg text[text-anchor=end]")
    assert " ".join(names.all_text_contents()) == "Confidence Original model Top-label histogram binning"
    assert all(name.bounding_box()["x"] >= picture["x"] for name in names.all())
    slider = page.locator(".calib-hero input")
    box, low = slider.bounding_box(), int(slider.get_attribute("min"))
    thumb = box["x"] + 12 + (box["width"] - 24) * (90 - low) / (100 - low)
    dotted = page.locator(".calib-hero line[stroke-dasharray]").bounding_box()
    assert abs(dotted["x"] - thumb) < 3
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_whole_answer_is_on_one_screen(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=overview")
    drawn(page, "verdict")
    expect(page.get_by_text("Show me")).to_be_visible()
    box = page.locator(".st-key-next-step").bounding_box()
    assert box["y"] + box["height"] <= 900
    skip_the_frame(page)
    # A word opens what it means, with its picture.
    page.get_by_role("button", name="Calibration error", exact=True).click()
    picture = page.get_by_role("img", name=TERMS["calibration-error"].alt)
    expect(picture).to_be_in_viewport()
    assert picture.evaluate("node => node.complete && node.naturalWidth > 80 && node.clientHeight < 100")


def test_a_clean_file_answers_without_a_click(open_page, served, tmp_path) -> None:  # type: ignore[no-untyped-def]
    lines = [f"{0.9 if i % 2 else 0.6},{int(i % 10 < 6)}" for i in range(800)]
    path = tmp_path / "bare.csv"
    path.write_text("\n".join(["confidence,correct", *lines]) + "\n")
    page = open_page(served().url)
    expect(page.get_by_text("how often is it right?")).to_be_visible()
    own_file(page).set_input_files(path)
    expect(page.locator(".calib-hero h1")).to_contain_text("When it says")
