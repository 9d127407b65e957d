"""Numbers with percent signs and decimal commas: read by their value, and reported; mixed columns are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import Table, examine, predictions, propose, read_table

OUTCOMES = (1, 0, 1)


def table_of(values: tuple[str, ...], name: str = "preds.csv") -> Table:
    """Return a table of confidences as these texts, and outcomes."""
    rows = zip(values, OUTCOMES, strict=True)
    if name.endswith("jsonl"):
        lines = [json.dumps({"confidence": value, "correct": bool(y)}) for value, y in rows]
    else:
        lines = ["confidence\tcorrect", *(f"{value}\t{y}" for value, y in rows)]
    return read_table("\n".join(lines).encode(), name)


@pytest.mark.parametrize("name", ["preds.csv", "preds.jsonl"])
@pytest.mark.parametrize(
    ("values", "read"),
    [
        (("91%", "40%", "100%"), (0.91, 0.4, 1.0)),
        (("91 %", "8.5%", "0 %"), (0.91, 0.085, 0.0)),
        (("91,5\u00a0%", "8 %", "7%"), (0.915, 0.08, 0.07)),
    ],
)
def test_percent_signs_are_read_and_said(values: tuple[str, ...], read: tuple[float, ...], name: str) -> None:
    table = table_of(values, name)
    reading = propose(table)
    assert reading.kind == "probabilities"
    np.testing.assert_allclose(predictions(table, reading).confidence, read, rtol=1e-12)
    (note,) = [found for found in examine(table, reading) if found.code == "percent"]
    assert note.severity == "note"
    assert note.message.endswith(f'" is read as {read[0]:g}.')
    assert note.message.startswith(f'"confidence" is written with percent signs: "{values[0][:2]}')


def test_decimal_commas_are_read_and_said() -> None:
    table = table_of(("0,91", "0,4", "1"), "preds.jsonl")
    reading = propose(table)
    assert predictions(table, reading).confidence.tolist() == [0.91, 0.4, 1.0]
    (note,) = [found for found in examine(table, reading) if found.code == "comma"]
    assert note.message == '"confidence" is written with decimal commas: "0,91" is read as 0.91.'
    # In CSV the reader of the file does it, for all columns at once.
    table = table_of(("0,91", "0,4", "1"))
    assert predictions(table, propose(table)).confidence.tolist() == [0.91, 0.4, 1.0]
    assert "Decimal commas" in " ".join(found.message for found in examine(table, propose(table)))


def test_columns_of_classes_and_missing_values() -> None:
    table = read_table(b"cat,dog,label\n91%,9%,cat\n30%,70%,dog\n,,cat\n", "preds.csv")
    reading = propose(table, missing="exclude")
    assert (reading.scores, reading.classes) == (("cat", "dog"), ("cat", "dog"))
    np.testing.assert_allclose(predictions(table, reading).probs, [[0.91, 0.09], [0.3, 0.7]])
    (note,) = [found for found in examine(table, reading) if found.code == "percent"]
    assert note.message == '"cat", "dog" are written with percent signs: "91%" is read as 0.91.'


@pytest.mark.parametrize(
    ("values", "line"),
    [
        (("91%", "0.4", "0.3"), 'line 2 (row 0): "91%"'),
        (("0.91", "40%", "30%"), 'line 3 (row 1): "40%"'),
        (("0.91", "0.4", "30 %"), 'line 4 (row 2): "30 %"'),
    ],
)
def test_a_mixed_column_is_refused_with_its_line_and_what_to_do(values: tuple[str, ...], line: str) -> None:
    with pytest.raises(InputError) as why:
        propose(table_of(values))
    assert str(why.value).startswith(f'preds.csv, column "confidence", {line} has a percent sign, but other')
    assert "all values as fractions, such as 0.5, or all with a percent sign" in str(why.value)


def test_points_and_commas_mixed_are_refused() -> None:
    with pytest.raises(InputError, match=r'line 1 .*"0,91" is not a number; .*Write numbers with a decimal point'):
        propose(table_of(("0,91", "0.4", "0.3"), "preds.jsonl"))


def test_labels_and_metadata_stay_as_they_are() -> None:
    table = read_table(b"p,dose,label\n0.7,10%,50%\n0.2,20%,5%\n", "preds.csv")
    reading = propose(table, scores="p", label="label")
    made = predictions(table, reading)
    assert set(made.class_names or ()) == {"50%", "5%"}
    assert made.metadata is not None
    assert made.metadata["dose"].tolist() == ["10%", "20%"]
    assert not [found for found in examine(table, reading) if found.code == "percent"]


def test_above_a_hundred_percent_is_out_of_range() -> None:
    table = table_of(("120%", "40%", "30%"))
    with pytest.raises(InputError, match=r"1\.2 is above 1"):
        predictions(table, propose(table))
