"""The evidence room in a browser: every formula is typeset, and a click on a line of the forest explains it."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

import calib_core as cc

FORMULAS = Path(__file__).parent / "apps" / "formulas_app.py"
CHART = "[data-calib-chart=estimators][data-calib-revision]"
POINT = """(node, [name, key]) => {
    const trace = node._fullData.find(trace => trace.name === name);
    const i = trace.customdata.findIndex(mark => mark.estimator === key);
    const { xaxis, yaxis } = node._fullLayout, box = node.getBoundingClientRect();
    return { x: box.left + xaxis._offset + xaxis.d2p(trace.x[i]), y: box.top + yaxis._offset + yaxis.d2p(trace.y[i]) };
}"""


@pytest.mark.wide
def test_katex_sets_every_formula(open_page, served) -> None:
    page = open_page(served(FORMULAS).url)
    expect(page.get_by_text("formulas", exact=False)).to_be_visible()
    known = len(cc.ESTIMATORS) + len(cc.REDUCTIONS)
    expect(page.locator(".katex-display").nth(known - 1)).to_be_visible()
    assert page.locator(".katex-error").count() == 0


def test_a_click_on_a_line_opens_what_the_number_is(open_page, served) -> None:
    page = open_page(f"{served().url}/?view=estimators&notion=confidence&calibrators=[]")
    node = page.locator(CHART)
    expect(node).to_be_visible()
    page.wait_for_function("node => node._fullData?.length", arg=node.element_handle())
    place = node.evaluate(POINT, ["estimate with interval", "rmsce"])
    page.mouse.click(place["x"], place["y"])
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Root mean squared calibration error", exact=False).first).to_be_visible()
    expect(dialog.locator(".katex-display")).to_be_visible()
    assert page.locator(".katex-error").count() == 0
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
