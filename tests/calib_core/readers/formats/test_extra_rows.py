"""Rows that are no predictions: units, types and totals are left out; rows that only resemble them stay."""

from __future__ import annotations

import io
import pathlib

import numpy as np
import pandas as pd
import pytest

from calib_core.readers import propose, read_predictions, read_table
from calib_core.readers.formats.extra_rows import is_unit
from calib_core.readers.table import Table

ROWS = "".join(f"{i},{p},{y}\n" for i, (p, y) in enumerate([(0.5, 1), (0.25, 0), (0.125, 1), (0.75, 0)], start=31))

UNITS = {
    "words and signs": "years,%,[-]",
    "in brackets": "[a],(1),[0/1]",
    "some empty": ",%,",
    "types": "int,float,bool",
    "English words": "Years,probability,",
}


@pytest.mark.parametrize("what", UNITS)
def test_units_below_the_header_are_left_out(what: str) -> None:
    table = read_table(f"age,risk,event\n{UNITS[what]}\n{ROWS}".encode(), "a.csv")
    assert [column.tolist() for column in table.columns.values()] == [
        [31, 32, 33, 34],
        [0.5, 0.25, 0.125, 0.75],
        [1, 0, 1, 0],
    ]
    assert table.place(0) == "line 3 (row 0)"
    assert table.notes[0] == "Line 2, units below the header, was left out."


NO_UNITS = {
    "missing values": "NA,NA,NA",
    "points": ".,.,.",
    "dashes": "-,-,-",
    "words": "high,low,unknown",
    "one unit among numbers": "30,%,1",
    "a long text in brackets": "[the first patient of the study],,",
}


@pytest.mark.parametrize("what", NO_UNITS)
def test_other_first_rows_stay(what: str) -> None:
    table = read_table(f"age,risk,event\n{NO_UNITS[what]}\n{ROWS}".encode(), "a.csv")
    assert table.n_rows == 5
    assert not table.notes


def test_a_value_of_its_column_is_no_unit() -> None:
    for last, n in (("(a)", 3), ("(b)", 2)):
        table = read_table(f"p_a,p_b,y\n%,%,(a)\n0.5,0.5,(b)\n0.25,0.75,{last}\n".encode(), "a.csv")
        assert table.n_rows == n
    assert is_unit("mmHg")
    assert not is_unit("")


def test_percent_below_a_name_is_part_of_it() -> None:
    rows = "".join(f"{i + 30},{i + 0.5},{i % 3 == 0:d}\n" for i in range(1, 20))
    found = read_predictions(f"age,risk,event\nyears,%,\n{rows}".encode(), "a.csv")
    assert found.probs[0, 1] == 0.015
    without = read_table(f"age,risk,event\nyears,,\n{rows}".encode(), "a.csv")
    assert without.names == ("age", "risk", "event")


ORANGE = {
    "words": "continuous\tcontinuous\ta b\tstring\n\t\tclass\tmeta\n",
    "letters": "c\tc\td\ts\n\t\tc\tm\n",
    "attributes": "continuous\tcontinuous\tdiscrete\tstring\nweight\t\tclass\tmeta=1\n",
}


@pytest.mark.parametrize("what", ORANGE)
def test_the_three_header_rows_of_orange(what: str) -> None:
    data = f"p_a\tp_b\tkind\tname\n{ORANGE[what]}0.75\t0.25\ta\tone\n0.25\t0.75\tb\ttwo\n0.5\t0.5\tb\tthree\n"
    table = read_table(data.encode(), "a.tab")
    assert table.columns["p_a"].tolist() == [0.75, 0.25, 0.5]
    assert table.columns["kind"].tolist() == ["a", "b", "b"]
    assert propose(table).label == ("kind",)
    assert "Orange's types below the header" in table.notes[0]


def test_names_behind_the_marks_of_orange() -> None:
    table = read_table(b"C#p_a,C#p_b,cD#kind,mS#name\n0.75,0.25,a,one\n", "a.csv")
    assert table.names == ("p_a", "p_b", "kind", "name")
    assert read_table(b"C#,p_b,y\n0.75,0.25,a\n", "a.csv").names[0] == "C#"


def test_two_rows_of_classes_called_like_types_stay() -> None:
    assert read_table(b"label,predicted\nc,d\nc,c\nd,d\n", "a.csv").n_rows == 3


TOTALS = {
    "a sum in a column of numbers": ("id,risk,event", "Total,1.625,2", "31,0.5,1"),
    "a mean": ("id,risk,event", "Mean:,0.40625,0.5", "31,0.5,1"),
    "only the word": ("id,risk,event", "TOTAL,,", "31,0.5,1"),
    "in German": ("id,risk,event", "Summe,1.625,2", "31,0.5,1"),
    "a sum and a mean": ("id,risk,event", "Total,1.625,2\nMean,0.406,0.5", "31,0.5,1"),
}


@pytest.mark.parametrize("what", TOTALS)
def test_totals_at_the_end_are_left_out(what: str) -> None:
    header, last, _ = TOTALS[what]
    table = read_table(f"{header}\n{ROWS}{last}\n".encode(), "a.csv")
    assert table.columns["id"].tolist() == [31, 32, 33, 34]
    assert table.columns["event"].tolist() == [1, 0, 1, 0]
    assert "totals or means of the rows above" in table.notes[0]


