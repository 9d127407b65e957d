"""The law of other tools' files: every registered shape is written by something and read back as what was written."""

from __future__ import annotations

import numpy as np
import pytest

import calib_core as cc
from calib_core.readers import examine, propose, read_table
from calib_core.readers.foreign import known_shapes
from tests.corpus import llm_files, lm_eval_files  # noqa: F401
from tests.corpus.foreign_files import WRITERS, ForeignFile
from tests.corpus.promises import unfit

FILES = {f"{key}: {file.what}": (key, file) for key, every in WRITERS.items() for write in every for file in write()}


def test_every_shape_is_written_by_something() -> None:
    assert known_shapes().keys() <= WRITERS.keys()
    assert WRITERS.keys() <= known_shapes().keys()


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
    table = read_table(file.data, file.filename)
    assert table.origin == key
    found = cc.read_predictions(file.data, file.filename, **file.chosen)
    np.testing.assert_allclose(found.confidence, file.confidence, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.correct, file.correct)
    findings = examine(table, propose(table, **file.chosen))
    assert any(known_shapes()[key].title in finding.message for finding in findings)
    assert not any(finding.severity == "problem" for finding in findings)
    assert not file.asks or any(file.asks in finding.message for finding in findings)
    for finding in findings:
        assert not unfit(finding.message)
        if finding.code == "foreign" and finding.change is not None:
            other = propose(table, **file.chosen).replace(**finding.change)
            assert all(each.severity != "problem" for each in examine(table, other)), finding.change_label


def refused(file: ForeignFile) -> list[str]:
    """The sentence with which a file is refused, if it is."""
    try:
        table = read_table(file.data, file.filename)
        propose(table, **file.chosen)
    except cc.InputError as e:
        return [str(e)]
    return []
