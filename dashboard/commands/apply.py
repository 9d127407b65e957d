"""`calib apply`: recalibrate a file's predictions and write them with the other columns of the file."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.commands import _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful
from dashboard.commands._shared_options import ReadingOptions

ENDINGS = ("csv", "parquet", "jsonl", "npz", "npy")


@click.command("apply", cls=_help_sections.Sectioned)
@click.argument("calibrator", type=_shared_options.FILE)
@click.argument("file", type=_shared_options.FILE)
@click.option("-o", "--output", type=_shared_options.OUTPUT, required=True,
              help="Output file: .csv, .parquet, .jsonl, .npz or .npy; - prints CSV.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite an input file.")
@_shared_options.reading
@careful
def command(calibrator: Path, file: Path, output: Path, force: bool, read: ReadingOptions) -> None:
    """Recalibrate predictions with a saved calibrator.

    CALIBRATOR is a file written by calib fit. Probabilities replace the scores in FILE under the same names; labels and
    all other columns stay. Some calibrators correct only the probability of the predicted class. Their output has no
    probabilities of the other classes, but three columns: confidence, predicted class and label. A top-k calibrator
    writes the first of its k classes. An NPY output contains only the probabilities.

    Large files are processed a few hundred thousand rows at a time, with the same results; their first rows decide how
    they are read. NPZ files, files with several answers to one question, and files with several models are read
    whole.

    \b
    Examples:
      calib apply cal.json test.csv -o calibrated.csv
      calib apply cal.json test.npz -o calibrated.parquet --read kind=logits
    """
    from calib_core import load_calibrator
    from calib_core.text import percent
    from dashboard.commands import _opened_models, _part_by_part, _recalibrated_files

    ending = "csv" if str(output) == _outputs.STDIO else output.suffix.lower().removeprefix(".")
    if ending not in ENDINGS:
        named = _outputs.plain(output.name)
        raise click.BadParameter(f"{named!r} does not end in one of .{', .'.join(ENDINGS)}.", param_hint="-o")
    fitted, fields = load_calibrator(calibrator), read.fields
    labels = read.array_beside(file)
    if (labels is not None or read.labels is None) and _part_by_part.in_parts(file, ending, labels, fields):
        applied = _part_by_part.recalibrate(fitted, file, output, ending, labels, fields)
        _outputs.warn(f"{file.name}: note: in some of the rows, {note}" for note in applied.notes)
        rows, coverage = applied.rows, applied.coverage
    else:
        opened = _opened_models.opened(file, read)
        opened.warn()
        answer = fitted.apply(opened.whole)
        columns = _recalibrated_files.columns_for(ending, opened.file.table, opened.reading, answer)
        _outputs.write(output, _recalibrated_files.content(columns, ending))
        rows, coverage = answer.n_rows, answer.coverage
    line = f"{rows:,} rows of {file.name} recalibrated: {output}"
    abstained = "" if coverage == 1 else f" ({percent(1 - coverage)} abstained)"
    _outputs.warn([line + abstained])
