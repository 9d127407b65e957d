"""Save summaries as Parquet files and load them: integers stay exact, and loading is as safe as for other files."""

from __future__ import annotations

import base64
import importlib.util
import io
import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from calib_core._base.arrays import Codes, frozen
from calib_core._base.atomic_files import write_whole
from calib_core.claims import exact_sums
from calib_core.claims.exact_sums import ExactSums
from calib_core.claims.row_covariance import SharedRows
from calib_core.predictions.predictions import InputError
from calib_core.predictions.storage import is_kind
from calib_core.readers.formats.detection import read_table
from calib_core.readers.formats.npy import parse_npz
from calib_core.readers.messages import quoted
from calib_core.readers.table import ASSUMED, Array, Table, file_label
from calib_core.readers.table import SUMMARY as WHAT
from calib_core.summaries.cells import CELLS, NUMBERS, SUMS, WANTED, Cells, PairCells, edges_of
from calib_core.summaries.counted_claims import LOSS_SUMS, LossSums
from calib_core.summaries.mergeable import Sample, Summary

VERSION = 1
"""Version of the file format."""
_WHOLE, _PART = (tuple(f"{name}{end}" for name in SUMS) for end in ("", " part"))
_COUNTS, _MOST = ("rows", "impossible", "floored"), ("reach", "highest")
_SAMPLE = ("keys", "scores", "labels", "predicted")
_PIECE, _NOTES = 100_000, 20
_GRID = " ".join(map(str, NUMBERS))


def write_summary(summary: Summary, path: str | os.PathLike[str]) -> None:
    """Write a summary as a Parquet file; an existing file is replaced only when the new one is complete.

    >>> import pathlib, tempfile
    >>> from calib_core.predictions.predictions import Predictions
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "counts.parquet")
    ...     write_summary(Summary.of(Predictions([[0.7, 0.3]], [0])), path)
    ...     read_summary(path).n_rows
    1
    """
    name = file_label(os.fspath(path))
    if importlib.util.find_spec("pyarrow") is None:
        raise InputError(f"{name}: writing a summary needs pyarrow; run: pip install calib[parquet]")
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = {b"calib_summary": str(VERSION).encode(), b"rows": str(summary.n_rows).encode()}
    table = pa.Table.from_pandas(_frame(summary), preserve_index=False).replace_schema_metadata(schema)
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    try:
        write_whole(path, content.getvalue())
    except OSError as e:
        raise InputError(f"{name} cannot be written ({e.strerror or 'unknown reason'}); check the folder") from e


def read_summary(path: str | os.PathLike[str]) -> Summary:
    """Load a summary from a file; InputError if it has none, or an incomplete one.

    >>> read_summary("rows.csv")
    Traceback (most recent call last):
    ...
    calib_core._base.errors.InputError: rows.csv cannot be opened (No such file or directory); check the path
    """
    table = read_table(path)
    if not is_summary(table):
        raise InputError(f"{table.name} is not a summary; create one with calib summarise, or open it as predictions")
    return summary_of(table)


def is_summary(table: Table) -> bool:
    """True for the table of a summary file."""
    return WHAT in table.columns


def summary_of(table: Table) -> Summary:
    """Return the summary in a table of its file, with checks: it is trusted no more than other files."""
    try:
        return _read(table)
    except InputError:
        raise
    except Exception as e:  # damaged files raise a dozen types of exceptions
        raise InputError(
            f"{table.name} looks like a summary but is damaged, cut off or from a newer version; create it again"
        ) from e


# -- writing -----------------------------------------------------------------------------------------------------


def _frame(summary: Summary) -> pd.DataFrame:
    """Return one line per cell, loss or piece of text: its type, a text, a place, counts, a number, and exact sums."""
    lines = [
        _line("version", str(VERSION)),
        _line("grid", _GRID),
        _line("kind", summary.kind),
        _line("dtype", summary.dtype.name),
        _line("sample size", count=summary.kept_rows.size),
        *(
            _line("note", note)
            for note in sorted(summary.notes, key=lambda note: note[: len(ASSUMED)] != ASSUMED)[:_NOTES]
        ),
        *(_line("class", name, i) for i, name in enumerate(summary.class_names or ())),
        *([_line("outcome", summary.outcome)] if summary.outcome else []),  # older files had none
    ]
    if summary.label_counts is not None:
        lines += [_line("label", place=i, count=n) for i, n in enumerate(summary.label_counts)]
    for i, (column, values) in enumerate(summary.slices.items()):
        lines += [_line("column", column, i), *(_line(f"value {i}", value, j) for j, value in enumerate(values))]
    for key, loss in summary.losses.items():
        sums = [{_WHOLE[0]: int(loss.whole[i]), _PART[0]: int(loss.part[i])} for i in range(len(LOSS_SUMS))]
        lines += [_line(f"loss {key}", name, i, **sums[i]) for i, name in enumerate(LOSS_SUMS)]
        lines += [_line(f"counts {key}", name, count=getattr(loss, name)) for name in _COUNTS]
        lines += [_line(f"most {key}", name, number=getattr(loss, name)) for name in _MOST]
    packed = io.BytesIO()
    arrays = {name: getattr(summary.kept_rows, name) for name in _SAMPLE}
    np.savez_compressed(packed, **{name: array for name, array in arrays.items() if array.size})
    text = base64.b64encode(packed.getvalue()).decode()
    lines += [_line("sample", text[i : i + _PIECE], i) for i in range(0, len(text), _PIECE)]
    frames = [_cells_frame(f"cell {key}", cells) for key, cells in _families(summary).items()]
    if (pairs := summary.class_pairs) is not None:
        of_pairs = [_frame_of_pairs(what, *sums) for what, sums in _pair_sums(pairs.sums).items()]
        kept, length = " ".join(map(str, pairs.numbers)), sum(map(len, of_pairs))
        lines += [_line("pairs", kept, length, count=pairs.sums.rows, number=pairs.sums.most)]
        frames += of_pairs
    return pd.concat([pd.DataFrame(lines), *frames], ignore_index=True)


