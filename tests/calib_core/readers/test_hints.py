"""Values with a special meaning get a hint about that meaning."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import predictions, propose, read_table

HINTS = {
    "-1 for no answer": ("confidence,correct\n.7,1\n-1,0\n.6,1", "-1 means no answer, leave it empty"),
    "ratings": ("confidence,correct\n5,1\n1,0\n3,1", 'ratings up to 5, choose kind "words" and words "1=0.1"'),
    "-100": (
        "p_a,p_b,label\n.7,.3,0\n.2,.8,-100\n.4,.6,1",
        "label -100 is not among the classes .* It marks rows that training",
    ),
}


@pytest.mark.parametrize("what", HINTS)
def test_a_sentence_says_what_a_value_may_stand_for(what: str) -> None:
    content, hint = HINTS[what]
    table = read_table(content.encode(), "a.csv")
    with pytest.raises(InputError, match=hint):
        predictions(table, propose(table))


@pytest.mark.parametrize("nothing", ["N/A", "nan", "", "-"])
def test_answers_that_nobody_judged_are_missing_in_all_spellings(nothing: str) -> None:
    table = read_table(f"confidence,correct\n.7,yes\n.4,{nothing}\n.6,no".encode(), "a.csv")
    with pytest.raises(InputError, match="the value is missing; 1 of 3 rows affected"):
        predictions(table, propose(table))
    found = predictions(table, propose(table, missing="exclude"))
    assert (found.confidence.tolist(), found.correct.tolist()) == ([0.7, 0.6], [True, False])


def test_probabilities_written_as_texts_are_numbers() -> None:
    rows = [{"probs": ["0.7", "0.3"], "label": 0}, {"probs": ["0.20", "0.80"], "label": 1}]
    table = read_table("\n".join(map(json.dumps, rows)).encode(), "a.jsonl")
    np.testing.assert_allclose(predictions(table, propose(table)).probs, [[0.7, 0.3], [0.2, 0.8]])
    counted = read_table(json.dumps([{"choices": ["1", "2"], "p": 0.5}]).encode(), "a.json")
    assert not counted.matrices
