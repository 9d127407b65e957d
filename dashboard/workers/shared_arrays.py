"""Values sent between processes: their arrays in shared memory, the small remainder pickled.

The memory has no name in any folder: it is gone with the last process that maps it, however that one ends.
"""

from __future__ import annotations

import mmap
import os
import pickle
import sys
import tempfile
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

_ALIGNED = 64
NO_PROCESSES = "there are no worker processes on Windows"


class SharedArrays(NamedTuple):
    """Value ready to be sent: its pickled part, and its arrays in place."""

    text: bytes
    arrays: tuple[memoryview, ...]

    @property
    def bytes(self) -> int:
        """Return the bytes of its arrays."""
        return sum(array.nbytes for array in self.arrays)


def packed(value: Any) -> SharedArrays:
    """Pack a value as a parcel; raises any error of pickle if the value cannot be pickled.

    >>> import numpy as np
    >>> packed({"scores": np.zeros(1000)}).bytes
    8000
    """
    arrays: list[pickle.PickleBuffer] = []
    text = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    return SharedArrays(text, tuple(array.raw() for array in arrays))


def send(connection: Connection, parcel: SharedArrays) -> None:
    """Send a parcel; OSError if there is no memory for its arrays, or the other end is gone."""
    if sys.platform == "win32":
        raise OSError(NO_PROCESSES)
    from multiprocessing.reduction import send_handle

    # Written before any message is sent: without room, the other end has received nothing yet.
    shared = _written(parcel) if parcel.arrays else None
    try:
        connection.send((len(parcel.text), [(array.nbytes, array.readonly) for array in parcel.arrays]))
        connection.send_bytes(parcel.text)
        if shared is not None:
            send_handle(connection, shared, 0)
    finally:
        if shared is not None:
            os.close(shared)


def received(connection: Connection) -> Any:
    """Return the value of the other end's next `send`; EOFError if that end is gone."""
    if sys.platform == "win32":
        raise OSError(NO_PROCESSES)
    from multiprocessing.reduction import recv_handle

    _, arrays = connection.recv()
    text = connection.recv_bytes()
    if not arrays:
        return _loaded(text, [])
    shared = recv_handle(connection)
    try:
        # Only this process writes to it, as if it owned it.
        memory = memoryview(mmap.mmap(shared, _end(arrays), flags=mmap.MAP_PRIVATE))
    finally:
        os.close(shared)
    views, start = [], 0
    for size, fixed in arrays:
        view = memory[start : start + size]
        views.append(view.toreadonly() if fixed else view)
        start += _room(size)
    return _loaded(text, views)


def _loaded(text: bytes, arrays: list[memoryview]) -> Any:
    return pickle.loads(text, buffers=arrays)  # noqa: S301 - from this program's own process, and nobody else


def _written(parcel: SharedArrays) -> int:
    """Write the arrays, one after the other, into anonymous memory."""
    if sys.platform == "win32":
        raise OSError(NO_PROCESSES)
    if sys.platform == "linux":
        shared = os.memfd_create("calib")
    else:
        with tempfile.TemporaryFile() as file:
            shared = os.dup(file.fileno())
    try:
        os.ftruncate(shared, _end([(array.nbytes, True) for array in parcel.arrays]))
        start = 0
        for array in parcel.arrays:
            done = 0
            while done < array.nbytes:  # a system call writes 2 GB at the most
                done += os.pwrite(shared, array[done : done + (1 << 30)], start + done)
            start += _room(array.nbytes)
    except BaseException:
        os.close(shared)
        raise
    return shared


def _room(size: int) -> int:
    return size + -size % _ALIGNED


def _end(arrays: list[tuple[int, bool]]) -> int:
    return max(1, sum(_room(size) for size, _ in arrays))
