"""Find score columns and labels by values: columns named after the labels, and labels among the names of classes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.event_names import words_of
from calib_core.readers.proposal.class_columns import NO_MODELS, parts, two_values, yes_or_no
from calib_core.readers.proposal.column_roles import role
from calib_core.readers.proposal.label_codes import label_texts, one_hot_marks, plain
from calib_core.readers.proposal.score_survey import evidence, survey
from calib_core.readers.reading import ScoreKind
from calib_core.readers.table import Array, Table
from calib_core.readers.text_encoding import MISSING_TEXT, numbers_as_written

_FIRST_ROWS = 5000
_MOST_VALUES = 1000
"""Number of distinct values up to which a column can be one of classes."""
_DATE = re.compile(r"\d{1,4}([-./])\d{1,2}\1\d{1,4}([T ].*)?")
"""Dates are no classes: columns such as "prediction_date" and "discharge_date" share values and are no answers."""
_PREDICTED = frozenset({"pred", "preds", "predict", "predicted", "prediction", "predictions", "scored", "guess",
                        "pgr", "into", "decision", "classified"})  # fmt: skip
_TRUE = frozenset({"true", "truth", "gold", "golden", "expected", "actual", "target", "reference", "annotated",
                   "observed", "obs", "label", "orig"})  # fmt: skip
_SCORES = frozenset({"p", "prob", "probs", "proba", "probability", "probabilities", "score", "scores", "logit",
                     "logits", "raw", "softmax", "confidence"}) | _PREDICTED  # fmt: skip
"""Words in the shared part of names of score columns."""
_OTHER_ROLES = frozenset({"predicted", "correct", "split", "weights", "class names"})
_SLACK = 1e-9
_FEWEST_RANKED = 10
_SEPARATOR = re.compile(r"[\s_\-.:/=([]+")


class ClassBlock(NamedTuple):
    """Score columns of one model in the file's order, the class of each, and their one-hot labels, if there are any."""

    scores: tuple[str, ...]
    classes: tuple[str, ...]
    label: tuple[str, ...] = ()


def called_prediction(name: str) -> bool:
    """True if a column is named like a predicted class, such as "Scored Labels" or "Prediction (species)".

    >>> called_prediction("churn_predicted"), called_prediction("species")
    (True, False)
    """
    return role(name) == "predicted" or bool(parts(name) & _PREDICTED)


def called_truth(name: str) -> bool:
    """True if a column is named like a true class, such as "expected.category" or "gold".

    >>> called_truth("churn_orig"), called_truth("gold_prediction"), called_truth("species")
    (True, False, False)
    """
    return not called_prediction(name) and (role(name) == "label" or bool(parts(name) & _TRUE))


def called_score(name: str) -> bool:
    """True if a column is named like scores, such as "Scored Probabilities".

    >>> called_score("prediction_score"), called_score("petal")
    (True, False)
    """
    return bool(parts(name) & _SCORES)


_EXPENSES = frozenset({"cost", "costs", "price", "latency", "duration", "elapsed", "runtime", "seconds", "secs", "ms",
                       "tokens", "usd", "eur"})  # fmt: skip


def called_expense(name: str) -> bool:
    """True if a column is named like the time or the money that an answer took.

    >>> called_expense("cost_usd"), called_expense("latency"), called_expense("cost_overrun_prob")
    (True, True, False)
    """
    return bool(parts(name) & _EXPENSES) and not called_score(name)


_LEVEL = "_LEVEL_"
"""Name of PROC LOGISTIC's column with the class that its probabilities belong to."""


class Decided(NamedTuple):
    """The class of a risk column, and the column that decides it."""

    name: str
    column: str


def class_decided(table: Table, score: str, label: str, names: Sequence[str]) -> Decided | None:
    """Return the class of a risk column by decisions next to it: the class that is predicted where the risk is high.

    Decisions are a column named like predictions, with these two values. One of them occurs only above some risk, and
    the other only below it. A confidence is high for both classes, so it decides nothing. SAS states the class in a
    column of its own.

    >>> columns = {"p": np.array([0.2, 0.9]), "y_pred": np.array(["b", "a"], dtype=object)}
    >>> class_decided(Table("a.csv", "csv", columns), "p", "y", ("a", "b"))
    Decided(name='a', column='y_pred')
    """
    stated = table.columns.get(_LEVEL)
    if stated is not None and len(value := two_values(stated)) == 1 and value[0] in names:
        return Decided(value[0], _LEVEL)
    if score not in table.columns:
        return None
    risks = numbers_as_written(table.columns[score])
    for name, column in table.columns.items():
        if name in (score, label) or len(column) != len(risks) or not called_prediction(name):
            continue
        if set(two_values(column)) != set(names):
            continue
        texts = label_texts(column)
        first, second = (risks[(texts == each) & np.isfinite(risks)] for each in names)
        if len(first) and len(second) and (first.min() > second.max() or second.min() > first.max()):
            return Decided(names[0] if first.min() > second.max() else names[1], name)
    return None


