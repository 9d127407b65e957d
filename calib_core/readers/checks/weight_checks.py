"""A finding about a column named as weights are: it is proposed, and counts nothing until it is chosen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calib_core.predictions.predictions import InputError
from calib_core.predictions.validation import effective_rows
from calib_core.readers.checks.finding import Finding
from calib_core.readers.checks.subject import Subject
from calib_core.readers.messages import quoted
from calib_core.readers.number_texts import numbers
from calib_core.readers.proposal.column_roles import named


def unused_weights(subject: Subject) -> Iterator[Finding]:
    """A column of numbers that is called weights, and is not used as such: body weights are called so too."""
    table, reading = subject.table, subject.reading
    if reading.weights is not None:
        return
    for name in named(table.columns, "weights"):
        if name in reading.used or len(table.columns[name]) != table.n_rows:
            continue
        try:
            values = numbers(table.numeric(name))
        except InputError:
            continue
        known = values[np.isfinite(values) & (values >= 0)]
        if not known.any():
            continue
        worth = effective_rows(len(known), known / known.max())
        yield Finding(
            "note",
            "weights",
            f"The column {quoted(name)} ({known.min():.4g} to {known.max():.4g}) is not used: every row counts once. "
            f"If it says how much each row counts, the {len(values):,} rows are worth about {worth:,.0f} equal ones.",
            {"weights": name},
            f"Rows count as {quoted(name)} says",
        )
        return
