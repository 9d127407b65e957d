"""JSON Lines: exact numbers, one shape throughout, and refusals by line of what JSON readers let pass."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_core.readers import limits, read_table
from tests.support.sentences import matches

Refused = Callable[[bytes, str], str]


@given(st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3), min_size=1))
def test_numbers_are_exact(rows: list[list[float]]) -> None:
    data = "\n".join(json.dumps({"z": row, "y": 0}) for row in rows).encode()
    assert read_table(data, "a.jsonl").matrices["z"].tolist() == rows


def test_kinds_of_values() -> None:
    data = (
        b'\xef\xbb\xbf{"p": 0.5, "n": 1, "t": "None", "b": true, "m": null, "id": 99999999999999999999}\r\n\n'
        b'{"p": 1, "n": 2, "t": null, "b": false, "m": null, "id": 1}\n'
    )
    table = read_table(data, "a.jsonl")
    assert {name: column.tolist() for name, column in table.columns.items()} == {
        "p": [0.5, 1.0],
        "n": [1, 2],
        "t": ["None", ""],
        "b": ["true", "false"],
        "m": ["", ""],
        "id": ["99999999999999999999", "1"],
    }
    assert table.place(1) == "line 3 (row 1)"


def test_null_numbers_are_missing() -> None:
    table = read_table(b'{"p": 0.5, "z": [1, null]}\n{"p": null, "z": [1, 2]}\n', "a.jsonl")
    np.testing.assert_array_equal(table.columns["p"], [0.5, np.nan])
    np.testing.assert_array_equal(table.matrices["z"], [[1, np.nan], [1, 2]])


GOOD = b'{"p": 0.5}\n'
EXAMPLE = '* one object per line, such as {"probs": [0.7, 0.3], "label": 0}'
REFUSED = {
    GOOD + b'{"p": 1e999}': 'a.jsonl, line 2: "1e999" is too large*',
    GOOD + b'{"p": ' + b"9" * 5000 + b"}": f"a.jsonl, line 2 has an integer with too many digits{EXAMPLE}",
    GOOD + b'{"p": 1, "p": 2}': 'a.jsonl, line 2: key "p" occurs twice*',
    GOOD + b'{"p": ' + b"[" * 200_000: "a.jsonl, line 2 is nested too deeply*",
    GOOD + b'{"p": 0.5': f"a.jsonl, line 2 is not valid JSON{EXAMPLE}",
    GOOD + b"[0.5]": f"a.jsonl, line 2 is not an object{EXAMPLE}",
    GOOD + b'{"q": 0.5}': 'a.jsonl, line 2 has no "p"*',
    GOOD + b'{"p": 0.5, "q": 1}': 'a.jsonl, line 2 has "q", *',
    GOOD + b'{"p": "a"}': 'a.jsonl, line 2, key "p" has text, *a number*',
    GOOD + b'{"p": true}': 'a.jsonl, line 2, key "p" has true or false, *a number*',
    GOOD + b'{"p": {"a": 1}}': 'a.jsonl, line 2, key "p" *an object*',
    b'{"p": [1, 2]}\n{"p": [1]}': 'a.jsonl, line 2, key "p" has 1 values * 2;*',
    b'{"p": []}': 'a.jsonl, line 1, key "p" is an empty list*',
    b'{"p": [1, "a"]}': 'a.jsonl, line 1, key "p" *not a number*',
    b'{"p": [[1]]}': 'a.jsonl, line 1, key "p" *not a number*',
    b'{"p": [1]}\n{"p": null}': 'a.jsonl: key "p" is null on some lines*',
    b'{"p": 0.5}\n{"p": ' + b"9" * 400 + b"}": 'a.jsonl: key "p" has an integer that is too large*',
    b'{"y": "\\ud800"}': "a.jsonl, line 1 *half of a surrogate pair*",
    b'{"\\ud800": 1}': "a.jsonl, line 1 *half of a surrogate pair*",
    b'{"": 1}': "a.jsonl, line 1: a key is empty or has more than 256 characters; rename it",
    b"{\x00}": "a.jsonl, line 1: *NUL byte*",
    b"{}": "a.jsonl has no keys*",
}


@pytest.mark.parametrize(("data", "said"), REFUSED.items(), ids=range(len(REFUSED)))
def test_refusals(data: bytes, said: str, refused: Refused) -> None:
    assert matches(refused(data, "a.jsonl"), said)


def test_limits(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = json.dumps({f"k{i}": 0 for i in range(limits.COLUMNS + 1)}).encode()
    assert matches(refused(wide, "a.jsonl"), "a.jsonl, line 1 has 4,097 keys; * 4,096")
    monkeypatch.setattr(limits, "LINE_BYTES", 1 << 20)
    assert "longer than 1 MB" in refused(b'{"p": "' + b"x" * (1 << 20) + b'"}', "a.jsonl")
    monkeypatch.setattr(limits, "DECODED_BYTES", 16)
    assert "more than 16 bytes of values" in refused(GOOD * 3, "a.jsonl")
