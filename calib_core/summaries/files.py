"""A summary as one Parquet file, and back: whole numbers stay whole, and it is read as safely as other files."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from calib_core._arrays import frozen
from calib_core.predictions import InputError
from calib_core.readers import read_table
from calib_core.readers.npy import parse_npz
from calib_core.readers.table import SUMMARY as WHAT
from calib_core.readers.table import Table, file_label
from calib_core.readers.wording import quoted
from calib_core.summaries.cells import SUMS, Cells
from calib_core.summaries.grid import CELLS, NUMBERS
from calib_core.summaries.losses import LOSS_SUMS, LossSums
from calib_core.summaries.sample import Sample
from calib_core.summaries.summary import Summary

VERSION = 1
"""Of the files: what they hold and how."""
_TEXT, _PLACE = "text", "place"
_WHOLE, _PART = (tuple(f"{name}{end}" for name in SUMS) for end in ("", " part"))
_PIECE = 100_000
_SAMPLE = ("keys", "scores", "labels", "predicted")


def write_summary(summary: Summary, path: str | os.PathLike[str]) -> None:
    """Write a summary as a Parquet file, aside first: a file that was there stays until the new one is whole.

    >>> import pathlib, tempfile
    >>> from calib_core.predictions import Predictions
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
    folder = Path(path).resolve().parent
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{name}.", delete=False) as file:
            try:
                pq.write_table(table, file, compression="zstd")
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
        Path(file.name).chmod(0o644)
        Path(file.name).replace(path)
    except OSError as e:
        raise InputError(f"{name} cannot be written ({e.strerror or 'unknown reason'}); check the folder") from e


def read_summary(path: str | os.PathLike[str]) -> Summary:
    """The summary a file holds; InputError where it holds none, or not all of one.

    >>> read_summary("rows.csv")
    Traceback (most recent call last):
    ...
    calib_core.errors.InputError: rows.csv cannot be opened (No such file or directory); check the path
    """
    table = read_table(path)
    if not is_summary(table):
        raise InputError(f"{table.name} is no summary; make one with calib summarise, or open it as predictions")
    return summary_of(table)


def opened_summary(path: str | os.PathLike[str]) -> Summary | None:
    """The summary a file holds, None where it is another file."""
    try:
        with Path(path).open("rb") as file:
            if file.read(4) != b"PAR1" or importlib.util.find_spec("pyarrow") is None:
                return None
        import pyarrow.parquet as pq

        names = pq.read_schema(path).names
    except Exception:  # what is wrong with it is said by whoever reads it
        return None
    return read_summary(path) if names[:1] == [WHAT] else None


def is_summary(table: Table) -> bool:
    """Is the table that of a summary file?"""
    return WHAT in table.columns


def summary_of(table: Table) -> Summary:
    """The summary in a table of its file, checked: it is trusted no more than any other file."""
    try:
        return _read(table)
    except InputError:
        raise
    except Exception as e:  # what a damaged file lacks ends in a dozen kinds of exceptions
        raise InputError(
            f"{table.name} looks like a summary, and is damaged, cut off or made by a newer version; make it again"
        ) from e


# -- writing -----------------------------------------------------------------------------------------------------


def _frame(summary: Summary) -> pd.DataFrame:
    """One line a cell, loss or piece of text: what it is, a text, a place, and the exact sums in two whole numbers."""
    lines = [_line("head", json.dumps(_head(summary)))]
    lines += [_line("class", name, i) for i, name in enumerate(summary.class_names or ())]
    for i, (column, values) in enumerate(summary.slices.items()):
        lines += [_line("column", column, i)]
        lines += [_line(f"value {i}", value, j) for j, value in enumerate(values)]
    for key, loss in summary.losses.items():
        lines += [_line(f"loss {key}", name, i, loss.whole[i], loss.part[i]) for i, name in enumerate(LOSS_SUMS)]
    if summary.label_counts is not None:
        lines += [_line("label", "", i, n) for i, n in enumerate(summary.label_counts)]
    packed = io.BytesIO()
    np.savez_compressed(
        packed, **{name: getattr(summary.kept_rows, name) for name in _SAMPLE if len(getattr(summary.kept_rows, name))}
    )
    text = base64.b64encode(packed.getvalue()).decode()
    lines += [_line("sample", text[i : i + _PIECE], i) for i in range(0, len(text), _PIECE)]
    frames = [pd.DataFrame(lines), *(_cells_frame(f"cell {key}", cells) for key, cells in _families(summary).items())]
    return pd.concat(frames, ignore_index=True)


def _families(summary: Summary) -> dict[str, Cells]:
    """Every set of cells by name."""
    found = {"top": summary.top_cells} | ({} if summary.class_cells is None else {"class": summary.class_cells})
    for i, values in enumerate(summary.slices.values()):
        found |= {f"{i} {j}": cells for j, cells in enumerate(values.values())}
    return found


