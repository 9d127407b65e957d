"""Tables drawn for readers, as text separated by tabs: Markdown, output of SQL clients, aligned columns, R's print.

Every line stays on its line, so that messages name the lines of the file; lines that are no rows become empty.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Iterator, Sequence

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from calib_core.text import several

_RULE = re.compile(r"[ \t]*(?:[|+,;][ \t]*)?:?[-=]+:?[ \t]*(?:[|+,;\t ][ \t]*:?[-=]+:?[ \t]*)*[|+,;]?[ \t]*")
"""Line between a header and its rows: ---+---, |:--|--:|, ---,---, or --- ---."""
_REMARK = re.compile(
    r"[(\[]?\s*[\d,]+ (?:rows?|records?|zeilen|lignes|filas)\b[^|;\t]*|time taken: .*|"
    r"(?:(?:completion )?time|elapsed): [^,;|\t]*",
    re.IGNORECASE,
)
"""Last lines of SQL clients and of pandas: (40 rows), 40 rows selected., [40 rows x 3 columns]."""
_STATED = re.compile(r"[(\[]?\s*([\d,]+) ")
_SHORTENED = re.compile(r"(?:\d+|\.\.+)?(?:[ \t|]+(?:\.{2,}|[…·]))+[ \t|]*|only showing top \d+ rows?", re.IGNORECASE)
"""Line that stands for rows which were not printed."""
_TITLE = re.compile(r"=+ [\w ]+ =+")
_TYPES = re.compile(r"(?: *<(?:int|fct|dbl|chr|lgl|ord|date|dttm)>)+ *")
_LISTED = re.compile(r"\s*(?:\d+\.)? *\|(?P<cells>.*)\|\s*")
_LISTED_ROW = re.compile(rb" *1\. \|.*\|\s*")
"""First row of a table that Stata's `list` printed."""
_BLANKS = re.compile(r"[ \t]+")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.|"")*"(?![^ \t\r])|[^ \t\r]+')
"""Text in quotes, in which a quote is doubled or follows a backslash as R writes it, or text without blanks."""
_DELIMITERS = "\t;,|"
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?%?")
_ROWS_LOOKED_AT = 50
_LINES = str.maketrans("┌┬┐├┼┤└┴┘╭╮╰╯╞╪╡╔╦╗╠╬╣╚╩╝┏┳┓┡╇┩─═━╌│┆║┃", "+" * 31 + "----||||")
_CORNERS = tuple(each.encode() for each in "┌╭╔┏")
_BLANK = bytes(byte for byte in range(256) if chr(byte) in " \r")
_OCCUPIED = bytes(0 if byte in _BLANK else 1 for byte in range(256))


def as_delimited(data: bytes, name: str) -> tuple[bytes, list[str]]:
    """Return the text of a drawn table separated by tabs, with notes; other text unchanged.

    InputError if the table was shortened when it was printed.

    >>> as_delimited(b" p  | y\\n----+--\\n 0.5 | 1\\n", "a.txt")[0]
    b'p\\ty\\n\\n0.5\\t1\\n'
    >>> as_delimited(b"p    y\\n0.5  1\\n", "a.txt")[0], as_delimited(b"p,y\\n0.5,1\\n", "a.csv")
    (b'p\\ty\\n0.5\\t1\\n', (b'p,y\\n0.5,1\\n', []))
    """
    start = data[: limits.SCAN_BYTES].split(b"\n", _ROWS_LOOKED_AT)[:_ROWS_LOOKED_AT]
    if any(line.lstrip().startswith(_CORNERS) for line in start[:5]):
        return _boxed(data, name)
    if any(map(_LISTED_ROW.match, start)):
        return _listed(data, name)
    head = [line.decode("utf-8", "replace").rstrip("\r") for line in start]
    filled = [i for i, line in enumerate(head) if line.strip()]
    if len(filled) < 2 or len(head[filled[0]]) > limits.HEADER_BYTES:
        return data, []
    for i in filled[:2]:  # the title above Weka's predictions, and the types below the header of a tibble
        if _TITLE.fullmatch(head[i]) or _TYPES.fullmatch(head[i]):
            lines = data.split(b"\n")
            lines[i] = b""
            return as_delimited(b"\n".join(lines), name)
    rule = next((i for i in filled[:2] if _is_rule(head[i])), None)
    if rule is None:
        return _aligned(data, head, filled, name)
    if rule == filled[0]:  # a border above the header, and below it a rule, or types and a rule
        rule = next((i for i in filled[2:4] if _is_rule(head[i])), None)
        return (data, []) if rule is None else _ruled(data, filled[1], head[filled[1]], head[rule], name)
    return _ruled(data, filled[0], head[filled[0]], head[rule], name)


