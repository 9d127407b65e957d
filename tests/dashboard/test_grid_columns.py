"""Grids that fit a window of 900 pixels: which columns are hidden, and how words are wrapped."""

from __future__ import annotations

import pandas as pd

from calib_core.figures.paper import text_width
from dashboard.exhibits.columns import number, sentences, text
from dashboard.views.grid_columns import ROOM, fitted

SENTENCE = "When class 8 is predicted with confidence 93.3 to 100 %, it is right 60 % of the time (72 of 121 rows)."
NUMBERS = [f"a measure with a long name, {i}" for i in range(8)]


def wide() -> pd.DataFrame:
    return pd.DataFrame({"finding": [SENTENCE], **{name: [0.5] for name in NUMBERS}})


def test_columns_are_hidden_in_the_given_order_and_then_from_the_last_on() -> None:
    columns = (sentences("finding"), *(number(name) for name in NUMBERS))
    fit = fitted(columns, wide(), aside=(NUMBERS[0],))
    kept = [name for name in NUMBERS if name not in fit.hidden]
    assert kept == NUMBERS[1 : 1 + len(kept)]
    assert NUMBERS[0] in fit.hidden
    used = fit.widths["finding"] + sum(text_width(name, 14) + 20 for name in kept)
    assert used <= ROOM < used + text_width(NUMBERS[-1], 14) + 20


def test_nothing_is_hidden_or_wrapped_where_all_fits() -> None:
    fit = fitted((text("class"), number("p")), pd.DataFrame({"class": ["cat"], "p": [0.5]}), aside=("p",))
    assert (fit.hidden, fit.lines) == ((), 1)


def test_the_first_column_is_never_hidden_and_its_sentences_are_wrapped() -> None:
    columns = (sentences("finding"), *(number(name) for name in NUMBERS))
    fit = fitted(columns, wide(), aside=("finding", *NUMBERS))
    assert "finding" in fit.widths
    assert fit.lines == -(-int(text_width(SENTENCE, 14)) // (fit.widths["finding"] - 20))


def test_a_cell_wider_than_its_heading_counts() -> None:
    columns = (text("class"), *(number(str(i)) for i in range(12)))
    frame = pd.DataFrame({"class": ["cat"], **{str(i): [0.5] for i in range(12)}})
    assert fitted(columns, frame).hidden == ()
    assert fitted(columns, frame.replace(0.5, 1.5e-7)).hidden != ()
