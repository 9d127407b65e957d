"""Rooms of the dashboard and their views: each view registers itself, the page lists them, links name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from calib_core.registry.registry import RegistryError

Render = Callable[[], None]
Reads = Literal["rows", "counts"]
Missing = Callable[[], str]
"""Reason why a view would be empty for the current choices; an empty text if it would not."""

ROOMS = {
    "overview": "Overview",
    "explore": "Explore",
    "recalibrate": "Recalibrate",
    "evidence": "Evidence",
    "report": "Report",
}
"""Titles of the rooms, in the order in which questions come up."""
DATA = "data"
"""Room behind the name of the current data; it is not a step of the sequence."""
LEARN = "learn"
"""Room behind "Learn": the guided tour and the glossary."""
STOPS = 8
"""Number of stops of the guided tour."""


@dataclass(frozen=True)
class View:
    """View of a room: its key in links, title, position among the room's views, and drawing function.

    - ``needs_data``: if the chosen data cannot be used, the page shows the reason instead.
    - ``listed``: its title is a tab of the room, unless ``missing`` returns a reason.
    - ``reads``: "rows" if it needs rows; for a summary the page shows that instead.
    - ``rare``: it is ``missing`` for most data, and then not mentioned.
    - ``of_models``: calibrators, bins and the tolerance change its content; otherwise their controls are hidden.
    - ``shows``: keys of its exhibits of other packages, which the view "Added" then omits.
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
"""Views by key, room by room, in order."""


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
    """Return a decorator that adds a view to a room; the function draws it for the current choices.

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
    """Return the views of a room that its tabs list."""
    return tuple(each for each in VIEWS.values() if each.room == room and each.listed)


def view_key(text: str) -> str:
    """Return the key of the view that a link names; ValueError if no view has that name.

    A command loads no views, so it passes the name on unchecked; the dashboard that opens the link checks it.
    """
    if (VIEWS and text not in VIEWS) or len(text) > 100:
        raise ValueError(text)
    return text
