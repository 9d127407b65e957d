"""Workbooks, Arrow, ORC and files of statistics packages, written afresh by the libraries that read them."""

from __future__ import annotations

import functools
import importlib.util
import io
import json
import pathlib
import random
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pytest
import scipy.io

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits, read_predictions, read_table
from calib_core.readers.file_format import FILE_FORMATS, unpacked_bytes
from calib_core.readers.formats import child_process
from tests.calib_core.readers.conftest import CLASSES, small

pytest.importorskip("python_calamine")
openpyxl = pytest.importorskip("openpyxl")
pyreadstat = pytest.importorskip("pyreadstat")
safetensors = pytest.importorskip("safetensors.numpy")
Refused = Callable[[bytes, str], str]


@pytest.fixture
def apart() -> None:
    """Decode in a child process, as in use; other tests decode here, because each child loads its libraries again."""


@pytest.fixture(autouse=True)
def here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "apart" not in request.fixturenames:
        monkeypatch.setattr(child_process, "_from_child", child_process._in_process)


P, Y = small()
NAMES = np.array(CLASSES, dtype=object)[Y]
WIDE = pd.DataFrame(P, columns=[f"p_{name}" for name in CLASSES]).assign(label=NAMES)


def of_path(ending: str, write: Callable[[str], object]) -> bytes:
    """Return the bytes that a library writes to a path."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, f"a.{ending}")
        write(str(path))
        return path.read_bytes()


def of_stream(write: Callable[[Any], object]) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def arrow_stream(table: pa.Table) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def workbook(*sheets: list[list[Any]], names: tuple[str, ...] = ("one", "two", "three")) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in zip(names, sheets, strict=False):
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return of_stream(book.save)


TABLE = pa.Table.from_pandas(WIDE, preserve_index=False)
FILES: dict[str, Callable[[], tuple[bytes, str]]] = {
    "feather": lambda: (of_stream(lambda out: pa.feather.write_feather(TABLE, out)), "a.feather"),
    "arrow lz4": lambda: (of_stream(lambda out: pa.feather.write_feather(TABLE, out, compression="lz4")), "a.arrow"),
    "arrow stream": lambda: (arrow_stream(TABLE), "a.arrow"),
    "orc": lambda: (of_stream(lambda out: pa.orc.write_table(TABLE, out)), "a.orc"),
    "stata": lambda: (of_stream(lambda out: WIDE.to_stata(out, write_index=False)), "a.dta"),
    "stata 114": lambda: (of_stream(lambda out: WIDE.to_stata(out, write_index=False, version=114)), "a.dta"),
    "spss": lambda: (of_path("sav", lambda path: pyreadstat.write_sav(WIDE, path)), "a.sav"),
    "spss packed": lambda: (of_path("sav", lambda path: pyreadstat.write_sav(WIDE, path, compress=True)), "a.zsav"),
    "xlsx": lambda: (of_stream(lambda out: WIDE.to_excel(out, index=False)), "a.xlsx"),
    "xlsx with an index": lambda: (of_stream(lambda out: WIDE.to_excel(out, engine="openpyxl")), "a.xlsx"),
    "matlab": lambda: (
        of_stream(lambda out: scipy.io.savemat(out, {"probs": P, "labels": Y + 1, "class_names": [CLASSES]})),
        "a.mat",
    ),
    "matlab structure": lambda: (
        of_stream(
            lambda out: scipy.io.savemat(
                out,
                {"r": {"probs": P, "labels": Y[None], "class_names": np.array(CLASSES, dtype=object)}},
                do_compression=True,
            )
        ),
        "a.mat",
    ),
}


@pytest.mark.parametrize("form", FILES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_format_gives_the_same_predictions(form: str) -> None:
    data, filename = FILES[form]()
    found = read_predictions(data, filename)
    # Workbooks have 16 digits.
    assert np.allclose(found.probs, P, rtol=1e-15 if filename == "a.xlsx" else 0, atol=0)
    assert np.array_equal(np.array(found.class_names)[found.true_labels], NAMES)
    assert read_table(data, "upload").n_rows == 40, "without an ending, the bytes decide"
    assert unpacked_bytes(data) >= len(data) // 2


@pytest.mark.parametrize("version", [5, 8])
def test_transport_files_have_numbers_of_ibm(version: int) -> None:
    data = of_path("xpt", lambda path: pyreadstat.write_xport(WIDE, path, file_format_version=version))
    found = read_predictions(data, "a.xpt")
    assert np.allclose(found.probs, P, atol=1e-14)
    assert np.array_equal(np.array(found.class_names)[found.true_labels], NAMES)


# -- damage, and sizes ---------------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("form", ["feather", "arrow stream", "orc", "stata", "spss", "xlsx", "matlab"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_damaged_files_are_read_or_refused_in_one_line(form: str) -> None:
    """Each is decoded by a child process, which may crash."""
    data, filename = FILES[form]()
    rng = random.Random(form)
    damaged = [data[: len(data) // 2], data[:20]]
    for _ in range(3):
        out = bytearray(data)
        for _ in range(4):
            out[rng.randrange(len(out))] = rng.randrange(256)
        damaged.append(bytes(out))
    said = []
    for each in damaged:
        try:
            read_predictions(each, filename)
        except InputError as why:
            said.append(str(why))
    assert len(said) >= 2
    assert all(each.startswith(filename) and "\n" not in each and len(each) < 900 for each in said), said


def test_the_unpacked_size_of_a_workbook_is_limited(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    data = workbook([["p", "y"], *[[0.5, 1]] * 3000])
    monkeypatch.setattr(limits, "DECODED_BYTES", 50_000)
    assert "a.xlsx unpacks to" in refused(data, "a.xlsx")
    assert "the maximum is 50 kB" in refused(data, "a.xlsx")


@pytest.mark.usefixtures("apart")
def test_a_sheet_of_huge_dimensions_is_refused(refused: Refused) -> None:
    """One value in the last cell of all; a dense table of them needs half a terabyte."""
    book = openpyxl.Workbook()
    book.active["A1"], book.active["XFD1048576"] = "p", 1
    assert "a.xlsx could not be read safely" in refused(of_stream(book.save), "a.xlsx")


@pytest.mark.parametrize("form", ["feather", "orc", "xlsx", "spss", "stata"])
def test_rows_are_limited(form: str, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    data, filename = FILES[form]()
    monkeypatch.setattr(limits, "ROWS", 20)
    assert "40 rows of 4 columns" in refused(data, filename) or "41 rows of 4 columns" in refused(data, filename)


def test_arrow_that_unpacks_to_more_than_is_allowed(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = pa.table({"p": np.zeros(200_000), "y": np.zeros(200_000)})
    data = of_stream(lambda out: pa.feather.write_feather(zeros, out, compression="zstd"))
    assert len(data) < 20_000
    monkeypatch.setattr(limits, "DECODED_BYTES", 3_100_000)
    assert "the maximum is 387,500 values" in refused(data, "a.arrow")


def test_a_matlab_variable_that_declares_too_much(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    data = of_stream(lambda out: scipy.io.savemat(out, {"p": np.zeros((1000, 20))}, do_compression=True))
    monkeypatch.setattr(limits, "DECODED_BYTES", 100_000)
    assert 'variable "p" has shape (1000, 20); save fewer rows' in refused(data, "a.mat")


@pytest.mark.parametrize(
    ("module", "form", "extra"),
    [("pyarrow", "orc", "parquet"), ("python_calamine", "xlsx", "excel"), ("pyreadstat", "spss", "stats")],
)
def test_a_missing_package_is_named_with_its_extra(
    module: str, form: str, extra: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, filename = FILES[form]()
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else known(name))
    assert refused(data, filename).endswith(f"run: pip install calib[{extra}]")


def test_an_encrypted_workbook_is_refused(refused: Refused) -> None:
    data = b"\xd0\xcf\x11\xe0" + bytes(512) + "EncryptedPackage".encode("utf-16-le") + bytes(64)
    assert refused(data, "a.xlsx") == "a.xlsx is encrypted; save it without a password"


# -- what is in a sheet --------------------------------------------------------------------------------------------


def test_titles_units_and_remarks_are_left_out_with_a_note() -> None:
    rows = [["Predictions of 2026"], [], ["p_cat", "p_dog", "label"], ["%", "%", "[-]"]]
    rows += [[0.25, 0.75, "dog"], [0.5, 0.5, "cat"], [0.125, 0.875, "dog"], [], ["Source: ward 7"]]
    table = read_table(workbook(rows), "a.xlsx")
    assert table.columns["p_cat"].tolist() == [0.25, 0.5, 0.125]
    assert table.columns["label"].tolist() == ["dog", "cat", "dog"]
    assert table.place(0) == "line 5 (row 0)", "as the spreadsheet counts"
    assert table.notes == (
        "Row 1, above the header, was left out.",
        "Row 9, below the table, was left out.",
        "Row 4, of units below the header, was left out.",
    )


def test_missing_values_in_the_first_row_are_no_units() -> None:
    rows = [["p", "y"], ["NA", "-"], [0.25, 1], [0.5, 0], [0.125, 1]]
    assert read_table(workbook(rows), "a.xlsx").n_rows == 4
    assert read_table(workbook([rows[0], ["%", "NA"], *rows[2:]]), "a.xlsx").n_rows == 3


def test_totals_at_the_end_of_a_sheet_are_left_out() -> None:
    rows: list[list[object]] = [["id", "p", "y"], [1, 0.25, 1], [2, 0.5, 0], [3, 0.125, 1]]
    for last, note in (
        ([["Total", 0.875, 2]], "Row 5, a total or mean of the rows above, was left out."),
        ([["Sum", 0.875, 2], ["Mean", 0.29, 0.67]], "Rows 5 to 6, totals or mean of the rows above, were left out."),
    ):
        table = read_table(workbook([*rows, *last]), "a.xlsx")
        assert {name: column.tolist() for name, column in table.columns.items()} == {
            "id": [1, 2, 3],
            "p": [0.25, 0.5, 0.125],
            "y": [1, 0, 1],
        }
        assert note in table.notes
    named = [["site", "p", "y"], ["a", 0.25, 1], ["b", 0.5, 0], ["Total", 0.125, 1]]
    assert read_table(workbook(named), "a.xlsx").n_rows == 3


def test_the_first_sheet_with_numbers_is_read_and_the_others_are_named() -> None:
    read_me = [["Read me"], ["Probabilities are in the next sheet"]]
    data = workbook(read_me, [["p", "y"], [0.5, 1], [0.25, 0]], [["q"], [1]], names=("about", "rows", "more"))
    table = read_table(data, "a.xlsx")
    assert table.columns["p"].tolist() == [0.5, 0.25]
    assert table.notes == ('Sheet "rows" was read; the workbook also has "about", "more".',)


def test_numbers_that_are_text_percentages_dates_and_empty_columns() -> None:
    import datetime

    rows = [["p", "q", "day", "code", "none", None]]
    rows += [["0,25", 0.5, datetime.date(2026, 1, 2), "007", None, None]]
    rows += [[0.5, "12,5 %", datetime.datetime(2026, 1, 3, 4, 5), "8", None, None], [], [None] * 6]
    table = read_table(workbook(rows), "a.xlsx")
    assert {name: column.tolist() for name, column in table.columns.items() if name != "none"} == {
        "p": [0.25, 0.5],
        "q": [0.5, 0.125],
        "day": ["2026-01-02", "2026-01-03 04:05:00"],
        "code": ["007", "8"],
    }
    assert np.isnan(table.columns["none"]).all()
    assert any("Column none has no values" in note for note in table.notes)


def test_formulas_count_as_their_stored_values() -> None:
    stored = workbook([["p", "y"], ["=1/4", 1], ["=1/2", 0]])
    parts = zipfile.ZipFile(io.BytesIO(stored))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as copy:
        for each in parts.infolist():
            text = parts.read(each)
            copy.writestr(each, re.sub(rb"<f>1/4</f><v ?/>|<f>1/4</f><v></v>", b"<f>1/4</f><v>0.25</v>", text))
    assert read_table(out.getvalue(), "a.xlsx").columns["p"][0] == 0.25
    assert any("no values. If it has formulas" in note for note in read_table(stored, "a.xlsx").notes)


def test_a_column_without_a_name_is_named_by_its_letter(refused: Refused) -> None:
    assert "row 1: column B has no name" in refused(workbook([["p", None, "y"], [0.5, 3, 1], [0.5, 4, 0]]), "a.xlsx")


# -- lists, structures and labels ----------------------------------------------------------------------------------


def test_a_column_of_lists_is_a_matrix_and_a_structure_has_columns() -> None:
    content = {"probs": [[0.25, 0.75], None, [0.5, 0.5]], "by": [{"cat": 0.1, "dog": 0.9}] * 3, "y": [0, 1, 1]}
    for write, name in ((pd.DataFrame.to_parquet, "a.parquet"), (pd.DataFrame.to_feather, "a.feather")):
        table = read_table(of_stream(lambda out, write=write: write(pd.DataFrame(content), out)), name)
        assert np.array_equal(table.matrices["probs"], [[0.25, 0.75], [np.nan] * 2, [0.5, 0.5]], equal_nan=True)
        assert table.columns["by.dog"].tolist() == [0.9] * 3


def dataset(table: pa.Table, names: list[str]) -> pa.Table:
    """Return a table with the description that Hugging Face's datasets add to the schema."""
    about = {"info": {"features": {"label": {"names": names, "_type": "ClassLabel"}}}}
    return table.replace_schema_metadata({"huggingface": json.dumps(about)})


