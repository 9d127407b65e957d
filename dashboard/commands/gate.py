"""`calib gate`: pass or fail predictions by an exit code, decided by statistical evidence and not by a point value."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboard.commands import _failures, _help_sections, _outputs, _passages, _shared_options
from dashboard.commands._failures import careful
from dashboard.commands._passages import Passage
from dashboard.commands._shared_options import ReadingOptions

if TYPE_CHECKING:  # heavy: imported when the command runs
    import pandas as pd

    from calib_core.inference import Baseline
    from dashboard.session import Scene


@click.command("gate", cls=_help_sections.Sectioned)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_shared_options.FILE)
@click.option("--max-ece", "limit", type=_shared_options.Share(), help="Maximum allowed error.")
@_shared_options.ratio("--max-ratio")
@click.option("--baseline", "baseline_file", type=_shared_options.FILE, metavar="JSON",
              help="Saved result (calib gate --format json) to compare with, instead of --max-ece or in addition to "
                   "it.")  # fmt: skip
@click.option("--max-increase", "allowed", type=click.FloatRange(0, 1, max_open=True), default=0.01, show_default=True,
              help="Maximum allowed increase over the --baseline.")  # fmt: skip
@click.option("--overlap", type=click.Choice(["auto", "none", "any"]), default="auto", show_default=True,
              help="Whether this file shares rows with the baseline's file. With none, you state that it does not; the "
              "interval is narrower. With any, it may. With auto: none if they differ in the number of rows or in "
              "the labels, else any.")  # fmt: skip
@_shared_options.member(
    "REDUCTIONS",
    "--notion",
    help="Notion of calibration. By default that of the baseline. Without one: event for two classes. With more, "
    "top-label if there are enough rows for separate classes, else confidence. These rules do "
    "not use the outcomes. One exception does: if only the top-label error is above the maximum, the notion is "
    "top-label, even with few rows.",
)
@_shared_options.member(
    "ESTIMATORS", "--estimator", show_default="ece, or the baseline's", help="Estimator of the error."
)
@_shared_options.level
@_shared_options.bins
@_shared_options.judge_unfitted
@_shared_options.rows
@_shared_options.where
@_shared_options.reading
@click.option("--accept", "accept", metavar="CODE", multiple=True,
              help="Pass despite this warning (repeatable). An undecided result names the codes.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["text", "json", "github"]), default="text", show_default=True,
              help="Output format: text, a JSON record, or annotations and a summary for GitHub.")  # fmt: skip
@click.option(
    "--junit", "junit_file", type=_shared_options.OUTPUT, help="Also write the answer to this file as JUnit XML."
)
@careful
def command(
    files: tuple[Path, ...],
    limit: float | None,
    ratio: float,
    baseline_file: Path | None,
    allowed: float,
    overlap: str,
    notion: str | None,
    estimator: str | None,
    level: float,
    bins: int | None,
    points: int | None,
    binning: str,
    judge: str,
    rows: str,
    where: str,
    read: ReadingOptions,
    accept: tuple[str, ...],
    form: str,
    junit_file: Path | None,
) -> None:
    """Check predictions against a limit (exit code 0, 1 or 2).

    The exit code is 0 if the whole confidence interval of the error is below the limit (within). It is 1 for all other
    verdicts. Miscalibrated: the whole interval is above the limit, and a perfectly calibrated model shows such an error
    in at most 5 % of samples (p). Too few rows to tell: even the interval of a perfectly calibrated model would usually
    include the limit. Too close to call: all other cases.

    The exit code is 2 if the check could not run. It is also 2 if the error is within the limit, but a warning needs a
    decision (undecided). Warnings are about the file, the bins, or a group of rows whose error is shown to exceed
    the limit. For this, the whole interval of this error has to be above the limit. The output names
    the option that settles each warning. --accept lets the file pass despite it.

    Calibration can be measured in several ways, called notions. The gate uses one of them; --notion explains how
    it is chosen. A file with two classes has a second limit, for the ratio of observed to expected events. If several
    files are given, all must pass.

    The gate judges the same rows as calib audit and the dashboard: all rows if there are at most 1,000, else a held-out
    half. With --judge all it judges every row.

    A baseline is the saved result of an earlier model. With it, the gate passes if the whole interval of the increase
    is below --max-increase. If the two files may share rows, the interval is wider, because it is unknown which rows
    are the same (--overlap). With few rows, even an unchanged model fails at the default of 0.01 (one percentage
    point). To find a limit that an unchanged model passes, compare the released file with itself. Save its baseline,
    and run the gate on the same file with this baseline. Then set --max-increase above the upper end of the printed
    interval. To compare models on the same rows, use calib compare.

    A baseline that was edited is refused. If the environment variable CALIB_GATE_KEY is set, JSON results are signed
    with it, and a baseline has to be signed with the same key.

    \b
    Examples:
      calib gate predictions.csv --max-ece 0.05
      calib gate risks.csv --max-ece 0.02 --max-ratio 1.25
      calib gate predictions.npz --max-ece 0.02 --notion confidence --bins 10 && ./deploy
      calib gate released.csv --max-ece 0.05 --format json > released.json
      calib gate new.csv --baseline released.json --max-increase 0.05
      calib gate predictions.csv --max-ece 0.05 --format github --junit gate.xml
    """
    if limit is None and baseline_file is None:
        raise click.UsageError("give --max-ece, --baseline, or both.")
    for name, option in (("allowed", "--max-increase"), ("overlap", "--overlap")):
        if baseline_file is None and not _shared_options.by_default(name):
            raise click.UsageError(f"{option} goes with --baseline: the saved result of an earlier gate.")
    if junit_file is not None and str(junit_file) == _outputs.STDIO:
        raise click.UsageError("--junit takes the name of a file: standard output has the answer itself.")
    _shared_options.check_rows(judge, rows)
    _shared_options.check_codes(accept)
    kept = {} if baseline_file is None else _baselines(baseline_file)
    scheme = _shared_options.scheme_of(binning, bins, points)
    how = {
        "notion": notion,
        "overlap": overlap,
        "estimator": estimator,
        "level": level,
        "bins": None if scheme is None else scheme.build(),
    }
    names = _names(tuple(dict.fromkeys(files)))
    passages = [
        _passage(
            path,
            name,
            kept,
            (read, where, judge, rows),
            form,
            limit=limit,
            ratio=ratio,
            allowed=allowed,
            accept=accept,
            **how,
        )
        for path, name in names.items()
    ]
    if junit_file is not None:
        _outputs.write(junit_file, _passages.junit(passages))
    if form == "json":
        options = {"max_ece": limit, "max_ratio": ratio, "max_increase": allowed if kept else None,
                   "overlap": overlap if kept else None,
                   "notion": notion, "level": level, "estimator": estimator,
                   "binning": _shared_options.binning_record(scheme), "judge": judge, "rows": rows,
                   "accept": list(accept)}  # fmt: skip
        _passages.write_record(passages, options)
    else:
        (_passages.write_annotations if form == "github" else _passages.write_text)(passages)
    raise SystemExit(_passages.exit_code(passages))


def _baselines(path: Path) -> dict[str, Baseline]:
    from calib_core.inference.gate_baselines import read_baselines, signing_key
    from calib_core.readers import file_bytes

    return read_baselines(file_bytes(path), path.name, signing_key())


def _names(files: tuple[Path, ...]) -> dict[Path, str]:
    """Return file names, or full paths if names repeat."""
    names = [file.name for file in files]
    return {file: file.name if names.count(file.name) == 1 else file.as_posix() for file in files}


def _passage(
    path: Path,
    name: str,
    kept: Mapping[str, Baseline],
    reading: tuple[ReadingOptions, str, str, str],
    form: str,
    **how: Any,
) -> Passage:
    """Check one file; a problem of the file is its result, and the other files are still checked."""
    from calib_core import InputError, RegistryError
    from calib_core.inference import gate_check
    from calib_core.inference.gate_baselines import baseline_for
    from calib_core.slices.findings import group_warnings
    from dashboard.commands import _opened_models

    begun = time.perf_counter()
    read, where, judge, rows = reading
    try:
        opened = _opened_models.opened(path, read, where)
        scene = _opened_models.scene(_opened_models.divided({"": opened}, judge), rows=rows)
        judged = scene.get(scene.models.shown[0].predictions)
        before = baseline_for(name, kept) if kept else None
        how["accept"] = (*how["accept"], *opened.reading.accepted)
        found = _findings(scene, how["level"])
        of_groups = () if how["limit"] is None or found is None else group_warnings(found, how["limit"])
        check = gate_check(judged, before=before, warnings=(*opened.open_warnings, *of_groups), **how)
        if form != "json":  # whose record has the findings
            opened.warn(open_warnings=not check.undecided)  # its own lines name them
        if check.line.ratio is None and not _shared_options.by_default("ratio"):
            raise InputError(
                "--max-ratio is for the event of two classes, and this check is about something else: leave it out"
            )
    except (InputError, RegistryError, OSError) as why:
        _failures.trace()
        return Passage(path, name, time.perf_counter() - begun, why=_failures.sentence_of(why))
    judged_on = f"{_opened_models.judged_rows(scene, rows)}{opened.among}{opened.of_all(judged)}"
    seconds = time.perf_counter() - begun
    subset = "" if form == "github" or of_groups else _subset(found)
    return Passage(path, name, seconds, opened, check, judged_on=judged_on, subset=subset)


def _findings(scene: Scene, level: float) -> pd.DataFrame | None:
    """Return the findings on the judged rows; None if there are none of these rows, as of a summary."""
    from calib_core import NotAnswerable
    from dashboard.exhibits import findings

    with suppress(NotAnswerable):
        return scene.get(findings.found(scene, level))
    return None


def _subset(table: pd.DataFrame | None) -> str:
    """Return the first significant finding on a subset of the rows; empty if there is none.

    The gate is about all rows: they can pass although a class, a site or a range of risks is far off.
    """
    from calib_core.slices.findings import OVERALL

    off = () if table is None else table[table["stands_out"] & (table["kind"] != OVERALL)]["finding"].tolist()
    return str(off[0]) if off else ""