def _boxed(data: bytes, name: str) -> tuple[bytes, list[str]]:
    """Convert a table that is drawn with lines of Unicode, as polars and DuckDB do; what is above is left out."""
    lines = data.decode("utf-8").translate(_LINES).split("\n")
    border = next(i for i, line in enumerate(lines) if line.lstrip().startswith("+"))
    return as_delimited("\n".join([*("" for _ in range(border)), *lines[border:]]).encode(), name)


def _listed(data: bytes, name: str) -> tuple[bytes, list[str]]:
    """Convert a table that Stata's `list` printed; the frame and the numbers of rows are left out."""
    found = (_LISTED.fullmatch(line) for line in data.decode("utf-8").split("\n"))
    inside = ("" if each is None or _is_rule(each["cells"]) else each["cells"].replace("|", " ") for each in found)
    text, notes = as_delimited("\n".join(inside).encode(), name)
    return text, ["The frame and the numbers of rows, as Stata prints them, were left out.", *notes]


def _is_rule(line: str) -> bool:
    return ("--" in line or "==" in line) and bool(_RULE.fullmatch(line))


# -- tables with a rule below the header -----------------------------------------------------------------------


def _ruled(data: bytes, header: int, names: str, rule: str, name: str) -> tuple[bytes, list[str]]:
    """Convert a table whose columns the rule shows, by its signs or by its gaps."""
    signs = [each for each in "|,;\t" if each in rule.replace("+", "|")]
    cut = _by_sign(signs[0]) if signs else _by_places(rule)
    width = len(cut(names))
    if width < 2 and not signs:  # one unbroken line: blanks separate the columns
        cut = _tokens
        width = len(cut(names))
    out: list[str] = []
    for i, line in enumerate(each.rstrip("\r") for each in data.decode("utf-8").split("\n")):
        if i < header or not line.strip() or _is_rule(line) or _REMARK.fullmatch(line.strip()):
            out.append("")
        elif _SHORTENED.fullmatch(line):
            raise InputError(_shortened(name, i))
        else:
            cells = cut(line)
            out.append(_joined(cells) if len(cells) > 1 else line)
    return "\n".join(out).encode(), ["The lines that are drawn around the header were left out."]


def _by_sign(sign: str) -> Callable[[str], list[str]]:
    between = re.compile(rf"(?<!\\){re.escape(sign)}")

    def cells(line: str) -> list[str]:
        line = line.strip(" \r")
        if sign == "|":
            line = line.removeprefix("|")
            line = line[:-1] if line.endswith("|") and not line.endswith("\\|") else line
        return [each.strip().replace(f"\\{sign}", sign) for each in between.split(line)]

    return cells


def _by_places(rule: str) -> Callable[[str], list[str]]:
    spans = [found.span() for found in re.finditer(r"[-=:]+", rule)]
    gaps = [(end, following) for (_, end), (following, _) in itertools.pairwise(spans)]

    def cells(line: str) -> list[str]:
        if any(line[start:end].strip() for start, end in gaps):
            return [line]  # text across columns: a remark, or no row of this table
        return [line[start : None if j == len(spans) - 1 else end].strip() for j, (start, end) in enumerate(spans)]

    return cells


# -- columns aligned by blanks ---------------------------------------------------------------------------------


