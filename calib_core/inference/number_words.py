"""Numbers as people read them: percent with sensible digits, rows rounded to what is known of them."""

from __future__ import annotations

import math


def percent(share: float, decimals: int | None = None) -> str:
    """A share in percent: two digits that count, of what it is or of what it lacks to all; or so many ``decimals``.

    >>> [percent(x) for x in (0.0512, 0.00434, 0.123, 0.97456, 0.0, 1.0, 0.00004, 0.99996)]
    ['5.1 %', '0.43 %', '12 %', '97.5 %', '0 %', '100 %', '0.004 %', '99.996 %']
    """
    number = 100.0 * share
    if number == 0 or not math.isfinite(number):
        return f"{number:g} %"
    text = f"{number:.{_decimals(share) if decimals is None else decimals}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def _decimals(share: float) -> int:
    number = 100.0 * share
    near = min(abs(number), abs(100.0 - number)) or abs(number)
    return 0 if near >= 10 else min(8, max(1, 1 - math.floor(math.log10(near))) if near < 1 else 1)


def between(low: float, high: float, apart: float | None = None) -> str:
    """A range in percent, the unit once; with digits enough to tell its ends apart, and from ``apart`` where given.

    >>> between(0.004, 0.0123), between(0.0, 0.01996, apart=0.02)
    ('0.4 to 1.2 %', '0 to 1.996 %')
    """
    for decimals in range(9):
        first, last = (percent(end, max(decimals, _decimals(end) if end else 0)) for end in (low, high))
        marks = [percent(apart, max(decimals, _decimals(apart)))] if apart is not None else []
        if (first != last or low == high) and not ({first, last} & set(marks)):
            break
    return f"{first.removesuffix(' %')} to {last}"


def rows(number: float) -> str:
    """A number of rows that is known roughly: two digits, rounded up.

    >>> rows(1234), rows(87.2)
    ('1,300', '88')
    """
    unit = 10.0 ** max(0, math.floor(math.log10(max(number, 1.0))) - 1)
    return f"{int(math.ceil(number / unit - 1e-9) * unit):,}"


def chance(p: float) -> str:
    """A p-value: two digits that count, none below one in ten thousand.

    >>> chance(0.0321), chance(0.0), chance(0.5)
    ('p = 0.032', 'p < 0.0001', 'p = 0.5')
    """
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def at_level(level: float) -> str:
    """A level of confidence.

    >>> at_level(0.9), at_level(0.995)
    ('90 %', '99.5 %')
    """
    return f"{100 * level:.6g} %"
