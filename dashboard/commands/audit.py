"""`calib audit`: every error of a file's predictions, with how sure each is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from dashboard.commands import _shared

if TYPE_CHECKING:
    from calib_core import Estimate, Predictions, Recipe

Asked: TypeAlias = "tuple[str, str | None, str, Estimate | str]"
"""Model, notion, estimator, and the estimate or why there is none."""

NOTIONS = ("confidence", "top-label", "class-wise")
TABLE = ("model", "notion", "estimator", "value", "low", "high", "floor", "floor_high", "p", "verdict")
COLUMNS = (*TABLE, "bins", "method", "tested", "note")


@click.command("audit")
@click.argument("file", type=_shared.FILE)
@click.option("--notion", "notions", multiple=True, help=f"Notion of calibration; by default {', '.join(NOTIONS)}.")
@click.option("--estimator", "keys", multiple=True, help="Estimator; by default those that counts in bins suffice for.")
@click.option("--slow", is_flag=True, help="Every estimator, also those that take minutes for thousands of rows.")
@click.option("--tolerance", type=click.FloatRange(0, 1, min_open=True), default=0.02, show_default=True,
              help="The error that would not matter, for the verdicts.")  # fmt: skip
@_shared.bins_options
@click.option("--counting", type=click.Choice(["answered", "all"]), default="answered", show_default=True,
              help="Where a calibrator abstains: every model on the rows that all answer, or on all rows.")  # fmt: skip
@click.option("--calibrator", "calibrators", multiple=True, help="Also the predictions recalibrated by this one.")
@_shared.split_options
@_shared.rows_option
@_shared.reading_options
@click.option("--json", "as_json", is_flag=True, help="A JSON record: full precision, versions, hash, findings.")
@click.option("--csv", "as_csv", is_flag=True, help="The table as CSV.")
@_shared.careful
def command(
    file: Path,
    notions: tuple[str, ...],
    keys: tuple[str, ...],
    slow: bool,
    tolerance: float,
    bins: int | None,
    points: int | None,
    binning: str,
    counting: str,
    calibrators: tuple[str, ...],
    share: float,
    seed: int,
    rows: str,
    read: tuple[str, ...],
    as_json: bool,
    as_csv: bool,
) -> None:
    """How far the predictions in FILE are from calibrated, and how sure that is.

    For every notion and estimator: the value, the 90 % interval of the true error, what perfectly calibrated
    predictions would show (floor, and its 95 % point), the p-value of calibration, and a verdict for the tolerance.

    \b
    Examples:
      calib audit predictions.csv
      calib audit predictions.npz --notion top-label --estimator ece --bins 10
      calib audit predictions.parquet --calibrator temperature --calibrator top-label-hb
      calib audit answers.jsonl --read confidence=conf --read correct=ok --json
    """
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other.")
    loaded = _shared.load(file, read)
    if not as_json:
        _shared.warn(loaded)
    scheme = _shared.scheme_of(binning, bins, points)
    models, over = _same_rows(_models(loaded, calibrators, share, seed, rows), counting)
    lines = _lines(models, notions, keys, slow, scheme, tolerance)
    if as_json:
        options = {
            "tolerance": tolerance,
            "binning": _shared.binning_record(scheme),
            "share": share,
            "seed": seed,
            "rows": rows,
        }
        judged = {name: _rows(model, over[name]) for name, model in models.items()}
        record = {"file": _shared.file_record(loaded), "options": options, "models": judged, "lines": lines}
        _shared.write_json("audit", record | {"level": 0.9, "resamples_seed": 0})
        return
    _show(loaded, models, over, lines, as_csv)


def _models(
    loaded: _shared.Loaded, calibrators: tuple[str, ...], share: float, seed: int, rows: str
) -> dict[str, Predictions]:
    """The predictions to judge by name: as they are, and after each calibrator."""
    if not calibrators:
        return {"as given": loaded.rows(rows)}
    if rows != "auto":
        raise click.UsageError("--rows does not go with --calibrator: models are judged on the test rows.")
    from calib_core.study import recalibrated

    fit, test = loaded.parts(share, seed)
    made = {"as given": test}
    for key in calibrators:
        recipe = _shared.calibrator_of(key)
        made[recipe.title] = recalibrated(fit, test, recipe.build())
    return made


def _same_rows(models: dict[str, Predictions], counting: str) -> tuple[dict[str, Predictions], dict[str, float]]:
    """The models on the rows that the table is over, and the share of rows that each of them answers."""
    from calib_core.study import over_same_rows

    rows = over_same_rows(list(models.values()), "all" if counting == "all" else "answered")
    return dict(zip(models, rows, strict=True)), {name: model.coverage for name, model in models.items()}


def _lines(
    models: dict[str, Predictions],
    notions: tuple[str, ...],
    keys: tuple[str, ...],
    slow: bool,
    scheme: Recipe | None,
    tolerance: float,
) -> list[dict[str, Any]]:
    from calib_core.inference import sharpen

    asked = [
        (name, notion, key, _estimate(model, notion, key, scheme))
        for name, model in models.items()
        for notion, key in _questions(notions, keys, slow)
    ]
    asked = _refused_once(asked)
    wanted = [one for one in asked if keys or one[1] is None or slow or _counts_suffice(one[3])]
    with _shared.progress("Intervals and noise floors", 100) as bar:
        estimates = [made for _, notion, _, made in wanted if notion is not None and not isinstance(made, str)]
        sharpen(estimates, done=lambda percent: bar.update(percent - bar.pos))
    return [_line(name, notion, key, made, tolerance) for name, notion, key, made in wanted]


def _refused_once(asked: list[Asked]) -> list[Asked]:
    """Where a notion is refused whatever the estimator, it says so once."""
    found: dict[tuple[Any, ...], Asked] = {}
    for i, (name, notion, key, made) in enumerate(asked):
        reason = ("", made) if isinstance(made, str) and notion is not None else (key, i)
        found.setdefault((name, notion, *reason), (name, notion, key if reason[0] else "", made))
    return list(found.values())


def _questions(notions: tuple[str, ...], keys: tuple[str, ...], slow: bool) -> list[tuple[str | None, str]]:
    """Pairs of notion and estimator; without choices also the scores of whole predictions."""
    from calib_core import ESTIMATORS
    from calib_core.study import SCORES, error_keys

    every = keys or tuple(k for k in error_keys() if slow or any(p.name == "binning" for p in ESTIMATORS[k].params))
    whole: list[tuple[str | None, str]] = [] if keys or notions else [(None, key) for key in SCORES]
    return whole + [(notion, key) for notion in notions or NOTIONS for key in every]


def _estimate(model: Predictions, notion: str | None, key: str, scheme: Recipe | None) -> Estimate | str:
    from calib_core import NotAnswerable

    try:
        made: Estimate = _shared.as_estimate(model, notion, key, scheme)
    except NotAnswerable as why:
        return str(why)
    return made


def _counts_suffice(made: Estimate | str) -> bool:
    """Are interval and noise floor of the estimate a matter of counts in bins, and so quick?"""
    from calib_core.inference.together import shares_draws

    return isinstance(made, str) or shares_draws(made)


def _line(name: str, notion: str | None, key: str, made: Estimate | str, tolerance: float) -> dict[str, Any]:
    from calib_core import NotAnswerable
    from calib_core.study import SCORES

    line: dict[str, Any] = dict.fromkeys(COLUMNS) | {"model": name, "notion": notion, "estimator": key, "note": ""}
    if isinstance(made, str):
        return line | {"note": made}
    line |= {"value": made.value, "bins": made.in_bins}
    try:
        span = made.interval()
        line |= {"low": span.low, "high": span.high, "method": span.method, "tested": span.tested}
        if notion is not None:
            floor = made.noise_floor
            line |= {"floor": floor.mean, "floor_high": floor.high, "p": floor.p_value}
            line["verdict"] = None if key in SCORES else made.verdict(tolerance).word
    except NotAnswerable as why:
        line["note"] = str(why)
    return line


def _rows(model: Predictions, coverage: float) -> dict[str, float]:
    return {"rows": model.n_rows, "effective_rows": model.effective_rows, "coverage": coverage}


def _show(
    loaded: _shared.Loaded,
    models: dict[str, Predictions],
    over: dict[str, float],
    lines: list[dict[str, Any]],
    as_csv: bool,
) -> None:
    import pandas as pd

    from dashboard.selection import mixed

    frame = pd.DataFrame(lines, columns=list(COLUMNS))
    if as_csv:
        _shared.write_csv(frame)
        return
    first = next(iter(models.values()))
    said = f"{_shared.plain(loaded.table.name)}: {first.n_rows:,} rows judged{first.worth_note}"
    click.echo(said + (f", {first.n_classes} classes" if first.n_classes else ""))
    answered = frame[frame["note"] == ""]
    shown = [c for c in TABLE if c != "model" or len(models) > 1]
    click.echo(_shared.table_text(answered[[*shown, *(["bins"] if mixed(answered["bins"]) else [])]]))
    for name, coverage in over.items():
        if coverage < 1:
            click.echo(
                f"{_shared.plain(name)} answers {100 * coverage:.1f} % of the rows; every line is over the same rows."
            )
    rough = list(dict.fromkeys(answered.loc[answered["tested"] == False, "estimator"]))  # noqa: E712  None is no answer
    if rough:
        click.echo(f"Intervals of {', '.join(rough)} are rough guides: their coverage is not tested here.")
    if (answered["value"] > answered["high"]).any():
        click.echo("A value above its own interval is no mistake: noise pushes up the value, not the interval.")
    for line in frame[frame["note"] != ""].itertuples():
        asked = " ".join(part for part in (line.notion, line.estimator) if isinstance(part, str) and part)
        click.echo(f"{asked}: {_shared.plain(line.note)}.")
