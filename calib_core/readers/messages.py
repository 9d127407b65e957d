"""Format names, lists, counts and sizes for the readers' messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

SHOWN_CHARS = 80


def shown(text: object) -> str:
    """Format user text for a message: one line, at most 80 characters, control characters escaped.

    >>> shown("cat\\n"), len(shown("x" * 500))
    ('cat\\\\n', 80)
    """
    raw = str(text)[: SHOWN_CHARS + 1]
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in raw)
    return line if len(line) <= SHOWN_CHARS else line[: SHOWN_CHARS - 1] + "…"


def quoted(name: object) -> str:
    return f'"{shown(name)}"'


def listed(names: Iterable[object], most: int = 8) -> str:
    """List the first few names in quotes, and the number of further ones.

    >>> listed("abc", most=2)
    '"a", "b" and 1 more'
    """
    every = list(names)
    more = len(every) - most
    return ", ".join(quoted(name) for name in every[:most]) + (f" and {more} more" if more > 0 else "")


def meant(name: object, known: Iterable[str]) -> str:
    """Suggest the known name that is most similar to this one; empty if none is similar.

    >>> meant("Weight", ["label", "weights"]), meant("odds", ["words"])
    ('did you mean "weights"? ', '')
    """
    by_fold = {other.casefold(): other for other in known}
    near = difflib.get_close_matches(str(name).strip().casefold()[:200], by_fold, n=1, cutoff=0.75)
    return f"did you mean {quoted(by_fold[near[0]])}? " if near else ""


def places(numbers: Sequence[int]) -> str:
    """Return the numbers of lines or rows, in order, as text.

    >>> places([3]), places([3, 4, 5]), places([3, 8, 12, 17])
    ('3', '3 to 5', '3, 8, 12, …')
    """
    if len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers[:3])) + (", …" if numbers[3:] else "")


def affected(count: int, total: int) -> str:
    """Format the number of rows that a finding affects: "1 of 200 rows affected"."""
    return f"{count:,} of {total:,} rows affected"


def size(n_bytes: int) -> str:
    """Format a number of bytes with a unit.

    >>> size(928), size(8 * 10**12)
    ('928 bytes', '8 TB')
    """
    amount = float(n_bytes)
    for unit in ("bytes", "kB", "MB", "GB", "TB", "PB"):
        if amount < 1000 or unit == "PB":
            return f"{amount:.3g} {unit}" if unit != "bytes" else f"{n_bytes} bytes"
        amount /= 1000
    return ""  # pragma: no cover
