"""Golden answers, recomputed subject by subject and compared: what is shown does not move by accident.

Record an intended change as described in ``make.py``.
"""

from functools import cache

import pytest

from tests.golden_answers import make, told
from tests.golden_bits.make import accepted, compare, fingerprint, read


@cache
def stored():
    """Return whether lines are of this machine, and all of them: read once for all subjects."""
    head, kept = read(make.FILE)
    return head == fingerprint(), kept


@pytest.mark.parametrize("subject", make.SUBJECTS)
def test_no_answer_has_moved(subject):
    exact, kept = stored()
    kept = {key: value for key, value in kept.items() if key.startswith(f"{subject}/")}
    report = compare(kept, make.computed([subject]), exact=exact, close=make.ANSWERS.close)
    moved = sorted({"/".join(key.split("/")[:2]) for key, _, _ in report.moved})
    command = f"python -m {make.ANSWERS.module} --only {subject} --accept{{}} {' '.join(moved[:9])}"
    intended = f"\nIf all of it is intended: {command.format('')}\nIf only words are: {command.format('-words')}"
    assert report.ok, report.text + intended


def test_a_number_and_a_word_of_a_sentence_are_two_lines():
    (old, new, other) = (
        dict(told.told("a/b", {"note": text, "p": 0.1})) for text in ("3 of 7 bins", "2 of 7 bins", "3 of 7 marks")
    )
    assert compare(old, new, exact=True).moved == [("a/b/note/numbers", "3 7", "2 7")]
    assert compare(old, other, exact=True).moved == [("a/b/note/words", '"# of # bins"', '"# of # marks"')]


def test_words_are_accepted_without_numbers():
    old, new = (dict(told.sentence("a/b", text)) for text in ("3 of 7 bins", "2 of 7 marks"))
    assert accepted(old, new, ["a"], end="/words") == {"a/b/numbers": "3 7", "a/b/words": '"# of # marks"'}


def test_long_lines_are_kept_whole_as_their_hash():
    values = [float(i) for i in range(100)]
    one, other = (dict(told.told("a", each))["a"] for each in (values, [*values[:50], 50.5, *values[51:]]))
    assert one != other
    assert one.split()[1:] == ["100", "0", "33", "66", "99"]


def test_hashes_and_arrays_of_files_are_lines_of_their_own():
    """Hashes differ where a last bit does, and their digits are neither numbers nor words."""
    written = {"state": [{"array": "AAAAAAAA8D8AAAAAAAAAQA==", "dtype": "float64", "shape": [2]}]}
    assert dict(told.told("a", written)) == {"a/state": "1 2"}
    assert dict(told.sentence("a", "3 rows of sha256:0a1b2c3d4e5f60718293")) == {
        "a/hashes": "sha256:0a1b2c3d4e5f60718293", "a/numbers": "3", "a/words": '"# rows of ~"',
    }  # fmt: skip