_DOUBT = frozenset({"uncertainty", "doubt", "entropy", "error", "err", "wrong", "incorrect", "loss", "unsicherheit",
                    "incertitude", "incertidumbre", "hallucination", "hallucinated", "hallucinating",
                    "perplexity", "ppl"})  # fmt: skip


def called_doubt(name: str) -> bool:
    """True if a column is named like the opposite of a confidence.

    >>> called_doubt("error_probability"), called_doubt("confidence")
    (True, False)
    """
    return bool(parts(name) & _DOUBT)


_GRADERS = frozenset({"judge", "judges", "grader", "graders", "rater", "raters", "rubric", "critic", "reward"})
_NO_GRADE = frozenset(
    {"confidence", "conf", "prob", "proba", "probability", "p", "logprob", "risk", "certainty", "correct"}
)


def called_grade(name: str) -> bool:
    """True if a column is named like the grade that a judge gives to an answer, which is no probability.

    >>> called_grade("judge.score"), called_grade("grader_confidence"), called_grade("score")
    (True, False, False)
    """
    found = parts(name)
    return bool(found & _GRADERS) and not found & _NO_GRADE


def class_blocks(table: Table, free: Sequence[str]) -> list[ClassBlock]:
    """Return the score columns whose names differ only by the class; several if they could each be the scores.

    Names are PREFIX + class + SUFFIX for every value of some column, or for every one of a few one-hot columns. Scores
    are evident from their values (rows sum to 1), or from a word that the names share. Further columns of such names
    are classes, except a threshold or the like without which rows sum to 1. Probabilities are preferred to logits.

    >>> p = np.array([0.7, 0.2])
    >>> columns = {"y": np.array(["b", "a"], dtype=object), "P (y=a)": p, "P (y=b)": 1 - p}
    >>> class_blocks(Table("a.csv", "csv", columns), ["P (y=a)", "P (y=b)"])
    [ClassBlock(scores=('P (y=a)', 'P (y=b)'), classes=('a', 'b'), label=())]
    """
    found: dict[tuple[str, ...], tuple[ClassBlock, ScoreKind | None]] = {}
    complete: set[tuple[str, ...]] = set()
    for values, marks in _vocabularies(table, free):
        for ends in _shared_ends([name for name in free if name not in marks], values, bare=bool(marks)):
            if (block := _block(table, free, ends, values, marks)) is None:
                continue
            known, kind = found.setdefault(block[0].scores, block)
            if not marks:
                complete.add(known.scores if len(values) == len(known.scores) else ())
            elif known.scores not in complete and not known.label:
                found[known.scores] = block
            elif known.label and set(known.label) != set(marks):  # two families of marks: neither is the label
                found[known.scores] = known._replace(label=()), kind
                complete.add(known.scores)
    best = [block for block, kind in found.values() if kind == "probabilities"]
    return best or [block for block, _ in found.values()]


def _vocabularies(table: Table, free: Sequence[str]) -> Iterator[tuple[Mapping[str, str], tuple[str, ...]]]:
    """Yield the spellings of classes by plain name, and the one-hot columns of these classes, if there are any."""
    binary = [
        name for name, column in table.columns.items()
        if len(column) == table.n_rows and role(name) is None and not called_prediction(name)
        if set(_values(column, 3)) in _MARKS
    ]  # fmt: skip
    families = [
        marks for marks in _families(binary, [name for name in free if name not in binary])
        if len(marks) > 1 and (one_hot_marks(table, tuple(marks))[:_FIRST_ROWS].sum(axis=1) == 1).all()
    ]  # fmt: skip
    marked = {name for marks in families for name in marks}
    for name, column in table.columns.items():
        if len(column) == table.n_rows and role(name) not in _OTHER_ROLES - {"predicted"} and name not in marked:
            values = _values(column, len(free))
            if len(values) > 1:
                yield values, ()
    for marks in families:
        yield {plain(inner): inner for inner in marks.values()}, tuple(marks)


