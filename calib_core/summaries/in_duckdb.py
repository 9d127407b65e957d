"""Summaries of Parquet files by DuckDB: only the sampled rows reach Python, and the result is identical to the bit."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import LOG_FLOOR, Codes, Float64s, FloatType, frozen
from calib_core._base.pandas_input import value_text
from calib_core.claims.exact_sums import ROUNDING, ExactSums
from calib_core.defaults import SEED
from calib_core.predictions.predictions import InputError, Kind, Predictions
from calib_core.readers.conversion import predictions
from calib_core.readers.formats.parquet import columns_of
from calib_core.readers.proposal.proposed_reading import propose_by_first
from calib_core.readers.reading import Reading
from calib_core.readers.streams import runs
from calib_core.readers.table import file_label
from calib_core.summaries.cells import CELLS, EDGES, SUMS, Cells, cells_of
from calib_core.summaries.counted_claims import LossSums, claim_losses
from calib_core.summaries.mergeable import MOST_VALUES, Sample, Summary, row_keys, sample_size

_SLOTS = 4096
"""Slots of equal width in [0, 1], a power of two: a row looks up its slot's line and compares it with few edges."""
_UNIT = 2.0 * ROUNDING
_SHIFT = 6144.0  # adding and subtracting it rounds to units: here, adjacent double-precision numbers are one unit apart
_POWERS = ("s", "r * r", "r * r * r", "(r * r) * (r * r)", "v", "v * v")
_LOSSES = (
    "hit", "miss", "mean", "s * (up * up) + (1.0 - s) * (down * down)",
    "s * (up * up * up) + (1.0 - s) * (down * down * down)", "(seen - mean) * (seen - mean)",
)  # fmt: skip
GRID = "grid"
"""Table of the grid, if a statement does not begin with it."""


