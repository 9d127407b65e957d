"""Numbers as people read them: percent with sensible digits, rows rounded to what is known of them."""

from __future__ import annotations

import math


def percent(share: float) -> str:
    """A share in percent: two digits that count, none below a hundredth of a percent.

    >>> [percent(x) for x in (0.0512, 0.00434, 0.123, 0.97456, 0.0, 1.0)]
    ['5.1 %', '0.43 %', '12 %', '97.5 %', '0 %', '100 %']
    """
    number = 100.0 * share
    if number == 0 or not math.isfinite(number):
        return f"{number:g} %"
    near = min(abs(number), abs(100.0 - number)) or abs(number)
    decimals = 0 if near >= 10 else 1 if near >= 1 else 2
    text = f"{number:.{decimals}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def between(low: float, high: float) -> str:
    """A range in percent, the unit once.

    >>> between(0.004, 0.0123)
    '0.4 to 1.2 %'
    """
    return f"{percent(low).removesuffix(' %')} to {percent(high)}"


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
