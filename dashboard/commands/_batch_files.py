"""The file of a batch for `calib watch`: its rows with outcomes, the number of the others, and its name."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dashboard.commands import _opened_models, _outputs
from dashboard.commands._shared_options import ReadingOptions

if TYPE_CHECKING:  # heavy: imported when the command runs
    from calib_core.predictions.predictions import Predictions
    from calib_core.readers import Reading
    from dashboard.commands._opened_models import Opened

_UNKNOWN = "calib unknown outcome"
"""Name of a column of stand-ins, with which rows without labels are read for their scores alone."""


@dataclass(frozen=True)
class BatchFile:
    """A file as a batch: ``opened`` with its outcomes (None without any), and ``unlabeled`` further rows.

    ``names`` identify it, the preferred one first: the digests of its content and of its scores. The content changes
    when labels come into the file, the scores do not.
    """

    opened: Opened | None
    unlabeled: int
    names: tuple[str, ...]

    @property
    def rows(self) -> Predictions:
        """Return the rows with outcomes."""
        assert self.opened is not None
        scene = _opened_models.scene({"": self.opened}, rows="all")
        return scene.get(scene.models.shown[0].predictions)


def batch_file(file: Path, read: ReadingOptions, where: str) -> BatchFile:
    """Read the file of a batch; InputError if it is no file of predictions, with labels or without."""
    from calib_core import InputError
    from calib_core.readers.from_file import NothingJoined

    try:
        opened, missing = _opened(file, read, where)
    except NothingJoined:
        read = replace(read, labels=None, keys=(), by_place=False)
        return _without_labels(file, read, where)
    except InputError:
        if read.label is not None or read.labels is not None or str(file) == _outputs.STDIO:
            raise
        if _opened_models.opened_file(file).proposal is not None:
            raise
        try:
            return _without_labels(file, read, where)
        except InputError:
            pass  # no file of scores: the first reason is the one that matters
        raise
    met = opened.file.table.joined
    names = [_name(opened.file.digest, where)]
    if str(file) != _outputs.STDIO and (scores := _digest(file, opened.reading)):
        names.append(_name(scores, where))
    if missing:
        return BatchFile(opened, missing, tuple(reversed(names)))
    return BatchFile(opened, 0 if met is None else met.left_out, tuple(names))


def _opened(file: Path, read: ReadingOptions, where: str) -> tuple[Opened, int]:
    """Return the file, and the number of rows whose label is missing, which are left out."""
    from calib_core import InputError
    from dashboard import session

    try:
        return _opened_models.opened(file, read, where), 0
    except InputError:
        if "missing" in read.fields or str(file) == _outputs.STDIO:
            raise
        joined = _opened_models.opened_file(file, read)
        reading = session.proposed(joined.key, read.fields)
        missing = session.label_counts(joined.key, reading)[2] if reading.label else 0
        if not missing:
            raise
        opened = _opened_models.opened(file, replace(read, read=(*read.read, "missing=exclude")), where)
        # A row without a score is an error, and no row whose label comes later.
        if opened.whole.n_rows != joined.table.n_rows - missing:
            raise
        return opened, missing


def _without_labels(file: Path, read: ReadingOptions, where: str) -> BatchFile:
    """Return a file of scores none of which has a label; InputError if it is none."""
    from calib_core import readers
    from calib_core.slices import part

    table = _opened_models.opened_file(file).table
    # The reader needs a label in every row: any will do, as only the scores are used.
    filled = replace(table, columns={**table.columns, _UNKNOWN: np.arange(table.n_rows) % 2})
    reading = readers.propose(filled, **(read.fields | {"label": (_UNKNOWN,)}))
    rows = readers.predictions(filled, reading)
    rows = part(rows, where) if where else rows
    return BatchFile(None, rows.n_rows, (_name(_digest(file, reading), where),))


def _name(digest: str, where: str) -> str:
    from calib_core.slices import as_slice

    # Another slice of the same file is another batch.
    return " ".join(filter(None, (digest, as_slice(where).title if where else "")))


def _digest(file: Path, reading: Reading) -> str:
    """Return the digest of the scores of a file; empty if it was read by other columns than its own."""
    table = _opened_models.opened_file(file).table
    names = reading.scores or tuple(filter(None, (reading.confidence,)))
    if not names or not {*names} <= {*table.columns, *table.matrices}:
        return ""
    found = hashlib.sha256()
    for name in names:
        values = table.columns.get(name, table.matrices.get(name))
        assert values is not None
        found.update("\0".join(map(str, values.ravel().tolist())).encode())
    return found.hexdigest()
