"""NPY files: false claims of headers, and arrays that are no predictions."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.corpus.bad_files import BadFile, drawn, family, npy, npz

P, Y = drawn(12)
GOOD = npy(np.column_stack([P, Y]))


def headed(header: str, body: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """Return an NPY file with any header text."""
    text = header.encode("latin-1")
    length = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text + body


def described(shape: str, dtype: str = "'<f8'", body: bytes = b"", order: str = "False") -> bytes:
    return headed(f"{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}, }}\n", body)


@family("NPY headers")
def headers() -> Iterator[BadFile]:
    damaged = "a.npy has a header that is damaged, cut off or too long"
    shape = "a.npy has no valid shape in its header"
    cases: dict[str, tuple[bytes, str]] = {
        "empty": (b"", "a.npy is empty (0 bytes); choose another file"),
        "magic only": (b"\x93NUMPY", "a.npy is not a complete NPY array; save it again with numpy.save"),
        "magic and version": (b"\x93NUMPY\x01\x00", damaged),
        "half a header": (GOOD[:40], damaged),
        "an unknown version": (headed("{}", version=(9, 0)), damaged),
        "version 0": (headed("{}", version=(0, 0)), damaged),
        "no dictionary": (headed("[1, 2]\n"), damaged),
        "an empty header": (headed(""), damaged),
        "keys missing": (headed("{'descr': '<f8'}\n"), damaged),
        "keys too many": (headed("{'descr':'<f8','fortran_order':False,'shape':(2,),'x':1}\n", bytes(16)), damaged),
        "code in the header": (headed("__import__('os').system('x')\n"), damaged),
        "9,000 nested brackets": (headed("[" * 3000 + "]" * 3000), damaged),
        "a header of 60,000 characters": (headed(" " * 60_000), damaged),
        "a header of 4 GB": (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", damaged),
        "order is no yes or no": (described("(2,)", order="'F'", body=bytes(16)), damaged),
        "a dtype nobody knows": (described("(2,)", "'<q9'", bytes(18)), damaged),
        "a dtype that is a number": (described("(2,)", "7", bytes(16)), damaged),
        "a negative length": (described("(-1, 3)", body=bytes(48)), shape),
        "True for a length": (described("(True, 3)", body=bytes(24)), shape),
        "a length that is a decimal": (described("(2.0, 3)", body=bytes(48)), shape),
        "a length that is text": (described("('2', 3)", body=bytes(48)), shape),
        "no tuple": (described("6", body=bytes(48)), shape),
        "seventy dimensions": (described("(" + "1," * 70 + ")", body=bytes(8)), shape),
        "2^96 elements": (described(f"({2**48}, {2**48})"), shape),
        "8 TB promised": (described("(1000000000, 1000)", body=bytes(800)), "header declares 8 TB"),
        "bytes left over": (described("(2, 3)", body=bytes(80_000)), "header declares 48 bytes, but the file has"),
        "cut in the data": (GOOD[:-1], "is damaged or cut off"),
        "one byte too many": (GOOD + b"\0", "is damaged or cut off"),
        "a pickle behind": (described("(2,)", "'|O'", b"\x80\x04N."), "contains Python objects, which are never"),
        "structured with objects": (described("(2,)", "[('a', '|O')]", bytes(16)), "contains Python objects"),
        "text without length": (
            described("(1000000000000,)", "'|S0'"),
            "has text of 0 characters; the length must be 1 to 1024",
        ),
        "void without length": (described("(2,)", "'|V0'"), "is of dtype '|V0'; save real numbers"),
        "texts of 500,000 characters": (described("(2,)", "'<U500000'"), "has text of 500000 characters"),
    }
    for what, (data, says) in cases.items():
        yield BadFile(what, data, says, filename="a.npy")


@family("NPY arrays")
def arrays() -> Iterator[BadFile]:
    numbers = "save real numbers (float32, float64, integers, booleans) or text"
    cases: dict[str, tuple[Any, str]] = {
        "complex": (P.astype(complex), numbers),
        "dates": (np.array(["2026-01-01"], "datetime64[D]"), numbers),
        "durations": (np.array([1, 2], "timedelta64[s]"), numbers),
        "long doubles": (P.astype(np.longdouble), numbers),
        "a structure of complex numbers": (np.zeros(3, [("p", complex)]), 'a.npy, field "p" is of dtype'),
        "raw bytes": (np.zeros(3, "V4"), numbers),
        "a scalar": (np.array(0.5), "has no column (n,) or matrix (n, K)"),
        "three dimensions": (np.zeros((2, 3, 4)), "has no column (n,) or matrix (n, K)"),
        "no rows": (np.zeros((0, 3)), "is empty (shape (0, 3))"),
        "no columns": (np.zeros((3, 0)), "is empty (shape (3, 0))"),
        "transposed": (np.zeros((3, 5000)), "Rows are predictions and columns are classes"),
        "scores without labels": (P, "no column is recognized as the labels"),
        "one column": (P[:, 0], "no column is recognized as the labels"),
        "a matrix of text": (np.array([["a", "b"]]), "a.npy is a matrix of text; save scores as numbers"),
        "text beyond Unicode": (np.array([0x110000, 65], "<u4").view("<U1"), "text that is not valid Unicode"),
        "half a surrogate pair": (np.array([0xD800, 65], "<u4").view("<U1"), "text that is not valid Unicode"),
        "bytes that are no text": (np.array([b"\xff\xfe"]), "text that is not valid Unicode"),
        "only NaN": (np.full((4, 3), np.nan), "no column is recognized as the labels"),
        "yes and no": (np.array([[True, False], [False, True]]), "no columns are recognized as scores"),
    }
    for what, (array, says) in cases.items():
        yield BadFile(what, npy(array), says, filename="a.npy")


@family("NPZ arrays")
def several_arrays() -> Iterator[BadFile]:
    three = P[:, :, None]
    cases: dict[str, tuple[dict[str, Any], str]] = {
        "no arrays": ({}, "has no column (n,) or matrix (n, K)"),
        "scalars only": ({"a": 1.0, "b": 2}, "has no column (n,) or matrix (n, K)"),
        "three dimensions only": (
            {"probs": three, "y": Y},
            "no columns are recognized as scores; give scores=",
        ),
        "no labels": ({"probs": P}, "no column is recognized as the labels; give label="),
        "no scores": ({"labels": Y}, "no columns are recognized as scores"),
        "two matrices": ({"a": P, "b": P, "y": Y}, 'has scores of 2 models, "a", "b"; choose the model to read'),
        "two of two kinds": ({"a": P, "b": 100 * P, "y": Y}, "there are 2 matrices of scores"),
        "two called probs": ({"probs": P, "probabilities": P, "labels": Y}, "has scores of 2 models"),
        "two columns of labels": (
            {"probs": P, "labels": Y, "y": Y},
            '"labels", "y" could each be the label; give label=',
        ),
        "unknown names of columns": ({"probs": P, "u": Y, "v": Y}, "no column is recognized as the labels"),
        "a label too few": ({"probs": P, "labels": Y[:-1]}, '11 values of "labels" for 12 rows of "probs"'),
        "a label too many": ({"probs": P[1:], "labels": Y}, '12 values of "labels" for 11 rows of "probs"'),
        "transposed": ({"probs": P.T, "labels": Y}, "the matrix may be transposed"),
        "labels are a matrix": (
            {"probs": P, "labels": P},
            "the row must mark exactly one class",
        ),
        "labels of twelve digits": ({"probs": P, "labels": Y + 10**12}, "is not among the classes 0, 1, 2"),
        "an empty array": ({"probs": P, "labels": Y[:0]}, "is empty (shape (0,))"),
        "objects": ({"probs": P, "labels": np.array([{}] * 12, dtype=object)}, "contains Python objects"),
        "complex": ({"probs": P.astype(complex), "labels": Y}, "save real numbers"),
        "dates as labels": ({"probs": P, "labels": Y.astype("datetime64[D]")}, "save real numbers"),
        "half precision beyond its range": (
            {"logits": np.where(P > 0.5, np.inf, P).astype(np.float16), "labels": Y},
            "rows affected. Correct the value",
        ),
        "one score column of three labels": ({"p": P[:, 0], "labels": Y}, "One score column per class is needed"),
        "names of another length as labels": (
            {"probs": P, "labels": np.array(list("abcd"))[np.arange(12) % 4]},
            "have 4 names",
        ),
    }
    for what, (arrays, says) in cases.items():
        yield BadFile(what, npz(**arrays), says, filename="a.npz")
    named = np.array(list("abc"))[Y]
    unused: dict[str, tuple[dict[str, Any], str]] = {
        "class names too few": ({"labels": Y, "class_names": np.array(["a", "b"])}, "2 names for 3 classes"),
        "class names too many": ({"labels": Y, "class_names": np.array(list("abcd"))}, "4 names for 3 classes"),
        "class names twice": ({"labels": named, "class_names": np.array(list("aab"))}, '"a" occurs twice'),
        "class names that are numbers": ({"labels": Y, "class_names": np.array([7, 8, 9])}, "they are numbers"),
    }
    for what, (arrays, says) in unused.items():
        yield BadFile(what, npz(probs=P, **arrays), says, "unused-names", filename="a.npz")
