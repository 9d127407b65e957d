"""How the files of a command are read: fields of the reading, and the file that their labels are in."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dashboard.commands import _outputs

if TYPE_CHECKING:  # heavy: imported when a command runs
    from calib_core.readers import Table

Command = TypeVar("Command", bound=Callable[..., Any])

STDIN = "standard input"
"""What messages call the file that is read from stdin, where its name is "-"."""
EXAMPLE = "demo:"
"""How the name of an example begins, which every command takes in place of a file's."""
FILE = click.Path(path_type=Path)


@dataclass(frozen=True)
class ReadingOptions:
    """What options say of how files are read.

    Parameters
    ----------
    read : fields of Reading, as name=value.
    labels : the file that the labels are in; None where the predictions have them.
    keys : columns that tell rows of both apart; none where one is to be found.
    by_place : row i is joined with row i.
    label : the column of the labels; None where the file suggests it.
    event : the class of two that is the event; None where its name suggests it.
    """

    read: tuple[str, ...] = ()
    labels: Path | None = None
    keys: tuple[str, ...] = ()
    by_place: bool = False
    label: str | None = None
    event: str | None = None

    def __bool__(self) -> bool:
        return bool(self.read or self.labels or self.label or self.event)

    @property
    def fields(self) -> dict[str, Any]:
        """Fields of Reading by their names."""
        own = {"label": None if self.label is None else (self.label,), "event": self.event}
        return reading_fields(self.read) | {name: value for name, value in own.items() if value is not None}

    @property
    def key(self) -> tuple[str, ...] | None:
        """The key as ``with_labels`` takes it."""
        return () if self.by_place else self.keys or None

    def array_beside(self, path: Path) -> Path | None:
        """The labels, where both files are arrays without names: they can be read in step, whatever their size."""
        arrays = all(each.suffix.lower() == ".npy" for each in (path, self.labels) if each is not None)
        return self.labels if arrays and not self.keys else None


def read_option(function: Command) -> Command:
    """How the files are read: --read name=value, as often as needed."""
    return click.option(
        "--read",
        multiple=True,
        metavar="NAME=VALUE",
        help="How the file is read, where it suggests something else: kind=logits, label=y, scores=cat,dog, "
        "classes=cat,dog, split=, missing=exclude, weights=w, group=patient, model=lr, words='quite sure=0.8', ... "
        "Lists by commas, or by repeating the name.",
    )(function)


_LABELS = (
    click.option("--label", metavar="COLUMN", help="The column of the labels, or of the outcome of an event."),
    click.option("--event", metavar="CLASS", help="The class of two that is the event, such as died."),
    click.option("--labels", type=FILE, metavar="FILE", help="The file that the labels are in, where the predictions "
                 "have none: joined by a column that both files have."),
    click.option("--key", "label_keys", multiple=True, metavar="COLUMN", help="The column of both files that tells "
                 "rows apart; again for further ones. By default the one that does."),
    click.option("--by-place", is_flag=True, help="Join row i with row i: nothing in the files shows that this is "
                 "right."),
)  # fmt: skip


def reading_options(function: Command) -> Command:
    """--read, --label, --event, and the file that the labels are in: the command is given all as ``read``."""

    @functools.wraps(function)
    def command(
        *args: Any,
        read: tuple[str, ...],
        labels: Path | None,
        label_keys: tuple[str, ...],
        by_place: bool,
        label: str | None,
        event: str | None,
        **options: Any,
    ) -> Any:
        if labels is None and (label_keys or by_place):
            raise click.UsageError("--key and --by-place go with --labels: the file that the labels are in.")
        if label_keys and by_place:
            raise click.UsageError("--key and --by-place exclude each other.")
        return function(*args, read=ReadingOptions(read, labels, label_keys, by_place, label, event), **options)

    for option in reversed(_LABELS):
        command = option(command)
    return read_option(command)  # type: ignore[return-value]


def reading_fields(read: Sequence[str]) -> dict[str, Any]:
    """Fields of a Reading from name=value texts; lists by commas, or by giving the name several times."""
    from calib_core.readers import Reading

    given: dict[str, list[str]] = {}
    for text in read:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{_outputs.plain(text)!r} is not name=value.", param_hint="--read")
        given.setdefault(name.strip(), []).append(value)
    lists = {name for name, value in vars(Reading(scores=("s",), label=("y",))).items() if isinstance(value, tuple)}
    return {name: _value(name in lists, values) for name, values in given.items()}


def _value(is_list: bool, values: list[str]) -> Any:
    if is_list:
        return tuple(values) if len(values) > 1 else tuple(values[0].split(",")) if values[0] else ()
    return values[-1] or None


def with_digest(path: Path, given: ReadingOptions | None = None) -> tuple[str, Table]:
    """The hash of a file's bytes and the table they are, with the labels of another file where one is given."""
    from calib_core.readers import with_labels

    digest, table = _whole(path)
    if given is not None and given.labels is not None:
        table = with_labels(table, whole_table(given.labels), given.key)
    return digest, table


def whole_table(path: Path) -> Table:
    """The table of a file, of the files of a folder, or of stdin where its name is "-"."""
    return _whole(path)[1]


def _whole(path: Path) -> tuple[str, Table]:
    from calib_core.readers import read_table
    from calib_core.readers.formats.folder import folder_digest

    if path.is_dir():
        return folder_digest(path), read_table(path)
    data = bytes_of(path)
    return hashlib.sha256(data).hexdigest(), read_table(data, name_of(path))


def bytes_of(path: Path) -> bytes:
    """The bytes of a file, or of stdin where its name is "-"."""
    from calib_core.readers import file_bytes, limits

    if (example := _example(path)) is not None:
        return example[0]
    if str(path) != _outputs.STDIO:
        return file_bytes(path)
    data: bytes = sys.stdin.buffer.read(limits.FILE_BYTES + 1)  # one byte more than is read of a file
    return data


def _example(path: Path) -> tuple[bytes, str] | None:
    """Bytes and name of the example that demo:KEY is; None for any other path. InputError lists the keys."""
    from calib_core import InputError
    from calib_core.datasets import DEMOS, demo

    given = str(path)
    if not given.startswith(EXAMPLE):
        return None
    key = given.removeprefix(EXAMPLE)
    if key not in {each.key for each in DEMOS}:
        raise InputError(f"there is no example {given}; those there are: {', '.join(each.key for each in DEMOS)}")
    return demo(key)


def name_of(path: Path) -> str:
    """What messages call a file."""
    if (example := _example(path)) is not None:
        return example[1]
    return STDIN if str(path) == _outputs.STDIO else os.fspath(path)
