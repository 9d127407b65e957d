"""The counts of a summary as SQL: whoever holds the rows groups them, and only sums come back, exact to the unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib_core._arrays import LOG_FLOOR
from calib_core.exact_sums import ROUNDING
from calib_core.predictions import InputError, Kind, Predictions
from calib_core.readers.reading import Reading
from calib_core.summaries.fine_grid import EDGES

_SLOTS = 4096
"""Slots of equal width in [0, 1], a power of two: rows meet the few cells of their own slot."""
_UNIT = 2.0 * ROUNDING
_SHIFT = 6144.0  # near it neighbours in double precision are one unit apart: adding and taking it off rounds to units
_POWERS = ("s", "r * r", "r * r * r", "(r * r) * (r * r)", "v", "v * v")
_LOSSES = (
    "seen", "mean", "s * (up * up) + (1.0 - s) * (down * down)",
    "s * (up * up * up) + (1.0 - s) * (down * down * down)",
    "(seen - mean) * (seen - mean)", "LEAST(hit, miss)", "GREATEST(hit, miss)",
)  # fmt: skip
GRID = "grid(slot, cell, lower_edge, upper_edge)"
SUMMED = len(_LOSSES)
"""How many sums the losses' line begins with."""


@dataclass(frozen=True)
class Claimed:
    """What SQL reads of a table: a confidence, and whether it came true or the classes that say so.

    ``outcome`` is SQL for 0 or 1, ``predicted`` and ``label`` for a class's number, None where no classes are known;
    ``wrong`` is SQL that is true of rows that cannot be counted.
    """

    kind: Kind
    class_names: tuple[str, ...] | None
    dtype: np.dtype[Any]
    score: str
    outcome: str
    predicted: str | None
    label: str | None
    wrong: str

    @classmethod
    def of(cls, reading: Reading, seen: Predictions) -> Claimed:
        """What a file is read as; InputError where its rows say more, or other things, than these counts hold."""
        unread = [n for n in ("split", "weights", "group", "models") if getattr(reading, n) is not None]
        plain = reading.kind == "probabilities" and reading.missing == "error" and not unread
        if reading.layout not in ("confidence", "top-label") or not plain:
            raise InputError(
                "SQL counts tables of a confidence in [0, 1] beside whether it was correct, or beside the predicted "
                "class and the label, every row alike, and this table is not one of these: summarise it without an "
                "engine"
            )
        score = quoted(str(reading.confidence))
        unsound = f"{score} IS NULL OR NOT ({score} >= 0 AND {score} <= 1)"
        if reading.layout == "confidence":
            correct = quoted(str(reading.correct))
            outcome = f"CAST({correct} AS INTEGER)"
            wrong = f"{unsound} OR {correct} IS NULL OR {outcome} NOT IN (0, 1)"
            return cls(seen.kind, None, seen.confidence.dtype, score, outcome, None, None, wrong)
        names = seen.class_names or ()
        predicted, label = (_code(str(c), reading, names) for c in (reading.predicted, reading.label[0]))
        outcome = f"CASE WHEN {predicted} = {label} THEN 1 ELSE 0 END"
        wrong = f"{unsound} OR {predicted} IS NULL OR {label} IS NULL"
        return cls(seen.kind, names, seen.confidence.dtype, score, outcome, predicted, label, wrong)


def _code(column: str, reading: Reading, names: Sequence[str]) -> str:
    """SQL for the number of the class that a column names, NULL where it names none."""
    if reading.label_coding not in ("0-based", "1-based", "names"):
        raise InputError("SQL counts labels that are numbers or names of classes: summarise these without an engine")
    first = {"0-based": 0, "1-based": 1}.get(reading.label_coding)
    keys = [text(name) for name in names] if first is None else [str(first + i) for i in range(len(names))]
    return f"CASE {quoted(column)} " + " ".join(f"WHEN {key} THEN {i}" for i, key in enumerate(keys)) + " END"


