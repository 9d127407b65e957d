"""Columns judged by their values: parts of a split, counts of rows, weights, and identifiers that repeat."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.event_names import words_of
from calib_core.predictions.row_groups import FEWEST_GROUPS
from calib_core.predictions.validation import MOST_COPIES, whole
from calib_core.readers.messages import quoted
from calib_core.readers.proposal.answer_words import FALSE, TRUE
from calib_core.readers.proposal.column_roles import role
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.table import Array, Table
from calib_core.readers.text_encoding import looks_numeric, numbers

FIT_WORDS = frozenset(
    {"cal", "calib", "calibrate", "calibration", "fit", "val", "valid", "validation", "dev", "fitting"}
)
TRAIN_WORDS = frozenset({"train", "training", "trn", "tr", "derivation", "development", "in-sample", "insample"})
_HELD_OUT = "holdout hold-out heldout held-out out-of-sample out-of-time oos oot"
TEST_WORDS = frozenset({"test", "testing", "tst", "eval", "evaluate", "evaluation", *_HELD_OUT.split()})
_TRAINED = (
    "learn learning in-time ins apprentissage entraînement entrainement entrenamiento treino addestramento lern lernen",
    "trainings lerndaten trainingsdaten trainingsmenge lernstichprobe trainingsstichprobe entwicklung обучение",
    "训练 训练集 訓練 学習",
)
_TESTED = (
    "assessment external score scoring prueba teste prova testdaten testmenge teststichprobe тест 测试 测试集 テスト",
)
_FITTED = "validierung kalibrierung validación validacion validazione validação 验证 验证集 検証"
_VALUES = {part: frozenset(" ".join(words).split()) for part, words in
           (("train", _TRAINED), ("test", _TESTED), ("fit", (_FITTED,)))}  # fmt: skip
"""Further values; in the name of a column, these words may mean anything."""
_OF_PARTS = (("fit", FIT_WORDS), ("train", TRAIN_WORDS), ("test", TEST_WORDS))
_MOST_PARTS = 8
"""A column with more values marks no parts."""


def part_of(value: str, column: str = "") -> str | None:
    """Return the part of a split that a value names: fit, train or test; None if it names none.

    In a column such as "is_train", yes and no are values.

    >>> part_of("Validation"), part_of("test_set"), part_of("1", "is_train"), part_of("0", "is_train"), part_of("1")
    ('fit', 'test', 'train', 'test', None)
    >>> part_of("out of time"), part_of("1", "in_sample"), part_of("Y", "used_for_fitting")
    ('test', 'train', 'fit')
    """
    word = re.sub(r"-(set|data|split|rows)$", "", re.sub(r"[\s_\-]+", "-", value.strip().casefold()))
    for part, words in _OF_PARTS:
        if word in words | _VALUES.get(part, frozenset()):
            return part
    whole = words_of(column)
    named = {part for part, words in _OF_PARTS if words & {*whole, "-".join(whole)}}
    if len(named) != 1 or word not in TRUE | FALSE:
        return None
    own = named.pop()
    return own if word in TRUE else "train" if own == "test" else "test"


def parts_in(table: Table, name: str) -> dict[str, str]:
    """Return the part that each value of a column names, by value; empty unless every value names one.

    >>> t = Table("a.csv", "csv", {"phase": np.array(["train", "test"], object), "sex": np.array(["f", "m"], object)})
    >>> parts_in(t, "phase"), parts_in(t, "sex")
    ({'test': 'test', 'train': 'train'}, {})
    """
    column = table.columns[name]
    if column.dtype.kind not in "Oiufb":
        return {}
    values = {str(value) for value in pd.unique(label_texts(column[:1000]))}
    if len(values) <= _MOST_PARTS:
        values = {str(value) for value in pd.unique(label_texts(column))}
    parts = {value: part_of(value, name) for value in sorted(values)[: _MOST_PARTS + 1]}
    found = {value: part for value, part in parts.items() if part is not None}
    return found if len(found) == len(values) else {}


_COUNT_WORDS = (
    "count counts cnt freq freqs frequency n nobs copies multiplicity rows anzahl häufigkeit haeufigkeit effectif",
    "effectifs frecuencia conteo frequenza conteggio aantal frequência frequencia contagem",
)
_COUNTS = frozenset(" ".join(_COUNT_WORDS).split())
_OBSERVED = "obs observation observations row rows case cases sample samples record records patients people"
_COUNTED = frozenset(_OBSERVED.split())
_WEIGHT_WORDS = frozenset(["weight", "weights", "wt", "wts", "wgt", "gewicht", "poids", "peso"])
_SURE_WEIGHTS = "ipw iptw ipcw pweight pweights fweight fweights aweight iweight psweight"
_WEIGHTS = frozenset(_SURE_WEIGHTS.split())
_OF_ROWS = (
    "sample samples sampling survey case row rows design prob probability inverse ip importance obs observation",
    "final person household nonresponse svy post calibrated stratification ps propensity pop population class",
)
_ROW_WORDS = frozenset(" ".join(_OF_ROWS).split())


def called_count(name: str) -> bool:
    """True if a column is named like a number of equal rows, such as "count", "n_obs" or "row_count".

    >>> called_count("n"), called_count("n_obs"), called_count("word_count"), called_count("n_visits")
    (True, True, False, False)
    """
    words = set(words_of(name)) - {"of", "num", "number"}
    return bool(words) and words <= _COUNTS | _COUNTED and (bool(words & _COUNTS) or words != set(words_of(name)))


def counts_rows(values: NDArray[np.float64]) -> bool:
    """True if numbers could count equal rows: whole, some above 1, not all the same, and no row numbers.

    >>> counts_rows(np.array([3.0, 1.0, 40.0])), counts_rows(np.array([1.0, 2.0, 3.0])), counts_rows(np.array([0.5]))
    (True, False, False)
    """
    if not len(values) or not np.isfinite(values).all() or (values < 0).any() or not whole(values):
        return False
    several = 1 < values.max() <= MOST_COPIES and values.sum() <= MOST_COPIES and values.min() < values.max()
    steps = np.diff(np.sort(values))
    return bool(several) and not (len(values) > 2 and (steps == 1).all())


def called_number(name: str) -> bool:
    """True if a column is named like the number of something, such as "n_events" or "death_count".

    >>> called_number("n_events"), called_number("death_count"), called_number("event"), called_number("no_event")
    (True, True, False, False)
    """
    words = words_of(name)
    return len(words) > 1 and (words[0] in _NUMBERS or words[-1] in _COUNTS - {"n", "rows"})


def counted_groups(table: Table) -> str:
    """Return a sentence for a table with one row per group, with counts or frequencies of events; else nothing.

    >>> columns = {"risk": [0.1, 0.7], "n": [40, 30], "n_events": [3, 20]}
    >>> counted_groups(Table("a.csv", "csv", {name: np.array(each) for name, each in columns.items()}))[:58]
    'each line is about a group: "n_events" counts the events a'
    """
    values = {name: numbers(column) for name, column in table.columns.items() if looks_numeric(column)}
    sizes = [
        name for name, each in values.items()
        if called_number(name) or called_count(name) or set(words_of(name)) <= _COUNTED or _called_events(name)
        if np.isfinite(each).all() and whole(each) and each.min() >= 0 and each.max() > 1
    ]  # fmt: skip
    for size in sizes:
        for name in sizes:
            events = called_number(name) or _called_events(name)
            if name != size and events and (values[name] <= values[size]).all():
                what = f"{quoted(name)} counts the events among the {quoted(size)} rows"
                return f"each line is about a group: {what}. {_UNGROUPED}"
        for name, each in values.items() if called_count(size) else ():
            if _FREQUENCIES & set(words_of(name)) and each.min() >= 0 and each.max() <= 1 and not whole(each):
                what = f"{quoted(name)} is the share of events among the {quoted(size)} rows"
                return f"each line is about a group: {what}. {_UNGROUPED}"
    return ""


def measured_classes(table: Table) -> str:
    """Return a sentence for a table of measures of classifiers, one line per class or model; else nothing.

    >>> columns = {"class": ["a", "b"], "precision": [0.9, 0.8], "recall": [0.7, 0.9]}
    >>> measured_classes(Table("a.csv", "csv", {name: np.array(each) for name, each in columns.items()}))[:57]
    'each line is about a class or a model, with its precision'
    """
    measures = {"precision", "recall"} <= {name.strip().casefold() for name in table.columns}
    remedy = "Write one line per prediction, with its probability and its label"
    return f"each line is about a class or a model, with its precision and recall. {remedy}" if measures else ""


def _called_events(name: str) -> bool:
    return bool(_EVENTS & set(words_of(name)))


_EVENTS = frozenset(["events", "deaths", "cases", "positives", "failures", "defaults", "ereignisse", "todesfälle"])
_NUMBERS = frozenset(["n", "num", "number", "nr", "count", "anzahl", "nombre", "numero", "número"])
_FREQUENCIES = frozenset(["observed", "frequency", "fraction", "share", "proportion", "actual", "empirical"])
_UNGROUPED = (
    "Write one line per prediction. Or write two per group: outcome 1 with the number of events as its weight, "
    "outcome 0 with the rest"
)


def called_weight(name: str) -> bool:
    """True if a column is named like row weights.

    >>> called_weight("ipw"), called_weight("sampleWeight"), called_weight("weight"), called_weight("body_weight")
    (True, True, True, False)
    """
    words = set(words_of(name))
    alone = role(name) == "weights" or words <= _WEIGHT_WORDS
    return alone or bool(words & _WEIGHTS) or (bool(words & _WEIGHT_WORDS) and _of_rows(words))


def _of_rows(words: set[str]) -> bool:
    """True if all words but those for weights are words for rows, as in survey_weight."""
    return len(words) > 1 and words - _WEIGHT_WORDS <= _ROW_WORDS


def surely_weights(name: str, values: NDArray[np.float64]) -> bool:
    """True if weights are those of rows, rather than of bodies: by their name, or because their mean is about 1.

    >>> surely_weights("ipw", np.array([70.0])), surely_weights("weight", np.array([71.0, 84.0]))
    (True, False)
    """
    return plain(name) not in ("weight", *_WEIGHT_WORDS - {"weights"}) or bool(0.75 < values.mean() < 1.33)


_IDENTIFIED = (
    "patient patients subject subjects person participant customer client account member user image img path",
    "filepath file filename document doc scan study specimen slide video clip speaker author session encounter",
    "admission household family student pupil respondent proband animal case donor employee device url sequence",
    "episode visit stay",
)
_IDENTIFIED_WORDS = frozenset(" ".join(_IDENTIFIED).split())
_IDS = "id ids uid uuid guid pid mrn ssn"
_ID_WORDS = frozenset(_IDS.split()) | {f"{word}id" for word in _IDENTIFIED_WORDS}
_ID_BESIDE = frozenset(["no", "nr", "number", "num", "code", "key", "name", "identifier", "of", "the"])
_ROW_WORDS_OF_IDS = (
    "row sample idx index obs observation record unnamed case transaction txn loan application claim order ticket",
    "invoice event alert",
)
_ROW_IDS = frozenset(" ".join(_ROW_WORDS_OF_IDS).split())
_NO_IDS = (
    "date time timestamp datetime day month year hour week zip zipcode postcode postal plz code icd atc version",
    "model product category type age band range price amount income score text comment note dose",
)
_NO_ID_WORDS = frozenset(" ".join(_NO_IDS).split())
_TOKEN = re.compile(r"(?=\S*\d)[^\s]{3,}|\S*[/\\]\S+|\S+\.(png|jpe?g|tiff?|dcm|nii|wav|mp3|mp4|txt|pdf)", re.IGNORECASE)
_NO_TOKEN = re.compile(r"[<>=≤≥~]?\s*[\d.,:/\-+ ]+[%a-z]{0,3}|\d{4}-\d\d-\d\d.*", re.IGNORECASE)
_OFTEN = 20
"""Identifiers of any name occur at most this often, on average."""
_BY_CHANCE = 0.01
_FEWEST_REPEATS = 0.2
"""Minimum share of rows with the identifier of an earlier row, for identifiers of any name."""


def called_id(name: str) -> bool:
    """True if a column is named like identifiers.

    >>> called_id("MRN"), called_id("image_path"), called_id("stay_id"), called_id("patient_age"), called_id("covid")
    (True, True, True, False, False)
    """
    words = set(words_of(name))
    known = words <= _IDENTIFIED_WORDS | _ID_BESIDE and bool(words & _IDENTIFIED_WORDS)
    return role(name) in ("index", "group") or known or bool(words & _ID_WORDS)


def numbers_rows(name: str) -> bool:
    """True if a column of identifiers is named like one value per row, such as "id" or "row_id".

    >>> numbers_rows("id"), numbers_rows("sample_id"), numbers_rows("patient_id")
    (True, True, False)
    """
    words = set(words_of(name))
    return bool(words) and words <= _ID_WORDS | _ROW_IDS and "pid" not in words and "mrn" not in words


def identifiers(column: Array, name: str) -> NDArray[np.intp] | None:
    """Return a code per row if a column has identifiers, some of them repeated, else None.

    Names such as "MRN" suffice. Under other names, text must consist of single words with digits, or of paths. Whole
    numbers need five digits or more. Dates, amounts and measurements do not count.

    >>> paths = np.array([f"img/{i // 2}.png" for i in range(40)], dtype=object)
    >>> identifiers(paths, "picture") is None, identifiers(np.arange(40) // 2, "age") is None
    (False, True)
    """
    if column.dtype.kind not in "Oiuf" or (column.dtype.kind == "f" and not whole(numbers(column))):
        return None
    codes, values = pd.factorize(column)
    if (codes < 0).any() or "" in values or not FEWEST_GROUPS <= len(values) < len(column):
        return None
    if called_id(name) or _like_ids(values, name, len(column)):
        return np.asarray(codes)
    return None


def _like_ids(values: Array, name: str, n: int) -> bool:
    """True if distinct values of a column of any name look like identifiers."""
    words = {word.rstrip("0123456789") for word in words_of(name)}
    if words & _NO_ID_WORDS or n > _OFTEN * len(values) or n - len(values) < _FEWEST_REPEATS * n:
        return False
    if values.dtype.kind == "O":
        if looks_numeric(values):
            return False
        some = [str(value) for value in values[:200]]
        return all(_TOKEN.fullmatch(text) and not _NO_TOKEN.fullmatch(text) for text in some)
    whole_numbers = values.astype(np.int64)
    far = whole_numbers.min() >= 10_000 and np.ptp(whole_numbers) > 5 * len(values)
    return bool(far and np.mean(whole_numbers % 10 == 0) < 0.3)


def always_equal(codes: NDArray[np.intp], outcomes: Array) -> bool:
    """True if rows with equal codes always have equal outcomes, which chance would not explain (p below 1 %).

    >>> codes = np.arange(80) // 4
    >>> always_equal(codes, codes % 2), always_equal(codes, np.arange(80) % 2), always_equal(codes, codes * 0)
    (True, False, False)
    """
    texts = pd.factorize(label_texts(outcomes))[0]
    if (pd.Series(texts).groupby(codes).nunique() > 1).any():
        return False
    shares = np.bincount(texts) / len(texts)
    sizes = np.bincount(codes)
    by_size = {int(size): float(np.log(np.sum(shares**size))) for size in np.unique(sizes[sizes > 1])}
    return sum(by_size[int(size)] for size in sizes if size > 1) < float(np.log(_BY_CHANCE))
