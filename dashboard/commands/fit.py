"""`calib fit`: a calibrator fitted on a file, kept as JSON without code in it."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.commands import _failures, _outputs, _shared_options
from dashboard.commands._failures import careful
from dashboard.commands._shared_options import ReadingOptions


@click.command("fit")
@click.argument("file", type=_shared_options.FILE)
@click.option("--calibrator", "key", required=True, help="Which calibrator: a key such as temperature, or "
              "a recipe as JSON.")  # fmt: skip
@click.option("--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter of the calibrator.")
@click.option(
    "-o", "--output", type=_shared_options.OUTPUT, required=True, help="Where the fitted calibrator goes (.json)."
)
@click.option(
    "--rows",
    type=click.Choice(["auto", "all", "calibration"]),
    default="auto",
    show_default="calibration rows where a column marks them, else all",
    help="Which rows it is fitted on.",
)
@click.option("--parts", is_flag=True, help="Read FILE a part at a time, as is done with files of more than 1 GiB.")
@_shared_options.reading
@careful
def command(
    file: Path,
    key: str,
    params: tuple[str, ...],
    output: Path,
    rows: str,
    parts: bool,
    read: ReadingOptions,
) -> None:
    """Fit a calibrator on the predictions in FILE and keep it.

    Judge it on other rows than these: on its own rows a calibrator looks better than it is.

    FILE may be a summary made by calib summarise, for maps that read counts: histogram binning, isotonic regression,
    and maps of log-odds of scores that are not near 0 or 1; all others are fitted on the rows it keeps with --read
    layout=kept-rows. A file too large for memory is read in parts, several
    times: temperature, vector, matrix and Dirichlet scaling are then fitted as on all rows, maps that read counts as on
    a summary; all others say that they need every row.

    \b
    Examples:
      calib fit validation.csv --calibrator temperature -o cal.json
      calib fit validation.npz --calibrator top-label-hb --param points_per_bin=100 -o cal.json
      calib fit counts.parquet --calibrator confidence-hb -o cal.json
      calib apply cal.json test.csv -o calibrated.csv
    """
    import calib_core as cc
    from calib_core.readers import limits, streams
    from dashboard.commands import _opened_models, _part_by_part

    recipe = _shared_options.recipe_of(cc.CALIBRATORS, key, params)
    calibrator, labels = recipe.build(), read.array_beside(file)
    if read.labels and not labels and parts:
        raise click.UsageError("--parts goes with labels in the same file, or with an NPY matrix and an NPY of labels.")
    if streams.holds_summary(file) and read.fields.get("layout") != "kept-rows":
        if read or rows != "auto":
            _failures.fail(
                f"{file.name} is a summary, and its rows are counted: leave --rows, --labels and --read out, or fit on "
                "the rows it keeps (--read layout=kept-rows)"
            )
        counts = cc.read_summary(file)
        number, text = counts.n_rows, calibrator.fit_on(counts).to_json()
    elif parts or labels or (file.is_file() and file.stat().st_size > limits.FILE_BYTES):
        number, text = _part_by_part.fit(calibrator, file, labels, rows, read.fields)
    else:
        opened = _opened_models.opened(file, read)
        opened.warn()
        chosen = "calibration" if rows == "auto" and opened.marked else "all" if rows == "auto" else rows
        scene = _opened_models.scene({"": opened}, rows=chosen)
        given = scene.get(scene.models.shown[0].predictions)
        with _shared_options.of_confidences(recipe, given):
            number, text = given.n_rows, calibrator.fit_on(given).to_json()
    _outputs.write(output, text.encode())
    _outputs.warn([f"{recipe.title} fitted on {number:,} rows of {file.name}: {output}"])
