"""Compare a message with the values that it must contain, rather than with its whole wording."""

from __future__ import annotations

import re


def matches(message: str, pattern: str) -> bool:
    """True if a message equals a pattern in which ``*`` stands for any text.

    >>> matches("a.csv, line 2 has 5 fields, but the header has 3", "a.csv, line 2 *5 fields*3*")
    True
    >>> matches("a.csv, line 3 has 5 fields", "a.csv, line 2*"), matches("3 rows", "3 row")
    (False, False)
    """
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), message, re.DOTALL) is not None


def where_measured(about: str) -> str:
    """Return where an error is measured, from what its interval is about: kinds in the same cells are listed once.

    >>> where_measured("the largest error, averaged over classes, in these bins, given these predictions")
    'in the bins of the raw value'
    """
    place = re.sub("^the .*error,?( averaged over classes,)? (?=in |over )|, given .*", "", about)
    return place.replace("in these bins", "in the bins of the raw value")


def in_sentences(place: str) -> str:
    """Return a place with classes that share cells as sentences, as the notes below a table have it.

    >>> in_sentences("over 2 groups, classes of few rows pooled, or over all classes pooled if that is larger")[:64]
    'over 2 groups. Classes with few rows share a group. If the error'
    """
    place = place.replace(", classes of few rows pooled", ". Classes with few rows share a group")
    larger = "If the error over all classes together (the confidence error) is larger, the interval is for that error"
    place = place.replace(", or over all classes pooled if that is larger", f". {larger}")
    own = r", or (the .+? in its own bins) if that is larger"
    return re.sub(own, r". If \1 is larger, the interval is for that error", place)
