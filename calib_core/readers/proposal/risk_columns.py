"""The risk and the outcome of an event among the columns of a table, by their values and names."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import pandas as pd

from calib_core.predictions.event_names import NEGATIVE, POSITIVE, event_of
from calib_core.readers.number_texts import MISSING_TEXT
from calib_core.readers.proposal.column_roles import class_of, role
from calib_core.readers.proposal.label_codes import label_texts, plain
from calib_core.readers.proposal.model_columns import NO_MODELS, is_share
from calib_core.readers.table import Array, Table

_LOOKED_AT = 5000
_OTHER_ROLES = frozenset({"predicted", "correct", "split", "weights", "group", "index", "class names", "question"})

_OUTCOME_WORDS = """
label outcome outcomes event events endpoint target status died death dead deceased mortality alive survived survival
vital readmitted readmission relapse relapsed recurrence recurred progression progressed cancer malignant malignancy
disease diseased diagnosis case infection sepsis stroke bleeding arrest fracture transplanted failure failed
fraud fraudulent spam churn churned default defaulted clicked converted bought purchased responded won cured discharged
observed truth true actual verstorben gestorben tod ereignis ergebnis überlebt ueberlebt ausgang rückfall
décès deces décédé decede événement evenement résultat resultat survie rechute issue muerte fallecido evento
"""
_COVARIATE_WORDS = """
sex gender male female man woman smoker smoking smokes treated treatment treat arm exposed exposure control placebo
diabetes diabetic hypertension hypertensive married employed insured urban icu ventilated included excluded valid
geschlecht weiblich männlich maennlich raucher sexe femme homme fumeur site center centre ward hospital region
"""
_SURVIVAL_WORDS = """
survive survived survives surviving survivor survival alive living überlebt ueberlebt überleben lebt survie vivant vivo
"""
_DEATH_WORDS = """
die died dies death dead deceased mortality gestorben verstorben tod tot mort décès deces décédé decede muerte fallecido
"""
_OUTCOMES, _COVARIATES = frozenset(_OUTCOME_WORDS.split()), frozenset(_COVARIATE_WORDS.split())
_SURVIVAL, _DEATH = frozenset(_SURVIVAL_WORDS.split()), frozenset(_DEATH_WORDS.split())
_SCORE_TEXT = """
p prob probs proba probability probabilities risk score scores pred predicted prediction predictions phat yhat hat pd
likelihood output forecast percent wahrscheinlichkeit risiko vorhersage prognose risque probabilité probabilite
prédiction riesgo probabilidad
"""
_SCORE_WORDS = frozenset(_SCORE_TEXT.split())
_OF_RISK = frozenset({"risk", "risiko", "risque", "riesgo"})
_NEGATIONS = frozenset({"no", "not", "non", "without", "kein", "keine", "nicht", "pas", "sans"})


def parts(name: str) -> frozenset[str]:
    """The words of a name, without capitals.

    >>> sorted(parts("Died within_30 days")), sorted(parts("pSurvived"))
    (['30', 'days', 'died', 'within'], ['p', 'survived'])
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return frozenset(re.findall(r"[^\W_]+", spaced.casefold()))


def two_values(column: Array) -> tuple[str, ...]:
    """The values of a column that has one or two, as text and in order; nothing for a column with more.

    >>> import numpy as np
    >>> two_values(np.array([1.0, 0.0, np.nan])), two_values(np.array([1, 2, 3]))
    (('0', '1'), ())
    """
    if column.dtype.kind not in "biufO" or column.ndim != 1:
        return ()
    for rows in (column[:_LOOKED_AT], column):  # most columns show more than two at once
        found = {str(value) for value in pd.unique(label_texts(rows))}
        found = {value for value in found if value.strip().casefold() not in MISSING_TEXT}
        if len(found) > 2:
            return ()
    return tuple(sorted(found))


def yes_or_no(values: Sequence[str]) -> bool:
    """Do the values of a column by themselves say that something happened or did not: 0 and 1, no and yes?

    >>> yes_or_no(("0", "1")), yes_or_no(("alive", "died")), yes_or_no(("x", "y")), yes_or_no(("1", "2"))
    (True, True, False, False)
    """
    if not values:
        return False
    if {plain(value) for value in values} <= NEGATIVE | POSITIVE:
        return True
    # Of names in the lists of events the order does not matter; of others it decides. Letters alone, as "x" and "y",
    # are names of anything.
    words = len(values) == 2 and min(map(len, values)) > 1 and not _numeric(values)
    return words and _decided(values)


