"""Uploads in custody: whose they are, who may see them, how many are taken in at a time, and when they go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from calib_core import InputError
from calib_core.readers.limits import size
from dashboard.session.result_cache import arrays
from dashboard.session.server_limits import terms

T = TypeVar("T")
AT_A_TIME = 2
"""Files read at a time: each may take a core, and several times its size."""
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
    """There is no room for an upload; nothing of it is kept."""


class Uploads(Generic[T]):
    """Uploads by key, each its owner's alone until it is shared. None goes to make room for another."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, _Upload[T]] = {}
        self._coming: list[int] = []
        self._changed = threading.Condition()

    def put(self, key: str, make: Callable[[], T], owner: str, predicted: int) -> T:
        """The upload under a key, made where it is not here; it waits for its turn and for ``predicted`` bytes.

        `Full` says why there is no room, and what to do.
        """
        found = self.find(key, owner)
        if found is None:
            with self._room(owner, predicted):
                found = self.find(key, owner) or make()
                self._keep(key, _Upload(found, owner, arrays(found), self._clock()), predicted)
        return found

    def _keep(self, key: str, upload: _Upload[T], predicted: int) -> None:
        """Keep what was read, unless it turned out larger than what there is room for."""
        under = terms()
        with self._changed:
            own = sum(other.bytes for other in self._kept.values() if other.owner == upload.owner)
            for taken, most in ((own, under.bytes), (self._taken() - predicted, under.kept_bytes)):
                if key not in self._kept and upload.bytes > predicted and taken + upload.bytes > most:
                    raise Full(
                        f"This file takes {size(upload.bytes)} of memory once it is read and there is no room for it: "
                        f"{size(taken)} of {size(most)} are in use. Delete your uploads, or upload a smaller file."
                    )
            self._kept.setdefault(key, upload)

    @contextmanager
    def _room(self, owner: str, predicted: int) -> Iterator[None]:
        under, until = terms(), time.monotonic() + QUEUE_SECONDS
        with self._changed:
            own = [upload.bytes for upload in self._kept.values() if upload.owner == owner]
            if len(own) >= under.files:
                raise Full(f"You have {len(own)} uploads here, and no more are kept for one person: delete them first.")
            if sum(own) + predicted > under.bytes:
                raise Full(
                    f"Your uploads take {size(sum(own))} here and this one about {size(predicted)} more; "
                    f"{size(under.bytes)} are kept for one person. Delete them first, or upload a smaller file."
                )
            while not self._fits(predicted):
                if not self._coming or not self._changed.wait(until - time.monotonic()):
                    raise Full(
                        f"This file takes about {size(predicted)} of memory and there is no room for it now: "
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
        """The upload under a key, where this visitor may see it; None is what is away from any page, which may."""
        with self._changed:
            upload = self._kept.get(key)
            if upload is None or not (visitor is None or upload.shared or upload.owner == visitor):
                return None
            upload.used = self._clock()
            return upload.value

    def replace(self, key: str, value: T) -> None:
        """Put another value in the place of one, of the same size."""
        with self._changed:
            self._kept[key].value = value

    def of(self, owner: str) -> tuple[str, ...]:
        """Keys of the uploads of an owner."""
        with self._changed:
            return tuple(key for key, upload in self._kept.items() if upload.owner == owner)

    def shared(self, key: str) -> bool:
        """Whether everybody may see an upload who knows its key."""
        with self._changed:
            return key in self._kept and self._kept[key].shared

    def share(self, key: str, owner: str, yes: bool) -> None:
        """Let everybody see an upload who knows its key, or nobody but its owner; only the owner can."""
        with self._changed:
            upload = self._kept.get(key)
            if upload is not None and upload.owner == owner:
                upload.shared = yes

    def arrays_of(self, keys: Iterable[str]) -> dict[int, int]:
        """The arrays of uploads: bytes by identity."""
        with self._changed:
            found = [self._kept[key].arrays for key in keys if key in self._kept]
        return {array: size for arrays in found for array, size in arrays.items()}

    def has(self, key: str) -> bool:
        """Whether an upload is here, whosever it is."""
        with self._changed:
            return key in self._kept

    def delete(self, owner: str, key: str | None = None) -> int:
        """Forget all uploads of an owner, or the one under a key; how many there were."""
        return self._forget(lambda upload: upload.owner == owner, key)

    def expire(self, gone: Callable[[str], bool]) -> int:
        """Forget what nobody looked at for long, and what is of owners who are ``gone``; how many there were."""
        oldest = self._clock() - terms().expiry
        return self._forget(lambda upload: upload.used < oldest or gone(upload.owner))

    def _forget(self, chosen: Callable[[_Upload[T]], bool], only: str | None = None) -> int:
        with self._changed:
            keys = tuple(key for key, upload in self._kept.items() if only in (None, key) and chosen(upload))
            for key in keys:
                del self._kept[key]
            self._changed.notify_all()
        return len(keys)
