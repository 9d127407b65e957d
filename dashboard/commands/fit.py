"""`calib fit`: fit a calibrator on a file and save it as JSON without code."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.commands import _failures, _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful
from dashboard.commands._shared_options import ReadingOptions

_JUDGE_ON_OTHERS = (
    "Judge it on rows of another file: on these rows, its errors look too small. To use one file for both, mark its "
    "rows in a column named split (calibration or test), or run calib audit FILE --calibrator KEY."
)


@click.command("fit", cls=_help_sections.Sectioned)
@click.argument("file", type=_shared_options.FILE)
@_shared_options.member(
    "CALIBRATORS",
    "--calibrator",
    "key",
    required=True,
    help="Calibrator: a key such as temperature, or a recipe as JSON.",
)
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE", help="Parameter of the calibrator (repeatable)."
)
@click.option("-o", "--output", type=_shared_options.OUTPUT, required=True, help="Output file, written as JSON.")
@click.option(
    "--rows",
    type=click.Choice(["auto", "all", "calibration"]),
    default="auto",
    show_default="calibration rows where a column marks them, else all",
    help="Rows to fit on.",
)
@click.option("--parts", is_flag=True, help="Read FILE in parts, as is done for files over 1 GiB.")
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
    """Fit a calibrator and save it.

    Afterwards, judge the calibrator on other rows than those of FILE. On the rows it was fitted on, it looks better
    than it is.

    FILE may be a summary written by calib summarise, for calibrators that need only counts. These are histogram
    binning and isotonic regression. If no score is near 0 or 1, scaling of log-odds is also possible. To fit any other
    calibrator, use the sample of rows in the summary: --read layout=kept-rows.

    A file too large for memory is read in parts, several times. Temperature, vector, matrix and Dirichlet scaling give
    the same fit as on the whole file. Calibrators that need only counts are fitted on counts. Other calibrators cannot
    be fitted on such a file.

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
                f"{file.name} is a summary, which contains counts: leave --rows, --labels and --read out, or fit on "
                "the sampled rows (--read layout=kept-rows)"
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
    _outputs.warn([f"{recipe.title} fitted on {number:,} rows of {file.name}: {output}", _JUDGE_ON_OTHERS])