NAMED = "north,0.5,1\nsouth,0.25,0\nwest,0.125,1\neast,0.75,0\n"


def test_a_word_among_names_is_a_total_if_a_number_is() -> None:
    for last, n in (("Total,1.625,2", 4), ("All,0.41,2", 4), ("Total,0.875,1", 5), ("Mean,0.4,1", 5), ("Sum,0.5,0", 5)):
        table = read_table(f"site,risk,event\n{NAMED}{last}\n".encode(), "a.csv")
        assert table.n_rows == n, last
        assert len(table.notes) == (n == 4)


def test_a_sum_that_may_be_a_value_is_no_evidence() -> None:
    rows = "north,0.5,1\nsouth,0.25,0\nwest,0.125,0\neast,0.75,0\n"
    assert read_table(f"site,risk,event\n{rows}Total,0.3,1\n".encode(), "a.csv").n_rows == 5


def test_a_total_with_line_ends_in_quotes_stays() -> None:
    data = b'id,risk,event,note\n1,0.5,1,a\n2,0.25,0,b\nTotal,0.75,1,"c\nd"\n'
    assert read_table(data, "a.csv").n_rows == 3


def test_a_class_called_like_a_total_stays() -> None:
    rows = b"0.5,0.5,mean\n0.25,0.75,total\n0.75,0.25,mean\n0.5,0.5,total\n"
    assert read_table(b"p_mean,p_total,label\n" + rows, "a.csv").n_rows == 4


def test_a_file_read_in_parts_has_the_same_rows(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from calib_core.readers import StreamedFile, streams

    p = np.round(np.linspace(0.01, 0.99, 400), 4)
    rows = "".join(f"{i},{each},{i % 2}\n" for i, each in enumerate(p))
    path = tmp_path / "a.csv"
    path.write_text(f"id,risk,event\n,[1],[0/1]\n{rows}\n(400 rows affected)\n")
    monkeypatch.setattr(streams, "TEXT_BYTES", 1500)
    parts = list(StreamedFile(path))
    assert len(parts) > 2
    assert np.array_equal(np.concatenate([part.probs[:, 1] for part in parts]), p)


BELOW = {
    "a second header of sentences": (
        'Age of patient,Predicted risk,"Died, 30 days"',
        "Line 2, descriptions below the header, was left out.",
    ),
    "Qualtrics": (
        'Age of patient,How sure?,Died\n"{""ImportId"":""a""}","{""ImportId"":""b""}","{""ImportId"":""c""}"',
        "Lines 2 to 3, Qualtrics's questions and identifiers below the header, were left out.",
    ),
}


@pytest.mark.parametrize("what", BELOW)
def test_a_second_header_is_left_out(what: str) -> None:
    lines, note = BELOW[what]
    table = read_table(f"age,risk,event\n{lines}\n{ROWS}".encode(), "a.csv")
    assert table.columns["risk"].tolist() == [0.5, 0.25, 0.125, 0.75]
    assert table.notes[0] == note


BLOCKS = [["a", 0.5, 1], ["a", 0.25, 0], ["a Total", 0.75, 1], ["b", 0.125, 1], ["b", 0.75, 0], ["b Total", 0.875, 1]]


@pytest.mark.parametrize("form", ["csv", "xlsx"])
@pytest.mark.parametrize("grand", [False, True])
def test_subtotals_are_left_out_where_all_add_up(form: str, grand: bool) -> None:
    rows = [*BLOCKS, ["Grand total", 1.625, 2]] if grand else BLOCKS
    table = _written(rows, form)
    assert table.columns["event"].tolist() == [1, 0, 1, 0]
    assert table.columns["risk"].tolist() == [0.5, 0.25, 0.125, 0.75]
    assert table.notes[-1].split(",")[0] == f"{'Lines' if form == 'csv' else 'Rows'} 4"
    wrong = [[name, 0.9 if name == "a Total" else risk, event + 4 * (name == "a Total")] for name, risk, event in rows]
    assert _written(wrong, form).n_rows >= len(BLOCKS)


def _written(rows: list[list[object]], form: str) -> Table:
    frame, data = pd.DataFrame(rows, columns=["ward", "risk", "event"]), io.BytesIO()
    frame.to_csv(data, index=False) if form == "csv" else frame.to_excel(data, index=False)
    return read_table(data.getvalue(), f"a.{form}")


def test_a_footnote_below_two_columns_is_left_out() -> None:
    for line in ("* at admission", "Note: at admission"):
        assert read_table(f"risk,event\n0.5,1\n0.25,0\n\n{line}\n".encode(), "a.csv").n_rows == 2


def test_minitabs_own_names_above_the_users_are_left_out() -> None:
    table = read_table(b"C1\tC2\tC3-T\nSubject\tFITS1\tOutcome\n1\t0.5\tYes\n2\t0.25\tNo\n", "a.txt")
    assert table.names == ("Subject", "FITS1", "Outcome")
    assert table.notes[0] == "Line 1, above the header, was left out."
    assert read_table(b"C1,C2\n0.5,1\n0.25,0\n", "a.csv").names == ("C1", "C2")
