"""Find the event of two classes by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from calib_core.text import called

NEGATIVE = frozenset({"0", "-1", "false", "no", "negative", "neg", "n", "f", "-"})
POSITIVE = frozenset({"1", "+1", "true", "yes", "positive", "pos", "y", "t", "+"})
"""Names of the positive class in yes/no codings."""

_HAPPENED_WORDS = """
event events case cases died dead death deceased mortality disease diseased sick ill malignant cancer relapse recurrence
readmitted readmission fraud fraudulent spam default defaulted bad churn churned click clicked bought converted
abnormal toxic attack failure failed present positiv positif positivo vrai verdadero vero wahr ja oui si sì sí da tak
gestorben tot verstorben décédé decede muerto
"""
_ABSENT_WORDS = """
control controls survived survivor alive living healthy benign normal absent none legit legitimate genuine ham good paid
repaid stayed retained negativ négatif negatif negativo faux falsch falso nein non nie überlebt ueberlebt lebt vivant
vivo okay ok
"""
_HAPPENED = frozenset(_HAPPENED_WORDS.split())
_ABSENT = frozenset(_ABSENT_WORDS.split())
_NEGATION = re.compile(r"^(?:no|not|non|never|without|un|kein|keine|nicht|pas)[\s_\-.]+\w", re.IGNORECASE)


def event_of(names: Sequence[str]) -> int:
    """Return the index of the event among the names of two classes.

    The event is the class named like one (1, yes, true, positive, died, fraud, ...), if there is only one. Otherwise it
    is the class whose opposite is named like the absence of an event (0, no, survived, control, "no event", ...).
    Otherwise it is the larger of two numbers, else the second class.

    What can mislead: names outside these lists decide nothing, so the order of the classes does.

    >>> event_of(["no", "yes"]), event_of(["died", "survived"]), event_of(["cat", "dog"]), event_of(["2", "1"])
    (1, 0, 1, 0)
    >>> event_of(["fraud", "no fraud"])
    0
    """
    plain = [" ".join(name.casefold().split()) for name in names]
    negative = [name in NEGATIVE or name in _ABSENT or bool(_NEGATION.match(name)) for name in plain]
    positive = [(name in POSITIVE or name in _HAPPENED) and not no for name, no in zip(plain, negative, strict=True)]
    if plain[0].lstrip("+-").isdigit() and plain[1].lstrip("+-").isdigit():
        return int(int(plain[1]) > int(plain[0]))
    if positive[0] != positive[1]:
        return int(positive[1])
    if negative[0] != negative[1]:
        return int(negative[0])
    return 1


_CODES = frozenset({"0", "1", "true", "false", "yes", "no", "+1", "-1"})
_NO_NAME_WORDS = "label labels class target truth outcome y actual event y_true true_label ground_truth"
NO_NAME = frozenset(_NO_NAME_WORDS.split())
"""Names of columns that do not describe their content."""


def is_code(name: str) -> bool:
    """True if a class name is a code, which does not describe its content.

    >>> is_code("1"), is_code("died")
    (True, False)
    """
    return name.casefold() in _CODES


def event_title(name: str, column: str) -> str:
    """Title of an event: the name of the outcome column, if the classes are only codes.

    >>> event_title("1", "died"), event_title("0", "died"), event_title("died", "outcome"), event_title("1", "label")
    ('died', 'died = 0', 'died', '1')
    """
    if not is_code(name) or column.casefold() in ("", *NO_NAME):
        return name
    return column if name.casefold() in POSITIVE else f"{column} = {name}"


_DID_WORDS = """
died survived relapsed recovered responded progressed deteriorated churned defaulted converted clicked bought purchased
subscribed unsubscribed failed left quit resigned renewed reoffended recidivated
"""
_WAS_WORDS = """
readmitted admitted hospitalized hospitalised infected arrested rearrested hired fired accepted rejected approved denied
diagnosed injured delayed canceled cancelled returned treated intubated ventilated
"""
_DID = frozenset(_DID_WORDS.split())
"""Names of columns and classes that describe what somebody did."""
_WAS = frozenset(_WAS_WORDS.split())
"""Names of columns and classes that describe what was done to somebody."""


def event_phrase(name: str, column: str = "") -> str:
    """Describe what happened to the rows of an event, by its class and the outcome column, as the end of a sentence.

    >>> event_phrase("1", "died"), event_phrase("readmitted", "outcome"), event_phrase("positive"), event_phrase("1")
    ('died', 'were readmitted', 'were “positive”', 'were of class 1')
    >>> event_phrase("1", "sepsis")
    'had “sepsis” = 1'
    """
    word = event_title(name, column)
    if word.casefold() in _DID:
        return word.casefold()
    if word.casefold() in _WAS:
        return f"were {word.casefold()}"
    if word != name:
        return f"had {called(column)} = {name}"
    return f"were {'of ' if name.isdigit() else ''}{called(name)}"


class HasClasses(Protocol):
    """Predictions, or a summary of them: class names, the code of the event, and the column of the outcome."""

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Names of the classes; None if unknown."""

    @property
    def event(self) -> int | None:
        """Code of the event; None if there is none."""

    @property
    def outcome(self) -> str:
        """Column of the labels; empty if unknown."""


def title_of_event(predictions: HasClasses) -> str:
    """Title of the event of predictions, or of a summary of them; empty if there is none."""
    if predictions.event is None:
        return ""
    return titles_of_classes(predictions)[predictions.event]


def titles_of_classes(predictions: HasClasses) -> tuple[str, ...]:
    """Titles of the classes: two codes by the outcome's column (died, died = 0), others by their names."""
    names = tuple(predictions.class_names or ())
    return tuple(event_title(name, predictions.outcome) for name in names) if len(names) == 2 else names
