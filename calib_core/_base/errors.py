"""Errors for input that cannot be used and questions without an answer; numbers of callers checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from numbers import Integral, Real


class InputError(ValueError):
    """Input that cannot be used; the message says what, where and what to do."""


class NotAnswerable(InputError):
    """A question this kind of predictions cannot answer; the message says why."""


class NotAnAttribute(NotAnswerable, AttributeError):
    """An attribute that only another kind of predictions has, so that ``hasattr`` is False and the message says why."""


def as_share(value: object, name: str, last: bool = False) -> None:
    """Refuse what does not lie between 0 and 1; 1 is let through as a ``last`` one.

    >>> as_share(1.5, "level")
    Traceback (most recent call last):
    calib_core._base.errors.InputError: level is 1.5; it must be a number between 0 and 1, both excluded
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else 0.0
    if not (0 < number < 1 or (last and number == 1)):
        excluded = "0 excluded" if last else "both excluded"
        raise InputError(f"{name} is {value!r:.80}; it must be a number between 0 and 1, {excluded}")


def as_whole(value: object, name: str, least: int, most: int | None = None) -> None:
    """Refuse what is no whole number from ``least`` on, up to ``most`` if there is one."""
    whole = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if whole is None or whole < least or (most is not None and whole > most):
        limits = f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"
        raise InputError(f"{name} is {value!r:.80}; it must be a whole number {limits}")


def as_among(names: Iterable[str], of: str, models: Collection[str]) -> None:
    """Refuse names that are not among the models': what was wanted of them would be missing unseen."""
    for name in names:
        if name not in models:
            raise InputError(f"{of} name {name!r:.80}, which is not among the models: {', '.join(models)}")