def _aligned(data: bytes, head: Sequence[str], filled: Sequence[int], name: str) -> tuple[bytes, list[str]]:
    """Convert a table whose columns are separated by blanks, or stand at the same places of every line."""
    first, second = (head[i] for i in filled[:2])
    outside = _TOKEN.sub(lambda found: "" if found[0].startswith('"') else found[0], f"{first} {second}")
    names, cells = _tokens(first), _tokens(second)
    if any(each in outside for each in _DELIMITERS) or len(names) < 2 or _is_data(names):
        return data, []
    fits = len(cells) in (len(names), len(names) + 1) and any(map(_NUMBER.fullmatch, cells))
    if fits and len(cells) == len(names) and b'"' not in data and b".." not in data:
        fields = [line.split() for line in data.split(b"\n")]  # the usual case, three times as fast
        if {len(names)} == {len(row) for row in fields if row}:
            return b"\n".join(map(b"\t".join, fields)), []
    table = list(_rows(data, name, filled[0]))
    rows = [_tokens(line) for _, line in table] if fits else []
    even = fits and all(len(row) == len(cells) for row in rows[1:])
    # A cell with a blank also gives rows one field more; then names stand above their columns.
    if even and len(cells) == len(names):
        return _on_their_lines(data, table, rows), []
    spans = _spans(table)
    if spans is not None and (not even or len(spans) == len(names)):
        return _cut(data, table, spans)
    # Keep a line with too few fields for the message about it.
    kept = even or (fits and '"' not in first + second)
    return (_on_their_lines(data, table, rows) if kept else data), []


def _is_data(names: Sequence[str]) -> bool:
    """True for numbers that are not names of classes, because one has a decimal point."""
    return all(map(_NUMBER.fullmatch, names)) and not all(map(str.isdigit, names))


