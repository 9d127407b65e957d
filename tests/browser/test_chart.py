"""The chart component in a real browser: persistence, updates, and leaks."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.waiting import settled

LINKED = Path(__file__).parent / "apps" / "linked_app.py"
SCRIPT, LOOKING = "chart_app.py", "looking_app.py"
ASSETS = Path(__file__).parents[2] / "dashboard" / "chart" / "assets"
AGAIN = {SCRIPT: "after", LOOKING: "one"}
"""Control of each script that redraws the figures."""
NODE = "[data-calib-chart={}]"
# The axis ranges and the legend state of a node, as Plotly stores them.
STATE = """node => ({
    x: node._fullLayout.xaxis.range.map(v => +v.toFixed(4)),
    y: node._fullLayout.yaxis.range.map(v => +v.toFixed(4)),
    visible: node._fullData.map(t => t.visible),
})"""
# Position of a point of a trace on the screen.
PLACE = """(node, [x, y]) => {
    const { xaxis, yaxis } = node._fullLayout, box = node.getBoundingClientRect();
    return { x: box.left + xaxis._offset + xaxis.d2p(x), y: box.top + yaxis._offset + yaxis.d2p(y) };
}"""


def link(served, script: str) -> str:
    """Return the address of one of the scripts beside `linked_app.py`."""
    return f"{served(LINKED).url}/?script={script}"


@pytest.fixture
def page(open_page, served) -> Page:
    page = open_page(link(served, SCRIPT))
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
    box = node.locator(".nsewdrag").first.bounding_box()
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


ZOOMED = """([key, x, zoomed]) => (+document.querySelector(`[data-calib-chart=${key}]`)
    ._fullLayout.xaxis.range[0].toFixed(4) !== x) === zoomed"""


@pytest.mark.wide
def test_a_redraw_keeps_the_node_and_the_zoom(page: Page) -> None:
    nodes = {key: page.locator(NODE.format(key)) for key in ("scatter", "points", "square")}
    whole = {key: node.evaluate(STATE)["x"][0] for key, node in nodes.items()}
    for key, node in nodes.items():
        zoom(page, key)
        page.wait_for_function(ZOOMED, arg=[key, whole[key], True])
        node.evaluate("node => { node.sameNode = true }")
    zoomed = {key: node.evaluate(STATE) for key, node in nodes.items()}
    for _ in range(2):
        toggle(page)
        assert all(node.evaluate("node => node.sameNode === true") for node in nodes.values())
        assert {key: node.evaluate(STATE) for key, node in nodes.items()} == zoomed
    for key, node in nodes.items():
        node.locator(".nsewdrag").dblclick()
        page.wait_for_function(ZOOMED, arg=[key, whole[key], False])


@pytest.mark.wide
def test_a_redraw_keeps_what_the_legend_hides(page: Page) -> None:
    node = page.locator(NODE.format("scatter"))
    node.locator(".legendtoggle").nth(1).click()
    page.wait_for_function(
        "() => document.querySelector('[data-calib-chart=scatter]')._fullData[1].visible === 'legendonly'"
    )
    toggle(page)
    assert node.evaluate(STATE)["visible"][:3] == [True, "legendonly", True]


def test_a_click_arrives_once_and_a_second_one_on_the_same_point_of_a_redrawn_figure_too(page: Page) -> None:
    log, arrived = page.get_by_test_id("stCode"), []
    for key, at, expected in (
        ("scatter", (0.5, 0.5), "scatter 0 5 50 0.5 0.5"),
        ("bars", ("b", 0.4), "bars 0 1 [8, 2] b 0.6"),
        ("cells", (2, 1), "cells 0 6 106 2 1"),
        ("square", (0, 0), "square 0 0 None 0 0"),
    ):
        click_point(page, key, *at)
        arrived.append(expected)
        expect(log).to_have_text("\n".join(arrived))
    settled(page)  # the log is drawn before the number of the run
    runs = int(page.get_by_text("run ").inner_text().removeprefix("run "))
    page.get_by_role("button", name="another control").click()
    expect(page.get_by_text(f"run {runs + 1}")).to_be_visible()
    toggle(page)
    expect(log).to_have_text("\n".join(arrived))
    for _ in range(2):
        page.wait_for_timeout(400)  # longer than a double click
        click_point(page, "cells", 2, 1)
        arrived.append("cells 0 6 106 2 1")
        expect(log).to_have_text("\n".join(arrived))


BACKGROUND = "node => getComputedStyle(node.querySelector('.main-svg')).backgroundColor"
TEXT = "node => node.querySelector('.xtick text').style.fill"


@pytest.mark.wide
@pytest.mark.parametrize(
    ("dark", "text", "grid"),
    [
        (False, "rgb(47, 45, 43)", "rgb(228, 228, 226)"),
        (True, "rgb(237, 235, 232)", "rgb(58, 57, 54)"),
    ],
)
def test_a_chart_wears_the_theme_of_the_page(open_page, served, dark: bool, text: str, grid: str) -> None:
    page = open_page(link(served, SCRIPT), dark=dark)
    wait_drawn(page)
    node = page.locator(NODE.format("scatter"))
    behind = page.evaluate("() => getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    assert node.evaluate(BACKGROUND) == behind
    assert node.evaluate(TEXT) == text
    assert node.evaluate("node => node.querySelector('.gridlayer path').style.stroke") == grid


@pytest.mark.wide
def test_a_chart_says_what_it_shows_and_follows_theme_and_width_of_its_place(open_page, served) -> None:
    page = open_page(link(served, SCRIPT), dark=True)
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
    expect(page.get_by_role("figure", name="The bars of the test page.")).to_be_visible()
    the_bar_of_buttons_holds_reset_and_two_downloads(page)
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
    assert node.evaluate(STATE) == zoomed


def the_bar_of_buttons_holds_reset_and_two_downloads(page: Page) -> None:
    node = page.locator(NODE.format("scatter"))
    node.hover()
    titles = node.locator(".modebar-btn").evaluate_all("all => all.map(b => b.getAttribute('data-title'))")
    assert titles == ["Reset axes", "Download as PNG", "Download as SVG"]
    with page.expect_download() as download:
        node.locator(".modebar-btn").nth(2).click()
    assert download.value.suggested_filename == "scatter.svg"


@pytest.mark.wide
@pytest.mark.parametrize(
    ("script", "keys", "bundles"),
    [
        (SCRIPT, ("scatter", "cells"), ["plotly-basic.min.js", "plotly.min.js"]),
        pytest.param(LOOKING, ("diagram",), ["plotly-basic.min.js"], marks=pytest.mark.wide),
    ],
)
def test_a_bundle_is_fetched_once_and_the_whole_one_only_where_it_is_needed(
    open_page, served, script: str, keys: tuple[str, ...], bundles: list[str]
) -> None:
    page = open_page("about:blank")
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url.rpartition("/")[2]))
    page.goto(link(served, script))
    wait_drawn(page, keys)
    page.get_by_text(AGAIN[script], exact=True).first.click()
    page.wait_for_timeout(500)
    assert sorted(name for name in fetched if "plotly" in name.lower()) == bundles


@pytest.mark.wide
def test_calib_dashboard_lets_browsers_keep_plotly(open_page, served) -> None:
    page = open_page("about:blank")
    answers: dict[str, dict[str, str]] = {}
    page.on("response", lambda answer: answers.update({answer.url.rpartition("/")[2]: answer.headers}))
    page.goto(f"{served().url}/?view=reliability")
    wait_drawn(page, ("reliability",))
    assert "immutable" in answers["plotly-basic.min.js"]["cache-control"]
    assert "plotly.min.js" not in answers
    # Every module is named in the head of the page: none waits for another one to request it.
    linked = page.locator("link[rel=modulepreload]").evaluate_all("all => all.map(one => one.href)")
    own = {file.name for file in ASSETS.glob("*.js")} - {"plotly-basic.min.js"}
    assert own <= {url.rpartition("/")[2] for url in linked}
    assert own <= set(answers)


COUNTS = """() => ({
    canvases: document.querySelectorAll('canvas').length,
    charts: document.querySelectorAll('.calib-chart').length,
    svgs: document.querySelectorAll('svg').length,
    nodes: document.querySelectorAll('*').length,
})"""


@pytest.mark.wide
def test_many_redraws_leak_nothing(page: Page) -> None:
    page.evaluate(
        """() => {
            window.lost = 0;
            document.addEventListener('webglcontextlost', () => { window.lost += 1 }, true);
        }"""
    )
    toggle(page)
    toggle(page)
    settled(page)
    before = page.evaluate(COUNTS)
    for _ in range(12):
        toggle(page)
    settled(page)
    assert page.evaluate(COUNTS) == before
    assert page.evaluate("() => window.lost") == 0


@pytest.mark.wide
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


# ---- focus: columns, ranges, keys --------------------------------------------------------------------------------

DIAGRAM = NODE.format("diagram")
SPOT = """(node, [x, y]) => {
    const { xaxis, yaxis } = node._fullLayout, box = node.getBoundingClientRect();
    const below = box.top + yaxis._offset + yaxis._length + 12;
    const height = y === null ? below : box.top + yaxis._offset + yaxis.d2p(y);
    return { x: box.left + xaxis._offset + xaxis.d2p(x), y: height };
}"""
# Positions of the tints, in numbers of the first horizontal axis.
TINTS = """node => [...node.parentNode.querySelectorAll('.calib-tint')].map(tint => {
    const { xaxis } = node._fullLayout, left = parseFloat(tint.style.left) - xaxis._offset;
    return [xaxis.p2d(left), xaxis.p2d(left + parseFloat(tint.style.width))].map(v => +v.toFixed(2));
})"""


@pytest.fixture
def looking(open_page, served) -> Page:
    page = open_page(link(served, LOOKING))
    wait_drawn(page, ("diagram",))
    return page


def spot(page: Page, x: float, y: float | None) -> tuple[float, float]:
    """Return the position of a point of the diagram on the screen; without ``y`` among the labels below the axis."""
    place = page.locator(DIAGRAM).evaluate(SPOT, [x, y])
    return place["x"], place["y"]


def tick(page: Page, name: str) -> None:
    page.locator("label").filter(has_text=name).first.click()


def chosen(page: Page) -> Locator:
    return page.get_by_test_id("stCode")


@pytest.mark.wide
def test_columns_are_chosen_by_keys_drags_and_clicks(looking: Page) -> None:
    keys_walk_the_columns_and_escape_clears(looking)
    dragging_along_the_labels_chooses_a_range_and_does_not_zoom(looking)
    a_click_on_a_mark_sends_its_record_and_one_beside_it_its_column(looking)
    a_click_anywhere_in_a_column_chooses_it_and_its_tint_follows_zoom_and_size(looking)


def a_click_anywhere_in_a_column_chooses_it_and_its_tint_follows_zoom_and_size(looking: Page) -> None:
    page, node = looking, looking.locator(DIAGRAM)
    page.mouse.click(*spot(page, 0.72, 0.1))
    expect(chosen(page)).to_have_text(re.compile(r'\{"bin": 7\}$'))
    arrived = chosen(page).inner_text()
    expect(page.locator(".calib-words")).to_have_text(re.compile(r"Confidence 0.7 to 0.8: \d+ rows."))
    assert node.evaluate(TINTS) == [[0.7, 0.8]]
    for end in ((0.5, 0.2), (0.9, 0.9)):
        page.mouse.move(*spot(page, *end))
        page.mouse.down() if end[0] == 0.5 else page.mouse.up()
    page.wait_for_function(
        "() => document.querySelector('[data-calib-chart=diagram]')._fullLayout.xaxis.range[0] > 0.4"
    )
    assert node.evaluate(TINTS) == [[0.7, 0.8]]
    page.set_viewport_size({"width": 900, "height": 900})
    page.wait_for_function(
        "() => { const n = document.querySelector('[data-calib-chart=diagram]'); return n._fullLayout.width < 900; }"
    )
    assert node.evaluate(TINTS) == [[0.7, 0.8]]
    expect(chosen(page)).to_have_text(arrived)  # the drag that zoomed was no click


def a_click_on_a_mark_sends_its_record_and_one_beside_it_its_column(looking: Page) -> None:
    star = "node => { const i = 5, t = node._fullData[0]; return [t.x[i], t.y[i], t.customdata[i].bin]; }"
    x, y, b = looking.locator(DIAGRAM).evaluate(star)
    looking.mouse.move(*spot(looking, x, y + 0.01))
    looking.mouse.click(*spot(looking, x, y))
    expect(chosen(looking)).to_contain_text(f'"model": "base", "bin": {b}')


def dragging_along_the_labels_chooses_a_range_and_does_not_zoom(looking: Page) -> None:
    looking.mouse.move(*spot(looking, 0.35, None))
    looking.mouse.down()
    looking.mouse.move(*spot(looking, 0.5, None))
    looking.mouse.move(*spot(looking, 0.65, None))
    looking.mouse.up()
    expect(chosen(looking)).to_contain_text('"low": 0.3')
    node = looking.locator(DIAGRAM)
    assert node.evaluate(TINTS) == [[0.35, 0.65]]
    assert node.evaluate(STATE)["x"] == [0, 1]


def keys_walk_the_columns_and_escape_clears(looking: Page) -> None:
    node = looking.locator(DIAGRAM)
    node.focus()
    bins = node.evaluate("node => node.layout.meta.columns.map(column => column.record.bin)")
    looking.keyboard.press("ArrowRight")
    looking.keyboard.press("ArrowRight")
    expect(chosen(looking)).to_have_text(f'{{"bin": {bins[1]}}}')  # only the last of quick keys is sent
    looking.keyboard.press("End")
    expect(chosen(looking)).to_contain_text(f'{{"bin": {bins[-1]}}}')
    assert node.evaluate("node => document.activeElement === node")
    assert node.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    looking.keyboard.press("Escape")
    expect(chosen(looking)).to_contain_text('{"clear": true}')
    expect(looking.locator(".calib-tint")).to_have_count(0)


@pytest.mark.wide
def test_columns_of_several_models_are_one_in_one_picture_and_highlighted_together_side_by_side(looking: Page) -> None:
    # Who wants less motion sees none.
    looking.evaluate(WATCH, "starsone")
    tick(looking, "one")
    looking.wait_for_function("() => document.querySelector('[data-calib-chart=diagram]')._fullData.length === 6")
    looking.wait_for_function("() => window.places.length > 0")
    looking.wait_for_timeout(700)
    assert len(looking.evaluate("window.places")) == 1
    looking.mouse.click(*spot(looking, 0.75, 0.0))
    expect(chosen(looking)).to_have_text('{"bin": 7}')
    expect(looking.locator(".calib-tint")).to_have_count(1)
    tick(looking, "side by side")
    looking.wait_for_function("() => document.querySelector('[data-calib-chart=diagram]')._fullLayout.xaxis2")
    wait_drawn(looking, ("diagram",))
    looking.mouse.click(*spot(looking, 0.55, 0.0))
    expect(chosen(looking)).to_contain_text('{"bin": 5, "model": "base"}')
    expect(looking.locator(".calib-tint")).to_have_count(2)


# ---- motion -------------------------------------------------------------------------------------------------------

# Every place a trace's marks are drawn at, once a frame, as long as `window.watch` is the same number.
WATCH = """uid => {
    const node = document.querySelector('[data-calib-chart=diagram]'), mine = window.watch = (window.watch ?? 0) + 1;
    window.places = [];
    window.lines = [];
    const look = () => {
        const group = node.querySelector(`g.scatter.trace${uid}`);
        const points = [...(group?.querySelectorAll('path.point') ?? [])];
        const place = points.map(point => point.getAttribute('transform')).join(' ');
        if (place && place !== window.places.at(-1)) {
            window.places.push(place);
            window.lines.push([...group.querySelectorAll('path.js-line')].map(line => line.getAttribute('d')));
        }
        if (window.watch === mine) requestAnimationFrame(look);
    };
    look();
}"""
DRAWN = """node => [...node.querySelectorAll('g.scatterlayer path.point, g.scatterlayer path.js-line, g.bars path')]
    .map(path => (path.getAttribute('transform') ?? '') + (path.getAttribute('d') ?? ''))"""
ARRIVED = "() => !document.querySelector('[data-calib-chart=diagram]').dataset.calibTravel"
LEFT = "() => document.querySelector('[data-calib-chart=diagram]').dataset.calibTravel"


def moving(open_page, served) -> Page:
    page = open_page(link(served, LOOKING), motion=True)
    wait_drawn(page, ("diagram",))
    return page


def numbers(place: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?\d+\.?\d*", place)]


def assert_drawn_as_afresh(page: Page) -> None:
    """Check that a chart after its own animation frames equals Plotly's drawing of the figure."""
    node = page.locator(DIAGRAM)
    travelled = node.evaluate(DRAWN)
    node.evaluate("async node => { await window.Plotly.redraw(node) }")
    afresh = node.evaluate(DRAWN)
    assert len(afresh) == len(travelled)
    # Plotly's own margins settle to a hundredth of a pixel.
    assert numbers(" ".join(afresh)) == pytest.approx(numbers(" ".join(travelled)), abs=0.05)


