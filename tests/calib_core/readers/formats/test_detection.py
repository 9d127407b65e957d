"""One set of predictions through every format, and files whose name and bytes disagree."""

from __future__ import annotations

import io
import pathlib
import random
import zipfile
from collections.abc import Callable

import numpy as np
import pytest

import calib_core as cc
from calib_core.predictions.predictions import InputError, Predictions
from calib_core.readers import examine, limits, predictions, propose, read_predictions, read_table
from calib_core.readers.table import Table
from tests.support.sentences import matches

CLASSES = ("cat", "dog", "bird")
Refused = Callable[[bytes, str], str]
Formatted = Callable[[str], tuple[bytes, str]]
FORMATS = ["csv", "semicolon", "tsv", "parquet", "jsonl", "jsonl-list", "npz", "npz-packed", "npy"]
NAMELESS = {"jsonl-list", "npy"}


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_same_predictions(form: str, formatted: Formatted, sample: Predictions) -> None:
    data, filename = formatted(form)
    got = read_predictions(data, filename)
    assert np.array_equal(got.probs, sample.probs)
    assert np.array_equal(got.true_labels, sample.true_labels)
    assert got.class_names == (("0", "1", "2") if form in NAMELESS else CLASSES)
    assert got.notes == sample.notes


def test_a_path_is_read_like_its_bytes(formatted: Formatted, sample: Predictions, tmp_path: pathlib.Path) -> None:
    data, filename = formatted("npz")
    (tmp_path / filename).write_bytes(data)
    for path in (tmp_path / filename, str(tmp_path / filename)):
        assert np.array_equal(read_predictions(path).probs, sample.probs)
        table = cc.read_table(path)
        assert (table.name, table.names) == (filename, read_table(data, filename).names)
        assert cc.read_table(path, "held-out.npz").name == "held-out.npz"


def test_paths_that_cannot_be_opened(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError) as caught:
        read_predictions(tmp_path / "nothing.csv")
    assert str(caught.value) == "nothing.csv cannot be opened (No such file or directory); check the path"
    with pytest.raises(InputError, match="not a path"):
        read_predictions("a\0.csv")
    with pytest.raises(InputError, match="bytes need a file name"):
        read_predictions(b"p,y\n")
    with pytest.raises(InputError, match="bytes need a file name"):
        cc.read_table(b"p,y\n")
    monkeypatch.setattr(limits, "FILE_BYTES", 10)
    (tmp_path / "a.csv").write_bytes(b"p,y\n" + b"0.5,1\n" * 9)
    with pytest.raises(InputError) as caught:
        read_predictions(tmp_path / "a.csv")
    assert matches(str(caught.value), "a.csv has 58 bytes; * 10 bytes*")


DISAGREE = {
    ("csv", "preds.npz"): "preds.npz is not NPZ *CSV; *.csv",
    ("csv", "preds.parquet"): "preds.parquet is not Parquet *CSV; *.csv",
    ("npz", "preds.csv"): "preds.csv is not CSV *NPZ; *.npz",
    ("npy", "preds.npz"): "preds.npz is not NPZ *NPY; *.npy",
    ("parquet", "preds.npy"): "preds.npy is not NPY *Parquet; *.parquet",
    ("jsonl", "preds.csv"): "preds.csv is not CSV *JSON Lines; *.jsonl",
}


@pytest.mark.parametrize(("form", "filename"), DISAGREE)
def test_name_and_bytes_that_disagree(form: str, filename: str, refused: Refused, formatted: Formatted) -> None:
    assert matches(refused(formatted(form)[0], filename), DISAGREE[form, filename])


@pytest.mark.parametrize("form", FORMATS)
def test_unknown_endings_go_by_the_bytes(form: str, formatted: Formatted) -> None:
    assert read_table(formatted(form)[0], "upload").n_rows == 40


def test_formats_that_are_not_read(refused: Refused) -> None:
    assert "a.feather could not be read safely" in refused(b"ARROW1\0\0rest", "a.feather")
    assert "Feather" in refused(b"FEA1....", "a.parquet")
    assert refused(b"\x89HDF\r\n", "a.h5") == "a.h5 is an HDF5 file; save its arrays with numpy.savez"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", "<x/>")
    assert refused(out.getvalue(), "a.xlsx") == ("a.xlsx is a document of another program; save the table as CSV")


def test_file_names_are_cut_and_kept_to_one_line(refused: Refused) -> None:
    assert refused(b"", "../../etc/" + "x" * 500 + ".csv") == "x" * 79 + "… is empty (0 bytes); choose another file"
    assert refused(b"", "a\r\nb.csv").startswith("a\\r\\nb.csv is empty")


def test_too_large_files(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FILE_BYTES", 3)
    assert matches(refused(b"p,y\n1,2\n", "a.csv"), "a.csv has 8 bytes; * 3 bytes*")


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return the data with one to eight bytes changed, dropped, doubled or cut."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(out))
        match rng.randrange(5):
            case 0:
                out[at] = rng.randrange(256)
            case 1:
                out[at] ^= 1 << rng.randrange(8)
            case 2:
                del out[at : at + rng.randint(1, 4)]
            case 3:
                out[at:at] = out[at : at + rng.randint(1, 16)]
            case _:
                out[at] = rng.choice(b'\0\n\r,;"{}[]0-\xff')
        if not out:
            return b""
    return bytes(out)


@pytest.mark.parametrize("form", [f for f in FORMATS if f != "parquet"])
def test_mutated_files_are_read_or_refused(form: str, formatted: Formatted) -> None:
    data, filename = formatted(form)
    rng = random.Random(form)
    for _ in range(200):
        _read_or_refuse(mutated(data, rng), filename)


def test_mutated_parquet_is_read_or_refused(formatted: Formatted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoding in this process makes a crash visible; a child per file would hide it."""
    monkeypatch.setattr("calib_core.readers.formats.parquet._HAS_LIMITS", False)
    data, filename = formatted("parquet")
    rng = random.Random(1)
    for _ in range(300):
        _read_or_refuse(mutated(data, rng), filename)


def test_a_few_mutants_go_through_the_child(formatted: Formatted) -> None:
    data, filename = formatted("parquet")
    rng = random.Random(2)
    for _ in range(6):
        _read_or_refuse(mutated(data, rng), filename)


def _read_or_refuse(data: bytes, filename: str) -> None:
    try:
        table = read_table(data, filename)
        assert isinstance(table, Table)
        reading = propose(table)
        examine(table, reading)
        predictions(table, reading)
    except InputError as e:
        said = str(e)
        assert "\n" not in said
        assert len(said) < 900
