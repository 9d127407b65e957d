"""The site of `make docs`: built in strict mode, with every entry of the registries, without any downloads."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import calib_core as cc
from tests.docs import executed
from tests.docs.test_docs import anchors, fetched

BASIC_PLOTLY = {"bar", "pie", "scatter"}
REGISTRIES = {
    "notions": cc.REDUCTIONS,
    "estimators": cc.ESTIMATORS,
    "calibrators": cc.CALIBRATORS,
    "binary-calibrators": cc.BINARY_CALIBRATORS,
    "binnings": cc.BINNINGS,
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "docs"
    command = [sys.executable, "-W", "ignore", "-m", "tests.docs.build", str(folder)]
    subprocess.run(command, check=True, timeout=600, cwd=executed.ROOT)
    return folder


@pytest.mark.wide
def test_the_site_has_every_page_and_fetches_nothing(site: Path) -> None:
    pages = {path.relative_to(site): path.read_text("utf-8") for path in site.rglob("*.html")}
    written = {page.relative_to(executed.ROOT / "docs").with_suffix(".html") for page in executed.PAGES}
    assert written <= pages.keys()
    for path, text in pages.items():
        assert not fetched(text), path
        assert "<merror" not in text, path
        assert "$$" not in text or path.parts[0] == "api", path


@pytest.mark.wide
def test_every_entry_has_a_place_and_an_example_that_ran(site: Path) -> None:
    for name, registry in REGISTRIES.items():
        page = (site / f"reference/{name}.html").read_text("utf-8")
        assert set(registry) <= anchors(page)
        assert page.count('class="highlight"') == 1 + 2 * len(list(registry)), (
            "the code that all share, then code and output"
        )


@pytest.mark.wide
def test_every_figure_is_a_file_that_the_bundled_plotly_draws(site: Path) -> None:
    scripts = {path.stem: path.read_text("utf-8") for path in (site / "assets/figures").glob("*.js")}
    pages = "".join(path.read_text("utf-8") for path in site.rglob("*.html"))
    shown = set(re.findall(r'<div id="([^"]+)" class="figure"', pages))
    assert shown == scripts.keys()
    assert len(shown) > 12
    for name, script in scripts.items():
        figure = json.loads(script.splitlines()[1].removeprefix("const drawn = ").removesuffix(";"))
        assert {trace.get("type", "scatter") for trace in figure["data"]} <= BASIC_PLOTLY, name