_MARKS = {"0", "1"}, {"false", "true"}
_MOST_PAIRS = 1_000_000


def _families(binary: Sequence[str], scores: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield names of columns that could be one-hot labels, with the class in each.

    They share what is before or behind the class, or are the class itself, which names of ``scores`` contain.
    """
    families: dict[tuple[str, str], dict[str, str]] = {}
    for name in binary:
        for found in _SEPARATOR.finditer(name):
            if found.end() < len(name):
                families.setdefault((name[: found.end()], ""), {})[name] = name[found.end() :]
            if found.start():
                families.setdefault(("", name[found.start() :]), {})[name] = name[: found.start()]
    bare: dict[tuple[str, str], dict[str, str]] = {}
    for score in scores if len(binary) * len(scores) <= _MOST_PAIRS else ():
        for name in binary:
            before, inside, behind = score.casefold().partition(name.casefold())
            if inside and before + behind:
                bare.setdefault((before, behind), {})[name] = name
    yield from families.values()
    # Ends may have the same columns between them, which count once.
    yield from {tuple(sorted(each)): each for each in bare.values()}.values()


def _values(column: Array, most: int) -> dict[str, str]:
    """Return distinct values by plain name, without missing ones; empty if there are more than ``most``."""
    some = column[:_FIRST_ROWS]
    if column.dtype.kind not in "biufO" or (column.dtype.kind == "f" and (some[np.isfinite(some)] % 1 != 0).any()):
        return {}
    texts = [str(text) for text in pd.unique(label_texts(some))]
    found = {plain(text): text for text in texts if text.strip().casefold() not in MISSING_TEXT}
    dates = bool(found) and all(map(_DATE.fullmatch, found.values()))
    return found if len(found) <= most and not dates else {}


def _numbers(table: Table, names: Sequence[str]) -> NDArray[np.float64]:
    return np.column_stack([numbers_as_written(table.columns[name][:_FIRST_ROWS]) for name in names])


def _shared_ends(names: Sequence[str], values: Collection[str], bare: bool) -> Iterator[tuple[str, str]]:
    """Yield each prefix and suffix with which names exist for all values; both empty only if ``bare``."""
    known, longest = {name.casefold() for name in names}, max(values, key=len)
    ends = {
        (name[:start], name[start + len(longest) :])
        for name in known
        for start in range(len(name) - len(longest) + 1)
        if name.startswith(longest, start)
    }
    for before, behind in sorted(ends - (set() if bare else {("", "")})):
        if all(f"{before}{value}{behind}" in known for value in values):
            yield before, behind


def _block(
    table: Table, free: Sequence[str], ends: tuple[str, str], values: Mapping[str, str], marks: tuple[str, ...]
) -> tuple[ClassBlock, ScoreKind | None] | None:
    """Return the columns between these ends, and the type that their values indicate; None if they are no scores."""
    before, behind = (len(end) for end in ends)
    names = [name for name in free if name.casefold().startswith(ends[0]) and name.casefold().endswith(ends[1])]
    every = {name: name[before : len(name) - behind] for name in names if before + behind < len(name)}
    alike = {name: inner for name, inner in every.items() if inner.casefold() in values}
    every = every if any(ends) else alike
    if len(alike) < len(values) or any(len(name) != len(name.casefold()) for name in every):
        return None  # letters without one capital each
    numbers = any(parts(inner) & NO_MODELS for name, inner in every.items() if name not in alike)
    columns = alike if numbers and _from_one(table, every) > _from_one(table, alike) + _SLACK else every
    scores = _numbers(table, tuple(columns))
    if np.isin(scores, (0, 1)).all():
        return None  # one-hot columns, or predictions without probabilities
    kind, _ = evidence(scores, survey(scores))
    first = next(iter(columns))
    words = parts(f"{first[:before]} {first[len(first) - behind :]}")
    if kind not in ("probabilities", "percentages", "log-probabilities") and not words & _SCORES:
        return None
    by_class = dict(zip(values, marks, strict=False))
    label = tuple(by_class.get(plain(each), "") for each in columns.values()) if marks else ()
    return (ClassBlock(tuple(columns), tuple(columns.values()), label), kind) if all(label) else None


def _from_one(table: Table, names: Collection[str]) -> float:
    """Mean distance of row sums from 1: of shares, of percentages or of logarithms; infinite for other numbers."""
    values = _numbers(table, tuple(names))
    values = values[np.isfinite(values).all(axis=1)]
    kind, _ = evidence(values, survey(values)) if len(values) else (None, "")
    if kind not in ("probabilities", "percentages", "log-probabilities"):
        return np.inf
    shares = values / 100 if kind == "percentages" else np.exp(values) if kind == "log-probabilities" else values
    return float(np.abs(shares.sum(axis=1) - 1).mean())


def label_candidates(
    table: Table, classes: Sequence[str], predicted: NDArray[np.intp], but: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the columns that may be the label, because all their values are names of classes.

    Columns named like predictions are none, and neither are those that agree with the ``predicted`` class of every row
    while others do not.

    >>> y, z = (np.array(list(text), dtype=object) for text in ("aab", "abb"))
    >>> table = Table("a.csv", "csv", {"forest": y, "species": z, "predicted y": z})
    >>> label_candidates(table, ("a", "b"), np.array([0, 0, 1]))
    ('species',)
    """
    known = {plain(name): j for j, name in enumerate(classes)}
    codes: dict[str, NDArray[np.int64]] = {}
    for name, column in table.columns.items():
        if name in but or len(column) != len(predicted) or role(name) in _OTHER_ROLES or called_prediction(name):
            continue
        values = _values(column, len(known))
        if len(values) > 1 and values.keys() <= known.keys():
            codes[name] = np.array([known.get(plain(str(text)), -1) for text in label_texts(column[:_FIRST_ROWS])])
    others = [name for name, found in codes.items() if (found != predicted[:_FIRST_ROWS]).any()]
    return tuple(others or codes)


_SCORERS = frozenset({"scores", "score", "feedback", "eval", "evaluation", "grade", "grades", "results"})


def results_of_scorers(table: Table) -> tuple[str, ...]:
    """Return the columns of yes or no in an object of results, such as "scores.ExactMatch", or from a judge.

    >>> columns = {"scores.Exact": np.array([0, 1]), "scores.Length": np.array([0.2, 1]), "metrics.n": np.array([0, 1])}
    >>> results_of_scorers(Table("a.jsonl", "jsonl", columns))
    ('scores.Exact',)
    """
    return tuple(
        name
        for name, column in table.columns.items()
        if called_grade(name) or ("." in name and _SCORERS & {part.casefold() for part in name.split(".")[:-1]})
        if yes_or_no(two_values(column))
    )


_MATCHES = frozenset({"acc", "exactmatch", "em", "quasiexactmatch", "exactmatchscore"})


def exact_matches(table: Table) -> tuple[str, ...]:
    """Return the columns of yes or no that are named like the match of an answer, of which some packages have shares.

    >>> columns = {"exact_match": np.array([0, 1]), "EM": np.array([0.2, 1])}
    >>> exact_matches(Table("a.csv", "csv", columns))
    ('exact_match',)
    """
    named = (name for name in table.columns if re.sub(r"[\W_]+", "", name).casefold() in _MATCHES)
    return tuple(name for name in named if yes_or_no(two_values(table.columns[name])))


_VERDICTS = frozenset({"right", "wrong"}), frozenset({"correct", "incorrect"}), frozenset({"correct", "wrong"})


def right_or_wrong(table: Table) -> tuple[str, ...]:
    """Return the columns with the values right and wrong, or correct and incorrect.

    >>> right_or_wrong(Table("a.csv", "csv", {"grade": np.array(["Right", "wrong"], dtype=object)}))
    ('grade',)
    """
    return tuple(
        name for name, column in table.columns.items() if frozenset(map(plain, two_values(column))) in _VERDICTS
    )


def ranked(scores: Array) -> bool:
    """True for scores that fall from the first column to the last in at least ten different rows, and rise in none.

    >>> ranked(np.array([[0.5, 0.3, 0.2]] * 20)), ranked(np.linspace([0.5, 0.3, 0.2], [0.8, 0.15, 0.05], 20))
    (False, True)
    """
    some = scores[:_FIRST_ROWS]
    falls = some.shape[1] > 2 and bool((some[:, 1:] <= some[:, :-1]).all())
    return falls and len(np.unique(some, axis=0)) >= _FEWEST_RANKED


class Answers(NamedTuple):
    """Columns of predicted and of true classes."""

    predicted: str
    label: str


def answers(table: Table, but: Collection[str], label: str | None = None) -> Answers | None:
    """Return the columns of predicted and of true classes, if names and values leave no choice; otherwise None.

    Both have the same classes. Either exactly one of them is named like a prediction, or one is named like the truth
    (or is the given ``label``). In the second case, exactly one other column agrees with it more often than by chance.

    >>> y, z = (np.array(list(text), dtype=object) for text in ("aabbab", "aabaab"))
    >>> answers(Table("a.csv", "csv", {"species": y, "species_pred": z}), ())
    Answers(predicted='species_pred', label='species')
    """
    values = {
        name: set(found)
        for name, column in table.columns.items()
        if name not in but and len(column) == table.n_rows and role(name) not in _OTHER_ROLES - {"predicted"}
        if len(found := _values(column, _MOST_VALUES)) > 1
    }
    shared = {
        name: [other for other in values if other != name and _same_classes(values[name], values[other])]
        for name in values
    }
    truths = [label] if label else [name for name in shared if called_truth(name) and shared[name]]
    guesses = [name for name in shared if called_prediction(name) and shared[name] and name not in truths]
    if len(guesses) == 1:
        others = [name for name in shared[guesses[0]] if not called_prediction(name)]
        others = [name for name in others if name in truths] or others
        return Answers(guesses[0], others[0]) if len(others) == 1 else None
    if len(truths) == 1 and not guesses:
        others = [name for name in shared.get(truths[0], ()) if _agree(table, name, truths[0])]
        return Answers(others[0], truths[0]) if len(others) == 1 else None
    return None


ANSWERS = ("answer", "response", "sample", "generation", "completion", "output")
"""Names of columns of answers, in files with several of them per question."""
_ANSWERED = frozenset({*ANSWERS, "answers", "reply", "model answer", "model response", "model output", "final answer",
                       "extracted answer", "parsed answer", "llm answer"}) - {"sample"}  # fmt: skip
_KEYS = frozenset({"correct answer", "right answer", "true answer", "answer key", "key"})


def called_answer(name: str) -> bool:
    """True if a column is named like answers, such as "model_answer", which may be those of the model or true ones."""
    return " ".join(words_of(name.rpartition(".")[2])) in _ANSWERED


def told_apart(table: Table) -> Answers | None:
    """Return the columns of answers and of true answers that names distinguish; None if there are no two such columns.

    Both have the same classes. Next to a column of responses "answer" is the truth, as in data sets of questions. Next
    to a column such as "gold" or "target" it is the answer of the model.

    >>> y, z = (np.array(list(text), dtype=object) for text in ("aabb", "abab"))
    >>> tables = [Table("a.csv", "csv", {"answer": y, other: z}) for other in ("gold", "response")]
    >>> [told_apart(table) for table in tables]
    [Answers(predicted='answer', label='gold'), Answers(predicted='response', label='answer')]
    """
    spoken = {name: " ".join(words_of(name.rpartition(".")[2])) for name in table.columns}
    replies = [name for name in spoken if called_answer(name) or called_prediction(name)]
    truths = [
        name for name, words in spoken.items()
        if (called_truth(name) and (name not in replies or parts(name) & _TRUE)) or words in _KEYS
    ]  # fmt: skip
    replies = [name for name in replies if name not in truths]
    if not truths:
        truths = [name for name in replies if role(name) == "label"]
        replies = [name for name in replies if name not in truths]
    if not replies or not truths:
        return None
    values = {name: set(_values(table.columns[name], _MOST_VALUES)) for name in (*replies, *truths)}
    pairs = [
        Answers(reply, truth) for reply in replies for truth in truths
        if len(values[reply]) > 1 and len(values[truth]) > 1 and _same_classes(values[reply], values[truth])
    ]  # fmt: skip
    if len(pairs) > 1:
        pairs = [each for each in pairs if called_prediction(each.predicted)]
    return pairs[0] if len(pairs) == 1 else None


def _same_classes(some: set[str], others: set[str]) -> bool:
    """True if at most as many values occur in one column only as in both."""
    return len(some ^ others) <= len(some & others)


def _agree(table: Table, name: str, other: str) -> bool:
    """True if two columns are equal in more rows than independent columns of their shares, by three standard errors."""
    first, second = (
        pd.Series(label_texts(table.columns[each][:_FIRST_ROWS]), dtype=object).map(plain) for each in (name, other)
    )
    shares = first.value_counts(normalize=True), second.value_counts(normalize=True)
    chance = float((shares[0] * shares[1]).sum())
    return bool((first == second).mean() > chance + 3 * np.sqrt(chance * (1 - chance) / len(first)))
