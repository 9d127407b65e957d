"""An exhibit on a terminal: as text, JSON, CSV or Python; nothing here knows which one it is."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _outputs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboard.exhibits import Exhibit
    from dashboard.exhibits.columns import Column
    from dashboard.session import Scene

FORMS = ("text", "json", "csv", "python")


def written(exhibit: Exhibit, scene: Scene, form: str = "text") -> str:
    """The exhibit in one of the forms; NotAnswerable is the command's sentence, as is why there is no model."""
    from calib_core import InputError
    from dashboard.exhibits import EXHIBITS
    from dashboard.export import finite

    if not scene.models.shown:
        raise InputError(scene.models.refused[0][1])
    exhibit.check(scene)
    if form == "python":
        return exhibit.python(scene)
    frame = scene.get(exhibit.table(scene))
    if form == "csv":
        return _outputs.csv_text(frame)
    words = exhibit.words(scene)
    if form == "json":
        record = {
            "exhibit": EXHIBITS.recipe(exhibit).to_dict(),
            "columns": [asdict(column) for column in exhibit.declared(frame)],
            "table": finite(frame.to_dict("records")),
            "headline": list(words.headline),
            "notes": [text for text in (words.caption, *words.notes) if text],
            "python": exhibit.python(scene),
        }
        return json.dumps(record, indent=1, ensure_ascii=True, default=str) + "\n"
    shown = frame.head(exhibit.printed) if exhibit.printed else frame
    lines = aligned(exhibit.columns(frame), shown)
    if len(shown) < len(frame):
        lines.append(f"({len(shown):,} of {len(frame):,} lines; --format csv writes all)")
    above = [_outputs.plain(sentence) for sentence in words.headline]
    return "\n".join([*above, *lines, *(_outputs.plain(text) for text in (words.caption, *words.notes) if text), ""])


def tell_doubts(scene: Scene) -> None:
    """Write every reason to doubt the labels or scores to stderr, before the numbers that rest on them."""
    from dashboard.exhibits import doubt_words
    from dashboard.session import file

    for name, doubt in doubt_words.doubts_of(scene) if scene.models.shown else ():
        title = name or file(scene.models.shown[0].source.data).title
        click.echo(f"{_outputs.plain(title)}: doubt: {_outputs.plain(doubt.sentence)}", err=True)


def aligned(columns: Sequence[Column], frame: Any) -> list[str]:
    """A table as lines of text, names harmless to a terminal."""
    from dashboard.exhibits.columns import written as cells

    lines = [[column.heading for column in columns], *cells(frame, tuple(columns))]
    lines = [[_outputs.plain(cell) for cell in line] for line in lines]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if column.numeric else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    ]
