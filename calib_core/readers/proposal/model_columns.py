"""Several models whose scores stand side by side: risk_old and risk_new beside an event, p_old_cat, p_new_cat, ..."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from calib_core.predictions.event_names import NEGATIVE, POSITIVE
from calib_core.readers.number_texts import numbers_as_written
from calib_core.readers.proposal.label_codes import plain
from calib_core.readers.proposal.score_survey import evidence, survey
from calib_core.readers.table import Table

_WORDS = frozenset({"p", "prob", "probs", "proba", "probability", "risk", "score", "pred", "predicted", "prediction",
                    "phat", "yhat"})  # fmt: skip
"""What names of probabilities begin or end with."""
NO_MODELS = frozenset({"lower", "upper", "low", "high", "lo", "hi", "lcl", "ucl", "lci", "uci", "ci", "se", "sd",
                       "std", "var", "min", "max", "err", "error", "value", "threshold", "cutoff", "rank", "quantile",
                       "percentile", "propensity"})  # fmt: skip
"""What stands beside such a word where the column is an end of an interval, a limit or another number of one model."""
_APART = r"[\s_\-.:/]+"
_MOST = 0.9
"""Share of rows that must show that columns are classes of one model: a few broken rows do not make them models."""
_LOOKED_AT = 5000


class ScoreSets(NamedTuple):
    """Score columns, model after model with as many each; what the models are called, and the classes if names say."""

    scores: tuple[str, ...]
    models: tuple[str, ...]
    classes: tuple[str, ...] = ()


def side_by_side(table: Table, names: Sequence[str], labels: Collection[str]) -> ScoreSets | None:
    """The models whose scores these columns are; None where they are classes of one, or nothing tells.

    ``names`` are columns of numbers that could be scores, ``labels`` the different values of the labels. Columns of one
    row that sum to 1 are classes; those called as labels are, too.

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
    """Matrices of probabilities of one shape, each of another model; None of others."""
    matrices = [table.matrices[name][:_LOOKED_AT].astype(np.float64) for name in names]
    if len(matrices) < 2 or len({table.matrices[name].shape for name in names}) > 1:
        return None
    alike = all(evidence(matrix, survey(matrix))[0] == "probabilities" for matrix in matrices)
    return ScoreSets(tuple(names), tuple(names)) if alike else None


def is_share(table: Table, name: str) -> bool:
    """Does a column hold different numbers from 0 to 1, and not 0 and 1 alone, which are answers?"""
    values = numbers_as_written(table.column(name)[:_LOOKED_AT])
    known = values[~np.isnan(values)]
    inside = len(known) and ((known >= 0) & (known <= 1)).all() and ((known > 0) & (known < 1)).any()
    return bool(inside and (len(known) == 1 or known.min() < known.max()))


def sum_to_one(table: Table, names: Sequence[str]) -> bool:
    """Do the columns sum to 1 in nearly every row?"""
    values = np.column_stack([numbers_as_written(table.columns[name][:_LOOKED_AT]) for name in names])
    known = values[~np.isnan(values).any(axis=1)]
    return bool(len(known)) and float(np.mean(np.abs(known.sum(axis=1) - 1) < 0.05)) > _MOST


def _parsed(name: str) -> Iterator[tuple[str, bool, str]]:
    """The word of a score that a name begins or ends with, which of the two, and the rest."""
    parts = re.split(_APART, name.strip())
    if len(parts) == 1 and parts[0].casefold() in _WORDS:
        # The bare word, beside others that say more: risk and risk_new.
        yield from ((parts[0].casefold(), ends, "") for ends in (False, True))
    elif len(parts) > 1:
        for ends in (False, True):
            word = parts[-1 if ends else 0].casefold()
            if word in _WORDS and not NO_MODELS & {part.casefold() for part in parts}:
                yield word, ends, "_".join(parts[:-1] if ends else parts[1:])


def _by_model_and_class(table: Table, group: dict[str, str], labels: Collection[str]) -> ScoreSets | None:
    """A column for every model and every class, each of whose models sums to 1."""
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
