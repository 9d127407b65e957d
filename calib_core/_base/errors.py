"""What the library raises where input cannot be used or a question has no answer."""

from __future__ import annotations


class InputError(ValueError):
    """Input that cannot be used; the message says what, where and what to do."""


class NotAnswerable(InputError):
    """A question this kind of predictions cannot answer; the message says why."""


class NotAnAttribute(NotAnswerable, AttributeError):
    """An attribute that only another kind of predictions has, so that ``hasattr`` is False and the message says why."""
