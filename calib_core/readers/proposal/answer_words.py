"""Words for outcomes and confidences: yes and no, correct and wrong, likely and certain."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from calib_core._base.arrays import Bools
from calib_core._base.pandas_input import Column
from calib_core.predictions.predictions import InputError
from calib_core.readers.messages import affected, listed, quoted, shown
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.reading import Reading
from calib_core.readers.table import Array, Table
from calib_core.readers.text_encoding import MISSING_TEXT, numbers, numbers_as_written

TRUE = frozenset({"1", "true", "yes", "t", "y", "correct"})
FALSE = frozenset({"0", "false", "no", "f", "n", "wrong", "incorrect"})
_RIGHT, _WRONG = TRUE | {"c", "right"}, FALSE | {"i"}
_WORD = re.compile(r"\w+")


def judged(value: Any) -> int | None:
    """A judge's verdict: 1 right, 0 wrong, None where there is none.

    A truth value, the number 0 or 1, or a text: one word, or several of which the first says yes or no, as in "No, it
    is 5"; else the one of yes and no that is in it, else a first word such as "incorrect".

    >>> judged("**No.**"), judged("Yes, it matches"), judged(1), judged("The answer is yes"), judged("yes | no")
    (0, 1, 1, 1, None)
    """
    if isinstance(value, int | float):
        return int(value) if value in (0, 1) else None
    words = [word.casefold() for word in _WORD.findall(value)] if isinstance(value, str) else []
    inside = {"yes", "no"} & set(words)
    if len(inside) == 2 and len(words) > 3:
        inside &= {words[0]}
    if len(inside) != 1:
        known = words[:1] if len(words) == 1 or (not inside and words and len(words[0]) > 1) else []
        return next((int(word in _RIGHT) for word in known if word in _RIGHT | _WRONG), None)
    return int("yes" in inside)


FEWEST_MARKS = 10
"""Rows that people marked below which a column is not taken for their marks."""
_LEFT = 0.2
"""The least share of rows that such a column leaves empty."""
_FIRST = 1000
"""Rows that are looked at before all are."""


def marks_some(column: Array) -> bool:
    """Does a column say right of some rows, wrong of others, and nothing of a fifth of all or more?

    >>> marks_some(np.array(["yes", "no"] * 5 + [""] * 5, dtype=object)), marks_some(np.array(["yes", "no"] * 5))
    (True, False)
    """
    if len(column) == 0 or column.dtype.kind in "biu":
        return False
    if column.dtype.kind == "f":
        known = column[~np.isnan(column)]
        return len(known) <= (1 - _LEFT) * len(column) and _tells(known == 1, known == 0)
    if len(column) > _FIRST and not _words(column[:_FIRST]) <= _RIGHT | _WRONG | MISSING_TEXT:
        return False
    codes, values = pd.factorize(label_texts(column))
    words = np.array([str(value).strip().casefold() for value in values], dtype=object)
    missing = np.array([word in MISSING_TEXT for word in words], dtype=bool)[codes]
    if missing.mean() < _LEFT:
        return False
    right, wrong = (np.array([word in known for word in words], dtype=bool)[codes] for known in (_RIGHT, _WRONG))
    return _tells(right[~missing], wrong[~missing])


def as_read(column: Column) -> Array:
    """The column's values as readers have them: numbers with NaN, or texts with nothing where there is none."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return np.asarray(column)
    return np.asarray(column.astype(object).where(column.notna(), "").map(str), dtype=object)


def _words(column: Array) -> set[str]:
    return {str(value).strip().casefold() for value in pd.unique(label_texts(column))}


def _tells(right: Bools, wrong: Bools) -> bool:
    return bool((right | wrong).all() and len(right) >= FEWEST_MARKS and right.any() and wrong.any())


