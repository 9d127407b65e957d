"""Findings about labels of another file: who has no partner there, and what speaks for rows joined by place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from calib_core.readers.checks.finding import Finding
from calib_core.readers.checks.subject import Subject
from calib_core.readers.messages import listed
from calib_core.readers.proposal.label_codes import label_texts
from calib_core.readers.table import LabelJoin
from calib_core.text import count, percent, several


def labels_elsewhere(subject: Subject) -> Iterator[Finding]:
    """What the join left over on both sides; of rows joined by place also how well labels fit."""
    if (met := subject.table.joined) is not None:
        yield from join_findings(met, "" if met.key else _fit(subject), _sharing(subject) if met.key else 0)


def join_findings(met: LabelJoin, fit: str = "", shared: int = 0) -> Iterator[Finding]:
    """What is to be known of a join; ``fit`` says how well the labels fit rows that were joined by place.

    ``shared``: how many rows have a key, and so a label, that others have too.

    >>> met = LabelJoin("p.csv", "y.csv", ("id",), 7, left_out=2, left_out_places="row 3")
    >>> [each.code for each in join_findings(met)]
    ['joined', 'unlabelled']
    """
    if met.key is None:
        return  # findings of the shape say what was joined
    if met.key:
        joined = f"{count(met.rows - met.left_out)} of {several(met.rows)} of {met.scores} have a label in {met.labels}"
        yield Finding("note", "joined", f"{joined}, joined by {listed(met.key)}.")
        if shared:
            share = f"{several(shared)} of {met.scores} share {listed(met.key)}, and so a label, with others: are they "
            which = "of several models, attempts at one question, or different rows whose keys were rounded?"
            yield Finding("warning", "shared-labels", share + which)
    else:
        by_place = f"Row i of {met.scores} is joined with row i of {met.labels} by its place alone; both have "
        yield Finding("warning", "joined-by-place", f"{by_place}{several(met.rows)}.{fit}")
    if met.left_out:
        has, are = ("has", "is") if met.left_out == 1 else ("have", "are")
        yield Finding(
            "warning",
            "unlabelled",
            f"{several(met.left_out)} of {met.scores} {has} no label in {met.labels} and {are} left out: "
            f"{met.left_out_places}.",
        )
    if met.unused:
        yield Finding(
            "warning",
            "unpredicted",
            f"{several(met.unused, 'labels')} of {met.labels} {'has' if met.unused == 1 else 'have'} no prediction in "
            f"{met.scores}: {met.unused_places}. If the model was asked about them, what it left out is not judged.",
        )


def _sharing(subject: Subject) -> int:
    """Rows of one model that share their key with others, where nothing says yet that they belong together."""
    if subject.reading.group is not None or (met := subject.table.joined) is None:
        return 0
    keys = [label_texts(subject.table.columns[name]) for name in met.key or () if name in subject.table.columns]
    return int(pd.MultiIndex.from_arrays(keys).duplicated(keep=False).sum()) if keys else 0


def _fit(subject: Subject) -> str:
    """How often predictions are right beside these labels, and beside labels in any order."""
    if subject.reading.layout != "wide" or subject.refused or not (known := subject.labels.codes >= 0).any():
        return ""
    predicted, truth = subject.predicted[known], subject.labels.codes[known]
    shuffled = float(np.bincount(predicted, minlength=subject.k) @ np.bincount(truth, minlength=subject.k))
    right, by_chance = percent(subject.accuracy(subject.labels.codes)), percent(shuffled / len(truth) ** 2)
    return f" So joined, {right} of predictions are right; labels in any order would make {by_chance} right."
