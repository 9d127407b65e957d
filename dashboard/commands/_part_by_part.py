"""Recalibration of files of any size in parts: each part is read, mapped and written before the next."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format

from calib_core import InputError, Predictions
from calib_core.calibrators import Calibrator
from calib_core.readers import Reading, propose, streams
from dashboard.commands import _opened_models, _outputs
from dashboard.commands._recalibrated_files import Columns, columns_for, frame_of, json_lines
from dashboard.export import csv_bytes

SMALL = 16 << 20
"""Largest size in bytes of a file that is always read at once."""
ENDINGS = ("csv", "parquet", "jsonl", "npy")
"""Endings of files that can be written in parts."""


def in_parts(file: Path, ending: str, labels: Path | None, fields: Mapping[str, Any]) -> bool:
    """Return True if the file is read and written in parts: it has several, whose rows are unrelated."""
    if labels is not None:
        if ending not in ENDINGS:
            raise InputError(f"files with scores and labels are written in parts; end -o in .{', .'.join(ENDINGS)}")
        return True
    if ending not in ENDINGS or not file.is_file() or file.stat().st_size <= SMALL:
        return False
    first = next(iter(streams.runs(file)))
    if first.share == 1:
        return False
    reading = propose(first.table, **fields)
    return reading.layout not in ("samples", "summary") and reading.models is None


@dataclass
class Applied:
    """Totals over all parts: rows, answered rows, and notes on some of them."""

    rows: int = 0
    weight: float = 0.0
    answered: float = 0.0
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def coverage(self) -> float:
        """Return the share of answered rows."""
        return self.answered / self.weight


class _WiderError(Exception):
    """Error for a part that does not fit the column types of the earlier parts."""


def recalibrate(
    fitted: Calibrator, file: Path, output: Path, ending: str, labels: Path | None, fields: Mapping[str, Any]
) -> Applied:
    """Write the recalibrated rows of a file, and return their number.

    The types of columns fit all parts: if a later part needs others than the earlier ones, such as words among numbers,
    writing starts again. Labels of an NPY matrix come from the file ``labels``.
    """
    kinds: dict[str, np.dtype[Any]] = {}
    first_rows(file, labels, fields)
    while True:
        applied = Applied()
        try:
            with _outputs.aside(output) as target, _SINKS[ending](target) as add:
                _every_part(fitted, file, ending, labels, fields, kinds, add, applied)
        except _WiderError:
            continue
        return applied


def first_rows(file: Path, labels: Path | None, fields: Mapping[str, Any]) -> Reading:
    """Return how all rows are read, judged by the first of them; write the findings about these to stderr."""
    first = next(iter(streams.parts(file, labels=labels, **fields)))
    table, rows = first.run.table, first.predictions
    _outputs.warn(_opened_models.remarks_on_part(table, first.reading, rows, frozenset(fields)))
    return first.reading


def fit(
    calibrator: Calibrator, file: Path, labels: Path | None, rows: str, fields: Mapping[str, Any]
) -> tuple[int, str]:
    """Fit a calibrator a part at a time; return the number of rows and the calibrator as text.

    ``rows`` are "all", those a column marks "calibration", or "auto": these where a column marks them.
    """
    reading = first_rows(file, labels, fields)
    if rows == "auto":
        rows = "all" if reading.split is None else "calibration"
    watched = _Watched(file, {"labels": labels, "rows": rows, **fields})
    fitted = calibrator.fit_parts(watched)
    return watched.rows, fitted.to_json()


@dataclass
class _Watched:
    """Parts of a file, with a progress bar for each pass over it and the number of its rows."""

    path: Path
    how: Mapping[str, Any]
    rows: int = 0

    def __iter__(self) -> Iterator[Predictions]:
        rows = 0
        with _outputs.progress("Reading rows", 1000) as bar:
            for part in streams.streamed(
                self.path, progress=lambda share: bar.update(int(1000 * share) - bar.pos), **self.how
            ):
                rows += part.n_rows
                self.rows = max(rows, self.rows)
                yield part


def _every_part(
    fitted: Calibrator,
    file: Path,
    ending: str,
    labels: Path | None,
    fields: Mapping[str, Any],
    kinds: dict[str, np.dtype[Any]],
    add: Callable[[Columns], None],
    applied: Applied,
) -> None:
    with _outputs.progress("Recalibrating rows", 1000) as bar:
        for part in streams.parts(file, labels=labels, **fields):
            rows = part.predictions
            after = fitted.apply(rows)
            columns = columns_for(ending, part.run.table, part.reading, after)
            if _widened(kinds, columns) and applied.rows:
                raise _WiderError
            add({name: _as_kind(columns, name, kind, rows.n_rows) for name, kind in kinds.items()})
            weight = float(rows.n_rows if rows.weights is None else rows.weights.sum())
            applied.rows += rows.n_rows
            applied.weight += weight
            applied.answered += after.coverage * weight
            applied.notes |= dict.fromkeys(rows.notes)
            bar.update(int(1000 * part.run.share) - bar.pos)


def _widened(kinds: dict[str, np.dtype[Any]], columns: Columns) -> bool:
    """Widen the kinds to fit these columns, too; return True if any had to change."""
    before = dict(kinds)
    for name, array in columns.items():
        both = (array.dtype, kinds.get(name, array.dtype))
        text = any(kind.kind in "OUS" for kind in both)
        kinds[name] = np.dtype(object) if text else np.result_type(*both)
    return kinds != before


def _as_kind(columns: Columns, name: str, kind: np.dtype[Any], rows: int) -> Any:
    """Return a part's column in the type of the whole; a missing column gives missing values."""
    array = columns.get(name)
    if array is None:
        return np.zeros(rows, dtype=kind)
    if kind.kind == "O" and array.dtype.kind not in "OUS":
        return np.array([str(value) for value in array.tolist()], dtype=object)
    return array.astype(kind, copy=False)


