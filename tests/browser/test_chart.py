"""The chart component in a real browser: what stays, what arrives, what must not leak."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

SCRIPT = Path(__file__).parent / "apps" / "chart_app.py"
NODE = "[data-calib-chart={}]"
# The axis ranges and the legend state of a node, as Plotly holds them.
STATE = """node => ({
    x: node._fullLayout.xaxis.range.map(v => +v.toFixed(4)),
    y: node._fullLayout.yaxis.range.map(v => +v.toFixed(4)),
    visible: node._fullData.map(t => t.visible),
})"""
# Where a point of a trace lies on the screen.
PLACE = """(node, [x, y]) => {
    const { xaxis, yaxis } = node._fullLayout, box = node.getBoundingClientRect();
    return { x: box.left + xaxis._offset + xaxis.d2p(x), y: box.top + yaxis._offset + yaxis.d2p(y) };
}"""


@pytest.fixture
def page(open_page, served) -> Page:
    page = open_page(served(SCRIPT).url)
    wait_drawn(page)
    return page


def wait_drawn(page: Page, keys: tuple[str, ...] = ("scatter", "bars", "cells", "points", "square")) -> None:
    page.wait_for_function(
        """keys => keys.every(key => {
            const data = document.querySelector(`[data-calib-chart=${key}]`)?.dataset;
            return data?.calibRevision && data.calibRevision === data.calibPending;
        })""",
        arg=list(keys),
    )


def revision(page: Page, key: str) -> str:
    return page.locator(NODE.format(key)).get_attribute("data-calib-revision") or ""


def toggle(page: Page, key: str = "scatter") -> None:
    """Press the toggle and wait for the new figures."""
    before = revision(page, key)
    page.get_by_text("after", exact=True).first.click()
    page.wait_for_function(
        "([key, before]) => document.querySelector(`[data-calib-chart=${key}]`).dataset.calibRevision !== before",
        arg=[key, before],
    )
    wait_drawn(page)


def zoom(page: Page, key: str) -> None:
    node = page.locator(NODE.format(key))
    node.scroll_into_view_if_needed()
    box = node.locator(".nsewdrag").bounding_box()
    assert box
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.7 * box["height"], steps=5)
    page.mouse.up()


def click_point(page: Page, key: str, x: object, y: object) -> None:
    node = page.locator(NODE.format(key))
    node.scroll_into_view_if_needed()
    place = node.evaluate(PLACE, [x, y])
    page.mouse.move(place["x"] - 3, place["y"] + 1)
    page.mouse.move(place["x"], place["y"], steps=2)
    page.mouse.click(place["x"], place["y"])


@pytest.mark.parametrize("key", ["scatter", "points", "square"])
def test_a_redraw_keeps_the_node_and_the_zoom(page: Page, key: str) -> None:
    node = page.locator(NODE.format(key))
    whole = node.evaluate(STATE)
    zoom(page, key)
    page.wait_for_function(
        "([key, x]) => +document.querySelector(`[data-calib-chart=${key}]`)"
        "._fullLayout.xaxis.range[0].toFixed(4) !== x",
        arg=[key, whole["x"][0]],
    )
    zoomed = node.evaluate(STATE)
    node.evaluate("node => { node.sameNode = true }")
    toggle(page, key)
    assert node.evaluate("node => node.sameNode === true")
    assert node.evaluate(STATE) == zoomed
    toggle(page, key)
    assert node.evaluate(STATE) == zoomed
    node.locator(".nsewdrag").dblclick()
    page.wait_for_function(
        "([key, x]) => +document.querySelector(`[data-calib-chart=${key}]`)"
        "._fullLayout.xaxis.range[0].toFixed(4) === x",
        arg=[key, whole["x"][0]],
    )


def test_a_redraw_keeps_what_the_legend_hides(page: Page) -> None:
    node = page.locator(NODE.format("scatter"))
    node.locator(".legendtoggle").nth(1).click()
    page.wait_for_function(
        "() => document.querySelector('[data-calib-chart=scatter]')._fullData[1].visible === 'legendonly'"
    )
    toggle(page)
    assert node.evaluate(STATE)["visible"][:3] == [True, "legendonly", True]


@pytest.mark.parametrize(
    ("key", "at", "expected"),
    [
        ("scatter", (0.5, 0.5), "scatter 0 5 50 0.5 0.5"),
        ("bars", ("b", 0.4), "bars 0 1 [8, 2] b 0.6"),
        ("cells", (2, 1), "cells 0 6 106 2 1"),
        ("square", (0, 0), "square 0 0 None 0 0"),
    ],
)
def test_a_click_arrives_once(page: Page, key: str, at: tuple[object, object], expected: str) -> None:
    log = page.get_by_test_id("stCode")
    click_point(page, key, *at)
    expect(log).to_have_text(expected)
    runs = int(page.get_by_text("run ").inner_text().removeprefix("run "))
    page.get_by_role("button", name="another control").click()
    expect(page.get_by_text(f"run {runs + 1}")).to_be_visible()
    toggle(page)
    expect(log).to_have_text(expected)


def test_a_second_click_on_the_same_point_is_a_second_click(page: Page) -> None:
    log = page.get_by_test_id("stCode")
    click_point(page, "cells", 2, 1)
    expect(log).to_have_text("cells 0 6 106 2 1")
    page.wait_for_timeout(400)  # longer than a double click
    click_point(page, "cells", 2, 1)
    expect(log).to_have_text("cells 0 6 106 2 1\ncells 0 6 106 2 1")


def test_a_click_on_a_redrawn_figure_arrives(page: Page) -> None:
    toggle(page)
    click_point(page, "cells", 0, 0)
    expect(page.get_by_test_id("stCode")).to_have_text("cells 0 0 100 0 0")


BACKGROUND = "node => getComputedStyle(node.querySelector('.main-svg')).backgroundColor"
TEXT = "node => node.querySelector('.xtick text').style.fill"


@pytest.mark.parametrize(
    ("dark", "text", "grid"),
    [
        (False, "rgb(47, 45, 43)", "rgb(228, 228, 226)"),
        (True, "rgb(237, 235, 232)", "rgb(58, 57, 54)"),
    ],
)
def test_a_chart_wears_the_theme_of_the_page(open_page, served, dark: bool, text: str, grid: str) -> None:
    page = open_page(served(SCRIPT).url, dark=dark)
    wait_drawn(page)
    node = page.locator(NODE.format("scatter"))
    behind = page.evaluate("() => getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    assert node.evaluate(BACKGROUND) == behind
    assert node.evaluate(TEXT) == text
    assert node.evaluate("node => node.querySelector('.gridlayer path').style.stroke") == grid


def test_a_switch_of_theme_restyles_the_chart_and_keeps_the_zoom(open_page, served) -> None:
    page = open_page(served(SCRIPT).url, dark=True)
    wait_drawn(page)
    node = page.locator(NODE.format("scatter"))
    zoom(page, "scatter")
    page.wait_for_function("() => document.querySelector('[data-calib-chart=scatter]')._fullLayout.xaxis.range[0] > 0")
    zoomed = node.evaluate(STATE)
    page.emulate_media(color_scheme="light")
    page.wait_for_function(
        "() => document.querySelector('[data-calib-chart=scatter] .xtick text').style.fill === 'rgb(47, 45, 43)'"
    )
    assert node.evaluate(STATE) == zoomed


def test_a_chart_follows_the_width_of_its_container(page: Page) -> None:
    node = page.locator(NODE.format("scatter"))
    width = "node => node.querySelector('.main-svg').getBoundingClientRect().width"
    wide = node.evaluate(width)
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function(
        """wide => {
            const node = document.querySelector('[data-calib-chart=scatter]');
            const drawn = node.querySelector('.main-svg').getBoundingClientRect().width;
            return drawn < wide && Math.abs(drawn - node.clientWidth) < 1;
        }""",
        arg=wide,
    )


def test_a_chart_says_what_it_shows(page: Page) -> None:
    expect(page.get_by_role("figure", name="The bars of the test page.")).to_be_visible()


def test_the_bar_of_buttons_holds_reset_and_two_downloads(page: Page) -> None:
    node = page.locator(NODE.format("scatter"))
    node.hover()
    titles = node.locator(".modebar-btn").evaluate_all("all => all.map(b => b.getAttribute('data-title'))")
    assert titles == ["Reset axes", "Download as PNG", "Download as SVG"]
    with page.expect_download() as download:
        node.locator(".modebar-btn").nth(2).click()
    assert download.value.suggested_filename == "scatter.svg"


def test_plotly_is_fetched_once(open_page, served) -> None:
    page = open_page("about:blank")
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    page.goto(served(SCRIPT).url)
    wait_drawn(page)
    toggle(page)
    assert sum("plotly.min.js" in url for url in fetched) == 1
    assert not any("/static/js/PlotlyChart" in url for url in fetched)


COUNTS = """() => ({
    canvases: document.querySelectorAll('canvas').length,
    charts: document.querySelectorAll('.calib-chart').length,
    svgs: document.querySelectorAll('svg').length,
    nodes: document.querySelectorAll('*').length,
})"""


def test_many_redraws_leak_nothing(page: Page) -> None:
    page.evaluate(
        """() => {
            window.lost = 0;
            document.addEventListener('webglcontextlost', () => { window.lost += 1 }, true);
        }"""
    )
    toggle(page)
    toggle(page)
    before = page.evaluate(COUNTS)
    for _ in range(12):
        toggle(page)
    assert page.evaluate(COUNTS) == before
    assert page.evaluate("() => window.lost") == 0


def test_charts_that_come_and_go_give_their_contexts_back(page: Page, watch) -> None:
    """Browsers allow some sixteen WebGL contexts and complain on the console when they take one away."""
    warnings: list[str] = []
    page.on("console", lambda message: warnings.append(message.text))
    for _ in range(12):
        page.get_by_text("none", exact=True).click()
        expect(page.locator(".calib-chart")).to_have_count(0)
        page.get_by_text("all", exact=True).click()
        wait_drawn(page)
    assert not [text for text in warnings if "WebGL" in text]
    drawn = page.locator(NODE.format("points")).evaluate(
        """node => {
            const canvas = node.querySelector('canvas.gl-canvas-context, canvas');
            return !canvas.getContext('webgl').isContextLost();
        }"""
    )
    assert drawn
