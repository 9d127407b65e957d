"""NPY and NPZ: accepted files, and every hostile file refused before it costs anything."""

from __future__ import annotations

import datetime
import io
import pickle
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable

import numpy as np
import pytest

from calib_core.predictions.predictions import InputError
from calib_core.readers import limits, read_table
from tests.support.sentences import matches

Refused = Callable[[bytes, str], str]


def npz(**arrays: object) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def npy(array: object) -> bytes:
    out = io.BytesIO()
    np.save(out, np.asarray(array), allow_pickle=True)
    return out.getvalue()


def with_header(header: str, body: bytes = b"", version: int = 1) -> bytes:
    text = header.encode("latin-1")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + body


def described(descr: str, shape: str) -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


P = np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]])
Y = np.array([0, 1, 1])


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", ">f8", "<f2", "|u1", ">i2", "<i8", "|b1"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("packed", [False, True])
def test_plain_numbers_are_read_in_native_order(dtype: str, order: str, packed: bool) -> None:
    array = np.asarray(np.arange(12).reshape(4, 3) % 2, dtype=dtype, order=order)  # type: ignore[call-overload]
    out = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(out, a=array)
    got = read_table(out.getvalue(), "a.npz").matrices["a"]
    assert np.array_equal(got, array)
    assert got.dtype.isnative
    assert not got.flags.writeable
    assert got.dtype == (np.float32 if dtype == "<f2" else array.dtype.newbyteorder("="))
    assert np.array_equal(read_table(npy(array), "a.npy").matrices["array"], array)


def test_text_of_both_kinds_is_read_as_str() -> None:
    table = read_table(npz(p=P, y=np.array(["a", "bé", "c"]), z=np.array([b"x", b"y", b"z"])), "a.npz")
    assert table.columns["y"].tolist() == ["a", "bé", "c"]
    assert table.columns["z"].tolist() == ["x", "y", "z"]


def test_one_column_matrix_is_a_column_and_scalars_are_left_out() -> None:
    table = read_table(npz(p=P[:, :1], s=np.array("text"), cube=np.zeros((2, 2, 2))), "a.npz")
    assert (list(table.columns), list(table.matrices)) == (["p"], [])
    assert table.notes == ('Array "cube" has 3 dimensions (2, 2, 2) and was left out.',)


def test_an_aligned_array_is_looked_at_and_not_copied() -> None:
    data = npy(np.zeros((1000, 1000), dtype=np.float32))
    tracemalloc.start()
    table = read_table(data, "a.npy")
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()
    assert np.shares_memory(table.matrices["array"], np.frombuffer(data, np.uint8))


@pytest.mark.parametrize("packed", [False, True])
def test_an_archive_costs_one_array(packed: bool) -> None:
    rng = np.random.default_rng(0)
    out = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(out, p=rng.random((2000, 1000), dtype=np.float32))
    data = out.getvalue()
    tracemalloc.start()
    read_table(data, "a.npz")
    assert tracemalloc.get_traced_memory()[1] < 8_000_000 + 2 * limits.SCAN_BYTES + 500_000
    tracemalloc.stop()


