"""CSV: bytes that are no text, lines of the wrong length, unusual headers and number formats."""

from __future__ import annotations

from collections.abc import Iterator

from tests.corpus.bad_files import BadFile, csv, family

HEAD = "p_a,p_b,label"
ONE = "Separate the score columns and the labels by commas, semicolons or tabs"


@family("CSV bytes")
def text_bytes() -> Iterator[BadFile]:
    good = csv(HEAD, "0.7,0.3,a", "0.2,0.8,b")
    cases: dict[str, tuple[bytes, str]] = {
        "blank lines only": (b"\n\r\n  \n", "a.csv is empty. It needs a header line"),
        "header only": (csv(HEAD), "a.csv has no data rows"),
        "header without line end": (HEAD.encode(), "has no data rows"),
        "a NUL in a value": (good.replace(b"0.2", b"0\x002"), "a.csv, line 3: a NUL byte"),
        "a NUL in the header": (b"p\0," + good, "a.csv, line 1: a NUL byte"),
        "UTF-32": (good.decode().encode("utf-32"), "a.csv is UTF-32 text; save it as UTF-8"),
        "half of UTF-16": (good.decode().encode("utf-16")[:-1], "damaged UTF-16 text; save the file as UTF-8"),
        "Latin-1 next to UTF-8": (
            good + "0.5,0.5,ä\n".encode() + "0.5,0.5,é\n".encode("latin-1"),
            "a.csv, line 5: byte 0xE9 is not UTF-8 text",
        ),
        "Latin-1 next to control characters": (good + b"0.5,0.5,\xe9\x01\x02\x03\x04\n", "line 4: byte 0xE9 is not"),
        "no text at all": (b"p,y\n" + bytes(range(1, 256)), "line 3: byte 0x80 is not UTF-8 text"),
        "half a letter at the end": (good + "0.5,0.5,é".encode()[:-1], "line 4: byte 0xC3 is not UTF-8 text"),
        "Windows quotes around a class": (good + b"0.5,0.5,\x93a\x94\n", 'line 4 (row 2): "“a”" is not a class'),
        "an overlong letter": (good + b"0.5,0.5,\xe0\x80\xaf\n", "line 4: byte 0xE0 is not UTF-8 text"),
        "a surrogate": (good + b"0.5,0.5,\xed\xa0\x80\n", "line 4: byte 0xED is not UTF-8 text"),
        "a line of 9 MB": (good + b"x" * (9 << 20), "line 4 is longer than 8 MB"),
        "a field of 200,000 characters": (
            good + b"0.5,0.5," + b"x" * 200_000 + b"\n",
            "line 4 has a field longer than",
        ),
        "a quoted field of 200,000": (good + b'0.5,0.5,"' + b"x" * 200_000 + b'"\n', "line 4 has a field longer than"),
        "a million columns": (b"p," * 1_000_000 + b"y\n", "has 1,000,001 columns; the maximum is 4,096"),
        "a hundred thousand equal names": (b"p," * 100_000 + b"p\n1\n", "has 100,001 columns; the maximum is 4,096"),
        "a header of 9 MB": (b"x" * (9 << 20) + b",y\n", "the header line is longer than 8.39 MB"),
    }
    for what, (data, says) in cases.items():
        yield BadFile(what, data, says)
    for page, title in (("cp1252", "Windows-1252"), ("cp1251", "Windows-1251"), ("mac-roman", "Mac OS Roman")):
        word = "кот" if page == "cp1251" else "bête"
        rows = f"p_a,p_{word},label\n0.7,0.3,a\n0.2,0.8,{word}\n"
        yield BadFile(f"text of {title}", rows.encode(page), f"is read as {title}", "reader")
    for encoding in ("utf-16-le", "utf-16-be"):
        yield BadFile(f"{encoding} without a mark", good.decode().encode(encoding), "read as UTF-16", "reader")


