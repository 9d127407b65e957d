"""The fewest rows that make a bound small enough."""

from __future__ import annotations

from collections.abc import Callable


def fewest(enough: Callable[[int], bool], room: float, least: int = 2) -> int:
    """The smallest whole number that is enough, by doubling and halving; ``room`` <= 0 means none ever is.

    >>> fewest(lambda n: n * n >= 50, room=1.0)
    8
    """
    if room <= 0:
        raise ValueError("no number of rows is enough: the wanted bound must be larger than the randomisation delta")
    low, high = least - 1, least
    while not enough(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
