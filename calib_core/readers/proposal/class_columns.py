"""Find score columns: one per class, one set per model, or the risk of an event."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib_core.predictions.event_names import NEGATIONS, NEGATIVE, POSITIVE, names_decide, side_of, words_of
from calib_core.readers.proposal.column_roles import class_of, role
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.proposal.score_survey import evidence, survey
from calib_core.readers.table import Array, Table
from calib_core.readers.text_encoding import MISSING_TEXT, numbers_as_written

_WORDS = frozenset({"p", "prob", "probs", "proba", "probability", "risk", "score", "pred", "predicted", "prediction",
                    "phat", "yhat"})  # fmt: skip
"""Prefixes and suffixes in names of probabilities."""
NO_MODELS = frozenset({"lower", "upper", "low", "high", "lo", "hi", "lcl", "ucl", "lci", "uci", "ci", "se", "sd",
                       "std", "var", "min", "max", "err", "error", "value", "threshold", "cutoff", "rank", "quantile",
                       "percentile", "propensity"})  # fmt: skip
"""Words in names of interval limits, thresholds and other numbers of one model."""
_APART = r"[\s_\-.:/]+"
_MOST = 0.9
"""Share of rows that must support a pattern: a few broken rows do not change the interpretation."""
_FIRST_ROWS = 5000


class ScoreSets(NamedTuple):
    """Score columns, model after model with equal numbers; the models' names, and the classes if names contain them."""

    scores: tuple[str, ...]
    models: tuple[str, ...]
    classes: tuple[str, ...] = ()


def side_by_side(table: Table, names: Sequence[str], labels: Collection[str]) -> ScoreSets | None:
    """Return the models whose scores these columns are; None for classes of one model, or if it is unclear.

    ``names`` are numeric columns that could be scores, ``labels`` the distinct labels. Columns whose rows sum to 1 are
    classes, and so are columns named like labels.

    >>> columns = {"risk_old": np.array([0.2, 0.9]), "risk_new": np.array([0.3, 0.8]), "event": np.array([0, 1])}
    >>> side_by_side(Table("a.csv", "csv", columns), ("risk_old", "risk_new"), {"0", "1"}).models
    ('risk_old', 'risk_new')
    """
    groups: dict[tuple[str, bool], dict[str, str]] = {}
    for name in (name for name in names if is_share(table, name)):
        for word, ends, rest in _parsed(name):
            groups.setdefault((word, ends), {})[name] = rest
    several = [group for group in groups.values() if len(group) > 1]
    if not several:
        return None
    group = max(several, key=len)
    if (found := _by_model_and_class(table, group, labels)) is not None:
        return found
    known = {plain(label) for label in labels} | NEGATIVE | POSITIVE
    if len(labels) != 2 or known & {plain(rest) for rest in group.values()} or sum_to_one(table, tuple(group)):
        return None
    return ScoreSets(tuple(group), tuple(group))


def sets_of_matrices(table: Table, names: Sequence[str]) -> ScoreSets | None:
    """Return several probability matrices of one shape as one model each; otherwise None."""
    matrices = [table.matrices[name][:_FIRST_ROWS].astype(np.float64) for name in names]
    if len(matrices) < 2 or len({table.matrices[name].shape for name in names}) > 1:
        return None
    alike = all(evidence(matrix, survey(matrix))[0] == "probabilities" for matrix in matrices)
    return ScoreSets(tuple(names), tuple(names)) if alike else None


def is_share(table: Table, name: str) -> bool:
    """True if a column has distinct numbers from 0 to 1, beyond only 0 and 1, which would be outcomes."""
    values = numbers_as_written(table.column(name)[:_FIRST_ROWS])
    known = values[~np.isnan(values)]
    inside = len(known) and ((known >= 0) & (known <= 1)).all() and ((known > 0) & (known < 1)).any()
    return bool(inside and (len(known) == 1 or known.min() < known.max()))


