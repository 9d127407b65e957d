"""`calib audit`: every error of a file's predictions, with how sure each is."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from dashboard.commands import _shared

if TYPE_CHECKING:
    from calib_core import Estimate, Predictions, Recipe
    from calib_core.inference import EstimateLine, PrimaryLine

Asked: TypeAlias = "tuple[str, str | None, str, Estimate | str]"
"""Model, notion, estimator, and the estimate or why there is none."""
Line: TypeAlias = "tuple[str, EstimateLine]"
"""Model and line; a line without a value says why in its note."""
Primary: TypeAlias = "tuple[PrimaryLine, tuple[str, ...]]"
"""The primary line of a model, and bounds on its error without bins where they were asked for."""

NOTIONS = ("confidence", "top-label", "class-wise")
SHARES = ("value", "point", "low", "high", "floor")
TABLE = ("model", "notion", "estimator", *SHARES, "about", "p", "verdict", "bins")


@click.command("audit")
@click.argument("file", type=_shared.FILE)
@click.option("--notion", "notions", multiple=True, help=f"Notion of calibration; by default {', '.join(NOTIONS)}.")
@click.option("--estimator", "keys", multiple=True, help="Estimator; by default those that counts in bins suffice for.")
@click.option("--slow", is_flag=True, help="Every estimator, also those that take minutes for thousands of rows.")
@click.option("--unbinned", is_flag=True, help="Also bounds on the error without bins, under stated assumptions.")
@_shared.tolerance_option
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
    unbinned: bool,
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

    First the verdict, on one line chosen before outcomes are looked at, and whether an error of any size is shown. Then
    for every notion and estimator: the value, the estimate that the 90 % interval is about (point), the interval, the
    noise floor (the 95 % point of perfectly calibrated predictions), the p-value of calibration, and a verdict for the
    tolerance.

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
    if as_csv:
        import pandas as pd

        _shared.write_csv(pd.DataFrame([_record(line) for line in lines]))
        return
    first = _primary(models, scheme, tolerance, unbinned)
    if as_json:
        from calib_core.defaults import LEVEL, SEED

        options = {
            "tolerance": tolerance,
            "binning": _shared.binning_record(scheme),
            "share": share,
            "seed": seed,
            "rows": rows,
        }
        judged = {name: _rows(model, over[name]) | _told(*first[name]) for name, model in models.items()}
        record = {"file": _shared.file_record(loaded), "options": options, "models": judged}
        told = {"lines": [_record(line) for line in lines], "level": LEVEL, "resamples_seed": SEED}
        _shared.write_json("audit", record | told)
        return
    _show(loaded, models, over, first, lines)


def _models(
    loaded: _shared.Loaded, calibrators: tuple[str, ...], share: float, seed: int, rows: str
) -> dict[str, Predictions]:
    """The predictions to judge by name: as they are, and after each calibrator."""
    from calib_core import CALIBRATORS

    if not calibrators:
        return {"as given": loaded.rows(rows)}
    if rows != "auto":
        raise click.UsageError("--rows does not go with --calibrator: models are judged on the test rows.")
    from calib_core.study import recalibrated

    fit, test = loaded.parts(share, seed)
    made = {"as given": test}
    for key in calibrators:
        recipe = _shared.recipe_of(CALIBRATORS, key)
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
) -> list[Line]:
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


def _line(name: str, notion: str | None, key: str, made: Estimate | str, tolerance: float) -> Line:
    from calib_core.inference import EstimateLine, estimate_line

    if isinstance(made, str):
        title = " ".join(part for part in (notion, key) if part)
        return name, EstimateLine(notion, key, title, 0, "", math.nan, note=made)
    return name, estimate_line(made, tolerance)


def _record(line: Line) -> dict[str, Any]:
    name, told = line
    return {"model": name, **told.record()}


def _primary(
    models: dict[str, Predictions], scheme: Recipe | None, tolerance: float, unbinned: bool
) -> dict[str, Primary]:
    from calib_core.inference import primaries
    from dashboard.lines import without_bins

    found = primaries(models, tolerance, bins=None if scheme is None else scheme.build())
    return {
        name: (first, without_bins(models[name], first.notion) if unbinned else ()) for name, first in found.items()
    }


def _told(first: PrimaryLine, bounds: tuple[str, ...]) -> dict[str, Any]:
    line = {"notion": first.notion, "reason": first.reason, "line": first.line.record(), "shown": vars(first.shown)}
    return {"primary": line, "unbinned": list(bounds)}


def _rows(model: Predictions, coverage: float) -> dict[str, float]:
    return {"rows": model.n_rows, "effective_rows": model.effective_rows, "coverage": coverage}


def _show(
    loaded: _shared.Loaded,
    models: dict[str, Predictions],
    over: dict[str, float],
    first: dict[str, Primary],
    lines: list[Line],
) -> None:
    import pandas as pd

    from dashboard.lines import FLOOR, VALUE, below, marks
    from dashboard.selection import mixed

    one = next(iter(models.values()))
    said = f"{_shared.plain(loaded.table.name)}: {one.n_rows:,} rows judged{one.worth_note}"
    told = [said + (f", {one.n_classes} classes" if one.n_classes else "")]
    for name, (line, bounds) in first.items():
        told += [f"{name}: {text}" if len(models) > 1 else text for text in (line.sentence, *bounds)]
    answered = [(name, line) for name, line in lines if line.value == line.value]
    made = [line for _, line in answered]
    if made:
        cells = pd.DataFrame([_cells(name, line) for name, line in answered]).assign(about=marks(made))
        needed = {"model": len(models) > 1, "about": any(cells["about"]), "bins": mixed(cells["bins"])}
        told.append(_shared.table_text(cells[[name for name in TABLE if needed.get(name, True)]]))
    for name, coverage in over.items():
        if coverage < 1:
            told.append(f"{name} answers {100 * coverage:.1f} % of the rows; every line is over the same rows.")
    told += [*below(made), *([VALUE, FLOOR] if made else [])]
    noted = [line for _, line in lines if line.note]
    for note in dict.fromkeys(line.note for line in noted):
        titles = dict.fromkeys(line.title for line in noted if line.note == note)
        told.append(f"{', '.join(titles)}: {note}.")
    for text in told:
        click.echo("\n".join(map(_shared.plain, text.split("\n"))))


def _cells(name: str, line: EstimateLine) -> dict[str, Any]:
    """A line as its table prints it."""
    numbers = {key: "" if getattr(line, key) is None else line.written(getattr(line, key)) for key in SHARES}
    return {"model": name, **line.record(), **numbers, "verdict": line.verdict or ""}
