"""What keeps columns from being recognised as scores, where they are called like scores."""

from __future__ import annotations

import re

import numpy as np

from calib_core.predictions.predictions import InputError
from calib_core.readers.messages import quoted
from calib_core.readers.number_texts import numbers
from calib_core.readers.proposal.column_roles import class_of, role
from calib_core.readers.table import Table

_SCORES = ("probabilities", "logits", "log-probabilities")
_PREFIX = re.compile(r"(y_)?(pred_)?p(rob|roba|robability)?s?|logits?|z|softmax|log_?(probs?|softmax)")


def check_for_scores(table: Table) -> None:
    """InputError where scores are not numbers, or the whole table is one column; nothing where names are only strange.

    >>> check_for_scores(Table("a.csv", "csv", {"p y": np.array(["0.7 1"], dtype=object)}))
    Traceback (most recent call last):
    ...
    calib_core._base.errors.InputError: a.csv: it was read as one column, "p y"; separate a score column a class and \
the labels by commas, semicolons or tabs, below one header line
    """
    if table.format == "csv" and len(table.names) == 1:
        raise InputError(
            f"{table.name}: it was read as one column, {quoted(table.names[0])}; separate a score column a class and "
            "the labels by commas, semicolons or tabs, below one header line"
        )
    for name in table.columns:
        found = class_of(name)
        called = role(name) in _SCORES or (found is not None and _PREFIX.fullmatch(found[0]))
        if called and np.isnan(numbers(table.numeric(name))).all():
            raise InputError(f"{table.name}, column {quoted(name)} holds no number; fill in the scores")
