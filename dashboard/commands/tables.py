"""`calib tables`: the papers' tables of methods, or a custom one, on a folder of prediction files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _failures, _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful
from dashboard.commands._shared_options import ReadingOptions

if TYPE_CHECKING:
    from calib_core import Predictions
    from calib_core.papers.tables import MethodTable

    Reader = Callable[[], Predictions | tuple[Predictions, Predictions]]

OWN = "methods"
"""Name of a table of chosen calibrators and measures, in place of a paper's."""


@click.command("tables", cls=_help_sections.Sectioned)
@click.argument("folder", metavar="FOLDER", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--paper", "papers", multiple=True, metavar="TABLE",
              help="Table of a paper, such as p3-table-5; all lists them.")  # fmt: skip
@_shared_options.member(
    "CALIBRATORS",
    "--calibrator",
    "calibrators",
    multiple=True,
    help="Calibrator that is a column of a table of your own (repeatable).",
)
@click.option(
    "--measure",
    "measures",
    multiple=True,
    help="Measure in your own table, such as TL-ECE, the top-label ECE (repeatable). A wrong name prints all.",
)
@click.option("--splits", type=click.IntRange(1, 1000), default=5, show_default=True,
              help="Number of random splits of each file; files that mark test rows are not split.")  # fmt: skip
@click.option("--share", type=_shared_options.Share(max_open=True), show_default="0.5",
              help="Share of rows to fit on in your own table (papers: a third).")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed of the first split.")
@click.option(
    "--counting",
    type=click.Choice(["answered", "all"]),
    show_default="answered",
    help="If a method abstains, in your own table: use the rows that all methods answer, or all rows.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 2), default=1, show_default=True, help="Number of splits computed in parallel."
)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path),
              help="Folder for the tables (CSV and LaTeX) and for results to continue from.")  # fmt: skip
@_shared_options.read
@_shared_options.form(csv="Print tables as CSV.", latex="Print tables as LaTeX, for the booktabs package.")
@careful
def command(
    folder: Path,
    papers: tuple[str, ...],
    calibrators: tuple[str, ...],
    measures: tuple[str, ...],
    splits: int,
    share: float | None,
    seed: int,
    counting: str | None,
    jobs: int,
    out: Path | None,
    read: tuple[str, ...],
    form: str,
) -> None:
    """Compare methods across files in one table, as papers do.

    The table has one row per prediction file in FOLDER and one column per method. A cell is the mean over repeated
    random splits into calibration and test rows, with its standard error and, in brackets, its rank (1 is best).
    Averages over the files follow. A cell is empty if the method cannot be used on the file; the reason is printed
    below. Ranks ignore noise and are no recommendation. With --out, results are saved, and an interrupted run continues
    where it stopped.

    \b
    Examples:
      calib tables nets --paper p3-table-5 --splits 2
      calib tables nets --paper p1-table-2 --paper p4-table-1 --splits 2 --out tables
      calib tables nets --calibrator temperature --calibrator vector --measure TL-ECE --latex
    """
    from calib_core.papers.tables import PAPER_TABLES

    if bool(papers) == bool(calibrators):
        raise click.UsageError(
            f"give --paper (all, or {', '.join(PAPER_TABLES)}), or --calibrator for a table of your own."
        )
    for option, given, what in (
        ("measure", measures, "numbers"),
        ("share", share, "share"),
        ("counting", counting, "rows"),
    ):
        if papers and given:
            raise click.UsageError(f"--{option} goes with --calibrator: a paper's table has its own {what}.")
    files = prediction_files(folder, read)
    kept = None if out is None else out / "results"
    with _outputs.percent("Tables") as tell:
        how: dict[str, Any] = {"splits": splits, "seed": seed, "folder": kept, "jobs": jobs, "progress": tell}
        if papers:
            found = _of_papers(files, tuple(PAPER_TABLES) if "all" in papers else papers, how)
        else:
            found = {OWN: _own(files, calibrators, measures, counting or "answered", how | {"fit_share": share or 0.5})}
    if out is not None:
        _write(out, found)
    _show(found, form)


def prediction_files(folder: Path, read: tuple[str, ...]) -> dict[str, Reader]:
    """Return a reader for each prediction file of a folder, by name."""
    return {path.name: _reader(path, read) for path in _files(folder)}


def _files(folder: Path) -> list[Path]:
    """Return the folder's prediction files by their endings, in alphabetical order; the others are listed on stderr."""
    from calib_core.readers import all_endings, usual_endings

    every = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    found = [path for path in every if path.name.lower().endswith(tuple(all_endings()))]
    for path in every:
        if path not in found:
            _outputs.warn([f"{path.name}: skipped, not a predictions file by its ending"])
    if not found:
        _failures.fail(f"{folder} contains no predictions file ({', '.join(usual_endings())})")
    return found


def _reader(path: Path, read: tuple[str, ...]) -> Reader:
    """Return a reader for a file: of its marked parts if a column marks them, otherwise of all its rows."""

    def rows() -> Predictions | tuple[Predictions, Predictions]:
        from dashboard.commands import _opened_models

        opened = _opened_models.opened(path, ReadingOptions(read))
        opened.warn()
        if not opened.marked:
            return opened.whole
        scene = _opened_models.scene(_opened_models.divided({"": opened}))
        parts = scene.get(scene.models.shown[0].division)
        return parts.fit, parts.test

    return rows


def _of_papers(files: dict[str, Any], papers: tuple[str, ...], how: dict[str, Any]) -> dict[str, MethodTable]:
    from calib_core.papers.tables import paper_tables

    return paper_tables(files, papers, **how)


def _own(
    files: dict[str, Any], calibrators: tuple[str, ...], measures: tuple[str, ...], counting: str, how: dict[str, Any]
) -> MethodTable:
    from calib_core.papers.tables import MEASURES, as_method, method_table, method_tables

    methods = [as_method(key) for key in dict.fromkeys(calibrators)]
    rows: Any = counting
    frame = method_tables(files, methods, list(dict.fromkeys(measures)) or MEASURES, rows=rows, **how)
    return method_table(frame, names={method.text: method.name for method in methods}, rows=rows)


def _write(out: Path, found: dict[str, MethodTable]) -> None:
    from calib_core.papers.tables import latex
    from dashboard.export import csv_bytes

    out.mkdir(parents=True, exist_ok=True)
    for key, table in found.items():
        _outputs.write(out / f"{key}.csv", csv_bytes(table.frame()))
        _outputs.write(out / f"{key}.tex", latex(table).encode())


def _show(found: dict[str, MethodTable], form: str) -> None:
    from calib_core.papers.tables import latex
    from dashboard.exhibits.papers import FRAME_NOTE, columns

    for i, table in enumerate(found.values()):
        frame = table.frame()
        if form == "csv":
            _outputs.write_csv(frame)
        elif form == "latex":
            _outputs.say(latex(table).splitlines())
        else:
            _outputs.tell([*([""] if i else []), table.title, *_outputs.aligned(columns(frame), frame), *table.notes])
    if form == "text":
        _outputs.tell([FRAME_NOTE])
