"""Outputs of commands: atomically written files, stdout for "-", answers as text, JSON or CSV, progress on stderr.

No other module of the commands writes contents of files and options to a terminal; this one escapes control characters.
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
"""File name for stdin or stdout."""


# -- files ----------------------------------------------------------------------------------------------------


class Output(click.Path):
    """Name of an output file: not an input or another output of the command, in an existing folder.

    ``check`` examines it before the work begins.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)


def check(context: click.Context) -> None:
    """Raise a usage error for an output that would overwrite another file of the command, or without a folder."""
    if context.params.get("force"):
        return
    kinds = {param.name: param for param in context.command.params}
    files = [(name, path) for name, value in context.params.items() for path in _paths(value)]
    for name, path in files:
        param = kinds.get(name)
        if param is None or not isinstance(param.type, Output) or str(path) == STDIO:
            continue
        if any(other != name and _same(path, beside) for other, beside in files):
            force = ", or add --force" if "force" in kinds else ""
            raise click.BadParameter(f"{plain(path)} is another file of this command and would be overwritten; "
                                     f"give another name{force}.", context, param)  # fmt: skip
        folder = path.resolve().parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            reason = os.strerror(errno.EACCES if folder.is_dir() else errno.ENOENT)
            raise click.BadParameter(f"{plain(path)} cannot be written ({reason}: {plain(folder)}).", context, param)


def _paths(value: Any) -> list[Path]:
    """Return the files that an argument names: itself, or each of several."""
    if isinstance(value, tuple):
        return [path for item in value for path in _paths(item)]
    return [Path(value)] if isinstance(value, (str, Path)) and str(value) else []


def _same(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except (OSError, ValueError):
        return first == second


def write(path: Path, data: bytes) -> None:
    """Write the bytes as a file, whole or not at all, or to stdout if the name is "-"."""
    with aside(path) as file:
        file.write(data)


@contextmanager
def aside(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces the target once complete, or goes to stdout if the name is "-"."""
    from calib_core._base import atomic_files

    if str(path) == STDIO:
        # Writing code may seek or start again; a pipe cannot take back bytes.
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
    """Return text that is safe for a terminal: characters that move the cursor, color or reorder text are escaped.

    >>> plain("cat\\x1b[31m"), plain("über")
    ('cat\\\\x1b[31m', 'über')
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def progress(label: str, length: int) -> Any:
    """Return a progress bar on stderr; a silent one if stderr is not a terminal."""
    return click.progressbar(length=length, label=label, file=sys.stderr if sys.stderr.isatty() else io.StringIO())


@contextmanager
def percent(label: str) -> Iterator[Callable[[int], object]]:
    """Show such a bar for work that reports its progress in percent."""
    with progress(label, 100) as bar:
        yield lambda done: bar.update(done - bar.pos)


def say(lines: Iterable[object]) -> None:
    """Print lines of text to stdout."""
    for line in lines:
        click.echo(plain(line))


def tell(paragraphs: Iterable[object]) -> None:
    """Print paragraphs to stdout: wrapped between words for a terminal, else one line each."""
    from dashboard.commands._terminal_layout import paragraph_lines, terminal_width

    for paragraph in paragraphs:
        text = plain(paragraph)
        say(paragraph_lines(text, terminal_width()) if sys.stdout.isatty() else [text])


def warn(lines: Iterable[object]) -> None:
    """Print lines of text to stderr."""
    for line in lines:
        click.echo(plain(line), err=True)


def aligned(columns: Sequence[Column], frame: pd.DataFrame) -> list[str]:
    """Return a table as lines of text that fit the terminal; columns without any content are left out.

    Cells are escaped for a terminal before they are measured.
    """
    from dashboard.commands._terminal_layout import PrintedColumn, table_lines, terminal_width
    from dashboard.exhibits.columns import NOT_KNOWN, written

    texts = [[plain(cell) for cell in line] for line in written(frame, tuple(columns))]
    cells = zip(*texts, strict=True) if texts else ((),) * len(columns)
    every = [
        PrintedColumn([plain(column.heading), *column_cells], column.numeric)
        for column, column_cells in zip(columns, cells, strict=True)
    ]
    filled = [column for column in every if not texts or set(column.texts[1:]) != {NOT_KNOWN}]
    return table_lines(filled, terminal_width())


# -- answers --------------------------------------------------------------------------------------------------


_DETAILS = "For more numbers, and the meaning of all words, add --details."


def answer(
    form: str,
    *,
    text: Callable[[], Iterable[object]],
    frame: pd.DataFrame,
    record: Callable[[], dict[str, Any]],
    reading: Callable[[], Iterable[object]] | None = None,
    details: bool = False,
) -> None:
    """Print a result in the requested form: its lines of text, its table as CSV, or its record.

    ``reading`` returns what the text's columns and words mean. It is printed with ``details``, and else announced.
    """
    if form == "csv":
        write_csv(frame)
    elif form == "json":
        write_json(record())
    else:
        tell(text())
        if reading is not None:
            tell(reading() if details else [_DETAILS])


def write_csv(frame: pd.DataFrame) -> None:
    """Print a table to stdout as CSV: full precision, text safe for spreadsheets and terminals."""
    from dashboard.export import csv_bytes

    harmless = frame.rename(columns=plain).map(lambda cell: plain(cell) if isinstance(cell, str) else cell)
    click.echo(csv_bytes(harmless).decode(), nl=False)


def write_json(record: dict[str, Any]) -> None:
    """Print a record to stdout, with the command and the versions behind it.

    Keys are sorted, numbers in full, what is not ASCII is escaped; NaN becomes null. The lines of a table are ``lines``
    in the record of every command, and what was chosen are its ``options``.
    """
    from dashboard.export import finite

    whole = finite({"command": click.get_current_context().command.name, "versions": versions()} | record)
    click.echo(json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=True, allow_nan=False, default=str))


def versions() -> dict[str, str]:
    """Return the versions of this package and of those that determine its numbers."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in ("calib", "numpy", "scipy", "scikit-learn", "pandas"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found
