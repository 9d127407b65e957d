"""Files by the hash of their content: tables that were read, and how each is read as predictions.

Streamlit never hashes data here: it looks at a sample of large arrays only, so that two uploads could meet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import calib_core as cc
from calib_core import InputError, Predictions
from calib_core.datasets import DEMOS, Demo, demo
from calib_core.readers import Finding, Reading, Table, examine, propose, read_table
from calib_core.readers.labels import coded_labels
from calib_core.readers.long_form import of_one_model
from dashboard.session.call import Call, call
from dashboard.session.reading_changes import differences, with_changes
from dashboard.session.shelf import FILES, RESULTS, Missing


@dataclass(frozen=True, eq=False)
class File:
    """A file that was read: its identity, its table, how it is read by proposal, and where it came from.

    ``proposal`` is None where the table leaves a choice; ``question`` then says which. In printed code it is the line
    that reads it, from the working directory where it was uploaded.
    """

    key: str
    table: Table
    digest: str
    proposal: Reading | None
    question: str = ""
    demo: Demo | None = None

    @property
    def title(self) -> str:
        """What it is called on screen."""
        return self.demo.title if self.demo else self.table.name

    @property
    def stem(self) -> str:
        """What its table is called in printed code."""
        return "data"

    def python(self) -> str:
        """The expression that reads it."""
        return f"cc.read_table(*cc.datasets.demo({self.demo.key!r}))" if self.demo else f"cc.read_table({self.title!r})"

    def get(self) -> Table:
        """Its table."""
        return self.table


def hold(data: bytes, name: str) -> File:
    """Read an upload and keep it under the hash of its content; InputError leaves everything as it was.

    The same bytes under another name are not read again: the file goes by the name it was last given.
    """
    key = "sha256:" + hashlib.sha256(data).hexdigest()
    found = FILES.put(key, lambda: _read(key, data, name, None))
    if found.table.name != name:
        found = replace(found, table=replace(found.table, name=name))
        FILES.replace(key, found)
    return found


def file(key: str) -> File:
    """The file a key names: a demo, or an upload that is still here."""
    if key.startswith("demo:"):
        return FILES.put(key, lambda: _read_demo(key))
    found: File | None = FILES.find(key)
    if found is None:
        raise Missing(
            "The link is about an uploaded file that is not here (its content hash begins with "
            f"{key.removeprefix('sha256:')[:8]!r}): upload the same file again and the picture returns."
        )
    return found


def is_here(key: str) -> bool:
    """Tell whether a file is here."""
    try:
        file(key)
    except InputError:
        return False
    return True


def _read_demo(key: str) -> File:
    for entry in DEMOS:
        if key == f"demo:{entry.key}":
            return _read(key, *demo(entry.key), entry)
    raise Missing(f"There is no demo data set {key[:80]!r}: choose one in the Data view.")


def _read(key: str, data: bytes, name: str, entry: Demo | None) -> File:
    table = read_table(data, name)
    digest = key.removeprefix("sha256:") if entry is None else hashlib.sha256(data).hexdigest()
    try:
        return File(key, table, digest, propose(table), demo=entry)
    except InputError as why:
        return File(key, table, digest, None, str(why), entry)


def reading(key: str, changed: str) -> Reading:
    """How a file is read: as proposed, unless the user changed it."""
    found = file(key)
    if found.proposal is None and not changed:
        raise InputError(found.question)
    return with_changes(found.proposal, changed)


def changes(key: str, changed: str) -> dict[str, Any] | None:
    """The fields in which a file is read otherwise than it suggests; None where there are none."""
    return differences(file(key).proposal, reading(key, changed)) or None


def proposed(key: str, chosen: Mapping[str, Any]) -> Reading:
    """How a file is read when some fields of the reading are given: the others follow them."""
    return propose(file(key).table, **chosen)


def whole_call(key: str, changed: str) -> Call[Predictions]:
    """All rows of a file as predictions, as a call."""
    return call(cc.read_as, file(key), changes(key, changed), stem="whole")


def whole(key: str, changed: str) -> Predictions:
    """All rows of a file as predictions; InputError in one sentence when it cannot be read like that."""
    return RESULTS.get(whole_call(key, changed))


def findings(key: str, changed: str) -> tuple[Finding, ...]:
    """What is worth knowing about a file before anything is computed."""
    how = reading(key, changed)
    return RESULTS.put(f"findings {key} {how.to_json()}", lambda: examine(file(key).table, how))


def label_counts(key: str, how: Reading) -> tuple[tuple[int, ...], int, int]:
    """Rows of each class, rows whose label is no class, and rows without a label."""
    return RESULTS.put(f"labels {key} {how.to_json()}", lambda: _label_counts(file(key).table, how))


def _label_counts(table: Table, how: Reading) -> tuple[tuple[int, ...], int, int]:
    found = coded_labels(*of_one_model(table, how))
    rows = np.bincount(found.codes[found.codes >= 0], minlength=len(how.classes))
    return tuple(rows.tolist()), int(found.unknown.sum()), int(found.missing.sum())
