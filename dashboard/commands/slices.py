"""`calib slices`: confidence and accuracy in each slice of one or all columns, by time, or a scan of all crossings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _exhibit_output, _help_sections, _shared_options
from dashboard.commands._failures import careful

if TYPE_CHECKING:
    from dashboard.session import Scene


@click.command("slices", cls=_help_sections.Sectioned)
@click.argument("file")
@click.option("--by", multiple=True, metavar="COLUMN", help="Column to slice by; give two to cross them.")
@click.option("--edges", default="", metavar="NUMBERS", help="Cut points of a numeric column: 18,40,65.")
@click.option("--parts", type=click.IntRange(2, 20), default=4, show_default=True,
              help="Number of ranges of a numeric column without cut points.")  # fmt: skip
@click.option("--scan", is_flag=True, help="Search all columns and crossings on half of the rows and confirm on "
                                           "the other half.")  # fmt: skip
@click.option(
    "--worst-group",
    is_flag=True,
    help="Print the multicalibration error (the error in the worst group) with its interval, and one row per group. By "
    "chance, an error rarely exceeds its noise floor.",
)
@click.option(
    "--between",
    is_flag=True,
    help="With --by: compare the values of a column, such as hospitals, with each other. Each has observed : expected "
    "events, calibration intercept and slope, and a verdict.",
)
@click.option("--by-time", is_flag=True,
              help="Compare periods, by the column of dates or by --by: predicted and observed frequency, and "
                   "when an error began.")  # fmt: skip
@click.option("--every", type=click.Choice(("auto", "day", "week", "month", "quarter", "year")), default="auto",
              show_default=True, help="With --by-time: length of a period.")  # fmt: skip
@click.option("--min-rows", type=click.IntRange(10, 100_000), default=50, show_default=True,
              help="With --scan: skip slices with fewer rows.")  # fmt: skip
@_shared_options.model
@_shared_options.form(json="Print JSON with the table, its sentences and Python code.", csv=_shared_options.TABLE)
@_shared_options.of_rows
@careful
def command(
    file: str,
    by: tuple[str, ...],
    edges: str,
    parts: int,
    scan: bool,
    worst_group: bool,
    between: bool,
    by_time: bool,
    every: str,
    min_rows: int,
    model: str | None,
    form: str,
    **given: Any,
) -> None:
    """Find slices (subgroups) where the model is miscalibrated.

    Slices are subgroups of the test rows by the values of other columns; the worst comes first. Without --by, the table
    contains the slices of all columns; p-values are corrected for all of them. Each row has the mean prediction, the
    observed frequency with an exact interval, and whether the gap is significant.

    \b
    Examples:
      calib slices answers.jsonl --by subject
      calib slices patients.csv --by age --edges 40,60
      calib slices answers.jsonl --scan --json
      calib slices answers.jsonl --by subject --worst-group
      calib slices patients.csv --by site --between
      calib slices year.csv --by-time --every month
    """
    if scan and (by or edges):
        raise click.UsageError("--scan searches every column: leave --by and --edges out.")
    if worst_group and (scan or edges):
        raise click.UsageError("--worst-group goes only with --by and --parts: leave --scan and --edges out.")
    if between and (scan or worst_group):
        raise click.UsageError("--between goes with --by, --edges and --parts only.")
    if by_time and (scan or worst_group or between or edges or not _shared_options.by_default("parts")):
        raise click.UsageError("--by-time goes with --by and --every only.")
    if by_time and len(by) > 1:
        raise click.UsageError("--by-time needs one column of dates: give --by once.")
    if not (by_time or _shared_options.by_default("every")):
        raise click.UsageError("--every goes with --by-time: the length of a period.")
    if between and not by:
        raise click.UsageError("--between compares the values of a column: name it with --by.")
    if edges and not by:
        raise click.UsageError("--edges cuts the column that --by names: give both.")
    if not (by or worst_group or _shared_options.by_default("parts")):
        raise click.UsageError("--parts goes with --by: without --by every numeric column is cut into 4 ranges.")
    if not (scan or _shared_options.by_default("min_rows")):
        raise click.UsageError("--min-rows goes with --scan: other tables list every slice.")
    if len(by) > 2:
        raise click.UsageError("Give --by once, or twice to cross two columns.")
    from dashboard.commands import _opened_models
    from dashboard.exhibits import EXHIBITS
    from dashboard.session import scene_of

    columns = dict(zip(("by", "crossed"), by, strict=False))
    if by_time:
        recipe = EXHIBITS.described("over-time", by="".join(by), every=every)
    elif scan:
        recipe = EXHIBITS.described("slice-scan", min_rows=min_rows)
    elif worst_group:
        recipe = EXHIBITS.described("multicalibration", parts=parts, **columns)
    elif by:
        recipe = EXHIBITS.described("sites" if between else "slices", edges=edges, parts=parts, **columns)
    else:
        recipe = EXHIBITS.described("slice-columns")
    selection = _opened_models.selection(file, model=model, **given).with_exhibit(recipe)
    if by_time and not given["calibrators"]:
        selection = _opened_models.every_row(selection, given)
    scene = scene_of(selection)
    _refuse_scores(scene, by)
    _exhibit_output.show(recipe.build(), scene, form, _shared_options.named_fields(given))


def _refuse_scores(scene: Scene, by: Sequence[str]) -> None:
    """InputError if a column to slice by contains the predictions, whose ranges are bins."""
    from calib_core import InputError
    from calib_core.columns.conditions import columns_of
    from dashboard import session

    if not (by and scene.models.shown):
        return
    source = scene.sources[0]
    reading = session.reading(source.data, source.reading)
    scores = {"confidence", "risk", str(reading.confidence), *reading.scores}
    given = [name for name in by if name in scores - set(columns_of(scene.get(scene.models.shown[0].predictions)))]
    if given:
        raise InputError(
            f"--by takes columns that describe the rows, but {given[0]} is the prediction itself. For errors by its "
            "value, use calib show bins FILE, or calib show findings FILE, which names the ranges that are "
            "significantly off"
        )
