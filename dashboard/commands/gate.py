"""`calib gate`: may these predictions pass? An exit code for scripts, decided by what is shown, not by a number."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.commands import _outputs, _shared

WITHIN, NOT_WITHIN = 0, 1


@click.command("gate")
@click.argument("file", type=_shared.FILE)
@click.option("--max-ece", "limit", type=_shared.Share(), required=True, help="The error that passes lies below this.")
@click.option("--notion", help="Notion of calibration; by default top-label where its cells hold enough rows to tell, "
              "else confidence: the output says which and why.")  # fmt: skip
@click.option("--estimator", default="ece", show_default=True, help="Estimator of the error.")
@_shared.level_option
@_shared.bins_options
@_shared.rows_option
@_shared.where_option
@_shared.reading_options
@_shared.careful
def command(
    file: Path,
    limit: float,
    notion: str | None,
    estimator: str,
    level: float,
    bins: int | None,
    points: int | None,
    binning: str,
    rows: str,
    where: str,
    read: tuple[str, ...],
) -> None:
    """Pass the predictions in FILE only if their error is shown to be within a limit.

    The verdict on one line decides, chosen before outcomes are looked at: exit code 0 where the whole interval lies
    below the limit (within); 1 where it lies above (miscalibrated), holds the limit (too close to call), or would for
    most calibrated models (too few rows to tell); 2 when the check could not run. The point value never decides.

    \b
    Examples:
      calib gate predictions.csv --max-ece 0.05
      calib gate predictions.npz --max-ece 0.02 --notion confidence --bins 10 && ./deploy
    """
    from calib_core.inference import deciding, marked

    loaded = _shared.load(file, read, where)
    _shared.warn(loaded)
    scheme = _shared.scheme_of(binning, bins, points)
    binned = None if scheme is None else scheme.build()
    first = deciding(loaded.rows(rows), notion, estimator, limit, level, binned)
    line = first.line
    if line.verdict is None:
        _shared.fail(f"no verdict: {line.note}")
    about = [*marked([(line.about, line.tested)])[1], *([f"Bins: {line.bins}."] if line.bins else [])]
    for text in (
        f"{first.headline}; {loaded.table.name}, {line.rows:,} rows{loaded.among}",
        first.sentence,
        " ".join(about),
    ):
        click.echo(_outputs.plain(text))
    raise SystemExit(WITHIN if line.verdict == "within" else NOT_WITHIN)