def sum_to_one(table: Table, names: Sequence[str]) -> bool:
    """True if the columns sum to 1 in nearly every row."""
    values = np.column_stack([numbers_as_written(table.columns[name][:_FIRST_ROWS]) for name in names])
    known = values[~np.isnan(values).any(axis=1)]
    return bool(len(known)) and float(np.mean(np.abs(known.sum(axis=1) - 1) < 0.05)) > _MOST


def _parsed(name: str) -> Iterator[tuple[str, bool, str]]:
    """Yield each score word that a name begins or ends with, its side, and the rest of the name."""
    parts = re.split(_APART, name.strip())
    if len(parts) == 1 and parts[0].casefold() in _WORDS:
        # The bare word, next to longer names: risk and risk_new.
        yield from ((parts[0].casefold(), ends, "") for ends in (False, True))
    elif len(parts) > 1:
        for ends in (False, True):
            word = parts[-1 if ends else 0].casefold()
            if word in _WORDS and not NO_MODELS & {part.casefold() for part in parts}:
                yield word, ends, "_".join(parts[:-1] if ends else parts[1:])


def _by_model_and_class(table: Table, group: dict[str, str], labels: Collection[str]) -> ScoreSets | None:
    """Return a column for every model and class if each model's rows sum to 1."""
    cuts: tuple[Callable[[str], tuple[str, str]], ...] = (_model_first, _class_first)
    for cut in cuts:
        pairs = {cut(rest): name for name, rest in group.items()}
        models, classes = (tuple(dict.fromkeys(pair[i] for pair in pairs)) for i in (0, 1))
        whole = len(models) > 1 and len(classes) > 1 and "" not in (*models, *classes)
        if not whole or len(pairs) != len(models) * len(classes) or len(pairs) != len(group):
            continue
        sets = [tuple(pairs[model, each] for each in classes) for model in models]
        if {plain(label) for label in labels} <= {plain(each) for each in classes} and all(
            sum_to_one(table, names) for names in sets
        ):
            return ScoreSets(tuple(name for names in sets for name in names), models, classes)
    return None


def _model_first(rest: str) -> tuple[str, str]:
    model, _, each = rest.rpartition("_")
    return model, each


def _class_first(rest: str) -> tuple[str, str]:
    each, _, model = rest.partition("_")
    return model, each


_LOOKED_AT = 500
_NEAR = 0.05
"""Maximum distance of sums from 1, in most rows."""
_SLACK = 1e-6
_MOST_BESIDE = 64
"""Number of columns on each side of the classes for which every extent is tried."""
_BETTER = 0.5
"""Maximum ratio of distances from 1, with and without a column, for the column to be a class."""

Block = tuple[str, ...]


def called_alike(table: Table, names: Iterable[str], label: str) -> Block:
    """Names that are values of the label."""
    texts = {plain(str(value)) for value in pd.unique(label_texts(table.columns[label]))}
    return tuple(name for name in names if plain(name) in texts)


def block_of(table: Table, alike: Sequence[str], free: Collection[str]) -> Block:
    """Return the score columns: those named like a class, and adjacent ``free`` columns that belong to them.

    Adjacent columns belong if probabilities sum to 1 with them rather than without. Logits have no sums: columns in the
    range of the others belong. The logits of a class that no label names are an example; an age does not belong.

    >>> rows = {"cat": np.array([0.6, 0.2]), "dog": np.array([0.3, 0.5]), "bird": np.array([0.1, 0.3])}
    >>> block_of(Table("a.csv", "csv", {**rows, "age": np.array([31.0, 52.0])}), ("cat", "dog"), [*rows, "age"])
    ('cat', 'dog', 'bird')
    """
    run = side_by_side_with(table, alike, free)
    if len(run) == len(alike):
        return tuple(alike)
    if (summed := summed_block(table, alike, run)) is not None:
        return summed
    known = _values(table, alike)
    low, high = np.nanmin(known, initial=np.inf), np.nanmax(known, initial=-np.inf)
    return tuple(name for name in run if name in alike or _goes_along(table, name, alike, low, high))


