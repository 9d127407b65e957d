"""The counts of a summary as SQL: whoever holds the rows groups them, and only sums come back, exact to the unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib_core._base.arrays import LOG_FLOOR
from calib_core.claims.exact_sums import ROUNDING
from calib_core.predictions.predictions import InputError, Kind, Predictions
from calib_core.readers.reading import Reading
from calib_core.summaries.fine_grid import CELLS, EDGES

_SLOTS = 4096
"""Slots of equal width in [0, 1], a power of two: a row looks up its slot's line, and compares few edges."""
_UNIT = 2.0 * ROUNDING
_SHIFT = 6144.0  # near it neighbours in double precision are one unit apart: adding and taking it off rounds to units
_POWERS = ("s", "r * r", "r * r * r", "(r * r) * (r * r)", "v", "v * v")
_LOSSES = (
    "hit", "miss", "mean", "s * (up * up) + (1.0 - s) * (down * down)",
    "s * (up * up * up) + (1.0 - s) * (down * down * down)", "(seen - mean) * (seen - mean)",
)  # fmt: skip
GRID = "grid"
"""The table of the grid, where a statement does not begin with it."""


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


def grid(dtype: np.dtype[Any]) -> dict[str, list[Any]]:
    """A line for every slot: its number, the cell at its start, and the edges inside it, 2 where there are no more.

    Edges are as scores of this type are compared with them.
    """
    edges = EDGES.astype(dtype).astype(np.float64)
    starts = np.searchsorted(edges, np.arange(_SLOTS + 2) / _SLOTS, side="left")
    cell = np.searchsorted(edges, np.arange(_SLOTS + 1) / _SLOTS, side="right")
    longer = np.append(edges, np.full(len(edges), 2.0))
    lines: dict[str, list[Any]] = {"slot": list(range(_SLOTS + 1)), "first_cell": cell.tolist()}
    for i in range(int((starts[1:] - cell).max())):
        inside = cell + i
        lines[f"edge_{i}"] = np.where(inside < starts[1:], longer[inside], 2.0).tolist()
    return lines


def grid_table(dtype: np.dtype[Any]) -> str:
    """The statement that makes the table of the grid of its columns, one parameter each."""
    return f"CREATE TABLE {GRID} AS SELECT {', '.join(f'unnest(?) AS {name}' for name in grid(dtype))}"


def with_grid(dtype: np.dtype[Any]) -> str:
    """The grid as the beginning of a statement."""
    columns = grid(dtype)
    lines = ",\n  ".join(str(tuple(line)) for line in zip(*columns.values(), strict=True))
    return f"WITH {GRID}({', '.join(columns)}) AS (VALUES\n  {lines}),\n"


def cell_sums(claimed: Claimed, table: str, key: str | None = None, begin: str = "WITH ") -> str:
    """One line for each key and cell that hold claims: key, cell, number, how many came true, sums in units of 2^-40.

    The sums are of the confidence s, of r^2, r^3 and r^4 with r what came true less s, of v = s (1 - s) and of v^2.
    There is a table ``GRID``, unless the statement begins with one.
    """
    return f"""{begin}{_placed(claimed, table, key or claimed.predicted or "0", "terms")}
SELECT stratum, cell, COUNT(*), SUM(y),
  {_sums(_POWERS)}
FROM placed
GROUP BY stratum, cell"""


def all_sums(claimed: Claimed, table: str) -> str:
    """One line for each cell of each predicted class and what came true, with those sums and the losses'.

    First comes 2 (class * CELLS + cell) + y, in one number since one groups faster than three, and how many claims;
    after the sums of powers those of the Brier score (of two classes) if the claim comes true and if not, of its mean,
    variance and third absolute moment, and of what was lost less the mean, squared.
    """
    return f"""WITH {_placed(claimed, table, claimed.predicted or "0", "apart")}
SELECT CAST((stratum * {CELLS} + cell) * 2 + y AS INTEGER) AS place, COUNT(*),
  {_sums((*_POWERS, *_LOSSES), _cast)}
FROM placed
GROUP BY place"""


def looked_over(claimed: Claimed, table: str, wrong: str) -> str:
    """One line: how many rows cannot be counted, and the least and the largest confidence."""
    return f"SELECT COUNT(*) FILTER (WHERE {wrong}), MIN({claimed.score}), MAX({claimed.score}) FROM {table}"


def rare_losses(claimed: Claimed, table: str) -> str:
    """One line: how many rows gave what happened 0, and how many less than the floor of the logarithm."""
    return f"""WITH claims AS ({_claims(claimed, table, "0")}),
given AS (SELECT CASE WHEN y = 1 THEN s ELSE 1.0 - s END AS given FROM claims)
SELECT COUNT(*) FILTER (WHERE given = 0), COUNT(*) FROM given WHERE given < {LOG_FLOOR!r}"""


def _placed(claimed: Claimed, table: str, key: str, of: str) -> str:
    """The claims with what is summed of them, and the cells they lie in."""
    edges = [name for name in grid(claimed.dtype) if name.startswith("edge")]
    cell = " + ".join(["first_cell", *(f"CASE WHEN s >= {edge} THEN 1 ELSE 0 END" for edge in edges)])
    return f"""claims AS ({_claims(claimed, table, key)}),
terms AS (SELECT *, y - s AS r, s * (1.0 - s) AS v, 2.0 * ((1.0 - s) * (1.0 - s)) AS hit, 2.0 * (s * s) AS miss
  FROM claims),
expected AS (SELECT *, s * hit + (1.0 - s) * miss AS mean, 2.0 * (r * r) AS seen FROM terms),
apart AS (SELECT *, ABS(hit - mean) AS up, ABS(miss - mean) AS down FROM expected),
placed AS (SELECT *, {cell} AS cell
  FROM {of} JOIN {GRID} ON {GRID}.slot = CAST(FLOOR(s * {_SLOTS}) AS INTEGER))"""


def _claims(claimed: Claimed, table: str, key: str) -> str:
    score = f"CAST({claimed.score} AS DOUBLE PRECISION)"
    return f"SELECT {key} AS stratum, {score} AS s, {claimed.outcome} AS y FROM {table}"


def _units(term: str) -> str:
    """In any dialect of SQL, whatever its casts do to halves."""
    return f"SUM(CAST(((({term}) + {_SHIFT!r}) - {_SHIFT!r}) * {1 / _UNIT!r} AS BIGINT))"


def _cast(term: str) -> str:
    """The same in DuckDB, whose casts round half to even."""
    return f"SUM(CAST(({term}) * {1 / _UNIT!r} AS BIGINT))"


def _sums(terms: Sequence[str], in_units: Callable[[str], str] = _units) -> str:
    return ",\n  ".join(map(in_units, terms))


def quoted(name: str) -> str:
    """A column's name in SQL.

    >>> quoted("true label")
    '"true label"'
    """
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text in SQL."""
    return "'" + value.replace("'", "''") + "'"
