"""Golden numbers do not move by accident: those in ``bits.txt`` are recomputed in a separate process and compared.

Bits on the machine and versions of the file, 1e-9 elsewhere; the output states which. Record an intended change as
described in ``make.py``.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib_core import NotAnswerable
from tests.golden_bits import make, walk

ROOT = Path(__file__).parents[2]


def test_no_number_has_moved():
    # Linear algebra reads its number of threads once: a fresh process can still set it.
    done = subprocess.run(
        [sys.executable, "-m", "tests.golden_bits.make", "--check"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stdout.write(done.stdout)  # in which mode
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def kept():
    return {"data/a": "sha256:1", "bins/a/x": "0.1", "bins/a/word": '"within"', "choose/a/b": "sha256:2 10 float64"}


@pytest.mark.parametrize(
    "change",
    [
        {"bins/a/x": "0.10000000000000002"},
        {"bins/a/word": '"too few rows to tell"'},
        {"choose/a/b": "sha256:3 10 float64"},
        {"bins/a/y": "1.0"},
        {"data/a": "sha256:9"},
    ],
)
def test_a_bit_a_word_a_hash_and_a_new_number_are_seen(kept, change):
    report = make.compare(kept, {**kept, **change}, exact=True)
    assert not report.ok
    assert next(iter(change)).removeprefix("data/") in report.text


def test_a_number_that_is_gone_is_seen(kept):
    gone = {key: value for key, value in kept.items() if key != "bins/a/x"}
    assert make.compare(kept, gone, exact=True).moved == [("bins/a/x", "0.1", make.MISSING)]
    assert not make.compare(kept, gone, exact=False).ok


def test_other_machines_may_differ_in_last_bits_alone(kept):
    for near in ({"bins/a/x": "0.10000000000000002"}, {"choose/a/b": "sha256:3 10 float64"}):
        assert make.compare(kept, {**kept, **near}, exact=False).ok
    for far in ({"bins/a/x": "0.1000001"}, {"bins/a/word": '"x"'}, {"choose/a/b": "sha256:3 11 float64"}):
        assert not make.compare(kept, {**kept, **far}, exact=False).ok


def test_a_number_reads_back_to_the_same_bits():
    values = np.random.default_rng(0).random(100) * 10.0 ** np.arange(-50, 50)
    assert all(float(walk.number(value)) == value for value in values)
    assert [walk.number(v) for v in (np.nan, -0.0, np.inf, True, 3, np.float32(0.1))] == [
        "nan", "-0.0", "inf", "true", "3", "f32 0.10000000149011612"]  # fmt: skip


def test_results_are_walked_without_their_words():
    table = pd.DataFrame({"gap": [0.5, None], "verdict": ["within", ""], "sentence": ["It is right.", "It is wrong."]})
    assert dict(walk.walk("a", {"table": table, "note": "words", "left": None})) == {
        "a/table/lines": "2",
        "a/table/gap/00": "0.5",
        "a/table/gap/01": "nan",
        "a/table/verdict/00": '"within"',
        "a/table/verdict/01": '""',
        "a/left": "none",
    }


def test_a_long_array_is_kept_whole_as_its_hash():
    values = np.arange(100.0)
    other = values.copy()
    other[37] = np.nextafter(37.0, 38.0)
    first, second = dict(walk.walk("a", values)), dict(walk.walk("a", other))
    assert {key for key in first if first[key] != second[key]} == {"a/bytes"}


def test_a_refusal_is_kept_as_its_class():
    def refuse():
        raise NotAnswerable("some words")

    assert list(walk.kept("a", refuse)) == [("a", "!NotAnswerable")]
    assert list(walk.kept("a", lambda: 1 // 0)) == [("a", "!! ZeroDivisionError")]


def test_what_is_kept_reads_back(tmp_path, kept):
    make.write({"python": "3"}, kept, tmp_path / "bits.txt")
    assert make.read(tmp_path / "bits.txt") == ({"python": "3"}, kept)
