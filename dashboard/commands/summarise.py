"""`calib summarise`: predictions of any size as one small file of counts."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.commands import _shared


@click.command("summarise")
@click.argument("files", type=_shared.FILE, nargs=-1, required=True)
@click.option("-o", "--output", type=_shared.FILE, required=True, help="The summary to write, a Parquet file.")
@click.option("--column", "columns", multiple=True, help="A column whose values become slices, each of few values.")
@click.option("--labels", type=_shared.FILE, help="The NPY file of labels that goes with an NPY matrix of scores.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Which rows are kept as a sample.")
@_shared.rows_option
@_shared.reading_options
@_shared.careful
def command(
    files: tuple[Path, ...],
    output: Path,
    columns: tuple[str, ...],
    labels: Path | None,
    seed: int,
    rows: str,
    read: tuple[str, ...],
) -> None:
    """Count the predictions in FILES, of any size, into one summary.

    The rows are read a few hundred thousand at a time and checked as ever; what is kept is counts on a fine grid of
    scores, exact sums of the scores, and a sample of rows. The summary opens wherever predictions do: in `calib audit`,
    `calib gate`, the dashboard. Summaries among FILES are merged in: parts can be counted apart, in any order.

    \b
    Examples:
      calib summarise predictions.parquet -o counts.parquet && calib audit counts.parquet
      calib summarise day-1.csv day-2.csv --column site -o week.parquet
      calib summarise scores.npy --labels labels.npy -o counts.parquet
    """
    import calib_core as cc
    from calib_core.summaries import write_summary

    if output.suffix.lower() not in (".parquet", ".pq"):
        _shared.fail(f"{output.name}: a summary is a Parquet file; give -o a name that ends in .parquet")
    fields = _shared.reading_fields(read)
    with _shared.progress("Counting rows", 1000) as bar:
        found = cc.summarise(
            files,
            columns=columns,
            labels=labels,
            rows=rows,
            seed=seed,
            progress=lambda share: bar.update(int(1000 * share) - bar.pos),
            **fields,
        )
    write_summary(found, output)
    for note in found.notes:
        click.echo(f"note: in some of the rows, {_shared.plain(note)}", err=True)
    classes = "" if found.n_classes is None else f" of {found.n_classes:,} classes"
    click.echo(_shared.plain(f"{output.name}: {found.n_rows:,} rows{classes}, accuracy {100 * found.accuracy:.2f} %"))
