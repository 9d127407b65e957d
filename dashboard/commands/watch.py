"""`calib watch`: add batches of a released model to a small state, and fail when it is no longer calibrated."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _failures, _help_sections, _outputs, _shared_options, _test_reports
from dashboard.commands._failures import careful
from dashboard.commands._shared_options import ReadingOptions

if TYPE_CHECKING:  # heavy: imported when the command runs
    from calib_core.monitoring import BeforeLabels, Watch

ALARM = 1
SCHEMA = "calib-watch-answer/1"
"""Schema name in the JSON of an answer; incremented by incompatible changes."""
_UNLABELED = "unlabelled"
"""Code of the warning that predictions have no label in the file of labels."""
_LATER = (_UNLABELED, "unpredicted")
"""Codes of what a file of all labels so far says beside one batch; neither stops it."""


@click.command("watch", cls=_help_sections.Sectioned)
@click.argument("file", required=False, type=_shared_options.FILE)
@click.option("--state", "state_file", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="JSON",
              help="File with all batches so far; created with the first one.")  # fmt: skip
@click.option("--period", metavar="LABEL",
              help="Period of the batch: a date such as 2026-10-12, or a number. Default: the number after the "
                   "last.")  # fmt: skip
@click.option("--batch", metavar="NAME",
              help="Name of the batch. Default: identified by the content of the file, so that equal "
                   "files are added once.")  # fmt: skip
@click.option("--close", is_flag=True,
              help="Add the batch although labels are missing: there will be no more. Without a file: forget the "
                   "batches of --period that wait for labels.")  # fmt: skip
@click.option("--before-labels", "labeled_file", type=_shared_options.FILE, metavar="LABELED",
              help="Compare a file without labels with these labeled rows of the model; nothing is added.")  # fmt: skip
@click.option("--tolerance", type=click.FloatRange(0, 1, max_open=True),
              help="Largest error of a prediction that does not matter. Set with the first batch; default "
              "0.02.")  # fmt: skip
@click.option("--max-ratio", "ratio", type=click.FloatRange(1),
              help="In place of --tolerance: ratio of observed to expected events that does not matter. Set with the "
                   "first batch.")  # fmt: skip
@click.option("--max-ece", "limit", type=click.FloatRange(0, 1, max_open=True),
              help="In place of --tolerance: error in ten bins that does not matter. Set with the first "
                   "batch.")  # fmt: skip
@click.option("--baseline", "baseline_file", type=_shared_options.FILE, metavar="JSON",
              help="In place of --tolerance: saved result of the released model (calib gate --format json). Set with "
                   "the first batch.")  # fmt: skip
@click.option("--max-increase", "allowed", type=click.FloatRange(0, 1, max_open=True), default=0.01, show_default=True,
              help="Maximum allowed increase over the --baseline.")  # fmt: skip
@click.option("--by", multiple=True, metavar="COLUMN",
              help="Watch each value of this column, too (repeatable). Set with the first batch.")  # fmt: skip
@click.option("--false-alarms", "alpha", type=_shared_options.Share(max_open=True),
              help="Chance of a false alarm in a year. Set with the first batch; default 0.05.")  # fmt: skip
@click.option("--year", "horizon", type=click.IntRange(1, 1_000),
              help="Number of periods in a year. Set with the first batch; default 52, for weeks.")  # fmt: skip
@_shared_options.where
@_shared_options.reading
@click.option("--accept", "accept", metavar="CODE", multiple=True,
              help="Add the batch despite this warning (repeatable). The message names the codes.")  # fmt: skip
@_shared_options.form(json="Print JSON with full precision and versions.", csv="Print a line per period as CSV.",
                      github="Print an annotation for GitHub.", metrics="Print OpenMetrics text.")  # fmt: skip
@click.option(
    "--junit", "junit_file", type=_shared_options.OUTPUT, help="Also write the answer to this file as JUnit XML."
)
@careful
def command(
    file: Path | None,
    state_file: Path,
    period: str | None,
    batch: str | None,
    close: bool,
    labeled_file: Path | None,
    tolerance: float | None,
    ratio: float | None,
    limit: float | None,
    baseline_file: Path | None,
    allowed: float,
    by: tuple[str, ...],
    alpha: float | None,
    horizon: int | None,
    where: str,
    read: ReadingOptions,
    accept: tuple[str, ...],
    form: str,
    junit_file: Path | None,
) -> None:
    """Watch a released model batch by batch (exit code 0, 1 or 2).

    Each run adds one batch, the rows of one file, to the state: a small file that sums up all batches so far. A batch
    covers one period, such as a week. The exit code is 0 until the evidence against calibration is strong enough for an
    alarm. From that period on it is 1. It is 2 if the batch could not be added; the state is then unchanged. Without a
    file, the current state is printed.

    If every prediction is within the tolerance, the chance of an alarm in a year is at most 5 %, however often you look
    (--false-alarms sets it). A file, or a slice of it (--where), that was added before is not counted again.

    With --baseline, the error in bins may exceed that of the released model by up to --max-increase. With --by, each
    value of a column is watched, too. The accepted chance of a false alarm is then divided: half for all rows together,
    half for the slices. The answer names the slices that are significantly off.

    Add a period when all its outcomes are known. If some outcomes are known sooner than others (deaths before
    discharges), a period that is added too early causes false alarms. So a file that lacks some labels, or all, waits.
    When more labels are known, run the command again with the completed file, or with a file of --labels. If no more
    will come, add --close. Batches are counted in the order in which they were first given. After a year, the evidence
    is reset and a new year begins.

    With --max-ece or --baseline, FILE can be the summary of a period's rows (calib summarise): the sums are the same,
    to the bit. The options --tolerance and --max-ratio need single rows, so they do not accept summaries.

    With --before-labels, nothing is added, and the scores are compared with those of labeled rows. The exit code is
    then 1 if the distribution of scores has changed. The answer also estimates how often each class occurs, under
    assumptions that it states. If each period is checked once, the chance that a change is reported in a year
    without one is at most --false-alarms.

    \b
    Examples:
      calib watch predictions.csv --state watch.json --period 2026-10-12
      calib watch risks.csv --state risks.json --max-ratio 1.25 --false-alarms 0.01
      calib watch november.csv --state watch.json --before-labels october.csv
      calib summarise predictions.csv -o day.parquet && calib watch day.parquet --state days.json --max-ece 0.02
      calib watch --state watch.json --json
    """
    from calib_core import InputError
    from calib_core.monitoring import read_watch, write_watch
    from calib_core.monitoring.state_file import alone

    begun = time.perf_counter()
    _check(file, period, batch, close, baseline_file, junit_file)
    _shared_options.check_codes(accept)
    settings = {"tolerance": tolerance, "max_ratio": ratio, "max_ece": limit, "false_alarms": alpha, "year": horizon}
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    given |= {"by": tuple(dict.fromkeys(by))} if by else {}
    wanted = _new(given, baseline_file, allowed)
    early: BeforeLabels | None = None
    if labeled_file is not None and file is not None:
        watch = wanted
        if state_file.exists():
            watch = _same(read_watch(state_file), wanted, given, baseline_file, state_file)
        early = _before_labels(watch, file, labeled_file, read)
    elif file is None and not close:
        watch = _same(read_watch(state_file), wanted, given, baseline_file, state_file)
    else:
        with alone(state_file):
            before = wanted
            if state_file.exists():
                before = _same(read_watch(state_file), wanted, given, baseline_file, state_file)
            if file is None:
                watch = before.give_up(str(period))
            else:
                watch = _added(before, file, period, batch, close, read, where, accept)
            if watch is not before:
                write_watch(watch, state_file)
    if early is None and not watch.counts and not watch.waiting and not close:
        raise InputError(f"{state_file.name} has no batch yet")
    sentence, alarm = _told(watch) if early is None else _told_early(early, watch)
    if junit_file is not None:
        kind, word = ("failure", "alarm") if alarm else ("", "")
        case = _test_reports.Case(state_file.name, time.perf_counter() - begun, [sentence], kind, word)
        _outputs.write(junit_file, _test_reports.junit("calib watch", [case]))
    if form == "github":
        kind, title = ("error", "alarm") if alarm else ("notice", "no alarm")
        click.echo(_test_reports.annotation(file, kind, f"calib watch: {title}", sentence))
    elif form == "metrics":
        click.echo(metrics(watch, state_file.name), nl=False)
    else:
        _outputs.answer(
            form,
            text=lambda: [sentence, *(_advice(watch) if early is None else ())],
            frame=watch.frame(),
            record=lambda: _record(watch, sentence, alarm),
        )
    raise SystemExit(ALARM if alarm else 0)


def _told(watch: Watch) -> tuple[str, bool]:
    """Return the answer as a sentence, and whether it is an alarm; nothing is wrong while all batches wait."""
    if not watch.counts:
        return " ".join(
            each.sentence for each in watch.waiting.values()
        ) or "No batch was added yet, and none waits.", False
    found = watch.answer()
    return found.sentence, found.alarm


def _told_early(found: BeforeLabels, watch: Watch) -> tuple[str, bool]:
    """Return what scores show before outcomes, and whether their distribution has changed."""
    expected, shares, _, last = found.sentences
    drift = found.drift.alarm_period is not None
    scores = f"The distribution of the scores {'differs' if drift else 'does not differ'}"
    scores += f"{'' if drift else ' significantly'} from that of the labeled rows."
    return f"No labels: nothing was added. {expected} {shares} {scores} {last}", drift


def _advice(watch: Watch) -> list[str]:
    """Return the next step after an alarm about all rows: the sums of a state do not determine an update."""
    if not watch.counts or not watch.answer().of_all_rows:
        return []
    since = watch.answer().since
    return [f"To choose an update, put the rows since {since} into a file and run calib choose on it."]


def _check(
    file: Path | None,
    period: str | None,
    batch: str | None,
    close: bool,
    baseline_file: Path | None,
    junit_file: Path | None,
) -> None:
    """Raise a usage error for options that do not go together."""
    settings = {
        "tolerance": "--tolerance",
        "ratio": "--max-ratio",
        "limit": "--max-ece",
        "baseline_file": "--baseline",
    }
    values = click.get_current_context().params
    nulls = [option for name, option in settings.items() if values[name] is not None]
    if len(nulls) > 1:
        raise click.UsageError(f"{nulls[0]} and {nulls[1]} exclude each other.")
    if baseline_file is None and not _shared_options.by_default("allowed"):
        raise click.UsageError("--max-increase goes with --baseline: the saved result of an earlier gate.")
    if values["labeled_file"] is not None and (file is None or close or batch is not None or values["where"]):
        raise click.UsageError(
            "--before-labels goes with a file without labels, and not with --close, --batch, --where."
        )
    if file is None and batch is not None:
        raise click.UsageError("--batch goes with a file: the rows of this batch.")
    if file is None and period is not None and not close:
        raise click.UsageError("--period goes with a file: the batch of this period.")
    if file is None and close and period is None:
        raise click.UsageError("--close goes with a file, or with --period: the batches that are no longer waited for.")
    if junit_file is not None and str(junit_file) == _outputs.STDIO:
        raise click.UsageError("--junit takes the name of a file: standard output has the answer itself.")


_FIELDS = {"max_ratio": "ratio", "max_ece": "limit", "false_alarms": "alpha", "year": "horizon"}
"""Fields of a watch with other names than their options."""


def _new(given: dict[str, Any], baseline_file: Path | None, allowed: float) -> Watch:
    """Return a watch without batches, with these settings."""
    from calib_core.inference.gate_baselines import baseline_for, read_baselines, signing_key
    from calib_core.monitoring import Watch
    from calib_core.readers import file_bytes

    settings = {_FIELDS.get(name, name): value for name, value in given.items()}
    if baseline_file is None:
        return Watch(**settings)
    kept = read_baselines(file_bytes(baseline_file), baseline_file.name, signing_key())
    return Watch.against(baseline_for(baseline_file.name, kept), allowed, **settings)


def _settings(watch: Watch) -> dict[str, Any]:
    """Return the settings of the first batch by their option."""
    alone = watch.ratio is None and watch.limit is None
    return {
        "tolerance": watch.tolerance if alone else None,
        "max_ratio": watch.ratio,
        "max_ece": watch.limit if watch.notion is None else None,
        "baseline": None if watch.notion is None else {"notion": watch.notion, "limit": watch.limit},
        "bins": watch.bins,
        "by": watch.by,
        "false_alarms": watch.alpha,
        "year": watch.horizon,
    }


def _same(watch: Watch, wanted: Watch, given: dict[str, Any], baseline_file: Path | None, state_file: Path) -> Watch:
    """Return the watch; a usage error for a setting that is not the one of its first batch."""
    before, now = _settings(watch), _settings(wanted)
    names = [*given, *(["baseline", "bins"] if baseline_file is not None else [])]
    for name in names:
        if before[name] != now[name]:
            option = "baseline" if baseline_file is not None and name not in given else name.replace("_", "-")
            raise click.UsageError(
                f"--{option} was set with the first batch of {state_file.name} and cannot change: more alarms would be "
                "false. Leave it out, or start another state."
            )
    return watch


def _before_labels(watch: Watch, file: Path, labeled_file: Path, read: ReadingOptions) -> BeforeLabels:
    """Return what the scores of a file show beside labeled rows, which also decide how the file is read."""
    import numpy as np

    from calib_core import InputError, readers
    from calib_core.monitoring import before_labels
    from calib_core.predictions.predictions import Predictions
    from dashboard.commands import _opened_models

    known = _opened_models.opened(labeled_file, read)
    known.warn()
    how, labeled = known.reading, known.file.table
    if how.layout != "wide" or not set(how.label) <= labeled.columns.keys():
        raise InputError(f"{labeled_file.name} needs a label and a probability of every class in each row")
    table = _opened_models.opened_file(file).table
    if set(how.label) & table.columns.keys():
        raise InputError(f"{file.name} has labels: leave out --before-labels to add it")
    # The reader needs a label in every row: any that are valid, as only the probabilities are used.
    labels = {name: np.resize(labeled.columns[name], table.n_rows) for name in how.label}
    filled = replace(table, columns={**table.columns, **labels})
    rows: Predictions = readers.predictions(filled, how.replace(metadata=(), group=None, weights=None))
    scene = _opened_models.scene(_opened_models.divided({"": known}, "all"))
    reference = scene.get(scene.models.shown[0].predictions)
    # Each period is looked at once: the periods of a year share the false alarms.
    return before_labels(reference, {"1": rows.probs}, alpha=watch.alpha / watch.horizon, horizon=1)


def _added(
    watch: Watch,
    file: Path,
    period: str | None,
    batch: str | None,
    close: bool,
    read: ReadingOptions,
    where: str,
    accept: tuple[str, ...],
) -> Watch:
    """Return the watch with the rows of the file; a failure if a warning about them is open."""
    from calib_core import InputError
    from calib_core.predictions.plausibility import DOUBTS
    from calib_core.text import several
    from dashboard.commands._batch_files import batch_file

    found = batch_file(file, read, where)
    known = (each for each in found.names if each in watch.batches or each in watch.waiting)
    name = next(known, found.names[0]) if batch is None else batch
    if found.opened is None:
        if close:
            raise InputError(
                f"no row of {file.name} has a label, so there is nothing to add. To wait for it no longer, give "
                "--close with --period and without a file"
            )
        if name not in watch.batches:
            rows = several(found.unlabeled)
            _outputs.warn([
                f"{file.name} has no labels: its {rows} wait. Give it again with labels in a column, or in a file "
                "(--labels FILE --key COLUMN). If it has labels already, name their column (--label COLUMN). Option "
                "--before-labels FILE compares the scores with those of labeled rows."
            ])  # fmt: skip
        return _told_again(file, watch, watch.expect(found.unlabeled, period, name), name)
    # Whether scores and outcomes belong together is what a watch is about: such doubts are told, and stop nothing.
    # A file without all labels waits.
    reading = [each for each in found.opened.open_warnings if each.code not in (*DOUBTS, *_LATER, *accept)]
    if reading:
        first = reading[0]
        remedy = f" {first.remedy.removesuffix('.')}." if first.remedy else ""
        _failures.fail(
            f"{file.name} was not added, because of a warning: {first.message}{remedy} To add it nevertheless, add "
            f"--accept {first.code}."
        )
    added = watch.add(found.rows, period, name, unlabeled=found.unlabeled, close=close or _UNLABELED in accept)
    if name not in added.waiting:
        found.opened.warn()
    return _told_again(file, watch, added, name)


def _told_again(file: Path, before: Watch, after: Watch, name: str) -> Watch:
    """Return the watch; a batch that was there before is named."""
    if name in before.batches:
        _outputs.warn([f"{file.name} was added before and is not counted again."])
    return after


# -- forms ----------------------------------------------------------------------------------------------------


def _record(watch: Watch, sentence: str, alarm: bool) -> dict[str, Any]:
    """Return the answer as plain values, as watch.schema.json describes it."""
    found = asdict(watch.answer()) if watch.counts else {"waiting": [asdict(each) for each in watch.waiting.values()]}
    return {
        "schema": SCHEMA,
        **found,
        "alarm": alarm,
        "sentence": sentence,
        "exit_code": ALARM if alarm else 0,
        "options": _settings(watch),
        "lines": watch.frame().to_dict("records"),
        "slice_lines": watch.of_slices().to_dict("records"),
    }


def metrics(watch: Watch, state: str) -> str:
    """Return the answer as OpenMetrics text, which Prometheus and others collect."""
    gauges: dict[str, tuple[str, float]] = {
        "rows_waiting": ("Rows of batches that wait for labels", sum(each.rows for each in watch.waiting.values())),
    }
    if watch.counts:
        found = watch.answer()
        gauges |= {
            "alarm": ("1 with an alarm in this year, else 0", found.alarm),
            "evidence": ("Largest evidence against calibration in this year (an e-value)", found.e_value),
            "evidence_needed": ("Evidence of an alarm about all rows", found.needed),
            "gap": ("Mean of observed less predicted since the error began, or in this year", found.gap),
            "gap_low": ("Lower end of the mean gap, valid at all times", found.gap_low),
            "gap_high": ("Upper end of the mean gap, valid at all times", found.gap_high),
            "rows": ("Outcomes in this year", found.rows),
            "periods": ("Periods in this year", found.periods),
        }
    lines = []
    for name, (text, value) in gauges.items():
        lines += [*_head(name, text), f"calib_watch_{name}{_labels(state=state)} {_number(value)}"]
    slices = watch.of_slices()
    of_slices = {
        "evidence": ("e_value", "Evidence against calibration of a slice at present (an e-value)"),
        "off": ("stands_out", "1 if the slice is significantly off at present, else 0"),
        "gap_low": ("gap_low", "Lower end of the mean gap of a slice, valid at all times"),
        "gap_high": ("gap_high", "Upper end of the mean gap of a slice, valid at all times"),
    }
    for name, (column, text) in of_slices.items() if len(slices) else ():
        lines += _head(f"slice_{name}", text)
        lines += [
            f"calib_watch_slice_{name}{_labels(state=state, slice=part)} {_number(value)}"
            for part, value in zip(slices["slice"], slices[column], strict=True)
        ]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _head(name: str, text: str) -> list[str]:
    return [f"# TYPE calib_watch_{name} gauge", f"# HELP calib_watch_{name} {text}."]


def _labels(**values: str) -> str:
    escaped = {name: _outputs.plain(value).replace("\\", "\\\\").replace('"', '\\"') for name, value in values.items()}
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped.items()) + "}"


def _number(value: float) -> str:
    return repr(float(value)) if value == value else "NaN"