@family("CSV lines")
def lines() -> Iterator[BadFile]:
    row = "0.7,0.3,a"
    cases: dict[str, tuple[bytes, str]] = {
        "a short line": (csv(HEAD, row, "0.7,0.3"), "line 3 has 2 fields, but the header has 3; complete or remove"),
        "a line of one field": (
            csv(HEAD, row, "total"),
            "line 3 has 1 field, but the header has 3; complete or remove",
        ),
        "a long line": (csv(HEAD, row, row + ",x"), "line 3 has 4 fields, but the header has 3. Decimal commas?"),
        "decimal commas between commas": (csv(HEAD, "0,7,0,3,a"), "line 2 has 5 fields, but the header has 3. Decimal"),
        "one line ends in a comma": (csv(HEAD, row, row + ","), "line 3 has 4 fields, but the header has 3"),
        "all but one end in a comma": (csv(HEAD, row + ",", row), "line 3 has 3 fields, but the header has 3"),
        "a footer": (csv(HEAD, row, "# made by x, 2026"), "line 3 has 2 fields, but the header has 3"),
        "two tables": (csv(HEAD, row, "", "model,score", "x,1"), "line 4 has 2 fields, but the header has 3"),
        "semicolons below a comma header": (csv(HEAD, "0.7;0.3;a"), "line 2 has 1 field, but the header has 3"),
        "an open quote": (csv(HEAD, '0.7,0.3,"a', row), "line 2: a quote"),
        "a quote inside a field": (
            csv(HEAD, '0.7,0.3,a"b', row),
            '"a"b" is not a class; 1 of 2 rows affected. The classes are',
        ),
        "text behind a quote": (csv(HEAD, '0.7,0.3,"a"b'), "double the quotes inside fields"),
        "an open quote in the header": (
            csv('p_a,"p_b,label', row),
            "line 1: a quote in the header is not closed",
        ),
        "one column": (csv("label", "a", "b"), ONE),
        "bars between columns once": (csv("p_a|p_b|label", "0.7"), "line 2 has 1 field, but the header has 3"),
    }
    for what, (data, says) in cases.items():
        yield BadFile(what, data, says)


@family("CSV headers")
def headers() -> Iterator[BadFile]:
    row = "0.7,0.3,a"
    long = "x" * 300
    cases: dict[str, tuple[bytes, str]] = {
        "data above a line of names": (csv("0.7,0.3,1", HEAD, "0.2,0.8,0"), "line 1 contains data"),
        "decimal commas, not names of rows": (
            csv("p,y", "0,7,1", "1,2,0"),
            "line 2 has 3 fields, but the header has 2",
        ),
        "fractions among names": (csv("id,0.05,0.95,label", "7,0.2,0.8,1"), "the header line is missing"),
        "none, whole numbers": (csv("1,0", "0,1"), "the header line is missing"),
        "a name twice": (csv("p,p,label", row), '2 columns called "p"'),
        "a name twice, quoted": (csv('p,"p",label', row), '2 columns called "p"'),
        "a name twice in two forms": (
            csv("p_á,p_a\u0301,label", row),
            '2 columns called "p_á"; give every column its own name',
        ),
        "no name in the middle": (csv("p_a,,label", row), "line 1: column 2 of 3 has no name; name every column"),
        "a name of spaces": (csv("p_a,  ,label", row), "column 2 of 3 has no name"),
        "a name of 300": (csv(f"p_a,{long},label", row), "column 2 has a name of 300 characters; shorten it"),
        "no names at all": (csv(",,", row), "has no name; name every column"),
        "no scores": (csv("id,label", "1,a", "2,b"), "no columns are recognized as scores"),
        "no labels": (csv("p_a,p_b", "0.7,0.3"), "no column is recognized as the labels"),
        "confidence alone": (
            csv("confidence", "0.7"),
            "no column is recognized as the labels",
        ),
        "confidence and predicted": (csv("confidence,predicted", "0.7,a"), "no column is recognized as the labels"),
        "two sets of scores": (csv("score_a,score_b,z_a,z_b,y", "1,2,3,4,a"), "could each be the scores"),
        "labels of two names": (
            csv("p_a,p_b,label,target", "0.7,0.3,a,b"),
            'columns "label", "target" could each be the label',
        ),
        "Excel's date": (
            csv("p_a,p_b,label", "0.7,0.3,2026-01-01", "0.2,0.8,2026-01-02"),
            '"2026-01-01" is not a class; 2 of 2 rows',
        ),
        "names that are formulas": (csv("=1+1,+2,label", "0.7,0.3,a"), 'The classes are "=1+1", "+2"'),
    }
    for what, (data, says) in cases.items():
        yield BadFile(what, data, says)
    missing = {
        "none": csv("0.7,0.3,1", "0.2,0.8,0"),
        "none, text labels": csv("0.7,0.3,a", "0.2,0.8,b"),
        "none, exponents": csv("7e-1,3e-1,a", "0.2,0.8,b"),
        "none, a risk": csv("0.7,1", "0.2,0"),
    }
    for what, data in missing.items():
        yield BadFile(what, data, "The header line is missing: line 1 has data", "no-header")


