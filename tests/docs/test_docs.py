"""The pages of `make docs`: every public name, formulas set, every link leads somewhere, nothing is fetched."""

from __future__ import annotations

import html
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import calib_core as cc
from calib_core import ESTIMATORS, REDUCTIONS

pytest.importorskip("pdoc", reason="the extra `docs` is not installed")
pytest.importorskip("latex2mathml", reason="the extra `docs` is not installed")
BUILD = Path(__file__).with_name("api_pages.py")


def built(folder: Path, *modules: str) -> dict[str, str]:
    """Return the pages by the names of their modules."""
    command = [sys.executable, "-W", "ignore", str(BUILD), str(folder), *modules]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    pages = {p.relative_to(folder): p.read_text("utf-8") for p in folder.rglob("*.html") if p.name != "index.html"}
    return {str(path.with_suffix("")).replace("/", "."): page for path, page in pages.items()}


def anchors(page: str) -> set[str]:
    return set(re.findall(r'id="([^"]+)"', page))


def fetched(page: str) -> list[str]:
    """Return the addresses that a browser would load; links for readers do not count."""
    return re.findall(r"""(?:src=|<link[^>]*href=|url\(|import\s+)["']?(?:https?:)?//[^"')\s]+""", page)


@pytest.mark.wide
def test_the_page_of_the_notions_has_them_all_with_their_formulas_set(tmp_path: Path) -> None:
    page = built(tmp_path, "calib_core.reductions")["calib_core.reductions"]
    assert set(cc.reductions.__all__) <= anchors(page)
    formulas = re.findall(r'<div class="formula"><math.*?</math></div>', page)
    assert len(formulas) == sum(bool(REDUCTIONS[key].formula) for key in REDUCTIONS) > 5
    assert "$$" not in page
    assert "<merror" not in page
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    for key in REDUCTIONS:
        assert REDUCTIONS[key].caption in text
    assert not re.search(r"\bP[1-5]\b", text), "codes of papers"
    assert not fetched(page)


def test_what_is_fetched_is_noticed() -> None:
    assert fetched('<script src="https://cdn.example.org/mathjax.js">')
    assert fetched("@import '//example.org/font.css'")
    assert not fetched('<a href="https://example.org">elsewhere</a>')


@pytest.mark.wide
def test_every_public_name_has_its_place_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    pages = built(tmp_path)
    listed = {name: getattr(cc, name) for name in cc.__all__}
    modules = [cc, cc.figures, *(each for each in listed.values() if inspect.ismodule(each))]
    assert pages.keys() == {module.__name__ for module in modules}
    for module in modules:
        missing = {name for name in getattr(module, "__all__", ()) if not inspect.ismodule(getattr(module, name))}
        assert missing <= anchors(pages[module.__name__]), module.__name__
    assert pages["calib_core.estimators"].count('class="formula"') >= sum(
        bool(ESTIMATORS[k].formula) for k in ESTIMATORS
    )
    for name, page in pages.items():
        assert not fetched(page), name
        assert "<merror" not in page
        here = tmp_path / f"{name.replace('.', '/')}.html"
        for link in set(re.findall(r'href="([^"]+)"', page)):
            if link.startswith(("https://", "data:", "${")):
                continue
            path, _, place = html.unescape(link).partition("#")
            target = (here.parent / path).resolve() if path else here
            assert target.exists(), (name, link)
            assert not place or place in anchors(target.read_text("utf-8")), (name, link)