def _rows(data: bytes, name: str, header: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of the table with their numbers; InputError if some were not printed."""
    for i, line in enumerate(data.decode("utf-8").split("\n")):
        text = line.rstrip("\r")
        if i < header or not text.strip():
            continue
        if (".." in text or text.startswith("only")) and _SHORTENED.fullmatch(text):
            raise InputError(_shortened(name, i))
        yield i, text


def _cut(data: bytes, table: Sequence[tuple[int, str]], spans: Sequence[tuple[int, int]]) -> tuple[bytes, list[str]]:
    cells = [[line[start:end].strip() for start, end in spans] for _, line in table]
    note = f"The {several(len(spans), 'columns')} were found by their places, which are the same in every line."
    return _on_their_lines(data, table, cells), [note]


def _spans(table: Sequence[tuple[int, str]]) -> list[tuple[int, int]] | None:
    """Return the first and last place of each column; None unless each has a name and one has only numbers."""
    width = max(len(line) for _, line in table)
    if width > limits.HEADER_BYTES // 8 or any("\t" in line for _, line in table):
        return None
    occupied = 0
    for _, line in table:
        marks = line.encode("latin-1", "replace").translate(_OCCUPIED)
        occupied |= int.from_bytes(marks.ljust(width, b"\0"), "big")
    runs = re.finditer(b"\x01+", occupied.to_bytes(width, "big"))
    spans = [found.span() for found in runs]
    if not 2 <= len(spans) <= limits.COLUMNS:
        return None
    named = [bool(table[0][1][start:end].strip()) for start, end in spans]
    some = [line for _, line in table[1 : _ROWS_LOOKED_AT + 1]]
    columns = [[line[start:end].strip() for line in some] for start, end in spans]
    # The first row may have types or units.
    numeric = any(all(map(_NUMBER.fullmatch, cells[len(cells) > 1 :])) for cells in columns)
    merged = any(len(cell.split()) > 1 and all(map(_NUMBER.fullmatch, cell.split())) for c in columns for cell in c)
    return spans if all(named[1:]) and numeric and not merged and all(map(any, columns)) else None


def _tokens(line: str) -> list[str]:
    if '"' not in line:
        return _BLANKS.split(line.strip(" \t\r")) if line.strip(" \t\r") else []
    return [_unquoted(found[0]) for found in _TOKEN.finditer(line)]


def _unquoted(text: str) -> str:
    if len(text) < 2 or not text.startswith('"') or not text.endswith('"'):
        return text
    return re.sub(r'\\(.)|""', lambda found: found[1] or '"', text[1:-1])


def _on_their_lines(data: bytes, table: Sequence[tuple[int, str]], cells: Sequence[Sequence[str]]) -> bytes:
    out = [""] * (data.count(b"\n") + 1)
    for (i, _), row in zip(table, cells, strict=True):
        out[i] = _joined(row)
    return "\n".join(out).encode()


def _joined(cells: Sequence[str]) -> str:
    """Return cells separated by tabs, in quotes if necessary."""
    text = "\t".join(cells)
    if '"' not in text and text.count("\t") == len(cells) - 1:
        return text
    out = io.StringIO()
    csv.writer(out, delimiter="\t", lineterminator="").writerow(cells)
    return out.getvalue()


def _shortened(name: str, line: int) -> str:
    return (
        f"{name}, line {line + 1}: rows were left out (...) when the table was printed; write all rows, for example "
        "with to_csv"
    )


# -- remarks below a table -------------------------------------------------------------------------------------


def without_remarks(data: bytes, name: str) -> tuple[bytes, list[int], int | None]:
    """Return the text without remarks in its last lines, their line numbers, and the number of rows they state.

    Remarks are numbers of rows as SQL clients write them, and, below an empty line, text without a delimiter.

    >>> without_remarks(b"p,y\\n.5,1\\n\\n(1 row affected)\\n", "a"), without_remarks(b"p,y\\n.5,1\\n", "a")
    ((b'p,y\\n.5,1\\n', [4], 1), (b'p,y\\n.5,1\\n', [], None))
    """
    remarks: list[tuple[int, str, bool]] = []  # offset, text, and whether an empty line is above
    body = data.rstrip(b" \r\n")
    while len(remarks) < _MOST_REMARKS:
        start = body.rfind(b"\n") + 1
        text = body[start:].decode("utf-8", "replace").strip()
        if _SHORTENED.fullmatch(text) and text.startswith("only"):
            raise InputError(_shortened(name, body.count(b"\n")))
        if not start or len(text) > limits.NAME_CHARS or not (_REMARK.fullmatch(text) or _is_remark(text, data)):
            break
        above = body[:start].rstrip(b" \r\n")
        remarks.append((start, text, b"\n" in body[len(above) : start].replace(b"\n", b"", 1)))
        body = above
    while remarks and not (_REMARK.fullmatch(remarks[-1][1]) or remarks[-1][2]):
        remarks.pop()
    if not remarks or data.count(b'"', 0, remarks[-1][0]) % 2:
        return data, [], None
    stated = [found for _, text, _ in remarks if _REMARK.fullmatch(text) and (found := _STATED.match(text))]
    numbers = [data.count(b"\n", 0, start) + 1 for start, _, _ in reversed(remarks)]
    rest = data[: remarks[-1][0]].rstrip(b" \r\n") + b"\n"
    return rest, numbers, int(stated[0][1].replace(",", "") or 0) if stated else None


_MOST_REMARKS = 20
_FOOTNOTE = re.compile(
    r"[*†‡§¹]|(?:notes?|source|legend|anmerkung|hinweis|quelle|remarque|nota|fuente)\b *:", re.IGNORECASE
)


def _is_remark(text: str, data: bytes) -> bool:
    """True for text without a delimiter below a table of at least three columns by its header, or for a footnote."""
    header = data.lstrip(b" \r\n").partition(b"\n")[0].decode("utf-8", "replace")
    delimiter = max(_DELIMITERS, key=header.count)
    fewest = 1 if _FOOTNOTE.match(text) else 2
    return header.count(delimiter) >= fewest and delimiter not in text
