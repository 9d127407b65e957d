"""Views of the dashboard: each adds itself here, the page walks them, and links name them by key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calib_core.registry import RegistryError

Render = Callable[[], None]


@dataclass(frozen=True)
class View:
    """One page of the dashboard: its key in links, its title, its place from left to right, and what draws it.

    ``needs_data``: in its place stands the reason where the chosen data cannot be used.
    """

    key: str
    title: str
    order: float
    render: Render
    needs_data: bool = True


VIEWS: dict[str, View] = {}
"""Every view by its key, from left to right."""


def view(key: str, title: str, order: float, *, needs_data: bool = True) -> Callable[[Render], Render]:
    """Decorator that adds a view; the function draws it for the present choices.

    >>> @view("blank", "Blank", 99)
    ... def render() -> None: ...
    >>> VIEWS.pop("blank").title
    'Blank'
    """

    def add(render: Render) -> Render:
        if key in VIEWS:
            raise RegistryError(f"there is a view {key!r} already")
        every = [*VIEWS.values(), View(key, title, order, render, needs_data)]
        VIEWS.clear()
        VIEWS.update((each.key, each) for each in sorted(every, key=lambda each: each.order))
        return render

    return add


def view_key(text: str) -> str:
    """The key of a view that a link asks for; ValueError where there is none of that name.

    A command has no views loaded and draws none: it leaves the word to the dashboard that opens the link.
    """
    if (VIEWS and text not in VIEWS) or len(text) > 100:
        raise ValueError(text)
    return text
