"""Names that Markdown shows unchanged."""

import re
import tomllib
from pathlib import Path

import pytest
from hostile import NAMES

from calib_core import CALIBRATORS
from dashboard.theme import label_plain, markdown_plain

STYLES = Path(__file__).parents[2] / "dashboard" / "frame"


@pytest.mark.parametrize("name", NAMES)
def test_every_mark_of_markdown_is_escaped(name: str) -> None:
    """The result in a browser is tested in tests/browser/test_names.py."""
    text = markdown_plain(name)
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text).replace("\u200b", "") == name
    assert not re.search(r"(?<!\\)(?:\\\\)*[!-/:-@\[^-`{-~]", text)


def test_a_label_is_escaped_only_where_markdown_reads_something() -> None:
    for entry in CALIBRATORS:
        assert label_plain(CALIBRATORS[entry].title) == CALIBRATORS[entry].title
    for title in ("Top-label histogram binning (rows per bin 80)", "Vector scaling (penalty 0.5)", "cat"):
        assert label_plain(title) == title
    for name in (*NAMES[1:-1], "1. first", "a -- b", "a -> b", "www.example.org", "- a"):
        assert label_plain(name) == markdown_plain(name), name


def test_colours_are_written_once() -> None:
    """Colors of models are in the palette, those of the page in one rule; the accent is Streamlit's primary color."""
    sheets = {path.name: path.read_text("utf-8") for path in STYLES.glob("*.css")}
    page = sheets.pop("page.css")
    colours, rest = page.partition("}")[::2]
    written = {name: re.findall(r"#[0-9a-fA-F]{3,8}\b", text) for name, text in {**sheets, "page.css": rest}.items()}
    assert not any(written.values()), written
    theme = tomllib.loads((STYLES.parent / ".streamlit" / "config.toml").read_text("utf-8"))["theme"]
    both = ", ".join(theme[which]["primaryColor"] for which in ("light", "dark"))
    assert f"--accent: light-dark({both});" in colours


def test_controls_become_spaces() -> None:
    assert markdown_plain("a\n\n# b") == "a \\# b"