def grid(dtype: np.dtype[Any]) -> tuple[list[int], list[int], list[float], list[float]]:
    """For every slot the cells that reach into it, with their edges as scores of this type are compared with them."""
    lower, upper = (np.append(a, b).astype(dtype).astype(float) for a, b in ((0.0, EDGES), (EDGES, 2.0)))
    first, last = (np.minimum(np.floor(a * _SLOTS), _SLOTS).astype(int) for a in (lower, upper))
    number = last - first + 1
    cell = np.repeat(np.arange(len(lower)), number)
    slot = first[cell] + np.arange(len(cell)) - np.repeat(np.cumsum(number) - number, number)
    return slot.tolist(), cell.tolist(), lower[cell].tolist(), upper[cell].tolist()


def with_grid(dtype: np.dtype[Any]) -> str:
    """The grid as the beginning of a statement."""
    lines = ",\n  ".join(
        f"({slot}, {cell}, {low!r}, {high!r})" for slot, cell, low, high in zip(*grid(dtype), strict=True)
    )
    return f"WITH {GRID} AS (VALUES\n  {lines}),\n"


def cell_sums(claimed: Claimed, table: str, key: str | None = None, begin: str = "WITH ") -> str:
    """One line for each key and cell that hold claims: key, cell, number, how many came true, sums in units of 2^-40.

    The sums are of the confidence s, of r^2, r^3 and r^4 with r what came true less s, of v = s (1 - s) and of v^2.
    There is a table ``GRID``, unless the statement begins with one.
    """
    return f"""{begin}claims AS ({_claims(claimed, table, key or claimed.predicted or "0")}),
terms AS (SELECT *, y - s AS r, s * (1.0 - s) AS v FROM claims)
SELECT stratum, cell, COUNT(*), SUM(y),
  {_sums(_POWERS)}
FROM terms JOIN grid ON grid.slot = CAST(FLOOR(s * {_SLOTS}) AS INTEGER) AND s >= lower_edge AND s < upper_edge
GROUP BY stratum, cell"""


def loss_totals(claimed: Claimed, table: str) -> str:
    """One line of the Brier score of all claims, as of two classes: the seven sums of LOSS_SUMS in units of 2^-40.

    Behind them the widest reach of a row, the most a row can lose, how many rows gave what happened 0, and how many
    less than the floor of the logarithm.
    """
    return f"""WITH claims AS ({_claims(claimed, table, "0")}),
terms AS (SELECT *, 2.0 * ((1.0 - s) * (1.0 - s)) AS hit, 2.0 * (s * s) AS miss,
  CASE WHEN y = 1 THEN s ELSE 1.0 - s END AS given FROM claims),
expected AS (SELECT *, s * hit + (1.0 - s) * miss AS mean, CASE WHEN y = 1 THEN hit ELSE miss END AS seen FROM terms),
apart AS (SELECT *, ABS(hit - mean) AS up, ABS(miss - mean) AS down FROM expected)
SELECT
  {_sums(_LOSSES)},
  MAX(GREATEST(hit, miss) - LEAST(hit, miss)), MAX(GREATEST(hit, miss)),
  SUM(CASE WHEN given = 0 THEN 1 ELSE 0 END), SUM(CASE WHEN given < {LOG_FLOOR!r} THEN 1 ELSE 0 END)
FROM apart"""


def _claims(claimed: Claimed, table: str, key: str) -> str:
    score = f"CAST({claimed.score} AS DOUBLE PRECISION)"
    return f"SELECT {key} AS stratum, {score} AS s, {claimed.outcome} AS y FROM {table}"


def _sums(terms: Sequence[str]) -> str:
    return ",\n  ".join(map(_units, terms))


def _units(term: str) -> str:
    return f"SUM(CAST(((({term}) + {_SHIFT!r}) - {_SHIFT!r}) * {1 / _UNIT!r} AS BIGINT))"


def quoted(name: str) -> str:
    """A column's name in SQL.

    >>> quoted("true label")
    '"true label"'
    """
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"
