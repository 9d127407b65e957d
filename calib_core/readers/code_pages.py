"""Guess the code page of old text files, which is not stored in them: Windows-1252 unless its words look wrong.

A wrong guess changes letters of names only, because all these code pages contain ASCII. Packages that guess encodings
need sentences. In tables of numbers, they often choose pages that nobody uses.
"""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Callable

CODE_PAGES = {
    "cp1252": "Windows-1252, the usual code page of Western Europe and of Excel",
    "cp1250": "Windows-1250, the code page of Central Europe",
    "cp1251": "Windows-1251, the code page of Cyrillic letters",
    "mac-roman": "Mac OS Roman, the code page of old Macintosh computers",
    "koi8-r": "KOI8-R, an old code page of Cyrillic letters",
    "gb18030": "GB 18030, the code page of simplified Chinese",
    "cp932": "Shift JIS, the code page of Japanese",
    "euc_jp": "EUC-JP, a code page of Japanese",
    "cp949": "Windows-949, the code page of Korean",
    "big5": "Big5, the code page of traditional Chinese",
}
"""Code pages by Python's name; those with one byte per letter in the order of preference, then those with two."""
_TWO_BYTES = ("gb18030", "cp932", "euc_jp", "cp949", "big5")
_ONE_BYTE = tuple(page for page in CODE_PAGES if page not in _TWO_BYTES)
_CYRILLIC = ("cp1251", "koi8-r")
_FREQUENT = frozenset("оеаинтсрвлОЕАИНТСРВЛ")
"""The ten most frequent letters of Russian, about 65 % of texts, distinguish the two Cyrillic pages."""

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
    >>> code_page("编号,概率,是否违约".encode("gb18030")), code_page("確率,いいえ".encode("cp932"))
    ('gb18030', 'cp932')
    """
    if (page := _of_two_bytes(data)) is not None:
        return page
    words = {each[0][:_MOST_CHARS] for each, _ in zip(_WORD.finditer(data), range(_MOST_WORDS), strict=False)}
    best = min(_ONE_BYTE, key=lambda page: sum(_is_odd(word, page) for word in words))
    if best not in _CYRILLIC:
        return best
    letters = {page: b"".join(sorted(words)).decode(page, "replace") for page in _CYRILLIC}
    return max(_CYRILLIC, key=lambda page: sum(each in _FREQUENT for each in letters[page]))


_RUN = re.compile(rb"[\xa1-\xfe]+")
_SHIFT_JIS = re.compile(rb"[\x81-\x9f\xe0-\xfc][\x40-\x7e\x80-\xfc]")
_BIG5 = re.compile(rb"[\xa1-\xf9][\x40-\x7e\xa1-\xfe]")
_SOME_BYTES = 1 << 16


def _of_two_bytes(data: bytes) -> str | None:
    """Return the code page of Chinese, Japanese or Korean text; None if letters have one byte.

    Pairs of large bytes have an even length between other signs, as words of one byte per letter seldom all have.
    Kana are Japanese, and the syllables of Korean have a part of the first bytes of Chinese characters. Shift JIS also
    uses the bytes 0x81 to 0x9F, most of which no Western word contains.
    """
    old = [i for i, byte in enumerate(data[: 16 * _SOME_BYTES]) if byte >= 0x80][:1]
    some = data[old[0] :][:_SOME_BYTES].rpartition(b"\n")[0] or data[old[0] :] if old else b""
    if not some:
        return None
    runs = _RUN.findall(some)
    if not any(0x80 <= byte <= 0xA0 or byte == 0xFF for byte in some) and all(len(run) % 2 == 0 for run in runs):
        firsts = {run[i] for run in runs for i in range(0, len(run), 2)}
        letters = {byte for byte in firsts if byte > 0xA9}
        common = sum(run[i] <= 0xD7 for run in runs for i in range(0, len(run), 2))
        if not letters or 2 * common < sum(len(run) // 2 for run in runs) or not _decodes(some, "gb18030"):
            return None
        if firsts & {0xA4, 0xA5} and _decodes(some, "euc_jp"):
            return "euc_jp"
        return "cp949" if max(letters) <= 0xC8 and min(letters) >= 0xB0 and _decodes(some, "cp949") else "gb18030"
    pairs = _BIG5.findall(some)
    usual = sum(0xA4 <= pair[0] <= 0xC6 for pair in pairs)
    if 10 * usual >= 9 * len(pairs) > 0 and _BIG5.sub(b"", some).isascii() and _decodes(some, "big5"):
        return "big5"
    pairs = _SHIFT_JIS.findall(some)
    usual = sum(pair[0] <= 0x9F for pair in pairs)
    rest = _SHIFT_JIS.sub(b"", some)
    return "cp932" if pairs and rest.isascii() and 2 * usual >= len(pairs) and _decodes(some, "cp932") else None


def _decodes(data: bytes, page: str) -> bool:
    try:
        text = data.decode(page)
    except UnicodeDecodeError:
        return False
    letters = all(each.isascii() or each.isalpha() or each in _CJK_SIGNS for each in text)
    return letters and _MIXED.search(text) is None


_MIXED = re.compile("[a-z][^\x00-\x7f]|[^\x00-\x7f][a-z]")
"""Small Latin letters within a word of Chinese, Japanese or Korean, as Western words look in their code pages."""


_CJK_SIGNS = frozenset("、。「」『』（）［］【】・：；，．！？％＋－＝／～ー〜　０１２３４５６７８９")


def in_utf8(page: str) -> Callable[[bytes], bytes]:
    """Return a function that converts text of a code page to UTF-8; bytes without a letter become control characters.

    >>> in_utf8("cp1252")(b"b\\xeate \\x81") == "bête \\x81".encode()
    True
    """
    if page in _TWO_BYTES:
        decoder = codecs.getincrementaldecoder(page)("backslashreplace")
        return lambda data: decoder.decode(data).encode()
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
    alphabets = foreign < len(letters) if page in _CYRILLIC else len(letters) > 1 and foreign == len(letters)
    capital = any(first.islower() and second.isupper() for first, second in itertools.pairwise(letters))
    return not letters.isalpha() or capital or alphabets
