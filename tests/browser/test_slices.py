"""A slice in a real browser: clicked in the picture, kept in the link and in every room, taken away at the top."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.test_app import drawn, node
from tests.browser.waiting import settled

LINE = """(node, where) => {
    const { low, high } = node.layout.meta.columns.find((c) => c.record.slice === where);
    const x = node._fullLayout.xaxis, y = node._fullLayout.yaxis, box = node.getBoundingClientRect();
    return { x: box.left + x._offset + x._length / 4, y: box.top + y._offset + y.l2p((low + high) / 2) };
}"""


def test_a_slice_is_clicked_kept_and_taken_away(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=overview&data=demo%3Alanguage-model")
    settled(page)
    card = page.locator(".st-key-card-slices")
    expect(card).to_contain_text("subject = law: says")
    card.get_by_text("Compare the slices").click()
    drawn(page, "slices")
    settled(page)
    place = node(page, "slices").evaluate(LINE, "subject=law")
    page.mouse.click(place["x"], place["y"])
    page.wait_for_url("**within=subject%3Dlaw*")
    expect(page.get_by_role("button", name="subject = law")).to_be_visible()
    expect(page.locator(".st-key-frame-file")).to_contain_text("judged on 318 rows")
    again = open_page(page.url.replace("view=slices", "view=reliability"))
    drawn(again, "reliability")
    expect(again.locator(".st-key-frame-file")).to_contain_text("judged on 318 rows")
    settled(again)
    again.get_by_role("button", name="subject = law").click()
    again.wait_for_url(lambda url: "within" not in url)
    expect(again.locator(".st-key-frame-file")).to_contain_text("judged on 1,000 rows")
    expect(again.get_by_test_id("stException")).to_have_count(0)
