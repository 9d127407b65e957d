"""Files without a header: columns are named by their places, and a warning states it until columns are chosen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from calib_core.readers import StreamedFile, examine, propose, read_predictions, read_table, streams

Refused = Callable[[bytes, str], str]

RNG = np.random.default_rng(3)
P = RNG.dirichlet([1, 1, 1], 60).round(4)
P[:, 2] = 1 - P[:, 0] - P[:, 1]
Y = np.array([RNG.choice(3, p=row) for row in P])
RISK = P[:, 0]
EVENT = (RNG.random(60) < RISK).astype(int)


def lines(*columns: object, between: str = ",") -> bytes:
    return "".join(f"{between.join(map(str, row))}\n" for row in zip(*columns, strict=True)).encode()


FILES = {
    "a risk": lines(RISK, EVENT),
    "an outcome and a risk": lines(EVENT, RISK),
    "semicolons": lines(RISK, EVENT, between=";"),
    "semicolons and decimal commas": lines(RISK, EVENT, between=";").replace(b".", b","),
    "a name and a risk": lines([f"img{i}.png" for i in range(60)], RISK, EVENT),
    "classes": lines(*P.T, Y),
    "a name and classes": lines([f"img{i}.png" for i in range(60)], *P.T, Y),
}


@pytest.mark.parametrize("what", FILES)
def test_numbers_are_read_with_a_warning(what: str) -> None:
    table = read_table(FILES[what], "a.csv")
    reading = propose(table)
    with pytest.warns(UserWarning, match="The header line is missing: line 1 has data"):
        found = read_predictions(FILES[what], "a.csv")
    if "classes" in what:
        np.testing.assert_allclose(found.probs, P, atol=1e-12)
        np.testing.assert_array_equal(found.true_labels, Y)
    else:
        np.testing.assert_allclose(found.probs[:, 1], RISK, atol=1e-12)
        np.testing.assert_array_equal(found.true_labels, EVENT)
    doubt = next(each for each in examine(table, reading) if each.code == "no-header")
    assert doubt.blocks()
    assert not doubt.blocks(doubt.change or {})
    assert table.place(0) == "line 1 (row 0)"
    assert table.notes in ((), ("Decimal commas (0,5) were read as decimal points (0.5).",))


def test_names_of_pictures_are_no_labels(refused: Refused) -> None:
    data = lines([f"img{i}.png" for i in range(60)], *P.T)
    with pytest.raises(ValueError, match="no column is recognized as the labels"):
        read_predictions(data, "a.csv")


HEADERS = {
    "a header": b"risk,event\n0.5,1\n0.25,0\n",
    "whole numbers": b"0,1,label\n0.5,0.5,1\n0.25,0.75,0\n",
    "a name with digits": b"p0.5,y\n0.5,1\n0.25,0\n",
}


@pytest.mark.parametrize("what", HEADERS)
def test_a_header_has_no_warning(what: str) -> None:
    table = read_table(HEADERS[what], "a.csv")
    assert table.n_rows == 2
    assert not table.doubts


NEITHER = {
    "whole numbers only": b"1,0\n0,1\n",
    "a name above numbers": b"id,0.05,0.95\n7,0.2,0.8\n8,0.3,0.7\n",
    "words below a number": b"0.5,1\nhigh,0\nlow,1\n",
    "one line": b"0.5,1\n",
}


@pytest.mark.parametrize("what", NEITHER)
def test_a_first_line_that_may_be_either_is_refused(what: str, refused: Refused) -> None:
    assert "the header line is missing" in refused(NEITHER[what], "a.csv")


def test_the_first_row_is_read_once_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    risk = np.round(np.linspace(0.001, 0.999, 500), 4)
    for between in (",", "\t"):
        path = tmp_path / "a.csv"
        path.write_bytes(lines(risk, np.arange(500) % 2, between=between))
        monkeypatch.setattr(streams, "TEXT_BYTES", 1000)
        parts = list(StreamedFile(path))
        assert len(parts) > 2
        assert np.array_equal(np.concatenate([part.probs[:, 1] for part in parts]), risk)
