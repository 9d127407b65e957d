"""Reading: hashable, JSON and back, and nothing else accepted."""

from __future__ import annotations

import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import Reading

FULL = Reading(
    layout="wide",
    kind="logits",
    scores=("a", "b"),
    label=("y",),
    label_coding="names",
    split="part",
    weights="w",
    classes=("Ünï", 'q"uote'),
    missing="exclude",
    metadata=("site",),
)


def test_json_round_trip() -> None:
    assert Reading.from_json(FULL.to_json()) == FULL
    assert hash(Reading.from_json(FULL.to_json())) == hash(FULL)
    assert Reading(scores=("a",), label=("y",)).to_json() == '{"label":["y"],"scores":["a"]}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "the reading is not valid JSON; choose the columns again"),
        ("[1]", "the reading is not a JSON object; choose the columns again"),
        ('{"colour": 1}', 'there is no reading option "colour"; choose the columns again'),
        (
            '{"kind": "odds"}',
            'kind is "odds"; choose one of probabilities, logits, log-probabilities, percentages, words',
        ),
        (
            '{"kind": ["odds"]}',
            "kind is \"['odds']\"; choose one of probabilities, logits, log-probabilities, percentages, words",
        ),
        ('{"scores": [1]}', "scores must be a list of at most 4,096 names"),
        ('{"scores": 3}', "scores must be a list of names"),
        ('{"split": 3}', "split must be the name of a column, or none"),
        ('{"scores": ["a", "a"], "label": ["y"]}', 'score column "a" is chosen twice; choose one column per class'),
        ('{"classes": ["a", "a"]}', 'class "a" occurs twice; every class needs its own name'),
        ('{"scores": ["a"]}', 'layout "wide" needs a label column; choose one'),
        ('{"layout": "confidence", "confidence": "c"}', 'layout "confidence" needs a correct column; choose one'),
    ],
)
def test_refused(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        Reading.from_json(text)
    assert str(caught.value) == said


def test_replace_names_what_it_does_not_know() -> None:
    assert FULL.replace(kind="percentages").kind == "percentages"
    with pytest.raises(InputError, match='there is no reading option "colour"'):
        FULL.replace(colour="red")
