"""Read files of any size in runs of rows; each run is a table, read and checked like a whole file."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from calib_core.predictions.predictions import InputError, Predictions
from calib_core.readers import limits
from calib_core.readers.checks.examination import reader_doubts
from calib_core.readers.conversion import predictions, rows_of_part
from calib_core.readers.formats import decoders, delimited, npy
from calib_core.readers.formats.archives import ZIP
from calib_core.readers.formats.child_process import bounds, check_lengths
from calib_core.readers.formats.detection import check_ending, looks_like, read_table, table_of_lines
from calib_core.readers.formats.jsonl import one_value
from calib_core.readers.messages import size
from calib_core.readers.proposal.proposed_reading import propose_by_first
from calib_core.readers.reading import Reading
from calib_core.readers.table import SUMMARY, Table, file_label, unique_names
from calib_core.readers.text_encoding import utf8_blocks

VALUES, FEWEST_ROWS, MOST_ROWS = 4_000_000, 4096, 1 << 18
"""Number of values in a run, and the minimum and maximum number of its rows."""
TEXT_BYTES = 32 << 20
"""Bytes of text that are parsed at once."""

Progress = Callable[[float], None]
"""Function that receives the share of the file that was read, from 0 to 1."""


@dataclass(frozen=True)
class Run:
    """Consecutive rows of a file as a table.

    Parameters
    ----------
    table : the rows.
    first : row number in the file of the first of them.
    share : share of the file that was read so far.
    notes : what the reader did. Lines that a later run leaves out are not listed again.
    """

    table: Table
    first: int
    share: float
    notes: tuple[str, ...] = ()


def streamed(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    columns: Sequence[str] = (),
    rows: str = "auto",
    progress: Progress = lambda share: None,
    **changes: Any,
) -> Iterator[Predictions]:
    """Yield the predictions of a file of any size, run by run, with the same checks as ``read_predictions``.

    Parameters
    ----------
    path : CSV, JSON Lines, Parquet or NPY; an NPZ is read at once.
    labels : for an NPY matrix of scores, the NPY file of its labels (n,).
    columns : metadata columns to retain; others are dropped.
    rows : "all", those that a split column marks as "test" or "calibration", or "auto": the test rows if any are
        marked, else all.
    changes : fields of Reading to set instead of the proposal from the first run.

    The first run determines the reading; names of classes that first occur later need ``classes=``.
    """
    for part in chosen_parts(path, rows, progress, labels=labels, columns=columns, **changes):
        yield part.predictions


def chosen_parts(path: str | os.PathLike[str], rows: str, progress: Progress, **how: Any) -> Iterator[FilePart]:
    """Yield the runs of a file with the predictions of the chosen rows, if there are any; arguments as above."""
    for part in parts(path, **how):
        kept = rows_of_part(part.run.table, part.reading, rows)
        progress(part.run.share)
        if kept is None or len(kept):
            yield part if kept is None else replace(part, predictions=part.predictions.take(kept))


@dataclass(frozen=True, eq=False)
class FilePart:
    """A run of a file's rows, the reading (the same for all runs), and its predictions."""

    run: Run
    reading: Reading
    predictions: Predictions


def parts(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    columns: Sequence[str] = (),
    **changes: Any,
) -> Iterator[FilePart]:
    """Yield the runs of a file with their predictions; arguments as in ``streamed``. InputError for an empty file.

    Samples of a question, and rows of several models, are related, so such files are read at once or refused.
    """
    reading: Reading | None = None
    for run in runs(path, labels):
        if reading is None:
            reading = propose_by_first(run.table, **changes).replace(metadata=tuple(columns))
        if run.share < 1 and (reading.layout == "samples" or reading.models is not None):
            raise InputError(
                f"{run.table.name} contains {'samples of questions' if reading.models is None else 'several models'}, "
                "whose rows belong together, but it is too long to read at once. Save each model's confidences "
                "separately"
            )
        yield FilePart(run, reading, _with_notes(predictions(run.table, reading), run, reading, changes))
    if reading is None:
        raise InputError(f"{file_label(os.fspath(path))} has no data rows; save at least one prediction")


def _with_notes(found: Predictions, run: Run, reading: Reading, changes: Mapping[str, Any]) -> Predictions:
    """Return the predictions of a run with the notes of its reader, and those on doubts that no change settles."""
    doubts = () if run.first else reader_doubts(run.table, reading)
    notes = (*found.notes, *run.notes, *(each.message for each in doubts if each.blocks(changes)))
    return found._with({"notes": tuple(dict.fromkeys(notes))}) if notes else found


