"""Small diagrams of classes in a real browser: a click on a bin, the arrow keys, and the highlight."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page, expect

from dashboard.selection import Selection, Source
from tests.browser.waiting import settled

DRAWN = """key => {
    const data = document.querySelector(`[data-calib-chart=${key}]`)?.dataset;
    return data?.calibRevision && data.calibRevision === data.calibPending;
}"""
COLUMN = """(node, [code, bin]) => {
    const { axis, low, high } = node.layout.meta.columns.find((c) => c.record.code === code && c.record.bin === bin);
    const x = node._fullLayout[axis.replace("x", "xaxis")], y = node._fullLayout[axis.replace("x", "yaxis")];
    const box = node.getBoundingClientRect();
    return { x: box.left + x._offset + x.l2p((low + high) / 2), y: box.top + y._offset + y._length - 12 };
}"""
BINS = "(node, code) => node.layout.meta.columns.map(c => c.record).filter(r => r.code === code).map(r => r.bin)"
CLASSES = "node => [...new Set(node.layout.meta.columns.map(c => c.record.code))]"


def link(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


@pytest.mark.wide
def test_a_bin_of_a_class_is_clicked_walked_and_shown(open_page, served) -> None:  # type: ignore[no-untyped-def]
    selection = Selection(source=Source(data="demo:digits-naive-bayes"), view="classes", calibrators=())
    page = open_page(f"{served().url}/?{urlencode(selection.to_query())}", height=900)
    page.wait_for_function(DRAWN, arg="class-panels")
    settled(page)
    panels = page.locator("[data-calib-chart=class-panels]")
    first, second, *_ = panels.evaluate(CLASSES)
    bins = panels.evaluate(BINS, first)
    place = panels.evaluate(COLUMN, [first, bins[-1]])
    assert 0 < place["y"] < 900  # significant classes are on the first screen
    page.mouse.click(place["x"], place["y"])
    pane = page.locator(".st-key-detail")
    expect(
        pane.get_by_text(f"Where the original model predicts {first}, its mean confidence", exact=False).first
    ).to_be_in_viewport()
    page.wait_for_url(lambda url: f"code={first}" in url and f"bin={bins[-1]}" in url)
    assert (link(page)["code"], link(page)["bin"]) == (str(first), str(bins[-1]))
    # Across the bins of this class, then to the next class.
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(lambda url: f"bin={bins[-2]}" in url)
    page.wait_for_url(lambda url: f"code={first}" in url)
    page.keyboard.press("ArrowDown")
    page.wait_for_url(lambda url: f"code={second}" in url)
    expect(
        pane.get_by_text(f"Where the original model predicts {second}, its mean confidence", exact=False).first
    ).to_be_in_viewport()
    # The same class is tinted in the list below.
    expect(page.locator(".calib-across").first).to_be_attached()
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "code=" not in url)
    settled(page)  # the charts forget the class a moment after the link
    # A class and no bin of it is one tint over all of its bins.
    page.locator("[data-calib-chart=class-errors]").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_url(lambda url: f"code={first}" in url and "bin=" not in url)
    expect(page.locator(".calib-tint.calib-top")).to_have_count(1)
    expect(page.get_by_test_id("stException")).to_have_count(0)