@dataclass(frozen=True)
class Claimed:
    """SQL expressions for a table's confidence, and for its outcome or the classes that determine it.

    ``outcome`` is SQL for 0 or 1. ``predicted`` and ``label`` are SQL for a class number, None if no classes are known.
    ``wrong`` is true for rows that cannot be counted.
    """

    kind: Kind
    class_names: tuple[str, ...] | None
    dtype: FloatType
    score: str
    outcome: str
    predicted: str | None
    label: str | None
    wrong: str

    @classmethod
    def of(cls, reading: Reading, seen: Predictions) -> Claimed:
        """Return the expressions for a reading; InputError if these counts cannot represent its rows."""
        unread = [n for n in ("split", "weights", "group", "models") if getattr(reading, n) is not None]
        plain = reading.kind == "probabilities" and reading.missing == "error" and not unread
        if reading.layout not in ("confidence", "top-label") or not plain:
            raise InputError(
                "SQL can count only tables with a confidence in [0, 1] and its correctness, or predicted class and "
                "label, without weights or groups. Summarize this file without an engine"
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
    """SQL for the number of the class that a column names, NULL if it names none."""
    if reading.label_coding not in ("0-based", "1-based", "names"):
        raise InputError("SQL can count only labels that are numbers or names of classes; summarize without an engine")
    first = {"0-based": 0, "1-based": 1}.get(reading.label_coding)
    keys = [text(name) for name in names] if first is None else [str(first + i) for i in range(len(names))]
    return f"CASE {quoted(column)} " + " ".join(f"WHEN {key} THEN {i}" for i, key in enumerate(keys)) + " END"


def grid(dtype: FloatType) -> dict[str, list[object]]:
    """Return a line for every slot: its number, its first cell, and the edges inside it (2 for none).

    The edges have the type of the scores.
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


def grid_table(dtype: FloatType) -> str:
    """SQL that creates the table of the grid from its columns, one parameter each."""
    return f"CREATE TABLE {GRID} AS SELECT {', '.join(f'unnest(?) AS {name}' for name in grid(dtype))}"


def with_grid(dtype: FloatType) -> str:
    """SQL for the grid as the beginning of a statement."""
    columns = grid(dtype)
    lines = ",\n  ".join(str(tuple(line)) for line in zip(*columns.values(), strict=True))
    return f"WITH {GRID}({', '.join(columns)}) AS (VALUES\n  {lines}),\n"


def cell_sums(claimed: Claimed, table: str, key: str | None = None, begin: str = "WITH ") -> str:
    """SQL for one line per key and nonempty cell: key, cell, number, occurred outcomes, sums in units of 2^-40.

    The sums are of the confidence s; of r^2, r^3 and r^4, with r the outcome minus s; of v = s (1 - s) and of v^2.
    The table ``GRID`` must exist, unless the statement begins with the grid.
    """
    return f"""{begin}{_placed(claimed, table, key or claimed.predicted or "0", "terms")}
SELECT stratum, cell, COUNT(*), SUM(y),
  {_sums(_POWERS)}
FROM placed
GROUP BY stratum, cell"""


def all_sums(claimed: Claimed, table: str) -> str:
    """SQL for one line per cell of each predicted class and outcome, with the same sums and those of the losses.

    The first column is 2 (class * CELLS + cell) + y, a single number because one groups faster than three; the second
    is the number of claims. The sums of powers are followed by those of the Brier score (of two classes) if the outcome
    occurs and if not. Then come those of its mean, variance and third absolute moment, and of (loss - mean)^2.
    """
    return f"""WITH {_placed(claimed, table, claimed.predicted or "0", "apart")}
SELECT CAST((stratum * {CELLS} + cell) * 2 + y AS INTEGER) AS place, COUNT(*),
  {_sums((*_POWERS, *_LOSSES), _cast)}
FROM placed
GROUP BY place"""


def looked_over(claimed: Claimed, table: str, wrong: str) -> str:
    """SQL for one line: the number of rows that cannot be counted, and the smallest and largest confidence."""
    return f"SELECT COUNT(*) FILTER (WHERE {wrong}), MIN({claimed.score}), MAX({claimed.score}) FROM {table}"


def rare_losses(claimed: Claimed, table: str) -> str:
    """SQL for one line: the rows that gave the outcome probability 0, and those below the floor of the logarithm."""
    return f"""WITH claims AS ({_claims(claimed, table, "0")}),
given AS (SELECT CASE WHEN y = 1 THEN s ELSE 1.0 - s END AS given FROM claims)
SELECT COUNT(*) FILTER (WHERE given = 0), COUNT(*) FROM given WHERE given < {LOG_FLOOR!r}"""


def _placed(claimed: Claimed, table: str, key: str, of: str) -> str:
    """SQL for the claims with their summands, and their cells."""
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
    """SQL for a sum in units, in any dialect, however its casts round halves."""
    return f"SUM(CAST(((({term}) + {_SHIFT!r}) - {_SHIFT!r}) * {1 / _UNIT!r} AS BIGINT))"


def _cast(term: str) -> str:
    """SQL for a sum in units in DuckDB, whose casts round half to even."""
    return f"SUM(CAST(({term}) * {1 / _UNIT!r} AS BIGINT))"


def _sums(terms: Sequence[str], in_units: Callable[[str], str] = _units) -> str:
    return ",\n  ".join(map(in_units, terms))


def quoted(name: str) -> str:
    """Quote a column name for SQL.

    >>> quoted("true label")
    '"true label"'
    """
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Quote a text for SQL."""
    return "'" + value.replace("'", "''") + "'"


_KEYS = 1 << 15
"""Number of rows whose keys are computed at once: few enough for the processor's cache."""

Paths = str | os.PathLike[str]


def counting_sql(source: Paths, table: str = "predictions", **changes: Any) -> str:
    """SQL that counts a table in a data warehouse as a summary of ``source`` counts its rows.

    ``source`` is a file with the table's columns and some of its rows, ``table`` the table's name, and ``changes``
    fields of Reading. Each line of the result is a predicted class (0 if unknown) and a cell of the grid. It has the
    number of claims, of occurred outcomes, and sums in whole units of 2^-40, which add up exactly in any order. What
    can mislead: the SQL does not check rows; rows with a confidence outside [0, 1] are left out.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("confidence,correct\\n0.7,1\\n0.2,0\\n")
    ...     counting_sql(path).endswith("GROUP BY stratum, cell")
    True
    """
    reading, seen = _first(source, (), changes)
    claimed = Claimed.of(reading, seen)
    return cell_sums(claimed, table, begin=with_grid(claimed.dtype))


def count_in_duckdb(
    source: Paths | Sequence[Paths],
    *,
    columns: Sequence[str] = (),
    seed: int = SEED,
    threads: int = 0,
    progress: Callable[[float], None] = lambda share: None,
    **changes: Any,
) -> Summary:
    """Summarize Parquet files with DuckDB: the result of ``summarise`` to the bit, several times as fast.

    For tables of a confidence with its correctness, or with the predicted class and the label. Others are refused,
    because their log loss is rounded differently on different machines. All files need the same columns and types, and
    are read as the first rows of the first file suggest. ``columns``, ``seed`` and ``changes`` as in ``summarise``.
    ``threads`` limits DuckDB's threads, 0 for all; its memory stays below 1 GB. InputError names the first row that
    cannot be counted.
    """
    paths = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if importlib.util.find_spec("duckdb") is None:
        raise InputError("counting in DuckDB needs duckdb. Run: pip install calib[duckdb]")
    if not paths:
        raise InputError("no file is given to summarize; give at least one path")
    import duckdb

    reading, seen = _first(paths[0], columns, changes)
    claimed = Claimed.of(reading, seen)
    rows = _alike(paths, reading, columns)
    config: dict[str, Any] = {"memory_limit": "800MB", "autoinstall_known_extensions": False}
    if threads:
        config["threads"] = threads
    try:
        with duckdb.connect(config=config) as duck:
            return _counted(duck, paths, rows, claimed, reading, seen, columns, seed, progress)
    except duckdb.Error as e:
        first = str(e).splitlines()[0][:200]
        raise InputError(f"DuckDB could not count {file_label(os.fspath(paths[0]))}: {first}") from e


def _first(path: Paths, columns: Sequence[str], changes: dict[str, Any]) -> tuple[Reading, Predictions]:
    """Return the reading of a file, and the predictions of its first rows."""
    run = next(iter(runs(path)), None)
    if run is None:
        raise InputError(f"{file_label(os.fspath(path))} has no data rows; save at least one prediction")
    reading = propose_by_first(run.table, **changes).replace(metadata=tuple(columns))
    return reading, predictions(run.table, reading)


def _alike(paths: Sequence[Paths], reading: Reading, columns: Sequence[str]) -> list[int]:
    """Return the number of rows in each file; InputError unless all have the needed columns and types."""
    read, rows = dict.fromkeys((*reading.used, *columns)), []
    types: dict[str, str] = {}
    for path in paths:
        name = file_label(os.fspath(path))
        if any(sign in os.fspath(path) for sign in "*?["):
            raise InputError(f"{name}: DuckDB reads *, ? and [ in a path as a pattern; rename the file")
        n, found = columns_of(path, list(read))
        types = types or found
        if found[str(reading.confidence)] not in ("float", "double"):
            raise InputError(f"{name}: DuckDB counts only single or double precision confidences; summarize without it")
        if found != types:
            raise InputError(
                f"{name} has columns of other types than {file_label(os.fspath(paths[0]))}; save both with the same "
                "types"
            )
        rows.append(n)
    return rows


def _counted(
    duck: Any,
    paths: Sequence[Paths],
    rows: Sequence[int],
    claimed: Claimed,
    reading: Reading,
    seen: Predictions,
    columns: Sequence[str],
    seed: int,
    progress: Callable[[float], None],
) -> Summary:
    files = ", ".join(text(os.fspath(path)) for path in paths)
    table = f"read_parquet([{files}], filename = true, file_row_number = true)"
    extremes = _extremes(duck, table, claimed, columns)
    progress(0.1)
    duck.execute(grid_table(claimed.dtype), list(grid(claimed.dtype).values()))
    lines = _fetched(duck, all_sums(claimed, table))
    top, losses = _top(lines), _losses(lines, extremes, duck, table, claimed)
    progress(0.8)
    k = len(claimed.class_names or ())
    labels = None if claimed.label is None else _label_counts(duck, table, claimed.label, k)
    slices = {column: _slices(duck, table, claimed, column) for column in columns}
    sample = _sample(duck, paths, rows, table, claimed, sample_size(k or 1), seed)
    progress(1.0)
    notes = tuple(sorted(seen.notes))
    return Summary(
        claimed.kind,
        claimed.class_names,
        claimed.dtype,
        top,
        None,
        labels,
        {"brier": losses},
        slices,
        sample,
        notes,
        outcome=seen.outcome,
    )


def _fetched(duck: Any, sql: str) -> list[np.ndarray[Any, Any]]:
    """Return the columns of a result as Python integers, which are unbounded."""
    lines = duck.execute(sql).fetchall()
    return [np.array(column, dtype=object) for column in zip(*lines, strict=True)]


def _extremes(duck: Any, table: str, claimed: Claimed, columns: Sequence[str]) -> Float64s:
    """Return the smallest and largest confidence; InputError names the first row that cannot be counted."""
    wrong = " OR ".join([claimed.wrong, *(f"{quoted(c)} IS NULL" for c in columns)])
    number, *extremes = duck.execute(looked_over(claimed, table, wrong)).fetchone()
    if number:
        file, row = duck.execute(
            f"SELECT filename, file_row_number FROM {table} WHERE {wrong} ORDER BY 1, 2 LIMIT 1"
        ).fetchone()
        raise InputError(
            f"{file_label(file)}: row {row + 1:,} cannot be counted. A value is missing, a confidence is outside 0 to "
            "1, or a class is not among those of the first rows. Correct it, or give classes="
        )
    return np.array(extremes, dtype=np.float64)


def _exact(columns: Sequence[Any]) -> ExactSums:
    """Convert sums in whole units to ExactSums."""
    whole = np.array([[int(u) >> 40 for u in column] for column in columns], dtype=np.int64)
    part = np.array([[int(u) & ((1 << 40) - 1) for u in column] for column in columns], dtype=np.int64)
    return ExactSums(whole, part)


def _cells(lines: Sequence[Any]) -> Cells:
    stratum, cell, count, outcome = (a.astype(np.intp) for a in lines[:4])
    place, sums = stratum * CELLS + cell, _exact(lines[4:])
    order = np.argsort(place)
    return Cells(*(frozen(a[..., order]) for a in (place, count, outcome, sums.whole, sums.part)))


def _top(lines: Sequence[Any]) -> Cells:
    """Return the cells of the top-label claims; occurred and other outcomes arrive separately."""
    place, true = np.divmod(lines[0].astype(np.intp), 2)
    parts = []
    for outcome in (0, 1):
        mine = true == outcome
        number = lines[1][mine]
        units = (column[mine] for column in lines[2 : 2 + len(SUMS)])
        parts.append(_cells([*np.divmod(place[mine], CELLS), number, number * outcome, *units]))
    return Cells.together(parts)


def _losses(lines: Sequence[Any], extremes: Float64s, duck: Any, table: str, claimed: Claimed) -> LossSums:
    """Return the sums of the Brier score, separately by outcome and by confidence above and below 1/2."""
    place, true = np.divmod(lines[0].astype(np.intp), 2)
    hit, miss, *others = lines[2 + len(SUMS) :]
    # Above 1/2, a claim costs less if the outcome occurs.
    surer = place % CELLS >= cells_of(np.array([0.5]))[0]
    columns = [np.where(true, hit, miss), *others, np.where(surer, hit, miss), np.where(surer, miss, hit)]
    sums = _exact([[sum(column)] for column in columns])
    whole, part = (frozen(np.ascontiguousarray(a[:, 0])) for a in (sums.whole, sums.part))
    # The largest possible loss, and its distance to the smallest, grow with the distance from 1/2.
    ends = claim_losses(extremes, np.ones(2, dtype=bool))
    rare = min(extremes[0], 1.0 - extremes[1]) < LOG_FLOOR
    impossible, floored = duck.execute(rare_losses(claimed, table)).fetchone() if rare else (0, 0)
    return LossSums(int(sum(lines[1])), whole, part, ends.reach, ends.highest, impossible, floored)


def _label_counts(duck: Any, table: str, label: str, n_classes: int) -> Codes:
    code, count = _fetched(duck, f"SELECT {label} AS code, COUNT(*) FROM {table} GROUP BY code")
    found = np.zeros(n_classes, dtype=np.intp)
    found[code.astype(np.intp)] = count.astype(np.intp)
    return frozen(found)


def _slices(duck: Any, table: str, claimed: Claimed, column: str) -> dict[str, Cells]:
    name = quoted(column)
    found = duck.execute(f"SELECT DISTINCT {name}, CAST({name} AS VARCHAR) FROM {table} LIMIT 1000").fetchall()
    # DuckDB's own text has the digits of 32 bits if values are stored in 32 bits.
    named = {cast: value_text(float(cast) if isinstance(value, float) else value) for value, cast in found}
    values = sorted(set(named.values()))
    if len(values) > MOST_VALUES:
        raise InputError(
            f"column {column!r} has more than {MOST_VALUES} values; choose a column of groups, or leave it out"
        )
    codes = {cast: values.index(value) for cast, value in named.items()}
    keys = " ".join(f"WHEN {text(cast)} THEN {code}" for cast, code in codes.items() if cast is not None)
    code = f"CASE CAST({name} AS VARCHAR) {keys} ELSE {codes.get(None, 0)} END" if keys else "0"
    every = _cells(_fetched(duck, cell_sums(claimed, table, code)))
    return {value: every.stratum(i) for i, value in enumerate(values)}


def _sample(
    duck: Any, paths: Sequence[Paths], rows: Sequence[int], table: str, claimed: Claimed, size: int, seed: int
) -> Sample:
    """Return the rows with the smallest keys, which depend only on row numbers."""
    keys, places, most = np.zeros(0, dtype=np.uint64), np.zeros((0, 2), dtype=np.intp), np.iinfo(np.uint64).max
    for i, (path, n) in enumerate(zip(paths, rows, strict=True)):
        for first in range(0, n, _KEYS):
            new = row_keys(seed, file_label(os.fspath(path)), first, min(_KEYS, n - first))
            few = np.flatnonzero(new <= most)
            keys = np.append(keys, new[few])
            places = np.append(places, np.column_stack([np.full(len(few), i), first + few]), axis=0)
            if len(keys) > 2 * size:
                keys, places = _least(keys, places, size)
                most = keys[-1]
    keys, places = _least(keys, places, size)
    chosen = [os.fspath(paths[i]) for i in places[:, 0]], places[:, 1].tolist(), list(range(len(places)))
    duck.execute("CREATE TABLE chosen(file, number, place) AS SELECT unnest(?), unnest(?), unnest(?)", chosen)
    found = _fetched(
        duck,
        f"SELECT place, {claimed.score}, {claimed.label or claimed.outcome}, {claimed.predicted or 0} "
        f"FROM {table} AS t JOIN chosen ON filename = chosen.file AND file_row_number = chosen.number ORDER BY place",
    )
    scores: Any = found[1].astype(claimed.dtype)[:, None]
    labels: Codes = found[2].astype(np.intp)
    predicted = found[3].astype(np.intp) if claimed.predicted else np.zeros(0, dtype=np.intp)
    return Sample(size, frozen(keys), frozen(scores), frozen(labels), frozen(predicted))


def _least(keys: NDArray[np.uint64], places: Codes, size: int) -> tuple[NDArray[np.uint64], Codes]:
    """Return the smallest keys, ascending, with their places."""
    order = np.argsort(keys, kind="stable")[:size]
    return keys[order], places[order]
