"""`calib fit`: a calibrator fitted on a file, kept as JSON without code in it."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.commands import _outputs, _shared


@click.command("fit")
@click.argument("file", type=_shared.FILE)
@click.option("--calibrator", "key", required=True, help="Which calibrator, such as temperature or top-label-hb.")
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter of the calibrator.")
@click.option("-o", "--output", type=_shared.OUTPUT, required=True, help="Where the fitted calibrator goes (.json).")
@click.option(
    "--rows",
    type=click.Choice(["auto", "all", "calibration"]),
    default="auto",
    show_default="calibration rows where a column marks them, else all",
    help="Which rows it is fitted on.",
)
@_shared.reading_options
@_shared.careful
def command(file: Path, key: str, params: tuple[str, ...], output: Path, rows: str, read: tuple[str, ...]) -> None:
    """Fit a calibrator on the predictions in FILE and keep it.

    Judge it on other rows than these: on its own rows a calibrator looks better than it is.

    \b
    Examples:
      calib fit validation.csv --calibrator temperature -o cal.json
      calib fit validation.npz --calibrator top-label-hb --param points_per_bin=100 -o cal.json
      calib apply cal.json test.csv -o calibrated.csv
    """
    import calib_core as cc

    loaded = _shared.load(file, read)
    _shared.warn(loaded)
    recipe = _shared.recipe_of(cc.CALIBRATORS, key, params)
    chosen = "calibration" if rows == "auto" and loaded.marked else "all" if rows == "auto" else rows
    given = loaded.rows(chosen)
    text = recipe.build().fit_on(given).to_json()
    _outputs.write(output, text.encode())
    line = f"{recipe.title} fitted on {given.n_rows:,} rows of {loaded.table.name}: {output}"
    click.echo(_outputs.plain(line), err=True)
