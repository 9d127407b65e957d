"""Files of results: one CSV per method with one line per experiment, in the layout of CalArena."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from calib_core._base.atomic_files import write_whole
from calib_core.arena.contenders import BASE
from calib_core.arena.outcomes import NAN, Outcome
from calib_core.predictions.predictions import InputError
from calib_core.readers import read_table

SIZES = ("cal_size", "test_size", "n_classes")
_OF_OUTCOME = {
    "brier": "brier",
    "log_loss": "logloss",
    "accuracy": "accuracy",
    "log_loss_error": "logloss_error",
    "fit_seconds": "fit_time",
    "apply_seconds": "apply_time",
    "recipe": "recipe",
    "reason": "reason",
}
"""Names of an outcome's fields in the columns of a method's file."""
COLUMNS = ("dataset", "model", *SIZES, "method", *(each.name for each in fields(Outcome)))
"""Columns of the table of results."""
_BASES = ("Base-model", BASE.name)
"""Names of no calibration: CalArena's, and this package's."""


@dataclass(frozen=True)
class ResultLine:
    """One line of a method's file. ``inputs`` identifies data, recipe and versions, so that a rerun can skip it."""

    dataset: str
    model: str
    cal_size: int
    test_size: int
    n_classes: int
    outcome: Outcome
    inputs: str = ""


Lines = dict[tuple[str, str], ResultLine]
"""Lines of one method by data set and model."""


def path_of(folder: Path, method: str) -> Path:
    """Return the file of a method."""
    return folder / f"{method}.csv"


def write_lines(folder: Path, method: str, lines: Lines) -> None:
    """Write the file of a method atomically, by data set and model; numbers have all their digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    seconds = f"{method}_time"
    own = [f"{method}_{name}" for name in _OF_OUTCOME.values()]
    writer.writerow(["dataset", "model", *SIZES, *own[:3], seconds, *own[3:], f"{method}_inputs"])
    for key in sorted(lines):
        line = lines[key]
        values = [_cell(value) for value in asdict(line.outcome).values()]
        total = _cell(line.outcome.fit_seconds + line.outcome.apply_seconds)
        sizes = (line.cal_size, line.test_size, line.n_classes)
        writer.writerow([line.dataset, line.model, *sizes, *values[:3], total, *values[3:], line.inputs])
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path_of(folder, method), text.getvalue().encode())


def _cell(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return "" if math.isnan(value) else repr(float(value))


def read_lines(folder: Path, method: str) -> Lines:
    """Read the lines of a method's file; none if there is no file, InputError if it is not such a file."""
    path = path_of(folder, method)
    if not path.exists():
        return {}
    table = read_table(path)

    def column(name: str, kind: type, missing: object) -> list[Any]:
        if name not in table.columns:
            return [missing] * table.n_rows
        values = table.numeric(name) if kind is not str else table.column(name)
        return [missing if value != value else kind(value) for value in values.tolist()]

    if missing := [name for name in ("dataset", "model", f"{method}_logloss") if name not in table.columns]:
        raise InputError(f"{path.name} has no column {missing[0]}, so it has no results of the arena")
    outcomes = zip(
        *(column(f"{method}_{_OF_OUTCOME[each.name]}", *_kind(each.default)) for each in fields(Outcome)), strict=True
    )
    names = zip(column("dataset", str, ""), column("model", str, ""), strict=True)
    sizes = zip(*(column(name, int, 2 if name == "n_classes" else 0) for name in SIZES), strict=True)
    inputs = column(f"{method}_inputs", str, "")
    total = column(f"{method}_time", float, NAN)
    return {
        name: ResultLine(name[0], name[1], size[0], size[1], size[2], _timed(Outcome(*values), seconds), known)
        for name, size, values, seconds, known in zip(names, sizes, outcomes, total, inputs, strict=True)
    }


def _kind(default: Any) -> tuple[type, Any]:
    return type(default), default


def _timed(found: Outcome, seconds: float) -> Outcome:
    """Return the outcome with its seconds; files that only have the sum have it as those of the fit."""
    if math.isnan(found.fit_seconds) and not math.isnan(seconds):
        return Outcome(**{**asdict(found), "fit_seconds": seconds, "apply_seconds": 0.0})
    return found


def as_frame(methods: Mapping[str, Lines], only: Iterable[tuple[str, str]] | None = None) -> pd.DataFrame:
    """Return the table of results: one line per experiment and method, by data set and model."""
    wanted = None if only is None else set(only)
    keys = sorted({key for lines in methods.values() for key in lines if wanted is None or key in wanted})
    rows = [
        (*key, *(getattr(line, name) for name in SIZES), method, *asdict(line.outcome).values())
        for key in keys
        for method, lines in methods.items()
        if (line := lines.get(key)) is not None
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def results_in(folder: str | Path) -> pd.DataFrame:
    """Read a folder of results, one CSV per method, as ``run`` or CalArena's scripts write them.

    One line per experiment and method, as in ``run``. CalArena's own files lack some columns, which are then empty: the
    standard error of the difference, for one. Its ``Base-model`` is called ``identity`` here.

    Raises InputError if there is no such file, or if no file is that of no calibration.

    References: Berta, Holzmüller, Bach & Jordan 2026 (the layout).
    """
    place = Path(folder)
    names = sorted(path.stem for path in place.glob("*.csv"))
    base = next((name for name in _BASES if name in names), None)
    if base is None:
        raise InputError(f"{place.name} has no results without calibration ({' or '.join(f'{n}.csv' for n in _BASES)})")
    others = [name for name in names if name not in _BASES]
    return as_frame({BASE.name: read_lines(place, base)} | {name: read_lines(place, name) for name in others})
