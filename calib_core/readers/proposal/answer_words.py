"""Words for outcomes and confidences: yes and no, correct and wrong, likely and certain."""

from __future__ import annotations

import re
from collections.abc import Sequence

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

_TRUE_WORDS = "1 true yes t y correct right ja oui si sí sì sim tak wahr richtig korrekt"
_FALSE_WORDS = "0 false no f n wrong incorrect nein non nee não nie falsch"
TRUE, FALSE = frozenset(_TRUE_WORDS.split()), frozenset(_FALSE_WORDS.split())
_RIGHT, _WRONG = TRUE | {"c"}, FALSE | {"i"}
_WORD = re.compile(r"\w+")


def judged(value: object) -> int | None:
    """Return a judge's verdict: 1 right, 0 wrong, None if there is none.

    The value is a boolean, the number 0 or 1, or text. Text is one word, or several of which the first is a verdict, as
    in "No, it is 5". Otherwise the only yes or no in it decides, or else a first word such as "incorrect".

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
"""Minimum number of marked rows for a column to be read as human marks."""
_LEFT = 0.2
"""Minimum share of rows without a mark in such a column."""
_FIRST = 1000
"""Number of rows that are checked before all others."""


def marks_some(column: Array) -> bool:
    """True if a column marks some rows right and others wrong, and leaves at least a fifth unmarked.

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
    """Return the column's values as readers represent them: numbers with NaN, or text with empty strings."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return np.asarray(column)
    return np.asarray(column.astype(object).where(column.notna(), "").map(str), dtype=object)


def _words(column: Array) -> set[str]:
    return {str(value).strip().casefold() for value in pd.unique(label_texts(column))}


def _tells(right: Bools, wrong: Bools) -> bool:
    return bool((right | wrong).all() and len(right) >= FEWEST_MARKS and right.any() and wrong.any())


def verdicts(table: Table, name: str) -> Array:
    """Convert a column of verdicts to numbers, (n,): 1 right, 0 wrong, degrees between unchanged, NaN if missing.

    Verdicts are numbers, or words such as yes and no, true and false, correct and incorrect, C and I. InputError names
    the first other value.

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
            f"{table.name}, column {quoted(name)}, {table.place(row)}: {quoted(column[row])} is not a verdict; "
            f"{affected(int(wrong.sum()), len(codes))}: write 1 for right answers, 0 for wrong ones, and nothing for "
            "unmarked ones"
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
"""Kent 1964: midpoints of his ranges for these words."""
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
"""Mastrandrea et al. 2010: Table 1 with its note, the ranges of these words for authors of the IPCC."""
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
"""Default probabilities of phrases.

From "certain" to "impossible": Kent 1964. From "virtually certain" to "exceptionally unlikely": the ranges in
Mastrandrea et al. 2010, which overlap; using their midpoints is a convention of this library. So are the midpoints of
five equal parts for "very low" to "very high", and the synonyms. Neither source is about language models: users should
check what a model means by a phrase, ideally by its accuracy.
"""
SOURCES = (
    "Defaults: “almost certain”, “probable” and similar words have the values of Kent (1964). “Very likely”, "
    "“unlikely” and similar words have the midpoints of the IPCC's ranges (Mastrandrea et al. 2010). “Very low” to "
    "“very high” are midpoints of five equal parts, by convention. People differ widely in what they mean, so choose "
    "your own values."
)


MOST_STEPS = 10
"""Highest step of a scale that is read as ratings rather than percentages."""


def phrase_key(text: object) -> str:
    """Normalize a phrase: lower case, single spaces, no hyphens, no signs at its end.

    >>> phrase_key(" Very-likely. ")
    'very likely'
    """
    return plain(str(text).replace("-", " ").replace("_", " ")).strip(" .!")


def stands_for(reading: Reading) -> dict[str, float]:
    """Return the probability of each phrase: the defaults, with the changes of the reading.

    >>> stands_for(Reading("confidence", "words", confidence="c", correct="z", words=("Likely=0.7",)))["likely"]
    0.7
    """
    pairs = (entry.rpartition("=") for entry in reading.words)
    return PHRASES | {phrase_key(phrase): float(number) for phrase, _, number in pairs}


def phrases(column: Array) -> pd.Series:
    """Return the phrases of a column with their counts, most frequent first; empty ones left out.

    >>> phrases(np.array(["Likely", "likely", ""], dtype=object)).to_dict()
    {'likely': 2}
    """
    counts = pd.Series(label_texts(column), dtype=object).map(phrase_key).value_counts()
    return counts[counts.index != ""]


def in_words(column: Array) -> bool:
    """True if most distinct values of a column are known phrases.

    >>> in_words(np.array(["likely", "almost certain", "dunno"], dtype=object)), in_words(np.array(["a", "b"], object))
    (True, False)
    """
    if column.dtype != object:
        return False
    different = {phrase_key(text) for text in pd.unique(column)} - {""}
    return bool(different) and 2 * len(different & PHRASES.keys()) >= len(different)


def ratings(column: Array) -> tuple[int, ...]:
    """Return the steps of a scale such as 1 to 5 if a column has only its whole numbers, up to 10; otherwise empty.

    >>> ratings(np.array([5, 1, 4])), ratings(np.array([0, 10, 7]))[-1], ratings(np.array([70, 1])), ratings(np.ones(2))
    ((1, 2, 3, 4, 5), 10, (), ())
    """
    values = numbers(column)
    values = values[~np.isnan(values)]
    if not len(values) or (values != np.floor(values)).any() or values.min() < 0 or not 2 < values.max() <= MOST_STEPS:
        return ()
    return tuple(range(min(1, int(values.min())), int(values.max()) + 1))


def shares_of(steps: Sequence[int]) -> tuple[str, ...]:
    """Return entries of Reading.words for the steps: midpoints of equal parts of [0, 1], or tenths for 0 to 10.

    >>> shares_of((1, 2)), shares_of(range(11))[:2]
    (('1=0.25', '2=0.75'), ('0=0', '1=0.1'))
    """
    if len(steps) == MOST_STEPS + 1:
        return tuple(f"{step}={step / MOST_STEPS:g}" for step in steps)
    return tuple(f"{step}={(i + 0.5) / len(steps):.4g}" for i, step in enumerate(steps))


def confidences(table: Table, reading: Reading) -> Array:
    """Return the confidences as numbers, (n, 1), phrases converted; InputError for unknown phrases."""
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
            f"{table.name}, column {quoted(name)}, {table.place(row)}: no number is known for {listed(unknown, 5)}; "
            f"{affected(int(wrong.sum()), len(codes))}. Choose a number from 0 to 1 for each phrase, such as "
            f"{shown(next(iter(unknown)))} = 0.8."
        )
    meant = np.array([known.get(key, np.nan) for key in keys], dtype=np.float64)
    return np.asarray(meant[codes][:, None])
