"""Errors for unusable input and unanswerable questions; and checks of numeric arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real


class InputError(ValueError):
    """The input cannot be used; the message states what is wrong, where, and what to do.

    ``advice`` is the part of the message that names arguments of Python functions, and ``reading`` is that part with
    fields of a reading. A caller with other names for them, such as options of a command, replaces the advice.
    """

    def __init__(self, message: str = "", advice: str = "", reading: Mapping[str, str | Sequence[str]] | None = None):
        # All of it in ``args``: a cached or pickled error is made anew from them.
        super().__init__(message, advice, reading) if advice else super().__init__(message)
        self.advice, self.reading = advice, dict(reading or {})

    def __str__(self) -> str:
        return str(self.args[0])


class NotAnswerable(InputError):
    """Predictions of this kind do not support the request; the message gives the reason."""


class NotAnAttribute(NotAnswerable, AttributeError):
    """An attribute of another kind of predictions; ``hasattr`` is False, and the message gives the reason."""


def as_share(value: object, name: str, last: bool = False) -> None:
    """InputError unless the value is between 0 and 1, exclusive; 1 is allowed if ``last``.

    >>> as_share(1.5, "level")
    Traceback (most recent call last):
    calib_core._base.errors.InputError: level is 1.5; it must be a number between 0 and 1, both excluded
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else 0.0
    if not (0 < number < 1 or (last and number == 1)):
        excluded = "0 excluded" if last else "both excluded"
        raise InputError(f"{name} is {value!r:.80}; it must be a number between 0 and 1, {excluded}")


def as_whole(value: object, name: str, least: int, most: int | None = None) -> None:
    """InputError unless the value is an integer of at least ``least``, and at most ``most`` if given."""
    whole = int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if whole is None or whole < least or (most is not None and whole > most):
        limits = f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"
        raise InputError(f"{name} is {value!r:.80}; it must be a whole number {limits}")


def as_among(names: Iterable[str], of: str, models: Collection[str]) -> None:
    """InputError for names that are not models, whose settings would otherwise be ignored."""
    for name in names:
        if name not in models:
            raise InputError(f"{of} name {name!r:.80}, which is not one of the models: {', '.join(models)}")
