"""ARFF: values and names as in the same CSV, lines as in the file, and refusals of what is no plain table."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from calib_core.readers import limits, read_predictions, read_table

Refused = Callable[[bytes, str], str]

HEAD = "@relation x\n@attribute p_a real\n@attribute p_b real\n@attribute label {a,b}\n@data\n"

WRITTEN = {
    "plain": f"{HEAD}0.75,0.25,a\n0.25,0.75,b\n",
    "comments and capitals": (
        "% by Weka\n%\n@RELATION 'a test'\n\n@ATTRIBUTE p_a NUMERIC\n@Attribute 'p_b' REAL % a share\n"
        "@ATTRIBUTE\tlabel\t{a, b}\n\n@DATA\n% rows\n0.75,0.25,a\n\n0.25,0.75,b\n"
    ),
    "quotes and spaces": (
        "@relation x\n@attribute \"p_a\" real\n@attribute 'p_b' real\n@attribute label {'a','b'}\n"
        "@data\n0.75, 0.25, 'a'\n0.25, 0.75, \"b\"\n"
    ),
    "carriage returns": f"{HEAD}0.75,0.25,a\n0.25,0.75,b\n".replace("\n", "\r\n"),
    "a mark": f"\ufeff{HEAD}0.75,0.25,a\n0.25,0.75,b\n",
}


@pytest.mark.parametrize("what", WRITTEN)
def test_rows_are_those_of_the_csv(what: str) -> None:
    table = read_table(WRITTEN[what].encode(), "a.arff")
    assert table.format == "arff"
    assert {name: column.tolist() for name, column in table.columns.items()} == {
        "p_a": [0.75, 0.25],
        "p_b": [0.25, 0.75],
        "label": ["a", "b"],
    }
    assert table.lines is not None
    lines = WRITTEN[what].splitlines()
    assert [lines[line - 1].replace(" ", "")[:9] for line in table.lines] == ["0.75,0.25", "0.25,0.75"]


def test_names_and_values_with_quotes_commas_and_tabs() -> None:
    text = r"""@relation x
@attribute 'it\'s p' real
@attribute label {'a, b','say \'no\'',"\"c\"",?}
@data
0.5,'a, b'
0.25,'say \'no\''
?,?
"""
    table = read_table(text.encode(), "a.arff")
    assert table.columns["it's p"].tolist() == ["0.5", "0.25", "?"]
    assert table.columns["label"].tolist() == ["a, b", "say 'no'", "?"]


def test_a_missing_value_is_missing() -> None:
    found = read_predictions(f"{HEAD}0.75,0.25,a\n?,0.75,b\n".encode(), "a.arff", missing="exclude")
    assert found.probs.tolist() == [[0.75, 0.25]]


REFUSED = {
    "sparse rows": (f"{HEAD}{{0 0.75, 2 b}}\n", "a.arff, line 6 has a sparse row"),
    "no data": ("@relation x\n@attribute p real\n", "a.arff has no line @data"),
    "no attributes": ("@relation x\n@data\n0.5\n", "a.arff declares no attributes"),
    "a relation in a relation": (
        "@relation x\n@attribute bag relational\n@attribute p real\n@end bag\n@data\n'0.5',1\n",
        "a.arff, line 2: an attribute is a table of its own",
    ),
    "a short row": (f"{HEAD}0.75,0.25,a\n0.25,b\n", "a.arff, line 7 has 2 fields, but the header has 3"),
    "an open quote": (f"{HEAD}0.75,0.25,'a\n", "a.arff, line 6"),
    "no rows": (HEAD, "a.arff has no data rows"),
    "a name twice": ("@relation x\n@attribute p real\n@attribute p real\n@data\n1,2\n", '2 columns called "p"'),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_table_is_refused(what: str, refused: Refused) -> None:
    text, said = REFUSED[what]
    assert said in refused(text.encode(), "a.arff")


def test_attributes_are_counted(refused: Refused) -> None:
    names = "".join(f"@attribute p{j} real\n" for j in range(limits.COLUMNS + 1))
    assert "more than 4,096 attributes" in refused(f"@relation x\n{names}@data\n1\n".encode(), "a.arff")


def test_a_csv_with_such_a_word_is_a_csv() -> None:
    assert read_table(b"note,p,y\n@relation,0.5,1\n", "a.csv").names == ("note", "p", "y")