def test_a_folder_of_a_dataset_is_one_table_with_the_names_of_its_classes(tmp_path: pathlib.Path) -> None:
    rows = pa.table({"probs": P.tolist(), "label": Y})
    for i, first in enumerate((0, 15)):
        part = dataset(rows.slice(first, 15 if not first else None), ["zebra", "cat", "ape"])
        (tmp_path / f"data-{i:05}-of-00002.arrow").write_bytes(arrow_stream(part))
    (tmp_path / "state.json").write_text('{"_data_files": []}')
    (tmp_path / "dataset_info.json").write_text("{}")
    found = read_predictions(tmp_path)
    assert np.array_equal(found.probs, P)
    assert np.array_equal(found.true_labels, Y)
    assert found.class_names == ("zebra", "cat", "ape"), "the order of the codes, not of the alphabet"
    assert "file" not in read_table(tmp_path).columns
    outer = tmp_path.parent / f"{tmp_path.name} splits"
    (outer / "test").mkdir(parents=True)
    (outer / "dataset_dict.json").write_text('{"splits": ["test"]}')
    with pytest.raises(InputError, match='choose one of its folders: "test"'):
        read_table(outer)


@pytest.mark.parametrize("kind", ["stata", "spss"])
def test_labels_of_codes_are_used_where_columns_are_named_after_them(kind: str) -> None:
    names = {1.0: "cat", 2.0: "dog", 3.0: "bird"}
    rows = WIDE.assign(label=Y + 1.0, sex=np.arange(40) % 2)
    sexes = {0: "male", 1: "female"}
    if kind == "stata":
        labels = {"label": {int(code): name for code, name in names.items()}, "sex": sexes}
        data = of_stream(lambda out: rows.to_stata(out, write_index=False, value_labels=labels))
    else:
        labels = {"label": names, "sex": sexes}
        data = of_path("sav", lambda path: pyreadstat.write_sav(rows, path, variable_value_labels=labels))
    table = read_table(data, "a.dta" if kind == "stata" else "a.sav")
    assert table.columns["label"].tolist() == NAMES.tolist()
    assert table.columns["sex"].tolist() == (np.arange(40) % 2).tolist()
    assert table.notes == (
        "Codes of label were replaced by their labels (1 = cat, 2 = dog, 3 = bird).",
        "sex was read by its codes (0 = male, 1 = female).",
    )


