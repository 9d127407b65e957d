"""Of two classes: how often the file's event is said to happen, and how often it does, in the words of the findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calib_core import NotAnswerable
from calib_core._text import begun, called
from calib_core.discoveries import CLASS
from calib_core.inference.number_words import at_level, chance, of_rows, share_range, told_apart
from dashboard import session
from dashboard.exhibits.findings import Findings
from dashboard.session import Scene


@dataclass(frozen=True)
class Event:
    """The class that a probability of two is about, the second: what is said of it beside what happens.

    ``says`` and ``happens`` are shares in words, ``basis`` what they rest on, ``shown`` whether they differ beyond
    chance.
    """

    code: int
    name: str
    says: str
    happens: str
    headline: str
    basis: str
    shown: bool


def event(scene: Scene) -> Event | None:
    """The event of the first model's rows; None where there are more classes than two, or too few rows to test.

    Its numbers are those of the line about that class among the findings, so that nothing on a page differs from it.
    """
    try:
        seen = scene.focused(model=scene.titles[0])
        if len(scene.class_names) != 2 or scene.get(seen.model.predictions).kind != "full":
            return None
        frame = scene.get(Findings().table(seen))
    except NotAnswerable:
        return None
    lines = frame[(frame["kind"] == CLASS) & frame["p"].notna()].to_dict("records")
    return _in_words(lines[0], _columns(scene)) if lines else None


def _in_words(line: Mapping[Any, Any], columns: tuple[str, str] | None) -> Event:
    name, (says, happens) = str(line["class"]), told_apart(line["says"], line["right"])
    first, then = f"{called(name)} is given {says} on average", f"{happens} of the rows are of it"
    if columns is not None:
        first = f"\u201c{columns[0]}\u201d says {says} on average"
        then = f"\u201c{columns[1]}\u201d is {name} in {happens} of the rows"
    much = "higher" if line["says"] > line["right"] else "lower"
    counted = f"{round(line['right'] * line['rows']):,} of " if line["worth"] == line["rows"] else ""
    rows = of_rows(line["rows"], line["worth"], line.get("groups"))
    ends = f"{at_level(line['level'])} interval {share_range(line['low'], line['high'])}"
    tested = f"{chance(line['p'])} alone, {chance(line['p_corrected'])} corrected for all places looked at"
    judged = f"What it says is {much} than chance explains." if line["stands_out"] else "This can be chance."
    return Event(
        int(line["code"]),
        name,
        says,
        happens,
        f"{begun(first)}, and {then}.",
        f"{counted}{rows}; {ends}; exact test: {tested}. {judged}",
        bool(line["stands_out"]),
    )


def _columns(scene: Scene) -> tuple[str, str] | None:
    """The columns of the probability and of the event, where the file has one of each."""
    source = scene.models.shown[0].source
    how = session.reading(source.data, source.reading)
    single = how.layout == "wide" and len(how.scores) == len(how.label) == 1
    return (how.scores[0], how.label[0]) if single else None


def beside_advice(scene: Scene) -> str:
    """What has to be said where the advice is to leave a model as it is whose event is shown to be off; else empty."""
    found = event(scene)
    if found is None or not found.shown:
        return ""
    return (
        f"That is no proof that it is right: of {called(found.name)} it says {found.says} on average where "
        f"{found.happens} happen, and this gap is shown."
    )
