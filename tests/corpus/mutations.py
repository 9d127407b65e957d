"""Good files of every format and seeded damage to them: changes of bytes, and of their meaning."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator

import numpy as np
import pandas as pd

from calib_core.predictions.predictions import InputError, Predictions
from calib_core.readers import read_predictions
from calib_core.summaries.mergeable import Summary
from calib_core.summaries.on_disk import _frame
from tests.corpus.bad_files import drawn, npy, npz
from tests.corpus.every_writer import WRITERS
from tests.corpus.promises import check, unfit


def good_files() -> dict[str, tuple[bytes, str]]:
    """Return a file of each format and layout, with its name."""
    p, y = drawn(40)
    names = np.array(["cat", "dog", "bird"], dtype=object)
    wide = pd.DataFrame(p, columns=[f"p_{name}" for name in names]).assign(label=names[y], weight=1.5, site=y % 2)
    top = pd.DataFrame({"confidence": p.max(1), "predicted": names[p.argmax(1)], "label": names[y]})
    lines = [json.dumps({"probs": list(row), "label": int(k)}) for row, k in zip(p, y, strict=True)]
    summary = _frame(Summary.of(Predictions(p, y, class_names=list(names))))
    return {
        "csv": (wide.to_csv(index=False).encode(), "a.csv"),
        "quoted csv": (top.to_csv(index=False, sep=";", quoting=1).encode(), "a.csv"),
        "utf-16": (top.to_csv(index=False, sep="\t").encode("utf-16"), "a.tsv"),
        "json lines": ("\n".join(lines).encode(), "a.jsonl"),
        "json records": (wide.to_json(orient="records", lines=True).encode(), "a.jsonl"),
        "npz": (npz(probs=p, labels=y, class_names=names.astype(str)), "a.npz"),
        "npy": (npy(np.column_stack([p, y])), "a.npy"),
        "parquet": (wide.to_parquet(index=False), "a.parquet"),
        "parquet gzip": (top.to_parquet(index=False, compression="gzip"), "a.parquet"),
        "summary": (summary.to_parquet(index=False), "a.parquet"),
    }


def foreign_files() -> dict[str, tuple[bytes, str]]:
    """Return a file of every writer of another tool's format: preferably one that is read without changes."""
    files = {f"{key}: {writer.__name__}": list(writer()) for key, every in WRITERS.items() for writer in every}
    first = {
        form: next((file for file in made if file.confidence is not None and not file.chosen), made[0])
        for form, made in files.items()
    }
    return {form: (file.data, file.filename) for form, file in first.items()}


def mutants(form: str, data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield damaged copies of a file, the same ones for a seed."""
    rng = random.Random(zlib.crc32(form.encode()) + seed)
    for _ in range(count):
        out = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 4, 8))):
            rng.choice(DAMAGES)(out, rng)
        yield bytes(out)


# -- damages ------------------------------------------------------------------------------------------------------


def _byte(out: bytearray, rng: random.Random) -> None:
    if out:
        out[rng.randrange(len(out))] = rng.randrange(256)


def _bit(out: bytearray, rng: random.Random) -> None:
    if out:
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)


def _dropped(out: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(out) + 1)
    del out[at : at + rng.choice((1, 4, 64, 1024))]


def _doubled(out: bytearray, rng: random.Random) -> None:
    at, length = rng.randrange(len(out) + 1), rng.choice((1, 4, 64, 1024))
    out[at:at] = out[at : at + length]


def _cut(out: bytearray, rng: random.Random) -> None:
    del out[rng.randrange(len(out) + 1) :]


def _swapped(out: bytearray, rng: random.Random) -> None:
    """Swap two pieces."""
    a, b = sorted(rng.randrange(len(out) + 1) for _ in range(2))
    length = min(rng.choice((4, 64)), b - a, len(out) - b)
    out[a : a + length], out[b : b + length] = out[b : b + length], out[a : a + length]


def _sized(out: bytearray, rng: random.Random) -> None:
    """Replace a number of four or eight bytes by an impossible size: counts, offsets and lengths are such numbers."""
    n = rng.choice((4, 8))
    at = rng.randrange(max(1, len(out) - n))
    value = rng.choice((0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, (1 << 64) - 1))
    out[at : at + n] = (value % (1 << 8 * n)).to_bytes(n, "little")


_MARKS = (
    *(b"\0", b"\n", b"\r", b",", b";", b'"', b"{", b"}", b"[", b"]", b"-", b"%", b"\xff", b"\xef\xbb\xbf"),
    *(b"nan", b"1e999", b"null", b"PK\x03\x04", b"PK\x01\x02", b"PAR1", b"\x93NUMPY", b"(1000000000, 3)", b"'|O'"),
)


def _marked(out: bytearray, rng: random.Random) -> None:
    """Insert structural characters of formats."""
    at, mark = rng.randrange(len(out) + 1), rng.choice(_MARKS)
    out[at : at + (len(mark) if rng.random() < 0.5 else 0)] = mark


def _digit(out: bytearray, rng: random.Random) -> None:
    """Replace a digit by another: numbers change, the structure stays."""
    places = [i for i in range(len(out)) if 48 <= out[i] <= 57] if len(out) < 1 << 16 else []
    if places:
        out[rng.choice(places)] = rng.choice(b"0123456789.-e")


def _footer(out: bytearray, rng: random.Random) -> None:
    """Damage the last kilobyte, where directories and footers are."""
    if out:
        out[rng.randrange(max(0, len(out) - 1024), len(out))] = rng.randrange(256)


DAMAGES = (_byte, _bit, _dropped, _doubled, _cut, _swapped, _sized, _marked, _digit, _footer)


# -- outcomes -----------------------------------------------------------------------------------------------------


def outcome(data: bytes, filename: str) -> str:
    """Return the outcome of a file, "read" or "refused"; any exception other than InputError is raised."""
    try:
        found = read_predictions(data, filename)
    except InputError as e:
        said = str(e)
    else:
        check(found)
        return "read"
    faults = unfit(said)
    assert not faults, f"{faults}: {said}"
    return "refused"
