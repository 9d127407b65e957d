"""Several samples of one question: the share of the most frequent answer, against counting, and refusals."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_core.predictions.predictions import InputError
from calib_core.readers import Reading, examine, predictions, propose, read_table, split_rows
from tests.support.sentences import matches

FILE = b"""question,model,answer,truth,seed,split
q1,a,Paris,Paris,1,fit
q1,a,paris ,Paris,2,fit
q1,a,Rome,Paris,3,fit
q2,a,7,8,1,test
q2,a,8,8,2,test
q1,b,Rome,Paris,1,test
"""


def read(content: bytes, **chosen: object) -> tuple:  # type: ignore[type-arg]
    table = read_table(content, "m.csv")
    return table, propose(table, layout="samples", **chosen)


def test_the_share_of_the_most_frequent_answer_is_the_confidence() -> None:
    table, reading = read(FILE, question=("question", "model"))
    p = predictions(table, reading)
    assert p.kind == "confidence"
    assert p.confidence.tolist() == [2 / 3, 0.5, 1.0]
    # Of 7 and 8, once each, the alphabetically first counts, and is wrong.
    assert p.correct.tolist() == [True, False, False]
    assert p.metadata is not None
    assert p.metadata["question"].tolist() == ["q1", "q2", "q1"]
    assert p.metadata["most frequent answer"].tolist() == ["paris", "7", "rome"]
    assert p.metadata["samples"].tolist() == [3, 2, 1]
    assert "seed" not in p.metadata
    assert Reading.from_json(reading.to_json()) == reading
    assert [part.tolist() for part in split_rows(table, reading)] == [[0], [1, 2]]


def test_what_was_done_is_found() -> None:
    table, reading = read(FILE, question=("question", "model"))
    (note,) = [f.message for f in examine(table, reading) if "samples of" in f.message]
    assert matches(note, '6 samples of 3 questions*In 1 of them*: "seed".')


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("ABC")), min_size=1, max_size=40))
def test_every_question_is_counted(samples: list[tuple[int, str]]) -> None:
    content = "question,answer,truth\n" + "".join(f"{q},{a},B\n" for q, a in samples)
    p = predictions(*read(content.encode()))
    for i, q in enumerate(dict.fromkeys(q for q, _ in samples)):
        answers = Counter(a for asked, a in samples if asked == q)
        best = min(answers, key=lambda a: (-answers[a], a))
        assert p.confidence[i] == pytest.approx(answers[best] / sum(answers.values()))
        assert p.correct[i] == (best == "B")


@given(st.randoms(use_true_random=False))
def test_the_order_of_samples_does_not_matter(random: object) -> None:
    head, *lines = FILE.decode().strip().split("\n")
    random.shuffle(lines)  # type: ignore[attr-defined]
    p = predictions(*read("\n".join([head, *lines]).encode(), question=("question", "model")))
    assert p.metadata is not None
    found = zip(p.metadata["question"], p.metadata["model"], p.confidence.tolist(), p.correct, strict=True)
    assert sorted(found) == [("q1", "a", 2 / 3, True), ("q1", "b", 1.0, False), ("q2", "a", 0.5, False)]


def test_samples_that_do_not_agree_on_the_question_are_refused_and_gaps_are_gaps() -> None:
    with pytest.raises(InputError, match=r'column "split", .*line 7 .* "test", but another sample of question "q1"'):
        predictions(*read(FILE, question="question"))
    wrong = FILE.replace(b"q2,a,8,8,2", b"q2,a,8,9,2")
    table, reading = read(wrong, question=("question", "model"))
    with pytest.raises(InputError, match=r'column "truth", line 6 .* another sample of question "q2, a" has "8"'):
        predictions(table, reading)
    assert [f.severity for f in examine(table, reading)] == ["problem"]
    table, reading = read(FILE.replace(b"q1,b,Rome", b"q1,b,"), question=("question", "model"))
    with pytest.raises(InputError, match=r'column "answer", line 7 .* the value is missing'):
        predictions(table, reading)
    assert predictions(table, reading.replace(missing="exclude")).n_rows == 2


def test_columns_are_found_or_asked_for() -> None:
    _, reading = read(b"prompt_id,response,label\n1,A,A\n")
    assert (reading.question, reading.predicted, reading.label) == (("prompt_id",), "response", ("label",))
    with pytest.raises(InputError, match="no single column is recognized as question; give question="):
        read(b"a,answer,truth\n1,A,A\n")
    # By default, a file of answers is no file of samples.
    plain = read_table(b"question,confidence,predicted,label\n1,0.5,A,A\n1,0.7,B,A\n", "m.csv")
    assert propose(plain).layout == "top-label"


def test_numbers_as_questions_and_answers() -> None:
    p = predictions(*read(b"qid,prediction,y\n1,3,3\n1,3,3\n2,4,3\n"))
    np.testing.assert_array_equal(p.confidence, [1.0, 1.0])
    assert p.correct.tolist() == [True, False]


def test_columns_called_like_what_is_counted_stay_beside_it() -> None:
    content = b"question,answer,truth,confidence,samples,correct\n1,A,A,0.3,9,no\n1,A,A,0.3,9,no\n2,B,A,0.4,8,yes\n"
    p = predictions(*read(content))
    assert p.metadata is not None
    assert p.confidence.tolist() == [1.0, 1.0]
    assert p.correct.tolist() == [True, False]
    assert p.metadata["confidence"].tolist() == [0.3, 0.4]
    assert p.metadata["correct"].tolist() == ["no", "yes"]
    assert p.metadata["samples"].tolist() == [9, 8]
    assert p.metadata["samples, counted"].tolist() == [2, 1]
