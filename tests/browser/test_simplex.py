"""The triangle in a real browser: arrows are where the frames place them, and a click on a cell shows its rows."""

from __future__ import annotations

from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from calib_core import Recipe, diagrams
from calib_core.datasets import true_valk_kull
from calib_core.figures.triangle import ARROW_POINTS, from_xy, to_xy
from dashboard import session
from dashboard.selection import Selection, Source
from tests.browser.waiting import taken_home

SOURCE = Source(data="demo:synthetic-three-class")
PARTITIONS = (Recipe("BINNINGS", "sierpinski"), Recipe("BINNINGS", "projection"))
DRAWN = """keys => keys.every(key => {
    const data = document.querySelector(`[data-calib-chart=${key}]`)?.dataset;
    return data?.calibRevision && data.calibRevision === data.calibPending;
})"""
PATH = """(node, name) => {
    const { x, y } = node._fullData.find(trace => trace.name === name);
    return Array.from(x, (value, i) => [value, y[i]]);
}"""
AT = """(node, [x, y]) => {
    const { xaxis, yaxis } = node._fullLayout, box = node.getBoundingClientRect();
    return { x: box.left + xaxis._offset + xaxis.d2p(x), y: box.top + yaxis._offset + yaxis.d2p(y) };
}"""
SCALES = """node => {
    const { xaxis, yaxis } = node._fullLayout;
    return [xaxis.d2p(1) - xaxis.d2p(0), yaxis.d2p(0) - yaxis.d2p(1)];
}"""


def chart(page: Page, key: str):  # type: ignore[no-untyped-def]
    page.wait_for_function(DRAWN, arg=[key])
    return page.locator(f"[data-calib-chart={key}]")


def arrows(page: Page, key: str, name: str) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    path = chart(page, key).evaluate(PATH, name)
    points = np.array([[np.nan if v is None else v for v in pair] for pair in path], dtype=float)
    parts = points.reshape(-1, ARROW_POINTS, 2)
    return from_xy(parts[:, 0]), from_xy(parts[:, 1])


@pytest.mark.wide
def test_arrows_a_click_and_the_rows_of_a_cell(open_page, served) -> None:  # type: ignore[no-untyped-def]
    selection = Selection(source=SOURCE, view="simplex", partitions=PARTITIONS)
    parts = session.parts(SOURCE)
    page = open_page(f"{served().url}/?{urlencode(selection.to_query())}", height=1500)
    for part, scheme in enumerate(PARTITIONS):
        diagram = diagrams.recalibration(scheme.build(), parts.fit, parts.test)
        arrowed = diagram.holding(10)
        tails, heads = arrows(page, f"simplex-{part}", "arrows")
        np.testing.assert_allclose(tails, diagram.mean[arrowed], atol=1e-9)
        np.testing.assert_allclose(heads, diagram.target[arrowed], atol=1e-9)
    across, up = chart(page, "simplex-0").evaluate(SCALES)
    assert across == pytest.approx(up, rel=1e-4)  # places are rounded to hundredths of a pixel
    temperature = Recipe("CALIBRATORS", "temperature").build().fit_on(parts.fit)
    for title, map_ in (
        ("Temperature scaling", diagrams.calibration_map(temperature)),
        ("True map", diagrams.true_map(true_valk_kull)),
    ):
        tails, heads = arrows(page, "simplex-maps", f"arrows of {title}")
        np.testing.assert_allclose(tails, map_.start, atol=1e-9)
        np.testing.assert_allclose(heads, map_.to, atol=1e-9)

    cell = 5
    diagram = diagrams.recalibration(PARTITIONS[0].build(), parts.fit, parts.test)
    # Near an edge of the cell, a few pixels inside: the cell under the pointer counts, not the nearest mark.
    corners = to_xy(diagram.outlines[cell][0])
    middle, edge = corners.mean(axis=0), (corners[0] + corners[1]) / 2
    near = edge + 0.02 * (middle - edge) / np.hypot(*(middle - edge))
    place = chart(page, "simplex-0").evaluate(AT, near.tolist())
    page.mouse.move(place["x"], place["y"])
    page.mouse.click(place["x"], place["y"])
    expect(page.get_by_text(f"Cell {cell}, {diagram.places[cell]}: ").first).to_be_in_viewport()
    rows = pd.read_csv(taken_home(page, page.locator(".st-key-download-rows-cell-rows").get_by_role("button")))
    assert rows["row"].tolist() == session.parts(SOURCE).test_rows[diagram.rows(cell)].tolist()
    assert f"cell={cell}" in page.url

    # The chosen partition is taken away: its place in the list of partitions goes to the other one.
    page.get_by_role("button", name="Sierpinski triangles", exact=True).click()
    page.wait_for_url(lambda url: "sierpinski" not in url)
    expect(page.locator("[data-calib-chart=simplex-1]")).to_have_count(0)
    expect(page.locator("[data-calib-chart=simplex-maps]")).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
