"""README and docs/: every block runs and prints the shown output, every internal link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from dashboard.cli import main
from tests.docs import executed

README = executed.ROOT / "README.md"
PAGES = [README, *executed.PAGES]
LONGEST_README = 200
LONGEST_RELEASE = 60


def name(page: Path) -> str:
    return str(page.relative_to(executed.ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_runs_and_prints_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    executed.prepare(tmp_path)
    for result in executed.run(page, tmp_path):
        assert executed.agrees(result), f"{name(page)}:{result.block.line} prints\n{result.printed}"


@pytest.mark.wide
@pytest.mark.parametrize("page", [page for page in PAGES if "<!-- wide -->" in page.read_text("utf-8")], ids=name)
def test_every_slow_block_runs(page: Path, tmp_path: Path) -> None:
    executed.prepare(tmp_path)
    for result in executed.run(page, tmp_path, wide=True):
        assert executed.agrees(result), f"{name(page)}:{result.block.line} prints\n{result.printed}"


def anchors(text: str) -> set[str]:
    """Return the places of a page that a link can name, as GitHub and MkDocs derive them from headings."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def broken(page: Path, text: str) -> list[str]:
    """Return links of a page to files or headings that do not exist."""
    found = []
    for link in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text):
        path, _, place = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (place and place not in anchors(target.read_text("utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_internal_link_leads_somewhere(page: Path) -> None:
    assert broken(page, page.read_text("utf-8")) == []


def test_a_broken_link_is_seen() -> None:
    text = (
        "# The library\n[a](README.md#architecture) [b](#the-library) [c](nowhere.md) [d](README.md#nowhere) [e](#no)"
    )
    assert broken(README, text) == ["nowhere.md", "README.md#nowhere", "#no"]


def inline(page: Path) -> list[str]:
    """Return code within the sentences of a page."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S))


def folders_that_do_not_exist(codes: list[str]) -> list[str]:
    tops = ("calib_core/", "dashboard/", "demo_data/", "docs/", "tests/")
    return [code for code in codes if code.startswith(tops) and not (executed.ROOT / code).exists()]


def options_that_do_not_exist(codes: list[str]) -> list[str]:
    """Return commands with an option that they do not have."""
    context = click.Context(main)
    found = []
    for code in codes:
        name, *words = code.removeprefix("calib ").split()
        if code.startswith("calib ") and name.islower():
            command = main.get_command(context, name)
            known = {option for each in command.params for option in each.opts} | {"--help"} if command else set()
            found += [code] if command is None or {w for w in words if w.startswith("--")} - known else []
    return found


def targets_that_do_not_exist(codes: list[str]) -> list[str]:
    makefile = (executed.ROOT / "Makefile").read_text("utf-8")
    targets = [code for code in codes if code.startswith("make ")]
    return [code for code in targets if not re.search(rf"^{code.removeprefix('make ')}:", makefile, re.M)]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_folders_options_and_targets_within_sentences_exist(page: Path) -> None:
    codes = inline(page)
    assert folders_that_do_not_exist(codes) == []
    assert options_that_do_not_exist(codes) == []
    assert targets_that_do_not_exist(codes) == []


def test_what_does_not_exist_is_seen() -> None:
    assert folders_that_do_not_exist(["docs/index.md", "docs/nowhere.md"]) == ["docs/nowhere.md"]
    assert options_that_do_not_exist(["calib gate FILE --bins 5", "calib gate --nothing", "calib nothing"]) == [
        "calib gate --nothing",
        "calib nothing",
    ]
    assert targets_that_do_not_exist(["make docs", "make nothing"]) == ["make nothing"]


def test_the_architecture_names_every_package() -> None:
    text = README.read_text("utf-8").partition("## Architecture")[2]
    named = {name.rstrip("/") for name in re.findall(r"\b_?[a-z][a-z_]*\b/", text)}
    for package in ("calib_core", "dashboard"):
        folders = {each.parent.name for each in (executed.ROOT / package).glob("*/__init__.py")}
        assert folders <= named, folders - named


def test_a_release_has_at_most_60_lines_in_the_changelog() -> None:
    releases = re.split(r"^## ", (executed.ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.M)[2:]
    assert [text.partition("\n")[0] for text in releases if len(text.splitlines()) > LONGEST_RELEASE] == []


def test_the_readme_is_short() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= LONGEST_README


def test_a_page_that_prints_something_else_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n\n```python\nprint(3)\n```\n", encoding="utf-8")
    assert [executed.agrees(each) for each in executed.run(page, tmp_path)] == [False, True]
    page.write_text("```sh\ncalib gate nowhere.csv --max-ece 0.05\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="exit code 2"):
        list(executed.run(page, tmp_path))
