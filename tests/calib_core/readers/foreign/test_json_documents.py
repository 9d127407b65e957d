"""JSON documents: one value of many records, in the forms in which tools write them; unknown shapes are flat."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import calib_core as cc
from calib_core.predictions.predictions import InputError
from calib_core.readers import limits, predictions, propose, read_table
from calib_core.readers.formats.jsonl import as_missing, decoded, decoder, elements
from tests.support.sentences import matches

Refused = Callable[[bytes, str], str]
P, Y = [0.7, 0.2], [1, 0]
FORMS: dict[str, Any] = {
    "columns beside data": {"columns": ["p", "label"], "data": [[0.7, 1], [0.2, 0]], "ncols": 2},
    "a list of objects": [{"p": 0.7, "label": 1}, {"p": 0.2, "label": 0}],
    "objects by id": {"q7": {"p": 0.7, "label": 1}, "q9": {"p": 0.2, "label": 0}},
    "columns of objects": {"p": {"0": 0.7, "1": 0.2}, "label": {"0": 1, "1": 0}},
    "records inside": {"model": "m", "predictions": [{"p": 0.7, "label": 1}, {"p": 0.2, "label": 0}]},
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("form", FORMS)
def test_a_document_in_every_form_is_the_same_table(form: str, indent: int | None) -> None:
    table = read_table(json.dumps(FORMS[form], indent=indent).encode(), "a.json")
    assert table.columns["p"].tolist() == P
    assert table.columns["label"].tolist() == Y
    found = cc.read_predictions(json.dumps(FORMS[form], indent=indent).encode(), "a.json")
    np.testing.assert_allclose(found.probs[:, 1], P)


def test_the_key_of_a_record_is_a_column() -> None:
    assert read_table(json.dumps(FORMS["objects by id"]).encode(), "a.json").columns["id"].tolist() == ["q7", "q9"]
    both = {"a": {"id": 1, "p": 0.5}, "b": {"id": 2, "p": 0.6}}
    assert read_table(json.dumps(both).encode(), "a.json").columns["key"].tolist() == ["a", "b"]


def test_nested_keys_are_paths_and_lists_of_one_length_matrices() -> None:
    lines = [{"s": {"a": {"v": i}}, "m": {"p": [0.1 * i, 1.0]}, "t": ["x"], "n": None} for i in range(3)]
    del lines[2]["m"]
    table = read_table("\n".join(map(json.dumps, lines)).encode(), "a.jsonl")
    assert table.columns["s.a.v"].tolist() == [0, 1, 2]
    assert table.columns["t"].tolist() == ['["x"]'] * 3
    np.testing.assert_array_equal(table.matrices["m.p"], [[0, 1], [0.1, 1], [np.nan, np.nan]])
    assert table.place(1) == "line 2 (row 1)"


def test_columns_beside_each_other() -> None:
    table = read_table(json.dumps({"probs": [[0.7, 0.3], [0.2, 0.8]], "label": ["a", "b"]}).encode(), "a.json")
    assert table.matrices["probs"].tolist() == [[0.7, 0.3], [0.2, 0.8]]
    assert table.columns["label"].tolist() == ["a", "b"]


DEEP: dict[str, Any] = {}
for _ in range(30):
    DEEP = {"a": DEEP, "b": 1}
FIRST = b'{"a": {"x": 1}}\n'
REFUSED = {
    FIRST + b"3": "a.json, line 2 is not an object*",
    b'[{"p": 0.5}, 3]': "a.json, record 1 is not an object*",
    b'[{"p": 0.5},\n': "a.json is not valid JSON*",
    FIRST + b'{"a": {"x": 1}': "a.json, line 2 is not valid JSON*",
    b'[{"p": 0.5, "p": 1}]': 'a.json: key "p" occurs twice*',
    b'[{"a.b": 1, "a": {"b": 2}}]': 'a.json, record 0 has two values at "a.b"*',
    json.dumps([DEEP]).encode(): "a.json, record 0 is nested too deeply; * 16 levels*",
    b'[{"a": ' + b"[" * 200_000: "a.json is nested too deeply*",
    b'{"columns": ["a", "b"], "data": [[1, 2], [3]]}': "a.json: row 1 of data *2 columns",
    b'{"columns": ["a", "a"], "data": [[1, 2]]}': 'a.json has two columns called "a"*',
    b'{"columns": ["a"], "data": []}': "a.json has no records*",
    b'[{"": 1}]': "a.json: a key is empty or has more than 256 characters; rename it",
    b'[{"y": "\\ud800"}]': 'a.json, key "y" *half of a surrogate pair*',
}


@pytest.mark.parametrize(("data", "sentence"), REFUSED.items(), ids=range(len(REFUSED)))
def test_refusals(data: bytes, sentence: str, refused: Refused) -> None:
    assert matches(refused(data, "a.json"), sentence)


def test_limits(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = json.dumps([{f"k{i}": 0 for i in range(limits.COLUMNS + 1)}]).encode()
    assert "more than 4,096 keys" in refused(wide, "a.json")
    monkeypatch.setattr(limits, "DECODED_BYTES", 16)
    assert "more than 16 bytes of values" in refused(b'[{"p": 1, "q": 2, "r": 3}]', "a.json")
    monkeypatch.setattr(limits, "DOCUMENT_BYTES", 10)
    assert "one JSON document is 10 bytes" in refused(b'[{"p": 1, "q": 2}]', "a.json")


@pytest.mark.parametrize("text", ['[{"a": [1, "]"]}, {"a": -2.5e1}, [], null]', ' [\n {"b": {}} ,\n 7\t]\r\n', "[]"])
def test_a_list_is_read_one_by_one_as_at_once(text: str) -> None:
    """The same values, or the same message, for any letter left out, replaced or doubled."""
    changes = list(' ,]}[{":1x\\')
    for place in range(text.index("[") + 1, len(text) + 1):
        for change in ["", text[place - 1], *changes]:
            other = (text[:place] + change + text[place + 1 :]).encode()
            assert found(elements, other) == found(decoded, other), other


def found(read: Callable[..., Any], text: bytes) -> Any:
    """Return the values of a list, or the message with which it is refused."""
    try:
        return list(read(text, "a.json", decoder(as_missing)))
    except InputError as e:
        return str(e)


NOWHERE_NEEDED = {
    "lines": b'{"p": 0.7, "y": 1, "loss": NaN}\n{"p": 0.2, "y": 0, "loss": Infinity}\n',
    "nested lines": b'{"p": 0.7, "y": 1, "of": {"loss": NaN}}\n{"p": 0.2, "y": 0, "of": {"loss": -Infinity}}\n',
    "a document": b'[{"p": 0.7, "y": 1, "loss": NaN}, {"p": 0.2, "y": 0, "loss": 1.5}]',
}


@pytest.mark.parametrize("data", NOWHERE_NEEDED.values(), ids=NOWHERE_NEEDED)
def test_constants_that_are_no_json_are_no_obstacle_where_no_score_is(data: bytes) -> None:
    table = read_table(data, "a.json")
    np.testing.assert_allclose(predictions(table, propose(table)).probs[:, 1], [0.7, 0.2])


@pytest.mark.parametrize("beside", ["1", '{"x": 1}'], ids=["flat", "nested"])
def test_a_score_that_is_one_is_missing_and_its_line_is_named(beside: str) -> None:
    rows = [f'{{"p": {p}, "y": {i % 2}, "of": {beside}}}' for i, p in enumerate(["0.7", "NaN", "0.4"])]
    table = read_table("\n".join(rows).encode(), "a.jsonl")
    with pytest.raises(InputError, match=r'column "p", line 2 \(row 1\): the value is missing; 1 of 3 rows affected'):
        predictions(table, propose(table))
    np.testing.assert_allclose(predictions(table, propose(table, missing="exclude")).probs[:, 1], [0.7, 0.4])


def test_an_infinite_logit_is_one() -> None:
    table = read_table(b'{"z": [1.0, -Infinity], "y": 0}\n{"z": [-1.0, 1.0], "y": 1}\n', "a.jsonl")
    assert predictions(table, propose(table, kind="logits")).probs[0].tolist() == [1, 0]


def test_a_record_of_a_known_shape_is_counted_without_it() -> None:
    tasks = {f"t{i}": {"reward": i % 2, "cost": 0.1, "confidence": math.nan if i == 2 else 0.5} for i in range(4)}
    table = read_table(json.dumps(tasks).encode(), "a.json")
    assert len(table.columns["confidence"]) == 3
    assert any("1 record has no confidence and is left out" in note for note in table.notes)


def lines(records: list[dict[str, object]]) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


def test_vectors_of_spark_are_lists_of_numbers_dense_or_sparse() -> None:
    dense = {"type": 1, "values": [0.5, 0.25, 0.25]}
    sparse = {"type": 0, "size": 3, "indices": [0, 2], "values": [0.75, 0.25]}
    table = read_table(lines([{"probability": v, "label": 0.0} for v in (dense, sparse)]), "part-0.json")
    assert table.matrices["probability"].tolist() == [[0.5, 0.25, 0.25], [0.75, 0, 0.25]]
    assert propose(table).scores == ("probability",)


@pytest.mark.parametrize(
    "vector", [{"type": 0, "size": 2, "indices": [0, 2], "values": [1.0, 1.0]}, {"type": 2, "values": [1.0, 1.0]}]
)
def test_other_objects_of_these_names_are_no_vectors(vector: dict[str, object]) -> None:
    table = read_table(lines([{"probability": vector, "label": 0}] * 2), "part-0.json")
    assert "probability" not in table.names
    assert "probability.type" in table.names


def test_results_in_a_list_are_columns_by_key() -> None:
    feedback = [{"key": "correctness", "score": 1, "comment": "ok"}, {"key": "tone", "score": 0.5}]
    table = read_table(lines([{"outputs": {"confidence": 0.7}, "feedback": feedback}] * 2), "runs.jsonl")
    assert table.columns["feedback.correctness"].tolist() == [1, 1]
    assert (propose(table).confidence, propose(table).correct) == ("outputs.confidence", "feedback.correctness")
    twice = read_table(lines([{"p": 0.7, "feedback": [feedback[0], feedback[0]]}] * 2), "runs.jsonl")
    assert "feedback" in twice.names