def _families(summary: Summary) -> dict[str, Cells]:
    """Return every set of cells by name."""
    found = {"top": summary.top_cells} | ({} if summary.class_cells is None else {"class": summary.class_cells})
    for i, values in enumerate(summary.slices.values()):
        found |= {f"{i} {j}": cells for j, cells in enumerate(values.values())}
    return found


def _line(what: str, text: str = "", place: int = 0, **numbers: Any) -> dict[str, Any]:
    zeros = dict.fromkeys(("count", "outcome", *_WHOLE, *_PART), 0)
    return {WHAT: what, "text": text, "place": place, "number": 0.0, **zeros, **numbers}


def _cells_frame(what: str, cells: Cells) -> pd.DataFrame:
    columns = {WHAT: what, "text": "", "place": cells.place, "number": 0.0}
    columns |= {"count": cells.count, "outcome": cells.outcome}
    return pd.DataFrame(columns | dict(zip((*_WHOLE, *_PART), (*cells.whole, *cells.part), strict=True)))


def _pair_sums(sums: SharedRows) -> dict[str, tuple[ExactSums, ExactSums]]:
    """Return two symmetric tables at a time, in the columns of the first two sums."""
    return {"pair cells": (sums.residual, sums.claimed), "pair classes": (sums.sizes[0], sums.sizes[1])}


def _frame_of_pairs(what: str, first: ExactSums, second: ExactSums) -> pd.DataFrame:
    """Return the upper triangles, row after row, without empty pairs."""
    filled = np.triu((first.whole != 0) | (first.part != 0) | (second.whole != 0) | (second.part != 0))
    columns = {WHAT: what, "text": "", "place": np.flatnonzero(filled), "number": 0.0, "count": 0, "outcome": 0}
    sums = {name: np.int64(0) for name in (*_WHOLE, *_PART)}
    for i, table in enumerate((first, second)):
        sums |= {_WHOLE[i]: table.whole[filled], _PART[i]: table.part[filled]}
    return pd.DataFrame(columns | sums)