@family("CSV numbers")
def written_numbers() -> Iterator[BadFile]:
    cases: dict[str, tuple[bytes, str]] = {
        "a word": (csv(HEAD, "0.7,0.3,a", "high,0.8,b"), 'column "p_a", line 3 (row 1): "high" is not a number'),
        "a unit": (csv("p,y", "0.7s,1", "0.2s,0"), 'column "p", line 2 (row 0): "0.7s" is not a number'),
        "a missing score": (csv(HEAD, "0.7,0.3,a", ",0.8,b"), 'column "p_a", line 3 (row 1): the value is missing'),
        "NaN": (csv(HEAD, "0.7,0.3,a", "nan,0.8,b"), 'choose missing "exclude" to leave out these rows'),
        "NULL": (csv(HEAD, "0.7,0.3,a", "NULL,0.8,b"), "the value is missing; 1 of 2 rows affected"),
        "a dash": (csv(HEAD, "0.7,0.3,a", "-,0.8,b"), "the value is missing; 1 of 2 rows affected"),
        "#N/A": (csv(HEAD, "0.7,0.3,a", "#N/A,0.8,b"), "the value is missing; 1 of 2 rows affected"),
        "infinity": (csv(HEAD, "0.7,0.3,a", "inf,0.8,b"), "is infinite; 1 of 2 rows affected"),
        "minus infinity": (csv(HEAD, "0.7,0.3,a", "-inf,0.8,b"), "-inf is below 0; 1 of 2 rows affected"),
        "beyond every number": (csv(HEAD, "0.7,0.3,a", "1e400,0.8,b"), "is infinite; 1 of 2 rows affected"),
        "hexadecimal": (csv(HEAD, "0.7,0.3,a", "0x1p-3,0.8,b"), '"0x1p-3" is not a number'),
        "underscores": (csv(HEAD, "0.7,0.3,a", "0_2,0.8,b"), '"0_2" is not a number'),
        "two points": (csv(HEAD, "0.7,0.3,a", "0.2.1,0.8,b"), '"0.2.1" is not a number'),
        "a fraction": (csv(HEAD, "0.7,0.3,a", "1/5,0.8,b"), '"1/5" is not a number'),
        "a formula": (csv(HEAD, "0.7,0.3,a", "=0.1+0.1,0.8,b"), '"=0.1+0.1" is not a number'),
        "percent signs in one row": (
            csv(HEAD, "70%,30%,a", "0.2,0.8,b"),
            "has a percent sign, but other values do not",
        ),
        "commas and points": (csv("p_a;p_b;label", "0,7;0.3;a", "0,2;0.8;b"), "decimal commas but column"),
        "points for thousands": (csv("p_a;p_b;label", "1.234,5;0,3;a", "0,2;0,8;b"), '"1.234,5" is not a number'),
        "Arabic digits": (csv(HEAD, "0.7,0.3,a", "٠.٢,0.8,b"), '"٠.٢" is not a number; 1 of 2 rows'),
        "full-width digits": (csv(HEAD, "0.7,0.3,a", "０.２,0.8,b"), '"０.２" is not a number'),
        "a minus of typographers": (csv("z_a,z_b,label", "1,−2,a", "−1,3,b"), '"−1" is not a number'),
        "an ESC in a number": (csv(HEAD, "0.7,0.3,a", "0.2\x1b[31m,0.8,b"), '"0.2\\x1b[31m" is not a number'),
        "text that turns round": (csv(HEAD, "0.7,0.3,a", "\u202e2.0,0.8,b"), '"\\u202e2.0" is not a number'),
        "every score missing": (csv(HEAD, ",,a", ",,b"), 'column "p_a" contains no number'),
        "every label missing": (csv(HEAD, "0.7,0.3,", "0.2,0.8,"), "the value is missing; 2 of 2 rows affected"),
    }
    for what, (data, says) in cases.items():
        yield BadFile(what, data, says)