class Bomb:
    """Writes a file when unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, ("/nonexistent/never", "w")


def test_python_objects_are_named_and_never_loaded(refused: Refused) -> None:
    assert refused(npy(np.array([Bomb()], dtype=object)), "a.npy") == (
        "a.npy contains Python objects, which are never loaded; save plain arrays, "
        "numpy.savez(file, probs=numpy.asarray(p, float), labels=numpy.asarray(y))"
    )
    assert refused(npz(p=P, y=np.array([Bomb()], dtype=object)), "a.npz").startswith(
        'a.npz, array "y" contains Python objects'
    )
    for protocol in (2, 3, 4, 5):
        assert refused(pickle.dumps(Bomb(), protocol), "a.npy") == (
            "a.npy contains Python objects (a pickle), which are never loaded; save plain arrays with numpy.savez"
        )


def test_header_promises_are_held_against_the_bytes(refused: Refused) -> None:
    huge = with_header(described("'<f8'", "(1000000000, 1000)"), b"\0" * 800)
    assert matches(refused(huge, "a.npy"), "a.npy is damaged or cut off*8 TB*800 bytes*")
    longer = with_header(described("'<f8'", "(2, 3)"), b"\0" * 80_000)
    assert "header declares 48 bytes, but the file has 80 kB" in refused(longer, "a.npy")
    assert "header declares 48 bytes" in refused(zipped({"p.npy": longer}), "a.npz")
    assert "header declares 48 bytes" in refused(zipped({"p.npy": longer}, zipfile.ZIP_DEFLATED), "a.npz")


@pytest.mark.parametrize(
    "shape",
    ["(-1, 3)", "(True, 3)", "(" + "1, " * 70 + ")", f"({2**96},)", f"(0, {2**96})", "'abc'", "3", "(1.5,)", "None"],
)
def test_impossible_shapes(shape: str, refused: Refused) -> None:
    said = refused(with_header(described("'<f8'", shape), b"\0" * 24), "a.npy")
    assert "no valid shape" in said or "header declares" in said


@pytest.mark.parametrize("shape", ["(0,)", "(0, 3)", "(0, 1000000000000)", "(5, 0)"])
def test_empty_arrays(shape: str, refused: Refused) -> None:
    assert " is empty" in refused(with_header(described("'<f8'", shape)), "a.npy")


@pytest.mark.parametrize(
    "descr", ["'|S0'", "'|V0'", "'<U0'", "'|V8'", "'<c16'", "'<M8[ns]'", "'<m8'", "'<f16'", "'<U500000000'", "'|S9999'"]
)
def test_types_that_are_not_numbers_or_short_text(descr: str, refused: Refused) -> None:
    said = refused(with_header(described(descr, "(3,)"), b"\0" * 48), "a.npy")
    assert "save real numbers" in said or "the length must be" in said


STRUCTURES = {
    "fields": [("risk", "<f8"), ("event", "<i4"), ("site", "<U3")],
    "another byte order": [("risk", ">f4"), ("event", "u1"), ("site", "S3")],
    "aligned": np.dtype([("event", "?"), ("risk", "<f8"), ("site", "<U3")], align=True),
    "names beyond Latin-1": [("risk", "<f8"), ("event", "<i4"), ("žába", "<U3")],
}


@pytest.mark.filterwarnings("ignore:Stored array in format:UserWarning")
@pytest.mark.parametrize("what", STRUCTURES)
def test_fields_of_structured_arrays_are_columns(what: str) -> None:
    array = np.zeros(3, dtype=np.dtype(STRUCTURES[what]))
    site = next(name for name in array.dtype.names or () if name not in ("risk", "event", ""))
    array["risk"], array["event"], array[site] = [0.5, 0.25, 1], [0, 1, 1], ["a", "b", "a"]
    for data, name in ((npy(array), "a.npy"), (npy(array[:, None]), "a.npy"), (npz(rows=array), "a.npz")):
        found = read_table(data, name)
        assert found.columns["risk"].tolist() == [0.5, 0.25, 1]
        assert found.columns["event"].tolist() == [0, 1, 1]
        assert found.columns[site].tolist() == ["a", "b", "a"]


def test_fields_with_several_numbers_are_matrices_and_inner_fields_have_a_path() -> None:
    array = np.zeros(2, dtype=[("probs", "<f4", (3,)), ("about", [("label", "u1"), ("one", "<f8", (1,))])])
    array["probs"], array["about"]["label"] = [[0.5, 0.25, 0.25], [0, 1, 0]], [0, 1]
    found = read_table(npy(array), "a.npy")
    assert found.matrices["probs"].tolist() == [[0.5, 0.25, 0.25], [0, 1, 0]]
    assert {name: column.tolist() for name, column in found.columns.items()} == {
        "about.label": [0, 1],
        "about.one": [0, 0],
    }


def test_two_structures_of_an_npz_with_equal_names() -> None:
    array = np.array([(0.5, 1)], dtype=[("p", "<f8"), ("y", "<i4")])
    assert set(read_table(npz(a=array, b=array), "a.npz").columns) == {"p", "y", "b.p", "b.y"}


BAD_STRUCTURES = {
    "a matrix of structures": (np.zeros((3, 2), [("p", "<f8")]), "is a matrix of structures"),
    "objects": (np.zeros(3, [("p", "<f8"), ("y", "O")]), "contains Python objects"),
    "dates": (np.zeros(3, [("p", "<f8"), ("t", "<M8[s]")]), 'field "t" is of dtype'),
    "boxes": (np.zeros(3, [("p", "<f8", (2, 2))]), 'field "p" has 2 dimensions per row; save at most one'),
    "no values": (np.zeros(3, [("p", "<f8"), ("none", "<f8", (0,))]), "has a field without values"),
    "long text": (np.zeros(1, [("p", "<f8"), ("t", "<U2000")]), "has text of 2000 characters"),
    "a long name": (np.zeros(1, [("p" * 300, "<f8")]), "needs a name of 1 to 256 characters"),
}


@pytest.mark.parametrize("what", BAD_STRUCTURES)
def test_structures_that_are_no_table(what: str, refused: Refused) -> None:
    array, said = BAD_STRUCTURES[what]
    assert said in refused(npy(array), "a.npy")


def test_structures_count_all_their_numbers(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "working_bytes", lambda: 2000)
    assert "has 10 rows of 9 columns" in refused(npy(np.zeros(10, [("p", "<f4", (8,)), ("y", "u1")])), "a.npy")
    assert "has 10 rows" not in str(read_table(npy(np.zeros(9)), "a.npy").notes)


@pytest.mark.parametrize(
    "header",
    [
        "__import__('os').system('true')\n",
        "[" * 3000,
        "[" * 3000 + "]" * 900,
        "{'descr': '<f8'}",
        "{1: 2}",
        "3",
        described("'<U-1'", "(3,)"),
        described("('<f8', (2**62,))", "(3,)"),
        described("[('a', " * 200 + "'<f8'" + ")]" * 200, "(3,)"),
        described("'<f8'", "(3,)").replace("False", "'no'"),
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,)",
        "\x00\xff",
    ],
)
def test_damaged_headers(header: str, refused: Refused) -> None:
    assert "header that is damaged" in refused(with_header(header, b"\0" * 24), "a.npy")


def test_long_headers_are_not_looked_at(refused: Refused) -> None:
    assert "too long" in refused(b"\x93NUMPY\x02\0" + struct.pack("<I", 2**32 - 1) + b"{}" * 50, "a.npy")
    assert "too long" in refused(with_header("[" * 9000), "a.npy")
    long = with_header(" " * 20_000_000, version=2)
    tracemalloc.start()
    assert "too long" in refused(long, "a.npy")
    assert tracemalloc.get_traced_memory()[1] < 200_000
    tracemalloc.stop()


@pytest.mark.parametrize("length", range(0, 128, 9))
def test_cut_off_arrays(length: int, refused: Refused) -> None:
    refused(npy(P)[:length], "a.npy")
    refused(npz(p=P)[:length], "a.npz")


def test_only_stored_and_deflated_members_are_opened(refused: Refused) -> None:
    body = npy(np.zeros(4))
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        found = refused(zipped({"p.npy": body}, method), "a.npz")
        assert matches(found, f'a.npz, array "p" *compression method {method};*')


def test_a_bzip2_bomb_costs_nothing(refused: Refused) -> None:
    # 8 MB of zeros become 50 bytes; the real ones become gigabytes, for any declared size.
    bomb = zipped({"p.npy": npy(np.zeros(1_000_000))}, zipfile.ZIP_BZIP2)
    assert len(bomb) < 1000
    tracemalloc.start()
    refused(bomb, "a.npz")
    assert tracemalloc.get_traced_memory()[1] < 200_000
    tracemalloc.stop()


def test_a_deflate_bomb_is_refused_from_the_directory(refused: Refused) -> None:
    bomb = bytearray(zipped({"p.npy": b"\0" * 1000}, zipfile.ZIP_DEFLATED))
    at = bomb.rfind(b"PK\x01\x02")
    bomb[at + 24 : at + 28] = struct.pack("<I", 3_000_000_000)
    assert matches(refused(bytes(bomb), "a.npz"), "a.npz unpacks to 3 GB; * 1.07 GB.*")


def test_a_member_that_unpacks_to_more_than_it_declares(refused: Refused) -> None:
    head = with_header(described("'<f8'", "(2,)"))
    lying = bytearray(zipped({"p.npy": head + b"\0" * 30_000_000}, zipfile.ZIP_DEFLATED))
    at = lying.rfind(b"PK\x01\x02")
    lying[at + 24 : at + 28] = struct.pack("<I", len(head) + 16)
    tracemalloc.start()
    assert "does not match its header" in refused(bytes(lying), "a.npz")
    assert tracemalloc.get_traced_memory()[1] < 3 * limits.SCAN_BYTES
    tracemalloc.stop()


def test_a_member_whose_checksum_differs(refused: Refused) -> None:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        data = bytearray(zipped({"p.npy": npy(P)}, method))
        at = data.rfind(b"PK\x01\x02")
        data[at + 16 : at + 20] = struct.pack("<I", zlib.crc32(b"something else"))
        assert "is damaged" in refused(bytes(data), "a.npz")


def test_encrypted_members(refused: Refused) -> None:
    data = bytearray(zipped({"p.npy": npy(P)}))
    at = data.rfind(b"PK\x01\x02")
    data[at + 8] |= 1
    assert refused(bytes(data), "a.npz") == 'a.npz, array "p" is encrypted; save it without a password'


def test_too_many_members(refused: Refused) -> None:
    body = npy(np.zeros(1))
    many = zipped({f"a{i}.npy": body for i in range(limits.MEMBERS + 1)})
    assert matches(refused(many, "a.npz"), "a.npz has 257 arrays; * 256*")
    more = zipped({f"a{i}.npy": b"" for i in range(2000)})
    assert "a.npz has more than 256 arrays" in refused(more, "a.npz")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(refused: Refused) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("p.npy", npy(P))
        archive.writestr("p.npy", npy(P[::-1]))
    assert refused(out.getvalue(), "a.npz") == 'a.npz has 2 columns called "p"; give every column its own name'


def test_member_names_are_names_and_not_paths() -> None:
    table = read_table(zipped({"../../etc/x.npy": npy(P), "<img src=x>.npy": npy(Y)}), "a.npz")
    assert table.names == ("<img src=x>", "../../etc/x")


def test_members_that_are_not_arrays(refused: Refused) -> None:
    assert "looks like a ZIP archive" in refused(zipped({"readme.txt": b"hello"}), "a.npz")
    assert "complete NPY array" in refused(zipped({"p.npy": b"hello"}), "a.npz")
    assert "has no column" in refused(zipped({}), "a.npz")


def test_too_many_columns(refused: Refused) -> None:
    wide = refused(npy(np.zeros((2, 5000), dtype=np.int8)), "a.npy")
    assert matches(wide, 'a.npy, array "array" has 5,000 columns; * 4,096.*transposed')


def test_text_that_is_no_text(refused: Refused) -> None:
    broken = npz(y=np.frombuffer(b"\xff\xff\xff\x7f" * 2, dtype="<U1"))
    assert "not valid Unicode" in refused(broken, "a.npz")
    assert "not valid Unicode" in refused(npz(y=np.array([b"\xff\xfe"])), "a.npz")
    assert "not valid Unicode" in refused(npz(y=np.array(["\ud800"])), "a.npz")
    assert "matrix of text" in refused(npz(y=np.array([["a", "b"]])), "a.npz")


def test_dates_and_complex_numbers_are_named(refused: Refused) -> None:
    assert "'<c16'" in refused(npz(z=np.zeros(2, complex)), "a.npz")
    assert "'<M8[us]'" in refused(npz(z=np.array([datetime.datetime(2020, 1, 1)], "M8[us]")), "a.npz")


def test_directory_offsets_out_of_the_file() -> None:
    data = bytearray(npz(p=P))
    at = data.rfind(b"PK\x01\x02")
    data[at + 42 : at + 46] = struct.pack("<I", 10**9)
    with pytest.raises(InputError):
        read_table(bytes(data), "a.npz")