# -- reading -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Lines:
    """Lines of a summary's table by type."""

    table: Table

    @cached_property
    def _places(self) -> dict[str, Codes]:
        what = self.table.columns[WHAT]
        return {key: np.flatnonzero(what == key) for key in pd.unique(what)}

    def __contains__(self, what: str) -> bool:
        return what in self._places

    def of(self, column: str, what: str) -> Array:
        """Return one column of the lines of one type; empty if there are none."""
        return self.table.columns[column][self._places.get(what, np.zeros(0, dtype=np.intp))]

    def texts(self, what: str) -> list[str]:
        """Return the texts of the lines of one type."""
        return [str(text) for text in self.of("text", what)]

    def cells(self, key: str, n_strata: int) -> Cells:
        """Return a set of cells, checked for consistency: ascending places in each stratum, valid counts."""
        what = f"cell {key}"
        place, count, outcome = (self.of(name, what).astype(np.intp) for name in ("place", "count", "outcome"))
        whole, part = (np.stack([self.of(c, what).astype(np.int64) for c in names]) for names in (_WHOLE, _PART))
        inside = not len(place) or (place[0] >= 0 and place[-1] < n_strata * CELLS)
        sound = (np.diff(place) > 0).all() and (count > 0).all() and (outcome >= 0).all() and (outcome <= count).all()
        if not inside or not sound or ((part < 0) | (part >= 1 << 40)).any():
            raise ValueError(key)
        return Cells(*(frozen(a) for a in (place, count, outcome, whole, part)))

    def pairs(self, n_classes: int) -> PairCells | None:
        """Return the sums over pairs of cells, checked for supported bins; None if they are not in the file."""
        if "pairs" not in self:
            return None
        numbers = tuple(map(int, self.texts("pairs")[0].split()))
        if numbers not in WANTED:
            raise ValueError("pairs")
        cells = n_classes * (len(edges_of(numbers)) + 1)
        residual, claimed = self._symmetric("pair cells", cells)
        sizes = exact_sums.stacked(self._symmetric("pair classes", n_classes))
        rows, most = int(self.of("count", "pairs")[0]), float(self.of("number", "pairs")[0])
        length = sum(len(self.of("place", what)) for what in ("pair cells", "pair classes"))
        if not 0 <= most <= n_classes or length != self.of("place", "pairs")[0]:
            raise ValueError("pairs")
        return PairCells(numbers, SharedRows(rows, most, residual, claimed, sizes))

    def _symmetric(self, what: str, size: int) -> list[ExactSums]:
        place, found = self.of("place", what).astype(np.intp), []
        if len(place) and not (place[0] >= 0 and (np.diff(place) > 0).all() and place[-1] < size * size):
            raise ValueError(what)
        for names in zip(_WHOLE[:2], _PART[:2], strict=True):
            table = ExactSums.zeros((size, size))
            for to, name in zip((table.whole, table.part), names, strict=True):
                to.ravel()[place] = self.of(name, what).astype(np.int64)
                to += np.triu(to, 1).T
            if ((table.part < 0) | (table.part >= 1 << 40)).any():
                raise ValueError(what)
            found.append(table)
        return found

    def losses(self, key: str) -> LossSums:
        """Return the sums of one score."""
        counts: dict[str, Any] = dict(zip(_COUNTS, map(int, self.of("count", f"counts {key}")), strict=True))
        most: dict[str, Any] = dict(zip(_MOST, map(float, self.of("number", f"most {key}")), strict=True))
        whole, part = (frozen(self.of(names[0], f"loss {key}").astype(np.int64)) for names in (_WHOLE, _PART))
        if len(whole) != len(LOSS_SUMS):
            raise ValueError(key)
        if not all(0 <= value < np.inf for value in most.values()):
            raise ValueError(key)
        return LossSums(whole=whole, part=part, **counts, **most)

    def sample(self) -> Sample:
        """Return the sampled rows."""
        try:
            packed = parse_npz(base64.b64decode("".join(self.texts("sample")), validate=True), self.table.name)
        except InputError as e:  # its message would be about an internal archive
            raise ValueError("sample") from e
        arrays = {**packed.columns, **packed.matrices}
        scores = arrays["scores"][:, None] if arrays["scores"].ndim == 1 else arrays["scores"]
        predicted = arrays.get("predicted", np.zeros(0))
        labels, chosen = (frozen(a.astype(np.intp)) for a in (arrays["labels"], predicted))
        keys = frozen(arrays["keys"].astype(np.uint64))
        if not len(keys) == len(scores) == len(labels) or len(chosen) not in (0, len(keys)):
            raise ValueError("sample")
        return Sample(int(self.of("count", "sample size")[0]), keys, frozen(scores), labels, chosen)


def _read(table: Table) -> Summary:
    lines = _Lines(table)
    version, grid = lines.texts("version")[0], lines.texts("grid")[0]
    if version != str(VERSION):
        raise InputError(
            f"{table.name} is a summary of version {quoted(version)}, but this program reads version {VERSION}; create "
            "it again"
        )
    if grid != _GRID:
        raise ValueError("grid")
    names = tuple(lines.texts("class"))
    k, kind = len(names) or 1, lines.texts("kind")[0]
    if names and lines.of("place", "label").tolist() != list(range(k)):
        raise ValueError("labels")
    if not is_kind(kind) or len(set(names)) < len(names) or bool(names) == (kind == "confidence"):
        raise ValueError("classes")
    found = Summary(
        kind,
        names or None,
        np.dtype(lines.texts("dtype")[0]),
        lines.cells("top", k),
        lines.cells("class", k) if "cell class" in lines else None,
        frozen(lines.of("count", "label").astype(np.intp)) if names else None,
        {key: lines.losses(key) for key in ("brier", "log-loss") if f"loss {key}" in lines},
        {
            column: {value: lines.cells(f"{i} {j}", 1) for j, value in enumerate(lines.texts(f"value {i}"))}
            for i, column in enumerate(lines.texts("column"))
        },
        lines.sample(),
        tuple(lines.texts("note")),
        lines.pairs(k) if "cell class" in lines else None,
        lines.texts("outcome")[0] if "outcome" in lines else "",
    )
    _check_counts(found, k)
    return found


def _check_counts(summary: Summary, n_classes: int) -> None:
    """Check that all parts count the same rows."""
    rows = [loss.rows for loss in summary.losses.values()]
    rows += [] if summary.label_counts is None else [int(summary.label_counts.sum())]
    rows += [sum(cells.n_claims for cells in values.values()) for values in summary.slices.values()]
    rows += [] if summary.class_cells is None else [summary.class_cells.n_claims // n_classes]
    rows += [] if summary.class_pairs is None else [summary.class_pairs.sums.rows]
    if not summary.losses or summary.n_rows < 1 or set(rows) != {summary.n_rows}:
        raise ValueError("rows")
    if summary.dtype not in (np.float32, np.float64) or len(summary.kept_rows.keys) > summary.n_rows:
        raise ValueError("sample")
