"""Rooms of the dashboard and the views in them: each view adds itself here, the page walks them, links name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from calib_core.registry.registry import RegistryError

Render = Callable[[], None]
Reads = Literal["rows", "counts"]
Missing = Callable[[], str]
"""Says why a view could only be empty for the present choices; an empty text where it is not."""

ROOMS = {
    "overview": "Overview",
    "explore": "Explore",
    "recalibrate": "Recalibrate",
    "evidence": "Evidence",
    "report": "Report",
}
"""Titles of the rooms, in the order in which questions come up."""
DATA = "data"
"""The room behind the name of the data in use, which is no step of the way."""
LEARN = "learn"
"""The room behind "Learn": the guided tour and the terms."""
STOPS = 7
"""Stops of the guided tour."""


@dataclass(frozen=True)
class View:
    """One page of a room: its key in links, its title, its place among the room's, and what draws it.

    ``needs_data``: in its place stands the reason where the chosen data cannot be used. ``listed``: it is reached by
    its title beside the room's other views, unless ``missing`` says why it could only be empty. ``reads``: "rows" where
    a summary could show nothing of it: in its place stands that it needs rows. ``rare``: of most data it is
    ``missing``, and nothing is said of it there. ``of_models``: calibrators, bins and the tolerance change what it
    shows; else none of them are offered. ``shows``: keys of exhibits of other packages that it shows, which the view
    "Added" then leaves to it.
    """

    key: str
    title: str
    order: float
    render: Render
    room: str = "explore"
    needs_data: bool = True
    listed: bool = True
    missing: Missing | None = None
    reads: Reads = "counts"
    rare: bool = False
    of_models: bool = True
    shows: tuple[str, ...] = ()


VIEWS: dict[str, View] = {}
"""Every view by its key, room by room, in order."""


def view(
    key: str,
    title: str,
    order: float,
    *,
    room: str = "explore",
    needs_data: bool = True,
    listed: bool = True,
    missing: Missing | None = None,
    reads: Reads = "counts",
    rare: bool = False,
    of_models: bool = True,
    shows: tuple[str, ...] = (),
) -> Callable[[Render], Render]:
    """Decorator that adds a view to a room; the function draws it for the present choices.

    >>> @view("blank", "Blank", 99, room="evidence")
    ... def render() -> None: ...
    >>> VIEWS.pop("blank").title
    'Blank'
    """
    rooms = [*ROOMS, DATA, LEARN]
    if room not in rooms:
        raise RegistryError(f"there is no room {room!r}; there are {', '.join(rooms)}")

    def add(render: Render) -> Render:
        if key in VIEWS:
            raise RegistryError(f"there is a view {key!r} already")
        new = View(key, title, order, render, room, needs_data, listed, missing, reads, rare, of_models, shows)
        every = [*VIEWS.values(), new]
        VIEWS.clear()
        VIEWS.update((each.key, each) for each in sorted(every, key=lambda each: (rooms.index(each.room), each.order)))
        return render

    return add


def views_of(room: str) -> tuple[View, ...]:
    """The views of a room that its tabs list."""
    return tuple(each for each in VIEWS.values() if each.room == room and each.listed)


def view_key(text: str) -> str:
    """The key of a view that a link names; ValueError where there is none of that name.

    A command has no views loaded and draws none: it leaves the word to the dashboard that opens the link.
    """
    if (VIEWS and text not in VIEWS) or len(text) > 100:
        raise ValueError(text)
    return text
