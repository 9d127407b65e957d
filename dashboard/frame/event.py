"""Event of two classes in the frame: its name, and the choices for another event or notion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from calib_core import InputError
from calib_core.inference import notion_looked_at
from calib_core.predictions.event_names import event_of, event_title
from calib_core.readers import Reading
from dashboard import session
from dashboard.selection import Selection
from dashboard.session.reading_changes import written_changes


@dataclass(frozen=True)
class Named:
    """Event of the current file: its class, both classes, and their names."""

    name: str
    classes: tuple[str, ...]
    column: str

    @property
    def title(self) -> str:
        """Return the name of the event."""
        return self.titled(self.name)

    def titled(self, name: str) -> str:
        """Return the name of a class as an event."""
        return event_title(name, self.column)


def named(selection: Selection) -> Named | None:
    """Return the event of the current file; None if its rows have none."""
    try:
        rows = session.parts(selection.source).test
        label = session.reading(selection.source.data, selection.source.reading).label
    except InputError:
        return None
    if rows.event is None or notion_looked_at(rows) != "event":
        return None
    classes = tuple(rows.class_names or ())
    return Named(classes[rows.event], classes, label[0] if len(label) == 1 else rows.outcome)


def claims(selection: Selection) -> Literal["event", "confidence"]:
    """Return the default subject of every page."""
    try:
        return session.scene_of(selection).claims
    except InputError:
        return "confidence"


def judging(notion: str) -> dict[str, Any]:
    """Return the choices that evaluate the event's risk, or the confidence of the predicted class."""
    return {"notion": "" if notion == "event" else "confidence", "confidence": None, "bin": None, "between": None}


def of_another(selection: Selection, name: str) -> dict[str, Any]:
    """Return the choices with the other class as the event, in every open file."""

    def changed(key: str, reading: str) -> str:
        proposal, how = session.file(key).proposal, session.reading(key, reading)
        if how.classes and name not in how.classes:
            return reading
        # The suggestion of the file itself is not written into the link.
        own = proposal is not None and _suggested(proposal) == name
        return written_changes(proposal, how.replace(event=proposal.event if own and proposal else name))

    source = selection.source
    changes: dict[str, Any] = {
        "reading": changed(source.data, source.reading),
        "others": tuple((key, changed(key, reading)) for key, reading in selection.others),
        "risk": None, "bin": None, "between": None,
    }  # fmt: skip
    return changes | ({"test_reading": changed(source.test, source.test_reading)} if source.test else {})


def _suggested(proposal: Reading) -> str | None:
    """Return the event suggested by the file, before any choice."""
    if proposal.event is not None or len(proposal.classes) != 2:
        return proposal.event
    return proposal.classes[event_of(proposal.classes)]
