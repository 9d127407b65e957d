"""`calib reproduce`: recompute figures and tables of the five papers, next to the published values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dashboard.commands import _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful
from dashboard.commands.tables import prediction_files

if TYPE_CHECKING:
    import pandas as pd


@click.command("reproduce", cls=_help_sections.Sectioned)
@click.argument("keys", metavar="[FIGURE]...", nargs=-1)
@click.option("--quick", is_flag=True, help="Use fewer runs and wider tolerances.")
@click.option("--kept", is_flag=True, help="Run nothing; print the results of the last full run.")
@click.option(
    "--files",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of prediction files, for tables about networks; file names give dataset and network.",
)
@click.option("--splits", type=click.IntRange(1, 1000), show_default="5",
              help="Number of random splits of each file.")  # fmt: skip
@_shared_options.read
@_shared_options.form(json="Print JSON with full precision and versions.", csv=_shared_options.TABLE)
@careful
def command(
    keys: tuple[str, ...],
    quick: bool,
    kept: bool,
    folder: Path | None,
    splits: int | None,
    read: tuple[str, ...],
    form: str,
) -> None:
    """Reproduce figures and tables of five published papers.

    The result lists every published number, the number found and their difference. FIGURE is a key such as p3-table-1;
    the word “all” runs everything that needs no files, which takes minutes. Without FIGURE, the command lists all keys,
    with how many numbers agreed in the last full run.

    \b
    Examples:
      calib reproduce
      calib reproduce p1-example-1 p2-definition-5-2 --quick
      calib reproduce p1-table-2 --files nets --splits 1
    """
    if quick and kept:
        raise click.UsageError("--quick and --kept exclude each other: --kept runs nothing.")
    if folder is None and (splits or read):
        raise click.UsageError("--splits and how to read files go with --files.")
    from calib_core.papers.reproductions import REPRODUCTIONS, from_files, overview
    from calib_core.papers.reproductions.gallery import entry_of

    chosen = [key for key, entry in REPRODUCTIONS.items() if not entry.needs] if "all" in keys else list(keys)
    for key in chosen:
        if not entry_of(key).needs and folder is not None:
            from_files(key, {})  # refuses with its own message, before any file is read
    found = _found(chosen, quick, kept, folder, splits or 5, read) if chosen else overview()
    _outputs.answer(
        form,
        text=lambda: _lines(found, bool(chosen)),
        frame=found,
        record=lambda: {"options": {"quick": quick}, "lines": found.to_dict("records")},
    )


def _found(
    keys: list[str], quick: bool, kept: bool, folder: Path | None, splits: int, read: tuple[str, ...]
) -> pd.DataFrame:
    import pandas as pd

    from calib_core.papers.reproductions import from_files, gallery, reproduced

    files = None if folder is None else prediction_files(folder, read)
    tables = []
    for key in dict.fromkeys(keys):
        with _outputs.percent(key) as tell:
            if kept:
                tables.append(gallery(key))
            elif files is not None:
                tables.append(from_files(key, files, splits=splits, progress=tell))
            else:
                tables.append(reproduced(key, quick, tell))
    return pd.concat(tables, ignore_index=True)


def _lines(found: pd.DataFrame, chosen: bool) -> list[str]:
    from calib_core.papers.reproductions import REPRODUCTIONS
    from calib_core.papers.reproductions.gallery import HOW_TO_READ
    from dashboard.exhibits import columns as of
    from dashboard.exhibits.papers import Papers, Reproduced

    if not chosen:
        narrow = [column for column in Papers().columns(found) if column.heading != "why"]  # whole below
        lines = _outputs.aligned((of.text("FIGURE", "key"), *narrow), found)
        lines += ["", *(f"{key}: {why}" for key, why in zip(found["key"], found["why"], strict=True) if why)]
    else:
        lines = []
        for key, part in found.groupby("key", sort=False):
            entry = REPRODUCTIONS[str(key)]
            lines += [f"{entry.paper}, {entry.place}: {entry.title}", entry.caption, ""]
            lines += _outputs.aligned(Reproduced().columns(part), part)
            lines += [f"What differs: {why}." for why in dict.fromkeys(part["why"]) if why]
            lines += [f"In the dashboard: ?{entry.link}"] * bool(entry.link) + [""]
        lines.append(HOW_TO_READ)
    return lines
