"""Folders of files of one shape, such as one per task: read as one table, with a column of file names."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calib_core._base.arrays import frozen
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.readers.file_format import all_endings, usual_endings
from calib_core.readers.messages import listed, size
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.table import Array, Table, file_label

FILE = "file"
"""Column that names the file of each row, unless another column does."""
_MOST_NOTES = 5
_STATE = "state.json"
"""File of a folder that Hugging Face's datasets wrote; its shards are the only tables."""
_DESCRIPTIONS = frozenset({_STATE, "dataset_info.json", "dataset_dict.json"})


def folder_table(path: str | os.PathLike[str], read: Callable[[Path], Table]) -> Table:
    """Read all files of a folder that have one shape, in the order of their names, as one table.

    Columns that some files lack are left out, and so are files of other types, such as results next to samples; notes
    list both. InputError if shapes differ, or if a file with the same ending cannot be read.
    """
    name, paths = file_label(os.fspath(path).rstrip("/\\")), _files(Path(path))
    tables: dict[str, Table] = {}
    refused: dict[str, InputError] = {}
    for each in paths:
        try:
            tables[each.name] = read(each)
        except InputError as why:
            refused[each.name] = why
    if not tables:
        raise next(iter(refused.values()))
    kept = _of_one_shape(name, tables)
    endings = {_ending(each) for each in kept}
    if damaged := [each for each in refused if _ending(each) in endings]:
        raise refused[damaged[0]]
    beside = [each.name for each in paths if each.name not in kept]
    dataset = (Path(path) / _STATE).is_file()
    if dataset and len(kept) == 1:
        return replace(next(iter(kept.values())), name=name)
    notes = [f"{len(kept)} files of {name} are read as one table."]
    notes += [f"Files of other types in {name} are left out: {listed(beside, 3)}."] if beside else []
    return _one_table(name, kept, notes, tell_apart=not dataset)


def folder_digest(path: str | os.PathLike[str]) -> str:
    """Hash of the names and contents of a folder's files."""
    whole = hashlib.sha256()
    for each in _files(Path(path)):
        whole.update(f"{each.name}\0{hashlib.sha256(each.read_bytes()).hexdigest()}\n".encode(errors="surrogatepass"))
    return whole.hexdigest()


def _files(folder: Path) -> list[Path]:
    """Return the readable files, by name; InputError if there are none, or if they are too large."""
    try:
        every = sorted(folder.iterdir(), key=lambda each: each.name)
    except OSError as e:
        raise InputError(f"{file_label(str(folder))} cannot be opened ({e.strerror}); check the path") from e
    found = [
        each
        for each in every
        if each.is_file()
        and _ending(each.name) in all_endings()
        and each.name[0] != "."
        and each.name not in _DESCRIPTIONS
    ]
    name = file_label(str(folder))
    if not found:
        inside = [each.name for each in every if each.is_dir()]
        hint = f"; choose one of its folders: {listed(inside, 3)}" if inside else ""
        raise InputError(f"{name} is a folder without a readable file ({', '.join(usual_endings())}){hint}")
    n_bytes = sum(each.stat().st_size for each in found)
    if n_bytes > limits.FILE_BYTES:
        raise InputError(
            f"{name} has {size(n_bytes)} of files; the maximum is {size(limits.FILE_BYTES)}. Put fewer files into a "
            "folder"
        )
    return found


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _of_one_shape(name: str, tables: Mapping[str, Table]) -> dict[str, Table]:
    """Return the tables of the only known shape or set of columns; InputError if there are several."""
    groups: dict[object, dict[str, Table]] = {}
    for each, table in tables.items():
        groups.setdefault(table.origin or (frozenset(table.columns), frozenset(table.matrices)), {})[each] = table
    known = [group for shape, group in groups.items() if isinstance(shape, str)]
    if len(groups) > 1 and len(known) != 1:
        first, second = (next(iter(group)) for group in list(groups.values())[:2])
        raise InputError(
            f"{name} has files of {len(groups)} shapes, such as {listed([first, second])}. Use one folder per shape, "
            "and give a file of labels separately (labels=, --labels)"
        )
    return known[0] if known else next(iter(groups.values()))


def _one_table(name: str, tables: Mapping[str, Table], notes: Sequence[str], *, tell_apart: bool) -> Table:
    first = next(iter(tables.values()))
    rows = [table.n_rows for table in tables.values()]
    columns = {key: _below(each) for key in first.columns if (each := _of_rows(key, tables)) is not None}
    matrices = _matrices(list(tables.values()))
    if matrices:
        columns |= _about_columns(first)
    left = sorted({key for table in tables.values() for key in table.names} - {*columns, *matrices})
    notes = [*notes, *([f"Left out because the files differ in them: {listed(left, 5)}."] if left else [])]
    own = [f"{each}: {note}" for each, table in tables.items() for note in table.notes]
    notes += own[:_MOST_NOTES] + (
        [f"{len(own) - _MOST_NOTES} more notes about its files."] if own[_MOST_NOTES:] else []
    )
    files = np.repeat(np.array(list(tables), dtype=object), rows)
    if tell_apart and not any(_names_files(key, list(tables.values())) for key in columns):
        columns[FILE if FILE not in columns else f"{FILE} of {name}"] = frozen(files.copy())
    lines = [table.lines for table in tables.values() if table.lines is not None]
    numbers = [np.arange(table.n_rows) if table.rows is None else table.rows for table in tables.values()]
    return Table(
        name,
        first.format,
        columns,
        matrices,
        np.concatenate(lines) if len(lines) == len(tables) else None,
        tuple(notes),
        np.concatenate(numbers).astype(np.intp),
        first.origin,
        files=files,
        doubts=tuple((code, f"{each}: {message}") for each, table in tables.items() for code, message in table.doubts),
    )


def _of_rows(key: str, tables: Mapping[str, Table]) -> list[Array] | None:
    """Return the column of every table, if it has one value per row everywhere; else None."""
    every = [table.columns.get(key) for table in tables.values()]
    found = [c for c, table in zip(every, tables.values(), strict=True) if c is not None and len(c) == table.n_rows]
    return found if len(found) == len(tables) else None


def _below(arrays: Sequence[Array]) -> Array:
    """Concatenate columns, as text if one of them is text."""
    texts = any(array.dtype == object for array in arrays)
    return frozen(np.concatenate([label_texts(array) for array in arrays] if texts else list(arrays)))


def _matrices(tables: Sequence[Table]) -> dict[str, NDArray[np.generic]]:
    """Concatenate matrices that every table has with the same width, unless their columns differ in meaning."""
    first = tables[0]
    if any(_about_columns(table).keys() != _about_columns(first).keys() for table in tables) or any(
        not np.array_equal(each, _about_columns(first)[key])
        for table in tables
        for key, each in _about_columns(table).items()
    ):
        return {}
    alike = [
        key
        for key, matrix in first.matrices.items()
        if all(key in table.matrices and table.matrices[key].shape[1] == matrix.shape[1] for table in tables)
    ]
    return {key: frozen(np.concatenate([table.matrices[key] for table in tables])) for key in alike}


def _about_columns(table: Table) -> dict[str, Array]:
    """Columns without one value per row, such as names of classes."""
    return {key: column for key, column in table.columns.items() if len(column) != table.n_rows}


def _names_files(key: str, tables: Sequence[Table]) -> bool:
    """True if a column is constant in each file and different between files."""
    values = [set(label_texts(table.columns[key]).tolist()) for table in tables]
    return all(len(each) == 1 for each in values) and len(set.union(*values)) == len(tables)
