"""One estimate as a line of a table: its value with its interval, its noise floor, its p-value and its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from calib_core import Estimate, NotAnswerable
from calib_core.inference import sharpen
from dashboard import compute
from dashboard.compute import Model
from dashboard.report import tables
from dashboard.report.asked import Asked
from dashboard.report.tables import Column
from dashboard.selection import mixed

INTERVAL = Column("90 % interval", ("low", "high", "interval_by"), lambda low, high, by: _starred(low, high, by))
_COLUMNS: tuple[Column, ...] = (
    tables.number("value"),
    INTERVAL,
    tables.number("noise floor", "floor"),
    tables.probability("p", "p_value"),
)
"""Printed for every estimate, wherever it stands."""


def columns(frame: pd.DataFrame) -> tuple[Column, ...]:
    """What is printed of every estimate; with the bins where lines of the table were judged in different ones."""
    return (*_COLUMNS, tables.text("bins")) if mixed(frame["bins"]) else _COLUMNS


READING = (
    "Interval: where the true error lies, at 90 %. Noise floor: what 95 % of perfectly calibrated models with these "
    "predictions stay below. p: the share of such models that show at least this much. A plug-in error can lie above "
    "its own interval, because noise inflates it and the interval does not."
)
UNTESTED = "coverage not tested"
STAR = " *: the coverage of this interval is not tested; read it as a rough guide."


def _starred(low: float | None, high: float | None, by: str | None) -> str:
    said = tables.span(low, high)
    return f"{said} *" if by and by.endswith(UNTESTED) else said


def starred(frame: pd.DataFrame) -> str:
    """What has to be said below a table whose intervals have a star."""
    return STAR if frame["interval_by"].dropna().str.endswith(UNTESTED).any() else ""


def estimated(asked: Asked, model: Model, notion: str | None, estimator: str) -> Estimate | str:
    """The estimate, or why there is none."""
    try:
        return compute.estimate(model, notion, estimator, asked.scheme)
    except NotAnswerable as why:
        return str(why)


def ranked(asked: Asked, model: Model, notion: str | None, estimator: str) -> Estimate | str:
    """The estimate as a line of a table of all models, over the same rows for each; or why there is none."""
    try:
        return compute.ranked(asked.selection, asked.models, model, notion, estimator)
    except NotAnswerable as why:
        return str(why)


def quick(made: Estimate) -> bool:
    """Whether its interval and floor are there, or cost the counts of its bins only."""
    return compute.sharpened(made) or compute.of_counts(made)


def sharpened(made: Iterable[Estimate | str]) -> Iterator[None]:
    """Make the intervals and floors of these estimates: the quick ones together, each of the others on its own."""
    known = [one for one in made if isinstance(one, Estimate) and not compute.sharpened(one)]
    together = [one for one in known if quick(one)]
    for some in (together, *([one] for one in known if one not in together)):
        sharpen(some)
        yield


def line(made: Estimate) -> dict[str, Any]:
    """The numbers of a line."""
    span = made.interval()
    trust = span.method if span.tested else f"{span.method}, {UNTESTED}"
    return {
        "value": made.value,
        "low": span.low,
        "high": span.high,
        **_floor(made),
        "interval_by": trust,
        "bins": made.in_bins,
    }


def _floor(made: Estimate) -> dict[str, float | None]:
    """Noise floor and p-value; none where labels cannot be drawn because the classes' probabilities are unknown."""
    try:
        return {"floor": made.noise_floor.high, "p_value": made.p_value}
    except NotAnswerable:
        return {"floor": None, "p_value": None}