@pytest.mark.parametrize("names", [{1: "yes", 2: "no"}, {2: "died", 1: "alive"}, {1: "Ja", 2: "Nein", 9: "unbekannt"}])
def test_labels_of_two_codes_name_the_classes_and_so_the_event(names: dict[int, str]) -> None:
    risk = np.linspace(0.02, 0.98, 40)
    event = next(code for code, name in names.items() if name in ("yes", "died", "Ja"))
    frame = pd.DataFrame({"prob": risk, "readmit": np.where(risk > 0.5, event, 3 - event)})
    labels = {"readmit": names}
    data = of_path("sav", lambda path: pyreadstat.write_sav(frame, path, variable_value_labels=labels))
    found = read_predictions(data, "a.sav", label="readmit")
    assert found.class_names[found.event] == names[event]
    assert np.array_equal(found.labels == found.event, risk > 0.5)
    assert any(note.startswith("Codes of readmit were replaced by their labels (1 = ") for note in found.notes)
    plain = frame.rename(columns={"prob": "p_1"}).assign(p_2=1 - risk)
    data = of_path("sav", lambda path: pyreadstat.write_sav(plain, path, variable_value_labels=labels))
    assert set(read_table(data, "a.sav").columns["readmit"]) == {1, 2}, "columns are named after the codes"