def verdicts(table: Table, name: str) -> Array:
    """A column of verdicts as numbers, (n,): 1 right, 0 wrong, degrees between as they are, NaN where there is none.

    Verdicts are numbers, or words such as yes and no, true and false, correct and incorrect, C and I. InputError names
    the first value that is neither.

    >>> t = Table("a.csv", "csv", {"judge": np.array(["yes", "No", "", "0.5"], dtype=object)})
    >>> verdicts(t, "judge").tolist()
    [1.0, 0.0, nan, 0.5]
    """
    column = table.column(name)
    if column.dtype != object:
        return column.astype(np.float64)
    codes, values = pd.factorize(label_texts(column))
    words = [str(value).strip().casefold() for value in values]
    degrees = numbers_as_written(np.array(words, dtype=object)) if words else np.zeros(0)
    known = np.array([1.0 if word in _RIGHT else 0.0 if word in _WRONG else np.nan for word in words])
    found = np.where(np.isnan(known), degrees, known)
    unclear = [i for i, word in enumerate(words) if np.isnan(found[i]) and word not in MISSING_TEXT]
    if unclear:
        wrong = np.isin(codes, unclear)
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{table.name}, column {quoted(name)}, {table.place(row)}: {quoted(column[row])} is no verdict; "
            f"{affected(int(wrong.sum()), len(codes))}: write 1 where the answer is right, 0 where it is wrong, and "
            "nothing where nobody looked"
        )
    return np.asarray(found[codes])


_KENT = {
    "certain": 1.0,
    "almost certain": 0.93,
    "probable": 0.75,
    "chances about even": 0.5,
    "probably not": 0.3,
    "almost certainly not": 0.07,
    "impossible": 0.0,
}
"""Kent 1964: the middles of the ranges that he gives these words."""
_RANGES = {
    "virtually certain": (0.99, 1.0),
    "extremely likely": (0.95, 1.0),
    "very likely": (0.9, 1.0),
    "likely": (0.66, 1.0),
    "more likely than not": (0.5, 1.0),
    "about as likely as not": (0.33, 0.66),
    "unlikely": (0.0, 0.33),
    "very unlikely": (0.0, 0.1),
    "extremely unlikely": (0.0, 0.05),
    "exceptionally unlikely": (0.0, 0.01),
}
"""Mastrandrea et al. 2010: Table 1 with its note, the ranges that authors of the IPCC give these words."""
_FIFTHS = ("very low", "low", "medium", "high", "very high")
_ALIKE = {
    "almost certainly": "almost certain",
    "certainly": "certain",
    "probably": "probable",
    "about even": "chances about even",
    "moderate": "medium",
    "highly likely": "very likely",
    "highly unlikely": "very unlikely",
}

_OWN = {
    **_KENT,
    **{phrase: round((low + high) / 2, 4) for phrase, (low, high) in _RANGES.items()},
    **{phrase: round(0.1 + 0.2 * i, 1) for i, phrase in enumerate(_FIFTHS)},
}
PHRASES: dict[str, float] = {**_OWN, **{other: _OWN[phrase] for other, phrase in _ALIKE.items()}}
"""What phrases stand for where nothing else is chosen.

From "certain" to "impossible": Kent 1964. From "virtually certain" to "exceptionally unlikely": the range in
Mastrandrea et al. 2010, which lets ranges overlap; that its middle stands for it is a convention of this library. So
are "very low" to "very high", the middles of five equal parts, and phrases that count as another. Neither source is
about language models: what one means by a word is for its user to check, best by how often it is right where it says
so.
"""
SOURCES = (
    "By itself “almost certain”, “probable” and the like stand for what Kent (1964) gives them; “very likely”, "
    "“unlikely” and the like for the middle of the range in Mastrandrea et al. (2010) for the IPCC; “very low” to "
    "“very high” for the middles of five equal parts, a convention. People differ widely in what they mean: choose "
    "your own."
)


MOST_STEPS = 10
"""The highest step of a scale that is taken for ratings, and not for percentages."""


