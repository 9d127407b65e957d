"""What only the pages say or need: kinds of predictions in words, and names that Markdown leaves as they are."""

import re

from calib_core._text import without_controls

__all__ = ["markdown_plain"]


def markdown_plain(text: object) -> str:
    r"""Escape text for a Streamlit element that reads Markdown (labels, captions, metrics, messages, options).

    Every ASCII punctuation mark is escaped, so that images, links, colours and formulas are shown as they were
    written. What is replaced after the escapes are read (bare addresses, `:icon:` names, `->` and its like) is
    broken by a zero-width space.

    >>> print(markdown_plain("![x](y) $a$"))
    \!\[x\]\(y\) \$a\$
    >>> "://" in markdown_plain("https://example.org").replace("\\", "")
    False
    """
    broken = _LATE_MARKUP.sub("\u200b", without_controls(text))
    return _PUNCTUATION.sub(r"\\\g<0>", broken)


_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
# Places inside `scheme://`, `mailto:`, `:icon:`, `www.`, `a@b`, and the signs that Streamlit makes one arrow of.
_LATE_MARKUP = re.compile(r"(?<=:)(?=[\w/+-])|(?<=[wW]{3})(?=\.)|(?=@)|(?<=[<>~-])(?=[-=>])")
