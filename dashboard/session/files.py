"""Files by their keys: the tables read from them, and how each is read as predictions.

On one's own machine the key of an upload is the hash of its content, so that its link works again after another upload.
On a server for many it is a secret of the visitor who uploaded it (`dashboard.session.server_limits`).

Streamlit never hashes data here: it samples large arrays, so that two uploads could collide.

The module also manages uploads: their owners, who may see them, how many are read at a time, and their expiry.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

import calib_core as cc
from calib_core import InputError, Predictions, readers
from calib_core.datasets import DEMOS, Demo, demo
from calib_core.readers import Checked, Finding, Reading, Table, by_severity, propose, read_table, with_labels
from calib_core.readers.file_format import unpacked_bytes
from calib_core.readers.formats.folder import folder_digest
from calib_core.readers.messages import size
from calib_core.readers.proposal.label_codes import coded_labels
from calib_core.readers.proposal.long_form import of_one_model
from dashboard.selection import NONE
from dashboard.session.call import Call, call
from dashboard.session.reading_changes import changed_fields, differences, with_changes
from dashboard.session.result_cache import RESULTS, Missing, ResultCache, arrays
from dashboard.session.server_limits import terms
from dashboard.session.visitors import EVERYBODY, PRESENT, visitor

T = TypeVar("T")
AT_A_TIME = 2
"""Number of files read at the same time: each may take a core, and several times its size."""
QUEUE_SECONDS = 300.0


@dataclass
class _Upload(Generic[T]):
    value: T
    owner: str
    arrays: Mapping[int, int]
    used: float
    shared: bool = False

    @property
    def bytes(self) -> int:
        return sum(self.arrays.values())


class Full(InputError):
    """Error for an upload without room; nothing of it is stored."""


class Uploads(Generic[T]):
    """Uploads by key, each private to its owner until shared. None is removed to make room for another."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, _Upload[T]] = {}
        self._coming: list[int] = []
        self._changed = threading.Condition()

    def put(self, key: str, make: Callable[[], T], owner: str, predicted: int) -> T:
        """Return the upload under a key, created if it is missing; waits for its turn and for ``predicted`` bytes.

        The message of `Full` gives the reason and the remedy.
        """
        found = self.find(key, owner)
        if found is None:
            with self._room(owner, predicted):
                found = self.find(key, owner) or make()
                self._keep(key, _Upload(found, owner, arrays(found), self._clock()), predicted)
        return found

    def _keep(self, key: str, upload: _Upload[T], predicted: int) -> None:
        """Store an upload, unless it turned out larger than the available room."""
        under = terms()
        with self._changed:
            own = sum(other.bytes for other in self._kept.values() if other.owner == upload.owner)
            for taken, most in ((own, under.bytes), (self._taken() - predicted, under.kept_bytes)):
                if key not in self._kept and upload.bytes > predicted and taken + upload.bytes > most:
                    raise Full(
                        f"This file takes {size(upload.bytes)} of memory once it is read, more than is free: "
                        f"{size(taken)} of {size(most)} are in use. Delete your uploads, or upload a smaller file."
                    )
            self._kept.setdefault(key, upload)

    @contextmanager
    def _room(self, owner: str, predicted: int) -> Iterator[None]:
        under, until = terms(), time.monotonic() + QUEUE_SECONDS
        with self._changed:
            own = [upload.bytes for upload in self._kept.values() if upload.owner == owner]
            if len(own) >= under.files:
                raise Full(f"You have {len(own)} uploads here, the maximum for one person. Delete some first.")
            if sum(own) + predicted > under.bytes:
                raise Full(
                    f"Your uploads take {size(sum(own))} here and this one about {size(predicted)} more; "
                    f"{size(under.bytes)} are the maximum for one person. Delete some first, or upload a smaller file."
                )
            while not self._fits(predicted):
                if not self._coming or not self._changed.wait(until - time.monotonic()):
                    raise Full(
                        f"This file takes about {size(predicted)} of memory, more than is free now: "
                        f"{size(self._taken())} of {size(under.kept_bytes)} are in use. Delete your "
                        "uploads, upload a smaller file, or try again later."
                    )
            self._coming.append(predicted)
        try:
            yield
        finally:
            with self._changed:
                self._coming.remove(predicted)
                self._changed.notify_all()

    def _fits(self, predicted: int) -> bool:
        return len(self._coming) < AT_A_TIME and self._taken() + predicted <= terms().kept_bytes

    def _taken(self) -> int:
        return sum(self._coming) + sum(upload.bytes for upload in self._kept.values())

    def find(self, key: str, visitor: str | None) -> T | None:
        """Return the upload under a key, if this visitor may see it; None (no page) may see all."""
        with self._changed:
            upload = self._kept.get(key)
            if upload is None or not (visitor is None or upload.shared or upload.owner == visitor):
                return None
            upload.used = self._clock()
            return upload.value

    def replace(self, key: str, value: T) -> None:
        """Replace a value by another of the same size."""
        with self._changed:
            self._kept[key].value = value

    def of(self, owner: str) -> tuple[str, ...]:
        """Return the keys of the uploads of an owner."""
        with self._changed:
            return tuple(key for key, upload in self._kept.items() if upload.owner == owner)

    def shared(self, key: str) -> bool:
        """Return True if everybody with the key of an upload may see it."""
        with self._changed:
            return key in self._kept and self._kept[key].shared

    def share(self, key: str, owner: str, yes: bool) -> None:
        """Share an upload with everybody who has its key, or with nobody; only the owner can."""
        with self._changed:
            upload = self._kept.get(key)
            if upload is not None and upload.owner == owner:
                upload.shared = yes

    def arrays_of(self, keys: Iterable[str]) -> dict[int, int]:
        """Return the arrays of uploads: bytes by identity."""
        with self._changed:
            found = [self._kept[key].arrays for key in keys if key in self._kept]
        return {array: size for arrays in found for array, size in arrays.items()}

    def has(self, key: str) -> bool:
        """Return True if an upload is stored, for any owner."""
        with self._changed:
            return key in self._kept

    def delete(self, owner: str, key: str | None = None) -> int:
        """Delete all uploads of an owner, or the one under a key; return their number."""
        return self._forget(lambda upload: upload.owner == owner, key)

    def expire(self, gone: Callable[[str], bool]) -> int:
        """Delete uploads not used for long, and those of owners who are ``gone``; return their number."""
        oldest = self._clock() - terms().expiry
        return self._forget(lambda upload: upload.used < oldest or gone(upload.owner))

    def _forget(self, chosen: Callable[[_Upload[T]], bool], only: str | None = None) -> int:
        with self._changed:
            keys = tuple(key for key, upload in self._kept.items() if only in (None, key) and chosen(upload))
            for key in keys:
                del self._kept[key]
            self._changed.notify_all()
        return len(keys)


