"""Outcome of a bad file, compared with its guarantee."""

from __future__ import annotations

import unicodedata
import warnings
from typing import Any

import numpy as np

import calib_core as cc
from calib_core.readers import examine, propose, read_table
from calib_core.readers.table import file_label
from tests.corpus.bad_files import BadFile

LONGEST = 900
"""Maximum characters of a message: two lines on a wide terminal are read, a page is not."""


def broken_promise(file: BadFile) -> str:
    """Return the deviation from the guaranteed outcome of a file; empty if there is none."""
    said, found = answer(file)
    if faults := unfit(said):
        return f"{faults}: {said}"
    if file.finds:
        if said:
            return f"is refused: {said}"
        if not any(code == file.finds and file.says in message for code, message in found):
            return f"is read with {found}"
    elif not said:
        return "is read"
    elif file.says not in said:
        return f"is refused otherwise: {said}"
    elif not file.chosen and not said.startswith(file_label(file.filename)):
        return f"does not name the file: {said}"
    return ""


def answer(file: BadFile) -> tuple[str, list[tuple[str, str]]]:
    """Return the message with which a file is refused, or the codes and messages of its findings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            check(cc.read_predictions(file.data, file.filename, **file.chosen))
        table = read_table(file.data, file.filename)
        findings = examine(table, propose(table, **file.chosen))
    except cc.InputError as e:
        return str(e), []
    return "", [(finding.code, finding.message) for finding in findings]


def unfit(sentence: str) -> str:
    """Return why a message is not safe on a terminal or a page; empty if it is."""
    if len(sentence) > LONGEST:
        return f"{len(sentence)} characters"
    hidden = {c for c in sentence if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")}
    if hidden:
        return "characters that are not shown"
    return "words of Python" if "Error" in sentence or "Traceback" in sentence or "object at 0x" in sentence else ""


def check(found: Any) -> None:
    """Check predictions from any file: in the simplex, of known classes, of finite weights."""
    if not isinstance(found, cc.Predictions):
        assert found.n_rows > 0
        return
    assert found.n_rows > 0
    assert ((found.confidence >= 0) & (found.confidence <= 1)).all()
    if found.kind == "full":
        assert found.probs.shape == (found.n_rows, found.n_classes)
        assert (found.probs >= 0).all()
        assert np.abs(found.probs.sum(axis=1, dtype=np.float64) - 1).max() <= 1e-5 * found.n_classes
    if found.weights is not None:
        assert np.isfinite(found.weights).all()
        assert (found.weights >= 0).all()
        assert 0 < found.weights.sum() < np.inf
