"""Names that Markdown leaves as they are."""

import re

import pytest
from hostile import NAMES

from dashboard.theme import markdown_plain


@pytest.mark.parametrize("name", NAMES)
def test_every_mark_of_markdown_is_escaped(name: str) -> None:
    """What a browser makes of it is seen in tests/browser/test_names.py."""
    text = markdown_plain(name)
    assert re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text).replace("\u200b", "") == name
    assert not re.search(r"(?<!\\)(?:\\\\)*[!-/:-@\[^-`{-~]", text)


def test_controls_become_spaces() -> None:
    assert markdown_plain("a\n\n# b") == "a \\# b"
