"""Files as other tools write them, each with the confidences and hits that it must be read as."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib_core.readers import Table, read_table, with_labels


@dataclass(frozen=True, eq=False)
class ForeignFile:
    """A file and what is in it.

    Parameters
    ----------
    what : which of the tool's files it is.
    filename, data : the file.
    confidence, correct : of every row that counts, in order; both None where the file must be refused or ask.
    asks : a part of the sentence with which it is refused, or of a finding that must be there.
    chosen : fields of Reading that answer.
    labels : the file of its labels, joined by place, where it has none.
    """

    what: str
    filename: str
    data: bytes
    confidence: NDArray[np.float64] | None = None
    correct: NDArray[np.bool_] | None = None
    asks: str = ""
    chosen: dict[str, Any] = field(default_factory=dict)
    labels: bytes = b""

    @property
    def table(self) -> Table:
        """What is read, with its labels."""
        table = read_table(self.data, self.filename)
        return with_labels(table, read_table(self.labels, "labels.txt")) if self.labels else table


Writer: TypeAlias = "Callable[[], Iterable[ForeignFile]]"
WRITERS: dict[str, list[Writer]] = {}
"""What writes files of a shape, by the shape's key."""


def writes(key: str) -> Callable[[Writer], Writer]:
    """Decorator that adds a writer of files of a shape."""

    def add(writer: Writer) -> Writer:
        WRITERS.setdefault(key, []).append(writer)
        return writer

    return add
