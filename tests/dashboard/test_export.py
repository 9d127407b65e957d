"""No cell of our tables is a formula in a spreadsheet, and numbers stay numbers."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from dashboard.export import csv_bytes


@pytest.mark.parametrize("name", ["=1+1", "+cmd|x", "-2", "@SUM(A1)", "\tx"])
def test_text_that_begins_like_a_formula_gets_an_apostrophe(name: str) -> None:
    back = pd.read_csv(io.BytesIO(csv_bytes(pd.DataFrame({name: [name], "gap": [-0.25]}))))
    assert back.columns[0] == f"'{name}"
    assert back.iloc[0, 0] == f"'{name}"
    assert back["gap"][0] == -0.25


def test_ordinary_text_and_missing_values_stay() -> None:
    table = pd.DataFrame({"class": ["cat", "dög, wild"], "n": [1.0, float("nan")]})
    assert csv_bytes(table).decode() == 'class,n\ncat,1.0\n"dög, wild",\n'


def test_columns_whose_names_an_apostrophe_makes_equal_are_both_there() -> None:
    assert csv_bytes(pd.DataFrame({"=a": [1], "'=a": [2]})).decode() == "'=a,'=a\n1,2\n"
