"""Under which terms this process answers: for one person on their own machine, or for many who must not meet."""

from __future__ import annotations

from dataclasses import dataclass

GB = 1 << 30


@dataclass(frozen=True)
class ServerLimits:
    """What visitors may do, and what the process may hold for them.

    ``private``: an upload is its visitor's alone until it is shared; else one person has everything. ``hosts`` are the
    names it answers under, ``base`` the path in front of every address ("" or "/name"), ``user_header`` the header in
    which a proxy says who somebody is (empty: a cookie tells browsers apart). ``sessions`` are open tabs, ``files`` and
    ``bytes`` the uploads of a visitor, ``file_bytes`` one file. ``memory`` is what everything may take together, in
    bytes, ``own`` what of it the processes take themselves before anybody brings a file; ``processes`` compute what
    takes long beside the one that answers (0: it does that itself). ``expiry`` are the seconds after which an upload
    goes that nobody looked at, and ``absence`` those after its visitor's last tab was closed: infinite where one person
    has everything. Pages of the origins ``framed_by`` may show it in a frame.
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
        """Bytes of files on their way that are not read yet; one file always has room."""
        return max(self._free // 8, min(self.file_bytes, self._free // 4))

    @property
    def kept_bytes(self) -> int:
        """Bytes of uploads that are kept, as they were read, and of those that are being read."""
        return 5 * self._rest // 7

    @property
    def result_bytes(self) -> int:
        """Bytes of results beside the uploads; those not asked for longest are made again when they are."""
        return self._rest // 7

    @property
    def work_bytes(self) -> int:
        """Bytes that results in the making may take beside the files that they are made of."""
        return self._rest // 7

    @property
    def _free(self) -> int:
        return max(self.memory - self.own, 0)

    @property
    def _rest(self) -> int:
        return self._free - self.arriving_bytes


LOCAL = ServerLimits()
"""One person on their own machine."""

_agreed = [LOCAL]


def terms() -> ServerLimits:
    """The terms of this process.

    >>> terms().private
    False
    """
    return _agreed[-1]


def agree(new: ServerLimits) -> None:
    """Answer under these terms from now on."""
    _agreed[:] = [new]
