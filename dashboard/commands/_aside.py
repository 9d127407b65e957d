"""Files written aside: whole under their name, or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dashboard.commands._shared import fail


def write(path: Path, data: bytes) -> None:
    """The bytes as a file, whole or not at all: a file that was there before stays until they are all written."""
    with aside(path) as file:
        file.write(data)


@contextlib.contextmanager
def aside(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its place under its name when all is written."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                yield file.file
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
        Path(file.name).chmod(0o666 & ~_umask())
        Path(file.name).replace(path)
    except OSError as why:
        fail(f"{path} cannot be written ({why.strerror or why})")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