def _head(summary: Summary) -> dict[str, Any]:
    facts = ("rows", "reach", "highest", "impossible", "floored")
    return {
        "version": VERSION,
        "grid": NUMBERS,
        "kind": summary.kind,
        "dtype": summary.dtype.name,
        "classes": summary.n_classes,
        "sample": summary.kept_rows.size,
        "notes": summary.notes[:20],
        "losses": {key: {name: getattr(loss, name) for name in facts} for key, loss in summary.losses.items()},
    }


def _line(what: str, text: str = "", place: int = 0, whole: Any = 0, part: Any = 0) -> dict[str, Any]:
    zeros = dict.fromkeys((*_WHOLE, *_PART), 0)
    return {WHAT: what, _TEXT: text, _PLACE: place, **zeros, _WHOLE[0]: int(whole), _PART[0]: int(part)}


def _cells_frame(what: str, cells: Cells) -> pd.DataFrame:
    columns = {WHAT: what, _TEXT: "", _PLACE: cells.place}
    columns |= {name: cells.whole[:, i] for i, name in enumerate(_WHOLE)}
    return pd.DataFrame(columns | {name: cells.part[:, i] for i, name in enumerate(_PART)})


# -- reading -----------------------------------------------------------------------------------------------------


def _read(table: Table) -> Summary:
    lines = {what: np.flatnonzero(table.columns[WHAT] == what) for what in pd.unique(table.columns[WHAT])}
    text, place = table.columns[_TEXT], table.columns[_PLACE].astype(np.intp)
    whole, part = (np.stack([table.columns[c].astype(np.int64) for c in names], axis=1) for names in (_WHOLE, _PART))
    head = json.loads(str(text[lines["head"][0]]))
    if head["version"] != VERSION or tuple(head["grid"]) != NUMBERS:
        raise InputError(
            f"{table.name} is a summary of version {quoted(head['version'])}; this program reads version {VERSION}: "
            "make it again"
        )

    def texts(what: str) -> list[str]:
        return [str(text[i]) for i in lines.get(what, ())]

    def cells(key: str, n_strata: int) -> Cells:
        mine = lines.get(f"cell {key}", np.zeros(0, dtype=np.intp))
        return _checked(Cells(*(frozen(a[mine]) for a in (place, whole, part))), n_strata)

    k = head["classes"]
    names = None if k is None else tuple(texts("class"))
    if names is not None and (len(names) != k or len(set(names)) != k):
        raise ValueError("classes")
    losses = {
        key: LossSums(whole=frozen(whole[lines[f"loss {key}"], 0]), part=frozen(part[lines[f"loss {key}"], 0]), **facts)
        for key, facts in head["losses"].items()
    }
    slices = {
        column: {value: cells(f"{i} {j}", 1) for j, value in enumerate(texts(f"value {i}"))}
        for i, column in enumerate(texts("column"))
    }
    top = cells("top", k or 1)
    counts = whole[lines["label"], 0] if k is not None else None
    found = Summary(
        head["kind"], names, np.dtype(head["dtype"]), top,
        cells("class", k) if "cell class" in lines else None,
        None if counts is None else frozen(counts), losses, slices,
        _sample("".join(texts("sample")), head, table.name), tuple(map(str, head["notes"])),
    )  # fmt: skip
    _check_counts(found)
    return found


def _sample(text: str, head: Mapping[str, Any], name: str) -> Sample:
    packed = parse_npz(base64.b64decode(text, validate=True), name)
    arrays = {key: packed.columns.get(key, packed.matrices.get(key)) for key in _SAMPLE}
    scores = arrays["scores"]
    predicted = np.zeros(0) if arrays["predicted"] is None else arrays["predicted"]
    assert scores is not None
    assert arrays["keys"] is not None
    assert arrays["labels"] is not None
    scores = scores[:, None] if scores.ndim == 1 else scores
    return Sample(int(head["sample"]), *map(frozen, (
        arrays["keys"].astype(np.uint64), scores, arrays["labels"].astype(np.intp), predicted.astype(np.intp),
    )))  # fmt: skip


def _checked(cells: Cells, n_strata: int) -> Cells:
    """Cells that are possible: places ascend within the strata, counts are positive, outcomes no more than counts."""
    count, outcome = cells.whole[:, SUMS.index("count")], cells.whole[:, SUMS.index("outcome")]
    inside = len(cells.place) == 0 or (cells.place[0] >= 0 and cells.place[-1] < n_strata * CELLS)
    good = inside and (np.diff(cells.place) > 0).all() and (count > 0).all()
    if not good or ((outcome < 0) | (outcome > count)).any() or ((cells.part < 0) | (cells.part >= 1 << 40)).any():
        raise ValueError("cells")
    return cells


def _check_counts(summary: Summary) -> None:
    """All parts count the same rows."""
    n = summary.n_rows
    rows = [loss.rows for loss in summary.losses.values()]
    rows += [] if summary.label_counts is None else [int(summary.label_counts.sum())]
    rows += [sum(cells.n_claims for cells in values.values()) for values in summary.slices.values()]
    rows += [] if summary.class_cells is None else [summary.class_cells.n_claims // (summary.n_classes or 1)]
    if n < 1 or any(each != n for each in rows) or not summary.losses:
        raise ValueError("rows")
