"""The main workflow in a real browser: upload, look, tick, click a bin, read the class that is off, export its rows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect
from shown_models import judged

import calib_core as cc
from calib_core import Recipe
from dashboard import session
from dashboard.selection import Selection
from dashboard.session import Model
from tests.browser.waiting import settled, taken_home

DRAWN = """keys => keys.every(key => {
    const data = document.querySelector(`[data-calib-chart=${key}]`)?.dataset;
    return data?.calibRevision && data.calibRevision === data.calibPending;
})"""
TRACES = "node => node._fullData.map(trace => trace.name)"
PLACE = """(node, [x, y]) => {
    const { xaxis, yaxis } = node._fullLayout, box = node.getBoundingClientRect();
    return { x: box.left + xaxis._offset + xaxis.d2p(x), y: box.top + yaxis._offset + yaxis.d2p(y) };
}"""
POINT = """(node, [name, bin]) => {
    const trace = node._fullData.find(trace => trace.name === name);
    const i = trace.customdata.findIndex(mark => mark.bin === bin);
    return [trace.x[i], trace.y[i]];
}"""


def drawn(page: Page, *keys: str) -> None:
    """Wait until these charts show their newest figures."""
    page.wait_for_function(DRAWN, arg=list(keys))


def own_file(page: Page) -> Locator:
    """Return the field for the user's own file; the one for another model's is in a tab that may be drawn before it."""
    return page.locator(".st-key-frame-opening input[type=file]")


def node(page: Page, key: str):  # type: ignore[no-untyped-def]
    return page.locator(f"[data-calib-chart={key}]")


def tick(page: Page, title: str) -> None:
    page.get_by_role("button", name="More calibrators", exact=False).click()
    page.get_by_test_id("stPopoverBody").get_by_role("button", name=title, exact=True).click()
    page.keyboard.press("Escape")


def rows_of(place: Locator) -> Locator:
    """Return the button that downloads the rows in the detail pane."""
    return place.get_by_role("button", name=re.compile(r"^Download [\d,]+ rows?$")).last


def click_mark(page: Page, key: str, trace: str, b: int) -> None:
    """Click the mark of a bin at its position on the screen."""
    chart = node(page, key)
    chart.scroll_into_view_if_needed()
    point = chart.evaluate(POINT, [trace, b])
    place = chart.evaluate(PLACE, point)
    page.mouse.move(place["x"], place["y"])
    # The hover text inserts the record by name: a name missing from the record would be shown literally.
    tip = chart.locator(".hoverlayer .hovertext")
    expect(tip).to_contain_text(re.compile(r"^[A-Z][\w -]+, [\d.]+ to [\d.]+ %confidence \d.*, accuracy \d.*\d rows"))
    expect(tip).not_to_contain_text("%{")
    page.mouse.click(place["x"], place["y"])


@pytest.fixture
def upload(tmp_path: Path) -> Path:
    """Write 600 predictions in which class "owl" is badly off in [0.5, 0.6), with a column of the user's own."""
    rng = np.random.default_rng(0)
    n = 600
    names = ["cat", "dog", "owl"]
    predicted = rng.integers(0, 3, n)
    confidence = rng.choice([0.55, 0.75, 0.95], n).round(3)
    right = rng.random(n) < np.where((predicted == 2) & (confidence < 0.6), 0.1, confidence)
    labels = np.where(right, predicted, (predicted + 1) % 3)
    probs = np.repeat(((1 - confidence) / 2)[:, None], 3, axis=1)
    probs[np.arange(n), predicted] = confidence
    frame = pd.DataFrame(probs, columns=names)
    frame["label"] = np.array(names)[labels]
    frame["photo"] = [f"photo {i}.png" for i in range(n)]
    path = tmp_path / "animals.csv"
    frame.to_csv(path, index=False)
    return path


