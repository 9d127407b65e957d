"""Summaries of Parquet files that DuckDB groups: no row but the sample's comes into Python, and no bit differs."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import LOG_FLOOR, Codes, Float64s, frozen
from calib_core._base.column_texts import value_text
from calib_core.claims.exact_sums import ExactSums
from calib_core.defaults import SEED
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.readers.conversion import predictions
from calib_core.readers.formats.parquet import columns_of
from calib_core.readers.proposal.proposed_reading import propose
from calib_core.readers.reading import Reading
from calib_core.readers.streams import runs
from calib_core.readers.table import file_label
from calib_core.summaries.cells import SUMS, Cells
from calib_core.summaries.fine_grid import CELLS, cells_of
from calib_core.summaries.grouped_sql import (
    Claimed,
    all_sums,
    cell_sums,
    grid,
    grid_table,
    looked_over,
    quoted,
    rare_losses,
    text,
    with_grid,
)
from calib_core.summaries.kept_rows import Sample, row_keys, sample_size
from calib_core.summaries.mergeable import MOST_VALUES, Summary
from calib_core.summaries.score_sums import LossSums, claim_losses

_KEYS = 1 << 15
"""Rows whose keys are made at a time: few enough for the processor's own memory."""

Paths = str | os.PathLike[str]


def counting_sql(source: Paths, table: str = "predictions", **changes: Any) -> str:
    """The SQL that counts a table in a warehouse as a summary of ``source`` counts its rows.

    ``source`` is a file with the table's columns and some of its rows, ``table`` the table's name, ``changes`` fields
    of Reading. Each line of the answer is a predicted class (0 where none is known) and a cell of the grid, with the
    number of claims, of those that came true, and sums of whole units of 2^-40, which add up exactly in any order.
    What can mislead: the SQL does not check rows; a confidence outside [0, 1] is left out.

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
    """The summary of Parquet files, grouped by DuckDB: the bits of ``summarise`` at several times its speed.

    For tables of a confidence beside whether it was correct, or beside the predicted class and the label; others are
    refused, since their log loss is rounded differently by every machine. All files have the same columns, of the same
    types, and are read as the first rows of the first suggest; ``columns``, ``seed`` and ``changes`` as in
    ``summarise``. ``threads`` is how many DuckDB may use, 0 for all; its memory stays below 1 GB. InputError names the
    first row that cannot be counted.
    """
    paths = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if importlib.util.find_spec("duckdb") is None:
        raise InputError("counting in DuckDB needs duckdb; run: pip install calib[duckdb]")
    if not paths:
        raise InputError("no file is given to summarise; give at least one path")
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
    """How a file is read, and the predictions of its first rows."""
    run = next(iter(runs(path)), None)
    if run is None:
        raise InputError(f"{file_label(os.fspath(path))} has 0 rows; save at least one prediction")
    reading = propose(run.table, **changes).replace(metadata=tuple(columns))
    return reading, predictions(run.table, reading)


def _alike(paths: Sequence[Paths], reading: Reading, columns: Sequence[str]) -> list[int]:
    """How many rows each file has; InputError unless all have the columns that are read, in the same types."""
    read, rows = dict.fromkeys((*reading.used, *columns)), []
    types: dict[str, str] = {}
    for path in paths:
        name = file_label(os.fspath(path))
        if any(sign in os.fspath(path) for sign in "*?["):
            raise InputError(f"{name}: DuckDB takes *, ? and [ in a path for a pattern; rename the file")
        n, found = columns_of(path, list(read))
        types = types or found
        if found[str(reading.confidence)] not in ("float", "double"):
            raise InputError(f"{name}: DuckDB counts confidences in single or double precision; summarise it without")
        if found != types:
            raise InputError(
                f"{name} has columns of other types than {file_label(os.fspath(paths[0]))}; save them alike"
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
    """The columns of an answer, as Python's whole numbers, which have no bounds."""
    lines = duck.execute(sql).fetchall()
    return [np.array(column, dtype=object) for column in zip(*lines, strict=True)]


