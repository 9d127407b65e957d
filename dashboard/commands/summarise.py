"""`calib summarise`: reduce predictions of any size to one small file of counts."""

from __future__ import annotations

import glob
import warnings
from pathlib import Path
from typing import Any

import click

from dashboard.commands import _failures, _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful


@click.command("summarise", cls=_help_sections.Sectioned)
@click.argument("files", type=_shared_options.FILE, nargs=-1, required=True)
@click.option("-o", "--output", type=_shared_options.OUTPUT, help="Output file (Parquet).")
@click.option(
    "--column", "columns", multiple=True, help="Column with few values, whose values become slices (repeatable)."
)
@click.option("--labels", type=_shared_options.FILE, help="NPY file with the labels of an NPY matrix of scores.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed of the sample of rows.")
@click.option("--rows-of", default="", metavar="NAME", help="Name of the rows (default: the file name). Give "
                                                            "the summaries of two models the same NAME to sample "
                                                            "the same rows, which calib compare pairs.")  # fmt: skip
@click.option(
    "--engine",
    type=click.Choice(["duckdb"]),
    help="Engine that counts the rows of Parquet files (default: this program).",
)
@click.option("--scheduler", help="Address of a Dask cluster that counts the files, such as tcp://host:8786.")
@click.option("--sql", "table", help="Only print the SQL that counts the table of this name.")
@click.option(
    "--rows",
    type=click.Choice(["auto", "all", "test", "calibration"]),
    default="auto",
    show_default="test rows if a column marks them, else all",
    help="Rows to count.",
)
@_shared_options.read
@careful
def command(
    files: tuple[Path, ...],
    output: Path | None,
    columns: tuple[str, ...],
    labels: Path | None,
    seed: int,
    rows_of: str,
    engine: str | None,
    scheduler: str | None,
    table: str | None,
    rows: str,
    read: tuple[str, ...],
) -> None:
    """Turn files of any size into exact counts for later use.

    Rows are read a few hundred thousand at a time and checked as usual. The summary stores counts on a fine grid of
    scores, exact sums of the scores, and a sample of rows. It opens wherever predictions do: calib audit, gate,
    watch, compare, slices, report, and the dashboard. FILES may include summaries: parts can be counted separately, in
    any order.

    FILES may be quoted patterns. With --engine duckdb, DuckDB counts on this machine. The files then need a confidence
    column, and either a column of right or wrong, or the predicted class and the label. With --scheduler, the workers
    of a Dask cluster count; they need the files at the same paths. Both give the same summary, bit for bit.

    \b
    Examples:
      calib summarise predictions.parquet -o counts.parquet && calib audit counts.parquet
      calib summarise day-1.csv day-2.csv --column site -o week.parquet
      calib summarise scores.npy --labels labels.npy -o counts.parquet
      calib summarise 'days/*.parquet' --engine duckdb -o counts.parquet
      calib summarise 'days/*.parquet' --scheduler tcp://10.0.0.1:8786 -o counts.parquet
      calib summarise few-rows.parquet --sql warehouse.predictions
    """
    import calib_core as cc
    from calib_core.readers.table import ASSUMED
    from calib_core.summaries import count_in_duckdb, count_on_cluster, counting_sql, write_summary
    from calib_core.text import percent

    fields = _shared_options.reading_fields(read)
    paths = [path for file in files for path in _matching(file)]
    if table is not None:
        _outputs.say(counting_sql(paths[0], table, **fields).splitlines())
        return
    if output is None or output.suffix.lower() not in (".parquet", ".pq"):
        _failures.fail("a summary is a Parquet file; give -o a name that ends in .parquet")
    if engine and (scheduler or labels or rows != "auto"):
        _failures.fail(
            "--engine duckdb counts every row of Parquet files itself; leave out --scheduler, --labels, --rows"
        )
    if rows_of and (engine or scheduler):
        _failures.fail("--rows-of needs rows counted by this program; leave out --engine and --scheduler")
    with _outputs.progress("Counting rows", 1000) as bar:
        how: dict[str, Any] = {"columns": columns, "seed": seed, **fields}
        how["progress"] = lambda share: bar.update(int(1000 * share) - bar.pos)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            if engine:
                found = count_in_duckdb(paths, **how)
            elif scheduler:
                found = count_on_cluster(paths, scheduler, labels=labels, rows=rows, **how)
            else:
                found = cc.summarise(paths, labels=labels, rows=rows, rows_of=rows_of, **how)
    write_summary(found, output)
    assumed = [str(each.message) for each in caught if each.category is UserWarning]
    _outputs.warn(f"warning: {sentence}" for sentence in assumed)
    others = [note for note in found.notes if note.removeprefix(ASSUMED) not in assumed]
    _outputs.warn(f"note: in some of the rows, {note}" for note in others)
    classes = "" if found.n_classes is None else f" of {found.n_classes:,} classes"
    _outputs.say([f"{output.name}: {found.n_rows:,} rows{classes}, accuracy {percent(found.accuracy, 2)}"])


def _matching(file: Path) -> list[Path]:
    """Return the files that match a pattern, in order; an existing file matches itself."""
    if file.exists() or not glob.has_magic(str(file)):
        return [file]
    found = sorted(glob.glob(str(file), recursive=True))
    if not found:
        _failures.fail(f"no file matches {file}; check the pattern")
    return [Path(path) for path in found]
