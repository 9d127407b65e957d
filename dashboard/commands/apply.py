"""`calib apply`: a file's predictions recalibrated, written with the columns the file came with."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.commands import _outputs, _shared

ENDINGS = ("csv", "parquet", "npz", "npy")


@click.command("apply")
@click.argument("calibrator", type=_shared.FILE)
@click.argument("file", type=_shared.FILE)
@click.option("-o", "--output", type=_shared.OUTPUT, required=True,
              help="Where the predictions go: .csv, .parquet, .npz or .npy; - is stdout, as CSV.")  # fmt: skip
@_shared.reading_options
@_shared.careful
def command(calibrator: Path, file: Path, output: Path, read: tuple[str, ...]) -> None:
    """Recalibrate the predictions in FILE with a CALIBRATOR kept by calib fit.

    Probabilities take the place of the file's scores, under the same names; labels and all other columns stay. A
    calibrator of the predicted class alone says nothing of the others: its output is confidence, predicted class and
    label (of a top-k calibrator the first of the k). NPY holds the probabilities alone.

    \b
    Examples:
      calib apply cal.json test.csv -o calibrated.csv
      calib apply cal.json test.npz -o calibrated.parquet --read kind=logits
    """
    from calib_core import load_calibrator
    from dashboard.commands import _written

    ending = "csv" if str(output) == _outputs.STDIO else output.suffix.lower().removeprefix(".")
    if ending not in ENDINGS:
        named = _outputs.plain(output.name)
        raise click.BadParameter(f"{named!r} does not end in one of .{', .'.join(ENDINGS)}.", param_hint="-o")
    fitted = load_calibrator(calibrator)
    loaded = _shared.load(file, read)
    _shared.warn(loaded)
    answer = fitted.apply(loaded.predictions)
    _outputs.write(output, _written.content(loaded, answer, ending))
    line = f"{answer.n_rows:,} rows of {loaded.table.name} recalibrated: {output}"
    from calib_core._text import percent

    abstained = "" if answer.coverage == 1 else f" ({percent(1 - answer.coverage)} abstained)"
    click.echo(_outputs.plain(line + abstained), err=True)
