"""Shapes of files from other tools: recognized by names, converted to tables, and interpreted."""

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
"""One object of a JSON file, decoded."""


@dataclass(frozen=True)
class JsonDocument:
    """The records of a JSON file.

    Parameters Parameters ----------
    name : the file's name.
    first : up to 50 of the first records, for recognition.
    records : every record with its number (the line number if the file has one record per line); iterated over once.
    about : the file's other values, such as the name of the task.
    by_line : True if records are lines.
    """

    name: str
    first: Sequence[Record]
    records: Iterable[tuple[int, Record]]
    about: Mapping[str, Any] = field(default_factory=dict)
    by_line: bool = False

    def where(self, number: int) -> str:
        """Return the place of a record, for messages."""
        return f"{self.name}, {'line' if self.by_line else 'record'} {number}"


class Shape(ABC):
    """A file layout of one tool.

    Ambiguities are resolved by fields of Reading. The table has all alternatives as columns or matrices; ``fields``
    returns the proposal, and ``findings`` the alternatives, each with the change that selects it.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    """Name of the tool and its file, for messages."""
    layout: ClassVar[Layout] = "wide"
    """Usual layout of such files, offered while a question about the shape is open."""
    question: ClassVar[str] = ""
    """Column of the question that each row answers, if rows may be repeated attempts."""
    neither: ClassVar[bool] = False
    """True if rows may be neither right nor wrong without being incomplete; the shape's findings give their number."""

    def fields(self, table: Table, chosen: Fields) -> Fields:
        """Return the fields that the shape determines, given the ``chosen`` ones; InputError if ambiguous."""
        del table, chosen
        return {}

    def findings(self, table: Table, reading: Reading) -> Iterator[Finding]:
        """Yield what the file leaves ambiguous, with the evidence."""
        del table, reading
        return iter(())

    def joined(self, table: Table, labels: Table) -> Table | None:
        """Return the table joined with another file by the shape's rules; None if a key joins them.

        The result is examined like any file; InputError if the other file does not fit.
        """
        del table, labels
        return None


class ShapeOfRecords(Shape):
    """A JSON file of nested records; files of other shapes are flattened, one column per path."""

    @abstractmethod
    def recognises(self, document: JsonDocument) -> bool:
        """True for files of this shape; must leave ``document.records`` untouched."""

    @abstractmethod
    def table(self, document: JsonDocument) -> Table:
        """Return columns and matrices; records without an answer are counted and left out with a note."""


class ShapeOfColumns(Shape):
    """A table whose names and values identify the tool that wrote it."""

    @abstractmethod
    def recognises(self, table: Table) -> bool:
        """True for tables of this shape; called for every table, so check names first and then a few values."""

    def table(self, table: Table) -> Table:
        """Return the table with its columns converted; by default unchanged."""
        return table


OF_RECORDS: dict[str, ShapeOfRecords] = {}
OF_COLUMNS: dict[str, ShapeOfColumns] = {}
"""All shapes of tables by key, in the order of recognition."""

R = TypeVar("R", bound=type[ShapeOfRecords])
C = TypeVar("C", bound=type[ShapeOfColumns])


def shape_of_records(kind: R) -> R:
    """Register a shape of JSON records (class decorator)."""
    OF_RECORDS[_new(kind.key)] = kind()
    return kind


def shape_of_columns(kind: C) -> C:
    """Register a shape of tables (class decorator).

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
    """Return all shapes by key."""
    return {**OF_RECORDS, **OF_COLUMNS}


def _new(key: str) -> str:
    if key in known_shapes():
        raise RegistryError(f"shape {key!r} is already registered")
    return key


def shape_of(document: JsonDocument) -> ShapeOfRecords | None:
    """Return the shape of a document; None if no shape recognizes it."""
    return next((each for each in OF_RECORDS.values() if each.recognises(document)), None)


def of_columns(table: Table) -> Table:
    """Return the table converted by its shape; unchanged if no shape recognizes it."""
    if table.origin:
        return table
    for each in OF_COLUMNS.values():
        if each.recognises(table):
            return replace(each.table(table), origin=each.key)
    return table


def _of(table: Table) -> Shape | None:
    return known_shapes().get(table.origin)


def joined_by_shape(table: Table, labels: Table) -> Table | None:
    """Return the table joined with its labels by their shape; None if a key joins them."""
    known = _of(table)
    found = known.joined(table, labels) if known else None
    return None if found is None else of_columns(found)


def usual_layout(table: Table) -> Layout:
    """Return the usual layout of tables of this shape; wide without a known shape.

    >>> usual_layout(Table("a.csv", "csv", {}))
    'wide'
    """
    known = _of(table)
    return known.layout if known else "wide"


def question_of(table: Table) -> str:
    """Return the column of questions of a table's shape; empty if there is none.

    >>> question_of(Table("a.csv", "csv", {}))
    ''
    """
    known = _of(table)
    return known.question if known else ""


def proposed_fields(table: Table, chosen: Fields) -> Fields:
    """Return the fields that the table's shape proposes, with the chosen ones."""
    known = _of(table)
    return {**(known.fields(table, chosen) if known else {}), **chosen}


def neither_is_meant(table: Table) -> bool:
    """True if rows without an outcome are intended to be neither right nor wrong.

    >>> neither_is_meant(Table("a.csv", "csv", {}))
    False
    """
    known = _of(table)
    return known is not None and known.neither


def shape_findings(table: Table, reading: Reading) -> Iterator[Finding]:
    """Yield the name of a table's shape, and what it leaves ambiguous."""
    known = _of(table)
    if known is None:
        return
    yield Finding("note", "foreign", f"{table.name} is read as {known.title}.")
    yield from known.findings(table, reading)