def phrase_key(text: object) -> str:
    """A phrase without what makes no difference: capitals, spaces, hyphens, and signs at its end.

    >>> phrase_key(" Very-likely. ")
    'very likely'
    """
    return plain(str(text).replace("-", " ").replace("_", " ")).strip(" .!")


def stands_for(reading: Reading) -> dict[str, float]:
    """What each phrase stands for: the defaults, and what the reading changes or adds.

    >>> stands_for(Reading("confidence", "words", confidence="c", correct="z", words=("Likely=0.7",)))["likely"]
    0.7
    """
    pairs = (entry.rpartition("=") for entry in reading.words)
    return PHRASES | {phrase_key(phrase): float(number) for phrase, _, number in pairs}


def phrases(column: Array) -> pd.Series:
    """The phrases of a column and how many rows say each, most frequent first; empty ones left out.

    >>> phrases(np.array(["Likely", "likely", ""], dtype=object)).to_dict()
    {'likely': 2}
    """
    counts = pd.Series(label_texts(column), dtype=object).map(phrase_key).value_counts()
    return counts[counts.index != ""]


def in_words(column: Array) -> bool:
    """Whether most of a column's different values are phrases of the table.

    >>> in_words(np.array(["likely", "almost certain", "dunno"], dtype=object)), in_words(np.array(["a", "b"], object))
    (True, False)
    """
    if column.dtype != object:
        return False
    different = {phrase_key(text) for text in pd.unique(column)} - {""}
    return bool(different) and 2 * len(different & PHRASES.keys()) >= len(different)


def ratings(column: Array) -> tuple[int, ...]:
    """The steps of a scale such as 1 to 5 whose whole numbers a column holds, up to 10; empty where it holds others.

    >>> ratings(np.array([5, 1, 4])), ratings(np.array([0, 10, 7]))[-1], ratings(np.array([70, 1])), ratings(np.ones(2))
    ((1, 2, 3, 4, 5), 10, (), ())
    """
    values = numbers(column)
    values = values[~np.isnan(values)]
    if not len(values) or (values != np.floor(values)).any() or values.min() < 0 or not 2 < values.max() <= MOST_STEPS:
        return ()
    return tuple(range(min(1, int(values.min())), int(values.max()) + 1))


def shares_of(steps: Sequence[int]) -> tuple[str, ...]:
    """Entries of Reading.words that let each step stand for the middle of its part of [0, 1], of 0 to 10 for tenths.

    >>> shares_of((1, 2)), shares_of(range(11))[:2]
    (('1=0.25', '2=0.75'), ('0=0', '1=0.1'))
    """
    if len(steps) == MOST_STEPS + 1:
        return tuple(f"{step}={step / MOST_STEPS:g}" for step in steps)
    return tuple(f"{step}={(i + 0.5) / len(steps):.4g}" for i, step in enumerate(steps))


def confidences(table: Table, reading: Reading) -> Array:
    """The confidence column as numbers, (n, 1), words by their table; InputError naming words that are not in it."""
    name = str(reading.confidence)
    if reading.kind != "words":
        return table.matrix((name,))
    column = label_texts(table.column(name))
    codes, different = pd.factorize(column)
    keys = [phrase_key(text) for text in different]
    known = stands_for(reading)
    unclear = [i for i, key in enumerate(keys) if key and key not in known]
    if unclear:
        wrong = np.isin(codes, unclear)
        row, unknown = int(np.flatnonzero(wrong)[0]), dict.fromkeys(keys[i] for i in unclear)
        raise InputError(
            f"{table.name}, column {quoted(name)}, {table.place(row)}: nothing says what {listed(unknown, 5)} "
            f"stand{'s' if len(unknown) == 1 else ''} for; {affected(int(wrong.sum()), len(codes))}. Choose a number "
            f"from 0 to 1 for each phrase, such as {shown(next(iter(unknown)))} = 0.8."
        )
    meant = np.array([known.get(key, np.nan) for key in keys], dtype=np.float64)
    return np.asarray(meant[codes][:, None])
