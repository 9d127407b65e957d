"""Find the event of two classes by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from calib_core.text import called

_YES_WORDS = (
    "1 +1 true yes y t + positive pos ja oui si sì sí sim da tak wahr vrai vero verdadero verdadeiro",
    "waar positiv positif positivo positiva positief evet да 是 はい ano áno igen kyllä так ναι نعم כן 예 네 ya có بله",
    "陽性 阳性 有 あり 該当 양성",
)
_NO_WORDS = (
    "0 -1 false no n f - negative neg nein non nee não nao nie falsch faux falso onwaar negativ négatif negatif",
    "negativo negativa negatief hayır нет 否 いいえ nej ne nie nem ei ні не όχι لا לא 아니오 아니요 tidak không خیر",
    "陰性 阴性 无 無 なし 非該当 음성",
)
POSITIVE, NEGATIVE = frozenset(" ".join(_YES_WORDS).split()), frozenset(" ".join(_NO_WORDS).split())
"""Names of the two classes in yes/no codings."""

_DEATH_WORDS = (
    "die died dies dead death deaths deceased mortality gestorben verstorben tod tot mort décès deces décédé",
    "decede muerte muerto fallecido fallecida deceduto morto overleden óbito obito faleceu",
)
_SURVIVAL_WORDS = (
    "survive survived survives surviving survivor survival alive living überlebt ueberlebt überleben lebt lebend",
    "survie vivant vivo viva sopravvissuto levend overleefd sobreviveu",
)
_HAPPENED_WORDS = (
    "event events case cases disease diseased sick ill malignant malignancy cancer tumor tumour relapse relapsed",
    "recurrence recurred readmitted readmission fraud fraudulent spam phishing default defaulted delinquent",
    "unpaid bad churn churned churner click clicked bought purchased converted abnormal anomaly anomalous toxic",
    "chargeback chargebacks scam delinquency bankruptcy bankrupt arrears lapsed hallucination hallucinated jailbreak",
    "attack failure failed defective present infected infection sepsis stroke unsafe positive pos positiv positif",
    "positivo positiva positief krank betrug betrügerisch ausfall ausgefallen kündigung gekündigt gekuendigt",
    "bösartig boesartig malade fraude frauduleux défaut résilié resilie maligne malin enfermo",
    "enferma moroso maligno maligna malato malata frode insolvente ziek kwaadaardig opgezegd wanbetaler doente",
    "inadimplente",
)
_ABSENT_WORDS = (
    "control controls healthy benign normal absent none legit legitimate genuine ham good paid repaid stay stays",
    "stayed retained safe okay ok nonevent noevent negative neg negativ négatif negatif negativo negativa",
    "negatief gesund gutartig echt bezahlt geblieben bleibt sain saine légitime legitime payé paye resté bénin",
    "benin bénigne benigne sano sana legítimo legitimo pagado pagato pagó benigno benigna gezond goedaardig",
    "betaald gebleven saudável saudavel pago",
)
_HAPPENED = frozenset(" ".join((*_HAPPENED_WORDS, *_DEATH_WORDS)).split())
_ABSENT = frozenset(" ".join((*_ABSENT_WORDS, *_SURVIVAL_WORDS)).split())
_NEGATION_WORDS = (
    "no not non never without un kein keine keinen nicht ohne pas sans sin senza sem geen niet zonder não nao",
)
NEGATIONS = frozenset(" ".join(_NEGATION_WORDS).split())
"""Negations at the start of a name."""
_GLUED = ("non", "not", "no", "un")
_FREE = frozenset({"free", "frei", "vrij"})


def words_of(name: str) -> list[str]:
    """Words of a name in lower case, in order.

    >>> words_of("Died within_30 days"), words_of("pSurvived")
    (['died', 'within', '30', 'days'], ['p', 'survived'])
    """
    return re.findall(r"[^\W_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())


def side_of(name: str) -> int:
    """Return 1 if a class is named like an event, -1 if like its absence, 0 if the name does not decide.

    Whole names are compared with codes (yes, 0), and parts of names with lists in several languages. A negation
    reverses the side.

    >>> side_of("fraud"), side_of("no fraud"), side_of("disease-free"), side_of("not survived"), side_of("cat")
    (1, -1, -1, 1, 0)
    """
    whole = " ".join(name.casefold().split())
    if whole in POSITIVE or whole in NEGATIVE:
        return 1 if whole in POSITIVE else -1
    words = words_of(name)
    sides = {_side_of_word(word) for word in words} - {0}
    side = sides.pop() if len(sides) == 1 else 0
    return -side if denies(name) else side


def _side_of_word(word: str) -> int:
    if word in _HAPPENED or word in _ABSENT:
        return 1 if word in _HAPPENED else -1
    rest = next((word.removeprefix(each) for each in _GLUED if word.startswith(each)), "")
    return (rest in _ABSENT) - (rest in _HAPPENED)


def denies(name: str) -> bool:
    """True if a name denies something, such as "no event" or "disease-free".

    >>> denies("no event"), denies("No"), denies("event")
    (True, False, False)
    """
    words = words_of(name)
    return len(words) > 1 and (words[0] in NEGATIONS or words[-1] in _FREE)


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
    values = [name.strip().lstrip("+-") for name in names]
    if values[0].isdigit() and values[1].isdigit():
        return int(int(names[1]) > int(names[0]))
    first, second = (side_of(name) or -denies(name) for name in names)
    return int(second >= first)


def names_decide(names: Sequence[str]) -> bool:
    """True if the names of two classes, rather than their order, decide which is the event.

    >>> names_decide(["no", "yes"]), names_decide(["cat", "dog"]), names_decide(["1", "2"])
    (True, False, False)
    """
    first, second = (side_of(name) or -denies(name) for name in names)
    numbers = all(name.strip().lstrip("+-").isdigit() for name in names)
    return first == -second != 0 if numbers else first != second


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