# -- SafeTensors ---------------------------------------------------------------------------------------------------


def test_tensors_are_read_by_name() -> None:
    cube = np.zeros((2, 2, 2))
    data = safetensors.save({"probs": P.astype(np.float32), "labels": Y, "half": P.astype(np.float16), "cube": cube})
    table = read_table(data, "a.safetensors")
    assert np.array_equal(table.matrices["probs"], P.astype(np.float32))
    assert np.array_equal(table.columns["labels"], Y)
    assert np.array_equal(table.matrices["half"], P.astype(np.float16).astype(np.float32))
    assert table.notes == ('Array "cube" has 3 dimensions (2, 2, 2) and was left out.',)


def tensors(about: Any, content: bytes = b"") -> bytes:
    header = json.dumps(about).encode()
    return struct.pack("<Q", len(header)) + header + content


def test_bfloat16_is_the_upper_half_of_a_number() -> None:
    half = np.array([0.5, -2.0], "<f4").view("<u4") >> 16
    data = tensors({"p": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, half.astype("<u2").tobytes())
    assert read_table(data, "a.safetensors").columns["p"].tolist() == [0.5, -2.0]


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ({"p": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, "is damaged or cut off"),
        ({"p": {"dtype": "F32", "shape": [1 << 30], "data_offsets": [0, 4]}}, "is damaged or cut off"),
        ({"p": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, "is damaged or cut off"),
        ({"p": {"dtype": "F32", "shape": [1], "data_offsets": [4, 0]}}, "is damaged or cut off"),
        ({"p": {"dtype": "F8_E5M2", "shape": [4], "data_offsets": [0, 4]}}, "unsupported type of numbers"),
        ({"p": 3}, "is damaged or cut off"),
        ({f"w{i}": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]} for i in range(300)}, "a model's weights"),
        ({"p": {"dtype": "U8", "shape": [0, 3], "data_offsets": [0, 0]}}, "is empty (shape (0, 3))"),
    ],
)
def test_headers_that_do_not_fit_are_refused(about: Any, says: str, refused: Refused) -> None:
    assert says in refused(tensors(about, bytes(4)), "a.safetensors")
    assert "is damaged" in refused(struct.pack("<Q", 3) + b'{"p', "a.safetensors")


def test_every_registered_format_is_written_in_some_test() -> None:
    """A new format needs a file here or in the other tests of this folder."""
    here = {"arrow", "orc", "stata", "spss", "xport", "matlab", "sheets", "safetensors"}
    others = {"csv", "arff", "npy", "npz", "parquet", "jsonl", "eval", "gzip", "bzip2", "xz", "zstd", "zip"}
    unwritten = {"sas"}  # no library writes it
    assert set(FILE_FORMATS) >= here | others | unwritten
    assert not {each for each in FILE_FORMATS if each != "wiki"} - here - others - unwritten


@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="a full disk is a device of Linux")
@pytest.mark.usefixtures("apart")
def test_a_full_disk_is_told_from_a_damaged_file(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    pyarrow.feather.write_feather(WIDE, data)
    full = functools.partial(open, "/dev/full", "r+b")
    monkeypatch.setattr(child_process.tempfile, "TemporaryFile", full)
    with pytest.raises(InputError, match=r"a.feather could not be read: the disk for temporary files is full"):
        read_table(data.getvalue(), "a.feather")