def _extremes(duck: Any, table: str, claimed: Claimed, columns: Sequence[str]) -> Float64s:
    """The least and the largest confidence; InputError names the first row that cannot be counted."""
    wrong = " OR ".join([claimed.wrong, *(f"{quoted(c)} IS NULL" for c in columns)])
    number, *extremes = duck.execute(looked_over(claimed, table, wrong)).fetchone()
    if number:
        file, row = duck.execute(
            f"SELECT filename, file_row_number FROM {table} WHERE {wrong} ORDER BY 1, 2 LIMIT 1"
        ).fetchone()
        raise InputError(
            f"{file_label(file)}: row {row + 1:,} cannot be counted: a value is missing, a confidence lies "
            "outside 0 to 1, or a class is not among those of the first rows; mend it, or give classes="
        )
    return np.array(extremes, dtype=np.float64)


def _exact(columns: Sequence[Any]) -> ExactSums:
    """Sums that came as whole numbers of units."""
    whole = np.array([[int(u) >> 40 for u in column] for column in columns], dtype=np.int64)
    part = np.array([[int(u) & ((1 << 40) - 1) for u in column] for column in columns], dtype=np.int64)
    return ExactSums(whole, part)


def _cells(lines: Sequence[Any]) -> Cells:
    stratum, cell, count, outcome = (a.astype(np.intp) for a in lines[:4])
    place, sums = stratum * CELLS + cell, _exact(lines[4:])
    order = np.argsort(place)
    return Cells(*(frozen(a[..., order]) for a in (place, count, outcome, sums.whole, sums.part)))


def _top(lines: Sequence[Any]) -> Cells:
    """The cells of the claims made: those that came true and those that did not are counted apart."""
    place, true = np.divmod(lines[0].astype(np.intp), 2)
    parts = []
    for outcome in (0, 1):
        mine = true == outcome
        number = lines[1][mine]
        units = (column[mine] for column in lines[2 : 2 + len(SUMS)])
        parts.append(_cells([*np.divmod(place[mine], CELLS), number, number * outcome, *units]))
    return Cells.together(parts)


def _losses(lines: Sequence[Any], extremes: Float64s, duck: Any, table: str, claimed: Claimed) -> LossSums:
    """The sums of the Brier score: of claims that came true and others, above one half and below it."""
    place, true = np.divmod(lines[0].astype(np.intp), 2)
    hit, miss, *others = lines[2 + len(SUMS) :]
    # Above one half a claim that comes true costs less than one that does not.
    surer = place % CELLS >= cells_of(np.array([0.5]))[0]
    columns = [np.where(true, hit, miss), *others, np.where(surer, hit, miss), np.where(surer, miss, hit)]
    sums = _exact([[sum(column)] for column in columns])
    whole, part = (frozen(np.ascontiguousarray(a[:, 0])) for a in (sums.whole, sums.part))
    # Both the most that is lost, and how far it is from the least, grow with the distance from one half.
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
    # Its own text has the digits of 32 bits where a value is stored in them.
    named = {cast: value_text(float(cast) if isinstance(value, float) else value) for value, cast in found}
    values = sorted(set(named.values()))
    if len(values) > MOST_VALUES:
        raise InputError(
            f"column {column!r} has more than {MOST_VALUES} values: choose a column of groups, or leave it out"
        )
    codes = {cast: values.index(value) for cast, value in named.items()}
    keys = " ".join(f"WHEN {text(cast)} THEN {code}" for cast, code in codes.items() if cast is not None)
    code = f"CASE CAST({name} AS VARCHAR) {keys} ELSE {codes.get(None, 0)} END" if keys else "0"
    every = _cells(_fetched(duck, cell_sums(claimed, table, code)))
    return {value: every.stratum(i) for i, value in enumerate(values)}


def _sample(
    duck: Any, paths: Sequence[Paths], rows: Sequence[int], table: str, claimed: Claimed, size: int, seed: int
) -> Sample:
    """The rows with the smallest keys: which they are depends on their numbers alone."""
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
    """The smallest keys, ascending, and what goes with them."""
    order = np.argsort(keys, kind="stable")[:size]
    return keys[order], places[order]
