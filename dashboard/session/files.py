"""Files by their keys: tables that were read, and how each is read as predictions.

On one's own machine the key of an upload is the hash of its content, so that its link works again wherever the file is
opened; where many people meet it is the secret of the visitor who brought it (`dashboard.session.server_limits`).

Streamlit never hashes data here: it looks at a sample of large arrays only, so that two uploads could meet.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import calib_core as cc
from calib_core import InputError, Predictions, readers
from calib_core.datasets import DEMOS, Demo, demo
from calib_core.readers import Checked, Finding, Reading, Table, by_severity, propose, read_table, with_labels
from calib_core.readers.file_format import unpacked_bytes
from calib_core.readers.formats.folder import folder_digest
from calib_core.readers.proposal.label_codes import coded_labels
from calib_core.readers.proposal.long_form import of_one_model
from dashboard.selection import NONE
from dashboard.session.call import Call, call
from dashboard.session.reading_changes import differences, with_changes
from dashboard.session.result_cache import RESULTS, Missing, ResultCache
from dashboard.session.server_limits import terms
from dashboard.session.uploaded_files import Uploads
from dashboard.session.visitors import EVERYBODY, PRESENT, visitor

_EXAMPLES = ResultCache(1 << 28)
_SECRET = secrets.token_bytes(32)
_TIMES = 3
"""Bytes that a file takes while it is read, for each of the numbers it holds: columns, and what becomes of them."""


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
        name = self.demo.title if self.demo else self.table.name
        return name if (met := self.table.joined) is None else f"{name} with {met.labels}"

    @property
    def stem(self) -> str:
        """What its table is called in printed code."""
        return "data"

    def python(self) -> str:
        """The expression that reads it."""
        name = f"*cc.datasets.demo({self.demo.key!r})" if self.demo else repr(self.table.name)
        if (met := self.table.joined) is None:
            return f"cc.read_table({name})"
        key = "" if met.key is None else f", {(met.key[0] if len(met.key) == 1 else met.key)!r}"
        return f"cc.readers.with_labels(cc.read_table({name}), cc.read_table({met.labels!r}){key})"

    def get(self) -> Table:
        """Its table."""
        return self.table


UPLOADS: Uploads[File] = Uploads()
"""Uploads by their keys."""
RESULTS.arrays_of = UPLOADS.arrays_of


def hold(data: bytes, name: str) -> File:
    """Read an upload and keep it for the visitor; InputError leaves everything as it was.

    On one's own machine the same bytes under another name are not read again: the file goes by the name last given.
    """
    digest, owner = hashlib.sha256(data).hexdigest(), visitor() or EVERYBODY
    key = _key(digest, name, owner)
    found = UPLOADS.put(key, lambda: _read(key, digest, data, name), owner, reading_bytes(data))
    if found.table.name != name:
        found = replace(found, table=replace(found.table, name=name))
        UPLOADS.replace(key, found)
    return found


def join(key: str, data: bytes, name: str, columns: Sequence[str] | None = None) -> File:
    """A file with the labels of another upload, as a file of its own; the key of both as in ``with_labels``."""
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
    """Read the files of a folder as one and keep it; only those who started the program name folders."""
    digest, owner = folder_digest(path), visitor() or EVERYBODY
    table = read_table(path)
    key = _key(digest, table.name, owner)
    return UPLOADS.put(key, lambda: _proposed(key, table, digest, None), owner, table.n_bytes)


def reading_bytes(data: bytes) -> int:
    """Bytes that reading a file takes beside its own, by what it says of itself."""
    return max(len(data), _TIMES * unpacked_bytes(data))


def _key(digest: str, name: str, owner: str) -> str:
    if not terms().private:
        return f"sha256:{digest}"
    # The same for the same visitor and file, so that a link works again after another upload; told by nothing else.
    brought = "\0".join((owner, digest, name)).encode(errors="surrogatepass")
    return f"upload:{hmac.new(_SECRET, brought, 'sha256').hexdigest()[:40]}"


def file(key: str) -> File:
    """The file a key names: a demo, or an upload that is still here and that the visitor may see."""
    if key.startswith("demo:"):
        return _EXAMPLES.put(key, lambda: _read_demo(key))
    if key == NONE:
        raise Missing("No data are open yet: choose a file, or an example.")
    found = UPLOADS.find(key, visitor())
    if found is not None:
        return found
    if terms().private:
        raise Missing(
            "The link is about an uploaded file that is not here, or not shared with you: ask whoever sent it to share "
            "it again, or upload the file yourself."
        )
    raise Missing(
        "The link is about an uploaded file that is not here (its content hash begins with "
        f"{key.removeprefix('sha256:')[:8]!r}): upload the same file again and the picture returns."
    )


def own_keys() -> tuple[str, ...]:
    """Keys of the visitor's own uploads."""
    return UPLOADS.of(visitor() or EVERYBODY)


def is_shared(key: str) -> bool:
    """Whether everybody who has the link may see an upload."""
    return UPLOADS.shared(key)


def share(key: str, yes: bool) -> None:
    """Let everybody see one of the visitor's own uploads who has the link, or nobody any more."""
    UPLOADS.share(key, visitor() or EVERYBODY, yes)


def delete_own(key: str | None = None) -> int:
    """Delete the visitor's uploads, or one, and all that was computed from them; how many there were."""
    number = UPLOADS.delete(visitor() or EVERYBODY, key)
    _forget_results()
    return number


def expire() -> int:
    """Delete uploads that nobody looked at for long, and those of visitors who have left; how many there were."""
    absence = terms().absence
    number = UPLOADS.expire(lambda owner: PRESENT.absent(owner, absence))
    PRESENT.forget(lambda who: bool(UPLOADS.of(who)))
    _forget_results()
    return number


def _forget_results() -> None:
    """Forget what was computed from uploads that are not here any more, some of it perhaps after they went."""
    RESULTS.forget(key for key in RESULTS.files if not key.startswith("demo:") and not UPLOADS.has(key))


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
    return call(cc.calls.read_as, file(key), changes(key, changed), stem="whole")


def whole(key: str, changed: str) -> Predictions:
    """All rows of a file as predictions; InputError in one sentence when it cannot be read like that."""
    return RESULTS.get(whole_call(key, changed))


def findings(key: str, changed: str) -> tuple[Finding, ...]:
    """What is worth knowing about a file before anything is computed."""
    return by_severity(checks(key, changed))


def checks(key: str, changed: str) -> tuple[Checked, ...]:
    """Everything that was looked for in a file, and what came of it."""
    how = reading(key, changed)
    return RESULTS.put(f"checks {key} {how.to_json()}", lambda: readers.checks(file(key).table, how), of=(key,))


def label_counts(key: str, how: Reading) -> tuple[tuple[int, ...], int, int]:
    """Rows of each class, rows whose label is no class, and rows without a label."""
    return RESULTS.put(f"labels {key} {how.to_json()}", lambda: _label_counts(file(key).table, how), of=(key,))


def _label_counts(table: Table, how: Reading) -> tuple[tuple[int, ...], int, int]:
    found = coded_labels(*of_one_model(table, how))
    rows = np.bincount(found.codes[found.codes >= 0], minlength=len(how.classes))
    return tuple(rows.tolist()), int(found.unknown.sum()), int(found.missing.sum())
