"""Guess the code page of old text files, which is not stored in them: Windows-1252 unless its words look wrong.

A wrong guess changes letters of names only, because all these code pages contain ASCII. Packages that guess encodings
need sentences. In tables of numbers, they often choose pages that nobody uses.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

CODE_PAGES = {
    "cp1252": "Windows-1252, the usual code page of Western Europe and of Excel",
    "cp1250": "Windows-1250, the code page of Central Europe",
    "cp1251": "Windows-1251, the code page of Cyrillic letters",
    "mac-roman": "Mac OS Roman, the code page of old Macintosh computers",
}
"""Code pages by Python's name, in the order of preference."""

_WORD = re.compile(rb"[A-Za-z\x80-\xff]*[\x80-\xff][A-Za-z\x80-\xff]*")
_MOST_WORDS, _MOST_CHARS = 1000, 100
_PUNCTUATION = frozenset("\u2018\u2019\u201c\u201d\u201e\u2013\u2014\u2026\xab\xbb\xa0\xb0\u2122\xae\xa9\u20ac\xa3")
"""Signs next to letters in usual text: quotes, dashes, an ellipsis, a degree, currencies."""
_PAIRS = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
"""Letters of UTF-8 beyond ASCII."""


def code_page(data: bytes) -> str:
    """Return the code page in which the fewest words look wrong; the first of CODE_PAGES if several do.

    >>> code_page("bête".encode("cp1252")), code_page("кошка".encode("cp1251")), code_page("bête".encode("mac-roman"))
    ('cp1252', 'cp1251', 'mac-roman')
    """
    words = {each[0][:_MOST_CHARS] for each, _ in zip(_WORD.finditer(data), range(_MOST_WORDS), strict=False)}
    return min(CODE_PAGES, key=lambda page: sum(_is_odd(word, page) for word in words))


def in_utf8(page: str) -> Callable[[bytes], bytes]:
    """Return a function that converts text of a code page to UTF-8; bytes without a letter become control characters.

    >>> in_utf8("cp1252")(b"b\\xeate \\x81") == "bête \\x81".encode()
    True
    """
    letters = [_letter(byte, page).encode() for byte in range(256)]
    old = re.compile(rb"[\x80-\xff]")
    return lambda data: old.sub(lambda found: letters[found[0][0]], data)


def is_damaged_utf8(data: bytes, error: UnicodeDecodeError) -> bool:
    """True if text that is not UTF-8 is damaged rather than of a code page.

    It has as many letters of UTF-8 as other bytes, or its only fault is that its last letter is cut off.

    >>> def damaged(data):
    ...     try:
    ...         return data.decode() is None
    ...     except UnicodeDecodeError as error:
    ...         return is_damaged_utf8(data, error)
    >>> damaged("ä".encode() + b"\\xe9\\n"), damaged(b"b\\xeate,b\\xeates\\n"), damaged("a,ä".encode()[:-1])
    (True, False, True)
    """
    if error.reason == "unexpected end of data":
        return True
    some = data[error.start : error.start + (1 << 20)]
    letters = len(_PAIRS.findall(data[: error.start + len(some)]))
    others = sum(byte >= 0x80 for byte in _PAIRS.sub(b"", some))
    return letters >= max(others, 1)


def _letter(byte: int, page: str) -> str:
    try:
        return bytes([byte]).decode(page)
    except UnicodeDecodeError:
        return chr(byte)


def _is_odd(word: bytes, page: str) -> bool:
    """True if a word has signs between letters, a capital behind a small letter, or letters of two alphabets."""
    try:
        text = word.decode(page)
    except UnicodeDecodeError:
        return True
    letters = "".join(each for each in text if each not in _PUNCTUATION)
    if not letters:
        return False
    foreign = sum(not each.isascii() for each in letters)
    alphabets = foreign < len(letters) if page == "cp1251" else len(letters) > 1 and foreign == len(letters)
    capital = any(first.islower() and second.isupper() for first, second in itertools.pairwise(letters))
    return not letters.isalpha() or capital or alphabets
