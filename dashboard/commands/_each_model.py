"""One file with several models: the option that names their column, and the file read once for each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from dashboard.commands import _shared
from dashboard.commands._reading_options import ReadingOptions

Command = TypeVar("Command", bound=Callable[..., Any])


def option(function: Command) -> Command:
    """Which column names the model, where a file holds several."""
    help = "The column that names the model, where FILE holds several: each is shown on the questions all answer."
    return click.option("--models-in", metavar="COLUMN", help=help)(function)


def load_models(path: Path, column: str | None, read: ReadingOptions, where: str) -> dict[str, _shared.Loaded]:
    """The file once for each of its models, by name, over the same questions; where it holds one, or one is chosen, it.

    ``column`` names the model of each row; without it the file's shape may say that it holds several.
    """
    from calib_core.readers.proposal.long_form import model_names

    if column is None:
        first = _shared.found(path, read)
        if not first.reading.several or "model" in read.fields:
            return {"": first.loaded(where)}
    else:
        first = _shared.found(path, read, models=column)
    names = model_names(first.table, first.reading)
    return {name: first.of_model(name).loaded(where) for name in names}
