"""`calib gate`: may these predictions pass? An exit code for scripts, decided by what is shown, not by a number."""

from __future__ import annotations

from pathlib import Path

import click

from dashboard.commands import _shared

WITHIN, NOT_WITHIN = 0, 1


@click.command("gate")
@click.argument("file", type=_shared.FILE)
@click.option("--max-ece", "limit", type=click.FloatRange(0, 1, min_open=True), required=True,
              help="The largest error that passes.")  # fmt: skip
@click.option("--notion", default="top-label", show_default=True, help="Notion of calibration.")
@click.option("--estimator", default="ece", show_default=True, help="Estimator of the error.")
@click.option("--level", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.9, show_default=True,
              help="Level of the interval that decides.")  # fmt: skip
@_shared.bins_options
@_shared.rows_option
@_shared.reading_options
@_shared.careful
def command(
    file: Path,
    limit: float,
    notion: str,
    estimator: str,
    level: float,
    bins: int | None,
    points: int | None,
    binning: str,
    rows: str,
    read: tuple[str, ...],
) -> None:
    """Pass the predictions in FILE only if their error is shown to be within a limit.

    The interval decides: exit code 0 when its upper end is at most the limit; 1 when it is not, because the error is
    larger or because there are too few rows to tell; 2 when the check could not run. The point value never decides.

    \b
    Examples:
      calib gate predictions.csv --max-ece 0.05
      calib gate predictions.npz --max-ece 0.02 --notion confidence --bins 10 && ./deploy
    """
    from calib_core.inference import on_scale_of
    from calib_core.study import SCORES

    loaded = _shared.load(file, read)
    _shared.warn(loaded)
    made = _shared.as_estimate(loaded.rows(rows), notion, estimator, _shared.scheme_of(binning, bins, points))
    if made.recipe[1].key in SCORES:
        raise click.BadParameter(f"{estimator!r} is a score, not a calibration error.", param_hint="--estimator")
    span, allowed = made.interval(level), on_scale_of(made, limit)
    passed = span.high <= allowed
    why = "within" if passed else "exceeded" if span.low > allowed else "not shown"
    told = f"{notion} {estimator} at most {limit:g}"
    ends = f"{100 * level:g} % interval {span.low:.4f} to {span.high:.4f}, value {made.value:.4f}, {loaded.table.name}"
    ends += f"; bins: {made.in_bins}" if made.in_bins else ""
    rough = "" if span.tested else "; the interval is a rough guide, its coverage is not tested here"
    click.echo(_shared.plain(f"{why}: {told} ({ends}{rough})"))
    raise SystemExit(WITHIN if passed else NOT_WITHIN)
