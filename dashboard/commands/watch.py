"""`calib watch`: add batches of a released model to a small state, and fail when it is no longer calibrated."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _failures, _outputs, _shared_options
from dashboard.commands._failures import careful
from dashboard.commands._shared_options import ReadingOptions

if TYPE_CHECKING:  # heavy: imported when the command runs
    from calib_core.monitoring import Watch

ALARM = 1


@click.command("watch")
@click.argument("file", required=False, type=_shared_options.FILE)
@click.option("--state", "state_file", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="JSON",
              help="File with all batches so far; created with the first one.")  # fmt: skip
@click.option("--period", metavar="LABEL",
              help="Period of the batch: a date such as 2026-10-12, or a number. Default: the number after the "
                   "last.")  # fmt: skip
@click.option("--tolerance", type=click.FloatRange(0, 1, max_open=True),
              help="Error of a prediction that does not matter. Set with the first batch; default 0.02.")  # fmt: skip
@click.option("--max-ratio", "ratio", type=click.FloatRange(1),
              help="In place of --tolerance: ratio of observed to expected events that does not matter. Set with the "
                   "first batch.")  # fmt: skip
@click.option("--false-alarms", "alpha", type=_shared_options.Share(max_open=True),
              help="Chance of a false alarm in a year. Set with the first batch; default 0.05.")  # fmt: skip
@click.option("--year", "horizon", type=click.IntRange(1, 1_000),
              help="Number of periods in a year. Set with the first batch; default 52, for weeks.")  # fmt: skip
@_shared_options.where
@_shared_options.reading
@click.option("--accept", "accept", metavar="CODE", multiple=True,
              help="Add the batch despite this warning (repeatable). The message names the codes.")  # fmt: skip
@_shared_options.form(json="Print JSON with full precision and versions.", csv="Print a line per period as CSV.")
@careful
def command(
    file: Path | None,
    state_file: Path,
    period: str | None,
    tolerance: float | None,
    ratio: float | None,
    alpha: float | None,
    horizon: int | None,
    where: str,
    read: ReadingOptions,
    accept: tuple[str, ...],
    form: str,
) -> None:
    """Watch a released model batch by batch (exit code 0, 1 or 2).

    Each run adds the rows of a file to the state. The exit code is 1 from the period on at which the evidence against
    calibration is strong enough (alarm), else 0. It is 2 if the batch could not be added; the state is then as before.
    Without a file, the state is read only.

    If every prediction is within the tolerance, the chance of an alarm in a year is at most 5 %, however often you look
    (--false-alarms sets it). A file, or a slice of it (--where), that was added before is not counted again.

    Add a period when all its outcomes are known. If some outcomes are known sooner than others (deaths before
    discharges), a period that is added too early causes false alarms. The year after the first begins anew.

    \b
    Examples:
      calib watch predictions.csv --state watch.json --period 2026-10-12
      calib watch risks.csv --state risks.json --max-ratio 1.25 --false-alarms 0.01
      calib watch --state watch.json --json
    """
    from calib_core import InputError
    from calib_core.monitoring import read_watch, write_watch
    from calib_core.monitoring.state_file import alone

    if tolerance is not None and ratio is not None:
        raise click.UsageError("--tolerance and --max-ratio exclude each other.")
    _shared_options.check_codes(accept)
    settings = {"tolerance": tolerance, "max_ratio": ratio, "false_alarms": alpha, "year": horizon}
    given = {name: value for name, value in settings.items() if value is not None}
    if file is None:
        if period is not None:
            raise click.UsageError("--period goes with a file: the batch of this period.")
        watch = _with(read_watch(state_file), given, state_file)
    else:
        with alone(state_file):
            watch = _with(read_watch(state_file), given, state_file) if state_file.exists() else _new(given)
            added = _added(watch, file, period, read, where, accept)
            if added is watch:
                _outputs.warn([f"{file.name} was added before and is not counted again."])
            else:
                write_watch(added, state_file)
            watch = added
    if not watch.counts:
        raise InputError(f"{state_file.name} has no batch yet")
    found, frame = watch.answer(), watch.frame()
    record = {
        **asdict(found),
        "sentence": found.sentence,
        "options": _settings(watch),
        "lines": frame.to_dict("records"),
    }
    _outputs.answer(form, text=lambda: [found.sentence], frame=frame, record=lambda: record)
    raise SystemExit(ALARM if found.alarm else 0)


def _new(given: dict[str, Any]) -> Watch:
    from calib_core.monitoring import Watch

    fields = {"max_ratio": "ratio", "false_alarms": "alpha", "year": "horizon"}
    return Watch(**{fields.get(name, name): value for name, value in given.items()})


def _settings(watch: Watch) -> dict[str, Any]:
    """Return the settings of the first batch by their option."""
    return {
        "tolerance": watch.tolerance if watch.ratio is None else None,
        "max_ratio": watch.ratio,
        "false_alarms": watch.alpha,
        "year": watch.horizon,
    }


def _with(watch: Watch, given: dict[str, Any], state_file: Path) -> Watch:
    """Return the watch; a usage error for a setting that is not the one of its first batch."""
    before = _settings(watch)
    for name, value in given.items():
        if before[name] != value:
            raise click.UsageError(
                f"--{name.replace('_', '-')} was set with the first batch of {state_file.name} and cannot change: more "
                "alarms would be false. Leave it out, or start another state."
            )
    return watch


def _added(
    watch: Watch, file: Path, period: str | None, read: ReadingOptions, where: str, accept: tuple[str, ...]
) -> Watch:
    """Return the watch with the rows of the file; a failure if a warning about them is open."""
    from calib_core.predictions.plausibility import DOUBTS
    from dashboard.commands import _opened_models

    opened = _opened_models.opened(file, read, where)
    # Whether scores and outcomes belong together is what a watch is about: such doubts are told, and stop nothing.
    reading = [each for each in opened.open_warnings if each.code not in (*DOUBTS, *accept)]
    if reading:
        first = reading[0]
        remedy = f" {first.remedy.removesuffix('.')}." if first.remedy else ""
        _failures.fail(
            f"{file.name} was not added, because of a warning: {first.message}{remedy} To add it nevertheless, add "
            f"--accept {first.code}."
        )
    opened.warn()
    scene = _opened_models.scene(_opened_models.divided({"": opened}, "all"))
    # Another slice of the same file is another batch.
    batch = " ".join(filter(None, (opened.file.digest, opened.source.within)))
    return watch.add(scene.get(scene.models.shown[0].predictions), period, batch)
