"""Tables too large to be read are refused by the sizes in their headers."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits
from tests.support.sentences import matches

Refused = Callable[[bytes, str], str]


def npz(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, probs=array)
    return out.getvalue()


def test_many_constant_rows_of_parquet_are_refused_before_they_are_decoded(
    refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty million of them, in half a megabyte, took 6.4 GB."""
    monkeypatch.setenv(limits.VARIABLE, "1")
    rows = limits.ROWS + 1
    data = pd.DataFrame({"correct": np.ones(rows, dtype=np.int8)}).to_parquet(index=False, compression="zstd")
    assert len(data) < 1 << 17
    assert matches(
        refused(data, "a.parquet"),
        "a.parquet has 10,000,001 rows of 1 columns*1.16 GB*20 s*10,000,000 rows and 1.07 GB (CALIB_READ_GB *"
        "calib summarise*",
    )


@pytest.mark.parametrize("limit", ["ROWS", "memory"])
def test_every_format_is_limited_in_rows_and_in_what_they_cost(
    limit: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    if limit == "ROWS":
        monkeypatch.setattr(limits, "ROWS", 20)
    else:
        monkeypatch.setenv(limits.VARIABLE, str(20 * (limits.ROW_BYTES + 32) / (1 << 30)))
    p = np.full((21, 2), 0.5)
    frame = pd.DataFrame(p, columns=["p_a", "p_b"])
    lines = b'{"p_a": 0.5, "p_b": 0.5}\n' * 21
    files = {"a.csv": frame.to_csv(index=False).encode(), "a.parquet": frame.to_parquet(), "a.npz": npz(p)}
    files |= {"a.jsonl": lines} if limit == "ROWS" else {}
    for name, data in files.items():
        assert "21 rows of 2 columns" in refused(data, name), name
        assert "calib summarise" in refused(data, name), name


def test_the_memory_for_a_file_is_a_share_of_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(limits.VARIABLE, raising=False)
    for there, wanted in ((24 << 30, 6 << 30), (2 << 30, 1 << 30)):
        monkeypatch.setattr(limits, "memory", lambda there=there: there)
        assert limits.working_bytes() == wanted
    limits.check_rows("b.npz", limits.ROWS // 2, 1)
    monkeypatch.setenv(limits.VARIABLE, "0.5")
    assert limits.working_bytes() == 1 << 29
    with pytest.raises(InputError, match="5,000,000 rows of 1 columns"):
        limits.check_rows("b.npz", limits.ROWS // 2, 1)


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf", "all"])
def test_a_memory_that_is_no_number_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.VARIABLE, given)
    with pytest.raises(InputError, match=f"CALIB_READ_GB is {given!r}; it must be a number of GiB above 0"):
        limits.working_bytes()
