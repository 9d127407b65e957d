"""Characteristics of the rows of a validation, by outcome and by a column: the first table of a paper."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core._base.arrays import Codes, Float64s
from calib_core._base.errors import NotAnswerable
from calib_core._base.notebook_display import OneLine
from calib_core._base.pandas_input import Column, coded_texts, is_number
from calib_core.columns.conditions import Value, columns_of, metadata_column
from calib_core.columns.cut import PARTS, coded, divided_by, in_calendar
from calib_core.defaults import FEW_VALUES
from calib_core.predictions.predictions import Predictions
from calib_core.text import count, percent, score

__all__ = ["Characteristics", "characteristics"]

MOST_GROUPS = 12
"""Values of a column that have a column of the table each."""
MISSING, NUMBERS = "not given", "numbers"
"""Values of lines about missing values, and about the numbers of a column."""


@dataclass(frozen=True, eq=False, repr=False)
class Characteristics(OneLine):
    """Characteristics of rows: ``lines`` is the result of ``frame``, ``groups`` the groups of rows in order."""

    lines: pd.DataFrame
    groups: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """One line per characteristic, value and group of rows, with its numbers: see ``characteristics``."""
        return self.lines

    def wide(self) -> pd.DataFrame:
        """The printed table: characteristic, value, and a text for each group, in columns "rows: group"."""
        keys: dict[tuple[str, str], None] = {}
        texts: dict[tuple[str, str, str], str] = {}
        for line in self.lines.to_dict("records"):
            for value, text in _cells(line).items():
                keys[line["characteristic"], value] = None
                texts[line["characteristic"], value, line["group"]] = text
        names, values = zip(*keys, strict=True)
        cells = {f"rows: {group}": [texts.get((*key, group), "") for key in keys] for group in self.groups}
        return pd.DataFrame({"characteristic": names, "value": values} | cells)

    def _line(self) -> str:
        return f"{self.lines['characteristic'].nunique()} characteristics of {len(self.groups)} groups of rows"


def characteristics(predictions: Predictions, by: str = "", event: str = "the event") -> Characteristics:
    """Describe the rows of a validation: all, with and without the event, and by the values of a column.

    Characteristics are the number of rows, the events, the predicted risk of the event and every metadata column. Ids
    and texts with too many values are left out. A column of numbers has its mean and median; any other column has the
    number of rows of each value. More than 12 different dates are counted by periods of the calendar, as by ``cut``.
    Columns of ``frame``:

    - characteristic; value ("numbers" of a column of numbers, "not given" for missing ones) and group;
    - rows (of the group), number (of them that have the value) and share = number / rows;
    - mean, sd (divisor n - 1), median and the quartiles q1 and q3 (interpolated linearly, as by R) of the known values
      of a column of numbers.

    ``by`` names a column, such as hospital; numbers are cut as by ``cut``. ``event`` is what to call the event.
    Whole-number weights are copies of rows. Other weights are not used, because the table describes the sampled rows.
    There are no p-values: the table describes these rows, and a test would ask about others.

    What can mislead: rows that a reader left out are not in it (``calls.row_flow`` counts them). NotAnswerable for a
    summary, and where ``by`` has more than 12 values.

    References: Collins et al. 2024 (TRIPOD+AI, item 20b); Vandenbroucke et al. 2007 (no tests of a first table).

    >>> rows = Predictions(
    ...     [[0.9, 0.1], [0.8, 0.2], [0.4, 0.6]], [0, 0, 1], class_names=["alive", "died"],
    ...     metadata=pd.DataFrame({"sex": ["f", "m", None]}))
    >>> characteristics(rows, event="death").wide()["rows: all"].tolist()
    ['3', '1 (33.3 %)', '0.3 (0.265)', '0.2 (0.15 to 0.4)', '1 (33.3 %)', '1 (33.3 %)', '1 (33.3 %)']
    """
    if predictions.grain == "counts":
        raise NotAnswerable("a summary stores no rows to describe: open the original file")
    rows = predictions.written_out()
    groups = _groups(rows, by, event)
    lines: list[dict[str, object]] = []
    for name, places in groups.items():
        lines += _lines(rows, places, name, by, event)
    return Characteristics(pd.DataFrame(lines)[list(_COLUMNS)], tuple(groups))


def _groups(rows: Predictions, by: str, event: str) -> dict[str, NDArray[np.intp]]:
    found: dict[str, NDArray[np.intp]] = {"all": np.arange(rows.n_rows)}
    if rows.event is not None:
        happened = rows.true_labels == rows.event
        found |= {f"with {event}": np.flatnonzero(happened), f"without {event}": np.flatnonzero(~happened)}
    if by:
        values = coded(rows, by, None, PARTS)
        if len(values) > MOST_GROUPS:
            raise NotAnswerable(
                f"the column {by[:80]!r} has {len(values):,} values, more than the {MOST_GROUPS} that have room; "
                "choose another column"
            )
        found |= {where.title: places for where, places in values}
    return found


def _lines(rows: Predictions, places: NDArray[np.intp], group: str, by: str, event: str) -> Iterator[dict[str, object]]:
    """Yield the lines of one group of rows, the same characteristics in every group."""
    n = len(places)
    start = {"group": group, "rows": n}
    yield start | _line_of("rows", "", n, n)
    if rows.event is not None:
        happened = rows.true_labels[places] == rows.event
        yield start | _line_of(event, "", int(happened.sum()), n)
        yield start | _numbers(f"predicted risk of {event}", rows.rows.column(rows.event)[places].astype(np.float64))
    for name in _described(rows, by):
        every = metadata_column(rows, name)
        values = every.iloc[places]
        missing = values.isna()
        if is_number(every) and every.nunique() > FEW_VALUES:
            yield start | _numbers(name, values[~missing].to_numpy(dtype=np.float64)) | {"rows": n}
            missed, some = int(missing.sum()), bool(every.isna().any())
        else:
            codes, texts = _values(name, every)
            for code, text in enumerate(texts):
                yield start | _line_of(name, text, int((codes[places] == code).sum()), n)
            missed, some = int((codes[places] < 0).sum()), bool((codes < 0).any())
        if some:
            yield start | _line_of(name, MISSING, missed, n)


def _described(rows: Predictions, by: str) -> list[str]:
    """Names of the columns that describe rows: not the one of the groups, nor one that only numbers the rows."""
    if not columns_of(rows):
        return []
    with suppress(NotAnswerable):
        left_out = {name for name, _ in divided_by(rows, None, PARTS)[1]}
        return [name for name in columns_of(rows) if name != by and name not in left_out]
    return []


def _values(name: str, column: Column) -> tuple[Codes, Sequence[str]]:
    """Codes (-1 if missing) and texts of the values of a column: periods of the calendar if it has many dates."""
    dated = in_calendar(name, column)
    if dated is None:
        return coded_texts(column)
    texts = [condition.short for condition in dated.conditions if condition != Value(name, None)]
    return np.where(dated.codes < len(texts), dated.codes.astype(np.intp), -1), texts


def _line_of(name: str, value: str, number: int, n: int) -> dict[str, object]:
    share = number / n if n else math.nan
    return {"characteristic": name, "value": value, "number": number, "share": share} | dict.fromkeys(
        _NUMBERS, math.nan
    )


_COLUMNS = (*("characteristic", "value", "group", "rows", "number", "share"), *("mean", "sd", "median", "q1", "q3"))
_NUMBERS = ("mean", "sd", "median", "q1", "q3")


def _numbers(name: str, known: Float64s) -> dict[str, object]:
    """Mean and quartiles of known values."""
    line: dict[str, object] = {"characteristic": name, "value": NUMBERS, "number": len(known), "share": math.nan}
    if not len(known):
        return line | dict.fromkeys(_NUMBERS, math.nan)
    q1, median, q3 = np.quantile(known, [0.25, 0.5, 0.75]).tolist()
    sd = float(np.std(known, ddof=1)) if len(known) > 1 else math.nan
    return line | {"mean": float(known.mean()), "sd": sd, "median": median, "q1": q1, "q3": q3}


def _cells(line: Mapping[Hashable, Any]) -> dict[str, str]:
    """Printed cells by what they contain: a count with its share, or mean (SD) and median (quartiles)."""
    if line["value"] == NUMBERS:
        spread = f" ({score(line['sd'])})" if math.isfinite(line["sd"]) else ""
        quartiles = f"{score(line['median'])} ({score(line['q1'])} to {score(line['q3'])})"
        cells = (f"{score(line['mean'])}{spread}", quartiles) if line["number"] else ("none", "none")
        return dict(zip(("mean (SD)", "median (quartiles)"), cells, strict=True))
    if line["characteristic"] == "rows":
        return {"": count(line["number"])}
    return {line["value"]: f"{count(line['number'])} ({percent(line['share'])})" if line["rows"] else "0"}