def run_to_one(values: NDArray[np.float64]) -> slice | None:
    """Return the longest run of three or more adjacent columns in [0, 1] that sum to 1 in nearly every row.

    >>> run_to_one(np.array([[7.5, 0.2, 0.3, 0.5, 48.1], [9.1, 0.6, 0.3, 0.1, 47.2]]))
    slice(1, 4, None)
    """
    known = values[np.isfinite(values).all(axis=1)]
    inside = np.asarray(((known >= 0) & (known <= 1)).all(axis=0)) & (len(known) > 0)
    sums = np.concatenate([np.zeros((len(known), 1)), np.cumsum(known, axis=1)], axis=1)
    width = values.shape[1]
    for length in range(min(width, _MOST_BESIDE), 2, -1):
        for start in range(width - length + 1):
            run = slice(start, start + length)
            if inside[run].all() and np.mean(np.abs(sums[:, run.stop] - sums[:, start] - 1) < 0.01) > _MOST:
                return run
    return None


def side_by_side_with(table: Table, alike: Sequence[str], free: Collection[str]) -> Block:
    """Return all free columns adjacent to a column named like a class."""
    runs: list[list[str]] = [[]]
    for name in table.columns:
        if name in free or name in alike:
            runs[-1].append(name)
        elif runs[-1]:
            runs.append([])
    return tuple(name for run in runs if set(run) & set(alike) for name in run)


def _values(table: Table, names: Sequence[str]) -> NDArray[np.float64]:
    return np.column_stack([numbers_as_written(table.columns[name][:_LOOKED_AT]) for name in names])


def summed_block(table: Table, alike: Sequence[str], run: Block) -> Block | None:
    """Return the part of a run, with all class-named columns, whose rows sum to 1 or 100; None if there is none."""
    first, last = run.index(alike[0]), run.index(alike[-1])
    begin, end = max(0, first - _MOST_BESIDE), min(len(run), last + 1 + _MOST_BESIDE)
    window, known = _values(table, run[begin:end]), _values(table, alike)
    whole = ~np.isnan(known).any(axis=1)
    if not whole.any():
        return None
    window, known = window[whole], known[whole]
    found: dict[Block, float] = {}
    for shares in (lambda values: values, lambda values: values / 100, _exponentials):
        part, own = shares(window), shares(known).sum(axis=1)
        if (off := _off(own[:, None, None])).item() < np.inf:
            found[tuple(alike)] = off.item()
        inner = part[:, first - begin : last + 1 - begin].sum(axis=1)
        before, behind = part[:, : first - begin][:, ::-1], part[:, last + 1 - begin :]
        sums = inner[:, None, None] + _growing(before)[:, :, None] + _growing(behind)[:, None, :]
        for (i, j), each in np.ndenumerate(_off(sums)):
            if each < np.inf:
                found.setdefault(run[first - i : last + 1 + j], float(each))
    best: Block | None = None
    for names in sorted(found, key=len):  # the shortest first; a longer one must be much closer to 1
        if best is None or found[names] < _BETTER * found[best] - 1e-9:
            best = names
    return best


