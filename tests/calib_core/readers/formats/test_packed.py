"""Compressed text, archives with one table, and known formats that are not read."""

from __future__ import annotations

import ast
import bz2
import gzip
import io
import lzma
import pathlib
import sys
import zipfile
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from calib_core.predictions.predictions import InputError, Predictions
from calib_core.readers import limits, packed, read_predictions, read_table, streams
from calib_core.readers.file_format import unpacked_bytes
from calib_core.readers.formats.unread import UNREAD
from calib_core.readers.streams import StreamedFile

zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
Refused = Callable[[bytes, str], str]
Formatted = Callable[[str], tuple[bytes, str]]
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
}


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("form", ["csv", "jsonl", "npz"])
def test_packed_files_are_read_like_their_contents(
    ending: str, form: str, formatted: Formatted, sample: Predictions
) -> None:
    data, filename = formatted(form)
    small = PACKERS[ending](data)
    for name in (f"{filename}.{ending}", filename, "upload"):
        assert np.array_equal(read_predictions(small, name).probs, sample.probs), name
    assert np.array_equal(read_predictions(data, f"{filename}.{ending}").probs, sample.probs), "unpacked by a browser"
    assert unpacked_bytes(small) == max(len(data), len(small))


@pytest.mark.parametrize("ending", PACKERS)
def test_several_streams_are_one_file_and_zeros_may_follow(ending: str) -> None:
    pack = PACKERS[ending]
    data = pack(b"p,y\n0.5,1\n") + pack(b"0.25,0\n") + bytes(16)
    assert read_table(data, f"a.csv.{ending}").columns["p"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize("ending", PACKERS)
def test_what_unpacks_to_too_much_is_refused(ending: str, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = PACKERS[ending](bytes(40 << 20))
    assert len(bomb) < 1 << 16
    monkeypatch.setattr(limits, "FILE_BYTES", 4 << 20)
    assert f"a.csv.{ending} unpacks to more than 4.19 MB, the maximum" in refused(bomb, f"a.csv.{ending}")
    assert unpacked_bytes(bomb) <= (4 << 20) + (1 << 20), "counting stops at the limit"


@pytest.mark.parametrize("ending", PACKERS)
def test_damaged_and_nested_packings_are_refused(ending: str, refused: Refused) -> None:
    data = PACKERS[ending](b"p,y\n" + b"0.5,1\n" * 500)
    overwritten = data[: len(data) // 2] + b"xxxx" + data[len(data) // 2 + 4 :]
    # Without a checksum, as Python writes Zstandard, changed content may be valid.
    for damaged in (data[:-9], data[:12], *([overwritten] if ending != "zst" else [])):
        assert "is damaged or cut off and cannot be unpacked" in refused(damaged, f"a.csv.{ending}")
        assert unpacked_bytes(damaged) >= len(damaged)
    assert "is packed twice; unpack it once" in refused(PACKERS[ending](data), f"a.csv.{ending}.{ending}")
    assert "is empty when it is unpacked" in refused(PACKERS[ending](b""), f"a.csv.{ending}")
    assert "is a picture" in refused(PACKERS[ending](b"\x89PNG\r\n\x1a\n"), f"a.{ending}")


def test_a_dictionary_of_xz_is_limited(refused: Refused) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}]
    data = lzma.compress(b"p,y\n0.5,1\n", filters=filters)
    assert "cannot be unpacked" in refused(data, "a.csv.xz")


def test_without_zstd_the_sentence_names_the_extra(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise ImportError

    monkeypatch.setattr(packed, "_zstd", absent)
    assert "pip install 'calib[zstd]'" in refused(zstd.compress(b"p,y\n0.5,1\n"), "a.csv.zst")


def test_lines_are_numbered_within_a_packed_file(refused: Refused) -> None:
    said = refused(gzip.compress(b"p,y\n0.5,1\n0.5\n"), "a.csv.gz")
    assert said.startswith("a.csv.gz, line 3 has 1 field")


def test_a_packed_file_is_streamed_at_once(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"p,label\n0.7,1\n0.2,0\n"))
    assert [part.n_rows for part in StreamedFile(path)] == [2]
    path.with_suffix(".zip").write_bytes(archive({"a.csv": b"p,label\n0.7,1\n0.2,0\n"}))
    assert [part.n_rows for part in StreamedFile(path.with_suffix(".zip"))] == [2]


# -- archives ------------------------------------------------------------------------------------------------------


def test_an_archive_of_one_table_is_read(formatted: Formatted, sample: Predictions) -> None:
    beside = {"__MACOSX/x/._preds.csv": b"\0", "x/": b"", "x/.DS_Store": b"\0", "x/LICENSE": b"free"}
    data = archive({"x/preds.csv": formatted("csv")[0], **beside})
    assert np.array_equal(read_predictions(data, "a.zip").probs, sample.probs)
    assert np.array_equal(read_predictions(data, "upload").probs, sample.probs)


def test_archives_of_several_tables_or_none_are_refused_with_their_names(refused: Refused) -> None:
    rows = b"p,y\n0.5,1\n"
    two = refused(archive({"old.csv": rows, "new.csv": rows}), "a.zip")
    assert two.startswith('a.zip contains 2 tables, "old.csv", "new.csv"; unpack it and choose one file')
    assert "a.zip contains no table" in refused(archive({"a.pdf": b"%PDF"}), "a.zip")
    assert "is packed twice" in refused(archive({"a.csv.gz": gzip.compress(rows)}), "a.zip")
    encrypted = bytearray(archive({"a.csv": rows}))
    encrypted[encrypted.rfind(b"PK\x01\x02") + 8] |= 1
    assert 'a.zip, "a.csv" is encrypted; save it without a password' in refused(bytes(encrypted), "a.zip")
    assert "compression method 12" in refused(archive({"a.csv": rows}, zipfile.ZIP_BZIP2), "a.zip")
    assert "is damaged or cut off" in refused(archive({"a.csv": rows})[:60], "a.zip")


def test_a_member_that_declares_too_much_is_refused(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    data = archive({"a.csv": b"p,y\n" + b"0.5,1\n" * 3000})
    monkeypatch.setattr(limits, "FILE_BYTES", 9000)
    assert 'a.zip, "a.csv" unpacks to 18 kB; the maximum is 9 kB' in refused(data, "a.zip")


# -- formats that are not read -------------------------------------------------------------------------------------

OLE = b"\xd0\xcf\x11\xe0" + bytes(60)
EXAMPLES: dict[str, tuple[str, bytes, str]] = {
    "torch": ("a.pt", archive({"a/data.pkl": b"\x80\x02}", "a/version": b"3"}), "is a PyTorch file"),
    "old torch": ("a.pth", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "is a PyTorch file"),
    "joblib": ("a.joblib", b"\x78\x9c\0\0", "Python objects (a pickle), which are never loaded; save plain arrays"),
    "a TFRecord": ("a.tfrecord", b"\x10" + bytes(7) + b"abcd\x0a" + b"x" * 19, "is a TFRecord file; read its"),
    "a Keras archive": ("a.keras", archive({"config.json": b"{}", "model.weights.h5": b""}), "is a Keras model"),
    "a Keras file": ("a.h5", b"\x89HDF\r\n\x1a\n" + b"keras_version", "is a Keras model; save model.predict(x)"),
    "Matlab 7.3": ("a.mat", b"MATLAB 7.3 MAT-file, Platform", "is a Matlab file of version 7.3; save it with save("),
    "Matlab 4": ("a.mat", bytes(20), "is a Matlab file of version 4"),
    "R": ("a.rds", gzip.compress(b"X\n\0\0\0\3\0\4"), "is an R file; save its table with write.csv"),
    "R workspace": ("a.RData", gzip.compress(b"RDX3\nX\n"), "is an R file"),
    "SQLite": ("a.db", b"SQLite format 3\0" + bytes(9), "is a SQLite database; save a query as CSV"),
    "DuckDB": ("a.duckdb", bytes(8) + b"DUCK" + bytes(9), "is a DuckDB database"),
    "ONNX": ("a.onnx", b"\x08\x07\x12\0\x01\0", "is an ONNX model; apply it, and save its probabilities"),
    "a notebook": ("a.ipynb", b'{"cells": [{"cell_type": "code"}]}', "is a notebook"),
    "a pointer": ("a.csv", b"version https://git-lfs.github.com/spec/v1\noid x\n", "run: git lfs pull"),
    "Word": ("a.docx", archive({"[Content_Types].xml": b"", "word/document.xml": b""}), "is a Word document"),
    "old Word": ("a.doc", OLE + "WordDocument".encode("utf-16-le"), "is a Word document; save the table as CSV"),
    "a rich text": ("a.rtf", b"{\\rtf1 text}", "is a rich text document"),
    "a TAR": ("a.tar.gz", gzip.compress(bytes(257) + b"ustar\0"), "is a TAR archive; unpack it"),
    "7z": ("a.7z", b"7z\xbc\xaf\x27\x1c\0", "is a 7z archive; unpack it first"),
    "JPEG": ("a.csv", b"\xff\xd8\xff\xe0\0\x10JFIF", "is a picture; save the table behind it as CSV"),
    "a key": ("a.csv", b"-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n", "is a key or certificate; choose a table"),
    "XML": ("a.csv", b'<?xml version="1.0"?><secret/>', "is an XML file"),
    "a script": ("a.csv", b"#!/bin/sh\necho secret\n", "is a script"),
    "Avro": ("a.avro", b"Obj\x01\x04", "is an Avro file; save it as Parquet"),
    "Numbers": ("a.numbers", archive({"Index/Document.iwa": b""}), "is an Apple Numbers file; export it"),
}


@pytest.mark.parametrize("what", EXAMPLES)
def test_each_known_format_that_is_not_read_has_its_remedy(what: str, refused: Refused) -> None:
    filename, data, says = EXAMPLES[what]
    said = refused(data, filename)
    assert said.startswith(filename)
    assert says in said
    assert "secret" not in said
    assert len(said.split()) < 25


def test_remedies_are_sentences_and_endings_are_unique() -> None:
    for each in UNREAD:
        said = each.message("a.b")
        assert "; " in said
        assert len(said.split()) < 25, said
        assert each.starts or each.test or each.endings
    endings = [ending for each in UNREAD for ending in each.endings]
    assert len(endings) == len(set(endings))


def test_text_with_the_ending_of_an_unread_format_is_read() -> None:
    assert read_table(b"p,y\n0.5,1\n", "a.model").names == ("p", "y")


# -- delimiters and lists in cells ---------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", ["|", "^", "~", "\x01", "\x1f", " ", "   "])
def test_other_delimiters_divide_columns_too(delimiter: str, sample: Predictions) -> None:
    frame = pd.DataFrame(sample.probs, columns=["p_cat", "p_dog", "p_bird"])
    frame["label"] = np.array(sample.class_names)[sample.true_labels]
    data = frame.to_csv(index=False).replace(",", delimiter).encode()
    assert np.array_equal(read_predictions(data, "a.csv").probs, sample.probs)


def test_a_bar_in_a_name_divides_nothing_if_commas_do() -> None:
    assert read_table(b"p(y|x),p(z|x),y\n.5,.5,1\n", "a.csv").names == ("p(y|x)", "p(z|x)", "y")


def test_the_line_that_tells_excel_the_delimiter_is_skipped(refused: Refused) -> None:
    table = read_table(b"sep=;\r\np;y\r\n0,5;1\r\n0,25;0\r\n", "a.csv")
    assert table.columns["p"].tolist() == [0.5, 0.25]
    assert table.place(0) == "line 3 (row 0)"
    assert "line 4" in refused(b"sep=;\np;y\n0,5;1\n0,25\n", "a.csv")


ABOVE = {
    "a comment": (b"# by: me\n# in: 2026\np,y\n.5,1\n.25,0\n", 3),
    "names of numpy": (b"# p y\n.5 1\n.25 0\n", 1),
    "a title": (b"My model,\np,y\n.5,1\n.25,0\n", 2),
    "a title and an empty row": (b"My model;;\n;;\np;y;\n.5;1;\n.25;0;\n", 3),
    "empty columns and rows": (b"p,y,,\n.5,1,,\n.25,0,,\n,,,\n,,,\n", 1),
}


@pytest.mark.parametrize("what", ABOVE)
def test_lines_above_the_header_and_empty_edges_are_left_out(what: str, tmp_path: pathlib.Path) -> None:
    data, header = ABOVE[what]
    table = read_table(data, "a.csv")
    assert {name: column.tolist() for name, column in table.columns.items()} == {"p": [0.5, 0.25], "y": [1, 0]}
    assert table.place(1) == f"line {header + 2} (row 1)"
    assert sum("above the header" in note for note in table.notes) == header - 1


@pytest.mark.parametrize("what", ABOVE)
def test_later_blocks_of_a_longer_file_have_the_same_header(
    what: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, _ = ABOVE[what]
    rows = data.splitlines(keepends=True)
    last = next(i for i, row in enumerate(rows) if row.startswith(b".25"))
    path = tmp_path / "a.csv"
    path.write_bytes(b"".join([*rows[:last], *rows[last - 1 : last + 1] * 500]))
    monkeypatch.setattr(streams, "TEXT_BYTES", 1000)
    parts = list(StreamedFile(path))
    assert len(parts) > 2
    assert sum(part.n_rows for part in parts) == 1001


def test_a_first_line_that_starts_with_a_mark_can_be_the_header() -> None:
    assert read_table(b"#id,p,y\na,.5,1\nb,.25,0\n", "a.csv").names == ("#id", "p", "y")


def test_text_of_tabs_is_read_under_the_ending_of_a_workbook() -> None:
    assert read_table(b"p\ty\n.5\t1\n", "a.xls").names == ("p", "y")


LISTS = {
    "numbers of numpy 2": "[np.float64({}), np.float64({})]",
    "an array": "array([{}, {}], dtype=float32)",
    "brackets": "[{}, {}]",
    "as numpy writes": "[{} {}]",
    "over lines": "[{}\n {}]",
    "a tuple": "({}, {})",
    "of a database": "{{{},{}}}",
    "a tensor": "tensor([{}, {}])",
    "semicolons": "{};{}",
    "bars": "{}|{}",
    "spaces": "{} {}",
}


@pytest.mark.parametrize("how", LISTS)
def test_a_column_of_lists_is_a_matrix(how: str) -> None:
    rows = np.array([[0.25, 0.75], [0.5, 0.5], [0.125, 0.875]])
    lines = [f'"{LISTS[how].format(*row)}",1' for row in rows]
    table = read_table("\n".join(["probs,label", *lines]).encode(), "a.csv")
    assert np.array_equal(table.matrices["probs"], rows)
    assert table.names == ("label", "probs")


@pytest.mark.parametrize("cell", ["2026 01 02", "1;2", "10 20 30 40", "[x]", "[a; b]", "0.5;0.4", "(only one)"])
def test_other_texts_stay_texts(cell: str) -> None:
    table = read_table(f"what,y\n{cell},1\n{cell},0\n".encode(), "a.csv")
    assert table.columns["what"].tolist() == [cell, cell]


def test_lists_of_other_lengths_stay_texts_and_missing_ones_are_rows_of_nothing(refused: Refused) -> None:
    assert not read_table(b'p,y\n"[.1,.9]",1\n"[.1,.2,.7]",0\n', "a.csv").matrices
    matrix = read_table(b'p,y\n"[.25,.75]",1\n,0\n', "a.csv").matrices["p"]
    assert np.array_equal(matrix, [[0.25, 0.75], [np.nan, np.nan]], equal_nan=True)
    assert "line 2 (row 0): the list was shortened" in refused(b"p,y\n[.1 ... .9],1\n", "a.csv")


def test_the_size_of_lists_is_limited(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"p,y\n" + b'"[.25,.75,0,0]",1\n' * 40
    monkeypatch.setattr(limits, "DECODED_BYTES", 1000)
    assert "a.csv has 1.28 kB of numbers; the maximum is 1 kB" in refused(data, "a.csv")
    with pytest.raises(InputError):
        read_predictions(data, "a.csv")


LISTED = {
    "Python": "['cat', 'dog', 'eel']",
    "JSON": '["cat", "dog", "eel"]',
    "a tuple": "('cat', 'dog', 'eel')",
    "whole numbers": "[3, 5, 7]",
    "numbers from 0": "[0, 1, 2]",
}


@pytest.mark.parametrize("what", LISTED)
def test_a_list_of_classes_names_the_numbers_next_to_it(what: str) -> None:
    """SageMaker lists the classes of every row; their order may change."""
    names = list(ast.literal_eval(LISTED[what]))
    turned = LISTED[what][0] + ", ".join(map(repr, reversed(names))) + LISTED[what][-1]
    frame = pd.DataFrame(
        {
            "predicted_label": [names[0], names[2]],
            "probabilities": ["[0.5, 0.25, 0.25]", "[0.75, 0.125, 0.125]"],
            "labels": [LISTED[what], turned],
            "target": [names[0], names[1]],
        }
    )
    found = read_predictions(frame.to_csv(index=False).encode(), "a.csv")
    assert found.class_names == tuple(map(str, names))
    assert found.probs.tolist() == [[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]]
    assert found.true_labels is not None
    assert found.true_labels.tolist() == [0, 1]


@pytest.mark.parametrize(
    "lists", [["['a', 'b']", "['a']"], ["['a', 'b']", "['a', 'c']"], ["['a', 'a']"] * 2, ["a b"] * 2]
)
def test_other_lists_name_no_classes(lists: list[str]) -> None:
    frame = pd.DataFrame({"p": ["[0.5, 0.5]", "[0.25, 0.75]"], "labels": lists})
    table = read_table(frame.to_csv(index=False).encode(), "a.csv")
    assert (table.names, list(table.matrices)) == (("labels", "p"), ["p"])


def test_lists_of_0_and_1_mark_a_class_unless_all_are_equal() -> None:
    for second, label in (("[1, 0]", ("labels",)), ("[0, 1]", ("y",))):
        frame = pd.DataFrame({"p": ["[0.25, 0.75]", "[0.5, 0.5]"], "labels": ["[0, 1]", second]})
        frame = frame if label == ("labels",) else frame.assign(y=[1, 0])
        found = read_predictions(frame.to_csv(index=False).encode(), "a.csv")
        assert found.true_labels is not None
        assert found.true_labels.tolist() == [1, 0]


def test_a_point_is_a_missing_value_as_sas_writes_it() -> None:
    data = b"risk,event\n.,1\n0.25,0\n0.5,.\n0.75,1\n"
    found = read_predictions(data, "a.csv", missing="exclude")
    assert found.probs[:, 1].tolist() == [0.25, 0.75]
    tokens = read_predictions(b"p_.,p_a,label\n0.75,0.25,.\n0.5,0.5,a\n", "a.csv")
    assert tokens.class_names == (".", "a")
    assert tokens.true_labels is not None
    assert tokens.true_labels.tolist() == [0, 1], "a class may have this name"
