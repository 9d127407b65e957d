"""One file with several models: the option that names their column, and the file read once for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from dashboard.commands import _shared

Command = TypeVar("Command", bound=Callable[..., Any])


def option(function: Command) -> Command:
    """Which column names the model, where a file holds several."""
    help = "The column that names the model, where FILE holds several: each is shown on the questions all answer."
    return click.option("--models-in", metavar="COLUMN", help=help)(function)


def load_models(path: Path, column: str | None, read: Sequence[str], where: str) -> dict[str, _shared.Loaded]:
    """The file once for each model that a column names, by name, over the same questions; where none does, as it is."""
    from calib_core.readers import predictions
    from calib_core.readers.long_form import model_names

    if column is None:
        return {"": _shared.load(path, read, where)}
    digest, table, reading = _shared.table_of(path, {**_shared.reading_fields(read), "models": column})
    each = {name: reading.replace(model=name) for name in model_names(table, reading)}
    return {
        name: _shared.Loaded(path, digest, table, how, predictions(table, how), where) for name, how in each.items()
    }
