"""Limits of this process: for one user on their own machine, or for many who must not see each other's data."""

from __future__ import annotations

from dataclasses import dataclass

GB = 1 << 30


@dataclass(frozen=True)
class ServerLimits:
    """Rights of visitors, and the memory that the process may use for them.

    - ``private``: an upload is visible to its visitor only until it is shared; otherwise one person has everything.
    - ``hosts`` are the host names of the server, ``base`` is the path prefix of every address ("" or "/name").
    - ``user_header`` is the header in which a proxy passes the user's name (empty: a cookie identifies browsers).
    - ``sessions`` is the maximum number of open tabs.
    - ``files`` and ``bytes`` limit the uploads of a visitor, ``file_bytes`` one file.
    - ``memory`` is the total limit in bytes, ``own`` the part that the processes take before any file is opened.
    - ``processes`` is the number of worker processes for long computations (0: none).
    - ``expiry`` is the seconds after which an unused upload is removed.
    - ``absence`` is the seconds after its visitor's last tab was closed: infinite if one person has everything.
    - ``framed_by`` are the origins whose pages may show it in a frame.
    """

    private: bool = False
    hosts: tuple[str, ...] = ()
    base: str = ""
    user_header: str = ""
    sessions: int = 1000
    files: int = 1000
    bytes: int = 1 << 62
    file_bytes: int = GB
    memory: int = 4 * GB
    own: int = 0
    expiry: float = float("inf")
    absence: float = float("inf")
    framed_by: tuple[str, ...] = ()
    processes: int = 0

    @property
    def arriving_bytes(self) -> int:
        """Return the limit on bytes of files in transfer; a single file always has room."""
        return max(self._free // 8, min(self.file_bytes, self._free // 4))

    @property
    def kept_bytes(self) -> int:
        """Return the limit on bytes of uploads, stored or being read."""
        return 5 * self._rest // 7

    @property
    def result_bytes(self) -> int:
        """Return the limit on bytes of cached results; the least recently used are recomputed on request."""
        return self._rest // 7

    @property
    def work_bytes(self) -> int:
        """Return the limit on bytes that running work may take in addition to its files."""
        return self._rest // 7

    @property
    def _free(self) -> int:
        return max(self.memory - self.own, 0)

    @property
    def _rest(self) -> int:
        return self._free - self.arriving_bytes


LOCAL = ServerLimits()
"""Limits for one user on their own machine."""

_agreed = [LOCAL]


def terms() -> ServerLimits:
    """Return the limits of this process.

    >>> terms().private
    False
    """
    return _agreed[-1]


def agree(new: ServerLimits) -> None:
    """Apply these limits from now on."""
    _agreed[:] = [new]
