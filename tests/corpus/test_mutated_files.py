"""Damaged files of every format: sound predictions, or one message; never another exception."""

from __future__ import annotations

import numpy as np
import pytest

from calib_core import InputError, Predictions, read_predictions
from tests.corpus import mutations
from tests.corpus.mutations import foreign_files, good_files, mutants, outcome

pytest.importorskip("pyarrow")
FILES = good_files()
FOREIGN = foreign_files()


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decode Parquet in this process, so that a crash is visible; a child per file would hide it."""
    monkeypatch.setattr("calib_core.readers.formats.parquet._HAS_LIMITS", False)


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


def test_a_table_of_h2o_with_one_number_left_is_refused() -> None:
    """In the other classes' columns, a letter made texts."""
    with pytest.raises(InputError, match=r"predictions\.csv"):
        read_predictions(b"predict,a,b,response\na,0.5,x,a\nb,0.25,y,b\n", "predictions.csv")


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
