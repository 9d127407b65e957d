"""Damaged files of every format: predictions that are sound, or one sentence; never another exception."""

from __future__ import annotations

import numpy as np
import pytest

from calib_core import Predictions
from tests.corpus import mutations
from tests.corpus.mutations import foreign_files, good_files, mutants, outcome

pytest.importorskip("pyarrow")
FILES = good_files()
FOREIGN = foreign_files()


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet is decoded in this process, so that a crash is seen; a child a file would hide it."""
    monkeypatch.setattr("calib_core.readers.parquet._HAS_LIMITS", False)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("form", FILES)
def test_damaged_files_are_read_or_refused(form: str) -> None:
    data, filename = FILES[form]
    assert outcome(data, filename) == "read"
    outcomes = [outcome(damaged, filename) for damaged in mutants(form, data, 60, seed=1)]
    assert "refused" in outcomes


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("form", FOREIGN)
def test_damaged_files_of_other_tools_are_read_or_refused(form: str) -> None:
    data, filename = FOREIGN[form]
    outcomes = [outcome(damaged, filename) for damaged in (data, *mutants(form, data, 12, seed=1))]
    assert "refused" in outcomes


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_files_of_most_other_tools_are_damaged_that_are_read() -> None:
    assert sum(outcome(*file) == "read" for file in FOREIGN.values()) >= 15


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_unsound_predictions_and_other_exceptions_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    data, filename = FILES["csv"]
    unsound = Predictions([[0.7, 0.3]], [0])
    object.__setattr__(unsound, "weights", np.array([np.inf]))
    monkeypatch.setattr(mutations, "read_predictions", lambda *_: unsound)
    with pytest.raises(AssertionError):
        outcome(data, filename)
    monkeypatch.setattr(mutations, "read_predictions", lambda *_: {}["x"])
    with pytest.raises(KeyError):
        outcome(data, filename)