# -- formats ---------------------------------------------------------------------------------------------------

Sink = Callable[[IO[bytes]], contextlib.AbstractContextManager[Callable[[Columns], None]]]


@contextlib.contextmanager
def _csv(target: IO[bytes]) -> Iterator[Callable[[Columns], None]]:
    def add(columns: Columns) -> None:
        frame = frame_of(columns)
        header = len(csv_bytes(frame.iloc[:0])) if target.tell() else 0
        target.write(csv_bytes(frame)[header:])

    yield add


@contextlib.contextmanager
def _json(target: IO[bytes]) -> Iterator[Callable[[Columns], None]]:
    def add(columns: Columns) -> None:
        target.write(json_lines(columns))

    yield add


@contextlib.contextmanager
def _parquet(target: IO[bytes]) -> Iterator[Callable[[Columns], None]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as opened:
        writers: list[Any] = []

        def add(columns: Columns) -> None:
            table = pa.Table.from_pandas(
                frame_of(columns), schema=writers[0].schema if writers else None, preserve_index=False
            )
            if not writers:
                writers.append(opened.enter_context(pq.ParquetWriter(target, table.schema)))
            writers[0].write_table(table)

        yield add


@contextlib.contextmanager
def _npy(target: IO[bytes]) -> Iterator[Callable[[Columns], None]]:
    first: list[np.dtype[Any]] = []
    shape = [0]

    def header() -> None:
        how = {"descr": npy_format.dtype_to_descr(first[0]), "fortran_order": False, "shape": tuple(shape)}
        npy_format.write_array_header_1_0(target, how)

    def add(columns: Columns) -> None:
        array = np.ascontiguousarray(columns["array"])
        if not first:
            first.append(array.dtype)
            shape[1:] = array.shape[1:]
            header()
        target.write(array.tobytes())
        shape[0] += len(array)

    yield add
    target.seek(0)
    header()  # as long as before: numpy leaves room for the number of rows to grow


_SINKS: Mapping[str, Sink] = {"csv": _csv, "jsonl": _json, "parquet": _parquet, "npy": _npy}
