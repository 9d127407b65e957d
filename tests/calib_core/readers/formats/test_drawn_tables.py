"""Tables drawn for readers: every cell is found, lines keep their numbers, and other text does not change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import StreamedFile, examine, propose, read_table, streams
from calib_core.readers.formats.drawn_tables import as_delimited

Refused = Callable[[bytes, str], str]

FRAME = pd.DataFrame({"id": [7, 8, 9], "risk": [0.5, 0.25, 0.125], "event": ["yes", "no", "yes"]})

DRAWN = {
    "psql": """ id | risk  | event
----+-------+-------
  7 | 0.5   | yes
  8 | 0.25  | no
  9 | 0.125 | yes
(3 rows)

""",
    "psql with a border": """+----+-------+-------+
| id | risk  | event |
+----+-------+-------+
|  7 | 0.5   | yes   |
|  8 | 0.25  | no    |
|  9 | 0.125 | yes   |
+----+-------+-------+
3 rows in set (0.01 sec)
""",
    "Markdown": """| id | risk | event |
|---:|:-----|:-----:|
| 7 | 0.5 | yes |
| 8 | 0.25 | no |
| 9 | 0.125 | yes |
""",
    "Markdown below a heading": """# Test rows

| id | risk | event |
|---|---|---|
| 7 | 0.5 | yes |
| 8 | 0.25 | no |
| 9 | 0.125 | yes |
""",
    "Markdown without outer bars": "id | risk | event\n--|--|--\n7 | 0.5 | yes\n8 | 0.25 | no\n9 | 0.125 | yes\n",
    "SQL Server": """id          risk                   event
----------- ---------------------- -----
7           0.5                    yes
8           0.25                   no
9           0.125                  yes

(3 rows affected)

Completion time: 2026-01-01T10:00:00+01:00
""".replace("\n", "\r\n"),
    "sqlcmd with commas": """id ,risk ,event
---,-----,-----
  7,  0.5,yes
  8, 0.25,no
  9,0.125,yes

(3 rows affected)
""",
    "Oracle": """        ID       RISK EVENT
---------- ---------- -----
         7         .5 yes
         8        .25 no
         9       .125 yes

3 rows selected.
""",
    "reStructuredText": """== ===== =====
id risk  event
== ===== =====
7  0.5   yes
8  0.25  no
9  0.125 yes
== ===== =====
""",
    "polars": """shape: (3, 3)
┌─────┬───────┬───────┐
│ id  ┆ risk  ┆ event │
│ --- ┆ ---   ┆ ---   │
│ i64 ┆ f64   ┆ str   │
╞═════╪═══════╪═══════╡
│ 7   ┆ 0.5   ┆ yes   │
│ 8   ┆ 0.25  ┆ no    │
│ 9   ┆ 0.125 ┆ yes   │
└─────┴───────┴───────┘
""",
    "DuckDB": """┌───────┬────────┬─────────┐
│  id   │  risk  │  event  │
│ int32 │ double │ varchar │
├───────┼────────┼─────────┤
│     7 │    0.5 │ yes     │
│     8 │   0.25 │ no      │
│     9 │  0.125 │ yes     │
└───────┴────────┴─────────┘
""",
    "Spark": """+---+-----+-----+
| id| risk|event|
+---+-----+-----+
|  7|  0.5|  yes|
|  8| 0.25|   no|
|  9|0.125|  yes|
+---+-----+-----+

""",
    "a tibble of R": """# A tibble: 3 × 3
     id  risk event
  <dbl> <dbl> <chr>
