"""Every registered file shape of another tool can be written, and is read back with the same content."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import calib_core as cc
from calib_core.readers import examine, predictions, propose
from calib_core.readers.tool_shapes import known_shapes
from tests.corpus.every_writer import WRITERS
from tests.corpus.foreign_files import ForeignFile
from tests.corpus.promises import unfit

pytest.importorskip("pyarrow")  # one shape is written with it
FILES = {f"{key}: {file.what}": (key, file) for key, every in WRITERS.items() for write in every for file in write()}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decode Parquet in this process: a process per file would load pyarrow again each time."""
    monkeypatch.setattr("calib_core.readers.formats.parquet._HAS_LIMITS", False)


def test_every_shape_is_written_by_something() -> None:
    assert known_shapes().keys() <= WRITERS.keys()
    assert WRITERS.keys() <= known_shapes().keys()


@pytest.mark.usefixtures("here")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("which", FILES)
def test_a_file_is_read_as_what_was_written_or_asks(which: str) -> None:
    key, file = FILES[which]
    sentences = refused(file)
    if file.confidence is None:
        assert len(sentences) == 1
        assert file.asks in sentences[0]
        assert sentences[0].startswith(file.filename)
        assert not unfit(sentences[0])
        return
    table = file.table
    assert table.origin == key
    found = predictions(table, propose(table, **file.chosen))
    if not file.labels:
        assert cc.read_predictions(file.data, file.filename, **file.chosen).n_rows == found.n_rows
    np.testing.assert_allclose(found.confidence, file.confidence, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.correct, file.correct)
    for name, column in (found.metadata if found.metadata is not None else pd.DataFrame()).items():
        assert not tells(column, found.correct), f"{name} tells which rows are right, and slices are made of it"
    findings = examine(table, propose(table, **file.chosen))
    assert any(known_shapes()[key].title in finding.message for finding in findings)
    assert not any(finding.severity == "problem" for finding in findings)
    assert not file.asks or any(file.asks in finding.message for finding in findings)
    for finding in findings:
        assert not unfit(finding.message)
        if finding.code == "foreign" and finding.change is not None:
            other = propose(table, **file.chosen).replace(**finding.change)
            assert all(each.severity != "problem" for each in examine(table, other)), finding.change_label


def tells(column: pd.Series, correct: NDArray[np.bool_]) -> bool:
    """Return True if a column of few values always differs between right and wrong answers."""
    few, both = 1 < column.nunique() < len(column) / 2, correct.any() and not correct.all()
    return bool(few and both and pd.Series(correct).groupby(column.to_numpy()).nunique().eq(1).all())


def refused(file: ForeignFile) -> list[str]:
    """Return the message with which a file is refused, if it is."""
    try:
        propose(file.table, **file.chosen)
    except cc.InputError as e:
        return [str(e)]
    return []
