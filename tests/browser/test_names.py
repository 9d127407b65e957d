"""Class names from a file are shown literally: no link, no picture, no request, no style."""

import ast
from pathlib import Path

import pytest
from playwright.sync_api import expect

SCRIPT = Path(__file__).parent / "apps" / "names_app.py"
# Waits, since Streamlit may draw a page twice while it loads.
SHOWN = r"""([i, name]) =>
    document.querySelector(`.st-key-name-${i}`)?.textContent.replaceAll("\u200b", "").includes(name)"""
SINKS = ["markdown", "error", "metric", "selectbox", "tabs", "button", "caption"]


@pytest.fixture(scope="module")
def names() -> list[str]:
    lines = SCRIPT.read_text().partition("NAMES = ")[2].partition("\n]\n")[0]
    found: list[str] = ast.literal_eval(f"{lines}]")
    assert len(found) > 10
    return found


@pytest.mark.wide
def test_a_name_in_markdown_stays_a_text(open_page, served, names: list[str]) -> None:
    page = open_page(served(SCRIPT).url)
    for sink in SINKS:
        page.get_by_test_id("stSidebar").get_by_text(sink, exact=True).click()
        expect(page.locator(f".st-key-sink-{sink}")).to_be_visible()
        for i, name in enumerate(names):
            place = page.locator(f".st-key-name-{i}")
            page.wait_for_function(SHOWN, arg=[i, name])
            assert place.locator("a, img, code, .katex, strong, em, del, [data-testid=stIconMaterial]").count() == 0


@pytest.mark.wide
def test_a_name_in_a_figure_stays_a_text(open_page, served, names: list[str]) -> None:
    page = open_page(served(SCRIPT).url)
    page.get_by_test_id("stSidebar").get_by_text("chart", exact=True).click()
    node = page.locator("[data-calib-chart=names][data-calib-revision]")
    expect(node).to_be_visible()
    assert node.locator(".legendtext").all_text_contents() == names
    assert node.locator(".textpoint text").evaluate_all("all => all.map(t => t.textContent).filter(Boolean)") == names
    assert node.locator("a[*|href], image").count() == 0
    assert node.get_attribute("aria-label") == names[1]