_EXAMPLES = ResultCache(1 << 28)
_SECRET = secrets.token_bytes(32)
_TIMES = 3
"""Bytes needed to read a file for each of its numbers: columns, and the predictions."""


@dataclass(frozen=True, eq=False)
class File:
    """Opened file: its identity, its table, how it is read by proposal, and its origin.

    ``proposal`` is None if the table is ambiguous; ``question`` then states the choice. In printed code the file is the
    line that reads it; an upload is read from the working directory.
    """

    key: str
    table: Table
    digest: str
    proposal: Reading | None
    question: str = ""
    demo: Demo | None = None

    @property
    def title(self) -> str:
        """Return its title on screen."""
        name = self.demo.title if self.demo else self.table.name
        return name if (met := self.table.joined) is None else f"{name} with {met.labels}"

    @property
    def stem(self) -> str:
        """Return the name of its table in printed code."""
        return "data"

    def python(self) -> str:
        """Return the expression that reads it."""
        name = f"*cc.datasets.demo({self.demo.key!r})" if self.demo else repr(self.table.name)
        if (met := self.table.joined) is None:
            return f"cc.read_table({name})"
        key = "" if met.key is None else f", {(met.key[0] if len(met.key) == 1 else met.key)!r}"
        return f"cc.readers.with_labels(cc.read_table({name}), cc.read_table({met.labels!r}){key})"

    def get(self) -> Table:
        """Return its table."""
        return self.table


