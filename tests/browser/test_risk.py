"""The diagram of a predicted risk in a real browser: a click on a bin, the arrow keys, and Escape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.waiting import settled

COLUMN = """(node, bin) => {
    const { low, high } = node.layout.meta.columns.find((c) => c.record.bin === bin);
    const { xaxis: x, yaxis: y } = node._fullLayout, box = node.getBoundingClientRect();
    return { x: box.left + x._offset + x.l2p((low + high) / 2), y: box.top + y._offset + y._length / 2 };
}"""


def risks(folder: Path) -> Path:
    """Write risks that are twice too high."""
    rng = np.random.default_rng(0)
    risk = 1 / (1 + np.exp(-rng.normal(-1, 1, 900)))
    died = rng.random(900) < risk / 2
    path = folder / "risk.csv"
    path.write_text("\n".join(["risk,died", *(f"{s:.5f},{int(y)}" for s, y in zip(risk, died, strict=True))]) + "\n")
    return path


@pytest.mark.wide
def test_a_bin_of_the_risk_is_clicked_walked_and_left(open_page, served, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    page = open_page(served().url, height=900)
    page.locator("input[type=file]").first.set_input_files(risks(tmp_path))
    page.wait_for_url(lambda url: "data=" in url)
    settled(page)
    page.get_by_role("radio", name="Explore", exact=True).click()
    chart = page.locator("[data-calib-chart=reliability]")
    expect(page.get_by_text("Gap from the smooth curve").first).to_be_in_viewport()
    settled(page)
    place = chart.evaluate(COLUMN, 5)
    page.mouse.click(place["x"], place["y"])
    page.wait_for_url(lambda url: "bin=5" in url)
    pane = page.locator(".st-key-detail")
    expect(pane.get_by_text("given 33.3 to 40 %", exact=False).first).to_be_in_viewport()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(lambda url: "bin=6" in url)
    expect(pane.get_by_text("given 40 to 46.7 %", exact=False).first).to_be_in_viewport()
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "bin=" not in url)