def _numeric(values: Sequence[str]) -> bool:
    return all(re.fullmatch(r"[+-]?\d+(\.\d+)?", value.strip()) for value in values)


def _decided(values: Sequence[str]) -> bool:
    return values[event_of(values)] == values[::-1][event_of(values[::-1])]


def called_outcome(name: str) -> bool:
    """Is a column called like an outcome, as "died" or "outcome_30d"?"""
    words = parts(name)
    return role(name) == "label" or (bool(words & _OUTCOMES) and not words & _COVARIATES)


def called_covariate(name: str) -> bool:
    """Is a column called like something known beforehand, as "sex" or "treated"?"""
    return bool(parts(name) & _COVARIATES)


def outcome_columns(table: Table, taken: Collection[str] = ()) -> tuple[str, ...]:
    """The columns that may be the outcome, judged by values and names; one where something decides.

    Columns that contain only 0 and 1 (or no and yes, alive and died, ...) may be; of two other values only those that
    are called like an outcome. A column called like something known beforehand (sex, treated) may not. Of several, the
    one called like an outcome decides.

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
    """Is a column of risks called for the opposite of what its outcome is called for? None where that is unclear.

    "p_survived" beside "died" is the probability of 0, beside "survived" of 1, and beside "outcome" nobody knows.

    >>> other_class("p_survived", "died"), other_class("p_survived", "survived"), other_class("risk", "died")
    (True, False, False)
    >>> other_class("p_survived", "outcome") is None, other_class("p_no_event", "event")
    (True, True)
    """
    of_score, of_label = parts(score), parts(label)
    denied = bool(of_score & _NEGATIONS) != bool(of_label & _NEGATIONS)
    if denied and of_score - _NEGATIONS & of_label | of_score & {"event"}:
        return True
    sides = _side(of_score), _side(of_label)
    if all(sides):
        return sides[0] != sides[1]
    unclear = sides[0] < 0 or (sides[1] < 0 and bool(of_score & _OF_RISK))
    return None if unclear else False


def class_called(score: str, names: Sequence[str]) -> str | None:
    """The one of two class names that a column of risks is called after; None where its name is of neither.

    >>> class_called("survival_probability", ("alive", "dead")), class_called("prob_no_event", ("event", "no event"))
    ('alive', 'no event')
    """
    found = class_of(score)
    inner = "" if found is None else found[1]
    for name in names:
        if plain(name) == plain(inner) or (parts(name) and parts(name) == parts(inner)):
            return name
    side = _side(parts(score))
    alike = [name for name in names if side and _side(parts(name)) == side]
    return alike[0] if len(alike) == 1 else None


def absent_event(score: str, label: str) -> bool:
    """Does an outcome that is 1 for survivors stand beside a risk of dying, so that the event is its 0?

    >>> absent_event("p_death", "alive"), absent_event("p_survived", "died")
    (True, False)
    """
    return _side(parts(score)) > 0 > _side(parts(label))


def _side(words: frozenset[str]) -> int:
    """1 for words of dying, -1 for words of surviving, else 0."""
    return bool(words & _DEATH) - bool(words & _SURVIVAL)


def risk_columns(table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the names that may be the risk of an event: with different values in [0, 1], or called like a score.

    Of several in [0, 1], the ones called like a score decide; a name alone counts where no column is in [0, 1].

    >>> import numpy as np
    >>> columns = {"age": np.array([31.0, 52.0]), "dose": np.array([0.2, 0.3]), "fraud_score": np.array([0.1, 0.6])}
    >>> risk_columns(Table("a.csv", "csv", columns), tuple(columns)), risk_columns(Table("a.csv", "csv", columns), ())
    (('fraud_score',), ())
    """
    free = [name for name in names if not yes_or_no(two_values(table.columns[name]))]
    shares = [name for name in free if is_share(table, name)]
    called = [name for name in shares or free if parts(name) & _SCORE_WORDS and not parts(name) & NO_MODELS]
    return tuple(called or shares)