@pytest.mark.wide
def test_a_new_model_sets_off_from_the_base_and_arrives(open_page, served) -> None:
    page = moving(open_page, served)
    base = page.locator(f"{DIAGRAM} g.scatter.tracestarsbase path.point")
    start = base.evaluate_all("all => all.map(point => point.getAttribute('transform'))")
    page.evaluate(WATCH, "starstwo")
    tick(page, "two")
    page.wait_for_function("() => window.places.length > 3")
    page.wait_for_function(ARRIVED)
    places, courses = page.evaluate("() => [window.places, window.lines]")  # of one moment: both still grow
    assert numbers(places[0]) == pytest.approx(numbers(" ".join(start)), abs=0.5)
    assert numbers(places[-1]) != pytest.approx(numbers(places[0]), abs=5)
    # The line goes where its marks go, though the base model's has other pieces: here the last two marks are hollow.
    for marks, lines in zip(places, courses, strict=True):
        assert [len(numbers(line)) for line in lines] == [12, 2, 2]
        assert numbers(" ".join(lines)) == pytest.approx(numbers(marks), abs=0.05)
    assert_drawn_as_afresh(page)


@pytest.mark.wide
def test_a_second_toggle_in_the_middle_turns_round(open_page, served) -> None:
    page = moving(open_page, served)
    tick(page, "one")
    page.wait_for_function(LEFT)
    tick(page, "two")
    tick(page, "one")
    page.wait_for_function("() => document.querySelectorAll('g.scatter.tracestarstwo').length === 1")
    page.wait_for_function("() => document.querySelectorAll('g.scatter.tracestarsone').length === 0")
    page.wait_for_function(ARRIVED)
    # Nothing is left of the model that went back.
    assert page.locator(f"{DIAGRAM} g.calib-own").count() == 0
    assert_drawn_as_afresh(page)


