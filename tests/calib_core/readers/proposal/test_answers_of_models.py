"""Files of language models: which column is the model's answer, and what its confidence is."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from calib_core import InputError, Predictions, read_predictions
from calib_core.readers import examine, propose, read_table

N = 200
RNG = np.random.default_rng(0)
CONFIDENCE = RNG.uniform(0.4, 1, N).round(3)
TRUTH = RNG.choice(list("ABCD"), N)
RIGHT = RNG.random(N) < CONFIDENCE
REPLY = np.where(RIGHT, TRUTH, np.roll(TRUTH, 1))


def read(columns: dict[str, object], name: str = "a.csv") -> Predictions:
    frame = pd.DataFrame(columns)
    data = frame.to_csv(index=False) if name.endswith("csv") else frame.to_json(orient="records", lines=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_predictions(data.encode(), name)


def as_meant(found: Predictions) -> bool:
    names = np.array(found.class_names)
    return bool((names[found.labels] == TRUTH).all() and (names[found.predicted] == REPLY).all())


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
@pytest.mark.parametrize(
    ("reply", "truth"),
    [("answer", truth) for truth in ("gold", "truth", "target", "reference", "expected", "label", "y_true",
                                     "ground_truth", "correct_answer")]
    + [(reply, truth) for reply in ("prediction", "response", "output", "model_answer", "completion")
       for truth in ("answer", "gold")],
)  # fmt: skip
def test_names_of_truths_and_answers_explain_each_other(reply: str, truth: str, name: str) -> None:
    for order in ((reply, truth), (truth, reply)):
        both = {reply: REPLY, truth: TRUTH}
        assert as_meant(read({**{each: both[each] for each in order}, "confidence": CONFIDENCE}, name)), order


def test_answers_and_truths_in_nested_records() -> None:
    lines = [
        {"output": {"answer": str(reply), "confidence": float(c)}, "expected": {"answer": str(truth)}}
        for reply, truth, c in zip(REPLY, TRUTH, CONFIDENCE, strict=True)
    ]
    found = read_predictions("\n".join(map(json.dumps, lines)).encode(), "a.jsonl")
    assert as_meant(found)
    assert any('"output.answer" is read as the model\'s answer' in note for note in found.notes)


def test_the_other_way_round_is_one_change_away() -> None:
    data = pd.DataFrame({"answer": TRUTH, "gold": REPLY, "confidence": CONFIDENCE}).to_csv(index=False).encode()
    table = read_table(data, "a.csv")
    (told,) = [each for each in examine(table, propose(table)) if each.code == "answers"]
    assert told.severity == "note"
    assert as_meant(read_predictions(data, "a.csv", **dict(told.change or {})))


def test_a_label_that_has_other_values_than_the_answers_is_asked_for() -> None:
    with pytest.raises(InputError, match='columns "answer", "label" could each be the label'):
        read({"answer": REPLY, "label": RIGHT.astype(int), "confidence": CONFIDENCE})


@pytest.mark.parametrize("name", ["logprob", "avg_logprob", "log_probability"])
@pytest.mark.parametrize(
    "answers", [REPLY, ["yes"] * N, [f"It is {i}." for i in range(N)]], ids=["names", "one", "text"]
)
def test_logarithms_next_to_marks_are_confidences(name: str, answers: object) -> None:
    found = read({"answer": answers, name: np.log(CONFIDENCE), "is_correct": RIGHT.astype(int)})
    assert found.kind == "confidence"
    np.testing.assert_allclose(found.confidence, CONFIDENCE, rtol=1e-12)
    assert (found.correct == RIGHT).all()
    assert any("is read as log probabilities" in note for note in found.notes)


def test_a_risk_next_to_an_outcome_called_answer_stays_a_risk() -> None:
    yes = np.where(RIGHT, "yes", "no")
    found = read({"answer": yes, "p_yes": CONFIDENCE, "is_correct": (CONFIDENCE > 0.5) == RIGHT})
    assert (found.kind, found.class_names) == ("full", ("no", "yes"))
