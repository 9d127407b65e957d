"""Lines of estimates as tables of a report: what is printed of each, and what has to be said below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

import pandas as pd

from calib_core import Estimate, NotAnswerable
from calib_core.inference import EstimateLine, sharpen
from dashboard import compute
from dashboard.lines import AT_LEVEL, FLOOR, VALUE, below, marks
from dashboard.report import tables
from dashboard.report.asked import Asked
from dashboard.report.tables import Column
from dashboard.selection import mixed
from dashboard.session import Model

INTERVAL = Column(
    AT_LEVEL, ("low", "high", "mark"), lambda low, high, mark: f"{tables.span(low, high)} {mark}".rstrip()
)
_COLUMNS: tuple[Column, ...] = (
    tables.number("estimate", "point"),
    INTERVAL,
    tables.number("value"),
    tables.number("noise floor", "floor"),
    tables.probability("p"),
)
"""Printed for every line, wherever it stands."""
VERDICT = tables.text("verdict")


def columns(frame: pd.DataFrame) -> tuple[Column, ...]:
    """What is printed of every line; with the bins where lines of the table were judged in different ones."""
    return (*_COLUMNS, tables.text("bins")) if mixed(frame["bins"]) else _COLUMNS


READING = f"{VALUE} {FLOOR}"


def framed(made: Sequence[EstimateLine], **about: Sequence[Any]) -> pd.DataFrame:
    """Lines as a table, what each is about (a model, a title) in columns before them."""
    frame = pd.DataFrame([line.record() for line in made], columns=[field.name for field in fields(EstimateLine)])
    return pd.DataFrame(about).join(frame.drop(columns=list(about), errors="ignore").assign(mark=marks(made)))


def reading(made: Sequence[EstimateLine]) -> str:
    """What has to be said below a table of these lines: how many looks it is, and what its intervals are about."""
    return " ".join(["", *below(made)])


def estimated(asked: Asked, model: Model, notion: str | None, estimator: str) -> Estimate | str:
    """The estimate, or why there is none."""
    try:
        return compute.estimate(model, notion, estimator, asked.scheme)
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