UPLOADS: Uploads[File] = Uploads()
"""Uploads of this process by their keys."""
RESULTS.arrays_of = UPLOADS.arrays_of


def hold(data: bytes, name: str) -> File:
    """Read an upload and store it for the visitor; InputError leaves everything unchanged.

    On one's own machine the same bytes under another name are not read again: the file gets the last name given.
    """
    digest, owner = hashlib.sha256(data).hexdigest(), visitor() or EVERYBODY
    key = _key(digest, name, owner)
    found = UPLOADS.put(key, lambda: _read(key, digest, data, name), owner, reading_bytes(data))
    if found.table.name != name:
        found = replace(found, table=replace(found.table, name=name))
        UPLOADS.replace(key, found)
    return found


def join(key: str, data: bytes, name: str, columns: Sequence[str] | None = None) -> File:
    """Return a new file: another upload joined with these labels; the key of both as in ``with_labels``."""
    scores, owner = file(key), visitor() or EVERYBODY
    parts = "\0".join((scores.key, hashlib.sha256(data).hexdigest(), name, repr(columns)))
    both = _key(hashlib.sha256(parts.encode(errors="surrogatepass")).hexdigest(), scores.table.name, owner)
    predicted = scores.table.n_bytes + reading_bytes(data)
    return UPLOADS.put(
        both,
        lambda: _proposed(both, with_labels(scores.table, read_table(data, name), columns), scores.digest, scores.demo),
        owner,
        predicted,
    )


def hold_folder(path: Path) -> File:
    """Read the files of a folder as one and store it; only the user who started the program can name folders."""
    digest, owner = folder_digest(path), visitor() or EVERYBODY
    table = read_table(path)
    key = _key(digest, table.name, owner)
    return UPLOADS.put(key, lambda: _proposed(key, table, digest, None), owner, table.n_bytes)


def reading_bytes(data: bytes) -> int:
    """Return the bytes that reading a file needs beyond its own, according to its header."""
    return max(len(data), _TIMES * unpacked_bytes(data))


def _key(digest: str, name: str, owner: str) -> str:
    if not terms().private:
        return f"sha256:{digest}"
    # The same for the same visitor and file, so that a link works again after another upload; it cannot be guessed.
    brought = "\0".join((owner, digest, name)).encode(errors="surrogatepass")
    return f"upload:{hmac.new(_SECRET, brought, 'sha256').hexdigest()[:40]}"


def file(key: str) -> File:
    """Return the file of a key: a demo, or a stored upload that the visitor may see."""
    if key.startswith("demo:"):
        return _EXAMPLES.put(key, lambda: _read_demo(key))
    if key == NONE:
        raise Missing("No data are loaded yet: choose a file or an example.")
    found = UPLOADS.find(key, visitor())
    if found is not None:
        return found
    if terms().private:
        raise Missing(
            "This link needs an uploaded file that is not here or not shared with you. Ask the sender to share it "
            "again, or upload the file yourself."
        )
    raise Missing(
        "This link needs an uploaded file that is not here (its content hash begins with "
        f"{key.removeprefix('sha256:')[:8]!r}). Upload the same file again."
    )


def own_keys() -> tuple[str, ...]:
    """Return the keys of the visitor's own uploads."""
    return UPLOADS.of(visitor() or EVERYBODY)


def is_shared(key: str) -> bool:
    """Return True if everybody who has the link may see an upload."""
    return UPLOADS.shared(key)


def share(key: str, yes: bool) -> None:
    """Share one of the visitor's own uploads with everybody who has the link, or with nobody."""
    UPLOADS.share(key, visitor() or EVERYBODY, yes)


