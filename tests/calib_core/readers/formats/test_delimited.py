"""CSV: no line loses a field, no text changes, and every refusal names its line."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits, read_table
from tests.support.sentences import matches

Refused = Callable[[bytes, str], str]


def columns(text: str | bytes) -> dict[str, list[object]]:
    data = text.encode() if isinstance(text, str) else text
    return {name: column.tolist() for name, column in read_table(data, "a.csv").columns.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p,y\n0.5,1\n0.25,0\n", {"p": [0.5, 0.25], "y": [1, 0]}),
        ("p;y\n0.5;1\n", {"p": [0.5], "y": [1]}),
        ("p\ty\n0.5\t1\n", {"p": [0.5], "y": [1]}),
        ("p,y\r\n0.5,1\r\n", {"p": [0.5], "y": [1]}),
        ("p,y\r0.5,1\r0.25,0", {"p": [0.5, 0.25], "y": [1, 0]}),
        ("\n\np,y\n\n0.5,1\n  \n0.25,0\n\n", {"p": [0.5, 0.25], "y": [1, 0]}),
        ('\ufeff"p",y\n0.5,1\n', {"p": [0.5], "y": [1]}),
        ("p,y\n0.5,1", {"p": [0.5], "y": [1]}),
        (",p,y\n0,0.5,1\n", {"index": [0], "p": [0.5], "y": [1]}),
        ('p,y\n0.5,"a,b"\n0.25,"c ""d""\ne"\n', {"p": [0.5, 0.25], "y": ["a,b", 'c "d"\ne']}),
        ('p,y\n0.5,5" nail\n', {"p": [0.5], "y": ['5" nail']}),
    ],
)
def test_accepted_spellings(text: str, expected: dict[str, list[object]]) -> None:
    assert columns(text) == expected


def test_utf16_is_read_by_its_mark() -> None:
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        mark = b"" if encoding == "utf-16" else "\ufeff".encode(encoding)
        assert columns(mark + "p,ÿ\n0.5,ä\n".encode(encoding)) == {"p": [0.5], "ÿ": ["ä"]}


@pytest.mark.parametrize(
    "words",
    [
        ["None", "NA", "null", "nan", "N/A", "", "NaN", "<NA>", "inf x"],
        ["001", "01", "1"],
        ["True", "FALSE", "true", "TRUE"],
        ["99999999999999999999999", "99999999999999999999998"],
        ["-0", "0", "+0"],
        [" a", "a ", "a"],
    ],
)
def test_names_stay_as_they_are(words: list[str]) -> None:
    text = "p,y\n" + "".join(f"0.5,{word}\n" for word in words)
    assert columns(text)["y"] == words


def test_identifiers_of_16_digits_stay_apart() -> None:
    assert columns("i,p\n9007199254740993,0.5\n9007199254740992,0.5\n")["i"] == [9007199254740993, 9007199254740992]


@given(st.lists(st.floats(0, 1, allow_subnormal=True), min_size=1, max_size=20))
def test_floats_are_read_exactly(values: list[float]) -> None:
    got = columns("p,y\n" + "".join(f"{v!r},a\n" for v in values))["p"]
    assert got == values


def test_lines_are_counted_over_blank_lines_and_quoted_breaks() -> None:
    table = read_table(b"p,y\n0.1,a\n\n0.2,b\n", "a.csv")
    assert [table.place(i) for i in range(2)] == ["line 2 (row 0)", "line 4 (row 1)"]
    table = read_table(b'p,y\n0.1,"a\nb"\n\n0.2,b\n', "a.csv")
    assert [table.place(i) for i in range(2)] == ["line 2 (row 0)", "line 5 (row 1)"]


@pytest.mark.parametrize(
    "text",
    ["p,y,\n0.5,1,\n0.25,0,\n", "p,y\n0.5,1,\n0.25,0,\n", 'p,y,\n0.5,"1",\n0.25,0,\n', "p,y,\r\n0.5,1,\r\n0.25,0,\r\n"],
)
def test_a_delimiter_at_every_line_end_is_accepted_with_a_note(text: str) -> None:
    table = read_table(text.encode(), "a.csv")
    assert table.names == ("p", "y")
    assert table.columns["p"].tolist() == [0.5, 0.25]
    assert table.notes == ("Every line ends with a delimiter; the empty last field was removed.",)


def test_decimal_commas_between_semicolons_are_read_and_noted() -> None:
    table = read_table(b"p;q;y\n0,5;0,5;a\n0,25;0,75;b\n", "a.csv")
    assert table.columns["q"].tolist() == [0.5, 0.75]
    assert table.notes == ("Decimal commas (0,5) were read as decimal points (0.5).",)


REFUSED = {
    b"p_a,p_b,y\n0,7,0,3,1\n": "a.csv, line 2 has 5 fields, * 3*ecimal commas*",
    b"p;q;y\n0,5;0.5;a\n": 'a.csv: column "p" has decimal commas *column "q"*',
    b"p,y\n0.5,1\n0.5\n": "a.csv, line 3 has 1 field, * 2*",
    b"p,y\n0.5,1\n\n0.5,1,2\n": "a.csv, line 4 has 3 fields, * 2*ecimal commas*",
    b"p,y\n0.5,1,\n0.5,1\n": "a.csv, line 3 has 2 fields, * 2*",
    b"p,y\n0.5,1,\n0.5,1,2\n": "a.csv, line 3 has 3 fields, * 2*ecimal commas*",
    b"1,0\n0,1\n": 'a.csv, line 1 *("1,0")*header line is missing*',
    b"id,0.05,0.5\n1,0.2,0.8\n": 'a.csv, line 1 *("id,0.05,0.5")*header line is missing*',
    b"p,p,y\n1,2,3\n": 'a.csv has 2 columns called "p"; give every column its own name',
    b"p,,y\n1,2,3\n": "a.csv, line 1: column 2 of 3 has no name; name every column",
    b"p,y\n": "a.csv has no data rows*",
    b"p,y\n\n \n": "a.csv has no data rows*",
    b" \n\n": "a.csv is empty.*",
    b"": "a.csv is empty (0 bytes); choose another file",
    b"p,y\n0.5,a\n0.5,\x00b\n": "a.csv, line 3: *NUL byte*UTF-16*",
    "p,y\n0.5,ä\n".encode() + b"0.5,\xe9\n": "a.csv, line 3: byte 0xE9 *Latin-1*",
    b"\xff\xfep\x00,\x00y\x00\n\x00\x00\xd8": "a.csv, line 2 *damaged UTF-16 text*",
    b"\xff\xfe\x00\x00p\x00\x00\x00": "a.csv is UTF-32 text; save it as UTF-8",
    b"p,y\n0.5," + b"x" * 200_000 + b"\n": "a.csv, line 2 *field longer than 131,072 characters*",
    b'p,y\n0.5,a\n0.5,"' + b"x\n" * 100_000: "a.csv, line 3 *field longer than 131,072 characters*",
    b'p,y\n0.5,a\n0.5,"x\n0.5,b\n': 'a.csv, line 3: a quote (") is not closed*stopped at line 4*',
    b'p,"y\n0.5,a\n': "a.csv, line 1: a quote in the header is not closed*",
    b"p," + b"x" * 300 + b"\n1,2\n": "a.csv, line 1: column 2 has a name of 300 characters; shorten it",
    b"\x1f\x8b\x08": "a.csv is damaged or cut off and cannot be unpacked; save it again",
    b"[1, 2]": "a.csv is a JSON list*",
}


def test_line_breaks_in_quoted_names() -> None:
    table = read_table(b'id,"chance of\r\nclass 1","the\nlabel"\n7,.5,1\n8,.6,0\n', "a.csv")
    assert list(table.columns) == ["id", "chance of class 1", "the label"]
    assert table.lines is not None
    assert table.lines.tolist() == [4, 5]


@pytest.mark.parametrize(("data", "said"), REFUSED.items(), ids=range(len(REFUSED)))
def test_refusals(data: bytes, said: str, refused: Refused) -> None:
    assert matches(refused(data, "a.csv"), said)


@pytest.mark.parametrize("header", [b"a," * 1_000_000, b"p," * 100_000, b"\t" * 5_000, b";" * 5_000])
def test_wide_headers_are_counted_and_not_parsed(header: bytes, refused: Refused) -> None:
    start = time.perf_counter()
    assert "columns; the maximum is 4,096" in refused(header + b"\n1\n", "a.csv")
    assert time.perf_counter() - start < 2


def test_endless_lines(refused: Refused) -> None:
    assert "header line is longer" in refused(b"x" * (limits.HEADER_BYTES + 2), "a.csv")
    assert "longer than 8 MB" in refused(b"p,y\n" + b"1," * (limits.LINE_BYTES // 2 + 10), "a.csv")


def test_more_values_than_are_read(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DECODED_BYTES", 100)
    message = refused(b"p,y\n" + b"1,2\n" * 10, "a.csv")
    assert matches(message, "a.csv has 10 rows of 2 columns, 160 bytes of numbers; * 100 bytes*")


def test_counting_does_not_depend_on_where_pieces_end(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"p,y\n" + b"".join(b"%d,%s\n" % (i, b"x" * (i % 7)) for i in range(200)) + b"\n7,last"
    whole = read_table(text, "a.csv")
    for size in (8, 11, 64, 100):
        monkeypatch.setattr(limits, "SCAN_BYTES", size)
        pieces = read_table(text, "a.csv")
        assert pieces.lines is not None
        assert whole.lines is not None
        assert pieces.lines.tolist() == whole.lines.tolist()


FIELD = st.text(alphabet=st.sampled_from('ab,;"\n é1.'), max_size=5)


@given(st.lists(st.tuples(st.floats(0, 1), FIELD, FIELD), min_size=1, max_size=8), st.sampled_from(",;\t"))
def test_what_the_csv_module_writes_is_read_back(rows: list[tuple[float, str, str]], delimiter: str) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerows([("p", "one", "two"), *rows])
    try:
        table = read_table(out.getvalue().encode(), "a.csv")
    except InputError as e:
        assert "decimal commas" in str(e)  # noqa: PT017
        return
    assert table.columns["p"].tolist() == [row[0] for row in rows]
    for j, name in ((1, "one"), (2, "two")):
        column = table.columns[name]
        if column.dtype == object:
            assert column.tolist() == [row[j] for row in rows]
        else:
            assert np.array_equal(column.astype(float), [float(row[j].replace(",", ".")) for row in rows])


def test_apostrophes_before_formulas_are_left_out_and_told() -> None:
    """Our own files have them, so that no spreadsheet computes a name; all other apostrophes stay."""
    found = read_table(b"'=a,b,'tis,n\n'@x,'y,'=,-2\n,'-1,'+,3\n", "a.csv")
    expected = {"=a": ["@x", ""], "b": ["'y", "-1"], "'tis": ["=", "+"], "n": [-2, 3]}
    assert {name: column.tolist() for name, column in found.columns.items()} == expected
    assert found.notes == ("Apostrophes before text that looks like a formula ('=1+1) were removed.",)
    assert not read_table(b"a,b\n'x,1\nx'=y,2\n", "a.csv").notes
    with pytest.raises(InputError, match='"=a"'):
        read_table(b"=a,'=a\n1,2\n", "a.csv")