# ---- memory -------------------------------------------------------------------------------------------------------


@pytest.mark.wide
def test_zoom_and_hidden_entries_outlive_the_view_and_a_reload(looking: Page) -> None:
    page, node = looking, looking.locator(DIAGRAM)
    tick(page, "one")
    page.wait_for_function("() => document.querySelectorAll('[data-calib-chart=diagram] .legendtoggle').length === 2")
    zoom(page, "diagram")
    page.wait_for_function(
        "() => document.querySelector('[data-calib-chart=diagram]')._fullLayout.xaxis.range[0] > 0.2"
    )
    node.locator(".legendtoggle").nth(1).click()
    page.wait_for_function("() => document.querySelector('[data-calib-chart=diagram]')._fullData[3].visible !== true")
    before = node.evaluate(STATE)
    for _ in range(2):
        tick(page, "elsewhere")
        expect(page.locator(".calib-chart")).to_have_count(0 if _ == 0 else 1)
    wait_drawn(page, ("diagram",))
    assert node.evaluate(STATE) == before
    page.reload()
    wait_drawn(page, ("diagram",))
    tick(page, "one")
    page.wait_for_function("() => document.querySelector('[data-calib-chart=diagram]')._fullData.length === 6")
    wait_drawn(page, ("diagram",))
    assert node.evaluate(STATE) == before
    node.locator(".nsewdrag").first.dblclick()
    page.wait_for_function(
        "() => document.querySelector('[data-calib-chart=diagram]')._fullLayout.xaxis.range[0] === 0"
    )
    tick(page, "one")
    page.wait_for_function("() => document.querySelector('[data-calib-chart=diagram]')._fullData.length === 3")
    assert node.evaluate(STATE)["x"] == [0, 1]