def delete_own(key: str | None = None) -> int:
    """Delete the visitor's uploads, or one, and all results computed from them; return their number."""
    number = UPLOADS.delete(visitor() or EVERYBODY, key)
    _forget_results()
    return number


def expire() -> int:
    """Delete uploads not used for long, and those of visitors who have left; return their number."""
    absence = terms().absence
    number = UPLOADS.expire(lambda owner: PRESENT.absent(owner, absence))
    PRESENT.forget(lambda who: bool(UPLOADS.of(who)))
    _forget_results()
    return number


def _forget_results() -> None:
    """Delete results computed from uploads that are gone, even if computed after their removal."""
    RESULTS.forget(key for key in RESULTS.files if not key.startswith("demo:") and not UPLOADS.has(key))


def is_here(key: str) -> bool:
    """Return True if a file is available."""
    try:
        file(key)
    except InputError:
        return False
    return True


def _read_demo(key: str) -> File:
    for entry in DEMOS:
        if key == f"demo:{entry.key}":
            data, name = demo(entry.key)
            return _read(key, hashlib.sha256(data).hexdigest(), data, name, entry)
    raise Missing(f"There is no demo data set {key[:80]!r}: choose one in the Data view.")


def _read(key: str, digest: str, data: bytes, name: str, entry: Demo | None = None) -> File:
    return _proposed(key, read_table(data, name), digest, entry)


def _proposed(key: str, table: Table, digest: str, entry: Demo | None) -> File:
    try:
        return File(key, table, digest, propose(table), demo=entry)
    except InputError as why:
        return File(key, table, digest, None, str(why), entry)


def reading(key: str, changed: str) -> Reading:
    """Return how a file is read: as proposed, with the user's changes."""
    found = file(key)
    if found.proposal is None and not changed:
        raise InputError(found.question)
    return with_changes(found.proposal, changed)


def changes(key: str, changed: str) -> dict[str, Any] | None:
    """Return the fields in which a file is read otherwise than it suggests; None if there are none."""
    return differences(file(key).proposal, reading(key, changed)) or None


def proposed(key: str, chosen: Mapping[str, Any]) -> Reading:
    """Return how a file is read with some fields of the reading given: the others follow them."""
    return propose(file(key).table, **chosen)


def whole_call(key: str, changed: str) -> Call[Predictions]:
    """Return the call for all rows of a file as predictions."""
    return call(cc.calls.read_as, file(key), changes(key, changed), stem="whole")


def whole(key: str, changed: str) -> Predictions:
    """Return all rows of a file as predictions; InputError if it cannot be read this way."""
    return RESULTS.get(whole_call(key, changed))


def findings(key: str, changed: str) -> tuple[Finding, ...]:
    """Return the findings about a file before anything is computed; warnings that a change settles are notes."""
    chosen = changed_fields(changed)
    return by_severity(replace(each, findings=_settled(each, chosen)) for each in checks(key, changed))


def _settled(check: Checked, chosen: frozenset[str]) -> tuple[Finding, ...]:
    return tuple(
        replace(each, severity="note") if each.severity == "warning" and not each.open_to(chosen) else each
        for each in check.findings
    )


def checks(key: str, changed: str) -> tuple[Checked, ...]:
    """Return every check of a file and its outcome."""
    how = reading(key, changed)
    return RESULTS.put(f"checks {key} {how.to_json()}", lambda: readers.checks(file(key).table, how), of=(key,))


def label_counts(key: str, how: Reading) -> tuple[tuple[int, ...], int, int]:
    """Return rows of each class, rows whose label is no class, and rows without a label."""
    return RESULTS.put(f"labels {key} {how.to_json()}", lambda: _label_counts(file(key).table, how), of=(key,))


def _label_counts(table: Table, how: Reading) -> tuple[tuple[int, ...], int, int]:
    found = coded_labels(*of_one_model(table, how))
    rows = np.bincount(found.codes[found.codes >= 0], minlength=len(how.classes))
    return tuple(rows.tolist()), int(found.unknown.sum()), int(found.missing.sum())