@dataclass(frozen=True, eq=False)
class StreamedFile:
    """Predictions of a file of any size, read run by run in each iteration.

    Parameters
    ----------
    path : CSV, JSON Lines, Parquet or NPY, as for ``cc.summarise``.
    how : arguments of ``streamed``: ``rows``, ``labels``, ``progress`` and fields of Reading.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("p,label\\n0.7,1\\n0.2,0\\n")
    ...     file = StreamedFile(path)
    ...     [part.n_rows for part in file], [part.n_rows for part in file]
    ([2], [2])
    """

    path: str | os.PathLike[str]
    how: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Predictions]:
        return streamed(self.path, **self.how)


def runs(path: str | os.PathLike[str], labels: str | os.PathLike[str] | None = None) -> Iterator[Run]:
    """Yield the rows of a file as tables of at most a few hundred thousand rows, with their places in the file."""
    name = file_label(os.fspath(path))
    try:
        with Path(path).open("rb") as file:
            head = file.read(4096)
        total = Path(path).stat().st_size
    except OSError as e:
        raise InputError(f"{name} cannot be opened ({e.strerror or 'unknown reason'}); check the path") from e
    if not head:
        raise InputError(f"{name} is empty (0 bytes); choose another file")
    if head.startswith(ZIP):
        return iter([_whole(path)])  # whose directory, at its end, shows its format
    found = looks_like(head, name)
    check_ending(found, name, name)
    if labels is not None and found.key != "npy":
        raise InputError(f"{name} is {found.title}, which contains its own labels; leave out labels")
    reader = {"parquet": _parquet, "csv": _text, "jsonl": _lines_of_json}.get(found.key)
    if found.key == "npy":
        return _npy(Path(path), name, labels)
    if reader is None:
        return iter([_whole(path)])
    return reader(Path(path), name, total)


def _whole(path: str | os.PathLike[str]) -> Run:
    """Return all rows of a file that cannot be read in parts; InputError names formats that can."""
    try:
        table = read_table(path)
        return Run(table, 0, 1.0, table.notes)
    except InputError as e:
        if limits.IN_PARTS not in str(e):
            raise
        remedy = "Save it as Parquet, CSV or JSON Lines, which are read in parts"
        raise InputError(str(e).replace(limits.IN_PARTS, remedy)) from e


def holds_summary(path: str | os.PathLike[str]) -> bool:
    """True for the file of a summary; errors are left to the reader of the file."""
    if importlib.util.find_spec("pyarrow") is None:
        return False
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return bool(pq.read_schema(path).names[:1] == [SUMMARY])
    except (pa.ArrowException, OSError, ValueError):
        return False


def _placed(table: Table, first: int, first_line: int = 0) -> Table:
    """Return the table with the places of its rows in the file."""
    lines = None if table.lines is None else table.lines + first_line
    rows = np.arange(first, first + table.n_rows) if table.rows is None else table.rows
    return replace(table, rows=rows, lines=lines)


