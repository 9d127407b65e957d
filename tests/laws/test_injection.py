"""Names never become code in any output, and readers see each of them; `make scoreboard` counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support import hostile_outlets, text_structures
from tests.support.hostile_outlets import NAMES, OUTLETS, PDF, REPORT, Names, Outlet, faults

pytest.importorskip("streamlit")
chromium = pytest.importorskip("dashboard.report.chromium")
NEEDS = {"ONNX": ("onnx",), "Matplotlib": ("matplotlib",), "model card": ("yaml", "markdown_it"),
         "Markdown": ("markdown_it",), "screen": ("markdown_it",)}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", OUTLETS)
def test_no_name_is_code_and_every_name_is_seen(name: str) -> None:
    for package in NEEDS.get(name, ()):
        pytest.importorskip(package)
    assert not faults(OUTLETS[name])


@pytest.mark.wide
def test_no_name_is_code_in_a_report() -> None:
    assert not faults(REPORT)


@pytest.mark.wide
@pytest.mark.skipif(chromium.found() is None, reason="Chromium is not installed")
def test_no_name_is_code_on_paper() -> None:
    assert not faults(PDF)
    link = hostile_outlets.on_paper(b'<a href="https://example.org/cat">cat</a>')
    assert text_structures.actions(link) == ["/URI (https://example.org/cat)"], "what a name would open is seen"


BROKEN = {
    "page": Outlet(lambda names: "".join(f"<p>{name}</p>" for name in names), text_structures.elements, str),
    "card": Outlet("\n\n".join, text_structures.tokens, str),
    "table": Outlet(lambda names: "\n".join(f'"{n}"'.replace('""', "'") for n in names), text_structures.cells, str),
    "LaTeX": Outlet(" & ".join, text_structures.macros, text_structures.typeset),
    "module": Outlet(lambda names: "\n".join(f"'{n}'" for n in names if "\\" not in n and "\x1b" not in n),
                     text_structures.tree, str),
    "terminal": Outlet("\n".join, text_structures.terminal, str),
    "GitHub": Outlet(lambda names: "\n".join(f"::error file={n}::{n}" for n in names),
                     text_structures.annotations, str),
    "figure": Outlet(lambda names: f'{{"text": "{names[0]}"}}', text_structures.marks, str),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_writers_that_escape_nothing_are_seen(name: str) -> None:
    try:
        assert len(faults(BROKEN[name])) == len(NAMES)
    except SyntaxError:
        assert name == "module"


def test_a_name_that_is_shown_otherwise_or_not_is_seen() -> None:
    def lost(names: Names) -> str:
        return "\n".join(name.replace("cat", "dog") for name in names)

    cut = Outlet(lost, lambda _: None, str)
    assert list(faults(cut)) == ["cat\u202egod"]
    assert not faults(replace(cut, shows=False))


def test_names_and_twins_are_as_many_and_differ() -> None:
    assert len(set(NAMES)) == len(set(hostile_outlets.TWINS)) == len(NAMES)
    assert len(OUTLETS) * len(NAMES) > 600
