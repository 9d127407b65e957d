"""Output of an exhibit on a terminal as text, JSON, CSV or Python, for any exhibit."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _outputs

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.exhibits import Exhibit, Words
    from dashboard.session import Scene

FORMS = ("text", "json", "csv", "python")


def show(exhibit: Exhibit, scene: Scene, form: str = "text", named: Iterable[str] = ()) -> None:
    """Write the exhibit in one of the forms, after the doubts about the file.

    The record contains what was assumed of the file but for what options ``named``; other forms have it on stderr. The
    text also states which rows are judged.

    NotAnswerable is the command's sentence, as is why there is no model.
    """
    from calib_core import InputError
    from dashboard.commands._opened_models import assumed, assumed_record

    tell_doubts(scene)
    if not scene.models.shown:
        raise InputError(scene.models.refused[0][1])
    exhibit.check(scene)
    source = scene.models.shown[0].source
    known = {*named, *({"model"} if len(scene.bases) > 1 else ())}
    if form != "json":
        _outputs.warn(assumed(source, known))
    if form == "python":
        click.echo(exhibit.python(scene), nl=False)
        return
    frame = scene.get(exhibit.table(scene))
    if form == "text":
        tell_rows(scene)
        _tell_model(exhibit, scene)
    _outputs.answer(
        form,
        text=lambda: _lines(exhibit, frame, exhibit.words(scene)),
        frame=frame,
        record=lambda: _record(exhibit, frame, scene) | {"findings": assumed_record(source, known)},
    )


def tell_rows(scene: Scene, change: str | None = None) -> None:
    """Write the evaluated rows to stderr if these are not all rows, and how to ``change`` them."""
    from dashboard.commands._opened_models import judged_rows, of_all
    from dashboard.session import file

    if not scene.models.shown:
        return
    first = scene.models.shown[0]
    every, judged = (scene.get(each).n_rows for each in (first.whole, first.predictions))
    if judged < every and not first.source.within:
        among = of_all(first.source, judged, every) if change is None else f" of {every:,}{change}"
        _outputs.warn([f"{file(first.source.data).title}: judged on {judged_rows(scene)}{among}"])


def _tell_model(exhibit: Exhibit, scene: Scene) -> None:
    """Write to stderr which of several models the exhibit is about, and how to see another, unless it was chosen."""
    shown = scene.model
    others = [model.title for model in scene.bases if model.title != shown.title]
    if scene.focus.model or not others:
        return
    if exhibit.table(scene) != exhibit.table(scene.focused(model=others[0])):
        other = shlex.quote(others[0])
        _outputs.warn([f'These results are for the model "{shown.title}". For another one, add --model {other}'])


def tell_doubts(scene: Scene) -> None:
    """Write every doubt about the labels or scores to stderr, before the numbers that depend on them."""
    from dashboard.exhibits import doubt_words
    from dashboard.session import file

    for name, doubt in doubt_words.doubts_of(scene) if scene.models.shown else ():
        title = name or file(scene.models.shown[0].source.data).title
        _outputs.warn([f"{title}: doubt: {doubt.sentence}"])


def _lines(exhibit: Exhibit, frame: pd.DataFrame, words: Words) -> list[str]:
    shown = frame.head(exhibit.printed) if exhibit.printed else frame
    lines = [*words.headline, *_outputs.aligned(exhibit.columns(frame), shown)]
    if len(shown) < len(frame):
        lines.append(f"({len(shown):,} of {len(frame):,} rows; CSV output contains all)")
    return [*lines, *filter(None, (words.caption, *words.notes))]


def _record(exhibit: Exhibit, frame: pd.DataFrame, scene: Scene) -> dict[str, Any]:
    from dashboard.exhibits import EXHIBITS

    words = exhibit.words(scene)
    return {
        "exhibit": EXHIBITS.recipe(exhibit).to_dict(),
        "columns": [asdict(column) for column in exhibit.declared(frame)],
        "lines": frame.to_dict("records"),
        "headline": list(words.headline),
        "notes": [text for text in (words.below_figure, *words.notes) if text],
        "python": exhibit.python(scene),
    }
