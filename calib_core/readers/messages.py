"""How readers write names, places and counts in their messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SHOWN_CHARS = 80


def shown(text: object) -> str:
    """User text as a message shows it: one line, at most 80 characters, control characters written out.

    >>> shown("cat\\n"), len(shown("x" * 500))
    ('cat\\\\n', 80)
    """
    raw = str(text)[: SHOWN_CHARS + 1]
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in raw)
    return line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 1] + "…"


def quoted(name: object) -> str:
    return f'"{shown(name)}"'


def listed(names: Iterable[object], most: int = 8) -> str:
    """The first few names, quoted, and how many more there are.

    >>> listed("abc", most=2)
    '"a", "b" and 1 more'
    """
    every = list(names)
    more = len(every) - most
    return ", ".join(quoted(name) for name in every[:most]) + (f" and {more} more" if more > 0 else "")


def meant(name: object, known: Iterable[str]) -> str:
    """The known name that is nearly this one, as a question; nothing where none is.

    >>> meant("Weight", ["label", "weights"]), meant("odds", ["words"])
    ('did you mean "weights"? ', '')
    """
    by_fold = {other.casefold(): other for other in known}
    near = difflib.get_close_matches(str(name).strip().casefold()[:200], by_fold, n=1, cutoff=0.75)
    return f"did you mean {quoted(by_fold[near[0]])}? " if near else ""


def affected(count: int, total: int) -> str:
    """ "1 of 200 rows affected", the share of a table something is true of."""
    return f"{count:,} of {total:,} rows affected"


def size(n_bytes: int) -> str:
    """A number of bytes as people say it.

    >>> size(928), size(8 * 10**12)
    ('928 bytes', '8 TB')
    """
    amount = float(n_bytes)
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if amount < 1000 or unit == "PB":
            return f"{amount:.3g} {unit}" if unit != "bytes" else f"{n_bytes} bytes"
        amount /= 1000
    return ""  # pragma: no cover
