"""Confidence in words: readable texts, requested meanings, and readings that record the meaning of words."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import Reading, examine, predictions, propose, read_predictions, read_table
from calib_core.readers.proposal.answer_words import PHRASES, phrase_key, phrases, stands_for
from tests.support.sentences import matches

FILE = b"confidence,correct\nVery likely,1\nalmost-certain,1\nUnlikely.,0\nvery likely,0\n"


def test_phrases_are_read_by_the_table() -> None:
    with pytest.warns(UserWarning, match='"very likely" 95.0 %'):
        p = read_predictions(FILE, "m.csv")
    assert p.confidence.tolist() == [0.95, 0.93, 0.165, 0.95]
    assert p.correct.tolist() == [True, True, False, False]


def test_what_words_stand_for_is_chosen_in_the_reading() -> None:
    table = read_table(FILE, "m.csv")
    reading = propose(table, words=["Very likely=0.8", "almost certain=1"])
    assert reading.kind == "words"
    assert Reading.from_json(reading.to_json()) == reading
    assert predictions(table, reading).confidence.tolist() == [0.8, 1.0, 0.165, 0.8]
    # A number that contains an equals sign is no problem: the last sign counts.
    assert stands_for(reading.replace(words=("p = high=0.6",)))["p = high"] == 0.6


def test_words_that_are_not_in_the_table_are_named() -> None:
    content = FILE + b"quite sure,1\nQuite sure,0\nso-so,1\n"
    table = read_table(content, "m.csv")
    with pytest.raises(InputError) as why:
        predictions(table, propose(table))
    assert matches(
        str(why.value),
        'm.csv, column "confidence", line 6 (row 4): *"quite sure", "so so"; 3 of 7 rows affected*quite sure = 0.8.',
    )
    assert any(f.severity == "problem" and "quite sure" in f.message for f in examine(table, propose(table)))
    answered = predictions(table, propose(table, words=("quite sure=0.8", "so so=0.5")))
    assert answered.confidence.tolist()[-3:] == [0.8, 0.8, 0.5]


def test_assumed_numbers_are_a_warning_until_they_are_accepted() -> None:
    for words in ("high", "medium", "low"):
        file = f"confidence,correct\n{words},1\nhigh,0\nlikely,1\n".encode()
        table = read_table(file, "m.csv")
        (finding,) = [each for each in examine(table, propose(table)) if each.code == "words"]
        assert finding.severity == "warning"
        assert finding.open_to()
        assert not finding.open_to({"words"})
        accepted = propose(table, **dict(finding.change or {}))
        assert (
            predictions(table, accepted).confidence.tolist() == predictions(table, propose(table)).confidence.tolist()
        )
        (finding,) = [each for each in examine(table, accepted) if each.code == "words"]
        assert (finding.severity, finding.open_to()) == ("note", False)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read_predictions(file, "m.csv", words=accepted.words)
        partly = propose(table, words=("high=0.9",))
        (finding,) = [each for each in examine(table, partly) if each.code == "words"]
        assert finding.severity == "warning"


def test_the_doctor_says_what_words_stand_for_and_whence() -> None:
    table = read_table(FILE, "m.csv")
    (note,) = [f.message for f in examine(table, propose(table)) if f.code == "words"]
    assert '"very likely" 95.0 %, "almost certain" 93.0 %, "unlikely" 16.5 %' in note
    assert "Kent (1964)" in note
    assert "Mastrandrea et al. 2010" in note


def test_gaps_are_gaps_and_rows_with_predicted_classes_are_read() -> None:
    table = read_table(b"confidence,predicted,label\nlikely,A,A\n,B,A\ncertain,B,B\n", "m.csv")
    with pytest.raises(InputError, match=r'column "confidence", line 3 .* the value is missing'):
        predictions(table, propose(table))
    found = predictions(table, propose(table, missing="exclude"))
    assert found.kind == "top-label"
    assert found.confidence.tolist() == [0.83, 1.0]


def test_numbers_are_not_words_and_other_texts_neither() -> None:
    assert propose(read_table(b"confidence,correct\n0.9,1\n0.5,0\n", "m.csv")).kind == "probabilities"
    with pytest.raises(InputError, match='"blue" is not a number'):
        propose(read_table(b"confidence,correct\nblue,1\nred,0\n", "m.csv"))
    table = read_table(b"confidence,correct\nblue,1\nred,0\n", "m.csv")
    found = predictions(table, propose(table, kind="words", words=("blue=0.9", "red=0.2")))
    assert found.confidence.tolist() == [0.9, 0.2]


@pytest.mark.parametrize("wrong", ["likely", "likely=high", "=0.5", "likely=1.2", "likely=nan"])
def test_a_wrong_entry_is_refused(wrong: str) -> None:
    with pytest.raises(InputError, match="write a phrase and a number from 0 to 1"):
        Reading("confidence", "words", confidence="c", correct="z", words=(wrong,))


def test_words_are_of_one_confidence() -> None:
    with pytest.raises(InputError, match='choose layout "top-label" or "confidence"'):
        Reading(kind="words", scores=("a", "b"), label=("y",))


def test_the_table_is_in_order_and_in_its_own_spelling() -> None:
    assert all(phrase_key(phrase) == phrase and 0 <= value <= 1 for phrase, value in PHRASES.items())
    for rising in (
        ("impossible", "almost certainly not", "probably not", "chances about even", "probable", "almost certain"),
        ("exceptionally unlikely", "extremely unlikely", "very unlikely", "unlikely", "about as likely as not"),
        ("about as likely as not", "more likely than not", "likely", "very likely", "extremely likely"),
        ("very low", "low", "medium", "high", "very high"),
    ):
        assert (np.diff([PHRASES[phrase] for phrase in rising]) > 0).all()


def test_phrases_are_counted() -> None:
    assert phrases(np.array(["Likely", "high", "likely", ""], dtype=object)).to_dict() == {"likely": 2, "high": 1}
