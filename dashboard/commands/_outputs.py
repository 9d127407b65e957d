"""What commands put out: files written whole, stdout for "-", and answers as text, JSON or CSV; progress on stderr.

Nothing else in the commands writes to a terminal what files and options hold: here no terminal acts on it.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:  # heavy: a command imports it when it runs
    import pandas as pd

    from dashboard.exhibits.columns import Column

STDIO = "-"
"""The name of a file that stands for stdin or stdout."""


# -- files ----------------------------------------------------------------------------------------------------


class Output(click.Path):
    """The name of a file to be written: not that of a file the command reads or writes too, in a folder that is there.

    It is looked at before the work begins, by ``check``.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)


def check(context: click.Context) -> None:
    """A usage error for an output that would overwrite another file of the command, or that no folder takes."""
    if context.params.get("force"):
        return
    kinds = {param.name: param for param in context.command.params}
    files = [(name, path) for name, value in context.params.items() for path in _paths(value)]
    for name, path in files:
        param = kinds.get(name)
        if param is None or not isinstance(param.type, Output) or str(path) == STDIO:
            continue
        if any(other != name and _same(path, beside) for other, beside in files):
            raise click.BadParameter(f"{plain(path)} is a file this command reads or writes already; "
                                     "give another name; it would be lost.", context, param)  # fmt: skip
        folder = path.resolve().parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            reason = os.strerror(errno.EACCES if folder.is_dir() else errno.ENOENT)
            raise click.BadParameter(f"{plain(path)} cannot be written ({reason}: {plain(folder)}).", context, param)


def _paths(value: Any) -> list[Path]:
    """The files an argument names: itself, or each of several."""
    if isinstance(value, tuple):
        return [path for item in value for path in _paths(item)]
    return [Path(value)] if isinstance(value, (str, Path)) and str(value) else []


def _same(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except (OSError, ValueError):
        return first == second


def write(path: Path, data: bytes) -> None:
    """The bytes as a file, whole or not at all, or on stdout where the name is "-"."""
    with aside(path) as file:
        file.write(data)


@contextmanager
def aside(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its place when all is written, or goes to stdout where the name is "-"."""
    from calib_core._base import atomic_files

    if str(path) == STDIO:
        # What writes may go back, or begin anew: a pipe keeps what it was given.
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    try:
        with atomic_files.aside(path) as file:
            yield file
    except OSError as why:
        if why.filename != str(path):
            raise
        sentence = f"cannot be written ({why.strerror}); what was there before is unchanged"
        raise OSError(why.errno, sentence, str(path)) from why


# -- text -----------------------------------------------------------------------------------------------------


def plain(text: object) -> str:
    """Text as a terminal may show it: characters that move the cursor, colour or reorder are written out.

    >>> plain("cat\\x1b[31m"), plain("über")
    ('cat\\\\x1b[31m', 'über')
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def progress(label: str, length: int) -> Any:
    """A progress bar on stderr; nothing where stderr is no terminal."""
    return click.progressbar(length=length, label=label, file=sys.stderr if sys.stderr.isatty() else io.StringIO())


@contextmanager
def percent(label: str) -> Iterator[Callable[[int], object]]:
    """Such a bar for work that tells how much of it is done, in percent."""
    with progress(label, 100) as bar:
        yield lambda done: bar.update(done - bar.pos)


def say(lines: Iterable[object]) -> None:
    """Lines of text on stdout."""
    for line in lines:
        click.echo(plain(line))


def warn(lines: Iterable[object]) -> None:
    """Lines of text on stderr."""
    for line in lines:
        click.echo(plain(line), err=True)


def aligned(columns: Sequence[Column], frame: pd.DataFrame) -> list[str]:
    """A table as lines of text, its cells harmless to a terminal before they are measured."""
    from dashboard.exhibits.columns import written

    lines = [[column.heading for column in columns], *written(frame, tuple(columns))]
    lines = [[plain(cell) for cell in line] for line in lines]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if column.numeric else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    ]


# -- answers --------------------------------------------------------------------------------------------------


def answer(
    form: str,
    *,
    text: Callable[[], Iterable[object]],
    frame: pd.DataFrame,
    record: Callable[[], dict[str, Any]],
) -> None:
    """What a command found, in the form that was asked for: its lines of text, its table as CSV, or its record."""
    if form == "csv":
        write_csv(frame)
    elif form == "json":
        write_json(record())
    else:
        say(text())


def write_csv(frame: pd.DataFrame) -> None:
    """A table on stdout as CSV: full precision, no text that a spreadsheet or a terminal would act on."""
    from dashboard.export import csv_bytes

    harmless = frame.rename(columns=plain).map(lambda cell: plain(cell) if isinstance(cell, str) else cell)
    click.echo(csv_bytes(harmless).decode(), nl=False)


def write_json(record: dict[str, Any]) -> None:
    """A record on stdout with the command and the versions behind it.

    Keys are sorted, numbers in full, what is not ASCII is escaped; NaN becomes null. The lines of a table are ``lines``
    in the record of every command, and what was chosen are its ``options``.
    """
    from dashboard.export import finite

    whole = finite({"command": click.get_current_context().command.name, "versions": versions()} | record)
    click.echo(json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False, default=str))


def versions() -> dict[str, str]:
    """Versions of this package and of those that decide its numbers."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in ("calib", "numpy", "scipy", "scikit-learn", "pandas"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found