1     7 0.5   yes
2     8 0.25  no
3     9 0.125 yes
""",
    "Hive": "id\trisk\tevent\n7\t0.5\tyes\n8\t0.25\tno\n9\t0.125\tyes\nTime taken: 0.1 seconds, Fetched: 3 row(s)\n",
    "a number of rows below": "id|risk|event\n7|0.5|yes\n8|0.25|no\n9|0.125|yes\n\n3 rows\n",
    "an underline": "id risk event\n-------------\n7 0.5 yes\n8 0.25 no\n9 0.125 yes\n",
    "pandas": FRAME.to_string(),
    "pandas with the shape": f"{FRAME.to_string()}\n\n[3 rows x 3 columns]\n",
    "pandas without an index": FRAME.to_string(index=False),
    "R": "  id  risk event\n1  7 0.500   yes\n2  8 0.250    no\n3  9 0.125   yes\n",
    "R's write.table": '"id" "risk" "event"\n"1" 7 0.5 "yes"\n"2" 8 0.25 "no"\n"3" 9 0.125 "yes"\n',
    "R's write.table with commas": '"id","risk","event"\n"1",7,0.5,"yes"\n"2",8,0.25,"no"\n"3",9,0.125,"yes"\n',
    "fixed width": "id  risk   event\n7   0.5    yes\n8   0.25   no\n9   0.125  yes\n",
}


@pytest.mark.parametrize("what", DRAWN)
def test_every_cell_is_read(what: str) -> None:
    table = read_table(DRAWN[what].encode(), "a.txt")
    found = {name.casefold(): column.tolist() for name, column in table.columns.items() if name != "index"}
    assert found == {name: column.tolist() for name, column in FRAME.items()}
    assert table.notes or what in ("pandas without an index", "fixed width")


def test_lines_keep_their_numbers() -> None:
    for what, line in (("psql", 3), ("psql with a border", 4), ("Markdown below a heading", 5), ("pandas", 2)):
        assert read_table(DRAWN[what].encode(), "a.txt").place(0) == f"line {line} (row 0)"


def test_cells_may_have_spaces_where_places_or_bars_divide_them() -> None:
    rows = FRAME.assign(event=["not sure", "no", "not sure"])
    for text in (rows.to_string(), "id  risk   event\n7   0.5    not sure\n8   0.25   no\n9   0.125  not sure\n"):
        table = read_table(text.encode(), "a.txt")
        assert table.columns["event"].tolist() == ["not sure", "no", "not sure"]
        assert table.columns["risk"].tolist() == [0.5, 0.25, 0.125]
        assert "found by their places" in table.notes[0]
    table = read_table(b'| p | y |\n|---|---|\n| 0.5 | a \\| b |\n| .25 | say "no" |\n', "a.md")
    assert table.columns["y"].tolist() == ["a | b", 'say "no"']


def test_a_text_with_a_space_is_no_name_of_a_row() -> None:
    """Every row has one field more than the header, but each name is above its own column."""
    table = read_table(b"risk   event  name\n0.5    1      A b\n0.25   0      B c\n", "a.txt")
    assert table.columns["risk"].tolist() == [0.5, 0.25]
    assert table.columns["name"].tolist() == ["A b", "B c"]


def test_numbers_with_a_space_between_them_are_two_cells() -> None:
    """The places of both names are free in every row, but the first would have two numbers."""
    table = read_table(b"risk event\n1 .5 1\n2 .2 0\n", "a.txt")
    assert {name: column.tolist() for name, column in table.columns.items()} == {
        "index": [1, 2],
        "risk": [0.5, 0.2],
        "event": [1, 0],
    }


SHORTENED = {
    "pandas": pd.DataFrame({"p": np.arange(100) / 100, "y": 1}).to_string(max_rows=6),
    "pandas without an index": pd.DataFrame({"p": np.arange(100) / 100, "y": 1}).to_string(max_rows=6, index=False),
    "polars": "┌───┬───┐\n│ p ┆ y │\n╞═══╪═══╡\n│ 1 ┆ 1 │\n│ … ┆ … │\n│ 0 ┆ 0 │\n└───┴───┘\n",
    "Spark": "+---+---+\n|  p|  y|\n+---+---+\n|0.5|  1|\n+---+---+\nonly showing top 1 row\n",
    "Markdown": "| p | y |\n|---|---|\n| 0.5 | 1 |\n| ... | ... |\n| 0.2 | 0 |\n",
}


@pytest.mark.parametrize("what", SHORTENED)
def test_a_table_that_was_shortened_when_it_was_printed_is_refused(what: str, refused: Refused) -> None:
    assert "rows were left out (...) when the table was printed" in refused(SHORTENED[what].encode(), "a.txt")


UNCHANGED = {
    "a comma": b"p,y\n0.5,1\n",
    "dashes for missing values": b"p|y\n-|-\n0.5|1\n",
    "prose": b"These rows are\nfrom a test of 2026\nand no table.\n",
    "one name of two words": b"true label\ncat\ndog\n",
    "one name of two words above numbers": b"predicted probability\n0.5\n0.25\n",
    "numbers only": b"0.5 0.5\n0.25 0.75\n",
    "a value of dashes": b"p,y\n0.5,--\n0.25,--\n",
    "a drawn corner in a cell": "p,y\n0.5,┌─┐\n".encode(),
    "a shorter line": b"p y\n0.5 a b c\n0.25\n",
}


@pytest.mark.parametrize("what", UNCHANGED)
def test_other_text_is_left_as_it_is(what: str) -> None:
    assert as_delimited(UNCHANGED[what], "a.txt") == (UNCHANGED[what], [])


def test_a_line_of_another_length_is_named(refused: Refused) -> None:
    assert "line 4 has 2 fields, but the header has 3" in refused(b"p q y\n.5 .5 a\n.1 .9 b\n.2 .8\n", "a.txt")
    assert "line 4 has 2 fields, but the header has 3" in refused(b"|p|q|y|\n|--|--|--|\n|.5|.5|a|\n|.2|.8|\n", "a.md")


def test_other_numbers_of_rows_than_stated_are_a_warning() -> None:
    for stated, codes in ((3, []), (1000, ["stated-rows"])):
        data = DRAWN["psql"].replace("(3 rows)", f"({stated:,} rows)").encode()
        table = read_table(data, "a.txt")
        found = [each for each in examine(table, propose(table)) if each.severity == "warning"]
        assert [each.code for each in found] == codes
    assert "Line 6 states 1,000 rows, but there are 3" in found[0].message
    assert found[0].blocks()


def test_remarks_are_left_out_below_an_empty_line_only(refused: Refused) -> None:
    rows = b"p,q,y\n0.5,0.5,a\n0.25,0.75,b\n"
    table = read_table(rows + b"\nSource: our database\nDraft\n", "a.csv")
    assert table.n_rows == 2
    assert table.notes == ("Lines 5 to 6, below the table, were left out.",)
    assert "line 4 has 1 field" in refused(rows + b"Draft\n", "a.csv")
    quoted = read_table(b'p,q,y\n0.5,0.5,a\n0.25,0.75,"b\n\nc"\n', "a.csv")
    assert quoted.columns["y"].tolist() == ["a", "b\n\nc"]


def test_names_of_rows_are_doubted_unless_they_count_rows_or_are_quoted() -> None:
    for first, doubted in (("12", False), ("ab", True), ("53", True)):
        rows = "".join(f"{name},{p},{p > 0.5:d}\n" for name, p in zip(first, (0.7, 0.2), strict=True))
        table = read_table(f"p,y\n{rows}".encode(), "a.csv")
        assert table.names == ("index", "p", "y")
        assert [code for code, _ in table.doubts] == ["row-names"] * doubted
    assert not read_table(b'"p","y"\n"a",0.7,1\n"b",0.2,0\n', "a.csv").doubts


def test_lines_of_one_field_more_that_name_no_rows_are_refused(refused: Refused) -> None:
    for rows in (b"0,7,1\n0,2,0\n", b"0.7,1,x\n0.2,0,y\n", b"a,0.7,1\na,0.2,0\n", b"a,0.7,1\nb,0.2\n"):
        assert "fields, but the header has 2" in refused(b"p,y\n" + rows, "a.csv")


def test_a_drawn_table_of_many_lines_is_summarised_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{i:>4} | {i / 1000:.3f} | {i % 2:>5}" for i in range(1000)]
    path = tmp_path / "a.txt"
    path.write_text("\n".join([" id  | risk  | event", "-----+-------+------", *rows, "(1000 rows)", ""]))
    monkeypatch.setattr(streams, "TEXT_BYTES", 4000)
    parts = list(StreamedFile(path))
    assert len(parts) > 2
    assert np.array_equal(np.concatenate([part.probs[:, 1] for part in parts]), np.arange(1000) / 1000)


def test_wide_and_endless_lines_are_bounded(refused: Refused) -> None:
    with pytest.raises(InputError, match="columns; the maximum is 4,096"):
        read_table(b"| p " * 5000 + b"|\n" + b"|---" * 5000 + b"|\n" + b"| 1 " * 5000 + b"|\n", "a.md")
    wide = b" ".join(b"p%d" % i for i in range(5000)) + b"\n" + b" ".join([b".5"] * 5000) + b"\n"
    with pytest.raises(InputError, match="columns; the maximum is 4,096"):
        read_table(wide, "a.txt")


def test_what_statas_list_prints_is_read() -> None:
    rows = [f"{i + 1:>3}. | {i / 8:5.3f} {i % 2:>6} {'ab'[i % 2]:>6} |" for i in range(7)]
    rule = "     |---------------------|"
    frame = rule.replace("|", "+")
    text = "\n".join(["", frame, "     |  phat   died   site |", rule, *rows[:5], rule, *rows[5:], frame, ""])
    table = read_table(text.encode(), "a.txt")
    assert table.names == ("phat", "died", "site")
    assert table.columns["phat"].tolist() == [i / 8 for i in range(7)]
    assert table.place(0) == "line 5 (row 0)"
    assert table.notes[0].startswith("The frame and the numbers of rows")