def test_upload_tick_click_zoom_rows(open_page, served, upload: Path) -> None:  # type: ignore[no-untyped-def]
    page = open_page(served().url, height=1400)
    own_file(page).set_input_files(upload)
    # The frame names the file once it has been read and is what the views look at.
    expect(page.locator(".st-key-frame-file")).to_contain_text("animals.csv")
    page.get_by_role("radio", name="Explore", exact=True).click()
    drawn(page, "reliability")

    tick(page, "Top-label histogram binning")
    page.wait_for_function(
        "() => document.querySelector('[data-calib-chart=reliability]')?._fullData"
        "?.some(trace => trace.name === 'Top-label histogram binning')"
    )
    drawn(page, "reliability")
    assert {"Original model", "Top-label histogram binning"} <= set(node(page, "reliability").evaluate(TRACES))

    settled(page)
    click_mark(page, "reliability", "Original model", 8)
    expect(node(page, "detail-classes")).to_be_visible()
    drawn(page, "detail-classes")
    gaps = node(page, "detail-classes").evaluate(
        "node => { const trace = node._fullData.find(trace => trace.name === 'right');"
        " return trace.hovertext.map((name, i) => [name, trace.customdata[i].gap]); }"
    )
    worst = min(gaps, key=lambda pair: pair[1])
    assert worst[0] == "owl"
    assert worst[1] < -0.3

    rows = pd.read_csv(taken_home(page, rows_of(page.locator(".st-key-detail"))))
    source = pd.read_csv(upload)
    assert (rows["confidence"].between(0.5, 0.6, inclusive="left")).all()
    assert rows["photo"].tolist() == source["photo"].iloc[rows["row"]].tolist()
    assert rows["label"].tolist() == source["label"].iloc[rows["row"]].tolist()


@pytest.mark.wide
def test_zoom_and_legend_survive_a_toggle(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability", height=1000)
    drawn(page, "reliability")
    chart = node(page, "reliability")
    chart.evaluate("node => { node.marked = true; }")
    settled(page)
    box = chart.locator(".nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + 0.8 * box["height"], steps=5)
    page.mouse.up()
    zoomed = chart.evaluate("node => node._fullLayout.xaxis.range.map(v => +v.toFixed(6))")
    assert zoomed[1] - zoomed[0] < 0.7
    tick(page, "Isotonic, one-vs-rest")
    page.wait_for_function(
        "() => document.querySelector('[data-calib-chart=reliability]')?._fullData"
        "?.some(trace => trace.name === 'Isotonic, one-vs-rest')"
    )
    drawn(page, "reliability")
    assert chart.evaluate("node => node.marked") is True
    assert chart.evaluate("node => node._fullLayout.xaxis.range.map(v => +v.toFixed(6))") == zoomed


@pytest.mark.wide
def test_a_link_reopens_the_same_picture(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability", height=1000)
    drawn(page, "reliability")
    tick(page, "Class-wise histogram binning")
    page.wait_for_url("**class-wise-hb**")
    page.wait_for_function(
        "() => document.querySelector('[data-calib-chart=reliability]')?._fullData"
        "?.some(trace => trace.name === 'Class-wise histogram binning')"
    )
    drawn(page, "reliability")
    revision = node(page, "reliability").get_attribute("data-calib-revision")
    other = open_page(page.url, height=1000)
    drawn(other, "reliability")
    assert node(other, "reliability").get_attribute("data-calib-revision") == revision


@pytest.mark.parametrize(
    ("width", "dark"),
    [pytest.param(*case, marks=pytest.mark.wide) for case in ((1280, False), (1920, False), (1920, True))],
)
def test_nothing_overflows_and_every_chart_has_marks(open_page, served, width: int, dark: bool) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability&bin=9", dark=dark, width=width, height=1400)
    drawn(page, "reliability", "detail-classes")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for key in ("reliability", "detail-classes"):
        assert node(page, key).locator(".point").count() > 3
    page.get_by_role("radio", name="Classes", exact=True).click()
    drawn(page, "class-panels", "class-errors")
    assert node(page, "class-panels").locator(".point").count() > 20


@pytest.mark.wide
def test_a_fitted_calibrator_goes_home_and_gives_the_same_numbers(open_page, served, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    ticked = "%5B%7B%22key%22%3A%22temperature%22%7D%5D"
    page = open_page(f"{served().url}/?view=calibrators&calibrators={ticked}", height=1400)
    page.get_by_role("button", name="Export", exact=True).click()
    button = page.get_by_test_id("stDownloadButton").get_by_role("button", name="JSON", exact=True).first
    saved = tmp_path / "calibrator.json"
    saved.write_bytes(taken_home(page, button).read_bytes())
    source = Selection().source
    test = session.parts(source).test
    there = judged(Model(source, Recipe("CALIBRATORS", "temperature"))).probs
    np.testing.assert_array_equal(cc.load_calibrator(saved).predict_proba(test.probs), there)


@pytest.mark.wide
def test_the_keyboard_reaches_bin_and_model(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=reliability", height=1200)
    drawn(page, "reliability")
    node(page, "reliability").focus()
    page.keyboard.press("ArrowRight")
    expect(node(page, "detail-classes")).to_be_visible()
    drawn(page, "detail-classes")
