"""Files in the formats of other tools, each with the confidences and hits as which it must be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib_core.readers import Table, read_table, with_labels


@dataclass(frozen=True, eq=False)
class ForeignFile:
    """File and its expected content.

    Parameters
    ----------
    what : the kind of the tool's file.
    filename, data : the file.
    confidence, correct : of every row that counts, in order; both None if the file must be refused or cause a question.
    asks : a part of the refusal's message, or of a required finding.
    chosen : fields of Reading that answer.
    labels : the file of its labels, joined by position, if it has none.
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
        """Return the table as read, with its labels."""
        table = read_table(self.data, self.filename)
        return with_labels(table, read_table(self.labels, "labels.txt")) if self.labels else table


Writer: TypeAlias = "Callable[[], Iterable[ForeignFile]]"
WRITERS: dict[str, list[Writer]] = {}
"""Writers of files of a shape, by the shape's key."""


def writes(key: str) -> Callable[[Writer], Writer]:
    """Return a decorator that adds a writer of files of a shape."""

    def add(writer: Writer) -> Writer:
        WRITERS.setdefault(key, []).append(writer)
        return writer

    return add
