"""Decode workbooks by python-calamine: the first sheet that has a table, without what is around it."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from .decoded_columns import Decoded, DecodingRefusedError, check_size, codes_of, text_of

_ROWS_LOOKED_AT = 200


def decode_sheets(data: bytes, bounds: dict[str, int]) -> Decoded:
    """Decode the first sheet that has a table: the first with a column of numbers, else the first with two rows."""
    import python_calamine as calamine

    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        about = [each for each in book.sheets_metadata if each.typ == calamine.SheetTypeEnum.WorkSheet]
    except calamine.PasswordError as e:
        raise DecodingRefusedError(" is encrypted; save it without a password") from e
    except calamine.CalamineError as e:
        raise DecodingRefusedError(" is a damaged or cut off workbook; save it again, or as CSV") from e
    about.sort(key=lambda each: each.visible != calamine.SheetVisibleEnum.Visible)
    first = None
    for each in about[:_SHEETS]:
        try:
            sheet = book.get_sheet_by_name(each.name)
        except calamine.CalamineError as e:
            raise DecodingRefusedError(" is a damaged or cut off workbook; save it again, or as CSV") from e
        check_size(max(sheet.height, 1), max(min(sheet.width, bounds["columns"]), 1), bounds)
        start = sheet.start or (0, 0)
        table = _table_of_cells(list(sheet.to_python()), start[0], bounds)
        if table is not None and (first is None or any(words is None for _, _, words in table.columns)):
            first = each.name, table
            if any(words is None for _, _, words in table.columns):
                break
    if first is None:
        raise DecodingRefusedError(" has no sheet with a header row and one row per prediction; add one")
    name, table = first
    others = [each.name for each in about if each.name != name]
    if others:
        some = ", ".join(f'"{each[:80]}"' for each in others[:5])
        table.notes.insert(0, f'Sheet "{name[:80]}" was read; the workbook also has {some}{_more(others, 5)}.')
    return table


_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+")
"""Text such as "1,234", which is 1.234 or 1234."""
_MISSING = frozenset(["na", "n/a", "nan", "null", "none", "missing", "#n/a", "-", "?", "."])
"""Texts of missing values, which are no units."""
_SHEETS = 64
"""Most sheets of a workbook in which a table is searched."""


def _more(names: Sequence[object], most: int) -> str:
    return f" and {len(names) - most} more" if len(names) > most else ""


def _table_of_cells(cells: list[list[Any]], first_row: int, bounds: dict[str, int]) -> Decoded | None:
    """Return the table in the cells of a sheet; None if there is no header with a row below."""
    rows = [(first_row + i + 1, row) for i, row in enumerate(cells) if any(_is_filled(cell) for cell in row)]
    if len(rows) < 2:
        return None
    counts = [sum(map(_is_filled, row)) for _, row in rows]
    usual = Counter(counts[:_ROWS_LOOKED_AT]).most_common(1)[0][0]
    # A first column without a name is an index, so a header may have one name less.
    top = next(i for i, count in enumerate(counts) if count >= max(usual - 1, 1 if usual < 3 else 2))
    notes = []
    if top:
        notes.append(_rows_left([number for number, _ in rows[:top]], "above the header"))
    header, below = rows[top], rows[top + 1 :]
    below, ending = _without_remarks(below, usual)
    if ending:
        notes.append(_rows_left(ending, "below the table"))
    if not below:
        return None
    units: list[Any] = []
    if _is_units(below):
        notes.append(_rows_left([below[0][0]], "of units below the header"))
        units, below = below[0][1], below[1:]
    names, places = _names_of(header, below)
    percent = [place for place, j in enumerate(places) if units and _is_percent(units[j])]
    if len(percent) == 1 and "%" not in names[percent[0]]:  # several are classes, whose sums show it
        names[percent[0]] += " (%)"
    if len(places) > bounds["columns"]:
        check_size(len(below), len(places), bounds)
    columns = []
    for name, j in zip(names, places, strict=True):
        column = [row[j] for _, row in below]
        values, words, note = _of_cells(name, column, bounds)
        columns.append((name, values, words))
        notes += note
    import numpy

    return Decoded(columns, notes, numpy.array([number for number, _ in below], dtype=numpy.int64))


def _is_filled(cell: Any) -> bool:
    return cell is not None and (not isinstance(cell, str) or bool(cell.strip()))


def _rows_left(numbers: Sequence[int], where: str) -> str:
    """Return the note on rows that are not part of the table."""
    first, last = numbers[0], numbers[-1]
    return (
        f"Row {first}, {where}, was left out." if first == last else f"Rows {first} to {last}, {where}, were left out."
    )


def _without_remarks(rows: list[tuple[int, Any]], usual: int) -> tuple[list[tuple[int, Any]], list[int]]:
    """Divide the rows of a table from remarks below an empty row, which fill one cell of at least three."""
    end = len(rows)
    while end > 1 and usual > 2 and sum(map(_is_filled, rows[end - 1][1])) == 1:
        end -= 1
    gap = end < len(rows) and end > 0 and rows[end][0] > rows[end - 1][0] + 1
    return (rows[:end], [number for number, _ in rows[end:]]) if gap else (rows, [])


def _is_percent(unit: Any) -> bool:
    return isinstance(unit, str) and unit.strip(" []()") == "%"


def _is_units(rows: list[tuple[int, Any]]) -> bool:
    """True if the first row has texts, and none is in a column of texts."""
    if len(rows) < 3:
        return False
    first, others = rows[0][1], [row for _, row in rows[1:_ROWS_LOOKED_AT]]
    filled = [j for j, cell in enumerate(first) if _is_filled(cell)]
    texts = [j for j in filled if isinstance(first[j], str) and not _reads_as_number(first[j])]
    texts = [] if all(first[j].strip().casefold() in _MISSING for j in texts) else texts
    numeric = [j for j in texts if all(_is_number_cell(row[j]) for row in others if _is_filled(row[j]))]
    return bool(texts) and len(texts) == len(filled) and 2 * len(numeric) > len(filled)


def _is_number_cell(cell: Any) -> bool:
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def _reads_as_number(text: str) -> bool:
    if _THOUSANDS.fullmatch(text.strip()):
        return False
    try:
        float(text.strip().rstrip("%").replace(",", "."))
    except ValueError:
        return False
    return True


def _names_of(header: tuple[int, Any], rows: list[tuple[int, Any]]) -> tuple[list[str], list[int]]:
    """Return the names of columns and their places; columns without name and values are left out."""
    number, cells = header
    names: list[str] = []
    places: list[int] = []
    for j, cell in enumerate(cells):
        filled = any(_is_filled(row[j]) for _, row in rows)
        if _is_filled(cell) or filled:
            name = text_of(cell).strip() if _is_filled(cell) else ""
            if not name and places:
                raise DecodingRefusedError(f", row {number}: column {_letters(j)} has no name; name every column")
            names.append(name or "index")
            places.append(j)
    return names, places


def _letters(j: int) -> str:
    """Return the letters by which spreadsheets name a column."""
    return (_letters(j // 26 - 1) if j >= 26 else "") + chr(ord("A") + j % 26)


def _of_cells(name: str, cells: list[Any], bounds: dict[str, int]) -> tuple[Any, list[str] | None, list[str]]:
    """Return a column of cells as numbers if all are, else as text; and notes."""
    import numpy

    filled = [cell for cell in cells if _is_filled(cell)]
    if not filled:
        note = f"Column {name[:80]} has no values. If it has formulas, open the file in a spreadsheet and save it."
        return numpy.full(len(cells), numpy.nan), None, [note]
    if all(map(_is_number_cell, filled)):
        values = numpy.array([float(cell) if _is_filled(cell) else math.nan for cell in cells])
        whole = numpy.isfinite(values).all() and (values == numpy.floor(values)).all() and (abs(values) < 2**53).all()
        return values.astype(numpy.int64) if whole else values, None, []
    texts = [str(cell) for cell in filled if isinstance(cell, str)]
    others = [cell for cell in filled if not isinstance(cell, str)]
    written = bool(others) or any("," in text for text in texts)
    if written and all(map(_reads_as_number, texts)) and all(map(_is_number_cell, others)):
        return (*_of_mixed(cells), [f"Numbers written as text in column {name[:80]} were read as numbers."])
    return (*codes_of(name, [text_of(cell) if _is_filled(cell) else "" for cell in cells], bounds), [])


def _of_mixed(cells: list[Any]) -> tuple[Any, None]:
    import numpy

    def value(cell: str | float) -> float:
        if not _is_filled(cell):
            return math.nan
        if not isinstance(cell, str):
            return float(cell)
        text = cell.strip()
        return float(text.rstrip("%").replace(",", ".")) / (100 if text.endswith("%") else 1)

    return numpy.array([value(cell) for cell in cells]), None
