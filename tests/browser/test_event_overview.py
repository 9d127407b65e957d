"""The overview of two classes in a real browser: the slider of a risk, the event and the notion one click away."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from calib_core.diagrams import local_frequency, opening
from calib_core.text import in_percent
from dashboard import session
from dashboard.selection import Source
from tests.browser.test_app import drawn
from tests.browser.waiting import settled

ADDRESS = "?view=overview&data=demo%3Abreast-cancer-svm"


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_the_sentence_follows_the_slider_of_a_risk(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/{ADDRESS}")
    drawn(page, "verdict")
    rows = session.parts(Source(data="demo:breast-cancer-svm")).test
    local = local_frequency(rows)
    sentence, slider = page.locator(".calib-hero h1"), page.locator(".calib-hero input")
    assert plain(sentence.inner_text()) == local.answer(opening(rows)).headline
    settled(page)  # Else the page may still move below the pointer.
    box = slider.bounding_box()
    last = int(slider.get_attribute("max"))
    middle, place = box["y"] + box["height"] / 2, lambda i: box["x"] + 12 + (box["width"] - 24) * i / last
    page.mouse.move(place(int(slider.input_value())), middle)
    page.mouse.down()
    page.mouse.move(place(30), middle, steps=6)
    dragged = int(slider.input_value())
    assert abs(dragged - 30) <= 1
    risk = float(local.confidence[dragged])
    assert plain(sentence.inner_text()) == local.answer(risk).headline
    page.mouse.up()
    page.wait_for_url(f"**risk={risk:g}*")
    settled(page)
    assert "confidence" not in page.url
    assert plain(sentence.inner_text()) == local.answer(risk).headline


@pytest.mark.wide
def test_the_knob_the_line_and_the_number_are_at_one_place(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/{ADDRESS}&risk=0.3")
    drawn(page, "verdict")
    settled(page)
    rows = session.parts(Source(data="demo:breast-cancer-svm")).test
    answer = local_frequency(rows).answer(0.3)
    assert answer.stated != in_percent(0.3), "else the place of the slider would do"
    number = page.locator(".calib-hero svg text", has_text=answer.stated.replace(" ", "\u00a0")).first
    marks = (page.locator(".calib-hero .knob"), page.locator(".calib-hero line[stroke-dasharray]"), number)
    centres = [box["x"] + box["width"] / 2 for box in (mark.bounding_box() for mark in marks)]
    assert max(centres) - min(centres) < 1
    # Focus and clicks are the slider's: its own thumb is there, and not drawn.
    slider = page.locator(".calib-hero input")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("old => document.querySelector('.calib-hero h1').textContent !== old", arg=answer.headline)
    # Of four models, too, the next step is on the first screen.
    ticked = ",".join(f'{{"key":"{key}"}}' for key in ("temperature", "logistic-recalibration", "intercept"))
    page.goto(f"{served().url}/{ADDRESS}&calibrators=[{ticked}]")
    drawn(page, "verdict")
    step = page.locator(".st-key-next-step")
    step.wait_for()
    settled(page)
    assert step.evaluate("step => step.getBoundingClientRect().bottom") <= 900


@pytest.mark.wide
def test_another_event_and_the_confidence_are_one_choice_away(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/{ADDRESS}")
    drawn(page, "verdict")
    sentence = page.locator(".calib-hero h1")
    expect(sentence).to_contain_text("were “malignant”")
    page.locator(".st-key-frame-event button").first.click()
    page.get_by_text("benign", exact=True).last.click()
    expect(sentence).to_contain_text("were “benign”")
    page.keyboard.press("Escape")
    settled(page)
    page.locator(".st-key-frame-judged button").first.click()
    page.get_by_text("confidence", exact=True).last.click()
    expect(sentence).to_contain_text("it is right")
    page.wait_for_url("**notion=confidence*")


@pytest.mark.parametrize("width", [900, pytest.param(1920, marks=pytest.mark.wide)])
def test_nothing_of_a_risk_leaves_the_page(open_page, served, width: int) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f'{served().url}/{ADDRESS}&calibrators=[{{"key":"temperature"}}]', width=width)
    drawn(page, "verdict")
    drawn(page, "in-the-large")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    large, verdict = (page.locator(f".st-key-{key}").bounding_box() for key in ("panel-large", "verdict-strip"))
    beside = abs(large["y"] - verdict["y"]) < 2
    assert beside == (width > 1150)
    picture = page.locator(".calib-hero .picture").bounding_box()
    for words in page.locator(".calib-hero svg text").all():
        box = words.bounding_box()
        assert box["x"] + box["width"] <= picture["x"] + picture["width"]
    chart = page.locator("[data-calib-chart=verdict]")
    below = chart.bounding_box()["y"] + chart.bounding_box()["height"]
    ticks = chart.locator(".x2tick text").all()
    assert ticks
    assert all(tick.bounding_box()["y"] + tick.bounding_box()["height"] <= below for tick in ticks)
