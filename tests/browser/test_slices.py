"""Slices in a real browser: clicked in the picture, stored in the link and in every room, cleared at the top."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.browser.test_app import drawn, node, own_file, rows_of
from tests.browser.waiting import settled, taken_home

LINE = """(node, where) => {
    const { low, high } = node.layout.meta.columns.find((c) => c.record.slice === where);
    const x = node._fullLayout.xaxis, y = node._fullLayout.yaxis, box = node.getBoundingClientRect();
    return { x: box.left + x._offset + x._length / 4, y: box.top + y._offset + y.l2p((low + high) / 2) };
}"""


def at_sites(folder: Path, rows: int = 1200) -> Path:
    """Write overconfident predictions of two classes, most so at one of three sites."""
    rng = np.random.default_rng(0)
    site, predicted, sure = rng.integers(0, 3, rows), rng.integers(0, 2, rows), rng.uniform(0.55, 0.98, rows)
    right = rng.random(rows) < sure - np.where(site == 1, 0.4, 0.1)
    cat = np.where(predicted == 0, sure, 1 - sure)
    label = np.array(["cat", "dog"])[np.where(right, predicted, 1 - predicted)]
    frame = pd.DataFrame({"p_cat": cat.round(4), "p_dog": 1 - cat.round(4), "label": label})
    frame["site"] = np.array(["Bern", "Kiel", "Oslo"])[site]
    path = folder / "animals_at_three_sites_of_one_country.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_slice_is_clicked_kept_and_taken_away(open_page, served) -> None:  # type: ignore[no-untyped-def]
    page = open_page(f"{served().url}/?view=overview&data=demo%3Alanguage-model")
    settled(page)
    card = page.locator(".st-key-card-slices")
    expect(card).to_contain_text("subject = law: mean confidence")
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


FINDING = """node => {
    const { low, high } = node.layout.meta.columns.find((c) => c.record.bin != null);
    const x = node._fullLayout.xaxis, y = node._fullLayout.yaxis, box = node.getBoundingClientRect();
    return { x: box.left + x._offset + x._length / 8, y: box.top + y._offset + y.l2p((low + high) / 2) };
}"""


@pytest.mark.wide
def test_from_a_finding_to_its_rows_to_a_slice_to_the_report(open_page, served, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    page = open_page(served().url)
    own_file(page).set_input_files(at_sites(tmp_path))
    settled(page)
    # A finding, with only its place tinted, its sentence in the pane, and its rows.
    page.get_by_role("button", name="All findings").click()
    drawn(page, "findings")
    settled(page)
    place = node(page, "findings").evaluate(FINDING)
    page.mouse.click(place["x"], place["y"])
    page.wait_for_url("**bin=*")
    settled(page)
    pane = page.locator(".st-key-detail")
    tints = "node => node.parentNode.querySelectorAll('.calib-tint').length"
    assert node(page, "findings").evaluate(tints) == 1
    expect(pane).to_contain_text("is predicted with confidence")
    expect(pane).to_contain_text("Its rows in this bin")
    rows = pd.read_csv(taken_home(page, rows_of(pane)))
    assert rows["predicted"].nunique() == 1
    # A slice, which stays on a chip and in the link.
    page.locator(".st-key-frame-choices").get_by_role("radio", name="Slices").click()
    drawn(page, "slices")
    settled(page)
    place = node(page, "slices").evaluate(LINE, "site=Kiel")
    page.mouse.click(place["x"], place["y"])
    page.wait_for_url("**within=site%3DKiel*")
    other = open_page(page.url)
    settled(other)
    chip = other.get_by_role("button", name="site = Kiel")
    expect(chip).to_be_visible()
    number = other.locator(".st-key-frame-data")
    expect(number).to_contain_text("judged on ")
    assert number.locator("p").evaluate("node => node.scrollWidth <= node.clientWidth"), "the number of rows is cut"
    # The report is about the slice, and states it.
    other.get_by_role("radio", name="Report", exact=True).click()
    report = taken_home(other, other.get_by_role("button", name="Download the report", exact=True)).read_text("utf-8")
    assert re.search(r"<h1>[^<]*, where site = Kiel</h1>", report)
    assert re.search(r"<h2>Where site is Kiel: ", report)
    expect(other.get_by_test_id("stException")).to_have_count(0)