def _exponentials(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(np.where(values > _SLACK, np.inf, values))


def _growing(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cumulative sums of the columns, starting at 0, (n, K + 1)."""
    return np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, axis=1)], axis=1)


def _off(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean distance of sums (n, ...) from 1; infinite unless nearly every row is close."""
    with np.errstate(invalid="ignore"):
        off = np.abs(sums - 1)
        off = np.where(np.isnan(off), np.nan, np.minimum(off, 1.0))
        near = np.mean(off < _NEAR, axis=0) > _MOST
    return np.where(near, np.nanmean(np.where(near, off, 0.0), axis=0), np.inf)


def _goes_along(table: Table, name: str, alike: Sequence[str], low: float, high: float) -> bool:
    if all(each.isdigit() for each in alike):
        return name.isdigit()
    if table.columns[name].dtype.kind != table.columns[alike[0]].dtype.kind:
        return False
    if any(plain(each) in plain(name) for each in alike):
        return False  # "cat_new" belongs to another model
    if is_share(table, name) and not any(is_share(table, each) for each in alike):
        return False  # a probability next to logits
    values, room = numbers_as_written(table.columns[name][:_LOOKED_AT]), high - low
    if np.isnan(values).all():
        return False
    return bool(np.nanmin(values, initial=low) >= low - room and np.nanmax(values, initial=high) <= high + room)


_OTHER_ROLES = frozenset({"predicted", "correct", "split", "weights", "group", "index", "class names", "question"})

_OUTCOME_WORDS = """
label outcome outcomes event events endpoint target status died death dead deceased mortality alive survived survival
vital readmitted readmission relapse relapsed recurrence recurred progression progressed cancer malignant malignancy
readmit hospitalized hospitalised complication complications dropout exited expire expired
disease diseased diagnosis case infection sepsis stroke bleeding arrest fracture transplanted failure failed
fraud fraudulent spam churn churned default defaulted clicked converted bought purchased responded won cured discharged
observed truth true actual verstorben gestorben tod ereignis ergebnis überlebt ueberlebt ausgang rückfall
décès deces décédé decede événement evenement résultat resultat survie rechute issue muerte fallecido evento
"""
_COVARIATE_WORDS = """
sex gender male female man woman smoker smoking smokes treated treatment treat arm exposed exposure control placebo
diabetes diabetic hypertension hypertensive married employed insured urban ventilated included excluded valid
geschlecht weiblich männlich maennlich raucher sexe femme homme fumeur
"""
_PLACES = frozenset({"icu", "site", "center", "ward", "hospital", "region"})
_OUTCOMES, _COVARIATES = frozenset(_OUTCOME_WORDS.split()), frozenset(_COVARIATE_WORDS.split())
_SCORE_TEXT = """
p prob probs proba probability probabilities risk score scores pred predicted prediction predictions phat yhat hat pd
likelihood output forecast estimate eventprobability percent pct lp xb eta linpred logodds
prozent wahrscheinlichkeit risiko vorhersage prognose risque probabilité
probabilite prédiction riesgo probabilidad
"""
_SCORE_WORDS = frozenset(_SCORE_TEXT.split())
_OF_RISK = frozenset({"risk", "risiko", "risque", "riesgo"})


def parts(name: str) -> frozenset[str]:
    """Words of a name, in lower case.

    >>> sorted(parts("Died within_30 days"))
    ['30', 'days', 'died', 'within']
    """
    return frozenset(words_of(name))


def two_values(column: Array) -> tuple[str, ...]:
    """Return the one or two distinct values of a column as sorted text; empty for a column with more.

    >>> import numpy as np
    >>> two_values(np.array([1.0, 0.0, np.nan])), two_values(np.array([1, 2, 3]))
    (('0', '1'), ())
    """
    if column.dtype.kind not in "biufO" or column.ndim != 1:
        return ()
    for rows in (column[:_FIRST_ROWS], column):  # most columns have more than two in the first rows
        found = {str(value) for value in pd.unique(label_texts(rows))}
        found = {value for value in found if value.strip().casefold() not in MISSING_TEXT}
        if len(found) > 2:
            return ()
    return tuple(sorted(found))


def yes_or_no(values: Sequence[str]) -> bool:
    """True if the values clearly mean that something happened or not: 0 and 1, no and yes.

    >>> yes_or_no(("0", "1")), yes_or_no(("alive", "died")), yes_or_no(("x", "y")), yes_or_no(("1", "2"))
    (True, True, False, False)
    """
    if not values:
        return False
    if {plain(value) for value in values} <= NEGATIVE | POSITIVE:
        return True
    # For names in the lists of events, the order does not matter; for others, it does. Single letters, such as "x" and
    # "y", may name anything.
    words = len(values) == 2 and min(map(len, values)) > 1 and not _numeric(values)
    return words and names_decide(values)


def _numeric(values: Sequence[str]) -> bool:
    return all(re.fullmatch(r"[+-]?\d+(\.\d+)?", value.strip()) for value in values)


def called_outcome(name: str) -> bool:
    """True if a column is named like an outcome, such as "died", "outcome_30d" or "readmit30"."""
    words = parts(name)
    words |= {word.rstrip("0123456789") for word in words}
    return role(name) == "label" or (bool(words & _OUTCOMES) and not words & _COVARIATES)


def called_covariate(name: str) -> bool:
    """True if a column is named like a baseline variable, such as "sex" or "treated".

    >>> called_covariate("hospital"), called_covariate("hospital_death")
    (True, False)
    """
    words = parts(name)
    return bool(words & _COVARIATES) or bool(words & _PLACES and not words & _OUTCOMES)


def outcome_columns(table: Table, taken: Collection[str] = ()) -> tuple[str, ...]:
    """Return the columns that may be the outcome, by values and names; only one if the evidence decides.

    Columns with only 0 and 1 (or no and yes, alive and died, ...) qualify. With two other values, only columns named
    like an outcome do. Columns named like a baseline variable (sex, treated) never do. Among several candidates, one
    named like an outcome is preferred.

    >>> import numpy as np
    >>> y = np.array([0, 1, 1])
    >>> t = Table("a.csv", "csv", {"sex": y, "risk": np.array([0.1, 0.6, 0.9]), "died": y, "flag": y})
    >>> outcome_columns(t), outcome_columns(t, {"died"})
    (('died',), ('flag',))
    """
    found = []
    for name, column in table.columns.items():
        if name in taken or role(name) in _OTHER_ROLES or len(column) != table.n_rows or called_covariate(name):
            continue
        values = two_values(column)
        if yes_or_no(values) or (len(values) == 2 and called_outcome(name)):
            found.append(name)
    called = [name for name in found if called_outcome(name)]
    return tuple(called if called else found)


def other_class(score: str, label: str) -> bool | None:
    """True if a risk column and its outcome are named for opposite events; None if that is unclear.

    "p_survived" is the probability of 0 next to "died" and of 1 next to "survived". Next to "outcome", which names no
    class, 0 is the class that is named like the absence of an event.

    >>> other_class("p_survived", "died"), other_class("p_survived", "survived"), other_class("risk", "died")
    (True, False, False)
    >>> other_class("p_0", "y"), other_class("p_no_event", "event"), other_class("risk", "survived") is None
    (True, True, True)
    """
    of_score, of_label = parts(score), parts(label)
    denied = bool(of_score & NEGATIONS) != bool(of_label & NEGATIONS)
    if denied and of_score - NEGATIONS & of_label | of_score & {"event"}:
        return True
    sides = class_side(score), class_side(label)
    if sides[0]:
        return sides[0] != (sides[1] or 1)
    return None if sides[1] < 0 and of_score & _OF_RISK else False


def class_side(column: str) -> int:
    """Return 1 if a column is named after an event, -1 if after its absence, 0 if its name does not decide.

    >>> class_side("p_0"), class_side("prob_negative"), class_side("fraud_score"), class_side("risk"), class_side("y")
    (-1, -1, 1, 0, 0)
    """
    found = class_of(column)
    rest = " ".join(_content(column)) if found is None else found[1]
    # Single letters, such as "y" and "f", may name anything.
    return 0 if len(rest) == 1 and not rest.isdigit() else side_of(rest)


def class_called(score: str, names: Sequence[str]) -> str | None:
    """Return the one of two class names that a risk column is named after; None if it is named after neither.

    >>> class_called("survival_probability", ("alive", "dead")), class_called("prob_no_event", ("event", "no event"))
    ('alive', 'no event')
    >>> class_called("hire_score", ("hired", "rejected")), class_called("pred_active", ("inactive", "active"))
    ('hired', 'active')
    >>> class_called("p_recovery", ("recovered", "died")), class_called("p_dog_2", ("cat", "hotdog")) is None
    ('recovered', True)
    >>> class_called("p_death", ("1", "2")) is None  # codes, whose meaning is in no name
    True
    """
    found = class_of(score)
    inner = "" if found is None else found[1]
    for name in names:
        if plain(name) == plain(inner) or (parts(name) and parts(name) == parts(inner)):
            return name
    side = 0 if _numeric(names) and not set(names) <= POSITIVE | NEGATIVE else class_side(score)
    alike = [name for name in names if side and side_of(name) == side]
    if len(alike) != 1:
        own = _content(score)
        alike = [name for name in names if any(each in own or _has_stem(each, own) for each in parts(name))]
    return alike[0] if len(alike) == 1 else None


def _content(score: str) -> list[str]:
    """Words of a score's name without those for scores, also at the end of German compounds.

    >>> _content("risk_of_death"), _content("Überlebenswahrscheinlichkeit"), _content("Sterberisiko")
    (['of', 'death'], ['überleben'], ['sterbe'])
    """
    words = [_COMPOUND.sub("", word) for word in words_of(score)]
    return [word for word in words if word and word not in _SCORE_WORDS]


_COMPOUND = re.compile(r"(?<=...)s?(wahrscheinlichkeit|risiko|prognose|quote|score)$")


def _has_stem(word: str, others: Collection[str]) -> bool:
    """True if one of the other words is this one up to its ending: hire and hired, recovery and recovered."""
    for each in others:
        shorter = min(len(word), len(each))
        stem = max(_SHORTEST, shorter - 2)
        if shorter >= stem and word[:stem] == each[:stem]:
            return True
    return False


_SHORTEST = 4


def one_subject(score: str, label: str, values: Sequence[str]) -> bool:
    """True if a risk column and its outcome, or a value of it, share a word that is neither a code nor a score word.

    >>> one_subject("AdmitProb", "Admitted", ("0", "1")), one_subject("p_yes", "smoker", ("no", "yes"))
    (True, False)
    """
    words = parts(label).union(*map(parts, values))
    own = parts(score) - _SCORE_WORDS - POSITIVE - NEGATIVE
    return bool(words & own) or any(_one_stem(word, other) for word in own for other in words)


def _one_stem(word: str, other: str) -> bool:
    """True if one of two words begins with the other, of five letters or more: admit and admitted."""
    shorter, longer = sorted((word, other), key=len)
    return len(shorter) >= _STEM and longer.startswith(shorter)


_STEM = 5


def absent_event(score: str, label: str) -> bool:
    """True if the outcome is 1 for survivors but the risk is of death, so that the event is 0.

    >>> absent_event("p_death", "alive"), absent_event("p_survived", "died")
    (True, False)
    """
    return class_side(score) > 0 > class_side(label)


def called_risk(table: Table, name: str) -> bool:
    """True if a column has distinct values in [0, 1] and is named like a score."""
    return is_share(table, name) and bool(parts(name) & _SCORE_WORDS and not parts(name) & NO_MODELS)


def risk_columns(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that may be the risk of an event: with distinct values in [0, 1], or named like a score.

    Among several columns in [0, 1], those named like a score are preferred; a name without such values counts only if
    no column is in [0, 1].

    >>> import numpy as np
    >>> columns = {"age": np.array([31.0, 52.0]), "dose": np.array([0.2, 0.3]), "fraud_score": np.array([0.1, 0.6])}
    >>> risk_columns(Table("a.csv", "csv", columns), tuple(columns)), risk_columns(Table("a.csv", "csv", columns), ())
    (('fraud_score',), ())
    """
    free = [name for name in names if not yes_or_no(two_values(table.columns[name]))]
    shares = [name for name in free if is_share(table, name)]
    called = [name for name in shares or free if parts(name) & _SCORE_WORDS and not parts(name) & NO_MODELS]
    of_event = [name for name in called if "eventprobability" in parts(name)]
    return tuple(of_event or called or shares)