def _rows_of(width: int) -> int:
    return int(np.clip(VALUES // max(width, 1), FEWEST_ROWS, MOST_ROWS))


# -- Parquet ---------------------------------------------------------------------------------------------------


def _parquet(path: Path, name: str, total: int) -> Iterator[Run]:
    """Yield batches of a Parquet file, decoded in this process: it is the user's own file, and batches are bounded."""
    if importlib.util.find_spec("pyarrow") is None:
        raise InputError(f"{name}: reading Parquet needs pyarrow; run: pip install calib[parquet]")
    import pyarrow as pa
    import pyarrow.parquet as pq

    limit = bounds()
    try:
        file = pq.ParquetFile(path, pre_buffer=False, thrift_string_size_limit=limit["footer_bytes"])
        columns = file.schema_arrow.names
        if decoders.holds_records(columns) or any(pa.types.is_nested(each.type) for each in file.schema_arrow):
            yield _whole(path)
            return
        check_lengths(columns, name)
        unique_names(columns, name)
        for field in file.schema_arrow:
            decoders.check_type(field.name, field.type, pa)
        rows, first = file.metadata.num_rows, 0
        for batch in file.iter_batches(batch_size=_rows_of(len(columns)), use_threads=False):
            table = pa.Table.from_batches([batch])
            arrays = {c: _decoded(*decoders.numbers(c, table.column(c), limit, pa)) for c in columns}
            first += batch.num_rows
            yield Run(
                _placed(Table(name, "parquet", arrays), first - batch.num_rows), first - batch.num_rows, first / rows
            )
    except decoders.DecodingRefusedError as e:
        raise InputError(f"{name}{e}") from e
    except (pa.ArrowException, OSError) as e:
        raise InputError(f"{name} is damaged or cut off and cannot be read to its end; save it again") from e


def _decoded(values: Any, words: list[str] | None) -> Any:
    if words is None:
        return values
    texts = np.empty(len(words), dtype=object)
    texts[:] = words
    return texts[values]


# -- text ------------------------------------------------------------------------------------------------------


def _lines_of_json(path: Path, name: str, total: int) -> Iterator[Run]:
    """Yield blocks of lines; JSON strings contain no line ends, but quotes of their own. A document is read at once."""
    if TEXT_BYTES < total <= limits.DOCUMENT_BYTES and _is_document(path):
        return iter([_whole(path)])
    return _text(path, name, total, quoted_ends=False)


def _is_document(path: Path) -> bool:
    """True if the first line is not a JSON value, or is the beginning of a list."""
    with path.open("rb") as file:
        head = file.read(limits.LINE_BYTES + 1).removeprefix(b"\xef\xbb\xbf").lstrip()
    return head.startswith(b"[") or (b"\n" in head and not one_value(head[: head.index(b"\n")]))


def _text(path: Path, name: str, total: int, quoted_ends: bool = True) -> Iterator[Run]:
    """Yield blocks of whole lines; for delimited text, each block follows the header line."""
    head, line, first, repeated = b"", 0, 0, 0
    with path.open("rb") as file:
        encoding: list[str] = []
        blocks = utf8_blocks(file, TEXT_BYTES, name, quoted_ends, encoding)
        for block, read in _whole_lines(blocks, name, quoted_ends):
            if not block.strip():
                line += block.count(b"\n")
                continue
            try:
                part = not quoted_ends and (first > 0 or read < total)
                table = table_of_lines(block, name) if part else read_table(head + block, name)
            except InputError:
                # Parse again with the file's line numbers: empty lines replace the text that was read before.
                numbered = b"\n" * (line - head.count(b"\n")) + head + block
                if part:
                    table_of_lines(numbered, name)
                read_table(numbered, name)
                raise
            table = table.take(np.arange(repeated, table.n_rows)) if repeated else table
            notes, encoding[:] = (*encoding, *(() if first else table.notes)), []
            yield Run(_placed(table, first, line - head.count(b"\n")), first, read / total, notes)
            first += table.n_rows
            line += block.count(b"\n")
            if table.format == "csv" and not head:
                head, repeated = delimited.head_of(block, table)


def _whole_lines(blocks: Iterator[tuple[bytes, int]], name: str, quoted_ends: bool) -> Iterator[tuple[bytes, int]]:
    """Yield the same text in blocks that end at line ends."""
    following = next(blocks, None)
    rest = b""
    while following is not None:
        (block, read), following = following, next(blocks, None)
        block = rest + block
        end = len(block) if following is None else _end_of_line(block, name, quoted_ends)
        block, rest = block[:end], block[end:]
        yield block, read


def _end_of_line(block: bytes, name: str, quoted_ends: bool) -> int:
    """Return the byte after the last line end, outside quotes if these may contain line ends."""
    end = block.rfind(b"\n") + 1
    if quoted_ends and block.count(b'"', 0, end) % 2:
        letters = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero(letters == ord("\n"))
        outside = ends[np.searchsorted(np.flatnonzero(letters == ord('"')), ends) % 2 == 0]
        end = int(outside[-1]) + 1 if len(outside) else 0
    if not end:
        raise InputError(
            f"{name} has a line longer than {size(len(block))}, or an unclosed quote; check that it is a table"
        )
    return end


# -- arrays ----------------------------------------------------------------------------------------------------


def _npy(path: Path, name: str, labels: str | os.PathLike[str] | None) -> Iterator[Run]:
    """Yield rows of an array that stays on disk, with their labels from another file."""
    scores = _mapped(path, name)
    columns = {}
    if labels is not None:
        codes = _mapped(Path(labels), file_label(os.fspath(labels)))
        if codes.ndim != 1 or codes.dtype.names is not None or len(codes) != len(scores):
            raise InputError(
                f"{file_label(os.fspath(labels))} has shape {codes.shape}; it needs one label for each of the "
                f"{len(scores):,} rows of {name}"
            )
        columns = {"label": codes}
    step = _rows_of(int(np.prod(scores.shape[1:])))
    for first in range(0, len(scores), step):
        where = slice(first, first + step)
        parts = npy.fields_of("array", np.array(scores[where]), name)
        parts |= {key: npy.finished(np.array(array[where]), name) for key, array in columns.items()}
        table = npy.as_table(parts, name, "npy", ())
        yield Run(_placed(table, first), first, min(1.0, (first + step) / len(scores)))


def _mapped(path: Path, name: str) -> Any:
    try:
        with path.open("rb") as file:
            header = npy.array_header(file.read(limits.NPY_HEADER_BYTES + 16), path.stat().st_size, name)
    except OSError as e:
        raise InputError(f"{name} cannot be opened ({e.strerror or 'unknown reason'}); check the path") from e
    if len(header.shape) not in (1, 2) or not all(header.shape):
        raise InputError(f"{name} has shape {header.shape}; save one column (n,) or one matrix (n, K)")
    return np.memmap(path, header.dtype, "r", header.start, header.shape, "F" if header.fortran else "C")
