"""`calib join`: predictions and the labels of another file as one file, which everything else opens."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.commands import _outputs, _reading_options, _shared


@click.command("join")
@click.argument("file", type=_shared.FILE)
@click.argument("labels", type=_shared.FILE)
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="COLUMN",
    help="The column of both files that tells rows apart; again for further ones. By default the one that does.",
)
@click.option("--by-place", is_flag=True, help="Join row i with row i: nothing in the files shows that this is right.")
@click.option("-o", "--output", type=_shared.OUTPUT, required=True, help="Where both go, as CSV; - is stdout.")
@_shared.careful
def command(file: Path, labels: Path, keys: tuple[str, ...], by_place: bool, output: Path) -> None:
    """Join the predictions in FILE with the labels in LABELS by a key, into one file.

    Predictions without a label are left out, and stderr says how many. A key that stands twice in LABELS is refused.
    Detections in COCO's format take its annotations file as LABELS and no key: boxes are matched by their overlap.

    \b
    Examples:
      calib join submission.csv solution.csv --key id -o both.csv
      calib join results.json instances_val2017.json -o both.csv
      calib join out-of-fold.npy labels.npy --by-place -o both.csv && calib audit both.csv
    """
    from calib_core.readers import as_csv, with_labels
    from calib_core.readers.checks.model_checks import join_findings

    if keys and by_place:
        raise click.UsageError("--key and --by-place exclude each other.")
    both = with_labels(
        _reading_options.whole_table(file), _reading_options.whole_table(labels), () if by_place else keys or None
    )
    assert both.joined is not None
    for note in (*both.notes, *(finding.message for finding in join_findings(both.joined))):
        click.echo(_outputs.plain(note), err=True)
    _outputs.write(output, as_csv(both))
