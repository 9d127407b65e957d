"""Texts that only the pages need: names for kinds of predictions, and escaping for Markdown."""

import re

from calib_core.text import without_controls

__all__ = ["PERCENT", "label_plain", "markdown_plain", "unbroken"]

PERCENT = "%.1f\u00a0%%"
"""Format of a column of numbers in percent; Streamlit's own has no space and two decimals."""


def markdown_plain(text: object) -> str:
    r"""Escape text for a Streamlit element that reads Markdown (labels, captions, metrics, messages, options).

    Every ASCII punctuation mark is escaped, so that images, links, colors and formulas are shown as they were written.
    A zero-width space breaks what Streamlit replaces after escapes (bare addresses, `:icon:` names, `->` and similar).
    Percent signs stay on the line of their number (``unbroken``).

    >>> print(markdown_plain("![x](y) $a$"))
    \!\[x\]\(y\) \$a\$
    >>> "://" in markdown_plain("https://example.org").replace("\\", "")
    False
    """
    broken = _LATE_MARKUP.sub("\u200b", unbroken(without_controls(text)))
    return _PUNCTUATION.sub(r"\\\g<0>", broken)


def label_plain(text: object) -> str:
    """Escape a name for the label of a widget; screen readers read its Markdown, so harmless characters stay.

    >>> label_plain("Isotonic, one-vs-rest"), label_plain("a * b")
    ('Isotonic, one-vs-rest', 'a \\\\* b')
    """
    words = str(text)
    return words if _HARMLESS.fullmatch(words) else markdown_plain(words)


def unbroken(text: str) -> str:
    """Join percent signs, p-values with their names and signs, and halves of a word: no line breaks between them.

    >>> unbroken("right 9 %") == "right 9\u00a0%", unbroken("p < 0.01") == "p\u00a0<\u00a00.01"
    (True, True)
    >>> unbroken("< 0.0001") == "<\u00a00.0001"
    True
    >>> unbroken("cross-fitted") == "cross\u2011fitted"
    True
    """
    words = text.replace(" %", "\u00a0%").replace("cross-fit", "cross\u2011fit")
    return _P_VALUE.sub(lambda found: found[0].replace(" ", "\u00a0"), words)


_P_VALUE = re.compile(r"(?:\bp |^)[<=>] (?=\d)")
# Letters, digits, and marks without a meaning in Markdown between them; numbers by themselves could begin a list.
_HARMLESS = re.compile(r"[^\W\d_](?:[^\W_]|[ ,()%]|-(?![->])|\.(?=\d))*")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
# Places inside `scheme://`, `mailto:`, `:icon:`, `www.`, `a@b`, and the signs that Streamlit joins to an arrow.
_LATE_MARKUP = re.compile(r"(?<=:)(?=[\w/+-])|(?<=[wW]{3})(?=\.)|(?=@)|(?<=[<>~-])(?=[-=>])")