# ---- the temperature slider -----------------------------------------------------------------------------------------


STARS = """node => [...node._fullData[0].x].map((x, i) => [x, node._fullData[0].y[i]])
    .filter(([x]) => Number.isFinite(x))"""
LIVE_STARS = r"""node => {
    const { xaxis, yaxis } = node._fullLayout;
    return [...node.querySelectorAll('g.calib-own > path[transform]')]
        .filter(path => path.style.display !== 'none')
        .map(path => path.getAttribute('transform').match(/-?[\d.]+/g).map(Number))
        .map(([x, y]) => [xaxis.p2d(x), yaxis.p2d(y)]);
}"""


def gap_beside(page: Page) -> float:
    """Return the distance of the two shares next to the slider, mean confidence and accuracy, in points."""
    says, right = re.findall(r"(\d+\.\d) %", page.locator(".calib-slider output").inner_text())
    return abs(float(says) - float(right))


def test_the_slider_moves_the_stars_alone_and_tells_the_page_at_the_end(looking: Page) -> None:
    page, slider = looking, looking.get_by_role("slider", name="Temperature")
    node = page.locator(DIAGRAM)
    revision_before = revision(page, "diagram")
    spoken = r"^1\.00, mean confidence \d+\.\d percent, accuracy \d+\.\d percent$"
    expect(slider).to_have_attribute("aria-valuetext", re.compile(spoken))
    error = gap_beside(page)
    slider.evaluate("input => { input.value = 1; input.dispatchEvent(new Event('input', { bubbles: true })); }")
    page.wait_for_function("() => document.querySelectorAll('[data-calib-chart=diagram] g.calib-own').length")
    assert gap_beside(page) < error / 2
    shown = node.evaluate(LIVE_STARS)
    # Bins 2 and 9 have few rows at this temperature: the line passes them by.
    line = node.locator("g.calib-own > path:not([transform])").get_attribute("d")
    assert re.sub("[^ML]", "", line) == "MMLLLLLM"
    assert revision(page, "diagram") == revision_before
    expect(chosen(page)).to_have_text("nothing")
    tick(page, "follow the slider")  # the page does not answer: the browser's own drawing stays
    slider.evaluate("input => input.dispatchEvent(new Event('change', { bubbles: true }))")
    expect(chosen(page)).to_have_text('{"temperature": 2}')
    page.wait_for_function("() => !document.querySelectorAll('[data-calib-chart=diagram] g.calib-own').length")
    told = node.evaluate(STARS)
    assert [value for star in told for value in star] == pytest.approx([v for star in shown for v in star], abs=0.002)
    tick(page, "follow the slider")  # and the page's numbers are the browser's
    page.wait_for_function(
        "r => document.querySelector('[data-calib-chart=diagram]').dataset.calibRevision !== r", arg=revision_before
    )
    assert len(told) == len(shown)
    from_page = node.evaluate(STARS)
    assert [v for star in from_page for v in star] == pytest.approx([v for star in told for v in star], abs=1e-4)
