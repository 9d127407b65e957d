"""Slow calibrators in a browser: the chart stays, a click loses nothing, a stop ends the work."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.test_app import drawn

APP = Path(__file__).parent / "apps" / "endless_fit_app.py"


@pytest.mark.wide
def test_a_long_fit_is_named_goes_on_over_clicks_and_stops(  # type: ignore[no-untyped-def]
    open_page, served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "fits.txt"
    monkeypatch.setenv("CALIB_FIT_NOTES", str(notes))
    page = open_page(f"{served(APP).url}/?view=reliability&calibrators=[]")
    drawn(page, "reliability")
    chip = page.locator(".st-key-frame-models").get_by_role("button", name="Vector scaling")
    chip.click()
    said = page.get_by_text("Fitting Vector scaling: ", exact=False)
    expect(said).to_be_visible()
    # The earlier picture stays; a redraw meanwhile continues the same fit.
    expect(page.locator("[data-calib-chart=reliability]")).to_be_visible()
    page.get_by_role("radio", name="Classes").click()
    expect(said).to_contain_text(" 3 s")
    assert notes.read_text().split() == ["begun"]
    page.locator(".st-key-frame-fitting").get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped; no result of Vector scaling was saved.")).to_be_visible()
    expect(said).to_have_count(0)
    expect(chip).to_be_visible()
    assert notes.read_text().split() == ["begun", "ended"]
    assert "vector" not in page.url
