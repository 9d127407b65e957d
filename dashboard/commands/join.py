"""`calib join`: join predictions and the labels of another file into one file that all other commands open."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.commands import _help_sections, _outputs, _shared_options
from dashboard.commands._failures import careful


@click.command("join", cls=_help_sections.Sectioned)
@click.argument("file", type=_shared_options.FILE)
@click.argument("labels", type=_shared_options.FILE)
@_shared_options.key
@_shared_options.by_place
@click.option("-o", "--output", type=_shared_options.OUTPUT, required=True, help="Output file (CSV); - prints it.")
@careful
def command(file: Path, labels: Path, label_keys: tuple[str, ...], by_place: bool, output: Path) -> None:
    """Join predictions with labels from another file.

    The rows of both files are matched by a key: a column that identifies rows and is present in both. Predictions
    without a label are left out; a warning gives their number. A key that occurs twice in LABELS is an error. For
    object detections in COCO format, LABELS is the file of annotations. There is no key: boxes are matched by overlap.

    \b
    Examples:
      calib join submission.csv solution.csv --key id -o both.csv
      calib join results.json instances_val2017.json -o both.csv
      calib join out-of-fold.npy labels.npy --by-place -o both.csv && calib audit both.csv
    """
    from calib_core.readers import as_csv, with_labels
    from calib_core.readers.checks.model_checks import join_findings
    from dashboard.commands import _opened_models

    _shared_options.check_keys(label_keys, by_place)
    key = () if by_place else label_keys or None
    both = with_labels(_opened_models.whole_table(file), _opened_models.whole_table(labels), key)
    assert both.joined is not None
    _outputs.warn([*both.notes, *(finding.message for finding in join_findings(both.joined))])
    _outputs.write(output, as_csv(both))
