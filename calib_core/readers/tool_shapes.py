"""Shapes of files that other tools write: recognised by their names, made a table, which says what its columns are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from calib_core.readers.reading import Fields, Layout, Reading
from calib_core.readers.table import Table
from calib_core.readers.table_findings import Finding
from calib_core.registry.registry import RegistryError

Record = Mapping[str, Any]
"""One object of a JSON file, as it was decoded."""


@dataclass(frozen=True)
class JsonDocument:
    """The records of a JSON file.

    Parameters
    ----------
    name : the file's name.
    first : up to 50 of the first records, to be looked at.
    records : every record with its number, of a line where the file has one record a line; iterated over once.
    about : what stands beside the records in the file, such as the name of the task.
    by_line : records are lines.
    """

    name: str
    first: Sequence[Record]
    records: Iterable[tuple[int, Record]]
    about: Mapping[str, Any] = field(default_factory=dict)
    by_line: bool = False

    def where(self, number: int) -> str:
        """The place of a record, for messages."""
        return f"{self.name}, {'line' if self.by_line else 'record'} {number}"


class Shape(ABC):
    """A file as one tool writes it.

    Ambiguities are settled as fields of Reading: the table has all alternatives as columns or matrices, ``fields`` what
    is proposed, ``findings`` the others, each with the change that takes it.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    """What people call it: the tool and its file."""
    layout: ClassVar[Layout] = "wide"
    """How such files are usually read: what is offered while a question of the shape is open."""
    question: ClassVar[str] = ""
    """The column that says which question a row is an answer to, where rows may be attempts at one."""
    neither: ClassVar[bool] = False
    """Rows may be neither right nor wrong, which is no gap in the file: the shape's findings say how many are."""

    def fields(self, table: Table, chosen: Fields) -> Fields:
        """What the reading is as far as the shape tells, beside what somebody has ``chosen``; InputError to ask."""
        del table, chosen
        return {}

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        """What the file does not say by itself, with its evidence."""
        del table, reading
        return iter(())

    def joined(self, table: Table, labels: Table) -> Table | None:
        """The table with what another file says of it, where that is no matter of a key; None where a key joins them.

        What comes of it is looked at like a file of its own; InputError where the other file does not fit.
        """
        del table, labels
        return None


class ShapeOfRecords(Shape):
    """A JSON file of nested records; others are flattened, a column for every path."""

    @abstractmethod
    def recognises(self, document: JsonDocument) -> bool:
        """Is it this shape? ``document.records`` stay untouched."""

    @abstractmethod
    def table(self, document: JsonDocument) -> Table:
        """Columns and matrices; records that hold no answer are counted and left out with a note."""


class ShapeOfColumns(Shape):
    """A table whose names and values tell which tool wrote it."""

    @abstractmethod
    def recognises(self, table: Table) -> bool:
        """Is it this shape? Asked of every table: names first, a few values then."""

    def table(self, table: Table) -> Table:
        """The table as its columns are meant; as it is by default."""
        return table


OF_RECORDS: dict[str, ShapeOfRecords] = {}
OF_COLUMNS: dict[str, ShapeOfColumns] = {}
"""Every shape by its key, in the order in which they are tried."""

R = TypeVar("R", bound=type[ShapeOfRecords])
C = TypeVar("C", bound=type[ShapeOfColumns])


def shape_of_records(kind: R) -> R:
    """Class decorator that adds a shape of JSON records."""
    OF_RECORDS[_new(kind.key)] = kind()
    return kind


def shape_of_columns(kind: C) -> C:
    """Class decorator that adds a shape of tables.

    >>> @shape_of_columns
    ... class Pairs(ShapeOfColumns):
    ...     key, title = "pairs", "pairs of things"
    ...     def recognises(self, table): return table.names == ("this", "that")
    >>> OF_COLUMNS.pop("pairs").title
    'pairs of things'
    """
    OF_COLUMNS[_new(kind.key)] = kind()
    return kind


def known_shapes() -> dict[str, Shape]:
    """Every shape by its key."""
    return {**OF_RECORDS, **OF_COLUMNS}


def _new(key: str) -> str:
    if key in known_shapes():
        raise RegistryError(f"there is a shape {key!r} already")
    return key


def shape_of(document: JsonDocument) -> ShapeOfRecords | None:
    """The shape of a document; None where no shape recognises it."""
    return next((each for each in OF_RECORDS.values() if each.recognises(document)), None)


def of_columns(table: Table) -> Table:
    """The table as its shape means it; the same where no shape is recognised."""
    if table.origin:
        return table
    for each in OF_COLUMNS.values():
        if each.recognises(table):
            return replace(each.table(table), origin=each.key)
    return table


def _of(table: Table) -> Shape | None:
    return known_shapes().get(table.origin)


def joined_by_shape(table: Table, labels: Table) -> Table | None:
    """The table with what its labels say, as its shape means them; None where a key joins them as elsewhere."""
    known = _of(table)
    found = known.joined(table, labels) if known else None
    return None if found is None else of_columns(found)


def usual_layout(table: Table) -> Layout:
    """How tables of this shape are usually read; wide where no shape is known.

    >>> usual_layout(Table("a.csv", "csv", {}))
    'wide'
    """
    known = _of(table)
    return known.layout if known else "wide"


def question_of(table: Table) -> str:
    """The column of questions of a table's shape; empty where it has none.

    >>> question_of(Table("a.csv", "csv", {}))
    ''
    """
    known = _of(table)
    return known.question if known else ""


def proposed_fields(table: Table, chosen: Fields) -> Fields:
    """What the table's shape proposes, under what was chosen."""
    known = _of(table)
    return {**(known.fields(table, chosen) if known else {}), **chosen}


def neither_is_meant(table: Table) -> bool:
    """Are rows without an outcome meant to be neither right nor wrong?

    >>> neither_is_meant(Table("a.csv", "csv", {}))
    False
    """
    known = _of(table)
    return known is not None and known.neither


def shape_findings(table: Table, reading: Reading) -> Iterator[Finding]:
    """What a table's shape is, and what it leaves open."""
    known = _of(table)
    if known is None:
        return
    yield Finding("note", "foreign", f"{table.name} is read as {known.title}.")
    yield from known.findings(table, reading)
