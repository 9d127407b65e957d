"""Old names of public things: each warns with its successor and the version that removes it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def old_name(old: str, new: str, removed_in: str, stacklevel: int = 3) -> None:
    """Warn that a name is now another, and when the old one is removed.

    Parameters
    ----------
    old, new : what was used, and what to use in its place.
    removed_in : version without the old name, such as "1.0".
    stacklevel : frames between this call and the code to be changed, as in `warnings.warn`.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     old_name("calib_core.uses", "calib_core.evaluation.usefulness", "1.0")
    >>> str(caught[0].message)
    'calib_core.uses is now calib_core.evaluation.usefulness; the old name will be removed in 1.0'
    """
    warnings.warn(f"{old} is now {new}; the old name will be removed in {removed_in}", DeprecationWarning, stacklevel)


def deprecated(instead: str, removed_in: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function as an old name: each call warns, and does what it always did.

    Parameters
    ----------
    instead : what to use in its place.
    removed_in : version without the function.

    >>> @deprecated("math.sqrt", "1.2")
    ... def root(x): return x ** 0.5
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     root(9.0)
    3.0
    >>> "is now math.sqrt; the old name will be removed in 1.2" in str(caught[0].message)
    True
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        name = f"{function.__module__}.{function.__qualname__}"

        @functools.wraps(function)
        def warning(*args: P.args, **options: P.kwargs) -> R:
            old_name(name, instead, removed_in)
            return function(*args, **options)

        return warning

    return mark
